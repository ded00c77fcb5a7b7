/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_torch.c - the module `torch` and the modules of operators below it.
 *
 * Method. Names are found in this order: the tables here (dtypes, constants, classes, functions
 * that are not operators), then the submodules, then what PyTorch writes in Python in
 * torch/functional.py, then the operators: torch.NAME is aten::NAME, torch.linalg.NAME is
 * aten::linalg_NAME, and so on.
 * Tests: tests/unit/test_py_torch.c
 */
#include "frontend/pyeval/torch/py_torch.h"
#include "base/qengine.h"
#include "base/threads/float_mode.h"
#include "frontend/pyeval/core/py_internal.h"
#include "frontend/pyeval/torch/py_trace.h"

#include <float.h>
#include <math.h>

/* ---- names of things that are not functions -------------------------------------------------- */

static const struct { const char *name; py_symbol kind; int v; } torch_symbols[] = {
/* by their names, and by their other ones, which some lack */
#define DTYPE(e, id, kind, ctype, ir, torch, other, ...)                                           \
    {torch, PY_DTYPE, id}, {other, PY_DTYPE, id},
#include "tensor/dtypes.def"
#undef DTYPE
    {"strided", PY_LAYOUT, 0},
    {"sparse_coo", PY_LAYOUT, 1},
    {"sparse_csr", PY_LAYOUT, 2},
    {"_mkldnn", PY_LAYOUT, 3},
    {"contiguous_format", PY_MEMORY_FORMAT, 0},
    {"legacy_contiguous_format", PY_MEMORY_FORMAT, 0},
    {"preserve_format", PY_MEMORY_FORMAT, 1},
    {"channels_last", PY_MEMORY_FORMAT, 2},
    {"channels_last_3d", PY_MEMORY_FORMAT, 3},
    {"per_tensor_affine", PY_QSCHEME, 0},
    {"per_channel_affine", PY_QSCHEME, 1},
    {"per_tensor_symmetric", PY_QSCHEME, 2},
    {"per_channel_symmetric", PY_QSCHEME, 3},
};

static const struct { const char *name; double v; } torch_numbers[] = {
    {"inf", INFINITY}, {"nan", NAN}, {"pi", M_PI}, {"e", M_E}};

/* Modules below torch that come into being when they are named. */
static const char *const torch_submodules[] = {"nn",
                                               "jit",
                                               "ops",
                                               "functional",
                                               "linalg",
                                               "special",
                                               "fft",
                                               "cuda",
                                               "cpu",
                                               "backends",
                                               "autograd",
                                               "utils",
                                               "version",
                                               "random",
                                               "types",
                                               "onnx",
                                               "distributed",
                                               "hub",
                                               "optim",
                                               "fx",
                                               "quantization",
                                               "ao",
                                               "overrides",
                                               "_C",
                                               "_VF",
                                               "_jit_internal",
                                               "testing",
                                               "distributions",
                                               "func",
                                               "profiler",
                                               "serialization",
                                               "multiprocessing",
                                               "package",
                                               "sparse",
                                               "storage",
                                               "_utils",
                                               "classes",
                                               "amp",
                                               "mps"};

/* What torch/functional.py defines in PyTorch: those names are Python functions, not operators. */
static const char *const torch_functional[] = {"align_tensors",
                                               "atleast_1d",
                                               "atleast_2d",
                                               "atleast_3d",
                                               "block_diag",
                                               "broadcast_shapes",
                                               "broadcast_tensors",
                                               "cartesian_prod",
                                               "cdist",
                                               "chain_matmul",
                                               "einsum",
                                               "lu",
                                               "meshgrid",
                                               "norm",
                                               "pca_lowrank",
                                               "split",
                                               "stft",
                                               "svd_lowrank",
                                               "tensordot",
                                               "unique",
                                               "unique_consecutive"};

/* Names that one module shows and another one, written in Python, defines. */
static const struct { const char *module, *name, *home; } torch_elsewhere[] = {
    {"torch", "no_grad", "torch.autograd.grad_mode"},
    {"torch", "spmm", "torch.functional"},
    {"torch", "__version__", "torch.torch_version"},
    {"torch.version", "__version__", "torch.torch_version"},
    {"torch", "enable_grad", "torch.autograd.grad_mode"},
    {"torch", "set_grad_enabled", "torch.autograd.grad_mode"},
    {"torch", "inference_mode", "torch.autograd.grad_mode"},
    {"torch.distributed.rpc", "RRef", "torch.jit"},
    {"torch", "autocast", "torch.amp.autocast_mode"},
    {"torch.amp", "autocast", "torch.amp.autocast_mode"},
    {"torch.amp", "is_autocast_available", "torch.amp.autocast_mode"},
    {"torch.cuda.amp", "autocast", "torch.cuda.amp.autocast_mode"},
    {"torch.cpu.amp", "autocast", "torch.cpu.amp.autocast_mode"},
    {"torch.cuda.amp", "GradScaler", "torch.cuda.amp.grad_scaler"},
    {"torch.amp", "GradScaler", "torch.cuda.amp.grad_scaler"},
    {"torch.amp", "custom_fwd", "torch.amp.autocast_mode"},
    {"torch.amp", "custom_bwd", "torch.amp.autocast_mode"},
    {"torch.cuda.amp", "custom_fwd", "torch.cuda.amp.autocast_mode"},
    {"torch.cuda.amp", "custom_bwd", "torch.cuda.amp.autocast_mode"},
    {"torch.profiler", "record_function", "torch.autograd.profiler"},
    {"torch.profiler", "profile", "torch.autograd.profiler"},
    {"torch.jit", "is_tracing", "torch.jit._trace"},
    {"torch.autograd", "no_grad", "torch.autograd.grad_mode"},
    {"torch.autograd", "enable_grad", "torch.autograd.grad_mode"},
    {"torch.autograd", "set_grad_enabled", "torch.autograd.grad_mode"},
    {"torch.autograd", "inference_mode", "torch.autograd.grad_mode"},
    {"torch.autograd", "Function", "torch.autograd.function"},
    {"torch._C", "Optimizer", "torch.optim._native"},
    {"torch._C", "Tensor", "torch"},
};

static bool torch_listed(const char *const *list, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], name)) return true;
    return false;
}
#define TORCH_LISTED(list, name) torch_listed((list), sizeof(list) / sizeof *(list), (name))

/* ---- making tensors from data ---------------------------------------------------------------- */

static bool torch_dtype_of(py *p, source_range r, const py_object *o, int64_t *out) {
    *out = -1;
    if (!o || py_is_none(o)) return true;
    if (o->kind == PY_SYMBOL && o->u.symbol == PY_DTYPE) return *out = o->u.v.u.i, true;
    if (py_is_builtin_class(o, "float")) return *out = DT_FLOAT64, true;
    if (py_is_builtin_class(o, "int")) return *out = DT_INT64, true;
    if (py_is_builtin_class(o, "bool")) return *out = DT_BOOL, true;
    return py_fail(p, r, "TypeError", "dtype must be a torch.dtype, not %s", py_type_name(o)),
           false;
}

static bool torch_warn_constant(py *p, source_range r, const char *function) {
    return py_trace_warn(p, r,
                         "%s results are registered as constants in the trace. You can safely "
                         "ignore this warning if you use this function to create "
                         "tensors out of constant variables that would be the same every time you "
                         "call this function. In any other case, this might "
                         "cause the trace to be incorrect.",
                         function);
}

static py_object *torch_tensor(PY_ARGS) {
    py_object *a[5];
    (void)self;
    int64_t dt;
    bool grad = false;
    if (!py_bind(p, r, "tensor", "data dtype? device? requires_grad? pin_memory?", PY_GIVEN, a))
        return NULL;
    if (!torch_dtype_of(p, r, a[1], &dt)) return NULL;
    if (a[3] && !py_truth(p, r, a[3], &grad)) return NULL;
    tensor *t;
    if (!torch_warn_constant(p, r, "torch.tensor") || !py_tensor_from_data(p, r, a[0], dt, &t))
        return NULL;
    t->requires_grad = grad;
    return py_tensor_take(p, t);
}

static py_object *torch_from_numpy(PY_ARGS) {
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "from_numpy", "ndarray", PY_GIVEN, a)) return NULL;
    py_object *t = py_array_tensor(a[0]);
    if (!torch_warn_constant(p, r, "torch.from_numpy")) return NULL;
    return t ? t : py_fail(p, r, "TypeError", "expected np.ndarray (got %s)", py_type_name(a[0]));
}

static bool torch_is_whole_storage(const tensor *t) {
    return tensor_is_contiguous(t) && t->offset == 0 &&
           t->storage->nbytes == (size_t)t->numel * dtype_size((dtype)t->dtype);
}

/* _load_data(to, from): to.copy_(from). What is mapped from a file is shared with the mapping, so
 * that no memory is touched before the first use. */
static py_object *torch_load_data(PY_ARGS) {
    py_object *a[2];
    (void)self;
    if (!py_bind(p, r, "_load_data", "to from", PY_GIVEN, a)) return NULL;
    if (!py_is_tensor(a[0]) || !py_is_tensor(a[1]))
        return py_fail(p, r, "TypeError", "_load_data: tensors expected");
    tensor *to = a[0]->u.v.u.tensor, *from = a[1]->u.v.u.tensor;
    if (from->storage->read_only && to->dtype == from->dtype && tensor_same_shape(to, from) &&
        torch_is_whole_storage(to) && torch_is_whole_storage(from)) {
        storage_share(to->storage, from->storage);
        return p->none;
    }
    return tensor_copy(p->diag, to, from) == CTSC_OK ? p->none : py_kernel_failed(p, r);
}

static py_object *torch_as_tensor(PY_ARGS) {
    py_object *a[3];
    (void)self;
    int64_t dt;
    if (!py_bind(p, r, "as_tensor", "data dtype? device?", PY_GIVEN, a)) return NULL;
    if (!torch_dtype_of(p, r, a[1], &dt)) return NULL;
    if (py_is_tensor(a[0]) && py_tracing(p)) return dt < 0 ? a[0] : py_cast(p, r, a[0], dt);
    if (!torch_warn_constant(p, r, "torch.as_tensor")) return NULL;
    if (py_array_tensor(a[0])) a[0] = py_array_tensor(a[0]);
    if (py_is_tensor(a[0]) && (dt < 0 || a[0]->u.v.u.tensor->dtype == dt)) return a[0];
    tensor *t;
    return py_tensor_from_data(p, r, a[0], dt, &t) ? py_tensor_take(p, t) : NULL;
}

/* torch.FloatTensor(2, 3) is uninitialised, FloatTensor([1, 2]) has those elements.
 * self: the class. */
static py_object *torch_typed(py *p, source_range r, dtype dt, int nargs, py_object **args) {
    tensor *t;
    int64_t sizes[TENSOR_MAX_DIMS];
    bool data = nargs == 1 && (args[0]->kind != PY_VALUE || args[0]->u.v.tag == V_TENSOR);
    if (data) return py_tensor_from_data(p, r, args[0], dt, &t) ? py_tensor_take(p, t) : NULL;
    if (nargs > TENSOR_MAX_DIMS) return py_fail(p, r, "TypeError", "too many dimensions");
    if (!nargs) sizes[0] = 0;
    for (int i = 0; i < nargs; i++)
        if (!py_as_int(p, r, args[i], &sizes[i])) return NULL;
    if (tensor_zeros(p->diag, dt, nargs ? nargs : 1, sizes, &t) != CTSC_OK)
        return py_kernel_failed(p, r);
    return py_tensor_take(p, t);
}

static py_object *torch_make_tensor(PY_ARGS) {
    (void)names, (void)kwargs;
    if (nkw)
        return py_fail(p, r, "TypeError", "%s() takes no keyword arguments", py_type_name(self));
    const char *name = self && self->kind == PY_CLASS ? self->u.cls->name : "Tensor";
    for (int i = 0; i < DT_COUNT; i++) {
        const char *ir = dtype_table[i].ir_name;
        size_t n = strlen(ir);
        if (!strncmp(name, ir, n) && !strcmp(name + n, "Tensor"))
            return torch_typed(p, r, (dtype)i, nargs, args);
    }
    return torch_typed(p, r, DT_FLOAT32, nargs, args);
}

/* A parameter: a handle of its own on the tensor's data, so that its flag is its own. */
static py_object *torch_make_parameter(PY_ARGS) {
    py_object *a[2];
    (void)self;
    bool grad = true;
    if (!py_bind(p, r, "Parameter", "data? requires_grad?", PY_GIVEN, a)) return NULL;
    if (a[1] && !py_truth(p, r, a[1], &grad)) return NULL;
    tensor *t;
    int64_t none = 0;
    if (a[0] && !py_is_none(a[0]) && !py_is_tensor(a[0]))
        return py_fail(p, r, "TypeError", "a Parameter is made of a tensor, not of %s",
                       py_type_name(a[0]));
    ctsc_status s = a[0] && py_is_tensor(a[0]) ? tensor_alias(p->diag, a[0]->u.v.u.tensor, &t)
                                               : tensor_zeros(p->diag, DT_FLOAT32, 1, &none, &t);
    if (s != CTSC_OK) return py_kernel_failed(p, r);
    t->requires_grad = grad;
    py_object *o = py_tensor_take(p, t);
    if (o) o->u.param = true;
    return o;
}

static py_object *torch_make_device(PY_ARGS) {
    py_object *a[2];
    (void)self;
    int64_t index;
    if (!py_bind(p, r, "device", "type index?", PY_GIVEN, a)) return NULL;
    if (a[0]->kind == PY_VALUE && a[0]->u.v.tag == V_DEVICE) return a[0];
    const char *name = py_as_text(a[0]);
    py_object *number = name ? a[1] : a[0];
    bool numbered = number && !py_is_none(number);
    if (numbered && !py_as_int(p, r, number, &index)) return NULL;
    if (!name) name = "cuda";
    /* there is no such device here: what is to be filled later is filled now */
    if (!strcmp(name, "meta")) name = "cpu";
    if (numbered) name = arena_printf(p->a, "%s:%lld", name, (long long)index);
    int64_t device;
    if (device_parse(p->diag, name, strlen(name), &device) != CTSC_OK)
        return py_kernel_failed(p, r);
    return py_value_take(p, value_device(device));
}

static py_object *torch_make_size(PY_ARGS) {
    py_object *a[1], **items = NULL;
    (void)self;
    int n = 0;
    if (!py_bind(p, r, "Size", "sizes?", PY_GIVEN, a)) return NULL;
    int64_t size;
    if (a[0] && !py_iterate(p, r, a[0], &items, &n)) return NULL;
    for (int i = 0; i < n; i++)
        if (!py_as_int(p, r, items[i], &size)) return NULL;
    return py_size_take(p, py_tuple(p, n, items));
}

static py_object *torch_size_numel(PY_ARGS) {
    int64_t n = 1, size;
    if (!self) self = nargs ? args[0] : NULL;
    if (!self || !py_is_size(self)) return py_fail(p, r, "TypeError", "numel() needs a torch.Size");
    (void)nkw, (void)names, (void)kwargs;
    for (size_t i = 0; i < self->u.seq.items.len; i++) {
        if (!py_as_int(p, r, self->u.seq.items.data[i], &size)) return NULL;
        n = (int64_t)((uint64_t)n * (uint64_t)size);
    }
    return py_int(p, n);
}

static py_object *torch_refuse_class(PY_ARGS) {
    (void)nargs, (void)args, (void)nkw, (void)names, (void)kwargs;
    return py_unsupported(p, r, "torch.%s cannot be made while a program is being compiled",
                          self && self->kind == PY_CLASS ? self->u.cls->name : "object");
}

/* ---- numbers about dtypes -------------------------------------------------------------------- */

static bool torch_set(py *p, py_object *o, const char *name, py_object *v) {
    return v && py_dict_set(p, o->u.inst.attrs, name, v);
}

static const struct torch_float_row {
    int dt;
    double max, eps, tiny, resolution;
    int bits;
} torch_float_info[] = {
    {DT_FLOAT16, 65504, 0x1p-10, 0x1p-14, 1e-3, 16},
    {DT_BFLOAT16, 0x1.fep127, 0x1p-7, 0x1p-126, 1e-2, 16},
    {DT_FLOAT32, FLT_MAX, FLT_EPSILON, FLT_MIN, 1e-6, 32},
    {DT_FLOAT64, DBL_MAX, DBL_EPSILON, DBL_MIN, 1e-15, 64},
};

static py_object *torch_finfo(PY_ARGS) {
    py_object *a[1];
    int64_t dt = DT_FLOAT32;
    if (!py_bind(p, r, "finfo", "type?", PY_GIVEN, a) || (a[0] && !torch_dtype_of(p, r, a[0], &dt)))
        return NULL;
    if (dt == DT_COMPLEX64) dt = DT_FLOAT32;
    if (dt == DT_COMPLEX128) dt = DT_FLOAT64;
    for (size_t i = 0; i < sizeof torch_float_info / sizeof *torch_float_info; i++) {
        const struct torch_float_row *f = &torch_float_info[i];
        if (f->dt != dt) continue;
        py_object *o = py_instance(p, self);
        if (!o || !torch_set(p, o, "max", py_float(p, f->max)) ||
            !torch_set(p, o, "min", py_float(p, -f->max)) ||
            !torch_set(p, o, "eps", py_float(p, f->eps)) ||
            !torch_set(p, o, "tiny", py_float(p, f->tiny)) ||
            !torch_set(p, o, "smallest_normal", py_float(p, f->tiny)) ||
            !torch_set(p, o, "resolution", py_float(p, f->resolution)) ||
            !torch_set(p, o, "bits", py_int(p, f->bits)) ||
            !torch_set(p, o, "dtype", py_text(p, dtype_table[dt].torch_name)))
            return NULL;
        return o;
    }
    return py_fail(p, r, "TypeError",
                   "torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                   "'torch.finfo'");
}

static py_object *torch_iinfo(PY_ARGS) {
    static const struct { int dt; int64_t min, max; } rows[] = {
        {DT_UINT8, 0, UINT8_MAX},         {DT_INT8, INT8_MIN, INT8_MAX},
        {DT_INT16, INT16_MIN, INT16_MAX}, {DT_INT32, INT32_MIN, INT32_MAX},
        {DT_INT64, INT64_MIN, INT64_MAX},
    };
    py_object *a[1];
    int64_t dt;
    if (!py_bind(p, r, "iinfo", "type", PY_GIVEN, a) || !torch_dtype_of(p, r, a[0], &dt))
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].dt != dt) continue;
        py_object *o = py_instance(p, self);
        if (!o || !torch_set(p, o, "min", py_int(p, rows[i].min)) ||
            !torch_set(p, o, "max", py_int(p, rows[i].max)) ||
            !torch_set(p, o, "bits", py_int(p, 8 * (int64_t)dtype_table[dt].size)) ||
            !torch_set(p, o, "dtype", py_text(p, dtype_table[dt].torch_name)))
            return NULL;
        return o;
    }
    return py_fail(
        p, r, "TypeError",
        "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'");
}

static py_object *torch_get_default_dtype(PY_ARGS) {
    PY_UNUSED_PARAMS;
    return py_symbol_object(p, r, PY_DTYPE, DT_FLOAT32);
}

static py_object *torch_set_default_dtype(PY_ARGS) {
    py_object *a[1];
    (void)self;
    int64_t dt;
    if (!py_bind(p, r, "set_default_dtype", "d", PY_GIVEN, a)) return NULL;
    if (a[0]->kind == PY_CLASS && !strcmp(a[0]->u.cls->name, "FloatTensor")) return p->none;
    if (py_as_text(a[0]) && !strcmp(py_as_text(a[0]), "torch.FloatTensor")) return p->none;
    if (!torch_dtype_of(p, r, a[0], &dt)) return NULL;
    return dt == DT_FLOAT32
               ? p->none
               : py_unsupported(p, r,
                                "the default dtype is torch.float32; others are not supported");
}

static py_object *torch_promote_types(PY_ARGS) {
    py_object *a[2];
    (void)self;
    int64_t x, y;
    if (!py_bind(p, r, "promote_types", "type1 type2", PY_GIVEN, a)) return NULL;
    if (!torch_dtype_of(p, r, a[0], &x) || !torch_dtype_of(p, r, a[1], &y)) return NULL;
    return x < 0 || y < 0 ? py_fail(p, r, "TypeError", "promote_types() takes two dtypes")
                          : py_symbol_object(p, r, PY_DTYPE, dtype_promote((dtype)x, (dtype)y));
}

/* ---- random numbers, gradients, questions ---------------------------------------------------- */

static py_object *torch_manual_seed(PY_ARGS) {
    py_object *a[1];
    (void)self;
    int64_t seed;
    if (!py_bind(p, r, "manual_seed", "seed", PY_GIVEN, a) || !py_as_int(p, r, a[0], &seed))
        return NULL;
    if (p->host.seed) p->host.seed(p->host.ctx, (uint64_t)seed);
    py_object *mod = strmap_get(&p->modules, "torch");
    if (mod && !py_module_set_take(p, mod, "_seed", py_int(p, seed))) return NULL;
    return p->none;
}

/* Of the process, as the engine of quantised layers is: what the program computes is to come. */
static py_object *torch_set_flush_denormal(PY_ARGS) {
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "set_flush_denormal", "mode", PY_GIVEN, a)) return NULL;
    if (a[0] != p->true_ && a[0] != p->false_)
        return py_fail(p, r, "RuntimeError", "flush_denormal expects a bool, but got %s",
                       py_type_name(a[0]));
    return py_bool(p, float_mode_set_flush(a[0] == p->true_));
}

static py_object *torch_initial_seed(PY_ARGS) {
    PY_UNUSED_PARAMS;
    py_object *seed = py_module_member(p, "torch", "_seed");
    return seed ? seed : py_int(p, 67280421310721);
}

static py_object *torch_is_grad_enabled(PY_ARGS) {
    PY_UNUSED_PARAMS;
    return py_bool(p, !p->no_grad);
}

static py_object *torch_is_tensor(PY_ARGS) {
    py_object *a[1];
    (void)self;
    return py_bind(p, r, "is_tensor", "obj", PY_GIVEN, a) ? py_bool(p, py_is_tensor(a[0])) : NULL;
}

static py_object *torch_numel(PY_ARGS) {
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "numel", "input", PY_GIVEN, a)) return NULL;
    return py_is_tensor(a[0])
               ? py_trace_size(p, r, a[0], -1, py_int(p, a[0]->u.v.u.tensor->numel))
               : py_fail(p, r, "TypeError", "numel(): argument 'input' must be Tensor, not %s",
                         py_type_name(a[0]));
}

static py_object *torch_tracing_state(PY_ARGS) {
    PY_UNUSED_PARAMS;
    return py_tracing(p) ? p->true_ : p->none;
}

static py_object *torch_skips_init(PY_ARGS) {
    PY_UNUSED_PARAMS;
    return py_bool(p, p->host.skip_init);
}

/* Do initialisers draw as those of today's PyTorch? */
static py_object *torch_draws_anew(PY_ARGS) {
    PY_UNUSED_PARAMS;
    return py_bool(p, p->host.rng >= 2);
}

static py_object *torch_is_tracing(PY_ARGS) {
    PY_UNUSED_PARAMS;
    return py_bool(p, py_tracing(p));
}

static py_object *torch_assert(PY_ARGS) {
    py_object *a[2];
    (void)self;
    bool ok;
    if (!py_bind(p, r, "_assert", "condition message", PY_GIVEN, a) || !py_truth(p, r, a[0], &ok))
        return NULL;
    const char *text = py_as_text(a[1]);
    return ok ? p->none : py_fail(p, r, "AssertionError", "%s", text ? text : "");
}

static py_object *torch_typename(PY_ARGS) {
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "typename", "o", PY_GIVEN, a)) return NULL;
    if (!py_is_tensor(a[0])) return py_text(p, py_type_name(a[0]));
    return py_text(
        p, arena_printf(p->a, "torch.%sTensor", dtype_table[a[0]->u.v.u.tensor->dtype].ir_name));
}

static py_object *torch_false(PY_ARGS) { return PY_UNUSED_PARAMS, p->false_; }
static py_object *torch_none(PY_ARGS) { return PY_UNUSED_PARAMS, p->none; }
/* A device is there if a tensor can be made on it. */
static bool torch_has_cuda(int index) {
    const int64_t none = 0;
    tensor *t;
    if (index >= DEVICE_MAX || tensor_new_on(NULL, index + 1, DT_UINT8, 1, &none, &t) != CTSC_OK)
        return false;
    tensor_unref(t);
    return true;
}
static py_object *torch_cuda_available(PY_ARGS) {
    return PY_UNUSED_PARAMS, py_bool(p, torch_has_cuda(0));
}
static py_object *torch_cuda_count(PY_ARGS) {
    int n = 0;
    while (torch_has_cuda(n)) n++;
    return PY_UNUSED_PARAMS, py_int(p, n);
}
static py_object *torch_one(PY_ARGS) { return PY_UNUSED_PARAMS, py_int(p, 1); }
static py_object *torch_identity(PY_ARGS) {
    (void)r, (void)self, (void)nkw, (void)names, (void)kwargs;
    return nargs ? args[0] : p->none;
}
/* torch.compile(f), @torch.compile, @torch.compile(mode=...): nothing to do. */
static py_object *torch_compile(PY_ARGS) {
    (void)r, (void)self, (void)nkw, (void)names, (void)kwargs;
    if (nargs && !py_is_none(args[0])) return args[0];
    return py_builtin(p, "torch.compile", torch_identity);
}
static py_object *torch_cpu_device(PY_ARGS) {
    PY_UNUSED_PARAMS;
    return py_from_value(p, (value){.tag = V_DEVICE});
}
static py_object *torch_unavailable(PY_ARGS) {
    PY_UNUSED_PARAMS;
    return py_unsupported(
        p, r, "this function of torch is not available while a program is being compiled");
}

static const py_row torch_rows[] = {
    {"torch.tensor", torch_tensor},
    {"torch.as_tensor", torch_as_tensor},
    {"torch.asarray", torch_as_tensor},
    {"torch.get_default_dtype", torch_get_default_dtype},
    {"torch.set_default_dtype", torch_set_default_dtype},
    {"torch.set_default_tensor_type", torch_set_default_dtype},
    {"torch.promote_types", torch_promote_types},
    {"torch.manual_seed", torch_manual_seed},
    {"torch.initial_seed", torch_initial_seed},
    {"torch.is_grad_enabled", torch_is_grad_enabled},
    {"torch.is_tensor", torch_is_tensor},
    {"torch.numel", torch_numel},
    {"torch.typename", torch_typename},
    {"torch._assert", torch_assert},
    {"torch.is_storage", torch_false},
    {"torch.is_inference_mode_enabled", torch_false},
    {"torch.are_deterministic_algorithms_enabled", torch_false},
    {"torch.is_deterministic_algorithms_warn_only_enabled", torch_false},
    {"torch.use_deterministic_algorithms", torch_none},
    {"torch.set_printoptions", torch_none},
    {"torch.set_num_threads", torch_none},
    {"torch.set_num_interop_threads", torch_none},
    {"torch.set_flush_denormal", torch_set_flush_denormal},
    {"torch.set_float32_matmul_precision", torch_none},
    {"torch.get_num_threads", torch_one},
    {"torch.from_numpy", torch_from_numpy},
    {"torch.seed", torch_unavailable},
    /* No code is loaded: the operators of the library are ctsc's own, or those of --load-library;
     * one that neither has is refused where it is called. */
    {"torch.ops.load_library", torch_none},
    {"torch.compile", torch_compile},
    {"torch.set_default_device", torch_none},
    {"torch.get_default_device", torch_cpu_device},
    {"torch.random.manual_seed", torch_manual_seed},
    {"torch.random.initial_seed", torch_initial_seed},
    {"torch._C._load_data", torch_load_data},
    {"torch._C._get_tracing_state", torch_tracing_state},
    {"torch._C._is_tracing", torch_is_tracing},
    {"torch._C._skips_init", torch_skips_init},
    {"torch._C._draws_anew", torch_draws_anew},
    {"torch._C._log_api_usage_once", torch_none},
    {"torch.cuda.is_available", torch_cuda_available},
    {"torch.cuda.is_initialized", torch_false},
    {"torch.cuda.is_bf16_supported", torch_cuda_available},
    {"torch.cuda.device_count", torch_cuda_count},
    {"torch.cuda.manual_seed", torch_none},
    {"torch.cuda.manual_seed_all", torch_none},
    {"torch.cuda.empty_cache", torch_none},
    {"torch.cuda.synchronize", torch_none},
    {"torch.backends.cudnn.is_available", torch_false},
    {"torch.backends.cudnn.version", torch_none},
    {"torch.backends.cudnn.is_acceptable", torch_false},
    {"torch.backends.mkldnn.is_available", torch_false},
    {"torch.backends.mkl.is_available", torch_false},
    {"torch.backends.openmp.is_available", torch_false},
    {"torch.backends.mps.is_available", torch_false},
    {"torch.autograd.Variable", torch_identity},
    {"torch.onnx.is_in_onnx_export", torch_false},
    {"torch.distributed.is_available", torch_false},
    {"torch.distributed.is_initialized", torch_false},
    {"torch.fx.wrap", torch_identity},
    {NULL, NULL},
};

/* ---- classes --------------------------------------------------------------------------------- */

static const struct { const char *module, *name; py_builtin_fn make; } torch_classes[] = {
    {"torch", "Tensor", torch_make_tensor},
    {"torch", "device", torch_make_device},
    {"torch", "Size", torch_make_size},
    {"torch", "dtype", torch_refuse_class},
    {"torch", "layout", torch_refuse_class},
    {"torch", "memory_format", torch_refuse_class},
    {"torch", "qscheme", torch_refuse_class},
    {"torch", "Generator", torch_refuse_class},
    {"torch", "Stream", torch_refuse_class},
    {"torch", "SymInt", torch_refuse_class},
    {"torch", "SymFloat", torch_refuse_class},
    {"torch", "SymBool", torch_refuse_class},
    {"torch", "finfo", torch_finfo},
    {"torch", "iinfo", torch_iinfo},
    {"torch", "FloatTensor", torch_make_tensor},
    {"torch", "DoubleTensor", torch_make_tensor},
    {"torch", "HalfTensor", torch_make_tensor},
    {"torch", "BFloat16Tensor", torch_make_tensor},
    {"torch", "LongTensor", torch_make_tensor},
    {"torch", "IntTensor", torch_make_tensor},
    {"torch", "ShortTensor", torch_make_tensor},
    {"torch", "CharTensor", torch_make_tensor},
    {"torch", "ByteTensor", torch_make_tensor},
    {"torch", "BoolTensor", torch_make_tensor},
    {"torch.nn.parameter", "Parameter", torch_make_parameter},
};

static bool torch_add_classes(py *p, py_object *mod) {
    for (size_t i = 0; i < sizeof torch_classes / sizeof *torch_classes; i++) {
        if (strcmp(torch_classes[i].module, mod->u.mod.name)) continue;
        py_object *base = NULL;
        if (!strcmp(torch_classes[i].name, "Parameter")) {
            source_range nowhere = {0};
            py_object *torch = py_import(p, nowhere, "torch");
            if (!torch || !(base = py_dict_get(torch->u.mod.globals, "Tensor"))) return false;
        }
        py_object *cls = py_class_new(p, mod, torch_classes[i].name, base != NULL, &base,
                                      PYC_BUILTIN);
        if (!cls) return false;
        cls->u.cls->make = torch_classes[i].make;
        if (!py_module_set(p, mod, torch_classes[i].name, cls)) return false;
        if (torch_classes[i].make == torch_make_size) {
            py_object *numel = py_builtin(p, "torch.Size.numel", torch_size_numel);
            if (!numel) return false;
            numel->u.builtin.method = true;
            if (!py_dict_set(p, cls->u.cls->attrs, "numel", numel)) return false;
        }
    }
    return true;
}

/* ---- modules --------------------------------------------------------------------------------- */

/* Modules with nothing but the rows above, or operators: of "torch.linalg", NAME is
 * aten::linalg_NAME. */
static const struct { const char *name, *prefix; } torch_modules[] = {
    {"torch", "aten::"},
    {"torch.linalg", "aten::linalg_"},
    {"torch.special", "aten::special_"},
    {"torch.fft", "aten::fft_"},
    {"torch._C", "aten::"},
    {"torch._VF", "aten::"},
    {"torch._C._VariableFunctions", "aten::"},
    {"torch._C._nn", "aten::"},
    {"torch._C._fft", "aten::"},
    {"torch._C._linalg", "aten::"},
    {"torch._C._special", "aten::"},
    {"torch._C._nested", "aten::"},
    {"torch._C._sparse", "aten::"},
    {"torch.sparse", "aten::_sparse_"},
    {"torch.ops", NULL},
    {"torch.cuda", NULL},
    {"torch.cuda.amp", NULL},
    {"torch.cpu", NULL},
    {"torch.cpu.amp", NULL},
    {"torch.profiler", NULL},
    {"torch.amp", NULL},
    {"torch.backends", NULL},
    {"torch.backends.cudnn", NULL},
    {"torch.backends.cuda", NULL},
    {"torch.backends.mkldnn", NULL},
    {"torch.backends.mkl", NULL},
    {"torch.backends.mps", NULL},
    {"torch.backends.openmp", NULL},
    {"torch.backends.quantized", NULL},
    {"torch.autograd", NULL},
    {"torch.utils", NULL},
    {"torch.version", NULL},
    {"torch.random", NULL},
    {"torch.types", NULL},
    {"torch.onnx", NULL},
    {"torch.distributed", NULL},
    {"torch.fx", NULL},
    {"torch.nn.parameter", NULL},
};

/* Modules that may be imported, but not used. */
static const char *const torch_absent[] = {"torch.hub",
                                           "torch.quantization",
                                           "torch.ao",
                                           "torch.ao.quantization",
                                           "torch.testing",
                                           "torch.distributions",
                                           "torch.serialization",
                                           "torch.multiprocessing",
                                           "torch.package",
                                           "torch.storage",
                                           "torch._utils",
                                           "torch.utils.data",
                                           "torch.utils.data.dataset",
                                           "torch.utils.data.dataloader",
                                           "torch.utils.tensorboard",
                                           "torch.utils.model_zoo",
                                           "torch.utils.hooks",
                                           "torch.mps",
                                           "torch.classes",
                                           "torch.nn.parallel",
                                           "torch.autograd.gradcheck",
                                           "torch.utils.cpp_extension",
                                           "torch.distributed.rpc",
                                           "torch.fx.node",
                                           "torch.jit._builtins"};

static bool torch_fill(py *p, py_object *mod) {
    source_range nowhere = {0};
    for (size_t i = 0; i < sizeof torch_symbols / sizeof *torch_symbols; i++)
        if (torch_symbols[i].name &&
            !py_module_set_take(
                p, mod, torch_symbols[i].name,
                py_symbol_object(p, nowhere, torch_symbols[i].kind, torch_symbols[i].v)))
            return false;
    for (size_t i = 0; i < sizeof torch_numbers / sizeof *torch_numbers; i++)
        if (!py_module_set_take(p, mod, torch_numbers[i].name, py_float(p, torch_numbers[i].v)))
            return false;
    static const char *const lacking[] = {"has_cuda",   "has_cudnn", "has_mkl",
                                          "has_mkldnn", "has_mps",   "has_openmp"};
    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++)
        if (!py_module_set(p, mod, lacking[i], p->false_)) return false;
    return true;
}

static bool torch_fill_quantized(py *p, py_object *mod) {
    py_object *names[QENGINE_COUNT];
    for (int i = 0; i < QENGINE_COUNT; i++)
        if (!(names[i] = py_text(p, qengine_names[i]))) return false;
    return py_module_set(p, mod, "engine", names[qengine_get()]) &&
           py_module_set_take(p, mod, "supported_engines", py_list(p, QENGINE_COUNT, names));
}

/* torch.backends.quantized.engine = v: the one attribute of a module whose
 * setting does something. */
/* torch.backends.quantized.engine = v */
static bool torch_set_engine(py *p, source_range r, const py_object *v) {
    const char *name = py_as_text(v);
    qengine e;
    switch (name ? qengine_find(name, &e) : QENGINE_UNKNOWN) {
    case QENGINE_KNOWN: qengine_set(e); return true;
    case QENGINE_UNSUPPORTED:
        return py_fail(p, r, "RuntimeError", "quantized engine %s is not supported", name), false;
    default:
        return py_fail(p, r, "RuntimeError", "%s is not a valid value for quantized engine",
                       name ? name : py_type_name(v)),
               false;
    }
}

bool py_torch_assigned(py *p, source_range r, const py_object *mod, const char *name,
                       const py_object *v) {
    return strcmp(mod->u.mod.name, "torch.backends.quantized") || strcmp(name, "engine") ||
           torch_set_engine(p, r, v);
}

static bool torch_fill_other(py *p, py_object *mod, const char *dotted) {
    if (!strcmp(dotted, "torch.version"))
        return py_module_set(p, mod, "cuda", p->none) && py_module_set(p, mod, "hip", p->none);
    if (!strcmp(dotted, "torch.linalg")) /* kernels fail with a RuntimeError */
        return py_module_set_take(p, mod, "LinAlgError", py_builtin_named(p, "RuntimeError"));
    if (!strcmp(dotted, "torch.backends.cuda")) { /* matmul.allow_tf32 may be set */
        py_object *matmul = py_instance(p, p->object_class);
        if (!matmul || !py_module_set(p, mod, "matmul", matmul)) return false;
    }
    if (!strncmp(dotted, "torch.backends.cud", 18))
        return py_module_set(p, mod, "enabled", p->true_) &&
               py_module_set(p, mod, "benchmark", p->false_) &&
               py_module_set(p, mod, "deterministic", p->false_) &&
               py_module_set(p, mod, "allow_tf32", p->true_);
    if (!strcmp(dotted, "torch.backends.quantized")) return torch_fill_quantized(p, mod);
    return true;
}

bool py_torch_module(py *p, const char *dotted, py_object *mod) {
    if (strncmp(dotted, "torch", 5)) return false;
    if (!strncmp(dotted, "torch.ops.", 10)) return true;
    bool known = TORCH_LISTED(torch_absent, dotted);
    for (size_t i = 0; i < sizeof torch_modules / sizeof *torch_modules; i++)
        known |= !strcmp(torch_modules[i].name, dotted);
    if (!known) return false;
    if (!strcmp(dotted, "torch") && !torch_fill(p, mod)) return false;
    return torch_fill_other(p, mod, dotted) && torch_add_classes(p, mod) &&
           py_add_rows(p, mod, torch_rows) && py_add_rows(p, mod, py_script_rows) &&
           py_add_rows(p, mod, py_gradients_rows) && py_add_rows(p, mod, py_autocast_rows);
}

/* ---- members on demand ----------------------------------------------------------------------- */

static py_object *torch_operator_named(py *p, const char *name) {
    py_object *o = py_new(p, PY_OPERATOR);
    o->u.op_name = intern(p->names, name);
    return o;
}

static py_object *torch_operator(py *p, const char *name) {
    int n;
    op_overloads(name, &n);
    return n ? torch_operator_named(p, name) : NULL;
}

static py_object *torch_member_of(py *p, const char *module, const char *name) {
    source_range nowhere = {0};
    py_object *mod = py_import(p, nowhere, module);
    return mod ? py_find(p, nowhere, mod, name) : NULL;
}

/* torch.ops.ns.name: torch.ops.ns is a module made when it is named. */
static py_object *torch_ops_member(py *p, const char *module, const char *name) {
    source_range nowhere = {0};
    if (!strcmp(module, "torch.ops"))
        return py_import(p, nowhere, arena_printf(p->a, "torch.ops.%s", name));
    const char *space = module + strlen("torch.ops."),
               *op = arena_printf(p->a, "%s::%s", space, name);
    /* compiling says what is missing */
    return op_space_known(space) ? torch_operator(p, op) : torch_operator_named(p, op);
}

static py_object *torch_submodule(py *p, const char *module, const char *name) {
    source_range nowhere = {0};
    const char *dotted = arena_printf(p->a, "%s.%s", module, name);
    bool known = TORCH_LISTED(torch_absent, dotted);
    for (size_t i = 0; i < sizeof torch_modules / sizeof *torch_modules; i++)
        known |= !strcmp(torch_modules[i].name, dotted);
    known |= prelude_has(dotted);
    return known ? py_import(p, nowhere, dotted) : NULL;
}

py_object *py_torch_missing(py *p, py_object *mod, const char *name) {
    const char *module = mod->u.mod.name;
    source_range nowhere = {0};
    if (strncmp(module, "torch", 5)) return NULL;
    if (!strncmp(module, "torch.ops", 9)) return torch_ops_member(p, module, name);
    for (size_t i = 0; i < sizeof torch_elsewhere / sizeof *torch_elsewhere; i++)
        if (!strcmp(torch_elsewhere[i].module, module) && !strcmp(torch_elsewhere[i].name, name))
            return torch_member_of(p, torch_elsewhere[i].home, name);
    if (!strcmp(module, "torch")) {
        if (TORCH_LISTED(torch_submodules, name))
            return py_import(p, nowhere, arena_printf(p->a, "torch.%s", name));
        if (TORCH_LISTED(torch_functional, name)) {
            py_object *o = torch_member_of(p, "torch.functional", name);
            if (o || p->diag->status != CTSC_OK) return o;
        }
    }
    py_object *sub = torch_submodule(p, module, name);
    if (sub || p->diag->status != CTSC_OK) return sub;
    for (size_t i = 0; i < sizeof torch_modules / sizeof *torch_modules; i++)
        if (torch_modules[i].prefix && !strcmp(torch_modules[i].name, module))
            return torch_operator(p, arena_printf(p->a, "%s%s", torch_modules[i].prefix, name));
    return TORCH_LISTED(torch_absent, module) ? py_absent(p, module, name) : NULL;
}
