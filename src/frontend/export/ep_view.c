/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_view.c - view() of tensors whose memory layout differs from PyTorch's.
 *
 *     %y = aten::mul(%x, %z)                       %y = aten::mul(%x, %z)
 *     %t = aten::transpose(%y, 1, 2)               %t = aten::transpose(%y, 1, 2)
 *     %v = aten::view(%t, %sizes)            =>    %v = aten::reshape(%t, %sizes)
 *
 * PyTorch's results keep the order of their operands' strides: of a transposed %x, %y is transposed
 * too, and %t contiguous. Here results are contiguous, and %t is not. That the view is possible is
 * known (the program ran when it was exported), so it becomes a reshape, which is a view wherever
 * it can be one. Elsewhere it may be a copy, which makes no difference as long as its memory is not
 * written; otherwise it stays as it is, and fails instead of being wrong. So does what may share
 * memory with an input or a weight, in programs that write new values of these at their end.
 * Tests: tests/pt2 (Strides)
 */
#include "frontend/export/ep_internal.h"

#include "ir/graph/alias.h"

/* Does v share memory with an argument of the operator that made it, and may so
 * have any strides? */
static bool view_of_something(const ir_value *v) {
    const node *n = v->def;
    if (n && (n->kind == N_LIST_UNPACK || n->kind == N_TUPLE_UNPACK) && n->inputs.len)
        n = n->inputs.data[0]->def;
    if (!n || n->kind != N_OP || !n->op) return false;
    const schema *s = n->op->schema;
    for (int i = 0; i < s->nreturns; i++)
        if (s->returns[i].alias) return true;
    return false;
}

/* Does the program list new values of buffers or inputs among its results? */
static bool view_copies_back(const ep_program *p) {
    const json_t *sig = json_object_get(json_object_get(p->json, "graph_module"), "signature"),
                 *specs = json_object_get(sig, "output_specs");
    const char *kind;
    json_t *spec;
    for (size_t i = 0; i < json_array_size(specs); i++)
        json_object_foreach(json_array_get(specs, i), kind, spec) {
            if (strstr(kind, "mutation")) return true;
        }
    return json_object_size(json_object_get(sig, "buffers_to_mutate")) > 0;
}

typedef struct view_pass {
    const alias_db *db;
    const op *reshape;
    bool copies_back;
} view_pass;

static void view_block(block *b, const view_pass *v) {
    for (node *n = b->first; n; n = n->next) {
        for (size_t i = 0; i < n->blocks.len; i++) view_block(n->blocks.data[i], v);
        if (!node_is_overload(n, SYM_VIEW)) continue;
        const ir_value *out = n->outputs.data[0];
        if (!view_of_something(n->inputs.data[0]) || alias_ever_written(v->db, out) ||
            (v->copies_back && alias_escapes(v->db, out)))
            continue;
        n->op = v->reshape;
        n->op_name = v->reshape->schema->name;
    }
}

/* Before the results are put together: what is in one tuple counts as one memory. */
bool ep_views(ep_program *p) {
    const op *reshape = op_find("aten::reshape");
    alias_db *db = alias_new(p->g);
    if (!db) return ep_no_memory(p);
    view_pass v = {.db = db, .reshape = reshape, .copies_back = view_copies_back(p)};
    if (reshape) view_block(p->g->root, &v);
    alias_free(db);
    return true;
}
