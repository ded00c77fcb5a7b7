/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_modules.c - the modules that the evaluator knows: which file fills which, and the small ones.
 *
 * Method. Modules made in C are filled from tables of rows when they are first
 * imported; those that are better written in Python are in prelude/. Modules that make
 * no sense at compile time (os, argparse, numpy, ...) can be imported, since many
 * files do so without using them here; a name in them fails only when it is called.
 * Tests: tests/unit/test_py_torch.c
 */
#include "frontend/pyeval/core/py_internal.h"
#include "frontend/pyeval/lib/py_lib.h"

/* ---- helpers of all library files ------------------------------------------------------------ */

bool py_module_set(py *p, py_object *mod, const char *name, py_object *v) {
    return py_dict_set(p, mod->u.mod.globals, name, v);
}

bool py_module_set_take(py *p, py_object *mod, const char *name, py_object *v) {
    return v && py_module_set(p, mod, name, v);
}

bool py_add_rows(py *p, py_object *mod, const py_row *rows) {
    size_t n = strlen(mod->u.mod.name);
    for (; rows->name; rows++) {
        const char *dot = strrchr(rows->name, '.');
        if ((size_t)(dot - rows->name) != n || strncmp(rows->name, mod->u.mod.name, n)) continue;
        if (!py_module_set_take(p, mod, dot + 1, py_builtin(p, rows->name, rows->fn))) return false;
    }
    return true;
}

py_object *py_module_member(py *p, const char *module, const char *name) {
    py_object *mod = strmap_get(&p->modules, module);
    return mod ? py_dict_get(mod->u.mod.globals, name) : NULL;
}

bool py_is_string(const py_object *o) { return o->kind == PY_VALUE && o->u.v.tag == V_STR; }

bool py_is_number(const py_object *o) {
    if (o->kind != PY_VALUE) return false;
    return o->u.v.tag == V_BOOL || o->u.v.tag == V_INT || o->u.v.tag == V_FLOAT ||
           o->u.v.tag == V_COMPLEX;
}

bool py_is_builtin_class(const py_object *o, const char *name) {
    if (o->kind != PY_CLASS || o->u.cls->kind != PYC_BUILTIN || strcmp(o->u.cls->name, name))
        return false;
    return !o->u.cls->module || !strcmp(o->u.cls->module->u.mod.name, "builtins");
}

/* ---- modules without use here ---------------------------------------------------------------- */

static const char *const modules_absent[] = {"os",
                                             "os.path",
                                             "random",
                                             "json",
                                             "argparse",
                                             "time",
                                             "datetime",
                                             "pathlib",
                                             "re",
                                             "string",
                                             "inspect",
                                             "io",
                                             "pickle",
                                             "uuid",
                                             "tempfile",
                                             "unittest",
                                             "heapq",
                                             "bisect",
                                             "statistics",
                                             "textwrap",
                                             "pprint",
                                             "subprocess",
                                             "threading",
                                             "queue",
                                             "hashlib",
                                             "base64",
                                             "struct",
                                             "traceback",
                                             "gc",
                                             "glob",
                                             "shutil",
                                             "csv",
                                             "platform",
                                             "signal",
                                             "weakref",
                                             "socket",
                                             "numpy.typing",
                                             "urllib",
                                             "urllib.request",
                                             "urllib.parse",
                                             "urllib.error",
                                             "zipfile",
                                             "tarfile",
                                             "gzip",
                                             "fractions",
                                             "decimal",
                                             "array",
                                             "ctypes",
                                             "multiprocessing",
                                             "concurrent",
                                             "concurrent.futures",
                                             "asyncio",
                                             "getpass",
                                             "configparser",
                                             "locale",
                                             "unittest.mock",
                                             "doctest",
                                             "timeit",
                                             "cProfile",
                                             "atexit",
                                             "errno",
                                             "secrets",
                                             "sysconfig",
                                             "ast",
                                             "dis",
                                             "token",
                                             "tokenize",
                                             "calendar",
                                             "codecs",
                                             "html",
                                             "http",
                                             "http.client",
                                             "email",
                                             "email.utils",
                                             "ssl",
                                             "zlib",
                                             "bz2",
                                             "lzma",
                                             "selectors",
                                             "optparse",
                                             "linecache",
                                             "importlib.abc",
                                             "importlib.util",
                                             "importlib.metadata",
                                             "importlib.resources",
                                             "contextvars",
                                             "sqlite3",
                                             "pdb",
                                             "mmap",
                                             "curses",
                                             "xml",
                                             "xml.etree",
                                             "xml.etree.ElementTree",
                                             "resource",
                                             "stat",
                                             "fcntl",
                                             "site",
                                             "sched",
                                             "marshal",
                                             "shelve"};

static py_object *modules_unavailable(PY_ARGS) {
    (void)nargs, (void)args, (void)nkw, (void)names, (void)kwargs;
    const char *name = self ? py_as_text(self) : NULL;
    return py_unsupported(p, r, "%s is not available while a program is being compiled",
                          name ? name : "this function");
}

py_object *py_absent(py *p, const char *module, const char *name) {
    py_object *text = py_text(p, arena_printf(p->a, "%s.%s", module, name));
    return text ? py_method(p, text, py_builtin(p, "unavailable", modules_unavailable)) : NULL;
}

/* py_fail_missing, for the method __init__ of what derives from a stub. */
static py_object *modules_missing(PY_ARGS) {
    (void)nargs, (void)args, (void)nkw, (void)names, (void)kwargs;
    return py_fail_missing(p, r, self);
}

bool py_is_lacking(const py_object *o) {
    return py_is_missing(o) || (o->kind == PY_METHOD && o->u.method.fn->kind == PY_BUILTIN &&
                                o->u.method.fn->u.builtin.fn == modules_unavailable);
}

py_object *py_lacking_class(py *p, py_object *o) {
    py_object *scratch = py_new(p, PY_MODULE); /* the class is not a member of anything */
    const char *name = o->kind == PY_MODULE ? o->u.mod.name : py_as_text(o->u.method.self),
               *dot = strrchr(name, '.');
    scratch->u.mod.name = name;
    scratch->u.mod.globals = py_dict_new(p);
    py_object *init = o->kind == PY_MODULE
                          ? py_method(p, o, py_builtin(p, "missing", modules_missing))
                          : o;
    py_object *cls = init ? py_class_new(p, scratch, intern(p->names, dot ? dot + 1 : name), 0,
                                         NULL, PYC_PLAIN)
                          : NULL;
    return cls && py_dict_set(p, cls->u.cls->attrs, "__init__", init) ? cls : NULL;
}

static bool modules_is_absent(const char *dotted) {
    for (size_t i = 0; i < sizeof modules_absent / sizeof *modules_absent; i++)
        if (!strcmp(modules_absent[i], dotted)) return true;
    return false;
}

static py_object *modules_identity(PY_ARGS) {
    py_object *a[1];
    (void)self;
    return py_bind(p, r, "decorator", "funcobj", PY_GIVEN, a) ? a[0] : NULL;
}

/* ---- warnings, importlib, operator ----------------------------------------------------------- */

static py_object *modules_none(PY_ARGS) { return PY_UNUSED_PARAMS, p->none; }

static py_object *modules_warn(PY_ARGS) {
    py_object *a[4];
    (void)self;
    if (!py_bind(p, r, "warn", "message category? stacklevel? source?", PY_GIVEN, a)) return NULL;
    strbuf text = STRBUF_INIT;
    if (py_str(p, r, a[0], false, &text)) {
        p->library->warn(p, r, sb_str(&text));
    }
    sb_free(&text);
    return p->diag->status == CTSC_OK ? p->none : NULL;
}

/* ".linear" in package "torch.nn" is "torch.nn.linear"; each further dot goes one package up. */
static py_object *modules_import(PY_ARGS) {
    py_object *a[2];
    (void)self;
    if (!py_bind(p, r, "import_module", "name package?", PY_GIVEN, a)) return NULL;
    const char *name = py_as_text(a[0]), *package = a[1] ? py_as_text(a[1]) : NULL;
    if (!name) return py_fail(p, r, "TypeError", "import_module() takes a name");
    if (name[0] != '.') return py_import(p, r, intern(p->names, name));
    if (!package)
        return py_fail(p, r, "TypeError", "a relative import needs the 'package' argument");
    size_t len = strlen(package);
    for (name++; *name == '.'; name++) {
        while (len && package[len - 1] != '.') len--;
        if (len) len--;
    }
    return py_import(p, r,
                     intern(p->names, arena_printf(p->a, "%.*s.%s", (int)len, package, name)));
}

/* clang-format off */
#define MODULES_OPERATORS(X)                                                                       \
    X(add, O_ADD) X(sub, O_SUB) X(mul, O_MUL) X(truediv, O_DIV) X(floordiv, O_FLOORDIV) X(mod, O_MOD) X(pow, O_POW)     \
    X(matmul, O_MATMUL) X(and_, O_AND) X(or_, O_OR) X(xor, O_XOR) X(lshift, O_LSHIFT) X(rshift, O_RSHIFT) X(eq, O_EQ)    \
    X(ne, O_NE) X(lt, O_LT) X(le, O_LE) X(gt, O_GT) X(ge, O_GE) X(is_, O_IS) X(is_not, O_ISNOT)
/* clang-format on */
#define MODULES_UNARY(X) X(neg, O_NEG) X(pos, O_POS) X(invert, O_INVERT) X(not_, O_NOT)

#define MODULES_OPERATOR_FN(name, op)                                                              \
    static py_object *modules_##name(PY_ARGS) {                                                    \
        py_object *a[2];                                                                           \
        (void)self;                                                                                \
        return py_bind(p, r, #name, "a b", PY_GIVEN, a) ? py_binary(p, r, op, a[0], a[1]) : NULL;  \
    }
#define MODULES_UNARY_FN(name, op)                                                                 \
    static py_object *modules_##name(PY_ARGS) {                                                    \
        py_object *a[1];                                                                           \
        (void)self;                                                                                \
        return py_bind(p, r, #name, "a", PY_GIVEN, a) ? py_unary(p, r, op, a[0]) : NULL;           \
    }
MODULES_OPERATORS(MODULES_OPERATOR_FN)
MODULES_UNARY(MODULES_UNARY_FN)

static py_object *modules_getitem(PY_ARGS) {
    py_object *a[2];
    (void)self;
    return py_bind(p, r, "getitem", "a b", PY_GIVEN, a) ? py_subscript(p, r, a[0], a[1]) : NULL;
}

static py_object *modules_index(PY_ARGS) {
    py_object *a[1];
    (void)self;
    int64_t i;
    return py_bind(p, r, "index", "a", PY_GIVEN, a) && py_as_int(p, r, a[0], &i) ? py_int(p, i)
                                                                                 : NULL;
}

/* itemgetter(2) and attrgetter("x") are bound to what they were given. */
static py_object *modules_get_item(PY_ARGS) {
    py_object *a[1];
    return py_bind(p, r, "itemgetter", "obj", PY_GIVEN, a) ? py_subscript(p, r, a[0], self) : NULL;
}

static py_object *modules_get_attribute(PY_ARGS) {
    py_object *a[1];
    return py_bind(p, r, "attrgetter", "obj", PY_GIVEN, a)
               ? py_getattr(p, r, a[0], py_as_text(self))
               : NULL;
}

static py_object *modules_itemgetter(PY_ARGS) {
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "itemgetter", "item", PY_GIVEN, a)) return NULL;
    return py_method(p, a[0], py_builtin(p, "operator.itemgetter.get", modules_get_item));
}

static py_object *modules_attrgetter(PY_ARGS) {
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "attrgetter", "attr", PY_GIVEN, a)) return NULL;
    if (!py_is_string(a[0])) return py_fail(p, r, "TypeError", "attribute name must be a string");
    return py_method(p, a[0], py_builtin(p, "operator.attrgetter.get", modules_get_attribute));
}

static py_object *modules_getenv(PY_ARGS) {
    py_object *a[2];
    (void)self;
    if (!py_bind(p, r, "getenv", "key default?", PY_GIVEN, a)) return NULL;
    return a[1] ? a[1] : p->none;
}

static py_object *modules_copy_function(PY_ARGS) {
    py_object *a[1], *o = py_new(p, PY_FUNCTION);
    (void)self;
    if (!py_bind(p, r, "FunctionType", "code", PY_GIVEN, a)) return NULL;
    if (a[0]->kind != PY_FUNCTION || !(o->u.fn = arena_new(p->a, py_function)))
        return py_fail(p, r, "TypeError", "function() needs a function's code");
    *o->u.fn = *a[0]->u.fn;
    o->u.fn->attrs = NULL;
    return o;
}

/* _files._read(path): the text of a file. */
static py_object *modules_read(PY_ARGS) {
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "open", "file", PY_GIVEN, a)) return NULL;
    const char *path = py_as_text(a[0]);
    if (!path) return py_fail(p, r, "TypeError", "open() takes the path of a file");
    if (!p->host.read_file) return py_unsupported(p, r, "open(): this program may not read files");
    source *src = NULL;
    if (p->host.read_file(p->host.ctx, p->diag, path, &src) != CTSC_OK)
        return diag_locate(p->diag, r), NULL;
    if (!src)
        return py_fail(p, r, "FileNotFoundError", "[Errno 2] No such file or directory: '%s'",
                       path);
    py_object *text = py_string(p, src->text, src->len);
    source_unref(src);
    return text;
}

/* _files._kind(path): 0 nothing, 1 a file, 2 a folder. Where files may not be
 * read there are none. */
static py_object *modules_kind(PY_ARGS) {
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "exists", "path", PY_GIVEN, a)) return NULL;
    const char *path = py_as_text(a[0]);
    if (!path) return py_fail(p, r, "TypeError", "stat: path should be string");
    return py_int(p, p->host.file_kind ? p->host.file_kind(p->host.ctx, path) : 0);
}

static py_object *modules_exit(PY_ARGS) {
    PY_UNUSED_PARAMS;
    return py_unsupported(p, r, "the program ends itself (sys.exit) while it is being compiled");
}

static const py_row modules_rows[] = {
    {"warnings.warn", modules_warn},
    {"warnings.filterwarnings", modules_none},
    {"warnings.simplefilter", modules_none},
    {"warnings.resetwarnings", modules_none},
    {"importlib.import_module", modules_import},
    {"abc.abstractmethod", modules_identity},
    {"atexit.register", modules_identity},
    {"types._copy", modules_copy_function},
    {"os.getenv", modules_getenv},
    {"os.register_at_fork", modules_none},
    {"_files._read", modules_read},
    {"_files._kind", modules_kind},
    {"sys.setrecursionlimit", modules_none},
    {"sys.exit", modules_exit},
#define MODULES_ROW(name, op) {"operator." #name, modules_##name},
    MODULES_OPERATORS(MODULES_ROW) MODULES_UNARY(MODULES_ROW)
#undef MODULES_ROW
        {"operator.getitem", modules_getitem},
    {"operator.index", modules_index},
    {"operator.itemgetter", modules_itemgetter},
    {"operator.attrgetter", modules_attrgetter},
    {NULL, NULL},
};

/* ---- constants of modules -------------------------------------------------------------------- */

static py_object *modules_builtin(py *p, const char *name) { return py_builtin_named(p, name); }

/* isinstance(x, numbers.Number): a tuple of classes serves as one. */
static bool modules_fill_numbers(py *p, py_object *mod) {
    py_object *all[] = {modules_builtin(p, "int"), modules_builtin(p, "float"),
                        modules_builtin(p, "complex")};
    if (!all[0] || !all[1] || !all[2]) return false;
    return py_module_set_take(p, mod, "Number", py_tuple(p, 3, all)) &&
           py_module_set_take(p, mod, "Complex", py_tuple(p, 3, all)) &&
           py_module_set_take(p, mod, "Real", py_tuple(p, 2, all)) &&
           py_module_set(p, mod, "Integral", all[0]) && py_module_set(p, mod, "Rational", all[0]);
}

static bool modules_fill_sys(py *p, py_object *mod) {
    py_object *version[] = {py_int(p, 3), py_int(p, 11), py_int(p, 0), py_text(p, "final"),
                            py_int(p, 0)};
    return py_module_set_take(p, mod, "version_info", py_tuple(p, 5, version)) &&
           py_module_set_take(p, mod, "version", py_text(p, "3.11.0")) &&
           py_module_set_take(p, mod, "platform", py_text(p, "linux")) &&
           py_module_set_take(p, mod, "byteorder", py_text(p, "little")) &&
           py_module_set_take(p, mod, "maxsize", py_int(p, INT64_MAX)) &&
           py_module_set_take(p, mod, "argv", py_list(p, 0, NULL)) &&
           py_module_set(p, mod, "modules", p->sys_modules) &&
           py_module_set_take(p, mod, "path", py_list(p, 0, NULL));
}

static bool modules_fill_abc(py *p, py_object *mod) {
    return py_class_new(p, mod, "ABC", 0, NULL, PYC_PLAIN) &&
           py_class_new(p, mod, "ABCMeta", 0, NULL, PYC_PLAIN);
}

static const struct { const char *name, *type; } modules_types[] = {
    {"ModuleType", "module"},
    {"FunctionType", "function"},
    {"MethodType", "method"},
    {"GeneratorType", "generator"},
    {"BuiltinFunctionType", "builtin_function_or_method"},
    {"UnionType", "UnionType"},
};

static bool modules_fill_types(py *p, py_object *mod) {
    for (size_t i = 0; i < sizeof modules_types / sizeof *modules_types; i++) {
        py_object *cls = py_class_new(p, mod, modules_types[i].type, 0, NULL, PYC_PLAIN);
        if (!cls || !py_module_set(p, mod, modules_types[i].name, cls)) return false;
    }
    return true;
}

static bool modules_fill_future(py *p, py_object *mod) {
    static const char *const features[] = {"annotations",     "division",         "print_function",
                                           "absolute_import", "unicode_literals", "generator_stop",
                                           "with_statement",  "nested_scopes",    "generators"};
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        /* unlike what a program binds to the name */
        if (!py_module_set_take(p, mod, features[i], py_tuple(p, 0, NULL))) return false;
    return true;
}

static bool modules_fill_inspect(py *p, py_object *mod) {
    return py_add_rows(p, mod, py_inspect_rows);
}

/* with warnings.catch_warnings(): does nothing. */
static bool modules_fill_warnings(py *p, py_object *mod) {
    py_object *contexts = py_import(p, (source_range){0}, "contextlib");
    return contexts && py_module_set_take(p, mod, "catch_warnings",
                                          py_getattr(p, (source_range){0}, contexts, "_anything"));
}

static bool modules_fill_nothing(py *p, py_object *mod) { return (void)p, (void)mod, true; }

static const struct { const char *name; bool (*fill)(py *p, py_object *mod); } modules_filled[] = {
    {"numbers", modules_fill_numbers},   {"sys", modules_fill_sys},
    {"abc", modules_fill_abc},           {"types", modules_fill_types},
    {"__future__", modules_fill_future}, {"warnings", modules_fill_warnings},
    {"inspect", modules_fill_inspect},   {"importlib", modules_fill_nothing},
    {"operator", modules_fill_nothing},  {"_files", modules_fill_nothing},
    {"_twister", modules_fill_nothing},
};

/* os.environ is empty. */
static bool modules_fill_absent(py *p, py_object *mod, const char *dotted) {
    if (!strcmp(dotted, "os")) {
        py_object *environ = py_new(p, PY_DICT);
        environ->u.dict = py_dict_new(p);
        return py_module_set(p, mod, "environ", environ) &&
               py_module_set_take(p, mod, "sep", py_text(p, "/")) &&
               py_add_rows(p, mod, modules_rows);
    }
    return py_add_rows(p, mod, modules_rows);
}

bool py_lib_module(py *p, const char *dotted, py_object *mod) {
    static bool (*const families[])(py *p, const char *dotted, py_object *mod) = {
        py_typing_module, py_math_module, py_classes_module};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (families[i](p, dotted, mod)) return true;
        if (p->diag->status != CTSC_OK) return false;
    }
    for (size_t i = 0; i < sizeof modules_filled / sizeof *modules_filled; i++)
        if (!strcmp(modules_filled[i].name, dotted))
            return modules_filled[i].fill(p, mod) && py_add_rows(p, mod, modules_rows);
    return false;
}

bool py_absent_module(py *p, const char *dotted, py_object *mod) {
    return modules_is_absent(dotted) && modules_fill_absent(p, mod, dotted);
}

py_object *py_lib_missing(py *p, py_object *mod, const char *name) {
    source_range nowhere = {0};
    const char *dotted = mod->u.mod.name;
    py_object *o = NULL;
    bool partly = !strcmp(dotted, "numpy"); /* what the prelude lacks of it */
    if (!partly && !modules_is_absent(dotted)) return NULL;
    if (!strcmp(dotted, "os.path")) { /* what needs no files is Python */
        py_object *path = py_import(p, nowhere, "posixpath");
        if (!path || (o = py_dict_get(path->u.mod.globals, name))) return o;
    }
    const char *inner = arena_printf(p->a, "%s.%s", dotted, name);
    if (modules_is_absent(inner) || prelude_has(inner))
        return py_import(p, nowhere, intern(p->names, inner));
    if (partly) { /* what few programs use is read when one does */
        py_object *rare = py_import(p, nowhere, "numpy._rare");
        if (!rare || (o = py_dict_get(rare->u.mod.globals, name))) return o;
    }
    return py_absent(p, dotted, name);
}
