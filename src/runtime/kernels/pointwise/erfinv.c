/* SPDX-License-Identifier: Apache-2.0 */
/*
 * erfinv.c - aten::erfinv: the inverse of the error function.
 *
 * Method. Half of the time to build a transformer is erfinv: trunc_normal_ makes
 * weights with it, which must match PyTorch's to the last bit. So the vector loop does
 * what scalar_erfinv_f32 does with libm, which is what PyTorch's kernel does: erff
 * (Sun's rational functions) and expf (a table of 2^(i/32) and a polynomial, in double)
 * are written out for the most common arguments, with the operations of glibc in their
 * order. Other elements, and the logarithms of the tails, use libm, one by one.
 * Tests: tests/unit/test_pointwise.c
 */
#include "cpu/isa.h"
#include "runtime/kernels/pointwise/pointwise.h"

#include <string.h>

enum { ERFINV_BLOCK = 256, ERFINV_POWERS = 32 };

#if defined(__x86_64__) && defined(__GNUC__)
#define ERFINV_VECTOR VECTOR_LOOPS TARGET_AVX2
static bool erfinv_has_vectors(void) { return isa_has(ISA_AVX2); }
#else
#define ERFINV_VECTOR VECTOR_LOOPS
static bool erfinv_has_vectors(void) { return false; }
#endif

/* erff(x) for 2^-100 < |x| < 1.25, and 0. */
ERFINV_VECTOR static void erfinv_erf(const float *restrict x, float *restrict out) {
    for (int i = 0; i < ERFINV_BLOCK; i++) {
        float v = x[i], z = v * v, s = fabsf(v) - 1.0f;
        float r = 1.2837916613e-01f + z * (-3.2504209876e-01f +
                                           z * (-2.8481749818e-02f +
                                                z * (-5.7702702470e-03f + z * -2.3763017452e-05f)));
        float t = 1.0f + z * (3.9791721106e-01f +
                              z * (6.5022252500e-02f +
                                   z * (5.0813062117e-03f +
                                        z * (1.3249473704e-04f + z * -3.9602282413e-06f))));
        float p = -2.3621185683e-03f +
                  s * (4.1485610604e-01f +
                       s * (-3.7220788002e-01f +
                            s * (3.1834661961e-01f +
                                 s * (-1.1089469492e-01f +
                                      s * (3.5478305072e-02f + s * -2.1663755178e-03f)))));
        float q = 1.0f + s * (1.0642088205e-01f +
                              s * (5.4039794207e-01f +
                                   s * (7.1828655899e-02f +
                                        s * (1.2617121637e-01f +
                                             s * (1.3637083583e-02f + s * 1.1984500103e-02f)))));
        bool centre = s < -0.15625f;
        float ratio = (centre ? r : p) / (centre ? t : q);
        out[i] = centre ? v + v * ratio : copysignf(8.4506291151e-01f + ratio, v);
    }
}

/* A step of Newton's: x -= (erf(x) - y) / (2 / sqrt(pi) * expf(-x * x)) */
ERFINV_VECTOR static void erfinv_step(const float *restrict y, const float *restrict erf,
                                      float *restrict x) {
    static const uint64_t powers[ERFINV_POWERS] = {
        /* the bits of 2^(i/32), less i * 2^47 */
        0x3ff0000000000000, 0x3fefd9b0d3158574, 0x3fefb5586cf9890f, 0x3fef9301d0125b51,
        0x3fef72b83c7d517b, 0x3fef54873168b9aa, 0x3fef387a6e756238, 0x3fef1e9df51fdee1,
        0x3fef06fe0a31b715, 0x3feef1a7373aa9cb, 0x3feedea64c123422, 0x3feece086061892d,
        0x3feebfdad5362a27, 0x3feeb42b569d4f82, 0x3feeab07dd485429, 0x3feea47eb03a5585,
        0x3feea09e667f3bcd, 0x3fee9f75e8ec5f74, 0x3feea11473eb0187, 0x3feea589994cce13,
        0x3feeace5422aa0db, 0x3feeb737b0cdc5e5, 0x3feec49182a3f090, 0x3feed503b23e255d,
        0x3feee89f995ad3ad, 0x3feeff76f2fb5e47, 0x3fef199bdd85529c, 0x3fef3720dcef9069,
        0x3fef5818dcfba487, 0x3fef7c97337b9b5f, 0x3fefa4afa2a490da, 0x3fefd0765b6e4540};
    const double per_step = 0x1.71547652b82fep+0 * ERFINV_POWERS, magic = 0x1.8p+52;
    const double c3 = 0x1.c6af84b912394p-5 / ERFINV_POWERS / ERFINV_POWERS / ERFINV_POWERS,
                 c2 = 0x1.ebfce50fac4f3p-3 / ERFINV_POWERS / ERFINV_POWERS,
                 c1 = 0x1.62e42ff0c52d6p-1 / ERFINV_POWERS;
    for (int i = 0; i < ERFINV_BLOCK; i++) {
        double v = (double)(-x[i] * x[i]), shifted = fma(per_step, v, magic);
        uint64_t k = scalar_bits_f64(shifted);
        double r = fma(per_step, v, -(shifted - magic)),
               power = scalar_from_bits_f64(powers[k % ERFINV_POWERS] + (k << 47));
        float e = (float)(fma(fma(c3, r, c2), r * r, fma(c1, r, 1.0)) * power);
        x[i] -= (erf[i] - y[i]) / (1.1283791670955126f * e);
    }
}

ERFINV_VECTOR static void erfinv_begin(const float *restrict y, float *restrict x) {
    /* listed without a branch, which would often be guessed wrong */
    int tails[ERFINV_BLOCK], n = 0;
    for (int i = 0; i < ERFINV_BLOCK; i++) x[i] = scalar_erfinv_centre_f32(y[i]);
    for (int i = 0; i < ERFINV_BLOCK; i++) {
        tails[n] = i;
        n += !(fabsf(y[i]) <= 0.7f);
    }
    for (int i = 0; i < n; i++)
        x[tails[i]] = fabsf(y[tails[i]]) < 1.0f ? scalar_erfinv_tail_f32(y[tails[i]]) : 0.0f;
}

/* libm's, where erfinv_erf does not hold. */
VECTOR_LOOPS static void erfinv_erf_beyond(const float *x, float *out) {
    int beyond[ERFINV_BLOCK], n = 0;
    for (int i = 0; i < ERFINV_BLOCK; i++) {
        float a = fabsf(x[i]);
        beyond[n] = i;
        n += (a >= 1.25f) | (a < 0x1p-100f);
    }
    for (int i = 0; i < n; i++) out[beyond[i]] = erff(x[beyond[i]]);
}

VECTOR_LOOPS static void erfinv_block(const float *y, float *x) {
    float erf[ERFINV_BLOCK];
    erfinv_begin(y, x);
    for (int step = 0; step < 2; step++) {
        erfinv_erf(x, erf);
        erfinv_erf_beyond(x, erf);
        erfinv_step(y, erf, x);
    }
    for (int i = 0; i < ERFINV_BLOCK; i++)
        if (!(fabsf(y[i]) < 1.0f)) x[i] = scalar_erfinv_f32(y[i]);
}

static void erfinv_f32_loop(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    float x[ERFINV_BLOCK] = {0}, y[ERFINV_BLOCK] = {0};
    const bool vectors = erfinv_has_vectors();
    (void)ctx;
    for (int64_t done = 0; done < n; done += ERFINV_BLOCK) {
        const int64_t m = n - done < ERFINV_BLOCK ? n - done : ERFINV_BLOCK;
        if (s[1] == sizeof *y) memcpy(y, p[1] + done * s[1], (size_t)m * sizeof *y);
        else
            for (int64_t i = 0; i < m; i++)
                y[i] = *(const float *)(const void *)(p[1] + (done + i) * s[1]);
        if (vectors && m > ERFINV_BLOCK / 8) erfinv_block(y, x);
        else
            for (int64_t i = 0; i < m; i++) x[i] = scalar_erfinv_f32(y[i]);
        if (s[0] == sizeof *x) memcpy(p[0] + done * s[0], x, (size_t)m * sizeof *x);
        else
            for (int64_t i = 0; i < m; i++) *(float *)(void *)(p[0] + (done + i) * s[0]) = x[i];
    }
}
PW_REAL_LOOPS_BUT_F32(PLAIN, erfinv, 1, 0)

ctsc_status op_erfinv(op_ctx *cx, const value *args, value *results);
ctsc_status op_erfinv(op_ctx *cx, const value *args, value *results) {
    static const pw_op op = {"erfinv_vml_cpu", PW_REAL, {PW_REAL_ROW(erfinv)}};
    return pw_run(cx, args, 1, args, &op, NULL, results);
}
