/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_begin.c - all that precedes the first step of ctsc train.
 * Tests: tests/cli/train.test, tests/cli/train-data.test
 */
#include "cli/progress.h"
#include "cli/train/train_loop.h"
#include "ctsc_compiler.h"

#include <stdlib.h>
#include <string.h>

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

static int loop_set_loss(trainer *t) {
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        if (!strcmp(losses[i].name, t->o->loss)) {
            t->op = losses[i].op;
            t->classifies = losses[i].classifies;
            return 0;
        }
    for (size_t i = 0; i < ctsc_module_method_count(t->m); i++)
        if (!strcmp(ctsc_module_method_name(t->m, i), t->o->loss)) return 0;
    char all[256] = "";
    for (size_t i = 0, n = 0; i < sizeof losses / sizeof *losses; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "", losses[i].name);
    return cli_complain(CTSC_USAGE, "--loss: '%s' is neither a loss (%s) nor a method of the model",
                        t->o->loss, all);
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

/* ---- data ------------------------------------------------------------------------------------ */

static int loop_loader(trainer *t, const ctsc_value *data, bool training, ctsc_loader **out) {
    ctsc_loader_options o = {.size = sizeof o,
                             .batch = t->o->batch,
                             .shuffle = training && !t->o->in_order,
                             .drop_last = training && t->o->drop_last,
                             .seed = t->o->model.compile.seed};
    if (ctsc_loader_new(data, &o, out, t->e) != CTSC_OK) return cli_report(t->e);
    return ctsc_loader_batches(*out) ? 0
                                     : cli_complain(CTSC_USAGE,
                                                    "%s: there are fewer rows than a "
                                                    "batch has",
                                                    training ? t->o->data[0] : "validation");
}

/* The rows of all tensors that are in the places begin to begin + n of an order. */
static ctsc_value *loop_rows_of(ctsc_scope *s, const ctsc_value *data, ctsc_value *order,
                                int64_t begin, int64_t n) {
    ctsc_value *items[DATA_MAX + 1], *index = ctsc_narrow(s, order, 0, begin, n);
    size_t count = ctsc_value_len(data);
    for (size_t i = 0; i < count; i++)
        items[i] = ctsc_index_select(s, ctsc_take(s, ctsc_value_item(data, i)), 0, index);
    return ctsc_scope_status(s) == CTSC_OK ? ctsc_tuple_new(count, items) : NULL;
}

/* Takes rows of *data away for the validation: the same as torch.utils.data.random_split(data, [n -
 * v, v], torch.Generator().manual_seed(seed)). */
static int loop_split(trainer *t, ctsc_value **data, ctsc_value **valid) {
    ctsc_value *first = ctsc_value_item(*data, 0), *left = NULL;
    int64_t n = first && ctsc_tensor_ndim(first) ? ctsc_tensor_sizes(first)[0] : 0,
            v = (int64_t)((double)n * t->o->split + 0.5);
    ctsc_value_free(first);
    if (v < 1 || v >= n)
        return cli_complain(CTSC_USAGE, "--split: %lld of %lld rows would be kept for validation",
                            (long long)v, (long long)n);
    ctsc_scope *s = ctsc_scope_new();
    if (!s) return cli_complain(CTSC_LIMIT, "out of memory");
    ctsc_scope_seed(s, t->o->model.compile.seed);
    ctsc_value *order = ctsc_op(s, "aten::randperm", 1, ctsc_int(s, n));
    left = order ? loop_rows_of(s, *data, order, 0, n - v) : NULL;
    *valid = left ? loop_rows_of(s, *data, order, n - v, v) : NULL;
    bool ok = *valid != NULL;
    if (!ok && ctsc_scope_status(s) != CTSC_OK)
        cli_complain(CTSC_USAGE, "--split: %s", ctsc_error_message(ctsc_scope_error(s)));
    ctsc_scope_free(s);
    if (!ok) return ctsc_value_free(left), CTSC_USAGE;
    ctsc_value_free(*data);
    *data = left;
    return 0;
}

/* How often each class is the target. n: how many there are, where that is known. */
static int loop_count_classes(const ctsc_value *data, size_t n, double **counts, size_t *found) {
    ctsc_value *last = ctsc_value_item(data, ctsc_value_len(data) - 1), *target = NULL;
    bool ok = last && ctsc_tensor_dtype(last) == CTSC_INT64 &&
              ctsc_tensor_contiguous(last, &target, NULL) == CTSC_OK;
    int64_t size = 1, most = (int64_t)n - 1;
    for (int i = 0; ok && i < ctsc_tensor_ndim(target); i++) size *= ctsc_tensor_sizes(target)[i];
    const int64_t *p = ok ? ctsc_tensor_data(target) : NULL;
    for (int64_t i = 0; ok && i < size; i++) most = p[i] > most ? p[i] : most;
    *counts = ok && most < 1 << 24 ? calloc((size_t)most + 2, sizeof **counts) : NULL;
    for (int64_t i = 0; *counts && i < size; i++)
        if (p[i] >= 0) (*counts)[p[i]]++;
    *found = *counts ? (size_t)most + 1 : 0;
    ctsc_value_free(target);
    ctsc_value_free(last);
    return *found
               ? 0
               : cli_complain(CTSC_USAGE, "--class-weights: the target has no numbers of classes");
}

/* rows / (classes * rows of the class), as scikit-learn's "balanced"; 1 for a class without. */
static int loop_balance(trainer *t, const ctsc_value *data) {
    double *counts = NULL, rows = 0;
    size_t n = 0;
    int code = loop_count_classes(data, t->classes.n, &counts, &n);
    for (size_t i = 0; i < n; i++) rows += counts[i];
    int64_t size = (int64_t)n;
    if (!code && ctsc_tensor_new(CTSC_FLOAT64, 1, &size, &t->weights, t->e) != CTSC_OK)
        code = cli_report(t->e);
    for (size_t i = 0; i < n && !code; i++)
        ((double *)ctsc_tensor_data(t->weights))[i] = counts[i] > 0 ? rows / ((double)n * counts[i])
                                                                    : 1;
    free(counts);
    return code;
}

static int loop_class_weights(trainer *t, const ctsc_value *data) {
    const char *text = t->o->class_weights;
    if (!text) return 0;
    if (!t->classifies)
        return cli_complain(CTSC_USAGE, "--class-weights is for cross_entropy and nll");
    if (!strcmp(text, "balanced")) return loop_balance(t, data);
    int64_t n = 1;
    for (const char *p = text; *p; p++) n += *p == ',';
    if (ctsc_tensor_new(CTSC_FLOAT64, 1, &n, &t->weights, t->e) != CTSC_OK) return cli_report(t->e);
    double *w = ctsc_tensor_data(t->weights);
    for (int64_t i = 0; i < n; i++) {
        char *end;
        w[i] = cli_double(text, &end);
        if (end == text || !(w[i] >= 0) || *end != (i + 1 < n ? ',' : '\0'))
            return cli_complain(CTSC_USAGE, "--class-weights: balanced, or a number for each class "
                                            "like 1,2.5");
        text = end + 1;
    }
    return 0;
}

static int loop_read(trainer *t) {
    const train_options *o = t->o;
    data_reading how = {o->target, o->features, o->dtype, t->classifies, NULL};
    train_data data = {0}, valid = {0};
    int code = train_read_data(o->data, o->ndata, &how, &data, t->e);
    how.classes = data.classes.n ? &data.classes : NULL;
    if (!code && o->nvalid) code = train_read_data(o->valid, o->nvalid, &how, &valid, t->e);
    if (!code && o->nvalid && valid.images != data.images)
        code = cli_complain(CTSC_USAGE, "--valid: images are compared with images alone");
    if (!code && o->split > 0) code = loop_split(t, &data.tensors, &valid.tensors);
    t->images = data.images;
    t->classes = data.classes;
    data.classes = (data_classes){0};
    if (!code) code = augment_begin(&t->augment, data.tensors, t->e);
    if (!code) code = loop_class_weights(t, data.tensors);
    if (!code) code = loop_loader(t, data.tensors, true, &t->data);
    if (!code && valid.tensors) code = loop_loader(t, valid.tensors, false, &t->valid);
    train_free_data(&data);
    train_free_data(&valid);
    return code;
}

/* ---- the first programs ---------------------------------------------------------------------- */

/* The call failed; a dtype of the inputs may be why, as NumPy's numbers are float64. */
static void loop_note_dtype(const trainer *t, ctsc_value *const *items, size_t n) {
    ctsc_value *first = ctsc_value_item(t->params, 0);
    ctsc_dtype want = first ? ctsc_tensor_dtype(first) : CTSC_FLOAT32;
    for (size_t i = 0; i < n; i++) {
        ctsc_dtype have = items[i] ? ctsc_tensor_dtype(items[i]) : want;
        if (have == want) continue;
        progress_clear();
        fprintf(stderr, "note: the data is %s, the model's parameters %s; --dtype %s converts it\n",
                ctsc_dtype_describe(have)->name, ctsc_dtype_describe(want)->name,
                ctsc_dtype_describe(want)->name);
        break;
    }
    ctsc_value_free(first);
}

/* Before the first step: calls with batches like these become programs now, so that a step is the
 * same to the last bit wherever a run began. The last batch may be smaller. */
static int loop_warm_up(trainer *t, ctsc_loader *data, bool gradients) {
    int64_t n = ctsc_loader_batches(data), at[] = {0, n - 1};
    ctsc_status s = CTSC_OK;
    for (int i = 0; i < (n > 1 ? 2 : 1) && s == CTSC_OK; i++) {
        ctsc_value *batch = NULL, *items[DATA_MAX + 1];
        s = ctsc_loader_begin(data, 0, at[i], t->e);
        if (s == CTSC_OK) s = ctsc_loader_next(data, &batch, t->e);
        if (s == CTSC_OK) s = augment_batch(&t->augment, t->s, t->images, false, &batch, t->e);
        if (s == CTSC_OK) s = share_batch(t->share, t->s, &batch, &t->part, t->e);
        if (s != CTSC_OK) {
            ctsc_value_free(batch);
            return cli_report(t->e);
        }
        size_t len = ctsc_value_len(batch);
        for (size_t k = 0; k < len; k++) items[k] = ctsc_item(t->s, batch, k);
        s = ctsc_scope_status(t->s) == CTSC_OK
                ? ctsc_module_warm_up(t->m, t->op ? "forward" : t->o->loss, t->op ? len - 1 : len,
                                      items, gradients, t->e)
                : loop_scope_error(t, t->e);
        if (s != CTSC_OK) {
            cli_report(t->e);
            if (len > 1) loop_note_dtype(t, items, len - 1);
        }
        ctsc_scope_clear(t->s);
        ctsc_value_free(batch);
    }
    return s;
}

/* The options that a resumed run has to have in common with the one before. */
static void loop_describe(trainer *t) {
    const train_options *o = t->o;
    const train_augment *g = &t->augment;
    FILE *f = fmemopen(t->options, sizeof t->options - 1, "w"); /* cut where it is too long */
    if (!f) return;
    fprintf(f, "loss=%s optimizer=%s schedule=%s batch=%lld seed=%llu clip=%g%s%s%s", o->loss,
            o->optimizer, o->schedule ? o->schedule : "none", (long long)o->batch,
            (unsigned long long)o->model.compile.seed, o->clip_norm,
            o->drop_last ? " drop-last" : "", o->in_order ? " in-order" : "",
            o->bf16 ? " precision=bf16" : "");
    for (size_t i = 0; i < o->set.n; i++)
        fprintf(f, " %s=%.17g", o->set.list[i].name, o->set.list[i].value);
    if (o->split > 0) fprintf(f, " split=%.17g", o->split);
    if (o->class_weights) fprintf(f, " class-weights=%s", o->class_weights);
    if (g->flip || g->vflip || g->crop)
        fprintf(f, " augment=%s%scrop=%d", g->flip ? "flip," : "", g->vflip ? "vflip," : "",
                g->crop);
    if (g->normalise) fprintf(f, " normalise");
    if (o->checkpointed)
        fprintf(f, " checkpoint-layers=%lld,%llu", (long long)o->segments,
                (unsigned long long)o->max_bytes);
    for (size_t i = 0; i < o->nfreeze; i++) fprintf(f, " freeze=%s", o->freeze[i]);
    fclose(f);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int loop_make(trainer *t) {
    const train_options *o = t->o;
    int code = 0;
    ctsc_scope_seed(t->s, o->model.compile.seed);
    ctsc_scope_set_gradients(t->s, true);
    if (ctsc_module_set_opt(t->m, 3, t->e) != CTSC_OK ||
        ctsc_module_set_autocast(t->m, o->bf16 ? CTSC_BFLOAT16 : CTSC_FLOAT32, t->e) != CTSC_OK ||
        ctsc_module_set_gradients(t->m, true, t->e) != CTSC_OK)
        return cli_report(t->e);
    if (o->checkpointed &&
        ctsc_module_set_checkpoints(t->m, o->segments, o->max_bytes, t->e) != CTSC_OK)
        return cli_report(t->e);
    if (o->nfreeze) code = tune_freeze(t->m, o->freeze, o->nfreeze, &t->frozen, &t->params, t->e);
    else if (ctsc_module_parameters(t->m, &t->params, t->e) != CTSC_OK) return cli_report(t->e);
    if (!code && !ctsc_value_len(t->params))
        code = cli_complain(CTSC_USAGE, "the model has no parameters to train");
    if (!code && (ctsc_optimizer_new(o->optimizer, t->params, o->set.n, o->set.list, &t->opt,
                                     t->e) != CTSC_OK ||
                  loop_make_schedule(t) != CTSC_OK))
        code = cli_report(t->e);
    return code;
}

/* Says what --checkpoint-layers has come to. */
static int loop_tell_checkpoints(const trainer *t) {
    ctsc_checkpoints c = {.size = sizeof c};
    char bytes[32], without[32];
    ctsc_module_checkpoints(t->m, &c);
    if (c.refused || !c.segments)
        return cli_complain(CTSC_UNSUPPORTED,
                            "--checkpoint-layers: calls of the model cannot be divided: %s",
                            c.refused ? c.refused : "none of its results has gradients");
    cli_bytes((double)c.bytes, bytes, sizeof bytes);
    cli_bytes((double)c.bytes_without, without, sizeof without);
    if (t->o->max_bytes && c.bytes > t->o->max_bytes)
        return cli_complain(CTSC_LIMIT,
                            "--max-bytes: the activations and gradients of a step take at least "
                            "%llu bytes (%s), in %lld segments",
                            (unsigned long long)c.bytes, bytes, (long long)c.segments);
    if (c.segments < 2 && t->o->segments > 1)
        cli_warn(NULL, "--checkpoint-layers: there is nothing to divide");
    progress_clear();
    printf(
        "checkpointing: %lld segment%s; activations and gradients of a step take %s, %s without\n",
        (long long)c.segments, c.segments == 1 ? "" : "s", bytes, without);
    return 0;
}

int loop_begin(trainer *t) {
    const train_options *o = t->o;
    int code = loop_set_loss(t);
    if (!code && o->pretrained) code = tune_pretrained(t->m, o->pretrained, t->e);
    if (!code) code = loop_read(t);
    progress_say("compiling");
    if (!code) code = loop_make(t);
    if (code) return code;
    loop_describe(t);
    if (o->resume) code = loop_resume(t);
    if (!code && t->valid) {
        ctsc_module_eval(t->m);
        code = loop_warm_up(t, t->valid, false);
    }
    ctsc_module_train(t->m);
    if (!code) code = loop_warm_up(t, t->data, true);
    if (!code && o->checkpointed && o->segments != 1) code = loop_tell_checkpoints(t);
    if (!code) code = train_log_open(&t->log, o);
    t->log.rows_all = (o->epochs - t->epoch) * ctsc_loader_batches(t->data) * o->batch -
                      t->batch * o->batch;
    return code;
}
