/* SPDX-License-Identifier: Apache-2.0 */
/* plans.h - a cache of findings per kind of problem, under the bytes
 * of the kind: for libraries that are asked for an algorithm. */
#ifndef CTSC_RUNTIME_CUDA_PLANS_H
#define CTSC_RUNTIME_CUDA_PLANS_H

#include "base/map.h"

#include <string.h>

enum { PLANS_MOST = 4096 };

typedef struct plan_table {
    strmap by_kind; /* lives as long as the process */
    int count;
} plan_table;

/* NULL: not known. */
static inline void *plan_find(const plan_table *t, const void *kind, size_t kind_bytes) {
    return strmap_getn(&t->by_kind, kind, kind_bytes);
}

/* A copy of the plan, kept; NULL: there is no room for it. */
static inline void *plan_keep(plan_table *t, const void *kind, size_t kind_bytes, const void *plan,
                              size_t plan_bytes) {
    char *kept = t->count < PLANS_MOST ? mem_alloc(plan_bytes + kind_bytes) : NULL;
    if (!kept) return NULL;
    memcpy(kept, plan, plan_bytes);
    memcpy(kept + plan_bytes, kind, kind_bytes);
    if (!strmap_putn(&t->by_kind, kept + plan_bytes, kind_bytes, kept)) {
        mem_free(kept);
        return NULL;
    }
    t->count++;
    return kept;
}

#endif
