/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complex.c - arithmetic and mathematics on Python's complex numbers.
 *
 * Arguments may be of any number type, or 0-dim tensors where an overload says so; one function
 * serves all overloads of an operator. Tests: tests/unit/test_builtins.c
 */
#include "runtime/kernels/scalar/complex.h"

#include <complex.h>
#undef complex /* a member of value's */
#include <math.h>

#ifndef CMPLX /* glibc's is for gcc alone */
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#endif

typedef double _Complex cdouble;

static cdouble complex_arg(const value *v) {
    if (v->tag == V_COMPLEX) return CMPLX(v->u.complex->re, v->u.complex->im);
    return arg_float(v);
}
static ctsc_status complex_return(op_ctx *cx, value *results, cdouble z) {
    complex_box *c = complex_new(creal(z), cimag(z));
    return c ? op_return(results, (value){.tag = V_COMPLEX, .u.complex = c})
             : diag_no_memory(cx->diag);
}

#define COMPLEX_BINARY(name, expr)                                                                 \
    ctsc_status op_complex_##name(op_ctx *cx, const value *args, value *results) {                 \
        cdouble a = complex_arg(&args[0]), b = complex_arg(&args[1]);                              \
        return complex_return(cx, results, expr);                                                  \
    }
COMPLEX_BINARY(add, a + b)
COMPLEX_BINARY(sub, a - b)
COMPLEX_BINARY(mul, a *b)
COMPLEX_BINARY(div, a / b)
COMPLEX_BINARY(pow, cpow(a, b))
COMPLEX_BINARY(log_base, clog(a) / clog(b))

#define COMPLEX_UNARY(name, expr)                                                                  \
    ctsc_status op_complex_##name(op_ctx *cx, const value *args, value *results) {                 \
        cdouble a = complex_arg(&args[0]);                                                         \
        return complex_return(cx, results, expr);                                                  \
    }
COMPLEX_UNARY(neg, -a)
COMPLEX_UNARY(acos, cacos(a))
COMPLEX_UNARY(acosh, cacosh(a))
COMPLEX_UNARY(asin, casin(a))
COMPLEX_UNARY(asinh, casinh(a))
COMPLEX_UNARY(atan, catan(a))
COMPLEX_UNARY(atanh, catanh(a))
COMPLEX_UNARY(cos, ccos(a))
COMPLEX_UNARY(cosh, ccosh(a))
COMPLEX_UNARY(exp, cexp(a))
COMPLEX_UNARY(log, clog(a))
COMPLEX_UNARY(log10, clog(a) / log(10.0))
COMPLEX_UNARY(sin, csin(a))
COMPLEX_UNARY(sinh, csinh(a))
COMPLEX_UNARY(sqrt, csqrt(a))
COMPLEX_UNARY(tan, ctan(a))
COMPLEX_UNARY(tanh, ctanh(a))

#define COMPLEX_ASK(name, make, expr)                                                              \
    ctsc_status op_complex_##name(op_ctx *cx, const value *args, value *results) {                 \
        cdouble a = complex_arg(&args[0]);                                                         \
        (void)cx;                                                                                  \
        return op_return(results, make(expr));                                                     \
    }
COMPLEX_ASK(abs, value_float, cabs(a))
COMPLEX_ASK(angle, value_float, carg(a))
COMPLEX_ASK(isnan, value_bool, isnan(creal(a)) || isnan(cimag(a)))
COMPLEX_ASK(isinf, value_bool, isinf(creal(a)) || isinf(cimag(a)))
COMPLEX_ASK(isfinite, value_bool, isfinite(creal(a)) && isfinite(cimag(a)))

ctsc_status op_complex_eq(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_bool(complex_arg(&args[0]) == complex_arg(&args[1])));
}
ctsc_status op_complex_ne(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_bool(complex_arg(&args[0]) != complex_arg(&args[1])));
}

/* ---- making ---------------------------------------------------------------------------------- */

ctsc_status op_complex_polar(op_ctx *cx, const value *args, value *results) {
    double r = arg_float(&args[0]), phi = arg_float(&args[1]);
    return complex_return(cx, results, CMPLX(r * cos(phi), r * sin(phi)));
}

/* A part of complex(re, im): a number, or a tensor of one element. */
static ctsc_status complex_part(op_ctx *cx, const value *v, double *out) {
    if (v->tag != V_TENSOR) return *out = arg_float(v), CTSC_OK;
    value number = value_none();
    TRY(op_call(cx, "aten::item", 1, v, &number));
    bool real = number.tag != V_COMPLEX;
    if (real) *out = arg_float(&number);
    value_unref(number);
    return real ? CTSC_OK
                : diag_fail(cx->diag, CTSC_FAILED, "a part of a complex number must be real");
}
ctsc_status op_complex_make(op_ctx *cx, const value *args, value *results) {
    double re = 0, im = 0;
    if (args[0].tag == V_COMPLEX) return op_return(results, value_ref(args[0]));
    TRY(complex_part(cx, &args[0], &re));
    if (cx->nargs > 1) TRY(complex_part(cx, &args[1], &im));
    return complex_return(cx, results, CMPLX(re, im));
}
/* ComplexImplicit(Tensor), which takes 0-dim tensors alone */
ctsc_status op_complex_implicit(op_ctx *cx, const value *args, value *results) {
    if (args[0].tag == V_TENSOR && args[0].u.tensor->ndim != 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Cannot input a tensor of dimension other than 0 as a scalar argument");
    return op_complex_make(cx, args, results);
}
ctsc_status op_complex_sum(op_ctx *cx, const value *args, value *results) {
    const list *l = args[0].u.list;
    cdouble sum = 0;
    for (size_t i = 0; i < l->len; i++) sum += complex_arg(&l->u.values[i]);
    return complex_return(cx, results, sum);
}
