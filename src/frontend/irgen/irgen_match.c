/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen_match.c - the conditions that match statements are made of (parser_match.c), and what
 * conditions assign.
 *
 * Tests: tests/lang/match.py, tests/lang/accepted_walrus.py
 */
#include "frontend/irgen/irgen.h"

/* ---- conditions ------------------------------------------------------------------------------ */

static bool match_known(emitter *e, source_range r, bool known, condition *out) {
    e->g->range = r;
    out->known = known;
    out->value = graph_constant_bool(e->g, known);
    return true;
}

bool irgen_match_capture(emitter *e, const expr *x, condition *out) {
    sugar *s = irgen_sugar(e, x->a, NULL);
    return s && irgen_set_sugar(e, x->range, x->name, s, NULL) &&
           match_known(e, x->range, true, out);
}

bool irgen_match_shape(emitter *e, const expr *x, condition *out) {
    ir_value *v = irgen_expr(e, x->a, NULL);
    if (!v) return false;
    type_kind k = v->type->kind;
    if (!strcmp(x->name, "mapping")) return match_known(e, x->range, k == T_DICT, out);
    if (k == T_TUPLE)
        return match_known(e, x->range,
                           x->tuple_index ? v->type->nelems >= x->i : v->type->nelems == x->i, out);
    if (k != T_LIST) return match_known(e, x->range, false, out);
    ir_value *n = irgen_builtin_values(e, x->range, "aten::len", 1, &v);
    ir_value *both[] = {n, n ? irgen_hidden_int(e, x->i) : NULL};
    out->value = n ? irgen_builtin_values(e, x->range, x->tuple_index ? "aten::ge" : "aten::eq", 2,
                                          both)
                   : NULL;
    return out->value != NULL;
}

sugar *irgen_match_field(emitter *e, const expr *x) {
    const char *name = NULL;
    sugar *s = irgen_sugar(e, x->a, NULL);
    if (!s || !e->scope->ops->match_field(e, x->range, x->b, x->i, &name)) return NULL;
    return name ? irgen_attribute(e, x->range, s, intern(&e->unit->names, name)) : s;
}

/* ---- assignments in operands ----------------------------------------------------------------- */

static bool match_collect(const expr *x, name_vector *out, arena *a, int depth) {
    if (!x || depth > PARSE_MAX_DEPTH * 2) return true;
    if (x->kind == E_LAMBDA) return true;
    if ((x->kind == E_WALRUS || x->kind == E_CAPTURE) && !avec_push(a, out, x->name)) return false;
    for (size_t i = 0; i < x->items.len; i++)
        if (!match_collect(x->items.data[i], out, a, depth + 1)) return false;
    for (size_t i = 0; i < x->kwargs.len; i++)
        if (!match_collect(x->kwargs.data[i].value, out, a, depth + 1)) return false;
    return match_collect(x->a, out, a, depth + 1) && match_collect(x->b, out, a, depth + 1) &&
           match_collect(x->c, out, a, depth + 1);
}

bool irgen_assigned_names(emitter *e, const expr *x, name_vector *out) {
    return match_collect(x, out, e->scratch, 0) || (diag_no_memory(e->diag), false);
}
