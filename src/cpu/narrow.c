/* SPDX-License-Identifier: Apache-2.0 */
/* narrow.c - see narrow.h. */
#include "cpu/narrow.h"

#include <stddef.h>

const char *const narrow_names[NARROW_KINDS] = {"bf16", "int8w", "int4w"};

static const narrow_row narrow_rows[] = {
#define NARROW(kind, isa, bits, rate, columns) {NARROW_##kind, ISA_##isa, bits, rate, columns},
#include "cpu/narrow.def"
};

const narrow_row *narrow_best(narrow_kind kind) {
    for (size_t i = 0; i < sizeof narrow_rows / sizeof *narrow_rows; i++)
        if (narrow_rows[i].kind == kind && isa_pays(narrow_rows[i].isa)) return &narrow_rows[i];
    return NULL;
}
