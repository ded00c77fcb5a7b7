/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.cu - convolutions as products of matrices whose second operand exists only tile by tile.
 *
 * Of one group the weights are a matrix of output channels by taps (input channel and place in the kernel), the columns are output positions of
 * all images, and element (tap, position) of the second operand is the input element that the tap meets there. The blocks work as those of gemm.cu; a thread
 * fetches one column of a slice, so its output position is taken apart once. A transposed convolution differs in where a tap is and in the
 * weights' order. Sums of half and bfloat16 are floats.
 */
enum { CONV_DEPTH = 16, CONV_PER_THREAD = 4, CONV_PAD = 4 };

#if ELEMENT_IS_INT
typedef unsigned long long sum_t; /* wraps around */
#else
typedef acc_t sum_t;
#endif

/* An output position, as the input's coordinates before the tap is added. */
struct conv_place {
    dense_int image, at[3];
    bool inside;
};

template <bool transposed> static __device__ conv_place conv_place_of(const dense_conv *p, dense_int position) {
    conv_place place;
    dense_int rest, out[3];
    place.inside = position < p->batch * p->out_size;
    place.image = split(place.inside ? position : 0, p->out_size, &rest);
    rest = split(rest, p->outs[2], &out[2]);
    out[0] = split(rest, p->outs[1], &out[1]);
    for (int i = 0; i < 3; i++) place.at[i] = transposed ? out[i] + p->pad[i] : out[i] * p->stride[i] - p->pad[i];
    return place;
}

/* The input element that place meets at tap number `tap` of the kernel, in the plane; -1 for none. */
template <bool transposed> static __device__ dense_int conv_meets(const dense_conv *p, const conv_place *place, dense_int tap) {
    dense_int t[3], offset = 0;
    tap = split(tap, p->kernel[2], &t[2]);
    t[0] = split(tap, p->kernel[1], &t[1]);
    for (int i = 0; i < 3; i++) {
        dense_int x;
        if (transposed) {
            dense_int far = place->at[i] - t[i] * p->dilation[i], rest;
            if (far < 0) return -1;
            x = split(far, p->stride[i], &rest);
            if (rest) return -1;
        } else {
            x = place->at[i] + t[i] * p->dilation[i];
        }
        if (x < 0 || x >= p->in[i]) return -1;
        offset = offset * p->in[i] + x;
    }
    return offset;
}

template <bool transposed> static __device__ void conv_tile(const dense_conv *p, dense_int group, dense_int channel, dense_int position) {
    __shared__ sum_t left[CONV_DEPTH][CONV_TILE + CONV_PAD], right[CONV_DEPTH][CONV_TILE + CONV_PAD];
    sum_t sum[CONV_PER_THREAD][CONV_PER_THREAD] = {};
    int ty = threadIdx.x / 16, tx = threadIdx.x % 16, column = threadIdx.x % CONV_TILE;
    dense_int taps = p->ci * p->kernel_size, channels = p->groups * p->ci;
    conv_place place = conv_place_of<transposed>(p, position + column);
    const elem_t *plane = (const elem_t *)p->input + (place.image * channels + group * p->ci) * p->in_size;
    const elem_t *weight = (const elem_t *)p->weight + group * p->co * taps; /* groups * ci * co * kernel_size in both orders */
    for (dense_int x = 0; x < taps; x += CONV_DEPTH) {
        for (int i = threadIdx.x; i < CONV_TILE * CONV_DEPTH; i += CONV_THREADS) {
            int r = i / CONV_DEPTH, d = i % CONV_DEPTH;
            dense_int at = (channel + r) * taps + x + d;
            if (transposed) {
                dense_int tap, c = split(x + d, p->kernel_size, &tap);
                at = (c * p->co + channel + r) * p->kernel_size + tap;
            }
            left[d][r] = channel + r < p->co && x + d < taps ? (sum_t)load(weight[at]) : (sum_t)0;
        }
        for (int d = threadIdx.x / CONV_TILE; d < CONV_DEPTH; d += CONV_THREADS / CONV_TILE) {
            dense_int tap, c = split(x + d, p->kernel_size, &tap);
            dense_int at = place.inside && x + d < taps ? conv_meets<transposed>(p, &place, tap) : -1;
            right[d][column] = at >= 0 ? (sum_t)load(plane[c * p->in_size + at]) : (sum_t)0;
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < CONV_DEPTH; d++)
#pragma unroll
            for (int i = 0; i < CONV_PER_THREAD; i++)
#pragma unroll
                for (int j = 0; j < CONV_PER_THREAD; j++) sum[i][j] += left[d][ty * CONV_PER_THREAD + i] * right[d][tx + 16 * j];
        __syncthreads();
    }
    for (int j = 0; j < CONV_PER_THREAD; j++) {
        dense_int rest, q = position + tx + 16 * j;
        if (q >= p->batch * p->out_size) continue;
        dense_int image = split(q, p->out_size, &rest);
        for (int i = 0; i < CONV_PER_THREAD; i++) {
            dense_int c = channel + ty * CONV_PER_THREAD + i, whole = group * p->co + c;
            if (c >= p->co) continue;
            dense_int at = (image * p->groups * p->co + whole) * p->out_size + rest;
            store((elem_t *)p->out + at, epilogue(&p->epilogue, sum[i][j], at, whole));
        }
    }
}

template <bool transposed> static __device__ void conv_tiles(const dense_conv *p) {
    dense_int down = (p->co + CONV_TILE - 1) / CONV_TILE, across = (p->batch * p->out_size + CONV_TILE - 1) / CONV_TILE;
    for (dense_int block = blockIdx.x; block < down * across * p->groups; block += gridDim.x) {
        dense_int tile, row, group = split(block, down * across, &tile), column = split(tile, down, &row);
        conv_tile<transposed>(p, group, row * CONV_TILE, column * CONV_TILE);
    }
}

extern "C" __global__ void conv(dense_conv p) {
    conv_tiles<false>(&p);
}
extern "C" __global__ void conv_transposed(dense_conv p) {
    conv_tiles<true>(&p);
}

/* One input channel per group: an output element per thread, neighbouring threads on neighbouring elements. */
extern "C" __global__ void conv_depthwise(dense_conv p) {
    for (dense_int n = thread_first(); n < p.batch * p.groups * p.co * p.out_size; n += thread_step()) {
        dense_int position, channel, image = split(split(n, p.out_size, &position), p.groups * p.co, &channel), rest;
        dense_int group = split(channel, p.co, &rest);
        conv_place place = conv_place_of<false>(&p, position);
        const elem_t *plane = (const elem_t *)p.input + (image * p.groups + group) * p.in_size;
        const elem_t *weight = (const elem_t *)p.weight + channel * p.kernel_size;
        sum_t sum = 0;
        for (dense_int tap = 0; tap < p.kernel_size; tap++) {
            dense_int at = conv_meets<false>(&p, &place, tap);
            if (at >= 0) sum += (sum_t)load(weight[tap]) * (sum_t)load(plane[at]);
        }
        store((elem_t *)p.out + n, epilogue(&p.epilogue, sum, n, channel));
    }
}

/* The epilogue of a convolution that is in p.out already, made by a library that does not know it. */
extern "C" __global__ void conv_epilogue(dense_conv p) {
    for (dense_int n = thread_first(); n < p.batch * p.groups * p.co * p.out_size; n += thread_step()) {
        dense_int position, channel;
        split(split(n, p.out_size, &position), p.groups * p.co, &channel);
        elem_t *at = (elem_t *)p.out + n;
        store(at, epilogue(&p.epilogue, (sum_t)load(*at), n, channel));
    }
}
