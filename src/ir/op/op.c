/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op.c - the operator registry: the index, looking up, registering.
 *
 * Method: at first use the embedded schema text is cut into lines and indexed by name, without
 * parsing. A name's overloads are parsed when it is first looked up and published as one immutable
 * array (an op_set), so that lookups of known names take no lock. Registering makes a new array;
 * arrays that were handed out stay valid, since nothing here is ever freed.
 *
 * Ownership: all of it lives as long as the process and stays reachable from the statics below.
 * Tests: tests/unit/test_ops.c
 */
#include "ir/op/op_derive.h"
#include "ir/op/op_family.h"

#include "base/map.h"
#include "base/text/embed.h"

#include <pthread.h>

EMBED(op_schemas, "src/ir/op/schemas.txt")
EMBED(op_schemas_2, "src/ir/op/schemas_2.txt")

/* All overloads of a name at one time. */
typedef struct op_set {
    struct op_set *older; /* what it replaced */
    int n;
    const op *ops[];
} op_set;

typedef struct op_line {
    const char *text;
    size_t len;
    bool recent;          /* came after PyTorch 1.13 */
    struct op_line *next; /* the name's next overload, in file order */
} op_line;

typedef struct op_group {
    const char *name;
    op_line *first, *last;
    _Atomic(op_set *) set; /* NULL: not parsed yet */
} op_group;

/* Built once, then only read: its groups' sets change, its keys do not. */
typedef struct op_index {
    strmap groups, bindings, quantised;
    strmap lowered, called; /* rules by name; names of functions by key */
    VEC(op_group *) order;  /* as in the file */
    arena arena;
} op_index;

/* Schemas are parsed into the newest arena; an
 * arena that is full is kept with what it holds. */
typedef struct op_arena {
    arena arena;
    struct op_arena *older;
} op_arena;

static pthread_mutex_t op_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(op_index *) op_builtin;
static op_arena *op_arenas;
static pthread_rwlock_t op_user_lock = PTHREAD_RWLOCK_INITIALIZER;
static strmap
    op_user; /* names that only registered operators have; its keys are the groups' names */
static atomic_bool op_user_any;
static VEC(op_group *) op_user_order;

static const op_host op_no_host = {.builtin = {.keys = ""}, .quantised = {.keys = ""}};
const op_host *op_host_installed = &op_no_host;

/* ---- the index ------------------------------------------------------------------------------- */

/* Length of the name in "aten::add.Tensor(...": up to the first '.' or '('. */
static size_t op_name_length(const char *text, size_t len) {
    size_t n = 0;
    while (n < len && text[n] != '.' && text[n] != '(') n++;
    return n;
}

static bool op_index_line(op_index *x, const char *text, size_t len, bool recent) {
    size_t n = op_name_length(text, len);
    op_group *g = strmap_getn(&x->groups, text, n);
    if (!g) {
        g = arena_new(&x->arena, op_group);
        g->name = arena_strndup(&x->arena, text, n);
        if (arena_failed(&x->arena) || !strmap_putn(&x->groups, g->name, n, g) ||
            !vec_push(&x->order, g))
            return false;
    }
    op_line *l = arena_new(&x->arena, op_line);
    *l = (op_line){text, len, recent, NULL};
    if (arena_failed(&x->arena)) return false;
    if (g->last) g->last->next = l;
    else g->first = l;
    g->last = l;
    return true;
}

static void op_index_free(op_index *x) {
    strmap_free(&x->groups);
    strmap_free(&x->bindings);
    strmap_free(&x->quantised);
    strmap_free(&x->lowered);
    strmap_free(&x->called);
    vec_free(&x->order);
    arena_free(&x->arena);
    mem_free(x);
}

/* Rows' numbers, from 1. */
static bool op_index_bindings(strmap *map, const op_bindings *table) {
    uintptr_t row = 0;
    for (const char *key = table->keys; *key; key = op_next_key(key))
        if (!strmap_putn(map, key, strcspn(key, CALLED("")), (void *)++row)) return false;
    return true;
}

static bool op_index_text(op_index *x, embedded *from, bool recent) {
    size_t len;
    const char *text = embedded_text(from, &len), *end = text + len;
    bool ok = text != NULL;
    for (const char *p = text; ok && p < end;) {
        const char *e = memchr(p, '\n', (size_t)(end - p));
        if (!e) e = end;
        if (e > p) ok = op_index_line(x, p, (size_t)(e - p), recent);
        p = e + 1;
    }
    return ok;
}

static bool op_index_lowered(strmap *map) {
    for (uintptr_t i = LOWER_NONE + 1; i < LOWERED_COUNT; i++)
        if (!strmap_put(map, lowered_text((lowered_op)i), (void *)i)) return false;
    return true;
}

/* The names that rows have after their keys. */
static bool op_index_called(strmap *map, const op_bindings *table) {
    for (const char *key = table->keys; *key; key = op_next_key(key)) {
        const char *name = strstr(key, CALLED(""));
        if (name && !strmap_putn(map, key, (size_t)(name - key), (void *)(name + 1))) return false;
    }
    return true;
}

static op_index *op_index_new(void) {
    op_index *x = mem_zalloc(sizeof *x);
    if (!x) return NULL;
    bool ok = arena_init(&x->arena) && op_index_text(x, &op_schemas, false) &&
              op_index_text(x, &op_schemas_2, true);
    ok = ok && op_index_bindings(&x->bindings, &op_host_installed->builtin) &&
         op_index_bindings(&x->quantised, &op_host_installed->quantised) &&
         op_index_called(&x->called, &op_host_installed->builtin) && op_index_lowered(&x->lowered);
    if (ok) return x;
    op_index_free(x);
    return NULL;
}

static op_index *op_index_get(void) {
    op_index *x = atomic_load_explicit(&op_builtin, memory_order_acquire);
    if (x) return x;
    pthread_mutex_lock(&op_lock);
    x = atomic_load(&op_builtin);
    if (!x && (x = op_index_new())) atomic_store_explicit(&op_builtin, x, memory_order_release);
    pthread_mutex_unlock(&op_lock);
    return x;
}

static op_group *op_group_find(const char *name, size_t len) {
    op_index *x = op_index_get();
    op_group *g = x ? strmap_getn(&x->groups, name, len) : NULL;
    if (g || !atomic_load_explicit(&op_user_any, memory_order_acquire)) return g;
    pthread_rwlock_rdlock(&op_user_lock);
    g = strmap_getn(&op_user, name, len);
    pthread_rwlock_unlock(&op_user_lock);
    return g;
}

/* ---- parsing --------------------------------------------------------------------------------- */

/* An arena with memory left, with the lock held; NULL if out of memory. */
static arena *op_arena_get(void) {
    if (op_arenas && !arena_failed(&op_arenas->arena)) return &op_arenas->arena;
    op_arena *a = mem_zalloc(sizeof *a);
    if (!a) return NULL;
    if (!arena_init(&a->arena)) {
        arena_free(&a->arena);
        mem_free(a);
        return NULL;
    }
    a->older = op_arenas;
    op_arenas = a;
    return &a->arena;
}

static const char *op_make_key(arena *a, const schema *s) {
    return s->overload[0] ? arena_printf(a, "%s.%s", s->name, s->overload) : s->name;
}

/* One parsed overload, bound to its function; NULL if that failed. */
static op *op_make(arena *a, diag *d, const char *text, size_t len) {
    op *o = arena_new(a, op);
    schema *s;
    if (schema_parse(d, a, text, len, &s) != CTSC_OK) return NULL;
    o->schema = s;
    o->key = op_make_key(a, s);
    o->name_symbol = op_symbol_of(s->name);
    o->symbol = s->overload[0] ? op_symbol_of(o->key) : o->name_symbol;
    if (!arena_failed(a)) return o;
    diag_no_memory(d);
    schema_free_values(s);
    return NULL;
}

static op_set *op_set_new(int n) {
    op_set *s = mem_zalloc(sizeof *s + (size_t)n * sizeof(op *));
    if (s) s->n = n;
    return s;
}

/* ---- derived overloads ----------------------------------------------------------------------- */

enum { OP_DERIVE_DEPTH = 4 };

static bool op_overload_text(void *ctx, const char *name, int i, op_text *out) {
    const op_group *g = strmap_get(&((op_index *)ctx)->groups, name);
    const op_line *l = g ? g->first : NULL;
    while (l && i--) l = l->next;
    if (l) *out = (op_text){l->text, l->len};
    return l != NULL;
}

static bool op_text_key(const op_text *t, char *key) {
    const char *end = memchr(t->text, '(', t->len);
    size_t n = end ? (size_t)(end - t->text) : t->len;
    if (n >= OP_KEY_LENGTH) return false;
    memcpy(key, t->text, n);
    key[n] = 0;
    return true;
}

/* Remembers what o follows from. */
static void op_bind_base(op *o, arena *a, const op_text *base) {
    char key[OP_KEY_LENGTH];
    o->fn_ctx = op_text_key(base, key) ? arena_strdup(a, key) : NULL;
    if (!o->fn_ctx) o->fn = NULL;
}

/* How a fusible operator is lowered: as the row says, or by the operator's name, "mul" of
 * "aten::mul.Tensor". */
static void op_bind_lowered(op *o, arena *a, const op_index *x, const char *key) {
    const char *given = strmap_get(&x->called, key), *name = strstr(key, "::") + 2;
    size_t n = strcspn(name, ".");
    o->lowered = o->traits.lowered;
    if (o->traits.call) o->called = given ? given : arena_strndup(a, name, n);
    else if (!o->lowered) o->lowered = (lowered_op)(uintptr_t)strmap_getn(&x->lowered, name, n);
}

/* Gives o, whose schema is t, the function of its row, or else of the overload it follows from. */
static void op_bind(op *o, arena *a, const op_index *x, const op_text *t, int depth) {
    char key[OP_KEY_LENGTH];
    op_text base;
    bool fits = op_text_key(t, key);
    size_t row = fits ? (size_t)(uintptr_t)strmap_get(&x->bindings, key) : 0;
    size_t own = fits ? (size_t)(uintptr_t)strmap_get(&x->quantised, key) : 0;
    op_fn quantised = own ? op_host_installed->quantised.functions[own - 1] : NULL;
    if (row) {
        o->fn = op_host_installed->builtin.functions[row - 1];
        o->traits = op_host_installed->builtin.traits[row - 1];
        if (o->traits.fusible) op_bind_lowered(o, a, x, key);
        o->quantised = quantised;
        return;
    }
    op_derivation how = op_derive(&(op_derive_host){(void *)x, op_overload_text}, t, &base);
    if (how == DERIVED_NOT || depth == OP_DERIVE_DEPTH) return;
    op_bind(o, a, x, &base, depth + 1);
    if (how == DERIVED_DIMS) {
        if (o->fn) op_bind_base(o, a, &base);
        if (o->fn) o->fn = op_host_installed->by_name;
        o->traits = (op_traits){.calls_others = true,
                                .device_blind = true,
                                .draws = o->traits.draws,
                                .side_effect = o->traits.side_effect,
                                .is_volatile = o->traits.is_volatile};
        o->quantised = NULL;
        return;
    }
    bool into = how == DERIVED_WRITE && o->traits.into; /* o->fn writes there itself */
    if (!o->fn) o->traits = (op_traits){0};
    else if (how != DERIVED_NAME) op_bind_base(o, a, &base);
    if (how != DERIVED_NAME) o->traits = op_traits_of_writes(o->traits);
    if (o->fn && how != DERIVED_NAME && !into) {
        o->fn = how == DERIVED_COPY ? op_host_installed->derived_copy
                                    : op_host_installed->derived_write;
        o->traits.composite = o->traits.into = false;
    } else if (into && o->quantised) { /* OP_INTO is a matter of o->fn alone */
        o->quantised = op_host_installed->derived_write;
    }
    if (how != DERIVED_NAME && o->fn != op_host_installed->derived_write &&
        o->quantised != op_host_installed->derived_write)
        o->quantised = NULL;
    if (quantised) o->quantised = quantised;
}

bool op_derived_from(const op *o, char key[OP_KEY_LENGTH]) {
    const op_index *x = op_index_get();
    return x && !strmap_get(&x->bindings, o->key) && op_twin_of(o, key);
}

bool op_twin_of(const op *o, char key[OP_KEY_LENGTH]) {
    const op_index *x = op_index_get();
    op_text t, base;
    if (!x) return false;
    for (int i = 0; op_overload_text((void *)x, o->schema->name, i, &t); i++) {
        if (!op_text_key(&t, key) || strcmp(key, o->key)) continue;
        return op_derive(&(op_derive_host){(void *)x, op_overload_text}, &t, &base) !=
                   DERIVED_NOT &&
               op_text_key(&base, key);
    }
    return false;
}

/* Parses all lines of the group; with the lock held. */
static op_set *op_group_parse(op_group *g, const op_index *x) {
    int n = 0;
    for (const op_line *l = g->first; l; l = l->next) n++;
    arena *a = op_arena_get();
    op_set *s = a ? op_set_new(n) : NULL;
    if (!s) return NULL;
    n = 0;
    for (const op_line *l = g->first; l; l = l->next) {
        op *o = op_make(a, NULL, l->text, l->len);
        if (!o) break;
        o->recent = l->recent;
        op_bind(o, a, x, &(op_text){l->text, l->len}, 0);
        s->ops[n++] = o;
    }
    if (n == s->n) return s;
    for (int i = 0; i < n; i++) schema_free_values((schema *)s->ops[i]->schema);
    mem_free(s);
    return NULL;
}

static op_set *op_group_set(op_group *g) {
    op_set *s = atomic_load_explicit(&g->set, memory_order_acquire);
    if (s) return s;
    pthread_mutex_lock(&op_lock);
    s = atomic_load(&g->set);
    if (!s && (s = op_group_parse(g, atomic_load(&op_builtin))))
        atomic_store_explicit(&g->set, s, memory_order_release);
    pthread_mutex_unlock(&op_lock);
    return s;
}

/* ---- looking up ------------------------------------------------------------------------------ */

const op *const *op_overloads(const char *name, int *n) {
    op_group *g = op_group_find(name, strlen(name));
    op_set *s = g ? op_group_set(g) : NULL;
    *n = s ? s->n : 0;
    return s ? s->ops : NULL;
}

const op *op_find(const char *key) {
    size_t len = strlen(key), n = op_name_length(key, len);
    const char *overload = n < len ? key + n + 1 : "";
    op_group *g = op_group_find(key, n);
    op_set *s = g ? op_group_set(g) : NULL;
    for (int i = 0; s && i < s->n; i++)
        if (!strcmp(s->ops[i]->schema->overload, overload)) return s->ops[i];
    return NULL;
}

const char *op_builtin_name(size_t i) {
    const op_index *x = op_index_get();
    return x && i < x->order.len ? x->order.data[i]->name : NULL;
}

const op *op_of(op_symbol key) { return op_find(op_symbol_text(key)); }

const op *op_of_row(const char *key) {
    char plain[OP_KEY_LENGTH];
    size_t n = strcspn(key, CALLED(""));
    if (n >= sizeof plain) return NULL;
    memcpy(plain, key, n);
    plain[n] = 0;
    return op_find(plain);
}

void op_visit(void (*visit)(void *ctx, const op *o), void *ctx) {
    op_index *x = op_index_get();
    for (size_t i = 0; x && i < x->order.len; i++) {
        op_set *s = op_group_set(x->order.data[i]);
        for (int k = 0; s && k < s->n; k++) visit(ctx, s->ops[k]);
    }
    pthread_rwlock_rdlock(&op_user_lock);
    for (size_t i = 0; i < op_user_order.len; i++) {
        op_set *s = atomic_load(&op_user_order.data[i]->set);
        for (int k = 0; s && k < s->n; k++) visit(ctx, s->ops[k]);
    }
    pthread_rwlock_unlock(&op_user_lock);
}

bool op_space_known(const char *space) {
    const op_index *x = op_index_get();
    size_t n = strlen(space);
    bool known = false;
#define IN_SPACE(name) (!strncmp(name, space, n) && !strncmp((name) + n, "::", 2))
    for (size_t i = 0; x && i < x->order.len && !known; i++)
        known = IN_SPACE(x->order.data[i]->name);
    pthread_rwlock_rdlock(&op_user_lock);
    for (size_t i = 0; i < op_user_order.len && !known; i++)
        known = IN_SPACE(op_user_order.data[i]->name);
    pthread_rwlock_unlock(&op_user_lock);
#undef IN_SPACE
    return known;
}

void op_note_library(diag *d, const char *name) {
    const char *colons = strstr(name, "::");
    char space[64];
    snprintf(space, sizeof space, "%.*s", colons ? (int)(colons - name) : (int)strlen(name), name);
    if (!op_space_known(space))
        diag_note(
            d, (source_range){0},
            "operators of '%s' come from a library of their own, which has to be loaded first: "
            "ctsc --load-library FILE, or ctsc_load_library in a program",
            space);
}

bool op_is_pure(const op *o) {
    if (!o->fn && !o->traits.special) return false;
    return !o->traits.side_effect && !op_traits_differ(o->traits) && !o->traits.unsafe &&
           !o->schema->has_alias_write;
}

/* ---- registering ----------------------------------------------------------------------------- */

/* The group of that name, made if need be; with the lock held. */
static op_group *op_group_make(const char *name) {
    op_group *g = strmap_get(&op_builtin->groups, name);
    if (g) return g;
    pthread_rwlock_wrlock(&op_user_lock);
    g = strmap_get(&op_user, name);
    if (!g && (g = mem_zalloc(sizeof *g))) {
        g->name = name;
        if (!vec_push(&op_user_order, g)) {
            mem_free(g);
            g = NULL;
        } else if (!strmap_put(&op_user, name, g)) {
            (void)vec_pop(&op_user_order);
            mem_free(g);
            g = NULL;
        }
    }
    atomic_store_explicit(&op_user_any, op_user.used > 0, memory_order_release);
    pthread_rwlock_unlock(&op_user_lock);
    return g;
}

/* Publishes the group's overloads with o in the place of its namesake, or at the end. */
static bool op_group_add(op_group *g, const op *o) {
    op_set *old = atomic_load(&g->set);
    if (!old && g->first && !(old = op_group_parse(g, op_builtin))) return false;
    int n = old ? old->n : 0, at = 0;
    while (at < n && strcmp(old->ops[at]->schema->overload, o->schema->overload)) at++;
    op_set *s = op_set_new(at < n ? n : n + 1);
    if (!s) {
        /* What was parsed above is as good as it was. */
        atomic_store_explicit(&g->set, old, memory_order_release);
        return false;
    }
    for (int i = 0; i < n; i++) s->ops[i] = old->ops[i];
    s->ops[at] = o;
    s->older = old;
    atomic_store_explicit(&g->set, s, memory_order_release);
    return true;
}

ctsc_status op_register(diag *d, const char *schema_text, op_fn fn, void *fn_ctx,
                        op_traits traits) {
    return op_register_scalar(d, schema_text, fn, fn_ctx, traits, NULL);
}

ctsc_status op_register_scalar(diag *d, const char *schema_text, op_fn fn, void *fn_ctx,
                               op_traits traits, const struct scalar_text *scalar) {
    if (!op_index_get()) return diag_no_memory(d);
    ctsc_status s = CTSC_OK;
    pthread_mutex_lock(&op_lock);
    arena *a = op_arena_get();
    op *o = a ? op_make(a, d, schema_text, strlen(schema_text)) : NULL;
    if (!o) {
        s = a && d && d->status != CTSC_OK ? d->status : a ? CTSC_FAILED : diag_no_memory(d);
    } else if (!strstr(o->schema->name, "::")) {
        s = diag_fail(d, CTSC_USAGE, "operator '%s' has no namespace", o->schema->name);
    } else {
        o->fn = fn;
        o->fn_ctx = fn_ctx;
        o->traits = traits;
        o->scalar = scalar;
        op_group *g = op_group_make(o->schema->name);
        if (!g || !op_group_add(g, o)) s = diag_no_memory(d);
    }
    if (o && s != CTSC_OK) schema_free_values((schema *)o->schema);
    pthread_mutex_unlock(&op_lock);
    return s;
}
