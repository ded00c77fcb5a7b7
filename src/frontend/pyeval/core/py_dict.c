/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_dict.c - dicts and sets of objects, and what they rest on: hashing and equality.
 *
 * Method: a dict keeps its entries in order and, from nine entries on, an open-addressing index of
 * them; removed entries remain as holes until the next growth. A set is a list with such an
 * index. Invariants: an entry whose key is NULL is a hole, and may still be named by the index.
 * Tests: tests/unit/test_py.c
 */
#include "frontend/pyeval/core/py_internal.h"

#include <math.h>

/* ---- hashing, equality ----------------------------------------------------------------------- */

bool py_number(const py_object *o, int64_t *i, double *f, int *rank) {
    if (o->kind == PY_SYMBOL) return false;
    if (o->kind != PY_VALUE) return false;
    switch (o->u.v.tag) {
    case V_BOOL: *i = o->u.v.u.b, *f = (double)*i, *rank = 0; return true;
    case V_INT: *i = o->u.v.u.i, *f = (double)*i, *rank = 1; return true;
    case V_FLOAT: *f = o->u.v.u.f, *i = 0, *rank = 2; return true;
    default: return false;
    }
}

static uint64_t py_hash_number(int64_t i, double f, int rank) {
    if (rank == 2) {
        if (f != floor(f) || fabs(f) >= 9.2e18) {
            uint64_t bits;
            memcpy(&bits, &f, sizeof bits);
            return hash_u64(bits);
        }
        i = (int64_t)f;
    }
    return hash_u64((uint64_t)i);
}

static bool py_hash_value(const py_object *o, uint64_t *out) {
    int64_t i;
    double f;
    int rank;
    if (py_number(o, &i, &f, &rank)) {
        *out = py_hash_number(i, f, rank);
        return true;
    }
    value v = o->u.v;
    if (v.tag == V_STR) *out = hash_bytes(v.u.str->bytes, v.u.str->len);
    else if (v.tag == V_COMPLEX)
        *out = v.u.complex->im == 0 ? py_hash_number(0, v.u.complex->re, 2)
                                    : hash_bytes(&v.u.complex->re, 16);
    else if (v.tag == V_LIST || v.tag == V_DICT) return false;
    else if (v.tag == V_DEVICE) *out = hash_u64((uint64_t)v.u.device + 77);
    else
        *out = hash_u64(
            (uint64_t)(uintptr_t)(value_is_counted(v) ? (const void *)v.u.refs : (const void *)o) +
            v.tag);
    return true;
}

/* What a hash looks at: tuples may share their items, and are as deep as a loop makes them. */
enum { HASH_MAX_DEPTH = 50, HASH_MAX_ITEMS = 10000 };

typedef struct hash_walk { int items; const py_object *unhashable; } hash_walk;

static bool hash_object(const py_object *o, int depth, hash_walk *w, uint64_t *out);

/* Equal sequences have their items looked at up to the same one. */
static bool hash_items(size_t n, py_object *const *data, int depth, hash_walk *w, uint64_t *out) {
    for (size_t i = 0; i < n && depth < HASH_MAX_DEPTH && w->items < HASH_MAX_ITEMS; i++) {
        uint64_t one = 0;
        w->items++;
        if (!hash_object(data[i], depth + 1, w, &one)) return false;
        *out = hash_u64(*out ^ one) + i;
    }
    return true;
}

/* false: it has no hash */
static bool hash_object(const py_object *o, int depth, hash_walk *w, uint64_t *out) {
    switch (o->kind) {
    case PY_VALUE: return py_hash_value(o, out);
    case PY_SYMBOL: *out = hash_u64((uint64_t)o->u.v.u.i * 8 + o->u.symbol + 1000); break;
    case PY_TUPLE:
        *out = hash_u64(o->u.seq.items.len);
        return hash_items(o->u.seq.items.len, o->u.seq.items.data, depth, w, out);
    case PY_LIST:
    case PY_DICT:
    case PY_SET: w->unhashable = o; return false;
    case PY_TYPE:
        *out = hash_bytes(o->u.type.name, strlen(o->u.type.name));
        return hash_items(o->u.type.nargs > 0 ? (size_t)o->u.type.nargs : 0, o->u.type.args, depth,
                          w, out);
    case PY_OPERATOR: *out = hash_bytes(o->u.op_name, strlen(o->u.op_name)); break;
    case PY_METHOD:
        *out = hash_u64((uint64_t)(uintptr_t)o->u.method.self ^
                        (uint64_t)(uintptr_t)o->u.method.fn);
        break;
    default: {
        const py_object *plain = py_plain(o);
        if (plain && plain != o) return hash_object(plain, depth + 1, w, out);
        *out = hash_u64((uint64_t)(uintptr_t)o);
    }
    }
    return true;
}

bool py_hash(py *p, source_range r, const py_object *o, uint64_t *out) {
    hash_walk w = {0, o};
    bool ok = hash_object(o, 0, &w, out);
    if (!ok && p) py_fail(p, r, "TypeError", "unhashable type: '%s'", py_type_name(w.unhashable));
    return ok;
}

bool py_same(const py_object *a, const py_object *b) {
    if (a == b) return true;
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case PY_VALUE:
        if (a->u.v.tag != b->u.v.tag) return false;
        if (a->u.v.tag == V_NONE) return true;
        if (a->u.v.tag == V_BOOL) return a->u.v.u.b == b->u.v.u.b;
        if (a->u.v.tag == V_INT) return a->u.v.u.i == b->u.v.u.i;
        if (a->u.v.tag == V_STR) return value_equal(a->u.v, b->u.v);
        return value_is_counted(a->u.v) && a->u.v.u.refs == b->u.v.u.refs;
    case PY_SYMBOL: return a->u.symbol == b->u.symbol && a->u.v.u.i == b->u.v.u.i;
    case PY_OPERATOR: return !strcmp(a->u.op_name, b->u.op_name);
    case PY_DICT: return a->u.dict == b->u.dict;
    case PY_TYPE:
        return a->u.type.nargs < 0 && b->u.type.nargs < 0 &&
               !strcmp(a->u.type.name, b->u.type.name);
    case PY_ELLIPSIS:
    case PY_NOT_IMPLEMENTED: return true;
    default: return false;
    }
}

static bool py_equal_items(py *p, const py_object *a, const py_object *b) {
    if (a->u.seq.items.len != b->u.seq.items.len) return false;
    p->steps += 1 + a->u.seq.items.len / PY_STEP_ITEMS;
    if (py_budget_exhausted(p)) return false; /* the next step says so */
    for (size_t i = 0; i < a->u.seq.items.len; i++)
        if (!py_equal(p, a->u.seq.items.data[i], b->u.seq.items.data[i])) return false;
    return true;
}

static bool py_equal_dicts(py *p, const py_dict *a, const py_dict *b) {
    if (a->len != b->len) return false;
    p->steps += 1 + a->len / 2;
    if (py_budget_exhausted(p)) return false;
    for (size_t i = 0; i < a->entries.len; i++) {
        const py_dict_entry *e = &a->entries.data[i];
        py_object *other = e->key ? py_dict_get_key(p, b, e->key) : NULL;
        if (e->key && (!other || !py_equal(p, e->val, other))) return false;
    }
    return true;
}

static bool py_equal_values(const py_object *a, const py_object *b) {
    int64_t i, j;
    double f, g;
    int m, n;
    if (py_number(a, &i, &f, &m) && py_number(b, &j, &g, &n))
        return m < 2 && n < 2 ? i == j : f == g;
    if (a->u.v.tag == V_COMPLEX && py_number(b, &j, &g, &n))
        return a->u.v.u.complex->re == g && a->u.v.u.complex->im == 0;
    if (b->u.v.tag == V_COMPLEX && py_number(a, &i, &f, &m))
        return b->u.v.u.complex->re == f && b->u.v.u.complex->im == 0;
    return value_equal(a->u.v, b->u.v);
}

const py_object *py_plain(const py_object *o) {
    if (o->kind != PY_INSTANCE) return o;
    const py_class *c = o->u.inst.cls->u.cls;
    if (c->kind != PYC_ENUM) {
        const py_object *v = py_dict_get(o->u.inst.attrs, PY_PLAIN);
        return v ? v : o;
    }
    for (size_t i = 0; i < c->mro.len; i++) {
        const char *n = c->mro.data[i]->u.cls->name;
        if (!strcmp(n, "int") || !strcmp(n, "str") || !strcmp(n, "IntEnum") ||
            !strcmp(n, "StrEnum") || !strcmp(n, "IntFlag"))
            return py_dict_get(o->u.inst.attrs, "value");
    }
    return o;
}

static bool py_equal_kinds(py *p, const py_object *a, const py_object *b) {
    switch (a->kind) {
    case PY_VALUE:
        if (a->u.v.tag == V_STR) p->steps += a->u.v.u.str->len / PY_STEP_BYTES;
        return py_equal_values(a, b);
    case PY_LIST:
    case PY_TUPLE: return py_equal_items(p, a, b);
    case PY_SET:
        if (a->u.seq.items.len != b->u.seq.items.len) return false;
        p->steps += 1 + a->u.seq.items.len / 2;
        for (size_t i = 0; i < a->u.seq.items.len && !py_budget_exhausted(p); i++)
            if (py_set_find(p, b, a->u.seq.items.data[i]) < 0) return false;
        return true;
    case PY_DICT: return py_equal_dicts(p, a->u.dict, b->u.dict);
    case PY_RANGE:
        return py_range_len(a) == py_range_len(b) &&
               (py_range_len(a) == 0 ||
                (a->u.range.start == b->u.range.start &&
                 (py_range_len(a) == 1 || a->u.range.step == b->u.range.step)));
    case PY_SLICE:
        return py_equal(p, a->u.slice.start, b->u.slice.start) &&
               py_equal(p, a->u.slice.stop, b->u.slice.stop) &&
               py_equal(p, a->u.slice.step, b->u.slice.step);
    case PY_INSTANCE: {
        const py_class *c = a->u.inst.cls->u.cls;
        if (a->u.inst.cls != b->u.inst.cls || !c->is_dataclass) return false;
        for (size_t i = 0; i < c->fields.len; i++) {
            const py_object *x = py_dict_get(a->u.inst.attrs, c->fields.data[i]);
            const py_object *y = py_dict_get(b->u.inst.attrs, c->fields.data[i]);
            if (!x || !y || !py_equal(p, x, y)) return false;
        }
        return true;
    }
    case PY_METHOD:
        return a->u.method.self == b->u.method.self && py_same(a->u.method.fn, b->u.method.fn);
    case PY_TYPE:
        if (strcmp(a->u.type.name, b->u.type.name) || a->u.type.nargs != b->u.type.nargs)
            return false;
        for (int i = 0; i < a->u.type.nargs; i++)
            if (!py_equal(p, a->u.type.args[i], b->u.type.args[i])) return false;
        return true;
    default: return false;
    }
}

bool py_equal(py *p, const py_object *a, const py_object *b) {
    if (py_same(a, b)) return !(a->kind == PY_VALUE && a->u.v.tag == V_FLOAT && isnan(a->u.v.u.f));
    a = py_plain(a);
    b = py_plain(b);
    if (!a || !b || a->kind != b->kind) return false;
    if (p->depth >= PY_MAX_DEPTH) return false;
    p->depth++;
    bool same = py_equal_kinds(p, a, b);
    p->depth--;
    return same;
}

/* ---- dicts ----------------------------------------------------------------------------------- */

enum { PY_DICT_LINEAR = 8 };

py_dict *py_dict_new(py *p) { return arena_new(p->a, py_dict); }

static void py_dict_index_put(py_dict *d, uint64_t hash, uint32_t entry) {
    uint32_t mask = d->nindex - 1, i = (uint32_t)hash & mask;
    while (d->index[i]) i = (i + 1) & mask;
    d->index[i] = entry + 1;
}

/* Drops the holes and makes an index that is at most half full once one more entry is in. */
static bool py_dict_rebuild(py *p, py_dict *d) {
    size_t n = 0;
    for (size_t i = 0; i < d->entries.len; i++)
        if (d->entries.data[i].key) d->entries.data[n++] = d->entries.data[i];
    d->entries.len = n;
    if (n < PY_DICT_LINEAR) {
        d->index = NULL;
        d->nindex = 0;
        return true;
    }
    uint32_t want = 32;
    while (want / 4 < n + 1 && want < (UINT32_C(1) << 30)) want *= 2;
    uint32_t *index = arena_array(p->a, uint32_t, want);
    if (!index || arena_failed(p->a)) return false;
    d->index = index;
    d->nindex = want;
    for (size_t i = 0; i < n; i++) py_dict_index_put(d, d->entries.data[i].hash, (uint32_t)i);
    return true;
}

static bool py_entry_is_text(const py_dict_entry *e, const char *s, size_t len, uint64_t hash) {
    if (e->hash != hash || !e->key) return false;
    const str *t = py_str_of(e->key);
    return t && t->len == len && !memcmp(t->bytes, s, len);
}

py_object *py_dict_find(const py_dict *d, const char *name, size_t len, uint64_t hash) {
    if (!d->index) {
        for (size_t i = 0; i < d->entries.len; i++)
            if (py_entry_is_text(&d->entries.data[i], name, len, hash))
                return d->entries.data[i].val;
        return NULL;
    }
    uint32_t mask = d->nindex - 1;
    for (uint32_t i = (uint32_t)hash & mask; d->index[i]; i = (i + 1) & mask) {
        const py_dict_entry *e = &d->entries.data[d->index[i] - 1];
        if (py_entry_is_text(e, name, len, hash)) return e->val;
    }
    return NULL;
}

py_object *py_dict_get(const py_dict *d, const char *name) {
    if (d->len == 0) return NULL;
    size_t len = strlen(name);
    return py_dict_find(d, name, len, hash_bytes(name, len));
}

static py_dict_entry *py_dict_entry_of(py *p, const py_dict *d, const py_object *key,
                                       uint64_t hash) {
    if (!d->index) {
        for (size_t i = 0; i < d->entries.len; i++) {
            py_dict_entry *e = &d->entries.data[i];
            if (e->key && e->hash == hash && py_equal(p, e->key, key)) return e;
        }
        return NULL;
    }
    uint32_t mask = d->nindex - 1;
    for (uint32_t i = (uint32_t)hash & mask; d->index[i]; i = (i + 1) & mask) {
        py_dict_entry *e = &d->entries.data[d->index[i] - 1];
        if (e->key && e->hash == hash && py_equal(p, e->key, key)) return e;
    }
    return NULL;
}

py_object *py_dict_get_key(py *p, const py_dict *d, const py_object *key) {
    uint64_t hash;
    if (d->len == 0 || !py_hash(NULL, (source_range){0}, key, &hash)) return NULL;
    const py_dict_entry *e = py_dict_entry_of(p, d, key, hash);
    return e ? e->val : NULL;
}

bool py_dict_set_key(py *p, py_dict *d, py_object *key, py_object *v) {
    uint64_t hash;
    if (!py_hash(p, (source_range){0}, key, &hash)) return false;
    py_dict_entry *e = py_dict_entry_of(p, d, key, hash);
    if (e) {
        e->val = v;
        return true;
    }
    bool full = d->index ? d->entries.len >= d->nindex / 2 : d->entries.len >= PY_DICT_LINEAR;
    if ((full && !py_dict_rebuild(p, d)) ||
        !avec_push(p->a, &d->entries, ((py_dict_entry){key, v, hash}))) {
        diag_no_memory(p->diag);
        return false;
    }
    if (d->index) py_dict_index_put(d, hash, (uint32_t)d->entries.len - 1);
    d->len++;
    return true;
}

bool py_dict_set(py *p, py_dict *d, const char *name, py_object *v) {
    py_object *key = py_text(p, name);
    return key && py_dict_set_key(p, d, key, v);
}

bool py_dict_remove(py *p, py_dict *d, const py_object *key) {
    uint64_t hash;
    if (!py_hash(NULL, (source_range){0}, key, &hash)) return false;
    py_dict_entry *e = py_dict_entry_of(p, d, key, hash);
    if (!e) return false;
    d->len--;
    e->key = e->val = NULL;
    if (!d->index && e == &vec_last(&d->entries)) d->entries.len--;
    return true;
}

/* ---- sets ------------------------------------------------------------------------------------ */

py_object *py_set_new(py *p) { return py_new(p, PY_SET); }

/* Of larger sets: hash -> item + 1. Made when first asked for; dropped when items move. */
typedef struct py_set_index {
    uint32_t *slots, nslots;
    size_t len; /* items it knows: the first `len` */
} py_set_index;

enum { PY_SET_LINEAR = 8 };

static void set_index_put(py_set_index *x, const py_object *item, size_t at) {
    uint64_t hash = 0;
    (void)py_hash(NULL, (source_range){0}, item, &hash);
    uint32_t mask = x->nslots - 1, i = (uint32_t)hash & mask;
    while (x->slots[i]) i = (i + 1) & mask;
    x->slots[i] = (uint32_t)at + 1;
}

/* NULL: search one by one. */
static py_set_index *set_index_of(py *p, py_object *set) {
    size_t n = set->u.seq.items.len;
    py_set_index *x = set->u.seq.set_index;
    if (n < PY_SET_LINEAR) return NULL;
    if (!x || x->len > n || x->nslots < 2 * n) {
        uint32_t want = 32;
        while (want < 4 * n && want < (UINT32_C(1) << 30)) want *= 2;
        x = arena_new(p->a, py_set_index);
        x->slots = arena_array(p->a, uint32_t, want);
        x->nslots = want;
        if (!x->slots || arena_failed(p->a)) return NULL;
        p->steps += n / 4;
        set->u.seq.set_index = x;
    }
    for (; x->len < n; x->len++) set_index_put(x, set->u.seq.items.data[x->len], x->len);
    return x;
}

void py_set_moved(py_object *set) { set->u.seq.set_index = NULL; }

int64_t py_set_find(py *p, const py_object *set, const py_object *item) {
    const py_set_index *x = set_index_of(p, (py_object *)set);
    uint64_t hash;
    if (!x) {
        for (size_t i = 0; i < set->u.seq.items.len; i++)
            if (py_equal(p, set->u.seq.items.data[i], item)) return (int64_t)i;
        return -1;
    }
    if (!py_hash(NULL, (source_range){0}, item, &hash)) return -1;
    uint32_t mask = x->nslots - 1;
    for (uint32_t i = (uint32_t)hash & mask; x->slots[i]; i = (i + 1) & mask)
        if (py_equal(p, set->u.seq.items.data[x->slots[i] - 1], item))
            return (int64_t)x->slots[i] - 1;
    return -1;
}

bool py_set_add(py *p, source_range r, py_object *set, py_object *item) {
    uint64_t hash;
    if (!py_hash(p, r, item, &hash)) return false;
    return py_set_find(p, set, item) >= 0 || (py_step(p, r) && py_append(p, set, item));
}
