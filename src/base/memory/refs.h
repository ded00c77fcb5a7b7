/* SPDX-License-Identifier: Apache-2.0 */
/* refs.h - counts of references that threads share. */
#ifndef CTSC_BASE_REFS_H
#define CTSC_BASE_REFS_H

#include <stdatomic.h>
#include <stdbool.h>

/* Releases one reference; true if it was the last. The owner of the only
 * one need not exchange the count: nobody else has one to copy from. */
static inline bool refs_drop(atomic_int *refs) {
    return atomic_load_explicit(refs, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

#endif
