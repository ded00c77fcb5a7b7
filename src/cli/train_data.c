/* SPDX-License-Identifier: Apache-2.0 */
/* train_data.c - what ctsc train learns from: the tensors of files. Tests: tests/cli/train.test */
#include "cli/cli_train.h"

#include <stdlib.h>
#include <string.h>

enum { DATA_MAX = 64 };

typedef struct data_list {
    ctsc_value *items[DATA_MAX];
    size_t n;
    ctsc_value *target; /* one whose name says so */
} data_list;

static bool data_is_target(const char *name) {
    static const char *const names[] = {"y", "target", "targets", "label", "labels"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

/* Adds the tensors of v, which is taken. */
static int data_add(data_list *l, const char *file, const char *name, ctsc_value *v) {
    int code = 0;
    if (!v) return cli_complain(CTSC_LIMIT, "out of memory");
    ctsc_kind kind = ctsc_value_kind(v);
    if (kind == CTSC_KIND_TENSOR) {
        if (l->n == DATA_MAX || (l->target && data_is_target(name)))
            code = cli_complain(CTSC_USAGE, "%s: too many tensors, or targets", file);
        else if (data_is_target(name)) l->target = v;
        else l->items[l->n++] = v;
        if (!code) return 0;
    } else if (kind == CTSC_KIND_TUPLE || kind == CTSC_KIND_LIST || kind == CTSC_KIND_DICT) {
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

int train_read_data(const char *const *files, size_t n, ctsc_value **out, ctsc_error *e) {
    data_list l = {.n = 0};
    int code = 0;
    for (size_t i = 0; i < n && !code; i++) {
        ctsc_value *v = NULL;
        if (ctsc_value_load(files[i], &v, e) != CTSC_OK) code = cli_report(e);
        else code = data_add(&l, files[i], "", v);
    }
    if (l.target && l.n < DATA_MAX) l.items[l.n++] = l.target, l.target = NULL;
    if (!code && l.n < 2)
        code = cli_complain(CTSC_USAGE,
                            "%s: at least two tensors are needed, an input and a target", files[0]);
    if (!code && !(*out = ctsc_tuple_new(l.n, l.items)))
        code = cli_complain(CTSC_LIMIT, "out of memory");
    for (size_t i = 0; i < l.n; i++) ctsc_value_free(l.items[i]);
    ctsc_value_free(l.target);
    return code;
}
