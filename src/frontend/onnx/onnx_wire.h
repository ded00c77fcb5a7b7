/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_wire.h - bytes as messages, and back. */
#ifndef CTSC_FRONTEND_ONNX_ONNX_WIRE_H
#define CTSC_FRONTEND_ONNX_ONNX_WIRE_H

#include "base/diag.h"
#include "tensor/dtype.h"

#include "onnx.pb-c.h"

enum {
    ONNX_MAX_GRAPHS = 24,        /* graphs within graphs */
    ONNX_MAX_MESSAGES = 1 << 30, /* bytes of memory for messages, besides the file's own */
};

/* Types of TensorProto that are kept as wider ones. */
enum { ONNX_UINT4 = 21, ONNX_INT4, ONNX_FLOAT4E2M1, ONNX_UINT2 = 25, ONNX_INT2 };

/* AttributeProto.type */
enum {
    ONNX_A_FLOAT = 1,
    ONNX_A_INT,
    ONNX_A_STRING,
    ONNX_A_TENSOR,
    ONNX_A_GRAPH,
    ONNX_A_FLOATS,
    ONNX_A_INTS,
    ONNX_A_STRINGS,
};

/* TensorProto.DataType of our dtypes, and the other way round; -1: there is none. */
int onnx_from_dtype(dtype dt);
int onnx_to_dtype(int64_t data_type);
/* "uint32" of those that have none; NULL: it is not a type of ONNX's. */
const char *onnx_type_name(int64_t data_type);
/* The type itself where its elements are kept as wider ones; 0: they are not. */
int onnx_is_narrow(int64_t data_type);
/* The bits of integers of less than a byte; 0: it is no such type. */
int onnx_few_bits(int64_t data_type, bool *is_signed);
/* The dtype that elements are kept as; -1: there is none. */
int onnx_kept_dtype(int64_t data_type);

/* The model in these bytes; onnx_free_model frees it. */
ctsc_status onnx_parse_model(diag *d, const char *record, const void *data, size_t len,
                             Onnx__ModelProto **out);
void onnx_free_model(Onnx__ModelProto *m);

#endif
