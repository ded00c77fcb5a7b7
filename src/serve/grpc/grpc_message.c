/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc_message.c - messages from bytes and from JSON, by protobuf-c's descriptors, and the memory
 * that they are in.
 *
 * Tests: tests/serve/triton.py
 */
#include "serve/grpc/grpc_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

enum { SCRATCH_FIRST = 4096, SCRATCH_ALIGN = 16 };

typedef struct scratch_block {
    struct scratch_block *next;
    _Alignas(SCRATCH_ALIGN) char bytes[];
} scratch_block;

void *scratch_alloc(scratch *a, size_t size) {
    if (size > a->most) return NULL;
    size = (size + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
    if (size > a->most - a->total) return NULL;
    if (size > a->left) {
        size_t room = a->total > SCRATCH_FIRST ? a->total : SCRATCH_FIRST;
        if (room < size) room = size;
        scratch_block *b = malloc(sizeof *b + room);
        if (!b) return NULL;
        b->next = a->blocks;
        a->blocks = b;
        a->at = b->bytes;
        a->left = room;
    }
    void *out = a->at;
    a->at += size;
    a->left -= size;
    a->total += size;
    return memset(out, 0, size);
}

void scratch_free(scratch *a) {
    while (a->blocks) {
        scratch_block *b = a->blocks;
        a->blocks = b->next;
        free(b);
    }
    *a = (scratch){.most = a->most};
}

static void *message_alloc(void *ctx, size_t size) { return scratch_alloc(ctx, size); }
static void message_free(void *ctx, void *p) { (void)ctx, (void)p; }

void *message_read(scratch *a, const ProtobufCMessageDescriptor *d, const void *bytes, size_t len) {
    ProtobufCAllocator allocator = {message_alloc, message_free, a};
    return protobuf_c_message_unpack(d, &allocator, len, bytes);
}

/* ---- from JSON ------------------------------------------------------------------------------- */

static size_t message_item_size(ProtobufCType type) {
    switch (type) {
    case PROTOBUF_C_TYPE_INT32: return sizeof(int32_t);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64: return sizeof(int64_t);
    case PROTOBUF_C_TYPE_BOOL: return sizeof(protobuf_c_boolean);
    default: return sizeof(void *);
    }
}

static bool message_text(scratch *a, const json_t *v, void *to) {
    char *text = json_is_string(v) ? scratch_alloc(a, json_string_length(v) + 1) : NULL;
    if (!text) return !json_is_string(v);
    memcpy(text, json_string_value(v), json_string_length(v));
    *(char **)to = text;
    return true;
}

/* The types that answers have. A value of another type leaves the field at its default. False:
 * out of memory. */
static bool message_item(scratch *a, const ProtobufCFieldDescriptor *f, const json_t *v, void *to) {
    switch (f->type) {
    case PROTOBUF_C_TYPE_INT32: *(int32_t *)to = (int32_t)json_integer_value(v); return true;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64: *(int64_t *)to = json_integer_value(v); return true;
    case PROTOBUF_C_TYPE_BOOL: *(protobuf_c_boolean *)to = json_is_true(v); return true;
    case PROTOBUF_C_TYPE_STRING: return message_text(a, v, to);
    case PROTOBUF_C_TYPE_MESSAGE:
        if (json_is_object(v)) return (*(void **)to = message_of_json(a, f->descriptor, v)) != NULL;
        return true;
    default: return true;
    }
}

static bool message_list(scratch *a, const ProtobufCFieldDescriptor *f, const json_t *list,
                         char *m) {
    size_t n = json_array_size(list), size = message_item_size(f->type);
    char *items = n ? scratch_alloc(a, n * size) : NULL;
    bool ok = items || !n;
    for (size_t i = 0; ok && i < n; i++)
        ok = message_item(a, f, json_array_get(list, i), items + i * size);
    if (!ok) return false;
    *(void **)(m + f->offset) = items;
    *(size_t *)(m + f->quantifier_offset) = n;
    return true;
}

void *message_of_json(scratch *a, const ProtobufCMessageDescriptor *d, const json_t *j) {
    char *m = scratch_alloc(a, d->sizeof_message);
    bool ok = m != NULL;
    if (ok) d->message_init((ProtobufCMessage *)m);
    for (unsigned i = 0; ok && i < d->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &d->fields[i];
        const json_t *v = json_object_get(j, f->name);
        if (!v) continue;
        if (f->label != PROTOBUF_C_LABEL_REPEATED) ok = message_item(a, f, v, m + f->offset);
        else if (json_is_array(v)) ok = message_list(a, f, v, m);
    }
    return ok ? m : NULL;
}
