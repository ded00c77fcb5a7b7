/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rnn.h - recurrent layers: what rnn.c and rnn_prepacked.c share.
 */
#ifndef CTSC_RUNTIME_KERNELS_RNN_RNN_H
#define CTSC_RUNTIME_KERNELS_RNN_RNN_H

#include "runtime/kernels/matmul/packed_weights.h"
#include "tensor/tensor.h"

typedef enum rnn_kind { RNN_LSTM, RNN_GRU, RNN_TANH, RNN_RELU } rnn_kind;

static inline int rnn_gates(rnn_kind kind) {
    return kind == RNN_LSTM ? 4 : kind == RNN_GRU ? 3 : 1;
}

/* The weights of one direction of one layer, in the dtype computed in. Owned. */
typedef struct rnn_weights {
    tensor *w_ih, *w_hh, *b_ih, *b_hh, *w_hr; /* biases and the projection w_hr may be NULL */
} rnn_weights;

/* ---- weights that were packed before (rnn_prepacked.c) --------------------------------------- */

typedef struct rnn_prepacked {
    rnn_kind kind;
    /* data of the four parameters; a constant hidden weight might have got others beside it */
    const void *made_of[4];
    int64_t hidden, blocks;
    /* the products with the input, of blocks * gates * nr columns; its micro is that of all */
    gemm_prepacked input;
    float *state; /* panels of the hidden weight */
    /* of the gates; it does not include what is added to the hidden products separately */
    float *bias;
    /* GRU: of the hidden product of the new gate, which the reset gate weighs */
    float *fresh;
    void *memory;
    size_t room; /* of it */
} rnn_prepacked;
void rnn_prepack_free(void *made);

/* Of w, which fit together and are contiguous or not. NULL: they are not constants, it is not worth
 * it yet, or cannot be done; then the layer takes them as they are. Thread-safe; the result lives
 * as long as the storage of w->w_hh. */
const rnn_prepacked *rnn_prepack(rnn_kind kind, const rnn_weights *w);

/* One direction of a layer, of floats. */
typedef struct rnn_line {
    const rnn_prepacked *w;
    bool reverse;
    float *h, *c; /* [batch, hidden]: the first state, and in the end the last one; c: LSTM */
    float *out;   /* first row */
} rnn_line;

typedef struct rnn_sequence {
    const rnn_line *lines; /* directions of them, alike in kind and sizes */
    int64_t directions, steps, batch, rows;
    const int64_t *sizes, *offsets; /* per step: rows, at most batch, and the first one */
    const tensor *input;            /* [rows, features], contiguous */
    int64_t out_step;               /* elements from one row of outputs to the next */
} rnn_sequence;

/* All steps of all directions. Fails without memory or because of limits. */
ctsc_status rnn_run_prepacked(diag *d, const rnn_sequence *s);

#endif
