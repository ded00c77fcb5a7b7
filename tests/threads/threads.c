/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.c - one module run by many threads at the same time: always the results of one thread.
 * And how throughput grows with threads.
 *
 *     threads [--seconds S] [--threads N,N,...] [--only NAME]      the test (make test-threads; a short run in make test)
 *     threads --throughput [--seconds S] [--only NAME]             calls per second of one thread, of two, of two processes (make bench-threads)
 *
 * The test gives each number of threads S seconds, shared by the cases. The threads of a case begin
 * at once with a module that nobody has run, so that they meet in everything that is made when it
 * is first needed: graphs, code, kernels. A thread's first calls may still be interpreted, and are
 * compared as closely as rounding allows; later ones are the same to the last bit. The same once
 * more with kernels that come from the background, at any time: closely. And modules trained side
 * by side, one per thread.
 *
 * Throughput is measured in turns, one thread, two threads, two processes of one thread, so that a
 * busy machine disturbs all alike. Processes share nothing but the machine: what two of them reach
 * together is what it has to give, and what two threads fall short of it is the library's doing.
 * The processor time of a call tells the same without a second processor: where threads do not
 * hinder each other it is the same for one and for two.
 */
#define _GNU_SOURCE
#include <ctsc.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_THREADS = 256,
    MAX_ARGS = 16,
    MAX_ERROR = 256,
    MAX_WHY = 640,
    WARM_CALLS = 3,
    TURNS = 5
};

/* A folder with model.pt and inputs.pt, or the two files and the method. */
static const struct {
    const char *model, *inputs, *method;
} cases[] = {
    {"models/digits_cnn.pt", "models/digits_test.pt", "forward"},
    {"models/chargpt.pt", "models/chargpt_generate_inputs.pt", "generate"},
    {"tests/corpus/models/gpt_like_script", NULL, "forward"},
    {"tests/corpus/models/lstm_l1_script", NULL, "forward"},
    {"tests/corpus/models/multihead_attention_script", NULL, "forward"},
    {"tests/corpus/models/seed_pairwise_distance_loop_script", NULL, "forward"},
    {"tests/corpus/models/tv_nms_script", NULL, "forward"},
    {"tests/corpus/models/mlp_script", NULL, "forward"},
    {"tests/corpus/lang/dict_methods", NULL, "forward"},
    {"tests/corpus/lang/str_methods", NULL, "forward"},
    {"tests/corpus/lang/class_linked_list", NULL, "forward"},
    {"tests/corpus/lang/interface_in_modulelist", NULL, "forward"},
    {"tests/corpus/lang/kmeans", NULL, "forward"},
    {"tests/corpus/lang/fork_nested_and_tuple", NULL, "forward"},
    {"tests/corpus/lang/fork_module_list_of_futures", NULL, "forward"},
    {"tests/corpus/lang/assert_fails_message", NULL, "forward"},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Result of a call: a value, or what the program raised. */
typedef struct outcome {
    ctsc_value *value;
    char error[MAX_ERROR];
} outcome;

typedef struct crowd {
    ctsc_module *m;
    const char *inputs, *method;
    const outcome *want; /* NULL: not compared */
    bool background;     /* kernels come when they come */
    double seconds;
    pthread_barrier_t begin;
    atomic_int failures;
    char why[MAX_WHY + 32]; /* of the first failure */
} crowd;

typedef struct member {
    crowd *c;
    pthread_t thread;
    long calls;
    double cpu_seconds, wall_seconds;
} member;

static double clock_seconds(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void drop_print(void *ctx, const char *text, size_t len) {
    (void)ctx, (void)text, (void)len;
}

static void fatal(const char *what, const char *why) {
    fprintf(stderr, "threads: %s: %s\n", what, why);
    exit(2);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static ctsc_module *load_module(const char *path) {
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_load(path, &m, e) != CTSC_OK) fatal(path, ctsc_error_message(e));
    ctsc_error_free(e);
    return m;
}

static size_t load_inputs(const char *path, ctsc_value **args) {
    ctsc_value *all = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_value_load(path, &all, e) != CTSC_OK) fatal(path, ctsc_error_message(e));
    size_t n = ctsc_value_len(all);
    if (n > MAX_ARGS) fatal(path, "too many arguments");
    for (size_t i = 0; i < n; i++) args[i] = ctsc_value_item(all, i);
    ctsc_value_free(all);
    ctsc_error_free(e);
    return n;
}

static outcome call(const crowd *c, size_t n, ctsc_value **args) {
    outcome o = {0};
    ctsc_error *e = ctsc_error_new();
    ctsc_run_options ro = {.size = sizeof ro, .print = drop_print};
    if (ctsc_module_run(c->m, c->method, n, args, &ro, &o.value, e) != CTSC_OK)
        snprintf(o.error, sizeof o.error, "%s", ctsc_error_message(e));
    ctsc_error_free(e);
    return o;
}

/* exact: to the last bit. */
static bool same(const outcome *got, const outcome *want, bool exact, char why[MAX_WHY]) {
    char *difference = NULL;
    bool ok = !strcmp(got->error, want->error);
    if (!ok) snprintf(why, MAX_WHY, "'%s', not '%s'", got->error, want->error);
    if (!ok || !got->value) return ok;
    ok = ctsc_value_close(got->value, want->value, exact ? 0 : 1e-3, exact ? 0 : 1e-4, &difference);
    if (!ok) snprintf(why, MAX_WHY, "%s", difference);
    ctsc_string_free(difference);
    return ok;
}

/* ---- a crowd --------------------------------------------------------------------------------- */

static void *member_run(void *ctx) {
    member *me = ctx;
    crowd *c = me->c;
    ctsc_value *args[MAX_ARGS];
    size_t n = load_inputs(c->inputs, args);
    char why[MAX_WHY] = "";
    pthread_barrier_wait(&c->begin);
    double begin = clock_seconds(CLOCK_MONOTONIC), cpu = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    do {
        outcome o = call(c, n, args);
        bool ok = !c->want || same(&o, c->want, me->calls >= WARM_CALLS && !c->background, why);
        ctsc_value_free(o.value);
        me->calls++;
        if (!ok && atomic_fetch_add(&c->failures, 1) == 0)
            snprintf(c->why, sizeof c->why, "call %ld: %s", me->calls, why);
        if (!ok) break;
    } while ((me->wall_seconds = clock_seconds(CLOCK_MONOTONIC) - begin) < c->seconds ||
             (c->want && me->calls <= WARM_CALLS));
    me->cpu_seconds = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    for (size_t i = 0; i < n; i++) ctsc_value_free(args[i]);
    return NULL;
}

typedef struct total {
    long calls;
    double per_second, cpu_seconds;
} total;

/* Adds to t what n threads did. */
static void crowd_run(crowd *c, int n, total *t) {
    static member members[MAX_THREADS];
    pthread_barrier_init(&c->begin, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        members[i] = (member){.c = c};
        if (pthread_create(&members[i].thread, NULL, member_run, &members[i]))
            fatal("pthread_create", "failed");
    }
    for (int i = 0; i < n; i++) {
        pthread_join(members[i].thread, NULL);
        t->calls += members[i].calls;
        t->cpu_seconds += members[i].cpu_seconds;
        if (members[i].wall_seconds > 0)
            t->per_second += (double)members[i].calls / members[i].wall_seconds;
    }
    pthread_barrier_destroy(&c->begin);
}

/* One thread, in a process of its own; returns where its total is to be read. */
static int crowd_fork(crowd *c, pid_t *child) {
    int ends[2];
    if (pipe(ends) || (*child = fork()) < 0) fatal("fork", "failed");
    if (*child == 0) {
        total t = {0};
        crowd_run(c, 1, &t);
        _exit(write(ends[1], &t, sizeof t) != sizeof t);
    }
    close(ends[1]);
    return ends[0];
}

/* Adds to t what two processes did. */
static void crowd_run_processes(crowd *c, total *t) {
    pid_t children[2];
    int from[2], status;
    for (int i = 0; i < 2; i++) from[i] = crowd_fork(c, &children[i]);
    for (int i = 0; i < 2; i++) {
        total one;
        if (read(from[i], &one, sizeof one) != sizeof one) fatal("a process", "died");
        close(from[i]);
        waitpid(children[i], &status, 0);
        t->calls += one.calls;
        t->cpu_seconds += one.cpu_seconds;
        t->per_second += one.per_second;
    }
}

/* ---- cases ----------------------------------------------------------------------------------- */

typedef struct paths {
    char model[256], inputs[256];
    const char *name;
} paths;

static paths case_paths(int i) {
    paths p;
    const char *slash = strrchr(cases[i].model, '/');
    p.name = slash + 1;
    snprintf(p.model, sizeof p.model, "%s%s", cases[i].model, cases[i].inputs ? "" : "/model.pt");
    snprintf(p.inputs, sizeof p.inputs, "%s%s", cases[i].inputs ? cases[i].inputs : cases[i].model,
             cases[i].inputs ? "" : "/inputs.pt");
    return p;
}

/* What one thread gets once nothing is left to compile. */
static outcome case_reference(crowd *c) {
    ctsc_value *args[MAX_ARGS];
    size_t n = load_inputs(c->inputs, args);
    outcome o = {0};
    for (int k = 0; k <= WARM_CALLS; k++) {
        ctsc_value_free(o.value);
        o = call(c, n, args);
    }
    for (size_t i = 0; i < n; i++) ctsc_value_free(args[i]);
    return o;
}

static bool case_test(int i, int threads, double seconds, bool background) {
    paths p = case_paths(i);
    crowd c = {.m = load_module(p.model),
               .inputs = p.inputs,
               .method = cases[i].method,
               .seconds = seconds,
               .background = background};
    ctsc_set_compiling(CTSC_COMPILE_IN_CALLS);
    outcome want = case_reference(&c);
    ctsc_module_free(c.m);
    c.m = load_module(p.model);
    c.want = &want;
    total t = {0};
    if (background) ctsc_set_compiling(CTSC_COMPILE_BACKGROUND);
    crowd_run(&c, threads, &t);
    printf("%-4s %-36s %3d threads %8ld calls%s %s\n", c.failures ? "FAIL" : "ok", p.name, threads,
           t.calls, background ? ", background" : "", c.why);
    fflush(stdout);
    ctsc_module_free(c.m);
    ctsc_value_free(want.value);
    return !c.failures;
}

/* ---- training -------------------------------------------------------------------------------- */

static const char training_name[] = "training";
static const char training_net[] =
    "import torch\n"
    "class Main(torch.nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.conv = torch.nn.Conv2d(1, 4, 3, padding=1)\n"
    "        self.norm = torch.nn.BatchNorm2d(4)\n"
    "        self.fc = torch.nn.Linear(64, 3)\n"
    "    def forward(self, x):\n"
    "        h = torch.relu(self.norm(self.conv(x))).flatten(1)\n"
    "        return torch.nn.functional.dropout(self.fc(h), 0.25).pow(2).mean()\n";

/* A module of the thread's own, trained; *state: what it has become. */
typedef struct trainee {
    pthread_t thread;
    pthread_barrier_t *begin; /* NULL: alone */
    int level;
    ctsc_value *state;
    char error[MAX_ERROR];
} trainee;

static ctsc_status training_steps(trainee *t, ctsc_scope *s, ctsc_module **m, ctsc_optimizer **o,
                                  ctsc_error *e) {
    enum { STEPS = 12 };
    ctsc_compile_options co = {.size = sizeof co, .seed = 7};
    ctsc_value *params = NULL;
    ctsc_status st = ctsc_module_compile_text("net.py", training_net, sizeof training_net - 1, &co,
                                              m, e);
    if (st == CTSC_OK) st = ctsc_module_set_opt(*m, t->level, e);
    if (st == CTSC_OK) st = ctsc_module_set_gradients(*m, true, e);
    if (st == CTSC_OK) st = ctsc_module_parameters(*m, &params, e);
    if (st == CTSC_OK)
        st = ctsc_optimizer_new("adam", params, 1, &(ctsc_setting){"lr", 1e-2}, o, e);
    ctsc_value_free(params);
    if (st == CTSC_OK) ctsc_module_train(*m);
    ctsc_scope_seed(s, 5);
    ctsc_scope_set_gradients(s, true);
    if (t->begin) pthread_barrier_wait(t->begin);
    for (int i = 0; st == CTSC_OK && i < STEPS; i++) {
        ctsc_value *x = ctsc_op(s, "aten::randn", 1, ctsc_ints(s, 4, (int64_t[]){8, 1, 4, 4}));
        ctsc_value *loss = ctsc_run(s, *m, "forward", 1, &x);
        if (!loss)
            return ctsc_error_set(e, ctsc_scope_status(s), "%s",
                                  ctsc_error_message(ctsc_scope_error(s)));
        ctsc_optimizer_zero_grad(*o);
        st = ctsc_backward(loss, NULL, 0, NULL, e);
        if (st == CTSC_OK) st = ctsc_optimizer_step(*o, e);
        ctsc_scope_clear(s);
    }
    return st == CTSC_OK ? ctsc_module_state(*m, &t->state, e) : st;
}

static void *training_run(void *ctx) {
    trainee *t = ctx;
    ctsc_scope *s = ctsc_scope_new();
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_optimizer *o = NULL;
    if (training_steps(t, s, &m, &o, e) != CTSC_OK)
        snprintf(t->error, sizeof t->error, "%s", ctsc_error_message(e));
    ctsc_optimizer_free(o);
    ctsc_scope_free(s);
    ctsc_module_free(m);
    ctsc_error_free(e);
    return NULL;
}

/* Each thread trains a module of its own: all become what the module of one thread does. */
static bool training_test(int threads, int level) {
    static trainee all[MAX_THREADS];
    trainee alone = {.level = level};
    pthread_barrier_t begin;
    bool ok = true;
    ctsc_set_compiling(CTSC_COMPILE_IN_CALLS);
    training_run(&alone);
    if (!alone.state) fatal(training_name, alone.error);
    pthread_barrier_init(&begin, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        all[i] = (trainee){.begin = &begin, .level = level};
        if (pthread_create(&all[i].thread, NULL, training_run, &all[i]))
            fatal("pthread_create", "failed");
    }
    for (int i = 0; i < threads; i++) {
        char *why = NULL;
        pthread_join(all[i].thread, NULL);
        bool same = all[i].state && ctsc_value_close(all[i].state, alone.state, 0, 0, &why);
        if (!same && ok) printf("thread %d: %s\n", i, why ? why : all[i].error);
        ok &= same;
        ctsc_string_free(why);
        ctsc_value_free(all[i].state);
    }
    printf("%-4s %-36s %3d threads, level %d\n", ok ? "ok" : "FAIL", training_name, threads, level);
    fflush(stdout);
    pthread_barrier_destroy(&begin);
    ctsc_value_free(alone.state);
    return ok;
}

static void case_throughput(int i, double seconds) {
    paths p = case_paths(i);
    crowd c = {.m = load_module(p.model),
               .inputs = p.inputs,
               .method = cases[i].method,
               .seconds = seconds / (3 * TURNS)};
    outcome warm = case_reference(&c);
    ctsc_value_free(warm.value);
    total one = {0}, two = {0}, processes = {0};
    for (int turn = 0; turn < TURNS; turn++) {
        crowd_run(&c, 1, &one);
        crowd_run(&c, 2, &two);
        crowd_run_processes(&c, &processes);
    }
    double us[2] = {one.cpu_seconds / (double)one.calls * 1e6,
                    two.cpu_seconds / (double)two.calls * 1e6};
    printf("%-36s %10.0f %10.0f %6.2f %10.2f %12.1f %12.1f %6.2f\n", p.name, one.per_second / TURNS,
           two.per_second / TURNS, two.per_second / one.per_second,
           processes.per_second / one.per_second, us[0], us[1], 2 * us[0] / us[1]);
    fflush(stdout);
    ctsc_module_free(c.m);
}

static int usage(void) {
    fprintf(stderr,
            "usage: threads [--throughput] [--seconds S] [--threads N,N,...] [--only NAME]\n");
    return 2;
}

int main(int argc, char **argv) {
    double seconds = 60;
    const char *counts = "2,8,64", *only = "";
    bool throughput = false, ok = true;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--throughput")) throughput = true;
        else if (i + 1 == argc) return usage();
        else if (!strcmp(argv[i], "--seconds")) seconds = atof(argv[++i]);
        else if (!strcmp(argv[i], "--threads")) counts = argv[++i];
        else if (!strcmp(argv[i], "--only")) only = argv[++i];
        else return usage();
    }
    int chosen = 0;
    for (int i = 0; i < CASES; i++) chosen += strstr(cases[i].model, only) != NULL;
    if (throughput) {
        ctsc_set_threads(1); /* each call on its own thread */
        ctsc_set_compiling(CTSC_COMPILE_IN_CALLS);
        printf("%-36s %10s %10s %6s %10s %12s %12s %6s\n", "calls per second, processor time",
               "1 thread", "2 threads", "ratio", "processes", "us, 1 thread", "us, 2", "ratio");
        for (int i = 0; i < CASES; i++)
            if (strstr(cases[i].model, only)) case_throughput(i, seconds / chosen);
        return 0;
    }
    for (char *next, *at = (char *)counts; *at; at = *next ? next + 1 : next) {
        long threads = strtol(at, &next, 10);
        if (next == at || threads < 1 || threads > MAX_THREADS) return usage();
        for (int i = 0; i < CASES; i++)
            for (int background = 0; background < 2 && strstr(cases[i].model, only); background++)
                ok &= case_test(i, (int)threads, seconds / chosen / 2, background);
        for (int level = 1; level <= 3 && strstr(training_name, only); level++)
            ok &= training_test((int)threads, level);
    }
    return ok ? 0 : 1;
}
