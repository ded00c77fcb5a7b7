/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_dlpack.c - the part of ctsc.h about tensors shared with other libraries, by DLPack.
 *
 * The structures below are DLPack's ABI, version 1.x (and 0.x for those without a version):
 * https://dmlc.github.io/dlpack/latest/. An exported tensor holds a reference to the tensor; its
 * sizes and strides are copied, since in-place operators may change those. An imported one is a
 * storage whose release calls the deleter.
 * Tests: tests/unit/test_dlpack.c
 */
#include "runtime/api/api.h"
#include "tensor/conjugate.h"
#include "tensor/device.h"

#include <string.h>

enum { DL_CPU = 1, DL_MAJOR = 1, DL_MINOR = 1 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_COMPLEX = 5, DL_BOOL = 6 };
/* since 1.1 */
enum {
    DL_FLOAT8_E4M3FN = 10,
    DL_FLOAT8_E4M3FNUZ = 11,
    DL_FLOAT8_E5M2 = 12,
    DL_FLOAT8_E5M2FNUZ = 13,
    DL_FLOAT8_E8M0FNU = 14
};
enum { DL_READ_ONLY = 1 };

typedef struct dl_tensor {
    void *data;
    struct { int32_t type, id; } device;
    int32_t ndim;
    struct { uint8_t code, bits; uint16_t lanes; } dtype;
    int64_t *shape, *strides; /* elements */
    uint64_t byte_offset;
} dl_tensor;

struct DLManagedTensor {
    dl_tensor tensor;
    void *manager;
    void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
    struct { uint32_t major, minor; } version;
    void *manager;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    dl_tensor tensor;
};

/* The type code of a dtype; -1: DLPack has none, or none that the library knows. */
static int dl_code(const ctsc_dtype_info *t) {
    switch (t->dtype) {
    case CTSC_BFLOAT16: return DL_BFLOAT;
    case CTSC_FLOAT8_E4M3FN: return DL_FLOAT8_E4M3FN;
    case CTSC_FLOAT8_E4M3FNUZ: return DL_FLOAT8_E4M3FNUZ;
    case CTSC_FLOAT8_E5M2: return DL_FLOAT8_E5M2;
    case CTSC_FLOAT8_E5M2FNUZ: return DL_FLOAT8_E5M2FNUZ;
    case CTSC_FLOAT8_E8M0FNU: return DL_FLOAT8_E8M0FNU;
    default: break;
    }
    if (t->kind == CTSC_DTYPE_UNSIGNED) return DL_UINT;
    if (t->use != CTSC_DTYPE_COMPUTED) return -1;
    return t->kind == CTSC_DTYPE_BOOL     ? DL_BOOL
           : t->kind == CTSC_DTYPE_SIGNED ? DL_INT
           : t->kind == CTSC_DTYPE_FLOAT  ? DL_FLOAT
                                          : DL_COMPLEX;
}

/* ---- out ------------------------------------------------------------------------------------- */

/* The context of a managed tensor of ours; one block. */
typedef struct dl_export {
    union {
        struct DLManagedTensor plain;
        struct DLManagedTensorVersioned versioned;
    } managed;
    tensor *t;
    int64_t dims[]; /* sizes, strides */
} dl_export;

static void dl_export_free(dl_export *x) {
    tensor_unref(x->t);
    mem_free(x);
}

static void dl_delete(struct DLManagedTensor *self) { dl_export_free(self->manager); }

static void dl_delete_versioned(struct DLManagedTensorVersioned *self) {
    dl_export_free(self->manager);
}

static ctsc_status dl_export_new(diag *d, const ctsc_value *v, dl_export **out) {
    if (!v || v->v.tag != V_TENSOR) return diag_fail(d, CTSC_USAGE, "the value is not a tensor");
    api_reads(v, "ctsc_tensor_to_dlpack");
    tensor *t = v->v.u.tensor;
    if (tensor_device(t) != DEVICE_HOST)
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "tensors of devices other than the CPU are not supported");
    if (tensor_is_lazy(t))
        return diag_fail(d, CTSC_FAILED, "Can't export tensors with the %s bit set",
                         t->conjugated ? "conjugate" : "negative");
    dl_export *x = mem_zalloc(sizeof *x + 2 * (size_t)t->ndim * sizeof *x->dims);
    if (!x) return diag_no_memory(d);
    x->t = tensor_ref(t);
    if (t->ndim) {
        memcpy(x->dims, t->sizes, t->ndim * sizeof *x->dims);
        memcpy(x->dims + t->ndim, t->strides, t->ndim * sizeof *x->dims);
    }
    *out = x;
    return CTSC_OK;
}

static ctsc_status dl_describe(diag *d, dl_export *x, dl_tensor *into) {
    const tensor *t = x->t;
    *into = (dl_tensor){
        .device = {DL_CPU, 0}, .ndim = t->ndim, .shape = x->dims, .strides = x->dims + t->ndim};
    if (t->numel) into->data = tensor_data(t); /* NULL for no elements, as DLPack wants it */
    const ctsc_dtype_info *type = dtype_describe(t->dtype);
    int code = dl_code(type);
    if (code < 0) return diag_fail(d, CTSC_UNSUPPORTED, "DLPack has no type for %s", type->name);
    into->dtype.code = (uint8_t)code, into->dtype.bits = (uint8_t)(8 * type->bytes),
    into->dtype.lanes = 1;
    return CTSC_OK;
}

ctsc_status ctsc_tensor_to_dlpack(const ctsc_value *t, struct DLManagedTensorVersioned **out,
                                  ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    dl_export *x = NULL;
    ctsc_status s = dl_export_new(d, t, &x);
    if (s == CTSC_OK) s = dl_describe(d, x, &x->managed.versioned.tensor);
    if (s == CTSC_OK) {
        struct DLManagedTensorVersioned *m = &x->managed.versioned;
        m->version.major = DL_MAJOR, m->version.minor = DL_MINOR;
        m->manager = x;
        m->deleter = dl_delete_versioned;
        m->flags = x->t->storage->read_only ? DL_READ_ONLY : 0;
        *out = m;
    } else if (x) {
        dl_export_free(x);
    }
    return api_leave(e, &own, s);
}

ctsc_status ctsc_tensor_to_dlpack_unversioned(const ctsc_value *t, struct DLManagedTensor **out,
                                              ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    dl_export *x = NULL;
    ctsc_status s = dl_export_new(d, t, &x);
    if (s == CTSC_OK) s = dl_describe(d, x, &x->managed.plain.tensor);
    if (s == CTSC_OK && x->t->storage->read_only)
        s = diag_fail(d, CTSC_UNSUPPORTED,
                      "the tensor's memory is a file's and read-only, which DLPack 0.x cannot say");
    if (s == CTSC_OK) {
        x->managed.plain.manager = x;
        x->managed.plain.deleter = dl_delete;
        *out = &x->managed.plain;
    } else if (x) {
        dl_export_free(x);
    }
    return api_leave(e, &own, s);
}

/* ---- in -------------------------------------------------------------------------------------- */

static void dl_release(void *ctx, void *data) {
    struct DLManagedTensor *m = ctx;
    (void)data;
    if (m->deleter) m->deleter(m);
}

static void dl_release_versioned(void *ctx, void *data) {
    struct DLManagedTensorVersioned *m = ctx;
    (void)data;
    if (m->deleter) m->deleter(m);
}

static int dl_find_type(const dl_tensor *t) {
    const ctsc_dtype_info *type;
    for (size_t i = 0; t->dtype.lanes == 1 && (type = dtype_at(i)) != NULL; i++)
        if (dl_code(type) == t->dtype.code && 8 * type->bytes == t->dtype.bits)
            return (int)type->dtype;
    return -1;
}

/* Strides, and how many bytes the tensor spans from its first element. */
static ctsc_status dl_extent(diag *d, const dl_tensor *t, dtype dt, int64_t *strides,
                             size_t *bytes) {
    int64_t dense = 1, span = 1;
    bool empty = false, fits = true;
    for (int i = t->ndim; i-- > 0;) {
        int64_t n = t->shape[i], step, reach;
        if (n < 0)
            return diag_fail(d, CTSC_USAGE, "size %lld of dimension %d is negative", (long long)n,
                             i);
        strides[i] = t->strides ? t->strides[i] : dense;
        if (strides[i] < 0)
            return diag_fail(d, CTSC_UNSUPPORTED, "negative strides are not supported");
        fits &= !__builtin_mul_overflow(dense, n ? n : 1, &step);
        dense = step;
        fits &= !__builtin_mul_overflow(n ? n - 1 : 0, strides[i], &reach) &&
                !__builtin_add_overflow(span, reach, &span);
        empty |= n == 0;
    }
    fits &= !__builtin_mul_overflow((size_t)span, dtype_size(dt), bytes) && *bytes <= PTRDIFF_MAX;
    if (empty) *bytes = 0;
    return fits ? CTSC_OK : diag_fail(d, CTSC_USAGE, "a tensor of these sizes is not possible");
}

static ctsc_status dl_import(diag *d, const dl_tensor *t, void (*release)(void *, void *),
                             void *manager, bool read_only, ctsc_value **out) {
    int64_t strides[TENSOR_MAX_DIMS];
    size_t bytes = 0;
    if (t->device.type != DL_CPU)
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "tensors of devices other than the CPU are not supported");
    if (t->ndim < 0 || t->ndim > TENSOR_MAX_DIMS)
        return diag_fail(d, CTSC_USAGE, "a tensor has 0 to %d dimensions, not %d", TENSOR_MAX_DIMS,
                         t->ndim);
    int dt = dl_find_type(t);
    if (dt < 0)
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "elements of DLPack's type %d with %d bits and %d lanes are not supported",
                         t->dtype.code, t->dtype.bits, t->dtype.lanes);
    TRY(dl_extent(d, t, (dtype)dt, strides, &bytes));
    char *data = t->data ? (char *)t->data + t->byte_offset : NULL;
    if ((!data && bytes) || (uintptr_t)data % dtype_size((dtype)dt))
        return diag_fail(d, CTSC_USAGE, "the data of a tensor must be aligned to its elements");
    ctsc_value *h = api_wrap_take(value_none());
    storage *st = h ? storage_borrow(data, bytes, NULL, NULL) : NULL;
    tensor *made = NULL;
    ctsc_status s = st ? tensor_on_storage(d, st, (dtype)dt, t->ndim, t->shape, strides, 0, &made)
                       : diag_no_memory(d);
    if (s == CTSC_OK) {
        st->release = release;
        st->release_ctx = manager;
        st->read_only = read_only;
        h->v = value_tensor_take(made);
        *out = h;
    } else {
        ctsc_value_free(h);
    }
    if (st) storage_unref(st);
    return s;
}

ctsc_status ctsc_tensor_from_dlpack(struct DLManagedTensorVersioned *t, ctsc_value **out,
                                    ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status s;
    if (t->version.major == DL_MAJOR) {
        s = dl_import(d, &t->tensor, dl_release_versioned, t, (t->flags & DL_READ_ONLY) != 0, out);
    } else {
        s = diag_fail(d, CTSC_UNSUPPORTED, "DLPack %u.x is not supported, only %d.x",
                      t->version.major, DL_MAJOR);
        if (t->deleter) t->deleter(t); /* the one thing that may be touched */
    }
    return api_leave(e, &own, s);
}

ctsc_status ctsc_tensor_from_dlpack_unversioned(struct DLManagedTensor *t, ctsc_value **out,
                                                ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    return api_leave(e, &own, dl_import(d, &t->tensor, dl_release, t, false, out));
}
