/* SPDX-License-Identifier: Apache-2.0 */
/* refusal.h - why there was no memory, for the message that says so (diag_no_memory). */
#ifndef CTSC_BASE_MEMORY_REFUSAL_H
#define CTSC_BASE_MEMORY_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The last request of this thread that was refused. bounded: its budget had only `left`, of the
 * `limit` that it began with; else the system had no memory, or, where `available` is not negative,
 * the machine had no more than that. size 0: none was refused. */
typedef struct mem_refusal {
    size_t size;
    bool bounded;
    int64_t left, limit, available;
} mem_refusal;
mem_refusal mem_last_refusal(void);
/* Once a failure was reported: what fails later for another reason must not tell of this one. */
void mem_forget_refusal(void);

#endif
