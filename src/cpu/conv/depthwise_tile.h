/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depthwise_tile.h - the spans of depthwise.h for one instruction set.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     V, LANES                 a vector of floats, how many
 *     ROWS                     of outputs that the registers hold a tile of: 1 or 2
 *     NAME(x), TARGET          names of what is defined here; the functions' attribute
 *     VLOAD, VSTORE, SET1, FMA, MAX, MIN (the latter: the second operand where one is NaN)
 *     KERNELS, KERNELS_HEAD    the record to define; its first member
 */

/* Every n-th column of a span: output i (of one vector of channels) is at out + i
 * * out_step, and uses input columns i * stride + tap, which are at in + column *
 * in_step from a line's start; those in [low, high) are inside the image. */
typedef struct NAME(strip) {
    const depthwise_span *p;
    int64_t in, in_step, low, high;
    int64_t out, out_step; /* out: from the span's */
    int64_t channel;
} NAME(strip);

/* The kernel row w is that of one of the rows of outputs, `sum`. */
#define TILE_WEIGHTS(weight, w)                                                                    \
    _Pragma("GCC unroll 7") for (int k = 0; k < kernel; k++)                                       \
        weight[k] = VLOAD((w) + channel + k * taps);
#define TILE_ADD(sum, weight)                                                                      \
    _Pragma("GCC unroll 7") for (int k = kernel - 1; k >= 0; k--) if (j >= k &&                    \
                                                                      (j - k) % stride == 0 &&     \
                                                                      (j - k) / stride < tile)     \
        sum[(j - k) / stride] = FMA(x, weight[k], sum[(j - k) / stride]);
/* Each input vector is loaded once, not by each of the sums: loads are what is scarce. */
#if defined(__aarch64__)
#define TILE_KEEP(x) __asm__("" : "+w"(x))
#else
#define TILE_KEEP(x) __asm__("" : "+v"(x))
#endif
#define TILE_LINE(...)                                                                             \
    _Pragma("GCC unroll 19") for (int j = 0; j < columns; j++, in += step) {                       \
        if (!(inside & 1u << j)) continue;                                                         \
        V x = VLOAD(in);                                                                           \
        TILE_KEEP(x);                                                                              \
        __VA_ARGS__                                                                                \
    }

/* `tile` outputs from number `first` on, of one row or of both. inside: bit j is set if the
 * tile's input column number j is inside. A function for itself: with more to hold the
 * compiler puts addresses into registers of vectors, where those of the next tile wait for the
 * sums of this one. */
static inline __attribute__((always_inline)) TARGET void NAME(tile)(
    const NAME(strip) * t, int64_t first, const uint32_t inside, const int tile, const int kernel,
    const int stride) {
    const depthwise_span *p = t->p;
    const int columns = (tile - 1) * stride + kernel;
    const int64_t step = t->in_step, from = t->in + first * stride * step, taps = p->s->in_channels,
                  channel = t->channel;
    const depthwise_line *line = p->lines, *const end = line + p->nlines;
    V sum[7], other[7], weight[7], second[7],
        start = p->bias ? VLOAD(p->bias + channel) : SET1(0.0f);
#pragma GCC unroll 7
    for (int i = 0; i < tile; i++) sum[i] = other[i] = start;
    for (; line < end; line++) {
        const float *in = line->in + from;
        if (ROWS == 1 || !line->weight[1]) {
            TILE_WEIGHTS(weight, line->weight[0])
            TILE_LINE(TILE_ADD(sum, weight))
        } else if (line->weight[0]) {
            TILE_WEIGHTS(weight, line->weight[0])
            TILE_WEIGHTS(second, line->weight[1])
            TILE_LINE(TILE_ADD(sum, weight) TILE_ADD(other, second))
        } else {
            TILE_WEIGHTS(second, line->weight[1])
            TILE_LINE(TILE_ADD(other, second))
        }
    }
    const V least = SET1(p->low), most = SET1(p->high);
    const int64_t out_step = t->out_step, at = t->out + first * out_step;
    if (p->out[0]) {
        float *out = p->out[0] + at;
#pragma GCC unroll 7
        for (int i = 0; i < tile; i++, out += out_step) VSTORE(out, MIN(most, MAX(least, sum[i])));
    }
    if (ROWS == 2 && p->out[1]) {
        float *out = p->out[1] + at;
#pragma GCC unroll 7
        for (int i = 0; i < tile; i++, out += out_step)
            VSTORE(out, MIN(most, MAX(least, other[i])));
    }
}
#undef TILE_WEIGHTS
#undef TILE_ADD
#undef TILE_LINE
#undef TILE_KEEP

/* Bits [low, high) of those that are there. */
static inline uint32_t NAME(bits)(int64_t low, int64_t high) {
    uint32_t below = high >= 32 ? ~0u : high > 0 ? (1u << high) - 1 : 0;
    return low >= 32 ? 0 : low > 0 ? below & ~0u << low : below;
}

typedef void NAME(tile_fn)(const NAME(strip) * t, int64_t first, uint32_t inside);

/* All n >= 4 outputs, in tiles of seven and of four. */
static TARGET void NAME(tiles)(const NAME(strip) * t, int64_t n, int64_t stride,
                               NAME(tile_fn) *const tile[2]) {
    for (int64_t i = 0; i < n;) {
        int64_t left = n - i, count = n < 7 || left <= 4 || left == 8 ? 4 : 7;
        if (left < count) i = n - count;
        tile[count == 7](t, i, NAME(bits)(t->low - i * stride, t->high - i * stride));
        i += count;
    }
}

#define TILES(kernel, stride)                                                                      \
    static TARGET void NAME(tile_##kernel##_##stride##_4)(const NAME(strip) * t, int64_t first,    \
                                                          uint32_t inside) {                       \
        NAME(tile)(t, first, inside, 4, kernel, stride);                                           \
    }                                                                                              \
    static TARGET void NAME(tile_##kernel##_##stride##_7)(const NAME(strip) * t, int64_t first,    \
                                                          uint32_t inside) {                       \
        NAME(tile)(t, first, inside, 7, kernel, stride);                                           \
    }
TILES(3, 1)
TILES(3, 2)
TILES(5, 1)
TILES(5, 2)
TILES(7, 1)
#undef TILES

/* By kernel / 2 - 1 and stride - 1: tiles of four and of seven. */
static NAME(tile_fn) *const NAME(tile_table)[3][2][2] = {
    {{NAME(tile_3_1_4), NAME(tile_3_1_7)}, {NAME(tile_3_2_4), NAME(tile_3_2_7)}},
    {{NAME(tile_5_1_4), NAME(tile_5_1_7)}, {NAME(tile_5_2_4), NAME(tile_5_2_7)}},
    {{NAME(tile_7_1_4), NAME(tile_7_1_7)}},
};

static NAME(tile_fn) *const *NAME(tiles_of)(int64_t kernel, int64_t stride) {
    if (kernel < 3 || kernel > 7 || kernel % 2 == 0 || stride > 2) return NULL;
    NAME(tile_fn) *const *tiles = NAME(tile_table)[kernel / 2 - 1][stride - 1];
    return tiles[0] ? tiles : NULL;
}

/* The taps [*first, *end) of column `at` that are inside. Returns the input column of tap 0. */
static inline int64_t NAME(taps)(const conv_shape *s, int64_t at, int64_t *first, int64_t *end) {
    int64_t d = s->dilation[2], x = at * s->stride[2] - s->pad[2], room = s->in[2] - x;
    *first = x < 0 ? (-x + d - 1) / d : 0;
    *end = room <= 0 ? 0 : (room + d - 1) / d;
    if (*end > s->kernel[2]) *end = s->kernel[2];
    return x;
}

/* Columns at, at + every, ... of a row of a span, `columns` of them, with taps [first, end) of any
 * kernel; x: the input column of the first one's tap 0. */
static inline __attribute__((always_inline)) TARGET void NAME(column)(
    const depthwise_span *p, int64_t at, int64_t every, int64_t channel, int64_t x, int64_t first,
    int64_t end, const int row, const int columns) {
    const conv_shape *s = p->s;
    const int64_t taps = s->in_channels, step = s->dilation[2] * p->in_step,
                  next = every * s->stride[2] * p->in_step;
    V sum[4];
#pragma GCC unroll 4
    for (int i = 0; i < columns; i++) sum[i] = p->bias ? VLOAD(p->bias + channel) : SET1(0.0f);
    for (int64_t l = 0; l < p->nlines; l++) {
        if (!p->lines[l].weight[row]) continue;
        const float *in = p->lines[l].in + channel + x * p->in_step,
                    *w = p->lines[l].weight[row] + channel;
        for (int64_t k = first; k < end; k++) {
            V weight = VLOAD(w + k * taps);
#pragma GCC unroll 4
            for (int i = 0; i < columns; i++)
                sum[i] = FMA(VLOAD(in + k * step + i * next), weight, sum[i]);
        }
    }
    V least = SET1(p->low), most = SET1(p->high);
#pragma GCC unroll 4
    for (int i = 0; i < columns; i++)
        VSTORE(p->out[row] + (at + i * every) * p->out_step + channel,
               MIN(most, MAX(least, sum[i])));
}

static TARGET void NAME(columns)(const depthwise_span *p, int64_t begin, int64_t every, int row) {
    for (int64_t c = 0; c < p->channels; c += LANES) {
        int64_t channel = c + LANES > p->channels ? p->channels - LANES : c,
                kernel = p->s->kernel[2];
        for (int64_t at = begin; at < p->end;) {
            int64_t first, end, last_first, last_end, x = NAME(taps)(p->s, at, &first, &end);
            NAME(taps)(p->s, at + 3 * every, &last_first, &last_end);
            bool inside = first == 0 && last_first == 0 && end == kernel && last_end == kernel &&
                          at + 3 * every < p->end;
            if (inside) NAME(column)(p, at, every, channel, x, 0, kernel, row, 4);
            else NAME(column)(p, at, every, channel, x, first, end, row, 1);
            at += inside ? 4 * every : every;
        }
    }
}

/* With g = gcd(stride, dilation), columns p + i * dilation / g are a convolution of stride / g over
 * every dilation-th input column. */
static TARGET void NAME(span)(const depthwise_span *p) {
    const conv_shape *s = p->s;
    int64_t dilation = s->dilation[2], g = s->stride[2], rest = dilation;
    while (rest) {
        int64_t r = g % rest;
        g = rest, rest = r;
    }
    int64_t every = dilation / g;
    NAME(tile_fn) *const *tiles = NAME(tiles_of)(s->kernel[2], s->stride[2] / g);
    for (int64_t first = 0; first < p->end && first < every; first++) {
        int64_t n = (p->end - first + every - 1) / every, x = first * s->stride[2] - s->pad[2];
        if (!tiles || n < 4) {
            for (int r = 0; r < 2; r++)
                if (p->out[r]) NAME(columns)(p, first, every, r);
            continue;
        }
        NAME(strip)
        t = {.p = p, .in_step = dilation * p->in_step, .out_step = every * p->out_step};
        t.low = x < 0 ? (-x + dilation - 1) / dilation : 0;
        t.high = s->in[2] > x ? (s->in[2] - x + dilation - 1) / dilation : 0;
        if (t.high < t.low) t.high = t.low;
        for (int64_t c = 0; c < p->channels; c += LANES) {
            t.channel = c + LANES > p->channels ? p->channels - LANES : c;
            t.in = x * p->in_step + t.channel;
            t.out = first * p->out_step + t.channel;
            NAME(tiles)(&t, n, s->stride[2] / g, tiles);
        }
    }
}

KERNELS = {KERNELS_HEAD, LANES, ROWS, NAME(span)};

#undef V
#undef LANES
#undef ROWS
#undef NAME
#undef TARGET
#undef VLOAD
#undef VSTORE
#undef SET1
#undef FMA
#undef MAX
#undef MIN
#undef KERNELS
#undef KERNELS_HEAD
