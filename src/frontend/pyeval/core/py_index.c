/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_index.c - o[i], o[i] = v, del o[i], x in o, len(o), and iterating over objects.
 *
 * Iteration makes all items at once. What an iterator object still holds is taken from it.
 * Tests: tests/unit/test_py.c
 */
#include "frontend/pyeval/core/py_internal.h"

/* ---- positions ------------------------------------------------------------------------------- */

int64_t py_range_len(const py_object *o) {
    int64_t start = o->u.range.start, stop = o->u.range.stop, step = o->u.range.step;
    if (step > 0)
        return start < stop ? (int64_t)(((uint64_t)stop - (uint64_t)start - 1) / (uint64_t)step + 1)
                            : 0;
    return start > stop
               ? (int64_t)(((uint64_t)start - (uint64_t)stop - 1) / (0 - (uint64_t)step) + 1)
               : 0;
}

static bool index_as_int(py *p, source_range r, const py_object *o, int64_t *out) {
    double f;
    int rank;
    o = py_plain(o);
    if (py_number(o, out, &f, &rank) && rank < 2)
        return p->library->trace_read(p, r, o, "Python index");
    if (o->kind == PY_SYMBOL) {
        *out = o->u.v.u.i;
        return true;
    }
    py_object *m = py_is_tensor(o) ? NULL : py_find_special(p, (py_object *)o, "__index__");
    py_object *v = py_is_tensor(o)
                       ? p->library->trace_item(p, r, (py_object *)o, "aten::item", "Python index")
                   : m ? py_call0(p, r, m)
                       : NULL;
    if (v && py_number(v, out, &f, &rank) && rank < 2) return true;
    if (!py_failed(p))
        py_fail(p, r, "TypeError", "'%s' object cannot be interpreted as an integer",
                py_type_name(o));
    return false;
}

bool py_as_int(py *p, source_range r, const py_object *o, int64_t *out) {
    return index_as_int(p, r, o, out);
}

static bool py_index_in(py *p, source_range r, const py_object *index, int64_t len,
                        const char *what, int64_t *out) {
    int64_t i;
    double f;
    int rank;
    index = py_plain(index);
    if (!(py_number(index, &i, &f, &rank) && rank < 2)) {
        bool special = py_is_tensor(index) || (index->kind == PY_INSTANCE &&
                                               py_class_find(index->u.inst.cls, "__index__"));
        if (!special) {
            py_fail(p, r, "TypeError", "%s indices must be integers or slices, not %s", what,
                    py_type_name(index));
            return false;
        }
        if (!index_as_int(p, r, index, &i)) return false;
    }
    if (i < 0) i += len;
    if (i < 0 || i >= len) {
        py_fail(p, r, "IndexError", "%s index out of range", what);
        return false;
    }
    *out = i;
    return true;
}

static bool index_bound(py *p, source_range r, const py_object *o, int64_t len, int64_t absent,
                        bool backwards, int64_t *out) {
    if (py_is_none(o)) {
        *out = absent;
        return true;
    }
    int64_t i, least = backwards ? -1 : 0, most = backwards ? len - 1 : len;
    if (!index_as_int(p, r, o, &i)) return false;
    if (i < 0) i += len;
    *out = i < least ? least : i > most ? most : i;
    return true;
}

bool py_slice_bounds(py *p, source_range r, const py_object *slice, int64_t len, int64_t *start,
                     int64_t *step, int64_t *count) {
    int64_t stop;
    *step = 1;
    if (!py_is_none(slice->u.slice.step) && !index_as_int(p, r, slice->u.slice.step, step))
        return false;
    if (*step == 0 || *step == INT64_MIN) {
        py_fail(p, r, "ValueError", "slice step cannot be zero");
        return false;
    }
    bool back = *step < 0;
    if (!index_bound(p, r, slice->u.slice.start, len, back ? len - 1 : 0, back, start) ||
        !index_bound(p, r, slice->u.slice.stop, len, back ? -1 : len, back, &stop))
        return false;
    py_object span = {.kind = PY_RANGE, .u.range = {*start, stop, *step}};
    *count = py_range_len(&span);
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

static py_object *index_sequence(py *p, source_range r, const py_object *o,
                                 const py_object *index) {
    int64_t len = (int64_t)o->u.seq.items.len, i, step, n;
    if (index->kind != PY_SLICE)
        return py_index_in(p, r, index, len, o->kind == PY_LIST ? "list" : "tuple", &i)
                   ? o->u.seq.items.data[i]
                   : NULL;
    if (!py_slice_bounds(p, r, index, len, &i, &step, &n)) return NULL;
    py_object *out = py_new(p, o->kind);
    p->steps += (uint64_t)n / PY_STEP_ITEMS;
    for (int64_t k = 0; k < n; k++, i += step)
        if (!py_append(p, out, o->u.seq.items.data[i])) return NULL;
    return out;
}

static py_object *index_text(py *p, source_range r, const str *s, const py_object *index) {
    int64_t len = (int64_t)py_text_len(s->bytes, s->len), i, step = 1, n = 1;
    p->steps += s->len / PY_STEP_BYTES;
    if (index->kind == PY_SLICE) {
        if (!py_slice_bounds(p, r, index, len, &i, &step, &n)) return NULL;
    } else if (!py_index_in(p, r, index, len, "string", &i)) {
        return NULL;
    }
    if (step == 1) {
        size_t from = py_text_at(s->bytes, s->len, (size_t)i);
        return py_string(p, s->bytes + from, py_text_at(s->bytes, s->len, (size_t)(i + n)) - from);
    }
    strbuf out = STRBUF_INIT;
    bool plain = len == (int64_t)s->len;
    p->steps += plain ? 0 : (uint64_t)(n * len / 16);
    for (int64_t k = 0; k < n && (plain || py_step(p, r)); k++, i += step) {
        size_t at = plain ? (size_t)i : py_text_at(s->bytes, s->len, (size_t)i);
        size_t end = plain ? at + 1 : py_text_at(s->bytes, s->len, (size_t)i + 1);
        sb_write(&out, s->bytes + at, end - at);
    }
    return py_from_buffer(p, &out);
}

static py_object *index_dict(py *p, source_range r, const py_object *o, py_object *index) {
    uint64_t hash;
    if (!py_hash(p, r, index, &hash)) return NULL;
    py_object *found = py_dict_get_key(p, o->u.dict, index);
    if (found) return found;
    if (o->u.dict->missing) { /* collections.defaultdict */
        py_object *v = py_call0(p, r, o->u.dict->missing);
        return v && py_dict_set_key(p, o->u.dict, index, v) ? v : NULL;
    }
    py_object *e = py_instance(p, py_builtin_class(p, "KeyError")), *args = py_tuple(p, 1, &index);
    if (args && py_dict_set(p, e->u.inst.attrs, "args", args)) py_throw(p, r, e);
    return NULL;
}

static py_object *index_range(py *p, source_range r, const py_object *o, const py_object *index) {
    int64_t len = py_range_len(o), i, step, n;
    if (index->kind != PY_SLICE)
        return py_index_in(p, r, index, len, "range object", &i)
                   ? py_int(p, o->u.range.start + i * o->u.range.step)
                   : NULL;
    if (!py_slice_bounds(p, r, index, len, &i, &step, &n)) return NULL;
    py_object *out = py_new(p, PY_RANGE);
    out->u.range.start = o->u.range.start + i * o->u.range.step;
    out->u.range.step = o->u.range.step * step;
    out->u.range.stop = out->u.range.start + n * out->u.range.step;
    return out;
}

static py_object *index_class(py *p, source_range r, py_object *o, py_object *index) {
    const py_class *c = o->u.cls;
    if (c->kind == PYC_ENUM) {
        const char *name = py_as_text(index);
        py_object *m = name ? py_dict_get(c->attrs, name) : NULL;
        if (m && m->kind == PY_INSTANCE && m->u.inst.cls == o) return m;
        strbuf text = STRBUF_INIT;
        if (py_str(p, r, index, true, &text)) py_fail(p, r, "KeyError", "%s", sb_str(&text));
        sb_free(&text);
        return NULL;
    }
    py_object *get = py_class_find(o, "__class_getitem__");
    if (get && get->kind == PY_CLASSMETHOD) get = get->u.fn_object;
    return get ? py_call2(p, r, get, o, index) : p->library->type_subscript(p, r, o, index);
}

py_object *py_subscript(py *p, source_range r, py_object *o, py_object *index) {
    switch (o->kind) {
    case PY_LIST: return index_sequence(p, r, o, index);
    case PY_DICT: return index_dict(p, r, o, index);
    case PY_RANGE: return index_range(p, r, o, index);
    case PY_CLASS: return index_class(p, r, o, index);
    case PY_TYPE: return p->library->type_subscript(p, r, o, index);
    case PY_MODULE:
        /* a type's arguments, most likely: a use of the result fails */
        if (py_is_missing(o)) return o;
        break;
    case PY_TUPLE: {
        py_object *own = py_find_special(p, o, "__getitem__");
        if (py_failed(p)) return NULL;
        if (own) return py_call1(p, r, own, index);
        py_object *part = index_sequence(p, r, o, index);
        return part && py_is_size(o) && index->kind == PY_SLICE ? p->library->size_take(p, part)
                                                                : part;
    }
    case PY_VALUE:
        if (py_is_tensor(o)) return p->library->tensor_getitem(p, r, o, index);
        if (py_str_of(o)) return index_text(p, r, py_str_of(o), index);
        break;
    case PY_INSTANCE: {
        py_object *own = py_find_special(p, o, "__getitem__");
        if (own || py_failed(p)) return own ? py_call1(p, r, own, index) : NULL;
        const str *text = py_str_of(py_plain(o));
        if (text) return index_text(p, r, text, index);
        break;
    }
    default: break;
    }
    return py_fail(p, r, "TypeError", "'%s' object is not subscriptable", py_type_name(o));
}

/* ---- writing --------------------------------------------------------------------------------- */

/* l[a:b] = items, and with a step the same number of items. */
static bool index_set_slice(py *p, source_range r, py_object *o, const py_object *slice,
                            py_object *v) {
    int64_t start, step, count;
    py_object **items, **old = o->u.seq.items.data;
    int n;
    size_t len = o->u.seq.items.len;
    if (!py_slice_bounds(p, r, slice, (int64_t)len, &start, &step, &count) ||
        !py_iterate(p, r, v, &items, &n))
        return false;
    if (step != 1) {
        if (n != count) {
            py_fail(p, r, "ValueError",
                    "attempt to assign sequence of size %d to extended slice of size %lld", n,
                    (long long)count);
            return false;
        }
        for (int i = 0; i < n; i++) old[start + i * step] = items[i];
        return true;
    }
    size_t total = len - (size_t)count + (size_t)n, tail = (size_t)(start + count);
    if (!py_room(p, r, (int64_t)total)) return false;
    py_object **now = arena_array(p->a, py_object *, total + 1);
    if (!now) return diag_no_memory(p->diag), false;
    if (start) memcpy(now, old, sizeof *now * (size_t)start);
    if (n) memcpy(now + start, items, sizeof *now * (size_t)n);
    if (len > tail) memcpy(now + start + n, old + tail, sizeof *now * (len - tail));
    o->u.seq.items.data = now;
    o->u.seq.items.len = total;
    o->u.seq.items.cap = total + 1;
    return true;
}

bool py_set_subscript(py *p, source_range r, py_object *o, py_object *index, py_object *v) {
    int64_t i;
    switch (o->kind) {
    case PY_LIST:
        if (index->kind == PY_SLICE) return index_set_slice(p, r, o, index, v);
        if (!py_index_in(p, r, index, (int64_t)o->u.seq.items.len, "list", &i)) return false;
        o->u.seq.items.data[i] = v;
        return true;
    case PY_DICT: return py_dict_set_key(p, o->u.dict, index, v);
    case PY_VALUE:
        if (py_is_tensor(o)) return p->library->tensor_setitem(p, r, o, index, v);
        break;
    case PY_INSTANCE: {
        py_object *own = py_find_special(p, o, "__setitem__"), *args[] = {index, v};
        if (own || py_failed(p)) return own && py_call(p, r, own, 2, args, 0, NULL, NULL);
        break;
    }
    default: break;
    }
    py_fail(p, r, "TypeError", "'%s' object does not support item assignment", py_type_name(o));
    return false;
}

bool py_delete_subscript(py *p, source_range r, py_object *o, py_object *index) {
    int64_t i, step, n;
    if (o->kind == PY_LIST) {
        int64_t len = (int64_t)o->u.seq.items.len;
        if (index->kind != PY_SLICE) {
            if (!py_index_in(p, r, index, len, "list", &i)) return false;
            memmove(o->u.seq.items.data + i, o->u.seq.items.data + i + 1,
                    sizeof(py_object *) * (size_t)(len - i - 1));
            o->u.seq.items.len--;
            return true;
        }
        if (!py_slice_bounds(p, r, index, len, &i, &step, &n)) return false;
        if (step < 0) {
            i += (n - 1) * step;
            step = -step;
        }
        int64_t kept = 0;
        for (int64_t k = 0; k < len; k++) {
            bool gone = n > 0 && k >= i && k <= i + (n - 1) * step && (k - i) % step == 0;
            if (!gone) o->u.seq.items.data[kept++] = o->u.seq.items.data[k];
        }
        o->u.seq.items.len = (size_t)kept;
        return true;
    }
    if (o->kind == PY_DICT)
        return py_dict_remove(p, o->u.dict, index) || index_dict(p, r, o, index);
    py_object *own = py_find_special(p, o, "__delitem__");
    if (own) return py_call1(p, r, own, index) != NULL;
    if (!py_failed(p))
        py_fail(p, r, "TypeError", "'%s' object doesn't support item deletion", py_type_name(o));
    return false;
}

/* ---- iteration ------------------------------------------------------------------------------- */

static bool iterate_range(py *p, source_range r, const py_object *o, py_object *list) {
    int64_t n = py_range_len(o), at = o->u.range.start;
    if (!py_room(p, r, n)) return false;
    p->steps += (uint64_t)n / 4;
    for (int64_t i = 0; i < n; i++) {
        if (!py_append(p, list, py_int(p, at))) return false;
        if (i + 1 < n) at += o->u.range.step;
    }
    return py_step(p, r);
}

static bool iterate_text(py *p, source_range r, const str *s, py_object *list) {
    for (size_t at = 0; at < s->len;) {
        size_t n = py_text_at(s->bytes + at, s->len - at, 1);
        py_object *o = py_string(p, s->bytes + at, n);
        if (!o || !py_step(p, r) || !py_append(p, list, o)) return false;
        at += n;
    }
    return true;
}

static bool iterate_is(const py *p, const char *exception) {
    return p->diag->status == CTSC_FAILED && p->diag->exception &&
           !strcmp(p->diag->exception, exception);
}

static void iterate_forget(py *p) {
    diag_clear(p->diag);
    p->raised = NULL;
}

/* An object with __next__, up to StopIteration. */
static bool iterate_steps(py *p, source_range r, py_object *it, py_object *list) {
    py_object *next = py_getattr(p, r, it, "__next__");
    if (!next) return false;
    for (;;) {
        py_object *o = py_call0(p, r, next);
        if (!o && iterate_is(p, "builtins.StopIteration")) {
            iterate_forget(p);
            return true;
        }
        if (!o || !py_room(p, r, (int64_t)list->u.seq.items.len) || !py_append(p, list, o))
            return false;
    }
}

/* An object with __getitem__ alone: o[0], o[1], ... up to IndexError. */
static bool iterate_indices(py *p, source_range r, py_object *get, py_object *list) {
    for (int64_t i = 0; py_room(p, r, i); i++) {
        py_object *o = py_call1(p, r, get, py_int(p, i));
        if (!o && iterate_is(p, "builtins.IndexError")) {
            iterate_forget(p);
            return true;
        }
        if (!o || !py_append(p, list, o)) return false;
    }
    return false;
}

static bool iterate_instance(py *p, source_range r, py_object *o, py_object ***items, int *n) {
    py_object *list = py_new(p, PY_LIST), *m = py_find_special(p, o, "__iter__");
    if (m) {
        py_object *it = py_call0(p, r, m);
        if (!it) return false;
        if (it->kind != PY_INSTANCE) return py_iterate(p, r, it, items, n);
        if (!iterate_steps(p, r, it, list)) return false;
    } else if (!py_failed(p) && (m = py_find_special(p, o, "__getitem__"))) {
        if (!iterate_indices(p, r, m, list)) return false;
    } else {
        if (!py_failed(p))
            py_fail(p, r, "TypeError", "'%s' object is not iterable", py_type_name(o));
        return false;
    }
    *items = list->u.seq.items.data;
    *n = (int)list->u.seq.items.len;
    return true;
}

static bool iterate_tensor(py *p, source_range r, py_object *o, py_object ***items, int *n) {
    bool warned = p->library->trace_warn(
        p, r,
        "Iterating over a tensor might cause the trace to be incorrect. Passing a tensor of "
        "different shape won't change the "
        "number of iterations executed (and might lead to errors or silently give incorrect "
        "results).");
    py_object *list = warned ? p->library->call_operator(p, r, "aten::unbind", 1, &o, 0, NULL, NULL)
                             : NULL;
    if (!list) return false;
    if (list->kind == PY_LIST || list->kind == PY_TUPLE) return py_iterate(p, r, list, items, n);
    py_fail(p, r, "TypeError", "iteration over a 0-d tensor");
    return false;
}

bool py_iterate(py *p, source_range r, py_object *o, py_object ***items, int *n) {
    py_object *list = o;
    bool ok = true;
    if (py_is_missing(o)) return py_fail_missing(p, r, o), false;
    switch (o->kind) {
    case PY_LIST:
    case PY_TUPLE:
    case PY_SET: /* a copy: the caller may change the container while it goes over it */
        if (!(list = py_list(p, (int)o->u.seq.items.len, o->u.seq.items.data))) return false;
        break;
    case PY_ITERATOR:
        if (!(list = py_list(p, (int)o->u.seq.items.len, o->u.seq.items.data))) return false;
        memset(&o->u.seq.items, 0, sizeof o->u.seq.items);
        break;
    case PY_DICT:
        list = py_new(p, PY_LIST);
        for (size_t i = 0; ok && i < o->u.dict->entries.len; i++)
            if (o->u.dict->entries.data[i].key)
                ok = py_append(p, list, o->u.dict->entries.data[i].key);
        break;
    case PY_RANGE: ok = iterate_range(p, r, o, list = py_new(p, PY_LIST)); break;
    case PY_INSTANCE: return iterate_instance(p, r, o, items, n);
    case PY_CLASS:
        if (o->u.cls->kind == PYC_ENUM) return py_enum_members(p, o, items, n);
        ok = false;
        break;
    case PY_VALUE:
        if (py_is_tensor(o)) return iterate_tensor(p, r, o, items, n);
        ok = py_str_of(o) != NULL;
        if (ok && !iterate_text(p, r, py_str_of(o), list = py_new(p, PY_LIST))) return false;
        break;
    default: ok = false; break;
    }
    if (!ok) {
        if (!py_failed(p))
            py_fail(p, r, "TypeError", "'%s' object is not iterable", py_type_name(o));
        return false;
    }
    *items = list->u.seq.items.data;
    *n = (int)list->u.seq.items.len;
    return py_memory(p);
}

/* ---- len, in --------------------------------------------------------------------------------- */

bool py_length(py *p, source_range r, py_object *o, int64_t *out) {
    py_object *v = NULL;
    switch (o->kind) {
    case PY_LIST:
    case PY_TUPLE:
    case PY_SET: *out = (int64_t)o->u.seq.items.len; return true;
    case PY_DICT: *out = (int64_t)o->u.dict->len; return true;
    case PY_RANGE: *out = py_range_len(o); return true;
    case PY_CLASS: {
        py_object **items;
        int n;
        if (o->u.cls->kind != PYC_ENUM) break;
        if (!py_enum_members(p, o, &items, &n)) return false;
        *out = n;
        return true;
    }
    case PY_VALUE:
        if (py_str_of(o)) {
            *out = (int64_t)py_text_len(py_str_of(o)->bytes, py_str_of(o)->len);
            return true;
        }
        if (py_is_tensor(o) &&
            p->library->trace_warn(p, r,
                                   "Using len to get tensor shape might cause the trace to be "
                                   "incorrect. Recommended usage would be "
                                   "tensor.shape[0]. Passing a tensor of different shape might "
                                   "lead to errors or silently give "
                                   "incorrect results."))
            v = p->library->call_operator(p, r, "aten::len", 1, &o, 0, NULL, NULL);
        break;
    default: {
        py_object *m = py_find_special(p, o, "__len__");
        v = m ? py_call0(p, r, m) : NULL;
        break;
    }
    }
    if (v) return py_as_int(p, r, v, out);
    if (!py_failed(p))
        py_fail(p, r, "TypeError", "object of type '%s' has no len()", py_type_name(o));
    return false;
}

static bool contains_text(py *p, source_range r, const str *s, const py_object *item, bool *out) {
    const str *part = py_str_of(item);
    if (!part) {
        py_fail(p, r, "TypeError", "'in <string>' requires string as left operand, not %s",
                py_type_name(item));
        return false;
    }
    *out = part->len == 0 || memmem(s->bytes, s->len, part->bytes, part->len) != NULL;
    return true;
}

bool py_contains(py *p, source_range r, py_object *o, py_object *item, bool *out) {
    uint64_t hash;
    switch (o->kind) {
    case PY_DICT:
        if (!py_hash(p, r, item, &hash)) return false;
        *out = py_dict_get_key(p, o->u.dict, item) != NULL;
        return true;
    case PY_SET: *out = py_set_find(p, o, item) >= 0; return true;
    case PY_VALUE:
        if (py_str_of(o)) return contains_text(p, r, py_str_of(o), item, out);
        break;
    case PY_INSTANCE: {
        py_object *m = py_find_special(p, o, "__contains__");
        py_object *v = m ? py_call1(p, r, m, item) : NULL;
        if (m || py_failed(p)) return v && py_truth(p, r, v, out);
        break;
    }
    default: break;
    }
    if (o->kind == PY_VALUE && !py_is_tensor(o)) {
        py_fail(p, r, "TypeError", "argument of type '%s' is not iterable", py_type_name(o));
        return false;
    }
    py_object **items;
    int n;
    *out = false;
    if (!py_iterate(p, r, o, &items, &n)) return false;
    if (!py_work(p, r, (uint64_t)n / PY_STEP_ITEMS)) return false;
    for (int i = 0; i < n && !*out; i++) {
        *out = py_same(items[i], item);
        if (!*out && !py_is_tensor(items[i]) && !py_equal_objects(p, r, items[i], item, out))
            return false;
    }
    return true;
}
