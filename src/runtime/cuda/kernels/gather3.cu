/* SPDX-License-Identifier: Apache-2.0 */
/* gather3.cu - planes whose elements are elsewhere in each dim by itself: padding, the nearest neighbour. An output element per thread. */
extern "C" __global__ void gather3(dense_gather3 p) {
    dense_int n = p.planes * p.out[0] * p.out[1] * p.out[2];
    for (dense_int i = thread_first(); i < n; i += thread_step()) {
        dense_int d, h, w, rest = split(i, p.out[2], &w);
        rest = split(rest, p.out[1], &h);
        rest = split(rest, p.out[0], &d);
        dense_int from = ((rest * p.in[0] + p.at[0][d]) * p.in[1] + p.at[1][h]) * p.in[2] + p.at[2][w];
        ((elem_t *)p.y)[i] = ((const elem_t *)p.x)[from];
    }
}
