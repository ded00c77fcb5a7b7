/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_call.c - the part of ctsc.h about calling operators by name.
 *
 * Method. A call becomes a function of its own (frontend/trace/call_graph.h): overload resolution
 * is the compiler's, so are conversions and defaults, and the interpreter runs derived, composite
 * and registered operators alike. A scope keeps these functions by operator and types of arguments;
 * the second call costs a lookup and a run.
 * Ownership: the functions live in the scope's unit.
 * Tests: tests/unit/test_trace.c
 */
#include "runtime/api/api_scope.h"
#include "runtime/interp/interp.h"
#include "tensor/device.h"

#include <stdarg.h>
#include <string.h>

enum { CALL_FEW = 16, CALL_KEY = 512, CALL_MAX_KNOWN = 4096 };

typedef struct scope_known {
    function *f;
    /* of the name when it was made: registering an operator makes a new array */
    const void *overloads;
} scope_known;

/* ---- scopes ---------------------------------------------------------------------------------- */

void scope_init(ctsc_scope *s) {
    memset(s, 0, offsetof(ctsc_scope, rt));
    runtime_init(&s->rt);
    s->trace = NULL;
    s->trace_unit = NULL;
    s->copier = NULL;
    s->read = (ptrmap){0};
}

static void scope_forget(ctsc_scope *s) {
    scope_trace_drop(s);
    for (size_t i = s->owned.len; i-- > 0;) ctsc_value_free(s->owned.data[i]);
    s->owned.len = 0;
    diag_clear(&s->error.d);
}

void scope_close(ctsc_scope *s) {
    scope_forget(s);
    vec_free(&s->owned);
    strmap_free(&s->calls);
    if (!s->unit) return;
    unit_close(s->unit);
    unit_unref(s->unit);
}

ctsc_scope *ctsc_scope_new(void) {
    ctsc_scope *s = mem_alloc(sizeof *s);
    if (s) scope_init(s);
    return s;
}

void ctsc_scope_free(ctsc_scope *s) {
    if (!s) return;
    scope_close(s);
    mem_free(s);
}

void ctsc_scope_reset(ctsc_scope *s) {
    scope_forget(s);
    generator_reset(&s->rt.rng);
}

void ctsc_scope_clear(ctsc_scope *s) { scope_forget(s); }

ctsc_status ctsc_scope_status(const ctsc_scope *s) { return s ? s->error.d.status : CTSC_LIMIT; }
const ctsc_error *ctsc_scope_error(const ctsc_scope *s) { return s ? &s->error : NULL; }

bool scope_failed(const ctsc_scope *s) { return !s || s->error.d.status != CTSC_OK; }

ctsc_value *scope_own_take(ctsc_scope *s, value v) {
    ctsc_value *h = api_wrap_take(v);
    if (h && vec_push(&s->owned, h)) return h;
    ctsc_value_free(h);
    diag_no_memory(&s->error.d);
    return NULL;
}

bool scope_given(ctsc_scope *s, const char *op, const ctsc_value *v) {
    if (scope_failed(s)) return false;
    if (!v) diag_fail(&s->error.d, CTSC_USAGE, "%s: an argument is NULL", op);
    return v != NULL;
}

/* ---- what a call runs ------------------------------------------------------------------------ */

/* An argument's type, and whether it is an empty list that fits all. */
static call_arg scope_arg(const char *name, value v) {
    bool empty = v.tag == V_LIST && !v.u.list->len && !v.u.list->elem;
    return (call_arg){name, type_without_details(type_of_value(v)), empty};
}

/* op, then each argument's keyword and type. 0: no key, the call is not kept: too long, or a type
 * that may die before the scope. */
static size_t scope_key(char key[CALL_KEY], const char *op, size_t n, const call_arg *args) {
    size_t len = strlen(op) + 1;
    if (len > CALL_KEY / 2) return 0;
    memcpy(key, op, len);
    for (size_t i = 0; i < n; i++) {
        size_t name = args[i].name ? strlen(args[i].name) : 0;
        if (args[i].type->of_class || len + name + 2 + sizeof(type *) > CALL_KEY) return 0;
        memcpy(key + len, args[i].name ? args[i].name : "", name);
        len += name;
        key[len++] = '\0';
        key[len++] = (char)args[i].empty;
        memcpy(key + len, &args[i].type, sizeof(type *));
        len += sizeof(type *);
    }
    return len;
}

static function *scope_function(ctsc_scope *s, diag *d, const char *op, graph *g) {
    unit *u = s->unit;
    schema *sc = arena_new(&u->arena, schema);
    function *f = unit_add_function(u, op, NULL);
    sc->name = f ? f->qualified : "";
    sc->overload = "";
    sc->nargs = (int)g->root->params.len;
    sc->nreturns = 1;
    sc->args = arena_array(&u->arena, argument, sc->nargs + 1);
    sc->returns = arena_array(&u->arena, argument, 1);
    if (!f || !sc->args || !sc->returns || arena_failed(&u->arena)) {
        graph_free(g);
        diag_no_memory(d);
        return NULL;
    }
    for (int i = 0; i < sc->nargs; i++)
        sc->args[i] = (argument){.name = "", .type = g->root->params.data[i]->type};
    sc->returns[0] = (argument){.name = "", .type = g->root->returns.data[0]->type};
    f->schema = sc;
    f->return_declared = true;
    f->graph = g;
    f->state = FUNCTION_READY;
    return f;
}

static const void *scope_overloads(const char *op) {
    int n;
    return op_overloads(op, &n);
}

/* The function for a call with these arguments. */
static function *scope_find(ctsc_scope *s, diag *d, const char *op, size_t n,
                            const call_arg *args) {
    char key[CALL_KEY];
    size_t len = scope_key(key, op, n, args);
    scope_known *known = len ? strmap_getn(&s->calls, key, len) : NULL;
    if (known && known->overloads == scope_overloads(op)) return known->f;
    if (!s->unit && !(s->unit = call_unit_new(d))) return NULL;
    graph *g = NULL;
    if (call_graph(s->unit, d, op, (int)n, args, &g) != CTSC_OK) return NULL;
    function *f = scope_function(s, d, op, g);
    if (!f || !len || s->calls.used >= CALL_MAX_KNOWN) return f;
    if (!known) known = arena_new(&s->unit->arena, scope_known);
    char *own = arena_strndup(&s->unit->arena, key, len);
    *known = (scope_known){f, scope_overloads(op)};
    if (!own || arena_failed(&s->unit->arena) || !strmap_putn(&s->calls, own, len, known))
        return diag_no_memory(d), NULL;
    return f;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* A list of tensors where the call takes a list of optional ones. */
static bool scope_widen(const type *t, value *v) {
    if (v->tag != V_LIST || v->u.list->kind != LIST_TENSOR || t->kind != T_LIST ||
        type_elem(t)->kind != T_OPTIONAL)
        return true;
    list *l = list_new(LIST_VALUE, type_elem(t), v->u.list->len);
    for (size_t i = 0; l && i < v->u.list->len; i++)
        if (!list_append_take(l, list_get(v->u.list, i))) {
            value_unref(value_list_take(l));
            l = NULL;
        }
    if (!l) return false;
    *v = value_list_take(l);
    return true;
}

static ctsc_status scope_execute(ctsc_scope *s, diag *d, function *f, size_t n,
                                 ctsc_value *const *args, value *values, value *out) {
    for (size_t i = 0; i < n; i++) {
        values[i] = args[i]->v;
        if (!scope_widen(f->schema->args[i].type, &values[i])) {
            while (i-- > 0)
                if (values[i].u.refs != args[i]->v.u.refs) value_unref(values[i]);
            return diag_no_memory(d);
        }
    }
    ctsc_status st = interp_call(&s->rt, f, (int)n, values, d, out);
    for (size_t i = 0; i < n; i++)
        if (value_is_counted(values[i]) && values[i].u.refs != args[i]->v.u.refs)
            value_unref(values[i]);
    return st;
}

/* Numbers computed from numbers that the trace does not know stay the program's own affair. */
static bool scope_records(const ctsc_scope *s, size_t n, ctsc_value *const *args, value result) {
    if (result.tag == V_TENSOR || result.tag == V_NONE ||
        (result.tag >= V_LIST && result.tag != V_STR))
        return true;
    for (size_t i = 0; i < n; i++)
        if (trace_knows(s->trace, scope_operand(args[i]))) return true;
    return false;
}

static ctsc_value *scope_run_traced(ctsc_scope *s, diag *d, const char *op, function *f, size_t n,
                                    ctsc_value *const *args, value *values) {
    ir_value **in = mem_alloc((n + 1) * sizeof *in);
    trace_operand *operands = mem_alloc((n + 1) * sizeof *operands);
    ctsc_value *h = NULL;
    value out = value_none();
    ctsc_status st = in && operands ? CTSC_OK : diag_no_memory(d);
    for (size_t i = 0; i < n && st == CTSC_OK; i++) operands[i] = scope_operand(args[i]);
    if (st == CTSC_OK) st = trace_arguments(s->trace, d, op, f->graph, n, operands, in);
    if (st == CTSC_OK) st = scope_execute(s, d, f, n, args, values, &out);
    if (st == CTSC_OK) h = scope_own_take(s, out);
    if (h && scope_records(s, n, args, h->v)) {
        scope_mark(s, h);
        if (trace_record(s->trace, d, op, f->graph, in, scope_operand(h)) != CTSC_OK) h = NULL;
    }
    mem_free(in);
    mem_free(operands);
    return h;
}

/* A call of n values; they and their count have been looked at. Where the scope traces, the result
 * is a handle of the scope's (*h), else *out. */
static ctsc_status scope_call(ctsc_scope *s, diag *d, const char *op, size_t n,
                              const char *const *names, ctsc_value *const *args, value *out,
                              ctsc_value **h) {
    call_arg few[CALL_FEW], *formal = n <= CALL_FEW ? few : mem_alloc(n * sizeof *formal);
    value fewer[CALL_FEW], *values = n <= CALL_FEW ? fewer : mem_alloc(n * sizeof *values);
    if (!formal || !values) {
        diag_no_memory(d);
    } else {
        for (size_t i = 0; i < n; i++) formal[i] = scope_arg(names ? names[i] : NULL, args[i]->v);
        function *f = scope_find(s, d, op, n, formal);
        if (f && s->trace) *h = scope_run_traced(s, d, op, f, n, args, values);
        else if (f) scope_execute(s, d, f, n, args, values, out);
    }
    if (formal != few) mem_free(formal);
    if (values != fewer) mem_free(values);
    return d->status;
}

ctsc_value *ctsc_scope_call(ctsc_scope *s, const char *op, size_t nargs, const char *const *names,
                            ctsc_value *const *args) {
    if (scope_failed(s)) return NULL;
    diag *d = &s->error.d;
    if (api_given(d, op, "the operator's name") != CTSC_OK) return NULL;
    for (size_t i = 0; i < nargs; i++)
        if (!scope_given(s, op, args ? args[i] : NULL)) return NULL;
    ctsc_value *h = NULL;
    value out = value_none();
    if (scope_call(s, d, op, nargs, names, args, &out, &h) == CTSC_OK && !s->trace)
        h = scope_own_take(s, out);
    if (d->status != CTSC_OK) diag_blame_caller(d);
    return h;
}

ctsc_status ctsc_scope_invoke(ctsc_scope *s, const char *op, size_t nargs, const char *const *names,
                              ctsc_value *const *args, ctsc_value **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    value result = value_none();
    ctsc_status st = api_given(d, s, "the scope");
    if (st == CTSC_OK) st = api_given(d, op, "the operator's name");
    if (st == CTSC_OK && s->trace) st = diag_fail(d, CTSC_USAGE, "%s: the scope is tracing", op);
    if (st == CTSC_OK && !api_all_given(nargs, args))
        st = diag_fail(d, CTSC_USAGE, "%s: an argument is NULL", op);
    if (st == CTSC_OK) st = scope_call(s, d, op, nargs, names, args, &result, NULL);
    if (st != CTSC_OK) return api_leave(e, &own, st);
    ctsc_value *h = api_wrap_take(result);
    if (h) *out = h;
    else st = diag_no_memory(d);
    return api_leave(e, &own, st);
}

ctsc_value *ctsc_op(ctsc_scope *s, const char *op, int n, ...) {
    ctsc_value *args[64];
    if (scope_failed(s)) return NULL;
    if (n < 0 || n > 64) {
        diag_fail(&s->error.d, CTSC_USAGE, "%s: ctsc_op takes up to 64 arguments", op);
        return NULL;
    }
    va_list ap;
    va_start(ap, n);
    for (int i = 0; i < n; i++) args[i] = va_arg(ap, ctsc_value *);
    va_end(ap);
    return ctsc_scope_call(s, op, (size_t)n, NULL, args);
}

ctsc_status ctsc_call_with(const char *op, size_t nargs, const char *const *names,
                           ctsc_value *const *args, ctsc_value **out, ctsc_error *e) {
    ctsc_scope s;
    diag own, *d = api_enter(e, &own);
    scope_init(&s);
    ctsc_value *h = ctsc_scope_call(&s, op, nargs, names, args);
    ctsc_status st = s.error.d.status;
    if (h) *out = vec_pop(&s.owned);
    if (d != &own) {
        *d = s.error.d;
        s.error.d = (diag){0};
    }
    scope_close(&s);
    return api_leave(e, &own, st);
}

ctsc_status ctsc_call(const char *op, size_t nargs, ctsc_value *const *args, ctsc_value **out,
                      ctsc_error *e) {
    return ctsc_call_with(op, nargs, NULL, args, out, e);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Does the operator make tensors without being given one, on a device that it can be told? */
static bool shape_takes_device(const char *op, size_t nargs, const char *const *names,
                               ctsc_value *const *args) {
    int n = 0;
    const struct op *const *all = op_overloads(op, &n), *one = all ? NULL : op_find(op);
    bool takes = one && schema_find_arg(one->schema, "device") >= 0;
    for (int i = 0; i < n; i++) takes |= schema_find_arg(all[i]->schema, "device") >= 0;
    for (size_t i = 0; i < nargs && takes; i++)
        takes = args[i]->v.tag != V_TENSOR && args[i]->v.tag != V_LIST
                    ? !names || !names[i] || strcmp(names[i], "device")
                    : args[i]->v.tag == V_LIST && args[i]->v.u.list->kind != LIST_TENSOR;
    return takes;
}

ctsc_status ctsc_shape_of_call(const char *op, size_t nargs, const char *const *names,
                               ctsc_value *const *args, ctsc_value **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_value **moved = mem_zalloc((nargs + 1) * sizeof *moved);
    const char **words = mem_zalloc((nargs + 1) * sizeof *words);
    ctsc_status st = moved && words ? api_given(d, op, "the operator's name") : diag_no_memory(d);
    if (st == CTSC_OK && !api_all_given(nargs, args))
        st = diag_fail(d, CTSC_USAGE, "%s: an argument is NULL", op);
    for (size_t i = 0; i < nargs && st == CTSC_OK; i++) {
        value v;
        words[i] = names ? names[i] : NULL;
        st = value_to_device(d, args[i]->v, DEVICE_META, &v);
        if (st == CTSC_OK && !(moved[i] = api_wrap_take(v))) st = diag_no_memory(d);
    }
    size_t n = nargs;
    if (st == CTSC_OK && shape_takes_device(op, nargs, names, args)) {
        words[n] = "device";
        if (!(moved[n++] = api_wrap_take(value_device(DEVICE_META)))) st = diag_no_memory(d);
    }
    if (st == CTSC_OK) {
        api_leave(e, &own, st);
        st = ctsc_call_with(op, n, words, moved, out, e);
    } else {
        api_leave(e, &own, st);
    }
    for (size_t i = 0; moved && i < n; i++) ctsc_value_free(moved[i]);
    mem_free(moved);
    mem_free(words);
    return st;
}

/* ---- values ---------------------------------------------------------------------------------- */

ctsc_value *ctsc_take(ctsc_scope *s, ctsc_value *v) {
    if (!scope_given(s, "ctsc_take", v) || !vec_push(&s->owned, v)) {
        if (v && !scope_failed(s)) diag_no_memory(&s->error.d);
        ctsc_value_free(v);
        return NULL;
    }
    return v;
}

static ctsc_value *scope_made(ctsc_scope *s, value v) {
    return scope_failed(s) ? NULL : scope_own_take(s, v);
}
ctsc_value *ctsc_none(ctsc_scope *s) { return scope_made(s, value_none()); }
ctsc_value *ctsc_bool(ctsc_scope *s, bool b) { return scope_made(s, value_bool(b)); }
ctsc_value *ctsc_int(ctsc_scope *s, int64_t i) { return scope_made(s, value_int(i)); }
ctsc_value *ctsc_float(ctsc_scope *s, double f) { return scope_made(s, value_float(f)); }
ctsc_value *ctsc_string(ctsc_scope *s, const char *text) {
    if (scope_failed(s) || api_given(&s->error.d, text, "ctsc_string: the text") != CTSC_OK)
        return NULL;
    return ctsc_take(s, ctsc_string_new(text, strlen(text)));
}

ctsc_value *ctsc_ints(ctsc_scope *s, size_t n, const int64_t *ints) {
    if (scope_failed(s) || (n && api_given(&s->error.d, ints, "ctsc_ints: the list") != CTSC_OK))
        return NULL;
    list *l = list_new(LIST_INT, TYPE_INT, n);
    if (!l) return diag_no_memory(&s->error.d), NULL;
    /* there is room */
    for (size_t i = 0; i < n; i++) (void)list_append_take(l, value_int(ints[i]));
    return scope_own_take(s, value_list_take(l));
}

static ctsc_value *scope_container(ctsc_scope *s, ctsc_value *h, size_t n,
                                   ctsc_value *const *items) {
    if (!h || !s->trace) return h;
    diag *d = &s->error.d;
    trace_operand *operands = mem_alloc((n + 1) * sizeof *operands);
    if (!operands) return diag_no_memory(d), NULL;
    bool known = false;
    for (size_t i = 0; i < n; i++) {
        operands[i] = scope_operand(items[i]);
        known |= trace_knows(s->trace, operands[i]);
    }
    if (known) scope_mark(s, h);
    ctsc_status st = trace_container(s->trace, d, scope_operand(h), n, operands);
    mem_free(operands);
    return st == CTSC_OK ? h : NULL;
}

ctsc_value *ctsc_list(ctsc_scope *s, size_t n, ctsc_value *const *items) {
    for (size_t i = 0; i < n; i++)
        if (!scope_given(s, "ctsc_list", items ? items[i] : NULL)) return NULL;
    return scope_failed(s) ? NULL
                           : scope_container(s, ctsc_take(s, ctsc_list_new(n, items)), n, items);
}

ctsc_value *ctsc_tuple(ctsc_scope *s, size_t n, ctsc_value *const *items) {
    for (size_t i = 0; i < n; i++)
        if (!scope_given(s, "ctsc_tuple", items ? items[i] : NULL)) return NULL;
    return scope_failed(s) ? NULL
                           : scope_container(s, ctsc_take(s, ctsc_tuple_new(n, items)), n, items);
}

ctsc_value *ctsc_item(ctsc_scope *s, ctsc_value *v, size_t i) {
    if (!scope_given(s, "ctsc_item", v)) return NULL;
    diag *d = &s->error.d;
    if (v->v.tag != V_LIST && v->v.tag != V_TUPLE)
        return diag_fail(d, CTSC_USAGE, "ctsc_item: the value is neither a list nor a tuple"), NULL;
    if (i >= ctsc_value_len(v))
        return diag_fail(d, CTSC_USAGE, "ctsc_item: there is no item %zu among %zu", i,
                         ctsc_value_len(v)),
               NULL;
    ctsc_value *h = ctsc_take(s, ctsc_value_item(v, i));
    if (!h || !s->trace || !trace_knows(s->trace, scope_operand(v))) return h;
    scope_mark(s, h);
    return trace_item(s->trace, d, scope_operand(v), i, scope_operand(h)) == CTSC_OK ? h : NULL;
}
