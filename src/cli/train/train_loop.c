/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_loop.c - the loop of ctsc train: epochs of batches, a validation after each, checkpoints.
 *
 * A resumed run computes the same as an uninterrupted one, to the last bit: the order of rows
 * follows from seed and epoch, everything else is in the checkpoint (train_checkpoint.c), and calls
 * are compiled before the first step, since a compiled program rounds differently from the single
 * operators.
 * Tests: tests/cli/train.test
 */
#include "cli/train/train_loop.h"
#include "cli/machine.h"
#include "cli/progress.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { LOOP_LOG_EVERY = 50 };

static volatile sig_atomic_t loop_stopped;
static void loop_stop(int signal) { loop_stopped = signal; }

ctsc_status loop_scope_error(trainer *t, ctsc_error *e) {
    ctsc_status s = ctsc_scope_status(t->s);
    return s == CTSC_OK ? s
                        : ctsc_error_set(e, s, "%s", ctsc_error_message(ctsc_scope_error(t->s)));
}

/* ---- a batch --------------------------------------------------------------------------------- */

static double loop_number(trainer *t, ctsc_value *v) {
    ctsc_value *wide = v ? ctsc_op(t->s, "aten::to.dtype", 2, ctsc_op(t->s, "aten::detach", 1, v),
                                   ctsc_int(t->s, CTSC_FLOAT64))
                         : NULL;
    return wide && ctsc_tensor_data(wide) ? *(double *)ctsc_tensor_data(wide) : NAN;
}

/* "[64, 1]" */
static void loop_sizes(const ctsc_value *v, char *text, size_t size) {
    size_t n = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < ctsc_tensor_ndim(v) && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, i ? ", %lld" : "%lld",
                              (long long)ctsc_tensor_sizes(v)[i]);
    if (n < size) snprintf(text + n, size - n, "]");
}

/* Warns once of a result and a target that a loss takes, but can hardly be meant for each other. */
static void loop_compare(trainer *t, const ctsc_value *out, const ctsc_value *target) {
    char text[512], have[128], want[128];
    if (t->compared || !t->op || !out || ctsc_value_kind(out) != CTSC_KIND_TENSOR) return;
    t->compared = true;
    loop_sizes(out, have, sizeof have);
    loop_sizes(target, want, sizeof want);
    bool one = ctsc_tensor_ndim(out) > 1 && ctsc_tensor_sizes(out)[1] == 1;
    if (!strcmp(t->o->loss, "cross_entropy") && one) {
        snprintf(text, sizeof text,
                 "the model's result, %s, is of one class, for which cross_entropy is always 0; "
                 "--loss mse is for numbers",
                 have);
        cli_warn(NULL, text);
    } else if (!t->classifies && strcmp(have, want)) {
        snprintf(text, sizeof text,
                 "the model's result is %s and the target %s: they are broadcast, and the loss is "
                 "likely to be wrong",
                 have, want);
        cli_warn(NULL, text);
    }
}

/* The loss of a batch, the scope's; NULL: its error, or e's. *out: what forward gave,
 * NULL for a method. */
static ctsc_value *loop_loss(trainer *t, ctsc_value *batch, ctsc_value **out, ctsc_error *e) {
    ctsc_value *items[64];
    size_t n = ctsc_value_len(batch);
    for (size_t i = 0; i < n; i++) items[i] = ctsc_item(t->s, batch, i);
    *out = t->op ? ctsc_run(t->s, t->m, "forward", n - 1, items) : NULL;
    if (*out && ctsc_value_kind(*out) == CTSC_KIND_TENSOR &&
        ctsc_tensor_dtype(*out) == CTSC_BFLOAT16)
        *out = ctsc_to(t->s, *out, CTSC_FLOAT32); /* losses are of float32 within autocast */
    loop_compare(t, *out, items[n - 1]);
    ctsc_value *weights = *out && t->weights ? ctsc_to(t->s, t->weights, ctsc_tensor_dtype(*out))
                                             : NULL;
    ctsc_value *loss = t->op ? ctsc_op(t->s, t->op, weights ? 3 : 2, *out, items[n - 1], weights)
                             : ctsc_run(t->s, t->m, t->o->loss, n, items);
    if (!loss) {
        loop_scope_error(t, e);
        return NULL;
    }
    int64_t size = ctsc_value_kind(loss) == CTSC_KIND_TENSOR;
    for (int i = 0; size && i < ctsc_tensor_ndim(loss); i++) size *= ctsc_tensor_sizes(loss)[i];
    if (size == 1) return loss;
    ctsc_error_set(e, CTSC_USAGE, "the loss is not a tensor with one element");
    return NULL;
}

/* Rows in which the class with the largest number is the target, of all; NaN: there are no
 * classes. */
static double loop_correct(trainer *t, ctsc_value *out, ctsc_value *batch) {
    ctsc_value *target = t->classifies ? ctsc_item(t->s, batch, ctsc_value_len(batch) - 1) : NULL;
    if (!out || !target || ctsc_tensor_ndim(out) < 2 ||
        ctsc_tensor_ndim(target) + 1 != ctsc_tensor_ndim(out))
        return NAN;
    ctsc_value *best = ctsc_argmax_dim(t->s, ctsc_detach(t->s, out), 1, false),
               *same = ctsc_eq(t->s, best, target);
    return loop_number(t, ctsc_mean(t->s, ctsc_to(t->s, same, CTSC_FLOAT64)));
}

/* Whether the numbers of a batch could be computed; where not, *e says why. */
static bool loop_counted(const trainer *t, ctsc_error *e) {
    ctsc_status s = ctsc_scope_status(t->s);
    if (s != CTSC_OK) ctsc_error_set(e, s, "%s", ctsc_error_message(ctsc_scope_error(t->s)));
    return s == CTSC_OK;
}

/* Gradients of the present batch. */
static ctsc_status loop_closure(void *ctx, double *loss, ctsc_error *e) {
    trainer *t = ctx;
    ctsc_value *out;
    ctsc_scope_clear(t->s);
    ctsc_optimizer_zero_grad(t->opt);
    ctsc_value *l = loop_loss(t, t->batch_now, &out, e);
    if (!l) return ctsc_error_status(e);
    double numbers[] = {loop_number(t, l) * t->part, loop_correct(t, out, t->batch_now) * t->part,
                        loop_stopped != 0};
    if (t->share) l = ctsc_mul(t->s, l, ctsc_float(t->s, t->part));
    if (!loop_counted(t, e)) return ctsc_error_status(e);
    ctsc_status s = share_numbers(t->share, numbers, 3, e);
    *loss = numbers[0];
    t->batch_correct = numbers[1];
    t->stopping = numbers[2] > 0;
    if (s == CTSC_OK) s = ctsc_backward(l, NULL, 0, NULL, e);
    if (s == CTSC_OK) s = share_gradients(t->share, t->params, e);
    if (s == CTSC_OK && t->o->clip_norm > 0)
        s = ctsc_clip_grad_norm(t->params, t->o->clip_norm, 2, NULL, e);
    return s;
}

static int64_t loop_rows(const ctsc_value *batch) {
    ctsc_value *first = ctsc_value_item(batch, 0);
    int64_t n = first ? ctsc_tensor_sizes(first)[0] : 0;
    ctsc_value_free(first);
    return n;
}

static int loop_step(trainer *t) {
    double loss = NAN;
    int64_t rows = loop_rows(t->batch_now);
    if (augment_batch(&t->augment, t->s, t->images, true, &t->batch_now, t->e) != CTSC_OK ||
        share_batch(t->share, t->s, &t->batch_now, &t->part, t->e) != CTSC_OK)
        return cli_report(t->e);
    if (ctsc_optimizer_step_closure(t->opt, loop_closure, t, &loss, t->e) != CTSC_OK)
        return cli_report(t->e);
    ctsc_scope_clear(t->s);
    if (t->schedule && t->by_batch && ctsc_scheduler_step(t->schedule, loss, t->e) != CTSC_OK)
        return cli_report(t->e);
    t->loss_sum += loss * (double)rows;
    t->correct += t->batch_correct * (double)rows;
    t->rows += rows;
    t->log.rows_done += rows;
    t->step++;
    t->batch++;
    if (!share_rank(t->share))
        train_log_progress(&t->log, t->epoch, t->o->epochs, t->batch, ctsc_loader_batches(t->data),
                           t->loss_sum / (double)t->rows);
    if (t->step % LOOP_LOG_EVERY) return 0;
    ctsc_setting numbers[] = {{"loss/batch", loss}, {"lr", ctsc_optimizer_get(t->opt, 0, "lr")}};
    return train_log_numbers(&t->log, t->step, 2, numbers)
               ? 0
               : cli_complain(CTSC_ENVIRONMENT, "the log cannot be written");
}

/* ---- validation ------------------------------------------------------------------------------ */

static int loop_validate(trainer *t, double *loss, double *accuracy) {
    ctsc_value *batch = NULL, *out;
    double sum = 0, correct = 0;
    int64_t rows = 0;
    int code = 0;
    ctsc_module_eval(t->m);
    ctsc_scope_set_gradients(t->s, false);
    if (ctsc_loader_begin(t->valid, 0, 0, t->e) != CTSC_OK) code = cli_report(t->e);
    while (!code) {
        if (ctsc_loader_next(t->valid, &batch, t->e) != CTSC_OK) code = cli_report(t->e);
        if (code || !batch) break;
        int64_t n = loop_rows(batch);
        if (augment_batch(&t->augment, t->s, t->images, false, &batch, t->e) != CTSC_OK ||
            share_batch(t->share, t->s, &batch, &t->part, t->e) != CTSC_OK) {
            ctsc_value_free(batch);
            code = cli_report(t->e);
            break;
        }
        ctsc_value *l = loop_loss(t, batch, &out, t->e);
        if (l) {
            sum += loop_number(t, l) * (double)n * t->part;
            correct += loop_correct(t, out, batch) * (double)n * t->part;
        }
        if (!l || !loop_counted(t, t->e)) code = cli_report(t->e);
        rows += n;
        ctsc_scope_clear(t->s);
        ctsc_value_free(batch);
    }
    ctsc_scope_set_gradients(t->s, true);
    ctsc_module_train(t->m);
    double numbers[] = {sum, correct};
    if (!code && share_numbers(t->share, numbers, 2, t->e) != CTSC_OK) code = cli_report(t->e);
    sum = numbers[0];
    correct = numbers[1];
    *loss = sum == sum ? sum / (double)rows : NAN; /* not -nan */
    *accuracy = correct / (double)rows;
    return code;
}

/* ---- epochs ---------------------------------------------------------------------------------- */

/* The end of an epoch: what it came to, the schedule, whether it was the best. *stop: enough. */
static int loop_epoch_end(trainer *t, bool *stop) {
    double loss = t->loss_sum == t->loss_sum ? t->loss_sum / (double)t->rows : NAN, /* not -nan */
        valid = NAN, accuracy = NAN, lr = ctsc_optimizer_get(t->opt, 0, "lr");
    double train_accuracy = t->correct / (double)t->rows, busy = t->busy / 1e6,
           rate = busy > 0 ? (double)t->busy_rows / busy : 0;
    int code = t->valid ? loop_validate(t, &valid, &accuracy) : 0;
    if (code) return code;
    progress_clear();
    printf("epoch %lld/%lld: loss %.6f", (long long)t->epoch + 1, (long long)t->o->epochs, loss);
    if (train_accuracy == train_accuracy) printf(", accuracy %.4f", train_accuracy);
    if (t->valid) printf(", validation %.6f", valid);
    if (t->valid && accuracy == accuracy) printf(", accuracy %.4f", accuracy);
    printf(" (%.2f s, %.0f samples/s)\n", busy, rate);
    fflush(stdout);
    ctsc_setting numbers[8] = {
        {"loss", loss}, {"epoch", (double)t->epoch + 1}, {"lr", lr}, {"samples/s", rate}};
    size_t n = 4;
    if (train_accuracy == train_accuracy)
        numbers[n++] = (ctsc_setting){"accuracy/train", train_accuracy};
    if (t->valid) numbers[n++] = (ctsc_setting){"loss/validation", valid};
    if (t->valid && accuracy == accuracy) numbers[n++] = (ctsc_setting){"accuracy", accuracy};
    if (!train_log_numbers(&t->log, t->step, n, numbers))
        return cli_complain(CTSC_ENVIRONMENT, "the log cannot be written");
    if (t->schedule && !t->by_batch &&
        ctsc_scheduler_step(t->schedule, t->valid ? valid : loss, t->e) != CTSC_OK)
        return cli_report(t->e);
    if (t->o->patience >= 0 && (valid < t->best || t->best != t->best)) {
        t->best = valid;
        t->bad = 0;
        code = loop_keep_best(t);
    } else {
        t->bad++;
    }
    *stop = t->o->patience >= 0 && t->bad > t->o->patience;
    t->epoch++;
    t->batch = t->rows = t->busy_rows = 0;
    t->loss_sum = t->correct = t->busy = 0;
    return code;
}

/* Processes that train together end after the same step. */
static bool loop_ends(const trainer *t) { return t->share ? t->stopping : loop_stopped != 0; }

/* The rest of the present epoch. */
static int loop_epoch(trainer *t) {
    int code = 0;
    if (ctsc_loader_begin(t->data, t->epoch, t->batch, t->e) != CTSC_OK) return cli_report(t->e);
    while (!code && !loop_ends(t)) {
        if (ctsc_loader_next(t->data, &t->batch_now, t->e) != CTSC_OK) return cli_report(t->e);
        if (!t->batch_now) return 0;
        double start = machine_now();
        code = loop_step(t);
        t->busy += machine_now() - start;
        if (t->part > 0) t->busy_rows += llround((double)loop_rows(t->batch_now) / t->part);
        ctsc_value_free(t->batch_now);
        t->batch_now = NULL;
        bool due = t->o->checkpoint && t->o->checkpoint_every &&
                   t->step % t->o->checkpoint_every == 0;
        if (!code && due) code = loop_save(t, t->o->checkpoint);
    }
    return code;
}

static void loop_say(const char *path) {
    progress_end();
    cli_say_wrote(path, NULL);
}

/* The names of the classes, as a list of JSON, for `ctsc run --labels`. */
static int loop_write_labels(const trainer *t) {
    char path[4096];
    size_t cut = 0;
    if (!t->classes.n || (!t->o->labels && !t->o->output)) return 0;
    if (!t->o->labels) ctsc_format_by_ending(t->o->output, &cut);
    int n = t->o->labels ? snprintf(path, sizeof path, "%s", t->o->labels)
                         : snprintf(path, sizeof path, "%.*s.labels.json",
                                    (int)(strlen(t->o->output) - cut), t->o->output);
    json_t *list = json_array();
    bool ok = list && n < (int)sizeof path;
    for (size_t i = 0; i < t->classes.n && ok; i++)
        ok = json_array_append_new(list, json_string_nocheck(t->classes.names[i])) == 0;
    FILE *f = ok ? fopen(path, "w") : NULL;
    ok = f && json_dumpf(list, f, JSON_INDENT(1)) == 0 && fputc('\n', f) != EOF;
    ok = f && fclose(f) == 0 && ok;
    json_decref(list);
    if (!ok) return cli_complain(CTSC_ENVIRONMENT, "%s: the labels cannot be written", path);
    loop_say(path);
    return 0;
}

static int loop_write(trainer *t) {
    ctsc_status s = t->best_state ? ctsc_module_load_state(t->m, t->best_state, t->e) : CTSC_OK;
    ctsc_optimizer_zero_grad(t->opt);
    if (s == CTSC_OK) s = tune_thaw(t->frozen, t->e);
    ctsc_module_eval(t->m);
    if (s == CTSC_OK && t->o->output) s = ctsc_module_save(t->m, t->o->output, t->e);
    if (s != CTSC_OK) return cli_report(t->e);
    if (t->o->output) loop_say(t->o->output);
    return loop_write_labels(t);
}

static int loop_epochs(trainer *t) {
    bool stop = t->o->patience >= 0 && t->bad > t->o->patience;
    int code = 0;
    while (!code && !stop && t->epoch < t->o->epochs) {
        code = loop_epoch(t);
        if (!code && loop_ends(t)) {
            if (t->o->checkpoint) code = loop_save(t, t->o->checkpoint);
            if (code) return code;
            return cli_complain((ctsc_status)(128 + (loop_stopped ? loop_stopped : SIGTERM)),
                                t->o->checkpoint ? "stopped; --resume %s goes on" : "stopped%s",
                                t->o->checkpoint ? t->o->checkpoint : "");
        }
        if (!code) code = loop_epoch_end(t, &stop);
        if (!code && t->o->checkpoint) code = loop_save(t, t->o->checkpoint);
    }
    return code ? code : loop_write(t);
}

/* Only the first of several processes says and writes anything. */
static train_options loop_options(const train_options *o, const train_share *share) {
    train_options own = *o;
    if (share_rank(share) == 0) return own;
    own.output = own.checkpoint = own.labels = own.log = own.events = NULL;
    FILE *nowhere = freopen("/dev/null", "w", stdout);
    (void)nowhere; /* failing that, its lines are seen twice */
    return own;
}

int train_run(const train_options *given, ctsc_module *m, ctsc_error *e) {
    train_share *share = NULL;
    int started = given->distributed ? share_begin(&share) : 0;
    if (started) return started;
    const train_options own = loop_options(given, share), *o = &own;
    trainer t = {.o = o,
                 .m = m,
                 .share = share,
                 .part = 1,
                 .e = e,
                 .s = ctsc_scope_new(),
                 .best = INFINITY,
                 .augment = o->augment};
    /* the second one ends it at once */
    struct sigaction act = {.sa_handler = loop_stop, .sa_flags = SA_RESETHAND};
    struct sigaction before_int, before_term;
    if (!t.s) return share_end(share), cli_complain(CTSC_LIMIT, "out of memory");
    ctsc_set_compiling(CTSC_COMPILE_IN_CALLS);
    int code = loop_begin(&t);
    sigaction(SIGINT, &act, &before_int); /* before, there is nothing to keep */
    sigaction(SIGTERM, &act, &before_term);
    if (!code) code = loop_epochs(&t);
    sigaction(SIGINT, &before_int, NULL);
    sigaction(SIGTERM, &before_term, NULL);
    progress_end();
    train_log_close(&t.log);
    ctsc_value_free(t.batch_now);
    ctsc_value_free(t.best_state);
    ctsc_scheduler_free(t.schedule);
    ctsc_optimizer_free(t.opt);
    ctsc_value_free(t.params);
    ctsc_value_free(t.frozen);
    ctsc_value_free(t.weights);
    data_free_classes(&t.classes);
    ctsc_loader_free(t.data);
    ctsc_loader_free(t.valid);
    ctsc_scope_free(t.s);
    share_end(share);
    /* ended by the signal, as it would have been without a handler: shells look for that */
    if (loop_stopped && fflush(NULL) == 0) raise(loop_stopped);
    return code;
}
