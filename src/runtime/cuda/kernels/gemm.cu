/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm.cu - products of matrices with any strides, where cuBLASLt is not at hand or does not know the type; and what it leaves to do of their epilogues.
 *
 * A block of 256 threads computes 64 x 64 elements, each thread 4 x 4 of them: rows that lie together, columns 16 apart, so that neighbouring threads read and
 * write neighbouring columns. Slices of 16 columns of a and rows of b go through shared memory; which threads fetch which elements depends
 * on the side that is without gaps in memory.
 */
enum { GEMM_DEPTH = 16, GEMM_PER_THREAD = 4, GEMM_PAD = 4 };

#if ELEMENT_IS_INT /* wraps around: unsigned */
typedef unsigned long long sum_t;
static __device__ sum_t gemm_scaled(const dense_gemm *p, sum_t sum, const elem_t *c) {
    sum *= (sum_t)p->int_alpha;
    return p->int_beta ? sum + (sum_t)p->int_beta * (sum_t)*c : sum;
}
#else
typedef acc_t sum_t;
static __device__ sum_t gemm_scaled(const dense_gemm *p, sum_t sum, const elem_t *c) {
    sum *= (sum_t)p->alpha;
    return p->beta != 0 ? sum + (sum_t)p->beta * load(*c) : sum;
}
#endif

/* Rows [row, row + 64) and columns [col, col + 16) of a matrix, the columns' index first; 0 beyond its sizes. */
static __device__ void gemm_fetch(sum_t (*tile)[GEMM_TILE + GEMM_PAD], const elem_t *from, dense_int rows, dense_int cols, dense_int row, dense_int col,
                                  dense_int rs, dense_int cs) {
    bool along = cs == 1; /* neighbouring threads take neighbouring columns */
    for (int i = threadIdx.x; i < GEMM_TILE * GEMM_DEPTH; i += GEMM_THREADS) {
        int r = along ? i / GEMM_DEPTH : i % GEMM_TILE, c = along ? i % GEMM_DEPTH : i / GEMM_TILE;
        bool inside = row + r < rows && col + c < cols;
        tile[c][r] = inside ? (sum_t)load(from[(row + r) * rs + (col + c) * cs]) : (sum_t)0;
    }
}

/* c: where in p->c the product begins. */
static __device__ void gemm_tile(const dense_gemm *p, const elem_t *a, const elem_t *b, dense_int c, dense_int row, dense_int col) {
    __shared__ sum_t left[GEMM_DEPTH][GEMM_TILE + GEMM_PAD], right[GEMM_DEPTH][GEMM_TILE + GEMM_PAD];
    sum_t sum[GEMM_PER_THREAD][GEMM_PER_THREAD] = {};
    int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
    for (dense_int x = 0; x < p->k; x += GEMM_DEPTH) {
        gemm_fetch(left, a, p->m, p->k, row, x, p->a_rs, p->a_cs);
        gemm_fetch(right, b, p->n, p->k, col, x, p->b_cs, p->b_rs);
        __syncthreads();
#pragma unroll
        for (int d = 0; d < GEMM_DEPTH; d++)
#pragma unroll
            for (int i = 0; i < GEMM_PER_THREAD; i++)
#pragma unroll
                for (int j = 0; j < GEMM_PER_THREAD; j++) sum[i][j] += left[d][ty * GEMM_PER_THREAD + i] * right[d][tx + 16 * j];
        __syncthreads();
    }
    for (int i = 0; i < GEMM_PER_THREAD; i++)
        for (int j = 0; j < GEMM_PER_THREAD; j++) {
            dense_int r = row + ty * GEMM_PER_THREAD + i, q = col + tx + 16 * j;
            if (r >= p->m || q >= p->n) continue;
            dense_int place = c + r * p->ldc + q;
            elem_t *at = (elem_t *)p->c + place;
            store(at, epilogue(&p->epilogue, gemm_scaled(p, sum[i][j], at), place, q));
        }
}

/* The grid's blocks take the tiles of all products in turn. */
extern "C" __global__ void gemm(dense_gemm p) {
    dense_int down = (p.m + GEMM_TILE - 1) / GEMM_TILE, across = (p.n + GEMM_TILE - 1) / GEMM_TILE;
    for (dense_int block = blockIdx.x; block < down * across * p.batch; block += gridDim.x) {
        dense_int tile, col, item = split(block, down * across, &tile), row = split(tile, across, &col);
        const elem_t *a = (const elem_t *)p.a, *b = (const elem_t *)p.b;
        dense_int rest = item;
        for (int i = (int)p.nb - 1; i >= 0; i--) {
            dense_int at;
            rest = split(rest, p.sizes[i], &at);
            a += at * p.a_steps[i];
            b += at * p.b_steps[i];
        }
        gemm_tile(&p, a, b, item * p.m * p.n, row * GEMM_TILE, col * GEMM_TILE);
    }
}

/* The epilogue of products that are in p.c already, made by a library that does not know it. */
extern "C" __global__ void gemm_epilogue(dense_gemm p) {
    for (dense_int n = thread_first(); n < p.batch * p.m * p.n; n += thread_step()) {
        dense_int within, col, item = split(n, p.m * p.n, &within), row = split(within, p.n, &col), place = item * p.m * p.n + row * p.ldc + col;
        elem_t *at = (elem_t *)p.c + place;
        store(at, epilogue(&p.epilogue, (sum_t)load(*at), place, col));
    }
}
