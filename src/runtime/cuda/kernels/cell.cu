/* SPDX-License-Identifier: Apache-2.0 */
/* cell.cu - the arithmetic of a recurrent cell between its products: an element of the state per thread. */
static __device__ acc_t sigmoid(acc_t x) {
    return 1 / (1 + exp(-x));
}

extern "C" __global__ void cell(dense_cell p) {
    dense_int n = p.hidden;
    for (dense_int i = thread_first(); i < p.rows * n; i += thread_step()) {
        dense_int x, row = split(i, n, &x), width = n * (p.kind == DENSE_LSTM ? 4 : p.kind == DENSE_GRU ? 3 : 1);
        const elem_t *g = (const elem_t *)p.gates + row * width + x, *r = (const elem_t *)p.products + row * width + x;
        const elem_t *b = (const elem_t *)p.bias + x;
        elem_t *h = (elem_t *)p.h + i;
        acc_t gate[4];
        for (int k = 0; k < 4 && k * n < width; k++) gate[k] = p.bias ? load(b[k * n]) : (acc_t)0; /* what belongs to the state */
        acc_t now;
        if (p.kind == DENSE_GRU) {
            for (int k = 0; k < 3; k++) gate[k] += load(r[k * n]);
            acc_t reset = sigmoid(load(g[0]) + gate[0]), update = sigmoid(load(g[n]) + gate[1]);
            acc_t fresh = tanh(load(g[2 * n]) + reset * gate[2]);
            now = (load(*h) - fresh) * update + fresh;
        } else if (p.kind == DENSE_LSTM) {
            elem_t *c = (elem_t *)p.c + i;
            for (int k = 0; k < 4; k++) gate[k] += load(g[k * n]);
            acc_t memory = sigmoid(gate[1]) * load(*c) + sigmoid(gate[0]) * tanh(gate[2]);
            store(c, memory);
            now = sigmoid(gate[3]) * tanh(memory);
        } else {
            now = gate[0] + load(g[0]);
            now = p.kind == DENSE_RNN_TANH ? tanh(now) : now < 0 ? (acc_t)0 : now;
        }
        store(h, now);
        if (p.out) store((elem_t *)p.out + row * p.out_step + x, now);
    }
}
