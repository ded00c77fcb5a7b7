/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_headers.c - the files that generated kernels include, as bytes in the library: NVRTC gets them by name and reads no
 * directories. Built from the project's root.
 */
#include "codegen/cuda_emit.h"

#define HEADER(symbol, file)                                                                                                                  \
    __asm__(".section .rodata\n" #symbol ":\n.incbin \"src/" file "\"\n.byte 0\n.previous\n");                                                \
    extern const char symbol[]

HEADER(cuda_header_ops, "ir/scalar_ops.h");
HEADER(cuda_header_math, "ir/scalar_ops_math.h");
HEADER(cuda_header_special, "ir/scalar_ops_special.h");
HEADER(cuda_header_real, "ir/scalar_ops_real.h");
HEADER(cuda_header_int, "ir/scalar_ops_int.h");
HEADER(cuda_header_element, "tensor/element.h");
HEADER(cuda_header_convert, "codegen/nest_convert.h");
HEADER(cuda_header_nest, "codegen/nest_cuda.h");
HEADER(cuda_header_stdint, "codegen/nvrtc_stdint.h");

const char *const *cuda_emit_headers(void) {
    static const char *const headers[] = {"ir/scalar_ops.h",         cuda_header_ops,     "ir/scalar_ops_math.h",   cuda_header_math,
                                          "ir/scalar_ops_special.h", cuda_header_special, "ir/scalar_ops_real.h",   cuda_header_real,
                                          "ir/scalar_ops_int.h",     cuda_header_int,     "tensor/element.h",       cuda_header_element,
                                          "codegen/nest_convert.h",  cuda_header_convert, "codegen/nest_cuda.h",    cuda_header_nest,
                                          "stdint.h",                cuda_header_stdint,  NULL};
    return headers;
}
