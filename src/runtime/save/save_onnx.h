/* SPDX-License-Identifier: Apache-2.0 */
/* save_onnx.h - methods as files of ONNX. */
#ifndef CTSC_RUNTIME_SAVE_SAVE_ONNX_H
#define CTSC_RUNTIME_SAVE_SAVE_ONNX_H

#include "ir/unit.h"

/* A dim of an argument that may have any size; arguments count without self. */
typedef struct save_onnx_axis {
    int input, dim;
    const char *name;
} save_onnx_axis;

/* Where warnings go; NULL: nowhere. */
typedef struct save_onnx_warn {
    void (*warn)(void *ctx, const char *text);
    void *ctx;
} save_onnx_warn;

/* Writes method f, whose arguments (self first) are given as examples. The file appears whole or
 * not at all. opset 0: the usual one. */
ctsc_status save_onnx(diag *d, function *f, int nargs, const value *args, int opset, int naxes,
                      const save_onnx_axis *axes, save_onnx_warn warn, const char *path);

#endif
