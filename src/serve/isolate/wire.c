/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.c - values in memory that two processes share (wire.h).
 *
 * A value is a wire_head and then: of a tensor its sizes and, at a multiple of 64, its elements; of
 * a string its bytes; of a list its items. Heads are at multiples of 8.
 * Tests: tests/unit/test_serve.c, tests/serve/client.py
 */
#include "serve/isolate/wire.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WIRE_DIMS = 64,
    WIRE_DEPTH = 4,
    WIRE_ITEMS = 10000,
    WIRE_ALIGN = 64,
    WIRE_FIRST = 1 << 20, /* bytes mapped at first, */
    WIRE_KEEP = 64 << 20  /* and kept after a call that used more */
};

typedef struct wire_head {
    uint32_t kind;
    int32_t dtype, ndim; /* of a tensor */
    uint32_t unused;
    union {
        int64_t whole;
        double real;
        uint64_t n; /* bytes of a string or a tensor, items of a list */
    } as;
} wire_head;

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t wire_round(size_t n, size_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

bool wire_open(wire *w, int fd_take) {
    *w = (wire){.fd = fd_take};
    if (!wire_reach(w, WIRE_FIRST)) return false;
    void *page = mmap(NULL, WIRE_VALUES, PROT_READ | PROT_WRITE, MAP_SHARED, fd_take, 0);
    if (page != MAP_FAILED) w->page = page;
    return w->page != NULL;
}

void wire_close(wire *w) {
    if (w->page) munmap(w->page, WIRE_VALUES);
    if (w->base) munmap(w->base, w->size);
    if (w->fd > 0) close(w->fd);
    *w = (wire){0};
}

bool wire_follow(wire *w, size_t size) {
    struct stat st;
    if (size <= w->size) return true;
    if (fstat(w->fd, &st) != 0 || (size_t)st.st_size < size) return false;
    char *base = w->base ? mremap(w->base, w->size, size, MREMAP_MAYMOVE)
                         : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
    if (base == MAP_FAILED) return false;
    w->base = base;
    w->size = size;
    return true;
}

/* posix_fallocate and not ftruncate: a page that the machine does not have would be a signal when
 * it is written, instead of an error here. */
bool wire_reach(wire *w, size_t size) {
    struct stat st;
    if (size <= w->size) return true;
    if (size > SIZE_MAX / 4 || fstat(w->fd, &st) != 0) return false;
    size = wire_round(size, WIRE_FIRST);
    if ((size_t)st.st_size < size && posix_fallocate(w->fd, 0, (off_t)size) != 0) return false;
    return wire_follow(w, size);
}

void wire_trim(wire *w) {
    if (w->size > WIRE_KEEP) (void)madvise(w->base + WIRE_KEEP, w->size - WIRE_KEEP, MADV_REMOVE);
}

/* ---- writing --------------------------------------------------------------------------------- */

static wire_status wire_put_head(wire *w, size_t *at, const wire_head *head) {
    *at = wire_round(*at, sizeof(int64_t));
    if (!wire_reach(w, *at + sizeof *head)) return WIRE_NO_MEMORY;
    memcpy(w->base + *at, head, sizeof *head);
    *at += sizeof *head;
    return WIRE_OK;
}

static wire_status wire_put_bytes(wire *w, size_t *at, const void *from, size_t n) {
    if (n > SIZE_MAX / 4 || !wire_reach(w, *at + n)) return WIRE_NO_MEMORY;
    if (n) memcpy(w->base + *at, from, n);
    *at += n;
    return WIRE_OK;
}

static wire_status wire_put_tensor(wire *w, size_t *at, const ctsc_value *v) {
    ctsc_dtype dtype = ctsc_tensor_dtype(v);
    const ctsc_dtype_info *type = ctsc_dtype_describe(dtype);
    int ndim = ctsc_tensor_ndim(v);
    const int64_t *sizes = ctsc_tensor_sizes(v);
    ctsc_value *rows = NULL;
    if (!type || type->use == CTSC_DTYPE_NAMED || ndim > WIRE_DIMS) return WIRE_REFUSED;
    if (ctsc_tensor_contiguous(v, &rows, NULL) != CTSC_OK) return WIRE_NO_MEMORY;
    wire_head head = {
        .kind = CTSC_KIND_TENSOR, .dtype = (int32_t)dtype, .ndim = ndim, .as.n = type->bytes};
    for (int i = 0; i < ndim; i++) head.as.n *= (uint64_t)sizes[i];
    wire_status s = wire_put_head(w, at, &head);
    if (s == WIRE_OK) s = wire_put_bytes(w, at, sizes, (size_t)ndim * sizeof *sizes);
    *at = wire_round(*at, WIRE_ALIGN);
    if (s == WIRE_OK) s = wire_put_bytes(w, at, ctsc_tensor_data(rows), (size_t)head.as.n);
    ctsc_value_free(rows);
    return s;
}

static wire_status wire_put_at(wire *w, size_t *at, const ctsc_value *v, int depth) {
    wire_head head = {.kind = (uint32_t)ctsc_value_kind(v)};
    size_t n = 0;
    const char *text;
    wire_status s;
    switch (ctsc_value_kind(v)) {
    case CTSC_KIND_NONE: return wire_put_head(w, at, &head);
    case CTSC_KIND_BOOL: head.as.whole = ctsc_value_bool(v); return wire_put_head(w, at, &head);
    case CTSC_KIND_INT: head.as.whole = ctsc_value_int(v); return wire_put_head(w, at, &head);
    case CTSC_KIND_FLOAT: head.as.real = ctsc_value_float(v); return wire_put_head(w, at, &head);
    case CTSC_KIND_STRING:
        text = ctsc_value_string(v, &n);
        head.as.n = n;
        s = wire_put_head(w, at, &head);
        return s == WIRE_OK ? wire_put_bytes(w, at, text, n) : s;
    case CTSC_KIND_TENSOR: return wire_put_tensor(w, at, v);
    case CTSC_KIND_LIST:
        n = ctsc_value_len(v);
        if (depth == WIRE_DEPTH || n > WIRE_ITEMS) return WIRE_REFUSED;
        head.as.n = n;
        s = wire_put_head(w, at, &head);
        for (size_t i = 0; s == WIRE_OK && i < n; i++) {
            ctsc_value *item = ctsc_value_item(v, i);
            s = item ? wire_put_at(w, at, item, depth + 1) : WIRE_NO_MEMORY;
            ctsc_value_free(item);
        }
        return s;
    default: return WIRE_REFUSED;
    }
}

wire_status wire_put(wire *w, size_t *at, const ctsc_value *v) { return wire_put_at(w, at, v, 0); }

/* ---- reading --------------------------------------------------------------------------------- */

/* Copies n bytes at *at, which may lie anywhere. */
static bool wire_take(const wire *w, size_t *at, void *to, size_t n) {
    if (*at > w->size || n > w->size - *at) return false;
    if (n) memcpy(to, w->base + *at, n);
    *at += n;
    return true;
}

static wire_status wire_get_tensor(const wire *w, size_t *at, const wire_head *head,
                                   ctsc_value **out) {
    int64_t sizes[WIRE_DIMS];
    const ctsc_dtype_info *type = ctsc_dtype_describe(head->dtype);
    if (!type || type->use == CTSC_DTYPE_NAMED || head->ndim < 0 || head->ndim > WIRE_DIMS ||
        !wire_take(w, at, sizes, (size_t)head->ndim * sizeof *sizes))
        return WIRE_REFUSED;
    bool empty = false;
    uint64_t bytes = type->bytes;
    for (int i = 0; i < head->ndim; i++) empty = empty || sizes[i] == 0;
    for (int i = 0; i < head->ndim; i++) {
        if (sizes[i] < 0) return WIRE_REFUSED;
        if (!empty && __builtin_mul_overflow(bytes, (uint64_t)sizes[i], &bytes))
            return WIRE_REFUSED;
    }
    if (empty) bytes = 0;
    *at = wire_round(*at, WIRE_ALIGN);
    if (*at > w->size || bytes > w->size - *at) return WIRE_REFUSED;
    if (ctsc_tensor_new(type->dtype, head->ndim, sizes, out, NULL) != CTSC_OK)
        return WIRE_NO_MEMORY;
    if (bytes) memcpy(ctsc_tensor_data(*out), w->base + *at, bytes);
    *at += bytes;
    return WIRE_OK;
}

static wire_status wire_get_string(const wire *w, size_t *at, uint64_t n, ctsc_value **out) {
    if (*at > w->size || n > w->size - *at) return WIRE_REFUSED;
    char *own = malloc((size_t)n + 1);
    if (own && wire_take(w, at, own, (size_t)n)) *out = ctsc_string_new(own, (size_t)n);
    free(own);
    return *out ? WIRE_OK : WIRE_NO_MEMORY;
}

static wire_status wire_get_at(const wire *w, size_t *at, ctsc_value **out, int depth);

static wire_status wire_get_list(const wire *w, size_t *at, uint64_t n, ctsc_value **out,
                                 int depth) {
    if (depth == WIRE_DEPTH || n > WIRE_ITEMS) return WIRE_REFUSED;
    ctsc_value **items = calloc((size_t)n + 1, sizeof *items);
    wire_status s = items ? WIRE_OK : WIRE_NO_MEMORY;
    for (size_t i = 0; s == WIRE_OK && i < n; i++) s = wire_get_at(w, at, &items[i], depth + 1);
    if (s == WIRE_OK) *out = ctsc_list_new((size_t)n, items);
    if (s == WIRE_OK && !*out) s = WIRE_REFUSED; /* items of several kinds */
    for (size_t i = 0; items && i < n; i++) ctsc_value_free(items[i]);
    free(items);
    return s;
}

static wire_status wire_get_at(const wire *w, size_t *at, ctsc_value **out, int depth) {
    wire_head head;
    *out = NULL;
    *at = wire_round(*at, sizeof(int64_t));
    if (!wire_take(w, at, &head, sizeof head)) return WIRE_REFUSED;
    switch (head.kind) {
    case CTSC_KIND_NONE: *out = ctsc_none_new(); break;
    case CTSC_KIND_BOOL: *out = ctsc_bool_new(head.as.whole != 0); break;
    case CTSC_KIND_INT: *out = ctsc_int_new(head.as.whole); break;
    case CTSC_KIND_FLOAT: *out = ctsc_float_new(head.as.real); break;
    case CTSC_KIND_STRING: return wire_get_string(w, at, head.as.n, out);
    case CTSC_KIND_TENSOR: return wire_get_tensor(w, at, &head, out);
    case CTSC_KIND_LIST: return wire_get_list(w, at, head.as.n, out, depth);
    default: return WIRE_REFUSED;
    }
    return *out ? WIRE_OK : WIRE_NO_MEMORY;
}

wire_status wire_get(const wire *w, size_t *at, ctsc_value **out) {
    return wire_get_at(w, at, out, 0);
}
