/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_effect.c - operators that torch.export wraps because they write, have effects, or compute
 * in another dtype.
 *
 *     auto_functionalized(op, x = x, ...)            copies what op writes, calls it, gives its results and the copies
 *     auto_functionalized_v2(op, _x_base_index = 0, _x_slice_dim = 0, ..., _all_bases = [b])    the same where op writes views: of copies of b
 *     with_effects(token, op, ...)                   calls it; the token is nothing
 *     out_dtype(op, dtype, ...)                      calls it with tensors of that dtype
 */
#include "frontend/export/ep_internal.h"

enum { EFFECT_ARGS = 64 };

/* The operator in input i: "aten::add.Tensor" of "torch.ops.aten.add.Tensor" or
 * "aten.add.Tensor". */
static const char *effect_operator(ep_node *n, size_t i) {
    ep_program *p = n->sc->p;
    const json_t *arg = ep_node_arg(n, i);
    const char *text = arg ? ep_text(p, arg, "as_operator") : NULL;
    if (!text) return NULL;
    if (!strncmp(text, "torch.ops.", 10)) text += 10;
    const char *name = strchr(text, '.'), *overload = name ? strchr(name + 1, '.') : NULL;
    if (!overload || !strncmp(text, "higher_order.", 13))
        return ep_unsupported(p, "operator '%.200s' is not supported here", text), NULL;
    bool plain = !strcmp(overload, ".default");
    const char *key = arena_printf(&p->scratch, "%.*s::%.*s", (int)(name - text), text,
                                   plain ? (int)(overload - name - 1) : (int)strlen(name + 1),
                                   name + 1);
    return key ? key : (ep_no_memory(p), NULL);
}

static const char *effect_name(ep_node *n, size_t i) {
    const char *name = json_string_value(json_object_get(json_array_get(n->inputs, i), "name"));
    return name ? name : "";
}

static const json_t *effect_find(ep_node *n, const char *name) {
    for (size_t i = 0; i < json_array_size(n->inputs); i++)
        if (!strcmp(effect_name(n, i), name))
            return json_object_get(json_array_get(n->inputs, i), "arg");
    return NULL;
}

static ir_value *effect_copy(ep_program *p, ir_value *v) {
    if (v->type->kind != T_TENSOR) return v;
    ir_value *in[] = {v, graph_constant_none(p->g)};
    return ep_emit_key(p, "aten::clone", 2, in);
}

/* Results of the operator, None if it has none, followed by the new values. */
static bool effect_results(ep_node *n, int nouts, ir_value **outs, int nmore, ir_value **more) {
    ep_program *p = n->sc->p;
    int first = nouts ? nouts : 1;
    ir_value **all = arena_array(&p->scratch, ir_value *, first + nmore + 1);
    if (!all) return ep_no_memory(p);
    for (int i = 0; i < nouts; i++) all[i] = outs[i];
    for (int i = 0; i < nmore; i++) all[first + i] = more[i];
    return ep_results(n, first + nmore, all, 0);
}

static bool effect_writes(const op *o, int i) {
    return o->schema->args[i].alias &&
           (o->schema->args[i].alias->write ||
            (o->schema->args[i].alias->elem && o->schema->args[i].alias->elem->write));
}

static const op *effect_op(ep_node *n, const char *key) {
    const op *o = key ? op_find(key) : NULL;
    if (key && !o) ep_unsupported(n->sc->p, "operator %.200s is not known", key);
    if (o && o->schema->nargs > EFFECT_ARGS)
        return ep_unsupported(n->sc->p, "operator %.200s has too many arguments", key), NULL;
    return o;
}

bool ep_auto_functionalized(ep_node *n) {
    ep_program *p = n->sc->p;
    const char *key = effect_operator(n, 0);
    const op *o = effect_op(n, key);
    ep_actual actuals[EFFECT_ARGS];
    ir_value *written[EFFECT_ARGS], **outs;
    size_t count = 0;
    int nwritten = 0, nouts;
    for (int i = 0; o && i < o->schema->nargs; i++) {
        const argument *a = &o->schema->args[i];
        const json_t *arg = effect_find(n, a->name);
        if (!arg) continue;
        actuals[count] = (ep_actual){.name = a->name, .arg = arg};
        if (effect_writes(o, i)) {
            ir_value *v = ep_argument(n->sc, arg, a);
            if (!v || !(v = effect_copy(p, v))) return false;
            actuals[count] = (ep_actual){.name = a->name, .v = v};
            written[nwritten++] = v;
        }
        count++;
    }
    return o && ep_call_op(n, key, count, actuals, &nouts, &outs) &&
           effect_results(n, nouts, outs, nwritten, written);
}

/* ---- views of bases -------------------------------------------------------------------------- */

typedef struct effect_bases { ep_node *n; int count; ir_value **bases; } effect_bases;

static const json_t *base_field(effect_bases *b, const char *name, const char *field) {
    char *text = arena_printf(&b->n->sc->p->scratch, "_%s_%s", name, field);
    return text ? effect_find(b->n, text) : NULL;
}

static ir_value *base_value(effect_bases *b, const char *name, const char *field) {
    const json_t *arg = base_field(b, name, field);
    return arg ? ep_argument(b->n->sc, arg, NULL)
               : (ep_bad(b->n->sc->p, "'_%s_%s' is missing", name, field), NULL);
}

/* The view that argument `name` is. */
static ir_value *base_view(effect_bases *b, const char *name) {
    ep_program *p = b->n->sc->p;
    const json_t *arg = base_field(b, name, "base_index");
    int64_t i;
    if (arg && json_object_get(arg, "as_none")) return graph_constant_none(p->g);
    if (!arg || !ep_int(p, json_object_get(arg, "as_int"), &i))
        return arg ? NULL : (ep_bad(p, "'_%s_base_index' is missing", name), NULL);
    if (i < 0 || i >= b->count) return ep_bad(p, "there is no base %lld", (long long)i), NULL;
    ir_value *base = b->bases[i];
    if (base_field(b, name, "slice_dim")) {
        ir_value *in[] = {base, base_value(b, name, "slice_dim"),
                          base_value(b, name, "slice_start"), base_value(b, name, "slice_end"),
                          graph_constant_int(p->g, 1)};
        return in[1] && in[2] && in[3] ? ep_emit_key(p, "aten::slice.Tensor", 5, in) : NULL;
    }
    if (base_field(b, name, "size")) {
        ir_value *in[] = {base, base_value(b, name, "size"), base_value(b, name, "stride"),
                          base_value(b, name, "storage_offset")};
        return in[1] && in[2] && in[3] ? ep_emit_key(p, "aten::as_strided", 4, in) : NULL;
    }
    return base;
}

/* A list of views: _x_length, _x_0_base_index, ... */
static ir_value *base_views(effect_bases *b, const char *name, type *list) {
    ep_program *p = b->n->sc->p;
    int64_t n;
    if (!ep_int(p, json_object_get(base_field(b, name, "length"), "as_int"), &n)) return NULL;
    if (n < 0 || (size_t)n > json_array_size(b->n->inputs))
        return ep_bad(p, "'_%s_length' is %lld", name, (long long)n), NULL;
    node *made = node_new(p->g, N_LIST_CONSTRUCT, 0, NULL, 1);
    for (int64_t i = 0; i < n; i++) {
        char *item = arena_printf(&p->scratch, "%s_%lld", name, (long long)i);
        ir_value *v = item ? base_view(b, item) : NULL;
        if (!v || ep_failed(p)) return ep_no_memory(p), NULL;
        node_add_input(made, v);
    }
    made->outputs.data[0]->type = list;
    return ep_insert(p, made)->outputs.data[0];
}

bool ep_auto_functionalized_v2(ep_node *n) {
    ep_program *p = n->sc->p;
    const char *key = effect_operator(n, 0);
    const op *o = effect_op(n, key);
    effect_bases b = {.n = n};
    ep_actual actuals[EFFECT_ARGS];
    ir_value **outs;
    size_t count = 0, at = 0;
    int nouts;
    while (at < json_array_size(n->inputs) && strcmp(effect_name(n, at), "_all_bases")) at++;
    if (!o) return false;
    if (at == json_array_size(n->inputs)) return ep_bad(p, "'_all_bases' is missing");
    if (!ep_operands(n, at, &b.count, &b.bases)) return false;
    for (int i = 0; i < b.count; i++)
        if (!(b.bases[i] = effect_copy(p, b.bases[i]))) return false;
    for (int i = 0; i < o->schema->nargs; i++) {
        const argument *a = &o->schema->args[i];
        ep_actual actual = {.name = a->name, .arg = effect_find(n, a->name)};
        if (!actual.arg && effect_writes(o, i)) {
            actual.v = base_field(&b, a->name, "length") ? base_views(&b, a->name, a->type)
                                                         : base_view(&b, a->name);
            if (!actual.v) return ep_no_memory(p);
        }
        if (actual.arg || actual.v) actuals[count++] = actual;
    }
    return ep_call_op(n, key, count, actuals, &nouts, &outs) &&
           effect_results(n, nouts, outs, b.count, b.bases);
}

/* ---- tokens, dtypes -------------------------------------------------------------------------- */

/* Inputs from `first` on, as the operator's. */
static bool effect_actuals(ep_node *n, size_t first, size_t *count, ep_actual *actuals) {
    size_t all = json_array_size(n->inputs);
    *count = 0;
    if (all > EFFECT_ARGS) return ep_bad(n->sc->p, "it has %zu arguments", all);
    for (size_t i = first; i < all; i++) {
        actuals[*count] = (ep_actual){.name = effect_name(n, i), .arg = ep_node_arg(n, i)};
        if (!actuals[(*count)++].arg) return false;
    }
    return true;
}

bool ep_with_effects(ep_node *n) {
    ep_program *p = n->sc->p;
    const char *key = effect_operator(n, 1);
    ep_actual actuals[EFFECT_ARGS];
    size_t count;
    int nouts;
    ir_value **outs, *none = graph_constant_none(p->g);
    if (!key || !effect_actuals(n, 2, &count, actuals) ||
        !ep_call_op(n, key, count, actuals, &nouts, &outs))
        return false;
    if (json_array_size(n->outputs) == 0) return ep_bad(p, "it has no token");
    if (!ep_bind(n->sc, json_array_get(n->outputs, 0), none)) return false;
    ir_value *nothing[] = {NULL};
    return nouts ? ep_results(n, nouts, outs, 1) : ep_results(n, 1, nothing, 1);
}

bool ep_out_dtype(ep_node *n) {
    ep_program *p = n->sc->p;
    const char *key = effect_operator(n, 0);
    const json_t *arg = key ? ep_node_arg(n, 1) : NULL;
    ep_actual actuals[EFFECT_ARGS];
    size_t count;
    int64_t dt;
    int nouts;
    ir_value **outs;
    if (!arg || !ep_dtype(p, json_object_get(arg, "as_scalar_type"), &dt) ||
        !effect_actuals(n, 2, &count, actuals))
        return false;
    for (size_t i = 0; i < count; i++) {
        ir_value *v = ep_argument(n->sc, actuals[i].arg, NULL),
                 *no = graph_constant_bool(p->g, false);
        if (!v) return false;
        if (v->type->kind != T_TENSOR) continue;
        ir_value *in[] = {v, graph_constant_int(p->g, dt), no, no, graph_constant_none(p->g)};
        actuals[i].arg = NULL;
        if (!(actuals[i].v = ep_emit_key(p, "aten::to.dtype", 5, in))) return false;
    }
    return ep_call_op(n, key, count, actuals, &nouts, &outs) && ep_results(n, nouts, outs, 0);
}
