/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complex.h - the complex counterparts of scalar.c's functions, which turn to them when an argument
 * of a Scalar overload is complex.
 */
#ifndef CTSC_RUNTIME_KERNELS_SCALAR_COMPLEX_H
#define CTSC_RUNTIME_KERNELS_SCALAR_COMPLEX_H

#include "runtime/kernels/engine/kernel.h"

#define COMPLEX_FN(name)                                                                           \
    ctsc_status op_complex_##name(op_ctx *cx, const value *args, value *results)
COMPLEX_FN(add);
COMPLEX_FN(sub);
COMPLEX_FN(mul);
COMPLEX_FN(div);
COMPLEX_FN(pow);
COMPLEX_FN(log_base);
COMPLEX_FN(eq);
COMPLEX_FN(ne);
COMPLEX_FN(neg);
COMPLEX_FN(abs);
COMPLEX_FN(angle);
COMPLEX_FN(acos);
COMPLEX_FN(acosh);
COMPLEX_FN(asin);
COMPLEX_FN(asinh);
COMPLEX_FN(atan);
COMPLEX_FN(atanh);
COMPLEX_FN(cos);
COMPLEX_FN(cosh);
COMPLEX_FN(exp);
COMPLEX_FN(log);
COMPLEX_FN(log10);
COMPLEX_FN(sin);
COMPLEX_FN(sinh);
COMPLEX_FN(sqrt);
COMPLEX_FN(tan);
COMPLEX_FN(tanh);
#undef COMPLEX_FN

#endif
