/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.c - what a call of an operator, or of a method, has to do: floating-point operations, bytes, parameters read.
 *
 * Each operator's count follows from the sizes of its arguments and results, by the table below. Operators on other than floating-point
 * values, and those that only move data, count no operations. An operator that is in no row and makes floating-point values is reported
 * as not counted: no number is made up for it. For a method, its graph as written, calls inlined, is run once with probes (instrument.c).
 * Tests: tests/unit/test_optimize.c, tests/unit/test_profile.c, tests/cli/bench.test
 */
#include "runtime/observe/work.h"

#include "runtime/observe/instrument.h"

#include <string.h>

typedef enum work_kind {
    WORK_MOVE,      /* nothing */
    WORK_NEW,       /* nothing; no argument's elements are read */
    WORK_NONE,      /* nothing; nothing is written either */
    WORK_LOOKUP,    /* nothing; of argument a only as many elements are read as the result has */
    WORK_POINTWISE, /* `a` per element of the result */
    WORK_REDUCE,    /* one per element of argument a */
    WORK_PRODUCT,   /* matrix product, argument a on the left: two per element of the result and of a's last dimension */
    WORK_LINEAR,    /* WORK_PRODUCT, and one per element of the result if there is an argument 2 */
    WORK_ADDED,     /* WORK_PRODUCT, and one per element of the result */
    WORK_CONV,      /* convolution: two per element of the result and of the weight of one output channel; with bias one more */
    WORK_POOL,      /* one per element of the result and of the window */
} work_kind;

typedef struct work_row { const char *name; work_kind kind; int a; } work_row;

#define P(name) {"aten::" name, WORK_POINTWISE, 1}
#define M(name) {"aten::" name, WORK_MOVE, 0}
#define R(name) {"aten::" name, WORK_REDUCE, 0}
#define N(name) {"aten::" name, WORK_NEW, 0}
#define E(name) {"aten::" name, WORK_NONE, 0}
#define L(name) {"aten::" name, WORK_LOOKUP, 0}

/* In-place forms go without their underscore. */
static const work_row work_rows[] = {
    {"aten::mm", WORK_PRODUCT, 0}, {"aten::bmm", WORK_PRODUCT, 0}, {"aten::matmul", WORK_PRODUCT, 0}, {"aten::mv", WORK_PRODUCT, 0},
    {"aten::dot", WORK_PRODUCT, 0}, {"aten::linear", WORK_LINEAR, 0}, {"ctsc::linear_epilogue", WORK_LINEAR, 0}, {"ctsc::linear_prepacked", WORK_LINEAR, 0}, {"aten::addmm", WORK_ADDED, 1}, {"aten::baddbmm", WORK_ADDED, 1},
    {"aten::addmv", WORK_ADDED, 1}, {"aten::conv1d", WORK_CONV, 0}, {"aten::conv2d", WORK_CONV, 0}, {"aten::conv3d", WORK_CONV, 0},
    {"ctsc::conv_epilogue", WORK_CONV, 0},
    {"aten::max_pool1d", WORK_POOL, 0}, {"aten::max_pool2d", WORK_POOL, 0}, {"aten::max_pool3d", WORK_POOL, 0},
    {"aten::avg_pool2d", WORK_POOL, 0},
    /* arithmetic and comparisons */
    P("add"), P("sub"), P("rsub"), P("mul"), P("div"), P("neg"), P("abs"), P("pow"), P("square"), P("sqrt"), P("rsqrt"), P("reciprocal"),
    P("remainder"), P("fmod"), P("floor_divide"), P("floordiv"), P("floor"), P("ceil"), P("round"), P("trunc"), P("frac"), P("sign"),
    P("maximum"), P("minimum"), P("clamp"), P("clamp_min"), P("clamp_max"), P("eq"), P("ne"), P("lt"), P("le"), P("gt"), P("ge"),
    {"aten::addcmul", WORK_POINTWISE, 3}, {"aten::addcdiv", WORK_POINTWISE, 3}, {"aten::lerp", WORK_POINTWISE, 3},
    /* functions: one each, whatever they cost */
    P("exp"), P("exp2"), P("expm1"), P("log"), P("log2"), P("log10"), P("log1p"), P("sin"), P("cos"), P("tan"), P("asin"), P("acos"),
    P("atan"), P("atan2"), P("sinh"), P("cosh"), P("tanh"), P("erf"), P("erfc"), P("sigmoid"), P("relu"), P("relu6"), P("gelu"),
    P("silu"), P("mish"), P("elu"), P("selu"), P("celu"), P("leaky_relu"), P("hardtanh"), P("hardsigmoid"), P("hardswish"), P("softplus"),
    P("isnan"), P("isinf"), P("isfinite"),
    /* over dimensions */
    R("sum"), R("mean"), R("prod"), R("amax"), R("amin"), R("argmax"), R("argmin"), R("cumsum"), R("cumprod"),
    /* data in motion */
    M("to"), M("type_as"), M("float"), M("double"), M("clone"), M("contiguous"), M("copy"), M("cat"), M("stack"), M("where"), M("masked_fill"),
    M("index_put"), M("scatter"), M("repeat"), M("flip"), M("roll"), M("tril"), M("triu"), M("dropout"), M("constant_pad_nd"), M("pad"),
    M("reshape"), M("flatten"), M("item"), M("Float"), M("FloatImplicit"), M("ScalarImplicit"), M("__getitem__"), M("list"), M("append"),
    M("_set_item"), M("len"),
    L("index"), L("index_select"), L("gather"), L("embedding"),
    N("fill"), N("zero"), N("zeros"), N("ones"), N("full"), N("zeros_like"), N("ones_like"), N("full_like"), N("new_zeros"), N("new_ones"),
    N("new_full"), N("arange"), N("linspace"), N("eye"), N("tensor"), N("scalar_tensor"),
    E("empty"), E("empty_like"), E("new_empty"), E("size"), E("dim"), E("numel"), E("stride"), E("is_floating_point"), E("is_contiguous"),
};
#undef P
#undef M
#undef R
#undef N
#undef E
#undef L

/* "aten::add_" is looked up as "aten::add". */
const work_row *work_find(const char *name) {
    size_t n = strlen(name);
    if (n && name[n - 1] == '_' && !(n > 1 && name[n - 2] == '_')) n--;
    for (size_t i = 0; i < sizeof work_rows / sizeof *work_rows; i++)
        if (strlen(work_rows[i].name) == n && !memcmp(work_rows[i].name, name, n)) return &work_rows[i];
    return NULL;
}

static bool work_is_real(value v) {
    if (v.tag != V_TENSOR) return v.tag == V_FLOAT;
    return dtype_is_float((dtype)v.u.tensor->dtype) || dtype_is_complex((dtype)v.u.tensor->dtype);
}

static int64_t work_numel(value v) {
    return v.tag == V_TENSOR ? v.u.tensor->numel : 1;
}

static int64_t work_last(value v) {
    return v.tag == V_TENSOR && v.u.tensor->ndim ? v.u.tensor->sizes[v.u.tensor->ndim - 1] : 1;
}

/* The elements of a pooling window: argument 1, a list of one or more ints. */
static int64_t work_window(const op *o, value v) {
    int64_t size = 1, one = v.tag == V_LIST && v.u.list->len ? list_get(v.u.list, 0).u.i : 1;
    int dims = strstr(o->schema->name, "1d") ? 1 : strstr(o->schema->name, "2d") ? 2 : 3;
    for (int i = 0; i < dims; i++)
        size *= v.tag == V_LIST && v.u.list->len == (size_t)dims ? list_get(v.u.list, (size_t)i).u.i : one;
    return size;
}

static int64_t work_flops(const work_row *r, const op *o, int nargs, const value *in, value out) {
    bool has_2 = nargs > 2 && in[2].tag == V_TENSOR;
    int64_t results = work_numel(out);
    switch (r->kind) {
    case WORK_MOVE:
    case WORK_NEW:
    case WORK_NONE:
    case WORK_LOOKUP: break;
    case WORK_POINTWISE: return r->a * results;
    case WORK_REDUCE: return work_numel(in[r->a]);
    case WORK_PRODUCT: return 2 * results * work_last(in[r->a]);
    case WORK_LINEAR: return results * (2 * work_last(in[r->a]) + has_2);
    case WORK_ADDED: return results * (2 * work_last(in[r->a]) + 1);
    case WORK_CONV: {
        const tensor *w = nargs > 1 && in[1].tag == V_TENSOR ? in[1].u.tensor : NULL;
        return w && w->ndim && w->sizes[0] ? results * (2 * (w->numel / w->sizes[0]) + has_2) : 0;
    }
    case WORK_POOL: return nargs > 1 ? results * work_window(o, in[1]) : 0;
    }
    return 0;
}

/* max and min are pointwise with two tensors and reductions with one. */
static const work_row *work_min_max(int nargs, const value *in) {
    static const work_row pointwise = {"", WORK_POINTWISE, 1}, reduce = {"", WORK_REDUCE, 0};
    return nargs > 1 && in[1].tag == V_TENSOR ? &pointwise : &reduce;
}

static bool work_is_min_max(const char *name) {
    return !strcmp(name, "aten::max") || !strcmp(name, "aten::min") || !strcmp(name, "prim::max") || !strcmp(name, "prim::min");
}

static bool work_is_view(const op *o) {
    if (o->schema->nreturns < 1 || o->schema->has_alias_write) return false;
    return o->schema->returns[0].alias != NULL;
}

/* ---- bytes ------------------------------------------------------------------------------------------- */

static int64_t work_tensor_bytes(const tensor *t) {
    return t->numel * (int64_t)dtype_size((dtype)t->dtype);
}

int64_t work_value_bytes(value v) {
    int64_t bytes = 0;
    if (v.tag == V_TENSOR) return work_tensor_bytes(v.u.tensor);
    if (v.tag == V_LIST && v.u.list->kind == LIST_TENSOR)
        for (size_t i = 0; i < v.u.list->len; i++) bytes += work_tensor_bytes(v.u.list->u.tensors[i]);
    return bytes;
}

/* Views share their argument's memory. */
static bool work_shares(value v, int nargs, const value *args) {
    const tensor *t = v.tag == V_TENSOR ? v.u.tensor : v.tag == V_LIST && v.u.list->kind == LIST_TENSOR && v.u.list->len ? v.u.list->u.tensors[0] : NULL;
    for (int i = 0; t && i < nargs; i++)
        if (args[i].tag == V_TENSOR && args[i].u.tensor->storage == t->storage) return true;
    return false;
}

static int64_t work_bytes(const work_row *r, const op *o, int nargs, const value *args, int nresults, const value *results) {
    int64_t bytes = 0;
    if (nresults < 1 || (r && r->kind == WORK_NONE)) return 0;
    if (!o->schema->has_alias_write && work_shares(results[0], nargs, args)) return 0;
    for (int i = 0; i < nresults; i++) bytes += work_value_bytes(results[i]);
    if (r && r->kind == WORK_NEW) return bytes;
    if (r && r->kind == WORK_LOOKUP) bytes *= 2;
    for (int i = r && r->kind == WORK_LOOKUP ? r->a + 1 : 0; i < nargs; i++) bytes += work_value_bytes(args[i]);
    return bytes;
}

work_cost work_of_call(const work_row *r, const op *o, int nargs, const value *args, int nresults, const value *results) {
    work_cost c = {.known = true};
    bool makes = false, takes = false;
    for (int i = 0; i < nresults; i++) makes |= work_is_real(results[i]);
    for (int i = 0; i < nargs; i++) takes |= work_is_real(args[i]);
    if (!r && work_is_min_max(o->schema->name)) r = work_min_max(nargs, args);
    c.bytes = work_bytes(r, o, nargs, args, nresults, results);
    if (!(makes || takes) || nresults < 1 || work_is_view(o)) return c;
    if (r) c.flops = work_flops(r, o, nargs, args, results[0]);
    else c.known = !makes || strncmp(o->schema->name, "aten::", 6) != 0;
    return c;
}

/* ---- methods ------------------------------------------------------------------------------------------- */

typedef struct work_counter {
    diag *d;
    ctsc_work *out;
    ptrmap tensors; /* storages of parameters counted already */
} work_counter;

static ctsc_status work_parameter(work_counter *c, const tensor *t) {
    if (ptrmap_get(&c->tensors, t->storage)) return CTSC_OK;
    c->out->parameter_bytes += t->numel * (int64_t)dtype_size((dtype)t->dtype);
    return ptrmap_put(&c->tensors, t->storage, t->storage) ? CTSC_OK : diag_no_memory(c->d);
}

static ctsc_status work_node(void *ctx, const node *n, const value *inputs, const value *outputs) {
    work_counter *c = ctx;
    if (n->kind == N_GET_ATTR && outputs[0].tag == V_TENSOR) return work_parameter(c, outputs[0].u.tensor);
    bool call = n->kind == N_CALL_FUNCTION || n->kind == N_CALL_METHOD || n->kind == N_FORK;
    if (call && n->outputs.len && !c->out->uncounted) c->out->uncounted = "calls that cannot be inlined";
    if (n->kind != N_OP || !n->op) return CTSC_OK;
    work_cost cost = work_of_call(work_find(node_kind_text(n)), n->op, (int)n->inputs.len, inputs, (int)n->outputs.len, outputs);
    c->out->flops += cost.flops;
    if (!cost.known && !c->out->uncounted) c->out->uncounted = n->op->schema->name;
    return CTSC_OK;
}

/* Constant tensors that something uses, read or not. */
static ctsc_status work_constants(work_counter *c, const block *b) {
    ctsc_status s = CTSC_OK;
    value v;
    for (const node *n = b->first; n && s == CTSC_OK; n = n->next) {
        for (size_t i = 0; i < n->blocks.len && s == CTSC_OK; i++) s = work_constants(c, n->blocks.data[i]);
        if (s == CTSC_OK && n->kind == N_CONSTANT && ir_value_constant(n->outputs.data[0], &v) && v.tag == V_TENSOR)
            s = work_parameter(c, v.u.tensor);
    }
    return s;
}

ctsc_status work_of_graph(diag *d, const function *f, const graph *g, int nargs, const value *args, ctsc_work *out) {
    work_counter c = {.d = d, .out = out};
    instrument in = {.node = work_node, .ctx = &c};
    runtime *rt = mem_alloc(sizeof *rt);
    value result = value_none();
    if (!rt) return diag_no_memory(d);
    runtime_init(rt);
    ctsc_status s = instrument_run(&in, f, g, rt, nargs, args, d, &result);
    value_unref(result);
    mem_free(rt);
    if (s == CTSC_OK) s = work_constants(&c, g->root);
    ptrmap_free(&c.tensors);
    return s;
}
