/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort.cu - lines as keys that order as the elements do, and sorting these by merging.
 *
 * sort_begin makes keys of a tile of 1024 elements and sorts it in shared memory (a bitonic network on pairs of key and position, so equal keys stay in
 * order); sort_merge doubles what is sorted, each element finding its place among the other run by bisection; sort_end writes elements.
 * NaN is the greatest and equals NaN, -0 equals 0.
 */
typedef unsigned long long order_t;

/* Of a float's bits. */
static __device__ order_t sort_key_bits(order_t bits, int width) {
    order_t sign = 1ull << (width - 1);
    if (bits == sign) bits = 0;
    return bits & sign ? ~bits & (sign | (sign - 1)) : bits | sign;
}
static __device__ order_t sort_key(float v) {
    return v != v ? 0xffffffffull : sort_key_bits(scalar_bits_f32(v), 32);
}
static __device__ order_t sort_key(f16 v) {
    return sort_key(load(v));
}
static __device__ order_t sort_key(bf16 v) {
    return sort_key(load(v));
}
static __device__ order_t sort_key(double v) {
    union {
        double number;
        order_t bits;
    } x;
    x.number = v;
    return v != v ? ~0ull : sort_key_bits(x.bits, 64);
}
template <class A> static __device__ order_t sort_key(A v) { /* integers; those without a sign are the same to it */
    return (order_t)(long long)v ^ 1ull << 63;
}

/* Offset of line number n. */
static __device__ dense_int sort_line(const dense_sort *p, const dense_int *steps, dense_int n) {
    dense_int offset = 0;
    for (int i = (int)p->nd - 1; i >= 0; i--) {
        dense_int at;
        n = split(n, p->sizes[i], &at);
        offset += at * steps[i];
    }
    return offset;
}

extern "C" __global__ void sort_begin(dense_sort p) {
    __shared__ order_t keys[SORT_TILE];
    __shared__ int places[SORT_TILE];
    dense_int tiles = (p.n + SORT_TILE - 1) / SORT_TILE;
    for (dense_int item = blockIdx.x; item < p.lines * tiles; item += gridDim.x) {
        dense_int tile, line = split(item, tiles, &tile), first = tile * SORT_TILE;
        const elem_t *x = (const elem_t *)p.x + sort_line(&p, p.x_steps, line);
        int n = (int)(p.n - first < SORT_TILE ? p.n - first : SORT_TILE);
        for (int i = threadIdx.x; i < SORT_TILE; i += SORT_THREADS) {
            order_t key = i < n ? sort_key(x[(first + i) * p.x_step]) : 0;
            keys[i] = p.descending ? ~key : key;
            places[i] = i < n ? i : SORT_TILE + i; /* behind all that are there */
        }
        __syncthreads();
        for (int size = 2; size <= SORT_TILE; size *= 2)
            for (int apart = size / 2; apart; apart /= 2) {
                int i = 2 * threadIdx.x - (threadIdx.x & (apart - 1)), k = i + apart;
                bool rising = (i & size) == 0;
                bool i_there = places[i] < SORT_TILE, k_there = places[k] < SORT_TILE;
                bool after = i_there != k_there    ? !i_there
                             : i_there && keys[i] != keys[k] ? keys[i] > keys[k]
                                                             : places[i] > places[k];
                if (after == rising) {
                    order_t key = keys[i];
                    int place = places[i];
                    keys[i] = keys[k], places[i] = places[k];
                    keys[k] = key, places[k] = place;
                }
                __syncthreads();
            }
        for (int i = threadIdx.x; i < n; i += SORT_THREADS) {
            p.keys[line * p.n + first + i] = keys[i];
            p.at[line * p.n + first + i] = first + places[i];
        }
        __syncthreads();
    }
}

/* Keys of run[0, n) that stand in front of `key`; of equal ones, too, if `equal`. */
static __device__ dense_int sort_rank(const order_t *run, dense_int n, order_t key, bool equal) {
    dense_int low = 0, high = n;
    while (low < high) {
        dense_int middle = (low + high) / 2;
        if (run[middle] < key || (equal && run[middle] == key)) low = middle + 1;
        else high = middle;
    }
    return low;
}

extern "C" __global__ void sort_merge(dense_sort p) {
    for (dense_int i = thread_first(); i < p.lines * p.n; i += thread_step()) {
        dense_int at, line = split(i, p.n, &at), inside, pair = split(at, 2 * p.run, &inside) * 2 * p.run;
        const order_t *runs = p.keys + line * p.n + pair;
        dense_int left = p.n - pair < p.run ? p.n - pair : p.run, right = p.n - pair - left;
        if (right > p.run) right = p.run;
        dense_int to = inside < left ? inside + sort_rank(runs + left, right, p.keys[i], false)
                                     : inside - left + sort_rank(runs, left, p.keys[i], true);
        p.keys_to[line * p.n + pair + to] = p.keys[i];
        p.at_to[line * p.n + pair + to] = p.at[i];
    }
}

extern "C" __global__ void sort_end(dense_sort p) {
    for (dense_int i = thread_first(); i < p.lines * p.count; i += thread_step()) {
        dense_int rank, line = split(i, p.count, &rank), from = p.at[line * p.n + p.first + rank];
        dense_int to = sort_line(&p, p.out_steps, line) + rank * p.out_step;
        ((elem_t *)p.values)[to] = ((const elem_t *)p.x)[sort_line(&p, p.x_steps, line) + from * p.x_step];
        p.indices[to] = from;
    }
}
