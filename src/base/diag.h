/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diag.h - errors as values: what went wrong, where, and how the program came there.
 *
 * A function that can fail returns a ctsc_status and describes the failure in the diag it was
 * given. The first failure wins; notes and frames are added to it on the way out. Line, column
 * and the caret are computed when the diagnostic is rendered, from byte offsets.
 *
 * Ownership: a diag owns its strings and holds a reference on each source it names.
 * Tests: tests/unit/test_base.c
 */
#ifndef CTSC_BASE_DIAG_H
#define CTSC_BASE_DIAG_H

#include "base/memory/vec.h"
#include "base/text/strbuf.h"
#include "ctsc.h"

#include <stdatomic.h>

/* A piece of source text that ranges point into. Counted; sources are shared by graphs, values
 * and diagnostics. */
struct source_range;

typedef struct source {
    atomic_int refs;
    char *name; /* file name, as shown to people */
    char *text; /* NUL-terminated copy */
    size_t len;
    uint32_t first_line; /* the number of the text's first line: 1, unless it is an excerpt */
    /* comes with ctsc: what fails in it is its caller's doing (diag_blame_caller) */
    bool library;
    /* Where this text was generated from (an archive's code has an original Python file):
     * maps a range here to a range in the original, false if unknown. May be NULL. */
    bool (*origin)(struct source *s, uint32_t begin, struct source_range *out);
    void (*origin_free)(void *ctx);
    void *origin_ctx;
} source;

typedef struct source_range {
    source *src; /* NULL: no place */
    uint32_t begin, end;
} source_range;

source *source_new(const char *name, const char *text, size_t len); /* refs = 1; NULL: no memory */
source *source_ref(source *s);
void source_unref(source *s); /* s may be NULL */
/* Line (from first_line) and column (from 1) of a byte offset. */
void source_position(const source *s, uint32_t offset, uint32_t *line, uint32_t *column);
/* The range in the text a person wrote: the origin if there is one, else r itself. */
source_range source_original(source_range r);

typedef enum diag_kind { DIAG_ERROR, DIAG_NOTE, DIAG_FRAME, DIAG_DROPPED } diag_kind;

typedef struct diag_item {
    diag_kind kind;
    char *text; /* of a frame: the function's name */
    source_range range;
} diag_item;

typedef struct diag {
    ctsc_status status;   /* CTSC_OK: nothing happened */
    char *exception;      /* Python class of a raised exception ("builtins.ValueError"), or NULL */
    VEC(diag_item) items; /* the error, then its notes and frames, innermost call first */
    /* bytes that a tensor may take which is made under this diag; 0: no limit.
     * diag_clear keeps it. */
    uint64_t max_tensor;
} diag;

/* A failure is the caller's, too; where something has to be freed, TRY_OUT goes to the label `out`,
 * with the status in a local `st`. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        ctsc_status try_status_ = (call);                                                          \
        if (try_status_ != CTSC_OK) return try_status_;                                            \
    } while (0)
#define TRY_OUT(call)                                                                              \
    do {                                                                                           \
        if ((st = (call)) != CTSC_OK) goto out;                                                    \
    } while (0)

/* For a while, what reports to *slot (an evaluator, an emitter, an interpreter) reports to `to`:
 *
 *     diag own = {0}, *outer = diag_redirect(&in->d, &own);
 *     ...
 *     diag_restore(&in->d, outer); */
static inline diag *diag_redirect(diag **slot, diag *to) {
    diag *outer = *slot;
    *slot = to;
    return outer;
}
static inline void diag_restore(diag **slot, diag *outer) { *slot = outer; }

void diag_drop(diag *d); /* diag_clear where there is something */
static inline void diag_clear(diag *d) {
    if (d->status != CTSC_OK || d->items.data || d->exception) diag_drop(d);
}
/* Record a failure and return its status. d may be NULL. No memory for the text still records the
 * status. */
ctsc_status diag_fail(diag *d, ctsc_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
ctsc_status diag_fail_at(diag *d, ctsc_status status, source_range r, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
ctsc_status diag_fail_v(diag *d, ctsc_status status, source_range r, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));
ctsc_status diag_no_memory(diag *d); /* CTSC_LIMIT, "out of memory" */
void diag_note(diag *d, source_range r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Moves what `from` says to the end of `to` (both failures): a second, independent error. from is
 * clear afterwards. */
void diag_append(diag *to, diag *from);
/* Whether the first error of d comes after the first of `other`, both in the text of `in`. */
bool diag_got_further(const diag *d, const diag *other, source_range in);
void diag_frame(diag *d, source_range r, const char *function);
/* Gives the error a place if it has none yet. */
void diag_locate(diag *d, source_range r);
/* Names the file that a failure is of, before a message that does not. */
void diag_name_file(diag *d, const char *path);
/* An error inside the library's own sources moves to the place in the program that called it; its
 * own place becomes a note. */
void diag_blame_caller(diag *d);
const char *diag_message(const diag *d); /* the error's text, "" if none */
/* Renders all of it for a person: message, place, excerpt with a caret range, notes, call chain. */
void diag_render(const diag *d, strbuf *out, bool colour);

#endif
