/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtype.h - element types: sizes, names, classes and promotion. dtypes.def lists them.
 */
#ifndef CTSC_TENSOR_DTYPE_H
#define CTSC_TENSOR_DTYPE_H

#include "cpu/convert/half.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct complex32 { float16 re, im; } complex32;
typedef struct complex64 { float re, im; } complex64;
typedef struct complex128 { double re, im; } complex128;

typedef enum dtype {
#define DTYPE(e, id, ...) DT_##e = id,
#include "tensor/dtypes.def"
#undef DTYPE
    DT_COUNT,
    /* Operators compute with the dtypes below: as many rows have tables of kernels. The others are
     * stored, converted, compared and moved about (op_function); no dtype is between the two. */
    DT_COMPUTED = DT_BFLOAT16 + 1
} dtype;

typedef struct dtype_info {
    const char *ir_name;    /* "Float" */
    const char *torch_name; /* "float32" */
    const char *storage;    /* "FloatStorage" */
    uint8_t size;           /* bytes of an element */
} dtype_info;

extern const dtype_info dtype_table[DT_COUNT];
/* What some messages of PyTorch call it: "c10::Half". */
const char *dtype_cpp_name(dtype d);

static inline size_t dtype_size(dtype d) { return dtype_table[d].size; }
static inline bool dtype_valid(int64_t d) { return d >= 0 && d < DT_COUNT && dtype_table[d].size; }
static inline bool dtype_is_stored(dtype d) { return d >= DT_COMPUTED; }
static inline bool dtype_is_float8(dtype d) {
    return (d >= DT_FLOAT8_E5M2 && d <= DT_FLOAT8_E4M3FNUZ) || d == DT_FLOAT8_E8M0FNU;
}
/* of those */
static inline bool dtype_is_unsigned(dtype d) { return d >= DT_UINT16 && d <= DT_UINT64; }
static inline bool dtype_is_complex(dtype d) { return d >= DT_COMPLEX32 && d <= DT_COMPLEX128; }
static inline bool dtype_is_quantised(dtype d) { return d >= DT_QINT8 && d <= DT_QINT32; }
static inline bool dtype_is_half(dtype d) { return d == DT_FLOAT16 || d == DT_BFLOAT16; }
static inline bool dtype_is_float(dtype d) { /* real floating point that operators compute with */
    return d == DT_FLOAT32 || d == DT_FLOAT64 || dtype_is_half(d);
}
static inline dtype dtype_part(dtype d) { /* of a complex number's parts; any other dtype itself */
    return d == DT_COMPLEX64    ? DT_FLOAT32
           : d == DT_COMPLEX128 ? DT_FLOAT64
           : d == DT_COMPLEX32  ? DT_FLOAT16
                                : d;
}
/* of a real floating-point dtype, what has it as parts, or next to it */
static inline dtype dtype_to_complex(dtype d) {
    return d == DT_FLOAT64     ? DT_COMPLEX128
           : d == DT_FLOAT16   ? DT_COMPLEX32
           : dtype_is_float(d) ? DT_COMPLEX64
                               : d;
}
static inline bool dtype_is_int(dtype d) { return d <= DT_INT64; } /* bool not counted */
static inline bool dtype_is_integral(dtype d) { return d <= DT_INT64 || d == DT_BOOL; }

/* The dtype two tensors of the same priority meet in (torch.promote_types). */
dtype dtype_promote(dtype a, dtype b);

/* Of a dtype of 8 bits. What is too large becomes infinity or NaN, as the dtype has it. */
float float8_to_float(dtype d, uint8_t code);
/* n numbers of float4_e2m1, two in a byte, the low half first: as float8_e4m3fn, which has all of
 * them (0, 0.5, 1, 1.5, 2, 3, 4, 6, either sign). */
void float8_from_float4(const uint8_t *from, int64_t n, uint8_t *to);
uint8_t float8_from_float(dtype d, float f);

/* ---- dtype_names.c --------------------------------------------------------------------------- */

/* What ctsc.h says of the dtype of a number; NULL: there is none. */
const struct ctsc_dtype_info *dtype_describe(int64_t number);
/* Number i, counted from 0; NULL at the end. */
const struct ctsc_dtype_info *dtype_at(size_t i);
/* By a name of PyTorch's, "float32" or "float", or by its brief one; NULL: none. */
const struct ctsc_dtype_info *dtype_named(const char *name);
/* By the method of tensors that converts to it, "float"; NULL: none. */
const struct ctsc_dtype_info *dtype_of_method(const char *name);

#endif
