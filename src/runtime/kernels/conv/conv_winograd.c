/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_winograd.c - 3x3 convolutions of stride 1 by Winograd's minimal filtering, F(4x4, 3x3) and
 * F(2x2, 3x3); also of volumes, whose slices are transformed separately and added up.
 *
 * Method. A tile of 4 x 4 results is made from 6 x 6 pixels: both are transformed to the
 * values of polynomials at six points in each direction, where convolution is multiplication:
 * 36 multiplications per channel and output instead of 144. A tile of 2 x 2 needs 16 instead
 * of 36, and less than half the weights: better for small images. For each of these products
 * the tiles of a batch are the rows of a matrix product, done by the kernels of conv_rows.c.
 * The points are 0, +-1/sqrt 2, +-sqrt 2 and infinity (A. Lavin, S. Gray: Fast algorithms for
 * convolutional neural networks, 2015, with the points 0, +-1, +-2, which lose three times as
 * much), and 0, +-1 and infinity: against float64 the largest error is four to five times
 * that of a direct sum with tiles of 4 x 4, and the same with tiles of 2 x 2. Weights are
 * transformed in double and rounded once. Since sums combine all pixels of a tile, a pixel
 * that is not finite spoils all its results; this is detected, and the convolution is
 * computed directly. Where a kernel is dilated, the pixels of a tile have the spacing of its
 * taps: each residue of positions has its own tiles. A tile of a volume combines those of all
 * its slices: the transformed pixels of a slice serve every slice of results that reads it.
 *
 *     batches of tiles, shares of panels       (threads share them) whose transformed input stays
 *                                              in the second-level cache, or is larger,
 *                                              where weights cost more than that
 *       some panels of output channels         whose products fit there too
 *
 * With groups, each has its own panels, one group's after the other's:
 * a share is some groups, and transforms only their channels.
 *
 * Tests: tests/unit/test_conv_last.c
 */
#include "runtime/kernels/conv/conv_winograd.h"
#include "base/minmax.h"

#include "cpu/ukernel.h"
#include "cpu/vector.h"
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/engine/slots.h"
#include "runtime/kernels/matmul/gemm_block.h"

#include <math.h>
#include <string.h>

enum { TAPS = 9, DIM_D = 0, DIM_H = 1, DIM_W = 2 };

/* Sides of a tile's results and of its pixels, products; vector instructions of the transforms of a
 * vector, loads and stores counted. */
typedef struct winograd_form {
    int out, in, products, input, output;
} winograd_form;
static const winograd_form winograd_4 = {4, 6, 36, CONV_WINOGRAD_INPUT_4, CONV_WINOGRAD_OUTPUT_4},
                           winograd_2 = {2, 4, 16, CONV_WINOGRAD_INPUT_2, CONV_WINOGRAD_OUTPUT_2};
enum { PRODUCTS_MOST = 36, IN_MOST = 6 };

static const winograd_form *winograd_form_of(conv_form form) {
    return form == CONV_WINOGRAD_4 ? &winograd_4 : form == CONV_WINOGRAD_2 ? &winograd_2 : NULL;
}

int conv_winograd_products(conv_form form) {
    const winograd_form *f = winograd_form_of(form);
    return f ? f->products : 0;
}

/* Tiles along a dim: as many for each residue of places. */
static int64_t winograd_along(const conv_shape *s, const winograd_form *f, int dim) {
    return s->dilation[dim] * conv_parts(conv_parts(s->out[dim], s->dilation[dim]), f->out);
}

static int64_t winograd_tiles(const conv_shape *s, const winograd_form *f) {
    return s->batch * winograd_along(s, f, DIM_H) * winograd_along(s, f, DIM_W);
}

/* ---- when ------------------------------------------------------------------------------------ */

/* Results times taps along a dim; taps that see nothing but padding are left out. */
static double winograd_seen(const conv_shape *s, int dim) {
    int64_t sum = 0, lo, hi;
    for (int64_t tap = 0; tap < s->kernel[dim]; tap++, sum += hi - lo)
        conv_valid_range(s, dim, tap, &lo, &hi);
    return (double)sum;
}

/* In vector instructions, or in bytes of weights that come from memory where these are more
 * (`byte`: instructions in the time of one): with `tiles` tiles, from `in` to `out` channels. */
static double winograd_time(const conv_shape *s, const winograd_form *f, double lanes, double tiles,
                            double in, double out, double byte) {
    double work = tiles *
                  (f->products * in * out * winograd_seen(s, DIM_D) +
                   f->input * in * (double)s->in[DIM_D] + f->output * out * (double)s->out[DIM_D]) /
                  lanes,
           bytes = in * out * f->products * (double)s->kernel[DIM_D] * (double)sizeof(float) * byte;
    return work > bytes ? work : bytes;
}

/* Slices of a volume that are convolved each for itself are images of a batch. */
static conv_shape winograd_images(const conv_shape *s) {
    conv_shape images = *s;
    if (s->kernel[0] > 1 || s->stride[0] > 1 || s->pad[0] || s->in[0] != s->out[0]) return images;
    images.batch *= s->in[0];
    images.in_size /= s->in[0], images.out_size /= s->out[0];
    images.in[0] = images.out[0] = 1;
    return images;
}

/* Groups that share vectors or fill one at most have kernels (groups, taps) at whose rate fewer
 * multiplications do not repay reading four times the weights for each group's few tiles. */
bool conv_winograd_fits(const conv_shape *volume) {
    const conv_shape images = winograd_images(volume), *s = &images;
    bool fits = (s->groups == 1 || !conv_packed_groups(s)) && s->in[DIM_D] <= CONV_WINOGRAD_DEPTH &&
                s->out[DIM_D] <= CONV_WINOGRAD_DEPTH;
    for (int i = DIM_H; i <= DIM_W; i++) fits = fits && s->kernel[i] == 3 && s->stride[i] == 1;
    return fits && ukernel_winograd();
}

/* Results times taps of the direct form, which skips taps that read
 * only padding where taps are far apart, and slices in the padding. */
static double winograd_direct(const conv_shape *s) {
    double seen = (double)s->batch * winograd_seen(s, DIM_D);
    for (int dim = DIM_H; dim <= DIM_W; dim++)
        seen *= s->dilation[dim] > 1 ? winograd_seen(s, dim)
                                     : (double)(s->kernel[dim] * s->out[dim]);
    return seen;
}

/* As for one thread: results are the same with any number of them. */
conv_form conv_winograd_best(const conv_shape *volume) {
    const conv_shape images = winograd_images(volume), *s = &images;
    const winograd_kernels *k = ukernel_winograd();
    if (!conv_winograd_fits(s)) return CONV_FORMS;
    double in = (double)(s->in_channels / s->groups), out = (double)(s->out_channels / s->groups),
           lanes = k->lanes, direct = winograd_direct(s) * in * out / lanes,
           bytes = in * out * (double)s->kernel_size * (double)sizeof(float) * CONV_WINOGRAD_BYTE,
           least = (direct > bytes ? direct : bytes) * CONV_WINOGRAD_GAIN;
    conv_form best = CONV_FORMS;
    for (conv_form form = CONV_WINOGRAD_4; form <= CONV_WINOGRAD_2; form++) {
        const winograd_form *f = winograd_form_of(form);
        double time = winograd_time(s, f, lanes, (double)winograd_tiles(s, f), in, out,
                                    CONV_WINOGRAD_BYTE);
        if (time < least) least = time, best = form;
    }
    return best;
}

/* ---- weights --------------------------------------------------------------------------------- */

enum { LANES_MOST = GEMM_MAX_COLS };
typedef struct winograd_lanes {
    double v[LANES_MOST];
} winograd_lanes;

/* u = G g: [1, p, p^2] over the product of the point's distances to the others, at `in` points; the
 * one at infinity is the last element. In all lanes. */
static inline __attribute__((always_inline)) void winograd_weight_line(const winograd_lanes *g,
                                                                       int in, int step,
                                                                       winograd_lanes *u, int to) {
    const double root = 1.41421356237309504880;
    for (int i = 0; i < LANES_MOST; i++) {
        double g0 = g[0].v[i], g1 = g[step].v[i], g2 = g[2 * step].v[i];
        if (in == 4) {
            u[0].v[i] = g0, u[3 * to].v[i] = g2;
            u[to].v[i] = (g0 + g1 + g2) / 2, u[2 * to].v[i] = (g0 - g1 + g2) / 2;
            continue;
        }
        double even = g0 + g2 * 0.5, odd = g1 * (root / 2);
        u[0].v[i] = g0;
        u[to].v[i] = (even + odd) * (-1 / 1.5), u[2 * to].v[i] = (even - odd) * (-1 / 1.5);
        even = g0 + g2 * 2, odd = g1 * root;
        u[3 * to].v[i] = (even + odd) * (1. / 6), u[4 * to].v[i] = (even - odd) * (1. / 6);
        u[5 * to].v[i] = g2;
    }
}

/* The weights of n outputs for one input channel, at stride
 * `from` per output: to `to`, at stride `apart` per product. */
static inline __attribute__((always_inline)) void winograd_weights(const float *w, int64_t from,
                                                                   int64_t n, int in, float *to,
                                                                   int64_t apart) {
    winograd_lanes g[TAPS] = {0}, t[3 * IN_MOST], u[IN_MOST];
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < TAPS; k++) g[k].v[i] = w[i * from + k];
    for (int x = 0; x < 3; x++) winograd_weight_line(g + x, in, 3, t + x, 3); /* t[y][x] */
    for (int y = 0; y < in; y++) {
        winograd_weight_line(t + 3 * y, in, 1, u, 1);
        for (int x = 0; x < in; x++)
            for (int64_t i = 0; i < n; i++) to[(y * in + x) * apart + i] = (float)u[x].v[i];
    }
}

VECTOR_CLONES static void winograd_weights_4(const float *w, int64_t from, int64_t n, float *to,
                                             int64_t apart) {
    winograd_weights(w, from, n, 6, to, apart);
}

VECTOR_CLONES static void winograd_weights_2(const float *w, int64_t from, int64_t n, float *to,
                                             int64_t apart) {
    winograd_weights(w, from, n, 4, to, apart);
}

void conv_winograd_pack(const conv_packed *p, const float *w) {
    int64_t nr = p->nr, from = p->in * p->taps, slices = p->taps / TAPS;
    for (int64_t panel = 0; panel < p->panels; panel++) {
        int64_t n = int64_min(nr, p->out - panel * nr);
        float *to = p->weights + panel * p->steps * nr;
        for (int64_t c = 0; c < p->in * slices; c++)
            (p->form == CONV_WINOGRAD_4 ? winograd_weights_4 : winograd_weights_2)(
                w + panel * nr * from + c * TAPS, from, n,
                to + (c % slices * p->in + c / slices) * nr, p->in * slices * nr);
    }
}

/* ---- batches --------------------------------------------------------------------------------- */

typedef struct winograd_job {
    const conv_shape *s;
    const conv_packed *w;
    const winograd_form *form;
    winograd_transforms transforms;
    int lanes;
    const float *in, *bias;
    const dense_epilogue *after;
    float *out;
    int64_t pitch;               /* of its pixels */
    int64_t down, across, tiles; /* of an image; of all */
    int64_t batch, batches;      /* tiles of a batch */
    int64_t all, panels;         /* of all sets; whose products are in memory at a time */
    /* panels that one item does, items per batch; channels of its input tiles, rounded up */
    int64_t share, shares, channels;
    slots slots;
    atomic_bool odd; /* some sums are not finite */
} winograd_job;

/* Scratch: products of the input, [products][batch][slices][channels]; those of the output,
 * [products][slices][batch][panels * nr]; zeros for the padding. */
typedef struct winograd_scratch {
    float *input, *output, *zeros;
} winograd_scratch;

static size_t winograd_scratch_size(const winograd_job *j, winograd_scratch *at, float *memory) {
    int64_t input = j->form->products * j->batch * j->s->in[DIM_D] * j->channels,
            output = j->form->products * j->batch * j->s->out[DIM_D] * j->panels * j->w->nr;
    if (at) *at = (winograd_scratch){memory, memory + input, memory + input + output};
    return (size_t)(input + output + j->channels) * sizeof(float);
}

/* Bytes of a tile's transformed input, and of its products with the panels that
 * are done together. */
static int64_t winograd_bytes(const winograd_job *j) {
    return j->form->products * (int64_t)sizeof(float) *
           (j->s->in[DIM_D] * j->channels + j->s->out[DIM_D] * j->panels * j->w->nr);
}

/* All panels in at most this many shares: whole sets, where there are several. */
static void winograd_divide(winograd_job *j, int64_t shares) {
    int64_t together = j->w->sets > 1 ? j->w->panels : 1, lanes = j->lanes,
            parts = conv_parts(j->all, together);
    j->share = conv_parts(parts, shares) * together;
    j->shares = conv_parts(j->all, j->share);
    j->channels = conv_parts(conv_parts(j->share, j->w->panels) * j->w->in, lanes) * lanes;
    /* or all of a tile's rows meet in one place of the first cache */
    if (j->channels * (int64_t)sizeof(float) % 1024 == 0) j->channels += lanes;
}

/* The load of the busiest thread, in vector instructions, where a batch has this many
 * tiles. A share transforms its input and reads its own weights; data beyond the L2 cache
 * is written once and read for each set of panels. Threads share the memory bandwidth. */
static double winograd_work(const winograd_job *j, int64_t batch) {
    int64_t items = conv_parts(j->tiles, batch) * j->shares,
            sets = conv_parts(j->share, j->w->panels),
            bytes = batch * j->form->products * (int64_t)sizeof(float) * j->s->in[DIM_D] *
                    j->channels * (1 + conv_parts(j->share, j->panels));
    double crowd = pool_threads() * CONV_WINOGRAD_CROWD,
           out = (double)int64_min(j->share * j->w->nr, j->w->out),
           byte = CONV_WINOGRAD_BYTE * (crowd > 1 ? crowd : 1),
           time = (double)sets * winograd_time(j->s, j->form, j->lanes, (double)batch,
                                               (double)j->w->in, out, byte);
    if (batch * winograd_bytes(j) > CONV_WINOGRAD_SCRATCH)
        time += (double)bytes * byte * CONV_WINOGRAD_SPILL;
    return (double)conv_parts(items, pool_threads()) * time;
}

/* Of at most this many tiles: all batches of about the same size,
 * in whole tiles of the micro-kernel if there are enough. */
static int64_t winograd_batch(const winograd_job *j, int64_t most) {
    int64_t mr = j->w->mr, batch = conv_parts(j->tiles, conv_parts(j->tiles, most)),
            whole = conv_parts(batch, mr) * mr;
    return batch > mr && whole <= most ? whole : batch;
}

/* The best batches for the shares that there are: such as fit in the second cache, or
 * larger ones, for which weights come from memory less often; these or smaller ones, as
 * they suit the threads. */
static double winograd_batches(winograd_job *j) {
    int64_t threads = pool_threads(), fit = CONV_WINOGRAD_SCRATCH / winograd_bytes(j),
            most = CONV_WINOGRAD_MOST / winograd_bytes(j);
    double least = INFINITY;
    if (fit < j->w->mr) fit = j->w->mr;
    for (bool more = true; more; fit = int64_min(2 * fit, most)) {
        int64_t whole = winograd_batch(j, fit), batches = conv_parts(j->tiles, whole);
        for (int64_t i = 0; i < (threads > 1 ? 2 : 1); i++) {
            int64_t n = i ? conv_parts(batches, threads) * threads : batches,
                    batch = i ? conv_parts(j->tiles, n) : whole;
            double work = winograd_work(j, batch);
            if (work < least) least = work, j->batch = batch;
        }
        more = batches > 1 && fit < most;
    }
    j->batches = conv_parts(j->tiles, j->batch);
    return least;
}

static void winograd_cut(winograd_job *j) {
    const conv_shape *s = j->s;
    const conv_packed *w = j->w;
    int64_t threads = pool_threads(), best = 1;
    double least = INFINITY;
    j->down = winograd_along(s, j->form, DIM_H), j->across = winograd_along(s, j->form, DIM_W);
    j->tiles = winograd_tiles(s, j->form);
    j->all = w->sets * w->panels;
    j->panels = int64_min(conv_parts(CONV_WINOGRAD_CHANNELS, int64_min(w->nr, w->out)), j->all);
    int64_t most = threads > 1 ? int64_min(j->all, 2 * threads) : 1;
    for (int64_t k = 1; k <= most; k++) {
        winograd_divide(j, k);
        double work = winograd_batches(j);
        if (work < least) least = work, best = k;
    }
    winograd_divide(j, best);
    winograd_batches(j);
}

/* Where the first result of a tile is, and how many of its rows and columns exist: none, where a
 * residue of places has fewer tiles than others. */
typedef struct winograd_place {
    int64_t image, y, x, rows, columns;
} winograd_place;

static int64_t winograd_first(const winograd_job *j, int64_t tile, int dim) {
    int64_t apart = j->s->dilation[dim];
    return tile / apart * j->form->out * apart + tile % apart;
}

static winograd_place winograd_place_of(const winograd_job *j, int64_t tile) {
    const conv_shape *s = j->s;
    int64_t y = winograd_first(j, tile / j->across % j->down, DIM_H),
            x = winograd_first(j, tile % j->across, DIM_W), out = j->form->out;
    return (winograd_place){tile / j->across / j->down, y, x,
                            int64_min(out, conv_parts(s->out[DIM_H] - y, s->dilation[DIM_H])),
                            int64_min(out, conv_parts(s->out[DIM_W] - x, s->dilation[DIM_W]))};
}

/* n-th of a batch's tiles, one slice: `channels` of them from `channel` on. */
static void winograd_input(const winograd_job *j, int64_t tile, int64_t slice, int64_t channel,
                           int64_t channels, const winograd_scratch *at, int64_t n) {
    const conv_shape *s = j->s;
    winograd_place p = winograd_place_of(j, tile + n);
    int64_t slices = s->in[DIM_D], size = s->in_size / slices;
    const float *image = j->in + (p.image * slices + slice) * size * s->in_channels + channel,
                *pixel[PRODUCTS_MOST];
    for (int i = 0; i < j->form->products; i++) {
        int64_t y = p.y - s->pad[DIM_H] + i / j->form->in * s->dilation[DIM_H],
                x = p.x - s->pad[DIM_W] + i % j->form->in * s->dilation[DIM_W];
        bool inside = y >= 0 && y < s->in[DIM_H] && x >= 0 && x < s->in[DIM_W];
        pixel[i] = inside ? image + (y * s->in[DIM_W] + x) * s->in_channels : at->zeros;
    }
    j->transforms.input(pixel, channels, at->input + (n * slices + slice) * j->channels,
                        j->batch * slices * j->channels);
}

static void winograd_output(winograd_job *j, int64_t tile, int64_t slice, int64_t channel,
                            int64_t channels, const winograd_scratch *at, int64_t n, int64_t ld) {
    const conv_shape *s = j->s;
    winograd_place p = winograd_place_of(j, tile + n);
    if (p.rows <= 0 || p.columns <= 0) return;
    int64_t slices = s->out[DIM_D],
            first = (((p.image * slices + slice) * s->out[DIM_H] + p.y) * s->out[DIM_W] + p.x) *
                        j->pitch +
                    channel;
    winograd_result r = {.out = j->out + first,
                         .row = s->dilation[DIM_H] * s->out[DIM_W] * j->pitch,
                         .column = s->dilation[DIM_W] * j->pitch,
                         .rows = (int)p.rows,
                         .columns = (int)p.columns,
                         .bias = j->bias ? j->bias + channel : NULL,
                         .other = epilogue_other(j->after, first)};
    r.clamp = activation_bounds(j->after->activation, &r.low, &r.high);
    if (!j->transforms.output(at->output + (slice * j->batch + n) * ld, slices * j->batch * ld,
                              channels, &r))
        atomic_store_explicit(&j->odd, true, memory_order_relaxed);
    if (r.clamp || j->after->activation == DENSE_PLAIN) return;
    for (int y = 0; y < r.rows; y++)
        for (int x = 0; x < r.columns; x++)
            activation_apply(j->after->activation, r.out + y * r.row + x * r.column, channels);
}

/* All tiles of a batch times one product's part of a panel, for one slice of results: those slices
 * of the input that it sees with their taps. a, c, r->b and the weights that come next (NULL: none)
 * begin at the first slice and tap. Sums of many channels are added up, not carried on: their
 * errors would grow. */
static void winograd_product(const winograd_job *j, int64_t tiles, int64_t slice, gemm_rows *r,
                             const float *a, float *c, const float *next) {
    const conv_shape *s = j->s;
    const conv_packed *w = j->w;
    int64_t in = w->in, sums = conv_parts(in, CONV_WINOGRAD_SUM), parts = conv_parts(tiles, w->mr),
            rows = tiles / parts, longer = tiles % parts, first = parts - longer;
    gemm_segment some;
    r->segment = &some, r->segments = 1, r->ends = 0;
    for (int64_t tap = 0; tap < s->kernel[DIM_D]; tap++) {
        int64_t from = slice * s->stride[DIM_D] - s->pad[DIM_D] + tap * s->dilation[DIM_D];
        if (from < 0 || from >= s->in[DIM_D]) continue;
        for (int64_t i = 0, done = 0; i < sums; i++, done += some.k, r->ends = GEMM_ADD_C) {
            int64_t step = (tap * in + done) * w->nr;
            some = (gemm_segment){from * j->channels + done, step, (in - done) / (sums - i)};
            const char *prefetch = (const char *)(next ? next + step : r->b);
            if (next) gemm_rows_prefetch(r, some.k, w->nr, parts);
            w->tiles[rows](r, first, a, c, NULL, prefetch);
            if (longer)
                w->tiles[rows + 1](r, longer, a + first * rows * r->lda, c + first * rows * r->ldc,
                                   NULL, prefetch + first * r->share);
        }
    }
    for (int64_t i = 0; !r->ends && i < tiles; i++)
        memset(c + i * r->ldc, 0, (size_t)r->cols * sizeof *c); /* sees no slice */
}

static const float *winograd_weights_of(const winograd_job *j, int64_t panel, int64_t product) {
    return j->w->weights + panel * j->w->steps * j->w->nr +
           product * (j->w->steps / j->form->products) * j->w->nr;
}

/* The first output channel of a panel, of all sets' panels. */
static int64_t winograd_channel(const winograd_job *j, int64_t panel) {
    return panel / j->w->panels * j->w->out + panel % j->w->panels * j->w->nr;
}

/* Columns that a panel writes: whole vectors, the last of which may reach into the next panel. */
static int64_t winograd_columns(const winograd_job *j, int64_t panel) {
    int64_t left = j->w->out - panel % j->w->panels * j->w->nr;
    return int64_min(conv_parts(left, j->lanes) * j->lanes, j->w->nr);
}

/* Panels [panel, last), whose products are in memory at a time; item: its first panel. */
typedef struct winograd_block {
    int64_t item, panel, last;
    bool more;  /* the following ones are next */
    int64_t ld; /* from one tile's products to the next */
} winograd_block;

/* All products of `tiles` tiles with panels [panel, last), all of one set. */
static void winograd_products(const winograd_job *j, int64_t tiles, const winograd_block *b,
                              int64_t panel, int64_t last, const winograd_scratch *at) {
    int64_t n = last - panel, products = j->form->products, slices = j->s->out[DIM_D],
            set = panel / j->w->panels, first = b->item / j->w->panels;
    const float *in = at->input + (set - first) * j->w->in;
    for (int64_t p = 0; p < products; p++)
        for (int64_t i = 0; i < n; i++) {
            const float *next = i + 1 < n          ? winograd_weights_of(j, panel + i + 1, p)
                                : p + 1 < products ? winograd_weights_of(j, panel, p + 1)
                                : last < b->last || b->more ? winograd_weights_of(j, last, 0)
                                                            : NULL;
            gemm_rows r = {.lda = j->s->in[DIM_D] * j->channels,
                           .b = winograd_weights_of(j, panel + i, p),
                           .nr = j->w->nr,
                           .ldc = b->ld,
                           .cols = (int)winograd_columns(j, panel + i)};
            int64_t to = winograd_channel(j, panel + i) - winograd_channel(j, b->panel);
            for (int64_t z = 0; z < slices; z++)
                winograd_product(j, tiles, z, &r, in + p * j->batch * r.lda,
                                 at->output + (p * slices + z) * j->batch * b->ld + to,
                                 z + 1 < slices ? NULL : next);
        }
}

static void winograd_item(winograd_job *j, int64_t item, float *memory) {
    const conv_packed *w = j->w;
    int64_t tile = item / j->shares * j->batch, first = item % j->shares * j->share;
    int64_t tiles = int64_min(j->batch, j->tiles - tile), end = int64_min(first + j->share, j->all);
    int64_t set = first / w->panels, sets = conv_parts(end, w->panels) - set;
    winograd_scratch at;
    winograd_scratch_size(j, &at, memory);
    memset(at.zeros, 0, (size_t)j->channels * sizeof(float));
    for (int64_t n = 0; n < tiles; n++)
        for (int64_t z = 0; z < j->s->in[DIM_D]; z++)
            winograd_input(j, tile, z, set * w->in, sets * w->in, &at, n);
    for (int64_t panel = first; panel < end; panel += j->panels) {
        winograd_block b = {
            .item = first, .panel = panel, .last = int64_min(panel + j->panels, end)};
        int64_t channel = winograd_channel(j, panel);
        b.more = b.last < end;
        b.ld = winograd_channel(j, b.last - 1) - channel + winograd_columns(j, b.last - 1);
        for (int64_t p = panel, last; p < b.last; p = last) {
            last = int64_min((p / w->panels + 1) * w->panels, b.last);
            winograd_products(j, tiles, &b, p, last, &at);
        }
        for (int64_t i = 0; i < tiles * j->s->out[DIM_D]; i++)
            winograd_output(j, tile, i % j->s->out[DIM_D], channel,
                            winograd_channel(j, b.last) - channel, &at, i / j->s->out[DIM_D], b.ld);
    }
}

static void winograd_items(void *ctx, int64_t begin, int64_t end) {
    winograd_job *j = ctx;
    slot taken = slots_take(&j->slots);
    float *memory = taken.memory;
    for (int64_t i = begin; i < end && !atomic_load_explicit(&j->odd, memory_order_relaxed); i++)
        winograd_item(j, i, memory);
    slots_give(&j->slots, taken);
}

ctsc_status conv_winograd(diag *d, const conv_shape *s, const conv_packed *w, const float *in,
                          const dense_epilogue *after, float *out, bool *finite) {
    const winograd_kernels *kernels = ukernel_winograd();
    const conv_shape images = winograd_images(s);
    winograd_job j = {.s = &images,
                      .w = w,
                      .form = winograd_form_of(w->form),
                      .transforms = w->form == CONV_WINOGRAD_4 ? kernels->of_4 : kernels->of_2,
                      .lanes = kernels->lanes,
                      .in = in,
                      .bias = after->bias,
                      .after = after,
                      .out = out,
                      .pitch = after->pitch ? after->pitch : s->out_channels};
    winograd_cut(&j);
    int64_t items = j.batches * j.shares;
    if (!slots_begin(&j.slots, winograd_scratch_size(&j, NULL, NULL), items))
        return diag_no_memory(d);
    bool whole = pool_for_limited(items, 1, winograd_items, &j);
    slots_end(&j.slots);
    *finite = !j.odd;
    return whole ? CTSC_OK : limits_fail(d);
}
