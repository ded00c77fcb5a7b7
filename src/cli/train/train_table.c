/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_table.c - rows and columns as a matrix of features and a target.
 *
 * The target is the column --target, else one with the usual name, else the last; the features are
 * the columns of --features, else all others. Nothing is converted silently: a cell of these
 * columns that is missing, or no number, is an error that names its row and column. What a target
 * becomes depends on the loss:
 *
 *     of classes     int64 [rows], whole numbers from 0 on, or texts, whose sorted names get numbers
 *     any other      [rows, targets] of the features' dtype, as a linear layer's result is
 *
 * Tests: tests/cli/train-data.test
 */
#include "cli/train/train_data.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int64_t data_memory(void) {
    int64_t pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? pages / 4 * 3 * size : INT64_MAX;
}

static int table_no_memory(void) { return cli_complain(CTSC_LIMIT, "out of memory"); }

int table_complain(const data_table *t, int64_t row, size_t column, const char *what) {
    return cli_complain(CTSC_BAD_FILE, "%s: row %lld, column '%s': %s", t->path, (long long)row + 1,
                        t->names[column], what);
}

/* ---- which columns --------------------------------------------------------------------------- */

/* The column whose name begins at *p and is followed by ',' or the end, the longest, since a name
 * may have commas in it; *p: what follows. -1: none. */
static int64_t table_named(const data_table *t, const char **p) {
    int64_t found = -1;
    size_t longest = 0;
    for (size_t i = 0; i < t->ncolumns; i++) {
        size_t len = strlen(t->names[i]);
        if (strncmp(t->names[i], *p, len) || ((*p)[len] && (*p)[len] != ',')) continue;
        if (found >= 0 && len <= longest) continue;
        found = (int64_t)i;
        longest = len;
    }
    if (found >= 0) *p += longest + ((*p)[longest] == ',');
    return found;
}

/* Columns get the roles first, first + step, ... in the order of the list. */
static int table_choose(data_table *t, const char *option, const char *list, int first, int step,
                        size_t *n) {
    while (*list) {
        int64_t column = table_named(t, &list);
        if (column < 0)
            return cli_complain(CTSC_USAGE, "--%s: %s has no column '%.*s'", option, t->path,
                                (int)strcspn(list, ","), list);
        if (t->roles[column] != TABLE_SKIP)
            return cli_complain(CTSC_USAGE, "--%s: column '%s' is chosen twice", option,
                                t->names[column]);
        t->roles[column] = first + step * (int)(*n)++;
    }
    return 0;
}

static int table_roles(data_table *t) {
    const data_reading *how = t->how;
    int code = 0;
    for (size_t i = 0; i < t->ncolumns; i++) t->roles[i] = TABLE_SKIP;
    if (how->target) {
        code = table_choose(t, "target", how->target, -2, -1, &t->ntargets);
    } else {
        size_t at = t->ncolumns - 1;
        for (size_t i = 0; i < t->ncolumns; i++)
            if (cli_is_target(t->names[i])) at = i;
        t->roles[at] = -2;
        t->ntargets = 1;
    }
    if (!code && how->features)
        code = table_choose(t, "features", how->features, 0, 1, &t->nfeatures);
    for (size_t i = 0; i < t->ncolumns && !how->features; i++)
        if (t->roles[i] == TABLE_SKIP) t->roles[i] = (int)t->nfeatures++;
    if (!code && (!t->nfeatures || !t->ntargets))
        code = cli_complain(CTSC_USAGE,
                            "%s: at least two columns are needed, an input and a target", t->path);
    if (!code && how->classifies && t->ntargets > 1)
        code = cli_complain(CTSC_USAGE, "--target: a loss of classes takes one column");
    return code;
}

int table_begin(data_table *t, const char *path, const data_reading *how, size_t ncolumns,
                const char *const *names, int64_t rows, ctsc_error *e) {
    *t = (data_table){.path = path, .how = how, .ncolumns = ncolumns, .rows = rows};
    if (!ncolumns || rows < 1) return cli_complain(CTSC_BAD_FILE, "%s: there are no rows", path);
    t->names = calloc(ncolumns, sizeof *t->names);
    t->roles = calloc(ncolumns, sizeof *t->roles);
    for (size_t i = 0; t->names && i < ncolumns; i++)
        if (!(t->names[i] = strdup(names[i]))) return table_no_memory();
    if (!t->names || !t->roles) return table_no_memory();
    int code = table_roles(t);
    if (code) return code;
    bool wide = how->dtype && how->dtype->dtype != CTSC_FLOAT32;
    int64_t width = (int64_t)t->nfeatures * (wide ? 8 : 4) + (int64_t)t->ntargets * 16;
    if (rows > data_memory() / width)
        return cli_complain(CTSC_LIMIT, "%s: %lld rows of %zu columns do not fit into memory", path,
                            (long long)rows, t->nfeatures + t->ntargets);
    int64_t sizes[] = {rows, (int64_t)t->nfeatures};
    if (ctsc_tensor_new(wide ? CTSC_FLOAT64 : CTSC_FLOAT32, 2, sizes, &t->features, e) != CTSC_OK)
        return cli_report(e);
    t->numbers = calloc((size_t)rows * t->ntargets, sizeof *t->numbers);
    if (t->ntargets == 1) t->texts = calloc((size_t)rows, sizeof *t->texts);
    return t->numbers && (t->texts || t->ntargets > 1) ? 0 : table_no_memory();
}

void table_free(data_table *t) {
    for (size_t i = 0; t->names && i < t->ncolumns; i++) free(t->names[i]);
    for (int64_t i = 0; t->texts && i < t->rows; i++) free(t->texts[i]);
    free(t->names);
    free(t->roles);
    free(t->numbers);
    free(t->texts);
    ctsc_value_free(t->features);
    *t = (data_table){0};
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* What other programs write where there is nothing. */
static bool table_is_missing(const char *text, size_t len) {
    static const char *const words[] = {"", "NA", "N/A", "NaN", "nan", "NULL", "null", "None"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == len && !memcmp(words[i], text, len)) return true;
    return false;
}

int table_put_missing(const data_table *t, int64_t row, size_t column) {
    return table_complain(t, row, column, "a value is missing");
}

int table_put_number(data_table *t, int64_t row, size_t column, double x) {
    int role = t->roles[column];
    if (isnan(x)) return table_put_missing(t, row, column);
    if (isinf(x)) return table_complain(t, row, column, "an infinite value");
    if (role < TABLE_SKIP) {
        t->numbers[row * (int64_t)t->ntargets + (-2 - role)] = x;
    } else {
        int64_t at = row * (int64_t)t->nfeatures + role;
        void *data = ctsc_tensor_data(t->features);
        if (ctsc_tensor_dtype(t->features) == CTSC_FLOAT64) ((double *)data)[at] = x;
        else ((float *)data)[at] = (float)x;
    }
    return 0;
}

static int table_no_number(const data_table *t, int64_t row, size_t column, const char *text) {
    char what[160];
    snprintf(what, sizeof what, "'%.60s' is not a number%s", text,
             t->roles[column] >= 0 ? " (--features says which columns count)" : "");
    return table_complain(t, row, column, what);
}

int table_put_text(data_table *t, int64_t row, size_t column, const char *text, size_t len) {
    char copy[400], *end;
    while (len && isspace((unsigned char)*text)) text++, len--;
    while (len && isspace((unsigned char)text[len - 1])) len--;
    if (table_is_missing(text, len)) return table_put_missing(t, row, column);
    if (memchr(text, '\0', len)) return table_complain(t, row, column, "a NUL character");
    bool may_be_text = t->roles[column] < TABLE_SKIP && t->texts;
    snprintf(copy, sizeof copy, "%.*s", (int)(len < sizeof copy ? len : sizeof copy - 1), text);
    double x = cli_double(copy, &end);
    bool number = len < sizeof copy && !*end && isfinite(x);
    if (may_be_text && !(t->texts[row] = strndup(text, len))) return table_no_memory();
    if (number) return table_put_number(t, row, column, x);
    if (!may_be_text) return table_no_number(t, row, column, copy);
    t->is_text = true;
    return 0;
}

/* ---- the target ------------------------------------------------------------------------------ */

static int table_compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t table_target_column(const data_table *t) {
    size_t column = 0;
    while (t->roles[column] >= TABLE_SKIP) column++;
    return column;
}

/* The names in t->texts, sorted. */
static int table_find_classes(const data_table *t, data_classes *out) {
    char **sorted = malloc((size_t)t->rows * sizeof *sorted);
    bool ok = sorted != NULL;
    if (ok) {
        memcpy(sorted, t->texts, (size_t)t->rows * sizeof *sorted);
        qsort(sorted, (size_t)t->rows, sizeof *sorted, table_compare);
    }
    for (int64_t i = 0; ok && i < t->rows; i++)
        if (!i || strcmp(sorted[i], sorted[i - 1])) ok = data_add_class(out, sorted[i]);
    free(sorted);
    return ok ? 0 : table_no_memory();
}

/* Texts become the numbers of their classes. */
static int table_classify(data_table *t, data_list *l) {
    const data_classes *known = t->how->classes;
    int code = 0;
    if (known) {
        for (size_t i = 0; i < known->n && !code; i++)
            if (!data_add_class(&l->classes, known->names[i])) code = table_no_memory();
    } else {
        code = table_find_classes(t, &l->classes);
    }
    for (int64_t row = 0; row < t->rows && !code; row++) {
        int64_t found = t->texts[row] ? data_find_class(&l->classes, t->texts[row]) : -1;
        t->numbers[row] = (double)found;
        if (found < 0)
            code = table_complain(t, row, table_target_column(t),
                                  "a class that the training data lack");
    }
    return code;
}

static int table_indices(const data_table *t, ctsc_value **out, ctsc_error *e) {
    if (ctsc_tensor_new(CTSC_INT64, 1, &t->rows, out, e) != CTSC_OK) return cli_report(e);
    int64_t *data = ctsc_tensor_data(*out);
    for (int64_t row = 0; row < t->rows; row++) {
        double x = t->numbers[row];
        if (x < 0 || x > 1e9 || x != floor(x))
            return table_complain(t, row, table_target_column(t),
                                  "the number of a class is a whole one, from 0 on");
        data[row] = (int64_t)x;
    }
    return 0;
}

static int table_values(const data_table *t, ctsc_value **out, ctsc_error *e) {
    int64_t sizes[] = {t->rows, (int64_t)t->ntargets};
    bool wide = ctsc_tensor_dtype(t->features) == CTSC_FLOAT64;
    if (ctsc_tensor_new(wide ? CTSC_FLOAT64 : CTSC_FLOAT32, 2, sizes, out, e) != CTSC_OK)
        return cli_report(e);
    for (int64_t i = 0; i < t->rows * sizes[1]; i++) {
        if (wide) ((double *)ctsc_tensor_data(*out))[i] = t->numbers[i];
        else ((float *)ctsc_tensor_data(*out))[i] = (float)t->numbers[i];
    }
    return 0;
}

int table_end(data_table *t, data_list *l, ctsc_error *e) {
    ctsc_value *target = NULL;
    int code = 0;
    if (l->target) return cli_complain(CTSC_USAGE, "%s: there is a target already", t->path);
    if (t->is_text || (t->how->classes && t->how->classes->n)) code = table_classify(t, l);
    if (!code)
        code = t->how->classifies ? table_indices(t, &target, e) : table_values(t, &target, e);
    if (code) return ctsc_value_free(target), code;
    l->target = target;
    l->chosen = true;
    ctsc_value *features = t->features;
    t->features = NULL;
    return data_put(l, t->path, "features", features);
}
