/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_conv_last.c - convolutions whose channels come last (kernels/conv/conv_last.h), against
 * the general ones.
 *
 * Random convolutions of small integers, whose sums are exact in any order: results are equal to
 * the bit but where Winograd's way is taken, for any number of threads. Tensors end at a page that
 * cannot be touched.
 */
#include "opcase.h"

#include "amx_emulator.h"
#include "base/threads/thread_pool.h"
#include "runtime/kernels/conv/conv_last.h"
#include "runtime/kernels/conv/conv_rows.h"
#include "runtime/kernels/conv/conv_tune.h"
#include "runtime/kernels/conv/conv_winograd.h"
#include "runtime/kernels/engine/kernel_settings.h"
#include "runtime/kernels/matmul/gemm_block.h"

#include <math.h>

#include <sys/mman.h>

/* ---- memory that ends at a page nobody may touch --------------------------------------------- */

enum { PAGE = 4096 };

static size_t fenced_size(size_t nbytes) { return (nbytes + PAGE - 1) / PAGE * PAGE + PAGE; }

/* Data begins at an aligned address: up to 63 bytes after it are accessible. */
static void *fenced_alloc(void *ctx, size_t nbytes) {
    (void)ctx;
    char *p = mmap(NULL, fenced_size(nbytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    assert_true(p != MAP_FAILED);
    char *end = p + fenced_size(nbytes) - PAGE;
    mprotect(end, PAGE, PROT_NONE);
    return end - (nbytes + 63) / 64 * 64;
}

static void fenced_free(void *ctx, void *data, size_t nbytes) {
    (void)ctx;
    munmap((char *)data + (nbytes + 63) / 64 * 64 + PAGE - fenced_size(nbytes),
           fenced_size(nbytes));
}

/* ---- random convolutions --------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;

static int64_t random_below(int64_t n) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7,
        random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)n);
}

static tensor *random_tensor(int ndim, const int64_t *sizes) {
    tensor *t;
    assert_int_equal(tensor_new(NULL, DT_FLOAT32, ndim, sizes, &t), CTSC_OK);
    for (int64_t i = 0; i < t->numel; i++) TENSOR_AT(t, float)[i] = (float)(random_below(9) - 4);
    return t;
}

/* The whole of it as the graph has it: input [N, C, spatial...], channels in front. */
typedef struct random_conv {
    int spatial;
    tensor *input, *weight, *bias, *other; /* bias and other may be NULL */
    int64_t stride[3], padding[3], dilation[3], groups;
    const char *activation;
    tensor *scale; /* NULL, or what input is multiplied by first: [N, 1..., C] */
    dtype dt;      /* of all of them, in the end */
} random_conv;

/* *t, which may be NULL, in another dtype; a constant stays one. */
static void narrow(tensor **t, dtype dt) {
    tensor *narrowed, *own;
    if (!*t || (*t)->dtype == dt) return;
    assert_int_equal(tensor_to_dtype(NULL, *t, dt, &narrowed), CTSC_OK);
    if ((*t)->storage->constant) {
        assert_int_equal(tensor_constant(NULL, narrowed, &own), CTSC_OK);
        tensor_unref(narrowed);
        narrowed = own;
    }
    tensor_unref(*t);
    *t = narrowed;
}

/* such that the kernel fits */
static int64_t random_size(int64_t extent, int64_t padding, int64_t most) {
    int64_t least = extent - 2 * padding;
    return (least < 1 ? 1 : least) + random_below(most);
}

static random_conv random_convolution(void) {
    static const char *const activations[] = {"none", "none", "relu", "relu6", "hardswish"};
    static const int64_t steps[] = {1, 1, 1, 2, 3};
    random_conv c = {.spatial = 1 + (int)random_below(3),
                     .activation = activations[random_below(5)],
                     .dt = DT_FLOAT32};
    bool depthwise = random_below(5) == 0;
    int64_t in = 1 + random_below(random_below(4) ? 20 : 90),
            out = 1 + random_below(random_below(4) ? 40 : 100);
    c.groups = depthwise ? in : random_below(3) ? 1 : 1 + random_below(8);
    if (!depthwise && c.groups > 1)
        in = c.groups * (1 + random_below(random_below(3) ? 6 : 20)),
        out = c.groups * (1 + random_below(20));
    if (depthwise) out = in * (random_below(4) ? 1 : 2);
    int64_t xs[5] = {1 + random_below(2), in}, ws[5] = {out, in / c.groups}, biases = out;
    bool pixels = random_below(4) == 0;
    for (int i = 0; i < c.spatial; i++) {
        int64_t k = pixels ? 1 : 1 + random_below(c.spatial == 3 ? 3 : 5);
        c.stride[i] = pixels && random_below(2) ? 1 : steps[random_below(5)];
        bool apart = c.spatial < 3 && random_below(6) == 0;
        c.dilation[i] = apart ? 7 + random_below(6) : steps[random_below(4)];
        c.padding[i] = apart && random_below(3)    ? random_below(3) * c.dilation[i]
                       : pixels && random_below(2) ? 0
                       : random_below(4)           ? k / 2
                                                   : random_below(4);
        xs[2 + i] = random_size((k - 1) * c.dilation[i] + 1, c.padding[i],
                                c.spatial == 3   ? 7
                                : c.spatial == 2 ? 20
                                                 : 300);
        ws[2 + i] = k;
    }
    c.input = random_tensor(2 + c.spatial, xs);
    tensor *w = random_tensor(2 + c.spatial, ws);
    bool sparse = pixels && random_below(2); /* CONV_SPARSE */
    for (int64_t i = 0; sparse && i < w->numel; i++)
        if (random_below(8)) TENSOR_AT(w, float)[i] = 0;
    assert_int_equal(tensor_constant(NULL, w, &c.weight), CTSC_OK);
    tensor_unref(w);
    c.bias = random_below(2) ? random_tensor(1, &biases) : NULL;
    return c;
}

/* More steps than are multiplied at a time, over images
 * so small that whole blocks of taps are outside them. */
static random_conv deep_convolution(void) {
    static const char *const activations[] = {"none", "relu6", "hardswish", "hardswish"};
    random_conv c = {
        .spatial = 2, .groups = 1, .activation = activations[random_below(4)], .dt = DT_FLOAT32};
    int64_t in = 100 + random_below(100), out = 1 + random_below(40), biases = out;
    int64_t xs[4] = {1 + random_below(2), in}, ws[4] = {out, in};
    for (int i = 0; i < 2; i++) {
        int64_t k = 1 + random_below(7);
        c.stride[i] = 1 + random_below(2);
        c.dilation[i] = 1 + random_below(2);
        c.padding[i] = random_below(k + 2);
        xs[2 + i] = random_size((k - 1) * c.dilation[i] + 1, c.padding[i], 4);
        ws[2 + i] = k;
    }
    c.input = random_tensor(4, xs);
    tensor *w = random_tensor(4, ws);
    assert_int_equal(tensor_constant(NULL, w, &c.weight), CTSC_OK);
    tensor_unref(w);
    c.bias = random_below(3) ? NULL : random_tensor(1, &biases);
    return c;
}

static value list_of_ints(const int64_t *v, int n) {
    list *l = list_new(LIST_INT, TYPE_INT, (size_t)n);
    memcpy(l->u.ints, v, (size_t)n * sizeof *v);
    l->len = (size_t)n;
    return value_list_take(l);
}

/* t, a reference to which is taken, through an operator of two arguments. */
static tensor *turned(const char *op, tensor *t, int64_t spatial) {
    value args[2] = {value_tensor_take(t), value_int(spatial)};
    tensor *r = opcase_made(op, 2, args);
    tensor_unref(t);
    return r;
}

/* As the program has it: convolution, sum, activation. */
static tensor *expected(const random_conv *c, const value *lists) {
    static const char *const convs[] = {"aten::conv1d", "aten::conv2d", "aten::conv3d"};
    tensor *input = tensor_ref(c->input);
    if (c->scale) {
        tensor *first = turned("ctsc::to_channels_first", tensor_ref(c->scale), c->spatial);
        value factors[2] = {value_tensor_take(input), value_tensor_take(first)};
        input = opcase_made("aten::mul.Tensor", 2, factors);
        value_unref(factors[0]), value_unref(factors[1]);
    }
    value args[7] = {value_tensor_take(input),
                     value_tensor_take(c->weight),
                     c->bias ? value_tensor_take(c->bias) : value_none(),
                     lists[0],
                     lists[1],
                     lists[2],
                     value_int(c->groups)};
    tensor *t = opcase_made(convs[c->spatial - 1], 7, args), *next;
    tensor_unref(input);
    if (c->other) {
        value sum[3] = {value_tensor_take(t), value_tensor_take(c->other), value_int(1)};
        next = opcase_made("aten::add.Tensor", 3, sum);
        tensor_unref(t);
        t = next;
    }
    if (!strcmp(c->activation, "none")) return t;
    char op[40];
    snprintf(op, sizeof op, "aten::%s", c->activation);
    value one = value_tensor_take(t);
    next = opcase_made(op, 1, &one);
    tensor_unref(t);
    return next;
}

/* Winograd's way rounds, sums of integers too: by much less than what any tap or channel that is
 * missing would change. */
static void assert_near(const random_conv *c, const tensor *got, const tensor *want) {
    assert_true(tensor_same_shape(got, want) && got->dtype == c->dt && want->dtype == c->dt);
    bool rounded = !atomic_load(&kernel_no_winograd);
    bool exact = strcmp(c->activation, "hardswish") != 0; /* which divides by 6 */
    tensor *a, *b;
    assert_int_equal(tensor_to_dtype(NULL, (tensor *)got, DT_FLOAT32, &a), CTSC_OK);
    assert_int_equal(tensor_to_dtype(NULL, (tensor *)want, DT_FLOAT32, &b), CTSC_OK);
    /* of 16 bits: where a sum is half-way between two results, the
     * least error changes it, and so does each operator after it */
    float step = c->dt == DT_FLOAT32 ? 0 : c->dt == DT_FLOAT16 ? 0x1p-9f : 0x1p-6f;
    for (int64_t i = 0; i < want->numel; i++) {
        float g = TENSOR_AT(a, float)[i], w = TENSOR_AT(b, float)[i],
              slack = exact ? 0 : (2e-6f + step) * fabsf(w) + 1e-6f;
        if (rounded) slack = 0.05f + 2 * step * (fabsf(w) + 8);
        if (!(g >= w - slack && g <= w + slack))
            fail_msg("%s, element %lld: %g, not %g", dtype_table[c->dt].ir_name, (long long)i, g,
                     w);
    }
    tensor_unref(a), tensor_unref(b);
}

/* What has to be multiplied by *factors to give w. */
static tensor *divided(const tensor *w, tensor **factors) {
    static const double powers[] = {0.5, 1, -2, 4};
    tensor *raw, *from, *wide;
    assert_int_equal(tensor_to_dtype(NULL, (tensor *)w, DT_FLOAT32, &wide), CTSC_OK);
    assert_int_equal(tensor_clone(NULL, wide, &raw), CTSC_OK);
    assert_int_equal(tensor_new(NULL, DT_FLOAT64, 1, w->sizes, factors), CTSC_OK);
    int64_t rows = w->sizes[0], n = w->numel / (rows ? rows : 1);
    for (int64_t r = 0; r < rows; r++) {
        double by = powers[r % 4];
        TENSOR_AT(*factors, double)[r] = by;
        for (int64_t i = r * n; i < (r + 1) * n; i++)
            TENSOR_AT(raw, float)[i] = (float)(TENSOR_AT(wide, float)[i] / by);
    }
    tensor_unref(wide);
    narrow(&raw, (dtype)w->dtype);
    assert_int_equal(tensor_constant(NULL, raw, &from), CTSC_OK);
    tensor_unref(raw);
    return from;
}

static tensor *placed_part(tensor *t, tensor *beside, int64_t width, int64_t at) {
    value args[4] = {value_tensor_take(t), beside ? value_tensor_take(beside) : value_none(),
                     value_int(width), value_int(at)};
    return opcase_made("ctsc::place_channels", 4, args);
}

static tensor *joined(const char *op, int n, tensor **parts, int64_t width) {
    list *l = list_new(LIST_TENSOR, TYPE_TENSOR, (size_t)n);
    for (int i = 0; i < n; i++)
        assert_true(list_append_take(l, value_tensor_take(tensor_ref(parts[i]))));
    value args[3] = {value_list_take(l), value_int(-1), value_int(width)};
    tensor *t = opcase_made(op, width ? 3 : 2, args);
    value_unref(args[0]);
    return t;
}

static void assert_equal(const tensor *a, const tensor *b) {
    tensor *x, *y;
    assert_true(tensor_same_shape(a, b));
    assert_int_equal(tensor_contiguous(NULL, (tensor *)a, &x), CTSC_OK);
    assert_int_equal(tensor_contiguous(NULL, (tensor *)b, &y), CTSC_OK);
    assert_int_equal(x->dtype, y->dtype);
    assert_memory_equal(tensor_data(x), tensor_data(y),
                        (size_t)x->numel * dtype_size((dtype)x->dtype));
    tensor_unref(x), tensor_unref(y);
}

/* The same between two parts of what they are joined to: they stay as they are, and nothing is
 * copied. args: those of ctsc::conv_channels_last, want: its result. */
static void check_placed(const value *args, const tensor *want) {
    const uint64_t kept = random_state; /* the convolutions are those of the test without this */
    int64_t sizes[5], out = want->sizes[want->ndim - 1], before = random_below(4),
                      behind = random_below(20), width = before + out + behind;
    value more[17];
    memcpy(sizes, want->sizes, (size_t)want->ndim * sizeof *sizes);
    tensor *plain[3] = {NULL}, *parts[3] = {NULL};
    sizes[want->ndim - 1] = before + 1;
    plain[0] = random_tensor(want->ndim, sizes);
    plain[1] = tensor_ref((tensor *)want);
    sizes[want->ndim - 1] = behind + 1;
    plain[2] = random_tensor(want->ndim, sizes);
    narrow(&plain[0], (dtype)want->dtype), narrow(&plain[2], (dtype)want->dtype);
    width += 2;
    parts[0] = placed_part(plain[0], NULL, width, 0);
    parts[2] = placed_part(plain[2], parts[0], width, before + 1 + out);
    memcpy(more, args, 14 * sizeof *more);
    more[14] = value_tensor_take(parts[0]);
    more[15] = value_int(width);
    more[16] = value_int(before + 1);
    parts[1] = opcase_made("ctsc::conv_channels_last.placed", 17, more);
    for (int i = 0; i < 3; i++) {
        assert_equal(parts[i], plain[i]);
        if (want->numel) assert_ptr_equal(parts[i]->storage, parts[0]->storage);
    }
    for (int n = 1; n <= 3; n++) {
        tensor *one = joined("ctsc::cat_placed", n, parts, width),
               *other = joined("aten::cat", n, plain, 0);
        assert_equal(one, other);
        if (want->numel) assert_ptr_equal(one->storage, parts[0]->storage);
        tensor_unref(one), tensor_unref(other);
    }
    /* what is not in its place, or in another block, is copied */
    tensor *turn = parts[1];
    parts[1] = plain[1];
    tensor *one = joined("ctsc::cat_placed", 3, parts, width),
           *other = joined("aten::cat", 3, plain, 0);
    assert_equal(one, other);
    tensor_unref(one), tensor_unref(other);
    parts[1] = turn;
    for (int i = 0; i < 3; i++) tensor_unref(parts[i]), tensor_unref(plain[i]);
    random_state = kept;
}

/* Twice: weights are packed by the first call at the latest. */
static void check_convolution(random_conv *c) {
    narrow(&c->input, c->dt), narrow(&c->weight, c->dt), narrow(&c->bias, c->dt);
    value lists[3] = {list_of_ints(c->stride, c->spatial), list_of_ints(c->padding, c->spatial),
                      list_of_ints(c->dilation, c->spatial)};
    if (random_below(3) == 0) {
        int64_t sizes[5] = {c->input->sizes[0], 1, 1, 1, 1};
        sizes[1 + c->spatial] = c->input->sizes[1];
        c->scale = random_tensor(2 + c->spatial, sizes);
        narrow(&c->scale, c->dt);
    }
    if (random_below(2)) {
        tensor *plain = expected(c, lists);
        c->other = random_tensor(plain->ndim, plain->sizes);
        narrow(&c->other, c->dt);
        tensor_unref(plain);
    }
    tensor *want = turned("ctsc::to_channels_last", expected(c, lists), c->spatial);
    tensor *in = turned("ctsc::to_channels_last", tensor_ref(c->input), c->spatial);
    tensor *other = c->other ? turned("ctsc::to_channels_last", tensor_ref(c->other), c->spatial)
                             : NULL;
    str *activation = str_new(c->activation, strlen(c->activation));
    bool exchanged = c->scale && random_below(2);
    static int checked;
    tensor *factors = NULL,
           *weight = checked++ % 3 ? tensor_ref(c->weight) : divided(c->weight, &factors);
    value args[15] = {value_tensor_take(exchanged ? c->scale : in),
                      value_tensor_take(weight),
                      c->bias ? value_tensor_take(c->bias) : value_none(),
                      lists[0],
                      lists[1],
                      lists[2],
                      value_bool(false),
                      value_none(),
                      value_int(c->groups),
                      value_bool(true),
                      other ? value_tensor_take(other) : value_none(),
                      value_str_take(activation),
                      value_bool(false),
                      factors ? value_tensor_take(factors) : value_none(),
                      c->scale ? value_tensor_take(exchanged ? in : c->scale) : value_none()};
    int64_t zeros[3] = {0, 0, 0};
    args[7] = list_of_ints(zeros, c->spatial);
    for (int threads = 1; threads <= 3; threads += 2) {
        pool_set_threads(threads);
        tensor *got = c->scale ? opcase_made("ctsc::conv_channels_last.scaled", 15, args)
                               : opcase_made("ctsc::conv_channels_last", 14, args);
        assert_near(c, got, want);
        if (!c->scale) check_placed(args, got);
        tensor_unref(got);
    }
    pool_set_threads(0);
    value_unref(args[7]);
    value_unref(args[11]);
    for (int i = 0; i < 3; i++) value_unref(lists[i]);
    tensor_unref(want), tensor_unref(in), tensor_unref(other), tensor_unref(c->scale);
    tensor_unref(weight), tensor_unref(factors);
}

static void test_random(void **state) {
    (void)state;
    tensor_set_allocator(&(tensor_allocator){fenced_alloc, fenced_free, NULL});
    for (int i = 0; i < 2000; i++) {
        atomic_store(&kernel_no_winograd, i % 4 > 0);
        random_conv c = i < 1800 ? random_convolution() : deep_convolution();
        if (i % 5 > 2) c.dt = i % 5 == 3 ? DT_FLOAT16 : DT_BFLOAT16;
        check_convolution(&c);
        tensor_unref(c.input), tensor_unref(c.weight), tensor_unref(c.bias), tensor_unref(c.other);
    }
    atomic_store(&kernel_no_winograd, false);
    tensor_set_allocator(NULL);
}

/* Images of bfloat16 by AMX's tile registers, on any machine. */
static void amx_convolutions(void *ctx, const quad_kernels *u) {
    (void)ctx;
    assert_ptr_equal(ukernel_quad(UKERNEL_BF16), u);
    for (int i = 0; i < 250; i++) {
        random_conv c = i < 240 ? random_convolution() : deep_convolution();
        c.dt = DT_BFLOAT16;
        check_convolution(&c);
        tensor_unref(c.input), tensor_unref(c.weight), tensor_unref(c.bias), tensor_unref(c.other);
    }
}

static void test_amx(void **state) {
    (void)state;
    tensor_set_allocator(&(tensor_allocator){fenced_alloc, fenced_free, NULL});
    amx_each(UKERNEL_BF16, amx_convolutions, NULL);
    tensor_set_allocator(NULL);
}

/* Images of 16 bits that are done in several parts, of rows, pixels or images. */
static void test_parts(void **state) {
    (void)state;
    tensor_set_allocator(&(tensor_allocator){fenced_alloc, fenced_free, NULL});
    for (int i = 0; i < 16; i++) {
        atomic_store(&kernel_no_winograd, i % 3 > 0);
        bool depthwise = i % 4 == 1, pixels = i % 4 == 2;
        int64_t in = 8 + random_below(16), out = depthwise ? in : 8 + random_below(24);
        random_conv c = {.spatial = i % 7 == 6 ? 3 : 2,
                         .groups = depthwise ? in : 1,
                         .activation = i % 2 ? "relu" : "hardswish",
                         .dt = i % 2 ? DT_FLOAT16 : DT_BFLOAT16};
        int64_t images = 1 + random_below(3), xs[5] = {images, in, 3},
                ws[5] = {out, in / c.groups, 1};
        for (int k = 0; k < c.spatial; k++) {
            bool depth = c.spatial == 3 && k == 0;
            ws[2 + k] = pixels || depth ? 1 : 1 + random_below(5);
            c.stride[k] = pixels || depth ? 1 : 1 + random_below(2);
            c.dilation[k] = depth ? 1 : 1 + random_below(2);
            c.padding[k] = pixels || depth ? 0 : random_below(ws[2 + k] + 1);
            xs[2 + k] = depth ? 3 : 170 + random_below(60);
        }
        c.input = random_tensor(2 + c.spatial, xs);
        tensor *w = random_tensor(2 + c.spatial, ws);
        assert_int_equal(tensor_constant(NULL, w, &c.weight), CTSC_OK);
        tensor_unref(w);
        c.bias = random_tensor(1, &out);
        check_convolution(&c);
        tensor_unref(c.input), tensor_unref(c.weight), tensor_unref(c.bias), tensor_unref(c.other);
    }
    atomic_store(&kernel_no_winograd, false);
    tensor_set_allocator(NULL);
}

/* An image without a batch dim, one pixel wide, is no scale of itself. */
static void test_scale_rank(void **state) {
    (void)state;
    random_conv c = {.spatial = 2, .groups = 1, .activation = "none", .dt = DT_FLOAT32};
    int64_t xs[3] = {5, 1, 24}, ws[4] = {8, 24, 1, 1};
    tensor *x = random_tensor(3, xs), *w = random_tensor(4, ws);
    for (int i = 0; i < 2; i++) c.stride[i] = c.dilation[i] = 1;
    assert_int_equal(tensor_constant(NULL, w, &c.weight), CTSC_OK);
    str *none = str_new("none", 4);
    value args[15] = {value_tensor_take(x),
                      value_tensor_take(c.weight),
                      value_none(),
                      list_of_ints(c.stride, 2),
                      list_of_ints(c.padding, 2),
                      list_of_ints(c.dilation, 2),
                      value_bool(false),
                      list_of_ints(c.padding, 2),
                      value_int(1),
                      value_bool(false),
                      value_none(),
                      value_str_take(none),
                      value_bool(false),
                      value_none(),
                      value_tensor_take(x)},
          both[2] = {args[0], args[0]};
    tensor *got = opcase_made("ctsc::conv_channels_last.scaled", 15, args);
    args[0] = value_tensor_take(opcase_made("aten::mul.Tensor", 2, both));
    tensor *want = opcase_made("ctsc::conv_channels_last", 14, args);
    assert_near(&c, got, want);
    for (int k = 3; k < 6; k++) value_unref(args[k]);
    value_unref(args[0]), value_unref(args[7]), value_unref(args[11]);
    tensor_unref(got), tensor_unref(want), tensor_unref(x), tensor_unref(w), tensor_unref(c.weight);
}

/* A pixel that is not finite is one of its group's alone, also where several groups are
 * multiplied as one. */
static void test_groups_apart(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {{3, 3}, {4, 8}, {24, 48}, {8, 32}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        int64_t in = shapes[i][0], out = shapes[i][1], groups = i == 3 ? 2 : in,
                xs[4] = {1, in, 4, 5}, ws[4] = {out, in / groups, 3, 3};
        random_conv c = {.spatial = 2,
                         .groups = groups,
                         .activation = "none",
                         .stride = {1, 1},
                         .padding = {1, 1},
                         .dilation = {1, 1}};
        c.input = random_tensor(4, xs);
        tensor *w = random_tensor(4, ws);
        for (int64_t k = 0; k < w->numel; k++) TENSOR_AT(w, float)[k] = 1;
        for (int64_t k = 0; k < 20; k++)
            TENSOR_AT(c.input, float)[20 + k] = k % 3 ? (float)INFINITY : 1;
        if (in == 8)
            for (int64_t k = 0; k < 20; k++) TENSOR_AT(c.input, float)[k] = NAN;
        assert_int_equal(tensor_constant(NULL, w, &c.weight), CTSC_OK);
        value lists[3] = {list_of_ints(c.stride, 2), list_of_ints(c.padding, 2),
                          list_of_ints(c.dilation, 2)};
        int64_t zeros[2] = {0, 0};
        str *none = str_new("none", 4);
        tensor *want = turned("ctsc::to_channels_last", expected(&c, lists), 2),
               *x = turned("ctsc::to_channels_last", tensor_ref(c.input), 2);
        value args[12] = {value_tensor_take(x),
                          value_tensor_take(c.weight),
                          value_none(),
                          lists[0],
                          lists[1],
                          lists[2],
                          value_bool(false),
                          list_of_ints(zeros, 2),
                          value_int(groups),
                          value_bool(true),
                          value_none(),
                          value_str_take(none)};
        tensor *got = opcase_made("ctsc::conv_channels_last", 12, args);
        for (int64_t k = 0; k < want->numel; k++) {
            float g = TENSOR_AT(got, float)[k], e = TENSOR_AT(want, float)[k];
            if (!(g == e || (isnan(g) && isnan(e))))
                fail_msg("%lld channels, element %lld: %g, not %g", (long long)in, (long long)k, g,
                         e);
        }
        for (int k = 3; k < 6; k++) value_unref(args[k]);
        value_unref(args[7]), value_unref(args[11]);
        tensor_unref(want), tensor_unref(x), tensor_unref(got), tensor_unref(w),
            tensor_unref(c.input), tensor_unref(c.weight);
    }
}

/* ---- Winograd's way -------------------------------------------------------------------------- */

static double random_normal(void) { /* the sum of twelve, close enough */
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += (double)random_below(1 << 20) / (1 << 20);
    return sum;
}

/* One result in double: volume [D, H, W, C] from the output's group on, w [C of a group][KD][3][3];
 * at: its place among the results of an image. */
static double exact_result(const conv_shape *s, const float *volume, const float *w, int64_t at) {
    double sum = 0;
    int64_t z = at / s->out[2] / s->out[1], y = at / s->out[2] % s->out[1], x = at % s->out[2];
    for (int64_t c = 0; c < s->in_channels / s->groups; c++)
        for (int64_t k = 0; k < s->kernel_size; k++) {
            int64_t pz = z * s->stride[0] - s->pad[0] + k / 9 * s->dilation[0],
                    py = y - s->pad[1] + k / 3 % 3 * s->dilation[1],
                    px = x - s->pad[2] + k % 3 * s->dilation[2];
            if (pz < 0 || py < 0 || px < 0 || pz >= s->in[0] || py >= s->in[1] || px >= s->in[2])
                continue;
            sum += (double)volume[((pz * s->in[1] + py) * s->in[2] + px) * s->in_channels + c] *
                   w[c * s->kernel_size + k];
        }
    return sum;
}

/* The largest errors, and the root of the mean square of the direct way's. */
typedef struct worst {
    double winograd, direct, direct_rms;
} worst;

/* The errors of both ways, of some results. Pixels are a relu's results, weights those of He's
 * initialisation, what networks have: results have a variance of 1. */
static worst worst_errors(conv_shape s, conv_form form) {
    int64_t *ones[] = {&s.groups, &s.in[0], &s.kernel[0], &s.stride[0], &s.dilation[0]};
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        if (!*ones[i]) *ones[i] = 1;
    s.out[0] = (s.in[0] + 2 * s.pad[0] - (s.kernel[0] - 1) * s.dilation[0] - 1) / s.stride[0] + 1;
    s.stride[1] = s.stride[2] = 1;
    s.kernel[1] = s.kernel[2] = 3;
    s.kernel_size = 9 * s.kernel[0];
    for (int i = 1; i < 3; i++) s.out[i] = s.in[i] + 2 * s.pad[i] - 2 * s.dilation[i];
    s.in_size = s.in[0] * s.in[1] * s.in[2], s.out_size = s.out[0] * s.out[1] * s.out[2];
    int64_t xs[4] = {s.batch * s.in[0], s.in[1], s.in[2], s.in_channels},
            depth = s.in_channels / s.groups, ws[5] = {s.out_channels, depth, s.kernel[0], 3, 3},
            ys[4] = {s.batch * s.out[0], s.out[1], s.out[2], s.out_channels};
    tensor *x = random_tensor(4, xs), *w = random_tensor(5, ws), *own, *y[2];
    for (int64_t i = 0; i < x->numel; i++) TENSOR_AT(x, float)[i] = (float)fmax(0, random_normal());
    for (int64_t i = 0; i < w->numel; i++) TENSOR_AT(w, float)
    [i] = (float)(random_normal() * sqrt(2.0 / (double)(s.kernel_size * depth)));
    assert_int_equal(tensor_constant(NULL, w, &own), CTSC_OK);
    const conv_packed *p[2] = {conv_packed_of(&s, own, NULL, form),
                               conv_packed_of(&s, own, NULL, CONV_ROWS)};
    dense_epilogue after = {0};
    bool finite = false;
    for (int i = 0; i < 2; i++) {
        assert_non_null(p[i]);
        assert_int_equal(tensor_new(NULL, DT_FLOAT32, 4, ys, &y[i]), CTSC_OK);
        assert_int_equal(
            i ? conv_rows(NULL, &s, p[i], tensor_data(x), NULL, &after, tensor_data(y[i]))
              : conv_winograd(NULL, &s, p[i], tensor_data(x), &after, tensor_data(y[i]), &finite),
            CTSC_OK);
    }
    assert_true(finite);
    worst e = {0};
    int64_t looked_at = 0;
    for (int64_t i = 0; i < y[0]->numel; i += 1 + y[0]->numel / 60000) {
        int64_t o = i % s.out_channels, at = i / s.out_channels % s.out_size,
                n = i / s.out_channels / s.out_size, group = o / (s.out_channels / s.groups);
        double want = exact_result(
            &s, TENSOR_AT(x, float) + n * s.in_size * s.in_channels + group * depth,
            TENSOR_AT(w, float) + o * depth * s.kernel_size, at);
        e.winograd = fmax(e.winograd, fabs(TENSOR_AT(y[0], float)[i] - want));
        double off = TENSOR_AT(y[1], float)[i] - want;
        e.direct = fmax(e.direct, fabs(off));
        e.direct_rms += off * off, looked_at++;
    }
    e.direct_rms = sqrt(e.direct_rms / (double)looked_at);
    tensor_unref(x), tensor_unref(w), tensor_unref(own), tensor_unref(y[0]), tensor_unref(y[1]);
    return e;
}

/* The layers of resnet18 and vgg16 that are done that way. F(4x4, 3x3) loses two bits, F(2x2, 3x3)
 * and the direct form lose none however deep they are: a chain of all of a sum's 4,608 products
 * would be off by 3.5e-7 on average, PyTorch's kernels are by 1.6e-7 to 1.9e-7. */
static void test_winograd_error(void **state) {
    (void)state;
    if (!gemm_micro_best(DT_FLOAT32)) skip(); /* this processor has no kernels for it */
    static const int64_t layers[][3] = {{64, 64, 56},   {128, 128, 28}, {256, 256, 14},
                                        {64, 64, 112},  {64, 128, 40},  {128, 256, 28},
                                        {512, 512, 14}, {512, 512, 7},  {24, 40, 30}};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const int64_t *l = layers[i];
        for (conv_form form = CONV_WINOGRAD_4; form <= CONV_WINOGRAD_2; form++) {
            worst e = worst_errors((conv_shape){.batch = 1,
                                                .in_channels = l[0],
                                                .out_channels = l[1],
                                                .in = {1, l[2], l[2]},
                                                .pad = {0, 1, 1},
                                                .dilation = {1, 1, 1}},
                                   form);
            if (e.winograd > (form == CONV_WINOGRAD_4 ? 1e-5 : 3e-6) || e.direct > 3e-6 ||
                e.direct_rms > 2.6e-7)
                fail_msg("%lld to %lld channels, %d products: %g, direct %g (%g)", (long long)l[0],
                         (long long)l[1], conv_winograd_products(form), e.winograd, e.direct,
                         e.direct_rms);
        }
    }
}

/* Every size of an image, of a volume and its kernel's depth, batch, channels, groups, padding and
 * dilation:
 * edges of tiles, of residues, of batches, of shares and of vectors. */
static void test_winograd_shapes(void **state) {
    (void)state;
    if (!gemm_micro_best(DT_FLOAT32)) skip(); /* this processor has no kernels for it */
    tensor_set_allocator(&(tensor_allocator){fenced_alloc, fenced_free, NULL});
    for (int i = 0; i < 500; i++) {
        int64_t groups = random_below(3) ? 1 : 1 + random_below(7);
        conv_shape s = {.batch = 1 + random_below(3),
                        .groups = groups,
                        .in_channels = groups * (1 + random_below(groups > 1 ? 40 : 70)),
                        .out_channels = groups * (1 + random_below(groups > 1 ? 70 : 150)),
                        .in = {1}};
        if (random_below(4) == 0) {
            s.kernel[0] = 1 + random_below(3), s.stride[0] = 1 + random_below(2);
            s.dilation[0] = 1 + random_below(2), s.pad[0] = random_below(4);
            s.in[0] = (s.kernel[0] - 1) * s.dilation[0] + 1 + random_below(4);
            s.in_channels = groups * (1 + random_below(20));
        }
        for (int k = 1; k < 3; k++)
            s.pad[k] = random_below(3), s.dilation[k] = random_below(2) ? 1 : 1 + random_below(5),
            s.in[k] = 2 * s.dilation[k] + 1 + random_below(20);
        conv_form form = i % 2 ? CONV_WINOGRAD_2 : CONV_WINOGRAD_4;
        pool_set_threads(1 + (int)random_below(3));
        worst e = worst_errors(s, form);
        if (e.winograd > 2e-5)
            fail_msg(
                "[%lld, %lld, %lld, %lld] to %lld channels in %lld groups, dilated by %lld and "
                "%lld, %d products: %g",
                (long long)s.batch, (long long)s.in[1], (long long)s.in[2],
                (long long)s.in_channels, (long long)s.out_channels, (long long)groups,
                (long long)s.dilation[1], (long long)s.dilation[2], conv_winograd_products(form),
                e.winograd);
    }
    pool_set_threads(0);
    tensor_set_allocator(NULL);
}

/* One pixel of an image that is not finite: nobody may see more of it than the direct way shows. */
static void test_winograd_odd(void **state) {
    (void)state;
    conv_shape s = {
        .batch = 1, .in_channels = 40, .out_channels = 70, .groups = 1, .kernel_size = 9};
    if (!gemm_micro_best(DT_FLOAT32)) skip();
    for (int i = 0; i < 3; i++) {
        s.kernel[i] = i ? 3 : 1, s.stride[i] = s.dilation[i] = 1;
        s.pad[i] = i ? 1 : 0, s.in[i] = s.out[i] = i ? 12 + 3 * i : 1;
    }
    s.in_size = s.out_size = s.in[1] * s.in[2];
    int64_t xs[4] = {1, s.in[1], s.in[2], s.in_channels},
            ws[4] = {s.out_channels, s.in_channels, 3, 3},
            ys[4] = {1, s.out[1], s.out[2], s.out_channels};
    tensor *x = random_tensor(4, xs), *w = random_tensor(4, ws), *own, *y[2];
    assert_int_equal(tensor_constant(NULL, w, &own), CTSC_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(tensor_new(NULL, DT_FLOAT32, 4, ys, &y[i]), CTSC_OK);
    const conv_packed *rows = conv_packed_of(&s, own, NULL, CONV_ROWS);
    assert_non_null(rows);

    for (int64_t at = 0; at < s.in_size; at++) {
        static const float odd[] = {INFINITY, -INFINITY, NAN};
        float *pixel = TENSOR_AT(x, float) + at * s.in_channels + random_below(s.in_channels),
              was = *pixel;
        *pixel = odd[at % 3];
        dense_epilogue after = {.activation = at % 2 ? DENSE_RELU : DENSE_PLAIN};
        epilogue e = {.activation = (enum dense_activation)after.activation};
        bool done, finite = true;
        assert_int_equal(conv_rows(NULL, &s, rows, tensor_data(x), NULL, &after, tensor_data(y[0])),
                         CTSC_OK);
        assert_int_equal(
            conv_last_compute(NULL, &s, x, NULL, own, NULL, NULL, &e, false, y[1], &done), CTSC_OK);
        assert_true(done && e.done);
        assert_memory_equal(tensor_data(y[0]), tensor_data(y[1]),
                            (size_t)y[0]->numel * sizeof(float));
        for (conv_form form = CONV_ROWS; form < CONV_FORMS; form++) {
            if (!conv_winograd_products(form)) continue;
            const conv_packed *p = conv_packed_of(&s, own, NULL, form);
            assert_non_null(p);
            assert_int_equal(
                conv_winograd(NULL, &s, p, tensor_data(x), &after, tensor_data(y[1]), &finite),
                CTSC_OK);
            assert_false(finite);
        }
        *pixel = was;
    }
    for (int i = 0; i < 2; i++) tensor_unref(y[i]);
    tensor_unref(x), tensor_unref(w), tensor_unref(own);
}

/* The first call makes weights some panels at a time and keeps none; what it computes is what later
 * calls do, which keep them. */
static void test_in_turn(void **state) {
    (void)state;
    enum { IN = 160, OUT = 333, SIDE = 9 };
    if (!gemm_micro_best(DT_FLOAT32)) skip();
    for (int i = 0; i < 8; i++) {
        int64_t stride = 1 + i % 2, out = (SIDE - 1) / stride + 1;
        conv_shape s = {.batch = 2,
                        .in_channels = IN,
                        .out_channels = OUT,
                        .groups = 1,
                        .kernel_size = 9,
                        .in_size = SIDE * SIDE,
                        .out_size = out * out};
        for (int k = 0; k < 3; k++) {
            s.kernel[k] = k ? 3 : 1, s.stride[k] = k ? stride : 1, s.dilation[k] = 1;
            s.pad[k] = k ? 1 : 0, s.in[k] = k ? SIDE : 1, s.out[k] = k ? out : 1;
        }
        int64_t ws[4] = {OUT, IN, 3, 3}, xs[4] = {2, SIDE, SIDE, IN}, ys[4] = {2, out, out, OUT},
                outputs = OUT;
        tensor *w = random_tensor(4, ws), *x = random_tensor(4, xs), *y[2], *own, *factors,
               *bias = random_tensor(1, &outputs), *other = i & 2 ? random_tensor(4, ys) : NULL;
        assert_int_equal(tensor_new(NULL, DT_FLOAT64, 1, &outputs, &factors), CTSC_OK);
        for (int64_t k = 0; k < OUT; k++) TENSOR_AT(factors, double)[k] = 1 + (double)k / OUT;
        assert_int_equal(tensor_constant(NULL, w, &own), CTSC_OK);
        for (int call = 0; call < 2; call++) {
            epilogue e = {.other = other, .activation = i & 4 ? DENSE_SILU : DENSE_RELU};
            bool done;
            assert_int_equal(tensor_new(NULL, DT_FLOAT32, 4, ys, &y[call]), CTSC_OK);
            assert_int_equal(conv_last_compute(NULL, &s, x, NULL, own, i & 4 ? factors : NULL, bias,
                                               &e, false, y[call], &done),
                             CTSC_OK);
            assert_true(done && e.done);
        }
        assert_equal(y[0], y[1]);
        const conv_packed *kept = conv_packed_of(&s, own, i & 4 ? factors : NULL, CONV_ROWS);
        assert_true(kept && kept->out == OUT);
        for (int call = 0; call < 2; call++) tensor_unref(y[call]);
        tensor_unref(w), tensor_unref(x), tensor_unref(own), tensor_unref(factors);
        tensor_unref(bias), tensor_unref(other);
    }
}

/* Whatever was measured to be fastest is a form that can do the shape, and stays. */
static void test_tuned(void **state) {
    (void)state;
    if (!gemm_micro_best(DT_FLOAT32)) skip();
    static const int64_t layers[][5] = {
        {1, 3, 5, 9, 1}, {2, 40, 64, 30, 1}, {1, 64, 33, 3, 1}, {1, 72, 144, 12, 3}};
    atomic_store(&kernel_tunes, true);
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const int64_t *l = layers[i];
        conv_shape s = {.batch = l[0],
                        .groups = l[4],
                        .in_channels = l[1],
                        .out_channels = l[2],
                        .in = {1, l[3], l[3]},
                        .out = {1, l[3], l[3]},
                        .kernel = {1, 3, 3},
                        .stride = {1, 1, 1},
                        .pad = {0, 1, 1},
                        .dilation = {1, 1, 1},
                        .in_size = l[3] * l[3],
                        .out_size = l[3] * l[3],
                        .kernel_size = 9};
        int64_t xs[4] = {l[0], l[3], l[3], l[1]}, ws[4] = {l[2], l[1] / l[4], 3, 3},
                ys[4] = {l[0], l[3], l[3], l[2]};
        tensor *x = random_tensor(4, xs), *w = random_tensor(4, ws), *own, *y[2];
        assert_int_equal(tensor_constant(NULL, w, &own), CTSC_OK);
        for (int k = 0; k < 2; k++)
            assert_int_equal(tensor_new(NULL, DT_FLOAT32, 4, ys, &y[k]), CTSC_OK);
        conv_form form = conv_tune(&s);
        assert_true(form == CONV_ROWS || conv_winograd_products(form));
        dense_epilogue after = {0};
        bool done;
        assert_int_equal(conv_rows(NULL, &s, conv_packed_of(&s, own, NULL, CONV_ROWS),
                                   tensor_data(x), NULL, &after, tensor_data(y[0])),
                         CTSC_OK);
        assert_int_equal(
            conv_last_compute(NULL, &s, x, NULL, own, NULL, NULL, NULL, false, y[1], &done),
            CTSC_OK);
        assert_true(done);
        for (int64_t k = 0; k < y[0]->numel; k++)
            assert_true(fabsf(TENSOR_AT(y[0], float)[k] - TENSOR_AT(y[1], float)[k]) < 1e-2f);
        assert_int_equal(conv_tune(&s), form);
        for (int k = 0; k < 2; k++) tensor_unref(y[k]);
        tensor_unref(x), tensor_unref(w), tensor_unref(own);
    }
    atomic_store(&kernel_tunes, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_groups_apart),
                                       cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_scale_rank),
                                       cmocka_unit_test(test_amx),
                                       cmocka_unit_test(test_winograd_error),
                                       cmocka_unit_test(test_winograd_shapes),
                                       cmocka_unit_test(test_winograd_odd),
                                       cmocka_unit_test(test_tuned),
                                       cmocka_unit_test(test_in_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
