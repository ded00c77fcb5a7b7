/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rnn_rows.h - the cells of a step, for one element type, on weights as they are.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here, and of the cells (rnn_cells.h)
 *     HOT         attribute of inner loops
 */

HOT static void NAME(rnn_add_row)(int64_t n, const T *restrict b, T *restrict g) {
    for (int64_t i = 0; i < n; i++) g[i] += b[i];
}

/* Rows [begin, end) of the current step. */
static void NAME(rnn_rows)(void *ctx, int64_t begin, int64_t end) {
    const rnn_run *run = ctx;
    int64_t n = run->hidden, width = n * rnn_gates(run->kind);
    T *gates = TENSOR_AT(run->gates, T) + run->offsets[run->step] * width;
    const T *b = run->w->b_hh ? TENSOR_AT(run->w->b_hh, T) : NULL;
    for (int64_t row = begin; row < end; row++) {
        T *g = gates + row * width,
          *products = run->kind == RNN_GRU ? (T *)run->scratch + row * width : g;
        T *h = run->w->w_hr ? (T *)run->scratch + row * n : (T *)run->h + row * n;
        if (b) NAME(rnn_add_row)(width, b, products);
        switch (run->kind) {
        case RNN_LSTM: NAME(rnn_lstm_row)(n, n, g, (T *)run->c + row * n, h); break;
        case RNN_GRU: NAME(rnn_gru_row)(n, n, g, products, h); break;
        case RNN_TANH: NAME(rnn_tanh_row)(n, g, h); break;
        case RNN_RELU: NAME(rnn_relu_row)(n, g, h); break;
        }
    }
}

#undef T
#undef NAME
#undef HOT
