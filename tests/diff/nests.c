/* SPDX-License-Identifier: Apache-2.0 */
/* nests.c - see nests.h. */
#include "nests.h"

#include "nest_eval.h"
#include "passes/passes.h"
#include "runtime/exec/executor.h"
#include "tensor/strides.h"

#include <string.h>

enum {
    NESTS_SLOTS = 512,
    NESTS_VALUES = 64,
    NESTS_NOISE = 64,
    NESTS_SHOWN = 64,
    NESTS_LARGE = 20000,
    NESTS_PRODUCT = 200
};

/* The ways to lower a group. */
static const struct { const char *name; group_options options; } nests_ways[] = {
    {"host", {.generic = false}},
    {"host, generic", {.generic = true}},
    {"CUDA", {.target = GROUP_CUDA}},
};
enum { NESTS_WAYS = sizeof nests_ways / sizeof *nests_ways };

typedef struct nests_plan {
    const graph *g;
    int way;
    arena a;
    group_plan *p; /* NULL: there is none for arguments of that kind */
    nest_eval *e;
} nests_plan;

/* A group's graph in parts. */
typedef struct nests_parts { const graph *of; graph *g; } nests_parts;

struct nests {
    graph *g;
    coverage *cover;
    rng r;
    VEC(nests_plan *) plans;
    VEC(nests_parts) parts;
    uint64_t groups, kernels;
    nests_verdict verdict;
    strbuf *report;
};

/* ---- what a kernel gets ---------------------------------------------------------------------- */

typedef struct nests_call {
    value args[NESTS_VALUES], results[NESTS_VALUES];
    int64_t slots[NESTS_SLOTS], ints[NESTS_SLOTS], scalars[NESTS_VALUES];
    double floats[NESTS_VALUES];
    nest_memory memory[NEST_MAX_BUFFERS];
    void *owned[2 * NEST_MAX_BUFFERS];
    int nowned;
} nests_call;

static void *call_own(nests_call *c, size_t bytes) {
    return c->owned[c->nowned++] = mem_zalloc(bytes + 1);
}

static nest_memory call_argument(const tensor *t) {
    int64_t last = t->numel ? 0 : -1;
    for (int i = 0; t->numel && i < t->ndim; i++) last += (t->sizes[i] - 1) * t->strides[i];
    return (nest_memory){tensor_data(t), last + 1, NULL};
}

static nest_memory call_output(nests_call *c, const group_output *o, int i) {
    if (o->tag != V_TENSOR) {
        c->scalars[i] = 0;
        return (nest_memory){&c->scalars[i], 1, NULL};
    }
    const tensor *t = c->results[i].u.tensor;
    return (nest_memory){tensor_data(t), t->numel, call_own(c, (size_t)t->numel)};
}

/* CTSC_LIMIT: an output is larger than is tried here; another failure: it has sizes
 * that no tensor has. */
static ctsc_status call_bind(nests_call *c, const group_plan *p) {
    for (size_t i = 0; i < p->outputs.len; i++) {
        const group_output *o = &p->outputs.data[i];
        int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
        tensor *t = NULL;
        c->results[i] = o->alias >= 0 ? value_ref(c->args[o->alias]) : value_none();
        if (o->alias >= 0 || o->tag != V_TENSOR) continue;
        plan_output_layout(o, c->slots, sizes, strides);
        diag d = {.max_tensor = 1 << 28};
        ctsc_status st = tensor_new_strided(&d, DEVICE_HOST, o->dt, o->ndim, sizes, strides, &t);
        diag_clear(&d);
        if (st != CTSC_OK) return st;
        c->results[i] = value_tensor_take(t);
    }
    for (size_t i = 0; i < p->buffers.len; i++) {
        const group_buffer *b = &p->buffers.data[i];
        if (b->kind == BUFFER_ARGUMENT) {
            c->memory[i] = call_argument(c->args[b->index].u.tensor);
        } else if (b->kind == BUFFER_OUTPUT) {
            c->memory[i] = call_output(c, &p->outputs.data[b->index], b->index);
        } else {
            int64_t size = (int64_t)dtype_size(p->nest->buffers[i]->dt),
                    length = c->slots[b->index] > 0 ? c->slots[b->index] / size : 0;
            c->memory[i] = (nest_memory){call_own(c, (size_t)(length * size)), length,
                                         call_own(c, (size_t)length)};
        }
    }
    for (size_t i = 0; i < p->ints.len; i++) c->ints[i] = c->slots[p->ints.data[i]];
    for (size_t i = 0; i < p->floats.len; i++) c->floats[i] = c->args[p->floats.data[i]].u.f;
    return CTSC_OK;
}

static void call_read_scalars(nests_call *c, const group_plan *p) {
    for (size_t i = 0; i < p->outputs.len; i++) {
        const group_output *o = &p->outputs.data[i];
        double f;
        memcpy(&f, &c->scalars[i], sizeof f);
        if (o->alias >= 0 || o->tag == V_TENSOR) continue;
        c->results[i] = o->tag == V_INT     ? value_int(c->scalars[i])
                        : o->tag == V_FLOAT ? value_float(f)
                                            : value_bool(c->scalars[i] & 1);
    }
}

/* NULL: all elements of the outputs have been written. */
static const char *call_unwritten(const nests_call *c, const group_plan *p) {
    for (size_t i = 0; i < p->buffers.len; i++) {
        const nest_memory *m = &c->memory[i];
        if (p->buffers.data[i].kind != BUFFER_OUTPUT || !m->known) continue;
        for (int64_t k = 0; k < m->length; k++)
            if (!m->known[k]) return p->nest->buffers[i]->name;
    }
    for (size_t i = 0; i < p->outputs.len; i++) { /* has no buffer at all */
        bool bound = p->outputs.data[i].alias >= 0;
        for (size_t k = 0; k < p->buffers.len; k++)
            bound |= p->buffers.data[k].kind == BUFFER_OUTPUT && p->buffers.data[k].index == (int)i;
        if (!bound && (c->results[i].tag != V_TENSOR || c->results[i].u.tensor->numel))
            return "an output";
    }
    return NULL;
}

static void call_free(nests_call *c, size_t nargs, size_t nresults) {
    for (size_t i = 0; i < nargs; i++) value_unref(c->args[i]);
    for (size_t i = 0; i < nresults; i++) value_unref(c->results[i]);
    for (int i = 0; i < c->nowned; i++) mem_free(c->owned[i]);
    mem_free(c);
}

/* [begin, end) in up to four pieces, in any order. */
static int64_t call_pieces(nests *s, nests_call *c, nest_eval *e, int64_t begin, int64_t end) {
    enum { PIECES = 4 };
    int64_t cuts[PIECES + 1] = {begin}, code = 0;
    int n = end - begin > 1 ? (int)rng_range(&s->r, 1, PIECES) : 1,
        first = (int)rng_range(&s->r, 0, n - 1);
    for (int i = 1; i < n; i++) cuts[i] = cuts[i - 1] + rng_range(&s->r, 0, end - cuts[i - 1]);
    cuts[n] = end;
    for (int i = 0; i < n && !code; i++) {
        int k = (first + i) % n;
        if (cuts[k] < cuts[k + 1])
            code = nest_eval_run(e, c->memory, c->ints, c->floats, cuts[k], cuts[k + 1], &s->r);
    }
    return code;
}

static int64_t call_run(nests *s, nests_call *c, const group_plan *p, nest_eval *e) {
    if (p->barriers.len) {
        int64_t from = 0, code = 0;
        for (size_t i = 0; i < p->barriers.len && !code; i++) {
            int64_t stop = c->slots[p->barriers.data[i]];
            code = call_pieces(s, c, e, from, stop);
            from = stop;
        }
        return code;
    }
    if (p->range_begin < 0) return nest_eval_run(e, c->memory, c->ints, c->floats, 0, 0, &s->r);
    return call_pieces(s, c, e, c->slots[p->range_begin], c->slots[p->range_end]);
}

/* ---- a difference ---------------------------------------------------------------------------- */

static void nests_differ(nests *s, const nests_plan *k, size_t nargs, const value *args,
                         const char *what, const outcome *want, const outcome *got) {
    strbuf *out = s->report;
    bool first = s->verdict != NESTS_DIFFERENT;
    s->verdict = NESTS_DIFFERENT;
    if (!out || !first) return;
    sb_printf(out, "---- %s: %s\n", nests_ways[k->way].name, what);
    graph_print(k->g, NULL, out);
    if (k->p) nest_print(k->p->nest, out);
    for (size_t i = 0; i < nargs; i++) {
        sb_printf(out, "argument %zu = ", i);
        if (args[i].tag != V_TENSOR || args[i].u.tensor->numel <= NESTS_SHOWN)
            value_print(args[i], out);
        else
            sb_printf(out, "%s of %lld elements, sizes",
                      dtype_table[args[i].u.tensor->dtype].ir_name,
                      (long long)args[i].u.tensor->numel);
        if (args[i].tag == V_TENSOR && args[i].u.tensor->numel > NESTS_SHOWN)
            for (int d = 0; d < args[i].u.tensor->ndim; d++)
                sb_printf(out, " %lld", (long long)args[i].u.tensor->sizes[d]);
        if (args[i].tag == V_TENSOR)
            for (int d = 0; d < args[i].u.tensor->ndim; d++)
                sb_printf(out, "%s%lld", d ? " " : " strides ",
                          (long long)args[i].u.tensor->strides[d]);
        sb_putc(out, '\n');
    }
    if (want && got) outcome_explain(want, got, out);
}

static bool nests_holds(const graph *g, const char *name) {
    for (const node *n = g->root->first; n; n = n->next)
        if (n->op && !strncmp(n->op->key, name, strlen(name))) return true;
    return false;
}

/* What no implementation owes another: the sign of a NaN; whether a product meets infinity before
 * it meets zero; whether an infinite weight is multiplied with a difference or with its terms. */
static bool nests_is_accident(const graph *g, const evaluation *e, const outcome *got) {
    bool signs = nests_holds(g, "aten::copysign") || nests_holds(g, "aten::signbit") ||
                 nests_holds(g, "aten::atan2");
    bool centers = nests_holds(g, "aten::group_norm") || nests_holds(g, "aten::instance_norm");
    return (signs && evaluation_has_odd(e, false)) || (centers && evaluation_has_odd(e, true)) ||
           (got->bits.len > NESTS_PRODUCT && nests_holds(g, "aten::prod"));
}

/* ---- one kernel on one set of arguments ------------------------------------------------------ */

typedef struct nests_reference {
    const graph *g;
    const value *args; /* as they were */
    size_t nargs, nresults;
    evaluation e; /* knows all values of g */
    outcome want;
} nests_reference;

static bool nests_is_loop(const graph *g) { return block_holds(g->root, N_LOOP); }

/* Do strides determine the order of results? Those of dims of one
 * element mean nothing, and yet take part where PyTorch sorts dims. */
static bool nests_tells_order(const nests_reference *ref) {
    if (ref->want.status != CTSC_OK || nests_is_loop(ref->g)) return false;
    for (size_t i = 0; i < ref->nargs; i++) {
        const tensor *t = ref->args[i].tag == V_TENSOR ? ref->args[i].u.tensor : NULL;
        for (int d = 0; t && !tensor_is_contiguous(t) && d < t->ndim; d++)
            if (t->sizes[d] == 1) return false;
    }
    return true;
}

/* False: the plan is not for these arguments. */
static bool nests_run_plan(nests *s, const nests_plan *k, nests_reference *ref, bool fresh) {
    nests_call *c = mem_zalloc(sizeof *c);
    diag d = {0};
    outcome got = {0};
    copy_values(ref->nargs, ref->args, c->args);
    bool fits = plan_guards_hold(k->p, c->args, c->slots);
    size_t nresults = 0;
    if (fits) {
        nresults = ref->nresults;
        for (size_t i = 0; i < nresults; i++) c->results[i] = value_none();
        ctsc_status bound = call_bind(c, k->p);
        int64_t code = bound == CTSC_OK      ? call_run(s, c, k->p, k->e)
                       : bound == CTSC_LIMIT ? NEST_EVAL_TIRED
                                             : GROUP_UNFIT;
        if (bound != CTSC_OK && bound != CTSC_LIMIT)
            nests_differ(s, k, ref->nargs, ref->args, "an output has sizes that no tensor has",
                         NULL, NULL);
        if (code == NEST_EVAL_TIRED) {
            s->verdict = s->verdict ? s->verdict : NESTS_EXCUSED;
        } else if (code < 0) {
            nests_differ(s, k, ref->nargs, ref->args, nest_eval_why(k->e), NULL, NULL);
        } else if (code >= GROUP_FIRST_FAULT) {
            ctsc_status st = group_describe_fault(k->p, c->slots, code, 0, &d);
            if (ref->want.status == CTSC_OK)
                nests_differ(s, k, ref->nargs, ref->args, diag_message(&d), NULL, NULL);
            (void)st;
        } else if (code == 0) {
            const char *unwritten = call_unwritten(c, k->p);
            call_read_scalars(c, k->p);
            outcome_record(&got, CTSC_OK, &d, ref->nargs, c->args, nresults, c->results);
            if (nests_is_loop(ref->g)) outcome_share_as(&got, &ref->want);
            /* "an integer divided by 0 may be anything, as on a GPU" */
            if (nests_ways[k->way].options.target == GROUP_CUDA && ref->want.status != CTSC_OK &&
                strstr(ref->want.message, "ZeroDivision"))
                s->kernels++;
            else if (unwritten)
                nests_differ(s, k, ref->nargs, ref->args, "elements that nobody wrote", NULL, NULL);
            else if (nests_tells_order(ref) &&
                     strcmp(sb_str(&ref->want.order), sb_str(&got.order)) != 0)
                nests_differ(s, k, ref->nargs, ref->args, "another order of elements", &ref->want,
                             &got);
            else if (outcome_equal(&ref->want, &got)) s->kernels++;
            else if (nests_is_accident(ref->g, &ref->e, &got))
                s->kernels++, s->verdict = s->verdict ? s->verdict : NESTS_EXCUSED;
            else if (outcome_within_noise(
                         ref->g, ref->nargs, ref->args, &ref->want, &got,
                         got.bits.len > NESTS_LARGE ? NESTS_NOISE / 4 : NESTS_NOISE, false, 99))
                s->kernels++, s->verdict = s->verdict ? s->verdict : NESTS_EXCUSED;
            else nests_differ(s, k, ref->nargs, ref->args, "another result", &ref->want, &got);
        }
        if (s->cover && code == 0 && s->verdict != NESTS_DIFFERENT) {
            if (fresh && k->way != 1) coverage_count(s->cover, k->g, &ref->e, k->p->schedule);
            if (!fresh) s->cover->reused++;
        }
    }
    outcome_free(&got);
    diag_clear(&d);
    call_free(c, ref->nargs, nresults);
    return fits;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static nests_plan *nests_lower(nests *s, const graph *g, int way, const value *args) {
    nests_plan *k = mem_zalloc(sizeof *k);
    diag d = {0};
    k->g = g;
    k->way = way;
    if (!arena_init(&k->a) ||
        group_lower(&k->a, g, args, &nests_ways[way].options, &k->p, &d) != CTSC_OK)
        abort();
    if (k->p && (k->p->slots.len > NESTS_SLOTS || nest_verify(k->p->nest, &d) != CTSC_OK))
        k->p = NULL;
    if (k->p) k->e = nest_eval_new(k->p->nest);
    vec_push(&s->plans, k);
    diag_clear(&d);
    return k;
}

/* Is there a kernel of this way? */
static bool nests_try(nests *s, nests_reference *ref, int way) {
    bool any = false;
    for (size_t i = 0; i < s->plans.len; i++) { /* all that fit, not only the first */
        const nests_plan *k = s->plans.data[i];
        if (k->g == ref->g && k->way == way && k->p) any |= nests_run_plan(s, k, ref, false);
    }
    if (any) return true;
    const nests_plan *k = nests_lower(s, ref->g, way, ref->args);
    return k->p && nests_run_plan(s, k, ref, true);
}

static ctsc_status nests_run_graph(nests *s, evaluation *e, const graph *g, const value *args);

static graph *nests_split(nests *s, const graph *g) {
    diag d = {0};
    for (size_t i = 0; i < s->parts.len; i++)
        if (s->parts.data[i].of == g) return s->parts.data[i].g;
    graph *parts = graph_clone(g);
    if (!pass_split_group(&(pass_ctx){.diag = &d}, parts) || d.status != CTSC_OK) {
        graph_free(parts);
        parts = NULL;
    }
    diag_clear(&d);
    vec_push(&s->parts, ((nests_parts){g, parts}));
    return parts;
}

/* All ways to run a group. Its results, by its operators, go to e. */
static ctsc_status nests_run_group(nests *s, evaluation *e, const node *n) {
    nests_reference ref = {
        .g = node_attr(n, "Subgraph")->u.g, .nargs = n->inputs.len, .nresults = n->outputs.len};
    value given[NESTS_VALUES], before[NESTS_VALUES], results[NESTS_VALUES];
    if (ref.nargs > NESTS_VALUES || ref.nresults > NESTS_VALUES)
        return diag_fail(e->d, CTSC_LIMIT, "a group of too many values");
    for (size_t i = 0; i < ref.nargs; i++) given[i] = evaluation_get(e, n->inputs.data[i]);
    copy_values(ref.nargs, given, before);
    ref.args = before;
    evaluation_init(&ref.e, e->d);
    ctsc_status st = evaluate_graph(&ref.e, ref.g, given);
    size_t nresults = st == CTSC_OK ? ref.nresults : 0;
    for (size_t i = 0; i < nresults; i++)
        results[i] = evaluation_get(&ref.e, ref.g->root->returns.data[i]);
    outcome_record(&ref.want, st, e->d, ref.nargs, given, nresults, results);
    s->groups++;
    if (st == CTSC_LIMIT) goto out;
    bool host = false;
    for (int way = 0; way < NESTS_WAYS; way++) {
        bool ran = nests_try(s, &ref, way);
        if (way == 0) host = ran;
    }
    graph *parts = host || nests_is_loop(ref.g) || st != CTSC_OK ? NULL : nests_split(s, ref.g);
    if (parts) {
        evaluation inner;
        evaluation_init(&inner, e->d);
        nests_run_graph(s, &inner, parts, before);
        evaluation_free(&inner);
    }
out:
    for (size_t i = 0; i < nresults; i++)
        evaluation_set_take(e, n->outputs.data[i], value_ref(results[i]));
    evaluation_free(&ref.e);
    outcome_free(&ref.want);
    for (size_t i = 0; i < ref.nargs; i++) value_unref(before[i]);
    return st;
}

static ctsc_status nests_on_group(void *ctx, evaluation *e, const node *n) {
    return nests_run_group(ctx, e, n);
}

static ctsc_status nests_run_graph(nests *s, evaluation *e, const graph *g, const value *args) {
    e->on_group = nests_on_group;
    e->ctx = s;
    return evaluate_graph(e, g, args);
}

/* ---- life ------------------------------------------------------------------------------------ */

nests *nests_new(const graph *g, int64_t recompute_bytes, coverage *cover, uint64_t seed, diag *d) {
    nests *s = mem_zalloc(sizeof *s);
    pass_ctx cx = {.diag = d, .recompute_bytes = recompute_bytes};
    s->g = graph_clone(g);
    s->cover = cover;
    s->r.state = seed;
    if (pipeline_prepare(&cx, s->g) == CTSC_OK &&
        pipeline_level(&cx, s->g, FUNCTION_LEVELS - 1) == CTSC_OK)
        return s;
    graph_free(s->g);
    mem_free(s);
    return NULL;
}

void nests_free(nests *s) {
    if (!s) return;
    for (size_t i = 0; i < s->plans.len; i++) {
        nest_eval_free(s->plans.data[i]->e);
        arena_free(&s->plans.data[i]->a);
        mem_free(s->plans.data[i]);
    }
    for (size_t i = 0; i < s->parts.len; i++) graph_free(s->parts.data[i].g);
    vec_free(&s->plans);
    vec_free(&s->parts);
    graph_free(s->g);
    mem_free(s);
}

nests_verdict nests_check(nests *s, size_t nargs, const value *args, strbuf *report) {
    value own[NESTS_VALUES];
    diag d = {.max_tensor = 1 << 24};
    evaluation e;
    evaluation_init(&e, &d);
    s->verdict = NESTS_SAME;
    s->report = report;
    copy_values(nargs, args, own);
    nests_run_graph(s, &e, s->g, own);
    evaluation_free(&e);
    for (size_t i = 0; i < nargs; i++) value_unref(own[i]);
    diag_clear(&d);
    return s->verdict;
}

const graph *nests_graph(const nests *s) { return s->g; }
uint64_t nests_groups(const nests *s) { return s->groups; }
uint64_t nests_plans(const nests *s) { return s->kernels; }
