/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - making tensors on devices, and moving them there and back.
 * Tests: tests/unit/test_cuda_tensor.c
 */
#include "tensor/device.h"

#include <stdio.h>

const char *device_name(int device, char out[DEVICE_NAME]) {
    if (device == DEVICE_HOST) snprintf(out, DEVICE_NAME, "cpu");
    else snprintf(out, DEVICE_NAME, "cuda:%d", device - 1);
    return out;
}

ctsc_status tensor_new_on(diag *d, int device, dtype dt, int ndim, const int64_t *sizes, tensor **out) {
    if (device == DEVICE_HOST) return tensor_new(d, dt, ndim, sizes, out);
    int64_t nbytes, strides[TENSOR_MAX_DIMS];
    storage *s;
    if (dtype_is_quantised(dt)) return diag_fail(d, CTSC_UNSUPPORTED, "quantised tensors are supported on the CPU only");
    ctsc_status st = tensor_layout(d, dt, ndim, sizes, strides, &nbytes);
    if (st == CTSC_OK) st = device_table.alloc(d, device, (size_t)nbytes, &s);
    if (st != CTSC_OK) return st;
    st = tensor_on_storage(d, s, dt, ndim, sizes, strides, 0, out);
    storage_unref(s);
    return st;
}

ctsc_status tensor_zeros_on(diag *d, int device, dtype dt, int ndim, const int64_t *sizes, tensor **out) {
    tensor *zero, *made;
    if (device == DEVICE_HOST) return tensor_zeros(d, dt, ndim, sizes, out);
    ctsc_status s = tensor_zeros(d, dt, 0, NULL, &zero);
    if (s != CTSC_OK) return s;
    s = tensor_new_on(d, device, dt, ndim, sizes, &made);
    if (s == CTSC_OK && (s = device_table.copy(d, made, zero)) != CTSC_OK) tensor_unref(made);
    tensor_unref(zero);
    if (s == CTSC_OK) *out = made;
    return s;
}

ctsc_status tensor_to_device(diag *d, tensor *t, int device, tensor **out) {
    tensor *made;
    if (tensor_device(t) == device) {
        *out = tensor_ref(t);
        return CTSC_OK;
    }
    ctsc_status s = tensor_new_on(d, device, (dtype)t->dtype, t->ndim, t->sizes, &made);
    if (s == CTSC_OK && (s = device_table.copy(d, made, t)) != CTSC_OK) tensor_unref(made);
    if (s != CTSC_OK) return s;
    made->requires_grad = t->requires_grad;
    *out = made;
    return CTSC_OK;
}
