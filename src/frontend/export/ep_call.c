/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_call.c - calls of operators: which overload, its arguments, the names of its results.
 *
 *     {"target": "torch.ops.aten.add.Tensor", "inputs": [self = x, other = 1]}        %add : Tensor = aten::add.Scalar(%x, %1, %1)
 *
 * Arguments come by name; omitted ones are the schema's defaults. Where a number
 * is passed for a tensor, which Python's binding would wrap, the overload for
 * numbers is called; where there is none, a tensor is made. An operator, overload
 * or argument that no table knows becomes a node without an operator, as in
 * TorchScript archives (irgen_unknown.c): it is refused when it is reached.
 */
#include "base/sorted.h"
#include "frontend/export/ep_internal.h"

enum { CALL_ARGS = 64 };

const json_t *ep_node_arg(ep_node *n, size_t i) {
    const json_t *arg = json_object_get(json_array_get(n->inputs, i), "arg");
    return arg ? arg : (ep_bad(n->sc->p, "input %zu is missing", i), NULL);
}

/* ---- results --------------------------------------------------------------------------------- */

/* What kind of value the program takes a result for; values of other types are converted. */
static ir_value *bind_convert(ep_program *p, const char *kind, ir_value *v) {
    static const struct { const char *kind, *by; type_kind to; } rows[] = {
        {"as_sym_int", "aten::Int", T_INT},    {"as_sym_float", "aten::Float", T_FLOAT},
        {"as_sym_bool", "aten::Bool", T_BOOL}, {"as_int", "aten::Int", T_INT},
        {"as_float", "aten::Float", T_FLOAT},  {"as_bool", "aten::Bool", T_BOOL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].kind, kind))
            return v->type->kind == rows[i].to ? v : ep_emit(p, rows[i].by, 1, &v);
    return v;
}

static bool bind_list(ep_scope *sc, const json_t *names, ir_value *v) {
    ep_program *p = sc->p;
    if (!json_is_array(names) || v->type->kind != T_LIST)
        return ep_bad(p, "a list of results is none");
    node *unpack = ep_insert(p, node_new(p->g, N_LIST_UNPACK, 1, &v, 0));
    for (size_t i = 0; i < json_array_size(names); i++) {
        ir_value *item = node_add_output(unpack, type_elem(v->type));
        const char *name = ep_text(p, json_array_get(names, i), "name");
        if (!name || !ep_define(sc, name, item)) return false;
    }
    return true;
}

bool ep_bind(ep_scope *sc, const json_t *output, ir_value *v) {
    const json_t *inner;
    const char *kind = ep_union(sc->p, output, &inner);
    if (!kind) return false;
    if (!strcmp(kind, "as_none")) return true;
    if (!strcmp(kind, "as_tensors")) return bind_list(sc, inner, v);
    if (!strcmp(kind, "as_optional_tensor")) return ep_bind(sc, inner, v);
    bool symbolic = !strncmp(kind, "as_sym_", 7);
    const char *name = json_is_string(inner) ? json_string_value(inner)
                                             : json_string_value(json_object_get(
                                                   inner, symbolic ? "as_name" : "name"));
    /* a known number needs none */
    if (!name) return symbolic ? true : ep_bad(sc->p, "a result has no name");
    if (!(v = bind_convert(sc->p, kind, v))) return false;
    return ep_define(sc, name, v);
}

/* The results of higher-order operators as archives of 2.4 and before have them: one list of names
 * for all. NULL: they are not. */
static const json_t *results_listed(const ep_node *n, size_t count, ir_value *const *values,
                                    size_t first) {
    const json_t *names = count == first + 1
                              ? json_object_get(json_array_get(n->outputs, first), "as_tensors")
                              : NULL;
    return json_is_array(names) && values[0] && values[0]->type->kind != T_LIST ? names : NULL;
}

bool ep_results(ep_node *n, int nvalues, ir_value *const *values, size_t first) {
    size_t count = json_array_size(n->outputs);
    const json_t *listed = nvalues ? results_listed(n, count, values, first) : NULL;
    if (listed) {
        if (json_array_size(listed) != (size_t)nvalues)
            return ep_bad(n->sc->p, "it has %zu results, but %d are made", json_array_size(listed),
                          nvalues);
        for (int i = 0; i < nvalues; i++) {
            const char *name = ep_text(n->sc->p, json_array_get(listed, (size_t)i), "name");
            if (!name || !values[i] || !ep_define(n->sc, name, values[i])) return false;
        }
        return true;
    }
    if (count < first || count - first > (size_t)nvalues)
        return ep_bad(n->sc->p, "it has %zu results, but %d are made", count - first, nvalues);
    for (size_t i = first; i < count; i++) {
        const json_t *out = json_array_get(n->outputs, i);
        if (values[i - first] ? !ep_bind(n->sc, out, values[i - first])
                              : !json_object_get(out, "as_none"))
            return ep_bad(n->sc->p, "a result is missing");
    }
    return true;
}

/* ---- what nobody knows ----------------------------------------------------------------------- */

static bool unknown_result(node *made, const json_t *out) {
    void *it = json_object_iter((json_t *)(uintptr_t)out);
    const char *kind = it ? json_object_iter_key(it) : "";
    type *t = !strcmp(kind, "as_tensors")     ? type_list(TYPE_TENSOR)
              : !strcmp(kind, "as_sym_int")   ? TYPE_INT
              : !strcmp(kind, "as_sym_float") ? TYPE_FLOAT
              : !strcmp(kind, "as_sym_bool")  ? TYPE_BOOL
                                              : TYPE_TENSOR;
    return node_add_output(made, t) != NULL;
}

/* A node without an operator. */
static bool call_unknown(ep_node *n, const char *key) {
    ep_program *p = n->sc->p;
    int known;
    const char *dot = strchr(key, '.');
    const char *name = dot ? arena_strndup(&p->scratch, key, (size_t)(dot - key)) : key;
    node *made = node_new(p->g, N_OP, 0, NULL, 0);
    op_overloads(name, &known);
    made->op_name = intern(&p->g->names, known || dot ? "ctsc::unknown" : key);
    for (size_t i = 0; i < json_array_size(n->inputs); i++) {
        const json_t *arg = ep_node_arg(n, i);
        ir_value *v = arg ? ep_argument(n->sc, arg, NULL) : NULL;
        if (!v) return false;
        node_add_input(made, v);
    }
    node_set_str(made, "call", key);
    for (size_t i = 0; i < json_array_size(n->outputs); i++)
        unknown_result(made, json_array_get(n->outputs, i));
    ep_insert(p, made);
    return ep_results(n, (int)made->outputs.len, made->outputs.data, 0);
}

/* ---- overloads ------------------------------------------------------------------------------- */

static const argument *formal_of(const schema *s, const char *name, size_t position) {
    int i = *name ? schema_find_arg(s, name) : position < (size_t)s->nargs ? (int)position : -1;
    return i < 0 ? NULL : &s->args[i];
}

static bool formal_is_tensor(const argument *a) {
    return a->type->kind == T_TENSOR ||
           (a->type->kind == T_OPTIONAL && type_elem(a->type)->kind == T_TENSOR);
}

/* All arguments are o's, and all that o needs are there. exact: numbers for numbers, too. */
static bool overload_takes(const op *o, size_t n, const ep_actual *actuals, bool exact) {
    const schema *s = o->schema;
    bool given[CALL_ARGS] = {false};
    if (s->nargs > CALL_ARGS) return false;
    for (size_t i = 0; i < n; i++) {
        const argument *a = formal_of(s, actuals[i].name, i);
        if (!a) return false;
        given[a - s->args] = true;
        bool number = actuals[i].arg ? ep_is_number(actuals[i].arg)
                                     : actuals[i].v->type->kind != T_TENSOR &&
                                           actuals[i].v->type->kind != T_LIST;
        bool tensor = actuals[i].arg ? json_object_get(actuals[i].arg, "as_tensor") != NULL
                                     : actuals[i].v->type->kind == T_TENSOR;
        if (exact && ((number && formal_is_tensor(a)) ||
                      (tensor && !formal_is_tensor(a) && a->type->kind != T_ANY)))
            return false;
    }
    for (int i = 0; i < s->nargs; i++)
        if (!given[i] && !s->args[i].has_default) return false;
    return true;
}

static const op *overload_for(ep_program *p, const char *key, size_t n, const ep_actual *actuals) {
    const op *o = op_find(key);
    if (o && overload_takes(o, n, actuals, true)) return o;
    const char *dot = strchr(key, '.');
    const char *name = dot ? arena_strndup(&p->scratch, key, (size_t)(dot - key)) : key;
    int count;
    const op *const *all = name ? op_overloads(name, &count) : NULL;
    for (int i = 0; all && i < count; i++)
        if (overload_takes(all[i], n, actuals, true)) return all[i];
    return o && overload_takes(o, n, actuals, false) ? o : NULL;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* The dtype that the program has for a tensor; -1: none, or no name. */
static int64_t call_dtype(ep_node *n, const char *name) {
    const json_t *meta = name ? ep_meta(n->sc->p, n->sc->graph, name) : NULL;
    int64_t dt;
    return meta && json_is_integer(json_object_get(meta, "dtype")) &&
                   ep_dtype(n->sc->p, json_object_get(meta, "dtype"), &dt)
               ? dt
               : -1;
}

/* A tensor of no dims of a number, of a dtype that does not change the result's. */
static ir_value *call_wrap(ep_node *n, ir_value *v) {
    ep_program *p = n->sc->p;
    int64_t dt = call_dtype(
        n, json_string_value(json_object_get(
               json_object_get(json_array_get(n->outputs, 0), "as_tensor"), "name")));
    if (ep_failed(p)) return NULL;
    bool floating = v->type->kind == T_FLOAT, fits = dt >= 0 && dtype_valid(dt) &&
                                                     floating == dtype_is_float((dtype)dt) &&
                                                     dt != DT_BOOL;
    ir_value *none = graph_constant_none(p->g);
    int64_t other = floating ? DT_FLOAT32 : v->type->kind == T_BOOL ? DT_BOOL : DT_INT64;
    ir_value *in[] = {v, graph_constant_int(p->g, fits ? dt : other), none, none, none};
    return ep_emit_key(p, "aten::scalar_tensor", 5, in);
}

static ir_value *call_default(ep_program *p, const argument *a) {
    if (a->default_value.tag == V_NONE) return graph_constant_none(p->g);
    ir_value *v = graph_constant_take(p->g, value_ref(a->default_value), NULL);
    if (!v) return ep_no_memory(p), NULL;
    return ep_conform(p, v, a);
}

static bool call_given(ep_node *n, const schema *s, size_t i, const ep_actual *actual,
                       ir_value **in) {
    ep_program *p = n->sc->p;
    const argument *a = formal_of(s, actual->name, i);
    if (in[a - s->args]) return ep_bad(p, "argument '%s' is given twice", a->name);
    bool number = actual->arg ? ep_is_number(actual->arg) : actual->v->type->kind != T_TENSOR;
    bool wrap = number && formal_is_tensor(a);
    ir_value *v = actual->v ? actual->v : ep_argument(n->sc, actual->arg, wrap ? NULL : a);
    if (v && actual->v && !wrap) v = ep_conform(p, v, a);
    if (v && wrap && v->type->kind != T_NONE) v = call_wrap(n, v);
    return (in[a - s->args] = v) != NULL;
}

static ir_value *autocast_argument(ep_node *n, const op *o, ir_value *v, const json_t *arg);

/* The node for o. */
static node *call_make(ep_node *n, const op *o, size_t nactuals, const ep_actual *actuals) {
    ep_program *p = n->sc->p;
    const schema *s = o->schema;
    ir_value *in[CALL_ARGS] = {NULL};
    const json_t *args[CALL_ARGS] = {NULL};
    for (size_t i = 0; i < nactuals; i++) {
        if (!call_given(n, s, i, &actuals[i], in)) return NULL;
        args[formal_of(s, actuals[i].name, i) - s->args] = actuals[i].arg;
    }
    for (int i = 0; i < s->nargs; i++)
        if ((!in[i] && !(in[i] = call_default(p, &s->args[i]))) ||
            !(in[i] = autocast_argument(n, o, in[i], args[i])))
            return NULL;
    node *made = node_new_op(p->g, o, s->nargs, in);
    for (size_t i = 0; i < made->outputs.len; i++)
        if (made->outputs.data[i]->type->has_var) made->outputs.data[i]->type = TYPE_TENSOR;
    ep_insert(p, made);
    return ep_failed(p) ? (ep_no_memory(p), NULL) : made;
}

/* ---- autocast -------------------------------------------------------------------------------- */

/* Does the program say of this tensor that it is of a dtype which is left alone, or of `to`
 * already? *cast: it says that it is another one, which needs no look at it when it runs. */
static bool autocast_needless(ep_node *n, const char *name, dtype to, bool *cast) {
    int64_t dt = call_dtype(n, name);
    if (dt < 0 || !dtype_valid(dt)) return *cast = false;
    *cast = dtype_is_float((dtype)dt) && dt != DT_FLOAT64 && dt != to;
    return !*cast && !dtype_is_float8((dtype)dt);
}

/* A tensor that is converted to `to`. name: what the program calls it; NULL: not known. */
static ir_value *autocast_tensor(ep_node *n, ir_value *v, dtype to, const char *name) {
    ep_program *p = n->sc->p;
    bool cast;
    if (autocast_needless(n, name, to, &cast)) return v;
    if (ep_failed(p)) return NULL;
    ir_value *no = graph_constant_bool(p->g, false), *number = graph_constant_int(p->g, to);
    ir_value *in[] = {v, number, no, no, graph_constant_none(p->g)};
    return cast ? ep_emit_key(p, "aten::to.dtype", 5, in) : ep_emit_key(p, "ctsc::autocast", 2, in);
}

static const char *autocast_name(const json_t *tensor) {
    return json_string_value(json_object_get(tensor, "name"));
}

/* Each tensor of a list, as in einsum. */
static ir_value *autocast_list(ep_node *n, ir_value *v, dtype to, const json_t *arg) {
    ep_program *p = n->sc->p;
    const json_t *tensors = json_object_get(arg, "as_tensors");
    if (!v->def || v->def->kind != N_LIST_CONSTRUCT) return v;
    node *made = node_new(p->g, N_LIST_CONSTRUCT, 0, NULL, 1);
    for (size_t i = 0; i < v->def->inputs.len; i++) {
        ir_value *x = autocast_tensor(n, v->def->inputs.data[i], to,
                                      autocast_name(json_array_get(tensors, i)));
        if (!x) return NULL;
        node_add_input(made, x);
    }
    made->outputs.data[0]->type = v->type;
    return ep_insert(p, made)->outputs.data[0];
}

/* An argument of an operator within wrap_with_autocast. arg: how the program writes it; NULL: not
 * known. */
static ir_value *autocast_argument(ep_node *n, const op *o, ir_value *v, const json_t *arg) {
    autocast_class class = o->traits.autocast;
    if (!n->sc->cast.on || (class != AUTOCAST_LOWER && class != AUTOCAST_FULL)) return v;
    dtype to = class == AUTOCAST_LOWER ? n->sc->cast.dt : DT_FLOAT32;
    if (v->type->kind == T_TENSOR)
        return autocast_tensor(n, v, to, autocast_name(json_object_get(arg, "as_tensor")));
    return v->type->kind == T_LIST && type_elem(v->type)->kind == T_TENSOR
               ? autocast_list(n, v, to, arg)
               : v;
}

/* ---- calls ----------------------------------------------------------------------------------- */

bool ep_call_op(ep_node *n, const char *key, size_t nactuals, const ep_actual *actuals, int *nouts,
                ir_value ***outs) {
    ep_program *p = n->sc->p;
    const op *o = overload_for(p, key, nactuals, actuals);
    node *made = o ? call_make(n, o, nactuals, actuals) : NULL;
    if (!o) return ep_unsupported(p, "operator %.200s is not known with these arguments", key);
    if (!made) return false;
    *nouts = (int)made->outputs.len;
    *outs = made->outputs.data;
    return true;
}

/* Operators that only inform the compiler, and those that map to other operators. Sorted. */
static const struct { const char *key, *as; } call_renamed[] = {
    {"aten::_assert_tensor_metadata", NULL},  {"aten::_local_scalar_dense", "aten::item"},
    {"aten::sym_numel", "aten::numel"},       {"aten::sym_size", "aten::size"},
    {"aten::sym_size.int", "aten::size.int"}, {"aten::sym_storage_offset", "aten::storage_offset"},
    {"aten::sym_stride", "aten::stride"},     {"aten::sym_stride.int", "aten::stride.int"},
};

/* as_strided of a result whose layout may differ from PyTorch's: checked
 * when the program runs, where the archive has the strides as numbers. */
static bool call_check_strides(ep_node *n) {
    enum { STRIDES = 64 };
    ep_program *p = n->sc->p;
    const json_t *arg = json_array_size(n->inputs) ? ep_node_arg(n, 0) : NULL;
    const char *name = json_string_value(
        json_object_get(json_object_get(arg, "as_tensor"), "name"));
    const json_t *meta = name ? ep_meta(p, n->sc->graph, name) : NULL,
                 *strides = json_object_get(meta, "strides");
    size_t count = json_array_size(strides);
    ir_value *in[2], *ints[STRIDES];
    if (!count || count > STRIDES) return true;
    for (size_t i = 0; i < count; i++) {
        const json_t *stride = json_object_get(json_array_get(strides, i), "as_int");
        if (!json_is_integer(stride)) return true;
        ints[i] = graph_constant_int(p->g, json_integer_value(stride));
    }
    node *list = ep_insert(p, node_new(p->g, N_LIST_CONSTRUCT, (int)count, ints, 1));
    list->outputs.data[0]->type = type_list(TYPE_INT);
    in[0] = ep_argument(n->sc, arg, NULL);
    in[1] = list->outputs.data[0];
    if (!in[0] || in[0]->type->kind != T_TENSOR) return in[0] != NULL;
    ep_emit_key(p, "ctsc::check_strides", 2, in);
    return !ep_failed(p) || ep_no_memory(p);
}

bool ep_call(ep_node *n, const char *key) {
    ep_program *p = n->sc->p;
    ep_actual actuals[CALL_ARGS];
    size_t count = json_array_size(n->inputs);
    if (count > CALL_ARGS) return ep_bad(p, "it has %zu arguments", count);
    int renamed = sorted_find(call_renamed, sizeof call_renamed, sizeof *call_renamed, key);
    if (renamed >= 0 && !(key = call_renamed[renamed].as)) return true;
    for (size_t i = 0; i < count; i++) {
        actuals[i] = (ep_actual){
            .name = json_string_value(json_object_get(json_array_get(n->inputs, i), "name")),
            .arg = ep_node_arg(n, i)};
        if (!actuals[i].name) actuals[i].name = "";
        if (!actuals[i].arg) return false;
    }
    bool done;
    if (!strcmp(key, "aten::as_strided") && !call_check_strides(n)) return false;
    if (!ep_core_call(n, key, count, actuals, &done) || done) return done && !ep_failed(p);
    const op *o = overload_for(p, key, count, actuals);
    if (!o) return ep_failed(p) ? ep_no_memory(p) : call_unknown(n, key);
    node *made = call_make(n, o, count, actuals);
    return made && ep_results(n, (int)made->outputs.len, made->outputs.data, 0);
}
