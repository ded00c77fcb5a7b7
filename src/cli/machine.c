/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.c - the rates of memory and of arithmetic, with as many threads as the benchmark uses.
 *
 * Copy: every thread copies its own part of a buffer of twice the last cache (at least 64 MiB) to
 * another; the best of five rounds counts, since only disturbances make a round slower.
 * Arithmetic: 12 independent vector accumulators per thread, enough for the latency of a
 * multiply-add (4 or 5 cycles) times the two units of current cores; the widest vectors the
 * processor has. A round is 1 ms, so threads wait for each other in a loop before it: waking up at
 * a barrier takes them 5 % of that.
 * Tests: tests/cli/bench.test, tests/cli/doctor.test
 */
#include "cli/machine.h"

#include "ctsc_compiler.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { MACHINE_ROUNDS = 5, MACHINE_MAX_THREADS = 1024, FMA_STEPS = 500000, HUGE_PAGE = 2 << 20 };

double machine_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

int machine_cores(void) {
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                        : (int)sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? n : 1;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* Each returns the operations it did, and stores in *sink a
 * value that depends on all of them. x stays close to 1. */

#if defined(__x86_64__)
#define FMA_LOOP(vector, width, set1, fmadd, add, store)                                           \
    vector a[12], m = set1(0.999f), c = set1(0.001f);                                              \
    for (int i = 0; i < 12; i++) a[i] = set1((float)i);                                            \
    for (int s = 0; s < FMA_STEPS; s++) {                                                          \
        a[0] = fmadd(a[0], m, c), a[1] = fmadd(a[1], m, c), a[2] = fmadd(a[2], m, c);              \
        a[3] = fmadd(a[3], m, c), a[4] = fmadd(a[4], m, c), a[5] = fmadd(a[5], m, c);              \
        a[6] = fmadd(a[6], m, c), a[7] = fmadd(a[7], m, c), a[8] = fmadd(a[8], m, c);              \
        a[9] = fmadd(a[9], m, c), a[10] = fmadd(a[10], m, c), a[11] = fmadd(a[11], m, c);          \
    }                                                                                              \
    for (int i = 1; i < 12; i++) a[0] = add(a[0], a[i]);                                           \
    store(sink, a[0]);                                                                             \
    return 2.0 * 12 * (width) * FMA_STEPS

__attribute__((target("avx512f"))) static double fma_avx512(float *sink) {
    FMA_LOOP(__m512, 16, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_add_ps, _mm512_storeu_ps);
}

__attribute__((target("avx2,fma"))) static double fma_avx2(float *sink) {
    FMA_LOOP(__m256, 8, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_add_ps, _mm256_storeu_ps);
}
#endif

#if defined(__aarch64__)
/* Some of these processors have four units. */
static double fma_neon(float *sink) {
    enum { CHAINS = 16 };
    float32x4_t a[CHAINS], m = vdupq_n_f32(0.999f), c = vdupq_n_f32(0.001f);
    for (int i = 0; i < CHAINS; i++) a[i] = vdupq_n_f32((float)i);
    for (int s = 0; s < FMA_STEPS; s++)
#pragma GCC unroll 16
        for (int i = 0; i < CHAINS; i++) a[i] = vfmaq_f32(c, a[i], m);
    for (int i = 1; i < CHAINS; i++) a[0] = vaddq_f32(a[0], a[i]);
    vst1q_f32(sink, a[0]);
    return 2.0 * CHAINS * 4 * FMA_STEPS;
}
#endif

/* Vectors of four, a multiplication and an addition. */
static double fma_plain(float *sink) {
    typedef float vector __attribute__((vector_size(16)));
    vector a[12], m = {0.999f, 0.999f, 0.999f, 0.999f}, c = {0.001f, 0.001f, 0.001f, 0.001f};
    for (int i = 0; i < 12; i++) a[i] = m * (float)i;
    for (int s = 0; s < FMA_STEPS; s++)
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) a[i] = a[i] * m + c;
    for (int i = 1; i < 12; i++) a[0] += a[i];
    memcpy(sink, &a[0], sizeof a[0]);
    return 2.0 * 12 * 4 * FMA_STEPS;
}

#if defined(__x86_64__) || defined(__aarch64__)
static bool machine_uses(const char *set) {
    ctsc_isa row = {.size = sizeof row};
    for (size_t i = 0; ctsc_isa_at(i, &row); i++)
        if (!strcmp(row.name, set)) return row.used;
    return false;
}
#endif

static double fma_run(float *sink) {
#if defined(__x86_64__)
    if (machine_uses("avx512")) return fma_avx512(sink);
    if (machine_uses("avx2")) return fma_avx2(sink);
#elif defined(__aarch64__)
    if (machine_uses("neon")) return fma_neon(sink);
#endif
    return fma_plain(sink);
}

/* ---- denormal numbers ------------------------------------------------------------------------ */

/* Squares of x: the shortest of some rounds, in microseconds. */
static double denormal_us(float x) {
    enum { SQUARES = 2048, ROUNDS = 20 };
    static float in[SQUARES], out[SQUARES];
    double best = 1e9;
    for (int i = 0; i < SQUARES; i++) in[i] = x;
    for (int round = 0; round < ROUNDS; round++) {
        double begin = machine_now();
        for (int i = 0; i < SQUARES; i++) out[i] = in[i] * in[i];
        __asm__ volatile("" ::"r"(in), "r"(out) : "memory"); /* every round's are made */
        double us = machine_now() - begin;
        if (us < best) best = us;
    }
    return best;
}

double machine_denormal_factor(void) {
    double normal = denormal_us(0.5f), denormal = denormal_us(1e-20f);
    return normal > 0 && denormal > normal ? denormal / normal : 1;
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct machine_part {
    pthread_barrier_t *barrier; /* of all parts and the one who measures */
    atomic_int *awake;          /* parts that passed it, in all rounds */
    int parts, number;          /* how many there are, and which this is */
    char *from, *to;            /* NULL: arithmetic */
    size_t bytes;
    double done; /* operations or bytes of one round */
    double begin, end;
    float sink[16];
} machine_part;

/* Until all parts are here. */
static void machine_meet(const machine_part *p, int round) {
    atomic_fetch_add(p->awake, 1);
    for (int spins = 1; atomic_load(p->awake) < p->parts * (round + 1); spins++)
        if (spins % 1024 == 0) sched_yield(); /* more threads than cores */
}

/* The calling thread stays on the n-th processor it may use: rounds are too short for the system to
 * spread threads over them. */
static void machine_stay(int n) {
    cpu_set_t may, one;
    if (sched_getaffinity(0, sizeof may, &may) || CPU_COUNT(&may) == 0) return;
    n %= CPU_COUNT(&may);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &may) && n-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
}

static void *machine_work(void *ctx) {
    machine_part *p = ctx;
    machine_stay(p->number);
    if (p->from) { /* touched by the thread that uses it, for locality */
        memset(p->from, 1, p->bytes);
        memset(p->to, 2, p->bytes);
    }
    for (int round = 0; round < MACHINE_ROUNDS; round++) {
        pthread_barrier_wait(p->barrier);
        machine_meet(p, round);
        p->begin = machine_now();
        if (p->from) {
            memcpy(p->to, p->from, p->bytes);
            /* every round's copy is made */
            __asm__ volatile("" ::"r"(p->to), "r"(p->from) : "memory");
            p->done = 2.0 * (double)p->bytes;
        } else {
            p->done = fma_run(p->sink);
        }
        p->end = machine_now();
        pthread_barrier_wait(p->barrier);
    }
    return NULL;
}

/* Of all parts together in one round, from the first that begins to the last that ends;
 * per microsecond. */
static double machine_round_rate(const machine_part *parts, int threads) {
    double begin = parts[0].begin, end = parts[0].end, sum = 0;
    for (int i = 0; i < threads; i++) {
        begin = parts[i].begin < begin ? parts[i].begin : begin;
        end = parts[i].end > end ? parts[i].end : end;
        sum += parts[i].done;
    }
    return end > begin ? sum / (end - begin) : -1;
}

/* The best round's. */
static double machine_rate(machine_part *parts, int threads) {
    pthread_barrier_t barrier;
    pthread_t ids[MACHINE_MAX_THREADS];
    atomic_int awake = 0;
    double best = -1;
    if (pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1)) return -1;
    for (int i = 0; i < threads; i++) {
        parts[i].barrier = &barrier;
        parts[i].awake = &awake;
        parts[i].parts = threads;
        parts[i].number = i;
        /* the others wait at the barrier for ever */
        if (pthread_create(&ids[i], NULL, machine_work, &parts[i])) abort();
    }
    for (int round = 0; round < MACHINE_ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        double rate = machine_round_rate(parts, threads);
        if (rate > best) best = rate;
    }
    for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
    pthread_barrier_destroy(&barrier);
    return best;
}

static size_t machine_copy_bytes(int threads) {
    long cache = -1;
#ifdef _SC_LEVEL3_CACHE_SIZE
    cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    size_t bytes = cache > 0 ? 2 * (size_t)cache : 0;
    if (bytes < (size_t)64 << 20) bytes = (size_t)64 << 20;
    if (bytes > (size_t)1 << 30) bytes = (size_t)1 << 30;
    return bytes / (size_t)threads / HUGE_PAGE * HUGE_PAGE;
}

double machine_fma_gflops(int threads) {
    static struct { int threads; double gflops; } known;
    if (threads < 1 || threads > MACHINE_MAX_THREADS) return -1;
    if (known.threads == threads) return known.gflops;
    machine_part *parts = calloc((size_t)threads, sizeof *parts);
    if (!parts) return -1;
    known.gflops = machine_rate(parts, threads) * 1e-3;
    known.threads = threads;
    free(parts);
    return known.gflops;
}

double machine_peak_percent(double flops, double us, double peak) {
    return flops > 0 && us > 0 && peak > 0 ? flops / us * 1e-3 / peak * 100 : -1;
}

machine_rates machine_measure(int threads) {
    machine_rates r = {-1, machine_fma_gflops(threads)};
    if (threads < 1 || threads > MACHINE_MAX_THREADS) return r;
    machine_part *parts = calloc((size_t)threads, sizeof *parts);
    size_t bytes = machine_copy_bytes(threads);
    char *memory = bytes ? aligned_alloc(HUGE_PAGE, 2 * bytes * (size_t)threads) : NULL;
    /* the first touch takes long otherwise */
    if (memory) (void)madvise(memory, 2 * bytes * (size_t)threads, MADV_HUGEPAGE);
    for (int i = 0; parts && memory && i < threads; i++) {
        parts[i].bytes = bytes;
        parts[i].from = memory + 2 * bytes * (size_t)i;
        parts[i].to = parts[i].from + bytes;
    }
    if (parts && memory) r.copy_gbps = machine_rate(parts, threads) * 1e-3;
    free(memory);
    free(parts);
    return r;
}
