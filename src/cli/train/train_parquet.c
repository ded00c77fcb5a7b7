/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_parquet.c - Parquet: a table, read by carquet, a library in C, which is opened at its first
 * use (the variable CARQUET_LIBRARY says where it is, as for its own package).
 *
 * carquet gives row groups in the form of Arrow's C data interface, which does not change: a struct
 * of columns, each with a format of one letter, a bitmap of what is there, and its elements.
 * Columns of numbers, truth values and texts can be chosen; others only stay unread. This runs in a
 * process of its own (train_apart.c).
 * Tests: tests/cli/train-data.test
 */
#include "cli/train/train_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Arrow's C data interface ---------------------------------------------------------------- */

typedef struct arrow_schema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct arrow_schema **children, *dictionary;
    void (*release)(struct arrow_schema *);
    void *private_data;
} arrow_schema;

typedef struct arrow_array {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct arrow_array **children, *dictionary;
    void (*release)(struct arrow_array *);
    void *private_data;
} arrow_array;

/* ---- carquet --------------------------------------------------------------------------------- */

/* Its error: a number, then the text; more follows. */
typedef struct carquet_error { int code; char message[256]; char rest[256]; } carquet_error;

typedef struct carquet_library {
    void *(*open)(const char *path, const void *options, carquet_error *e);
    void (*close)(void *reader);
    int64_t (*rows)(const void *reader);
    int32_t (*groups)(const void *reader);
    int (*read)(void *reader, int32_t group, arrow_schema *s, arrow_array *a, carquet_error *e);
} carquet_library;

typedef struct parquet {
    carquet_library lib;
    const char *path;
    void *reader;
    data_table table;
    int64_t row; /* the first of the present group */
} parquet;

static int parquet_open_library(carquet_library *lib) {
    const char *named = getenv("CARQUET_LIBRARY");
    const char *const libraries[] = {named && *named ? named : "libcarquet.so", NULL};
    static const char *const names[] = {"carquet_reader_open", "carquet_reader_close",
                                        "carquet_reader_num_rows", "carquet_reader_num_row_groups",
                                        "carquet_reader_read_arrow"};
    void *found[sizeof names / sizeof *names];
    if (!data_open_library(libraries, sizeof names / sizeof *names, names, found))
        return cli_complain(
            CTSC_ENVIRONMENT,
            "Parquet is read by libcarquet.so, which is not installed: 'pip install "
            "carquet' has it, and CARQUET_LIBRARY says where it is");
    memcpy(lib, found, sizeof *lib);
    return 0;
}

static int parquet_fail(const parquet *p, const char *why) {
    return cli_complain(CTSC_BAD_FILE, "%s: %s", p->path, why);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* How many buffers an array of this format has; 0: of a format that is not read. */
static int64_t parquet_buffers(const char *format) {
    if (!format || !*format || format[1]) return 0;
    return strchr("bcCsSiIlLefg", *format) ? 2 : strchr("uUzZ", *format) ? 3 : 0;
}

/* IEEE 754's binary16. */
static double parquet_half(uint16_t h) {
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double x = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
               : exponent     ? ldexp(1024 + fraction, exponent - 25)
                              : ldexp(fraction, -24);
    return h >> 15 ? -x : x;
}

static double parquet_number(char format, const void *data, int64_t i) {
    switch (format) {
    case 'b': return ((const uint8_t *)data)[i / 8] >> (i % 8) & 1;
    case 'c': return ((const int8_t *)data)[i];
    case 'C': return ((const uint8_t *)data)[i];
    case 's': return ((const int16_t *)data)[i];
    case 'S': return ((const uint16_t *)data)[i];
    case 'i': return ((const int32_t *)data)[i];
    case 'I': return ((const uint32_t *)data)[i];
    case 'l': return (double)((const int64_t *)data)[i];
    case 'L': return (double)((const uint64_t *)data)[i];
    case 'e': return parquet_half(((const uint16_t *)data)[i]);
    case 'f': return ((const float *)data)[i];
    default: return ((const double *)data)[i];
    }
}

/* Text i of an array with 32- or 64-bit offsets. */
static int parquet_text(parquet *p, const char *format, const arrow_array *a, int64_t i,
                        int64_t row, size_t column) {
    bool wide = *format == 'U' || *format == 'Z';
    const void *offsets = a->buffers[1];
    int64_t from = wide ? ((const int64_t *)offsets)[i] : ((const int32_t *)offsets)[i],
            to = wide ? ((const int64_t *)offsets)[i + 1] : ((const int32_t *)offsets)[i + 1];
    const char *bytes = a->buffers[2];
    if (from < 0 || to < from || (to > from && !bytes)) return parquet_fail(p, "damaged texts");
    return table_put_text(&p->table, row, column, to > from ? bytes + from : "",
                          (size_t)(to - from));
}

/* Element i of an array, whatever it is. */
static int parquet_cell(parquet *p, const arrow_schema *s, const arrow_array *a, int64_t i,
                        int64_t row, size_t column) {
    const uint8_t *there = a->n_buffers > 0 ? a->buffers[0] : NULL;
    i += a->offset;
    if (there && a->null_count && !(there[i / 8] >> (i % 8) & 1))
        return table_put_missing(&p->table, row, column);
    if (s->dictionary) {
        double at = parquet_number(*s->format, a->buffers[1], i);
        if (at < 0 || at >= (double)a->dictionary->length)
            return parquet_fail(p, "a damaged dictionary");
        return parquet_cell(p, s->dictionary, a->dictionary, (int64_t)at, row, column);
    }
    if (parquet_buffers(s->format) == 3) return parquet_text(p, s->format, a, i, row, column);
    return table_put_number(&p->table, row, column, parquet_number(*s->format, a->buffers[1], i));
}

/* Whether the arrays are what their formats say. */
static bool parquet_is_whole(const arrow_schema *s, const arrow_array *a, int64_t length) {
    int64_t n = parquet_buffers(s->format);
    bool ok = n && a && a->n_buffers == n && a->length >= length && a->offset >= 0 && a->buffers &&
              (a->buffers[1] || !length) && !s->dictionary == !a->dictionary;
    if (!ok || !s->dictionary) return ok;
    return n == 2 && !s->dictionary->dictionary &&
           parquet_is_whole(s->dictionary, a->dictionary, a->dictionary->length);
}

static int parquet_column(parquet *p, const arrow_schema *s, const arrow_array *a, size_t column,
                          int64_t rows) {
    int code = 0;
    if (!parquet_is_whole(s, a, rows)) {
        char what[120];
        snprintf(what, sizeof what, "its type ('%.20s' in Arrow's terms) cannot be read",
                 s->format ? s->format : "");
        return table_complain(&p->table, p->row, column, what);
    }
    for (int64_t i = 0; i < rows && !code; i++) code = parquet_cell(p, s, a, i, p->row + i, column);
    return code;
}

/* ---- row groups ------------------------------------------------------------------------------ */

/* The columns' names are those of the first group. */
static int parquet_begin(parquet *p, const data_reading *how, const arrow_schema *s, int64_t rows,
                         ctsc_error *e) {
    const char **names = calloc((size_t)s->n_children + 1, sizeof *names);
    if (!names) return cli_complain(CTSC_LIMIT, "out of memory");
    for (int64_t i = 0; i < s->n_children; i++)
        names[i] = s->children[i]->name ? s->children[i]->name : "";
    int code = table_begin(&p->table, p->path, how, (size_t)s->n_children, names, rows, e);
    free(names);
    return code;
}

static int parquet_group(parquet *p, const data_reading *how, int32_t group, ctsc_error *e) {
    arrow_schema s = {0};
    arrow_array a = {0};
    carquet_error why = {0};
    if (p->lib.read(p->reader, group, &s, &a, &why) != 0) {
        why.message[sizeof why.message - 1] = '\0';
        return parquet_fail(p, *why.message ? why.message : "a damaged Parquet file");
    }
    int64_t all = p->lib.rows(p->reader);
    int code = s.n_children < 1 || a.n_children != s.n_children || a.length < 0
                   ? parquet_fail(p, "there are no columns")
                   : 0;
    if (!code && !group) code = parquet_begin(p, how, &s, all, e);
    if (!code && ((size_t)s.n_children != p->table.ncolumns || a.length > all - p->row))
        code = parquet_fail(p, "row groups that do not fit together");
    for (size_t i = 0; !code && i < p->table.ncolumns; i++)
        if (p->table.roles[i] != TABLE_SKIP)
            code = parquet_column(p, s.children[i], a.children[i], i, a.length);
    p->row += a.length;
    if (s.release) s.release(&s);
    if (a.release) a.release(&a);
    return code;
}

int data_read_parquet(const char *path, const data_reading *how, data_list *l, ctsc_error *e) {
    parquet p = {.path = path};
    carquet_error why = {0};
    int code = parquet_open_library(&p.lib);
    if (code) return code;
    data_enter_sandbox(path);
    if (!(p.reader = p.lib.open(path, NULL, &why))) {
        why.message[sizeof why.message - 1] = '\0';
        return parquet_fail(&p, *why.message ? why.message : "a damaged Parquet file");
    }
    int32_t groups = p.lib.groups(p.reader);
    for (int32_t i = 0; i < groups && !code; i++) code = parquet_group(&p, how, i, e);
    if (!code && (!p.row || p.row != p.lib.rows(p.reader)))
        code = parquet_fail(&p, "there are no rows, or not as many as the file says");
    if (!code) code = table_end(&p.table, l, e);
    table_free(&p.table);
    p.lib.close(p.reader);
    return code;
}
