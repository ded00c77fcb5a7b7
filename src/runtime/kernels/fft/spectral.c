/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spectral.c - stft and istft: Fourier transforms of overlapping frames of a signal, and back.
 *
 * Method. stft cuts the (padded) signal in frames by strides alone, multiplies them by the window,
 * and transforms the rows. istft transforms the columns back, adds the frames up where they overlap
 * and divides by the sum of the squared windows; each sample is summed in the order of the frames,
 * whatever the threads.
 * Tests: tests/unit/test_spectral.c, tests/interop/fft.py, tests/corpus
 */
#include "runtime/kernels/fft/fft.h"

#include "tensor/strides.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The arguments both have. */
typedef struct spectrum {
    op_ctx *cx;
    const char *name; /* "stft" */
    const value *args;
    int64_t n, hop, win_length;
    const tensor *window; /* NULL: none */
    bool center, normalized;
} spectrum;

static void spectrum_optional(strbuf *sb, const char *name, const value *v, bool last) {
    sb_printf(sb, "%s=", name);
    if (arg_is_none(v)) sb_puts(sb, "None");
    else sb_printf(sb, "%" PRId64, v->tag == V_BOOL ? (int64_t)v->u.b : v->u.i);
    if (!last) sb_puts(sb, ", ");
}

/* Fails with the call as PyTorch shows it and what is wrong: "stft(torch.FloatTensor[20], n_fft=4,
 * ...) : message". */
static ctsc_status spectrum_fail(const spectrum *sp, const tensor *x, const char *message) {
    bool back = sp->name[0] == 'i', complex_input = dtype_is_complex((dtype)x->dtype);
    strbuf sb = STRBUF_INIT;
    sb_printf(&sb, complex_input ? "%s(CPU%sType" : "%s(torch.%sTensor", sp->name,
              dtype_table[x->dtype].ir_name);
    tensor_print_sizes(x->ndim, x->sizes, &sb);
    sb_printf(&sb,
              ", n_fft=%" PRId64 ", hop_length=%" PRId64 ", win_length=%" PRId64 ", window=", sp->n,
              sp->hop, sp->win_length);
    if (!sp->window) {
        sb_puts(&sb, "None");
    } else {
        sb_printf(&sb, "torch.%sTensor{", dtype_table[sp->window->dtype].ir_name);
        tensor_print_sizes(sp->window->ndim, sp->window->sizes, &sb);
        sb_puts(&sb, "}");
    }
    if (back) sb_printf(&sb, ", center=%d", sp->center);
    sb_printf(&sb, ", normalized=%d, ", sp->normalized);
    spectrum_optional(&sb, "onesided", &sp->args[back ? 7 : 6], false);
    if (back) spectrum_optional(&sb, "length", &sp->args[8], false);
    bool aligned = !back && !arg_is_none(&sp->args[8]);
    spectrum_optional(&sb, "return_complex", &sp->args[back ? 9 : 7], !aligned);
    if (aligned) spectrum_optional(&sb, "align_to_window", &sp->args[8], true);
    ctsc_status st = diag_fail(sp->cx->diag, CTSC_FAILED, "%s) %s", sb_str(&sb), message);
    sb_free(&sb);
    return st;
}

#define SPECTRUM_CHECK(condition, ...)                                                             \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            char message_[256];                                                                    \
            snprintf(message_, sizeof message_, ": " __VA_ARGS__);                                 \
            return spectrum_fail(sp, x, message_);                                                 \
        }                                                                                          \
    } while (0)

/* (x, n_fft, hop_length, win_length, window) */
static void spectrum_read(op_ctx *cx, const value *args, const char *name, spectrum *sp) {
    sp->cx = cx;
    sp->name = name;
    sp->args = args;
    sp->n = arg_int(&args[1]);
    sp->hop = arg_int_or(&args[2], sp->n >> 2);
    sp->win_length = arg_int_or(&args[3], sp->n);
    sp->window = arg_tensor_or_null(&args[4]);
}

static dtype spectrum_promote(const tensor *x, const tensor *window) {
    return window ? dtype_promote((dtype)x->dtype, (dtype)window->dtype) : (dtype)x->dtype;
}

/* The window with zeros around it up to n, as complex numbers in double precision, in w[2 n]. */
static ctsc_status spectrum_window(const spectrum *sp, double *w) {
    int64_t left = (sp->n - sp->win_length) / 2;
    tensor *wide = NULL, *dense = NULL;
    for (int64_t i = 0; i < 2 * sp->n; i++) w[i] = 0;
    if (!sp->window) {
        for (int64_t i = 0; i < sp->win_length; i++) w[2 * (left + i)] = 1;
        return CTSC_OK;
    }
    TRY(tensor_to_dtype(sp->cx->diag, (tensor *)sp->window, DT_COMPLEX128, &wide));
    ctsc_status st = tensor_contiguous(sp->cx->diag, wide, &dense);
    if (st == CTSC_OK)
        memcpy(w + 2 * left, tensor_data(dense), (size_t)sp->win_length * sizeof(complex128));
    tensor_unref(dense);
    tensor_unref(wide);
    return st;
}

/* ---- stft ------------------------------------------------------------------------------------ */

/* Frames times window, into rows of n numbers. */
typedef struct stft_job {
    const tensor *x; /* [batch, samples], of dtype dt */
    tensor *out;     /* [batch, frames, n] */
    const double *window;
    int64_t n, hop, frames;
} stft_job;

#define STFT_REAL(T)                                                                               \
    {                                                                                              \
        const T *p = (const T *)tensor_data(j->x) + from;                                          \
        T *q = (T *)tensor_data(j->out) + to;                                                      \
        for (int64_t i = 0; i < j->n; i++) q[i * place] = p[i * step] * (T)j->window[2 * i];       \
    }
#define STFT_COMPLEX(C, T)                                                                         \
    {                                                                                              \
        const C *p = (const C *)tensor_data(j->x) + from;                                          \
        C *q = (C *)tensor_data(j->out) + to;                                                      \
        for (int64_t i = 0; i < j->n; i++) {                                                       \
            C v = p[i * step];                                                                     \
            T re = (T)j->window[2 * i], im = (T)j->window[2 * i + 1];                              \
            q[i * place] = (C){v.re * re - v.im * im, v.re * im + v.im * re};                      \
        }                                                                                          \
    }
static void stft_range(void *ctx, int64_t begin, int64_t end) {
    const stft_job *j = ctx;
    const int64_t step = j->x->strides[1], *lying = j->out->strides, place = lying[2];
    for (int64_t r = begin; r < end; r++) {
        int64_t to = r / j->frames * lying[0] + r % j->frames * lying[1];
        int64_t from = r / j->frames * j->x->strides[0] + r % j->frames * j->hop * step;
        switch ((dtype)j->x->dtype) {
        case DT_FLOAT32: STFT_REAL(float) break;
        case DT_FLOAT64: STFT_REAL(double) break;
        case DT_COMPLEX64: STFT_COMPLEX(complex64, float) break;
        default: STFT_COMPLEX(complex128, double) break;
        }
    }
}

/* x [batch, samples] to frames [batch, frames, n]: a view without window. */
static ctsc_status stft_frames(const spectrum *sp, const tensor *x, dtype dt, tensor **out) {
    diag *d = sp->cx->diag;
    int64_t frames = 1 + (x->sizes[1] - sp->n) / sp->hop, sizes[3] = {x->sizes[0], frames, sp->n};
    int64_t strides[3] = {x->strides[0], sp->hop * x->strides[1], x->strides[1]};
    if (!sp->window && sp->win_length == sp->n)
        return tensor_view_raw(d, x, 3, sizes, strides, x->offset, out);
    stft_job j = {.n = sp->n, .hop = sp->hop, .frames = frames};
    double *w = mem_alloc((size_t)sp->n * 2 * sizeof(double));
    tensor *same = NULL, *view = NULL;
    ctsc_status st = w ? spectrum_window(sp, w) : diag_no_memory(d);
    if (st == CTSC_OK) st = tensor_view_raw(d, x, 3, sizes, strides, x->offset, &view);
    if (st == CTSC_OK) { /* the frames have the layout of a product of a view of them */
        broadcast_strides(3, sizes, 1, &view, strides);
        st = tensor_new_strided(d, DEVICE_HOST, dt, 3, sizes, strides, &j.out);
    }
    if (st == CTSC_OK && (st = tensor_to_dtype(d, (tensor *)x, dt, &same)) != CTSC_OK)
        tensor_unref(j.out);
    tensor_unref(view);
    j.x = same;
    j.window = w;
    if (st == CTSC_OK) {
        pool_for(sizes[0] * frames, 1 + 16384 / sp->n, stft_range, &j);
        *out = j.out;
    }
    tensor_unref(same);
    mem_free(w);
    return st;
}

/* x: one or two dimensions, padded already. */
static ctsc_status stft_run(const spectrum *sp, const tensor *x, const tensor *rows, tensor **out) {
    const value *args = sp->args;
    diag *d = sp->cx->diag;
    bool complex_window = sp->window && dtype_is_complex((dtype)sp->window->dtype);
    bool return_complex = arg_is_none(&args[7])
                              ? dtype_is_complex((dtype)x->dtype) || complex_window
                              : arg_bool(&args[7]);
    int64_t len = rows->sizes[1];
    SPECTRUM_CHECK(sp->n > 0 && sp->n <= len,
                   "expected 0 < n_fft < %" PRId64 ", but got n_fft=%" PRId64, len, sp->win_length);
    SPECTRUM_CHECK(sp->hop > 0, "expected hop_length > 0, but got hop_length=%" PRId64, sp->hop);
    SPECTRUM_CHECK(sp->win_length > 0 && sp->win_length <= sp->n,
                   "expected 0 < win_length <= n_fft, but got win_length=%" PRId64, sp->win_length);
    if (sp->window && (sp->window->ndim != 1 || sp->window->sizes[0] != sp->win_length)) {
        strbuf sb = STRBUF_INIT;
        sb_printf(&sb,
                  ": expected a 1D window tensor of size equal to win_length=%" PRId64
                  ", but got window with size ",
                  sp->win_length);
        tensor_print_sizes(sp->window->ndim, sp->window->sizes, &sb);
        ctsc_status st = spectrum_fail(sp, x, sb_str(&sb));
        sb_free(&sb);
        return st;
    }
    dtype dt = spectrum_promote(x, sp->window);
    bool onesided = arg_is_none(&args[6]) ? !dtype_is_complex(dt) : arg_bool(&args[6]);
    if (dtype_is_complex(dt) && onesided)
        return diag_fail(d, CTSC_FAILED,
                         "Cannot have onesided output if window or input is complex");
    if (dt != DT_FLOAT32 && dt != DT_FLOAT64 && dt != DT_COMPLEX64 && dt != DT_COMPLEX128)
        return diag_fail(d, CTSC_FAILED,
                         "expected scalar type ComplexDouble but found ComplexHalf");
    tensor *frames = NULL, *bins = NULL, *transposed = NULL, *flat = NULL;
    fft_axis axis = {2, sp->n};
    double scale = sp->normalized ? 1 / sqrt((double)sp->n) : 1;
    ctsc_status st = stft_frames(sp, rows, dt, &frames);
    if (st == CTSC_OK)
        st = fft_transform(sp->cx, frames, 1, &axis, dtype_is_complex(dt) ? FFT_C2C : FFT_R2C,
                           !onesided, false, scale, &bins);
    if (st == CTSC_OK) st = tensor_transpose(d, bins, 1, 2, &transposed);
    if (st == CTSC_OK)
        st = x->ndim == 1 ? tensor_select(d, transposed, 0, 0, &flat)
                          : tensor_alias(d, transposed, &flat);
    if (st == CTSC_OK && !return_complex) {
        value arg = value_tensor_take(flat), view = value_none();
        st = op_call(sp->cx, "aten::view_as_real", 1, &arg, &view);
        tensor_unref(flat);
        flat = st == CTSC_OK ? view.u.tensor : NULL;
    }
    tensor_unref(transposed);
    tensor_unref(bins);
    tensor_unref(frames);
    if (st == CTSC_OK) *out = flat;
    else tensor_unref(flat);
    return st;
}

/* x with `half` more samples at both ends. */
static ctsc_status stft_pad(const spectrum *sp, const tensor *x, const value *mode, int64_t half,
                            tensor **out) {
    diag *d = sp->cx->diag;
    int64_t sizes[TENSOR_MAX_DIMS];
    int extra = x->ndim < 3 ? 3 - x->ndim : 0;
    for (int i = 0; i < x->ndim; i++) sizes[extra + i] = x->sizes[i];
    for (int i = 0; i < extra; i++) sizes[i] = 1;
    tensor *view = NULL;
    TRY(tensor_view(d, x, x->ndim + extra, sizes, &view));
    list *pad = list_new(LIST_INT, TYPE_INT, 2);
    value padded = value_none();
    ctsc_status st = pad && list_append_take(pad, value_int(half)) &&
                             list_append_take(pad, value_int(half))
                         ? CTSC_OK
                         : diag_no_memory(d);
    if (st == CTSC_OK) {
        value args[4] = {value_tensor_take(view), value_list_take(pad), *mode, value_none()};
        st = op_call(sp->cx, "aten::pad", 4, args, &padded);
    }
    if (st == CTSC_OK)
        st = tensor_view(d, padded.u.tensor, x->ndim, padded.u.tensor->sizes + extra, out);
    value_unref(padded);
    if (pad) value_unref(value_list_take(pad));
    tensor_unref(view);
    return st;
}

/* Zeros before and after, so that the first frame's window begins
 * with the first sample, and the last one's ends by the last. */
static ctsc_status stft_align(const spectrum *sp, const tensor *x, tensor **out) {
    int64_t half = (sp->n - sp->win_length) / 2, len = x->ndim ? x->sizes[x->ndim - 1] : 0;
    if (half <= 0 || sp->hop <= 0) return tensor_alias(sp->cx->diag, x, out);
    SPECTRUM_CHECK(sp->win_length > 0 && sp->win_length <= len,
                   "expected 0 < n_fft < %" PRId64 ", but got n_fft=%" PRId64, len, sp->win_length);
    SPECTRUM_CHECK((len - sp->win_length) / sp->hop == (len + 2 * half - sp->n) / sp->hop,
                   "the frames are out of bounds for the aligned input");
    str *zero = str_new("constant", 8);
    if (!zero) return diag_no_memory(sp->cx->diag);
    value mode = value_str_take(zero);
    ctsc_status st = stft_pad(sp, x, &mode, half, out);
    value_unref(mode);
    return st;
}

/* mode: how to pad; NULL: not at all. args: as of the overload without. */
static ctsc_status stft_padded(spectrum *sp, const tensor *x, const value *mode, value *results) {
    tensor *padded = NULL, *rows = NULL, *out = NULL;
    diag *d = sp->cx->diag;
    dtype dt = (dtype)x->dtype;
    const value *align = &sp->args[8];
    if (mode && !arg_is_none(align))
        return diag_fail(d, CTSC_FAILED,
                         "stft align_to_window should only be set when center = false.");
    if (mode) TRY(stft_pad(sp, x, mode, sp->n / 2, &padded));
    else if (!arg_is_none(align) && arg_bool(align)) TRY(stft_align(sp, x, &padded));
    else TRY(tensor_alias(d, x, &padded));
    ctsc_status st = CTSC_OK;
    if (!dtype_is_float(dt) && !dtype_is_complex(dt))
        st = spectrum_fail(sp, padded, ": expected a tensor of floating point or complex values");
    else if (x->ndim > 2 || x->ndim < 1)
        st = spectrum_fail(sp, padded, ": expected a 1D or 2D tensor");
    if (st == CTSC_OK)
        st = x->ndim == 1 ? tensor_unsqueeze(d, padded, 0, &rows) : tensor_alias(d, padded, &rows);
    if (st == CTSC_OK) st = stft_run(sp, padded, rows, &out);
    tensor_unref(rows);
    tensor_unref(padded);
    return st == CTSC_OK ? op_return_tensor(results, out) : st;
}

/* (self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex,
 * align_to_window) */
ctsc_status op_stft(op_ctx *cx, const value *args, value *results) {
    spectrum sp = {.normalized = arg_bool(&args[5])};
    spectrum_read(cx, args, "stft", &sp);
    return stft_padded(&sp, arg_tensor(&args[0]), NULL, results);
}

/* (self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided,
 * return_complex, align_to_window) */
ctsc_status op_stft_center(op_ctx *cx, const value *args, value *results) {
    value plain[9] = {args[0], args[1], args[2], args[3], args[4],
                      args[7], args[8], args[9], args[10]};
    spectrum sp = {.normalized = arg_bool(&args[7])};
    spectrum_read(cx, plain, "stft", &sp);
    return stft_padded(&sp, arg_tensor(&args[0]), arg_bool(&args[5]) ? &args[6] : NULL, results);
}

/* ---- istft ----------------------------------------------------------------------------------- */

/* Samples [from, from + count) of every signal, from its frames. */
typedef struct istft_job {
    const tensor *frames; /* [batch, frames, n] */
    const double *window; /* complex */
    double *weight;       /* complex: sums of squared windows, per sample */
    tensor *out;          /* [batch, count] */
    int64_t n, hop, from, count;
} istft_job;

enum { ISTFT_CHUNK = 512 };

/* The frames that reach sample t. */
static void istft_reach(const istft_job *j, int64_t t, int64_t *first, int64_t *last) {
    *first = t < j->n ? 0 : (t - j->n) / j->hop + 1;
    *last = t / j->hop < j->frames->sizes[1] - 1 ? t / j->hop : j->frames->sizes[1] - 1;
}

static void istft_weights(void *ctx, int64_t begin, int64_t end) {
    const istft_job *j = ctx;
    for (int64_t i = begin; i < end; i++) {
        int64_t t = j->from + i, first, last;
        double re = 0, im = 0;
        istft_reach(j, t, &first, &last);
        for (int64_t f = first; f <= last; f++) {
            const double *w = j->window + 2 * (t - f * j->hop);
            re += w[0] * w[0] - w[1] * w[1];
            im += 2 * w[0] * w[1];
        }
        j->weight[2 * i] = re;
        j->weight[2 * i + 1] = im;
    }
}

/* Adds numbers [first, last) of a frame, times the window. */
#define ISTFT_REAL(T)                                                                              \
    {                                                                                              \
        const T *x = (const T *)tensor_data(j->frames) + row * j->n;                               \
        for (int64_t i = first; i < last; i++) {                                                   \
            re[i - first] += (double)x[i] * w[2 * i];                                              \
            im[i - first] += (double)x[i] * w[2 * i + 1];                                          \
        }                                                                                          \
    }
#define ISTFT_COMPLEX(C)                                                                           \
    {                                                                                              \
        const C *x = (const C *)tensor_data(j->frames) + row * j->n;                               \
        for (int64_t i = first; i < last; i++) {                                                   \
            double a = (double)x[i].re, b = (double)x[i].im;                                       \
            re[i - first] += a * w[2 * i] - b * w[2 * i + 1];                                      \
            im[i - first] += a * w[2 * i + 1] + b * w[2 * i];                                      \
        }                                                                                          \
    }
static void istft_add_frame(const istft_job *j, int64_t row, int64_t first, int64_t last,
                            double *re, double *im) {
    const double *w = j->window;
    switch ((dtype)j->frames->dtype) {
    case DT_FLOAT32: ISTFT_REAL(float) break;
    case DT_FLOAT64: ISTFT_REAL(double) break;
    case DT_COMPLEX64: ISTFT_COMPLEX(complex64) break;
    default: ISTFT_COMPLEX(complex128) break;
    }
}

static void istft_samples(void *ctx, int64_t begin, int64_t end) {
    const istft_job *j = ctx;
    int64_t chunks = (j->count + ISTFT_CHUNK - 1) / ISTFT_CHUNK, frames = j->frames->sizes[1];
    for (int64_t k = begin; k < end; k++) {
        int64_t at = k % chunks * ISTFT_CHUNK, left = j->count - at,
                count = left < ISTFT_CHUNK ? left : ISTFT_CHUNK;
        int64_t t = j->from + at, first, last, unused;
        double re[ISTFT_CHUNK] = {0}, im[ISTFT_CHUNK] = {0};
        istft_reach(j, t, &first, &unused);
        istft_reach(j, t + count - 1, &unused, &last);
        for (int64_t f = first; f <= last; f++) {
            int64_t start = f * j->hop, low = start > t ? start : t,
                    high = start + j->n < t + count ? start + j->n : t + count;
            if (low < high)
                istft_add_frame(j, k / chunks * frames + f, low - start, high - start,
                                re + (low - t), im + (low - t));
        }
        for (int64_t i = 0; i < count; i++) {
            double wr = j->weight[2 * (at + i)], wi = j->weight[2 * (at + i) + 1], a = re[i] / wr,
                   b = im[i] / wr;
            int64_t o = k / chunks * j->count + at + i;
            if (wi != 0) {
                double square = wr * wr + wi * wi;
                a = (re[i] * wr + im[i] * wi) / square;
                b = (im[i] * wr - re[i] * wi) / square;
            }
            switch ((dtype)j->out->dtype) {
            case DT_FLOAT32: TENSOR_AT(j->out, float)[o] = (float)a; break;
            case DT_FLOAT64: TENSOR_AT(j->out, double)[o] = a; break;
            case DT_COMPLEX64:
                TENSOR_AT(j->out, complex64)[o] = (complex64){(float)a, (float)b};
                break;
            default: TENSOR_AT(j->out, complex128)[o] = (complex128){a, b}; break;
            }
        }
    }
}

/* frames [batch, frames, n] to out [batch, samples], of dtype dt; samples beyond the
 * last frame are zero. */
static ctsc_status istft_add(const spectrum *sp, const tensor *x, const tensor *frames, dtype dt,
                             int64_t from, int64_t to, tensor **out) {
    diag *d = sp->cx->diag;
    int64_t batch = frames->sizes[0], total = sp->n + sp->hop * (frames->sizes[1] - 1),
            last = to < total ? to : total;
    int64_t sizes[2] = {batch, last - from};
    istft_job j = {
        .frames = frames, .n = sp->n, .hop = sp->hop, .from = from, .count = last - from};
    if (j.count <= 0)
        return diag_fail(
            d, CTSC_FAILED,
            "min(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument.");
    double *w = mem_alloc((size_t)(sp->n + j.count) * 2 * sizeof(double));
    tensor *sum = NULL, *dense = NULL;
    ctsc_status st = w ? spectrum_window(sp, w) : diag_no_memory(d);
    if (st == CTSC_OK) st = tensor_new(d, dt, 2, sizes, &sum);
    if (st == CTSC_OK) {
        j.window = w;
        j.weight = w + 2 * sp->n;
        j.out = sum;
        pool_for(j.count, 16384, istft_weights, &j);
        for (int64_t i = 0; st == CTSC_OK && i < j.count; i++)
            if (hypot(j.weight[2 * i], j.weight[2 * i + 1]) < 1e-11)
                st = spectrum_fail(sp, x, "window overlap add min: 1");
    }
    if (st == CTSC_OK)
        pool_for(batch * ((j.count + ISTFT_CHUNK - 1) / ISTFT_CHUNK), 16, istft_samples, &j);
    mem_free(w);
    if (st == CTSC_OK && to > total) { /* zeros up to the length asked for */
        tensor *part = NULL;
        sizes[1] = to - from;
        st = tensor_zeros(d, dt, 2, sizes, &dense);
        if (st == CTSC_OK) st = tensor_slice(d, dense, 1, 0, j.count, 1, &part);
        if (st == CTSC_OK) st = tensor_copy(d, part, sum);
        tensor_unref(part);
        tensor_unref(sum);
        sum = dense;
    }
    if (st == CTSC_OK) *out = sum;
    else tensor_unref(sum);
    return st;
}

/* What istft refuses; x as given, sizes those of its real view. */
static ctsc_status istft_check(const spectrum *sp, const tensor *x, int ndim, const int64_t *sizes,
                               bool onesided) {
    int64_t bins = ndim >= 3 ? sizes[ndim - 3] : 0;
    SPECTRUM_CHECK(x->numel, "input tensor cannot be empty.");
    SPECTRUM_CHECK(ndim == 3 || ndim == 4, "expected a tensor with 3 or 4 dimensions, but got %d",
                   ndim);
    SPECTRUM_CHECK(sizes[ndim - 1] == 2,
                   "expected the last dimension to be 2 (corresponding to real and imaginary "
                   "parts), but got %" PRId64,
                   sizes[ndim - 1]);
    if (onesided)
        SPECTRUM_CHECK(sp->n / 2 + 1 == bins,
                       "expected the frequency dimension (3rd to the last) of the input tensor to "
                       "match n_fft / 2 + 1 when "
                       "onsided=True, but got %" PRId64,
                       bins);
    else
        SPECTRUM_CHECK(sp->n == bins,
                       "expected the frequency dimension (3rd to the last) of the input tensor to "
                       "match n_fft when "
                       "onsided=False, but got %" PRId64,
                       bins);
    SPECTRUM_CHECK(0 < sp->hop && sp->hop <= sp->win_length,
                   "expected 0 < hop_length <= win_length");
    SPECTRUM_CHECK(0 < sp->win_length && sp->win_length <= sp->n,
                   "expected 0 < win_length <= n_fft");
    if (sp->window && (sp->window->ndim != 1 || sp->window->sizes[0] != sp->win_length))
        return spectrum_fail(
            sp, x, ": Invalid window shape. window has to be 1D and length of `win_length`");
    return CTSC_OK;
}

/* The spectra as complex numbers [batch, frames, bins]. */
static ctsc_status istft_input(op_ctx *cx, const tensor *x, tensor **out) {
    value arg = value_tensor_take((tensor *)x), view = value_none();
    tensor *rows = NULL;
    bool real = !dtype_is_complex((dtype)x->dtype);
    if (real) {
        tensor *dense;
        TRY(tensor_contiguous(cx->diag, (tensor *)x, &dense));
        arg = value_tensor_take(dense);
        ctsc_status st = op_call(cx, "aten::view_as_complex", 1, &arg, &view);
        value_unref(arg);
        TRY(st);
        x = view.u.tensor;
    }
    ctsc_status st = x->ndim == 2 ? tensor_unsqueeze(cx->diag, x, 0, &rows)
                                  : tensor_alias(cx->diag, x, &rows);
    if (st == CTSC_OK) st = tensor_transpose(cx->diag, rows, 1, 2, out);
    tensor_unref(rows);
    value_unref(view);
    return st;
}

static ctsc_status istft_run(const spectrum *sp, const tensor *x, bool return_complex, int64_t from,
                             int64_t to, tensor **out) {
    diag *d = sp->cx->diag;
    tensor *spectra = NULL, *frames = NULL, *rows = NULL, *sum = NULL;
    fft_axis axis = {2, sp->n};
    TRY(istft_input(sp->cx, x, &spectra));
    dtype dt = spectra->dtype == DT_COMPLEX128 ? DT_FLOAT64 : DT_FLOAT32;
    if (return_complex) dt = (dtype)spectra->dtype;
    if (sp->window) dt = dtype_promote(dt, (dtype)sp->window->dtype);
    ctsc_status st = spectra->dtype == DT_COMPLEX32
                         ? diag_fail(d, CTSC_FAILED, "expected scalar type Double but found Half")
                         : CTSC_OK;
    if (st == CTSC_OK)
        st = fft_transform(sp->cx, spectra, 1, &axis, return_complex ? FFT_C2C : FFT_C2R, false,
                           return_complex,
                           sp->normalized ? 1 / sqrt((double)sp->n) : 1 / (double)sp->n, &frames);
    if (st == CTSC_OK) st = tensor_contiguous(d, frames, &rows);
    if (st == CTSC_OK) st = istft_add(sp, x, rows, dt, from, to, &sum);
    if (st == CTSC_OK && x->ndim == (dtype_is_complex((dtype)x->dtype) ? 2 : 3))
        st = tensor_select(d, sum, 0, 0, out);
    else if (st == CTSC_OK) *out = tensor_ref(sum);
    tensor_unref(sum);
    tensor_unref(rows);
    tensor_unref(frames);
    tensor_unref(spectra);
    return st;
}

/* (self, n_fft, hop_length, win_length, window, center, normalized, onesided,
 * length, return_complex) */
ctsc_status op_istft(op_ctx *cx, const value *args, value *results) {
    const tensor *x = arg_tensor(&args[0]);
    spectrum sp = {.center = arg_bool(&args[5]), .normalized = arg_bool(&args[6])};
    bool pairs = dtype_is_complex((dtype)x->dtype), return_complex = arg_bool(&args[9]);
    int64_t sizes[TENSOR_MAX_DIMS + 1];
    int ndim = x->ndim + pairs, dim;
    memcpy(sizes, x->sizes, sizeof *sizes * x->ndim);
    if (pairs) sizes[x->ndim] = 2;
    spectrum_read(cx, args, "istft", &sp);
    TRY(tensor_wrap_dim(cx->diag, -2, ndim, &dim));
    TRY(tensor_wrap_dim(cx->diag, -3, ndim, &dim));
    bool onesided = arg_is_none(&args[7]) ? sizes[dim] != sp.n : arg_bool(&args[7]);
    TRY(istft_check(&sp, x, ndim, sizes, onesided));
    dtype wt = sp.window ? (dtype)sp.window->dtype : DT_FLOAT32;
    if (return_complex && onesided)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Cannot have onesided output if window or input is complex");
    if (!return_complex && dtype_is_complex(wt))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Complex windows are incompatible with return_complex=False");
    if (wt != DT_FLOAT32 && wt != DT_FLOAT64 && wt != DT_COMPLEX64 && wt != DT_COMPLEX128)
        return diag_fail(cx->diag, CTSC_FAILED, "\"col2im_out_cpu\" not implemented for '%s'",
                         dtype_table[wt].ir_name);
    int64_t total, from = sp.center ? sp.n / 2 : 0, to;
    if (__builtin_mul_overflow(sp.hop, sizes[ndim - 2] - 1, &total) ||
        __builtin_add_overflow(total, sp.n, &total))
        return diag_fail(cx->diag, CTSC_FAILED, "istft: the signal is too long");
    to = !sp.center ? total : sp.n > 1 ? total - sp.n / 2 : 0; /* PyTorch's slice to -(n_fft / 2) */
    if (!arg_is_none(&args[8]) && __builtin_add_overflow(from, arg_int(&args[8]), &to))
        return diag_fail(cx->diag, CTSC_FAILED, "istft: the signal is too long");
    if (to < 0) to = to + total < 0 ? 0 : to + total; /* as a slice's end */
    tensor *out;
    TRY(istft_run(&sp, x, return_complex, from, to, &out));
    return op_return_tensor(results, out);
}
