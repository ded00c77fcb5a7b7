/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dnn.c - cuDNN's graph interface without a device (library.h): the functions of
 * src/runtime/cuda/dnn_abi.h.
 *
 * A descriptor is a bag of attributes; the table says which belong to it, of which types, and which
 * it needs. Finalizing checks that shapes fit, as does executing that pointers do. It knows one
 * kind of graph, a convolution followed by pointwise operations: sums and relu, no gelu, and
 * none at all for doubles. Its heuristics propose four engines: one that uses tensor cores, one
 * that is not deterministic, one that cannot be made into a plan, and one that works.
 */
#include "library.h"
#include "runtime/cuda/dnn_abi.h"

#include <stdlib.h>
#include <string.h>

#define DNN_PROTOTYPE(name, args) SIM_API int cudnn##name args;
DNN_FUNCTIONS(DNN_PROTOTYPE)

enum { DNN_NOT_SUPPORTED = 3000, DNN_EXECUTION_FAILED = 5000 };
enum {
    DNN_MOST_ATTRIBUTES = 10,
    DNN_DIMS = 5,
    DNN_OPS = 4,
    DNN_ENGINES = 4,
    DNN_WORKING_ENGINE = 3,
    DNN_WORKSPACE = 1 << 16
};
enum { DNN_HANDLE_TAG = 0xd44, DNN_DESCRIPTOR_TAG = 0xd45 };

/* ---- attributes ------------------------------------------------------------------------------ */

typedef struct dnn_row {
    int descriptor, attribute, type, needed;
} dnn_row;

#define ROW(descriptor, attribute, type, needed)                                                   \
    {DNN_##descriptor, DNN_ATTR_##attribute, DNN_TYPE_##type, needed}
static const dnn_row dnn_rows[] = {
    ROW(POINTWISE, POINTWISE_MODE, POINTWISE_MODE, 1),
    ROW(POINTWISE, POINTWISE_MATH_PREC, DATA_TYPE, 1),
    ROW(CONVOLUTION, CONVOLUTION_COMP_TYPE, DATA_TYPE, 1),
    ROW(CONVOLUTION, CONVOLUTION_CONV_MODE, CONVOLUTION_MODE, 1),
    ROW(CONVOLUTION, CONVOLUTION_DILATIONS, INT64, 1),
    ROW(CONVOLUTION, CONVOLUTION_FILTER_STRIDES, INT64, 1),
    ROW(CONVOLUTION, CONVOLUTION_POST_PADDINGS, INT64, 1),
    ROW(CONVOLUTION, CONVOLUTION_PRE_PADDINGS, INT64, 1),
    ROW(CONVOLUTION, CONVOLUTION_SPATIAL_DIMS, INT64, 1),
    ROW(HEURISTICS, ENGINEHEUR_MODE, HEUR_MODE, 1),
    ROW(HEURISTICS, ENGINEHEUR_OPERATION_GRAPH, BACKEND_DESCRIPTOR, 1),
    ROW(PLAN, EXECUTION_PLAN_HANDLE, HANDLE, 1),
    ROW(PLAN, EXECUTION_PLAN_ENGINE_CONFIG, BACKEND_DESCRIPTOR, 1),
    ROW(DO_CONVOLUTION, OPERATION_CONVOLUTION_FORWARD_ALPHA, FLOAT, 1),
    ROW(DO_CONVOLUTION, OPERATION_CONVOLUTION_FORWARD_BETA, FLOAT, 1),
    ROW(DO_CONVOLUTION, OPERATION_CONVOLUTION_FORWARD_CONV_DESC, BACKEND_DESCRIPTOR, 1),
    ROW(DO_CONVOLUTION, OPERATION_CONVOLUTION_FORWARD_W, BACKEND_DESCRIPTOR, 1),
    ROW(DO_CONVOLUTION, OPERATION_CONVOLUTION_FORWARD_X, BACKEND_DESCRIPTOR, 1),
    ROW(DO_CONVOLUTION, OPERATION_CONVOLUTION_FORWARD_Y, BACKEND_DESCRIPTOR, 1),
    ROW(DO_POINTWISE, OPERATION_POINTWISE_PW_DESCRIPTOR, BACKEND_DESCRIPTOR, 1),
    ROW(DO_POINTWISE, OPERATION_POINTWISE_XDESC, BACKEND_DESCRIPTOR, 1),
    ROW(DO_POINTWISE, OPERATION_POINTWISE_BDESC, BACKEND_DESCRIPTOR, 0),
    ROW(DO_POINTWISE, OPERATION_POINTWISE_YDESC, BACKEND_DESCRIPTOR, 1),
    ROW(GRAPH, OPERATIONGRAPH_HANDLE, HANDLE, 1),
    ROW(GRAPH, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, 1),
    ROW(TENSOR, TENSOR_BYTE_ALIGNMENT, INT64, 1),
    ROW(TENSOR, TENSOR_DATA_TYPE, DATA_TYPE, 1),
    ROW(TENSOR, TENSOR_DIMENSIONS, INT64, 1),
    ROW(TENSOR, TENSOR_STRIDES, INT64, 1),
    ROW(TENSOR, TENSOR_UNIQUE_ID, INT64, 1),
    ROW(TENSOR, TENSOR_IS_VIRTUAL, BOOLEAN, 0),
    ROW(PACK, VARIANT_PACK_UNIQUE_IDS, INT64, 1),
    ROW(PACK, VARIANT_PACK_DATA_POINTERS, VOID_PTR, 1),
    ROW(PACK, VARIANT_PACK_WORKSPACE, VOID_PTR, 1),
};

typedef struct dnn_value {
    int attribute, type;
    int64_t count;
    void *elements;
} dnn_value;

typedef struct dnn_thing {
    int tag, kind;
    bool final;
    dnn_value values[DNN_MOST_ATTRIBUTES];
    int nvalues;
    int engine;              /* of a config, an engine, a plan */
    struct dnn_thing *graph; /* of a config, a plan */
    void *stream;            /* of a handle */
} dnn_thing;

static dnn_thing *dnn_as(dnn_object o, int kind, const char *what) {
    dnn_thing *t = o;
    if (!t || t->tag != DNN_DESCRIPTOR_TAG || (kind >= 0 && t->kind != kind))
        sim_wrong("cuDNN: %s is missing, of another kind, or destroyed", what);
    return t;
}

static dnn_thing *dnn_handle(dnn_object o) {
    dnn_thing *t = o;
    if (!t || t->tag != DNN_HANDLE_TAG) sim_wrong("cuDNN: no handle");
    return t;
}

static size_t dnn_element_size(int type) {
    switch (type) {
    case DNN_TYPE_BOOLEAN: return sizeof(bool);
    case DNN_TYPE_HANDLE:
    case DNN_TYPE_VOID_PTR:
    case DNN_TYPE_BACKEND_DESCRIPTOR: return sizeof(void *);
    case DNN_TYPE_INT64:
    case DNN_TYPE_DOUBLE: return 8;
    default: return 4;
    }
}

static const dnn_row *dnn_row_of(int kind, int attribute) {
    for (size_t i = 0; i < sizeof dnn_rows / sizeof *dnn_rows; i++)
        if (dnn_rows[i].descriptor == kind && dnn_rows[i].attribute == attribute)
            return &dnn_rows[i];
    sim_wrong("cuDNN: descriptor %d has no attribute %d", kind, attribute);
}

static const dnn_value *dnn_find(const dnn_thing *t, int attribute) {
    for (int i = 0; i < t->nvalues; i++)
        if (t->values[i].attribute == attribute) return &t->values[i];
    return NULL;
}

static const int64_t *dnn_ints(const dnn_thing *t, int attribute, int64_t count) {
    const dnn_value *v = dnn_find(t, attribute);
    if (!v || v->count != count)
        sim_wrong("cuDNN: attribute %d of descriptor %d has not %lld elements", attribute, t->kind,
                  (long long)count);
    return v->elements;
}

static int32_t dnn_enum(const dnn_thing *t, int attribute) {
    return *(const int32_t *)dnn_find(t, attribute)->elements;
}

static dnn_thing *dnn_object_in(const dnn_thing *t, int attribute, int kind) {
    return dnn_as(*(void **)dnn_find(t, attribute)->elements, kind, "what an attribute names");
}

SIM_API int cudnnBackendSetAttribute(dnn_object o, int attribute, int type, int64_t count,
                                     const void *elements) {
    dnn_thing *t = dnn_as(o, -1, "a descriptor");
    const dnn_row *row = dnn_row_of(t->kind, attribute);
    bool scale = row->type == DNN_TYPE_FLOAT && type == DNN_TYPE_DOUBLE;
    if (t->final) sim_wrong("cuDNN: attribute %d is set behind finalizing", attribute);
    if ((row->type != type && !scale) || count < 1)
        sim_wrong("cuDNN: attribute %d is not of type %d", attribute, type);
    if (t->nvalues == DNN_MOST_ATTRIBUTES || dnn_find(t, attribute))
        sim_wrong("cuDNN: attribute %d is set twice", attribute);
    for (int64_t i = 0; type == DNN_TYPE_BACKEND_DESCRIPTOR && i < count; i++)
        if (!dnn_as(((void *const *)elements)[i], -1, "what an attribute names")->final)
            sim_wrong("cuDNN: attribute %d is not final", attribute);
    if (type == DNN_TYPE_HANDLE) dnn_handle(*(void *const *)elements);
    dnn_value *v = &t->values[t->nvalues++];
    *v = (dnn_value){attribute, type, count, malloc((size_t)count * dnn_element_size(type))};
    if (!v->elements) abort();
    memcpy(v->elements, elements, (size_t)count * dnn_element_size(type));
    return DNN_SUCCESS;
}

/* ---- objects --------------------------------------------------------------------------------- */

SIM_API int cudnnCreate(dnn_object *handle) {
    dnn_thing *t = calloc(1, sizeof *t);
    if (!t) abort();
    t->tag = DNN_HANDLE_TAG;
    *handle = t;
    return DNN_SUCCESS;
}

SIM_API int cudnnSetStream(dnn_object handle, void *stream) {
    dnn_handle(handle)->stream = stream;
    return DNN_SUCCESS;
}

SIM_API int cudnnBackendCreateDescriptor(int descriptor, dnn_object *out) {
    dnn_thing *t = calloc(1, sizeof *t);
    if (!t) abort();
    t->tag = DNN_DESCRIPTOR_TAG;
    t->kind = descriptor;
    *out = t;
    return DNN_SUCCESS;
}

SIM_API int cudnnBackendDestroyDescriptor(dnn_object o) {
    dnn_thing *t = dnn_as(o, -1, "a descriptor");
    for (int i = 0; i < t->nvalues; i++) free(t->values[i].elements);
    t->tag = 0;
    free(t);
    return DNN_SUCCESS;
}

/* ---- what has to fit ------------------------------------------------------------------------- */

typedef struct dnn_shape {
    int n;
    int64_t dims[DNN_DIMS], strides[DNN_DIMS], id, alignment;
    bool inside;
    int data;
} dnn_shape;

static dnn_shape dnn_shape_of(const dnn_thing *t) {
    const dnn_value *dims = dnn_find(t, DNN_ATTR_TENSOR_DIMENSIONS),
                    *inside = dnn_find(t, DNN_ATTR_TENSOR_IS_VIRTUAL);
    dnn_shape s = {.n = (int)dims->count,
                   .id = *dnn_ints(t, DNN_ATTR_TENSOR_UNIQUE_ID, 1),
                   .alignment = *dnn_ints(t, DNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1),
                   .inside = inside && *(const bool *)inside->elements,
                   .data = dnn_enum(t, DNN_ATTR_TENSOR_DATA_TYPE)};
    if (s.n < 4 || s.n > DNN_DIMS) sim_wrong("cuDNN: a tensor of %d dims", s.n);
    memcpy(s.dims, dims->elements, (size_t)s.n * sizeof *s.dims);
    memcpy(s.strides, dnn_ints(t, DNN_ATTR_TENSOR_STRIDES, s.n), (size_t)s.n * sizeof *s.strides);
    for (int i = 0; i < s.n; i++)
        if (s.dims[i] < 1 || s.strides[i] < 1)
            sim_wrong("cuDNN: a tensor with dim %d of %lld elements, %lld apart", i,
                      (long long)s.dims[i], (long long)s.strides[i]);
    return s;
}

static int64_t dnn_elements(const dnn_shape *s) {
    int64_t n = 1;
    for (int i = 0; i < s->n; i++) n *= s->dims[i];
    return n;
}

static sim_type dnn_sim_type(int data) {
    switch (data) {
    case DNN_FLOAT: return SIM_F32;
    case DNN_DOUBLE: return SIM_F64;
    case DNN_HALF: return SIM_F16;
    case DNN_BFLOAT16: return SIM_BF16;
    default: sim_wrong("cuDNN: tensors of data type %d", data);
    }
}

typedef struct dnn_geometry {
    dnn_shape x, w, y;
    int64_t stride[3], pad[3], dilation[3];
} dnn_geometry;

static dnn_geometry dnn_geometry_of(const dnn_thing *op) {
    dnn_geometry g = {
        .x = dnn_shape_of(dnn_object_in(op, DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, DNN_TENSOR)),
        .w = dnn_shape_of(dnn_object_in(op, DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, DNN_TENSOR)),
        .y = dnn_shape_of(dnn_object_in(op, DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, DNN_TENSOR))};
    const dnn_thing *c = dnn_object_in(op, DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                       DNN_CONVOLUTION);
    int n = g.x.n - 2;
    const int64_t *behind = dnn_ints(c, DNN_ATTR_CONVOLUTION_POST_PADDINGS, n);
    memcpy(g.stride, dnn_ints(c, DNN_ATTR_CONVOLUTION_FILTER_STRIDES, n), (size_t)n * 8);
    memcpy(g.pad, dnn_ints(c, DNN_ATTR_CONVOLUTION_PRE_PADDINGS, n), (size_t)n * 8);
    memcpy(g.dilation, dnn_ints(c, DNN_ATTR_CONVOLUTION_DILATIONS, n), (size_t)n * 8);
    bool fits = *dnn_ints(c, DNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 1) == n &&
                dnn_enum(c, DNN_ATTR_CONVOLUTION_CONV_MODE) == DNN_CROSS_CORRELATION &&
                g.w.n == g.x.n && g.y.n == g.x.n && g.x.dims[1] % g.w.dims[1] == 0 &&
                g.w.dims[0] % (g.x.dims[1] / g.w.dims[1]) == 0 && g.y.dims[0] == g.x.dims[0] &&
                g.y.dims[1] == g.w.dims[0] && g.x.data == g.w.data;
    for (int i = 0; fits && i < n; i++) {
        int64_t extent = g.dilation[i] * (g.w.dims[2 + i] - 1) + 1;
        fits = g.pad[i] >= 0 && behind[i] >= 0 &&
               (g.x.dims[2 + i] + g.pad[i] + behind[i] - extent) / g.stride[i] + 1 ==
                   g.y.dims[2 + i];
    }
    if (!fits) sim_wrong("cuDNN: a convolution whose shapes do not fit");
    return g;
}

static void dnn_check_pointwise(const dnn_thing *op) {
    dnn_shape x = dnn_shape_of(dnn_object_in(op, DNN_ATTR_OPERATION_POINTWISE_XDESC, DNN_TENSOR));
    dnn_shape y = dnn_shape_of(dnn_object_in(op, DNN_ATTR_OPERATION_POINTWISE_YDESC, DNN_TENSOR));
    int mode = dnn_enum(
        dnn_object_in(op, DNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, DNN_POINTWISE),
        DNN_ATTR_POINTWISE_MODE);
    bool two = dnn_find(op, DNN_ATTR_OPERATION_POINTWISE_BDESC) != NULL;
    if (two != (mode == DNN_ADD)) sim_wrong("cuDNN: operands of pointwise mode %d", mode);
    dnn_shape b =
        two ? dnn_shape_of(dnn_object_in(op, DNN_ATTR_OPERATION_POINTWISE_BDESC, DNN_TENSOR)) : y;
    for (int i = 0; i < y.n; i++)
        if (x.n != y.n || b.n != y.n || x.dims[i] != y.dims[i] ||
            (b.dims[i] != y.dims[i] && b.dims[i] != 1))
            sim_wrong("cuDNN: a pointwise operation whose shapes do not fit");
}

SIM_API int cudnnBackendFinalize(dnn_object o) {
    dnn_thing *t = dnn_as(o, -1, "a descriptor");
    if (t->final) sim_wrong("cuDNN: descriptor %d is finalized twice", t->kind);
    for (size_t i = 0; i < sizeof dnn_rows / sizeof *dnn_rows; i++)
        if (dnn_rows[i].descriptor == t->kind && dnn_rows[i].needed &&
            !dnn_find(t, dnn_rows[i].attribute))
            sim_wrong("cuDNN: descriptor %d lacks attribute %d", t->kind, dnn_rows[i].attribute);
    if (t->kind == DNN_TENSOR) dnn_shape_of(t);
    if (t->kind == DNN_DO_CONVOLUTION) dnn_geometry_of(t);
    if (t->kind == DNN_DO_POINTWISE) dnn_check_pointwise(t);
    if (t->kind == DNN_PLAN) {
        const dnn_thing *config = dnn_object_in(t, DNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                                DNN_CONFIG);
        if (config->engine < DNN_WORKING_ENGINE) return DNN_NOT_SUPPORTED;
        t->graph = config->graph;
        sim_count("cudnn plans");
    }
    t->final = true;
    return DNN_SUCCESS;
}

/* ---- questions ------------------------------------------------------------------------------- */

static bool dnn_supports(const dnn_thing *graph) {
    const dnn_value *ops = dnn_find(graph, DNN_ATTR_OPERATIONGRAPH_OPS);
    for (int64_t i = 0; i < ops->count; i++) {
        const dnn_thing *op = ((dnn_thing **)ops->elements)[i];
        if (op->kind != (i ? DNN_DO_POINTWISE : DNN_DO_CONVOLUTION) || ops->count > DNN_OPS)
            return false;
        if (i == 0) continue;
        int mode = dnn_enum(
            dnn_object_in(op, DNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, DNN_POINTWISE),
            DNN_ATTR_POINTWISE_MODE);
        int data = dnn_enum(dnn_object_in(op, DNN_ATTR_OPERATION_POINTWISE_YDESC, DNN_TENSOR),
                            DNN_ATTR_TENSOR_DATA_TYPE);
        if ((mode != DNN_ADD && mode != DNN_RELU) || data == DNN_DOUBLE) return false;
    }
    return true;
}

/* Mode A has all engines but the one that works, so that the other list is needed, too. */
static int64_t dnn_propose(const dnn_thing *heuristics, int64_t most, dnn_thing **configs) {
    dnn_thing *graph = dnn_object_in(heuristics, DNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, DNN_GRAPH);
    int mode = dnn_enum(heuristics, DNN_ATTR_ENGINEHEUR_MODE),
        first = mode == DNN_HEURISTICS_A ? 0 : DNN_WORKING_ENGINE;
    int end = mode == DNN_HEURISTICS_A ? DNN_WORKING_ENGINE : DNN_ENGINES;
    sim_count("cudnn questions");
    if (!dnn_supports(graph) || sim_refuses()) return 0;
    for (int i = first; i < end && i - first < most; i++) {
        dnn_thing *c = dnn_as(configs[i - first], DNN_CONFIG, "a config");
        c->engine = i;
        c->graph = graph;
        c->final = true;
    }
    return end - first < most ? end - first : most;
}

static int64_t dnn_notes(const dnn_thing *engine, int32_t *notes) {
    static const int32_t of[DNN_ENGINES] = {DNN_NOTE_TENSOR_CORE, DNN_NOTE_NONDETERMINISTIC, -1,
                                            -1};
    *notes = of[engine->engine];
    return *notes >= 0;
}

SIM_API int cudnnBackendGetAttribute(dnn_object o, int attribute, int type, int64_t most,
                                     int64_t *count, void *elements) {
    dnn_thing *t = dnn_as(o, -1, "a descriptor");
    if (!t->final || most < 1)
        sim_wrong("cuDNN: attribute %d is asked for before finalizing", attribute);
    if (t->kind == DNN_HEURISTICS && attribute == DNN_ATTR_ENGINEHEUR_RESULTS &&
        type == DNN_TYPE_BACKEND_DESCRIPTOR) {
        *count = dnn_propose(t, most, elements);
    } else if (t->kind == DNN_CONFIG && attribute == DNN_ATTR_ENGINECFG_ENGINE &&
               type == DNN_TYPE_BACKEND_DESCRIPTOR) {
        dnn_thing *engine = dnn_as(*(void **)elements, DNN_ENGINE, "an engine");
        engine->engine = t->engine;
        engine->final = true;
        *count = 1;
    } else if (t->kind == DNN_ENGINE && attribute == DNN_ATTR_ENGINE_NUMERICAL_NOTE &&
               type == DNN_TYPE_NUMERICAL_NOTE) {
        *count = dnn_notes(t, elements);
    } else if (t->kind == DNN_PLAN && attribute == DNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE &&
               type == DNN_TYPE_INT64) {
        *(int64_t *)elements = DNN_WORKSPACE;
        *count = 1;
    } else {
        sim_wrong("cuDNN: descriptor %d cannot be asked for attribute %d", t->kind, attribute);
    }
    return DNN_SUCCESS;
}

/* ---- executing ------------------------------------------------------------------------------- */

typedef struct dnn_step {
    int mode;
    dnn_shape b;
    const void *at; /* b's elements */
} dnn_step;

typedef struct dnn_run {
    dnn_geometry g;
    const void *x, *w;
    dnn_shape out; /* what the last operation writes */
    void *y, *workspace;
    dnn_step steps[DNN_OPS];
    int nsteps;
} dnn_run;

/* Where the pack says that a tensor is. */
static void *dnn_place(const dnn_thing *pack, const dnn_shape *s) {
    const dnn_value *ids = dnn_find(pack, DNN_ATTR_VARIANT_PACK_UNIQUE_IDS),
                    *at = dnn_find(pack, DNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    if (s->inside || at->count != ids->count)
        sim_wrong("cuDNN: tensor %lld has no memory", (long long)s->id);
    for (int64_t i = 0; i < ids->count; i++)
        if (((const int64_t *)ids->elements)[i] == s->id) return ((void **)at->elements)[i];
    sim_wrong("cuDNN: tensor %lld is missing in the pack", (long long)s->id);
}

static void dnn_use(const char *what, const dnn_shape *s, const void *p) {
    sim_use(what, p, (size_t)dnn_elements(s) * sim_type_size(dnn_sim_type(s->data)),
            (size_t)s->alignment);
}

static double dnn_sum(const dnn_run *r, int64_t image, int64_t channel, const int64_t *at) {
    const dnn_geometry *g = &r->g;
    int64_t groups = g->x.dims[1] / g->w.dims[1],
            first = channel / (g->w.dims[0] / groups) * g->w.dims[1], taps = 1;
    int n = g->x.n - 2;
    sim_type type = dnn_sim_type(g->x.data);
    double sum = 0;
    for (int i = 0; i < n; i++) taps *= g->w.dims[2 + i];
    for (int64_t c = 0; c < g->w.dims[1]; c++)
        for (int64_t tap = 0; tap < taps; tap++) {
            int64_t x = image * g->x.strides[0] + (first + c) * g->x.strides[1], rest = tap;
            bool inside = true;
            for (int i = n - 1; i >= 0; i--) {
                int64_t p = at[i] * g->stride[i] - g->pad[i] +
                            rest % g->w.dims[2 + i] * g->dilation[i];
                rest /= g->w.dims[2 + i];
                inside &= p >= 0 && p < g->x.dims[2 + i];
                x += p * g->x.strides[2 + i];
            }
            if (inside)
                sum += sim_load(type, r->x, x) *
                       sim_load(type, r->w, channel * g->w.strides[0] + c * g->w.strides[1] + tap);
        }
    return sum;
}

static double dnn_finish(const dnn_run *r, double v, const int64_t *index) {
    for (int i = 0; i < r->nsteps; i++) {
        const dnn_step *s = &r->steps[i];
        int64_t at = 0;
        for (int k = 0; s->at && k < s->b.n; k++)
            at += s->b.dims[k] == 1 ? 0 : index[k] * s->b.strides[k];
        if (s->mode == DNN_RELU) v = v < 0 ? 0 : v;
        else v += sim_load(dnn_sim_type(s->b.data), s->at, at);
    }
    return v;
}

static void dnn_do(const void *bytes) {
    const dnn_run *r = bytes;
    dnn_use("cuDNN's x", &r->g.x, r->x);
    dnn_use("cuDNN's w", &r->g.w, r->w);
    dnn_use("cuDNN's y", &r->out, r->y);
    sim_use("cuDNN's workspace", r->workspace, DNN_WORKSPACE, 16);
    memset(r->workspace, 0xff, DNN_WORKSPACE);
    for (int i = 0; i < r->nsteps; i++)
        if (r->steps[i].at) dnn_use("an operand of cuDNN", &r->steps[i].b, r->steps[i].at);
    for (int64_t n = 0; n < dnn_elements(&r->out); n++) {
        int64_t index[DNN_DIMS], rest = n, place = 0;
        for (int i = r->out.n - 1; i >= 0; i--) {
            index[i] = rest % r->out.dims[i];
            rest /= r->out.dims[i];
            place += index[i] * r->out.strides[i];
        }
        sim_store(dnn_sim_type(r->out.data), r->y, place,
                  dnn_finish(r, dnn_sum(r, index[0], index[1], index + 2), index));
    }
}

static void dnn_add_step(dnn_run *r, const dnn_thing *op, const dnn_thing *pack) {
    dnn_step *s = &r->steps[r->nsteps++];
    dnn_shape x = dnn_shape_of(dnn_object_in(op, DNN_ATTR_OPERATION_POINTWISE_XDESC, DNN_TENSOR));
    if (x.id != r->out.id || !x.inside)
        sim_wrong("cuDNN: tensor %lld is not what the operation before makes", (long long)x.id);
    s->mode = dnn_enum(dnn_object_in(op, DNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, DNN_POINTWISE),
                       DNN_ATTR_POINTWISE_MODE);
    if (s->mode == DNN_ADD) {
        s->b = dnn_shape_of(dnn_object_in(op, DNN_ATTR_OPERATION_POINTWISE_BDESC, DNN_TENSOR));
        s->at = dnn_place(pack, &s->b);
    }
    r->out = dnn_shape_of(dnn_object_in(op, DNN_ATTR_OPERATION_POINTWISE_YDESC, DNN_TENSOR));
}

SIM_API int cudnnBackendExecute(dnn_object handle, dnn_object plan, dnn_object pack) {
    const dnn_thing *h = dnn_handle(handle), *p = dnn_as(plan, DNN_PLAN, "a plan"),
                    *v = dnn_as(pack, DNN_PACK, "a variant pack");
    if (!p->final || !v->final) sim_wrong("cuDNN: a plan or a variant pack that is not final");
    const dnn_value *ops = dnn_find(p->graph, DNN_ATTR_OPERATIONGRAPH_OPS);
    dnn_run r = {.g = dnn_geometry_of(*(dnn_thing **)ops->elements),
                 .workspace = *(void **)dnn_find(v, DNN_ATTR_VARIANT_PACK_WORKSPACE)->elements};
    r.x = dnn_place(v, &r.g.x);
    r.w = dnn_place(v, &r.g.w);
    r.out = r.g.y;
    for (int64_t i = 1; i < ops->count; i++) dnn_add_step(&r, ((dnn_thing **)ops->elements)[i], v);
    r.y = dnn_place(v, &r.out);
    sim_count("cudnnBackendExecute");
    return sim_ask_call(h->stream, dnn_do, &r, sizeof r) ? DNN_SUCCESS : DNN_EXECUTION_FAILED;
}
