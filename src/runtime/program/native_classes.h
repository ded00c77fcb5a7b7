/* SPDX-License-Identifier: Apache-2.0 */
/* native_classes.h - the classes of ir/native.h. */
#ifndef CTSC_RUNTIME_PROGRAM_NATIVE_CLASSES_H
#define CTSC_RUNTIME_PROGRAM_NATIVE_CLASSES_H

#include "ir/native.h"

/* What native_class is. */
type *native_class_find(const char *qualified);

#endif
