/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storage.c - the memory of tensors.
 *
 * Method: a block of tensor data is over-allocated and aligned by hand, since the library's
 * allocator promises 16 bytes only; the start of the raw block is kept in the word before the
 * data.
 * Ownership: a storage owns its data, or holds what `release` gives back.
 * Tests: tests/unit/test_tensor.c
 */
#include "base/memory/recycle.h"
#include "base/memory/refs.h"
#include "base/memory/unbacked.h"
#include "tensor/tensor.h"

#include <string.h>

/* ---- the allocator of tensor data ------------------------------------------------------------ */

/* Room after the data: OpenBLAS's products of complex matrices and vectors (zgemv) load whole
 * registers of 32 bytes and so read 16 bytes past a matrix with an odd number of rows, which must
 * not be another page. */
enum { STORAGE_BEYOND = 32, STORAGE_EXTRA = TENSOR_ALIGNMENT + sizeof(void *) + STORAGE_BEYOND };

static void *storage_block(size_t nbytes, void *(*alloc)(size_t size)) {
    size_t size;
    if (!size_add(nbytes, STORAGE_EXTRA, &size)) return NULL;
    char *raw = alloc(size);
    if (!raw) return NULL;
    uintptr_t at = (uintptr_t)raw + sizeof(void *);
    size_t pad = (size_t)(-at & (TENSOR_ALIGNMENT - 1));
    char *data = raw + sizeof(void *) + pad;
    memcpy(data - sizeof(void *), &raw, sizeof(void *));
    return data;
}

static void *storage_default_alloc(void *ctx, size_t nbytes) {
    (void)ctx;
    return storage_block(nbytes, recycle_alloc);
}

static void storage_default_free(void *ctx, void *p, size_t nbytes) {
    (void)ctx;
    void *raw;
    memcpy(&raw, (char *)p - sizeof(void *), sizeof(void *));
    recycle_free(raw, nbytes + STORAGE_EXTRA);
}

static const tensor_allocator storage_default_allocator = {storage_default_alloc,
                                                           storage_default_free, NULL};
static tensor_allocator storage_allocator = {storage_default_alloc, storage_default_free, NULL};

void tensor_set_allocator(const tensor_allocator *a) {
    storage_allocator = a ? *a : storage_default_allocator;
}

atomic_uint tensor_kinds_made;

void tensor_note_kind(unsigned kind) {
    if (!(tensor_kinds() & kind)) atomic_fetch_or(&tensor_kinds_made, kind);
}

/* ---- storages -------------------------------------------------------------------------------- */

static void *storage_zeros(size_t nbytes) {
    if (storage_allocator.alloc == storage_default_alloc)
        return storage_block(nbytes, recycle_zalloc);
    void *data = storage_allocator.alloc(storage_allocator.ctx, nbytes);
    if (data) memset(data, 0, nbytes);
    return data;
}

static void storage_release_unbacked(void *ctx, void *data) {
    unbacked_free(data, (size_t)(uintptr_t)ctx);
}

/* What is smaller is ordinary memory. */
enum { STORAGE_UNBACKED = 32 << 10 };

storage *storage_unbacked(size_t nbytes) {
    if (nbytes < STORAGE_UNBACKED) return storage_new_zeroed(nbytes);
    if (nbytes > PTRDIFF_MAX) return NULL;
    void *data = unbacked_alloc(nbytes);
    if (!data) return NULL;
    storage *s = storage_borrow(data, nbytes, storage_release_unbacked, (void *)(uintptr_t)nbytes);
    if (!s) unbacked_free(data, nbytes);
    return s;
}

static storage *storage_of(size_t nbytes, bool zeroed) {
    if (nbytes > PTRDIFF_MAX) return NULL;
    if (geometry_only() && nbytes >= STORAGE_UNBACKED) return storage_unbacked(nbytes);
    storage *s = recycle_alloc(sizeof *s);
    if (!s) return NULL;
    *s = (storage){.refs = 1, .nbytes = nbytes};
    s->data = zeroed ? storage_zeros(nbytes)
                     : storage_allocator.alloc(storage_allocator.ctx, nbytes);
    if (!s->data) {
        recycle_free(s, sizeof *s);
        return NULL;
    }
    return s;
}

storage *storage_new(size_t nbytes) { return storage_of(nbytes, false); }

storage *storage_new_zeroed(size_t nbytes) { return storage_of(nbytes, true); }

storage *storage_borrow(void *data, size_t nbytes, void (*release)(void *ctx, void *data),
                        void *ctx) {
    storage *s = recycle_alloc(sizeof *s);
    if (!s) return NULL;
    *s = (storage){.refs = 1};
    s->data = data;
    s->nbytes = nbytes;
    s->release = release;
    s->release_ctx = ctx;
    s->borrowed = true;
    return s;
}

storage *storage_ref(storage *s) {
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

tensor *tensor_block_new(size_t nbytes) {
    size_t size;
    if (storage_allocator.alloc != storage_default_alloc || nbytes > PTRDIFF_MAX ||
        geometry_only() ||
        !size_add(nbytes, sizeof(tensor_block) + TENSOR_ALIGNMENT + STORAGE_BEYOND, &size))
        return NULL;
    tensor_block *b = recycle_alloc(size);
    if (!b) return NULL;
    char *data = (char *)(b + 1);
    data += -(uintptr_t)data & (TENSOR_ALIGNMENT - 1);
    b->bytes = size;
    b->lent = false;
    b->storage = (storage){
        .refs = 1, .data = data, .nbytes = nbytes, .in_block = true, .borrowed = true};
    b->handle.storage = &b->storage;
    return &b->handle;
}

static inline void storage_free(storage *s) {
    if (s->in_block) recycle_free(s, ((tensor_block *)(void *)s)->bytes);
    else recycle_free(s, sizeof *s);
}

static inline void storage_free_data(storage *s) {
    if (s->release) s->release(s->release_ctx, s->data);
    else if (!s->borrowed) storage_allocator.free(storage_allocator.ctx, s->data, s->nbytes);
}

static void storage_release_shared(void *ctx, void *data) {
    (void)data;
    storage_unref(ctx);
}

void storage_share(storage *to, storage *from) {
    if (to == from) return;
    storage_free_data(to);
    to->data = from->data;
    to->release = storage_release_shared;
    to->release_ctx = storage_ref(from);
    to->borrowed = to->read_only = true;
}

ctsc_status tensor_constant(diag *d, const tensor *t, tensor **out) {
    const storage *from = t->storage;
    storage *s = storage_borrow(from->data, from->nbytes, storage_release_shared,
                                storage_ref(t->storage));
    if (!s) {
        storage_unref(t->storage);
        return diag_no_memory(d);
    }
    s->read_only = s->constant = true;
    s->of_file = from->of_file;
    s->device = from->device;
    ctsc_status st = tensor_on_storage(d, s, (dtype)t->dtype, t->ndim, t->sizes, t->strides,
                                       t->offset, out);
    storage_unref(s);
    return st;
}

void storage_unref(storage *s) {
    if (!s || !refs_drop(&s->refs)) return;
    if (s->derived_free) s->derived_free(atomic_load_explicit(&s->derived, memory_order_relaxed));
    storage_free_data(s);
    if (s->replaced) storage_unref(s->replaced);
    storage_free(s);
}

ctsc_status tensor_make_writable(diag *d, tensor *t) {
    storage *s = t->storage;
    if (!s->read_only) return CTSC_OK;
    /* The mapping moves into a storage of its own that lives as long as this one, because another
     * thread may still be reading from it. */
    storage *old = storage_borrow(s->data, s->nbytes, s->release, s->release_ctx);
    if (!old) return diag_no_memory(d);
    void *copy = storage_allocator.alloc(storage_allocator.ctx, s->nbytes);
    if (!copy) {
        recycle_free(old, sizeof *old);
        return diag_no_memory(d);
    }
    if (s->nbytes) memcpy(copy, s->data, s->nbytes);
    old->replaced = s->replaced;
    s->replaced = old;
    s->release = NULL;
    s->release_ctx = NULL;
    s->borrowed = false;
    s->data = copy;
    s->read_only = s->of_file = false;
    return CTSC_OK;
}
