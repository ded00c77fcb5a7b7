/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep_main.c - the methods l0, ..., p0, ..., g0, ... of a Python file, at level 0 and at level 3,
 * with one thread and with two: the same results.
 *
 *     sweep FILE.py          exit status 1: something differs; 2: the file does not compile
 *
 * Each method takes (x, y, z, n: int, m: int), tensors of three, two and one dims whose last sizes
 * agree; it is called with several sets of them, one after the other, so that kernels made for one
 * set meet another. Elements are small whole numbers and quarters, so that most sums are exact.
 * With two threads results are those of one to the last bit. Between levels, floats differ by
 * rounding: what differs by more is judged by a run in float64 at level 0, from which level 3 may
 * be as far as level 0 is, a few times over. Arguments are compared as well: programs write to
 * them. What fails in a method named p... may be something that nobody needs, and be gone at level
 * 3; one named l... is one line, all of which is needed. Those named g... take gradients, and are
 * called again until the call with its backward pass is captured (runtime/autograd/grad_program.c).
 * tests/sweep/sweep.py makes such files.
 */
#include <ctsc.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS = 5, TENSORS = 3, SETS = 6, LEAVES = 64, WHY = 400, CALL_US = 20000000 };
enum { CAPTURED = 4 }; /* the call that runs what an earlier one captured */

/* ---- arguments ------------------------------------------------------------------------------- */

/* [a, b, c], [b, c], [c]; laid out with the last two dims turned; n, m. */
static const struct { int64_t a, b, c; bool turned; int64_t n, m; } sets[SETS] = {
    {4, 5, 6, false, 2, 3},  {4, 5, 6, true, 1, 2},   {3, 8, 8, false, 3, 1},
    {2, 1, 7, false, 2, -1}, {5, 17, 33, true, 2, 4}, {1, 3, 0, false, 1, 1},
};

static uint64_t random_next(uint64_t *state) { /* splitmix64 */
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void *fatal(const char *what) {
    fprintf(stderr, "sweep: %s\n", what);
    exit(2);
}

static ctsc_value *tensor_of(uint64_t seed, int ndim, const int64_t *sizes, bool turned,
                             ctsc_dtype dt) {
    ctsc_value *t = NULL, *seen = NULL;
    int64_t room[TENSORS], n = 1;
    ctsc_error *e = ctsc_error_new();
    memcpy(room, sizes, sizeof(int64_t) * (size_t)ndim);
    if (turned) room[ndim - 1] = sizes[ndim - 2], room[ndim - 2] = sizes[ndim - 1];
    for (int i = 0; i < ndim; i++) n *= room[i];
    if (ctsc_tensor_new(dt, ndim, room, &t, e) != CTSC_OK) fatal(ctsc_error_message(e));
    for (int64_t i = 0; i < n; i++) {
        double v = (double)(int64_t)(random_next(&seed) % 33) / 4 - 4;
        if (dt == CTSC_FLOAT64) ((double *)ctsc_tensor_data(t))[i] = v;
        else ((float *)ctsc_tensor_data(t))[i] = (float)v;
    }
    if (turned) {
        ctsc_value *d[2] = {ctsc_int_new(ndim - 2), ctsc_int_new(ndim - 1)},
                   *args[3] = {t, d[0], d[1]};
        if (ctsc_call("aten::transpose.int", 3, args, &seen, e) != CTSC_OK)
            fatal(ctsc_error_message(e));
        ctsc_value_free(d[0]), ctsc_value_free(d[1]), ctsc_value_free(t);
        t = seen;
    }
    ctsc_error_free(e);
    return t;
}

static void make_arguments(int set, ctsc_dtype dt, ctsc_value **args) {
    int64_t sizes[TENSORS] = {sets[set].a, sets[set].b, sets[set].c};
    for (int i = 0; i < TENSORS; i++)
        args[i] = tensor_of((uint64_t)(set * TENSORS + i + 1), TENSORS - i, sizes + i,
                            sets[set].turned && i < 2, dt);
    args[3] = ctsc_int_new(sets[set].n);
    args[4] = ctsc_int_new(sets[set].m);
}

/* ---- outcomes -------------------------------------------------------------------------------- */

/* A tensor or a number: its elements as doubles. */
typedef struct leaf { char what[80]; int dtype; size_t n; double *at; } leaf;
typedef struct outcome {
    ctsc_status status;
    char message[WHY];
    int count;
    leaf leaves[LEAVES];
} outcome;

static double half_value(uint16_t h) {
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double v = exponent == 31 ? (fraction ? NAN : INFINITY)
               : exponent     ? ldexp(1024 + fraction, exponent - 25)
                              : ldexp(fraction, -24);
    return h >> 15 ? -v : v;
}

static double element_value(ctsc_dtype dt, const void *data, size_t i) {
    union { uint32_t u; float f; } wide;
    switch (dt) {
    case CTSC_UINT8: return ((const uint8_t *)data)[i];
    case CTSC_INT8: return ((const int8_t *)data)[i];
    case CTSC_INT16: return ((const int16_t *)data)[i];
    case CTSC_INT32: return ((const int32_t *)data)[i];
    case CTSC_INT64: return (double)((const int64_t *)data)[i];
    case CTSC_FLOAT16: return half_value(((const uint16_t *)data)[i]);
    case CTSC_BFLOAT16: wide.u = (uint32_t)((const uint16_t *)data)[i] << 16; return wide.f;
    case CTSC_FLOAT32: return ((const float *)data)[i];
    case CTSC_FLOAT64: return ((const double *)data)[i];
    case CTSC_BOOL: return ((const uint8_t *)data)[i] != 0;
    default: fatal("a dtype that programs should not make"); return 0;
    }
}

static leaf *leaf_add(outcome *o, size_t n) {
    if (o->count == LEAVES) fatal("too many results");
    leaf *l = &o->leaves[o->count++];
    l->n = n;
    l->at = calloc(n + 1, sizeof *l->at);
    l->dtype = -1;
    return l->at ? l : fatal("out of memory");
}

static void outcome_tensor(outcome *o, const ctsc_value *v) {
    ctsc_value *t = NULL;
    if (ctsc_tensor_contiguous(v, &t, NULL) != CTSC_OK) fatal("out of memory");
    size_t n = 1;
    for (int i = 0; i < ctsc_tensor_ndim(t); i++) n *= (size_t)ctsc_tensor_sizes(t)[i];
    leaf *l = leaf_add(o, n);
    l->dtype = (int)ctsc_tensor_dtype(t);
    int at = snprintf(l->what, sizeof l->what, "[");
    for (int i = 0; i < ctsc_tensor_ndim(t) && at < 60; i++)
        at += snprintf(l->what + at, sizeof l->what - (size_t)at, "%lld ",
                       (long long)ctsc_tensor_sizes(t)[i]);
    for (size_t i = 0; i < n; i++)
        l->at[i] = element_value((ctsc_dtype)l->dtype, ctsc_tensor_data(t), i);
    ctsc_value_free(t);
}

static void outcome_add(outcome *o, const ctsc_value *v) {
    ctsc_kind k = ctsc_value_kind(v);
    if (k == CTSC_KIND_TENSOR) {
        outcome_tensor(o, v);
    } else if (k == CTSC_KIND_TUPLE || k == CTSC_KIND_LIST) {
        for (size_t i = 0; i < ctsc_value_len(v); i++) {
            ctsc_value *item = ctsc_value_item(v, i);
            outcome_add(o, item);
            ctsc_value_free(item);
        }
    } else {
        leaf *l = leaf_add(o, 1);
        snprintf(l->what, sizeof l->what, "kind %d", (int)k);
        l->at[0] = k == CTSC_KIND_INT     ? (double)ctsc_value_int(v)
                   : k == CTSC_KIND_FLOAT ? ctsc_value_float(v)
                   : k == CTSC_KIND_BOOL  ? ctsc_value_bool(v)
                                          : 0;
    }
}

static void outcome_free(outcome *o) {
    for (int i = 0; i < o->count; i++) free(o->leaves[i].at);
    o->count = 0;
}

static void drop_print(void *ctx, const char *text, size_t len) {
    (void)ctx, (void)text, (void)len;
}

static void call(const ctsc_module *m, const char *method, int set, ctsc_dtype dt, outcome *o) {
    ctsc_value *args[ARGS], *result = NULL;
    ctsc_error *e = ctsc_error_new();
    ctsc_run_options ro = {.size = sizeof ro, .print = drop_print, .timeout_us = CALL_US};
    memset(o, 0, sizeof *o);
    make_arguments(set, dt, args);
    o->status = ctsc_module_run(m, method, ARGS, args, &ro, &result, e);
    snprintf(o->message, sizeof o->message, "%s", o->status ? ctsc_error_message(e) : "");
    for (int i = 0; i < TENSORS && !o->status; i++) outcome_add(o, args[i]);
    if (!o->status) outcome_add(o, result);
    for (int i = 0; i < ARGS; i++) ctsc_value_free(args[i]);
    ctsc_value_free(result);
    ctsc_error_free(e);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static double leaf_largest(const leaf *l) {
    double largest = 0;
    for (size_t i = 0; i < l->n; i++)
        if (isfinite(l->at[i])) largest = fmax(largest, fabs(l->at[i]));
    return largest;
}

/* What rounding may amount to. Of small results as of 1: what they are made of is
 * about that large. */
static double leaf_slack(const leaf *l) {
    double unit = l->dtype == CTSC_FLOAT16                   ? 0x1p-9
                  : l->dtype == CTSC_BFLOAT16                ? 0x1p-6
                  : l->dtype == CTSC_FLOAT64                 ? 0x1p-44
                  : l->dtype == CTSC_FLOAT32 || l->dtype < 0 ? 0x1p-16
                                                             : 0;
    return unit * fmax(1, leaf_largest(l));
}

/* The largest difference; INFINITY where one is finite and the other is not the same. */
static double leaf_distance(const leaf *a, const leaf *b) {
    double most = 0;
    for (size_t i = 0; i < a->n; i++) {
        double x = a->at[i], y = b->at[i];
        if (x == y || (isnan(x) && isnan(y))) continue;
        most = fmax(most, isfinite(x) && isfinite(y) ? fabs(x - y) : INFINITY);
    }
    return most;
}

static bool outcome_same_form(const outcome *want, const outcome *got, bool types, char *why) {
    if (want->status != got->status || want->count != got->count) {
        snprintf(why, WHY, "status %d %.150s, not %d %.150s", got->status, got->message,
                 want->status, want->message);
        return false;
    }
    for (int i = 0; i < want->count; i++) {
        const leaf *w = &want->leaves[i], *g = &got->leaves[i];
        if (w->n == g->n && !strcmp(w->what, g->what) && (!types || w->dtype == g->dtype)) continue;
        snprintf(why, WHY, "result %d is %s of dtype %d, not %s of dtype %d", i, g->what, g->dtype,
                 w->what, w->dtype);
        return false;
    }
    return true;
}

static bool outcome_equal(const outcome *want, const outcome *got, char *why) {
    if (!outcome_same_form(want, got, true, why)) return false;
    for (int i = 0; i < want->count; i++) {
        if (leaf_distance(&want->leaves[i], &got->leaves[i]) == 0) continue;
        snprintf(why, WHY, "result %d differs by %g between one thread and two", i,
                 leaf_distance(&want->leaves[i], &got->leaves[i]));
        return false;
    }
    return true;
}

static bool outcome_near(const outcome *want, const outcome *got, char *why) {
    if (!outcome_same_form(want, got, true, why)) return false;
    for (int i = 0; i < want->count; i++) {
        const leaf *w = &want->leaves[i], *g = &got->leaves[i];
        double d = leaf_distance(w, g);
        if (d <= leaf_slack(w)) continue;
        snprintf(why, WHY, "result %d, %s of dtype %d, differs by %g, largest %g", i, w->what,
                 w->dtype, d, leaf_largest(w));
        return false;
    }
    return true;
}

/* Is got no further from the run in float64 than some times what `want` is? */
static bool outcome_excused(const outcome *want, const outcome *got, const outcome *wide) {
    char why[WHY];
    if (!outcome_same_form(want, got, true, why) || !outcome_same_form(want, wide, false, why))
        return false;
    for (int i = 0; i < want->count; i++) {
        const leaf *w = &want->leaves[i], *g = &got->leaves[i], *f = &wide->leaves[i];
        double slack = leaf_slack(w), d = leaf_distance(w, g), off = leaf_distance(w, f);
        if (d > slack && !(isfinite(d) && d <= 8 * off + slack)) return false;
    }
    return true;
}

/* ---- the command ----------------------------------------------------------------------------- */

typedef struct totals { int programs, fail, excused, different; } totals;

static ctsc_module *compile(const char *path, int level) {
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_compile(path, NULL, &m, e) != CTSC_OK ||
        ctsc_module_set_opt(m, level, e) != CTSC_OK) {
        char *text = ctsc_error_render(e, false);
        fprintf(stderr, "%s\n", text);
        exit(2);
    }
    ctsc_error_free(e);
    return m;
}

/* NEAR except for rounding: EXCUSED. */
typedef enum verdict { NEAR, EXCUSED, DIFFERENT } verdict;

static verdict judge(ctsc_module *plain, const char *method, int set, const outcome *want,
                     const outcome *got, char *why) {
    outcome wide;
    if (method[0] == 'p' && want->status && !got->status) return EXCUSED;
    if (outcome_near(want, got, why)) return NEAR;
    call(plain, method, set, CTSC_FLOAT64, &wide);
    verdict v = outcome_excused(want, got, &wide) ? EXCUSED : DIFFERENT;
    outcome_free(&wide);
    return v;
}

static void compare(ctsc_module *plain, ctsc_module *fast, const char *method, totals *t) {
    verdict worst = NEAR;
    bool fails = true;
    for (int set = 0; set < SETS && worst < DIFFERENT; set++) {
        outcome want, one = {0}, two;
        char why[WHY] = "";
        ctsc_set_threads(1);
        call(plain, method, set, CTSC_FLOAT32, &want);
        for (int i = 0; i < (method[0] == 'g' ? CAPTURED : 1) && worst < DIFFERENT; i++) {
            outcome_free(&one);
            call(fast, method, set, CTSC_FLOAT32, &one);
            verdict v = judge(plain, method, set, &want, &one, why);
            if (v > worst) worst = v;
        }
        ctsc_set_threads(2);
        call(fast, method, set, CTSC_FLOAT32, &two);
        if (worst < DIFFERENT && !outcome_equal(&one, &two, why)) worst = DIFFERENT;
        if (worst == DIFFERENT) printf("%s, set %d: %s\n", method, set, why);
        fails = fails && want.status;
        outcome_free(&want), outcome_free(&one), outcome_free(&two);
    }
    t->programs++;
    t->fail += fails && worst < DIFFERENT;
    t->excused += worst == EXCUSED;
    t->different += worst == DIFFERENT;
}

int main(int argc, char **argv) {
    totals t = {0};
    if (argc != 2) fatal("one file is wanted");
    ctsc_set_compiling(CTSC_COMPILE_IN_CALLS);
    ctsc_module *plain = compile(argv[1], 0), *fast = compile(argv[1], 3);
    for (size_t i = 0; i < ctsc_module_method_count(plain); i++) {
        const char *name = ctsc_module_method_name(plain, i);
        if (strchr("lpg", name[0])) compare(plain, fast, name, &t);
        fflush(stdout);
    }
    ctsc_module_free(plain);
    ctsc_module_free(fast);
    printf("%d programs, %d failing, %d excused, %d different\n", t.programs, t.fail, t.excused,
           t.different);
    return t.different ? 1 : 0;
}
