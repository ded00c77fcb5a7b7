/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer.c - one inference request: decoded, run, encoded, counted.
 *
 * Ownership. The request's memory goes when its response is there: in infer_handle if the model
 * ran at once, else in infer_finish on the thread that ran it. After x->done nothing of the
 * exchange may be touched.
 * Tests: tests/unit/test_serve.c, tests/serve/client.py
 */
#include "serve/infer.h"

#include <stdlib.h>
#include <string.h>

enum { INFER_KEEP_FRAME = 4096 }; /* bytes; of longer ones a connection keeps nothing */

static void infer_forget_frame(infer *q) {
    json_decref(q->root);
    q->root = NULL;
    buffer_free(&q->frame);
    buffer_free(&q->last_frame);
}

void infer_keep_free(void *kept) {
    infer *q = kept;
    if (!q) return;
    infer_forget_frame(q);
    free(q);
}

static void infer_free(infer *q) {
    for (size_t i = 0; q->job.args && i < q->job.nargs; i++) ctsc_value_free(q->job.args[i]);
    if (q->job.args != q->few) free(q->job.args);
    model_unref(q->job.model);
    if (q->frame.cap + q->last_frame.cap > INFER_KEEP_FRAME) infer_forget_frame(q);
    if (!q->x->keep || *q->x->keep) infer_keep_free(q);
    else *q->x->keep = q;
}

/* Requests are many and this is not small: where the exchange has a place for it,
 * it is used again. */
static infer *infer_new(exchange *x) {
    infer *q = x->keep ? *x->keep : NULL;
    if (q) *x->keep = NULL;
    else q = calloc(1, sizeof *q);
    if (!q) return NULL;
    memset(q, 0, offsetof(infer, spans));
    q->why[0] = '\0';
    q->x = x;
    return q;
}

/* An error takes the place of what was written of the response. */
static void infer_refuse(infer *q, int status, const char *why) {
    q->x->json_len = 0;
    q->x->reply.len = 0;
    q->x->reply.failed = false;
    protocol_error(q->x, status, "%s", why);
    if (status == 429 || status == 503) q->x->retry_after = 1;
}

static void infer_count(infer *q, uint64_t output_ns) {
    exchange *x = q->x;
    stats_request(q->job.model->stats, x->status, clock_ns() - x->started_ns, q->job.queue_ns,
                  q->input_ns + q->job.batch_input_ns, q->job.infer_ns, output_ns,
                  (uint64_t)q->job.rows);
    x->queue_ns = q->job.queue_ns;
    x->infer_ns = q->job.infer_ns;
    x->batch = q->job.batch_rows;
}

/* The job's outcome to the response. */
static void infer_finish(job *j, const outputs *o, int64_t first, int64_t total) {
    infer *q = j->ctx;
    exchange *x = q->x;
    uint64_t start = clock_ns();
    int status = j->status;
    bool deferred = q->deferred;
    if (o && infer_encode(q, o, first, total, &status)) {
        x->status = 200;
        x->type = x->json_len ? "application/octet-stream" : "application/json";
    } else {
        if (!o) snprintf(q->why, sizeof q->why, "%s", j->error);
        infer_refuse(q, status, q->why);
    }
    infer_count(q, clock_ns() - start);
    if (!deferred) return;
    infer_free(q);
    x->done(x);
}

static void infer_defer(job *j) {
    infer *q = j->ctx;
    q->deferred = true;
    if (q->x->defer) q->x->defer(q->x);
}

static bool infer_submit(infer *q) {
    switch (scheduler_submit(&q->job)) {
    case SUBMIT_QUEUED: return false;
    case SUBMIT_FULL:
        infer_refuse(q, 429, "the model's queue is full");
        infer_count(q, 0);
        break;
    case SUBMIT_STOPPED:
        infer_refuse(q, 503, "the model is being unloaded");
        infer_count(q, 0);
        break;
    case SUBMIT_DONE: break;
    }
    infer_free(q);
    return true;
}

bool infer_handle(exchange *x, model *m_take) {
    infer *q = infer_new(x);
    if (!q) {
        model_unref(m_take);
        protocol_error(x, 500, "out of memory");
        return true;
    }
    q->job.model = m_take;
    q->job.nargs = m_take->ninputs;
    q->job.arrived_ns = clock_ns();
    q->job.defer = infer_defer;
    q->job.finish = infer_finish;
    q->job.ctx = q;
    q->job.cancel = x->cancel;
    q->job.args = m_take->ninputs <= INFER_FEW ? q->few
                                               : calloc(m_take->ninputs, sizeof *q->job.args);
    q->job.deadline_ns = job_deadline(m_take, x->started_ns, x->deadline_ns);
    snprintf(x->model, sizeof x->model, "%s", m_take->name);
    snprintf(x->version, sizeof x->version, "%s", m_take->version);
    if (!q->job.args || !infer_decode(q)) {
        infer_refuse(q, q->job.args ? 400 : 500, q->job.args ? q->why : "out of memory");
        infer_count(q, 0);
        infer_free(q);
        return true;
    }
    uint64_t now = clock_ns();
    q->input_ns = now - q->job.arrived_ns;
    q->job.arrived_ns = now;
    return infer_submit(q);
}
