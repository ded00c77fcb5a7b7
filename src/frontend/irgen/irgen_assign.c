/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen_assign.c - assignment: names, unpacking, attributes, and the augmented forms.
 *
 * A tuple on the right-hand side is unpacked without being built if its parts are known.
 * irgen.c assigns to names (types over several assignments); irgen_index.c, to x[...].
 * Tests: tests/lang, tests/corpus
 */
#include "frontend/irgen/irgen.h"
#include "frontend/pyeval/core/py.h"

/* ---- assignment ------------------------------------------------------------------------------ */

/* What an unpacked value consists of; want: how many parts a list must have, 0: unknown. NULL: the
 * diagnostic is filled. */
static sugar *assign_parts(emitter *e, source_range r, sugar *s, size_t want) {
    sugar *fixed = irgen_static_elements(e, r, s);
    if (fixed || irgen_failed(e)) return fixed;
    ir_value *v = irgen_as_value(e, r, s), **parts = NULL;
    int n = 0;
    if (!v) return NULL;
    if (v->type->kind == T_LIST && !want) {
        irgen_fail(e, r, "cannot statically infer the expected size of a list in this context");
        return NULL;
    }
    if (!irgen_unpack(e, r, v, want, &parts, &n)) return NULL;
    sugar *out = sugar_new(e, SUGAR_TUPLE);
    out->items = arena_array(e->scratch, sugar *, n + 1);
    if (!out->items) return diag_no_memory(e->diag), NULL;
    for (int i = 0; i < n; i++) out->items[i] = sugar_of_value(e, parts[i]);
    out->nitems = n;
    return out;
}

/* *rest takes a tuple of the elements that no other target takes. */
static bool assign_rest(emitter *e, const expr *target, int n, sugar *const *items) {
    ir_value **values = arena_array(e->scratch, ir_value *, n + 1);
    if (!values) return diag_no_memory(e->diag), false;
    for (int i = 0; i < n; i++)
        if (!(values[i] = irgen_as_value(e, target->range, items[i]))) return false;
    ir_value *t = irgen_tuple(e, target->range, NULL, n, values);
    return t && irgen_assign_target(e, target->a, sugar_of_value(e, t), NULL);
}

static sugar *assign_element(emitter *e, source_range r, ir_value *list, int at) {
    e->g->range = r;
    ir_value *in[] = {list, graph_constant_int(e->g, at)};
    ir_value *v = irgen_builtin_values(e, r, "aten::__getitem__", 2, in);
    return v ? sugar_of_value(e, v) : NULL;
}

static ir_value *assign_slice(emitter *e, source_range r, ir_value *list, int begin, int end) {
    e->g->range = r;
    ir_value *in[] = {list, graph_constant_int(e->g, begin),
                      end ? graph_constant_int(e->g, end) : graph_constant_none(e->g),
                      graph_constant_int(e->g, 1)};
    return irgen_builtin_values(e, r, "aten::slice", 4, in);
}

/* a, *rest, b = list, beyond PyTorch. Elements after the star are taken from
 * the end of what a leaves, so that a list that is too short is an error. */
static bool assign_starred_list(emitter *e, const expr *target, ir_value *list, int star) {
    int n = (int)target->items.len, after = n - star - 1;
    ir_value *tail = star ? assign_slice(e, target->range, list, star, 0) : list;
    for (int i = 0; i < n && tail; i++) {
        const expr *t = target->items.data[i];
        ir_value *rest = i != star ? NULL
                         : after   ? assign_slice(e, t->range, tail, 0, -after)
                                   : tail;
        sugar *s = rest       ? sugar_of_value(e, rest)
                   : i < star ? assign_element(e, t->range, list, i)
                   : i > star ? assign_element(e, t->range, tail, i - n)
                              : NULL;
        if (!s || !irgen_assign_target(e, i == star ? t->a : t, s, NULL)) return false;
    }
    return tail != NULL;
}

static bool assign_items(emitter *e, const expr *target, sugar *s) {
    source_range r = target->range;
    int n = (int)target->items.len, star = -1;
    for (int i = 0; i < n; i++) {
        if (target->items.data[i]->kind != E_STARRED) continue;
        if (star >= 0) {
            irgen_fail(e, target->items.data[i]->range,
                       "Only one starred expression is allowed on the lhs");
            return false;
        }
        star = i;
    }
    if (star >= 0 && e->lenient && s->kind == SUGAR_VALUE && s->value->type->kind == T_LIST)
        return assign_starred_list(e, target, s->value, star);
    sugar *parts = assign_parts(e, r, s, star < 0 ? (size_t)n : 0);
    if (!parts) return false;
    int rest = parts->nitems - (n - 1), need = star < 0 ? n : n - 1;
    if (parts->nitems < need) {
        irgen_fail(e, r, "need %s%d values to unpack but found only %d",
                   star < 0 ? "" : "at least ", need, parts->nitems);
        return false;
    }
    if (star < 0 && parts->nitems > n) {
        irgen_fail(e, r, "too many values to unpack: need %d but found %d", n, parts->nitems);
        return false;
    }
    for (int i = 0, k = 0; i < n; i++) {
        const expr *t = target->items.data[i];
        if (i == star ? !assign_rest(e, t, rest, parts->items + k)
                      : !irgen_assign_target(e, t, parts->items[k], NULL))
            return false;
        k += i == star ? rest : 1;
    }
    return true;
}

/* Inside __init__ of a class from source an assignment to self.x declares x. */
static bool assign_declares(const emitter *e, const type *cls) {
    return e->scope && e->fn && e->fn->cls == cls && !strcmp(e->fn->name, "__init__") &&
           !cls->cls->is_module && e->g->root->params.len &&
           e->g->root->params.data[0]->type == cls;
}

/* Does a value of type t hold a cls? No archive can: its code declares a class before naming
 * it. steps: a bound. */
static bool assign_holds_class(const type *t, const type *cls, int *steps) {
    if (t == cls) return true;
    if (--*steps < 0) return false;
    for (int i = 0; i < t->nelems; i++)
        if (assign_holds_class(t->elems[i], cls, steps)) return true;
    for (size_t i = 0; t->kind == T_CLASS && i < t->cls->attributes.len; i++)
        if (assign_holds_class(t->cls->attributes.data[i].type, cls, steps)) return true;
    return false;
}

static bool assign_declare_attribute(emitter *e, const expr *target, type *cls, type *t) {
    if (e->g->insert_block != e->g->root) {
        irgen_fail(e, target->range,
                   "First assignment cannot be in a control-flow block. Initialize the field at "
                   "the top level "
                   "first.");
        return false;
    }
    int steps = 10000;
    if (assign_holds_class(t, cls, &steps)) {
        irgen_fail(e, target->range,
                   "Assignment to attribute '%s' cannot be of a type that contains class '%s'.\n"
                   "Classes that recursively contain instances of themselves are not yet supported",
                   target->name, class_name(cls));
        return false;
    }
    attribute a = {.name = target->name, .type = t};
    return avec_push(&e->unit->arena, &cls->cls->attributes, a) || (diag_no_memory(e->diag), false);
}

/* obj.x = v for a class without attribute x: a property's setter. */
static bool assign_set_property(emitter *e, const expr *target, ir_value *obj, ir_value *v) {
    const char *name = arena_printf(e->scratch, "__%s_setter", target->name);
    function *setter = irgen_find_method(e, obj->type, name);
    if (irgen_failed(e)) return false;
    if (setter) {
        actual arg = {.value = v, .range = target->range};
        return irgen_method(e, target->range, obj, name, 1, &arg) != NULL;
    }
    name = arena_printf(e->scratch, "__%s_getter", target->name);
    if (irgen_find_method(e, obj->type, name))
        irgen_fail(e, target->range, "Tried to set read-only attribute: %s", target->name);
    else
        irgen_fail(e, target->range,
                   "Tried to set nonexistent attribute: %s. Did you forget to initialize it in "
                   "__init__()?",
                   target->name);
    return false;
}

/* Beyond PyTorch: self.x that no instance has before a method assigns it. It is a variable of the
 * method; nothing else can be compiled that looks at it. */
static bool assign_is_local(emitter *e, const expr *target, const ir_value *obj) {
    if (!e->lenient || !e->scope || !e->fn || obj->type != e->fn->cls || obj->def ||
        !obj->type->cls->is_module || obj->owner != e->g->root)
        return false;
    const char *set = arena_printf(e->scratch, "__%s_setter", target->name),
               *get = arena_printf(e->scratch, "__%s_getter", target->name);
    return !class_find_constant(obj->type, target->name) && !irgen_find_method(e, obj->type, set) &&
           !irgen_find_method(e, obj->type, get) && !irgen_failed(e) &&
           !irgen_has_attribute(e, sugar_of_value(e, (ir_value *)obj), target->name);
}

static bool assign_local(emitter *e, const expr *target, ir_value *v) {
    return irgen_set_value(e, target->range, irgen_local_attribute(e, target->name), v);
}

static bool assign_set_attribute(emitter *e, const expr *target, ir_value *obj, ir_value *v) {
    if (obj->type->kind != T_CLASS) {
        strbuf sb = STRBUF_INIT;
        type_print_python(obj->type, &sb);
        irgen_fail(e, target->range, "Tried to set an attribute: %s on a non-class: %s",
                   target->name, sb_str(&sb));
        sb_free(&sb);
        return false;
    }
    int slot = class_find_attribute(obj->type, target->name);
    if (slot < 0 && assign_declares(e, obj->type)) {
        if (!assign_declare_attribute(e, target, obj->type, v->type)) return false;
        slot = class_find_attribute(obj->type, target->name);
    }
    if (slot < 0 && assign_is_local(e, target, obj)) return assign_local(e, target, v);
    if (slot < 0) return assign_set_property(e, target, obj, v);
    type *want = obj->type->cls->attributes.data[slot].type;
    v = match_convert(e, target->range, want, v, true);
    if (!v) return false;
    if (!type_is_subtype(v->type, want)) {
        strbuf a = STRBUF_INIT, b = STRBUF_INIT;
        type_print_python(want, &a);
        type_print_python(v->type, &b);
        irgen_fail(e, target->range, "Wrong type for attribute assignment. Expected %s but got %s",
                   sb_str(&a), sb_str(&b));
        if (e->scope) e->scope->ops->hint_assigned(e, obj->type, target->name, want, v->type);
        sb_free(&a);
        sb_free(&b);
        return false;
    }
    e->g->range = target->range;
    ir_value *in[] = {obj, v};
    node *n = node_new(e->g, N_SET_ATTR, 2, in, 0);
    node_set_str(n, "name", target->name);
    graph_insert(e->g, n);
    return true;
}

/* self.x: T = v declares x with type T in __init__; elsewhere the types have to agree. */
static bool assign_attribute(emitter *e, const expr *target, sugar *s, type *annotated) {
    sugar *owner = irgen_sugar(e, target->a, NULL);
    if (owner && e->scope && e->scope->ops->forgets(owner)) return true;
    if (owner && owner->kind == SUGAR_PY && owner->py) {
        irgen_fail(e, target->range,
                   "attribute assignment is not defined on python value of type '%s'",
                   py_type_name(owner->py));
        return false;
    }
    ir_value *obj = owner ? irgen_as_value(e, target->a->range, owner) : NULL;
    ir_value *v = obj ? irgen_as_value(e, target->range, s) : NULL;
    if (!v) return false;
    if (annotated) {
        v = match_convert(e, target->range, annotated, v, true);
        if (!v) return false;
        if (type_is_subtype(v->type, annotated) && obj->type->kind == T_CLASS &&
            class_find_attribute(obj->type, target->name) < 0 && assign_declares(e, obj->type) &&
            !assign_declare_attribute(e, target, obj->type, annotated))
            return false;
    }
    return assign_set_attribute(e, target, obj, v);
}

bool irgen_assign_target(emitter *e, const expr *target, sugar *s, type *annotated) {
    switch (target->kind) {
    case E_NAME: return irgen_set_sugar(e, target->range, target->name, s, annotated);
    case E_TUPLE:
    case E_LIST: return assign_items(e, target, s);
    case E_ATTR: return assign_attribute(e, target, s, annotated);
    case E_SUBSCRIPT: return irgen_assign_subscript(e, target, s);
    case E_STARRED:
        irgen_fail(e, target->range,
                   "A Starred expression may only appear on the lhs within the presence of another "
                   "non-starred expression");
        return false;
    default:
        irgen_fail(e, target->range, "unexpected expression on the left-hand side");
        return false;
    }
}

/* a, b = x, y without a tuple in between */
static bool assign_pairwise(emitter *e, const expr *target, const expr *value) {
    size_t n = value->items.len;
    sugar **vals = arena_array(e->scratch, sugar *, n + 1);
    if (!vals) return diag_no_memory(e->diag), false;
    for (size_t i = 0; i < n; i++)
        if (!(vals[i] = irgen_sugar(e, value->items.data[i], NULL))) return false;
    for (size_t i = 0; i < n; i++)
        if (!irgen_assign_target(e, target->items.data[i], vals[i], NULL)) return false;
    return true;
}

/* a, b, c = *list, x: the list has as many elements as the other targets leave
 * it; beyond PyTorch. */
static bool assign_spread(emitter *e, const expr *target, const expr *value) {
    size_t n = target->items.len, m = value->items.len, at = 0;
    VEC(sugar *) vals = {0};
    for (size_t i = 0; i < m; i++) {
        const expr *it = value->items.data[i];
        bool starred = it->kind == E_STARRED;
        sugar *s = irgen_sugar(e, starred ? it->a : it, NULL);
        bool list = s && starred && s->kind == SUGAR_VALUE && s->value->type->kind == T_LIST;
        ir_value **parts = NULL;
        int k = 0;
        if (!s) return false;
        if (!starred) {
            if (!avec_push(e->scratch, &vals, s)) return diag_no_memory(e->diag), false;
            continue;
        }
        if (list && n < m)
            return irgen_fail(e, it->range, "need %d values to unpack but there are more", (int)n),
                   false;
        if (!(list ? irgen_unpack(e, it->range, s->value, n - (m - 1), &parts, &k)
                   : irgen_spread(e, it->range, s, &parts, &k)))
            return false;
        for (int j = 0; j < k; j++)
            if (!avec_push(e->scratch, &vals, sugar_of_value(e, parts[j])))
                return diag_no_memory(e->diag), false;
    }
    if (vals.len != n)
        return irgen_fail(e, value->range, "need %d values to unpack but found %d", (int)n,
                          (int)vals.len),
               false;
    for (; at < n; at++)
        if (!irgen_assign_target(e, target->items.data[at], vals.data[at], NULL)) return false;
    return true;
}

static int assign_count_stars(const expr_list *xs) {
    int n = 0;
    for (size_t i = 0; i < xs->len; i++) n += xs->data[i]->kind == E_STARRED;
    return n;
}

/* The type that a value assigned to an attribute should have, as a hint; NULL: unknown. */
static type *assign_target_hint(emitter *e, const expr *target) {
    if (target->kind != E_ATTR || target->a->kind != E_NAME) return NULL;
    const variable *v = irgen_find_variable(e, target->a->name);
    if (!v || !v->type || v->type->kind != T_CLASS) return NULL;
    int slot = class_find_attribute(v->type, target->name);
    return slot < 0 ? NULL : v->type->cls->attributes.data[slot].type;
}

bool irgen_assign(emitter *e, const stmt *st) {
    const expr *target = st->targets.data[0];
    type *t = NULL;
    if (st->type_comment && e->scope && st->targets.len == 1) { /* x = []  # type: List[int] */
        expr text = {.kind = E_STR,
                     .range = st->range,
                     .s = st->type_comment,
                     .slen = strlen(st->type_comment)};
        if (irgen_annotation(e, &text, &t) != CTSC_OK) return false;
    } else if (st->targets.len == 1 && target->kind == E_TUPLE && st->value->kind == E_TUPLE &&
               target->items.len == st->value->items.len && !assign_count_stars(&target->items) &&
               !assign_count_stars(&st->value->items)) {
        return assign_pairwise(e, target, st->value);
    } else if (e->lenient && st->targets.len == 1 && target->kind == E_TUPLE &&
               st->value->kind == E_TUPLE && !assign_count_stars(&target->items) &&
               assign_count_stars(&st->value->items) == 1) {
        return assign_spread(e, target, st->value);
    }
    if (st->value->kind == E_CALL && (target->kind == E_TUPLE || target->kind == E_LIST))
        e->wanted.parts = (int)target->items.len;
    sugar *s = irgen_sugar(e, st->value, t ? t : assign_target_hint(e, target));
    e->wanted.parts = 0;
    if (!s) return false;
    for (size_t i = 0; i < st->targets.len; i++)
        if (!irgen_assign_target(e, st->targets.data[i], s, t)) return false;
    return true;
}

/* x: I = modules[i] indexes a module container at run time */
static sugar *assign_container_index(emitter *e, const expr *x, type *t) {
    if (x->kind != E_SUBSCRIPT || x->items.len != 1 || t->kind != T_INTERFACE) return NULL;
    ir_value *base = irgen_expr(e, x->a, NULL);
    ir_value *index = base ? irgen_expr(e, x->items.data[0], NULL) : NULL;
    if (!index) return NULL;
    ir_value *in[] = {base, index};
    node *n = graph_insert(e->g, node_new(e->g, N_CONTAINER_INDEX, 2, in, 1));
    n->outputs.data[0]->type = t;
    return sugar_of_value(e, n->outputs.data[0]);
}

bool irgen_annotated_assign(emitter *e, const stmt *st) {
    type *t = NULL;
    if (!st->value) {
        irgen_fail(e, st->range, "annotated assignments without assigned value aren't supported");
        return false;
    }
    if (irgen_annotation(e, st->annotation, &t) != CTSC_OK) return false;
    sugar *s = NULL;
    if (t->kind == T_INTERFACE) s = assign_container_index(e, st->value, t);
    if (!s && !irgen_failed(e)) s = irgen_sugar(e, st->value, t);
    return s && irgen_assign_target(e, st->targets.data[0], s, t);
}

/* ---- augmented assignment -------------------------------------------------------------------- */

/* a op= b of an object: __iadd__ and the like, or __add__. */
static ir_value *assign_augment_object(emitter *e, const stmt *st, ir_value *old, ir_value *rhs) {
    static const char *const names[O_COUNT] = {
        [O_ADD] = "add",           [O_SUB] = "sub", [O_MUL] = "mul", [O_DIV] = "truediv",
        [O_FLOORDIV] = "floordiv", [O_MOD] = "mod", [O_POW] = "pow", [O_MATMUL] = "matmul",
        [O_AND] = "and",           [O_OR] = "or",   [O_XOR] = "xor", [O_LSHIFT] = "lshift",
        [O_RSHIFT] = "rshift"};
    const char *in_place = arena_printf(e->scratch, "__i%s__", names[st->op]);
    const char *plain = arena_printf(e->scratch, "__%s__", names[st->op]);
    const char *name = irgen_find_method(e, old->type, in_place) ? in_place : plain;
    if (irgen_failed(e)) return NULL;
    if (name == plain && !irgen_find_method(e, old->type, plain))
        return irgen_fail(e, st->range,
                          "Cannot emit %s= on an object of type '%s': it defines neither %s nor %s",
                          operator_text(st->op), class_name(old->type), in_place, plain);
    actual arg = {.value = rhs, .range = st->value->range};
    return irgen_method(e, st->range, old, name, 1, &arg);
}

static ir_value *assign_augmented(emitter *e, const stmt *st, ir_value *old) {
    ir_value *rhs = irgen_expr(e, st->value, NULL);
    if (!rhs) return NULL;
    if (old->type->kind == T_CLASS) return assign_augment_object(e, st, old, rhs);
    /* `x |= y` gives x a new tensor in PyTorch, as `x = x | y` does */
    static const char *const rebinds[O_COUNT] = {[O_AND] = "aten::bitwise_and",
                                                 [O_OR] = "aten::bitwise_or",
                                                 [O_XOR] = "aten::bitwise_xor",
                                                 [O_LSHIFT] = "aten::__lshift__",
                                                 [O_POW] = "aten::pow"};
    const char *op = old->type->kind == T_TENSOR ? rebinds[st->op] : NULL;
    if (!op) op = irgen_augmented_operator(st->op, old->type);
    if (!op)
        return irgen_fail(e, st->range,
                          "unsupported kind of augmented assignment: %s=", operator_text(st->op));
    ir_value *args[] = {old, rhs};
    return irgen_builtin_values(e, st->range, op, 2, args);
}

bool irgen_augmented_assign(emitter *e, const stmt *st) {
    const expr *target = st->targets.data[0];
    if (target->kind == E_SUBSCRIPT) return irgen_aug_subscript(e, st);
    if (target->kind == E_NAME) {
        ir_value *old = irgen_expr(e, target, NULL);
        ir_value *v = old ? assign_augmented(e, st, old) : NULL;
        return v && irgen_set_value(e, target->range, target->name, v);
    }
    if (target->kind != E_ATTR) {
        irgen_fail(e, st->range,
                   "left-hand side of augmented assignment must be a variable, an attribute or an "
                   "element");
        return false;
    }
    sugar *obj = irgen_sugar(e, target->a, NULL); /* evaluated once */
    ir_value *self = obj ? irgen_as_value(e, target->a->range, obj) : NULL;
    sugar *s = self ? irgen_attribute(e, target->range, obj, target->name) : NULL;
    ir_value *old = s ? irgen_as_value(e, target->range, s) : NULL;
    ir_value *v = old ? assign_augmented(e, st, old) : NULL;
    return v && assign_set_attribute(e, target, self, v);
}
