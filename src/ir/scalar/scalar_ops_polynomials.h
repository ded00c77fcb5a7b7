/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar_ops_polynomials.h - the orthogonal polynomials of scalar_ops.h; read once per type (no
 * include guard), as scalar_ops_real.h.
 *
 * Method: three-term recurrences (DLMF 18.9); Chebyshev's of higher degree by their trigonometric
 * forms (18.5) inside [-1, 1], from the degrees on from which PyTorch does. All of it in the type
 * of the result: where a recurrence overflows it ends in inf - inf, and whether it does is for the
 * type to say. High degrees take the closed forms of scalar_ops_special.h.
 */
/* clang-format off: operators of one line */

/* A closed form's result in the type. */
SCALAR_FN REAL OP_NAME(beyond)(double r) {
    REAL own = (REAL)r;
    return own - own == C(0.0) ? own : (REAL)SCALAR_NAN;
}
#define FAR_OUT(x) (n > SCALAR_DEGREE_SUMMED && MATH(fabs)(x) > C(1.0))

/* p(0), p(1) given; p(k + 1) = 2 x p(k) - p(k - 1). */
SCALAR_FN REAL OP_NAME(chebyshev)(REAL x, int64_t n, REAL first, REAL second) {
    REAL p = first, q = second, r = n < 1 ? p : q;
    for (int64_t k = 2; k <= n; k++) {
        r = (x + x) * q - p;
        p = q;
        q = r;
        if (r != r) break;
    }
    return r;
}
/* trig: the degree from which on the trigonometric form is used. */
SCALAR_FN REAL OP_NAME(chebyshev_t_from)(REAL x, REAL degree, int64_t trig) {
    int64_t n = scalar_degree_f64((double)degree);
    if (n < 0) return C(0.0);
    if (MATH(fabs)(x) == C(1.0)) return x > C(0.0) || n % 2 == 0 ? C(1.0) : -C(1.0);
    if (n >= trig && MATH(fabs)(x) < C(1.0)) return MATH(cos)((REAL)n * MATH(acos)(x));
    if (FAR_OUT(x)) return OP_NAME(beyond)(scalar_chebyshev_t_beyond_f64((double)x, n));
    return OP_NAME(chebyshev)(x, n, C(1.0), x);
}
SCALAR_FN REAL OP_NAME(chebyshev_u_from)(REAL x, REAL degree, int64_t trig) {
    int64_t n = scalar_degree_f64((double)degree);
    if (n < 0) return C(0.0);
    if (MATH(fabs)(x) == C(1.0)) return x > C(0.0) || n % 2 == 0 ? (REAL)(n + 1) : (REAL) - (n + 1);
    if (n >= trig && MATH(fabs)(x) < C(1.0)) {
        REAL angle = MATH(acos)(x), at = (REAL)(n + 1) * angle, s = MATH(sin)(angle);
        return s != C(0.0) ? MATH(sin)(at) / s : (REAL)(n + 1) * MATH(cos)(at) / x;
    }
    if (FAR_OUT(x)) return OP_NAME(beyond)(scalar_chebyshev_u_beyond_f64((double)x, n));
    return OP_NAME(chebyshev)(x, n, C(1.0), x + x);
}
SCALAR_FN REAL OP_NAME(chebyshev_v_from)(REAL x, REAL degree, int64_t trig) {
    int64_t n = scalar_degree_f64((double)degree);
    if (n < 0) return C(0.0);
    if (MATH(fabs)(x) == C(1.0))
        return x > C(0.0)   ? C(1.0)
               : n % 2 == 0 ? (REAL)(2 * (uint64_t)n + 1)
                            : -(REAL)(2 * (uint64_t)n + 1);
    if (n >= trig && MATH(fabs)(x) < C(1.0)) {
        REAL angle = MATH(acos)(x), half = angle / C(2.0);
        return MATH(cos)(((REAL)n + C(0.5)) * angle) / MATH(cos)(half);
    }
    if (FAR_OUT(x)) return OP_NAME(beyond)(scalar_chebyshev_half_beyond_f64((double)x, n, 0));
    return OP_NAME(chebyshev)(x, n, C(1.0), x + x - C(1.0));
}
SCALAR_FN REAL OP_NAME(chebyshev_w_from)(REAL x, REAL degree, int64_t trig) {
    int64_t n = scalar_degree_f64((double)degree);
    if (n < 0) return C(0.0);
    if (MATH(fabs)(x) == C(1.0))
        return x > C(0.0) ? (REAL)(2 * (uint64_t)n + 1) : n % 2 == 0 ? C(1.0) : -C(1.0);
    if (n >= trig && MATH(fabs)(x) < C(1.0)) {
        REAL angle = MATH(acos)(x), half = angle / C(2.0);
        return MATH(sin)(((REAL)n + C(0.5)) * angle) / MATH(sin)(half);
    }
    if (FAR_OUT(x)) return OP_NAME(beyond)(scalar_chebyshev_half_beyond_f64((double)x, n, 1));
    return OP_NAME(chebyshev)(x, n, C(1.0), x + x + C(1.0));
}
SCALAR_FN REAL OP_NAME(chebyshev_t)(REAL x, REAL n) { return OP_NAME(chebyshev_t_from)(x, n, 7); }
SCALAR_FN REAL OP_NAME(chebyshev_u)(REAL x, REAL n) { return OP_NAME(chebyshev_u_from)(x, n, 9); }
SCALAR_FN REAL OP_NAME(chebyshev_v)(REAL x, REAL n) { return OP_NAME(chebyshev_v_from)(x, n, 9); }
SCALAR_FN REAL OP_NAME(chebyshev_w)(REAL x, REAL n) { return OP_NAME(chebyshev_w_from)(x, n, 9); }
SCALAR_FN REAL OP_NAME(shifted_t)(REAL x, REAL n) {
    return OP_NAME(chebyshev_t_from)(x + x - C(1.0), n, 7);
}
SCALAR_FN REAL OP_NAME(shifted_u)(REAL x, REAL n) {
    return OP_NAME(chebyshev_u_from)(x + x - C(1.0), n, 7);
}
SCALAR_FN REAL OP_NAME(shifted_v)(REAL x, REAL n) {
    return OP_NAME(chebyshev_v_from)(x + x - C(1.0), n, 7);
}
SCALAR_FN REAL OP_NAME(shifted_w)(REAL x, REAL n) {
    return OP_NAME(chebyshev_w_from)(x + x - C(1.0), n, 5);
}
SCALAR_FN REAL OP_NAME(hermite_h)(REAL x, REAL degree) {
    int64_t n = scalar_degree_f64((double)degree);
    if (n < 0) return C(0.0);
    REAL p = C(1.0), q = x + x, r = n < 1 ? p : q;
    for (int64_t k = 2; k / 2 < n; k += 2) {
        r = (x + x) * q - (REAL)k * p;
        p = q;
        q = r;
        if (r != r) break;
    }
    return r;
}
SCALAR_FN REAL OP_NAME(hermite_he)(REAL x, REAL degree) {
    int64_t n = scalar_degree_f64((double)degree);
    if (n < 0) return C(0.0);
    REAL p = C(1.0), q = x, r = n < 1 ? p : q;
    for (int64_t k = 1; k < n; k++) {
        r = x * q - (REAL)k * p;
        p = q;
        q = r;
        if (r != r) break;
    }
    return r;
}
SCALAR_FN REAL OP_NAME(laguerre_l)(REAL x, REAL degree) {
    int64_t n = scalar_degree_f64((double)degree);
    if (n < 0) return C(0.0);
    if (x == C(0.0)) return C(1.0);
    REAL p = C(1.0), q = C(1.0) - x, r = n < 1 ? p : q;
    for (int64_t k = 1; k < n; k++) {
        if (k == SCALAR_DEGREE_SUMMED)
            return OP_NAME(beyond)(scalar_laguerre_far_f64((double)x, (double)n));
        r = ((REAL)(k + k) + (C(1.0) - x)) * q;
        r = (r - (REAL)k * p) / (REAL)(k + 1);
        p = q;
        q = r;
        if (r != r) break;
    }
    return r;
}
SCALAR_FN REAL OP_NAME(legendre_p)(REAL x, REAL degree) {
    int64_t n = scalar_degree_f64((double)degree);
    if (n < 0) return C(0.0);
    if (MATH(fabs)(x) == C(1.0)) return x > C(0.0) || n % 2 == 0 ? C(1.0) : -C(1.0);
    REAL p = C(1.0), q = x, r = n < 1 ? p : q;
    for (int64_t k = 1; k < n; k++) {
        if (k == SCALAR_DEGREE_SUMMED)
            return OP_NAME(beyond)((x < C(0.0) && n % 2 ? -1 : 1) *
                                   scalar_legendre_far_f64(fabs((double)x), (double)n));
        r = ((REAL)(k + k + 1) * x * q - (REAL)k * p) / (REAL)(k + 1);
        p = q;
        q = r;
        if (r != r) break;
    }
    return r;
}
#undef FAR_OUT
/* clang-format on */
