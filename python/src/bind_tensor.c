/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_tensor.c - the type Tensor: its geometry, numbers out of it, and Python's operators.
 *
 * Methods that are operators of the library are put into the type by bind_operator.c, those that
 * are more of Python by python/ctsc/_tensor.py.
 */
#include "bind.h"

#include <string.h>

/* ---- life ------------------------------------------------------------------------------------ */

static void tensor_dealloc(PyObject *self) {
    Tensor *t = (Tensor *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (t->weak) PyObject_ClearWeakRefs(self);
    ctsc_value_free(t->v);
    Py_XDECREF(t->program);
    Py_CLEAR(t->dict);
    freefunc release = type == bind.tensor ? PyObject_GC_Del
                                           : (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static int tensor_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Tensor *)self)->dict);
    return 0;
}

static int tensor_clear(PyObject *self) {
    Py_CLEAR(((Tensor *)self)->dict);
    return 0;
}

/* Most tensors have no attributes, cannot be a part of a cycle, and cost the collector nothing. */
static void track(PyObject *self) {
    if (((Tensor *)self)->dict && !PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
}

static int tensor_setattro(PyObject *self, PyObject *name, PyObject *value) {
    int r = PyObject_GenericSetAttr(self, name, value);
    track(self);
    return r;
}

static PyObject *get_dict(PyObject *self, void *unused) {
    (void)unused;
    Tensor *t = (Tensor *)self;
    if (!t->dict && !(t->dict = PyDict_New())) return NULL;
    track(self);
    return bind_ref(t->dict);
}

static int set_dict(PyObject *self, PyObject *dict, void *unused) {
    (void)unused;
    if (!dict || !PyDict_Check(dict))
        return PyErr_SetString(PyExc_TypeError, "__dict__ must be set to a dictionary"), -1;
    PyObject *before = ((Tensor *)self)->dict;
    ((Tensor *)self)->dict = bind_ref(dict);
    Py_XDECREF(before);
    track(self);
    return 0;
}

/* ---- new ones -------------------------------------------------------------------------------- */

/* Another handle on the elements, without history. */
static ctsc_value *detached(ctsc_value *of) {
    PyObject *o = bind_call_object("aten::detach", 1, &of);
    ctsc_value *v = o && TensorCheck(o) ? ctsc_value_copy(((Tensor *)o)->v) : NULL;
    Py_XDECREF(o);
    return v;
}

static PyObject *of_type(PyTypeObject *type, ctsc_value *v_take) {
    if (type == bind.tensor) return bind_tensor_take(v_take);
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Tensor *t = (Tensor *)alloc(type, 0);
    if (!t) return ctsc_value_free(v_take), NULL;
    t->v = v_take;
    return (PyObject *)t;
}

/* Tensor(data): what tensor(data, dtype=float32) gives; of a Tensor, another one on its memory
 * (subclasses are made so). */
static PyObject *tensor_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    PyObject *data = NULL;
    ctsc_value *v = NULL;
    if (type == bind.tensor && kw && PyDict_Size(kw))
        return PyErr_SetString(PyExc_TypeError, "Tensor() takes no keyword arguments"), NULL;
    if (PyTuple_Size(args) > 0) data = PyTuple_GetItem(args, 0);
    if (data && TensorCheck(data)) {
        v = detached(((Tensor *)data)->v);
        if (!v && PyErr_Occurred()) return NULL;
    } else if (data && !(PyLong_Check(data) && !PyBool_Check(data))) {
        PyObject *made = bind_tensor_of(data, CTSC_FLOAT32);
        if (!made) return NULL;
        v = ctsc_value_copy(((Tensor *)made)->v);
        Py_DECREF(made);
    } else { /* sizes */
        int64_t sizes[64];
        Py_ssize_t n = PyTuple_Size(args);
        if (n > 64)
            return PyErr_SetString(PyExc_ValueError, "a tensor has at most 64 dimensions"), NULL;
        for (Py_ssize_t i = 0; i < n; i++)
            if ((sizes[i] = PyLong_AsLongLong(PyTuple_GetItem(args, i))) == -1 && PyErr_Occurred())
                return NULL;
        int64_t none = 0;
        ctsc_error *e = bind_error();
        if (!e) return NULL;
        if (ctsc_tensor_new(CTSC_FLOAT32, n ? (int)n : 1, n ? sizes : &none, &v, e) != CTSC_OK)
            return bind_raise(e, "Tensor");
    }
    if (!v) return PyErr_NoMemory();
    return of_type(type, v);
}

/* _as_subclass(tensor, class): a view of all of it, with its history, whose class it is. */
PyObject *bind_as_subclass(PyObject *self, PyObject *args) {
    PyObject *x, *type;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!", bind.tensor, &x, &PyType_Type, &type)) return NULL;
    if (!PyType_IsSubtype((PyTypeObject *)type, bind.tensor))
        return PyErr_Format(PyExc_TypeError, "%R is not a class of tensors", type), NULL;
    PyObject *o = bind_call_object("aten::alias", 1, &((Tensor *)x)->v);
    ctsc_value *v = o && TensorCheck(o) ? ctsc_value_copy(((Tensor *)o)->v) : NULL;
    Py_XDECREF(o);
    if (!v) return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    return of_type((PyTypeObject *)type, v);
}

/* ---- numbers out of memory ------------------------------------------------------------------- */

static PyObject *tensor_item(PyObject *self, PyObject *unused) {
    (void)unused;
    Tensor *t = (Tensor *)self;
    int64_t n = bind_numel(t->v);
    if (n != 1)
        return PyErr_Format(bind.error, "a Tensor with %lld elements cannot be converted to Scalar",
                            (long long)n);
    if (ctsc_tensor_device(t->v) == CTSC_DEVICE_META)
        return PyErr_Format(bind.error, "Tensor.item() cannot be called on meta tensors");
    const void *at = ctsc_tensor_data(t->v);
    int dtype = (int)ctsc_tensor_dtype(t->v);
    if (at && bind_dtype_row(dtype)->kind != 'F' && !ctsc_tensor_is_lazy(t->v))
        return bind_element(dtype, at);
    ctsc_value *here = bind_readable(t);
    if (!here) return NULL;
    PyObject *o = bind_element((int)ctsc_tensor_dtype(here), ctsc_tensor_data(here));
    ctsc_value_free(here);
    return o;
}
static PyObject *method_item(PyObject *self, PyObject *unused) {
    (void)unused;
    return bind_trace_warns("Converting a tensor to a Python number") < 0 ? NULL
                                                                          : tensor_item(self, NULL);
}
static PyObject *method_tolist(PyObject *self, PyObject *unused) {
    (void)unused;
    return bind_trace_warns("Converting a tensor to a Python list") < 0
               ? NULL
               : bind_tolist((Tensor *)self);
}

static int tensor_bool(PyObject *self) {
    if (bind_trace_warns("Converting a tensor to a Python boolean") < 0) return -1;
    int64_t n = bind_numel(((Tensor *)self)->v);
    if (n != 1) {
        PyErr_SetString(bind.error,
                        n ? "Boolean value of Tensor with more than one value is ambiguous"
                          : "Boolean value of Tensor with no values is ambiguous");
        return -1;
    }
    PyObject *o = tensor_item(self, NULL);
    int yes = o ? PyObject_IsTrue(o) : -1;
    Py_XDECREF(o);
    return yes;
}

static PyObject *through(PyObject *self, const char *what, PyObject *(*make)(PyObject *)) {
    if (bind_trace_warns(what) < 0) return NULL;
    if (bind_numel(((Tensor *)self)->v) != 1)
        return PyErr_SetString(PyExc_ValueError,
                               "only one element tensors can be converted to Python scalars"),
               NULL;
    PyObject *o = tensor_item(self, NULL), *x = o ? make(o) : NULL;
    Py_XDECREF(o);
    return x;
}
static PyObject *tensor_int(PyObject *self) {
    return through(self, "Converting a tensor to a Python integer", PyNumber_Long);
}
static PyObject *tensor_float(PyObject *self) {
    return through(self, "Converting a tensor to a Python float", PyNumber_Float);
}
static PyObject *tensor_index(PyObject *self) {
    char kind = bind_dtype_row((int)ctsc_tensor_dtype(((Tensor *)self)->v))->kind;
    if (bind_numel(((Tensor *)self)->v) != 1 || !strchr("uib", kind))
        return PyErr_SetString(
                   PyExc_TypeError,
                   "only integer tensors of a single element can be converted to an index"),
               NULL;
    return through(self, "Converting a tensor to a Python index", PyNumber_Long);
}

/* ---- geometry -------------------------------------------------------------------------------- */

/* aten::size(self, dim), which a trace records. */
static PyObject *traced_size(PyObject *self, int64_t dim) {
    bool own;
    ctsc_value *args[2] = {((Tensor *)self)->v, bind_small_int(dim, &own)};
    PyObject *o = bind_call_object("aten::size", 2, args);
    if (own) ctsc_value_free(args[1]);
    return o;
}

static PyObject *get_shape(PyObject *self, void *unused) {
    (void)unused;
    ctsc_value *v = ((Tensor *)self)->v;
    if (!bind_tracing()) return bind_sizes(ctsc_tensor_sizes(v), ctsc_tensor_ndim(v));
    PyObject *t = PyTuple_New(ctsc_tensor_ndim(v));
    for (int i = 0; t && i < ctsc_tensor_ndim(v); i++) {
        PyObject *n = traced_size(self, i);
        if (!n || PyTuple_SetItem(t, i, n) < 0) Py_CLEAR(t);
    }
    PyObject *type = PyDict_GetItemString(bind.hooks, "Size"),
             *size = t && type ? PyObject_CallFunctionObjArgs(type, t, NULL) : NULL;
    Py_XDECREF(t);
    return size;
}

/* The dimension that an argument names; false with IndexError. */
static bool dimension(PyObject *o, int ndim, int64_t *dim) {
    *dim = PyLong_AsLongLong(o);
    if (*dim == -1 && PyErr_Occurred()) return false;
    int64_t n = ndim ? ndim : 1;
    if (*dim < -n || *dim >= n) {
        PyErr_Format(
            PyExc_IndexError,
            "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
            (long long)-n, (long long)n - 1, (long long)*dim);
        return false;
    }
    if (*dim < 0) *dim += n;
    return true;
}

static PyObject *one_argument(PyObject *args, PyObject *kw) {
    if (PyTuple_Size(args) > 0) return PyTuple_GetItem(args, 0);
    return kw ? PyDict_GetItemString(kw, "dim") : NULL;
}

/* What an operator says of the dim of that name. */
static PyObject *by_name(const char *key, ctsc_value *v, PyObject *name) {
    bind_arg a;
    if (!bind_to_value(name, false, &a)) return NULL;
    PyObject *o = bind_call_object(key, 2, (ctsc_value *[]){v, a.v});
    bind_free_args(1, &a);
    return o;
}

static PyObject *method_size(PyObject *self, PyObject *args, PyObject *kw) {
    PyObject *o = one_argument(args, kw);
    ctsc_value *v = ((Tensor *)self)->v;
    int64_t dim;
    if (!o || o == Py_None) return get_shape(self, NULL);
    if (PyUnicode_Check(o)) return by_name("aten::size.Dimname", v, o);
    if (!dimension(o, ctsc_tensor_ndim(v), &dim)) return NULL;
    if (!ctsc_tensor_ndim(v))
        return PyErr_SetString(PyExc_IndexError,
                               "dimension specified as 0 but tensor has no dimensions"),
               NULL;
    return bind_tracing() ? traced_size(self, dim) : PyLong_FromLongLong(ctsc_tensor_sizes(v)[dim]);
}

static PyObject *method_stride(PyObject *self, PyObject *args, PyObject *kw) {
    PyObject *o = one_argument(args, kw);
    ctsc_value *v = ((Tensor *)self)->v;
    int ndim = ctsc_tensor_ndim(v);
    int64_t dim;
    if (o && PyUnicode_Check(o)) return by_name("aten::stride.Dimname", v, o);
    if (o && o != Py_None) {
        if (!dimension(o, ndim, &dim)) return NULL;
        if (!ndim)
            return PyErr_SetString(PyExc_IndexError,
                                   "Dimension specified as 0 but tensor has no dimensions"),
                   NULL;
        return PyLong_FromLongLong(ctsc_tensor_strides(v)[dim]);
    }
    PyObject *t = PyTuple_New(ndim);
    for (int i = 0; t && i < ndim; i++)
        if (PyTuple_SetItem(t, i, PyLong_FromLongLong(ctsc_tensor_strides(v)[i])) < 0) Py_CLEAR(t);
    return t;
}

static PyObject *method_numel(PyObject *self, PyObject *unused) {
    (void)unused;
    ctsc_value *v = ((Tensor *)self)->v;
    return bind_tracing() ? bind_call_object("aten::numel", 1, &v)
                          : PyLong_FromLongLong(bind_numel(v));
}
static PyObject *method_dim(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromLong(ctsc_tensor_ndim(((Tensor *)self)->v));
}
static PyObject *method_data_ptr(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromVoidPtr(ctsc_tensor_data(((Tensor *)self)->v));
}
static PyObject *method_element_size(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromLong(bind_dtype_row((int)ctsc_tensor_dtype(((Tensor *)self)->v))->size);
}

static PyObject *get_storage_bytes(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromSize_t(ctsc_tensor_storage_bytes(((Tensor *)self)->v));
}
static PyObject *get_dtype(PyObject *self, void *unused) {
    (void)unused;
    return bind_ref(bind_dtype_object((int)ctsc_tensor_dtype(((Tensor *)self)->v)));
}
static PyObject *get_ndim(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(ctsc_tensor_ndim(((Tensor *)self)->v));
}
static PyObject *get_device_index(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(ctsc_tensor_device(((Tensor *)self)->v));
}
static PyObject *get_writable(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(ctsc_tensor_is_writable(((Tensor *)self)->v));
}
/* The Module whose parameter the tensor is, or None. */
static PyObject *get_program(PyObject *self, void *unused) {
    (void)unused;
    PyObject *m = ((Tensor *)self)->program;
    return bind_ref(m ? m : Py_None);
}
static PyObject *get_operator(PyObject *self, void *key) {
    ctsc_value *v = ((Tensor *)self)->v;
    if (bind_intercepts(1, &self)) return bind_intercepted(key, self, NULL);
    PyObject *o = bind_call_object(key, 1, &v);
    if (!o || !ctsc_value_is(((Tensor *)o)->v, v)) return o;
    Py_DECREF(o); /* x.real of real numbers is x */
    return bind_ref(self);
}
/* A handle of its own on the elements, which a trace knows as a detached tensor, and others do not
 * count writes to. */
static PyObject *get_data(PyObject *self, void *unused) {
    (void)unused;
    return get_operator(self, bind_tracing() ? "aten::detach" : "aten::data");
}
/* Refers to the elements of another tensor from now on: t.data = other. */
static int set_data(PyObject *self, PyObject *o, void *unused) {
    (void)unused;
    if (!o || !TensorCheck(o)) return PyErr_SetString(PyExc_TypeError, "data must be a Tensor"), -1;
    ctsc_value *args[2] = {((Tensor *)self)->v, ((Tensor *)o)->v};
    PyObject *done = bind_call_object("aten::set_data", 2, args);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* ---- Python's operators ---------------------------------------------------------------------- */

static bool operand(PyObject *o) {
    return TensorCheck(o) || PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o) ||
           bind_is_number(o);
}

/* A tensor or a number. A bool, which operators do not take for a number, is a 0-dim tensor beside
 * tensors of bools, and 0 or 1 beside others. */
static bool operand_value(PyObject *o, PyObject *beside, bind_arg *out) {
    if (!PyBool_Check(o)) return bind_to_value(o, false, out);
    if (TensorCheck(beside) && ctsc_tensor_dtype(((Tensor *)beside)->v) != CTSC_BOOL)
        return out->v = bind_small_int(o == Py_True, &out->own), true;
    return bind_truth(o, out);
}

static PyObject *binary(const char *key, PyObject *a, PyObject *b) {
    bind_arg args[2];
    if (!operand(a) || !operand(b)) return bind_ref(Py_NotImplemented);
    PyObject *const both[2] = {a, b};
    if (bind_intercepts(2, both)) return bind_intercepted(key, a, b);
    if (!operand_value(a, b, &args[0])) return NULL;
    if (!operand_value(b, a, &args[1])) return bind_free_args(1, args), NULL;
    ctsc_value *handles[2] = {args[0].v, args[1].v};
    PyObject *o = bind_call_object(key, 2, handles);
    bind_free_args(2, args);
    return o;
}
/* What is the same from both sides, and what has an operator for a number on the left. */
#define COMMUTES(name, key)                                                                        \
    static PyObject *tensor_##name(PyObject *a, PyObject *b) {                                     \
        return TensorCheck(a) ? binary(key, a, b) : binary(key, b, a);                             \
    }
#define ORDERED(name, key, reversed)                                                               \
    static PyObject *tensor_##name(PyObject *a, PyObject *b) {                                     \
        return TensorCheck(a) ? binary(key, a, b) : reversed;                                      \
    }
#define INPLACE(name, key)                                                                         \
    static PyObject *tensor_##name(PyObject *a, PyObject *b) {                                     \
        PyObject *o = binary(key, a, b);                                                           \
        if (!o || o == Py_NotImplemented) return o;                                                \
        Py_DECREF(o);                                                                              \
        return bind_ref(a);                                                                        \
    }
/* A number on the left as a 0-dim tensor, which takes part in no promotion beyond its kind. */
static PyObject *wrapped(const char *key, PyObject *a, PyObject *b) {
    if (!operand(a)) return bind_ref(Py_NotImplemented);
    PyObject *t = bind_tensor_of(a, -1), *o = t ? binary(key, t, b) : NULL;
    Py_XDECREF(t);
    return o;
}
static PyObject *divided(PyObject *a, PyObject *b) {
    if (!operand(a)) return bind_ref(Py_NotImplemented);
    PyObject *r = get_operator(b, "aten::reciprocal"), *o = r ? binary("aten::mul", r, a) : NULL;
    Py_XDECREF(r);
    return o;
}
COMMUTES(add, "aten::add")
ORDERED(sub, "aten::sub", binary("aten::rsub", b, a))
COMMUTES(mul, "aten::mul")
ORDERED(div, "aten::div", divided(a, b))
ORDERED(floordiv, "aten::floor_divide", wrapped("aten::floor_divide", a, b))
ORDERED(mod, "aten::remainder", binary("aten::remainder", a, b))
static PyObject *tensor_matmul(PyObject *a, PyObject *b) {
    return TensorCheck(a) && TensorCheck(b) ? binary("aten::matmul", a, b)
                                            : bind_ref(Py_NotImplemented);
}
COMMUTES(and, "aten::bitwise_and")
COMMUTES(or, "aten::bitwise_or")
COMMUTES(xor, "aten::bitwise_xor")
ORDERED(lshift, "aten::__lshift__", wrapped("aten::__lshift__", a, b))
ORDERED(rshift, "aten::__rshift__", wrapped("aten::__rshift__", a, b))
static PyObject *tensor_pow(PyObject *a, PyObject *b, PyObject *mod) {
    return mod == Py_None ? binary("aten::pow", a, b) : bind_ref(Py_NotImplemented);
}
INPLACE(iadd, "aten::add_")
INPLACE(isub, "aten::sub_")
INPLACE(imul, "aten::mul_")
INPLACE(idiv, "aten::div_")
INPLACE(ifloordiv, "aten::floor_divide_")
INPLACE(imod, "aten::remainder_")
INPLACE(iand, "aten::bitwise_and_")
INPLACE(ior, "aten::bitwise_or_")
INPLACE(ixor, "aten::bitwise_xor_")
INPLACE(ilshift, "aten::__ilshift__")
INPLACE(irshift, "aten::__irshift__")
static PyObject *tensor_ipow(PyObject *a, PyObject *b, PyObject *mod) {
    (void)mod;
    PyObject *o = binary("aten::pow_", a, b);
    if (!o || o == Py_NotImplemented) return o;
    Py_DECREF(o);
    return bind_ref(a);
}
static PyObject *tensor_neg(PyObject *self) { return get_operator(self, "aten::neg"); }
static PyObject *tensor_pos(PyObject *self) { return bind_ref(self); }
static PyObject *tensor_abs(PyObject *self) { return get_operator(self, "aten::abs"); }
static PyObject *tensor_invert(PyObject *self) { return get_operator(self, "aten::bitwise_not"); }

static PyObject *tensor_compare(PyObject *a, PyObject *b, int op) {
    static const char *const keys[] = {
        [Py_LT] = "aten::lt", [Py_LE] = "aten::le", [Py_EQ] = "aten::eq",
        [Py_NE] = "aten::ne", [Py_GT] = "aten::gt", [Py_GE] = "aten::ge"};
    return binary(keys[op], a, b);
}
static Py_hash_t tensor_hash(PyObject *self) { return (Py_hash_t)((uintptr_t)self >> 4); }

static Py_ssize_t tensor_len(PyObject *self) {
    ctsc_value *v = ((Tensor *)self)->v;
    if (!ctsc_tensor_ndim(v)) {
        PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
        return -1;
    }
    if (bind_trace_warns("Using len to get tensor shape") < 0) return -1;
    return (Py_ssize_t)ctsc_tensor_sizes(v)[0];
}

static PyObject *tensor_iter(PyObject *self) {
    ctsc_value *v = ((Tensor *)self)->v;
    if (!ctsc_tensor_ndim(v))
        return PyErr_SetString(PyExc_TypeError, "iteration over a 0-d tensor"), NULL;
    if (bind_trace_warns("Iterating over a tensor") < 0) return NULL;
    PyObject *parts = bind_call_object("aten::unbind", 1, &v),
             *i = parts ? PyObject_GetIter(parts) : NULL;
    Py_XDECREF(parts);
    return i;
}

static PyObject *tensor_repr(PyObject *self) {
    PyObject *f = PyDict_GetItemString(bind.hooks, "tensor_repr");
    return f ? PyObject_CallFunctionObjArgs(f, self, NULL) : PyUnicode_FromString("<Tensor>");
}

static PyObject *method_dlpack(PyObject *self, PyObject *args) {
    int versioned = 0;
    if (!PyArg_ParseTuple(args, "|p", &versioned)) return NULL;
    return bind_dlpack((Tensor *)self, versioned);
}
static PyObject *get_array_interface(PyObject *self, void *unused) {
    (void)unused;
    return bind_array_interface((Tensor *)self);
}

/* () -> ("N", None): one per dim */
static PyObject *method_names(PyObject *self, PyObject *unused) {
    ctsc_value *v = ((Tensor *)self)->v;
    int n = ctsc_tensor_ndim(v);
    PyObject *names = PyTuple_New(n);
    (void)unused;
    for (int i = 0; names && i < n; i++) {
        const char *name = ctsc_tensor_dim_name(v, i);
        PyObject *o = name ? PyUnicode_FromString(name) : bind_ref(Py_None);
        if (!o) Py_CLEAR(names);
        else PyTuple_SetItem(names, i, o);
    }
    return names;
}

#define KEYWORDS (METH_VARARGS | METH_KEYWORDS)
static PyMethodDef tensor_methods[] = {
    {"_names", method_names, METH_NOARGS, NULL},
    {"item", method_item, METH_NOARGS, "item($self)\n--\n\nThe one element as Python's number."},
    {"tolist", method_tolist, METH_NOARGS,
     "tolist($self)\n--\n\nThe elements as Python's numbers, in lists."},
    {"size", (PyCFunction)(void (*)(void))method_size, KEYWORDS,
     "size($self, dim=None)\n--\n\nThe sizes, or that of a dimension."},
    {"stride", (PyCFunction)(void (*)(void))method_stride, KEYWORDS,
     "stride($self, dim=None)\n--\n\nThe strides, or that of a dimension, in elements."},
    {"numel", method_numel, METH_NOARGS, "numel($self)\n--\n\nHow many elements there are."},
    {"nelement", method_numel, METH_NOARGS, "nelement($self)\n--\n\nAnother name of numel."},
    {"dim", method_dim, METH_NOARGS, "dim($self)\n--\n\nHow many dimensions there are."},
    {"ndimension", method_dim, METH_NOARGS, "ndimension($self)\n--\n\nAnother name of dim."},
    {"data_ptr", method_data_ptr, METH_NOARGS,
     "data_ptr($self)\n--\n\nThe address of the first element."},
    {"element_size", method_element_size, METH_NOARGS,
     "element_size($self)\n--\n\nHow many bytes an element has."},
    {"_dlpack", method_dlpack, METH_VARARGS, NULL},
    {0},
};
static PyGetSetDef tensor_properties[] = {
    {"shape", get_shape, NULL, "The sizes: a ctsc.Size.", NULL},
    {"dtype", get_dtype, NULL, "The dtype of the elements.", NULL},
    {"ndim", get_ndim, NULL, "How many dimensions there are.", NULL},
    {"_device_index", get_device_index, NULL, NULL, NULL},
    {"_storage_bytes", get_storage_bytes, NULL, NULL, NULL},
    {"_writable", get_writable, NULL, NULL, NULL},
    {"requires_grad", bind_get_requires_grad, bind_set_requires_grad,
     "Whether operators are recorded for its gradient.", NULL},
    {"grad", bind_get_grad, bind_set_grad,
     "The gradient that backward passes have added up, or None.", NULL},
    {"is_leaf", bind_get_is_leaf, NULL, "Whether it was not computed by recorded operators.", NULL},
    {"_grad_fn", bind_get_grad_fn, NULL, NULL, NULL},
    {"_program", get_program, NULL, NULL, NULL},
    {"data", get_data, set_data, "The elements, without the gradient's graph.", NULL},
    {"T", get_operator, NULL, "The dimensions in reverse, as a view.", "aten::numpy_T"},
    {"mT", get_operator, NULL, "The last two dimensions exchanged, as a view.", "aten::mT"},
    {"H", get_operator, NULL, "The conjugate transpose of a matrix.", "aten::matrix_H"},
    {"mH", get_operator, NULL, "The conjugate, with the last two dimensions exchanged.",
     "aten::mH"},
    {"real", get_operator, NULL, "The real parts, as a view; real tensors themselves.",
     "aten::real"},
    {"imag", get_operator, NULL, "The imaginary parts, as a view.", "aten::imag"},
    {"__array_interface__", get_array_interface, NULL, NULL, NULL},
    {"__dict__", get_dict, set_dict, NULL, NULL},
    {0},
};
static PyMemberDef tensor_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Tensor, weak), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(Tensor, dict), READONLY, NULL},
    {0},
};
static PyType_Slot tensor_slots[] = {
    {Py_tp_doc, "Tensor(*args, **kwargs)\n--\n\nNumbers of one dtype in any number of dimensions, "
                "on a device."},
    {Py_tp_dealloc, tensor_dealloc},
    {Py_tp_traverse, tensor_traverse},
    {Py_tp_clear, tensor_clear},
    {Py_tp_setattro, tensor_setattro},
    {Py_tp_new, tensor_new},
    {Py_tp_repr, tensor_repr},
    {Py_tp_hash, tensor_hash},
    {Py_tp_richcompare, tensor_compare},
    {Py_tp_iter, tensor_iter},
    {Py_tp_methods, tensor_methods},
    {Py_tp_getset, tensor_properties},
    {Py_tp_members, tensor_members},
    {Py_mp_length, tensor_len},
    {Py_mp_subscript, bind_getitem},
    {Py_mp_ass_subscript, bind_setitem},
    {Py_nb_add, tensor_add},
    {Py_nb_subtract, tensor_sub},
    {Py_nb_multiply, tensor_mul},
    {Py_nb_true_divide, tensor_div},
    {Py_nb_floor_divide, tensor_floordiv},
    {Py_nb_remainder, tensor_mod},
    {Py_nb_power, tensor_pow},
    {Py_nb_matrix_multiply, tensor_matmul},
    {Py_nb_and, tensor_and},
    {Py_nb_or, tensor_or},
    {Py_nb_xor, tensor_xor},
    {Py_nb_lshift, tensor_lshift},
    {Py_nb_rshift, tensor_rshift},
    {Py_nb_inplace_add, tensor_iadd},
    {Py_nb_inplace_subtract, tensor_isub},
    {Py_nb_inplace_multiply, tensor_imul},
    {Py_nb_inplace_true_divide, tensor_idiv},
    {Py_nb_inplace_floor_divide, tensor_ifloordiv},
    {Py_nb_inplace_remainder, tensor_imod},
    {Py_nb_inplace_and, tensor_iand},
    {Py_nb_inplace_or, tensor_ior},
    {Py_nb_inplace_xor, tensor_ixor},
    {Py_nb_inplace_lshift, tensor_ilshift},
    {Py_nb_inplace_rshift, tensor_irshift},
    {Py_nb_inplace_power, tensor_ipow},
    {Py_nb_negative, tensor_neg},
    {Py_nb_positive, tensor_pos},
    {Py_nb_absolute, tensor_abs},
    {Py_nb_invert, tensor_invert},
    {Py_nb_bool, tensor_bool},
    {Py_nb_int, tensor_int},
    {Py_nb_float, tensor_float},
    {Py_nb_index, tensor_index},
    {Py_bf_getbuffer, NULL},
    {Py_bf_releasebuffer, NULL}, /* bind_share.c's */
    {0, NULL},
};
static PyType_Spec tensor_spec = {"ctsc.Tensor", sizeof(Tensor), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                                  tensor_slots};

int bind_init_tensor(PyObject *m) {
    for (PyType_Slot *s = tensor_slots; s->slot; s++)
        if (s->slot == Py_bf_getbuffer || s->slot == Py_bf_releasebuffer)
            *s = bind_buffer_slots[s->slot - Py_bf_getbuffer];
    bind.tensor = (PyTypeObject *)PyType_FromSpec(&tensor_spec);
    return bind.tensor ? PyObject_SetAttrString(m, "Tensor", (PyObject *)bind.tensor) : -1;
}
