/* SPDX-License-Identifier: Apache-2.0 */
/*
 * composite_texts.h - the TorchScript of operators, and which file has a function
 * (composite_texts.c). Any thread may ask; without memory nothing is found.
 */
#ifndef CTSC_RUNTIME_OPS_COMPOSITE_TEXTS_H
#define CTSC_RUNTIME_OPS_COMPOSITE_TEXTS_H

#include <stddef.h>

/* The text of "operators/prims.py"; NULL: there is no such file, or out of memory. */
const char *composite_text(const char *path, size_t *len);
/* The file that defines the function: "operators/prims.py"; NULL: none. */
const char *composite_path(const char *function);
/* The i-th derivative of the overload whose function would be called `stem`, "mul__Tensor":
 * "mul__Tensor__d_self", ... NULL: there are no more. */
const char *composite_derivative_of(const char *stem, int i);

#endif
