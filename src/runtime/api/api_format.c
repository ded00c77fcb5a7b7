/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_format.c - the part of ctsc.h about formats of files.
 *
 * Tests: tests/unit/test_formats.c
 */
#include "runtime/api/api.h"
#include "runtime/program/formats.h"

#include <string.h>

const ctsc_format *ctsc_format_at(size_t i) {
    const format *f = format_at(i);
    return f ? &f->shown : NULL;
}

const ctsc_format *ctsc_format_find(const char *name) {
    const ctsc_format *f;
    for (size_t i = 0; name && (f = ctsc_format_at(i)) != NULL; i++)
        if (!strcmp(f->name, name)) return f;
    return NULL;
}

/* How long the longest of f's endings is that path has; 0: none. */
static size_t format_ending(const ctsc_format *f, const char *path) {
    size_t n = strlen(path), best = 0;
    for (const char *p = f->endings; *p;) {
        size_t len = strcspn(p, " ");
        if (n > len && len > best && !strncmp(path + n - len, p, len)) best = len;
        p += len + (p[len] == ' ');
    }
    return best;
}

const ctsc_format *ctsc_format_by_ending(const char *path, size_t *len) {
    const ctsc_format *f, *found = NULL;
    size_t best = 0;
    for (size_t i = 0; path && (f = ctsc_format_at(i)) != NULL; i++) {
        size_t n = format_ending(f, path);
        if (n > best) best = n, found = f;
    }
    if (found && len) *len = best;
    return found;
}

ctsc_status ctsc_file_format(const char *path, const ctsc_format **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    const format *f = NULL;
    reader r;
    ctsc_status s = api_given(d, path, "the path");
    if (s == CTSC_OK) s = reader_open_file(d, path, &r);
    if (s == CTSC_OK) s = format_of_file(d, r, &f);
    if (s == CTSC_OK) *out = f ? &f->shown : NULL;
    return api_leave_file(e, &own, s, path);
}
