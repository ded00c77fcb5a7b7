/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dnn.c - convolutions by cuDNN 9, opened at run time, through its graph interface.
 *
 *     x, w -> convolution -> (y) -> + other -> (y) -> + bias -> (y) -> relu, gelu -> y             (y): exists inside the kernel only
 *
 * Method. The problem is described as such a graph of operations, each step only where it is asked
 * for, in the order that cuDNN's own kernels for residual blocks know. Its heuristics (mode A,
 * then the fallback list) propose engines, best first; the first that is allowed and can be made
 * into a plan is taken. Not allowed are engines that round floats to TF32 or less, those whose
 * results differ from run to run, and those that want too much memory. Plans are kept by kind of
 * problem (sizes, types, alignment, epilogue), and so is that there is none; the workspace of a
 * call is the allocator's.
 *
 * What is between the descriptors of a plan belongs to cuDNN: they are kept until the plan goes.
 * Depthwise and transposed convolutions, and all that cuDNN refuses, are kernels/conv.cu's.
 * cuda/library.h looks for it; CTSC_CUDNN in the environment names another file to open.
 * Tests: tests/unit/test_cuda_dnn.c, on a simulated cuDNN (tests/cuda/sim/dnn.c)
 */
#include "runtime/cuda/dense.h"

#include "cuda/capture.h"
#include "cuda/library.h"
#include "runtime/cuda/dnn_abi.h"
#include "runtime/cuda/plans.h"

#include <pthread.h>

/* ---- the library ----------------------------------------------------------------------------- */

static struct dnn_functions {
#define DNN_MEMBER(name, args) int(*name) args;
    DNN_FUNCTIONS(DNN_MEMBER)
#undef DNN_MEMBER
} dnn;

static const cuda_symbol dnn_symbols[] = {
#define DNN_SYMBOL(name, args) {"cudnn" #name, offsetof(struct dnn_functions, name)},
    DNN_FUNCTIONS(DNN_SYMBOL)
#undef DNN_SYMBOL
};
static const char *const dnn_names[] = {"libcudnn.so.9", NULL};

static cuda_library dnn_library = {
    .variable = VARIABLE_CUDNN,
    .names = dnn_names,
    .toolkit_file = "libcudnn.so.9",
    .symbols = dnn_symbols,
    .count = sizeof dnn_symbols / sizeof *dnn_symbols,
    .table = &dnn,
};

const char *dnn_file(void) { return cuda_library_open(&dnn_library) ? dnn_library.file : ""; }

/* ---- devices --------------------------------------------------------------------------------- */

enum { DNN_DEVICES = 64, DNN_DIMS = 5, DNN_OBJECTS = 64, DNN_PROPOSALS = 16, DNN_NOTES = 32 };
static const int64_t dnn_most_workspace = (int64_t)512 << 20;

typedef struct dnn_device {
    bool opened, works;
    dnn_object handle;
    void *stream;     /* that the handle was given last */
    plan_table plans; /* dnn_kind to dnn_plan */
} dnn_device;

static dnn_device dnn_devices[DNN_DEVICES]; /* live as long as the process; dnn_lock */
static pthread_mutex_t dnn_lock = PTHREAD_MUTEX_INITIALIZER;

static dnn_device *dnn_device_of(diag *d, cuda *c) {
    if (cuda_index(c) >= DNN_DEVICES) return NULL;
    dnn_device *dev = &dnn_devices[cuda_index(c)];
    if (!dev->opened) {
        dev->opened = true;
        dev->works = cuda_library_open(&dnn_library) && cuda_enter(c, d) == CTSC_OK &&
                     dnn.Create(&dev->handle) == DNN_SUCCESS;
    }
    return dev->works ? dev : NULL;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

/* What decides how a convolution is done, compared as bytes. Sizes as in dense_conv, except for
 * leading dims of one element beyond two. */
typedef struct dnn_kind {
    int64_t batch, in_channels, group_channels, out_channels, in[3], kernel[3], outs[3], stride[3],
        pad[3], pad_behind[3], dilation[3];
    int32_t dims, dt, activation, bias, other, align_input, align_weight, align_out, align_bias,
        align_other;
} dnn_kind;

typedef struct dnn_plan {
    dnn_object objects[DNN_OBJECTS]; /* all descriptors it is made of */
    int count;
    dnn_object plan; /* one of them; NULL: there is no way */
    int64_t workspace;
} dnn_plan;

/* The numbers that tensors have in a graph. */
enum { DNN_INPUT = 1, DNN_WEIGHT, DNN_OUT, DNN_BIAS, DNN_OTHER, DNN_INSIDE };

/* A new descriptor of the plan; NULL: there is none. */
static dnn_object dnn_new(dnn_plan *p, enum dnn_descriptor what) {
    dnn_object o;
    if (p->count == DNN_OBJECTS || dnn.BackendCreateDescriptor((int)what, &o) != DNN_SUCCESS)
        return NULL;
    return p->objects[p->count++] = o;
}

static bool dnn_set(dnn_object o, enum dnn_attribute a, enum dnn_type type, int64_t count,
                    const void *elements) {
    return o && dnn.BackendSetAttribute(o, (int)a, (int)type, count, elements) == DNN_SUCCESS;
}
static bool dnn_set_int(dnn_object o, enum dnn_attribute a, int64_t v) {
    return dnn_set(o, a, DNN_TYPE_INT64, 1, &v);
}
static bool dnn_set_enum(dnn_object o, enum dnn_attribute a, enum dnn_type type, int32_t v) {
    return dnn_set(o, a, type, 1, &v);
}
static bool dnn_set_object(dnn_object o, enum dnn_attribute a, dnn_object v) {
    return v && dnn_set(o, a, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &v);
}
/* NULL unless ok and complete. */
static dnn_object dnn_finish(dnn_object o, bool ok) {
    return ok && dnn.BackendFinalize(o) == DNN_SUCCESS ? o : NULL;
}

static enum dnn_data dnn_data_of(dtype dt) {
    return dt == DT_FLOAT64    ? DNN_DOUBLE
           : dt == DT_FLOAT16  ? DNN_HALF
           : dt == DT_BFLOAT16 ? DNN_BFLOAT16
                               : DNN_FLOAT;
}
/* What is computed in, and what is between the operations. */
static enum dnn_data dnn_compute_of(dtype dt) { return dt == DT_FLOAT64 ? DNN_DOUBLE : DNN_FLOAT; }

/* [first, second, sizes...], contiguous. id: DNN_INSIDE and above for what exists inside
 * the kernel only. */
static dnn_object dnn_tensor(dnn_plan *p, const dnn_kind *k, int64_t id, int64_t first,
                             int64_t second, const int64_t *sizes, int32_t alignment) {
    int64_t dims[DNN_DIMS] = {first, second}, strides[DNN_DIMS];
    int n = k->dims + 2;
    bool inside = id >= DNN_INSIDE;
    for (int i = 2; i < n; i++) dims[i] = sizes ? sizes[i - 2] : 1;
    strides[n - 1] = 1;
    for (int i = n - 2; i >= 0; i--) strides[i] = strides[i + 1] * dims[i + 1];
    dnn_object t = dnn_new(p, DNN_TENSOR);
    bool ok = dnn_set_enum(
                  t, DNN_ATTR_TENSOR_DATA_TYPE, DNN_TYPE_DATA_TYPE,
                  (int32_t)(inside ? dnn_compute_of((dtype)k->dt) : dnn_data_of((dtype)k->dt))) &&
              dnn_set(t, DNN_ATTR_TENSOR_DIMENSIONS, DNN_TYPE_INT64, n, dims) &&
              dnn_set(t, DNN_ATTR_TENSOR_STRIDES, DNN_TYPE_INT64, n, strides) &&
              dnn_set_int(t, DNN_ATTR_TENSOR_UNIQUE_ID, id) &&
              dnn_set_int(t, DNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment) &&
              (!inside || dnn_set(t, DNN_ATTR_TENSOR_IS_VIRTUAL, DNN_TYPE_BOOLEAN, 1, &inside));
    return dnn_finish(t, ok);
}

static dnn_object dnn_convolution(dnn_plan *p, const dnn_kind *k) {
    dnn_object c = dnn_new(p, DNN_CONVOLUTION);
    int64_t n = k->dims;
    bool ok = dnn_set_enum(c, DNN_ATTR_CONVOLUTION_COMP_TYPE, DNN_TYPE_DATA_TYPE,
                           (int32_t)dnn_compute_of((dtype)k->dt)) &&
              dnn_set_enum(c, DNN_ATTR_CONVOLUTION_CONV_MODE, DNN_TYPE_CONVOLUTION_MODE,
                           DNN_CROSS_CORRELATION) &&
              dnn_set_int(c, DNN_ATTR_CONVOLUTION_SPATIAL_DIMS, n) &&
              dnn_set(c, DNN_ATTR_CONVOLUTION_DILATIONS, DNN_TYPE_INT64, n, k->dilation) &&
              dnn_set(c, DNN_ATTR_CONVOLUTION_FILTER_STRIDES, DNN_TYPE_INT64, n, k->stride) &&
              dnn_set(c, DNN_ATTR_CONVOLUTION_PRE_PADDINGS, DNN_TYPE_INT64, n, k->pad) &&
              dnn_set(c, DNN_ATTR_CONVOLUTION_POST_PADDINGS, DNN_TYPE_INT64, n, k->pad_behind);
    return dnn_finish(c, ok);
}

static dnn_object dnn_do_convolution(dnn_plan *p, const dnn_kind *k, dnn_object y) {
    const double ones[2] = {1, 0};
    const float ones_f[2] = {1, 0};
    bool wide = k->dt == DT_FLOAT64;
    enum dnn_type type = wide ? DNN_TYPE_DOUBLE : DNN_TYPE_FLOAT;
    dnn_object x = dnn_tensor(p, k, DNN_INPUT, k->batch, k->in_channels, k->in, k->align_input);
    dnn_object w = dnn_tensor(p, k, DNN_WEIGHT, k->out_channels, k->group_channels, k->kernel,
                              k->align_weight);
    dnn_object c = dnn_convolution(p, k), o = dnn_new(p, DNN_DO_CONVOLUTION);
    bool ok = dnn_set(o, DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, type, 1,
                      wide ? (const void *)&ones[0] : &ones_f[0]) &&
              dnn_set(o, DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, type, 1,
                      wide ? (const void *)&ones[1] : &ones_f[1]) &&
              dnn_set_object(o, DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, c) &&
              dnn_set_object(o, DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x) &&
              dnn_set_object(o, DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w) &&
              dnn_set_object(o, DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
    return dnn_finish(o, ok);
}

/* y = mode(x), or of x and b. */
static dnn_object dnn_do_pointwise(dnn_plan *p, const dnn_kind *k, int32_t mode, dnn_object x,
                                   dnn_object b, dnn_object y) {
    dnn_object how = dnn_new(p, DNN_POINTWISE), o = dnn_new(p, DNN_DO_POINTWISE);
    bool ok = dnn_set_enum(how, DNN_ATTR_POINTWISE_MODE, DNN_TYPE_POINTWISE_MODE, mode) &&
              dnn_set_enum(how, DNN_ATTR_POINTWISE_MATH_PREC, DNN_TYPE_DATA_TYPE,
                           (int32_t)dnn_compute_of((dtype)k->dt));
    how = dnn_finish(how, ok);
    ok = dnn_set_object(o, DNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how) &&
         dnn_set_object(o, DNN_ATTR_OPERATION_POINTWISE_XDESC, x) &&
         (mode != DNN_ADD || dnn_set_object(o, DNN_ATTR_OPERATION_POINTWISE_BDESC, b)) &&
         dnn_set_object(o, DNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    return dnn_finish(o, ok);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* The graph of a convolution, as it grows. */
typedef struct dnn_graph {
    dnn_object ops[4];
    int count;
    int steps; /* still to come; the last one writes the result */
    dnn_object y;
} dnn_graph;

static dnn_object dnn_next_result(dnn_plan *p, const dnn_kind *k, dnn_graph *g) {
    int64_t id = g->steps == 1 ? DNN_OUT : DNN_INSIDE + g->steps;
    g->steps--;
    return dnn_tensor(p, k, id, k->batch, k->out_channels, k->outs, k->align_out);
}

static bool dnn_step(dnn_plan *p, const dnn_kind *k, dnn_graph *g, int32_t mode, dnn_object b) {
    dnn_object y = dnn_next_result(p, k, g);
    dnn_object o = dnn_do_pointwise(p, k, mode, g->y, b, y);
    g->y = y;
    return (g->ops[g->count++] = o) != NULL;
}

static dnn_object dnn_graph_of(const dnn_device *dev, dnn_plan *p, const dnn_kind *k) {
    static const int32_t modes[] = {
        [DENSE_RELU] = DNN_RELU, [DENSE_GELU] = DNN_GELU, [DENSE_GELU_TANH] = DNN_GELU_TANH};
    dnn_graph g = {.steps = 1 + k->other + k->bias + (k->activation != DENSE_PLAIN)};
    g.y = dnn_next_result(p, k, &g);
    if (!(g.ops[g.count++] = dnn_do_convolution(p, k, g.y))) return NULL;
    if (k->other &&
        !dnn_step(p, k, &g, DNN_ADD,
                  dnn_tensor(p, k, DNN_OTHER, k->batch, k->out_channels, k->outs, k->align_other)))
        return NULL;
    if (k->bias && !dnn_step(p, k, &g, DNN_ADD,
                             dnn_tensor(p, k, DNN_BIAS, 1, k->out_channels, NULL, k->align_bias)))
        return NULL;
    if (k->activation != DENSE_PLAIN && !dnn_step(p, k, &g, modes[k->activation], NULL))
        return NULL;
    dnn_object o = dnn_new(p, DNN_GRAPH);
    bool ok = dnn_set(o, DNN_ATTR_OPERATIONGRAPH_HANDLE, DNN_TYPE_HANDLE, 1, &dev->handle) &&
              dnn_set(o, DNN_ATTR_OPERATIONGRAPH_OPS, DNN_TYPE_BACKEND_DESCRIPTOR, g.count, g.ops);
    return dnn_finish(o, ok);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static bool dnn_config_allowed(dnn_plan *p, const dnn_kind *k, dnn_object config) {
    dnn_object engine = dnn_new(p, DNN_ENGINE);
    int32_t notes[DNN_NOTES];
    int64_t n = 0;
    if (!engine ||
        dnn.BackendGetAttribute(config, DNN_ATTR_ENGINECFG_ENGINE, DNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                &n, &engine) != DNN_SUCCESS)
        return false;
    if (dnn.BackendGetAttribute(engine, DNN_ATTR_ENGINE_NUMERICAL_NOTE, DNN_TYPE_NUMERICAL_NOTE,
                                DNN_NOTES, &n, notes) != DNN_SUCCESS)
        return false;
    for (int64_t i = 0; i < n && i < DNN_NOTES; i++) {
        bool rounds = notes[i] == DNN_NOTE_DOWN_CONVERT_INPUTS ||
                      notes[i] == DNN_NOTE_REDUCED_PRECISION_REDUCTION ||
                      (notes[i] == DNN_NOTE_TENSOR_CORE && k->dt == DT_FLOAT32);
        if (rounds || notes[i] == DNN_NOTE_NONDETERMINISTIC) return false;
    }
    return true;
}

static bool dnn_plan_config(const dnn_device *dev, dnn_plan *p, dnn_object config) {
    dnn_object o = dnn_new(p, DNN_PLAN);
    int64_t n = 0, workspace = 0;
    bool ok = dnn_set(o, DNN_ATTR_EXECUTION_PLAN_HANDLE, DNN_TYPE_HANDLE, 1, &dev->handle) &&
              dnn_set_object(o, DNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    if (!dnn_finish(o, ok)) return false;
    if (dnn.BackendGetAttribute(o, DNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, DNN_TYPE_INT64, 1, &n,
                                &workspace) != DNN_SUCCESS)
        return false;
    if (workspace < 0 || workspace > dnn_most_workspace) return false;
    p->plan = o;
    p->workspace = workspace;
    return true;
}

/* Descriptors of the plan beyond the first n go. */
static void dnn_drop(dnn_plan *p, int n) {
    while (p->count > n) dnn.BackendDestroyDescriptor(p->objects[--p->count]);
}

/* Makes a plan of the first proposal that can be one. */
static bool dnn_ask(const dnn_device *dev, dnn_plan *p, const dnn_kind *k, dnn_object graph,
                    int32_t mode) {
    dnn_object configs[DNN_PROPOSALS], heuristics = dnn_new(p, DNN_HEURISTICS);
    int64_t found = 0;
    bool ok = dnn_set_object(heuristics, DNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph) &&
              dnn_set_enum(heuristics, DNN_ATTR_ENGINEHEUR_MODE, DNN_TYPE_HEUR_MODE, mode);
    if (!dnn_finish(heuristics, ok)) return false;
    for (int i = 0; i < DNN_PROPOSALS; i++)
        if (!(configs[i] = dnn_new(p, DNN_CONFIG))) return false;
    if (dnn.BackendGetAttribute(heuristics, DNN_ATTR_ENGINEHEUR_RESULTS,
                                DNN_TYPE_BACKEND_DESCRIPTOR, DNN_PROPOSALS, &found,
                                configs) != DNN_SUCCESS)
        return false;
    for (int64_t i = 0; i < found && i < DNN_PROPOSALS; i++) {
        int before = p->count;
        if (dnn_config_allowed(p, k, configs[i]) && dnn_plan_config(dev, p, configs[i]))
            return true;
        dnn_drop(p, before);
    }
    return false;
}

static void dnn_plan_make(const dnn_device *dev, const dnn_kind *k, dnn_plan *p) {
    *p = (dnn_plan){0};
    dnn_object graph = dnn_graph_of(dev, p, k);
    int before = p->count;
    if (graph && dnn_ask(dev, p, k, graph, DNN_HEURISTICS_A)) return;
    dnn_drop(p, before);
    if (graph && dnn_ask(dev, p, k, graph, DNN_HEURISTICS_FALLBACK)) return;
    dnn_drop(p, 0);
}

/* The plan for that kind; own: where it is made if it is not kept. */
static dnn_plan *dnn_plan_for(dnn_device *dev, const dnn_kind *k, dnn_plan *own) {
    dnn_plan *p = plan_find(&dev->plans, k, sizeof *k);
    if (p) return p;
    dnn_plan_make(dev, k, own);
    p = plan_keep(&dev->plans, k, sizeof *k, own, sizeof *own);
    return p ? p : own;
}

/* ---- convolutions ---------------------------------------------------------------------------- */

static int32_t dnn_alignment(const void *p) {
    uintptr_t bits = (uintptr_t)p | 256;
    return (int32_t)(bits & -bits);
}

/* Padding to add at the end of a dim, so that it has its
 * outputs: as much as at the beginning, if that is enough. */
static int64_t dnn_pad_behind(const dense_conv *p, int i) {
    dense_int extent = p->dilation[i] * (p->kernel[i] - 1) + 1;
    bool even = (p->in[i] + 2 * p->pad[i] - extent) / p->stride[i] + 1 == p->outs[i];
    return even ? p->pad[i] : (p->outs[i] - 1) * p->stride[i] + extent - p->in[i] - p->pad[i];
}

static dnn_kind dnn_kind_of(dtype dt, const dense_conv *p) {
    dnn_kind k;
    memset(&k, 0, sizeof k);
    int skip = p->in[0] == 1 && p->kernel[0] == 1 && p->outs[0] == 1 && p->pad[0] == 0 ? 1 : 0;
    k.batch = p->batch, k.in_channels = p->groups * p->ci, k.group_channels = p->ci,
    k.out_channels = p->groups * p->co;
    for (int i = skip; i < 3; i++) {
        int to = i - skip;
        k.in[to] = p->in[i], k.kernel[to] = p->kernel[i], k.outs[to] = p->outs[i],
        k.stride[to] = p->stride[i];
        k.pad[to] = p->pad[i], k.pad_behind[to] = dnn_pad_behind(p, i),
        k.dilation[to] = p->dilation[i];
    }
    const dense_epilogue *e = &p->epilogue;
    k.dims = 3 - skip, k.dt = (int32_t)dt, k.activation = e->activation, k.bias = e->bias != NULL,
    k.other = e->other != NULL;
    k.align_input = dnn_alignment(p->input), k.align_weight = dnn_alignment(p->weight),
    k.align_out = dnn_alignment(p->out);
    k.align_bias = dnn_alignment(e->bias), k.align_other = dnn_alignment(e->other);
    return k;
}

/* A convolution with its plan: what cuda_call is given. */
typedef struct dnn_run {
    dnn_device *device;
    const dnn_plan *plan;
    const void *input, *weight, *bias, *other;
    void *out, *workspace;
} dnn_run;

static bool dnn_pack(dnn_object pack, const dnn_run *r) {
    int64_t ids[5] = {DNN_INPUT, DNN_WEIGHT, DNN_OUT};
    const void *at[5] = {r->input, r->weight, r->out};
    int n = 3;
    if (r->bias) ids[n] = DNN_BIAS, at[n++] = r->bias;
    if (r->other) ids[n] = DNN_OTHER, at[n++] = r->other;
    return dnn_finish(
               pack,
               dnn_set(pack, DNN_ATTR_VARIANT_PACK_UNIQUE_IDS, DNN_TYPE_INT64, n, ids) &&
                   dnn_set(pack, DNN_ATTR_VARIANT_PACK_DATA_POINTERS, DNN_TYPE_VOID_PTR, n, at) &&
                   dnn_set(pack, DNN_ATTR_VARIANT_PACK_WORKSPACE, DNN_TYPE_VOID_PTR, 1,
                           &r->workspace)) != NULL;
}

static ctsc_status dnn_convolve(diag *d, void *stream, const void *params) {
    const dnn_run *r = params;
    dnn_object pack;
    int code = r->device->stream == stream ? DNN_SUCCESS : dnn.SetStream(r->device->handle, stream);
    if (code == DNN_SUCCESS) {
        r->device->stream = stream;
        code = dnn.BackendCreateDescriptor(DNN_PACK, &pack);
    }
    if (code == DNN_SUCCESS) {
        code = dnn_pack(pack, r) ? dnn.BackendExecute(r->device->handle, r->plan->plan, pack) : -1;
        dnn.BackendDestroyDescriptor(pack);
    }
    return code == DNN_SUCCESS
               ? CTSC_OK
               : diag_fail(d, CTSC_FAILED, "cuDNN: a convolution failed (status %d)", code);
}

/* False: there is no memory for the plan, and nothing has happened. */
static bool dnn_execute(diag *d, cuda *c, dnn_device *dev, const dnn_plan *p,
                        const dense_conv *conv, ctsc_status *status) {
    const dense_epilogue *e = &conv->epilogue;
    dnn_run r = {dev, p, conv->input, conv->weight, e->bias, e->other, conv->out, NULL};
    if (cuda_alloc(c, NULL, (size_t)p->workspace, &r.workspace) != CTSC_OK) return false;
    *status = cuda_call(c, d, dnn_convolve, &r, sizeof r);
    cuda_free(c, r.workspace); /* its next user uses it later in the stream */
    return true;
}

bool dnn_conv(diag *d, cuda *c, dtype dt, const dense_conv *conv, ctsc_status *status) {
    if (!dtype_is_float(dt) || conv->ci == 0 || conv->in_size == 0) return false;
    pthread_mutex_lock(&dnn_lock);
    dnn_device *dev = dnn_device_of(d, c);
    bool done = false;
    if (dev && cuda_enter(c, d) == CTSC_OK) {
        dnn_kind kind = dnn_kind_of(dt, conv);
        dnn_plan own, *p = dnn_plan_for(dev, &kind, &own);
        *status = p == &own ? cuda_capture_refuse(d, "a convolution whose plan cannot be kept")
                            : CTSC_OK;
        done = p->plan && (*status != CTSC_OK || dnn_execute(d, c, dev, p, conv, status));
        if (p == &own) dnn_drop(&own, 0);
    }
    pthread_mutex_unlock(&dnn_lock);
    return done;
}
