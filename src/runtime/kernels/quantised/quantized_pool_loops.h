/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_pool_loops.h - one place of a quantised pool, for one element type.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here
 */

static NN_HOT void NAME(max)(const T *x, int64_t n, T *acc) {
    for (int64_t c = 0; c < n; c++) acc[c] = acc[c] > x[c] ? acc[c] : x[c];
}

static NN_HOT void NAME(sum)(const T *x, int64_t n, int32_t zero, int32_t *acc) {
    for (int64_t c = 0; c < n; c++)
        acc[c] = (int32_t)((uint32_t)acc[c] + ((uint32_t)x[c] - (uint32_t)zero));
}

static void NAME(store)(const qpool *p, const int32_t *acc, int64_t n, const qpool_window *w,
                        T *out) {
    dtype dt = (dtype)p->x->dtype;
    int64_t zero = p->x->quantiser->zero_point;
    float share = 1 / (float)w->counted;
    for (int64_t c = 0; c < n; c++)
        out[c] = (T)(p->inside ? quant_round((float)acc[c] * share + (float)zero, 1, 0,
                                             dtype_qmin(dt), dtype_qmax(dt))
                               : quant_round((float)acc[c], share, zero, dtype_qmin(dt),
                                             dtype_qmax(dt)));
}

static void NAME(place)(const qpool *p, int64_t batch, const int64_t at[3], T *out) {
    int32_t acc[QPOOL_CHANNELS];
    qpool_window w;
    qpool_window_at(p, at, &w);
    int32_t zero = (int32_t)p->x->quantiser->zero_point;
    for (int64_t first = 0; first < p->channels; first += QPOOL_CHANNELS) {
        int64_t n = nn_min(QPOOL_CHANNELS, p->channels - first);
        memset(acc, 0, sizeof acc);
        for (int64_t c = 0; c < n && !p->average; c++)
            out[first + c] = (T)dtype_qmin((dtype)p->x->dtype);
        for (int64_t i = w.from[0]; i < w.to[0]; i += p->dilation[0])
            for (int64_t j = w.from[1]; j < w.to[1]; j += p->dilation[1])
                for (int64_t k = w.from[2]; k < w.to[2]; k += p->dilation[2]) {
                    const T *x = TENSOR_AT(p->x, T) +
                                 (((batch * p->in[0] + i) * p->in[1] + j) * p->in[2] + k) *
                                     p->channels +
                                 first;
                    if (p->average) NAME(sum)(x, n, zero, acc);
                    else NAME(max)(x, n, out + first);
                }
        if (p->average) NAME(store)(p, acc, n, &w, out + first);
    }
}

#undef T
#undef NAME
