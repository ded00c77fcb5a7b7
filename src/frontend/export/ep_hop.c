/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_hop.c - higher-order operators: branches become
 * prim::If; bodies that are merely wrapped are inlined.
 *
 *     {"target": "torch.ops.higher_order.cond", "inputs": [gt, true_graph, false_graph, [x, b]]}
 *
 *     %getitem : Tensor = prim::If(%gt)
 *       block0(): ...nodes of true_graph about %x, %b...   -> (...)
 *       block1(): ...
 *
 * Loops: ep_hop_loop.c; operators made functional: ep_effect.c.
 */
#include "frontend/export/ep_internal.h"

const json_t *ep_graph_arg(ep_node *n, size_t i) {
    const json_t *arg = ep_node_arg(n, i), *g = arg ? ep_object(n->sc->p, arg, "as_graph") : NULL;
    return g ? ep_object(n->sc->p, g, "graph") : NULL;
}

bool ep_operands(ep_node *n, size_t i, int *count, ir_value ***out) {
    ep_program *p = n->sc->p;
    const json_t *arg = ep_node_arg(n, i), *v;
    const char *kind = arg ? ep_union(p, arg, &v) : NULL;
    if (!kind) return false;
    if (!json_is_array(v)) return ep_bad(p, "input %zu is not a list of operands", i);
    bool tensors = !strcmp(kind, "as_tensors"), maybe = !strcmp(kind, "as_optional_tensors");
    size_t len = strlen(kind);
    /* as_ints: each an as_int */
    char *item = arena_strndup(&p->scratch, kind, len && kind[len - 1] == 's' ? len - 1 : len);
    *count = (int)json_array_size(v);
    if (!item || !(*out = arena_array(&p->scratch, ir_value *, *count + 1))) return ep_no_memory(p);
    for (int k = 0; k < *count; k++) {
        json_t *x = json_array_get(v, (size_t)k);
        json_t *wrapped = maybe ? json_incref(x)
                                : json_pack("{s:O}", tensors ? "as_tensor" : item, x);
        (*out)[k] = wrapped ? ep_argument(n->sc, wrapped, NULL) : NULL;
        json_decref(wrapped);
        if (!(*out)[k]) return ep_no_memory(p);
    }
    return true;
}

/* Operands that are inputs of their own, from input `first` on. */
static bool hop_spread(ep_node *n, size_t first, int *count, ir_value ***out) {
    ep_program *p = n->sc->p;
    size_t all = json_array_size(n->inputs);
    *count = 0;
    if (!(*out = arena_array(&p->scratch, ir_value *, all + 1))) return ep_no_memory(p);
    for (size_t i = first; i < all; i++) {
        const char *name = json_string_value(json_object_get(json_array_get(n->inputs, i), "name"));
        const json_t *arg = ep_node_arg(n, i);
        if (name && *name) continue; /* an option */
        if (!arg || !((*out)[(*count)++] = ep_argument(n->sc, arg, NULL))) return false;
    }
    return true;
}

/* ---- branches -------------------------------------------------------------------------------- */

static bool cond_branch(ep_node *n, node *made, size_t graph_input, int nargs, ir_value **args,
                        bool first) {
    ep_program *p = n->sc->p;
    const json_t *g = ep_graph_arg(n, graph_input);
    int nouts;
    ir_value **outs;
    block *b = node_add_block(made), *at = p->g->insert_block;
    node *before = p->g->insert_before;
    graph_set_insert(p->g, b, NULL);
    if (!g || !ep_inline(n->sc, g, nargs, args, n->sc->cast, &nouts, &outs)) return false;
    if (!first && (size_t)nouts != made->outputs.len)
        return ep_bad(p, "its branches have %zu and %d results", made->outputs.len, nouts);
    for (int i = 0; i < nouts; i++) {
        if (first) node_add_output(made, outs[i]->type);
        argument want = {.name = "result", .type = made->outputs.data[i]->type};
        if (!first && !(outs[i] = ep_conform(p, outs[i], &want))) return false;
        block_add_return(b, outs[i]);
    }
    graph_set_insert(p->g, at, before);
    return true;
}

static bool hop_cond(ep_node *n) {
    ep_program *p = n->sc->p;
    int nargs = 0;
    ir_value **args = NULL,
             *pred = ep_node_arg(n, 0) ? ep_argument(n->sc, ep_node_arg(n, 0), NULL) : NULL;
    if (!pred || (json_array_size(n->inputs) > 3 && !ep_operands(n, 3, &nargs, &args)))
        return false;
    if (pred->type->kind != T_BOOL && !(pred = ep_emit(p, "aten::Bool", 1, &pred))) return false;
    node *made = ep_insert(p, node_new(p->g, N_IF, 1, &pred, 0));
    if (!cond_branch(n, made, 1, nargs, args, true) || !cond_branch(n, made, 2, nargs, args, false))
        return false;
    return ep_results(n, (int)made->outputs.len, made->outputs.data, 0);
}

/* ---- bodies in line -------------------------------------------------------------------------- */

static bool hop_body(ep_node *n, size_t graph_input, size_t operands, bool spread,
                     ep_autocast cast) {
    int nargs = 0, nouts;
    ir_value **args = NULL, **outs;
    const json_t *g = ep_graph_arg(n, graph_input);
    if (!g) return false;
    bool ok = spread ? hop_spread(n, operands, &nargs, &args)
                     : json_array_size(n->inputs) <= operands ||
                           ep_operands(n, operands, &nargs, &args);
    return ok && ep_inline(n->sc, g, nargs, args, cast, &nouts, &outs) &&
           ep_results(n, nouts, outs, 0);
}

/* (device, dtype or none, enabled, cache, graph, operands...) */
static bool hop_autocast(ep_node *n) {
    ep_program *p = n->sc->p;
    const json_t *device = ep_node_arg(n, 0), *type = device ? ep_node_arg(n, 1) : NULL,
                 *enabled = type ? ep_node_arg(n, 2) : NULL;
    if (!enabled) return false;
    const char *name = ep_text(p, device, "as_string");
    ep_autocast cast = {0};
    int64_t dt = name && !strncmp(name, "cuda", 4) ? DT_FLOAT16 : DT_BFLOAT16;
    if (!name || !ep_bool(p, json_object_get(enabled, "as_bool"), &cast.on)) return false;
    if (json_object_get(type, "as_scalar_type") &&
        !ep_dtype(p, json_object_get(type, "as_scalar_type"), &dt))
        return false;
    cast.dt = (dtype)dt;
    return hop_body(n, 4, 5, true, cast);
}

static bool hop_unpacked(ep_node *n) { return hop_body(n, 0, 1, false, n->sc->cast); }
static bool hop_spread_1(ep_node *n) { return hop_body(n, 0, 1, true, n->sc->cast); }
static bool hop_spread_2(ep_node *n) { return hop_body(n, 0, 2, true, n->sc->cast); }
static bool hop_grad(ep_node *n) { return hop_body(n, 1, 2, true, n->sc->cast); }

/* ---- all ------------------------------------------------------------------------------------- */

static const struct { const char *name; bool (*import)(ep_node *n); } hop_rows[] = {
    {"cond", hop_cond},
    {"while_loop", ep_while_loop},
    {"map_impl", ep_map},
    {"map", ep_map},
    {"scan", ep_scan},
    {"associative_scan", ep_associative_scan},
    {"wrap_with_set_grad_enabled", hop_grad},
    {"wrap_with_autocast", hop_autocast},
    {"invoke_subgraph", hop_spread_2},
    {"hints_wrapper", hop_unpacked},
    {"strict_mode", hop_unpacked},
    {"run_const_graph", hop_unpacked},
    {"wrap", hop_spread_1},
    {"tag_activation_checkpoint", hop_spread_1},
    {"wrap_activation_checkpoint", hop_spread_1},
    {"out_dtype", ep_out_dtype},
    {"auto_functionalized", ep_auto_functionalized},
    {"auto_functionalized_v2", ep_auto_functionalized_v2},
    {"with_effects", ep_with_effects},
};

bool ep_higher_order(ep_node *n, const char *name) {
    for (size_t i = 0; i < sizeof hop_rows / sizeof *hop_rows; i++)
        if (!strcmp(hop_rows[i].name, name)) return hop_rows[i].import(n);
    return ep_unsupported(n->sc->p, "this higher-order operator is not supported");
}
