/* SPDX-License-Identifier: Apache-2.0 */
/* regions.cu - torchvision's operators on regions, an output element per thread, and which boxes overlap; regions.h says what they are. */

struct region_element {
    dense_int region, image, channel, row, col;
};

/* Of element i of the result. False: the region is in no image, which is noted. */
static __device__ bool region_of(const dense_regions *p, dense_int i, region_element *e) {
    dense_int rest = split(split(i, p->bins[1], &e->col), p->bins[0], &e->row);
    e->region = split(rest, p->out_channels, &e->channel);
    if (region_image(p, e->region, &e->image)) return true;
    double image = (double)load(((const elem_t *)p->rois)[e->region * 5]);
    note_fault(p->fault, DENSE_FAULT_IMAGE, (int)e->region, __double_as_longlong(image), p->batch);
    return false;
}

static __device__ dense_int region_elements(const dense_regions *p) {
    return p->regions * p->out_channels * p->bins[0] * p->bins[1];
}

extern "C" __global__ void roi_align(dense_regions p) {
    for (dense_int i = thread_first(); i < region_elements(&p); i += thread_step()) {
        region_element e;
        region_box box;
        if (!region_of(&p, i, &e)) continue;
        if (!region_place(&p, e.region, &box)) {
            note_fault(p.fault, DENSE_FAULT_SAMPLES, 0, e.region, 0);
            continue;
        }
        dense_int from = p.map ? (e.channel * p.bins[0] + e.row) * p.bins[1] + e.col : e.channel, n = box.down * box.across;
        const elem_t *x = (const elem_t *)p.x + (e.image * p.channels + from) * p.height * p.width;
        acc_t sum = 0;
        for (dense_int a = 0; a < box.down; a++)
            for (dense_int b = 0; b < box.across; b++) {
                region_tap t = region_tap_of(&p, &box, e.row, e.col, a, b);
                sum += region_read(x, &t);
            }
        store((elem_t *)p.y + i, box.none ? (acc_t)SCALAR_NAN : sum / (acc_t)(n > 1 ? n : 1));
        if (p.map) p.map[i] = (int)from;
    }
}

extern "C" __global__ void roi_pool(dense_regions p) {
    region_element e;
    for (dense_int i = thread_first(); i < region_elements(&p); i += thread_step())
        if (region_of(&p, i, &e)) region_maximum(&p, e.region, e.image, e.channel, e.row, e.col);
}
extern "C" __global__ void ps_roi_pool(dense_regions p) {
    region_element e;
    for (dense_int i = thread_first(); i < region_elements(&p); i += thread_step())
        if (region_of(&p, i, &e)) region_mean(&p, e.region, e.image, e.channel, e.row, e.col);
}

static __device__ region_edges edges_of(const dense_overlaps *p, dense_int rank) {
    const elem_t *box = (const elem_t *)p->boxes + p->order[rank] * 4;
    region_edges e = {load(box[0]), load(box[1]), load(box[2]), load(box[3]), 0};
    e.area = (e.x2 - e.x1) * (e.y2 - e.y1);
    return e;
}

/* A word of the mask per thread. */
extern "C" __global__ void overlaps(dense_overlaps p) {
    for (dense_int i = thread_first(); i < p.n * p.words; i += thread_step()) {
        dense_int word, rank = split(i, p.words, &word);
        unsigned long long bits = 0;
        region_edges own = edges_of(&p, rank);
        for (int bit = 0; bit < 64; bit++) {
            dense_int other = word * 64 + bit;
            if (other > rank && other < p.n && region_overlap(own, edges_of(&p, other)) > (acc_t)p.threshold) bits |= 1ull << bit;
        }
        p.mask[i] = bits;
    }
}
