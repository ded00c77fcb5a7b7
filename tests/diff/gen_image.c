/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_image.c - networks on small images: convolutions, mostly
 * with constant weights, and the operators between them.
 *
 * For the passes "layout", "fuse-epilogues-host" and "prepack", whose patterns operators drawn at
 * random never make: weights that are constants of the right shape, sums and activations after
 * convolutions, concatenations, shuffled channels, squeeze and excite, sizes that are queried and
 * used. Steps are mixed with any other operators (gen_statements), with branches and loops.
 *
 * Images are float32, for a while 16 bits, [channels, spatial...] with a batch dim or without, of
 * one to three spatial dims; which of its dims are spatial nobody says, as in any graph: each step
 * takes what it can of a visible tensor.
 */
#include "gen.h"

enum { IMAGE_SPATIAL = 3, IMAGE_DIMS = IMAGE_SPATIAL + 2, IMAGE_CHANNELS = 48, IMAGE_TRIES = 6 };

/* ---- images ---------------------------------------------------------------------------------- */

static bool image_is(gen *G, ir_value *v, void *ctx) {
    const tensor *t = gen_tensor(G, v);
    (void)ctx;
    return t->dtype == DT_FLOAT32 && t->ndim >= 2 && t->ndim <= IMAGE_DIMS && t->numel;
}

/* The newest one as a rule, so that chains come of it. */
static ir_value *image_pick(gen *G) {
    bool newest = rng_chance(&G->r, 60);
    for (size_t i = G->scope.len; newest && i-- > 0;)
        if (G->scope.data[i]->type->kind == T_TENSOR && image_is(G, G->scope.data[i], NULL))
            return G->scope.data[i];
    return gen_pick(G, TYPE_TENSOR, image_is, NULL);
}

/* How many dims of t to take for spatial ones; most: at most. 0: it has too few. */
static int image_spatial(gen *G, const tensor *t, int most) {
    int n = t->ndim - (t->ndim == 2 || rng_chance(&G->r, t->ndim == IMAGE_DIMS ? 0 : 25) ? 1 : 2);
    return n <= most ? n : t->ndim == 4 && most == 2 ? 2 : 0;
}

static int64_t image_channels(const tensor *t, int spatial) {
    return t->sizes[t->ndim - 1 - spatial];
}

static ir_value *image_ints(gen *G, int n, const int64_t *ints) {
    ir_value *items[IMAGE_DIMS + 1];
    if (rng_chance(&G->r, 60)) {
        list *l = list_new(LIST_INT, TYPE_INT, (size_t)n);
        for (int i = 0; i < n; i++) list_append_take(l, value_int(ints[i]));
        return gen_constant(G, value_list_take(l), NULL);
    }
    for (int i = 0; i < n; i++)
        items[i] = rng_chance(&G->r, 90) ? gen_int(G, ints[i]) : gen_int_like(G, ints[i]);
    for (int i = 0; i < n; i++)
        if (!items[i]) return NULL;
    return gen_list(G, TYPE_INT, n, items);
}

static ir_value *image_word(gen *G, const char *s) {
    return gen_constant(G, value_str_take(str_new(s, strlen(s))), TYPE_STR);
}

static ir_value *image_none(gen *G) { return graph_constant_none(G->g); }

/* ---- weights --------------------------------------------------------------------------------- */

/* So small that sums of `terms` products stay about 1; now and then whole numbers,
 * whose sums are exact. */
static ir_value *image_constant_of(gen *G, dtype dt, int ndim, const int64_t *sizes, double terms) {
    bool whole = rng_chance(&G->r, 20);
    tensor *t = gen_fill_new(&G->r, dt, ndim, sizes, STYLE_INTEGERS);
    for (int64_t i = 0; !whole && i < t->numel; i++)
        dtype_store_float(dt, (char *)tensor_data(t) + (size_t)i * dtype_size(dt),
                          rng_real(&G->r, -1.5, 1.5) / (terms > 4 ? terms / 4 : 1));
    vec_push(&G->constants, t->storage);
    return gen_constant(G, value_tensor_take(t), NULL);
}

static ir_value *image_constant(gen *G, int ndim, const int64_t *sizes, double terms) {
    return image_constant_of(G, DT_FLOAT32, ndim, sizes, terms);
}

/* Seldom something else than a constant: computed of one, transposed, or any visible tensor. */
static ir_value *image_weight(gen *G, dtype dt, int ndim, const int64_t *sizes, double terms) {
    int64_t transposed[IMAGE_DIMS];
    ir_value *v, *f;
    if (rng_chance(&G->r, 88)) return image_constant_of(G, dt, ndim, sizes, terms);
    if (rng_chance(&G->r, 50)) {
        memcpy(transposed, sizes, sizeof(int64_t) * (size_t)ndim);
        transposed[0] = sizes[1];
        transposed[1] = sizes[0];
        v = image_constant_of(G, dt, ndim, transposed, terms);
        return gen_emit(G, "aten::transpose.int", false, 3, v, gen_int(G, 0), gen_int(G, 1));
    }
    v = image_constant_of(G, dt, ndim, sizes, terms);
    f = gen_pick(G, TYPE_FLOAT, NULL, NULL);
    return f ? gen_emit(G, "aten::mul.Scalar", false, 2, v, f) : v;
}

static ir_value *image_bias(gen *G, dtype dt, int64_t n) {
    return rng_chance(&G->r, 35) ? image_none(G) : image_constant_of(G, dt, 1, &n, 1);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

typedef struct image_conv {
    int spatial;
    int64_t in, out, groups, kernel[IMAGE_SPATIAL], stride[IMAGE_SPATIAL], pad[IMAGE_SPATIAL],
        dilation[IMAGE_SPATIAL];
    bool transposed;
} image_conv;

static int64_t image_divisor(gen *G, int64_t n) {
    int64_t d = rng_range(&G->r, 1, n < 4 ? n : 4);
    while (n % d) d--;
    return d;
}

static void image_conv_groups(gen *G, image_conv *c) {
    static const int64_t outs[] = {8, 8, 16, 16, 24, 5, 32, 12, 40};
    c->out = rng_chance(&G->r, 40) ? c->in : outs[rng_next(&G->r) % (sizeof outs / sizeof *outs)];
    c->groups = 1;
    if (rng_chance(&G->r, 25)) { /* one channel per group */
        c->groups = c->in;
        c->out = c->in * (rng_chance(&G->r, 75) ? 1 : 2);
    } else if (rng_chance(&G->r, 20)) {
        c->groups = image_divisor(G, c->in);
        c->out = c->groups * rng_range(&G->r, 1, 16);
    }
    if (c->out > IMAGE_CHANNELS) c->out = c->in;
}

static void image_conv_new(gen *G, const tensor *t, int spatial, image_conv *c) {
    static const int64_t kernels[] = {3, 3, 3, 3, 1, 1, 1, 2, 4, 5, 7};
    rng *r = &G->r;
    *c = (image_conv){
        .spatial = spatial, .in = image_channels(t, spatial), .transposed = rng_chance(r, 6)};
    image_conv_groups(G, c);
    int64_t kernel = kernels[rng_next(r) % (sizeof kernels / sizeof *kernels)],
            stride = rng_chance(r, 70) ? 1 : rng_range(r, 1, 3);
    int64_t dilation = rng_chance(r, 85)   ? 1
                       : rng_chance(r, 75) ? rng_range(r, 2, 4)
                                           : rng_range(r, 7, 9);
    bool odd = rng_chance(r, 15); /* each dim for itself */
    for (int i = 0; i < spatial; i++) {
        c->kernel[i] = odd ? rng_range(r, 1, 4) : kernel;
        c->stride[i] = odd ? rng_range(r, 1, 2) : stride;
        c->dilation[i] = odd ? rng_range(r, 1, 2) : dilation;
        c->pad[i] = rng_chance(r, 75) ? c->dilation[i] * (c->kernel[i] - 1) / 2
                                      : rng_range(r, 0, 3);
    }
}

/* The arguments of the operators that say all; plain: without those of cuDNN. */
static ir_value *image_conv_full(gen *G, const image_conv *c, ir_value *x, ir_value *w,
                                 ir_value *b) {
    static const char *const keys[] = {"aten::_convolution", "aten::convolution",
                                       "aten::_convolution.deprecated"};
    static const int64_t zeros[IMAGE_SPATIAL];
    const char *key = keys[rng_next(&G->r) % 3];
    ir_value *no = gen_bool(G, false), *s = image_ints(G, c->spatial, c->stride),
             *p = image_ints(G, c->spatial, c->pad);
    ir_value *d = image_ints(G, c->spatial, c->dilation), *o = image_ints(G, c->spatial, zeros),
             *t = gen_bool(G, c->transposed), *g = gen_int(G, c->groups);
    return gen_emit(G, key, true,
                    !strcmp(key, keys[1])   ? 9
                    : !strcmp(key, keys[0]) ? 13
                                            : 12,
                    x, w, b, s, p, d, t, o, g, no, no, no, no);
}

static ir_value *image_conv_place(gen *G, const image_conv *c, ir_value *x, ir_value *w,
                                  ir_value *b) {
    static const char *const convs[] = {"aten::conv1d", "aten::conv2d", "aten::conv3d"};
    static const char *const padded[] = {"aten::conv1d.padding", "aten::conv2d.padding",
                                         "aten::conv3d.padding"};
    static const char *const transposed[] = {
        "aten::conv_transpose1d", "aten::conv_transpose2d.input", "aten::conv_transpose3d.input"};
    static const int64_t zeros[IMAGE_SPATIAL];
    int i = c->spatial - 1;
    if (rng_chance(&G->r, 25)) return image_conv_full(G, c, x, w, b);
    ir_value *s = image_ints(G, c->spatial, c->stride), *d = image_ints(G, c->spatial, c->dilation),
             *g = gen_int(G, c->groups), *p;
    if (c->transposed)
        return gen_emit(G, transposed[i], true, 8, x, w, b, s, image_ints(G, c->spatial, c->pad),
                        image_ints(G, c->spatial, zeros), g, d);
    if (rng_chance(&G->r, 12)) {
        p = image_word(G, rng_chance(&G->r, 70) ? "same" : "valid");
        return gen_emit(G, padded[i], true, 7, x, w, b, s, p, d, g);
    }
    p = image_ints(G, c->spatial, c->pad);
    return gen_emit(G, convs[i], true, 7, x, w, b, s, p, d, g);
}

static ir_value *image_convolve(gen *G, ir_value *x, const image_conv *c) {
    int64_t sizes[IMAGE_DIMS] = {c->transposed ? c->in : c->out,
                                 (c->transposed ? c->out : c->in) / c->groups};
    double terms = (double)c->in / (double)c->groups;
    if (c->in > IMAGE_CHANNELS) return NULL;
    for (int i = 0; i < c->spatial; i++) terms *= (double)(sizes[2 + i] = c->kernel[i]);
    dtype dt = (dtype)gen_tensor(G, x)->dtype;
    ir_value *w = image_weight(G, dt, c->spatial + 2, sizes, terms), *b = image_bias(G, dt, c->out);
    return w ? image_conv_place(G, c, x, w, b) : NULL;
}

static ir_value *image_some_conv(gen *G, ir_value *x) {
    image_conv c;
    int spatial = image_spatial(G, gen_tensor(G, x), IMAGE_SPATIAL);
    if (!spatial) return NULL;
    image_conv_new(G, gen_tensor(G, x), spatial, &c);
    return image_convolve(G, x, &c);
}

/* A kernel of one element: as the parts of squeeze and excite are. */
static ir_value *image_conv_one(gen *G, ir_value *x, int spatial, int64_t out) {
    image_conv c = {.spatial = spatial,
                    .in = image_channels(gen_tensor(G, x), spatial),
                    .out = out,
                    .groups = 1};
    for (int i = 0; i < spatial; i++) c.kernel[i] = c.stride[i] = c.dilation[i] = 1;
    return image_convolve(G, x, &c);
}

/* ---- activations, sums, joins ---------------------------------------------------------------- */

static ir_value *image_activate(gen *G, ir_value *x) {
    static const char *const keys[] = {
        "aten::relu",      "aten::relu",        "aten::relu_", "aten::relu6",
        "aten::hardswish", "aten::hardswish_",  "aten::silu",  "aten::silu_",
        "aten::sigmoid",   "aten::hardsigmoid", "aten::gelu",  "aten::hardtanh",
        "aten::hardtanh_", "aten::relu6_",      "aten::tanh",  "aten::leaky_relu",
        "aten::elu",       "aten::mish",
    };
    const char *key = keys[rng_next(&G->r) % (sizeof keys / sizeof *keys)];
    if (!strncmp(key, "aten::hardtanh", 14))
        return gen_emit(G, key, true, 3, x, gen_int(G, rng_chance(&G->r, 80) ? 0 : -1),
                        gen_int(G, rng_chance(&G->r, 80) ? 6 : 2));
    if (!strcmp(key, "aten::gelu"))
        return gen_emit(G, key, true, 2, x, image_word(G, rng_chance(&G->r, 50) ? "none" : "tanh"));
    return gen_emit(G, key, true, 1, x);
}

static bool image_same_shape(gen *G, ir_value *v, void *ctx) {
    const tensor *t = gen_tensor(G, v);
    return t->dtype == gen_tensor(G, ctx)->dtype && tensor_same_shape(t, gen_tensor(G, ctx));
}

static ir_value *image_add(gen *G, ir_value *x) {
    static const char *const keys[] = {"aten::add.Tensor", "aten::add.Tensor", "aten::add_.Tensor",
                                       "aten::mul.Tensor", "aten::sub.Tensor", "aten::maximum"};
    const char *key = keys[rng_next(&G->r) % 6];
    ir_value *y = rng_chance(&G->r, 85) ? gen_pick(G, TYPE_TENSOR, image_same_shape, x)
                                        : image_pick(G);
    if (!y) return NULL;
    if (rng_chance(&G->r, 50)) {
        ir_value *v = x;
        x = y;
        y = v;
    }
    if (strstr(key, "mul") || strstr(key, "maximum")) return gen_emit(G, key, true, 2, x, y);
    return gen_emit(G, key, true, 3, x, y, gen_int(G, rng_chance(&G->r, 85) ? 1 : 2));
}

static ir_value *image_join(gen *G, ir_value *x) {
    ir_value *items[3] = {x};
    const tensor *t = gen_tensor(G, x);
    int n = (int)rng_range(&G->r, 2, 3), dim = t->ndim >= 3 && rng_chance(&G->r, 80)
                                                   ? t->ndim - 3
                                                   : (int)rng_range(&G->r, 0, t->ndim - 1);
    for (int i = 1; i < n; i++)
        if (!(items[i] = rng_chance(&G->r, 75) ? gen_pick(G, TYPE_TENSOR, image_same_shape, x)
                                               : image_pick(G)))
            return NULL;
    return gen_emit(G, "aten::cat", true, 2, gen_list(G, TYPE_TENSOR, n, items),
                    gen_int(G, rng_chance(&G->r, 50) ? dim : dim - t->ndim));
}

/* ---- splitting ------------------------------------------------------------------------------- */

static ir_value *image_split(gen *G, ir_value *x) {
    static const char *const keys[] = {"aten::chunk", "aten::split.Tensor",
                                       "aten::split_with_sizes", "aten::unsafe_chunk"};
    const tensor *t = gen_tensor(G, x);
    const char *key = keys[rng_next(&G->r) % 4];
    int dim = t->ndim >= 3 && rng_chance(&G->r, 75) ? t->ndim - 3
                                                    : (int)rng_range(&G->r, 0, t->ndim - 1);
    int64_t size = t->sizes[dim], sizes[2] = {size / 2, size - size / 2};
    ir_value *how = !strcmp(key, keys[2]) ? image_ints(G, 2, sizes)
                                          : gen_int(G, !strcmp(key, keys[1]) ? (size + 1) / 2 : 2);
    ir_value *l = how ? gen_emit(G, key, false, 3, x, how,
                                 gen_int(G, rng_chance(&G->r, 50) ? dim : dim - t->ndim))
                      : NULL,
             *last = NULL;
    if (!l) return NULL;
    size_t len = gen_value(G, l).u.list->len;
    if (rng_chance(&G->r, 30))
        return len ? gen_emit(G, "aten::__getitem__.t", true, 2, l,
                              gen_int(G, rng_range(&G->r, 0, (int64_t)len - 1)))
                   : NULL;
    if (!len || len > 4) return NULL;
    node *n = graph_insert(G->g, node_new(G->g, N_LIST_UNPACK, 1, &l, 0));
    for (size_t i = 0; i < len; i++) gen_show(G, last = node_add_output(n, TYPE_TENSOR));
    gen_evaluate(G, n);
    return last;
}

/* Sizes of x as a list, and what it holds. */
static bool image_sizes(gen *G, ir_value *x, ir_value **out) {
    const tensor *t = gen_tensor(G, x);
    if (rng_chance(&G->r, 50)) {
        for (int i = 0; i < t->ndim; i++)
            if (!(out[i] = gen_emit(G, "aten::size.int", false, 2, x, gen_int(G, i)))) return false;
        return true;
    }
    ir_value *l = gen_emit(G, "aten::size", false, 1, x);
    if (!l) return false;
    node *n = graph_insert(G->g, node_new(G->g, N_LIST_UNPACK, 1, &l, 0));
    for (int i = 0; i < t->ndim; i++) out[i] = node_add_output(n, TYPE_INT);
    gen_evaluate(G, n);
    return true;
}

/* ShuffleNet's: the channels of the groups take turns. */
static ir_value *image_shuffle(gen *G, ir_value *x) {
    ir_value *sizes[IMAGE_DIMS], *grouped[IMAGE_DIMS + 1], *v;
    const tensor *t = gen_tensor(G, x);
    int n = t->ndim;
    if (n < 3) return NULL;
    int64_t groups = image_divisor(G, t->sizes[1]), each = t->sizes[1] / groups;
    bool copies = rng_chance(&G->r, 50), back = rng_chance(&G->r, 50);
    if (!image_sizes(G, x, sizes)) return NULL;
    grouped[0] = sizes[0];
    grouped[1] = gen_int(G, groups);
    grouped[2] = rng_chance(&G->r, 50)
                     ? gen_int(G, each)
                     : gen_emit(G, "aten::floordiv.int", false, 2, sizes[1], grouped[1]);
    for (int i = 2; i < n; i++) grouped[i + 1] = sizes[i];
    v = grouped[2] ? gen_emit(G, rng_chance(&G->r, 50) ? "aten::view" : "aten::reshape", false, 2,
                              x, gen_list(G, TYPE_INT, n + 1, grouped))
                   : NULL;
    v = v ? gen_emit(G, "aten::transpose.int", false, 3, v, gen_int(G, back ? 2 : 1),
                     gen_int(G, back ? 1 : 2))
          : NULL;
    if (v && !copies) v = gen_emit(G, "aten::contiguous", false, 2, v, gen_int(G, 0));
    sizes[1] = gen_int(G, rng_chance(&G->r, 60) ? -1 : t->sizes[1]);
    return v ? gen_emit(G, copies ? "aten::reshape" : "aten::view", true, 2, v,
                        gen_list(G, TYPE_INT, n, sizes))
             : NULL;
}

/* ---- pools and other operators on images ----------------------------------------------------- */

static ir_value *image_pool(gen *G, ir_value *x) {
    rng *r = &G->r;
    int64_t k[2] = {rng_range(r, 1, 3), rng_range(r, 1, 3)},
            s[2] = {rng_range(r, 1, 2), rng_range(r, 1, 2)},
            p[2] = {rng_range(r, 0, k[0] / 2), rng_range(r, 0, k[1] / 2)};
    int64_t o[2] = {rng_range(r, 1, 4), rng_range(r, 1, 4)}, d[2] = {1, rng_chance(r, 80) ? 1 : 2};
    ir_value *ceil = gen_bool(G, rng_chance(r, 25));
    switch (rng_range(r, 0, 4)) {
    case 0:
    case 1:
        return gen_emit(G, "aten::max_pool2d", true, 6, x, image_ints(G, 2, k), image_ints(G, 2, s),
                        image_ints(G, 2, p), image_ints(G, 2, d), ceil);
    case 2:
        return gen_emit(G, "aten::avg_pool2d", true, 6, x, image_ints(G, 2, k), image_ints(G, 2, s),
                        image_ints(G, 2, p), ceil, gen_bool(G, rng_chance(r, 50)));
    default:
        return gen_emit(G, "aten::adaptive_avg_pool2d", true, 2, x,
                        image_ints(G, 2, rng_chance(r, 40) ? (int64_t[]){1, 1} : o));
    }
}

static ir_value *image_resize(gen *G, ir_value *x) {
    rng *r = &G->r;
    const tensor *t = gen_tensor(G, x);
    bool smooth = rng_chance(r, 50), twice = rng_chance(r, 60);
    if (t->ndim != 4) return NULL;
    int64_t sizes[2] = {twice ? 2 * t->sizes[2] : rng_range(r, 1, 9),
                        twice ? 2 * t->sizes[3] : rng_range(r, 1, 9)};
    ir_value *none = image_none(G), *corners = gen_bool(G, rng_chance(r, 40));
    if (rng_chance(r, 50)) {
        list *l = list_new(LIST_FLOAT, TYPE_FLOAT, 2);
        for (int i = 0; i < 2; i++)
            list_append_take(l, value_float(twice ? 2 : rng_real(r, 0.5, 2.5)));
        ir_value *by = gen_constant(G, value_list_take(l), NULL), *size = none;
        if (rng_chance(r, 40)) size = image_ints(G, 2, sizes), by = none;
        if (!size) return NULL;
        return smooth ? gen_emit(G, "aten::upsample_bilinear2d.vec", true, 4, x, size, corners, by)
                      : gen_emit(G, "aten::upsample_nearest2d.vec", true, 3, x, size, by);
    }
    ir_value *size = image_ints(G, 2, sizes);
    return smooth ? gen_emit(G, "aten::upsample_bilinear2d", true, 5, x, size, corners, none, none)
                  : gen_emit(G, "aten::upsample_nearest2d", true, 4, x, size, none, none);
}

static ir_value *image_pad(gen *G, ir_value *x) {
    int64_t pad[2 * IMAGE_DIMS];
    int n = 2 * (int)rng_range(&G->r, 1,
                               gen_tensor(G, x)->ndim < IMAGE_SPATIAL ? gen_tensor(G, x)->ndim
                                                                      : IMAGE_SPATIAL);
    for (int i = 0; i < n; i++) pad[i] = rng_range(&G->r, rng_chance(&G->r, 15) ? -1 : 0, 2);
    ir_value *sizes = image_ints(G, n, pad), *f = gen_float(G, rng_chance(&G->r, 60) ? 0 : 0.5);
    return !sizes ? NULL
           : rng_chance(&G->r, 50)
               ? gen_emit(G, "aten::constant_pad_nd", true, 3, x, sizes, f)
               : gen_emit(G, "aten::pad", true, 4, x, sizes, image_word(G, "constant"), f);
}

/* ---- norms ----------------------------------------------------------------------------------- */

static ir_value *image_variance(gen *G, int64_t n) {
    ir_value *v = gen_tensor_constant(G, DT_FLOAT32, 1, &n, STYLE_POSITIVE);
    return v;
}

/* After a convolution without a batch dim a batch norm takes rows for channels, which the levels
 * that fold it into the weights refuse (passes/weights/fold_weights.c). */
static bool image_lacks_batch(const ir_value *x, const tensor *t) {
    value w;
    bool conv = x->def && x->def->op && strstr(x->def->op->key, "conv") &&
                ir_value_constant(x->def->inputs.data[1], &w) && w.tag == V_TENSOR;
    return conv && t->ndim < w.u.tensor->ndim;
}

static ir_value *image_norm(gen *G, ir_value *x) {
    const tensor *t = gen_tensor(G, x);
    int64_t n = t->ndim >= 2 ? t->sizes[1] : 1;
    ir_value *no = gen_bool(G, false), *eps = gen_float(G, 1e-3), *w = image_bias(G, DT_FLOAT32, n),
             *b = image_bias(G, DT_FLOAT32, n);
    if (n > IMAGE_CHANNELS || image_lacks_batch(x, t)) return NULL;
    switch (rng_range(&G->r, 0, 5)) {
    case 0:
        return gen_emit(G, "aten::group_norm", true, 6, x, gen_int(G, image_divisor(G, n)), w, b,
                        eps, no);
    case 1:
        return gen_emit(G, "aten::instance_norm", true, 9, x, w, b, image_none(G), image_none(G),
                        gen_bool(G, true), gen_float(G, 0.1), eps, no);
    default:
        return gen_emit(G, "aten::batch_norm", true, 9, x, w, b, image_bias(G, DT_FLOAT32, n),
                        image_variance(G, n), no, gen_float(G, 0.1), eps, no);
    }
}

/* ---- squeeze and excite, reductions, the rest ------------------------------------------------ */

static ir_value *image_mean(gen *G, ir_value *x, bool keep) {
    int n = gen_tensor(G, x)->ndim;
    int64_t dims[2] = {n - 2, n - 1};
    if (rng_chance(&G->r, 50)) dims[0] -= n, dims[1] -= n;
    ir_value *list = image_ints(G, 2, dims);
    return list ? gen_emit(G, "aten::mean.dim", true, 4, x, list, gen_bool(G, keep), image_none(G))
                : NULL;
}

static ir_value *image_excite(gen *G, ir_value *x) {
    const tensor *t = gen_tensor(G, x);
    if (t->ndim < 3 || t->ndim > 4) return NULL;
    int64_t channels = image_channels(t, 2);
    ir_value *s = rng_chance(&G->r, 50) ? image_mean(G, x, true)
                                        : gen_emit(G, "aten::adaptive_avg_pool2d", true, 2, x,
                                                   image_ints(G, 2, (int64_t[]){1, 1}));
    if (s) s = image_conv_one(G, s, 2, channels > 4 ? channels / 2 : channels);
    if (s) s = image_activate(G, s);
    if (s) s = image_conv_one(G, s, 2, channels);
    if (s)
        s = gen_emit(G, rng_chance(&G->r, 50) ? "aten::sigmoid" : "aten::hardsigmoid", true, 1, s);
    return s ? gen_emit(G, rng_chance(&G->r, 80) ? "aten::mul.Tensor" : "aten::mul_.Tensor", true,
                        2, rng_chance(&G->r, 50) ? x : s, rng_chance(&G->r, 50) ? s : x)
             : NULL;
}

static ir_value *image_reduce(gen *G, ir_value *x) {
    static const char *const keys[] = {"aten::mean.dim", "aten::sum.dim_IntList", "aten::amax",
                                       "aten::amin"};
    const char *key = keys[rng_next(&G->r) % 4];
    int n = gen_tensor(G, x)->ndim, k = 0;
    int64_t dims[IMAGE_DIMS];
    for (int i = 0; i < n; i++)
        if (rng_chance(&G->r, 40)) dims[k++] = rng_chance(&G->r, 50) ? i : i - n;
    if (!k) dims[k++] = rng_range(&G->r, -n, n - 1);
    ir_value *list = image_ints(G, k, dims), *keep = gen_bool(G, rng_chance(&G->r, 50));
    return !list           ? NULL
           : key[6] == 'a' ? gen_emit(G, key, true, 3, x, list, keep)
                           : gen_emit(G, key, true, 4, x, list, keep, image_none(G));
}

static ir_value *image_permute(gen *G, ir_value *x) {
    int n = gen_tensor(G, x)->ndim;
    int64_t dims[IMAGE_DIMS] = {0};
    bool back = rng_chance(&G->r, 50);
    for (int i = 1; i < n; i++) dims[i] = back ? (i == 1 ? n - 1 : i - 1) : i == n - 1 ? 1 : i + 1;
    ir_value *list = image_ints(G, n, dims);
    return list ? gen_emit(G, "aten::permute", true, 2, x, list) : NULL;
}

/* Channels and positions of a sequence exchanged, as for a layer norm, and back, as a rule. */
static ir_value *image_exchange(gen *G, ir_value *x) {
    static const int64_t dims[][2] = {{1, 2}, {2, 1}, {-1, -2}, {1, -1}};
    const int64_t *to = dims[rng_next(&G->r) % 4], *back = dims[rng_next(&G->r) % 4];
    const tensor *t = gen_tensor(G, x);
    if (t->ndim > 3) return NULL;
    ir_value *y = gen_emit(G, "aten::transpose.int", rng_chance(&G->r, 30), 3, x, gen_int(G, to[0]),
                           gen_int(G, to[1]));
    int64_t n = y ? gen_tensor(G, y)->sizes[gen_tensor(G, y)->ndim - 1] : 0;
    if (y && rng_chance(&G->r, 70))
        y = gen_emit(G, "aten::layer_norm", rng_chance(&G->r, 30), 4, y, image_ints(G, 1, &n),
                     image_bias(G, DT_FLOAT32, n), image_bias(G, DT_FLOAT32, n));
    if (rng_chance(&G->r, 20)) return y ? gen_show(G, y), y : NULL;
    return gen_emit(G, "aten::transpose.int", true, 3, y, gen_int(G, back[0]), gen_int(G, back[1]));
}

static ir_value *image_linear(gen *G, ir_value *x, int64_t out, bool show) {
    int64_t sizes[2] = {out, gen_tensor(G, x)->sizes[1]};
    ir_value *w = image_constant(G, 2, sizes, (double)sizes[1]);
    return gen_emit(G, "aten::linear", show, 3, x, w, image_bias(G, DT_FLOAT32, out));
}

/* A linear layer followed by a sum, an activation or both that nothing else reads: its epilogue,
 * where the weight is as large as those that are packed (passes/weights/prepack.c). */
static ir_value *image_layer(gen *G, ir_value *x, int64_t out) {
    bool sum = rng_chance(&G->r, 50), swap = rng_chance(&G->r, 50),
         activation = !sum || rng_chance(&G->r, 60);
    ir_value *other = sum ? image_linear(G, x, out, rng_chance(&G->r, 50)) : NULL,
             *y = image_linear(G, x, out, false);
    if (sum && !other) return NULL;
    if (y && sum)
        y = gen_emit(G, rng_chance(&G->r, 75) ? "aten::add.Tensor" : "aten::add_.Tensor",
                     !activation, 3, swap ? other : y, swap ? y : other, gen_int(G, 1));
    return y && activation ? image_activate(G, y) : y;
}

/* x [n, k] in two dims, and in *out a number of results: usually so
 * large that the weight is packed. NULL: x has too many elements. */
static ir_value *image_flat(gen *G, ir_value *x, int64_t *out) {
    enum { PACKED = 1024 }; /* elements of a weight that is packed, at least */
    ir_value *v = gen_emit(G, "aten::flatten.using_ints", true, 3, x, gen_int(G, 1),
                           gen_int(G, -1));
    const tensor *t = v ? gen_tensor(G, v) : NULL;
    if (!t || t->ndim != 2 || t->sizes[1] < 1 || t->sizes[1] > 400) return *out = 0, v;
    int64_t large = (PACKED - 1) / t->sizes[1] + 1 + rng_range(&G->r, 0, 8);
    *out = rng_chance(&G->r, 60) ? large : rng_range(&G->r, 1, 20);
    return v;
}

/* The head of a network. */
static ir_value *image_classify(gen *G, ir_value *x) {
    int64_t out;
    ir_value *v = image_flat(G, x, &out);
    if (!v || !out) return v;
    return rng_chance(&G->r, 30) ? image_linear(G, v, out, true) : image_layer(G, v, out);
}

static ir_value *image_to(gen *G, ir_value *x, dtype dt, bool show) {
    return gen_emit(G, "aten::to.dtype", show, 5, x, gen_int(G, dt), gen_bool(G, false),
                    gen_bool(G, false), image_none(G));
}

/* A product of 16 bits with a constant weight, in one of the ways to write it. */
static ir_value *image_half_product(gen *G, ir_value *x, dtype dt, int64_t out) {
    int64_t k = gen_tensor(G, x)->sizes[1];
    bool layer = rng_chance(&G->r, 50);
    ir_value *w = image_constant_of(G, dt, 2, (int64_t[]){layer ? out : k, layer ? k : out},
                                    (double)k),
             *b = rng_chance(&G->r, 40) ? NULL : image_constant_of(G, dt, 1, &out, 1),
             *one = gen_int(G, 1);
    if (layer) return gen_emit(G, "aten::linear", true, 3, x, w, b ? b : image_none(G));
    if (b) return gen_emit(G, "aten::addmm", true, 5, b, x, w, one, one);
    return gen_emit(G, rng_chance(&G->r, 50) ? "aten::mm" : "aten::matmul", true, 2, x, w);
}

/* A head of 16 bits: one layer or two, an activation, and floats again, as a rule. */
static ir_value *image_half(gen *G, ir_value *x) {
    dtype dt = rng_chance(&G->r, 50) ? DT_BFLOAT16 : DT_FLOAT16;
    int64_t out;
    ir_value *v = image_flat(G, x, &out);
    if (!v || !out) return v;
    v = image_to(G, v, dt, false);
    if (v) v = image_half_product(G, v, dt, out);
    if (v && rng_chance(&G->r, 50)) v = image_activate(G, v);
    if (v && gen_tensor(G, v)->ndim == 2 && rng_chance(&G->r, 30))
        v = image_half_product(G, v, dt, rng_range(&G->r, 1, 40));
    return v && rng_chance(&G->r, 70) ? image_to(G, v, DT_FLOAT32, true) : v;
}

/* Convolutions of 16 bits and the operators between them, and usually floats again. */
static ir_value *image_half_images(gen *G, ir_value *x) {
    dtype dt = rng_chance(&G->r, 50) ? DT_BFLOAT16 : DT_FLOAT16;
    ir_value *v = image_to(G, x, dt, false);
    for (int left = (int)rng_range(&G->r, 1, 4); v && left > 0; left--) {
        if (gen_tensor(G, v)->dtype != dt || gen_tensor(G, v)->ndim < 2) return v;
        int64_t which = rng_range(&G->r, 0, 9);
        v = which < 6   ? image_some_conv(G, v)
            : which < 8 ? image_activate(G, v)
            : which < 9 ? image_add(G, v)
                        : image_pool(G, v);
    }
    return v && rng_chance(&G->r, 70) ? image_to(G, v, DT_FLOAT32, true) : v;
}

static ir_value *image_along(gen *G, ir_value *x) {
    int n = gen_tensor(G, x)->ndim;
    ir_value *dim = gen_int_like(G, rng_range(&G->r, -n, n - 1)), *none = image_none(G);
    if (!dim) return NULL;
    switch (rng_range(&G->r, 0, 4)) {
    case 0: return gen_emit(G, "aten::softmax.int", true, 3, x, dim, none);
    case 1: return gen_emit(G, "aten::log_softmax.int", true, 3, x, dim, none);
    case 2:
        return gen_emit(G, "aten::slice.Tensor", true, 5, x, dim,
                        gen_int_like(G, rng_range(&G->r, 0, 1)), gen_int(G, rng_range(&G->r, 2, 9)),
                        gen_int(G, rng_range(&G->r, 1, 2)));
    case 3:
        return gen_emit(G, "aten::narrow", true, 4, x, dim, gen_int(G, 0),
                        gen_int_like(G, rng_range(&G->r, 1, 4)));
    default: return gen_emit(G, "aten::size.int", true, 2, x, dim);
    }
}

static ir_value *image_unchanged(gen *G, ir_value *x) {
    switch (rng_range(&G->r, 0, 3)) {
    case 0: return gen_emit(G, "aten::dropout", true, 3, x, gen_float(G, 0.5), gen_bool(G, false));
    case 1:
        return gen_emit(G, "aten::feature_dropout", true, 3, x, gen_float(G, 0.5),
                        gen_bool(G, false));
    case 2: return gen_emit(G, "aten::detach", true, 1, x);
    default: return gen_emit(G, "aten::contiguous", true, 2, x, gen_int(G, 0));
    }
}

/* ---- which ----------------------------------------------------------------------------------- */

static const struct { int weight; ir_value *(*step)(gen *G, ir_value *x); } image_steps[] = {
    {34, image_some_conv}, {16, image_activate}, {12, image_add},        {6, image_join},
    {5, image_split},      {4, image_shuffle},   {7, image_pool},        {3, image_resize},
    {3, image_pad},        {5, image_norm},      {4, image_excite},      {4, image_reduce},
    {3, image_permute},    {3, image_exchange},  {5, image_classify},    {4, image_along},
    {2, image_unchanged},  {5, image_half},      {5, image_half_images},
};

bool gen_image_step(gen *G) {
    int total = 0;
    for (size_t i = 0; i < sizeof image_steps / sizeof *image_steps; i++)
        total += image_steps[i].weight;
    for (int tries = 0; tries < IMAGE_TRIES; tries++) {
        gen_mark m = gen_mark_here(G);
        ir_value *x = image_pick(G);
        size_t i = 0;
        if (!x) return false;
        for (int at = (int)rng_range(&G->r, 0, total - 1); at >= image_steps[i].weight; i++)
            at -= image_steps[i].weight;
        if (image_steps[i].step(G, x)) return true;
        gen_undo(G, m);
    }
    return false;
}

/* ---- arguments ------------------------------------------------------------------------------- */

int gen_image_arguments(rng *r, int64_t *sizes, gen_argument *recipes) {
    static const int channels[] = {3, 8, 8, 16, 16, 24, 5, 12};
    int spatial = rng_chance(r, 75)   ? 2
                  : rng_chance(r, 60) ? 1
                                      : 3,
        tensors = rng_chance(r, 40) ? 2 : 1, n = 0;
    bool batch = rng_chance(r, 80);
    for (int i = 0; i < GEN_SIZES; i++)
        sizes[i] = i == 0 ? rng_range(r, 1, 2)
                          : rng_range(r, spatial == 3 ? 2 : 3,
                                      spatial == 3   ? 4
                                      : spatial == 2 ? 10
                                                     : 20);
    for (; n < tensors; n++) {
        gen_argument *a = &recipes[n];
        *a = (gen_argument){.tag = V_TENSOR,
                            .dt = DT_FLOAT32,
                            .style = rng_chance(r, 60) ? STYLE_MIXED
                                                       : (int)(rng_next(r) % STYLE_COUNT)};
        if (batch) a->sizes[a->ndim++] = ~0;
        a->sizes[a->ndim++] = channels[rng_next(r) % (sizeof channels / sizeof *channels)];
        for (int i = 0; i < spatial; i++) a->sizes[a->ndim++] = ~(1 + i % 2);
        if (rng_chance(r, 15))
            a->layout = (gen_layout)rng_range(r, LAYOUT_TRANSPOSED, LAYOUT_EXPANDED);
        if (n && rng_chance(r, 60)) recipes[n] = recipes[0];
    }
    if (rng_chance(r, 40)) recipes[n++] = (gen_argument){.tag = V_INT};
    if (rng_chance(r, 40)) recipes[n++] = (gen_argument){.tag = V_FLOAT};
    if (rng_chance(r, 30)) recipes[n++] = (gen_argument){.tag = V_BOOL};
    return n;
}
