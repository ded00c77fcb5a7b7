/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch.h - queries about operators and devices, and running operators there.
 */
#ifndef CTSC_RUNTIME_CUDA_DISPATCH_H
#define CTSC_RUNTIME_CUDA_DISPATCH_H

#include "ir/op/op.h"

enum { OP_DISPATCH_NAME = 160 };

typedef enum device_support {
    DEVICE_SUPPORT_NONE, /* refused, or run on the host where the program allows it */
    DEVICE_SUPPORT_HOST, /* the host makes what it returns, from tensors that are read */
    DEVICE_SUPPORT_FULL,
} device_support;

/* Runs operators with a tensor argument on a device: op_host.on_device. */
ctsc_status op_on_device(op_ctx *cx, const value *args, value *results);

/* How the overload runs where its tensors are on a device. */
device_support op_device_support(const op *o);

/* May operators without a CUDA version run on the host? Off at the start; of the whole process. */
void device_allow_fallback(bool allow);

#endif
