/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fenced.c - linked into the command: each tensor ends where memory ends, and is full of noise.
 *
 * Generated code has no sanitizer that could see it read past the end of a tensor. Here the
 * page after each tensor cannot be touched, so that such a read ends the process; and what a
 * program reads before it was written is not zero. The last byte is the page's last, so data
 * are aligned to the size of elements and no more, as those of a caller may be. `make
 * test-fenced` runs the corpus so.
 */
#include "tensor/tensor.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FENCED_ALIGNMENT 1
#include "../unit/fenced.h"

static void *fenced_noisy(void *ctx, size_t nbytes) {
    void *data = fenced_alloc(ctx, nbytes);
    return data ? memset(data, 0xA5, nbytes) : NULL;
}

__attribute__((constructor)) static void fenced_install(void) {
    static const tensor_allocator fenced = {fenced_noisy, fenced_free, NULL};
    tensor_set_allocator(&fenced);
}
