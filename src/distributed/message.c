/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.c - messages of a task (flights), and what is said when one does not arrive.
 */
#include "distributed/process_group.h"

#include "distributed/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t h, uint64_t x) { /* splitmix64's */
    h = (h ^ x) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

/* ---- what went wrong ------------------------------------------------------------------------- */

void task_fail(task *t, ctsc_status s, const char *fmt, ...) {
    va_list args;
    if (t->failed) return;
    t->failed = true;
    t->status = s;
    va_start(args, fmt);
    vsnprintf(t->why, sizeof t->why, fmt, args);
    va_end(args);
}

static void key_of(const task *t, int rank, char key[GROUP_NAME + 64]) {
    snprintf(key, GROUP_NAME + 64, "ctsc/where/%016" PRIx64 "/%d", t->g->id, rank);
}

/* Tells the others where this rank stopped, and adds where the peer did, if it says so. */
static void task_explain(task *t, const char *what, int peer) {
    char key[GROUP_NAME + 64];
    store_bytes answer = {NULL, 0};
    const char *names = key;
    ctsc_dist_store *s = t->g->world->store;
    store_request r = {STORE_SET, 1, &names, {(char *)what, strlen(what)}, {NULL, 0}};
    if (!s) return;
    key_of(t, t->g->rank, key);
    if (s->kind->ask(s, &r, dist_now() + GROUP_LOOK_MS, &answer, NULL) != CTSC_OK) return;
    free(answer.data);
    if (peer < 0) return;
    key_of(t, peer, key);
    r = (store_request){.verb = STORE_GET, .n = 1, .keys = &names};
    if (s->kind->ask(s, &r, dist_now() + GROUP_LOOK_MS, &answer, NULL) != CTSC_OK) return;
    size_t used = strlen(t->why);
    snprintf(t->why + used, sizeof t->why - used, "; rank %d: %s", peer, answer.data);
    free(answer.data);
}

static void task_fail_at(task *t, engine_outcome outcome, bool sends, int peer, const char *why) {
    char what[GROUP_WHAT], whole[GROUP_WHAT + 64], who[32];
    if (t->failed) return;
    task_describe(t, what);
    if (peer < 0) snprintf(who, sizeof who, "any rank");
    else snprintf(who, sizeof who, "rank %d", peer);
    if (outcome == ENGINE_LATE)
        task_fail(t, CTSC_LIMIT, "%s: Timed out waiting %" PRId64 "ms for %s to %s", what,
                  t->timeout_ms, who, sends ? "receive" : "send");
    else task_fail(t, CTSC_FAILED, "%s: lost %s: %.300s", what, who, why);
    snprintf(whole, sizeof whole, "%s, waiting for %s", what, who);
    task_explain(t, whole, peer);
}

void task_fail_late(task *t, int peer) { task_fail_at(t, ENGINE_LATE, false, peer, ""); }

/* ---- flights --------------------------------------------------------------------------------- */

/* Messages of another length have another slot: an engine never gets the wrong number of bytes. */
static uint64_t slot_of(const task *t, size_t bytes, unsigned phase) {
    return mix(mix(t->slot, bytes), phase);
}

static flight *flights_add(flights *f, task *t) {
    if (f->n == f->room) {
        size_t room = f->room ? 2 * f->room : 16;
        flight *list = realloc(f->list, room * sizeof *list);
        if (!list) return task_fail(t, CTSC_LIMIT, "out of memory"), NULL;
        f->list = list;
        f->room = room;
    }
    return &f->list[f->n++];
}

void flights_send(flights *f, task *t, const void *data, size_t bytes, int peer, unsigned phase) {
    char why[ENGINE_TEXT] = "";
    const dist_world *w = t->g->world;
    flight *x = t->failed || !bytes ? NULL : flights_add(f, t);
    if (!x) return;
    *x = (flight){
        w->engine->send(w->link, data, bytes, t->g->ranks[peer], slot_of(t, bytes, phase), why),
        peer, true};
    if (!x->request) task_fail_at(t, ENGINE_LOST, true, peer, why);
}

void flights_receive(flights *f, task *t, void *data, size_t bytes, int peer, unsigned phase) {
    char why[ENGINE_TEXT] = "";
    const dist_world *w = t->g->world;
    flight *x = t->failed || !bytes ? NULL : flights_add(f, t);
    if (!x) return;
    *x = (flight){w->engine->receive(w->link, data, bytes, peer < 0 ? t->g->size : 1,
                                     peer < 0 ? t->g->ranks : &t->g->ranks[peer],
                                     slot_of(t, bytes, phase), why),
                  peer, false};
    if (!x->request) task_fail_at(t, ENGINE_LOST, false, peer, why);
}

void flights_wait(flights *f, task *t) {
    char why[ENGINE_TEXT] = "";
    const engine_interface *engine = t->g->world->engine;
    for (size_t i = 0; i < f->n && !t->failed; i++) {
        flight *x = &f->list[i];
        engine_outcome o = engine->wait(x->request, dist_left(t->deadline), NULL, why);
        if (o != ENGINE_DONE) task_fail_at(t, o, x->sends, x->peer, why);
    }
    for (size_t i = 0; i < f->n; i++)
        if (f->list[i].request) engine->release(f->list[i].request);
    f->n = 0;
}

void flights_free(flights *f) { free(f->list); }
