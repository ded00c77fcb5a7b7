/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_hook.c - Python's functions in backward passes: gradients of autograd.Function, hooks on
 * gradients and on what is saved; and the graph that passes walk.
 *
 * Passes run without the interpreter's lock, which is taken again for each function. What a
 * function raises ends the pass, and is raised again by it. Graphs are freed wherever their last
 * tensor goes; after the interpreter's end what they hold is left alone.
 */
#include "bind.h"

static void release(void *ctx) {
    if (!Py_IsInitialized()) return;
    PyGILState_STATE s = PyGILState_Ensure();
    Py_DECREF((PyObject *)ctx);
    PyGILState_Release(s);
}

/* Calls a function of a pass: gradients are recorded in it under create_graph only. */
static PyObject *call_in_pass(PyObject *fn, PyObject *args_take, bool create_graph) {
    if (!args_take) return NULL;
    bool before = bind_grad_set(create_graph);
    PyObject *o = PyObject_CallObject(fn, args_take);
    bind_grad_set(before);
    Py_DECREF(args_take);
    return o;
}

static bool take_tensor(PyObject *o, const char *what, ctsc_value **out) {
    if (o == Py_None) return *out = NULL, true;
    if (TensorCheck(o)) return (*out = ctsc_value_copy(((Tensor *)o)->v)) != NULL;
    PyErr_Format(PyExc_TypeError, "%s: expected Tensor or None, got %S", what,
                 (PyObject *)Py_TYPE(o));
    return false;
}

static PyObject *tensors(size_t n, ctsc_value *const *values) {
    PyObject *t = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; t && i < n; i++) {
        PyObject *o = !values[i] ? bind_ref(Py_None) : bind_tensor_take(ctsc_value_copy(values[i]));
        if (!o || PyTuple_SetItem(t, (Py_ssize_t)i, o) < 0) Py_CLEAR(t);
    }
    return t;
}

/* ---- functions ------------------------------------------------------------------------------- */

static ctsc_status run_function(void *ctx, const ctsc_gradient_call *call, ctsc_value **out,
                                ctsc_error *e) {
    PyGILState_STATE s = PyGILState_Ensure();
    PyObject *grads = tensors(call->ngrads, call->grads),
             *saved = grads ? tensors(call->nsaved, call->saved) : NULL,
             *args = saved ? PyTuple_Pack(2, grads, saved) : NULL,
             *o = call_in_pass(ctx, args, call->create_graph);
    bool ok = o != NULL;
    if (ok && (!PyTuple_Check(o) || (size_t)PyTuple_Size(o) != call->ninputs)) {
        PyErr_SetString(PyExc_TypeError, "a gradient must be returned for each input");
        ok = false;
    }
    for (size_t i = 0; ok && i < call->ninputs; i++)
        ok = take_tensor(PyTuple_GetItem(o, (Py_ssize_t)i), "a gradient", &out[i]);
    if (!ok) bind_stash_exception(e, "a gradient in Python failed");
    Py_XDECREF(o);
    Py_XDECREF(saved);
    Py_XDECREF(grads);
    PyGILState_Release(s);
    return ok ? CTSC_OK : CTSC_FAILED;
}

/* _record(name, function, inputs, outputs, saved, differentiable, flags): function(gradients,
 * saved) -> gradients of the inputs. */
static PyObject *record(PyObject *self, PyObject *args) {
    const char *name;
    PyObject *fn, *inputs, *outputs, *saved, *differentiable, *result = NULL;
    unsigned flags;
    (void)self;
    ctsc_error *e = bind_error();
    if (!e ||
        !PyArg_ParseTuple(args, "sOO!O!O!O!I", &name, &fn, &PyTuple_Type, &inputs, &PyTuple_Type,
                          &outputs, &PyTuple_Type, &saved, &PyTuple_Type, &differentiable, &flags))
        return NULL;
    size_t n = (size_t)PyTuple_Size(outputs);
    if ((size_t)PyTuple_Size(differentiable) != n)
        return PyErr_SetString(PyExc_ValueError, "differentiable: one for each output"), NULL;
    ctsc_value **ins = bind_handles(inputs, false, "inputs"),
               **outs = ins ? bind_handles(outputs, false, "outputs") : NULL,
               **kept = outs ? bind_handles(saved, false, "saved tensors") : NULL;
    bool *gets = kept ? PyMem_Malloc(n + 1) : NULL;
    if (kept && !gets) PyErr_NoMemory();
    for (size_t i = 0; gets && i < n; i++)
        gets[i] = PyObject_IsTrue(PyTuple_GetItem(differentiable, (Py_ssize_t)i)) == 1;
    if (gets && !PyErr_Occurred()) {
        ctsc_gradient g = {.size = sizeof g,
                           .name = name,
                           .fn = run_function,
                           .ctx = bind_ref(fn),
                           .free = release,
                           .flags = flags,
                           .noutputs = n,
                           .nsaved = (size_t)PyTuple_Size(saved),
                           .outputs = outs,
                           .differentiable = gets,
                           .saved = kept};
        ctsc_status st = ctsc_record(&g, (size_t)PyTuple_Size(inputs), ins, e);
        result = st == CTSC_OK ? bind_ref(Py_None) : bind_raise(e, name);
    }
    PyMem_Free(ins);
    PyMem_Free(outs);
    PyMem_Free(kept);
    PyMem_Free(gets);
    return result;
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static ctsc_status run_hook(void *ctx, const ctsc_value *grad, unsigned flags, ctsc_value **out,
                            ctsc_error *e) {
    PyGILState_STATE s = PyGILState_Ensure();
    PyObject *t = bind_tensor_take(ctsc_value_copy(grad)), *args = t ? PyTuple_Pack(1, t) : NULL,
             *o = call_in_pass(ctx, args, (flags & CTSC_CREATE_GRAPH) != 0);
    bool ok = o && take_tensor(o, "a hook", out);
    if (!ok) bind_stash_exception(e, "a hook in Python failed");
    Py_XDECREF(o);
    Py_XDECREF(t);
    PyGILState_Release(s);
    return ok ? CTSC_OK : CTSC_FAILED;
}

static void forget_hook(PyObject *capsule) {
    ctsc_hook_free(PyCapsule_GetPointer(capsule, "ctsc_hook"));
}

/* _add_hook(tensor, function, flags) -> what _remove_hook takes */
static PyObject *add_hook(PyObject *self, PyObject *args) {
    PyObject *t, *fn;
    unsigned flags;
    ctsc_hook *h = NULL;
    (void)self;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "O!OI", bind.tensor, &t, &fn, &flags)) return NULL;
    if (ctsc_value_add_hook(((Tensor *)t)->v, flags, run_hook, bind_ref(fn), release, &h, e) !=
        CTSC_OK)
        return bind_raise(e, "register_hook");
    PyObject *c = PyCapsule_New(h, "ctsc_hook", forget_hook);
    if (!c) {
        ctsc_hook_remove(h);
        ctsc_hook_free(h);
    }
    return c;
}

static PyObject *remove_hook(PyObject *self, PyObject *capsule) {
    (void)self;
    ctsc_hook *h = PyCapsule_GetPointer(capsule, "ctsc_hook");
    if (!h) return NULL;
    ctsc_hook_remove(h);
    return bind_ref(Py_None);
}

/* ---- hooks of saved tensors: ctx is (pack, unpack) ------------------------------------------- */

static ctsc_status pack(void *ctx, const ctsc_value *v, void **packed, ctsc_error *e) {
    PyGILState_STATE s = PyGILState_Ensure();
    PyObject *t = bind_tensor_take(ctsc_value_copy(v)), *args = t ? PyTuple_Pack(1, t) : NULL,
             *o = call_in_pass(PyTuple_GetItem(ctx, 0), args, false);
    if (o) *packed = o;
    else bind_stash_exception(e, "a hook in Python failed");
    Py_XDECREF(t);
    PyGILState_Release(s);
    return o ? CTSC_OK : CTSC_FAILED;
}

static ctsc_status unpack(void *ctx, void *packed, ctsc_value **out, ctsc_error *e) {
    PyGILState_STATE s = PyGILState_Ensure();
    PyObject *o = call_in_pass(PyTuple_GetItem(ctx, 1), PyTuple_Pack(1, packed), false);
    bool ok = o && TensorCheck(o) && (*out = ctsc_value_copy(((Tensor *)o)->v));
    if (o && !TensorCheck(o))
        PyErr_Format(PyExc_TypeError,
                     "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                     "type %S",
                     (PyObject *)Py_TYPE(o));
    else if (o && !ok) PyErr_NoMemory();
    if (!ok) bind_stash_exception(e, "a hook in Python failed");
    Py_XDECREF(o);
    PyGILState_Release(s);
    return ok ? CTSC_OK : CTSC_FAILED;
}

static void drop(void *ctx, void *packed) {
    (void)ctx;
    release(packed);
}

/* _push_saved_hooks(pack, unpack): of this thread */
static PyObject *push_saved_hooks(PyObject *self, PyObject *args) {
    PyObject *pack_hook, *unpack_hook;
    (void)self;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "OO", &pack_hook, &unpack_hook)) return NULL;
    ctsc_saved_hooks h = {.size = sizeof h,
                          .ctx = bind_ref(args),
                          .pack = pack,
                          .unpack = unpack,
                          .drop = drop,
                          .free = release};
    if (ctsc_saved_hooks_push(&h, e) != CTSC_OK) return bind_raise(e, "saved_tensors_hooks");
    return bind_ref(Py_None);
}

static PyObject *pop_saved_hooks(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    ctsc_saved_hooks_pop();
    return bind_ref(Py_None);
}

/* ---- the graph: nodes are capsules ----------------------------------------------------------- */

static void forget_node(PyObject *capsule) {
    ctsc_grad_node_free(PyCapsule_GetPointer(capsule, "ctsc_grad_node"));
}

/* (capsule, identity of the node, name, number of edges), or None */
static PyObject *node_take(ctsc_grad_node *n) {
    if (!n) return bind_ref(Py_None);
    char *name = ctsc_grad_node_name(n);
    PyObject *c = PyCapsule_New(n, "ctsc_grad_node", forget_node);
    if (!c) ctsc_grad_node_free(n);
    PyObject *o = c ? Py_BuildValue("NNsn", c, PyLong_FromVoidPtr((void *)ctsc_grad_node_id(n)),
                                    name ? name : "", (Py_ssize_t)ctsc_grad_node_edges(n))
                    : NULL;
    ctsc_string_free(name);
    return o;
}

/* _node_next(capsule, i) -> (node as above, output) */
static PyObject *node_next(PyObject *self, PyObject *args) {
    PyObject *capsule;
    Py_ssize_t i;
    size_t output = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "On", &capsule, &i)) return NULL;
    ctsc_grad_node *n = PyCapsule_GetPointer(capsule, "ctsc_grad_node");
    PyObject *next = n ? node_take(ctsc_grad_node_next(n, (size_t)i, &output)) : NULL;
    return next ? Py_BuildValue("Nn", next, (Py_ssize_t)output) : NULL;
}

static PyObject *node_leaf(PyObject *self, PyObject *capsule) {
    (void)self;
    ctsc_grad_node *n = PyCapsule_GetPointer(capsule, "ctsc_grad_node");
    if (!n) return NULL;
    ctsc_value *v = ctsc_grad_node_leaf(n);
    return v ? bind_tensor_take(v) : bind_ref(Py_None);
}

PyObject *bind_get_grad_fn(PyObject *self, void *unused) {
    (void)unused;
    return node_take(ctsc_grad_node_of(((Tensor *)self)->v));
}

PyMethodDef bind_hook_methods[] = {
    {"_record", record, METH_VARARGS, NULL},
    {"_add_hook", add_hook, METH_VARARGS, NULL},
    {"_remove_hook", remove_hook, METH_O, NULL},
    {"_push_saved_hooks", push_saved_hooks, METH_VARARGS, NULL},
    {"_pop_saved_hooks", pop_saved_hooks, METH_NOARGS, NULL},
    {"_node_next", node_next, METH_VARARGS, NULL},
    {"_node_leaf", node_leaf, METH_O, NULL},
    {0},
};
