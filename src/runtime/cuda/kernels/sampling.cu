/* SPDX-License-Identifier: Apache-2.0 */
/* sampling.cu - pictures read between their elements; what an output is says sampling.h. Neighbouring threads are at neighbouring positions. */

/* A position per thread, in all channels: their weights are the same. */
extern "C" __global__ void grid_sample(dense_grid p) {
    dense_int positions = p.out[0] * p.out[1] * p.out[2];
    for (dense_int i = thread_first(); i < p.batch * positions; i += thread_step()) {
        dense_int at, item = split(i, positions, &at);
        grid_point(&p, item, at);
    }
}

/* A coordinate per thread. */
extern "C" __global__ void affine_grid(dense_affine p) {
    for (dense_int i = thread_first(); i < p.batch * p.size[0] * p.size[1] * p.size[2] * p.dims; i += thread_step()) {
        dense_int row, at[3], rest = split(i, p.dims, &row);
        for (int k = 2; k >= 0; k--) rest = split(rest, p.size[k], &at[k]);
        store((elem_t *)p.y + i, affine_point(&p, rest, at, (int)row));
    }
}

/* An element of the columns per thread. */
extern "C" __global__ void deform_columns(dense_deform p) {
    dense_int taps = p.kernel[0] * p.kernel[1];
    for (dense_int i = thread_first(); i < p.channels * taps * p.out[0] * p.out[1]; i += thread_step()) {
        dense_int row, col, tap, channel = split(split(split(i, p.out[1], &col), p.out[0], &row), taps, &tap);
        deform_tap(&p, channel, tap, row, col);
    }
}
