/* SPDX-License-Identifier: Apache-2.0 */
/* near.c - segments that the ranks of a group share, and rounds (near.h). */
#include "distributed/near_internal.h"

#include "distributed/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    NEAR_SEGMENT = 2 << 20, /* bytes of all buffers together, about: they stay in a cache */
    NEAR_LEAST = 16 << 10,
    NEAR_MOST = 256 << 10, /* bytes of a buffer */
    NEAR_RANKS = 128,      /* more have too little of a segment each */
    NEAR_LOOKS = 200,      /* looks at a word before this rank sleeps */
    NEAR_SLEEP_MS = 20     /* how often a sleeper asks whether the others live */
};

/* ---- the segment ----------------------------------------------------------------------------- */

struct near_head {
    uint64_t token;
    atomic_uint failed; /* 1 + the rank that failed first */
    atomic_uint told;   /* it has said why */
    atomic_uint sleepers;
    atomic_bool lost; /* it lost another rank */
    char why[512];
};

/* Of a rank. The words are counts of rounds; only their differences count. */
struct near_rank {
    _Alignas(64) atomic_uint written;
    _Alignas(64) atomic_uint read;
    _Alignas(64) int pid;
    near_call call[2]; /* beside each buffer */
};

static size_t near_buffer_bytes(int n) {
    size_t bytes = NEAR_SEGMENT / (2 * (size_t)n) / 4096 * 4096;
    return bytes < NEAR_LEAST ? NEAR_LEAST : bytes > NEAR_MOST ? NEAR_MOST : bytes;
}

static size_t near_head_bytes(int n) {
    size_t bytes = 4096 + (size_t)n * sizeof(struct near_rank);
    return (bytes + 4095) / 4096 * 4096;
}

static struct near_rank *near_ranks(const near_segment *s) {
    return (struct near_rank *)((char *)s->head + 4096);
}

static char *near_buffer(const near_segment *s, int rank) {
    size_t at = 2 * (size_t)rank + (s->round & 1);
    return (char *)s->head + near_head_bytes(s->size) + at * s->buffer;
}

void near_free(near_segment *s) {
    if (!s) return;
    if (s->head) munmap(s->head, s->bytes);
    if (s->fd >= 0) close(s->fd); /* and with it the lock */
    free(s);
}

/* ---- meeting --------------------------------------------------------------------------------- */

/* What the first rank tells the others; fd -1: there is no segment. */
typedef struct near_place { int64_t pid, fd; uint64_t token; } near_place;
enum { NEAR_KEY = 128 };

/* What is told, in this order; in the store under these names, in messages by these phases. */
typedef enum near_word { NEAR_PLACE, NEAR_OPENED, NEAR_ALL } near_word;

static void near_key(const task *t, near_word word, int rank, char key[NEAR_KEY]) {
    static const char *const names[] = {"place", "opened", "all"};
    snprintf(key, NEAR_KEY, "ctsc/near/%" PRId64 "/%016" PRIx64 "/%s/%d", t->g->world->number,
             t->g->id, names[word], rank);
}

/* MPI has no store. Messages of a meeting have the group's number for their slot: the ranks may be
 * in different calls. */
static bool near_message(task *t, near_word word, int peer, void *data, size_t bytes, bool sends) {
    flights f = {NULL, 0, 0};
    uint64_t slot = t->slot;
    t->slot = t->g->id;
    if (sends) flights_send(&f, t, data, bytes, peer, word);
    else flights_receive(&f, t, data, bytes, peer, word);
    flights_wait(&f, t);
    flights_free(&f);
    t->slot = slot;
    return !t->failed;
}

/* The first rank tells all others, and they tell it. */
static bool near_say(task *t, near_word word, void *data, size_t bytes) {
    char key[NEAR_KEY];
    ctsc_dist_error e;
    const ctsc_dist_group *g = t->g;
    if (!g->world->store) {
        if (g->rank) return near_message(t, word, 0, data, bytes, true);
        for (int r = 1; r < g->size && !t->failed; r++) near_message(t, word, r, data, bytes, true);
        return !t->failed;
    }
    near_key(t, word, g->rank, key);
    if (ctsc_dist_store_set(g->world->store, key, data, bytes, &e) == CTSC_OK) return true;
    task_fail(t, e.status, "%s", e.message);
    return false;
}

/* What a rank sends, whose length is known. */
static bool near_hear(task *t, near_word word, int rank, void *out, size_t bytes) {
    char key[NEAR_KEY];
    ctsc_dist_error e = {0};
    void *data = NULL;
    size_t got = 0;
    if (!t->g->world->store) return near_message(t, word, rank, out, bytes, false);
    near_key(t, word, rank, key);
    ctsc_status st = ctsc_dist_store_get(t->g->world->store, key, dist_left(t->deadline), &data,
                                         &got, &e);
    if (st == CTSC_LIMIT) task_fail_late(t, rank);
    else if (st != CTSC_OK) task_fail(t, st, "%s", e.message);
    else if (got == bytes) memcpy(out, data, bytes);
    else task_fail(t, CTSC_FAILED, "rank %d is of another version of ctsc", rank);
    ctsc_dist_free(data);
    return !t->failed;
}

/* Maps the segment that s->fd is, and locks this rank's byte of it. */
static bool near_map(near_segment *s, int rank) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
    void *at = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    if (at == MAP_FAILED) return false;
    s->head = at;
    near_ranks(s)[rank].pid = (int)getpid();
    return fcntl(s->fd, F_SETLK, &lock) == 0;
}

static near_segment *near_new(int n) {
    near_segment *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->fd = -1;
    s->size = n;
    s->buffer = near_buffer_bytes(n);
    s->bytes = near_head_bytes(n) + 2 * (size_t)n * s->buffer;
    return s;
}

/* The segment is filled with zeros only where it is touched. */
static bool near_make(near_segment *s, near_place *place) {
    s->fd = (int)syscall(SYS_memfd_create, "ctsc-dist", 1u /* closed by exec */);
    if (s->fd < 0 || ftruncate(s->fd, (off_t)s->bytes) != 0 || !near_map(s, 0) ||
        getrandom(&place->token, sizeof place->token, 0) != sizeof place->token)
        return false;
    place->pid = (int64_t)getpid();
    place->fd = s->fd;
    s->head->token = place->token;
    return true;
}

static bool near_open(near_segment *s, const near_place *place, int rank) {
    char path[64];
    if (place->fd < 0) return false;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/fd/%" PRId64, place->pid, place->fd);
    s->fd = open(path, O_RDWR | O_CLOEXEC);
    off_t size = s->fd >= 0 ? lseek(s->fd, 0, SEEK_END) : -1;
    return size == (off_t)s->bytes && near_map(s, rank) && s->head->token == place->token;
}

static bool near_is_off(const ctsc_dist_group *g) {
    const char *text = getenv("CTSC_DIST_NEAR");
    return g->size < 2 || g->size > NEAR_RANKS || (text && !strcmp(text, "0"));
}

void near_meet(task *t) {
    ctsc_dist_group *g = t->g;
    near_place place = {0, -1, 0};
    uint8_t opened = 0, all = 1;
    if (g->met || near_is_off(g)) return;
    near_segment *s = near_new(g->size);
    if (!s) return task_fail(t, CTSC_LIMIT, "out of memory");
    if (g->rank == 0) {
        all = near_make(s, &place);
        if (!all) place.fd = -1;
        near_say(t, NEAR_PLACE, &place, sizeof place);
        for (int r = 1; r < g->size && !t->failed; r++)
            if (near_hear(t, NEAR_OPENED, r, &opened, 1)) all &= opened;
        if (!t->failed) near_say(t, NEAR_ALL, &all, 1);
    } else if (near_hear(t, NEAR_PLACE, 0, &place, sizeof place)) {
        opened = near_open(s, &place, g->rank);
        if (near_say(t, NEAR_OPENED, &opened, 1)) near_hear(t, NEAR_ALL, 0, &all, 1);
    }
    g->met = !t->failed;
    if (g->met && all) g->near = s;
    else near_free(s);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static bool near_lives(const near_segment *s, int rank) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
    if (near_ranks(s)[rank].pid == (int)getpid()) return true; /* a thread of this process */
    return fcntl(s->fd, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

static void near_wake(near_segment *s, atomic_uint *word) {
    if (atomic_load(&s->head->sleepers))
        syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* The task has failed: so do the others, who may wait for this rank. */
static void near_tell(task *t, const char *why, bool lost) {
    near_segment *s = t->g->near;
    const dist_world *w = t->g->world;
    unsigned none = 0;
    if (w->engine->abandon) w->engine->abandon(w->link);
    if (!atomic_compare_exchange_strong(&s->head->failed, &none, 1 + (unsigned)t->g->rank)) return;
    snprintf(s->head->why, sizeof s->head->why, "%s", why);
    atomic_store(&s->head->lost, lost);
    atomic_store(&s->head->told, 1);
}

static void near_fail(task *t, ctsc_status status, bool lost, const char *why) {
    char what[GROUP_WHAT];
    task_describe(t, what);
    task_fail(t, status, "%s: %s", what, why);
    near_tell(t, why, lost);
}

void near_fail_sizes(task *t, int peer, size_t given, size_t wanted) {
    char why[160];
    snprintf(why, sizeof why, "rank %d gives %zu bytes to rank %d, which takes %zu", peer, given,
             t->g->rank, wanted);
    near_fail(t, CTSC_FAILED, false, why);
}

static void near_fail_lost(task *t, int peer) {
    char why[64];
    snprintf(why, sizeof why, "lost rank %d: its process has ended", peer);
    near_fail(t, CTSC_FAILED, true, why);
}

static void near_fail_late(task *t, int peer) {
    char why[128];
    snprintf(why, sizeof why, "Timed out waiting %" PRId64 "ms for rank %d to send", t->timeout_ms,
             peer);
    near_fail(t, CTSC_LIMIT, false, why);
}

/* Another rank has failed, and said why, or will have in a moment. */
static void near_fail_with(task *t) {
    const struct near_head *h = t->g->near->head;
    char why[sizeof h->why + 32];
    int by = (int)atomic_load(&h->failed) - 1;
    while (!atomic_load(&h->told) && near_lives(t->g->near, by)) sched_yield();
    if (!atomic_load(&h->told)) snprintf(why, sizeof why, "lost rank %d", by);
    else if (atomic_load(&h->lost)) snprintf(why, sizeof why, "%s", h->why);
    else snprintf(why, sizeof why, "rank %d: %s", by, h->why);
    near_fail(t, CTSC_FAILED, false, why);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* The call of a peer, which has written this round, is another one than this rank's. */
static bool near_differs(const task *t, int peer) {
    const near_segment *s = t->g->near;
    return s->first && near_ranks(s)[peer].call[s->round & 1].what.slot != t->slot;
}

static void near_fail_other(task *t, int peer) {
    char why[GROUP_WHAT + 64], other[GROUP_WHAT];
    const near_call *c = &near_ranks(t->g->near)[peer].call[t->g->near->round & 1];
    call_describe(t->g, &c->what, peer, other);
    snprintf(why, sizeof why, "the ranks are in different calls; rank %d: %s", peer, other);
    near_fail(t, CTSC_FAILED, false, why);
}

/* Whether somebody has failed; the reason may be that calls differ, which is then said as this rank
 * sees it. */
static bool near_has_failed(task *t) {
    const near_segment *s = t->g->near;
    if (!atomic_load(&s->head->failed)) return false;
    for (int r = 0; r < s->size && s->writes && !t->failed; r++)
        if (r != t->g->rank && atomic_load(&near_ranks(s)[r].written) - s->round - 1 < INT32_MAX &&
            near_differs(t, r))
            near_fail_other(t, r);
    if (!t->failed) near_fail_with(t);
    return true;
}

/* Waits until a count of a peer has come to `least`. A rank that does not see it at once sleeps:
 * sched_yield would hand the rest of its time to whatever else the machine runs, and a sleeper that
 * is woken comes first. */
static bool near_wait(task *t, int peer, atomic_uint *word, unsigned least) {
    near_segment *s = t->g->near;
    unsigned seen;
    for (unsigned tries = 0;; tries++) {
        seen = atomic_load_explicit(word, memory_order_acquire);
        if ((int)(seen - least) >= 0) return true;
        if (tries < s->looks) continue;
        if (near_has_failed(t)) return false;
        if (!near_lives(s, peer)) {
            seen = atomic_load_explicit(word, memory_order_acquire); /* its last deed */
            if ((int)(seen - least) >= 0) return true;
            return near_fail_lost(t, peer), false;
        }
        if (!dist_left(t->deadline)) return near_fail_late(t, peer), false;
        struct timespec time = {0, NEAR_SLEEP_MS * 1000000L};
        atomic_fetch_add(&s->head->sleepers, 1);
        syscall(SYS_futex, word, FUTEX_WAIT, seen, &time, NULL, 0);
        atomic_fetch_sub(&s->head->sleepers, 1);
    }
}

char *near_write(task *t) {
    near_segment *s = t->g->near;
    for (int r = 0; r < s->size && !t->failed; r++) /* the buffer's readers of two rounds ago */
        if (r != t->g->rank) near_wait(t, r, &near_ranks(s)[r].read, s->round - 1);
    if (t->failed) return NULL;
    if (s->first) near_ranks(s)[t->g->rank].call[s->round & 1] = s->call;
    return near_buffer(s, t->g->rank);
}

void near_written(task *t) {
    near_segment *s = t->g->near;
    s->writes = true;
    atomic_store(&near_ranks(s)[t->g->rank].written, s->round + 1);
    near_wake(s, &near_ranks(s)[t->g->rank].written);
}

const char *near_read(task *t, int peer) {
    near_segment *s = t->g->near;
    if (t->failed || !near_wait(t, peer, &near_ranks(s)[peer].written, s->round + 1)) return NULL;
    if (near_differs(t, peer)) return near_fail_other(t, peer), NULL;
    return near_buffer(s, peer);
}

const near_call *near_call_of(const task *t, int peer) {
    return &near_ranks(t->g->near)[peer].call[t->g->near->round & 1];
}

void near_next(task *t) {
    near_segment *s = t->g->near;
    if (t->failed) return;
    s->round++;
    s->first = s->writes = false;
    atomic_store(&near_ranks(s)[t->g->rank].read, s->round);
    near_wake(s, &near_ranks(s)[t->g->rank].read);
}

void near_begin(task *t) {
    near_segment *s = t->g->near;
    s->first = true;
    s->writes = false;
    s->looks = s->size <= sysconf(_SC_NPROCESSORS_ONLN) ? NEAR_LOOKS : 1;
    s->call = (near_call){call_summary_of(t), 0};
    if (atomic_load(&s->head->failed)) near_fail_with(t);
}
