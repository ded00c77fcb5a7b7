/* SPDX-License-Identifier: Apache-2.0 */
/*
 * narrow.h - how fast layers of reduced precision are here: the rows of narrow.def.
 *
 * A table and no measurement, so that a program computes the same on every start, on every machine
 * of a kind, however busy.
 * Tests: tests/unit/test_isa.c, tests/cli/precision.test
 */
#ifndef CTSC_CPU_NARROW_H
#define CTSC_CPU_NARROW_H

#include "cpu/isa.h"

/* By what they are called in --precision. */
typedef enum narrow_kind { NARROW_BF16, NARROW_INT8W, NARROW_INT4W, NARROW_KINDS } narrow_kind;
extern const char *const narrow_names[NARROW_KINDS];

typedef struct narrow_row {
    narrow_kind kind;
    isa isa;
    double bits, rate;
    int columns;
} narrow_row;

/* The row that counts here and now; NULL: float32 is as fast. Thread-safe. */
const narrow_row *narrow_best(narrow_kind kind);

#endif
