/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.h - what a running program shares: random generator, output, limits.
 *
 * One runtime belongs to one call into the library (or to one context a program keeps); it
 * is not shared between threads that run at the same time.
 */
#ifndef CTSC_RUNTIME_CONTEXT_RUNTIME_H
#define CTSC_RUNTIME_CONTEXT_RUNTIME_H

#include "base/clock.h"
#include "base/threads/limits.h"
#include "ir/op/op.h"

/* PyTorch's CPU generator: mt19937 (M. Matsumoto, T. Nishimura, 1998), plus the
 * cached second normal. */
typedef struct generator {
    uint32_t state[624];
    int left, next; /* left 0: state is to be filled from seed first (generator_reset) */
    bool seeded;
    uint64_t seed;
    bool has_next_float_normal, has_next_double_normal;
    float next_float_normal;
    double next_double_normal;
} generator;

void generator_seed(generator *g, uint64_t seed);
/* as a new program finds it; the state is filled at the first number drawn */
void generator_reset(generator *g);
uint32_t generator_u32(generator *g);
void generator_words(generator *g, uint32_t *words, int64_t n); /* the next n of generator_u32 */
uint64_t generator_u64(generator *g); /* two u32, high word first, as PyTorch's random64 */

typedef struct runtime {
    /* seeded with PyTorch's default seed 67280421310721 unless torch.manual_seed ran */
    generator rng;
    void (*print)(void *ctx, const char *text, size_t len); /* print(): NULL discards */
    void (*warn)(void *ctx, const char *text);              /* warnings.warn: NULL discards */
    void *sink_ctx;
    uint64_t steps_left;          /* bytecode instructions; UINT64_MAX: no limit */
    const atomic_bool *cancelled; /* set by another thread to stop; NULL: none */
    uint64_t deadline;            /* on clock_now's scale; 0: none */
    bool allow_unsafe;            /* operators that touch files */
    /* what the program does is recorded (runtime/autograd); and gradients are on */
    bool taped, grad_enabled;
    bool on_meta;        /* the program was moved to device meta (runtime/meta) */
    bool grad_requested; /* by the caller, which differentiates the result further */
    int depth;           /* nesting of calls, for the cap */
    const object *root;  /* the module that is run; NULL: not known */
    /* the workspace around it, if any: the interpreter's stack is kept there (workspace.h) */
    struct workspace *ws;
    /* sees what the program does (interp/watch.h); NULL: nobody wants to know */
    struct watch *watch;
    /* left of what the call may wait for kernels of its loops (fused.h) */
    _Atomic uint32_t patience_us; /* what is forked reads it when it begins */
    /* 0 as written, 1 with passes, 2 with fusion, 3 the same, compiled at once (executor.h) */
    int opt;
} runtime;

enum { RUNTIME_PATIENCE_US = 100000 };

/* The level of optimisation that runtime.opt asks for (exec/executor.h). */
static inline int runtime_level(int opt) { return opt <= 0 ? 0 : opt == 1 ? 1 : 2; }

/* Somebody may stop the program, or its time may run out. */
static inline bool runtime_is_watched(const runtime *rt) { return rt->cancelled || rt->deadline; }

static inline bool runtime_is_limited(const runtime *rt) {
    return runtime_is_watched(rt) || rt->steps_left != UINT64_MAX;
}
/* rt's limits as operators see them (base/threads/limits.h), in *l, which must not
 * outlive rt. Returns l. */
limits *runtime_limits(runtime *rt, limits *l);

void runtime_init(runtime *rt); /* touches little of rt: cheap enough for every call */
/* For a function forked in `from`, without effects and limits that count: what it needs to run on
 * another thread. depth: of the forking frame. */
void runtime_init_forked(runtime *rt, const runtime *from, int depth);

#endif
