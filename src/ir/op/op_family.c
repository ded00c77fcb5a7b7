/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_family.c - finds an operator's family by the rules of op_family.def.
 *
 * Method. Where the tables of src/ir/ops put an operator is known from its row's number. Asked for
 * documents only, so rules are tried one after the other.
 * Tests: tests/unit/test_ops.c, tests/cli/ops.test
 */
#include "ir/op/op_family.h"

#include <fnmatch.h>
#include <string.h>

/* Of the rows of op_host.builtin, one after the other: each file's enumerator comes behind those of
 * all rows and files before. */
#define FAMILY_JOIN(a, b) a##b
#define FAMILY_ROW(n) FAMILY_JOIN(FAMILY_ROW_, n),
enum {
#define OP_FILE(name) FAMILY_BEGIN_##name,
#define OP(key, fn, ...) FAMILY_ROW(__COUNTER__)
#define COMPOSITE(key, ...) FAMILY_ROW(__COUNTER__)
#define OP_SPECIAL_ROW(key, ...) FAMILY_ROW(__COUNTER__)
#include "ir/op/ops.def"
#undef OP
#undef COMPOSITE
#undef OP_SPECIAL_ROW
};
static const struct { const char *name; int begin; } family_files[] = {
#define OP_FILE(name) {#name ".def", FAMILY_BEGIN_##name},
#define OP(key, fn, ...)
#define COMPOSITE(key, ...)
#define OP_SPECIAL_ROW(key, ...)
#include "ir/op/ops.def"
#undef OP
#undef COMPOSITE
#undef OP_SPECIAL_ROW
};
enum { FAMILY_FILES = sizeof family_files / sizeof *family_files };

enum { FAMILY_DEPTH = 4, FAMILY_PATTERN = 64 };

typedef enum family_where { FAMILY_SCHEMA, FAMILY_NAME, FAMILY_FILE } family_where;

static const struct { family_where where; const char *patterns, *family; } family_rules[] = {
#define FAMILY(family)
#define RULE(where, patterns, family) {FAMILY_##where, patterns, family},
#include "ir/op/op_family.def"
#undef FAMILY
#undef RULE
};
enum { FAMILY_RULES = sizeof family_rules / sizeof *family_rules };

static const char *const family_names[] = {
#define FAMILY(family) family,
#define RULE(where, patterns, family)
#include "ir/op/op_family.def"
#undef FAMILY
#undef RULE
};
enum { FAMILY_COUNT = sizeof family_names / sizeof *family_names };

const char *op_family_name(int i) { return i >= 0 && i < FAMILY_COUNT ? family_names[i] : NULL; }

const char *op_row_file(const char *key) {
    int row = 0, file = 0;
    size_t n = strlen(key);
    const char *k = op_host_installed->builtin.keys;
    for (; *k; k = op_next_key(k), row++)
        if (!strncmp(k, key, n) && strchr("\1", k[n])) break;
    if (!*k) return NULL;
    while (file + 1 < FAMILY_FILES && family_files[file + 1].begin - (file + 1) <= row) file++;
    return family_files[file].name;
}

/* ---- what the rules look at ------------------------------------------------------------------ */

/* "pointwise.def", by the row of the overload or of the one it is derived from. */
static const char *family_own_file(const op *o) {
    char key[OP_KEY_LENGTH];
    for (int depth = 0; o && depth < FAMILY_DEPTH; depth++) {
        const char *file = op_row_file(o->key);
        if (file) return file;
        if (!op_derived_from(o, key)) return NULL;
        o = op_find(key);
    }
    return NULL;
}

static const char *family_file(const op *o) {
    const char *file = family_own_file(o);
    int n;
    const op *const *all = op_overloads(o->schema->name, &n);
    for (int i = 0; i < n && !file; i++) file = family_own_file(all[i]);
    return file;
}

/* "max_pool2d" of "aten::_max_pool2d_"; what is too long stays as it is. */
static void family_bare_name(const char *name, char *out, size_t room) {
    if (!strncmp(name, "aten::", 6)) name += 6;
    while (*name == '_') name++;
    size_t n = strlen(name);
    while (n && name[n - 1] == '_') n--;
    if (n >= room) n = room - 1;
    memcpy(out, name, n);
    out[n] = 0;
}

static bool family_matches(const char *patterns, const char *text) {
    char one[FAMILY_PATTERN];
    while (*patterns) {
        size_t n = strcspn(patterns, " ");
        if (n && n < sizeof one) {
            memcpy(one, patterns, n);
            one[n] = 0;
            if (!fnmatch(one, text, 0)) return true;
        }
        patterns += n + (patterns[n] == ' ');
    }
    return false;
}

const char *op_family(const op *o) {
    char name[OP_KEY_LENGTH], file[FAMILY_PATTERN] = "";
    family_bare_name(o->schema->name, name, sizeof name);
    const char *found = family_file(o);
    if (found) family_bare_name(found, file, sizeof file);
    file[strcspn(file, ".")] = 0;
    strbuf text = {0};
    schema_print(o->schema, &text);
    const char *family = "other";
    for (int i = 0; i < FAMILY_RULES; i++) {
        const char *seen = family_rules[i].where == FAMILY_FILE   ? file
                           : family_rules[i].where == FAMILY_NAME ? name
                                                                  : sb_str(&text);
        if (!family_matches(family_rules[i].patterns, seen)) continue;
        family = family_rules[i].family;
        break;
    }
    sb_free(&text);
    return family;
}
