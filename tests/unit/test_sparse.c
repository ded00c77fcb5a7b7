/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sparse.c - products with sparse matrices, and linear layers whose constant weight is mostly
 * zero, against float64: on each instruction set that this processor has, any shape, float and
 * double, indices of 32 and 64 bits, strided weights, infinities, the same bits with any number of
 * threads. Tensors end at a page that cannot be touched.
 */
#include "support.h"

#include "base/threads/thread_pool.h"
#include "cpu/ukernel.h"
#include "fenced.h"
#include "ir/op/op.h"
#include "runtime/context/runtime.h"
#include "runtime/kernels/engine/epilogue.h"

#include <math.h>

static uint64_t random_state = 88172645463325252u;

static int64_t random_below(int64_t n) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7,
        random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)n);
}

static bool random_one_in(int n) { return random_below(n) == 0; }

static double element(const tensor *t, int64_t i) {
    if (t->dtype == DT_INT64) return (double)TENSOR_AT(t, int64_t)[i];
    if (t->dtype == DT_INT32) return (double)TENSOR_AT(t, int32_t)[i];
    return t->dtype == DT_FLOAT64 ? TENSOR_AT(t, double)[i] : (double)TENSOR_AT(t, float)[i];
}

static void set(tensor *t, int64_t i, double x) {
    switch ((dtype)t->dtype) {
    case DT_INT64: TENSOR_AT(t, int64_t)[i] = (int64_t)x; break;
    case DT_INT32: TENSOR_AT(t, int32_t)[i] = (int32_t)x; break;
    case DT_FLOAT64: TENSOR_AT(t, double)[i] = x; break;
    default: TENSOR_AT(t, float)[i] = (float)x;
    }
}

static tensor *empty(dtype dt, int ndim, int64_t a, int64_t b) {
    tensor *t;
    assert_int_equal(tensor_new(NULL, dt, ndim, (int64_t[]){a, b}, &t), CTSC_OK);
    return t;
}

static tensor *random_tensor(dtype dt, int ndim, int64_t a, int64_t b) {
    tensor *t = empty(dt, ndim, a, b);
    for (int64_t i = 0; i < t->numel; i++)
        set(t, i, (double)(random_below(20001) - 10000) * 0x1p-13);
    return t;
}

static ctsc_status call(const char *op, int n, tensor *const *in, value *results, diag *d) {
    runtime rt;
    value args[5];
    runtime_init(&rt);
    for (int i = 0; i < n; i++) args[i] = in[i] ? value_tensor_take(in[i]) : value_none();
    return op_call(&(op_ctx){.diag = d, .rt = &rt}, op, n, args, results);
}

static tensor *called(const char *op, int n, tensor *const *in) {
    diag d = {0};
    value r = value_none();
    if (call(op, n, in, &r, &d) != CTSC_OK) fail_msg("%s", diag_message(&d));
    diag_clear(&d);
    return r.u.tensor;
}

static void same_bits(const tensor *a, const tensor *b) {
    assert_int_equal(a->numel, b->numel);
    assert_memory_equal(tensor_data(a), tensor_data(b),
                        (size_t)a->numel * dtype_size((dtype)a->dtype));
}

static void close_to(double got, double want, double size, dtype dt, const char *what) {
    double bound = size * (dt == DT_FLOAT64 ? 0x1p-45 : 0x1p-17) + 0x1p-60;
    if (!(fabs(got - want) <= bound)) fail_msg("%s: %.9g instead of %.9g", what, got, want);
}

/* ---- matrices as tensors --------------------------------------------------------------------- */

typedef struct csr {
    tensor *start, *columns, *values;
    int64_t m, k;
} csr;

/* Some rows are empty, one may be long. */
static csr random_csr(dtype dt, dtype index) {
    csr s = {.m = 1 + random_below(random_one_in(3) ? 300 : 9),
             .k = 1 + random_below(random_one_in(3) ? 4000 : 40)};
    int64_t at = 0;
    int rarely = 1 + (int)random_below(random_one_in(3) ? 100 : 4);
    bool *has = calloc((size_t)(s.m * s.k), 1);
    int64_t full = random_one_in(4) ? random_below(s.m) : -1, none = random_below(s.m);
    for (int64_t i = 0; i < s.m; i++)
        for (int64_t j = 0; j < s.k; j++)
            at += has[i * s.k + j] = i == full || (i != none && random_one_in(rarely));
    s.start = empty(index, 1, s.m + 1, 0), s.columns = empty(index, 1, at, 0);
    s.values = random_tensor(dt, 1, at, 0);
    at = 0;
    for (int64_t i = 0; i < s.m; i++) {
        set(s.start, i, (double)at);
        for (int64_t j = 0; j < s.k; j++)
            if (has[i * s.k + j]) set(s.columns, at++, (double)j);
    }
    set(s.start, s.m, (double)at);
    free(has);
    return s;
}

static void csr_free(csr *s) {
    tensor_unref(s->start), tensor_unref(s->columns), tensor_unref(s->values);
}

static void check_mm(const csr *s, int64_t n, dtype dt) {
    bool vector = n == 1 && random_one_in(2);
    tensor *b = random_tensor(dt, vector ? 1 : 2, s->k, n), *given = b;
    if (!vector && n > 1 && random_one_in(3)) { /* rows with gaps, columns with gaps */
        int64_t sizes[2] = {s->k, n / 2}, strides[2] = {n, random_one_in(2) ? 1 : 2};
        assert_int_equal(tensor_as_strided(NULL, b, 2, sizes, strides, 0, &given), CTSC_OK);
        tensor_unref(b);
        b = given, n /= 2;
    }
    pool_set_threads(1);
    tensor *one = called("ctsc::sparse_mm", 4, (tensor *[]){s->start, s->columns, s->values, b});
    pool_set_threads(2);
    tensor *two = called("ctsc::sparse_mm", 4, (tensor *[]){s->start, s->columns, s->values, b});
    same_bits(one, two);
    assert_int_equal(one->ndim, b->ndim);
    int64_t step = b->ndim == 2 ? b->strides[1] : 1;
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t c = 0; c < n; c++) {
            double want = 0, size = 0;
            for (int64_t j = (int64_t)element(s->start, i); j < (int64_t)element(s->start, i + 1);
                 j++) {
                double x = element(s->values, j) *
                           element(b, (int64_t)element(s->columns, j) * b->strides[0] + c * step);
                want += x, size += fabs(x);
            }
            close_to(element(one, i * n + c), want, size, dt, "sparse_mm");
        }
    tensor_unref(one), tensor_unref(two), tensor_unref(b);
}

static void check_sampled(const csr *s, int64_t n, dtype dt) {
    tensor *a = random_tensor(dt, 2, s->m, n), *b = random_tensor(dt, 2, s->k, n);
    tensor *got = called("ctsc::sparse_sampled", 4, (tensor *[]){s->start, s->columns, a, b});
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = (int64_t)element(s->start, i); j < (int64_t)element(s->start, i + 1);
             j++) {
            double want = 0, size = 0;
            for (int64_t c = 0; c < n; c++) {
                double x = element(a, i * n + c) *
                           element(b, (int64_t)element(s->columns, j) * n + c);
                want += x, size += fabs(x);
            }
            close_to(element(got, j), want, size, dt, "sparse_sampled");
        }
    tensor_unref(a), tensor_unref(b), tensor_unref(got);
}

/* Twice transposed it is itself. */
static void check_transposed(const csr *s) {
    diag d = {0};
    runtime rt;
    value once[3], twice[3],
        args[3] = {value_tensor_take(s->start), value_tensor_take(s->columns), value_int(s->k)};
    runtime_init(&rt);
    op_ctx cx = {.diag = &d, .rt = &rt};
    assert_int_equal(op_call(&cx, "ctsc::sparse_transposed", 3, args, once), CTSC_OK);
    assert_int_equal(once[0].u.tensor->numel, s->k + 1);
    value back[3] = {once[0], once[1], value_int(s->m)};
    assert_int_equal(op_call(&cx, "ctsc::sparse_transposed", 3, back, twice), CTSC_OK);
    same_bits(twice[0].u.tensor, s->start);
    same_bits(twice[1].u.tensor, s->columns);
    for (int64_t i = 0; i < s->columns->numel; i++) {
        int64_t at = (int64_t)element(twice[2].u.tensor, i);
        assert_int_equal((int64_t)element(once[2].u.tensor, at), i);
    }
    for (int i = 0; i < 3; i++) value_unref(once[i]), value_unref(twice[i]);
    diag_clear(&d);
}

static void test_matrices(void **state) {
    (void)state;
    static const int64_t widths[] = {1, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 128, 200, 300};
    tensor_set_allocator(&(tensor_allocator){fenced_alloc, fenced_free, NULL});
    for (int i = 0; i < ISA_COUNT; i++) {
        if (!isa_table[i].here || !(isa_detected() >> i & 1)) continue;
        isa_limit((isa)i);
        for (int c = 0; c < 25; c++) {
            dtype dt = random_one_in(3) ? DT_FLOAT64 : DT_FLOAT32;
            csr s = random_csr(dt, random_one_in(2) ? DT_INT32 : DT_INT64);
            check_mm(&s, widths[random_below(16)], dt);
            check_sampled(&s, widths[random_below(16)], dt);
            check_transposed(&s);
            csr_free(&s);
        }
    }
    isa_limit(ISA_COUNT);
    tensor_set_allocator(NULL);
}

static void refused(const csr *s, const char *message) {
    diag d = {0};
    value r = value_none();
    tensor *b = random_tensor((dtype)s->values->dtype, 2, s->k, 3);
    assert_true(call("ctsc::sparse_mm", 4, (tensor *[]){s->start, s->columns, s->values, b}, &r,
                     &d) != CTSC_OK);
    assert_non_null(strstr(diag_message(&d), message));
    diag_clear(&d);
    tensor_unref(b);
}

/* Indices that are none are refused by every operator. */
static void test_refused(void **state) {
    (void)state;
    csr s = {.m = 3, .k = 4};
    s.start = empty(DT_INT64, 1, 4, 0), s.columns = empty(DT_INT64, 1, 2, 0);
    s.values = random_tensor(DT_FLOAT32, 1, 2, 0);
    const int64_t starts[][4] = {{0, 1, 2, 3}, {1, 1, 2, 2}, {0, 2, 1, 2}, {0, -1, 2, 2}};
    for (int i = 0; i < 4; i++) {
        for (int64_t j = 0; j < 4; j++) set(s.start, j, (double)starts[i][j]);
        set(s.columns, 0, 0), set(s.columns, 1, 1);
        refused(&s, "crow_indices must begin with 0");
    }
    const int64_t fine[4] = {0, 1, 1, 2}, columns[] = {4, -1, INT64_MAX, 1LL << 32};
    for (int64_t j = 0; j < 4; j++) set(s.start, j, (double)fine[j]);
    for (int i = 0; i < 4; i++) {
        TENSOR_AT(s.columns, int64_t)[1] = columns[i];
        refused(&s, "col_indices must be in [0, 4)");
        diag d = {0};
        runtime rt;
        value r[3],
            args[] = {value_tensor_take(s.start), value_tensor_take(s.columns), value_int(4)};
        runtime_init(&rt);
        assert_true(op_call(&(op_ctx){.diag = &d, .rt = &rt}, "ctsc::sparse_transposed", 3, args,
                            r) != CTSC_OK);
        assert_non_null(strstr(diag_message(&d), "indices must be in [0, 4)"));
        diag_clear(&d);
    }
    csr_free(&s);
}

/* ---- weights of linear layers ---------------------------------------------------------------- */

typedef struct layer {
    tensor *x, *w, *b; /* [rows, k], [n, k], [n] or NULL */
    int64_t rows, n, k;
} layer;

/* sparsity in percent; -1: two of four */
static tensor *random_weight(const layer *l, int sparsity) {
    int64_t sizes[2] = {l->n, l->k}, strides[2] = {l->k, 1};
    if (random_one_in(3)) strides[0] = 1, strides[1] = l->n;
    tensor *whole = random_tensor(DT_FLOAT32, 1, l->n * l->k, 0), *own, *view;
    for (int64_t i = 0; i < l->n; i++)
        for (int64_t j = 0; j < l->k; j++)
            if (sparsity < 0 ? (j + i) % 4 > 1 : random_below(100) < sparsity)
                set(whole, i * strides[0] + j * strides[1], 0);
    assert_int_equal(tensor_constant(NULL, whole, &own), CTSC_OK);
    assert_int_equal(tensor_as_strided(NULL, own, 2, sizes, strides, 0, &view), CTSC_OK);
    tensor_unref(whole), tensor_unref(own);
    return view;
}

static tensor *linear(const layer *l) {
    return called("ctsc::linear_prepacked", 3, (tensor *[]){l->x, l->w, l->b});
}

static void check_linear(const layer *l, const tensor *y) {
    for (int64_t r = 0; r < l->rows; r++)
        for (int64_t j = 0; j < l->n; j++) {
            double want = l->b ? element(l->b, j) : 0, size = fabs(want);
            for (int64_t i = 0; i < l->k; i++) {
                double x = element(l->x, r * l->x->strides[0] + i * l->x->strides[1]) *
                           element(l->w, j * l->w->strides[0] + i * l->w->strides[1]);
                want += x, size += fabs(x);
            }
            double got = element(y, r * l->n + j);
            if (isfinite(want)) close_to(got, want, size, DT_FLOAT32, "linear");
            else if (isnan(want) ? !isnan(got) : got != want)
                fail_msg("linear: %g instead of %g", got, want);
        }
}

static void check_epilogue(const layer *l, tensor *y) {
    diag d = {0};
    runtime rt;
    tensor *other = random_one_in(2) ? NULL : random_tensor(DT_FLOAT32, 2, l->rows, l->n);
    value r = value_none(), args[] = {value_tensor_take(l->x), value_tensor_take(l->w),
                                      l->b ? value_tensor_take(l->b) : value_none(),
                                      other ? value_tensor_take(other) : value_none(),
                                      value_str_take(str_new("relu", 4))};
    runtime_init(&rt);
    op_ctx cx = {.diag = &d, .rt = &rt, .op = op_find("ctsc::linear_epilogue")};
    assert_int_equal(op_call(&cx, "ctsc::linear_epilogue", 5, args, &r), CTSC_OK);
    for (int64_t i = 0; i < y->numel; i++) {
        float x = TENSOR_AT(y, float)[i] + (other ? TENSOR_AT(other, float)[i] : 0);
        assert_true(TENSOR_AT(r.u.tensor, float)[i] == (x < 0 ? 0 : x));
    }
    tensor_unref(other);
    value_unref(args[4]), value_unref(r);
    diag_clear(&d);
}

static void try_layer(void) {
    static const int sparsities[] = {-1, 0, 60, 80, 90, 95, 99, 100};
    layer l = {.rows = 1 + random_below(random_one_in(4) ? 200 : 12),
               .n = 1 + random_below(150),
               .k = 1 + random_below(random_one_in(4) ? 2500 : 150)};
    bool turned = random_one_in(4);
    l.x = random_tensor(DT_FLOAT32, 2, turned ? l.k : l.rows, turned ? l.rows : l.k);
    if (turned) {
        tensor *view;
        assert_int_equal(tensor_transpose(NULL, l.x, 0, 1, &view), CTSC_OK);
        tensor_unref(l.x);
        l.x = view;
    }
    l.w = random_weight(&l, sparsities[random_below(8)]);
    l.b = random_one_in(3) ? NULL : random_tensor(DT_FLOAT32, 1, l.n, 0);
    tensor_unref(linear(&l)); /* packs at the second one */
    pool_set_threads(1);
    tensor *one = linear(&l);
    pool_set_threads(2);
    tensor *two = linear(&l);
    check_linear(&l, one);
    same_bits(one, two);
    check_epilogue(&l, one);
    tensor_unref(one), tensor_unref(two);
    set(l.x, random_below(l.x->numel), random_one_in(2) ? (double)INFINITY : (double)NAN);
    one = linear(&l);
    check_linear(&l, one);
    tensor_unref(one);
    tensor_unref(l.x), tensor_unref(l.w), tensor_unref(l.b);
}

static void test_layers(void **state) {
    (void)state;
    tensor_set_allocator(&(tensor_allocator){fenced_alloc, fenced_free, NULL});
    for (int i = 0; i < ISA_COUNT; i++) {
        if (!isa_table[i].here || !(isa_detected() >> i & 1)) continue;
        isa_limit((isa)i);
        for (int c = 0; c < 60; c++) try_layer();
    }
    isa_limit(ISA_COUNT);
    tensor_set_allocator(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrices),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
