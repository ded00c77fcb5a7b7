/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_generator.c - sources of random numbers: a Generator is a scope, whose numbers go on from
 * call to call. The process's own is a Generator without one (bind_random_take).
 */
#include "bind.h"

#include <pthread.h>

typedef struct Generator {
    PyObject_HEAD ctsc_scope *s; /* NULL: the process's */
    uint64_t seed;
    PyObject *device; /* as it was given: operators on any device draw from it; may be NULL */
} Generator;

static PyTypeObject *generator_type;

/* ---- the process's own ----------------------------------------------------------------------- */

static ctsc_scope *random_scope;
static bool random_busy;

ctsc_scope *bind_random_take(void) {
    if (random_busy) return NULL;
    if (!random_scope && !(random_scope = ctsc_scope_new())) return PyErr_NoMemory(), NULL;
    ctsc_scope_set_gradients(random_scope, bind_grad_enabled());
    random_busy = true;
    return random_scope;
}
void bind_random_give(void) { random_busy = false; }

/* A child of fork has locks and scopes as they were; a random call that another thread was in is
 * none of its own. */
static void after_fork(void) { random_busy = false; }

/* ---- the type -------------------------------------------------------------------------------- */

static PyObject *generator_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    static char *names[] = {"device", NULL};
    PyObject *device = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|O", names, &device)) return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Generator *g = (Generator *)alloc(type, 0);
    if (!g) return NULL;
    g->seed = 67280421310721; /* of generators that nobody has seeded */
    g->device = device ? bind_ref(device) : NULL;
    if ((g->s = ctsc_scope_new())) return (PyObject *)g;
    Py_DECREF(g);
    return PyErr_NoMemory();
}

static void generator_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    ctsc_scope_free(((Generator *)self)->s);
    Py_XDECREF(((Generator *)self)->device);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

bool bind_generator_scope(PyObject *o, ctsc_scope **out) {
    if (Py_TYPE(o) != generator_type)
        return PyErr_Format(PyExc_TypeError, "generator must be a ctsc.Generator, not %S",
                            (PyObject *)Py_TYPE(o)),
               false;
    *out = ((Generator *)o)->s;
    return true;
}

/* Its scope, for the calls below; generator_end afterwards. NULL with an exception. */
static ctsc_scope *generator_begin(Generator *g) {
    ctsc_scope *s = g->s ? g->s : bind_random_take();
    if (!s && !PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "the random numbers are in use by a running call");
    return s;
}
static void generator_end(const Generator *g) {
    if (!g->s) bind_random_give();
}

static PyObject *manual_seed(PyObject *self, PyObject *o) {
    Generator *g = (Generator *)self;
    PyObject *whole = PyNumber_Index(o);
    if (!whole) return NULL;
    unsigned long long seed = PyLong_AsUnsignedLongLong(whole);
    if (seed == (unsigned long long)-1 && PyErr_Occurred()) { /* negative ones count from above */
        PyErr_Clear();
        seed = (unsigned long long)PyLong_AsLongLong(whole);
        if (seed == (unsigned long long)-1 && PyErr_Occurred()) {
            Py_DECREF(whole);
            PyErr_Clear();
            return PyErr_Format(PyExc_RuntimeError, "Overflow when unpacking long");
        }
    }
    Py_DECREF(whole);
    ctsc_scope *s = generator_begin(g);
    if (!s) return NULL;
    ctsc_scope_seed(s, g->seed = seed);
    generator_end(g);
    return bind_ref(self);
}

static PyObject *initial_seed(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(((Generator *)self)->seed);
}

/* torch.get_rng_state's tensor of bytes. */
static PyObject *get_state(PyObject *self, PyObject *unused) {
    (void)unused;
    Generator *g = (Generator *)self;
    ctsc_value *v = NULL;
    ctsc_error *e = bind_error();
    ctsc_scope *s = e ? generator_begin(g) : NULL;
    if (!s) return NULL;
    ctsc_status st = ctsc_scope_random_state(s, &v, e);
    generator_end(g);
    return st == CTSC_OK ? bind_tensor_take(v) : bind_raise(e, "get_state");
}

static PyObject *set_state(PyObject *self, PyObject *state) {
    Generator *g = (Generator *)self;
    ctsc_error *e = bind_error();
    if (!TensorCheck(state))
        return PyErr_SetString(PyExc_TypeError, "expected a tensor of bytes"), NULL;
    ctsc_scope *s = e ? generator_begin(g) : NULL;
    if (!s) return NULL;
    ctsc_status st = ctsc_scope_set_random_state(s, ((Tensor *)state)->v, e);
    generator_end(g);
    return st == CTSC_OK ? bind_ref(self) : bind_raise(e, "set_state");
}

static PyObject *get_device(PyObject *self, void *unused) {
    (void)unused;
    PyObject *device = ((Generator *)self)->device;
    return bind_ref(device ? device : Py_None);
}

static PyGetSetDef properties[] = {{"_device", get_device, NULL, NULL, NULL}, {0}};
static PyMethodDef methods[] = {
    {"manual_seed", manual_seed, METH_O,
     "manual_seed($self, seed, /)\n--\n\nSeeds it as torch.manual_seed does; returns it."},
    {"initial_seed", initial_seed, METH_NOARGS,
     "initial_seed($self)\n--\n\nWhat it was seeded with."},
    {"get_state", get_state, METH_NOARGS,
     "get_state($self)\n--\n\nIts state as a tensor of bytes."},
    {"set_state", set_state, METH_O,
     "set_state($self, state, /)\n--\n\nTakes what get_state gave; returns it."},
    {0},
};
static PyType_Slot slots[] = {
    {Py_tp_new, generator_new},
    {Py_tp_dealloc, generator_dealloc},
    {Py_tp_doc, "Generator(device='cpu')\n--\n\nA source of random numbers: PyTorch's on the CPU."},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};
static PyType_Spec spec = {"ctsc.Generator", sizeof(Generator), 0, Py_TPFLAGS_DEFAULT, slots};

int bind_init_generator(PyObject *m) {
    pthread_atfork(NULL, NULL, after_fork);
    generator_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!generator_type || PyObject_SetAttrString(m, "Generator", (PyObject *)generator_type) < 0)
        return -1;
    Generator *standard = (Generator *)PyType_GenericAlloc(generator_type, 0);
    if (!standard) return -1;
    standard->seed = 67280421310721;
    int st = PyObject_SetAttrString(m, "default_generator", (PyObject *)standard);
    Py_DECREF(standard);
    return st;
}
