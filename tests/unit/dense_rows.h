/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_rows.h - operators with their arguments as text, their calls, and whether results agree,
 * for tests of what devices compute.
 *
 * Arguments are in the words of opcase.h with one more: a tensor with `?` in place of elements is
 * filled with numbers of a fixed sequence, with `?n` with integers from 0 to n - 1.
 */
#ifndef CTSC_TESTS_DENSE_ROWS_H
#define CTSC_TESTS_DENSE_ROWS_H

#include "opcase.h"

#include <math.h>

typedef struct dense_row { const char *op, *args; } dense_row;

/* ---- text ------------------------------------------------------------------------------------ */

/* The next of a fixed sequence, from 0 to 2^16 - 1. */
static unsigned dense_random(void) {
    static uint32_t state = 12345;
    state = state * 1664525u + 1013904223u;
    return state >> 16;
}

/* "f32[2,3]?" with numbers; at is just after "[". Copies sizes and the layout mark. */
static const char *dense_fill(const char *at, strbuf *out) {
    int64_t n = 1;
    const char *type = at - 2; /* in front of the bracket */
    while (*type >= '0' && *type <= '9') type--;
    for (; *at != ']'; at++) {
        sb_putc(out, *at);
        if (*at >= '0' && *at <= '9' && (at[-1] == '[' || at[-1] == ','))
            n *= strtoll(at, NULL, 10);
    }
    for (at++, sb_putc(out, ']'); *at == '^'; at++) sb_putc(out, '^');
    if (*at != '?') return at;
    char *end = (char *)at + 1;
    long limit = *end >= '0' && *end <= '9' ? strtol(end, &end, 10) : 0;
    sb_putc(out, '{');
    for (int64_t i = 0; i < n; i++) {
        if (limit) sb_printf(out, "%u", dense_random() % (unsigned)limit);
        else sb_printf(out, "%.4f", (double)dense_random() / 32768 - 1);
        if (*type == 'c') sb_printf(out, ":%.4f", (double)dense_random() / 32768 - 1);
        sb_putc(out, ' ');
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

/* ---- results --------------------------------------------------------------------------------- */

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
    int64_t parts = fa->numel * (dtype_is_complex(dt) ? 2 : 1);
    dt = dtype_part(dt);
    for (int64_t i = 0; near && i < parts; i++) {
        const char *p = (const char *)tensor_data(fa) + (size_t)i * dtype_size(dt),
                   *q = (const char *)tensor_data(fb) + (size_t)i * dtype_size(dt);
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

/* NULL: as close as the type allows; else the results, until the next call. */
static const char *dense_differ(const tensor *got, const tensor *want, const char *type) {
    static char why[400];
    strbuf sb = STRBUF_INIT;
    if (dense_near(got, want, dense_tolerance(type))) return NULL;
    opcase_print_tensor(got, &sb);
    sb_puts(&sb, " not ");
    opcase_print_tensor(want, &sb);
    snprintf(why, sizeof why, "%s", sb_str(&sb));
    sb_free(&sb);
    return why;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* fn: instead of the function that the arguments would get, or NULL. */
static ctsc_status dense_call(const op *o, op_fn fn, int n, const value *args, value *results,
                              diag *d) {
    value full[OPCASE_MAX_ARGS];
    runtime *rt = calloc(1, sizeof *rt);
    runtime_init(rt);
    op_ctx cx = {.diag = d, .op = o, .rt = rt};
    for (int i = 0; i < o->schema->nargs; i++)
        full[i] = i < n ? args[i] : o->schema->args[i].default_value;
    ctsc_status st = fn ? fn(&cx, full, results) : op_call(&cx, o->key, n, args, results);
    free(rt);
    return st;
}

#endif
