/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regions.h - torchvision's regions: where samples and bins of a region are, and what a bin is.
 * The single definition, read as each_real.h says by vision.c and runtime/cuda/kernels/regions.cu.
 * Tests: tests/unit/test_vision.c, test_cuda_dense.c
 */
/* ---- boxes ----------------------------------------------------------------------------------- */

typedef struct REAL_FN(region_edges) {
    REAL x1, y1, x2, y2, area;
} REAL_FN(region_edges);

/* The intersection of two boxes over their union. */
SCALAR_FN REAL REAL_FN(region_overlap)(REAL_FN(region_edges) a, REAL_FN(region_edges) b) {
    REAL w = (a.x2 < b.x2 ? a.x2 : b.x2) - (a.x1 > b.x1 ? a.x1 : b.x1);
    REAL h = (a.y2 < b.y2 ? a.y2 : b.y2) - (a.y1 > b.y1 ? a.y1 : b.y1);
    REAL both = (w > 0 ? w : 0) * (h > 0 ? h : 0);
    return both / (a.area + b.area - both);
}

SCALAR_FN dense_int REAL_FN(region_clip)(dense_int v, dense_int low, dense_int high) {
    v = v > low ? v : low;
    return v < high ? v : high;
}

/* v as an integer where it is one, else a number that is outside of any picture. */
SCALAR_FN dense_int REAL_FN(region_int)(REAL v) {
    const REAL far = 1000000000;
    return v > -far && v < far ? (dense_int)v : v > 0 ? 1000000000 : -1000000000;
}

/* The row of rois; false: it names no image. */
SCALAR_FN bool REAL_FN(region_image)(const dense_regions *p, dense_int r, dense_int *image) {
    REAL v = LOAD(((const ELEM *)p->rois)[r * 5]);
    if (!(v > -1 && v < (REAL)p->batch)) return false;
    *image = (dense_int)v;
    return true;
}

/* ---- aligned regions: samples between the elements ------------------------------------------- */

typedef struct REAL_FN(region_box) {
    REAL x, y, bin_w, bin_h;
    dense_int across, down; /* samples per bin */
    bool none;              /* means of no samples */
} REAL_FN(region_box);

/* Samples per bin in a dim for a region `size` long. */
SCALAR_FN dense_int REAL_FN(region_samples)(const dense_regions *p, REAL size, dense_int bins) {
    if (p->sampling > 0)
        return p->sampling < DENSE_REGION_SAMPLES ? p->sampling : DENSE_REGION_SAMPLES + 1;
    REAL n = MATH(ceil)(size / (REAL)bins);
    return n >= 1 ? n < (REAL)DENSE_REGION_SAMPLES ? (dense_int)n : DENSE_REGION_SAMPLES : 0;
}

/* False: too many samples. */
SCALAR_FN bool REAL_FN(region_place)(const dense_regions *p, dense_int r,
                                     REAL_FN(region_box) * box) {
    const ELEM *roi = (const ELEM *)p->rois + r * 5;
    REAL scale = (REAL)p->scale, shift = p->aligned ? (REAL)0.5 : 0;
    box->x = LOAD(roi[1]) * scale - shift, box->y = LOAD(roi[2]) * scale - shift;
    REAL w = LOAD(roi[3]) * scale - shift - box->x, h = LOAD(roi[4]) * scale - shift - box->y;
    if (!p->aligned) w = w > 1 ? w : 1, h = h > 1 ? h : 1;
    box->down = REAL_FN(region_samples)(p, h, p->bins[0]),
    box->across = REAL_FN(region_samples)(p, w, p->bins[1]);
    box->bin_h = h / (REAL)p->bins[0], box->bin_w = w / (REAL)p->bins[1];
    /* ps_roi_align divides by the number of samples even where that is 0. */
    box->none = p->map && p->sampling <= 0 &&
                (MATH(ceil)(box->bin_h) == 0 || MATH(ceil)(box->bin_w) == 0);
    dense_int rows = p->bins[0] * p->bins[1] * box->down;
    return rows <= DENSE_REGION_SAMPLES && rows * box->across <= DENSE_REGION_SAMPLES;
}

/* Bilinear interpolation at a place: four elements and weights. Outside by more than one
 * element: nothing. */
typedef struct REAL_FN(region_tap) {
    int at[4];
    REAL weight[4];
} REAL_FN(region_tap);

/* Sample (down, across) of bin (row, col). */
SCALAR_FN REAL_FN(region_tap)
    REAL_FN(region_tap_of)(const dense_regions *p, const REAL_FN(region_box) * box, dense_int row,
                           dense_int col, dense_int down, dense_int across) {
    REAL_FN(region_tap) t = {{0}, {0}};
    dense_int height = p->height, width = p->width;
    REAL y = box->y + (REAL)row * box->bin_h +
             ((REAL)down + (REAL)0.5) * box->bin_h / (REAL)box->down;
    REAL x = box->x + (REAL)col * box->bin_w +
             ((REAL)across + (REAL)0.5) * box->bin_w / (REAL)box->across;
    if (!(y >= -1 && y <= (REAL)height && x >= -1 && x <= (REAL)width)) return t;
    y = y > 0 ? y : 0;
    x = x > 0 ? x : 0;
    dense_int y0 = (dense_int)y, x0 = (dense_int)x, y1 = y0 + 1, x1 = x0 + 1;
    if (y0 >= height - 1) y = (REAL)(y0 = y1 = height - 1);
    if (x0 >= width - 1) x = (REAL)(x0 = x1 = width - 1);
    REAL ly = y - (REAL)y0, lx = x - (REAL)x0, hy = 1 - ly, hx = 1 - lx;
    t.at[0] = (int)(y0 * width + x0), t.at[1] = (int)(y0 * width + x1);
    t.at[2] = (int)(y1 * width + x0), t.at[3] = (int)(y1 * width + x1);
    t.weight[0] = hy * hx, t.weight[1] = hy * lx;
    t.weight[2] = ly * hx, t.weight[3] = ly * lx;
    return t;
}

SCALAR_FN REAL REAL_FN(region_read)(const ELEM *x, const REAL_FN(region_tap) * t) {
    return t->weight[0] * LOAD(x[t->at[0]]) + t->weight[1] * LOAD(x[t->at[1]]) +
           t->weight[2] * LOAD(x[t->at[2]]) + t->weight[3] * LOAD(x[t->at[3]]);
}

/* ---- pooled regions: bins of whole elements -------------------------------------------------- */

/* Element (row, col) of the plane for region r in channel c of roi_pool: the largest of a
 * bin and its place. */
SCALAR_FN void REAL_FN(region_maximum)(const dense_regions *p, dense_int r, dense_int image,
                                       dense_int c, dense_int row, dense_int col) {
    const ELEM *roi = (const ELEM *)p->rois + r * 5,
               *x = (const ELEM *)p->x + (image * p->channels + c) * p->height * p->width;
    const dense_int place[2] = {row, col}, limit[2] = {p->height, p->width};
    dense_int begin[2], end[2], at = -1,
                                to = ((r * p->channels + c) * p->bins[0] + row) * p->bins[1] + col;
    for (int i = 0; i < 2; i++) {
        dense_int first = REAL_FN(region_int)(MATH(round)(LOAD(roi[2 - i]) * (REAL)p->scale));
        dense_int size = REAL_FN(region_int)(MATH(round)(LOAD(roi[4 - i]) * (REAL)p->scale)) -
                         first + 1;
        REAL bin = (REAL)(size > 1 ? size : 1) / (REAL)p->bins[i];
        begin[i] = REAL_FN(region_clip)(
            REAL_FN(region_int)(MATH(floor)((REAL)place[i] * bin)) + first, 0, limit[i]);
        end[i] = REAL_FN(region_clip)(
            REAL_FN(region_int)(MATH(ceil)((REAL)(place[i] + 1) * bin)) + first, 0, limit[i]);
    }
    REAL best = end[0] <= begin[0] || end[1] <= begin[1] ? 0 : (REAL)-0x1.fffffep127;
    for (dense_int k = begin[0]; k < end[0]; k++)
        for (dense_int l = begin[1]; l < end[1]; l++) {
            REAL v = LOAD(x[k * p->width + l]);
            if (v > best) best = v, at = k * p->width + l;
        }
    STORE((ELEM *)p->y + to, best);
    p->map[to] = (int)at;
}

/* The same of ps_roi_pool: the mean of a bin, of the channel that belongs to it. Rounding comes
 * after the start is added, and the last row and column do not count. */
SCALAR_FN void REAL_FN(region_mean)(const dense_regions *p, dense_int r, dense_int image,
                                    dense_int c, dense_int row, dense_int col) {
    dense_int from = (c * p->bins[0] + row) * p->bins[1] + col,
              to = r * p->out_channels * p->bins[0] * p->bins[1] + from;
    const ELEM *roi = (const ELEM *)p->rois + r * 5,
               *x = (const ELEM *)p->x + (image * p->channels + from) * p->height * p->width;
    const dense_int place[2] = {row, col}, limit[2] = {p->height - 1, p->width - 1};
    dense_int begin[2], end[2];
    for (int i = 0; i < 2; i++) {
        dense_int first = REAL_FN(region_int)(MATH(round)(LOAD(roi[2 - i]) * (REAL)p->scale));
        dense_int size = REAL_FN(region_int)(MATH(round)(LOAD(roi[4 - i]) * (REAL)p->scale)) -
                         first;
        REAL bin = (REAL)(size > 1 ? size : 1) / (REAL)p->bins[i];
        begin[i] = REAL_FN(region_clip)(
            REAL_FN(region_int)(MATH(floor)((REAL)place[i] * bin + (REAL)first)), 0, limit[i]);
        end[i] = REAL_FN(region_clip)(
            REAL_FN(region_int)(MATH(ceil)((REAL)(place[i] + 1) * bin + (REAL)first)), 0, limit[i]);
    }
    REAL sum = 0;
    for (dense_int k = begin[0]; k < end[0]; k++)
        for (dense_int l = begin[1]; l < end[1]; l++) sum += LOAD(x[k * p->width + l]);
    bool empty = end[0] <= begin[0] || end[1] <= begin[1];
    STORE((ELEM *)p->y + to, empty ? 0 : sum / (REAL)((end[0] - begin[0]) * (end[1] - begin[1])));
    p->map[to] = (int)from;
}
