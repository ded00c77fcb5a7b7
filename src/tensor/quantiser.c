/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantiser.c - quantisers: making, sharing and comparing them, and single elements.
 * Tests: tests/unit/test_quantized.c
 */
#include "tensor/quantiser.h"

#include "base/memory/recycle.h"
#include "base/memory/refs.h"

#include <string.h>

static quantiser *quantiser_alloc(void) {
    quantiser *q = recycle_alloc(sizeof *q);
    if (!q) return NULL;
    *q = (quantiser){.axis = 0};
    atomic_init(&q->refs, 1);
    tensor_note_kind(TENSOR_KIND_QUANTISED);
    return q;
}

quantiser *quantiser_new(double scale, int64_t zero_point) {
    quantiser *q = quantiser_alloc();
    if (!q) return NULL;
    q->scheme = QSCHEME_TENSOR_AFFINE;
    q->scale = scale;
    q->zero_point = zero_point;
    return q;
}

quantiser *quantiser_new_channels(qscheme scheme, tensor *scales, tensor *zero_points, int axis) {
    quantiser *q = quantiser_alloc();
    if (!q) return NULL;
    q->scheme = scheme;
    q->axis = axis;
    q->scales = tensor_ref(scales);
    q->zero_points = tensor_ref(zero_points);
    return q;
}

quantiser *quantiser_ref(quantiser *q) {
    atomic_fetch_add_explicit(&q->refs, 1, memory_order_relaxed);
    return q;
}

void quantiser_unref(quantiser *q) {
    if (!q || !refs_drop(&q->refs)) return;
    tensor_unref(q->scales);
    tensor_unref(q->zero_points);
    recycle_free(q, sizeof *q);
}

static bool quantiser_same_numbers(const tensor *a, const tensor *b) {
    return a->dtype == b->dtype && a->numel == b->numel &&
           !memcmp(tensor_data(a), tensor_data(b), (size_t)a->numel * dtype_size((dtype)a->dtype));
}

bool quantiser_equal(const quantiser *a, const quantiser *b) {
    if (a == b) return true;
    if (!a || !b || a->scheme != b->scheme) return false;
    if (quantiser_per_tensor(a)) return a->scale == b->scale && a->zero_point == b->zero_point;
    return a->axis == b->axis && quantiser_same_numbers(a->scales, b->scales) &&
           quantiser_same_numbers(a->zero_points, b->zero_points);
}

const char *qscheme_name(qscheme s) {
    static const char *const names[] = {"per_tensor_affine", "per_channel_affine",
                                        "per_tensor_symmetric", "per_channel_symmetric",
                                        "per_channel_affine_float_qparams"};
    return (unsigned)s < sizeof names / sizeof *names ? names[s] : "unknown qscheme";
}

void tensor_set_quantiser_take(tensor *t, quantiser *q) {
    quantiser *old = t->quantiser;
    t->quantiser = q;
    quantiser_unref(old);
}

ctsc_status tensor_new_quantised(diag *d, dtype dt, int ndim, const int64_t *sizes, quantiser *q,
                                 tensor **out) {
    ctsc_status s = tensor_new(d, dt, ndim, sizes, out);
    if (s == CTSC_OK) (*out)->quantiser = quantiser_ref(q);
    return s;
}

int64_t dtype_qmin(dtype dt) { return dt == DT_QUINT8 ? 0 : dt == DT_QINT8 ? INT8_MIN : INT32_MIN; }

int64_t dtype_qmax(dtype dt) {
    return dt == DT_QUINT8 ? UINT8_MAX : dt == DT_QINT8 ? INT8_MAX : INT32_MAX;
}

double quantiser_value(const quantiser *q, dtype dt, const void *at, int64_t channel) {
    int64_t i = dtype_load_int(dt, at);
    if (quantiser_per_tensor(q)) return (float)q->scale * (float)(i - q->zero_point);
    if (channel >= q->scales->numel) channel = 0; /* a view whose axis is another dimension */
    if (q->scheme == QSCHEME_CHANNEL_FLOAT) {
        float scale = TENSOR_AT(q->scales, float)[channel],
              zero = TENSOR_AT(q->zero_points, float)[channel];
        return ((float)i - zero) * scale;
    }
    return (float)TENSOR_AT(q->scales, double)[channel] *
           (float)(i - TENSOR_AT(q->zero_points, int64_t)[channel]);
}
