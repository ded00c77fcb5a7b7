/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_stmt.c - statements, and running a file as a module.
 *
 * Method: a statement ends in one of five ways (flow); a return leaves its value in the scope it
 * returns from. An exception is a failed diag; try takes it out of the diag, as an object, and
 * finally puts it back.
 * Tests: tests/unit/test_py.c
 */
#include "frontend/pyeval/core/py_internal.h"

typedef enum flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN, FLOW_ERROR } flow;

static flow stmt_block(py *p, py_env *env, const stmt_list *body);

static inline flow stmt_ok(bool ok) { return ok ? FLOW_NEXT : FLOW_ERROR; }

/* ---- simple statements ----------------------------------------------------------------------- */

static flow stmt_expr(py *p, py_env *env, const stmt *s) {
    if (s->value->kind == E_STR) return FLOW_NEXT; /* a docstring */
    return stmt_ok(py_eval(p, env, s->value) != NULL);
}

static flow stmt_assign(py *p, py_env *env, const stmt *s) {
    py_object *v = py_eval(p, env, s->value);
    for (size_t i = 0; v && i < s->targets.len; i++)
        if (!py_assign(p, env, s->targets.data[i], v)) return FLOW_ERROR;
    return stmt_ok(v != NULL);
}

static flow stmt_ann_assign(py *p, py_env *env, const stmt *s) {
    const expr *target = s->targets.data[0];
    if (env->is_class && env->cls && target->kind == E_NAME) {
        py_annotation note = {target->name, s->annotation};
        if (!avec_push(p->a, &env->cls->u.cls->annotations, note)) {
            diag_no_memory(p->diag);
            return FLOW_ERROR;
        }
    }
    if (!s->value) return FLOW_NEXT;
    py_object *v = py_eval(p, env, s->value);
    return stmt_ok(v && py_assign(p, env, target, v));
}

static flow stmt_aug_assign(py *p, py_env *env, const stmt *s) {
    const expr *t = s->targets.data[0];
    py_object *o, *index, *old, *v;
    switch (t->kind) {
    case E_NAME:
        if (!(old = py_eval(p, env, t)) || !(v = py_eval(p, env, s->value))) return FLOW_ERROR;
        v = py_inplace(p, s->range, s->op, old, v);
        return stmt_ok(v && py_store(p, env, t->name, v));
    case E_ATTR:
        if (!(o = py_eval(p, env, t->a)) || !(old = py_getattr(p, t->range, o, t->name)) ||
            !(v = py_eval(p, env, s->value)))
            return FLOW_ERROR;
        v = py_inplace(p, s->range, s->op, old, v);
        return stmt_ok(v && py_setattr(p, t->range, o, t->name, v));
    case E_SUBSCRIPT:
        if (!(o = py_eval(p, env, t->a)) || !(index = py_eval_index(p, env, t)) ||
            !(old = py_subscript(p, t->range, o, index)) || !(v = py_eval(p, env, s->value)))
            return FLOW_ERROR;
        v = py_inplace(p, s->range, s->op, old, v);
        return stmt_ok(v && py_set_subscript(p, t->range, o, index, v));
    default:
        py_fail(p, s->range, "SyntaxError", "illegal expression for augmented assignment");
        return FLOW_ERROR;
    }
}

static flow stmt_return(py *p, py_env *env, const stmt *s) {
    if (env->is_class || (env->qualname && !strcmp(env->qualname, "<module>")))
        return py_fail(p, s->range, "SyntaxError", "'return' outside function"), FLOW_ERROR;
    env->result = s->value ? py_eval(p, env, s->value) : p->none;
    return env->result ? FLOW_RETURN : FLOW_ERROR;
}

static flow stmt_raise(py *p, py_env *env, const stmt *s) {
    if (!s->value) {
        if (p->handled) py_throw(p, s->range, p->handled);
        else py_fail(p, s->range, "RuntimeError", "No active exception to reraise");
        return FLOW_ERROR;
    }
    py_object *o = py_eval(p, env, s->value);
    if (o && s->cause && !py_eval(p, env, s->cause)) return FLOW_ERROR;
    if (o && o->kind == PY_CLASS && o->u.cls->kind == PYC_EXCEPTION) o = py_call0(p, s->range, o);
    if (o) py_throw(p, s->range, o);
    return FLOW_ERROR;
}

static flow stmt_assert(py *p, py_env *env, const stmt *s) {
    py_object *c = py_eval(p, env, s->value);
    bool truth;
    if (!c || !py_truth(p, s->value->range, c, &truth)) return FLOW_ERROR;
    if (truth) return FLOW_NEXT;
    if (!s->message) {
        py_fail(p, s->range, "AssertionError", "%s", "");
        return FLOW_ERROR;
    }
    py_object *message = py_eval(p, env, s->message);
    py_object *e = message ? py_call1(p, s->range, py_builtin_class(p, "AssertionError"), message)
                           : NULL;
    if (e) py_throw(p, s->range, e);
    return FLOW_ERROR;
}

static flow stmt_pass(py *p, py_env *env, const stmt *s) {
    (void)p, (void)env, (void)s;
    return FLOW_NEXT;
}

static flow stmt_break(py *p, py_env *env, const stmt *s) {
    (void)p, (void)env, (void)s;
    return FLOW_BREAK;
}

static flow stmt_continue(py *p, py_env *env, const stmt *s) {
    (void)p, (void)env, (void)s;
    return FLOW_CONTINUE;
}

static bool stmt_delete_one(py *p, py_env *env, const expr *t) {
    py_object *o, *index;
    switch (t->kind) {
    case E_NAME:
        if (!(o = py_text(p, t->name))) return false;
        if (py_dict_remove(p, env->vars, o)) return true;
        py_fail(p, t->range, "NameError", "name '%s' is not defined", t->name);
        return false;
    case E_ATTR: return (o = py_eval(p, env, t->a)) && py_delattr(p, t->range, o, t->name);
    case E_SUBSCRIPT:
        return (o = py_eval(p, env, t->a)) && (index = py_eval_index(p, env, t)) &&
               py_delete_subscript(p, t->range, o, index);
    case E_TUPLE:
    case E_LIST:
        for (size_t i = 0; i < t->items.len; i++)
            if (!stmt_delete_one(p, env, t->items.data[i])) return false;
        return true;
    default: py_fail(p, t->range, "SyntaxError", "cannot delete this expression"); return false;
    }
}

static flow stmt_delete(py *p, py_env *env, const stmt *s) {
    for (size_t i = 0; i < s->targets.len; i++)
        if (!stmt_delete_one(p, env, s->targets.data[i])) return FLOW_ERROR;
    return FLOW_NEXT;
}

static flow stmt_global(py *p, py_env *env, const stmt *s) {
    for (size_t i = 0; i < s->targets.len; i++) {
        const char *name = s->targets.data[i]->name;
        if (!(s->nonlocal ? avec_push(p->a, &env->nonlocals, name)
                          : avec_push(p->a, &env->globals, name))) {
            diag_no_memory(p->diag);
            return FLOW_ERROR;
        }
    }
    return FLOW_NEXT;
}

/* ---- import ---------------------------------------------------------------------------------- */

/* "from m import *": the names in __all__, else those without an underscore. */
static bool stmt_import_all(py *p, py_env *env, source_range r, py_object *mod) {
    if (mod->kind != PY_MODULE)
        return py_fail(p, r, "ImportError", "import * of an object that is not a module"), false;
    py_object *all = py_dict_get(mod->u.mod.globals, "__all__");
    const py_dict *d = mod->u.mod.globals;
    if (!all) {
        for (size_t i = 0; i < d->entries.len; i++) {
            const py_dict_entry e = d->entries.data[i];
            if (e.key && py_str_of(e.key)->bytes[0] != '_' &&
                !py_dict_set_key(p, env->vars, e.key, e.val))
                return false;
        }
        return true;
    }
    py_object **items;
    int n;
    if (!py_iterate(p, r, all, &items, &n)) return false;
    for (int i = 0; i < n; i++) {
        const char *name = py_as_text(items[i]);
        py_object *o = name ? py_getattr(p, r, mod, name)
                            : py_fail(p, r, "TypeError", "__all__ must hold strings");
        if (!o || !py_store(p, env, name, o)) return false;
    }
    return true;
}

const char *py_absolute_name(py *p, const char *here, bool is_package, const char *module) {
    size_t len = strlen(here);
    const char *rest = module;
    for (; *rest == '.'; rest++) {
        if (is_package) {
            is_package = false;
            continue;
        }
        while (len > 0 && here[len - 1] != '.') len--;
        if (len == 0) return NULL;
        len--;
    }
    if (rest == module) return module;
    return *rest ? arena_printf(p->a, "%.*s.%s", (int)len, here, rest)
                 : arena_strndup(p->a, here, len);
}

/* ".nn.x" seen from a module, as an absolute name; NULL after an error. */
static const char *stmt_absolute(py *p, const py_env *env, source_range r, const char *module) {
    if (!module) module = ".";
    if (module[0] != '.') return module;
    const char *here = env->module->u.mod.name;
    if (!strchr(here, '.') && !env->module->u.mod.is_package && env->module == p->program) {
        /* The program's own file: in a package as its folder tells, else alone among the
         * files beside it. */
        if (p->host.package) here = arena_printf(p->a, "%s.%s", p->host.package, here);
        else if (module[1] && module[1] != '.') return module + 1;
    }
    const char *dotted = py_absolute_name(p, here, env->module->u.mod.is_package, module);
    if (!dotted)
        py_fail(p, r, "ImportError", "attempted relative import with no known parent package");
    return dotted;
}

/* A name that a module does not have: a failure. But ctsc's own
 * modules lack parts of the modules they replace, and an unused part
 * may be missing: a stub, unless the name looks like a wrong one. */
static py_object *stmt_import_lacking(py *p, source_range r, py_object *mod, const char *module,
                                      const char *name) {
    bool own = mod->kind == PY_MODULE && (!mod->u.mod.src || mod->u.mod.src->library);
    py_fail(p, suggest_word(r, name), "ImportError", "cannot import name '%s' from '%s'", name,
            module);
    if (!own || p->catching || py_suggest_attribute(p, mod, name)) {
        if (!own || p->catching) py_suggest_attribute(p, mod, name);
        return NULL;
    }
    diag_clear(p->diag);
    p->raised = NULL;
    return py_stub(p, r, arena_printf(p->a, "%s.%s", module, name));
}

static bool stmt_import_one(py *p, py_env *env, source_range r, const import_name *n) {
    const char *module = stmt_absolute(p, env, r, n->module);
    py_object *mod = module ? py_import(p, r, module) : NULL;
    if (!mod) return false;
    if (!n->name) {
        if (n->alias) return py_store(p, env, n->alias, mod);
        const char *dot = strchr(module, '.');
        if (!dot) return py_store(p, env, module, mod);
        const char *top = intern_n(p->names, module, (size_t)(dot - module));
        return (mod = py_import(p, r, top)) && py_store(p, env, top, mod);
    }
    if (!strcmp(n->name, "*")) return stmt_import_all(p, env, r, mod);
    py_object *o = py_find(p, r, mod, n->name);
    if (!o && py_failed(p)) return false;
    if (!o && mod->kind == PY_MODULE && mod->u.mod.is_package) { /* "from package import module" */
        char dotted[256];
        bool fits = snprintf(dotted, sizeof dotted, "%s.%s", module, n->name) < (int)sizeof dotted;
        o = fits ? py_import_found(p, r, dotted) : NULL;
        if (py_failed(p)) {
            if (!p->diag->exception || strcmp(p->diag->exception, "builtins.ModuleNotFoundError"))
                return false;
            diag_clear(p->diag);
        }
    }
    if (!o && !(o = stmt_import_lacking(p, r, mod, module, n->name))) return false;
    return py_store(p, env, n->alias ? n->alias : n->name, o);
}

static flow stmt_import(py *p, py_env *env, const stmt *s) {
    for (size_t i = 0; i < s->imports.len; i++)
        if (!stmt_import_one(p, env, s->range, &s->imports.data[i])) return FLOW_ERROR;
    return FLOW_NEXT;
}

/* ---- control flow ---------------------------------------------------------------------------- */

static flow stmt_if(py *p, py_env *env, const stmt *s) {
    py_object *c = py_eval(p, env, s->value);
    bool truth;
    if (!c || !py_truth(p, s->value->range, c, &truth)) return FLOW_ERROR;
    return stmt_block(p, env, truth ? &s->body : &s->orelse);
}

static flow stmt_while(py *p, py_env *env, const stmt *s) {
    py_iteration iteration = py_iteration_begin(p);
    for (;;) {
        py_object *c = py_step(p, s->range) ? py_eval(p, env, s->value) : NULL;
        bool truth;
        if (!c || !py_truth(p, s->value->range, c, &truth)) return FLOW_ERROR;
        if (!truth) return stmt_block(p, env, &s->orelse);
        flow f = stmt_block(p, env, &s->body);
        if (f == FLOW_BREAK) return FLOW_NEXT;
        if (f == FLOW_RETURN || f == FLOW_ERROR) return f;
        py_iteration_end(p, &iteration);
    }
}

/* One iteration of a for; FLOW_CONTINUE never comes out. */
static flow stmt_for_body(py *p, py_env *env, const stmt *s, py_object *item,
                          py_iteration *iteration) {
    if (!item || !py_step(p, s->range) || !py_assign(p, env, s->targets.data[0], item))
        return FLOW_ERROR;
    flow f = stmt_block(p, env, &s->body);
    if (f == FLOW_CONTINUE) f = FLOW_NEXT;
    if (f == FLOW_NEXT) py_iteration_end(p, iteration);
    return f;
}

static flow stmt_for(py *p, py_env *env, const stmt *s) {
    py_object *over = py_eval(p, env, s->value);
    if (!over) return FLOW_ERROR;
    flow f = FLOW_NEXT;
    if (over->kind == PY_RANGE) {
        int64_t n = py_range_len(over), at = over->u.range.start;
        py_iteration iteration = py_iteration_begin(p);
        for (int64_t i = 0; i < n && f == FLOW_NEXT; i++) {
            f = stmt_for_body(p, env, s, py_int(p, at), &iteration);
            if (i + 1 < n) at += over->u.range.step;
        }
    } else if (over->kind == PY_LIST) { /* the body may change it */
        py_iteration iteration = py_iteration_begin(p);
        for (size_t i = 0; i < over->u.seq.items.len && f == FLOW_NEXT; i++)
            f = stmt_for_body(p, env, s, over->u.seq.items.data[i], &iteration);
    } else {
        py_object **items;
        int n;
        if (!py_iterate(p, s->value->range, over, &items, &n)) return FLOW_ERROR;
        py_iteration iteration = py_iteration_begin(p);
        for (int i = 0; i < n && f == FLOW_NEXT; i++)
            f = stmt_for_body(p, env, s, items[i], &iteration);
    }
    if (f == FLOW_BREAK) return FLOW_NEXT;
    return f == FLOW_NEXT ? stmt_block(p, env, &s->orelse) : f;
}

/* ---- with, try ------------------------------------------------------------------------------- */

/* Takes the failure out of the diag, for code that runs before it is handled or goes on. NULL: it
 * cannot be caught. */
static py_object *stmt_set_aside(py *p, diag *saved) {
    py_object *e = py_caught(p);
    if (!e) return NULL;
    *saved = *p->diag;
    *p->diag = (diag){0};
    p->raised = NULL;
    return e;
}

static flow stmt_put_back(py *p, diag *saved, py_object *e) {
    diag_clear(p->diag);
    *p->diag = *saved;
    p->raised = e;
    return FLOW_ERROR;
}

static flow stmt_with_item(py *p, py_env *env, const stmt *s, size_t i);

/* The rest of a with statement, from item i on, whose manager is a generator. */
typedef struct py_with_body {
    py_env *env;
    const stmt *s;
    size_t i;
    bool ran;
    flow ended; /* how it ended, if it ran */
} py_with_body;

static flow stmt_with_rest(py *p, py_env *env, const stmt *s, size_t i, py_object *v) {
    const expr *target = s->items.data[i].target;
    if ((target && !py_assign(p, env, target, v)) || !py_deeper(p, s->items.data[i].context->range))
        return FLOW_ERROR;
    flow f = stmt_with_item(p, env, s, i + 1);
    p->depth--;
    return f;
}

py_object *py_with_yield(py *p, source_range r, py_with_body *b, py_object *v) {
    if (b->ran) return py_fail(p, r, "RuntimeError", "generator didn't stop");
    py_env *inner = p->env;
    const char *where = p->where;
    b->ran = true;
    p->env = b->env;
    b->ended = stmt_with_rest(p, b->env, b->s, b->i, v);
    p->env = inner;
    p->where = where;
    return b->ended == FLOW_ERROR ? NULL : p->none;
}

static flow stmt_with_generator(py *p, py_env *env, const stmt *s, size_t i, py_object *manager,
                                py_object *run) {
    source_range r = s->items.data[i].context->range;
    py_with_body b = {.env = env, .s = s, .i = i}, *outer = p->body;
    p->body = &b;
    py_object *o = py_call1(p, r, run, manager);
    p->body = outer;
    if (o && !b.ran) py_fail(p, r, "RuntimeError", "generator didn't yield");
    /* it took an exception */
    return py_failed(p) ? FLOW_ERROR : b.ended == FLOW_ERROR ? FLOW_NEXT : b.ended;
}

static flow stmt_with_item(py *p, py_env *env, const stmt *s, size_t i) {
    if (i == s->items.len) return stmt_block(p, env, &s->body);
    source_range r = s->items.data[i].context->range;
    py_object *manager = py_eval(p, env, s->items.data[i].context), *enter, *leave, *v;
    py_object *run = manager && manager->kind == PY_INSTANCE &&
                             !strcmp(manager->u.inst.cls->u.cls->name, "_GeneratorContext")
                         ? py_class_find(manager->u.inst.cls, "_run")
                         : NULL;
    if (run) return stmt_with_generator(p, env, s, i, manager, run);
    if (!manager || !(enter = py_getattr(p, r, manager, "__enter__")) ||
        !(leave = py_getattr(p, r, manager, "__exit__")) || !(v = py_call0(p, r, enter)))
        return FLOW_ERROR;
    flow f = stmt_with_rest(p, env, s, i, v);
    diag saved = {0};
    py_object *e = f == FLOW_ERROR ? stmt_set_aside(p, &saved) : NULL;
    if (f == FLOW_ERROR && !e) return f;
    py_object *args[] = {p->none, p->none, p->none};
    if (e) {
        args[0] = (py_object *)py_class_of(p, e);
        args[1] = e;
    }
    bool swallow = false;
    v = py_call(p, r, leave, 3, args, 0, NULL, NULL);
    if (v && !e) return f;
    bool ok = v && py_truth(p, r, v, &swallow);
    if (ok && !swallow) return stmt_put_back(p, &saved, e);
    diag_clear(&saved);
    return stmt_ok(ok);
}

static flow stmt_with(py *p, py_env *env, const stmt *s) { return stmt_with_item(p, env, s, 0); }

static bool stmt_handles(py *p, py_env *env, const except_handler *h, py_object *e, bool *out) {
    *out = true;
    if (!h->type) return true;
    py_object *t = py_eval(p, env, h->type);
    if (!t) return false;
    *out = py_isinstance(p, e, t);
    return true;
}

/* Runs the first handler that takes e; *taken: there was one. */
static flow stmt_handle(py *p, py_env *env, const stmt *s, py_object *e, bool *taken) {
    *taken = true;
    for (size_t i = 0; i < s->handlers.len; i++) {
        const except_handler *h = &s->handlers.data[i];
        bool handles;
        if (!stmt_handles(p, env, h, e, &handles)) return FLOW_ERROR;
        if (!handles) continue;
        if (h->name && !py_store(p, env, h->name, e)) return FLOW_ERROR;
        py_object *outer = p->handled;
        p->handled = e;
        flow f = stmt_block(p, env, &h->body);
        p->handled = outer;
        return f;
    }
    *taken = false;
    return FLOW_ERROR;
}

/* Would a handler of that type catch an ImportError? By its name: the type is evaluated when
 * something is caught. */
static bool stmt_catches_imports(const expr *type) {
    static const char *const names[] = {"ImportError", "ModuleNotFoundError", "Exception",
                                        "BaseException"};
    if (!type) return true;
    for (size_t i = 0; i < type->items.len; i++)
        if (type->kind == E_TUPLE && stmt_catches_imports(type->items.data[i])) return true;
    for (size_t i = 0; type->kind == E_NAME && i < sizeof names / sizeof *names; i++)
        if (!strcmp(type->name, names[i])) return true;
    return false;
}

static flow stmt_try_block(py *p, py_env *env, const stmt *s) {
    bool catches = false;
    for (size_t i = 0; i < s->handlers.len; i++)
        catches |= stmt_catches_imports(s->handlers.data[i].type);
    p->catching += catches;
    flow f = stmt_block(p, env, &s->body);
    p->catching -= catches;
    return f;
}

static flow stmt_try_body(py *p, py_env *env, const stmt *s) {
    flow f = stmt_try_block(p, env, s);
    if (f == FLOW_NEXT) return stmt_block(p, env, &s->orelse);
    diag saved;
    py_object *e = f == FLOW_ERROR ? stmt_set_aside(p, &saved) : NULL;
    if (!e) return f;
    bool taken;
    f = stmt_handle(p, env, s, e, &taken);
    if (!taken) return stmt_put_back(p, &saved, e);
    diag_clear(&saved);
    return f;
}

static flow stmt_try(py *p, py_env *env, const stmt *s) {
    flow f = stmt_try_body(p, env, s);
    if (s->final.len == 0) return f;
    diag saved = {0};
    py_object *e = f == FLOW_ERROR ? stmt_set_aside(p, &saved) : NULL, *result = env->result;
    if (f == FLOW_ERROR && !e) return f;
    flow last = stmt_block(p, env, &s->final);
    if (last != FLOW_NEXT) {
        diag_clear(&saved);
        return last;
    }
    env->result = result;
    return e ? stmt_put_back(p, &saved, e) : f;
}

/* ---- definitions ----------------------------------------------------------------------------- */

static flow stmt_decorate(py *p, py_env *env, const expr_list *decorators, const char *name,
                          py_object *o) {
    for (size_t i = decorators->len; i > 0 && o; i--) {
        const expr *x = decorators->data[i - 1];
        py_object *d = py_eval(p, env, x);
        if (!d) return FLOW_ERROR;
        o = py_call1(p, x->range, d, o);
    }
    return stmt_ok(o && py_store(p, env, name, o));
}

/* Decorators are evaluated after the definition here, in Python
 * before it; only a contrived program can observe the difference. */
static flow stmt_def(py *p, py_env *env, const stmt *s) {
    py_object *o = py_function_new(p, env, s->def);
    if (!o) return FLOW_ERROR;
    const py_dict *scope = env->vars ? env->vars : env->module->u.mod.globals;
    py_object *before = py_dict_get(scope, s->def->name);
    for (size_t i = 0; before && p->library->is_overload(before) && i < before->u.fn->overloads.len;
         i++)
        if (!avec_push(p->a, &o->u.fn->overloads, before->u.fn->overloads.data[i]))
            return diag_no_memory(p->diag), FLOW_ERROR;
    return stmt_decorate(p, env, &s->def->decorators, s->def->name, o);
}

static flow stmt_class(py *p, py_env *env, const stmt *s) {
    py_object *o = py_class_statement(p, env, s->cls);
    return o ? stmt_decorate(p, env, &s->cls->decorators, s->cls->name, o) : FLOW_ERROR;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

typedef flow (*stmt_fn)(py *p, py_env *env, const stmt *s);

static const stmt_fn stmt_table[S_KIND_COUNT] = {
    [S_EXPR] = stmt_expr,
    [S_ASSIGN] = stmt_assign,
    [S_ANN_ASSIGN] = stmt_ann_assign,
    [S_AUG_ASSIGN] = stmt_aug_assign,
    [S_IF] = stmt_if,
    [S_WHILE] = stmt_while,
    [S_FOR] = stmt_for,
    [S_RETURN] = stmt_return,
    [S_RAISE] = stmt_raise,
    [S_ASSERT] = stmt_assert,
    [S_PASS] = stmt_pass,
    [S_BREAK] = stmt_break,
    [S_CONTINUE] = stmt_continue,
    [S_DELETE] = stmt_delete,
    [S_WITH] = stmt_with,
    [S_DEF] = stmt_def,
    [S_CLASS] = stmt_class,
    [S_IMPORT] = stmt_import,
    [S_GLOBAL] = stmt_global,
    [S_TRY] = stmt_try,
};

static flow stmt_block(py *p, py_env *env, const stmt_list *body) {
    if (body->len == 0) return FLOW_NEXT;
    if (!py_deeper(p, body->data[0]->range)) return FLOW_ERROR;
    flow f = FLOW_NEXT;
    for (size_t i = 0; i < body->len && f == FLOW_NEXT; i++) {
        const stmt *s = body->data[i];
        f = py_step(p, s->range) ? stmt_table[s->kind](p, env, s) : FLOW_ERROR;
        if (f == FLOW_ERROR) {
            if (!py_failed(p))
                diag_fail_at(p->diag, CTSC_INTERNAL, s->range,
                             "a statement failed without a reason");
            diag_locate(p->diag, s->range);
        }
    }
    p->depth--;
    return f;
}

bool py_exec(py *p, py_env *env, const stmt_list *body) {
    py_env *outer = p->env, *caller = p->frame, *before = env->caller;
    p->env = p->frame = env;
    env->caller = caller == env ? before : caller;
    flow f = stmt_block(p, env, body);
    env->caller = before;
    p->env = outer;
    p->frame = caller;
    return f != FLOW_ERROR;
}
