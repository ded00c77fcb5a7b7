/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c - one call of a model for one request or for several.
 *
 * Method. The tensors of several requests are concatenated along dimension 0, and
 * every output is split in the same way (without copies: each request reads its
 * rows). If the call fails, or an output has another number of rows, every request is
 * run by itself, so that only the faulty one gets an error and the others get their
 * results. A model whose outputs do not follow dimension 0 gets no more batches.
 * Tests: tests/unit/test_serve.c, tests/serve/client.py
 */
#include "serve/isolate/worker.h"
#include "serve/scheduler.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the call -------------------------------------------------------------------------------- */

int batch_status(const job *j, ctsc_status s, const ctsc_error *e, char *error, size_t size) {
    if (job_is_orphan(j)) {
        counter_add(&j->model->stats->cancelled, 1);
        snprintf(error, size, "the client hung up");
        return 499;
    }
    if (s == CTSC_LIMIT && j->deadline_ns && clock_ns() >= j->deadline_ns) {
        snprintf(error, size, "the request timed out while the model ran");
        return 504;
    }
    snprintf(error, size, "%s", ctsc_error_message(e));
    switch (s) {
    case CTSC_FAILED: /* the model refused its inputs */
    case CTSC_USAGE: return 400;
    default: return 500;
    }
}

static ctsc_status batch_call_process(const model *m, const job *j, ctsc_value *const *args,
                                      const ctsc_run_options *ro, const ctsc_cancel *cancel,
                                      outputs *o, ctsc_error *e) {
    worker_task t = {.nargs = j->nargs, .args = args, .ro = ro, .cancel = cancel, .results = o};
    ctsc_status s = workers_call(m->processes, &t, e);
    if (!t.died) return s;
    counter_add(&m->stats->deaths, 1);
    fprintf(stderr, "ctsc serve: model %s version %s: %s\n", m->name, m->version,
            ctsc_error_message(e));
    return s;
}

/* deadline: of the job, or the earliest of the batch. */
ctsc_status batch_call(const model *m, const job *j, ctsc_value *const *args, uint64_t deadline,
                       const ctsc_cancel *cancel, outputs *o, ctsc_error *e) {
    ctsc_run_options ro = {
        .size = sizeof ro, .print = outputs_drop_print, .max_bytes = m->config.max_bytes};
    ctsc_value *result = NULL;
    /* without one, nothing stops the call: loops that can be stopped are not run as native code */
    if (deadline) {
        ro.cancel = cancel;
        uint64_t now = clock_ns();
        if (now >= deadline) return CTSC_LIMIT;
        ro.timeout_us = (deadline - now) / 1000 + 1;
    }
    if (m->processes) return batch_call_process(m, j, args, &ro, cancel, o, e);
    ctsc_status s = ctsc_module_run(m->module, m->config.method, j->nargs, args, &ro, &result, e);
    if (s == CTSC_OK && !outputs_add(o, result)) s = CTSC_LIMIT;
    ctsc_value_free(result);
    return s;
}

/* Processor time of this thread: what other programs do to the clock says nothing
 * about the model. */
static uint64_t batch_cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void batch_note_time(model *m, uint64_t ns) {
    uint64_t old = atomic_load_explicit(&m->slowest_ns, memory_order_relaxed),
             faded = old - old / 16;
    atomic_store_explicit(&m->slowest_ns, ns > faded ? ns : faded, memory_order_relaxed);
}

/* Asking for processor time is a system call, so a call that was quick by the clock is believed,
 * and one that was not has the next one measured. */
static void batch_note_call(model *m, bool measured, uint64_t cpu_ns, uint64_t took_ns) {
    bool slow = took_ns >= SCHEDULER_QUICK_NS;
    if (measured) batch_note_time(m, cpu_ns);
    else if (!slow) batch_note_time(m, took_ns);
    if (slow != measured) atomic_store_explicit(&m->seemed_slow, slow, memory_order_relaxed);
}

static void batch_run_one(model *m, job *j, ctsc_error *e) {
    outputs o = {0};
    /* what a process takes is not on this thread's account */
    bool measured = !m->processes && atomic_load_explicit(&m->seemed_slow, memory_order_relaxed);
    uint64_t cpu = measured ? batch_cpu_ns() : 0, start = clock_ns();
    counter_add(&m->stats->running, 1);
    ctsc_status s = batch_call(m, j, j->args, j->deadline_ns, j->cancel ? j->cancel : m->cancel, &o,
                               e);
    uint64_t end = clock_ns();
    atomic_fetch_sub_explicit(&m->stats->running, 1, memory_order_relaxed);
    j->infer_ns = end - start;
    j->batch_rows = j->rows ? j->rows : 1;
    j->status = s == CTSC_OK ? 200 : batch_status(j, s, e, j->error, sizeof j->error);
    if (m->processes) batch_note_time(m, end - start);
    else batch_note_call(m, measured, measured ? batch_cpu_ns() - cpu : 0, end - start);
    if (s == CTSC_OK) stats_execution(m->stats, (uint64_t)j->batch_rows, 0, end - start, 0);
    j->finish(j, s == CTSC_OK ? &o : NULL, 0, 0); /* j may be gone now */
    outputs_free(&o);
}

/* ---- several requests in one ----------------------------------------------------------------- */

static bool batch_same_item(const ctsc_value *a, const ctsc_value *b) {
    int n = ctsc_tensor_ndim(a);
    if (ctsc_value_kind(a) != CTSC_KIND_TENSOR || ctsc_value_kind(b) != CTSC_KIND_TENSOR ||
        ctsc_tensor_dtype(a) != ctsc_tensor_dtype(b) || ctsc_tensor_ndim(b) != n)
        return false;
    for (int i = 1; i < n; i++)
        if (ctsc_tensor_sizes(a)[i] != ctsc_tensor_sizes(b)[i]) return false;
    return n > 0;
}

bool batch_fits(const job *a, const job *b) {
    bool fits = a->rows > 0 && b->rows > 0 && a->nargs == b->nargs;
    for (size_t i = 0; fits && i < a->nargs; i++) fits = batch_same_item(a->args[i], b->args[i]);
    return fits;
}

static size_t batch_bytes(const ctsc_value *t) {
    size_t bytes = datatype_of(ctsc_tensor_dtype(t))->bytes;
    for (int i = 0; i < ctsc_tensor_ndim(t); i++) bytes *= (size_t)ctsc_tensor_sizes(t)[i];
    return bytes;
}

/* Argument `arg` of all jobs as one tensor, NULL if out of memory. */
static ctsc_value *batch_concat(job *const *jobs, size_t n, size_t arg, int64_t rows) {
    int64_t sizes[CONFIG_MAX_DIMS];
    ctsc_value *first = jobs[0]->args[arg], *out = NULL;
    int ndim = ctsc_tensor_ndim(first);
    for (int i = 0; i < ndim; i++) sizes[i] = i ? ctsc_tensor_sizes(first)[i] : rows;
    if (ctsc_tensor_new(ctsc_tensor_dtype(first), ndim, sizes, &out, NULL) != CTSC_OK) return NULL;
    char *to = ctsc_tensor_data(out);
    for (size_t k = 0; k < n; k++) {
        size_t bytes = batch_bytes(jobs[k]->args[arg]);
        if (bytes) memcpy(to, ctsc_tensor_data(jobs[k]->args[arg]), bytes);
        to += bytes;
    }
    return out;
}

static bool batch_splits(const outputs *o, int64_t rows) {
    for (size_t i = 0; i < o->n; i++)
        if (ctsc_value_kind(o->values[i]) != CTSC_KIND_TENSOR ||
            ctsc_tensor_ndim(o->values[i]) < 1 || ctsc_tensor_sizes(o->values[i])[0] != rows)
            return false;
    return true;
}

/* Runs them as one and finishes them; false: nothing was finished, they are to be
 * run one by one. */
static bool batch_run_together(model *m, job **jobs, size_t n, ctsc_error *e) {
    uint64_t start = clock_ns(), deadline = 0;
    int64_t rows = 0, first = 0;
    size_t nargs = jobs[0]->nargs;
    ctsc_value **args = calloc(nargs + 1, sizeof *args);
    bool ok = args != NULL;
    for (size_t k = 0; k < n; k++) {
        rows += jobs[k]->rows;
        if (jobs[k]->deadline_ns && (!deadline || jobs[k]->deadline_ns < deadline))
            deadline = jobs[k]->deadline_ns;
    }
    for (size_t i = 0; ok && i < nargs; i++)
        ok = (args[i] = batch_concat(jobs, n, i, rows)) != NULL;
    outputs o = {0};
    uint64_t laid = clock_ns();
    counter_add(&m->stats->running, 1);
    ok = ok && batch_call(m, jobs[0], args, deadline, m->cancel, &o, e) == CTSC_OK;
    atomic_fetch_sub_explicit(&m->stats->running, 1, memory_order_relaxed);
    uint64_t end = clock_ns();
    for (size_t i = 0; args && i < nargs; i++) ctsc_value_free(args[i]);
    free(args);
    if (ok && !batch_splits(&o, rows)) {
        pthread_mutex_lock(&m->lock);
        m->no_batches = true;
        pthread_mutex_unlock(&m->lock);
        ok = false;
    }
    if (ok) {
        stats_execution(m->stats, (uint64_t)rows, laid - start, end - laid, 0);
    }
    for (size_t k = 0; ok && k < n; k++) {
        int64_t mine = jobs[k]->rows;
        jobs[k]->status = 200;
        jobs[k]->infer_ns = end - laid;
        jobs[k]->batch_input_ns = laid - start;
        jobs[k]->batch_rows = rows;
        jobs[k]->finish(jobs[k], &o, first, rows);
        first += mine;
    }
    outputs_free(&o);
    return ok;
}

void batch_run(model *m, job **jobs, size_t n) {
    uint64_t now = clock_ns();
    ctsc_error *e = ctsc_error_new(); /* without one, errors have no text */
    for (size_t k = 0; k < n; k++) jobs[k]->queue_ns = now - jobs[k]->arrived_ns;
    if (jobs[0]->run) jobs[0]->run(jobs[0], e); /* has no rows, and so is alone */
    else if (n == 1 || !batch_run_together(m, jobs, n, e))
        for (size_t k = 0; k < n; k++) batch_run_one(m, jobs[k], e);
    ctsc_error_free(e);
}
