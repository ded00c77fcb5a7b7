/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm.c - matrix products on raw strided memory.
 *
 * Method: complex products go to BLAS; products of floats and doubles go to gemm_block.c where it
 * knows the processor (except vectors with gaps), else to BLAS: an OpenBLAS that does not know the
 * processor uses kernels three times as slow. A large product is cut into chunks that the pool
 * spreads over threads: gemm_block.c's along both sides, which does not change any element; BLAS's
 * along the longer side at borders that depend only on the shape. An operand with contiguous rows
 * or columns is handed to BLAS in place (transposed or not), any other is packed first; within a
 * chunk BLAS runs serially. Products too small to repay any of this are three plain loops.
 * Tests: tests/unit/test_matmul.c, tests/unit/test_gemm_block.c
 */
/* Comes first: OpenBLAS declares a type bfloat16 of its own and brings in complex.h's macros. */
#ifdef CTSC_RT
#include "runtime/kernels/matmul/no_blas.h"
#else
#define bfloat16 openblas_bfloat16
#include <cblas.h>
#undef bfloat16
#undef complex
#undef I
#include <pthread.h>
enum { GEMM_HAS_BLAS = 1 };
#endif

#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/engine/slots.h"
#include "runtime/kernels/engine/wide.h"
#include "runtime/kernels/matmul/gemm_bf16.h"
#include "runtime/kernels/matmul/gemm_block.h"
#include "runtime/kernels/matmul/packed_weights.h"
#include "runtime/kernels/sparse/sparse_weight.h"

#include "base/memory/recycle.h"
#include "ir/scalar/scalar_ops_complex.h"
#include "runtime/kernels/engine/device_kernels.h"

#include <math.h>
#include <string.h>

enum { GEMM_CHUNKS = SLOTS_MAX }; /* of an own product at most */

#ifdef CTSC_RT
void gemm_setup(void) {}
#else
static void gemm_setup_once(void) { openblas_set_num_threads(1); }

void gemm_setup(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, gemm_setup_once);
}
#endif

bool gemm_supports(dtype dt) {
    return dtype_is_int(dt) || dtype_is_float(dt) || dt == DT_COMPLEX64 || dt == DT_COMPLEX128;
}

gemm_scale gemm_scale_of(const value *v) {
    double f = arg_float(v);
    if (v->tag == V_INT) return (gemm_scale){f, v->u.i, 0};
    /* C leaves the conversion of what does not fit undefined. */
    bool fits = f > -9.2e18 && f < 9.2e18;
    return (gemm_scale){f, fits ? (int64_t)f : 0, v->tag == V_COMPLEX ? v->u.complex->im : 0};
}

/* ---- one product, as the chunks of it see it ------------------------------------------------- */

typedef struct gemm_job {
    dtype dt;
    int64_t m, n, k;
    gemm_scale alpha, beta;
    gemm_matrix a, b;
    char *c;
    int64_t ldc;
    bool by_rows; /* chunks are ranges of rows, else of columns */
} gemm_job;

/* The part of a job between rows or columns begin and end. */
static gemm_job gemm_part(const gemm_job *job, int64_t begin, int64_t end) {
    gemm_job part = *job;
    size_t size = dtype_size(job->dt);
    if (job->by_rows) {
        part.m = end - begin;
        part.a.p = (const char *)job->a.p + begin * job->a.rs * (int64_t)size;
        part.c = job->c + begin * job->ldc * (int64_t)size;
    } else {
        part.n = end - begin;
        part.b.p = (const char *)job->b.p + begin * job->b.cs * (int64_t)size;
        part.c = job->c + begin * (int64_t)size;
    }
    return part;
}

/* How BLAS sees an operand: row-major with ld between rows, or the transpose of that. */
typedef struct gemm_layout {
    CBLAS_TRANSPOSE trans;
    int64_t ld;
    bool ok;
} gemm_layout;

static gemm_layout gemm_layout_of(int64_t rows, int64_t cols, int64_t rs, int64_t cs) {
    if ((cs == 1 || cols == 1) && (rows == 1 || rs >= cols))
        return (gemm_layout){CblasNoTrans, rows == 1 ? cols : rs, true};
    if ((rs == 1 || rows == 1) && (cols == 1 || cs >= rows))
        return (gemm_layout){CblasTrans, cols == 1 ? rows : cs, true};
    return (gemm_layout){CblasNoTrans, cols, false};
}

#define T float
#define NAME(x) x##_float
#define BLAS(x) cblas_s##x
#include "runtime/kernels/matmul/gemm_wide.h"

#define T double
#define NAME(x) x##_double
#define BLAS(x) cblas_d##x
#include "runtime/kernels/matmul/gemm_wide.h"

#ifndef CTSC_RT
#define T complex64
#define NAME(x) x##_complex64
#define PART float
#define BLAS(x) cblas_c##x
#define SCALAR(x) scalar_##x##_c64
#include "runtime/kernels/matmul/gemm_complex.h"

#define T complex128
#define NAME(x) x##_complex128
#define PART double
#define BLAS(x) cblas_z##x
#define SCALAR(x) scalar_##x##_c128
#include "runtime/kernels/matmul/gemm_complex.h"
#endif

/* What BLAS multiplies. own: gemm_block.c may, too. */
typedef struct gemm_type {
    void (*scale)(const gemm_job *), (*tiny)(const gemm_job *);
    void (*chunk)(void *, int64_t, int64_t);
    bool own;
} gemm_type;
static const gemm_type gemm_types[DT_COMPUTED] = {
    [DT_FLOAT32] = {gemm_scale_float, gemm_tiny_float, gemm_chunk_float, true},
    [DT_FLOAT64] = {gemm_scale_double, gemm_tiny_double, gemm_chunk_double, true},
#ifndef CTSC_RT
    [DT_COMPLEX64] = {gemm_scale_complex64, gemm_tiny_complex64, gemm_chunk_complex64, false},
    [DT_COMPLEX128] = {gemm_scale_complex128, gemm_tiny_complex128, gemm_chunk_complex128, false},
#endif
};

#define T uint8_t
#define NAME(x) x##_uint8_t
#include "runtime/kernels/matmul/gemm_int.h"

#define T int8_t
#define NAME(x) x##_int8_t
#include "runtime/kernels/matmul/gemm_int.h"

#define T int16_t
#define NAME(x) x##_int16_t
#include "runtime/kernels/matmul/gemm_int.h"

#define T int32_t
#define NAME(x) x##_int32_t
#include "runtime/kernels/matmul/gemm_int.h"

#define T int64_t
#define NAME(x) x##_int64_t
#include "runtime/kernels/matmul/gemm_int.h"

/* ---- packing --------------------------------------------------------------------------------- */

/* A contiguous copy of a matrix that BLAS does not accept. NULL if out of memory. */
static void *gemm_pack(dtype dt, int64_t rows, int64_t cols, gemm_matrix *mat) {
    size_t bytes;
    if (!size_mul((size_t)rows, (size_t)cols, &bytes) || !size_mul(bytes, dtype_size(dt), &bytes))
        return NULL;
    void *copy = mem_alloc(bytes);
    if (!copy) return NULL;
#define GEMM_PACK(T)                                                                               \
    for (int64_t i = 0; i < rows; i++)                                                             \
        for (int64_t j = 0; j < cols; j++)                                                         \
            ((T *)copy)[i * cols + j] = ((const T *)mat->p)[i * mat->rs + j * mat->cs];
    switch (dt) {
    case DT_FLOAT64: GEMM_PACK(double) break;
    case DT_COMPLEX64: GEMM_PACK(complex64) break;
    case DT_COMPLEX128: GEMM_PACK(complex128) break;
    default: GEMM_PACK(float) break;
    }
    *mat = (gemm_matrix){copy, cols, 1};
    return copy;
}

/* ---- half and bfloat16 ----------------------------------------------------------------------- */

/* The matrix as floats: its rows or, where its columns are the ones without gaps, these one after
 * the other. *room: bytes to give back with recycle_free. NULL if out of memory. */
static float *gemm_widen(dtype dt, int64_t rows, int64_t cols, gemm_matrix *mat, size_t *room) {
    const bool by_columns = mat->cs != 1 && mat->rs == 1;
    int64_t lines = by_columns ? cols : rows, n = by_columns ? rows : cols,
            apart = by_columns ? mat->cs : mat->rs, step = by_columns ? mat->rs : mat->cs;
    if (!size_mul((size_t)rows, (size_t)cols, room) || !size_mul(*room, sizeof(float), room))
        return NULL;
    if (*room == 0) *room = sizeof(float);
    float *copy = recycle_alloc(*room);
    const uint16_t *from = mat->p;
    for (int64_t i = 0; copy && i < lines; i++, from += apart) {
        float *to = copy + i * n;
        if (step == 1) halves_to_floats(dt, from, to, n);
        else
            for (int64_t j = 0; j < n; j++) halves_to_floats(dt, from + j * step, to + j, 1);
    }
    *mat = by_columns ? (gemm_matrix){copy, 1, rows, NULL} : (gemm_matrix){copy, cols, 1, NULL};
    return copy;
}

static ctsc_status gemm_spread(diag *d, gemm_job *g, void (*chunk)(void *, int64_t, int64_t)) {
    g->by_rows = g->m > g->n;
    int64_t side = g->by_rows ? g->m : g->n, other = g->by_rows ? g->n : g->m;
    double cost = (double)other * (double)g->k; /* of one row or column */
    int64_t grain = cost > GEMM_CHUNK ? 1 : (int64_t)(GEMM_CHUNK / (cost + 1)) + 1;
    if (other > 1 && grain < GEMM_MIN_COLUMNS) grain = GEMM_MIN_COLUMNS;
    if (side > grain) return pool_for_limited(side, grain, chunk, g) ? CTSC_OK : limits_fail(d);
    chunk(g, 0, side);
    return CTSC_OK;
}

/* ---- own products ---------------------------------------------------------------------------- */

/* Cut into rows x columns chunks, which pack into a slot. */
typedef struct gemm_own_job {
    gemm_plan plan;
    gemm_problem whole;
    int64_t rows, cols; /* of a chunk */
    int64_t across;     /* chunks side by side */
    char *packed;       /* all of A, which the chunks share; NULL: each packs what it needs */
    slots slots;
} gemm_own_job;

static void gemm_own_chunks(void *ctx, int64_t begin, int64_t end) {
    gemm_own_job *job = ctx;
    int64_t size = job->plan.micro->size;
    slot taken = slots_take(&job->slots);
    void *scratch = taken.memory;
    for (int64_t chunk = begin; chunk < end; chunk++) {
        int64_t i = chunk / job->across * job->rows, j = chunk % job->across * job->cols;
        gemm_problem part = job->whole;
        part.m = part.m - i < job->rows ? part.m - i : job->rows;
        part.n = part.n - j < job->cols ? part.n - j : job->cols;
        part.a.p = (const char *)part.a.p + i * part.a.rs * size;
        part.b.p = (const char *)part.b.p + j * part.b.cs * size;
        part.c = (char *)part.c + (i * part.ldc + j) * size;
        if (part.after.bias) part.after.bias = (const char *)part.after.bias + j * size;
        part.after.other = epilogue_other(&part.after, i * part.ldc + j);
        gemm_block_run(job->plan, &part, scratch);
    }
    slots_give(&job->slots, taken);
}

/* What the thread with most to do has to do, in multiplications per step of k, with chunks of this
 * size: what a chunk packs counts as that many more rows or columns. */
static double gemm_own_work(const gemm_own_job *job, int64_t rows, int64_t cols, int threads) {
    const gemm_problem *p = &job->whole;
    gemm_method how = job->plan.method;
    bool packs_b = how != GEMM_PREPACKED && how != GEMM_LYING && how != GEMM_STREAM;
    int64_t chunks = ((p->m + rows - 1) / rows) * ((p->n + cols - 1) / cols),
            most = (chunks + threads - 1) / threads;
    return (double)most *
           ((double)rows * (double)cols + (how == GEMM_LYING ? 0 : GEMM_PACKS * (double)rows) +
            (packs_b ? GEMM_PACKS * (double)cols : 0));
}

/* Chunks that the threads have as much to do with; no more of them than that takes,
 * except for large products: a thread that is held up leaves some to others. */
static int64_t gemm_own_cut(gemm_own_job *job, int threads) {
    const gemm_problem *p = &job->whole;
    double load = p->m < GEMM_LOAD ? GEMM_LOAD : (double)p->m,
           chunks = load * (double)p->n * (double)p->k / GEMM_CHUNK,
           even = GEMM_EVEN * (double)p->m * (double)p->n / threads, least = INFINITY;
    int64_t most = chunks > GEMM_SHARES * threads ? GEMM_SHARES * threads : (int64_t)chunks,
            step = gemm_block_columns(job->plan), mr = job->plan.micro->mr;
    if (most > GEMM_CHUNKS) most = GEMM_CHUNKS;
    int64_t n = chunks > (double)most * GEMM_LARGE ? most : (int64_t)(chunks / GEMM_LARGE);
    job->rows = p->m, job->cols = p->n;
    for (n = n < 1 ? 1 : n; threads > 1 && n <= most && least > even; n++)
        for (int64_t down = 1; down <= n; down++) {
            if (n % down) continue;
            int64_t rows = down == 1 ? p->m : ((p->m + down - 1) / down + mr - 1) / mr * mr,
                    across = n / down,
                    cols = across == 1 ? p->n
                                       : ((p->n + across - 1) / across + step - 1) / step * step;
            double work = gemm_own_work(job, rows, cols, threads);
            if (work < least) least = work, job->rows = rows, job->cols = cols;
        }
    job->across = (p->n + job->cols - 1) / job->cols;
    return job->across * ((p->m + job->rows - 1) / job->rows);
}

static void gemm_own_rows(void *ctx, int64_t begin, int64_t end) {
    gemm_own_job *job = ctx;
    gemm_block_pack_rows(job->plan, &job->whole, begin, end, job->packed);
}

/* Where chunks have all of A's rows, they share one packed copy of it. Memory for it; NULL: they do
 * not, or there is none. */
static void *gemm_own_share(gemm_own_job *job, int64_t chunks, int64_t *parts, size_t *bytes) {
    size_t part;
    if (job->plan.method != GEMM_PREPACKED || chunks < 2 || job->rows < job->whole.m) return NULL;
    *parts = gemm_block_row_parts(job->plan, job->whole.m, job->whole.k, &part);
    return size_mul((size_t)*parts, part, bytes) && *bytes < SIZE_MAX - 64
               ? recycle_alloc(*bytes += 64)
               : NULL;
}

static ctsc_status gemm_own(diag *d, gemm_own_job *job) {
    _Alignas(SLOTS_ALIGN) char small[GEMM_SMALL];
    int64_t chunks = gemm_own_cut(job, pool_threads()), parts = 0;
    size_t bytes = gemm_block_scratch(job->plan, job->rows, job->cols, job->whole.k),
           share_bytes = 0;
    void *share = gemm_own_share(job, chunks, &parts, &share_bytes);
    if (share) {
        job->packed = (char *)share + (-(uintptr_t)share & 63);
        job->whole.rows = job->packed;
        bytes = 0; /* slots are on the stack: nothing below fails */
    }
    if (!slots_begin_in(&job->slots, bytes, chunks, small, sizeof small)) return diag_no_memory(d);
    bool whole = !share || pool_for_limited(parts, 4, gemm_own_rows, job);
    whole = whole && pool_for_limited(chunks, 1, gemm_own_chunks, job);
    slots_end(&job->slots);
    recycle_free(share, share_bytes);
    return whole ? CTSC_OK : limits_fail(d);
}

/* ---- packed weights -------------------------------------------------------------------------- */

/* Rows of A that would map to the same set of the first-level cache for all tiles, moved apart. */
typedef struct gemm_apart {
    gemm_matrix from, to;
    int64_t bytes; /* of a row */
} gemm_apart;

static void gemm_apart_rows(void *ctx, int64_t begin, int64_t end) {
    const gemm_apart *g = ctx;
    for (int64_t i = begin; i < end; i++)
        memcpy((float *)g->to.p + i * g->to.rs, (const float *)g->from.p + i * g->from.rs,
               (size_t)g->bytes);
}

/* Memory for the copy that *a becomes, and its size; NULL: it stays. */
static void *gemm_move_apart(const gemm_prepacked *b, int64_t m, gemm_matrix *a, size_t *size) {
    const int64_t most = GEMM_LYING_COPY / (int64_t)sizeof(float);
    int64_t row = b->k + GEMM_LYING_GAP;
    if (row * (int64_t)sizeof(float) % GEMM_LYING_FAR == 0) row += GEMM_LYING_GAP;
    if (!b->micro->rows[1] || a->cs != 1 || m > most / row ||
        gemm_block_plan_prepacked(b->micro, m, b->k, a).method != GEMM_PREPACKED)
        return NULL;
    *size = (size_t)(m * row) * sizeof(float);
    void *copy = recycle_alloc(*size);
    if (!copy) return NULL; /* they are packed, then */
    gemm_apart g = {*a, {.p = copy, .rs = row, .cs = 1}, b->k * (int64_t)sizeof(float)};
    pool_for(m, GEMM_LYING_ROWS, gemm_apart_rows, &g);
    *a = g.to;
    return copy;
}

/* Rows with infinities or NaN, by a weight that has no panels: as it was given. */
static ctsc_status gemm_run_odd(diag *d, const gemm_prepacked *b, int64_t m, gemm_matrix a,
                                const dense_epilogue *after, float *c, int64_t ldc) {
    gemm_matrix w = {.p = b->of, .rs = b->strides[1], .cs = b->strides[0]};
    TRY(gemm_run(d, DT_FLOAT32, m, b->n, b->k, gemm_one, a, w, gemm_zero, c, ldc));
    const float *bias = after ? after->bias : NULL;
    for (int64_t r = 0; after && r < m; r++, c += ldc) {
        for (int64_t i = 0; bias && i < b->n; i++) c[i] += bias[i];
        epilogue_rows(after, c, r * ldc, b->n);
    }
    return CTSC_OK;
}

ctsc_status gemm_run_prepacked(diag *d, const gemm_prepacked *b, int64_t m, gemm_matrix a,
                               const dense_epilogue *after, void *c, int64_t ldc) {
    if (m == 0) return CTSC_OK;
    if (b->sparse && sparse_weight_pays(b->sparse, m)) {
        bool done;
        TRY(sparse_weight_run(d, b->sparse, m, a, after, c, ldc, &done));
        if (done) return CTSC_OK;
    }
    if (PREPACK_MAKES && !b->panels) return gemm_run_odd(d, b, m, a, after, c, ldc);
    size_t apart_size = 0;
    void *apart = gemm_move_apart(b, m, &a, &apart_size);
    gemm_own_job own = {.plan = gemm_block_plan_prepacked(b->micro, m, b->k, &a)};
    own.whole = (gemm_problem){.m = m,
                               .n = b->n,
                               .k = b->k,
                               .alpha = 1,
                               .a = a,
                               .b = {.p = b->panels, .rs = 0, .cs = b->k},
                               .c = c,
                               .ldc = ldc};
    if (after) own.whole.after = *after;
    ctsc_status st = gemm_own(d, &own);
    recycle_free(apart, apart_size);
    return st;
}

static ctsc_status gemm_wide(diag *d, gemm_job *g) {
    const gemm_type *type = &gemm_types[g->dt];
    if (!type->scale) return diag_fail(d, CTSC_UNSUPPORTED, "a product of complex numbers");
    if (g->k == 0 || (g->alpha.f == 0 && g->alpha.im == 0)) {
        type->scale(g);
        return CTSC_OK;
    }
    if ((double)g->m * (double)g->n * (double)g->k <= GEMM_TINY) {
        type->tiny(g);
        return CTSC_OK;
    }
    if (type->own) {
        gemm_own_job own = {
            .whole = {g->m, g->n, g->k, g->alpha.f, g->beta.f, g->a, g->b, g->c, g->ldc}};
        own.plan = gemm_block_plan(gemm_micro_best(g->dt), &own.whole);
        if (own.plan.method != GEMM_BLAS) return gemm_own(d, &own);
    }
    if (!GEMM_HAS_BLAS) return diag_fail(d, CTSC_UNSUPPORTED, "a product of vectors with gaps");
    gemm_setup();
    void *packed_a = NULL, *packed_b = NULL;
    ctsc_status st = CTSC_OK;
    gemm_layout la = gemm_layout_of(g->m, g->k, g->a.rs, g->a.cs);
    gemm_layout lb = gemm_layout_of(g->k, g->n, g->b.rs, g->b.cs);
    if (!la.ok && !(packed_a = gemm_pack(g->dt, g->m, g->k, &g->a))) st = diag_no_memory(d);
    if (st == CTSC_OK && !lb.ok && !(packed_b = gemm_pack(g->dt, g->k, g->n, &g->b)))
        st = diag_no_memory(d);
    if (st == CTSC_OK && (g->m > INT32_MAX || g->n > INT32_MAX || g->k > INT32_MAX ||
                          la.ld > INT32_MAX || lb.ld > INT32_MAX || g->ldc > INT32_MAX))
        st = diag_fail(d, CTSC_LIMIT, "matrix of more than 2^31 - 1 rows or columns");
    if (st == CTSC_OK) st = gemm_spread(d, g, type->chunk);
    mem_free(packed_a);
    mem_free(packed_b);
    return st;
}

/* One row of the result: alpha * sums + beta * what is there; `there` has room for it. */
static void gemm_narrow_row(const gemm_job *g, float *sums, void *to, float *there) {
    float alpha = (float)g->alpha.f, beta = (float)g->beta.f;
    if (beta != 0) halves_to_floats(g->dt, to, there, g->n);
    for (int64_t j = 0; alpha != 1 && j < g->n; j++) sums[j] *= alpha;
    for (int64_t j = 0; beta != 0 && j < g->n; j++) sums[j] += beta * there[j];
    floats_to_halves(g->dt, sums, to, g->n);
}

/* bfloat16 by kernels of its own. */
static ctsc_status gemm_narrow_pairs(diag *d, gemm_job *g) {
    bool plain = g->alpha.f == 1 && g->beta.f == 0;
    gemm_bf16_product p = {g->m, g->n, g->k, g->a, g->b, NULL, g->c, g->ldc, !plain};
    size_t room;
    if (plain) return gemm_bf16(d, &p);
    if (!size_mul((size_t)g->m + 1, (size_t)g->n * sizeof(float), &room)) return diag_no_memory(d);
    float *sums = recycle_alloc(room);
    if (!sums) return diag_no_memory(d);
    p.c = sums;
    p.ldc = g->n;
    ctsc_status st = gemm_bf16(d, &p);
    for (int64_t i = 0; st == CTSC_OK && i < g->m; i++)
        gemm_narrow_row(g, sums + i * g->n, (uint16_t *)(void *)g->c + i * g->ldc,
                        sums + g->m * g->n);
    recycle_free(sums, room);
    return st;
}

/* half and bfloat16: products in float, rounded once. */
static ctsc_status gemm_narrow(diag *d, gemm_job *g) {
    if (g->dt == DT_BFLOAT16 && g->alpha.f != 0 && g->m >= GEMM_BF16_ROWS &&
        (double)g->m * (double)g->n * (double)g->k > GEMM_TINY && gemm_bf16_usable())
        return gemm_narrow_pairs(d, g);
    size_t room_a = 0, room_b = 0, room;
    gemm_matrix a = g->a, b = g->b;
    /* a row more, for what is there */
    if (!size_mul((size_t)g->m + 1, (size_t)g->n * sizeof(float), &room)) return diag_no_memory(d);
    float *pa = gemm_widen(g->dt, g->m, g->k, &a, &room_a),
          *pb = gemm_widen(g->dt, g->k, g->n, &b, &room_b), *out = recycle_alloc(room);
    ctsc_status st = pa && pb && out ? CTSC_OK : diag_no_memory(d);
    if (st == CTSC_OK) {
        gemm_job wide = {DT_FLOAT32, g->m, g->n,        g->k, gemm_one, gemm_zero,
                         a,          b,    (char *)out, g->n, false};
        st = gemm_wide(d, &wide);
    }
    for (int64_t i = 0; st == CTSC_OK && i < g->m; i++)
        gemm_narrow_row(g, out + i * g->n, (uint16_t *)(void *)g->c + i * g->ldc,
                        out + g->m * g->n);
    if (pa) recycle_free(pa, room_a);
    if (pb) recycle_free(pb, room_b);
    if (out) recycle_free(out, room);
    return st;
}

ctsc_status gemm_run(diag *d, dtype dt, int64_t m, int64_t n, int64_t k, gemm_scale alpha,
                     gemm_matrix a, gemm_matrix b, gemm_scale beta, void *c, int64_t ldc) {
    if (m == 0 || n == 0) return CTSC_OK;
    if (a.device) return on_device->gemm(d, a.device, dt, m, n, k, alpha, a, b, beta, c, ldc, NULL);
    gemm_job g = {dt, m, n, k, alpha, beta, a, b, c, ldc, false};
    switch (dt) {
    case DT_FLOAT32:
    case DT_FLOAT64:
    case DT_COMPLEX64:
    case DT_COMPLEX128: return gemm_wide(d, &g);
    case DT_FLOAT16:
    case DT_BFLOAT16: return gemm_narrow(d, &g);
    case DT_UINT8: return gemm_spread(d, &g, gemm_chunk_uint8_t);
    case DT_INT8: return gemm_spread(d, &g, gemm_chunk_int8_t);
    case DT_INT16: return gemm_spread(d, &g, gemm_chunk_int16_t);
    case DT_INT32: return gemm_spread(d, &g, gemm_chunk_int32_t);
    case DT_INT64: return gemm_spread(d, &g, gemm_chunk_int64_t);
    default:
        return diag_fail(d, CTSC_UNSUPPORTED, "matrix product not implemented for '%s'",
                         dtype_table[dt].ir_name);
    }
}

/* ---- batches --------------------------------------------------------------------------------- */

typedef struct gemm_batch_job {
    gemm_job one;
    const int64_t *a_offsets, *b_offsets;
    atomic_int failed; /* a ctsc_status */
} gemm_batch_job;

static ctsc_status gemm_batch_range(gemm_batch_job *job, diag *d, int64_t begin, int64_t end) {
    const gemm_job *g = &job->one;
    int64_t size = (int64_t)dtype_size(g->dt);
    for (int64_t i = begin; i < end; i++) {
        gemm_matrix a = g->a, b = g->b;
        a.p = (const char *)a.p + job->a_offsets[i] * size;
        b.p = (const char *)b.p + job->b_offsets[i] * size;
        TRY(gemm_run(d, g->dt, g->m, g->n, g->k, g->alpha, a, b, g->beta,
                     g->c + i * g->m * g->n * size, g->n));
    }
    return CTSC_OK;
}

static void gemm_batch_chunk(void *ctx, int64_t begin, int64_t end) {
    gemm_batch_job *job = ctx;
    ctsc_status st = gemm_batch_range(job, NULL, begin, end);
    if (st != CTSC_OK) atomic_store(&job->failed, (int)st);
}

ctsc_status gemm_batch(diag *d, dtype dt, int64_t count, int64_t m, int64_t n, int64_t k,
                       gemm_scale alpha, gemm_matrix a, const int64_t *a_offsets, gemm_matrix b,
                       const int64_t *b_offsets, gemm_scale beta, void *c) {
    if (m == 0 || n == 0) return CTSC_OK;
    gemm_batch_job job = {{dt, m, n, k, alpha, beta, a, b, c, n, false}, a_offsets, b_offsets, 0};
    double cost = (double)m * (double)n * (double)(k ? k : 1);
    int64_t grain = (int64_t)(GEMM_CHUNK / 8 / cost) + 1;
    /* Few large products: threads share each; many small ones: threads share the batch. */
    if (count <= grain || (count < 8 && cost > 8.0 * GEMM_CHUNK))
        return gemm_batch_range(&job, d, 0, count);
    if (!pool_for_limited(count, grain, gemm_batch_chunk, &job)) return limits_fail(d);
    int failed = atomic_load(&job.failed);
    if (failed == CTSC_OK) return CTSC_OK;
    return failed == CTSC_LIMIT ? diag_no_memory(d)
                                : diag_fail(d, (ctsc_status)failed, "matrix product failed");
}
