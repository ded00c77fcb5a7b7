/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_device.c - what the tensor layer asks of devices (tensor/device.h), by CUDA: memory, and the
 * way of elements between host and device.
 *
 * Method. Bytes cross between host and device only from one contiguous tensor to another of the
 * same dtype. What else differs is made equal before or after: on the host with its own copying, on
 * the device with the kernels of copy.c. A single element of the host needs no memory of the
 * device: it is a kernel's parameter.
 * Tests: tests/unit/test_cuda_tensor.c
 */
#include "runtime/cuda/cuda_copy.h"
#include "runtime/cuda/dense.h"

static void device_release(void *ctx, void *data) { cuda_free(ctx, data); }

ctsc_status device_take(diag *d, cuda *c, void *data, size_t nbytes, storage **out) {
    storage *s = storage_borrow(data, nbytes, device_release, c);
    if (!s) {
        cuda_free(c, data);
        return diag_no_memory(d);
    }
    s->device = (uint8_t)(cuda_index(c) + 1);
    *out = s;
    return CTSC_OK;
}

static ctsc_status cuda_device_alloc(diag *d, int device, size_t nbytes, storage **out) {
    cuda *c;
    void *data = NULL;
    TRY(cuda_of_device(d, device, &c));
    TRY(cuda_alloc(c, d, nbytes, &data));
    tensor_note_kind(TENSOR_KIND_DEVICE);
    return device_take(d, c, data, nbytes, out);
}

static size_t device_bytes(const tensor *t) {
    return (size_t)t->numel * dtype_size((dtype)t->dtype);
}

/* Contiguous on both sides, of the same dtype and shape. */
static ctsc_status device_write(diag *d, tensor *dst, const tensor *src) {
    return cuda_write(cuda_of(dst), d, tensor_data(dst), tensor_data(src), device_bytes(src));
}
static ctsc_status device_read(diag *d, tensor *dst, const tensor *src) {
    TRY(dense_check_faults(d, cuda_of(src)));
    return cuda_read(cuda_of(src), d, tensor_data(dst), tensor_data(src), device_bytes(src));
}

static bool device_fits(const tensor *dst, const tensor *src) {
    return dst->dtype == src->dtype && tensor_same_shape(dst, src) && tensor_is_contiguous(dst);
}

/* src is contiguous, of dst's dtype, and on the host. */
static ctsc_status device_from_ready(diag *d, tensor *dst, const tensor *src) {
    tensor *there;
    if (device_fits(dst, src)) return device_write(d, dst, src);
    TRY(tensor_new_on(d, tensor_device(dst), (dtype)src->dtype, src->ndim, src->sizes, &there));
    ctsc_status s = device_write(d, there, src);
    if (s == CTSC_OK) s = copy_on_device(d, dst, there);
    tensor_unref(there);
    return s;
}

static ctsc_status device_from_host(diag *d, tensor *dst, const tensor *src) {
    tensor *typed, *ready;
    TRY(tensor_to_dtype(d, (tensor *)src, (dtype)dst->dtype, &typed));
    if (typed->numel == 1) {
        ctsc_status s = copy_fill(d, dst, tensor_data(typed));
        tensor_unref(typed);
        return s;
    }
    ctsc_status s = tensor_contiguous(d, typed, &ready);
    tensor_unref(typed);
    if (s != CTSC_OK) return s;
    s = device_from_ready(d, dst, ready);
    tensor_unref(ready);
    return s;
}

/* src: contiguous. */
static ctsc_status device_to_ready(diag *d, tensor *dst, const tensor *src) {
    tensor *here;
    if (device_fits(dst, src)) return device_read(d, dst, src);
    TRY(tensor_new(d, (dtype)src->dtype, src->ndim, src->sizes, &here));
    ctsc_status s = device_read(d, here, src);
    if (s == CTSC_OK) s = tensor_copy(d, dst, here);
    tensor_unref(here);
    return s;
}

static ctsc_status device_to_host(diag *d, tensor *dst, const tensor *src) {
    tensor *ready;
    TRY(tensor_contiguous(d, (tensor *)src, &ready));
    ctsc_status s = device_to_ready(d, dst, ready);
    tensor_unref(ready);
    return s;
}

/* Between two devices: by way of the host. */
static ctsc_status device_across(diag *d, tensor *dst, const tensor *src) {
    tensor *here;
    TRY(tensor_to_device(d, (tensor *)src, DEVICE_HOST, &here));
    ctsc_status s = device_from_host(d, dst, here);
    tensor_unref(here);
    return s;
}

static ctsc_status cuda_device_copy(diag *d, tensor *dst, const tensor *src) {
    int to = tensor_device(dst), from = tensor_device(src);
    if (dst->numel == 0 || src->numel == 0) return CTSC_OK;
    if (from == DEVICE_HOST) return device_from_host(d, dst, src);
    if (to == DEVICE_HOST) return device_to_host(d, dst, src);
    return to == from ? copy_on_device(d, dst, src) : device_across(d, dst, src);
}

const device_functions cuda_device_functions = {cuda_device_alloc, cuda_device_copy};
