/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_typing.c - the module typing, and types as objects: List[int], list[int], int | None.
 *
 * A PY_TYPE is a name without its module, and the brackets that
 * followed it. typing's names and Python's own generic classes make
 * the same object, so that readers of annotations handle one spelling.
 * Tests: tests/unit/test_py_torch.c
 */
#include "frontend/pyeval/core/py_internal.h"
#include "frontend/pyeval/lib/py_lib.h"

py_object *py_plain_type(py *p, const char *name) {
    py_object *o = py_new(p, PY_TYPE);
    o->u.type.name = name;
    o->u.type.nargs = -1;
    return o;
}

static py_object *typing_make(py *p, const char *name, int n, py_object **args) {
    py_object *o = py_plain_type(p, name);
    o->u.type.nargs = n;
    o->u.type.args = arena_array(p->a, py_object *, n + 1);
    if (!o->u.type.args) return diag_no_memory(p->diag), NULL;
    for (int i = 0; i < n; i++) o->u.type.args[i] = args[i];
    return o;
}

/* Python's generic classes, by typing's names. */
static const char *typing_name_of(const py_object *o) {
    static const struct {
        const char *cls, *name;
    } classes[] = {{"list", "List"}, {"dict", "Dict"},           {"tuple", "Tuple"},
                   {"set", "Set"},   {"frozenset", "FrozenSet"}, {"type", "Type"}};
    if (o->kind == PY_TYPE) return o->u.type.name;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (py_is_builtin_class(o, classes[i].cls)) return classes[i].name;
    return NULL;
}

enum { TYPING_MAX_MEMBERS = 64 };

static bool typing_add(py *p, source_range r, py_object *t, py_object **out, int *n) {
    if (t->kind == PY_TYPE && !strcmp(t->u.type.name, "Union") && t->u.type.nargs >= 0) {
        for (int i = 0; i < t->u.type.nargs; i++)
            if (!typing_add(p, r, t->u.type.args[i], out, n)) return false;
        return true;
    }
    for (int i = 0; i < *n; i++)
        if (py_equal(p, out[i], t)) return true;
    if (*n == TYPING_MAX_MEMBERS)
        return py_fail(p, r, "TypeError", "too many members of a Union"), false;
    out[(*n)++] = t;
    return true;
}

static py_object *typing_union(py *p, source_range r, int n, py_object **args) {
    py_object *flat[TYPING_MAX_MEMBERS];
    int m = 0;
    for (int i = 0; i < n; i++)
        if (!typing_add(p, r, args[i], flat, &m)) return NULL;
    return m == 1 ? flat[0] : typing_make(p, "Union", m, flat);
}

py_object *py_type_union(py *p, source_range r, py_object *a, py_object *b) {
    py_object *both[] = {a, b};
    for (int i = 0; i < 2; i++) {
        bool type = py_is_none(both[i]) || both[i]->kind == PY_CLASS || both[i]->kind == PY_TYPE;
        if (!type)
            return py_fail(p, r, "TypeError", "unsupported operand type(s) for |: '%s' and '%s'",
                           py_type_name(a), py_type_name(b));
    }
    return typing_union(p, r, 2, both);
}

py_object *py_type_subscript(py *p, source_range r, py_object *o, py_object *key) {
    const char *name = typing_name_of(o);
    if (!name && o->kind == PY_CLASS) return o; /* a generic class of the program's */
    if (!name)
        return py_fail(p, r, "TypeError", "'%s' object is not subscriptable", py_type_name(o));
    if (o->kind == PY_TYPE && o->u.type.nargs >= 0) return o; /* an alias with type variables */
    py_object **args = &key;
    int n = 1;
    if (key->kind == PY_TUPLE) {
        args = key->u.seq.items.data;
        n = (int)key->u.seq.items.len;
    }
    if (!strcmp(name, "Union")) return typing_union(p, r, n, args);
    if (!strcmp(name, "Optional") && n != 1)
        return py_fail(p, r, "TypeError", "Optional requires a single type.");
    if (!strcmp(name, "Annotated")) return n ? args[0] : p->none;
    return typing_make(p, name, n, args);
}

/* ---- the module ------------------------------------------------------------------------------ */

static py_object *typing_cast(PY_ARGS) {
    py_object *a[2];
    (void)self;
    return py_bind(p, r, "cast", "typ val", PY_GIVEN, a) ? a[1] : NULL;
}

static py_object *typing_type_var(PY_ARGS) {
    (void)self, (void)nkw, (void)names, (void)kwargs;
    const char *name = nargs ? py_as_text(args[0]) : NULL;
    return name ? py_plain_type(p, intern(p->names, name))
                : py_fail(p, r, "TypeError", "TypeVar() misses its name");
}

static py_object *typing_new_type(PY_ARGS) {
    py_object *a[2];
    (void)self;
    return py_bind(p, r, "NewType", "name tp", PY_GIVEN, a) ? a[1] : NULL;
}

static py_object *typing_identity(PY_ARGS) {
    py_object *a[1];
    (void)self;
    return py_bind(p, r, "decorator", "arg", PY_GIVEN, a) ? a[0] : NULL;
}

/* @dataclass_transform(...), @deprecated("..."): the same object. */
static py_object *typing_decorator(PY_ARGS) {
    PY_UNUSED_PARAMS;
    return py_builtin(p, "typing.decorator", typing_identity);
}

static py_object *typing_hints(PY_ARGS) {
    py_object *a[4], *out = py_dict_object(p, py_dict_new(p)), *theirs;
    (void)self;
    if (!py_bind(p, r, "get_type_hints", "obj globalns? localns? include_extras?", PY_GIVEN, a))
        return NULL;
    size_t n = a[0]->kind == PY_CLASS ? a[0]->u.cls->mro.len : 1;
    for (size_t i = n; out && i-- > 0;) {
        py_object *of = a[0]->kind == PY_CLASS ? a[0]->u.cls->mro.data[i] : a[0];
        bool own = of->kind != PY_CLASS || of->u.cls->annotations.len;
        if (own && (!(theirs = py_getattr(p, r, of, "__annotations__")) ||
                    !py_dict_merge(p, r, out->u.dict, theirs)))
            return NULL;
    }
    return out;
}

/* Of List[int]: (int,) and list; of what is not subscripted: () and None. */
static py_object *typing_get_args(PY_ARGS) {
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "get_args", "tp", PY_GIVEN, a)) return NULL;
    py_object *out = py_tuple(p, 0, NULL), *none = (py_object *)py_class_of(p, p->none);
    for (int i = 0; out && a[0]->kind == PY_TYPE && i < a[0]->u.type.nargs; i++)
        if (!py_append(p, out, py_is_none(a[0]->u.type.args[i]) ? none : a[0]->u.type.args[i]))
            return NULL;
    /* a Union of two */
    bool optional = out && out->u.seq.items.len && !strcmp(a[0]->u.type.name, "Optional");
    return !optional || py_append(p, out, none) ? out : NULL;
}

static py_object *typing_get_origin(PY_ARGS) {
    static const struct { const char *type, *origin; } origins[] = {
        {"List", "list"}, {"Dict", "dict"},           {"Tuple", "tuple"},
        {"Set", "set"},   {"FrozenSet", "frozenset"}, {"Type", "type"}};
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "get_origin", "tp", PY_GIVEN, a)) return NULL;
    if (a[0]->kind != PY_TYPE || a[0]->u.type.nargs < 0) return p->none;
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++)
        if (!strcmp(a[0]->u.type.name, origins[i].type))
            return py_builtin_named(p, origins[i].origin);
    py_object *typing = py_import(p, r, "typing"); /* Optional[T] is a Union */
    return typing ? py_getattr(p, r, typing,
                               !strcmp(a[0]->u.type.name, "Optional") ? "Union" : a[0]->u.type.name)
                  : NULL;
}

static const py_row typing_rows[] = {
    {"typing.cast", typing_cast},
    {"typing.TypeVar", typing_type_var},
    {"typing.NewType", typing_new_type},
    {"typing.overload", typing_identity},
    {"typing.final", typing_identity},
    {"typing.no_type_check", typing_identity},
    {"typing.runtime_checkable", typing_identity},
    {"typing.get_type_hints", typing_hints},
    {"typing.ParamSpec", typing_type_var},
    {"typing.TypeVarTuple", typing_type_var},
    {"typing.reveal_type", typing_identity},
    {"typing.dataclass_transform", typing_decorator},
    {"typing.deprecated", typing_decorator},
    {"typing.get_args", typing_get_args},
    {"typing.get_origin", typing_get_origin},
    {NULL, NULL},
};

/* clang-format off */
static const char *const typing_types[] = {
    "List", "Dict", "Tuple", "Optional", "Union", "Any", "Callable", "Final", "ClassVar", "Type",
    "Iterable", "Iterator", "Sequence", "Mapping", "MutableMapping", "MutableSequence", "Set",
    "FrozenSet", "AbstractSet", "Generic", "Literal", "NoReturn", "Awaitable", "Generator",
    "Hashable", "Sized", "Collection", "Container", "Deque", "DefaultDict", "OrderedDict",
    "Counter", "AnyStr", "Protocol", "TypedDict", "IO", "TextIO", "BinaryIO", "Pattern", "Match",
    "SupportsInt", "SupportsFloat", "SupportsIndex", "Annotated", "TypeAlias", "Self",
    "Concatenate", "ContextManager", "Reversible", "Coroutine", "AsyncIterator", "ByteString",
    "KeysView", "ValuesView", "ItemsView", "LiteralString", "Never", "Required", "NotRequired",
    "Unpack", "TypeGuard", "TypeIs", "ForwardRef", "AsyncIterable", "AsyncGenerator",
    "AsyncContextManager"
};
/* clang-format on */

bool py_typing_module(py *p, const char *dotted, py_object *mod) {
    if (strcmp(dotted, "typing") && strcmp(dotted, "typing_extensions") &&
        strcmp(dotted, "collections.abc"))
        return false;
    for (size_t i = 0; i < sizeof typing_types / sizeof *typing_types; i++)
        if (!py_module_set_take(p, mod, typing_types[i], py_plain_type(p, typing_types[i])))
            return false;
    if (!strcmp(dotted, "collections.abc")) return true;
    if (!py_named_tuple_base(p, mod)) return false;
    for (const py_row *row = typing_rows; row->name; row++)
        if (!py_module_set_take(p, mod, row->name + strlen("typing."),
                                py_builtin(p, row->name, row->fn)))
            return false;
    py_object *str = py_builtin_named(p, "str");
    return py_module_set(p, mod, "TYPE_CHECKING", p->false_) &&
           (!str || py_module_set(p, mod, "Text", str));
}
