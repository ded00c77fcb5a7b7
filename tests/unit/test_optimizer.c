/* SPDX-License-Identifier: Apache-2.0 */
/* test_optimizer.c - optimisers and schedules step by step against PyTorch's numbers, their state,
 * clipping, batches, random numbers. */
#include "support.h"

#include <math.h>

enum { STEPS = 8, EPOCHS = 12 };
typedef struct optimizer_case {
    const char *name;
    ctsc_setting settings[8];
    double rows[STEPS][3];
} optimizer_case;
typedef struct lbfgs_case { ctsc_setting settings[8]; double rows[3][3]; } lbfgs_case;
typedef struct schedule_case {
    const char *name;
    ctsc_setting settings[8];
    double lr[EPOCHS], momentum;
} schedule_case;
#include "optimizer_cases.h"

static size_t count(const ctsc_setting *s) {
    size_t n = 0;
    while (n < 8 && s[n].name) n++;
    return n;
}

static ctsc_value *parameter(ctsc_dtype dt, int64_t n) {
    ctsc_value *t = NULL;
    assert_int_equal(ctsc_tensor_new(dt, 1, &n, &t, NULL), CTSC_OK);
    assert_int_equal(ctsc_value_set_requires_grad(t, true, NULL), CTSC_OK);
    return t;
}

static void put(ctsc_value *t, int64_t i, double x) {
    if (ctsc_tensor_dtype(t) == CTSC_FLOAT32) ((float *)ctsc_tensor_data(t))[i] = (float)x;
    else ((double *)ctsc_tensor_data(t))[i] = x;
}
static double get(const ctsc_value *t, int64_t i) {
    return ctsc_tensor_dtype(t) == CTSC_FLOAT32 ? ((float *)ctsc_tensor_data(t))[i]
                                                : ((double *)ctsc_tensor_data(t))[i];
}

/* The cases' gradient; parameters are repeats of three elements. */
static void give_gradient(ctsc_value *p, int step) {
    int64_t n = ctsc_tensor_sizes(p)[0];
    ctsc_value *g = NULL;
    assert_int_equal(ctsc_tensor_new(ctsc_tensor_dtype(p), 1, &n, &g, NULL), CTSC_OK);
    for (int64_t i = 0; i < n; i++) put(g, i, sin(get(p, i) + step + (double)(i % 3)));
    assert_int_equal(ctsc_value_set_grad(p, g, NULL), CTSC_OK);
    ctsc_value_free(g);
}

static ctsc_value *start(ctsc_dtype dt, int64_t n) {
    static const double first[] = {0.5, -1, 2};
    ctsc_value *p = parameter(dt, n);
    for (int64_t i = 0; i < n; i++) put(p, i, first[i % 3]);
    return p;
}

static ctsc_optimizer *optimizer_of(ctsc_value *p, const char *name, const ctsc_setting *settings) {
    ctsc_value *list = ctsc_list_new(1, &p);
    ctsc_optimizer *o = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_optimizer_new(name, list, count(settings), settings, &o, e) != CTSC_OK)
        fail_msg("%s: %s", name, ctsc_error_message(e));
    ctsc_error_free(e);
    ctsc_value_free(list);
    return o;
}

static void check_row(const optimizer_case *c, int step, const ctsc_value *p, double tolerance) {
    for (int64_t i = 0; i < ctsc_tensor_sizes(p)[0]; i++) {
        double want = c->rows[step][i % 3], got = get(p, i);
        if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
            fail_msg("case %d, %s, step %d: %.17g, not %.17g", (int)(c - optimizer_cases), c->name,
                     step, got, want);
    }
}

static void run_case(const optimizer_case *c, ctsc_dtype dt, int64_t n, double tolerance) {
    ctsc_value *p = start(dt, n);
    ctsc_optimizer *o = optimizer_of(p, c->name, c->settings);
    for (int t = 0; t < STEPS; t++) {
        give_gradient(p, t);
        assert_int_equal(ctsc_optimizer_step(o, NULL), CTSC_OK);
        check_row(c, t, p, tolerance);
    }
    ctsc_optimizer_free(o);
    ctsc_value_free(p);
}

static void test_steps(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof optimizer_cases / sizeof *optimizer_cases; i++) {
        /* some numbers are float32 tensors in PyTorch */
        run_case(&optimizer_cases[i], CTSC_FLOAT64, 3, 1e-6);
        run_case(&optimizer_cases[i], CTSC_FLOAT32, 3,
                 strcmp(optimizer_cases[i].name, "rprop") ? 1e-4 : 1e-3);
        /* several pieces and blocks */
        run_case(&optimizer_cases[i], CTSC_FLOAT64, 3 * 70001, 1e-6);
    }
}

/* State that is saved after four steps and loaded into another optimiser goes on
 * to the last bit. */
static void test_state(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof optimizer_cases / sizeof *optimizer_cases; i++) {
        const optimizer_case *c = &optimizer_cases[i];
        ctsc_value *p = start(CTSC_FLOAT64, 3), *q = start(CTSC_FLOAT64, 3), *saved = NULL;
        ctsc_optimizer *o = optimizer_of(p, c->name, c->settings),
                       *other = optimizer_of(q, c->name, (ctsc_setting[8]){{0}});
        for (int t = 0; t < STEPS; t++) {
            if (t == 4) {
                assert_int_equal(ctsc_optimizer_state(o, &saved, NULL), CTSC_OK);
                assert_int_equal(ctsc_optimizer_load_state(other, saved, NULL), CTSC_OK);
                ctsc_value_free(saved);
                memcpy(ctsc_tensor_data(q), ctsc_tensor_data(p), 24);
            }
            give_gradient(p, t);
            give_gradient(q, t);
            assert_int_equal(ctsc_optimizer_step(o, NULL), CTSC_OK);
            if (t >= 4) assert_int_equal(ctsc_optimizer_step(other, NULL), CTSC_OK);
        }
        assert_memory_equal(ctsc_tensor_data(p), ctsc_tensor_data(q), 24);
        ctsc_optimizer_free(o);
        ctsc_optimizer_free(other);
        ctsc_value_free(p);
        ctsc_value_free(q);
    }
}

typedef struct rosenbrock { ctsc_value *p; int calls; } rosenbrock;

static ctsc_status rosenbrock_closure(void *ctx, double *loss, ctsc_error *e) {
    rosenbrock *r = ctx;
    double x = get(r->p, 0), y = get(r->p, 1);
    int64_t n = 2;
    ctsc_value *g = NULL;
    r->calls++;
    if (ctsc_tensor_new(CTSC_FLOAT64, 1, &n, &g, e) != CTSC_OK) return CTSC_LIMIT;
    put(g, 0, -400 * x * (y - x * x) - 2 * (1 - x));
    put(g, 1, 200 * (y - x * x));
    *loss = 100 * (y - x * x) * (y - x * x) + (1 - x) * (1 - x);
    ctsc_status s = ctsc_value_set_grad(r->p, g, e);
    ctsc_value_free(g);
    return s;
}

static void test_lbfgs(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof lbfgs_cases / sizeof *lbfgs_cases; i++) {
        rosenbrock r = {start(CTSC_FLOAT64, 2), 0};
        put(r.p, 0, -1.2);
        put(r.p, 1, 1);
        ctsc_optimizer *o = optimizer_of(r.p, "lbfgs", lbfgs_cases[i].settings);
        assert_int_equal(ctsc_optimizer_step(o, NULL), CTSC_USAGE);
        for (int t = 0; t < 3; t++) {
            double loss;
            ctsc_value *saved = NULL;
            assert_int_equal(ctsc_optimizer_step_closure(o, rosenbrock_closure, &r, &loss, NULL),
                             CTSC_OK);
            const double *want = lbfgs_cases[i].rows[t], got[3] = {get(r.p, 0), get(r.p, 1), loss};
            for (int k = 0; k < 3; k++)
                if (!(fabs(got[k] - want[k]) <= 1e-4 * (1e-6 + fabs(want[k]))) &&
                    fabs(got[k] - want[k]) > 1e-9)
                    fail_msg("lbfgs case %d, step %d: %.17g, not %.17g", (int)i, t, got[k],
                             want[k]);
            assert_int_equal(ctsc_optimizer_state(o, &saved, NULL), CTSC_OK);
            ctsc_optimizer_free(o); /* the next step is another one's, with the state of this */
            o = optimizer_of(r.p, "lbfgs", (ctsc_setting[8]){{0}});
            assert_int_equal(ctsc_optimizer_load_state(o, saved, NULL), CTSC_OK);
            ctsc_value_free(saved);
        }
        ctsc_optimizer_free(o);
        ctsc_value_free(r.p);
    }
}

static double by_epoch(void *ctx, size_t group, int64_t epoch) {
    (void)ctx, (void)group;
    return pow(0.95, (double)epoch);
}

static ctsc_scheduler *schedule_of(const schedule_case *c, ctsc_optimizer *o) {
    ctsc_scheduler *s = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_scheduler_new(c->name, o, count(c->settings), c->settings, by_epoch, NULL, &s, e) !=
        CTSC_OK)
        fail_msg("%s: %s", c->name, ctsc_error_message(e));
    ctsc_error_free(e);
    return s;
}

static void test_schedules(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof schedule_cases / sizeof *schedule_cases; i++) {
        const schedule_case *c = &schedule_cases[i];
        ctsc_value *p = start(CTSC_FLOAT64, 3);
        ctsc_optimizer *o = optimizer_of(p, "sgd",
                                         (ctsc_setting[8]){{"lr", 0.1}, {"momentum", 0.9}});
        ctsc_scheduler *s = schedule_of(c, o);
        for (int e = 0; e < EPOCHS; e++) {
            ctsc_value *saved = NULL;
            double got = ctsc_optimizer_get(o, 0, "lr");
            if (!(fabs(got - c->lr[e]) <= 1e-14))
                fail_msg("%s, epoch %d: %.17g, not %.17g", c->name, e, got, c->lr[e]);
            if (e == 5) { /* goes on from its state */
                assert_int_equal(ctsc_scheduler_state(s, &saved, NULL), CTSC_OK);
                ctsc_scheduler_free(s);
                s = schedule_of(c, o);
                assert_int_equal(ctsc_scheduler_load_state(s, saved, NULL), CTSC_OK);
                assert_int_equal(ctsc_optimizer_set(o, 0, "lr", got, NULL), CTSC_OK);
                ctsc_value_free(saved);
            }
            if (e + 1 < EPOCHS)
                assert_int_equal(ctsc_scheduler_step(s, e > 2 ? 1 : 3 - e, NULL), CTSC_OK);
        }
        assert_true(fabs(ctsc_optimizer_get(o, 0, "momentum") - c->momentum) < 1e-14);
        ctsc_scheduler_free(s);
        ctsc_optimizer_free(o);
        ctsc_value_free(p);
    }
}

static void test_groups_and_errors(void **state) {
    (void)state;
    ctsc_error *e = ctsc_error_new();
    ctsc_value *p = start(CTSC_FLOAT64, 3), *q = start(CTSC_FLOAT64, 3),
               *list = ctsc_list_new(1, &q), *none = ctsc_list_new(0, NULL);
    ctsc_optimizer *o = optimizer_of(p, "sgd", (ctsc_setting[8]){{"lr", 1}}), *bad = NULL;
    assert_int_equal(ctsc_optimizer_add_group(o, list, 1, &(ctsc_setting){"lr", 0.5}, e), CTSC_OK);
    assert_int_equal(ctsc_optimizer_add_group(o, list, 0, NULL, e), CTSC_USAGE);
    assert_string_equal(ctsc_error_message(e),
                        "some parameters appear in more than one parameter group");
    give_gradient(p, 0);
    give_gradient(q, 0);
    assert_int_equal(ctsc_optimizer_step(o, e), CTSC_OK);
    assert_true(fabs((0.5 - get(p, 0)) - 2 * (0.5 - get(q, 0))) < 1e-15);
    ctsc_optimizer_zero_grad(o);
    assert_null(ctsc_value_grad(p));
    assert_int_equal(ctsc_optimizer_new("adamm", list, 0, NULL, &bad, e), CTSC_USAGE);
    assert_non_null(strstr(ctsc_error_message(e), "there is no optimiser 'adamm'"));
    assert_int_equal(ctsc_optimizer_new("adam", list, 1, &(ctsc_setting){"momentum", 1}, &bad, e),
                     CTSC_USAGE);
    assert_int_equal(ctsc_optimizer_new("adam", list, 1, &(ctsc_setting){"beta1", 1}, &bad, e),
                     CTSC_USAGE);
    assert_int_equal(ctsc_optimizer_new("sgd", list, 1, &(ctsc_setting){"nesterov", 1}, &bad, e),
                     CTSC_USAGE);
    assert_string_equal(ctsc_error_message(e),
                        "Nesterov momentum requires a momentum and zero dampening");
    ctsc_value *one = ctsc_int_new(1), *numbers = ctsc_list_new(1, &one);
    assert_int_equal(ctsc_optimizer_new("adam", numbers, 0, NULL, &bad, e), CTSC_USAGE);
    ctsc_value_free(numbers);
    ctsc_value_free(one);
    assert_int_equal(ctsc_optimizer_new("adam", none, 0, NULL, &bad, e), CTSC_OK);
    assert_int_equal(ctsc_optimizer_step(bad, e), CTSC_OK); /* of an empty group */
    ctsc_optimizer_free(bad);
    assert_int_equal(ctsc_value_set_grad(p, none, e), CTSC_USAGE);
    ctsc_value_free(none);
    ctsc_value_free(list);
    ctsc_optimizer_free(o);
    ctsc_value_free(p);
    ctsc_value_free(q);
    ctsc_error_free(e);
}

static void test_clip(void **state) {
    (void)state;
    ctsc_value *p = parameter(CTSC_FLOAT32, 2), *g = parameter(CTSC_FLOAT32, 2),
               *list = ctsc_list_new(1, &p);
    double norm;
    put(g, 0, 3);
    put(g, 1, -4);
    assert_int_equal(ctsc_value_set_grad(p, g, NULL), CTSC_OK);
    assert_int_equal(ctsc_clip_grad_norm(list, 1, INFINITY, &norm, NULL), CTSC_OK);
    assert_true(norm == 4 && fabs(get(g, 0) - 0.75) < 1e-6);
    put(g, 0, 3);
    put(g, 1, -4);
    assert_int_equal(ctsc_clip_grad_norm(list, 1, 2, &norm, NULL), CTSC_OK);
    assert_true(norm == 5 && fabs(get(g, 0) - 0.5999999) < 1e-7);
    assert_int_equal(ctsc_clip_grad_value(list, 0.7, NULL), CTSC_OK);
    assert_true(get(g, 1) == (double)-0.7f && fabs(get(g, 0) - 0.6) < 1e-6);
    ctsc_value_free(list);
    ctsc_value_free(p);
    ctsc_value_free(g);
}

/* list(DataLoader(range(10), 4, shuffle=True,
 * generator=torch.Generator().manual_seed(0))), two epochs. */
static void test_loader(void **state) {
    (void)state;
    static const int want[2][10] = {{3, 7, 5, 2, 0, 8, 1, 6, 9, 4}, {1, 3, 2, 7, 5, 9, 0, 6, 4, 8}};
    int64_t n = 10, rest;
    ctsc_value *x = NULL, *batch, *item;
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 1, &n, &x, NULL), CTSC_OK);
    for (int i = 0; i < 10; i++) put(x, i, i);
    ctsc_value *data = ctsc_tuple_new(1, &x);
    for (int thread = 0; thread < 2; thread++) {
        ctsc_loader *l = NULL;
        ctsc_loader_options o = {
            .size = sizeof o, .batch = 4, .shuffle = true, .no_prefetch = !thread};
        assert_int_equal(ctsc_loader_new(data, &o, &l, NULL), CTSC_OK);
        assert_int_equal(ctsc_loader_batches(l), 3);
        for (int k = 3; k-- > 0;) { /* epoch 0, then 1, then 0 again from its second batch on */
            int epoch = k == 1, first = k == 0 ? 4 : 0, at = first;
            assert_int_equal(ctsc_loader_begin(l, epoch, first / 4, NULL), CTSC_OK);
            while (ctsc_loader_next(l, &batch, NULL) == CTSC_OK && batch) {
                item = ctsc_value_item(batch, 0);
                rest = ctsc_tensor_sizes(item)[0];
                for (int64_t i = 0; i < rest; i++)
                    assert_int_equal((int)get(item, i), want[epoch][at++]);
                ctsc_value_free(item);
                ctsc_value_free(batch);
            }
            assert_int_equal(at, 10);
        }
        assert_int_equal(ctsc_loader_begin(l, 0, 0, NULL), CTSC_OK);
        ctsc_loader_free(l); /* with a batch in the making */
    }
    ctsc_value_free(data);
    ctsc_value_free(x);
}

static void test_random_state(void **state) {
    (void)state;
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *kept = NULL, *again = NULL;
    char *why = NULL;
    ctsc_scope_seed(s, 5);
    ctsc_value *ten = ctsc_int(s, 10), *one = ctsc_int(s, 1);
    /* leaves half a pair of normal numbers */
    ctsc_op(s, "aten::randn", 1, ctsc_ints(s, 1, (int64_t[]){3}));
    assert_int_equal(ctsc_scope_random_state(s, &kept, NULL), CTSC_OK);
    ctsc_value *a = ctsc_op(s, "aten::randn", 1, ctsc_ints(s, 1, (int64_t[]){3})),
               *b = ctsc_op(s, "aten::randperm", 1, ten);
    assert_int_equal(ctsc_scope_set_random_state(s, kept, NULL), CTSC_OK);
    ctsc_value *c = ctsc_op(s, "aten::randn", 1, ctsc_ints(s, 1, (int64_t[]){3})),
               *f = ctsc_op(s, "aten::randperm", 1, ten);
    assert_int_equal(ctsc_scope_status(s), CTSC_OK);
    assert_true(ctsc_value_close(a, c, 0, 0, &why) && ctsc_value_close(b, f, 0, 0, &why));
    assert_int_equal(ctsc_scope_set_random_state(s, one, NULL), CTSC_USAGE);
    ctsc_value_free(kept);
    ctsc_value_free(again);
    ctsc_scope_free(s);
}

/* Without memory: an error and no leak. */
static ctsc_status cycle(void *ctx) {
    (void)ctx;
    ctsc_error *e = ctsc_error_new();
    int64_t n = 3;
    ctsc_value *p = NULL, *list = NULL, *g = NULL, *saved = NULL;
    ctsc_optimizer *o = NULL;
    ctsc_scheduler *s = NULL;
    ctsc_status st = ctsc_tensor_new(CTSC_FLOAT32, 1, &n, &p, e);
    if (st == CTSC_OK) st = ctsc_tensor_new(CTSC_FLOAT32, 1, &n, &g, e);
    if (st == CTSC_OK) st = ctsc_value_set_grad(p, g, e);
    if (st == CTSC_OK && !(list = ctsc_list_new(1, &p))) st = CTSC_LIMIT;
    if (st == CTSC_OK) st = ctsc_optimizer_new("adam", list, 0, NULL, &o, e);
    if (st == CTSC_OK)
        st = ctsc_scheduler_new("exponential", o, 1, &(ctsc_setting){"gamma", 0.5}, NULL, NULL, &s,
                                e);
    if (st == CTSC_OK) st = ctsc_optimizer_step(o, e);
    if (st == CTSC_OK) st = ctsc_clip_grad_norm(list, 1, 2, NULL, e);
    if (st == CTSC_OK) st = ctsc_optimizer_state(o, &saved, e);
    if (st == CTSC_OK) st = ctsc_optimizer_load_state(o, saved, e);
    ctsc_value_free(saved);
    ctsc_scheduler_free(s);
    ctsc_optimizer_free(o);
    ctsc_value_free(list);
    ctsc_value_free(g);
    ctsc_value_free(p);
    ctsc_error_free(e);
    return st;
}

static void test_no_memory(void **state) {
    (void)state;
    counting c = {0};
    ctsc_set_allocator(counting_hook, &c);
    assert_int_equal(cycle(NULL), CTSC_OK);
    for (long k = 1; k < 80; k++)
        assert_true(support_fails_well(&c, "optimiser", k, false, cycle, NULL, ""));
    ctsc_set_allocator(NULL, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_memory),    cmocka_unit_test(test_steps),
        cmocka_unit_test(test_state),        cmocka_unit_test(test_lbfgs),
        cmocka_unit_test(test_schedules),    cmocka_unit_test(test_groups_and_errors),
        cmocka_unit_test(test_clip),         cmocka_unit_test(test_loader),
        cmocka_unit_test(test_random_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
