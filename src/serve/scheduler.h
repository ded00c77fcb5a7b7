/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler.h - runs requests on a model: at once on the caller's thread, or from a bounded queue
 * on the model's threads, several in one call where the model's settings allow it.
 */
#ifndef CTSC_SERVE_SCHEDULER_H
#define CTSC_SERVE_SCHEDULER_H

#include "serve/isolate/call_outputs.h"
#include "serve/model.h"

/* a call that takes longer may not hold up the other connections of a thread */
enum { SCHEDULER_QUICK_NS = 400000 };

/* A request for an inference, ready to run. */
typedef struct job {
    struct job *next;
    model *model; /* a reference, released by the maker of the job */
    size_t nargs;
    ctsc_value **args; /* references */
    int64_t rows;      /* along dimension 0 if it may be put together with others; else 0 */
    uint64_t arrived_ns, deadline_ns; /* 0: no deadline */
    /* set when nobody waits for the outcome; NULL: never. A call shared with others goes on */
    ctsc_cancel *cancel;

    /* Called once before the job goes into the queue, on the submitting thread: from then on
     * another thread may finish it. */
    void (*defer)(struct job *j);
    /* NULL: one call of the model's method. Else what runs in its place, on a thread of the
     * model's, and finishes the job. */
    void (*run)(struct job *j, ctsc_error *e);
    /* Called when the outcome is known. o: the result of the call, NULL
     * unless status is 200. first, total: the job's rows begin at `first` of
     * `total` in every output; total 0: the outputs are the job's alone. */
    void (*finish)(struct job *j, const outputs *o, int64_t first, int64_t total);
    void *ctx;

    int status; /* as HTTP has it */
    char error[400];
    uint64_t queue_ns, infer_ns, batch_input_ns;
    int64_t batch_rows; /* of the call it was in */
} job;

/* Nobody waits for it any more. (A server that ends cancels the calls of clients that do.) */
static inline bool job_is_orphan(const job *j) {
    return j->cancel && ctsc_cancel_is_set(j->cancel) && !ctsc_cancel_is_set(j->model->cancel);
}

/* When a request that came at started_ns has to be answered. theirs: as the client has it. 0: none.
 */
static inline uint64_t job_deadline(const model *m, uint64_t started_ns, uint64_t theirs) {
    uint64_t own = m->config.timeout_us ? started_ns + m->config.timeout_us * 1000 : 0;
    return own && (!theirs || own < theirs) ? own : theirs;
}

typedef enum submitted { SUBMIT_DONE, SUBMIT_QUEUED, SUBMIT_FULL, SUBMIT_STOPPED } submitted;

bool scheduler_start(model *m); /* starts the threads */
void scheduler_stop(model *m);  /* finishes what waits, joins the threads */
/* DONE: finish has been called. QUEUED: it is called by another thread. Else the job was not taken,
 * and nothing called. */
submitted scheduler_submit(job *j);
/* Finishes the jobs in the queue whose deadline has passed (504), or that nobody waits for any more
 * (499, as nginx has it). */
void scheduler_expire(model *m, uint64_t now);

/* batch.c */
/* Runs jobs that fit together (n >= 1; batch_fits) as one call, or one by one,
 * and finishes each. */
void batch_run(model *m, job **jobs, size_t n);
bool batch_fits(const job *a, const job *b);
/* One call, with what stops it besides the deadline; *o: its outputs. */
ctsc_status batch_call(const model *m, const job *j, ctsc_value *const *args, uint64_t deadline,
                       const ctsc_cancel *cancel, outputs *o, ctsc_error *e);
/* What a failed one means to the client: HTTP's status, and the text. */
int batch_status(const job *j, ctsc_status s, const ctsc_error *e, char *error, size_t size);

#endif
