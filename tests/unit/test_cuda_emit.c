/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cuda_emit.c - groups of operators as CUDA kernels: on the simulated device (tests/cuda/sim),
 * what a kernel computes is what the operators compute one by one; and the real NVRTC, where there
 * is one, compiles each.
 *
 * CUDA_CASE=TEXT: only programs that contain it, printed. CUDA_ALL=1: all types for all sizes, and
 * by NVRTC all for both architectures.
 */
#include "cuda_support.h"
#include "group_support.h"

#include "codegen/cuda/cuda_emit.h"

/* blocks of a launch, at most: fewer than rounds, so that the grid's stride matters */
enum { EMIT_SLOTS = 512, EMIT_BLOCKS = 5 };

static cuda *emit_device; /* NULL in the process that only compiles */

/* ---- a launch -------------------------------------------------------------------------------- */

typedef struct emit_params {
    char bytes[4000];
    size_t n;
} emit_params;

static void emit_put(emit_params *p, const void *x, size_t n) {
    assert_true(p->n + n <= sizeof p->bytes);
    memcpy(p->bytes + p->n, x, n);
    p->n += n;
}

static void *emit_alloc(size_t nbytes) {
    void *p;
    diag d = {0};
    if (cuda_alloc(emit_device, &d, nbytes ? nbytes : 1, &p) != CTSC_OK)
        fail_msg("%s", diag_message(&d));
    return p;
}

/* A copy of t's storage on the device; *data: t's first element in it. */
static void *emit_upload(const tensor *t, void **data) {
    void *p = emit_alloc(t->storage->nbytes);
    assert_int_equal(cuda_write(emit_device, NULL, p, t->storage->data, t->storage->nbytes),
                     CTSC_OK);
    *data = (char *)p + ((const char *)tensor_data(t) - (const char *)t->storage->data);
    return p;
}

static void emit_rounds(const cuda_kernel *k, const cuda_kernel_shape *shape,
                        const emit_params *params, int64_t begin, int64_t end) {
    diag d = {0};
    emit_params p = *params;
    int64_t blocks = ((end - begin) * shape->coop + shape->block - 1) / shape->block;
    if (begin >= end) return;
    emit_put(&p, &begin, sizeof begin);
    emit_put(&p, &end, sizeof end);
    cuda_shape s = {{blocks < EMIT_BLOCKS ? (unsigned)blocks : EMIT_BLOCKS, 1, 1},
                    {(unsigned)shape->block, 1, 1},
                    (size_t)shape->shared};
    if (cuda_launch(emit_device, &d, k, &s, p.bytes, p.n) != CTSC_OK)
        fail_msg("%s", diag_message(&d));
}

static void emit_launch(const group_plan *p, const cuda_kernel *k, const cuda_kernel_shape *shape,
                        const value *args, const int64_t *slots, value *results) {
    void *owned[NEST_MAX_BUFFERS], *data[NEST_MAX_BUFFERS];
    emit_params params = {.n = 0};
    for (size_t i = 0; i < p->outputs.len; i++) {
        const group_output *o = &p->outputs.data[i];
        int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
        tensor *t;
        plan_output_layout(o, slots, sizes, strides);
        assert_int_equal(tensor_new_strided(NULL, DEVICE_HOST, o->dt, o->ndim, sizes, strides, &t),
                         CTSC_OK);
        results[i] = value_tensor_take(t);
    }
    for (size_t i = 0; i < p->buffers.len; i++) {
        const group_buffer *b = &p->buffers.data[i];
        if (b->kind == BUFFER_SCRATCH) data[i] = owned[i] = emit_alloc((size_t)slots[b->index]);
        else
            owned[i] = emit_upload(b->kind == BUFFER_OUTPUT ? results[b->index].u.tensor
                                                            : args[b->index].u.tensor,
                                   &data[i]);
        emit_put(&params, &data[i], sizeof data[i]);
    }
    for (size_t i = 0; i < p->ints.len; i++)
        emit_put(&params, &slots[p->ints.data[i]], sizeof(int64_t));
    for (size_t i = 0; i < p->floats.len; i++)
        emit_put(&params, &args[p->floats.data[i]].u.f, sizeof(double));
    int64_t begin = 0;
    if (p->range_begin < 0) emit_rounds(k, shape, &params, 0, 1);
    for (size_t i = 0; p->range_begin >= 0 && i < p->barriers.len + !p->barriers.len; i++) {
        int64_t end = slots[p->barriers.len ? p->barriers.data[i] : p->range_end];
        emit_rounds(k, shape, &params, begin, end);
        begin = end;
    }
    for (size_t i = 0; i < p->buffers.len; i++) {
        const group_buffer *b = &p->buffers.data[i];
        tensor *t = b->kind == BUFFER_OUTPUT ? results[b->index].u.tensor : NULL;
        diag d = {0};
        if (t && cuda_read(emit_device, &d, tensor_data(t), data[i],
                           (size_t)t->numel * dtype_size((dtype)t->dtype)) != CTSC_OK)
            fail_msg("%s", diag_message(&d));
        cuda_free(emit_device, owned[i]);
    }
}

/* ---- a case ---------------------------------------------------------------------------------- */

/* A kernel that serves some arguments. */
typedef struct emit_kernel {
    arena a;
    group_plan *p;
    const cuda_kernel *k;
    cuda_kernel_shape shape;
} emit_kernel;

/* By the real NVRTC: for one architecture and the other in turn. */
static void emit_compile(const char *program, const cuda_source *source) {
    static const char *const archs[] = {"sm_80", "sm_90"};
    static size_t count;
    count++;
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        if (i != count % 2 && !getenv("CUDA_ALL")) continue;
        void *image = NULL;
        size_t size = 0;
        diag d = {0};
        if (cuda_compile(&d, source, archs[i], &image, &size) != CTSC_OK)
            fail_msg("%s\n%s\n%s", program, diag_message(&d), source->text);
        assert_true(size > 0);
        mem_free(image);
    }
}

static void emit_make(emit_kernel *e, const char *program, const graph *g, const value *args) {
    diag d = {0};
    strbuf text = STRBUF_INIT;
    arena_init(&e->a);
    assert_int_equal(group_lower(&e->a, g, args, &(group_options){.target = GROUP_CUDA}, &e->p, &d),
                     CTSC_OK);
    if (!e->p) return;
    if (nest_emit_cuda(e->p->nest, &text, &e->shape, &d) != CTSC_OK)
        fail_msg("%s\n%s", program, diag_message(&d));
    if (getenv("CUDA_CASE")) printf("%s\n%s\n", program, sb_str(&text));
    cuda_source source = {
        .text = sb_str(&text), .len = text.len, .name = "group.cu", .headers = cuda_emit_headers()};
    if (!emit_device) emit_compile(program, &source);
    else if (cuda_kernel_get(emit_device, &d, &source, "kernel", (size_t)e->shape.shared, &e->k) !=
             CTSC_OK)
        fail_msg("%s\n%s\n%s", program, diag_message(&d), sb_str(&text));
    sb_free(&text);
}

static void emit_run(const emit_kernel *e, const char *program, const char *text, const graph *g,
                     const value *args) {
    value got[GROUP_RESULTS], want[GROUP_RESULTS];
    int64_t slots[EMIT_SLOTS];
    diag d = {0};
    int outputs = (int)g->root->returns.len;
    assert_true(e->p->slots.len <= EMIT_SLOTS);
    if (!plan_guards_hold(e->p, args, slots)) fail_msg("%s\n  %s do not fit", program, text);
    if (group_interpret(g, args, want, &d) != CTSC_OK)
        fail_msg("%s\n  %s\n  %s", program, text, diag_message(&d));
    emit_launch(e->p, e->k, &e->shape, args, slots, got);
    for (int i = 0; i < outputs; i++) group_compare(program, text, got[i], want[i]);
    group_unref(outputs, got);
    group_unref(outputs, want);
}

static bool emit_wanted(const char *program) {
    const char *only = getenv("CUDA_CASE");
    return !only || strstr(program, only);
}

static const group_case emit_group_cases[] = {
#include "group_cases.h"
};

/* Is there a plan for it, and one whose indices have 32 bits as `narrow` says? */
static bool emit_group_case(const group_case *c, bool narrow) {
    emit_kernel e;
    value args[GROUP_RESULTS];
    if (!emit_wanted(c->program)) return false;
    int n = group_args(c->args, args);
    graph *g = group_program(c->program, n, args);
    emit_make(&e, c->program, g, args);
    bool planned = e.p;
    if (planned) assert_int_equal(e.p->nest->index32, narrow);
    if (planned && emit_device) emit_run(&e, c->program, c->args, g, args);
    arena_free(&e.a);
    graph_free(g);
    group_unref(n, args);
    return planned;
}

static void test_group_cases(void **state) {
    (void)state;
    int plans = 0;
    for (size_t i = 0; i < sizeof emit_group_cases / sizeof *emit_group_cases; i++)
        plans += emit_group_case(&emit_group_cases[i], true);
    assert_true(getenv("CUDA_CASE") || plans > 70);
}

/* A number of the program that needs more than 32 bits: so do all ints of the nest, then. */
static void test_wide_indices(void **state) {
    (void)state;
    static const group_case cases[] = {
        {"y = add.Tensor(a, b); z = mul.Tensor(y, c); return z",
         "i64[2,3]{1 2 3 4 5 6} 5000000000 i64[3]{1 2 3}"},
        {"y = add.Tensor(a, c); z = t(b); w = mul.Tensor(y, z); return w",
         "i64[2,3]{1 2 3 4 5 6} i64[3,2]{1 2 3 4 5 6} -5000000000"},
        {"y = add.Tensor(a, b); z = softmax.int(y, 1); return z",
         "f64[2,20]{1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 "
         "2} 5000000000"},
        {"y = add.Tensor(a, b); z = sum.dim_IntList(y, [0]); return z",
         "i64[2,3]{1 2 3 4 5 6} 5000000000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(emit_group_case(&cases[i], false) || getenv("CUDA_CASE"));
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Arguments are dtype, sizes, layout: T is each of the case's types in turn, N and M are sizes. */
typedef struct emit_case {
    const char *program, *args, *types;
    int sizes[6][2]; /* N, M; ended by -1 */
} emit_case;

#define EMIT_ROWS {{0, 5}, {3, 7}, {70, 64}, {9, 1000}, {2, 5001}, {-1}}
#define EMIT_LONG {{0, 5}, {1, 1}, {31, 100}, {1, 70001}, {3, 33000}, {-1}}
#define EMIT_COLUMNS {{5, 3}, {1, 40}, {100, 33}, {3000, 20}, {-1}}

static const emit_case emit_cases[] = {
    /* pointwise: whole, broadcast over rows and columns, odd lengths */
    {"y = mul.Tensor(a, a); z = exp(y); return z",
     "T[N,M]",
     "f32 f16 f64 i64",
     {{0, 3}, {1, 1}, {33, 37}, {64, 64}, {-1}}},
    {"y = mul.Tensor(a, b); z = add.Tensor(y, c); w = relu(z); return w, y",
     "T[N,M] T[M] T[N,1]",
     "f32 bf16 f64",
     {{3, 7}, {16, 64}, {-1}}},
    {"y = to.dtype(a, 5); z = add.Tensor(y, b); return z, y",
     "T[N,M] f16[N,M]",
     "f32 u8 b",
     {{5, 7}, {8, 8}, {-1}}},
    {"y = where.self(c, a, b); return y", "T[N,M] T[M] b[N,M]", "i8 i64 f32", {{5, 16}, {-1}}},
    {"y = sigmoid(a); z = sum.dim_IntList(b, [0]); return y, z",
     "T[N,M] T[2,3]",
     "f32",
     {{40, 41}, {-1}}},
    /* transposed operands: tiles */
    {"y = add.Tensor(a, b); return y",
     "T[N,M] T[N,M]^",
     "f32 f16 f64 u8",
     {{3, 5}, {64, 64}, {65, 130}, {-1}}},
    {"y = permute(a, [0 2 1]); z = mul.Tensor(y, b); return z",
     "T[3,N,M] T[3,M,N]",
     "f32",
     {{33, 70}, {-1}}},
    {"y = t(a); z = contiguous(y); return z", "T[N,M]", "f32 bf16", {{100, 3}, {70, 90}, {-1}}},
    /* rows */
    {"y = softmax.int(a, 1); return y", "T[N,M]", "f32 f16 f64", EMIT_ROWS},
    {"y = layer_norm(a, [M], b, c); return y", "T[N,M] T[M] T[M]", "f32 bf16", EMIT_ROWS},
    {"y = log_softmax.int(a, 1); z = mul.Tensor(y, b); return z", "T[N,M] T[M]", "f32", EMIT_ROWS},
    {"y = mean.dim(a, [1]); return y", "T[N,M]", "f32 f16", {{3, 7}, {70, 64}, {2, 5001}, {-1}}},
    {"y = amax(a, [1]); z = amin(a, [1]); return y, z",
     "T[N,M]",
     "f32 u8 i64",
     {{3, 7}, {70, 64}, {-1}}},
    {"y = argmax(a, 1); return y", "T[N,M]", "f32 i16", {{3, 7}, {70, 300}, {2, 5001}, {-1}}},
    {"y = any.dim(a, 1); z = all.dim(a, 1); return y, z", "b[N,M]", "b", {{3, 7}, {30, 300}, {-1}}},
    {"y = var.dim(a, [0 2]); return y", "T[N,6,M]", "f32", {{3, 7}, {4, 500}, {-1}}},
    {"x = mul.Tensor(a, a); y = sum.dim_IntList(x, [1], True); e = add.Scalar(y, 1e-6); r = "
     "rsqrt(e); z = mul.Tensor(a, r); return z",
     "T[N,M]", "f32 f16", EMIT_ROWS},
    /* few long rows: stages */
    {"y = sum(a); return y", "T[N,M]", "f32 f16 i32 f64", EMIT_LONG},
    {"y = mse_loss(a, b); return y", "T[N,M] T[N,M]", "f32", {{31, 100}, {1, 70001}, {-1}}},
    {"y = softmax.int(a, 1); return y", "T[N,M]", "f32", {{2, 40000}, {-1}}},
    {"y = argmax(a); return y", "T[N,M]", "f32", {{1, 70001}, {-1}}},
    {"m = mean(a); d = sub.Tensor(a, m); q = mul.Tensor(d, d); v = mean(q); return d, v",
     "T[N,M]",
     "f32",
     {{100, 700}, {-1}}},
    /* columns */
    {"y = sum.dim_IntList(a, [0]); return y", "T[N,M]", "f32 f16 i32", EMIT_COLUMNS},
    {"y = softmax.int(a, 0); return y", "T[N,M]", "f32", EMIT_COLUMNS},
    {"y = var.dim(a, [0]); z = amax(a, [0]); return y, z", "T[N,M]", "f32", EMIT_COLUMNS},
    {"y = mean.dim(a, [1]); return y", "T[3,N,M]", "f32", {{70, 33}, {2500, 4}, {-1}}},
    {"y = argmax(a, 0); return y", "T[N,M]", "f32", {{100, 33}, {2500, 4}, {-1}}},
};

/* Numbers that differ, some equal to others; exact in all dtypes. */
static void emit_elements(strbuf *out, const char *type, int64_t n, unsigned seed) {
    bool real = *type == 'f' || *type == 'b', truth = !strcmp(type, "b");
    sb_putc(out, '{');
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned x = seed >> 24;
        if (truth) sb_puts(out, x & 1 ? "1 " : "0 ");
        else if (real) sb_printf(out, "%g ", (double)((int)(x % 96) - 48) / 16);
        else sb_printf(out, "%u ", x % 11);
    }
    sb_putc(out, '}');
}

/* One argument as opcase.h has it, from one of an emit_case. */
static const char *emit_argument(const char *p, const char *type, const int *size, unsigned seed,
                                 strbuf *out) {
    char own[8] = "";
    int64_t numel = 1;
    for (size_t n = 0; *p != '['; p++)
        if (n + 1 < sizeof own) own[n++] = *p;
    if (strcmp(own, "T")) type = own;
    sb_printf(out, "%s[", type);
    for (p++; *p != ']'; p++) {
        if (*p == ',') {
            sb_putc(out, ',');
            continue;
        }
        int k = *p == 'N' ? size[0] : *p == 'M' ? size[1] : *p - '0';
        sb_printf(out, "%d", k);
        numel *= k;
    }
    sb_putc(out, ']');
    if (*++p == '^') sb_putc(out, *p++);
    emit_elements(out, type, numel, seed);
    sb_putc(out, ' ');
    return *p == ' ' ? p + 1 : p;
}

/* The program with M's value in it: lengths of normalised dims are constants. */
static void emit_program(const char *p, const int *size, strbuf *out) {
    for (; *p; p++)
        if (*p == 'M' && p[-1] == '[') sb_printf(out, "%d", size[1]);
        else sb_putc(out, *p);
}

static void emit_check(const emit_case *c, const char *type, const int *size) {
    strbuf program = STRBUF_INIT, text = STRBUF_INIT;
    value args[GROUP_RESULTS];
    emit_kernel e;
    unsigned seed = 1;
    emit_program(c->program, size, &program);
    for (const char *p = c->args; *p;) p = emit_argument(p, type, size, seed++, &text);
    int n = group_args(sb_str(&text), args);
    graph *g = group_program(sb_str(&program), n, args);
    char label[96];
    snprintf(label, sizeof label, "%s, %d and %d", type, size[0], size[1]);
    emit_make(&e, sb_str(&program), g, args);
    if (!e.p) fail_msg("%s\n  %s has no plan", c->program, label);
    if (emit_device) emit_run(&e, sb_str(&program), label, g, args);
    arena_free(&e.a);
    graph_free(g);
    group_unref(n, args);
    sb_free(&program);
    sb_free(&text);
}

/* Compiling takes its time: the first type with all sizes, the others with one each. */
static void test_sizes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof emit_cases / sizeof *emit_cases; i++) {
        const emit_case *c = &emit_cases[i];
        if (!emit_wanted(c->program)) continue;
        int types = 0, sizes = 0;
        while (sizes < 6 && c->sizes[sizes][0] >= 0) sizes++;
        for (const char *t = c->types; *t; types++) {
            char type[8];
            size_t len = strcspn(t, " ");
            snprintf(type, sizeof type, "%.*s", (int)len, t);
            t += len + (t[len] == ' ');
            for (int k = 0; k < sizes; k++)
                if (!types || getenv("CUDA_ALL") || k == sizes - types)
                    emit_check(c, type, c->sizes[k]);
        }
    }
}

/* In a process of its own: the libraries are opened once in each. */
static void emit_compile_all(void) {
    diag d = {0};
    if (!*cuda_compiler(&d)) {
        printf("not compiled by NVRTC: %s\n", diag_message(&d));
        return;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_group_cases),
                                       cmocka_unit_test(test_wide_indices),
                                       cmocka_unit_test(test_sizes)};
    CHILD_CHECK(cmocka_run_group_tests_name("NVRTC", tests, NULL, NULL) == 0);
}
static void test_nvrtc(void **state) {
    (void)state;
    in_child(emit_compile_all);
}

int main(void) {
    diag d = {0};
    const struct CMUnitTest compiled[] = {cmocka_unit_test(test_nvrtc)};
    if (cmocka_run_group_tests(compiled, NULL, NULL)) return 1;
    sim_use();
    if (cuda_open(&d, 0, &emit_device) != CTSC_OK) {
        printf("skipped: %s\n", diag_message(&d));
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_group_cases),
                                       cmocka_unit_test(test_wide_indices),
                                       cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
