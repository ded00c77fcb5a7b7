/* SPDX-License-Identifier: Apache-2.0 */
/* triangle.cu - zeroes one side of the diagonal of matrices: an element per thread. */
extern "C" __global__ void triangle(dense_triangle p) {
    elem_t zero = {};
    for (dense_int i = thread_first(); i < p.matrices * p.rows * p.cols; i += thread_step()) {
        dense_int column, row, rest = split(i, p.cols, &column);
        split(rest, p.rows, &row);
        if (p.lower ? column - row > p.diagonal : column - row < p.diagonal) ((elem_t *)p.t)[i] = zero;
    }
}
