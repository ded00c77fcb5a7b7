/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_device.c - moves a module to a device, or widens it to float64: all tensors of its object,
 * and those that are constants of its code.
 *
 * Method. Storages are copied once each, first all of them, so that a failure
 * changes nothing; then every tensor is put on the copy of its storage. Handles stay
 * valid, and so does everything that shares a tensor or views its memory. Kernels
 * and folded weights are made again. Widening replaces storages in the same way, by
 * copies with wider elements; offsets and strides count elements, so they stay.
 * Tests: tests/unit/test_cuda_tensor.c, tests/cli/bench.test
 */
#include "runtime/cuda/cuda_ops.h"
#include "runtime/program/module.h"
#include "tensor/device.h"

typedef struct mover {
    diag *d;
    int device;
    bool widen;      /* to float64 and complex128, where the tensors are; else to the device */
    bool placing;    /* the second walk */
    bool code;       /* walking the constants of code */
    ptrmap storages; /* what was there -> where it is now */
    ptrmap seen;     /* counted payloads that were walked */
} mover;

static ctsc_status mover_value(mover *m, value v);

/* What dt becomes; dt itself where that is as wide. */
static dtype mover_wide(dtype dt) {
    if (dtype_is_complex(dt)) return DT_COMPLEX128;
    return dtype_is_float(dt) ? DT_FLOAT64 : dt;
}

/* What elements of t's dtype in its storage are as float64. A tail that is not a whole number of
 * elements has none in it. */
static ctsc_status mover_widened(mover *m, const tensor *t, storage **out) {
    bool complex = dtype_is_complex((dtype)t->dtype);
    size_t size = dtype_size((dtype)t->dtype) / (complex ? 2 : 1), n = t->storage->nbytes / size;
    dtype part = !complex ? (dtype)t->dtype : size == 2 ? DT_FLOAT16 : DT_FLOAT32;
    if (t->storage->device != DEVICE_HOST)
        return diag_fail(m->d, CTSC_UNSUPPORTED, "tensors on a device cannot be widened");
    storage *s = n > SIZE_MAX / sizeof(double) ? NULL : storage_new(n * sizeof(double));
    if (!s) return diag_no_memory(m->d);
    for (size_t i = 0; i < n; i++)
        ((double *)s->data)[i] = dtype_load_float(part, (const char *)t->storage->data + i * size);
    *out = s;
    return CTSC_OK;
}

static ctsc_status mover_copy(mover *m, const tensor *t) {
    storage *there, *s = t->storage;
    if (m->widen ? mover_wide((dtype)t->dtype) == t->dtype : s->device == m->device) return CTSC_OK;
    if ((there = ptrmap_get(&m->storages, s))) {
        size_t size = dtype_size((dtype)t->dtype) / (dtype_is_complex((dtype)t->dtype) ? 2 : 1);
        if (!m->widen || there->nbytes / sizeof(double) == s->nbytes / size) return CTSC_OK;
        return diag_fail(m->d, CTSC_UNSUPPORTED, "tensors of several dtypes share memory");
    }
    TRY(m->widen ? mover_widened(m, t, &there) : storage_to_device(m->d, s, m->device, &there));
    storage_ref(s); /* the map's: it is looked up until the end */
    if (ptrmap_put(&m->storages, s, there)) return CTSC_OK;
    storage_unref(s);
    storage_unref(there);
    return diag_no_memory(m->d);
}

static void mover_place(mover *m, tensor *t) {
    storage *before = t->storage, *there = ptrmap_get(&m->storages, before);
    if (!there || (m->widen && mover_wide((dtype)t->dtype) == t->dtype)) return;
    if (m->widen) t->dtype = (uint8_t)mover_wide((dtype)t->dtype);
    t->storage = storage_ref(there);
    tensor_moved(t, before);
    storage_unref(before);
}

/* Traces compute sizes with 0-dim integers. Those stay on the host, as in PyTorch, so that nothing
 * waits for the device to know a size; other operators take them along. */
static bool mover_stays(const mover *m, const tensor *t) {
    return m->code && t->ndim == 0 && dtype_is_integral((dtype)t->dtype);
}

static ctsc_status mover_tensor(mover *m, tensor *t) {
    if (!m->widen && mover_stays(m, t)) return CTSC_OK;
    if (t->quantiser && m->widen)
        return diag_fail(m->d, CTSC_UNSUPPORTED,
                         "the module holds quantised tensors, which cannot be widened");
    if (t->quantiser && m->device != DEVICE_HOST && m->device != DEVICE_META)
        return diag_fail(m->d, CTSC_UNSUPPORTED,
                         "the module holds quantised tensors, which are supported on the CPU only");
    if (!m->placing) return mover_copy(m, t);
    mover_place(m, t);
    return CTSC_OK;
}

static ctsc_status mover_values(mover *m, size_t n, const value *values) {
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; i < n && s == CTSC_OK; i++) s = mover_value(m, values[i]);
    return s;
}

static ctsc_status mover_list(mover *m, const list *l) {
    ctsc_status s = CTSC_OK;
    if (l->kind == LIST_VALUE) return mover_values(m, l->len, l->u.values);
    for (size_t i = 0; l->kind == LIST_TENSOR && i < l->len && s == CTSC_OK; i++)
        s = mover_tensor(m, l->u.tensors[i]);
    return s;
}

static ctsc_status mover_dict(mover *m, const dict *d) {
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; i < d->used && s == CTSC_OK; i++)
        if (d->entries[i].key.tag != V_UNINIT) s = mover_value(m, d->entries[i].val);
    return s;
}

static ctsc_status mover_value(mover *m, value v) {
    if (v.tag != V_TENSOR && v.tag != V_LIST && v.tag != V_TUPLE && v.tag != V_DICT &&
        v.tag != V_OBJECT)
        return CTSC_OK;
    if (ptrmap_get(&m->seen, v.u.refs)) return CTSC_OK;
    if (!ptrmap_put(&m->seen, v.u.refs, v.u.refs)) return diag_no_memory(m->d);
    switch (v.tag) {
    case V_TENSOR: return mover_tensor(m, v.u.tensor);
    case V_LIST: return mover_list(m, v.u.list);
    case V_TUPLE: return mover_values(m, v.u.tuple->len, v.u.tuple->items);
    case V_DICT: return mover_dict(m, v.u.dict);
    default: return mover_values(m, v.u.object->nslots, v.u.object->slots);
    }
}

static ctsc_status mover_graph(mover *m, const graph *g) {
    ctsc_status s = mover_values(m, g->held.len, g->held.data);
    for (size_t i = 0; i < g->subgraphs.len && s == CTSC_OK; i++)
        s = mover_graph(m, g->subgraphs.data[i]);
    return s;
}

static ctsc_status mover_walk(mover *m, const module *mod) {
    const unit *u = mod->unit;
    ctsc_status s = mover_value(m, mod->root);
    m->code = true;
    if (s == CTSC_OK) s = mover_value(m, u->constants);
    for (size_t i = 0; i < u->all_functions.len && s == CTSC_OK; i++)
        if (u->all_functions.data[i]->graph) s = mover_graph(m, u->all_functions.data[i]->graph);
    m->code = false;
    ptrmap_free(&m->seen);
    m->seen = (ptrmap){0};
    return s;
}

static void mover_free(mover *m) {
    for (size_t i = 0; i < m->storages.cap; i++) {
        storage_unref((storage *)m->storages.slots[i].key);
        storage_unref(m->storages.slots[i].value);
    }
    ptrmap_free(&m->storages);
}

static ctsc_status mover_module(mover *m, module *mod) {
    ctsc_status s = mover_walk(m, mod);
    if (s == CTSC_OK) {
        m->placing = true;
        /* without memory for `seen` some are what they were; the next attempt moves them */
        s = mover_walk(m, mod);
        unit_drop_codes(mod->unit);
    }
    return s;
}

ctsc_status module_to_device(diag *d, module *mod, int device) {
    mover m = {.d = d, .device = device};
    cuda *c;
    /* a module without tensors wants it, too */
    ctsc_status s = device == DEVICE_HOST || device == DEVICE_META ? CTSC_OK
                                                                   : cuda_of_device(d, device, &c);
    if (s == CTSC_OK) s = mover_module(&m, mod);
    if (m.placing) mod->unit->device = device;
    mover_free(&m);
    return s;
}

ctsc_status module_widen(diag *d, module *mod) {
    mover m = {.d = d, .widen = true};
    ctsc_status s = mover_module(&m, mod);
    mover_free(&m);
    return s;
}

ctsc_status value_widen(diag *d, value v) {
    mover m = {.d = d, .widen = true};
    ctsc_status s = mover_value(&m, v);
    ptrmap_free(&m.seen);
    m.seen = (ptrmap){0};
    m.placing = true;
    if (s == CTSC_OK) s = mover_value(&m, v);
    ptrmap_free(&m.seen);
    mover_free(&m);
    return s;
}
