/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.c - asking whether a program may go on, from wherever its work is done.
 *
 * Tests: tests/unit/test_limits.c
 */
#include "base/threads/limits.h"

#include "base/clock.h"

MEM_THREAD_LOCAL limits *limits_current;

limits *limits_use(limits *l) {
    limits *before = limits_current;
    limits_current = l;
    return before;
}

static bool limits_reach(limits *l, enum limit_kind kind) {
    int none = LIMIT_NONE;
    atomic_compare_exchange_strong_explicit(&l->reached, &none, kind, memory_order_relaxed,
                                            memory_order_relaxed);
    return true;
}

bool limits_met(limits *l) {
    if (atomic_load_explicit(&l->reached, memory_order_relaxed) != LIMIT_NONE) return true;
    if (l->cancelled && atomic_load_explicit(l->cancelled, memory_order_relaxed))
        return limits_reach(l, LIMIT_CANCELLED);
    return l->deadline && clock_now() > l->deadline && limits_reach(l, LIMIT_TIME);
}

bool limits_take(limits *l, uint64_t steps) {
    if (limits_met(l)) return false;
    uint64_t left = l->steps_left ? __atomic_load_n(l->steps_left, __ATOMIC_RELAXED) : UINT64_MAX;
    while (left != UINT64_MAX) {
        uint64_t rest = left < steps ? 0 : left - steps;
        if (!__atomic_compare_exchange_n(l->steps_left, &left, rest, true, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            continue;
        return left >= steps || !limits_reach(l, LIMIT_STEPS);
    }
    return true;
}

ctsc_status limits_fail(diag *d) {
    static const char *const messages[] = {
        [LIMIT_NONE] = "the program was stopped",
        [LIMIT_CANCELLED] = "the program was cancelled",
        [LIMIT_TIME] = "the program exceeded its limit of time",
        [LIMIT_STEPS] = "the program exceeded its limit of steps",
    };
    limits *l = limits_current;
    return diag_fail(
        d, CTSC_LIMIT, "%s",
        messages[l ? atomic_load_explicit(&l->reached, memory_order_relaxed) : LIMIT_NONE]);
}
