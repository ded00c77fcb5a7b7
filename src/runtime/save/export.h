/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - writing archives: the container, pickles, and whole modules.
 *
 *   zip_write.c       the container: records, aligned
 *   export_pickle.c   values as pickles, their storages beside them
 *   export_debug.c    where printed code comes from
 *   export.c          a module as torch.jit.save writes it
 *   save.c            a value as torch.save writes it
 *
 * Formats: docs/archive.md. Tests: tests/unit/test_export.c, tests/interop/resave.py
 */
#ifndef CTSC_RUNTIME_SAVE_EXPORT_H
#define CTSC_RUNTIME_SAVE_EXPORT_H

#include "runtime/program/module.h"

/* ---- zip_write.c ----------------------------------------------------------------------------- */

struct code_text; /* frontend/codeprint/print_code.h */

typedef struct zip_writer zip_writer;

/* Begins a file that will replace `path` when it is committed. folder: the top
 * folder of all records. */
ctsc_status zip_writer_open(diag *d, const char *path, const char *folder, zip_writer **out);
/* Adds a record; deflates it if asked to and if that makes it smaller. data is not kept. */
ctsc_status zip_writer_add(zip_writer *z, diag *d, const char *name, const void *data, size_t len,
                           bool deflate);
/* Writes the directory, waits for the disk, puts the file in place. */
ctsc_status zip_writer_commit(zip_writer *z, diag *d);
/* Ends the writer; what was not committed leaves no trace. z may be NULL. */
void zip_writer_free(zip_writer *z);

/* ---- export_pickle.c ------------------------------------------------------------------------- */

typedef struct pickler_storage {
    storage *st; /* a reference */
    dtype dt;
    uint32_t memo;
    size_t nbytes; /* whole elements only */
    size_t next;   /* another one of the same storage (with another dtype); 0: none */
} pickler_storage;

/* How objects leave the program. Members may be NULL: then objects are refused. */
typedef struct pickler_host {
    void *ctx;
    /* The state of o: *state stays None for "its attributes". */
    ctsc_status (*state)(void *ctx, diag *d, object *o, value *state);
    /* A class of the program is named in the pickle. */
    void (*class_named)(void *ctx, type *t);
} pickler_host;

typedef struct pickler {
    diag *d;
    const pickler_host *host;
    /* lists and dicts as Python writes them; else with their types, as programs need them */
    bool plain;
    bool failed; /* out of memory */
    strbuf out;
    arena arena;
    strmap strings, globals;       /* text -> memo number + 1 */
    ptrmap values, storage_index;  /* payload -> memo number + 1; storage -> index + 1 */
    VEC(pickler_storage) storages; /* data/N */
    VEC(value) held;               /* keeps addresses taken while they are in `values` */
    uint32_t memo;
    int depth;
} pickler;

bool pickler_begin(pickler *w, diag *d, const pickler_host *host, bool plain);
void pickler_free(pickler *w);
/* t: the static type, NULL if it is not known. */
ctsc_status pickler_value(pickler *w, value v, type *t);
/* The end of the pickle. */
ctsc_status pickler_end(pickler *w);
/* Parts, for formats of their own. */
void pickler_op(pickler *w, int opcode);
void pickler_int(pickler *w, int64_t i);
void pickler_text(pickler *w, const char *s, size_t len);
void pickler_global(pickler *w, const char *module, const char *name);
/* TUPLE; the caller has begun it with MARK if n > 3 */
void pickler_tuple_end(pickler *w, size_t n);
uint32_t pickler_put(pickler *w); /* the number of what was written last */
void pickler_get(pickler *w, uint32_t memo);
/* Adds the pickle as `record`, and the storages as `folder`0, `folder`1, ... before it. */
ctsc_status pickler_add_records(pickler *w, zip_writer *z, const char *record, const char *folder);

/* ---- export_debug.c -------------------------------------------------------------------------- */

/* The debug record of a printed file (code/NAME.py.debug_pkl), appended to out. */
ctsc_status export_debug_record(diag *d, const struct code_text *text, strbuf *out);

/* ---- export.c -------------------------------------------------------------------------------- */

ctsc_status module_save(diag *d, const module *m, const char *path);

#endif
