/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout_shuffle.c - the rule of the pass "layout" for channels that are shuffled between groups.
 *
 *     %v = aten::view(%x, [b, g, k, h, w])
 *     %t = aten::transpose(%v, 1, 2)                          %v' = aten::reshape(%x', [b, h, w, g, k])
 *     %c = aten::contiguous(%t)                       ->      %t' = aten::transpose(%v', -2, -1)
 *     %y = aten::view(%c, [b, -1, h, w])                      %y' = aten::reshape(%t', [b, h, w, -1])
 *
 * where b, h and w are sizes of %x, as far as the graph tells. What g, k and the -1 are does not
 * matter: if they do not fit, both fail.
 * Tests: tests/ir/layout/shuffle.ir
 */
#include "passes/layout/layout.h"

/* Is v the size of x in that dim, counted from the front? */
static bool shuffle_is_size(const ir_value *v, const ir_value *x, int64_t dim) {
    int64_t d;
    const node *n = v->def;
    if (n && n->kind == N_LIST_UNPACK) {
        const node *sizes = n->inputs.data[0]->def;
        return v->index == dim && sizes && node_is_overload(sizes, SYM_SIZE) &&
               sizes->inputs.data[0] == x;
    }
    return n && node_is_overload(n, SYM_SIZE_INT) && n->inputs.data[0] == x &&
           known_int(n->inputs.data[1], &d) && d == dim;
}

static bool shuffle_is_view(const node *n, bool *copies) {
    *copies = node_is_overload(n, SYM_RESHAPE);
    return *copies || node_is_overload(n, SYM_VIEW);
}

/* The node that made v, for n alone. */
static const node *shuffle_from(const ir_value *v) {
    return v->def && v->def->kind == N_OP && v->def->op && v->uses.len == 1 ? v->def : NULL;
}

/* grouped, joined: lists of sizes */
typedef struct shuffle { const node *first, *grouped, *joined; ir_value *x; } shuffle;

static bool shuffle_match(const node *n, shuffle *s) {
    int64_t a, b;
    bool copies, first_copies;
    const node *from = shuffle_is_view(n, &copies) ? shuffle_from(n->inputs.data[0]) : NULL;
    if (from && node_is_overload(from, SYM_CONTIGUOUS) &&
        known_number_is(from->inputs.data[1], 0)) {
        copies = true;
        from = shuffle_from(from->inputs.data[0]);
    }
    if (!from || !copies || !node_is_overload(from, SYM_TRANSPOSE_INT) ||
        !known_int(from->inputs.data[1], &a) || !known_int(from->inputs.data[2], &b))
        return false;
    if (!((a == 1 && b == 2) || (a == 2 && b == 1))) return false;
    s->first = shuffle_from(from->inputs.data[0]);
    if (!s->first || !shuffle_is_view(s->first, &first_copies)) return false;
    s->x = s->first->inputs.data[0];
    s->grouped = known_fixed_list(s->first->inputs.data[1]);
    s->joined = known_fixed_list(n->inputs.data[1]);
    /* others may have gaps, which a view refuses */
    return s->grouped && s->joined && (first_copies || known_is_fresh(s->x));
}

/* The batch size and the spatial sizes are in the right places. */
static bool shuffle_keeps_pixels(const shuffle *s, int spatial) {
    if (s->grouped->inputs.len != (size_t)spatial + 3 ||
        s->joined->inputs.len != (size_t)spatial + 2)
        return false;
    for (int i = 0; i < spatial + 2; i++) {
        if (i == 1) continue;
        if (!shuffle_is_size(s->grouped->inputs.data[i ? i + 1 : 0], s->x, i) ||
            !shuffle_is_size(s->joined->inputs.data[i], s->x, i))
            return false;
    }
    return true;
}

bool layout_shuffle(layout *l, node *n) {
    shuffle s;
    const layout_twin *t = shuffle_match(n, &s) ? layout_find(l, s.x, true) : NULL;
    if (!t || !shuffle_keeps_pixels(&s, t->spatial) || !(t = layout_use(l, s.x, t->spatial, true)))
        return false;
    int spatial = t->spatial;
    ir_value *sizes[LAYOUT_MAX_SPATIAL + 3], *const *grouped = s.grouped->inputs.data;
    sizes[0] = grouped[0];
    for (int i = 0; i < spatial; i++) sizes[1 + i] = grouped[3 + i];
    sizes[1 + spatial] = grouped[1];
    sizes[2 + spatial] = grouped[2];
    type *ints = type_list(TYPE_INT);
    ir_value *v = layout_op(l, op_of(SYM_RESHAPE), 2,
                            (ir_value *[]){t->last, layout_list(l, spatial + 3, sizes, ints)});
    v = layout_op(l, op_of(SYM_TRANSPOSE_INT), 3,
                  (ir_value *[]){v, layout_int(l, -2), layout_int(l, -1)});
    sizes[1 + spatial] = s.joined->inputs.data[1];
    v = layout_op(l, op_of(SYM_RESHAPE), 2,
                  (ir_value *[]){v, layout_list(l, spatial + 2, sizes, ints)});
    layout_twin like = *t;
    like.least = like.most = spatial + 2; /* a size of the last dim was asked for */
    return layout_give(l, n->outputs.data[0], v, &like);
}
