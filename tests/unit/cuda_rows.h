/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_rows.h - operators on the simulated device (tests/cuda/sim) against the host's results, as rows of text.
 *
 * A row is an operator and its arguments, in the words of opcase.h with one more: a tensor with `?` in place of elements is filled with numbers of a
 * fixed sequence, with `?n` with integers from 0 to n - 1. f32 stands for the type that the row is run with. Results have to agree as closely as sums in
 * another order do.
 */
#ifndef CTSC_TESTS_CUDA_ROWS_H
#define CTSC_TESTS_CUDA_ROWS_H

#include "opcase.h"

#include "cuda_support.h"
#include "runtime/cuda/through_host.h"

#include <dlfcn.h>
#include <math.h>

typedef struct dense_row { const char *op, *args; } dense_row;

/* ---- text ---------------------------------------------------------------------------------------------- */

/* The next of a fixed sequence, from 0 to 2^16 - 1. */
static unsigned dense_random(void) {
    static uint32_t state = 12345;
    state = state * 1664525u + 1013904223u;
    return state >> 16;
}

/* "f32[2,3]?" with numbers; at stands behind "[". Copies sizes and the layout mark. */
static const char *dense_fill(const char *at, strbuf *out) {
    int64_t n = 1;
    for (; *at != ']'; at++) {
        sb_putc(out, *at);
        if (*at >= '0' && *at <= '9' && (at[-1] == '[' || at[-1] == ',')) n *= strtoll(at, NULL, 10);
    }
    for (at++, sb_putc(out, ']'); *at == '^'; at++) sb_putc(out, '^');
    if (*at != '?') return at;
    char *end = (char *)at + 1;
    long limit = *end >= '0' && *end <= '9' ? strtol(end, &end, 10) : 0;
    sb_putc(out, '{');
    for (int64_t i = 0; i < n; i++) {
        if (limit) sb_printf(out, "%u ", dense_random() % (unsigned)limit);
        else sb_printf(out, "%.4f ", (double)dense_random() / 32768 - 1);
    }
    sb_putc(out, '}');
    return end;
}

/* The arguments with all numbers, and with another type in place of f32. */
static void dense_expand(const char *args, const char *type, strbuf *out) {
    for (const char *at = args; *at;) {
        bool start = at == args || at[-1] == ' ' || at[-1] == '(';
        if (start && !strncmp(at, "f32[", 4)) {
            sb_printf(out, "%s[", type);
            at = dense_fill(at + 4, out);
            continue;
        }
        sb_putc(out, *at);
        bool tensor_of_others = *at == '[' && at > args && at[-1] != ' ';
        at++;
        if (tensor_of_others) at = dense_fill(at, out);
    }
}

/* ---- running --------------------------------------------------------------------------------------------- */

static double dense_tolerance(const char *type) {
    return !strcmp(type, "f16") ? 1e-2 : !strcmp(type, "bf16") ? 6e-2 : 2e-5;
}

static bool dense_near(const tensor *a, const tensor *b, double tolerance) {
    if (a->dtype != b->dtype || !tensor_same_shape(a, b)) return false;
    dtype dt = (dtype)a->dtype;
    tensor *fa, *fb;
    assert_int_equal(tensor_clone(NULL, a, &fa), CTSC_OK);
    assert_int_equal(tensor_clone(NULL, b, &fb), CTSC_OK);
    bool near = true;
    for (int64_t i = 0; near && i < fa->numel; i++) {
        const char *p = (const char *)tensor_data(fa) + (size_t)i * dtype_size(dt), *q = (const char *)tensor_data(fb) + (size_t)i * dtype_size(dt);
        if (!dtype_is_float(dt)) {
            near = !memcmp(p, q, dtype_size(dt));
            continue;
        }
        double x = dtype_load_float(dt, p), y = dtype_load_float(dt, q);
        near = x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= tolerance * (1 + fabs(y));
    }
    tensor_unref(fa);
    tensor_unref(fb);
    return near;
}

/* Reads the results back and compares. NULL: they agree. */
static const char *dense_compare(const op *o, const value *host, const value *device, double tolerance) {
    static char why[400];
    for (int i = 0; i < o->schema->nreturns; i++) {
        if (host[i].tag != device[i].tag) return "another kind of result";
        if (host[i].tag != V_TENSOR) continue;
        tensor *here;
        diag d = {0};
        if (tensor_device(device[i].u.tensor) == DEVICE_HOST) return "a result on the host";
        if (tensor_to_device(&d, device[i].u.tensor, DEVICE_HOST, &here) != CTSC_OK) {
            snprintf(why, sizeof why, "%s", diag_message(&d));
            diag_clear(&d);
            return why;
        }
        bool near = dense_near(here, host[i].u.tensor, tolerance);
        strbuf sb = STRBUF_INIT;
        if (!near) {
            opcase_print_tensor(here, &sb);
            sb_puts(&sb, " not ");
            opcase_print_tensor(host[i].u.tensor, &sb);
        }
        snprintf(why, sizeof why, "result %d: %s", i, sb_str(&sb));
        sb_free(&sb);
        tensor_unref(here);
        if (!near) return why;
    }
    return NULL;
}

static ctsc_status dense_call(const op *o, int n, const value *args, value *results, diag *d) {
    runtime *rt = calloc(1, sizeof *rt);
    runtime_init(rt);
    op_ctx cx = {.diag = d, .op = o, .rt = rt};
    ctsc_status st = op_call(&cx, o->key, n, args, results);
    free(rt);
    return st;
}

/* 0: the row agrees with the host. */
static int dense_run(const dense_row *row, const char *type) {
    value args[OPCASE_MAX_ARGS], there[OPCASE_MAX_ARGS], host[OPCASE_MAX_RESULTS] = {value_none()}, device[OPCASE_MAX_RESULTS] = {value_none()};
    diag d = {0};
    strbuf text = STRBUF_INIT;
    const op *o = op_find(row->op);
    int n = 0, failed = 0;
    assert_non_null(o);
    dense_expand(row->args, type, &text);
    const char *at = sb_str(&text);
    for (opcase_space(&at); *at; opcase_space(&at)) args[n++] = opcase_value(&at);
    if (dense_call(o, n, args, host, &d) == CTSC_OK) { /* not all of them take half */
        const char *why = NULL;
        if (through_host_move(&d, n, args, 1, there) != CTSC_OK || dense_call(o, n, there, device, &d) != CTSC_OK) why = diag_message(&d);
        else why = dense_compare(o, host, device, dense_tolerance(type));
        if (why) {
            print_error("%s %s (%s): %s\n", row->op, row->args, type, why);
            failed = 1;
        }
        for (int i = 0; i < n; i++) value_unref(there[i]);
    }
    if (!strcmp(type, "f32") && host[0].tag == V_NONE) print_error("%s %s: the host says %s\n", row->op, row->args, diag_message(&d)), failed = 1;
    for (int i = 0; i < OPCASE_MAX_RESULTS; i++) value_unref(host[i]), value_unref(device[i]);
    for (int i = 0; i < n; i++) value_unref(args[i]);
    sb_free(&text);
    diag_clear(&d);
    return failed;
}

/* ---- the simulated libraries -------------------------------------------------------------------------------- */

/* How often one of them did something (tests/cuda/sim/library.h); kernels of ctsc's own that were launched. */
static inline long long sim_count_of(const char *what) {
    void *library = dlopen(sim_file(), RTLD_NOW | RTLD_LOCAL);
    long long (*ask)(const char *) = library ? (long long (*)(const char *))dlsym(library, "sim_counted") : NULL;
    CHILD_CHECK(ask != NULL);
    return ask(what);
}

static inline int64_t sim_launches(void) {
    cuda *c;
    CHILD_CHECK(cuda_open(NULL, 0, &c) == CTSC_OK);
    return cuda_get_program_stats(c).launches;
}

#endif
