/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor.c - making tensors, asking about their geometry, and single elements.
 *
 * Invariants: numel is the product of the sizes; every element is inside the storage; contiguous
 * strides are PyTorch's (a dimension of size 0 counts as 1 in the strides left of it).
 * Tests: tests/unit/test_tensor.c
 */
#include "base/memory/recycle.h"
#include "base/memory/refs.h"
#include "base/memory/unbacked.h"
#include "base/threads/limits.h"
#include "tensor/device.h"
#include "tensor/dim_names.h"
#include "tensor/quantiser.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- making ---------------------------------------------------------------------------------- */

/* The storage of the block that contains a handle. */
static storage *tensor_home(tensor *t) { return &tensor_block_of(t)->storage; }

void (*tensor_autograd_free)(struct autograd_meta *m);

__thread int names_suspended;

void tensor_drop_names(tensor *t) {
    dim_names *before = t->names;
    t->names = NULL;
    if (before && refs_drop(&before->refs)) mem_free(before);
}

void tensor_free(tensor *t) {
    bool in_storage = t->in_storage;
    storage *home = in_storage ? tensor_home(t) : NULL, *s = t->storage;
    if ((uintptr_t)t->quantiser | (uintptr_t)t->autograd | (uintptr_t)t->names) { /* few: a test */
        if (t->quantiser) quantiser_unref(t->quantiser);
        if (t->autograd) tensor_autograd_free(t->autograd);
        if (t->names) tensor_drop_names(t);
    }
    if (t->sizes != t->inline_dims) mem_free(t->sizes);
    storage_unref(s); /* t may be gone after that */
    if (!in_storage) recycle_free(t, sizeof *t);
    else if (s != home) storage_unref(home);
}

void tensor_unref(tensor *t) {
    if (t && refs_drop(&t->refs)) tensor_free(t);
}

void tensor_moved(tensor *t, const storage *before) {
    storage *home = t->in_storage ? tensor_home(t) : NULL;
    if (!home || t->storage == before) return;
    if (before == home) storage_ref(home);
    else if (t->storage == home) storage_unref(home);
}

/* Sets up a handle on s with room for ndim sizes and strides. false: out of memory. Every result of
 * every operator is one, so it is a part of its callers. */
static inline __attribute__((always_inline)) bool tensor_handle_init(tensor *t, dtype dt, int ndim,
                                                                     storage *s, bool in_storage) {
    if (dtype_is_stored(dt) || dt == DT_COMPLEX32) tensor_note_kind(TENSOR_KIND_STORED);
    atomic_init(&t->refs, 1);
    t->dtype = (uint8_t)dt;
    t->ndim = (uint8_t)ndim;
    t->requires_grad = false;
    t->in_storage = in_storage;
    t->conjugated = t->negated = false;
    t->numel = t->offset = 0;
    t->storage = s;
    t->quantiser = NULL;
    t->autograd = NULL;
    t->names = NULL;
    t->sizes = t->inline_dims;
    t->strides = t->inline_dims + TENSOR_INLINE_DIMS;
    if (ndim <= TENSOR_INLINE_DIMS) return true;
    t->sizes = mem_alloc(2 * (size_t)ndim * sizeof(int64_t));
    t->strides = t->sizes ? t->sizes + ndim : NULL;
    return t->sizes != NULL;
}

/* A handle without storage; NULL: out of memory. */
static tensor *tensor_new_handle(dtype dt, int ndim) {
    tensor *t = recycle_alloc(sizeof *t);
    if (!t || tensor_handle_init(t, dt, ndim, NULL, false)) return t;
    recycle_free(t, sizeof *t);
    return NULL;
}

static ctsc_status tensor_fail_sizes(diag *d, const char *what, int ndim, const int64_t *sizes) {
    strbuf sb = STRBUF_INIT;
    tensor_print_sizes(ndim, sizes, &sb);
    ctsc_status status = diag_fail(d, CTSC_FAILED, "%s%s", what, sb_str(&sb));
    sb_free(&sb);
    return status;
}

/* Words why there is no tensor of such sizes. overflow: their product does not fit; else: a size is
 * negative, or there are too many. */
static ctsc_status tensor_refuse(diag *d, int ndim, const int64_t *sizes, bool overflow) {
    if (ndim < 0 || ndim > TENSOR_MAX_DIMS)
        return diag_fail(d, CTSC_LIMIT, "tensors have at most %d dimensions, got %d",
                         TENSOR_MAX_DIMS, ndim);
    for (int i = ndim - 1; i >= 0 && !overflow; i--) {
        char what[96];
        if (sizes[i] >= 0) continue;
        snprintf(what, sizeof what, "Trying to create tensor with negative dimension %" PRId64 ": ",
                 sizes[i]);
        return tensor_fail_sizes(d, what, ndim, sizes);
    }
    return tensor_fail_sizes(d, "Storage size calculation overflowed with sizes=", ndim, sizes);
}

/* Checks the sizes; their product into *numel. */
static inline ctsc_status tensor_plan(diag *d, dtype dt, int ndim, const int64_t *sizes,
                                      int64_t *numel) {
    if (ndim < 0 || ndim > TENSOR_MAX_DIMS) return tensor_refuse(d, ndim, sizes, false);
    int64_t product = 1, bytes;
    bool overflow = false, empty = false, negative = false;
    for (int i = 0; i < ndim; i++) {
        negative |= sizes[i] < 0;
        empty |= sizes[i] == 0;
        overflow |= __builtin_mul_overflow(product, sizes[i] ? sizes[i] : 1, &product);
    }
    overflow |= __builtin_mul_overflow(product, (int64_t)dtype_size(dt), &bytes);
    if (negative || overflow) return tensor_refuse(d, ndim, sizes, !negative);
    *numel = empty ? 0 : product;
    if (d && d->max_tensor && !empty && (uint64_t)bytes > d->max_tensor)
        return diag_fail(d, CTSC_LIMIT,
                         "a tensor of %" PRId64 " bytes is more than the memory limit allows",
                         bytes);
    return CTSC_OK;
}

/* Row-major; a size of 0 counts as 1. */
static inline void tensor_row_major(int ndim, const int64_t *sizes, int64_t *strides) {
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = stride;
        if (sizes[i]) stride *= sizes[i];
    }
}

ctsc_status tensor_layout(diag *d, dtype dt, int ndim, const int64_t *sizes, int64_t *strides,
                          int64_t *nbytes) {
    int64_t numel = 0;
    TRY(tensor_plan(d, dt, ndim, sizes, &numel));
    tensor_row_major(ndim, sizes, strides);
    *nbytes = numel * (int64_t)dtype_size(dt);
    return CTSC_OK;
}

/* A handle on a storage of its own; NULL: out of memory. */
static tensor *tensor_with_storage(dtype dt, int ndim, size_t nbytes, bool zeroed) {
    tensor *t = zeroed ? NULL : tensor_block_new(nbytes);
    if (t) {
        storage *s = t->storage;
        if (tensor_handle_init(t, dt, ndim, s, true)) return t;
        storage_unref(s);
        return NULL;
    }
    t = tensor_new_handle(dt, ndim);
    if (!t || (t->storage = zeroed ? storage_new_zeroed(nbytes) : storage_new(nbytes))) return t;
    tensor_unref(t);
    return NULL;
}

/* Sizes come from programs: a step for each part of a large tensor, which somebody will fill. */
static inline bool tensor_is_granted(size_t bytes) {
    return bytes < LIMITS_BYTES || !limits_current || geometry_only() ||
           limits_take(limits_current, bytes / LIMITS_BYTES);
}

static ctsc_status tensor_make(diag *d, dtype dt, int ndim, const int64_t *sizes, bool zeroed,
                               tensor **out) {
    int64_t numel = 0;
    ctsc_status status = tensor_plan(d, dt, ndim, sizes, &numel);
    if (status) return status;
    size_t bytes = (size_t)numel * dtype_size(dt);
    if (!tensor_is_granted(bytes)) return limits_fail(d);
    tensor *t = tensor_with_storage(dt, ndim, bytes, zeroed);
    if (!t) return diag_no_memory(d);
    t->numel = numel;
    for (int i = 0; i < ndim; i++) t->sizes[i] = sizes[i];
    tensor_row_major(ndim, sizes, t->strides);
    *out = t;
    return CTSC_OK;
}

ctsc_status tensor_new(diag *d, dtype dt, int ndim, const int64_t *sizes, tensor **out) {
    return tensor_make(d, dt, ndim, sizes, false, out);
}

ctsc_status tensor_zeros(diag *d, dtype dt, int ndim, const int64_t *sizes, tensor **out) {
    return tensor_make(d, dt, ndim, sizes, true, out);
}

ctsc_status tensor_new_like(diag *d, const tensor *t, dtype dt, tensor **out) {
    return tensor_new_on(d, tensor_device(t), dt, t->ndim, t->sizes, out);
}

ctsc_status tensor_scalar_int(diag *d, dtype dt, int64_t v, tensor **out) {
    tensor *t;
    ctsc_status status = tensor_new(d, dt, 0, NULL, &t);
    if (status) return status;
    dtype_store_int(dt, tensor_data(t), v);
    *out = t;
    return CTSC_OK;
}

ctsc_status tensor_scalar_float(diag *d, dtype dt, double v, tensor **out) {
    tensor *t;
    ctsc_status status = tensor_new(d, dt, 0, NULL, &t);
    if (status) return status;
    dtype_store_float(dt, tensor_data(t), v);
    *out = t;
    return CTSC_OK;
}

ctsc_status tensor_view_raw(diag *d, const tensor *t, int ndim, const int64_t *sizes,
                            const int64_t *strides, int64_t offset, tensor **out) {
    if (ndim < 0 || ndim > TENSOR_MAX_DIMS)
        return diag_fail(d, CTSC_LIMIT, "tensors have at most %d dimensions, got %d",
                         TENSOR_MAX_DIMS, ndim);
    /* A view can be larger than its storage (expand), so its count can overflow. As in tensor_new
     * no sizes of an empty one do either: kernels multiply some of them. */
    int64_t numel = 1;
    bool overflow = false, empty = false;
    for (int i = 0; i < ndim; i++) {
        empty |= sizes[i] == 0;
        overflow |= __builtin_mul_overflow(numel, sizes[i] ? sizes[i] : 1, &numel);
    }
    if (overflow) return diag_fail(d, CTSC_FAILED, "numel: integer multiplication overflow");
    tensor *v = tensor_new_handle((dtype)t->dtype, ndim);
    if (!v) return diag_no_memory(d);
    v->numel = empty ? 0 : numel;
    v->offset = offset;
    v->requires_grad = t->requires_grad;
    v->conjugated = t->conjugated;
    v->negated = t->negated;
    v->storage = storage_ref(t->storage);
    if (t->quantiser) v->quantiser = quantiser_ref(t->quantiser);
    if (ndim) {
        memcpy(v->sizes, sizes, (size_t)ndim * sizeof *sizes);
        memcpy(v->strides, strides, (size_t)ndim * sizeof *strides);
    }
    *out = v;
    return CTSC_OK;
}

/* The storage bytes a geometry reaches into; false if that overflows. */
static bool tensor_extent(size_t item, int ndim, const int64_t *sizes, const int64_t *strides,
                          int64_t offset, int64_t *nbytes) {
    int64_t last = offset, step;
    for (int i = 0; i < ndim; i++) {
        if (sizes[i] == 0) {
            *nbytes = 0;
            return true;
        }
        if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &step) ||
            __builtin_add_overflow(last, step, &last))
            return false;
    }
    return !__builtin_add_overflow(last, 1, &last) &&
           !__builtin_mul_overflow(last, (int64_t)item, nbytes);
}

/* Checks a geometry that comes from outside against a storage, with PyTorch's messages. */
static ctsc_status tensor_check_geometry(diag *d, ctsc_status blame, const storage *s, dtype dt,
                                         int ndim, const int64_t *sizes, const int64_t *strides,
                                         int64_t offset) {
    if (ndim < 0 || ndim > TENSOR_MAX_DIMS)
        return diag_fail(d, blame, "tensors have at most %d dimensions, got %d", TENSOR_MAX_DIMS,
                         ndim);
    strbuf size_text = STRBUF_INIT, stride_text = STRBUF_INIT;
    tensor_print_sizes(ndim, sizes, &size_text);
    tensor_print_sizes(ndim, strides, &stride_text);
    bool negative_size = false, negative_stride = false;
    for (int i = 0; i < ndim; i++) {
        negative_size |= sizes[i] < 0;
        negative_stride |= strides[i] < 0;
    }
    int64_t nbytes = 0;
    ctsc_status status = CTSC_OK;
    if (negative_stride)
        status = diag_fail(d, blame,
                           "as_strided: Negative strides are not supported at the moment, "
                           "got strides: %s",
                           sb_str(&stride_text));
    else if (offset < 0)
        status = diag_fail(d, blame, "Tensor: invalid storage offset %" PRId64, offset);
    else if (negative_size || !tensor_extent(dtype_size(dt), ndim, sizes, strides, offset, &nbytes))
        status = diag_fail(d, blame,
                           "Storage size calculation overflowed with sizes=%s and strides=%s",
                           sb_str(&size_text), sb_str(&stride_text));
    else if ((size_t)nbytes > s->nbytes)
        status = diag_fail(d, blame,
                           "setStorage: sizes %s, strides %s, storage offset %" PRId64
                           ", and itemsize %zu requiring a storage size of %" PRId64
                           " are out of bounds for storage of size %zu",
                           sb_str(&size_text), sb_str(&stride_text), offset, dtype_size(dt), nbytes,
                           s->nbytes);
    sb_free(&size_text);
    sb_free(&stride_text);
    return status;
}

/* An empty tensor may carry any offset; one outside the storage is of no use and could overflow. */
static int64_t tensor_safe_offset(const storage *s, dtype dt, int64_t offset) {
    return (uint64_t)offset <= s->nbytes / dtype_size(dt) ? offset : 0;
}

ctsc_status tensor_on_storage(diag *d, storage *s, dtype dt, int ndim, const int64_t *sizes,
                              const int64_t *strides, int64_t offset, tensor **out) {
    ctsc_status status = tensor_check_geometry(d, CTSC_BAD_FILE, s, dt, ndim, sizes, strides,
                                               offset);
    if (status) return status;
    tensor whole = {.dtype = (uint8_t)dt, .storage = s};
    return tensor_view_raw(d, &whole, ndim, sizes, strides, tensor_safe_offset(s, dt, offset), out);
}

ctsc_status tensor_as_strided(diag *d, const tensor *t, int ndim, const int64_t *sizes,
                              const int64_t *strides, int64_t offset, tensor **out) {
    dtype dt = (dtype)t->dtype;
    ctsc_status status = tensor_check_geometry(d, CTSC_FAILED, t->storage, dt, ndim, sizes, strides,
                                               offset);
    if (status) return status;
    offset = tensor_safe_offset(t->storage, dt, offset);
    return tensor_view_raw(d, t, ndim, sizes, strides, offset, out);
}

/* ---- asking ---------------------------------------------------------------------------------- */

bool tensor_is_contiguous(const tensor *t) {
    if (t->numel == 0) return true;
    int64_t expected = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->sizes[i] == 1) continue;
        if (t->strides[i] != expected) return false;
        expected *= t->sizes[i];
    }
    return true;
}

bool tensor_same_shape(const tensor *a, const tensor *b) {
    if (a->ndim != b->ndim) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->sizes[i] != b->sizes[i]) return false;
    return true;
}

/* Sorted by stride, each dimension must step over all that the smaller ones reach. */
bool tensor_may_overlap(const tensor *t) {
    if (t->numel <= 1) return false;
    int order[TENSOR_MAX_DIMS], n = 0;
    for (int i = 0; i < t->ndim; i++) {
        if (t->sizes[i] == 1) continue;
        int j = n++;
        for (; j > 0 && t->strides[order[j - 1]] > t->strides[i]; j--) order[j] = order[j - 1];
        order[j] = i;
    }
    int64_t reach = 0; /* the largest offset of an element so far */
    for (int j = 0; j < n; j++) {
        int i = order[j];
        if (t->strides[i] <= reach) return true;
        reach += (t->sizes[i] - 1) * t->strides[i];
    }
    return false;
}

ctsc_status tensor_wrap_dim(diag *d, int64_t dim, int64_t ndim, int *out) {
    int64_t n = ndim > 0 ? ndim : 1;
    if (dim < -n || dim >= n)
        return diag_fail(d, CTSC_FAILED,
                         "Dimension out of range (expected to be in range of [%" PRId64 ", %" PRId64
                         "], but got %" PRId64 ")",
                         -n, n - 1, dim);
    *out = (int)(dim < 0 ? dim + n : dim);
    return CTSC_OK;
}

void tensor_print_sizes(int ndim, const int64_t *sizes, strbuf *out) {
    sb_putc(out, '[');
    for (int i = 0; i < ndim; i++) sb_printf(out, i ? ", %" PRId64 : "%" PRId64, sizes[i]);
    sb_putc(out, ']');
}

int64_t tensor_item_int(const tensor *t) { return dtype_load_int((dtype)t->dtype, tensor_data(t)); }

double tensor_item_float(const tensor *t) {
    return dtype_load_float((dtype)t->dtype, tensor_data(t));
}

/* ---- broadcasting ---------------------------------------------------------------------------- */

ctsc_status broadcast_sizes(diag *d, int an, const int64_t *a, int bn, const int64_t *b, int *ndim,
                            int64_t *sizes) {
    int n = an > bn ? an : bn;
    int64_t result[TENSOR_MAX_DIMS];
    for (int i = n - 1; i >= 0; i--) {
        int64_t x = i >= n - an ? a[i - (n - an)] : 1;
        int64_t y = i >= n - bn ? b[i - (n - bn)] : 1;
        if (x != y && x != 1 && y != 1)
            return diag_fail(d, CTSC_FAILED,
                             "The size of tensor a (%" PRId64
                             ") must match the size of tensor b (%" PRId64
                             ") at non-singleton dimension %d",
                             x, y, i);
        result[i] = x == 1 ? y : x;
    }
    *ndim = n;
    if (n) memcpy(sizes, result, (size_t)n * sizeof *sizes);
    return CTSC_OK;
}
