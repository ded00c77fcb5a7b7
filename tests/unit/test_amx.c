/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_amx.c - the kernels on AMX's tile registers (cpu/quad/amx_tile.h), on any machine: their
 * text with a model of the registers, and, where the processor has AVX-512, the library's own
 * machine code with an emulator of the instructions, or with the instructions themselves.
 *
 * Random shapes against plain loops: sums are equal to the bit. Whatever is read or written ends at
 * a page that cannot be touched. Layers on these kernels are in test_precision.c,
 * test_linear_half.c and test_quantized_bytes.c.
 */
#include "support.h"

#include "amx_emulator.h"
#include "fenced.h"
#include "runtime/kernels/matmul/quad_matrix.h"

#include <float.h>

static uint64_t random_state = 88172645463325252u;

static int64_t random_below(int64_t n) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7,
        random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)n);
}

static bool random_one_in(int n) { return random_below(n) == 0; }

/* Memory whose last byte is the last of a page; given back by size. */
static void *at_the_end(size_t bytes) {
    size_t size = (bytes + FENCED_PAGE - 1) / FENCED_PAGE * FENCED_PAGE;
    char *p = mmap(NULL, size + FENCED_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    assert_true(p != MAP_FAILED);
    mprotect(p + size, FENCED_PAGE, PROT_NONE);
    return p + size - bytes;
}

static void at_the_end_free(void *p, size_t bytes) {
    size_t size = (bytes + FENCED_PAGE - 1) / FENCED_PAGE * FENCED_PAGE;
    munmap((char *)p + bytes - size, size + FENCED_PAGE);
}

/* ---- the arithmetic -------------------------------------------------------------------------- */

static float flushed(float x) { return fabsf(x) < FLT_MIN ? copysignf(0, x) : x; }

static float half_at(const void *p, int64_t i) {
    bfloat16 h;
    memcpy(&h, (const bfloat16 *)p + i, sizeof h);
    return flushed(bfloat16_to_float(h));
}

/* sum and the products of n pairs of bfloat16, `step` bytes from one of w to the next, as steps of
 * at most 16 pairs. */
static float dot_bf16(float sum, const uint8_t *x, const int8_t *w, int64_t step, int64_t n) {
    for (int64_t first = 0; first < n; first += 16) {
        float even = 0, odd = 0;
        for (int64_t i = first; i < n && i < first + 16; i++) {
            even = flushed(fmaf(half_at(x + 4 * i, 0), half_at(w + i * step, 0), even));
            odd = flushed(fmaf(half_at(x + 4 * i, 1), half_at(w + i * step, 1), odd));
        }
        sum = flushed(flushed(sum) + flushed(even + odd));
    }
    return sum;
}

static int32_t dot_bytes(int32_t sum, const uint8_t *x, const int8_t *w, int64_t step, int64_t n) {
    for (int64_t i = 0; i < 4 * n; i++)
        sum = (int32_t)((uint32_t)sum + (uint32_t)(x[i] * w[i / 4 * step + i % 4]));
    return sum;
}

static bfloat16 random_half(void) {
    static const float ends[] = {0x1p-127f, -0x1.8p-130f, 0x1p-100f, 0x1p-60f, 0x1p60f, 0};
    if (random_one_in(50)) return bfloat16_from_float(ends[random_below(6)]);
    return bfloat16_from_float(ldexpf((float)random_below(511) - 255, (int)random_below(11) - 5));
}

/* Any bytes, or any bfloat16. */
static void random_fill(void *p, int64_t bytes, ukernel_type type) {
    for (int64_t i = 0; i < bytes / 2; i++)
        if (type == UKERNEL_BF16) ((bfloat16 *)p)[i] = random_half();
    for (int64_t i = 0; i < bytes && type == UKERNEL_BYTES; i++)
        ((uint8_t *)p)[i] = random_one_in(4) ? (uint8_t)(255 * random_below(2))
                                             : (uint8_t)random_below(256);
}

/* ---- tiles ----------------------------------------------------------------------------------- */

typedef struct tile_case {
    ukernel_type type;
    const quad_kernels *u;
    int rows, panels;
    int64_t extra; /* bytes of a that may be read after what the segments need */
    size_t as, bs, sizes;
    quad_tile t;
} tile_case;

static tile_case random_tile(ukernel_type type, const quad_kernels *u) {
    tile_case c = {.type = type,
                   .u = u,
                   .rows = 1 + (int)random_below(random_one_in(2) ? 32 : 16),
                   .panels = 1 + (int)random_below(2)};
    quad_tile *t = &c.t;
    int64_t *segment, length;
    t->segments = 1 + random_below(4);
    t->quads = 1 + random_below(random_one_in(3) ? 70 : 20);
    t->filled = (t->quads + 15) / 16 * 16;
    t->panel = t->segments * t->filled * QUAD_PANEL;
    length = t->quads * QUAD_BYTES;
    segment = malloc((size_t)t->segments * sizeof *segment);
    for (int64_t s = 0; s < t->segments; s++) segment[s] = 2 * random_below(50);
    t->segment = segment;
    t->lda = 2 * (1 + random_below(random_one_in(3) ? 4 : 200)); /* rows may overlap */
    int64_t reach = 0;
    for (int64_t s = 0; s < t->segments; s++)
        if (segment[s] > reach) reach = segment[s];
    c.extra = random_one_in(2) ? 0 : 2 * random_below(40);
    c.as = (size_t)((c.rows - 1) * t->lda + reach + length + c.extra);
    c.bs = (size_t)(c.panels * t->panel);
    t->ld = c.panels * QUAD_COLUMNS + random_below(9);
    c.sizes = (size_t)((c.rows - 1) * t->ld + c.panels * QUAD_COLUMNS) * sizeof(int32_t);
    t->a = at_the_end(c.as);
    t->b = at_the_end(c.bs);
    t->sums = at_the_end(c.sizes);
    t->start = at_the_end((size_t)c.panels * QUAD_PANEL);
    random_fill((void *)t->a, (int64_t)c.as, type);
    random_fill((void *)t->b, (int64_t)c.bs, type);
    for (int i = 0; i < c.panels * QUAD_COLUMNS; i++)
        if (type == UKERNEL_BF16) ((float *)t->start)[i] = (float)random_below(99) * 0.37f;
        else ((int32_t *)t->start)[i] = (int32_t)random_below(1 << 20) - (1 << 19);
    for (int64_t p = 0; p < c.panels * t->segments; p++) /* filled up with zeros */
        memset((int8_t *)t->b + (p * t->filled + t->quads) * QUAD_PANEL, 0,
               (size_t)(t->filled - t->quads) * QUAD_PANEL);
    t->end = random_one_in(3) ? NULL : t->a + c.as;
    if (random_one_in(2)) t->next = t->b, t->lines = random_below(40);
    return c;
}

static void tile_free(tile_case *c) {
    free((void *)c->t.segment);
    at_the_end_free((void *)c->t.a, c->as);
    at_the_end_free((void *)c->t.b, c->bs);
    at_the_end_free(c->t.sums, c->sizes);
    at_the_end_free((void *)c->t.start, (size_t)c->panels * QUAD_PANEL);
}

static void check_sum(const tile_case *c, int r, int j) {
    const quad_tile *t = &c->t;
    const int8_t *b = t->b + j / QUAD_COLUMNS * t->panel + j % QUAD_COLUMNS * QUAD_BYTES;
    const void *start = (const int32_t *)t->start + j,
               *got = (const int32_t *)t->sums + r * t->ld + j;
    int32_t whole = *(const int32_t *)start;
    float real = *(const float *)start;
    for (int64_t s = 0; s < t->segments; s++, b += t->filled * QUAD_PANEL) {
        const uint8_t *x = t->a + r * t->lda + t->segment[s];
        if (c->type == UKERNEL_BF16) real = dot_bf16(real, x, b, QUAD_PANEL, t->quads);
        else whole = dot_bytes(whole, x, b, QUAD_PANEL, t->quads);
    }
    if (c->type == UKERNEL_BF16) memcpy(&whole, &real, sizeof whole);
    if (memcmp(got, &whole, sizeof whole) != 0)
        fail_msg("%d rows, %d panels, %lld segments of %lld, row %d, column %d: %x, not %x",
                 c->rows, c->panels, (long long)t->segments, (long long)t->quads, r, j,
                 *(const unsigned *)got, (unsigned)whole);
}

static void check_tiles(void *ctx, const quad_kernels *u) {
    ukernel_type type = *(ukernel_type *)ctx;
    for (int i = 0; i < 1500; i++) {
        tile_case c = random_tile(type, u);
        int32_t *sums = c.t.sums;
        int64_t columns = c.panels * QUAD_COLUMNS;
        for (size_t k = 0; k < c.sizes / sizeof *sums; k++) sums[k] = 0x5a5a5a5a;
        u->begin(c.rows < 16 ? c.rows : 16);
        u->tile(c.rows, c.panels, &c.t);
        u->end();
        for (int r = 0; r < c.rows; r++)
            for (int64_t j = 0; j < (r < c.rows - 1 ? c.t.ld : columns); j++)
                if (j < columns) check_sum(&c, r, (int)j);
                else assert_int_equal(sums[r * c.t.ld + j], 0x5a5a5a5a);
        tile_free(&c);
    }
}

static void test_tiles(void **state) {
    (void)state;
    for (ukernel_type type = UKERNEL_BF16; type <= UKERNEL_BYTES; type++)
        amx_each(type, check_tiles, &type);
}

/* What follows a row may be anything: it is not a number times zero. */
static void check_neighbours(void *ctx, const quad_kernels *u) {
    static const int64_t segment[1] = {0};
    static bfloat16 a[20 * 24], b[16 * QUAD_PANEL / 2];
    static float sums[20 * 16], start[16];
    (void)ctx;
    for (int i = 0; i < 20 * 24; i++)
        a[i] = bfloat16_from_float(i % 24 < 20 ? 1 : i % 2 ? NAN : INFINITY);
    for (int q = 0; q < 10; q++)
        for (int e = 0; e < 32; e++) b[q * 32 + e] = bfloat16_from_float(2);
    quad_tile t = {.a = (const uint8_t *)a,
                   .lda = 48,
                   .end = (const uint8_t *)(a + 20 * 24),
                   .segment = segment,
                   .segments = 1,
                   .quads = 10,
                   .filled = 16,
                   .b = (const int8_t *)b,
                   .start = start,
                   .sums = sums,
                   .ld = 16};
    u->begin(16);
    u->tile(20, 1, &t);
    u->end();
    for (int i = 0; i < 20 * 16; i++) assert_true(sums[i] == 40);
}

static void test_neighbours(void **state) {
    (void)state;
    amx_each(UKERNEL_BF16, check_neighbours, NULL);
}

/* ---- strips ---------------------------------------------------------------------------------- */

typedef struct strip_case {
    quad_matrix m;
    size_t bytes, as, outs;
    int64_t rows, lda, ldc, first, last, group;
    float *weights, *bias, *out; /* [group][n][segments * k] */
    bfloat16 *a;
    int64_t segment[5];
    bool halves;
    void *other; /* like out, or NULL */
    enum dense_activation activation;
} strip_case;

static strip_case random_strip(const quad_kernels *u) {
    strip_case c = {.rows = 1 + random_below(random_one_in(4) ? 150 : 40),
                    .halves = random_one_in(3)};
    int64_t groups = 1 + random_below(2);
    c.m = (quad_matrix){.kernels = u,
                        .n = 1 + random_below(90),
                        .groups = groups,
                        .segments = 1 + random_below(4),
                        .k = 2 * (1 + random_below(40))};
    assert_true(quad_matrix_bf16(&c.m, &c.bytes));
    c.m.data = aligned_alloc(64, c.bytes + 64);
    memset(c.m.data, 0, c.bytes);
    int64_t column = c.m.segments * c.m.k;
    c.weights = malloc((size_t)(groups * c.m.n * column) * sizeof *c.weights);
    for (int64_t i = 0; i < groups * c.m.n * column; i++)
        c.weights[i] = bfloat16_to_float(random_half());
    for (int64_t j = 0; j < groups * c.m.n; j++)
        quad_matrix_put(&c.m, j / c.m.n, j % c.m.n, c.weights + j * column);
    c.lda = c.m.k + 2 * random_below(9);
    int64_t reach = 0;
    for (int64_t s = 0; s < c.m.segments; s++) {
        c.segment[s] = 4 * random_below(30);
        if (c.segment[s] > reach) reach = c.segment[s];
    }
    c.as = (size_t)((c.rows - 1) * c.lda * 2 + reach + c.m.k * 2);
    c.a = at_the_end(c.as);
    random_fill(c.a, (int64_t)c.as, UKERNEL_BF16);
    c.group = random_below(groups);
    c.first = random_below(c.m.panels);
    c.last = c.first + 1 + random_below(c.m.panels - c.first);
    int64_t cols = (c.last * 16 < c.m.n ? c.last * 16 : c.m.n) - c.first * 16;
    c.bias = random_one_in(3) ? NULL : at_the_end((size_t)cols * sizeof *c.bias);
    for (int64_t j = 0; c.bias && j < cols; j++) c.bias[j] = (float)random_below(2001) * 0.01f;
    c.ldc = cols + random_below(5);
    c.outs = (size_t)((c.rows - 1) * c.ldc + cols) * (c.halves ? 2 : 4);
    c.out = at_the_end(c.outs);
    c.other = random_one_in(2) ? NULL : at_the_end(c.outs);
    for (int64_t i = 0; c.other && i < (int64_t)c.outs; i += c.halves ? 2 : 4) {
        float more = (float)random_below(2001) * 0.01f - 10;
        if (c.halves) ((bfloat16 *)c.other)[i / 2] = bfloat16_from_float(more);
        else ((float *)c.other)[i / 4] = more;
    }
    c.activation = random_one_in(2) ? DENSE_PLAIN : (enum dense_activation)random_below(9);
    return c;
}

static void strip_free(strip_case *c) {
    int64_t end = c->last * 16 < c->m.n ? c->last * 16 : c->m.n;
    free(c->m.data), free(c->weights);
    at_the_end_free(c->a, c->as);
    at_the_end_free(c->out, c->outs);
    if (c->other) at_the_end_free(c->other, c->outs);
    if (c->bias) at_the_end_free(c->bias, (size_t)(end - c->first * 16) * sizeof *c->bias);
}

static void check_strip_sum(const strip_case *c, int64_t r, int64_t j) {
    int64_t quads = c->m.k / 2, column = c->first * 16 + j;
    const float *w = c->weights + (c->group * c->m.n + column) * c->m.segments * c->m.k;
    float want = c->bias ? c->bias[j] : 0, got;
    for (int64_t s = 0; s < c->m.segments; s++) {
        bfloat16 half[2 * 40];
        for (int64_t i = 0; i < c->m.k; i++) half[i] = bfloat16_from_float(w[s * c->m.k + i]);
        const uint8_t *x = (const uint8_t *)(c->a + r * c->lda) + c->segment[s];
        want = dot_bf16(want, x, (const int8_t *)half, 4, quads);
    }
    dense_epilogue after = {.other = c->other, .activation = c->activation};
    if (c->halves) {
        bfloat16 rounded;
        got = bfloat16_to_float(((const bfloat16 *)c->out)[r * c->ldc + j]);
        epilogue_halves(&after, DT_BFLOAT16, &want, r * c->ldc + j, 1, &rounded);
        want = bfloat16_to_float(rounded);
    } else {
        got = c->out[r * c->ldc + j];
        epilogue_rows(&after, &want, r * c->ldc + j, 1);
    }
    if (memcmp(&got, &want, sizeof got) != 0)
        fail_msg("%lld rows, %lld segments of %lld, %lld columns: %a, not %a at %lld, %lld",
                 (long long)c->rows, (long long)c->m.segments, (long long)c->m.k, (long long)c->m.n,
                 (double)got, (double)want, (long long)r, (long long)j);
}

static void check_strips(void *ctx, const quad_kernels *record) {
    quad_kernels tiles = *record;
    (void)ctx;
    tiles.vectors = NULL; /* few rows too */
    for (int i = 0; i < 600; i++) {
        strip_case c = random_strip(&tiles);
        quad_hold hold = {0};
        quad_strip s = {.a = c.a,
                        .rows = c.rows,
                        .lda = c.lda * 2,
                        .segment = c.segment,
                        .start = c.bias,
                        .halves = c.halves,
                        .half_other = c.halves,
                        .other = c.other,
                        .activation = c.activation,
                        .out = c.out,
                        .ldc = c.ldc};
        quad_strip_run(&c.m, c.group, c.first, c.last, &s, &hold);
        assert_ptr_equal(hold.kernels, &tiles);
        quad_release(&hold);
        assert_null(hold.kernels);
        int64_t end = c.last * 16 < c.m.n ? c.last * 16 : c.m.n;
        for (int64_t r = 0; r < c.rows; r++)
            for (int64_t j = 0; j < end - c.first * 16; j++) check_strip_sum(&c, r, j);
        strip_free(&c);
    }
}

static void test_strips(void **state) {
    (void)state;
    amx_each(UKERNEL_BF16, check_strips, NULL);
}

/* Few rows and short segments are computed without tiles, from the same panels; a configuration
 * lasts while rows are as many, whatever the number of tiles. */
static void column_of_ones(const void *ctx, int64_t group, int64_t j, int16_t *to) {
    (void)group, (void)j;
    for (int64_t i = 0; i < *(const int64_t *)ctx; i++) to[i] = 1;
}

static void check_choice(int64_t rows, int64_t k, bool tiles) {
    static uint8_t a[200 * 400];
    static float out[200 * 80], scale[80];
    static const int64_t segment[1] = {0};
    static const int32_t start[80] = {0};
    quad_matrix m;
    quad_hold hold = {0};
    memset(a, 1, sizeof a);
    for (int j = 0; j < 80; j++) scale[j] = 1;
    assert_true(quad_matrix_make(&m, 1, 80, 1, k, column_of_ones, &k));
    assert_int_equal(m.filled % m.kernels->depth, 0);
    quad_strip s = {.a = a,
                    .end = a + sizeof a,
                    .rows = rows,
                    .lda = 400,
                    .segment = segment,
                    .start = start,
                    .floats = &(quant_floats){.scale = scale},
                    .out = out,
                    .ldc = 80};
    long before = atomic_load(&amx_model_configurations);
    for (int i = 0; i < 3; i++) quad_strip_run(&m, 0, 0, m.panels, &s, &hold);
    assert_int_equal(hold.kernels != NULL, tiles);
    assert_int_equal(atomic_load(&amx_model_configurations) - before, tiles ? 1 : 0);
    quad_release(&hold);
    for (int64_t i = 0; i < rows * 80; i++) assert_true(out[i] == (float)k);
    quad_matrix_free(&m);
}

static void test_choice(void **state) {
    (void)state;
    ukernel_pretend(UKERNEL_QUAD, UKERNEL_BYTES, amx_model_record(UKERNEL_BYTES));
    check_choice(3, 100, false);
    check_choice(4, 100, true);
    check_choice(4, 12, false);
    check_choice(4, 13, true);
    check_choice(150, 400, true);
    ukernel_pretend(UKERNEL_QUAD, UKERNEL_BYTES, NULL);
}

/* ---- the model ------------------------------------------------------------------------------- */

/* One sum on the model: C is c, A's row and B's column are x and w. */
static float model_sum(float c, const float *x, const float *w, int n) {
    bfloat16 a[2] = {{0}}, b[2] = {{0}};
    float sum;
    amx_config config = {.palette = 1};
    for (int i = 0; i < 8; i++) config.rows[i] = 1, config.bytes[i] = 4;
    for (int i = 0; i < n; i++) a[i] = bfloat16_from_float(x[i]), b[i] = bfloat16_from_float(w[i]);
    amx_model_configure(&config);
    amx_model_load(0, &c, 0), amx_model_load(1, a, 0), amx_model_load(2, b, 0);
    amx_model_dot_bf16(0, 1, 2);
    amx_model_store(0, &sum, 0);
    amx_model_release();
    return sum;
}

/* What was measured on the processor. */
static void test_model(void **state) {
    (void)state;
    assert_true(model_sum(1, (float[]){2, 3}, (float[]){5, 7}, 2) == 32);
    /* both chains are added before C is: 2^24 + (1 + 1) */
    assert_true(model_sum(0x1p24f, (float[]){1, 1}, (float[]){1, 1}, 2) == 0x1p24f + 2);
    assert_true(model_sum(0x1p-130f, (float[]){0}, (float[]){0}, 1) == 0);
    assert_true(model_sum(0, (float[]){0x1p-130f}, (float[]){0x1p20f}, 1) == 0);
    assert_true(model_sum(0, (float[]){0x1p-70f}, (float[]){0x1p-70f}, 1) == 0);
    assert_true(isnan(model_sum(0, (float[]){INFINITY}, (float[]){0}, 1)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),      cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_neighbours), cmocka_unit_test(test_strips),
        cmocka_unit_test(test_choice),
    };
    if (!amx_emulator_start())
        print_message("[          ] not run: machine code, this processor has no AVX512-BF16\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
