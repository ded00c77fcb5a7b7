/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen_call.c - calls: arguments, operators, functions, methods, constructors.
 *
 * A call evaluates its callee to a sugar, then its arguments to values; match.c
 * picks the overload. Forms whose arguments are not simply values are in
 * irgen_special.c. Nodes of a call have the callee's source location, as in PyTorch.
 * Tests: tests/corpus, tests/lang
 */
#include "frontend/codeload/upgraders.h"
#include "frontend/irgen/irgen.h"
#include "frontend/irgen/irgen_special.h"

enum { CALL_MAX_FUNCTIONS = 8, CALL_MAX_OVERLOADS = 256 };

/* ---- arguments ------------------------------------------------------------------------------- */

typedef VEC(actual) call_actuals;

static bool call_push_value(emitter *e, source_range r, ir_value *v, call_actuals *args) {
    actual a = {NULL, v, r};
    return v && (avec_push(e->scratch, args, a) || (diag_no_memory(e->diag), false));
}

static bool call_push_spread(emitter *e, source_range r, sugar *s, call_actuals *args) {
    ir_value **parts = NULL;
    int n = 0;
    if (!s || !irgen_spread(e, r, s, &parts, &n)) return false;
    for (int k = 0; k < n; k++)
        if (!call_push_value(e, r, parts[k], args)) return false;
    return true;
}

/* Calls with starred arguments, beyond what PyTorch takes. */
static bool call_starred_arguments(emitter *e, const expr *x, size_t first, call_actuals *args) {
    value_vector values = {0};
    bool joined;
    if (!irgen_starred(e, x->range, &x->items, first, &values, &joined)) return false;
    for (size_t i = 0; i < values.len; i++)
        if (!call_push_value(e,
                             joined || values.len + first != x->items.len
                                 ? x->range
                                 : x->items.data[first + i]->range,
                             values.data[i], args))
            return false;
    return true;
}

static bool call_positional(emitter *e, const expr *x, size_t first, call_actuals *args) {
    if (e->lenient && irgen_has_starred(&x->items, first))
        return call_starred_arguments(e, x, first, args);
    for (size_t i = first; i < x->items.len; i++) {
        const expr *it = x->items.data[i];
        bool ok = it->kind == E_STARRED
                      ? call_push_spread(e, it->range, irgen_sugar(e, it->a, NULL), args)
                      : call_push_value(e, it->range, irgen_expr(e, it, NULL), args);
        if (!ok) return false;
    }
    return true;
}

/* **kwargs of a function that is compiled into its caller */
static bool call_keywords(emitter *e, source_range r, const sugar *s, call_actuals *args) {
    for (int i = 0; i < s->nitems; i++) {
        actual a = {s->keys[i], irgen_as_value(e, r, s->items[i]), r};
        if (!a.value) return false;
        if (!avec_push(e->scratch, args, a)) return diag_no_memory(e->diag), false;
    }
    return true;
}

bool irgen_arguments(emitter *e, const expr *x, size_t first, actual **out, int *n) {
    call_actuals args = {0};
    if (!call_positional(e, x, first, &args)) return false;
    for (size_t i = 0; i < x->kwargs.len; i++) {
        const keyword *k = &x->kwargs.data[i];
        if (!k->name) {
            sugar *s = e->lenient && k->value->kind == E_NAME ? irgen_sugar(e, k->value, NULL)
                                                              : NULL;
            if (s && s->kind == SUGAR_TUPLE && (s->keys || !s->nitems)) {
                if (!call_keywords(e, k->range, s, &args)) return false;
                continue;
            }
            irgen_fail(e, k->range, "keyword-arg expansion is not supported");
            return false;
        }
        actual a = {k->name, irgen_expr(e, k->value, NULL), k->range};
        if (!a.value) return false;
        avec_push(e->scratch, &args, a);
    }
    *out = args.data;
    *n = (int)args.len;
    return true;
}

/* args with one more in front; NULL if out of memory. */
static actual *call_prepend(emitter *e, actual first, int n, const actual *args) {
    actual *all = arena_array(e->scratch, actual, n + 1);
    if (!all) return diag_no_memory(e->diag), NULL;
    all[0] = first;
    if (n) memcpy(all + 1, args, (size_t)n * sizeof *args);
    return all;
}

/* ---- operators ------------------------------------------------------------------------------- */

/* Several results become a tuple, with the names that the schema gives them. */
static ir_value *call_pack(emitter *e, source_range r, const schema *s, node *n) {
    int k = (int)n->outputs.len;
    if (k == 1) return n->outputs.data[0];
    if (k == 0) return graph_constant_none(e->g);
    const char **names = arena_array(e->scratch, const char *, k);
    type **types = arena_array(e->scratch, type *, k);
    if (!names || !types) return diag_no_memory(e->diag), NULL;
    bool named = k == s->nreturns;
    for (int i = 0; i < k; i++) {
        names[i] = named ? s->returns[i].name : "";
        types[i] = n->outputs.data[i]->type;
        named = named && names[i][0];
    }
    return irgen_tuple(e, r, named ? type_named_tuple(NULL, NULL, k, names, types) : NULL, k,
                       n->outputs.data);
}

static ir_value *call_insert_op(emitter *e, source_range r, const op *o, const match_result *m) {
    e->g->range = r;
    node *n = node_new_op(e->g, o, m->ninputs, m->inputs);
    for (int i = 0; i < m->nreturns && i < (int)n->outputs.len; i++)
        n->outputs.data[i]->type = m->returns[i];
    graph_insert(e->g, n);
    return call_pack(e, r, o->schema, n);
}

/* The body of a function that implements an operator replaces the call. */
static ir_value *call_inline(emitter *e, source_range r, function *f, const match_result *m) {
    ir_value *out = NULL;
    if (function_ensure_compiled(f, e->diag) != CTSC_OK) return NULL;
    e->g->range = r;
    graph_inline(e->g, e->g->insert_block, e->g->insert_before, f->graph, m->inputs, &out);
    return irgen_failed(e) ? (diag_no_memory(e->diag), NULL) : out;
}

/* An operator of an older archive. */
static ir_value *call_upgrader(emitter *e, source_range r, function *up, int nargs,
                               const actual *args) {
    const schema *s = up->schema;
    int which;
    match_result *m = match_schemas(e, r, &s, 1, nargs, args, &which);
    return m ? call_inline(e, r, up, m) : NULL;
}

static ir_value *call_unknown(emitter *e, source_range r, const char *name) {
    const char *close[4];
    int n = op_similar(name, close, 4);
    strbuf sb = STRBUF_INIT;
    sb_printf(&sb, "Unknown builtin op: %s.\n", name);
    if (n) {
        sb_puts(&sb, "Here are some suggestions: \n");
        for (int i = 0; i < n; i++) {
            bool again = false;
            for (int k = 0; k < i; k++) again = again || !strcmp(close[k], close[i]);
            if (!again) sb_printf(&sb, "\t%s\n", close[i]);
        }
        sb_puts(&sb, "\nThe original call is");
    } else {
        sb_printf(&sb,
                  "Could not find any similar ops to %s. This op may not exist or may not be "
                  "currently supported in "
                  "TorchScript.\n",
                  name);
    }
    irgen_fail(e, r, "%s", sb_str(&sb));
    sb_free(&sb);
    irgen_note_library(e, name);
    return NULL;
}

ir_value *irgen_builtin(emitter *e, source_range r, const char *name, int nargs,
                        const actual *args) {
    /* what they call is today's */
    bool upgrades = e->fn && !strncmp(e->fn->qualified, "__upgraders__.", 14);
    function *up = e->scope || upgrades ? NULL : upgrader_for(e->unit, e->diag, name, nargs, args);
    if (e->diag->status != CTSC_OK) return NULL;
    if (up) return call_upgrader(e, r, up, nargs, args);
    int n = 0, which = 0;
    const op *const *ops = op_overloads(name, &n);
    function *functions[CALL_MAX_FUNCTIONS];
    int nf = builtin_functions(e->unit, e->diag, name, functions, CALL_MAX_FUNCTIONS);
    if (e->diag->status != CTSC_OK) return NULL;
    bool admitted = irgen_admits_unknown(e);
    if (n + nf == 0)
        return admitted ? irgen_unknown(e, r, name, false, nargs, args) : call_unknown(e, r, name);
    if (n > CALL_MAX_OVERLOADS) n = CALL_MAX_OVERLOADS;
    const schema *list[CALL_MAX_OVERLOADS + CALL_MAX_FUNCTIONS];
    for (int i = 0; i < n; i++) list[i] = ops[i]->schema;
    for (int i = 0; i < nf; i++) list[n + i] = functions[i]->schema;
    e->g->range = r;
    match_result *m = match_schemas(e, r, list, n + nf, nargs, args, &which);
    if (!m && admitted && e->diag->status == CTSC_FAILED) {
        diag_clear(e->diag);
        return irgen_unknown(e, r, name, true, nargs, args);
    }
    if (!m) return NULL;
    return which < n ? call_insert_op(e, r, ops[which], m)
                     : call_inline(e, r, functions[which - n], m);
}

ir_value *irgen_overload(emitter *e, source_range r, const op *o, int nargs, const actual *args) {
    int which;
    e->g->range = r;
    match_result *m = match_schemas(e, r, &o->schema, 1, nargs, args, &which);
    return m ? call_insert_op(e, r, o, m) : NULL;
}

ir_value *irgen_builtin_values(emitter *e, source_range r, const char *name, int n,
                               ir_value *const *vals) {
    actual args[8] = {{0}};
    for (int i = 0; i < n; i++) args[i] = (actual){NULL, vals[i], r};
    return irgen_builtin(e, r, name, n, args);
}

/* ---- functions and methods ------------------------------------------------------------------- */

/* Programs from source compile what they call at once, so that recursion is found; an archive's
 * functions wait for their first run, unless their result is not declared. */
static bool call_compile(emitter *e, source_range r, function *f) {
    bool interface = f->cls && f->cls->kind == T_INTERFACE;
    if (interface || (f->return_declared && !e->scope)) return true;
    if (function_ensure_compiled(f, e->diag) == CTSC_OK) return true;
    if (f->state != FUNCTION_FAILED || !e->scope) return diag_locate(e->diag, r), false;
    e->scope->ops->refused(e, f);
    diag_note(e->diag, r, "'%s' is being compiled since it was called from '%s'", f->name,
              e->fn ? e->fn->name : "");
    return false;
}

/* Where the program defines what is called. What ctsc brings along has no place of interest. */
static void call_note_definition(emitter *e, const function *f) {
    const func_def *def = f->def;
    if (!e->scope || !def || !def->name_range.src || def->name_range.src->library) return;
    diag_note(e->diag, def->name_range, "'%s' is defined here", f->name);
}

/* One of several functions: of a function or method with overloads. */
static match_result *call_match_once(emitter *e, source_range r, function *const *list, int n,
                                     int nargs, const actual *args, function **out) {
    const schema *schemas[CALL_MAX_OVERLOADS];
    int which = 0;
    if (n > CALL_MAX_OVERLOADS) n = CALL_MAX_OVERLOADS;
    for (int i = 0; i < n; i++) {
        if (!call_compile(e, r, list[i])) return NULL;
        schemas[i] = list[i]->schema;
    }
    match_result *m = match_schemas(e, r, schemas, n, nargs, args, &which);
    if (!m && n == 1) call_note_definition(e, list[0]);
    *out = list[which];
    return m;
}

static match_result *call_match(emitter *e, source_range r, function *const *list, int n, int nargs,
                                const actual *args, function **out) {
    match_result *m = call_match_once(e, r, list, n, nargs, args, out);
    if (m || n != 1 || !e->lenient || !e->scope || e->diag->status != CTSC_FAILED) return m;
    function *other = e->scope->ops->specialized(e, list[0], nargs, args);
    if (!other) return NULL;
    diag_clear(e->diag); /* why the other one does not do */
    return call_match_once(e, r, &other, 1, nargs, args, out);
}

static ir_value *call_function_node(emitter *e, source_range r, function *f,
                                    const match_result *m) {
    e->g->range = (source_range){0}; /* the function's name has no node of its own */
    ir_value *fv = irgen_constant_take(e, (value){.tag = V_FUNCTION, .u.function = f},
                                       TYPE_FUNCTION);
    e->g->range = r;
    if (!fv) return NULL;
    if (fv->def) node_set_str(fv->def, "name", f->name);
    node *n = node_new(e->g, N_CALL_FUNCTION, 1, &fv, 1);
    for (int i = 0; i < m->ninputs; i++) node_add_input(n, m->inputs[i]);
    n->outputs.data[0]->type = f->schema->returns[0].type;
    graph_insert(e->g, n);
    return n->outputs.data[0];
}

static ir_value *call_functions(emitter *e, source_range r, function *const *list, int n, int nargs,
                                const actual *args) {
    function *f = NULL;
    match_result *m = call_match(e, r, list, n, nargs, args, &f);
    return m ? call_function_node(e, r, f, m) : NULL;
}

ir_value *irgen_function_call(emitter *e, source_range r, function *f, int nargs,
                              const actual *args) {
    return call_functions(e, r, &f, 1, nargs, args);
}

static ir_value *call_methods(emitter *e, source_range r, ir_value *self, function *const *list,
                              int n, int nargs, const actual *args) {
    function *f = NULL;
    actual *all = call_prepend(e, (actual){NULL, self, r}, nargs, args);
    match_result *m = all ? call_match(e, r, list, n, nargs + 1, all, &f) : NULL;
    if (!m) return NULL;
    e->g->range = r;
    node *nd = node_new(e->g, N_CALL_METHOD, m->ninputs, m->inputs, 1);
    node_set_str(nd, "name", f->name);
    nd->outputs.data[0]->type = f->schema->returns[0].type;
    graph_insert(e->g, nd);
    return nd->outputs.data[0];
}

function *irgen_find_method(emitter *e, type *cls, const char *name) {
    if (cls->kind != T_CLASS && cls->kind != T_INTERFACE) return NULL;
    function *f = class_find_method(cls, name);
    return f || !e->scope || cls->kind != T_CLASS ? f : e->scope->ops->method(e, cls, name);
}

ir_value *irgen_method(emitter *e, source_range r, ir_value *self, const char *name, int nargs,
                       const actual *args) {
    function *f = irgen_find_method(e, self->type, name);
    if (irgen_failed(e)) return NULL;
    if (f) return call_methods(e, r, self, &f, 1, nargs, args);
    /* overloads; or its error */
    sugar *found = irgen_attribute(e, r, sugar_of_value(e, self), name);
    if (found && found->kind == SUGAR_METHOD && !found->nitems)
        return irgen_fail(e, r, "'%s' has no method '%s'", class_name(self->type), name);
    sugar *out = found ? irgen_call_sugar(e, r, found, nargs, args, NULL) : NULL;
    return out ? irgen_as_value(e, r, out) : NULL;
}

/* ---- constructors ---------------------------------------------------------------------------- */

static sugar *call_named_tuple(emitter *e, source_range r, type *t, int nargs, const actual *args) {
    schema s = {.name = t->name ? t->name : "", .overload = "", .nargs = t->nelems};
    const schema *list = &s;
    int which;
    s.args = arena_array(e->scratch, argument, t->nelems + 1);
    if (!s.args) return diag_no_memory(e->diag), NULL;
    for (int i = 0; i < t->nelems; i++) {
        s.args[i] = (argument){.name = t->field_names[i], .type = t->elems[i]};
        if (!t->field_defaults || t->field_defaults[i].tag == V_UNINIT) continue;
        s.args[i].has_default = true;
        s.args[i].default_value = t->field_defaults[i];
    }
    match_result *m = match_schemas(e, r, &list, 1, nargs, args, &which);
    return m ? sugar_of_value(e, irgen_tuple(e, r, t, m->ninputs, m->inputs)) : NULL;
}

static ir_value *call_create(emitter *e, source_range r, type *t) {
    e->g->range = r;
    node *obj = graph_insert(e->g, node_new(e->g, N_CREATE_OBJECT, 0, NULL, 1));
    obj->outputs.data[0]->type = t;
    return obj->outputs.data[0];
}

/* C(...): creates an object and runs __init__; a named tuple is built from its fields. */
static sugar *call_class(emitter *e, source_range r, type *t, int nargs, const actual *args) {
    if (t->kind == T_TUPLE) return call_named_tuple(e, r, t, nargs, args);
    if (t->kind != T_CLASS) {
        irgen_fail(e, r, "cannot call a %s", t->kind == T_ENUM ? "EnumClass" : "interface");
        return NULL;
    }
    ir_value *self = call_create(e, r, t);
    function *init = irgen_find_method(e, t, "__init__");
    if (irgen_failed(e)) return NULL;
    if (!init && (nargs || e->scope)) {
        irgen_fail(e, r, "Class %s does not have an __init__ function defined", class_name(t));
        return NULL;
    }
    if (init && !call_methods(e, r, self, &init, 1, nargs, args)) return NULL;
    return sugar_of_value(e, self);
}

/* ---- objects that are called ----------------------------------------------------------------- */

/* A module with hooks: the pre-hooks may replace the arguments, the hooks the result.
 *     before: m(x)    after: a = (x,); a = pre(m, a); y = m.forward(*a); y = hook(m, a, y) */
static sugar *call_hooked(emitter *e, source_range r, ir_value *self, int nargs,
                          const actual *args) {
    const class_info *c = self->type->cls;
    ir_value **in = arena_array(e->scratch, ir_value *, nargs + 1), **parts = NULL;
    actual *pos = arena_array(e->scratch, actual, nargs + 1);
    int n = 0;
    if (!in || !pos) return diag_no_memory(e->diag), NULL;
    for (int i = 0; i < nargs; i++) in[i] = args[i].value;
    ir_value *tuple = irgen_tuple(e, r, NULL, nargs, in);
    for (size_t i = 0; i < c->forward_pre_hooks.len; i++) {
        actual given[] = {{NULL, self, r}, {NULL, tuple, r}};
        ir_value *v = irgen_function_call(e, r, c->forward_pre_hooks.data[i], 2, given);
        if (!v) return NULL;
        if (v->type->kind == T_NONE) continue;
        tuple = v->type->kind == T_TUPLE ? v : irgen_tuple(e, r, NULL, 1, &v);
    }
    if (c->forward_pre_hooks.len && nargs) {
        if (!irgen_unpack(e, r, tuple, 0, &parts, &n)) return NULL;
        pos = arena_array(e->scratch, actual, n + 1);
        if (!pos) return diag_no_memory(e->diag), NULL;
        for (int i = 0; i < n; i++) pos[i] = (actual){NULL, parts[i], r};
        nargs = n;
        args = pos;
    }
    ir_value *out = irgen_method(e, r, self, "forward", nargs, args);
    for (size_t i = 0; out && i < c->forward_hooks.len; i++) {
        actual given[] = {{NULL, self, r}, {NULL, tuple, r}, {NULL, out, r}};
        ir_value *v = irgen_function_call(e, r, c->forward_hooks.data[i], 3, given);
        if (!v) return NULL;
        if (v->type->kind != T_NONE) out = v;
    }
    return sugar_of_value(e, out);
}

static sugar *call_object(emitter *e, source_range r, ir_value *self, int nargs,
                          const actual *args) {
    type *t = self->type;
    if (t->kind != T_CLASS && t->kind != T_INTERFACE) {
        strbuf sb = STRBUF_INIT;
        type_print_python(t, &sb);
        irgen_fail(e, r, "cannot call a value of type '%s'", sb_str(&sb));
        sb_free(&sb);
        return NULL;
    }
    if (!t->cls->is_module)
        return sugar_of_value(e, irgen_method(e, r, self, "__call__", nargs, args));
    if (t->kind == T_CLASS && (t->cls->forward_hooks.len || t->cls->forward_pre_hooks.len))
        return call_hooked(e, r, self, nargs, args);
    return sugar_of_value(e, irgen_method(e, r, self, "forward", nargs, args));
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* v inside the subgraph: a parameter, fed by an input of the fork. */
static ir_value *call_fork_capture(emitter *inner, node *fork, ir_value *v) {
    for (size_t i = 0; i < fork->inputs.len; i++)
        if (fork->inputs.data[i] == v) return inner->g->root->params.data[i];
    ir_value *p = block_add_param(inner->g->root, v->type);
    if (value_has_name(v)) value_set_name(p, v->name);
    node_add_input(fork, v);
    return p;
}

ir_value *irgen_fork_call(emitter *e, source_range r, sugar *callee, int nargs,
                          const actual *args) {
    graph *g = graph_new();
    actual *inside = arena_array(e->scratch, actual, nargs + 1);
    if (!g || !inside) {
        if (g) graph_free(g);
        return diag_no_memory(e->diag), NULL;
    }
    node *fork = node_new(e->g, N_FORK, 0, NULL, 1);
    emitter inner = {.unit = e->unit,
                     .fn = e->fn,
                     .g = g,
                     .diag = e->diag,
                     .scratch = e->scratch,
                     .scope = e->scope,
                     .depth = e->depth};
    irgen_push_frame(&inner, g->root);
    graph_set_insert(g, g->root, NULL);
    sugar called = *callee;
    if (called.value) called.value = call_fork_capture(&inner, fork, called.value);
    for (int i = 0; i < nargs; i++) {
        inside[i] = args[i];
        inside[i].value = call_fork_capture(&inner, fork, args[i].value);
    }
    sugar *made = irgen_call_sugar(&inner, r, &called, nargs, inside, NULL);
    ir_value *result = made ? irgen_as_value(&inner, r, made) : NULL;
    while (inner.env) irgen_pop_frame(&inner);
    if (!result || arena_failed(&g->arena)) {
        graph_free(g);
        return diag_no_memory(e->diag), NULL;
    }
    block_add_return(g->root, result);
    e->g->range = r;
    graph_insert(e->g, fork);
    fork->outputs.data[0]->type = type_future(result->type);
    node_set_graph(fork, "Subgraph", g); /* owns g now; frees it without memory */
    return fork->outputs.data[0];
}

/* ---- dispatch -------------------------------------------------------------------------------- */

static function **call_overloads(emitter *e, const sugar *s, int *n) {
    *n = s->nitems;
    function **list = arena_array(e->scratch, function *, s->nitems + 1);
    if (!list) return diag_no_memory(e->diag), NULL;
    for (int i = 0; i < s->nitems; i++) list[i] = s->items[i]->fn;
    return list;
}

/* A sugar for a function or method: all of its overloads. */
static sugar *call_callable(emitter *e, source_range r, sugar *s, int nargs, const actual *args) {
    int n = 1;
    function **list = s->nitems ? call_overloads(e, s, &n) : &s->fn;
    if (!list) return NULL;
    if (s->kind == SUGAR_FUNCTION)
        return sugar_of_value(e, call_functions(e, r, list, n, nargs, args));
    if (s->nitems && list[0])
        return sugar_of_value(e, call_methods(e, r, s->value, list, n, nargs, args));
    return sugar_of_value(e, irgen_method(e, r, s->value, s->name, nargs, args));
}

/* A part of a Sequential */
static sugar *call_chain(emitter *e, source_range r, const sugar *s, int nargs,
                         const actual *args) {
    if (nargs != 1 || args[0].name)
        return irgen_fail(e, r, "a part of a Sequential takes one argument"), NULL;
    actual arg = args[0];
    for (int i = 0; i < s->nitems; i++) {
        sugar *out = irgen_call_sugar(e, r, s->items[i], 1, &arg, NULL);
        arg.value = out ? irgen_as_value(e, r, out) : NULL;
        if (!arg.value) return NULL;
    }
    return sugar_of_value(e, arg.value);
}

sugar *irgen_call_sugar(emitter *e, source_range r, sugar *s, int nargs, const actual *args,
                        type *hint) {
    (void)hint;
    switch (s->kind) {
    case SUGAR_BUILTIN: {
        if (!s->value) return sugar_of_value(e, irgen_builtin(e, r, s->name, nargs, args));
        actual *all = call_prepend(e, (actual){NULL, s->value, r, true}, nargs, args);
        return all ? sugar_of_value(e, irgen_builtin(e, r, s->name, nargs + 1, all)) : NULL;
    }
    case SUGAR_FUNCTION:
    case SUGAR_METHOD: return call_callable(e, r, s, nargs, args);
    case SUGAR_CLASS: return call_class(e, r, s->type, nargs, args);
    case SUGAR_VALUE: return call_object(e, r, s->value, nargs, args);
    case SUGAR_QUALIFIED:
        irgen_fail(e, r, "Unknown type name or function '%s'", s->name);
        return NULL;
    case SUGAR_TUPLE:
        if (s->chain) return call_chain(e, r, s, nargs, args);
        /* fallthrough */
    default: irgen_fail(e, r, "cannot call a %s", sugar_kind_text(s)); return NULL;
    }
}

/* ops.prim.RaiseException(message, class), which archives hold */
static ir_value *call_raise(emitter *e, const expr *x) {
    actual *args;
    int n;
    if (!irgen_arguments(e, x, 0, &args, &n)) return NULL;
    if (n < 1 || n > 2 || args[0].value->type->kind != T_STR)
        return irgen_fail(e, x->range, "prim::RaiseException expects a message");
    e->g->range = x->range;
    node *nd = node_new(e->g, N_RAISE, 0, NULL, 0);
    for (int i = 0; i < n; i++) node_add_input(nd, args[i].value);
    if (n == 1) node_add_input(nd, graph_constant_none(e->g));
    graph_insert(e->g, nd);
    return graph_constant_none(e->g);
}

/* The only calls that ask what is wanted of them. */
static sugar *call_wanted(emitter *e, const expr *x, sugar *callee, int n, const actual *args,
                          type *hint, int parts) {
    e->wanted.type = hint;
    e->wanted.parts = parts;
    sugar *out = irgen_call_sugar(e, x->a->range, callee, n, args, hint);
    e->wanted.type = NULL;
    e->wanted.parts = 0;
    return out;
}

/* self.options.get("rate", 0.5), torch.cuda.is_available(): methods and functions of
 * what is not a value.
 * NULL without an error: not known while compiling. */
static sugar *call_known(emitter *e, const expr *x) {
    if (!e->lenient || !e->scope || x->a->kind != E_ATTR) return NULL;
    const expr *base = x->a->a;
    while (base->kind == E_ATTR) base = base->a;
    if (base->kind != E_NAME) return NULL;
    const sugar *of = irgen_sugar(e, x->a->a, NULL);
    return of && of->kind == SUGAR_PY ? e->scope->ops->static_sugar(e, x) : NULL;
}

/* self.__getattr__(name) is getattr(self, name) */
static const expr *call_getattr(emitter *e, const expr *x) {
    if (!e->lenient || !e->scope || x->a->kind != E_ATTR || strcmp(x->a->name, "__getattr__") ||
        x->items.len != 1 || x->kwargs.len)
        return NULL;
    expr *c = arena_new(e->scratch, expr);
    *c = *x;
    c->items = (expr_list){0};
    return avec_push(e->scratch, &c->items, x->a->a) &&
                   avec_push(e->scratch, &c->items, x->items.data[0])
               ? c
               : (diag_no_memory(e->diag), NULL);
}

sugar *irgen_call(emitter *e, const expr *x, type *hint) {
    int parts = e->wanted.parts;
    e->wanted.parts = 0; /* of this call, not of those among its arguments */
    sugar *known = call_known(e, x);
    if (known || irgen_failed(e)) return known;
    const expr *by_name = call_getattr(e, x);
    if (by_name) return irgen_special_call(e, by_name, &(sugar){.special = SPECIAL_GETATTR}, hint);
    if (irgen_failed(e)) return NULL;
    sugar *callee = irgen_sugar(e, x->a, NULL);
    actual *args;
    int n;
    if (!callee) return NULL;
    if (callee->kind == SUGAR_SPECIAL) return irgen_special_call(e, x, callee, hint);
    inlinee to = {0};
    if (e->lenient && e->scope && e->scope->ops->inlined(e, x->a->range, callee, &to))
        return irgen_inline_call(e, x, callee, &to, hint);
    if (irgen_failed(e)) return NULL;
    if (callee->kind == SUGAR_PY) return e->scope->ops->call(e, x, callee, hint);
    /* C.__new__(C) */
    if (callee->kind == SUGAR_NEW)
        return sugar_of_value(e, call_create(e, x->a->range, callee->type));
    if (callee->kind == SUGAR_BUILTIN) {
        op_symbol op = op_symbol_of(callee->name);
        if (op == SYM_PRIM_RAISEEXCEPTION) return sugar_of_value(e, call_raise(e, x));
        if (op == SYM_FORMAT && callee->value)
            return sugar_of_value(e, irgen_str_format(e, x, callee->value));
    }
    if (!irgen_arguments(e, x, 0, &args, &n)) return NULL;
    if (callee->kind == SUGAR_BUILTIN) return call_wanted(e, x, callee, n, args, hint, parts);
    return irgen_call_sugar(e, x->a->range, callee, n, args, hint);
}
