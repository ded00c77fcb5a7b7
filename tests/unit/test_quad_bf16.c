/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_quad_bf16.c - the micro-kernels of bfloat16 (cpu/quad/quad.h) that this processor has, tile
 * registers excepted (test_amx.c): tiles, one row, and columns with quads of their own, of random
 * shapes, against sums in float64. Activations end at a page that cannot be touched, and nothing is
 * written beside the sums.
 */
#include "support.h"

#include "fenced.h"
#include "ukernels.h"

#include <math.h>
#include <string.h>

enum { CASES = 600, MOST_ROWS = 14, MOST_QUADS = 70, MOST_SEGMENTS = 4 };

static uint64_t random_state = 88172645463325252u;

static int64_t random_below(int64_t n) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7,
        random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)n);
}

static void random_numbers(void *p, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        ((bfloat16 *)p)[i] = bfloat16_from_float(
            ldexpf((float)random_below(511) - 255, (int)random_below(5) - 9));
}

typedef enum tile_kind { TILE, ROW, GROUPS } tile_kind;

typedef struct tile_case {
    tile_kind kind;
    quad_tile t;
    int rows, panels;
    int64_t segment[MOST_SEGMENTS];
    int32_t lanes[QUAD_COLUMNS];
    float start[QUAD_ROW_PANELS * QUAD_COLUMNS];
    float sums[MOST_ROWS * (QUAD_ROW_PANELS * QUAD_COLUMNS + 9)];
    int8_t b[QUAD_ROW_PANELS * MOST_SEGMENTS * MOST_QUADS * QUAD_PANEL];
    size_t as;
} tile_case;

static void random_tile(tile_case *c, const quad_kernels *u, tile_kind kind) {
    int64_t reach = 0, columns;
    memset(c, 0, sizeof *c);
    c->kind = kind;
    /* the heights that the kernels have */
    int rows = 1 + (int)random_below(u->rows < MOST_ROWS ? u->rows : MOST_ROWS);
    c->rows = kind == ROW ? 1 : kind == TILE && u->heights ? u->heights[rows] : rows;
    c->panels = kind == ROW      ? QUAD_ROW_PANELS
                : kind == GROUPS ? 1
                                 : 1 + (int)random_below(u->panels);
    columns = c->panels * QUAD_COLUMNS;
    c->t = (quad_tile){.lda = QUAD_BYTES * (1 + random_below(60)),
                       .segment = c->segment,
                       .segments = 1 + random_below(MOST_SEGMENTS),
                       .b = c->b,
                       .start = c->start,
                       .sums = c->sums,
                       .ld = columns + random_below(9),
                       .next = c->b,
                       .lines = random_below(2)};
    c->t.quads = 1 + random_below(kind == GROUPS ? QUAD_LANES : MOST_QUADS);
    c->t.filled = c->t.quads;
    c->t.panel = c->t.segments * c->t.filled * QUAD_PANEL;
    for (int64_t s = 0; s < c->t.segments; s++) {
        c->segment[s] = QUAD_BYTES * random_below(40);
        if (c->segment[s] > reach) reach = c->segment[s];
    }
    for (int i = 0; kind == GROUPS && i < QUAD_COLUMNS; i++)
        c->lanes[i] = (int32_t)random_below(QUAD_LANES - c->t.quads + 1);
    if (kind == GROUPS) c->t.lanes = c->lanes;
    c->as = (size_t)((c->rows - 1) * c->t.lda + reach +
                     (kind == GROUPS ? QUAD_LANES : c->t.quads) * QUAD_BYTES);
    c->t.a = fenced_alloc(NULL, c->as);
    random_numbers((void *)(uintptr_t)c->t.a, (int64_t)c->as / 2);
    random_numbers(c->b, c->panels * c->t.panel / 2);
    for (int64_t i = 0; i < columns; i++) c->start[i] = (float)random_below(99) * 0.37f;
    for (size_t i = 0; i < sizeof c->sums / sizeof *c->sums; i++) c->sums[i] = -INFINITY;
}

static float number(const void *p, int64_t i) {
    bfloat16 v;
    memcpy(&v, (const char *)p + i * 2, sizeof v);
    return bfloat16_to_float(v);
}

static void check_sum(const tile_case *c, const quad_kernels *u, int r, int64_t j) {
    const quad_tile *t = &c->t;
    double sum = (double)c->start[j], size = fabs(sum);
    const int8_t *b = t->b + j / QUAD_COLUMNS * t->panel + j % QUAD_COLUMNS * QUAD_BYTES;
    for (int64_t s = 0; s < t->segments; s++)
        for (int64_t q = 0; q < t->quads; q++, b += QUAD_PANEL)
            for (int64_t e = 0; e < 2; e++) {
                int64_t at = q + (c->kind == GROUPS ? c->lanes[j] : 0);
                double product = (double)number(t->a + r * t->lda + t->segment[s], 2 * at + e) *
                                 (double)number(b, e);
                sum += product, size += fabs(product);
            }
    double got = (double)c->sums[r * t->ld + j],
           most = (double)(2 * t->segments * t->quads + 2) * 0x1p-23 * size;
    if (!(fabs(got - sum) <= most))
        fail_msg(
            "%s, kind %d, %d rows, %d panels, %lld segments of %lld: %.9g, not %.9g, at %d, %lld",
            isa_table[u->isa].name, c->kind, c->rows, c->panels, (long long)t->segments,
            (long long)t->quads, got, sum, r, (long long)j);
}

static void check_kind(tile_kind kind) {
    static tile_case c;
    for (const ukernel **k = usable_ukernels(UKERNEL_QUAD, UKERNEL_BF16); *k; k++) {
        const quad_kernels *u = (*k)->record;
        if (u->begin || (kind == ROW && !u->row) || (kind == GROUPS && !u->groups)) continue;
        for (int i = 0; i < CASES; i++) {
            random_tile(&c, u, kind);
            if (kind == TILE) u->tile(c.rows, c.panels, &c.t);
            else if (kind == ROW) u->row(&c.t);
            else u->groups(c.rows, &c.t);
            int64_t columns = c.panels * QUAD_COLUMNS, room = sizeof c.sums / sizeof *c.sums;
            for (int64_t at = 0; at < room; at++) {
                int64_t r = at / c.t.ld, j = at % c.t.ld;
                if (r < c.rows && j < columns) check_sum(&c, u, (int)r, j);
                else assert_true(c.sums[at] == -INFINITY);
            }
            fenced_free(NULL, (void *)(uintptr_t)c.t.a, c.as);
        }
    }
}

static void test_tiles(void **state) {
    (void)state;
    check_kind(TILE);
}
static void test_row(void **state) {
    (void)state;
    check_kind(ROW);
}
static void test_groups(void **state) {
    (void)state;
    check_kind(GROUPS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tiles), cmocka_unit_test(test_row),
                                       cmocka_unit_test(test_groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
