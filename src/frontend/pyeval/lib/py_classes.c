/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_classes.c - enum, namedtuple, dataclasses and copy: modules that make or inspect classes
 * and their instances.
 *
 * Method. A dataclass keeps its fields in py_class as named tuples do; its __init__ is a
 * builtin that binds them. A deep copy walks objects with a memo, so that shared parts stay
 * shared and cycles end.
 * Tests: tests/unit/test_py_torch.c
 */
#include "frontend/pyeval/core/py_internal.h"
#include "frontend/pyeval/lib/py_lib.h"

/* ---- enum ------------------------------------------------------------------------------------ */

static py_object *classes_identity(PY_ARGS) {
    py_object *a[1];
    (void)self;
    return py_bind(p, r, "unique", "enumeration", PY_GIVEN, a) ? a[0] : NULL;
}

static const py_row classes_enum_rows[] = {{"enum.unique", classes_identity}, {NULL, NULL}};

static bool classes_fill_enum(py *p, py_object *mod) {
    static const char *const derived[] = {"IntEnum", "StrEnum"};
    py_object *base = py_class_new(p, mod, "Enum", 0, NULL, PYC_ENUM);
    if (!base || !py_class_new(p, mod, "auto", 0, NULL, PYC_PLAIN)) return false;
    if (!py_class_new(p, mod, "EnumMeta", 0, NULL, PYC_PLAIN) ||
        !py_class_new(p, mod, "EnumType", 0, NULL, PYC_PLAIN))
        return false;
    for (size_t i = 0; i < sizeof derived / sizeof *derived; i++)
        if (!py_class_new(p, mod, derived[i], 1, &base, PYC_ENUM)) return false;
    return py_add_rows(p, mod, classes_enum_rows);
}

/* ---- collections.namedtuple ------------------------------------------------------------------ */

static bool classes_add_field(py *p, source_range r, py_class *c, const char *name, size_t len) {
    const char *field = intern_n(p->names, name, len);
    if (!len || field[0] == '_' || (field[0] >= '0' && field[0] <= '9'))
        return py_fail(p, r, "ValueError",
                       "Type names and field names must be valid identifiers: '%s'", field),
               false;
    for (size_t i = 0; i < c->fields.len; i++)
        if (!strcmp(c->fields.data[i], field))
            return py_fail(p, r, "ValueError", "Encountered duplicate field name: '%s'", field),
                   false;
    return avec_push(p->a, &c->fields, field) || (diag_no_memory(p->diag), false);
}

/* Names in one string, separated by commas or spaces, or a sequence of strings. */
static bool classes_fields(py *p, source_range r, py_class *c, py_object *given) {
    const char *text = py_as_text(given);
    if (text) {
        while (*text) {
            size_t gap = strspn(text, ", \t\n"), len = strcspn(text + gap, ", \t\n");
            if (len && !classes_add_field(p, r, c, text + gap, len)) return false;
            text += gap + len;
        }
        return true;
    }
    py_object **items;
    int n;
    if (!py_iterate(p, r, given, &items, &n)) return false;
    for (int i = 0; i < n; i++) {
        const char *name = py_as_text(items[i]);
        if (!name)
            return py_fail(p, r, "TypeError", "a field name must be a string, not %s",
                           py_type_name(items[i])),
                   false;
        if (!classes_add_field(p, r, c, name, strlen(name))) return false;
    }
    return true;
}

/* The module whose text has the range: a class made by a call belongs to it. */
static const char *classes_caller(const py *p, source_range r) {
    for (size_t i = 0; r.src && i < p->modules.cap; i++) {
        const py_object *mod = p->modules.slots[i].key ? p->modules.slots[i].value : NULL;
        if (mod && mod->u.mod.src == r.src) return mod->u.mod.name;
    }
    return "__main__";
}

py_object *py_tuple_class(py *p, py_object *mod, const char *name) {
    return py_class_new(p, mod, name, 0, NULL, PYC_NAMED_TUPLE);
}

static py_object *classes_named_tuple_class(py *p, source_range r, const char *name) {
    py_object *mod = py_new(p, PY_MODULE);
    mod->u.mod.name = classes_caller(p, r);
    mod->u.mod.globals = py_dict_new(p);
    return py_tuple_class(p, mod, intern(p->names, name));
}

static bool classes_make_room(py *p, py_class *c, size_t fields) {
    c->field_defaults = arena_array(p->a, py_object *, fields + 1);
    c->field_types = arena_array(p->a, const expr *, fields + 1);
    if (c->field_defaults && c->field_types) return true;
    diag_no_memory(p->diag);
    return false;
}

static py_object *classes_namedtuple(PY_ARGS) {
    py_object *a[5], **defaults = NULL;
    (void)self;
    int n = 0;
    if (!py_bind(p, r, "namedtuple", "typename field_names rename? defaults? module?", PY_GIVEN, a))
        return NULL;
    const char *name = py_as_text(a[0]);
    if (!name) return py_fail(p, r, "TypeError", "namedtuple() takes a name");
    if (a[3] && !py_is_none(a[3]) && !py_iterate(p, r, a[3], &defaults, &n)) return NULL;
    py_object *o = classes_named_tuple_class(p, r, name);
    if (!o || !classes_fields(p, r, o->u.cls, a[1])) return NULL;
    py_class *c = o->u.cls;
    size_t all = c->fields.len;
    if ((size_t)n > all)
        return py_fail(p, r, "TypeError", "Got more default values than field names");
    if (!classes_make_room(p, c, all)) return NULL;
    for (int i = 0; i < n; i++) c->field_defaults[all - (size_t)n + (size_t)i] = defaults[i];
    return o;
}

/* An annotation that is an object already: a name in a scope made for it, as the readers of
 * field_types expect expressions. */
static bool classes_field_type(py *p, source_range r, py_class *c, size_t i, py_object *type) {
    expr *x = arena_new(p->a, expr);
    x->kind = E_NAME;
    x->range = r;
    x->name = intern(p->names, arena_printf(p->a, "_%zu", i));
    c->field_types[i] = x;
    return py_dict_set(p, c->env->vars, x->name, type);
}

/* cls.__annotations__ = {"x": int}, after the class was made: PyTorch reads the types of a named
 * tuple's fields there. */
bool py_named_tuple_annotate(py *p, source_range r, py_object *cls, const py_object *annotations) {
    py_class *c = cls->u.cls;
    py_env *env = arena_new(p->a, py_env);
    *env = (py_env){.vars = py_dict_new(p), .outer = c->env, .module = c->module};
    c->env = env;
    for (size_t i = 0; i < c->fields.len; i++) {
        py_object *t = py_dict_get(annotations->u.dict, c->fields.data[i]);
        if (t && !classes_field_type(p, r, c, i, t)) return false;
    }
    return true;
}

/* typing.NamedTuple("P", [("x", int), ("y", str)]). self: the class NamedTuple. */
static py_object *classes_typed_tuple(PY_ARGS) {
    py_object *a[2], **fields, **pair;
    (void)self;
    int n, two;
    if (!py_bind(p, r, "NamedTuple", "typename fields", PY_GIVEN, a)) return NULL;
    const char *name = py_as_text(a[0]);
    if (!name) return py_fail(p, r, "TypeError", "NamedTuple() takes a name");
    if (!py_iterate(p, r, a[1], &fields, &n)) return NULL;
    py_object *o = classes_named_tuple_class(p, r, name);
    py_class *c = o ? o->u.cls : NULL;
    if (!o || !classes_make_room(p, c, (size_t)n)) return NULL;
    c->env = arena_new(p->a, py_env);
    *c->env = (py_env){.vars = py_dict_new(p), .module = c->module};
    for (int i = 0; i < n; i++) {
        if (!py_iterate(p, r, fields[i], &pair, &two)) return NULL;
        const char *field = two == 2 ? py_as_text(pair[0]) : NULL;
        if (!field)
            return py_fail(p, r, "TypeError",
                           "a field of a NamedTuple is a pair of a name and a type");
        if (!classes_add_field(p, r, c, field, strlen(field)) ||
            !classes_field_type(p, r, c, (size_t)i, pair[1]))
            return NULL;
    }
    return o;
}

py_object *py_named_tuple_base(py *p, py_object *mod) {
    py_object *o = py_tuple_class(p, mod, "NamedTuple");
    if (o) o->u.cls->make = classes_typed_tuple;
    return o;
}

static const py_row classes_collections_rows[] = {{"_collections.namedtuple", classes_namedtuple},
                                                  {NULL, NULL}};

static bool classes_fill_collections(py *p, py_object *mod) {
    py_object *dict = py_builtin_named(p, "dict"); /* dicts are ordered: one class serves both */
    return py_add_rows(p, mod, classes_collections_rows) &&
           py_module_set_take(p, mod, "OrderedDict", dict);
}

/* ---- dataclasses ----------------------------------------------------------------------------- */

static bool classes_is_field(const py_object *o) {
    return o && o->kind == PY_INSTANCE && !strcmp(o->u.inst.cls->u.cls->name, "Field");
}

/* The value of a field left out of a call; NULL without an error: it must be given. */
static py_object *classes_default(py *p, source_range r, py_object *d) {
    if (!classes_is_field(d)) return d;
    py_object *factory = py_dict_get(d->u.inst.attrs, "default_factory");
    return factory ? py_call(p, r, factory, 0, NULL, 0, NULL, NULL) : NULL;
}

static bool classes_init_field(const py_object *d) {
    py_object *init = classes_is_field(d) ? py_dict_get(d->u.inst.attrs, "init") : NULL;
    return !init || init->kind != PY_VALUE || init->u.v.tag != V_BOOL || init->u.v.u.b;
}

/* The __init__ of dataclasses. */
static py_object *classes_data_init(PY_ARGS) {
    if (!self && nargs) self = args[0], args++, nargs--;
    const py_object *cls = self && self->kind == PY_INSTANCE ? self->u.inst.cls : NULL;
    while (cls && !cls->u.cls->is_dataclass && cls->u.cls->bases.len)
        cls = cls->u.cls->bases.data[0];
    if (!cls || !cls->u.cls->is_dataclass)
        return py_fail(p, r, "TypeError", "__init__() of a dataclass needs an instance");
    const py_class *c = cls->u.cls;
    int used = 0, used_kw = 0;
    for (size_t i = 0; i < c->fields.len; i++) {
        const char *name = c->fields.data[i];
        py_object *v = NULL, *d = c->field_defaults[i];
        if (classes_init_field(d) && used < nargs) v = args[used++];
        for (int k = 0; k < nkw; k++) {
            if (strcmp(names[k], name)) continue;
            if (v)
                return py_fail(p, r, "TypeError",
                               "%s.__init__() got multiple values for argument '%s'", c->name,
                               name);
            v = kwargs[k];
            used_kw++;
        }
        if (!v) v = classes_default(p, r, d);
        if (!v && p->diag->status == CTSC_OK)
            py_fail(p, r, "TypeError", "%s.__init__() missing 1 required positional argument: '%s'",
                    c->name, name);
        if (!v || !py_setattr(p, r, self, name, v)) return NULL;
    }
    if (used < nargs || used_kw < nkw)
        return py_fail(p, r, "TypeError", "%s.__init__() got arguments it does not have", c->name);
    py_object *post = py_class_find(self->u.inst.cls, "__post_init__");
    return post ? py_call(p, r, post, 1, &self, 0, NULL, NULL) : p->none;
}

/* d, or a new Field of the default d, as the field `name` of cls. */
static bool classes_note_field(py *p, py_object *cls, py_object *all, const char *name,
                               py_object *d) {
    py_object *field = d, *text = py_text(p, name);
    if (!classes_is_field(d)) {
        py_object *made = py_module_member(p, "dataclasses", "Field");
        if (!made || made->kind != PY_CLASS || !(field = py_instance(p, made))) return false;
        if (d && !py_dict_set(p, field->u.inst.attrs, "default", d)) return false;
    }
    return text && py_dict_set(p, field->u.inst.attrs, "name", text) &&
           py_dict_set(p, field->u.inst.attrs, "_owner", cls) &&
           py_dict_set(p, all->u.dict, name, field);
}

static int classes_field_index(const py_class *c, const char *name) {
    for (size_t i = 0; i < c->fields.len; i++)
        if (!strcmp(c->fields.data[i], name)) return (int)i;
    return -1;
}

static bool classes_put_field(py *p, py_class *c, const char *name, py_object *d, const expr *type,
                              size_t room) {
    int at = classes_field_index(c, name);
    if (at < 0) {
        if (c->fields.len == room || !avec_push(p->a, &c->fields, name)) return false;
        at = (int)c->fields.len - 1;
    }
    c->field_defaults[at] = d;
    c->field_types[at] = type;
    return true;
}

static bool classes_take_fields(py *p, source_range r, py_object *cls) {
    py_class *c = cls->u.cls;
    py_object *all = py_dict_object(p, py_dict_new(p)); /* __dataclass_fields__ */
    memset(&c->fields, 0, sizeof c->fields);
    size_t room = c->annotations.len;
    for (size_t i = 1; i < c->mro.len; i++)
        if (c->mro.data[i]->u.cls->is_dataclass) room += c->mro.data[i]->u.cls->fields.len;
    c->field_defaults = arena_array(p->a, py_object *, room + 1);
    c->field_types = arena_array(p->a, const expr *, room + 1);
    if (!c->field_defaults || !c->field_types) return diag_no_memory(p->diag), false;
    for (size_t i = c->mro.len; i-- > 1;) {
        const py_class *b = c->mro.data[i]->u.cls;
        py_object *theirs = b->is_dataclass ? py_dict_get(b->attrs, "__dataclass_fields__") : NULL;
        if (theirs && !py_dict_merge(p, r, all->u.dict, theirs)) return false;
        for (size_t k = 0; b->is_dataclass && k < b->fields.len; k++)
            if (!classes_put_field(p, c, b->fields.data[k], b->field_defaults[k], b->field_types[k],
                                   room))
                return false;
    }
    for (size_t i = 0; i < c->annotations.len; i++) {
        const expr *t = c->annotations.data[i].type, *head = t && t->kind == E_SUBSCRIPT ? t->a : t;
        if (head && (head->kind == E_NAME || head->kind == E_ATTR) && head->name &&
            !strcmp(head->name, "ClassVar"))
            continue;
        const char *name = c->annotations.data[i].name;
        py_object *d = py_dict_get(c->attrs, name);
        if (!classes_note_field(p, cls, all, name, d)) return false;
        py_object *plain = classes_is_field(d) ? py_dict_get(d->u.inst.attrs, "default") : NULL;
        if (plain && !py_dict_set(p, c->attrs, name, plain)) return false;
        if (plain) d = plain;
        else if (classes_is_field(d))
            py_dict_remove(p, c->attrs, py_dict_get(d->u.inst.attrs, "name"));
        if (d && (d->kind == PY_LIST || d->kind == PY_DICT || d->kind == PY_SET))
            return py_fail(p, r, "ValueError",
                           "mutable default <class '%s'> for field %s is not allowed: use "
                           "default_factory",
                           py_type_name(d), name),
                   false;
        if (!classes_put_field(p, c, name, d, t, room)) return false;
    }
    return py_dict_set(p, c->attrs, "__dataclass_fields__", all);
}

/* _make(cls, init): cls as a dataclass; init: with an __init__ of its own. */
static py_object *classes_dataclass(PY_ARGS) {
    py_object *a[2], *cls;
    bool wanted;
    (void)self;
    if (!py_bind(p, r, "dataclass", "cls init", PY_GIVEN, a) || !py_truth(p, r, a[1], &wanted))
        return NULL;
    if ((cls = a[0])->kind != PY_CLASS)
        return py_fail(p, r, "TypeError", "dataclass() takes a class");
    if (!classes_take_fields(p, r, cls))
        return p->diag->status == CTSC_OK ? (diag_no_memory(p->diag), NULL) : NULL;
    cls->u.cls->is_dataclass = true;
    if (!wanted || py_dict_get(cls->u.cls->attrs, "__init__")) return cls;
    py_object *init = py_builtin(p, "dataclasses.__init__", classes_data_init);
    init->u.builtin.method = true;
    init->u.builtin.cls = cls;
    return py_dict_set(p, cls->u.cls->attrs, "__init__", init) ? cls : NULL;
}

static py_object *classes_field(PY_ARGS) {
    static const char *const fields[] = {"default", "default_factory", "init",     "repr",
                                         "hash",    "compare",         "metadata", "kw_only"};
    py_object *a[8];
    (void)self;
    if (!py_bind(p, r, "field",
                 "default? default_factory? init? repr? hash? compare? metadata? kw_only?",
                 PY_GIVEN, a))
        return NULL;
    py_object *cls = py_module_member(p, "dataclasses", "Field");
    py_object *o = cls ? py_instance(p, cls) : NULL;
    for (int i = 0; o && i < 8; i++)
        if (a[i] && !py_dict_set(p, o->u.inst.attrs, fields[i], a[i])) return NULL;
    return o;
}

/* _annotation(class, name): of a field in its body. */
static py_object *classes_annotation(PY_ARGS) {
    py_object *a[2];
    (void)self;
    if (!py_bind(p, r, "annotation", "cls name", PY_GIVEN, a)) return NULL;
    const char *name = py_as_text(a[1]);
    const py_class *c = a[0]->kind == PY_CLASS && name ? a[0]->u.cls : NULL;
    for (size_t i = 0; c && i < c->annotations.len; i++)
        if (!strcmp(c->annotations.data[i].name, name))
            return py_annotation_object(p, c->env, c->annotations.data[i].type);
    return py_fail(p, r, "AttributeError", "type");
}

static const py_row classes_data_rows[] = {
    {"dataclasses._make", classes_dataclass},
    {"dataclasses.field", classes_field},
    {"dataclasses._annotation", classes_annotation},
    {NULL, NULL},
};

/* ---- copy ------------------------------------------------------------------------------------ */

typedef struct copy_walk {
    py *p;
    source_range range;
    ptrmap memo;
    int depth;
} copy_walk;

enum { COPY_MAX_DEPTH = 400 };

static py_object *copy_deep(copy_walk *w, py_object *o);

static py_object *copy_tensor(py *p, py_object *o) {
    tensor *t, *from = o->u.v.u.tensor;
    if (tensor_clone(p->diag, from, &t) != CTSC_OK) return NULL;
    t->requires_grad = from->requires_grad;
    py_object *made = p->library->tensor_take(p, t);
    if (made) made->u.param = o->u.param;
    return made;
}

static bool copy_dict(copy_walk *w, const py_dict *from, py_dict *to) {
    for (size_t i = 0; i < from->entries.len; i++) {
        if (!from->entries.data[i].key) continue;
        py_object *k = copy_deep(w, from->entries.data[i].key);
        py_object *v = k ? copy_deep(w, from->entries.data[i].val) : NULL;
        if (!v || !py_dict_set_key(w->p, to, k, v)) return false;
    }
    return true;
}

static py_object *copy_new(copy_walk *w, const py_object *o) {
    py *p = w->p;
    if (o->kind == PY_INSTANCE) return py_instance(p, o->u.inst.cls);
    py_object *made = py_new(p, o->kind);
    if (o->kind == PY_DICT) made->u.dict = py_dict_new(p);
    else made->u.seq.seq_cls = o->u.seq.seq_cls;
    return made;
}

static py_object *copy_contents(copy_walk *w, py_object *o) {
    if (py_is_tensor(o)) return copy_tensor(w->p, o);
    bool sequence = o->kind == PY_LIST || o->kind == PY_TUPLE;
    bool is_enum = o->kind == PY_INSTANCE && o->u.inst.cls->u.cls->kind == PYC_ENUM;
    if ((!sequence && o->kind != PY_DICT && o->kind != PY_INSTANCE) || is_enum) return o;
    py_object *made = copy_new(w, o);
    if (!made || !ptrmap_put(&w->memo, o, made)) return NULL;
    for (size_t i = 0; sequence && i < o->u.seq.items.len; i++) {
        py_object *item = copy_deep(w, o->u.seq.items.data[i]);
        if (!item || !py_append(w->p, made, item)) return NULL;
    }
    if (o->kind == PY_DICT && !copy_dict(w, o->u.dict, made->u.dict)) return NULL;
    if (o->kind == PY_INSTANCE && !copy_dict(w, o->u.inst.attrs, made->u.inst.attrs)) return NULL;
    return made;
}

static py_object *copy_deep(copy_walk *w, py_object *o) {
    py_object *made = ptrmap_get(&w->memo, o);
    if (made) return made;
    if (w->depth >= COPY_MAX_DEPTH)
        return py_fail(w->p, w->range, "RecursionError", "maximum recursion depth exceeded");
    w->depth++;
    made = copy_contents(w, o);
    w->depth--;
    if (made && made != o && !ptrmap_put(&w->memo, o, made)) made = NULL;
    if (!made && w->p->diag->status == CTSC_OK) diag_no_memory(w->p->diag);
    return made;
}

static py_object *classes_deepcopy(PY_ARGS) {
    py_object *a[2];
    (void)self;
    if (!py_bind(p, r, "deepcopy", "x memo?", PY_GIVEN, a)) return NULL;
    copy_walk w = {.p = p, .range = r};
    py_object *o = copy_deep(&w, a[0]);
    ptrmap_free(&w.memo);
    return o;
}

static bool copy_entries(py *p, const py_dict *from, py_dict *to) {
    for (size_t i = 0; i < from->entries.len; i++)
        if (from->entries.data[i].key &&
            !py_dict_set_key(p, to, from->entries.data[i].key, from->entries.data[i].val))
            return false;
    return true;
}

static py_object *classes_copy(PY_ARGS) {
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "copy", "x", PY_GIVEN, a)) return NULL;
    py_object *o = a[0];
    if (o->kind == PY_LIST) return py_list(p, (int)o->u.seq.items.len, o->u.seq.items.data);
    if (o->kind == PY_TUPLE || (o->kind != PY_DICT && o->kind != PY_INSTANCE)) return o;
    copy_walk w = {.p = p, .range = r};
    py_object *made = copy_new(&w, o);
    if (o->kind == PY_DICT) return copy_entries(p, o->u.dict, made->u.dict) ? made : NULL;
    return copy_entries(p, o->u.inst.attrs, made->u.inst.attrs) ? made : NULL;
}

static const py_row classes_copy_rows[] = {
    {"copy.copy", classes_copy}, {"copy.deepcopy", classes_deepcopy}, {NULL, NULL}};

/* ---- the modules ----------------------------------------------------------------------------- */

bool py_classes_module(py *p, const char *dotted, py_object *mod) {
    if (!strcmp(dotted, "enum")) return classes_fill_enum(p, mod);
    if (!strcmp(dotted, "_collections")) return classes_fill_collections(p, mod);
    if (!strcmp(dotted, "copy")) return py_add_rows(p, mod, classes_copy_rows);
    if (!strcmp(dotted, "dataclasses")) return py_add_rows(p, mod, classes_data_rows);
    return false;
}
