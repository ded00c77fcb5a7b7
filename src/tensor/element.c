/* SPDX-License-Identifier: Apache-2.0 */
/*
 * element.c - reading and writing one element of any dtype.
 *
 * Method: out-of-range floats become what x86's conversion
 * instructions give, which is what PyTorch shows on such machines:
 * the most negative int, whose low bits narrower types keep.
 * Tests: tests/unit/test_tensor.c
 */
#include "tensor/element.h"
#include "tensor/tensor.h"

#include <string.h>

/* Elements of a file's storage may be unaligned, hence memcpy. */
#define ELEMENT_LOAD(T)                                                                            \
    T x;                                                                                           \
    memcpy(&x, p, sizeof x);

int64_t dtype_load_int(dtype dt, const void *p) {
    switch (dt) {
    case DT_UINT8:
    case DT_QUINT8: return *(const uint8_t *)p;
    case DT_BOOL: return *(const uint8_t *)p != 0;
    case DT_INT8:
    case DT_QINT8: return *(const int8_t *)p;
    case DT_INT16: {
        ELEMENT_LOAD(int16_t)
        return x;
    }
    case DT_INT32:
    case DT_QINT32: {
        ELEMENT_LOAD(int32_t)
        return x;
    }
    case DT_INT64:
    case DT_UINT64: {
        ELEMENT_LOAD(int64_t)
        return x;
    }
    case DT_UINT16: {
        ELEMENT_LOAD(uint16_t)
        return x;
    }
    case DT_UINT32: {
        ELEMENT_LOAD(uint32_t)
        return x;
    }
    default: return element_to_int64(dtype_load_float(dt, p));
    }
}

double dtype_load_float(dtype dt, const void *p) {
    switch (dt) {
    case DT_FLOAT16:
    case DT_COMPLEX32: {
        ELEMENT_LOAD(float16)
        return float16_to_float(x);
    }
    case DT_BFLOAT16: {
        ELEMENT_LOAD(bfloat16)
        return bfloat16_to_float(x);
    }
    case DT_FLOAT32:
    case DT_COMPLEX64: {
        ELEMENT_LOAD(float)
        return x;
    }
    case DT_FLOAT64:
    case DT_COMPLEX128: {
        ELEMENT_LOAD(double)
        return x;
    }
    case DT_UINT64: {
        ELEMENT_LOAD(uint64_t)
        return (double)x;
    }
    default:
        if (dtype_is_float8(dt)) return float8_to_float(dt, *(const uint8_t *)p);
        return (double)dtype_load_int(dt, p);
    }
}

#define ELEMENT_STORE(T, e)                                                                        \
    T x = (T)(e);                                                                                  \
    memcpy(p, &x, sizeof x);

/* Of a type no wider than float. */
static void element_store_narrow(dtype dt, void *p, float v) {
    if (dtype_is_float8(dt)) {
        *(uint8_t *)p = float8_from_float(dt, v);
    } else if (dt == DT_FLOAT16) {
        float16 h = float16_from_float(v);
        memcpy(p, &h, sizeof h);
    } else if (dt == DT_BFLOAT16) {
        bfloat16 h = bfloat16_from_float(v);
        memcpy(p, &h, sizeof h);
    } else {
        memcpy(p, &v, sizeof v);
    }
}

void dtype_store_int(dtype dt, void *p, int64_t v) {
    switch (dt) {
    case DT_UINT8:
    case DT_QUINT8:
    case DT_INT8:
    case DT_QINT8: *(uint8_t *)p = (uint8_t)v; break;
    case DT_BOOL: *(uint8_t *)p = v != 0; break;
    case DT_INT16:
    case DT_UINT16: {
        ELEMENT_STORE(uint16_t, v)
        break;
    }
    case DT_INT32:
    case DT_UINT32:
    case DT_QINT32: {
        ELEMENT_STORE(uint32_t, v)
        break;
    }
    case DT_INT64:
    case DT_UINT64: {
        ELEMENT_STORE(int64_t, v)
        break;
    }
    /* Straight to float: a detour through double would round twice. */
    case DT_FLOAT32:
    case DT_FLOAT16:
    case DT_BFLOAT16:
    case DT_FLOAT8_E5M2:
    case DT_FLOAT8_E4M3FN:
    case DT_FLOAT8_E5M2FNUZ:
    case DT_FLOAT8_E4M3FNUZ:
    case DT_FLOAT8_E8M0FNU: element_store_narrow(dt, p, (float)v); break;
    default: dtype_store_float(dt, p, (double)v);
    }
}

void dtype_store_float(dtype dt, void *p, double v) {
    switch (dt) {
    case DT_FLOAT32:
    case DT_FLOAT16:
    case DT_BFLOAT16:
    case DT_FLOAT8_E5M2:
    case DT_FLOAT8_E4M3FN:
    case DT_FLOAT8_E5M2FNUZ:
    case DT_FLOAT8_E4M3FNUZ:
    case DT_FLOAT8_E8M0FNU: element_store_narrow(dt, p, (float)v); break;
    case DT_FLOAT64: {
        ELEMENT_STORE(double, v)
        break;
    }
    case DT_COMPLEX32: {
        complex32 c = {float16_from_float((float)v), {0}};
        memcpy(p, &c, sizeof c);
        break;
    }
    case DT_COMPLEX64: {
        complex64 c = {(float)v, 0};
        memcpy(p, &c, sizeof c);
        break;
    }
    case DT_COMPLEX128: {
        complex128 c = {v, 0};
        memcpy(p, &c, sizeof c);
        break;
    }
    case DT_BOOL: *(uint8_t *)p = v != 0; break;
    case DT_UINT64: /* also values above the largest int64_t */
        dtype_store_int(dt, p,
                        v >= 0x1p63 && v < 0x1p64 ? element_to_int64(v - 0x1p63) ^ INT64_MIN
                                                  : element_to_int64(v));
        break;
    case DT_INT8:
    case DT_INT16:
    case DT_INT32: dtype_store_int(dt, p, element_to_int32(v)); break;
    default: dtype_store_int(dt, p, element_to_int64(v));
    }
}

double dtype_round(dtype dt, double v) {
    char kept[16];
    dtype_store_float(dt, kept, v);
    return dtype_load_float(dt, kept);
}

void dtype_store_complex(dtype dt, void *p, double re, double im) {
    dtype part = dtype_part(dt);
    dtype_store_float(part, p, re);
    dtype_store_float(part, (char *)p + dtype_size(part), im);
}
