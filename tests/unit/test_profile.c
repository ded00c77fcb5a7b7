/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile.c - profilers: what is counted, that times add up, several threads, failures, JSON
 * and the timeline. */
#include "support.h"

#include "ctsc.h"
#include "ctsc_compiler.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>

static const char profile_source[] = "import torch\n"
                                     "class Inner(torch.nn.Module):\n"
                                     "    def __init__(self):\n"
                                     "        super().__init__()\n"
                                     "        self.w = torch.nn.Parameter(torch.ones(8, 4))\n"
                                     "    def forward(self, x):\n"
                                     "        return torch.mm(x, self.w)\n" /* line 7 */
                                     "class Main(torch.nn.Module):\n"
                                     "    def __init__(self):\n"
                                     "        super().__init__()\n"
                                     "        self.inner = Inner()\n"
                                     "    def forward(self, x, n: int):\n"
                                     "        y = self.inner(x)\n" /* line 13 */
                                     "        s = 0\n"
                                     "        for i in range(n):\n"
                                     "            s = s + i\n"
                                     "        if n > 100:\n"
                                     "            raise ValueError('too many')\n"
                                     "        z = torch.relu(y * 2.0 + 1.0)\n"   /* line 19 */
                                     "        return torch.cat([z, z], 0), s\n"; /* line 20 */

enum { ROWS = 16, LINE_CALL = 13, LINE_MM = 7, LINE_RELU = 19 };

static ctsc_module *profile_module(int opt) {
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    ctsc_status s = ctsc_module_compile_text("net.py", profile_source, sizeof profile_source - 1,
                                             NULL, &m, e);
    if (s != CTSC_OK) fail_msg("%s", ctsc_error_message(e));
    assert_int_equal(ctsc_module_set_opt(m, opt, e), CTSC_OK);
    ctsc_error_free(e);
    return m;
}

static ctsc_status profile_run(const ctsc_module *m, ctsc_profiler *p, int64_t n) {
    int64_t sizes[] = {ROWS, 8};
    ctsc_value *args[2] = {NULL, ctsc_int_new(n)}, *out = NULL;
    ctsc_run_options o = {.size = sizeof o, .profiler = p};
    ctsc_status s = ctsc_tensor_new(CTSC_FLOAT32, 2, sizes, &args[0], NULL);
    if (s == CTSC_OK)
        s = args[1] ? ctsc_module_run(m, "forward", 2, args, &o, &out, NULL) : CTSC_LIMIT;
    ctsc_value_free(out);
    ctsc_value_free(args[0]);
    ctsc_value_free(args[1]);
    return s;
}

/* Looks an entry up by name (and line, unless 0), and sums all of them. */
typedef struct looked {
    const char *name;
    unsigned line;
    ctsc_profile_entry found;
    double self, last;
    size_t n;
} looked;

static void profile_look(void *ctx, const ctsc_profile_entry *e) {
    looked *l = ctx;
    assert_true(!l->n++ || e->self_us <= l->last); /* sorted */
    assert_true(e->self_us >= 0 && e->total_us >= e->self_us - 1e-6);
    l->last = e->self_us;
    l->self += e->self_us;
    if ((strcmp(e->name, l->name) == 0 || (strlen(l->name) > 6 && strstr(e->name, l->name))) &&
        (!l->line || e->line == l->line))
        l->found = *e;
}

static ctsc_profile_entry profile_entry(const ctsc_profiler *p, ctsc_profile_by by,
                                        const char *name, unsigned line) {
    looked l = {.name = name, .line = line};
    assert_int_equal(ctsc_profiler_visit(p, by, profile_look, &l), CTSC_OK);
    return l.found;
}

/* Self times of every table add up to the calls' time. */
static void profile_check_sums(const ctsc_profiler *p, uint64_t calls) {
    ctsc_profile_summary s = {.size = sizeof s};
    ctsc_profiler_summary(p, &s);
    assert_int_equal(s.calls, calls);
    assert_false(s.incomplete);
    assert_true(s.total_us > 0);
    for (int by = 0; by < 3; by++) {
        looked l = {.name = ""};
        assert_int_equal(ctsc_profiler_visit(p, (ctsc_profile_by)by, profile_look, &l), CTSC_OK);
        assert_true(fabs(l.self - s.total_us) < 1e-3);
    }
    assert_int_equal(ctsc_profiler_visit(p, (ctsc_profile_by)3, profile_look, NULL), CTSC_USAGE);
}

static void profile_counts(void **state) {
    (void)state;
    ctsc_module *m = profile_module(0);
    ctsc_profiler *p = ctsc_profiler_new(NULL);
    for (int i = 0; i < 3; i++) assert_int_equal(profile_run(m, p, 10), CTSC_OK);
    assert_int_equal(profile_run(m, NULL, 10), CTSC_OK);
    profile_check_sums(p, 3);
    ctsc_profile_entry mm = profile_entry(p, CTSC_PROFILE_OPERATORS, "aten::mm", 0);
    assert_string_equal(mm.kind, "operator");
    assert_int_equal(mm.count, 3);
    assert_int_equal(mm.flops, 3 * 2 * ROWS * 8 * 4);
    assert_int_equal(mm.bytes, 3 * 4 * (ROWS * 8 + 8 * 4 + ROWS * 4));
    assert_int_equal(mm.uncounted, 0);
    assert_int_equal(mm.allocations, 3); /* the result */
    assert_true(mm.allocated_bytes >= 3 * 4 * ROWS * 4 && mm.peak_bytes >= 4 * ROWS * 4 &&
                mm.peak_bytes <= mm.allocated_bytes);
    assert_int_equal(profile_entry(p, CTSC_PROFILE_OPERATORS, "aten::relu", 0).flops, 3 * ROWS * 4);
    assert_int_equal(profile_entry(p, CTSC_PROFILE_OPERATORS, "aten::cat", 0).bytes,
                     3 * 4 * ROWS * 4 * 4);
    assert_int_equal(profile_entry(p, CTSC_PROFILE_OPERATORS, "prim::CallMethod", 0).count, 3);
    /* lines: what was called counts for the line that called it, in its total */
    ctsc_profile_entry call = profile_entry(p, CTSC_PROFILE_LINES, "net.py", LINE_CALL),
                       line = profile_entry(p, CTSC_PROFILE_LINES, "net.py", LINE_MM);
    assert_true(line.count >= 3 && line.flops == mm.flops);
    assert_true(call.total_us >= line.total_us && call.self_us < call.total_us);
    /* methods */
    ctsc_profile_summary s = {.size = sizeof s};
    ctsc_profiler_summary(p, &s);
    ctsc_profile_entry inner = profile_entry(p, CTSC_PROFILE_METHODS, "Inner.forward", 0),
                       outer = profile_entry(p, CTSC_PROFILE_METHODS, "Main.forward", 0);
    assert_int_equal(inner.count, 3);
    assert_int_equal(outer.count, 3);
    assert_int_equal(inner.flops, mm.flops);
    assert_true(fabs(outer.total_us - s.total_us) < 1e-3 && inner.total_us < outer.total_us &&
                inner.total_us >= mm.total_us);
    ctsc_profiler_reset(p);
    ctsc_profiler_summary(p, &s);
    assert_int_equal(s.calls, 0);
    assert_null(profile_entry(p, CTSC_PROFILE_OPERATORS, "aten::mm", 0).name);
    assert_int_equal(profile_run(m, p, 10), CTSC_OK);
    assert_int_equal(profile_entry(p, CTSC_PROFILE_OPERATORS, "aten::mm", 0).count, 1);
    ctsc_module_free(m); /* before the profiler: names stay */
    assert_int_equal(profile_entry(p, CTSC_PROFILE_OPERATORS, "aten::mm", 0).count, 1);
    ctsc_profiler_free(p);
    ctsc_profiler_free(NULL);
}

/* Inlined calls still belong to their methods and lines; groups are kernels, with the operations of
 * what is in them. */
static void profile_kernels(void **state) {
    (void)state;
    ctsc_module *m = profile_module(3);
    ctsc_profiler *p = ctsc_profiler_new(NULL);
    assert_int_equal(profile_run(m, p, 10), CTSC_OK);
    profile_check_sums(p, 1);
    assert_int_equal(profile_entry(p, CTSC_PROFILE_OPERATORS, "(compiling graphs)", 0).count, 1);
    ctsc_profiler_reset(p);
    for (int i = 0; i < 3; i++) assert_int_equal(profile_run(m, p, 10), CTSC_OK);
    profile_check_sums(p, 3);
    assert_int_equal(profile_entry(p, CTSC_PROFILE_OPERATORS, "aten::mm", 0).count, 3);
    ctsc_profile_entry inner = profile_entry(p, CTSC_PROFILE_METHODS, "Inner.forward", 0),
                       call = profile_entry(p, CTSC_PROFILE_LINES, "net.py", LINE_CALL);
    assert_int_equal(inner.count, 0);
    assert_true(inner.self_us > 0 && call.total_us >= inner.self_us);
    ctsc_kernel_stats kernels = {.size = sizeof kernels};
    ctsc_get_kernel_stats(&kernels);
    if (kernels.compiled + kernels.from_disk) { /* there is a compiler */
        ctsc_profile_entry group = profile_entry(p, CTSC_PROFILE_OPERATORS, "fused_mul_add_relu",
                                                 0);
        assert_string_equal(group.kind, "kernel");
        assert_int_equal(group.count, 3);
        assert_int_equal(group.flops, 3 * 3 * ROWS * 4);
        assert_int_equal(group.bytes, 3 * 2 * 4 * ROWS * 4);
        assert_string_equal(group.file, "net.py");
        assert_int_equal(group.line, LINE_RELU);
    }
    ctsc_profiler_free(p);
    ctsc_module_free(m);
}

/* A call that fails counts as far as it came. */
static void profile_failure(void **state) {
    (void)state;
    ctsc_module *m = profile_module(0);
    ctsc_profiler *p = ctsc_profiler_new(NULL);
    assert_int_equal(profile_run(m, p, 101), CTSC_FAILED);
    assert_int_equal(profile_run(m, p, 1), CTSC_OK);
    profile_check_sums(p, 2);
    assert_int_equal(profile_entry(p, CTSC_PROFILE_OPERATORS, "aten::mm", 0).count, 2);
    assert_int_equal(profile_entry(p, CTSC_PROFILE_OPERATORS, "aten::relu", 0).count, 1);
    ctsc_profiler_free(p);
    ctsc_module_free(m);
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct worker { const ctsc_module *m; ctsc_profiler *p; } worker;
enum { THREADS = 4, THREAD_CALLS = 40 };

static void *profile_work(void *ctx) {
    worker *w = ctx;
    for (int i = 0; i < THREAD_CALLS; i++)
        if (profile_run(w->m, w->p, i) != CTSC_OK) return NULL;
    return w;
}

static void profile_threads(void **state) {
    (void)state;
    pthread_t ids[THREADS];
    worker w = {profile_module(2),
                ctsc_profiler_new(&(ctsc_profiler_options){sizeof(ctsc_profiler_options), 1000})};
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, profile_work, &w), 0);
    for (int i = 0; i < 20; i++) { /* meanwhile */
        char *text = ctsc_profiler_json(w.p), *trace = ctsc_profiler_trace(w.p);
        assert_non_null(text);
        assert_non_null(trace);
        ctsc_string_free(text);
        ctsc_string_free(trace);
    }
    for (int i = 0; i < THREADS; i++) {
        void *done = NULL;
        pthread_join(ids[i], &done);
        assert_ptr_equal(done, &w);
    }
    profile_check_sums(w.p, THREADS * THREAD_CALLS);
    assert_int_equal(profile_entry(w.p, CTSC_PROFILE_OPERATORS, "aten::mm", 0).count,
                     THREADS * THREAD_CALLS);
    ctsc_profile_summary s = {.size = sizeof s};
    ctsc_profiler_summary(w.p, &s);
    assert_true(s.events <= 1000 && s.events_dropped > 0);
    ctsc_profiler_free(w.p);
    ctsc_module_free((ctsc_module *)w.m);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void profile_json(void **state) {
    (void)state;
    ctsc_module *m = profile_module(0);
    ctsc_profiler *p = ctsc_profiler_new(NULL);
    assert_int_equal(profile_run(m, p, 3), CTSC_OK);
    char *text = ctsc_profiler_json(p);
    json_t *j = json_loads(text, 0, NULL), *row;
    size_t i;
    double self = 0;
    assert_non_null(j);
    assert_int_equal(json_integer_value(json_object_get(j, "calls")), 1);
    json_array_foreach(json_object_get(j, "operators"), i, row)
        self += json_number_value(json_object_get(row, "self_us"));
    assert_true(fabs(self - json_number_value(json_object_get(j, "total_us"))) < 0.1);
    assert_true(json_array_size(json_object_get(j, "lines")) >= 4);
    assert_int_equal(json_array_size(json_object_get(j, "methods")), 2);
    json_decref(j);
    ctsc_string_free(text);
    text = ctsc_profiler_trace(p); /* none was asked for */
    j = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(j, "traceEvents")), 1);
    json_decref(j);
    ctsc_string_free(text);
    ctsc_profiler_free(p);
    ctsc_module_free(m);
}

/* Events nest: one that begins within another ends within it. */
static void profile_check_nesting(const json_t *events) {
    size_t i, k;
    const json_t *a, *b;
    json_array_foreach(events, i, a) {
        if (strcmp(json_string_value(json_object_get(a, "ph")), "X") != 0) continue;
        double begin = json_number_value(json_object_get(a, "ts")),
               end = begin + json_number_value(json_object_get(a, "dur"));
        assert_true(begin >= 0);
        json_array_foreach(events, k, b) {
            double from = json_number_value(json_object_get(b, "ts")),
                   to = from + json_number_value(json_object_get(b, "dur"));
            if (k != i && json_object_get(b, "ts") && from > begin && from < end)
                assert_true(to <= end + 0.002);
        }
    }
}

static void profile_trace(void **state) {
    (void)state;
    ctsc_module *m = profile_module(0);
    ctsc_profiler *p = ctsc_profiler_new(
        &(ctsc_profiler_options){sizeof(ctsc_profiler_options), 10000});
    for (int i = 0; i < 2; i++) assert_int_equal(profile_run(m, p, 3), CTSC_OK);
    char *text = ctsc_profiler_trace(p);
    json_t *j = json_loads(text, 0, NULL), *e, *events = json_object_get(j, "traceEvents");
    size_t i;
    int products = 0, calls = 0;
    json_array_foreach(events, i, e) {
        const char *name = json_string_value(json_object_get(e, "name"));
        assert_true(json_is_integer(json_object_get(e, "pid")) &&
                    json_is_integer(json_object_get(e, "tid")));
        calls += !strcmp(name, "(interpreter)");
        if (strcmp(name, "aten::mm") != 0) continue;
        const json_t *args = json_object_get(e, "args");
        products++;
        assert_string_equal(json_string_value(json_object_get(e, "ph")), "X");
        assert_string_equal(json_string_value(json_object_get(args, "arguments")),
                            "float32[16,8], float32[8,4]");
        assert_int_equal(json_integer_value(json_object_get(args, "line")), LINE_MM);
        assert_int_equal(json_integer_value(json_object_get(args, "flops")), 2 * ROWS * 8 * 4);
    }
    assert_int_equal(products, 2);
    assert_int_equal(calls, 2);
    profile_check_nesting(events);
    json_decref(j);
    ctsc_string_free(text);
    ctsc_profiler_free(p);
    ctsc_module_free(m);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static counting count; /* of all that this program allocates */

/* A module is made, then allocation fail_at from there on fails (0: none); memory
 * that remains when everything is freed. *n: allocations after the making. */
static long profile_round(long fail_at, bool *done, long *n) {
    long before = count.live;
    ctsc_module *m = profile_module(0);
    long from = count.requests;
    count.fail_at = fail_at ? from + fail_at : 0;
    ctsc_profiler *p = ctsc_profiler_new(
        &(ctsc_profiler_options){sizeof(ctsc_profiler_options), 100});
    *done = p != NULL;
    for (int i = 0; p && i < 2; i++) *done &= profile_run(m, p, 3) == CTSC_OK;
    char *text = p ? ctsc_profiler_json(p) : NULL, *trace = p ? ctsc_profiler_trace(p) : NULL;
    *done &= text && trace;
    *n = count.requests - from;
    count.fail_at = 0;
    ctsc_string_free(text);
    ctsc_string_free(trace);
    ctsc_profiler_free(p);
    ctsc_module_free(m);
    return count.live - before;
}

/* Nothing leaks, whichever allocation fails. */
static void profile_memory(void **state) {
    (void)state;
    bool done;
    long n, after;
    profile_round(0, &done, &n); /* what the process keeps */
    assert_int_equal(profile_round(0, &done, &n), 0);
    assert_true(done && n > 20);
    for (long i = 1; i <= n; i++) {
        long left = profile_round(i, &done, &after);
        if (left != 0) fail_msg("%ld blocks left when allocation %ld of %ld failed", left, i, n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profile_counts),  cmocka_unit_test(profile_kernels),
        cmocka_unit_test(profile_failure), cmocka_unit_test(profile_threads),
        cmocka_unit_test(profile_json),    cmocka_unit_test(profile_trace),
        cmocka_unit_test(profile_memory),
    };
    mem_set_hook(counting_hook, &count);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
