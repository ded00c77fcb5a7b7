/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen_map.c - map(f, xs, ...) and filter(f, xs) in compiled functions.
 *
 *     map(f, xs)            [f(x) for x in xs]; of a number of elements known while compiling: (f(xs[0]), f(xs[1]), ...)
 *     filter(f, xs)         [x for x in xs if f(x)]; filter(None, xs): [x for x in xs if x]
 *
 * f is a lambda, whose parameters become the targets, or whatever can be called.
 * PyTorch has neither.
 * Tests: tests/lang/accepted_map.py
 */
#include "frontend/irgen/irgen_special.h"

static expr *map_expr(emitter *e, expr_kind kind, source_range r) {
    expr *x = arena_new(e->scratch, expr);
    *x = (expr){.kind = kind, .range = r};
    return x;
}

static expr *map_name(emitter *e, source_range r, const char *name) {
    expr *x = map_expr(e, E_NAME, r);
    x->name = name;
    return x;
}

/* What one iteration does: `body`, with `targets` assigned. */
typedef struct map_body { expr *body; expr_list targets; } map_body;

static bool map_lambda(emitter *e, const expr *f, size_t n, map_body *out) {
    for (size_t i = 0; i < f->params.len; i++) {
        const param *p = &f->params.data[i];
        if (p->star || p->star_star || p->default_value || f->params.len != n)
            return irgen_fail(e, f->range,
                              "a lambda of %zu parameter%s without defaults is expected", n,
                              n == 1 ? "" : "s"),
                   false;
        avec_push(e->scratch, &out->targets, map_name(e, p->range, p->name));
    }
    out->body = f->a;
    return f->params.len == n ||
           (irgen_fail(e, f->range, "a lambda of %zu parameters is expected", n), false);
}

/* f(a, b) for other callables */
static bool map_called(emitter *e, const expr *f, size_t n, map_body *out) {
    out->body = map_expr(e, E_CALL, f->range);
    out->body->a = (expr *)f;
    for (size_t i = 0; i < n; i++) {
        expr *x = map_name(e, f->range, arena_printf(e->scratch, "$_map%zu", i));
        avec_push(e->scratch, &out->targets, x);
        avec_push(e->scratch, &out->body->items, x);
    }
    return true;
}

/* The iterables' elements, if all have a number of them that is known: `sets` of them,
 * the shortest one's. */
static bool map_static(emitter *e, const expr *x, sugar **iterables, size_t n, int *sets) {
    for (size_t i = 0; i < n; i++) {
        sugar *s = irgen_static_elements(e, x->items.data[i + 1]->range, iterables[i]);
        if (!s) return false;
        iterables[i] = s;
        if (i == 0 || s->nitems < *sets) *sets = s->nitems;
    }
    return true;
}

static sugar *map_unrolled(emitter *e, const expr *x, const map_body *each, sugar *const *iterables,
                           int sets) {
    sugar *out = irgen_new_sequence(e, sets);
    for (int k = 0; out && k < sets; k++) {
        emitter *top = e;
        while (top->outer) top = top->outer;
        frame *f = irgen_push_frame(e, e->env->blk);
        f->names = ++top->comprehensions;
        bool ok = true;
        for (size_t i = 0; ok && i < each->targets.len; i++)
            ok = irgen_set_sugar(e, x->range, each->targets.data[i]->name, iterables[i]->items[k],
                                 NULL);
        sugar *one = ok ? irgen_sugar(e, each->body, NULL) : NULL;
        irgen_pop_frame(e);
        if (!one) return NULL;
        out->items[out->nitems++] = one;
    }
    return out;
}

/* A list comprehension over the values that the sugars denote. */
static sugar *map_looped(emitter *e, const expr *x, map_body *each, sugar **iterables, size_t n,
                         expr *condition) {
    expr *c = map_expr(e, E_LIST_COMP, x->range);
    sugar *over = iterables[0];
    if (n > 1) {
        over = sugar_new(e, SUGAR_ZIP);
        over->items = iterables;
        over->nitems = (int)n;
    }
    const char *name = arena_printf(e->scratch, "$_mapped%d", e->comprehensions);
    if (!irgen_set_sugar(e, x->range, name, over, NULL)) return NULL;
    c->a = each->body;
    c->b = map_name(e, x->range, name);
    c->target = each->targets.data[0];
    if (n > 1) {
        c->target = map_expr(e, E_TUPLE, x->range);
        c->target->items = each->targets;
    }
    if (condition) avec_push(e->scratch, &c->items, condition);
    if (irgen_failed(e)) return diag_no_memory(e->diag), NULL;
    return sugar_of_value(e, irgen_comprehension(e, c, NULL));
}

/* The body that calls of f are; false: an error. */
static bool map_body_of(emitter *e, const expr *f, size_t n, map_body *out) {
    return (f->kind == E_LAMBDA ? map_lambda(e, f, n, out) : map_called(e, f, n, out)) &&
           (!irgen_failed(e) || (diag_no_memory(e->diag), false));
}

sugar *irgen_map(emitter *e, const expr *x, bool filters) {
    size_t n = x->items.len ? x->items.len - 1 : 0;
    map_body each = {0};
    int sets = 0;
    if (x->kwargs.len || n == 0 || (filters && n > 1) || irgen_has_starred(&x->items, 0))
        return irgen_fail(e, x->range,
                          filters ? "filter expected a function and an iterable"
                                  : "map expected a function and iterables"),
               NULL;
    const expr *f = x->items.data[0];
    sugar **iterables = arena_array(e->scratch, sugar *, n + 1);
    if (!iterables) return diag_no_memory(e->diag), NULL;
    for (size_t i = 0; i < n; i++)
        if (!(iterables[i] = irgen_sugar(e, x->items.data[i + 1], NULL))) return NULL;
    bool itself = filters && f->kind == E_NONE;
    if (itself) avec_push(e->scratch, &each.targets, map_name(e, f->range, "$_map0"));
    else if (!map_body_of(e, f, n, &each)) return NULL;
    if (filters) {
        expr *condition = itself ? each.targets.data[0] : each.body;
        each.body = each.targets.data[0];
        return map_looped(e, x, &each, iterables, n, condition);
    }
    if (map_static(e, x, iterables, n, &sets)) return map_unrolled(e, x, &each, iterables, sets);
    return irgen_failed(e) ? NULL : map_looped(e, x, &each, iterables, n, NULL);
}
