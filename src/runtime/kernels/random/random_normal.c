/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_normal.c - normal fills of 16 elements and more, bit for bit as PyTorch's CPU
 * code makes them.
 *
 * Method: 16 uniforms become normals by Box and Muller's method, 8 radii with 8 angles. Which
 * functions and which roundings PyTorch's code has depends on the dtype:
 *   float64   libm, the last multiplication and addition fused
 *   float32   the polynomials of Moshier's Cephes library (logf, sinf, cosf) in vector code, fused where the compiler could
 *   float16   libm in float between values kept as float16
 *   bfloat16  every step rounded to bfloat16
 * Tests: tests/unit/test_pointwise.c, tests/prelude
 */
#include "runtime/kernels/random/random.h"

#include <math.h>
#include <string.h>

static const double RANDOM_PI = 3.14159265358979323846;

/* x = m * 2^exponent, 0.5 <= m < 1, of a normal number. */
RANDOM_PART float random_split(float x, int *exponent) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    *exponent = (int)(bits >> 23) - 126;
    bits = (bits & 0x007fffffu) | 0x3f000000u;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The coefficients and constants below are Cephes'. x > 0, and normal. */
RANDOM_PART float random_logf(float x) {
    int exponent;
    x = random_split(x, &exponent);
    float e = (float)exponent;
    /* selects rather than branches, so that eight go side by side */
    bool low = x < 0.707106781186547524f;
    e -= low ? 1.0f : 0.0f;
    x = (x - 1) + (low ? x : 0.0f);
    float z = x * x;
    float y = fmaf(7.0376836292E-2f, x, -1.1514610310E-1f);
    y = fmaf(y, x, 1.1676998740E-1f);
    y = fmaf(y, x, -1.2420140846E-1f);
    y = fmaf(y, x, 1.4249322787E-1f);
    y = fmaf(y, x, -1.6668057665E-1f);
    y = fmaf(y, x, 2.0000714765E-1f);
    y = fmaf(y, x, -2.4999993993E-1f);
    y = fmaf(y, x, 3.3333331174E-1f);
    y = fmaf(y * x, z, e * -2.12194440e-4f);
    y = fmaf(z, -0.5f, y);
    return fmaf(e, 0.693359375f, x + y);
}

/* 0 <= x < 2 pi: the octant, then a polynomial in what remains. */
RANDOM_PART void random_sincosf(float x, float *sine, float *cosine) {
    int octant = ((int)(x * 1.27323954473516f) + 1) & ~1;
    float y = (float)octant;
    x = fmaf(y, -0.78515625f, x);
    x = fmaf(y, -2.4187564849853515625e-4f, x);
    x = fmaf(y, -3.77489497744594108e-8f, x);
    float z = x * x;
    float c = fmaf(fmaf(2.443315711809948E-5f, z, -1.388731625493765E-3f), z,
                   4.166664568298827E-2f);
    c = fmaf(c * z, z, z * -0.5f) + 1;
    float s = fmaf(fmaf(-1.9515295891E-4f, z, 8.3321608736E-3f), z, -1.6666654611E-1f);
    s = fmaf(s * z, x, x);
    bool swapped = octant & 2;
    float from = swapped ? c : s, with = swapped ? s : c;
    *sine = octant & 4 ? -from : from;
    *cosine = (octant + 2) & 4 ? -with : with;
}

RANDOM_HOT static void random_normal_float32(float *p, int64_t blocks, double mean, double std) {
    const float m = (float)mean, d = (float)std;
    for (; blocks > 0; blocks--, p += 16) {
        float first[8], second[8];
        for (int i = 0; i < 8; i++) {
            float radius = sqrtf(-2 * random_logf(1 - p[i])), s, c;
            random_sincosf((float)(2 * RANDOM_PI) * p[i + 8], &s, &c);
            first[i] = fmaf(radius * c, d, m);
            second[i] = fmaf(radius * s, d, m);
        }
        memcpy(p, first, sizeof first);
        memcpy(p + 8, second, sizeof second);
    }
}

static void random_normal_float64(double *p, double mean, double std) {
    for (int i = 0; i < 8; i++) {
        double radius = sqrt(-2 * log(1 - p[i])), theta = 2 * RANDOM_PI * p[i + 8];
        p[i] = fma(radius * cos(theta), std, mean);
        p[i + 8] = fma(radius * sin(theta), std, mean);
    }
}

static float random_half(float x) { return float16_to_float(float16_from_float(x)); }

static void random_normal_float16(float16 *p, double mean, double std) {
    float m = random_half((float)mean), d = random_half((float)std);
    for (int i = 0; i < 8; i++) {
        float radius = random_half(sqrtf(-2 * logf(random_half(1 - float16_to_float(p[i])))));
        float theta = random_half((float)(2 * RANDOM_PI * float16_to_float(p[i + 8])));
        p[i] = float16_from_float(fmaf(radius * cosf(theta), d, m));
        p[i + 8] = float16_from_float(fmaf(radius * sinf(theta), d, m));
    }
}

static float random_brain(double x) { return bfloat16_to_float(bfloat16_from_float((float)x)); }

static void random_normal_bfloat16(bfloat16 *p, double mean, double std) {
    float m = random_brain(mean), d = random_brain(std);
    for (int i = 0; i < 8; i++) {
        float radius = random_brain(
            sqrtf(-2 * random_brain(logf(random_brain(1 - bfloat16_to_float(p[i]))))));
        float theta = random_brain(2 * RANDOM_PI * bfloat16_to_float(p[i + 8]));
        float a = random_brain(radius * random_brain(cosf(theta))),
              b = random_brain(radius * random_brain(sinf(theta)));
        p[i] = bfloat16_from_float(random_brain(a * d) + m);
        p[i + 8] = bfloat16_from_float(random_brain(b * d) + m);
    }
}

void random_normal_block(char *p, int64_t blocks, dtype dt, double mean, double std) {
    if (dt == DT_FLOAT32) {
        random_normal_float32((float *)(void *)p, blocks, mean, std);
        return;
    }
    for (int64_t i = 0; i < blocks; i++, p += 16 * dtype_size(dt)) {
        switch (dt) {
        case DT_FLOAT16: random_normal_float16((float16 *)(void *)p, mean, std); break;
        case DT_BFLOAT16: random_normal_bfloat16((bfloat16 *)(void *)p, mean, std); break;
        default: random_normal_float64((double *)(void *)p, mean, std); break;
        }
    }
}
