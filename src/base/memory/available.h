/* SPDX-License-Identifier: Apache-2.0 */
/*
 * available.h - what memory the machine still has, asked before large blocks are taken.
 *
 * Linux promises more memory than there is, and ends a process when what was promised is touched.
 * A block that cannot fit is refused instead, so that a program gets an error that names the size.
 * So is a small one when many came before it and nearly nothing is left.
 * Counted is what the kernel could give without ending anybody: free memory, what caches would
 * release, swap, and no more than the control group (a container) may still take.
 */
#ifndef CTSC_BASE_MEMORY_AVAILABLE_H
#define CTSC_BASE_MEMORY_AVAILABLE_H

#include <stddef.h>
#include <stdint.h>

/* From this size on: the question takes 10 to 20 us, and to touch so much takes milliseconds. */
enum { AVAILABLE_ASKED = 64 << 20 };

/* In bytes; INT64_MAX where nobody knows. Does not count what should stay for other programs, which
 * take some between the question and the use: a part of the machine's memory, at most most_left. */
int64_t available_memory(int64_t most_left);

#endif
