/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_last.c - see conv_last.h.
 * Tests: tests/unit/test_conv_last.c
 */
#include "runtime/kernels/conv/conv_last.h"

#include "runtime/kernels/conv/conv_rows.h"
#include "runtime/kernels/conv/conv_winograd.h"
#include "runtime/kernels/matmul/gemm_block.h"

/* What is added has to be as the result; else the operators do it, which broadcast and convert. */
static bool last_tail(const epilogue *e, const tensor *t, conv_tail *tail) {
    *tail = (conv_tail){0};
    const tensor *o = e ? e->other : NULL;
    if (o && (o->dtype != t->dtype || o->storage->device != t->storage->device || !tensor_same_shape(o, t) || !tensor_is_contiguous(o))) return false;
    if (o) tail->other = tensor_data(o);
    if (e) tail->activation = e->activation;
    return true;
}

ctsc_status conv_last_compute(diag *d, const conv_shape *s, const tensor *in, const tensor *weight, const tensor *bias, epilogue *e, tensor *t, bool *done) {
    *done = t->numel == 0;
    const gemm_micro *u = gemm_micro_best(DT_FLOAT32);
    if (*done || in->numel == 0 || weight->numel == 0 || !u || !u->rows[1] || !conv_packed_set(s) || !conv_rows_fits(s)) return CTSC_OK;
    bool winograd = conv_winograd_fits(s);
    const conv_packed *w = conv_packed_of(s, weight, winograd ? CONV_WINOGRAD : CONV_ROWS);
    if (!w) return CTSC_OK;
    conv_tail tail;
    bool with = last_tail(e, t, &tail);
    TRY((winograd ? conv_winograd : conv_rows)(d, s, w, tensor_data(in), bias ? tensor_data(bias) : NULL, &tail, tensor_data(t)));
    if (e) e->done = with;
    *done = true;
    return CTSC_OK;
}
