/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_group.c - process groups: worlds, subgroups, the order of calls, work handles
 * (process_group.h).
 */
#include "distributed/near.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct ctsc_dist_work {
    ctsc_dist_work *next;
    ctsc_dist_group *g;
    ctsc_dist_call call;
    char *copies; /* of the call's tensors and their sizes */
    uint64_t number;
    int64_t begun, deadline;
    pthread_mutex_t lock; /* of a message: one thread waits for it */
    flights message;      /* of SEND and RECV */
    task *posted;         /* the same */
    int source;
    bool done; /* of a collective: under the group's lock */
    ctsc_dist_error error;
};

/* ---- time, errors ---------------------------------------------------------------------------- */

int64_t dist_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t dist_left(int64_t deadline) {
    int64_t now = dist_now();
    return deadline > now ? deadline - now : 0;
}

ctsc_status dist_fail(ctsc_dist_error *e, ctsc_status s, const char *fmt, ...) {
    char text[sizeof e->message]; /* the arguments may be the error's own text */
    va_list args;
    if (!e) return s;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    e->status = s;
    memcpy(e->message, text, sizeof text);
    return s;
}

ctsc_status dist_no_memory(ctsc_dist_error *e) { return dist_fail(e, CTSC_LIMIT, "out of memory"); }

/* ---- what a task is -------------------------------------------------------------------------- */

static const char *const op_names[] = {
    "all_reduce",     "reduce",     "broadcast", "all_gather", "gather", "scatter",
    "reduce_scatter", "all_to_all", "barrier",   "send",       "recv"};

static bool is_message(ctsc_dist_op op) { return op == CTSC_DIST_SEND || op == CTSC_DIST_RECV; }

/* The tensor whose dtype and number of elements all ranks agree on; NULL: there is none. */
static const ctsc_dist_tensor *call_agreed(const ctsc_dist_call *c) {
    switch (c->op) {
    case CTSC_DIST_ALL_TO_ALL:
    case CTSC_DIST_BARRIER: return NULL;
    case CTSC_DIST_SCATTER:
    case CTSC_DIST_BROADCAST:
    case CTSC_DIST_RECV: return c->out;
    default: return c->in;
    }
}

call_summary call_summary_of(const task *t) {
    const ctsc_dist_tensor *agreed = call_agreed(t->call);
    call_summary c = {.slot = t->slot, .number = t->number, .op = t->call->op, .dtype = -1};
    if (!agreed) return c;
    c.dtype = agreed->dtype;
    c.ndim = agreed->ndim;
    for (int i = 0; i < agreed->ndim && i < CALL_DIMS; i++) c.sizes[i] = agreed->sizes[i];
    return c;
}

void call_describe(const ctsc_dist_group *g, const call_summary *c, int rank,
                   char text[GROUP_WHAT]) {
    bool known = c->op >= 0 && (size_t)c->op < sizeof op_names / sizeof *op_names;
    int n = snprintf(text, GROUP_WHAT, "rank %d, %s", rank, known ? op_names[c->op] : "?");
    if (!known || !is_message((ctsc_dist_op)c->op))
        n += snprintf(text + n, (size_t)(GROUP_WHAT - n), " number %" PRIu64, c->number);
    n += snprintf(text + n, (size_t)(GROUP_WHAT - n), " of group %.60s", g->name);
    if (c->dtype < 0) return;
    n += snprintf(text + n, (size_t)(GROUP_WHAT - n), " (%s [", dist_dtype_name(c->dtype));
    for (int i = 0; i < c->ndim && i < CALL_DIMS; i++)
        n += snprintf(text + n, (size_t)(GROUP_WHAT - n), "%s%" PRId64, i ? ", " : "", c->sizes[i]);
    snprintf(text + n, (size_t)(GROUP_WHAT - n), c->ndim > CALL_DIMS ? ", ...])" : "])");
}

void task_describe(const task *t, char text[GROUP_WHAT]) {
    call_summary c = call_summary_of(t);
    call_describe(t->g, &c, t->g->rank, text);
}

static uint64_t hash_bytes(uint64_t h, const void *p, size_t n) { /* FNV-1a */
    for (size_t i = 0; i < n; i++) h = (h ^ ((const unsigned char *)p)[i]) * 0x100000001b3u;
    return h;
}

/* What all ranks of a call have to agree on. */
static uint64_t call_slot(const ctsc_dist_group *g, const ctsc_dist_call *c, uint64_t number) {
    const ctsc_dist_tensor *agreed = is_message(c->op) ? NULL : call_agreed(c);
    bool rooted = c->op == CTSC_DIST_REDUCE || c->op == CTSC_DIST_BROADCAST ||
                  c->op == CTSC_DIST_GATHER || c->op == CTSC_DIST_SCATTER;
    bool folds = c->op == CTSC_DIST_ALL_REDUCE || c->op == CTSC_DIST_REDUCE ||
                 c->op == CTSC_DIST_REDUCE_SCATTER;
    int64_t parts[] = {(int64_t)g->id,
                       is_message(c->op) ? -1 - c->tag : (int64_t)number,
                       is_message(c->op) ? CTSC_DIST_SEND : (int64_t)c->op,
                       rooted ? c->root : -1,
                       folds ? (int64_t)c->reduce : -1,
                       agreed ? agreed->dtype : -1,
                       agreed ? dist_count(agreed) : -1};
    return hash_bytes(0xcbf29ce484222325u, parts, sizeof parts);
}

/* ---- memory of a task ------------------------------------------------------------------------ */

/* Contiguous memory of each tensor: its own, or memory for a copy. */
static bool task_side(task *t, const ctsc_dist_tensor *tensors, size_t n, bool in, char ***data,
                      size_t **bytes) {
    *data = calloc(n ? n : 1, sizeof **data);
    *bytes = calloc(n ? n : 1, sizeof **bytes);
    if (!*data || !*bytes) return task_fail(t, CTSC_LIMIT, "out of memory"), false;
    for (size_t i = 0; i < n; i++) {
        (*bytes)[i] = (size_t)dist_count(&tensors[i]) * dist_dtype_bytes(tensors[i].dtype);
        if (dist_is_contiguous(&tensors[i])) (*data)[i] = tensors[i].data;
        else if (!((*data)[i] = malloc((*bytes)[i] + 1)))
            return task_fail(t, CTSC_LIMIT, "out of memory"), false;
        else if (in) dist_pack((*data)[i], &tensors[i]);
    }
    return true;
}

static void task_side_free(const ctsc_dist_tensor *tensors, size_t n, char **data, size_t *bytes,
                           bool unpack) {
    for (size_t i = 0; i < n && data; i++)
        if (data[i] && !dist_is_contiguous(&tensors[i])) {
            if (unpack) dist_unpack(&tensors[i], data[i]);
            free(data[i]);
        }
    free(data);
    free(bytes);
}

static bool task_begin(task *t, ctsc_dist_group *g, const ctsc_dist_call *c, uint64_t number) {
    *t = (task){.g = g, .call = c, .number = number, .slot = call_slot(g, c, number)};
    t->timeout_ms = c->timeout_ms >= 0 ? c->timeout_ms : g->timeout_ms;
    t->deadline = dist_now() + t->timeout_ms;
    return task_side(t, c->in, c->n_in, true, &t->in, &t->in_bytes) &&
           task_side(t, c->out, c->n_out, false, &t->out, &t->out_bytes);
}

/* Whether out[] was written here: not by a reduction to another rank. */
static bool task_writes(const task *t) {
    bool rooted = t->call->op == CTSC_DIST_REDUCE || t->call->op == CTSC_DIST_GATHER;
    return !t->failed && t->call->op != CTSC_DIST_SEND && (!rooted || t->call->root == t->g->rank);
}

static ctsc_status task_end(task *t, ctsc_dist_error *e) {
    task_side_free(t->call->in, t->call->n_in, t->in, t->in_bytes, false);
    task_side_free(t->call->out, t->call->n_out, t->out, t->out_bytes, task_writes(t));
    return t->failed ? dist_fail(e, t->status, "%s", t->why) : CTSC_OK;
}

static ctsc_status run_collective(ctsc_dist_group *g, const ctsc_dist_call *c, uint64_t number,
                                  ctsc_dist_error *e) {
    task t;
    bool ok = task_begin(&t, g, c, number);
    if (ok) near_meet(&t);
    if (ok && !t.failed) {
        if (g->near) near_run(&t);
        else collective_run(&t);
    }
    return task_end(&t, e);
}

/* It is kept: new pages cost more than the copies that go through them. */
char *task_scratch(task *t, size_t bytes) {
    ctsc_dist_group *g = t->g;
    if (g->scratch_bytes >= bytes) return g->scratch;
    free(g->scratch);
    g->scratch = malloc(bytes);
    g->scratch_bytes = g->scratch ? bytes : 0;
    if (!g->scratch) task_fail(t, CTSC_LIMIT, "out of memory");
    return g->scratch;
}

/* ---- worlds and groups ----------------------------------------------------------------------- */

static void world_release(dist_world *w) {
    if (atomic_fetch_sub(&w->refs, 1) != 1) return;
    if (w->link) w->engine->close(w->link);
    free(w);
}

static ctsc_dist_group *group_new(dist_world *w, int n, const int *ranks, int64_t timeout_ms,
                                  const char *name) {
    ctsc_dist_group *g = calloc(1, sizeof *g);
    if (!g || !(g->ranks = malloc((size_t)n * sizeof *ranks))) return free(g), NULL;
    g->world = w;
    g->size = n;
    g->rank = -1;
    g->timeout_ms = timeout_ms;
    atomic_init(&g->refs, 1);
    snprintf(g->name, sizeof g->name, "%s", name);
    for (int i = 0; i < n; i++) {
        g->ranks[i] = ranks ? ranks[i] : i;
        if (g->ranks[i] == w->rank) g->rank = i;
    }
    g->id = hash_bytes(hash_bytes(0xcbf29ce484222325u, name, strlen(name)), g->ranks,
                       (size_t)n * sizeof *ranks);
    pthread_mutex_init(&g->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&g->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return g;
}

static void group_release(ctsc_dist_group *g) {
    if (atomic_fetch_sub(&g->refs, 1) != 1) return;
    pthread_mutex_destroy(&g->lock);
    pthread_cond_destroy(&g->changed);
    world_release(g->world);
    near_free(g->near);
    free(g->scratch);
    free(g->ranks);
    free(g);
}

/* What an engine sees of a store that may have connected other worlds before. */
typedef struct world_keys { ctsc_dist_store *store; int64_t world; } world_keys;
enum { WORLD_KEY = 256 };

static bool keys_set(void *ctx, const char *key, const void *data, size_t bytes) {
    const world_keys *k = ctx;
    char whole[WORLD_KEY];
    snprintf(whole, sizeof whole, "ctsc/engine/%" PRId64 "/%.200s", k->world, key);
    return ctsc_dist_store_set(k->store, whole, data, bytes, NULL) == CTSC_OK;
}
static bool keys_get(void *ctx, const char *key, int64_t timeout_ms, void **data, size_t *bytes) {
    const world_keys *k = ctx;
    char whole[WORLD_KEY];
    snprintf(whole, sizeof whole, "ctsc/engine/%" PRId64 "/%.200s", k->world, key);
    return ctsc_dist_store_get(k->store, whole, timeout_ms, data, bytes, NULL) == CTSC_OK;
}

enum { MEET_KEY = 80 };

static void meet_key(char key[MEET_KEY], const char *stage, int64_t world, int rank) {
    snprintf(key, MEET_KEY, "ctsc/%s/%" PRId64 "/%d", stage, world, rank);
}

/* Waits until all ranks are here: those that do not come are named, and nobody leaves while others
 * still connect. */
static ctsc_status world_meet(ctsc_dist_store *s, const char *stage, int64_t world, int rank,
                              int size, int64_t deadline, ctsc_dist_error *e) {
    char key[MEET_KEY], missing[128] = "";
    const char *one = key;
    ctsc_status st;
    meet_key(key, stage, world, rank);
    if ((st = ctsc_dist_store_set(s, key, "1", 1, e)) != CTSC_OK) return st;
    for (int r = 0; r < size; r++) {
        meet_key(key, stage, world, r);
        st = ctsc_dist_store_wait(s, 1, &one, dist_left(deadline), e);
        size_t used = strlen(missing);
        if (st == CTSC_LIMIT && used < sizeof missing - 16)
            snprintf(missing + used, sizeof missing - used, "%s%d", used ? ", " : "", r);
        else if (st != CTSC_OK && st != CTSC_LIMIT) return st;
    }
    if (!*missing) return CTSC_OK;
    return dist_fail(e, CTSC_LIMIT,
                     "Timed out initializing process group: rank %d of %d waits for rank %s", rank,
                     size, missing);
}

bool ctsc_dist_has_engine(const char *name, ctsc_dist_error *e) {
    char why[ENGINE_TEXT] = "";
    if (engine_find(name, why)) return true;
    dist_fail(e, CTSC_ENVIRONMENT, "%s", why);
    return false;
}

/* Connects the world, whose engine is known. */
static ctsc_status world_open(dist_world *w, int64_t timeout_ms, ctsc_dist_error *e) {
    char why[ENGINE_TEXT] = "";
    world_keys keys = {w->store, 0};
    engine_store lent = {&keys, keys_set, keys_get};
    int64_t deadline = dist_now() + timeout_ms;
    bool meets = w->store && w->size > 1;
    if (meets) {
        char key[MEET_KEY]; /* how often this rank was connected by this store */
        meet_key(key, "worlds", 0, w->rank);
        ctsc_status st = ctsc_dist_store_add(w->store, key, 1, &keys.world, e);
        if (st == CTSC_OK)
            st = world_meet(w->store, "came", keys.world, w->rank, w->size, deadline, e);
        if (st != CTSC_OK) return st;
    }
    w->number = keys.world;
    w->link = w->engine->open(&w->rank, &w->size, w->store ? &lent : NULL, timeout_ms, why);
    if (!w->link)
        return dist_fail(e, CTSC_FAILED, "%s: rank %d of %d: %s", w->engine->name, w->rank, w->size,
                         why);
    return meets ? world_meet(w->store, "connected", keys.world, w->rank, w->size, deadline, e)
                 : CTSC_OK;
}

/* The first group's ranks have just met: a rank that is lost now is missed within the time that was
 * given for that. */
static ctsc_status group_meet(ctsc_dist_group *g, int64_t timeout_ms, ctsc_dist_error *e) {
    task t;
    ctsc_dist_call none = {.op = CTSC_DIST_BARRIER, .timeout_ms = timeout_ms};
    if (task_begin(&t, g, &none, 0)) near_meet(&t);
    return task_end(&t, e);
}

ctsc_status ctsc_dist_init(const char *name, ctsc_dist_store *store, int rank, int size,
                           int64_t timeout_ms, const char *group_name, ctsc_dist_group **out,
                           ctsc_dist_error *e) {
    char why[ENGINE_TEXT] = "";
    const engine_interface *found = engine_find(name, why);
    if (!found) return dist_fail(e, CTSC_ENVIRONMENT, "%s", why);
    dist_world *w = calloc(1, sizeof *w);
    if (!w) return dist_no_memory(e);
    *w = (dist_world){found, NULL, store, rank, size, 0, 1};
    ctsc_dist_group *g = NULL;
    ctsc_status st = world_open(w, timeout_ms, e);
    if (st == CTSC_OK && !(g = group_new(w, w->size, NULL, timeout_ms, group_name)))
        st = dist_no_memory(e);
    if (!g) return world_release(w), st;
    if ((st = group_meet(g, timeout_ms, e)) != CTSC_OK) return group_release(g), st;
    *out = g;
    return CTSC_OK;
}

ctsc_status ctsc_dist_subgroup(ctsc_dist_group *all, int n, const int *ranks, int64_t timeout_ms,
                               const char *name, ctsc_dist_group **out, ctsc_dist_error *e) {
    ctsc_dist_group *g;
    for (int i = 0; i < n; i++)
        if (ranks[i] < 0 || ranks[i] >= all->world->size)
            return dist_fail(e, CTSC_USAGE, "rank %d is not one of %d", ranks[i], all->world->size);
    if (n < 1) return dist_fail(e, CTSC_USAGE, "a group has at least one rank");
    if (!(g = group_new(all->world, n, ranks, timeout_ms, name))) return dist_no_memory(e);
    atomic_fetch_add(&all->world->refs, 1);
    if (g->rank < 0) {
        group_release(g);
        return dist_fail(e, CTSC_USAGE, "rank %d is not in the group", all->world->rank);
    }
    *out = g;
    return CTSC_OK;
}

void ctsc_dist_group_free(ctsc_dist_group *g) {
    if (!g) return;
    group_forget(g);
    pthread_mutex_lock(&g->lock);
    while (g->running || g->first) pthread_cond_wait(&g->changed, &g->lock);
    g->stopping = true;
    pthread_cond_broadcast(&g->changed);
    bool join = g->has_thread;
    pthread_mutex_unlock(&g->lock);
    if (join) pthread_join(g->thread, NULL);
    group_release(g);
}

int ctsc_dist_rank(const ctsc_dist_group *g) { return g->rank; }
int ctsc_dist_size(const ctsc_dist_group *g) { return g->size; }
void ctsc_dist_group_set_timeout(ctsc_dist_group *g, int64_t timeout_ms) {
    g->timeout_ms = timeout_ms;
}

/* ---- works ----------------------------------------------------------------------------------- */

/* Copies tensors and their sizes one after the other; the end of what is used. */
static char *copy_tensors(const ctsc_dist_tensor *from, size_t n, char *to,
                          const ctsc_dist_tensor **out) {
    ctsc_dist_tensor *list = (ctsc_dist_tensor *)to;
    int64_t *dims = (int64_t *)(list + n);
    for (size_t i = 0; i < n; i++) {
        size_t ndim = (size_t)from[i].ndim;
        list[i] = from[i];
        if (ndim) memcpy(dims, from[i].sizes, ndim * sizeof *dims);
        list[i].sizes = dims;
        dims += ndim;
        if (!from[i].strides) continue;
        if (ndim) memcpy(dims, from[i].strides, ndim * sizeof *dims);
        list[i].strides = dims;
        dims += ndim;
    }
    *out = list;
    return (char *)dims;
}

static size_t tensors_bytes(const ctsc_dist_tensor *t, size_t n) {
    size_t bytes = n * sizeof *t;
    for (size_t i = 0; i < n; i++) bytes += 2 * (size_t)t[i].ndim * sizeof(int64_t);
    return bytes;
}

static ctsc_dist_work *work_new(ctsc_dist_group *g, const ctsc_dist_call *c) {
    ctsc_dist_work *w = calloc(1, sizeof *w);
    if (!w ||
        !(w->copies = malloc(tensors_bytes(c->in, c->n_in) + tensors_bytes(c->out, c->n_out) + 1)))
        return free(w), NULL;
    w->g = g;
    w->call = *c;
    w->source = -1;
    char *end = copy_tensors(c->in, c->n_in, w->copies, &w->call.in);
    copy_tensors(c->out, c->n_out, end, &w->call.out);
    pthread_mutex_init(&w->lock, NULL);
    atomic_fetch_add(&g->refs, 1);
    return w;
}

static void *group_main(void *arg) {
    ctsc_dist_group *g = arg;
    pthread_mutex_lock(&g->lock);
    for (;;) {
        while (!g->stopping && (g->running || !g->first)) pthread_cond_wait(&g->changed, &g->lock);
        if (!g->first) break;
        ctsc_dist_work *w = g->first;
        g->first = w->next;
        if (!g->first) g->last = NULL;
        g->running = true;
        pthread_mutex_unlock(&g->lock);
        run_collective(g, &w->call, w->number, &w->error);
        pthread_mutex_lock(&g->lock);
        w->done = true;
        g->running = false;
        pthread_cond_broadcast(&g->changed);
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

/* Under the group's lock. */
static bool group_queue(ctsc_dist_group *g, ctsc_dist_work *w) {
    if (!g->has_thread && pthread_create(&g->thread, NULL, group_main, g) != 0) return false;
    g->has_thread = true;
    w->number = g->calls++;
    if (g->last) g->last->next = w;
    else g->first = w;
    g->last = w;
    pthread_cond_broadcast(&g->changed);
    return true;
}

static ctsc_status start_collective(ctsc_dist_group *g, const ctsc_dist_call *c,
                                    ctsc_dist_work **out, ctsc_dist_error *e) {
    ctsc_dist_work *w = work_new(g, c);
    if (!w) return dist_no_memory(e);
    pthread_mutex_lock(&g->lock);
    bool ok = group_queue(g, w);
    if (!ok) w->done = true;
    pthread_mutex_unlock(&g->lock);
    if (ok) *out = w;
    else ctsc_dist_work_free(w);
    return ok ? CTSC_OK : dist_fail(e, CTSC_LIMIT, "no thread for the group");
}

/* Runs it here if nothing else runs, else after what waits. */
static ctsc_status finish_collective(ctsc_dist_group *g, const ctsc_dist_call *c,
                                     ctsc_dist_error *e) {
    ctsc_dist_work *w;
    pthread_mutex_lock(&g->lock);
    if (!g->running && !g->first) {
        uint64_t number = g->calls++;
        g->running = true;
        pthread_mutex_unlock(&g->lock);
        ctsc_status st = run_collective(g, c, number, e);
        pthread_mutex_lock(&g->lock);
        g->running = false;
        pthread_cond_broadcast(&g->changed);
        pthread_mutex_unlock(&g->lock);
        return st;
    }
    pthread_mutex_unlock(&g->lock);
    ctsc_status st = start_collective(g, c, &w, e);
    if (st != CTSC_OK) return st;
    st = ctsc_dist_work_wait(w, -1, e);
    ctsc_dist_work_free(w);
    return st;
}

/* ---- single messages ------------------------------------------------------------------------- */

static void message_post(task *t, flights *f) {
    const ctsc_dist_call *c = t->call;
    if (c->op == CTSC_DIST_SEND) flights_send(f, t, t->in[0], t->in_bytes[0], c->root, 0);
    else flights_receive(f, t, t->out[0], t->out_bytes[0], c->root < 0 ? -1 : c->root, 0);
}

static ctsc_status start_message(ctsc_dist_group *g, const ctsc_dist_call *c, ctsc_dist_work **out,
                                 ctsc_dist_error *e) {
    ctsc_dist_work *w = work_new(g, c);
    if (w) w->posted = malloc(sizeof *w->posted);
    if (!w || !w->posted) {
        if (w) w->done = true, ctsc_dist_work_free(w);
        return dist_no_memory(e);
    }
    if (task_begin(w->posted, g, &w->call, 0)) message_post(w->posted, &w->message);
    *out = w;
    return CTSC_OK;
}

/* An engine's wait says who sent; flights do not ask. */
static void message_finish(ctsc_dist_work *w) {
    char why[ENGINE_TEXT] = "";
    task *t = w->posted;
    const dist_world *world = w->g->world;
    if (!t->failed && w->message.n && w->call.op == CTSC_DIST_RECV && w->call.root < 0) {
        int from = -1;
        engine_outcome o = world->engine->wait(w->message.list[0].request, dist_left(t->deadline),
                                               &from, why);
        for (int i = 0; o == ENGINE_DONE && i < w->g->size; i++)
            if (w->g->ranks[i] == from) w->source = i;
        if (o == ENGINE_DONE) {
            world->engine->release(w->message.list[0].request);
            w->message.n = 0;
        }
    } else w->source = w->call.root;
    flights_wait(&w->message, t);
    flights_free(&w->message);
    task_end(t, &w->error);
    free(t);
    w->posted = NULL;
    w->done = true;
}

/* ---- the interface of works ------------------------------------------------------------------ */

ctsc_status dist_start(ctsc_dist_group *g, const ctsc_dist_call *c, ctsc_dist_work **out,
                       ctsc_dist_error *e) {
    return is_message(c->op) ? start_message(g, c, out, e) : start_collective(g, c, out, e);
}

ctsc_status dist_finish(ctsc_dist_group *g, const ctsc_dist_call *c, ctsc_dist_error *e) {
    ctsc_dist_work *w;
    if (!is_message(c->op)) return finish_collective(g, c, e);
    ctsc_status st = start_message(g, c, &w, e);
    if (st != CTSC_OK) return st;
    st = ctsc_dist_work_wait(w, -1, e);
    ctsc_dist_work_free(w);
    return st;
}

static struct timespec time_at(int64_t ms) {
    return (struct timespec){(time_t)(ms / 1000), (long)(ms % 1000 * 1000000)};
}

ctsc_status ctsc_dist_work_wait(ctsc_dist_work *w, int64_t timeout_ms, ctsc_dist_error *e) {
    ctsc_dist_group *g = w->g;
    bool done;
    if (is_message(w->call.op)) {
        pthread_mutex_lock(&w->lock);
        if (!w->done && timeout_ms >= 0) {
            w->posted->timeout_ms = timeout_ms;
            w->posted->deadline = dist_now() + timeout_ms;
        }
        if (!w->done) message_finish(w);
        pthread_mutex_unlock(&w->lock);
        done = true;
    } else {
        struct timespec until = time_at(dist_now() + (timeout_ms < 0 ? 0 : timeout_ms));
        int late = 0;
        pthread_mutex_lock(&g->lock);
        while (!w->done && !late)
            if (timeout_ms < 0) pthread_cond_wait(&g->changed, &g->lock);
            else late = pthread_cond_timedwait(&g->changed, &g->lock, &until);
        done = w->done;
        pthread_mutex_unlock(&g->lock);
    }
    if (!done)
        return dist_fail(e, CTSC_LIMIT, "%s of group %s still runs after %" PRId64 "ms",
                         op_names[w->call.op], g->name, timeout_ms);
    return w->error.status ? dist_fail(e, w->error.status, "%s", w->error.message) : CTSC_OK;
}

bool ctsc_dist_work_done(ctsc_dist_work *w) {
    pthread_mutex_lock(&w->g->lock);
    bool done = w->done;
    pthread_mutex_unlock(&w->g->lock);
    return done;
}

int ctsc_dist_work_source(ctsc_dist_work *w) { return w->source; }

void ctsc_dist_work_free(ctsc_dist_work *w) {
    if (!w) return;
    if (!ctsc_dist_work_done(w)) ctsc_dist_work_wait(w, -1, NULL);
    pthread_mutex_destroy(&w->lock);
    group_release(w->g);
    free(w->copies);
    free(w);
}
