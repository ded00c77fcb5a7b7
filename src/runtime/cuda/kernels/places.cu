/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places.cu - indices as byte offsets, and flags as positions.
 *
 * Flags are taken in chunks of 2048, a block each: flags_count counts them, flags_scan (one block) turns the counts into what is in front of each chunk, and
 * flags_places writes the positions in order. A thread has 8 flags that lie together.
 */
enum { FLAGS_PER_THREAD = FLAGS_CHUNK / FLAGS_THREADS };

extern "C" __global__ void offsets_add(dense_offsets p) {
    for (dense_int i = thread_first(); i < p.count; i += thread_step()) {
        dense_int v = p.index[i], at = v < 0 ? v + p.size : v;
        if (at < 0 || at >= p.size) note_fault(p.fault, DENSE_FAULT_INDEX, p.dim, v, p.size);
        else p.offsets[i] += at * p.step;
    }
}

/* Sum of the threads' counts in front of this one; *all: of all. */
static __device__ dense_int block_scan(dense_int count, dense_int *all) {
    __shared__ dense_int sums[FLAGS_THREADS];
    int me = threadIdx.x;
    sums[me] = count;
    __syncthreads();
    for (int step = 1; step < FLAGS_THREADS; step *= 2) {
        dense_int left = me >= step ? sums[me - step] : 0;
        __syncthreads();
        sums[me] += left;
        __syncthreads();
    }
    dense_int before = sums[me] - count;
    *all = sums[FLAGS_THREADS - 1];
    __syncthreads();
    return before;
}

static __device__ int flags_of(const dense_flags *p, dense_int first, bool set[FLAGS_PER_THREAD]) {
    int count = 0;
    for (int k = 0; k < FLAGS_PER_THREAD; k++) {
        set[k] = first + k < p->n && p->flags[first + k] != 0;
        count += set[k];
    }
    return count;
}

extern "C" __global__ void flags_count(dense_flags p) {
    for (dense_int chunk = blockIdx.x; chunk < p.chunks; chunk += gridDim.x) {
        bool set[FLAGS_PER_THREAD];
        dense_int all;
        block_scan(flags_of(&p, chunk * FLAGS_CHUNK + threadIdx.x * FLAGS_PER_THREAD, set), &all);
        if (threadIdx.x == 0) p.before[chunk] = all;
    }
}

extern "C" __global__ void flags_scan(dense_flags p) {
    dense_int total = 0;
    for (dense_int first = 0; first < p.chunks; first += FLAGS_THREADS) {
        dense_int at = first + threadIdx.x, all, before = block_scan(at < p.chunks ? p.before[at] : 0, &all);
        if (at < p.chunks) p.before[at] = total + before;
        total += all;
    }
    if (threadIdx.x == 0) p.before[p.chunks] = total;
}

extern "C" __global__ void flags_places(dense_flags p) {
    for (dense_int chunk = blockIdx.x; chunk < p.chunks; chunk += gridDim.x) {
        bool set[FLAGS_PER_THREAD];
        dense_int first = chunk * FLAGS_CHUNK + threadIdx.x * FLAGS_PER_THREAD, all;
        dense_int to = p.before[chunk] + block_scan(flags_of(&p, first, set), &all);
        for (int k = 0; k < FLAGS_PER_THREAD; k++)
            if (set[k]) p.places[to++] = first + k;
    }
}

extern "C" __global__ void coordinates(dense_coordinates p) {
    for (dense_int i = thread_first(); i < p.count; i += thread_step()) {
        dense_int rest = p.places[i];
        for (int k = (int)p.ndim - 1; k >= 0; k--) rest = split(rest, p.sizes[k], &p.out[i * p.ndim + k]);
    }
}
