/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_minmax_columns.h - columns of floats: the largest or smallest of each, and where it is.
 *
 * Included with these defined, once for each comparison; all of them are undefined afterwards:
 *     COLUMNS         name of the function without places
 *     INDEX_COLUMNS   name of the one with places: rows <= one chunk, so that a lane's index fits an int32
 *     OP              the comparison
 */

REDUCE_HOT static void COLUMNS(const reduce_job *j, reduce_acc *accs, const float *x, int64_t rows,
                               int64_t stride, int64_t cols, int64_t first) {
    (void)j, (void)first;
    float lane[REDUCE_LANES];
    memcpy(lane, x, sizeof *lane * (size_t)cols);
    for (int64_t r = 1; r < rows; r++) {
        const float *row = x + r * stride;
        for (int64_t c = 0; c < cols; c++)
            lane[c] = ((row[c] OP lane[c]) | (row[c] != row[c])) ? row[c] : lane[c];
    }
    for (int64_t c = 0; c < cols; c++)
        if (lane[c] OP accs[c].f || lane[c] != lane[c]) accs[c].f = lane[c];
}

REDUCE_HOT static void INDEX_COLUMNS(const reduce_job *j, reduce_acc *accs, const float *x,
                                     int64_t rows, int64_t stride, int64_t cols, int64_t first) {
    (void)j;
    float lane[REDUCE_LANES];
    int32_t place[REDUCE_LANES] = {0};
    memcpy(lane, x, sizeof *lane * (size_t)cols);
    for (int32_t r = 1; r < (int32_t)rows; r++) {
        const float *row = x + r * stride;
        for (int64_t c = 0; c < cols; c++) {
            float v = row[c], m = lane[c];
            int better = (v OP m) | ((v != v) & (m == m));
            lane[c] = better ? v : m;
            place[c] = better ? r : place[c];
        }
    }
    for (int64_t c = 0; c < cols; c++) {
        if (isnan(accs[c].f) || !(lane[c] OP accs[c].f || isnan(lane[c]))) continue;
        accs[c].f = lane[c];
        accs[c].at = first + place[c];
    }
}

#undef COLUMNS
#undef INDEX_COLUMNS
#undef OP
