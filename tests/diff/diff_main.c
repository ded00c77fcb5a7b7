/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_main.c - the differential fuzzer: random graphs, run as they are written and in other ways
 * that must not make a difference.
 *
 *     diff_main --seed 1 --count 1000000 --jobs 2           passes: all those of level 1, and a random list of single ones
 *     diff_main --level 3 --vary 6                          a level of the executor, each graph on six sets of arguments
 *     diff_main --passes cse,licm --count 10000             one list
 *     diff_main --nests --vary 4                            fusion groups: lowered, and their loop nests run without a compiler (nests.h)
 *     diff_main --coverage 100 --jobs 2                     the same, for each pair of operators until 100 programs had it in a kernel; prints tables
 *     diff_main --pair 'slice, empty:sum' --seed 7 --one    one program of those
 *     diff_main --passes recompute,fuse --known            passes on graphs that know sizes, as those of captured calls do
 *     diff_main --images 100 --tables                       networks on images: convolutions and what is around them
 *     diff_main --seed 4711 --one                           one graph, in words
 *
 * Workers are processes: a crash or an endless loop is a finding like any other. A finding is
 * shrunk (shrink.c) and printed with its seed, the graph before and after, and the arguments. Exit
 * status 1 if there was any.
 */
#include "base/clock.h"
#include "diff_nests.h"
#include "graph_gen.h"
#include "passes/passes.h"
#include "runtime/interp/interp.h"
#include "runtime/kernels/shape/image_slices.h"
#include "shrink.h"

#include <argp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_JOBS = 64,
    SECONDS_PER_GRAPH = 20,
    NOISE_RUNS = 400,
    TENSOR_LIMIT = 1 << 20,
    STEP_LIMIT = 200000,
    CALL_SECONDS = 2,
    PASSES_ROOM = 400,
    CONFIG_LISTED = 5,
    CONFIGS = 5,
    KNOWN_PERCENT = 30, /* of random passes: on graphs that know sizes */
    DEFAULT_COUNT = 1000,
    STRETCH_PERCENT = 6,
    IMAGE_PERCENT = 4,
    SLICE_BYTES = 1000, /* images are small: so that batches are cut all the same */
};

static const char *const level_one = "lower-tuples,pool-constants,remove-mutation,unroll,[fold-"
                                     "constants,peephole,cse,licm,dce-writes],pool-constants";

/* Level 2 as far as groups, with what is only for captured calls. */
static const char *const level_two =
    "lower-tuples,pool-constants,[fold-constants,peephole,cse,licm,dce-writes],join-sums,fuse-"
    "loops,"
    "remove-mutation,unroll,[fold-constants,peephole,cse,licm,dce-writes],batch-mm,pool-constants,"
    "recompute,fuse-loops,fuse,dce,reorder";

typedef struct options {
    uint64_t seed, count;
    int jobs, level, vary, most, images; /* level -1: passes */
    const char *passes, *pair, *counts;
    double seconds;
    bool one, no_shrink, strict, nests, tables, known;
    int goal, native;  /* of --coverage; 0: none */
    int first, second; /* labels of --pair; -1: none */
} options;

/* Ends this process by SIGPROF after this many seconds of processor
 * time; 0: cancels it. Wall-clock time says little on a busy machine. */
static void limit_cpu(int seconds) {
    struct itimerval t = {.it_value = {.tv_sec = seconds}};
    setitimer(ITIMER_PROF, &t, NULL);
}

/* What the workers tell their parent. */
typedef struct shared {
    struct {
        _Atomic uint64_t seed, graphs, runs, failing, excused, findings, groups, kernels, again;
        _Atomic int first, second;
    } worker[MAX_JOBS];
    _Atomic uint64_t turn, last_open; /* of --coverage */
    coverage *cover;
} shared;

/* A way to run a graph. */
typedef struct config {
    /* of the executor; 0: passes below, then the interpreter; -1: node by node */
    int level;
    char passes[PASSES_ROOM];        /* "": none */
    bool coarse;                     /* they reduce the precision of layers with constant weights */
    bool known;                      /* the graph knows sizes, as that of a captured call */
    int list[CONFIG_LISTED], listed; /* of random passes: their numbers */
} config;

/* ---- running --------------------------------------------------------------------------------- */

typedef struct runner {
    function f;
    graph *g;
    runtime rt;
    bool changed[PASS_COUNT]; /* by which passes */
} runner;

static void runner_free(runner *r) {
    for (int i = 0; i < FUNCTION_LEVELS; i++) code_free(r->f.code[i]);
    graph_free(r->g);
}

/* The graph as `c` runs it; fails if a pass does. of: whose arguments say what a graph knows. */
static ctsc_status runner_new(runner *r, const graph *g, const gen_case *of, const config *c,
                              diag *d) {
    static const pass_options verify = {.verify_each = true};
    pass_time times[PASS_COUNT] = {{0}};
    pass_ctx cx = {.diag = d, .options = &verify, .times = times, .recompute_bytes = c->known};
    memset(&r->f, 0, sizeof r->f);
    r->g = graph_clone(g);
    r->f = (function){.name = "f", .qualified = "f", .graph = r->g, .state = FUNCTION_READY};
    runtime_init(&r->rt);
    r->rt.opt = c->level;
    if (c->known) gen_case_learn(of, r->g);
    ctsc_status s = c->passes[0] ? pass_run_list(&cx, r->g, c->passes, NULL) : CTSC_OK;
    for (int i = 0; i < PASS_COUNT; i++) r->changed[i] = times[i].changed > 0;
    return s == CTSC_OK ? graph_verify(d, r->g) : s;
}

static void runner_call(runner *r, size_t nargs, const value *args, outcome *o) {
    value own[GEN_MAX_ARGS], result = value_none();
    diag d = {.max_tensor = TENSOR_LIMIT};
    size_t nreturns = r->g->root->returns.len;
    copy_values(nargs, args, own);
    /* Native loops count no steps, and are not run where steps are limited. */
    if (r->rt.opt < 2) r->rt.steps_left = STEP_LIMIT;
    else r->rt.deadline = clock_now() + CALL_SECONDS * 1000000000u;
    ctsc_status s = interp_call(&r->rt, &r->f, (int)nargs, own, &d, &result);
    if (s != CTSC_OK) outcome_record(o, s, &d, nargs, own, 0, NULL);
    else if (nreturns == 1) outcome_record(o, s, &d, nargs, own, 1, &result);
    else
        outcome_record(o, s, &d, nargs, own, nreturns ? nreturns : 0,
                       nreturns ? result.u.tuple->items : NULL);
    for (size_t i = 0; i < nargs; i++) value_unref(own[i]);
    value_unref(result);
    diag_clear(&d);
}

/* Node by node, without the interpreter. */
static void evaluate_case(const graph *g, size_t nargs, const value *args, outcome *o) {
    value own[GEN_MAX_ARGS], results[16];
    diag d = {.max_tensor = TENSOR_LIMIT};
    evaluation e;
    evaluation_init(&e, &d);
    copy_values(nargs, args, own);
    ctsc_status s = evaluate_graph(&e, g, own);
    size_t n = s == CTSC_OK ? g->root->returns.len : 0;
    for (size_t i = 0; i < n; i++) results[i] = evaluation_get(&e, g->root->returns.data[i]);
    outcome_record(o, s, &d, nargs, own, n, results);
    evaluation_free(&e);
    for (size_t i = 0; i < nargs; i++) value_unref(own[i]);
    diag_clear(&d);
}

/* ---- one way against the plain one ----------------------------------------------------------- */

/* EXCUSED: rounding; BROKEN: a pass failed */
typedef enum verdict { SAME, EXCUSED, DIFFERENT, BROKEN } verdict;

typedef struct check {
    const gen_case *c;
    const value *args;
    config config;
    bool strict;
    _Atomic uint64_t *groups; /* fusion groups, counted if not NULL */
    _Atomic uint64_t *again;  /* graphs that `recompute` changed, likewise */
    /* arguments that the graph was not made for: what fails may be something that nobody
     * needs, and be gone */
    bool varied;
    coverage *cover; /* of passes; NULL: not counted */
    int kind;        /* of the finding: which of the two failed; 0: any */
    int calls;       /* of the optimised graph: kernels may be made at a later one */
} check;

static bool check_has_op(const block *b, const op *o) {
    for (const node *n = b->first; n; n = n->next) {
        if (n->op == o) return true;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (check_has_op(n->blocks.data[i], o)) return true;
    }
    return false;
}

/* What fails may be something that nobody needs in the end, and be gone: then it fails no more.
 * after: the optimised graph, before fusion. */
static bool check_may_succeed(const check *k, const graph *g, const graph *after) {
    const node *last = g->root->last;
    runner r = {.g = NULL};
    config c = {0};
    diag d = {0};
    bool gone = k->varied || !k->c->fails || !last || !last->op;
    if (!gone && k->config.level > 0) { /* which optimises elsewhere */
        snprintf(c.passes, sizeof c.passes, "%s", level_one);
        if (runner_new(&r, g, k->c, &c, &d) == CTSC_OK) after = r.g;
    }
    if (!gone) gone = !check_has_op(after->root, last->op);
    if (r.g) runner_free(&r);
    diag_clear(&d);
    return gone;
}

static verdict check_outcomes(const check *k, const graph *g, const graph *after,
                              const outcome *want, const outcome *got) {
    if (outcome_equal(want, got)) return SAME;
    if (want->status == CTSC_LIMIT || got->status == CTSC_LIMIT) return EXCUSED;
    if (want->status != CTSC_OK && k->varied) return EXCUSED;
    /* passes/weights/fold_weights.c */
    if (want->status == CTSC_OK && got->message &&
        strstr(got->message, "has no batch dim where this level"))
        return EXCUSED;
    if (want->status != CTSC_OK && got->status == CTSC_OK && check_may_succeed(k, g, after))
        return EXCUSED;
    /* Of two operators that fail, as there may be in a loop, either may be first; what was written
     * before depends on it. */
    bool loop = g->root->last && g->root->last->kind == N_LOOP;
    if (want->status != CTSC_OK && got->status != CTSC_OK &&
        (loop || strcmp(want->message, got->message)))
        return EXCUSED;
    if (want->status != CTSC_OK && got->status != CTSC_OK && want->status == got->status &&
        want->bits.len == got->bits.len &&
        !memcmp(want->bits.data, got->bits.data, want->bits.len * sizeof *want->bits.data))
        return SAME;
    if (k->strict) return DIFFERENT;
    return outcome_within_noise(g, (size_t)k->c->nargs, k->args, want, got, NOISE_RUNS,
                                k->config.coarse, 99)
               ? EXCUSED
               : DIFFERENT;
}

static int check_kind(const outcome *want, const outcome *got) {
    return 1 + 2 * (want->status != CTSC_OK) + (got->status != CTSC_OK);
}

/* Which passes met on a graph: each of those that changed it, with those that had
 * changed it before. */
static void config_count(const config *c, const bool *changed, coverage *cover) {
    for (int i = 0; i < c->listed; i++)
        for (int k = i + 1; changed[c->list[i]] && k < c->listed; k++) {
            if (!changed[c->list[k]] || c->list[i] == c->list[k]) continue;
            cover->passes[c->list[i]][c->list[k]]++;
            for (int m = k + 1; m < c->listed; m++)
                if (changed[c->list[m]]) cover->triples[c->list[i]][c->list[k]][c->list[m]]++;
        }
}

/* g, which may be smaller than the case's graph. report: says why, if it is different. */
static verdict check_graph(check *k, const graph *g, const outcome *plain, strbuf *report) {
    runner r;
    diag d = {0};
    outcome want = {0}, got = {0};
    verdict v = SAME;
    bool native_loops = k->config.level == 3 && block_holds(g->root, N_LOOP);
    if (!plain) {
        config as_is = {0};
        if (runner_new(&r, g, k->c, &as_is, &d) == CTSC_OK)
            runner_call(&r, (size_t)k->c->nargs, k->args, &want);
        runner_free(&r);
        plain = &want;
    }
    if (k->config.level < 0) {
        evaluate_case(g, (size_t)k->c->nargs, k->args, &got);
        v = check_outcomes(k, g, g, plain, &got);
    } else if (runner_new(&r, g, k->c, &k->config, &d) != CTSC_OK) {
        v = BROKEN;
        if (report) diag_render(&d, report, false);
        runner_free(&r);
    } else {
        for (int i = 0; i < k->calls && v <= EXCUSED; i++) {
            runner_call(&r, (size_t)k->c->nargs, k->args, &got);
            if (native_loops) outcome_share_as(&got, plain);
            v = check_outcomes(k, g, r.g, plain, &got);
        }
        if (k->again) *k->again += r.changed[PASS_NUMBER_pass_recompute];
        if (k->cover) config_count(&k->config, r.changed, k->cover);
        if (k->groups && r.f.code[FUNCTION_LEVELS - 1])
            *k->groups += r.f.code[FUNCTION_LEVELS - 1]->groups.len;
        if (report && v == DIFFERENT && k->config.passes[0]) graph_print(r.g, NULL, report);
        runner_free(&r);
    }
    /* while shrinking: another story */
    if (v == DIFFERENT && k->kind && k->kind != check_kind(plain, &got)) v = SAME;
    if (v == DIFFERENT) k->kind = check_kind(plain, &got);
    if (report && v == DIFFERENT) outcome_explain(plain, &got, report);
    outcome_free(&want);
    outcome_free(&got);
    diag_clear(&d);
    return v;
}

/* ---- findings -------------------------------------------------------------------------------- */

/* In a process of its own, since it may crash. */
static bool finding_is_bad(void *ctx, graph *g) {
    check *k = ctx;
    pid_t child = fork();
    if (child == 0) {
        limit_cpu(SECONDS_PER_GRAPH);
        if (!freopen("/dev/null", "w", stderr)) _exit(0);
        _exit(check_graph(k, g, NULL, NULL) >= DIFFERENT ? 1 : 0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0) return false;
    return WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) != 0);
}

static void finding_print_arguments(const check *k, strbuf *out) {
    for (int i = 0; i < k->c->nargs; i++) {
        sb_printf(out, "argument %d = ", i);
        value_print(k->args[i], out);
        if (k->args[i].tag == V_TENSOR) {
            const tensor *t = k->args[i].u.tensor;
            sb_puts(out, " strides");
            for (int j = 0; j < t->ndim; j++) sb_printf(out, " %" PRId64, t->strides[j]);
        }
        sb_putc(out, '\n');
    }
}

static void finding_report(const options *o, uint64_t seed, check *k) {
    strbuf out = STRBUF_INIT;
    graph *g = o->no_shrink ? graph_clone(k->c->g) : shrink_graph(k->c->g, finding_is_bad, k);
    sb_printf(&out, "\n==== seed %" PRIu64 ", level %d, passes '%s'%s\n", seed, k->config.level,
              k->config.passes, k->config.known ? " on a graph that knows sizes" : "");
    graph_print(g, NULL, &out);
    finding_print_arguments(k, &out);
    fputs(sb_str(&out), stdout);
    fflush(stdout);
    sb_clear(&out);
    pid_t child = fork(); /* what follows may crash */
    if (child == 0) {
        limit_cpu(SECONDS_PER_GRAPH);
        verdict v = check_graph(k, g, NULL, &out);
        printf("---- %s\n%s",
               v == BROKEN      ? "a pass failed"
               : v == DIFFERENT ? "after"
                                : "no difference any more",
               sb_str(&out));
        fflush(stdout);
        _exit(0);
    }
    int status = 0;
    if (child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status))
        printf("---- ended by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    fflush(stdout);
    graph_free(g);
    sb_free(&out);
}

/* ---- one seed -------------------------------------------------------------------------------- */

/* Two to five single passes in any order. */
static void config_random(rng *r, bool images, config *c) {
    static const char *const single[] = {"lower-tuples",   "peephole",
                                         "peephole-shown", "fold-constants",
                                         "pool-constants", "dce",
                                         "order-outputs",  "cse",
                                         "dce-writes",     "licm",
                                         "unroll",         "remove-mutation",
                                         "normalize-ops",  "scalar-constants",
                                         "decompose",      "reorder",
                                         "batch-mm",       "fuse-linear",
                                         "fuse-loops",     "fuse",
                                         "recompute",      "join-sums"};
    static const char *const of_images[] = {"layout",
                                            "layout",
                                            "layout",
                                            "fuse-epilogues-host",
                                            "fuse-epilogues-host",
                                            "cat-in-place",
                                            "cat-in-place",
                                            "slice-images",
                                            "slice-images",
                                            "fold-weights",
                                            "prepack"};
    const int layout = (int)(pass_find("layout") - pass_table);
    c->listed = (int)rng_range(r, 2, CONFIG_LISTED);
    c->level = 0;
    c->passes[0] = 0;
    for (int i = 0; i < c->listed; i++) {
        bool image = images && rng_chance(r, 50);
        const char *name = image ? of_images[rng_next(r) % (sizeof of_images / sizeof *of_images)]
                                 : single[rng_next(r) % (sizeof single / sizeof *single)];
        /* which is for what layout leaves */
        if (i && c->list[i - 1] == layout && rng_chance(r, 40)) name = "fuse-epilogues-host";
        if (i) strcat(c->passes, ",");
        strcat(c->passes, name);
        c->list[i] = (int)(pass_find(name) - pass_table);
    }
}

static int config_list(const options *o, rng *r, bool images, config *list) {
    if (o->passes) {
        list[0] = (config){.coarse = strstr(o->passes, "reduce-") != NULL, .known = o->known};
        snprintf(list[0].passes, sizeof list[0].passes, "%s", o->passes);
        return 1;
    }
    if (o->level >= 0) {
        list[0] = (config){.level = o->level};
        return 1;
    }
    list[0] = (config){.level = -1};
    list[1] = (config){0};
    snprintf(list[1].passes, sizeof list[1].passes, "%s%s", level_one,
             images ? ",layout,fuse-epilogues-host,cat-in-place,slice-images,dce" : "");
    list[2] = (config){0};
    config_random(r, images, &list[2]);
    list[2].known = rng_chance(r, KNOWN_PERCENT);
    list[3] = (config){.known = true};
    snprintf(list[3].passes, sizeof list[3].passes, "%s", level_two);
    if (!images) return 4;
    list[4] = (config){.coarse = true};
    snprintf(list[4].passes, sizeof list[4].passes,
             "fuse-linear,fold-weights,layout,fuse-epilogues-host,prepack,%s,dce",
             rng_chance(r, 60) ? "reduce-bf16" : "reduce-int8w");
    return 5;
}

static verdict seed_check_case(const options *o, uint64_t seed, gen_case *c, rng *r, bool varied,
                               bool report, shared *sh, int worker) {
    config list[CONFIGS], as_is = {0};
    outcome plain = {0};
    runner p;
    diag d = {0};
    verdict worst = SAME;
    int n = config_list(o, r, c->images, list);
    if (runner_new(&p, c->g, c, &as_is, &d) != CTSC_OK) { /* the generator's fault */
        printf("seed %" PRIu64 ": %s\n", seed, diag_message(&d));
        worst = BROKEN;
        n = 0;
    } else {
        runner_call(&p, (size_t)c->nargs, c->args, &plain);
    }
    runner_free(&p);
    if (plain.status != CTSC_OK) sh->worker[worker].failing++;
    if (plain.status == CTSC_LIMIT) n = 0;
    for (int i = 0; i < n; i++) {
        check k = {.c = c,
                   .args = c->args,
                   .config = list[i],
                   .strict = o->strict,
                   .varied = varied,
                   .groups = &sh->worker[worker].groups,
                   .again = &sh->worker[worker].again,
                   .cover = sh->cover,
                   .calls = list[i].level > 1 ? 2 : 1};
        verdict v = check_graph(&k, c->g, &plain, NULL);
        sh->worker[worker].runs++;
        sh->worker[worker].excused += v == EXCUSED;
        if (v > worst) worst = v;
        if (v < DIFFERENT) continue;
        sh->worker[worker].findings++;
        k.cover = NULL;
        k.again = NULL;
        if (report) finding_report(o, seed, &k);
        break;
    }
    outcome_free(&plain);
    diag_clear(&d);
    return worst;
}

static verdict seed_check(const options *o, const gen_ops *ops, uint64_t seed, bool report,
                          shared *sh, int worker) {
    gen_case c;
    rng r = {seed ^ 0x5bd1e995u};
    verdict v = SAME;
    if (gen_case_new(ops, seed, &c)) {
        if (o->one) {
            strbuf sb = STRBUF_INIT;
            graph_print(c.g, NULL, &sb);
            fputs(sb_str(&sb), stdout);
            sb_free(&sb);
        }
        sh->worker[worker].graphs++;
        v = seed_check_case(o, seed, &c, &r, false, report, sh, worker);
        for (int i = 1; i < o->vary && v < DIFFERENT; i++) {
            gen_case_vary(&c, &r, 40);
            v = seed_check_case(o, seed, &c, &r, true, report, sh, worker);
        }
    }
    gen_case_free(&c);
    return v;
}

/* ---- workers --------------------------------------------------------------------------------- */

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* One program for fusion groups. */
static bool worker_nests(const options *o, const gen_ops *ops, shared *sh, int worker,
                         uint64_t seed, int first, int second, int vary, int stretch) {
    nests_job j = {.ops = ops,
                   .cover = sh->cover,
                   .first = first,
                   .second = second,
                   .vary = vary,
                   .stretch = stretch,
                   .show = o->one};
    nests_totals t = {0};
    strbuf report = STRBUF_INIT;
    sh->worker[worker].seed = seed;
    sh->cover->programs++;
    sh->worker[worker].first = first;
    sh->worker[worker].second = second;
    limit_cpu(4 * SECONDS_PER_GRAPH); /* noise takes its time */
    bool differs = nests_seed(&j, seed, &t, &report) == NESTS_DIFFERENT;
    limit_cpu(0);
    sh->worker[worker].graphs += t.graphs;
    sh->worker[worker].runs += t.runs;
    sh->worker[worker].groups += t.groups;
    sh->worker[worker].kernels += t.kernels;
    sh->worker[worker].excused += t.excused;
    sh->worker[worker].findings += differs;
    if (differs) {
        printf("\n==== seed %" PRIu64 "%s%s%s%s\n%s", seed, first < 0 ? "" : " --pair ",
               first < 0 ? "" : coverage_label(first), first < 0 ? "" : ":",
               first < 0 ? "" : coverage_label(second), sb_str(&report));
        fflush(stdout);
    }
    sb_free(&report);
    return differs;
}

/* A program of the cell, compiled. */
static bool worker_native(const options *o, const gen_ops *ops, shared *sh, int worker,
                          uint64_t seed, int first, int second) {
    options native = *o;
    gen_case c;
    coverage_miss miss;
    rng r = {seed};
    verdict v = SAME;
    native.level = 3;
    native.nests = false;
    limit_cpu(SECONDS_PER_GRAPH);
    if (gen_case_pair(ops, seed, first, second, &c, &miss))
        v = seed_check_case(&native, seed, &c, &r, false, true, sh, worker);
    limit_cpu(0);
    gen_case_free(&c);
    sh->cover->native[first][second]++;
    return v >= DIFFERENT;
}

/* The schedule of a reduction depends on sizes, so long ones are tried: each
 * reduction, followed by anything, until it has met all schedules that it may. */
static void worker_cover_schedules(const options *o, const gen_ops *ops, shared *sh, int worker,
                                   double until) {
    enum { PATIENCE = 3, SETS = 4 };
    rng r = {o->seed ^ (uint64_t)(worker + 1)};
    int found = 0, labels = coverage_labels();
    for (int i = 0; i < PATIENCE * o->goal && found < o->most; i++)
        for (int second = worker % o->jobs; second < labels && found < o->most; second += o->jobs) {
            if (until > 0 && seconds_now() > until) return;
            if (!coverage_reduces(second) || coverage_met_all(sh->cover, second, o->goal)) continue;
            int first = (int)rng_range(&r, 0, labels - 1);
            found += worker_nests(o, ops, sh, worker, rng_next(&r), first, second, SETS, 100);
        }
}

/* Does the cell want more programs, and is there hope? */
static bool cell_is_open(const options *o, const coverage *c, int first, int second) {
    enum { HOPELESS = 64, PATIENCE = 12 };
    uint32_t hits = c->pairs[first][second], tried = c->tries[first][second];
    return hits < (uint32_t)o->goal && tried < (hits ? (uint32_t)(PATIENCE * o->goal) : HOPELESS);
}

/* Cells in turn, some programs each, until all have the goal or seem out of reach. */
static void worker_cover(const options *o, const gen_ops *ops, shared *sh, int worker,
                         double until) {
    enum { AT_ONCE = 8, HOP = 48271 }; /* HOP, a prime: any part of all cells is a sample of them */
    uint64_t labels = (uint64_t)coverage_labels(), all = labels * labels;
    int found = 0;
    uint64_t programs = 0, most = o->count ? o->count : UINT64_MAX;
    if (!o->count) worker_cover_schedules(o, ops, sh, worker, until);
    for (uint64_t turn;
         found < o->most && programs < most && (turn = sh->turn++) - sh->last_open <= all;) {
        uint64_t cell = turn * HOP % all;
        int first = (int)(cell / labels), second = (int)(cell % labels);
        for (int i = 0; i < AT_ONCE && found < o->most && cell_is_open(o, sh->cover, first, second);
             i++) {
            uint32_t hits = sh->cover->pairs[first][second];
            sh->last_open = turn;
            programs += (uint64_t)o->jobs;
            uint64_t seed = o->seed + turn * AT_ONCE + (uint64_t)i;
            found += worker_nests(o, ops, sh, worker, seed, first, second, o->vary,
                                  STRETCH_PERCENT);
            if (o->native && sh->cover->native[first][second] < (uint32_t)o->native &&
                sh->cover->pairs[first][second] > hits)
                found += worker_native(o, ops, sh, worker, seed, first, second);
        }
        if (until > 0 && seconds_now() > until) break;
    }
    exit(0);
}

static void worker_run(const options *o, const gen_ops *ops, shared *sh, int worker, uint64_t from,
                       double until) {
    int found = 0;
    if (o->goal) worker_cover(o, ops, sh, worker, until);
    for (uint64_t at = from; at < o->seed + o->count && found < o->most; at += (uint64_t)o->jobs) {
        sh->worker[worker].seed = at;
        limit_cpu(SECONDS_PER_GRAPH);
        if (o->nests) {
            found += worker_nests(o, ops, sh, worker, at, o->first, o->second, o->vary,
                                  STRETCH_PERCENT);
        } else if (seed_check(o, ops, at, false, sh, worker) >= DIFFERENT) {
            limit_cpu(0);
            found++;
            /* memory that nobody wrote, perhaps */
            if (seed_check(o, ops, at, true, sh, worker) < DIFFERENT) {
                printf("\n==== seed %" PRIu64 ": a difference that did not come again\n", at);
                fflush(stdout);
            }
        }
        if (until > 0 && seconds_now() > until) break;
    }
    exit(0);
}

/* A crash: once more in this process's children, to shrink it. */
static void worker_crashed(const options *o, const gen_ops *ops, shared *sh, int worker, int sig) {
    uint64_t seed = sh->worker[worker].seed;
    int first = sh->worker[worker].first, second = sh->worker[worker].second;
    bool pair = o->goal && first >= 0;
    printf("\n==== seed %" PRIu64 "%s%s%s%s ended by signal %d (%s)\n", seed,
           pair ? " --pair " : "", pair ? coverage_label(first) : "", pair ? ":" : "",
           pair ? coverage_label(second) : "", sig, strsignal(sig));
    fflush(stdout);
    sh->worker[worker].findings++;
    if (o->no_shrink || o->vary > 1 || o->nests) return;
    pid_t child = fork(); /* making the graph may be what crashes */
    if (child != 0) {
        waitpid(child, NULL, 0);
        return;
    }
    gen_case c;
    rng r = {seed ^ 0x5bd1e995u};
    config list[CONFIGS];
    if (!gen_case_new(ops, seed, &c)) exit(0);
    int n = config_list(o, &r, c.images, list);
    for (int i = 0; i < n; i++) {
        check k = {.c = &c,
                   .args = c.args,
                   .config = list[i],
                   .strict = o->strict,
                   .calls = list[i].level > 1 ? 2 : 1};
        if (!finding_is_bad(&k, c.g)) continue;
        finding_report(o, seed, &k);
        break;
    }
    exit(0);
}

static pid_t worker_start(const options *o, const gen_ops *ops, shared *sh, int worker,
                          uint64_t from, double until) {
    fflush(stdout);
    pid_t p = fork();
    if (p == 0) worker_run(o, ops, sh, worker, from, until);
    return p;
}

static void run_all(const options *o, const gen_ops *ops, shared *sh) {
    pid_t pids[MAX_JOBS];
    double until = o->seconds > 0 ? seconds_now() + o->seconds : 0;
    int live = o->jobs, crashes = 0;
    for (int i = 0; i < o->jobs; i++)
        pids[i] = worker_start(o, ops, sh, i, o->seed + (uint64_t)i, until);
    while (live > 0) {
        int status = 0, i = 0;
        pid_t p = wait(&status);
        while (i < o->jobs && pids[i] != p) i++;
        if (i == o->jobs) continue;
        if (WIFSIGNALED(status) || WEXITSTATUS(status)) {
            worker_crashed(o, ops, sh, i, WIFSIGNALED(status) ? WTERMSIG(status) : SIGABRT);
            if (++crashes < o->most) {
                pids[i] = worker_start(o, ops, sh, i, sh->worker[i].seed + (uint64_t)o->jobs,
                                       until);
                continue;
            }
        }
        live--;
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

enum {
    OPT_SEED = 256,
    OPT_COUNT,
    OPT_JOBS,
    OPT_LEVEL,
    OPT_PASSES,
    OPT_VARY,
    OPT_ONE,
    OPT_SECONDS,
    OPT_MOST,
    OPT_NO_SHRINK,
    OPT_STRICT,
    OPT_NESTS,
    OPT_COVERAGE,
    OPT_COUNTS,
    OPT_NATIVE,
    OPT_PAIR,
    OPT_TABLES,
    OPT_IMAGES,
    OPT_KNOWN
};

static const struct argp_option option_table[] = {
    {"seed", OPT_SEED, "N", 0, "the first seed (1)", 0},
    {"count", OPT_COUNT, "N", 0,
     "how many seeds (1000); with --coverage, programs at most (any number)", 0},
    {"jobs", OPT_JOBS, "N", 0, "processes (1)", 0},
    {"level", OPT_LEVEL, "N", 0, "compare this level of the executor (1, 2, 3) instead of passes",
     0},
    {"passes", OPT_PASSES, "LIST", 0, "compare these passes", 0},
    {"vary", OPT_VARY, "N", 0, "sets of arguments for each graph (1)", 0},
    {"one", OPT_ONE, 0, 0, "only the first seed; print its graph", 0},
    {"seconds", OPT_SECONDS, "S", 0, "stop after so long", 0},
    {"most", OPT_MOST, "N", 0, "stop after so many findings (10)", 0},
    {"strict", OPT_STRICT, 0, 0, "floats must be equal, whatever rounding may do", 0},
    {"nests", OPT_NESTS, 0, 0, "fusion groups as loop nests, without a compiler", 0},
    {"coverage", OPT_COVERAGE, "N", OPTION_ARG_OPTIONAL,
     "the same, until N programs (100) had each pair of operators in a kernel; print tables", 0},
    {"counts", OPT_COUNTS, "FILE", 0,
     "with --coverage: go on from the counts in FILE, and leave them there; wants a --seed that it "
     "did not have yet",
     0},
    {"native", OPT_NATIVE, "N", 0,
     "with --coverage: so many of each pair's programs are compiled as well (0)", 0},
    {"pair", OPT_PAIR, "A:B", 0, "the same, programs for one pair", 0},
    {"tables", OPT_TABLES, 0, 0, "print which passes met on a graph", 0},
    {"images", OPT_IMAGES, "N", 0,
     "of so many of a hundred seeds networks on images are made (4), without --coverage", 0},
    {"known", OPT_KNOWN, 0, 0, "with --passes: on graphs that know sizes", 0},
    {"no-shrink", OPT_NO_SHRINK, 0, 0, "print findings as they are", 0},
    {0},
};

static error_t option_parse(int key, char *arg, struct argp_state *state) {
    options *o = state->input;
    switch (key) {
    case OPT_SEED: o->seed = strtoull(arg, NULL, 10); break;
    case OPT_COUNT: o->count = strtoull(arg, NULL, 10); break;
    case OPT_JOBS: o->jobs = atoi(arg); break;
    case OPT_LEVEL: o->level = atoi(arg); break;
    case OPT_PASSES: o->passes = arg; break;
    case OPT_VARY: o->vary = atoi(arg); break;
    case OPT_ONE:
        o->one = true;
        o->count = 1;
        break;
    case OPT_SECONDS: o->seconds = atof(arg); break;
    case OPT_MOST: o->most = atoi(arg); break;
    case OPT_STRICT: o->strict = true; break;
    case OPT_NO_SHRINK: o->no_shrink = true; break;
    case OPT_NESTS: o->nests = true; break;
    case OPT_COVERAGE:
        o->nests = true;
        o->goal = arg ? atoi(arg) : 100;
        break;
    case OPT_COUNTS: o->counts = arg; break;
    case OPT_NATIVE: o->native = atoi(arg); break;
    case OPT_TABLES: o->tables = true; break;
    case OPT_KNOWN: o->known = true; break;
    case OPT_IMAGES: o->images = atoi(arg); break;
    case OPT_PAIR:
        o->nests = true;
        o->pair = arg;
        break;
    case ARGP_KEY_END:
        if (o->jobs < 1 || o->jobs > MAX_JOBS)
            argp_error(state, "--jobs is between 1 and %d", MAX_JOBS);
        if (!o->count && !o->goal) o->count = DEFAULT_COUNT;
        if (o->goal < 0) argp_error(state, "--coverage wants a number of programs");
        if (o->passes && strlen(o->passes) >= PASSES_ROOM)
            argp_error(state, "--passes is too long");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* "slice, empty:sum" */
static bool option_pair(options *o) {
    char both[200];
    for (int i = 0; i < coverage_labels(); i++)
        for (int k = 0; k < coverage_labels(); k++) {
            snprintf(both, sizeof both, "%s:%s", coverage_label(i), coverage_label(k));
            if (!strcmp(both, o->pair)) o->first = i, o->second = k;
        }
    if (o->first < 0) fprintf(stderr, "diff: there is no pair '%s'\n", o->pair);
    return o->first >= 0;
}

int main(int argc, char **argv) {
    static const struct argp argp = {
        option_table, option_parse,
        NULL,         "Random graphs at different levels of optimisation must do the same.",
        NULL,         NULL,
        NULL};
    options o = {.seed = 1,
                 .count = 0,
                 .jobs = 1,
                 .level = -1,
                 .vary = 1,
                 .most = 10,
                 .images = IMAGE_PERCENT,
                 .first = -1,
                 .second = -1};
    if (argp_parse(&argp, argc, argv, 0, NULL, &o)) return 2;
    ctsc_set_compiling(CTSC_COMPILE_IN_CALLS);
    image_slices_set_bytes(SLICE_BYTES);
    shared *sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (sh == MAP_FAILED) return 2;
    if (!(sh->cover = coverage_new(o.counts))) {
        fprintf(stderr, "diff: %s cannot be used: it is not a file of counts of this version\n",
                o.counts ? o.counts : "shared memory");
        return 2;
    }
    if (o.pair && !option_pair(&o)) return 2;
    gen_ops *ops = gen_ops_new(o.images);
    double begin = seconds_now();
    run_all(&o, ops, sh);
    uint64_t graphs = 0, runs = 0, failing = 0, excused = 0, findings = 0, groups = 0, kernels = 0,
             again = 0;
    for (int i = 0; i < o.jobs; i++) {
        graphs += sh->worker[i].graphs;
        runs += sh->worker[i].runs;
        failing += sh->worker[i].failing;
        excused += sh->worker[i].excused;
        findings += sh->worker[i].findings;
        groups += sh->worker[i].groups;
        kernels += sh->worker[i].kernels;
        again += sh->worker[i].again;
    }
    double took = seconds_now() - begin;
    printf("%" PRIu64 " graphs, %" PRIu64 " comparisons, %" PRIu64 " that fail, %" PRIu64
           " excused, %" PRIu64 " findings, %.1f s, %.0f graphs/s\n",
           graphs, runs, failing, excused, findings, took, (double)graphs / took);
    if (again) printf("%" PRIu64 " graphs in which results are made again\n", again);
    if (groups) printf("%" PRIu64 " fusion groups, %" PRIu64 " loop nests\n", groups, kernels);
    if (o.tables || o.goal) {
        strbuf sb = STRBUF_INIT;
        if (o.goal) coverage_report(sh->cover, o.goal, &sb);
        else coverage_report_passes(sh->cover, &sb);
        printf("\n%s", sb_str(&sb));
        sb_free(&sb);
    }
    gen_ops_free(ops);
    return findings ? 1 : 0;
}
