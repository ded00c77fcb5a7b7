/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recordings.c - the recordings of a function: finding one for a call, making one, playing
 * it (recordings.h).
 * Tests: tests/unit/test_cuda_recording.c
 */
#include "runtime/cuda/recordings.h"

#include "base/log.h"
#include "base/variables.h"
#include "runtime/cuda/cuda_ops.h"
#include "runtime/cuda/record.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* the call with a signature that is recorded; the first of a function, which makes its
     * code, is not counted */
    RECORDINGS_AFTER = 2,
    RECORDINGS_MOST = 16,    /* signatures that a function keeps */
    RECORDINGS_REFUSALS = 8, /* after this many, and no recording, no further call is tried */
};

typedef enum entry_state { ENTRY_COUNTS, ENTRY_BUSY, ENTRY_READY, ENTRY_REFUSED } entry_state;

typedef struct entry {
    struct entry *next;
    entry_state state;
    int calls;
    recording r; /* ENTRY_READY */
    size_t nwords;
    uint64_t words[]; /* of the signature */
} entry;

typedef struct recordings {
    code_extra extra; /* what frees it with its code */
    const char *name; /* of the function, borrowed from its code */
    pthread_mutex_t lock;
    int64_t replayed;
    entry *first; /* the one used last */
    int entries, made, refused;
} recordings;

static struct { _Atomic int64_t recorded, refused, replayed, dropped; } recordings_counts;

recordings_stats recordings_get_stats(void) {
    return (recordings_stats){recordings_counts.recorded, recordings_counts.refused,
                              recordings_counts.replayed, recordings_counts.dropped};
}

/* ---- the table ------------------------------------------------------------------------------- */

static void entry_free(entry *e) {
    recording_clear(&e->r);
    mem_free(e);
}

static void recordings_free(code_extra *x) {
    recordings *t = (recordings *)x;
    if (t->made)
        log_event(CTSC_LOG_INFO, "%s: %lld calls were replayed", t->name, (long long)t->replayed);
    for (entry *e = t->first, *next; e; e = next) {
        next = e->next;
        entry_free(e);
    }
    pthread_mutex_destroy(&t->lock);
    mem_free(t);
}

/* c's table; NULL if out of memory. */
static recordings *recordings_of(code *c) {
    code_extra *x = __atomic_load_n(&c->recordings, __ATOMIC_ACQUIRE);
    if (x) return (recordings *)x;
    recordings *t = mem_zalloc(sizeof *t);
    if (!t) return NULL;
    pthread_mutex_init(&t->lock, NULL);
    t->name = c->name;
    t->extra.free = recordings_free;
    if (__atomic_compare_exchange_n(&c->recordings, &x, &t->extra, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return t;
    recordings_free(&t->extra);
    return (recordings *)x;
}

/* The entry of s, now the first; NULL: there is none. */
static entry *table_find(recordings *t, const signature *s) {
    for (entry **at = &t->first; *at; at = &(*at)->next) {
        entry *e = *at;
        if (!signature_equal(s, e->nwords, e->words)) continue;
        *at = e->next;
        e->next = t->first;
        return t->first = e;
    }
    return NULL;
}

/* Room for one more: the last goes, except for one that a thread is about to fill. */
static void table_shrink(recordings *t) {
    entry **last = NULL;
    for (entry **at = &t->first; *at; at = &(*at)->next)
        if ((*at)->state != ENTRY_BUSY) last = at;
    if (t->entries < RECORDINGS_MOST || !last) return;
    entry *e = *last;
    *last = e->next;
    t->entries--;
    entry_free(e);
}

static entry *table_add(recordings *t, const signature *s) {
    table_shrink(t);
    entry *e = mem_zalloc(sizeof *e + s->nwords * sizeof *e->words);
    if (!e) return NULL;
    e->nwords = s->nwords;
    memcpy(e->words, s->words, s->nwords * sizeof *e->words);
    e->next = t->first;
    t->entries++;
    return t->first = e;
}

/* ---- playing --------------------------------------------------------------------------------- */

static bool recording_tensor_holds(const record_tensor *c, const signature *s) {
    const tensor *t = c->t, *was = c->was;
    if (t->storage != was->storage || t->storage->data != c->data || t->dtype != was->dtype ||
        t->ndim != was->ndim || t->offset != was->offset)
        return false;
    for (int k = 0; k < t->ndim; k++)
        if (t->sizes[k] != was->sizes[k] || t->strides[k] != was->strides[k]) return false;
    /* That an argument shares memory with the module is something the call might have seen. */
    for (int i = 0; i < s->nstorages; i++)
        if (s->storages[i] == t->storage) return false;
    return true;
}

static bool recording_same_value(value a, value b) {
    return a.tag == b.tag &&
           (a.tag == V_NONE || (a.tag == V_BOOL ? a.u.b == b.u.b : a.u.i == b.u.i));
}

/* Is what the call read besides its arguments as it was? Attributes first: tensors are held,
 * objects are not. */
static bool recording_holds(const recording *r, const signature *s) {
    for (size_t i = 0; i < r->attributes.len; i++) {
        const record_attribute *a = &r->attributes.data[i];
        if (!recording_same_value(a->of->slots[a->slot], a->v)) return false;
    }
    for (size_t i = 0; i < r->tensors.len; i++)
        if (!recording_tensor_holds(&r->tensors.data[i], s)) return false;
    return true;
}

/* Of a play. */
typedef struct play {
    const recording *r;
    const signature *s;
    storage *results[SIGNATURE_TENSORS]; /* new */
    tensor *tensors[SIGNATURE_TENSORS];  /* of the result */
    int nresults, ntensors;
} play;

static ctsc_status play_tensor(play *p, diag *d, const record_output *o, const tensor *like,
                               tensor **out) {
    if (o->argument >= 0) return *out = tensor_ref(p->s->tensors[o->argument]), CTSC_OK;
    storage *st = o->storage >= 0 ? p->s->storages[o->storage] : p->results[o->result];
    TRY(tensor_view_raw(d, &(tensor){.dtype = like->dtype, .storage = st}, like->ndim, like->sizes,
                        like->strides, like->offset, out));
    (*out)->requires_grad = like->requires_grad;
    return CTSC_OK;
}

/* The result, whose elements are still to come. */
static ctsc_status play_prepare(play *p, diag *d, value *out) {
    const recording *r = p->r;
    for (; p->nresults < (int)r->results.len; p->nresults++)
        TRY(device_alloc(d, p->s->device, r->results.data[p->nresults], &p->results[p->nresults]));
    for (; p->ntensors < r->result_shape->ntensors; p->ntensors++)
        TRY(play_tensor(p, d, &r->outputs.data[p->ntensors], r->result_shape->tensors[p->ntensors],
                        &p->tensors[p->ntensors]));
    return signature_substitute(r->result_shape, p->tensors, r->result, out) ? CTSC_OK
                                                                             : diag_no_memory(d);
}

/* *nothing: it failed before anything has happened. */
static ctsc_status recording_play(const recording *r, const signature *s, diag *d, value *out,
                                  bool *nothing) {
    void *inputs[SIGNATURE_TENSORS], *results[SIGNATURE_TENSORS];
    play p;
    value result = value_none();
    p.r = r, p.s = s, p.nresults = p.ntensors = 0;
    ctsc_status st = play_prepare(&p, d, &result);
    *nothing = st != CTSC_OK;
    for (int i = 0; i < s->nstorages; i++) inputs[i] = s->storages[i]->data;
    for (int i = 0; i < p.nresults; i++) results[i] = p.results[i]->data;
    if (st == CTSC_OK) {
        st = cuda_replay_play(r->replay, d, inputs, results);
        *nothing = st == CTSC_LIMIT;
    }
    for (int i = 0; i < p.nresults; i++) storage_unref(p.results[i]);
    for (int i = 0; i < p.ntensors; i++) tensor_unref(p.tensors[i]);
    if (st == CTSC_OK) *out = result;
    else value_unref(result);
    return st;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* One call on its way. */
typedef struct call {
    runtime *rt;
    function *f;
    int n;
    const value *args;
    diag *d;
    value *out;
    const signature *s;
} call;

/* With the table's lock held. *done: the call has been made. */
static ctsc_status call_play(const call *c, recordings *t, entry *e, bool *done) {
    diag own = {0};
    bool nothing = false;
    if (!recording_holds(&e->r, c->s)) {
        recording_clear(&e->r);
        e->state = ENTRY_COUNTS;
        e->calls = 1; /* this one */
        recordings_counts.dropped++;
        return CTSC_OK;
    }
    ctsc_status st = recording_play(&e->r, c->s, &own, c->out, &nothing);
    *done = !nothing; /* what there was no memory for the ordinary way may still do */
    if (nothing) st = CTSC_OK;
    if (st != CTSC_OK) diag_append(c->d, &own);
    recordings_counts.replayed += st == CTSC_OK && *done;
    t->replayed += st == CTSC_OK && *done;
    diag_clear(&own);
    return st;
}

/* With the lock held, which is given up meanwhile. */
static void call_record(const call *c, recordings *t, entry *e) {
    diag own = {0};
    recording made = {0};
    e->state = ENTRY_BUSY;
    pthread_mutex_unlock(&t->lock);
    ctsc_status st = record_call(c->rt, c->f, c->s, c->n, c->args, &own, &made);
    if (st == CTSC_OK)
        log_event(CTSC_LOG_INFO, "%s: a call was recorded, which asks the device for %zu things",
                  t->name, cuda_replay_size(made.replay));
    else log_event(CTSC_LOG_INFO, "%s: %s", t->name, diag_message(&own));
    diag_clear(&own);
    pthread_mutex_lock(&t->lock);
    e->r = made;
    e->state = st == CTSC_OK ? ENTRY_READY : st == CTSC_LIMIT ? ENTRY_COUNTS : ENTRY_REFUSED;
    e->calls = 0;
    t->made += st == CTSC_OK;
    t->refused += e->state == ENTRY_REFUSED;
    recordings_counts.recorded += st == CTSC_OK;
    recordings_counts.refused += e->state == ENTRY_REFUSED;
}

static ctsc_status call_look_up(const call *c, recordings *t, bool *done) {
    ctsc_status st = CTSC_OK;
    pthread_mutex_lock(&t->lock);
    bool negative = !t->made && t->refused >= RECORDINGS_REFUSALS;
    entry *e = negative ? NULL : table_find(t, c->s);
    if (!e && !negative) e = table_add(t, c->s);
    if (e && e->state == ENTRY_COUNTS && ++e->calls >= RECORDINGS_AFTER) call_record(c, t, e);
    if (e && e->state == ENTRY_READY) st = call_play(c, t, e, done);
    pthread_mutex_unlock(&t->lock);
    return st;
}

static bool recordings_wanted(void) {
    static atomic_int wanted = -1;
    int w = atomic_load_explicit(&wanted, memory_order_relaxed);
    if (w < 0) {
        const char *text = variable_get(VARIABLE_CUDA_REPLAY);
        w = !text || strcmp(text, "0") != 0;
        atomic_store_explicit(&wanted, w, memory_order_relaxed);
    }
    return w;
}

static bool recordings_may(const runtime *rt) {
    bool stopped = runtime_is_watched(rt) && ((rt->cancelled && atomic_load(rt->cancelled)) ||
                                              (rt->deadline && clock_now() > rt->deadline));
    return runtime_level(rt->opt) > 0 && rt->steps_left == UINT64_MAX && !stopped && !rt->watch &&
           recordings_wanted();
}

static ctsc_status recordings_try(runtime *rt, function *f, int n, const value *args, diag *d,
                                  value *out, bool *done) {
    signature s;
    code *c = recordings_may(rt)
                  ? __atomic_load_n(&f->code[runtime_level(rt->opt)], __ATOMIC_ACQUIRE)
                  : NULL;
    if (!c || !signature_of(&s, n, args) || s.device == DEVICE_HOST) return CTSC_OK;
    recordings *t = recordings_of(c);
    return t ? call_look_up(&(call){rt, f, n, args, d, out, &s}, t, done) : CTSC_OK;
}

ctsc_status recordings_call(runtime *rt, function *f, int n, value *args, diag *d, value *out) {
    bool done = false;
    ctsc_status st = recordings_try(rt, f, n, args, d, out, &done);
    if (st == CTSC_OK && !done) return interp_call_take(rt, f, n, args, d, out);
    for (int i = 0; i < n; i++) value_unref(args[i]);
    return st;
}
