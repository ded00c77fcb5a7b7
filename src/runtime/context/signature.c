/* SPDX-License-Identifier: Apache-2.0 */
/* signature.c - what two calls have to agree in (signature.h). Tests:
 * tests/unit/test_cuda_recording.c */
#include "runtime/context/signature.h"

#include "tensor/device.h"

#include <string.h>

/* device memory is aligned to that: what an address leaves as remainder is the view's own */
enum { SIGNATURE_ALIGN = 512 };

/* ---- words ----------------------------------------------------------------------------------- */

static bool signature_put(signature *s, uint64_t word) {
    if (s->nwords == SIGNATURE_WORDS) return false;
    s->words[s->nwords++] = word;
    return true;
}

static bool signature_bytes(signature *s, const void *bytes, size_t n) {
    size_t words = (n + 7) / 8;
    if (words > SIGNATURE_WORDS - s->nwords || !signature_put(s, n)) return false;
    if (words > SIGNATURE_WORDS - s->nwords) return false;
    if (words) s->words[s->nwords + words - 1] = 0;
    if (n) memcpy(&s->words[s->nwords], bytes, n);
    s->nwords += words;
    return true;
}

/* Its number among those met so far; -1: there is no room. */
static int signature_storage(signature *s, storage *st) {
    for (int i = 0; i < s->nstorages; i++)
        if (s->storages[i] == st) return i;
    s->storages[s->nstorages] = st; /* there are no more storages than tensors */
    return s->nstorages++;
}

static bool signature_new_tensor(signature *s, tensor *t) {
    int device = tensor_device(t);
    if (s->ntensors == SIGNATURE_TENSORS || t->quantiser) return false;
    if (!s->anywhere && (device == DEVICE_HOST || (s->ntensors && s->device != device)))
        return false;
    if (s->device == DEVICE_HOST) s->device = device;
    s->tensors[s->ntensors++] = t;
    uint64_t kind = (uint64_t)t->dtype | (uint64_t)t->ndim << 8 | (uint64_t)t->requires_grad << 16 |
                    (uint64_t)device << 24;
    uint64_t at = s->anywhere ? 0 : (uintptr_t)t->storage->data % SIGNATURE_ALIGN;
    uint64_t memory = (uint64_t)signature_storage(s, t->storage) | at << 8;
    bool alone = s->anywhere && s->nstorages == s->ntensors;
    size_t dims = (size_t)t->ndim * sizeof *t->sizes;
    return signature_put(s, kind) && signature_put(s, memory) &&
           signature_put(s, s->anywhere ? 0 : t->storage->nbytes) &&
           signature_put(s, alone ? 0 : (uint64_t)t->offset) &&
           signature_bytes(s, t->sizes, dims) && signature_bytes(s, t->strides, dims);
}

static bool signature_tensor(signature *s, tensor *t) {
    for (int i = 0; i < s->ntensors; i++)
        if (s->tensors[i] == t) return signature_put(s, (uint64_t)i + 1);
    return signature_put(s, 0) && signature_new_tensor(s, t);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool signature_value(signature *s, value v);

/* What is mutable must be met once: that two are the same could be seen. */
static bool signature_container(signature *s, const void *c) {
    for (int i = 0; i < s->ncontainers; i++)
        if (s->containers[i] == c) return false;
    if (s->ncontainers == SIGNATURE_CONTAINERS) return false;
    s->containers[s->ncontainers++] = c;
    return true;
}

static bool signature_list(signature *s, const list *l) {
    if (!signature_container(s, l) || !signature_put(s, l->kind) ||
        !signature_put(s, (uintptr_t)l->elem))
        return false;
    switch ((list_kind)l->kind) {
    case LIST_INT: return signature_bytes(s, l->u.ints, l->len * sizeof *l->u.ints);
    case LIST_FLOAT: return signature_bytes(s, l->u.floats, l->len * sizeof *l->u.floats);
    case LIST_BOOL: return signature_bytes(s, l->u.bools, l->len * sizeof *l->u.bools);
    default: break;
    }
    bool fits = signature_put(s, l->len);
    for (size_t i = 0; i < l->len && fits; i++)
        fits = l->kind == LIST_TENSOR ? signature_tensor(s, l->u.tensors[i])
                                      : signature_value(s, l->u.values[i]);
    return fits;
}

static bool signature_dict(signature *s, const dict *d) {
    bool fits = signature_container(s, d) && signature_put(s, (uintptr_t)d->key_type) &&
                signature_put(s, (uintptr_t)d->val_type) && signature_put(s, d->len);
    for (size_t i = 0; i < d->used && fits; i++)
        if (d->entries[i].key.tag != V_UNINIT)
            fits = signature_value(s, d->entries[i].key) && signature_value(s, d->entries[i].val);
    return fits;
}

static bool signature_tuple(signature *s, const tuple *t) {
    bool fits = signature_put(s, (uintptr_t)t->type) && signature_put(s, t->len);
    for (size_t i = 0; i < t->len && fits; i++) fits = signature_value(s, t->items[i]);
    return fits;
}

static bool signature_value(signature *s, value v) {
    if (!signature_put(s, v.tag)) return false;
    switch ((value_tag)v.tag) {
    case V_NONE: return true;
    case V_BOOL: return signature_put(s, v.u.b);
    case V_INT: return signature_put(s, (uint64_t)v.u.i);
    case V_FLOAT: return signature_bytes(s, &v.u.f, sizeof v.u.f);
    case V_DEVICE: return signature_put(s, (uint64_t)v.u.device);
    case V_STR: return signature_bytes(s, v.u.str->bytes, v.u.str->len);
    case V_TENSOR: return signature_tensor(s, v.u.tensor);
    case V_LIST: return signature_list(s, v.u.list);
    case V_DICT: return signature_dict(s, v.u.dict);
    case V_TUPLE: return signature_tuple(s, v.u.tuple);
    default: return false;
    }
}

static bool signature_make(signature *s, bool anywhere, int n, const value *args) {
    s->anywhere = anywhere;
    s->nwords = 0;
    s->device = DEVICE_HOST;
    s->ntensors = s->nstorages = s->ncontainers = 0;
    bool fits = true;
    for (int i = 0; i < n && fits; i++)
        fits = i == 0 && args[0].tag == V_OBJECT ? signature_put(s, (uintptr_t)args[0].u.object)
                                                 : signature_value(s, args[i]);
    return fits;
}

bool signature_of(signature *s, int n, const value *args) {
    return signature_make(s, false, n, args);
}

bool signature_of_any(signature *s, int n, const value *args) {
    return signature_make(s, true, n, args);
}

bool signature_equal(const signature *s, size_t nwords, const uint64_t *words) {
    return s->nwords == nwords && !memcmp(s->words, words, nwords * sizeof *words);
}

/* ---- the same with other tensors ------------------------------------------------------------- */

static bool substitute_list(const signature *from, tensor *const *to, const list *l, value *out) {
    list *made = list_new((list_kind)l->kind, l->elem, l->len);
    bool ok = made != NULL;
    for (size_t i = 0; i < l->len && ok; i++) {
        value item = list_get(l, i), other = value_none();
        ok = signature_substitute(from, to, item, &other) && list_append_take(made, other);
        value_unref(item);
    }
    if (ok) *out = value_list_take(made);
    else if (made) value_unref(value_list_take(made));
    return ok;
}

static bool substitute_dict(const signature *from, tensor *const *to, const dict *d, value *out) {
    dict *made = dict_new(d->key_type, d->val_type);
    bool ok = made != NULL;
    for (size_t i = 0; i < d->used && ok; i++) {
        value other = value_none();
        if (d->entries[i].key.tag == V_UNINIT) continue;
        ok = signature_substitute(from, to, d->entries[i].val, &other) &&
             dict_set_take(made, value_ref(d->entries[i].key), other);
    }
    if (ok) *out = value_dict_take(made);
    else if (made) value_unref(value_dict_take(made));
    return ok;
}

static bool substitute_tuple(const signature *from, tensor *const *to, const tuple *t, value *out) {
    tuple *made = tuple_new(t->len, t->type);
    bool ok = made != NULL;
    for (size_t i = 0; i < t->len && ok; i++)
        ok = signature_substitute(from, to, t->items[i], &made->items[i]);
    if (ok) *out = value_tuple_take(made);
    else if (made) value_unref(value_tuple_take(made));
    return ok;
}

bool signature_substitute(const signature *from, tensor *const *to, value v, value *out) {
    switch (v.tag) {
    case V_LIST: return substitute_list(from, to, v.u.list, out);
    case V_DICT: return substitute_dict(from, to, v.u.dict, out);
    case V_TUPLE: return substitute_tuple(from, to, v.u.tuple, out);
    case V_TENSOR:
        for (int i = 0; i < from->ntensors; i++)
            if (from->tensors[i] == v.u.tensor)
                return *out = value_tensor_take(tensor_ref(to[i])), true;
        return false;
    default: *out = value_ref(v); return true;
    }
}
