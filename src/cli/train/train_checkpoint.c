/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_checkpoint.c - what ctsc train keeps to go on from, and the best weights so far.
 *
 * A checkpoint is a dict written as torch.save does, which appears whole or not at all: "model"
 * and "optimizer" are PyTorch's state dicts, "random" is the form of torch.get_rng_state,
 * "scheduler" and the numbers beside them say where the loop was.
 * Tests: tests/cli/train.test
 */
#include "cli/train/train_loop.h"

#include <stdlib.h>
#include <string.h>

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

int loop_save(trainer *t, const char *path) {
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
    keep_take(&k, "correct", ctsc_float_new(t->correct));
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
                        : ctsc_error_set(t->e, CTSC_BAD_FILE, "%s is not a checkpoint",
                                         t->o->resume);
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

int loop_resume(trainer *t) {
    ctsc_value *all = NULL;
    if (ctsc_value_load(t->o->resume, &all, t->e) != CTSC_OK)
        return cli_report_file(t->e, t->o->resume);
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
    t->correct = kept_float(all, "correct");
    t->best = kept_float(all, "best");
    t->bad = kept_int(all, "bad_epochs");
    t->best_state = ctsc_value_get(all, "best_model");
    ctsc_value_free(options);
    ctsc_value_free(all);
    return code;
}

int loop_keep_best(trainer *t) {
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
