/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tape.c - operator calls of programs that take gradients.
 *
 * What happens around the operator's own function, in this order:
 *   1. its rule is looked up; a body runs instead of it if a gradient is required;
 *   2. what it writes is checked (leaves, some views);
 *   3. a node saves the arguments that its formulas need, and where their gradients go; an in-place
 *      operator's own argument is copied first;
 *   4. the function runs;
 *   5. what was written counts a new version; views learn their base;
 *   6. results that are floating point become the node's outputs.
 *
 * Tests: tests/corpus/grad
 */
#include "runtime/autograd/autograd.h"
#include "runtime/autograd/grad_capture.h"
#include "runtime/interp/interp_internal.h"
#include "runtime/names/names.h"

#include <string.h>

typedef struct tape {
    op_ctx *cx;
    const op *o;
    const grad_rule *rule;
    int nargs, returns;
    const value *args;
    value *results;
    bool enabled, needed; /* gradients are on; and some argument requires one */
} tape;

/* ---- arguments ------------------------------------------------------------------------------- */

/* The tensors of an argument or result: itself, or of a list each. */
static int tape_tensors(const value *v) {
    if (v->tag == V_TENSOR) return 1;
    return v->tag == V_LIST && (v->u.list->kind == LIST_TENSOR || v->u.list->kind == LIST_VALUE)
               ? (int)v->u.list->len
               : 0;
}

static tensor *tape_tensor(const value *v, int i) {
    if (v->tag == V_TENSOR) return v->u.tensor;
    const list *l = v->u.list;
    if (l->kind == LIST_TENSOR) return l->u.tensors[i];
    return l->u.values[i].tag == V_TENSOR ? l->u.values[i].u.tensor : NULL;
}

static bool tape_value_requires_grad(const value *v) {
    for (int i = 0, n = tape_tensors(v); i < n; i++) {
        const tensor *t = tape_tensor(v, i);
        if (t && autograd_requires_grad(t)) return true;
    }
    return false;
}

static bool tape_differentiates(const grad_rule *r, int arg) {
    return arg < GRAD_MAX_ARGS && (r->differentiable >> arg & 1);
}

static bool tape_is_needed(const tape *t) {
    for (int i = 0; i < t->nargs; i++) {
        bool counts = t->rule->kind != RULE_FORMULAS || tape_differentiates(t->rule, i) ||
                      (t->rule->in_place && !i);
        if (counts && tape_value_requires_grad(&t->args[i])) return true;
    }
    return false;
}

/* The schema says that argument i's elements are written. A list that is written itself (append)
 * has other elements then, no changed ones. */
static bool tape_writes(const tape *t, int i) {
    const schema *s = t->o->schema;
    if (!s->has_alias_write || i >= s->nargs || !s->args[i].alias || !s->args[i].alias->write)
        return false;
    return s->args[i].type->kind == T_TENSOR || s->args[i].alias->elem;
}

static ctsc_status tape_check_writes(const tape *t) {
    for (int i = 0; i < t->nargs; i++)
        for (int k = 0, n = tape_writes(t, i) ? tape_tensors(&t->args[i]) : 0; k < n; k++) {
            const tensor *w = tape_tensor(&t->args[i], k);
            if (w) TRY(autograd_check_write(t->cx->diag, w, t->enabled));
        }
    return CTSC_OK;
}

static void tape_count_writes(const tape *t) {
    for (int i = 0; i < t->nargs; i++)
        for (int k = 0, n = tape_writes(t, i) ? tape_tensors(&t->args[i]) : 0; k < n; k++) {
            tensor *w = tape_tensor(&t->args[i], k);
            if (w && !(w->autograd && w->autograd->untracked)) w->storage->version++;
        }
}

/* ---- views ----------------------------------------------------------------------------------- */

static tensor *tape_viewed(const tape *t, const tensor *v) {
    for (int i = 0; i < t->nargs; i++)
        for (int k = 0, n = tape_tensors(&t->args[i]); k < n; k++) {
            tensor *of = tape_tensor(&t->args[i], k);
            if (of && of->storage == v->storage) return of;
        }
    return NULL;
}

static bool tape_is_argument(const tape *t, const tensor *v) {
    for (int i = 0; i < t->nargs; i++)
        for (int k = 0, n = tape_tensors(&t->args[i]); k < n; k++)
            if (tape_tensor(&t->args[i], k) == v) return true;
    return false;
}

static ctsc_status tape_note_views(const tape *t) {
    const schema *s = t->o->schema;
    if (s->has_alias_write || t->rule->kind == RULE_CONSTANT) return CTSC_OK;
    for (int i = 0; i < t->returns && i < s->nreturns; i++) {
        if (!s->returns[i].alias) continue;
        bool many = t->results[i].tag == V_LIST;
        for (int k = 0, n = tape_tensors(&t->results[i]); k < n; k++) {
            tensor *v = tape_tensor(&t->results[i], k),
                   *of = v && !tape_is_argument(t, v) ? tape_viewed(t, v) : NULL;
            if (of) TRY(autograd_set_view(t->cx->diag, v, of, many, t->enabled));
        }
    }
    return CTSC_OK;
}

/* ---- nodes: inputs --------------------------------------------------------------------------- */

static bool tape_is_input(const tape *t, int arg) {
    return t->rule->kind == RULE_MISSING || tape_differentiates(t->rule, arg) ||
           (t->rule->in_place && !arg);
}

static int tape_count_inputs(const tape *t) {
    int n = 0;
    for (int i = 0; i < t->nargs; i++)
        if (tape_is_input(t, i)) n += tape_tensors(&t->args[i]);
    return n;
}

static ctsc_status tape_set_inputs(const tape *t, grad_node *n) {
    int at = 0;
    for (int i = 0; i < t->nargs; i++)
        for (int k = 0, m = tape_is_input(t, i) ? tape_tensors(&t->args[i]) : 0; k < m; k++, at++) {
            tensor *x = tape_tensor(&t->args[i], k);
            n->args[at] = i;
            if (x) TRY(grad_node_set_input(t->cx->diag, n, at, x));
        }
    return CTSC_OK;
}

/* ---- nodes: what is saved -------------------------------------------------------------------- */

static bool tape_formula_is_needed(const tape *t, const grad_formula *f) {
    for (int i = 0; i < f->ninputs; i++)
        if (f->inputs[i] < t->nargs && tape_value_requires_grad(&t->args[f->inputs[i]]))
            return true;
    return false;
}

/* The needs of all formulas that may be asked for, each once. */
static int tape_needs(const tape *t, grad_param *out, int max) {
    int n = 0;
    for (int i = 0; i < t->rule->nformulas; i++) {
        const grad_formula *f = &t->rule->formulas[i];
        if (!tape_formula_is_needed(t, f)) continue;
        for (int k = 0; k < f->nparams; k++) {
            grad_param p = f->params[k];
            bool known = p.need == NEED_GRAD || p.need == NEED_GRADS || p.need == NEED_WANTED;
            for (int j = 0; j < n && !known; j++)
                known = out[j].need == p.need && out[j].index == p.index;
            if (!known && n < max) out[n++] = p;
        }
    }
    return n;
}

static const value *tape_source(const tape *t, grad_param p) {
    return p.need == NEED_RESULT ? &t->results[p.index] : &t->args[p.index];
}

/* Sizes; or strides, and the offset. */
static ctsc_status tape_sizes(diag *d, grad_need need, const tensor *x, value *out) {
    list *l = list_new(LIST_INT, TYPE_INT, (size_t)(x ? x->ndim + 1 : 0));
    if (!l) return diag_no_memory(d);
    for (int i = 0; x && i < x->ndim; i++)
        list_append_take(l, value_int(need == NEED_SIZES ? x->sizes[i] : x->strides[i]));
    if (x && need == NEED_LAYOUT) list_append_take(l, value_int(x->offset));
    *out = value_list_take(l);
    return CTSC_OK;
}

static bool tape_is_description(grad_need need) {
    return need == NEED_SIZES || need == NEED_DTYPE || need == NEED_LAYOUT;
}

/* Sizes, dtype or layout of a tensor; sizes or dtype of each tensor of a list. */
static ctsc_status tape_describe(diag *d, grad_need need, const value *v, value *out) {
    if (v->tag != V_LIST) {
        const tensor *x = v->tag == V_TENSOR ? v->u.tensor : NULL;
        if (need != NEED_DTYPE) return tape_sizes(d, need, x, out);
        *out = value_int(x ? x->dtype : DT_FLOAT32);
        return CTSC_OK;
    }
    int n = tape_tensors(v);
    type *elem = need == NEED_SIZES ? type_list(TYPE_INT) : TYPE_INT;
    list *l = list_new(type_list_kind(elem), elem, (size_t)n);
    if (!l) return diag_no_memory(d);
    for (int i = 0; i < n; i++) {
        value one = value_int(tape_tensor(v, i)->dtype);
        ctsc_status s = need == NEED_SIZES ? tape_sizes(d, need, tape_tensor(v, i), &one) : CTSC_OK;
        if (s == CTSC_OK && list_append_take(l, one)) continue;
        value_unref(value_list_take(l));
        return diag_no_memory(d);
    }
    *out = value_list_take(l);
    return CTSC_OK;
}

/* A result is saved without its node; an argument that is about to be written, as a copy. */
static ctsc_status tape_save_tensor(const tape *t, grad_saved *s, tensor *x, grad_param p,
                                    int output) {
    diag *d = t->cx->diag;
    if (p.need == NEED_RESULT) {
        tensor *elements;
        TRY(tensor_alias(d, x, &elements));
        elements->requires_grad = false;
        capture_alias(x, elements);
        s->v = value_tensor_take(elements);
        s->is_tensor = s->of_result = true;
        s->output = output;
        s->version = x->storage->version;
        return grad_pack(d, s, elements);
    }
    if (p.need == NEED_ARG && t->rule->in_place && !p.index) {
        value given[2] = {{.tag = V_TENSOR, .u.tensor = x}, value_none()}, copied;
        grad_edge e;
        bool enabled = t->cx->rt->grad_enabled;
        t->cx->rt->grad_enabled = false;
        ctsc_status st = tape_call_key(t->cx, "aten::clone", 2, given, &copied);
        t->cx->rt->grad_enabled = enabled;
        TRY(st);
        tensor *copy = copied.u.tensor;
        s->v = value_tensor_take(copy);
        s->is_tensor = true;
        s->version = copy->storage->version;
        TRY(autograd_edge(d, x, &e));
        if (e.fn) s->edge = grad_edge_ref(e);
        return grad_pack(d, s, copy);
    }
    TRY(grad_save(d, s, (value){.tag = V_TENSOR, .u.tensor = x}));
    return grad_pack(d, s, x);
}

static ctsc_status tape_save(const tape *t, grad_node *n, int *at, grad_param p) {
    const value *v = tape_source(t, p);
    grad_saved *s = &n->saved[(*at)++];
    s->need = p.need;
    s->index = p.index;
    if (tape_is_description(p.need)) return tape_describe(t->cx->diag, p.need, v, &s->v);
    int count = tape_tensors(v);
    /* PyTorch makes a tensor of a number that is the other operand, and saves that */
    bool scalar_operand = v->tag != V_TENSOR && p.need == NEED_ARG &&
                          !strcmp(t->o->schema->args[p.index].name, "other");
    if (count || scalar_operand) n->has_saved = true;
    if (v->tag == V_TENSOR) return tape_save_tensor(t, s, v->u.tensor, p, p.index);
    if (!count) return grad_save(t->cx->diag, s, *v);
    s->is_list = true;
    s->count = count;
    for (int i = 0; i < count; i++, (*at)++) {
        tensor *x = tape_tensor(v, i);
        if (x) TRY(tape_save_tensor(t, &n->saved[*at], x, p, i));
    }
    return CTSC_OK;
}

enum { TAPE_MAX_NEEDS = 48 };

static int tape_count_saved(const tape *t, const grad_param *needs, int n) {
    int total = n;
    for (int i = 0; i < n; i++) {
        bool described = tape_is_description(needs[i].need);
        /* results are not there yet, and none that is asked for is a list (rules_param) */
        const value *v = needs[i].need == NEED_ARG && !described ? &t->args[needs[i].index] : NULL;
        if (v && v->tag == V_LIST) total += tape_tensors(v);
    }
    return total;
}

/* ---- recording ------------------------------------------------------------------------------- */

typedef struct tape_record {
    grad_node *n;
    grad_param needs[TAPE_MAX_NEEDS];
    int nneeds, saved;
} tape_record;

/* Before the operator runs. */
static ctsc_status tape_begin(const tape *t, tape_record *r) {
    *r = (tape_record){0};
    if (!t->needed || (t->rule->kind == RULE_CONSTANT && !t->rule->in_place)) return CTSC_OK;
    grad_kind kind = t->rule->kind == RULE_MISSING ? GRAD_MISSING : GRAD_RULE;
    r->nneeds = kind == GRAD_RULE ? tape_needs(t, r->needs, TAPE_MAX_NEEDS) : 0;
    r->n = grad_node_new(kind, t->o, t->rule, tape_count_inputs(t), t->returns,
                         tape_count_saved(t, r->needs, r->nneeds));
    if (!r->n) return diag_no_memory(t->cx->diag);
    TRY(tape_set_inputs(t, r->n));
    for (int i = 0; i < r->nneeds; i++)
        if (r->needs[i].need != NEED_RESULT) TRY(tape_save(t, r->n, &r->saved, r->needs[i]));
    grad_node_renew(r->n);
    return CTSC_OK;
}

static bool tape_is_output(const tape *t, const tensor *x) {
    bool differentiable = dtype_is_float((dtype)x->dtype) || dtype_is_complex((dtype)x->dtype);
    return differentiable && (t->rule->in_place || !tape_is_argument(t, x));
}

/* All results of the call as outputs, in order; NULL for what is none. */
static tensor *tape_output(const tape *t, int i) {
    bool many = t->returns == 1 && t->results[0].tag == V_LIST;
    const value *v = &t->results[many ? 0 : i];
    tensor *x = many ? tape_tensor(v, i) : v->tag == V_TENSOR ? v->u.tensor : NULL;
    bool differentiated = many || i >= 64 || (t->rule->outputs >> i & 1);
    return x && differentiated && tape_is_output(t, x) ? x : NULL;
}

/* After the operator. */
static ctsc_status tape_finish(const tape *t, tape_record *r) {
    grad_node *n = r->n;
    bool any = false;
    int outputs = t->returns == 1 && t->results[0].tag == V_LIST ? tape_tensors(&t->results[0])
                                                                 : t->returns;
    if (!grad_node_set_outputs(n, outputs)) return diag_no_memory(t->cx->diag);
    for (int i = 0; i < r->nneeds; i++)
        if (r->needs[i].need == NEED_RESULT) TRY(tape_save(t, n, &r->saved, r->needs[i]));
    for (int i = 0; i < outputs; i++) {
        tensor *x = tape_output(t, i);
        any |= x != NULL;
        if (x && !grad_shape_set(&n->outputs[i], x)) return diag_no_memory(t->cx->diag);
    }
    for (int i = 0; any && i < outputs; i++) {
        tensor *x = tape_output(t, i);
        if (!x) continue;
        x->requires_grad = false;
        TRY(autograd_set_history(t->cx->diag, x, grad_node_ref(n), i));
    }
    return CTSC_OK;
}

/* Handles that the operator made do not require a gradient because what they view does; what comes
 * out of a dict is none of these. */
static void tape_reset_results(const tape *t) {
    if (t->nargs && t->args[0].tag == V_DICT) return;
    for (int i = 0; i < t->returns; i++)
        for (int k = 0, n = tape_tensors(&t->results[i]); k < n; k++) {
            tensor *x = tape_tensor(&t->results[i], k);
            bool marked = x && x->requires_grad && !(x->autograd && x->autograd->made_by.fn);
            if (marked && !t->o->traits.asks_gradient && !tape_is_argument(t, x))
                x->requires_grad = false;
        }
}

/* Operators that an operator calls are a part of it: only the outer one is captured, and nothing is
 * recorded of a body where there are formulas. */
static ctsc_status tape_compute(const tape *t) {
    runtime *rt = t->cx->rt;
    capture *c = capture_current;
    bool taped = rt->taped;
    t->cx->op = t->o; /* what was saved may have been copied meanwhile */
    t->cx->nargs = t->nargs;
    capture_current = NULL;
    /* no rule: takes any number of arguments */
    rt->taped = taped && !(t->rule && t->rule->kind == RULE_FORMULAS);
    ctsc_status s = op_function(t->o, t->nargs, t->args)(t->cx, t->args, t->results);
    rt->taped = taped;
    capture_current = c;
    if (c && s == CTSC_OK) capture_call(c, t->o, t->nargs, t->args, t->returns, t->results);
    return s;
}

static ctsc_status tape_run(const tape *t) {
    tape_record r;
    ctsc_status s = tape_begin(t, &r);
    if (s == CTSC_OK) s = tape_compute(t);
    if (s == CTSC_OK) {
        tape_count_writes(t);
        tape_reset_results(t);
        s = tape_note_views(t);
        if (s == CTSC_OK && r.n) s = tape_finish(t, &r);
        for (int i = 0; s != CTSC_OK && i < t->returns; i++)
            value_set(&t->results[i], value_none());
    }
    grad_node_unref(r.n);
    return s;
}

/* ---- operators that are what a body does ----------------------------------------------------- */

static ctsc_status tape_run_body(const tape *t, value *results) {
    value out = value_none();
    diag own = {.max_tensor = t->cx->diag->max_tensor};
    op_ctx inner = *t->cx;
    inner.diag = &own;
    int n = t->rule->base->schema->nreturns;
    ctsc_status s = interp_call_from_op(&inner, t->rule->body, t->rule->base->schema->nargs,
                                        t->args, &out);
    if (s != CTSC_OK) diag_fail(t->cx->diag, s, "%s", diag_message(&own));
    diag_clear(&own);
    if (s != CTSC_OK) return s;
    if (n == 1) return results[0] = out, CTSC_OK;
    for (int i = 0; i < n; i++)
        results[i] = out.tag == V_TUPLE && (size_t)i < out.u.tuple->len
                         ? value_ref(out.u.tuple->items[i])
                         : value_none();
    value_unref(out);
    return CTSC_OK;
}

/* x.op_(...) is x.copy_(op(x, ...)). */
static ctsc_status tape_body(const tape *t) {
    if (!t->rule->in_place) return tape_run_body(t, t->results);
    value computed[8] = {{0}}, args[3];
    if (t->rule->base->schema->nreturns != 1)
        return diag_fail(t->cx->diag, CTSC_UNSUPPORTED, "the derivative of %s is not supported",
                         t->o->key);
    TRY(tape_run_body(t, computed));
    args[0] = t->args[0];
    args[1] = computed[0];
    args[2] = value_bool(false);
    ctsc_status s = tape_call_key(t->cx, "aten::copy_", 3, args, t->results);
    value_unref(computed[0]);
    return s;
}

static ctsc_status tape_refuse_out(const tape *t) {
    const char *name = strstr(t->o->schema->name, "::");
    return diag_fail(t->cx->diag, CTSC_FAILED,
                     "%s(): functions with out=... arguments don't support automatic "
                     "differentiation, but one of the arguments requires grad.",
                     name ? name + 2 : t->o->schema->name);
}

/* What calls others: with what records their calls. */
static ctsc_status tape_others(op_ctx *cx, const op *o, int nargs, const value *args,
                               value *results) {
    op_ctx inner = *cx;
    inner.call = tape_call_key;
    return op_function(o, nargs, args)(&inner, args, results);
}

/* ---- the ways in ----------------------------------------------------------------------------- */

static ctsc_status tape_call_unnamed(op_ctx *cx, const op *o, int nargs, const value *args,
                                     int returns, value *results) {
    tape t = {.cx = cx,
              .o = o,
              .nargs = nargs,
              .args = args,
              .returns = returns,
              .results = results,
              .enabled = cx->rt->grad_enabled};
    cx->op = o;
    cx->nargs = nargs;
    if (o->traits.asks_gradient) return op_function(o, nargs, args)(cx, args, results);
    if (o->traits.calls_others) return tape_others(cx, o, nargs, args, results);
    if (o->schema->vararg || o->schema->varret) return tape_compute(&t);
    TRY(grad_rule_of(o, cx->diag, &t.rule));
    t.needed = t.enabled && tape_is_needed(&t);
    if (t.needed && t.rule->kind == RULE_OUT) return tape_refuse_out(&t);
    if (o->schema->has_alias_write) TRY(tape_check_writes(&t));
    return t.needed && t.rule->kind == RULE_BODY ? tape_body(&t) : tape_run(&t);
}

/* Names of dims are what the outside sees: nothing that is recorded has to know of them. */
ctsc_status tape_call(op_ctx *cx, const op *o, int nargs, const value *args, int returns,
                      value *results) {
    return op_wants_names(o, nargs, args)
               ? names_run(cx, o, nargs, args, returns, results, tape_call_unnamed)
               : tape_call_unnamed(cx, o, nargs, args, returns, results);
}

ctsc_status tape_call_key(op_ctx *cx, const char *key, int nargs, const value *args,
                          value *results) {
    const op *o = op_find(key);
    if (!o || !o->fn)
        return diag_fail(cx->diag, CTSC_INTERNAL, "operator %s is needed for gradients", key);
    op_ctx inner = *cx;
    inner.out_types = NULL;
    inner.call = NULL;
    for (int i = 0; i < o->schema->nreturns; i++) results[i] = value_none();
    return tape_call(&inner, o, nargs, args, o->schema->nreturns, results);
}

ctsc_status tape_call_site(frame *f, const site *s) {
    const op *o = s->op;
    value *args = f->regs + f->c->nregisters, *results = args + s->nargs;
    if (o->traits.unsafe && !f->in->rt->allow_unsafe)
        return diag_fail(f->in->d, CTSC_UNSUPPORTED,
                         "operator %s is not allowed: it reaches outside the program", o->key);
    int returns = o->schema->varret ? s->nresults : o->schema->nreturns;
    for (int i = 0; i < s->nargs; i++) args[i] = *site_arg(f, s, i);
    for (int i = 0; i < returns; i++) results[i] = value_none();
    f->cx.out_types = s->ntypes ? f->c->types.data + s->types : NULL;
    f->cx.diag = f->in->d;
    TRY(op_check_defined(f->in->d, o, s->nargs, args)); /* of gradients that nobody has */
    TRY(tape_call(&f->cx, o, s->nargs, args, returns, results));
    site_release(f, s);
    for (int i = 0; i < returns; i++) {
        if (i < s->nresults) site_result(f, s, i, results[i]);
        else value_unref(results[i]);
    }
    return CTSC_OK;
}
