/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_types.c - Python's types and annotations as types of the IR, types inferred from objects.
 *
 * Method: an annotation is read as an expression, not evaluated: names in it are looked
 * up, constructors (List[...]) are applied to the types of their arguments. So a
 * forward reference resolves anywhere, and a message points at the part that is wrong.
 * Aliases (Pair = Tuple[int, int]) are objects of the evaluator and are read as such.
 *
 * Tests: tests/lang
 */
#include "frontend/program/source.h"

enum { TYPES_MAX_DEPTH = 60, TYPES_MAX_ARGS = 256 };

/* ---- constructors ---------------------------------------------------------------------------- */

typedef enum types_constructor {
    TYPES_NONE,
    TYPES_LIST,
    TYPES_DICT,
    TYPES_TUPLE,
    TYPES_OPTIONAL,
    TYPES_UNION,
    TYPES_FUTURE,
    TYPES_RREF,
    TYPES_SAME,
} types_constructor;

static const struct types_row {
    const char *name;
    types_constructor constructor;
    int nargs; /* -1: any number */
    /* in PyTorch's message for its use without parameters; NULL: there is none */
    const char *example;
} types_constructors[] = {
    {"List", TYPES_LIST, 1, "List[int]"},
    {"list", TYPES_LIST, 1, "list[int]"},
    {"Dict", TYPES_DICT, 2, "Dict[int, int]"},
    {"dict", TYPES_DICT, 2, "dict[int, int]"},
    {"OrderedDict", TYPES_DICT, 2, NULL},
    {"Tuple", TYPES_TUPLE, -1, "Tuple[int]"},
    {"tuple", TYPES_TUPLE, -1, "tuple[int]"},
    {"Optional", TYPES_OPTIONAL, 1, "Optional[int]"},
    {"Union", TYPES_UNION, -1, NULL},
    {"Future", TYPES_FUTURE, 1, NULL},
    {"RRef", TYPES_RREF, 1, NULL},
    {"Final", TYPES_SAME, 1, NULL},
    {"ClassVar", TYPES_SAME, 1, NULL},
    {"BroadcastingList1", TYPES_LIST, 1, NULL},
    {"BroadcastingList2", TYPES_LIST, 1, NULL},
    {"BroadcastingList3", TYPES_LIST, 1, NULL},
    {"BroadcastingList4", TYPES_LIST, 1, NULL},
    {"BroadcastingList5", TYPES_LIST, 1, NULL},
    {"BroadcastingList6", TYPES_LIST, 1, NULL},
};

/* NULL: no constructor. */
static const struct types_row *types_row_of(const char *name) {
    for (size_t i = 0; i < sizeof types_constructors / sizeof *types_constructors; i++)
        if (!strcmp(types_constructors[i].name, name)) return &types_constructors[i];
    return NULL;
}

#define TYPES_DICT_KEYS                                                                            \
    "Cannot create dict for key type '%s', only int, float, complex, Tensor, device and string "   \
    "keys "                                                                                        \
    "are supported"

static type *types_dict(program *g, source_range r, type *key, type *val) {
    if (type_is_dict_key(key)) return type_dict(key, val);
    strbuf sb = STRBUF_INIT;
    type_print_python(key, &sb);
    source_fail(g, r, TYPES_DICT_KEYS, sb_str(&sb));
    sb_free(&sb);
    return NULL;
}

static type *types_construct(program *g, source_range r, const char *name, int n, type **args) {
    const struct types_row *row = types_row_of(name);
    if (!row) return source_fail(g, r, "Unknown type constructor %s", name);
    if (row->nargs >= 0 && n != row->nargs)
        return source_fail(g, r, "%s expects exactly %d element type%s but got %d", name,
                           row->nargs, row->nargs == 1 ? "" : "s", n);
    switch (row->constructor) {
    case TYPES_LIST: return type_list(args[0]);
    case TYPES_DICT: return types_dict(g, r, args[0], args[1]);
    case TYPES_TUPLE: return type_tuple(n, args);
    case TYPES_OPTIONAL: return type_optional(args[0]);
    case TYPES_UNION:
        return n ? type_union(n, args)
                 : source_fail(g, r, "Union expects at least one element type");
    case TYPES_FUTURE: return type_future(args[0]);
    case TYPES_RREF: return type_rref(args[0]);
    default: return args[0];
    }
}

/* List, Dict, ... without parameters. */
static type *types_bare(program *g, source_range r, const char *name) {
    const struct types_row *row = types_row_of(name);
    if (!row || !row->example) return source_fail(g, r, "Unknown type name '%s'", name);
    return source_fail(
        g, r, "Attempted to use %s without a contained type. Please add a contained type, e.g. %s",
        name, row->example);
}

/* ---- names ----------------------------------------------------------------------------------- */

static type *types_builtin(const char *name) {
    static const struct {
        const char *name;
        type_kind kind;
    } table[] = {
        {"int", T_INT},
        {"float", T_FLOAT},
        {"bool", T_BOOL},
        {"str", T_STR},
        {"complex", T_COMPLEX},
        {"number", T_NUMBER},
        {"NoneType", T_NONE},
        {"Any", T_ANY},
        {"Tensor", T_TENSOR},
        {"Parameter", T_TENSOR},
        {"Buffer", T_TENSOR},
        {"device", T_DEVICE},
        {"dtype", T_INT},
        {"layout", T_INT},
        {"memory_format", T_INT},
        {"qscheme", T_QSCHEME},
        {"FloatTensor", T_TENSOR},
        {"DoubleTensor", T_TENSOR},
        {"HalfTensor", T_TENSOR},
        {"LongTensor", T_TENSOR},
        {"IntTensor", T_TENSOR},
        {"ShortTensor", T_TENSOR},
        {"CharTensor", T_TENSOR},
        {"ByteTensor", T_TENSOR},
        {"BoolTensor", T_TENSOR},
        {"Stream", T_STREAM},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name)) return type_of_kind(table[i].kind);
    return !strcmp(name, "Size") ? type_list(TYPE_INT) : NULL;
}

static type *types_of_object(program *g, py_env *env, source_range r, py_object *o, int depth);
static type *types_of_expr(program *g, py_env *env, const expr *x, int depth);

static type *types_of_class(program *g, source_range r, py_object *o) {
    const py_class *c = o->u.cls;
    if (c->kind == PYC_BUILTIN) {
        type *t = types_builtin(c->name);
        if (!t && c->module && strncmp(c->module->u.mod.name, "typing", 6) &&
            strcmp(c->module->u.mod.name, "builtins"))
            return source_fail(g, r, "Unknown type name '%s.%s'", c->module->u.mod.name, c->name);
        return t ? t : types_bare(g, r, c->name);
    }
    if (c->kind == PYC_MODULE && !c->def)
        return source_fail(g, r, "Unknown type name '%s'", c->name);
    return source_class(g, r, o);
}

static type *types_of_generic(program *g, py_env *env, source_range r, py_object *o, int depth) {
    const char *name = o->u.type.name;
    type *args[TYPES_MAX_ARGS];
    int n = o->u.type.nargs;
    if (n < 0) {
        type *t = types_builtin(name);
        return t ? t : types_bare(g, r, name);
    }
    if (n > TYPES_MAX_ARGS) return source_fail(g, r, "too many parameters of a type");
    if (n == 1 && o->u.type.args[0]->kind == PY_TUPLE && !o->u.type.args[0]->u.seq.items.len)
        n = 0; /* Tuple[()] */
    if (!types_row_of(name)) return source_fail(g, r, "Unknown type constructor %s", name);
    for (int i = 0; i < n; i++)
        if (!(args[i] = types_of_object(g, env, r, o->u.type.args[i], depth + 1))) return NULL;
    return types_construct(g, r, name, n, args);
}

static type *types_of_object(program *g, py_env *env, source_range r, py_object *o, int depth) {
    if (depth > TYPES_MAX_DEPTH) return source_fail(g, r, "types nest too deeply");
    switch (o->kind) {
    case PY_VALUE:
        if (o->u.v.tag == V_NONE) return TYPE_NONE;
        if (o->u.v.tag == V_STR) {
            expr *x = source_parse_text(g, r, o->u.v.u.str->bytes);
            return x ? types_of_expr(g, env, x, depth + 1) : NULL;
        }
        break;
    case PY_ELLIPSIS:
        return source_fail(g, r, "Expression of type dots cannot be used in a type expression");
    case PY_TYPE: return types_of_generic(g, env, r, o, depth);
    case PY_CLASS: return types_of_class(g, r, o);
    default: break;
    }
    return source_fail(g, r, "'%s' object cannot be used as a type", py_type_name(o));
}

type *source_type_of_object(program *g, source_range r, py_object *o) {
    py_env env = {.module = g->main};
    return types_of_object(g, &env, r, o, 0);
}

/* ---- annotations ----------------------------------------------------------------------------- */

/* The object that a name or a dotted name means; NULL without an error: unknown. */
static py_object *types_lookup(program *g, const py_env *env, const expr *x) {
    if (x->kind == E_NAME) return py_lookup(&g->py, env, x->name);
    if (x->kind != E_ATTR) return NULL;
    py_object *base = types_lookup(g, env, x->a);
    return base ? py_find(&g->py, x->range, base, x->name) : NULL;
}

static bool types_dotted(const expr *x, strbuf *out) {
    if (x->kind == E_ATTR) {
        if (!types_dotted(x->a, out)) return false;
        sb_putc(out, '.');
    } else if (x->kind != E_NAME) {
        return false;
    }
    sb_puts(out, x->name);
    return true;
}

static void types_suggest(program *g, const py_env *env, const expr *x) {
    static const char *const known[] = {"Tensor",  "int",  "float", "bool",  "str",
                                        "complex", "List", "Dict",  "Tuple", "Optional",
                                        "Union",   "Any",  "list",  "dict",  "tuple"};
    suggestion s = {.wanted = x->name};
    const expr *root = x;
    while (root->kind == E_ATTR) root = root->a;
    if (root != x && root->kind == E_NAME && !py_lookup(&g->py, env, root->name) &&
        py_suggest_qualified(g->py.diag, env, root->name))
        return;
    const py_object *base = x->kind == E_ATTR ? types_lookup(g, env, x->a) : env->module;
    for (size_t i = 0; x->kind == E_NAME && i < sizeof known / sizeof *known; i++)
        suggest_try(&s, known[i]);
    if (base) py_suggest_members(&s, base);
    suggest_note(g->py.diag, &s);
}

static type *types_unknown(program *g, const py_env *env, const expr *x, const char *what) {
    strbuf sb = STRBUF_INIT;
    types_dotted(x, &sb);
    source_fail(g, suggest_word(x->range, x->name), "Unknown type %s%s%s%s", what,
                *what == 'n' ? " '" : " ", sb_str(&sb), *what == 'n' ? "'" : "");
    sb_free(&sb);
    types_suggest(g, env, x);
    return NULL;
}

static type *types_of_name(program *g, py_env *env, const expr *x, int depth) {
    py_object *o = types_lookup(g, env, x);
    if (g->py.diag->status != CTSC_OK) return NULL;
    if (o && (o->kind == PY_CLASS || o->kind == PY_TYPE || o->kind == PY_VALUE))
        return types_of_object(g, env, x->range, o, depth);
    type *t = !o && x->kind == E_NAME ? types_builtin(x->name)
                                      : NULL; /* type comments know Tensor without an import */
    return t ? t : types_unknown(g, env, x, "name");
}

static const char *types_constructor_name(program *g, py_env *env, const expr *x) {
    py_object *o = types_lookup(g, env, x);
    if (o && o->kind == PY_TYPE && o->u.type.nargs < 0) return o->u.type.name;
    if (o && o->kind == PY_CLASS) return o->u.cls->name;
    return x->kind == E_NAME || x->kind == E_ATTR ? x->name : NULL;
}

static type *types_of_subscript(program *g, py_env *env, const expr *x, int depth) {
    const char *name = types_constructor_name(g, env, x->a);
    if (g->py.diag->status != CTSC_OK) return NULL;
    if (!name) return source_fail(g, x->range, "Subscripted type must be a type identifier");
    if (!types_row_of(name)) return types_unknown(g, env, x->a, "constructor");
    type *args[TYPES_MAX_ARGS];
    size_t n = x->items.len;
    /* Tuple[()] */
    if (n == 1 && x->items.data[0]->kind == E_TUPLE && !x->items.data[0]->items.len) n = 0;
    if (n > TYPES_MAX_ARGS) return source_fail(g, x->range, "too many parameters of a type");
    for (size_t i = 0; i < n; i++)
        if (!(args[i] = types_of_expr(g, env, x->items.data[i], depth + 1))) return NULL;
    return types_construct(g, x->range, name, (int)n, args);
}

static type *types_of_expr(program *g, py_env *env, const expr *x, int depth) {
    if (depth > TYPES_MAX_DEPTH) return source_fail(g, x->range, "types nest too deeply");
    switch (x->kind) {
    case E_NONE: return TYPE_NONE;
    case E_STR: {
        expr *inner = source_parse_text(g, x->range, x->s);
        return inner ? types_of_expr(g, env, inner, depth + 1) : NULL;
    }
    case E_NAME:
    case E_ATTR: return types_of_name(g, env, x, depth);
    case E_SUBSCRIPT: return types_of_subscript(g, env, x, depth);
    case E_BINARY:
        if (x->op == O_OR) { /* int | None */
            type *both[2] = {types_of_expr(g, env, x->a, depth + 1)};
            both[1] = both[0] ? types_of_expr(g, env, x->b, depth + 1) : NULL;
            return both[1] ? type_union(2, both) : NULL;
        }
        break;
    case E_ELLIPSIS:
        return source_fail(g, x->range,
                           "Expression of type dots cannot be used in a type expression");
    default: break;
    }
    return source_fail(g, x->range, "this expression cannot be used in a type expression");
}

type *source_type_of_expr(program *g, py_env *env, const expr *x) {
    if (++g->depth > SOURCE_MAX_DEPTH) {
        g->depth--;
        return source_fail(g, x->range, "types nest too deeply");
    }
    type *t = types_of_expr(g, env, x, 0);
    g->depth--;
    return t;
}

ctsc_status source_annotation(const scope *s, diag *d, const expr *x, type **out) {
    diag *outer = diag_redirect(&s->prog->py.diag, d);
    type *t = source_type_of_expr(s->prog, s->env, x);
    diag_restore(&s->prog->py.diag, outer);
    if (!t)
        return d->status != CTSC_OK ? d->status
                                    : diag_fail_at(d, CTSC_FAILED, x->range, "not a type");
    *out = t;
    return CTSC_OK;
}

expr *source_parse_text(program *g, source_range r, const char *text) {
    unit *u = g->unit;
    expr *x = NULL;
    size_t n = strlen(text);
    source *src = r.src;
    const char *at = src && r.begin <= r.end && r.end <= src->len && n
                         ? strstr(src->text + r.begin, text)
                         : NULL;
    if (at && at + n <= src->text + r.end) { /* errors then point into the file */
        uint32_t begin = (uint32_t)(at - src->text);
        return parse_expression(g->py.diag, &u->arena, &u->names, src, begin, begin + (uint32_t)n,
                                &x) == CTSC_OK
                   ? x
                   : NULL;
    }
    src = source_new("<type>", text, n);
    if (!src || !vec_push(&u->sources, src)) {
        source_unref(src);
        diag_no_memory(g->py.diag);
        return NULL;
    }
    return parse_expression(g->py.diag, &u->arena, &u->names, src, 0, (uint32_t)n, &x) == CTSC_OK
               ? x
               : NULL;
}

bool source_is_final(program *g, py_env *env, const expr *x) {
    if (x->kind == E_STR) {
        diag ignored = {0}, *outer = diag_redirect(&g->py.diag, &ignored);
        const expr *inner = source_parse_text(g, x->range, x->s);
        diag_restore(&g->py.diag, outer);
        diag_clear(&ignored);
        return inner && inner->kind != E_STR && source_is_final(g, env, inner);
    }
    const expr *name = x->kind == E_SUBSCRIPT ? x->a : x;
    py_object *o = types_lookup(g, env, name);
    return o && o->kind == PY_TYPE && !strcmp(o->u.type.name, "Final");
}

/* ---- inference ------------------------------------------------------------------------------- */

static type *types_infer(program *g, py_object *o, strbuf *why, int depth);

static type *types_mismatch(strbuf *why, const char *what, const type *a, const type *b) {
    sb_puts(why, what);
    type_print_python(a, why);
    sb_puts(why, " and ");
    type_print_python(b, why);
    return NULL;
}

static type *types_infer_list(program *g, py_object *o, strbuf *why, int depth) {
    type *elem = NULL;
    if (!o->u.seq.items.len) return sb_puts(why, "List trace inputs must have elements"), NULL;
    for (size_t i = 0; i < o->u.seq.items.len; i++) {
        strbuf inner = STRBUF_INIT;
        type *t = types_infer(g, o->u.seq.items.data[i], &inner, depth + 1);
        if (!t) sb_printf(why, "Could not infer type of list element: %s", sb_str(&inner));
        sb_free(&inner);
        if (!t) return NULL;
        type *both = elem ? type_unify(elem, t, false) : t;
        if (!both)
            return types_mismatch(
                why, "List inputs to traced functions must have consistent element type. Found ",
                elem, t);
        elem = both;
    }
    return type_list(elem);
}

/* Fields of a named tuple that says no types are tensors: an instance that holds something
 * else has no type. */
static type *types_infer_named_tuple(program *g, py_object *o, strbuf *why) {
    type *t = source_class(g, (source_range){0}, o->u.seq.seq_cls);
    if (!t) return NULL;
    value v = {0};
    diag d = {0}, *outer = diag_redirect(&g->py.diag, &d);
    bool fits = source_value(g, (source_range){0}, o, t, &v);
    diag_restore(&g->py.diag, outer);
    if (fits) value_unref(v);
    else if (d.status == CTSC_LIMIT) diag_no_memory(g->py.diag);
    else sb_puts(why, diag_message(&d));
    diag_clear(&d);
    return fits ? t : NULL;
}

static type *types_infer_tuple(program *g, py_object *o, strbuf *why, int depth) {
    if (o->u.seq.seq_cls && !py_is_size(o)) return types_infer_named_tuple(g, o, why);
    type *elems[TYPES_MAX_ARGS];
    size_t n = o->u.seq.items.len;
    if (n > TYPES_MAX_ARGS) return sb_puts(why, "the tuple has too many elements"), NULL;
    for (size_t i = 0; i < n; i++)
        if (!(elems[i] = types_infer(g, o->u.seq.items.data[i], why, depth + 1))) return NULL;
    return type_tuple((int)n, elems);
}

static type *types_infer_dict(program *g, py_object *o, strbuf *why, int depth) {
    type *key = NULL, *val = NULL;
    for (size_t i = 0; i < o->u.dict->entries.len; i++) {
        const py_dict_entry *en = &o->u.dict->entries.data[i];
        if (!en->key) continue;
        type *k = types_infer(g, en->key, why, depth + 1),
             *v = k ? types_infer(g, en->val, why, depth + 1) : NULL;
        if (!v) return NULL;
        type *keys = key ? type_unify(key, k, false) : k,
             *vals = val ? type_unify(val, v, false) : v;
        static const char text[] =
            "Dictionary inputs to traced functions must have consistent type. Found ";
        if (!keys) return types_mismatch(why, text, key, k);
        if (!vals) return types_mismatch(why, text, val, v);
        key = keys;
        val = vals;
    }
    if (!key) return sb_puts(why, "Dictionary inputs must have entries"), NULL;
    if (!type_is_dict_key(key)) {
        strbuf sb = STRBUF_INIT;
        type_print_python(key, &sb);
        sb_printf(why, TYPES_DICT_KEYS, sb_str(&sb));
        sb_free(&sb);
        return NULL;
    }
    return type_dict(key, val);
}

/* PyTorch compiles the class of every object that is an attribute. Here that is done for those that
 * a program cannot do without. */
static bool types_wanted(const program *g, const py_class *c) {
    for (size_t i = 0; i < g->wanted.len; i++)
        if (g->wanted.data[i] == c) return true;
    return false;
}

static bool types_want(program *g, const py_object *o, int depth) {
    if (depth > TYPES_MAX_DEPTH) return true;
    if (o->kind == PY_LIST || o->kind == PY_TUPLE)
        for (size_t i = 0; i < o->u.seq.items.len; i++)
            if (!types_want(g, o->u.seq.items.data[i], depth + 1)) return false;
    if (o->kind == PY_DICT)
        for (size_t i = 0; i < o->u.dict->entries.len; i++)
            if (o->u.dict->entries.data[i].key &&
                !types_want(g, o->u.dict->entries.data[i].val, depth + 1))
                return false;
    const py_class *c = o->kind == PY_INSTANCE ? o->u.inst.cls->u.cls : NULL;
    if (!c || c->kind != PYC_PLAIN || !c->def || types_wanted(g, c)) return true;
    return avec_push(&g->unit->arena, &g->wanted, c) || (diag_no_memory(g->py.diag), false);
}

bool source_want_classes(program *g, const py_object *o) { return types_want(g, o, 0); }

static type *types_infer_instance(program *g, py_object *o, strbuf *why) {
    py_object *cls = o->u.inst.cls;
    const py_class *c = cls->u.cls;
    if (c->kind == PYC_MODULE || c->is_module)
        return sb_puts(why, "Cannot infer concrete type of torch.nn.Module"), NULL;
    if (c->kind == PYC_ENUM) return source_class(g, (source_range){0}, cls);
    if (c->is_script || types_wanted(g, c) || ptrmap_get(&g->classes, c))
        return source_class(g, (source_range){0}, cls);
    return NULL;
}

static type *types_infer(program *g, py_object *o, strbuf *why, int depth) {
    if (depth > TYPES_MAX_DEPTH) return sb_puts(why, "the value nests too deeply"), NULL;
    type *t = NULL;
    switch (o->kind) {
    case PY_VALUE: t = source_archive_type(g, type_without_details(type_of_value(o->u.v))); break;
    case PY_SYMBOL: t = o->u.symbol == PY_MEMORY_FORMAT ? NULL : TYPE_INT; break;
    case PY_LIST: return types_infer_list(g, o, why, depth);
    case PY_TUPLE: return types_infer_tuple(g, o, why, depth);
    case PY_DICT: return types_infer_dict(g, o, why, depth);
    case PY_INSTANCE: t = types_infer_instance(g, o, why); break;
    default: break;
    }
    if (!t && !why->len && g->py.diag->status == CTSC_OK)
        sb_printf(
            why,
            "Only tensors and (possibly nested) tuples of tensors, lists, or dictsare supported as "
            "inputs or outputs of traced functions, but instead got value of type %s.",
            py_type_name(o));
    return t;
}

type *source_infer_type(program *g, py_object *o, strbuf *why) { return types_infer(g, o, why, 0); }
