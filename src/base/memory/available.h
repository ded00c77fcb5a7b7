/* SPDX-License-Identifier: Apache-2.0 */
/*
 * available.h - what memory the machine still has, asked before large blocks are taken.
 *
 * Linux promises more memory than there is, and ends a process when what was promised is touched.
 * A block that cannot fit is refused instead, so that a program gets an error that names the size.
 * Counted is what the kernel could give without ending anybody: free memory, what caches would
 * release, swap, and no more than the control group (a container) may still take.
 */
#ifndef CTSC_BASE_MEMORY_AVAILABLE_H
#define CTSC_BASE_MEMORY_AVAILABLE_H

#include <stddef.h>
#include <stdint.h>

/* From this size on: the question takes 10 to 20 us, and to touch so much takes milliseconds. */
enum { AVAILABLE_ASKED = 64 << 20 };

/* In bytes; INT64_MAX where nobody knows. */
int64_t available_memory(void);

#endif
