/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_weights.h - constant weights, packed once for the kernels that multiply by them.
 *
 * The pass "prepack" gives operators whose weight is a constant another name
 * (ctsc::linear_prepacked) and the weight a separate storage (tensor_constant), by which
 * recurrent layers recognise what they may pack. Packing takes as long as some calls, so
 * it is deferred until the weight is used a second time: programs that run once do
 * without. Then the pages of the original are released, if they are those of a file.
 * Tests: tests/unit/test_matmul.c, tests/unit/test_gemm_block.c, tests/cli/prepack.test
 */
#ifndef CTSC_RUNTIME_KERNELS_MATMUL_PACKED_WEIGHTS_H
#define CTSC_RUNTIME_KERNELS_MATMUL_PACKED_WEIGHTS_H

#include "runtime/kernels/engine/epilogue.h"
#include "runtime/kernels/matmul/gemm.h"

/* Programs compiled ahead of time have what was packed when they were compiled, and pack nothing:
 * their weights are read-only. */
#ifdef CTSC_RT
enum { PREPACK_MAKES = 0 };
#else
enum { PREPACK_MAKES = 1 };
#endif
/* `release` of the forms that such programs have. */
void prepack_free(void *derived);     /* gemm_prepacked */
void conv_packed_free(void *derived); /* conv_packed.h: conv_packed_forms */
void prepack_floats_free(void *derived);

/* What `make` makes of `from`, which is constant, kept with s until s goes. NULL: it is not worth
 * it yet (it is made at the second call), or could not be made, or something else, with another
 * `release`, was made before. Thread-safe. */
void *prepack_derived(storage *s, void *(*make)(const void *from), const void *from,
                      void (*release)(void *made));
/* The same at the first call: for forms that compute differently from the weight itself. Threads
 * that arrive while it is made wait. Disabled packing (ctsc_set_packing) changes nothing. */
void *prepack_derived_now(storage *s, void *(*make)(const void *from), const void *from,
                          void (*release)(void *made));
/* Releases the pages of w, which has a packed
 * copy, if they are those of a file. */
void prepack_drop(const tensor *w);

/* The floats of a weight of 16 bits, and the view of its storage that they come from. */
typedef struct prepack_floats {
    tensor *floats;
    int64_t offset, strides[2], sizes[2];
    int ndim;
} prepack_floats;

/* w, float16 or bfloat16, as floats. Those of a constant are made once, are a constant themselves,
 * and live with w's storage; else, and where packing is turned off, they are made anew. */
ctsc_status prepack_widened(diag *d, tensor *w, tensor **out);

/* The panels of a k x n matrix that products of float matrices have on their right. */
typedef struct gemm_prepacked {
    const struct gemm_micro *micro;
    int64_t n, k;
    void *panels; /* aligned to 64 bytes, in memory */
    void *memory;
    size_t room; /* of it */
    /* the data of the weight, and its strides: another view of the storage is another weight */
    const void *of;
    int64_t strides[2];
    /* where most of it is zero (kernels/sparse/); NULL: not. panels is NULL if
     * that is always used */
    struct sparse_weight *sparse;
} gemm_prepacked;

/* For w, a constant [n, k] as in linear layers. NULL: it is not worth it yet, or cannot be
 * done; products then use w unpacked. Thread-safe; the result lives as long as w's storage. */
const gemm_prepacked *prepack_linear(const tensor *w);
/* c = a b + bias, contiguous rows of c at stride ldc; then, for floats,
 * the rest of `after`, whose `other` has the layout of c. Its bias has
 * n elements; after NULL: nothing. Fails only if out of memory. */
ctsc_status gemm_run_prepacked(diag *d, const gemm_prepacked *b, int64_t m, gemm_matrix a,
                               const dense_epilogue *after, void *c, int64_t ldc);

#endif
