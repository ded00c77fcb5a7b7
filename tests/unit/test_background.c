/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_background.c - kernels that are compiled while calls go on: the thread and its queue,
 * kernels asked for and waited for, programs whose compiler takes as long as the test wants (a gate
 * that it cannot pass), the ends of modules, threads and processes meanwhile.
 */
#include "support.h"

#include "base/clock.h"
#include "base/threads/background.h"
#include "codegen/cache/cache.h"
#include "codegen_nests.h"
#include "ctsc_compiler.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static bool have_compiler;

/* ---- the gate -------------------------------------------------------------------------------- */

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_changed = PTHREAD_COND_INITIALIZER;
static bool gate_closed;
static int gate_waiting; /* jobs before it: 0 or 1 */

static void gate_pass(void *ctx) {
    (void)ctx;
    pthread_mutex_lock(&gate_lock);
    gate_waiting++;
    pthread_cond_broadcast(&gate_changed);
    while (gate_closed) pthread_cond_wait(&gate_changed, &gate_lock);
    gate_waiting--;
    pthread_mutex_unlock(&gate_lock);
}

static void gate_set(bool closed) {
    pthread_mutex_lock(&gate_lock);
    gate_closed = closed;
    pthread_cond_broadcast(&gate_changed);
    pthread_mutex_unlock(&gate_lock);
}

static void gate_await_job(void) {
    pthread_mutex_lock(&gate_lock);
    while (!gate_waiting) pthread_cond_wait(&gate_changed, &gate_lock);
    pthread_mutex_unlock(&gate_lock);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

typedef struct step { background_job job; char name; } step;
static char step_order[8];

static void step_run(background_job *j) { step_order[strlen(step_order)] = ((step *)j)->name; }

static void background_jobs(void **state) {
    (void)state;
    step s[5];
    for (int i = 0; i < 5; i++) s[i] = (step){.job.run = step_run, .name = (char)('a' + i)};
    gate_set(true);
    for (int i = 0; i < 5; i++) assert_true(background_add(&s[i].job));
    gate_await_job();
    background_hurry(&s[3].job);
    background_hurry(&s[0].job); /* has left the queue */
    assert_false(background_take_back(&s[0].job));
    assert_true(background_take_back(&s[1].job));
    assert_false(background_take_back(&s[1].job));
    assert_true(background_wait(&s[1].job, UINT64_MAX));
    assert_false(background_wait(&s[0].job, 0));
    assert_false(background_wait(NULL, clock_now() + 2000000));
    gate_set(false);
    assert_true(background_wait(&s[3].job, UINT64_MAX));
    assert_true(background_wait(NULL, UINT64_MAX));
    assert_string_equal(step_order, "adce");
    /* by another thread: the first is gone, or about to be */
    assert_true(background_add(&s[1].job));
    assert_true(background_wait(NULL, UINT64_MAX));
    assert_string_equal(step_order, "adceb");
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* expected: a kernel_state, or -1 for any. */
static const kernel *kernel_request(codegen *c, int times, int expected) {
    arena a;
    diag d = {0};
    const kernel *k = NULL;
    arena_init(&a);
    if (codegen_request(c, nests_power(&a, DT_FLOAT32, times), &k, &d) != CTSC_OK)
        fail_msg("%s", diag_message(&d));
    arena_free(&a);
    kernel_state found = codegen_wait(c, k, 0);
    if (expected >= 0) assert_int_equal(found, expected);
    return k;
}

static void kernel_check(const kernel *k, int times) {
    float x[5] = {1, 2, 3, -1, 0.5f}, out[5], want;
    void *buffers[] = {x, out};
    int64_t n = 5;
    assert_int_equal(kernel_get_state(k), KERNEL_READY);
    if (!codegen_runnable(codegen_shared())) return;
    k->fn(buffers, &n, NULL, 0, 5, NULL);
    for (int i = 0; i < 5; i++) {
        want = x[i];
        for (int m = 0; m < times; m++) want *= x[i];
        assert_true(out[i] == want);
    }
}

static codegen *kernel_codegen(void) {
    codegen *c = codegen_new(&(codegen_options){.folder = ""});
    assert_true(codegen_prepare(c, UINT64_MAX));
    assert_true(codegen_available(c, NULL));
    return c;
}

static void background_kernels(void **state) {
    (void)state;
    if (!have_compiler) skip();
    arena a;
    const kernel *own;
    codegen *c = kernel_codegen();
    gate_set(true);
    const kernel *first = kernel_request(c, 1, KERNEL_WORKING),
                 *second = kernel_request(c, 2, KERNEL_WORKING),
                 *third = kernel_request(c, 3, KERNEL_WORKING);
    assert_ptr_equal(first, kernel_request(c, 1, KERNEL_WORKING));
    assert_int_equal(codegen_wait(c, third, clock_now() + 1000000), KERNEL_WORKING);
    assert_int_equal(codegen_get_stats(c).working, 3);
    assert_int_equal(codegen_get_stats(c).from_memory, 1);
    gate_await_job();
    /* Who must have one that nobody has begun makes it. */
    arena_init(&a);
    assert_int_equal(codegen_kernel(c, nests_power(&a, DT_FLOAT32, 2), &own, NULL), CTSC_OK);
    arena_free(&a);
    assert_ptr_equal(own, second);
    kernel_check(second, 2);
    gate_set(false);
    assert_int_equal(codegen_wait(c, third, UINT64_MAX), KERNEL_READY);
    assert_int_equal(codegen_wait(c, first, UINT64_MAX), KERNEL_READY);
    kernel_check(first, 1);
    kernel_check(third, 3);
    assert_int_equal(codegen_get_stats(c).compiled, 3);
    assert_int_equal(codegen_get_stats(c).working, 0);
    codegen_free(c);
}

static void *gate_open_soon(void *ctx) {
    usleep(5000);
    gate_set(false);
    return ctx;
}

/* With one job before the gate, and one after it. */
static void background_free(void **state) {
    (void)state;
    if (!have_compiler) skip();
    pthread_t thread;
    codegen *c = kernel_codegen();
    gate_set(true);
    kernel_request(c, 1, KERNEL_WORKING);
    kernel_request(c, 2, KERNEL_WORKING);
    gate_await_job();
    pthread_create(&thread, NULL, gate_open_soon, NULL);
    codegen_free(c);
    pthread_join(thread, NULL);
    assert_true(background_wait(NULL, UINT64_MAX));
}

static void background_no_compiler(void **state) {
    (void)state;
    codegen *c = codegen_new(
        &(codegen_options){.folder = "", .library = "/nowhere/libctsc-jit.so"});
    gate_set(true);
    assert_false(codegen_prepare(c, 0));
    assert_false(codegen_prepare(c, clock_now() + 1000000));
    gate_set(false);
    assert_true(codegen_prepare(c, UINT64_MAX));
    assert_false(codegen_available(c, NULL));
    codegen_free(c);
}

/* Another process, as it were: it opens the compiler, and tells the folder what that says. */
static void open_elsewhere(void *folder) {
    codegen *c = codegen_new(&(codegen_options){.folder = folder});
    codegen_available(c, NULL);
    codegen_free(c);
}

/* The folder learns what the compiler says between the question and the job that is to ask it. */
static void background_known_meanwhile(void **state) {
    (void)state;
    if (!have_compiler) skip();
    char folder[] = "/tmp/ctsc-test-XXXXXX", path[600];
    assert_non_null(mkdtemp(folder));
    assert_true(background_wait(NULL, UINT64_MAX));
    background_set_hook(open_elsewhere, folder);
    codegen *c = codegen_new(&(codegen_options){.folder = folder});
    assert_true(codegen_prepare(c, UINT64_MAX));
    assert_true(codegen_available(c, NULL));
    codegen_free(c);
    assert_true(background_wait(NULL, UINT64_MAX));
    background_set_hook(gate_pass, NULL);
    DIR *dir = opendir(folder);
    for (struct dirent *e; (e = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    closedir(dir);
    assert_int_equal(rmdir(folder), 0);
}

static void background_failure(void **state) {
    (void)state;
    if (!have_compiler) skip();
    arena a;
    diag d = {0};
    const kernel *k = NULL;
    codegen *c = kernel_codegen();
    arena_init(&a);
    nest *n = nest_new(&a, "wrong");
    nest_buffer *out = nest_add_buffer(n, "out", DT_FLOAT32, 0);
    nest_store(n, out, nest_int(n, 0),
               nest_call1(n, "no_such_function", nest_const_float(n, NEST_F32, 1)));
    assert_int_equal(codegen_request(c, n, &k, &d), CTSC_OK);
    arena_free(&a);
    assert_int_equal(codegen_wait(c, k, clock_now() + UINT64_C(60000000000)), KERNEL_FAILED);
    assert_int_equal(codegen_failure(k, &d), CTSC_INTERNAL);
    assert_non_null(strstr(diag_message(&d), "no_such_function"));
    diag_clear(&d);
    codegen_free(c);
}

/* ---- programs -------------------------------------------------------------------------------- */

#define PROGRAM_GROUPS(number)                                                                     \
    "import torch\n"                                                                               \
    "def forward(x: torch.Tensor) -> torch.Tensor:\n"                                              \
    "    y = torch.sin(x) * " number " + torch.exp(-x)\n"                                          \
    "    y = torch.sort(y, dim=0)[0]\n"                                                            \
    "    return torch.tanh(y) * y + " number "\n"
#define PROGRAM_LOOP(number)                                                                       \
    "import torch\n"                                                                               \
    "def forward(x: torch.Tensor) -> float:\n"                                                     \
    "    total = " number "\n"                                                                     \
    "    for i in range(1000):\n"                                                                  \
    "        total = total * 0.5 + float(i % 7)\n"                                                 \
    "    return total + float(x.size(0))\n"

static ctsc_module *program_new(const char *text, int level) {
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_compile_text("program.py", text, strlen(text), NULL, &m, e) != CTSC_OK ||
        ctsc_module_set_opt(m, level, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    ctsc_error_free(e);
    return m;
}

static ctsc_value *program_call(const ctsc_module *m) {
    static const int64_t n = 97;
    ctsc_error *e = ctsc_error_new();
    ctsc_value *x = NULL, *out = NULL;
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 1, &n, &x, e), CTSC_OK);
    for (int i = 0; i < n; i++)
        ((float *)ctsc_tensor_data(x))[i] = (float)(i * 37 % 97) * 0.03f - 1;
    if (ctsc_module_run(m, "forward", 1, &x, NULL, &out, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    ctsc_value_free(x);
    ctsc_error_free(e);
    return out;
}

/* A call whose result is `want`: by rounding, or exactly. */
static void program_check(const ctsc_module *m, const ctsc_value *want, bool exact) {
    char *why = NULL;
    ctsc_value *got = program_call(m);
    if (!ctsc_value_close(got, want, exact ? 0 : 1e-5, exact ? 0 : 1e-6, &why)) fail_msg("%s", why);
    ctsc_value_free(got);
}

static ctsc_kernel_stats program_stats(void) {
    ctsc_kernel_stats k = {.size = sizeof k};
    ctsc_get_kernel_stats(&k);
    return k;
}

/* What calls give once they are native. */
static ctsc_value *program_native(const char *text) {
    ctsc_module *m = program_new(text, 3);
    ctsc_value *out = program_call(m);
    ctsc_module_free(m);
    return out;
}

static void background_program(void **state) {
    (void)state;
    if (!have_compiler) skip();
    ctsc_set_compiling(CTSC_COMPILE_BACKGROUND);
    ctsc_module *plain = program_new(PROGRAM_GROUPS("1.75"), 0),
                *m = program_new(PROGRAM_GROUPS("1.75"), 2);
    ctsc_value *reference = program_call(plain);
    int64_t before = program_stats().compiled + program_stats().from_disk;
    gate_set(true);
    for (int call = 0; call < 5; call++) program_check(m, reference, false);
    assert_int_equal(program_stats().compiled + program_stats().from_disk, before);
    assert_true(program_stats().in_making > 0);
    assert_false(ctsc_wait_for_kernels(1000));
    gate_set(false);
    assert_true(ctsc_wait_for_kernels(0));
    assert_true(program_stats().compiled + program_stats().from_disk > before);
    ctsc_value *native = program_native(PROGRAM_GROUPS("1.75"));
    for (int call = 0; call < 3; call++) program_check(m, native, true);
    ctsc_value_free(reference), ctsc_value_free(native);
    ctsc_module_free(plain), ctsc_module_free(m);
}

static void background_module_freed(void **state) {
    (void)state;
    if (!have_compiler) skip();
    ctsc_set_compiling(CTSC_COMPILE_BACKGROUND);
    ctsc_module *m = program_new(PROGRAM_GROUPS("3.5"), 2),
                *other = program_new(PROGRAM_GROUPS("3.5"), 2);
    ctsc_value *first = program_call(other);
    gate_set(true);
    for (int call = 0; call < 4; call++) program_check(m, first, false);
    for (int call = 0; call < 4; call++) program_check(other, first, false);
    int64_t shared = program_stats().in_making;
    assert_true(shared > 0 && shared < 4); /* one job for both modules */
    ctsc_module_free(m);
    gate_set(false);
    assert_true(ctsc_wait_for_kernels(0));
    ctsc_value *native = program_native(PROGRAM_GROUPS("3.5"));
    program_check(other, native, true);
    ctsc_value_free(first), ctsc_value_free(native);
    ctsc_module_free(other);
}

/* Loops wait, but not for ever; in other modes calls do what they need themselves. */
static void background_loops(void **state) {
    (void)state;
    if (!have_compiler) skip();
    static const char *const texts[] = {PROGRAM_LOOP("0.25"), PROGRAM_LOOP("0.5"),
                                        PROGRAM_LOOP("0.75")};
    for (int mode = 0; mode < 3; mode++) { /* in the background, in calls, at level 3 */
        ctsc_set_compiling(mode == 1 ? CTSC_COMPILE_IN_CALLS : CTSC_COMPILE_BACKGROUND);
        ctsc_module *plain = program_new(texts[mode], 0),
                    *m = program_new(texts[mode], mode == 2 ? 3 : 2);
        ctsc_value *want = program_call(plain);
        int64_t before = program_stats().compiled + program_stats().from_disk;
        gate_set(true);
        program_check(m, want, false);
        assert_int_equal(program_stats().compiled + program_stats().from_disk - before, mode != 0);
        assert_int_equal(program_stats().in_making, mode == 0);
        gate_set(false);
        program_check(m, want, false); /* it waits */
        assert_true(ctsc_wait_for_kernels(0));
        assert_int_equal(program_stats().compiled + program_stats().from_disk - before, 1);
        ctsc_value_free(want);
        ctsc_module_free(plain), ctsc_module_free(m);
    }
}

typedef struct crowd_member { const ctsc_module *m; const ctsc_value *want; } crowd_member;

static void *crowd_calls(void *ctx) {
    const crowd_member *me = ctx;
    for (int call = 0; call < 30; call++) program_check(me->m, me->want, false);
    return NULL;
}

static void background_threads(void **state) {
    (void)state;
    ctsc_set_compiling(CTSC_COMPILE_BACKGROUND);
    pthread_t threads[8];
    ctsc_module *m[2] = {program_new(PROGRAM_GROUPS("0.625"), 2),
                         program_new(PROGRAM_GROUPS("0.375"), 2)};
    ctsc_value *want[2] = {program_call(m[0]), program_call(m[1])};
    crowd_member members[2] = {{m[0], want[0]}, {m[1], want[1]}};
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, crowd_calls, &members[i % 2]);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    assert_true(ctsc_wait_for_kernels(0));
    for (int i = 0; i < 2; i++) {
        program_check(m[i], want[i], false);
        ctsc_value_free(want[i]);
        ctsc_module_free(m[i]);
    }
}

/* ---- processes ------------------------------------------------------------------------------- */

/* The status of a child that does `work`. */
static int child_status(void (*work)(void)) {
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(120);
        work();
        exit(0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

static void child_requests(void) {
    codegen *c = codegen_shared();
    for (int i = 20; i < 26; i++) kernel_request(c, i, -1);
}

static void *child_thread(void *ctx) {
    child_requests();
    return ctx;
}

/* The kernels come from a thread that is over. */
static void child_requests_from_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, child_thread, NULL);
    pthread_join(thread, NULL);
}

/* Exits while a kernel is compiled: nothing happens but the end. */
static void background_exit(void **state) {
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* it starts no threads in children of processes with threads */
#endif
    if (!have_compiler) skip();
    codegen_prepare(codegen_shared(), UINT64_MAX);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(child_status(child_requests), 0);
        assert_int_equal(child_status(child_requests_from_thread), 0);
    }
}

static const kernel *fork_kernels[2];

static void child_waits(void) {
    for (int i = 0; i < 2; i++)
        if (codegen_wait(codegen_shared(), fork_kernels[i], clock_now() + UINT64_C(60000000000)) !=
            KERNEL_READY)
            _exit(1);
    kernel_check(fork_kernels[0], 30);
    kernel_check(fork_kernels[1], 31);
}

/* The child has the jobs that were waiting, whatever the parent's thread was about. */
static void background_fork(void **state) {
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip();
#endif
    if (!have_compiler) skip();
    for (int i = 0; i < 2; i++) fork_kernels[i] = kernel_request(codegen_shared(), 30 + i, -1);
    assert_int_equal(child_status(child_waits), 0);
    child_waits();
}

static int background_setup(void **state) {
    (void)state;
    setenv("CTSC_CACHE", "0", 1);
    background_set_hook(gate_pass, NULL);
    have_compiler = codegen_available(codegen_shared(), NULL);
    if (!have_compiler) print_message("no compiler for kernels\n");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(background_jobs),
        cmocka_unit_test(background_kernels),
        cmocka_unit_test(background_free),
        cmocka_unit_test(background_no_compiler),
        cmocka_unit_test(background_known_meanwhile),
        cmocka_unit_test(background_failure),
        cmocka_unit_test(background_program),
        cmocka_unit_test(background_module_freed),
        cmocka_unit_test(background_loops),
        cmocka_unit_test(background_threads),
        cmocka_unit_test(background_exit),
        cmocka_unit_test(background_fork),
    };
    return cmocka_run_group_tests(tests, background_setup, NULL);
}
