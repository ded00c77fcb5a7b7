/* SPDX-License-Identifier: Apache-2.0 */
/* test_grad_api.c - gradients from C: what is recorded and what is not, backward passes,
 * parameters, modes and state of modules. */
#include "support.h"

#include <math.h>

static const char net[] = "import torch\n"
                          "class Sub(torch.nn.Module):\n"
                          "    def __init__(self):\n"
                          "        super().__init__()\n"
                          "        self.register_buffer('seen', torch.zeros(1))\n"
                          "        self.drop = torch.nn.Dropout(0.5)\n"
                          "        self.fc = torch.nn.Linear(3, 2, bias=False)\n"
                          "    def forward(self, x):\n"
                          "        return self.drop(self.fc(x))\n"
                          "class Main(torch.nn.Module):\n"
                          "    def __init__(self):\n"
                          "        super().__init__()\n"
                          "        self.sub = Sub()\n"
                          "        self.scale = torch.nn.Parameter(torch.ones(2))\n"
                          "    def forward(self, x):\n"
                          "        return self.sub(x) * self.scale\n";

typedef struct world { ctsc_module *m; ctsc_scope *s; ctsc_error *e; ctsc_value *x; } world;

static world begin(void) {
    world w = {.s = ctsc_scope_new(), .e = ctsc_error_new()};
    ctsc_compile_options o = {.size = sizeof o, .seed = 3};
    int64_t sizes[2] = {4, 3};
    if (ctsc_module_compile_text("net.py", net, sizeof net - 1, &o, &w.m, w.e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(w.e));
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 2, sizes, &w.x, w.e), CTSC_OK);
    for (int i = 0; i < 12; i++) ((float *)ctsc_tensor_data(w.x))[i] = (float)i * 0.25f - 1;
    return w;
}

static void end(world *w) {
    ctsc_value_free(w->x);
    ctsc_scope_free(w->s);
    ctsc_module_free(w->m);
    ctsc_error_free(w->e);
}

static ctsc_value *forward(world *w) {
    ctsc_value *y = ctsc_run(w->s, w->m, "forward", 1, &w->x);
    if (!y) fail_msg("%s", ctsc_error_message(ctsc_scope_error(w->s)));
    return y;
}

static float at(const ctsc_value *t, int i) { return ((float *)ctsc_tensor_data(t))[i]; }

/* Nothing is recorded unless it is asked for. */
static void test_off(void **state) {
    (void)state;
    world w = begin();
    ctsc_value *y = ctsc_sum(w.s, forward(&w));
    assert_false(ctsc_value_requires_grad(y));
    assert_int_equal(ctsc_backward(y, NULL, 0, NULL, w.e), CTSC_FAILED);
    assert_string_equal(ctsc_error_message(w.e),
                        "element 0 of tensors does not require grad and does not have a grad_fn");
    end(&w);
}

static void test_module(void **state) {
    (void)state;
    world w = begin();
    ctsc_value *params = NULL, *g, *direct = NULL;
    assert_int_equal(ctsc_module_set_gradients(w.m, true, w.e), CTSC_OK);
    ctsc_scope_set_gradients(w.s, true);
    assert_int_equal(ctsc_module_parameters(w.m, &params, w.e), CTSC_OK);
    assert_int_equal(ctsc_value_len(params), 2);
    /* the module's own come first */
    ctsc_value *scale = ctsc_value_item(params, 0), *weight = ctsc_value_item(params, 1);
    assert_int_equal(ctsc_tensor_ndim(scale), 1);
    assert_true(ctsc_value_requires_grad(weight));
    ctsc_value *loss = ctsc_sum(w.s, forward(&w));
    assert_true(ctsc_value_requires_grad(loss));
    if (ctsc_backward(loss, NULL, 0, NULL, w.e) != CTSC_OK) fail_msg("%s", ctsc_error_message(w.e));
    g = ctsc_value_grad(weight);
    for (int i = 0; i < 6; i++) { /* the column's sum */
        double want = 0;
        for (int k = 0; k < 4; k++) want += at(w.x, k * 3 + i % 3);
        assert_true(fabs(at(g, i) - want) < 1e-5);
    }
    ctsc_value_free(g);
    assert_int_equal(ctsc_backward(loss, NULL, 0, NULL, w.e), CTSC_FAILED);
    assert_non_null(
        strstr(ctsc_error_message(w.e), "Trying to backward through the graph a second time"));
    ctsc_zero_grad(params);
    assert_null(ctsc_value_grad(weight));
    /* without a scope, and without gradients for a call */
    for (int i = 0; i < 5; i++) { /* calls that repeat keep their history */
        assert_int_equal(ctsc_module_run(w.m, "forward", 1, &w.x, NULL, &direct, w.e), CTSC_OK);
        assert_true(ctsc_value_requires_grad(direct));
        ctsc_value_free(direct);
    }
    ctsc_run_options o = {.size = sizeof o, .no_gradients = true};
    assert_int_equal(ctsc_module_run(w.m, "forward", 1, &w.x, &o, &direct, w.e), CTSC_OK);
    assert_false(ctsc_value_requires_grad(direct));
    ctsc_value_free(direct);
    ctsc_scope_set_gradients(w.s, false);
    assert_false(ctsc_value_requires_grad(forward(&w)));
    ctsc_value_free(scale);
    ctsc_value_free(weight);
    ctsc_value_free(params);
    end(&w);
}

/* What was a constant of optimised code is what the optimiser has made of it, during
 * training and after. */
static void test_weights_change(void **state) {
    (void)state;
    world w = begin();
    ctsc_value *params = NULL;
    for (int i = 0; i < 3; i++) forward(&w); /* native code, packed weights */
    float before = at(forward(&w), 0);
    assert_int_equal(ctsc_module_set_gradients(w.m, true, w.e), CTSC_OK);
    assert_int_equal(ctsc_module_parameters(w.m, &params, w.e), CTSC_OK);
    ctsc_scope_set_gradients(w.s, true);
    ctsc_optimizer *o = NULL;
    assert_int_equal(ctsc_optimizer_new("sgd", params, 1, &(ctsc_setting){"lr", 1}, &o, w.e),
                     CTSC_OK);
    assert_int_equal(ctsc_backward(ctsc_sum(w.s, forward(&w)), NULL, 0, NULL, w.e), CTSC_OK);
    assert_int_equal(ctsc_optimizer_step(o, w.e), CTSC_OK);
    float during = at(forward(&w), 0);
    assert_true(fabsf(during - before) > 1e-3f);
    assert_int_equal(ctsc_module_set_gradients(w.m, false, w.e), CTSC_OK);
    for (int i = 0; i < 3; i++) assert_true(fabsf(at(forward(&w), 0) - during) < 1e-5f);
    ctsc_optimizer_free(o);
    ctsc_value_free(params);
    end(&w);
}

static void test_modes(void **state) {
    (void)state;
    world w = begin();
    int64_t zeros = 0;
    forward(&w);
    for (int i = 0; i < 8; i++) assert_true(at(forward(&w), i) != 0);
    assert_int_equal(ctsc_module_set_gradients(w.m, true, w.e), CTSC_OK);
    ctsc_module_train(w.m);
    ctsc_scope_seed(w.s, 1);
    ctsc_value *a = forward(&w), *b = forward(&w); /* random numbers go on */
    for (int i = 0; i < 8; i++) zeros += at(a, i) == 0;
    assert_true(zeros > 0);
    assert_false(ctsc_value_close(a, b, 0, 0, NULL));
    ctsc_module_eval(w.m);
    for (int i = 0; i < 8; i++) assert_true(at(forward(&w), i) != 0);
    end(&w);
}

static void test_state(void **state) {
    (void)state;
    world w = begin(), v = begin();
    ctsc_value *have = NULL, *named = NULL, *none = ctsc_dict_new(0, NULL, NULL);
    assert_int_equal(ctsc_module_state(w.m, &have, w.e), CTSC_OK);
    assert_int_equal(ctsc_value_len(have), 3);
    assert_int_equal(ctsc_module_named_parameters(w.m, &named, w.e), CTSC_OK);
    assert_int_equal(ctsc_value_len(named), 2);
    ctsc_value *weight = ctsc_value_get(named, "sub.fc.weight");
    assert_non_null(weight);
    ((float *)ctsc_tensor_data(weight))[0] = 42;
    forward(&v);
    assert_int_equal(ctsc_module_load_state(v.m, have, v.e), CTSC_OK);
    assert_true(ctsc_value_close(forward(&v), forward(&w), 0, 0, NULL));
    assert_int_equal(ctsc_module_load_state(v.m, none, v.e), CTSC_FAILED);
    assert_string_equal(ctsc_error_message(v.e), "the state has no tensor \"scale\"");
    ctsc_value_free(weight);
    ctsc_value_free(named);
    ctsc_value_free(have);
    ctsc_value_free(none);
    end(&w);
    end(&v);
}

static void test_operators(void **state) {
    (void)state;
    ctsc_scope *s = ctsc_scope_new();
    ctsc_error *e = ctsc_error_new();
    ctsc_value *x = ctsc_zeros(s, CTSC_FLOAT32, 1, (int64_t[]){3}),
               *unused = ctsc_zeros(s, CTSC_FLOAT32, 0, NULL);
    ctsc_value *ints = ctsc_zeros(s, CTSC_INT64, 1, (int64_t[]){3}), *grads[2] = {NULL, NULL};
    for (int i = 0; i < 3; i++) ((float *)ctsc_tensor_data(x))[i] = (float)i + 1;
    assert_int_equal(ctsc_value_set_requires_grad(ints, true, e), CTSC_FAILED);
    assert_string_equal(ctsc_error_message(e),
                        "only Tensors of floating point dtype can require gradients");
    assert_int_equal(ctsc_value_set_requires_grad(x, true, e), CTSC_OK);
    assert_int_equal(ctsc_value_set_requires_grad(unused, true, e), CTSC_OK);
    assert_false(ctsc_value_requires_grad(ctsc_mul(s, x, x)));
    ctsc_scope_set_gradients(s, true);
    ctsc_value *cube = ctsc_mul(s, ctsc_mul(s, x, x), x), *y = ctsc_sum(s, cube),
               *inputs[2] = {x, unused};
    assert_int_equal(ctsc_grad(1, &y, NULL, 2, inputs, CTSC_CREATE_GRAPH, NULL, grads, e),
                     CTSC_FAILED);
    assert_non_null(strstr(ctsc_error_message(e), "appears to not have been used in the graph"));
    assert_int_equal(
        ctsc_grad(1, &y, NULL, 2, inputs, CTSC_CREATE_GRAPH | CTSC_ALLOW_UNUSED, NULL, grads, e),
        CTSC_OK);
    assert_null(grads[1]);
    ctsc_take(s, grads[0]);
    ctsc_value *again = ctsc_sum(s, grads[0]), *second = NULL;
    assert_int_equal(ctsc_grad(1, &again, NULL, 1, &x, 0, NULL, &second, e), CTSC_OK);
    for (int i = 0; i < 3; i++)
        assert_true(at(grads[0], i) == 3.f * (float)(i + 1) * (float)(i + 1) &&
                    at(second, i) == 6.f * (float)(i + 1));
    ctsc_value_free(second);
    assert_int_equal(ctsc_backward(cube, NULL, 0, NULL, e), CTSC_FAILED);
    assert_string_equal(ctsc_error_message(e),
                        "grad can be implicitly created only for scalar outputs");
    assert_null(ctsc_add_(s, x, ctsc_float(s, 1)));
    assert_non_null(
        strstr(ctsc_error_message(ctsc_scope_error(s)),
               "a leaf Variable that requires grad is being used in an in-place operation."));
    ctsc_scope_free(s);
    ctsc_error_free(e);
}

/* A step without memory at some point: an error, and nothing is lost. */
static ctsc_status cycle(void *ctx) {
    (void)ctx;
    int64_t n = 3;
    ctsc_error *e = ctsc_error_new();
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *x = NULL, *g = NULL;
    ctsc_status st = s ? ctsc_tensor_new(CTSC_FLOAT32, 1, &n, &x, e) : CTSC_LIMIT;
    ctsc_scope_set_gradients(s, true);
    if (st == CTSC_OK) st = ctsc_value_set_requires_grad(x, true, e);
    if (st == CTSC_OK) {
        ctsc_value *y = ctsc_sum(s, ctsc_mul(s, x, ctsc_exp(s, x)));
        st = y ? ctsc_backward(y, NULL, CTSC_RETAIN_GRAPH, NULL, e) : ctsc_scope_status(s);
        if (st == CTSC_OK) st = ctsc_grad(1, &y, NULL, 1, &x, 0, NULL, &g, e);
    }
    ctsc_value_free(g);
    ctsc_value_free(x);
    ctsc_scope_free(s);
    ctsc_error_free(e);
    return st;
}

static void test_no_memory(void **state) {
    (void)state;
    static counting c;
    ctsc_set_allocator(counting_hook, &c); /* stays: objects that the library made once are in it */
    assert_int_equal(cycle(NULL), CTSC_OK);
    c.requests = 0;
    assert_int_equal(cycle(NULL), CTSC_OK);
    long all = c.requests;
    assert_true(all > 20);
    for (long k = 1; k <= all; k++)
        assert_true(support_fails_well(&c, "a step", k, false, cycle, NULL, ""));
}

/* What tensors say of their place in a graph. */
static void test_history(void **state) {
    (void)state;
    world w = begin();
    ctsc_scope_set_gradients(w.s, true);
    assert_true(ctsc_value_is_leaf(w.x));
    assert_null(ctsc_value_grad_fn(w.x));
    assert_int_equal(ctsc_value_set_requires_grad(w.x, true, w.e), CTSC_OK);
    ctsc_value *y = ctsc_sum(w.s, w.x);
    assert_false(ctsc_value_is_leaf(y));
    char *name = ctsc_value_grad_fn(y);
    assert_string_equal(name, "SumBackward0");
    ctsc_string_free(name);
    assert_non_null(ctsc_op(w.s, "aten::detach_", 1, y));
    assert_true(ctsc_value_is_leaf(y));
    assert_false(ctsc_value_requires_grad(y));
    assert_true(ctsc_value_is_leaf(NULL));
    assert_null(ctsc_value_grad_fn(NULL));
    end(&w);
}

/* A leaf gets other elements, of another shape and dtype, and stays what it is. */
static void test_set_data(void **state) {
    (void)state;
    world w = begin();
    ctsc_value *data, *whole, *g;
    int64_t sizes[1] = {2};
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT64, 1, sizes, &data, w.e), CTSC_OK);
    assert_int_equal(ctsc_tensor_new(CTSC_INT64, 1, sizes, &whole, w.e), CTSC_OK);
    assert_int_equal(ctsc_value_set_requires_grad(w.x, true, w.e), CTSC_OK);
    ctsc_scope_set_gradients(w.s, true);
    assert_non_null(ctsc_op(w.s, "aten::set_data", 2, w.x, data));
    assert_int_equal(ctsc_tensor_dtype(w.x), CTSC_FLOAT64);
    assert_ptr_equal(ctsc_tensor_data(w.x), ctsc_tensor_data(data));
    assert_true(ctsc_value_requires_grad(w.x) && ctsc_value_is_leaf(w.x));
    assert_int_equal(ctsc_backward(ctsc_sum(w.s, w.x), NULL, 0, NULL, w.e), CTSC_OK);
    assert_non_null(g = ctsc_value_grad(w.x));
    assert_int_equal(ctsc_tensor_sizes(g)[0], 2);
    assert_null(ctsc_op(w.s, "aten::set_data", 2, w.x, whole));
    assert_non_null(strstr(ctsc_error_message(ctsc_scope_error(w.s)), "floating point"));
    ctsc_value_free(g);
    ctsc_value_free(data);
    ctsc_value_free(whole);
    end(&w);
}

/* Random numbers of calls that are given a scope go on; a part records where its whole does. */
static void test_random_of_a_scope(void **state) {
    (void)state;
    world w = begin();
    ctsc_value *a, *b, *again;
    ctsc_module *part;
    assert_int_equal(ctsc_module_set_gradients(w.m, true, w.e), CTSC_OK);
    ctsc_module_train(w.m);
    ctsc_run_options o = {.size = sizeof o, .random = w.s};
    ctsc_scope_seed(w.s, 5);
    assert_int_equal(ctsc_module_run(w.m, "forward", 1, &w.x, &o, &a, w.e), CTSC_OK);
    assert_int_equal(ctsc_module_run(w.m, "forward", 1, &w.x, &o, &b, w.e), CTSC_OK);
    ctsc_scope_seed(w.s, 5);
    assert_int_equal(ctsc_module_run(w.m, "forward", 1, &w.x, &o, &again, w.e), CTSC_OK);
    assert_true(ctsc_value_close(a, again, 0, 0, NULL));
    assert_false(ctsc_value_close(a, b, 0, 0, NULL));
    ctsc_value_free(again);
    assert_int_equal(ctsc_module_submodule(w.m, "sub", &part, w.e), CTSC_OK);
    assert_int_equal(ctsc_module_run(part, "forward", 1, &w.x, NULL, &again, w.e), CTSC_OK);
    assert_true(ctsc_value_requires_grad(again));
    ctsc_module_free(part);
    ctsc_value_free(a);
    ctsc_value_free(b);
    ctsc_value_free(again);
    end(&w);
}

/* ---- functions with gradients of their own, and hooks ---------------------------------------- */

typedef struct seen { int calls, freed; float first; bool fails; } seen;

static void seen_free(void *ctx) { ((seen *)ctx)->freed++; }

/* y = x * x: 2 x g */
static ctsc_status square_gradient(void *ctx, const ctsc_gradient_call *call, ctsc_value **out,
                                   ctsc_error *e) {
    seen *s = ctx;
    s->calls++;
    if (s->fails) return ctsc_error_set(e, CTSC_FAILED, "no gradient today"), CTSC_FAILED;
    assert_int_equal(call->ngrads, 1);
    assert_int_equal(call->nsaved, 1);
    assert_int_equal(call->ninputs, 1);
    ctsc_scope *scope = ctsc_scope_new();
    ctsc_scope_set_gradients(scope, call->create_graph);
    ctsc_value *twice = ctsc_mul(scope, call->saved[0],
                                 ctsc_add(scope, call->grads[0], call->grads[0]));
    out[0] = ctsc_value_copy(twice);
    ctsc_scope_free(scope);
    return out[0] ? CTSC_OK : CTSC_LIMIT;
}

static ctsc_value *square(world *w, ctsc_value *x, seen *s) {
    ctsc_scope_set_gradients(w->s, false);
    ctsc_value *y = ctsc_mul(w->s, x, x);
    ctsc_scope_set_gradients(w->s, true);
    ctsc_gradient g = {.size = sizeof g,
                       .name = "SquareBackward",
                       .fn = square_gradient,
                       .ctx = s,
                       .free = seen_free,
                       .noutputs = 1,
                       .nsaved = 1,
                       .outputs = &y,
                       .saved = &x};
    assert_int_equal(ctsc_record(&g, 1, &x, w->e), CTSC_OK);
    return y;
}

static void test_own_gradients(void **state) {
    (void)state;
    world w = begin();
    seen s = {0};
    ctsc_value *g = NULL, *first = NULL, *second = NULL;
    assert_int_equal(ctsc_value_set_requires_grad(w.x, true, w.e), CTSC_OK);
    ctsc_value *y = square(&w, w.x, &s);
    char *name = ctsc_value_grad_fn(y);
    assert_string_equal(name, "SquareBackward");
    ctsc_string_free(name);
    ctsc_value *sum = ctsc_sum(w.s, y);
    assert_int_equal(ctsc_grad(1, &sum, NULL, 1, &w.x, CTSC_CREATE_GRAPH, NULL, &first, w.e),
                     CTSC_OK);
    assert_float_equal(at(first, 0), 2 * at(w.x, 0), 1e-6);
    ctsc_value *again = ctsc_sum(w.s, first);
    assert_int_equal(ctsc_grad(1, &again, NULL, 1, &w.x, 0, NULL, &second, w.e), CTSC_OK);
    assert_float_equal(at(second, 5), 2, 1e-6);
    ctsc_value_free(first);
    ctsc_value_free(second);
    s.fails = true;
    assert_int_equal(ctsc_backward(ctsc_sum(w.s, square(&w, w.x, &s)), NULL, 0, NULL, w.e),
                     CTSC_FAILED);
    assert_non_null(strstr(ctsc_error_message(w.e), "no gradient today"));
    ctsc_scope_clear(w.s);
    assert_int_equal(s.freed, 2);
    assert_null(g = ctsc_value_grad(w.x));
    /* what it wrote must not be a leaf; ctx is freed also then */
    ctsc_gradient own = {.size = sizeof own,
                         .fn = square_gradient,
                         .ctx = &s,
                         .free = seen_free,
                         .noutputs = 1,
                         .outputs = &w.x};
    assert_int_equal(ctsc_record(&own, 1, &w.x, w.e), CTSC_FAILED);
    assert_int_equal(s.freed, 3);
    own.fn = NULL;
    assert_int_equal(ctsc_record(&own, 1, &w.x, w.e), CTSC_USAGE);
    assert_int_equal(s.freed, 4);
    end(&w);
}

static ctsc_status hook(void *ctx, const ctsc_value *grad, unsigned flags, ctsc_value **out,
                        ctsc_error *e) {
    seen *s = ctx;
    (void)flags;
    s->calls++;
    s->first = at(grad, 0);
    if (s->fails) return ctsc_error_set(e, CTSC_FAILED, "no hook today"), CTSC_FAILED;
    return ctsc_tensor_new(CTSC_FLOAT32, ctsc_tensor_ndim(grad), ctsc_tensor_sizes(grad), out, e);
}

static void test_hooks(void **state) {
    (void)state;
    world w = begin();
    seen s = {0}, leaf = {0};
    ctsc_hook *h = NULL;
    assert_int_equal(ctsc_value_add_hook(w.x, 0, hook, &s, seen_free, NULL, w.e), CTSC_FAILED);
    assert_int_equal(s.freed, 1);
    assert_int_equal(ctsc_value_set_requires_grad(w.x, true, w.e), CTSC_OK);
    ctsc_scope_set_gradients(w.s, true);
    ctsc_value *y = ctsc_mul(w.s, w.x, w.x), *sum = ctsc_sum(w.s, y);
    assert_int_equal(ctsc_value_add_hook(y, CTSC_HOOK_AFTER, hook, &s, NULL, NULL, w.e),
                     CTSC_FAILED);
    assert_int_equal(ctsc_value_add_hook(y, 0, hook, &s, seen_free, &h, w.e), CTSC_OK);
    assert_int_equal(ctsc_value_add_hook(w.x, CTSC_HOOK_AFTER, hook, &leaf, NULL, NULL, w.e),
                     CTSC_OK);
    assert_int_equal(ctsc_backward(sum, NULL, CTSC_RETAIN_GRAPH, NULL, w.e), CTSC_OK);
    assert_int_equal(s.calls, 1);
    assert_float_equal(s.first, 1, 0);
    assert_int_equal(leaf.calls, 1);
    ctsc_value *g = ctsc_value_grad(w.x);
    assert_float_equal(at(g, 3), 0, 0); /* the hook gave zeros */
    ctsc_value_free(g);
    ctsc_hook_remove(h);
    ctsc_hook_free(h);
    assert_int_equal(ctsc_backward(sum, NULL, CTSC_RETAIN_GRAPH, NULL, w.e), CTSC_OK);
    assert_int_equal(s.calls, 1);
    s.fails = true;
    assert_int_equal(ctsc_value_add_hook(y, 0, hook, &s, seen_free, NULL, w.e), CTSC_OK);
    assert_int_equal(s.freed, 2); /* the removed one has gone */
    assert_int_equal(ctsc_backward(sum, NULL, 0, NULL, w.e), CTSC_FAILED);
    assert_non_null(strstr(ctsc_error_message(w.e), "no hook today"));
    ctsc_scope_clear(w.s);
    assert_int_equal(s.freed, 3);
    end(&w);
}

/* ---- hooks of saved tensors, and the graph --------------------------------------------------- */

/* Keeps copies, and counts. */
typedef struct keeper {
    int packed, unpacked, dropped, freed;
    bool fails, gives_nothing;
} keeper;

static ctsc_status keep(void *ctx, const ctsc_value *t, void **packed, ctsc_error *e) {
    keeper *k = ctx;
    if (k->fails) return ctsc_error_set(e, CTSC_FAILED, "nothing is kept today"), CTSC_FAILED;
    k->packed++;
    *packed = ctsc_value_copy(t);
    return CTSC_OK;
}

static ctsc_status fetch(void *ctx, void *packed, ctsc_value **out, ctsc_error *e) {
    keeper *k = ctx;
    (void)e;
    k->unpacked++;
    *out = k->gives_nothing ? NULL : ctsc_value_copy(packed);
    return CTSC_OK;
}

static void forget(void *ctx, void *packed) {
    ((keeper *)ctx)->dropped++;
    ctsc_value_free(packed);
}

static void keeper_free(void *ctx) { ((keeper *)ctx)->freed++; }

static void push(world *w, keeper *k) {
    ctsc_saved_hooks h = {.size = sizeof h,
                          .ctx = k,
                          .pack = keep,
                          .unpack = fetch,
                          .drop = forget,
                          .free = keeper_free};
    assert_int_equal(ctsc_saved_hooks_push(&h, w->e), CTSC_OK);
}

static void test_saved_hooks(void **state) {
    (void)state;
    world w = begin();
    keeper k = {0}, inner = {0};
    ctsc_value *first = NULL;
    assert_int_equal(ctsc_value_set_requires_grad(w.x, true, w.e), CTSC_OK);
    ctsc_scope_set_gradients(w.s, true);
    ctsc_saved_hooks without = {.size = sizeof without, .ctx = &k, .free = keeper_free};
    assert_int_equal(ctsc_saved_hooks_push(&without, w.e), CTSC_USAGE);
    assert_int_equal(k.freed, 1);
    push(&w, &k);
    push(&w, &inner);
    ctsc_saved_hooks_pop();
    assert_int_equal(inner.freed, 1);
    ctsc_value *y = ctsc_exp(w.s, ctsc_mul(w.s, w.x, w.x)), *sum = ctsc_sum(w.s, y);
    ctsc_saved_hooks_pop();
    ctsc_saved_hooks_pop(); /* nothing is left */
    assert_true(k.packed >= 2 && k.freed == 1);
    /* a leaf's place is kept beside it: gradients of gradients come back to it */
    assert_int_equal(ctsc_grad(1, &sum, NULL, 1, &w.x, CTSC_CREATE_GRAPH, NULL, &first, w.e),
                     CTSC_OK);
    assert_float_equal(at(first, 0), 2 * at(w.x, 0) * exp(at(w.x, 0) * at(w.x, 0)), 1e-5);
    ctsc_value *again = ctsc_sum(w.s, first), *second = NULL;
    assert_int_equal(ctsc_grad(1, &again, NULL, 1, &w.x, 0, NULL, &second, w.e), CTSC_OK);
    double x = at(w.x, 0);
    assert_float_equal(at(second, 0), (2 + 4 * x * x) * exp(x * x), 1e-4);
    ctsc_value_free(first);
    ctsc_value_free(second);
    assert_true(k.unpacked >= 2);
    ctsc_scope_clear(w.s);
    assert_int_equal(k.dropped, k.packed);
    assert_int_equal(k.freed, 2); /* nodes held the hooks */
    push(&w, &k);
    k.gives_nothing = true;
    sum = ctsc_sum(w.s, ctsc_mul(w.s, w.x, w.x));
    assert_int_equal(ctsc_backward(sum, NULL, 0, NULL, w.e), CTSC_USAGE);
    k.fails = true;
    assert_null(ctsc_mul(w.s, w.x, w.x));
    assert_non_null(strstr(ctsc_error_message(ctsc_scope_error(w.s)), "nothing is kept today"));
    ctsc_saved_hooks_pop();
    ctsc_scope_clear(w.s);
    assert_int_equal(k.dropped, k.packed);
    end(&w);
}

static void test_graph(void **state) {
    (void)state;
    world w = begin();
    assert_int_equal(ctsc_value_set_requires_grad(w.x, true, w.e), CTSC_OK);
    ctsc_scope_set_gradients(w.s, true);
    ctsc_value *y = ctsc_exp(w.s, ctsc_mul(w.s, w.x, w.x));
    ctsc_grad_node *n = ctsc_grad_node_of(y), *same = ctsc_grad_node_of(y);
    assert_null(ctsc_grad_node_of(w.x));
    assert_ptr_equal(ctsc_grad_node_id(n), ctsc_grad_node_id(same));
    ctsc_grad_node_free(same);
    ctsc_scope_clear(w.s); /* the handle keeps the graph */
    assert_null(ctsc_grad_node_leaf(n));
    assert_int_equal(ctsc_grad_node_edges(n), 1);
    size_t output = 9;
    ctsc_grad_node *mul = ctsc_grad_node_next(n, 0, &output);
    assert_int_equal(output, 0);
    assert_null(ctsc_grad_node_next(n, 1, &output));
    char *name = ctsc_grad_node_name(mul);
    assert_string_equal(name, "MulBackward0");
    ctsc_string_free(name);
    ctsc_grad_node_free(n);
    assert_int_equal(ctsc_grad_node_edges(mul), 2);
    ctsc_grad_node *leaf = ctsc_grad_node_next(mul, 1, &output);
    name = ctsc_grad_node_name(leaf);
    assert_string_equal(name, "AccumulateGrad");
    ctsc_string_free(name);
    ctsc_value *v = ctsc_grad_node_leaf(leaf);
    assert_float_equal(at(v, 2), at(w.x, 2), 0);
    assert_int_equal(ctsc_grad_node_edges(leaf), 0);
    ctsc_value_free(v);
    ctsc_grad_node_free(leaf);
    ctsc_grad_node_free(mul);
    end(&w);
}

int main(void) {
    /* first: it sets the allocator */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_memory),     cmocka_unit_test(test_off),
        cmocka_unit_test(test_module),        cmocka_unit_test(test_weights_change),
        cmocka_unit_test(test_modes),         cmocka_unit_test(test_state),
        cmocka_unit_test(test_operators),     cmocka_unit_test(test_history),
        cmocka_unit_test(test_set_data),      cmocka_unit_test(test_random_of_a_scope),
        cmocka_unit_test(test_own_gradients), cmocka_unit_test(test_hooks),
        cmocka_unit_test(test_saved_hooks),   cmocka_unit_test(test_graph)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
