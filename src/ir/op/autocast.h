/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autocast.h - the effect on dtypes of the casts that autocast inserts
 * before operators. Used by kernels, the lowering and peephole rules.
 */
#ifndef CTSC_IR_OP_AUTOCAST_H
#define CTSC_IR_OP_AUTOCAST_H

#include "ir/op/symbol.h"
#include "tensor/dtype.h"

/* Where their flags and dtypes are among the arguments, on the host and on a device; -1: none. */
static inline int autocast_flag(op_symbol key, bool device) {
    return key == SYM_CTSC_AUTOCAST ? -1 : device ? 1 : 2;
}
static inline int autocast_lower(op_symbol key, bool device) {
    return key == SYM_CTSC_AUTOCAST                    ? 1
           : key == SYM__AUTOCAST_TO_REDUCED_PRECISION ? device ? 3 : 4
                                                       : -1;
}

/* The dtype of the result. lower: of the argument that autocast_lower names. Scripts convert
 * float32 alone to less, and numbers of 16 bits alone to float32; programs everything that is
 * floating, except for float64. */
static inline dtype autocast_dtype(op_symbol key, dtype have, bool on, dtype lower) {
    bool half = dtype_is_half(have);
    if (!on) return have;
    if (key == SYM__AUTOCAST_TO_REDUCED_PRECISION) return have == DT_FLOAT32 ? lower : have;
    if (key == SYM__AUTOCAST_TO_FULL_PRECISION) return half ? DT_FLOAT32 : have;
    return half || have == DT_FLOAT32 || dtype_is_float8(have) ? lower : have;
}

#endif
