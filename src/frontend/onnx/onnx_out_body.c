/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out_body.c - operators that a model has no node for: TorchScript that computes the same is
 * walked in their place, as if it stood in the program.
 *
 *     %y = aten::log1p(%x)     function onnx_out_log1p of frontend/prelude/operators/onnx_out*.py
 *     %y = aten::diff(%x)      the body of a composite operator
 *     %y = aten::kron(%x, %y)  what a device without a kernel does (operators/device.py)
 *
 * Method. The first of these wins over a row, and where its body calls the operator itself, the row
 * is what that means: so a body can bring arguments into the form that a row knows. Sizes that vary
 * and branches need no care in a body: the walk has it.
 * Invariant. What a body gives has the dtype and the sizes of what the operator gives, its floats
 * are close to the operator's, its other elements the same, or the operator is refused: both are
 * computed for the example.
 * Tests: tests/onnx/calls.py
 */
#include "frontend/onnx/onnx_out_internal.h"

#include <stdio.h>

/* A function without an overload in its name is that of all overloads of such arguments. */
static bool body_takes(const function *f, const schema *s) {
    if (f->graph->root->params.len != (size_t)s->nargs) return false;
    for (int i = 0; i < s->nargs; i++)
        if ((s->args[i].type->kind == T_TENSOR) !=
            (f->graph->root->params.data[i]->type->kind == T_TENSOR))
            return false;
    return true;
}

static function *body_written(onnx_out *o, const op *base, const char *prefix) {
    function *f = op_host_installed->written_body(base, prefix, o->d);
    if (f && !body_takes(f, base->schema)) f = NULL;
    for (const out_body *b = o->bodies; f && b; b = b->outer)
        if (b->f == f) f = NULL;
    return f;
}

function *body_find(onnx_out *o, const op *base, bool paired, bool row) {
    function *f = paired ? body_written(o, base, "onnx_out_complex_") : NULL;
    if (!f && o->d->status == CTSC_OK) f = body_written(o, base, "onnx_out_");
    if (f || row || o->d->status != CTSC_OK) return f;
    return base->traits.composite || base->traits.device_body
               ? op_host_installed->composite_body(base, o->d)
               : NULL;
}

/* The function's results, which may be fewer than the operator's. */
static bool body_results(out_call *c, const graph *g, out_value **made, int *n) {
    onnx_out *o = c->o;
    out_value *r = out_get(o, g->root->returns.data[0]);
    bool several = c->nres > 1 && r && r->v[0].tag == V_TUPLE;
    *n = several ? (int)out_len(r) : 1;
    if (!r || *n > c->nres) return out_refuse(o, "its body gives other results");
    for (int i = 0; i < *n; i++)
        if (!(made[i] = several ? out_item(o, r, (size_t)i) : r)) return false;
    return true;
}

static bool body_enter(out_call *c, function *f, out_value **made, int *n) {
    onnx_out *o = c->o;
    const graph *g = f->graph;
    const out_body own = {f, o->at, o->bodies};
    ptrmap outer = o->env;
    if (++o->depth > OUT_MAX_DEPTH) return out_refuse(o, "operators nest too deeply");
    o->env = (ptrmap){0};
    o->bodies = &own;
    bool ok = g->root->params.len == (size_t)c->nargs ||
              out_refuse(o, "its body takes other arguments");
    for (int i = 0; ok && i < c->nargs; i++) ok = out_put(o, g->root->params.data[i], c->args[i]);
    ok = ok && out_walk(o, g->root);
    o->at = own.at;
    ok = ok && body_results(c, g, made, n);
    ptrmap_free(&o->env);
    o->env = outer;
    o->bodies = own.outer;
    o->depth--;
    if (!ok && o->d->status == CTSC_FAILED) { /* it fails for what it does not know */
        char why[160];
        snprintf(why, sizeof why, "%s", diag_message(o->d));
        diag_clear(o->d);
        out_refuse(o, "it has no form in ONNX with these arguments: %s", why);
    }
    return ok;
}

static bool body_is_close(onnx_out *o, value a, value b, bool *close) {
    bool exact = !dtype_is_float(dtype_part((dtype)a.u.tensor->dtype));
    value args[] = {a, b, value_float(1e-2), value_float(1e-3), value_bool(true)},
          out = value_none();
    op_ctx cx = {.diag = o->d};
    if (op_call(&cx, exact ? "aten::equal" : "aten::allclose", exact ? 2 : 5, args, &out) !=
        CTSC_OK)
        return false;
    *close = out.u.b;
    return true;
}

/* Is it what the operator gives? cast: dtypes may differ */
static bool body_agrees(onnx_out *o, value made, value real, bool cast) {
    bool close = true;
    if (made.tag == V_LIST && real.tag == V_LIST && real.u.list->kind == LIST_TENSOR) {
        if (made.u.list->len != real.u.list->len) return out_refuse(o, "its body is wrong");
        for (size_t i = 0; i < real.u.list->len; i++) {
            value a = value_tensor_take(made.u.list->u.tensors[i]),
                  b = value_tensor_take(real.u.list->u.tensors[i]);
            if (!body_agrees(o, a, b, cast)) return false;
        }
        return true;
    }
    if (made.tag != real.tag) return out_refuse(o, "its body is wrong");
    if (made.tag != V_TENSOR) return true;
    const tensor *a = made.u.tensor, *b = real.u.tensor;
    if ((a->dtype != b->dtype && !cast) || !tensor_same_shape(a, b))
        return out_refuse(o, "its body gives other sizes or another dtype");
    if (a->dtype == b->dtype && !dtype_is_float8((dtype)b->dtype) &&
        !body_is_close(o, made, real, &close))
        return false;
    return close || out_refuse(o, "its body gives other numbers");
}

/* A result that is not the first, and has no elements where the operator's has. */
static bool body_leaves_out(value made, value real) {
    return made.tag == V_TENSOR && real.tag == V_TENSOR && !made.u.tensor->numel &&
           real.u.tensor->numel;
}

/* Loops have been written, whose examples are those
 * of an iteration: the operator's replace them. */
static bool body_looped(out_call *c, const op *base, out_value **made, int n) {
    onnx_out *o = c->o;
    for (int w = 0; w < o->worlds; w++)
        if (!out_run(o, base, w, c->nargs, c->args, c->nres, c->res, c->out_types)) return false;
    for (int i = 0; i < c->nres; i++) {
        value a = made[i < n ? i : 0]->v[0], b = c->res[i]->v[0];
        if (i >= n || a.tag != V_TENSOR || b.tag != V_TENSOR)
            return out_refuse(o, "its body gives other results");
        if (a.u.tensor->dtype != b.u.tensor->dtype || a.u.tensor->ndim != b.u.tensor->ndim)
            return out_refuse(o, "its body gives other sizes or another dtype");
        if (!(c->res[i]->name = out_name(o, made[i]))) return false;
    }
    return true;
}

/* The operator itself, of the example; what it gives is compared. */
static bool body_check(out_call *c, const op *base, out_value **made, int n, size_t loops) {
    onnx_out *o = c->o;
    if (o->loops != loops && !o->shift) return body_looped(c, base, made, n);
    if (o->shift) { /* sizes of the examples are made up */
        for (int i = 0; i < n; i++) c->res[i] = made[i];
        return n == c->nres || out_refuse(o, "its body gives other results");
    }
    out_value *real[16];
    if (c->nres > 16) return out_refuse(o, "too many results");
    for (int i = 0; i < c->nres; i++)
        if (!(real[i] = out_new(o))) return false;
    if (!out_run(o, base, 0, c->nargs, c->args, c->nres, real, c->out_types)) return false;
    bool ok = true;
    for (int i = 0; i < c->nres; i++) {
        real[i]->gone = true;
        if (i >= n || (i && body_leaves_out(made[i]->v[0], real[i]->v[0]))) {
            real[i]->name = ""; /* nobody may read it */
            for (int w = 1; w < o->worlds; w++) real[i]->v[w] = value_ref(real[i]->v[0]);
            made[i] = real[i];
        } else if (ok) {
            ok = body_agrees(o, made[i]->v[0], real[i]->v[0], false);
        }
        c->res[i] = made[i];
    }
    return ok;
}

/* In place: the elements are the body's, the value is the argument. */
static bool body_writes(out_call *c, const op *op, out_value *made) {
    onnx_out *o = c->o;
    const char *name = out_name(o, made);
    for (int w = 0; name && w < o->worlds; w++)
        if (!out_run(o, op, w, c->nargs, c->args, c->nres, c->res, c->out_types)) return false;
    if (!name || !body_agrees(o, made->v[0], c->res[0]->v[0], true)) return false;
    c->res[0]->name = out_cast(o, name, (dtype)made->v[0].u.tensor->dtype,
                               (dtype)c->res[0]->v[0].u.tensor->dtype);
    return c->res[0]->name != NULL;
}

/* A list of views: each element's name is the body's. */
static bool body_view_items(out_call *c, out_value *r, const out_value *made) {
    onnx_out *o = c->o;
    size_t n = out_len(made);
    if (!(r->items = arena_array(&o->scratch, out_value *, n + 4))) return out_no_memory(o);
    r->cap = (int)n + 4;
    for (size_t i = 0; i < n; i++) {
        out_value *item = out_new(o), *from = out_item(o, made, i);
        if (!item || !from) return false;
        for (int w = 0; w < o->worlds; w++) item->v[w] = list_get(r->v[w].u.list, i);
        if (!(item->name = out_name(o, from))) return false;
        r->items[r->nitems++] = item;
    }
    return true;
}

/* A view shares the argument's elements: the values are the operator's, the names the body's. */
static bool body_views(out_call *c, const op *base, out_value *const *made, int n) {
    onnx_out *o = c->o;
    if (n != c->nres) return out_refuse(o, "its body gives other results");
    if (!sized_before(c, base)) return false;
    for (int w = 0; w < o->worlds; w++)
        if (!out_run(o, base, w, c->nargs, c->args, c->nres, c->res, c->out_types)) return false;
    if (!sized_after(c, base, false)) return false;
    for (int i = 0; i < n; i++) {
        out_value *r = c->res[i];
        if (!o->shift && !body_agrees(o, made[i]->v[0], r->v[0], false)) return false;
        if (r->v[0].tag == V_LIST) {
            for (int w = 0; w < o->worlds; w++)
                if (made[i]->seq || r->v[w].u.list->len != out_len(made[i]))
                    return out_refuse(o, "as many views as the model computes");
            if (!body_view_items(c, r, made[i])) return false;
        } else if (!(r->name = out_name(o, made[i]))) {
            return false;
        }
    }
    return true;
}

bool body_walk(out_call *c, const op *called, const op *base, function *f) {
    onnx_out *o = c->o;
    out_value *made[16];
    int n = 0;
    const size_t loops = o->loops;
    if (c->nres > 16) return out_refuse(o, "too many results");
    if (!body_enter(c, f, made, &n)) return false;
    if (called->schema->has_alias_write)
        return c->nres == 1 ? made[0]->v[0].tag == V_TENSOR && body_writes(c, called, made[0])
                            : out_refuse(o, "writes of this operator are not supported");
    if (base->traits.composite && f == op_host_installed->composite_body(base, o->d)) {
        for (int i = 0; i < n; i++) c->res[i] = made[i];
        return n == c->nres || out_refuse(o, "its body gives other results");
    }
    if (base->schema->nreturns && base->schema->returns[0].alias)
        return body_views(c, base, made, n);
    return body_check(c, base, made, n, loops);
}
