/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - what the tensor layer asks of devices (tensor/device.h), by CUDA.
 */
#include "tensor/device.h"

static ctsc_status device_alloc(diag *d, int device, size_t nbytes, storage **out) {
    (void)device, (void)nbytes, (void)out;
    return diag_fail(d, CTSC_ENVIRONMENT, "tensors on CUDA devices are not supported");
}

static ctsc_status device_copy(diag *d, tensor *dst, const tensor *src) {
    (void)dst, (void)src;
    return diag_fail(d, CTSC_ENVIRONMENT, "tensors on CUDA devices are not supported");
}

const device_functions device_table = {device_alloc, device_copy};
