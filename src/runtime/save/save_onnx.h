/* SPDX-License-Identifier: Apache-2.0 */
/* save_onnx.h - methods as files of ONNX. */
#ifndef CTSC_RUNTIME_SAVE_SAVE_ONNX_H
#define CTSC_RUNTIME_SAVE_SAVE_ONNX_H

#include "ir/graph/graph.h"
#include "ir/unit.h"

/* A dim of an argument that may have any size; arguments count without self. */
typedef struct save_onnx_axis {
    int input, dim;
    const char *name;
} save_onnx_axis;

/* Where warnings go, and what is being done; NULL: nowhere. */
typedef struct save_onnx_warn {
    void (*warn)(void *ctx, const char *text), (*progress)(void *ctx, const char *text);
    void *ctx;
} save_onnx_warn;

typedef struct save_onnx_options {
    int opset; /* 0: the usual one */
    int naxes;
    const save_onnx_axis *axes;
    /* names of inputs and outputs; those beyond them are called as the method has it */
    size_t ninputs, noutputs;
    const char *const *inputs, *const *outputs;
    save_onnx_warn warn;
} save_onnx_options;

/* Writes method f, whose arguments (self first) are given as examples. The file appears whole or
 * not at all. */
ctsc_status save_onnx(diag *d, function *f, int nargs, const value *args,
                      const save_onnx_options *o, const char *path);

#endif
