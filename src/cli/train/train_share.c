/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_share.c - processes that train together (train_share.h), by libctsc-dist.so, which is
 * opened here: beside the command, in ../lib, or where the loader looks.
 */
#include "cli/train/train_share.h"

#include "cli/train/train_data.h"
#include "ctsc_dist.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHARE_MS = 30 * 60 * 1000, SHARE_PATH = 4096, SHARE_PARTS = 64 };

struct train_share {
    int rank, size;
    ctsc_dist_store *store;
    ctsc_dist_group *group;
    union {
        void *functions[6];
        struct {
            ctsc_status (*init)(int64_t, const char *, ctsc_dist_store **, ctsc_dist_group **,
                                ctsc_dist_error *);
            int (*rank)(const ctsc_dist_group *);
            int (*size)(const ctsc_dist_group *);
            ctsc_status (*run)(ctsc_dist_group *, const ctsc_dist_call *, ctsc_dist_work **,
                               ctsc_dist_error *);
            void (*free)(ctsc_dist_group *);
            void (*free_store)(ctsc_dist_store *);
        } f;
    } in;
};

static bool share_open(train_share *s) {
    static const char *const names[] = {"ctsc_dist_init_launched", "ctsc_dist_rank",
                                        "ctsc_dist_size",          "ctsc_dist_run",
                                        "ctsc_dist_group_free",    "ctsc_dist_store_free"};
    static const char *const places[] = {"", "../lib/", "../lib64/"};
    char self[SHARE_PATH / 2], path[SHARE_PATH];
    const char *given = getenv("CTSC_DIST"), *files[] = {given, NULL};
    if (given && *given) return data_open_library(files, 6, names, s->in.functions);
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    files[0] = path;
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%.*s%slibctsc-dist.so", (int)(slash + 1 - self), self,
                 places[i]);
        if (data_open_library(files, 6, names, s->in.functions)) return true;
    }
    files[0] = "libctsc-dist.so";
    return data_open_library(files, 6, names, s->in.functions);
}

int share_begin(train_share **out) {
    ctsc_dist_error e = {0};
    train_share *s = calloc(1, sizeof *s);
    if (!s) return cli_complain(CTSC_LIMIT, "out of memory");
    ctsc_status st = CTSC_ENVIRONMENT;
    if (!share_open(s)) snprintf(e.message, sizeof e.message, "libctsc-dist.so cannot be opened");
    else st = s->in.f.init(SHARE_MS, "0", &s->store, &s->group, &e);
    if (st == CTSC_OK && !s->group) {
        st = CTSC_USAGE;
        snprintf(e.message, sizeof e.message,
                 "no launcher started this process: ctsc launch --no-python -n 2 ctsc train ..., "
                 "mpirun or srun does");
    }
    if (st != CTSC_OK) {
        free(s);
        return cli_complain(st, "--distributed: %s", e.message);
    }
    s->rank = s->in.f.rank(s->group);
    s->size = s->in.f.size(s->group);
    *out = s;
    return 0;
}

void share_end(train_share *s) {
    if (!s) return;
    s->in.f.free(s->group);
    s->in.f.free_store(s->store);
    free(s);
}

int share_rank(const train_share *s) { return s ? s->rank : 0; }

ctsc_status share_batch(const train_share *s, ctsc_scope *scope, ctsc_value **batch, double *part,
                        ctsc_error *e) {
    ctsc_value *items[SHARE_PARTS + 1], *made;
    size_t n = ctsc_value_len(*batch);
    *part = 1;
    if (!s || s->size == 1) return CTSC_OK;
    ctsc_value *first = ctsc_item(scope, *batch, 0);
    int64_t rows = first ? ctsc_tensor_sizes(first)[0] : 0;
    int64_t from = rows * s->rank / s->size, count = rows * (s->rank + 1) / s->size - from;
    *part = (double)count / (double)rows;
    if (!count) from = 0;
    for (size_t i = 0; i < n && i < SHARE_PARTS; i++)
        items[i] = ctsc_narrow(scope, ctsc_item(scope, *batch, i), 0, from, count ? count : 1);
    if (ctsc_scope_status(scope) != CTSC_OK)
        return ctsc_error_set(e, ctsc_scope_status(scope), "%s",
                              ctsc_error_message(ctsc_scope_error(scope)));
    if (!(made = ctsc_tuple_new(n, items))) return ctsc_error_set(e, CTSC_LIMIT, "out of memory");
    ctsc_value_free(*batch);
    *batch = made;
    return CTSC_OK;
}

static ctsc_status share_sum(const train_share *s, const ctsc_dist_tensor *t, ctsc_error *e) {
    ctsc_dist_error why = {0};
    ctsc_dist_call call = {CTSC_DIST_ALL_REDUCE, CTSC_DIST_SUM, 0, 0, -1, 1, 1, t, t};
    ctsc_status st = s->in.f.run(s->group, &call, NULL, &why);
    return st == CTSC_OK ? CTSC_OK : ctsc_error_set(e, st, "%s", why.message);
}

ctsc_status share_numbers(const train_share *s, double *numbers, size_t n, ctsc_error *e) {
    int64_t count = (int64_t)n;
    ctsc_dist_tensor t = {numbers, CTSC_FLOAT64, 1, &count, NULL};
    return s ? share_sum(s, &t, e) : CTSC_OK;
}

ctsc_status share_gradients(const train_share *s, const ctsc_value *params, ctsc_error *e) {
    ctsc_status st = CTSC_OK;
    for (size_t i = 0; s && i < ctsc_value_len(params) && st == CTSC_OK; i++) {
        ctsc_value *p = ctsc_value_item(params, i), *grad = p ? ctsc_value_grad(p) : NULL;
        if (grad) {
            ctsc_dist_tensor t = {ctsc_tensor_data(grad), (int)ctsc_tensor_dtype(grad),
                                  ctsc_tensor_ndim(grad), ctsc_tensor_sizes(grad),
                                  ctsc_tensor_strides(grad)};
            st = share_sum(s, &t, e);
        }
        ctsc_value_free(grad);
        ctsc_value_free(p);
    }
    return st;
}
