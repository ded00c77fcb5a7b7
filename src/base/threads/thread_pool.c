/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_pool.c - worker threads, the jobs they help with, and the tasks they run.
 *
 * Method: a call cuts its range into at most POOL_CHUNKS chunks (more where they would be
 * huge), puts a job on the list of open jobs and works on it itself; idle workers join the
 * first open job that has chunks left and takes another helper. The chunks are divided into
 * as many homes as there can be threads: a thread takes those of its own home, then those
 * left in others', so a slow thread delays no other, and a thread gets the same part of the
 * range in each call, so that its caches still hold what it wrote in the call before.
 * (Between cores that do not share a cache a line takes half a microsecond.) An idle worker
 * spins for some microseconds before it sleeps, because kernels follow each other closely.
 * Invariants: a job lives on its caller's stack; it is off the list, and its count of helpers is
 * zero, before the caller returns. Workers start on demand and are never stopped; a thread that
 * cannot be started leaves the work to the others. A forked child has no workers and starts its
 * own. A task is on the list while it is offered; its state leaves TASK_OFFERED under the lock,
 * and nobody but its maker touches it once it is TASK_OVER. Workers prefer jobs, whose callers
 * wait for them, to tasks.
 * Tests: tests/unit/test_base.c
 */
#include "base/threads/thread_pool.h"

#include "base/clock.h"
#include "base/memory/unbacked.h"
#include "base/threads/float_mode.h"
#include "base/threads/limits.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>

enum {
    POOL_MAX_THREADS = 256,
    /* that somebody with nothing to do looks for work before he sleeps: longer than what one thread
     * does between the kernels of a program, as to be woken takes some ten microseconds */
    POOL_SPIN_NS = 150000,
    POOL_PAUSES = 32,     /* between looks at the clock */
    POOL_BACKLOG = 2,     /* tasks per thread that wait to be begun: more would only hold memory */
    POOL_STACK = 8 << 20, /* tasks run and compile programs */
    POOL_HOMES = 64,
};

enum { TASK_OFFERED = 1, TASK_BEGUN, TASK_OVER };

/* Neighbouring chunks: those from `taken` on are left, if that is below `end`. */
typedef struct pool_home {
    _Alignas(64) _Atomic int64_t taken;
    int64_t end;
} pool_home;

typedef struct pool_job {
    struct pool_job *next;
    void (*fn)(void *ctx, int64_t begin, int64_t end);
    void *ctx;
    int64_t n, chunk, chunks;
    int wanted;           /* helpers that may still join; under pool_lock */
    limits *limits;       /* its caller's; NULL: none */
    float_mode mode;      /* its caller's */
    bool limited;         /* ... which may end it */
    atomic_bool stopped;  /* ... and have */
    atomic_bool denormal; /* helpers met denormal numbers */
    atomic_int helpers;   /* workers inside; goes up under pool_lock */
    int homes;
    pool_home home[POOL_HOMES];
} pool_job;

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pool_work = PTHREAD_COND_INITIALIZER; /* pool_opened was counted up */
static pthread_cond_t pool_left = PTHREAD_COND_INITIALIZER; /* a helper left a job */
static pool_job *pool_jobs;                                 /* open jobs; under pool_lock */
static pool_task *pool_oldest, *pool_newest;                /* offered tasks; under pool_lock */
static int pool_offered;                                    /* how many; under pool_lock */
static int pool_started;                                    /* workers; under pool_lock */
static int pool_sleeping; /* threads waiting on pool_work; under pool_lock */
/* counts what idle threads look for: new jobs, tasks offered and tasks over */
static atomic_uint pool_opened;
static atomic_int pool_limit; /* threads per call; 0: not asked for yet */
static pthread_once_t pool_once = PTHREAD_ONCE_INIT;
static _Thread_local int pool_number;         /* of this worker, from 1 on; 0: no worker */
static _Thread_local char *pool_spare;        /* its scratch; NULL: it has none, or it is in use */
static _Thread_local bool pool_inside;        /* this thread is working on a chunk */
static _Thread_local pool_task *pool_current; /* ... or is running this task; NULL: none */

static void pool_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static int pool_cores(void) {
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < 1 ? 1 : n > POOL_MAX_THREADS ? POOL_MAX_THREADS : n;
}

void pool_set_threads(int n) {
    if (n <= 0) n = pool_cores();
    atomic_store(&pool_limit, n > POOL_MAX_THREADS ? POOL_MAX_THREADS : n);
}

int pool_threads(void) {
    int n = atomic_load_explicit(&pool_limit, memory_order_relaxed);
    if (n) return n;
    int fresh = pool_cores();
    return atomic_compare_exchange_strong(&pool_limit, &n, fresh) ? fresh : n;
}

static void pool_chunk(const pool_job *job, int64_t i) {
    int64_t begin = i * job->chunk;
    job->fn(job->ctx, begin, i + 1 == job->chunks ? job->n : begin + job->chunk);
}

/* False: the job's limits say that no more is to be begun. */
static bool pool_help_home(pool_job *job, pool_home *home) {
    for (;;) {
        int64_t i = atomic_fetch_add_explicit(&home->taken, 1, memory_order_relaxed);
        if (i >= home->end) return true;
        if (job->limited && limits_stop()) {
            atomic_store_explicit(&job->stopped, true, memory_order_relaxed);
            return false;
        }
        pool_chunk(job, i);
    }
}

/* Works on the job until no chunk is left, or none is to be begun. */
static void pool_help(pool_job *job) {
    bool outer = pool_inside;
    limits *own = limits_use(job->limits);
    pool_inside = true;
    for (int i = 0; i < job->homes; i++)
        if (!pool_help_home(job, &job->home[(pool_number + i) % job->homes])) break;
    pool_inside = outer;
    limits_use(own);
}

/* On another thread than the job's caller's, as if that did it. */
static void pool_help_apart(pool_job *job) {
    float_mode own = float_mode_use(job->mode);
    pool_help(job);
    if (float_mode_met()) atomic_store_explicit(&job->denormal, true, memory_order_relaxed);
    float_mode_use(own);
}

static bool pool_has_chunks(const pool_job *job) {
    for (int i = 0; i < job->homes; i++)
        if (atomic_load_explicit(&job->home[i].taken, memory_order_relaxed) < job->home[i].end)
            return true;
    return false;
}

/* The first open job with work for one more, joined; NULL if there is none. Under pool_lock. */
static pool_job *pool_join(void) {
    for (pool_job *j = pool_jobs; j; j = j->next)
        if (j->wanted > 0 && pool_has_chunks(j)) {
            j->wanted--;
            atomic_fetch_add_explicit(&j->helpers, 1, memory_order_relaxed);
            return j;
        }
    return NULL;
}

/* Works on an open job, if there is one that takes a helper. */
static bool pool_help_any(void) {
    pthread_mutex_lock(&pool_lock);
    pool_job *job = pool_join();
    pthread_mutex_unlock(&pool_lock);
    if (!job) return false;
    pool_help_apart(job);
    /* The job may be gone as soon as helpers is 0: the lock keeps its caller from missing
     * the signal, and the job is not touched after the count went down. */
    pthread_mutex_lock(&pool_lock);
    if (atomic_fetch_sub_explicit(&job->helpers, 1, memory_order_release) == 1)
        pthread_cond_broadcast(&pool_left);
    pthread_mutex_unlock(&pool_lock);
    return true;
}

/* Under pool_lock. */
static void pool_announce(void) {
    atomic_fetch_add_explicit(&pool_opened, 1, memory_order_release);
    if (pool_sleeping) pthread_cond_broadcast(&pool_work);
}

/* Under pool_lock. */
static void pool_begin(pool_task *t) {
    *(t->prev ? &t->prev->next : &pool_oldest) = t->next;
    *(t->next ? &t->next->prev : &pool_newest) = t->prev;
    pool_offered--;
    atomic_store_explicit(&t->state, TASK_BEGUN, memory_order_relaxed);
}

/* The oldest task that is offered, of those of `maker` and what they have offered in turn (NULL: of
 * all). Under pool_lock. */
static pool_task *pool_find(const void *maker) {
    for (pool_task *t = pool_oldest; t; t = t->next) {
        const pool_task *of = t;
        while (maker && of && of->maker != maker) of = of->parent;
        if (of) return t;
    }
    return NULL;
}

static bool pool_run_any(const void *maker) {
    pthread_mutex_lock(&pool_lock);
    pool_task *t = pool_find(maker), *outer = pool_current;
    if (t) pool_begin(t);
    pthread_mutex_unlock(&pool_lock);
    if (!t) return false;
    pool_current = t;
    float_mode own = float_mode_use(t->mode);
    t->run(t);
    float_mode_use(own);
    pool_current = outer;
    pthread_mutex_lock(&pool_lock);
    atomic_store_explicit(&t->state, TASK_OVER, memory_order_release);
    pool_announce();
    pthread_mutex_unlock(&pool_lock);
    return true;
}

/* Waits until *count is not `is` any more, for as long as that is better than to sleep. Returns
 * whether it came to that. */
static bool pool_spin(const atomic_uint *count, unsigned is) {
    uint64_t end = clock_now() + POOL_SPIN_NS;
    do {
        for (int i = 0; i < POOL_PAUSES; i++) {
            if (atomic_load_explicit(count, memory_order_acquire) != is) return true;
            pool_pause();
        }
    } while (clock_now() < end);
    return false;
}

/* Until pool_opened has counted on from `seen`. */
static void pool_idle(unsigned seen) {
    if (pool_spin(&pool_opened, seen)) return;
    pthread_mutex_lock(&pool_lock);
    pool_sleeping++;
    while (atomic_load_explicit(&pool_opened, memory_order_relaxed) == seen)
        pthread_cond_wait(&pool_work, &pool_lock);
    pool_sleeping--;
    pthread_mutex_unlock(&pool_lock);
}

/* Never freed, as the thread's stack: workers are never stopped. */
static char *pool_scratch_new(void) {
    if (!POOL_SCRATCH) return NULL;
    void *p = mmap(NULL, POOL_SCRATCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void *pool_worker(void *number) {
    pool_number = (int)(intptr_t)number;
    pool_spare = pool_scratch_new();
    for (;;) {
        unsigned seen = atomic_load_explicit(&pool_opened, memory_order_acquire);
        if (!pool_help_any() && !pool_run_any(NULL)) pool_idle(seen);
    }
    return NULL;
}

/* In a forked child only the calling thread exists. */
static void pool_after_fork(void) {
    pthread_mutex_init(&pool_lock, NULL);
    pthread_cond_init(&pool_work, NULL);
    pthread_cond_init(&pool_left, NULL);
    pool_jobs = NULL;
    pool_oldest = pool_newest = NULL;
    pool_started = pool_sleeping = pool_offered = 0;
}

static void pool_init(void) { pthread_atfork(NULL, NULL, pool_after_fork); }

/* Under pool_lock. */
static void pool_start_workers(int want) {
    pthread_attr_t attr;
    if (pool_started >= want || pthread_attr_init(&attr) != 0) return;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, POOL_STACK);
    while (pool_started < want) {
        pthread_t thread;
        if (pthread_create(&thread, &attr, pool_worker, (void *)(intptr_t)(pool_started + 1)) != 0)
            break;
        pool_started++;
    }
    pthread_attr_destroy(&attr);
}

static void pool_open(pool_job *job) {
    pthread_once(&pool_once, pool_init);
    pthread_mutex_lock(&pool_lock);
    pool_start_workers(job->wanted);
    job->next = pool_jobs;
    pool_jobs = job;
    pool_announce();
    pthread_mutex_unlock(&pool_lock);
}

/* Takes the job off the list and waits for its helpers. */
static void pool_close(pool_job *job) {
    pthread_mutex_lock(&pool_lock);
    for (pool_job **p = &pool_jobs; *p; p = &(*p)->next)
        if (*p == job) {
            *p = job->next;
            break;
        }
    pthread_mutex_unlock(&pool_lock);
    uint64_t end = clock_now() + POOL_SPIN_NS;
    while (atomic_load_explicit(&job->helpers, memory_order_acquire) != 0 && clock_now() < end)
        for (int i = 0; i < POOL_PAUSES && atomic_load(&job->helpers) != 0; i++) pool_pause();
    /* Taken even when the count is zero already: the last helper leaves under this lock, and is
     * done with the job when it gives it up. */
    pthread_mutex_lock(&pool_lock);
    while (atomic_load_explicit(&job->helpers, memory_order_acquire) != 0)
        pthread_cond_wait(&pool_left, &pool_lock);
    pthread_mutex_unlock(&pool_lock);
}

static void pool_divide(pool_job *job, int homes) {
    int64_t each = job->chunks / homes, more = job->chunks % homes, begin = 0;
    job->homes = homes;
    for (int i = 0; i < homes; i++) {
        atomic_init(&job->home[i].taken, begin);
        job->home[i].end = begin += each + (i < more);
    }
}

static bool pool_spread(int64_t n, int64_t grain, void (*fn)(void *ctx, int64_t begin, int64_t end),
                        void *ctx, bool limited) {
    if (n <= 0 || geometry_only()) return true;
    int64_t chunk = pool_chunk_size(n, grain);
    int64_t chunks = n / chunk + (n % chunk != 0);
    if (chunks == 1) {
        fn(ctx, 0, n);
        return true;
    }
    int threads = pool_inside ? 1 : pool_threads();
    if (threads > chunks) threads = (int)chunks;
    pool_job job;
    job.fn = fn, job.ctx = ctx;
    job.n = n, job.chunk = chunk, job.chunks = chunks;
    job.wanted = threads - 1;
    job.limits = limits_current, job.limited = limited;
    atomic_init(&job.stopped, false);
    atomic_init(&job.helpers, 0);
    pool_divide(&job, threads < POOL_HOMES ? threads : POOL_HOMES);
    job.mode = threads > 1 ? float_mode_get() : 0;
    atomic_init(&job.denormal, false);
    if (threads > 1) pool_open(&job);
    pool_help(&job);
    if (threads > 1) pool_close(&job);
    if (atomic_load_explicit(&job.denormal, memory_order_relaxed)) float_mode_note();
    return !atomic_load_explicit(&job.stopped, memory_order_relaxed);
}

void pool_for(int64_t n, int64_t grain, void (*fn)(void *ctx, int64_t begin, int64_t end),
              void *ctx) {
    pool_spread(n, grain, fn, ctx, false);
}

bool pool_for_limited(int64_t n, int64_t grain, void (*fn)(void *ctx, int64_t begin, int64_t end),
                      void *ctx) {
    return pool_spread(n, grain, fn, ctx, true);
}

void *pool_scratch_take(void) {
    void *scratch = pool_spare;
    pool_spare = NULL;
    return scratch;
}

void pool_scratch_give(void *scratch) { pool_spare = scratch; }

/* ---- tasks ----------------------------------------------------------------------------------- */

bool pool_offer(pool_task *t) {
    int threads = pool_threads();
    if (threads < 2) return false;
    pthread_once(&pool_once, pool_init);
    pthread_mutex_lock(&pool_lock);
    bool room = pool_offered < POOL_BACKLOG * threads;
    if (room) {
        pool_start_workers(threads - 1);
        t->parent = pool_current;
        t->mode = float_mode_get();
        t->prev = pool_newest;
        t->next = NULL;
        *(pool_newest ? &pool_newest->next : &pool_oldest) = t;
        pool_newest = t;
        pool_offered++;
        atomic_store_explicit(&t->state, TASK_OFFERED, memory_order_relaxed);
        pool_announce();
    }
    pthread_mutex_unlock(&pool_lock);
    return room;
}

bool pool_take_back(pool_task *t) {
    if (atomic_load_explicit(&t->state, memory_order_relaxed) != TASK_OFFERED) return false;
    pthread_mutex_lock(&pool_lock);
    bool mine = atomic_load_explicit(&t->state, memory_order_relaxed) == TASK_OFFERED;
    if (mine) pool_begin(t);
    pthread_mutex_unlock(&pool_lock);
    return mine;
}

void pool_wait(pool_task *t) {
    for (;;) {
        unsigned seen = atomic_load_explicit(&pool_opened, memory_order_acquire);
        if (atomic_load_explicit(&t->state, memory_order_acquire) == TASK_OVER) return;
        if (!pool_help_any() && !pool_run_any(t->maker)) pool_idle(seen);
    }
}
