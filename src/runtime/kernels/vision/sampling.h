/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling.h - pictures read between their elements: what one output position of grid_sampler,
 * affine_grid_generator and deform_conv2d is.
 *
 * The single definition, read as each_real.h says by grid.c, deform_conv.c and
 * runtime/cuda/kernels/sampling.cu. Parameters are structs of dense_params.h.
 * Tests: tests/unit/test_resample.c, test_vision.c, test_cuda_dense.c
 */
/* ---- grids: coordinates ---------------------------------------------------------------------- */

/* From [-1, 1] to elements of a dim. */
SCALAR_FN REAL REAL_FN(grid_source)(REAL v, dense_int size, int align) {
    return align ? (v + 1) / 2 * (REAL)(size - 1) : ((v + 1) * (REAL)size - 1) / 2;
}

/* Mirrors v at low / 2 and high / 2 until it is between them. */
SCALAR_FN REAL REAL_FN(grid_reflect)(REAL v, dense_int low, dense_int high) {
    if (low == high) return 0;
    REAL min = (REAL)low / 2, span = (REAL)(high - low) / 2;
    v = MATH(fabs)(v - min);
    REAL extra = MATH(fmod)(v, span), flips = MATH(floor)(v / span);
    return MATH(fmod)(flips, (REAL)2) == 0 ? extra + min : span - extra + min;
}

SCALAR_FN REAL REAL_FN(grid_pad)(REAL v, dense_int size, int padding, int align) {
    if (padding == DENSE_REFLECTION)
        v = align ? REAL_FN(grid_reflect)(v, 0, 2 * (size - 1))
                  : REAL_FN(grid_reflect)(v, -1, 2 * size - 1);
    if (padding != DENSE_ZEROS) {
        v = v > 0 ? v : 0; /* NaN too */
        v = v < (REAL)(size - 1) ? v : (REAL)(size - 1);
    }
    /* A value that no index can hold is outside in any case. */
    return v > -(REAL)2147483648 && v < (REAL)2147483647 ? v : -100;
}

/* ---- grids: what one output position reads --------------------------------------------------- */

typedef struct REAL_FN(grid_taps) {
    int n;
    dense_int at[64]; /* elements of the channel */
    REAL weight[64];
} REAL_FN(grid_taps);

/* Adds the position (D, H, W) if it is inside. */
SCALAR_FN void REAL_FN(grid_add_tap)(const dense_grid *p, REAL_FN(grid_taps) * t,
                                     const dense_int at[3], REAL weight) {
    for (int i = 0; i < 3; i++)
        if (at[i] < 0 || at[i] >= p->in[i]) return;
    t->at[t->n] = (at[0] * p->in[1] + at[1]) * p->in[2] + at[2];
    t->weight[t->n++] = weight;
}

SCALAR_FN void REAL_FN(grid_linear_taps)(const dense_grid *p, const REAL c[3],
                                         REAL_FN(grid_taps) * t) {
    int first = 3 - p->dims;
    dense_int low[3] = {0}, at[3] = {0};
    REAL part[3] = {0};
    for (int i = first; i < 3; i++) {
        REAL v = REAL_FN(grid_pad)(c[i], p->in[i], p->padding, p->align);
        low[i] = (dense_int)MATH(floor)(v);
        part[i] = v - (REAL)low[i];
    }
    for (int corner = 0; corner < 1 << p->dims; corner++) {
        REAL weight = 1;
        for (int i = first; i < 3; i++) {
            int high = corner >> (2 - i) & 1;
            at[i] = low[i] + high;
            weight *= high ? part[i] : 1 - part[i];
        }
        REAL_FN(grid_add_tap)(p, t, at, weight);
    }
}

SCALAR_FN void REAL_FN(grid_nearest_taps)(const dense_grid *p, const REAL c[3],
                                          REAL_FN(grid_taps) * t) {
    dense_int at[3] = {0};
    for (int i = 3 - p->dims; i < 3; i++)
        at[i] = (dense_int)MATH(nearbyint)(REAL_FN(grid_pad)(c[i], p->in[i], p->padding, p->align));
    REAL_FN(grid_add_tap)(p, t, at, 1);
}

SCALAR_FN void REAL_FN(grid_cubic_weights)(REAL t, REAL w[4]) {
    const REAL a = (REAL)-0.75;
    const REAL x[4] = {t + 1, t, 1 - t, 2 - t};
    for (int i = 0; i < 4; i++)
        w[i] = i == 1 || i == 2 ? ((a + 2) * x[i] - (a + 3)) * x[i] * x[i] + 1
                                : ((a * x[i] - 5 * a) * x[i] + 8 * a) * x[i] - 4 * a;
}

/* Padding applies to each of the 16 neighbours, of volumes 64, by itself. */
SCALAR_FN void REAL_FN(grid_cubic_taps)(const dense_grid *p, const REAL c[3],
                                        REAL_FN(grid_taps) * t) {
    REAL weight[3][4] = {{1}}, low[3] = {0};
    dense_int at[3] = {0};
    for (int i = 3 - p->dims; i < 3; i++) {
        low[i] = MATH(floor)(c[i]);
        REAL_FN(grid_cubic_weights)(c[i] - low[i], weight[i]);
    }
    for (int tap = 0; tap < 1 << (2 * p->dims); tap++) {
        REAL w = 1;
        for (int i = 3 - p->dims; i < 3; i++) {
            int k = tap >> (2 * (2 - i)) & 3;
            at[i] = (dense_int)REAL_FN(grid_pad)(low[i] - 1 + (REAL)k, p->in[i], p->padding,
                                                 p->align);
            w *= weight[i][k];
        }
        REAL_FN(grid_add_tap)(p, t, at, w);
    }
}

/* Position number `at` of batch item `item`, in all channels. */
SCALAR_FN void REAL_FN(grid_point)(const dense_grid *p, dense_int item, dense_int at) {
    dense_int plane = p->in[0] * p->in[1] * p->in[2], out_plane = p->out[0] * p->out[1] * p->out[2];
    const ELEM *position = (const ELEM *)p->grid + (item * out_plane + at) * p->dims;
    const ELEM *x = (const ELEM *)p->x + item * p->channels * plane;
    ELEM *y = (ELEM *)p->y + item * p->channels * out_plane + at;
    REAL c[3] = {0};
    REAL_FN(grid_taps) t;
    t.n = 0;
    for (int i = 0; i < p->dims; i++)
        c[2 - i] = REAL_FN(grid_source)(LOAD(position[i]), p->in[2 - i], p->align);
    if (p->mode == DENSE_BILINEAR) REAL_FN(grid_linear_taps)(p, c, &t);
    else if (p->mode == DENSE_NEAREST) REAL_FN(grid_nearest_taps)(p, c, &t);
    else REAL_FN(grid_cubic_taps)(p, c, &t);
    for (dense_int k = 0; k < p->channels; k++) {
        REAL sum = 0;
        for (int i = 0; i < t.n; i++) sum += LOAD(x[k * plane + t.at[i]]) * t.weight[i];
        STORE(y + k * out_plane, sum);
    }
}

/* ---- affine grids ---------------------------------------------------------------------------- */

/* The i-th of n positions from -1 to 1, as linspace computes them; without aligned corners they are
 * the centres of n cells. */
SCALAR_FN REAL REAL_FN(affine_position)(dense_int i, dense_int n, int align) {
    if (n <= 1) return 0;
    REAL step = (REAL)2 / (REAL)(n - 1);
    REAL v = i < n / 2 ? -1 + step * (REAL)i : 1 - step * (REAL)(n - i - 1);
    return align ? v : v * (REAL)(n - 1) / (REAL)n;
}

/* Coordinate `row` of output position (d, h, w) of batch item `item`. */
SCALAR_FN REAL REAL_FN(affine_point)(const dense_affine *p, dense_int item, const dense_int at[3],
                                     int row) {
    const ELEM *m = (const ELEM *)p->theta + (item * p->dims + row) * (p->dims + 1);
    REAL sum = 0;
    for (int i = 0; i < p->dims; i++)
        sum += REAL_FN(affine_position)(at[2 - i], p->size[2 - i], p->align) * LOAD(m[i]);
    return sum + LOAD(m[p->dims]);
}

/* ---- deformable convolutions ----------------------------------------------------------------- */

/* Bilinear interpolation at (h, w); values outside are 0. */
SCALAR_FN REAL REAL_FN(deform_sample)(const ELEM *x, dense_int height, dense_int width, REAL h,
                                      REAL w) {
    if (!(h > -1 && w > -1 && h < (REAL)height && w < (REAL)width)) return 0;
    dense_int h0 = (dense_int)MATH(floor)(h), w0 = (dense_int)MATH(floor)(w), h1 = h0 + 1,
              w1 = w0 + 1;
    REAL lh = h - (REAL)h0, lw = w - (REAL)w0, hh = 1 - lh, hw = 1 - lw;
    REAL a = h0 >= 0 && w0 >= 0 ? LOAD(x[h0 * width + w0]) : 0;
    REAL b = h0 >= 0 && w1 < width ? LOAD(x[h0 * width + w1]) : 0;
    REAL c = h1 < height && w0 >= 0 ? LOAD(x[h1 * width + w0]) : 0;
    REAL d = h1 < height && w1 < width ? LOAD(x[h1 * width + w1]) : 0;
    return hh * hw * a + hh * lw * b + lh * hw * c + lh * lw * d;
}

/* The column of one tap of one channel at output position (row, col). */
SCALAR_FN void REAL_FN(deform_tap)(const dense_deform *p, dense_int channel, dense_int tap,
                                   dense_int row, dense_int col) {
    dense_int taps = p->kernel[0] * p->kernel[1], positions = p->out[0] * p->out[1],
              at = row * p->out[1] + col;
    dense_int moved = channel / (p->channels / p->offset_groups) * taps + tap;
    const ELEM *offset = (const ELEM *)p->offset + moved * 2 * positions + at;
    REAL h = (REAL)(row * p->stride[0] - p->pad[0] + tap / p->kernel[1] * p->dilation[0]) +
             LOAD(offset[0]);
    REAL w = (REAL)(col * p->stride[1] - p->pad[1] + tap % p->kernel[1] * p->dilation[1]) +
             LOAD(offset[positions]);
    REAL v = REAL_FN(deform_sample)((const ELEM *)p->x + channel * p->size[0] * p->size[1],
                                    p->size[0], p->size[1], h, w);
    STORE((ELEM *)p->columns + (channel * taps + tap) * positions + at,
          p->mask ? LOAD(((const ELEM *)p->mask)[moved * positions + at]) * v : v);
}
