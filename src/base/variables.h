/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variables.h - the variables of the environment that say how the library runs (variables.def).
 *
 * For people who run a program, whatever language it is written in; what
 * programs decide themselves is in ctsc.h. They are ignored where the
 * process has more rights than the user who started it (secure_getenv).
 * Tests: tests/cli/variables.test, tests/unit/test_variables.c
 */
#ifndef CTSC_BASE_VARIABLES_H
#define CTSC_BASE_VARIABLES_H

typedef enum variable {
#define VARIABLE(id, name, values, meaning) VARIABLE_##id,
#include "base/variables.def"
#undef VARIABLE
    VARIABLE_NONE
} variable;

/* NULL: it is not set, or empty. VARIABLE_NONE: NULL. */
const char *variable_get(variable v);

#endif
