/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_types.c - the element types of .safetensors files, in the order in which the
 * reference implementation (safetensors 0.8) sorts them: narrow ones first. dtypes.def has the
 * names of those that are dtypes.
 * Tests: tests/unit/test_safetensors.c
 */
#include "runtime/safetensors/safetensors.h"

static const safe_type safe_types[] = {
    {DT_BOOL},
    {.dt = -1, .name = "F4", .bits = 4},
    {.dt = -1, .name = "F6_E2M3", .bits = 6},
    {.dt = -1, .name = "F6_E3M2", .bits = 6},
    {DT_UINT8},
    {DT_INT8},
    {DT_FLOAT8_E5M2},
    {DT_FLOAT8_E4M3FN},
    {DT_FLOAT8_E8M0FNU},
    {DT_FLOAT8_E4M3FNUZ},
    {DT_FLOAT8_E5M2FNUZ},
    {DT_INT16},
    {DT_UINT16},
    {DT_FLOAT16},
    {DT_BFLOAT16},
    {DT_INT32},
    {DT_UINT32},
    {DT_FLOAT32},
    {DT_COMPLEX64},
    {DT_FLOAT64},
    {DT_INT64},
    {DT_UINT64},
};

enum { SAFE_TYPES = sizeof safe_types / sizeof *safe_types };

const char *safe_type_name(const safe_type *t) {
    return t->dt < 0 ? t->name : dtype_describe(t->dt)->safetensors;
}

unsigned safe_type_bits(const safe_type *t) {
    return t->dt < 0 ? t->bits : 8 * (unsigned)dtype_size((dtype)t->dt);
}

const safe_type *safe_type_named(const char *name) {
    for (int i = 0; i < SAFE_TYPES; i++)
        if (!strcmp(safe_type_name(&safe_types[i]), name)) return &safe_types[i];
    return NULL;
}

const safe_type *safe_type_of(dtype dt) {
    for (int i = 0; i < SAFE_TYPES; i++)
        if (safe_types[i].dt == (int)dt) return &safe_types[i];
    return NULL;
}

int safe_type_order(const safe_type *t) { return SAFE_TYPES - (int)(t - safe_types); }
