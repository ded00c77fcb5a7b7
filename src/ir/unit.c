/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit.c - compilation units: their life, their names, and compiling functions on demand.
 *
 * Method: values that mention a unit's types keep the unit alive (value_type_ref). What the unit
 * itself holds (constants, enum members, defaults, constants in graphs) may be such values;
 * unit_close releases them, which breaks the cycle, and the last reference frees the rest.
 * Tests: tests/unit/test_unit.c
 */
#include "ir/native.h"

const unit_graphs *unit_graphs_installed;

static type *unit_no_native_class(const char *qualified) {
    (void)qualified;
    return NULL;
}
type *(*native_class)(const char *qualified) = unit_no_native_class;

static void function_free_graph(function *f) {
    if (f->graph) unit_graphs_installed->free(f->graph);
    f->graph = NULL;
}

/* ---- references ------------------------------------------------------------------------------ */

static void unit_type_ref(struct type *t) {
    if (t && t->owner) unit_ref(t->owner);
}

static void unit_type_unref(struct type *t) {
    if (t && t->owner) unit_unref(t->owner);
}

static const char *unit_type_name(const struct type *t) { return t && t->cls ? t->cls->name : ""; }

/* Values need no hooks before the first type that belongs to a unit exists. */
static void unit_install_hooks(void) {
    value_type_ref = unit_type_ref;
    value_type_unref = unit_type_unref;
    value_type_name = unit_type_name;
}

unit *unit_new(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, unit_install_hooks);
    unit *u = mem_zalloc(sizeof *u);
    if (!u) return NULL;
    if (!arena_init(&u->arena)) {
        arena_free(&u->arena);
        mem_free(u);
        return NULL;
    }
    atomic_init(&u->refs, 1);
    u->names.a = &u->arena;
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&u->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    return u;
}

unit *unit_ref(unit *u) {
    atomic_fetch_add_explicit(&u->refs, 1, memory_order_relaxed);
    return u;
}

/* The values of classes live as long as the program is open. */
static void unit_release_held(unit *u) {
    for (size_t i = 0; i < u->all_types.len; i++) {
        class_info *c = u->all_types.data[i]->cls;
        c->constants.len = 0;
        c->enum_members = NULL;
    }
    for (size_t i = 0; i < u->held.len; i++) value_unref(u->held.data[i]);
    vec_free(&u->held);
}

static void unit_drop_code(unit *u, function *f) {
    for (int i = 0; i < FUNCTION_CODES; i++) {
        if (f->code[i] && u->code_free) u->code_free(f->code[i]);
        f->code[i] = NULL;
    }
}

void unit_drop_codes(unit *u) {
    pthread_mutex_lock(&u->lock);
    for (size_t i = 0; i < u->all_functions.len; i++) unit_drop_code(u, u->all_functions.data[i]);
    pthread_mutex_unlock(&u->lock);
}

static void unit_release_function(unit *u, function *f) {
    unit_drop_code(u, f);
    function_free_graph(f);
    if (f->schema) schema_free_values(f->schema);
    if (f->state == FUNCTION_READY) f->state = FUNCTION_DECLARED;
}

void unit_close(unit *u) {
    pthread_mutex_lock(&u->lock);
    u->closed = true;
    for (size_t i = 0; i < u->all_functions.len; i++)
        unit_release_function(u, u->all_functions.data[i]);
    unit_release_held(u);
    value_set(&u->constants, value_none());
    pthread_mutex_unlock(&u->lock);
}

static void unit_drop_errors(unit *u) {
    for (size_t i = 0; i < u->all_functions.len; i++) {
        diag *e = u->all_functions.data[i]->error;
        if (e) diag_clear(e);
        mem_free(e);
    }
}

void unit_restart(unit *u) {
    for (size_t i = 0; i < u->all_functions.len; i++)
        unit_release_function(u, u->all_functions.data[i]);
    unit_drop_errors(u);
    u->all_functions.len = 0;
    strmap_free(&u->classes);
    strmap_free(&u->functions);
}

static void unit_free(unit *u) {
    unit_close(u);
    if (u->import_ctx_free) u->import_ctx_free(u->import_ctx);
    unit_drop_errors(u);
    for (size_t i = 0; i < u->sources.len; i++) source_unref(u->sources.data[i]);
    vec_free(&u->sources);
    vec_free(&u->all_functions);
    vec_free(&u->all_types);
    strmap_free(&u->classes);
    strmap_free(&u->functions);
    interner_free(&u->names);
    type_table_free(&u->types);
    pthread_mutex_destroy(&u->lock);
    arena_free(&u->arena);
    mem_free(u);
}

void unit_unref(unit *u) {
    if (u && atomic_fetch_sub_explicit(&u->refs, 1, memory_order_acq_rel) == 1) unit_free(u);
}

/* ---- values of classes ----------------------------------------------------------------------- */

bool unit_hold(unit *u, value v_take) {
    if (!value_is_counted(v_take) || vec_push(&u->held, v_take)) return true;
    value_unref(v_take);
    u->arena.failed = true;
    return false;
}

bool class_add_constant(type *cls, const char *name, value v_take, type *t) {
    unit *u = cls->cls->unit;
    constant_attribute c = {.name = name, .val = v_take, .type = t};
    if (!unit_hold(u, v_take)) return false;
    return avec_push(&u->arena, &cls->cls->constants, c) && !arena_failed(&u->arena);
}

bool class_add_members(type *cls) {
    class_info *c = cls->cls;
    value *members = arena_array(&c->unit->arena, value, c->constants.len + 1);
    if (arena_failed(&c->unit->arena)) return false;
    for (size_t i = 0; i < c->constants.len; i++) {
        enum_value *e = enum_new(cls, c->constants.data[i].name,
                                 value_ref(c->constants.data[i].val));
        if (!e || !unit_hold(c->unit, value_enum_take(e))) return false;
        members[i] = value_enum_take(e);
    }
    c->enum_members = members;
    return true;
}

/* ---- names ----------------------------------------------------------------------------------- */

function *unit_add_function(unit *u, const char *qualified, type *cls) {
    function *f = arena_new(&u->arena, function);
    f->qualified = intern(&u->names, qualified);
    const char *dot = strrchr(f->qualified, '.');
    f->name = dot ? intern(&u->names, dot + 1) : f->qualified;
    f->unit = u;
    f->cls = cls;
    if (arena_failed(&u->arena)) return NULL;
    if (!vec_push(&u->all_functions, f)) return NULL;
    if (!cls && !strmap_put(&u->functions, f->qualified, f)) return NULL;
    return f;
}

ctsc_status unit_resolve(unit *u, diag *d, const char *qualified, type **cls, function **fn) {
    ctsc_status s = CTSC_OK;
    pthread_mutex_lock(&u->lock);
    type *t = strmap_get(&u->classes, qualified);
    function *f = t ? NULL : strmap_get(&u->functions, qualified);
    if (!t && !f && u->import && !u->closed) {
        s = u->import(u, d, qualified);
        t = strmap_get(&u->classes, qualified);
        f = t ? NULL : strmap_get(&u->functions, qualified);
    }
    pthread_mutex_unlock(&u->lock);
    if (s != CTSC_OK) return s;
    if (cls) *cls = t;
    if (fn) *fn = f;
    return CTSC_OK;
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* Appends what `from` says to a diag that says nothing yet. */
static ctsc_status unit_copy_diag(diag *to, const diag *from) {
    if (!to || to->status != CTSC_OK) return from->status;
    if (!from->items.len) diag_fail(to, from->status, "%s", diag_message(from));
    for (size_t i = 0; i < from->items.len; i++) {
        const diag_item *it = &from->items.data[i];
        diag more = {0};
        if (it->kind == DIAG_ERROR)
            diag_fail_at(to->status == CTSC_OK ? to : &more, from->status, it->range, "%s",
                         it->text);
        if (it->kind == DIAG_NOTE) diag_note(to, it->range, "%s", it->text);
        if (it->kind == DIAG_FRAME) diag_frame(to, it->range, it->text);
        if (more.status != CTSC_OK) diag_append(to, &more); /* a further error */
    }
    if (from->exception) to->exception = mem_strdup(from->exception);
    return from->status;
}

/* Keeps why f does not compile, unless memory ran out: the next time may work. */
static ctsc_status function_failed(function *f, diag *d, diag *why) {
    ctsc_status s = unit_copy_diag(d, why);
    function_free_graph(f);
    f->state = FUNCTION_DECLARED;
    if (why->status != CTSC_LIMIT && (f->error = mem_alloc(sizeof *f->error))) {
        *f->error = *why;
        f->state = FUNCTION_FAILED;
    } else {
        diag_clear(why);
    }
    return s;
}

void function_refuse(function *f, const diag *why) {
    diag copy = {0};
    unit_copy_diag(&copy, why);
    function_failed(f, NULL, &copy);
}

/* What the stack holds of compilations that began one inside the other; each may
 * need as much again. */
enum { COMPILE_MAX_STACK = 2 << 20 };

/* How far the stack has grown since the outermost of the compilations under way, which is this
 * one if *outermost. */
static size_t function_stack(unit *u, bool *outermost) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    *outermost = u->stack_base == 0;
    if (*outermost) u->stack_base = here;
    return here < u->stack_base ? u->stack_base - here : here - u->stack_base;
}

static ctsc_status function_compile_here(function *f, diag *d);

static ctsc_status function_compile(function *f, diag *d) {
    bool outermost;
    if (function_stack(f->unit, &outermost) > COMPILE_MAX_STACK)
        return diag_fail_at(d, CTSC_LIMIT, f->range,
                            "calls of functions that are not compiled yet nest too deeply at '%s'",
                            f->name);
    ctsc_status s = function_compile_here(f, d);
    if (outermost) f->unit->stack_base = 0;
    return s;
}

static ctsc_status function_compile_here(function *f, diag *d) {
    unit *u = f->unit;
    if (u->closed || !u->compile)
        return diag_fail_at(d, CTSC_FAILED, f->range,
                            "function '%s' cannot be compiled: its program is closed", f->name);
    diag why = {0};
    f->state = FUNCTION_COMPILING;
    ctsc_status s = u->compile(f, &why);
    if (s == CTSC_OK && f->graph && !unit_graphs_installed->failed(f->graph)) {
        f->state = FUNCTION_READY;
        diag_clear(&why);
        return CTSC_OK;
    }
    if (why.status == CTSC_OK) {
        if (s == CTSC_OK || s == CTSC_LIMIT) diag_no_memory(&why);
        else diag_fail(&why, s, "function '%s' does not compile", f->name);
    }
    return function_failed(f, d, &why);
}

ctsc_status function_ensure_compiled(function *f, diag *d) {
    ctsc_status s = CTSC_OK;
    pthread_mutex_lock(&f->unit->lock);
    switch (f->state) {
    case FUNCTION_READY: break;
    case FUNCTION_COMPILING: /* by this thread, which has the lock */
        s = diag_fail(d, CTSC_FAILED,
                      "function '%s' is called recursively. Recursive calls are not supported",
                      f->name); /* the caller knows the place of the call */
        break;
    case FUNCTION_FAILED: s = unit_copy_diag(d, f->error); break;
    case FUNCTION_DECLARED: s = function_compile(f, d); break;
    }
    pthread_mutex_unlock(&f->unit->lock);
    return s;
}

/* As PyTorch has it: __getstate__(self) -> T and __setstate__(self, T) -> None. */
bool class_has_own_state(const type *cls) {
    function *get = class_find_method(cls, "__getstate__"),
             *set = class_find_method(cls, "__setstate__");
    if (!get || !set) return false;
    /* its type may be known only then */
    if (!get->return_declared && function_ensure_compiled(get, NULL) != CTSC_OK) return false;
    return get->schema->nargs == 1 && set->schema->nargs == 2 &&
           set->schema->args[1].type == get->schema->returns[0].type;
}
