/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor.h - storages, and tensors as counted views on them.
 *
 * A tensor is a dtype, an offset, sizes and strides over a storage; several tensors may share one
 * storage, so writing through one is seen through the others. Offsets and strides count
 * elements. Strides are never negative; 0 strides come from expand.
 *
 * Ownership: both are reference counted (atomically); a function that returns a tensor, or fills an
 * out-parameter, hands over one reference. Sizes and strides of a tensor that others can see change
 * only in the in-place metadata operators (resize_, t_, squeeze_, ...), under the caller's rule
 * that nobody else runs with this tensor meanwhile.
 *
 * Errors: functions with a diag report what PyTorch reports, with its wording.
 * Tests: tests/unit/test_tensor.c
 */
#ifndef CTSC_TENSOR_TENSOR_H
#define CTSC_TENSOR_TENSOR_H

#include "base/diag.h"
#include "tensor/dtype.h"

enum { TENSOR_MAX_DIMS = 64, TENSOR_INLINE_DIMS = 6, TENSOR_ALIGNMENT = 64, TENSOR_ROOM = 3 };

typedef struct storage {
    atomic_int refs;
    void *data;
    size_t nbytes;
    /* Called when the last reference goes; NULL: `data` came from the allocator of tensor data, or
     * is borrowed and outlives the storage. */
    void (*release)(void *ctx, void *data);
    void *release_ctx;
    bool borrowed;
    bool in_block; /* a tensor_block: it contains the first data */
    /* not ours to write, a mapping of a file for one: writers must copy first
     * (tensor_make_writable) */
    bool read_only;
    /* a read-only mapping of a file: its pages can be dropped, and come back when they are
     * read (pages_drop) */
    bool of_file;
    bool constant;    /* tensor_constant made it: its data never changes */
    uint32_t version; /* writes by programs that record gradients (runtime/autograd) */
    /* where data is: 0 the host, i + 1 cuda:i; then an address that only tensor/device.h's
     * functions know what to do with */
    uint8_t device;
    struct storage *replaced; /* the mapping a private copy took the place of; dies with this one */
    /* What kernels have made of data that never changes, and how it is freed with the storage:
     * theirs alone to read (kernels/matmul/packed_weights.h). */
    _Atomic(void *) derived;
    void (*derived_free)(void *derived);
} storage;

/* uninitialised, aligned to TENSOR_ALIGNMENT; NULL: out of memory */
storage *storage_new(size_t nbytes);
/* the same, all zero; a large one costs nothing until it is touched */
storage *storage_new_zeroed(size_t nbytes);
storage *storage_borrow(void *data, size_t nbytes, void (*release)(void *ctx, void *data),
                        void *ctx);
/* Zeros that take no memory until they are touched (base/memory/unbacked.h); NULL: there are not
 * that many addresses. */
storage *storage_unbacked(size_t nbytes);
/* Gives to the data of from, which is read-only and as large: either is copied before it is
 * written. Only while no other thread uses to. */
void storage_share(storage *to, storage *from);
storage *storage_ref(storage *s);
void storage_unref(storage *s);
/* The allocator of tensor data; a test can put guard pages around every block. NULL
 * restores the default. */
typedef struct tensor_allocator {
    void *(*alloc)(void *ctx, size_t nbytes);
    void (*free)(void *ctx, void *p, size_t nbytes);
    void *ctx;
} tensor_allocator;
void tensor_set_allocator(const tensor_allocator *a);

/* Kinds of tensors that only few operators take. Which of them this process has made yet;
 * never goes back. */
enum {
    TENSOR_KIND_QUANTISED = 1,
    TENSOR_KIND_DEVICE = 2,
    TENSOR_KIND_STORED = 4,
    TENSOR_KIND_LAZY = 8,
    TENSOR_KIND_UNDEFINED = 16, /* None in place of a tensor: PyTorch's undefined tensor */
    TENSOR_KIND_NAMED = 32      /* dims with names (tensor/dim_names.h) */
};
extern atomic_uint tensor_kinds_made;
static inline unsigned tensor_kinds(void) {
    return atomic_load_explicit(&tensor_kinds_made, memory_order_relaxed);
}
void tensor_note_kind(unsigned kind);

typedef struct tensor {
    atomic_int refs;
    uint8_t dtype; /* enum dtype */
    uint8_t ndim;
    /* programs that take gradients record what is made of it (runtime/autograd) */
    bool requires_grad;
    /* the handle is in its storage's block (tensor_block), and freed with it */
    bool in_storage : 1;
    /* its elements are the conjugates, or the negatives, of those in memory (tensor/conjugate.h) */
    bool conjugated : 1, negated : 1;
    int64_t numel;
    int64_t offset; /* elements from the start of the storage to element (0, ..., 0) */
    storage *storage;
    /* of a quantised dtype: scale and zero point (tensor/quantiser.h); else NULL */
    struct quantiser *quantiser;
    /* its place in a graph of gradients (runtime/autograd); NULL: a leaf without a gradient */
    struct autograd_meta *autograd;
    struct dim_names *names;  /* of its dims (tensor/dim_names.h); NULL: none */
    int64_t *sizes, *strides; /* ndim each; point at inline_dims while ndim <= TENSOR_INLINE_DIMS */
    int64_t inline_dims[2 * TENSOR_INLINE_DIMS];
} tensor;

/* Most tensors are new ones with memory of their own: storage, handle and elements are one block
 * then, which lives as long as the storage. */
typedef struct tensor_block {
    storage storage;
    tensor handle;
    size_t bytes; /* of the whole block, as recycle_alloc was asked */
    bool lent;    /* the room is in use */
    void *room[TENSOR_ROOM];
} tensor_block;
/* A block with room for nbytes of aligned, uninitialised data; its handle is set up except for
 * the storage it refers to. NULL if out of memory, and where the allocator of tensor data is not
 * the default one. */
tensor *tensor_block_new(size_t nbytes);
/* t refers to another storage than `before`: a handle in a block holds that block when it no longer
 * refers to its storage. */
void tensor_moved(tensor *t, const storage *before);

/* The block that contains t (t->in_storage). */
static inline tensor_block *tensor_block_of(tensor *t) {
    return (tensor_block *)(void *)((char *)t - offsetof(tensor_block, handle));
}

/* The room in t's block: for what a program gets that t is given to, so that a result is one block.
 * NULL if there is none, or others refer to t as well. */
static inline void *tensor_room_take(tensor *t) {
    tensor_block *b = tensor_block_of(t);
    if (!t->in_storage || atomic_load_explicit(&t->refs, memory_order_acquire) != 1 || b->lent)
        return NULL;
    b->lent = true;
    return b->room;
}
/* Whether p is the room in t's block; it is no longer in use then. */
static inline bool tensor_room_give(tensor *t, const void *p) {
    tensor_block *b = tensor_block_of(t);
    if (!t->in_storage || p != b->room) return false;
    b->lent = false;
    return true;
}

static inline tensor *tensor_ref(tensor *t) {
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}
/* Frees tensor.autograd, which is runtime/autograd's; installed before the first is made. */
extern void (*tensor_autograd_free)(struct autograd_meta *m);
void tensor_unref(tensor *t); /* t may be NULL */
void tensor_free(tensor *t);  /* its last reference is gone */

/* Address of element (0, ..., 0). */
static inline void *tensor_data(const tensor *t) {
    return (char *)t->storage->data + (size_t)t->offset * dtype_size((dtype)t->dtype);
}
#define TENSOR_AT(t, T) ((T *)tensor_data(t))

/* ---- making ---------------------------------------------------------------------------------- */

/* Row-major strides and the bytes of a tensor to be made; fails as tensor_new does. */
ctsc_status tensor_layout(diag *d, dtype dt, int ndim, const int64_t *sizes, int64_t *strides,
                          int64_t *nbytes);
/* Contiguous and uninitialised. Fails for a negative size, a size product that does
 * not fit, no memory. */
ctsc_status tensor_new(diag *d, dtype dt, int ndim, const int64_t *sizes, tensor **out);
ctsc_status tensor_zeros(diag *d, dtype dt, int ndim, const int64_t *sizes, tensor **out);
/* Contiguous, same sizes as t, on t's device. */
ctsc_status tensor_new_like(diag *d, const tensor *t, dtype dt, tensor **out);
/* 0-dim tensors. */
ctsc_status tensor_scalar_int(diag *d, dtype dt, int64_t v, tensor **out);
ctsc_status tensor_scalar_float(diag *d, dtype dt, double v, tensor **out);
/* A view on a storage. Checks that every element is inside it (for data from outside). */
ctsc_status tensor_on_storage(diag *d, storage *s, dtype dt, int ndim, const int64_t *sizes,
                              const int64_t *strides, int64_t offset, tensor **out);

/* The same elements, read-only, by a storage that only this tensor has: what kernels derive from
 * them is not for others (storage.derived). */
ctsc_status tensor_constant(diag *d, const tensor *t, tensor **out);

/* ---- asking ---------------------------------------------------------------------------------- */

bool tensor_is_contiguous(const tensor *t); /* row-major without gaps; true when numel is 0 */
bool tensor_same_shape(const tensor *a, const tensor *b);
bool tensor_may_overlap(const tensor *t); /* two indices may share an element (expanded views) */
/* dim in [-n, n) to [0, n), n = max(ndim, 1); fails with PyTorch's "Dimension out of range". */
ctsc_status tensor_wrap_dim(diag *d, int64_t dim, int64_t ndim, int *out);
/* The single element of a 1-element tensor, converted. */
int64_t tensor_item_int(const tensor *t);
double tensor_item_float(const tensor *t);
/* Element at a storage address, converted (bool gives 0/1; complex gives the real part). */
int64_t dtype_load_int(dtype dt, const void *p);
double dtype_load_float(dtype dt, const void *p);
void dtype_store_int(dtype dt, void *p, int64_t v); /* wraps like a C cast */
void dtype_store_float(dtype dt, void *p, double v);
/* v as an element of dt keeps it. */
double dtype_round(dtype dt, double v);
void dtype_store_complex(dtype dt, void *p, double re, double im); /* dt is complex */
/* "[2, 3]" into out. */
void tensor_print_sizes(int ndim, const int64_t *sizes, strbuf *out);

/* ---- views: same storage, no copy ------------------------------------------------------------ */

/* Any geometry over t's storage; internal callers vouch for it. */
ctsc_status tensor_view_raw(diag *d, const tensor *t, int ndim, const int64_t *sizes,
                            const int64_t *strides, int64_t offset, tensor **out);
ctsc_status tensor_alias(diag *d, const tensor *t, tensor **out); /* same geometry, new handle */
ctsc_status tensor_select(diag *d, const tensor *t, int64_t dim, int64_t index, tensor **out);
/* Python's slice: bounds clamp, negative count from the end; step >= 1. */
ctsc_status tensor_slice(diag *d, const tensor *t, int64_t dim, int64_t start, int64_t end,
                         int64_t step, tensor **out);
ctsc_status tensor_transpose(diag *d, const tensor *t, int64_t dim0, int64_t dim1, tensor **out);
ctsc_status tensor_permute(diag *d, const tensor *t, int n, const int64_t *dims, tensor **out);
ctsc_status tensor_unsqueeze(diag *d, const tensor *t, int64_t dim, tensor **out);
ctsc_status tensor_squeeze(diag *d, const tensor *t, tensor **out);
/* those of size 1 among them */
ctsc_status tensor_squeeze_dims(diag *d, const tensor *t, int n, const int64_t *dims, tensor **out);
ctsc_status tensor_squeeze_dim(diag *d, const tensor *t, int64_t dim, tensor **out);
/* sizes may hold -1 (keep); more dims than t are new leading ones. */
ctsc_status tensor_expand(diag *d, const tensor *t, int ndim, const int64_t *sizes, tensor **out);
/* sizes may hold one -1. Fails with PyTorch's message when the strides do not allow a view. */
ctsc_status tensor_view(diag *d, const tensor *t, int ndim, const int64_t *sizes, tensor **out);
ctsc_status tensor_as_strided(diag *d, const tensor *t, int ndim, const int64_t *sizes,
                              const int64_t *strides, int64_t offset, tensor **out);
/* View if possible, else a contiguous copy. */
ctsc_status tensor_reshape(diag *d, const tensor *t, int ndim, const int64_t *sizes, tensor **out);
/* Exchanges the geometry of two handles on the same data (in-place metadata operators). */
void tensor_swap_geometry(tensor *t, tensor *with);

/* ---- copying --------------------------------------------------------------------------------- */

/* t itself (a reference) if it is, and not lazy */
ctsc_status tensor_contiguous(diag *d, tensor *t, tensor **out);
ctsc_status tensor_clone(diag *d, const tensor *t, tensor **out); /* contiguous copy */
/* t itself (a reference) if the dtype is right already; else a contiguous converted copy. */
ctsc_status tensor_to_dtype(diag *d, tensor *t, dtype dt, tensor **out);
/* dst[...] = src, src broadcast to dst and converted. Correct for overlapping views. */
ctsc_status tensor_copy(diag *d, tensor *dst, const tensor *src);

/* Storage the caller may write to: replaces a read-only mapping by a private copy
 * for this storage. */
ctsc_status tensor_make_writable(diag *d, tensor *t);

/* ---- broadcasting ---------------------------------------------------------------------------- */

/* Shape a and b broadcast to, into sizes[TENSOR_MAX_DIMS]; PyTorch's message on failure
 * ("The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"). */
ctsc_status broadcast_sizes(diag *d, int an, const int64_t *a, int bn, const int64_t *b, int *ndim,
                            int64_t *sizes);

#endif
