/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rnn_cells.h - the cells of recurrent layers, for one element type.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here
 *     HOT         attribute of inner loops
 *     SIGMOID, TANH  scalar functions of the type
 */

/* Rows [begin, end) of the current step. Hidden products are in gates already, except for the GRU.
 */
HOT static void NAME(rnn_lstm_row)(int64_t n, const T *restrict g, T *restrict c, T *restrict h) {
    for (int64_t i = 0; i < n; i++) {
        T in = SIGMOID(g[i]), forget = SIGMOID(g[n + i]), cell = TANH(g[2 * n + i]), out = SIGMOID(g[3 * n + i]);
        T next = forget * c[i] + in * cell;
        c[i] = next;
        h[i] = out * TANH(next);
    }
}

HOT static void NAME(rnn_gru_row)(int64_t n, const T *restrict g, const T *restrict r, T *restrict h) {
    for (int64_t i = 0; i < n; i++) {
        T reset = SIGMOID(g[i] + r[i]), update = SIGMOID(g[n + i] + r[n + i]);
        T fresh = TANH(g[2 * n + i] + reset * r[2 * n + i]);
        h[i] = (h[i] - fresh) * update + fresh;
    }
}

HOT static void NAME(rnn_tanh_row)(int64_t n, const T *restrict g, T *restrict h) {
    for (int64_t i = 0; i < n; i++) h[i] = TANH(g[i]);
}

HOT static void NAME(rnn_add_row)(int64_t n, const T *restrict b, T *restrict g) {
    for (int64_t i = 0; i < n; i++) g[i] += b[i];
}

static void NAME(rnn_rows)(void *ctx, int64_t begin, int64_t end) {
    const rnn_run *run = ctx;
    int64_t n = run->hidden, width = n * rnn_gates(run->kind);
    T *gates = TENSOR_AT(run->gates, T) + run->offsets[run->step] * width;
    const T *b = run->w->b_hh ? TENSOR_AT(run->w->b_hh, T) : NULL;
    for (int64_t row = begin; row < end; row++) {
        T *g = gates + row * width, *products = run->kind == RNN_GRU ? (T *)run->scratch + row * width : g;
        T *h = run->w->w_hr ? (T *)run->scratch + row * n : (T *)run->h + row * n;
        if (b) NAME(rnn_add_row)(width, b, products);
        switch (run->kind) {
        case RNN_LSTM: NAME(rnn_lstm_row)(n, g, (T *)run->c + row * n, h); break;
        case RNN_GRU: NAME(rnn_gru_row)(n, g, products, h); break;
        case RNN_TANH: NAME(rnn_tanh_row)(n, g, h); break;
        case RNN_RELU:
            for (int64_t i = 0; i < n; i++) h[i] = g[i] < 0 ? 0 : g[i];
            break;
        }
    }
}

#undef T
#undef NAME
#undef HOT
#undef SIGMOID
#undef TANH
