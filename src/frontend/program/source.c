/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.c - compiles a Python file: runs it, finds its entry, builds the module, compiles all that
 * the entry can reach.
 *
 * Every function is compiled on its own, so that one run reports every independent error; a
 * function that fails because one it calls fails brings the same error again, which is dropped.
 *
 * Ownership: the program is the unit's import_ctx and dies with it. Objects made while compiling
 * are held until the end, then only the root keeps them.
 * Tests: tests/lang, tests/corpus
 */
#include "frontend/program/source.h"
#include "frontend/pyeval/torch/py_torch.h"
#include "ir/graph/unit_copy.h"

void *source_fail(program *g, source_range r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    diag_fail_v(g->py.diag, CTSC_FAILED, r, fmt, ap);
    va_end(ap);
    return NULL;
}

/* What the compiler holds of the program while it compiles. */
static void source_release(program *g) {
    for (size_t i = 0; i < g->held.len; i++) value_unref(g->held.data[i]);
    /* defaults could keep the unit alive for ever */
    for (size_t i = 0; i < g->class_types.cap; i++) {
        class_source *c = g->class_types.slots[i].value;
        if (c && c->type->field_defaults) c->type->field_defaults = NULL;
    }
    for (size_t i = 0; i < g->defaults.len; i++) value_unref(g->defaults.data[i]);
    vec_free(&g->held);
    vec_free(&g->defaults);
    ptrmap_free(&g->objects);
    unit_copy_free(g->archives);
    g->archives = NULL;
}

/* ... and what it has declared. */
static void source_forget(program *g) {
    source_release(g);
    ptrmap_free(&g->functions);
    ptrmap_free(&g->classes);
    ptrmap_free(&g->class_types);
    ptrmap_free(&g->modules);
    ptrmap_free(&g->callers);
    vec_free(&g->module_types);
    vec_free(&g->pending);
    g->specializations.len = 0;
    g->finished = 0;
    g->mangled = 0;
}

static void source_free(void *ctx) {
    program *g = ctx;
    source_forget(g);
    strmap_free(&g->expansions);
    py_free(&g->py);
    mem_free(g);
}

/* ---- the entry ------------------------------------------------------------------------------- */

static bool source_mentions_stmts(const stmt_list *body, const char *name);

static bool source_mentions(const expr *x, const char *name) {
    if (!x) return false;
    if (x->kind == E_NAME) return !strcmp(x->name, name);
    if (source_mentions(x->a, name) || source_mentions(x->b, name) || source_mentions(x->c, name))
        return true;
    for (size_t i = 0; i < x->items.len; i++)
        if (source_mentions(x->items.data[i], name)) return true;
    for (size_t i = 0; i < x->keys.len; i++)
        if (source_mentions(x->keys.data[i], name)) return true;
    for (size_t i = 0; i < x->kwargs.len; i++)
        if (source_mentions(x->kwargs.data[i].value, name)) return true;
    return false;
}

static bool source_mentions_list(const expr_list *xs, const char *name) {
    for (size_t i = 0; i < xs->len; i++)
        if (source_mentions(xs->data[i], name)) return true;
    return false;
}

static bool source_mentions_def(const func_def *def, const char *name) {
    for (size_t i = 0; i < def->params.len; i++)
        if (source_mentions(def->params.data[i].annotation, name) ||
            source_mentions(def->params.data[i].default_value, name))
            return true;
    return source_mentions_stmts(&def->body, name);
}

static bool source_mentions_class(const class_def *c, const char *name) {
    return source_mentions_list(&c->bases, name) || source_mentions_stmts(&c->body, name);
}

static bool source_mentions_stmts(const stmt_list *body, const char *name) {
    for (size_t i = 0; i < body->len; i++) {
        const stmt *st = body->data[i];
        if (source_mentions_list(&st->targets, name) || source_mentions(st->value, name) ||
            source_mentions(st->annotation, name) || source_mentions(st->message, name) ||
            source_mentions_stmts(&st->body, name) || source_mentions_stmts(&st->orelse, name))
            return true;
        for (size_t k = 0; k < st->items.len; k++)
            if (source_mentions(st->items.data[k].context, name)) return true;
        if ((st->def && source_mentions_def(st->def, name)) ||
            (st->cls && source_mentions_class(st->cls, name)))
            return true;
    }
    return false;
}

/* What a file offers: its own functions and classes. */
typedef enum source_offer {
    OFFER_NONE,
    OFFER_MODULE,
    OFFER_SCRIPTED,
    OFFER_FUNCTION,
    OFFER_INSTANCE
} source_offer;

static source_offer source_offers(const program *g, const py_object *o) {
    if (o->kind == PY_CLASS && o->u.cls->kind == PYC_MODULE && o->u.cls->def &&
        o->u.cls->module == g->main)
        return OFFER_MODULE;
    if (o->kind == PY_INSTANCE && o->u.inst.cls->u.cls->kind == PYC_MODULE) return OFFER_INSTANCE;
    if (o->kind != PY_FUNCTION || !o->u.fn->def || o->u.fn->module != g->main) return OFFER_NONE;
    return o->u.fn->mode == PY_SCRIPT ? OFFER_SCRIPTED : OFFER_FUNCTION;
}

/* Is it used by another class of the file, or by a function that is itself used? (One that is not
 * makes modules for others.) */
static bool source_used(const program *g, const char *name, const py_object *self, bool by_any,
                        int depth) {
    const py_dict *d = g->main->u.mod.globals;
    for (size_t i = 0; i < d->entries.len; i++) {
        const py_dict_entry *en = &d->entries.data[i];
        if (!en->key || en->val == self) continue;
        const py_object *o = en->val;
        if (o->kind == PY_CLASS && o->u.cls->def && o->u.cls->module == g->main &&
            source_mentions_class(o->u.cls->def, name))
            return true;
        if (o->kind == PY_FUNCTION && o->u.fn->def && o->u.fn->module == g->main &&
            source_mentions_def(o->u.fn->def, name) &&
            (by_any || depth > 8 || source_used(g, o->u.fn->def->name, o, false, depth + 1)))
            return true;
    }
    return false;
}

/* The only unused one of a kind; NULL with *n counting them otherwise. */
static py_object *source_only(const program *g, source_offer kind, int *n) {
    const py_dict *d = g->main->u.mod.globals;
    py_object *found = NULL;
    *n = 0;
    for (size_t i = 0; i < d->entries.len; i++) {
        const py_dict_entry *en = &d->entries.data[i];
        const char *name = py_as_text(en->key);
        if (!name || source_offers(g, en->val) != kind ||
            source_used(g, name, en->val, kind != OFFER_MODULE, 0))
            continue;
        if (en->val != found) ++*n;
        found = en->val;
    }
    return *n == 1 ? found : NULL;
}

static void source_list_candidates(program *g, strbuf *out) {
    static const char *const what[] = {"", "class", "function", "function", "module"};
    const py_dict *d = g->main->u.mod.globals;
    int n = 0;
    for (size_t i = 0; i < d->entries.len; i++) {
        const py_dict_entry *en = &d->entries.data[i];
        const char *name = py_as_text(en->key);
        source_offer o = name ? source_offers(g, en->val) : OFFER_NONE;
        if (o != OFFER_NONE) sb_printf(out, "%s%s %s", n++ ? ", " : "", what[o], name);
    }
    if (!n) sb_puts(out, "none");
}

static py_object *source_no_entry(program *g, const char *name, const char *wanted,
                                  const char *why) {
    strbuf sb = STRBUF_INIT;
    source_list_candidates(g, &sb);
    diag_fail(g->py.diag, wanted ? CTSC_USAGE : CTSC_FAILED, "%s: %s; candidates: %s", name, why,
              sb_str(&sb));
    sb_free(&sb);
    const py_dict *d = g->main->u.mod.globals;
    suggestion s = {.wanted = wanted};
    for (size_t i = 0; wanted && i < d->entries.len; i++)
        if (d->entries.data[i].key && source_offers(g, d->entries.data[i].val) != OFFER_NONE)
            suggest_try(&s, py_as_text(d->entries.data[i].key));
    suggest_note(g->py.diag, &s);
    return NULL;
}

static py_object *source_named_entry(program *g, const char *wanted, const char *name) {
    py_object *e = py_dict_get(g->main->u.mod.globals, wanted);
    /* imported ones too */
    bool module_class = e && e->kind == PY_CLASS && e->u.cls->kind == PYC_MODULE;
    if (e && (module_class || e->kind == PY_FUNCTION || source_offers(g, e) != OFFER_NONE))
        return e;
    bool callable = e && !py_is_missing(e) && py_find(&g->py, (source_range){0}, e, "__call__");
    if (callable || g->py.diag->status != CTSC_OK) return callable ? e : NULL;
    char text[256];
    if (py_is_missing(e)) return py_fail_missing(&g->py, e->u.mod.wanted, e);
    snprintf(text, sizeof text,
             e ? "'%.100s' is not a function, module class or module"
               : "there is no function or module class '%.100s'",
             wanted);
    return source_no_entry(g, name, wanted, text);
}

/* Parameters that a call without arguments would miss. */
static bool source_needs_arguments(const func_def *def, bool method) {
    for (size_t i = method; i < def->params.len; i++) {
        const param *a = &def->params.data[i];
        if (!a->default_value && !a->star && !a->star_star) return true;
    }
    return false;
}

static bool source_class_needs_arguments(const py_object *cls) {
    const py_object *init = py_class_find(cls, "__init__");
    return init && init->kind == PY_FUNCTION && init->u.fn->def &&
           source_needs_arguments(init->u.fn->def, true);
}

/* The module that a file has trained: the one it gives to torch.jit.script, else the only one that
 * it has built. NULL without an error: it has none. */
static py_object *source_trained(program *g, const char *name) {
    const py_dict *d = g->main->u.mod.globals;
    py_object *found = NULL;
    int n = 0;
    for (int scripted = 1; scripted >= 0 && !n; scripted--)
        for (size_t i = 0; i < d->entries.len; i++) {
            py_object *o = d->entries.data[i].key ? d->entries.data[i].val : NULL;
            if (!o || o == found || source_offers(g, o) != OFFER_INSTANCE) continue;
            if (o->u.inst.scripted < scripted) continue;
            found = o;
            n++;
        }
    if (n > 1)
        return source_no_entry(
            g, name, NULL,
            "several modules could be what was trained; give one to torch.jit.script, or name it "
            "with --entry NAME");
    return found;
}

/* The module that the file builds, or else the class that it defines, after the last trace: of that
 * what was traced is a part. */
static py_object *source_with_traces(program *g, const py_object *last) {
    const py_dict *d = g->main->u.mod.globals;
    py_object *found[2] = {NULL};
    int n[2] = {0};
    bool after = false;
    for (size_t i = 0; i < d->entries.len; i++) {
        py_object *o = d->entries.data[i].key ? d->entries.data[i].val : NULL;
        after |= o == last;
        if (!o || !after || ptrmap_get(&g->py.traced, o)) continue;
        int offer = source_offers(g, o), k = offer == OFFER_INSTANCE ? 0 : 1;
        if (offer != OFFER_INSTANCE && offer != OFFER_MODULE) continue;
        n[k] += o != found[k];
        found[k] = o;
    }
    return n[0] == 1 ? found[0] : n[0] == 0 && n[1] == 1 ? found[1] : NULL;
}

/* Classes come before functions, which mostly build on them. A module that the file has
 * built itself replaces its class where that takes arguments, or where there are several. */
static py_object *source_entry(program *g, const source_options *o, const char *name) {
    const py_dict *globals = g->main->u.mod.globals;
    if (o->entry) return source_named_entry(g, o->entry, name);
    py_object *e, *traced = NULL;
    int traces = 0;
    for (size_t i = 0; i < globals->entries.len; i++) {
        py_object *v = globals->entries.data[i].key ? globals->entries.data[i].val : NULL;
        if (!v || v == traced || !ptrmap_get(&g->py.traced, v)) continue;
        traced = v;
        traces++;
    }
    if (traced && (e = source_with_traces(g, traced))) return e;
    if (traces > 1)
        return source_no_entry(g, name, NULL,
                               "several things are traced, name one with --entry NAME");
    if (traced) return traced;
    if (g->py.records && ((e = source_trained(g, name)) || g->py.diag->status != CTSC_OK)) return e;
    e = py_dict_get(globals, "forward");
    if (e && e->kind == PY_FUNCTION) return e;
    e = py_dict_get(globals, "Main");
    if (e && source_offers(g, e) == OFFER_MODULE) return e;
    int scripted, modules, functions, instances;
    py_object *module = source_only(g, OFFER_MODULE, &modules),
              *instance = source_only(g, OFFER_INSTANCE, &instances);
    if (instance && (modules != 1 || source_class_needs_arguments(module))) return instance;
    if (module && source_class_needs_arguments(module)) { /* a function of the file may know them */
        py_object *factory = source_only(g, OFFER_FUNCTION, &functions);
        if (factory && !source_needs_arguments(factory->u.fn->def, false)) return factory;
        if (functions > 1)
            return source_no_entry(
                g, name, NULL,
                "the module's class takes arguments; name what is to be built with --entry NAME");
    }
    if (module) return module;
    if (modules + instances > 1)
        return source_no_entry(g, name, NULL,
                               "several modules could be the entry, name one with --entry NAME");
    if ((e = source_only(g, OFFER_SCRIPTED, &scripted))) return e;
    if (scripted == 0 && (e = source_only(g, OFFER_FUNCTION, &functions))) return e;
    return source_no_entry(g, name, NULL,
                           scripted == 0 && functions == 0
                               ? "nothing to compile was found"
                               : "there are several entries: name one (--entry NAME)");
}

/* ---- building the entry ---------------------------------------------------------------------- */

static void source_seed(program *g, const source_options *o) {
    if (g->py.host.seed) g->py.host.seed(g->py.host.ctx, o->seed);
}

static bool source_is_module_instance(const py_object *o) {
    return o->kind == PY_INSTANCE && o->u.inst.cls->u.cls->kind == PYC_MODULE;
}

/* Could a call without arguments give a module? A function that is to be compiled takes arguments,
 * or says what it returns. */
static bool source_may_be_factory(program *g, const py_object *entry, bool *ok) {
    const py_function *fn = entry->u.fn;
    if (fn->mode != PY_DEFAULT || !fn->def || source_needs_arguments(fn->def, false) ||
        !strcmp(fn->def->name, "forward"))
        return false;
    const expr *returns = fn->def->returns;
    if (!returns) return true;
    py_env env = {.outer = fn->closure, .module = fn->module};
    py_object *t = returns->kind == E_STR ? NULL : py_eval(&g->py, &env, returns);
    *ok = t || returns->kind == E_STR;
    return !t || (t->kind == PY_CLASS && t->u.cls->is_module);
}

/* ---- compiling ------------------------------------------------------------------------------- */

static bool source_has_error(const diag *all, const diag_item *e) {
    for (size_t i = 0; i < all->items.len; i++) {
        const diag_item *k = &all->items.data[i];
        if (k->kind == DIAG_ERROR && !strcmp(k->text, e->text) && k->range.src == e->range.src &&
            k->range.begin == e->range.begin)
            return true;
    }
    return false;
}

/* Adds the errors that are not there already: a caller fails with its callee's errors. */
static void source_add_error(diag *all, diag *one) {
    size_t kept = 0;
    bool keep = true;
    for (size_t i = 0; i < one->items.len; i++) {
        diag_item *it = &one->items.data[i];
        if (it->kind == DIAG_ERROR) keep = !source_has_error(all, it);
        if (keep) {
            one->items.data[kept++] = *it;
        } else {
            mem_free(it->text);
            source_unref(it->range.src);
        }
    }
    bool any = kept > 0 || one->items.len == 0; /* an error can be without words */
    one->items.len = kept;
    if (any) diag_append(all, one);
    else diag_clear(one);
}

static void source_declare_mentioned(program *g, const scope *s, const stmt_list *body);

/* Declares the function that an expression calls: name(...) or self.name(...). */
static void source_declare_called(program *g, const scope *s, const expr *x) {
    if (!x) return;
    const expr *f = x->kind == E_CALL ? x->a : NULL;
    py_object *o = f && f->kind == E_NAME ? py_lookup(&g->py, s->env, f->name) : NULL;
    if (o && o->kind == PY_FUNCTION && o->u.fn->def && o->u.fn->module == g->main &&
        o->u.fn->mode <= PY_SCRIPT && !o->u.fn->overloads.len)
        source_function(g, x->range, o);
    if (f && f->kind == E_ATTR && f->a->kind == E_NAME && s->module &&
        s->fn->u.fn->def->params.len && !strcmp(f->a->name, s->fn->u.fn->def->params.data[0].name))
        source_module_method(g, s->module, f->name);
    source_declare_called(g, s, x->a);
    source_declare_called(g, s, x->b);
    source_declare_called(g, s, x->c);
    for (size_t i = 0; i < x->items.len; i++) source_declare_called(g, s, x->items.data[i]);
    for (size_t i = 0; i < x->kwargs.len; i++) source_declare_called(g, s, x->kwargs.data[i].value);
}

static void source_declare_mentioned(program *g, const scope *s, const stmt_list *body) {
    for (size_t i = 0; i < body->len; i++) {
        const stmt *st = body->data[i];
        source_declare_called(g, s, st->value);
        source_declare_mentioned(g, s, &st->body);
        source_declare_mentioned(g, s, &st->orelse);
    }
}

/* What a function that failed would have called is compiled all the same, for its errors. */
static void source_after_failure(program *g, const function *f, diag *all) {
    diag d = {0};
    const scope *s = f->scope;
    if (s->fn->u.fn->module != g->main) return;
    diag *outer = diag_redirect(&g->py.diag, &d);
    source_declare_mentioned(g, s, &((const func_def *)f->def)->body);
    diag_restore(&g->py.diag, outer);
    if (d.status != CTSC_OK) source_add_error(all, &d);
    diag_clear(&d);
}

/* Is it a method of a class whose attributes are unknown, because __init__ failed? */
static bool source_is_orphan(const function *f) {
    const function *init = f->cls && !f->cls->cls->is_module ? class_find_method(f->cls, "__init__")
                                                             : NULL;
    return init && init != f && init->state == FUNCTION_FAILED;
}

typedef struct source_failure { function *f; diag why; } source_failure;
typedef VEC(source_failure) failure_list;

/* Compiles the functions from the *at-th on that have not been compiled, with those that are
 * declared on the way. */
static bool source_compile_from(program *g, size_t *at, failure_list *failures) {
    for (; *at < g->unit->all_functions.len; ++*at) {
        function *f = g->unit->all_functions.data[*at];
        if (f->state == FUNCTION_READY || !f->scope || !f->schema ||
            (f->cls && f->cls->kind == T_INTERFACE) || source_is_orphan(f))
            continue;
        source_failure one = {.f = f};
        if (function_ensure_compiled(f, &one.why) == CTSC_OK) continue;
        bool limit = one.why.status == CTSC_LIMIT;
        if (!vec_push(failures, one)) return diag_clear(&one.why), false;
        if (limit) return true;
    }
    return true;
}

/* Everything declared, and what that declares on the way. */
ctsc_status source_compile_all(program *g, diag *d) {
    diag all = {0};
    failure_list failures = {0};
    bool ok = true;
    for (size_t at = 0, reported = 0; ok && all.status != CTSC_LIMIT;) {
        ok = source_compile_from(g, &at, &failures);
        if (reported == failures.len) break;
        for (; reported < failures.len; reported++) {
            source_failure *one = &failures.data[reported];
            if (one->why.status != CTSC_LIMIT && source_given_up(g, one->f)) {
                diag_clear(&one->why);
                continue;
            }
            source_add_error(&all, &one->why);
            source_after_failure(g, one->f, &all);
        }
    }
    for (size_t i = 0; i < failures.len; i++) diag_clear(&failures.data[i].why);
    vec_free(&failures);
    if (!ok) return diag_clear(&all), diag_no_memory(d);
    if (all.status == CTSC_OK) return CTSC_OK;
    ctsc_status s = all.status;
    diag_append(d, &all);
    return s;
}

bool source_placeholder(program *g, value *root) {
    unit *u = g->unit;
    type *t = type_class_new(u, T_CLASS, "__torch__.PlaceholderModule");
    t->cls->is_module = true;
    attribute training = {.name = intern(&u->names, "training"), .type = TYPE_BOOL};
    bool ok = strmap_put(&u->classes, class_name(t), t) &&
              avec_push(&u->arena, &t->cls->attributes, training);
    object *o = ok ? object_new(t, 1) : NULL;
    if (!o) return diag_no_memory(g->py.diag), false;
    o->slots[0] = value_bool(true);
    *root = value_object_take(o);
    return true;
}

/* A function as torch.jit.save writes it: the method forward of a module that has nothing else. */
static bool source_function_module(program *g, function *f, value *root) {
    unit *u = g->unit;
    diag *d = g->py.diag;
    if (!source_placeholder(g, root)) return false;
    type *t = root->u.object->cls;
    function *m = unit_add_function(u, "__torch__.PlaceholderModule.forward", t);
    graph *copy = graph_clone(f->graph);
    if (!m || !copy || !avec_push(&u->arena, &t->cls->methods, m)) {
        if (copy) graph_free(copy);
        return diag_no_memory(d), false;
    }
    m->graph = copy;
    schema *sc = m->schema = arena_new(&u->arena, schema);
    *sc = *f->schema;
    sc->name = m->name;
    sc->nargs = f->schema->nargs + 1;
    sc->args = arena_array(&u->arena, argument, sc->nargs);
    if (!sc->args) return sc->nargs = 0, diag_no_memory(d), false;
    sc->args[0] = (argument){.name = "self", .type = t};
    for (int i = 1; i < sc->nargs; i++) {
        sc->args[i] = f->schema->args[i - 1];
        value_ref(sc->args[i].default_value);
    }
    m->return_declared = true;
    m->range = f->range;
    ir_value *self = block_insert_param(copy->root, 0, t);
    if (arena_failed(&copy->arena) || arena_failed(&u->arena)) return diag_no_memory(d), false;
    value_set_name(self, "self");
    m->state = FUNCTION_READY;
    return true;
}

/* module.name(args) */
static bool source_call_method(program *g, source_range r, py_object *module, const char *name,
                               int nargs, py_object **args) {
    py_object *method = py_getattr(&g->py, r, module, name);
    return method && py_call(&g->py, r, method, nargs, args, 0, NULL, NULL);
}

bool source_prepare(program *g, source_range r, py_object *module, const source_options *o) {
    if (!source_module_initialized(g, r, module)) return false;
    if (o->state) {
        py_object *state = py_from_value(&g->py, value_ref(*o->state)),
                  *file = py_text(&g->py, o->state_file);
        py_object *home = py_import(&g->py, r, "torch._weights"),
                  *load = home ? py_getattr(&g->py, r, home, "load") : NULL;
        py_object *args[] = {module, state, file};
        if (!load || !state || !file || !py_call(&g->py, r, load, 3, args, 0, NULL, NULL))
            return false;
    }
    return !o->eval || source_call_method(g, r, module, "eval", 0, NULL);
}

/* What the file marks with @torch.jit.script is compiled whether or not the entry uses it: PyTorch
 * does so when it meets the mark. */
static void source_declare_scripted(program *g) {
    const py_dict *globals = g->main->u.mod.globals;
    for (size_t i = 0; i < globals->entries.len; i++) {
        const py_dict_entry *e = &globals->entries.data[i];
        py_object *o = e->val;
        if (!e->key) continue;
        if (o->kind == PY_FUNCTION && o->u.fn->mode == PY_SCRIPT && o->u.fn->module == g->main)
            source_function(g, o->u.fn->def->range, o);
        else if (o->kind == PY_CLASS && o->u.cls->is_script && o->u.cls->module == g->main &&
                 o->u.cls->def)
            source_class(g, o->u.cls->def->range, o);
    }
}

/* That the class is called at its own place is not part of the program: the note
 * says what happened. */
static void source_drop_frame(diag *d, source_range r) {
    diag_item *last = d->items.len ? &d->items.data[d->items.len - 1] : NULL;
    if (last && last->kind == DIAG_FRAME && last->range.src == r.src &&
        last->range.begin == r.begin)
        last->kind = DIAG_DROPPED;
}

/* Calls a class, or another callable, without arguments. */
static py_object *source_construct(program *g, const source_options *o, py_object *entry,
                                   source_range *r) {
    diag *d = g->py.diag;
    const char *name = entry->kind == PY_CLASS ? entry->u.cls->name : py_type_name(entry);
    if (entry->kind == PY_CLASS && entry->u.cls->def) *r = entry->u.cls->def->range;
    source_seed(g, o);
    py_object *made = py_call(&g->py, *r, entry, 0, NULL, 0, NULL, NULL);
    if (!made) {
        source_drop_frame(d, *r);
        diag_note(d, *r, "'%s' was built as the program's entry, without arguments", name);
    } else if (!source_is_module_instance(made)) {
        return source_fail(
            g, *r, "the entry gives an object of type '%s' when it is called, and no module",
            py_type_name(made));
    }
    return made;
}

static bool source_compile_once(program *g, source_range r, py_object *module, diag *d,
                                value *root) {
    diag *outer = diag_redirect(&g->py.diag, d);
    bool ok = source_module_object(g, r, module, root);
    if (ok) source_declare_scripted(g);
    if (ok) ok = source_compile_all(g, d) == CTSC_OK;
    diag_restore(&g->py.diag, outer);
    return ok;
}

/* Instances share types as in PyTorch, and objects of plain classes have none, unless the program
 * compiles only with types of their own. If it does not compile then either, the errors are those
 * of the first attempt. */
static bool source_compile_module(program *g, source_range r, py_object *module, diag *d,
                                  value *root) {
    enum { MOST_ATTEMPTS = 16 };
    diag first = {0}, again = {0};
    size_t known = g->distinctions.len + g->wanted.len;
    bool ok = source_compile_once(g, r, module, &first, root);
    for (int i = 1; !ok && g->distinctions.len + g->wanted.len > known && i < MOST_ATTEMPTS &&
                    first.status == CTSC_FAILED;
         i++) {
        known = g->distinctions.len + g->wanted.len;
        diag_clear(&again);
        value_set(root, value_none());
        source_forget(g);
        unit_restart(g->unit);
        ok = source_compile_once(g, r, module, &again, root);
    }
    g->py.raised = NULL;
    diag_clear(ok ? &first : &again);
    if (ok) diag_clear(&again);
    else diag_append(d, &first);
    return ok;
}

static bool source_build(program *g, const source_options *o, const char *name,
                         source_result *out) {
    diag *d = g->py.diag;
    py_object *entry = source_entry(g, o, name);
    bool ok = entry != NULL;
    if (ok && entry->kind == PY_FUNCTION && source_may_be_factory(g, entry, &ok)) {
        source_seed(g, o);
        py_object *made = py_call(&g->py, entry->u.fn->def->range, entry, 0, NULL, 0, NULL, NULL);
        ok = made != NULL;
        if (ok && source_is_module_instance(made)) entry = made;
    }
    if (!ok) return false;
    const py_object *traced = o->trace ? NULL : ptrmap_get(&g->py.traced, entry);
    if (traced) return source_trace_noted(g, entry, traced, o, out);
    if (entry->kind == PY_FUNCTION && o->trace)
        return source_trace(g, entry->u.fn->def->range, entry, o, out);
    if (entry->kind == PY_FUNCTION) {
        function *f = source_function(g, entry->u.fn->def->range, entry);
        if (f) source_declare_scripted(g);
        if (!f || source_compile_all(g, d) != CTSC_OK || !source_function_module(g, f, &out->root))
            return false;
        out->entry = f;
        return true;
    }
    source_range r = {0};
    if (!source_is_module_instance(entry) && !(entry = source_construct(g, o, entry, &r)))
        return false;
    if (!source_prepare(g, r, entry, o)) return false;
    return o->trace ? source_trace(g, r, entry, o, out)
                    : source_compile_module(g, r, entry, d, &out->root);
}

ctsc_status source_compile(diag *d, unit *u, const py_host *host, const source_options *o,
                           const char *name, source *src, source_result *out) {
    program *g = mem_zalloc(sizeof *g);
    if (!g) return diag_no_memory(d);
    g->unit = u;
    u->compile = irgen_function;
    u->import_ctx = g;
    u->import_ctx_free = source_free;
    source_result r = {.root = value_none()};
    bool ok = py_init(&g->py, &u->arena, &u->names, d, host, &py_torch_library);
    g->py.sources = (void *)&u->sources;
    if (ok) source_seed(g, o);
    g->main = ok ? py_run_module(&g->py, name, src) : NULL;
    ok = g->main && source_build(g, o, name, &r);
    if (ok && arena_failed(&u->arena)) ok = false;
    source_release(g);
    if (!ok) {
        value_unref(r.root);
        return d->status != CTSC_OK ? d->status : diag_no_memory(d);
    }
    *out = r;
    return CTSC_OK;
}
