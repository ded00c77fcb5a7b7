/* SPDX-License-Identifier: Apache-2.0 */
/* module_keep.h - saves the attributes of a module's objects, to restore them after a call. */
#ifndef CTSC_RUNTIME_PROGRAM_MODULE_KEEP_H
#define CTSC_RUNTIME_PROGRAM_MODULE_KEEP_H

#include "runtime/program/module.h"

typedef struct kept_slot {
    value *at;    /* in an object of the module */
    value before; /* a reference */
    tensor *copy; /* of a tensor's elements; NULL: it is none */
} kept_slot;
typedef struct module_kept {
    VEC(kept_slot) slots;
    ptrmap seen; /* objects */
} module_kept;

/* Of tensors the elements, of other attributes what they are; not what lists and dicts hold. */
ctsc_status module_keep(const module *m, diag *d, module_kept *out);
/* Puts them back, and frees k. */
ctsc_status module_put_back(module_kept *k, diag *d);

#endif
