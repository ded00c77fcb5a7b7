/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type.c - makes types, each structure once.
 *
 * Method: a type is one block of memory holding the node, its element pointers and its strings.
 * Tables of interned types are open-addressing hash sets; elements are interned already, so that
 * two types are equal when their fields are. One lock guards all tables.
 *
 * Ownership: the process-wide table is never freed (it stays reachable from here); a unit's table
 * holds what mentions its classes and is freed with it.
 * Tests: tests/unit/test_type.c
 */
#include "ir/type.h"

#include "ir/unit.h"

#include <pthread.h>

#define TYPE_SINGLETON(k, text) [T_##k] = {.kind = T_##k},
static type type_singletons[T_KIND_COUNT] = {TYPE_KINDS(TYPE_SINGLETON)};

static pthread_mutex_t type_lock = PTHREAD_MUTEX_INITIALIZER;
static type_table type_global;
static atomic_bool type_global_failed;

type *type_of_kind(type_kind k) { return &type_singletons[k]; }

bool type_table_failed(void) { return atomic_exchange(&type_global_failed, false); }

void type_table_free(type_table *t) {
    for (size_t i = 0; i < t->cap; i++) mem_free(t->slots[i]);
    mem_free(t->slots);
    *t = (type_table){0};
}

/* ---- hashing and comparing ------------------------------------------------------------------- */

static uint64_t type_hash_ints(uint64_t h, int n, const int64_t *p) {
    for (int i = 0; p && i < n; i++) h = hash_u64(h ^ (uint64_t)p[i]);
    return h;
}

static uint64_t type_hash(const type *t) {
    uint64_t h = hash_u64((uint64_t)t->kind * 64 + (uint64_t)t->nelems);
    for (int i = 0; i < t->nelems; i++) {
        h = hash_u64(h ^ (uint64_t)(uintptr_t)t->elems[i]);
        if (t->field_names) h ^= hash_bytes(t->field_names[i], strlen(t->field_names[i]));
    }
    if (t->name) h = hash_u64(h ^ hash_bytes(t->name, strlen(t->name)));
    if (t->tensor) {
        const tensor_info *ti = t->tensor;
        h = hash_u64(h ^ (uint64_t)(ti->dtype + 1) ^ (uint64_t)(ti->requires_grad + 1) << 8 ^
                     (uint64_t)(ti->device + 1) << 16 ^ (uint64_t)(ti->ndim + 1) << 24);
        h = type_hash_ints(h, ti->ndim, ti->sizes);
        if (ti->has_strides) h = type_hash_ints(h, ti->ndim, ti->strides);
    }
    return h;
}

static bool type_same_ints(int n, const int64_t *a, const int64_t *b) {
    return n <= 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static bool type_same_details(const tensor_info *a, const tensor_info *b) {
    if (!a || !b) return a == b;
    return a->dtype == b->dtype && a->ndim == b->ndim && a->requires_grad == b->requires_grad &&
           a->device == b->device && a->has_strides == b->has_strides &&
           type_same_ints(a->ndim, a->sizes, b->sizes) &&
           (!a->has_strides || type_same_ints(a->ndim, a->strides, b->strides));
}

static bool type_same(const type *a, const type *b) {
    if (a->hash != b->hash || a->kind != b->kind || a->nelems != b->nelems || a->owner != b->owner)
        return false;
    if (!a->name != !b->name || (a->name && strcmp(a->name, b->name))) return false;
    if (!a->field_names != !b->field_names) return false;
    for (int i = 0; i < a->nelems; i++)
        if (a->elems[i] != b->elems[i] ||
            (a->field_names && strcmp(a->field_names[i], b->field_names[i])))
            return false;
    return type_same_details(a->tensor, b->tensor);
}

/* ---- interning ------------------------------------------------------------------------------- */

/* Carves `size` bytes off the block being filled. */
static void *type_carve(char **at, const void *from, size_t size) {
    void *p = *at;
    if (size && from) memcpy(p, from, size);
    *at += (size + 7) & ~(size_t)7;
    return p;
}

static size_t type_padded(size_t size) { return (size + 7) & ~(size_t)7; }

/* A copy of the model in one block of its own. */
static type *type_copy(const type *m) {
    size_t n = (size_t)m->nelems, size = type_padded(sizeof *m) + n * sizeof *m->elems;
    size_t dims = m->tensor && m->tensor->ndim > 0 ? (size_t)m->tensor->ndim : 0;
    if (m->name) size += type_padded(strlen(m->name) + 1);
    if (m->field_names) {
        size += n * sizeof *m->field_names;
        for (size_t i = 0; i < n; i++) size += type_padded(strlen(m->field_names[i]) + 1);
    }
    if (m->tensor) size += type_padded(sizeof *m->tensor) + 2 * dims * sizeof(int64_t);
    char *at = mem_zalloc(size);
    if (!at) return NULL;
    type *t = type_carve(&at, m, sizeof *m);
    t->elems = type_carve(&at, m->elems, n * sizeof *m->elems);
    if (m->name) t->name = type_carve(&at, m->name, strlen(m->name) + 1);
    if (m->field_names) {
        t->field_names = type_carve(&at, NULL, n * sizeof *m->field_names);
        for (size_t i = 0; i < n; i++)
            t->field_names[i] = type_carve(&at, m->field_names[i], strlen(m->field_names[i]) + 1);
    }
    if (m->tensor) {
        tensor_info *ti = type_carve(&at, m->tensor, sizeof *ti);
        t->tensor = ti;
        ti->sizes = dims ? type_carve(&at, m->tensor->sizes, dims * sizeof(int64_t)) : NULL;
        ti->strides = dims && ti->has_strides
                          ? type_carve(&at, m->tensor->strides, dims * sizeof(int64_t))
                          : NULL;
    }
    return t;
}

static bool type_table_grow(type_table *t) {
    type_table bigger = {.cap = t->cap ? t->cap * 2 : 64, .used = t->used};
    bigger.slots = mem_zalloc(bigger.cap * sizeof *bigger.slots);
    if (!bigger.slots) return false;
    for (size_t i = 0; i < t->cap; i++) {
        if (!t->slots[i]) continue;
        size_t j = (size_t)t->slots[i]->hash & (bigger.cap - 1);
        while (bigger.slots[j]) j = (j + 1) & (bigger.cap - 1);
        bigger.slots[j] = t->slots[i];
    }
    mem_free(t->slots);
    *t = bigger;
    return true;
}

/* The interned equal of the model; NULL if out of memory. With the lock held. */
static type *type_table_get(type_table *t, const type *m) {
    if (t->used >= t->cap / 4 * 3 && !type_table_grow(t)) return NULL;
    size_t i = (size_t)m->hash & (t->cap - 1);
    for (; t->slots[i]; i = (i + 1) & (t->cap - 1))
        if (type_same(t->slots[i], m)) return t->slots[i];
    type *made = type_copy(m);
    if (!made) return NULL;
    t->slots[i] = made;
    t->used++;
    return made;
}

/* Fills in what follows from the elements, and interns. */
static type *type_intern(type *m) {
    for (int i = 0; i < m->nelems; i++) {
        m->has_var |= m->elems[i]->has_var;
        m->of_class |= m->elems[i]->of_class;
        if (!m->owner || (m->owner->permanent && m->elems[i]->owner)) m->owner = m->elems[i]->owner;
        uint32_t weight = m->weight + (m->elems[i]->weight ? m->elems[i]->weight : 1);
        m->weight = weight < UINT32_MAX / 2 ? weight : UINT32_MAX / 2;
        if (m->depth <= m->elems[i]->depth) m->depth = m->elems[i]->depth + 1;
    }
    m->hash = type_hash(m);
    pthread_mutex_lock(&type_lock);
    type *t = type_table_get(m->owner ? &m->owner->types : &type_global, m);
    pthread_mutex_unlock(&type_lock);
    if (t) return t;
    if (m->owner) m->owner->arena.failed = true;
    else atomic_store(&type_global_failed, true);
    return TYPE_ANY;
}

/* ---- makers ---------------------------------------------------------------------------------- */

static type *type_of_one(type_kind k, type *elem) {
    type m = {.kind = k, .nelems = 1, .elems = &elem};
    return type_intern(&m);
}

type *type_list(type *elem) { return type_of_one(T_LIST, elem); }

type *type_future(type *elem) { return type_of_one(T_FUTURE, elem); }

type *type_rref(type *elem) { return type_of_one(T_RREF, elem); }

type *type_optional(type *elem) {
    if (elem->kind == T_OPTIONAL || elem->kind == T_NONE) return elem;
    if (elem->kind == T_UNION) {
        type *both[] = {elem, TYPE_NONE};
        return type_union(2, both);
    }
    return type_of_one(T_OPTIONAL, elem);
}

type *type_dict(type *key, type *val) {
    type *elems[] = {key, val};
    type m = {.kind = T_DICT, .nelems = 2, .elems = elems};
    return type_intern(&m);
}

type *type_tuple(int n, type *const *elems) {
    type m = {.kind = T_TUPLE, .nelems = n, .elems = (type **)elems};
    return type_intern(&m);
}

type *type_named_tuple(struct unit *owner, const char *name, int n, const char *const *fields,
                       type *const *elems) {
    type m = {.kind = T_TUPLE, .nelems = n, .elems = (type **)elems, .name = name, .owner = owner};
    const char *none[1] = {NULL};
    m.field_names = n ? (const char **)fields : none;
    m.of_class = owner != NULL;
    return type_intern(&m);
}

type *type_var(const char *name) {
    type m = {.kind = T_VAR, .name = name, .has_var = 1};
    return type_intern(&m);
}

type *type_tensor_details(const tensor_info *info) {
    if (!info || (info->dtype < 0 && info->ndim < 0 && info->requires_grad < 0 && info->device < 0))
        return TYPE_TENSOR;
    type m = {.kind = T_TENSOR, .tensor = info};
    return type_intern(&m);
}

type *type_class_new(struct unit *owner, type_kind kind, const char *qualified_name) {
    type *t = arena_new(&owner->arena, type);
    t->kind = kind;
    t->of_class = 1;
    t->owner = owner;
    t->cls = arena_new(&owner->arena, class_info);
    t->cls->name = intern(&owner->names, qualified_name);
    t->cls->unit = owner;
    t->hash = hash_u64((uint64_t)(uintptr_t)t);
    /* A class in the arena's reserve must not be found again. */
    if (!arena_failed(&owner->arena) && !vec_push(&owner->all_types, t)) owner->arena.failed = true;
    return t;
}

/* ---- unions ---------------------------------------------------------------------------------- */

enum { UNION_MAX = 64 };

/* Appends t's members; more than UNION_MAX are dropped into Any by the caller. */
static int union_flatten(type *t, type **out, int n) {
    if (t->kind == T_UNION) {
        for (int i = 0; i < t->nelems; i++) n = union_flatten(t->elems[i], out, n);
        return n;
    }
    if (t->kind == T_OPTIONAL) {
        n = union_flatten(type_elem(t), out, n);
        return union_flatten(TYPE_NONE, out, n);
    }
    if (t->kind == T_NUMBER) {
        n = union_flatten(TYPE_INT, out, n);
        n = union_flatten(TYPE_FLOAT, out, n);
        return union_flatten(TYPE_COMPLEX, out, n);
    }
    if (n < UNION_MAX) out[n] = t;
    return n + 1;
}

/* Merges members that unify; None merges with None alone. */
static int union_merge(type **t, int n) {
    int end = n - 1;
    for (int i = n - 1; i > 0; i--)
        for (int j = i - 1 < end ? i - 1 : end; j >= 0; j--) {
            bool none = t[i]->kind == T_NONE;
            if (none != (t[j]->kind == T_NONE)) continue;
            type *common = type_unify(t[i], t[j], false);
            if (!common) continue;
            t[j] = common;
            t[i] = t[end--];
            break;
        }
    return end + 1;
}

/* Members are printed, and compared, in the order of PyTorch's TypeKind. */
static const uint8_t union_rank[T_KIND_COUNT] = {
    [T_ANY] = 0,      [T_ENUM] = 1,       [T_ANY_ENUM] = 2,  [T_TENSOR] = 3,     [T_STORAGE] = 4,
    [T_TUPLE] = 5,    [T_LIST] = 6,       [T_DICT] = 7,      [T_NUMBER] = 8,     [T_FLOAT] = 9,
    [T_COMPLEX] = 10, [T_FUTURE] = 11,    [T_RREF] = 12,     [T_INT] = 13,       [T_NONE] = 14,
    [T_STR] = 15,     [T_GENERATOR] = 16, [T_QSCHEME] = 17,  [T_BOOL] = 18,      [T_OPTIONAL] = 19,
    [T_VAR] = 20,     [T_DEVICE] = 21,    [T_STREAM] = 22,   [T_FUNCTION] = 23,  [T_CLASS] = 24,
    [T_CAPSULE] = 25, [T_INTERFACE] = 26, [T_ANY_LIST] = 27, [T_ANY_TUPLE] = 28, [T_ANY_CLASS] = 29,
    [T_UNION] = 30,
};

static bool union_before(const type *a, const type *b) {
    if (a->kind != b->kind) return union_rank[a->kind] < union_rank[b->kind];
    strbuf sa = STRBUF_INIT, sb = STRBUF_INIT;
    type_print_plain(a, &sa);
    type_print_plain(b, &sb);
    bool less = strcmp(sb_str(&sa), sb_str(&sb)) < 0;
    sb_free(&sa);
    sb_free(&sb);
    return less;
}

static void union_sort(type **t, int n) {
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && union_before(t[j], t[j - 1]); j--) {
            type *x = t[j];
            t[j] = t[j - 1];
            t[j - 1] = x;
        }
}

type *type_union(int n, type *const *elems) {
    type *t[UNION_MAX];
    int count = 0;
    for (int i = 0; i < n; i++) count = union_flatten(elems[i], t, count);
    if (count == 0 || count > UNION_MAX) return TYPE_ANY;
    count = union_merge(t, count);
    if (count == 1) return t[0];
    union_sort(t, count);
    int numbers = 0, none = -1;
    for (int i = 0; i < count; i++) {
        numbers += t[i]->kind == T_INT || t[i]->kind == T_FLOAT || t[i]->kind == T_COMPLEX;
        if (t[i]->kind == T_NONE) none = i;
    }
    if (numbers == 3 && count == 3) return TYPE_NUMBER;
    if (none >= 0 && count == 4 && numbers == 3) return type_of_one(T_OPTIONAL, TYPE_NUMBER);
    if (none >= 0 && count == 2) return type_of_one(T_OPTIONAL, t[!none]);
    type m = {.kind = T_UNION, .nelems = count, .elems = t};
    return type_intern(&m);
}

/* ---- classes --------------------------------------------------------------------------------- */

int class_find_attribute(const type *cls, const char *name) {
    const class_info *c = cls->cls;
    for (size_t i = 0; c && i < c->attributes.len; i++)
        if (!strcmp(c->attributes.data[i].name, name)) return (int)i;
    return -1;
}

const constant_attribute *class_find_constant(const type *cls, const char *name) {
    const class_info *c = cls->cls;
    for (size_t i = 0; c && i < c->constants.len; i++)
        if (!strcmp(c->constants.data[i].name, name)) return &c->constants.data[i];
    return NULL;
}

struct function *class_find_method(const type *cls, const char *name) {
    const class_info *c = cls->cls;
    for (size_t i = 0; c && i < c->methods.len; i++)
        if (!strcmp(c->methods.data[i]->name, name)) return c->methods.data[i];
    return NULL;
}
