/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_attention.c - softmax(scale * q k' + mask) v on a CUDA device.
 *
 * In one kernel (kernels/attention.cu) if the weights are not requested and its shared memory
 * has room for the rows. Otherwise, and for half and bfloat16 with many rows, whose products
 * cuBLASLt does on tensor cores, as two products with the softmax of all scores between them.
 * Tests: tests/unit/test_cuda_dense.c
 */
#include "runtime/cuda/dense.h"
#include "runtime/kernels/attention/attention.h"

DENSE_FILE(attention)

enum { ATTENTION_MANY_ROWS = 64, ATTENTION_MOST_SCORES = 1 << 28 };

/* The steps of t's batch dims as they broadcast to nb. */
static void attention_steps(const tensor *t, int nb, dense_int *steps) {
    for (int i = 0; i < nb; i++) steps[i] = dense_batch_step(t, nb, i);
}

/* Where t, which broadcasts to the scores, is, and its strides there. */
static const void *attention_over_scores(const tensor *t, int nb, dense_int *steps, dense_int *rs,
                                         dense_int *cs) {
    gemm_matrix m = gemm_of(t);
    *rs = t->sizes[t->ndim - 2] == 1 ? 0 : m.rs;
    *cs = t->sizes[t->ndim - 1] == 1 ? 0 : m.cs;
    attention_steps(t, nb, steps);
    return m.p;
}

static ctsc_status attention_params(diag *d, const attention_call *call, dense_attention *p) {
    const tensor *out = call->out, *mask = call->mask;
    int nb = out->ndim - 2;
    gemm_matrix q = gemm_of(call->q), k = gemm_of(call->k), v = gemm_of(call->v);
    if (nb > DENSE_DIMS)
        return diag_fail(d, CTSC_LIMIT, "attention over more than %d dimensions", DENSE_DIMS + 2);
    *p = (dense_attention){.q = q.p,
                           .k = k.p,
                           .v = v.p,
                           .out = tensor_data(out),
                           .heads = 1,
                           .rows = out->sizes[nb],
                           .cols = call->k->sizes[call->k->ndim - 2],
                           .depth = call->q->sizes[call->q->ndim - 1],
                           .width = out->sizes[nb + 1],
                           .nb = nb,
                           .q_rs = q.rs,
                           .q_cs = q.cs,
                           .k_rs = k.rs,
                           .k_cs = k.cs,
                           .v_rs = v.rs,
                           .v_cs = v.cs,
                           .out_rs = out->strides[nb],
                           .scale = call->scale,
                           .fill = call->fill,
                           .causal = call->causal};
    for (int i = 0; i < nb; i++) p->heads *= p->sizes[i] = out->sizes[i];
    attention_steps(call->q, nb, p->q_steps);
    attention_steps(call->k, nb, p->k_steps);
    attention_steps(call->v, nb, p->v_steps);
    attention_steps(out, nb, p->out_steps);
    if (mask) p->mask = attention_over_scores(mask, nb, p->mask_steps, &p->mask_rs, &p->mask_cs);
    if (call->hidden)
        p->hidden = attention_over_scores(call->hidden, nb, p->hidden_steps, &p->hidden_rs,
                                          &p->hidden_cs);
    return CTSC_OK;
}

/* Products of whole matrices; weights: contiguous. */
static ctsc_status attention_in_steps(diag *d, const attention_call *call,
                                      const dense_attention *given, tensor *weights) {
    cuda *c = cuda_of(weights);
    int nb = (int)given->nb;
    const int64_t *batch = call->out->sizes;
    tensor *transposed = NULL, *out = NULL;
    dense_attention p = *given;
    p.out = tensor_data(weights);
    ctsc_status st = tensor_transpose(d, call->k, -2, -1, &transposed);
    gemm_scale scale = {call->scale, 0, 0};
    if (st == CTSC_OK)
        st = dense_gemm_batch(d, call->q, transposed, nb, batch, scale, gemm_zero, weights, NULL);
    if (st == CTSC_OK)
        st = dense_each(d, c, &cuda_file_attention, dense_defines((dtype)weights->dtype),
                        "attention_softmax", p.heads * p.rows * 32, &p, sizeof p);
    bool dense = tensor_is_contiguous(call->out);
    if (st == CTSC_OK)
        st = dense ? tensor_alias(d, call->out, &out)
                   : tensor_new_like(d, call->out, (dtype)call->out->dtype, &out);
    if (st == CTSC_OK)
        st = dense_gemm_batch(d, weights, call->v, nb, batch, gemm_one, gemm_zero, out, NULL);
    if (st == CTSC_OK && !dense) st = tensor_copy(d, call->out, out);
    tensor_unref(transposed);
    tensor_unref(out);
    return st;
}

static bool attention_is_fused(const attention_call *call, const dense_attention *p) {
    dtype dt = (dtype)call->out->dtype;
    if (call->weights || dt == DT_FLOAT64 || p->depth > ATTENTION_WIDTH ||
        p->width > ATTENTION_WIDTH)
        return false;
    bool many = p->rows >= ATTENTION_MANY_ROWS &&
                (double)p->heads * (double)p->rows * (double)p->cols <= ATTENTION_MOST_SCORES;
    return dt == DT_FLOAT32 || !many;
}

ctsc_status dense_attention_run(diag *d, const attention_call *call) {
    dense_attention p;
    int64_t sizes[TENSOR_MAX_DIMS];
    tensor *weights;
    TRY(attention_params(d, call, &p));
    if (p.heads == 0 || call->out->numel == 0) return CTSC_OK;
    if (attention_is_fused(call, &p)) {
        int64_t blocks = (p.rows + ATTENTION_ROWS - 1) / ATTENTION_ROWS * p.heads;
        return dense_launch(d, cuda_of(call->out), &cuda_file_attention,
                            dense_defines((dtype)call->out->dtype), "attention", blocks,
                            ATTENTION_WARPS * 32, &p, sizeof p);
    }
    if (call->weights) return attention_in_steps(d, call, &p, call->weights);
    for (int i = 0; i < p.nb; i++) sizes[i] = p.sizes[i];
    sizes[p.nb] = p.rows;
    sizes[p.nb + 1] = p.cols;
    TRY(tensor_new_on(d, tensor_device(call->out), (dtype)call->out->dtype, (int)p.nb + 2, sizes,
                      &weights));
    ctsc_status st = attention_in_steps(d, call, &p, weights);
    tensor_unref(weights);
    return st;
}
