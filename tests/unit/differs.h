/* SPDX-License-Identifier: Apache-2.0 */
/* differs.h - reads a list of cases that differ from PyTorch, in the form of tests/cases.py: "@
 * KIND COUNT", then rows of KEY, tab, REASON. */
#ifndef CTSC_TESTS_DIFFERS_H
#define CTSC_TESTS_DIFFERS_H

#include "support.h"

typedef struct differs_row {
    const char *kind, *key;
    bool seen;
} differs_row;
typedef struct differs {
    char *text;
    differs_row *rows;
    size_t len;
} differs;

static differs differs_read(const char *path) {
    size_t size, most = 1;
    differs d = {.text = (char *)support_read(path, &size)};
    const char *kind = NULL;
    size_t left = 0;
    if (!d.text) fail_msg("there is no %s", path);
    for (const char *p = d.text; *p; p++) most += *p == '\n';
    d.rows = calloc(most, sizeof *d.rows);
    for (char *line = strtok(d.text, "\n"); line; line = strtok(NULL, "\n")) {
        char *reason = strchr(line, '\t'), *count = strrchr(line, ' ');
        if (*line == '#') continue;
        if (*line == '@' && count > line + 1) {
            if (left) fail_msg("%s: %zu rows too few of kind %s", path, left, kind);
            *count = 0;
            kind = line + 2;
            left = (size_t)strtoul(count + 1, NULL, 10);
            continue;
        }
        if (!kind || !reason || reason == line || !reason[1])
            fail_msg("%s: not KEY, tab, REASON: %s", path, line);
        if (!left--) fail_msg("%s: more rows of kind %s than are counted", path, kind);
        *reason = 0;
        d.rows[d.len++] = (differs_row){kind, line, false};
    }
    if (left) fail_msg("%s: %zu rows too few of kind %s", path, left, kind);
    return d;
}

/* Whether a case that differs is listed as such; once. */
static bool differs_expects(differs *d, const char *kind, const char *key) {
    for (size_t i = 0; i < d->len; i++)
        if (!d->rows[i].seen && !strcmp(d->rows[i].kind, kind) && !strcmp(d->rows[i].key, key))
            return d->rows[i].seen = true;
    return false;
}

/* The rows that no case asked for, which are printed; and frees the list. */
static int differs_end(differs *d) {
    int left = 0;
    for (size_t i = 0; i < d->len; i++) {
        if (d->rows[i].seen) continue;
        print_error("listed as differing (%s), but does not: %s\n", d->rows[i].kind,
                    d->rows[i].key);
        left++;
    }
    free(d->rows);
    free(d->text);
    return left;
}

#endif
