/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - making tensors on devices, and moving them there and back.
 * Tests: tests/unit/test_cuda_tensor.c
 */
#include "tensor/device.h"

#include "base/text/text.h"
#include "tensor/strides.h"

#include <stdio.h>
#include <string.h>

static ctsc_status device_none_alloc(diag *d, int device, size_t nbytes, storage **out) {
    (void)device, (void)nbytes, (void)out;
    return diag_fail(d, CTSC_UNSUPPORTED, "there is no support for devices");
}

static ctsc_status device_none_copy(diag *d, tensor *dst, const tensor *src) {
    (void)dst, (void)src;
    return diag_fail(d, CTSC_UNSUPPORTED, "there is no support for devices");
}

static const device_functions device_none = {device_none_alloc, device_none_copy};
const device_functions *device_host = &device_none;

/* ---- device meta ----------------------------------------------------------------------------- */

static ctsc_status device_alloc_meta(diag *d, size_t nbytes, storage **out) {
    storage *s = nbytes > PTRDIFF_MAX ? NULL : storage_borrow(NULL, nbytes, NULL, NULL);
    if (!s) return diag_no_memory(d);
    s->device = DEVICE_META;
    tensor_note_kind(TENSOR_KIND_DEVICE);
    *out = s;
    return CTSC_OK;
}

ctsc_status device_alloc(diag *d, int device, size_t nbytes, storage **out) {
    return device == DEVICE_META ? device_alloc_meta(d, nbytes, out)
                                 : device_host->alloc(d, device, nbytes, out);
}

ctsc_status device_copy(diag *d, tensor *dst, const tensor *src) {
    if (tensor_is_meta(dst)) return CTSC_OK;
    if (tensor_is_meta(src))
        return diag_fail(d, CTSC_UNSUPPORTED, "Cannot copy out of meta tensor; no data!");
    return device_host->copy(d, dst, src);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The device types of PyTorch. */
static const char device_types[] = "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, "
                                   "fpga, ort, xla, lazy, vulkan, mps, meta, hpu, "
                                   "privateuseone";

static bool device_is_type(const char *name, size_t len) {
    for (const char *t = device_types; t; t = strchr(t, ' '), t += t != NULL)
        if (!strncmp(t, name, len) && (!t[len] || t[len] == ',')) return true;
    return false;
}

/* letters [":" ("0" | a number without leading zeros)] */
ctsc_status device_parse(diag *d, const char *text, size_t len, int64_t *out) {
    size_t kind = 0;
    int64_t index = 0;
    if (!len) return diag_fail(d, CTSC_FAILED, "Device string must not be empty");
    while (kind < len && (text_is_alpha(text[kind]) || text[kind] == '_')) kind++;
    const char *digits = text + kind + 1, *p = digits, *end = text + len;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        index = index < DEVICE_MAX ? 10 * index + (*p - '0') : DEVICE_MAX;
    if (!kind || (kind < len && (text[kind] != ':' || p == digits || p != end ||
                                 (*digits == '0' && p > digits + 1))))
        return diag_fail(d, CTSC_FAILED, "Invalid device string: '%.*s'", (int)len, text);
    if (index >= DEVICE_MAX)
        return diag_fail(d, CTSC_FAILED,
                         "Could not parse device index '%.*s' in device string '%.*s'",
                         (int)(end - digits), digits, (int)len, text);
    if (kind == 3 && !memcmp(text, "cpu", 3)) return *out = DEVICE_HOST, CTSC_OK;
    if (kind == 4 && !memcmp(text, "cuda", 4))
        return *out = kind < len ? index + 1 : VALUE_DEVICE_CUDA, CTSC_OK;
    if (kind == 4 && !memcmp(text, "meta", 4)) return *out = DEVICE_META, CTSC_OK;
    if (device_is_type(text, kind))
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "device %.*s is not supported: cpu, cuda, cuda:N and meta are", (int)len,
                         text);
    return diag_fail(d, CTSC_FAILED,
                     "Expected one of %s device type at start of device string: %.*s", device_types,
                     (int)kind, text);
}

const char *device_name(int device, char out[DEVICE_NAME]) {
    if (device == DEVICE_HOST) snprintf(out, DEVICE_NAME, "cpu");
    else if (device == DEVICE_META) snprintf(out, DEVICE_NAME, "meta");
    else snprintf(out, DEVICE_NAME, "cuda:%d", device - 1);
    return out;
}

ctsc_status tensor_new_on(diag *d, int device, dtype dt, int ndim, const int64_t *sizes,
                          tensor **out) {
    if (device == DEVICE_HOST) return tensor_new(d, dt, ndim, sizes, out);
    int64_t nbytes, strides[TENSOR_MAX_DIMS];
    storage *s;
    if (device != DEVICE_META && (dtype_is_quantised(dt) || dtype_is_stored(dt)))
        return diag_fail(d, CTSC_UNSUPPORTED, "%s tensors are supported on the CPU only",
                         dtype_is_stored(dt) ? dtype_table[dt].torch_name : "quantised");
    ctsc_status st = tensor_layout(d, dt, ndim, sizes, strides, &nbytes);
    if (st == CTSC_OK) st = device_alloc(d, device, (size_t)nbytes, &s);
    if (st != CTSC_OK) return st;
    st = tensor_on_storage(d, s, dt, ndim, sizes, strides, 0, out);
    storage_unref(s);
    return st;
}

ctsc_status tensor_zeros_on(diag *d, int device, dtype dt, int ndim, const int64_t *sizes,
                            tensor **out) {
    tensor *zero, *made;
    if (device == DEVICE_HOST) return tensor_zeros(d, dt, ndim, sizes, out);
    if (device == DEVICE_META) return tensor_new_on(d, device, dt, ndim, sizes, out);
    TRY(tensor_zeros(d, dt, 0, NULL, &zero));
    ctsc_status s = tensor_new_on(d, device, dt, ndim, sizes, &made);
    if (s == CTSC_OK && (s = device_copy(d, made, zero)) != CTSC_OK) tensor_unref(made);
    tensor_unref(zero);
    if (s == CTSC_OK) *out = made;
    return s;
}

static ctsc_status device_new_storage(diag *d, int device, size_t nbytes, storage **out) {
    if (device != DEVICE_HOST) return device_alloc(d, device, nbytes, out);
    *out = storage_new(nbytes);
    return *out ? CTSC_OK : diag_no_memory(d);
}

/* As a tensor of n bytes. */
static ctsc_status device_bytes_of(diag *d, storage *s, size_t n, tensor **out) {
    const int64_t size = (int64_t)n, step = 1;
    return tensor_on_storage(d, s, DT_UINT8, 1, &size, &step, 0, out);
}

ctsc_status storage_copy_bytes(diag *d, storage *dst, storage *src) {
    size_t n = dst->nbytes < src->nbytes ? dst->nbytes : src->nbytes;
    tensor *to, *from;
    TRY(device_bytes_of(d, dst, n, &to));
    ctsc_status st = device_bytes_of(d, src, n, &from);
    if (st == CTSC_OK) {
        st = tensor_copy(d, to, from);
        tensor_unref(from);
    }
    tensor_unref(to);
    return st;
}

ctsc_status storage_to_device(diag *d, storage *s, int device, storage **out) {
    storage *there;
    if (s->device == device) return *out = storage_ref(s), CTSC_OK;
    TRY(device_new_storage(d, device, s->nbytes, &there));
    ctsc_status st = storage_copy_bytes(d, there, s);
    if (st == CTSC_OK) *out = there;
    else storage_unref(there);
    return st;
}

ctsc_status tensor_to_device(diag *d, tensor *t, int device, tensor **out) {
    tensor *made;
    if (tensor_device(t) == device) {
        *out = tensor_ref(t);
        return CTSC_OK;
    }
    int64_t strides[TENSOR_MAX_DIMS];
    bool like = device == DEVICE_META; /* what such a tensor has is its strides */
    if (like) tensor_like_strides(t, strides);
    ctsc_status s = like ? tensor_new_strided(d, device, (dtype)t->dtype, t->ndim, t->sizes,
                                              strides, &made)
                         : tensor_new_on(d, device, (dtype)t->dtype, t->ndim, t->sizes, &made);
    if (s == CTSC_OK && (s = device_copy(d, made, t)) != CTSC_OK) tensor_unref(made);
    if (s != CTSC_OK) return s;
    made->requires_grad = t->requires_grad;
    *out = made;
    return CTSC_OK;
}

/* ---- containers ------------------------------------------------------------------------------ */

static ctsc_status device_move_list(diag *d, list *l, int device, value *out) {
    list *made = list_new((list_kind)l->kind, l->elem, l->len);
    ctsc_status s = made ? CTSC_OK : diag_no_memory(d);
    for (size_t i = 0; s == CTSC_OK && i < l->len; i++) {
        value item = list_get(l, i), moved;
        s = value_to_device(d, item, device, &moved);
        value_unref(item);
        if (s == CTSC_OK && !list_append_take(made, moved)) s = diag_no_memory(d);
    }
    if (s == CTSC_OK) *out = value_list_take(made);
    else if (made) value_unref(value_list_take(made));
    return s;
}

static ctsc_status device_move_tuple(diag *d, const tuple *t, int device, value *out) {
    tuple *made = tuple_new(t->len, t->type);
    ctsc_status s = made ? CTSC_OK : diag_no_memory(d);
    for (size_t i = 0; s == CTSC_OK && i < t->len; i++)
        s = value_to_device(d, t->items[i], device, &made->items[i]);
    if (s == CTSC_OK) *out = value_tuple_take(made);
    else if (made) value_unref(value_tuple_take(made));
    return s;
}

static ctsc_status device_move_dict(diag *d, const dict *from, int device, value *out) {
    dict *made = dict_new(from->key_type, from->val_type);
    ctsc_status s = made ? CTSC_OK : diag_no_memory(d);
    for (size_t i = 0; s == CTSC_OK && i < from->used; i++) {
        value moved;
        if (from->entries[i].key.tag == V_UNINIT) continue;
        s = value_to_device(d, from->entries[i].val, device, &moved);
        if (s == CTSC_OK && !dict_set_take(made, value_ref(from->entries[i].key), moved))
            s = diag_no_memory(d);
    }
    if (s == CTSC_OK) *out = value_dict_take(made);
    else if (made) value_unref(value_dict_take(made));
    return s;
}

ctsc_status value_to_device(diag *d, value v, int device, value *out) {
    tensor *t;
    switch (v.tag) {
    case V_LIST:
        if (v.u.list->kind != LIST_TENSOR && v.u.list->kind != LIST_VALUE)
            return *out = value_ref(v), CTSC_OK;
        return device_move_list(d, v.u.list, device, out);
    case V_TUPLE: return device_move_tuple(d, v.u.tuple, device, out);
    case V_DICT: return device_move_dict(d, v.u.dict, device, out);
    case V_TENSOR: break;
    default: return *out = value_ref(v), CTSC_OK;
    }
    ctsc_status s = tensor_to_device(d, v.u.tensor, device, &t);
    if (s == CTSC_OK) *out = value_tensor_take(t);
    return s;
}
