/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grad_graph.c - see grad_graph.h.
 *
 * Method. The executed program belongs to a signature and a state of the module
 * (grad_program.c). It is shown in PyTorch's terms: the tensors are checked, and go
 * into a prim::DifferentiableGraph or, if they differ, to the original function.
 * The graph inside returns the results, then the values kept for the gradients.
 *
 *     %4 : ..., %5 : bool = prim::RequiresGradCheck[types=[Tensor(requires_grad=1)]](%x.1)
 *     %6 : Tensor = prim::If(%5)
 *       block0():
 *         %7 : Tensor = prim::DifferentiableGraph_0(%4)
 *         -> (%7)
 *       block1():
 *         %8 : Function = prim::Constant[name="fallback_function", fallback=1]()
 *         %9 : (Tensor) = prim::CallFunction(%8, %x.1)
 *         %10 : Tensor = prim::TupleUnpack(%9)
 *         -> (%10)
 *
 * Tests: tests/cli/graph-for.test
 */
#include "runtime/api/grad_graph.h"

#include "runtime/autograd/grad_program.h"
#include "runtime/interp/interp.h"
#include "runtime/program/module.h"

enum { GRAD_GRAPH_CALLS = 3, GRAD_GRAPH_DEPTH = 64 };

typedef struct shown {
    graph *g;
    function *f;
    ptrmap values; /* tensor, module -> its ir_value */
} shown;

static type *shown_type(const tensor *t) {
    tensor_info info = {.dtype = (int8_t)t->dtype,
                        .ndim = (int8_t)t->ndim,
                        .requires_grad = t->requires_grad,
                        .device = (int8_t)tensor_device(t),
                        .has_strides = true,
                        .sizes = t->sizes,
                        .strides = t->strides};
    return type_tensor_details(&info);
}

/* ---- where tensors are ----------------------------------------------------------------------- */

/* What v holds becomes known: the tensor that it is, or those in it. */
static bool shown_unpack(shown *s, ir_value *v, value x, int depth) {
    bool is_list = x.tag == V_LIST && x.u.list->kind == LIST_TENSOR;
    if (x.tag == V_TENSOR) {
        v->type = shown_type(x.u.tensor);
        return ptrmap_get(&s->values, x.u.tensor) || ptrmap_put(&s->values, x.u.tensor, v);
    }
    if ((x.tag != V_TUPLE && !is_list) || depth > GRAD_GRAPH_DEPTH) return true;
    size_t n = is_list ? x.u.list->len : x.u.tuple->len;
    node *parts = graph_insert(
        s->g, node_new(s->g, is_list ? N_LIST_UNPACK : N_TUPLE_UNPACK, 1, &v, (int)n));
    bool ok = !arena_failed(&s->g->arena);
    for (size_t i = 0; ok && i < n; i++) {
        value item = is_list ? (value){.tag = V_TENSOR, .u.tensor = x.u.list->u.tensors[i]}
                             : x.u.tuple->items[i];
        parts->outputs.data[i]->type = type_of_value(item);
        ok = shown_unpack(s, parts->outputs.data[i], item, depth + 1);
    }
    return ok;
}

static ir_value *shown_get(shown *s, ir_value *v, const char *name, type *t) {
    node *get = graph_insert(s->g, node_new(s->g, N_GET_ATTR, 1, &v, 1));
    node_set_str(get, "name", name);
    get->outputs.data[0]->type = t;
    return get->outputs.data[0];
}

/* The attribute that holds t, of the object that v is; NULL: none does. */
static ir_value *shown_attribute(shown *s, ir_value *v, const object *o, const tensor *t,
                                 int depth) {
    for (size_t i = 0; i < o->nslots && !arena_failed(&s->g->arena); i++) {
        const char *name = o->cls->cls->attributes.data[i].name;
        value x = o->slots[i];
        if (x.tag == V_TENSOR && x.u.tensor == t) return shown_get(s, v, name, shown_type(t));
        if (x.tag != V_OBJECT || depth >= GRAD_GRAPH_DEPTH) continue;
        ir_value *known = ptrmap_get(&s->values, x.u.object),
                 *part = known ? known : shown_get(s, v, name, x.u.object->cls),
                 *found = shown_attribute(s, part, x.u.object, t, depth + 1);
        if (!found && !known) node_remove(part->def);
        if (!found) continue;
        if (!known) value_set_name(part, name);
        return ptrmap_put(&s->values, x.u.object, part) ? found : NULL;
    }
    return NULL;
}

static ir_value *shown_tensor(shown *s, const value *args, tensor *t) {
    ir_value *v = ptrmap_get(&s->values, t), *self = s->g->root->params.data[0];
    if (!v && args[0].tag == V_OBJECT) {
        v = shown_attribute(s, self, args[0].u.object, t, 0);
        if (v) value_set_name(v, node_str(v->def, "name"));
    }
    if (!v) v = graph_constant_take(s->g, value_tensor_take(tensor_ref(t)), shown_type(t));
    if (v && !arena_failed(&s->g->arena)) ptrmap_put(&s->values, t, v);
    return v;
}

/* ---- the graph around ------------------------------------------------------------------------ */

static node *shown_op(graph *g, const char *name, int nin, ir_value *const *in, int nout) {
    node *n = node_new(g, N_OP, nin, in, nout);
    n->op_name = name;
    return graph_insert(g, n);
}

static void shown_fallback(shown *s, int n, ir_value *const *in, type *result) {
    graph *g = s->g;
    node *f = graph_insert(g, node_new(g, N_CONSTANT, 0, NULL, 1));
    node_set_str(f, "name", "fallback_function");
    node_set_int(f, "fallback", 1);
    f->outputs.data[0]->type = TYPE_FUNCTION;
    node *call = graph_insert(g, node_new(g, N_CALL_FUNCTION, 1, f->outputs.data, 1));
    for (int i = 0; i < n; i++) node_add_input(call, in[i]);
    call->outputs.data[0]->type = type_tuple(1, &result);
    node *parts = graph_insert(g, node_new(g, N_TUPLE_UNPACK, 1, call->outputs.data, 1));
    parts->outputs.data[0]->type = result;
    block_add_return(g->insert_block, parts->outputs.data[0]);
}

/* The check, the two ways, and the return. in: what the program takes; inner: taken. */
static void shown_branch(shown *s, int n, ir_value **in, type **types, graph *inner, type *result) {
    graph *g = s->g;
    node *check = shown_op(g, "prim::RequiresGradCheck", n, in, n + 1);
    for (int i = 0; i < n; i++) {
        check->outputs.data[i]->type = in[i]->type;
        tensor_info info = {.dtype = -1,
                            .ndim = -1,
                            .device = -1,
                            .requires_grad = in[i]->type->tensor->requires_grad};
        types[i] = type_tensor_details(&info);
    }
    node_set_types(check, "types", n, types);
    check->outputs.data[n]->type = TYPE_BOOL;
    node *choice = graph_insert(g, node_new(g, N_IF, 1, &check->outputs.data[n], 1));
    choice->outputs.data[0]->type = result;
    graph_set_insert(g, node_add_block(choice), NULL);
    node *whole = shown_op(g, "prim::DifferentiableGraph", n, check->outputs.data, 1);
    whole->outputs.data[0]->type = result;
    node_set_graph(whole, "Subgraph", inner);
    block_add_return(g->insert_block, whole->outputs.data[0]);
    graph_set_insert(g, node_add_block(choice), NULL);
    shown_fallback(s, n, in, result);
    graph_set_insert(g, g->root, NULL);
    block_add_return(g->root, choice->outputs.data[0]);
}

/* The results first, then what is kept: those in the tuple that the program returns. */
static void shown_returns(graph *inner) {
    node *made = inner->root->returns.data[0]->def;
    if (!made || made->kind != N_TUPLE_CONSTRUCT) return;
    block_remove_return(inner->root, 0);
    for (size_t i = 0; i < made->inputs.len; i++)
        block_add_return(inner->root, made->inputs.data[i]);
    node_remove(made);
}

static bool shown_params(shown *s, int n, const value *args) {
    for (int i = 0; i < n && !arena_failed(&s->g->arena); i++) {
        const argument *a = &s->f->schema->args[i];
        ir_value *v = block_add_param(s->g->root,
                                      args[i].tag == V_OBJECT ? args[i].u.object->cls : a->type);
        value_set_name(v, s->f->graph->root->params.data[i]->name);
    }
    for (int i = 0; i < n && !arena_failed(&s->g->arena); i++)
        if (!shown_unpack(s, s->g->root->params.data[i], args[i], 0)) return false;
    return !arena_failed(&s->g->arena);
}

/* Names of the program's parameters, which have none. */
static void shown_name(graph *program, ir_value *const *in) {
    for (size_t i = 0; i < program->root->params.len; i++)
        if (value_has_name(in[i])) value_set_name(program->root->params.data[i], in[i]->name);
}

/* Puts the values of the program's parameters in *in (of s's arena); NULL if out of memory. */
static ir_value **shown_inputs(shown *s, const program_view *v, const value *args) {
    size_t n = (size_t)v->ntensors + v->nexternals;
    ir_value **in = arena_alloc(&s->g->arena, (n + 1) * sizeof *in);
    bool ok = in != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        tensor *t = i < (size_t)v->ntensors ? v->tensors[i] : v->externals[i - (size_t)v->ntensors];
        ok = (in[i] = shown_tensor(s, args, t)) != NULL;
    }
    return ok && !arena_failed(&s->g->arena) ? in : NULL;
}

static ctsc_status shown_make(shown *s, const program_view *v, int n, const value *args, diag *d,
                              graph **out, graph **backward) {
    graph *inner = graph_clone(v->forward), *back = v->backward ? graph_clone(v->backward) : NULL;
    size_t count = (size_t)v->ntensors + v->nexternals;
    s->g = graph_new();
    bool ok = inner && s->g && (back || !v->backward) && shown_params(s, n, args);
    ir_value **in = ok ? shown_inputs(s, v, args) : NULL;
    type **types = in ? arena_alloc(&s->g->arena, (count + 1) * sizeof *types) : NULL;
    if (types) {
        shown_name(inner, in);
        if (!v->backward) { /* one program: the graph itself */
            *out = inner;
            inner = NULL;
        } else {
            shown_returns(inner);
            shown_branch(s, (int)count, in, types, inner, s->f->schema->returns[0].type);
            inner = NULL; /* the node's */
            *out = s->g;
            *backward = back;
            s->g = back = NULL;
        }
    }
    graph_free(inner);
    graph_free(back);
    graph_free(s->g);
    return types && !arena_failed(&(*out)->arena) ? CTSC_OK : diag_no_memory(d);
}

/* Several calls, each as of a new runtime. */
static ctsc_status shown_call(function *f, runtime *rt, int n, const value *args, diag *d,
                              program_view *v) {
    bool wanted = rt->taped, found = false;
    for (int i = 0; i < GRAD_GRAPH_CALLS && !found; i++) {
        value result = value_none();
        rt->taped = rt->grad_enabled = rt->grad_requested = wanted;
        TRY(module_call(f, rt, (size_t)n, args, d, &result));
        value_unref(result);
        found = program_seen(rt, f, n, args, v);
    }
    return CTSC_OK;
}

ctsc_status grad_graph_for(function *f, runtime *rt, int n, const value *args, diag *d, graph **out,
                           graph **backward) {
    program_view v = {0};
    ctsc_status st = shown_call(f, rt, n, args, d, &v);
    if (st != CTSC_OK || !v.forward) return st;
    shown s = {.f = f};
    graph *made = NULL, *back = NULL;
    st = shown_make(&s, &v, n, args, d, &made, &back);
    ptrmap_free(&s.values);
    if (st == CTSC_OK) *out = made, *backward = back;
    else graph_free(made), graph_free(back);
    return st;
}
