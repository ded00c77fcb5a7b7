/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_class.c - Python classes as types: script classes, dataclasses, named tuples,
 * enums, interfaces.
 *
 * A script class is entered in the unit before its methods are declared, so that classes may
 * mention each other. Its attributes are what __init__ assigns to self, and known once that is
 * compiled (the emitter makes them). All classes that one declaration drags in are declared first,
 * then their __init__s are compiled, inner ones first.
 * Tests: tests/lang
 */
#include "frontend/program/source.h"

class_source *source_class_of(program *g, const type *t) { return ptrmap_get(&g->class_types, t); }

static source_range class_place(const py_class *c, source_range r) {
    return c->def ? c->def->range : r;
}

/* Enters a class in the program and the unit. */
static class_source *class_enter(program *g, py_object *o, type *t, const char *qualified) {
    class_source *cs = arena_new(&g->unit->arena, class_source);
    cs->cls = o;
    cs->type = t;
    if (!strmap_put(&g->unit->classes, qualified, t) || !ptrmap_put(&g->classes, o->u.cls, cs) ||
        !ptrmap_put(&g->class_types, t, cs) || arena_failed(&g->unit->arena)) {
        diag_no_memory(g->py.diag);
        return NULL;
    }
    return cs;
}

/* ---- enums ----------------------------------------------------------------------------------- */

static py_object *class_member_value(const py_object *member) {
    py_object *v = py_dict_get(member->u.inst.attrs, "value");
    return v ? v : py_dict_get(member->u.inst.attrs, "_value_");
}

/* The members in order; a second name of a member is none. */
static int class_enum_members(const py_object *o, int max, const char **names,
                              py_object **members) {
    const py_dict *attrs = o->u.cls->attrs;
    int n = 0;
    for (size_t i = 0; i < attrs->entries.len; i++) {
        const py_dict_entry *en = &attrs->entries.data[i];
        const char *name = py_as_text(en->key);
        if (!name || en->val->kind != PY_INSTANCE || en->val->u.inst.cls->u.cls != o->u.cls)
            continue;
        bool seen = false;
        for (int k = 0; k < n && k < max; k++) seen |= members[k] == en->val;
        if (seen) continue;
        if (n < max) {
            names[n] = name;
            members[n] = en->val;
        }
        n++;
    }
    return n;
}

static type *class_enum_value_type(program *g, source_range r, int n, py_object **members) {
    type *t = NULL;
    for (int i = 0; i < n; i++) {
        strbuf why = STRBUF_INIT;
        py_object *v = class_member_value(members[i]);
        type *vt = v ? source_infer_type(g, v, &why) : NULL;
        sb_free(&why);
        if (!vt || (vt->kind != T_INT && vt->kind != T_FLOAT && vt->kind != T_STR))
            return source_fail(g, r,
                               "Cannot create Enum with value type 'Any', only int, float and "
                               "string are supported");
        if (t && t != vt) {
            strbuf a = STRBUF_INIT, b = STRBUF_INIT;
            type_print_python(vt, &a);
            type_print_python(t, &b);
            source_fail(
                g, r,
                "Could not unify type list since element %d of type %s did not match the types "
                "before it (%s)",
                i, sb_str(&a), sb_str(&b));
            sb_free(&a);
            sb_free(&b);
            return NULL;
        }
        t = vt;
    }
    return t;
}

static type *class_enum(program *g, source_range r, py_object *o) {
    enum { MAX = 4096 };
    unit *u = g->unit;
    const py_class *c = o->u.cls;
    size_t room = c->attrs->entries.len < MAX ? c->attrs->entries.len : MAX;
    const char **names = arena_array(&u->arena, const char *, room + 1);
    py_object **members = arena_array(&u->arena, py_object *, room + 1);
    if (!names || !members) return diag_no_memory(g->py.diag), NULL;
    int n = class_enum_members(o, (int)room, names, members);
    if (!n) return source_fail(g, class_place(c, r), "No enum values defined for: '%s'", c->name);
    type *vt = class_enum_value_type(g, class_place(c, r), n, members);
    if (!vt) return NULL;
    const char *q = source_qualify(g, c->module, c->name);
    type *t = type_class_new(u, T_ENUM, q);
    t->cls->enum_value_type = vt;
    if (!class_enter(g, o, t, q)) return diag_no_memory(g->py.diag), NULL;
    for (int i = 0; i < n; i++) {
        value v;
        if (!source_value(g, r, class_member_value(members[i]), vt, &v)) return NULL;
        if (!class_add_constant(t, intern(&u->names, names[i]), v, t))
            return diag_no_memory(g->py.diag), NULL;
    }
    return class_add_members(t) ? t : (diag_no_memory(g->py.diag), NULL);
}

/* ---- named tuples ---------------------------------------------------------------------------- */

static bool class_field_default(program *g, source_range r, const py_class *c, size_t i, type *t,
                                value *out) {
    *out = value_uninit();
    if (!c->field_defaults || !c->field_defaults[i]) return true;
    if (!source_value(g, r, c->field_defaults[i], t, out)) return false;
    if (vec_push(&g->defaults, *out)) return true;
    value_unref(*out);
    diag_no_memory(g->py.diag);
    return false;
}

static type *class_named_tuple(program *g, source_range r, py_object *o) {
    enum { MAX = 255 };
    unit *u = g->unit;
    const py_class *c = o->u.cls;
    size_t n = c->fields.len;
    const char *names[MAX];
    type *types[MAX];
    if (n > MAX) return source_fail(g, r, "too many fields");
    value *defaults = arena_array(&u->arena, value, n + 1);
    bool any = false;
    if (!defaults) return diag_no_memory(g->py.diag), NULL;
    for (size_t i = 0; i < n; i++) {
        names[i] = c->fields.data[i];
        types[i] = TYPE_TENSOR;
        if (c->field_types && c->field_types[i] &&
            !(types[i] = source_type_of_expr(g, c->env, c->field_types[i])))
            return NULL;
        if (!class_field_default(g, class_place(c, r), c, i, types[i], &defaults[i])) return NULL;
        any |= defaults[i].tag != V_UNINIT;
    }
    const char *q = source_qualify(g, c->module, c->name);
    type *t = type_named_tuple(u, q, (int)n, names, types);
    if (t->kind != T_TUPLE) return diag_no_memory(g->py.diag), NULL;
    if (any) t->field_defaults = defaults;
    return class_enter(g, o, t, q) ? t : NULL;
}

/* ---- interfaces ------------------------------------------------------------------------------ */

static bool class_interface_body(const func_def *def) {
    for (size_t i = 0; i < def->body.len; i++) {
        const stmt *st = def->body.data[i];
        bool docstring = st->kind == S_EXPR && st->value &&
                         (st->value->kind == E_STR || st->value->kind == E_ELLIPSIS);
        if (st->kind != S_PASS && !docstring) return false;
    }
    return true;
}

static bool class_interface_method(program *g, type *t, py_object *fn) {
    const func_def *def = fn->u.fn->def;
    unit *u = g->unit;
    if (!class_interface_body(def))
        return source_fail(
                   g, def->range,
                   "interfaces declarations should only contain a single 'pass' statement."),
               false;
    function *f = unit_add_function(u, arena_printf(&u->arena, "%s.%s", class_name(t), def->name),
                                    t);
    if (!f) return diag_no_memory(g->py.diag), false;
    f->range = def->name_range;
    if (!source_signature(g, fn, fn->u.fn->closure, t, &f->schema, &f->return_declared))
        return false;
    if (!f->return_declared)
        return source_fail(g, def->range,
                           "interface declarations must have a return type annotated."),
               false;
    return avec_push(&u->arena, &t->cls->methods, f) || (diag_no_memory(g->py.diag), false);
}

static type *class_interface(program *g, py_object *o) {
    const py_class *c = o->u.cls;
    const char *q = source_qualify(g, c->module, c->name);
    type *t = type_class_new(g->unit, T_INTERFACE, q);
    t->cls->is_module = c->is_module;
    if (!class_enter(g, o, t, q)) return NULL;
    for (size_t i = 0; i < c->attrs->entries.len; i++) {
        const py_dict_entry *en = &c->attrs->entries.data[i];
        if (en->key && en->val->kind == PY_FUNCTION && en->val->u.fn->def &&
            !class_interface_method(g, t, en->val))
            return NULL;
    }
    return t;
}

/* ---- script classes -------------------------------------------------------------------------- */

static function *class_add_method(program *g, class_source *cs, py_object *fn, const char *name) {
    unit *u = g->unit;
    const char *q = arena_printf(&u->arena, "%s.%s", class_name(cs->type), name);
    function *f = source_declare(g, fn, q, cs->type, NULL);
    if (!f) return NULL;
    if (!avec_push(&u->arena, &cs->type->cls->methods, f)) return diag_no_memory(g->py.diag), NULL;
    return f;
}

static bool class_property(program *g, class_source *cs, const char *name,
                           const py_object *property) {
    unit *u = g->unit;
    py_object *get = property->u.property.getter, *set = property->u.property.setter;
    if (get && get->kind == PY_FUNCTION &&
        !class_add_method(g, cs, get, arena_printf(&u->arena, "__%s_getter", name)))
        return false;
    return !set || set->kind != PY_FUNCTION ||
           class_add_method(g, cs, set, arena_printf(&u->arena, "__%s_setter", name));
}

/* Static methods are free functions, declared when they are called. */
static bool class_member(program *g, class_source *cs, const char *name, py_object *o) {
    switch (o->kind) {
    case PY_FUNCTION: return source_dropped(o) || !o->u.fn->def || class_add_method(g, cs, o, name);
    case PY_PROPERTY: return class_property(g, cs, name, o);
    default: return true;
    }
}

/* ---- dataclasses ----------------------------------------------------------------------------- */

static bool class_dataclass_option(const py_class *c, const char *option, bool otherwise) {
    for (size_t i = 0; c->def && i < c->def->decorators.len; i++) {
        const expr *x = c->def->decorators.data[i];
        for (size_t k = 0; x->kind == E_CALL && k < x->kwargs.len; k++)
            if (x->kwargs.data[k].name && !strcmp(x->kwargs.data[k].name, option))
                return x->kwargs.data[k].value->kind == E_TRUE;
    }
    return otherwise;
}

/* Parses `text` as one function of the class and declares it as a method. */
static function *class_synthesize(program *g, class_source *cs, const char *name,
                                  const strbuf *text, bool fields) {
    unit *u = g->unit;
    py_class *c = cs->cls->u.cls;
    py_object *fn = source_synthesize(g, "<dataclass>", text, c->module, c->env);
    if (!fn) return NULL;
    func_def *def = (func_def *)fn->u.fn->def; /* made just now */
    def->name_range.src->library = true;       /* nobody has written it */
    fn->u.fn->cls = cs->cls;
    fn->u.fn->defaults = arena_array(&u->arena, py_object *, def->params.len);
    if (!fn->u.fn->defaults) return diag_no_memory(g->py.diag), NULL;
    for (size_t i = 1; fields && i < def->params.len; i++) {
        def->params.data[i].annotation = (expr *)c->field_types[i - 1];
        fn->u.fn->defaults[i] = c->field_defaults ? c->field_defaults[i - 1] : NULL;
    }
    function *f = class_add_method(g, cs, fn, name);
    if (f && !fields && f->schema->nargs == 2) f->schema->args[1].type = cs->type; /* other */
    return f;
}

static function *class_dataclass_init(program *g, class_source *cs) {
    const py_class *c = cs->cls->u.cls;
    strbuf sb = STRBUF_INIT;
    sb_puts(&sb, "def __init__(self");
    for (size_t i = 0; i < c->fields.len; i++) sb_printf(&sb, ", %s", c->fields.data[i]);
    sb_puts(&sb, ") -> None:\n");
    for (size_t i = 0; i < c->fields.len; i++)
        sb_printf(&sb, "    self.%s = %s\n", c->fields.data[i], c->fields.data[i]);
    if (py_dict_get(c->attrs, "__post_init__")) sb_puts(&sb, "    self.__post_init__()\n");
    else if (!c->fields.len) sb_puts(&sb, "    pass\n");
    function *f = class_synthesize(g, cs, "__init__", &sb, true);
    sb_free(&sb);
    return f;
}

/* One comparison, field by field. An Optional field is refined before its values are compared. */
static function *class_dataclass_compare(program *g, class_source *cs, const char *name,
                                         const char *op, bool ordering, bool equal) {
    const py_class *c = cs->cls->u.cls;
    strbuf sb = STRBUF_INIT;
    sb_printf(&sb, "def %s(self, other) -> bool:\n", name);
    for (size_t i = 0; i < c->fields.len; i++) {
        type *t = c->field_types[i] ? source_type_of_expr(g, c->env, c->field_types[i])
                                    : TYPE_TENSOR;
        if (!t) break;
        bool optional = t->kind == T_OPTIONAL;
        const char *in = optional ? "    " : "";
        sb_printf(&sb, "    val1 = self.%s\n    val2 = other.%s\n", c->fields.data[i],
                  c->fields.data[i]);
        if (optional) sb_puts(&sb, "    if val1 is not None and val2 is not None:\n");
        if (ordering)
            sb_printf(&sb,
                      "    %sif val1 %s val2: return True\n    %selif val2 %s val1: return False\n",
                      in, op, in, op);
        else sb_printf(&sb, "    %sif val1 %s val2: return False\n", in, op);
        if (optional) sb_puts(&sb, "    elif (val1 is None) != (val2 is None):\n");
        if (optional && ordering)
            sb_printf(&sb, "        raise TypeError('Cannot compare %s with None')\n", c->name);
        else if (optional) sb_puts(&sb, "        return False\n");
    }
    sb_printf(&sb, "    return %s\n", equal ? "True" : "False");
    function *f = g->py.diag->status == CTSC_OK ? class_synthesize(g, cs, name, &sb, false) : NULL;
    sb_free(&sb);
    return f;
}

static bool class_dataclass(program *g, class_source *cs) {
    static const struct {
        const char *name, *op;
        bool ordering, equal;
    } methods[] = {
        {"__eq__", "!=", false, true}, {"__lt__", "<", true, false}, {"__le__", "<", true, true},
        {"__gt__", ">", true, false},  {"__ge__", ">", true, true},
    };
    const py_class *c = cs->cls->u.cls;
    bool has_init = class_find_method(cs->type, "__init__") != NULL;
    if (!has_init && class_dataclass_option(c, "init", true) && !class_dataclass_init(g, cs))
        return false;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        bool wanted = methods[i].ordering ? class_dataclass_option(c, "order", false)
                                          : class_dataclass_option(c, "eq", true);
        if (!wanted || class_find_method(cs->type, methods[i].name)) continue;
        if (!class_dataclass_compare(g, cs, methods[i].name, methods[i].op, methods[i].ordering,
                                     methods[i].equal))
            return false;
    }
    return true;
}

/* ---- declaring ------------------------------------------------------------------------------- */

/* Classes that are only used, not marked with torch.jit.script, may have bases: what they inherit
 * is declared when it is called. */
function *source_class_method(program *g, class_source *cs, const char *name) {
    if (cs->type->kind != T_CLASS) return NULL;
    function *f = class_find_method(cs->type, name);
    py_object *o = f ? NULL : py_class_find(cs->cls, name);
    return o && o->kind == PY_FUNCTION && o->u.fn->def && !source_dropped(o)
               ? class_add_method(g, cs, o, name)
               : f;
}

static bool class_inherits(const py_class *c) {
    for (size_t i = 1; i < c->mro.len; i++)
        if (strcmp(c->mro.data[i]->u.cls->name, "object")) return true;
    return false;
}

static type *class_plain(program *g, source_range r, py_object *o) {
    const py_class *c = o->u.cls;
    if (c->is_script && class_inherits(c))
        return source_fail(g, class_place(c, r),
                           "TorchScript classes does not support inheritance yet. Please directly "
                           "inherit from 'object'.");
    const char *q = source_qualify(g, c->module, c->name);
    type *t = type_class_new(g->unit, T_CLASS, q);
    class_source *cs = class_enter(g, o, t, q);
    if (!cs) return NULL;
    for (size_t i = 0; i < c->attrs->entries.len; i++) {
        const py_dict_entry *en = &c->attrs->entries.data[i];
        const char *text = py_as_text(en->key);
        if (!text) continue;
        const char *name = intern(&g->unit->names, text);
        /* what the decorator made is made again */
        bool made = c->is_dataclass && en->val->kind != PY_FUNCTION;
        if (!made && !class_member(g, cs, name, en->val)) return NULL;
    }
    if (c->is_dataclass && !class_dataclass(g, cs)) return NULL;
    if (!source_class_method(g, cs, "__init__") && g->py.diag->status != CTSC_OK) return NULL;
    return vec_push(&g->pending, t) ? t : (diag_no_memory(g->py.diag), NULL);
}

/* The attributes of the classes just declared: their __init__s are compiled. */
static bool class_finish(program *g) {
    bool ok = true;
    while (ok && g->finished < g->pending.len) {
        type *t = g->pending.data[g->finished++];
        function *init = class_find_method(t, "__init__");
        ok = !init || init->state == FUNCTION_COMPILING ||
             function_ensure_compiled(init, g->py.diag) == CTSC_OK;
    }
    return ok;
}

static type *class_declare(program *g, source_range r, py_object *o) {
    const py_class *c = o->u.cls;
    if (c->kind == PYC_INTERFACE) return class_interface(g, o);
    if (!c->def && c->kind != PYC_NAMED_TUPLE)
        return source_fail(g, r, "Unknown type name '%s'", c->name);
    switch (c->kind) {
    case PYC_ENUM: return class_enum(g, r, o);
    case PYC_NAMED_TUPLE: return class_named_tuple(g, r, o);
    case PYC_PLAIN: return class_plain(g, r, o);
    default: return source_fail(g, r, "Unknown type name '%s'", c->name);
    }
}

/* A module class as a type: that of the modules made of it. */
static type *class_of_modules(program *g, source_range r, const py_object *o) {
    for (size_t i = 0; i < g->module_types.len; i++)
        if (g->module_types.data[i]->py_class->u.cls == o->u.cls)
            return g->module_types.data[i]->cls;
    return source_fail(g, r, "Unknown type name '%s'", o->u.cls->name);
}

static void class_remember(program *g, class_source *cs) {
    const diag *d = g->py.diag;
    cs->failed = true;
    cs->why = d->status == CTSC_LIMIT ? NULL : arena_strdup(&g->unit->arena, diag_message(d));
    for (size_t i = 0; i < d->items.len; i++)
        if (d->items.data[i].kind == DIAG_ERROR) cs->where = d->items.data[i].range;
}

type *source_class(program *g, source_range r, py_object *o) {
    const py_class *c = o->u.cls;
    if (c->kind == PYC_MODULE) return class_of_modules(g, r, o);
    class_source *cs = ptrmap_get(&g->classes, c);
    if (cs && cs->failed)
        return source_fail(g, cs->where, "%s", cs->why ? cs->why : "the class does not compile");
    if (cs) return cs->type;
    if (g->depth >= SOURCE_MAX_DEPTH) return source_fail(g, r, "declarations nest too deeply");
    g->depth++;
    g->declaring++;
    type *t = class_declare(g, r, o);
    g->declaring--;
    if (t && !g->declaring && !class_finish(g)) t = NULL;
    g->depth--;
    cs = ptrmap_get(&g->classes, c);
    if (!t && cs && g->py.diag->status != CTSC_OK) class_remember(g, cs);
    return t;
}
