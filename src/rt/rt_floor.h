/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rt_floor.h - included in front of every source of the run-time library (-include).
 *
 * Errors are a status alone: formats and their arguments would be a third of the library.
 */
#ifndef CTSC_RT_RT_FLOOR_H
#define CTSC_RT_RT_FLOOR_H

#include "base/diag.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

ctsc_status rt_fail(diag *d, ctsc_status status);

#define diag_fail(d, status, ...) rt_fail(d, status)
#define diag_fail_at(d, status, range, ...) rt_fail(d, status)
#define sb_printf(...) ((void)0)
#define snprintf(to, ...) (*(to) = 0)
#define strncat(to, from, n) ((void)(to))
#define qsort rt_sort
void rt_sort(void *items, size_t n, size_t size, int (*order)(const void *a, const void *b));
/* What is packed when a program is compiled is not changed any more. */
#define pthread_mutex_init(lock, how) ((void)(lock))
#define pthread_mutex_destroy(lock) ((void)(lock))
#define pthread_mutex_lock(lock) ((void)(lock))
#define pthread_mutex_unlock(lock) ((void)(lock))
#define clock_gettime(id, to) ((void)0, *(to) = (struct timespec){0})

#endif
