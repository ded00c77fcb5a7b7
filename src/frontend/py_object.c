/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_object.c - the evaluator's objects: making them, dicts, hashing, equality, classes of objects, failures.
 *
 * Method: objects are arena memory and never freed before the evaluator; counted values inside PY_VALUE are
 * noted in p->held. A dict keeps its entries in order and, from nine entries on, an open-addressing index of
 * them; removed entries stay behind as holes until the next growth. Invariants: an entry whose key is NULL is
 * a hole, and may still be named by the index. Tests: tests/unit/test_py.c
 */
#include "frontend/py_internal.h"

#include <math.h>

/* ---- failures ------------------------------------------------------------------------------- */

py_object *py_fail(py *p, source_range r, const char *exception, const char *fmt, ...) {
    if (p->diag->status != CTSC_OK) return NULL;
    strbuf text = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    sb_vprintf(&text, fmt, ap);
    va_end(ap);
    p->raised = NULL;
    diag_fail_at(p->diag, CTSC_FAILED, r, text.len ? "%s: %s" : "%s%s", exception, sb_str(&text));
    mem_free(p->diag->exception);
    char name[96];
    snprintf(name, sizeof name, "builtins.%s", exception);
    p->diag->exception = mem_strdup(name);
    sb_free(&text);
    return NULL;
}

bool py_failed(const py *p) {
    return p->diag->status != CTSC_OK;
}

bool py_memory(py *p) {
    if (!arena_failed(p->a)) return true;
    diag_no_memory(p->diag);
    return false;
}

bool py_step(py *p, source_range r) {
    if (++p->steps > PY_MAX_STEPS) {
        diag_fail_at(p->diag, CTSC_LIMIT, r, "the module-level code runs for too long (more than %d steps)",
                     PY_MAX_STEPS);
        return false;
    }
    if (p->a->total > PY_MAX_BYTES) {
        diag_fail_at(p->diag, CTSC_LIMIT, r, "the module-level code needs too much memory");
        return false;
    }
    return py_memory(p);
}

bool py_deeper(py *p, source_range r) {
    if (p->depth < PY_MAX_DEPTH) {
        p->depth++;
        return true;
    }
    py_fail(p, r, "RecursionError", "maximum recursion depth exceeded");
    return false;
}

bool py_room(py *p, source_range r, int64_t items) {
    if (items <= PY_MAX_ITEMS) return true;
    py_fail(p, r, "MemoryError", "more than %d items", PY_MAX_ITEMS);
    return false;
}

/* ---- makers --------------------------------------------------------------------------------- */

py_object *py_new(py *p, py_kind k) {
    py_object *o = arena_new(p->a, py_object);
    o->kind = k;
    return o;
}

py_object *py_value_take(py *p, value v) {
    if (value_is_counted(v) && !vec_push(&p->held, v)) {
        value_unref(v);
        diag_no_memory(p->diag);
        return NULL;
    }
    py_object *o = py_new(p, PY_VALUE);
    o->u.v = v;
    return o;
}

py_object *py_int(py *p, int64_t i) {
    py_object *o = py_new(p, PY_VALUE);
    o->u.v = value_int(i);
    return o;
}

py_object *py_float(py *p, double f) {
    py_object *o = py_new(p, PY_VALUE);
    o->u.v = value_float(f);
    return o;
}

py_object *py_bool(py *p, bool b) {
    return b ? p->true_ : p->false_;
}

py_object *py_string(py *p, const char *s, size_t n) {
    str *t = str_new(s, n);
    if (!t) {
        diag_no_memory(p->diag);
        return NULL;
    }
    return py_value_take(p, value_str_take(t));
}

py_object *py_text(py *p, const char *s) {
    py_object *o = strmap_get(&p->strings, s);
    if (o) return o;
    const char *name = intern(p->names, s);
    o = py_string(p, name, strlen(name));
    if (!o || !py_memory(p)) return NULL;
    if (!strmap_put(&p->strings, name, o)) {
        diag_no_memory(p->diag);
        return NULL;
    }
    return o;
}

static py_object *py_sequence(py *p, py_kind k, int n, py_object **items) {
    py_object *o = py_new(p, k);
    if (n <= 0) return o;
    py_object **copy = arena_array(p->a, py_object *, n);
    if (!copy) {
        diag_no_memory(p->diag);
        return NULL;
    }
    memcpy(copy, items, sizeof *items * (size_t)n);
    o->u.seq.items.data = copy;
    o->u.seq.items.len = o->u.seq.items.cap = (size_t)n;
    return o;
}

py_object *py_list(py *p, int n, py_object **items) {
    return py_sequence(p, PY_LIST, n, items);
}

py_object *py_tuple(py *p, int n, py_object **items) {
    return py_sequence(p, PY_TUPLE, n, items);
}

py_object *py_iterator(py *p, int n, py_object **items) {
    return py_sequence(p, PY_ITERATOR, n, items);
}

bool py_append(py *p, py_object *list, py_object *item) {
    if (avec_push(p->a, &list->u.seq.items, item)) return true;
    diag_no_memory(p->diag);
    return false;
}

py_object *py_builtin(py *p, const char *name, py_builtin_fn fn) {
    py_object *o = py_new(p, PY_BUILTIN);
    o->u.builtin.name = name;
    o->u.builtin.fn = fn;
    return o;
}

py_object *py_method(py *p, py_object *self, py_object *fn) {
    py_object *o = py_new(p, PY_METHOD);
    o->u.method.self = self;
    o->u.method.fn = fn;
    return o;
}

py_object *py_dict_object(py *p, py_dict *d) {
    py_object *o = py_new(p, PY_DICT);
    o->u.dict = d;
    return o;
}

py_object *py_instance(py *p, py_object *cls) {
    py_object *o = py_new(p, PY_INSTANCE);
    o->u.inst.cls = cls;
    o->u.inst.attrs = py_dict_new(p);
    return o;
}

/* ---- hashing, equality ------------------------------------------------------------------------ */

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
    if (v.tag == V_STR)
        *out = hash_bytes(v.u.str->bytes, v.u.str->len);
    else if (v.tag == V_COMPLEX)
        *out =
            v.u.complex->im == 0 ? py_hash_number(0, v.u.complex->re, 2) : hash_bytes(&v.u.complex->re, 16);
    else if (v.tag == V_LIST || v.tag == V_DICT)
        return false;
    else if (v.tag == V_DEVICE)
        *out = hash_u64((uint64_t)v.u.device + 77);
    else
        *out = hash_u64(
            (uint64_t)(uintptr_t)(value_is_counted(v) ? (const void *)v.u.refs : (const void *)o) + v.tag);
    return true;
}

bool py_hash(py *p, source_range r, const py_object *o, uint64_t *out) {
    bool ok = true;
    switch (o->kind) {
    case PY_VALUE: ok = py_hash_value(o, out); break;
    case PY_SYMBOL: *out = hash_u64((uint64_t)o->u.v.u.i * 8 + o->u.symbol + 1000); break;
    case PY_TUPLE: {
        uint64_t h = hash_u64(o->u.seq.items.len);
        for (size_t i = 0; i < o->u.seq.items.len && ok; i++) {
            uint64_t one = 0;
            if (p && !py_deeper(p, r)) return false;
            ok = py_hash(p, r, o->u.seq.items.data[i], &one);
            if (p) p->depth--;
            h = hash_u64(h ^ one) + i;
        }
        if (!ok) return false;
        *out = h;
        break;
    }
    case PY_LIST:
    case PY_DICT:
    case PY_SET: ok = false; break;
    case PY_TYPE:
        *out = hash_bytes(o->u.type.name, strlen(o->u.type.name));
        for (int i = 0; i < o->u.type.nargs; i++) {
            uint64_t one = 0;
            if (!py_hash(p, r, o->u.type.args[i], &one)) return false;
            *out = hash_u64(*out ^ one);
        }
        break;
    case PY_OPERATOR: *out = hash_bytes(o->u.op_name, strlen(o->u.op_name)); break;
    case PY_METHOD:
        *out = hash_u64((uint64_t)(uintptr_t)o->u.method.self ^ (uint64_t)(uintptr_t)o->u.method.fn);
        break;
    default: *out = hash_u64((uint64_t)(uintptr_t)o); break;
    }
    if (!ok && p) py_fail(p, r, "TypeError", "unhashable type: '%s'", py_type_name(o));
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
        return a->u.type.nargs < 0 && b->u.type.nargs < 0 && !strcmp(a->u.type.name, b->u.type.name);
    case PY_ELLIPSIS:
    case PY_NOT_IMPLEMENTED: return true;
    default: return false;
    }
}

static bool py_equal_items(py *p, const py_object *a, const py_object *b) {
    if (a->u.seq.items.len != b->u.seq.items.len) return false;
    for (size_t i = 0; i < a->u.seq.items.len; i++)
        if (!py_equal(p, a->u.seq.items.data[i], b->u.seq.items.data[i])) return false;
    return true;
}

static bool py_equal_dicts(py *p, const py_dict *a, const py_dict *b) {
    if (a->len != b->len) return false;
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
    if (py_number(a, &i, &f, &m) && py_number(b, &j, &g, &n)) return m < 2 && n < 2 ? i == j : f == g;
    if (a->u.v.tag == V_COMPLEX && py_number(b, &j, &g, &n))
        return a->u.v.u.complex->re == g && a->u.v.u.complex->im == 0;
    if (b->u.v.tag == V_COMPLEX && py_number(a, &i, &f, &m))
        return b->u.v.u.complex->re == f && b->u.v.u.complex->im == 0;
    return value_equal(a->u.v, b->u.v);
}

/* The value behind a member of an enum that is an int or a str too, else the object. */
const py_object *py_enum_plain(const py_object *o) {
    if (o->kind != PY_INSTANCE || o->u.inst.cls->u.cls->kind != PYC_ENUM) return o;
    const py_class *c = o->u.inst.cls->u.cls;
    for (size_t i = 0; i < c->mro.len; i++) {
        const char *n = c->mro.data[i]->u.cls->name;
        if (!strcmp(n, "int") || !strcmp(n, "str") || !strcmp(n, "IntEnum"))
            return py_dict_get(o->u.inst.attrs, "value");
    }
    return o;
}

static bool py_equal_kinds(py *p, const py_object *a, const py_object *b) {
    switch (a->kind) {
    case PY_VALUE: return py_equal_values(a, b);
    case PY_LIST:
    case PY_TUPLE: return py_equal_items(p, a, b);
    case PY_SET:
        if (a->u.seq.items.len != b->u.seq.items.len) return false;
        for (size_t i = 0; i < a->u.seq.items.len; i++)
            if (py_set_find(p, b, a->u.seq.items.data[i]) < 0) return false;
        return true;
    case PY_DICT: return py_equal_dicts(p, a->u.dict, b->u.dict);
    case PY_RANGE:
        return py_range_len(a) == py_range_len(b) &&
               (py_range_len(a) == 0 || (a->u.range.start == b->u.range.start &&
                                         (py_range_len(a) == 1 || a->u.range.step == b->u.range.step)));
    case PY_SLICE:
        return py_equal(p, a->u.slice.start, b->u.slice.start) &&
               py_equal(p, a->u.slice.stop, b->u.slice.stop) && py_equal(p, a->u.slice.step, b->u.slice.step);
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
    case PY_METHOD: return a->u.method.self == b->u.method.self && py_same(a->u.method.fn, b->u.method.fn);
    case PY_TYPE:
        if (strcmp(a->u.type.name, b->u.type.name) || a->u.type.nargs != b->u.type.nargs) return false;
        for (int i = 0; i < a->u.type.nargs; i++)
            if (!py_equal(p, a->u.type.args[i], b->u.type.args[i])) return false;
        return true;
    default: return false;
    }
}

bool py_equal(py *p, const py_object *a, const py_object *b) {
    if (py_same(a, b)) return !(a->kind == PY_VALUE && a->u.v.tag == V_FLOAT && isnan(a->u.v.u.f));
    a = py_enum_plain(a);
    b = py_enum_plain(b);
    if (!a || !b || a->kind != b->kind) return false;
    if (p->depth >= PY_MAX_DEPTH) return false;
    p->depth++;
    bool same = py_equal_kinds(p, a, b);
    p->depth--;
    return same;
}

/* ---- dicts ---------------------------------------------------------------------------------- */

enum { PY_DICT_LINEAR = 8 };

py_dict *py_dict_new(py *p) {
    return arena_new(p->a, py_dict);
}

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
            if (py_entry_is_text(&d->entries.data[i], name, len, hash)) return d->entries.data[i].val;
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

static py_dict_entry *py_dict_entry_of(py *p, const py_dict *d, const py_object *key, uint64_t hash) {
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
    if ((full && !py_dict_rebuild(p, d)) || !avec_push(p->a, &d->entries, ((py_dict_entry){key, v, hash}))) {
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

py_object *py_set_new(py *p) {
    return py_new(p, PY_SET);
}

/* Of larger sets: hash -> item + 1. Made when first asked for; dropped when items move. */
typedef struct py_set_index {
    uint32_t *slots, nslots;
    size_t len; /* items it knows: the first so many */
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

void py_set_moved(py_object *set) {
    set->u.seq.set_index = NULL;
}

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
        if (py_equal(p, set->u.seq.items.data[x->slots[i] - 1], item)) return (int64_t)x->slots[i] - 1;
    return -1;
}

bool py_set_add(py *p, source_range r, py_object *set, py_object *item) {
    uint64_t hash;
    if (!py_hash(p, r, item, &hash)) return false;
    return py_set_find(p, set, item) >= 0 || (py_step(p, r) && py_append(p, set, item));
}

/* ---- classes of objects -------------------------------------------------------------------------- */

py_object *py_builtin_class(py *p, const char *name) {
    py_object *c = py_dict_get(p->builtins->u.mod.globals, name);
    return c && c->kind == PY_CLASS ? c : p->object_class;
}

static const char *const py_value_names[] = {
    [V_NONE] = "NoneType", [V_BOOL] = "bool",         [V_INT] = "int",
    [V_FLOAT] = "float",   [V_DEVICE] = "device",     [V_FUNCTION] = "ScriptFunction",
    [V_UNINIT] = "object", [V_COMPLEX] = "complex",   [V_STR] = "str",
    [V_TENSOR] = "Tensor", [V_LIST] = "list",         [V_DICT] = "dict",
    [V_TUPLE] = "tuple",   [V_OBJECT] = "object",     [V_ENUM] = "Enum",
    [V_FUTURE] = "Future", [V_CAPSULE] = "Generator",
};

static const char *const py_kind_names[PY_KIND_COUNT] = {
    [PY_LIST] = "list",
    [PY_TUPLE] = "tuple",
    [PY_SET] = "set",
    [PY_DICT] = "dict",
    [PY_RANGE] = "range",
    [PY_SLICE] = "slice",
    [PY_ELLIPSIS] = "ellipsis",
    [PY_NOT_IMPLEMENTED] = "NotImplementedType",
    [PY_MODULE] = "module",
    [PY_FUNCTION] = "function",
    [PY_METHOD] = "method",
    [PY_BUILTIN] = "builtin_function_or_method",
    [PY_OPERATOR] = "builtin_function_or_method",
    [PY_CLASS] = "type",
    [PY_PROPERTY] = "property",
    [PY_STATICMETHOD] = "staticmethod",
    [PY_CLASSMETHOD] = "classmethod",
    [PY_TYPE] = "_GenericAlias",
    [PY_SUPER] = "super",
    [PY_ITERATOR] = "generator",
};

const char *py_type_name(const py_object *o) {
    static const char *const symbols[] = {"dtype", "layout", "memory_format", "qscheme"};
    switch (o->kind) {
    case PY_VALUE: return o->u.v.tag == V_TENSOR && o->u.param ? "Parameter" : py_value_names[o->u.v.tag];
    case PY_SYMBOL: return symbols[o->u.symbol];
    case PY_INSTANCE: return o->u.inst.cls->u.cls->name;
    case PY_TUPLE: return o->u.seq.seq_cls ? o->u.seq.seq_cls->u.cls->name : "tuple";
    default: return py_kind_names[o->kind];
    }
}

const py_object *py_class_of(py *p, const py_object *o) {
    switch (o->kind) {
    case PY_INSTANCE: return o->u.inst.cls;
    case PY_TUPLE:
        if (o->u.seq.seq_cls) return o->u.seq.seq_cls;
        break;
    case PY_VALUE:
        if (o->u.v.tag == V_TENSOR || o->u.v.tag == V_DEVICE || o->u.v.tag == V_CAPSULE)
            return py_torch_class(p, o);
        break;
    case PY_SYMBOL: return py_torch_class(p, o);
    default: break;
    }
    return py_builtin_class(p, py_type_name(o));
}

bool py_is_subclass(const py_object *cls, const py_object *base) {
    if (cls == base) return true;
    if (cls->kind != PY_CLASS || base->kind != PY_CLASS) return false;
    for (size_t i = 0; i < cls->u.cls->mro.len; i++)
        if (cls->u.cls->mro.data[i] == base) return true;
    return base->u.cls->module == NULL && !strcmp(base->u.cls->name, "object");
}

/* isinstance with the abstract classes of typing and collections.abc. */
static bool py_is_abstract(py *p, const py_object *o, const char *name) {
    const char *dot = strrchr(name, '.');
    if (dot) name = dot + 1;
    bool sequence = o->kind == PY_LIST || o->kind == PY_TUPLE || o->kind == PY_RANGE || py_str_of(o);
    if (!strcmp(name, "Any")) return true;
    if (!strcmp(name, "Sequence")) return sequence;
    if (!strcmp(name, "MutableSequence") || !strcmp(name, "List")) return o->kind == PY_LIST;
    if (!strcmp(name, "Mapping") || !strcmp(name, "MutableMapping") || !strcmp(name, "Dict") ||
        !strcmp(name, "OrderedDict"))
        return o->kind == PY_DICT;
    if (!strcmp(name, "Tuple")) return o->kind == PY_TUPLE;
    if (!strcmp(name, "Set") || !strcmp(name, "FrozenSet")) return o->kind == PY_SET;
    if (!strcmp(name, "Iterator") || !strcmp(name, "Generator")) return o->kind == PY_ITERATOR;
    const char *dunder = !strcmp(name, "Callable")   ? "__call__"
                         : !strcmp(name, "Hashable") ? "__hash__"
                         : !strcmp(name, "Sized")    ? "__len__"
                                                     : "__iter__";
    if (o->kind == PY_INSTANCE) return py_class_find(o->u.inst.cls, dunder) != NULL;
    if (!strcmp(name, "Callable"))
        return o->kind == PY_FUNCTION || o->kind == PY_METHOD || o->kind == PY_BUILTIN ||
               o->kind == PY_OPERATOR || o->kind == PY_CLASS;
    if (!strcmp(name, "Hashable")) {
        uint64_t hash;
        return py_hash(NULL, (source_range){0}, o, &hash);
    }
    bool sized = sequence || o->kind == PY_DICT || o->kind == PY_SET || py_is_tensor(o);
    if (!strcmp(name, "Sized") || !strcmp(name, "Container") || !strcmp(name, "Collection")) return sized;
    (void)p;
    return !strcmp(name, "Iterable") && (sized || o->kind == PY_ITERATOR);
}

bool py_isinstance(py *p, const py_object *o, const py_object *cls) {
    if (cls->kind == PY_TUPLE) {
        for (size_t i = 0; i < cls->u.seq.items.len; i++)
            if (py_isinstance(p, o, cls->u.seq.items.data[i])) return true;
        return false;
    }
    if (py_is_none(cls)) return py_is_none(o);
    if (cls->kind == PY_TYPE) {
        if (!strcmp(cls->u.type.name, "Union") || !strcmp(cls->u.type.name, "typing.Union")) {
            for (int i = 0; i < cls->u.type.nargs; i++)
                if (py_isinstance(p, o, cls->u.type.args[i])) return true;
            return false;
        }
        return py_is_abstract(p, o, cls->u.type.name);
    }
    if (cls->kind != PY_CLASS) return false;
    if (o->kind == PY_TUPLE && !cls->u.cls->module && !strcmp(cls->u.cls->name, "tuple"))
        return true; /* named ones too */
    return py_is_subclass(py_class_of(p, o), cls);
}
