/* SPDX-License-Identifier: Apache-2.0 */
/*
 * through_host.h - operators on tensors of a device that the host's function computes: arguments
 * are read, results moved back.
 */
#ifndef CTSC_RUNTIME_CUDA_THROUGH_HOST_H
#define CTSC_RUNTIME_CUDA_THROUGH_HOST_H

#include "ir/op/op.h"

/* op_fn. Results go to the device that the argument `device` names, or to that of the arguments;
 * what the operator writes, back to where it was. */
ctsc_status through_host(op_ctx *cx, const value *args, value *results);
/* The same with a warning, once for each operator, where that is allowed (dispatch.h), or where an
 * argument has no elements; else CTSC_UNSUPPORTED. */
ctsc_status through_host_or_refuse(op_ctx *cx, const value *args, value *results);
/* out[i]: args[i], tensors and lists of tensors with all of them on the device; each a new
 * reference. None of them on failure. */
ctsc_status through_host_move(diag *d, int n, const value *args, int device, value *out);

#endif
