/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_conv_last.c - convolutions whose channels come last (kernels/conv/conv_last.h), against the general ones.
 *
 * Random convolutions of small integers, whose sums are exact in any order: results are equal to the bit, for any number of threads. Tensors end at a page that
 * cannot be touched.
 */
#include "opcase.h"

#include "base/thread_pool.h"
#include "runtime/kernels/conv/conv_packed.h"
#include "runtime/kernels/conv/conv_last.h"

#include <sys/mman.h>

/* ---- memory that ends at a page nobody may touch -------------------------------------------------- */

enum { PAGE = 4096 };

static size_t fenced_size(size_t nbytes) {
    return (nbytes + PAGE - 1) / PAGE * PAGE + PAGE;
}

/* Data begins where it is aligned: up to 63 bytes behind it can be touched. */
static void *fenced_alloc(void *ctx, size_t nbytes) {
    (void)ctx;
    char *p = mmap(NULL, fenced_size(nbytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    char *end = p + fenced_size(nbytes) - PAGE;
    mprotect(end, PAGE, PROT_NONE);
    return end - (nbytes + 63) / 64 * 64;
}

static void fenced_free(void *ctx, void *data, size_t nbytes) {
    (void)ctx;
    munmap((char *)data + (nbytes + 63) / 64 * 64 + PAGE - fenced_size(nbytes), fenced_size(nbytes));
}

/* ---- random convolutions -------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;

static int64_t random_below(int64_t n) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
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
} random_conv;

static int64_t random_size(int64_t extent, int64_t padding, int64_t most) { /* such that the kernel fits */
    int64_t least = extent - 2 * padding;
    return (least < 1 ? 1 : least) + random_below(most);
}

static random_conv random_convolution(void) {
    static const char *const activations[] = {"none", "none", "relu", "relu6", "hardswish"};
    static const int64_t steps[] = {1, 1, 1, 2, 3};
    random_conv c = {.spatial = 1 + (int)random_below(3), .activation = activations[random_below(5)]};
    bool depthwise = random_below(5) == 0;
    int64_t in = 1 + random_below(random_below(4) ? 20 : 90), out = 1 + random_below(random_below(4) ? 40 : 100);
    c.groups = depthwise ? in : random_below(3) ? 1 : 1 + random_below(8);
    if (!depthwise && c.groups > 1) in = c.groups * (1 + random_below(6)), out = c.groups * (1 + random_below(20));
    if (depthwise) out = in * (random_below(4) ? 1 : 2);
    int64_t xs[5] = {1 + random_below(2), in}, ws[5] = {out, in / c.groups}, biases = out;
    bool pixels = random_below(4) == 0;
    for (int i = 0; i < c.spatial; i++) {
        int64_t k = pixels ? 1 : 1 + random_below(c.spatial == 3 ? 3 : 5);
        c.stride[i] = pixels && random_below(2) ? 1 : steps[random_below(5)];
        c.dilation[i] = steps[random_below(4)];
        c.padding[i] = pixels && random_below(2) ? 0 : random_below(4) ? k / 2 : random_below(4);
        xs[2 + i] = random_size((k - 1) * c.dilation[i] + 1, c.padding[i], c.spatial == 3 ? 7 : c.spatial == 2 ? 20 : 300);
        ws[2 + i] = k;
    }
    c.input = random_tensor(2 + c.spatial, xs);
    tensor *w = random_tensor(2 + c.spatial, ws);
    assert_int_equal(tensor_constant(NULL, w, &c.weight), CTSC_OK);
    tensor_unref(w);
    c.bias = random_below(2) ? random_tensor(1, &biases) : NULL;
    return c;
}

static value list_of_ints(const int64_t *v, int n) {
    list *l = list_new(LIST_INT, TYPE_INT, (size_t)n);
    memcpy(l->u.ints, v, (size_t)n * sizeof *v);
    l->len = (size_t)n;
    return value_list_take(l);
}

static tensor *called(const char *op, int n, value *args) {
    op_ctx cx = {.op = op_find(op)};
    diag d = {0};
    value r;
    cx.diag = &d;
    ctsc_status st = op_call(&cx, op, n, args, &r);
    if (st != CTSC_OK) fail_msg("%s: %s", op, diag_message(&d));
    return r.u.tensor;
}

/* t, a reference to which is taken, through an operator of two arguments. */
static tensor *turned(const char *op, tensor *t, int64_t spatial) {
    value args[2] = {value_tensor_take(t), value_int(spatial)};
    tensor *r = called(op, 2, args);
    tensor_unref(t);
    return r;
}

/* As the program has it: convolution, sum, activation. */
static tensor *expected(const random_conv *c, const value *lists) {
    static const char *const convs[] = {"aten::conv1d", "aten::conv2d", "aten::conv3d"};
    value args[7] = {value_tensor_take(c->input), value_tensor_take(c->weight), c->bias ? value_tensor_take(c->bias) : value_none(),
                     lists[0], lists[1], lists[2], value_int(c->groups)};
    tensor *t = called(convs[c->spatial - 1], 7, args), *next;
    if (c->other) {
        value sum[3] = {value_tensor_take(t), value_tensor_take(c->other), value_int(1)};
        next = called("aten::add.Tensor", 3, sum);
        tensor_unref(t);
        t = next;
    }
    if (!strcmp(c->activation, "none")) return t;
    char op[40];
    snprintf(op, sizeof op, "aten::%s", c->activation);
    value one = value_tensor_take(t);
    next = called(op, 1, &one);
    tensor_unref(t);
    return next;
}

static void assert_near(const random_conv *c, const tensor *got, const tensor *want) {
    assert_true(tensor_same_shape(got, want));
    bool exact = strcmp(c->activation, "hardswish") != 0; /* which divides by 6 */
    for (int64_t i = 0; i < want->numel; i++) {
        float g = TENSOR_AT(got, float)[i], w = TENSOR_AT(want, float)[i], slack = exact ? 0 : 2e-6f * (w < 0 ? -w : w) + 1e-6f;
        if (!(g >= w - slack && g <= w + slack)) fail_msg("element %lld: %g, not %g", (long long)i, g, w);
    }
}

/* Twice: weights are packed by the first call at the latest. */
static void check_convolution(random_conv *c) {
    value lists[3] = {list_of_ints(c->stride, c->spatial), list_of_ints(c->padding, c->spatial), list_of_ints(c->dilation, c->spatial)};
    if (random_below(2)) {
        tensor *plain = expected(c, lists);
        c->other = random_tensor(plain->ndim, plain->sizes);
        tensor_unref(plain);
    }
    tensor *want = turned("ctsc::to_channels_last", expected(c, lists), c->spatial);
    tensor *in = turned("ctsc::to_channels_last", tensor_ref(c->input), c->spatial);
    tensor *other = c->other ? turned("ctsc::to_channels_last", tensor_ref(c->other), c->spatial) : NULL;
    str *activation = str_new(c->activation, strlen(c->activation));
    value args[12] = {value_tensor_take(in), value_tensor_take(c->weight), c->bias ? value_tensor_take(c->bias) : value_none(), lists[0], lists[1], lists[2],
                      value_bool(false), value_none(), value_int(c->groups), value_bool(true), other ? value_tensor_take(other) : value_none(),
                      value_str_take(activation)};
    int64_t zeros[3] = {0, 0, 0};
    args[7] = list_of_ints(zeros, c->spatial);
    for (int threads = 1; threads <= 3; threads += 2) {
        pool_set_threads(threads);
        tensor *got = called("ctsc::conv_channels_last", 12, args);
        assert_near(c, got, want);
        tensor_unref(got);
    }
    pool_set_threads(0);
    value_unref(args[7]);
    value_unref(args[11]);
    for (int i = 0; i < 3; i++) value_unref(lists[i]);
    tensor_unref(want), tensor_unref(in), tensor_unref(other);
}

static void test_random(void **state) {
    (void)state;
    tensor_set_allocator(&(tensor_allocator){fenced_alloc, fenced_free, NULL});
    for (int i = 0; i < 1500; i++) {
        random_conv c = random_convolution();
        check_convolution(&c);
        tensor_unref(c.input), tensor_unref(c.weight), tensor_unref(c.bias), tensor_unref(c.other);
    }
    tensor_set_allocator(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
