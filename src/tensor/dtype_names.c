/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtype_names.c - what programs, files and protocols call element types: the rows of dtypes.def as
 * ctsc.h shows them.
 *
 * Tests: tests/unit/test_tensor.c, tests/unit/test_api.c
 */
#include "ctsc.h"
#include "tensor/dtype.h"

#include <string.h>

#define NAMES_USE(id, kind)                                                                        \
    (CTSC_DTYPE_##kind == CTSC_DTYPE_QUANTISED || (id) == DT_COMPLEX32 ? CTSC_DTYPE_NAMED          \
     : (id) >= DT_COMPUTED                                             ? CTSC_DTYPE_STORED         \
                                                                       : CTSC_DTYPE_COMPUTED)

static const ctsc_dtype_info names_rows[] = {
#define DTYPE(e, id, kind, ctype, ir, torch, other, method, brief, format, numpy, safe, onnx,      \
              wire)                                                                                \
    {(ctsc_dtype)(id),                                                                             \
     CTSC_DTYPE_##kind,                                                                            \
     NAMES_USE(id, kind),                                                                          \
     sizeof(ctype),                                                                                \
     torch,                                                                                        \
     other,                                                                                        \
     ir,                                                                                           \
     method,                                                                                       \
     brief,                                                                                        \
     format,                                                                                       \
     numpy,                                                                                        \
     safe,                                                                                         \
     wire,                                                                                         \
     onnx},
#include "tensor/dtypes.def"
#undef DTYPE
};
enum { NAMES_ROWS = sizeof names_rows / sizeof *names_rows };

const ctsc_dtype_info *dtype_at(size_t i) { return i < NAMES_ROWS ? &names_rows[i] : NULL; }

const ctsc_dtype_info *dtype_describe(int64_t number) {
    for (int i = 0; i < NAMES_ROWS; i++)
        if ((int64_t)names_rows[i].dtype == number) return &names_rows[i];
    return NULL;
}

static bool names_are(const char *name, const char *given) { return name && !strcmp(name, given); }

const ctsc_dtype_info *dtype_named(const char *name) {
    for (int i = 0; name && i < NAMES_ROWS; i++) {
        const ctsc_dtype_info *d = &names_rows[i];
        if (names_are(d->name, name) || names_are(d->other_name, name) || names_are(d->brief, name))
            return d;
    }
    return NULL;
}

const ctsc_dtype_info *dtype_of_method(const char *name) {
    for (int i = 0; i < NAMES_ROWS; i++)
        if (names_are(names_rows[i].method, name)) return &names_rows[i];
    return NULL;
}
