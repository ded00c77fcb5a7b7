/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native.h - the classes that PyTorch writes in C++ and archives name:
 * __torch__.torch.classes.quantized.LinearPackedParamsBase and the like. Operators take
 * objects of them.
 *
 * There is one such type for the whole process. Its objects hold a capsule, and are never changed
 * once they are made.
 */
#ifndef CTSC_IR_NATIVE_H
#define CTSC_IR_NATIVE_H

#include "ir/unit.h"

#define NATIVE_PREFIX "__torch__.torch.classes."

/* The class of that qualified name; NULL: ctsc has none. Thread-safe. registry_install
 * (runtime/ops/registry.c) says whose function it is; until then there is no class. */
extern type *(*native_class)(const char *qualified);
/* Is t one of them? */
static inline bool type_is_native(const type *t) {
    return t->kind == T_CLASS && t->owner && t->owner->permanent;
}

#endif
