/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_import.c - the evaluator's beginning and end, and modules: running a file, import,
 * attributes of modules.
 *
 * Where a module comes from, first to last:
 *   1. beside the program, unless import_is_own
 *   2. C tables (py_builtin_module) and the prelude's text of the same name
 *   3. the folders of --path and PYTHONPATH; a folder without __init__.py is a package too
 *   4. modules of Python's library that cannot do anything here (py_absent_module)
 *   5. nowhere: a stub, whose attributes are stubs, and which fails when it is used. Most files
 *      import more than their
 *      models need. Inside try/except ImportError the program asks whether there is such a module, so that it raises.
 * A package's files hold much that a model does not need and that cannot be done here. So a
 * statement that fails at the top level of a file from the path does not fail the program: the
 * names that it would have bound become stubs, which bring the failure when they are used, and the
 * next statement runs.
 * Packages that import lazily put an object into sys.modules whose __getattr__ walks over folders.
 * Instead, the imports that they show to type checkers (`if TYPE_CHECKING: from .models import *`,
 * with an `else`) are looked up: of modules that may have a name the text is parsed, and only the
 * one that defines it runs.
 * Submodules of the prelude are read when first looked up, so that a program pays for
 * the layers it uses.
 * Tests: tests/unit/test_py.c, tests/cli/imports.test
 */
#include "base/text/embed.h"
#include "frontend/pyeval/core/py_internal.h"

#include <unistd.h>

/* ---- beginning, end -------------------------------------------------------------------------- */

static py_object *import_new(py *p, const char *name) {
    py_object *o = py_new(p, PY_MODULE);
    o->u.mod.name = intern(p->names, name);
    o->u.mod.globals = py_dict_new(p);
    return o;
}

static uint64_t import_machine_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : (uint64_t)4 << 30;
}

bool py_init(py *p, arena *a, interner *names, diag *d, const py_host *host,
             const py_library *library) {
    *p = (py){.a = a, .names = names, .diag = d, .host = *host, .library = library};
    if (!p->host.max_bytes) p->host.max_bytes = import_machine_bytes() / 4 * 3;
    d->max_tensor = p->host.max_bytes;
    p->none = py_new(p, PY_VALUE);
    p->true_ = py_new(p, PY_VALUE);
    p->false_ = py_new(p, PY_VALUE);
    p->true_->u.v = value_bool(true);
    p->false_->u.v = value_bool(false);
    p->ellipsis = py_new(p, PY_ELLIPSIS);
    p->not_implemented = py_new(p, PY_NOT_IMPLEMENTED);
    p->builtins = import_new(p, "builtins");
    p->sys_modules = py_new(p, PY_DICT);
    p->sys_modules->u.dict = py_dict_new(p);
    p->builtins->u.mod.ready = true;
    if (!py_memory(p) || !py_builtins_init(p)) return false;
    p->steps = 0;
    if (strmap_put(&p->modules, "builtins", p->builtins)) return true;
    diag_no_memory(d);
    return false;
}

void py_free(py *p) {
    if (p->library) p->library->ended(p);
    for (size_t i = 0; i < p->held.len; i++) value_unref(p->held.data[i].o->u.v);
    vec_free(&p->held);
    for (size_t i = 0; i < p->maps.len; i++) strmap_free(p->maps.data[i]);
    vec_free(&p->maps);
    for (size_t i = 0; i < p->own_sources.len; i++) source_unref(p->own_sources.data[i]);
    vec_free(&p->own_sources);
    strmap_free(&p->modules);
    strmap_free(&p->strings);
    ptrmap_free(&p->traced);
    ptrmap_free(&p->unfilled);
}

bool py_hold_source(py *p, source *src) {
    if (src && (p->sources ? vec_push(p->sources, src) : vec_push(&p->own_sources, src)))
        return true;
    source_unref(src);
    diag_no_memory(p->diag);
    return false;
}

/* ---- running --------------------------------------------------------------------------------- */

static bool import_stub_names(py *p, py_env *env, const stmt_list *body, source_range at,
                              const char *reason);

static bool import_stub_name(py *p, py_env *env, const char *name, source_range at,
                             const char *reason) {
    if (!strcmp(name, "__all__") || !strcmp(name, "*")) return true;
    py_object *o = py_stub(p, at, arena_printf(p->a, "%s.%s", env->module->u.mod.name, name));
    o->u.mod.reason = reason;
    return py_memory(p) && py_dict_set(p, env->vars, name, o);
}

static bool import_stub_target(py *p, py_env *env, const expr *t, source_range at,
                               const char *reason) {
    if (!t) return true;
    bool ok = t->kind != E_NAME || import_stub_name(p, env, t->name, at, reason);
    bool sequence = t->kind == E_TUPLE || t->kind == E_LIST;
    for (size_t i = 0; ok && sequence && i < t->items.len; i++)
        ok = import_stub_target(p, env, t->items.data[i], at, reason);
    return ok;
}

static bool import_stub_bound(py *p, py_env *env, const stmt *s, source_range at,
                              const char *reason) {
    bool ok = true;
    for (size_t i = 0; ok && i < s->targets.len && s->kind != S_GLOBAL; i++)
        ok = import_stub_target(p, env, s->targets.data[i], at, reason);
    for (size_t i = 0; ok && i < s->items.len; i++)
        ok = import_stub_target(p, env, s->items.data[i].target, at, reason);
    for (size_t i = 0; ok && i < s->imports.len; i++) {
        const import_name *n = &s->imports.data[i];
        const char *name = n->alias  ? n->alias
                           : n->name ? n->name
                                     : intern_n(p->names, n->module, strcspn(n->module, "."));
        /* those before the failure are there */
        ok = py_dict_get(env->vars, name) || import_stub_name(p, env, name, at, reason);
    }
    if (ok && s->def) ok = import_stub_name(p, env, s->def->name, at, reason);
    if (ok && s->cls) ok = import_stub_name(p, env, s->cls->name, at, reason);
    for (size_t i = 0; ok && i < s->handlers.len; i++)
        ok = import_stub_names(p, env, &s->handlers.data[i].body, at, reason);
    return ok && import_stub_names(p, env, &s->body, at, reason) &&
           import_stub_names(p, env, &s->orelse, at, reason) &&
           import_stub_names(p, env, &s->final, at, reason);
}

static bool import_stub_names(py *p, py_env *env, const stmt_list *body, source_range at,
                              const char *reason) {
    for (size_t i = 0; i < body->len; i++)
        if (!import_stub_bound(p, env, body->data[i], at, reason)) return false;
    return true;
}

/* Takes the failure out of the diag: its message and its place. False: it is not one
 * that can be put off. */
static bool import_put_off(py *p, source_range *at, const char **reason) {
    diag *d = p->diag;
    if (d->status != CTSC_FAILED && d->status != CTSC_UNSUPPORTED) return false;
    bool import_error = d->exception && (!strcmp(d->exception, "builtins.ImportError") ||
                                         !strcmp(d->exception, "builtins.ModuleNotFoundError"));
    if (import_error && p->catching) return false;
    *reason = arena_printf(p->a, "%s", diag_message(d));
    *at = (source_range){0};
    for (size_t i = 0; i < d->items.len && !at->src; i++)
        if (d->items.data[i].kind == DIAG_ERROR) *at = d->items.data[i].range;
    diag_clear(d);
    p->raised = NULL;
    return true;
}

/* `if TYPE_CHECKING: from .a import A` with an `else`: the imports that the other branch puts off
 * until a name is used. */
static bool import_is_lazy(const stmt *s) {
    const expr *x = s->kind == S_IF && s->orelse.len ? s->value : NULL;
    return x && (x->kind == E_NAME || x->kind == E_ATTR) && !strcmp(x->name, "TYPE_CHECKING");
}

static bool import_exec_foreign(py *p, py_env *env, const stmt_list *body) {
    for (size_t i = 0; i < body->len; i++) {
        stmt *s = body->data[i];
        stmt_list one = {.data = &s, .len = 1, .cap = 1};
        source_range at;
        const char *reason;
        bool lazy = import_is_lazy(s);
        if (lazy) env->module->u.mod.lazy = &s->body;
        if (py_exec(p, env, &one)) continue;
        if (!import_put_off(p, &at, &reason)) return false;
        if (!(lazy ? import_stub_names(p, env, &s->orelse, at, reason)
                   : import_stub_bound(p, env, s, at, reason)))
            return false;
    }
    return true;
}

/* Runs src, whose reference is the evaluator's, in mod. */
static bool import_run(py *p, py_object *mod, source *src) {
    stmt_list *body = arena_new(p->a, stmt_list);
    if (parse_module(p->diag, p->a, p->names, src, body) != CTSC_OK) {
        if (p->diag->status == CTSC_FAILED && !p->diag->exception)
            py_name_exception(p, "builtins.SyntaxError");
        if (!mod->u.mod.foreign || !import_put_off(p, &mod->u.mod.wanted, &mod->u.mod.reason))
            return false;
        mod->u.mod.missing = mod->u.mod.name;
        return true;
    }
    mod->u.mod.src = src;
    py_env *env = arena_new(p->a, py_env);
    *env = (py_env){.vars = mod->u.mod.globals, .module = mod, .qualname = "<module>"};
    py_object *file = py_text(p, src->name);
    if (!file || !py_dict_set(p, env->vars, "__file__", file)) return false;
    const char *caller = p->where;
    p->where = "<module>";
    bool ok = py_deeper(p, (source_range){0});
    if (ok) {
        ok = mod->u.mod.foreign ? import_exec_foreign(p, env, body) : py_exec(p, env, body);
        p->depth--;
    }
    p->where = caller;
    return ok;
}

static py_object *import_begin(py *p, const char *name) {
    py_object *mod = import_new(p, name), *text = py_text(p, name);
    if (!text || !py_memory(p) || !py_dict_set(p, mod->u.mod.globals, "__name__", text))
        return NULL;
    if (!py_dict_set(p, p->sys_modules->u.dict, mod->u.mod.name, mod)) return NULL;
    if (strmap_put(&p->modules, mod->u.mod.name, mod)) return mod;
    diag_no_memory(p->diag);
    return NULL;
}

static py_object *import_forget(py *p, py_object *mod) {
    (void)strmap_put(&p->modules, mod->u.mod.name, NULL);
    py_object *name = py_text(p, mod->u.mod.name);
    if (name) (void)py_dict_remove(p, p->sys_modules->u.dict, name);
    return NULL;
}

/* What the host gives the program. */
static bool import_given(py *p, py_object *mod) {
    const dict *d = p->host.globals && p->host.globals->tag == V_DICT ? p->host.globals->u.dict
                                                                      : NULL;
    for (size_t i = 0; d && i < d->used; i++) {
        const dict_entry *e = &d->entries[i];
        if (e->key.tag != V_STR) continue;
        py_object *key = p->library->from_value(p, value_ref(e->key)),
                  *v = key ? p->library->from_value(p, value_ref(e->val)) : NULL;
        if (!v || !py_dict_set_key(p, mod->u.mod.globals, key, v)) return false;
    }
    return true;
}

py_object *py_run_module(py *p, const char *name, source *src) {
    if (!py_hold_source(p, source_ref(src))) return NULL;
    p->library->source_read(p, src);
    py_object *mod = p->program = import_begin(p, name);
    if (!mod || !import_given(p, mod) || !import_run(p, mod, src)) return NULL;
    mod->u.mod.ready = true;
    return mod;
}

/* ---- import ---------------------------------------------------------------------------------- */

static bool import_prelude(py *p, py_object *mod, bool *found) {
    size_t len;
    bool is_package;
    embedded *file = prelude_find(mod->u.mod.name, &is_package);
    if (!file) {
        *found = *found || prelude_has(mod->u.mod.name);
        return true;
    }
    *found = true;
    mod->u.mod.is_package = is_package;
    char name[256];
    snprintf(name, sizeof name, "<ctsc>/%s", mod->u.mod.name);
    const char *text = embedded_text(file, &len);
    source *src = text ? source_new(name, text, len) : NULL;
    if (src) src->library = true;
    return py_hold_source(p, src) && import_run(p, mod, src);
}

/* What would only shadow its like here: these are ctsc's at every place. */
static bool import_is_own(const char *dotted) {
    static const char *const own[] = {"torch", "numpy", "typing_extensions", "builtins", "sys"};
    size_t n = strcspn(dotted, ".");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strlen(own[i]) == n && !strncmp(own[i], dotted, n)) return true;
    return false;
}

static bool import_file(py *p, py_object *mod, bool beside, bool *found) {
    source *src = NULL;
    bool is_folder = false;
    if (!p->host.read_module || import_is_own(mod->u.mod.name)) return true;
    if (p->host.read_module(p->host.ctx, p->diag, mod->u.mod.name, beside, &src, &is_folder) !=
        CTSC_OK)
        return false;
    if (!src) {
        *found = mod->u.mod.is_package = is_folder && !beside;
        return true;
    }
    *found = true;
    mod->u.mod.foreign = !beside;
    const char *slash = strrchr(src->name, '/');
    mod->u.mod.is_package = !strcmp(slash ? slash + 1 : src->name, "__init__.py");
    p->library->source_read(p, src);
    return py_hold_source(p, src) && import_run(p, mod, src);
}

static bool import_own(py *p, py_object *mod, bool *found) {
    *found = p->library->builtin_module(p, mod->u.mod.name, mod);
    return !py_failed(p) && import_prelude(p, mod, found);
}

static bool import_absent(py *p, py_object *mod, bool *found) {
    *found = p->library->absent_module(p, mod->u.mod.name, mod);
    return !py_failed(p);
}

/* Is the program's code asking? The prelude's own imports mean the prelude. */
static bool import_by_program(const py *p) {
    const py_object *by = p->env ? p->env->module : NULL;
    return !by || by->kind != PY_MODULE || !by->u.mod.src || !by->u.mod.src->library;
}

static py_object *import_not_found(py *p, source_range r, const char *dotted) {
    py_fail(p, suggest_word(r, dotted), "ModuleNotFoundError", "No module named '%s'", dotted);
    py_suggest_module(p, dotted);
    return NULL;
}

static py_object *import_load(py *p, source_range r, const char *dotted, bool stub) {
    py_object *mod = import_begin(p, dotted);
    if (!mod) return NULL;
    bool found = false, by_program = import_by_program(p);
    bool ok = !by_program || import_file(p, mod, true, &found);
    if (ok && !found) ok = import_own(p, mod, &found);
    if (ok && !found) ok = import_file(p, mod, false, &found);
    if (ok && !found) ok = import_absent(p, mod, &found);
    if (ok && !found) {
        if (p->catching || !by_program || !stub) {
            import_not_found(p, r, dotted);
            ok = false;
        } else {
            mod->u.mod.missing = mod->u.mod.name;
            mod->u.mod.wanted = r;
            mod->u.mod.is_package = true;
        }
    }
    if (!ok) {
        if (py_failed(p)) diag_frame(p->diag, r, p->where ? p->where : "<module>");
        return import_forget(p, mod);
    }
    mod->u.mod.ready = true;
    return mod;
}

/* ---- stubs ----------------------------------------------------------------------------------- */

py_object *py_fail_missing(py *p, source_range r, const py_object *stub) {
    const char *missing = stub->u.mod.missing, *dot = strrchr(missing, '.');
    if (!stub->u.mod.wanted.src)
        return py_unsupported(p, r,
                              "objects of the class '%s', which a file holds, cannot be used while "
                              "a program is being compiled",
                              missing);
    if (stub->u.mod.reason) {
        py_fail(p, r, "ImportError", "'%s' cannot be used: %s", stub->u.mod.name,
                stub->u.mod.reason);
        diag_note(p->diag, stub->u.mod.wanted, "that happened here, where it would have been made");
        return NULL;
    }
    const py_object *home =
        dot ? strmap_get(&p->modules, arena_printf(p->a, "%.*s", (int)(dot - missing), missing))
            : NULL;
    if (home && !py_is_missing(home))
        py_fail(p, r, "ImportError", "cannot import name '%s' from '%s'", dot + 1,
                home->u.mod.name);
    else py_fail(p, r, "ModuleNotFoundError", "No module named '%s'", missing);
    diag_note(p->diag, stub->u.mod.wanted,
              home ? "imported here, and used above; ctsc has no '%s'"
                   : "imported here, and used above; --path DIR names a folder to look in",
              missing);
    if (!home) py_suggest_module(p, missing);
    return NULL;
}

py_object *py_stub(py *p, source_range r, const char *dotted) {
    py_object *o = import_new(p, dotted);
    o->u.mod.missing = o->u.mod.name;
    o->u.mod.wanted = r;
    o->u.mod.ready = o->u.mod.is_package = true;
    return o;
}

static py_object *import_stub_attribute(py *p, py_object *mod, const char *name) {
    if (!strncmp(name, "__", 2)) return NULL; /* protocols: no stub is a context manager */
    py_object *o = py_stub(p, mod->u.mod.wanted,
                           arena_printf(p->a, "%s.%s", mod->u.mod.name, name));
    o->u.mod.missing = mod->u.mod.missing;
    o->u.mod.reason = mod->u.mod.reason;
    return py_memory(p) && py_dict_set(p, mod->u.mod.globals,
                                       o->u.mod.name + strlen(mod->u.mod.name) + 1, o)
               ? o
               : NULL;
}

/* ---- import ---------------------------------------------------------------------------------- */

enum { IMPORT_MAX_NAME = 200, IMPORT_MAX_STARS = 8 };

/* A module that is there already; *failed: it is known to be missing, and
 * somebody wants to know. */
static py_object *import_known(py *p, source_range r, const char *dotted, bool *failed) {
    py_object *mod = py_dict_get(p->sys_modules->u.dict, dotted);
    if (!mod) mod = strmap_get(&p->modules, dotted);
    *failed = py_is_missing(mod) && p->catching;
    return *failed ? import_not_found(p, r, dotted) : mod;
}

static py_object *import_named(py *p, source_range r, const char *dotted, bool stub) {
    bool failed;
    py_object *mod = import_known(p, r, dotted, &failed);
    if (mod || failed) return mod;
    const char *dot = strrchr(dotted, '.');
    if (strlen(dotted) > IMPORT_MAX_NAME)
        return py_fail(p, r, "ModuleNotFoundError", "the module's name is too long");
    py_object *parent = NULL;
    if (dot) {
        char name[IMPORT_MAX_NAME + 1];
        snprintf(name, sizeof name, "%.*s", (int)(dot - dotted), dotted);
        if (!py_deeper(p, r)) return NULL;
        parent = py_import(p, r, name);
        p->depth--;
        if (!parent) return NULL;
        mod = import_known(p, r, dotted, &failed); /* the parent imported it */
        if (mod || failed) return mod;
        if (py_is_missing(parent)) return import_stub_attribute(p, parent, dot + 1);
    }
    if (!(mod = import_load(p, r, dotted, stub))) return NULL;
    mod = import_known(p, r, dotted, &failed); /* it may have replaced itself in sys.modules */
    if (!mod) return NULL;
    return !parent || parent->kind != PY_MODULE ||
                   py_dict_set(p, parent->u.mod.globals, dot + 1, mod)
               ? mod
               : NULL;
}

py_object *py_import(py *p, source_range r, const char *dotted) {
    return import_named(p, r, dotted, true);
}
py_object *py_import_found(py *p, source_range r, const char *dotted) {
    return import_named(p, r, dotted, false);
}

/* ---- lazy imports ---------------------------------------------------------------------------- */

static bool import_offers(py *p, const char *dotted, const char *name, int depth);

/* The module, of those that the statements of `here` import from, that has the name; NULL: none.
 * *as: its name there. */
static const char *import_offer(py *p, const char *here, bool is_package, const stmt_list *body,
                                const char *name, int depth, const char **as) {
    for (size_t i = 0; i < body->len && !py_failed(p); i++) {
        const stmt *s = body->data[i];
        for (size_t k = 0; s->kind == S_IMPORT && k < s->imports.len; k++) {
            const import_name *n = &s->imports.data[k];
            bool all = n->name && !strcmp(n->name, "*");
            if (!n->name || !n->module || (!all && strcmp(n->alias ? n->alias : n->name, name)))
                continue;
            const char *dotted = py_absolute_name(p, here, is_package, n->module);
            *as = all ? name : n->name;
            if (dotted && (!all || import_offers(p, dotted, name, depth))) return dotted;
        }
    }
    return NULL;
}

/* Does module `dotted`, which need not be there yet, define the name, or import it from everything
 * that another one has? */
static bool import_offers(py *p, const char *dotted, const char *name, int depth) {
    source *src = NULL;
    bool is_folder, found = false;
    stmt_list body = {0};
    arena scratch = {0};
    const char *as;
    if (depth == IMPORT_MAX_STARS ||
        p->host.read_module(p->host.ctx, p->diag, dotted, false, &src, &is_folder) != CTSC_OK ||
        !src)
        return false;
    bool mentioned = strstr(src->text, name), stars = strstr(src->text, "import *");
    if ((mentioned || stars) && py_work(p, (source_range){0}, src->len / PY_STEP_BYTES) &&
        arena_init(&scratch) && parse_module(p->diag, &scratch, p->names, src, &body) == CTSC_OK) {
        const char *slash = strrchr(src->name, '/');
        bool is_package = !strcmp(slash ? slash + 1 : src->name, "__init__.py");
        for (size_t i = 0; i < body.len && !found; i++) {
            const stmt *s = body.data[i];
            const expr *t = s->targets.len ? s->targets.data[0] : NULL;
            found = (s->def && !strcmp(s->def->name, name)) ||
                    (s->cls && !strcmp(s->cls->name, name)) ||
                    (s->kind == S_ASSIGN && t && t->kind == E_NAME && !strcmp(t->name, name)) ||
                    (stars && import_is_lazy(s) &&
                     import_offer(p, dotted, is_package, &s->body, name, depth + 1, &as));
        }
        found = found ||
                (stars && import_offer(p, dotted, is_package, &body, name, depth + 1, &as));
    } else if (p->diag->status == CTSC_FAILED) diag_clear(p->diag);
    arena_free(&scratch);
    source_unref(src);
    return found;
}

static py_object *import_lazy(py *p, source_range r, py_object *mod, const char *name) {
    const char *as, *dotted = import_offer(p, mod->u.mod.name, mod->u.mod.is_package,
                                           mod->u.mod.lazy, name, 0, &as);
    /* a module that they are from? */
    for (size_t i = 0; !dotted && !py_failed(p) && i < mod->u.mod.lazy->len; i++) {
        const stmt *s = mod->u.mod.lazy->data[i];
        const char *module = s->kind == S_IMPORT ? s->imports.data[0].module : NULL;
        if (module && module[0] == '.' && !strcmp(module + 1, name))
            return py_import(p, r, arena_printf(p->a, "%s%s", mod->u.mod.name, module));
    }
    py_object *from = dotted ? py_import(p, r, dotted) : NULL,
              *o = from ? py_getattr(p, r, from, as) : NULL;
    return o && py_dict_set(p, mod->u.mod.globals, name, o) ? o : NULL;
}

/* pkg.part, which Python has because something has imported it: that may be what ctsc left
 * out of the package. */
static py_object *import_unmentioned(py *p, source_range r, const char *dotted) {
    source *src = NULL;
    bool is_folder = false;
    if (p->host.read_module(p->host.ctx, p->diag, dotted, false, &src, &is_folder) != CTSC_OK)
        return NULL;
    bool there = src || is_folder;
    source_unref(src);
    return there ? py_import(p, r, dotted) : NULL;
}

py_object *py_module_attribute(py *p, source_range r, py_object *mod, const char *name) {
    py_object *o = mod == p->builtins ? py_builtin_named(p, name)
                                      : py_dict_get(mod->u.mod.globals, name);
    if (o) return o;
    if (!strcmp(name, "__dict__")) return py_dict_object(p, mod->u.mod.globals);
    if (py_is_missing(mod)) return import_stub_attribute(p, mod, name);
    o = p->library->module_missing(p, mod, name);
    if (o || py_failed(p)) return o;
    char dotted[IMPORT_MAX_NAME + 1];
    size_t n = (size_t)snprintf(dotted, sizeof dotted, "%s.%s", mod->u.mod.name, name);
    if (n < sizeof dotted && prelude_has(dotted)) return py_import(p, r, dotted);
    py_object *get = py_dict_get(mod->u.mod.globals, "__getattr__");
    if (get && get->kind == PY_FUNCTION) {
        py_object *text = py_text(p, name);
        return text ? py_call1(p, r, get, text) : NULL;
    }
    if (mod->u.mod.lazy && strncmp(name, "__", 2))
        return import_lazy(p, r, mod, intern(p->names, name));
    return mod->u.mod.foreign && mod->u.mod.is_package && n < sizeof dotted &&
                   strncmp(name, "__", 2)
               ? import_unmentioned(p, r, dotted)
               : NULL;
}
