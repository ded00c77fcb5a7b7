/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_op.c - one random operator: which, and with which arguments.
 *
 * Operators come from the registry. A table says how often families of names are drawn; every
 * overload that is implemented and whose arguments can be made counts. A small part is drawn from
 * all other operators of the registry, but for those whose results cannot be compared. Arguments
 * are made from the schema: by type, and by name where the name says more (dim, size, index, ...).
 */
#include "gen.h"

/* ---- which operators ------------------------------------------------------------------------- */

typedef struct gen_family { int weights[FOCUS_COUNT]; const char *names; } gen_family;

/*  any  pointwise  scalars */
static const gen_family gen_families[] = {
    {{30, 30, 4}, "add sub mul"},
    {{18, 22, 4},
     "div rsub maximum minimum pow fmod remainder floor_divide atan2 fmax fmin copysign lerp "
     "addcmul "
     "addcdiv add_ sub_ mul_ div_"},
    {{10, 14, 2}, "neg abs relu sigmoid tanh exp log sqrt rsqrt reciprocal sin cos square"},
    {{6, 10, 1},
     "floor ceil round trunc sign erf gelu silu elu leaky_relu hardtanh hardswish hardsigmoid "
     "softplus "
     "mish log1p expm1 exp2 log2 log10 atan tan asin acos sinh cosh frac selu relu6 celu threshold "
     "nan_to_num erfc sgn logit softshrink hardshrink log_sigmoid asinh acosh atanh positive xlogy "
     "logaddexp hypot heaviside glu prelu sinc deg2rad"},
    {{10, 14, 3},
     "eq ne lt le gt ge logical_and logical_or logical_xor logical_not bitwise_and bitwise_or "
     "bitwise_xor "
     "bitwise_not isnan isinf isfinite __and__ __or__ __xor__ bitwise_left_shift isclose"},
    {{8, 12, 1}, "where clamp clamp_min clamp_max masked_fill"},
    {{7, 10, 1}, "to type_as float_power to to"},
    {{14, 4, 2},
     "sum mean max min amax amin argmax argmin var std norm prod all any logsumexp cumsum std_mean "
     "var_mean nansum aminmax cumprod count_nonzero median cummax diff linalg_vector_norm mse_loss "
     "l1_loss "
     "smooth_l1_loss huber_loss kl_div binary_cross_entropy_with_logits cosine_similarity "
     "pairwise_distance"},
    {{6, 3, 0},
     "softmax log_softmax layer_norm _softmax native_layer_norm batch_norm group_norm "
     "instance_norm"},
    {{24, 10, 6},
     "view reshape transpose permute select slice unsqueeze squeeze expand expand_as chunk split "
     "narrow t "
     "flatten unbind diagonal movedim view_as reshape_as unfold swapaxes detach alias unflatten "
     "tensor_split split_with_sizes numpy_T"},
    {{8, 4, 2},
     "cat stack clone contiguous zeros_like ones_like full_like zeros ones full arange new_zeros "
     "new_ones "
     "new_full repeat flip roll eye tril triu tile repeat_interleave constant_pad_nd"},
    {{8, 1, 0}, "mm addmm bmm matmul linear mv dot baddbmm addmv outer einsum"},
    {{4, 1, 0},
     "index_select gather index masked_select index_add scatter embedding take topk sort nonzero "
     "index_fill one_hot index_put scatter_add"},
    {{10, 6, 4},
     "neg_ abs_ relu_ sigmoid_ tanh_ exp_ sqrt_ square_ floor_ clamp_ clamp_min_ fill_ zero_ copy_ "
     "masked_fill_ add_ sub_ mul_ div_ pow_ lerp_ addcmul_ leaky_relu_ hardtanh_ logical_not_ eq_ "
     "lt_ "
     "bitwise_and_ remainder_ index_put_ index_fill_ scatter_ index_copy_ cumsum_ t_ transpose_ "
     "squeeze_ "
     "unsqueeze_ triu_ addmm_ round_ sign_ trunc_ elu_ masked_scatter_ index_add_"},
    {{5, 2, 5},
     "size dim numel len is_floating_point is_nonzero item Float Int Bool prim::dtype tensor "
     "scalar_tensor"},
    {{5, 1, 40},
     "add sub mul neg floordiv remainder div lt le gt ge eq ne __and__ __or__ __not__ prim::min "
     "prim::max "
     "abs Int Float Bool floor ceil round sqrt exp pow bitwise_and min max fmod truediv prim::abs "
     "sin tanh "
     "bool __xor__ __range_length"},
};

/* Of all the rest, names (and parts of names) whose results cannot be compared, or that nobody
 * should call at random. */
static const char *const gen_avoid[] = {
    "empty",
    "rand",
    "stride",
    "is_contiguous",
    "linalg",
    "svd",
    "eig",
    "lu_",
    "lstsq",
    "cholesky",
    "inverse",
    "geqrf",
    "qr",
    "ormqr",
    "orgqr",
    "solve",
    "det",
    "resize",
    "set_",
    "seed",
    "storage",
    "nested",
    "sparse",
    "_version",
    "data_ptr",
    "bernoulli",
    "dropout",
    "normal",
    "cauchy",
    "poisson",
    "exponential",
    "geometric",
    "uniform",
    "multinomial",
    "out_",
    "_copy_from",
    "requires_grad",
    "retain",
    "is_leaf",
    "output_nr",
    "matrix_power",
    "matrix_exp",
    "pinverse",
    "quantile",
    "memory_format",
    "pin_memory",
    "is_pinned",
    "names",
    "rename",
    "align_",
    "detach_",
    "strided",
    "_list_to_tensor",
    "list",
    "manual",
    "stft",
    "fft",
    "hash",
    "quantize",
    "dequantize",
    "fake_quant",
    "q_",
    "int_repr",
    "cuda",
    "device",
    "grid_sampl",
    "lstm",
    "gru",
    "rnn",
    "rrelu",
    "_coalesce",
    "renorm",
    "tensor",
    "native_norm",
    "left_t",
    "right_",
    "mul_",
    "warn",
    "print",
    "is_set_to",
    "is_same_size",
    "polygamma",
    "igamma",
    "zeta",
    "data",
    "result_type",
    "version",
    "save",
    "logspace",
    "kaiser",
    "window",
    "special_",
    "ctc",
    "unique",
    "backward",
    NULL,
};

typedef VEC(const op *) gen_op_list;

struct gen_ops {
    gen_op_list families[sizeof gen_families / sizeof *gen_families], rest;
    int totals[FOCUS_COUNT], images;
};
enum { GEN_FAMILIES = sizeof gen_families / sizeof *gen_families, GEN_REST_PERCENT = 4 };

static bool gen_type_makable(const argument *a) {
    const type *t = a->type;
    if (a->has_default) return true;
    if (t->kind == T_OPTIONAL) return true;
    if (t->kind == T_LIST) {
        const type *e = type_elem(t);
        return e->kind == T_INT || e->kind == T_TENSOR || e->kind == T_OPTIONAL;
    }
    return t->kind == T_TENSOR || t->kind == T_INT || t->kind == T_FLOAT || t->kind == T_BOOL ||
           t->kind == T_NUMBER;
}

static bool gen_return_usable(const type *t) {
    if (t->kind == T_LIST) return type_elem(t)->kind == T_TENSOR || type_elem(t)->kind == T_INT;
    return t->kind == T_TENSOR || t->kind == T_INT || t->kind == T_FLOAT || t->kind == T_BOOL ||
           t->kind == T_NUMBER;
}

static bool gen_op_usable(const op *o) {
    const schema *s = o->schema;
    if (!o->fn || s->vararg || s->varret || op_traits_differ(o->traits) || o->traits.side_effect ||
        o->traits.unsafe || o->traits.special || s->nargs > 16 || !s->nreturns)
        return false;
    if (strstr(s->overload, "out") || strstr(s->overload, "name") ||
        strstr(s->overload, "Dimname") || strstr(s->overload, "complex"))
        return false;
    for (int i = 0; i < s->nargs; i++) {
        const argument *a = &s->args[i];
        if (!gen_type_makable(a) || a->type->has_var ||
            (a->type_text && strstr(a->type_text, "Dimname")))
            return false;
        if (a->kwarg_only && a->alias && a->alias->write) return false;
    }
    for (int i = 0; i < s->nreturns; i++)
        if (!gen_return_usable(s->returns[i].type)) return false;
    return true;
}

static void gen_add_name(gen_op_list *list, const char *name, size_t len) {
    char full[64];
    int n = 0;
    bool qualified = memchr(name, ':', len) != NULL;
    snprintf(full, sizeof full, "%s%.*s", qualified ? "" : "aten::", (int)len, name);
    const op *const *all = op_overloads(full, &n);
    for (int i = 0; i < n; i++)
        if (gen_op_usable(all[i])) vec_push(list, all[i]);
}

static void gen_add_rest(void *ctx, const op *o) {
    gen_ops *ops = ctx;
    if (strncmp(o->schema->name, "aten::", 6) || !gen_op_usable(o)) return;
    for (const char *const *a = gen_avoid; *a; a++)
        if (strstr(o->schema->name + 6, *a)) return;
    vec_push(&ops->rest, o);
}

int gen_image_percent(const gen_ops *ops) { return ops->images; }

gen_ops *gen_ops_new(int images) {
    gen_ops *ops = mem_zalloc(sizeof *ops);
    ops->images = images;
    for (int i = 0; i < GEN_FAMILIES; i++) {
        for (const char *p = gen_families[i].names; *p;) {
            size_t len = strcspn(p, " ");
            gen_add_name(&ops->families[i], p, len);
            p += len;
            p += strspn(p, " ");
        }
        for (int f = 0; f < FOCUS_COUNT; f++) ops->totals[f] += gen_families[i].weights[f];
    }
    op_visit(gen_add_rest, ops);
    return ops;
}

void gen_ops_free(gen_ops *ops) {
    for (int i = 0; i < GEN_FAMILIES; i++) vec_free(&ops->families[i]);
    vec_free(&ops->rest);
    mem_free(ops);
}

/* Not for images, which are compared with noise: results whose shape depends on
 * elements, signs of NaN. */
static bool gen_op_wants_exact(const op *o) {
    static const char *const names[] = {"aten::nonzero",
                                        "aten::masked_select",
                                        "aten::argwhere",
                                        "aten::signbit",
                                        "aten::copysign",
                                        "aten::atan2",
                                        NULL};
    for (const char *const *n = names; *n; n++)
        if (!strncmp(o->key, *n, strlen(*n))) return true;
    return !strcmp(o->schema->name, "aten::where") && o->schema->nargs == 1;
}

/* First a family, then a name's worth of overloads: a family's operators are equally likely. */
static const op *gen_choose_op(gen *G) {
    const gen_ops *ops = G->ops;
    if (rng_chance(&G->r, GEN_REST_PERCENT)) return ops->rest.data[rng_next(&G->r) % ops->rest.len];
    int at = (int)rng_range(&G->r, 0, ops->totals[G->focus] - 1), i = 0;
    while (at >= gen_families[i].weights[G->focus]) at -= gen_families[i++].weights[G->focus];
    return ops->families[i].data[rng_next(&G->r) % ops->families[i].len];
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* An operator whose arguments are being chosen. */
typedef struct choice {
    gen *G;
    const op *o;
    const char *name; /* without "aten::" */
    ir_value *args[16];
    const tensor *first; /* the first tensor argument; NULL: none so far */
    ir_value *with;      /* what argument `at` has to be; NULL: any */
    int at;
    int64_t dim; /* the dim chosen last, of `first` */
} choice;

static bool choice_is(const choice *c, const char *name) {
    size_t len = strlen(c->name);
    return !strncmp(c->name, name, strlen(name)) &&
           (len == strlen(name) || (len == strlen(name) + 1 && c->name[len - 1] == '_'));
}

static bool choice_is_one_of(const choice *c, const char *const *names) {
    for (; *names; names++)
        if (choice_is(c, *names)) return true;
    return false;
}

static bool choice_has(const char *name, const char *const *list) {
    for (; *list; list++)
        if (!strcmp(name, *list)) return true;
    return false;
}

/* The dim's size, 1 if there is none. */
static int64_t choice_size(const choice *c) {
    return c->first && c->first->ndim && c->dim < c->first->ndim ? c->first->sizes[c->dim] : 1;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static bool choice_broadcasts(gen *G, ir_value *v, void *ctx) {
    const choice *c = ctx;
    const tensor *a = c->first, *b = gen_tensor(G, v);
    for (int i = 1; i <= a->ndim && i <= b->ndim; i++) {
        int64_t x = a->sizes[a->ndim - i], y = b->sizes[b->ndim - i];
        if (x != y && x != 1 && y != 1) return false;
    }
    return true;
}

typedef struct choice_shape { int ndim; int64_t sizes[8]; dtype dt; } choice_shape;

static bool choice_fits_shape(gen *G, ir_value *v, void *ctx) {
    const choice_shape *s = ctx;
    const tensor *t = gen_tensor(G, v);
    if (t->ndim != s->ndim || t->dtype != s->dt) return false;
    return !memcmp(t->sizes, s->sizes, sizeof(int64_t) * (size_t)s->ndim);
}

static ir_value *choice_of_shape(choice *c, choice_shape *s) {
    ir_value *v = rng_chance(&c->G->r, 60) ? gen_pick(c->G, TYPE_TENSOR, choice_fits_shape, s)
                                           : NULL;
    return v ? v
             : gen_tensor_constant(c->G, s->dt, s->ndim, s->sizes,
                                   rng_chance(&c->G->r, 70) ? STYLE_MIXED : STYLE_INTEGERS);
}

/* The shape that an operator wants of argument `name`, given the first tensor: false
 * if any will do. */
static bool choice_wants(const choice *c, const char *name, choice_shape *s) {
    static const char *const products[] = {"mm", "matmul", "bmm", "linear", "mv", "dot", NULL};
    static const char *const factors[] = {"mat2", "other", "weight", "vec", "tensor", NULL};
    const tensor *t = c->first;
    rng *r = &c->G->r;
    s->dt = (dtype)t->dtype;
    if (choice_is_one_of(c, products) && t->ndim >= 1 && choice_has(name, factors)) {
        int64_t k = t->sizes[t->ndim - 1],
                m = rng_chance(r, 70) ? c->G->sizes[rng_next(r) % GEN_SIZES] : rng_range(r, 1, 5);
        bool vector = choice_is(c, "mv") || choice_is(c, "dot");
        s->ndim = vector ? 1 : choice_is(c, "bmm") ? 3 : 2;
        s->sizes[0] = t->sizes[0];
        s->sizes[s->ndim - 1] = m;
        s->sizes[s->ndim - (s->ndim > 1 ? 2 : 1)] = k;
        if (choice_is(c, "linear")) s->sizes[0] = m, s->sizes[1] = k;
        return true;
    }
    if (strstr(c->name, "layer_norm") && c->args[1] && gen_value(c->G, c->args[1]).tag == V_LIST) {
        const list *l = gen_value(c->G, c->args[1]).u.list;
        if (l->len > 4) return false;
        s->ndim = (int)l->len;
        for (int i = 0; i < s->ndim; i++) {
            if (l->u.ints[i] < 0 || l->u.ints[i] > 64) return false;
            s->sizes[i] = l->u.ints[i];
        }
        return true;
    }
    if (choice_is(c, "scale_channels_last")) {
        s->ndim = 1;
        s->sizes[0] = t->ndim ? t->sizes[t->ndim - 1] : 1;
        s->dt = DT_FLOAT32;
        return true;
    }
    if (choice_is(c, "batch_norm") || choice_is(c, "group_norm") || choice_is(c, "prelu")) {
        s->ndim = 1;
        s->sizes[0] = t->ndim >= 2 ? t->sizes[1] : 1;
        return true;
    }
    if (strstr(name, "index") || strstr(name, "indices")) {
        s->ndim = strstr(c->name, "gather") || strstr(c->name, "scatter") ? t->ndim : 1;
        s->dt = DT_INT64;
        for (int i = 0; i < s->ndim; i++)
            s->sizes[i] = s->ndim == 1 ? rng_range(r, 1, 4) : t->sizes[i];
        return true;
    }
    if (strstr(name, "mask")) {
        s->ndim = t->ndim;
        s->dt = DT_BOOL;
        memcpy(s->sizes, t->sizes, sizeof(int64_t) * (size_t)t->ndim);
        return true;
    }
    return false;
}

/* Index tensors hold what is in range. */
static ir_value *choice_indices(choice *c, choice_shape *s) {
    int64_t most = choice_is(c, "take") || choice_is(c, "embedding")
                       ? (c->first->ndim ? c->first->sizes[0] : 1)
                       : choice_size(c);
    tensor *t = gen_fill_new(&c->G->r, DT_INT64, s->ndim, s->sizes, STYLE_POSITIVE);
    for (int64_t i = 0; i < t->numel; i++)
        TENSOR_AT(t, int64_t)[i] = most ? (int64_t)(rng_next(&c->G->r) % (uint64_t)most) : 0;
    vec_push(&c->G->constants, t->storage);
    return gen_constant(c->G, value_tensor_take(t), NULL);
}

static ir_value *choice_tensor(choice *c, const argument *a) {
    gen *G = c->G;
    choice_shape s;
    if (!c->first) {
        ir_value *v = gen_pick_tensor(G);
        if (!v || gen_tensor(G, v)->ndim > GEN_MAX_DIMS) return NULL;
        c->first = gen_tensor(G, v);
        return v;
    }
    if (choice_wants(c, a->name, &s) && rng_chance(&G->r, 90))
        return s.dt == DT_INT64 && strstr(a->name, "ind") && rng_chance(&G->r, 80)
                   ? choice_indices(c, &s)
                   : choice_of_shape(c, &s);
    ir_value *v = gen_pick(G, TYPE_TENSOR, rng_chance(&G->r, 97) ? choice_broadcasts : NULL, c);
    if (v && !rng_chance(&G->r, 6)) return v;
    s.ndim = (int)rng_range(&G->r, 0, c->first->ndim);
    if (s.ndim > 4) s.ndim = 4;
    for (int i = 0; i < s.ndim; i++)
        s.sizes[i] = rng_chance(&G->r, 20) ? 1 : c->first->sizes[c->first->ndim - s.ndim + i];
    s.dt = rng_chance(&G->r, 70) ? (dtype)c->first->dtype : gen_dtype(&G->r);
    return gen_tensor_constant(G, s.dt, s.ndim, s.sizes, (int)(rng_next(&G->r) % STYLE_COUNT));
}

static ir_value *choice_tensors(choice *c) {
    gen *G = c->G;
    ir_value *items[3],
        *v = rng_chance(&G->r, 15) ? gen_pick(G, type_list(TYPE_TENSOR), NULL, NULL) : NULL;
    int n = (int)rng_range(&G->r, 1, 3), k = 0;
    if (v) {
        const list *l = gen_value(G, v).u.list;
        if (l->len) c->first = l->u.tensors[0];
        return l->len && c->first->ndim > GEN_MAX_DIMS ? NULL : v;
    }
    if (!(items[k++] = gen_pick_tensor(G)) || gen_tensor(G, items[0])->ndim > GEN_MAX_DIMS)
        return NULL;
    c->first = gen_tensor(G, items[0]);
    choice_shape s = {c->first->ndim, {0}, (dtype)c->first->dtype};
    memcpy(s.sizes, c->first->sizes, sizeof(int64_t) * (size_t)s.ndim);
    for (; k < n; k++)
        if (!(items[k] = rng_chance(&G->r, 80) ? gen_pick(G, TYPE_TENSOR, choice_fits_shape, &s)
                                               : gen_pick_tensor(G)))
            items[k] = items[0];
    return gen_list(G, TYPE_TENSOR, n, items);
}

/* aten::index's list of optional tensors. */
static ir_value *choice_index_list(choice *c) {
    choice_shape s = {1, {rng_range(&c->G->r, 1, 3)}, DT_INT64};
    ir_value *items[2];
    int n = c->first && c->first->ndim > 1 ? (int)rng_range(&c->G->r, 1, 2) : 1;
    if (!c->first || !c->first->ndim) return NULL;
    for (int i = 0; i < n; i++) {
        c->dim = i;
        items[i] = choice_indices(c, &s);
    }
    return gen_list(c->G, type_optional(TYPE_TENSOR), n, items);
}

/* ---- ints ------------------------------------------------------------------------------------ */

static int64_t choice_dim(choice *c) {
    static const char *const more[] = {"unsqueeze", "stack", NULL};
    rng *r = &c->G->r;
    int n = (c->first ? c->first->ndim : 1) + choice_is_one_of(c, more);
    if (n <= 0) return rng_range(r, -1, 0);
    c->dim = rng_range(r, 0, n - 1);
    return rng_chance(r, 35) ? c->dim - n : c->dim;
}

static bool gen_int_is_small(gen *G, ir_value *v, void *ctx) {
    int64_t i = gen_value(G, v).u.i;
    (void)ctx;
    return i >= -4 && i <= 12;
}

static ir_value *choice_int(choice *c, const argument *a) {
    static const char *const dims[] = {"dim",       "dim0",   "dim1",        "axis",
                                       "axis0",     "axis1",  "start_dim",   "end_dim",
                                       "dimension", "source", "destination", NULL};
    gen *G = c->G;
    rng *r = &G->r;
    ir_value *v;
    if (a->leaf_text && !strcmp(a->leaf_text, "ScalarType")) return gen_int(G, gen_dtype(r));
    /* MemoryFormat, Layout */
    if (a->leaf_text && strcmp(a->leaf_text, "SymInt")) return gen_int(G, 0);
    if (choice_has(a->name, dims)) return gen_int(G, choice_dim(c));
    if (c->first && rng_chance(r, 15) && (v = gen_pick(G, TYPE_INT, gen_int_is_small, NULL)))
        return v;
    if (!c->first && rng_chance(r, 85) && (v = gen_pick(G, TYPE_INT, NULL, NULL))) return v;
    int64_t size = choice_size(c);
    if (!strcmp(a->name, "index"))
        return gen_int_like(G, size ? rng_range(r, rng_chance(r, 30) ? -size : 0, size - 1) : 0);
    if (!strcmp(a->name, "start"))
        return gen_int_like(G, rng_chance(r, 60) ? 0 : rng_range(r, -2, size));
    if (!strcmp(a->name, "end"))
        return gen_int_like(G, rng_chance(r, 20) ? INT64_MAX : rng_range(r, -1, size));
    if (!strcmp(a->name, "length")) return gen_int_like(G, rng_range(r, 0, size));
    if (!strcmp(a->name, "step")) return gen_int(G, rng_chance(r, 70) ? 1 : 2);
    if (!strcmp(a->name, "k") || !strcmp(a->name, "n") || !strcmp(a->name, "size"))
        return gen_int_like(G, rng_range(r, 0, size));
    if (strstr(a->name, "chunks") || strstr(a->name, "split") || strstr(a->name, "sections"))
        return gen_int(G, rng_range(r, 1, 3));
    if (!strcmp(a->name, "num_groups")) return gen_int(G, 1);
    if (!strcmp(a->name, "spatial") && c->first && rng_chance(r, 95))
        return gen_int(G, c->first->ndim - 2);
    return gen_int_like(G, rng_range(r, rng_chance(r, 30) ? -3 : 0, 4));
}

/* Sizes with the same product. */
static int choice_factors(choice *c, int64_t *out) {
    rng *r = &c->G->r;
    int64_t left = c->first->numel;
    int n = 0;
    if (rng_chance(r, 30)) { /* the sizes themselves, two of them joined, or one split off */
        for (; n < c->first->ndim; n++) out[n] = c->first->sizes[n];
        if (n >= 2 && rng_chance(r, 60)) out[n - 2] *= out[n - 1], n--;
        else if (n < 4) out[n++] = 1;
        return n;
    }
    while (n < 3 && left > 1) {
        int64_t f = c->G->sizes[rng_next(r) % GEN_SIZES];
        if (f < 1 || left % f) f = left;
        out[n++] = f;
        left /= f;
    }
    if (left != 1 || n == 0) out[n++] = left;
    return n;
}

static int choice_sizes(choice *c, int64_t *out) {
    rng *r = &c->G->r;
    const tensor *t = c->first;
    int n = 0;
    if (t && (strstr(c->name, "view") || strstr(c->name, "reshape"))) {
        n = choice_factors(c, out);
        if (n && t->numel && rng_chance(r, 40)) out[rng_next(r) % (uint64_t)n] = -1;
        return n;
    }
    if (t && (choice_is(c, "expand") || choice_is(c, "expand_copy"))) {
        if (rng_chance(r, 40)) out[n++] = rng_range(r, 1, 3);
        for (int i = 0; i < t->ndim; i++, n++)
            out[n] = t->sizes[i] == 1 ? rng_range(r, 1, 4) : rng_chance(r, 30) ? -1 : t->sizes[i];
        return n;
    }
    if (t && strstr(c->name, "unflatten")) {
        int64_t size = choice_size(c);
        out[0] = size % 2 ? 1 : 2;
        out[1] = -1;
        return 2;
    }
    n = (int)rng_range(r, 0, 3);
    for (int i = 0; i < n; i++)
        out[i] = rng_chance(r, 10) ? rng_range(r, 0, 4) : c->G->sizes[rng_next(r) % GEN_SIZES];
    return n;
}

static int choice_permutation(choice *c, int64_t *out) {
    int n = c->first ? c->first->ndim : 0;
    for (int i = 0; i < n; i++) out[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = (int)(rng_next(&c->G->r) % (uint64_t)(i + 1));
        int64_t x = out[i];
        out[i] = out[k];
        out[k] = x;
    }
    return n;
}

/* Numbers for a list argument; -1: no idea. */
static int choice_numbers(choice *c, const argument *a, int64_t *out) {
    static const char *const dims[] = {"dim",    "dims",        "axis", "axes",
                                       "source", "destination", NULL};
    rng *r = &c->G->r;
    int n = c->first ? c->first->ndim : 0;
    if (choice_has(a->name, dims)) {
        n = choice_permutation(c, out);
        if (!strstr(c->name, "permute") && n) n = (int)rng_range(r, 1, n);
        for (int i = 0; i < n; i++)
            if (rng_chance(r, 25)) out[i] -= c->first->ndim;
        return n;
    }
    if (!strcmp(a->name, "normalized_shape")) {
        int k = n ? (int)rng_range(r, 1, n) : 0;
        for (int i = 0; i < k; i++) out[i] = c->first->sizes[n - k + i];
        return k;
    }
    if (!strcmp(a->name, "size") || !strcmp(a->name, "shape") || !strcmp(a->name, "sizes"))
        return choice_sizes(c, out);
    if (!strcmp(a->name, "split_sizes")) {
        int64_t size = n ? c->first->sizes[0] : 0; /* dim comes later, often 0 */
        out[0] = rng_range(r, 0, size);
        out[1] = size - out[0];
        return 2;
    }
    if (!strcmp(a->name, "repeats")) {
        for (int i = 0; i < n; i++) out[i] = rng_range(r, 1, 2);
        return n;
    }
    n = a->fixed_size ? a->fixed_size : (int)rng_range(r, 1, 2);
    for (int i = 0; i < n; i++) out[i] = rng_range(r, 0, 2);
    return n;
}

static ir_value *choice_ints(choice *c, const argument *a) {
    gen *G = c->G;
    int64_t numbers[16];
    ir_value *items[16],
        *v = rng_chance(&G->r, 5) ? gen_pick(G, type_list(TYPE_INT), NULL, NULL) : NULL;
    if (v) return v;
    int n = choice_numbers(c, a, numbers);
    if (n < 0) return NULL;
    /* others may return it, to be written to */
    if (!strncmp(c->o->schema->name, "aten::", 6) && rng_chance(&G->r, 25)) {
        list *l = list_new(LIST_INT, TYPE_INT, (size_t)n);
        for (int i = 0; i < n; i++) list_append_take(l, value_int(numbers[i]));
        return gen_constant(G, value_list_take(l), NULL);
    }
    for (int i = 0; i < n; i++)
        if (!(items[i] = gen_int_like(G, numbers[i]))) return NULL;
    return gen_list(G, TYPE_INT, n, items);
}

/* ---- others ---------------------------------------------------------------------------------- */

static ir_value *choice_float(choice *c) {
    static const double some[] = {0.5, 2.0, -1.5, 0.1, 3.0, 1.0, 0.0, 1e-5, -0.25, 7.3};
    ir_value *v = rng_chance(&c->G->r, c->first ? 25 : 85) ? gen_pick(c->G, TYPE_FLOAT, NULL, NULL)
                                                           : NULL;
    return v ? v : gen_float(c->G, some[rng_next(&c->G->r) % (sizeof some / sizeof *some)]);
}

static ir_value *choice_number(choice *c) {
    rng *r = &c->G->r;
    ir_value *v = rng_chance(r, 30) ? gen_pick(c->G, TYPE_NUMBER, NULL, NULL) : NULL;
    if (v) return v;
    return rng_chance(r, 50) ? gen_int(c->G, rng_range(r, rng_chance(r, 60) ? 0 : -3, 4))
                             : choice_float(c);
}

static ir_value *choice_bool(choice *c) {
    ir_value *v = rng_chance(&c->G->r, c->first ? 6 : 85) ? gen_pick(c->G, TYPE_BOOL, NULL, NULL)
                                                          : NULL;
    return v ? v : gen_bool(c->G, rng_chance(&c->G->r, 50));
}

static ir_value *choice_string(choice *c, const argument *a) {
    const char *s = NULL;
    if (!strcmp(a->name, "rounding_mode")) s = rng_chance(&c->G->r, 50) ? "trunc" : "floor";
    if (!strcmp(a->name, "approximate")) s = rng_chance(&c->G->r, 50) ? "none" : "tanh";
    return s ? gen_constant(c->G, value_str_take(str_new(s, strlen(s))), TYPE_STR) : NULL;
}

static ir_value *choice_default(choice *c, const argument *a) {
    return gen_constant(c->G, value_ref(a->default_value), NULL);
}

static ir_value *choice_argument(choice *c, int i) {
    const argument *a = &c->o->schema->args[i];
    const type *t = a->type;
    rng *r = &c->G->r;
    if (c->with && i == c->at) {
        if (!c->first) c->first = gen_tensor(c->G, c->with);
        return c->with;
    }
    if (a->has_default && rng_chance(r, t->kind == T_TENSOR ? 10 : 50)) return choice_default(c, a);
    if (t->kind == T_OPTIONAL) {
        if (rng_chance(r, 45)) return graph_constant_none(c->G->g);
        t = type_elem(t);
    }
    switch (t->kind) {
    case T_TENSOR: return choice_tensor(c, a);
    case T_INT: return choice_int(c, a);
    /* one that keeps from 0 */
    case T_FLOAT:
        return strcmp(a->name, "eps") ? choice_float(c)
                                      : gen_float(c->G, rng_chance(r, 50) ? 1e-5 : 0.125);
    case T_BOOL: return choice_bool(c);
    case T_NUMBER: return choice_number(c);
    case T_STR: return a->has_default || a->type->kind == T_OPTIONAL ? choice_string(c, a) : NULL;
    case T_LIST:
        if (type_elem(t)->kind == T_INT) return choice_ints(c, a);
        if (type_elem(t)->kind == T_TENSOR) return choice_tensors(c);
        if (type_elem(t)->kind == T_OPTIONAL) return choice_index_list(c);
        return a->has_default ? choice_default(c, a) : NULL;
    default:
        return a->has_default                ? choice_default(c, a)
               : a->type->kind == T_OPTIONAL ? graph_constant_none(c->G->g)
                                             : NULL;
    }
}

/* Arguments for c->o. */
static bool choice_arguments(choice *c) {
    c->name = strstr(c->o->schema->name, "::") + 2;
    for (int i = 0; i < c->o->schema->nargs; i++)
        if (!(c->args[i] = choice_argument(c, i))) return false;
    /* bools of any bits */
    bool views_bits = !strcmp(c->o->key, "aten::view.dtype") ||
                      !strcmp(c->o->key, "aten::view_copy.dtype");
    if (views_bits && gen_value(c->G, c->args[1]).u.i == DT_BOOL) return false;
    /* (self, on CUDA, on the host[, dtype on CUDA, dtype on the host]): the same on both */
    if (!strncmp(c->name, "_autocast_to", 12))
        for (int i = 1; i < c->o->schema->nargs; i++) c->args[i] = c->args[i < 3 ? 1 : 3];
    /* PyTorch words that failure differently */
    return !choice_is(c, "batch_norm") || !c->first || c->first->ndim >= 2;
}

/* One of o's tensor arguments, the first more often than the others; -1: it has none. */
static int choice_tensor_argument(gen *G, const op *o) {
    int found = -1, n = 0;
    for (int i = 0; i < o->schema->nargs; i++) {
        const type *t = o->schema->args[i].type;
        if (t->kind == T_OPTIONAL) t = type_elem(t);
        if (t->kind != T_TENSOR) continue;
        if (found < 0 || rng_next(&G->r) % (uint64_t)(2 * n) == 0) found = i;
        n++;
    }
    return found;
}

node *gen_apply(gen *G, const op *o, ir_value *with) {
    gen_mark m = gen_mark_here(G);
    choice c = {.G = G, .o = o, .with = with, .at = with ? choice_tensor_argument(G, o) : -1};
    if (!gen_op_usable(o) || (with && c.at < 0)) return NULL;
    node *made = choice_arguments(&c) ? gen_place(G, o, c.args, true) : NULL;
    if (!made) gen_undo(G, m);
    return made;
}

bool gen_operator(gen *G) {
    gen_mark m = gen_mark_here(G);
    for (int tries = 0; tries < 6; tries++) {
        choice c = {.G = G, .o = gen_choose_op(G)};
        bool ok = !(G->images && gen_op_wants_exact(c.o)) && choice_arguments(&c);
        G->may_fail = true;
        ok = ok && (gen_place(G, c.o, c.args, true) || G->finished);
        G->may_fail = false;
        if (ok) return true;
        gen_undo(G, m);
    }
    return false;
}
