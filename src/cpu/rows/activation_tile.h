/* SPDX-License-Identifier: Apache-2.0 */
/*
 * activation_tile.h - the activations of activation.h for one instruction set;
 * activation_vector.c includes it once for each.
 *
 * Included with these defined; all are undefined afterwards:
 *     V, I                     a vector of floats, of as many 32-bit integers; LANES: how many
 *     NAME(x), TARGET          names of what is defined here; the functions' attribute
 *     LOAD, STORE, SET1, ADD, SUB, MUL, DIV, FMA (a * b + c), FNMA (c - a * b), ABS
 *     MAX, MIN                 the second operand where one is NaN, and of two zeros
 *     BELOW(x, y, a, b)        x < y ? a : b
 *     BITS, FLOATS             the same bits as I, as V; SHIFT_LEFT, SHIFT_RIGHT, SUB_INT on I
 *     LOAD_PART, STORE_PART    the first n lanes; others are 0, and not touched
 *     KERNELS, KERNELS_HEAD    the record to define; its first member
 *
 * Methods, constants and cut-offs are those of ir/scalar/scalar_ops.h, which says why they are as
 * they are; here products and sums are fused.
 */

/* x = n log 2 + r, |r| <= log(2) / 2. Returns r; *shifted: n + bias in the low bits. */
static inline TARGET V NAME(reduce)(V x, float bias, I *shifted) {
    const V magic = SET1(12582912.0f + bias);
    V s = FMA(x, SET1(1.44269504f), magic);
    V n = SUB(s, magic);
    *shifted = BITS(s);
    return FMA(n, SET1(2.12194440e-4f), FNMA(n, SET1(0.693359375f), x));
}

/* e^x for x <= 0, denormal results included. */
static inline TARGET V NAME(exp_below)(V x) {
    I k;
    V r = NAME(reduce)(MAX(SET1(-104.0f), x), 254.0f, &k), z = MUL(r, r);
    V low = FMA(r, SET1(0.166665204f), SET1(0.499999934f));
    V high = FMA(r, SET1(0.00836874511f), SET1(0.0416683908f));
    V tail = FMA(z, FMA(z, SET1(0.00138145402f), high), low);
    V y = ADD(SET1(1.0f), FMA(z, tail, r));
    I half = SHIFT_RIGHT(k, 1);
    y = MUL(y, FLOATS(SHIFT_LEFT(half, 23)));
    return MUL(y, FLOATS(SHIFT_LEFT(SUB_INT(k, half), 23)));
}

/* 2^x for 1 / (1 + 2^x): denormal results are 0, and infinite from 2^127.5 on. */
static inline TARGET V NAME(exp2_short)(V x) {
    const V magic = SET1(12583039.0f);
    V c = MIN(SET1(128.0f), MAX(SET1(-127.0f), x));
    V s = ADD(c, magic), f = SUB(c, SUB(s, magic));
    V q = FMA(f, SET1(0.0013300248f), SET1(0.00966970809f));
    q = FMA(f, q, SET1(0.0555055998f));
    q = FMA(f, q, SET1(0.240222812f));
    q = FMA(f, q, SET1(0.693147182f));
    return MUL(FMA(f, q, SET1(1.0f)), FLOATS(SHIFT_LEFT(BITS(s), 23)));
}

/* e^x for 1 / (1 + e^x), as above. */
static inline TARGET V NAME(exp_short)(V x) {
    I k;
    V r = NAME(reduce)(MIN(SET1(89.0f), MAX(SET1(-88.0f), x)), 127.0f, &k), z = MUL(r, r);
    V low = FMA(r, SET1(0.166671142f), SET1(0.499992311f));
    V high = FMA(r, SET1(0.00831252243f), SET1(0.0418901108f));
    V y = ADD(SET1(1.0f), FMA(z, FMA(z, high, low), r));
    return MUL(y, FLOATS(SHIFT_LEFT(k, 23)));
}

static inline TARGET V NAME(relu)(V x) { return MAX(SET1(0.0f), x); }

static inline TARGET V NAME(relu6)(V x) { return MIN(SET1(6.0f), MAX(SET1(0.0f), x)); }

static inline TARGET V NAME(hardsigmoid)(V x) {
    return MUL(NAME(relu6)(ADD(x, SET1(3.0f))), SET1(0.16666667f));
}

static inline TARGET V NAME(hardswish)(V x) {
    return MUL(MUL(x, NAME(relu6)(ADD(x, SET1(3.0f)))), SET1(0.16666667f));
}

static inline TARGET V NAME(sigmoid)(V x) {
    V e = NAME(exp_below)(SUB(SET1(0.0f), ABS(x)));
    return DIV(BELOW(x, SET1(0.0f), e, SET1(1.0f)), ADD(SET1(1.0f), e));
}

static inline TARGET V NAME(silu)(V x) {
    return DIV(x, ADD(SET1(1.0f), NAME(exp_short)(SUB(SET1(0.0f), x))));
}

static inline TARGET V NAME(gelu_tanh)(V x) {
    V u = MUL(x, FMA(MUL(SET1(-0.102943239580023487f), x), x, SET1(-2.30220819814432489f)));
    return DIV(x, ADD(SET1(1.0f), NAME(exp2_short)(u)));
}

/* scalar_erf_short_f32 */
static inline TARGET V NAME(erf_short)(V x) {
    V c = MIN(SET1(4.1f), MAX(SET1(-4.1f), x)), z = MUL(c, c);
    V p = FMA(z, SET1(2.05006427e-06f), SET1(0.000284850219f));
    p = FMA(z, p, SET1(0.00376473367f));
    p = FMA(z, p, SET1(0.0527459346f));
    p = FMA(z, p, SET1(0.190387666f));
    p = FMA(z, p, SET1(1.12837911f));
    V q = FMA(z, SET1(3.808978e-05f), SET1(0.0011622983f));
    q = FMA(z, q, SET1(0.0149674499f));
    q = FMA(z, q, SET1(0.114101075f));
    q = FMA(z, q, SET1(0.5020594f));
    q = FMA(z, q, SET1(1.0f));
    return MIN(SET1(1.0f), MAX(SET1(-1.0f), DIV(MUL(c, p), q)));
}

static inline TARGET V NAME(gelu)(V x) {
    return MUL(MUL(x, SET1(0.5f)),
               ADD(SET1(1.0f), NAME(erf_short)(MUL(x, SET1(0.70710678118654752440f)))));
}

static inline __attribute__((always_inline)) TARGET void NAME(rows)(V (*f)(V), float *rows,
                                                                    int64_t n) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) STORE(rows + i, f(LOAD(rows + i)));
    if (i < n) STORE_PART(rows + i, f(LOAD_PART(rows + i, n - i)), n - i);
}

static TARGET void NAME(apply)(enum dense_activation a, float *rows, int64_t n) {
    switch (a) {
    case DENSE_PLAIN: return;
    case DENSE_RELU: NAME(rows)(NAME(relu), rows, n); return;
    case DENSE_GELU: NAME(rows)(NAME(gelu), rows, n); return;
    case DENSE_GELU_TANH: NAME(rows)(NAME(gelu_tanh), rows, n); return;
    case DENSE_RELU6: NAME(rows)(NAME(relu6), rows, n); return;
    case DENSE_HARDSIGMOID: NAME(rows)(NAME(hardsigmoid), rows, n); return;
    case DENSE_HARDSWISH: NAME(rows)(NAME(hardswish), rows, n); return;
    case DENSE_SIGMOID: NAME(rows)(NAME(sigmoid), rows, n); return;
    case DENSE_SILU: NAME(rows)(NAME(silu), rows, n); return;
    }
}

static TARGET void NAME(add)(float *rows, const float *other, int64_t n) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) STORE(rows + i, ADD(LOAD(rows + i), LOAD(other + i)));
    if (i < n)
        STORE_PART(rows + i, ADD(LOAD_PART(rows + i, n - i), LOAD_PART(other + i, n - i)), n - i);
}

KERNELS = {KERNELS_HEAD, NAME(apply), NAME(add)};

#undef V
#undef I
#undef LANES
#undef NAME
#undef TARGET
#undef LOAD
#undef STORE
#undef SET1
#undef ADD
#undef SUB
#undef MUL
#undef DIV
#undef FMA
#undef FNMA
#undef ABS
#undef MAX
#undef MIN
#undef BELOW
#undef BITS
#undef FLOATS
#undef SHIFT_LEFT
#undef SHIFT_RIGHT
#undef SUB_INT
#undef LOAD_PART
#undef STORE_PART
#undef KERNELS
#undef KERNELS_HEAD
