/* SPDX-License-Identifier: Apache-2.0 */
/*
 * background.c - the thread of background.h, and its queue.
 *
 * Invariants: all of this is under background_lock, except for background_done, which
 * is under background_busy. That lock is held while a job runs, and during fork: a job
 * would otherwise be left half done in the child. A finished thread remains until the
 * next start joins it, or until the end. dlclose could not wait for it: it holds the
 * loader's lock, which a job that opens a library needs. So the library stays loaded.
 *
 * The end of the process is the difficult part. Compilers are written in C++: an object that one of
 * its functions makes when it is first called is destroyed by exit before whatever was registered
 * with atexit earlier, the end of our thread included, which may be using it. So that is registered
 * again after each job, and jobs that open a compiler run it once. The remaining case, a job that
 * is the first to call some function, is handled by a destructor of the main thread, since exit
 * runs those before anything else; where the main thread has none, because another one opened the
 * library, there is no background. An exit by another thread during the first jobs is not handled.
 * Tests: tests/unit/test_background.c
 */
#include "base/threads/background.h"

#include "base/threads/float_mode.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BACKGROUND_STACK = 8 << 20 }; /* what a main thread has: compilers recurse */

static pthread_once_t background_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t background_lock, background_busy;
static pthread_cond_t background_changed; /* a job is over, or the thread */
static background_job *background_first, *background_running;
static bool background_done;    /* the running job is over */
static bool background_guarded; /* the main thread ends this one first */
static bool background_alive, background_to_join, background_stopped;
static pthread_t background_thread;
static void (*background_before)(void *ctx);
static void *background_ctx;

/* ---- the end, and forks ---------------------------------------------------------------------- */

static void background_stop(void) {
    pthread_mutex_lock(&background_lock);
    background_stopped = true;
    bool join = background_to_join && !pthread_equal(background_thread, pthread_self());
    if (join) background_to_join = false;
    pthread_mutex_unlock(&background_lock);
    if (join) pthread_join(background_thread, NULL);
}

/* The C++ runtime's way to have something done at the end of a thread; NULL in other C
 * libraries than GNU's. */
extern int __cxa_thread_atexit_impl(void (*fn)(void *ctx), void *ctx, void *dso)
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static void background_stop_in_main(void *unused) {
    (void)unused;
    background_stop();
}

/* When the program starts or opens the library; and in a child that another thread than the
 * main one forked. */
__attribute__((constructor)) static void background_guard_main(void) {
    static _Thread_local bool guarded;
    if (syscall(SYS_gettid) != getpid() || !__cxa_thread_atexit_impl) return;
    guarded = guarded ||
              __cxa_thread_atexit_impl(background_stop_in_main, NULL, &__dso_handle) == 0;
    background_guarded = guarded;
}

static void background_make_locks(void) {
    pthread_condattr_t clock;
    pthread_mutex_init(&background_lock, NULL);
    pthread_mutex_init(&background_busy, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&background_changed, &clock);
    pthread_condattr_destroy(&clock);
}

static void background_before_fork(void) {
    pthread_mutex_lock(&background_busy);
    pthread_mutex_lock(&background_lock);
}

static void background_in_parent(void) {
    pthread_mutex_unlock(&background_lock);
    pthread_mutex_unlock(&background_busy);
}

static void background_in_child(void) {
    background_job *j = background_running;
    background_make_locks();
    background_guarded = false;
    background_guard_main();
    background_alive = background_to_join = false;
    background_running = NULL;
    if (!j || background_done) return;
    j->next = background_first; /* it was about to begin */
    j->waiting = true;
    background_first = j;
}

static void background_init(void) {
    Dl_info self;
    if (dladdr((void *)&background_first, &self) && self.dli_fname)
        dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    background_make_locks();
    pthread_atfork(background_before_fork, background_in_parent, background_in_child);
    atexit(background_stop);
}

static void background_enter(void) {
    pthread_once(&background_once, background_init);
    pthread_mutex_lock(&background_lock);
}

void background_set_hook(void (*before)(void *ctx), void *ctx) {
    background_enter();
    background_before = before;
    background_ctx = ctx;
    pthread_mutex_unlock(&background_lock);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void background_do(background_job *j, void (*before)(void *ctx), void *ctx) {
    pthread_mutex_lock(&background_busy);
    if (before) before(ctx);
    j->run(j);
    background_done = true;
    atexit(background_stop);
    pthread_mutex_unlock(&background_busy);
}

static void *background_main(void *unused) {
    float_mode_plain(); /* whatever the mode of the thread that started it */
    pthread_mutex_lock(&background_lock);
    for (background_job *j; (j = background_first) && !background_stopped;) {
        background_first = j->next;
        j->waiting = background_done = false;
        background_running = j;
        void (*before)(void *ctx) = background_before;
        void *ctx = background_ctx;
        pthread_mutex_unlock(&background_lock);
        background_do(j, before, ctx);
        pthread_mutex_lock(&background_lock);
        background_running = NULL;
        pthread_cond_broadcast(&background_changed);
    }
    background_alive = false;
    pthread_cond_broadcast(&background_changed);
    pthread_mutex_unlock(&background_lock);
    return unused;
}

/* Under the lock. Signals are for the program's threads. */
static bool background_start(void) {
    pthread_attr_t attr;
    sigset_t all, own;
    if (background_alive || background_stopped || !background_guarded) return background_alive;
    /* it has left the lock for good */
    if (background_to_join) pthread_join(background_thread, NULL);
    background_to_join = false;
    if (pthread_attr_init(&attr) != 0) return false;
    pthread_attr_setstacksize(&attr, BACKGROUND_STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &own);
    background_alive = background_to_join = pthread_create(&background_thread, &attr,
                                                           background_main, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &own, NULL);
    pthread_attr_destroy(&attr);
    return background_alive;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

bool background_add(background_job *j) {
    background_enter();
    bool ok = background_start();
    if (ok) {
        background_job **at = &background_first;
        while (*at) at = &(*at)->next;
        *at = j;
        j->next = NULL;
        j->waiting = true;
    }
    pthread_mutex_unlock(&background_lock);
    return ok;
}

/* Under the lock. */
static bool background_unlink(background_job *j) {
    background_job **at = &background_first;
    if (!j->waiting) return false;
    while (*at != j) at = &(*at)->next;
    *at = j->next;
    return true;
}

bool background_take_back(background_job *j) {
    background_enter();
    bool mine = background_unlink(j);
    j->waiting = false;
    pthread_cond_broadcast(&background_changed);
    pthread_mutex_unlock(&background_lock);
    return mine;
}

void background_hurry(background_job *j) {
    background_enter();
    if (background_unlink(j)) {
        j->next = background_first;
        background_first = j;
    }
    pthread_mutex_unlock(&background_lock);
}

/* Under the lock. */
static bool background_is_over(const background_job *j) {
    return j ? !j->waiting && background_running != j : !background_first && !background_running;
}

bool background_wait(const background_job *j, uint64_t until) {
    struct timespec at = {.tv_sec = (time_t)(until / 1000000000u),
                          .tv_nsec = (long)(until % 1000000000u)};
    bool late = false;
    background_enter();
    while (!background_is_over(j) && !late && background_start())
        late = (until == UINT64_MAX
                    ? pthread_cond_wait(&background_changed, &background_lock)
                    : pthread_cond_timedwait(&background_changed, &background_lock, &at)) != 0;
    bool over = background_is_over(j);
    pthread_mutex_unlock(&background_lock);
    return over;
}
