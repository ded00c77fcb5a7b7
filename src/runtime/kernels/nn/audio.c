/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audio.c - torchaudio's operators that archives call:
 * recursive filters, whose samples depend on earlier ones.
 *
 * _lfilter_core_loop: y[t] = x[t] - sum of a[k] y[t - n + 1 + k], where a is reversed and y
 * has n - 1 samples in front of the first. _overdrive_core_loop: a filter of first order, half of
 * it mixed with the signal. Both write to arguments, and are theirs.
 * Tests: tests/unit/test_nn.c
 */
#include "runtime/kernels/engine/wide.h"

static ctsc_status audio_check(op_ctx *cx, const char *name, const tensor *const *t, int n) {
    for (int i = 1; i < n; i++)
        if (t[i]->dtype != t[0]->dtype)
            return kernel_fail(cx, "%s: the tensors have several dtypes", name);
    if (t[0]->dtype != DT_FLOAT32 && t[0]->dtype != DT_FLOAT64)
        return op_refuse_dtype(cx, name, (dtype)t[0]->dtype);
    return CTSC_OK;
}

#define AUDIO_FILTER(T)                                                                            \
    static void audio_filter_##T(const T *x, int64_t x_step, const T *a, int64_t a_step, T *y,     \
                                 int64_t y_step, int64_t n, int64_t order) {                       \
        for (int64_t t = 0; t < n; t++) {                                                          \
            T sum = x[t * x_step];                                                                 \
            for (int64_t k = 0; k < order; k++) sum -= y[(t + k) * y_step] * a[k * a_step];        \
            y[(t + order - 1) * y_step] = sum;                                                     \
        }                                                                                          \
    }
AUDIO_FILTER(float)
AUDIO_FILTER(double)

/* (input [batch, channels, n], a [channels, order], y [batch, channels, n + order - 1]) */
ctsc_status op_audio_lfilter(op_ctx *cx, const value *args, value *results) {
    const tensor *x = arg_tensor(&args[0]), *a = arg_tensor(&args[1]), *y = arg_tensor(&args[2]),
                 *all[] = {x, a, y};
    TRY(audio_check(cx, "torchaudio::_lfilter_core_loop", all, 3));
    bool fits = x->ndim == 3 && a->ndim == 2 && y->ndim == 3 && a->sizes[0] == x->sizes[1] &&
                a->sizes[1] > 0 && y->sizes[0] == x->sizes[0] && y->sizes[1] == x->sizes[1] &&
                y->sizes[2] - x->sizes[2] == a->sizes[1] - 1;
    if (!fits)
        return kernel_fail(cx,
                           "torchaudio::_lfilter_core_loop: the sizes of input, coefficients and "
                           "output do not fit");
    for (int64_t b = 0; b < x->sizes[0]; b++)
        for (int64_t c = 0; c < x->sizes[1]; c++) {
            int64_t at_x = b * x->strides[0] + c * x->strides[1], at_a = c * a->strides[0],
                    at_y = b * y->strides[0] + c * y->strides[1];
            if (x->dtype == DT_FLOAT32)
                audio_filter_float(TENSOR_AT(x, float) + at_x, x->strides[2],
                                   TENSOR_AT(a, float) + at_a, a->strides[1],
                                   TENSOR_AT(y, float) + at_y, y->strides[2], x->sizes[2],
                                   a->sizes[1]);
            else
                audio_filter_double(TENSOR_AT(x, double) + at_x, x->strides[2],
                                    TENSOR_AT(a, double) + at_a, a->strides[1],
                                    TENSOR_AT(y, double) + at_y, y->strides[2], x->sizes[2],
                                    a->sizes[1]);
        }
    return op_return_self(results, &args[2]);
}

#define AUDIO_OVERDRIVE(T)                                                                         \
    static void audio_overdrive_##T(const tensor *const *t, int64_t c) {                           \
        const T *wave = TENSOR_AT(t[0], T) + c * t[0]->strides[0],                                 \
                *temp = TENSOR_AT(t[1], T) + c * t[1]->strides[0];                                 \
        T *in = TENSOR_AT(t[2], T) + c * t[2]->strides[0],                                         \
          *last = TENSOR_AT(t[3], T) + c * t[3]->strides[0];                                       \
        T *out = TENSOR_AT(t[4], T) + c * t[4]->strides[0];                                        \
        for (int64_t i = 0; i < t[0]->sizes[1]; i++) {                                             \
            T now = temp[i * t[1]->strides[1]];                                                    \
            *last = (T)((double)(now - *in) + 0.995 * (double)*last);                              \
            *in = now;                                                                             \
            out[i * t[4]->strides[1]] = (T)((double)wave[i * t[0]->strides[1]] * 0.5 +             \
                                            (double)*last * 0.75);                                 \
        }                                                                                          \
    }
AUDIO_OVERDRIVE(float)
AUDIO_OVERDRIVE(double)

/* (waveform, temp [channels, n], last_in, last_out [channels], output [channels, n]) */
ctsc_status op_audio_overdrive(op_ctx *cx, const value *args, value *results) {
    const tensor *t[5];
    for (int i = 0; i < 5; i++) t[i] = arg_tensor(&args[i]);
    TRY(audio_check(cx, "torchaudio::_overdrive_core_loop", t, 5));
    bool fits = t[0]->ndim == 2;
    for (int i = 1; i < 5 && fits; i++) {
        fits = t[i]->ndim == (i == 2 || i == 3 ? 1 : 2) && t[i]->sizes[0] == t[0]->sizes[0];
        if (fits && t[i]->ndim == 2) fits = t[i]->sizes[1] == t[0]->sizes[1];
    }
    if (!fits)
        return kernel_fail(cx,
                           "torchaudio::_overdrive_core_loop: the sizes of the tensors do not fit");
    for (int64_t c = 0; c < t[0]->sizes[0]; c++)
        (t[0]->dtype == DT_FLOAT32 ? audio_overdrive_float : audio_overdrive_double)(t, c);
    for (int i = 0; i < 3; i++) results[i] = value_ref(args[2 + i]);
    return CTSC_OK;
}
