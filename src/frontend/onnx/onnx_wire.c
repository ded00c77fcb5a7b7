/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_wire.c - the bytes of a file as messages, within limits.
 *
 * Method. libprotobuf-c parses. It recurses over nested messages; ONNX's nest without
 * limit in only one way (a graph has nodes, which have attributes, which may be graphs):
 * their depth is checked first. Its memory comes from base/memory/mem.h and is counted.
 * Tests: tests/fuzz/fuzz_onnx.c
 */
#include "frontend/onnx/onnx_wire.h"

/* ---- types ----------------------------------------------------------------------------------- */

/* Names that differ from PyTorch's, most of them of types that are not dtypes here. */
static const struct { int number; const char *name; } wire_names[] = {
    {8, "string"},          {17, "float8e4m3fn"}, {18, "float8e4m3fnuz"}, {19, "float8e5m2"},
    {20, "float8e5m2fnuz"}, {21, "uint4"},        {22, "int4"},           {23, "float4e2m1"},
    {24, "float8e8m0"},     {25, "uint2"},        {26, "int2"},           {27, "float6e2m3"},
    {28, "float6e3m2"},
};

int onnx_from_dtype(dtype dt) {
    const ctsc_dtype_info *t = dtype_describe(dt);
    return t && t->onnx ? t->onnx : -1;
}

static const ctsc_dtype_info *wire_type(int64_t data_type) {
    const ctsc_dtype_info *t;
    for (size_t i = 0; (t = dtype_at(i)) != NULL; i++)
        if (t->onnx && t->onnx == data_type) return t;
    return NULL;
}

int onnx_to_dtype(int64_t data_type) {
    const ctsc_dtype_info *t = wire_type(data_type);
    return t ? (int)t->dtype : -1;
}

/* Types of less than a byte, and what their elements are kept as. */
static const struct { int number, bits; bool is_signed; dtype kept; } wire_narrow[] = {
    {ONNX_FLOAT4E2M1, 0, true, DT_FLOAT8_E4M3FN},
    {ONNX_UINT4, 4, false, DT_UINT8},
    {ONNX_INT4, 4, true, DT_INT8},
    {ONNX_UINT2, 2, false, DT_UINT8},
    {ONNX_INT2, 2, true, DT_INT8},
};
enum { WIRE_NARROW = sizeof wire_narrow / sizeof *wire_narrow };

static int wire_narrow_row(int64_t data_type) {
    for (int i = 0; i < WIRE_NARROW; i++)
        if (wire_narrow[i].number == data_type) return i;
    return -1;
}

int onnx_is_narrow(int64_t data_type) {
    return wire_narrow_row(data_type) < 0 ? 0 : (int)data_type;
}

int onnx_few_bits(int64_t data_type, bool *is_signed) {
    int i = wire_narrow_row(data_type);
    if (i >= 0) *is_signed = wire_narrow[i].is_signed;
    return i < 0 ? 0 : wire_narrow[i].bits;
}

int onnx_kept_dtype(int64_t data_type) {
    int i = wire_narrow_row(data_type);
    return i < 0 ? onnx_to_dtype(data_type) : (int)wire_narrow[i].kept;
}

const char *onnx_type_name(int64_t data_type) {
    for (size_t i = 0; i < sizeof wire_names / sizeof *wire_names; i++)
        if (wire_names[i].number == data_type) return wire_names[i].name;
    const ctsc_dtype_info *t = wire_type(data_type);
    return t ? t->name : NULL;
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

/* A message of that kind; depth: of graphs around it. false: it is not a message, or too deep
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
                    : diag_fail(d, CTSC_BAD_FILE, "%s is damaged or cut short", record);
    Onnx__ModelProto *m = onnx__model_proto__unpack(&allocator, len, bytes);
    if (m) return *out = m, CTSC_OK;
    if (memory.failed) return diag_no_memory(d);
    return diag_fail(d, memory.full ? CTSC_LIMIT : CTSC_BAD_FILE,
                     memory.full ? "%s is too large" : "%s is damaged or cut short", record);
}

void onnx_free_model(Onnx__ModelProto *m) {
    ProtobufCAllocator allocator = {wire_alloc, wire_free, NULL};
    if (m) onnx__model_proto__free_unpacked(m, &allocator);
}
