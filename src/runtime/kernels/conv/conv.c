/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.c - the convolution operators: arguments, checks and shapes. conv_kernels.c and
 * conv_transpose.c compute.
 *
 * Every operator gathers its arguments in a conv_call, whatever their order in its schema; conv_run
 * checks them as PyTorch's _convolution does, with its messages.
 * Tests: tests/unit/test_conv.c
 */
#include "runtime/kernels/conv/conv.h"

#include "ir/op/conv_last_args.h"
#include "runtime/kernels/conv/conv_last.h"
#include "runtime/kernels/conv/conv_packed.h"
#include "runtime/kernels/engine/channels_last.h"
#include "runtime/kernels/engine/channels_place.h"
#include "runtime/kernels/engine/device_kernels.h"
#include "runtime/kernels/engine/wide.h"

#include <stdio.h>
#include <string.h>

typedef struct conv_call {
    tensor *input, *weight, *bias;                             /* bias may be NULL */
    const value *stride, *padding, *dilation, *output_padding; /* int lists; NULL: the default */
    const char *mode; /* padding given as text: "same", "valid"; else NULL */
    const char *name; /* "conv2d": takes unbatched input, and says so in messages; else NULL */
    int64_t groups;
    bool transposed;
    /* input is a view of one whose channels come last, and so shall the result be; so are the
     * epilogue's tensors */
    bool channels_last;
    bool bf16;          /* factors may be rounded to bfloat16, where channels come last */
    bool half_input;    /* bf16: the input may be bfloat16 where the weight is not */
    dtype result;       /* bf16: what the result shall be, float32 or bfloat16 */
    const float *scale; /* [batch, channels]: what such an input is multiplied by; NULL: nothing */
    tensor *factors;    /* what the weight's rows are multiplied by; NULL: nothing */
    epilogue *epilogue; /* done where it fits; NULL: none */
    const channels_place *place; /* where the result goes; NULL: anywhere */
} conv_call;

/* A conv_call's lists, one value per spatial dim. */
typedef struct conv_lists {
    int n;
    int64_t stride[CONV_DIMS], padding[CONV_DIMS], dilation[CONV_DIMS], output_padding[CONV_DIMS];
} conv_lists;

/* ---- messages -------------------------------------------------------------------------------- */

/* "[2, 3]" written into buf. */
static const char *conv_sizes_text(char *buf, size_t cap, int n, const int64_t *sizes) {
    strbuf sb = STRBUF_INIT;
    tensor_print_sizes(n, sizes, &sb);
    snprintf(buf, cap, "%s", sb_str(&sb));
    sb_free(&sb);
    return buf;
}

/* "2 x 3" */
static const char *conv_times_text(char *buf, size_t cap, int n, const int64_t *sizes) {
    strbuf sb = STRBUF_INIT;
    for (int i = 0; i < n; i++) sb_printf(&sb, "%s%lld", i ? " x " : "", (long long)sizes[i]);
    snprintf(buf, cap, "%s", sb_str(&sb));
    sb_free(&sb);
    return buf;
}

enum { CONV_TEXT = 200 };

/* ---- checks ---------------------------------------------------------------------------------- */

static ctsc_status conv_read_list(diag *d, const value *list, const char *name, int n,
                                  int64_t other, int64_t *out) {
    const int64_t *v = &other;
    int len = list ? arg_ints(list, &v) : 1;
    if (len != 1 && len != n) {
        char text[CONV_TEXT];
        return diag_fail(
            d, CTSC_FAILED,
            "expected %s to be a single integer value or a list of %d values to match the "
            "convolution dimensions, but got %s=%s",
            name, n, name, conv_sizes_text(text, sizeof text, len, v));
    }
    for (int i = 0; i < n; i++) out[i] = v[len == 1 ? 0 : i];
    return CTSC_OK;
}

static ctsc_status conv_check_values(diag *d, const conv_lists *l) {
    for (int i = 0; i < l->n; i++)
        if (l->padding[i] < 0)
            return diag_fail(d, CTSC_FAILED, "negative padding is not supported");
    for (int i = 0; i < l->n; i++)
        if (l->output_padding[i] < 0)
            return diag_fail(d, CTSC_FAILED, "negative output_padding is not supported");
    for (int i = 0; i < l->n; i++)
        if (l->stride[i] <= 0)
            return diag_fail(d, CTSC_FAILED, "non-positive stride is not supported");
    for (int i = 0; i < l->n; i++)
        if (l->dilation[i] <= 0) {
            char text[CONV_TEXT];
            return diag_fail(d, CTSC_FAILED, "dilation should be greater than zero, but got %s",
                             conv_sizes_text(text, sizeof text, l->n, l->dilation));
        }
    const int64_t limit = (int64_t)1 << 40; /* keeps the sums of sizes from overflowing */
    for (int i = 0; i < l->n; i++)
        if (l->padding[i] > limit || l->output_padding[i] > limit || l->stride[i] > limit ||
            l->dilation[i] > limit)
            return diag_fail(d, CTSC_LIMIT, "convolution parameter out of range");
    return CTSC_OK;
}

static ctsc_status conv_check_weight(diag *d, const conv_call *c) {
    const tensor *w = c->weight, *in = c->input;
    char wt[CONV_TEXT], it[CONV_TEXT];
    if (in->ndim != w->ndim)
        return diag_fail(d, CTSC_FAILED,
                         "Expected %d-dimensional input for %d-dimensional weight %s, but got "
                         "%d-dimensional input of size %s instead",
                         w->ndim, w->ndim, conv_sizes_text(wt, sizeof wt, w->ndim, w->sizes),
                         in->ndim, conv_sizes_text(it, sizeof it, in->ndim, in->sizes));
    long long groups = c->groups;
    if (w->sizes[0] < groups)
        return diag_fail(
            d, CTSC_FAILED,
            "Given groups=%lld, expected weight to be at least %lld at dimension 0, but "
            "got weight of size %s instead",
            groups, groups, conv_sizes_text(wt, sizeof wt, w->ndim, w->sizes));
    if (w->sizes[0] % groups != 0)
        return diag_fail(
            d, CTSC_FAILED,
            "Given groups=%lld, expected weight to be divisible by %lld at dimension 0, "
            "but got weight of size [%s] instead",
            groups, groups, conv_sizes_text(wt, sizeof wt, w->ndim, w->sizes));
    int64_t want = c->transposed ? w->sizes[0] : w->sizes[1] * groups;
    if (in->sizes[1] != want) {
        char given[40];
        snprintf(given, sizeof given, c->transposed ? "transposed=1" : "groups=%lld", groups);
        return diag_fail(
            d, CTSC_FAILED,
            "Given %s, weight of size %s, expected input%s to have %lld channels, but got "
            "%lld channels instead",
            given, conv_sizes_text(wt, sizeof wt, w->ndim, w->sizes),
            conv_sizes_text(it, sizeof it, in->ndim, in->sizes), (long long)want,
            (long long)in->sizes[1]);
    }
    int64_t out_channels = c->transposed ? w->sizes[1] * groups : w->sizes[0];
    if (c->bias && (c->bias->ndim != 1 || c->bias->sizes[0] != out_channels))
        return diag_fail(d, CTSC_FAILED,
                         "Given %sweight of size %s, expected bias to be 1-dimensional with %lld "
                         "elements, but got bias of size %s instead",
                         c->transposed ? "transposed=1, " : "",
                         conv_sizes_text(wt, sizeof wt, w->ndim, w->sizes), (long long)out_channels,
                         conv_sizes_text(it, sizeof it, c->bias->ndim, c->bias->sizes));
    return CTSC_OK;
}

static const char *conv_cpp_name(dtype dt) {
    switch (dt) {
    case DT_UINT8: return "unsigned char";
    case DT_INT8: return "signed char";
    case DT_INT16: return "short int";
    case DT_INT32: return "int";
    case DT_INT64: return "long int";
    case DT_FLOAT16: return "c10::Half";
    case DT_FLOAT32: return "float";
    case DT_FLOAT64: return "double";
    case DT_BFLOAT16: return "c10::BFloat16";
    default: return dtype_table[dt].torch_name;
    }
}

static ctsc_status conv_check_dtypes(op_ctx *cx, const conv_call *c) {
    dtype in = (dtype)c->input->dtype, w = (dtype)c->weight->dtype;
    if (c->half_input && in == DT_BFLOAT16 && w == DT_FLOAT32) in = w;
    if (c->bias && (dtype)c->bias->dtype != in)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Input type (%s) and bias type (%s) should be the same", conv_cpp_name(in),
                         conv_cpp_name((dtype)c->bias->dtype));
    if (in != w)
        return diag_fail(cx->diag, CTSC_FAILED, "expected scalar type %s but found %s",
                         dtype_table[in].ir_name, dtype_table[w].ir_name);
    return gemm_supports(in) ? CTSC_OK : op_refuse_dtype(cx, "slow_conv2d_cpu", in);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static ctsc_status conv_check_kernel(diag *d, int n, const int64_t *kernel) {
    static const char *const names[CONV_DIMS] = {"depth", "height", "width"};
    for (int i = 0; i < n; i++)
        if (kernel[i] <= 0) {
            strbuf sb = STRBUF_INIT;
            for (int j = 0; j < n; j++)
                sb_printf(&sb, " kernel_%s: %lld", names[CONV_DIMS - n + j], (long long)kernel[j]);
            diag_fail(d, CTSC_FAILED, "kernel size should be greater than zero, but got%s",
                      sb_str(&sb));
            sb_free(&sb);
            return CTSC_FAILED;
        }
    return CTSC_OK;
}

/* dilation * (kernel - 1) + 1 for each dim; refuses what does not fit. */
static ctsc_status conv_extents(diag *d, const conv_lists *l, const int64_t *kernel,
                                int64_t *extent) {
    for (int i = 0; i < l->n; i++)
        if (__builtin_mul_overflow(l->dilation[i], kernel[i] - 1, &extent[i]) ||
            ++extent[i] > (int64_t)1 << 60)
            return diag_fail(d, CTSC_LIMIT, "convolution parameter out of range");
    return CTSC_OK;
}

static ctsc_status conv_forward_sizes(diag *d, const conv_call *c, const conv_lists *l,
                                      const int64_t *extent, int64_t *out) {
    const int64_t *in = c->input->sizes + 2;
    int64_t padded[CONV_DIMS];
    bool fits = true;
    for (int i = 0; i < l->n; i++) {
        padded[i] = in[i] + (c->mode ? (c->mode[0] == 's' ? extent[i] - 1 : 0) : 2 * l->padding[i]);
        if (padded[i] < extent[i]) fits = false;
    }
    if (!fits) {
        char a[CONV_TEXT], b[CONV_TEXT];
        return diag_fail(
            d, CTSC_FAILED,
            "Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel "
            "size can't be greater than actual input size",
            conv_times_text(a, sizeof a, l->n, padded), conv_times_text(b, sizeof b, l->n, extent));
    }
    TRY(conv_check_kernel(d, l->n, c->weight->sizes + 2));
    for (int i = 0; i < l->n; i++) out[i] = (padded[i] - extent[i]) / l->stride[i] + 1;
    return CTSC_OK;
}

/* PyTorch treats one dim as two, the first of size 1, and words its messages accordingly. */
static int conv_widen(int n, const int64_t *v, int64_t filler, int64_t *out) {
    int lead = n == 1 ? 1 : 0;
    out[0] = filler;
    for (int i = 0; i < n; i++) out[lead + i] = v[i];
    return n + lead;
}

static ctsc_status conv_check_output_padding(diag *d, const conv_lists *l) {
    static const char *const names[CONV_DIMS] = {"depth", "height", "width"};
    bool bad = false;
    for (int i = 0; i < l->n; i++)
        bad |= l->output_padding[i] >= l->stride[i] && l->output_padding[i] >= l->dilation[i];
    if (!bad) return CTSC_OK;
    int64_t v[3][CONV_DIMS + 1];
    int n = conv_widen(l->n, l->output_padding, 0, v[0]);
    conv_widen(l->n, l->stride, 1, v[1]);
    conv_widen(l->n, l->dilation, 1, v[2]);
    static const char *const what[3] = {"output_padding", "stride", "dilation"};
    strbuf sb = STRBUF_INIT;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < n; i++)
            sb_printf(&sb, " %s_%s: %lld", what[k], names[CONV_DIMS - n + i], (long long)v[k][i]);
    diag_fail(d, CTSC_FAILED,
              "output padding must be smaller than either stride or dilation, but got%s",
              sb_str(&sb));
    sb_free(&sb);
    return CTSC_FAILED;
}

static ctsc_status conv_transpose_sizes(diag *d, const conv_call *c, const conv_lists *l,
                                        const int64_t *extent, int64_t *out) {
    TRY(conv_check_kernel(d, l->n, c->weight->sizes + 2));
    TRY(conv_check_output_padding(d, l));
    const int64_t *in = c->input->sizes + 2;
    bool fits = true;
    for (int i = 0; i < l->n; i++) {
        int64_t span;
        if (__builtin_mul_overflow(in[i] - 1, l->stride[i], &span) || span > (int64_t)1 << 60)
            return diag_fail(d, CTSC_LIMIT, "convolution parameter out of range");
        out[i] = span - 2 * l->padding[i] + extent[i] + l->output_padding[i];
        if (out[i] < 1) fits = false;
    }
    if (fits) return CTSC_OK;
    char a[CONV_TEXT], b[CONV_TEXT];
    int64_t wide_in[CONV_DIMS + 1], wide_out[CONV_DIMS + 1];
    int n = conv_widen(l->n, in, 1, wide_in);
    conv_widen(l->n, out, 1, wide_out);
    return diag_fail(
        d, CTSC_FAILED,
        "Given input size per channel: (%s). Calculated output size per channel: (%s). "
        "Output size is too small",
        conv_times_text(a, sizeof a, n, wide_in), conv_times_text(b, sizeof b, n, wide_out));
}

static ctsc_status conv_make_shape(diag *d, const conv_call *c, const conv_lists *l,
                                   conv_shape *s) {
    int64_t out[CONV_DIMS], extent[CONV_DIMS];
    const tensor *w = c->weight;
    TRY(conv_extents(d, l, w->sizes + 2, extent));
    TRY(c->transposed ? conv_transpose_sizes(d, c, l, extent, out)
                      : conv_forward_sizes(d, c, l, extent, out));
    *s = (conv_shape){.batch = c->input->sizes[0],
                      .groups = c->groups,
                      .in_channels = c->input->sizes[1],
                      .out_channels = c->transposed ? w->sizes[1] * c->groups : w->sizes[0],
                      .in_size = 1,
                      .kernel_size = 1,
                      .out_size = 1};
    for (int i = 0; i < CONV_DIMS; i++)
        s->in[i] = s->kernel[i] = s->out[i] = s->stride[i] = s->dilation[i] = 1;
    for (int i = 0, to = CONV_DIMS - l->n; i < l->n; i++, to++) {
        s->in[to] = c->input->sizes[2 + i];
        s->kernel[to] = w->sizes[2 + i];
        s->out[to] = out[i];
        s->stride[to] = l->stride[i];
        s->dilation[to] = l->dilation[i];
        s->pad[to] = c->mode ? (c->mode[0] == 's' ? (extent[i] - 1) / 2 : 0) : l->padding[i];
    }
    for (int i = 0; i < CONV_DIMS; i++) {
        s->in_size *= s->in[i];
        s->kernel_size *= s->kernel[i];
        if (__builtin_mul_overflow(s->out_size, s->out[i], &s->out_size))
            return diag_fail(d, CTSC_LIMIT, "convolution result too large");
    }
    return CTSC_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

/* in, whose channels come last, multiplied by the scale. */
static ctsc_status conv_scale(diag *d, const conv_call *c, const conv_shape *s, const tensor *in,
                              tensor **out) {
    dtype dt = (dtype)in->dtype;
    TRY(tensor_new(d, dt, in->ndim, in->sizes, out));
    conv_last_scale(s, dt, tensor_data(in), c->scale, tensor_data(*out));
    return CTSC_OK;
}

/* Contiguous and in the dtype to compute in. */
static ctsc_status conv_prepare(diag *d, tensor *t, dtype work, tensor **out) {
    if ((dtype)t->dtype != work) return tensor_to_dtype(d, t, work, out);
    return tensor_contiguous(d, t, out);
}

/* Do input, result and what is added differ in their dtypes? */
static bool conv_is_mixed(const conv_call *c) {
    const tensor *other = c->epilogue ? c->epilogue->other : NULL;
    dtype dt = (dtype)c->input->dtype;
    return c->bf16 && c->weight->dtype == DT_FLOAT32 &&
           (dt != c->result || (other && (dtype)other->dtype != dt));
}

static ctsc_status conv_compute_tensors(diag *d, const conv_call *c, const conv_shape *s, int ndim,
                                        const int64_t *sizes, tensor **out);

/* The same with floats alone. */
static ctsc_status conv_compute_wide(diag *d, const conv_call *c, const conv_shape *s, int ndim,
                                     const int64_t *sizes, tensor **out) {
    conv_call plain = *c;
    epilogue e = c->epilogue ? *c->epilogue : (epilogue){0};
    tensor *in, *other = NULL;
    TRY(tensor_to_dtype(d, c->input, DT_FLOAT32, &in));
    ctsc_status st = e.other ? tensor_to_dtype(d, e.other, DT_FLOAT32, &other) : CTSC_OK;
    plain.input = in;
    plain.result = DT_FLOAT32;
    e.other = other;
    if (c->epilogue) plain.epilogue = &e;
    if (st == CTSC_OK) st = conv_compute_tensors(d, &plain, s, ndim, sizes, out);
    if (c->epilogue) c->epilogue->done = e.done;
    tensor_unref(in);
    tensor_unref(other);
    return st;
}

/* The kernels for channels that come last: input and result are views that say otherwise. *out
 * stays NULL where they cannot do it. */
static ctsc_status conv_compute_last(diag *d, const conv_call *c, const conv_shape *s, int ndim,
                                     const int64_t *sizes, tensor **out) {
    *out = NULL;
    dtype dt = (dtype)c->input->dtype;
    if (c->transposed || wide_dtype(dt) != DT_FLOAT32 || tensor_device(c->input) != DEVICE_HOST)
        return CTSC_OK;
    if (conv_is_mixed(c)) {
        if (!conv_last_mixes(s)) return conv_compute_wide(d, c, s, ndim, sizes, out);
        dt = c->result;
    }
    int spatial = ndim - 2;
    bool done = false;
    int64_t last[CONV_DIMS + 2] = {sizes[0]};
    for (int i = 0; i < spatial; i++) last[1 + i] = sizes[2 + i];
    last[ndim - 1] = sizes[1];
    tensor *seen = NULL, *in = NULL, *bias = NULL, *t = NULL;
    const float *scale = conv_last_takes_scale(s, dt) ? c->scale : NULL;
    ctsc_status st = channels_last_view(d, c->input, spatial, &seen);
    if (st == CTSC_OK) st = tensor_contiguous(d, seen, &in);
    if (st == CTSC_OK && c->scale && !scale) {
        tensor_unref(seen);
        seen = in;
        in = NULL;
        st = conv_scale(d, c, s, seen, &in);
    }
    if (st == CTSC_OK && c->bias) st = conv_prepare(d, c->bias, DT_FLOAT32, &bias);
    bool placed = c->place && !(c->epilogue && c->epilogue->other);
    if (st == CTSC_OK)
        st = placed ? channels_place_new(d, c->place, dt, ndim, last, &t)
                    : tensor_new(d, dt, ndim, last, &t);
    if (st == CTSC_OK)
        st = conv_last_compute(d, s, in, scale, c->weight, c->factors, bias, c->epilogue, c->bf16,
                               t, &done);
    if (st == CTSC_OK && done) st = channels_first_view(d, t, spatial, out);
    tensor_unref(seen);
    tensor_unref(in);
    tensor_unref(bias);
    tensor_unref(t);
    return st;
}

/* The general kernels with an input that is to be multiplied first. */
static ctsc_status conv_compute_scaled(diag *d, const conv_call *c, const conv_shape *s, int ndim,
                                       const int64_t *sizes, tensor **out) {
    conv_call plain = *c;
    tensor *seen = NULL, *last = NULL, *scaled = NULL, *first = NULL;
    ctsc_status st = channels_last_view(d, c->input, ndim - 2, &seen);
    if (st == CTSC_OK) st = tensor_contiguous(d, seen, &last);
    if (st == CTSC_OK) st = conv_scale(d, c, s, last, &scaled);
    if (st == CTSC_OK) st = channels_first_view(d, scaled, ndim - 2, &first);
    plain.scale = NULL, plain.input = first;
    if (st == CTSC_OK) st = conv_compute_tensors(d, &plain, s, ndim, sizes, out);
    tensor_unref(seen);
    tensor_unref(last);
    tensor_unref(scaled);
    tensor_unref(first);
    return st;
}

/* The general kernels with weights that are to be multiplied first: in every call, since the
 * kernels that are made for it do that once (conv_packed.h). */
static ctsc_status conv_compute_factors(diag *d, const conv_call *c, const conv_shape *s, int ndim,
                                        const int64_t *sizes, tensor **out) {
    conv_call plain = *c;
    tensor *whole, *w = NULL;
    TRY(conv_prepare(d, c->weight, DT_FLOAT32, &whole));
    ctsc_status st = tensor_new(d, DT_FLOAT32, whole->ndim, whole->sizes, &w);
    if (st == CTSC_OK)
        conv_packed_factors(tensor_data(whole), tensor_data(c->factors), whole->sizes[0],
                            whole->numel, tensor_data(w));
    plain.factors = NULL, plain.weight = w;
    plain.channels_last = false;
    if (st == CTSC_OK) st = conv_compute_tensors(d, &plain, s, ndim, sizes, out);
    tensor_unref(whole);
    tensor_unref(w);
    return st;
}

static ctsc_status conv_compute_tensors(diag *d, const conv_call *c, const conv_shape *s, int ndim,
                                        const int64_t *sizes, tensor **out) {
    dtype dt = (dtype)c->input->dtype;
    if (c->channels_last) TRY(conv_compute_last(d, c, s, ndim, sizes, out));
    if (c->channels_last && *out) return CTSC_OK;
    if (c->scale) return conv_compute_scaled(d, c, s, ndim, sizes, out);
    if (c->factors) return conv_compute_factors(d, c, s, ndim, sizes, out);
    bool there = tensor_cuda(c->input) != NULL; /* kernels of devices widen what they load */
    dtype work = !there && dtype_is_half(dt) ? DT_FLOAT32 : dt;
    tensor *in = NULL, *weight = NULL, *bias = NULL, *t = NULL;
    ctsc_status st = conv_prepare(d, c->input, work, &in);
    if (st == CTSC_OK) st = conv_prepare(d, c->weight, work, &weight);
    if (st == CTSC_OK && c->bias) st = conv_prepare(d, c->bias, work, &bias);
    if (st == CTSC_OK) st = tensor_new_on(d, tensor_device(c->input), work, ndim, sizes, &t);
    bool with = st == CTSC_OK && !c->channels_last && epilogue_fits(c->epilogue, t);
    if (with) c->epilogue->done = true;
    if (st == CTSC_OK && there)
        st = on_device->conv(d, s, c->transposed, in, weight, bias, with ? c->epilogue : NULL, t);
    else if (st == CTSC_OK)
        st = (c->transposed ? conv_transpose_compute
                            : conv_compute)(d, s, work, tensor_data(in), tensor_data(weight),
                                            bias ? tensor_data(bias) : NULL, tensor_data(t));
    if (st == CTSC_OK && work != dt) {
        tensor *rounded;
        st = tensor_to_dtype(d, t, dt, &rounded);
        if (st == CTSC_OK) {
            tensor_unref(t);
            t = rounded;
        }
    }
    tensor_unref(in);
    tensor_unref(weight);
    tensor_unref(bias);
    if (st != CTSC_OK) {
        tensor_unref(t);
        return st;
    }
    *out = t;
    return CTSC_OK;
}

/* ---- complex numbers ------------------------------------------------------------------------- */

static ctsc_status conv_op(op_ctx *cx, const char *key, tensor *a, tensor *b, tensor **out) {
    value args[] = {{.tag = V_TENSOR, .u.tensor = a},
                    {.tag = V_TENSOR, .u.tensor = b},
                    value_int(1)},
          result = value_none();
    TRY(op_call(cx, key, op_find(key)->schema->nargs, args, &result));
    *out = result.u.tensor;
    return CTSC_OK;
}

/* What one of the three convolutions of complex_convolution takes of t: its real part, its
 * imaginary part, or the sum of both. */
static ctsc_status conv_part(op_ctx *cx, tensor *t, int which, tensor **out) {
    tensor *re = NULL, *im = NULL;
    if (!t) return *out = NULL, CTSC_OK;
    if (which < 2) return conv_op(cx, which ? "aten::imag" : "aten::real", t, NULL, out);
    ctsc_status st = conv_op(cx, "aten::real", t, NULL, &re);
    if (st == CTSC_OK) st = conv_op(cx, "aten::imag", t, NULL, &im);
    if (st == CTSC_OK) st = conv_op(cx, "aten::add.Tensor", re, im, out);
    tensor_unref(re);
    tensor_unref(im);
    return st;
}

static ctsc_status conv_of_parts(op_ctx *cx, const conv_call *c, const conv_shape *s, int which,
                                 int ndim, const int64_t *sizes, tensor **out) {
    conv_call part = *c;
    part.input = part.weight = part.bias = NULL;
    part.epilogue = NULL;
    ctsc_status st = conv_part(cx, c->input, which, &part.input);
    if (st == CTSC_OK) st = conv_part(cx, c->weight, which, &part.weight);
    if (st == CTSC_OK && which != 1) st = conv_part(cx, c->bias, which, &part.bias);
    if (st == CTSC_OK) st = conv_compute_tensors(cx->diag, &part, s, ndim, sizes, out);
    tensor_unref(part.input);
    tensor_unref(part.weight);
    tensor_unref(part.bias);
    return st;
}

/* As PyTorch does it: with a, b and c of the real parts, the imaginary parts and their sums,
 * a - b + i (c - a - b); the bias goes with a and c. */
static ctsc_status conv_complex(op_ctx *cx, const conv_call *c, const conv_shape *s, int ndim,
                                const int64_t *sizes, tensor **out) {
    tensor *of[3] = {NULL}, *re = NULL, *rest = NULL, *im = NULL;
    ctsc_status st = CTSC_OK;
    for (int i = 0; i < 3 && st == CTSC_OK; i++)
        st = conv_of_parts(cx, c, s, i, ndim, sizes, &of[i]);
    if (st == CTSC_OK) st = conv_op(cx, "aten::sub.Tensor", of[0], of[1], &re);
    if (st == CTSC_OK) st = conv_op(cx, "aten::sub.Tensor", of[2], of[0], &rest);
    if (st == CTSC_OK) st = conv_op(cx, "aten::sub.Tensor", rest, of[1], &im);
    if (st == CTSC_OK) st = conv_op(cx, "aten::complex", re, im, out);
    for (int i = 0; i < 3; i++) tensor_unref(of[i]);
    tensor_unref(re);
    tensor_unref(rest);
    tensor_unref(im);
    return st;
}

/* Input has a batch dim. */
static ctsc_status conv_run_batched(op_ctx *cx, const conv_call *c, tensor **out) {
    diag *d = cx->diag;
    conv_lists l = {.n = c->weight->ndim - 2};
    if (l.n < 1) return diag_fail(d, CTSC_FAILED, "weight should have at least three dimensions");
    if (c->groups <= 0) return diag_fail(d, CTSC_FAILED, "non-positive groups is not supported");
    if (l.n > CONV_DIMS)
        return diag_fail(d, CTSC_UNSUPPORTED, "convolution over %d dimensions", l.n);
    TRY(conv_read_list(d, c->stride, "stride", l.n, 1, l.stride));
    TRY(conv_read_list(d, c->padding, "padding", l.n, 0, l.padding));
    TRY(conv_read_list(d, c->dilation, "dilation", l.n, 1, l.dilation));
    TRY(conv_read_list(d, c->output_padding, "output_padding", l.n, 0, l.output_padding));
    TRY(conv_check_values(d, &l));
    TRY(conv_check_weight(d, c));
    for (int i = 0; c->mode && c->mode[0] == 's' && i < l.n; i++)
        if (l.stride[i] != 1)
            return diag_fail(d, CTSC_FAILED,
                             "padding='same' is not supported for strided convolutions");
    conv_shape s;
    TRY(conv_make_shape(d, c, &l, &s));
    TRY(conv_check_dtypes(cx, c));
    int64_t sizes[CONV_DIMS + 2] = {s.batch, s.out_channels};
    for (int i = 0; i < l.n; i++) sizes[2 + i] = s.out[CONV_DIMS - l.n + i];
    return dtype_is_complex((dtype)c->input->dtype)
               ? conv_complex(cx, c, &s, l.n + 2, sizes, out)
               : conv_compute_tensors(d, c, &s, l.n + 2, sizes, out);
}

static ctsc_status conv_run(op_ctx *cx, const conv_call *call, tensor **out) {
    diag *d = cx->diag;
    conv_call c = *call;
    if (!c.name) return conv_run_batched(cx, &c, out);
    int n = c.name[strlen(c.name) - 2] - '0', have = c.input->ndim;
    if (have != n + 1 && have != n + 2) {
        char text[CONV_TEXT];
        return diag_fail(d, CTSC_FAILED,
                         "Expected %dD (unbatched) or %dD (batched) input to %s, but got input of "
                         "size: %s",
                         n + 1, n + 2, c.name,
                         conv_sizes_text(text, sizeof text, have, c.input->sizes));
    }
    if (have == n + 2) return conv_run_batched(cx, &c, out);
    tensor *batched, *t;
    TRY(tensor_unsqueeze(d, c.input, 0, &batched));
    c.input = batched;
    ctsc_status st = conv_run_batched(cx, &c, &t);
    tensor_unref(batched);
    if (st != CTSC_OK) return st;
    st = tensor_squeeze_dim(d, t, 0, out);
    tensor_unref(t);
    return st;
}

static ctsc_status conv_return(op_ctx *cx, const conv_call *c, const value *args, value *results) {
    tensor *t;
    TRY(conv_run(cx, c, &t));
    return op_finish(cx, args, t, results);
}

/* ---- operators ------------------------------------------------------------------------------- */

/* (input, weight, bias, stride, padding, dilation, groups); the padding is left out */
static conv_call conv_arguments(const value *args, const char *name) {
    return (conv_call){.input = arg_tensor(&args[0]),
                       .weight = arg_tensor(&args[1]),
                       .bias = arg_tensor_or_null(&args[2]),
                       .stride = &args[3],
                       .dilation = &args[5],
                       .groups = arg_int(&args[6]),
                       .name = name};
}

static ctsc_status conv_plain(op_ctx *cx, const char *name, const value *args, value *results) {
    conv_call c = conv_arguments(args, name);
    if (args[4].tag == V_STR) {
        c.mode = args[4].u.str->bytes;
        if (strcmp(c.mode, "same") != 0 && strcmp(c.mode, "valid") != 0)
            return diag_fail(cx->diag, CTSC_FAILED, "Invalid padding string: '%s'", c.mode);
    } else {
        c.padding = &args[4];
    }
    return conv_return(cx, &c, args, results);
}

ctsc_status op_conv1d(op_ctx *cx, const value *args, value *results) {
    return conv_plain(cx, "conv1d", args, results);
}
ctsc_status op_conv2d(op_ctx *cx, const value *args, value *results) {
    return conv_plain(cx, "conv2d", args, results);
}
ctsc_status op_conv3d(op_ctx *cx, const value *args, value *results) {
    return conv_plain(cx, "conv3d", args, results);
}
/* ctsc::conv_epilogue, a convolution of any of these: (input, weight, bias, stride, padding,
 * dilation, groups, other, activation) */
ctsc_status op_conv_epilogue(op_ctx *cx, const value *args, value *results) {
    static const char *const names[CONV_DIMS] = {"conv1d", "conv2d", "conv3d"};
    epilogue e;
    tensor *t;
    TRY(epilogue_read(cx, &args[7], &args[8], &e));
    conv_call c = conv_arguments(args, NULL);
    int n = c.weight->ndim - 2;
    if (n >= 1 && n <= CONV_DIMS) c.name = names[n - 1];
    c.padding = &args[4];
    c.epilogue = &e;
    TRY(conv_run(cx, &c, &t));
    return epilogue_finish(cx, &e, t, results);
}

static ctsc_status conv_read_factors(diag *d, tensor *factors, conv_call *c) {
    const tensor *w = c->weight;
    if (factors->dtype != DT_FLOAT64 || !tensor_is_contiguous(factors) ||
        wide_dtype((dtype)w->dtype) != DT_FLOAT32 || w->ndim < 1 || factors->numel != w->sizes[0] ||
        c->transposed || tensor_device(factors) != DEVICE_HOST || tensor_device(w) != DEVICE_HOST)
        return diag_fail(d, CTSC_USAGE, "factors of a weight: float64, one for each row");
    c->factors = factors;
    return CTSC_OK;
}

/* ctsc::conv_channels_last: (input, weight, bias, stride, padding, dilation,
 * transposed, output_padding, groups, batched, other, activation, written, factors);
 * the channels of input, other and result come last. batched: refuses input without a
 * batch dim, as _convolution does. written: other was added in place. factors: float64,
 * multipliers of the weight's rows (passes/weights/fold_weights.h). input and factors
 * replace those among args; bf16: the convolution's operands may be rounded. */
static ctsc_status conv_channels_last_at(op_ctx *cx, tensor *input, const float *scale,
                                         const value *factors, bool bf16,
                                         const channels_place *place, const value *args,
                                         value *results) {
    static const char *const names[2][CONV_DIMS] = {
        {"conv1d", "conv2d", "conv3d"},
        {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"},
    };
    epilogue e;
    TRY(epilogue_read(cx, &args[CONV_LAST_OTHER], &args[CONV_LAST_ACTIVATION], &e));
    e.written = arg_bool(&args[CONV_LAST_WRITTEN]);
    conv_call c = conv_arguments(args, NULL);
    c.padding = &args[CONV_LAST_PADDING];
    c.transposed = arg_bool(&args[CONV_LAST_TRANSPOSED]);
    c.output_padding = &args[CONV_LAST_OUTPUT_PADDING];
    c.groups = arg_int(&args[CONV_LAST_GROUPS]);
    c.channels_last = true;
    c.bf16 = bf16;
    if (bf16) {
        c.half_input = arg_bool(&args[CONV_LAST_HALF_INPUT]);
        c.result = arg_bool(&args[CONV_LAST_HALF_RESULT]) ? DT_BFLOAT16 : (dtype)c.weight->dtype;
    }
    c.input = input, c.scale = scale;
    c.epilogue = &e;
    c.place = place;
    if (factors->tag == V_TENSOR) TRY(conv_read_factors(cx->diag, arg_tensor(factors), &c));
    int n = c.weight->ndim - 2;
    if (n < 1 || n > CONV_DIMS)
        return diag_fail(cx->diag, CTSC_UNSUPPORTED, "convolution over %d dimensions", n);
    if (!arg_bool(&args[CONV_LAST_BATCHED])) c.name = names[c.transposed][n - 1];
    tensor *first, *t, *seen;
    TRY(channels_first_view(cx->diag, c.input, n, &first));
    c.input = first;
    ctsc_status st = conv_run(cx, &c, &t);
    tensor_unref(first);
    if (st != CTSC_OK) return st;
    st = channels_last_view(cx->diag, t, n, &seen);
    tensor_unref(t);
    if (st != CTSC_OK) return st;
    bool finished = e.done || (!e.other && e.activation == DENSE_PLAIN);
    st = place && finished ? channels_place_put(cx->diag, place, seen, &t)
                           : tensor_contiguous(cx->diag, seen, &t);
    tensor_unref(seen);
    if (st != CTSC_OK || (place && finished)) return st ? st : op_return_tensor(results, t);
    TRY(epilogue_finish(cx, &e, t, results));
    if (!place) return CTSC_OK;
    st = channels_place_put(cx->diag, place, results[0].u.tensor, &t);
    value_unref(results[0]);
    return st == CTSC_OK ? op_return_tensor(results, t) : st;
}

static ctsc_status conv_channels_last(op_ctx *cx, tensor *input, const float *scale,
                                      const value *factors, bool bf16, const value *args,
                                      value *results) {
    return conv_channels_last_at(cx, input, scale, factors, bf16, NULL, args, results);
}

ctsc_status op_conv_channels_last(op_ctx *cx, const value *args, value *results) {
    return conv_channels_last(cx, arg_tensor(&args[CONV_LAST_INPUT]), NULL,
                              &args[CONV_LAST_FACTORS], false, args, results);
}

/* ctsc::conv_channels_last.placed: the same and (beside, width, at),
 * the place of the result in a block of channels (channels_place.h). */
ctsc_status op_conv_channels_last_placed(op_ctx *cx, const value *args, value *results) {
    channels_place p = channels_place_read(&args[CONV_LAST_ARGS]);
    return conv_channels_last_at(cx, arg_tensor(&args[CONV_LAST_INPUT]), NULL,
                                 &args[CONV_LAST_FACTORS], false, &p, args, results);
}

/* The same with factors of floats rounded to bfloat16, and (half_input, half_result): the input may
 * be bfloat16, and the result is, where the weight is not; other is either. */
ctsc_status op_conv_channels_last_bf16(op_ctx *cx, const value *args, value *results) {
    bool halves = arg_bool(&args[CONV_LAST_HALF_RESULT]);
    dtype of = (dtype)arg_tensor(&args[CONV_LAST_WEIGHT])->dtype;
    TRY(conv_channels_last(cx, arg_tensor(&args[CONV_LAST_INPUT]), NULL, &args[CONV_LAST_FACTORS],
                           true, args, results));
    tensor *made = results[0].u.tensor, *t;
    bool half = made->dtype == DT_BFLOAT16;
    if (half == halves || (half && of != DT_FLOAT32)) return CTSC_OK;
    ctsc_status st = tensor_to_dtype(cx->diag, made, halves ? DT_BFLOAT16 : of, &t);
    value_unref(results[0]);
    return st == CTSC_OK ? op_return_tensor(results, t) : st;
}

/* Is scale one number for each channel of x' images, whose rank is that with or without a batch
 * dim? */
static bool conv_is_scale(const tensor *scale, const tensor *x, int spatial) {
    int first = x->ndim - 1 - spatial; /* of the spatial dims */
    if (scale->dtype != x->dtype || wide_dtype((dtype)x->dtype) != DT_FLOAT32 ||
        scale->ndim != x->ndim || spatial < 1 || first < 0 || first > 1 ||
        tensor_device(scale) != DEVICE_HOST || tensor_device(x) != DEVICE_HOST ||
        !tensor_is_contiguous(scale) || scale->sizes[x->ndim - 1] != x->sizes[x->ndim - 1])
        return false;
    if (first && scale->sizes[0] != x->sizes[0]) return false;
    for (int i = first; i < x->ndim - 1; i++)
        if (scale->sizes[i] != 1) return false;
    return true;
}

static ctsc_status conv_scaled_by(op_ctx *cx, tensor *x, tensor *scale, const value *args,
                                  value *results) {
    tensor *floats;
    TRY(conv_prepare(cx->diag, scale, DT_FLOAT32, &floats));
    ctsc_status st = conv_channels_last(cx, x, tensor_data(floats), &args[CONV_LAST_FACTORS], false,
                                        args, results);
    tensor_unref(floats);
    return st;
}

/* ctsc::conv_channels_last.scaled: the same of input * scale, where one of the two is as a rule the
 * other's scale: what is squeezed out of an image excites it. */
ctsc_status op_conv_channels_last_scaled(op_ctx *cx, const value *args, value *results) {
    tensor *a = arg_tensor(&args[CONV_LAST_INPUT]), *b = arg_tensor(&args[CONV_LAST_ARGS]);
    int spatial = arg_tensor(&args[CONV_LAST_WEIGHT])->ndim - 2;
    if (conv_is_scale(b, a, spatial)) return conv_scaled_by(cx, a, b, args, results);
    if (conv_is_scale(a, b, spatial)) return conv_scaled_by(cx, b, a, args, results);
    value product, both[] = {args[CONV_LAST_INPUT], args[CONV_LAST_ARGS]};
    TRY(op_call(cx, "aten::mul.Tensor", 2, both, &product));
    ctsc_status st = conv_channels_last(cx, product.u.tensor, NULL, &args[CONV_LAST_FACTORS], false,
                                        args, results);
    value_unref(product);
    return st;
}

ctsc_status op_convolution_mode(op_ctx *cx, const value *args, value *results) {
    return conv_plain(cx, NULL, args, results);
}

/* (input, weight, bias, stride, padding, output_padding, groups, dilation) */
static ctsc_status conv_transposed(op_ctx *cx, const char *name, const value *args,
                                   value *results) {
    conv_call c = {.input = arg_tensor(&args[0]),
                   .weight = arg_tensor(&args[1]),
                   .bias = arg_tensor_or_null(&args[2]),
                   .stride = &args[3],
                   .padding = &args[4],
                   .output_padding = &args[5],
                   .groups = arg_int(&args[6]),
                   .dilation = &args[7],
                   .transposed = true,
                   .name = name};
    return conv_return(cx, &c, args, results);
}

ctsc_status op_conv_transpose1d(op_ctx *cx, const value *args, value *results) {
    return conv_transposed(cx, "conv_transpose1d", args, results);
}
ctsc_status op_conv_transpose2d(op_ctx *cx, const value *args, value *results) {
    return conv_transposed(cx, "conv_transpose2d", args, results);
}
ctsc_status op_conv_transpose3d(op_ctx *cx, const value *args, value *results) {
    return conv_transposed(cx, "conv_transpose3d", args, results);
}

/* convolution, _convolution and their kin:
 * (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, ...) */
ctsc_status op_convolution(op_ctx *cx, const value *args, value *results) {
    conv_call c = {.input = arg_tensor(&args[0]),
                   .weight = arg_tensor(&args[1]),
                   .bias = arg_tensor_or_null(&args[2]),
                   .stride = &args[3],
                   .padding = &args[4],
                   .dilation = &args[5],
                   .transposed = arg_bool(&args[6]),
                   .output_padding = &args[7],
                   .groups = arg_int(&args[8])};
    return conv_return(cx, &c, args, results);
}

/* mkldnn_convolution: (self, weight, bias, padding, stride, dilation, groups) */
ctsc_status op_mkldnn_convolution(op_ctx *cx, const value *args, value *results) {
    conv_call c = {.input = arg_tensor(&args[0]),
                   .weight = arg_tensor(&args[1]),
                   .bias = arg_tensor_or_null(&args[2]),
                   .padding = &args[3],
                   .stride = &args[4],
                   .dilation = &args[5],
                   .groups = arg_int(&args[6])};
    return conv_return(cx, &c, args, results);
}

/* _nnpack_spatial_convolution: (input, weight, bias, padding, stride) */
ctsc_status op_nnpack_convolution(op_ctx *cx, const value *args, value *results) {
    conv_call c = {.input = arg_tensor(&args[0]),
                   .weight = arg_tensor(&args[1]),
                   .bias = arg_tensor_or_null(&args[2]),
                   .padding = &args[3],
                   .stride = &args[4],
                   .groups = 1};
    return conv_return(cx, &c, args, results);
}

/* thnn_conv2d, slow_conv3d, slow_conv_dilated2d, ...: (self, weight, kernel_size, bias, stride,
 * padding
 * [, dilation]). The kernel size is the weight's. */
ctsc_status op_slow_conv(op_ctx *cx, const value *args, value *results) {
    int nargs = cx->op->schema->nargs;
    conv_call c = {.input = arg_tensor(&args[0]),
                   .weight = arg_tensor(&args[1]),
                   .bias = arg_tensor_or_null(&args[3]),
                   .stride = &args[4],
                   .padding = &args[5],
                   .groups = 1};
    if (nargs > 6 && args[6].tag == V_LIST) c.dilation = &args[6];
    return conv_return(cx, &c, args, results);
}

/* _conv_depthwise2d, conv_depthwise3d: the same arguments, one group per input channel */
ctsc_status op_conv_depthwise(op_ctx *cx, const value *args, value *results) {
    conv_call c = {.input = arg_tensor(&args[0]),
                   .weight = arg_tensor(&args[1]),
                   .bias = arg_tensor_or_null(&args[3]),
                   .stride = &args[4],
                   .padding = &args[5],
                   .dilation = &args[6]};
    c.groups = c.input->ndim > 1 ? c.input->sizes[1] : 1;
    return conv_return(cx, &c, args, results);
}

/* slow_conv_transpose2d, 3d: (self, weight, kernel_size, bias, stride, padding, output_padding,
 * dilation) */
ctsc_status op_slow_conv_transpose(op_ctx *cx, const value *args, value *results) {
    conv_call c = {.input = arg_tensor(&args[0]),
                   .weight = arg_tensor(&args[1]),
                   .bias = arg_tensor_or_null(&args[3]),
                   .stride = &args[4],
                   .padding = &args[5],
                   .output_padding = &args[6],
                   .dilation = &args[7],
                   .groups = 1,
                   .transposed = true};
    return conv_return(cx, &c, args, results);
}

/* ---- conv_tbc -------------------------------------------------------------------------------- */

static ctsc_status conv_tbc_check(diag *d, const tensor *in, const tensor *w, const tensor *bias) {
    if (in->ndim != 3)
        return diag_fail(d, CTSC_FAILED, "Input must have 3 dims: time, batch, in_channel");
    if (w->ndim != 3)
        return diag_fail(
            d, CTSC_FAILED,
            "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.");
    if (bias->ndim != 1) return diag_fail(d, CTSC_FAILED, "Bias must be 1-D");
    if (in->sizes[2] != w->sizes[1])
        return diag_fail(d, CTSC_FAILED,
                         "Input dim 2 (input channels) is not == dim 1 in the weight tensor");
    if (w->sizes[2] != bias->sizes[0])
        return diag_fail(d, CTSC_FAILED,
                         "Bias size must equal dim 2 in the weight tensor (output channels).");
    return CTSC_OK;
}

/* One product per kernel tap: the time steps it reaches, times that tap's weights. */
static ctsc_status conv_tbc_taps(diag *d, const tensor *in, const tensor *w, int64_t pad,
                                 tensor *out) {
    int64_t size = (int64_t)dtype_size((dtype)in->dtype), batch = in->sizes[1], n = w->sizes[2];
    for (int64_t tap = 0; tap < w->sizes[0]; tap++) {
        int64_t lo = tap < pad ? pad - tap : 0, hi = in->sizes[0] + pad - tap;
        if (hi > out->sizes[0]) hi = out->sizes[0];
        if (hi <= lo) continue;
        const char *from = (const char *)tensor_data(in) +
                           (lo + tap - pad) * batch * in->sizes[2] * size;
        gemm_matrix b = {(const char *)tensor_data(w) + tap * w->sizes[1] * n * size, n, 1};
        TRY(gemm_run(d, (dtype)in->dtype, (hi - lo) * batch, n, in->sizes[2], gemm_one,
                     (gemm_matrix){from, in->sizes[2], 1}, b, gemm_one,
                     (char *)tensor_data(out) + lo * batch * n * size, n));
    }
    return CTSC_OK;
}

ctsc_status op_conv_tbc(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *in = arg_tensor(&args[0]), *w = arg_tensor(&args[1]), *bias = arg_tensor(&args[2]);
    int64_t pad = arg_int(&args[3]);
    TRY(conv_tbc_check(d, in, w, bias));
    conv_call c = {.input = in, .weight = w, .bias = bias};
    TRY(conv_check_dtypes(cx, &c));
    if (pad < 0 || pad > (int64_t)1 << 40)
        return diag_fail(d, CTSC_FAILED, "negative padding is not supported");
    int64_t sizes[3] = {in->sizes[0] + 2 * pad - w->sizes[0] + 1, in->sizes[1], w->sizes[2]};
    tensor *cin = NULL, *cw = NULL, *wide = NULL, *t = NULL;
    ctsc_status st = tensor_contiguous(d, in, &cin);
    if (st == CTSC_OK) st = tensor_contiguous(d, w, &cw);
    if (st == CTSC_OK) st = tensor_new(d, (dtype)in->dtype, 3, sizes, &t);
    if (st == CTSC_OK) st = tensor_expand(d, bias, 3, sizes, &wide);
    if (st == CTSC_OK) st = tensor_copy(d, t, wide);
    if (st == CTSC_OK) st = conv_tbc_taps(d, cin, cw, pad, t);
    tensor_unref(cin);
    tensor_unref(cw);
    tensor_unref(wide);
    if (st != CTSC_OK) {
        tensor_unref(t);
        return st;
    }
    return op_finish(cx, args, t, results);
}
