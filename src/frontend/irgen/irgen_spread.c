/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen_spread.c - *s in calls and displays: f(2, *sizes, -1), [*xs, x], (*x.shape, 1).
 *
 * PyTorch spreads what has a length that is known while compiling. Beyond that (emitter.lenient)
 * all positional elements become one list, [2] + sizes + [-1]: for operators that take a list
 * there, and as the value of a display.
 * Tests: tests/lang/accepted_spread.py, tests/lang/errors_spread.py
 */
#include "frontend/irgen/irgen.h"

#define SPREAD_UNKNOWN_SIZE "cannot statically infer the expected size of a list in this context"

bool irgen_spread(emitter *e, source_range r, sugar *s, ir_value ***out, int *n) {
    if (s->kind == SUGAR_VALUE) {
        type *t = s->value->type;
        if (t->kind == T_TUPLE) return irgen_unpack(e, r, s->value, 0, out, n);
        if (t->kind == T_LIST) return irgen_fail(e, r, SPREAD_UNKNOWN_SIZE), false;
    }
    sugar *items = s->kind == SUGAR_TUPLE ? s : irgen_static_elements(e, r, s);
    if (!items && irgen_failed(e)) return false;
    if (!items) {
        ir_value *v = irgen_as_value(e, r, s);
        return v && irgen_unpack(e, r, v, 0, out, n);
    }
    *out = arena_array(e->scratch, ir_value *, items->nitems + 1);
    if (!*out) return diag_no_memory(e->diag), false;
    for (int i = 0; i < items->nitems; i++)
        if (!((*out)[i] = irgen_as_value(e, r, items->items[i]))) return false;
    *n = items->nitems;
    return true;
}

typedef struct spread_joined {
    type *elem; /* NULL: of the first element */
    ir_value *list;
    VEC(ir_value *) last; /* elements after it */
} spread_joined;

/* list = list + last + more; each but one may be missing. */
static bool spread_join(emitter *e, source_range r, spread_joined *j, ir_value *more) {
    ir_value *parts[] = {
        j->list, j->last.len ? irgen_list(e, r, j->elem, (int)j->last.len, j->last.data) : NULL,
        more};
    j->last.len = 0;
    for (int i = 1; i < 3; i++) {
        if (!parts[i]) continue;
        ir_value *both[] = {parts[0], parts[i]};
        parts[0] = parts[0] ? irgen_builtin_values(e, r, "aten::add", 2, both) : parts[i];
        if (!parts[0]) return false;
    }
    j->list = parts[0];
    return true;
}

static bool spread_element(emitter *e, source_range r, spread_joined *j, ir_value *v) {
    if (!v) return false;
    if (!type_is_subtype(v->type, j->elem)) return irgen_fail(e, r, SPREAD_UNKNOWN_SIZE), false;
    return avec_push(e->scratch, &j->last, v) || (diag_no_memory(e->diag), false);
}

static bool spread_is_list(const sugar *s) {
    return s->kind == SUGAR_VALUE && s->value->type->kind == T_LIST;
}

/* xs, evaluated to `sugars`, as one list of elem. */
static ir_value *spread_join_all(emitter *e, source_range r, const expr_list *xs, size_t first,
                                 sugar *const *sugars, type *elem) {
    spread_joined j = {.elem = elem};
    for (size_t i = first; i < xs->len; i++) {
        const expr *it = xs->data[i];
        ir_value *one, **parts = &one;
        int n = 1;
        if (it->kind == E_STARRED && spread_is_list(sugars[i])) {
            if (!spread_join(e, it->range, &j, sugars[i]->value)) return NULL;
            continue;
        }
        if (it->kind != E_STARRED) one = irgen_as_value(e, it->range, sugars[i]);
        else if (!irgen_spread(e, it->range, sugars[i], &parts, &n)) return NULL;
        for (int k = 0; k < n; k++)
            if (!spread_element(e, it->range, &j, parts[k])) return NULL;
    }
    return spread_join(e, r, &j, NULL) ? j.list : NULL;
}

static bool spread_push(emitter *e, const expr *it, sugar *s, value_vector *out) {
    ir_value *one, **parts = &one;
    int n = 1;
    if (it->kind != E_STARRED) one = irgen_as_value(e, it->range, s);
    else if (!irgen_spread(e, it->range, s, &parts, &n)) return false;
    for (int i = 0; i < n; i++)
        if (!parts[i] || !avec_push(e->scratch, out, parts[i]))
            return irgen_failed(e) ? false : (diag_no_memory(e->diag), false);
    return true;
}

bool irgen_has_starred(const expr_list *xs, size_t first) {
    for (size_t i = first; i < xs->len; i++)
        if (xs->data[i]->kind == E_STARRED) return true;
    return false;
}

bool irgen_starred(emitter *e, source_range r, const expr_list *xs, size_t first, value_vector *out,
                   bool *joined) {
    sugar **sugars = arena_array(e->scratch, sugar *, xs->len + 1);
    type *elem = NULL;
    if (!sugars) return diag_no_memory(e->diag), false;
    for (size_t i = first; i < xs->len; i++) {
        const expr *it = xs->data[i];
        bool starred = it->kind == E_STARRED;
        sugars[i] = irgen_sugar(e, starred ? it->a : it, NULL);
        if (sugars[i] && starred && sugars[i]->kind == SUGAR_RANGE)
            sugars[i] = sugar_of_value(e, irgen_list_of(e, it->range, sugars[i]));
        if (!sugars[i]) return false;
        if (starred && spread_is_list(sugars[i]) && !elem) elem = type_elem(sugars[i]->value->type);
    }
    *joined = elem != NULL;
    if (elem) {
        ir_value *list = spread_join_all(e, r, xs, first, sugars, elem);
        return list && (avec_push(e->scratch, out, list) || (diag_no_memory(e->diag), false));
    }
    for (size_t i = first; i < xs->len; i++)
        if (!spread_push(e, xs->data[i], sugars[i], out)) return false;
    return true;
}
