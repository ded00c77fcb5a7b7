/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_last.c - see conv_last.h.
 * Tests: tests/unit/test_conv_last.c
 */
#include "runtime/kernels/conv/conv_last.h"

#include "runtime/kernels/conv/conv_bf16.h"
#include "runtime/kernels/conv/conv_half.h"
#include "runtime/kernels/conv/conv_last_depthwise.h"
#include "runtime/kernels/conv/conv_rows.h"
#include "runtime/kernels/conv/conv_tune.h"
#include "runtime/kernels/conv/conv_winograd.h"
#include "runtime/kernels/engine/kernel_settings.h"
#include "runtime/kernels/matmul/gemm_block.h"
#include "runtime/kernels/sparse/sparse_weight.h"

/* What is added has to be as the result, or in one of the two dtypes that a kernel mixes; else the
 * operators do it, which broadcast and convert. */
static bool last_epilogue(const epilogue *e, const tensor *bias, const tensor *t, bool mixed,
                          dense_epilogue *after) {
    *after = (dense_epilogue){.bias = bias ? tensor_data(bias) : NULL};
    const tensor *o = e ? e->other : NULL;
    bool fits = o && (o->dtype == t->dtype ||
                      (mixed && (o->dtype == DT_FLOAT32 || o->dtype == DT_BFLOAT16)));
    if (o && (!fits || o->storage->device != t->storage->device || !tensor_same_shape(o, t) ||
              !tensor_is_contiguous(o)))
        return false;
    if (o) after->other = tensor_data(o);
    if (e) after->activation = e->activation;
    if (!o && !tensor_is_contiguous(t)) after->pitch = t->strides[t->ndim - 2];
    return true;
}

/* A convolution that one of the kernels does. */
typedef struct last_call {
    diag *d;
    const conv_shape *s;
    const tensor *weight, *factors;
    const void *x;
    const float *scale;
    const dense_epilogue *after;
    void *out;
    conv_dtypes dt;       /* alike, except with CONV_BF16 */
    bool odd;             /* Winograd's sums are not finite */
    const conv_packed *w; /* of images of 16 bits */
} last_call;

static ctsc_status last_run(last_call *c, const conv_shape *s, const conv_packed *w,
                            const dense_epilogue *after, const float *x, float *out) {
    bool finite = true;
    switch (w->form) {
    case CONV_DEPTHWISE: return conv_last_depthwise(c->d, s, DT_FLOAT32, x, w->weights, after, out);
    case CONV_BF16: return conv_bf16(c->d, s, w, conv_dtypes_all(DT_FLOAT32), x, NULL, after, out);
    case CONV_WINOGRAD_4:
    case CONV_WINOGRAD_2:
        TRY(conv_winograd(c->d, s, w, x, after, out, &finite));
        c->odd |= !finite;
        return CTSC_OK;
    default: return conv_rows(c->d, s, w, x, c->scale, after, out);
    }
}

/* A part of an image of 16 bits; its scale is conv_half's, and its epilogue, except for bounds. */
static ctsc_status last_run_floats(void *ctx, const conv_shape *s, const float *x, float *out) {
    last_call part = *(const last_call *)ctx;
    dense_epilogue after = {.bias = part.after->bias};
    if (conv_half_bounds(part.after)) after.activation = part.after->activation;
    part.scale = NULL;
    TRY(last_run(&part, s, part.w, &after, x, out));
    ((last_call *)ctx)->odd |= part.odd;
    return CTSC_OK;
}

/* Outputs [first, first + w->out): a convolution with
 * this many of them and the same pixel layout. */
static ctsc_status last_some(void *ctx, const conv_packed *w, int64_t first) {
    last_call *c = ctx;
    conv_shape s = *c->s;
    dense_epilogue after = *c->after;
    if (!after.pitch) after.pitch = s.out_channels;
    after.other = epilogue_other(&after, first);
    if (after.bias) after.bias = (const float *)after.bias + first;
    s.out_channels = w->out;
    return last_run(c, &s, w, &after, c->x, (float *)c->out + first);
}

/* *done: there is memory for the weights. */
static ctsc_status last_form_run(last_call *c, conv_form form, bool *done) {
    dtype dt = c->dt.in;
    bool wide = dt == DT_FLOAT32, mixed = c->dt.out != dt || c->dt.other != dt;
    *done = true;
    if (wide && !mixed && conv_packed_is_first(c->s, c->weight, form))
        return conv_packed_in_turn(c->d, c->s, c->weight, c->factors, form, last_some, c);
    c->w = conv_packed_of(c->s, c->weight, c->factors, form);
    *done = c->w != NULL;
    if (!c->w) return CTSC_OK;
    if (form == CONV_BF16 && (mixed || dt == DT_BFLOAT16))
        return conv_bf16(c->d, c->s, c->w, c->dt, c->x, c->scale, c->after, c->out);
    if (form == CONV_DEPTHWISE && !wide && conv_last_depthwise_fits_half(c->s))
        return conv_last_depthwise(c->d, c->s, dt, c->x, c->w->weights, c->after, c->out);
    return wide ? last_run(c, c->s, c->w, c->after, c->x, c->out)
                : conv_half(c->d, c->s, dt, c->x, c->scale, c->after, c->out, last_run_floats, c);
}

/* Pixels times a matrix that is mostly zero, where it is, and they are finite. */
static ctsc_status last_sparse(last_call *c, bool *done) {
    const conv_shape *s = c->s;
    int64_t pixels = s->batch * s->out_size;
    const conv_packed *w = conv_packed_of(s, c->weight, c->factors, CONV_SPARSE);
    if (!w || !w->sparse || !sparse_weight_pays(w->sparse, pixels)) return CTSC_OK;
    return sparse_weight_run(c->d, w->sparse, pixels, (gemm_matrix){c->x, s->in_channels, 1},
                             c->after, c->out, c->after->pitch ? c->after->pitch : s->out_channels,
                             done);
}

/* Which of the kernels; CONV_FORMS: none of them. Factors of bfloat16 double the speed of vectors,
 * which is less than Winograd's larger tiles gain, and multiply it in tile registers. */
static conv_form last_form(const conv_shape *s, bool bf16) {
    const gemm_micro *u = gemm_micro_best(DT_FLOAT32);
    bool floats = u && u->rows[1] && conv_rows_fits(s),
         winograd = floats && conv_winograd_fits(s) &&
                    !atomic_load_explicit(&kernel_no_winograd, memory_order_relaxed);
    conv_form best = winograd ? conv_winograd_best(s) : CONV_FORMS;
    if (conv_last_depthwise_fits(s)) return CONV_DEPTHWISE;
    if (bf16 && conv_bf16_fits(s) && (best != CONV_WINOGRAD_4 || ukernel_quad(UKERNEL_BF16)->begin))
        return CONV_BF16;
    if (!floats) return CONV_FORMS;
    if (winograd && atomic_load_explicit(&kernel_tunes, memory_order_relaxed)) return conv_tune(s);
    if (best != CONV_FORMS) return best;
    return conv_packed_groups(s) > 1 ? CONV_GROUPS : CONV_ROWS;
}

void conv_last_scale(const conv_shape *s, dtype dt, const void *x, const float *scale, void *out) {
    const float *from = x;
    float *to = out;
    if (dt != DT_FLOAT32) {
        half_scale by = {scale, s->in_channels, s->in_size};
        conv_half_scale(dt, &by, x, 0, s->batch * s->in_size, out);
        return;
    }
    for (int64_t n = 0; n < s->batch; n++, scale += s->in_channels)
        for (int64_t i = 0; i < s->in_size; i++, from += s->in_channels, to += s->in_channels)
            for (int64_t c = 0; c < s->in_channels; c++) to[c] = from[c] * scale[c];
}

bool conv_last_takes_scale(const conv_shape *s, dtype dt) {
    conv_form form = last_form(s, dt == DT_BFLOAT16);
    if (dt != DT_FLOAT32) return form != CONV_FORMS && form != CONV_DEPTHWISE;
    return form == CONV_ROWS || form == CONV_GROUPS;
}

bool conv_last_mixes(const conv_shape *s) { return last_form(s, true) == CONV_BF16; }

ctsc_status conv_last_compute(diag *d, const conv_shape *s, const tensor *in, const float *scale,
                              const tensor *weight, const tensor *factors, const tensor *bias,
                              epilogue *e, bool bf16, tensor *t, bool *done) {
    *done = t->numel == 0;
    if (!tensor_is_contiguous(t) && e && e->other) return CTSC_OK;
    bool unpacked = atomic_load_explicit(&kernel_no_packing, memory_order_relaxed);
    if (*done || in->numel == 0 || weight->numel == 0) return CTSC_OK;
    conv_form form = last_form(s, bf16 || in->dtype == DT_BFLOAT16);
    if (unpacked && form != CONV_BF16) return CTSC_OK;
    if (form == CONV_FORMS) return CTSC_OK;
    dense_epilogue after;
    bool mixed = form == CONV_BF16, with = last_epilogue(e, bias, t, mixed, &after);
    conv_dtypes dt = {(dtype)in->dtype, (dtype)t->dtype, (dtype)t->dtype};
    if (after.other) dt.other = (dtype)e->other->dtype;
    last_call c = {.d = d,
                   .dt = dt,
                   .s = s,
                   .weight = weight,
                   .factors = factors,
                   .x = tensor_data(in),
                   .scale = scale,
                   .after = &after,
                   .out = tensor_data(t)};
    bool sparse = false;
    if (form == CONV_ROWS && c.dt.in == DT_FLOAT32 && !scale && s->groups == 1 &&
        conv_is_pointwise(s))
        TRY(last_sparse(&c, &sparse));
    *done = sparse;
    if (!sparse) TRY(last_form_run(&c, form, done));
    /* the direct way where Winograd's meets a number that is not finite */
    if (c.odd) TRY(last_form_run(&c, CONV_ROWS, done));
    if (!*done) return CTSC_OK;
    if (e) e->done = with;
    return CTSC_OK;
}
