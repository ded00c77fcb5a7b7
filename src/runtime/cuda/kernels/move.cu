/* SPDX-License-Identifier: Apache-2.0 */
/* move.cu - elements to other places, which indices may name. An element per thread, neighbouring threads on neighbouring elements of the dense side. */

extern "C" __global__ void move(dense_move p) {
    for (dense_int i = thread_first(); i < p.n; i += thread_step()) {
        dense_int rest = i, from = 0, to = 0;
        for (int k = (int)p.ndim - 1; k >= 0; k--) {
            dense_int at;
            rest = split(rest, p.sizes[k], &at);
            from += at * p.src_steps[k];
            to += at * p.dst_steps[k];
        }
        *element_at(p.dst, to) = *element_at((void *)p.src, from);
    }
}

extern "C" __global__ void blocks_read(dense_blocks p) {
    for (dense_int i = thread_first(); i < p.n; i += thread_step()) ((elem_t *)p.dense)[i] = *blocks_at(&p, i);
}
extern "C" __global__ void blocks_write(dense_blocks p) {
    for (dense_int i = thread_first(); i < p.n; i += thread_step()) *blocks_at(&p, i) = ((const elem_t *)p.dense)[p.scalar ? 0 : i];
}

extern "C" __global__ void gather(dense_scatter p) {
    elem_t *self, *other;
    for (dense_int i = thread_first(); i < p.n; i += thread_step())
        if (scatter_at(&p, i, &self, &other)) *other = *self;
}
extern "C" __global__ void scatter(dense_scatter p) {
    elem_t *self, *other;
    for (dense_int i = thread_first(); i < p.n; i += thread_step())
        if (scatter_at(&p, i, &self, &other)) *self = *other;
}

extern "C" __global__ void rows(dense_rows p) {
    for (dense_int i = thread_first(); i < p.count * p.width; i += thread_step()) {
        dense_int column, row = split(i, p.width, &column), v = p.index[row];
        if (v < 0 && p.wrap) v += p.rows;
        if (v < 0 || v >= p.rows) note_fault(p.fault, p.fault_kind, 0, p.index[row], p.rows);
        else ((elem_t *)p.out)[i] = ((const elem_t *)p.table)[v * p.width + column];
    }
}
