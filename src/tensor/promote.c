/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promote.c - the dtype that operands meet in: written once, for the interpreter's tensors
 * and the compiler's.
 * Tests: tests/unit/test_pointwise.c
 */
#include "tensor/promote.h"

enum { PROMOTE_NONE = -1 };

static int promote_category(dtype dt) {
    return dtype_is_complex(dt) ? 3 : dtype_is_float(dt) ? 2 : dt == DT_BOOL ? 0 : 1;
}

static int promote_meet(int a, int b) {
    if (a == PROMOTE_NONE) return b;
    return b == PROMOTE_NONE ? a : (int)dtype_promote((dtype)a, (dtype)b);
}

/* high: what operands of higher rank give. low counts only if its category is higher. */
static int promote_combine(int high, int low) {
    if (high == PROMOTE_NONE) return low;
    if (low == PROMOTE_NONE || promote_category((dtype)low) <= promote_category((dtype)high))
        return high;
    /* A complex number leaves the width to the tensor. */
    if (dtype_is_complex((dtype)low) && dtype_is_float((dtype)high))
        return (int)dtype_to_complex((dtype)high);
    return promote_meet(high, low);
}

void promotion_add(promotion *p, dtype dt, operand_rank rank) {
    p->met[rank] = promote_meet(p->met[rank], dt);
}

dtype promotion_result(const promotion *p) {
    int result = PROMOTE_NONE;
    for (int i = 0; i < OPERAND_RANKS; i++) result = promote_combine(result, p->met[i]);
    return result == PROMOTE_NONE ? DT_FLOAT32 : (dtype)result;
}

double dtype_largest(dtype dt) {
    static const double largest[DT_COMPUTED] = {
        [DT_UINT8] = 255,
        [DT_INT8] = 127,
        [DT_INT16] = 32767,
        [DT_INT32] = 2147483647.0,
        [DT_FLOAT16] = 65504.0,
        [DT_BFLOAT16] = 3.3895313892515355e38,
        [DT_FLOAT32] = 3.4028234663852886e38,
    };
    return dtype_is_stored(dt) ? 0 : largest[dt];
}

bool dtype_fits(dtype dt, double x) {
    double largest = dtype_largest(dt);
    if (dtype_is_unsigned(dt)) {
        double half = (double)(UINT64_C(1) << (8 * dtype_size(dt) - 1)), end = 2 * half;
        return x > -end && x < end;
    }
    if (dtype_is_stored(dt)) return true; /* each knows what to make of it */
    if (dt == DT_BOOL || dt == DT_FLOAT64 || dtype_is_complex(dt)) return true;
    if (dtype_is_float(dt)) return x - x != 0 || (x <= largest && x >= -largest);
    if (dt == DT_INT64) return x >= -0x1p63 && x < 0x1p63;
    return x <= largest && x >= -largest - (dt != DT_UINT8);
}

const char *dtype_ctype_name(dtype dt) {
    static const char *const names[DT_COMPUTED] = {
        [DT_UINT8] = "uint8_t",  [DT_INT8] = "int8_t",
        [DT_INT16] = "int16_t",  [DT_INT32] = "int",
        [DT_INT64] = "int64_t",  [DT_FLOAT16] = "c10::Half",
        [DT_FLOAT32] = "float",  [DT_BFLOAT16] = "c10::BFloat16",
        [DT_FLOAT64] = "double",
    };
    if (dtype_is_unsigned(dt))
        return dt == DT_UINT16 ? "uint16_t" : dt == DT_UINT32 ? "uint32_t" : "uint64_t";
    return !dtype_is_stored(dt) && names[dt] ? names[dt] : dtype_table[dt].ir_name;
}
