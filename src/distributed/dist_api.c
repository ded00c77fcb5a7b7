/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dist_api.c - calls of ctsc_dist.h are checked here, before they run, and engines are found.
 */
#include "distributed/process_group.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int ctsc_dist_version(void) { return CTSC_DIST_VERSION; }

/* ---- engines --------------------------------------------------------------------------------- */

static const engine_interface *engine_gloo(char why[ENGINE_TEXT]) {
    static const char *const file = "libctsc-gloo.so"; /* beside this library, by its run path */
    union {
        void *object;
        const engine_interface *(*fn)(void);
    } entry;
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *text = dlerror();
        snprintf(why, ENGINE_TEXT, "no gloo: %.300s; %s", text,
                 strstr(text, "libgloo.so") ? "install Gloo (Debian: libgloo0)"
                                            : "make builds it where Gloo is (Debian: libgloo-dev)");
        return NULL;
    }
    entry.object = dlsym(handle, ENGINE_ENTRY);
    const engine_interface *found = entry.object ? entry.fn() : NULL;
    if (found && found->version == ENGINE_INTERFACE) return found;
    snprintf(why, ENGINE_TEXT, "%s belongs to another version of ctsc", file);
    return NULL;
}

/* A world of one process, which sends nothing. */
static engine *local_open(int *rank, int *size, const engine_store *store, int64_t timeout_ms,
                          char why[ENGINE_TEXT]) {
    static char nothing;
    (void)store, (void)timeout_ms;
    if (*rank == 0 && *size == 1) return (engine *)&nothing;
    snprintf(why, ENGINE_TEXT, "this engine is for one process");
    return NULL;
}
static void local_close(engine *e) { (void)e; }
static const engine_interface engine_local = {
    .version = ENGINE_INTERFACE, .name = "local", .open = local_open, .close = local_close};

const engine_interface *engine_find(const char *name, char why[ENGINE_TEXT]) {
    if (!strcmp(name, "local")) return &engine_local;
    if (!strcmp(name, "gloo")) return engine_gloo(why);
    if (!strcmp(name, "mpi")) return engine_mpi(why);
    snprintf(why, ENGINE_TEXT, "there is no engine '%.40s'", name);
    return NULL;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* How many tensors a call takes and gives on this rank: 0, 1, or the size of the group. */
static void call_wants(const ctsc_dist_group *g, const ctsc_dist_call *c, size_t *in, size_t *out) {
    size_t n = (size_t)g->size;
    bool root = g->rank == c->root;
    static const struct { char in, out; } wants[] = {
        [CTSC_DIST_ALL_REDUCE] = {'1', '1'},     [CTSC_DIST_REDUCE] = {'1', 'r'},
        [CTSC_DIST_BROADCAST] = {'r', '1'},      [CTSC_DIST_ALL_GATHER] = {'1', 'n'},
        [CTSC_DIST_GATHER] = {'1', 'N'},         [CTSC_DIST_SCATTER] = {'N', '1'},
        [CTSC_DIST_REDUCE_SCATTER] = {'n', '1'}, [CTSC_DIST_ALL_TO_ALL] = {'n', 'n'},
        [CTSC_DIST_BARRIER] = {'0', '0'},        [CTSC_DIST_SEND] = {'1', '0'},
        [CTSC_DIST_RECV] = {'0', '1'},
    };
    char kinds[2] = {wants[c->op].in, wants[c->op].out};
    size_t *counts[2] = {in, out};
    for (int i = 0; i < 2; i++)
        *counts[i] = kinds[i] == 'n' || (kinds[i] == 'N' && root)   ? n
                     : kinds[i] == '1' || (kinds[i] == 'r' && root) ? 1
                                                                    : 0;
}

static bool check_tensors(const ctsc_dist_tensor *t, size_t n, ctsc_dist_error *e) {
    for (size_t i = 0; i < n; i++) {
        if (!dist_dtype_bytes(t[i].dtype))
            dist_fail(e, CTSC_UNSUPPORTED, "there are no elements of dtype %d", t[i].dtype);
        else if (dist_count(&t[i]) < 0) dist_fail(e, CTSC_USAGE, "a tensor without a shape");
        else if (dist_count(&t[i]) && !t[i].data)
            dist_fail(e, CTSC_USAGE, "a tensor without memory");
        else if (t[i].dtype != t[0].dtype)
            dist_fail(e, CTSC_USAGE, "tensors of one call have different dtypes: %s and %s",
                      dist_dtype_name(t[0].dtype), dist_dtype_name(t[i].dtype));
        else continue;
        return false;
    }
    return true;
}

/* Elements of all tensors of a list, which are as many in each. */
static bool check_counts(const ctsc_dist_tensor *t, size_t n, int64_t count, ctsc_dist_error *e) {
    for (size_t i = 0; i < n; i++)
        if (dist_count(&t[i]) != count) {
            dist_fail(e, CTSC_USAGE, "tensor %zu has %lld elements, and %lld are expected", i,
                      (long long)dist_count(&t[i]), (long long)count);
            return false;
        }
    return true;
}

static bool check_sizes(const ctsc_dist_call *c, ctsc_dist_error *e) {
    const ctsc_dist_tensor *one = c->n_in == 1 ? c->in : c->out;
    if (c->op == CTSC_DIST_ALL_TO_ALL || c->op == CTSC_DIST_BARRIER || !(c->n_in + c->n_out))
        return true;
    int64_t count = dist_count(one);
    return check_counts(c->in, c->n_in, count, e) && check_counts(c->out, c->n_out, count, e);
}

static bool check_call(const ctsc_dist_group *g, const ctsc_dist_call *c, ctsc_dist_error *e) {
    size_t in, out;
    bool message = c->op == CTSC_DIST_SEND || c->op == CTSC_DIST_RECV;
    bool rooted = message || c->op == CTSC_DIST_REDUCE || c->op == CTSC_DIST_BROADCAST ||
                  c->op == CTSC_DIST_GATHER || c->op == CTSC_DIST_SCATTER;
    bool any = c->op == CTSC_DIST_RECV && c->root < 0;
    if ((unsigned)c->op > CTSC_DIST_RECV)
        return dist_fail(e, CTSC_USAGE, "there is no operation %d", (int)c->op), false;
    if (rooted && !any && (c->root < 0 || c->root >= g->size))
        return dist_fail(e, CTSC_USAGE, "invalid root rank: %d", c->root), false;
    if (message && c->root == g->rank)
        return dist_fail(e, CTSC_USAGE, "a rank sends nothing to itself"), false;
    call_wants(g, c, &in, &out);
    if (c->n_in < in || c->n_out < out)
        return dist_fail(e, CTSC_USAGE, "the call needs %zu tensors and %zu for results", in, out),
               false;
    if (!check_tensors(c->in, c->n_in, e) || !check_tensors(c->out, c->n_out, e)) return false;
    if (c->n_in && c->n_out && c->in[0].dtype != c->out[0].dtype)
        return dist_fail(e, CTSC_USAGE, "tensors of one call have different dtypes: %s and %s",
                         dist_dtype_name(c->in[0].dtype), dist_dtype_name(c->out[0].dtype)),
               false;
    bool folds = c->op == CTSC_DIST_ALL_REDUCE || c->op == CTSC_DIST_REDUCE ||
                 c->op == CTSC_DIST_REDUCE_SCATTER;
    return (!folds || dist_can_fold(c->in[0].dtype, c->reduce, e)) && check_sizes(c, e);
}

ctsc_status ctsc_dist_run(ctsc_dist_group *g, const ctsc_dist_call *call, ctsc_dist_work **work,
                          ctsc_dist_error *e) {
    ctsc_dist_call c = *call;
    ctsc_dist_error own = {CTSC_OK, ""};
    if (!check_call(g, &c, &own)) return dist_fail(e, own.status, "%s", own.message);
    call_wants(g, &c, &c.n_in, &c.n_out); /* what has no use on this rank is not looked at */
    return work ? dist_start(g, &c, work, e) : dist_finish(g, &c, e);
}
