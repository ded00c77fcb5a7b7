/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ptq.c - quantisation after training: observers against PyTorch's numbers, sorted
 * data and a plain Kullback-Leibler divergence; weights against a search of the best;
 * patterns; a whole module.
 */
#include "support.h"

#include "ctsc.h"
#include "runtime/ops/registry.h"
#include "runtime/ptq/ptq.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static counting count;

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static double random_unit(void) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7,
        random_state ^= random_state << 17;
    return (double)(random_state >> 11) * 0x1p-53;
}

static double random_normal(void) {
    return sqrt(-2 * log(random_unit() + 1e-300)) * cos(6.283185307179586 * random_unit());
}

static tensor *floats(int64_t n, const float *x) {
    tensor *t;
    assert_int_equal(tensor_new(NULL, DT_FLOAT32, 1, &n, &t), CTSC_OK);
    if (n) memcpy(tensor_data(t), x, (size_t)n * sizeof *x);
    return t;
}

/* Both passes over t. */
static range_observer observed(const observer_options *how, tensor *t) {
    range_observer o = {0};
    diag d = {0};
    assert_int_equal(observer_see(&o, &d, t), CTSC_OK);
    if (observer_has_two_passes(how)) assert_int_equal(observer_count(&o, how, &d, t), CTSC_OK);
    return o;
}

/* torch.ao.quantization.MinMaxObserver(dtype=torch.quint8, ...).calculate_qparams
 * of PyTorch 2.15 */
static void test_minmax(void **state) {
    (void)state;
    static const struct {
        float x[3];
        bool symmetric, reduce;
        double scale;
        int64_t zero;
    } cases[] = {
        {{-1, 0.5F, 3}, false, false, 0.01568627543747425, 64},
        {{0.25F, 1, 2}, false, false, 0.007843137718737125, 0},
        {{-4, -2, -1}, false, false, 0.01568627543747425, 255},
        {{-1, 0.5F, 3}, true, false, 0.0235294122248888, 128},
        {{-1, 0.5F, 3}, false, true, 0.031496062874794006, 32},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        observer_options how = {.symmetric = cases[i].symmetric, .reduce_range = cases[i].reduce};
        tensor *t = floats(3, cases[i].x);
        range_observer o = observed(&how, t);
        double scale;
        int64_t zero;
        assert_true(observer_affine(&o, &how, &scale, &zero));
        if (fabs(scale - cases[i].scale) > 1e-9 * scale || zero != cases[i].zero)
            fail_msg("case %zu: %.17g, %lld", i, scale, (long long)zero);
        observer_free(&o);
        tensor_unref(t);
    }
}

static void test_nothing_to_observe(void **state) {
    (void)state;
    observer_options how = {0};
    double scale;
    int64_t zero;
    tensor *empty = floats(0, NULL), *nan = floats(1, &(float){NAN}),
           *zeros = floats(1, &(float){0}), *whole;
    assert_int_equal(tensor_zeros(NULL, DT_INT64, 0, NULL, &whole), CTSC_OK);
    range_observer o = observed(&how, empty);
    assert_false(observer_affine(&o, &how, &scale, &zero));
    o = observed(&how, nan);
    assert_false(observer_affine(&o, &how, &scale, &zero));
    o = observed(&how, whole);
    assert_false(observer_affine(&o, &how, &scale, &zero));
    o = observed(&how, zeros);
    assert_true(observer_affine(&o, &how, &scale, &zero));
    assert_true(scale == 1 && zero == 0);
    tensor_unref(empty);
    tensor_unref(nan);
    tensor_unref(zeros);
    tensor_unref(whole);
}

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Within a bin of what sorting gives. */
static void test_percentile(void **state) {
    (void)state;
    enum { N = 20000 };
    float *x = malloc(N * sizeof *x);
    for (int i = 0; i < N; i++) x[i] = (float)(random_normal() * 2 + 1);
    tensor *t = floats(N, x);
    qsort(x, N, sizeof *x, by_value);
    static const double percentiles[] = {100, 99.9, 99, 90};
    for (size_t i = 0; i < sizeof percentiles / sizeof *percentiles; i++) {
        observer_options how = {.kind = OBSERVER_PERCENTILE, .percentile = percentiles[i]};
        range_observer o = observed(&how, t);
        double lo, hi, bin = (double)(x[N - 1] - x[0]) / OBSERVER_BINS;
        int cut = (int)(N * (100 - percentiles[i]) / 200);
        assert_true(observer_range(&o, &how, &lo, &hi));
        assert_true(fabs(lo - (double)x[cut]) <= 1.01 * bin);
        assert_true(fabs(hi - (double)x[N - 1 - cut]) <= 1.01 * bin);
        observer_free(&o);
    }
    tensor_unref(t);
    free(x);
}

/* KL(P || Q) as its definition has it: P are the first n bins, the rest in the last; Q has the sums
 * of levels, spread over bins that are not empty. */
static double divergence(const double *bins, int count, int n, int levels) {
    double *p = calloc((size_t)n, sizeof *p), *q = calloc((size_t)n, sizeof *q), ps = 0, qs = 0,
           kl = 0;
    for (int i = 0; i < count; i++) p[i < n ? i : n - 1] += bins[i];
    for (int i = 0; i < n; i++) {
        int level = 0, used = 0;
        double sum = 0;
        while ((int64_t)(level + 1) * n / levels <= i) level++;
        int from = (int)((int64_t)level * n / levels),
            to = (int)((int64_t)(level + 1) * n / levels);
        for (int k = from; k < to; k++) sum += bins[k], used += bins[k] > 0;
        q[i] = bins[i] > 0 ? sum / used : 0;
    }
    for (int i = 0; i < n; i++) ps += p[i], qs += q[i];
    for (int i = 0; i < n; i++)
        if (p[i] > 0) kl += p[i] / ps * log(p[i] / ps / (q[i] > 0 ? q[i] / qs : 1e-4));
    free(p);
    free(q);
    return kl;
}

static void entropy_against_definition(bool one_sided) {
    enum { N = 20000 };
    float *x = malloc(N * sizeof *x);
    double *bins = calloc(OBSERVER_BINS, sizeof *bins), most = 0;
    for (int i = 0; i < N; i++) {
        double v = random_normal() * (i % 500 ? 1 : 8);
        x[i] = (float)(one_sided && v < 0 ? 0 : v);
        most = fmax(most, fabs((double)x[i]));
    }
    for (int i = 0; i < N; i++) {
        double at = fabs((double)x[i]) / (most / OBSERVER_BINS);
        if (x[i] != 0) bins[at >= OBSERVER_BINS ? OBSERVER_BINS - 1 : (int)at]++;
    }
    int levels = one_sided ? 256 : 128, best = 0;
    double least = INFINITY;
    for (int n = levels; n <= OBSERVER_BINS; n++) {
        double kl = divergence(bins, OBSERVER_BINS, n, levels);
        if (kl < least) least = kl, best = n;
    }
    observer_options how = {.kind = OBSERVER_ENTROPY};
    tensor *t = floats(N, x);
    range_observer o = observed(&how, t);
    double lo, hi;
    assert_true(observer_range(&o, &how, &lo, &hi));
    assert_true(fabs(hi - most / OBSERVER_BINS * best) < 1e-6 * most);
    assert_true(hi < most * 0.9); /* outliers are cut */
    assert_true(one_sided ? lo == 0 : lo < 0);
    observer_free(&o);
    tensor_unref(t);
    free(bins);
    free(x);
}

static void test_entropy(void **state) {
    (void)state;
    entropy_against_definition(false);
    entropy_against_definition(true);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* A layer of a graph with one constant weight. */
static graph *layer_graph(const char *key, tensor *w_take, quantise_layer *l) {
    graph *g = graph_new();
    ir_value *x = block_add_param(g->root, TYPE_TENSOR);
    graph_set_insert(g, g->root, NULL);
    ir_value *w = graph_constant_take(g, value_tensor_take(w_take), TYPE_TENSOR),
             *args[] = {x, w, graph_constant_none(g)};
    const op *o = op_find(key);
    node *n = graph_insert(g, node_new_op(g, o, o->schema->nargs, args));
    block_add_return(g->root, n->outputs.data[0]);
    assert_true(quantise_layer_of(n, QUANTISE_WEIGHTS, l));
    return g;
}

static tensor *random_matrix(int64_t n, int64_t k) {
    tensor *t;
    assert_int_equal(tensor_new(NULL, DT_FLOAT32, 2, (int64_t[]){n, k}, &t), CTSC_OK);
    for (int64_t i = 0; i < t->numel; i++) TENSOR_AT(t, float)[i] = (float)random_normal();
    return t;
}

/* Half a step is the most that a weight is off by; but for those that have one step less. */
static void weights_are_near(const quantise_weights *how, bool turned) {
    enum { N = 12, K = 128 };
    quantise_layer l;
    tensor *w = turned ? random_matrix(K, N) : random_matrix(N, K);
    graph *g = layer_graph(turned ? "aten::matmul" : "aten::linear", w, &l);
    tensor *r = quantise_weight_rounded(&l, how);
    assert_non_null(r);
    int64_t group = how->group ? how->group : how->per_tensor ? N * K : K;
    assert_true(r->ndim == 2 && r->sizes[0] == w->sizes[0] && r->sizes[1] == w->sizes[1]);
    for (int64_t j = 0; j < N; j++)
        for (int64_t i = 0; i < K; i++) {
            double lo = 0, hi = 0;
            for (int64_t k = 0; k < (how->per_tensor ? N * K : group); k++) {
                int64_t row = how->per_tensor ? k / K : j,
                        col = how->per_tensor ? k % K : i / group * group + k;
                double v = (double)TENSOR_AT(w, float)[turned ? col * N + row : row * K + col];
                lo = fmin(lo, v), hi = fmax(hi, v);
            }
            double step = how->bits == 8 ? fmax(hi, -lo) / 127
                          : how->zeros   ? (hi - lo) / 15
                                         : fmax(fmax(hi, -lo) / 8, fmin(hi, -lo) / 7),
                   was = (double)TENSOR_AT(w, float)[turned ? i * N + j : j * K + i],
                   is = (double)TENSOR_AT(
                       r,
                       float)[r->strides[0] * (turned ? i : j) + r->strides[1] * (turned ? j : i)];
            assert_true(fabs(was - is) <= step * (how->zeros ? 1.0001 : 0.5001));
        }
    assert_true(quantise_weight_size(&l, how) < N * K * 4 / (how->bits == 8 ? 3 : 5));
    tensor_unref(r);
    graph_free(g);
}

static void test_weights(void **state) {
    (void)state;
    static const quantise_weights ways[] = {
        {8, 0, false, false}, {8, 0, false, true},    {4, 32, false, false},
        {4, 64, true, false}, {4, 128, false, false},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        weights_are_near(&ways[i], false);
        weights_are_near(&ways[i], true);
    }
    /* rows that groups do not divide, and numbers that are not finite, stay */
    quantise_layer l;
    quantise_weights fours = {4, 32, false, false}, bytes = {8, 0, false, false};
    graph *g = layer_graph("aten::linear", random_matrix(4, 48), &l);
    assert_null(quantise_weight_rounded(&l, &fours));
    graph_free(g);
    tensor *w = random_matrix(4, 32);
    TENSOR_AT(w, float)[5] = INFINITY;
    g = layer_graph("aten::linear", w, &l);
    assert_null(quantise_weight_rounded(&l, &bytes));
    assert_null(quantise_weight_rounded(&l, &fours));
    graph_free(g);
}

/* ---- patterns, options ----------------------------------------------------------------------- */

static void test_patterns(void **state) {
    (void)state;
    assert_true(ptq_fits("fc", "fc") && ptq_fits("*", "") && ptq_fits("*.conv?", "a.b.conv1"));
    assert_true(ptq_fits("layer4*", "layer4.0.conv1") && ptq_fits("*a*b", "xaybab"));
    assert_false(ptq_fits("fc", "fc1") || ptq_fits("?", "") || ptq_fits("*.conv?", "a.conv10"));
}

static void test_options(void **state) {
    (void)state;
    static const char *const good[] = {NULL,           "static",         "dynamic",
                                       "int8w",        "int4w",          "int4w:64",
                                       "int4w:32,sym", "int4w:128,asym", "bf16"},
                             *const bad[] = {"",        "int8",           "int8w:32", "int4w:33",
                                             "int4w:,", "int4w:32,asym,", "static:",  "bf16 "};
    static const char *const seen[] = {NULL, "minmax", "percentile", "percentile:99.5", "entropy"},
                             *const odd[] = {"",
                                             "max",
                                             "percentile:",
                                             "percentile:0",
                                             "percentile:101",
                                             "percentile:nan",
                                             "entropy:2"};
    diag d = {0};
    ptq_options o = {0};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(ptq_parse_method(&d, good[i], &o), CTSC_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(ptq_parse_method(&d, bad[i], &o), CTSC_USAGE);
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        assert_int_equal(ptq_parse_observer(&d, seen[i], &o.observer), CTSC_OK);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_int_equal(ptq_parse_observer(&d, odd[i], &o.observer), CTSC_USAGE);
    diag_clear(&d);
}

/* ---- without memory -------------------------------------------------------------------------- */

static const char network[] =
    "import torch\n"
    "from torch import nn\n"
    "class Net(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.conv, self.norm = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)\n"
    "        self.a, self.b = nn.Linear(16, 8), nn.Linear(16, 8)\n"
    "    def forward(self, x: torch.Tensor) -> torch.Tensor:\n"
    "        y = torch.relu_(self.norm(self.conv(x))).flatten(1)\n"
    "        return self.a(y) + self.b(y)\n";

/* The network is compiled while there is memory; then one request fails. A pass that has no memory
 * leaves what it would change, so that fewer layers are quantised, or none. */
static ctsc_status quantise_with(long requests, const char *method, ctsc_value *example) {
    ctsc_module *m = NULL;
    ctsc_quantize_report *r = NULL;
    ctsc_quantize_options o = {
        .size = sizeof o, .method = method, .observer = "entropy", .timed_calls = 1};
    ctsc_error *e = ctsc_error_new();
    ctsc_compile_options c = {.size = sizeof c};
    assert_int_equal(ctsc_module_compile_text("net.py", network, strlen(network), &c, &m, e),
                     CTSC_OK);
    count.fail_at = requests ? count.requests + requests : 0;
    ctsc_status s = ctsc_module_quantize(m, 1, &example, &o, &r, e);
    count.fail_at = 0;
    ctsc_quantize_report_free(r);
    ctsc_module_free(m);
    ctsc_error_free(e);
    return s;
}

static void test_no_memory(void **state) {
    (void)state;
    static const char *const methods[] = {"static", "int4w:32", "dynamic"};
    int64_t sizes[] = {2, 1, 4, 4};
    ctsc_value *x = NULL;
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 4, sizes, &x, NULL), CTSC_OK);
    for (int i = 0; i < 32; i++) ((float *)ctsc_tensor_data(x))[i] = (float)(i % 7) - 3;
    ctsc_value *example = ctsc_tuple_new(1, &x);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        ctsc_status s = quantise_with(0, methods[i], example);
        assert_int_equal(s, i == 1 ? CTSC_USAGE : CTSC_OK); /* rows of 16 have no groups of 32 */
        for (long k = 1; k < 4000; k += k < 60 ? 1 : 131) {
            ctsc_status now = quantise_with(k, methods[i], example);
            if (now != CTSC_OK && now != CTSC_LIMIT && now != CTSC_UNSUPPORTED && now != CTSC_USAGE)
                fail_msg("%s, %ld: %d", methods[i], k, now);
        }
    }
    ctsc_value_free(example);
    ctsc_value_free(x);
}

int main(void) {
    mem_set_hook(counting_hook, &count);
    registry_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_minmax),     cmocka_unit_test(test_nothing_to_observe),
        cmocka_unit_test(test_percentile), cmocka_unit_test(test_entropy),
        cmocka_unit_test(test_weights),    cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_options),    cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
