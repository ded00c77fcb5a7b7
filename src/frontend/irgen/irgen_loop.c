/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen_loop.c - for, while and comprehensions, and what can be stepped through.
 *
 * Method. The operand of `for` is converted to one of a few forms (loop_iterable): a range, a
 * list, string or tensor value, a sequence of known length (a tuple, a module container), or a zip,
 * enumerate or reversed of these. Sequences of known length are unrolled, since their elements may
 * differ in type and may be modules; all others become a prim::Loop that asks for the length once
 * and for an element per iteration. A comprehension is a loop that appends; the names it sets are
 * its own (frame.names).
 *
 * Tests: tests/lang, tests/corpus
 */
#include "frontend/irgen/irgen.h"

#include <limits.h>

/* What is done once per iteration, after the target has been assigned. */
typedef struct loop_body {
    bool (*emit)(emitter *e, void *ctx);
    void *ctx;
    const stmt_list *stmts; /* of a for statement; NULL: a comprehension */
} loop_body;

static const char loop_mixed_lengths[] =
    "Can not iterate over a module list or tuple with a value that does "
    "not have a statically determinable length";

/* ---- iterables ------------------------------------------------------------------------------- */

static sugar *loop_tuple(emitter *e, int n, sugar **items) {
    sugar *s = sugar_new(e, SUGAR_TUPLE);
    s->items = items;
    s->nitems = n;
    return s;
}

static sugar *loop_tuple_of_values(emitter *e, int n, ir_value *const *values) {
    sugar **items = arena_array(e->scratch, sugar *, n + 1);
    if (!items) return diag_no_memory(e->diag), NULL;
    for (int i = 0; i < n; i++) items[i] = sugar_of_value(e, values[i]);
    return loop_tuple(e, n, items);
}

static sugar *loop_value(emitter *e, source_range r, ir_value *v) {
    ir_value **parts = NULL;
    int n = 0;
    switch (v->type->kind) {
    case T_LIST:
    case T_STR:
    case T_TENSOR: return sugar_of_value(e, v);
    case T_DICT: return sugar_of_value(e, irgen_builtin_values(e, r, "aten::keys", 1, &v));
    case T_TUPLE:
        return irgen_unpack(e, r, v, 0, &parts, &n) ? loop_tuple_of_values(e, n, parts) : NULL;
    case T_CLASS:
    case T_INTERFACE: {
        sugar *s = e->scope ? e->scope->ops->sequence(e, r, v) : NULL;
        if (s || irgen_failed(e)) return s;
        break;
    }
    default: break;
    }
    strbuf sb = STRBUF_INIT;
    type_print_python(v->type, &sb);
    irgen_fail(e, r, "'%s' object is not iterable", sb_str(&sb));
    sb_free(&sb);
    return NULL;
}

/* An Enum class is stepped through as a constant list of its members. */
static sugar *loop_enum(emitter *e, type *t) {
    list *l = list_new(type_list_kind(t), t, t->cls->constants.len);
    bool ok = l != NULL;
    for (size_t i = 0; ok && i < t->cls->constants.len; i++)
        ok = list_append_take(l, value_ref(t->cls->enum_members[i]));
    if (!ok) {
        if (l) value_unref(value_list_take(l));
        return diag_no_memory(e->diag), NULL;
    }
    return sugar_of_value(e, irgen_constant_take(e, value_list_take(l), type_list(t)));
}

static sugar *loop_iterable(emitter *e, source_range r, sugar *s, int depth);

/* The values of a tuple, if they have one type, as a list. */
static sugar *loop_list_of_tuple(emitter *e, source_range r, sugar *s) {
    ir_value **v = s->kind == SUGAR_TUPLE && s->nitems
                       ? arena_array(e->scratch, ir_value *, s->nitems)
                       : NULL;
    for (int i = 0; v && i < s->nitems; i++) {
        if (s->items[i]->kind != SUGAR_VALUE ||
            s->items[i]->value->type != s->items[0]->value->type)
            return s;
        v[i] = s->items[i]->value;
    }
    return v ? sugar_of_value(e, irgen_list(e, r, v[0]->type, s->nitems, v)) : s;
}

static bool loop_is_unrolled(const sugar *s);
static int loop_static_length(const sugar *s);

static sugar *loop_iterable_parts(emitter *e, source_range r, const sugar *s, int depth) {
    sugar *out = sugar_new(e, s->kind);
    *out = *s;
    out->items = arena_array(e->scratch, sugar *, s->nitems + 1);
    if (!out->items) return diag_no_memory(e->diag), NULL;
    for (int i = 0; i < s->nitems; i++)
        if (!(out->items[i] = loop_iterable(e, r, s->items[i], depth + 1))) return NULL;
    /* beyond PyTorch: a tuple beside what has as many elements as only a run will tell */
    bool mixed = e->lenient && s->kind == SUGAR_ZIP && loop_is_unrolled(out) &&
                 loop_static_length(out) < 0;
    for (int i = 0; mixed && i < s->nitems; i++)
        if (!(out->items[i] = loop_list_of_tuple(e, r, out->items[i]))) return NULL;
    return out;
}

static sugar *loop_iterable(emitter *e, source_range r, sugar *s, int depth) {
    if (depth > PARSE_MAX_DEPTH) return irgen_fail(e, r, "expressions nest too deeply"), NULL;
    switch (s->kind) {
    case SUGAR_VALUE: return loop_value(e, r, s->value);
    case SUGAR_RANGE:
    case SUGAR_TUPLE: return s;
    case SUGAR_ZIP:
    case SUGAR_ENUMERATE:
    case SUGAR_REVERSED: return loop_iterable_parts(e, r, s, depth);
    case SUGAR_CLASS:
        if (s->type && s->type->kind == T_ENUM) return loop_enum(e, s->type);
        break;
    case SUGAR_PY: {
        sugar *items = e->lenient && e->scope && s->py ? e->scope->ops->elements(e, r, s->py)
                                                       : NULL;
        if (items || irgen_failed(e)) return items;
        break;
    }
    default: break;
    }
    ir_value *v = irgen_as_value(e, r, s);
    return v ? loop_value(e, r, v) : NULL;
}

/* A range's length if its bounds are constants; -1: they are not. */
static int loop_constant_length(const sugar *s) {
    value c[3] = {value_int(0), value_none(), value_int(1)};
    const ir_value *bounds[3] = {s->start, s->length, s->step};
    for (int i = 0; i < 3; i++)
        if ((bounds[i] && !ir_value_constant(bounds[i], &c[i])) || c[i].tag != V_INT ||
            c[i].u.i > INT_MAX || c[i].u.i < -INT_MAX)
            return -1;
    int64_t lo = c[0].u.i, hi = c[1].u.i, step = c[2].u.i;
    if (step > 0 && hi > lo) lo = (hi - lo + step - 1) / step;
    else if (step < 0 && hi < lo) lo = (lo - hi - step - 1) / -step;
    else return step ? 0 : -1;
    return lo > INT_MAX ? -1 : (int)lo;
}

/* The number of elements if it is known because of what s is; -1: it is not. */
static int loop_static_length(const sugar *s) {
    int n = -1;
    switch (s->kind) {
    case SUGAR_TUPLE: return s->nitems;
    case SUGAR_ENUMERATE:
    case SUGAR_REVERSED: return loop_static_length(s->items[0]);
    case SUGAR_RANGE: return loop_constant_length(s);
    case SUGAR_ZIP:
        for (int i = 0; i < s->nitems; i++) {
            int k = loop_static_length(s->items[i]);
            if (k < 0) return -1;
            if (i == 0 || k < n) n = k;
        }
        return n;
    default: return -1;
    }
}

/* Does any part have elements that only unrolling can reach? */
static bool loop_is_unrolled(const sugar *s) {
    if (s->kind == SUGAR_TUPLE) return true;
    if (s->kind != SUGAR_ZIP && s->kind != SUGAR_ENUMERATE && s->kind != SUGAR_REVERSED)
        return false;
    for (int i = 0; i < s->nitems; i++)
        if (loop_is_unrolled(s->items[i])) return true;
    return false;
}

/* ---- lengths and elements at run time -------------------------------------------------------- */

/* enumerate counts from start to the largest int: it never is the shorter one, but takes
 * part in the minimum.
 * */
static ir_value *loop_counter_length(emitter *e, source_range r, ir_value *start) {
    value c;
    e->g->range = r;
    if (!start) return irgen_constant_take(e, value_int(INT64_MAX), NULL);
    if (ir_value_constant(start, &c) && c.tag == V_INT && c.u.i >= 0)
        return irgen_constant_take(e, value_int(INT64_MAX - c.u.i), NULL);
    ir_value *args[] = {start, irgen_constant_take(e, value_int(INT64_MAX), NULL),
                        graph_constant_int(e->g, 1)};
    return irgen_builtin_values(e, r, "aten::__range_length", 3, args);
}

/* Emitted where a loop begins, not where the range was made. */
ir_value *irgen_range_length(emitter *e, source_range r, const sugar *s) {
    ir_value *args[] = {s->start, s->length, s->step};
    return s->start ? irgen_builtin_values(e, r, "aten::__range_length", 3, args) : s->length;
}

typedef VEC(ir_value *) length_list;

static ir_value *loop_length(emitter *e, source_range r, sugar *s);

/* The lengths of what a zip, with those nested in it, runs through. */
static bool loop_lengths(emitter *e, source_range r, sugar *s, length_list *out) {
    if (s->kind == SUGAR_ZIP || s->kind == SUGAR_ENUMERATE) {
        if (s->kind == SUGAR_ENUMERATE)
            avec_push(e->scratch, out, loop_counter_length(e, r, s->start));
        for (int i = 0; i < s->nitems; i++)
            if (!loop_lengths(e, r, s->items[i], out)) return false;
        return true;
    }
    ir_value *n = loop_length(e, r, s);
    if (n) avec_push(e->scratch, out, n);
    return n != NULL;
}

static ir_value *loop_length(emitter *e, source_range r, sugar *s) {
    switch (s->kind) {
    case SUGAR_RANGE: return irgen_range_length(e, r, s);
    case SUGAR_VALUE: return irgen_builtin_values(e, r, "aten::len", 1, &s->value);
    /* for the elements of the loop that begins here */
    case SUGAR_REVERSED: return s->length = loop_length(e, r, s->items[0]);
    case SUGAR_ZIP:
    case SUGAR_ENUMERATE: {
        length_list lengths = {0};
        if (!loop_lengths(e, r, s, &lengths)) return NULL;
        if (irgen_failed(e)) return diag_no_memory(e->diag), NULL;
        if (!lengths.len) return graph_constant_int(e->g, 0);
        ir_value *l = irgen_list(e, r, TYPE_INT, (int)lengths.len, lengths.data);
        return irgen_builtin_values(e, r, "prim::min", 1, &l);
    }
    default: return irgen_fail(e, r, "%s", loop_mixed_lengths);
    }
}

static sugar *loop_element(emitter *e, source_range r, sugar *s, ir_value *i);

static sugar *loop_reversed_element(emitter *e, source_range r, sugar *s, ir_value *i) {
    ir_value *n = s->length;
    ir_value *left[] = {n, graph_constant_int(e->g, 1)};
    ir_value *last = n ? irgen_builtin_values(e, r, "aten::sub", 2, left) : NULL;
    ir_value *at[] = {last, i};
    ir_value *k = last ? irgen_builtin_values(e, r, "aten::sub", 2, at) : NULL;
    return k ? loop_element(e, r, s->items[0], k) : NULL;
}

static sugar *loop_element(emitter *e, source_range r, sugar *s, ir_value *i) {
    switch (s->kind) {
    case SUGAR_RANGE: {
        if (!s->start) return sugar_of_value(e, i);
        ir_value *args[] = {i, s->start, s->step};
        return sugar_of_value(e, irgen_builtin_values(e, r, "aten::__derive_index", 3, args));
    }
    case SUGAR_VALUE: {
        ir_value *v = s->value;
        if (v->type->kind == T_TENSOR) {
            ir_value *args[] = {v, graph_constant_int(e->g, 0), i};
            return sugar_of_value(e, irgen_builtin_values(e, r, "aten::select", 3, args));
        }
        ir_value *args[] = {v, i};
        return sugar_of_value(e, irgen_builtin_values(e, r, "aten::__getitem__", 2, args));
    }
    case SUGAR_REVERSED: return loop_reversed_element(e, r, s, i);
    case SUGAR_ENUMERATE: {
        sugar **pair = arena_array(e->scratch, sugar *, 2);
        ir_value *args[] = {i, s->start, s->start ? graph_constant_int(e->g, 1) : NULL};
        pair[0] = sugar_of_value(
            e, s->start ? irgen_builtin_values(e, r, "aten::__derive_index", 3, args) : i);
        pair[1] = pair[0] ? loop_element(e, r, s->items[0], i) : NULL;
        return pair[1] ? loop_tuple(e, 2, pair) : NULL;
    }
    case SUGAR_ZIP: {
        sugar **items = arena_array(e->scratch, sugar *, s->nitems + 1);
        if (!items) return diag_no_memory(e->diag), NULL;
        for (int k = 0; k < s->nitems; k++)
            if (!(items[k] = loop_element(e, r, s->items[k], i))) return NULL;
        return loop_tuple(e, s->nitems, items);
    }
    default: irgen_fail(e, r, "%s", loop_mixed_lengths); return NULL;
    }
}

/* ---- sequences of known length --------------------------------------------------------------- */

/* start + i, folded where start is a constant. */
static ir_value *loop_offset(emitter *e, source_range r, ir_value *start, ir_value *step,
                             int64_t i) {
    value a = value_int(0), b = value_int(1);
    e->g->range = r;
    bool known = (!start || ir_value_constant(start, &a)) && (!step || ir_value_constant(step, &b));
    if (known && a.tag == V_INT && b.tag == V_INT)
        return graph_constant_int(e->g, (int64_t)((uint64_t)a.u.i + (uint64_t)i * (uint64_t)b.u.i));
    ir_value *args[] = {graph_constant_int(e->g, i), start ? start : graph_constant_int(e->g, 0),
                        step ? step : graph_constant_int(e->g, 1)};
    return irgen_builtin_values(e, r, "aten::__derive_index", 3, args);
}

/* Element i of something unrolled. */
static sugar *loop_static_element(emitter *e, source_range r, sugar *s, int i) {
    switch (s->kind) {
    case SUGAR_TUPLE: return s->items[i];
    case SUGAR_RANGE: return sugar_of_value(e, loop_offset(e, r, s->start, s->step, i));
    case SUGAR_REVERSED:
        return loop_static_element(e, r, s->items[0], loop_static_length(s->items[0]) - 1 - i);
    case SUGAR_ENUMERATE: {
        sugar **pair = arena_array(e->scratch, sugar *, 2);
        pair[0] = sugar_of_value(e, loop_offset(e, r, s->start, NULL, i));
        pair[1] = pair[0] ? loop_static_element(e, r, s->items[0], i) : NULL;
        return pair[1] ? loop_tuple(e, 2, pair) : NULL;
    }
    case SUGAR_ZIP: {
        sugar **items = arena_array(e->scratch, sugar *, s->nitems + 1);
        if (!items) return diag_no_memory(e->diag), NULL;
        for (int k = 0; k < s->nitems; k++)
            if (!(items[k] = loop_static_element(e, r, s->items[k], i))) return NULL;
        return loop_tuple(e, s->nitems, items);
    }
    default: irgen_fail(e, r, "%s", loop_mixed_lengths); return NULL;
    }
}

static bool loop_count_step(emitter *e, source_range r) {
    emitter *top = e;
    while (top->outer) top = top->outer;
    if (++top->steps > EMIT_MAX_STEPS) {
        irgen_fail(e, r, "unrolling the loops of this function takes more than %d steps",
                   EMIT_MAX_STEPS);
        return false;
    }
    if (irgen_failed(e)) return diag_no_memory(e->diag), false;
    return true;
}

/* Is s, of any kind, something of a number of elements known while compiling? Emits nothing. */
static bool loop_may_be_static(const sugar *s) {
    if (s->kind == SUGAR_VALUE) {
        type_kind k = s->value->type->kind;
        return k == T_TUPLE || k == T_CLASS || k == T_INTERFACE;
    }
    if (s->kind == SUGAR_TUPLE) return true;
    if (s->kind != SUGAR_ZIP && s->kind != SUGAR_ENUMERATE && s->kind != SUGAR_REVERSED)
        return false;
    for (int i = 0; i < s->nitems; i++)
        if (loop_may_be_static(s->items[i])) return true;
    return false;
}

sugar *irgen_static_elements(emitter *e, source_range r, sugar *s) {
    if (s->kind == SUGAR_TUPLE) return s;
    if (!loop_may_be_static(s)) return NULL;
    /* NULL for objects that are not containers */
    if (s->kind == SUGAR_VALUE && s->value->type->kind != T_TUPLE)
        return e->scope ? e->scope->ops->sequence(e, r, s->value) : NULL;
    sugar *it = loop_iterable(e, r, s, 0);
    if (!it) return NULL;
    int n = loop_static_length(it);
    if (n < 0) {
        if (loop_is_unrolled(it)) irgen_fail(e, r, "%s", loop_mixed_lengths);
        return NULL;
    }
    sugar **items = arena_array(e->scratch, sugar *, n + 1);
    if (!items) return diag_no_memory(e->diag), NULL;
    for (int i = 0; i < n; i++)
        if (!loop_count_step(e, r) || !(items[i] = loop_static_element(e, r, it, i))) return NULL;
    return loop_tuple(e, n, items);
}

/* ---- loops ----------------------------------------------------------------------------------- */

static bool loop_assign(emitter *e, source_range r, const expr *target, sugar *elem) {
    if (elem->kind != SUGAR_VALUE && target->kind != E_TUPLE && target->kind != E_LIST) {
        if (elem->kind != SUGAR_TUPLE) return irgen_assign_target(e, target, elem, NULL);
        ir_value *v = irgen_as_value(e, r, elem);
        if (!v) return false;
        elem = sugar_of_value(e, v);
    }
    return irgen_assign_target(e, target, elem, NULL);
}

static bool loop_unrolled(emitter *e, source_range r, const expr *target, sugar *it,
                          const loop_body *body) {
    int n = loop_static_length(it), before = e->unrolled;
    if (n < 0) return irgen_fail(e, r, "%s", loop_mixed_lengths), false;
    e->unrolled = 1;
    bool ok = true;
    for (int i = 0; i < n && ok && !e->returned; i++) {
        sugar *elem = loop_count_step(e, r) ? loop_static_element(e, r, it, i) : NULL;
        ok = elem && loop_assign(e, r, target, elem) && body->emit(e, body->ctx);
    }
    e->unrolled = before;
    return ok;
}

/* The condition is emitted into a second block, which ssa.c moves in front of the loop and to the
 * end of its body, so that it sees the variables of both places. */
static bool loop_condition(emitter *e, source_range r, node *n, block *b, const expr *cond) {
    graph *g = e->g;
    ir_value *v = NULL;
    if (!cond) {
        graph_set_insert(g, n->owner, n);
        g->range = r;
        v = graph_constant_bool(g, true);
    } else {
        graph_set_insert(g, b, NULL);
        irgen_push_frame(e, b);
        condition c;
        if (irgen_condition_parts(e, cond, &c)) v = c.value;
        irgen_pop_frame(e);
    }
    if (v) block_add_return(b, v);
    return v != NULL;
}

/* it NULL: while cond */
static bool loop_looped(emitter *e, source_range r, const expr *target, sugar *it, const expr *cond,
                        const loop_body *body) {
    graph *g = e->g;
    g->range = r;
    ir_value *trip = it ? loop_length(e, r, it)
                        : irgen_constant_take(e, value_int(INT64_MAX), NULL);
    if (!trip) return false;
    g->range = r;
    node *n = graph_insert(g, node_new(g, N_LOOP, 1, &trip, 0));
    block *inner = node_add_block(n), *condition = node_add_block(n), *ib = g->insert_block;
    node *in = g->insert_before;
    int loops = e->loops, unrolled = e->unrolled;
    bool returned = e->returned, ok = loop_condition(e, r, n, condition, cond);
    if (ok) {
        ir_value *i = block_add_param(inner, TYPE_INT);
        graph_set_insert(g, inner, NULL);
        e->returned = false;
        e->loops = 1;
        e->unrolled = 0;
        irgen_push_frame(e, inner);
        if (it) {
            sugar *elem = loop_element(e, r, it, i);
            ok = elem && loop_assign(e, r, target, elem);
        }
        ok = ok && body->emit(e, body->ctx);
        irgen_pop_frame(e);
    }
    e->loops = loops;
    e->unrolled = unrolled;
    e->returned = returned;
    graph_set_insert(g, ib, in);
    return ok;
}

static bool loop_indexes(const stmt_list *body, const char *name, int depth);

/* i, i + 1, i * self.width + k, i:j, str(i), f"layer{i}", "layer{}".format(i) */
static bool loop_mentions(const expr *x, const char *name, int depth) {
    if (!x || depth > PARSE_MAX_DEPTH) return false;
    if (x->kind == E_NAME) return !strcmp(x->name, name);
    bool text = x->kind == E_FSTRING || x->kind == E_TUPLE ||
                (x->kind == E_CALL && x->a->kind == E_NAME && !strcmp(x->a->name, "str")) ||
                (x->kind == E_CALL && x->a->kind == E_ATTR && !strcmp(x->a->name, "format"));
    for (size_t i = 0; text && i < x->items.len; i++)
        if (loop_mentions(x->items.data[i], name, depth + 1)) return true;
    return (x->kind == E_BINARY || x->kind == E_FORMAT || x->kind == E_SLICE) &&
           (loop_mentions(x->a, name, depth + 1) || loop_mentions(x->b, name, depth + 1));
}

/* getattr(self, f"layer{i}"), self.__getattr__(...) */
static bool loop_names_attribute(const expr *x, const char *name) {
    if (x->kind != E_CALL || !x->items.len) return false;
    if (x->a->kind == E_ATTR && !strcmp(x->a->name, "__getattr__"))
        return loop_mentions(x->items.data[0], name, 0);
    return x->a->kind == E_NAME && x->items.len > 1 &&
           (!strcmp(x->a->name, "getattr") || !strcmp(x->a->name, "hasattr")) &&
           loop_mentions(x->items.data[1], name, 0);
}

/* Is something subscripted by that name in it? (self.layers[i], which has to be known
 * while compiling) */
static bool loop_indexes_expr(const expr *x, const char *name, int depth) {
    if (!x || depth > PARSE_MAX_DEPTH) return false;
    if (x->kind == E_SUBSCRIPT && x->items.len == 1 && loop_mentions(x->items.data[0], name, 0))
        return true;
    if (loop_names_attribute(x, name)) return true;
    if (loop_indexes_expr(x->a, name, depth + 1) || loop_indexes_expr(x->b, name, depth + 1) ||
        loop_indexes_expr(x->c, name, depth + 1))
        return true;
    for (size_t i = 0; i < x->items.len; i++)
        if (loop_indexes_expr(x->items.data[i], name, depth + 1)) return true;
    for (size_t i = 0; i < x->kwargs.len; i++)
        if (loop_indexes_expr(x->kwargs.data[i].value, name, depth + 1)) return true;
    return false;
}

static bool loop_indexes(const stmt_list *body, const char *name, int depth) {
    for (size_t i = 0; i < body->len && depth < PARSE_MAX_DEPTH; i++) {
        const stmt *s = body->data[i];
        if (loop_indexes_expr(s->value, name, 0) || loop_indexes(&s->body, name, depth + 1) ||
            loop_indexes(&s->orelse, name, depth + 1))
            return true;
    }
    return false;
}

/* ---- zip of what is unrolled and lists of any length; beyond PyTorch ------------------------- */

/*     for m, x in zip(self.layers, xs): BODY
 * ->  n = len(xs); if n > 0: m, x = self.layers[0], xs[0]; BODY; if n > 1: ... */
typedef struct loop_zip {
    emitter *e;
    const expr *target;
    const stmt_list *body;
    source_range range;
    const sugar *zip;
    const char *name; /* of the hidden variables */
    bool counted;     /* enumerate(zip(...)) */
    int most;         /* of the sequences of known length, the shortest one's */
} loop_zip;

static expr *loop_expr(loop_zip *z, expr_kind kind) {
    expr *x = arena_new(z->e->scratch, expr);
    x->kind = kind;
    x->range = z->range;
    return x;
}

static expr *loop_hidden(loop_zip *z, int part, int i) {
    expr *x = loop_expr(z, E_NAME);
    x->name = arena_printf(z->e->scratch, "%s_%d_%d", z->name, part, i);
    return x;
}

static expr *loop_number(loop_zip *z, int i) {
    expr *x = loop_expr(z, E_INT);
    x->i = i;
    return x;
}

/* The value of the target in round i. */
static expr *loop_zip_value(loop_zip *z, int i) {
    emitter *e = z->e;
    expr *all = loop_expr(z, E_TUPLE), *pair = loop_expr(z, E_TUPLE);
    for (int k = 0; k < z->zip->nitems; k++) {
        bool fixed = loop_static_length(z->zip->items[k]) >= 0;
        expr *x = loop_hidden(z, k, fixed ? i : 0);
        if (!fixed) {
            expr *at = loop_expr(z, E_SUBSCRIPT);
            at->a = x;
            avec_push(e->scratch, &at->items, loop_number(z, i));
            x = at;
        }
        avec_push(e->scratch, &all->items, x);
    }
    if (!z->counted) return all;
    avec_push(e->scratch, &pair->items, loop_number(z, i));
    avec_push(e->scratch, &pair->items, all);
    return pair;
}

/* Hidden variables for the parts, and for the length of the shortest list. */
static bool loop_zip_begin(loop_zip *z, ir_value **length) {
    emitter *e = z->e;
    length_list lengths = {0};
    for (int k = 0; k < z->zip->nitems; k++) {
        sugar *s = z->zip->items[k];
        int n = loop_static_length(s);
        if (n >= 0) {
            z->most = n < z->most ? n : z->most;
            for (int i = 0; i < n; i++) {
                sugar *item = loop_static_element(e, z->range, s, i);
                if (!item || !irgen_bind(e, z->range, loop_hidden(z, k, i)->name, item))
                    return false;
            }
            continue;
        }
        if (s->kind != SUGAR_VALUE || s->value->type->kind != T_LIST)
            return irgen_fail(e, z->range, "%s", loop_mixed_lengths), false;
        ir_value *len = loop_length(e, z->range, s);
        if (!len || !irgen_bind(e, z->range, loop_hidden(z, k, 0)->name, s)) return false;
        avec_push(e->scratch, &lengths, len);
    }
    ir_value *l = irgen_list(e, z->range, TYPE_INT, (int)lengths.len, lengths.data);
    *length = irgen_builtin_values(e, z->range, "prim::min", 1, &l);
    return *length != NULL;
}

static bool loop_zip_round(loop_zip *z, int i, const char *length) {
    emitter *e = z->e;
    stmt *s = arena_array(e->scratch, stmt, 2);
    expr *more = loop_expr(z, E_COMPARE);
    stmt_list all = {0};
    if (!s || irgen_failed(e)) return diag_no_memory(e->diag), false;
    more->op = O_GT;
    more->a = loop_expr(z, E_NAME);
    more->a->name = length;
    more->b = loop_number(z, i);
    s[0] = (stmt){.kind = S_IF, .range = z->range, .value = more};
    s[1] = (stmt){.kind = S_ASSIGN, .range = z->range, .value = loop_zip_value(z, i)};
    bool ok = avec_push(e->scratch, &s[1].targets, (expr *)z->target) &&
              avec_push(e->scratch, &s[0].body, &s[1]) && avec_push(e->scratch, &all, &s[0]);
    for (size_t k = 0; ok && k < z->body->len; k++)
        ok = avec_push(e->scratch, &s[0].body, z->body->data[k]);
    return ok ? irgen_statements(e, &all) : (diag_no_memory(e->diag), false);
}

static bool loop_zip_lists(emitter *e, source_range r, const expr *target, const sugar *it,
                           const loop_body *body) {
    emitter *top = e;
    while (top->outer) top = top->outer;
    loop_zip z = {.e = e,
                  .target = target,
                  .body = body->stmts,
                  .range = r,
                  .counted = it->kind == SUGAR_ENUMERATE,
                  .name = arena_printf(e->scratch, "$zip%d", ++top->comprehensions),
                  .most = INT_MAX};
    z.zip = z.counted ? it->items[0] : it;
    if (z.zip->kind != SUGAR_ZIP || (z.counted && it->start))
        return irgen_fail(e, r, "%s", loop_mixed_lengths), false;
    ir_value *length = NULL;
    const char *name = arena_printf(e->scratch, "%s_n", z.name);
    if (!loop_zip_begin(&z, &length) || !irgen_bind(e, r, name, sugar_of_value(e, length)))
        return false;
    int before = e->unrolled;
    bool ok = true;
    e->unrolled = 1;
    for (int i = 0; i < z.most && ok && !e->returned; i++)
        ok = loop_count_step(e, r) && loop_zip_round(&z, i, name);
    e->unrolled = before;
    return ok;
}

static bool loop_over(emitter *e, source_range r, const expr *target, const expr *iterable,
                      const loop_body *body) {
    sugar *s = e->lenient && e->scope && body->stmts && target->kind == E_NAME &&
                       loop_indexes(body->stmts, target->name, 0)
                   ? e->scope->ops->static_range(e, iterable)
                   : NULL;
    if (!s) s = irgen_sugar(e, iterable, NULL);
    sugar *it = s ? loop_iterable(e, iterable->range, s, 0) : NULL;
    if (!it) return false;
    if (loop_is_unrolled(it) && e->lenient && e->scope && body->stmts && loop_static_length(it) < 0)
        return loop_zip_lists(e, r, target, it, body);
    if (loop_is_unrolled(it)) return loop_unrolled(e, r, target, it, body);
    return loop_looped(e, r, target, it, NULL, body);
}

static bool loop_statements(emitter *e, void *ctx) { return irgen_statements(e, ctx); }

static bool loop_refuses_else(emitter *e, const stmt *st, const char *what) {
    if (st->orelse.len)
        irgen_fail(e, st->orelse.data[0]->range, "else branches of %s loops aren't supported",
                   what);
    return st->orelse.len != 0;
}

bool irgen_for(emitter *e, const stmt *st) {
    loop_body body = {loop_statements, (void *)&st->body, &st->body};
    return !loop_refuses_else(e, st, "for") &&
           loop_over(e, st->range, st->targets.data[0], st->value, &body);
}

/* while condition: body    ->    while True: { if condition: pass; else: break; body } */
static bool loop_while_assigning(emitter *e, const stmt *st) {
    stmt *s = arena_array(e->scratch, stmt, 4);
    expr *always = arena_new(e->scratch, expr);
    if (!s || !always) return diag_no_memory(e->diag), false;
    *always = (expr){.kind = E_TRUE, .range = st->value->range};
    s[0] = (stmt){.kind = S_WHILE, .range = st->range, .value = always};
    s[1] = (stmt){.kind = S_IF, .range = st->value->range, .value = st->value};
    s[2] = (stmt){.kind = S_PASS, .range = st->value->range};
    s[3] = (stmt){.kind = S_BREAK, .range = st->value->range};
    bool ok = avec_push(e->scratch, &s[1].body, &s[2]) &&
              avec_push(e->scratch, &s[1].orelse, &s[3]) &&
              avec_push(e->scratch, &s[0].body, &s[1]);
    for (size_t i = 0; ok && i < st->body.len; i++)
        ok = avec_push(e->scratch, &s[0].body, st->body.data[i]);
    return ok ? irgen_while(e, s) : (diag_no_memory(e->diag), false);
}

bool irgen_while(emitter *e, const stmt *st) {
    loop_body body = {loop_statements, (void *)&st->body};
    name_vector names = {0};
    if (!irgen_assigned_names(e, st->value, &names)) return false;
    if (names.len && !st->orelse.len) return loop_while_assigning(e, st);
    return !loop_refuses_else(e, st, "while") &&
           loop_looped(e, st->range, NULL, NULL, st->value, &body);
}

/* ---- comprehensions -------------------------------------------------------------------------- */

typedef struct comprehension {
    const expr *top;   /* with the element, and the key of a dict */
    const expr *level; /* the generator being emitted */
    ir_value *out;     /* the list or dict */
    type *hint;        /* its type, if known beforehand */
    bool typed;        /* out->type says what the elements are */
} comprehension;

static bool loop_no_common_type(emitter *e, source_range r, type *a, type *b) {
    strbuf sa = STRBUF_INIT, sb = STRBUF_INIT;
    type_print_python(a, &sa);
    type_print_python(b, &sb);
    irgen_fail(e, r, "Elements of a comprehension must be of one type, but found %s and %s",
               sb_str(&sa), sb_str(&sb));
    sb_free(&sa);
    sb_free(&sb);
    return false;
}

/* An element's value, fitted to the type wanted; with none wanted, *seen (of the elements
 * before) takes it in. */
static ir_value *loop_fit(emitter *e, const expr *x, type *wanted, type **seen) {
    ir_value *v = irgen_expr(e, x, wanted);
    if (v && wanted) {
        v = match_convert(e, x->range, wanted, v, true);
        if (v && !type_is_subtype(v->type, wanted))
            return loop_no_common_type(e, x->range, wanted, v->type), NULL;
    } else if (v) {
        type *u = *seen ? type_unify(*seen, v->type, true) : v->type;
        if (!u) return loop_no_common_type(e, x->range, *seen, v->type), NULL;
        *seen = u;
    }
    return v;
}

static bool loop_add_element(emitter *e, comprehension *c) {
    const expr *x = c->top;
    type *t = c->hint ? c->hint : c->typed ? c->out->type : NULL;
    if (x->kind == E_DICT_COMP) {
        type *kt = t ? t->elems[0] : NULL, *vt = t ? t->elems[1] : NULL;
        ir_value *k = loop_fit(e, x->keys.data[0], c->hint ? kt : NULL, &kt);
        ir_value *v = k ? loop_fit(e, x->a, c->hint ? vt : NULL, &vt) : NULL;
        if (!v) return false;
        if (!c->hint) c->out->type = type_dict(kt, vt);
        c->typed = true;
        ir_value *args[] = {c->out, k, v};
        return irgen_builtin_values(e, x->range, "aten::_set_item", 3, args) != NULL;
    }
    type *elem = t ? type_elem(t) : NULL;
    ir_value *v = loop_fit(e, x->a, c->hint ? elem : NULL, &elem);
    if (!v) return false;
    if (!c->hint) c->out->type = type_list(elem);
    c->typed = true;
    ir_value *args[] = {c->out, v};
    return irgen_builtin_values(e, x->range, "aten::append", 2, args) != NULL;
}

static bool loop_level(emitter *e, comprehension *c, const expr *level);

/* The conditions from the i-th on, then the next generator or the element. */
static bool loop_conditions(emitter *e, comprehension *c, const expr *level, size_t i) {
    if (i == level->items.len)
        return level->c ? loop_level(e, c, level->c) : loop_add_element(e, c);
    const expr *x = level->items.data[i];
    condition cond;
    if (!irgen_condition_parts(e, x, &cond)) return false;
    if (cond.known == 0) return true;
    if (cond.known == 1)
        return irgen_refine(e, x->range, cond.when_true) && loop_conditions(e, c, level, i + 1);
    e->g->range = x->range;
    node *n = graph_insert(e->g, node_new(e->g, N_IF, 1, &cond.value, 0));
    block *yes = node_add_block(n);
    node_add_block(n);
    block *ib = e->g->insert_block;
    node *in = e->g->insert_before;
    graph_set_insert(e->g, yes, NULL);
    irgen_push_frame(e, yes);
    bool ok = irgen_refine(e, x->range, cond.when_true) && loop_conditions(e, c, level, i + 1);
    irgen_pop_frame(e);
    graph_set_insert(e->g, ib, in);
    return ok;
}

static bool loop_comprehension_body(emitter *e, void *ctx) {
    comprehension *c = ctx;
    const expr *level = c->level;
    bool ok = loop_conditions(e, c, level, 0);
    c->level = level;
    return ok;
}

static bool loop_level(emitter *e, comprehension *c, const expr *level) {
    loop_body body = {loop_comprehension_body, c};
    c->level = level;
    if (++e->depth > 2 * PARSE_MAX_DEPTH)
        return irgen_fail(e, level->range, "expressions nest too deeply"), false;
    bool ok = loop_over(e, c->top->range, level->target, level->b, &body);
    e->depth--;
    return ok;
}

ir_value *irgen_comprehension(emitter *e, const expr *x, type *hint) {
    bool dict = x->kind == E_DICT_COMP;
    if (hint && hint->kind == T_OPTIONAL) hint = type_elem(hint);
    if (hint && hint->kind != (dict ? T_DICT : T_LIST)) hint = NULL;
    e->g->range = x->range;
    node *n = graph_insert(e->g,
                           node_new(e->g, dict ? N_DICT_CONSTRUCT : N_LIST_CONSTRUCT, 0, NULL, 1));
    comprehension c = {.top = x, .out = n->outputs.data[0], .hint = hint};
    c.out->type = hint ? hint : dict ? type_dict(TYPE_STR, TYPE_TENSOR) : type_list(TYPE_TENSOR);
    emitter *top = e;
    while (top->outer) top = top->outer;
    frame *f = irgen_push_frame(e, e->env->blk);
    f->names = ++top->comprehensions;
    bool returned = e->returned;
    bool ok = loop_level(e, &c, x);
    e->returned = returned;
    irgen_pop_frame(e);
    return ok && !irgen_failed(e) ? c.out : NULL;
}
