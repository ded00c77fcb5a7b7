/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spectral.c - stft and istft on real tensors: complex numbers are a last dimension of size 2.
 *
 * Method. The transform of a frame is summed directly in double precision from a table of the n-th roots of unity: n^2 steps a
 * frame, exact to the last float bit. (A fast transform waits for a library that has double precision under a
 * permissive licence.) Results of dtype complex are refused.
 * Tests: tests/unit/test_spectral.c, tests/corpus
 */
#include "runtime/kernels/kernel.h"

#include <math.h>

/* What stft and istft agree on. roots: cos and sin of 2 pi k / n, interleaved; window: n_fft numbers. */
typedef struct spectrum {
    int64_t n, hop, win_length, bins;
    double *roots, *window;
    double scale;
} spectrum;

static void spectrum_free(spectrum *sp) {
    mem_free(sp->roots);
    mem_free(sp->window);
}

static ctsc_status spectrum_window(op_ctx *cx, spectrum *sp, const value *window) {
    int64_t left = (sp->n - sp->win_length) / 2;
    const tensor *w = arg_tensor_or_null(window);
    if (w && (w->ndim != 1 || w->sizes[0] != sp->win_length))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "expected a 1D window tensor of size equal to win_length=%lld, but got window with size %lld",
                         (long long)sp->win_length, (long long)(w->ndim ? w->sizes[0] : 0));
    if (w && dtype_is_complex((dtype)w->dtype)) return op_refuse_dtype(cx, "stft", (dtype)w->dtype);
    for (int64_t i = 0; i < sp->n; i++) sp->window[i] = 0;
    for (int64_t i = 0; i < sp->win_length; i++) {
        const char *p = w ? (const char *)tensor_data(w) + (size_t)(i * w->strides[0]) * dtype_size((dtype)w->dtype) : NULL;
        sp->window[left + i] = p ? dtype_load_float((dtype)w->dtype, p) : 1;
    }
    return CTSC_OK;
}

/* n_fft, hop_length, win_length, window: args[1..4]. */
static ctsc_status spectrum_init(op_ctx *cx, const value *args, spectrum *sp) {
    sp->n = arg_int(&args[1]);
    if (sp->n <= 0 || sp->n > 1 << 24) return diag_fail(cx->diag, CTSC_FAILED, "expected 0 < n_fft, but got n_fft=%lld", (long long)sp->n);
    sp->hop = arg_int_or(&args[2], sp->n / 4);
    sp->win_length = arg_int_or(&args[3], sp->n);
    if (sp->hop <= 0) return diag_fail(cx->diag, CTSC_FAILED, "expected hop_length > 0, but got hop_length=%lld", (long long)sp->hop);
    if (sp->win_length <= 0 || sp->win_length > sp->n)
        return diag_fail(cx->diag, CTSC_FAILED, "expected 0 < win_length <= n_fft, but got win_length=%lld", (long long)sp->win_length);
    sp->roots = mem_alloc((size_t)sp->n * 2 * sizeof(double));
    sp->window = mem_alloc((size_t)sp->n * sizeof(double));
    if (!sp->roots || !sp->window) return diag_no_memory(cx->diag);
    for (int64_t k = 0; k < sp->n; k++) {
        double angle = 2 * 3.14159265358979323846 * (double)k / (double)sp->n;
        sp->roots[2 * k] = cos(angle);
        sp->roots[2 * k + 1] = sin(angle);
    }
    return spectrum_window(cx, sp, &args[4]);
}

/* ---- stft ------------------------------------------------------------------------------------------------ */

/* One bin of one frame. */
static void stft_bin(const spectrum *sp, const double *frame, int64_t k, double *re, double *im) {
    double a = 0, b = 0;
    for (int64_t t = 0, at = 0; t < sp->n; t++, at = (at + k) % sp->n) {
        a += frame[t] * sp->roots[2 * at];
        b -= frame[t] * sp->roots[2 * at + 1];
    }
    *re = a * sp->scale;
    *im = b * sp->scale;
}

static ctsc_status stft_run(op_ctx *cx, spectrum *sp, const double *in, int64_t batch, int64_t len, bool batched, value *results,
                            dtype dt) {
    int64_t frames = 1 + (len - sp->n) / sp->hop, sizes[4] = {batch, sp->bins, frames, 2};
    tensor *work = NULL, *out = NULL;
    double *frame = mem_alloc((size_t)sp->n * sizeof(double));
    ctsc_status s = frame ? CTSC_OK : diag_no_memory(cx->diag);
    if (s == CTSC_OK) s = tensor_new(cx->diag, DT_FLOAT64, batched ? 4 : 3, batched ? sizes : sizes + 1, &work);
    for (int64_t b = 0; s == CTSC_OK && b < batch; b++)
        for (int64_t f = 0; f < frames; f++) {
            for (int64_t t = 0; t < sp->n; t++) frame[t] = in[b * len + f * sp->hop + t] * sp->window[t];
            for (int64_t k = 0; k < sp->bins; k++) {
                double *o = TENSOR_AT(work, double) + ((b * sp->bins + k) * frames + f) * 2;
                stft_bin(sp, frame, k, &o[0], &o[1]);
            }
        }
    mem_free(frame);
    if (s == CTSC_OK) s = tensor_to_dtype(cx->diag, work, dt, &out);
    tensor_unref(work);
    return s == CTSC_OK ? op_return_tensor(results, out) : s;
}

ctsc_status op_stft(op_ctx *cx, const value *args, value *results) {
    tensor *x = arg_tensor(&args[0]), *d = NULL;
    spectrum sp = {0};
    if (x->ndim != 1 && x->ndim != 2)
        return diag_fail(cx->diag, CTSC_FAILED, "expected a 1D or 2D tensor, but got %dD", x->ndim);
    if (!dtype_is_float((dtype)x->dtype)) return op_refuse_dtype(cx, "stft", (dtype)x->dtype);
    if (!arg_is_none(&args[7]) && arg_bool(&args[7]))
        return diag_fail(cx->diag, CTSC_UNSUPPORTED, "stft with return_complex=True is not supported");
    bool onesided = arg_is_none(&args[6]) || arg_bool(&args[6]);
    int64_t len = x->sizes[x->ndim - 1], batch = x->ndim == 2 ? x->sizes[0] : 1;
    ctsc_status s = spectrum_init(cx, args, &sp);
    if (s == CTSC_OK && sp.n > len)
        s = diag_fail(cx->diag, CTSC_FAILED, "expected 0 < n_fft < %lld, but got n_fft=%lld", (long long)len, (long long)sp.n);
    sp.bins = onesided ? sp.n / 2 + 1 : sp.n;
    sp.scale = arg_bool(&args[5]) ? 1 / sqrt((double)sp.n) : 1;
    if (s == CTSC_OK) s = tensor_to_dtype(cx->diag, x, DT_FLOAT64, &d);
    if (s == CTSC_OK && !tensor_is_contiguous(d)) {
        tensor *c = NULL;
        s = tensor_contiguous(cx->diag, d, &c);
        tensor_unref(d);
        d = c;
    }
    if (s == CTSC_OK) s = stft_run(cx, &sp, TENSOR_AT(d, double), batch, len, x->ndim == 2, results, (dtype)x->dtype);
    tensor_unref(d);
    spectrum_free(&sp);
    return s;
}

/* ---- istft ----------------------------------------------------------------------------------------------- */

/* The real signal of one frame's bins (the upper half follows from the lower one). in: bins x frames x 2. */
static void istft_frame(const spectrum *sp, const double *in, int64_t frames, int64_t f, double *out) {
    int64_t half = sp->n / 2;
    for (int64_t t = 0; t < sp->n; t++) {
        double sum = in[f * 2];
        for (int64_t k = 1; k <= half; k++) {
            const double *z = in + (k * frames + f) * 2;
            const double *r = sp->roots + 2 * (k * t % sp->n);
            double part = z[0] * r[0] - z[1] * r[1];
            sum += k * 2 == sp->n ? part : 2 * part;
        }
        out[t] = sum * sp->scale;
    }
}

/* Overlap-add of all frames, divided by the overlapped squares of the window. */
static bool istft_signal(const spectrum *sp, const double *in, int64_t frames, int64_t from, int64_t to, double *signal,
                         double *envelope, double *frame, double *out) {
    int64_t total = sp->n + sp->hop * (frames - 1);
    for (int64_t i = 0; i < total; i++) signal[i] = envelope[i] = 0;
    for (int64_t f = 0; f < frames; f++) {
        istft_frame(sp, in, frames, f, frame);
        for (int64_t t = 0; t < sp->n; t++) {
            signal[f * sp->hop + t] += frame[t] * sp->window[t];
            envelope[f * sp->hop + t] += sp->window[t] * sp->window[t];
        }
    }
    for (int64_t i = from; i < to; i++) {
        if (i < total && fabs(envelope[i]) < 1e-11) return false;
        out[i - from] = i < total ? signal[i] / envelope[i] : 0;
    }
    return true;
}

static ctsc_status istft_run(op_ctx *cx, const spectrum *sp, const tensor *in, int64_t batch, bool batched, int64_t frames,
                             int64_t from, int64_t to, tensor **out) {
    int64_t sizes[2] = {batch, to - from}, total = sp->n + sp->hop * (frames - 1);
    double *buffer = mem_alloc((size_t)(2 * total + sp->n) * sizeof(double));
    ctsc_status s = buffer ? CTSC_OK : diag_no_memory(cx->diag);
    int64_t rows = in->sizes[in->ndim - 3];
    tensor *work = NULL;
    if (s == CTSC_OK) s = tensor_new(cx->diag, DT_FLOAT64, batched ? 2 : 1, batched ? sizes : sizes + 1, &work);
    for (int64_t b = 0; s == CTSC_OK && b < batch; b++)
        if (!istft_signal(sp, TENSOR_AT(in, double) + b * rows * frames * 2, frames, from, to, buffer, buffer + total,
                          buffer + 2 * total, TENSOR_AT(work, double) + b * (to - from)))
            s = diag_fail(cx->diag, CTSC_FAILED, "istft window overlap add min: 1");
    mem_free(buffer);
    if (s == CTSC_OK) *out = work;
    else tensor_unref(work);
    return s;
}

ctsc_status op_istft(op_ctx *cx, const value *args, value *results) {
    tensor *x = arg_tensor(&args[0]), *d = NULL, *c = NULL, *y = NULL, *out = NULL;
    spectrum sp = {0};
    if (!dtype_is_float((dtype)x->dtype)) return op_refuse_dtype(cx, "istft", (dtype)x->dtype);
    if (arg_bool(&args[9])) return diag_fail(cx->diag, CTSC_UNSUPPORTED, "istft with return_complex=True is not supported");
    if ((x->ndim != 3 && x->ndim != 4) || x->sizes[x->ndim - 1] != 2 || x->numel == 0)
        return diag_fail(cx->diag, CTSC_FAILED, "istft expects a tensor with 3 or 4 dimensions, the last of size 2");
    TRY(spectrum_init(cx, args, &sp) == CTSC_OK ? CTSC_OK : (spectrum_free(&sp), cx->diag->status));
    int64_t bins = x->sizes[x->ndim - 3], frames = x->sizes[x->ndim - 2], batch = x->ndim == 4 ? x->sizes[0] : 1;
    bool onesided = arg_is_none(&args[7]) ? bins != sp.n : arg_bool(&args[7]);
    bool center = arg_bool(&args[5]);
    int64_t total = sp.n + sp.hop * (frames - 1), from = center ? sp.n / 2 : 0;
    int64_t to = arg_is_none(&args[8]) ? (center ? total - sp.n / 2 : total) : from + arg_int(&args[8]);
    sp.bins = sp.n / 2 + 1;
    sp.scale = arg_bool(&args[6]) ? 1 / sqrt((double)sp.n) : 1 / (double)sp.n;
    ctsc_status s = CTSC_OK;
    if (bins != (onesided ? sp.n / 2 + 1 : sp.n))
        s = diag_fail(cx->diag, CTSC_FAILED,
                      "istft expected the frequency dimension (3rd to the last) of the input tensor to match n_fft %s, but got %lld",
                      onesided ? "/ 2 + 1 when onesided=True" : "when onesided=False", (long long)bins);
    else if (to < from) s = diag_fail(cx->diag, CTSC_FAILED, "istft: the signal is empty");
    if (s == CTSC_OK) s = tensor_to_dtype(cx->diag, x, DT_FLOAT64, &d);
    if (s == CTSC_OK) s = tensor_contiguous(cx->diag, d, &c);
    if (s == CTSC_OK) s = istft_run(cx, &sp, c, batch, x->ndim == 4, frames, from, to, &y);
    if (s == CTSC_OK) s = tensor_to_dtype(cx->diag, y, (dtype)x->dtype, &out);
    tensor_unref(d);
    tensor_unref(c);
    tensor_unref(y);
    spectrum_free(&sp);
    return s == CTSC_OK ? op_return_tensor(results, out) : s;
}

/* With centring: pads both ends by n_fft / 2 first. */
ctsc_status op_stft_center(op_ctx *cx, const value *args, value *results) {
    tensor *x = arg_tensor(&args[0]), *view = NULL;
    value plain[8] = {args[0], args[1], args[2], args[3], args[4], args[7], args[8], args[9]};
    if (!arg_bool(&args[5])) return op_stft(cx, plain, results);
    int64_t half = arg_int(&args[1]) / 2, sizes[3] = {1, 1, x->ndim ? x->sizes[x->ndim - 1] : 0};
    if (x->ndim != 1 && x->ndim != 2)
        return diag_fail(cx->diag, CTSC_FAILED, "expected a 1D or 2D tensor, but got %dD", x->ndim);
    if (x->ndim == 2) sizes[1] = x->sizes[0];
    TRY(tensor_reshape(cx->diag, x, 3, sizes, &view));
    list *pad = list_new(LIST_INT, TYPE_INT, 2);
    value padded = value_none(), flat = value_none();
    ctsc_status s = pad && list_append_take(pad, value_int(half)) && list_append_take(pad, value_int(half))
                        ? CTSC_OK : diag_no_memory(cx->diag);
    if (s == CTSC_OK) {
        value pargs[4] = {value_tensor_take(view), value_list_take(pad), args[6], value_none()};
        s = op_call(cx, "aten::pad", 4, pargs, &padded);
    }
    if (s == CTSC_OK) {
        tensor *p = padded.u.tensor, *f = NULL;
        s = tensor_view(cx->diag, p, x->ndim, p->sizes + 3 - x->ndim, &f);
        if (s == CTSC_OK) {
            flat = value_tensor_take(f);
            plain[0] = flat;
            s = op_stft(cx, plain, results);
        }
    }
    value_unref(flat);
    value_unref(padded);
    if (pad) value_unref(value_list_take(pad));
    tensor_unref(view);
    return s;
}
