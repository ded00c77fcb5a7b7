/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors.h - .safetensors files, which hold named tensors and nothing else.
 *
 *     length of the header (8 bytes, little-endian)
 *     header: {"__metadata__": {"key": "text"}, "fc.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
 *     data, offsets counted from here
 *
 *     safetensors_types.c   the element types of the format
 *     safetensors_read.c    opening and checking a file, its tensors
 *     safetensors_write.c   writing one
 *
 * Tests: tests/unit/test_safetensors.c, tests/fuzz/fuzz_safetensors.c, tests/cli/convert.test
 */
#ifndef CTSC_RUNTIME_SAFETENSORS_SAFETENSORS_H
#define CTSC_RUNTIME_SAFETENSORS_SAFETENSORS_H

#include "base/map.h"
#include "base/memory/vec.h"
#include "runtime/archive/archive.h"

/* ---- safetensors_types.c --------------------------------------------------------------------- */

typedef struct safe_type {
    int dt; /* a dtype, which knows the rest; -1: ctsc has no such elements */
    const char *name;
    unsigned bits;
} safe_type;

const char *safe_type_name(const safe_type *t); /* "F32" */
unsigned safe_type_bits(const safe_type *t);    /* of an element */

/* NULL: the format has no such type, as far as is known here. */
const safe_type *safe_type_named(const char *name);
const safe_type *safe_type_of(dtype dt);
/* The type's rank in the order that files are written in: wider ones first. */
int safe_type_order(const safe_type *t);

/* ---- safetensors_read.c ---------------------------------------------------------------------- */

/* All strings live as long as the file. */
typedef struct safe_entry {
    const char *name, *dtype; /* dtype: as the file says it */
    const safe_type *type;    /* NULL: unknown */
    int ndim;
    const int64_t *sizes;
    uint64_t begin, end; /* offsets in the data */
} safe_entry;

typedef struct safe_pair { const char *key, *text; } safe_pair;

typedef struct safe_file {
    arena arena;
    storage *contents;   /* of the whole file */
    bool of_file;        /* which is mapped */
    size_t base;         /* where the data begins */
    safe_entry *entries; /* in the order of their data */
    size_t count;
    strmap by_name; /* -> safe_entry */
    safe_pair *metadata;
    size_t nmetadata;
} safe_file;

/* Opens a file; takes r over (also on failure). Everything in the header is
 * checked here: its length, each tensor's type, shape and place, that no two
 * tensors overlap and that there are no gaps between or after them. Errors are
 * CTSC_BAD_FILE, and CTSC_LIMIT for headers and shapes that are too large. */
ctsc_status safe_open(diag *d, reader r, safe_file **out);
void safe_close(safe_file *f); /* f may be NULL */
/* A tensor of f, which may outlive it: a view on the mapping where the file is mapped and the
 * elements are aligned, else a copy. CTSC_UNSUPPORTED for a type that ctsc lacks. */
ctsc_status safe_tensor(diag *d, const safe_file *f, const safe_entry *e, tensor **out);
/* All tensors of a file as a dict by name, in the order of their data; takes r over. What the
 * metadata call another name of a tensor (see safe_write) is there under both. */
ctsc_status load_safetensors(diag *d, reader r, value *out);

/* ---- safetensors_write.c --------------------------------------------------------------------- */

/* Writes a dict of tensors by name, as the reference implementation lays a file out: wider types
 * first, then by name, the header padded so that data begins at a multiple of 8. A tensor that the
 * dict has under several names is written under the first of them in alphabetical order; for each
 * other one the metadata have a row OTHER = NAME. Views are written as tensors of their own. The
 * file appears whole or not at all. CTSC_UNSUPPORTED for element types that the format lacks,
 * CTSC_USAGE for what is no such dict. */
ctsc_status safe_write(diag *d, const dict *tensors, size_t nmetadata, const safe_pair *metadata,
                       const char *path);

#endif
