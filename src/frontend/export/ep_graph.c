/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_graph.c - the nodes of a graph, in order; the names of its values.
 *
 * A graph of a higher-order operator sees only its own inputs: it
 * is a separate scope, whose nodes are emitted at the operator.
 */
#include "frontend/export/ep_internal.h"

/* ---- making nodes ---------------------------------------------------------------------------- */

node *ep_insert(ep_program *p, node *n) {
    p->made++;
    n->call = p->call;
    return graph_insert(p->g, n);
}

static ir_value *emit_op(ep_program *p, const op *o, int n, ir_value *const *args) {
    node *made = ep_insert(p, node_new_op(p->g, o, n, args));
    if (ep_failed(p)) return ep_no_memory(p), NULL;
    return made->outputs.len ? made->outputs.data[0] : args[0];
}

ir_value *ep_emit(ep_program *p, const char *name, int n, ir_value *const *args) {
    const op *o = op_match(name, n, args);
    if (o) return emit_op(p, o, n, args);
    strbuf sb = STRBUF_INIT;
    for (int i = 0; i < n; i++) {
        if (i) sb_puts(&sb, ", ");
        type_print_plain(args[i]->type, &sb);
    }
    ep_bad(p, "nothing computes %s of (%s)", name, sb_str(&sb));
    sb_free(&sb);
    return NULL;
}

ir_value *ep_emit_key(ep_program *p, const char *key, int n, ir_value *const *args) {
    const op *o = op_find(key);
    if (!o || o->schema->nargs != n) return ep_unsupported(p, "operator %s is missing", key), NULL;
    return emit_op(p, o, n, args);
}

/* ---- names ----------------------------------------------------------------------------------- */

ir_value *ep_name(ep_scope *sc, const char *name) {
    ir_value *v = strmap_get(&sc->names, name);
    ep_state *s = !v && sc->outermost ? strmap_get(&sc->p->states, name) : NULL;
    if (s) v = ep_modules_read(&sc->p->modules, s);
    if (!v && strmap_get(&sc->p->subclasses, name))
        return ep_unsupported(sc->p, "'%.200s' is an object of a subclass of Tensor", name), NULL;
    return v ? v : (ep_bad(sc->p, "value '%.200s' is not defined", name), NULL);
}

bool ep_define(ep_scope *sc, const char *name, ir_value *v) {
    ep_program *p = sc->p;
    if (strmap_get(&sc->names, name) || (sc->outermost && strmap_get(&p->states, name)))
        return ep_bad(p, "value '%.200s' is defined twice", name);
    if (!strmap_put(&sc->names, name, v)) return ep_no_memory(p);
    if (!value_has_name(v) && strlen(name) < 100) value_set_name(v, name);
    return !ep_failed(p) || ep_no_memory(p);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* "torch.ops.aten.add.Tensor" as "aten::add.Tensor", "torch.ops.aten.relu.default" as "aten::relu".
 * NULL: it has no such form. */
static const char *nodes_key(ep_program *p, const char *target) {
    static const char prefix[] = "torch.ops.";
    if (strncmp(target, prefix, sizeof prefix - 1)) return NULL;
    const char *space = target + sizeof prefix - 1, *name = strchr(space, '.'),
               *overload = name ? strchr(name + 1, '.') : NULL;
    if (!overload || overload[1] == '\0' || overload == name + 1) return NULL;
    if (!strcmp(overload, ".default"))
        return arena_printf(&p->scratch, "%.*s::%.*s", (int)(name - space), space,
                            (int)(overload - name - 1), name + 1);
    return arena_printf(&p->scratch, "%.*s::%.*s", (int)(name - space), space,
                        (int)strlen(name + 1), name + 1);
}

static const char *nodes_behind(const char *text, const char *prefix) {
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) ? NULL : text + n;
}

static bool nodes_import(ep_scope *sc, const json_t *json) {
    static const char *const numbers[] = {"_operator.", "math.", "torch.sym_", "torch._sym_"};
    ep_program *p = sc->p;
    ep_node n = {.sc = sc, .json = json};
    if (!(n.target = ep_text(p, json, "target"))) return false;
    p->target = n.target;
    if (!(n.inputs = ep_array(p, json, "inputs")) || !(n.outputs = ep_array(p, json, "outputs")))
        return false;
    if (p->made > EP_MAX_NODES) return ep_bad(p, "the program is too large");
    ep_place_begin(p, json);
    const char *higher = nodes_behind(n.target, "torch.ops.higher_order.");
    if (higher) return ep_higher_order(&n, higher);
    if (!strcmp(n.target, "torch.ops.export.access_subclass_inner_tensor.default"))
        return ep_subclass_tensor(&n);
    const char *batched = nodes_behind(n.target, "torch._functorch.predispatch.");
    if (batched) return ep_vmap(&n, batched);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (nodes_behind(n.target, numbers[i]))
            return ep_number(&n, i < 2 ? nodes_behind(n.target, numbers[i])
                                       : n.target + sizeof "torch." - 1);
    const char *key = nodes_key(p, n.target);
    if (ep_failed(p)) return ep_no_memory(p);
    return key ? ep_call(&n, key) : ep_unsupported(p, "calls of this are not supported");
}

bool ep_nodes(ep_scope *sc) {
    ep_program *p = sc->p;
    const json_t *nodes = ep_array(p, sc->graph, "nodes");
    const char *target = p->target;
    size_t index = p->index;
    bool ok = nodes != NULL;
    for (size_t i = 0; ok && i < json_array_size(nodes); i++) {
        p->target = NULL;
        p->index = i;
        ok = (nodes_import(sc, json_array_get(nodes, i)) && !ep_failed(p)) || ep_no_memory(p);
    }
    if (ok && sc->vmap) ok = ep_bad(p, "a vmap does not end");
    while (sc->vmap) ep_vmap_pop(sc);
    if (ok) p->target = target, p->index = index;
    return ok;
}

/* ---- graphs in graphs ------------------------------------------------------------------------ */

/* The graph's inputs are args. Literals among them need no name. */
static bool inline_inputs(ep_scope *sc, int nargs, ir_value *const *args) {
    const json_t *inputs = ep_array(sc->p, sc->graph, "inputs");
    if (!inputs) return false;
    if (json_array_size(inputs) != (size_t)nargs)
        return ep_bad(sc->p, "a graph of %zu inputs is given %d", json_array_size(inputs), nargs);
    for (int i = 0; i < nargs; i++) {
        const json_t *v;
        const char *kind = ep_union(sc->p, json_array_get(inputs, (size_t)i), &v);
        if (!kind) return false;
        const char *name = json_string_value(
            json_object_get(v, !strncmp(kind, "as_sym_", 7) ? "as_name" : "name"));
        if (name && !strmap_put(&sc->names, name, args[i])) return ep_no_memory(sc->p);
    }
    return true;
}

static bool inline_outputs(ep_scope *sc, int *n, ir_value ***outs) {
    const json_t *outputs = ep_array(sc->p, sc->graph, "outputs");
    if (!outputs) return false;
    size_t count = json_array_size(outputs);
    *n = (int)count;
    if (!(*outs = arena_array(&sc->p->scratch, ir_value *, count ? count : 1)))
        return ep_no_memory(sc->p);
    for (size_t i = 0; i < count; i++)
        if (!((*outs)[i] = ep_argument(sc, json_array_get(outputs, i), NULL))) return false;
    return true;
}

bool ep_inline(ep_scope *outer, const json_t *graph, int nargs, ir_value *const *args,
               ep_autocast cast, int *n, ir_value ***outs) {
    ep_program *p = outer->p;
    ep_scope sc = {.p = p, .graph = graph, .cast = cast};
    source_range range = p->g->range;
    const call_site *call = p->call;
    if (++p->nesting > EP_MAX_NESTING) return ep_bad(p, "graphs nest too deeply");
    bool ok = inline_inputs(&sc, nargs, args) && ep_nodes(&sc) && inline_outputs(&sc, n, outs);
    strmap_free(&sc.names);
    strmap_free(&sc.read);
    p->nesting--;
    if (ok) p->g->range = range, p->call = call;
    return ok;
}
