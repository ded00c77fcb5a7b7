/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.c - how long memcpy takes, for a given number of bytes and threads: the yardstick of kernels
 * that are bound by memory.
 *
 *     copy BYTES THREADS SECONDS
 *
 * Every thread copies its part of one buffer to another, again and again, so that small ones stay
 * in the caches as they do in benchmarks of models. Threads wait for the next round on a flag,
 * without sleeping. Prints a JSON object with min_us and median_us.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COPY_MAX_THREADS = 256, COPY_MAX_SAMPLES = 1 << 20 };

typedef struct copy_work {
    char *from, *to;
    size_t bytes;
    int threads;
    atomic_int round, done; /* round < 0: end */
} copy_work;

typedef struct copy_part { copy_work *w; int index; } copy_part;

static double copy_now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void copy_part_of(copy_work *w, int index) {
    size_t begin = w->bytes * (size_t)index / (size_t)w->threads,
           end = w->bytes * (size_t)(index + 1) / (size_t)w->threads;
    memcpy(w->to + begin, w->from + begin, end - begin);
    __asm__ volatile("" ::"r"(w->to) : "memory");
}

static void *copy_thread(void *ctx) {
    copy_part *p = ctx;
    for (int seen = 0;;) {
        int round = atomic_load_explicit(&p->w->round, memory_order_acquire);
        if (round < 0) return NULL;
        if (round == seen) continue;
        seen = round;
        copy_part_of(p->w, p->index);
        atomic_fetch_add_explicit(&p->w->done, 1, memory_order_release);
    }
}

static double copy_once(copy_work *w, int round) {
    double start = copy_now_us();
    atomic_store_explicit(&w->done, 0, memory_order_relaxed);
    atomic_store_explicit(&w->round, round, memory_order_release);
    copy_part_of(w, 0);
    while (atomic_load_explicit(&w->done, memory_order_acquire) < w->threads - 1) continue;
    return copy_now_us() - start;
}

static int copy_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: copy BYTES THREADS SECONDS\n");
        return 2;
    }
    copy_work w = {.bytes = strtoull(argv[1], NULL, 10), .threads = atoi(argv[2])};
    double seconds = atof(argv[3]), *us = malloc(COPY_MAX_SAMPLES * sizeof *us);
    copy_part parts[COPY_MAX_THREADS];
    pthread_t ids[COPY_MAX_THREADS];
    w.from = malloc(w.bytes + 1);
    w.to = malloc(w.bytes + 1);
    if (!w.from || !w.to || !us || w.threads < 1 || w.threads > COPY_MAX_THREADS) return 1;
    memset(w.from, 1, w.bytes);
    memset(w.to, 2, w.bytes);
    for (int i = 1; i < w.threads; i++) {
        parts[i] = (copy_part){&w, i};
        if (pthread_create(&ids[i], NULL, copy_thread, &parts[i])) return 1;
    }
    int n = 0, round = 1;
    for (; round <= 5; round++) copy_once(&w, round);
    for (double start = copy_now_us();
         n < COPY_MAX_SAMPLES && (n < 10 || copy_now_us() - start < seconds * 1e6); n++)
        us[n] = copy_once(&w, round++);
    atomic_store(&w.round, -1);
    for (int i = 1; i < w.threads; i++) pthread_join(ids[i], NULL);
    qsort(us, (size_t)n, sizeof *us, copy_compare);
    printf("{\"min_us\": %.3f, \"median_us\": %.3f}\n", us[0], us[n / 2]);
    free(w.from);
    free(w.to);
    free(us);
    return 0;
}
