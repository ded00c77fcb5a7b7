/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_rows.c - rows of names: making, finding, matching, showing them.
 * Tests: tests/unit/test_names.c
 */
#include "runtime/names/names.h"

#include <string.h>

bool names_equal(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

names_row names_of(const tensor *t) {
    names_row r = {.n = t->ndim};
    for (int i = 0; i < r.n; i++) r.of[i] = tensor_dim_name(t, i);
    return r;
}

/* ---- showing --------------------------------------------------------------------------------- */

void names_print_one(const char *name, strbuf *out) {
    if (name) sb_printf(out, "'%s'", name);
    else sb_puts(out, "None");
}

void names_print(const names_row *names, strbuf *out) {
    sb_putc(out, '[');
    for (int i = 0; i < names->n; i++) {
        if (i) sb_puts(out, ", ");
        names_print_one(names->of[i], out);
    }
    sb_putc(out, ']');
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool names_is_letter(char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool names_is_identifier(const char *name) {
    if (!names_is_letter(*name)) return false;
    for (const char *p = name; *p; p++)
        if (!names_is_letter(*p) && (*p < '0' || *p > '9')) return false;
    return true;
}

static bool names_have_duplicates(const names_row *names) {
    for (int i = 0; i < names->n; i++)
        for (int k = i + 1; k < names->n; k++)
            if (names->of[i] && names_equal(names->of[i], names->of[k])) return true;
    return false;
}

ctsc_status names_check(diag *d, const names_row *names, int ndim) {
    strbuf sb = STRBUF_INIT;
    for (int i = 0; i < names->n; i++)
        if (names->of[i] && !names_is_identifier(names->of[i]))
            return diag_fail(
                d, CTSC_FAILED,
                "Invalid name: a valid identifier contains only digits, alphabetical "
                "characters, and/or underscore and starts with a non-digit. got: '%s'.",
                names->of[i]);
    bool number = names->n != ndim, twice = !number && names_have_duplicates(names);
    if (!number && !twice) return CTSC_OK;
    names_print(names, &sb);
    ctsc_status s =
        twice ? diag_fail(d, CTSC_FAILED,
                          "Cannot construct a tensor with duplicate names. Got names: %s.",
                          sb_str(&sb))
              : diag_fail(d, CTSC_FAILED,
                          "Number of names (%d) and number of dimensions in tensor (%d) do not "
                          "match. Attempted to create a tensor with names %s",
                          names->n, ndim, sb_str(&sb));
    sb_free(&sb);
    return s;
}

/* NULL: out of memory. */
static dim_names *names_make(const names_row *names) {
    size_t bytes = sizeof(dim_names) + (size_t)names->n * sizeof(char *), text = 0;
    for (int i = 0; i < names->n; i++) text += names->of[i] ? strlen(names->of[i]) + 1 : 0;
    dim_names *made = mem_alloc(bytes + text);
    if (!made) return NULL;
    atomic_init(&made->refs, 1);
    made->n = names->n;
    char *p = (char *)made + bytes;
    for (int i = 0; i < names->n; i++) {
        made->of[i] = names->of[i] ? p : NULL;
        if (names->of[i]) p = stpcpy(p, names->of[i]) + 1;
    }
    return made;
}

ctsc_status tensor_set_names(diag *d, tensor *t, const names_row *names) {
    bool any = false;
    TRY(names_check(d, names, t->ndim));
    for (int i = 0; i < names->n; i++) any |= names->of[i] != NULL;
    dim_names *made = any ? names_make(names) : NULL;
    if (any && !made) return diag_no_memory(d);
    if (any) tensor_note_kind(TENSOR_KIND_NAMED);
    tensor_drop_names(t);
    t->names = made;
    return CTSC_OK;
}

/* ---- finding and matching -------------------------------------------------------------------- */

ctsc_status names_find(diag *d, const tensor *t, const char *name, int *out) {
    for (int i = 0; i < t->ndim; i++)
        if (tensor_dim_name(t, i) && names_equal(name, tensor_dim_name(t, i)))
            return *out = i, CTSC_OK;
    strbuf sb = STRBUF_INIT;
    names_row have = names_of(t);
    names_print(&have, &sb);
    ctsc_status s = diag_fail(d, CTSC_FAILED, "Name '%s' not found in Tensor%s.", name,
                              sb_str(&sb));
    sb_free(&sb);
    return s;
}

static ctsc_status names_refuse_pair(diag *d, const names_row *a, const names_row *b, const char *x,
                                     const char *y, const char *action) {
    strbuf sa = STRBUF_INIT, sb = STRBUF_INIT;
    names_print(a, &sa);
    names_print(b, &sb);
    ctsc_status s =
        y ? diag_fail(d, CTSC_FAILED,
                      "Error when attempting to %s dims %s and dims %s: dim '%s' and dim '%s' are "
                      "at the same position from the right but do not match.",
                      action, sb_str(&sa), sb_str(&sb), x, y)
          : diag_fail(d, CTSC_FAILED,
                      "Misaligned dims when attempting to %s dims %s and dims %s: dim '%s' appears "
                      "in a different position from the right across both lists.",
                      action, sb_str(&sa), sb_str(&sb), x);
    sb_free(&sa);
    sb_free(&sb);
    return s;
}

/* Has row a name that stands alone at its place in the other one? */
static bool names_are_misaligned(const char *name, const names_row *other) {
    for (int i = 0; name && i < other->n; i++)
        if (other->of[i] && names_equal(name, other->of[i])) return true;
    return false;
}

ctsc_status names_unify(diag *d, names_row *a, const names_row *b, const char *action) {
    names_row out = {.n = a->n > b->n ? a->n : b->n};
    for (int k = 1; k <= out.n; k++) {
        const char *x = k <= a->n ? a->of[a->n - k] : NULL, *y = k <= b->n ? b->of[b->n - k] : NULL;
        if (x && y && !names_equal(x, y)) return names_refuse_pair(d, a, b, x, y, action);
        if (!x || !y) {
            if (names_are_misaligned(x, b)) return names_refuse_pair(d, a, b, x, NULL, action);
            if (names_are_misaligned(y, a)) return names_refuse_pair(d, b, a, y, NULL, action);
        }
        out.of[out.n - k] = x ? x : y;
    }
    *a = out;
    return CTSC_OK;
}
