/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.c - collectives, made of messages between pairs of ranks.
 *
 * Method.
 *   reductions   each rank folds one part of the elements: it receives that part from all others,
 *                in segments, of which two are under way, and folds them in the order of ranks;
 *                then the parts go where they are wanted. What is small goes to all ranks at once,
 *                which fold all of it.
 *   broadcast    a binomial tree, in segments
 *   all others   every pair exchanges what it has to
 *   barrier      dissemination: in round k a message to the rank 2^k further on
 * Each rank sends and receives about twice the bytes of a tensor for an all_reduce, however many
 * ranks there are: the least that is possible. Rings do the same in more steps, and fold the
 * parts in different orders.
 */
#include "distributed/process_group.h"

#include <stdlib.h>
#include <string.h>

enum {
    SMALL = 32 << 10,         /* bytes of all ranks together that are folded by all of them */
    SEGMENTS = 2 << 20,       /* bytes of the segments of all ranks together */
    SEGMENT_LEAST = 64 << 10, /* bytes of one */
    BROADCAST_SEGMENT = 1 << 20
};
enum { PHASE_PARTS, PHASE_SHARE, PHASE_ROUND }; /* rounds count on from there */

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }
static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Each rank gives give[r] to rank r and takes take[r] from it; bytes of 0 are nothing. */
static void exchange(task *t, char *const *give, const size_t *give_bytes, char *const *take,
                     const size_t *take_bytes, unsigned phase) {
    const ctsc_dist_group *g = t->g;
    flights f = {NULL, 0, 0};
    for (int k = 1; k < g->size; k++) {
        int from = (g->rank + g->size - k) % g->size;
        flights_receive(&f, t, take[from], take_bytes[from], from, phase);
    }
    for (int k = 1; k < g->size; k++) {
        int to = (g->rank + k) % g->size;
        flights_send(&f, t, give[to], give_bytes[to], to, phase);
    }
    if (take_bytes[g->rank] && take[g->rank] != give[g->rank])
        memmove(take[g->rank], give[g->rank], take_bytes[g->rank]);
    flights_wait(&f, t);
    flights_free(&f);
}

/* What each rank has for each other: a pointer and bytes, in arrays of the group's size. */
typedef struct pieces {
    char **give, **take;
    size_t *give_bytes, *take_bytes;
} pieces;

static bool pieces_new(pieces *p, task *t) {
    size_t n = (size_t)t->g->size;
    p->give = calloc(n, sizeof *p->give), p->take = calloc(n, sizeof *p->take);
    p->give_bytes = calloc(n, sizeof(size_t)), p->take_bytes = calloc(n, sizeof(size_t));
    if (p->give && p->take && p->give_bytes && p->take_bytes) return true;
    task_fail(t, CTSC_LIMIT, "out of memory");
    return false;
}

static void pieces_free(pieces *p) {
    free(p->give);
    free(p->take);
    free(p->give_bytes);
    free(p->take_bytes);
}

static void exchange_pieces(task *t, pieces *p) {
    exchange(t, p->give, p->give_bytes, p->take, p->take_bytes, PHASE_SHARE);
    pieces_free(p);
}

/* root: who takes; negative: all. */
static void gather(task *t, int root) {
    pieces p = {0};
    if (!pieces_new(&p, t)) return pieces_free(&p);
    for (int r = 0; r < t->g->size; r++) {
        bool gives = root < 0 || r == root, takes = root < 0 || t->g->rank == root;
        p.give[r] = t->in[0], p.give_bytes[r] = gives ? t->in_bytes[0] : 0;
        if (takes) p.take[r] = t->out[r], p.take_bytes[r] = t->out_bytes[r];
    }
    exchange_pieces(t, &p);
}

static void scatter(task *t, int root) {
    pieces p = {0};
    if (!pieces_new(&p, t)) return pieces_free(&p);
    for (int r = 0; r < t->g->size && t->g->rank == root; r++)
        p.give[r] = t->in[r], p.give_bytes[r] = t->in_bytes[r];
    p.take[root] = t->out[0], p.take_bytes[root] = t->out_bytes[0];
    exchange_pieces(t, &p);
}

/* ---- reductions ------------------------------------------------------------------------------ */

typedef struct fold_job {
    task *t;
    char *const *give;    /* this rank's elements of the part of each rank */
    const size_t *counts; /* elements of each part */
    size_t bytes;         /* of an element */
    size_t segment;       /* elements */
    char *room;           /* two segments of each rank */
    char *result;         /* this rank's part, folded */
    const void **in;      /* an array of the group's size */
} fold_job;

static size_t fold_part(const fold_job *j, int rank, size_t step) {
    size_t at = step * j->segment;
    return at < j->counts[rank] ? smaller(j->segment, j->counts[rank] - at) : 0;
}

static char *fold_room(const fold_job *j, int rank, size_t step) {
    return j->room + ((step & 1) * (size_t)j->t->g->size + (size_t)rank) * j->segment * j->bytes;
}

static void fold_post(const fold_job *j, size_t step, flights *f) {
    const ctsc_dist_group *g = j->t->g;
    for (int k = 1; k < g->size; k++) {
        int from = (g->rank + g->size - k) % g->size;
        flights_receive(f, j->t, fold_room(j, from, step), fold_part(j, g->rank, step) * j->bytes,
                        from, PHASE_PARTS);
    }
    for (int k = 1; k < g->size; k++) {
        int to = (g->rank + k) % g->size;
        flights_send(f, j->t, j->give[to] + step * j->segment * j->bytes,
                     fold_part(j, to, step) * j->bytes, to, PHASE_PARTS);
    }
}

static void fold_segment(const fold_job *j, size_t step) {
    const ctsc_dist_group *g = j->t->g;
    size_t at = step * j->segment * j->bytes, count = fold_part(j, g->rank, step);
    for (int r = 0; r < g->size; r++)
        j->in[r] = r == g->rank ? j->give[r] + at : fold_room(j, r, step);
    if (count)
        dist_fold(j->result + at, j->in, g->size, count, j->t->call->in[0].dtype,
                  j->t->call->reduce);
}

/* result: this rank's part of all ranks, folded; it may be give[rank]. */
static void fold_parts(task *t, char *const *give, const size_t *counts, char *result) {
    size_t n = (size_t)t->g->size, most = 0, bytes = dist_dtype_bytes(t->call->in[0].dtype);
    for (size_t r = 0; r < n; r++) most = larger(most, counts[r]);
    size_t segment = larger(SEGMENTS / n, SEGMENT_LEAST) / bytes;
    fold_job j = {t, give, counts, bytes, smaller(segment, larger(most, 1)), NULL, result, NULL};
    flights f[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
    j.room = task_scratch(t, 2 * n * j.segment * bytes);
    j.in = malloc(n * sizeof *j.in);
    if (!j.in) task_fail(t, CTSC_LIMIT, "out of memory");
    if (!t->failed) fold_post(&j, 0, &f[0]);
    for (size_t step = 0; step * j.segment < most; step++) {
        if ((step + 1) * j.segment < most) fold_post(&j, step + 1, &f[(step + 1) & 1]);
        flights_wait(&f[step & 1], t);
        if (t->failed) break;
        fold_segment(&j, step);
    }
    flights_wait(&f[0], t);
    flights_wait(&f[1], t);
    flights_free(&f[0]);
    flights_free(&f[1]);
    free(j.in);
}

/* Everything goes to all ranks, or to the root, at once, and is folded there. */
static void reduce_small(task *t, int root) {
    size_t n = (size_t)t->g->size, bytes = t->in_bytes[0];
    bool takes = root < 0 || t->g->rank == root;
    pieces p = {0};
    char *room = task_scratch(t, n * bytes + 1);
    if (!pieces_new(&p, t)) return pieces_free(&p);
    for (int r = 0; r < t->g->size; r++) {
        p.give[r] = t->in[0], p.give_bytes[r] = root < 0 || r == root ? bytes : 0;
        p.take[r] = r == t->g->rank ? t->in[0] : room + (size_t)r * bytes;
        p.take_bytes[r] = takes ? bytes : 0;
    }
    if (!t->failed) exchange(t, p.give, p.give_bytes, p.take, p.take_bytes, PHASE_PARTS);
    if (!t->failed && takes)
        dist_fold(t->out[0], (const void *const *)p.take, t->g->size,
                  bytes / dist_dtype_bytes(t->call->in[0].dtype), t->call->in[0].dtype,
                  t->call->reduce);
    pieces_free(&p);
}

/* Parts of about equal size. The result is in out, or on ranks that are not the root in memory of
 * its own until the root has it. */
static void reduce_large(task *t, int root) {
    int n = t->g->size, self = t->g->rank;
    bool takes = root < 0 || self == root;
    size_t bytes = dist_dtype_bytes(t->call->in[0].dtype), count = t->in_bytes[0] / bytes;
    size_t *counts = calloc((size_t)n, sizeof *counts);
    pieces p = {0};
    if (!counts || !pieces_new(&p, t)) goto out;
    for (int r = 0; r < n; r++) {
        size_t from = count / (size_t)n * (size_t)r + smaller((size_t)r, count % (size_t)n);
        counts[r] = count / (size_t)n + ((size_t)r < count % (size_t)n);
        p.give[r] = t->in[0] + from * bytes;
        p.take[r] = takes ? t->out[0] + from * bytes : NULL;
        p.take_bytes[r] = takes ? counts[r] * bytes : 0;
    }
    char *own = takes ? p.take[self] : malloc(counts[self] * bytes + 1);
    if (!own) task_fail(t, CTSC_LIMIT, "out of memory");
    else fold_parts(t, p.give, counts, own);
    for (int r = 0; r < n; r++)
        p.give[r] = own, p.give_bytes[r] = root < 0 || r == root ? counts[self] * bytes : 0;
    if (!t->failed) exchange(t, p.give, p.give_bytes, p.take, p.take_bytes, PHASE_SHARE);
    if (!takes) free(own);
out:
    if (!counts) task_fail(t, CTSC_LIMIT, "out of memory");
    free(counts);
    pieces_free(&p);
}

static void reduce(task *t, int root) {
    size_t n = (size_t)t->g->size, bytes = t->in_bytes[0];
    if (bytes <= SMALL / n || n == 1) reduce_small(t, root);
    else reduce_large(t, root);
}

static void reduce_scatter(task *t) {
    size_t n = (size_t)t->g->size, *counts = malloc(n * sizeof *counts);
    if (!counts) return task_fail(t, CTSC_LIMIT, "out of memory");
    for (size_t r = 0; r < n; r++)
        counts[r] = t->in_bytes[r] / dist_dtype_bytes(t->call->in[0].dtype);
    fold_parts(t, t->in, counts, t->out[0]);
    free(counts);
}

/* ---- trees ----------------------------------------------------------------------------------- */

static void broadcast(task *t, int root) {
    int n = t->g->size, place = (t->g->rank - root + n) % n;
    int low = place & -place; /* the parent lacks this bit; 0: the root */
    size_t bytes = t->out_bytes[0];
    flights sent = {NULL, 0, 0}, got = {NULL, 0, 0};
    if (!place && t->in[0] != t->out[0]) memmove(t->out[0], t->in[0], bytes);
    for (size_t at = 0; at < bytes && !t->failed; at += BROADCAST_SEGMENT) {
        size_t part = smaller(BROADCAST_SEGMENT, bytes - at);
        if (place) {
            flights_receive(&got, t, t->out[0] + at, part, (place - low + root) % n, PHASE_SHARE);
            flights_wait(&got, t);
        }
        for (int bit = 1; bit < n && (!place || bit < low); bit <<= 1)
            if (place + bit < n)
                flights_send(&sent, t, t->out[0] + at, part, (place + bit + root) % n, PHASE_SHARE);
    }
    flights_wait(&sent, t);
    flights_free(&sent);
    flights_free(&got);
}

static void barrier(task *t) {
    const ctsc_dist_group *g = t->g;
    flights f = {NULL, 0, 0};
    unsigned round = PHASE_ROUND;
    for (int step = 1; step < g->size && !t->failed; step <<= 1, round++) {
        char here = 1, there = 0;
        flights_receive(&f, t, &there, 1, (g->rank + g->size - step) % g->size, round);
        flights_send(&f, t, &here, 1, (g->rank + step) % g->size, round);
        flights_wait(&f, t);
    }
    flights_free(&f);
}

void collective_run(task *t) {
    switch (t->call->op) {
    case CTSC_DIST_ALL_REDUCE: reduce(t, -1); break;
    case CTSC_DIST_REDUCE: reduce(t, t->call->root); break;
    case CTSC_DIST_BROADCAST: broadcast(t, t->call->root); break;
    case CTSC_DIST_ALL_GATHER: gather(t, -1); break;
    case CTSC_DIST_GATHER: gather(t, t->call->root); break;
    case CTSC_DIST_SCATTER: scatter(t, t->call->root); break;
    case CTSC_DIST_REDUCE_SCATTER: reduce_scatter(t); break;
    case CTSC_DIST_ALL_TO_ALL:
        exchange(t, t->in, t->in_bytes, t->out, t->out_bytes, PHASE_SHARE);
        break;
    case CTSC_DIST_BARRIER: barrier(t); break;
    case CTSC_DIST_SEND:
    case CTSC_DIST_RECV: break; /* process_group.c */
    }
}
