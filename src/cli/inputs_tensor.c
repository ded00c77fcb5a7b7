/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inputs_tensor.c - tensors as the command line writes them: a dtype, sizes, and what they hold.
 *
 *     float32[2,3]              as :rand
 *     float32[2,3]:rand         uniform in [0, 1); of integers 0 to 9
 *     float32[2,3]:randn        normal, with mean 0 and deviation 1
 *     int64[1,16]:0..50257      uniform in [0, 50257)
 *     float32[2,3]:0.5          all elements alike; zeros, ones
 *     int64[4]:arange           0, 1, 2, ...
 *     float32[2,3]:rand:grad    requires a gradient
 *
 * The same text gives the same numbers on every run.
 * Tests: tests/cli/inputs.test
 */
#include "cli/inputs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a tensor of a dtype is filled as: C has no type for half precision. */
typedef struct tensor_type {
    ctsc_dtype dtype, filled;
    int parts; /* elements of `filled` in each one */
} tensor_type;

static ctsc_dtype tensor_filled(const ctsc_dtype_info *d) {
    switch (d->kind) {
    case CTSC_DTYPE_FLOAT: return d->dtype == CTSC_FLOAT64 ? CTSC_FLOAT64 : CTSC_FLOAT32;
    case CTSC_DTYPE_COMPLEX: return d->dtype == CTSC_COMPLEX128 ? CTSC_FLOAT64 : CTSC_FLOAT32;
    case CTSC_DTYPE_UNSIGNED:
        if (d->use == CTSC_DTYPE_COMPUTED) return d->dtype;
        return d->dtype == CTSC_UINT16 ? CTSC_INT32 : CTSC_INT64;
    default: return d->dtype;
    }
}

/* "float32", "f32": the len bytes at name; false: no dtype that tensors can be made of. */
static bool tensor_find_type(const char *name, size_t len, tensor_type *out) {
    char text[32];
    if (len >= sizeof text) return false;
    memcpy(text, name, len);
    text[len] = '\0';
    const ctsc_dtype_info *d = ctsc_dtype_find(text);
    if (!d || d->use == CTSC_DTYPE_NAMED) return false;
    *out = (tensor_type){d->dtype, tensor_filled(d), d->kind == CTSC_DTYPE_COMPLEX ? 2 : 1};
    return true;
}

/* ---- what a tensor holds --------------------------------------------------------------------- */

typedef enum fill_kind { FILL_RAND, FILL_RANDN, FILL_ARANGE, FILL_NUMBER, FILL_RANGE } fill_kind;

typedef struct tensor_fill {
    fill_kind kind;
    double low, high;
    uint64_t state;
} tensor_fill;

static const struct {
    const char *word;
    tensor_fill fill;
} tensor_fills[] = {
    {"rand", {FILL_RAND}},       {"randn", {FILL_RANDN}},    {"arange", {FILL_ARANGE}},
    {"zeros", {FILL_NUMBER, 0}}, {"ones", {FILL_NUMBER, 1}},
};

/* splitmix64 (public domain, S. Vigna). */
static double tensor_uniform(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Box and Muller's. */
static double tensor_normal(uint64_t *state) {
    double u = 1 - tensor_uniform(state), v = tensor_uniform(state);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static bool tensor_is_real(ctsc_dtype dt) { return dt == CTSC_FLOAT32 || dt == CTSC_FLOAT64; }

static double tensor_number(tensor_fill *f, ctsc_dtype dt, int64_t i) {
    bool real = tensor_is_real(dt);
    double u;
    switch (f->kind) {
    case FILL_RAND:
        u = tensor_uniform(&f->state);
        return real ? u : dt == CTSC_BOOL ? u < 0.5 : (double)(int64_t)(u * 10);
    case FILL_RANDN: return tensor_normal(&f->state);
    case FILL_ARANGE: return (double)i;
    case FILL_NUMBER: return f->low;
    case FILL_RANGE: break;
    }
    u = tensor_uniform(&f->state);
    u = f->low + (f->high - f->low) * (real ? u : 0) + (real ? 0 : floor((f->high - f->low) * u));
    return u < f->high ? u : f->low; /* the sum may be rounded up */
}

static void tensor_store(void *data, ctsc_dtype dt, int64_t i, double x) {
    switch (dt) {
    case CTSC_FLOAT32: ((float *)data)[i] = (float)x; break;
    case CTSC_FLOAT64: ((double *)data)[i] = x; break;
    case CTSC_INT64: ((int64_t *)data)[i] = (int64_t)x; break;
    case CTSC_INT32: ((int32_t *)data)[i] = (int32_t)(int64_t)x; break;
    case CTSC_INT16: ((int16_t *)data)[i] = (int16_t)(int64_t)x; break;
    case CTSC_INT8: ((int8_t *)data)[i] = (int8_t)(int64_t)x; break;
    case CTSC_BOOL: ((uint8_t *)data)[i] = x != 0; break;
    default: ((uint8_t *)data)[i] = (uint8_t)(int64_t)x; break;
    }
}

/* Imaginary parts are random where the real ones are, else 0. */
static void tensor_fill_with(const ctsc_value *t, const tensor_type *d, tensor_fill f) {
    int64_t n = 1;
    for (int i = 0; i < ctsc_tensor_ndim(t); i++) n *= ctsc_tensor_sizes(t)[i];
    bool random = f.kind != FILL_ARANGE && f.kind != FILL_NUMBER;
    f.state = 42;
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < d->parts; k++)
            tensor_store(ctsc_tensor_data(t), d->filled, i * d->parts + k,
                         k && !random ? 0 : tensor_number(&f, d->filled, i));
}

/* The least and the largest number an element can be. */
static void tensor_limits(ctsc_dtype dt, double *least, double *most) {
    switch (dt) {
    case CTSC_UINT8: *least = 0, *most = 255; break;
    case CTSC_INT8: *least = -128, *most = 127; break;
    case CTSC_INT16: *least = -32768, *most = 32767; break;
    case CTSC_INT32: *least = -2147483648.0, *most = 2147483647.0; break;
    case CTSC_INT64: *least = -0x1p53, *most = 0x1p53; break; /* integers that a double holds */
    case CTSC_BOOL: *least = 0, *most = 1; break;
    default: *most = HUGE_VAL, *least = -HUGE_VAL; break;
    }
}

static bool tensor_takes(ctsc_dtype dt, double x) {
    double least, most;
    tensor_limits(dt, &least, &most);
    return x >= least && x <= most && (tensor_is_real(dt) || x == floor(x));
}

static ctsc_status tensor_parse_fill(const char *spec, const char *text, ctsc_dtype dt,
                                     tensor_fill *out) {
    for (size_t i = 0; i < sizeof tensor_fills / sizeof *tensor_fills; i++)
        if (!strcmp(text, tensor_fills[i].word)) {
            *out = tensor_fills[i].fill;
            if (out->kind != FILL_RANDN || tensor_is_real(dt)) return CTSC_OK;
            return cli_complain(CTSC_USAGE, "--input %s: randn is for floating-point tensors",
                                spec);
        }
    char *end;
    out->kind = FILL_NUMBER;
    const char *dots = strstr(text, ".."); /* strtod would take the first of them */
    char low[64];
    if (dots && (size_t)(dots - text) < sizeof low) {
        snprintf(low, sizeof low, "%.*s", (int)(dots - text), text);
        out->kind = FILL_RANGE;
        out->low = cli_double(low, &end);
        bool good = end != low && !*end;
        out->high = cli_double(dots + 2, &end);
        if (!good || end == dots + 2 || *end || !(out->low < out->high) ||
            isinf(out->high - out->low))
            return cli_complain(CTSC_USAGE,
                                "--input %s: LOW..HIGH, with LOW below HIGH, is expected", spec);
    } else {
        out->low = cli_double(text, &end);
        if (end == text || *end)
            return cli_complain(CTSC_USAGE,
                                "--input %s: the contents are rand, randn, zeros, ones, arange, a "
                                "number or LOW..HIGH",
                                spec);
    }
    double last = out->kind == FILL_RANGE && !tensor_is_real(dt) ? out->high - 1 : out->low;
    if ((tensor_takes(dt, out->low) && tensor_takes(dt, last)) ||
        (tensor_is_real(dt) && out->kind == FILL_NUMBER))
        return CTSC_OK;
    return cli_complain(CTSC_USAGE, "--input %s: the dtype has no such numbers", spec);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static ctsc_status tensor_convert(ctsc_value **t, ctsc_dtype dt, ctsc_error *e) {
    ctsc_value *to = ctsc_int_new(dt), *made = NULL;
    ctsc_value *const args[] = {*t, to};
    ctsc_status s = ctsc_call("aten::to.dtype", 2, args, &made, e);
    ctsc_value_free(to);
    if (s != CTSC_OK) return s;
    ctsc_value_free(*t);
    *t = made;
    return s;
}

/* "2,3]" at *p, which moves past it. */
static ctsc_status tensor_parse_sizes(const char *spec, const char **p, int64_t *sizes, int *n) {
    const char *at = *p;
    for (*n = 0; *at && *at != ']';) {
        char *end;
        errno = 0;
        long long v = strtoll(at, &end, 10);
        if (end == at || *n == 64 || v < 0 || errno)
            return cli_complain(
                CTSC_USAGE, "--input %s: the sizes are whole numbers from 0 on, like [2,3]", spec);
        sizes[(*n)++] = v;
        at = *end == ',' ? end + 1 : end;
        if (*end != ',' && *end != ']')
            return cli_complain(
                CTSC_USAGE, "--input %s: the sizes are whole numbers from 0 on, like [2,3]", spec);
    }
    if (*at != ']' || (at[1] && at[1] != ':'))
        return cli_complain(CTSC_USAGE, "--input %s: ']' expected", spec);
    *p = at + 1;
    return CTSC_OK;
}

/* The text after the ']'; *grad: the tensor requires a gradient. */
static ctsc_status tensor_parse_rest(const char *spec, const char *p, ctsc_dtype dt,
                                     tensor_fill *fill, bool *grad) {
    static const char suffix[] = ":grad";
    char text[128];
    size_t n = strlen(p), k = sizeof suffix - 1;
    *grad = n >= k && !strcmp(p + n - k, suffix);
    if (*grad) n -= k;
    if (n >= sizeof text) return cli_complain(CTSC_USAGE, "--input %s: too long", spec);
    snprintf(text, sizeof text, "%.*s", (int)n, p);
    return n ? tensor_parse_fill(spec, text + 1, dt, fill) : CTSC_OK;
}

ctsc_status inputs_tensor(const char *spec, bool *is_tensor, ctsc_value **out) {
    const char *p = strchr(spec, '[');
    tensor_type d;
    *is_tensor = p && tensor_find_type(spec, (size_t)(p - spec), &d);
    if (!*is_tensor) return CTSC_OK;
    int64_t sizes[64];
    int n = 0;
    tensor_fill fill = {FILL_RAND};
    p++;
    ctsc_status s = tensor_parse_sizes(spec, &p, sizes, &n);
    bool grad = false;
    if (s == CTSC_OK) s = tensor_parse_rest(spec, p, d.filled, &fill, &grad);
    if (s != CTSC_OK) return s;
    ctsc_value *t = NULL;
    ctsc_error *e = ctsc_error_new();
    s = ctsc_tensor_new(d.parts == 2 ? d.dtype : d.filled, n, sizes, &t, e);
    if (s == CTSC_OK) tensor_fill_with(t, &d, fill);
    if (s == CTSC_OK && d.parts == 1 && d.filled != d.dtype) s = tensor_convert(&t, d.dtype, e);
    if (s == CTSC_OK && grad) s = ctsc_value_set_requires_grad(t, true, e);
    if (s == CTSC_OK) *out = t;
    else cli_report(e), ctsc_value_free(t);
    ctsc_error_free(e);
    return s;
}
