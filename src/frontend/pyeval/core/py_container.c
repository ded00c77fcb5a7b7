/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_container.c - the methods of lists, tuples, dicts, sets, numbers and iterators; sorting.
 *
 * The views of a dict (keys(), values(), items()) are lists made at the call.
 * Tests: tests/unit/test_py.c
 */
#include "frontend/pyeval/core/py_internal.h"

#include <math.h>

/* ---- sorting --------------------------------------------------------------------------------- */

/* A stable merge sort of items by keys; false after an error in a comparison. */
static bool sort_merge(py *p, source_range r, py_object **items, py_object **keys,
                       py_object **spare, size_t n, bool reverse) {
    if (n < 2) return true;
    size_t half = n / 2, i = 0, k = half;
    if (!sort_merge(p, r, items, keys, spare, half, reverse) ||
        !sort_merge(p, r, items + half, keys + half, spare, n - half, reverse))
        return false;
    for (size_t out = 0; out < n; out++) {
        bool right = i >= half;
        if (!right && k < n) {
            bool ok = reverse ? py_less(p, r, keys[i], keys[k], &right)
                              : py_less(p, r, keys[k], keys[i], &right);
            if (!ok) return false;
        }
        size_t from = right ? k++ : i++;
        spare[2 * out] = items[from];
        spare[2 * out + 1] = keys[from];
    }
    for (size_t out = 0; out < n; out++) {
        items[out] = spare[2 * out];
        keys[out] = spare[2 * out + 1];
    }
    return py_step(p, r);
}

static bool list_sort_in_place(py *p, source_range r, py_object *list, py_object *key,
                               py_object *reverse) {
    size_t n = list->u.seq.items.len;
    bool backwards = false;
    if (reverse && !py_truth(p, r, reverse, &backwards)) return false;
    py_object **keys = arena_array(p->a, py_object *, n + 1),
              **spare = arena_array(p->a, py_object *, 2 * n + 1);
    if (!keys || !spare) return diag_no_memory(p->diag), false;
    for (size_t i = 0; i < n; i++) {
        keys[i] = list->u.seq.items.data[i];
        if (key && !py_is_none(key) && !(keys[i] = py_call1(p, r, key, keys[i]))) return false;
        if (list->u.seq.items.len != n)
            return py_fail(p, r, "ValueError", "list modified during sort"), false;
    }
    return sort_merge(p, r, list->u.seq.items.data, keys, spare, n, backwards);
}

static py_object *list_sort(PY_ARGS) {
    py_object *a[2];
    PY_TAKE("sort", "key? reverse?", a);
    return list_sort_in_place(p, r, self, a[0], a[1]) ? p->none : NULL;
}

py_object *py_sorted(PY_ARGS) {
    py_object *a[3], **items;
    int n;
    (void)self;
    PY_TAKE("sorted", "iterable key? reverse?", a);
    if (!py_iterate(p, r, a[0], &items, &n)) return NULL;
    py_object *list = py_list(p, n, items);
    return list && list_sort_in_place(p, r, list, a[1], a[2]) ? list : NULL;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static py_object *list_append(PY_ARGS) {
    py_object *a[1];
    PY_TAKE("append", "object", a);
    return py_room(p, r, (int64_t)self->u.seq.items.len + 1) && py_append(p, self, a[0]) ? p->none
                                                                                         : NULL;
}

static py_object *list_extend(PY_ARGS) {
    py_object *a[1];
    PY_TAKE("extend", "iterable", a);
    return py_inplace(p, r, O_ADD, self, a[0]) ? p->none : NULL;
}

static py_object *list_insert(PY_ARGS) {
    py_object *a[2];
    int64_t i, len = (int64_t)self->u.seq.items.len;
    PY_TAKE("insert", "index object", a);
    if (!py_as_int(p, r, a[0], &i) || !py_append(p, self, a[1])) return NULL;
    if (i < 0) i += len;
    i = i < 0 ? 0 : i > len ? len : i;
    py_object **d = self->u.seq.items.data;
    p->steps += (uint64_t)(len - i) * sizeof *d / PY_STEP_BYTES;
    memmove(d + i + 1, d + i, sizeof *d * (size_t)(len - i));
    d[i] = a[1];
    return p->none;
}

static py_object *list_pop(PY_ARGS) {
    py_object *a[1];
    int64_t len = (int64_t)self->u.seq.items.len, i = len - 1;
    PY_TAKE("pop", "index?", a);
    if (len == 0) return py_fail(p, r, "IndexError", "pop from empty list");
    if (a[0] && !py_as_int(p, r, a[0], &i)) return NULL;
    if (i < 0) i += len;
    if (i < 0 || i >= len) return py_fail(p, r, "IndexError", "pop index out of range");
    py_object **d = self->u.seq.items.data, *o = d[i];
    p->steps += (uint64_t)(len - i) * sizeof *d / PY_STEP_BYTES;
    memmove(d + i, d + i + 1, sizeof *d * (size_t)(len - i - 1));
    self->u.seq.items.len--;
    return o;
}

/* -1: absent, -2: an error */
static int64_t list_position(py *p, source_range r, py_object *self, py_object *x) {
    if (!py_work(p, r, self->u.seq.items.len / PY_STEP_ITEMS)) return -2;
    for (size_t i = 0; i < self->u.seq.items.len; i++) {
        bool same = py_same(self->u.seq.items.data[i], x);
        if (!same && !py_is_tensor(x) &&
            !py_equal_objects(p, r, self->u.seq.items.data[i], x, &same))
            return -2;
        if (same) return (int64_t)i;
    }
    return -1;
}

static py_object *list_remove(PY_ARGS) {
    py_object *a[1];
    PY_TAKE("remove", "value", a);
    int64_t i = list_position(p, r, self, a[0]);
    if (i == -1) return py_fail(p, r, "ValueError", "list.remove(x): x not in list");
    return i >= 0 && py_delete_subscript(p, r, self, py_int(p, i)) ? p->none : NULL;
}

static py_object *list_index(PY_ARGS) {
    py_object *a[2];
    int64_t from = 0;
    PY_TAKE("index", "value start?", a);
    if (a[1] && !py_as_int(p, r, a[1], &from)) return NULL;
    if (!py_work(p, r, self->u.seq.items.len / PY_STEP_ITEMS)) return NULL;
    for (size_t i = from > 0 ? (size_t)from : 0; i < self->u.seq.items.len; i++) {
        bool same;
        if (!py_equal_objects(p, r, self->u.seq.items.data[i], a[0], &same)) return NULL;
        if (same) return py_int(p, (int64_t)i);
    }
    strbuf text = STRBUF_INIT;
    if (py_str(p, r, a[0], true, &text))
        py_fail(p, r, "ValueError",
                self->kind == PY_LIST ? "%s is not in list" : "tuple.index(x): x not in tuple%.0s",
                sb_str(&text));
    sb_free(&text);
    return NULL;
}

static py_object *list_count(PY_ARGS) {
    py_object *a[1];
    int64_t n = 0;
    PY_TAKE("count", "value", a);
    if (!py_work(p, r, self->u.seq.items.len / PY_STEP_ITEMS)) return NULL;
    for (size_t i = 0; i < self->u.seq.items.len; i++) {
        bool same;
        if (!py_equal_objects(p, r, self->u.seq.items.data[i], a[0], &same)) return NULL;
        n += same;
    }
    return py_int(p, n);
}

static py_object *list_reverse(PY_ARGS) {
    PY_TAKE("reverse", "", NULL);
    if (!py_work(p, r, self->u.seq.items.len / PY_STEP_ITEMS)) return NULL;
    py_object **d = self->u.seq.items.data;
    for (size_t i = 0, n = self->u.seq.items.len; i < n / 2; i++) {
        py_object *swap = d[i];
        d[i] = d[n - 1 - i];
        d[n - 1 - i] = swap;
    }
    return p->none;
}

static py_object *list_empty(PY_ARGS) {
    PY_TAKE("clear", "", NULL);
    self->u.seq.items.len = 0;
    if (self->kind == PY_SET) py_set_moved(self);
    return p->none;
}

static py_object *seq_copy(PY_ARGS) {
    PY_TAKE("copy", "", NULL);
    p->steps += self->u.seq.items.len * sizeof *args / PY_STEP_BYTES;
    py_object *o = py_list(p, (int)self->u.seq.items.len, self->u.seq.items.data);
    if (o) o->kind = self->kind;
    return o;
}

static py_object *list_iter(PY_ARGS) {
    py_object **items;
    int n;
    PY_TAKE("__iter__", "", NULL);
    return py_iterate(p, r, self, &items, &n) ? py_iterator(p, n, items) : NULL;
}

static py_object *any_len(PY_ARGS) {
    int64_t n;
    PY_TAKE("__len__", "", NULL);
    return py_length(p, r, self, &n) ? py_int(p, n) : NULL;
}

static py_object *any_getitem(PY_ARGS) {
    py_object *a[1];
    PY_TAKE("__getitem__", "key", a);
    return py_subscript(p, r, self, a[0]);
}

static py_object *any_setitem(PY_ARGS) {
    py_object *a[2];
    PY_TAKE("__setitem__", "key value", a);
    return py_set_subscript(p, r, self, a[0], a[1]) ? p->none : NULL;
}

static py_object *any_contains(PY_ARGS) {
    py_object *a[1];
    bool yes;
    PY_TAKE("__contains__", "key", a);
    return py_contains(p, r, self, a[0], &yes) ? py_bool(p, yes) : NULL;
}

/* ---- named tuples ---------------------------------------------------------------------------- */

static py_object *tuple_asdict(PY_ARGS) {
    py_dict *d = py_dict_new(p);
    PY_TAKE("_asdict", "", NULL);
    const py_class *c = self->u.seq.seq_cls ? self->u.seq.seq_cls->u.cls : NULL;
    for (size_t i = 0; c && i < c->fields.len && i < self->u.seq.items.len; i++)
        if (!py_dict_set(p, d, c->fields.data[i], self->u.seq.items.data[i])) return NULL;
    return py_dict_object(p, d);
}

static py_object *tuple_replace(PY_ARGS) {
    py_object *cls = self->u.seq.seq_cls,
              *o = py_tuple(p, (int)self->u.seq.items.len, self->u.seq.items.data);
    if (!cls || nargs)
        return py_fail(p, r, "TypeError", "_replace() expects the fields of a named tuple");
    for (int k = 0; o && k < nkw; k++) {
        int i = py_field_index(cls->u.cls, names[k]);
        if (i < 0)
            return py_fail(p, r, "ValueError", "Got unexpected field names: ['%s']", names[k]);
        o->u.seq.items.data[i] = kwargs[k];
    }
    (void)args;
    if (o) o->u.seq.seq_cls = cls;
    return o;
}

/* ---- dicts ----------------------------------------------------------------------------------- */

/* what: 'k' keys, 'v' values, 'i' items */
static py_object *dict_list(py *p, const py_dict *d, char what) {
    py_object *list = py_new(p, PY_LIST);
    for (size_t i = 0; i < d->entries.len; i++) {
        const py_dict_entry *e = &d->entries.data[i];
        if (!e->key) continue;
        py_object *pair[] = {e->key, e->val};
        py_object *o = what == 'k' ? e->key : what == 'v' ? e->val : py_tuple(p, 2, pair);
        if (!o || !py_append(p, list, o)) return NULL;
    }
    p->steps += d->len / 4;
    return list;
}

static py_object *dict_view(py *p, py_object *list) {
    if (list) list->u.seq.seq_cls = py_builtin_class(p, "dict");
    return list;
}

static py_object *dict_keys(PY_ARGS) {
    PY_TAKE("keys", "", NULL);
    return dict_view(p, dict_list(p, self->u.dict, 'k'));
}

static py_object *dict_values(PY_ARGS) {
    PY_TAKE("values", "", NULL);
    return dict_list(p, self->u.dict, 'v');
}

static py_object *dict_items(PY_ARGS) {
    PY_TAKE("items", "", NULL);
    return dict_view(p, dict_list(p, self->u.dict, 'i'));
}

static py_object *dict_get_or(PY_ARGS) {
    py_object *a[2];
    uint64_t hash;
    PY_TAKE("get", "key default?", a);
    if (!py_hash(p, r, a[0], &hash)) return NULL;
    py_object *o = py_dict_get_key(p, self->u.dict, a[0]);
    return o ? o : a[1] ? a[1] : p->none;
}

static py_object *dict_pop(PY_ARGS) {
    py_object *a[2];
    uint64_t hash;
    PY_TAKE("pop", "key default?", a);
    if (!py_hash(p, r, a[0], &hash)) return NULL;
    py_object *o = py_dict_get_key(p, self->u.dict, a[0]);
    if (o) py_dict_remove(p, self->u.dict, a[0]);
    if (o || a[1]) return o ? o : a[1];
    strbuf text = STRBUF_INIT;
    if (py_str(p, r, a[0], true, &text)) py_fail(p, r, "KeyError", "%s", sb_str(&text));
    sb_free(&text);
    return NULL;
}

static py_object *dict_popitem(PY_ARGS) {
    py_object *a[1];
    bool last = true;
    PY_TAKE("popitem", "last?", a);
    if (a[0] && !py_truth(p, r, a[0], &last)) return NULL;
    const py_dict *d = self->u.dict;
    for (size_t i = 0, n = d->entries.len; i < n; i++) {
        const py_dict_entry e = d->entries.data[last ? n - 1 - i : i];
        if (!e.key) continue;
        py_object *pair[] = {e.key, e.val};
        py_dict_remove(p, self->u.dict, e.key);
        return py_tuple(p, 2, pair);
    }
    return py_fail(p, r, "KeyError", "'popitem(): dictionary is empty'");
}

static py_object *dict_setdefault(PY_ARGS) {
    py_object *a[2];
    PY_TAKE("setdefault", "key default?", a);
    py_object *o = py_dict_get_key(p, self->u.dict, a[0]);
    if (o) return o;
    o = a[1] ? a[1] : p->none;
    return py_dict_set_key(p, self->u.dict, a[0], o) ? o : NULL;
}

/* dict(x), d.update(x): another dict, something with keys(), or pairs. */
bool py_dict_merge(py *p, source_range r, py_dict *into, py_object *from) {
    if (from->kind == PY_DICT) {
        for (size_t i = 0; i < from->u.dict->entries.len; i++) {
            const py_dict_entry e = from->u.dict->entries.data[i];
            if (e.key && !py_dict_set_key(p, into, e.key, e.val)) return false;
        }
        return true;
    }
    py_object *keys = from->kind == PY_INSTANCE ? py_find(p, r, from, "keys") : NULL, **items,
              **pair;
    int n, two;
    if (py_failed(p)) return false;
    if (keys && !(keys = py_call0(p, r, keys))) return false;
    if (!py_iterate(p, r, keys ? keys : from, &items, &n)) return false;
    for (int i = 0; i < n; i++) {
        py_object *v = keys ? py_subscript(p, r, from, items[i]) : NULL;
        if (keys && (!v || !py_dict_set_key(p, into, items[i], v))) return false;
        if (keys) continue;
        if (!py_iterate(p, r, items[i], &pair, &two)) return false;
        if (two != 2) {
            py_fail(p, r, "ValueError",
                    "dictionary update sequence element #%d has length %d; 2 is required", i, two);
            return false;
        }
        if (!py_dict_set_key(p, into, pair[0], pair[1])) return false;
    }
    return true;
}

static py_object *dict_update(PY_ARGS) {
    if (nargs > 1)
        return py_fail(p, r, "TypeError", "update expected at most 1 argument, got %d", nargs);
    if (nargs && !py_dict_merge(p, r, self->u.dict, args[0])) return NULL;
    for (int i = 0; i < nkw; i++)
        if (!py_dict_set(p, self->u.dict, names[i], kwargs[i])) return NULL;
    return p->none;
}

static py_object *dict_empty(PY_ARGS) {
    PY_TAKE("clear", "", NULL);
    py_object *missing = self->u.dict->missing;
    *self->u.dict = (py_dict){.missing = missing};
    return p->none;
}

static py_object *dict_copy(PY_ARGS) {
    py_dict *d = py_dict_new(p);
    PY_TAKE("copy", "", NULL);
    d->missing = self->u.dict->missing;
    return py_dict_merge(p, r, d, self) ? py_dict_object(p, d) : NULL;
}

static py_object *dict_move_to_end(PY_ARGS) {
    py_object *a[2];
    bool last = true;
    PY_TAKE("move_to_end", "key last?", a);
    if (a[1] && !py_truth(p, r, a[1], &last)) return NULL;
    py_object *v = py_subscript(p, r, self, a[0]);
    py_dict *d = py_dict_new(p), *old = self->u.dict;
    if (!v || (!last && !py_dict_set_key(p, d, a[0], v))) return NULL;
    for (size_t i = 0; i < old->entries.len; i++) {
        const py_dict_entry e = old->entries.data[i];
        if (e.key && !py_equal(p, e.key, a[0]) && !py_dict_set_key(p, d, e.key, e.val)) return NULL;
    }
    if (last && !py_dict_set_key(p, d, a[0], v)) return NULL;
    d->missing = old->missing;
    *old = *d;
    return p->none;
}

/* ---- sets ------------------------------------------------------------------------------------ */

static py_object *set_add(PY_ARGS) {
    py_object *a[1];
    PY_TAKE("add", "object", a);
    return py_set_add(p, r, self, a[0]) ? p->none : NULL;
}

static void set_drop(py_object *set, int64_t i) {
    py_object **d = set->u.seq.items.data;
    memmove(d + i, d + i + 1, sizeof *d * (set->u.seq.items.len - (size_t)i - 1));
    py_set_moved(set);
    set->u.seq.items.len--;
}

static py_object *set_discard(PY_ARGS) {
    py_object *a[1];
    PY_TAKE("discard", "object", a);
    int64_t i = py_set_find(p, self, a[0]);
    if (i >= 0) set_drop(self, i);
    return p->none;
}

static py_object *set_remove(PY_ARGS) {
    py_object *a[1];
    PY_TAKE("remove", "object", a);
    int64_t i = py_set_find(p, self, a[0]);
    if (i >= 0) {
        set_drop(self, i);
        return p->none;
    }
    strbuf text = STRBUF_INIT;
    if (py_str(p, r, a[0], true, &text)) py_fail(p, r, "KeyError", "%s", sb_str(&text));
    sb_free(&text);
    return NULL;
}

static py_object *set_pop(PY_ARGS) {
    PY_TAKE("pop", "", NULL);
    if (self->u.seq.items.len == 0) return py_fail(p, r, "KeyError", "'pop from an empty set'");
    py_object *o = self->u.seq.items.data[0];
    set_drop(self, 0);
    return o;
}

static py_object *set_of(py *p, source_range r, py_object *iterable) {
    py_object **items, *set = py_set_new(p);
    int n;
    if (iterable->kind == PY_SET) return iterable;
    if (!py_iterate(p, r, iterable, &items, &n)) return NULL;
    for (int i = 0; i < n; i++)
        if (!py_set_add(p, r, set, items[i])) return NULL;
    return set;
}

static py_object *set_combine(PY_ARGS, operator_kind op) {
    py_object *o = py_list(p, (int)self->u.seq.items.len, self->u.seq.items.data);
    (void)names, (void)kwargs;
    if (nkw) return py_fail(p, r, "TypeError", "set methods take no keyword arguments");
    if (o) o->kind = PY_SET;
    for (int i = 0; o && i < nargs; i++) {
        py_object *other = set_of(p, r, args[i]);
        o = other ? py_binary(p, r, op, o, other) : NULL;
    }
    return o;
}

static py_object *set_union(PY_ARGS) {
    return set_combine(p, r, self, nargs, args, nkw, names, kwargs, O_OR);
}

static py_object *set_intersection(PY_ARGS) {
    return set_combine(p, r, self, nargs, args, nkw, names, kwargs, O_AND);
}

static py_object *set_difference(PY_ARGS) {
    return set_combine(p, r, self, nargs, args, nkw, names, kwargs, O_SUB);
}

static py_object *set_symmetric_difference(PY_ARGS) {
    return set_combine(p, r, self, nargs, args, nkw, names, kwargs, O_XOR);
}

static py_object *set_update(PY_ARGS) {
    py_object *o = set_combine(p, r, self, nargs, args, nkw, names, kwargs, O_OR);
    if (o) memcpy(&self->u.seq.items, &o->u.seq.items, sizeof self->u.seq.items);
    py_set_moved(self);
    return o ? p->none : NULL;
}

static py_object *set_issubset(PY_ARGS) {
    py_object *a[1];
    PY_TAKE("issubset", "other", a);
    py_object *other = set_of(p, r, a[0]);
    return other ? py_compare(p, r, O_LE, self, other) : NULL;
}

static py_object *set_issuperset(PY_ARGS) {
    py_object *a[1];
    PY_TAKE("issuperset", "other", a);
    py_object *other = set_of(p, r, a[0]);
    return other ? py_compare(p, r, O_GE, self, other) : NULL;
}

static py_object *set_isdisjoint(PY_ARGS) {
    py_object *a[1];
    PY_TAKE("isdisjoint", "other", a);
    py_object *other = set_of(p, r, a[0]),
              *both = other ? py_binary(p, r, O_AND, self, other) : NULL;
    return both ? py_bool(p, both->u.seq.items.len == 0) : NULL;
}

/* ---- numbers, iterators ---------------------------------------------------------------------- */

static py_object *int_bit_length(PY_ARGS) {
    int64_t i;
    PY_TAKE("bit_length", "", NULL);
    if (!py_as_int(p, r, self, &i)) return NULL;
    uint64_t n = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    return py_int(p, n ? 64 - __builtin_clzll(n) : 0);
}

static py_object *float_is_integer(PY_ARGS) {
    PY_TAKE("is_integer", "", NULL);
    return py_bool(p, floor(self->u.v.u.f) == self->u.v.u.f && isfinite(self->u.v.u.f));
}

static py_object *complex_conjugate(PY_ARGS) {
    PY_TAKE("conjugate", "", NULL);
    if (self->u.v.tag != V_COMPLEX) return self;
    complex_box *c = complex_new(self->u.v.u.complex->re, -self->u.v.u.complex->im);
    if (c) return py_value_take(p, (value){.tag = V_COMPLEX, .u.complex = c});
    return diag_no_memory(p->diag), NULL;
}

static py_object *iterator_next(PY_ARGS) {
    PY_TAKE("__next__", "", NULL);
    if (self->u.seq.items.len == 0) return py_fail(p, r, "StopIteration", "%s", "");
    py_object *o = self->u.seq.items.data[0];
    self->u.seq.items.data++;
    self->u.seq.items.len--;
    self->u.seq.items.cap--;
    return o;
}

static py_object *iterator_self(PY_ARGS) {
    PY_TAKE("__iter__", "", NULL);
    return self;
}

static py_object *iterator_close(PY_ARGS) {
    PY_TAKE("close", "", NULL);
    memset(&self->u.seq.items, 0, sizeof self->u.seq.items);
    return p->none;
}

const py_method_row py_container_methods[] = {
    {"list", "append", list_append},
    {"list", "extend", list_extend},
    {"list", "insert", list_insert},
    {"list", "pop", list_pop},
    {"list", "remove", list_remove},
    {"list", "index", list_index},
    {"list", "count", list_count},
    {"list", "reverse", list_reverse},
    {"list", "clear", list_empty},
    {"list", "copy", seq_copy},
    {"list", "sort", list_sort},
    {"list", "__iter__", list_iter},
    {"list", "__len__", any_len},
    {"list", "__getitem__", any_getitem},
    {"list", "__setitem__", any_setitem},
    {"list", "__contains__", any_contains},
    {"tuple", "index", list_index},
    {"tuple", "count", list_count},
    {"tuple", "__iter__", list_iter},
    {"tuple", "__len__", any_len},
    {"tuple", "__getitem__", any_getitem},
    {"tuple", "_asdict", tuple_asdict},
    {"tuple", "_replace", tuple_replace},
    {"tuple", "__contains__", any_contains},
    {"dict", "keys", dict_keys},
    {"dict", "values", dict_values},
    {"dict", "items", dict_items},
    {"dict", "get", dict_get_or},
    {"dict", "pop", dict_pop},
    {"dict", "popitem", dict_popitem},
    {"dict", "setdefault", dict_setdefault},
    {"dict", "update", dict_update},
    {"dict", "clear", dict_empty},
    {"dict", "copy", dict_copy},
    {"dict", "move_to_end", dict_move_to_end},
    {"dict", "__iter__", list_iter},
    {"dict", "__len__", any_len},
    {"dict", "__getitem__", any_getitem},
    {"dict", "__setitem__", any_setitem},
    {"dict", "__contains__", any_contains},
    {"set", "add", set_add},
    {"set", "discard", set_discard},
    {"set", "remove", set_remove},
    {"set", "pop", set_pop},
    {"set", "clear", list_empty},
    {"set", "copy", seq_copy},
    {"set", "union", set_union},
    {"set", "intersection", set_intersection},
    {"set", "difference", set_difference},
    {"set", "symmetric_difference", set_symmetric_difference},
    {"set", "update", set_update},
    {"set", "issubset", set_issubset},
    {"set", "issuperset", set_issuperset},
    {"set", "isdisjoint", set_isdisjoint},
    {"set", "__len__", any_len},
    {"set", "__iter__", list_iter},
    {"set", "__contains__", any_contains},
    {"range", "__len__", any_len},
    {"range", "__iter__", list_iter},
    {"range", "__getitem__", any_getitem},
    {"str", "__len__", any_len},
    {"str", "__contains__", any_contains},
    {"str", "__iter__", list_iter},
    {"int", "bit_length", int_bit_length},
    {"int", "conjugate", complex_conjugate},
    {"bool", "bit_length", int_bit_length},
    {"float", "is_integer", float_is_integer},
    {"float", "conjugate", complex_conjugate},
    {"complex", "conjugate", complex_conjugate},
    {"generator", "__next__", iterator_next},
    {"generator", "__iter__", iterator_self},
    {"generator", "close", iterator_close},
    {0},
};
