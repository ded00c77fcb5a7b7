/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resample.cu - pooling, and images at other positions: one output element per thread, neighbouring threads on neighbouring elements.
 */

/* Places [begin, begin + count * step) of a plane's dim. */
struct window {
    dense_int begin, count, step;
};

static __device__ window window_of(const dense_pool *p, int dim, dense_int o) {
    window w;
    dense_int rest;
    if (p->adaptive) {
        w.begin = split(o * p->in[dim], p->out[dim], &rest);
        w.count = split((o + 1) * p->in[dim] + p->out[dim] - 1, p->out[dim], &rest) - w.begin;
        w.step = 1;
        return w;
    }
    dense_int start = o * p->stride[dim] - p->pad[dim], d = p->dilation[dim];
    dense_int skip = start < 0 ? (-start + d - 1) / d : 0, last = p->in[dim] > start ? (p->in[dim] - start + d - 1) / d : 0;
    w.begin = start + skip * d;
    w.count = (p->kernel[dim] < last ? p->kernel[dim] : last) - skip;
    if (w.count < 0) w.count = 0;
    w.step = d;
    return w;
}

/* What the sum of a window is divided by; 0 where it holds nothing. */
static __device__ dense_int window_divisor(const dense_pool *p, const dense_int o[3], dense_int inside) {
    if (p->adaptive || inside == 0) return inside;
    if (p->divisor) return p->divisor;
    if (!p->count_padding) return inside;
    dense_int size = 1;
    for (int i = 0; i < 3; i++) {
        dense_int start = o[i] * p->stride[i] - p->pad[i], stop = start + p->kernel[i], edge = p->in[i] + p->pad[i];
        size *= (stop < edge ? stop : edge) - start;
    }
    return size;
}

static __device__ void pool_average(const dense_pool *p, const elem_t *x, const window w[3], const dense_int o[3], elem_t *y) {
#if ELEMENT_IS_INT
    unsigned long long sum = 0; /* wraps around */
#else
    acc_t sum = 0;
#endif
    for (dense_int a = 0; a < w[0].count; a++)
        for (dense_int b = 0; b < w[1].count; b++) {
            const elem_t *line = x + ((w[0].begin + a) * p->in[1] + w[1].begin + b) * p->in[2] + w[2].begin;
            for (dense_int k = 0; k < w[2].count; k++) sum += load(line[k]);
        }
    dense_int by = window_divisor(p, o, w[0].count * w[1].count * w[2].count);
#if ELEMENT_IS_INT
    store(y, by == -1 ? (acc_t)(0 - sum) : by ? (acc_t)((dense_int)sum / by) : (acc_t)0);
#else
    store(y, by ? sum / (acc_t)by : (acc_t)0);
#endif
}

/* The first of equal ones, and a NaN where there is one. */
static __device__ void pool_maximum(const dense_pool *p, const elem_t *x, const window w[3], elem_t *y, dense_int *place) {
    dense_int best = (w[0].begin * p->in[1] + w[1].begin) * p->in[2] + w[2].begin;
    acc_t most = (acc_t)scalar_from_bits_f32(0xff800000u); /* -infinity */
    for (dense_int a = 0; a < w[0].count; a++)
        for (dense_int b = 0; b < w[1].count; b++) {
            dense_int at = ((w[0].begin + a * w[0].step) * p->in[1] + w[1].begin + b * w[1].step) * p->in[2] + w[2].begin;
            for (dense_int k = 0; k < w[2].count; k++, at += w[2].step) {
                acc_t v = load(x[at]);
                if (v > most || v != v) most = v, best = at;
            }
        }
    store(y, most);
    if (place) *place = best;
}

extern "C" __global__ void pool(dense_pool p) {
    dense_int n = p.planes * p.out[0] * p.out[1] * p.out[2], plane_size = p.in[0] * p.in[1] * p.in[2];
    for (dense_int i = thread_first(); i < n; i += thread_step()) {
        dense_int o[3], rest = split(i, p.out[2], &o[2]);
        rest = split(rest, p.out[1], &o[1]);
        rest = split(rest, p.out[0], &o[0]);
        window w[3] = {window_of(&p, 0, o[0]), window_of(&p, 1, o[1]), window_of(&p, 2, o[2])};
        const elem_t *x = (const elem_t *)p.x + rest * plane_size;
        if (p.average) pool_average(&p, x, w, o, (elem_t *)p.y + i);
        else pool_maximum(&p, x, w, (elem_t *)p.y + i, p.places ? p.places + i : (dense_int *)0);
    }
}

extern "C" __global__ void resample(dense_resample p) {
    dense_int n = p.planes * p.out[0] * p.out[1] * p.out[2];
    for (dense_int i = thread_first(); i < n; i += thread_step()) {
        dense_int o[3], rest = split(i, p.out[2], &o[2]);
        rest = split(rest, p.out[1], &o[1]);
        rest = split(rest, p.out[0], &o[0]);
        const elem_t *x = (const elem_t *)p.x + rest * p.in[0] * p.in[1] * p.in[2];
        acc_t sum = 0;
        for (int a = 0; a < p.taps[0]; a++) {
            dense_int d = p.at[0][o[0] * p.taps[0] + a];
            acc_t slice = 0;
            for (int b = 0; b < p.taps[1]; b++) {
                const elem_t *line = x + (d * p.in[1] + p.at[1][o[1] * p.taps[1] + b]) * p.in[2];
                acc_t row = 0;
                for (int k = 0; k < p.taps[2]; k++) {
                    dense_int t = o[2] * p.taps[2] + k;
                    row += ((const acc_t *)p.weight[2])[t] * load(line[p.at[2][t]]);
                }
                slice += ((const acc_t *)p.weight[1])[o[1] * p.taps[1] + b] * row;
            }
            sum += ((const acc_t *)p.weight[0])[o[0] * p.taps[0] + a] * slice;
        }
        store((elem_t *)p.y + i, sum);
    }
}
