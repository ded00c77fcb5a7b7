/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_op_flow.c - If, Loop and Scan, whose bodies are graphs that see the names around
 * them; functions of the model, which see only their inputs and are inlined at their calls.
 *
 *     If(cond) {then, else}             prim::If(Bool(cond)); a known branch is emitted alone
 *     Loop(M, cond, v...) {body}        prim::Loop(M, Bool(cond), v..., lists...): what the body gives besides the carried
 *                                       values is appended to lists, which are stacked after it
 *     Scan(v..., x...) {body}           prim::Loop(size of x, true, v..., lists...): the body gets a slice of each x
 *     SequenceMap(s, ...) {body}        prim::Loop(len(s), true): the body gets an element of each sequence, and fills lists
 */
#include "frontend/onnx/onnx_internal.h"

static const Onnx__GraphProto *flow_graph(onnx_node *n, const char *name) {
    const Onnx__AttributeProto *a = onnx_attr(n, name);
    if (!a || !a->g) return onnx_bad(n->p, "attribute '%s' is not a graph", name), NULL;
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

/* Of what leaves a block: a tensor, a sequence, or one of these that may be missing. */
static type *flow_type(const type *t) {
    if (t->kind == T_OPTIONAL) return (type *)(uintptr_t)t;
    return t->kind == T_LIST ? type_list(TYPE_TENSOR) : TYPE_TENSOR;
}

bool onnx_alias(onnx_program *p, const onnx_value *v, onnx_scope *sc, const char *name) {
    onnx_value *out = v && *name ? onnx_value_new(sc, p, name) : NULL;
    if (!out) return v && !*name;
    *out = *v;
    out->name = name;
    out->scope = sc;
    return true;
}

/* ---- functions ------------------------------------------------------------------------------- */

static bool function_same(const char *a, const char *b) { return !strcmp(a ? a : "", b ? b : ""); }

static bool function_key(strbuf *sb, const char *name, const char *domain, const char *overload) {
    sb_clear(sb);
    sb_printf(sb, "%s\n%s\n%s", name ? name : "", domain ? domain : "", overload ? overload : "");
    return !sb->failed;
}

bool onnx_functions(onnx_program *p) {
    strbuf sb = STRBUF_INIT;
    bool ok = true;
    for (size_t i = 0; ok && i < p->model->n_functions; i++) {
        Onnx__FunctionProto *f = p->model->functions[i];
        const char *key = function_key(&sb, f->name, f->domain, f->overload)
                              ? arena_strndup(&p->scratch, sb_str(&sb), sb.len)
                              : NULL;
        /* of two the first */
        ok = key && (strmap_get(&p->functions, key) || strmap_put(&p->functions, key, f));
    }
    sb_free(&sb);
    return ok || onnx_no_memory(p);
}

const Onnx__FunctionProto *onnx_function(onnx_program *p, const Onnx__NodeProto *proto) {
    if (!p->model->n_functions) return NULL;
    strbuf sb = STRBUF_INIT;
    const Onnx__FunctionProto *f = NULL;
    if (function_key(&sb, proto->op_type, proto->domain, proto->overload))
        f = strmap_get(&p->functions, sb_str(&sb));
    else onnx_no_memory(p);
    sb_free(&sb);
    return f;
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
        if (!onnx_alias(n->p, v, sc, f->input[i])) return false;
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
    p->made += (f->n_input + f->n_output + f->n_opset_import + f->n_attribute_proto) / 16;
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
             onnx_alias(p, onnx_name(&sc, p, f->output[i]), n->sc, n->proto->output[i]);
    strmap_free(&sc.names);
    return ok;
}

/* ---- If -------------------------------------------------------------------------------------- */

/* The branch in place of the node. */
static bool if_inline(onnx_node *n, const Onnx__GraphProto *g) {
    onnx_scope sc = {.outer = n->sc};
    bool ok = flow_body(n, &sc, g);
    for (int i = 0; ok && i < n->nout; i++)
        ok = onnx_alias(n->p, flow_output(n, &sc, g, (size_t)i), n->sc, n->proto->output[i]);
    strmap_free(&sc.names);
    return ok;
}

typedef struct if_shape { int rank, dt; type *type; } if_shape;

static bool if_block(onnx_node *n, node *branch, const Onnx__GraphProto *g, if_shape *shapes) {
    onnx_scope sc = {.outer = n->sc};
    graph_set_insert(n->p->g, node_add_block(branch), NULL);
    bool ok = flow_body(n, &sc, g), first = branch->blocks.len == 1;
    block *b = branch->blocks.data[branch->blocks.len - 1];
    for (int i = 0; ok && i < n->nout; i++) {
        onnx_value *v = flow_output(n, &sc, g, (size_t)i);
        ir_value *t = v ? onnx_as_any(&sc, n->p, v) : NULL;
        if (!(ok = t != NULL)) break;
        if (first || t->type->kind == T_OPTIONAL) shapes[i].type = t->type;
        else if (shapes[i].type->kind != t->type->kind && shapes[i].type->kind != T_OPTIONAL)
            ok = onnx_bad(n->p, "output %d is a tensor in one branch and a sequence in the other",
                          i);
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
        ok = onnx_out(n, i, node_add_output(branch, flow_type(shapes[i].type)), shapes[i].rank,
                      shapes[i].dt);
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

/* What an iteration gives for a result that is stacked: the dtype, and the sizes that the body says
 * (0 where it says none), for loops of no iterations. */
typedef struct flow_each { int dt, rank; int64_t sizes[TENSOR_MAX_DIMS]; } flow_each;

static void flow_each_note(const Onnx__GraphProto *g, size_t output, const onnx_value *v,
                           flow_each *each) {
    const Onnx__TypeProto *ty = output < g->n_output ? g->output[output]->type : NULL;
    const Onnx__TypeProto__Tensor *t = ty ? ty->tensor_type : NULL;
    *each = (flow_each){.dt = v->dt,
                        .rank = v->rank < 0 || v->rank > TENSOR_MAX_DIMS ? 0 : v->rank};
    if (each->dt < 0 && t && t->has_elem_type) each->dt = onnx_kept_dtype(t->elem_type);
    if (each->dt < 0) each->dt = DT_FLOAT32;
    if (!t || !t->shape || t->shape->n_dim > TENSOR_MAX_DIMS) return;
    each->rank = (int)t->shape->n_dim;
    for (int i = 0; i < each->rank; i++)
        if (t->shape->dim[i]->has_dim_value && t->shape->dim[i]->dim_value >= 0)
            each->sizes[i] = t->shape->dim[i]->dim_value;
}

static ir_value *flow_stack(onnx_program *p, ir_value *list, int64_t axis, const flow_each *each) {
    return ONNX_EMIT(p, "ctsc::onnx_stack", list, onnx_int(p, axis),
                     onnx_ints(p, each->rank, each->sizes), onnx_int(p, each->dt));
}

static bool loop_body(onnx_node *n, node *loop, const Onnx__GraphProto *g, int carried, int nlists,
                      ir_value *const *lists, flow_each *each) {
    onnx_program *p = n->p;
    onnx_scope sc = {.outer = n->sc};
    block *b = node_add_block(loop);
    block_add_param(b, TYPE_INT);
    for (int i = 0; i < carried; i++) block_add_param(b, flow_type(loop->inputs.data[i + 2]->type));
    graph_set_insert(p->g, b, NULL);
    bool ok = loop_inputs(n, &sc, g, b, carried) && flow_body(n, &sc, g);
    ir_value *go = ok ? loop_bool(n, &sc, flow_output(n, &sc, g, 0)) : NULL;
    if (go) block_add_return(b, go);
    for (int i = 0; go && i < carried; i++) {
        onnx_value *v = flow_output(n, &sc, g, (size_t)i + 1);
        ir_value *t = v ? onnx_as_any(&sc, p, v) : NULL;
        if (t && flow_type(t->type)->kind != b->params.data[i + 1]->type->kind &&
            b->params.data[i + 1]->type->kind != T_OPTIONAL)
            t = (onnx_bad(p, "carried value %d changes between tensor and sequence", i), NULL);
        if (!t) go = NULL;
        else block_add_return(b, t);
    }
    for (int i = 0; go && i < nlists; i++) {
        onnx_value *v = flow_output(n, &sc, g, (size_t)(i + 1 + carried));
        ir_value *t = v ? onnx_as_tensor(&sc, p, v) : NULL;
        if (t) flow_each_note(g, (size_t)(i + 1 + carried), v, &each[i]);
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
    flow_each *each = arena_array(&p->scratch, flow_each, lists + 1);
    if (!in || !list || !each) return onnx_no_memory(p);
    in[0] = n->in[0] ? onnx_as_int(n->sc, p, n->in[0]) : onnx_int(p, INT64_MAX);
    in[1] = in[0] ? loop_bool(n, n->sc, n->in[1]) : NULL;
    for (int i = 2; in[i - 1] && i < n->nin; i++) {
        onnx_value *v = onnx_need(n, i);
        in[i] = v ? onnx_as_any(n->sc, p, v) : NULL;
    }
    for (int i = 0; i < n->nin; i++)
        if (!in[i]) return onnx_no_memory(p);
    for (int i = 0; i < lists; i++)
        if (!(list[i] = onnx_list(p, TYPE_TENSOR, 0, NULL))) return false;
    node *loop = graph_insert(p->g, node_new(p->g, N_LOOP, n->nin, in, 0));
    block *outer = p->g->insert_block;
    node *before = p->g->insert_before;
    bool ok = loop_body(n, loop, g, carried, lists, list, each);
    graph_set_insert(p->g, outer, before);
    for (int i = 0; ok && i < n->nout; i++) {
        ir_value *v = i < carried ? node_add_output(loop, flow_type(in[i + 2]->type))
                                  : flow_stack(p, list[i - carried], 0, &each[i - carried]);
        ok = onnx_out(n, i, v, -1, i < carried ? n->in[i + 2]->dt : each[i - carried].dt);
    }
    return ok;
}

/* ---- Scan ------------------------------------------------------------------------------------ */

typedef struct scan {
    const Onnx__GraphProto *g;
    /* values from iteration to iteration; tensors that are unpacked and packed again */
    int carried, scanned, made;
    const int64_t *in_axes, *out_axes, *in_back, *out_back; /* NULL: all 0 */
    ir_value **in, **list;
    flow_each *each;
    ir_value *count;
} scan;

static const int64_t *scan_ints(onnx_node *n, const char *name, int want, bool *ok) {
    int count = 0;
    const int64_t *ints = onnx_attr_ints(n, name, &count);
    if (ints && count != want) {
        onnx_bad(n->p, "attribute '%s' has %d elements, not %d", name, count, want);
        *ok = false;
    }
    return ints;
}

/* Carried values, then slice number `i` (of the block) of each of the others. */
static bool scan_inputs(onnx_node *n, const scan *s, onnx_scope *sc, block *b) {
    onnx_program *p = n->p;
    for (int i = 0; i < s->carried + s->scanned; i++) {
        onnx_value *v = onnx_value_new(sc, p, s->g->input[i]->name ? s->g->input[i]->name : "");
        if (!v) return false;
        v->dt = n->in[i]->dt;
        if (i < s->carried) {
            v->ir = b->params.data[i + 1];
            continue;
        }
        int k = i - s->carried;
        ir_value *at = b->params.data[0];
        if (s->in_back && s->in_back[k]) {
            ir_value *last = ONNX_EMIT(p, "aten::sub.int", s->count, onnx_int(p, 1));
            at = last ? ONNX_EMIT(p, "aten::sub.int", last, at) : NULL;
        }
        v->rank = n->in[i]->rank > 0 ? n->in[i]->rank - 1 : -1;
        v->ir = at ? ONNX_EMIT(p, "aten::select.int", s->in[i + 2],
                               onnx_int(p, s->in_axes ? s->in_axes[k] : 0), at)
                   : NULL;
        if (!v->ir) return false;
    }
    return true;
}

static bool scan_body(onnx_node *n, const scan *s, node *loop) {
    onnx_program *p = n->p;
    onnx_scope sc = {.outer = n->sc};
    block *b = node_add_block(loop);
    block_add_param(b, TYPE_INT);
    for (int i = 0; i < s->carried; i++) block_add_param(b, TYPE_TENSOR);
    graph_set_insert(p->g, b, NULL);
    bool ok = scan_inputs(n, s, &sc, b) && flow_body(n, &sc, s->g);
    ir_value *go = ok ? onnx_bool(p, true) : NULL;
    if (go) block_add_return(b, go);
    for (int i = 0; go && i < s->carried + s->made; i++) {
        onnx_value *v = flow_output(n, &sc, s->g, (size_t)i);
        ir_value *t = v ? onnx_as_tensor(&sc, p, v) : NULL;
        if (t && i >= s->carried) flow_each_note(s->g, (size_t)i, v, &s->each[i - s->carried]);
        if (!t) go = NULL;
        else if (i < s->carried) block_add_return(b, t);
        else if (!ONNX_EMIT(p, "aten::append.t", s->list[i - s->carried], t)) go = NULL;
    }
    strmap_free(&sc.names);
    return go != NULL;
}

/* The tensors that the body made, in a row along an axis. */
static ir_value *scan_stacked(onnx_node *n, const scan *s, int i) {
    onnx_program *p = n->p;
    int64_t dim = s->out_axes ? s->out_axes[i] : 0;
    ir_value *y = flow_stack(p, s->list[i], dim, &s->each[i]);
    if (!y || !s->out_back || !s->out_back[i]) return y;
    return ONNX_EMIT(p, "aten::flip", y, onnx_ints(p, 1, &dim));
}

static bool scan_read(onnx_node *n, scan *s) {
    bool ok = true;
    s->g = flow_graph(n, "body");
    s->scanned = (int)onnx_attr_int(n, "num_scan_inputs", 0);
    if (!s->g) return false;
    if (s->scanned < 1 || s->scanned > n->nin)
        return onnx_bad(n->p, "num_scan_inputs is %d", s->scanned);
    s->carried = n->nin - s->scanned;
    s->made = n->nout - s->carried;
    if (s->made < 0 || s->g->n_input != (size_t)n->nin || s->g->n_output != (size_t)n->nout)
        return onnx_bad(n->p, "the body's inputs and outputs are not those of the node");
    s->in_axes = scan_ints(n, "scan_input_axes", s->scanned, &ok);
    s->in_back = scan_ints(n, "scan_input_directions", s->scanned, &ok);
    s->out_axes = scan_ints(n, "scan_output_axes", s->made, &ok);
    s->out_back = scan_ints(n, "scan_output_directions", s->made, &ok);
    return ok && !onnx_failed(n->p);
}

bool onnx_op_scan_8(onnx_node *n, const char *text) {
    (void)text;
    return onnx_unsupported(n->p, "its form of version 8 is not supported, that of 9 is");
}

bool onnx_op_scan(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    scan s = {0};
    (void)text;
    if (!scan_read(n, &s)) return false;
    s.in = arena_array(&p->scratch, ir_value *, n->nin + 2);
    s.list = arena_array(&p->scratch, ir_value *, s.made + 1);
    s.each = arena_array(&p->scratch, flow_each, s.made + 1);
    if (!s.in || !s.list || !s.each) return onnx_no_memory(p);
    for (int i = 0; i < n->nin; i++)
        if (!(s.in[i + 2] = onnx_t(n, i))) return false;
    s.count = ONNX_EMIT(p, "aten::size.int", s.in[s.carried + 2],
                        onnx_int(p, s.in_axes ? s.in_axes[0] : 0));
    s.in[0] = s.count;
    s.in[1] = onnx_bool(p, true);
    for (int i = 0; i < s.made; i++)
        if (!(s.list[i] = onnx_list(p, TYPE_TENSOR, 0, NULL))) return false;
    if (!s.in[0] || !s.in[1]) return onnx_no_memory(p);
    node *loop = graph_insert(p->g, node_new(p->g, N_LOOP, s.carried + 2, s.in, 0));
    block *outer = p->g->insert_block;
    node *before = p->g->insert_before;
    bool ok = scan_body(n, &s, loop);
    graph_set_insert(p->g, outer, before);
    for (int i = 0; ok && i < n->nout; i++)
        ok = onnx_out(n, i,
                      i < s.carried ? node_add_output(loop, TYPE_TENSOR)
                                    : scan_stacked(n, &s, i - s.carried),
                      -1, i < s.carried ? n->in[i]->dt : s.each[i - s.carried].dt);
    return ok;
}

/* ---- SequenceMap ----------------------------------------------------------------------------- */

/* Inputs of the body: elements of the sequences, and tensors as they are. */
static bool map_inputs(onnx_node *n, onnx_scope *sc, const Onnx__GraphProto *g, ir_value *at) {
    onnx_program *p = n->p;
    for (int i = 0; i < n->nin; i++) {
        const char *name = g->input[i]->name ? g->input[i]->name : "";
        if (!onnx_need(n, i)) return false;
        if (!onnx_is_sequence(n->in[i])) {
            if (!onnx_alias(p, n->in[i], sc, name)) return false;
            continue;
        }
        const Onnx__TypeProto *ty = g->input[i]->type;
        onnx_value *v = onnx_value_new(sc, p, name);
        if (!v || !(v->ir = ONNX_EMIT(p, "aten::__getitem__.t", n->in[i]->ir, at))) return false;
        if (ty && ty->tensor_type && ty->tensor_type->has_elem_type)
            v->dt = onnx_kept_dtype(ty->tensor_type->elem_type);
    }
    return true;
}

/* A loop over the first sequence, whose results are appended to lists. */
bool onnx_op_sequence_map(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    const Onnx__GraphProto *g = flow_graph(n, "body");
    ir_value *first = g ? onnx_sequence(n, 0) : NULL,
             **list = arena_array(&p->scratch, ir_value *, n->nout + 1);
    (void)text;
    if (!first || !list) return first ? onnx_no_memory(p) : false;
    if (g->n_input != (size_t)n->nin || g->n_output != (size_t)n->nout)
        return onnx_bad(p, "the body's inputs and outputs are not those of the node");
    ir_value *in[] = {ONNX_EMIT(p, "aten::len.t", first), onnx_bool(p, true)};
    for (int i = 0; i < n->nout; i++)
        if (!(list[i] = onnx_list(p, TYPE_TENSOR, 0, NULL))) return false;
    if (!in[0] || !in[1]) return onnx_no_memory(p);
    node *loop = graph_insert(p->g, node_new(p->g, N_LOOP, 2, in, 0));
    block *outer = p->g->insert_block, *b = node_add_block(loop);
    node *before = p->g->insert_before;
    onnx_scope sc = {.outer = n->sc};
    block_add_param(b, TYPE_INT);
    graph_set_insert(p->g, b, NULL);
    bool ok = map_inputs(n, &sc, g, b->params.data[0]) && flow_body(n, &sc, g);
    for (int i = 0; ok && i < n->nout; i++) {
        onnx_value *v = flow_output(n, &sc, g, (size_t)i);
        ir_value *t = v ? onnx_as_tensor(&sc, p, v) : NULL;
        ok = t && ONNX_EMIT(p, "aten::append.t", list[i], t);
    }
    ir_value *go = ok ? onnx_bool(p, true) : NULL;
    if (go) block_add_return(b, go);
    strmap_free(&sc.names);
    graph_set_insert(p->g, outer, before);
    for (int i = 0; go && i < n->nout; i++)
        if (!onnx_out(n, i, list[i], -1, -1)) return false;
    return go != NULL;
}
