/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outcome.c - what can be seen of a run, when two of them are the same, and when rounding explains
 * that they are not.
 */
#include "diff.h"

#include <inttypes.h>
#include <math.h>

/* ---- recording ------------------------------------------------------------------------------- */

typedef struct recorder {
    outcome *o;
    VEC(const tensor *) tensors; /* in the order they were met */
} recorder;

static void record_bits(recorder *r, uint8_t kind, uint64_t bits) {
    vec_push(&r->o->kinds, kind);
    vec_push(&r->o->bits, bits);
}

static void record_float(recorder *r, dtype dt, double f) {
    union { double f; uint64_t u; } x = {isnan(f) ? (double)NAN : f};
    record_bits(r, (uint8_t)dt, x.u);
}

static void record_elements(recorder *r, dtype dt, const char *at, const tensor *t, int dim) {
    if (dim < t->ndim) {
        for (int64_t i = 0; i < t->sizes[dim]; i++)
            record_elements(r, dt,
                            at + (ptrdiff_t)(i * t->strides[dim]) * (ptrdiff_t)dtype_size(dt), t,
                            dim + 1);
    } else if (dtype_is_float(dt)) {
        record_float(r, dt, dtype_load_float(dt, at));
    } else {
        record_bits(r, OUTCOME_EXACT, (uint64_t)dtype_load_int(dt, at));
    }
}

/* Programs see strides, but of dims of one element these mean nothing. */
static void record_order(recorder *r, const tensor *t) {
    for (int i = 0; t->numel && i < t->ndim; i++)
        if (t->sizes[i] != 1) sb_printf(&r->o->order, "%" PRId64 " ", t->strides[i]);
    sb_putc(&r->o->order, ';');
}

static void record_tensor(recorder *r, const tensor *t) {
    vec_push(&r->tensors, t);
    sb_puts(&r->o->shape, dtype_table[t->dtype].ir_name);
    sb_putc(&r->o->shape, '(');
    for (int i = 0; i < t->ndim; i++)
        sb_printf(&r->o->shape, i ? ",%" PRId64 : "%" PRId64, t->sizes[i]);
    sb_putc(&r->o->shape, ')');
    record_order(r, t);
    if (t->numel) record_elements(r, (dtype)t->dtype, tensor_data(t), t, 0);
}

static void record_value(recorder *r, value v) {
    strbuf *sb = &r->o->shape;
    switch (v.tag) {
    case V_TENSOR: record_tensor(r, v.u.tensor); break;
    case V_FLOAT:
        sb_putc(sb, 'f');
        record_float(r, DT_FLOAT64, v.u.f);
        break;
    case V_INT:
        sb_putc(sb, 'i');
        record_bits(r, OUTCOME_EXACT, (uint64_t)v.u.i);
        break;
    case V_BOOL:
        sb_putc(sb, 'b');
        record_bits(r, OUTCOME_EXACT, v.u.b);
        break;
    case V_LIST:
        sb_putc(sb, '[');
        for (size_t i = 0; i < v.u.list->len; i++) {
            value item = list_get(v.u.list, i);
            record_value(r, item);
            value_unref(item);
        }
        sb_putc(sb, ']');
        break;
    case V_TUPLE:
        sb_putc(sb, '<');
        for (size_t i = 0; i < v.u.tuple->len; i++) record_value(r, v.u.tuple->items[i]);
        sb_putc(sb, '>');
        break;
    default: value_print(v, sb); break;
    }
    sb_putc(sb, ' ');
}

/* ---- sharing --------------------------------------------------------------------------------- */

/* elements looked at; larger ones count as sharing if their storage is the same */
enum { SHARED_MAX = 4096 };

static int64_t shared_offset(const tensor *t, int64_t index) {
    int64_t at = t->offset;
    for (int i = t->ndim - 1; i >= 0; i--) {
        at += index % t->sizes[i] * t->strides[i];
        index /= t->sizes[i];
    }
    return at;
}

static bool shared_elements(const tensor *a, const tensor *b) {
    bool seen[SHARED_MAX] = {0};
    int64_t wa = (int64_t)dtype_size((dtype)a->dtype), wb = (int64_t)dtype_size((dtype)b->dtype);
    if (a->storage->nbytes > SHARED_MAX * 8 || wa != wb ||
        a->storage->nbytes / (size_t)wa > SHARED_MAX)
        return true;
    for (int64_t i = 0; i < a->numel; i++) seen[shared_offset(a, i)] = true;
    for (int64_t i = 0; i < b->numel; i++)
        if (seen[shared_offset(b, i)]) return true;
    return false;
}

/* Which tensors write through to which. */
static void record_sharing(recorder *r) {
    for (size_t i = 0; i < r->tensors.len; i++)
        for (size_t k = 0; k < i; k++) {
            const tensor *a = r->tensors.data[k], *b = r->tensors.data[i];
            if (a->storage == b->storage && a->numel && b->numel && shared_elements(a, b))
                sb_printf(&r->o->sharing, "%zu~%zu ", k, i);
        }
}

void outcome_record(outcome *o, ctsc_status status, const diag *d, size_t nargs, const value *args,
                    size_t nresults, const value *results) {
    recorder r = {.o = o};
    o->status = status;
    mem_free(o->message);
    o->message = status == CTSC_OK ? NULL : mem_strdup(diag_message(d));
    sb_clear(&o->shape);
    sb_clear(&o->sharing);
    sb_clear(&o->order);
    o->bits.len = o->kinds.len = 0;
    for (size_t i = 0; i < nargs; i++) record_value(&r, args[i]);
    sb_puts(&o->shape, "-> ");
    for (size_t i = 0; i < nresults; i++) record_value(&r, results[i]);
    record_sharing(&r);
    vec_free(&r.tensors);
}

void outcome_share_as(outcome *got, const outcome *want) {
    sb_clear(&got->sharing);
    sb_puts(&got->sharing, sb_str(&want->sharing));
}

void outcome_free(outcome *o) {
    mem_free(o->message);
    sb_free(&o->shape);
    sb_free(&o->sharing);
    sb_free(&o->order);
    vec_free(&o->bits);
    vec_free(&o->kinds);
}

bool evaluation_has_odd(const evaluation *e, bool infinite) {
    const uint64_t least = UINT64_C(0x7ff0000000000000) + !infinite;
    for (size_t i = 0; i < e->values.len; i++) {
        value v = e->values.data[i];
        if (v.tag == V_FLOAT && (infinite ? v.u.f - v.u.f != 0 : v.u.f != v.u.f)) return true;
        if (v.tag != V_TENSOR || !dtype_is_float((dtype)v.u.tensor->dtype)) continue;
        outcome o = {0};
        outcome_record(&o, CTSC_OK, NULL, 0, NULL, 1, &v);
        bool found = false;
        for (size_t k = 0; k < o.bits.len && !found; k++)
            found = (o.bits.data[k] & ~(UINT64_C(1) << 63)) >= least;
        outcome_free(&o);
        if (found) return true;
    }
    return false;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool outcome_same_form(const outcome *a, const outcome *b) {
    return a->status == b->status && a->bits.len == b->bits.len &&
           !strcmp(sb_str(&a->shape), sb_str(&b->shape)) &&
           !strcmp(sb_str(&a->sharing), sb_str(&b->sharing));
}

bool outcome_equal(const outcome *a, const outcome *b) {
    return outcome_same_form(a, b) && (!a->bits.len || !memcmp(a->bits.data, b->bits.data,
                                                               a->bits.len * sizeof *a->bits.data));
}

static double outcome_float(uint64_t bits) {
    union { uint64_t u; double f; } x = {bits};
    return x.f;
}

/* Is the difference so small that it needs no explanation? */
static bool outcome_is_near(uint8_t kind, uint64_t want, uint64_t got) {
    double w = outcome_float(want), g = outcome_float(got);
    return kind == DT_FLOAT32 || kind == DT_FLOAT64
               ? fabs(w - g) <= (kind == DT_FLOAT32 ? 0x1p-20 : 0x1p-49) * fabs(w)
               : false;
}

void outcome_explain(const outcome *want, const outcome *got, strbuf *out) {
    if (!outcome_same_form(want, got)) {
        sb_printf(out, "want: status %d %s\n  %s%s\ngot:  status %d %s\n  %s%s\n", want->status,
                  want->message ? want->message : "", sb_str(&want->shape), sb_str(&want->sharing),
                  got->status, got->message ? got->message : "", sb_str(&got->shape),
                  sb_str(&got->sharing));
        return;
    }
    sb_printf(out, "%s\n", sb_str(&want->shape));
    for (size_t i = 0, shown = 0; i < want->bits.len && shown < 12; i++) {
        if (want->bits.data[i] == got->bits.data[i] ||
            outcome_is_near(want->kinds.data[i], want->bits.data[i], got->bits.data[i]))
            continue;
        shown++;
        if (want->kinds.data[i] == OUTCOME_EXACT)
            sb_printf(out, "element %zu: want %" PRId64 ", got %" PRId64 "\n", i,
                      (int64_t)want->bits.data[i], (int64_t)got->bits.data[i]);
        else
            sb_printf(out, "element %zu: want %.17g, got %.17g\n", i,
                      outcome_float(want->bits.data[i]), outcome_float(got->bits.data[i]));
    }
}

/* ---- noise ----------------------------------------------------------------------------------- */

/* How far each number was seen to scatter. */
typedef struct scatter { double lo, hi; bool wild; } scatter;

static double scatter_number(uint8_t kind, uint64_t bits) {
    return kind == OUTCOME_EXACT ? (double)(int64_t)bits : outcome_float(bits);
}

static void scatter_add(scatter *s, uint8_t kind, uint64_t bits) {
    double x = scatter_number(kind, bits);
    if (!isfinite(x)) s->wild = true;
    if (x < s->lo) s->lo = x;
    if (x > s->hi) s->hi = x;
}

/* Some units in the last place of the type, more where many terms
 * may have been added; numbers close to 0 count as 2^-20. */
static double scatter_floor(uint8_t kind, double x, double terms) {
    double unit = kind == DT_FLOAT64   ? 0x1p-52
                  : kind == DT_FLOAT32 ? 0x1p-23
                  : kind == DT_FLOAT16 ? 0x1p-10
                                       : 0x1p-7;
    bool is_long = terms > 4096; /* long sums cancel */
    return kind == OUTCOME_EXACT ? 0
                                 : fmax(8, is_long ? terms / 8 : 4 * sqrt(terms)) * unit *
                                       fmax(fabs(x), is_long ? 0x1p-2 : 0x1p-20);
}

static bool scatter_admits(const scatter *s, uint8_t kind, uint64_t want, uint64_t got,
                           double terms) {
    if (want == got) return true;
    double w = scatter_number(kind, want), g = scatter_number(kind, got), width = s->hi - s->lo;
    if (isfinite(w) && s->wild) return true;
    if (!isfinite(w) || !isfinite(g)) return isnan(w) ? isnan(g) || s->lo <= s->hi : width > 0;
    double margin = (kind == OUTCOME_EXACT ? 1 : 2) * width + scatter_floor(kind, w, terms);
    return g >= s->lo - margin && g <= s->hi + margin;
}

static bool scatter_admits_all(const scatter *s, const outcome *want, const outcome *got) {
    for (size_t i = 0; i < want->bits.len; i++)
        if (!scatter_admits(&s[i], want->kinds.data[i], want->bits.data[i], got->bits.data[i],
                            (double)want->bits.len))
            return false;
    return true;
}

static void noise_run(const graph *g, size_t nargs, const value *args, bool coarse, uint64_t seed,
                      outcome *o) {
    diag d = {.max_tensor = 1 << 24};
    evaluation e;
    value *own = mem_alloc(sizeof(value) * (nargs + 1)),
          *results = mem_alloc(sizeof(value) * (g->root->returns.len + 1));
    evaluation_init(&e, &d);
    e.noisy = true;
    e.coarse = coarse;
    e.noise.state = seed;
    copy_values(nargs, args, own);
    ctsc_status s = evaluate_graph(&e, g, own);
    size_t n = s == CTSC_OK ? g->root->returns.len : 0;
    for (size_t i = 0; i < n; i++) results[i] = evaluation_get(&e, g->root->returns.data[i]);
    outcome_record(o, s, &d, nargs, own, n, results);
    evaluation_free(&e);
    for (size_t i = 0; i < nargs; i++) value_unref(own[i]);
    mem_free(own);
    mem_free(results);
    diag_clear(&d);
}

bool outcome_within_noise(const graph *g, size_t nargs, const value *args, const outcome *want,
                          const outcome *got, int runs, bool coarse, uint64_t seed) {
    bool same_form = outcome_same_form(want, got), admitted = false;
    outcome o = {0};
    scatter *s = mem_alloc(sizeof(scatter) * (want->bits.len + 1));
    for (size_t i = 0; i < want->bits.len; i++) {
        s[i] = (scatter){INFINITY, -INFINITY, false};
        scatter_add(&s[i], want->kinds.data[i], want->bits.data[i]);
    }
    for (int k = 0; k < runs && !admitted; k++) {
        noise_run(g, nargs, args, coarse, seed + (uint64_t)k * 0x9e3779b97f4a7c15u, &o);
        if (!same_form) {
            admitted = o.status == got->status &&
                       (o.status != CTSC_OK || outcome_same_form(&o, got));
            continue;
        }
        if (!outcome_same_form(&o, want)) continue;
        for (size_t i = 0; i < want->bits.len; i++)
            scatter_add(&s[i], want->kinds.data[i], o.bits.data[i]);
        if (k % 8 == 7 || k == runs - 1) admitted = scatter_admits_all(s, want, got);
    }
    mem_free(s);
    outcome_free(&o);
    return admitted;
}
