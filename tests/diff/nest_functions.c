/* SPDX-License-Identifier: Apache-2.0 */
/* nest_functions.c - the functions that nests call (ir/scalar/scalar_ops.h, nest_convert.h), as
 * symbols of the program: nest_eval.c finds them by name. */
#define SCALAR_FN __attribute__((visibility("default"), used))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "codegen/cuda/nest_convert.h"
