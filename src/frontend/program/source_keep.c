/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_keep.c - saves what Python objects hold before a trace, and restores it after a run.
 *
 * forward may keep what it computes (a grid for the size of its input, a cache, a counter), and
 * may take another path to the same result when the trace is checked. So the attributes of the
 * module and of everything below it, and what lists and dicts among these hold, are noted
 * before the first run.
 * They are copies of references: a tensor that is written to is source_trace.c's business.
 * Tests: tests/cli/trace.test
 */
#include "frontend/program/source.h"

enum { KEEP_MOST = 1000000 };

static bool keep_is_container(const py_object *o) {
    return o->kind == PY_INSTANCE || o->kind == PY_LIST || o->kind == PY_DICT ||
           o->kind == PY_TUPLE;
}

static py_dict *keep_dict(const py_object *o) {
    if (o->kind == PY_INSTANCE) return o->u.inst.attrs;
    return o->kind == PY_DICT ? o->u.dict : NULL;
}

static bool keep_add(source_kept *k, py_object *o) {
    if (!o || !keep_is_container(o) || ptrmap_get(&k->seen, o)) return true;
    if (k->all.len >= KEEP_MOST) return true;
    kept_object one = {.o = o};
    const py_dict *d = keep_dict(o);
    size_t n = d ? d->entries.len : o->u.seq.items.len;
    one.values = mem_alloc((2 * n + 1) * sizeof *one.values);
    if (!one.values) return false;
    for (size_t i = 0; i < n; i++) {
        if (!d) one.values[one.n++] = o->u.seq.items.data[i];
        if (!d || !d->entries.data[i].key) continue;
        one.values[one.n++] = d->entries.data[i].key;
        one.values[one.n++] = d->entries.data[i].val;
    }
    if (ptrmap_put(&k->seen, o, o) && vec_push(&k->all, one)) return true;
    mem_free(one.values);
    return false;
}

bool source_keep(source_kept *k, py *p, py_object *entry) {
    bool ok = keep_add(k, entry);
    for (size_t i = 0; ok && i < k->all.len; i++)
        for (size_t n = 0; ok && n < k->all.data[i].n; n++)
            ok = keep_add(k, k->all.data[i].values[n]);
    return ok || (diag_no_memory(p->diag), false);
}

static bool keep_put_back_dict(py *p, py_dict *d, const kept_object *one) {
    bool same = 2 * d->entries.len == one->n;
    for (size_t i = 0; same && i < d->entries.len; i++)
        same = d->entries.data[i].key == one->values[2 * i] &&
               d->entries.data[i].val == one->values[2 * i + 1];
    for (size_t i = 0; !same && i < d->entries.len; i++)
        if (d->entries.data[i].key && !py_dict_remove(p, d, d->entries.data[i].key)) return false;
    for (size_t i = 0; !same && i < one->n; i += 2)
        if (!py_dict_set_key(p, d, one->values[i], one->values[i + 1])) return false;
    return true;
}

static bool keep_put_back_list(py *p, py_object *o, const kept_object *one) {
    o->u.seq.items.len = 0;
    for (size_t i = 0; i < one->n; i++)
        if (!py_append(p, o, one->values[i])) return false;
    return true;
}

bool source_put_back(const source_kept *k, py *p) {
    for (size_t i = 0; i < k->all.len; i++) {
        const kept_object *one = &k->all.data[i];
        py_dict *d = keep_dict(one->o);
        if (d && !keep_put_back_dict(p, d, one)) return false;
        if (one->o->kind == PY_LIST && !keep_put_back_list(p, one->o, one)) return false;
    }
    return true;
}

void source_kept_free(source_kept *k) {
    for (size_t i = 0; i < k->all.len; i++) mem_free(k->all.data[i].values);
    vec_free(&k->all);
    ptrmap_free(&k->seen);
}
