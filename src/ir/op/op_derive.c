/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_derive.c - which overloads follow from another one, so that no table names them.
 *
 *     aten::mul_.Tensor(Tensor(a!) self, Tensor other)                    in place: mul.Tensor, written into self
 *     aten::mul.out(Tensor self, Tensor other, *, Tensor(a!) out)         out=: mul.Tensor, written into out
 *     aten::multiply.Tensor(Tensor self, Tensor other)                    another name: mul.Tensor
 *     aten::diagonal_copy(Tensor self, int offset=0, ...)                 a copy of what diagonal returns
 *     aten::sum.dim_DimnameList(Tensor self, str[1] dim, ...)             dims by name: sum.dim_IntList
 *     aten::zeros.names(int[] size, *, str[]? names, ...)                 a result with names: zeros
 *
 * Method. Schemas are compared as text, by the types of their arguments: no schema has to be parsed
 * to look for a base. The base is found among the overloads of the same name, or of the name
 * without `_` or `_copy`, or of the name that it is an alias of. A derived overload's base may
 * be derived itself (multiply_ -> mul_ -> mul).
 * Tests: tests/unit/test_ops.c
 */
#include "ir/op/op_derive.h"

#include "base/sorted.h"

#include <stdio.h>
#include <string.h>

enum { DERIVE_SIGNATURE = 512, DERIVE_NAME = 96 };

static const struct { const char *name, *base; } derive_names[] = {
#define ALIAS(name, of) {name, of},
#define ALIAS_COMPUTED(name, of) {name, of},
#define ALIAS_SHOWN(name, of)
#include "ir/ops/aliases.def"
#undef ALIAS
#undef ALIAS_COMPUTED
#undef ALIAS_SHOWN
};

/* ---- text of schemas ------------------------------------------------------------------------- */

static bool derive_writes(const char *begin, const char *end) {
    return memchr(begin, '!', (size_t)(end - begin)) != NULL;
}

/* The end of the argument that starts at p: its comma, or the list's parenthesis. */
static const char *derive_argument_end(const char *p, const char *end) {
    for (int depth = 0; p < end; p++) {
        if (*p == '(' || *p == '[') depth++;
        else if (*p == ']' || (*p == ')' && depth)) depth--;
        else if (!depth && (*p == ',' || *p == ')')) return p;
    }
    return end;
}

/* "Tensor(a!) self" -> "Tensor;". The type ends at the first blank outside of parentheses. */
static bool derive_put_type(const char *p, const char *end, char *out, size_t *n) {
    for (int depth = 0; p < end && (depth || *p != ' '); p++) {
        depth += (*p == '(') - (*p == ')');
        if (depth || *p == ')') continue; /* an alias annotation */
        if (*n + 2 >= DERIVE_SIGNATURE) return false;
        out[(*n)++] = *p;
    }
    out[(*n)++] = ';';
    return true;
}

/* The types of the arguments that are read: without those that are written, unless it is the first
 * one and `self_too`. False: too long. */
static bool derive_signature(const op_text *t, bool self_too, char *out) {
    const char *p = memchr(t->text, '(', t->len), *end = t->text + t->len;
    size_t n = 0;
    for (int i = 0; p && p < end && *p != ')'; i++) {
        for (p++; p < end && *p == ' ';) p++;
        const char *stop = derive_argument_end(p, end);
        bool keep = !derive_writes(p, stop) || (self_too && !i);
        if (p < stop && *p != '*' && keep && !derive_put_type(p, stop, out, &n)) return false;
        p = stop;
    }
    out[n] = 0;
    return true;
}

static size_t derive_name_length(const op_text *t) {
    size_t n = 0;
    while (n < t->len && t->text[n] != '.' && t->text[n] != '(') n++;
    return n;
}

/* Writes any argument. */
static bool derive_mutates(const op_text *t) {
    const char *p = memchr(t->text, '(', t->len), *end = t->text + t->len;
    while (p && p < end && *p != ')') {
        const char *stop = derive_argument_end(p + 1, end);
        if (derive_writes(p, stop)) return true;
        p = stop;
    }
    return false;
}

static bool derive_same_overload(const op_text *a, const op_text *b) {
    size_t n = derive_name_length(a), m = derive_name_length(b), i = 0;
    while (n + i < a->len && m + i < b->len && a->text[n + i] == b->text[m + i] &&
           a->text[n + i] != '(')
        i++;
    return n + i < a->len && m + i < b->len && a->text[n + i] == '(' && b->text[m + i] == '(';
}

/* ---- looking for the base -------------------------------------------------------------------- */

/* The overload of `name` that reads what `of` reads; of several, the one with the
 * same overload name. */
static bool derive_find(const op_derive_host *h, const char *name, const op_text *of, bool self_too,
                        bool mutates, op_text *base) {
    char want[DERIVE_SIGNATURE], have[DERIVE_SIGNATURE];
    bool found = false;
    op_text t;
    if (!derive_signature(of, self_too, want)) return false;
    for (int i = 0; h->overload(h->ctx, name, i, &t); i++) {
        if (t.text == of->text || derive_mutates(&t) != mutates) continue;
        if (!derive_signature(&t, self_too && mutates, have) || strcmp(want, have)) continue;
        bool same = derive_same_overload(of, &t);
        if (!found || same) *base = t;
        found = true;
        if (same) break;
    }
    return found;
}

static const char *derive_other_name(const char *name) {
    int at = sorted_find(derive_names, sizeof derive_names, sizeof *derive_names, name);
    return at < 0 ? NULL : derive_names[at].base;
}

/* ---- names of dims --------------------------------------------------------------------------- */

/* "sum.dim_DimnameList", "cat.names_out" */
static bool derive_takes_names(const op_text *t) {
    char overload[DERIVE_NAME];
    size_t n = derive_name_length(t), k = 0;
    while (n + k < t->len && t->text[n + k] != '(' && k + 1 < sizeof overload) {
        overload[k] = t->text[n + k];
        k++;
    }
    overload[k] = 0;
    return strstr(overload, "imname") || strstr(overload, "names");
}

/* "Tensor;str[1];SymInt[];str[]?;" -> "Tensor;int[1];int[];": a name stands for a dim, and
 * names that may be None are those of the result. Types lose their "?", and what newer schemas
 * say more generally. */
static void derive_without_names(char *signature) {
    static const char *const ints[] = {"str", "SymInt", "Scalar"};
    char *to = signature;
    for (const char *p = signature; *p;) {
        size_t n = strcspn(p, ";"), kept = p[n - 1] == '?' ? n - 1 : n, word = 0;
        for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
            if (!strncmp(p, ints[i], strlen(ints[i])) && p[strlen(ints[i])] != 'T')
                word = strlen(ints[i]);
        if (kept == n || strncmp(p, "str", 3) != 0) {
            memmove(to + (word ? 3 : 0), p + word, kept - word);
            if (word) memcpy(to, "int", 3);
            to += kept - word + (word ? 3 : 0);
            *to++ = ';';
        }
        p += n + 1;
    }
    *to = 0;
}

/* The overload of that name which takes dims where t takes their names. */
static bool derive_find_dims(const op_derive_host *h, const char *name, const op_text *of,
                             op_text *base) {
    char want[DERIVE_SIGNATURE], have[DERIVE_SIGNATURE];
    op_text t;
    bool mutates = derive_mutates(of);
    if (!derive_signature(of, true, want)) return false;
    derive_without_names(want);
    for (int i = 0; h->overload(h->ctx, name, i, &t); i++) {
        if (derive_takes_names(&t) || derive_mutates(&t) != mutates) continue;
        if (!derive_signature(&t, true, have)) continue;
        derive_without_names(have);
        if (!strcmp(want, have)) return *base = t, true;
    }
    return false;
}

op_derivation op_derive(const op_derive_host *h, const op_text *t, op_text *base) {
    char name[DERIVE_NAME], other[DERIVE_NAME + 8];
    size_t n = derive_name_length(t);
    if (n >= sizeof name || n < 7 || strncmp(t->text, "aten::", 6)) return DERIVED_NOT;
    memcpy(name, t->text, n);
    name[n] = 0;
    if (derive_takes_names(t) && derive_find_dims(h, name, t, base)) return DERIVED_DIMS;
    bool mutates = derive_mutates(t), in_place = name[n - 1] == '_' && name[n - 2] != '_';
    if (in_place) name[n - 1] = 0;
    const char *stands_for = derive_other_name(name + 6);
    if (stands_for) {
        snprintf(other, sizeof other, "aten::%s%s", stands_for, in_place ? "_" : "");
        if (derive_find(h, other, t, true, mutates, base)) return DERIVED_NAME;
        /* one that has no such overload itself */
        snprintf(other, sizeof other, "aten::%s", stands_for);
        if (mutates && derive_find(h, other, t, in_place, false, base)) return DERIVED_WRITE;
    }
    if (in_place)
        return mutates && derive_find(h, name, t, true, false, base) ? DERIVED_WRITE : DERIVED_NOT;
    if (mutates) return derive_find(h, name, t, false, false, base) ? DERIVED_WRITE : DERIVED_NOT;
    if (n > 11 && !strcmp(name + n - 5, "_copy")) {
        name[n - 5] = 0;
        if (derive_find(h, name, t, false, false, base)) return DERIVED_COPY;
    }
    return DERIVED_NOT;
}
