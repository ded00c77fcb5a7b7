/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_loop.c - the loop of ctsc train: epochs of batches, a validation after each, checkpoints.
 *
 * A checkpoint is a dict written as torch.save does, which appears whole or not at all: "model"
 * and "optimizer" are PyTorch's state dicts, "random" is the form of torch.get_rng_state,
 * "scheduler" and the numbers beside them say where the loop was. A resumed run computes the
 * same as an uninterrupted one, to the last bit: the order of rows follows from seed and epoch,
 * everything else is in the checkpoint, and calls are compiled before the first step, since a
 * compiled program rounds differently from the single operators.
 * Tests: tests/cli/train.test
 */
#include "cli/cli_train.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { LOOP_LOG_EVERY = 50 };

typedef struct trainer {
    const train_options *o;
    ctsc_module *m;
    ctsc_error *e;
    ctsc_scope *s;
    ctsc_value *params;
    ctsc_optimizer *opt;
    ctsc_scheduler *schedule; /* NULL: none */
    bool by_batch;            /* it steps after each */
    ctsc_loader *data, *valid;
    const char *op;  /* of the loss; NULL: a method */
    bool classifies; /* the target is a class: accuracy can be told */
    ctsc_value *batch_now;
    train_log log;
    int64_t epoch, batch, step, rows; /* rows: of this epoch so far, in loss_sum */
    double loss_sum, best;
    int64_t bad;            /* epochs since the best one */
    ctsc_value *best_state; /* NULL: none kept */
    char options[512];      /* what a checkpoint must have been made with */
} trainer;

static const struct { const char *name, *op; bool classifies; } losses[] = {
    {"cross_entropy", "aten::cross_entropy_loss", true},
    {"nll", "aten::nll_loss", true},
    {"mse", "aten::mse_loss", false},
    {"l1", "aten::l1_loss", false},
    {"smooth_l1", "aten::smooth_l1_loss", false},
    {"huber", "aten::huber_loss", false},
    {"bce", "aten::binary_cross_entropy", false},
    {"bce_with_logits", "aten::binary_cross_entropy_with_logits", false},
};

static volatile sig_atomic_t loop_stopped;
static void loop_stop(int signal) {
    (void)signal;
    loop_stopped = 1;
}

/* The scope's error as that of e. */
static ctsc_status loop_scope_error(trainer *t, ctsc_error *e) {
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
    ctsc_value *loss = t->op ? ctsc_op(t->s, t->op, 2, *out, items[n - 1])
                             : ctsc_run(t->s, t->m, t->o->loss, n, items);
    if (!loss) {
        loop_scope_error(t, e);
        return NULL;
    }
    int64_t size = ctsc_value_kind(loss) == CTSC_KIND_TENSOR;
    for (int i = 0; size && i < ctsc_tensor_ndim(loss); i++) size *= ctsc_tensor_sizes(loss)[i];
    if (size == 1) return loss;
    ctsc_error_set(e, CTSC_USAGE, "the loss is no tensor with one element");
    return NULL;
}

/* Gradients of the present batch. */
static ctsc_status loop_closure(void *ctx, double *loss, ctsc_error *e) {
    trainer *t = ctx;
    ctsc_value *out;
    ctsc_scope_clear(t->s);
    ctsc_optimizer_zero_grad(t->opt);
    ctsc_value *l = loop_loss(t, t->batch_now, &out, e);
    if (!l) return ctsc_error_status(e);
    *loss = loop_number(t, l);
    ctsc_status s = ctsc_backward(l, NULL, 0, NULL, e);
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
    if (ctsc_optimizer_step_closure(t->opt, loop_closure, t, &loss, t->e) != CTSC_OK)
        return cli_report(t->e);
    ctsc_scope_clear(t->s);
    if (t->schedule && t->by_batch && ctsc_scheduler_step(t->schedule, loss, t->e) != CTSC_OK)
        return cli_report(t->e);
    t->loss_sum += loss * (double)rows;
    t->rows += rows;
    t->log.rows_done += rows;
    t->step++;
    t->batch++;
    train_log_progress(&t->log, t->epoch, t->o->epochs, t->batch, ctsc_loader_batches(t->data),
                       t->loss_sum / (double)t->rows);
    if (t->step % LOOP_LOG_EVERY) return 0;
    ctsc_setting numbers[] = {{"loss/batch", loss}, {"lr", ctsc_optimizer_get(t->opt, 0, "lr")}};
    return train_log_numbers(&t->log, t->step, 2, numbers)
               ? 0
               : cli_complain(CTSC_ENVIRONMENT, "the log cannot be written");
}

/* ---- validation ------------------------------------------------------------------------------ */

/* Rows in which the class with the largest number is the target. */
static double loop_correct(trainer *t, ctsc_value *out, ctsc_value *batch) {
    ctsc_value *target = ctsc_item(t->s, batch, ctsc_value_len(batch) - 1);
    if (!out || !target || ctsc_tensor_ndim(out) < 2 ||
        ctsc_tensor_ndim(target) + 1 != ctsc_tensor_ndim(out))
        return NAN;
    ctsc_value *same = ctsc_eq(t->s, ctsc_argmax_dim(t->s, out, 1, false), target);
    return loop_number(t, ctsc_mean(t->s, ctsc_to(t->s, same, CTSC_FLOAT64)));
}

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
        ctsc_value *l = loop_loss(t, batch, &out, t->e);
        if (!l) code = cli_report(t->e);
        else
            sum += loop_number(t, l) * (double)n,
                correct += t->classifies ? loop_correct(t, out, batch) * (double)n : NAN;
        rows += n;
        ctsc_scope_clear(t->s);
        ctsc_value_free(batch);
    }
    ctsc_scope_set_gradients(t->s, true);
    ctsc_module_train(t->m);
    *loss = sum == sum ? sum / (double)rows : NAN; /* not -nan */
    *accuracy = correct / (double)rows;
    return code;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

enum { KEEP_MAX = 16 };
typedef struct keep { ctsc_value *keys[KEEP_MAX], *values[KEEP_MAX]; size_t n; bool failed; } keep;

static void keep_take(keep *k, const char *key, ctsc_value *v) {
    k->keys[k->n] = ctsc_string_new(key, strlen(key));
    k->values[k->n] = v;
    k->failed |= !k->keys[k->n] || !v;
    k->n++;
}

static ctsc_value *keep_end(keep *k) {
    ctsc_value *d = k->failed ? NULL : ctsc_dict_new(k->n, k->keys, k->values);
    for (size_t i = 0; i < k->n; i++) {
        ctsc_value_free(k->keys[i]);
        ctsc_value_free(k->values[i]);
    }
    return d;
}

static int loop_save(trainer *t, const char *path) {
    keep k = {.n = 0};
    ctsc_value *v = NULL, *all;
    ctsc_status s = ctsc_module_state(t->m, &v, t->e);
    if (s == CTSC_OK) keep_take(&k, "model", v), s = ctsc_optimizer_state(t->opt, &v, t->e);
    if (s == CTSC_OK) keep_take(&k, "optimizer", v), s = ctsc_scope_random_state(t->s, &v, t->e);
    if (s == CTSC_OK) keep_take(&k, "random", v);
    if (s == CTSC_OK && t->schedule && (s = ctsc_scheduler_state(t->schedule, &v, t->e)) == CTSC_OK)
        keep_take(&k, "scheduler", v);
    keep_take(&k, "epoch", ctsc_int_new(t->epoch));
    keep_take(&k, "batch", ctsc_int_new(t->batch));
    keep_take(&k, "step", ctsc_int_new(t->step));
    keep_take(&k, "rows", ctsc_int_new(t->rows));
    keep_take(&k, "loss_sum", ctsc_float_new(t->loss_sum));
    keep_take(&k, "best", ctsc_float_new(t->best));
    keep_take(&k, "bad_epochs", ctsc_int_new(t->bad));
    if (t->best_state) keep_take(&k, "best_model", ctsc_value_copy(t->best_state));
    keep_take(&k, "options", ctsc_string_new(t->options, strlen(t->options)));
    all = keep_end(&k);
    if (s == CTSC_OK && !all) s = ctsc_error_set(t->e, CTSC_LIMIT, "out of memory");
    if (s == CTSC_OK) s = ctsc_value_save(all, path, t->e);
    ctsc_value_free(all);
    return s == CTSC_OK ? 0 : cli_report(t->e);
}

static int64_t kept_int(const ctsc_value *all, const char *key) {
    ctsc_value *v = ctsc_value_get(all, key);
    int64_t i = v ? ctsc_value_int(v) : 0;
    ctsc_value_free(v);
    return i;
}

static double kept_float(const ctsc_value *all, const char *key) {
    ctsc_value *v = ctsc_value_get(all, key);
    double x = v ? ctsc_value_float(v) : 0;
    ctsc_value_free(v);
    return x;
}

/* What is not of numbers: the module's tensors, the optimiser's, the schedule's
 * state, random numbers. */
static ctsc_status loop_restore(trainer *t, const ctsc_value *all) {
    ctsc_value *model = ctsc_value_get(all, "model"), *opt = ctsc_value_get(all, "optimizer"),
               *random = ctsc_value_get(all, "random");
    ctsc_value *schedule = t->schedule ? ctsc_value_get(all, "scheduler") : NULL;
    ctsc_status s = model && opt && random && (schedule || !t->schedule)
                        ? CTSC_OK
                        : ctsc_error_set(t->e, CTSC_BAD_FILE, "%s is no checkpoint", t->o->resume);
    if (s == CTSC_OK) s = ctsc_module_load_state(t->m, model, t->e);
    if (s == CTSC_OK) s = ctsc_optimizer_load_state(t->opt, opt, t->e);
    if (s == CTSC_OK && schedule) s = ctsc_scheduler_load_state(t->schedule, schedule, t->e);
    if (s == CTSC_OK) s = ctsc_scope_set_random_state(t->s, random, t->e);
    ctsc_value_free(model);
    ctsc_value_free(opt);
    ctsc_value_free(random);
    ctsc_value_free(schedule);
    return s;
}

static int loop_resume(trainer *t) {
    ctsc_value *all = NULL;
    if (ctsc_value_load(t->o->resume, &all, t->e) != CTSC_OK) return cli_report(t->e);
    ctsc_value *options = ctsc_value_get(all, "options");
    int code = 0;
    if (!options || strcmp(ctsc_value_string(options, NULL), t->options))
        code = cli_complain(CTSC_USAGE, "%s is of a training with other options: %s", t->o->resume,
                            options ? ctsc_value_string(options, NULL) : "none");
    else if (loop_restore(t, all) != CTSC_OK) code = cli_report(t->e);
    t->epoch = kept_int(all, "epoch");
    t->batch = kept_int(all, "batch");
    t->step = kept_int(all, "step");
    t->rows = kept_int(all, "rows");
    t->loss_sum = kept_float(all, "loss_sum");
    t->best = kept_float(all, "best");
    t->bad = kept_int(all, "bad_epochs");
    t->best_state = ctsc_value_get(all, "best_model");
    ctsc_value_free(options);
    ctsc_value_free(all);
    return code;
}

/* ---- epochs ---------------------------------------------------------------------------------- */

static int loop_keep_best(trainer *t) {
    ctsc_value *now = NULL;
    if (ctsc_module_state(t->m, &now, t->e) != CTSC_OK) return cli_report(t->e);
    size_t n = ctsc_value_len(now);
    ctsc_value **keys = calloc(n + 1, sizeof *keys), **items = calloc(n + 1, sizeof *items),
               *copy = NULL;
    ctsc_scope_set_gradients(t->s, false);
    for (size_t i = 0; keys && items && i < n; i++) {
        keys[i] = ctsc_take(t->s, ctsc_value_key(now, i));
        items[i] = ctsc_clone(t->s, ctsc_take(t->s, ctsc_value_item(now, i)));
    }
    if (keys && items && ctsc_scope_status(t->s) == CTSC_OK) copy = ctsc_dict_new(n, keys, items);
    ctsc_scope_clear(t->s);
    ctsc_scope_set_gradients(t->s, true);
    free(keys);
    free(items);
    ctsc_value_free(now);
    if (!copy) return cli_complain(CTSC_LIMIT, "out of memory");
    ctsc_value_free(t->best_state);
    t->best_state = copy;
    return 0;
}

/* The end of an epoch: what it came to, the schedule, whether it was the best. *stop: enough. */
static int loop_epoch_end(trainer *t, bool *stop) {
    double loss = t->loss_sum / (double)t->rows, valid = NAN, accuracy = NAN,
           lr = ctsc_optimizer_get(t->opt, 0, "lr");
    int code = t->valid ? loop_validate(t, &valid, &accuracy) : 0;
    if (code) return code;
    train_log_clear(&t->log);
    printf("epoch %lld/%lld: loss %.6f", (long long)t->epoch + 1, (long long)t->o->epochs, loss);
    if (t->valid) printf(", validation %.6f", valid);
    if (t->valid && accuracy == accuracy) printf(", accuracy %.4f", accuracy);
    puts("");
    fflush(stdout);
    ctsc_setting numbers[] = {
        {"loss", loss},
        {"epoch", (double)t->epoch + 1},
        {"lr", lr},
        {"loss/validation", valid},
        {"accuracy", accuracy},
    };
    size_t n = !t->valid ? 3 : accuracy == accuracy ? 5 : 4;
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
    t->batch = t->rows = 0;
    t->loss_sum = 0;
    return code;
}

/* The rest of the present epoch. */
static int loop_epoch(trainer *t) {
    int code = 0;
    if (ctsc_loader_begin(t->data, t->epoch, t->batch, t->e) != CTSC_OK) return cli_report(t->e);
    while (!code && !loop_stopped) {
        if (ctsc_loader_next(t->data, &t->batch_now, t->e) != CTSC_OK) return cli_report(t->e);
        if (!t->batch_now) return 0;
        code = loop_step(t);
        ctsc_value_free(t->batch_now);
        t->batch_now = NULL;
        bool due = t->o->checkpoint && t->o->checkpoint_every &&
                   t->step % t->o->checkpoint_every == 0;
        if (!code && due) code = loop_save(t, t->o->checkpoint);
    }
    return code;
}

static int loop_epochs(trainer *t) {
    bool stop = t->o->patience >= 0 && t->bad > t->o->patience;
    int code = 0;
    while (!code && !stop && t->epoch < t->o->epochs) {
        code = loop_epoch(t);
        if (!code && loop_stopped) {
            train_log_clear(&t->log);
            if (t->o->checkpoint) code = loop_save(t, t->o->checkpoint);
            return code ? code
                        : cli_complain(CTSC_FAILED,
                                       t->o->checkpoint ? "stopped; --resume %s goes on"
                                                        : "stopped%s",
                                       t->o->checkpoint ? t->o->checkpoint : "");
        }
        if (!code) code = loop_epoch_end(t, &stop);
        if (!code && t->o->checkpoint) code = loop_save(t, t->o->checkpoint);
    }
    if (!code && t->best_state && ctsc_module_load_state(t->m, t->best_state, t->e) != CTSC_OK)
        code = cli_report(t->e);
    ctsc_optimizer_zero_grad(t->opt);
    ctsc_module_eval(t->m);
    if (!code && t->o->output && ctsc_module_save(t->m, t->o->output, t->e) != CTSC_OK)
        code = cli_report(t->e);
    return code;
}

/* ---- setting up ------------------------------------------------------------------------------ */

static int loop_set_loss(trainer *t) {
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        if (!strcmp(losses[i].name, t->o->loss)) {
            t->op = losses[i].op;
            t->classifies = losses[i].classifies;
            return 0;
        }
    for (size_t i = 0; i < ctsc_module_method_count(t->m); i++)
        if (!strcmp(ctsc_module_method_name(t->m, i), t->o->loss)) return 0;
    return cli_complain(CTSC_USAGE, "--loss: '%s' is neither a loss nor a method of the model",
                        t->o->loss);
}

/* What a schedule is not told and training knows. */
static ctsc_status loop_make_schedule(trainer *t) {
    train_settings set = t->o->schedule_set;
    const char *name = t->o->schedule;
    if (!name) return CTSC_OK;
    t->by_batch = !strcmp(name, "onecycle");
    if (!strcmp(name, "cosine") && !train_has_setting(&set, "t_max"))
        train_add_setting(&set, "t_max", (double)t->o->epochs);
    if (t->by_batch && !train_has_setting(&set, "max_lr"))
        train_add_setting(&set, "max_lr", ctsc_optimizer_get(t->opt, 0, "lr"));
    if (t->by_batch && !train_has_setting(&set, "total_steps"))
        train_add_setting(&set, "total_steps",
                          (double)(t->o->epochs * ctsc_loader_batches(t->data)));
    if (!strcmp(name, "lambda"))
        return ctsc_error_set(t->e, CTSC_USAGE, "--schedule: 'lambda' is for programs");
    return ctsc_scheduler_new(name, t->opt, set.n, set.list, NULL, NULL, &t->schedule, t->e);
}

static int loop_read(trainer *t, const char *const *files, size_t n, bool training,
                     ctsc_loader **out) {
    ctsc_value *data = NULL;
    ctsc_loader_options o = {.size = sizeof o,
                             .batch = t->o->batch,
                             .shuffle = training && !t->o->in_order,
                             .drop_last = training && t->o->drop_last,
                             .seed = t->o->model.compile.seed};
    int code = train_read_data(files, n, &data, t->e);
    if (!code && ctsc_loader_new(data, &o, out, t->e) != CTSC_OK) code = cli_report(t->e);
    ctsc_value_free(data);
    if (!code && !ctsc_loader_batches(*out))
        code = cli_complain(CTSC_USAGE, "%s: there are fewer rows than a batch has", files[0]);
    return code;
}

/* Before the first step: calls with batches like these become programs now, so that a step is the
 * same to the last bit wherever a run began. The last batch may be smaller. */
static int loop_warm_up(trainer *t, ctsc_loader *data, bool gradients) {
    int64_t n = ctsc_loader_batches(data), at[] = {0, n - 1};
    ctsc_status s = CTSC_OK;
    for (int i = 0; i < (n > 1 ? 2 : 1) && s == CTSC_OK; i++) {
        ctsc_value *batch = NULL, *items[64];
        s = ctsc_loader_begin(data, 0, at[i], t->e);
        if (s == CTSC_OK) s = ctsc_loader_next(data, &batch, t->e);
        if (s != CTSC_OK) break;
        size_t len = ctsc_value_len(batch);
        for (size_t k = 0; k < len; k++) items[k] = ctsc_item(t->s, batch, k);
        s = ctsc_scope_status(t->s) == CTSC_OK
                ? ctsc_module_warm_up(t->m, t->op ? "forward" : t->o->loss, t->op ? len - 1 : len,
                                      items, gradients, t->e)
                : loop_scope_error(t, t->e);
        ctsc_scope_clear(t->s);
        ctsc_value_free(batch);
    }
    return s == CTSC_OK ? 0 : cli_report(t->e);
}

static void loop_describe(trainer *t) {
    const train_options *o = t->o;
    int n = snprintf(t->options, sizeof t->options,
                     "loss=%s optimizer=%s schedule=%s batch=%lld seed=%llu clip=%g%s%s%s", o->loss,
                     o->optimizer, o->schedule ? o->schedule : "none", (long long)o->batch,
                     (unsigned long long)o->model.compile.seed, o->clip_norm,
                     o->drop_last ? " drop-last" : "", o->in_order ? " in-order" : "",
                     o->bf16 ? " precision=bf16" : "");
    for (size_t i = 0; i < o->set.n && n > 0 && n < (int)sizeof t->options; i++)
        n += snprintf(t->options + n, sizeof t->options - (size_t)n, " %s=%.17g",
                      o->set.list[i].name, o->set.list[i].value);
}

static int loop_begin(trainer *t) {
    const train_options *o = t->o;
    int code = loop_set_loss(t);
    if (!code) code = loop_read(t, o->data, o->ndata, true, &t->data);
    if (!code && o->nvalid) code = loop_read(t, o->valid, o->nvalid, false, &t->valid);
    if (code) return code;
    ctsc_scope_seed(t->s, o->model.compile.seed);
    ctsc_scope_set_gradients(t->s, true);
    bool ok = ctsc_module_set_opt(t->m, 3, t->e) == CTSC_OK &&
              ctsc_module_set_autocast(t->m, o->bf16 ? CTSC_BFLOAT16 : CTSC_FLOAT32, t->e) ==
                  CTSC_OK &&
              ctsc_module_set_gradients(t->m, true, t->e) == CTSC_OK &&
              ctsc_module_parameters(t->m, &t->params, t->e) == CTSC_OK &&
              ctsc_optimizer_new(o->optimizer, t->params, o->set.n, o->set.list, &t->opt, t->e) ==
                  CTSC_OK &&
              loop_make_schedule(t) == CTSC_OK;
    if (!ok) return cli_report(t->e);
    loop_describe(t);
    if (o->resume) code = loop_resume(t);
    if (!code && t->valid) {
        ctsc_module_eval(t->m);
        code = loop_warm_up(t, t->valid, false);
    }
    ctsc_module_train(t->m);
    if (!code) code = loop_warm_up(t, t->data, true);
    if (!code) code = train_log_open(&t->log, o);
    t->log.rows_all = (o->epochs - t->epoch) * ctsc_loader_batches(t->data) * o->batch -
                      t->batch * o->batch;
    return code;
}

int train_run(const train_options *o, ctsc_module *m, ctsc_error *e) {
    trainer t = {.o = o, .m = m, .e = e, .s = ctsc_scope_new(), .best = INFINITY};
    struct sigaction act = {.sa_handler = loop_stop}, before_int, before_term;
    if (!t.s) return cli_complain(CTSC_LIMIT, "out of memory");
    ctsc_set_compiling(CTSC_COMPILE_IN_CALLS);
    sigaction(SIGINT, &act, &before_int);
    sigaction(SIGTERM, &act, &before_term);
    int code = loop_begin(&t);
    if (!code) code = loop_epochs(&t);
    sigaction(SIGINT, &before_int, NULL);
    sigaction(SIGTERM, &before_term, NULL);
    train_log_close(&t.log);
    ctsc_value_free(t.batch_now);
    ctsc_value_free(t.best_state);
    ctsc_scheduler_free(t.schedule);
    ctsc_optimizer_free(t.opt);
    ctsc_value_free(t.params);
    ctsc_loader_free(t.data);
    ctsc_loader_free(t.valid);
    ctsc_scope_free(t.s);
    return code;
}
