/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_share.c - tensors and the memory of others: the buffer protocol, DLPack, NumPy's
 * array interface.
 *
 * In: any object with a buffer, or with __dlpack__, becomes a Tensor on its memory, which holds the
 * object. Out: a buffer holds the Tensor, a DLPack capsule the tensor's memory. Everything goes
 * through the library's DLPack functions, which know strides and memory that is not to be written.
 */
#include "bind.h"

#include <string.h>

typedef struct dl_tensor {
    void *data;
    struct { int32_t type, id; } device;
    int32_t ndim;
    struct { uint8_t code, bits; uint16_t lanes; } dtype;
    int64_t *shape, *strides;
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

/* ---- in: buffers ----------------------------------------------------------------------------- */

typedef struct lender {
    struct DLManagedTensorVersioned managed;
    Py_buffer view;
    int64_t dims[128];
} lender;

static void lender_free(struct DLManagedTensorVersioned *self) {
    lender *l = self->manager;
    if (!Py_IsInitialized()) return; /* the memory goes with the process */
    PyGILState_STATE s = PyGILState_Ensure();
    PyBuffer_Release(&l->view);
    PyMem_Free(l);
    PyGILState_Release(s);
}

/* The dtype of a buffer's format; NULL: none. */
static const dtype_row *row_of_format(const char *f, Py_ssize_t itemsize) {
    static const char letters[] = "?BbhHiIlLqQefdg";
    if (!f) f = "B";
    if (*f == '@' || *f == '=' || *f == '<') f++;
    char kind = 0;
    if (!strcmp(f, "Zf") || !strcmp(f, "Zd")) kind = 'c';
    else if (f[0] && !f[1] && strchr(letters, *f))
        kind = *f == '?' ? 'b' : strchr("efdg", *f) ? 'f' : strchr("BHILQ", *f) ? 'u' : 'i';
    if (kind == 'u' && itemsize > 1) kind = 'U';
    for (int n = 0; kind && n < BIND_DTYPES; n++) {
        const dtype_row *r = bind_dtype_row(n);
        if (r && r->format && r->kind == kind && r->size == itemsize) return r;
    }
    return NULL;
}

static PyObject *unfit(lender *l, const char *text) {
    PyErr_SetString(PyExc_TypeError, text);
    PyBuffer_Release(&l->view);
    PyMem_Free(l);
    return NULL;
}

/* Elements whose memory is not aligned to their size, as a tensor of its own. */
static PyObject *copied(lender *l, const dtype_row *r) {
    ctsc_value *v = NULL;
    ctsc_error *e = bind_error();
    int64_t sizes[64];
    for (int i = 0; i < l->view.ndim; i++) sizes[i] = l->view.shape[i];
    ctsc_status st = e ? ctsc_tensor_new((ctsc_dtype)r->number, l->view.ndim, sizes, &v, e)
                       : CTSC_LIMIT;
    if (st == CTSC_OK &&
        PyBuffer_ToContiguous(ctsc_tensor_data(v), &l->view, l->view.len, 'C') < 0) {
        ctsc_value_free(v);
        v = NULL;
    }
    PyBuffer_Release(&l->view);
    PyMem_Free(l);
    return v ? bind_tensor_take(v) : st == CTSC_OK || !e ? NULL : bind_raise(e, "tensor");
}

/* An array is told by its type of numbers, as PyTorch does; other buffers by their format. */
static void unsupported(PyObject *o, const char *format) {
    PyObject *dtype = PyObject_GetAttrString(o, "dtype");
    PyObject *type = dtype ? PyObject_GetAttrString(dtype, "type") : NULL;
    PyObject *name = type ? PyObject_GetAttrString(type, "__name__") : NULL;
    static const char kinds[] =
        "The only supported types are: float64, float32, float16, complex64, complex128, "
        "int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool.";
    PyErr_Clear();
    if (name)
        PyErr_Format(PyExc_TypeError, "can't convert np.ndarray of type numpy.%U. %s", name, kinds);
    else PyErr_Format(PyExc_TypeError, "can't convert a buffer of format '%s'. %s", format, kinds);
    Py_XDECREF(name);
    Py_XDECREF(type);
    Py_XDECREF(dtype);
}

PyObject *bind_from_buffer(PyObject *o, bool may_copy) {
    lender *l = PyMem_Malloc(sizeof *l);
    if (!l) return PyErr_NoMemory();
    memset(l, 0, offsetof(lender, dims));
    if (PyObject_GetBuffer(o, &l->view, PyBUF_RECORDS_RO) < 0) return PyMem_Free(l), NULL;
    const Py_buffer *b = &l->view;
    const dtype_row *r = row_of_format(b->format, b->itemsize);
    if (!r) {
        unsupported(o, b->format ? b->format : "B");
        PyBuffer_Release(&l->view);
        return PyMem_Free(l), NULL;
    }
    if (b->ndim > 64) return unfit(l, "a tensor has at most 64 dimensions");
    if (may_copy && (uintptr_t)b->buf % (uintptr_t)r->size && b->len) return copied(l, r);
    struct DLManagedTensorVersioned *m = &l->managed;
    for (int i = 0; i < b->ndim; i++) {
        Py_ssize_t step = b->shape[i] > 1 ? b->strides[i] : r->size;
        if (step < 0) {
            unfit(l, "");
            PyErr_SetString(PyExc_ValueError,
                            "At least one stride in the given numpy array is negative, and tensors "
                            "with negative strides are not currently supported. "
                            "(You can probably work around this by making a copy of your array  "
                            "with array.copy().) ");
            return NULL;
        }
        if (step % r->size)
            return unfit(l, "given numpy array strides not a multiple of the element byte size. "
                            "Copy the numpy array to reallocate the memory.");
        l->dims[i] = b->shape[i];
        l->dims[64 + i] = b->shape[i] > 1 || b->strides[i] >= 0 ? b->strides[i] / r->size : 1;
    }
    m->version.major = 1;
    m->manager = l;
    m->deleter = lender_free;
    m->flags = b->readonly ? 1 : 0;
    m->tensor = (dl_tensor){.data = b->buf,
                            .device = {1, 0},
                            .ndim = b->ndim,
                            .shape = l->dims,
                            .strides = l->dims + 64};
    m->tensor.dtype.code = r->dl_code, m->tensor.dtype.bits = (uint8_t)(8 * r->size),
    m->tensor.dtype.lanes = 1;
    ctsc_value *v = NULL;
    ctsc_error *e = bind_error();
    if (e && ctsc_tensor_from_dlpack(m, &v, e) == CTSC_OK) return bind_tensor_take(v);
    PyBuffer_Release(&l->view);
    PyMem_Free(l);
    return e ? bind_raise(e, "from_numpy") : NULL;
}

/* _from_buffer(o, may_copy=False) */
static PyObject *share_from_buffer(PyObject *self, PyObject *args) {
    PyObject *o;
    int may_copy = 0;
    (void)self;
    return PyArg_ParseTuple(args, "O|p", &o, &may_copy) ? bind_from_buffer(o, may_copy) : NULL;
}

/* ---- out: buffers ---------------------------------------------------------------------------- */

typedef struct lent {
    char format[4];
    Py_ssize_t dims[]; /* sizes, strides in bytes */
} lent;

static int buffer_get(PyObject *self, Py_buffer *view, int flags) {
    ctsc_value *v = ((Tensor *)self)->v;
    const dtype_row *r = bind_dtype_row((int)ctsc_tensor_dtype(v));
    int ndim = ctsc_tensor_ndim(v);
    const char *why = NULL;
    view->obj = NULL;
    if (!r || !r->format) why = "the dtype has no buffer format; NumPy lacks it as well";
    else if (ctsc_tensor_device(v) != -1) why = "the tensor is not on the CPU";
    else if (ctsc_tensor_is_lazy(v)) why = "the tensor is lazily conjugated or negated";
    else if ((flags & PyBUF_WRITABLE) && !ctsc_tensor_is_writable(v))
        why = "the tensor's memory is read-only";
    else if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !ctsc_tensor_is_contiguous(v))
        why = "the tensor is not contiguous";
    else if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !ctsc_tensor_is_contiguous(v))
        why = "the tensor is not contiguous";
    if (why) return PyErr_SetString(PyExc_BufferError, why), -1;
    lent *l = PyMem_Malloc(sizeof *l + 2 * (size_t)ndim * sizeof *l->dims);
    if (!l) return PyErr_NoMemory(), -1;
    for (int i = 0; i < ndim; i++) {
        l->dims[i] = (Py_ssize_t)ctsc_tensor_sizes(v)[i];
        l->dims[ndim + i] = (Py_ssize_t)ctsc_tensor_strides(v)[i] * r->size;
    }
    memcpy(l->format, r->format, strlen(r->format) + 1);
    *view = (Py_buffer){.buf = ctsc_tensor_data(v),
                        .obj = bind_ref(self),
                        .len = (Py_ssize_t)bind_numel(v) * r->size,
                        .itemsize = r->size,
                        .readonly = !ctsc_tensor_is_writable(v),
                        .ndim = ndim,
                        .internal = l};
    if (flags & PyBUF_FORMAT) view->format = l->format;
    if (flags & PyBUF_ND) view->shape = l->dims;
    else view->ndim = 1; /* bytes */
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES) view->strides = l->dims + ndim;
    return 0;
}

static void buffer_release(PyObject *self, Py_buffer *view) {
    (void)self;
    PyMem_Free(view->internal);
}

PyType_Slot bind_buffer_slots[2] = {{Py_bf_getbuffer, (void *)buffer_get},
                                    {Py_bf_releasebuffer, (void *)buffer_release}};

PyObject *bind_array_interface(Tensor *t) {
    const dtype_row *r = bind_dtype_row((int)ctsc_tensor_dtype(t->v));
    if (!r || !r->typestr || ctsc_tensor_device(t->v) != -1)
        return PyErr_Format(PyExc_AttributeError, "a tensor of %R has no __array_interface__",
                            bind_dtype_object((int)ctsc_tensor_dtype(t->v)));
    int ndim = ctsc_tensor_ndim(t->v);
    PyObject *shape = PyTuple_New(ndim), *strides = PyTuple_New(ndim);
    for (int i = 0; shape && strides && i < ndim; i++) {
        PyTuple_SetItem(shape, i, PyLong_FromLongLong(ctsc_tensor_sizes(t->v)[i]));
        PyTuple_SetItem(strides, i, PyLong_FromLongLong(ctsc_tensor_strides(t->v)[i] * r->size));
    }
    PyObject *address = PyLong_FromVoidPtr(ctsc_tensor_data(t->v)), *d = NULL;
    if (shape && strides && address)
        d = Py_BuildValue("{s:O,s:O,s:s,s:(OO),s:i}", "shape", shape, "strides", strides, "typestr",
                          r->typestr, "data", address,
                          ctsc_tensor_is_writable(t->v) ? Py_False : Py_True, "version", 3);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    Py_XDECREF(address);
    return d;
}

/* ---- DLPack ---------------------------------------------------------------------------------- */

static void capsule_free(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        struct DLManagedTensorVersioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (m->deleter) m->deleter(m);
    } else if (PyCapsule_IsValid(capsule, "dltensor")) {
        struct DLManagedTensor *m = PyCapsule_GetPointer(capsule, "dltensor");
        if (m->deleter) m->deleter(m);
    }
}

PyObject *bind_dlpack(Tensor *t, bool versioned) {
    ctsc_error *e = bind_error();
    struct DLManagedTensorVersioned *v;
    struct DLManagedTensor *old;
    if (!e) return NULL;
    ctsc_status s = versioned ? ctsc_tensor_to_dlpack(t->v, &v, e)
                              : ctsc_tensor_to_dlpack_unversioned(t->v, &old, e);
    if (s != CTSC_OK) return PyErr_SetString(PyExc_BufferError, ctsc_error_message(e)), NULL;
    PyObject *c = PyCapsule_New(versioned ? (void *)v : (void *)old,
                                versioned ? "dltensor_versioned" : "dltensor", capsule_free);
    if (!c && versioned) v->deleter(v);
    if (!c && !versioned) old->deleter(old);
    return c;
}

/* Python's deleters want the lock, and what frees the tensor may not have it: a shell around the
 * other's tensor takes it. */
typedef struct guest {
    struct DLManagedTensorVersioned shell;
    struct DLManagedTensorVersioned *versioned;
    struct DLManagedTensor *plain;
} guest;

static void guest_free(struct DLManagedTensorVersioned *self) {
    guest *g = self->manager;
    if (!Py_IsInitialized()) return;
    PyGILState_STATE s = PyGILState_Ensure();
    if (g->versioned && g->versioned->deleter) g->versioned->deleter(g->versioned);
    if (g->plain && g->plain->deleter) g->plain->deleter(g->plain);
    PyMem_Free(g);
    PyGILState_Release(s);
}

static PyObject *share_from_dlpack(PyObject *self, PyObject *capsule) {
    (void)self;
    bool versioned = PyCapsule_IsValid(capsule, "dltensor_versioned");
    if (!versioned && !PyCapsule_IsValid(capsule, "dltensor"))
        return PyErr_SetString(PyExc_ValueError,
                               "from_dlpack received an invalid capsule. Note that DLTensor "
                               "capsules can be consumed only once, "
                               "so you might have already constructed a tensor from it once."),
               NULL;
    guest *g = PyMem_Malloc(sizeof *g);
    ctsc_error *e = bind_error();
    if (!g || !e) return PyMem_Free(g), PyErr_NoMemory();
    memset(g, 0, sizeof *g);
    struct DLManagedTensorVersioned *m = &g->shell;
    if (versioned) {
        g->versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        m->version.major = g->versioned->version.major;
        m->flags = g->versioned->flags;
        m->tensor = g->versioned->tensor;
        if (m->version.major != 1) {
            PyErr_Format(PyExc_BufferError, "DLPack %u.x is not supported, only 1.x",
                         (unsigned)m->version.major);
            return PyMem_Free(g), NULL;
        }
    } else {
        g->plain = PyCapsule_GetPointer(capsule, "dltensor");
        m->version.major = 1;
        m->tensor = g->plain->tensor;
    }
    m->manager = g;
    m->deleter = guest_free;
    ctsc_value *v = NULL;
    if (ctsc_tensor_from_dlpack(m, &v, e) != CTSC_OK) {
        PyMem_Free(g);
        return PyErr_SetString(PyExc_BufferError, ctsc_error_message(e)), NULL;
    }
    PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor");
    return bind_tensor_take(v);
}

PyMethodDef bind_share_methods[] = {
    {"_from_buffer", share_from_buffer, METH_VARARGS, NULL},
    {"_from_dlpack", share_from_dlpack, METH_O, NULL},
    {0},
};
