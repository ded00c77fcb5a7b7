/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evaluate.c - runs a graph node by node: the generator's way of knowing values while it builds,
 * and the reference with noise.
 *
 * Noise represents what an optimiser may do to floats: other orders of summation, fused
 * multiply-adds, other approximations of functions, intermediate results kept wider.
 * Every rounded result is moved by up to NOISE_ULPS units in the last place; so are the
 * operands of operators that sum, since reordering a sum costs in proportion to its
 * terms, not to its result. Results of few significant bits are taken to be exact (sums
 * of small integers): moving them would turn every tie into a matter of luck.
 */
#include "diff.h"

#include "ir/graph/alias.h"

#include <math.h>

enum { NOISE_ULPS = 4 };

/* ---- noise ----------------------------------------------------------------------------------- */

/* Operators without rounding of their own; names without "aten::" and a trailing "_". */
static const char *const noise_exact[] = {
    "neg",
    "abs",
    "relu",
    "relu6",
    "sign",
    "sgn",
    "floor",
    "ceil",
    "round",
    "trunc",
    "fix",
    "clamp",
    "clamp_min",
    "clamp_max",
    "clip",
    "hardtanh",
    "threshold",
    "where",
    "masked_fill",
    "masked_select",
    "cat",
    "concat",
    "stack",
    "clone",
    "contiguous",
    "copy",
    "to",
    "type_as",
    "_to_copy",
    "fill",
    "zero",
    "view",
    "reshape",
    "transpose",
    "permute",
    "select",
    "slice",
    "squeeze",
    "unsqueeze",
    "expand",
    "expand_as",
    "repeat",
    "tile",
    "flip",
    "roll",
    "gather",
    "index",
    "index_select",
    "take",
    "index_fill",
    "index_put",
    "index_copy",
    "scatter",
    "embedding",
    "triu",
    "tril",
    "diag",
    "diagonal",
    "t",
    "numpy_T",
    "unbind",
    "chunk",
    "split",
    "unfold",
    "item",
    "Float",
    "Int",
    "Bool",
    "FloatImplicit",
    "IntImplicit",
    "ScalarImplicit",
    "tensor",
    "full",
    "full_like",
    "new_full",
    "zeros_like",
    "ones_like",
    "sort",
    "topk",
    "kthvalue",
    "median",
    "mode",
    "cummax",
    "cummin",
    "nan_to_num",
    "copysign",
    "__getitem__",
    "pop",
    "dropout",
    "detach",
    "alias",
    "positive",
    "real",
    "resolve_conj",
    "constant_pad_nd",
    "pad",
    "flatten",
    "narrow",
    "movedim",
    "moveaxis",
    "swapaxes",
    "view_as",
    "reshape_as",
    "masked_scatter",
    "heaviside",
    NULL,
};
/* Operators that sum. */
static const char *const noise_sums[] = {
    "sum",
    "mean",
    "nansum",
    "var",
    "std",
    "var_mean",
    "std_mean",
    "norm",
    "logsumexp",
    "softmax",
    "log_softmax",
    "_softmax",
    "_log_softmax",
    "layer_norm",
    "native_layer_norm",
    "batch_norm",
    "group_norm",
    "instance_norm",
    "cumsum",
    "cumprod",
    "logcumsumexp",
    "prod",
    "mm",
    "bmm",
    "addmm",
    "baddbmm",
    "addbmm",
    "addmv",
    "addr",
    "matmul",
    "linear",
    "mv",
    "dot",
    "vdot",
    "inner",
    "outer",
    "einsum",
    "tensordot",
    "chain_matmul",
    "conv1d",
    "conv2d",
    "cdist",
    "dist",
    "trace",
    "avg_pool1d",
    "avg_pool2d",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "kl_div",
    "conv3d",
    "_convolution",
    "convolution",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "adaptive_avg_pool2d",
    "upsample_bilinear2d",
    "huber_loss",
    "binary_cross_entropy_with_logits",
    "linalg_vector_norm",
    "frobenius_norm",
    "nll_loss",
    "cosine_similarity",
    "pairwise_distance",
    "cross",
    "bilinear",
    "addcmul",
    "addcdiv",
    NULL,
};

/* Operators that add and subtract numbers about 1 on the way: a small result is off by units of
 * 1, not of itself. */
static const char *const noise_cancels[] = {
    "log_softmax",
    "_log_softmax",
    "logsumexp",
    "gelu",
    "mish",
    "logit",
    "erfc",
    "logaddexp",
    "celu",
    "selu",
    "logcumsumexp",
    "cosine_similarity",
    "binary_cross_entropy_with_logits",
    "layer_norm",
    "native_layer_norm",
    "group_norm",
    "instance_norm",
    "logaddexp2",
    "kl_div",
    "pairwise_distance",
    NULL,
};

/* Operators that pick one of equals: of 0 and -0, either. */
static const char *const noise_picks[] = {"max",     "min",     "amax", "amin", "aminmax",
                                          "maximum", "minimum", "fmax", "fmin", NULL};

/* Operators that subtract a mean, which has roundings where their operands have none, and divide by
 * what may be small. */
static const char *const noise_centers[] = {
    "var",        "std",           "var_mean",   "std_mean", "layer_norm", "native_layer_norm",
    "group_norm", "instance_norm", "batch_norm", NULL,
};
/* Operators that sum tiles of transformed operands (conv_winograd.h), or many products: each result
 * is off by units of what is large nearby. */
static const char *const noise_tiles[] = {
    "conv1d",           "conv2d",           "conv3d",
    "_convolution",     "convolution",      "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", NULL};

/* Layers that may compute with less precision than they were written with. */
static const char *const noise_layers[] = {"linear", "mm", "addmm", "matmul", NULL};

enum { NOISE_CENTER = 1 << 16 }; /* as if this many terms had been added, */

static bool noise_listed(const char *const *list, const op *o) {
    const char *name = strstr(o->schema->name, "::") + 2;
    if (!strncmp(name, "special_", 8)) name += 8;
    size_t len = strlen(name);
    if (len > 1 && name[len - 1] == '_' && name[len - 2] != '_') len--;
    for (; *list; list++)
        if (strlen(*list) == len && !memcmp(*list, name, len)) return true;
    return false;
}

/* Bits of the significand, and how many of them at most make a number exact. */
static int noise_digits(dtype dt, int *few) {
    switch (dt) {
    case DT_FLOAT64: *few = 26; return 52;
    case DT_FLOAT32: *few = 12; return 23;
    case DT_FLOAT16: *few = 4; return 10;
    default: *few = 2; return 7;
    }
}

/* A number of units in the last place to move by; many: how many terms a sum may have. */
static double noise_units(evaluation *e, double many) {
    return (double)rng_range(&e->noise, -NOISE_ULPS, NOISE_ULPS) * fmax(1, sqrt(many) / 8);
}

/* about: numbers of this size are added and subtracted on the way; 0: none. */
static double noise_number(evaluation *e, dtype dt, double x, double about, double many) {
    int few = 0, digits = noise_digits(dt, &few), exponent = 0;
    if (about > 0 && isfinite(x)) {
        double by = fmax(fabs(x), about) * ldexp(noise_units(e, many), -digits);
        bool to_zero = e->cancels && fabs(x) < fabs(by) && rng_range(&e->noise, 0, 3) == 0;
        return to_zero ? 0 : x + by;
    }
    if (x == 0 || !isfinite(x)) return x;
    double scaled = ldexp(frexp(x, &exponent), few + 1);
    if (scaled == floor(scaled)) return x;
    return x * (1 + ldexp(noise_units(e, many), -digits));
}

/* unit: the type that is rounded to. */
static void noise_elements(evaluation *e, dtype unit, char *at, const tensor *t, int dim,
                           double about, double many) {
    dtype dt = (dtype)t->dtype;
    if (dim == t->ndim) {
        dtype_store_float(dt, at, noise_number(e, unit, dtype_load_float(dt, at), about, many));
        return;
    }
    for (int64_t i = 0; i < t->sizes[dim]; i++)
        noise_elements(e, unit, at + (size_t)(i * t->strides[dim]) * dtype_size(dt), t, dim + 1,
                       about, many);
}

static void noise_tensor(evaluation *e, dtype unit, tensor *t, double about, double many) {
    if (!dtype_is_float((dtype)t->dtype) || !t->numel) return;
    e->cancels = rng_range(&e->noise, 0, 1); /* or a sum would never be other than 0 everywhere */
    noise_elements(e, unit, tensor_data(t), t, 0, about, many);
}

/* The type that a summing operator adds in, where it is asked for. */
static dtype noise_sum_dtype(const op *o, int n, const value *args, dtype dt) {
    for (int i = 0; i < n && i < o->schema->nargs; i++)
        if (!strcmp(o->schema->args[i].name, "dtype") && args[i].tag == V_INT &&
            dtype_is_float((dtype)args[i].u.i))
            return (dtype)args[i].u.i;
    return dt;
}

/* Zeros of either sign. */
static void noise_signs(evaluation *e, char *at, const tensor *t, int dim) {
    dtype dt = (dtype)t->dtype;
    if (dim == t->ndim) {
        if (dtype_load_float(dt, at) == 0)
            dtype_store_float(dt, at, rng_range(&e->noise, 0, 1) ? 0.0 : -0.0);
        return;
    }
    for (int64_t i = 0; i < t->sizes[dim]; i++)
        noise_signs(e, at + (size_t)(i * t->strides[dim]) * dtype_size(dt), t, dim + 1);
}

static double noise_largest(const char *at, const tensor *t, int dim) {
    double largest = 0;
    if (dim == t->ndim) {
        double x = fabs(dtype_load_float((dtype)t->dtype, at));
        return isfinite(x) ? x : 0;
    }
    for (int64_t i = 0; i < t->sizes[dim]; i++)
        largest = fmax(
            largest, noise_largest(at + (size_t)(i * t->strides[dim]) * dtype_size((dtype)t->dtype),
                                   t, dim + 1));
    return largest;
}

/* Is the operator a layer of reduced precision? */
static bool noise_is_coarse(const evaluation *e, const op *o) {
    return e->coarse && (noise_listed(noise_tiles, o) || noise_listed(noise_layers, o));
}

/* Copies of a summing operator's operands, with noise. */
static void noise_operands(evaluation *e, const op *o, int n, value *args) {
    bool coarse = noise_is_coarse(e, o), tiles = coarse || noise_listed(noise_tiles, o);
    for (int i = 0; i < n; i++) {
        const argument *a = i < o->schema->nargs ? &o->schema->args[i] : NULL;
        bool written = a && ((a->alias && a->alias->write) || !strncmp(a->name, "running_", 8));
        tensor *copy = NULL;
        if (args[i].tag != V_TENSOR || written || !dtype_is_float((dtype)args[i].u.tensor->dtype) ||
            tensor_clone(NULL, args[i].u.tensor, &copy) != CTSC_OK) {
            value_ref(args[i]);
        } else {
            noise_tensor(e, coarse ? DT_BFLOAT16 : noise_sum_dtype(o, n, args, (dtype)copy->dtype),
                         copy, tiles ? noise_largest(tensor_data(copy), copy, 0) : 0,
                         (double)copy->numel);
            args[i] = value_tensor_take(copy);
        }
    }
}

/* and more where operands are large: rows of equal elements are divided by the root of epsilon
 * alone, and then multiplied by a weight. */
static double noise_center(int n, const value *args) {
    double many = NOISE_CENTER;
    for (int i = 0; i < n; i++)
        if (args[i].tag == V_TENSOR && dtype_is_float((dtype)args[i].u.tensor->dtype) &&
            args[i].u.tensor->numel) {
            double largest = fmax(
                1, noise_largest(tensor_data(args[i].u.tensor), args[i].u.tensor, 0));
            many *= largest * largest; /* its root counts */
        }
    return many;
}

/* A sum's roundings need not cancel: those of equal terms all go the same way, so that n of them
 * may be off by n / 8 units. In double, which is added in without blocks; the square, of which
 * noise_units takes the root. */
static double noise_terms(const op *o, int n, const value *args, const tensor *result) {
    double terms = 1;
    for (int i = 0; i < n; i++)
        if (args[i].tag == V_TENSOR)
            terms = fmax(terms, (double)args[i].u.tensor->numel / (double)result->numel);
    return noise_listed(noise_sums, o) && result->dtype == DT_FLOAT64 ? terms * terms : 1;
}

static void noise_results(evaluation *e, const op *o, int n, const value *args, value *results) {
    double about = noise_listed(noise_cancels, o) || noise_listed(noise_centers, o);
    double many = noise_listed(noise_centers, o) ? noise_center(n, args) : 1;
    bool coarse = noise_is_coarse(e, o);
    for (int i = 0; i < o->schema->nreturns; i++) {
        value *r = &results[i];
        if (r->tag == V_FLOAT) r->u.f = noise_number(e, DT_FLOAT64, r->u.f, 0, 1);
        if (r->tag != V_TENSOR) continue;
        bool shared = false;
        for (int k = 0; k < n && !o->schema->has_alias_write; k++)
            shared |= args[k].tag == V_TENSOR && args[k].u.tensor->storage == r->u.tensor->storage;
        tensor *t = r->u.tensor;
        if (shared || !dtype_is_float((dtype)t->dtype) || !t->numel) continue;
        if (noise_listed(noise_picks, o)) noise_signs(e, tensor_data(t), t, 0);
        else
            noise_tensor(e, coarse ? DT_BFLOAT16 : (dtype)t->dtype, t,
                         coarse || noise_listed(noise_tiles, o)
                             ? noise_largest(tensor_data(t), t, 0)
                             : about,
                         fmax(many, noise_terms(o, n, args, t)));
    }
}

/* ---- operators ------------------------------------------------------------------------------- */

static ctsc_status evaluate_call(evaluation *e, const op *o, int n, const value *args,
                                 type *const *out_types, value *results) {
    op_ctx cx = {.diag = e->d, .op = o, .rt = &e->rt, .nargs = n, .out_types = out_types};
    for (int i = 0; i < o->schema->nreturns; i++) results[i] = value_none();
    if (!o->fn) return diag_fail(e->d, CTSC_UNSUPPORTED, "operator %s is not supported", o->key);
    return op_function(o, n, args)(&cx, args, results);
}

ctsc_status evaluate_op(evaluation *e, const op *o, int n, const value *args,
                        type *const *out_types, value *results) {
    if (!e->noisy || noise_listed(noise_exact, o))
        return evaluate_call(e, o, n, args, out_types, results);
    value moved[32];
    bool sums = n <= (int)(sizeof moved / sizeof *moved) && noise_listed(noise_sums, o);
    if (sums) {
        for (int i = 0; i < n; i++) moved[i] = args[i];
        noise_operands(e, o, n, moved);
    }
    ctsc_status s = evaluate_call(e, o, n, sums ? moved : args, out_types, results);
    if (s == CTSC_OK) noise_results(e, o, n, args, results);
    for (int i = 0; sums && i < n; i++) value_unref(moved[i]);
    return s;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

void evaluation_init(evaluation *e, diag *d) {
    memset(e, 0, sizeof *e);
    runtime_init(&e->rt);
    e->d = d;
}

void evaluation_clear(evaluation *e) {
    for (size_t i = 0; i < e->values.len; i++) value_unref(e->values.data[i]);
    e->values.len = 0;
    e->steps = 0;
}

void evaluation_free(evaluation *e) {
    evaluation_clear(e);
    vec_free(&e->values);
}

void evaluation_set_take(evaluation *e, const ir_value *v, value x) {
    while (e->values.len <= (size_t)v->id) vec_push(&e->values, value_none());
    value_set(&e->values.data[v->id], x);
}

static ctsc_status evaluate_if(evaluation *e, const node *n) {
    const block *b = n->blocks.data[evaluation_get(e, n->inputs.data[0]).u.b ? 0 : 1];
    ctsc_status s = evaluate_block(e, b);
    for (size_t i = 0; s == CTSC_OK && i < b->returns.len; i++)
        evaluation_set_take(e, n->outputs.data[i],
                            value_ref(evaluation_get(e, b->returns.data[i])));
    return s;
}

/* What the block returned becomes what it gets next. */
static void evaluate_carry(evaluation *e, const block *b) {
    value *next = mem_alloc(sizeof(value) * b->params.len + 1);
    for (size_t i = 1; i < b->params.len; i++)
        next[i] = value_ref(evaluation_get(e, b->returns.data[i]));
    for (size_t i = 1; i < b->params.len; i++) evaluation_set_take(e, b->params.data[i], next[i]);
    mem_free(next);
}

ctsc_status evaluate_loop(evaluation *e, const node *n, int64_t from, bool go_on) {
    const block *b = n->blocks.data[0];
    int64_t limit = evaluation_get(e, n->inputs.data[0]).u.i;
    ctsc_status s = CTSC_OK;
    for (int64_t i = from; s == CTSC_OK && go_on && i < limit; i++) {
        evaluation_set_take(e, b->params.data[0], value_int(i));
        s = evaluate_block(e, b);
        if (s != CTSC_OK) break;
        go_on = evaluation_get(e, b->returns.data[0]).u.b;
        evaluate_carry(e, b);
    }
    for (size_t i = 0; s == CTSC_OK && i < n->outputs.len; i++)
        evaluation_set_take(e, n->outputs.data[i],
                            value_ref(evaluation_get(e, b->params.data[i + 1])));
    return s;
}

static ctsc_status evaluate_list(evaluation *e, const node *n) {
    type *elem = type_elem(n->outputs.data[0]->type);
    list *l = list_new(type_list_kind(elem), elem, n->inputs.len);
    for (size_t i = 0; i < n->inputs.len; i++)
        list_append_take(l, value_ref(evaluation_get(e, n->inputs.data[i])));
    evaluation_set_take(e, n->outputs.data[0], value_list_take(l));
    return CTSC_OK;
}

static ctsc_status evaluate_unpack(evaluation *e, const node *n) {
    value v = evaluation_get(e, n->inputs.data[0]);
    size_t len = v.tag == V_LIST ? v.u.list->len : v.u.tuple->len;
    if (len != n->outputs.len)
        return diag_fail(e->d, CTSC_FAILED, "Expected %zu elements in a list but found %zu",
                         n->outputs.len, len);
    for (size_t i = 0; i < len; i++)
        evaluation_set_take(e, n->outputs.data[i],
                            v.tag == V_LIST ? list_get(v.u.list, i)
                                            : value_ref(v.u.tuple->items[i]));
    return CTSC_OK;
}

static ctsc_status evaluate_tuple(evaluation *e, const node *n) {
    tuple *t = tuple_new(n->inputs.len, NULL);
    for (size_t i = 0; i < n->inputs.len; i++)
        t->items[i] = value_ref(evaluation_get(e, n->inputs.data[i]));
    evaluation_set_take(e, n->outputs.data[0], value_tuple_take(t));
    return CTSC_OK;
}

static ctsc_status evaluate_operator(evaluation *e, const node *n) {
    enum { ROOM = 64 };
    value args[ROOM], results[ROOM];
    type *types[ROOM];
    if (n->inputs.len > ROOM || n->outputs.len > ROOM || !n->op)
        return diag_fail(e->d, CTSC_UNSUPPORTED, "%s", node_kind_text(n));
    for (size_t i = 0; i < n->inputs.len; i++) args[i] = evaluation_get(e, n->inputs.data[i]);
    for (size_t i = 0; i < n->outputs.len; i++) types[i] = n->outputs.data[i]->type;
    ctsc_status s = evaluate_op(e, n->op, (int)n->inputs.len, args, types, results);
    for (size_t i = 0; s == CTSC_OK && i < n->outputs.len; i++)
        evaluation_set_take(e, n->outputs.data[i], results[i]);
    return s;
}

ctsc_status evaluate_node(evaluation *e, const node *n) {
    value constant = value_none();
    if (e->steps++ > EVALUATION_STEPS) return diag_fail(e->d, CTSC_LIMIT, "too many steps");
    switch (n->kind) {
    case N_CONSTANT:
        ir_value_constant(n->outputs.data[0], &constant);
        evaluation_set_take(e, n->outputs.data[0], value_ref(constant));
        return CTSC_OK;
    case N_IF: return evaluate_if(e, n);
    case N_LOOP:
        for (size_t i = 2; i < n->inputs.len; i++)
            evaluation_set_take(e, n->blocks.data[0]->params.data[i - 1],
                                value_ref(evaluation_get(e, n->inputs.data[i])));
        return evaluate_loop(e, n, 0, evaluation_get(e, n->inputs.data[1]).u.b);
    case N_LIST_CONSTRUCT: return evaluate_list(e, n);
    case N_TUPLE_CONSTRUCT: return evaluate_tuple(e, n);
    case N_LIST_UNPACK:
    case N_TUPLE_UNPACK: return evaluate_unpack(e, n);
    case N_FUSION_GROUP:
        return e->on_group ? e->on_group(e->ctx, e, n)
                           : diag_fail(e->d, CTSC_UNSUPPORTED, "a fusion group");
    default: return evaluate_operator(e, n);
    }
}

ctsc_status evaluate_block(evaluation *e, const block *b) {
    ctsc_status s = CTSC_OK;
    for (const node *n = b->first; n && s == CTSC_OK; n = n->next) s = evaluate_node(e, n);
    return s;
}

ctsc_status evaluate_graph(evaluation *e, const graph *g, const value *args) {
    for (size_t i = 0; i < g->root->params.len; i++)
        evaluation_set_take(e, g->root->params.data[i], value_ref(args[i]));
    return evaluate_block(e, g->root);
}
