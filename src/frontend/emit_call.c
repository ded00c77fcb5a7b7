/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit_call.c - calls: builtins, functions, methods, constructors, and the forms with rules of their own.
 *
 * Tests: tests/corpus
 */
#include "frontend/emit.h"
#include "frontend/upgraders.h"

/* Forms that are not operators: the arguments are types, or unevaluated, or the result depends on them.
 *      name                what it makes */
#define SPECIAL_FORMS(X)                                                                           \
    X(ANNOTATE,      "annotate")       /* annotate(T, v) */                                         \
    X(UNCHECKED_CAST, "unchecked_cast") /* unchecked_cast(T, v) */                                  \
    X(UNINITIALIZED, "uninitialized")  /* uninitialized(T) */                                       \
    X(ISINSTANCE,    "isinstance")     /* isinstance(v, T) */                                       \
    X(GETATTR,       "getattr")        /* getattr(obj, "0") */                                      \
    X(RANGE,         "range")                                                                       \
    X(PRINT,         "print")                                                                       \
    X(FORK,          "fork")           /* fork(closure) */                                          \
    X(TUPLE,         "tuple")                                                                       \
    X(INT,           "int")                                                                         \
    X(FLOAT,         "float")                                                                       \
    X(BOOL,          "bool")                                                                        \
    X(STR,           "str")                                                                         \
    X(COMPLEX,       "complex")                                                                     \
    X(LIST,          "list")

enum special_form {
    SPECIAL_NONE,
#define SPECIAL_ENUM(k, text) SPECIAL_##k,
    SPECIAL_FORMS(SPECIAL_ENUM)
#undef SPECIAL_ENUM
};

/* Python's builtin functions that are operators under another name. */
static const struct { const char *name, *op; } call_builtins[] = {
    {"len", "aten::len"},     {"abs", "prim::abs"},     {"min", "prim::min"},   {"max", "prim::max"},
    {"sum", "aten::sum"},     {"any", "aten::any"},     {"all", "aten::all"},   {"sorted", "aten::sorted"},
    {"round", "aten::round"}, {"divmod", "aten::divmod"}, {"pow", "aten::pow"}, {"hash", "aten::hash"},
    {"ord", "aten::ord"},     {"chr", "aten::chr"},     {"hex", "aten::hex"},   {"oct", "aten::oct"},
    {"bin", "aten::bin"},     {"id", "prim::id"},       {"dict", "aten::dict"},
};

static sugar *call_namespace(emitter *e, const char *name) {
    sugar *s = sugar_new(e, SUGAR_NAMESPACE);
    s->name = name;
    return s;
}

sugar *emit_builtin_name(emitter *e, const char *name) {
    static const struct { const char *name; int form; } forms[] = {
#define SPECIAL_ROW(k, text) {text, SPECIAL_##k},
        SPECIAL_FORMS(SPECIAL_ROW)
#undef SPECIAL_ROW
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(forms[i].name, name)) {
            sugar *s = sugar_new(e, SUGAR_SPECIAL);
            s->special = forms[i].form;
            s->name = forms[i].name;
            return s;
        }
    for (size_t i = 0; i < sizeof call_builtins / sizeof *call_builtins; i++)
        if (!strcmp(call_builtins[i].name, name)) {
            sugar *s = sugar_new(e, SUGAR_BUILTIN);
            s->name = call_builtins[i].op;
            return s;
        }
    if (!strcmp(name, "torch") || !strcmp(name, "ops") || !strcmp(name, "math"))
        return call_namespace(e, intern(&e->unit->names, name));
    if (!strcmp(name, "__torch__")) {
        sugar *s = sugar_new(e, SUGAR_QUALIFIED);
        s->name = "__torch__";
        return s;
    }
    if (!strcmp(name, "CONSTANTS")) return sugar_new(e, SUGAR_CONSTANTS);
    if (!strcmp(name, "inf")) return sugar_of_value(e, emit_constant_take(e, value_float(__builtin_inf()), NULL));
    if (!strcmp(name, "nan")) return sugar_of_value(e, emit_constant_take(e, value_float(__builtin_nan("")), NULL));
    if (!strcmp(name, "infj") || !strcmp(name, "nanj")) {
        complex_box *c = complex_new(0, *name == 'i' ? __builtin_inf() : __builtin_nan(""));
        if (!c) return diag_no_memory(e->diag), NULL;
        return sugar_of_value(e, emit_constant_take(e, (value){.tag = V_COMPLEX, .u.complex = c}, NULL));
    }
    return NULL;
}

/* torch.add -> aten::add; ops.prim.dtype -> prim::dtype; torch.nn.functional.x has no members in archives. */
sugar *emit_namespace_member(emitter *e, source_range r, const sugar *ns, const char *name) {
    const char *path = ns->name;
    if (!strcmp(path, "ops"))
        return call_namespace(e, arena_printf(e->scratch, "ops.%s", name));
    const char *prefix = !strncmp(path, "ops.", 4) ? path + 4 : "aten";
    sugar *s = sugar_new(e, SUGAR_BUILTIN);
    s->name = arena_printf(e->scratch, "%s::%s", prefix, name);
    int n = 0;
    op_overloads(s->name, &n);
    if (n) return s;
    for (size_t i = 0; i < N_KIND_COUNT; i++) { /* prim kinds that have no schema */
        static const char *const texts[] = {
#define CALL_KIND(k, text, pure) text,
            NODE_KINDS(CALL_KIND)
#undef CALL_KIND
        };
        if (!strcmp(texts[i], s->name)) return s;
    }
    if (!strcmp(path, "torch") && (!strcmp(name, "autograd") || !strcmp(name, "jit") || !strcmp(name, "ops") ||
                                   !strcmp(name, "special") || !strcmp(name, "linalg") || !strcmp(name, "fft")))
        return call_namespace(e, !strcmp(name, "ops") ? "ops" : arena_printf(e->scratch, "torch.%s", name));
    const char *close[1];
    if (op_similar(s->name, close, 1) == 1)
        emit_fail(e, r, "Unknown builtin op: %s. Did you mean %s?", s->name, close[0]);
    else emit_fail(e, r, "Unknown builtin op: %s", s->name);
    return NULL;
}

/* ---- arguments -------------------------------------------------------------------------------------------- */

static bool call_arguments(emitter *e, const expr *x, actual **out, int *n) {
    VEC(actual) args = {0};
    for (size_t i = 0; i < x->items.len; i++) {
        const expr *it = x->items.data[i];
        if (it->kind == E_STARRED) {
            ir_value *t = emit_expr(e, it->a, NULL);
            ir_value **parts = NULL;
            int np = 0;
            if (!t || !emit_unpack(e, it->range, t, 0, &parts, &np)) return false;
            for (int k = 0; k < np; k++) {
                actual a = {NULL, parts[k], it->range};
                avec_push(e->scratch, &args, a);
            }
            continue;
        }
        actual a = {NULL, emit_expr(e, it, NULL), it->range};
        if (!a.value) return false;
        avec_push(e->scratch, &args, a);
    }
    for (size_t i = 0; i < x->kwargs.len; i++) {
        const keyword *k = &x->kwargs.data[i];
        if (!k->name) {
            emit_fail(e, k->range, "keyword-arg expansion is not supported");
            return false;
        }
        actual a = {k->name, emit_expr(e, k->value, NULL), k->range};
        if (!a.value) return false;
        avec_push(e->scratch, &args, a);
    }
    *out = args.data;
    *n = (int)args.len;
    return true;
}

/* ---- builtins ---------------------------------------------------------------------------------------------- */

static ir_value *call_pack(emitter *e, source_range r, const schema *s, node *n) {
    size_t k = n->outputs.len;
    (void)s;
    if (k == 1) return n->outputs.data[0];
    if (k == 0) return graph_constant_none(e->g);
    return emit_tuple(e, r, NULL, (int)k, n->outputs.data);
}

static ir_value *call_insert_op(emitter *e, source_range r, const op *o, const match_result *m) {
    e->g->range = r;
    node *n = node_new_op(e->g, o, m->ninputs, m->inputs);
    for (int i = 0; i < m->nreturns && i < (int)n->outputs.len; i++) n->outputs.data[i]->type = m->returns[i];
    graph_insert(e->g, n);
    return call_pack(e, r, o->schema, n);
}

static ir_value *call_no_overload(emitter *e, source_range r, const char *name, const op *const *ops, int n,
                                  int nargs, const actual *args) {
    strbuf sb = STRBUF_INIT;
    sb_puts(&sb, n == 1 ? "" : "Arguments for call are not valid.\nThe following variants are available:\n");
    for (int i = 0; i < n; i++) {
        if (n > 1) {
            sb_puts(&sb, "\n  ");
            schema_print(ops[i]->schema, &sb);
            sb_puts(&sb, ":\n  ");
        } else {
            schema_print(ops[i]->schema, &sb);
            sb_puts(&sb, ":\n");
        }
        match_schema(e, r, ops[i]->schema, nargs, args, true, &sb);
        sb_putc(&sb, '\n');
    }
    (void)name;
    emit_fail(e, r, "%s", sb_str(&sb));
    sb_free(&sb);
    return NULL;
}

static match_result *call_match(emitter *e, source_range r, const schema *s, int nargs, const actual *args) {
    match_result *m = match_schema(e, r, s, nargs, args, true, NULL);
    if (m || emit_failed(e)) return m;
    strbuf sb = STRBUF_INIT;
    schema_print(s, &sb);
    sb_puts(&sb, ":\n");
    match_schema(e, r, s, nargs, args, true, &sb);
    emit_fail(e, r, "%s", sb_str(&sb));
    sb_free(&sb);
    return NULL;
}

/* An operator of an older archive: the body of the function that stands for it takes the call's place. */
static ir_value *call_upgrader(emitter *e, source_range r, function *up, int nargs, const actual *args) {
    if (function_ensure_compiled(up, e->diag) != CTSC_OK) return NULL;
    match_result *m = call_match(e, r, up->schema, nargs, args);
    ir_value *out = NULL;
    if (!m) return NULL;
    e->g->range = r;
    graph_inline(e->g, e->g->insert_block, e->g->insert_before, up->graph, m->inputs, &out);
    return emit_failed(e) ? (diag_no_memory(e->diag), NULL) : out;
}

ir_value *emit_builtin(emitter *e, source_range r, const char *name, int nargs, const actual *args) {
    function *up = upgrader_for(e->unit, e->diag, name, nargs, args);
    if (e->diag->status != CTSC_OK) return NULL;
    if (up) return call_upgrader(e, r, up, nargs, args);
    int n = 0;
    const op *const *ops = op_overloads(name, &n);
    if (!n) {
        emit_fail(e, r, "Unknown builtin op: %s", name);
        return NULL;
    }
    e->g->range = r;
    for (int pass = n == 1; pass < 2; pass++)
        for (int i = 0; i < n; i++) {
            match_result *m = match_schema(e, r, ops[i]->schema, nargs, args, pass == 1, NULL);
            if (m) return call_insert_op(e, r, ops[i], m);
            if (emit_failed(e)) return diag_no_memory(e->diag), NULL;
        }
    return call_no_overload(e, r, name, ops, n, nargs, args);
}

ir_value *emit_builtin_values(emitter *e, source_range r, const char *name, int n, ir_value *const *vals) {
    actual args[8];
    for (int i = 0; i < n; i++) args[i] = (actual){NULL, vals[i], r};
    return emit_builtin(e, r, name, n, args);
}

/* ---- functions and methods ------------------------------------------------------------------------------------ */

static type *call_return_type(emitter *e, function *f) {
    if (!f->return_declared && function_ensure_compiled(f, e->diag) != CTSC_OK) return NULL;
    return f->schema->returns[0].type;
}

ir_value *emit_function_call(emitter *e, source_range r, function *f, int nargs, const actual *args) {
    type *ret = call_return_type(e, f);
    if (!ret) return NULL;
    match_result *m = call_match(e, r, f->schema, nargs, args);
    if (!m) return NULL;
    e->g->range = r;
    ir_value *fv = emit_constant_take(e, (value){.tag = V_FUNCTION, .u.function = f}, TYPE_FUNCTION);
    if (!fv) return NULL;
    if (fv->def) node_set_str(fv->def, "name", f->name);
    node *n = node_new(e->g, N_CALL_FUNCTION, 1, &fv, 1);
    for (int i = 0; i < m->ninputs; i++) node_add_input(n, m->inputs[i]);
    n->outputs.data[0]->type = ret;
    graph_insert(e->g, n);
    return n->outputs.data[0];
}

ir_value *emit_method(emitter *e, source_range r, ir_value *self, const char *name, int nargs, const actual *args) {
    function *f = class_find_method(self->type, name);
    if (!f) return emit_fail(e, r, "'%s' has no method '%s'", class_name(self->type), name);
    type *ret = call_return_type(e, f);
    if (!ret) return NULL;
    actual *all = arena_array(e->scratch, actual, nargs + 1);
    if (!all) return diag_no_memory(e->diag), NULL;
    all[0] = (actual){NULL, self, r};
    if (nargs) memcpy(all + 1, args, (size_t)nargs * sizeof *args);
    match_result *m = call_match(e, r, f->schema, nargs + 1, all);
    if (!m) return NULL;
    e->g->range = r;
    node *n = node_new(e->g, N_CALL_METHOD, m->ninputs, m->inputs, 1);
    node_set_str(n, "name", name);
    n->outputs.data[0]->type = ret;
    graph_insert(e->g, n);
    return n->outputs.data[0];
}

/* C(...): creates an object and runs __init__; a named tuple is built from its fields. */
static sugar *call_class(emitter *e, const expr *x, type *t) {
    actual *args;
    int n;
    if (!call_arguments(e, x, &args, &n)) return NULL;
    if (t->kind == T_TUPLE) {
        schema s = {.name = t->name, .overload = "", .nargs = t->nelems};
        s.args = arena_array(e->scratch, argument, t->nelems ? t->nelems : 1);
        if (!s.args) return diag_no_memory(e->diag), NULL;
        for (int i = 0; i < t->nelems; i++)
            s.args[i] = (argument){.name = t->field_names[i], .type = t->elems[i]};
        match_result *m = call_match(e, x->range, &s, n, args);
        return m ? sugar_of_value(e, emit_tuple(e, x->range, t, m->ninputs, m->inputs)) : NULL;
    }
    if (t->kind != T_CLASS) {
        emit_fail(e, x->range, "this class cannot be called");
        return NULL;
    }
    e->g->range = x->range;
    node *obj = graph_insert(e->g, node_new(e->g, N_CREATE_OBJECT, 0, NULL, 1));
    obj->outputs.data[0]->type = t;
    if (class_find_method(t, "__init__") &&
        !emit_method(e, x->range, obj->outputs.data[0], "__init__", n, args))
        return NULL;
    return sugar_of_value(e, obj->outputs.data[0]);
}

/* ---- special forms ---------------------------------------------------------------------------------------------- */

ir_value *emit_cast(emitter *e, source_range r, type_kind to, ir_value *v) {
    static const struct { type_kind kind; const char *op, *magic; } casts[] = {
        {T_INT, "aten::Int", "__int__"},   {T_FLOAT, "aten::Float", "__float__"},
        {T_BOOL, "aten::Bool", "__bool__"}, {T_STR, "aten::str", "__str__"},
        {T_COMPLEX, "aten::Complex", "__complex__"}};
    if (v->type->kind == to) return v;
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
        if (casts[i].kind != to) continue;
        if (v->type->kind == T_CLASS) return emit_method(e, r, v, casts[i].magic, 0, NULL);
        return emit_builtin_values(e, r, casts[i].op, 1, &v);
    }
    return NULL;
}

static ir_value *special_typed(emitter *e, const expr *x, int form) {
    type *t = NULL;
    if (x->items.len < 1 || annotation_type(e->unit, e->diag, x->items.data[0], &t) != CTSC_OK)
        return x->items.len ? NULL : emit_fail(e, x->range, "a type is missing");
    if (form == SPECIAL_UNINITIALIZED) {
        node *n = graph_insert(e->g, node_new(e->g, N_UNINITIALIZED, 0, NULL, 1));
        n->outputs.data[0]->type = t;
        return n->outputs.data[0];
    }
    if (x->items.len != 2) return emit_fail(e, x->range, "a type and a value are expected");
    ir_value *v = emit_expr(e, x->items.data[1], t);
    if (!v) return NULL;
    e->g->range = x->range;
    if (form == SPECIAL_UNCHECKED_CAST) {
        node *n = graph_insert(e->g, node_new(e->g, N_UNCHECKED_CAST, 1, &v, 1));
        n->outputs.data[0]->type = t;
        return n->outputs.data[0];
    }
    v = match_convert(e, x->range, t, v, true);
    if (!v || type_is_subtype(v->type, t)) {
        /* annotate(Optional[T], None): the static type widens */
        if (v && v->type->kind == T_NONE && t->kind == T_OPTIONAL) {
            node *n = graph_insert(e->g, node_new(e->g, N_UNCHECKED_CAST, 1, &v, 1));
            n->outputs.data[0]->type = t;
            return n->outputs.data[0];
        }
        return v;
    }
    strbuf a = STRBUF_INIT, b = STRBUF_INIT;
    type_print_python(t, &a);
    type_print_python(v->type, &b);
    emit_fail(e, x->range, "expected an expression of type %s but found %s", sb_str(&a), sb_str(&b));
    sb_free(&a);
    sb_free(&b);
    return NULL;
}

static ir_value *special_isinstance(emitter *e, const expr *x) {
    if (x->items.len != 2) return emit_fail(e, x->range, "isinstance expects two arguments");
    ir_value *v = emit_expr(e, x->items.data[0], NULL);
    if (!v) return NULL;
    const expr *tx = x->items.data[1];
    VEC(type *) types = {0};
    size_t n = tx->kind == E_TUPLE ? tx->items.len : 1;
    for (size_t i = 0; i < n; i++) {
        type *t = NULL;
        const expr *one = tx->kind == E_TUPLE ? tx->items.data[i] : tx;
        if (one->kind == E_NAME && !strcmp(one->name, "list")) t = type_of_kind(T_ANY_LIST);
        else if (one->kind == E_NAME && !strcmp(one->name, "tuple")) t = type_of_kind(T_ANY_TUPLE);
        else if (annotation_type(e->unit, e->diag, one, &t) != CTSC_OK) return NULL;
        avec_push(e->scratch, &types, t);
    }
    node *nd = node_new(e->g, N_ISINSTANCE, 1, &v, 1);
    node_set_types(nd, "types", (int)types.len, types.data);
    nd->outputs.data[0]->type = TYPE_BOOL;
    graph_insert(e->g, nd);
    return nd->outputs.data[0];
}

static sugar *special_getattr(emitter *e, const expr *x) {
    if (x->items.len < 2 || x->items.data[1]->kind != E_STR) {
        emit_fail(e, x->range, "getattr's second argument must be a string literal");
        return NULL;
    }
    sugar *obj = emit_sugar(e, x->items.data[0], NULL);
    return obj ? emit_attribute(e, x->range, obj, intern(&e->unit->names, x->items.data[1]->s)) : NULL;
}

static sugar *special_range(emitter *e, const expr *x) {
    actual *a;
    int n;
    if (!call_arguments(e, x, &a, &n)) return NULL;
    if (n < 1 || n > 3) {
        emit_fail(e, x->range, "range expected 1 to 3 arguments, got %d", n);
        return NULL;
    }
    for (int i = 0; i < n; i++)
        if (a[i].value->type->kind != T_INT) {
            a[i].value = match_convert(e, x->range, TYPE_INT, a[i].value, true);
            if (!a[i].value || a[i].value->type->kind != T_INT) {
                emit_fail(e, a[i].range, "all inputs of range must be ints");
                return NULL;
            }
        }
    sugar *s = sugar_new(e, SUGAR_RANGE);
    if (n == 1) {
        s->length = a[0].value;
        return s;
    }
    s->start = a[0].value;
    s->step = n == 3 ? a[2].value : graph_constant_int(e->g, 1);
    ir_value *args[] = {s->start, a[1].value, s->step};
    s->length = emit_builtin_values(e, x->range, "aten::__range_length", 3, args);
    return s->length ? s : NULL;
}

static ir_value *special_print(emitter *e, const expr *x) {
    actual *a;
    int n;
    if (!call_arguments(e, x, &a, &n)) return NULL;
    e->g->range = x->range;
    node *nd = node_new(e->g, N_PRINT, 0, NULL, 0);
    for (int i = 0; i < n; i++) node_add_input(nd, a[i].value);
    graph_insert(e->g, nd);
    return graph_constant_none(e->g);
}

static ir_value *special_cast(emitter *e, const expr *x, int form) {
    type_kind to = form == SPECIAL_INT ? T_INT : form == SPECIAL_FLOAT ? T_FLOAT : form == SPECIAL_BOOL ? T_BOOL
                   : form == SPECIAL_STR ? T_STR : T_COMPLEX;
    actual *a;
    int n;
    if (!call_arguments(e, x, &a, &n)) return NULL;
    if (n == 2 && to == T_COMPLEX) return emit_builtin(e, x->range, "aten::Complex", n, a);
    if (n != 1) return emit_fail(e, x->range, "a cast takes one argument");
    return emit_cast(e, x->range, to, a[0].value);
}

static ir_value *special_fork(emitter *e, const expr *x) {
    if (x->items.len < 1) return emit_fail(e, x->range, "fork expects a function");
    sugar *s = emit_sugar(e, x->items.data[0], NULL);
    if (!s) return NULL;
    if (s->kind != SUGAR_CLOSURE) return emit_fail(e, x->range, "fork expects a function defined here");
    return emit_fork(e, s->def, x->range);
}

static sugar *call_special(emitter *e, const expr *x, const sugar *s, type *hint) {
    (void)hint;
    switch (s->special) {
    case SPECIAL_ANNOTATE:
    case SPECIAL_UNCHECKED_CAST:
    case SPECIAL_UNINITIALIZED: return sugar_of_value(e, special_typed(e, x, s->special));
    case SPECIAL_ISINSTANCE: return sugar_of_value(e, special_isinstance(e, x));
    case SPECIAL_GETATTR: return special_getattr(e, x);
    case SPECIAL_RANGE: return special_range(e, x);
    case SPECIAL_PRINT: return sugar_of_value(e, special_print(e, x));
    case SPECIAL_FORK: return sugar_of_value(e, special_fork(e, x));
    case SPECIAL_LIST:
    case SPECIAL_TUPLE: {
        ir_value *v = x->items.len == 1 ? emit_expr(e, x->items.data[0], NULL) : NULL;
        if (!v) return emit_fail(e, x->range, "%s expects one argument", s->name), NULL;
        if (s->special == SPECIAL_TUPLE && v->type->kind == T_TUPLE) return sugar_of_value(e, v);
        return sugar_of_value(e, emit_builtin_values(e, x->range, "aten::list", 1, &v));
    }
    default: return sugar_of_value(e, special_cast(e, x, s->special));
    }
}

/* ---- dispatch -------------------------------------------------------------------------------------------------- */

/* x.tolist() is typed by what is expected of it. */
static ir_value *call_tolist(emitter *e, source_range r, ir_value *self, type *hint) {
    if (!hint) return emit_fail(e, r, "Expected type hint for result of tolist()");
    type *base = hint;
    int dims = 0;
    while (base->kind == T_LIST) base = type_elem(base), dims++;
    ir_value *in[] = {self};
    node *n = graph_insert(e->g, node_new(e->g, N_TOLIST, 1, in, 1));
    node_set_int(n, "dim", dims);
    n->outputs.data[0]->type = hint;
    return n->outputs.data[0];
}

static ir_value *call_builtin(emitter *e, const expr *x, const sugar *s, type *hint) {
    actual *args, *all;
    int n;
    if (s->value && s->value->type->kind == T_TENSOR && !strcmp(s->name, "aten::tolist"))
        return call_tolist(e, x->range, s->value, hint);
    if (!call_arguments(e, x, &args, &n)) return NULL;
    if (!strcmp(s->name, "prim::RaiseException")) {
        e->g->range = x->range;
        node *nd = node_new(e->g, N_RAISE, 0, NULL, 0);
        for (int i = 0; i < n; i++) node_add_input(nd, args[i].value);
        if (n == 1) node_add_input(nd, graph_constant_none(e->g));
        if (n < 1 || n > 2 || args[0].value->type->kind != T_STR)
            return emit_fail(e, x->range, "prim::RaiseException expects a message");
        graph_insert(e->g, nd);
        return graph_constant_none(e->g);
    }
    if (!s->value) return emit_builtin(e, x->range, s->name, n, args);
    all = arena_array(e->scratch, actual, n + 1);
    if (!all) return diag_no_memory(e->diag), NULL;
    all[0] = (actual){NULL, s->value, x->range};
    if (n) memcpy(all + 1, args, (size_t)n * sizeof *args);
    return emit_builtin(e, x->range, s->name, n + 1, all);
}

sugar *emit_call(emitter *e, const expr *x, type *hint) {
    sugar *callee = emit_sugar(e, x->a, NULL);
    actual *args;
    int n;
    if (!callee) return NULL;
    switch (callee->kind) {
    case SUGAR_SPECIAL: return call_special(e, x, callee, hint);
    case SUGAR_BUILTIN: return sugar_of_value(e, call_builtin(e, x, callee, hint));
    case SUGAR_CLASS: return call_class(e, x, callee->type);
    case SUGAR_NEW: {
        e->g->range = x->range;
        node *obj = graph_insert(e->g, node_new(e->g, N_CREATE_OBJECT, 0, NULL, 1));
        obj->outputs.data[0]->type = callee->type;
        return sugar_of_value(e, obj->outputs.data[0]);
    }
    case SUGAR_FUNCTION:
        if (!call_arguments(e, x, &args, &n)) return NULL;
        return sugar_of_value(e, emit_function_call(e, x->range, callee->fn, n, args));
    case SUGAR_METHOD:
        if (!call_arguments(e, x, &args, &n)) return NULL;
        return sugar_of_value(e, emit_method(e, x->range, callee->value, callee->name, n, args));
    case SUGAR_VALUE:
        if (callee->value->type->kind == T_CLASS && class_find_method(callee->value->type, "__call__")) {
            if (!call_arguments(e, x, &args, &n)) return NULL;
            return sugar_of_value(e, emit_method(e, x->range, callee->value, "__call__", n, args));
        } else {
            strbuf sb = STRBUF_INIT;
            type_print_python(callee->value->type, &sb);
            emit_fail(e, x->range, "'%s' object is not callable", sb_str(&sb));
            sb_free(&sb);
            return NULL;
        }
    case SUGAR_QUALIFIED: emit_fail(e, x->range, "Unknown type name or function '%s'", callee->name); return NULL;
    default: emit_fail(e, x->range, "this cannot be called"); return NULL;
    }
}
