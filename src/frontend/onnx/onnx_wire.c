/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_wire.c - the bytes of a file as messages, within limits.
 *
 * Method. libprotobuf-c parses. It recurses over messages in messages, of which ONNX's are without
 * end in one way only (a graph has nodes, which have attributes, which may be graphs): how deep
 * these are is looked at first. Its memory comes from base/memory/mem.h and is counted.
 * Tests: tests/fuzz/fuzz_onnx.c
 */
#include "frontend/onnx/onnx_wire.h"

/* ---- types ----------------------------------------------------------------------------------- */

/* X(number, name, dtype or -1) */
#define ONNX_TYPES(X)                                                                              \
    X(1, "float32", DT_FLOAT32)                                                                    \
    X(2, "uint8", DT_UINT8)                                                                        \
    X(3, "int8", DT_INT8)                                                                          \
    X(4, "uint16", DT_UINT16)                                                                      \
    X(5, "int16", DT_INT16)                                                                        \
    X(6, "int32", DT_INT32)                                                                        \
    X(7, "int64", DT_INT64)                                                                        \
    X(8, "string", -1)                                                                             \
    X(9, "bool", DT_BOOL)                                                                          \
    X(10, "float16", DT_FLOAT16)                                                                   \
    X(11, "float64", DT_FLOAT64)                                                                   \
    X(12, "uint32", DT_UINT32)                                                                     \
    X(13, "uint64", DT_UINT64)                                                                     \
    X(14, "complex64", DT_COMPLEX64)                                                               \
    X(15, "complex128", DT_COMPLEX128)                                                             \
    X(16, "bfloat16", DT_BFLOAT16)                                                                 \
    X(17, "float8e4m3fn", DT_FLOAT8_E4M3FN)                                                        \
    X(18, "float8e4m3fnuz", DT_FLOAT8_E4M3FNUZ)                                                    \
    X(19, "float8e5m2", DT_FLOAT8_E5M2)                                                            \
    X(20, "float8e5m2fnuz", DT_FLOAT8_E5M2FNUZ)                                                    \
    X(21, "uint4", -1)                                                                             \
    X(22, "int4", -1)                                                                              \
    X(23, "float4e2m1", -1)                                                                        \
    X(24, "float8e8m0", -1)                                                                        \
    X(25, "uint2", -1)                                                                             \
    X(26, "int2", -1)

static const struct { int number; const char *name; int dt; } wire_types[] = {
#define WIRE_TYPE(number, name, dt) {number, name, dt},
    ONNX_TYPES(WIRE_TYPE)
#undef WIRE_TYPE
};
enum { WIRE_NTYPES = sizeof wire_types / sizeof *wire_types };

int onnx_from_dtype(dtype dt) {
    for (int i = 0; i < WIRE_NTYPES; i++)
        if (wire_types[i].dt == (int)dt) return wire_types[i].number;
    return -1;
}

int onnx_to_dtype(int64_t data_type) {
    return data_type >= 1 && data_type <= WIRE_NTYPES ? wire_types[data_type - 1].dt : -1;
}

const char *onnx_type_name(int64_t data_type) {
    return data_type >= 1 && data_type <= WIRE_NTYPES ? wire_types[data_type - 1].name : NULL;
}

/* ---- how deep graphs are --------------------------------------------------------------------- */

typedef enum wire_kind {
    WIRE_MODEL,
    WIRE_FUNCTION,
    WIRE_GRAPH,
    WIRE_NODE,
    WIRE_ATTRIBUTE,
    WIRE_OTHER
} wire_kind;

static wire_kind wire_inside(wire_kind kind, uint64_t field) {
    switch (kind) {
    case WIRE_MODEL: return field == 7 ? WIRE_GRAPH : field == 25 ? WIRE_FUNCTION : WIRE_OTHER;
    case WIRE_FUNCTION: return field == 7 ? WIRE_NODE : field == 11 ? WIRE_ATTRIBUTE : WIRE_OTHER;
    case WIRE_GRAPH: return field == 1 ? WIRE_NODE : WIRE_OTHER;
    case WIRE_NODE: return field == 5 ? WIRE_ATTRIBUTE : WIRE_OTHER;
    case WIRE_ATTRIBUTE: return field == 6 || field == 11 ? WIRE_GRAPH : WIRE_OTHER;
    default: return WIRE_OTHER;
    }
}

static bool wire_varint(const uint8_t **p, const uint8_t *end, uint64_t *out) {
    uint64_t v = 0;
    for (int shift = 0; shift < 64 && *p < end; shift += 7) {
        uint8_t b = *(*p)++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) return *out = v, true;
    }
    return false;
}

/* A message of that kind; depth: of graphs around it. false: it is no message, or too deep
 * (*deep). */
static bool wire_check(const uint8_t *p, const uint8_t *end, wire_kind kind, int depth,
                       bool *deep) {
    if (depth > ONNX_MAX_GRAPHS) return *deep = true, false;
    while (p < end) {
        uint64_t tag, n;
        if (!wire_varint(&p, end, &tag)) return false;
        switch (tag & 7) {
        case 0:
            if (!wire_varint(&p, end, &n)) return false;
            continue;
        case 1: n = 8; break;
        case 5: n = 4; break;
        case 2:
            if (!wire_varint(&p, end, &n)) return false;
            break;
        default: return false;
        }
        if (n > (uint64_t)(end - p)) return false;
        wire_kind inside = (tag & 7) == 2 ? wire_inside(kind, tag >> 3) : WIRE_OTHER;
        if (inside != WIRE_OTHER &&
            !wire_check(p, p + n, inside, depth + (inside == WIRE_GRAPH), deep))
            return false;
        p += n;
    }
    return true;
}

/* ---- parsing --------------------------------------------------------------------------------- */

typedef struct wire_memory {
    size_t left;
    bool failed, full;
} wire_memory;

static void *wire_alloc(void *ctx, size_t size) {
    wire_memory *m = ctx;
    if (size > m->left) return m->full = true, NULL;
    void *p = mem_alloc(size);
    if (!p) return m->failed = true, NULL;
    m->left -= size;
    return p;
}

static void wire_free(void *ctx, void *p) {
    (void)ctx;
    mem_free(p);
}

ctsc_status onnx_parse_model(diag *d, const char *record, const void *data, size_t len,
                             Onnx__ModelProto **out) {
    wire_memory memory = {.left = len};
    ProtobufCAllocator allocator = {wire_alloc, wire_free, &memory};
    bool deep = false;
    const uint8_t *bytes = data;
    if (!size_add(len, ONNX_MAX_MESSAGES, &memory.left))
        return diag_fail(d, CTSC_LIMIT, "%s: %zu bytes", record, len);
    if (!wire_check(bytes, bytes + len, WIRE_MODEL, 0, &deep))
        return deep ? diag_fail(d, CTSC_LIMIT, "%s: graphs nest too deeply", record)
                    : diag_fail(d, CTSC_BAD_FILE, "%s: not a model of ONNX", record);
    Onnx__ModelProto *m = onnx__model_proto__unpack(&allocator, len, bytes);
    if (m) return *out = m, CTSC_OK;
    if (memory.failed) return diag_no_memory(d);
    return diag_fail(d, memory.full ? CTSC_LIMIT : CTSC_BAD_FILE,
                     memory.full ? "%s: the model is too large" : "%s: not a model of ONNX",
                     record);
}

void onnx_free_model(Onnx__ModelProto *m) {
    ProtobufCAllocator allocator = {wire_alloc, wire_free, NULL};
    if (m) onnx__model_proto__free_unpacked(m, &allocator);
}
