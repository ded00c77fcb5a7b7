/* SPDX-License-Identifier: Apache-2.0 */
/* gen_container.c - lists and tuples: made, read, changed, unpacked. */
#include "gen.h"

static bool container_new_list(gen *G) {
    static const type_kind kinds[] = {T_TENSOR, T_INT, T_TENSOR, T_FLOAT};
    type *t = type_of_kind(kinds[rng_next(&G->r) % 4]);
    ir_value *items[4];
    int n = (int)rng_range(&G->r, 0, 3);
    for (int i = 0; i < n; i++) {
        items[i] = gen_pick(G, t, NULL, NULL);
        if (!items[i] || items[i]->type != t) return false;
    }
    gen_show(G, gen_list(G, t, n, items));
    return true;
}

static ir_value *container_pick(gen *G) {
    static const type_kind kinds[] = {T_TENSOR, T_INT, T_TENSOR, T_FLOAT};
    return gen_pick(G, type_list(type_of_kind(kinds[rng_next(&G->r) % 4])), NULL, NULL);
}

static ir_value *container_index(gen *G, const list *l) {
    int64_t n = (int64_t)l->len;
    return gen_int_like(G, n ? rng_range(&G->r, rng_chance(&G->r, 30) ? -n : 0, n - 1) : 0);
}

static bool container_use(gen *G) {
    static const char *const plain[] = {"aten::len.t", "aten::reverse.t", "aten::list.t",
                                        "aten::clear.t"};
    ir_value *l = container_pick(G), *v;
    if (!l) return false;
    type *t = type_elem(l->type);
    list *now = gen_value(G, l).u.list;
    switch (rng_range(&G->r, 0, 8)) {
    case 0:
    case 1:
    case 2:
        v = gen_pick(G, t, NULL, NULL);
        return v && v->type == t && gen_emit(G, "aten::append.t", false, 2, l, v);
    case 3:
    case 4: return gen_emit(G, "aten::__getitem__.t", true, 2, l, container_index(G, now)) != NULL;
    case 5:
        v = gen_pick(G, t, NULL, NULL);
        return v && v->type == t &&
               gen_emit(G, "aten::_set_item.t", false, 3, l, container_index(G, now), v);
    case 6: return now->len && gen_emit(G, "aten::pop.t", true, 2, l, gen_int(G, -1)) != NULL;
    case 7: return gen_emit(G, "aten::add.t", true, 2, l, l) != NULL;
    default: {
        const char *key = plain[rng_next(&G->r) % 4];
        if (!strcmp(key, "aten::clear.t"))
            return rng_chance(&G->r, 20) && op_find(key) && gen_place(G, op_find(key), &l, false);
        return !strcmp(key, "aten::reverse.t") ? gen_place(G, op_find(key), &l, false) != NULL
                                               : gen_emit(G, key, true, 1, l) != NULL;
    }
    }
}

static bool container_unpack_list(gen *G) {
    ir_value *l = container_pick(G);
    if (!l || !gen_value(G, l).u.list->len || gen_value(G, l).u.list->len > 4) return false;
    node *n = graph_insert(G->g, node_new(G->g, N_LIST_UNPACK, 1, &l, 0));
    for (size_t i = 0; i < gen_value(G, l).u.list->len; i++)
        gen_show(G, node_add_output(n, type_elem(l->type)));
    gen_evaluate(G, n);
    return true;
}

/* A tuple of two or three visible values; sometimes unpacked at once. */
static bool container_tuple(gen *G) {
    ir_value *items[3];
    type *types[3];
    int n = (int)rng_range(&G->r, 2, 3);
    for (int i = 0; i < n; i++) {
        items[i] = G->scope.data[rng_next(&G->r) % G->scope.len];
        if (items[i]->type->kind == T_DEVICE || items[i]->type->kind == T_TUPLE ||
            items[i]->type->kind == T_NUMBER)
            return false;
        types[i] = items[i]->type;
    }
    node *made = graph_insert(G->g, node_new(G->g, N_TUPLE_CONSTRUCT, n, items, 1));
    made->outputs.data[0]->type = type_tuple(n, types);
    gen_evaluate(G, made);
    gen_show(G, made->outputs.data[0]);
    return true;
}

static bool gen_is_tuple(gen *G, ir_value *v, void *ctx) {
    (void)ctx;
    return gen_value(G, v).tag == V_TUPLE && v->type->kind == T_TUPLE;
}

static bool container_unpack_tuple(gen *G) {
    ir_value *t = gen_pick(G, TYPE_ANY, gen_is_tuple, NULL);
    if (!t) return false;
    node *n = graph_insert(G->g, node_new(G->g, N_TUPLE_UNPACK, 1, &t, 0));
    for (int i = 0; i < t->type->nelems; i++) gen_show(G, node_add_output(n, t->type->elems[i]));
    gen_evaluate(G, n);
    return true;
}

bool gen_container(gen *G) {
    gen_mark m = gen_mark_here(G);
    int what = (int)rng_range(&G->r, 0, 99);
    bool ok = what < 25   ? container_new_list(G)
              : what < 70 ? container_use(G)
              : what < 80 ? container_unpack_list(G)
              : what < 90 ? container_tuple(G)
                          : container_unpack_tuple(G);
    if (!ok) gen_undo(G, m);
    return ok;
}
