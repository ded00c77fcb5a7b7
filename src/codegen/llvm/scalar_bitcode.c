/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar_bitcode.c - ir/scalar/scalar_ops.h as LLVM bitcode, and the conversions that loads, stores
 * and casts of a loop nest need.
 *
 * Compiled by clang at build time, not into the library: the bytes are embedded in libctsc-jit.so,
 * which links the functions a kernel calls into its module and inlines them.
 */
#define SCALAR_FN
#include "codegen/cuda/nest_convert.h"
