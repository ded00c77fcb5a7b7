/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.c - calls of a model in processes of its own (worker.h): the server's side, and what such
 * a process does.
 *
 * A call is a packet that says how many arguments are in the memory both have (wire.h), and one
 * that says how many results are. The first page of that memory has a word that the server sets
 * when the call is to stop, for which a thread of the process waits, and one that the process sets
 * when it begins: a call that never began can be made again.
 * Tests: tests/serve/client.py
 */
#include "serve/isolate/worker.h"

#include "sandbox/sandbox.h"
#include "serve/isolate/call_clock.h"
#include "serve/isolate/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WORKER_TICK_MS = 20,   /* between looks at whether the call is to stop */
    WORKER_GRACE_MS = 2000 /* that a process has to stop before it is killed */
};

enum { WORKER_LOAD, WORKER_CALL };

typedef struct worker_request {
    int32_t what;
    uint32_t n;    /* values in memory */
    uint64_t size; /* of the memory */
    uint64_t timeout_us;
    uint64_t max_bytes;         /* of the process, where it loads; of the call; 0: no limit */
    int32_t stoppable, kernels; /* kernels: wait for them afterwards */
} worker_request;

typedef struct worker_reply {
    int32_t status;
    uint32_t n;        /* results, each a name or None, and a value */
    uint64_t at, size; /* where they begin; of the memory */
    uint64_t took_ns;
    char error[400];
} worker_reply;

/* On the first page of the memory. */
typedef struct worker_page {
    _Atomic uint32_t stop;
    _Atomic uint32_t begun; /* the process set about what it was asked */
} worker_page;

static void worker_futex(_Atomic uint32_t *word, int what, uint32_t value) {
    (void)syscall(SYS_futex, word, what, value, NULL, NULL, 0);
}

static ssize_t worker_receive(int socket, void *to, size_t size) {
    ssize_t n;
    do n = recv(socket, to, size, 0);
    while (n < 0 && errno == EINTR);
    return n;
}

/* ---- a process's side ------------------------------------------------------------------------ */

typedef struct child {
    wire memory;
    void *archive;
    size_t len;
    ctsc_module *module;
    char *method;
    ctsc_cancel *cancel;
    pthread_mutex_t lock; /* of cancel against the next call's clearing it */
} child;

static void *child_watch(void *arg) {
    child *c = arg;
    worker_page *page = c->memory.page;
    _Atomic uint32_t *stop = &page->stop;
    for (;;) {
        while (!atomic_load(stop)) worker_futex(stop, FUTEX_WAIT, 0);
        pthread_mutex_lock(&c->lock);
        if (atomic_load(stop)) ctsc_cancel_set(c->cancel);
        pthread_mutex_unlock(&c->lock);
        while (atomic_load(stop)) worker_futex(stop, FUTEX_WAIT, 1);
    }
    return NULL;
}

static ctsc_status child_refused(wire_status s, ctsc_error *e) {
    if (s == WIRE_NO_MEMORY) return ctsc_error_set(e, CTSC_LIMIT, "out of memory");
    return ctsc_error_set(e, CTSC_UNSUPPORTED,
                          "the method returned a value that the protocol cannot carry");
}

/* The system bounds what the process has of its own, whoever in it asks, and the memory for
 * results, which is a file. A process that could raise the bound would have none. */
static ctsc_status child_bound(uint64_t most, ctsc_error *e) {
    static const int what[] = {RLIMIT_DATA, RLIMIT_FSIZE};
    struct rlimit l;
    if (!most) return CTSC_OK;
    signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
        if (getrlimit((__rlimit_resource_t)what[i], &l) != 0) l.rlim_max = RLIM_INFINITY;
        if (l.rlim_max > most) l.rlim_max = most;
        l.rlim_cur = l.rlim_max;
        if (setrlimit((__rlimit_resource_t)what[i], &l) != 0)
            return ctsc_error_set(e, CTSC_ENVIRONMENT, "max_process_bytes: %s", strerror(errno));
    }
    return CTSC_OK;
}

/* Values: the method, the precision or None, the level of optimisation. */
static ctsc_status child_load(child *c, uint64_t most, ctsc_error *e) {
    ctsc_value *v[3] = {NULL};
    size_t at = WIRE_VALUES;
    wire_status s = WIRE_OK;
    ctsc_signature *signature = NULL;
    for (int i = 0; i < 3 && s == WIRE_OK; i++) s = wire_get(&c->memory, &at, &v[i]);
    if (s == WIRE_OK) c->method = strdup(ctsc_value_string(v[0], NULL));
    ctsc_status st = s == WIRE_OK && c->method ? child_bound(most, e)
                                               : ctsc_error_set(e, CTSC_LIMIT, "out of memory");
    if (st == CTSC_OK) st = ctsc_module_load_memory(c->archive, c->len, &c->module, e);
    if (st == CTSC_OK) st = ctsc_module_set_opt(c->module, (int)ctsc_value_int(v[2]), e);
    if (st == CTSC_OK && ctsc_value_kind(v[1]) == CTSC_KIND_STRING)
        st = ctsc_module_set_precision(c->module, ctsc_value_string(v[1], NULL), e);
    /* what the server does with it when this process has lived through it */
    if (st == CTSC_OK) st = ctsc_module_signature(c->module, c->method, &signature, e);
    if (st == CTSC_OK) (void)ctsc_signature_find_dtypes(signature, c->module, c->method, NULL);
    ctsc_signature_free(signature);
    for (int i = 0; i < 3; i++) ctsc_value_free(v[i]);
    return st;
}

static ctsc_status child_results(child *c, const outputs *o, size_t at, worker_reply *r,
                                 ctsc_error *e) {
    wire_status s = WIRE_OK;
    r->at = at;
    for (size_t i = 0; i < o->n && s == WIRE_OK; i++) {
        ctsc_value *name = o->names[i] ? ctsc_string_new(o->names[i], strlen(o->names[i]))
                                       : ctsc_none_new();
        s = name ? wire_put(&c->memory, &at, name) : WIRE_NO_MEMORY;
        if (s == WIRE_OK) s = wire_put(&c->memory, &at, o->values[i]);
        ctsc_value_free(name);
    }
    r->n = (uint32_t)o->n;
    return s == WIRE_OK ? CTSC_OK : child_refused(s, e);
}

static ctsc_status child_call(child *c, const worker_request *q, worker_reply *r, ctsc_error *e) {
    ctsc_value **args = calloc((size_t)q->n + 1, sizeof *args), *result = NULL;
    wire_status s = args ? WIRE_OK : WIRE_NO_MEMORY;
    size_t at = WIRE_VALUES;
    outputs o = {0};
    for (uint32_t i = 0; i < q->n && s == WIRE_OK; i++) s = wire_get(&c->memory, &at, &args[i]);
    pthread_mutex_lock(&c->lock);
    ctsc_cancel_clear(c->cancel);
    pthread_mutex_unlock(&c->lock);
    ctsc_run_options ro = {.size = sizeof ro,
                           .print = outputs_drop_print,
                           .max_bytes = q->max_bytes,
                           .timeout_us = q->timeout_us,
                           .cancel = q->stoppable ? c->cancel : NULL};
    uint64_t start = clock_ns();
    ctsc_status st = s == WIRE_OK
                         ? ctsc_module_run(c->module, c->method, q->n, args, &ro, &result, e)
                         : child_refused(s, e);
    r->took_ns = clock_ns() - start;
    if (st == CTSC_OK && !outputs_add(&o, result))
        st = ctsc_error_set(e, CTSC_LIMIT, "the results are too many or too deeply nested");
    if (st == CTSC_OK) st = child_results(c, &o, at, r, e);
    outputs_free(&o);
    ctsc_value_free(result);
    for (uint32_t i = 0; args && i < q->n; i++) ctsc_value_free(args[i]);
    free(args);
    if (q->kernels) ctsc_wait_for_kernels(q->timeout_us);
    return st;
}

/* The kernel chooses this process before others when memory runs out. */
static void child_offer_memory(void) {
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (write(fd, "500", 3) != 3) {
    } /* then as any other */
    close(fd);
}

static bool child_begin(child *c, int memory, int archive, const spawner_options *o) {
    char why[SANDBOX_WHY];
    pthread_t watcher;
    off_t len = lseek(archive, 0, SEEK_END);
    pthread_mutex_init(&c->lock, NULL);
    c->cancel = ctsc_cancel_new();
    c->len = len > 0 ? (size_t)len : 0;
    c->archive = mmap(NULL, c->len, PROT_READ | PROT_WRITE, MAP_PRIVATE, archive, 0);
    close(archive);
    if (!c->cancel || c->archive == MAP_FAILED || !wire_open(&c->memory, memory)) return false;
    child_offer_memory();
    if (o->sandbox && !sandbox_seal(why)) return false;
    ctsc_set_threads(o->threads);
    if (o->flush_denormals) (void)ctsc_set_flush_denormals(true);
    return pthread_create(&watcher, NULL, child_watch, c) == 0;
}

_Noreturn void worker_main(int socket, int memory, int archive, const spawner_options *o) {
    child c = {.module = NULL};
    worker_request q;
    ctsc_error *e = ctsc_error_new();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "ctsc-model");
    if (!child_begin(&c, memory, archive, o)) _exit(CTSC_ENVIRONMENT);
    while (worker_receive(socket, &q, sizeof q) == (ssize_t)sizeof q) {
        worker_page *page = c.memory.page;
        atomic_store(&page->begun, 1);
        worker_reply r = {.n = 0};
        ctsc_status st = !wire_follow(&c.memory, q.size)
                             ? ctsc_error_set(e, CTSC_LIMIT, "out of memory")
                         : q.what == WORKER_LOAD ? child_load(&c, q.max_bytes, e)
                                                 : child_call(&c, &q, &r, e);
        r.status = st;
        r.size = c.memory.size;
        if (st != CTSC_OK) snprintf(r.error, sizeof r.error, "%s", ctsc_error_message(e));
        if (send(socket, &r, sizeof r, MSG_NOSIGNAL) != (ssize_t)sizeof r) break;
    }
    _exit(0);
}

/* ---- the server's side ----------------------------------------------------------------------- */

typedef struct worker {
    spawned is;
    wire memory;
    bool alive, busy;
} worker;

struct workers {
    spawner *s;
    worker_setup setup;
    int archive;
    pthread_mutex_t lock; /* of busy, in all of them */
    int n;
    worker *of;
};

/* What became of a call's process. */
typedef enum worker_end {
    WORKER_ANSWERED,
    WORKER_DIED,
    WORKER_NEVER_BEGAN, /* it was dying already */
    WORKER_KILLED       /* for it did not stop when it should have */
} worker_end;

static int worker_gone(workers *w, worker *k) {
    int status = k->is.process > 0 ? spawner_end(w->s, k->is.process) : -1;
    if (k->is.socket > 0) close(k->is.socket);
    wire_close(&k->memory);
    k->is = (spawned){0};
    k->alive = false;
    return status;
}

static ctsc_status worker_died(ctsc_error *e, int status) {
    if (status >= 0 && WIFSIGNALED(status))
        return ctsc_error_set(e, CTSC_ENVIRONMENT, "the model's process ended by signal %d (%s)%s",
                              WTERMSIG(status), strsignal(WTERMSIG(status)),
                              WTERMSIG(status) == SIGKILL ? ", as when memory runs out" : "");
    if (status >= 0 && WIFEXITED(status))
        return ctsc_error_set(e, CTSC_ENVIRONMENT, "the model's process ended with exit status %d",
                              WEXITSTATUS(status));
    return ctsc_error_set(e, CTSC_ENVIRONMENT, "the model's process ended");
}

/* Waits for the answer. deadline: from then on, and when cancel is set, the call has a moment to
 * stop. 0, NULL: nothing stops it. */
static worker_end worker_wait(worker *k, worker_reply *r, uint64_t deadline,
                              const ctsc_cancel *cancel) {
    worker_page *page = k->memory.page;
    uint64_t told = 0;
    for (;;) {
        struct pollfd p = {.fd = k->is.socket, .events = POLLIN};
        int ready = poll(&p, 1, WORKER_TICK_MS);
        if (ready > 0)
            return worker_receive(k->is.socket, r, sizeof *r) == (ssize_t)sizeof *r
                       ? WORKER_ANSWERED
                   : atomic_load(&page->begun) ? WORKER_DIED
                                               : WORKER_NEVER_BEGAN;
        uint64_t now = clock_ns();
        if (!told && ((deadline && now >= deadline) || (cancel && ctsc_cancel_is_set(cancel)))) {
            told = now;
            atomic_store(&page->stop, 1);
            worker_futex(&page->stop, FUTEX_WAKE, INT32_MAX);
        }
        if (told && now - told > WORKER_GRACE_MS * 1000000ull) return WORKER_KILLED;
    }
}

static worker_end worker_ask(worker *k, worker_request *q, worker_reply *r,
                             const ctsc_cancel *cancel) {
    worker_page *page = k->memory.page;
    uint64_t most_us = q->kernels ? 2 * q->timeout_us : q->timeout_us;
    uint64_t deadline = most_us ? clock_ns() + most_us * 1000 : 0;
    if (atomic_exchange(&page->stop, 0)) worker_futex(&page->stop, FUTEX_WAKE, INT32_MAX);
    atomic_store(&page->begun, 0);
    q->size = k->memory.size;
    if (send(k->is.socket, q, sizeof *q, MSG_NOSIGNAL) != (ssize_t)sizeof *q)
        return WORKER_NEVER_BEGAN;
    worker_end end = worker_wait(k, r, deadline, cancel);
    r->error[sizeof r->error - 1] = '\0';
    return end;
}

/* A process that has loaded the model. */
static ctsc_status worker_begin(workers *w, worker *k, ctsc_error *e) {
    worker_request q = {.what = WORKER_LOAD, .max_bytes = w->setup.max_bytes};
    worker_reply r;
    size_t at = WIRE_VALUES;
    if (!spawner_make(w->s, w->archive, &k->is))
        return ctsc_error_set(e, CTSC_ENVIRONMENT, "no process can be made for the model");
    const char *precision = w->setup.precision;
    ctsc_value *v[] = {ctsc_string_new(w->setup.method, strlen(w->setup.method)),
                       precision ? ctsc_string_new(precision, strlen(precision)) : ctsc_none_new(),
                       ctsc_int_new(w->setup.opt)};
    bool ok = wire_open(&k->memory, k->is.memory);
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        ok = ok && v[i] && wire_put(&k->memory, &at, v[i]) == WIRE_OK;
        ctsc_value_free(v[i]);
    }
    ctsc_status s;
    if (!ok) s = ctsc_error_set(e, CTSC_LIMIT, "out of memory");
    else if (worker_ask(k, &q, &r, NULL) != WORKER_ANSWERED) s = worker_died(e, worker_gone(w, k));
    else s = r.status ? ctsc_error_set(e, (ctsc_status)r.status, "%s", r.error) : CTSC_OK;
    k->alive = s == CTSC_OK;
    if (s != CTSC_OK) worker_gone(w, k);
    return s;
}

/* One that is free: one that lives, if there is one. NULL: more calls than instances. */
static worker *workers_take(workers *w) {
    worker *found = NULL;
    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < w->n; i++)
        if (!w->of[i].busy && (!found || (!found->alive && w->of[i].alive))) found = &w->of[i];
    if (found) found->busy = true;
    pthread_mutex_unlock(&w->lock);
    return found;
}

static void workers_give(workers *w, worker *k) {
    pthread_mutex_lock(&w->lock);
    k->busy = false;
    pthread_mutex_unlock(&w->lock);
}

void workers_free(workers *w) {
    if (!w) return;
    for (int i = 0; i < w->n; i++) worker_gone(w, &w->of[i]);
    close(w->archive);
    pthread_mutex_destroy(&w->lock);
    free(w->of);
    free(w);
}

bool workers_fill(workers *w, int n, char *why, size_t size) {
    worker *of = n > w->n ? realloc(w->of, (size_t)n * sizeof *of) : w->of;
    ctsc_error *e = ctsc_error_new();
    ctsc_status s = of && e ? CTSC_OK : CTSC_LIMIT;
    if (of) w->of = of;
    for (; w->n < n && s == CTSC_OK; w->n++) {
        of[w->n] = (worker){.alive = false};
        s = worker_begin(w, &of[w->n], e);
    }
    if (s != CTSC_OK) snprintf(why, size, "%s", e ? ctsc_error_message(e) : "out of memory");
    ctsc_error_free(e);
    return s == CTSC_OK;
}

bool workers_new(spawner *s, int archive_take, const worker_setup *setup, workers **out, char *why,
                 size_t size) {
    workers *w = calloc(1, sizeof *w);
    if (!w) {
        close(archive_take);
        snprintf(why, size, "out of memory");
        return false;
    }
    *w = (workers){.s = s, .setup = *setup, .archive = archive_take};
    pthread_mutex_init(&w->lock, NULL);
    bool ok = workers_fill(w, 1, why, size);
    if (ok) *out = w;
    else workers_free(w);
    return ok;
}

/* The results of an answer, which may say anything. */
static ctsc_status worker_results(worker *k, const worker_reply *r, outputs *o, ctsc_error *e) {
    size_t at = r->at;
    if (!wire_follow(&k->memory, r->size))
        return ctsc_error_set(e, CTSC_LIMIT, "out of memory for the model's results");
    for (uint32_t i = 0; i < r->n; i++) {
        ctsc_value *name = NULL, *v = NULL;
        wire_status s = wire_get(&k->memory, &at, &name);
        if (s == WIRE_OK) s = wire_get(&k->memory, &at, &v);
        const char *text = ctsc_value_kind(name) == CTSC_KIND_STRING ? ctsc_value_string(name, NULL)
                                                                     : NULL;
        if (s == WIRE_OK && !outputs_push(o, v, text)) s = WIRE_NO_MEMORY;
        ctsc_value_free(name);
        ctsc_value_free(v);
        if (s == WIRE_NO_MEMORY) return ctsc_error_set(e, CTSC_LIMIT, "out of memory");
        if (s != WIRE_OK)
            return ctsc_error_set(e, CTSC_ENVIRONMENT, "the model's process answered nonsense");
    }
    return CTSC_OK;
}

static ctsc_status worker_call(workers *w, worker *k, worker_task *t, ctsc_error *e) {
    worker_request q = {.what = WORKER_CALL,
                        .n = (uint32_t)t->nargs,
                        .timeout_us = t->ro->timeout_us,
                        .max_bytes = t->ro->max_bytes,
                        .stoppable = t->ro->cancel != NULL,
                        .kernels = t->kernels};
    worker_reply r;
    size_t at = WIRE_VALUES;
    for (size_t i = 0; i < t->nargs; i++)
        if (wire_put(&k->memory, &at, t->args[i]) != WIRE_OK)
            return ctsc_error_set(e, CTSC_LIMIT, "out of memory");
    worker_end end = worker_ask(k, &q, &r, t->cancel);
    if (end == WORKER_KILLED) {
        worker_gone(w, k);
        return ctsc_error_set(e, CTSC_LIMIT, "the call did not stop: its process was ended");
    }
    if (end == WORKER_DIED || end == WORKER_NEVER_BEGAN) {
        t->died = end == WORKER_DIED;
        t->again = end == WORKER_NEVER_BEGAN;
        return worker_died(e, worker_gone(w, k));
    }
    t->took_ns = r.took_ns;
    if (r.status) return ctsc_error_set(e, (ctsc_status)r.status, "%s", r.error);
    ctsc_status s = worker_results(k, &r, t->results, e);
    wire_trim(&k->memory);
    return s;
}

/* It ended between two calls. One that is just ending may still seem to live. */
static bool worker_hung_up(const worker *k) {
    struct pollfd p = {.fd = k->is.socket};
    return poll(&p, 1, 0) > 0;
}

ctsc_status workers_call(workers *w, worker_task *t, ctsc_error *e) {
    worker *k = workers_take(w);
    if (!k) return ctsc_error_set(e, CTSC_ENVIRONMENT, "no process of the model is free");
    if (k->alive && worker_hung_up(k)) worker_gone(w, k);
    ctsc_status s = CTSC_OK;
    for (int i = 0; !i || (i < 2 && t->again); i++) {
        t->again = false;
        s = k->alive ? CTSC_OK : worker_begin(w, k, e);
        if (s == CTSC_OK) s = worker_call(w, k, t, e);
    }
    workers_give(w, k);
    return s;
}

ctsc_status workers_call_each(workers *w, worker_task *t, ctsc_error *e) {
    ctsc_status s = CTSC_OK;
    for (int i = 0; i < w->n && s == CTSC_OK; i++) {
        outputs_free(t->results);
        s = w->of[i].alive ? worker_call(w, &w->of[i], t, e) : CTSC_ENVIRONMENT;
    }
    return s;
}
