/* SPDX-License-Identifier: Apache-2.0 */
/* ukernels.h - the micro-kernels that this processor can run, for tests that try each of them. */
#ifndef CTSC_TESTS_UNIT_UKERNELS_H
#define CTSC_TESTS_UNIT_UKERNELS_H

#include "cpu/ukernel.h"

enum { UKERNELS_MOST = 16 };

/* Those of a family and type, fastest first, NULL after the last; what the processor lacks is
 * said, once. */
static inline const ukernel **usable_ukernels(ukernel_family family, ukernel_type type) {
    static const ukernel *usable[UKERNELS_MOST + 1];
    static uint32_t said;
    int n = 0;
    for (const ukernel *u = ukernel_first(family, type); u; u = ukernel_next(u))
        if (isa_has(u->isa) && n < UKERNELS_MOST) {
            usable[n++] = u;
        } else if (!(said >> u->isa & 1)) {
            said |= 1u << u->isa;
            print_message("[          ] not run: this processor has no %s\n",
                          isa_table[u->isa].name);
        }
    usable[n] = NULL;
    return usable;
}

/* The record in plain C; NULL: none. */
static inline const void *plain_ukernel(ukernel_family family, ukernel_type type) {
    const ukernel *u = ukernel_first(family, type);
    while (u && u->isa != ISA_PLAIN) u = ukernel_next(u);
    return u ? u->record : NULL;
}

#endif
