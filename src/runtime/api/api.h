/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - what the handles of ctsc.h are made of. */
#ifndef CTSC_RUNTIME_API_API_H
#define CTSC_RUNTIME_API_API_H

#include "base/memory/refusal.h"
#include "ctsc.h"
#include "runtime/ops/registry.h"
#include "runtime/program/module.h"

/* Keeps the function in programs that link libctsc.a: every file of the interface mentions it. */
static void (*const api_needs)(void) __attribute__((used)) = registry_install;

struct ctsc_error { diag d; };
struct ctsc_value {
    value v;
    /* the scope whose trace has recorded where it comes from; NULL: none (api_trace.c) */
    struct ctsc_scope *traced;
};
struct ctsc_module {
    module *m;
    /* for a submodule: the module that contains it, with a reference held; else NULL */
    struct ctsc_module *whole;
    atomic_int more; /* references beyond the first */
};

/* Where a function of ctsc.h puts its failure: the caller's error, cleared, or else *own. It
 * ends with api_leave. */
static inline diag *api_enter(ctsc_error *e, diag *own) {
    if (!e) return *own = (diag){0}, own;
    diag_clear(&e->d);
    return &e->d;
}
static inline ctsc_status api_leave(ctsc_error *e, diag *own, ctsc_status s) {
    if (!e) diag_clear(own);
    else if (s != CTSC_OK) diag_blame_caller(&e->d);
    if (s != CTSC_OK) mem_forget_refusal();
    return s;
}
/* The same, of a function that read a file: what says that it is damaged names it. */
static inline ctsc_status api_leave_file(ctsc_error *e, diag *own, ctsc_status s,
                                         const char *path) {
    if (e && s == CTSC_BAD_FILE) diag_name_file(&e->d, path);
    return api_leave(e, own, s);
}
/* The program looks at a value: a trace that recorded it warns. */
void api_note_read(const ctsc_value *v, const char *reader);
static inline void api_reads(const ctsc_value *v, const char *reader) {
    if (v && v->traced) api_note_read(v, reader);
}
/* A pointer from the caller that has to be there. what: "the path". */
static inline ctsc_status api_given(diag *d, const void *p, const char *what) {
    return p ? CTSC_OK : diag_fail(d, CTSC_USAGE, "%s is NULL", what);
}
/* n values from the caller: makers give NULL if out of memory, which it may not have looked at. */
static inline bool api_all_given(size_t n, ctsc_value *const *values) {
    for (size_t i = 0; i < n; i++)
        if (!values || !values[i]) return false;
    return true;
}
/* What a function of the caller's said, as a failure of who called it. */
ctsc_status api_fail_as(diag *d, const char *who, ctsc_status s, const ctsc_error *said);
struct profiler *api_profiler(const ctsc_profiler *p); /* NULL for NULL */
ctsc_value *api_wrap_take(value v);                    /* NULL if out of memory: v is released */
/* A method of the module by name; the failure lists those it has. */
ctsc_status api_method(const ctsc_module *m, diag *d, const char *name, struct function **out);
/* All arguments of a method as it takes them: self, those given, defaults. *out: new references, to
 * be freed whatever the status. */
ctsc_status api_arguments(const ctsc_module *m, const struct function *f, size_t nargs,
                          ctsc_value *const *args, diag *d, value **out);
/* May f be called without arguments beside self? False: yes. */
bool api_needs_arguments(const struct function *f);
/* A copy of the graph that f runs as at the module's level: as written where the passes fail, as
 * executor.c has it. */
ctsc_status api_graph_for_level(const ctsc_module *m, struct function *f, diag *d,
                                struct graph **out);
/* The caller's options, in *own where they are not complete: fields that a program built with an
 * older header does not know are zero (api_run.c). given may be NULL. */
const ctsc_run_options *api_run_options(const ctsc_run_options *given, ctsc_run_options *own);
/* Gives rt the options' limits but max_bytes, and where to print and warn. */
void api_run_limits(struct runtime *rt, const ctsc_run_options *o);
/* Calls f with m's own self, drawing random numbers of `from` and recording if that
 * does (api_run.c). */
ctsc_status api_run_in_scope(const ctsc_module *m, struct function *f, struct runtime *from,
                             size_t nargs, ctsc_value *const *args, diag *d, value *result);
void api_free_arguments(const struct function *f, value *full); /* full may be NULL */

/* What module-level code that trains asks for. */
extern const struct py_training api_training;

#endif
