/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.c - a runtime's initial state, and PyTorch's random generator.
 *
 * The generator is the 32-bit Mersenne twister: M. Matsumoto, T. Nishimura, "Mersenne Twister: a
 * 623-dimensionally equidistributed uniform pseudo-random number generator", 1998, in the form
 * PyTorch's CPU generator has. Tests: tests/unit/test_interp.c
 */
#include "runtime/context/runtime.h"

#include "cpu/vector.h"

enum { MT_N = 624, MT_M = 397 };

void generator_seed(generator *g, uint64_t seed) {
    *g = (generator){.seed = seed, .seeded = true, .left = 1};
    g->state[0] = (uint32_t)seed;
    for (uint32_t j = 1; j < MT_N; j++)
        g->state[j] = 1812433253u * (g->state[j - 1] ^ (g->state[j - 1] >> 30)) + j;
}

/* Refilling and tempering are loops over the whole state. */
#define GENERATOR_HOT VECTOR_CLONES

static inline uint32_t generator_twist(uint32_t u, uint32_t v) {
    uint32_t mixed = (u & 0x80000000u) | (v & 0x7fffffffu);
    return (mixed >> 1) ^ ((0u - (v & 1)) & 0x9908b0dfu);
}

/* What the second loop reads was written 227 steps before. */
GENERATOR_HOT static void generator_refill(generator *g) {
    uint32_t *s = g->state;
    for (int j = 0; j < MT_N - MT_M; j++) s[j] = s[j + MT_M] ^ generator_twist(s[j], s[j + 1]);
    for (int from = MT_N - MT_M; from < MT_N - 1; from += MT_N - MT_M) {
        int end = from + MT_N - MT_M < MT_N - 1 ? from + MT_N - MT_M : MT_N - 1;
        for (int j = from; j < end; j++)
            s[j] = s[j + MT_M - MT_N] ^ generator_twist(s[j], s[j + 1]);
    }
    s[MT_N - 1] = s[MT_M - 1] ^ generator_twist(s[MT_N - 1], s[0]);
    g->left = MT_N;
    g->next = 0;
}

/* The state of a generator that was reset. */
static void generator_fill(generator *g) {
    generator_seed(g, g->seed);
    g->seeded = false;
}

static inline uint32_t generator_temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ y >> 18;
}

uint32_t generator_u32(generator *g) {
    if (g->left == 0) generator_fill(g);
    if (--g->left <= 0) generator_refill(g);
    return generator_temper(g->state[g->next++]);
}

GENERATOR_HOT static void generator_temper_all(const uint32_t *s, uint32_t *words, int n) {
    for (int i = 0; i < n; i++) words[i] = generator_temper(s[i]);
}

void generator_words(generator *g, uint32_t *words, int64_t n) {
    while (n > 0) {
        if (g->left == 0) generator_fill(g);
        if (g->left <= 1) {
            generator_refill(g);
            g->left = MT_N + 1; /* none of them is taken yet */
        }
        int part = n < g->left - 1 ? (int)n : g->left - 1;
        generator_temper_all(g->state + g->next, words, part);
        g->next += part;
        g->left -= part;
        words += part;
        n -= part;
    }
}

uint64_t generator_u64(generator *g) {
    uint64_t high = generator_u32(g);
    return high << 32 | generator_u32(g);
}

void generator_reset(generator *g) {
    g->seed = 67280421310721u;
    g->left = 0;
    g->seeded = g->has_next_float_normal = g->has_next_double_normal = false;
}

void runtime_init(runtime *rt) {
    generator_reset(&rt->rng);
    rt->print = NULL;
    rt->warn = NULL;
    rt->sink_ctx = NULL;
    rt->steps_left = UINT64_MAX;
    rt->cancelled = NULL;
    rt->deadline = 0;
    rt->root = NULL;
    rt->ws = NULL;
    rt->watch = NULL;
    rt->allow_unsafe = false;
    rt->on_meta = false;
    rt->taped = rt->grad_enabled = rt->grad_requested = false;
    rt->depth = rt->opt = 0;
    rt->patience_us = RUNTIME_PATIENCE_US;
}

limits *runtime_limits(runtime *rt, limits *l) {
    *l = (limits){.cancelled = rt->cancelled,
                  .deadline = rt->deadline,
                  .steps_left = rt->steps_left == UINT64_MAX ? NULL : &rt->steps_left};
    return l;
}

void runtime_init_forked(runtime *rt, const runtime *from, int depth) {
    runtime_init(rt);
    rt->cancelled = from->cancelled;
    rt->deadline = from->deadline;
    rt->allow_unsafe = from->allow_unsafe;
    rt->taped = from->taped;
    rt->grad_enabled = from->grad_enabled;
    rt->on_meta = from->on_meta;
    rt->root = from->root;
    rt->opt = from->opt;
    rt->patience_us = from->patience_us;
    rt->depth = depth;
}
