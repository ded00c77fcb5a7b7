/* SPDX-License-Identifier: Apache-2.0 */
/* minmax.h - the smaller and the larger of two sizes. */
#ifndef CTSC_BASE_MINMAX_H
#define CTSC_BASE_MINMAX_H

#include <stdint.h>

static inline int64_t int64_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t int64_max(int64_t a, int64_t b) { return a > b ? a : b; }

#endif
