/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_tensor.c - tensors, devices and dtypes as Python objects: attributes, methods, operators.
 *
 * Method. A method that is an operator (t.relu) is that operator bound to the tensor; tables hold
 * the rest: attributes, and the methods whose Python meaning differs from the operator's. Python's
 * operators are a table too, with a column for the case of a number on the left.
 * Tests: tests/unit/test_py_torch.c
 */
#include "frontend/pyeval/torch/py_torch.h"
#include "frontend/pyeval/torch/py_trace.h"
#include "tensor/dim_names.h"

py_object *py_tensor_take(py *p, tensor *t) { return py_value_take(p, value_tensor_take(t)); }

/* ---- dtypes and their like ------------------------------------------------------------------- */

static const char *const symbol_layouts[] = {"torch.strided", "torch.sparse_coo",
                                             "torch.sparse_csr", "torch._mkldnn"};
static const char *const symbol_formats[] = {"torch.contiguous_format", "torch.preserve_format",
                                             "torch.channels_last", "torch.channels_last_3d"};
static const char *const symbol_schemes[] = {"torch.per_tensor_affine", "torch.per_channel_affine",
                                             "torch.per_tensor_symmetric",
                                             "torch.per_channel_symmetric"};
static const char *const symbol_dtypes[DT_COUNT] = {
#define DTYPE(e, id, kind, ctype, ir, torch, ...) [id] = "torch." torch,
#include "tensor/dtypes.def"
#undef DTYPE
};

py_object *py_symbol_object(py *p, source_range r, py_symbol kind, int64_t v) {
    static const struct {
        const char *const *names;
        int n;
    } sets[] = {
        [PY_DTYPE] = {symbol_dtypes, DT_COUNT},
        [PY_LAYOUT] = {symbol_layouts, 4},
        [PY_MEMORY_FORMAT] = {symbol_formats, 4},
        [PY_QSCHEME] = {symbol_schemes, 4},
    };
    if (v < 0 || v >= sets[kind].n || !sets[kind].names[v])
        return py_fail(p, r, "RuntimeError", "there is no such dtype or layout: %lld",
                       (long long)v);
    py_object *o = py_new(p, PY_SYMBOL);
    o->u.v = value_int(v);
    o->u.symbol = kind;
    o->u.name = sets[kind].names[v];
    return o;
}

const py_object *py_torch_class(py *p, const py_object *o) {
    static const char *const symbol_classes[] = {[PY_DTYPE] = "dtype",
                                                 [PY_LAYOUT] = "layout",
                                                 [PY_MEMORY_FORMAT] = "memory_format",
                                                 [PY_QSCHEME] = "qscheme"};
    const char *name = o->kind == PY_SYMBOL     ? symbol_classes[o->u.symbol]
                       : o->u.v.tag == V_DEVICE ? "device"
                       : o->u.v.tag == V_TENSOR ? "Tensor"
                                                : NULL;
    if (!name) return NULL;
    source_range nowhere = {0};
    bool parameter = py_is_tensor(o) && o->u.param;
    py_object *mod = py_import(p, nowhere, parameter ? "torch.nn.parameter" : "torch");
    return mod ? py_dict_get(mod->u.mod.globals, parameter ? "Parameter" : name) : NULL;
}

/* ---- elements -------------------------------------------------------------------------------- */

static value tensor_element(dtype dt, const char *at, diag *d) {
    double re = 0, im = 0;
    switch (dt) {
    case DT_BOOL: return value_bool(*(const uint8_t *)at != 0);
    case DT_COMPLEX64:
        re = ((const complex64 *)(const void *)at)->re,
        im = ((const complex64 *)(const void *)at)->im;
        break;
    case DT_COMPLEX128:
        re = ((const complex128 *)(const void *)at)->re,
        im = ((const complex128 *)(const void *)at)->im;
        break;
    case DT_COMPLEX32:
        re = float16_to_float(((const complex32 *)(const void *)at)->re);
        im = float16_to_float(((const complex32 *)(const void *)at)->im);
        break;
    default:
        return dtype_is_integral(dt) || dtype_is_unsigned(dt)
                   ? value_int(dtype_load_int(dt, at))
                   : value_float(dtype_load_float(dt, at));
    }
    complex_box *c = complex_new(re, im);
    if (!c) diag_no_memory(d);
    return c ? (value){.tag = V_COMPLEX, .u.complex = c} : value_uninit();
}

value py_tensor_item(const tensor *t, diag *d) {
    return tensor_element((dtype)t->dtype, tensor_data(t), d);
}

static py_object *tensor_list(py *p, const tensor *t, int dim, int64_t at) {
    if (dim == t->ndim) {
        size_t size = dtype_size((dtype)t->dtype);
        value v = tensor_element((dtype)t->dtype, (const char *)tensor_data(t) + (size_t)at * size,
                                 p->diag);
        return v.tag == V_UNINIT ? NULL : py_from_value(p, v);
    }
    py_object *o = py_list(p, 0, NULL);
    for (int64_t i = 0; o && i < t->sizes[dim]; i++) {
        py_object *item = tensor_list(p, t, dim + 1, at + i * t->strides[dim]);
        if (!item || !py_append(p, o, item)) return NULL;
    }
    return o;
}

static py_object *py_tensor_tolist(py *p, source_range r, const tensor *t) {
    if (t->numel > PY_MAX_ITEMS)
        return py_fail(p, r, "MemoryError", "more than %d items", PY_MAX_ITEMS);
    return tensor_list(p, t, 0, 0);
}

/* ---- attributes ------------------------------------------------------------------------------ */

typedef py_object *(*tensor_getter)(py *p, source_range r, py_object *o);

static py_object *tensor_ints(py *p, int n, const int64_t *v) {
    py_object *items[TENSOR_MAX_DIMS];
    for (int i = 0; i < n; i++) items[i] = py_int(p, v[i]);
    return py_tuple(p, n, items);
}

py_object *py_size_take(py *p, py_object *tuple) {
    source_range nowhere = {0};
    py_object *torch = tuple ? py_import(p, nowhere, "torch") : NULL;
    if (torch) tuple->u.seq.seq_cls = py_dict_get(torch->u.mod.globals, "Size");
    return torch ? tuple : NULL;
}

static py_object *tensor_get_shape(py *p, source_range r, py_object *o) {
    py_object *sizes = tensor_ints(p, o->u.v.u.tensor->ndim, o->u.v.u.tensor->sizes);
    for (int i = 0; sizes && i < o->u.v.u.tensor->ndim; i++)
        if (!py_trace_size(p, r, o, i, sizes->u.seq.items.data[i])) return NULL;
    return py_size_take(p, sizes);
}

static py_object *tensor_get_dtype(py *p, source_range r, py_object *o) {
    return py_symbol_object(p, r, PY_DTYPE, o->u.v.u.tensor->dtype);
}

static py_object *tensor_get_layout(py *p, source_range r, py_object *o) {
    (void)o;
    return py_symbol_object(p, r, PY_LAYOUT, 0);
}

static py_object *tensor_get_device(py *p, source_range r, py_object *o) {
    (void)r, (void)o;
    return py_value_take(p, value_device(0));
}

static py_object *tensor_get_requires_grad(py *p, source_range r, py_object *o) {
    if (p->records) return py_tensor_asked(p, r, o, "prim::requires_grad");
    return py_bool(p, o->u.v.u.tensor->requires_grad);
}

static py_object *tensor_get_ndim(py *p, source_range r, py_object *o) {
    (void)r;
    return py_int(p, o->u.v.u.tensor->ndim);
}

static py_object *tensor_get_data(py *p, source_range r, py_object *o) {
    tensor *t;
    if (py_tracing(p)) return py_call_operator(p, r, "aten::detach", 1, &o, 0, NULL, NULL);
    if (p->records) return py_tensor_asked(p, r, o, "aten::data");
    if (tensor_alias(p->diag, o->u.v.u.tensor, &t) != CTSC_OK) return NULL;
    t->requires_grad = false;
    return py_tensor_take(p, t);
}

static py_object *tensor_get_grad(py *p, source_range r, py_object *o) {
    return p->records ? py_tensor_asked(p, r, o, "prim::grad") : p->none;
}

static py_object *tensor_get_is_leaf(py *p, source_range r, py_object *o) {
    return p->records ? py_tensor_asked(p, r, o, "aten::is_leaf") : p->true_;
}

static py_object *tensor_get_none(py *p, source_range r, py_object *o) {
    return (void)r, (void)o, p->none;
}
static py_object *tensor_get_true(py *p, source_range r, py_object *o) {
    return (void)r, (void)o, p->true_;
}
static py_object *tensor_get_false(py *p, source_range r, py_object *o) {
    return (void)r, (void)o, p->false_;
}

static py_object *tensor_get_names(py *p, source_range r, py_object *o) {
    const tensor *t = o->u.v.u.tensor;
    py_object *names[TENSOR_MAX_DIMS];
    (void)r;
    for (int i = 0; i < t->ndim; i++) {
        const char *name = tensor_dim_name(t, i);
        names[i] = name ? py_string(p, name, strlen(name)) : p->none;
        if (!names[i]) return NULL;
    }
    return py_tuple(p, t->ndim, names);
}

/* Attributes of every tensor, which no program can set except for those that
 * py_tensor_setattr knows: computed here, or operators without arguments. */
typedef struct tensor_property {
    const char *name;
    tensor_getter get; /* NULL: op */
    const char *op;
} tensor_property;

static const tensor_property tensor_properties[] = {
    {"shape", tensor_get_shape, NULL},
    {"dtype", tensor_get_dtype, NULL},
    {"device", tensor_get_device, NULL},
    {"layout", tensor_get_layout, NULL},
    {"data", tensor_get_data, NULL},
    {"requires_grad", tensor_get_requires_grad, NULL},
    {"ndim", tensor_get_ndim, NULL},
    {"names", tensor_get_names, NULL},
    {"grad", tensor_get_grad, NULL},
    {"grad_fn", tensor_get_none, NULL},
    {"is_leaf", tensor_get_is_leaf, NULL},
    {"is_cpu", tensor_get_true, NULL},
    {"is_cuda", tensor_get_false, NULL},
    {"is_sparse", tensor_get_false, NULL},
    {"is_sparse_csr", tensor_get_false, NULL},
    {"is_quantized", tensor_get_false, NULL},
    {"is_mkldnn", tensor_get_false, NULL},
    {"is_meta", tensor_get_false, NULL},
    {"is_nested", tensor_get_false, NULL},
    {"is_xla", tensor_get_false, NULL},
    {"is_mps", tensor_get_false, NULL},
    {"T", NULL, "aten::numpy_T"},
    {"H", NULL, "aten::matrix_H"},
    {"mT", NULL, "aten::mT"},
    {"mH", NULL, "aten::mH"},
    {"real", NULL, "aten::real"},
    {"imag", NULL, "aten::imag"},
};

static const tensor_property *tensor_find_property(const char *name) {
    for (size_t i = 0; i < sizeof tensor_properties / sizeof *tensor_properties; i++)
        if (!strcmp(tensor_properties[i].name, name)) return &tensor_properties[i];
    return NULL;
}

/* ---- methods that are not operators, or differ from them ------------------------------------- */

static bool tensor_self(py *p, source_range r, py_object **self, int *nargs, py_object ***args) {
    if (!*self && *nargs) {
        *self = (*args)[0];
        --*nargs;
        ++*args;
    }
    if (*self && py_is_tensor(*self)) return true;
    py_fail(p, r, "TypeError", "expected a tensor");
    return false;
}

static py_object *tensor_dims(PY_ARGS, const char *name, bool strides) {
    py_object *a[1];
    if (!tensor_self(p, r, &self, &nargs, &args) || !py_bind(p, r, name, "dim?", PY_GIVEN, a))
        return NULL;
    const tensor *t = self->u.v.u.tensor;
    const int64_t *all = strides ? t->strides : t->sizes;
    if (!a[0] || py_is_none(a[0]))
        return strides ? tensor_ints(p, t->ndim, all) : tensor_get_shape(p, r, self);
    int64_t dim;
    int at;
    if (!py_as_int(p, r, a[0], &dim)) return NULL;
    if (tensor_wrap_dim(p->diag, dim, t->ndim, &at) != CTSC_OK) return py_kernel_failed(p, r);
    if (t->ndim == 0)
        return py_fail(p, r, "IndexError",
                       "dimension specified as %lld but tensor has no dimensions", (long long)dim);
    py_object *one = py_int(p, all[at]);
    return strides ? one : py_trace_size(p, r, self, at, one);
}

static py_object *tensor_size(PY_ARGS) { return tensor_dims(p, r, self, PY_GIVEN, "size", false); }
static py_object *tensor_stride(PY_ARGS) {
    return tensor_dims(p, r, self, PY_GIVEN, "stride", true);
}

static py_object *tensor_tolist(PY_ARGS) {
    if (!tensor_self(p, r, &self, &nargs, &args) || !py_bind(p, r, "tolist", "", PY_GIVEN, NULL))
        return NULL;
    return py_trace_read(p, r, self, "Python list") ? py_tensor_tolist(p, r, self->u.v.u.tensor)
                                                    : NULL;
}

static py_object *tensor_numel(PY_ARGS) {
    if (!tensor_self(p, r, &self, &nargs, &args) || !py_bind(p, r, "nelement", "", PY_GIVEN, NULL))
        return NULL;
    return py_trace_size(p, r, self, -1, py_int(p, self->u.v.u.tensor->numel));
}

static py_object *tensor_dim(PY_ARGS) {
    if (!tensor_self(p, r, &self, &nargs, &args) ||
        !py_bind(p, r, "ndimension", "", PY_GIVEN, NULL))
        return NULL;
    return py_int(p, self->u.v.u.tensor->ndim);
}

static py_object *tensor_element_size(PY_ARGS) {
    if (!tensor_self(p, r, &self, &nargs, &args) ||
        !py_bind(p, r, "element_size", "", PY_GIVEN, NULL))
        return NULL;
    return py_int(p, (int64_t)dtype_size((dtype)self->u.v.u.tensor->dtype));
}

static py_object *tensor_len(PY_ARGS) {
    if (!tensor_self(p, r, &self, &nargs, &args) || !py_bind(p, r, "__len__", "", PY_GIVEN, NULL))
        return NULL;
    int64_t n;
    return py_length(p, r, self, &n) ? py_int(p, n) : NULL;
}

py_object *py_cast(py *p, source_range r, py_object *self, int64_t dt) {
    py_object *args[] = {self, py_symbol_object(p, r, PY_DTYPE, dt)};
    return args[1] ? py_call_operator(p, r, "aten::to", 2, args, 0, NULL, NULL) : NULL;
}

#define TENSOR_CAST(name, dt)                                                                      \
    static py_object *tensor_##name(PY_ARGS) {                                                     \
        py_object *a[1];                                                                           \
        if (!tensor_self(p, r, &self, &nargs, &args)) return NULL;                                 \
        if (!py_bind(p, r, #name, "memory_format?", PY_GIVEN, a)) return NULL;                     \
        return py_cast(p, r, self, dt);                                                            \
    }
TENSOR_CAST(float, DT_FLOAT32)
TENSOR_CAST(double, DT_FLOAT64)
TENSOR_CAST(half, DT_FLOAT16)
TENSOR_CAST(bfloat16, DT_BFLOAT16)
TENSOR_CAST(long, DT_INT64)
TENSOR_CAST(int, DT_INT32)
TENSOR_CAST(short, DT_INT16)
TENSOR_CAST(char, DT_INT8)
TENSOR_CAST(byte, DT_UINT8)
TENSOR_CAST(bool, DT_BOOL)
TENSOR_CAST(cfloat, DT_COMPLEX64)
TENSOR_CAST(cdouble, DT_COMPLEX128)

/* t.type() is "torch.FloatTensor"; t.type(dtype or such a name) converts. */
static py_object *tensor_type(PY_ARGS) {
    py_object *a[2];
    if (!tensor_self(p, r, &self, &nargs, &args) ||
        !py_bind(p, r, "type", "dtype? non_blocking?", PY_GIVEN, a))
        return NULL;
    const char *name = a[0] ? py_as_text(a[0]) : NULL;
    if (!a[0] || py_is_none(a[0]))
        return py_text(p, arena_printf(p->a, "torch.%sTensor",
                                       dtype_table[self->u.v.u.tensor->dtype].ir_name));
    if (a[0]->kind == PY_SYMBOL && a[0]->u.symbol == PY_DTYPE)
        return py_cast(p, r, self, a[0]->u.v.u.i);
    if (!name && a[0]->kind == PY_CLASS) name = arena_printf(p->a, "torch.%s", a[0]->u.cls->name);
    for (int i = 0; name && i < DT_COUNT; i++)
        if (!strcmp(name, arena_printf(p->a, "torch.%sTensor", dtype_table[i].ir_name)))
            return py_cast(p, r, self, i);
    return py_fail(p, r, "TypeError", "dtype must be a type, str, or dtype object");
}

static py_object *tensor_cpu(PY_ARGS) {
    py_object *a[1];
    if (!tensor_self(p, r, &self, &nargs, &args) ||
        !py_bind(p, r, "cpu", "memory_format?", PY_GIVEN, a))
        return NULL;
    return self;
}

/* Stays on the host, as all tensors of the evaluator (py_ops.c). */
static py_object *tensor_cuda(PY_ARGS) {
    py_object *a[3];
    if (!tensor_self(p, r, &self, &nargs, &args) ||
        !py_bind(p, r, "cuda", "device? non_blocking? memory_format?", PY_GIVEN, a))
        return NULL;
    return self;
}

static py_object *tensor_new_tensor(PY_ARGS) {
    py_object *a[4];
    if (!tensor_self(p, r, &self, &nargs, &args)) return NULL;
    if (!py_bind(p, r, "new_tensor", "data dtype? device? requires_grad?", PY_GIVEN, a))
        return NULL;
    bool same = !a[1] || py_is_none(a[1]);
    tensor *t;
    if (!py_tensor_from_data(p, r, a[0], same ? self->u.v.u.tensor->dtype : a[1]->u.v.u.i, &t))
        return NULL;
    return py_tensor_take(p, t);
}

/* t.new(2, 3) and t.new(size): that size; t.new([1, 2]): these elements. Of t's dtype. */
static py_object *tensor_new_legacy(PY_ARGS) {
    if (!tensor_self(p, r, &self, &nargs, &args)) return NULL;
    if (nkw) return py_fail(p, r, "TypeError", "new() takes no keyword arguments here");
    bool sizes = !nargs || (args[0]->kind == PY_VALUE && !py_is_tensor(args[0])) ||
                 args[0]->kind == PY_SYMBOL || py_is_size(args[0]);
    py_object *fn = py_getattr(p, r, self, sizes ? "new_zeros" : "new_tensor");
    py_object *none = nargs ? NULL : py_int(p, 0);
    if (!fn || (!nargs && !none)) return NULL;
    return nargs ? py_call(p, r, fn, nargs, args, 0, names, kwargs)
                 : py_call(p, r, fn, 1, &none, 0, names, kwargs);
}

static py_object *tensor_refuse(py *p, source_range r, const char *what) {
    return py_unsupported(p, r, "Tensor.%s is not available while a program is being compiled",
                          what);
}
static py_object *tensor_numpy(PY_ARGS) {
    py_object *a[1];
    if (!tensor_self(p, r, &self, &nargs, &args) || !py_bind(p, r, "numpy", "force?", PY_GIVEN, a))
        return NULL;
    if (!py_trace_read(p, r, self, "NumPy array")) return NULL;
    py_object *mod = py_import(p, r, "numpy"), *cls = mod ? py_getattr(p, r, mod, "ndarray") : NULL;
    return cls ? py_call(p, r, cls, 1, &self, 0, NULL, NULL) : NULL;
}
static py_object *tensor_hook(PY_ARGS) {
    return PY_UNUSED_PARAMS, tensor_refuse(p, r, "register_hook");
}
static py_object *tensor_data_ptr(PY_ARGS) {
    return PY_UNUSED_PARAMS, tensor_refuse(p, r, "data_ptr");
}

static py_object *tensor_share(PY_ARGS) {
    PY_UNUSED_PARAMS;
    return tensor_self(p, r, &self, &nargs, &args) ? self : NULL;
}

static const py_row tensor_methods[] = {
    {"torch.Tensor.size", tensor_size},         {"torch.Tensor.stride", tensor_stride},
    {"torch.Tensor.tolist", tensor_tolist},     {"torch.Tensor.numel", tensor_numel},
    {"torch.Tensor.nelement", tensor_numel},    {"torch.Tensor.dim", tensor_dim},
    {"torch.Tensor.ndimension", tensor_dim},    {"torch.Tensor.element_size", tensor_element_size},
    {"torch.Tensor.__len__", tensor_len},       {"torch.Tensor.float", tensor_float},
    {"torch.Tensor.double", tensor_double},     {"torch.Tensor.half", tensor_half},
    {"torch.Tensor.bfloat16", tensor_bfloat16}, {"torch.Tensor.long", tensor_long},
    {"torch.Tensor.int", tensor_int},           {"torch.Tensor.short", tensor_short},
    {"torch.Tensor.char", tensor_char},         {"torch.Tensor.byte", tensor_byte},
    {"torch.Tensor.bool", tensor_bool},         {"torch.Tensor.cfloat", tensor_cfloat},
    {"torch.Tensor.cdouble", tensor_cdouble},   {"torch.Tensor.type", tensor_type},
    {"torch.Tensor.cpu", tensor_cpu},           {"torch.Tensor.new_tensor", tensor_new_tensor},
    {"torch.Tensor.new", tensor_new_legacy},    {"torch.Tensor.numpy", tensor_numpy},
    {"torch.Tensor.cuda", tensor_cuda},         {"torch.Tensor.register_hook", tensor_hook},
    {"torch.Tensor.data_ptr", tensor_data_ptr}, {"torch.Tensor.share_memory_", tensor_share},
    {"torch.Tensor.pin_memory", tensor_share},
};

/* Methods that PyTorch writes in Python, and where they are here. */
static const struct {
    const char *name, *module;
} tensor_functional[] = {
    {"unique", "torch.functional"}, {"unique_consecutive", "torch.functional"},
    {"stft", "torch.functional"},   {"lu", "torch.functional"},
    {"norm", "torch.functional"},   {"backward", "torch.autograd._engine"},
};

static py_object *tensor_function(py *p, source_range r, const char *name) {
    for (size_t i = 0; i < sizeof tensor_methods / sizeof *tensor_methods; i++)
        if (!strcmp(tensor_methods[i].name + strlen("torch.Tensor."), name))
            return py_builtin(p, tensor_methods[i].name, tensor_methods[i].fn);
    for (size_t i = 0; i < sizeof tensor_functional / sizeof *tensor_functional; i++)
        if (!strcmp(tensor_functional[i].name, name)) {
            py_object *mod = py_import(p, r, tensor_functional[i].module);
            return mod ? py_getattr(p, r, mod, name) : NULL;
        }
    int n;
    const char *op = arena_printf(p->a, "aten::%s", name);
    const struct op *const *overloads = op_overloads(op, &n);
    for (int i = 0; i < n; i++) {
        const schema *s = overloads[i]->schema;
        if (!s->nargs || s->args[0].type->kind != T_TENSOR) continue;
        py_object *o = py_new(p, PY_OPERATOR);
        o->u.op_name = op;
        return o;
    }
    return NULL;
}

static py_object *tensor_device_context(PY_ARGS) {
    (void)r, (void)args, (void)nkw, (void)names, (void)kwargs;
    return nargs ? p->none : self;
}

static py_object *tensor_device_attribute(py *p, py_object *o, const char *name) {
    int64_t d = o->u.v.u.device;
    if (!strcmp(name, "type")) return py_text(p, d == 0 ? "cpu" : "cuda");
    if (!strcmp(name, "index")) return d <= 0 ? p->none : py_int(p, d - 1);
    /* with torch.device(...): modules are built on the CPU, and moved when they run. */
    if (!strcmp(name, "__enter__") || !strcmp(name, "__exit__"))
        return py_method(p, o, py_builtin(p, name, tensor_device_context));
    return NULL;
}

static py_object *tensor_symbol_attribute(py *p, py_object *o, const char *name) {
    if (o->u.symbol != PY_DTYPE) return NULL;
    dtype dt = (dtype)o->u.v.u.i;
    if (!strcmp(name, "is_floating_point")) return py_bool(p, dtype_is_float(dt));
    if (!strcmp(name, "is_complex")) return py_bool(p, dtype_is_complex(dt));
    if (!strcmp(name, "is_signed"))
        return py_bool(p, dt != DT_UINT8 && dt != DT_BOOL && dt != DT_QUINT8);
    if (!strcmp(name, "itemsize")) return py_int(p, (int64_t)dtype_size(dt));
    return NULL;
}

py_object *py_tensor_attribute(py *p, source_range r, py_object *o, const char *name) {
    if (o->kind == PY_SYMBOL) return tensor_symbol_attribute(p, o, name);
    if (o->kind == PY_VALUE && o->u.v.tag == V_DEVICE) return tensor_device_attribute(p, o, name);
    if (!py_is_tensor(o)) return NULL;
    const tensor_property *known = tensor_find_property(name);
    if (known && known->get) return known->get(p, r, o);
    if (known) return py_call_operator(p, r, known->op, 1, &o, 0, NULL, NULL);
    py_object *set = o->u.value_attrs ? py_dict_get(o->u.value_attrs, name) : NULL;
    if (set) return set;
    py_object *fn = tensor_function(p, r, name);
    return fn ? py_method(p, o, fn) : NULL;
}

bool py_tensor_setattr(py *p, source_range r, py_object *o, const char *name, py_object *v) {
    bool flag;
    if (!py_is_tensor(o))
        return py_fail(p, r, "AttributeError", "attribute '%s' is not writable", name), false;
    if (!strcmp(name, "requires_grad")) {
        if (!py_truth(p, r, v, &flag)) return false;
        py_object *args[] = {o, v};
        if (p->records)
            return py_call_operator(p, r, "aten::requires_grad_", 2, args, 0, NULL, NULL);
        o->u.v.u.tensor->requires_grad = flag;
        return true;
    }
    if (!strcmp(name, "grad")) return py_tensor_set_grad(p, r, o, v);
    if (strcmp(name, "data")) {
        if (tensor_find_property(name))
            return py_fail(p, r, "AttributeError",
                           "attribute '%s' of 'torch._C._TensorBase' objects is not writable",
                           name),
                   false;
        if (!o->u.value_attrs && !(o->u.value_attrs = py_dict_new(p))) return false;
        return py_dict_set(p, o->u.value_attrs, name, v);
    }
    if (!py_is_tensor(v))
        return py_fail(p, r, "TypeError", "Variable data has to be a tensor, but got %s",
                       py_type_name(v)),
               false;
    if (p->records) { /* optimisers hold the tensor that it is */
        value args[] = {o->u.v, v->u.v}, none = value_none();
        return py_run_op(p, r, "aten::set_data", 2, args, &none);
    }
    tensor *t;
    if (tensor_alias(p->diag, v->u.v.u.tensor, &t) != CTSC_OK) return false;
    t->requires_grad = o->u.v.u.tensor->requires_grad;
    py_object *fresh = py_tensor_take(p, t);
    if (!fresh) return false;
    value before = o->u.v; /* each object has the reference that it holds */
    o->u.v = fresh->u.v;
    fresh->u.v = before;
    return true;
}

/* ---- Python's operators ---------------------------------------------------------------------- */

/*    op    operator                number on the left: operator, and which is first     in place */
enum tensor_left { LEFT_SWAP, LEFT_KEEP, LEFT_RECIPROCAL, LEFT_TENSOR };
static const struct tensor_operator {
    const char *text, *op, *left_op;
    enum tensor_left left;
    const char *in_place;
} tensor_operators[] = {
    {"+", "aten::add", "aten::add", LEFT_SWAP, "aten::add_"},
    {"-", "aten::sub", "aten::rsub", LEFT_SWAP, "aten::sub_"},
    {"*", "aten::mul", "aten::mul", LEFT_SWAP, "aten::mul_"},
    {"/", "aten::div", "aten::mul", LEFT_RECIPROCAL, "aten::div_"},
    {"//", "aten::floor_divide", "aten::floor_divide", LEFT_TENSOR, "aten::floor_divide_"},
    {"%", "aten::remainder", "aten::remainder", LEFT_KEEP, "aten::remainder_"},
    {"**", "aten::pow", "aten::pow", LEFT_KEEP, "aten::pow_"},
    {"@", "aten::matmul", NULL, LEFT_KEEP, NULL},
    {"&", "aten::bitwise_and", "aten::bitwise_and", LEFT_SWAP, "aten::bitwise_and_"},
    {"|", "aten::bitwise_or", "aten::bitwise_or", LEFT_SWAP, "aten::bitwise_or_"},
    {"^", "aten::bitwise_xor", "aten::bitwise_xor", LEFT_SWAP, "aten::bitwise_xor_"},
    {"<<", "aten::bitwise_left_shift", "aten::bitwise_left_shift", LEFT_TENSOR,
     "aten::bitwise_left_shift_"},
    {">>", "aten::bitwise_right_shift", "aten::bitwise_right_shift", LEFT_TENSOR,
     "aten::bitwise_right_shift_"},
    {"==", "aten::eq", "aten::eq", LEFT_SWAP, NULL},
    {"!=", "aten::ne", "aten::ne", LEFT_SWAP, NULL},
    {"<", "aten::lt", "aten::gt", LEFT_SWAP, NULL},
    {"<=", "aten::le", "aten::ge", LEFT_SWAP, NULL},
    {">", "aten::gt", "aten::lt", LEFT_SWAP, NULL},
    {">=", "aten::ge", "aten::le", LEFT_SWAP, NULL},
};

static py_object *tensor_unary(py *p, source_range r, const char *op, py_object *a) {
    const char *name = !strcmp(op, "-")   ? "aten::neg"
                       : !strcmp(op, "~") ? "aten::bitwise_not"
                                          : "aten::positive";
    return py_call_operator(p, r, name, 1, &a, 0, NULL, NULL);
}

/* A number as a 0-dim tensor whose dtype leaves the result's to the tensor beside it. */
static py_object *tensor_of_number(py *p, py_object *number, const tensor *beside) {
    bool is_float = number->u.v.tag == V_FLOAT;
    dtype dt = (dtype)beside->dtype;
    if (is_float && dtype_is_integral(dt)) dt = DT_FLOAT32;
    if (!is_float && dt == DT_BOOL && number->u.v.tag == V_INT) dt = DT_INT64;
    tensor *t;
    double f = is_float ? number->u.v.u.f : 0;
    int64_t i = is_float ? 0 : number->u.v.tag == V_BOOL ? number->u.v.u.b : number->u.v.u.i;
    ctsc_status s = is_float ? tensor_scalar_float(p->diag, dt, f, &t)
                             : tensor_scalar_int(p->diag, dt, i, &t);
    return s == CTSC_OK ? py_tensor_take(p, t) : NULL;
}

static py_object *tensor_number_left(py *p, source_range r, const struct tensor_operator *row,
                                     py_object *a, py_object *b) {
    py_object *args[] = {a, b};
    if (row->left == LEFT_SWAP) args[0] = b, args[1] = a;
    if (row->left == LEFT_RECIPROCAL) {
        args[0] = py_call_operator(p, r, "aten::reciprocal", 1, &b, 0, NULL, NULL);
        args[1] = a;
    }
    if (row->left == LEFT_TENSOR && a->u.v.tag != V_COMPLEX)
        args[0] = tensor_of_number(p, a, b->u.v.u.tensor);
    return args[0] ? py_call_operator(p, r, row->left_op, 2, args, 0, NULL, NULL) : NULL;
}

py_object *py_tensor_operator(py *p, source_range r, const char *op, py_object *a, py_object *b) {
    if (!b) return tensor_unary(p, r, op, a);
    size_t len = strlen(op);
    static const char compares[][3] = {"==", "!=", "<=", ">="};
    bool in_place = len > 1 && op[len - 1] == '=';
    for (size_t i = 0; i < sizeof compares / sizeof *compares; i++)
        in_place = in_place && strcmp(op, compares[i]);
    if (in_place) len--;
    for (size_t i = 0; i < sizeof tensor_operators / sizeof *tensor_operators; i++) {
        const struct tensor_operator *row = &tensor_operators[i];
        if (strlen(row->text) != len || strncmp(row->text, op, len)) continue;
        bool a_fits = py_is_tensor(a) || py_is_number(a),
             b_fits = py_is_tensor(b) || py_is_number(b);
        if (!a_fits || !b_fits) {
            if (!strcmp(op, "==") || !strcmp(op, "!=")) return py_bool(p, op[0] == '!');
            break;
        }
        if (!py_is_tensor(a) && !row->left_op) break;
        if (!py_is_tensor(a)) return tensor_number_left(p, r, row, a, b);
        py_object *args[] = {a, b};
        return py_call_operator(p, r, in_place && row->in_place ? row->in_place : row->op, 2, args,
                                0, NULL, NULL);
    }
    return py_fail(p, r, "TypeError", "unsupported operand type(s) for %s: '%s' and '%s'", op,
                   py_type_name(a), py_type_name(b));
}
