/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rnn_cells.h - the cells of recurrent layers, for one element type: n units of one row.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here
 *     HOT         attribute of inner loops
 *     SIGMOID, TANH  scalar functions of the type
 *
 * g: the gates, those of one kind `apart` elements after those of the one
 * before. Hidden products are already included, except for the GRU (r).
 */

HOT static void NAME(rnn_lstm_row)(int64_t n, int64_t apart, const T *restrict g, T *restrict c,
                                   T *restrict h) {
    for (int64_t i = 0; i < n; i++) {
        T in = SIGMOID(g[i]), forget = SIGMOID(g[apart + i]), cell = TANH(g[2 * apart + i]),
          out = SIGMOID(g[3 * apart + i]);
        T next = forget * c[i] + in * cell;
        c[i] = next;
        h[i] = out * TANH(next);
    }
}

HOT static void NAME(rnn_gru_row)(int64_t n, int64_t apart, const T *restrict g,
                                  const T *restrict r, T *restrict h) {
    for (int64_t i = 0; i < n; i++) {
        T reset = SIGMOID(g[i] + r[i]), update = SIGMOID(g[apart + i] + r[apart + i]);
        T fresh = TANH(g[2 * apart + i] + reset * r[2 * apart + i]);
        h[i] = (h[i] - fresh) * update + fresh;
    }
}

HOT static void NAME(rnn_tanh_row)(int64_t n, const T *restrict g, T *restrict h) {
    for (int64_t i = 0; i < n; i++) h[i] = TANH(g[i]);
}

HOT static void NAME(rnn_relu_row)(int64_t n, const T *restrict g, T *restrict h) {
    for (int64_t i = 0; i < n; i++) h[i] = g[i] < 0 ? 0 : g[i];
}

#undef T
#undef NAME
#undef HOT
#undef SIGMOID
#undef TANH
