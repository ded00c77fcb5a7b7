/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_trace.c - the part of ctsc.h about tracing: what a scope's calls become in a module.
 *
 * Handles that a trace has recorded point to their scope: readers of values
 * (api_value.c) call this file to warn, once for each handle. What the graph is made
 * of is in frontend/trace/trace.h; ctsc_trace, which checks, is in api_trace_check.c.
 * Tests: tests/unit/test_trace.c
 */
#include "ir/graph/unit_copy.h"
#include "passes/passes.h"
#include "runtime/api/api_scope.h"
#include "runtime/interp/interp.h"

#include <stdio.h>
#include <string.h>

enum { TRACE_VERSION = 3 }; /* until operators that need a later one are saved */

/* ---- warnings -------------------------------------------------------------------------------- */

void scope_mark(ctsc_scope *s, ctsc_value *h) { h->traced = s; }

void api_note_read(const ctsc_value *v, const char *reader) {
    ctsc_scope *s = v->traced;
    bool read_before = ptrmap_get(&s->read, v);
    if (!s->trace || !s->sink.warn || read_before || !ptrmap_put(&s->read, v, s)) return;
    strbuf sb = STRBUF_INIT, ty = STRBUF_INIT;
    type_print_python(type_of_value(v->v), &ty);
    sb_printf(&sb,
              "%s reads a traced value of type %s: what the program does with it is not recorded, "
              "and the trace might be wrong for other inputs",
              reader, sb_str(&ty));
    if (!sb.failed && !ty.failed) s->sink.warn(s->sink.ctx, sb_str(&sb));
    sb_free(&sb);
    sb_free(&ty);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

void scope_trace_drop(ctsc_scope *s) {
    trace_free(s->trace);
    s->trace = NULL;
    for (size_t i = 0; i < s->owned.len; i++) s->owned.data[i]->traced = NULL;
    ptrmap_free(&s->read);
    unit_copy_free(s->copier);
    s->copier = NULL;
    if (!s->trace_unit) return;
    unit_close(s->trace_unit);
    unit_unref(s->trace_unit);
    s->trace_unit = NULL;
}

ctsc_status scope_trace_begin(ctsc_scope *s, diag *d, const char *name, trace_sink sink) {
    if (s->trace) return diag_fail(d, CTSC_USAGE, "the scope is tracing already");
    s->sink = sink;
    if (!(s->trace_unit = call_unit_new(d))) return d->status;
    s->trace_unit->simplify = pipeline_simplify;
    s->trace = trace_new(s->trace_unit, d, name, sink);
    if (s->trace) return CTSC_OK;
    scope_trace_drop(s);
    return d->status;
}

void scope_trace_options(const ctsc_trace_options *given, ctsc_trace_options *o) {
    *o = (ctsc_trace_options){.size = sizeof *o};
    if (given) memcpy(o, given, given->size < sizeof *o ? given->size : sizeof *o);
    if (!o->name) o->name = "Traced";
    if (o->rtol == 0 && o->atol == 0) {
        o->rtol = 1e-5;
        o->atol = 1e-6;
    }
}

ctsc_status ctsc_trace_begin(ctsc_scope *s, const ctsc_trace_options *given) {
    ctsc_trace_options o;
    scope_trace_options(given, &o);
    if (scope_failed(s)) return ctsc_scope_status(s);
    return scope_trace_begin(s, &s->error.d, o.name, (trace_sink){o.warn, o.ctx});
}

ctsc_status scope_trace_finish(ctsc_scope *s, diag *d, const ctsc_value *result,
                               ctsc_module **out) {
    if (!s->trace) return diag_fail(d, CTSC_USAGE, "the scope is not tracing");
    if (!result) return diag_fail(d, CTSC_USAGE, "the result of a trace is NULL");
    ctsc_module *h = mem_zalloc(sizeof *h);
    module *m = h ? mem_zalloc(sizeof *m) : NULL;
    value root = value_none();
    ctsc_status st = m ? trace_return(s->trace, d, scope_operand(result)) : diag_no_memory(d);
    if (st == CTSC_OK) st = trace_finish(s->trace, d, &root);
    if (st != CTSC_OK) {
        mem_free(m);
        mem_free(h);
        return st;
    }
    *m = (module){
        .unit = s->trace_unit, .root = root, .version = TRACE_VERSION, .opt = MODULE_OPT_DEFAULT};
    s->trace_unit = NULL; /* the module's now */
    h->m = m;
    *out = h;
    return CTSC_OK;
}

void scope_copy_error(diag *d, const ctsc_scope *s) {
    const diag *from = &s->error.d;
    diag_fail(d, from->status, "%s", diag_message(from));
    if (from->exception && !d->exception) d->exception = mem_strdup(from->exception);
}

ctsc_status ctsc_trace_end(ctsc_scope *s, const ctsc_value *result, ctsc_module **out,
                           ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status st = ctsc_scope_status(s);
    if (!s) return api_leave(e, &own, diag_no_memory(d));
    if (st != CTSC_OK) scope_copy_error(d, s);
    else st = scope_trace_finish(s, d, result, out);
    scope_trace_drop(s);
    return api_leave(e, &own, st);
}

/* ---- inputs and attributes ------------------------------------------------------------------- */

ctsc_value *ctsc_input(ctsc_scope *s, const char *name, const ctsc_value *v) {
    if (!scope_given(s, "ctsc_input", v)) return NULL;
    ctsc_value *h = scope_own_take(s, value_ref(v->v));
    if (!h || !s->trace) return h;
    scope_mark(s, h);
    return trace_input(s->trace, &s->error.d, name, scope_operand(h)) == CTSC_OK ? h : NULL;
}

static ctsc_value *trace_named(ctsc_scope *s, const char *name, value v, trace_role role) {
    ctsc_value *h = scope_own_take(s, value_ref(v));
    if (!h || !s->trace) return h;
    scope_mark(s, h);
    return trace_attribute(s->trace, &s->error.d, name, role, scope_operand(h)) == CTSC_OK ? h
                                                                                           : NULL;
}

ctsc_value *ctsc_parameter(ctsc_scope *s, const char *name, const ctsc_value *v) {
    return scope_given(s, "ctsc_parameter", v) ? trace_named(s, name, v->v, TRACE_PARAMETER) : NULL;
}
ctsc_value *ctsc_buffer(ctsc_scope *s, const char *name, const ctsc_value *v) {
    return scope_given(s, "ctsc_buffer", v) ? trace_named(s, name, v->v, TRACE_BUFFER) : NULL;
}

/* The slot that a dotted name leads to; NULL: there is none. */
static const value *trace_find_attribute(const object *o, const char *name, const attribute **at) {
    const char *dot;
    while ((dot = strchr(name, '.'))) {
        char part[256];
        size_t n = (size_t)(dot - name);
        if (n >= sizeof part) return NULL;
        memcpy(part, name, n);
        part[n] = '\0';
        int slot = class_find_attribute(o->cls, part);
        if (slot < 0 || (size_t)slot >= o->nslots || o->slots[slot].tag != V_OBJECT) return NULL;
        o = o->slots[slot].u.object;
        name = dot + 1;
    }
    int slot = class_find_attribute(o->cls, name);
    if (slot < 0 || (size_t)slot >= o->nslots || o->slots[slot].tag == V_UNINIT) return NULL;
    *at = &o->cls->cls->attributes.data[slot];
    return &o->slots[slot];
}

ctsc_value *ctsc_attribute(ctsc_scope *s, const ctsc_module *m, const char *name) {
    const attribute *at = NULL;
    if (scope_failed(s)) return NULL;
    if (!m) return diag_fail(&s->error.d, CTSC_USAGE, "ctsc_attribute: the module is NULL"), NULL;
    const value *v = trace_find_attribute(m->m->root.u.object, name, &at);
    if (!v)
        return diag_fail(&s->error.d, CTSC_USAGE, "the module has no attribute '%s'", name), NULL;
    if (v->tag == V_NONE) return scope_own_take(s, value_none()); /* the same wherever it is used */
    return trace_named(s, name, *v, at->is_parameter ? TRACE_PARAMETER : TRACE_BUFFER);
}

/* ---- modules that are called ----------------------------------------------------------------- */

/* "net" for __torch__.a.Net: what the submodule is called. */
static void trace_module_name(const type *cls, char *out, size_t size) {
    const char *dot = strrchr(class_name(cls), '.');
    snprintf(out, size, "%s", dot ? dot + 1 : class_name(cls));
    for (char *p = out; *p; p++)
        if (*p >= 'A' && *p <= 'Z') *p = (char)(*p - 'A' + 'a');
}

/* The module as a part of the trace's: *self its value in the graph, *copy its object. */
static ctsc_status trace_adopt(ctsc_scope *s, diag *d, const module *m, object **copy) {
    ir_value *self;
    const object *root = m->root.u.object;
    if ((*copy = trace_find_submodule(s->trace, root, &self))) return CTSC_OK;
    if (!s->copier && !(s->copier = unit_copy_new(s->trace_unit))) return diag_no_memory(d);
    char name[128];
    value made = value_none();
    trace_module_name(root->cls, name, sizeof name);
    TRY(unit_copy_value(s->copier, d, m->root, &made));
    *copy = made.u.object;
    ctsc_status st = trace_submodule(s->trace, d, root, name, *copy, &self);
    value_unref(made);
    if (st == CTSC_OK) trace_bind_handle(s->trace, root, self);
    return st;
}

typedef struct trace_method_call {
    graph *g;
    ir_value **in;
    trace_operand *operands;
    call_arg *formal;
    value *given;
} trace_method_call;

static void trace_method_free(trace_method_call *c) {
    graph_free(c->g);
    mem_free(c->in);
    mem_free(c->operands);
    mem_free(c->formal);
    mem_free(c->given);
}

/* The call as a graph, and the graph's values for its arguments. */
static ctsc_status trace_method_prepare(ctsc_scope *s, diag *d, const ctsc_module *m,
                                        const char *method, size_t n, ctsc_value *const *args,
                                        trace_method_call *c) {
    object *copy = NULL;
    ctsc_status st = trace_adopt(s, d, m->m, &copy);
    c->in = mem_alloc((n + 1) * sizeof *c->in);
    c->operands = mem_alloc((n + 1) * sizeof *c->operands);
    c->formal = mem_alloc((n + 1) * sizeof *c->formal);
    c->given = mem_alloc((n + 1) * sizeof *c->given);
    if (st != CTSC_OK) return st;
    if (!c->in || !c->operands || !c->formal || !c->given) return diag_no_memory(d);
    c->operands[0] = (trace_operand){m->m->root.u.object, m->m->root};
    c->formal[0] = (call_arg){.type = copy->cls};
    c->given[0] = m->m->root;
    for (size_t i = 0; i < n && st == CTSC_OK; i++) {
        type *ty = type_without_details(type_of_value(args[i]->v));
        c->operands[i + 1] = scope_operand(args[i]);
        c->given[i + 1] = args[i]->v;
        st = unit_copy_type(s->copier, d, ty, &ty);
        c->formal[i + 1] = (call_arg){.type = ty,
                                      .empty = args[i]->v.tag == V_LIST &&
                                               !args[i]->v.u.list->len && !args[i]->v.u.list->elem};
    }
    if (st == CTSC_OK)
        st = call_graph_method(s->trace_unit, d, method, (int)n + 1, c->formal, &c->g);
    return st == CTSC_OK ? trace_arguments(s->trace, d, method, c->g, n + 1, c->operands, c->in)
                         : st;
}

/* As written (level 0), so that checks compare like with like. */
static ctsc_status trace_method_run(ctsc_scope *s, diag *d, const ctsc_module *m, function *f,
                                    size_t n, const value *given, value *out) {
    s->rt.root = m->m->root.u.object;
    ctsc_status st = module_call(f, &s->rt, n + 1, given, d, out);
    s->rt.root = NULL;
    return st;
}

static ctsc_value *trace_method(ctsc_scope *s, const ctsc_module *m, const char *method, size_t n,
                                ctsc_value *const *args) {
    diag *d = &s->error.d;
    trace_method_call c = {0};
    function *f = NULL;
    ctsc_value *h = NULL;
    value out = value_none();
    const class_info *cls = m->m->root.u.object->cls->cls;
    ctsc_status st = api_method(m, d, method, &f);
    if (st == CTSC_OK && (cls->forward_hooks.len || cls->forward_pre_hooks.len) &&
        !strcmp(method, "forward"))
        st = diag_fail(d, CTSC_UNSUPPORTED,
                       "a module with forward hooks cannot be called in a trace");
    if (st == CTSC_OK) st = trace_method_prepare(s, d, m, method, n, args, &c);
    if (st == CTSC_OK) st = trace_method_run(s, d, m, f, n, c.given, &out);
    if (st == CTSC_OK && (h = scope_own_take(s, out))) {
        scope_mark(s, h);
        if (trace_record(s->trace, d, method, c.g, c.in, scope_operand(h)) != CTSC_OK) h = NULL;
    }
    trace_method_free(&c);
    return h;
}

/* Of a module with gradients: random numbers are the scope's, and so is the mode. */
static ctsc_value *run_recorded(ctsc_scope *s, const ctsc_module *m, const char *method,
                                size_t nargs, ctsc_value *const *args) {
    function *f;
    value result = value_none();
    diag *d = &s->error.d;
    if (api_method(m, d, method, &f) == CTSC_OK &&
        api_run_in_scope(m, f, &s->rt, nargs, args, d, &result) == CTSC_OK)
        return scope_own_take(s, result);
    diag_blame_caller(d);
    return NULL;
}

ctsc_value *ctsc_run(ctsc_scope *s, const ctsc_module *m, const char *method, size_t nargs,
                     ctsc_value *const *args) {
    if (scope_failed(s)) return NULL;
    if (!m) return diag_fail(&s->error.d, CTSC_USAGE, "ctsc_run: the module is NULL"), NULL;
    for (size_t i = 0; i < nargs; i++)
        if (!scope_given(s, method, args[i])) return NULL;
    if (s->trace) return trace_method(s, m, method, nargs, args);
    ctsc_value *out = NULL;
    if (m->m->gradients) return run_recorded(s, m, method, nargs, args);
    static const ctsc_run_options as_they_are = {.size = sizeof as_they_are, .lazy_results = true};
    if (ctsc_module_run(m, method, nargs, args, &as_they_are, &out, &s->error) != CTSC_OK)
        return NULL;
    return ctsc_take(s, out);
}
