/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_hop_loop.c - loops of higher-order operators, as prim::Loop.
 *
 *     while_loop(cond, body, carried, additional)          map(body, xs, args)  scan(combine, init, xs, args)  associative_scan(combine, xs, args)
 *
 *     %c : bool = ...cond(carried)...                      %n : int = aten::size(%xs, 0)
 *     %out = prim::Loop(%max, %c, %carried...)             %list : Tensor[] = prim::ListConstruct()
 *       block0(%i, %carried...):                           prim::Loop(%n, %true, %carry...)
 *         ...body... ...cond...                              block0(%i, %carry...):
 *         -> (%c, %next...)                                    %x = aten::select(%xs, 0, %i)  ...body...  aten::append(%list, %y)
 *                                                          %ys = aten::stack(%list, 0)
 *
 * associative_scan may combine in any order; here from the left, as scan.
 *
 * vmap is not an operator of a graph, but a range of nodes in which values
 * have one dim less than outside: it becomes a loop over that dim.
 *
 *     _vmap_increment_nesting(n, "error")                  prim::Loop(%n, %true)
 *     a = _add_batch_dim(x, dim, level)                      block0(%i):
 *     ...                                                      %a = aten::select(%x, dim, %i)
 *     y = _remove_batch_dim(b, level, n, out)                  ...  aten::append(%list, %b)
 *     _vmap_decrement_nesting()                            %y = aten::stack(%list, out)
 */
#include "frontend/export/ep_internal.h"

typedef struct hop_loop {
    ep_node *n;
    ep_program *p;
    node *loop;
    block *body, *outer;
    node *before;
    ir_value *i;
} hop_loop;

static ir_value *loop_int(ep_program *p, int64_t i) { return graph_constant_int(p->g, i); }

/* A loop whose body is the insertion point from here on. */
static bool loop_begin(hop_loop *l, ep_node *n, ir_value *trips, ir_value *cond, int ncarried,
                       ir_value **carried) {
    ep_program *p = n->sc->p;
    *l = (hop_loop){.n = n, .p = p, .outer = p->g->insert_block, .before = p->g->insert_before};
    ir_value *in[] = {trips, cond};
    l->loop = node_new(p->g, N_LOOP, 2, in, 0);
    for (int i = 0; i < ncarried; i++) {
        node_add_input(l->loop, carried[i]);
        node_add_output(l->loop, carried[i]->type);
    }
    ep_insert(p, l->loop);
    l->body = node_add_block(l->loop);
    l->i = block_add_param(l->body, TYPE_INT);
    for (int i = 0; i < ncarried; i++) block_add_param(l->body, carried[i]->type);
    graph_set_insert(p->g, l->body, NULL);
    return !ep_failed(p) || ep_no_memory(p);
}

static bool loop_end(hop_loop *l, ir_value *cond, int n, ir_value **next) {
    if ((size_t)n != l->loop->outputs.len)
        return ep_bad(l->p, "its body has %d new values for %zu", n, l->loop->outputs.len);
    block_add_return(l->body, cond);
    for (int i = 0; i < n; i++) {
        argument want = {.name = "next", .type = l->loop->outputs.data[i]->type};
        ir_value *v = ep_conform(l->p, next[i], &want);
        if (!v) return false;
        block_add_return(l->body, v);
    }
    graph_set_insert(l->p->g, l->outer, l->before);
    return !ep_failed(l->p) || ep_no_memory(l->p);
}

static ir_value **loop_join(ep_program *p, int na, ir_value *const *a, int nb, ir_value *const *b) {
    ir_value **all = arena_array(&p->scratch, ir_value *, na + nb + 1);
    for (int i = 0; all && i < na; i++) all[i] = a[i];
    for (int i = 0; all && i < nb; i++) all[na + i] = b[i];
    return all ? all : (ep_no_memory(p), NULL);
}

/* ---- while_loop ------------------------------------------------------------------------------ */

static ir_value *while_cond(ep_node *n, const json_t *g, int nargs, ir_value **args) {
    int nouts;
    ir_value **outs;
    if (!ep_inline(n->sc, g, nargs, args, n->sc->cast, &nouts, &outs)) return NULL;
    if (nouts != 1) return ep_bad(n->sc->p, "its condition has %d results", nouts), NULL;
    return outs[0]->type->kind == T_BOOL ? outs[0] : ep_emit(n->sc->p, "aten::Bool", 1, outs);
}

bool ep_while_loop(ep_node *n) {
    ep_program *p = n->sc->p;
    const json_t *cond = ep_graph_arg(n, 0), *body = cond ? ep_graph_arg(n, 1) : NULL;
    int nc = 0, na = 0, nouts;
    ir_value **carried, **more = NULL, **outs;
    if (!body || !ep_operands(n, 2, &nc, &carried) ||
        (json_array_size(n->inputs) > 3 && !ep_operands(n, 3, &na, &more)))
        return false;
    ir_value **args = loop_join(p, nc, carried, na, more),
             *first = args ? while_cond(n, cond, nc + na, args) : NULL;
    hop_loop l;
    if (!first || !loop_begin(&l, n, loop_int(p, INT64_MAX), first, nc, carried)) return false;
    if (!(args = loop_join(p, nc, l.body->params.data + 1, na, more)) ||
        !ep_inline(n->sc, body, nc + na, args, n->sc->cast, &nouts, &outs))
        return false;
    if (nouts != nc) return ep_bad(p, "its body has %d new values for %d", nouts, nc);
    if (!(args = loop_join(p, nc, outs, na, more))) return false;
    ir_value *again = while_cond(n, cond, nc + na, args);
    return again && loop_end(&l, again, nc, outs) && ep_results(n, nc, l.loop->outputs.data, 0);
}

/* ---- along dim 0 ----------------------------------------------------------------------------- */

static ir_value *loop_select(ep_program *p, ir_value *x, ir_value *i) {
    ir_value *in[] = {x, loop_int(p, 0), i};
    return ep_emit_key(p, "aten::select.int", 3, in);
}

static ir_value **loop_slices(ep_program *p, int n, ir_value **xs, ir_value *i) {
    ir_value **out = arena_array(&p->scratch, ir_value *, n + 1);
    for (int k = 0; out && k < n; k++)
        if (!(out[k] = loop_select(p, xs[k], i))) return NULL;
    return out ? out : (ep_no_memory(p), NULL);
}

static ir_value *loop_list(ep_program *p) {
    node *made = ep_insert(p, node_new(p->g, N_LIST_CONSTRUCT, 0, NULL, 1));
    made->outputs.data[0]->type = type_list(TYPE_TENSOR);
    return made->outputs.data[0];
}

static bool loop_append(ep_program *p, ir_value *list, ir_value *v) {
    ir_value *in[] = {list, v};
    if (v->type->kind != T_TENSOR)
        return ep_unsupported(p, "its body has results that are not tensors");
    return ep_emit_key(p, "aten::append.t", 2, in) != NULL;
}

static ir_value *loop_stack(ep_program *p, ir_value *list) {
    ir_value *in[] = {list, loop_int(p, 0)};
    return ep_emit_key(p, "aten::stack", 2, in);
}

static ir_value *loop_trips(ep_node *n, int nxs, ir_value **xs) {
    ir_value *in[] = {nxs ? xs[0] : NULL, loop_int(n->sc->p, 0)};
    if (!nxs) return ep_bad(n->sc->p, "it goes over no tensors"), NULL;
    return ep_emit_key(n->sc->p, "aten::size.int", 2, in);
}

/* body(carry..., slice..., args...) -> next..., y...: nc carried values; ncarried_out results go to
 * *results, which are the last carried ones and the stacked others. */
static bool loop_along(ep_node *n, const json_t *g, int nc, ir_value **carried, int nxs,
                       ir_value **xs, int na, ir_value **more) {
    ep_program *p = n->sc->p;
    ir_value *trips = loop_trips(n, nxs, xs), *forever = graph_constant_bool(p->g, true);
    size_t nys = json_array_size(json_object_get(g, "outputs"));
    if (!trips) return false;
    if (nys < (size_t)nc)
        return ep_bad(p, "its body has %zu results where %d are carried", nys, nc);
    nys -= (size_t)nc;
    ir_value **lists = arena_array(&p->scratch, ir_value *, nys + 1), **outs, **results;
    if (!lists) return ep_no_memory(p);
    for (size_t i = 0; i < nys; i++) lists[i] = loop_list(p);
    hop_loop l;
    int nouts;
    if (!loop_begin(&l, n, trips, forever, nc, carried)) return false;
    ir_value **slices = loop_slices(p, nxs, xs, l.i),
             **args = slices ? loop_join(p, nc, l.body->params.data + 1, nxs, slices) : NULL;
    if (!args || !(args = loop_join(p, nc + nxs, args, na, more)) ||
        !ep_inline(n->sc, g, nc + nxs + na, args, n->sc->cast, &nouts, &outs))
        return false;
    for (size_t i = 0; i < nys; i++)
        if (!loop_append(p, lists[i], outs[(size_t)nc + i])) return false;
    if (!loop_end(&l, forever, nc, outs)) return false;
    for (size_t i = 0; i < nys; i++)
        if (!(lists[i] = loop_stack(p, lists[i]))) return false;
    results = loop_join(p, nc, l.loop->outputs.data, (int)nys, lists);
    return results && ep_results(n, nc + (int)nys, results, 0);
}

bool ep_map(ep_node *n) {
    const json_t *g = ep_graph_arg(n, 0);
    int nxs, na = 0;
    ir_value **xs, **more = NULL;
    if (!g || !ep_operands(n, 1, &nxs, &xs) ||
        (json_array_size(n->inputs) > 2 && !ep_operands(n, 2, &na, &more)))
        return false;
    return loop_along(n, g, 0, NULL, nxs, xs, na, more);
}

bool ep_scan(ep_node *n) {
    const json_t *g = ep_graph_arg(n, 0);
    int nc, nxs, na = 0;
    ir_value **carried, **xs, **more = NULL;
    if (!g || !ep_operands(n, 1, &nc, &carried) || !ep_operands(n, 2, &nxs, &xs)) return false;
    if (json_array_size(n->inputs) > 3 && !ep_operands(n, 3, &na, &more)) return false;
    return loop_along(n, g, nc, carried, nxs, xs, na, more);
}

/* combine(a..., b..., args...): element 0 is the first carry, the others are combined
 * with it one by one. */
bool ep_associative_scan(ep_node *n) {
    ep_program *p = n->sc->p;
    const json_t *g = ep_graph_arg(n, 0);
    int nxs, na = 0, nouts;
    ir_value **xs, **more = NULL, **outs;
    if (!g || !ep_operands(n, 1, &nxs, &xs) ||
        (json_array_size(n->inputs) > 2 && !ep_operands(n, 2, &na, &more)))
        return false;
    ir_value *size = loop_trips(n, nxs, xs), *less[] = {size, loop_int(p, 1)},
             *trips = size ? ep_emit(p, "aten::sub", 2, less) : NULL;
    ir_value **carried = trips ? loop_slices(p, nxs, xs, loop_int(p, 0)) : NULL,
             *forever = graph_constant_bool(p->g, true);
    ir_value **lists = arena_array(&p->scratch, ir_value *, nxs + 1);
    if (!carried || !lists) return ep_no_memory(p);
    for (int k = 0; k < nxs; k++)
        if (!(lists[k] = loop_list(p)) || !loop_append(p, lists[k], carried[k])) return false;
    hop_loop l;
    if (!loop_begin(&l, n, trips, forever, nxs, carried)) return false;
    ir_value *next[] = {l.i, loop_int(p, 1)}, *at = ep_emit(p, "aten::add", 2, next),
             **slices = at ? loop_slices(p, nxs, xs, at) : NULL;
    ir_value **args = slices ? loop_join(p, nxs, l.body->params.data + 1, nxs, slices) : NULL;
    if (!args || !(args = loop_join(p, 2 * nxs, args, na, more)) ||
        !ep_inline(n->sc, g, 2 * nxs + na, args, n->sc->cast, &nouts, &outs))
        return false;
    if (nouts != nxs) return ep_bad(p, "its body has %d results for %d", nouts, nxs);
    for (int k = 0; k < nxs; k++)
        if (!loop_append(p, lists[k], outs[k])) return false;
    if (!loop_end(&l, forever, nouts, outs)) return false;
    for (int k = 0; k < nxs; k++)
        if (!(lists[k] = loop_stack(p, lists[k]))) return false;
    return ep_results(n, nxs, lists, 0);
}

/* ---- vmap ------------------------------------------------------------------------------------ */

/* A result: what its list is stacked to, along that dim, has this name. */
typedef struct vmap_result { ir_value *list; const json_t *dim, *output; } vmap_result;

/* An open vmap range. */
struct ep_vmap {
    struct ep_vmap *outer;
    hop_loop loop;
    int level; /* 1: the outermost */
    bool empty;
    VEC(vmap_result) results;
};

static bool vmap_begin(ep_node *n) {
    ep_program *p = n->sc->p;
    const json_t *size = ep_node_arg(n, 0);
    argument want = {.name = "size", .type = TYPE_INT};
    ir_value *trips = size ? ep_argument(n->sc, size, &want) : NULL;
    struct ep_vmap *v = trips ? arena_new(&p->scratch, struct ep_vmap) : NULL;
    value known;
    if (!v) return ep_no_memory(p);
    *v = (struct ep_vmap){.outer = n->sc->vmap, .level = n->sc->vmap ? n->sc->vmap->level + 1 : 1};
    if (v->level > EP_MAX_NESTING) return ep_bad(p, "vmaps nest too deeply");
    v->empty = ir_value_constant(trips, &known) && known.tag == V_INT && known.u.i == 0;
    if (!loop_begin(&v->loop, n, trips, graph_constant_bool(p->g, true), 0, NULL)) return false;
    n->sc->vmap = v;
    return true;
}

/* Argument i: the level of an open vmap range. */
static struct ep_vmap *vmap_level(ep_node *n, size_t i) {
    int64_t level = 0;
    const json_t *arg = ep_node_arg(n, i);
    if (!arg || !ep_int(n->sc->p, json_object_get(arg, "as_int"), &level)) return NULL;
    for (struct ep_vmap *v = n->sc->vmap; v; v = v->outer)
        if (v->level == level) return v;
    return ep_unsupported(n->sc->p, "vmap around a graph that is given to it is not supported"),
           NULL;
}

static ir_value *vmap_value(ep_node *n, size_t i, type *t) {
    const json_t *arg = ep_node_arg(n, i);
    argument want = {.name = "value", .type = t};
    return arg ? ep_argument(n->sc, arg, &want) : NULL;
}

static bool vmap_add(ep_node *n) {
    const struct ep_vmap *v = vmap_level(n, 2);
    ir_value *x = v ? vmap_value(n, 0, TYPE_TENSOR) : NULL,
             *dim = x ? vmap_value(n, 1, TYPE_INT) : NULL, *in[] = {x, dim, v ? v->loop.i : NULL};
    ir_value *slice = dim ? ep_emit_key(n->sc->p, "aten::select.int", 3, in) : NULL;
    return slice && ep_results(n, 1, &slice, 0);
}

/* Of no iteration there is nothing to stack: as large as the program says. */
static ir_value *vmap_nothing(ep_node *n, const json_t *output) {
    ep_program *p = n->sc->p;
    const char *name = json_string_value(
        json_object_get(json_object_get(output, "as_tensor"), "name"));
    const json_t *meta = name ? ep_meta(p, n->sc->graph, name) : NULL,
                 *sizes = json_object_get(meta, "sizes");
    int64_t dt, size[EP_MAX_TREE];
    size_t count = json_array_size(sizes);
    if (!sizes || count > EP_MAX_TREE || !ep_dtype(p, json_object_get(meta, "dtype"), &dt))
        return ep_unsupported(p, "vmap over no elements is not supported here"), NULL;
    list *l = list_new(LIST_INT, TYPE_INT, count);
    for (size_t i = 0; l && i < count; i++) {
        const json_t *known = json_object_get(json_array_get(sizes, i), "as_int");
        if (!json_is_integer(known) || !ep_int(p, known, &size[i]) ||
            !list_append_take(l, value_int(size[i]))) {
            value_unref(value_list_take(l));
            return ep_unsupported(p, "vmap over no elements is not supported here"), NULL;
        }
    }
    ir_value *shape = l ? graph_constant_take(p->g, value_list_take(l), type_list(TYPE_INT)) : NULL,
             *none = graph_constant_none(p->g),
             *in[] = {shape, graph_constant_int(p->g, dt), none, none, none};
    return shape ? ep_emit_key(p, "aten::zeros", 5, in) : (ep_no_memory(p), NULL);
}

static bool vmap_remove(ep_node *n) {
    ep_program *p = n->sc->p;
    struct ep_vmap *v = vmap_level(n, 1);
    ir_value *y = v ? vmap_value(n, 0, TYPE_TENSOR) : NULL;
    const json_t *dim = y ? ep_node_arg(n, 3) : NULL;
    if (!dim) return ep_no_memory(p);
    if (v != n->sc->vmap) return ep_bad(p, "a result of vmap is taken within another");
    graph_set_insert(p->g, v->loop.outer, v->loop.loop);
    vmap_result r = {.list = loop_list(p), .dim = dim, .output = json_array_get(n->outputs, 0)};
    graph_set_insert(p->g, v->loop.body, NULL);
    return !ep_failed(p) && loop_append(p, r.list, y) &&
           (vec_push(&v->results, r) || ep_no_memory(p));
}

static bool vmap_end(ep_node *n) {
    ep_program *p = n->sc->p;
    struct ep_vmap *v = n->sc->vmap;
    if (!v) return ep_bad(p, "no vmap has begun");
    if (!loop_end(&v->loop, graph_constant_bool(p->g, true), 0, NULL)) return false;
    for (size_t i = 0; i < v->results.len; i++) {
        const vmap_result *r = &v->results.data[i];
        argument want = {.name = "dim", .type = TYPE_INT};
        ir_value *dim = ep_argument(n->sc, r->dim, &want), *in[] = {r->list, dim},
                 *y = !dim       ? NULL
                      : v->empty ? vmap_nothing(n, r->output)
                                 : ep_emit_key(p, "aten::stack", 2, in);
        if (!y || !ep_bind(n->sc, r->output, y)) return false;
    }
    ep_vmap_pop(n->sc);
    return true;
}

void ep_vmap_pop(ep_scope *sc) {
    struct ep_vmap *v = sc->vmap;
    sc->vmap = v->outer;
    vec_free(&v->results);
}

bool ep_vmap(ep_node *n, const char *name) {
    static const struct { const char *name; bool (*fn)(ep_node *n); } rows[] = {
        {"_vmap_increment_nesting", vmap_begin},
        {"_add_batch_dim", vmap_add},
        {"_remove_batch_dim", vmap_remove},
        {"_vmap_decrement_nesting", vmap_end},
    };
    if (!strcmp(name, "lazy_load_decompositions")) return true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, name)) return rows[i].fn(n);
    return ep_unsupported(n->sc->p, "calls of this are not supported");
}
