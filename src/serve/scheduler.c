/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler.c - the queue of a model and the threads that empty it.
 *
 * Method. A request that finds an empty queue, alone, for a model that answers
 * quickly, is run by the thread that brought it: handing it over would cost as much
 * as running it. All others wait in the model's queue. A thread takes the oldest; if
 * the model takes batches, it also takes the later ones that fit, and waits for more
 * as long as the oldest one's delay allows and no other thread is free to take them.
 * Invariants. busy <= instances, counting calls on the threads of others. A job is in the queue, or
 * in one thread's hands, never both.
 * Tests: tests/unit/test_serve.c, tests/serve/client.py
 */
#include "serve/scheduler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the queue; the model's lock is held ----------------------------------------------------- */

static void scheduler_push(model *m, job *j) {
    j->next = NULL;
    if (m->tail) m->tail->next = j;
    else m->head = j;
    m->tail = j;
    m->waiting++;
    counter_add(&m->stats->pending, 1);
}

/* Takes *at out of the queue; prev is the entry before it, or NULL. */
static job *scheduler_unlink(model *m, job **at, job *prev) {
    job *j = *at;
    *at = j->next;
    if (m->tail == j) m->tail = prev;
    m->waiting--;
    j->next = NULL;
    atomic_fetch_sub_explicit(&m->stats->pending, 1, memory_order_relaxed);
    return j;
}

static void scheduler_gather(model *m, job **jobs, size_t *n, int64_t *rows) {
    job *prev = NULL, **at = &m->head;
    while (*at && *rows < m->config.max_batch) {
        if (*rows + (*at)->rows <= m->config.max_batch && batch_fits(jobs[0], *at)) {
            *rows += (*at)->rows;
            jobs[(*n)++] = scheduler_unlink(m, at, prev);
        } else {
            prev = *at;
            at = &prev->next;
        }
    }
}

static void scheduler_wait_until(model *m, uint64_t ns) {
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    m->idle++;
    pthread_cond_timedwait(&m->wake, &m->lock, &t);
    m->idle--;
}

/* The oldest job and what goes with it. NULL jobs[0]: the thread is to end. */
static size_t scheduler_take(model *m, job **jobs) {
    size_t n = 0;
    while (!m->head || m->busy >= m->config.instances) {
        if (m->stopping && !m->head) return 0;
        m->idle++;
        pthread_cond_wait(&m->wake, &m->lock);
        m->idle--;
    }
    m->busy++;
    jobs[n++] = scheduler_unlink(m, &m->head, NULL);
    int64_t rows = jobs[0]->rows;
    if (!rows || m->config.max_batch <= 1 || m->no_batches) return n;
    uint64_t until = jobs[0]->arrived_ns + m->config.max_delay_us * 1000;
    scheduler_gather(m, jobs, &n, &rows);
    while (rows < m->config.max_batch && !m->stopping && clock_ns() < until) {
        scheduler_wait_until(m, until);
        scheduler_gather(m, jobs, &n, &rows);
    }
    return n;
}

static void scheduler_release(model *m) {
    m->busy--;
    if (m->head && m->idle) pthread_cond_signal(&m->wake);
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct scheduler_worker {
    model *m;
    pthread_t thread;
    job **jobs; /* room for a batch */
} scheduler_worker;

static void *scheduler_thread(void *arg) {
    scheduler_worker *w = arg;
    model *m = w->m;
    size_t n;
    pthread_mutex_lock(&m->lock);
    while ((n = scheduler_take(m, w->jobs))) {
        pthread_mutex_unlock(&m->lock);
        batch_run(m, w->jobs, n);
        pthread_mutex_lock(&m->lock);
        scheduler_release(m);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* All a worker needs is there before it starts: one that has started never gives up. */
static bool scheduler_start_worker(model *m, scheduler_worker *w) {
    /* a job has at least one row */
    size_t most = m->config.max_batch > 1 ? (size_t)m->config.max_batch : 1;
    *w = (scheduler_worker){.m = m, .jobs = malloc((most + 1) * sizeof *w->jobs)};
    if (w->jobs && pthread_create(&w->thread, NULL, scheduler_thread, w) == 0) return true;
    free(w->jobs);
    return false;
}

bool scheduler_start(model *m) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->wake, &attr);
    pthread_condattr_destroy(&attr);
    m->workers = calloc((size_t)m->config.instances, sizeof *m->workers);
    if (!m->workers) return false;
    for (int i = 0; i < m->config.instances; i++, m->nworkers++)
        if (!scheduler_start_worker(m, &m->workers[i])) return false;
    return true;
}

void scheduler_stop(model *m) {
    if (!m->workers) return;
    pthread_mutex_lock(&m->lock);
    m->stopping = true;
    pthread_cond_broadcast(&m->wake);
    pthread_mutex_unlock(&m->lock);
    for (int i = 0; i < m->nworkers; i++) {
        pthread_join(m->workers[i].thread, NULL);
        free(m->workers[i].jobs);
    }
    free(m->workers);
    m->workers = NULL;
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->wake);
}

/* ---- submitting ------------------------------------------------------------------------------ */

submitted scheduler_submit(job *j) {
    model *m = j->model;
    uint64_t slowest = atomic_load_explicit(&m->slowest_ns, memory_order_relaxed);
    pthread_mutex_lock(&m->lock);
    if (m->stopping) {
        pthread_mutex_unlock(&m->lock);
        return SUBMIT_STOPPED;
    }
    if (!j->run && !m->head && m->busy < m->config.instances && m->config.max_batch <= 1 &&
        slowest && slowest < SCHEDULER_QUICK_NS) {
        m->busy++;
        pthread_mutex_unlock(&m->lock);
        batch_run(m, &j, 1);
        pthread_mutex_lock(&m->lock);
        scheduler_release(m);
        pthread_mutex_unlock(&m->lock);
        return SUBMIT_DONE;
    }
    if (m->waiting >= m->config.max_queue) {
        pthread_mutex_unlock(&m->lock);
        counter_add(&m->stats->rejected_full, 1);
        return SUBMIT_FULL;
    }
    if (j->defer) j->defer(j);
    scheduler_push(m, j);
    if (m->idle) pthread_cond_signal(&m->wake);
    pthread_mutex_unlock(&m->lock);
    return SUBMIT_QUEUED;
}

void scheduler_expire(model *m, uint64_t now) {
    job *late = NULL, *prev = NULL;
    pthread_mutex_lock(&m->lock);
    for (job **at = &m->head; *at;) {
        if (job_is_orphan(*at) || ((*at)->deadline_ns && (*at)->deadline_ns <= now)) {
            job *j = scheduler_unlink(m, at, prev);
            j->next = late;
            late = j;
        } else {
            prev = *at;
            at = &prev->next;
        }
    }
    pthread_mutex_unlock(&m->lock);
    while (late) {
        job *j = late;
        late = j->next;
        bool orphan = job_is_orphan(j);
        counter_add(orphan ? &m->stats->cancelled : &m->stats->rejected_timeout, 1);
        j->status = orphan ? 499 : 504;
        j->queue_ns = now - j->arrived_ns;
        snprintf(j->error, sizeof j->error,
                 orphan ? "the client hung up" : "the request timed out before the model was free");
        j->finish(j, NULL, 0, 0);
    }
}
