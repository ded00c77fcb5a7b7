/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h - tensors on a device other than the
 * host: what the tensor layer knows about them.
 *
 * A storage says where its bytes are (storage.device): 0 is the host, i + 1 is cuda:i, as in values
 * of type Device. The address of a device's bytes means nothing on the host. Views are geometry and
 * need no more; making and copying go through one table of functions, device_host, which the
 * runtime registers (runtime/cuda/cuda_device.c).
 *
 * Device meta has no memory: its storages have a size and nothing else, and nothing can be copied
 * out of them. What operators do with such tensors is in runtime/meta/meta.h.
 *
 * Copies from a device to the host wait until the device is done; other work may still be in
 * progress when a function returns, and later requests to the device are executed after it.
 * Tests: tests/unit/test_cuda_tensor.c
 */
#ifndef CTSC_TENSOR_DEVICE_H
#define CTSC_TENSOR_DEVICE_H

#include "tensor/value.h"

/* Indices of devices are below DEVICE_MAX; storage.device of all is at most INT8_MAX. */
enum { DEVICE_HOST = 0, DEVICE_META = 127, DEVICE_MAX = DEVICE_META - 1 };

/* What a layer above provides, once, before there is a tensor on a device. */
typedef struct device_functions {
    /* Uninitialised memory; a storage of 0 bytes is on the device, too. */
    ctsc_status (*alloc)(diag *d, int device, size_t nbytes, storage **out);
    /* dst[...] = src, with any geometry and dtypes, at least one of the two on a device; src
     * broadcasts to dst. */
    ctsc_status (*copy)(diag *d, tensor *dst, const tensor *src);
} device_functions;
extern const device_functions *device_host;

/* The same two for every device but the host, meta included. */
ctsc_status device_alloc(diag *d, int device, size_t nbytes, storage **out);
ctsc_status device_copy(diag *d, tensor *dst, const tensor *src);

static inline int tensor_device(const tensor *t) { return t->storage->device; }
static inline bool tensor_is_meta(const tensor *t) { return t->storage->device == DEVICE_META; }
/* Is any tensor of this process not on the host? Never goes back to false. */
static inline bool device_in_use(void) { return (tensor_kinds() & TENSOR_KIND_DEVICE) != 0; }

/* As tensor_new, there. */
ctsc_status tensor_new_on(diag *d, int device, dtype dt, int ndim, const int64_t *sizes,
                          tensor **out);
/* As tensor_zeros, there. */
ctsc_status tensor_zeros_on(diag *d, int device, dtype dt, int ndim, const int64_t *sizes,
                            tensor **out);
/* t itself (a reference) if it is there; else a contiguous copy. */
ctsc_status tensor_to_device(diag *d, tensor *t, int device, tensor **out);
/* v with all tensors in it there: tensors, and lists, tuples and dicts, which are made anew.
 * A new reference. */
ctsc_status value_to_device(diag *d, value v, int device, value *out);
/* The bytes of s in a storage that is there: s itself (a reference) if it is. */
ctsc_status storage_to_device(diag *d, storage *s, int device, storage **out);
/* dst = the first bytes of src, as many as the smaller of the two has. */
ctsc_status storage_copy_bytes(diag *d, storage *dst, storage *src);
/* What torch.device makes of a text ("cpu", "cpu:0", "cuda", "cuda:1", "meta"), as value.u.device.
 * Errors are PyTorch's; CTSC_UNSUPPORTED: a device that only PyTorch has, "xla" for one. */
ctsc_status device_parse(diag *d, const char *text, size_t len, int64_t *out);
/* "cpu", "cuda:0", "meta", into out. */
enum { DEVICE_NAME = 24 };
const char *device_name(int device, char out[DEVICE_NAME]);

#endif
