/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen_special.c - forms of call with rules of their own: casts, types as arguments, sequences,
 * print, fork, ...
 *
 * irgen_builtin.c gives them their names.
 * Tests: tests/corpus, tests/lang
 */
#include "frontend/irgen/irgen_special.h"

/* ---- casts ----------------------------------------------------------------------------------- */

ir_value *irgen_cast(emitter *e, source_range r, type_kind to, ir_value *v) {
    static const struct { type_kind kind; const char *op, *magic; } casts[] = {
        {T_INT, "aten::Int", "__int__"},
        {T_FLOAT, "aten::Float", "__float__"},
        {T_BOOL, "aten::Bool", "__bool__"},
        {T_STR, "aten::str", "__str__"},
        {T_COMPLEX, "aten::Complex", "__complex__"},
    };
    type_kind from = v->type->kind;
    if (from == to) return v;
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
        if (casts[i].kind != to) continue;
        if (from == T_CLASS) return irgen_method(e, r, v, casts[i].magic, 0, NULL);
        if (to == T_BOOL &&
            (from == T_LIST || from == T_STR || from == T_DICT || from == T_TUPLE)) {
            ir_value *zero = irgen_hidden_int(e, 0); /* containers are true unless empty */
            ir_value *n = from == T_TUPLE ? irgen_hidden_int(e, v->type->nelems)
                                          : irgen_builtin_values(e, r, "aten::len", 1, &v);
            ir_value *args[] = {n, zero};
            return n ? irgen_builtin_values(e, r, "aten::gt", 2, args) : NULL;
        }
        return irgen_builtin_values(e, r, casts[i].op, 1, &v);
    }
    return NULL;
}

static type_kind special_cast_kind(int form) {
    switch (form) {
    case SPECIAL_INT: return T_INT;
    case SPECIAL_FLOAT: return T_FLOAT;
    case SPECIAL_BOOL: return T_BOOL;
    case SPECIAL_STR: return T_STR;
    default: return T_COMPLEX;
    }
}

/* Calls a helper function; ints are good for its floats, as in Python's math. */
static ir_value *special_helper(emitter *e, source_range r, const char *name, int n, actual *args) {
    function *f = builtin_helper(e->unit, e->diag, name);
    if (!f) return NULL;
    for (int i = 0; i < n; i++) {
        int at = args[i].name ? schema_find_arg(f->schema, args[i].name) : i;
        type_kind have = args[i].value->type->kind;
        bool number = have == T_INT || have == T_NUMBER || have == T_TENSOR;
        if (at < 0 || at >= f->schema->nargs || f->schema->args[at].type->kind != T_FLOAT ||
            !number)
            continue;
        if (!(args[i].value = irgen_cast(e, args[i].range, T_FLOAT, args[i].value))) return NULL;
    }
    return irgen_function_call(e, r, f, n, args);
}

static ir_value *special_cast(emitter *e, const expr *x, int form) {
    type_kind to = special_cast_kind(form);
    actual *a;
    int n;
    if (!irgen_arguments(e, x, 0, &a, &n)) return NULL;
    source_range r = x->a->range;
    e->g->range = r;
    if (n == 0) { /* Python's int() is 0 */
        if (to == T_STR) return graph_constant_str(e->g, "", 0);
        if (to == T_COMPLEX)
            return irgen_fail(e, r, "complex() without arguments is not supported");
        return irgen_constant_take(e,
                                   to == T_INT    ? value_int(0)
                                   : to == T_BOOL ? value_bool(false)
                                                  : value_float(0),
                                   NULL);
    }
    if (n == 1 && !a[0].name) return irgen_cast(e, r, to, a[0].value);
    if (n == 2 && to == T_INT && a[0].value->type->kind == T_STR) {
        a[1].name = NULL; /* base= */
        return special_helper(e, r, "parse_int", n, a);
    }
    if (to == T_COMPLEX) {
        for (int i = 0; i < n; i++) a[i].name = NULL; /* real=, imag= */
        return irgen_builtin(e, r, "aten::Complex", n, a);
    }
    return irgen_fail(e, r, "a cast takes one argument");
}

/* ---- forms about types ----------------------------------------------------------------------- */

/* What an archive says of a value's type is not believed but checked (ir/graph/graph.h). */
static ir_value *special_node(emitter *e, node_kind kind, ir_value *in, type *t) {
    node *n = graph_insert(e->g, node_new(e->g, kind, in != NULL, &in, 1));
    n->outputs.data[0]->type = t;
    n->doubtful = !in || !type_is_subtype(in->type, t);
    return n->outputs.data[0];
}

/* annotate(T, v): v with the conversions towards T. None becomes a None that knows its type. */
static ir_value *special_annotate(emitter *e, const expr *x, type *t, ir_value *v) {
    v = match_convert(e, x->range, t, v, true);
    if (!v) return NULL;
    if (v->type->kind == T_NONE && t->kind == T_OPTIONAL) {
        ir_value *none = graph_constant_none(e->g);
        if (none) none->type = t;
        return none;
    }
    if (type_is_subtype(v->type, t)) return v;
    strbuf a = STRBUF_INIT, b = STRBUF_INIT;
    type_print_python(t, &a);
    type_print_python(v->type, &b);
    irgen_fail(e, x->range, "expected an expression of type %s but found %s", sb_str(&a),
               sb_str(&b));
    sb_free(&a);
    sb_free(&b);
    return NULL;
}

static ir_value *special_typed(emitter *e, const expr *x, int form) {
    type *t = NULL;
    size_t want = form == SPECIAL_UNINITIALIZED ? 1 : 2;
    if (x->items.len + x->kwargs.len != want || !x->items.len)
        return irgen_fail(e, x->range, "expected %zu arguments: a type%s", want,
                          want == 2 ? " and a value" : "");
    if (irgen_annotation(e, x->items.data[0], &t) != CTSC_OK) return NULL;
    if (form == SPECIAL_UNINITIALIZED) return special_node(e, N_UNINITIALIZED, NULL, t);
    ir_value *v = irgen_expr(e, x->items.len == 2 ? x->items.data[1] : x->kwargs.data[0].value, t);
    if (!v) return NULL;
    e->g->range = x->range;
    if (form == SPECIAL_ANNOTATE) return special_annotate(e, x, t, v);
    if (form == SPECIAL_CAST_TYPE && type_is_subtype(v->type, t)) return v;
    /* archives have them already */
    if (v->def && v->def->kind == N_UNCHECKED_CAST && v->type == t) return v;
    return special_node(e, N_UNCHECKED_CAST, v, t);
}

/* x.tolist() is typed by what is expected of it. */
static ir_value *special_tolist(emitter *e, source_range r, ir_value *self, type *hint) {
    if (!hint) return irgen_fail(e, r, "Expected type hint for result of tolist()");
    type *base = hint;
    int dims = 0;
    while (base->kind == T_LIST) base = type_elem(base), dims++;
    if (base->kind != T_INT && base->kind != T_FLOAT && base->kind != T_BOOL &&
        base->kind != T_COMPLEX)
        return irgen_fail(e, r,
                          "Only bool, int, float and complex are supported as the elements of a "
                          "list made by tolist()");
    ir_value *v = special_node(e, N_TOLIST, self, hint);
    node_set_int(v->def, "dim", dims);
    return v;
}

/* x.float(), x.long(), ...: aten::to with a dtype */
static ir_value *special_tensor_cast(emitter *e, const expr *x, const sugar *s) {
    const ctsc_dtype_info *to = dtype_of_method(s->name);
    source_range r = x->a->range;
    if (x->items.len || x->kwargs.len)
        return irgen_fail(e, r, "Tensor.%s() takes no arguments here", s->name);
    e->g->range = r;
    actual args[] = {{NULL, s->value, r, true},
                     {"dtype", irgen_constant_take(e, value_int(to->dtype), NULL), r}};
    return irgen_builtin(e, r, "aten::to", 2, args);
}

/* ---- attributes by name ---------------------------------------------------------------------- */

static const char *special_attribute_name(emitter *e, const expr *x, const char *form, size_t max) {
    const char *known;
    bool fits = x->items.len >= 2 && x->items.len <= max && !x->kwargs.len;
    if (fits && x->items.data[1]->kind != E_STR && e->lenient && e->scope &&
        e->scope->ops->static_text(e, x->items.data[1], &known))
        return intern(&e->unit->names, known);
    if (!fits || x->items.data[1]->kind != E_STR) {
        irgen_fail(e, x->range, "%s's second argument must be a string literal", form);
        return NULL;
    }
    return intern(&e->unit->names, x->items.data[1]->s);
}

static sugar *special_getattr(emitter *e, const expr *x, type *hint) {
    const char *name = special_attribute_name(e, x, "getattr", 3);
    sugar *obj = name ? irgen_sugar(e, x->items.data[0], NULL) : NULL;
    if (!obj) return NULL;
    if (x->items.len == 3 && !irgen_has_attribute(e, obj, name))
        return irgen_failed(e) ? NULL : irgen_sugar(e, x->items.data[2], hint);
    return irgen_attribute(e, x->range, obj, name);
}

static ir_value *special_hasattr(emitter *e, const expr *x) {
    const char *name = special_attribute_name(e, x, "hasattr", 2);
    sugar *obj = name ? irgen_sugar(e, x->items.data[0], NULL) : NULL;
    if (!obj) return NULL;
    bool has = irgen_has_attribute(e, obj, name);
    e->g->range = x->range;
    return irgen_failed(e) ? NULL : graph_constant_bool(e->g, has);
}

/* ---- sequences ------------------------------------------------------------------------------- */

/* i: which argument of range it is. */
static bool special_int(emitter *e, source_range r, int i, actual *a) {
    type *given = a->value->type;
    if (given->kind == T_INT) return true;
    a->value = match_convert(e, r, TYPE_INT, a->value, true);
    if (a->value && a->value->type->kind == T_INT) return true;
    strbuf name = STRBUF_INIT;
    type_print_python(given, &name);
    irgen_fail(e, a->range, "all inputs of range must be ints, found %s in argument %d",
               sb_str(&name), i);
    sb_free(&name);
    return false;
}

static sugar *special_range(emitter *e, const expr *x) {
    actual *a;
    int n;
    if (!irgen_arguments(e, x, 0, &a, &n)) return NULL;
    if (n < 1 || n > 3 || x->kwargs.len) {
        irgen_fail(e, x->range,
                   n < 1 ? "range expected at least 1 arguments, got 0"
                         : "range expected at most 3 arguments, got %d",
                   n);
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        int64_t known;
        if (!special_int(e, x->range, i, &a[i])) return NULL;
        /* n = len(self.layers) */
        if (e->lenient && irgen_known_int(e, a[i].value, 0, &known))
            a[i].value = graph_constant_int(e->g, known);
    }
    sugar *s = sugar_new(e, SUGAR_RANGE);
    if (n == 1) {
        s->length = a[0].value;
        return s;
    }
    e->g->range = x->range;
    s->start = a[0].value;
    s->step = n == 3 ? a[2].value : graph_constant_int(e->g, 1);
    s->length = a[1].value;
    return s;
}

/* zip(a, b), enumerate(a, start), reversed(a): sugars that for and comprehensions step through */
static sugar *special_iterable(emitter *e, const expr *x, int form) {
    const char *name = form == SPECIAL_ZIP         ? "zip"
                       : form == SPECIAL_ENUMERATE ? "enumerate"
                                                   : "reversed";
    sugar *s = sugar_new(e, form == SPECIAL_ZIP         ? SUGAR_ZIP
                            : form == SPECIAL_ENUMERATE ? SUGAR_ENUMERATE
                                                        : SUGAR_REVERSED);
    size_t n = x->items.len, max = form == SPECIAL_ZIP         ? SIZE_MAX
                                   : form == SPECIAL_ENUMERATE ? 2
                                                               : 1;
    if (n < 1 || n > max) {
        irgen_fail(e, x->range, "%s expected at %s %d arguments, got %zu", name,
                   n < 1 ? "least" : "most", n < 1 ? 1 : (int)max, n);
        return NULL;
    }
    size_t count = form == SPECIAL_ZIP ? n : 1;
    const expr *start = form == SPECIAL_ENUMERATE && n == 2 ? x->items.data[1] : NULL;
    for (size_t i = 0; i < x->kwargs.len; i++) {
        const keyword *k = &x->kwargs.data[i];
        if (form != SPECIAL_ENUMERATE || start || !k->name || strcmp(k->name, "start")) {
            irgen_fail(e, k->range, "%s has no such keyword argument", name);
            return NULL;
        }
        start = k->value;
    }
    s->items = arena_array(e->scratch, sugar *, count);
    if (!s->items) return diag_no_memory(e->diag), NULL;
    for (size_t i = 0; i < count; i++)
        if (!(s->items[i] = irgen_sugar(e, x->items.data[i], NULL))) return NULL;
    s->nitems = (int)count;
    if (start && !(s->start = irgen_expr(e, start, NULL))) return NULL;
    return s;
}

static sugar *special_slice(emitter *e, const expr *x) {
    ir_value *v[3] = {NULL};
    size_t n = x->items.len;
    if (n < 1 || n > 3 || x->kwargs.len) {
        irgen_fail(e, x->range, "slice expected 1 to 3 arguments, got %zu", n);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        if (!(v[i] = irgen_expr(e, x->items.data[i], NULL))) return NULL;
    sugar *s = sugar_new(e, SUGAR_SLICE);
    s->start = n > 1 ? v[0] : NULL;
    s->length = n > 1 ? v[1] : v[0];
    s->step = v[2];
    if (s->step && s->step->type->kind == T_NONE) s->step = NULL;
    return s;
}

static expr *special_expr(emitter *e, expr_kind kind, source_range r) {
    expr *x = arena_new(e->scratch, expr);
    x->kind = kind;
    x->range = r;
    return x;
}

static expr *special_variable(emitter *e, source_range r, const char *name) {
    expr *x = special_expr(e, E_NAME, r);
    x->name = name;
    return x;
}

/* list(x) is [elem for elem in x]; dict(x) is {key: item for key, item in x}. */
static ir_value *special_comprehension(emitter *e, source_range r, sugar *from, bool dict,
                                       type *hint) {
    const char *iter = arena_printf(e->scratch, "$_iter%d", e->comprehensions);
    if (!irgen_set_sugar(e, r, iter, from, NULL)) return NULL;
    expr *c = special_expr(e, dict ? E_DICT_COMP : E_LIST_COMP, r);
    c->b = special_variable(e, r, iter);
    c->a = special_variable(e, r, "$_elem");
    c->target = c->a;
    if (dict) {
        expr *key = special_variable(e, r, "$_key");
        c->target = special_expr(e, E_TUPLE, r);
        avec_push(e->scratch, &c->keys, key);
        avec_push(e->scratch, &c->target->items, key);
        avec_push(e->scratch, &c->target->items, c->a);
    }
    return irgen_failed(e) ? NULL : irgen_comprehension(e, c, hint);
}

ir_value *irgen_list_of(emitter *e, source_range r, sugar *s) {
    return special_comprehension(e, r, s, false, NULL);
}

static ir_value *special_list(emitter *e, const expr *x, type *hint) {
    if (hint && hint->kind == T_OPTIONAL) hint = type_elem(hint);
    if (hint && hint->kind != T_LIST) hint = NULL;
    if (x->kwargs.len || x->items.len > 1)
        return irgen_fail(e, x->range, "list expected at most 1 argument");
    if (!x->items.len)
        return irgen_list(e, x->range, hint ? type_elem(hint) : TYPE_TENSOR, 0, NULL);
    sugar *s = irgen_sugar(e, x->items.data[0], NULL);
    if (!s) return NULL;
    if (s->kind == SUGAR_VALUE && (s->value->type->kind == T_LIST || s->value->type->kind == T_STR))
        return irgen_builtin_values(e, x->range, "aten::list", 1, &s->value);
    return special_comprehension(e, x->range, s, false, hint);
}

static ir_value *special_tuple(emitter *e, const expr *x) {
    ir_value **v = NULL;
    int n = 0;
    if (x->kwargs.len || x->items.len > 1)
        return irgen_fail(e, x->range, "tuple expected at most 1 argument");
    if (!x->items.len) return irgen_tuple(e, x->range, NULL, 0, NULL);
    sugar *s = irgen_sugar(e, x->items.data[0], NULL);
    if (!s) return NULL;
    /* a number known only at run time */
    if (e->lenient && s->kind == SUGAR_VALUE && s->value->type->kind == T_LIST)
        return irgen_builtin_values(e, x->range, "aten::list", 1, &s->value);
    if (e->lenient && s->kind == SUGAR_RANGE) return irgen_list_of(e, x->range, s);
    if (!irgen_spread(e, x->range, s, &v, &n)) return NULL;
    return irgen_tuple(e, x->range, NULL, n, v);
}

/* dict(a=1, b=2): as dict([("a", 1), ("b", 2)]) */
static expr *special_pairs(emitter *e, const expr *x) {
    expr *list = special_expr(e, E_LIST, x->range);
    for (size_t i = 0; i < x->kwargs.len; i++) {
        const keyword *k = &x->kwargs.data[i];
        if (!k->name)
            return irgen_fail(e, k->range, "keyword-arg expansion is not supported"), NULL;
        expr *key = special_expr(e, E_STR, k->range), *pair = special_expr(e, E_TUPLE, k->range);
        key->s = k->name;
        key->slen = strlen(k->name);
        avec_push(e->scratch, &pair->items, key);
        avec_push(e->scratch, &pair->items, k->value);
        avec_push(e->scratch, &list->items, pair);
    }
    return list;
}

static ir_value *special_dict(emitter *e, const expr *x, type *hint) {
    if (hint && hint->kind == T_OPTIONAL) hint = type_elem(hint);
    if (hint && hint->kind != T_DICT) hint = NULL;
    if (x->items.len > 1)
        return irgen_fail(e, x->range, "dict expected at most 1 positional argument");
    const expr *from = x->items.len ? x->items.data[0] : NULL;
    bool empty = from && (from->kind == E_LIST || from->kind == E_DICT || from->kind == E_TUPLE) &&
                 !from->items.len;
    ir_value *d = NULL, *more = NULL;
    if (from && !empty && from->kind == E_DICT_COMP) {
        d = irgen_expr(e, from, hint);
        if (!d) return NULL;
    } else if (from && !empty) {
        sugar *s = irgen_sugar(e, from, from->kind == E_DICT ? hint : NULL);
        if (!s) return NULL;
        bool is_dict = s->kind == SUGAR_VALUE && s->value->type->kind == T_DICT;
        d = is_dict ? irgen_builtin_values(e, x->range, "aten::dict", 1, &s->value)
                    : special_comprehension(e, x->range, s, true, hint);
        if (!d) return NULL;
    }
    if (x->kwargs.len) {
        expr *pairs = special_pairs(e, x);
        sugar *s = pairs ? irgen_sugar(e, pairs, NULL) : NULL;
        more = s ? special_comprehension(e, x->range, s, true, d ? d->type : hint) : NULL;
        if (!more) return NULL;
        if (!d) return more;
        ir_value *args[] = {d, more};
        return irgen_builtin_values(e, x->range, "aten::update", 2, args) ? d : NULL;
    }
    if (d) return d;
    e->g->range = x->range;
    node *n = graph_insert(e->g, node_new(e->g, N_DICT_CONSTRUCT, 0, NULL, 1));
    n->outputs.data[0]->type = hint ? hint : type_dict(TYPE_STR, TYPE_TENSOR);
    return n->outputs.data[0];
}

/* ---- builtins with a rule of their own ------------------------------------------------------- */

/* Elements of one type: operators on lists take such tuples. */
static bool special_is_list_like(const type *t) {
    for (int i = 1; i < t->nelems; i++)
        if (t->elems[i] != t->elems[0]) return false;
    return t->nelems > 0;
}

/* len and the like: classes define them by methods. */
static ir_value *special_magic(emitter *e, const expr *x, const sugar *s) {
    static const struct { op_symbol op; const char *magic; } table[] = {
        {SYM_LEN, "__len__"},     {SYM_HEX, "__hex__"},      {SYM_OCT, "__oct__"},
        {SYM_ROUND, "__round__"}, {SYM_PRIM_ABS, "__abs__"}, {SYM_HASH, "__hash__"},
        {SYM_BIN, "__index__"}};
    source_range r = x->a->range;
    op_symbol op = op_symbol_of(s->name);
    if (x->items.len == 1 && !x->kwargs.len && x->items.data[0]->kind != E_STARRED) {
        sugar *arg = irgen_sugar(e, x->items.data[0], NULL);
        if (!arg) return NULL;
        if (op == SYM_LEN) { /* of a module container: known */
            bool value = arg->kind == SUGAR_VALUE;
            /* containers of modules have one: a call, as in PyTorch */
            bool module = value && arg->value->type->kind == T_CLASS &&
                          arg->value->type->cls->is_module &&
                          (e->lenient || !class_find_method(arg->value->type, "__len__"));
            sugar *items = value && !module ? NULL : irgen_static_elements(e, r, arg);
            e->g->range = r;
            if (items) return graph_constant_int(e->g, items->nitems);
            if (irgen_failed(e)) return NULL;
            if (arg->kind == SUGAR_RANGE) return irgen_range_length(e, r, arg);
            if (value && arg->value->type->kind == T_TUPLE &&
                !special_is_list_like(arg->value->type))
                return graph_constant_int(e->g, arg->value->type->nelems);
        }
        ir_value *v = irgen_as_value(e, x->items.data[0]->range, arg);
        if (!v) return NULL;
        for (size_t i = 0; v->type->kind == T_CLASS && i < sizeof table / sizeof *table; i++)
            if (table[i].op == op) return irgen_method(e, r, v, table[i].magic, 0, NULL);
        return irgen_builtin_values(e, r, s->name, 1, &v);
    }
    actual *a;
    int n;
    return irgen_arguments(e, x, 0, &a, &n) ? irgen_builtin(e, r, s->name, n, a) : NULL;
}

/* round(x, n): a float with n decimals, an int with n < 0 */
static ir_value *special_round(emitter *e, const expr *x, const sugar *s) {
    actual *a;
    int n;
    if (x->items.len + x->kwargs.len == 1) return special_magic(e, x, s);
    if (!irgen_arguments(e, x, 0, &a, &n)) return NULL;
    source_range r = x->a->range;
    type_kind k = n ? a[0].value->type->kind : T_NONE;
    if (n == 2 && (k == T_FLOAT || k == T_INT) && a[1].value->type->kind == T_INT) {
        a[1].name = NULL; /* ndigits= */
        return special_helper(e, r, k == T_INT ? "round_int" : "round_digits", n, a);
    }
    return irgen_builtin(e, r, s->name, n, a);
}

static bool special_same_numbers(int n, const actual *a) {
    type_kind k = a[0].value->type->kind;
    for (int i = 1; i < n; i++)
        if (a[i].value->type->kind != k) return false;
    return k == T_INT || k == T_FLOAT || k == T_BOOL;
}

/* min and max: also of more than two values, as a list, or taken two at a time */
static ir_value *special_minmax(emitter *e, const expr *x, const sugar *s) {
    actual *a;
    int n;
    if (!irgen_arguments(e, x, 0, &a, &n)) return NULL;
    source_range r = x->a->range;
    if (n == 1 && !a[0].name && a[0].value->type->kind == T_TUPLE) {
        ir_value **parts;
        if (!irgen_unpack(e, r, a[0].value, 0, &parts, &n)) return NULL;
        a = arena_array(e->scratch, actual, n + 1);
        if (!a) return diag_no_memory(e->diag), NULL;
        for (int i = 0; i < n; i++) a[i] = (actual){NULL, parts[i], r};
        if (n == 1) return a[0].value;
    }
    for (int i = 0; i < n; i++)
        if (a[i].name) return irgen_builtin(e, r, s->name, n, a);
    if (n < 3) return irgen_builtin(e, r, s->name, n, a);
    if (special_same_numbers(n, a)) {
        ir_value **v = arena_array(e->scratch, ir_value *, n), *l;
        for (int i = 0; v && i < n; i++) v[i] = a[i].value;
        if (!v) return diag_no_memory(e->diag), NULL;
        l = irgen_list(e, r, v[0]->type, n, v);
        return l ? irgen_builtin_values(e, r, s->name, 1, &l) : NULL;
    }
    ir_value *best = a[0].value;
    for (int i = 1; i < n && best; i++) {
        ir_value *two[] = {best, a[i].value};
        best = irgen_builtin_values(e, r, s->name, 2, two);
    }
    return best;
}

/* sum(lists, []): [item for part in lists for item in part] */
static ir_value *special_sum_lists(emitter *e, source_range r, const actual *lists,
                                   ir_value *start) {
    const char *name = arena_printf(e->scratch, "$_lists%d", e->comprehensions);
    expr *c = special_expr(e, E_LIST_COMP, r), *inner = special_expr(e, E_LIST_COMP, r);
    if (!irgen_set_value(e, r, name, lists->value)) return NULL;
    c->a = inner->target = special_variable(e, r, "$_item");
    c->target = inner->b = special_variable(e, r, "$_part");
    c->b = special_variable(e, r, name);
    c->c = inner;
    if (irgen_failed(e)) return NULL;
    ir_value *all = irgen_comprehension(e, c, type_elem(lists->value->type));
    value v;
    bool empty = start->def && start->def->kind == N_LIST_CONSTRUCT && !start->def->inputs.len;
    if (!all || empty || (ir_value_constant(start, &v) && v.tag == V_LIST && !v.u.list->len))
        return all;
    return irgen_binary_values(e, r, O_ADD, start, all);
}

/* sum(list, start) */
static ir_value *special_sum(emitter *e, const expr *x, const sugar *s) {
    actual *a;
    int n;
    if (!irgen_arguments(e, x, 0, &a, &n)) return NULL;
    source_range r = x->a->range;
    bool list = n && a[0].value->type->kind == T_LIST;
    bool start = n == 2 && list && (!a[1].name || !strcmp(a[1].name, "start"));
    if (start && type_elem(a[0].value->type)->kind == T_LIST && a[1].value->type->kind == T_LIST)
        return special_sum_lists(e, r, a, a[1].value);
    ir_value *v = irgen_builtin(e, r, s->name, start ? 1 : n, a);
    return v && start ? irgen_binary_values(e, r, O_ADD, a[1].value, v) : v;
}

/* sorted(list, reverse=True) has no operator: a sorted copy is reversed by aten::sort. */
static ir_value *special_sorted(emitter *e, const expr *x, const sugar *s) {
    actual *a;
    int n;
    if (!irgen_arguments(e, x, 0, &a, &n)) return NULL;
    source_range r = x->a->range;
    if (n != 2 || !a[1].name || strcmp(a[1].name, "reverse"))
        return irgen_builtin(e, r, s->name, n, a);
    ir_value *copy = irgen_builtin(e, r, s->name, 1, a);
    if (!copy) return NULL;
    actual sort[] = {{NULL, copy, r, true}, a[1]};
    return irgen_builtin(e, r, "aten::sort", 2, sort) ? copy : NULL;
}

static ir_value *special_print(emitter *e, const expr *x) {
    actual *a;
    int n;
    if (x->kwargs.len)
        return irgen_fail(e, x->a->range, "print doesn't accept any keyword arguments");
    if (!irgen_arguments(e, x, 0, &a, &n)) return NULL;
    e->g->range = x->a->range;
    node *nd = node_new(e->g, N_PRINT, 0, NULL, 0);
    for (int i = 0; i < n; i++) node_add_input(nd, a[i].value);
    graph_insert(e->g, nd);
    return graph_constant_none(e->g);
}

/* torch.device("cuda", 1) and torch.device(type=, index=): a text while compiling */
static ir_value *special_device(emitter *e, const expr *x) {
    actual *a;
    int n;
    if (!irgen_arguments(e, x, 0, &a, &n)) return NULL;
    source_range r = x->a->range;
    value type = value_none(), index = value_none();
    if (n == 2 && ir_value_constant(a[0].value, &type) && type.tag == V_STR &&
        ir_value_constant(a[1].value, &index) && index.tag == V_INT) {
        const char *text = arena_printf(e->scratch, "%s:%lld", type.u.str->bytes,
                                        (long long)index.u.i);
        e->g->range = r;
        a[0] = (actual){NULL, graph_constant_str(e->g, text, strlen(text)), r};
        n = 1;
    } else if (n == 1 && a[0].value->type->kind == T_DEVICE) {
        return a[0].value;
    }
    return irgen_builtin(e, r, "aten::device", n, a);
}

/* torch.FloatTensor([1, 2]): a tensor of these elements; torch.FloatTensor(2, 3): an uninitialised
 * one of that size, as PyTorch's compiler has it. */
static ir_value *special_typed_tensor(emitter *e, const expr *x, const sugar *s) {
    int n;
    actual *a;
    if (!irgen_arguments(e, x, 0, &a, &n)) return NULL;
    source_range r = x->a->range;
    e->g->range = r;
    int64_t dtype = dtype_named(s->name)->dtype; /* irgen_builtin.c: names of dtypes */
    actual args[2] = {a ? *a : (actual){0}, {"dtype", graph_constant_int(e->g, dtype), r}};
    if (n == 1 && a[0].value->type->kind != T_INT)
        return irgen_builtin(e, r, "aten::tensor", 2, args);
    ir_value **sizes = arena_array(e->scratch, ir_value *, n + 1);
    if (!sizes) return diag_no_memory(e->diag), NULL;
    for (int i = 0; i < n; i++) {
        if (a[i].name || a[i].value->type->kind != T_INT)
            return irgen_fail(e, a[i].range, "a list of elements or sizes are expected");
        sizes[i] = a[i].value;
    }
    if (!n) sizes[n++] = graph_constant_int(e->g, 0);
    args[0] = (actual){NULL, irgen_list(e, r, TYPE_INT, n, sizes), r};
    return irgen_builtin(e, r, "aten::empty", 2, args);
}

/* warnings.warn(message, category, stacklevel): the category is a class, which no operator takes */
static ir_value *special_warn(emitter *e, const expr *x) {
    if (!x->items.len) return irgen_fail(e, x->range, "warn expects a message");
    ir_value *message = irgen_expr(e, x->items.data[0], NULL);
    if (!message) return NULL;
    source_range r = x->a->range;
    actual args[2] = {{NULL, message, r}, {0}};
    int n = 1;
    for (size_t i = 0; i < x->kwargs.len; i++)
        if (x->kwargs.data[i].name && !strcmp(x->kwargs.data[i].name, "stacklevel")) {
            args[n] = (actual){"stacklevel", irgen_expr(e, x->kwargs.data[i].value, NULL), r};
            if (!args[n++].value) return NULL;
            break;
        }
    return irgen_builtin(e, r, "aten::warn", n, args);
}

static ir_value *special_fork(emitter *e, const expr *x) {
    if (x->items.len < 1)
        return irgen_fail(e, x->range, "Expected at least one argument to fork()");
    sugar *s = irgen_sugar(e, x->items.data[0], NULL);
    actual *args;
    int n;
    if (!s) return NULL;
    if (s->kind == SUGAR_CLOSURE) return irgen_fork(e, s->def, x->range);
    return irgen_arguments(e, x, 1, &args, &n) ? irgen_fork_call(e, x->range, s, n, args) : NULL;
}

/* x.__getitem__(i) on a tensor */
static ir_value *special_getitem(emitter *e, const expr *x) {
    expr *sub = special_expr(e, E_SUBSCRIPT, x->range);
    sub->a = x->a->a;
    sub->items = x->items;
    return irgen_subscript(e, sub, NULL);
}

static ir_value *special_called_helper(emitter *e, const expr *x, const sugar *s) {
    actual *a;
    int n;
    return irgen_arguments(e, x, 0, &a, &n) ? special_helper(e, x->a->range, s->name, n, a) : NULL;
}

sugar *irgen_special_call(emitter *e, const expr *x, const sugar *s, type *hint) {
    ir_value *v = NULL;
    switch (s->special) {
    case SPECIAL_ANNOTATE:
    case SPECIAL_CAST_TYPE:
    case SPECIAL_UNCHECKED_CAST:
    case SPECIAL_UNINITIALIZED: v = special_typed(e, x, s->special); break;
    case SPECIAL_ISINSTANCE: v = irgen_isinstance(e, x); break;
    case SPECIAL_GETATTR: return special_getattr(e, x, hint);
    case SPECIAL_HASATTR: v = special_hasattr(e, x); break;
    case SPECIAL_PRINT: v = special_print(e, x); break;
    case SPECIAL_FORK: v = special_fork(e, x); break;
    case SPECIAL_RANGE: return special_range(e, x);
    case SPECIAL_ENUMERATE:
    case SPECIAL_ZIP:
    case SPECIAL_REVERSED: return special_iterable(e, x, s->special);
    case SPECIAL_SLICE: return special_slice(e, x);
    case SPECIAL_MAP:
    case SPECIAL_FILTER: return irgen_map(e, x, s->special == SPECIAL_FILTER);
    case SPECIAL_LIST: v = special_list(e, x, hint); break;
    case SPECIAL_TUPLE: v = special_tuple(e, x); break;
    case SPECIAL_DICT: v = special_dict(e, x, hint); break;
    case SPECIAL_TENSOR_CAST: v = special_tensor_cast(e, x, s); break;
    case SPECIAL_TOLIST: v = special_tolist(e, x->a->range, s->value, hint); break;
    case SPECIAL_TENSOR_GETITEM: v = special_getitem(e, x); break;
    case SPECIAL_MAGIC: v = special_magic(e, x, s); break;
    case SPECIAL_HELPER: v = special_called_helper(e, x, s); break;
    case SPECIAL_ROUND: v = special_round(e, x, s); break;
    case SPECIAL_SUM: v = special_sum(e, x, s); break;
    case SPECIAL_MINMAX: v = special_minmax(e, x, s); break;
    case SPECIAL_SORTED: v = special_sorted(e, x, s); break;
    case SPECIAL_DEVICE: v = special_device(e, x); break;
    case SPECIAL_WARN: v = special_warn(e, x); break;
    case SPECIAL_TYPED_TENSOR: v = special_typed_tensor(e, x, s); break;
    case SPECIAL_TRUE:
    case SPECIAL_FALSE:
        e->g->range = x->range;
        v = graph_constant_bool(e->g, s->special == SPECIAL_TRUE);
        break;
    case SPECIAL_IDENTITY:
        if (x->items.len == 1) return irgen_sugar(e, x->items.data[0], hint);
        irgen_fail(e, x->range, "one argument is expected");
        return NULL;
    default: v = special_cast(e, x, s->special); break;
    }
    return sugar_of_value(e, v);
}

sugar *irgen_tensor_method(emitter *e, ir_value *self, const char *name) {
    int form = !strcmp(name, "tolist")        ? SPECIAL_TOLIST
               : !strcmp(name, "__getitem__") ? SPECIAL_TENSOR_GETITEM
               : dtype_of_method(name)        ? SPECIAL_TENSOR_CAST
                                              : SPECIAL_NONE;
    if (form == SPECIAL_NONE) return NULL;
    sugar *s = sugar_new(e, SUGAR_SPECIAL);
    s->special = form;
    s->name = name;
    s->value = self;
    return s;
}
