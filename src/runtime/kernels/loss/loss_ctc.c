/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss_ctc.c - connectionist temporal classification.
 *
 * Method: the forward recursion of A. Graves et al., "Connectionist Temporal Classification" (ICML
 * 2006), in the log domain: alpha(t, s) is the probability of having read the first s symbols of
 * the target, blanks in between, after t steps.
 * Tests: tests/unit/test_nn.c
 */
#include "base/minmax.h"
#include "runtime/kernels/loss/loss.h"

#include <math.h>

typedef struct ctc_job {
    dtype dt;
    const void *logs; /* [time, batch, labels] */
    void *alpha;      /* [batch, time, 2 * max_target + 1] */
    void *loss;       /* [batch] */
    int64_t time, batch, labels, width, blank;
    const int64_t *input_lengths, *target_lengths;
    const int64_t *targets; /* concatenated, or rows of `stride` */
    int64_t stride;         /* 0: concatenated */
} ctc_job;

static double ctc_log_add(double a, double b, double c) {
    double max = a > b ? a : b;
    max = c > max ? c : max;
    if (max == -INFINITY) return -INFINITY;
    return log(exp(a - max) + exp(b - max) + exp(c - max)) + max;
}

static const int64_t *ctc_target(const ctc_job *j, int64_t b) {
    if (j->stride) return j->targets + b * j->stride;
    const int64_t *p = j->targets;
    for (int64_t i = 0; i < b; i++) p += j->target_lengths[i];
    return p;
}

static void ctc_range(void *ctx, int64_t begin, int64_t end) {
    const ctc_job *j = ctx;
    WIDE_DISPATCH(j->dt, {
        for (int64_t b = begin; b < end; b++) {
            const int64_t *target = ctc_target(j, b);
            int64_t length = j->target_lengths[b];
            int64_t steps = j->input_lengths[b];
            T *alpha = (T *)j->alpha + b * j->time * j->width;
            for (int64_t i = 0; i < j->time * j->width; i++) alpha[i] = (T)-INFINITY;
            for (int64_t t = 0; t < steps; t++) {
                const T *logs = (const T *)j->logs + (t * j->batch + b) * j->labels;
                T *now = alpha + t * j->width;
                const T *was = t ? now - j->width : now;
                for (int64_t s = 0; s <= 2 * length; s++) {
                    int64_t symbol = s % 2 ? target[s / 2] : j->blank;
                    if (t == 0) {
                        now[s] = s < 2 ? logs[symbol] : (T)-INFINITY;
                        continue;
                    }
                    bool jump = s > 1 && s % 2 && target[s / 2 - 1] != symbol;
                    double sum = ctc_log_add((double)was[s], s > 0 ? (double)was[s - 1] : -INFINITY,
                                             jump ? (double)was[s - 2] : -INFINITY);
                    now[s] = (T)(sum + (double)logs[symbol]);
                }
            }
            const T *last = steps ? alpha + (steps - 1) * j->width : alpha;
            double total = steps == 0
                               ? (length ? -INFINITY : 0)
                               : ctc_log_add((double)last[2 * length],
                                             length ? (double)last[2 * length - 1] : -INFINITY,
                                             -INFINITY);
            ((T *)j->loss)[b] = (T)-total;
        }
    });
}

/* ---- checks ---------------------------------------------------------------------------------- */

static ctsc_status ctc_check_targets(op_ctx *cx, const tensor *targets, const tensor *lengths,
                                     int64_t batch, int64_t *max) {
    const char *where = "for argument #2 'targets' (while checking arguments for ctc_loss_cpu)";
    int64_t sum = 0;
    *max = 0;
    for (int64_t b = 0; b < batch; b++) {
        int64_t n = TENSOR_AT(lengths, int64_t)[b];
        if (n < 0 || n > INT32_MAX)
            return kernel_fail(
                cx,
                "Expected target_lengths to have value at least 0, but got value %lld "
                "(while checking arguments for ctc_loss_cpu)",
                (long long)n);
        sum += n;
        *max = int64_max(*max, n);
    }
    if (targets->ndim == 1) {
        if (targets->sizes[0] == sum) return CTSC_OK;
        return kernel_fail(cx,
                           "Expected tensor to have size %lld at dimension 0, but got size %lld %s",
                           (long long)sum, (long long)targets->sizes[0], where);
    }
    if (targets->ndim != 2)
        return kernel_fail(cx, "Expected 1 to 2 dimensions, but got %d-dimensional tensor %s",
                           targets->ndim, where);
    if (targets->sizes[0] != batch)
        return kernel_fail(cx,
                           "Expected tensor to have size %lld at dimension 0, but got size %lld %s",
                           (long long)batch, (long long)targets->sizes[0], where);
    if (targets->sizes[1] < *max)
        return kernel_fail(
            cx, "Expected tensor to have size at least %lld at dimension 1, but got size %lld %s",
            (long long)*max, (long long)targets->sizes[1], where);
    return CTSC_OK;
}

static ctsc_status ctc_check(op_ctx *cx, const tensor *logs, int64_t blank, const tensor *inputs,
                             const tensor *lengths) {
    int64_t time = logs->sizes[0], batch = logs->sizes[1], labels = logs->sizes[2];
    if (blank < 0 || blank >= labels) return kernel_fail(cx, "blank must be in label range");
    if (inputs->numel != batch) return kernel_fail(cx, "input_lengths must be of size batch_size");
    if (lengths->numel != batch)
        return kernel_fail(cx, "target_lengths must be of size batch_size");
    for (int64_t b = 0; b < batch; b++) {
        int64_t n = TENSOR_AT(inputs, int64_t)[b];
        if (n > time)
            return kernel_fail(
                cx,
                "Expected input_lengths to have value at most %lld, but got value %lld "
                "(while checking arguments for ctc_loss_cpu)",
                (long long)time, (long long)n);
        if (n < 0)
            return kernel_fail(
                cx,
                "Expected input_lengths to have value at least 0, but got value %lld "
                "(while checking arguments for ctc_loss_cpu)",
                (long long)n);
    }
    return CTSC_OK;
}

/* The labels that count must exist; the padding may hold anything. */
static ctsc_status ctc_check_labels(op_ctx *cx, const ctc_job *j) {
    for (int64_t b = 0; b < j->batch; b++) {
        const int64_t *target = ctc_target(j, b);
        for (int64_t i = 0; i < j->target_lengths[b]; i++)
            if (target[i] < 0 || target[i] >= j->labels)
                return kernel_fail(cx, "targets must be in label range, but got %lld",
                                   (long long)target[i]);
    }
    return CTSC_OK;
}

/* Lengths come as a list or as an integer tensor. */
static ctsc_status ctc_lengths(op_ctx *cx, const value *v, const char *name, tensor **out) {
    if (v->tag == V_TENSOR) {
        dtype dt = (dtype)v->u.tensor->dtype;
        if (!dtype_is_int(dt)) return kernel_fail(cx, "%s must be integral", name);
        return wide_as(cx, v->u.tensor, DT_INT64, out);
    }
    const int64_t *data;
    int64_t n = arg_ints(v, &data);
    TRY(tensor_new(cx->diag, DT_INT64, 1, &n, out));
    for (int64_t i = 0; i < n; i++) TENSOR_AT(*out, int64_t)[i] = data[i];
    return CTSC_OK;
}

/* logs: [time, batch, labels]. out[0]: loss per item, out[1]: the alphas; both in the dtype of
 * logs. */
static ctsc_status ctc_run(op_ctx *cx, tensor *logs, tensor *targets, tensor *inputs,
                           tensor *lengths, int64_t blank, tensor **out) {
    tensor *x = NULL, *labels = NULL;
    int64_t max;
    ctsc_status st;
    if (logs->ndim != 3)
        return kernel_fail(
            cx,
            "Expected 3-dimensional tensor, but got %d-dimensional tensor for argument "
            "#1 'log_probs' (while checking arguments for ctc_loss_cpu)",
            logs->ndim);
    if (!dtype_is_float((dtype)logs->dtype))
        return op_refuse_dtype(cx, "ctc_loss_cpu", (dtype)logs->dtype);
    TRY(ctc_check(cx, logs, blank, inputs, lengths));
    TRY(ctc_check_targets(cx, targets, lengths, logs->sizes[1], &max));
    int64_t sizes[3] = {logs->sizes[1], logs->sizes[0], 2 * max + 1};
    TRY(wide_input(cx, "ctc_loss_cpu", logs, &x));
    TRY_OUT(wide_as(cx, targets, DT_INT64, &labels));
    TRY_OUT(tensor_new(cx->diag, (dtype)x->dtype, 1, sizes, &out[0]));
    TRY_OUT(tensor_new(cx->diag, (dtype)x->dtype, 3, sizes, &out[1]));
    ctc_job j = {.dt = (dtype)x->dtype,
                 .logs = tensor_data(x),
                 .alpha = tensor_data(out[1]),
                 .loss = tensor_data(out[0]),
                 .time = sizes[1],
                 .batch = sizes[0],
                 .labels = logs->sizes[2],
                 .width = sizes[2],
                 .blank = blank,
                 .input_lengths = tensor_data(inputs),
                 .target_lengths = tensor_data(lengths),
                 .targets = tensor_data(labels),
                 .stride = targets->ndim == 2 ? targets->sizes[1] : 0};
    TRY_OUT(ctc_check_labels(cx, &j));
    if (j.batch) pool_for(j.batch, kernel_grain(j.time * j.width * 32), ctc_range, &j);
    for (int i = 0; i < 2; i++) TRY_OUT(wide_round(cx, &out[i], (dtype)logs->dtype));
out:
    tensor_unref(x);
    tensor_unref(labels);
    if (st != CTSC_OK) {
        tensor_unref(out[0]);
        tensor_unref(out[1]);
        out[0] = out[1] = NULL;
    }
    return st;
}

/* ---- operators ------------------------------------------------------------------------------- */

static void ctc_drop_infinite(tensor *loss) {
    dtype dt = (dtype)loss->dtype;
    for (int64_t i = 0; i < loss->numel; i++) {
        void *p = (char *)tensor_data(loss) + (size_t)i * dtype_size(dt);
        if (dtype_load_float(dt, p) == INFINITY) dtype_store_float(dt, p, 0);
    }
}

/* log_probs, targets, input_lengths, target_lengths, blank, zero_infinity */
ctsc_status op_ctc_loss_internal(op_ctx *cx, const value *args, value *results) {
    tensor *inputs = NULL, *lengths = NULL, *out[2] = {NULL};
    ctsc_status st;
    TRY(ctc_lengths(cx, &args[2], "input_lengths", &inputs));
    TRY_OUT(ctc_lengths(cx, &args[3], "target_lengths", &lengths));
    TRY_OUT(ctc_run(cx, arg_tensor(&args[0]), arg_tensor(&args[1]), inputs, lengths,
                    arg_int(&args[4]), out));
out:
    tensor_unref(inputs);
    tensor_unref(lengths);
    return st == CTSC_OK ? op_finish_all(cx, args, 2, out, results) : st;
}

static ctsc_status ctc_reduce(op_ctx *cx, tensor *loss, const tensor *lengths, int64_t reduction,
                              tensor **out) {
    dtype dt = (dtype)loss->dtype;
    for (int64_t b = 0; reduction == LOSS_MEAN && b < loss->numel; b++) {
        void *p = (char *)tensor_data(loss) + (size_t)b * dtype_size(dt);
        int64_t n = int64_max(TENSOR_AT(lengths, int64_t)[b], 1);
        dtype_store_float(dt, p, dtype_load_float(dt, p) / (double)n);
    }
    return loss_reduce(cx, loss, reduction, out);
}

/* log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity */
ctsc_status op_ctc_loss(op_ctx *cx, const value *args, value *results) {
    tensor *inputs = NULL, *lengths = NULL, *logs = NULL, *targets = NULL, *out[2] = {NULL},
           *y = NULL;
    bool batched = arg_tensor(&args[0])->ndim != 2;
    ctsc_status st;
    TRY(loss_check_reduction(cx, arg_int(&args[5])));
    TRY(ctc_lengths(cx, &args[2], "input_lengths", &inputs));
    TRY_OUT(ctc_lengths(cx, &args[3], "target_lengths", &lengths));
    if (batched) {
        logs = tensor_ref(arg_tensor(&args[0]));
        targets = tensor_ref(arg_tensor(&args[1]));
    } else {
        TRY_OUT(tensor_unsqueeze(cx->diag, arg_tensor(&args[0]), 1, &logs));
        TRY_OUT(tensor_unsqueeze(cx->diag, arg_tensor(&args[1]), 0, &targets));
    }
    TRY_OUT(ctc_run(cx, logs, targets, inputs, lengths, arg_int(&args[4]), out));
    if (arg_bool(&args[6])) ctc_drop_infinite(out[0]);
    TRY_OUT(ctc_reduce(cx, out[0], lengths, arg_int(&args[5]), &y));
    if (!batched && y->ndim) {
        tensor *item;
        st = tensor_select(cx->diag, y, 0, 0, &item);
        tensor_unref(y);
        y = item;
    }
out:
    tensor_unref(inputs);
    tensor_unref(lengths);
    tensor_unref(logs);
    tensor_unref(targets);
    tensor_unref(out[1]);
    return st == CTSC_OK ? op_return_tensor(results, y) : st;
}
