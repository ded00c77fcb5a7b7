/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar_ops_int.h - the integer operators of scalar_ops.h; read once per type (no include guard).
 *
 * Arithmetic wraps. It is done in UINT, where wrapping is defined, and narrowed. Division by zero
 * is the caller's to refuse before; here it gives 0.
 */
/* clang-format off: operators of one line */

SCALAR_FN INT OP_NAME(add)(INT a, INT b) { return (INT)((UINT)a + (UINT)b); }
SCALAR_FN INT OP_NAME(sub)(INT a, INT b) { return (INT)((UINT)a - (UINT)b); }
SCALAR_FN INT OP_NAME(mul)(INT a, INT b) { return (INT)((UINT)a * (UINT)b); }
SCALAR_FN INT OP_NAME(add_scaled)(INT a, INT b, INT alpha) {
    return (INT)((UINT)a + (UINT)alpha * (UINT)b);
}
SCALAR_FN INT OP_NAME(addcmul)(INT a, INT b, INT c, INT value) {
    return (INT)((UINT)a + (UINT)value * (UINT)b * (UINT)c);
}
SCALAR_FN INT OP_NAME(neg)(INT a) { return (INT)((UINT)0 - (UINT)a); }
SCALAR_FN INT OP_NAME(square)(INT a) { return (INT)((UINT)a * (UINT)a); }
SCALAR_FN INT OP_NAME(bitwise_and)(INT a, INT b) { return (INT)(a & b); }
SCALAR_FN INT OP_NAME(bitwise_or)(INT a, INT b) { return (INT)(a | b); }
SCALAR_FN INT OP_NAME(bitwise_xor)(INT a, INT b) { return (INT)(a ^ b); }
SCALAR_FN INT OP_NAME(bitwise_not)(INT a) { return (INT)~a; }
SCALAR_FN INT OP_NAME(maximum)(INT a, INT b) { return a > b ? a : b; }
SCALAR_FN INT OP_NAME(minimum)(INT a, INT b) { return a < b ? a : b; }
SCALAR_FN INT OP_NAME(clamp)(INT x, INT lo, INT hi) {
    INT raised = x < lo ? lo : x;
    return raised > hi ? hi : raised;
}
SCALAR_FN INT OP_NAME(relu)(INT a) { return a > 0 ? a : 0; }
SCALAR_FN INT OP_NAME(threshold)(INT x, INT threshold, INT value) {
    return x <= threshold ? value : x;
}
SCALAR_FN INT OP_NAME(positive)(INT a) { return a; }
#if INT_SIGNED
SCALAR_FN INT OP_NAME(abs)(INT a) { return a < 0 ? OP_NAME(neg)(a) : a; }
SCALAR_FN INT OP_NAME(sign)(INT a) { return (INT)((a > 0) - (a < 0)); }
#else
SCALAR_FN INT OP_NAME(abs)(INT a) { return a; }
SCALAR_FN INT OP_NAME(sign)(INT a) { return a > 0; }
#endif

/* Shifts by more than the width, or by a negative count, push every bit out. */
SCALAR_FN INT OP_NAME(lshift)(INT a, INT b) {
    return (UINT)b >= INT_BITS ? (INT)0 : (INT)((UINT)a << b);
}
SCALAR_FN INT OP_NAME(rshift)(INT a, INT b) {
    return (INT)(a >> ((UINT)b >= INT_BITS ? INT_BITS - 1 + !INT_SIGNED * (INT_BITS < 32) : b));
}

/* C's division, without its traps. */
SCALAR_FN INT OP_NAME(div_trunc)(INT a, INT b) {
#if INT_SIGNED
    if (b == -1) return OP_NAME(neg)(a);
#endif
    return b == 0 ? (INT)0 : (INT)(a / b);
}
SCALAR_FN INT OP_NAME(fmod)(INT a, INT b) {
#if INT_SIGNED
    if (b == -1) return 0;
#endif
    return b == 0 ? (INT)0 : (INT)(a % b);
}
/* Python's: rounds down; the remainder has the divisor's sign. */
SCALAR_FN INT OP_NAME(div_floor)(INT a, INT b) {
    INT q = OP_NAME(div_trunc)(a, b);
#if INT_SIGNED
    if ((a < 0) != (b < 0) && OP_NAME(fmod)(a, b) != 0) q = (INT)(q - 1);
#endif
    return q;
}
SCALAR_FN INT OP_NAME(remainder)(INT a, INT b) {
    INT r = OP_NAME(fmod)(a, b);
#if INT_SIGNED
    if (r != 0 && (r < 0) != (b < 0)) r = (INT)(r + b);
#endif
    return r;
}
/* A negative exponent gives the integer part of the true result. */
SCALAR_FN INT OP_NAME(pow)(INT a, INT b) {
#if INT_SIGNED
    if (b < 0) {
        if (a == 1) return 1;
        if (a == -1) return (b & 1) ? -1 : 1;
        return 0;
    }
#endif
    UINT base = (UINT)a, r = 1;
    for (UINT n = (UINT)b; n; n >>= 1) {
        if (n & 1) r *= base;
        base *= base;
    }
    return (INT)r;
}
SCALAR_FN INT OP_NAME(gcd)(INT a, INT b) {
    INT x = OP_NAME(abs)(a),
        y = OP_NAME(abs)(b); /* the least number stays negative, as in PyTorch */
    while (x != 0) {
        INT r = (INT)(y % x);
        y = x;
        x = r;
    }
    return y;
}
SCALAR_FN INT OP_NAME(lcm)(INT a, INT b) {
    INT g = OP_NAME(gcd)(a, b);
    UINT m = g == 0 ? 0
                    : (UINT)OP_NAME(div_trunc)(a, g) *
                          (UINT)b; /* the absolute value is taken before narrowing, as C++ does */
    return (INT)(m >> (sizeof(UINT) * 8 - 1) ? (UINT)0 - m : m);
}
/* clang-format on */
