/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_data.c - the data of ctsc train: files and folders as tensors with a row per example.
 *
 * Which reader a file gets follows from its beginning, or from the ending of its name for text,
 * which has none. What readers give is put together here: the target is last, the others are the
 * arguments of forward.
 * Tests: tests/cli/train.test, tests/cli/train-data.test
 */
#include "cli/train/train_data.h"
#include "cli/inputs.h"
#include "cli/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- classes --------------------------------------------------------------------------------- */

void data_free_classes(data_classes *c) {
    for (size_t i = 0; i < c->n; i++) free(c->names[i]);
    free(c->names);
    *c = (data_classes){0};
}

bool data_add_class(data_classes *c, const char *name) {
    if (!(c->n & (c->n + 1))) { /* 0, 1, 3, 7, ...: room for as many again */
        char **more = realloc(c->names, (2 * c->n + 2) * sizeof *more);
        if (!more) return false;
        c->names = more;
    }
    c->n += (c->names[c->n] = strdup(name)) != NULL;
    return c->n && c->names[c->n - 1] && !strcmp(c->names[c->n - 1], name);
}

int64_t data_find_class(const data_classes *c, const char *name) {
    size_t low = 0, high = c->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(c->names[middle], name);
        if (!order) return (int64_t)middle;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return -1;
}

/* ---- tensors by name ------------------------------------------------------------------------- */

int data_put(data_list *l, const char *path, const char *name, ctsc_value *v) {
    char *copy = v && l->n < DATA_MAX ? strdup(name) : NULL;
    if (copy) {
        l->items[l->n++] = (data_item){copy, v};
        return 0;
    }
    bool full = v && l->n == DATA_MAX;
    ctsc_value_free(v);
    return full ? cli_complain(CTSC_USAGE, "%s: too many tensors", path)
                : cli_complain(CTSC_LIMIT, "out of memory");
}

void data_free(data_list *l) {
    for (size_t i = 0; i < l->n; i++) {
        free(l->items[i].name);
        ctsc_value_free(l->items[i].value);
    }
    ctsc_value_free(l->target);
    data_free_classes(&l->classes);
    *l = (data_list){.n = 0};
}

/* Adds the tensors of v, which is taken. */
static int data_add(data_list *l, const char *file, const char *name, ctsc_value *v) {
    int code = 0;
    if (!v) return cli_complain(CTSC_LIMIT, "out of memory");
    ctsc_kind kind = ctsc_value_kind(v);
    if (kind == CTSC_KIND_TENSOR) return data_put(l, file, name, v);
    if (kind == CTSC_KIND_TUPLE || kind == CTSC_KIND_LIST || kind == CTSC_KIND_DICT) {
        for (size_t i = 0; i < ctsc_value_len(v) && !code; i++) {
            ctsc_value *key = kind == CTSC_KIND_DICT ? ctsc_value_key(v, i) : NULL;
            code = data_add(l, file, key ? ctsc_value_string(key, NULL) : "",
                            ctsc_value_item(v, i));
            ctsc_value_free(key);
        }
    } else {
        code = cli_complain(CTSC_USAGE, "%s holds something else than tensors", file);
    }
    ctsc_value_free(v);
    return code;
}

/* ---- readers --------------------------------------------------------------------------------- */

/* .npz, .npy, what torch.save wrote */
static int data_read_values(const char *path, const data_reading *how, data_list *l,
                            ctsc_error *e) {
    ctsc_value *v = NULL;
    (void)how;
    if (ctsc_value_load(path, &v, e) != CTSC_OK) return cli_report_file(e, path);
    return data_add(l, path, "", v);
}

static int data_read_safetensors(const char *path, const data_reading *how, data_list *l,
                                 ctsc_error *e) {
    ctsc_safetensors *f = NULL;
    (void)how;
    if (ctsc_safetensors_open(path, &f, e) != CTSC_OK) return cli_report(e);
    int code = 0;
    for (size_t i = 0; !code && i < ctsc_safetensors_count(f); i++) {
        ctsc_value *v = NULL;
        if (ctsc_safetensors_tensor(f, i, &v, e) != CTSC_OK) code = cli_report(e);
        else code = data_put(l, path, ctsc_safetensors_name(f, i), v);
    }
    ctsc_safetensors_free(f);
    return code;
}

static int data_read_hdf5_apart(const char *path, const data_reading *how, data_list *l,
                                ctsc_error *e) {
    return data_read_apart(data_read_hdf5, path, how, l, e);
}

static int data_read_parquet_apart(const char *path, const data_reading *how, data_list *l,
                                   ctsc_error *e) {
    return data_read_apart(data_read_parquet, path, how, l, e);
}

/* A beginning, or else an ending, counts. */
static const struct { const char *begin, *ending; data_reader *read; } data_readers[] = {
    {"\x89HDF\r\n\x1a\n", NULL, data_read_hdf5_apart},
    {"PAR1", NULL, data_read_parquet_apart},
    {NULL, ".parquet", data_read_parquet_apart},
    {NULL, ".h5", data_read_hdf5_apart},
    {NULL, ".hdf5", data_read_hdf5_apart},
    {NULL, ".safetensors", data_read_safetensors},
    {NULL, ".csv", data_read_csv},
    {NULL, ".tsv", data_read_csv},
};

static data_reader *data_reader_of(const char *path) {
    char head[8] = "";
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(head, 1, sizeof head, f) : 0, len = strlen(path);
    if (f) fclose(f);
    for (size_t i = 0; i < sizeof data_readers / sizeof *data_readers; i++) {
        const char *begin = data_readers[i].begin, *ending = data_readers[i].ending;
        if (begin && n >= strlen(begin) && !memcmp(head, begin, strlen(begin)))
            return data_readers[i].read;
        if (ending && len > strlen(ending) && !strcasecmp(path + len - strlen(ending), ending))
            return data_readers[i].read;
    }
    return data_read_values;
}

/* "data.csv", "animals:resize=64" */
static int data_read_spec(const char *spec, const data_reading *how, data_list *l, ctsc_error *e) {
    struct stat st;
    const char *options = "";
    char *path = inputs_path(spec, &options);
    if (!path) return cli_cannot_open(spec, ENOENT);
    int code;
    progress_say("%s: reading", path);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        code = data_read_folder(path, options, how, l, e);
    else if (*options)
        code = cli_complain(CTSC_USAGE, "%s: '%s' is for folders of images", path, options);
    else code = data_reader_of(path)(path, how, l, e);
    free(path);
    return code;
}

/* ---- choosing -------------------------------------------------------------------------------- */

static int data_no_such(const data_list *l, const char *option, const char *name, size_t len) {
    char names[400] = "";
    size_t used = 0;
    for (size_t i = 0; i < l->n && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 l->items[i].name);
    return cli_complain(CTSC_USAGE, "--%s: there is no tensor '%.*s'%s%s", option, (int)len, name,
                        l->n ? ", but " : "", names);
}

/* The tensor of this name; l->n: none. */
static size_t data_named(const data_list *l, const char *name, size_t len) {
    size_t i = 0;
    while (i < l->n && (strlen(l->items[i].name) != len || strncmp(l->items[i].name, name, len)))
        i++;
    return i;
}

/* Takes tensor i out of the list. */
static ctsc_value *data_take(data_list *l, size_t i) {
    ctsc_value *v = l->items[i].value;
    free(l->items[i].name);
    memmove(&l->items[i], &l->items[i + 1], (--l->n - i) * sizeof l->items[0]);
    return v;
}

static int data_choose_target(data_list *l, const data_reading *how, const char *file) {
    size_t at = l->n;
    if (l->target || l->n < 2) return 0;
    if (how->target) {
        at = data_named(l, how->target, strlen(how->target));
        if (at == l->n) return data_no_such(l, "target", how->target, strlen(how->target));
    }
    for (size_t i = 0; i < l->n && !how->target; i++) {
        if (!cli_is_target(l->items[i].name)) continue;
        if (at < l->n)
            return cli_complain(CTSC_USAGE, "%s: too many targets: --target says which", file);
        at = i;
    }
    l->target = data_take(l, at < l->n ? at : l->n - 1);
    return 0;
}

static int data_choose_features(data_list *l, const data_reading *how) {
    data_list chosen = {.n = 0};
    int code = 0;
    for (const char *p = how->features; !code && *p;) {
        size_t len = strcspn(p, ","), at = data_named(l, p, len);
        if (at == l->n) code = data_no_such(l, "features", p, len);
        else chosen.items[chosen.n++] = l->items[at], l->items[at] = l->items[--l->n];
        p += len + (p[len] == ',');
    }
    for (size_t i = 0; i < l->n; i++) {
        free(l->items[i].name);
        ctsc_value_free(l->items[i].value);
    }
    memcpy(l->items, chosen.items, sizeof l->items);
    l->n = chosen.n;
    return code;
}

/* Replaces *v by itself as another type; all: also of other kinds than integers. */
static int data_convert(ctsc_value **v, ctsc_dtype dtype, bool all, ctsc_error *e) {
    const ctsc_dtype_info *have = ctsc_dtype_describe(ctsc_tensor_dtype(*v));
    if (have->dtype == dtype || (!all && have->kind > CTSC_DTYPE_SIGNED)) return 0;
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *made = s ? ctsc_to(s, *v, dtype) : NULL,
               *kept = made ? ctsc_value_copy(made) : NULL;
    int code = kept ? 0
               : s && ctsc_scope_status(s) != CTSC_OK
                   ? (ctsc_error_set(e, ctsc_scope_status(s), "%s",
                                     ctsc_error_message(ctsc_scope_error(s))),
                      cli_report(e))
                   : cli_complain(CTSC_LIMIT, "out of memory");
    ctsc_scope_free(s);
    if (code) return code;
    ctsc_value_free(*v);
    *v = kept;
    return 0;
}

/* All have a row per example. */
static int data_compare_rows(const data_list *l, const char *file) {
    int64_t rows = ctsc_tensor_ndim(l->target) ? ctsc_tensor_sizes(l->target)[0] : -1;
    for (size_t i = 0; i < l->n; i++) {
        const data_item *item = &l->items[i];
        int64_t n = ctsc_tensor_ndim(item->value) ? ctsc_tensor_sizes(item->value)[0] : -1;
        if (n >= 0 && rows >= 0 && n != rows)
            return cli_complain(CTSC_USAGE, "%s: the input%s%s has %lld rows, the target %lld",
                                file, *item->name ? " " : "", item->name, (long long)n,
                                (long long)rows);
    }
    return 0;
}

static int data_finish(data_list *l, const data_reading *how, const char *file, ctsc_error *e) {
    int code = 0;
    if (!l->chosen) code = data_choose_target(l, how, file);
    if (!code && how->features && !l->chosen) code = data_choose_features(l, how);
    if (!code && !l->target && l->n > 1) l->target = data_take(l, l->n - 1);
    if (!code && (!l->target || !l->n))
        code = cli_complain(CTSC_USAGE,
                            "%s: at least two tensors are needed, an input and a target", file);
    if (!code) code = data_compare_rows(l, file);
    for (size_t i = 0; how->dtype && !l->images && !code && i < l->n; i++)
        code = data_convert(&l->items[i].value, how->dtype->dtype, true, e);
    /* numbers of classes are of this type, whatever files keep them in */
    if (!code && how->classifies) code = data_convert(&l->target, CTSC_INT64, false, e);
    return code;
}

int train_read_data(const char *const *files, size_t n, const data_reading *how, train_data *out,
                    ctsc_error *e) {
    data_list l = {.n = 0};
    ctsc_value *all[DATA_MAX + 1];
    int code = 0;
    for (size_t i = 0; i < n && !code; i++) code = data_read_spec(files[i], how, &l, e);
    if (!code) code = data_finish(&l, how, files[0], e);
    for (size_t i = 0; i < l.n; i++) all[i] = l.items[i].value;
    all[l.n] = l.target;
    if (!code && !(out->tensors = ctsc_tuple_new(l.n + 1, all)))
        code = cli_complain(CTSC_LIMIT, "out of memory");
    if (!code) {
        out->images = l.images;
        out->classes = l.classes;
        l.classes = (data_classes){0};
    }
    data_free(&l);
    return code;
}

void train_free_data(train_data *d) {
    ctsc_value_free(d->tensors);
    data_free_classes(&d->classes);
    *d = (train_data){0};
}
