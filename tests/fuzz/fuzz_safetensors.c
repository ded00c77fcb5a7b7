/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_safetensors.c - any bytes given to the reader of .safetensors files: tensors, whose elements
 * are all read, or a refusal. What was read is written, and that is read again. The mutator sets
 * the length of the header right in most of its copies, so that the JSON is reached. Seeds:
 * tests/cli/Inputs/checkpoints/model.safetensors.
 */
#include "runtime/safetensors/safetensors.h"

#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static unsigned fuzz_sum(const value *v) {
    const tensor *t = v->u.tensor;
    const uint8_t *p = tensor_data(t);
    unsigned sum = 0;
    for (size_t i = 0; i < (size_t)t->numel * dtype_size((dtype)t->dtype); i++) sum += p[i];
    return sum;
}

static void fuzz_again(const value *all) {
    char path[] = "/tmp/ctsc-fuzz-safetensors-XXXXXX";
    diag d = {0};
    reader r;
    value v = value_none();
    int fd = mkstemp(path);
    if (fd < 0) abort();
    close(fd);
    if (safe_write(&d, all->u.dict, 0, NULL, path) == CTSC_OK) {
        if (reader_open_file(&d, path, &r) != CTSC_OK || load_safetensors(&d, r, &v) != CTSC_OK ||
            v.u.dict->len != all->u.dict->len)
            abort();
        value_unref(v);
    }
    unlink(path);
    diag_clear(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    diag d = {0};
    reader r;
    value all;
    volatile unsigned sum = 0;
    if (reader_open_memory(&d, data, size, &r) == CTSC_OK &&
        load_safetensors(&d, r, &all) == CTSC_OK) {
        for (size_t i = 0; i < all.u.dict->used; i++) sum += fuzz_sum(&all.u.dict->entries[i].val);
        fuzz_again(&all);
        value_unref(all);
    }
    diag_clear(&d);
    return 0;
}

/* The header ends at its last brace. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    size = LLVMFuzzerMutate(data, size, max_size);
    size_t end = size;
    while (end > 8 && data[end - 1] != '}') end--;
    if (seed % 8 && end > 8)
        for (int i = 0; i < 8; i++) data[i] = (uint8_t)((end - 8) >> 8 * i);
    return size;
}
