/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_pool_loops.h - one place of a quantised pool, for one element type.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here
 */

/* The maxima of QPOOL_LANES channels, in a window of positions at strides
 * step[d] in elements. They stay in registers while the window passes. */
static VECTOR_CLONES void NAME(max_lanes)(const T *x, const int64_t count[3], const int64_t step[3],
                                          T least, T *out) {
    T acc[QPOOL_LANES];
    for (int c = 0; c < QPOOL_LANES; c++) acc[c] = least;
    for (int64_t i = 0; i < count[0]; i++)
        for (int64_t j = 0; j < count[1]; j++) {
            const T *at = x + i * step[0] + j * step[1];
            for (int64_t k = 0; k < count[2]; k++, at += step[2])
                for (int c = 0; c < QPOOL_LANES; c++) acc[c] = acc[c] > at[c] ? acc[c] : at[c];
        }
    for (int c = 0; c < QPOOL_LANES; c++) out[c] = acc[c];
}

static VECTOR_CLONES void NAME(max_some)(const T *x, const int64_t count[3], const int64_t step[3],
                                         int64_t n, T least, T *out) {
    for (int64_t c = 0; c < n; c++) out[c] = least;
    for (int64_t i = 0; i < count[0]; i++)
        for (int64_t j = 0; j < count[1]; j++) {
            const T *at = x + i * step[0] + j * step[1];
            for (int64_t k = 0; k < count[2]; k++, at += step[2])
                for (int64_t c = 0; c < n; c++) out[c] = out[c] > at[c] ? out[c] : at[c];
        }
}

/* The last channels are a block with others that are done again. */
static void NAME(max)(const T *x, const int64_t count[3], const int64_t step[3], int64_t n, T least,
                      T *out) {
    if (n < QPOOL_LANES) {
        NAME(max_some)(x, count, step, n, least, out);
        return;
    }
    for (int64_t c = 0; c < n; c += QPOOL_LANES) {
        c = int64_min(c, n - QPOOL_LANES);
        NAME(max_lanes)(x + c, count, step, least, out + c);
    }
}

static VECTOR_CLONES void NAME(sum)(const T *x, int64_t n, int32_t zero, int32_t *acc) {
    for (int64_t c = 0; c < n; c++)
        acc[c] = (int32_t)((uint32_t)acc[c] + ((uint32_t)x[c] - (uint32_t)zero));
}

/* Numbers that an int holds, as quant_round. */
static VECTOR_FUSED_CLONES void NAME(round)(const int32_t *acc, int64_t n, float share,
                                            float before, float zero, float lo, float hi, T *out) {
    for (int64_t c = 0; c < n; c++) {
        float q = rintf((float)acc[c] * share + before) + zero;
        q = q > lo ? q : lo;
        out[c] = (T)(int32_t)(q < hi ? q : hi);
    }
}

static void NAME(store)(const qpool *p, const int32_t *acc, int64_t n, const qpool_window *w,
                        T *out) {
    dtype dt = (dtype)p->x->dtype;
    int64_t zero = p->x->quantiser->zero_point, lo = dtype_qmin(dt), hi = dtype_qmax(dt);
    float share = 1 / (float)w->counted, before = 0;
    if (p->to) {
        share *= (float)(p->x->quantiser->scale / p->to->scale);
        zero = p->to->zero_point;
    } else if (p->inside) {
        before = (float)zero;
        zero = 0;
    }
    if (dt == DT_QINT32)
        for (int64_t c = 0; c < n; c++)
            out[c] = (T)quant_round((float)acc[c] * share + before, 1, zero, lo, hi);
    else NAME(round)(acc, n, share, before, (float)zero, (float)lo, (float)hi, out);
}

static void NAME(place)(const qpool *p, int64_t batch, const qpool_window *w, T *out) {
    int32_t acc[QPOOL_CHANNELS];
    const int64_t *count = w->count;
    const T *x = TENSOR_AT(p->x, T) +
                 (((batch * p->in[0] + w->from[0]) * p->in[1] + w->from[1]) * p->in[2] +
                  w->from[2]) *
                     p->channels;
    int64_t step[3], size = p->channels;
    for (int d = 2; d >= 0; d--) {
        step[d] = size * p->dilation[d];
        size *= p->in[d];
    }
    if (!p->average) {
        NAME(max)(x, count, step, p->channels, (T)dtype_qmin((dtype)p->x->dtype), out);
        return;
    }
    int32_t zero = (int32_t)p->x->quantiser->zero_point;
    for (int64_t first = 0; first < p->channels; first += QPOOL_CHANNELS, x += QPOOL_CHANNELS) {
        int64_t n = int64_min(QPOOL_CHANNELS, p->channels - first);
        memset(acc, 0, sizeof acc);
        for (int64_t i = 0; i < count[0]; i++)
            for (int64_t j = 0; j < count[1]; j++)
                for (int64_t k = 0; k < count[2]; k++)
                    NAME(sum)(x + i * step[0] + j * step[1] + k * step[2], n, zero, acc);
        NAME(store)(p, acc, n, w, out + first);
    }
}

#undef T
#undef NAME
