/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upsample.c - resizing by the nearest neighbour, linearly, cubically, and with antialiasing.
 *
 * Method: every mode is separable. A table per dim says which input positions an output position is
 * made of, and with which weights; the dims are then resampled one after the other, the innermost
 * first (the order in which PyTorch nests its sums). Weighting whole rows at once vectorises in all
 * dims but the innermost. The nearest neighbour needs no sums and works on elements of any type.
 * The tables are computed in the type PyTorch computes them in, since a position decides which
 * elements are read.
 * Tests: tests/unit/test_resample.c
 */
#include "runtime/kernels/vision/upsample.h"
#include "base/minmax.h"

#include "runtime/kernels/engine/device_kernels.h"

#include <math.h>
#include <string.h>

typedef enum upsample_mode {
    UPSAMPLE_NEAREST,
    UPSAMPLE_NEAREST_EXACT,
    UPSAMPLE_LINEAR,
    UPSAMPLE_CUBIC,
    UPSAMPLE_LINEAR_AA,
    UPSAMPLE_CUBIC_AA,
    UPSAMPLE_LANCZOS_AA,
} upsample_mode;

/* ---- tables ---------------------------------------------------------------------------------- */

/* What a value becomes in the type positions are computed in: double or float. Each step rounds. */
static inline double upsample_round(dtype dt, double v) {
    return dt == DT_FLOAT64 ? v : (double)(float)v;
}

/* Input steps per output step. given: the scale factor, if one was passed (else <= 0). */
static double upsample_step(dtype dt, int64_t in, int64_t out, bool align, double given) {
    if (align && out <= 1) return 0;
    if (!align && given > 0) return upsample_round(dt, 1.0 / given);
    double a = upsample_round(dt, (double)(in - align)),
           b = upsample_round(dt, (double)(out - align));
    return upsample_round(dt, a / b);
}

/* The position in the input of output o. Only the step was rounded: what follows happens in double
 * or in fused operations in PyTorch as well. */
static double upsample_source(double step, int64_t o, bool align, bool cubic) {
    double v = align ? step * (double)o : step * ((double)o + 0.5) - 0.5;
    return !align && !cubic && v < 0 ? 0 : v;
}

/* plain: two dims, not exact, where PyTorch does not look at the scale of sizes that stay or
 * double. PyTorch 2 does so whatever the memory is like; 1.13 only where channels are last, so that
 * a result depended on strides, and it counted positions in bfloat16 for such data. */
static void upsample_nearest_table(upsample_table *t, dtype dt, bool exact, bool plain,
                                   double given) {
    int shift = t->out == t->in ? 0 : t->out == 2 * t->in ? 1 : -1;
    for (int64_t o = 0; plain && shift >= 0 && o < t->out; o++) t->at[o] = o >> shift;
    if (plain && shift >= 0) return;
    double step = upsample_step(dt, t->in, t->out, false, given);
    for (int64_t o = 0; o < t->out; o++) {
        /* PyTorch takes the floor of a float, also for double data. */
        double v = upsample_source(step, o, !exact, false) + (exact ? 0.5 : 0);
        t->at[o] = int64_min((int64_t)floorf((float)v), t->in - 1);
    }
}

static void upsample_cubic_weights(double t, double a, double w[4]) {
    double x[4] = {t + 1, t, 1 - t, 2 - t};
    for (int i = 0; i < 4; i++)
        w[i] = i == 1 || i == 2 ? ((a + 2) * x[i] - (a + 3)) * x[i] * x[i] + 1
                                : ((a * x[i] - 5 * a) * x[i] + 8 * a) * x[i] - 4 * a;
}

static void upsample_put(upsample_table *t, dtype dt, int64_t o, int k, int64_t at, double weight) {
    int64_t i = o * t->taps + k;
    t->at[i] = at;
    if (dt == DT_FLOAT64) ((double *)t->weight)[i] = weight;
    else ((float *)t->weight)[i] = (float)weight;
}

static void upsample_linear_table(upsample_table *t, dtype dt, bool align, double given) {
    double step = upsample_step(dt, t->in, t->out, align, given);
    for (int64_t o = 0; o < t->out; o++) {
        double v = upsample_source(step, o, align, false);
        int64_t at = int64_min((int64_t)(align ? upsample_round(dt, v) : v), t->in - 1);
        double part = upsample_round(dt, v - (double)at);
        part = part < 0 ? 0 : part > 1 ? 1 : part;
        upsample_put(t, dt, o, 0, at, upsample_round(dt, 1 - part));
        upsample_put(t, dt, o, 1, at + (at < t->in - 1), part);
    }
}

static void upsample_cubic_table(upsample_table *t, dtype dt, bool align, double given) {
    double step = upsample_step(dt, t->in, t->out, align, given), w[4];
    for (int64_t o = 0; o < t->out; o++) {
        double v = upsample_source(step, o, align, true);
        int64_t at = int64_min((int64_t)floorf((float)v), t->in - 1);
        double part = upsample_round(dt, v - (double)at);
        upsample_cubic_weights(part < 0 ? 0 : part > 1 ? 1 : part, -0.75, w);
        for (int k = 0; k < 4; k++)
            upsample_put(t, dt, o, k, int64_max(int64_min(at - 1 + k, t->in - 1), 0), w[k]);
    }
}

/* The antialiasing filters: linear, cubic with a = -0.5, Lanczos' of radius 3, as in Pillow. In
 * float with the roundings of PyTorch's kernel, whose cubic products and sums are fused: resized
 * bytes are rounded afterwards, and halves are frequent. */
static double upsample_filter_linear(dtype dt, double x) {
    return x < 1 ? upsample_round(dt, 1 - x) : 0;
}
static double upsample_filter_cubic(dtype dt, double x) {
    if (x >= 2) return 0;
    if (dt == DT_FLOAT64)
        return x < 1 ? fma(fma(1.5, x, -2.5) * x, x, 1) : fma(fma(fma(-0.5, x, 2.5), x, -4), x, 2);
    float v = (float)x;
    return x < 1 ? fmaf(fmaf(1.5f, v, -2.5f) * v, v, 1)
                 : fmaf(fmaf(fmaf(-0.5f, v, 2.5f), v, -4), v, 2);
}
static double upsample_sinc(dtype dt, double x) {
    double y = upsample_round(dt, x * upsample_round(dt, 3.14159265358979323846));
    return y == 0 ? 1 : upsample_round(dt, upsample_round(dt, sin(y)) / y);
}
static double upsample_filter_lanczos(dtype dt, double x) {
    return x < 3 ? upsample_round(dt, upsample_sinc(dt, x) *
                                          upsample_sinc(dt, upsample_round(dt, x / 3)))
                 : 0;
}

typedef struct upsample_filter {
    double (*at)(dtype dt, double x); /* x >= 0 */
    double radius;                    /* widens with the step */
} upsample_filter;

static const upsample_filter upsample_filters[] = {
    [UPSAMPLE_LINEAR_AA] = {upsample_filter_linear, 1},
    [UPSAMPLE_CUBIC_AA] = {upsample_filter_cubic, 2},
    [UPSAMPLE_LANCZOS_AA] = {upsample_filter_lanczos, 3},
};

static double upsample_aa_support(double step, const upsample_filter *f) {
    return f->radius * (step >= 1 ? step : 1);
}

static void upsample_aa_table(upsample_table *t, dtype dt, const upsample_filter *f, double step) {
    double support = upsample_round(dt, upsample_aa_support(step, f));
    double shrink = step >= 1 ? upsample_round(dt, 1 / step) : 1;
    for (int64_t o = 0; o < t->out; o++) {
        double center = upsample_round(dt, step * ((double)o + 0.5)), total = 0;
        int64_t begin = int64_max((int64_t)(upsample_round(dt, center - support) + 0.5), 0);
        int64_t n = int64_min((int64_t)(upsample_round(dt, center + support) + 0.5), t->in) - begin;
        n = int64_max(int64_min(n, t->taps), 0);
        t->used[o] = (int)n;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t k = 0; k < t->taps; k++) {
                double from = upsample_round(dt, upsample_round(dt, (double)(k + begin)) - center);
                double w = k < n ? f->at(dt, fabs(upsample_round(dt, (from + 0.5) * shrink))) : 0;
                if (pass == 0) total = upsample_round(dt, total + w);
                else
                    upsample_put(t, dt, o, (int)k,
                                 int64_min(begin + int64_min(k, int64_max(n - 1, 0)), t->in - 1),
                                 total != 0 ? upsample_round(dt, w / total) : w);
            }
    }
}

static ctsc_status upsample_table_make(op_ctx *cx, upsample_table *t, upsample_mode mode, dtype dt,
                                       bool align, bool plain, double given) {
    double step = upsample_step(dt, t->in, t->out, align, given);
    double wide = mode < UPSAMPLE_LINEAR_AA
                      ? 0
                      : ceil(upsample_aa_support(step, &upsample_filters[mode])) * 2 + 1;
    t->antialias = mode >= UPSAMPLE_LINEAR_AA;
    t->identity = t->in == t->out && (mode == UPSAMPLE_LINEAR || mode == UPSAMPLE_LANCZOS_AA);
    t->taps = mode <= UPSAMPLE_NEAREST_EXACT || t->identity ? 1
              : mode == UPSAMPLE_LINEAR                     ? 2
              : mode == UPSAMPLE_CUBIC                      ? 4
                                       : (int)fmin(wide, (double)int64_min(t->in, INT32_MAX));
    size_t count, bytes;
    if (!size_mul((size_t)t->out, (size_t)t->taps, &count) ||
        !size_mul(count, sizeof *t->at, &bytes))
        return diag_no_memory(cx->diag);
    t->at = mem_alloc(bytes);
    t->weight = mem_alloc(bytes);
    t->used = mem_alloc((size_t)t->out * sizeof *t->used);
    if (!t->at || !t->weight || !t->used) return diag_no_memory(cx->diag);
    for (int64_t o = 0; t->identity && o < t->out; o++) upsample_put(t, dt, o, 0, o, 1);
    if (t->identity) return CTSC_OK;
    switch (mode) {
    case UPSAMPLE_NEAREST:
    case UPSAMPLE_NEAREST_EXACT:
        upsample_nearest_table(t, dt, mode == UPSAMPLE_NEAREST_EXACT, plain, given);
        break;
    case UPSAMPLE_LINEAR: upsample_linear_table(t, dt, align, given); break;
    case UPSAMPLE_CUBIC: upsample_cubic_table(t, dt, align, given); break;
    default: upsample_aa_table(t, dt, &upsample_filters[mode], step); break;
    }
    return CTSC_OK;
}

static void upsample_table_free(upsample_table *t) {
    mem_free(t->at);
    mem_free(t->weight);
    mem_free(t->used);
}

/* ---- resampling one dim ---------------------------------------------------------------------- */

/* x is [outer, in, inner], y is [outer, out, inner]. */
typedef struct upsample_pass {
    dtype dt;
    const void *x;
    void *y;
    int64_t inner;
    const upsample_table *t;
} upsample_pass;

#define upsample_loop(name, T, ...)                                                                \
    (sizeof(T) == 8 ? upsample_##name##_double(__VA_ARGS__) : upsample_##name##_float(__VA_ARGS__))

/* Sums of antialiasing, to the last bit as PyTorch's compiler made them of a loop over the
 * taps after the first: vector products (of four floats, or of at least two doubles),
 * which are added one after the other, and products fused with their sums for the rest. */
static inline int upsample_fused_from(int taps, size_t bytes) {
    return taps - (taps - 1) % (bytes == 8 ? 2 : 4);
}

#define T float
#define NAME(x) x##_float
#define FUSED fmaf
#include "runtime/kernels/vision/upsample_loops.h"

#define T double
#define NAME(x) x##_double
#define FUSED fma
#include "runtime/kernels/vision/upsample_loops.h"

/* Line r: one of x if the dim is the innermost, else one of y. */
static void upsample_line_aa(const upsample_pass *j, int64_t r) {
    const upsample_table *t = j->t;
    WIDE_DISPATCH(j->dt, {
        const T *x = j->x;
        T *y = j->y;
        if (j->inner == 1)
            upsample_loop(gather_aa, T, (const void *)(x + r * t->in), (void *)(y + r * t->out), t);
        else
            upsample_loop(row_aa, T, (const void *)(x + r / t->out * t->in * j->inner),
                          (void *)(y + r * j->inner), j->inner, t, r % t->out);
    });
}

/* One output row of `inner` elements. */
static void upsample_row(const upsample_pass *j, int64_t outer, int64_t o) {
    const upsample_table *t = j->t;
    const int64_t *at = t->at + o * t->taps;
    int64_t n = j->inner;
    WIDE_DISPATCH(j->dt, {
        const T *x = (const T *)j->x + outer * t->in * n;
        const T *w = (const T *)t->weight + o * t->taps;
        T *y = (T *)j->y + (outer * t->out + o) * n;
        if (t->taps == 2) {
            upsample_loop(mix2, T, (const void *)(x + at[0] * n), (const void *)(x + at[1] * n),
                          (void *)y, n, w[0], w[1]);
        } else {
            memset(y, 0, sizeof *y * (size_t)n);
            for (int k = 0; k < t->taps; k++)
                if (w[k] != 0)
                    upsample_loop(mix, T, (const void *)(x + at[k] * n), (void *)y, n, w[k]);
        }
    });
}

static void upsample_pass_range(void *ctx, int64_t begin, int64_t end) {
    const upsample_pass *j = ctx;
    const upsample_table *t = j->t;
    for (int64_t r = begin; t->antialias && r < end; r++) upsample_line_aa(j, r);
    if (t->antialias) return;
    if (j->inner != 1) {
        for (int64_t r = begin; r < end; r++) upsample_row(j, r / t->out, r % t->out);
        return;
    }
    for (int64_t r = begin; r < end; r++) {
        if (j->dt == DT_FLOAT64)
            upsample_gather_double((const double *)j->x + r * t->in, (double *)j->y + r * t->out,
                                   t->out, t->taps, t->at, t->weight);
        else
            upsample_gather_float((const float *)j->x + r * t->in, (float *)j->y + r * t->out,
                                  t->out, t->taps, t->at, t->weight);
    }
}

/* Resamples dim `dim` (counted from the end of [planes, D, H, W]: 1..3) of *x, whose sizes are kept
 * in sizes[4]. Replaces *x. */
static ctsc_status upsample_dim(op_ctx *cx, tensor **x, int64_t sizes[4], int dim,
                                const upsample_table *t) {
    if (t->identity) return CTSC_OK;
    tensor *y;
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < dim; i++) outer *= sizes[i];
    for (int i = dim + 1; i < 4; i++) inner *= sizes[i];
    sizes[dim] = t->out;
    TRY(tensor_new(cx->diag, (dtype)(*x)->dtype, 4, sizes, &y));
    upsample_pass j = {(dtype)y->dtype, tensor_data(*x), tensor_data(y), inner, t};
    int64_t lines = inner == 1 ? outer : outer * t->out,
            work = (inner == 1 ? t->out : inner) * t->taps;
    ctsc_status st = y->numel ? op_for(cx, lines, kernel_grain(work), upsample_pass_range, &j)
                              : CTSC_OK;
    if (st != CTSC_OK) {
        tensor_unref(y);
        return st;
    }
    tensor_unref(*x);
    *x = y;
    return CTSC_OK;
}

/* ---- arguments ------------------------------------------------------------------------------- */

typedef struct upsample_spec {
    const char *name; /* as refused dtypes are told: "linear" */
    upsample_mode mode;
    int dims;
    bool align;
    int64_t in[3], out[3]; /* the last dims of them count from the end */
    double scale[3];       /* 0: none given */
} upsample_spec;

static ctsc_status upsample_check(op_ctx *cx, const tensor *x, int noutput, upsample_spec *s) {
    int n = s->dims;
    sizes_text text;
    long long in[3], out[3];
    if (noutput != n)
        return kernel_fail(cx, "It is expected output_size equals to %d, but got size %d", n,
                           noutput);
    if (x->ndim != n + 2)
        return kernel_fail(cx, "It is expected input_size equals to %d, but got size %d", n + 2,
                           x->ndim);
    bool bad = false;
    for (int i = 0; i < 3; i++) {
        in[i] = s->in[i] = i < 3 - n ? 1 : x->sizes[i + n - 1];
        out[i] = s->out[i];
        bad |= in[i] <= 0 || out[i] <= 0;
    }
    if (bad && n == 1)
        return kernel_fail(
            cx,
            "Input and output sizes should be greater than 0, but got input (W: %lld) "
            "and output (W: %lld)",
            in[2], out[2]);
    if (bad && n == 2)
        return kernel_fail(
            cx,
            "Input and output sizes should be greater than 0, but got input (H: %lld, "
            "W: %lld) output (H: %lld, W: %lld)",
            in[1], in[2], out[1], out[2]);
    if (bad)
        return kernel_fail(
            cx,
            "Input and output sizes should be greater than 0, but got input (D: %lld, "
            "H: %lld, W: %lld) output (D: %lld, H: %lld, W: %lld)",
            in[0], in[1], in[2], out[0], out[1], out[2]);
    if (x->sizes[1] == 0)
        return kernel_fail(cx, "Non-empty %dD data tensor expected but got a tensor with sizes %s",
                           n + 2, shape_print(x, &text));
    return CTSC_OK;
}

/* The .vec overloads: output_size or scale_factors. */
static ctsc_status upsample_vec_sizes(op_ctx *cx, const tensor *x, const value *size,
                                      const value *factors, upsample_spec *s, int *noutput) {
    const int64_t *sizes;
    if (arg_is_none(size) == arg_is_none(factors))
        return kernel_fail(cx, "Must specify exactly one of output_size and scale_factors");
    if (!arg_is_none(size)) {
        *noutput = arg_ints(size, &sizes);
        for (int i = 0; i < *noutput && *noutput == s->dims; i++)
            s->out[3 - s->dims + i] = sizes[i];
        return CTSC_OK;
    }
    const list *l = factors->u.list;
    if (x->ndim != s->dims + 2)
        return kernel_fail(cx, "It is expected input_size equals to %d, but got size %d",
                           s->dims + 2, x->ndim);
    if ((int64_t)l->len != s->dims)
        return kernel_fail(
            cx, "Expected static_cast<int64_t>(scale_factors->size()) == spatial_dimensions to be "
                "true, but got false.  (Could this error message be improved?  If so, please "
                "report an enhancement request to PyTorch.)");
    *noutput = s->dims;
    for (int i = 0; i < s->dims; i++) {
        double out = (double)x->sizes[i + 2] * l->u.floats[i];
        if (!(out > -9e18 && out < 9e18)) return kernel_fail(cx, "scale_factor is out of range");
        s->out[3 - s->dims + i] = (int64_t)out;
        s->scale[3 - s->dims + i] = l->u.floats[i];
    }
    return CTSC_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static ctsc_status upsample_nearest(op_ctx *cx, tensor *input, const upsample_table *t,
                                    tensor **out) {
    tensor *x;
    int64_t sizes[5] = {input->sizes[0], input->sizes[1]}, in[3], size[3];
    int64_t *const at[3] = {t[0].at, t[1].at, t[2].at};
    for (int i = 0; i < 3; i++) {
        in[i] = t[i].in, size[i] = t[i].out;
        if (i >= 5 - input->ndim) sizes[input->ndim - 3 + i] = t[i].out;
    }
    TRY(tensor_contiguous(cx->diag, input, &x));
    ctsc_status st = tensor_new_on(cx->diag, tensor_device(x), (dtype)x->dtype, input->ndim, sizes,
                                   out);
    if (st == CTSC_OK &&
        (st = gather3(cx->diag, x, *out, sizes[0] * sizes[1], in, size, at)) != CTSC_OK)
        tensor_unref(*out);
    tensor_unref(x);
    return st;
}

/* On a device one kernel does all dims at once. */
static ctsc_status upsample_on_device(op_ctx *cx, tensor *input, const upsample_table *t,
                                      const int64_t *sizes, tensor **out) {
    tensor *x, *y;
    dense_taps dims[3];
    for (int i = 0; i < 3; i++)
        dims[i] = (dense_taps){t[i].in, t[i].out, t[i].taps, t[i].at, t[i].weight};
    TRY(wide_input(cx, "upsample", input, &x));
    ctsc_status st = tensor_new_on(cx->diag, tensor_device(x), (dtype)x->dtype, input->ndim, sizes,
                                   &y);
    if (st == CTSC_OK) {
        st = on_device->resample(cx->diag, x, y, sizes[0] * sizes[1], dims);
        if (st != CTSC_OK) tensor_unref(y);
    }
    tensor_unref(x);
    if (st == CTSC_OK) *out = y;
    return st;
}

static ctsc_status upsample_weighted(op_ctx *cx, tensor *input, const upsample_table *t,
                                     tensor **out) {
    tensor *x, *shaped;
    int64_t sizes[4] = {input->sizes[0] * input->sizes[1], t[0].in, t[1].in, t[2].in};
    int64_t final[5] = {input->sizes[0], input->sizes[1]};
    for (int i = 5 - input->ndim; i < 3; i++) final[input->ndim - 3 + i] = t[i].out;
    if (tensor_cuda(input)) return upsample_on_device(cx, input, t, final, out);
    TRY(wide_input(cx, "upsample", input, &x));
    ctsc_status st = tensor_view(cx->diag, x, 4, sizes, &shaped);
    tensor_unref(x);
    TRY(st);
    for (int dim = 3; dim > 0 && st == CTSC_OK; dim--)
        st = upsample_dim(cx, &shaped, sizes, dim, &t[dim - 1]);
    if (st == CTSC_OK) st = wide_round(cx, &shaped, (dtype)input->dtype);
    /* Nothing to do at all gives a copy, never the input itself. */
    if (st == CTSC_OK && shaped->storage == input->storage) {
        tensor *copy;
        st = tensor_clone(cx->diag, shaped, &copy);
        tensor_unref(shaped);
        shaped = st == CTSC_OK ? copy : NULL;
    }
    if (st == CTSC_OK) st = tensor_view(cx->diag, shaped, input->ndim, final, out);
    tensor_unref(shaped);
    return st;
}

/* Bytes are weighted in whole numbers. */
static bool upsample_of_bytes(const tensor *input, const upsample_spec *s) {
    return input->dtype == DT_UINT8 && s->dims == 2 && s->mode > UPSAMPLE_NEAREST_EXACT &&
           !tensor_cuda(input);
}

/* Checks, and the tables of three dims. t is to be freed in any case. */
static ctsc_status upsample_tables(op_ctx *cx, const tensor *input, int noutput, upsample_spec *s,
                                   upsample_table t[3]) {
    TRY(upsample_check(cx, input, noutput, s));
    bool nearest = s->mode <= UPSAMPLE_NEAREST_EXACT, bytes = upsample_of_bytes(input, s);
    dtype dt = (dtype)input->dtype;
    if (!dtype_is_float(dt) && !(nearest && dt == DT_UINT8) && !bytes) {
        char name[48] = "compute_indices_weights_";
        strncat(name, s->name, 20);
        return op_refuse_dtype(cx, name, dt);
    }
    dtype table_dt = dt == DT_FLOAT64 || bytes ? DT_FLOAT64 : DT_FLOAT32;
    for (int i = 0; i < 3; i++) {
        t[i].in = s->in[i], t[i].out = s->out[i];
        /* The dims that are not there stay as they are. */
        bool absent = i < 3 - s->dims;
        TRY(upsample_table_make(cx, &t[i], absent && !nearest ? UPSAMPLE_LINEAR : s->mode, table_dt,
                                s->align, s->mode == UPSAMPLE_NEAREST && s->dims == 2,
                                s->scale[i]));
    }
    return CTSC_OK;
}

void upsample_tables_free(upsample_table t[3]) {
    for (int i = 0; i < 3; i++) upsample_table_free(&t[i]);
}

static ctsc_status upsample_run(op_ctx *cx, tensor *input, int noutput, upsample_spec *s,
                                tensor **out) {
    upsample_table t[3] = {{0}};
    ctsc_status st = upsample_tables(cx, input, noutput, s, t);
    if (st == CTSC_OK && upsample_of_bytes(input, s))
        st = upsample_bytes(cx, input, &t[1], &t[2], out);
    else if (st == CTSC_OK)
        st = s->mode <= UPSAMPLE_NEAREST_EXACT ? upsample_nearest(cx, input, t, out)
                                               : upsample_weighted(cx, input, t, out);
    upsample_tables_free(t);
    return st;
}

ctsc_status upsample_tables_2d(op_ctx *cx, const tensor *input, bool linear, const value *args,
                               upsample_table t[3]) {
    upsample_spec s = {.name = linear ? "linear" : "nearest",
                       .mode = linear ? UPSAMPLE_LINEAR : UPSAMPLE_NEAREST,
                       .dims = 2,
                       .out = {1, 1, 1}};
    int noutput = 0;
    if (linear) s.align = arg_bool(&args[2]);
    TRY(upsample_vec_sizes(cx, input, &args[1], &args[linear ? 3 : 2], &s, &noutput));
    return upsample_tables(cx, input, noutput, &s, t);
}

/* args: self, output_size, [align_corners,] then one scale per dim, or a list of them. `vec`
 * overloads take the list, and None for what is not given. */
static ctsc_status upsample_op(op_ctx *cx, const value *args, const char *name, upsample_mode mode,
                               int dims, bool vec, value *results) {
    upsample_spec s = {.name = name, .mode = mode, .dims = dims, .out = {1, 1, 1}};
    tensor *input = arg_tensor(&args[0]), *y = NULL;
    int at = 2, noutput = 0;
    if (mode >= UPSAMPLE_LINEAR) s.align = arg_bool(&args[at++]);
    if (vec) {
        TRY(upsample_vec_sizes(cx, input, &args[1], &args[at], &s, &noutput));
    } else {
        const int64_t *sizes;
        noutput = arg_ints(&args[1], &sizes);
        for (int i = 0; i < dims && noutput == dims; i++) {
            s.out[3 - dims + i] = sizes[i];
            s.scale[3 - dims + i] = arg_is_none(&args[at + i]) ? 0 : arg_float(&args[at + i]);
        }
    }
    TRY(upsample_run(cx, input, noutput, &s, &y));
    return op_finish(cx, args, y, results);
}

#define UPSAMPLE_OP(fn, name, mode, dims)                                                          \
    ctsc_status op_##fn(op_ctx *cx, const value *args, value *results) {                           \
        return upsample_op(cx, args, name, mode, dims, false, results);                            \
    }                                                                                              \
    ctsc_status op_##fn##_vec(op_ctx *cx, const value *args, value *results) {                     \
        return upsample_op(cx, args, name, mode, dims, true, results);                             \
    }

UPSAMPLE_OP(upsample_nearest1d, "nearest", UPSAMPLE_NEAREST, 1)
UPSAMPLE_OP(upsample_nearest2d, "nearest", UPSAMPLE_NEAREST, 2)
UPSAMPLE_OP(upsample_nearest3d, "nearest", UPSAMPLE_NEAREST, 3)
UPSAMPLE_OP(upsample_nearest_exact1d, "nearest", UPSAMPLE_NEAREST_EXACT, 1)
UPSAMPLE_OP(upsample_nearest_exact2d, "nearest", UPSAMPLE_NEAREST_EXACT, 2)
UPSAMPLE_OP(upsample_nearest_exact3d, "nearest", UPSAMPLE_NEAREST_EXACT, 3)
UPSAMPLE_OP(upsample_linear1d, "linear", UPSAMPLE_LINEAR, 1)
UPSAMPLE_OP(upsample_bilinear2d, "linear", UPSAMPLE_LINEAR, 2)
UPSAMPLE_OP(upsample_trilinear3d, "linear", UPSAMPLE_LINEAR, 3)
UPSAMPLE_OP(upsample_bicubic2d, "cubic", UPSAMPLE_CUBIC, 2)
UPSAMPLE_OP(upsample_bilinear2d_aa, "aa", UPSAMPLE_LINEAR_AA, 2)
UPSAMPLE_OP(upsample_bicubic2d_aa, "aa", UPSAMPLE_CUBIC_AA, 2)
UPSAMPLE_OP(upsample_lanczos2d_aa, "aa", UPSAMPLE_LANCZOS_AA, 2)
