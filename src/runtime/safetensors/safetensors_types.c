/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_types.c - the element types of .safetensors files, in the order in which the
 * reference implementation (safetensors 0.8) sorts them: narrow ones first.
 * Tests: tests/unit/test_safetensors.c
 */
#include "runtime/safetensors/safetensors.h"

static const safe_type safe_types[] = {
    {"BOOL", 8, DT_BOOL},
    {"F4", 4, -1},
    {"F6_E2M3", 6, -1},
    {"F6_E3M2", 6, -1},
    {"U8", 8, DT_UINT8},
    {"I8", 8, DT_INT8},
    {"F8_E5M2", 8, DT_FLOAT8_E5M2},
    {"F8_E4M3", 8, DT_FLOAT8_E4M3FN},
    {"F8_E8M0", 8, DT_FLOAT8_E8M0FNU},
    {"F8_E4M3FNUZ", 8, DT_FLOAT8_E4M3FNUZ},
    {"F8_E5M2FNUZ", 8, DT_FLOAT8_E5M2FNUZ},
    {"I16", 16, DT_INT16},
    {"U16", 16, DT_UINT16},
    {"F16", 16, DT_FLOAT16},
    {"BF16", 16, DT_BFLOAT16},
    {"I32", 32, DT_INT32},
    {"U32", 32, DT_UINT32},
    {"F32", 32, DT_FLOAT32},
    {"C64", 64, DT_COMPLEX64},
    {"F64", 64, DT_FLOAT64},
    {"I64", 64, DT_INT64},
    {"U64", 64, DT_UINT64},
};

enum { SAFE_TYPES = sizeof safe_types / sizeof *safe_types };

const safe_type *safe_type_named(const char *name) {
    for (int i = 0; i < SAFE_TYPES; i++)
        if (!strcmp(safe_types[i].name, name)) return &safe_types[i];
    return NULL;
}

const safe_type *safe_type_of(dtype dt) {
    for (int i = 0; i < SAFE_TYPES; i++)
        if (safe_types[i].dt == (int)dt) return &safe_types[i];
    return NULL;
}

int safe_type_order(const safe_type *t) { return SAFE_TYPES - (int)(t - safe_types); }
