/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formula.h - integers that are known at some sizes, as formulas of these sizes.
 *
 * Method. A value is looked at along each symbol (the others at their base), and at tuples where
 * several differ. Along one symbol s it is m * floor((a * s + b) / c) + d or nothing; of several it
 * is a sum or a product of such, times and plus a constant, which the tuples have to confirm. What
 * is not confirmed has no formula. This is evidence, no proof: formula_fits counts how many sizes
 * agreed that the formula was not made of. Rejected: sizes as symbols in the operators' functions,
 * which would be a second implementation of each.
 * Tests: tests/cli/inspect_symbols.test
 */
#ifndef CTSC_CLI_SHOW_FORMULA_H
#define CTSC_CLI_SHOW_FORMULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FORMULA_SYMBOLS = 4, FORMULA_TUPLES = 8, FORMULA_AXIS = 160, FORMULA_TEXT = 160 };

/* What a value is at the sizes that were tried. A mask has a bit for each symbol that is not at its
 * base. */
typedef struct formula_data {
    int n;
    const char *const *names;
    int64_t base; /* the value where all symbols are at their base */
    int naxis[FORMULA_SYMBOLS];
    const int64_t *sizes[FORMULA_SYMBOLS];                /* along each symbol, ascending ... */
    int64_t axis[FORMULA_SYMBOLS][FORMULA_AXIS];          /* ... and the value there */
    int64_t tuple_sizes[FORMULA_TUPLES][FORMULA_SYMBOLS]; /* tuples, ... */
    int64_t tuples[FORMULA_TUPLES][1 << FORMULA_SYMBOLS]; /* ... and the value by mask */
} formula_data;

/* The formula into text; false: none was confirmed. */
bool formula_fit(const formula_data *f, char text[FORMULA_TEXT]);

#endif
