/* SPDX-License-Identifier: Apache-2.0 */
/* variables.c - reads the library's variables of the environment (variables.h). */
#include "base/variables.h"

#include <stddef.h>
#include <stdlib.h>

const char *variable_get(variable v) {
    static const char *const names[] = {
#define VARIABLE(id, name, values, meaning) name,
#include "base/variables.def"
#undef VARIABLE
    };
    const char *value = v < VARIABLE_NONE ? secure_getenv(names[v]) : NULL;
    return value && *value ? value : NULL;
}
