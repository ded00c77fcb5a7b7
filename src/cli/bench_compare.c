/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_compare.c - whether the levels of optimisation compute the same, and which of them is
 * off if they do not.
 *
 * Method. Levels round differently: kernels sum in another order, convolutions are folded into
 * other forms. What is left of that in a result grows with the size of its numbers, not with each
 * number alone (a small one may be the difference of large ones), and about as the square root of
 * how many roundings went into it. So an element may differ by rtol of itself plus `share` of the
 * largest element of its tensor, where share is SAFETY * epsilon * sqrt(operations per element of
 * the result), within bounds that the dtype has.
 *
 * Networks can magnify roundings beyond that. Where results differ by more, the module is run in
 * float64 as written, and what decides is how far each level is from that: levels agree if none is
 * FACTOR times as far as the nearest one. If not, the far one is off, and is named. The float64 run
 * has to repeat itself, or it says nothing (random numbers). Everything but floating-point numbers
 * has to be equal.
 * Tests: tests/cli/bench.test
 */
#include "cli/bench.h"
#include "ctsc_compiler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAFETY = 2, FACTOR = 8, DEPTH_MAX = 50 };

/* How exact each type of elements is: rtol of an element; epsilon, and the most that roundings may
 * sum up to, of the largest one. */
static const struct {
    ctsc_dtype dtype;
    bool complex;
    double rtol, epsilon, most;
} bench_exactness[] = {
    {CTSC_FLOAT64, false, 1e-9, 0x1p-53, 1e-7}, {CTSC_COMPLEX128, true, 1e-9, 0x1p-53, 1e-7},
    {CTSC_FLOAT32, false, 1e-4, 0x1p-24, 1e-3}, {CTSC_COMPLEX64, true, 1e-4, 0x1p-24, 1e-3},
    {CTSC_FLOAT16, false, 1e-2, 0x1p-11, 3e-2}, {CTSC_BFLOAT16, false, 3e-2, 0x1p-8, 1e-1},
};
enum { EXACTNESS_COUNT = sizeof bench_exactness / sizeof *bench_exactness, FLOAT64_ROW = 0 };

/* ---- the numbers of a result ----------------------------------------------------------------- */

/* The floating-point numbers of one tensor, or one number, as float64. */
typedef struct leaf { double *x; size_t n; int row; } leaf;
typedef struct leaves { leaf *data; size_t len, cap; bool failed; } leaves;

static void leaves_free(leaves *l) {
    for (size_t i = 0; i < l->len; i++) free(l->data[i].x);
    free(l->data);
    *l = (leaves){0};
}

/* Room for n numbers at the end; NULL, and l failed, without memory. */
static double *leaves_add(leaves *l, size_t n, int row) {
    double *x = malloc((n ? n : 1) * sizeof *x);
    if (l->len == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 8;
        leaf *more = realloc(l->data, cap * sizeof *more);
        if (more) {
            l->data = more;
            l->cap = cap;
        }
    }
    if (!x || l->len == l->cap) {
        free(x);
        l->failed = true;
        return NULL;
    }
    l->data[l->len++] = (leaf){x, n, row};
    return x;
}

static int bench_row(ctsc_dtype dtype) {
    int i = 0;
    while (i < EXACTNESS_COUNT && bench_exactness[i].dtype != dtype) i++;
    return i;
}

static void leaves_add_tensor(leaves *l, const ctsc_value *t) {
    int row = bench_row(ctsc_tensor_dtype(t));
    ctsc_value *host = NULL, *args[2] = {0}, *wide = NULL, *flat = NULL;
    if (row == EXACTNESS_COUNT) return;
    bool complex = bench_exactness[row].complex;
    size_t n = complex ? 2 : 1;
    for (int i = 0; i < ctsc_tensor_ndim(t); i++) n *= (size_t)ctsc_tensor_sizes(t)[i];
    bool ok = ctsc_value_to(t, "cpu", &host, NULL) == CTSC_OK;
    args[0] = host;
    args[1] = ctsc_int_new(complex ? CTSC_COMPLEX128 : CTSC_FLOAT64);
    ok = ok && args[1] && ctsc_call("aten::to", 2, args, &wide, NULL) == CTSC_OK;
    ok = ok && ctsc_tensor_contiguous(wide, &flat, NULL) == CTSC_OK;
    double *x = ok ? leaves_add(l, n, row) : NULL;
    if (x && n) memcpy(x, ctsc_tensor_data(flat), n * sizeof *x);
    l->failed |= !ok;
    ctsc_value_free(flat);
    ctsc_value_free(wide);
    ctsc_value_free(args[1]);
    ctsc_value_free(host);
}

/* Numbers are as exact as row says: a program that takes them from tensors has them no better. */
static void leaves_add_value(leaves *l, const ctsc_value *v, int row, int depth) {
    ctsc_kind k = ctsc_value_kind(v);
    double *x = NULL;
    if (k == CTSC_KIND_TENSOR) leaves_add_tensor(l, v);
    if (k == CTSC_KIND_FLOAT && (x = leaves_add(l, 1, row))) x[0] = ctsc_value_float(v);
    if (k == CTSC_KIND_COMPLEX && (x = leaves_add(l, 2, row))) {
        x[0] = ctsc_value_real(v);
        x[1] = ctsc_value_imaginary(v);
    }
    if ((k != CTSC_KIND_LIST && k != CTSC_KIND_TUPLE && k != CTSC_KIND_DICT) || depth > DEPTH_MAX)
        return;
    for (size_t i = 0; i < ctsc_value_len(v) && !l->failed; i++) {
        ctsc_value *item = ctsc_value_item(v, i);
        if (item) leaves_add_value(l, item, row, depth + 1);
        else l->failed = true;
        ctsc_value_free(item);
    }
}

/* Of the least exact tensor in v: the row of bench_exactness. */
static int bench_coarsest(const ctsc_value *v, int depth) {
    ctsc_kind k = ctsc_value_kind(v);
    int row = FLOAT64_ROW;
    if (k == CTSC_KIND_TENSOR) {
        int of = bench_row(ctsc_tensor_dtype(v));
        return of == EXACTNESS_COUNT ? FLOAT64_ROW : of;
    }
    if ((k != CTSC_KIND_LIST && k != CTSC_KIND_TUPLE && k != CTSC_KIND_DICT) || depth > DEPTH_MAX)
        return row;
    for (size_t i = 0; i < ctsc_value_len(v); i++) {
        ctsc_value *item = ctsc_value_item(v, i);
        int of = item ? bench_coarsest(item, depth + 1) : row;
        if (bench_exactness[of].rtol > bench_exactness[row].rtol) row = of;
        ctsc_value_free(item);
    }
    return row;
}

static bool leaves_of(const bench_model *b, const ctsc_value *v, leaves *out) {
    int row = bench_coarsest(v, 0);
    for (size_t i = 0; i < b->levels[0].inputs.nvalues; i++) {
        int of = bench_coarsest(b->levels[0].inputs.values[i], 0);
        if (bench_exactness[of].rtol > bench_exactness[row].rtol) row = of;
    }
    leaves_add_value(out, v, row, 0);
    return !out->failed;
}

/* ---- differences ----------------------------------------------------------------------------- */

static double leaf_largest(const leaf *l) {
    double most = 0;
    for (size_t i = 0; i < l->n; i++)
        if (isfinite(l->x[i]) && fabs(l->x[i]) > most) most = fabs(l->x[i]);
    return most;
}

/* How much of the largest element roundings can account for. The work is that of the whole call:
 * what one element of it takes is not known. */
static double bench_share(const bench_model *b, const leaves *all, int row) {
    double n = 1, share;
    for (size_t i = 0; i < all->len; i++) n += (double)all->data[i].n;
    share = SAFETY * bench_exactness[row].epsilon * sqrt(1 + (double)b->flops / n);
    return share < bench_exactness[row].most ? share : bench_exactness[row].most;
}

/* Infinities and NaNs differ infinitely from all that is not the same. */
static double leaf_difference(double got, double want) {
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want) ? 0 : INFINITY;
    if (isinf(got) || isinf(want)) return got == want ? 0 : INFINITY;
    return fabs(got - want);
}

/* The first leaf that is too far from want's; all of them are close: got->len. */
static size_t leaves_first_far(const bench_model *b, const leaves *got, const leaves *want) {
    for (size_t k = 0; k < got->len; k++) {
        const leaf *g = &got->data[k], *w = &want->data[k];
        double near = bench_share(b, want, w->row) * leaf_largest(w);
        for (size_t i = 0; i < g->n; i++) {
            double d = leaf_difference(g->x[i], w->x[i]);
            if (d != 0 && !(d <= near + bench_exactness[w->row].rtol * fabs(w->x[i]))) return k;
        }
    }
    return got->len;
}

/* The largest difference of two leaves, as a part of the largest element. */
static double leaf_distance(const leaf *got, const leaf *want) {
    double size = leaf_largest(want), most = 0;
    for (size_t i = 0; i < got->n; i++) {
        double d = leaf_difference(got->x[i], want->x[i]);
        if (d > most) most = d;
    }
    return most == 0 ? 0 : size == 0 ? INFINITY : most / size;
}

static bool leaves_alike(const leaves *a, const leaves *b) {
    bool alike = a->len == b->len;
    for (size_t i = 0; alike && i < a->len; i++) alike = a->data[i].n == b->data[i].n;
    return alike;
}

/* ---- the float64 run ------------------------------------------------------------------------- */

/* The result of that call of a fresh module in float64, as written. */
static bool bench_run_float64(const bench_model *b, int calls, leaves *out, ctsc_error *e) {
    bench_level l = {.name = "float64", .inputs = b->all->call.inputs};
    l.inputs.values = NULL; /* the texts are shared, what they make is not */
    l.inputs.nvalues = 0;
    cli_model model = b->all->model;
    model.path = b->path;
    bool ok = cli_load_for_call(&model, 0, NULL, &l.m, e) == 0 &&
              cli_read_inputs(&l.inputs, l.m, b->all->call.method, e) == 0;
    ok = ok && ctsc_module_to_float64(l.m, e) == CTSC_OK;
    for (size_t i = 0; ok && i < l.inputs.nvalues; i++)
        ok = ctsc_value_to_float64(l.inputs.values[i], e) == CTSC_OK;
    for (int i = 0; ok && i < calls; i++) {
        ctsc_value_free(l.first);
        l.first = NULL;
        ok = bench_call(b->all, &l, &l.first, e) == CTSC_OK;
    }
    ok = ok && leaves_of(b, l.first, out);
    ctsc_value_free(l.first);
    cli_free_inputs(&l.inputs);
    ctsc_module_free(l.m);
    return ok;
}

/* The float64 run's numbers in *out, if they say something: `like` is a level's result. Else
 * why they do not. */
static const char *bench_reference(const bench_model *b, bool first, const leaves *like,
                                   leaves *out, ctsc_error *e) {
    int calls = first ? 1 : 1 + WARM_CALLS;
    leaves again = {0};
    const char *why = NULL;
    if (!bench_run_float64(b, calls, out, e) || !bench_run_float64(b, calls, &again, e)) {
        const char *message = ctsc_error_message(e);
        why = message && *message ? message : "out of memory";
    } else if (!leaves_alike(out, like)) {
        why = "it returns something else";
    } else if (leaves_first_far(b, &again, out) < out->len) {
        why = "its results vary from run to run";
    }
    leaves_free(&again);
    return why;
}

/* ---- results --------------------------------------------------------------------------------- */

/* The results of the first calls, or of those after the warm ones. */
typedef struct bench_results { const char *which; leaves of[BENCH_LEVELS]; } bench_results;

static const ctsc_value *bench_result(const bench_level *l, bool first) {
    return first ? l->first : l->warm;
}

/* Distances from the reference of each level's leaf k; says which level is off, if one is. */
static bool bench_judge(bench_model *b, const bench_results *r, const leaves *reference) {
    bool same = true;
    for (size_t k = 0; k < reference->len; k++) {
        double far[BENCH_LEVELS], nearest = INFINITY,
                                  share = bench_share(b, reference, r->of[0].data[k].row);
        for (int i = 0; i < b->nlevels; i++) {
            far[i] = leaf_distance(&r->of[i].data[k], &reference->data[k]);
            if (far[i] < nearest) nearest = far[i];
        }
        double allowed = FACTOR * (nearest > share ? nearest : share);
        for (int i = 0; i < b->nlevels; i++) {
            if (far[i] > b->from_float64) b->from_float64 = far[i];
            if (far[i] <= allowed) continue;
            same = false;
            cli_complain(CTSC_FAILED,
                         "level '%s' is off: its %s result is %.2g of the largest value from that "
                         "of a float64 run, the nearest level %.2g",
                         b->levels[i].name, r->which, far[i], nearest);
        }
    }
    return same;
}

/* In which way level i's result differs from the first level's. */
static void bench_explain(const bench_model *b, const bench_results *r, int i, bool first,
                          size_t k) {
    const leaf *w = &r->of[0].data[k];
    char *why = NULL;
    ctsc_value_close(bench_result(&b->levels[i], first), bench_result(&b->levels[0], first),
                     bench_exactness[w->row].rtol,
                     bench_share(b, &r->of[0], w->row) * leaf_largest(w), &why);
    cli_complain(CTSC_FAILED, "the %s result at level '%s' differs from that at '%s': %s", r->which,
                 b->levels[i].name, b->levels[0].name,
                 why ? why : "by more than roundings account for");
    ctsc_string_free(why);
}

/* Beyond the tolerance: the float64 run decides, and failing that, it is a difference. */
static bool bench_decide(bench_model *b, const bench_results *r, int i, bool first, size_t k,
                         ctsc_error *e) {
    leaves reference = {0};
    const char *why = bench_reference(b, first, &r->of[0], &reference, e);
    bool same = false;
    if (why) {
        bench_explain(b, r, i, first, k);
        cli_complain(CTSC_FAILED, "a float64 run does not tell which one is off: %s", why);
    } else {
        same = b->by_float64 = bench_judge(b, r, &reference);
        if (!same) bench_explain(b, r, i, first, k);
    }
    leaves_free(&reference);
    return same;
}

/* All that is no floating-point number has to be equal, and the same of these has to be finite. */
static bool bench_same_structure(const bench_model *b, const bench_results *r, bool first) {
    for (int i = 1; i < b->nlevels; i++) {
        char *why = NULL;
        bool same = ctsc_value_close(bench_result(&b->levels[i], first),
                                     bench_result(&b->levels[0], first), 0, INFINITY, &why);
        if (!same)
            cli_complain(CTSC_FAILED, "the %s result at level '%s' differs from that at '%s': %s",
                         r->which, b->levels[i].name, b->levels[0].name, why ? why : "");
        ctsc_string_free(why);
        if (!same) return false;
    }
    return true;
}

static bool bench_compare_results(bench_model *b, bool first, ctsc_error *e) {
    bench_results r = {.which = first ? "first" : "later"};
    bool same = bench_same_structure(b, &r, first), failed = false;
    for (int i = 0; i < b->nlevels && same; i++)
        failed |= !leaves_of(b, bench_result(&b->levels[i], first), &r.of[i]);
    if (failed)
        same = cli_complain(CTSC_LIMIT, "the results cannot be compared: out of memory") == CTSC_OK;
    for (size_t k = 0; same && k < r.of[0].len; k++) {
        const leaf *l = &r.of[0].data[k];
        double share = bench_share(b, &r.of[0], l->row);
        if (bench_exactness[l->row].rtol > b->rtol) b->rtol = bench_exactness[l->row].rtol;
        if (share > b->share) b->share = share;
    }
    for (int i = 1; i < b->nlevels && same && !b->by_float64; i++) {
        size_t k = leaves_first_far(b, &r.of[i], &r.of[0]);
        if (k < r.of[0].len) same = bench_decide(b, &r, i, first, k, e);
    }
    for (int i = 0; i < b->nlevels; i++) leaves_free(&r.of[i]);
    return same;
}

void bench_compare(bench_model *b, ctsc_error *e) {
    b->same = bench_compare_results(b, true, e) && bench_compare_results(b, false, e);
}
