/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quads.c - the speed of products of bfloat16 and of bytes (cpu/quad/quad.h), one thread: each set
 * of kernels that this processor has, whether it is chosen here or not.
 *
 *     quads [FILTER]        (make bench-quads)
 *
 * Weights as a linear layer's, strips of rows as layers cut them. The kernels follow each other in
 * turns, so all meet the same machine; shown is the best of each, in GFLOP/s. Where one with tile
 * registers is slower than its vectors, its least_rows and least_quads are too small.
 */
#include "base/minmax.h"
#include "runtime/kernels/matmul/quad_matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BENCH_KERNELS = 8, BENCH_TURNS = 12 };

typedef struct bench_shape { int64_t rows, n, k; } bench_shape;

static const bench_shape bench_shapes[] = {
    /* one weight in the second cache, more and more rows */
    {1, 512, 512},
    {2, 512, 512},
    {3, 512, 512},
    {4, 512, 512},
    {6, 512, 512},
    {8, 512, 512},
    {16, 512, 512},
    {32, 512, 512},
    {49, 512, 512},
    {128, 512, 512},
    /* few elements of k, as convolutions of few channels have */
    {512, 64, 8},
    {512, 64, 16},
    {512, 64, 32},
    {512, 64, 64},
    {512, 64, 144},
    {512, 256, 64},
    /* layers of transformers */
    {128, 768, 768},
    {128, 3072, 768},
    {128, 768, 3072},
    {1, 5632, 2048},
    {32, 5632, 2048},
    {512, 5632, 2048},
};

typedef struct bench_layer {
    quad_matrix m;
    void *a, *out, *memory;
    int64_t lda; /* bytes */
    bench_shape s;
} bench_layer;

static double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void bench_column(const void *ctx, int64_t group, int64_t j, int16_t *to) {
    (void)group;
    for (int64_t i = 0; i < *(const int64_t *)ctx; i++) to[i] = (int16_t)((i * 7 + j) % 200 - 100);
}

static bool bench_make(bench_layer *l, ukernel_type type, const quad_kernels *u, bench_shape s) {
    size_t bytes;
    *l = (bench_layer){.s = s};
    ukernel_pretend(UKERNEL_QUAD, type, u);
    if (type == UKERNEL_BYTES) {
        if (!quad_matrix_make(&l->m, 1, s.n, 1, s.k, bench_column, &s.k)) return false;
        l->lda = l->m.quads * QUAD_BYTES;
    } else {
        l->m = (quad_matrix){
            .kernels = u, .n = s.n, .groups = 1, .segments = 1, .k = quad_whole_k(u, s.k)};
        if (!quad_matrix_bf16(&l->m, &bytes)) return false;
        l->memory = l->m.data = aligned_alloc(64, bytes);
        if (l->memory) memset(l->memory, 0, bytes);
        l->lda = l->m.k * (int64_t)sizeof(bfloat16);
    }
    ukernel_pretend(UKERNEL_QUAD, type, NULL);
    l->a = calloc((size_t)s.rows, (size_t)l->lda);
    l->out = calloc((size_t)(s.rows * s.n), sizeof(float));
    return l->a && l->out && l->m.data;
}

static void bench_free(bench_layer *l) {
    if (l->memory) free(l->memory);
    else quad_matrix_free(&l->m);
    free(l->a), free(l->out);
}

static void bench_call(const bench_layer *l, const float *scale, const int32_t *start) {
    static const int64_t segment[3] = {0};
    const quad_matrix *m = &l->m;
    bool bytes = m->sums != NULL;
    int64_t block = quad_block_rows(m, l->lda);
    quad_hold hold = {0};
    quad_strip s = {.end = (const char *)l->a + l->s.rows * l->lda,
                    .lda = l->lda,
                    .of = l->s.rows,
                    .segment = segment,
                    .start = start,
                    .ldc = l->s.n};
    for (int64_t row = 0; row < l->s.rows; row += block)
        for (int64_t p = 0; p < m->panels; p += QUAD_MAX_PANELS) {
            quant_bytes to = {.scale = scale, .steps = scale, .lo = -100, .hi = 100, .zero = 100};
            if (bytes) s.bytes = &to;
            s.a = (const char *)l->a + row * l->lda;
            s.rows = int64_min(block, l->s.rows - row);
            s.out = (char *)l->out +
                    (row * l->s.n + p * QUAD_COLUMNS) * (bytes ? 1 : (int64_t)sizeof(float));
            quad_strip_run(m, 0, p, int64_min(p + QUAD_MAX_PANELS, m->panels), &s, &hold);
        }
    quad_release(&hold);
}

/* The best of some turns, in GFLOP/s of each. */
static void bench_turns(const bench_layer *layers, int n, double *best) {
    static float scale[QUAD_MAX_PANELS * QUAD_COLUMNS];
    static int32_t start[QUAD_MAX_PANELS * QUAD_COLUMNS];
    for (int turn = 0; turn < BENCH_TURNS; turn++)
        for (int i = 0; i < n; i++) {
            const bench_shape *s = &layers[i].s;
            double work = 2e-9 * (double)(s->rows * s->n * s->k), begin = bench_now(), took;
            int calls = 0;
            do bench_call(&layers[i], scale, start), calls++;
            while ((took = bench_now() - begin) < 2e-3);
            if (work * calls / took > best[i]) best[i] = work * calls / took;
        }
}

static void bench_type(ukernel_type type, const char *filter) {
    const ukernel *kernels[BENCH_KERNELS];
    int n = 0;
    for (const ukernel *u = ukernel_first(UKERNEL_QUAD, type); u && n < BENCH_KERNELS;
         u = ukernel_next(u))
        if (isa_has(u->isa) && strstr(u->name, filter)) kernels[n++] = u;
    if (!n) return;
    printf("\n%8s%8s%8s", "rows", "n", "k");
    for (int i = 0; i < n; i++) printf("%22s", kernels[i]->name);
    printf("\n");
    for (size_t k = 0; k < sizeof bench_shapes / sizeof *bench_shapes; k++) {
        bench_shape s = bench_shapes[k];
        bench_layer layers[BENCH_KERNELS];
        double best[BENCH_KERNELS] = {0};
        bool made = true;
        for (int i = 0; i < n; i++) made &= bench_make(&layers[i], type, kernels[i]->record, s);
        if (made) bench_turns(layers, n, best);
        printf("%8lld%8lld%8lld", (long long)s.rows, (long long)s.n, (long long)s.k);
        for (int i = 0; i < n; i++) printf("%22.1f", best[i]);
        printf("\n");
        for (int i = 0; i < n; i++) bench_free(&layers[i]);
    }
}

int main(int argc, char **argv) {
    const char *filter = argc > 1 ? argv[1] : "";
    bench_type(UKERNEL_BF16, filter);
    bench_type(UKERNEL_BYTES, filter);
    return 0;
}
