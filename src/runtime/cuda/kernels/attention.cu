/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention.cu - attention in one pass over keys and values, and softmax over rows of scores.
 *
 * attention: a block has 16 rows of one head, a warp four of them. Keys and values come through shared memory, 32 at a time; a lane has the score of
 * one key for each of its warp's rows, then a few columns of the result for each. What was summed so far is scaled whenever a greater score is
 * met, so scores exist only in registers. Depth and width go up to 128, and numbers are computed in float: what does not fit is computed from
 * products of whole matrices with attention_softmax between them.
 */
enum { ATTENTION_KEYS = 32, ATTENTION_WARP_ROWS = ATTENTION_ROWS / ATTENTION_WARPS, ATTENTION_PARTS = ATTENTION_WIDTH / 32 };

static __device__ acc_t minus_infinity() {
    return (acc_t)scalar_from_bits_f32(0xff800000u);
}

/* Where the matrix of head number n begins. */
static __device__ dense_int attention_offset(const dense_attention *p, const dense_int *steps, dense_int n) {
    dense_int at = 0;
    for (int i = (int)p->nb - 1; i >= 0; i--) {
        dense_int k;
        n = split(n, p->sizes[i], &k);
        at += k * steps[i];
    }
    return at;
}
static __device__ const elem_t *attention_head(const dense_attention *p, const void *from, const dense_int *steps, dense_int n) {
    return (const elem_t *)from + attention_offset(p, steps, n);
}

#if ELEMENT_BYTES < 8
static __device__ float warp_max(float v) {
    for (int by = 16; by; by /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, by));
    return v;
}
static __device__ float warp_sum(float v) {
    for (int by = 16; by; by /= 2) v += __shfl_xor_sync(0xffffffffu, v, by);
    return v;
}

/* Some rows of a matrix, to shared memory; 0 beyond its sizes. */
template <int STRIDE> static __device__ void attention_fetch(float *to, const elem_t *from, dense_int first, int n, dense_int rows, int columns,
                                                             dense_int rs, dense_int cs) {
    for (int i = threadIdx.x; i < n * ATTENTION_WIDTH; i += ATTENTION_WARPS * 32) {
        int row = i / ATTENTION_WIDTH, column = i % ATTENTION_WIDTH;
        bool inside = first + row < rows && column < columns;
        to[row * STRIDE + column] = inside ? load(from[(first + row) * rs + column * cs]) : 0.0f;
    }
}

extern "C" __global__ void attention(dense_attention p) {
    __shared__ float q[ATTENTION_ROWS * ATTENTION_WIDTH], k[ATTENTION_KEYS * (ATTENTION_WIDTH + 1)], v[ATTENTION_KEYS * ATTENTION_WIDTH];
    int lane = threadIdx.x % 32, mine = threadIdx.x / 32 * ATTENTION_WARP_ROWS;
    dense_int blocks = (p.rows + ATTENTION_ROWS - 1) / ATTENTION_ROWS;
    for (dense_int item = blockIdx.x; item < blocks * p.heads; item += gridDim.x) {
        dense_int block, head = split(item, blocks, &block), first = block * ATTENTION_ROWS;
        const elem_t *keys = attention_head(&p, p.k, p.k_steps, head), *values = attention_head(&p, p.v, p.v_steps, head);
        const elem_t *mask = p.mask ? attention_head(&p, p.mask, p.mask_steps, head) : (const elem_t *)0;
        const unsigned char *hidden = p.hidden ? p.hidden + attention_offset(&p, p.hidden_steps, head) : (const unsigned char *)0;
        elem_t *out = (elem_t *)attention_head(&p, p.out, p.out_steps, head);
        float most[ATTENTION_WARP_ROWS], total[ATTENTION_WARP_ROWS], sum[ATTENTION_WARP_ROWS][ATTENTION_PARTS] = {};
        for (int r = 0; r < ATTENTION_WARP_ROWS; r++) most[r] = minus_infinity(), total[r] = 0;
        __syncthreads();
        attention_fetch<ATTENTION_WIDTH>(q, attention_head(&p, p.q, p.q_steps, head), first, ATTENTION_ROWS, p.rows, (int)p.depth, p.q_rs, p.q_cs);
        dense_int end = p.causal && first + ATTENTION_ROWS < p.cols ? first + ATTENTION_ROWS : p.cols;
        for (dense_int at = 0; at < end; at += ATTENTION_KEYS) {
            __syncthreads();
            attention_fetch<ATTENTION_WIDTH + 1>(k, keys, at, ATTENTION_KEYS, p.cols, (int)p.depth, p.k_rs, p.k_cs);
            attention_fetch<ATTENTION_WIDTH>(v, values, at, ATTENTION_KEYS, p.cols, (int)p.width, p.v_rs, p.v_cs);
            __syncthreads();
            float score[ATTENTION_WARP_ROWS] = {};
            for (int x = 0; x < p.depth; x++) {
                float key = k[lane * (ATTENTION_WIDTH + 1) + x];
#pragma unroll
                for (int r = 0; r < ATTENTION_WARP_ROWS; r++) score[r] += q[(mine + r) * ATTENTION_WIDTH + x] * key;
            }
#pragma unroll
            for (int r = 0; r < ATTENTION_WARP_ROWS; r++) {
                dense_int row = first + mine + r, column = at + lane;
                bool seen = row < p.rows && column < p.cols && !(p.causal && column > row);
                float s = seen ? score[r] * (float)p.scale : minus_infinity();
                if (seen && mask) s += load(mask[row * p.mask_rs + column * p.mask_cs]);
                if (seen && hidden && hidden[row * p.hidden_rs + column * p.hidden_cs]) s = (float)p.fill;
                float now = fmaxf(most[r], warp_max(s)), from = now == minus_infinity() ? 0.0f : now;
                float weight = expf(s - from), keep = expf(most[r] - from);
                most[r] = now;
                total[r] = total[r] * keep + warp_sum(weight);
                score[r] = weight;
#pragma unroll
                for (int part = 0; part < ATTENTION_PARTS; part++) sum[r][part] *= keep;
            }
            for (int x = 0; x < ATTENTION_KEYS; x++) {
                float weight[ATTENTION_WARP_ROWS];
#pragma unroll
                for (int r = 0; r < ATTENTION_WARP_ROWS; r++) weight[r] = __shfl_sync(0xffffffffu, score[r], x);
#pragma unroll
                for (int part = 0; part < ATTENTION_PARTS; part++) {
                    float value = v[x * ATTENTION_WIDTH + part * 32 + lane];
#pragma unroll
                    for (int r = 0; r < ATTENTION_WARP_ROWS; r++) sum[r][part] += weight[r] * value;
                }
            }
        }
        for (int r = 0; r < ATTENTION_WARP_ROWS; r++)
            for (int part = 0; part < ATTENTION_PARTS; part++) {
                dense_int row = first + mine + r, column = part * 32 + lane;
                if (row < p.rows && column < p.width) store(out + row * p.out_rs + column, sum[r][part] / total[r]);
            }
    }
}
#endif

/* Score number i of a row, once it is masked. */
static __device__ acc_t attention_score(const dense_attention *p, const elem_t *scores, const elem_t *mask, const unsigned char *hidden, dense_int i) {
    if (hidden && hidden[i * p->hidden_cs]) return (acc_t)p->fill;
    return load(scores[i]) + (mask ? load(mask[i * p->mask_cs]) : (acc_t)0);
}

/* The scores [heads, rows, cols] that lie where p.out says become weights; a row per warp. */
extern "C" __global__ void attention_softmax(dense_attention p) {
    int lane = threadIdx.x % 32;
    dense_int warps = (dense_int)gridDim.x * blockDim.x / 32;
    for (dense_int item = thread_first() / 32; item < p.heads * p.rows; item += warps) {
        dense_int row, head = split(item, p.rows, &row);
        const elem_t *mask = p.mask ? attention_head(&p, p.mask, p.mask_steps, head) + row * p.mask_rs : (const elem_t *)0;
        const unsigned char *hidden = p.hidden ? p.hidden + attention_offset(&p, p.hidden_steps, head) + row * p.hidden_rs : (const unsigned char *)0;
        elem_t *scores = (elem_t *)p.out + item * p.cols;
        dense_int end = p.causal && row + 1 < p.cols ? row + 1 : p.cols;
        acc_t most = minus_infinity(), total = 0;
        for (dense_int i = lane; i < end; i += 32) {
            acc_t s = attention_score(&p, scores, mask, hidden, i);
            most = s > most ? s : most;
        }
        for (int by = 16; by; by /= 2) {
            acc_t other = __shfl_xor_sync(0xffffffffu, most, by);
            most = other > most ? other : most;
        }
        for (dense_int i = lane; i < end; i += 32) total += exp(attention_score(&p, scores, mask, hidden, i) - most);
        for (int by = 16; by; by /= 2) total += __shfl_xor_sync(0xffffffffu, total, by);
        for (dense_int i = lane; i < p.cols; i += 32)
            store(scores + i, i < end ? exp(attention_score(&p, scores, mask, hidden, i) - most) / total : (acc_t)0);
    }
}
