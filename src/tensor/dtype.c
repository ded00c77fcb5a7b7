/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtype.c - the table of element types, promotion, and the 8-bit floats.
 *
 * Method: promotion is a table, as in torch.promote_types.
 * Tests: tests/unit/test_tensor.c
 */
#include "tensor/dtype.h"

const dtype_info dtype_table[DT_COUNT] = {
#define DTYPE(e, id, kind, ctype, ir, torch, ...) [id] = {ir, torch, ir "Storage", sizeof(ctype)},
#include "tensor/dtypes.def"
#undef DTYPE
    /* numbers of PyTorch's that are no dtype here: names that no text has */
    [DT_COMPUTED... DT_FLOAT8_E5M2 - 1] = {"\1", "\1", "\1", 0},
    [DT_UINT64 + 1 ... DT_FLOAT8_E8M0FNU - 1] = {"\1", "\1", "\1", 0},
};

const char *dtype_cpp_name(dtype d) {
    static const char *const names[DT_COUNT] = {
        [DT_UINT8] = "unsigned char",
        [DT_INT8] = "signed char",
        [DT_INT16] = "short int",
        [DT_INT32] = "int",
        [DT_INT64] = "long int",
        [DT_FLOAT16] = "c10::Half",
        [DT_FLOAT32] = "float",
        [DT_FLOAT64] = "double",
        [DT_COMPLEX32] = "c10::complex<c10::Half>",
        [DT_COMPLEX64] = "c10::complex<float>",
        [DT_COMPLEX128] = "c10::complex<double>",
        [DT_BOOL] = "bool",
        [DT_QINT8] = "c10::qint8",
        [DT_QUINT8] = "c10::quint8",
        [DT_QINT32] = "c10::qint32",
        [DT_BFLOAT16] = "c10::BFloat16",
        [DT_FLOAT8_E5M2] = "c10::Float8_e5m2",
        [DT_FLOAT8_E4M3FN] = "c10::Float8_e4m3fn",
        [DT_FLOAT8_E5M2FNUZ] = "c10::Float8_e5m2fnuz",
        [DT_FLOAT8_E4M3FNUZ] = "c10::Float8_e4m3fnuz",
        [DT_FLOAT8_E8M0FNU] = "c10::Float8_e8m0fnu",
        [DT_UINT16] = "short unsigned int",
        [DT_UINT32] = "unsigned int",
        [DT_UINT64] = "long unsigned int",
    };
    return names[d];
}

/* ---- promotion ------------------------------------------------------------------------------- */

dtype dtype_promote(dtype a, dtype b) {
    enum {
        u1 = DT_UINT8,
        i1 = DT_INT8,
        i2 = DT_INT16,
        i4 = DT_INT32,
        i8 = DT_INT64,
        f2 = DT_FLOAT16,
        f4 = DT_FLOAT32,
        f8 = DT_FLOAT64,
        c2 = DT_COMPLEX32,
        c4 = DT_COMPLEX64,
        c8 = DT_COMPLEX128,
        b1 = DT_BOOL,
        bf = DT_BFLOAT16,
        __ = 0
    };
    static const uint8_t table[DT_COMPUTED][DT_COMPUTED] = {
        /*          u1  i1  i2  i4  i8  f2  f4  f8  c2  c4  c8  b1  -   -   -   bf */
        [u1] = {u1, i2, i2, i4, i8, f2, f4, f8, c2, c4, c8, u1, __, __, __, bf},
        [i1] = {i2, i1, i2, i4, i8, f2, f4, f8, c2, c4, c8, i1, __, __, __, bf},
        [i2] = {i2, i2, i2, i4, i8, f2, f4, f8, c2, c4, c8, i2, __, __, __, bf},
        [i4] = {i4, i4, i4, i4, i8, f2, f4, f8, c2, c4, c8, i4, __, __, __, bf},
        [i8] = {i8, i8, i8, i8, i8, f2, f4, f8, c2, c4, c8, i8, __, __, __, bf},
        [f2] = {f2, f2, f2, f2, f2, f2, f4, f8, c2, c4, c8, f2, __, __, __, f4},
        [f4] = {f4, f4, f4, f4, f4, f4, f4, f8, c4, c4, c8, f4, __, __, __, f4},
        [f8] = {f8, f8, f8, f8, f8, f8, f8, f8, c8, c8, c8, f8, __, __, __, f8},
        [c2] = {c2, c2, c2, c2, c2, c2, c4, c8, c2, c4, c8, c2, __, __, __, c4},
        [c4] = {c4, c4, c4, c4, c4, c4, c4, c8, c4, c4, c8, c4, __, __, __, c4},
        [c8] = {c8, c8, c8, c8, c8, c8, c8, c8, c8, c8, c8, c8, __, __, __, c8},
        [b1] = {u1, i1, i2, i4, i8, f2, f4, f8, c2, c4, c8, b1, __, __, __, bf},
        [bf] = {bf, bf, bf, bf, bf, f4, f4, f8, c4, c4, c8, bf, __, __, __, bf},
    };
    /* Quantised types and those of 8 bits promote with themselves only, unsigned ones with floating
     * and complex ones, too; callers that can meet others refuse them. */
    if (a == b || dtype_is_quantised(a) || dtype_is_quantised(b) || dtype_is_stored(b)) return a;
    if (dtype_is_stored(a)) return b;
    return (dtype)table[a][b];
}

/* ---- 8-bit floats ---------------------------------------------------------------------------- */

/*
 * Bits of the mantissa, bias of the exponent, the code of the largest finite number, what
 * overflow and what NaN become. Those of AMD and Graphcore ("fnuz") have neither infinity nor -0:
 * its code is the one NaN.
 */
typedef struct float8_format {
    uint8_t mantissa, bias, largest, overflow, nan;
} float8_format;

static const float8_format float8_formats[] = {
    {2, 15, 0x7b, 0x7c, 0x7f}, /* e5m2 */
    {3, 7, 0x7e, 0x7e, 0x7f},  /* e4m3fn: it saturates, as in current PyTorch (NaN before) */
    {2, 16, 0x7f, 0x80, 0x80}, /* e5m2fnuz */
    {3, 8, 0x7f, 0x80, 0x80},  /* e4m3fnuz */
};

/* e8m0fnu is the exponent of a float and nothing else: no sign, no zero, the last code is NaN. */
static float float8_exponent_to_float(uint8_t code) {
    return float_of_bits(code == 0xff ? 0x7fc00000u : code ? (uint32_t)code << 23 : 0x400000u);
}

/* To the nearest; in the middle up, but down from below the smallest normal float. */
static uint8_t float8_exponent_from_float(float x) {
    uint32_t u = float_bits(x) & 0x7fffffffu, code = u >> 23;
    if (code < 0xff && (u & 0x400000u) && (code || (u & 0x3fffffu))) code++;
    return (uint8_t)code;
}

/* The exponent's bits, seen as a float's, are too small by the difference of the biases: a product
 * puts that right, for subnormal numbers as well. */
float float8_to_float(dtype d, uint8_t code) {
    if (d == DT_FLOAT8_E8M0FNU) return float8_exponent_to_float(code);
    const float8_format *f = &float8_formats[d - DT_FLOAT8_E5M2];
    uint32_t magnitude = code & 0x7fu, sign = (uint32_t)(code & 0x80u) << 24;
    if (f->nan == 0x80 ? code == 0x80 : magnitude > f->largest)
        return float_of_bits(sign | (magnitude == 0x7c ? 0x7f800000u : 0x7fc00000u));
    float scale = float_of_bits((254u - f->bias) << 23);
    return float_of_bits(sign | float_bits(float_of_bits(magnitude << (23 - f->mantissa)) * scale));
}

uint8_t float8_from_float(dtype d, float x) {
    if (d == DT_FLOAT8_E8M0FNU) return float8_exponent_from_float(x);
    const float8_format *f = &float8_formats[d - DT_FLOAT8_E5M2];
    uint32_t u = float_bits(x), sign = f->nan == 0x80 ? 0 : u >> 24 & 0x80u;
    uint32_t shift = 23 - f->mantissa, least = (128u - f->bias) << 23, code;
    u &= 0x7fffffffu;
    if (u > 0x7f800000u) {
        code = f->nan;
    } else if (u < least) {
        /* Adding a number whose last bit is the smallest subnormal rounds to a multiple of that. */
        uint32_t unit = (128u - f->bias + shift) << 23;
        code = float_bits(float_of_bits(u) + float_of_bits(unit)) - unit;
    } else { /* rounding may carry into the exponent: that is right */
        uint32_t low = (1u << (shift - 1)) - 1 + (u >> shift & 1);
        code = u >= 0x47800000u + (1u << 23) ? 0xffu : (u - least + (1u << 23) + low) >> shift;
    }
    if (u <= 0x7f800000u && code > f->largest) code = f->overflow;
    if (f->nan == 0x80 && code && code < 0x80) code |= float_bits(x) >> 24 & 0x80u; /* no -0 */
    return (uint8_t)(sign | code);
}

void float8_from_float4(const uint8_t *from, int64_t n, uint8_t *to) {
    static const uint8_t codes[8] = {0, 0x30, 0x38, 0x3c, 0x40, 0x44, 0x48, 0x4c};
    for (int64_t i = 0; i < n; i++) {
        unsigned nibble = from[i / 2] >> (i % 2 ? 4 : 0) & 15;
        to[i] = (uint8_t)(codes[nibble & 7] | (nibble & 8) << 4);
    }
}
