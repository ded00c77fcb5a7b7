/* SPDX-License-Identifier: Apache-2.0 */
/*
 * near_collective.c - collectives as rounds in memory that the ranks share (near.h).
 *
 * Method.
 *   reductions   what is small: everybody writes all, and folds all. Else chunk by chunk: in round
 *                k a rank writes the elements of chunk k that others fold and its folded part of
 *                chunk k - 1, folds its part of chunk k, and takes the others' parts of chunk k - 1
 *   all others   every rank writes a chunk for those who want it, or a piece for each
 */
#include "distributed/near_internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NEAR_SMALL = 32 << 10, NEAR_LINE = 64 };

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }
static size_t larger(size_t a, size_t b) { return a > b ? a : b; }
static size_t rounds_of(size_t bytes, size_t piece) { return bytes / piece + (bytes % piece != 0); }

/* The peers of a rank, beginning with the next one, so that not all read the same one at once. */
static int peer_at(const task *t, int k) { return (t->g->rank + k) % t->g->size; }

static void copy(char *to, const char *from, size_t bytes) {
    if (bytes && to != from) memmove(to, from, bytes);
}

/* ---- reductions ------------------------------------------------------------------------------ */

typedef struct reduction {
    task *t;
    int root; /* negative: all want the result */
    size_t item, count;
    size_t chunk; /* elements; a multiple of a line for every rank */
    const void **in;
    char *result; /* where this rank's part of a chunk is folded, unless that is the result */
} reduction;

static bool reduction_takes(const reduction *r) { return r->root < 0 || r->t->g->rank == r->root; }

/* Of chunk k: its first element, how many it has, and the part of a rank, from its beginning. */
static size_t chunk_count(const reduction *r, size_t k) {
    size_t at = k * r->chunk;
    return at < r->count ? smaller(r->chunk, r->count - at) : 0;
}
static void chunk_part(const reduction *r, size_t k, int rank, size_t *from, size_t *count) {
    size_t n = chunk_count(r, k), part = r->chunk / (size_t)r->t->g->size;
    *from = smaller(part * (size_t)rank, n);
    *count = smaller(part, n - *from);
}

static void fold_into(const reduction *r, char *out, size_t count) {
    const ctsc_dist_call *c = r->t->call;
    if (count) dist_fold(out, r->in, r->t->g->size, count, c->in[0].dtype, c->reduce);
}

static void reduce_small(reduction *r) {
    task *t = r->t;
    size_t bytes = t->in_bytes[0];
    char *own = near_write(t);
    if (!own) return;
    copy(own, t->in[0], bytes);
    near_written(t);
    for (int k = 1; k < t->g->size && !t->failed && reduction_takes(r); k++)
        r->in[peer_at(t, k)] = near_read(t, peer_at(t, k));
    r->in[t->g->rank] = own; /* not in[0], which out[0] may overlap */
    if (!t->failed && reduction_takes(r)) fold_into(r, t->out[0], r->count);
    near_next(t);
}

/* Where this rank's folded part of chunk k is. */
static char *reduction_own(const reduction *r, size_t k) {
    size_t from, count;
    chunk_part(r, k, r->t->g->rank, &from, &count);
    return reduction_takes(r) ? r->t->out[0] + (k * r->chunk + from) * r->item : r->result;
}

static void reduce_write(const reduction *r, size_t k, char *own) {
    task *t = r->t;
    size_t from, count, folded = r->chunk * r->item, at = k * r->chunk;
    if (k) {
        chunk_part(r, k - 1, t->g->rank, &from, &count);
        copy(own + folded, reduction_own(r, k - 1), count * r->item);
    }
    for (int i = 1; i < t->g->size; i++) {
        chunk_part(r, k, peer_at(t, i), &from, &count);
        copy(own + from * r->item, t->in[0] + (at + from) * r->item, count * r->item);
    }
}

static void reduce_round(const reduction *r, size_t k) {
    task *t = r->t;
    size_t from, count, folded = r->chunk * r->item;
    size_t mine_from, mine;
    chunk_part(r, k, t->g->rank, &mine_from, &mine);
    for (int i = 1; i < t->g->size; i++) {
        int peer = peer_at(t, i);
        const char *given = near_read(t, peer);
        if (!given) return;
        r->in[peer] = given + mine_from * r->item;
        if (!k || !reduction_takes(r)) continue;
        chunk_part(r, k - 1, peer, &from, &count);
        copy(t->out[0] + ((k - 1) * r->chunk + from) * r->item, given + folded, count * r->item);
    }
    r->in[t->g->rank] = t->in[0] + (k * r->chunk + mine_from) * r->item;
    if (mine) fold_into(r, reduction_own(r, k), mine);
}

static void reduce_large(reduction *r) {
    task *t = r->t;
    size_t n = (size_t)t->g->size, line = NEAR_LINE / r->item;
    /* a chunk and one part of it are one buffer */
    size_t part = t->g->near->buffer / (r->item * (n + 1)) / line * line,
           all = (r->count / n + line) / line * line;
    r->chunk = smaller(part, all) * n;
    r->result = task_scratch(t, r->chunk / n * r->item);
    size_t rounds = rounds_of(r->count, r->chunk) + 1;
    for (size_t k = 0; k < rounds && !t->failed; k++) {
        char *own = near_write(t);
        if (!own) return;
        reduce_write(r, k, own);
        near_written(t);
        reduce_round(r, k);
        near_next(t);
    }
}

static void reduce(task *t, int root) {
    size_t item = dist_dtype_bytes(t->call->in[0].dtype);
    reduction r = {.t = t, .root = root, .item = item, .count = t->in_bytes[0] / item};
    r.in = malloc((size_t)t->g->size * sizeof *r.in);
    if (!r.in) return task_fail(t, CTSC_LIMIT, "out of memory");
    size_t least = smaller(NEAR_SMALL / (size_t)t->g->size, t->g->near->buffer);
    if (t->in_bytes[0] <= least) reduce_small(&r);
    else reduce_large(&r);
    free(r.in);
}

/* in[r] is for rank r; pieces of all ranks' parts are one buffer. */
static void reduce_scatter(task *t) {
    int n = t->g->size, self = t->g->rank, dtype = t->call->in[0].dtype;
    size_t item = dist_dtype_bytes(dtype), most = 0;
    size_t piece = t->g->near->buffer / (size_t)n / NEAR_LINE * NEAR_LINE;
    const void **in = malloc((size_t)n * sizeof *in);
    if (!in) return task_fail(t, CTSC_LIMIT, "out of memory");
    for (int r = 0; r < n; r++) most = larger(most, t->in_bytes[r]);
    for (size_t at = 0; (!at || at < most) && !t->failed; at += piece) {
        char *own = near_write(t);
        if (!own) break;
        for (int k = 1; k < n; k++) {
            int r = peer_at(t, k);
            size_t bytes = at < t->in_bytes[r] ? smaller(piece, t->in_bytes[r] - at) : 0;
            copy(own + (size_t)r * piece, t->in[r] + at, bytes);
        }
        near_written(t);
        size_t mine = at < t->in_bytes[self] ? smaller(piece, t->in_bytes[self] - at) : 0;
        for (int k = 1; k < n && !t->failed; k++) {
            const char *given = near_read(t, peer_at(t, k));
            in[peer_at(t, k)] = given ? given + (size_t)self * piece : NULL;
        }
        in[self] = t->in[self] + at;
        if (mine && !t->failed)
            dist_fold(t->out[0] + at, in, n, mine / item, dtype, t->call->reduce);
        near_next(t);
    }
    free(in);
}

/* ---- one writes, others read ----------------------------------------------------------------- */

/* The rank `from` (negative: each of them) gives its bytes to the rank `to` (negative: all).
 * out[r]: where those of rank r go; NULL: they are not needed. */
static void spread(task *t, const char *in, char *const *out, size_t bytes, int from, int to) {
    size_t chunk = t->g->near->buffer;
    int self = t->g->rank;
    bool gives = from < 0 || from == self, takes = to < 0 || to == self;
    for (size_t at = 0; (!at || at < bytes) && !t->failed; at += chunk) {
        size_t part = smaller(chunk, bytes - at);
        char *own = near_write(t);
        if (!own) return;
        if (gives) copy(own, in + at, part);
        near_written(t);
        for (int k = 1; k < t->g->size && takes; k++) {
            int peer = peer_at(t, k);
            const char *given = from < 0 || from == peer ? near_read(t, peer) : NULL;
            if (given) copy(out[peer] + at, given, part);
        }
        near_next(t);
    }
    if (gives && takes && !t->failed && out[self]) copy(out[self], in, bytes);
}

static void broadcast(task *t, int root) {
    char **out = calloc((size_t)t->g->size, sizeof *out);
    if (!out) return task_fail(t, CTSC_LIMIT, "out of memory");
    out[root] = t->out[0];
    spread(t, t->g->rank == root ? t->in[0] : NULL, out, t->out_bytes[0], root, -1);
    free(out);
}

static void gather(task *t, int root) { spread(t, t->in[0], t->out, t->in_bytes[0], -1, root); }

/* ---- a piece for each ------------------------------------------------------------------------ */

/* A buffer has, of each rank, the bytes of its part as a number, and a piece of it. */
static void all_to_all(task *t) {
    int n = t->g->size, self = t->g->rank;
    size_t table = ((size_t)n * sizeof(uint64_t) + NEAR_LINE - 1) / NEAR_LINE * NEAR_LINE;
    size_t piece = (t->g->near->buffer - table) / (size_t)n / NEAR_LINE * NEAR_LINE, rounds = 1;
    for (int r = 0; r < n; r++) rounds = larger(rounds, rounds_of(t->in_bytes[r], piece));
    t->g->near->call.rounds = rounds;
    for (size_t k = 0; k < rounds && !t->failed; k++) {
        size_t at = k * piece;
        char *own = near_write(t);
        if (!own) return;
        for (int i = 0; i < n; i++) {
            uint64_t bytes = t->in_bytes[i];
            memcpy(own + (size_t)i * sizeof bytes, &bytes, sizeof bytes);
            if (i != self && at < t->in_bytes[i])
                copy(own + table + (size_t)i * piece, t->in[i] + at,
                     smaller(piece, t->in_bytes[i] - at));
        }
        near_written(t);
        for (int i = 1; i < n && !t->failed; i++) {
            int peer = peer_at(t, i);
            const char *given = near_read(t, peer);
            uint64_t bytes;
            if (!given) break;
            memcpy(&bytes, given + (size_t)self * sizeof bytes, sizeof bytes);
            if (bytes != t->out_bytes[peer]) near_fail_sizes(t, peer, bytes, t->out_bytes[peer]);
            else if (at < bytes)
                copy(t->out[peer] + at, given + table + (size_t)self * piece,
                     smaller(piece, bytes - at));
            /* before the first round nobody knows who has most */
            if (!k) rounds = larger(rounds, near_call_of(t, peer)->rounds);
        }
        near_next(t);
    }
    if (!t->failed) copy(t->out[self], t->in[self], t->in_bytes[self]);
}

static void scatter(task *t, int root) {
    int n = t->g->size, self = t->g->rank;
    size_t piece = t->g->near->buffer / (size_t)n / NEAR_LINE * NEAR_LINE, bytes = t->out_bytes[0];
    for (size_t at = 0; (!at || at < bytes) && !t->failed; at += piece) {
        size_t part = smaller(piece, bytes - at);
        char *own = near_write(t);
        if (!own) return;
        for (int r = 0; r < n && self == root; r++)
            if (r != root) copy(own + (size_t)r * piece, t->in[r] + at, part);
        near_written(t);
        const char *given = self == root ? NULL : near_read(t, root);
        if (given) copy(t->out[0] + at, given + (size_t)self * piece, part);
        near_next(t);
    }
    if (self == root && !t->failed) copy(t->out[0], t->in[self], bytes);
}

static void barrier(task *t) {
    if (!near_write(t)) return;
    near_written(t);
    for (int k = 1; k < t->g->size; k++) near_read(t, peer_at(t, k));
    near_next(t);
}

void near_run(task *t) {
    near_begin(t);
    if (t->failed) return;
    switch (t->call->op) {
    case CTSC_DIST_ALL_REDUCE: reduce(t, -1); break;
    case CTSC_DIST_REDUCE: reduce(t, t->call->root); break;
    case CTSC_DIST_BROADCAST: broadcast(t, t->call->root); break;
    case CTSC_DIST_ALL_GATHER: gather(t, -1); break;
    case CTSC_DIST_GATHER: gather(t, t->call->root); break;
    case CTSC_DIST_SCATTER: scatter(t, t->call->root); break;
    case CTSC_DIST_REDUCE_SCATTER: reduce_scatter(t); break;
    case CTSC_DIST_ALL_TO_ALL: all_to_all(t); break;
    case CTSC_DIST_BARRIER: barrier(t); break;
    case CTSC_DIST_SEND:
    case CTSC_DIST_RECV: break; /* the engine's */
    }
}
