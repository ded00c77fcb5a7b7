/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_rows.c - channels-last convolution as implicit GEMM.
 *
 * Method. Implicit GEMM, without im2col: a tile of results is some neighbouring positions
 * of an output row times a panel of output channels. For each tap the tile's input pixels
 * are at a fixed stride, with contiguous channels: segments of unpacked rows that a
 * micro-kernel multiplies by packed weights (gemm_rows). Taps that are neighbours in a
 * row of pixels are one segment. Taps that read only padding for a tile are skipped.
 * Nothing is unfolded. Where there is padding, the rows of pixels that a strip of output
 * rows needs are first copied with zeros around them, once for all taps and outputs.
 * Where taps are far apart, nothing is copied: rows of results are split at the positions
 * where a tap enters or leaves the image, so that a tile sees all of a tap or nothing.
 *
 *     strips of the output (threads share them)        whose input stays in a core's second-level cache
 *       blocks of segments                            as many weights of a panel as fit there too
 *         panels of output channels
 *           tiles
 *
 * Groups of few channels share vectors of results (gemm_micro.h, "groups kernel"): the pixels of a
 * set of groups are copied, so that each is a vector, or as many vectors as a group has channels.
 * Rows of three taps, over pixels that fill a vector, have three-tap kernels that load a pixel
 * once for all of its taps ("taps kernel"): those pixels are copied at a stride of one vector.
 *
 * Sums over more than one block accumulate in the result.
 * Kernels of size 1 treat all images as one long row.
 * Tests: tests/unit/test_conv_last.c
 */
#include "runtime/kernels/conv/conv_rows.h"
#include "base/minmax.h"

#include "cpu/vector.h"
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/engine/slots.h"

#include <string.h>

enum { ROWS_D, ROWS_H, ROWS_W };
enum { CONV_ROWS_MAX = 1 << 24, CONV_ROWS_MAX_TAPS = 1 << 12 }; /* elements of a strip's input */
enum { ROWS_HOMES = 8 }; /* threads whose work is looked at: others have as much */

/* Which tap a segment is of; x is -1 if it is all of a row of them. */
typedef struct rows_tap { int64_t z, y, x; } rows_tap;

typedef struct rows_job {
    conv_shape s; /* simplified: see rows_simplify */
    const conv_packed *w;
    const dense_epilogue *after;
    const float *in, *scale, *bias; /* scale: of each image's channels, or NULL */
    float *out;
    int64_t pitch; /* of its pixels */
    /* of the kernel: the first tap that s.kernel has of it, and its size */
    int64_t first[CONV_DIMS], whole[CONV_DIMS];
    bool copied; /* the pixels of a strip are copied, */
    bool apart;  /* only those rows that its one row of results needs, */
    bool spread; /* a vector for each step of a groups kernel */
    bool joined; /* taps that are neighbours in a row are one segment, */
    bool taps;   /* as taps kernels read them, pixels at a stride of one vector */
    bool pieces; /* rows of results are cut where taps begin or cease to see the image */
    gemm_rows_fn *const *tiles;
    /* of the input that a strip needs; columns of all its rows */
    int64_t span[CONV_DIMS];
    int64_t pixel, row, plane; /* distances in what the segments read */
    int64_t rows, columns;     /* of the output in a strip */
    int64_t mr, block;         /* rows of a tile at most, steps of a sum */
    int64_t strips, chunks;    /* of an image: down, across */
    int64_t step;              /* columns of chunks are multiples, but the last one's */
    int64_t shares;            /* of the panels: those of one are done together */
    int64_t units;             /* strips in all */
    gemm_segment *segment;
    rows_tap *tap; /* of each segment */
    int64_t segments;
    slots slots; /* a strip's pixels, followed by the segments of a tile */
} rows_job;

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Dimensions that do nothing go to the front; where each result is that of one pixel there is one
 * row of all of them. */
static void rows_simplify(conv_shape *s, bool scaled) {
    bool pixels = !scaled || s->batch == 1;
    for (int i = 0; i < CONV_DIMS; i++)
        pixels = pixels && s->kernel[i] == 1 && s->stride[i] == 1 && s->pad[i] == 0 &&
                 s->in[i] == s->out[i];
    if (pixels) {
        s->in[ROWS_W] = s->out[ROWS_W] = s->batch * s->out_size;
        s->batch = s->in[ROWS_D] = s->in[ROWS_H] = s->out[ROWS_D] = s->out[ROWS_H] = 1;
        return;
    }
    for (int i = ROWS_W; i > ROWS_D && s->in[ROWS_W] == 1 && s->kernel[ROWS_W] == 1 &&
                         s->out[ROWS_W] == 1 && s->pad[ROWS_W] == 0;
         i--) {
        for (int to = ROWS_W; to > ROWS_D; to--) {
            s->in[to] = s->in[to - 1], s->out[to] = s->out[to - 1],
            s->kernel[to] = s->kernel[to - 1];
            s->stride[to] = s->stride[to - 1], s->pad[to] = s->pad[to - 1],
            s->dilation[to] = s->dilation[to - 1];
        }
        s->in[ROWS_D] = s->out[ROWS_D] = s->kernel[ROWS_D] = s->stride[ROWS_D] =
            s->dilation[ROWS_D] = 1;
        s->pad[ROWS_D] = 0;
    }
}

/* Taps that see nothing but padding, wherever they are, are not part of the kernel. */

static void rows_trim(rows_job *j) {
    conv_shape *s = &j->s;
    for (int i = 0; i < CONV_DIMS; i++) {
        int64_t n = j->whole[i] = s->kernel[i], lo, hi, first = 0;
        for (conv_valid_range(s, i, 0, &lo, &hi); lo == hi && first < n - 1;
             conv_valid_range(s, i, first, &lo, &hi))
            first++;
        for (conv_valid_range(s, i, n - 1, &lo, &hi); lo == hi && n > first + 1;
             conv_valid_range(s, i, n - 1, &lo, &hi))
            n--;
        j->first[i] = first;
        s->kernel[i] = n - first;
        s->pad[i] -= first * s->dilation[i];
    }
}

/* Of the input, for n neighbouring results along a dim. */
static int64_t rows_span(const conv_shape *s, int dim, int64_t n) {
    return (n - 1) * s->stride[dim] + (s->kernel[dim] - 1) * s->dilation[dim] + 1;
}

/* Elements of a pixel that is copied. */
static int64_t rows_elements(const rows_job *j) {
    if (j->taps) return j->w->nr;
    return j->w->form != CONV_GROUPS ? j->w->in : j->spread ? j->w->depth * j->w->nr : j->w->nr;
}

/* A strip is some output rows of one plane, or a part of one. */
static void rows_strips(rows_job *j) {
    const conv_shape *s = &j->s;
    int64_t mr = j->mr, elements = rows_elements(j),
            most = CONV_ROWS_PIXELS /
                   (s->kernel[ROWS_D] * s->kernel[ROWS_H] * s->stride[ROWS_W] * elements),
            enough = j->w->sets > 1 ? CONV_ROWS_POSITIONS * CONV_ROWS_SETS : CONV_ROWS_POSITIONS;
    if (j->pieces) {
        j->columns = int64_min(enough, s->out[ROWS_W]);
        j->rows = int64_min(conv_parts(enough, j->columns), s->out[ROWS_H]);
        return;
    }
    most = most < CONV_ROWS_TILES * mr ? CONV_ROWS_TILES * mr : int64_min(most, enough);
    int64_t chunks = conv_parts(s->out[ROWS_W], most);
    j->columns = conv_parts(conv_parts(s->out[ROWS_W], chunks), mr) * mr;
    if (chunks == 1) j->columns = s->out[ROWS_W];
    int64_t rows = enough / j->columns;
    while (rows > 1 && s->kernel[ROWS_D] * rows_span(s, ROWS_H, rows) *
                               rows_span(s, ROWS_W, j->columns) * elements >
                           CONV_ROWS_PIXELS)
        rows--;
    if (rows < 1 || s->dilation[ROWS_H] > CONV_ROWS_DILATION) rows = 1;
    int64_t strips = conv_parts(s->out[ROWS_H], rows);
    j->rows = conv_parts(s->out[ROWS_H], strips);
}

static int64_t rows_units(const rows_job *j, int64_t rows, int64_t columns) {
    const conv_shape *s = &j->s;
    return s->batch * j->w->sets * s->out[ROWS_D] * conv_parts(s->out[ROWS_H], rows) *
           conv_parts(s->out[ROWS_W], columns);
}

/* In all strips. */
static double rows_tiles_of(const rows_job *j) {
    const conv_shape *s = &j->s;
    return (double)(s->batch * j->w->sets * s->out[ROWS_D] * s->out[ROWS_H]) *
           (double)conv_parts(s->out[ROWS_W], j->mr);
}

/* The start of part i when n is split into `parts`: sizes differ by at most one. */
static int64_t rows_part(int64_t n, int64_t i, int64_t parts) {
    return n / parts * i + n % parts * i / parts;
}

/* Panels of the thread with most of them: of `units` strips times
 * `shares` shares the threads get equal numbers, in consecutive order. */
static int64_t rows_panels(const rows_job *j, int64_t units, int64_t shares) {
    int64_t threads = pool_threads(), items = units * shares, most = 0, before = 0;
    int64_t homes = threads < ROWS_HOMES ? threads : ROWS_HOMES;
    for (int64_t i = 1; i <= homes; i++) {
        int64_t end = rows_part(items, i, threads), share = end / units,
                first = rows_part(j->w->panels, share, shares),
                panels = units * first +
                         end % units * (rows_part(j->w->panels, share + 1, shares) - first);
        if (panels - before > most) most = panels - before;
        before = panels;
    }
    return most;
}

/* The load of the busiest thread, in tiles, where strips have at most this size and the panels
 * are divided into this many shares. A strip that is copied is copied for each share. */
static double rows_work(const rows_job *j, int64_t rows, int64_t columns, int64_t shares) {
    int64_t units = rows_units(j, rows, columns);
    double tiles = rows_tiles_of(j) / (double)units,
           items = (double)conv_parts(units * shares, pool_threads()),
           extra = j->copied ? CONV_ROWS_COPY / (double)j->s.kernel_size : 0;
    return tiles * ((double)rows_panels(j, units, shares) + items * extra) + items * CONV_ROWS_ITEM;
}

/* Strips of this size or smaller, and up to this many shares, until the
 * threads have `enough` to do. *least: the load of the busiest one. */
static void rows_spread(rows_job *j, int64_t rows, int64_t columns, int64_t most, double enough,
                        double *least) {
    for (int64_t part = 1; part <= pool_threads() && *least > enough; part++) {
        int64_t r = rows > 1 ? conv_parts(rows, part) : 1,
                c = rows > 1 ? columns : conv_parts(conv_parts(columns, part), j->mr) * j->mr;
        if (part > 1 && r * c < CONV_ROWS_FEWEST) break;
        c = int64_min(c, columns);
        for (int64_t shares = 1; shares <= most && *least > enough; shares++) {
            double work = rows_work(j, r, c, shares);
            if (work >= *least) continue;
            *least = work;
            j->rows = r, j->columns = c, j->shares = shares;
        }
    }
}

/* Strips as they suit the caches, and smaller ones as they suit the threads. Where the weights stay
 * in a core's second cache, rather parts of the image than shares of the panels: a thread has those
 * pixels there that it has made. */
static void rows_cut(rows_job *j) {
    const conv_shape *s = &j->s;
    rows_strips(j);
    int64_t rows = j->rows, columns = j->columns, panels = j->w->panels;
    double least = rows_work(j, rows, columns, j->shares = 1),
           enough = CONV_ROWS_EVEN * rows_tiles_of(j) * (double)panels / (double)pool_threads();
    if (j->w->sets * panels * j->w->steps * j->w->nr <= CONV_ROWS_WEIGHTS)
        rows_spread(j, rows, columns, 1, enough, &least);
    rows_spread(j, rows, columns, int64_min(panels, CONV_ROWS_SHARES), enough, &least);
    j->strips = conv_parts(s->out[ROWS_H], j->rows);
    j->chunks = conv_parts(s->out[ROWS_W], j->columns);
    j->units = rows_units(j, j->rows, j->columns);
    /* whole tiles, but where one that is not would leave a thread with less to do than others */
    bool few = pool_threads() > 1 && j->chunks <= 2 * (int64_t)pool_threads();
    j->step = j->pieces || (few && s->out[ROWS_W] % j->mr) ? 1 : j->mr;
}

/* Distances between pixels that are multiples of large powers of two have all of a tile's pixels
 * meet in few places of a cache. */
static bool rows_far(const conv_shape *s) {
    return s->in_channels * s->stride[ROWS_W] * (int64_t)sizeof(float) % CONV_ROWS_FAR == 0;
}

static bool rows_copied(const rows_job *j) {
    const conv_shape *s = &j->s;
    if (j->pieces) return false;
    bool copied = j->scale || j->taps || j->w->form == CONV_GROUPS ||
                  (rows_far(s) && j->w->panels > 1);
    for (int i = 0; i < CONV_DIMS; i++)
        copied |= s->pad[i] != 0 || rows_span(s, i, s->out[i]) > s->in[i];
    return copied;
}

/* Are taps so far apart, and few, that rows are better split? Tap
 * positions are in elements, including those in the padding. */
static bool rows_cut_into_pieces(const rows_job *j) {
    const conv_shape *s = &j->s;
    bool near = true;
    for (int i = 0; i < CONV_DIMS; i++)
        near = near && s->pad[i] <= CONV_ROWS_MAX && s->pad[i] >= -CONV_ROWS_MAX;
    return near && j->w->form == CONV_ROWS && !j->scale && s->dilation[ROWS_W] >= CONV_ROWS_APART &&
           s->kernel[ROWS_W] > 1 && s->kernel[ROWS_W] <= CONV_ROWS_APART_TAPS;
}

/* The kernels, and how much they do at a time: in pieces; taps kernels, if the micro-kernels have
 * them for such rows of taps and pixels fill most of a vector; or those of the weights. */
static void rows_kernels(rows_job *j) {
    const conv_shape *s = &j->s;
    const conv_packed *w = j->w;
    int64_t stride = s->stride[ROWS_W];
    j->tiles = w->tiles, j->mr = w->mr, j->block = CONV_ROWS_STEPS;
    j->pieces = rows_cut_into_pieces(j);
    if (j->pieces) {
        j->block = CONV_ROWS_APART_STEPS;
        if (rows_far(s)) j->mr = int64_min(j->mr, CONV_ROWS_FAR_ROWS);
        return;
    }
    if (s->kernel[ROWS_W] != GEMM_TAPS || j->whole[ROWS_W] != GEMM_TAPS ||
        stride > GEMM_TAPS_STRIDES || s->dilation[ROWS_W] != 1 || w->nr != w->micro->lanes ||
        w->in > w->nr || w->in <= w->nr / 2)
        return;
    gemm_rows_fn *const *taps = (w->form == CONV_GROUPS ? w->micro->group_taps
                                                        : w->micro->narrow_taps)[stride - 1];
    if (taps[1]) j->tiles = taps, j->taps = true;
}

/* Where the segments read. */
static void rows_place(rows_job *j) {
    const conv_shape *s = &j->s;
    j->pixel = s->in_channels;
    j->row = s->in[ROWS_W] * j->pixel;
    j->plane = s->in[ROWS_H] * j->row;
    j->span[ROWS_D] = s->kernel[ROWS_D];
    j->apart = j->copied && j->rows == 1;
    j->span[ROWS_H] = j->apart ? s->kernel[ROWS_H] : rows_span(s, ROWS_H, j->rows);
    j->span[ROWS_W] = rows_span(s, ROWS_W, j->columns);
    if (!j->copied) return;
    j->pixel = rows_elements(j);
    if (!j->taps && j->pixel * s->stride[ROWS_W] * (int64_t)sizeof(float) % CONV_ROWS_FAR == 0)
        j->pixel += 16;
    j->row = j->span[ROWS_W] * j->pixel;
    j->plane = j->span[ROWS_H] * j->row;
}

/* ---- segments -------------------------------------------------------------------------------- */

/* The k steps that begin at input element a and this step of a panel. */
static void rows_segment(rows_job *j, rows_tap tap, int64_t a, int64_t step, int64_t k) {
    int64_t blocks = conv_parts(k, j->block), nr = j->w->nr;
    for (int64_t i = 0, done = 0; i < blocks; i++) {
        int64_t n = (k - done) / (blocks - i);
        if (j->segment) {
            j->segment[j->segments] = (gemm_segment){a + (j->spread ? done * nr : done),
                                                     (step + done) * nr, n};
            j->tap[j->segments] = tap;
        }
        j->segments++;
        done += n;
    }
}

static void rows_taps(rows_job *j) {
    const conv_shape *s = &j->s;
    int64_t in = j->w->depth;
    bool joined = j->taps || (j->pixel == (j->spread ? in * j->w->nr : in) &&
                              (j->spread || j->w->form == CONV_ROWS) && s->dilation[ROWS_W] == 1 &&
                              s->kernel[ROWS_W] * in <= CONV_ROWS_STEPS);
    j->joined = joined;
    j->segments = 0;
    for (int64_t z = 0; z < s->kernel[ROWS_D]; z++)
        for (int64_t y = 0; y < s->kernel[ROWS_H]; y++) {
            int64_t a = (j->copied ? z : z * s->dilation[ROWS_D]) * j->plane +
                        (j->apart ? y : y * s->dilation[ROWS_H]) * j->row;
            if (!j->copied)
                a -= s->pad[ROWS_D] * j->plane + s->pad[ROWS_H] * j->row +
                     s->pad[ROWS_W] * j->pixel;
            int64_t step = (((j->first[ROWS_D] + z) * j->whole[ROWS_H] + j->first[ROWS_H] + y) *
                                j->whole[ROWS_W] +
                            j->first[ROWS_W]) *
                           in;
            int64_t times = joined ? 1 : s->kernel[ROWS_W],
                    k = joined && !j->taps ? s->kernel[ROWS_W] * in : in;
            for (int64_t x = 0; x < times; x++, step += k)
                rows_segment(j, (rows_tap){z, y, joined ? -1 : x},
                             a + x * s->dilation[ROWS_W] * j->pixel, step, k);
        }
}

/* ---- strips ---------------------------------------------------------------------------------- */

typedef struct rows_strip {
    int64_t image, set, plane;          /* of the output */
    int64_t row, rows, column, columns; /* in it */
    int64_t panel, panels;              /* of the set */
    gemm_segment *used;                 /* room for those of a tile */
    int64_t tiles;                      /* of a row */
} rows_strip;

/* Where the piece of a row that begins at column x ends: all of its results see the same taps. */
static int64_t rows_piece(const rows_job *j, const rows_strip *t, int64_t x) {
    int64_t end = t->columns;
    if (!j->pieces) return end;
    for (int64_t tap = 0; tap < j->s.kernel[ROWS_W]; tap++) {
        int64_t lo, hi;
        conv_valid_range(&j->s, ROWS_W, tap, &lo, &hi);
        lo -= t->column, hi -= t->column;
        if (lo > x && lo < end) end = lo;
        if (hi > x && hi < end) end = hi;
    }
    return end;
}

/* Threads take neighbouring items: parts of the image, where the panels are not shared, or shares
 * of them. */
static rows_strip rows_strip_of(const rows_job *j, int64_t item) {
    const conv_shape *s = &j->s;
    rows_strip t;
    int64_t share = item / j->units, panels = j->w->panels,
            across = conv_parts(s->out[ROWS_W], j->step);
    item %= j->units;
    t.set = item % j->w->sets; /* neighbours have the same lines of memory in part */
    int64_t chunk = (item /= j->w->sets) % j->chunks, strip = (item /= j->chunks) % j->strips;
    t.plane = (item /= j->strips) % s->out[ROWS_D];
    t.image = item / s->out[ROWS_D];
    t.panel = rows_part(panels, share, j->shares);
    t.panels = rows_part(panels, share + 1, j->shares) - t.panel;
    t.row = rows_part(s->out[ROWS_H], strip, j->strips);
    t.rows = rows_part(s->out[ROWS_H], strip + 1, j->strips) - t.row;
    t.column = rows_part(across, chunk, j->chunks) * j->step;
    t.columns = int64_min(rows_part(across, chunk + 1, j->chunks) * j->step, s->out[ROWS_W]) -
                t.column;
    t.tiles = 0;
    for (int64_t x = 0, end; x < t.columns; x = end) {
        end = rows_piece(j, &t, x);
        t.tiles += conv_parts(end - x, j->mr);
    }
    return t;
}

/* n pixels of some channels: these and what they are multiplied by. */
typedef struct rows_channels {
    int64_t n;
    const float *scale; /* NULL: nothing */
} rows_channels;

VECTOR_CLONES static void rows_scale_pixels(const float *restrict from, int64_t apart,
                                            int64_t pixels, int64_t n, const float *restrict scale,
                                            int64_t pixel, float *restrict to) {
    for (int64_t i = 0; i < pixels; i++)
        for (int64_t c = 0; c < n; c++) to[i * pixel + c] = from[i * apart + c] * scale[c];
}

/* Some instructions for each pixel, at a stride too large for the hardware prefetcher. */
static inline __attribute__((always_inline)) void rows_copy_few(const float *from, int64_t apart,
                                                                int64_t pixels, const int n,
                                                                int64_t pixel, float *to) {
    for (int64_t i = 0; i < pixels; i++, from += apart, to += pixel) {
        __builtin_prefetch(from + GEMM_SPREAD_PREFETCH * apart);
        memcpy(to, from, (size_t)n * sizeof *to);
    }
}

static void rows_copy_pixels(const rows_job *j, const float *from, int64_t n,
                             const rows_channels *channels, float *to) {
    int64_t apart = j->s.in_channels, in = channels->n;
    if (j->spread) {
        j->w->micro->spread(from, apart, n, (int)in, channels->scale, j->w->lanes, j->w->depth, to,
                            j->pixel);
        return;
    }
    if (channels->scale) {
        rows_scale_pixels(from, apart, n, in, channels->scale, j->pixel, to);
        return;
    }
    if (in == apart && in == j->pixel) {
        memcpy(to, from, (size_t)(n * in) * sizeof *to);
        return;
    }
    if (in == 8) rows_copy_few(from, apart, n, 8, j->pixel, to);
    else if (in == 16) rows_copy_few(from, apart, n, 16, j->pixel, to);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * j->pixel, from + i * apart, (size_t)in * sizeof *to);
}

/* Row y of plane z (nothing, if these are in the padding), `span` pixels from column x on. */
static void rows_copy_row(const rows_job *j, const float *image, int64_t z, int64_t y, int64_t x,
                          int64_t span, const rows_channels *in, float *to) {
    const conv_shape *s = &j->s;
    int64_t before = x < 0 ? int64_min(-x, span) : 0, end = int64_min(s->in[ROWS_W] - x, span);
    if (z < 0 || z >= s->in[ROWS_D] || y < 0 || y >= s->in[ROWS_H]) return; /* rows_sees knows */
    if (end <= before) end = before = span;
    memset(to, 0, (size_t)(before * j->pixel) * sizeof *to);
    rows_copy_pixels(
        j, image + ((z * s->in[ROWS_H] + y) * s->in[ROWS_W] + x + before) * s->in_channels,
        end - before, in, to + before * j->pixel);
    memset(to + end * j->pixel, 0, (size_t)((span - end) * j->pixel) * sizeof *to);
}

static void rows_copy(const rows_job *j, const rows_strip *t, const float *image, float *to) {
    const conv_shape *s = &j->s;
    int64_t z0 = t->plane * s->stride[ROWS_D] - s->pad[ROWS_D],
            y0 = t->row * s->stride[ROWS_H] - s->pad[ROWS_H];
    int64_t x0 = t->column * s->stride[ROWS_W] - s->pad[ROWS_W];
    int64_t down = j->apart ? j->span[ROWS_H] : rows_span(s, ROWS_H, t->rows),
            across = rows_span(s, ROWS_W, t->columns), first = t->set * j->w->in;
    rows_channels in = {int64_min(j->w->in, s->in_channels - first),
                        j->scale ? j->scale + t->image * s->in_channels + first : NULL};
    for (int64_t z = 0; z < s->kernel[ROWS_D]; z++)
        for (int64_t y = 0; y < down; y++)
            rows_copy_row(j, image, z0 + z * s->dilation[ROWS_D],
                          y0 + (j->apart ? y * s->dilation[ROWS_H] : y), x0, across, &in,
                          to + z * j->plane + y * j->row);
}

/* Elements of a strip's pixels, where they are copied; what follows is aligned. */
static int64_t rows_pixels(const rows_job *j) {
    return j->copied ? (j->span[ROWS_D] * j->plane + 15) / 16 * 16 : 0;
}

/* Where the strip's first result has its first tap. */
static const float *rows_begin(const rows_job *j, const rows_strip *t, float *scratch) {
    const conv_shape *s = &j->s;
    const float *image = j->in +
                         t->image * s->in[ROWS_D] * s->in[ROWS_H] * s->in[ROWS_W] * s->in_channels +
                         t->set * j->w->in;
    if (!j->copied)
        return image + t->plane * s->stride[ROWS_D] * j->plane +
               t->row * s->stride[ROWS_H] * j->row + t->column * s->stride[ROWS_W] * j->pixel;
    rows_copy(j, t, image, scratch);
    return scratch;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static void rows_activate(const rows_job *j, const gemm_rows *r, float *c, int64_t rows) {
    enum dense_activation a = j->after->activation;
    if (a == DENSE_PLAIN || r->ends & GEMM_CLAMP) return;
    if (r->cols == r->ldc) activation_apply(a, c, rows * r->ldc);
    else
        for (int64_t i = 0; i < rows; i++) activation_apply(a, c + i * r->ldc, r->cols);
}

/* Do some of n neighbouring results, from column x of the strip's row y on, see pixels of the
 * image at this tap? */
static bool rows_sees(const rows_job *j, const rows_strip *t, int64_t y, int64_t x, int64_t n,
                      const rows_tap *tap) {
    const conv_shape *s = &j->s;
    int64_t iz = t->plane * s->stride[ROWS_D] - s->pad[ROWS_D] + tap->z * s->dilation[ROWS_D];
    int64_t iy = (t->row + y) * s->stride[ROWS_H] - s->pad[ROWS_H] + tap->y * s->dilation[ROWS_H];
    if (iz < 0 || iz >= s->in[ROWS_D] || iy < 0 || iy >= s->in[ROWS_H]) return false;
    if (tap->x < 0) return true;
    int64_t ix = (t->column + x) * s->stride[ROWS_W] - s->pad[ROWS_W] +
                 tap->x * s->dilation[ROWS_W];
    return ix < s->in[ROWS_W] && ix + (n - 1) * s->stride[ROWS_W] >= 0;
}

/* Does each tap see some of the image there? As a rule. */
static bool rows_sees_all(const rows_job *j, const rows_strip *t, int64_t y, int64_t x, int64_t n) {
    const conv_shape *s = &j->s;
    rows_tap first = {0, 0, 0},
             last = {s->kernel[ROWS_D] - 1, s->kernel[ROWS_H] - 1, s->kernel[ROWS_W] - 1};
    return rows_sees(j, t, y, x, n, &first) && rows_sees(j, t, y, x, n, &last);
}

/* As *r, with those segments that n neighbouring results see something of. */
static gemm_rows rows_select(const rows_job *j, const rows_strip *t, int64_t y, int64_t x,
                             int64_t n, const gemm_rows *r) {
    const rows_tap *tap = j->tap + (r->segment - j->segment);
    gemm_rows some = *r;
    some.segment = t->used;
    some.segments = 0;
    for (int64_t i = 0; i < r->segments; i++)
        if (rows_sees(j, t, y, x, n, tap + i)) t->used[some.segments++] = r->segment[i];
    return some;
}

/* A piece of a row, or all of it: this many tiles, the last ones with one more than `least`. */
typedef struct rows_cuts {
    int64_t tiles, longer, least;
} rows_cuts;

static rows_cuts rows_cuts_of(const rows_job *j, int64_t columns) {
    int64_t tiles = conv_parts(columns, j->mr);
    return (rows_cuts){tiles, columns % tiles, columns / tiles};
}

/* The i-th tile. */
static int64_t rows_length(const rows_cuts *t, int64_t i) {
    return i < t->tiles - t->longer ? t->least : t->least + 1;
}

/* Tiles from the i-th on that are as long. */
static int64_t rows_as_long(const rows_cuts *t, int64_t i) {
    return (i < t->tiles - t->longer ? t->tiles - t->longer : t->tiles) - i;
}

/* Those of them that see something of all taps; the first begins at x. */
static int64_t rows_alike(const rows_job *j, const rows_strip *t, const rows_cuts *cuts, int64_t y,
                          int64_t i, int64_t x) {
    int64_t n = rows_length(cuts, i), end = i + rows_as_long(cuts, i), first = i;
    if (!t->used) return end - i;
    while (i < end && rows_sees_all(j, t, y, x, n)) i++, x += n;
    return i - first;
}

/* Columns [x, end) of row y, a piece of it or all, times a panel, for the segments that *r has: a,
 * c and other begin at the row's first column, prefetch at the piece. */
static void rows_tiles(const rows_job *j, const rows_strip *t, int64_t y, int64_t x, int64_t end,
                       const gemm_rows *r, const float *a, float *c, const float *other,
                       const char *prefetch, bool last) {
    gemm_rows piece;
    rows_cuts cuts = rows_cuts_of(j, end - x);
    bool same = t->used && (j->joined || j->pieces); /* all of them see the same taps */
    if (same && !rows_sees_all(j, t, y, x, 1)) {
        piece = rows_select(j, t, y, x, 1, r);
        r = &piece;
    }
    if (!r->segments && r->ends == GEMM_ADD_C) {
        if (last) rows_activate(j, r, c + x * r->ldc, end - x);
        return;
    }
    for (int64_t i = 0; i < cuts.tiles;) {
        int64_t n = rows_length(&cuts, i), to = x * r->ldc,
                count = same ? rows_as_long(&cuts, i) : rows_alike(j, t, &cuts, y, i, x);
        const float *from = a + x * r->lda, *more = other ? other + to : NULL;
        if (count) {
            j->tiles[n](r, count, from, c + to, more, prefetch + i * r->share);
        } else {
            gemm_rows some = rows_select(j, t, y, x, n, r);
            count = 1;
            if (some.segments || some.ends != GEMM_ADD_C)
                j->tiles[n](&some, 1, from, c + to, more, prefetch + i * r->share);
        }
        if (last) rows_activate(j, r, c + to, count * n);
        i += count, x += count * n;
    }
}

static void rows_pieces(const rows_job *j, const rows_strip *t, int64_t y, const gemm_rows *r,
                        const float *a, float *c, const float *other, const char *prefetch,
                        bool last) {
    for (int64_t x = 0, end; x < t->columns; x = end) {
        end = rows_piece(j, t, x);
        rows_tiles(j, t, y, x, end, r, a, c, other, prefetch, last);
        prefetch += conv_parts(end - x, j->mr) * r->share;
    }
}

static const float *rows_weights(const rows_job *j, const rows_strip *t, int64_t panel) {
    return j->w->weights + (t->set * j->w->panels + panel) * j->w->steps * j->w->nr;
}

/* All rows of the strip times a panel. next: the weights that are needed after it, or NULL. */
static void rows_panel(const rows_job *j, const rows_strip *t, const float *a, int64_t panel,
                       const gemm_rows *block, const float *next, bool last) {
    const conv_shape *s = &j->s;
    int64_t nr = j->w->nr, channel = t->set * j->w->out + panel * nr,
            end = int64_min((t->set + 1) * j->w->out, s->out_channels);
    const char *prefetch = (const char *)next;
    gemm_rows r = *block;
    r.b = rows_weights(j, t, panel);
    r.cols = (int)int64_min(nr, end - channel);
    if (j->bias) r.bias = j->bias + channel;
    if (!next) r.lines = 0, r.share = 0;
    for (int64_t y = 0; y < t->rows; y++) {
        int64_t at = (((t->image * s->out[ROWS_D] + t->plane) * s->out[ROWS_H] + t->row + y) *
                          s->out[ROWS_W] +
                      t->column) *
                         j->pitch +
                     channel;
        rows_pieces(j, t, y, &r, a + y * s->stride[ROWS_H] * j->row, j->out + at,
                    epilogue_other(j->after, at), prefetch + y * t->tiles * r.share, last);
    }
}

/* Segments from `first` on that are one block: the next one's first. */
static int64_t rows_block(const rows_job *j, int64_t first) {
    int64_t steps = j->segment[first].k, i = first + 1;
    while (i < j->segments && steps + j->segment[i].k <= j->block) steps += j->segment[i++].k;
    return i;
}

static int64_t rows_steps(const gemm_rows *r) {
    int64_t steps = 0;
    for (int64_t i = 0; i < r->segments; i++) steps += r->segment[i].k;
    return steps;
}

static void rows_item(const rows_job *j, int64_t item, float *scratch) {
    rows_strip t = rows_strip_of(j, item);
    const float *a = rows_begin(j, &t, scratch);
    bool some = j->copied || j->pieces; /* of the taps are seen by a tile */
    t.used = some ? (gemm_segment *)(void *)(scratch + rows_pixels(j)) : NULL;
    gemm_rows r = {.lda = j->s.stride[ROWS_W] * j->pixel,
                   .nr = j->w->nr,
                   .ldc = j->pitch,
                   .lanes = j->w->lanes};
    for (int64_t first = 0, next; first < j->segments; first = next) {
        next = rows_block(j, first);
        bool last = next == j->segments;
        r.segment = j->segment + first;
        r.segments = next - first;
        r.ends = first ? GEMM_ADD_C : 0;
        if (last && j->bias) r.ends |= GEMM_ADD_BIAS;
        if (last && j->after->other) r.ends |= GEMM_ADD_OTHER;
        if (last && activation_bounds(j->after->activation, &r.low, &r.high)) r.ends |= GEMM_CLAMP;
        gemm_rows_prefetch(&r, rows_steps(&r), j->w->nr, t.rows * t.tiles);
        for (int64_t p = t.panel; p < t.panel + t.panels; p++) {
            bool more = p + 1 < t.panel + t.panels;
            const float *then = more   ? rows_weights(j, &t, p + 1) + j->segment[first].b
                                : last ? NULL
                                       : rows_weights(j, &t, t.panel) + j->segment[next].b;
            rows_panel(j, &t, a, p, &r, then, last);
        }
    }
}

static void rows_items(void *ctx, int64_t begin, int64_t end) {
    rows_job *j = ctx;
    slot taken = slots_take(&j->slots);
    float *scratch = taken.memory;
    for (int64_t i = begin; i < end; i++) rows_item(j, i, scratch);
    slots_give(&j->slots, taken);
}

/* ---- entry ----------------------------------------------------------------------------------- */

bool conv_rows_fits(const conv_shape *s) {
    int64_t elements = s->in_channels;
    if (s->kernel_size > CONV_ROWS_MAX_TAPS) return false;
    for (int i = 0; i < CONV_DIMS; i++) {
        int64_t n = i == ROWS_W ? int64_min(s->out[i], CONV_ROWS_POSITIONS) : 1;
        if (s->stride[i] > CONV_ROWS_MAX || s->dilation[i] > CONV_ROWS_MAX ||
            s->kernel[i] > CONV_ROWS_MAX)
            return false;
        int64_t span = i == ROWS_W ? rows_span(s, i, n) : s->kernel[i];
        if (__builtin_mul_overflow(elements, span, &elements) || elements > CONV_ROWS_MAX)
            return false;
    }
    return true;
}

ctsc_status conv_rows(diag *d, const conv_shape *s, const conv_packed *w, const float *in,
                      const float *scale, const dense_epilogue *after, float *out) {
    rows_job j = {
        .s = *s, .w = w, .in = in, .scale = scale, .bias = after->bias, .after = after, .out = out};
    j.pitch = after->pitch ? after->pitch : s->out_channels;
    j.spread = w->form == CONV_GROUPS && w->micro->spread;
    rows_simplify(&j.s, scale != NULL);
    rows_trim(&j);
    rows_kernels(&j);
    j.copied = rows_copied(&j);
    rows_cut(&j);
    rows_place(&j);
    rows_taps(&j);
    size_t room = (size_t)j.segments * sizeof *j.segment,
           bytes = room + (size_t)j.segments * sizeof *j.tap;
    j.segment = recycle_alloc(bytes);
    j.tap = j.segment ? (rows_tap *)(j.segment + j.segments) : NULL;
    int64_t items = j.units * j.shares;
    bool ready = j.segment && slots_begin(&j.slots,
                                          (size_t)rows_pixels(&j) * sizeof(float) +
                                              (j.copied || j.pieces ? room : 0),
                                          items);
    if (!ready) {
        recycle_free(j.segment, bytes);
        return diag_no_memory(d);
    }
    rows_taps(&j);
    bool whole = pool_for_limited(items, 1, rows_items, &j);
    slots_end(&j.slots);
    recycle_free(j.segment, bytes);
    return whole ? CTSC_OK : limits_fail(d);
}
