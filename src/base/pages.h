/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h - advice to the system about memory that is large. Advice can be ignored: nothing depends
 * on it but time and memory.
 */
#ifndef CTSC_BASE_PAGES_H
#define CTSC_BASE_PAGES_H

#include <stddef.h>

/* What will be written whole and kept: large pages spare most of the page faults. */
void pages_prefer_large(void *p, size_t n);
/* What will hardly be read again: its pages go. Those of a mapped file, which must be read-only,
 * come back from it if somebody reads them; others are zero then. */
void pages_drop(void *p, size_t n);

#endif
