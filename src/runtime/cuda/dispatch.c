/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch.c - operators of which an argument is on a device.
 */
#include "ir/op.h"

ctsc_status op_on_device(op_ctx *cx, const value *args, value *results) {
    (void)args, (void)results;
    return diag_fail(cx->diag, CTSC_UNSUPPORTED, "%s has no implementation for CUDA", cx->op->key);
}
