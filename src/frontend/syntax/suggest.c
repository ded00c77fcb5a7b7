/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suggest.c - "did you mean": the name closest to one that is unknown.
 *
 * Closeness is the number of letters inserted, removed, replaced or swapped with their neighbour,
 * up to a third of the name's length, and one for names of up to four letters.
 * Tests: tests/lang
 */
#include "frontend/syntax/suggest.h"

#include "ir/op/op.h"

#include <string.h>

enum { SUGGEST_MAX_LENGTH = 64 };

static int suggest_least(int a, int b) { return a < b ? a : b; }

static int suggest_distance(const char *a, const char *b) {
    int rows[3][SUGGEST_MAX_LENGTH + 1];
    int n = (int)strlen(a), m = (int)strlen(b);
    int *before = rows[0], *last = rows[1], *now = rows[2];
    memset(rows, 0, sizeof rows);
    for (int j = 0; j <= m; j++) last[j] = j;
    for (int i = 1; i <= n; i++) {
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = suggest_least(replaced, suggest_least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = suggest_least(now[j], before[j - 2] + 1);
        }
        int *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[m];
}

void suggest_try(suggestion *s, const char *candidate) {
    size_t n = strlen(s->wanted), m = strlen(candidate);
    if (n > SUGGEST_MAX_LENGTH || m > SUGGEST_MAX_LENGTH || !m) return;
    int limit = n < 5 ? 1 : (int)(n + 2) / 3;
    int d = suggest_distance(s->wanted, candidate);
    if (d == 0 || d > limit || d >= (int)(n > m ? n : m)) return;
    /* ties by name: candidates come in the order of a hash table */
    if (s->best && (s->distance < d || (s->distance == d && strcmp(s->best, candidate) <= 0)))
        return;
    s->best = candidate;
    s->distance = d;
}

static void suggest_try_operator(void *ctx, const op *o) {
    suggestion *s = ctx;
    const char *name = o->schema->name;
    bool takes = s->kind < 0 ||
                 (o->schema->nargs > 0 && (int)o->schema->args[0].type->kind == s->kind);
    if (takes && !strncmp(name, "aten::", 6) && (name[6] != '_' || s->wanted[0] == '_'))
        suggest_try(s, name + 6);
}

void suggest_operators(suggestion *s, int kind) {
    s->kind = kind;
    op_visit(suggest_try_operator, s);
}

static bool suggest_is_word(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

source_range suggest_word(source_range r, const char *word) {
    size_t n = strlen(word);
    if (!r.src || !n || r.end > r.src->len || r.end < r.begin + n) return r;
    const char *text = r.src->text;
    for (uint32_t at = r.end - (uint32_t)n; at + 1 > r.begin; at--) {
        bool whole = !memcmp(text + at, word, n) && (at == 0 || !suggest_is_word(text[at - 1])) &&
                     !suggest_is_word(text[at + n]);
        if (whole) return (source_range){r.src, at, at + (uint32_t)n};
        if (at == 0) break;
    }
    return r;
}

void suggest_note(diag *d, const suggestion *s) {
    if (s->best) diag_note(d, (source_range){0}, "did you mean '%s'?", s->best);
}
