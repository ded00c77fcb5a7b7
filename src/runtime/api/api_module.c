/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_module.c - the part of ctsc.h about modules and operators.
 *
 * Tests: tests/unit/test_api.c, tests/cli
 */
#include "frontend/codeprint/print_code.h"
#include "passes/passes.h"
#include "runtime/api/api.h"
#include "runtime/interp/interp.h"
#include "runtime/save/export.h"

#include <string.h>

/* ---- loading --------------------------------------------------------------------------------- */

static ctsc_status api_load(diag *d, reader r, ctsc_module **out) {
    ctsc_module *h = mem_zalloc(sizeof *h);
    if (!h) {
        if (r.close) r.close(r.ctx);
        return diag_no_memory(d);
    }
    ctsc_status s = module_load(d, r, &h->m);
    if (s != CTSC_OK) {
        mem_free(h);
        return s;
    }
    *out = h;
    return CTSC_OK;
}

ctsc_status ctsc_module_load(const char *path, ctsc_module **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    reader r;
    ctsc_status s = api_given(d, path, "the path");
    if (s == CTSC_OK) s = reader_open_file(d, path, &r);
    if (s == CTSC_OK) r.path = path;
    if (s == CTSC_OK) s = api_load(d, r, out);
    return api_leave_file(e, &own, s, path);
}

ctsc_status ctsc_module_load_fd(int fd, ctsc_module **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    reader r;
    ctsc_status s = reader_open_fd(d, fd, &r);
    if (s == CTSC_OK) s = api_load(d, r, out);
    return api_leave(e, &own, s);
}

ctsc_status ctsc_module_load_memory(const void *data, size_t len, ctsc_module **out,
                                    ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    reader r;
    ctsc_status s = len ? api_given(d, data, "the archive") : CTSC_OK;
    if (s == CTSC_OK) s = reader_open_memory(d, data, len, &r);
    if (s == CTSC_OK) s = api_load(d, r, out);
    return api_leave(e, &own, s);
}

ctsc_status ctsc_module_save(const ctsc_module *m, const char *path, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status s = api_given(d, path, "the path");
    return api_leave(e, &own, s == CTSC_OK ? module_save(d, m->m, path) : s);
}

ctsc_status ctsc_module_freeze(ctsc_module *m, bool fold_weights, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    return api_leave(e, &own, module_freeze(d, m->m, fold_weights));
}

/* ---- methods --------------------------------------------------------------------------------- */

static const type *api_class(const ctsc_module *m) { return m->m->root.u.object->cls; }

size_t ctsc_module_method_count(const ctsc_module *m) { return api_class(m)->cls->methods.len; }

const char *ctsc_module_method_name(const ctsc_module *m, size_t i) {
    return i < ctsc_module_method_count(m) ? api_class(m)->cls->methods.data[i]->name : NULL;
}

const char *ctsc_module_class(const ctsc_module *m) { return class_name(api_class(m)); }

int64_t ctsc_module_version(const ctsc_module *m) { return m->m->version; }

char *ctsc_module_method_schema(const ctsc_module *m, const char *method) {
    function *f = module_method(m->m, method);
    if (!f) return NULL;
    strbuf sb = STRBUF_INIT;
    sb_printf(&sb, "%s(", f->name);
    for (int i = 1; i < f->schema->nargs; i++) {
        const argument *a = &f->schema->args[i];
        if (i > 1) sb_puts(&sb, ", ");
        type_print(a->type, &sb);
        sb_printf(&sb, " %s", a->name);
        if (a->has_default) {
            sb_putc(&sb, '=');
            value_print(a->default_value, &sb);
        }
    }
    sb_puts(&sb, ") -> ");
    type_print(f->schema->returns[0].type, &sb);
    return sb_take(&sb);
}

ctsc_status api_method(const ctsc_module *m, diag *d, const char *name, function **out) {
    if (!name) return api_given(d, name, "the method's name");
    if ((*out = module_method(m->m, name))) return CTSC_OK;
    strbuf sb = STRBUF_INIT;
    for (size_t i = 0; i < ctsc_module_method_count(m); i++)
        sb_printf(&sb, "%s%s", i ? ", " : "", ctsc_module_method_name(m, i));
    ctsc_status s =
        sb.len ? diag_fail(d, CTSC_USAGE, "the module has no method '%s' (it has: %s)", name,
                           sb_str(&sb))
               : diag_fail(
                     d, CTSC_USAGE,
                     "the module has no method '%s', nor any other: is it misspelt in the class?",
                     name);
    sb_free(&sb);
    return s;
}

/* ---- looking inside -------------------------------------------------------------------------- */

ctsc_status ctsc_module_graph(const ctsc_module *m, const char *method, unsigned flags, char **out,
                              ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    function *f = NULL;
    ctsc_status s = api_method(m, d, method, &f);
    if (s == CTSC_OK) s = function_ensure_compiled(f, d);
    if (s == CTSC_OK) {
        graph *g = flags & CTSC_GRAPH_INLINED ? graph_clone(f->graph) : f->graph;
        if (!g) s = diag_no_memory(d);
        if (s == CTSC_OK && g != f->graph) s = pipeline_inline(g, true, d);
        strbuf sb = STRBUF_INIT;
        graph_print_options po = {.locations = (flags & CTSC_GRAPH_LOCATIONS) != 0};
        if (s == CTSC_OK) {
            graph_print(g, &po, &sb);
            char *text = sb_take(&sb);
            if (text) *out = text;
            else s = diag_no_memory(d);
        }
        if (g && g != f->graph) graph_free(g);
    }
    return api_leave(e, &own, s);
}

ctsc_status ctsc_module_code(const ctsc_module *m, const char *method, char **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    function *f = NULL;
    strbuf sb = STRBUF_INIT;
    ctsc_status s = api_method(m, d, method, &f);
    if (s == CTSC_OK) s = code_print_method(d, f, &sb);
    char *text = s == CTSC_OK ? sb_take(&sb) : NULL;
    if (text) *out = text;
    else if (s == CTSC_OK) s = diag_no_memory(d);
    sb_free(&sb);
    return api_leave(e, &own, s);
}

typedef struct api_attributes {
    void (*visit)(void *ctx, const ctsc_attribute_info *a);
    void *ctx;
    strbuf name;
    int depth;
    ptrmap seen; /* shared submodules are visited once, which also ends cycles */
} api_attributes;

static void api_visit_object(api_attributes *v, const object *o) {
    if (v->depth > 200 || ptrmap_get(&v->seen, o) || !ptrmap_put(&v->seen, o, (void *)o)) return;
    size_t base = v->name.len;
    v->depth++;
    for (size_t i = 0; i < o->nslots; i++) {
        const attribute *a = &o->cls->cls->attributes.data[i];
        sb_printf(&v->name, "%s%s", base ? "." : "", a->name);
        if (o->slots[i].tag == V_OBJECT && a->type->kind == T_CLASS && a->type->cls->is_module) {
            api_visit_object(v, o->slots[i].u.object);
        } else {
            ctsc_value val = {o->slots[i]};
            ctsc_attribute_info info = {sb_str(&v->name), &val, a->is_parameter, a->is_buffer};
            v->visit(v->ctx, &info);
        }
        v->name.len = base;
        if (v->name.data) v->name.data[base] = '\0';
    }
    v->depth--;
}

void ctsc_module_attributes(const ctsc_module *m,
                            void (*visit)(void *ctx, const ctsc_attribute_info *a), void *ctx) {
    api_attributes v = {.visit = visit, .ctx = ctx};
    api_visit_object(&v, m->m->root.u.object);
    sb_free(&v.name);
    ptrmap_free(&v.seen);
}

/* ---- operators in use ------------------------------------------------------------------------ */

typedef struct api_operators {
    void (*visit)(void *ctx, const ctsc_operator_use *u);
    void *ctx;
    diag *d;
    ptrmap seen; /* functions */
    VEC(function *) todo;
    ctsc_status status;
} api_operators;

static void api_note_function(api_operators *v, function *f) {
    if (!f || (!f->def && !f->graph) || ptrmap_get(&v->seen, f)) return;
    if (!ptrmap_put(&v->seen, f, f) || !vec_push(&v->todo, f)) v->status = diag_no_memory(v->d);
}

static void api_visit_block(api_operators *v, const function *f, const block *b) {
    for (const node *n = b->first; n; n = n->next) {
        value c;
        if (n->kind == N_CALL_FUNCTION && ir_value_constant(n->inputs.data[0], &c) &&
            c.tag == V_FUNCTION)
            api_note_function(v, c.u.function);
        if (n->kind == N_CALL_METHOD) {
            const type *t = n->inputs.data[0]->type;
            if (t->kind == T_CLASS) api_note_function(v, class_find_method(t, node_str(n, "name")));
        }
        if (n->kind == N_OP) {
            source_range r = source_original(n->range);
            uint32_t line = 0, col = 0;
            if (r.src) source_position(r.src, r.begin, &line, &col);
            const char *call = node_str(n, "call"); /* frontend/irgen/irgen_unknown.c */
            ctsc_operator_use u = {.key = n->op   ? n->op->key
                                          : *call ? call
                                                  : n->op_name,
                                   .supported = n->op && (n->op->fn || n->op->traits.special),
                                   .function = f->qualified,
                                   .file = r.src ? r.src->name : "",
                                   .line = line};
            v->visit(v->ctx, &u);
        }
        for (size_t i = 0; i < n->blocks.len; i++) api_visit_block(v, f, n->blocks.data[i]);
        const attr *sub = node_attr(n, "Subgraph");
        if (sub && sub->kind == ATTR_GRAPH) api_visit_block(v, f, sub->u.g->root);
    }
}

ctsc_status ctsc_module_operators(const ctsc_module *m,
                                  void (*visit)(void *ctx, const ctsc_operator_use *u), void *ctx,
                                  ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    api_operators v = {.visit = visit, .ctx = ctx, .d = d};
    for (size_t i = 0; i < ctsc_module_method_count(m); i++)
        api_note_function(&v, api_class(m)->cls->methods.data[i]);
    while (v.todo.len && v.status == CTSC_OK) {
        function *f = vec_pop(&v.todo);
        v.status = function_ensure_compiled(f, d);
        if (v.status == CTSC_OK) api_visit_block(&v, f, f->graph->root);
    }
    vec_free(&v.todo);
    ptrmap_free(&v.seen);
    return api_leave(e, &own, v.status);
}

typedef struct api_op_visit {
    void (*visit)(void *ctx, const ctsc_operator_info *o);
    void *ctx;
    strbuf text;
} api_op_visit;

static void api_visit_op(void *ctx, const op *o) {
    api_op_visit *v = ctx;
    sb_clear(&v->text);
    schema_print(o->schema, &v->text);
    ctsc_operator_info info = {o->key, sb_str(&v->text), o->fn || o->traits.special};
    v->visit(v->ctx, &info);
}

void ctsc_operators(void (*visit)(void *ctx, const ctsc_operator_info *o), void *ctx) {
    api_op_visit v = {.visit = visit, .ctx = ctx};
    op_visit(api_visit_op, &v);
    sb_free(&v.text);
}
