/* SPDX-License-Identifier: Apache-2.0 */
/* started.c - collectives that programs have started: libctsc-dist.so, and the list (started.h). */
#include "runtime/kernels/collective/started.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* ---- the library ----------------------------------------------------------------------------- */

#define DIST_FUNCTIONS(X)                                                                          \
    X(version, int, (void))                                                                        \
    X(find, ctsc_dist_group *, (const char *name))                                                 \
    X(rank, int, (const ctsc_dist_group *g))                                                       \
    X(size, int, (const ctsc_dist_group *g))                                                       \
    X(run, ctsc_status,                                                                            \
      (ctsc_dist_group * g, const ctsc_dist_call *call, ctsc_dist_work **work,                     \
       ctsc_dist_error *e))                                                                        \
    X(work_wait, ctsc_status, (ctsc_dist_work * w, int64_t timeout_ms, ctsc_dist_error *e))        \
    X(work_done, bool, (ctsc_dist_work * w))                                                       \
    X(work_free, void, (ctsc_dist_work * w))

static struct {
    bool found;
#define DIST_FIELD(name, result, arguments) result(*name) arguments;
    DIST_FUNCTIONS(DIST_FIELD)
#undef DIST_FIELD
} dist;
static pthread_mutex_t dist_lock = PTHREAD_MUTEX_INITIALIZER;

/* Asked until it is there: a program may make its first group after a call that had none. */
static bool dist_is_here(void) {
    pthread_mutex_lock(&dist_lock);
    void *library = dist.found ? NULL : dlopen("libctsc-dist.so", RTLD_NOW | RTLD_NOLOAD);
    if (library) {
        bool all = true;
#define DIST_LOOK(name, result, arguments)                                                         \
    *(void **)&dist.name = dlsym(library, "ctsc_dist_" #name);                                     \
    all &= dist.name != NULL;
        DIST_FUNCTIONS(DIST_LOOK)
#undef DIST_LOOK
            dist.found = all && dist.version() == CTSC_DIST_VERSION;
        if (!dist.found) dlclose(library);
    }
    bool found = dist.found;
    pthread_mutex_unlock(&dist_lock);
    return found;
}

ctsc_status collective_group(op_ctx *cx, const value *name, ctsc_dist_group **g, int *rank,
                             int *size) {
    const char *text = name->u.str->bytes;
    *g = dist_is_here() ? dist.find(text) : NULL;
    if (!*g)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Could not resolve the process group registered under the name %.100s",
                         text);
    *rank = dist.rank(*g);
    *size = dist.size(*g);
    return CTSC_OK;
}

/* ---- what was started ------------------------------------------------------------------------ */

typedef struct started {
    struct started *next;
    ctsc_dist_work *work;
    tensor *out, *in;
    bool message; /* late is lost, so the wait is one */
} started;

static pthread_mutex_t started_lock = PTHREAD_MUTEX_INITIALIZER;
static started *started_first;
enum { STARTED_LOOK_MS = 50 }; /* how often a wait asks whether the run is to end */

static void started_free(started *s) {
    if (s->work) dist.work_free(s->work);
    tensor_unref(s->out);
    tensor_unref(s->in);
    mem_free(s);
}

static void started_put(started *s) {
    pthread_mutex_lock(&started_lock);
    s->next = started_first;
    started_first = s;
    pthread_mutex_unlock(&started_lock);
}

/* Takes one out of the list: that of a storage; NULL: one that is done and that nothing can wait
 * for any more. */
static started *started_take(const storage *of) {
    started *taken = NULL;
    pthread_mutex_lock(&started_lock);
    for (started **at = &started_first; *at && !taken; at = &(*at)->next) {
        const storage *own = (*at)->out->storage;
        bool lost = atomic_load_explicit(&own->refs, memory_order_acquire) == 1 &&
                    atomic_load_explicit(&(*at)->out->refs, memory_order_acquire) == 1;
        if (of ? own == of : lost && dist.work_done((*at)->work)) taken = *at, *at = taken->next;
        if (taken) break;
    }
    pthread_mutex_unlock(&started_lock);
    return taken;
}

static ctsc_status started_fail(op_ctx *cx, ctsc_status s, const ctsc_dist_error *e) {
    return diag_fail(cx->diag, s, "%s", e->message);
}

ctsc_status collective_start(op_ctx *cx, ctsc_dist_group *g, const ctsc_dist_call *call,
                             tensor *out, tensor *in) {
    ctsc_dist_error e = {0};
    bool at_once = tensor_kinds() & TENSOR_KIND_DEVICE;
    for (started *old; (old = started_take(NULL));) started_free(old);
    started *s = at_once ? NULL : mem_zalloc(sizeof *s);
    if (!s && !at_once) return diag_no_memory(cx->diag);
    ctsc_status st = dist.run(g, call, s ? &s->work : NULL, &e);
    if (st != CTSC_OK) return mem_free(s), started_fail(cx, st, &e);
    if (!s) return CTSC_OK;
    s->out = tensor_ref(out);
    s->in = in ? tensor_ref(in) : NULL;
    s->message = call->op == CTSC_DIST_SEND || call->op == CTSC_DIST_RECV;
    started_put(s);
    return CTSC_OK;
}

ctsc_status collective_wait(op_ctx *cx, const tensor *t) {
    ctsc_status st = CTSC_OK;
    for (started *s; st == CTSC_OK && (s = started_take(t->storage));) {
        ctsc_dist_error e = {0};
        for (bool done = false; !done;) {
            done = dist.work_done(s->work); /* before: then what the wait says is final */
            st = dist.work_wait(s->work, s->message ? -1 : STARTED_LOOK_MS, &e);
            done |= st != CTSC_LIMIT || s->message;
            if (!done && limits_stop()) return started_put(s), limits_fail(cx->diag);
        }
        if (st != CTSC_OK) started_fail(cx, st, &e);
        started_free(s);
    }
    return st;
}
