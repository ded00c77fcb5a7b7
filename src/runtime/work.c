/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.c - what a call of a method has to do: floating-point operations and parameters read.
 *
 * The method's graph as written, calls inlined, is run once with probes (instrument.c); each operator's count follows
 * from the sizes of its arguments and results, by the table below. Operators on other than floating-point values, and
 * those that only move data, count nothing. An operator that is in no row and makes floating-point values is reported
 * as not counted: no number is made up for it.
 * Tests: tests/unit/test_optimize.c, tests/cli/bench.test
 */
#include "codegen/cache.h"
#include "ctsc_compiler.h"
#include "passes/passes.h"
#include "runtime/api.h"
#include "runtime/instrument.h"

#include <string.h>

typedef enum work_kind {
    WORK_MOVE,      /* nothing */
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

/* In-place forms go without their underscore. */
static const work_row work_rows[] = {
    {"aten::mm", WORK_PRODUCT, 0}, {"aten::bmm", WORK_PRODUCT, 0}, {"aten::matmul", WORK_PRODUCT, 0}, {"aten::mv", WORK_PRODUCT, 0},
    {"aten::dot", WORK_PRODUCT, 0}, {"aten::linear", WORK_LINEAR, 0}, {"aten::addmm", WORK_ADDED, 1}, {"aten::baddbmm", WORK_ADDED, 1},
    {"aten::addmv", WORK_ADDED, 1}, {"aten::conv1d", WORK_CONV, 0}, {"aten::conv2d", WORK_CONV, 0}, {"aten::conv3d", WORK_CONV, 0},
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
    M("fill"), M("zero"), M("zeros"), M("ones"), M("full"), M("empty"), M("zeros_like"), M("ones_like"), M("full_like"), M("empty_like"),
    M("new_zeros"), M("new_ones"), M("new_full"), M("new_empty"), M("arange"), M("linspace"), M("eye"), M("tensor"), M("scalar_tensor"),
    M("index"), M("index_put"), M("index_select"), M("gather"), M("scatter"), M("embedding"), M("repeat"), M("flip"), M("roll"), M("tril"),
    M("triu"), M("dropout"), M("constant_pad_nd"), M("pad"), M("reshape"), M("flatten"), M("item"), M("Float"), M("FloatImplicit"),
    M("ScalarImplicit"), M("__getitem__"), M("list"), M("append"), M("_set_item"), M("len"),
};
#undef P
#undef M
#undef R

typedef struct work_counter {
    diag *d;
    ctsc_work *out;
    ptrmap tensors; /* storages of parameters counted already */
} work_counter;

/* "aten::add_" is looked up as "aten::add". */
static const work_row *work_find(const char *name) {
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
static int64_t work_window(const node *n, value v) {
    int64_t size = 1, one = v.tag == V_LIST && v.u.list->len ? list_get(v.u.list, 0).u.i : 1;
    int dims = strstr(node_kind_text(n), "1d") ? 1 : strstr(node_kind_text(n), "2d") ? 2 : 3;
    for (int i = 0; i < dims; i++)
        size *= v.tag == V_LIST && v.u.list->len == (size_t)dims ? list_get(v.u.list, (size_t)i).u.i : one;
    return size;
}

static int64_t work_of(const work_row *r, const node *n, const value *in, value out) {
    bool has_2 = n->inputs.len > 2 && in[2].tag == V_TENSOR;
    int64_t results = work_numel(out);
    switch (r->kind) {
    case WORK_MOVE: break;
    case WORK_POINTWISE: return r->a * results;
    case WORK_REDUCE: return work_numel(in[r->a]);
    case WORK_PRODUCT: return 2 * results * work_last(in[r->a]);
    case WORK_LINEAR: return results * (2 * work_last(in[r->a]) + has_2);
    case WORK_ADDED: return results * (2 * work_last(in[r->a]) + 1);
    case WORK_CONV: {
        const tensor *w = n->inputs.len > 1 && in[1].tag == V_TENSOR ? in[1].u.tensor : NULL;
        return w && w->ndim && w->sizes[0] ? results * (2 * (w->numel / w->sizes[0]) + has_2) : 0;
    }
    case WORK_POOL: return n->inputs.len > 1 ? results * work_window(n, in[1]) : 0;
    }
    return 0;
}

/* max and min are pointwise with two tensors and reductions with one. */
static work_row work_min_max(const node *n, const value *in) {
    bool two = n->inputs.len > 1 && in[1].tag == V_TENSOR;
    return (work_row){"", two ? WORK_POINTWISE : WORK_REDUCE, two ? 1 : 0};
}

static bool work_is_view(const op *o) {
    if (o->schema->nreturns < 1 || o->schema->has_alias_write) return false;
    return o->schema->returns[0].alias != NULL;
}

static ctsc_status work_parameter(work_counter *c, const tensor *t) {
    if (ptrmap_get(&c->tensors, t->storage)) return CTSC_OK;
    c->out->parameter_bytes += t->numel * (int64_t)dtype_size((dtype)t->dtype);
    return ptrmap_put(&c->tensors, t->storage, t->storage) ? CTSC_OK : diag_no_memory(c->d);
}

static ctsc_status work_node(void *ctx, const node *n, const value *inputs, const value *outputs) {
    work_counter *c = ctx;
    if (n->kind == N_GET_ATTR && outputs[0].tag == V_TENSOR) return work_parameter(c, outputs[0].u.tensor);
    bool call = n->kind == N_CALL_FUNCTION || n->kind == N_CALL_METHOD || n->kind == N_FORK;
    bool makes = false, takes = false;
    for (size_t i = 0; i < n->outputs.len; i++) makes |= work_is_real(outputs[i]);
    for (size_t i = 0; i < n->inputs.len && n->kind == N_OP; i++) takes |= work_is_real(inputs[i]);
    if (!call && (n->kind != N_OP || !(makes || takes) || !n->op || !n->outputs.len || work_is_view(n->op))) return CTSC_OK;
    const char *name = node_kind_text(n);
    const work_row *r = work_find(name);
    work_row either = {0};
    if (!strcmp(name, "aten::max") || !strcmp(name, "aten::min") || !strcmp(name, "prim::max") || !strcmp(name, "prim::min")) {
        either = work_min_max(n, inputs);
        r = &either;
    }
    if (r) c->out->flops += work_of(r, n, inputs, outputs[0]);
    else if (call && !c->out->uncounted) c->out->uncounted = "calls that cannot be inlined";
    else if (makes && !strncmp(name, "aten::", 6) && !c->out->uncounted) c->out->uncounted = n->op->schema->name;
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

static ctsc_status work_run(work_counter *c, const function *f, const graph *g, int nargs, const value *args) {
    instrument in = {.node = work_node, .ctx = c};
    runtime *rt = mem_alloc(sizeof *rt);
    value result = value_none();
    if (!rt) return diag_no_memory(c->d);
    runtime_init(rt);
    ctsc_status s = instrument_run(&in, f, g, rt, nargs, args, c->d, &result);
    value_unref(result);
    mem_free(rt);
    return s == CTSC_OK ? work_constants(c, g->root) : s;
}

ctsc_status ctsc_module_count_work(const ctsc_module *m, const char *method, size_t nargs, ctsc_value *const *args, ctsc_work *out,
                                   ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_work work = {.size = sizeof work};
    work_counter c = {.d = d, .out = &work};
    function *f = NULL;
    graph *g = NULL;
    value *full = NULL;
    ctsc_status s = api_method(m, d, method, &f);
    if (s == CTSC_OK) s = function_ensure_compiled(f, d);
    if (s == CTSC_OK && !(g = graph_clone(f->graph))) s = diag_no_memory(d);
    if (s == CTSC_OK) s = pipeline_inline(g, d);
    if (s == CTSC_OK) s = api_arguments(m, f, nargs, args, d, &full);
    if (s == CTSC_OK) s = work_run(&c, f, g, f->schema->nargs, full);
    if (full) api_free_arguments(f, full);
    ptrmap_free(&c.tensors);
    graph_free(g);
    if (s == CTSC_OK) {
        size_t size = out->size < sizeof work ? out->size : sizeof work;
        work.size = out->size;
        memcpy(out, &work, size);
    }
    return api_leave(e, &own, s);
}

ctsc_status ctsc_set_cpu(const char *name, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    return api_leave(e, &own, codegen_share(d, name));
}

void ctsc_get_kernel_stats(ctsc_kernel_stats *out) {
    codegen *c = codegen_shared();
    codegen_stats st = c ? codegen_get_stats(c) : (codegen_stats){0};
    ctsc_kernel_stats k = {out->size, st.compiled, st.from_disk, st.from_memory, st.compile_ms * 1e3};
    memcpy(out, &k, out->size < sizeof k ? out->size : sizeof k);
}
