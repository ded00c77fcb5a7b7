/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.c - what streams are asked for, and recordings of it.
 *
 * All streams share one queue: doing things in the order they were asked for is one of the
 * orders that a device may choose. The queue is emptied at once, or, with CTSC_SIM_LAZY,
 * when somebody waits.
 */
#include "sim.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

CUresult sim_broken;

static struct CUgraph_st queue_pending;
static atomic_llong queue_waits;

static void queue_free(sim_work *w) {
    free(w->bytes);
    free(w);
}

static void queue_append(struct CUgraph_st *g, sim_work *w) {
    if (!g->first) g->last = &g->first;
    w->next = NULL;
    *g->last = w;
    g->last = &w->next;
}

/* A copy of w with its own bytes. */
static sim_work *queue_copy(const sim_work *w, size_t bytes) {
    sim_work *copy = malloc(sizeof *copy);
    if (!copy) abort();
    *copy = *w;
    if (bytes) {
        copy->bytes = malloc(bytes);
        if (!copy->bytes) abort();
        memcpy(copy->bytes, w->bytes, bytes);
    } else {
        copy->bytes = NULL;
    }
    if (copy->bytes && w->kind == SIM_LAUNCH) copy->launch.params = copy->bytes;
    else if (copy->bytes) copy->from = copy->bytes;
    copy->nbytes = w->kind == SIM_LAUNCH || w->kind == SIM_CALL ? bytes : w->nbytes;
    return copy;
}

static void queue_do(const sim_work *w) {
    CUresult r = CUDA_SUCCESS;
    if ((w->kind == SIM_COPY || w->kind == SIM_FILL) && w->nbytes) {
        sim_arena_touch(w->to, w->nbytes);
        if (w->from) sim_arena_touch(w->from, w->nbytes);
    }
    if (w->kind == SIM_COPY) memmove(w->to, w->from, w->nbytes);
    else if (w->kind == SIM_FILL) memset(w->to, w->byte, w->nbytes);
    else if (w->kind == SIM_LAUNCH) r = sim_run(&w->launch);
    else if (w->kind == SIM_CALL) w->call(w->bytes);
    sim_arena_close();
    if (r != CUDA_SUCCESS) sim_broken = r;
}

long long cudasim_waits(void) { return atomic_load(&queue_waits); }

void sim_count_wait(void) { atomic_fetch_add(&queue_waits, 1); }

CUresult sim_finish(void) {
    sim_work *w = queue_pending.first;
    if (!w) return sim_broken;
    queue_pending.first = NULL;
    for (sim_work *next; w; w = next) {
        next = w->next;
        if (!sim_broken) queue_do(w);
        if (w->kind == SIM_RECORD) w->event->pending--;
        queue_free(w);
    }
    return sim_broken;
}

CUresult sim_ask(CUstream s, const sim_work *w, size_t bytes) {
    static int lazy = -1;
    if (lazy < 0) lazy = (int)sim_setting("CTSC_SIM_LAZY", 0);
    if (sim_broken) return sim_broken;
    sim_work *copy = queue_copy(w, bytes);
    if (s->capture) {
        copy->node = w;
        s->capture->newest = (CUgraphNode)copy;
        queue_append(s->capture, copy);
        return CUDA_SUCCESS;
    }
    queue_append(&queue_pending, copy);
    if (w->kind == SIM_RECORD) w->event->pending++;
    if (!lazy) sim_finish();
    return CUDA_SUCCESS;
}

CUresult sim_ask_graph(CUstream s, const struct CUgraph_st *g) {
    CUresult r = sim_broken;
    for (const sim_work *w = g->first; w && r == CUDA_SUCCESS; w = w->next)
        r = sim_ask(s, w, w->bytes ? w->nbytes : 0);
    return r;
}

CUgraph sim_graph_new(void) {
    CUgraph g = calloc(1, sizeof *g);
    if (!g) abort();
    return g;
}

void sim_graph_clear(struct CUgraph_st *g) {
    for (sim_work *w = g->first, *next; w; w = next) {
        next = w->next;
        queue_free(w);
    }
    g->first = NULL;
}
