/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedules.c - learning rates over time, as torch.optim.lr_scheduler has them.
 *
 * Most of PyTorch's schedules compute a rate from the one before, not from the first one: it makes
 * them chainable, and rounding drifts. So here, for the same bits. The rate itself is the
 * optimiser's, and is saved there.
 * Tests: tests/unit/test_optimizer.c
 */
#include "ir/type.h"
#include "runtime/train/train.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

enum {
#define SCHEDULER(id, name) FROM_##id, AHEAD_##id = FROM_##id - 1,
#define SETTING(id, field, key, standard) SETTING_##id##_##field,
#include "runtime/train/schedulers.def"
#undef SCHEDULER
#undef SETTING
    SETTING_COUNT
};
typedef enum scheduler_id {
#define SCHEDULER(id, name) SCHEDULER_##id,
#define SETTING(id, field, key, standard)
#include "runtime/train/schedulers.def"
#undef SCHEDULER
#undef SETTING
    SCHEDULER_COUNT
} scheduler_id;
enum { /* NUMBER_STEP = 0 + 1 + 1 */
       NUMBER_NONE = 0
#define SCHEDULER(id, name) , NUMBER_##id = 0
#define SETTING(id, field, key, standard) +1
#include "runtime/train/schedulers.def"
#undef SCHEDULER
#undef SETTING
};

static const struct { const char *name, *key; double standard; } settings[SETTING_COUNT + 1] = {
#define SCHEDULER(id, name)
#define SETTING(id, field, key, standard) [SETTING_##id##_##field] = {#field, key, standard},
#include "runtime/train/schedulers.def"
#undef SCHEDULER
#undef SETTING
};

enum { SCHEDULER_MAX = 16 };

struct scheduler {
    scheduler_id id;
    optimizer *o;
    double v[SCHEDULER_MAX]; /* settings */
    VEC(int64_t) milestones; /* in the order given */
    VEC(double) base_lrs;    /* per group */
    int64_t last_epoch, step_count;
    double best; /* plateau's */
    int64_t bad, cooldown;
    train_lambda fn;
    void *ctx;
};

#define V(id, field) (s->v[SETTING_##id##_##field - FROM_##id])

static double *group_lr(const scheduler *s, size_t g) {
    return &s->o->groups.data[g].h[0]; /* every optimiser's first setting */
}

/* ---- the schedules: the rate of a group at s->last_epoch ------------------------------------- */

static double schedule_STEP(const scheduler *s, size_t g) {
    bool now = s->last_epoch && s->last_epoch % (int64_t)V(STEP, step_size) == 0;
    return now ? *group_lr(s, g) * V(STEP, gamma) : *group_lr(s, g);
}

static double schedule_MULTISTEP(const scheduler *s, size_t g) {
    int times = 0;
    for (size_t i = 0; i < s->milestones.len; i++) times += s->milestones.data[i] == s->last_epoch;
    return times ? *group_lr(s, g) * pow(V(MULTISTEP, gamma), times) : *group_lr(s, g);
}

static double schedule_EXPONENTIAL(const scheduler *s, size_t g) {
    return s->last_epoch ? *group_lr(s, g) * V(EXPONENTIAL, gamma) : *group_lr(s, g);
}

static double schedule_LINEAR(const scheduler *s, size_t g) {
    double lr = *group_lr(s, g), start = V(LINEAR, start_factor),
           rise = V(LINEAR, end_factor) - start;
    if (s->last_epoch == 0) return lr * start;
    if ((double)s->last_epoch > V(LINEAR, total_iters)) return lr;
    return lr * (1 + rise / (V(LINEAR, total_iters) * start + (double)(s->last_epoch - 1) * rise));
}

static double schedule_COSINE(const scheduler *s, size_t g) {
    double lr = *group_lr(s, g), least = V(COSINE, eta_min), t = V(COSINE, t_max),
           e = (double)s->last_epoch;
    if (s->last_epoch == 0) return lr;
    if ((s->last_epoch - 1 - (int64_t)t) % (2 * (int64_t)t) == 0)
        return lr + (s->base_lrs.data[g] - least) * (1 - cos(PI / t)) / 2;
    return (1 + cos(PI * e / t)) / (1 + cos(PI * (e - 1) / t)) * (lr - least) + least;
}

static double cycle_anneal(const scheduler *s, double from, double to, double pct) {
    if (V(ONECYCLE, linear) != 0) return (to - from) * pct + from;
    return to + (from - to) / 2.0 * (1 + cos(PI * pct));
}

static double schedule_ONECYCLE(const scheduler *s, size_t g) {
    double total = V(ONECYCLE, total_steps), top = V(ONECYCLE, max_lr),
           first = top / V(ONECYCLE, div_factor), least = first / V(ONECYCLE, final_div_factor);
    double low = V(ONECYCLE, base_momentum), high = V(ONECYCLE, max_momentum),
           up = V(ONECYCLE, pct_start) * total - 1;
    bool three = V(ONECYCLE, three_phase) != 0;
    struct {
        double end, lr0, lr1, m0, m1;
    } phases[3] = {
        {up, first, top, high, low},
        {total - 1, top, least, low, high},
        {total - 1, first, least, high, high},
    };
    if (three) phases[1].end = 2 * V(ONECYCLE, pct_start) * total - 2, phases[1].lr1 = first;
    double begin = 0, e = (double)s->last_epoch;
    int i = 0;
    while (e > phases[i].end && i < (three ? 2 : 1)) begin = phases[i++].end;
    double pct = (e - begin) / (phases[i].end - begin);
    const char *name = optimizer_hyper(s->o, g, "beta1") ? "beta1" : "momentum";
    double *momentum = (double *)optimizer_hyper(s->o, g, name);
    if (momentum && V(ONECYCLE, cycle_momentum) != 0)
        *momentum = cycle_anneal(s, phases[i].m0, phases[i].m1, pct);
    return cycle_anneal(s, phases[i].lr0, phases[i].lr1, pct);
}

static double schedule_PLATEAU(const scheduler *s, size_t g) { return *group_lr(s, g); }

static double schedule_LAMBDA(const scheduler *s, size_t g) {
    return s->base_lrs.data[g] * s->fn(s->ctx, g, s->last_epoch);
}

static const struct {
    const char *name;
    double (*lr)(const scheduler *s, size_t g);
    int first, count;
} schedules[SCHEDULER_COUNT] = {
#define SCHEDULER(id, name) [SCHEDULER_##id] = {name, schedule_##id, FROM_##id, NUMBER_##id},
#define SETTING(id, field, key, standard)
#include "runtime/train/schedulers.def"
#undef SCHEDULER
#undef SETTING
};

/* ---- plateaus -------------------------------------------------------------------------------- */

static bool plateau_is_better(const scheduler *s, double a) {
    double by = V(PLATEAU, threshold);
    bool up = V(PLATEAU, maximize) != 0;
    if (V(PLATEAU, absolute) != 0) return up ? a > s->best + by : a < s->best - by;
    return up ? a > s->best * (1 + by) : a < s->best * (1 - by);
}

static void plateau_step(scheduler *s, double metric) {
    s->last_epoch++;
    if (plateau_is_better(s, metric)) s->best = metric, s->bad = 0;
    else s->bad++;
    if (s->cooldown > 0) s->cooldown--, s->bad = 0;
    if ((double)s->bad <= V(PLATEAU, patience)) return;
    for (size_t g = 0; g < s->o->groups.len; g++) {
        double *lr = group_lr(s, g), next = *lr * V(PLATEAU, factor);
        if (next < V(PLATEAU, min_lr)) next = V(PLATEAU, min_lr);
        if (*lr - next > V(PLATEAU, eps)) *lr = next;
    }
    s->cooldown = (int64_t)V(PLATEAU, cooldown);
    s->bad = 0;
}

/* ---- making and stepping --------------------------------------------------------------------- */

static ctsc_status scheduler_unknown(diag *d, const char *name) {
    strbuf known = STRBUF_INIT;
    for (int i = 0; i < SCHEDULER_COUNT; i++)
        sb_printf(&known, "%s%s", i ? ", " : "", schedules[i].name);
    ctsc_status st = diag_fail(d, CTSC_USAGE, "there is no schedule '%s' (there are: %s)", name,
                               sb_str(&known));
    sb_free(&known);
    return st;
}

static ctsc_status scheduler_set(diag *d, scheduler *s, const train_setting *given) {
    int first = schedules[s->id].first, n = schedules[s->id].count;
    if (s->id == SCHEDULER_MULTISTEP && !strcmp(given->name, "milestone")) {
        bool fits = given->value >= 0 && given->value < 1e15 && given->value == floor(given->value);
        if (!fits) return diag_fail(d, CTSC_USAGE, "a milestone is the number of an epoch");
        return vec_push(&s->milestones, (int64_t)given->value) ? CTSC_OK : diag_no_memory(d);
    }
    for (int i = 0; i < n; i++)
        if (!strcmp(settings[first + i].name, given->name)) {
            s->v[i] = given->value;
            return CTSC_OK;
        }
    return diag_fail(d, CTSC_USAGE, "the schedule '%s' has no setting '%s'", schedules[s->id].name,
                     given->name);
}

static bool scheduler_is_count(double v) { return v >= 1 && v < 1e15 && v == floor(v); }

static ctsc_status scheduler_check(diag *d, const scheduler *s) {
    int first = schedules[s->id].first, n = schedules[s->id].count;
    for (int i = 0; i < n; i++)
        if (s->v[i] != s->v[i])
            return diag_fail(d, CTSC_USAGE, "the schedule '%s' needs a setting '%s'",
                             schedules[s->id].name, settings[first + i].name);
    bool ok = true;
    if (s->id == SCHEDULER_STEP) ok = scheduler_is_count(V(STEP, step_size));
    if (s->id == SCHEDULER_COSINE) ok = scheduler_is_count(V(COSINE, t_max));
    if (s->id == SCHEDULER_ONECYCLE)
        ok = scheduler_is_count(V(ONECYCLE, total_steps)) && V(ONECYCLE, pct_start) >= 0 &&
             V(ONECYCLE, pct_start) <= 1 && V(ONECYCLE, div_factor) > 0;
    if (s->id == SCHEDULER_LINEAR)
        ok = V(LINEAR, start_factor) > 0 && V(LINEAR, start_factor) <= 1 &&
             V(LINEAR, end_factor) >= 0 && V(LINEAR, end_factor) <= 1;
    if (s->id == SCHEDULER_PLATEAU) ok = V(PLATEAU, factor) < 1;
    if (s->id == SCHEDULER_LAMBDA) ok = s->fn != NULL;
    return ok ? CTSC_OK
              : diag_fail(d, CTSC_USAGE, "a setting of the schedule '%s' is out of range",
                          schedules[s->id].name);
}

/* The rates of the first epoch. */
static ctsc_status scheduler_begin(diag *d, scheduler *s) {
    for (size_t g = 0; g < s->o->groups.len; g++) {
        optimizer_group *group = &s->o->groups.data[g];
        if (s->id == SCHEDULER_ONECYCLE)
            group->h[0] = V(ONECYCLE, max_lr) / V(ONECYCLE, div_factor),
            group->has_initial_lr = false;
        if (!group->has_initial_lr) group->initial_lr = group->h[0];
        group->has_initial_lr = s->id != SCHEDULER_PLATEAU;
        if (!vec_push(&s->base_lrs, group->initial_lr)) return diag_no_memory(d);
    }
    s->best = s->id == SCHEDULER_PLATEAU && V(PLATEAU, maximize) != 0 ? -INFINITY : INFINITY;
    if (s->id == SCHEDULER_PLATEAU) return CTSC_OK;
    s->last_epoch = -1;
    return scheduler_step(d, s, 0);
}

ctsc_status scheduler_new(diag *d, const char *name, optimizer *o, size_t n,
                          const train_setting *given, train_lambda fn, void *ctx, scheduler **out) {
    int id = 0;
    while (id < SCHEDULER_COUNT && strcmp(schedules[id].name, name)) id++;
    if (id == SCHEDULER_COUNT) return scheduler_unknown(d, name);
    scheduler *s = mem_zalloc(sizeof *s);
    if (!s) return diag_no_memory(d);
    *s = (scheduler){.id = (scheduler_id)id, .o = o, .fn = fn, .ctx = ctx};
    for (int i = 0; i < schedules[id].count; i++)
        s->v[i] = settings[schedules[id].first + i].standard;
    ctsc_status st = CTSC_OK;
    for (size_t i = 0; i < n && st == CTSC_OK; i++) st = scheduler_set(d, s, &given[i]);
    if (st == CTSC_OK) st = scheduler_check(d, s);
    if (st == CTSC_OK) st = scheduler_begin(d, s);
    if (st == CTSC_OK) *out = s;
    else scheduler_free(s);
    return st;
}

void scheduler_free(scheduler *s) {
    if (!s) return;
    vec_free(&s->milestones);
    vec_free(&s->base_lrs);
    mem_free(s);
}

ctsc_status scheduler_step(diag *d, scheduler *s, double metric) {
    if (s->base_lrs.len != s->o->groups.len)
        return diag_fail(d, CTSC_USAGE,
                         "the optimiser has got more groups since its schedule was made");
    s->step_count++;
    if (s->id == SCHEDULER_PLATEAU) {
        plateau_step(s, metric);
        return CTSC_OK;
    }
    if (s->id == SCHEDULER_ONECYCLE && (double)s->last_epoch + 1 > V(ONECYCLE, total_steps))
        return diag_fail(d, CTSC_FAILED,
                         "Tried to step %lld times. The specified number of total steps is %lld",
                         (long long)s->last_epoch + 1, (long long)V(ONECYCLE, total_steps));
    s->last_epoch++;
    for (size_t g = 0; g < s->o->groups.len; g++) *group_lr(s, g) = schedules[s->id].lr(s, g);
    return CTSC_OK;
}

/* ---- state ----------------------------------------------------------------------------------- */

static ctsc_status scheduler_put_rates(diag *d, const scheduler *s, dict *into, const char *key,
                                       bool base) {
    list *l = list_new(LIST_FLOAT, TYPE_FLOAT, s->base_lrs.len);
    if (!l) return diag_no_memory(d);
    /* there is room */
    for (size_t g = 0; g < s->base_lrs.len; g++)
        (void)list_append_take(l, value_float(base ? s->base_lrs.data[g] : *group_lr(s, g)));
    return train_put(d, into, key, value_list_take(l));
}

static ctsc_status scheduler_put(diag *d, const scheduler *s, dict *into) {
    int first = schedules[s->id].first, n = schedules[s->id].count;
    for (int i = 0; i < n; i++) {
        bool whole = s->v[i] == floor(s->v[i]) && fabs(s->v[i]) < 1e15;
        TRY(train_put(d, into, settings[first + i].key,
                      whole ? value_int((int64_t)s->v[i]) : value_float(s->v[i])));
    }
    TRY(train_put(d, into, "last_epoch", value_int(s->last_epoch)));
    TRY(train_put(d, into, "_step_count", value_int(s->step_count)));
    TRY(scheduler_put_rates(d, s, into, "_last_lr", false));
    if (s->id != SCHEDULER_PLATEAU) return scheduler_put_rates(d, s, into, "base_lrs", true);
    TRY(train_put(d, into, "best", value_float(s->best)));
    TRY(train_put(d, into, "num_bad_epochs", value_int(s->bad)));
    return train_put(d, into, "cooldown_counter", value_int(s->cooldown));
}

ctsc_status scheduler_state(diag *d, const scheduler *s, value *out) {
    dict *own = dict_new(NULL, NULL);
    if (!own) return diag_no_memory(d);
    ctsc_status st = scheduler_put(d, s, own);
    if (st == CTSC_OK) *out = value_dict_take(own);
    else value_unref(value_dict_take(own));
    return st;
}

static bool scheduler_get(const dict *from, const char *key, double *out) {
    value v;
    return train_get(from, key, &v) && train_number(v, out);
}

ctsc_status scheduler_load_state(diag *d, scheduler *s, value state) {
    const dict *from = state.tag == V_DICT ? state.u.dict : NULL;
    double epoch = 0, count = 0, bad = 0, cooldown = 0;
    value rates;
    if (!from || !scheduler_get(from, "last_epoch", &epoch))
        return diag_fail(d, CTSC_FAILED, "the schedule's state is not a dict with last_epoch");
    bool has = s->id != SCHEDULER_PLATEAU && train_get(from, "base_lrs", &rates) &&
               rates.tag == V_LIST;
    if (has && rates.u.list->len != s->base_lrs.len)
        return diag_fail(d, CTSC_FAILED, "the schedule's state is of another number of groups");
    for (int i = 0; i < schedules[s->id].count; i++)
        (void)scheduler_get(from, settings[schedules[s->id].first + i].key, &s->v[i]);
    s->last_epoch = (int64_t)epoch;
    s->step_count = scheduler_get(from, "_step_count", &count) ? (int64_t)count : s->last_epoch + 1;
    for (size_t g = 0; has && g < s->base_lrs.len; g++) {
        value v = list_get(rates.u.list, g);
        (void)train_number(v, &s->base_lrs.data[g]);
        value_unref(v);
    }
    (void)scheduler_get(from, "best", &s->best);
    if (scheduler_get(from, "num_bad_epochs", &bad)) s->bad = (int64_t)bad;
    if (scheduler_get(from, "cooldown_counter", &cooldown)) s->cooldown = (int64_t)cooldown;
    return scheduler_check(d, s);
}
