/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.cu - running results. scan_lanes has a line per thread, neighbouring threads on neighbouring lines; scan_lines, for sums and products of lines
 * without gaps, a line per block, which takes 256 elements at a time. Floats run in double, as on the host; integers wrap around.
 */
#if ELEMENT_IS_INT
typedef unsigned long long run_t;
#else
typedef double run_t;
#endif

static __device__ run_t scan_join(run_t a, run_t b, int what) {
    return what == DENSE_SCAN_SUM ? a + b : a * b;
}

extern "C" __global__ void scan_lines(dense_scan p) {
    __shared__ run_t part[SCAN_THREADS];
    int me = threadIdx.x;
    for (dense_int line = blockIdx.x; line < p.outer; line += gridDim.x) {
        run_t before = p.what == DENSE_SCAN_SUM ? 0 : 1;
        for (dense_int first = 0; first < p.n; first += SCAN_THREADS) {
            dense_int at = line * p.n + first + me;
            bool inside = first + me < p.n;
            part[me] = inside ? (run_t)load(((const elem_t *)p.x)[at]) : (run_t)(p.what == DENSE_SCAN_SUM ? 0 : 1);
            __syncthreads();
            for (int step = 1; step < SCAN_THREADS; step *= 2) {
                run_t left = me >= step ? part[me - step] : (run_t)(p.what == DENSE_SCAN_SUM ? 0 : 1);
                __syncthreads();
                part[me] = scan_join(left, part[me], p.what);
                __syncthreads();
            }
            if (inside) store((elem_t *)p.y + at, (acc_t)scan_join(before, part[me], p.what));
            before = scan_join(before, part[SCAN_THREADS - 1], p.what);
            __syncthreads();
        }
    }
}

static __device__ double scan_log_add(double a, double v) {
    double low = a != a || a < v ? a : v, high = a != a || a > v ? a : v;
    if (v != v) low = high = v;
    bool finite = low - low == 0;
    return low != high || finite ? log1p(exp(low - high)) + high : v;
}

/* The latest of equals counts; a NaN stays, and a later NaN is later. */
static __device__ void scan_minmax(const dense_scan *p, const elem_t *x, elem_t *y, dense_int *places) {
    acc_t best = load(x[0]);
    dense_int last = 0;
    for (dense_int k = 0; k < p->n; k++, x += p->inner, y += p->inner, places += p->inner) {
        acc_t v = load(*x);
        bool better = v != v || (best == best && (p->what == DENSE_SCAN_MAX ? v >= best : v <= best));
        if (better) best = v, last = k;
        store(y, best);
        *places = last;
    }
}

extern "C" __global__ void scan_lanes(dense_scan p) {
    for (dense_int i = thread_first(); i < p.outer * p.inner; i += thread_step()) {
        dense_int lane, base = split(i, p.inner, &lane) * p.n * p.inner + lane;
        const elem_t *x = (const elem_t *)p.x + base;
        elem_t *y = (elem_t *)p.y + base;
        if (p.what == DENSE_SCAN_MAX || p.what == DENSE_SCAN_MIN) {
            scan_minmax(&p, x, y, p.places + base);
            continue;
        }
#if !ELEMENT_IS_INT
        if (p.what == DENSE_SCAN_LOGSUMEXP) {
            double run = (double)scalar_from_bits_f32(0xff800000u);
            for (dense_int k = 0; k < p.n; k++) {
                run = scan_log_add(run, (double)load(x[k * p.inner]));
                store(y + k * p.inner, run);
            }
            continue;
        }
#endif
        run_t run = p.what == DENSE_SCAN_SUM ? 0 : 1;
        for (dense_int k = 0; k < p.n; k++) {
            run = scan_join(run, (run_t)load(x[k * p.inner]), p.what);
            store(y + k * p.inner, (acc_t)run);
        }
    }
}
