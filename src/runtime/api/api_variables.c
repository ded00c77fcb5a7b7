/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_variables.c - what variables of the environment mean, for `ctsc doctor`.
 *
 * Tests: tests/cli/variables.test
 */
#include "base/variables.h"

#include "ctsc_compiler.h"

void ctsc_variables(void (*visit)(void *ctx, const ctsc_variable *v), void *ctx) {
    static const ctsc_variable table[] = {
#define VARIABLE(id, name, values, meaning) {name, values, meaning, NULL},
#include "base/variables.def"
#undef VARIABLE
    };
    for (int i = 0; i < VARIABLE_NONE; i++) {
        ctsc_variable v = table[i];
        v.value = variable_get((variable)i);
        visit(ctx, &v);
    }
}
