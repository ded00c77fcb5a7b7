/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_op_flow.c - If and Loop, whose bodies are graphs that see the names around them; functions
 * of the model's own, which see their inputs alone and stand in the place of their calls.
 *
 *     If(cond) {then, else}             prim::If(Bool(cond)); a branch that is known stands alone
 *     Loop(M, cond, v...) {body}        prim::Loop(M, Bool(cond), v..., lists...): what the body gives besides the carried
 *                                       values is appended to lists, which are stacked behind the loop
 */
#include "frontend/onnx/onnx_internal.h"

static const Onnx__GraphProto *flow_graph(onnx_node *n, const char *name) {
    const Onnx__AttributeProto *a = onnx_attr(n, name);
    if (!a || !a->g) return onnx_bad(n->p, "attribute '%s' is no graph", name), NULL;
    return a->g;
}

static bool flow_body(onnx_node *n, onnx_scope *sc, const Onnx__GraphProto *g) {
    if (++n->p->nesting > ONNX_MAX_GRAPHS) return onnx_bad(n->p, "graphs nest too deeply");
    bool ok = onnx_initializers(sc, n->p, g) && onnx_nodes(sc, n->p, g->n_node, g->node);
    n->p->nesting--;
    return ok;
}

static onnx_value *flow_output(onnx_node *n, onnx_scope *sc, const Onnx__GraphProto *g, size_t i) {
    return onnx_name(sc, n->p, i < g->n_output && g->output[i]->name ? g->output[i]->name : "");
}

/* v under another name, in another scope. */
static bool flow_alias(onnx_program *p, const onnx_value *v, onnx_scope *sc, const char *name) {
    onnx_value *out = v && *name ? onnx_value_new(sc, p, name) : NULL;
    if (!out) return v && !*name;
    *out = *v;
    out->name = name;
    out->scope = sc;
    return true;
}

/* ---- functions ------------------------------------------------------------------------------- */

static bool function_same(const char *a, const char *b) { return !strcmp(a ? a : "", b ? b : ""); }

const Onnx__FunctionProto *onnx_function(const onnx_program *p, const Onnx__NodeProto *proto) {
    for (size_t i = 0; i < p->model->n_functions; i++) {
        const Onnx__FunctionProto *f = p->model->functions[i];
        if (function_same(f->name, proto->op_type) && function_same(f->domain, proto->domain) &&
            function_same(f->overload, proto->overload))
            return f;
    }
    return NULL;
}

int64_t onnx_standard_version(size_t n, Onnx__OperatorSetIdProto *const *imports) {
    int64_t version = -1;
    for (size_t i = 0; i < n; i++)
        if (function_same(imports[i]->domain, "") || function_same(imports[i]->domain, "ai.onnx"))
            version = imports[i]->version;
    return version;
}

/* Inputs of the function, as the call gives them. */
static bool function_inputs(onnx_node *n, onnx_scope *sc, const Onnx__FunctionProto *f) {
    static const onnx_value absent = {.rank = -1, .dt = -1, .absent = true};
    if ((size_t)n->nin > f->n_input || (size_t)n->nout > f->n_output)
        return onnx_bad(n->p, "the function has %zu inputs and %zu outputs", f->n_input,
                        f->n_output);
    for (size_t i = 0; i < f->n_input; i++) {
        const onnx_value *v = i < (size_t)n->nin && n->in[i] ? n->in[i] : &absent;
        if (!flow_alias(n->p, v, sc, f->input[i])) return false;
    }
    return true;
}

bool onnx_inline(onnx_node *n, const Onnx__FunctionProto *f) {
    onnx_program *p = n->p;
    onnx_scope sc = {0};
    onnx_call call = {.node = n->proto, .function = f, .outer = p->call};
    int opset = p->opset;
    int64_t version = onnx_standard_version(f->n_opset_import, f->opset_import);
    if (p->nesting >= ONNX_MAX_GRAPHS) return onnx_bad(p, "functions nest too deeply");
    if (version >= 0 && !onnx_version_is_known(p, version)) return false;
    bool ok = function_inputs(n, &sc, f);
    p->nesting++;
    p->call = &call;
    if (version >= 0) p->opset = (int)version;
    ok = ok && onnx_nodes(&sc, p, f->n_node, f->node);
    p->opset = opset;
    p->call = call.outer;
    p->nesting--;
    for (int i = 0; ok && i < n->nout; i++)
        ok = !*n->proto->output[i] ||
             flow_alias(p, onnx_name(&sc, p, f->output[i]), n->sc, n->proto->output[i]);
    strmap_free(&sc.names);
    return ok;
}

/* ---- If -------------------------------------------------------------------------------------- */

/* The branch in place of the node. */
static bool if_inline(onnx_node *n, const Onnx__GraphProto *g) {
    onnx_scope sc = {.outer = n->sc};
    bool ok = flow_body(n, &sc, g);
    for (int i = 0; ok && i < n->nout; i++)
        ok = flow_alias(n->p, flow_output(n, &sc, g, (size_t)i), n->sc, n->proto->output[i]);
    strmap_free(&sc.names);
    return ok;
}

typedef struct if_shape { int rank, dt; } if_shape;

static bool if_block(onnx_node *n, node *branch, const Onnx__GraphProto *g, if_shape *shapes) {
    onnx_scope sc = {.outer = n->sc};
    graph_set_insert(n->p->g, node_add_block(branch), NULL);
    bool ok = flow_body(n, &sc, g), first = branch->blocks.len == 1;
    block *b = branch->blocks.data[branch->blocks.len - 1];
    for (int i = 0; ok && i < n->nout; i++) {
        onnx_value *v = flow_output(n, &sc, g, (size_t)i);
        ir_value *t = v ? onnx_as_tensor(&sc, n->p, v) : NULL;
        if (!(ok = t != NULL)) break;
        block_add_return(b, t);
        if (first || shapes[i].rank != v->rank) shapes[i].rank = first ? v->rank : -1;
        if (first || shapes[i].dt != v->dt) shapes[i].dt = first ? v->dt : -1;
    }
    strmap_free(&sc.names);
    return ok;
}

bool onnx_op_if(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    const Onnx__GraphProto *yes = flow_graph(n, "then_branch"),
                           *no = yes ? flow_graph(n, "else_branch") : NULL;
    onnx_value *cond = no ? onnx_need(n, 0) : NULL;
    double known;
    (void)text;
    if (!cond) return false;
    if (onnx_known_number(cond, &known)) return if_inline(n, known != 0 ? yes : no);
    ir_value *t = onnx_t(n, 0), *c = t ? ONNX_EMIT(p, "aten::Bool.Tensor", t) : NULL;
    if_shape *shapes = arena_array(&p->scratch, if_shape, n->nout + 1);
    if (!c || !shapes) return onnx_no_memory(p);
    node *branch = graph_insert(p->g, node_new(p->g, N_IF, 1, &c, 0));
    block *outer = p->g->insert_block;
    node *before = p->g->insert_before;
    bool ok = if_block(n, branch, yes, shapes) && if_block(n, branch, no, shapes);
    graph_set_insert(p->g, outer, before);
    for (int i = 0; ok && i < n->nout; i++)
        ok = onnx_out(n, i, node_add_output(branch, TYPE_TENSOR), shapes[i].rank, shapes[i].dt);
    return ok;
}

/* ---- Loop ------------------------------------------------------------------------------------ */

static ir_value *loop_bool(onnx_node *n, onnx_scope *sc, onnx_value *v) {
    ir_value *t = v ? onnx_as_tensor(sc, n->p, v) : onnx_bool(n->p, true);
    return !t || t->type->kind == T_BOOL ? t : ONNX_EMIT(n->p, "aten::Bool.Tensor", t);
}

/* Inputs of the body: the number of the iteration, the condition, carried values. */
static bool loop_inputs(onnx_node *n, onnx_scope *sc, const Onnx__GraphProto *g, block *b,
                        int carried) {
    onnx_program *p = n->p;
    for (int i = 0; i < carried + 2; i++) {
        onnx_value *v = onnx_value_new(sc, p, g->input[i]->name ? g->input[i]->name : "");
        if (!v) return false;
        if (i == 0) {
            if (!(v->ints = arena_array(&p->scratch, ir_value *, 1))) return onnx_no_memory(p);
            v->ints[0] = b->params.data[0];
            v->nints = 1;
            v->rank = 0;
            v->dt = DT_INT64;
        } else if (i == 1) {
            ir_value *yes = onnx_bool(p, true);
            v->ir = yes ? ONNX_EMIT(p, "aten::tensor.bool", yes) : NULL;
            v->rank = 0;
            v->dt = DT_BOOL;
            if (!v->ir) return false;
        } else {
            v->ir = b->params.data[i - 1];
            v->dt = n->in[i]->dt;
        }
    }
    return true;
}

static bool loop_body(onnx_node *n, node *loop, const Onnx__GraphProto *g, int carried, int nlists,
                      ir_value *const *lists) {
    onnx_program *p = n->p;
    onnx_scope sc = {.outer = n->sc};
    block *b = node_add_block(loop);
    block_add_param(b, TYPE_INT);
    for (int i = 0; i < carried; i++) block_add_param(b, TYPE_TENSOR);
    graph_set_insert(p->g, b, NULL);
    bool ok = loop_inputs(n, &sc, g, b, carried) && flow_body(n, &sc, g);
    ir_value *go = ok ? loop_bool(n, &sc, flow_output(n, &sc, g, 0)) : NULL;
    if (go) block_add_return(b, go);
    for (int i = 0; go && i < carried; i++) {
        onnx_value *v = flow_output(n, &sc, g, (size_t)i + 1);
        ir_value *t = v ? onnx_as_tensor(&sc, p, v) : NULL;
        if (!t) go = NULL;
        else block_add_return(b, t);
    }
    for (int i = 0; go && i < nlists; i++) {
        onnx_value *v = flow_output(n, &sc, g, (size_t)(i + 1 + carried));
        ir_value *t = v ? onnx_as_tensor(&sc, p, v) : NULL;
        go = t && ONNX_EMIT(p, "aten::append.t", lists[i], t) ? go : NULL;
    }
    strmap_free(&sc.names);
    return go != NULL;
}

bool onnx_op_loop(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    const Onnx__GraphProto *g = flow_graph(n, "body");
    int carried = n->nin - 2, lists = n->nout - carried;
    (void)text;
    if (!g) return false;
    if (carried < 0 || lists < 0 || g->n_input != (size_t)(carried + 2) ||
        g->n_output != (size_t)(1 + carried + lists))
        return onnx_bad(p, "the body's inputs and outputs are not those of the node");
    ir_value **in = arena_array(&p->scratch, ir_value *, n->nin + 1),
             **list = arena_array(&p->scratch, ir_value *, lists + 1);
    if (!in || !list) return onnx_no_memory(p);
    in[0] = n->in[0] ? onnx_as_int(n->sc, p, n->in[0]) : onnx_int(p, INT64_MAX);
    in[1] = in[0] ? loop_bool(n, n->sc, n->in[1]) : NULL;
    for (int i = 2; in[i - 1] && i < n->nin; i++) in[i] = onnx_t(n, i);
    for (int i = 0; i < n->nin; i++)
        if (!in[i]) return onnx_no_memory(p);
    for (int i = 0; i < lists; i++)
        if (!(list[i] = onnx_list(p, TYPE_TENSOR, 0, NULL))) return false;
    node *loop = graph_insert(p->g, node_new(p->g, N_LOOP, n->nin, in, 0));
    block *outer = p->g->insert_block;
    node *before = p->g->insert_before;
    bool ok = loop_body(n, loop, g, carried, lists, list);
    graph_set_insert(p->g, outer, before);
    for (int i = 0; ok && i < n->nout; i++) {
        ir_value *v = i < carried ? node_add_output(loop, TYPE_TENSOR)
                                  : ONNX_EMIT(p, "aten::stack", list[i - carried], onnx_int(p, 0));
        ok = onnx_out(n, i, v, -1, i < carried ? n->in[i + 2]->dt : -1);
    }
    return ok;
}
