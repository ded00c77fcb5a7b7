/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formula.c - formulas of integers that depend on sizes.
 *
 * Method. Along one symbol: the shortest period p after which the values grow by a constant q gives
 * floor((a * s + b) / c) with c = p and a * m = q; b is tried. Floors within floors, as of layers
 * with strides one after the other, are one floor.
 * Tests: tests/cli/inspect_symbols.test
 */
#include "cli/show/formula.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct linear {
    int64_t m, a, b, c, d; /* m * floor((a * s + b) / c) + d; m 0: constant */
} linear;

static int64_t formula_gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a < 0 ? -a : a;
}

static int64_t formula_floor(int64_t x, int64_t c) { return x >= 0 ? x / c : -((-x + c - 1) / c); }

static int64_t linear_at(const linear *l, int64_t s) {
    return l->m * formula_floor(l->a * s + l->b, l->c) + l->d;
}

/* ---- along one symbol ------------------------------------------------------------------------ */

static bool linear_agrees(const linear *l, int n, const int64_t *sizes, const int64_t *v) {
    for (int i = 0; i < n; i++)
        if (linear_at(l, sizes[i]) != v[i]) return false;
    return true;
}

/* Samples whose distance in size is the first one's, from the start. */
static int linear_regular(int n, const int64_t *sizes) {
    int k = 2;
    while (k < n && sizes[k] - sizes[k - 1] == sizes[1] - sizes[0]) k++;
    return k < n ? k : n;
}

/* The period in samples, *grows the growth in it; 0: none is seen twice. */
static int linear_period(int n, const int64_t *v, int64_t *grows) {
    for (int p = 1; 2 * p < n; p++) {
        bool same = true;
        for (int i = p; same && i + 1 < n; i++) same = v[i + 1] - v[i + 1 - p] == v[p] - v[0];
        if (same) return *grows = v[p] - v[0], p;
    }
    return 0;
}

/* n samples, the first ones evenly spaced; all have to agree. */
static bool linear_fit(int n, const int64_t *sizes, const int64_t *v, linear *out) {
    int64_t grows = 0;
    if (n < 3) return false;
    int period = linear_period(linear_regular(n, sizes), v, &grows);
    if (!period) return false;
    int64_t c = period * (sizes[1] - sizes[0]), steps = grows < 0 ? -grows : grows;
    if (!grows) {
        *out = (linear){.c = 1, .d = v[0]};
        return linear_agrees(out, n, sizes, v);
    }
    for (int64_t m = 1; m <= steps; m++) {
        if (steps % m) continue;
        linear l = {.m = grows < 0 ? -m : m, .a = steps / m, .c = c};
        int64_t g = formula_gcd(l.a, l.c);
        l.a /= g, l.c /= g;
        for (l.b = 0; l.b < l.c; l.b++) {
            l.d = 0;
            l.d = v[0] - linear_at(&l, sizes[0]);
            if (linear_agrees(&l, n, sizes, v)) return *out = l, true;
        }
        if (m > 1 << 20) break;
    }
    return false;
}

/* ---- as text --------------------------------------------------------------------------------- */

static void formula_constant(char *to, size_t size, int64_t d) {
    if (d) snprintf(to, size, " %c %lld", d < 0 ? '-' : '+', (long long)(d < 0 ? -d : d));
    else *to = '\0';
}

/* With the constant drawn into the floor where it is a multiple of m. */
static void linear_print(linear l, const char *name, char text[FORMULA_TEXT]) {
    char inner[64], factor[32] = "", shift[32], tail[32];
    if (!l.m) {
        snprintf(text, FORMULA_TEXT, "%lld", (long long)l.d);
        return;
    }
    if (l.d % l.m == 0) l.b += l.d / l.m * l.c, l.d = 0;
    if (l.c == 1) { /* m * (a * s + b) + d */
        l.d += l.m * l.b, l.b = 0;
        l.m *= l.a, l.a = 1;
    }
    formula_constant(shift, sizeof shift, l.b);
    formula_constant(tail, sizeof tail, l.d);
    if (l.a == 1) snprintf(inner, sizeof inner, "%s%s", name, shift);
    else snprintf(inner, sizeof inner, "%lld*%s%s", (long long)l.a, name, shift);
    if (l.m != 1) snprintf(factor, sizeof factor, l.m == -1 ? "-" : "%lld*", (long long)l.m);
    if (l.c == 1) snprintf(text, FORMULA_TEXT, "%s%s%s", factor, inner, tail);
    else
        snprintf(text, FORMULA_TEXT,
                 l.b || l.a != 1 ? "%sfloor((%s)/%lld)%s" : "%sfloor(%s/%lld)%s", factor, inner,
                 (long long)l.c, tail);
}

/* Text as a factor: in parentheses where it is a sum. */
static void formula_factor(const char *text, char *out, size_t size) {
    int depth = 0;
    bool sum = false;
    for (const char *p = text; *p; p++) {
        depth += (*p == '(') - (*p == ')');
        sum |= !depth && (*p == '+' || *p == '-');
    }
    snprintf(out, size, sum ? "(%s)" : "%s", text);
}

/* ---- several symbols ------------------------------------------------------------------------- */

static int64_t formula_point(const formula_data *f, int tuple, unsigned mask) {
    return mask ? f->tuples[tuple][mask] : f->base;
}

/* The values along symbol i, divided by `by`, as a linear function that the tuples confirm. */
static bool formula_axis(const formula_data *f, int i, int64_t by, linear *out) {
    int64_t v[FORMULA_AXIS];
    for (int k = 0; k < f->naxis[i]; k++) {
        if (f->axis[i][k] % by) return false;
        v[k] = f->axis[i][k] / by;
    }
    if (!linear_fit(f->naxis[i], f->sizes[i], v, out)) return false;
    for (int t = 0; t < FORMULA_TUPLES; t++) {
        int64_t at = formula_point(f, t, 1u << i);
        if (at % by || linear_at(out, f->tuple_sizes[t][i]) != at / by) return false;
    }
    return true;
}

static bool formula_is_factor(const formula_data *f, unsigned mask, int i) {
    for (int t = 0; t < FORMULA_TUPLES; t++)
        if ((__int128)formula_point(f, t, mask) * f->base !=
            (__int128)formula_point(f, t, 1u << i) * formula_point(f, t, mask & ~(1u << i)))
            return false;
    return f->base != 0;
}

static bool formula_is_summand(const formula_data *f, unsigned mask, int i) {
    for (int t = 0; t < FORMULA_TUPLES; t++)
        if (formula_point(f, t, mask) + f->base !=
            formula_point(f, t, 1u << i) + formula_point(f, t, mask & ~(1u << i)))
            return false;
    return true;
}

static bool formula_of(const formula_data *f, unsigned mask, int64_t by, int64_t add,
                       char text[FORMULA_TEXT]);

/* symbol i's part times the rest */
static bool formula_product(const formula_data *f, unsigned mask, int i, int64_t by, char *text) {
    linear l;
    char one[FORMULA_TEXT], rest[FORMULA_TEXT], left[FORMULA_TEXT + 2], right[FORMULA_TEXT + 2];
    /* the base of what is left of the values along i without their content */
    int64_t own = f->base;
    for (int k = 0; k < f->naxis[i]; k++) own = formula_gcd(own, f->axis[i][k]);
    if (!own || !formula_axis(f, i, own, &l)) return false;
    int64_t at_base = f->base / own; /* l at its base: the rest is divided by it */
    if (!formula_of(f, mask & ~(1u << i), by * at_base, 0, rest)) return false;
    linear_print(l, f->names[i], one);
    formula_factor(one, left, sizeof left);
    formula_factor(rest, right, sizeof right);
    bool unit = !strcmp(rest, "1");
    return snprintf(text, FORMULA_TEXT, unit ? "%s" : "%s*%s", left, right) < FORMULA_TEXT;
}

/* symbol i's part and the rest, which has all constants */
static bool formula_sum(const formula_data *f, unsigned mask, int i, int64_t by, int64_t add,
                        char *text) {
    linear l;
    char one[FORMULA_TEXT], rest[FORMULA_TEXT];
    if (!formula_axis(f, i, by, &l) || f->base % by) return false;
    if (l.c == 1) l.d += l.m * l.b, l.b = 0;
    add += l.d - f->base / by, l.d = 0;
    if (!formula_of(f, mask & ~(1u << i), by, add, rest)) return false;
    linear_print(l, f->names[i], one);
    bool minus = *rest == '-';
    return snprintf(text, FORMULA_TEXT, minus ? "%s - %s" : "%s + %s", one, rest + minus) <
           FORMULA_TEXT;
}

/* A constant from a product of all: f - d is one. */
static bool formula_shifted(const formula_data *f, unsigned mask, int64_t by, int64_t add,
                            char *text) {
    static const int64_t shifts[] = {1, -1, 2, -2, 3, 4, 5};
    static _Thread_local bool inside;
    formula_data *g = inside ? NULL : malloc(sizeof *g);
    bool found = false;
    for (size_t s = 0; g && !found && s < sizeof shifts / sizeof *shifts; s++) {
        int64_t d = shifts[s] * by;
        char body[FORMULA_TEXT], tail[32];
        *g = *f;
        g->base -= d;
        for (int i = 0; i < f->n; i++)
            for (int k = 0; k < f->naxis[i]; k++) g->axis[i][k] -= d;
        for (int t = 0; t < FORMULA_TUPLES; t++)
            for (unsigned k = 0; k < 1u << f->n; k++) g->tuples[t][k] -= d;
        inside = true;
        found = formula_of(g, mask, by, 0, body);
        inside = false;
        formula_constant(tail, sizeof tail, shifts[s] + add);
        if (found) found = snprintf(text, FORMULA_TEXT, "%s%s", body, tail) < FORMULA_TEXT;
    }
    free(g);
    return found;
}

/* text followed by a constant */
static bool formula_add(int64_t add, char text[FORMULA_TEXT]) {
    size_t used = strlen(text);
    formula_constant(text + used, FORMULA_TEXT - used, add);
    return used + 24 < FORMULA_TEXT;
}

/* The value divided by `by`, and add, as a function of the symbols of mask. */
static bool formula_of(const formula_data *f, unsigned mask, int64_t by, int64_t add,
                       char text[FORMULA_TEXT]) {
    linear l;
    if (by == 0) return false;
    if (!mask) {
        snprintf(text, FORMULA_TEXT, "%lld", (long long)(f->base / by + add));
        return f->base % by == 0;
    }
    for (int i = 0; i < f->n; i++)
        if (mask == 1u << i) {
            if (!formula_axis(f, i, by, &l)) return false;
            l.d += add;
            linear_print(l, f->names[i], text);
            return true;
        }
    for (int i = 0; i < f->n; i++)
        if (mask >> i & 1 && formula_is_factor(f, mask, i) && formula_product(f, mask, i, by, text))
            return formula_add(add, text);
    for (int i = 0; i < f->n; i++)
        if (mask >> i & 1 && formula_is_summand(f, mask, i) &&
            formula_sum(f, mask, i, by, add, text))
            return true;
    return formula_shifted(f, mask, by, add, text);
}

/* The symbols that make a difference anywhere. */
static unsigned formula_symbols(const formula_data *f) {
    unsigned mask = 0;
    for (int i = 0; i < f->n; i++) {
        for (int k = 0; k < f->naxis[i]; k++)
            if (f->axis[i][k] != f->base) mask |= 1u << i;
        for (int t = 0; t < FORMULA_TUPLES; t++)
            for (unsigned m = 0; m < 1u << f->n; m++)
                if (formula_point(f, t, m | 1u << i) != formula_point(f, t, m & ~(1u << i)))
                    mask |= 1u << i;
    }
    return mask;
}

bool formula_fit(const formula_data *f, char text[FORMULA_TEXT]) {
    return formula_of(f, formula_symbols(f), 1, 0, text);
}
