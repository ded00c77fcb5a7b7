/* SPDX-License-Identifier: Apache-2.0 */
/* bags.cu - embedding_bag: a column of a bag per thread, neighbouring threads on neighbouring columns. */
enum { BAGS_SUM, BAGS_MEAN, BAGS_MAX };

extern "C" __global__ void bags(dense_bags p) {
    for (dense_int i = thread_first(); i < p.bags * p.width; i += thread_step()) {
        dense_int column, bag = split(i, p.width, &column), used = 0, place = 0;
        dense_int begin = p.offsets[bag], end = bag + 1 < p.noffsets ? p.offsets[bag + 1] : p.count;
        acc_t y = 0;
        if (begin < 0) begin = 0;
        if (end > p.count) end = p.count;
        for (dense_int k = begin; k < end; k++) {
            dense_int row = p.index[k];
            if (column == 0 && p.bag_of) p.bag_of[k] = bag;
            if (row == p.padding) continue;
            if (row < 0 || row >= p.rows) {
                note_fault(p.fault, DENSE_FAULT_ROW, 0, row, p.rows);
                continue;
            }
            acc_t v = load(((const elem_t *)p.table)[row * p.width + column]);
            if (p.mode != BAGS_MAX) y += p.scale ? v * load(((const elem_t *)p.scale)[k]) : v;
            else if (used == 0 || v > y) y = v, place = row;
            used++;
        }
        if (p.mode == BAGS_MEAN && used) y /= (acc_t)used;
        store((elem_t *)p.y + i, y);
        if (p.max_at) p.max_at[i] = place;
        if (p.sizes && column == 0) p.sizes[bag] = used;
    }
}
