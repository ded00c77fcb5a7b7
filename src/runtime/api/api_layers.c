/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_layers.c - the tree of a module's submodules, and what a call of a method did
 * with each of them.
 *
 *     %y = prim::CallMethod[name="forward"](%fc, %x)     ->      = ctsc::enter(%fc)
 *                                                               %w = prim::GetAttr[name="weight"](%fc)
 *                                                               %y = aten::linear(%x, %w, %b)
 *                                                                = ctsc::leave(%fc, %y)
 *
 * Method. In a copy of the method's graph calls are inlined, and those of modules are marked
 * at begin and end. The copy is run once with probes (instrument.c); the work of operators
 * counts for the modules that are entered and not left. The module of a mark is known from
 * the object: a loop over a list of modules was unrolled by the compiler, or is none. A
 * method called through an interface is marked, but not inlined: its work is not counted.
 * Tests: tests/cli/inspect.test, tests/unit/test_compile_faults.c
 */
#include "ctsc_compiler.h"
#include "passes/passes.h"
#include "runtime/api/api.h"
#include "runtime/observe/instrument.h"
#include "runtime/observe/work.h"

#include <string.h>

enum { LAYERS_MAX_DEPTH = 128, LAYERS_MAX_BYTES = 256 << 20 };

typedef struct layer {
    const object *o;
    char *name;
    int depth, parent; /* parent: index, -1: none */
    uint64_t calls;
    ctsc_value result; /* of the last call; None: of none */
    int64_t flops;
    bool uncounted;
} layer;

typedef struct layers {
    diag *d;
    VEC(layer) all;
    ptrmap index; /* object -> its layer's number + 1 */
    strbuf name;
    op enter, leave;
    /* layers entered and not left; -1: an object that is not an attribute of the module's */
    VEC(int) open;
} layers;

static void layers_free(layers *ls) {
    for (size_t i = 0; i < ls->all.len; i++) {
        value_unref(ls->all.data[i].result.v);
        mem_free(ls->all.data[i].name);
    }
    vec_free(&ls->all);
    vec_free(&ls->open);
    ptrmap_free(&ls->index);
    sb_free(&ls->name);
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Shared submodules are listed at their first place, which also ends cycles. */
static bool layers_add(layers *ls, const object *o, int depth, int parent) {
    if (depth > 200 || ptrmap_get(&ls->index, o)) return true;
    int self = (int)ls->all.len;
    layer l = {.o = o,
               .depth = depth,
               .parent = parent,
               .name = mem_strdup(ls->name.len ? sb_str(&ls->name) : "")};
    l.result.v = value_none();
    if (!l.name || ls->name.failed || !vec_push(&ls->all, l)) {
        mem_free(l.name);
        return false;
    }
    if (!ptrmap_put(&ls->index, o, (void *)(uintptr_t)(self + 1))) return false;
    size_t base = ls->name.len;
    for (size_t i = 0; i < o->nslots; i++) {
        const attribute *a = &o->cls->cls->attributes.data[i];
        if (o->slots[i].tag != V_OBJECT || !o->slots[i].u.object->cls->cls->is_module) continue;
        sb_printf(&ls->name, "%s%s", base ? "." : "", a->name);
        if (!layers_add(ls, o->slots[i].u.object, depth + 1, self)) return false;
        ls->name.len = base;
        if (ls->name.data) ls->name.data[base] = '\0';
    }
    return true;
}

/* ---- marks ----------------------------------------------------------------------------------- */

static ctsc_status layers_nothing(op_ctx *cx, const value *args, value *results) {
    (void)cx, (void)args, (void)results;
    return CTSC_OK;
}

static ctsc_status layers_operator(layers *ls, graph *g, const char *text, op *out) {
    schema *s = NULL;
    ctsc_status st = schema_parse(ls->d, &g->arena, text, strlen(text), &s);
    *out = (op){
        .schema = s, .key = s ? s->name : "", .fn = layers_nothing, .traits = {OP_SIDE_EFFECT}};
    return st;
}

static void layers_mark(graph *g, const op *o, node *call, node *before, ir_value *result) {
    node *n = node_new(g, N_OP, 0, NULL, 0);
    n->op = o;
    n->op_name = o->key;
    node_add_input(n, call->inputs.data[0]);
    if (result) node_add_input(n, result);
    graph_set_insert(g, call->owner, before);
    graph_insert(g, n);
}

static bool layers_is_module(const node *n) {
    const type *t = n->kind == N_CALL_METHOD ? n->inputs.data[0]->type : NULL;
    return t && ((t->kind == T_CLASS && t->cls->is_module) || t->kind == T_INTERFACE);
}

static ctsc_status layers_block(layers *ls, graph *g, node *from, node *to, int depth);

/* The body of f before n, whose result it takes over; n goes. */
static ctsc_status layers_inline(layers *ls, graph *g, node *n, function *f, int depth) {
    if (depth > LAYERS_MAX_DEPTH || g->arena.total > LAYERS_MAX_BYTES)
        return diag_fail_at(ls->d, CTSC_LIMIT, n->range, "calls nest too deeply to be inlined");
    TRY(function_ensure_compiled(f, ls->d));
    bool module = layers_is_module(n);
    block *b = n->owner;
    ir_value *outs[1];
    if (module) layers_mark(g, &ls->enter, n, n, NULL);
    node *before = n->prev;
    graph_inline(g, b, n, f->graph, n->inputs.data + (n->kind == N_CALL_FUNCTION), outs);
    if (arena_failed(&g->arena)) return diag_no_memory(ls->d);
    node *first = before ? before->next : b->first;
    value_replace_uses(n->outputs.data[0], outs[0]);
    if (module) layers_mark(g, &ls->leave, n, n, outs[0]);
    ctsc_status s = layers_block(ls, g, first, n, depth + 1);
    node_remove(n);
    return s;
}

/* The nodes from `from` until before `to`. */
static ctsc_status layers_block(layers *ls, graph *g, node *from, node *to, int depth) {
    ctsc_status s = CTSC_OK;
    for (node *n = from, *next; n && n != to && s == CTSC_OK; n = next) {
        next = n->next;
        function *f = inline_callee(n);
        if (f) {
            s = layers_inline(ls, g, n, f, depth);
            continue;
        }
        if (layers_is_module(n)) {
            layers_mark(g, &ls->enter, n, n, NULL);
            layers_mark(g, &ls->leave, n, n->next, n->outputs.data[0]);
        }
        for (size_t i = 0; i < n->blocks.len && s == CTSC_OK; i++)
            s = layers_block(ls, g, n->blocks.data[i]->first, NULL, depth);
    }
    return s;
}

/* ---- the run --------------------------------------------------------------------------------- */

static ctsc_status layers_enter(layers *ls, value v) {
    const void *at = v.tag == V_OBJECT ? ptrmap_get(&ls->index, v.u.object) : NULL;
    int i = (int)(uintptr_t)at - 1;
    if (i >= 0) ls->all.data[i].calls++;
    return vec_push(&ls->open, i) ? CTSC_OK : diag_no_memory(ls->d);
}

static void layers_leave(layers *ls, value result) {
    int i = ls->open.len ? vec_pop(&ls->open) : -1;
    if (i < 0) return;
    value_unref(ls->all.data[i].result.v);
    ls->all.data[i].result.v = value_ref(result);
}

/* Each module counts once, however often it is open; all know it of what is around it. */
static void layers_count(layers *ls, work_cost cost) {
    for (size_t i = 0; i < ls->open.len; i++) {
        int at = ls->open.data[i];
        bool again = at < 0;
        for (size_t k = 0; k < i; k++) again |= ls->open.data[k] == at;
        if (again) continue;
        ls->all.data[at].flops += cost.flops;
        ls->all.data[at].uncounted |= !cost.known;
    }
}

static ctsc_status layers_node(void *ctx, const node *n, const value *inputs,
                               const value *outputs) {
    layers *ls = ctx;
    if (n->kind == N_CALL_FUNCTION || n->kind == N_CALL_METHOD || n->kind == N_FORK)
        layers_count(ls, (work_cost){.known = false});
    if (n->kind != N_OP || !n->op) return CTSC_OK;
    if (n->op == &ls->enter) return layers_enter(ls, inputs[0]);
    if (n->op == &ls->leave) return layers_leave(ls, inputs[1]), CTSC_OK;
    layers_count(ls, work_of_call(n->op, (int)n->inputs.len, inputs, (int)n->outputs.len, outputs));
    return CTSC_OK;
}

static ctsc_status layers_run(layers *ls, const function *f, const graph *g, int nargs,
                              const value *args) {
    instrument in = {.node = layers_node, .ctx = ls};
    runtime *rt = mem_alloc(sizeof *rt);
    value result = value_none();
    if (!rt) return diag_no_memory(ls->d);
    runtime_init(rt);
    ctsc_status s = layers_enter(ls, args[0]);
    if (s == CTSC_OK) s = instrument_run(&in, f, g, rt, nargs, args, ls->d, &result);
    if (s == CTSC_OK) layers_leave(ls, result);
    value_unref(result);
    mem_free(rt);
    return s;
}

static ctsc_status layers_call(layers *ls, const ctsc_module *m, const char *method, size_t nargs,
                               ctsc_value *const *args) {
    function *f = NULL;
    graph *g = NULL;
    value *full = NULL;
    ctsc_status s = api_method(m, ls->d, method, &f);
    if (s == CTSC_OK) s = function_ensure_compiled(f, ls->d);
    if (s == CTSC_OK && !(g = graph_clone(f->graph))) s = diag_no_memory(ls->d);
    if (s == CTSC_OK) s = layers_operator(ls, g, "ctsc::enter(...) -> ()", &ls->enter);
    if (s == CTSC_OK) s = layers_operator(ls, g, "ctsc::leave(...) -> ()", &ls->leave);
    if (s == CTSC_OK) s = layers_block(ls, g, g->root->first, NULL, 0);
    if (s == CTSC_OK)
        s = arena_failed(&g->arena) ? diag_no_memory(ls->d)
                                    : api_arguments(m, f, nargs, args, ls->d, &full);
    if (s == CTSC_OK) s = layers_run(ls, f, g, f->schema->nargs, full);
    if (full) api_free_arguments(f, full);
    graph_free(g);
    return s;
}

ctsc_status ctsc_module_layers(const ctsc_module *m, const char *method, size_t nargs,
                               ctsc_value *const *args,
                               void (*visit)(void *ctx, const ctsc_layer *l), void *ctx,
                               ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    layers ls = {.d = d, .name = STRBUF_INIT};
    ctsc_status s = layers_add(&ls, m->m->root.u.object, 0, -1) ? CTSC_OK : diag_no_memory(d);
    if (s == CTSC_OK && method) s = layers_call(&ls, m, method, nargs, args);
    for (size_t i = 0; i < ls.all.len && s == CTSC_OK; i++) {
        const layer *l = &ls.all.data[i];
        ctsc_layer info = {.size = sizeof info,
                           .name = l->name,
                           .class_name = l->o->cls->cls->name,
                           .depth = l->depth,
                           .calls = l->calls,
                           .result = l->calls ? &l->result : NULL,
                           .flops = l->flops,
                           .counted = l->calls && !l->uncounted};
        visit(ctx, &info);
    }
    layers_free(&ls);
    return api_leave(e, &own, s);
}
