/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_graph.c - one call, written in C instead of TorchScript, as a graph.
 *
 * Method. The emitter is given a graph whose parameters have the types of the arguments, and emits
 * the call. There is no source, so nodes have no places.
 * Tests: tests/unit/test_trace.c
 */
#include "frontend/trace/call_graph.h"

#include "frontend/codeload/importer.h"
#include "frontend/irgen/irgen.h"

enum { CALL_MAX_ARGS = 512, CALL_MAX_KEYWORDS = 64 };

static ctsc_status call_no_code(void *ctx, diag *d, const char *name, source **out) {
    (void)ctx, (void)d, (void)name;
    *out = NULL;
    return CTSC_OK;
}

unit *call_unit_new(diag *d) {
    static const importer_host host = {.read_code = call_no_code};
    unit *u = unit_new();
    if (!u) {
        diag_no_memory(d);
    } else if (importer_attach(d, u, &host, INT64_MAX) != CTSC_OK) {
        unit_unref(u);
        u = NULL;
    } else {
        u->compile = irgen_function;
    }
    return u;
}

static ir_value *call_unknown(emitter *e, const char *name) {
    const char *close[4];
    int n = op_similar(name, close, 4);
    strbuf sb = STRBUF_INIT;
    for (int i = 0; i < n; i++) {
        bool again = false;
        for (int k = 0; k < i; k++) again = again || !strcmp(close[k], close[i]);
        if (!again) sb_printf(&sb, "%s%s", sb.len ? ", " : "", close[i]);
    }
    diag_fail(e->diag, CTSC_FAILED,
              sb.len ? "there is no operator '%s'; similar ones are %s"
                     : "there is no operator '%s'%s",
              name, sb_str(&sb));
    sb_free(&sb);
    return NULL;
}

typedef struct call_emission {
    emitter e;
    arena scratch;
    actual *args;
    int n;
} call_emission;

/* Parameters for the arguments. wide: lists of tensors become lists of optional tensors. */
static bool call_begin(call_emission *c, unit *u, diag *d, int n, const call_arg *args, bool wide) {
    *c = (call_emission){.n = n};
    graph *g = graph_new();
    bool ok = arena_init(&c->scratch) && g;
    c->e = (emitter){.unit = u, .g = g, .diag = d, .scratch = &c->scratch};
    if (ok) ok = (c->args = arena_array(&c->scratch, actual, n + 1)) != NULL;
    for (int i = 0; i < n && ok; i++) {
        type *t = args[i].type;
        if (wide && t->kind == T_LIST && type_elem(t)->kind == T_TENSOR)
            t = type_list(type_optional(TYPE_TENSOR));
        ir_value *v = block_add_param(g->root, t);
        if (args[i].empty) v = irgen_list(&c->e, g->range, TYPE_TENSOR, 0, NULL);
        if (!v) ok = false;
        else c->args[i] = (actual){.name = args[i].name, .value = v};
    }
    if (!ok) diag_no_memory(d);
    return ok;
}

/* Dismantles the emission; result: what the call gives, NULL if it failed. */
static ctsc_status call_end(call_emission *c, ir_value *result, graph **out) {
    graph *g = c->e.g;
    diag *d = c->e.diag;
    if (g && result) block_add_return(g->root, result);
    bool failed = !g || arena_failed(&c->scratch) || arena_failed(&g->arena) ||
                  arena_failed(&c->e.unit->arena);
    if (d->status == CTSC_OK && (failed || !result)) diag_no_memory(d);
    arena_free(&c->scratch);
    if (d->status == CTSC_OK) *out = g;
    else graph_free(g);
    return d->status;
}

static ir_value *call_operator(call_emission *c, const char *name) {
    source_range nowhere = {0};
    int n = 0;
    function *f[1];
    op_overloads(name, &n);
    if (n || builtin_functions(c->e.unit, c->e.diag, name, f, 1))
        return irgen_builtin(&c->e, nowhere, name, c->n, c->args);
    const op *o = op_find(name);
    if (o) return irgen_overload(&c->e, nowhere, o, c->n, c->args);
    return c->e.diag->status == CTSC_OK ? call_unknown(&c->e, name) : NULL;
}

static ctsc_status call_check(diag *d, const char *op, int n, const call_arg *args, bool *lists) {
    int keywords = 0;
    *lists = false;
    if (n > CALL_MAX_ARGS) return diag_fail(d, CTSC_USAGE, "%s: %d arguments are too many", op, n);
    for (int i = 0; i < n; i++) {
        if (args[i].name) keywords++;
        else if (keywords)
            return diag_fail(d, CTSC_USAGE, "%s: a positional argument follows a keyword argument",
                             op);
        *lists |= args[i].type->kind == T_LIST && type_elem(args[i].type)->kind == T_TENSOR &&
                  !args[i].empty;
    }
    return keywords > CALL_MAX_KEYWORDS
               ? diag_fail(d, CTSC_USAGE, "%s: too many keyword arguments", op)
               : CTSC_OK;
}

static ctsc_status call_try(unit *u, diag *d, const char *op, int n, const call_arg *args,
                            bool wide, graph **out) {
    call_emission c;
    ir_value *v = call_begin(&c, u, d, n, args, wide) ? call_operator(&c, op) : NULL;
    return call_end(&c, v, out);
}

ctsc_status call_graph(unit *u, diag *d, const char *op, int n, const call_arg *args, graph **out) {
    bool lists;
    TRY(call_check(d, op, n, args, &lists));
    ctsc_status s = call_try(u, d, op, n, args, false, out);
    if (s != CTSC_FAILED || !lists) return s;
    diag again = {0};
    if (call_try(u, &again, op, n, args, true, out) == CTSC_OK) {
        diag_clear(d);
        s = CTSC_OK;
    }
    diag_clear(&again);
    return s;
}

ctsc_status call_graph_method(unit *u, diag *d, const char *method, int n, const call_arg *args,
                              graph **out) {
    bool lists;
    call_emission c;
    TRY(call_check(d, method, n, args, &lists));
    ir_value *v = NULL;
    if (call_begin(&c, u, d, n, args, false))
        v = irgen_method(&c.e, (source_range){0}, c.args[0].value, method, n - 1, c.args + 1);
    return call_end(&c, v, out);
}
