/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptq_observe.c - runs the float graph on the examples: which ranges its tensors have, and what
 * each layer loses when it alone is quantised (ptq.h).
 */
#include "passes/passes.h"
#include "runtime/observe/instrument.h"
#include "runtime/observe/seen.h"
#include "runtime/ptq/ptq.h"

#include <math.h>

enum { ERROR_CALLS = 4 }; /* examples that errors of layers are measured on */

static ctsc_status observe_call(ptq *p, const instrument *in, const ptq_call *c) {
    value result = value_none();
    runtime *rt = mem_alloc(sizeof *rt);
    if (!rt) return diag_no_memory(p->d);
    runtime_init(rt);
    ctsc_status s = instrument_run(in, p->f, p->g, rt, c->n, c->args, p->d, &result);
    value_unref(result);
    mem_free(rt);
    return s;
}

/* ---- dtypes and ranks ------------------------------------------------------------------------ */

/* Have all examples tensors of the same dtypes and ranks? */
static bool specialise_alike(const ptq *p) {
    for (size_t i = 1; i < p->ncalls; i++)
        for (int k = 0; k < p->calls[i].n; k++) {
            value a = p->calls[0].args[k], b = p->calls[i].args[k];
            if (a.tag != b.tag || (a.tag == V_TENSOR && (a.u.tensor->ndim != b.u.tensor->ndim ||
                                                         a.u.tensor->dtype != b.u.tensor->dtype)))
                return false;
        }
    return true;
}

static void specialise_ranks(block *b) {
    for (node *n = b->first, *next; n; n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) specialise_ranks(n->blocks.data[i]);
        int rank = node_is_overload(n, SYM_DIM) ? known_rank(n->inputs.data[0]) : -1;
        if (rank < 0) continue;
        value_replace_uses(n->outputs.data[0], rewrite_int(n, rank));
        node_remove(n);
    }
}

static void specialise_forget_value(ir_value *v) {
    if (v->type->kind == T_TENSOR) v->type = TYPE_TENSOR;
}

static void specialise_forget(block *b) {
    for (size_t i = 0; i < b->params.len; i++) specialise_forget_value(b->params.data[i]);
    for (node *n = b->first; n; n = n->next) {
        for (size_t i = 0; n->kind != N_CONSTANT && i < n->outputs.len; i++)
            specialise_forget_value(n->outputs.data[i]);
        for (size_t i = 0; i < n->blocks.len; i++) specialise_forget(n->blocks.data[i]);
    }
}

ctsc_status ptq_specialise(ptq *p) {
    if (!p->ncalls || !specialise_alike(p)) return CTSC_OK;
    pass_ctx cx = {.diag = p->d, .self = p->m->root.u.object};
    TRY(seen_run(p->f, p->g, p->calls[0].n, p->calls[0].args, NULL, NULL, p->d));
    ctsc_status s = pass_run_list(&cx, p->g, "remove-mutation", NULL);
    specialise_ranks(p->g->root);
    specialise_forget(p->g->root);
    if (s == CTSC_OK)
        s = pass_run_list(&cx, p->g, "[peephole,fold-constants,remove-mutation,dce]", NULL);
    return s == CTSC_OK && arena_failed(&p->g->arena) ? diag_no_memory(p->d) : s;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

typedef struct observing {
    ptq *p;
    range_observer *seen; /* by number of value */
    bool *wanted;         /* by number */
    bool second;
} observing;

static void observe_wanted(void *ctx, const ir_value *v) {
    const observing *o = ctx;
    size_t i = quantise_number_of(v);
    if (i) o->wanted[i - 1] = true;
}

static ctsc_status observe_value(observing *o, const ir_value *v, value x) {
    size_t i = quantise_number_of(v);
    if (!i || !o->wanted[i - 1] || x.tag != V_TENSOR) return CTSC_OK;
    return o->second ? observer_count(&o->seen[i - 1], &o->p->o->observer, o->p->d, x.u.tensor)
                     : observer_see(&o->seen[i - 1], o->p->d, x.u.tensor);
}

static ctsc_status observe_node(void *ctx, const node *n, const value *inputs,
                                const value *outputs) {
    ctsc_status s = CTSC_OK;
    (void)inputs;
    for (size_t i = 0; i < n->outputs.len && s == CTSC_OK; i++)
        s = observe_value(ctx, n->outputs.data[i], outputs[i]);
    return s;
}

static ctsc_status observe_block(void *ctx, const block *b, const value *params) {
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; i < b->params.len && s == CTSC_OK; i++)
        s = observe_value(ctx, b->params.data[i], params[i]);
    return s;
}

ctsc_status ptq_observe(ptq *p) {
    observing o = {.p = p};
    const observer_options *how = &p->o->observer;
    instrument in = {.node = observe_node, .block = observe_block, .ctx = &o};
    p->nvalues = quantise_number_values(p->g);
    o.seen = mem_zalloc((p->nvalues + 1) * sizeof *o.seen);
    o.wanted = mem_zalloc(p->nvalues + 1);
    p->ranges = mem_zalloc((p->nvalues + 1) * sizeof *p->ranges);
    ctsc_status s = o.seen && o.wanted && p->ranges ? CTSC_OK : diag_no_memory(p->d);
    if (s == CTSC_OK) quantise_wanted(p->g, observe_wanted, &o);
    for (int pass = 0; s == CTSC_OK && pass < (observer_has_two_passes(how) ? 2 : 1); pass++) {
        o.second = pass > 0;
        for (size_t i = 0; i < p->ncalls && s == CTSC_OK; i++) {
            ptq_tell(p, "%s of activations, example %zu of %zu", pass ? "histograms" : "ranges",
                     i + 1, p->ncalls);
            s = observe_call(p, &in, &p->calls[i]);
        }
    }
    for (size_t i = 0; s == CTSC_OK && i < p->nvalues; i++)
        if (!observer_affine(&o.seen[i], how, &p->ranges[i].scale, &p->ranges[i].zero))
            p->ranges[i] = (quantise_affine){0, 0};
    for (size_t i = 0; o.seen && i < p->nvalues; i++) observer_free(&o.seen[i]);
    mem_free(o.seen);
    mem_free(o.wanted);
    return s;
}

/* ---- errors of layers ------------------------------------------------------------------------ */

typedef struct rounding {
    ptq *p;
    ptrmap index; /* node -> layer's number, from 1 */
    tensor **weights;
    value *params;        /* of recurrent layers */
    double *lost, *whole; /* sums of squares */
} rounding;

static value round_run(op_ctx *cx, const char *key, int n, const value *args) {
    value r = value_none();
    return op_call(cx, key, n, args, &r) == CTSC_OK ? r : value_none();
}

static value round_cast(op_ctx *cx, value x, dtype dt) {
    value args[] = {x, value_int(dt), value_bool(false), value_bool(false), value_none()};
    return round_run(cx, "aten::to.dtype", 5, args);
}

/* x as the quantised layer has it; None: not known. */
static value round_input(const rounding *r, op_ctx *cx, const quantise_layer *l, value x) {
    value q = value_none(), y;
    size_t i = quantise_number_of(l->x);
    if (r->p->o->style == QUANTISE_WEIGHTS) return value_ref(x);
    if (r->p->o->style == QUANTISE_BF16) {
        q = round_cast(cx, x, DT_BFLOAT16);
        y = q.tag == V_TENSOR ? round_cast(cx, q, DT_FLOAT32) : value_none();
        return value_unref(q), y;
    }
    if (r->p->o->style == QUANTISE_DYNAMIC) {
        value args[] = {x, value_int(DT_QUINT8), value_bool(r->p->o->observer.reduce_range)};
        q = round_run(cx, "aten::quantize_per_tensor_dynamic", 3, args);
    } else if (i && r->p->ranges[i - 1].scale != 0) {
        value args[] = {x, value_float(r->p->ranges[i - 1].scale),
                        value_int(r->p->ranges[i - 1].zero), value_int(DT_QUINT8)};
        q = round_run(cx, "aten::quantize_per_tensor", 4, args);
    }
    y = q.tag == V_TENSOR ? round_run(cx, "aten::dequantize.self", 1, &q) : value_none();
    return value_unref(q), y;
}

static tensor *round_weight(const rounding *r, const quantise_layer *l) {
    quantise_weights how = r->p->o->weights;
    const quantise_conv_kind *k = quantise_conv_kind_of(l->n);
    tensor *half = NULL, *w = NULL;
    if (r->p->o->style == QUANTISE_BF16) {
        if (tensor_to_dtype(NULL, l->w, DT_BFLOAT16, &half) == CTSC_OK &&
            tensor_to_dtype(NULL, half, DT_FLOAT32, &w) != CTSC_OK)
            w = NULL;
        return tensor_unref(half), w;
    }
    how.per_tensor |= k && k->transposed;
    return quantise_weight_rounded(l, &how);
}

static void round_add(rounding *r, size_t i, const tensor *y, const tensor *z) {
    tensor *a = NULL, *b = NULL;
    bool same = y->numel == z->numel && y->dtype == DT_FLOAT32 && z->dtype == DT_FLOAT32 &&
                tensor_contiguous(NULL, (tensor *)(uintptr_t)y, &a) == CTSC_OK &&
                tensor_contiguous(NULL, (tensor *)(uintptr_t)z, &b) == CTSC_OK;
    for (int64_t k = 0; same && k < a->numel; k++) {
        double v = (double)TENSOR_AT(a, float)[k], d = (double)TENSOR_AT(b, float)[k] - v;
        r->whole[i] += v * v;
        r->lost[i] += d * d;
    }
    tensor_unref(a);
    tensor_unref(b);
}

/* The same of a recurrent layer, all of whose arguments are as they were. */
static void round_recurrent(rounding *r, size_t i, const value *inputs, const value *outputs) {
    enum { RESULTS = 3 };
    const quantise_layer *l = &r->p->layers.data[i];
    quantise_plan plan = ptq_plan(r->p);
    value made[RESULTS] = {{0}};
    if (r->params[i].tag == V_NONE) r->params[i] = quantise_recurrent_params(l, &plan);
    if (r->params[i].tag != V_NONE &&
        quantise_recurrent_run(l, plan.style, r->params[i], inputs, made))
        round_add(r, i, outputs[0].u.tensor, made[0].u.tensor);
    for (int k = 0; k < RESULTS; k++) value_unref(made[k]);
}

/* The layer once more, with rounded weight and argument. What fails is left unknown. */
static ctsc_status round_node(void *ctx, const node *n, const value *inputs, const value *outputs) {
    enum { MOST = 16, RESULTS = 4 };
    rounding *r = ctx;
    size_t i = (size_t)(uintptr_t)ptrmap_get(&r->index, n);
    if (!i || n->inputs.len > MOST || n->outputs.len > RESULTS || outputs[0].tag != V_TENSOR)
        return CTSC_OK;
    const quantise_layer *l = &r->p->layers.data[--i];
    ptq_tell(r->p, "error of layer %zu of %zu, %s", i + 1, r->p->layers.len,
             r->p->report->layers[i].name);
    if (l->parts) return round_recurrent(r, i, inputs, outputs), CTSC_OK;
    if (!r->weights[i] && !(r->weights[i] = round_weight(r, l))) return CTSC_OK;
    diag lost = {0};
    op_ctx cx = {.diag = &lost, .op = n->op, .nargs = (int)n->inputs.len};
    value args[MOST], made[RESULTS] = {{0}}, x = value_none();
    for (size_t k = 0; k < n->inputs.len; k++) {
        args[k] = inputs[k];
        if (n->inputs.data[k] == l->x) args[k] = x = round_input(r, &cx, l, inputs[k]);
        else if (n->inputs.data[k] == l->weight)
            args[k] = (value){.tag = V_TENSOR, .u.tensor = r->weights[i]};
    }
    if (x.tag == V_TENSOR && op_function(n->op, cx.nargs, args)(&cx, args, made) == CTSC_OK &&
        made[0].tag == V_TENSOR)
        round_add(r, i, outputs[0].u.tensor, made[0].u.tensor);
    value_unref(x);
    for (int k = 0; k < RESULTS; k++) value_unref(made[k]);
    diag_clear(&lost);
    return CTSC_OK;
}

ctsc_status ptq_layer_errors(ptq *p) {
    size_t n = p->layers.len;
    rounding r = {.p = p};
    instrument in = {.node = round_node, .ctx = &r};
    r.weights = mem_zalloc((n + 1) * sizeof *r.weights);
    r.params = mem_zalloc((n + 1) * sizeof *r.params);
    r.lost = mem_zalloc((n + 1) * sizeof *r.lost);
    r.whole = mem_zalloc((n + 1) * sizeof *r.whole);
    bool ok = r.weights && r.params && r.lost && r.whole;
    quantise_number_values(p->g);
    for (size_t i = 0; ok && i < n; i++)
        ok = ptrmap_put(&r.index, p->layers.data[i].n, (void *)(uintptr_t)(i + 1));
    ctsc_status s = ok ? CTSC_OK : diag_no_memory(p->d);
    for (size_t i = 0; s == CTSC_OK && i < p->ncalls && i < ERROR_CALLS; i++)
        s = observe_call(p, &in, &p->calls[i]);
    for (size_t i = 0; s == CTSC_OK && i < n; i++)
        p->errors[i] = r.whole[i] > 0 ? sqrt(r.lost[i] / r.whole[i]) : -1;
    for (size_t i = 0; r.weights && i < n; i++) tensor_unref(r.weights[i]);
    for (size_t i = 0; r.params && i < n; i++) value_unref(r.params[i]);
    ptrmap_free(&r.index);
    mem_free(r.weights);
    mem_free(r.params);
    mem_free(r.lost);
    mem_free(r.whole);
    return s;
}
