/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_csv.c - text with a row per line, as RFC 4180 has it: cells between commas (tabs, where the
 * name ends in .tsv), in quotes where they have commas, quotes (doubled) or ends of lines in them.
 *
 * The first row has the names of the columns, unless all of it are numbers: then they are called
 * 0, 1, 2, ... Empty lines do not count.
 *
 * Method. The file is in memory, and is walked twice: to count rows, and to fill what they need.
 * A table never takes more than some bytes per byte of the file.
 * Tests: tests/cli/train-data.test
 */
#include "cli/train/train_data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CSV_MAX_COLUMNS = 1 << 16 };

typedef struct csv {
    const char *path, *end, *at;
    char separator;
    char *cell; /* the present one, without quotes; ends with a NUL */
    size_t len, room;
    bool last; /* of its row */
} csv;

static int csv_fail(const csv *c, int64_t row, const char *what) {
    return cli_complain(CTSC_BAD_FILE, "%s: row %lld: %s", c->path, (long long)row, what);
}

static bool csv_add(csv *c, const char *text, size_t len) {
    if (c->room - c->len <= len) {
        size_t room = 2 * c->room + len + 256;
        char *more = realloc(c->cell, room);
        if (!more) return false;
        c->cell = more;
        c->room = room;
    }
    if (len) memcpy(c->cell + c->len, text, len);
    c->len += len;
    c->cell[c->len] = '\0';
    return true;
}

/* Past the quotes of a cell; NULL: they do not end. */
static const char *csv_quoted(csv *c, const char *p, bool *ok) {
    while (p) {
        const char *quote = memchr(p, '"', (size_t)(c->end - p));
        if (!quote) return NULL;
        *ok &= csv_add(c, p, (size_t)(quote - p));
        p = quote + 1;
        if (p == c->end || *p != '"') return p;
        *ok &= csv_add(c, p++, 1);
    }
    return NULL;
}

/* The next cell. row: for errors. */
static int csv_next(csv *c, int64_t row) {
    const char *p = c->at;
    bool ok = true;
    c->len = 0;
    if (p < c->end && *p == '"' && !(p = csv_quoted(c, p + 1, &ok)))
        return csv_fail(c, row, "a quote that does not end");
    const char *from = p;
    while (p < c->end && *p != c->separator && *p != '\n') p++;
    c->last = p == c->end || *p == '\n';
    size_t len = (size_t)(p - from);
    if (c->last && len && from[len - 1] == '\r') len--;
    ok &= csv_add(c, from, len);
    c->at = p < c->end ? p + 1 : p;
    return ok ? 0 : cli_complain(CTSC_LIMIT, "out of memory");
}

/* Past empty lines; false: the end. */
static bool csv_more(csv *c) {
    while (c->at < c->end &&
           (*c->at == '\n' || (*c->at == '\r' && c->at + 1 < c->end && c->at[1] == '\n')))
        c->at++;
    return c->at < c->end;
}

static bool csv_is_number(const char *text) {
    char *end;
    double x = cli_double(text, &end);
    return end != text && !*end && x == x;
}

typedef struct csv_names { char **names; size_t n; bool are_numbers; } csv_names;

static int csv_read_names(csv *c, csv_names *out) {
    char **more;
    out->are_numbers = true;
    do {
        int code = csv_next(c, 0);
        if (code) return code;
        if (out->n == CSV_MAX_COLUMNS) return csv_fail(c, 0, "too many columns");
        if (!(out->n & (out->n + 1))) { /* 0, 1, 3, 7, ...: room for as many again */
            if (!(more = realloc(out->names, (2 * out->n + 2) * sizeof *more)))
                return cli_complain(CTSC_LIMIT, "out of memory");
            out->names = more;
        }
        if (!(out->names[out->n] = strndup(c->cell, c->len)))
            return cli_complain(CTSC_LIMIT, "out of memory");
        out->are_numbers &= csv_is_number(out->names[out->n++]);
    } while (!c->last);
    for (size_t i = 0; out->are_numbers && i < out->n; i++) {
        free(out->names[i]);
        if (asprintf(&out->names[i], "%zu", i) < 0) {
            out->names[i] = NULL;
            return cli_complain(CTSC_LIMIT, "out of memory");
        }
    }
    return 0;
}

static int csv_count(csv *c, size_t columns, int64_t *rows) {
    int code = 0;
    for (*rows = 0; !code && csv_more(c); ++*rows) {
        size_t n = 0;
        do code = csv_next(c, *rows + 1), n++;
        while (!code && !c->last);
        char what[80];
        snprintf(what, sizeof what, "%zu cells, not %zu", n, columns);
        if (!code && n != columns) code = csv_fail(c, *rows + 1, what);
    }
    return code;
}

static int csv_fill(csv *c, data_table *t) {
    int code = 0;
    for (int64_t row = 0; !code && row < t->rows && csv_more(c); row++)
        for (size_t i = 0; !code && i < t->ncolumns; i++) {
            code = csv_next(c, row + 1);
            if (!code && t->roles[i] != TABLE_SKIP)
                code = table_put_text(t, row, i, c->len ? c->cell : "", c->len);
        }
    return code;
}

static int csv_parse(csv *c, const data_reading *how, data_list *l, ctsc_error *e) {
    csv_names names = {0};
    data_table t = {0};
    int64_t rows = 0;
    if (c->end - c->at >= 3 && !memcmp(c->at, "\xef\xbb\xbf", 3)) c->at += 3;
    int code = csv_more(c) ? 0 : cli_complain(CTSC_BAD_FILE, "%s: the file is empty", c->path);
    const char *begin = c->at;
    if (!code) code = csv_read_names(c, &names);
    const char *data = names.are_numbers ? begin : c->at;
    c->at = data;
    if (!code) code = csv_count(c, names.n, &rows);
    if (!code)
        code = table_begin(&t, c->path, how, names.n, (const char *const *)names.names, rows, e);
    c->at = data;
    if (!code) code = csv_fill(c, &t);
    if (!code) code = table_end(&t, l, e);
    table_free(&t);
    for (size_t i = 0; i < names.n; i++) free(names.names[i]);
    free(names.names);
    free(c->cell);
    return code;
}

int data_read_csv(const char *path, const data_reading *how, data_list *l, ctsc_error *e) {
    struct stat st;
    size_t length = strlen(path);
    int f = open(path, O_RDONLY | O_CLOEXEC);
    if (f < 0 || fstat(f, &st) != 0) {
        int why = errno;
        if (f >= 0) close(f);
        return cli_cannot_open(path, why);
    }
    size_t size = (size_t)st.st_size;
    char *text = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, f, 0) : NULL;
    close(f);
    if (text == MAP_FAILED) return cli_cannot_open(path, errno);
    csv c = {.path = path, .at = text, .end = text ? text + size : NULL};
    c.separator = length > 4 && !strcmp(path + length - 4, ".tsv") ? '\t' : ',';
    int code = text ? csv_parse(&c, how, l, e)
                    : cli_complain(CTSC_BAD_FILE, "%s: the file is empty", path);
    if (text) munmap(text, size);
    return code;
}
