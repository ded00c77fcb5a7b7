/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_wire.c - what a model's process writes for the server, and what the server writes for it
 * (serve/isolate/wire.h): any bytes are values or are refused, and a value that was read is the
 * same value when it is written and read again.
 *
 * The first byte chooses. 0: the memory of a process, whose answer (worker.c) the next bytes are.
 * 1: the memory alone, read value after value. Otherwise the bytes choose values, which are
 * written, read and compared.
 */
/* The answers' reader is not public. */
#include "serve/isolate/worker.c" /* NOLINT */

#include <stdint.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_MEMORY = 1 << 16, FUZZ_DEPTH = 5, FUZZ_ITEMS = 12 };

static wire fuzz_given, fuzz_once, fuzz_twice;
static size_t fuzz_filled; /* bytes of fuzz_given */

static void fuzz_open(wire *w) {
    if (!w->page && !wire_open(w, memfd_create("fuzz", MFD_CLOEXEC))) abort();
}

static void fuzz_fill(wire *w, const uint8_t *data, size_t size) {
    if (size > FUZZ_MEMORY) size = FUZZ_MEMORY;
    memset(w->base, 0, WIRE_VALUES + fuzz_filled);
    memcpy(w->base + WIRE_VALUES, data, size);
    fuzz_filled = size;
}

/* Its bytes must be those that are written of what is read of them. */
static void fuzz_same_again(const ctsc_value *v) {
    size_t end = WIRE_VALUES, at = WIRE_VALUES, end_again = WIRE_VALUES;
    ctsc_value *back = NULL;
    wire_status s = wire_put(&fuzz_once, &end, v);
    if (s != WIRE_OK) { /* what was given up in the middle is overwritten by the next */
        memset(fuzz_once.base + WIRE_VALUES, 0, end - WIRE_VALUES);
        return;
    }
    if (wire_get(&fuzz_once, &at, &back) != WIRE_OK || at != end) abort();
    if (wire_put(&fuzz_twice, &end_again, back) != WIRE_OK || end_again != end) abort();
    if (memcmp(fuzz_once.base + WIRE_VALUES, fuzz_twice.base + WIRE_VALUES, end - WIRE_VALUES) != 0)
        abort();
    ctsc_value_free(back);
    memset(fuzz_once.base + WIRE_VALUES, 0, end - WIRE_VALUES);
    memset(fuzz_twice.base + WIRE_VALUES, 0, end - WIRE_VALUES);
}

static void fuzz_answer(const uint8_t *data, size_t size) {
    worker k = {.memory = fuzz_given};
    worker_reply r = {.n = 0};
    outputs o = {0};
    ctsc_error *e = ctsc_error_new();
    size_t of_it = offsetof(worker_reply, took_ns);
    memcpy(&r, data, size < of_it ? size : of_it);
    fuzz_fill(&fuzz_given, data + (size < of_it ? size : of_it), size < of_it ? 0 : size - of_it);
    if (worker_results(&k, &r, &o, e) == CTSC_OK)
        for (size_t i = 0; i < o.n; i++) ctsc_string_free(ctsc_value_print(o.values[i]));
    fuzz_given = k.memory;
    outputs_free(&o);
    ctsc_error_free(e);
}

static void fuzz_values(const uint8_t *data, size_t size) {
    ctsc_value *v = NULL;
    size_t at = WIRE_VALUES;
    fuzz_fill(&fuzz_given, data, size);
    while (wire_get(&fuzz_given, &at, &v) == WIRE_OK && at < WIRE_VALUES + size) {
        fuzz_same_again(v);
        ctsc_value_free(v);
        v = NULL;
    }
    ctsc_value_free(v);
}

typedef struct fuzz_bytes {
    const uint8_t *data;
    size_t size;
} fuzz_bytes;

static uint64_t fuzz_take(fuzz_bytes *b, size_t n) {
    uint64_t value = 0;
    for (; n && b->size; n--, b->size--) value = value << 8 | *b->data++;
    return value;
}

static ctsc_value *fuzz_tensor(fuzz_bytes *b) {
    int64_t sizes[8] = {0};
    int ndim = (int)(fuzz_take(b, 1) % 8);
    ctsc_value *v = NULL;
    size_t bytes = 8;
    for (int i = 0; i < ndim; i++) bytes *= (size_t)(sizes[i] = (int64_t)(fuzz_take(b, 1) % 6));
    if (bytes > FUZZ_MEMORY ||
        ctsc_tensor_new((ctsc_dtype)fuzz_take(b, 1), ndim, sizes, &v, NULL) != CTSC_OK)
        return ctsc_none_new();
    const ctsc_dtype_info *type = ctsc_dtype_describe(ctsc_tensor_dtype(v));
    uint8_t *to = ctsc_tensor_data(v);
    size_t n = type->bytes;
    for (int i = 0; i < ndim; i++) n *= (size_t)sizes[i];
    for (size_t i = 0; i < n; i++) to[i] = (uint8_t)fuzz_take(b, 1);
    return v;
}

static ctsc_value *fuzz_value(fuzz_bytes *b, int depth) {
    ctsc_value *items[FUZZ_ITEMS] = {NULL};
    char text[FUZZ_ITEMS];
    double real;
    uint64_t bits;
    size_t n;
    switch (fuzz_take(b, 1) % (depth < FUZZ_DEPTH ? 7 : 6)) {
    case 0: return ctsc_none_new();
    case 1: return ctsc_bool_new(fuzz_take(b, 1) & 1);
    case 2: return ctsc_int_new((int64_t)fuzz_take(b, 8));
    case 3:
        bits = fuzz_take(b, 8);
        memcpy(&real, &bits, sizeof real);
        return ctsc_float_new(real);
    case 4:
        n = fuzz_take(b, 1) % FUZZ_ITEMS;
        for (size_t i = 0; i < n; i++) text[i] = (char)fuzz_take(b, 1);
        return ctsc_string_new(text, n);
    case 5: return fuzz_tensor(b);
    default:
        n = fuzz_take(b, 1) % FUZZ_ITEMS;
        for (size_t i = 0; i < n; i++) items[i] = fuzz_value(b, depth + 1);
        ctsc_value *list = ctsc_list_new(n, items);
        for (size_t i = 0; i < n; i++) ctsc_value_free(items[i]);
        return list ? list : ctsc_none_new();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    fuzz_open(&fuzz_given);
    fuzz_open(&fuzz_once);
    fuzz_open(&fuzz_twice);
    if (data[0] == 0) fuzz_answer(data + 1, size - 1);
    else if (data[0] == 1) fuzz_values(data + 1, size - 1);
    else {
        fuzz_bytes b = {data + 1, size - 1};
        ctsc_value *v = fuzz_value(&b, 0);
        fuzz_same_again(v);
        ctsc_value_free(v);
    }
    return 0;
}
