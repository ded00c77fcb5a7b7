/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_half.c - see conv_half.h.
 *
 * Method. A unit of work is a number of images, or rows of the result of one image, whose
 * floats fit in the second-level cache: its input is widened, convolved as float images are,
 * and the sums become 16-bit results (epilogue_halves) while they are in the cache. Padding
 * stays padding: the parts of the first and the last rows have their share of it. Parts have a
 * whole number of the tiles that Winograd's kernels cut a result into, so that cutting changes
 * no sum; and each is large enough that reading the weights again is not the dominant cost.
 * Tests: tests/unit/test_conv_last.c
 */
#include "runtime/kernels/conv/conv_half.h"

#include "base/memory/recycle.h"
#include "base/minmax.h"
#include "base/threads/limits.h"
#include "base/threads/thread_pool.h"
#include "cpu/vector.h"
#include "runtime/kernels/engine/wide.h"

enum {
    HALF_PART = 1 << 20,  /* bytes of floats in a part, roughly */
    HALF_GRAIN = 1 << 14, /* elements to convert that are worth a thread of their own */
    HALF_TILE = 4,        /* rows of the largest of Winograd's tiles */
    HALF_SIZE = 2,        /* bytes of an element */
    HALF_SCALED = 2048,   /* elements that are multiplied by their scale together */
};

typedef struct half_job {
    const conv_shape *s;
    dtype dt;
    const char *in;
    half_scale by;        /* no scale: NULL */
    int64_t from;         /* of this part: pixels in front of it */
    dense_epilogue after; /* what `run` does not do */
    char *out;
    float *floats, *sums; /* of one part */
    int64_t pitch;        /* elements from one pixel of the result to the next */
    int64_t first;        /* of this part: pixels of the result in front of it */
} half_job;

/* ---- parts ----------------------------------------------------------------------------------- */

/* Rows of the result, `rows` of them from y on, of the images [image, image + images). */
typedef struct half_part { int64_t image, images, y, rows; } half_part;

static bool half_is_flat(const conv_shape *s) {
    bool flat = true;
    for (int i = 0; i < CONV_DIMS; i++)
        flat &= s->kernel[i] == 1 && s->stride[i] == 1 && !s->pad[i] && s->in[i] == s->out[i];
    return flat;
}

/* Kernels of size 1 see all images as one column of pixels; a kernel one plane deep sees planes. */
static conv_shape half_simplified(const conv_shape *s) {
    conv_shape r = *s;
    bool planes = s->kernel[0] == 1 && s->stride[0] == 1 && !s->pad[0];
    if (half_is_flat(s)) {
        r.batch = 1;
        r.in[0] = r.out[0] = r.in[2] = r.out[2] = 1;
        r.in[1] = r.out[1] = s->batch * s->in_size;
    } else if (planes && s->in[0] == s->out[0]) {
        r.batch = s->batch * s->in[0];
        r.in[0] = r.out[0] = 1;
    }
    r.in_size = r.in[0] * r.in[1] * r.in[2];
    r.out_size = r.out[0] * r.out[1] * r.out[2];
    return r;
}

/* May rows of the result be computed separately? Each has to read some of the image. */
static bool half_has_rows(const conv_shape *s) {
    int64_t extent = s->dilation[1] * (s->kernel[1] - 1) + 1;
    return s->in[0] == 1 && s->out[0] == 1 && s->pad[1] < extent &&
           (s->out[1] - 1) * s->stride[1] - s->pad[1] < s->in[1];
}

/* How much of everything is done at a time. */
static half_part half_cut(const conv_shape *s) {
    int64_t weights = s->kernel_size * s->in_channels / s->groups * s->out_channels,
            most = int64_max(HALF_PART / (int64_t)sizeof(float), weights),
            image = s->in_size * s->in_channels + s->out_size * s->out_channels;
    half_part p = {.images = int64_max(1, int64_min(s->batch, most / int64_max(image, 1))),
                   .rows = s->out[1]};
    if (image <= most || !half_has_rows(s)) return p;
    p.images = 1;
    p.rows = int64_max(1, most / (image / s->out[1] + 1));
    p.rows = (p.rows + HALF_TILE - 1) / HALF_TILE * HALF_TILE;
    if (p.rows > s->out[1]) p.rows = s->out[1];
    return p;
}

/* Rows of the input that n rows of the result see, at most. */
static int64_t half_lines(const conv_shape *s, int64_t n) {
    int64_t all = (n - 1) * s->stride[1] + s->dilation[1] * (s->kernel[1] - 1) + 1;
    return n == s->out[1] ? s->in[1] : int64_min(all, s->in[1]);
}

/* The convolution that a part is; *from: the row of the input that it begins with. */
static conv_shape half_shape(const conv_shape *s, const half_part *p, int64_t *from) {
    conv_shape r = *s;
    r.batch = p->images;
    *from = 0;
    if (p->rows < s->out[1]) {
        int64_t begin = p->y * s->stride[1] - s->pad[1],
                end = begin + (p->rows - 1) * s->stride[1] + s->dilation[1] * (s->kernel[1] - 1);
        *from = int64_max(begin, 0);
        r.pad[1] = *from - begin;
        r.in[1] = int64_min(end + 1, s->in[1]) - *from;
        r.out[1] = p->rows;
        r.in_size = r.in[0] * r.in[1] * r.in[2];
        r.out_size = r.out[0] * r.out[1] * r.out[2];
    }
    if (half_is_flat(s)) { /* kernels that walk along a row have a long one */
        r.in[2] = r.out[2] = r.in[1] * r.in[2];
        r.in[1] = r.out[1] = 1;
    }
    return r;
}

/* ---- conversions ----------------------------------------------------------------------------- */

VECTOR_CLONES static void half_multiply(float *x, const float *by, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] *= by[i];
}

VECTOR_CLONES static void half_products(const bfloat16 *x, const float *by, float *to, int64_t n) {
    for (int64_t i = 0; i < n; i++) to[i] = bfloat16_to_float(x[i]) * by[i];
}

/* n pixels of `in`, from number `first` on, times the scale of their images; products
 * are not rounded. */
static void half_scaled(dtype dt, const half_scale *by, const char *in, int64_t first, int64_t n,
                        float *to) {
    if (dt == DT_FLOAT16) halves_to_floats(dt, in, to, n * by->channels);
    for (int64_t i = 0; i < n; i++, to += by->channels, in += by->channels * HALF_SIZE) {
        const float *scale = by->scale + (first + i) / by->image * by->channels;
        if (dt == DT_FLOAT16) half_multiply(to, scale, by->channels);
        else half_products((const bfloat16 *)(const void *)in, scale, to, by->channels);
    }
}

void conv_half_scale(dtype dt, const half_scale *by, const void *in, int64_t first, int64_t n,
                     void *out) {
    float products[HALF_SCALED];
    int64_t most = HALF_SCALED / by->channels;
    for (int64_t i = 0, some; most && i < n; i += some) {
        int64_t at = i * by->channels * HALF_SIZE;
        some = int64_min(most, n - i);
        half_scaled(dt, by, (const char *)in + at, first + i, some, products);
        floats_to_halves(dt, products, (char *)out + at, some * by->channels);
    }
    for (int64_t i = 0; !most && i < n; i++)
        for (int64_t c = 0; c < by->channels; c += HALF_SCALED) {
            int64_t at = (i * by->channels + c) * HALF_SIZE;
            const float *scale = by->scale + (first + i) / by->image * by->channels + c;
            half_scale part = {scale, int64_min(HALF_SCALED, by->channels - c), 1};
            half_scaled(dt, &part, (const char *)in + at, 0, 1, products);
            floats_to_halves(dt, products, (char *)out + at, part.channels);
        }
}

static void half_widen(void *ctx, int64_t begin, int64_t end) {
    const half_job *j = ctx;
    int64_t channels = j->s->in_channels;
    if (!j->by.scale) {
        halves_to_floats(j->dt, j->in + begin * channels * HALF_SIZE, j->floats + begin * channels,
                         (end - begin) * channels);
        return;
    }
    for (int64_t some; begin < end; begin += some) {
        float *to = j->floats + begin * channels;
        some = int64_min(end - begin, 1 + HALF_SCALED / channels);
        half_scaled(j->dt, &j->by, j->in + begin * channels * HALF_SIZE, j->from + begin, some, to);
        halves_settle(j->dt, to, NULL, false, some * channels);
    }
}

/* Pixels of this part's result. */
static void half_finish(void *ctx, int64_t begin, int64_t end) {
    const half_job *j = ctx;
    int64_t n = j->s->out_channels, at = (j->first + begin) * n;
    if (j->pitch == n) {
        epilogue_halves(&j->after, j->dt, j->sums + begin * n, at, (end - begin) * n,
                        j->out + at * HALF_SIZE);
        return;
    }
    for (int64_t i = begin; i < end; i++)
        epilogue_halves(&j->after, j->dt, j->sums + i * n, (j->first + i) * n, n,
                        j->out + (j->first + i) * j->pitch * HALF_SIZE);
}

static ctsc_status half_do(diag *d, half_job *j, const half_part *p, conv_of_floats *run,
                           void *ctx) {
    int64_t from;
    const conv_shape *s = j->s;
    conv_shape part = half_shape(s, p, &from);
    half_job this = *j;
    this.from = (p->image * s->in[1] + from) * s->in[0] * s->in[2];
    this.in += this.from * s->in_channels * HALF_SIZE;
    this.first = p->image * s->out_size + p->y * s->out[2];
    int64_t pixels = part.batch * part.out_size;
    if (!pool_for_limited(part.batch * part.in_size, 1 + HALF_GRAIN / s->in_channels, half_widen,
                          &this))
        return limits_fail(d);
    TRY(run(ctx, &part, this.floats, this.sums));
    return pool_for_limited(pixels, 1 + HALF_GRAIN / s->out_channels, half_finish, &this)
               ? CTSC_OK
               : limits_fail(d);
}

bool conv_half_bounds(const dense_epilogue *after) {
    float low, high;
    return !after->other &&
           activation_bounds((enum dense_activation)after->activation, &low, &high);
}

ctsc_status conv_half(diag *d, const conv_shape *given, dtype dt, const void *in,
                      const float *scale, const dense_epilogue *after, void *out,
                      conv_of_floats *run, void *ctx) {
    conv_shape s = half_simplified(given);
    half_part p = half_cut(&s);
    half_job j = {.s = &s, .dt = dt, .in = in, .after = *after, .out = out};
    j.by = (half_scale){scale, given->in_channels, given->in_size};
    if (conv_half_bounds(after)) j.after.activation = DENSE_PLAIN;
    j.pitch = after->pitch ? after->pitch : s.out_channels;
    int64_t n = p.images * s.in[0] * half_lines(&s, p.rows) * s.in[2] * s.in_channels,
            sums = p.images * s.out[0] * p.rows * s.out[2] * s.out_channels;
    size_t bytes = (size_t)(n + sums) * sizeof(float);
    j.floats = recycle_alloc(bytes);
    if (!j.floats) return diag_no_memory(d);
    j.sums = j.floats + n;
    ctsc_status st = CTSC_OK;
    for (int64_t image = 0; image < s.batch; image += p.images)
        for (int64_t y = 0; y < s.out[1] && st == CTSC_OK; y += p.rows) {
            half_part now = {image, int64_min(p.images, s.batch - image), y,
                             int64_min(p.rows, s.out[1] - y)};
            st = half_do(d, &j, &now, run, ctx);
        }
    recycle_free(j.floats, bytes);
    return st;
}
