/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_block.c - blocks of matrix products.
 *
 * Method: the five loops around a micro-kernel of Goto and van de Geijn ("Anatomy of
 * High-Performance Matrix Multiplication", 2008) in the form of BLIS. A panel of B, kc x
 * nr elements, stays in the L1 cache (24 KiB of 32) while all tiles of a block of A use
 * it; the block of A, mc x kc (216 KiB), stays in L2 (512 KiB or more on the processors
 * that have these instructions); a block of B, kc x nc (6 MiB), in L3. These are
 * constants, not the machine's own sizes: the sums, and so the results, depend on kc.
 *
 * A product whose rows fit one block of A needs a packed panel of B only once, so it never has
 * more than one. Few rows do not repay packing B at all: if B is contiguous along its rows, tiles
 * read it unpacked; if both operands are contiguous along k (a linear layer), dot kernels do.
 *
 * With more rows, but still few, a linear layer's weights are also read unpacked, in the role
 * of A: a tile needs a broadcast element of mr rows in each step of k, and columns of B are
 * such rows of the transposed product. Panels of the other operand, A, stay in the first-level
 * cache while columns of B pass, as many as the second-level cache keeps for the next panel.
 * Tiles write a strip of C's transpose, which never leaves the second-level cache and is
 * transposed when it has all of k: rows of C itself are far apart, and a tile that wrote mr
 * elements of each would find none of them in the first-level cache. A thin B, with fewer
 * columns than a tile has rows, is transposed as well: its columns would not fill a vector.
 * Tests: tests/unit/test_gemm_block.c
 */
#include "runtime/kernels/matmul/gemm_block.h"
#include "base/minmax.h"
#include "cpu/ukernel.h"
#include "runtime/kernels/engine/kernel_tuning.h"

#include <string.h>

enum { GEMM_ALIGN = 64 }; /* of packed blocks */

static int64_t block_max(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t block_round(int64_t n, int64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

/* The size of the fewest blocks of at most `most` that n is cut into, all about equal. */
static int64_t block_even(int64_t n, int64_t most, int64_t multiple) {
    int64_t blocks = (n + most - 1) / most;
    return block_round((n + blocks - 1) / blocks, multiple);
}

/* Rows [*begin, ...) of tile i when m rows are split into tiles: returns how many. They
 * are about equal, since a tile of a few rows would take as long as one of more. */
static int64_t block_tile(int64_t m, int64_t tiles, int64_t i, int64_t *begin) {
    *begin = i * (m / tiles) + int64_min(i, m % tiles);
    return m / tiles + (i < m % tiles);
}

static const char *block_at(const gemm_matrix *mat, int64_t i, int64_t j, size_t size) {
    return (const char *)mat->p + (i * mat->rs + j * mat->cs) * (int64_t)size;
}

const gemm_micro *gemm_micro_best(dtype dt) {
    return dt == DT_FLOAT32   ? ukernel_gemm(UKERNEL_F32)
           : dt == DT_FLOAT64 ? ukernel_gemm(UKERNEL_F64)
                              : NULL;
}

/* Percent of the work on n columns that is for columns which are not there; half a panel costs
 * two thirds of one. */
static int64_t block_waste(int64_t n, int64_t nr) {
    int64_t rest = n % nr, work = 3 * (n - rest) + (rest == 0        ? 0
                                                    : 2 * rest <= nr ? 2 * nr
                                                                     : 3 * nr);
    return 100 - 300 * n / work;
}

gemm_plan gemm_block_plan(const gemm_micro *u, const gemm_problem *p) {
    int64_t least = int64_min(p->m, p->n);
    if (u && p->m == 1 && p->b.cs == 1) return (gemm_plan){.micro = u, .method = GEMM_ROW};
    if (u && least == 1 && p->a.cs == 1 && p->b.rs == 1)
        return (gemm_plan){.micro = u, .method = GEMM_DOT};
    if (!u || least == 1) return (gemm_plan){.micro = NULL, .method = GEMM_BLAS};
    if (p->n <= u->mr && p->k <= GEMM_THIN_K && p->m >= GEMM_THIN_ROWS)
        return (gemm_plan){.micro = u, .method = GEMM_THIN};
    if (p->b.rs == 1 && p->m <= u->mc && p->n >= GEMM_TRANSPOSED_LEAST_COLS &&
        p->k >= GEMM_TRANSPOSED_LEAST_K && block_waste(p->m, u->nr) <= GEMM_TRANSPOSED_WASTE)
        return (gemm_plan){.micro = u, .method = GEMM_TRANSPOSED};
    int64_t few = p->k <= GEMM_DOT_K ? GEMM_DOT_MORE : GEMM_DOT_ROWS;
    if (p->a.cs == 1 && p->b.rs == 1 &&
        (least <= 3 || (least <= few && least <= p->k / GEMM_DOT_SHARE)))
        return (gemm_plan){.micro = u, .method = GEMM_DOT};
    if (p->b.cs == 1 && (p->m <= u->mr || (p->m <= GEMM_DIRECT_ROWS && p->n <= GEMM_DIRECT_COLS)))
        return (gemm_plan){.micro = u, .method = GEMM_DIRECT};
    return (gemm_plan){.micro = u, .method = GEMM_PACKED};
}

/* ---- packed ---------------------------------------------------------------------------------- */

/* Sizes of blocks, and the offset of the packed block of B after that of A. */
typedef struct block_sizes {
    int64_t mc, nc, kc;
    int64_t ka; /* k of a packed block of A: some times kc */
    size_t b_at;
} block_sizes;

/* Where a packed block of B is, after one of A with this many elements. */
static size_t block_b_at(int64_t a, size_t size) {
    return (size_t)block_round(a * (int64_t)size + 64, GEMM_ALIGN);
}

/* group: panels of B that are packed together where A is one block. */
static block_sizes block_sizes_of(gemm_plan plan, int64_t m, int64_t n, int64_t k, int group) {
    const gemm_micro *u = plan.micro;
    bool direct = plan.method == GEMM_DIRECT;
    block_sizes s;
    s.kc = block_even(k, direct ? GEMM_DIRECT_K : u->kc, 4);
    s.mc = direct ? block_round(m, u->mr) : block_even(m, u->mc, u->mr);
    s.nc = direct ? u->nr : block_even(n, m <= s.mc ? group * u->nr : u->nc, u->nr);
    s.ka = m <= s.mc ? u->mc * u->kc / s.mc / s.kc * s.kc : s.kc;
    if (s.ka > k) s.ka = k;
    if (s.ka < s.kc || direct) s.ka = s.kc;
    s.b_at = block_b_at(s.mc * s.ka, (size_t)u->size);
    return s;
}

/* All tiles of a block of C: m x n at c. */
static void block_tiles(const gemm_micro *u, int64_t m, int64_t n, int64_t k, const char *a,
                        const char *b, char *c, int64_t ldc, double alpha, double beta) {
    int64_t size = u->size;
    for (int64_t j = 0; j < n; j += u->nr, b += k * u->nr * size)
        for (int64_t i = 0; i < m; i += u->mr)
            u->tile[int64_min(m - i, u->mr)](k, a + i * k * size, b, u->nr,
                                             c + (i * ldc + j) * size, ldc,
                                             (int)int64_min(n - j, u->nr), alpha, beta);
}

/* The location of the panel of B that is needed next: runs
 * of `run` cache lines, at stride `stride` in bytes. */
typedef struct block_prefetch {
    const char *from;
    int64_t runs, run, stride;
} block_prefetch;

static block_prefetch block_prefetch_of(const gemm_micro *u, const gemm_problem *p, int64_t x,
                                        int64_t k, int64_t j) {
    int64_t size = u->size, n = int64_min(p->n - j, u->nr);
    const char *from = block_at(&p->b, x, j, (size_t)size);
    if (n <= 0) return (block_prefetch){NULL, 0, 0, 0};
    if (p->b.cs == 1) return (block_prefetch){from, k, (n * size + 63) / 64, p->b.rs * size};
    if (p->b.rs == 1) return (block_prefetch){from, n, (k * size + 63) / 64, p->b.cs * size};
    return (block_prefetch){NULL, 0, 0, 0};
}

/* Prefetches part number `part` of `parts`. */
static inline void block_ask(const block_prefetch *next, int64_t part, int64_t parts) {
    int64_t begin = next->runs * part / parts, end = next->runs * (part + 1) / parts;
    for (int64_t i = begin; i < end; i++)
        for (int64_t l = 0; l < next->run; l++)
            __builtin_prefetch(next->from + i * next->stride + l * 64, 0, 2);
}

/* `panels` panels of columns from j on: c += their product with rows of A packed at pa, for
 * k from x to end. */
static void block_panels(gemm_plan plan, const gemm_problem *p, const block_sizes *s, int64_t j,
                         int64_t x, int64_t end, const char *pa, char *pb) {
    const gemm_micro *u = plan.micro;
    int64_t size = u->size, n = int64_min(p->n - j, s->nc), tiles = (p->m + u->mr - 1) / u->mr,
            first = x;
    for (; x < end; x += s->kc) {
        int64_t k = int64_min(end - x, s->kc);
        bool more = x + k < end;
        int64_t then = more ? x + k : first;
        u->pack(block_at(&p->b, x, j, (size_t)size), n, k, p->b.cs, p->b.rs, u->nr, pb);
        for (int64_t y = 0; y < n; y += u->nr) {
            block_prefetch next = block_prefetch_of(u, p, then, int64_min(s->kc, end - then),
                                                    (more ? j : j + s->nc) + y);
            for (int64_t i = 0; i < tiles; i++) {
                block_ask(&next, i, tiles);
                u->tile[int64_min(p->m - i * u->mr, u->mr)](
                    k, pa + i * u->mr * k * size, pb + y * k * size, u->nr,
                    (char *)p->c + (i * u->mr * p->ldc + j + y) * size, p->ldc,
                    (int)int64_min(n - y, u->nr), p->alpha, x ? 1 : p->beta);
            }
        }
        pa += tiles * u->mr * k * size;
    }
}

/* One block of rows of A, packed for as much of k as fits: some panels of B are
 * packed, used and discarded. While tiles use them, the next ones are prefetched. */
static void block_few_rows(gemm_plan plan, const gemm_problem *p, const block_sizes *s, char *pa,
                           char *pb) {
    const gemm_micro *u = plan.micro;
    int64_t size = u->size;
    for (int64_t x = 0; x < p->k; x += s->ka) {
        int64_t end = int64_min(p->k, x + s->ka);
        for (int64_t y = x; y < end; y += s->kc)
            u->pack(block_at(&p->a, 0, y, (size_t)size), p->m, int64_min(end - y, s->kc), p->a.rs,
                    p->a.cs, u->mr, pa + block_round(p->m, u->mr) * (y - x) * size);
        for (int64_t j = 0; j < p->n; j += s->nc) block_panels(plan, p, s, j, x, end, pa, pb);
    }
}

/* Unpacked B. Few steps of k at a time, so that a few
 * rows of B are read from end to end together. */
static void block_direct(gemm_plan plan, const gemm_problem *p, const block_sizes *s, char *pa,
                         char *pb) {
    const gemm_micro *u = plan.micro;
    int64_t size = u->size, tiles = (p->m + u->mr - 1) / u->mr, i;
    for (int64_t x = 0; x < p->k; x += s->kc) {
        int64_t k = int64_min(p->k - x, s->kc), stride = u->mr * k * size;
        for (int64_t t = 0; t < tiles; t++) {
            int64_t rows = block_tile(p->m, tiles, t, &i);
            u->pack(block_at(&p->a, i, x, (size_t)size), rows, k, p->a.rs, p->a.cs, u->mr,
                    pa + t * stride);
        }
        for (int64_t j = 0; j < p->n; j += u->nr) {
            int64_t n = int64_min(p->n - j, u->nr), ldb = p->b.rs;
            const char *b = block_at(&p->b, x, j, (size_t)size);
            if (n < u->nr) {
                u->pack(b, n, k, p->b.cs, p->b.rs, u->nr, pb);
                b = pb, ldb = u->nr;
            }
            for (int64_t t = 0; t < tiles; t++) {
                int64_t rows = block_tile(p->m, tiles, t, &i);
                u->tile[rows](k, pa + t * stride, b, ldb, (char *)p->c + (i * p->ldc + j) * size,
                              p->ldc, (int)n, p->alpha, x ? 1 : p->beta);
            }
        }
    }
}

static void block_packed(gemm_plan plan, const gemm_problem *p, char *scratch) {
    const gemm_micro *u = plan.micro;
    block_sizes s = block_sizes_of(plan, p->m, p->n, p->k, p->b.cs == 1 ? GEMM_GROUP : 1);
    size_t size = (size_t)u->size;
    char *pa = scratch, *pb = scratch + s.b_at;
    if (plan.method == GEMM_DIRECT) {
        block_direct(plan, p, &s, pa, pb);
        return;
    }
    if (p->m <= s.mc) {
        block_few_rows(plan, p, &s, pa, pb);
        return;
    }
    for (int64_t j = 0; j < p->n; j += s.nc)
        for (int64_t x = 0; x < p->k; x += s.kc) {
            int64_t n = int64_min(p->n - j, s.nc), k = int64_min(p->k - x, s.kc);
            u->pack(block_at(&p->b, x, j, size), n, k, p->b.cs, p->b.rs, u->nr, pb);
            for (int64_t i = 0; i < p->m; i += s.mc) {
                int64_t m = int64_min(p->m - i, s.mc);
                u->pack(block_at(&p->a, i, x, size), m, k, p->a.rs, p->a.cs, u->mr, pa);
                block_tiles(u, m, n, k, pa, pb, (char *)p->c + (i * p->ldc + j) * (int64_t)size,
                            p->ldc, p->alpha, x ? 1 : p->beta);
            }
        }
}

/* ---- transposed ------------------------------------------------------------------------------ */

/* Sizes of blocks for m rows at most: mc rows of A, nc columns of B. */
static block_sizes transposed_sizes_of(const gemm_micro *u, int64_t m, int64_t k) {
    block_sizes s = {.kc = block_even(k, GEMM_TRANSPOSED_K, 4),
                     .mc = block_even(m, u->mc, u->nr),
                     .nc = GEMM_TRANSPOSED_TILES * u->mr};
    int64_t size = u->size;
    s.ka = int64_min(k, block_max(1, GEMM_TRANSPOSED_A / size / s.mc / s.kc) * s.kc);
    s.b_at = block_b_at(s.mc * s.ka, (size_t)size);
    return s;
}

/* The columns of B, of up to mr from y on, that the tiles of all
 * panels of A prefetch together: those of the panel in question. */
typedef struct transposed_prefetch {
    const char *from;
    int rows;
} transposed_prefetch;

static transposed_prefetch transposed_prefetch_of(const gemm_micro *u, const gemm_problem *p,
                                                  int64_t x, int64_t y, int64_t panel,
                                                  int64_t panels) {
    int64_t n = int64_min(p->n - y, u->mr), begin = n * panel / panels,
            end = n * (panel + 1) / panels;
    if (n <= 0) return (transposed_prefetch){p->b.p, 0};
    return (transposed_prefetch){block_at(&p->b, x, y + begin, (size_t)u->size),
                                 (int)(end - begin)};
}

/* Columns of B from j on: the strip of C's transpose (panels of nr rows of C) gets their
 * product with rows of A packed at pa, for k from x to end. rest: room for the packed columns
 * that fill no tile. */
static void transposed_strip(const gemm_micro *u, const gemm_problem *p, const block_sizes *s,
                             int64_t j, int64_t x, int64_t end, const char *pa, char *rest,
                             char *strip) {
    int64_t size = u->size, n = int64_min(p->n - j, s->nc), whole = n / u->mr * u->mr, first = x;
    int64_t panels = (p->m + u->nr - 1) / u->nr;
    for (; x < end; x += s->kc) {
        int64_t k = int64_min(end - x, s->kc);
        bool more = x + k < end;
        double beta = x ? 1 : p->beta;
        if (whole < n)
            u->pack(block_at(&p->b, x, j + whole, (size_t)size), n - whole, k, p->b.cs, p->b.rs,
                    u->mr, rest);
        for (int64_t i = 0; i < panels; i++, pa += k * u->nr * size) {
            char *to = strip + i * n * u->nr * size;
            int cols = (int)int64_min(p->m - i * u->nr, u->nr);
            for (int64_t y = 0; y < whole; y += u->mr, to += u->mr * u->nr * size) {
                transposed_prefetch next = transposed_prefetch_of(
                    u, p, more ? x + k : first, (more ? j : j + s->nc) + y, i, panels);
                u->lying(k, block_at(&p->b, x, j + y, (size_t)size), p->b.cs, pa, to, cols,
                         p->alpha, beta, next.from, next.rows);
            }
            if (whole < n) u->tile[n - whole](k, rest, pa, u->nr, to, u->nr, u->nr, p->alpha, beta);
        }
    }
}

/* At most a block of rows of A, packed for as much of k as there is room for. */
static void transposed_rows(const gemm_micro *u, const gemm_problem *p, const block_sizes *s,
                            char *pa, char *rest, char *strip) {
    int64_t size = u->size;
    for (int64_t x = 0; x < p->k; x += s->ka) {
        int64_t end = int64_min(p->k, x + s->ka);
        for (int64_t y = x; y < end; y += s->kc)
            u->pack(block_at(&p->a, 0, y, (size_t)size), p->m, int64_min(end - y, s->kc), p->a.rs,
                    p->a.cs, u->nr, pa + block_round(p->m, u->nr) * (y - x) * size);
        for (int64_t j = 0; j < p->n; j += s->nc) {
            int64_t n = int64_min(p->n - j, s->nc);
            char *c = (char *)p->c + j * size;
            if (x || p->beta != 0) u->pack(c, p->m, n, p->ldc, 1, u->nr, strip);
            transposed_strip(u, p, s, j, x, end, pa, rest, strip);
            for (int64_t i = 0; i < p->m; i += u->nr)
                u->unpack(strip + i * n * size, int64_min(p->m - i, u->nr), n, p->ldc, u->nr,
                          c + i * p->ldc * size);
        }
    }
}

/* Bytes of packed columns that fill no tile, followed by a strip. */
static size_t transposed_rest_size(const gemm_micro *u, const block_sizes *s) {
    return block_b_at(u->mr * s->kc, (size_t)u->size);
}

static size_t transposed_scratch(const gemm_micro *u, int64_t m, int64_t k) {
    block_sizes s = transposed_sizes_of(u, m, k);
    size_t size = (size_t)u->size;
    /* Fewer rows may be packed for more of k. */
    int64_t rows = block_round(int64_min(m, u->mc), u->nr),
            a = block_max(GEMM_TRANSPOSED_A / (int64_t)size, rows * s.kc);
    a = int64_min(a, rows * block_round(k, 4));
    return block_b_at(a, size) + transposed_rest_size(u, &s) + block_b_at(rows * s.nc, size) +
           GEMM_ALIGN;
}

static void block_transposed(const gemm_micro *u, const gemm_problem *p, char *scratch) {
    block_sizes s = transposed_sizes_of(u, p->m, p->k);
    char *rest = scratch + s.b_at, *strip = rest + transposed_rest_size(u, &s);
    size_t size = (size_t)u->size;
    for (int64_t i = 0; i < p->m; i += s.mc) {
        gemm_problem rows = *p;
        rows.m = int64_min(p->m - i, s.mc);
        rows.a.p = block_at(&p->a, i, 0, size);
        rows.c = (char *)p->c + i * p->ldc * (int64_t)size;
        transposed_rows(u, &rows, &s, scratch, rest, strip);
    }
}

/* ---- thin ------------------------------------------------------------------------------------ */

/* Columns of B are the rows of one tile, packed once; each panel of nr rows of A is packed, used
 * and forgotten. strip: the transpose of its rows of C. */
static void block_thin(const gemm_micro *u, const gemm_problem *p, char *scratch) {
    int64_t size = u->size;
    char *pb = scratch, *pa = pb + block_b_at(u->mr * p->k, (size_t)size),
         *strip = pa + block_b_at(u->nr * p->k, (size_t)size);
    u->pack(p->b.p, p->n, p->k, p->b.cs, p->b.rs, u->mr, pb);
    for (int64_t i = 0; i < p->m; i += u->nr) {
        int64_t m = int64_min(p->m - i, u->nr);
        char *c = (char *)p->c + i * p->ldc * size;
        u->pack(block_at(&p->a, i, 0, (size_t)size), m, p->k, p->a.rs, p->a.cs, u->nr, pa);
        if (p->beta != 0) u->pack(c, m, p->n, p->ldc, 1, u->nr, strip);
        u->tile[p->n](p->k, pb, pa, u->nr, strip, u->nr, u->nr, p->alpha, p->beta);
        u->unpack(strip, m, p->n, p->ldc, u->nr, c);
    }
}

static size_t thin_scratch(const gemm_micro *u, int64_t k) {
    size_t size = (size_t)u->size;
    return block_b_at(u->mr * k, size) + block_b_at(u->nr * k, size) +
           block_b_at(u->nr * u->mr, size) + GEMM_ALIGN;
}

/* ---- packed before --------------------------------------------------------------------------- */

/* Room for the slack that packing needs is after the last panel. */
int64_t gemm_block_prepacked_size(const gemm_micro *u, int64_t n, int64_t k) {
    return block_round(n, u->nr) * k + GEMM_ALIGN;
}

void gemm_block_prepack(const gemm_micro *u, int64_t n, int64_t k, gemm_matrix b, void *panels) {
    u->pack(b.p, n, k, b.cs, b.rs, u->nr, panels);
}

/* Steps of k: many, so that C is seldom read again. Tiles then read A and B from the
 * second-level cache, with few loads for their arithmetic. Rows of A are read unpacked,
 * unless all rows of a tile would map to the same set of the first-level cache. */
gemm_plan gemm_block_plan_prepacked(const gemm_micro *u, int64_t m, int64_t k,
                                    const gemm_matrix *a) {
    int64_t size = u->size;
    bool lies = u->rows[1] && (a->cs == 1 || k == 1) && a->rs * size % GEMM_LYING_FAR != 0;
    if (m == 1) return (gemm_plan){u, GEMM_STREAM, k};
    return (gemm_plan){u, lies ? GEMM_LYING : GEMM_PREPACKED,
                       block_even(k, GEMM_PREPACKED_K / size, 4)};
}

/* Rows of A in a block, at most. */
static int64_t prepacked_most(const gemm_micro *u, int64_t kc) {
    int64_t rows = GEMM_PREPACKED_A / (kc * u->size) / u->mr * u->mr;
    return rows > u->mc ? u->mc : rows < u->mr ? u->mr : rows;
}

/* Rows of C that begin at c, n <= nr elements of each, get the bias. */
static void prepacked_begin(const gemm_problem *p, int64_t rows, int64_t j, int64_t n, char *c,
                            int64_t size) {
    for (int64_t i = 0; i < rows; i++, c += p->ldc * size)
        memcpy(c, (const char *)p->after.bias + j * size, (size_t)(n * size));
}

/* What becomes of m rows of C, n columns of each, from element (i, j) on: their
 * sums are complete. */
static void prepacked_finish(const gemm_problem *p, int64_t i, int64_t m, int64_t j, int64_t n) {
    if (p->after.other == NULL && p->after.activation == DENSE_PLAIN) return;
    for (int64_t at = i * p->ldc + j; m > 0; m--, at += p->ldc)
        epilogue_rows(&p->after, (float *)p->c + at, at, n);
}

/* A packed block of A: m rows from i on, k steps
 * from x on, tiles at stride `stride` in bytes. */
typedef struct prepacked_block {
    int64_t i, m, x, k, stride;
    const char *tiles;
} prepacked_block;

/* The block with the panel of B from column j on.
 * While tiles use the panel, `next` is prefetched. */
static void prepacked_panel(const gemm_micro *u, const gemm_problem *p, const prepacked_block *a,
                            int64_t j, const char *next) {
    int64_t i = a->i, m = a->m, x = a->x, k = a->k;
    const char *pa = a->tiles;
    int64_t size = u->size, n = int64_min(p->n - j, u->nr), tiles = (m + u->mr - 1) / u->mr, begin;
    const char *b = (const char *)p->b.p + (j * p->b.cs + x * u->nr) * size;
    int all = (int)(GEMM_NEAR * u->nr * size / 64), lines = (int)((all + tiles - 1) / tiles);
    for (int64_t t = 0; t < tiles; t++, pa += a->stride) {
        int64_t rows = block_tile(m, tiles, t, &begin),
                asked = t * lines < all && next && tiles > 1 ? int64_min(lines, all - t * lines)
                                                             : 0;
        char *c = (char *)p->c + ((i + begin) * p->ldc + j) * size;
        double beta = x || p->after.bias ? 1 : p->beta;
        if (x == 0 && p->after.bias) prepacked_begin(p, rows, j, n, c, size);
        if (n < u->nr) u->tile[rows](k, pa, b, u->nr, c, p->ldc, (int)n, p->alpha, beta);
        else
            u->near[rows](k, pa, b, u->nr, c, p->ldc, p->alpha, beta,
                          next ? next + t * lines * (k / GEMM_NEAR * 64) : b, (int)asked);
    }
}

static void prepacked_pack(const gemm_micro *u, const gemm_problem *p, int64_t i, int64_t m,
                           int64_t t, int64_t x, int64_t k, char *to) {
    int64_t begin, rows = block_tile(m, (m + u->mr - 1) / u->mr, t, &begin);
    u->pack(block_at(&p->a, i + begin, x, (size_t)u->size), rows, k, p->a.rs, p->a.cs, u->mr, to);
}

/* Rows of a block of A, about equal ones. */
static int64_t prepacked_rows(gemm_plan plan, int64_t m) {
    return block_even(m, prepacked_most(plan.micro, plan.kc), plan.micro->mr);
}

/* Tiles of all m rows. Blocks but the last are made of whole tiles. */
static int64_t prepacked_tiles(const gemm_micro *u, int64_t m) { return (m + u->mr - 1) / u->mr; }

/* Bytes from one part to the next, with the slack that packing writes after it. */
static int64_t prepacked_part(gemm_plan plan) {
    return block_round(plan.micro->mr * plan.kc * plan.micro->size + 64, GEMM_ALIGN);
}

int64_t gemm_block_row_parts(gemm_plan plan, int64_t m, int64_t k, size_t *bytes) {
    *bytes = (size_t)prepacked_part(plan);
    return prepacked_tiles(plan.micro, m) * ((k + plan.kc - 1) / plan.kc);
}

/* Part number x / kc * tiles + tile. */
void gemm_block_pack_rows(gemm_plan plan, const gemm_problem *p, int64_t begin, int64_t end,
                          void *to) {
    const gemm_micro *u = plan.micro;
    int64_t mc = prepacked_rows(plan, p->m), tiles = prepacked_tiles(u, p->m);
    for (int64_t part = begin; part < end; part++) {
        int64_t x = part / tiles * plan.kc, i = part % tiles * u->mr / mc * mc;
        prepacked_pack(u, p, i, int64_min(p->m - i, mc), part % tiles - i / u->mr, x,
                       int64_min(p->k - x, plan.kc), (char *)to + part * prepacked_part(plan));
    }
}

static void block_prepacked(gemm_plan plan, const gemm_problem *p, char *scratch) {
    const gemm_micro *u = plan.micro;
    int64_t size = u->size, mc = prepacked_rows(plan, p->m), all = prepacked_tiles(u, p->m);
    for (int64_t x = 0; x < p->k; x += plan.kc)
        for (int64_t i = 0; i < p->m; i += mc) {
            prepacked_block a = {.i = i,
                                 .m = int64_min(p->m - i, mc),
                                 .x = x,
                                 .k = int64_min(p->k - x, plan.kc),
                                 .tiles = scratch};
            a.stride = p->rows ? prepacked_part(plan) : u->mr * a.k * size;
            if (p->rows)
                a.tiles = (const char *)p->rows + (x / plan.kc * all + i / u->mr) * a.stride;
            for (int64_t t = 0; !p->rows && t < prepacked_tiles(u, a.m); t++)
                prepacked_pack(u, p, i, a.m, t, x, a.k, scratch + t * a.stride);
            for (int64_t j = 0; j < p->n; j += u->nr) {
                const char *next = j + u->nr < p->n ? (const char *)p->b.p +
                                                          ((j + u->nr) * p->b.cs + x * u->nr) * size
                                                    : NULL;
                prepacked_panel(u, p, &a, j, next);
                if (x + a.k == p->k) prepacked_finish(p, i, a.m, j, int64_min(p->n - j, u->nr));
            }
        }
}

/* Panels of C whose rows get their activation together: enough of a row to have vectors at work. */
enum { LYING_TAIL = 4 };

/* Unpacked rows [begin, begin + m) of A, steps [x, x + k), with all panels of B. */
static void lying_block(const gemm_micro *u, const gemm_problem *p, int64_t begin, int64_t m,
                        int64_t x, int64_t k) {
    const float *a = (const float *)p->a.p + begin * p->a.rs + x, *b = p->b.p,
                *bias = p->after.bias;
    float *c = (float *)p->c + begin * p->ldc;
    int64_t tiles = (m + u->mr - 1) / u->mr, rows = m / tiles, longer = m % tiles,
            some = tiles - longer;
    gemm_segment all = {0, x * u->nr, k};
    gemm_rows r = {.lda = p->a.rs, .segment = &all, .segments = 1, .nr = u->nr, .ldc = p->ldc};
    const bool last = x + k == p->k;
    const float *other = last ? epilogue_other(&p->after, begin * p->ldc) : NULL;
    r.ends = (x ? GEMM_ADD_C : 0) | (bias && last ? GEMM_ADD_BIAS : 0) |
             (other ? GEMM_ADD_OTHER : 0);
    /* bounds are applied to the sums while they are in registers, other activations to some panels
     * of rows at a time */
    dense_epilogue rest = {.activation = last ? p->after.activation : DENSE_PLAIN};
    if (activation_bounds(rest.activation, &r.low, &r.high)) {
        if (rest.activation != DENSE_PLAIN) r.ends |= GEMM_CLAMP;
        rest.activation = DENSE_PLAIN;
    }
    int64_t done = 0;
    gemm_rows_prefetch(&r, k, u->nr, tiles);
    for (int64_t j = 0; j < p->n; j += u->nr, c += u->nr) {
        r.b = b + j * p->b.cs;
        r.cols = (int)int64_min(p->n - j, u->nr);
        r.bias = bias ? bias + j : NULL;
        if (j + u->nr >= p->n) r.lines = 0, r.share = 0;
        const char *next = (const char *)(r.b + (r.lines ? u->nr * p->b.cs + all.b : 0));
        const float *plus = other ? other + j : NULL;
        u->rows[rows](&r, some, a, c, plus, next);
        if (longer)
            u->rows[rows + 1](&r, longer, a + some * rows * r.lda, c + some * rows * r.ldc,
                              plus ? plus + some * rows * r.ldc : NULL, next + some * r.share);
        int64_t end = j + r.cols;
        if (rest.activation == DENSE_PLAIN || (end < p->n && end - done < LYING_TAIL * u->nr))
            continue;
        for (int64_t i = 0; i < m; i++)
            epilogue_rows(&rest, (float *)p->c + (begin + i) * p->ldc + done, 0, end - done);
        done = end;
    }
}

static void block_lying(gemm_plan plan, const gemm_problem *p) {
    int64_t mc = prepacked_rows(plan, p->m);
    for (int64_t x = 0; x < p->k; x += plan.kc)
        for (int64_t i = 0; i < p->m; i += mc)
            lying_block(plan.micro, p, i, int64_min(p->m - i, mc), x, int64_min(p->k - x, plan.kc));
}

/* One row, one panel after the other from end to end. */
static void block_stream(const gemm_micro *u, const gemm_problem *p, char *scratch) {
    int64_t size = u->size;
    const char *a = p->a.p;
    if (p->a.cs != 1) {
        u->pack(a, 1, p->k, 1, p->a.cs, 1, scratch);
        a = scratch;
    }
    for (int64_t j = 0; j < p->n; j += u->nr) {
        char *c = (char *)p->c + j * size;
        int64_t n = int64_min(p->n - j, u->nr);
        if (p->after.bias) memcpy(c, (const char *)p->after.bias + j * size, (size_t)(n * size));
        u->stream(p->k, a, (const char *)p->b.p + j * p->b.cs * size, c, (int)n, p->alpha,
                  p->after.bias ? 1 : p->beta);
        prepacked_finish(p, 0, 1, j, n);
    }
}

/* ---- dot kernels ----------------------------------------------------------------------------- */

/* All of m rows with up to GEMM_DOT_COLS columns. Rows in groups of about equal size: 4 = 2 + 2
 * keeps more chains going than 3 + 1. */
static void block_dot_columns(const gemm_micro *u, int64_t m, int64_t k, const char *a, int64_t lda,
                              const char *b, int64_t ldb, char *c, int64_t ldc, int cols,
                              double alpha, double beta) {
    int64_t size = u->size, groups = (m + u->dot_rows - 1) / u->dot_rows;
    for (int64_t g = 0; g < groups; g++) {
        int64_t rows = m / groups + (g < m % groups);
        u->dot[rows](k, a, lda, b, ldb, c, ldc, cols, alpha, beta);
        a += rows * lda * size;
        c += rows * ldc * size;
    }
}

static void block_dot(gemm_plan plan, const gemm_problem *p) {
    const gemm_micro *u = plan.micro;
    int64_t size = u->size, kc = block_even(p->k, GEMM_DOT_K, 16);
    /* The outer loop goes over what is larger, so that the smaller operand stays in a cache. */
    int64_t rows = p->m > p->n ? u->dot_rows : p->m;
    for (int64_t i = 0; i < p->m; i += rows)
        for (int64_t j = 0; j < p->n; j += GEMM_DOT_COLS)
            for (int64_t x = 0; x < p->k; x += kc)
                block_dot_columns(u, int64_min(p->m - i, rows), int64_min(p->k - x, kc),
                                  block_at(&p->a, i, x, (size_t)size), p->a.rs,
                                  block_at(&p->b, x, j, (size_t)size), p->b.cs,
                                  (char *)p->c + (i * p->ldc + j) * size, p->ldc,
                                  (int)int64_min(p->n - j, GEMM_DOT_COLS), p->alpha,
                                  x ? 1 : p->beta);
}

/* ---- one row --------------------------------------------------------------------------------- */

static void block_row(const gemm_micro *u, const gemm_problem *p) {
    int64_t size = u->size;
    for (int64_t j = 0; j < p->n; j += GEMM_ROW_STEPS)
        u->row(int64_min(p->n - j, GEMM_ROW_STEPS), p->k, p->a.p, p->a.cs,
               block_at(&p->b, 0, j, (size_t)size), p->b.rs, (char *)p->c + j * size, p->alpha,
               p->beta);
}

/* ---- entry ----------------------------------------------------------------------------------- */

int64_t gemm_block_columns(gemm_plan plan) {
    return plan.method == GEMM_TRANSPOSED ? GEMM_TRANSPOSED_TILES * plan.micro->mr : GEMM_MAX_COLS;
}

/* The blocks of a smaller part may be the larger ones: fewer rows are packed for more of k at once.
 * So it is not the sizes of m x n that count here, but what those of any part keep to. */
size_t gemm_block_scratch(gemm_plan plan, int64_t m, int64_t n, int64_t k) {
    if (plan.method == GEMM_DOT || plan.method == GEMM_ROW || plan.method == GEMM_LYING) return 0;
    const gemm_micro *u = plan.micro;
    if (plan.method == GEMM_TRANSPOSED) return transposed_scratch(u, m, k);
    if (plan.method == GEMM_THIN) return thin_scratch(u, k);
    if (plan.method == GEMM_STREAM) return block_b_at(k, (size_t)u->size) + GEMM_ALIGN;
    if (plan.method == GEMM_PREPACKED)
        return block_b_at(int64_min(block_round(m, u->mr), prepacked_most(u, plan.kc)) * plan.kc,
                          (size_t)u->size) +
               GEMM_ALIGN;
    size_t size = (size_t)u->size;
    int64_t rows = block_round(m, u->mr), kc = block_sizes_of(plan, m, n, k, 1).kc, columns = u->nr,
            a = rows * kc;
    if (plan.method == GEMM_PACKED) {
        a = int64_min(rows * block_round(k, 4), u->mc * u->kc);
        columns = m <= u->mc || u->nc < GEMM_GROUP * u->nr ? GEMM_GROUP * u->nr : u->nc;
        columns = int64_min(block_round(n, u->nr), columns);
    }
    return block_b_at(a, size) + (size_t)(columns * kc) * size + 64 + GEMM_ALIGN;
}

void gemm_block_run(gemm_plan plan, const gemm_problem *p, void *scratch) {
    char *aligned = (char *)scratch + (-(uintptr_t)scratch & (GEMM_ALIGN - 1));
    switch (plan.method) {
    case GEMM_DOT: block_dot(plan, p); break;
    case GEMM_ROW: block_row(plan.micro, p); break;
    case GEMM_TRANSPOSED: block_transposed(plan.micro, p, aligned); break;
    case GEMM_THIN: block_thin(plan.micro, p, aligned); break;
    case GEMM_PREPACKED: block_prepacked(plan, p, aligned); break;
    case GEMM_LYING: block_lying(plan, p); break;
    case GEMM_STREAM: block_stream(plan.micro, p, aligned); break;
    default: block_packed(plan, p, aligned); break;
    }
}
