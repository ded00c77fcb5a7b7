/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_family.c - finds an operator's family: in its row, by the file of its row, or in families.txt.
 *
 * Method. Where the tables of src/ir/ops put an operator is known from its row's number. Asked for
 * documents only, so rows and names are looked at one after the other.
 * Tests: tests/unit/test_ops.c, tests/cli/ops.test
 */
#include "ir/op/op_family.h"

#include "base/text/embed.h"

#include <string.h>

EMBED(op_families, "src/ir/op/families.txt")

/* Of the rows of op_host.builtin, one after the other: each file's enumerator comes after those of
 * all rows and files before. */
#define FAMILY_JOIN(a, b) a##b
#define FAMILY_ROW(n) FAMILY_JOIN(FAMILY_ROW_, n),
enum {
#define OP_FILE(name, family) FAMILY_BEGIN_##name,
#define OP(key, fn, ...) FAMILY_ROW(__COUNTER__)
#define COMPOSITE(key, ...) FAMILY_ROW(__COUNTER__)
#define OP_SPECIAL_ROW(key, ...) FAMILY_ROW(__COUNTER__)
#include "ir/op/ops.def"
#undef OP
#undef COMPOSITE
#undef OP_SPECIAL_ROW
};
static const struct { const char *name; int begin; operator_family family; } family_files[] = {
#define OP_FILE(name, family) {#name ".def", FAMILY_BEGIN_##name, FAMILY_##family},
#define OP(key, fn, ...)
#define COMPOSITE(key, ...)
#define OP_SPECIAL_ROW(key, ...)
#include "ir/op/ops.def"
#undef OP
#undef COMPOSITE
#undef OP_SPECIAL_ROW
};
enum { FAMILY_FILES = sizeof family_files / sizeof *family_files, FAMILY_DEPTH = 4 };

static const char *const family_names[FAMILY_COUNT] = {
#define FAMILY_NAME(id, text) [FAMILY_##id] = text,
#include "ir/op/op_family.def"
#undef FAMILY_NAME
};

const char *op_family_name(int i) {
    return i >= 0 && i + 1 < FAMILY_COUNT ? family_names[i + 1] : NULL;
}

/* Which of family_files has the overload's row; -1: none. */
static int family_file(const char *key) {
    int row = 0, file = 0;
    size_t n = strlen(key);
    const char *k = op_host_installed->builtin.keys;
    for (; *k; k = op_next_key(k), row++)
        if (!strncmp(k, key, n) && strchr("\1", k[n])) break;
    if (!*k) return -1;
    while (file + 1 < FAMILY_FILES && family_files[file + 1].begin - (file + 1) <= row) file++;
    return file;
}

const char *op_row_file(const char *key) {
    int file = family_file(key);
    return file < 0 ? NULL : family_files[file].name;
}

/* Is the word among those from p to end? */
static bool family_lists(const char *p, const char *end, const char *word) {
    size_t n = strlen(word);
    while (p < end) {
        size_t length = strcspn(p, " \n");
        if (length == n && !strncmp(p, word, n)) return true;
        p += length + 1;
    }
    return false;
}

/* families.txt has a line per family, "sparse: aten::hspmm aten::values", of names and keys;
 * FAMILY_OF_FILE: it has not this one. */
static operator_family family_listed(const char *name) {
    size_t len;
    const char *text = embedded_text(&op_families, &len);
    for (const char *line = text; line && *line;) {
        const char *end = line + strcspn(line, "\n"), *names = strstr(line, ": ");
        if (!names || !family_lists(names + 2, end, name)) {
            line = end + (*end == '\n');
            continue;
        }
        for (int i = 1; i < FAMILY_COUNT; i++)
            if (strlen(family_names[i]) == (size_t)(names - line) &&
                !strncmp(family_names[i], line, (size_t)(names - line)))
                return (operator_family)i;
        break;
    }
    return FAMILY_OF_FILE;
}

/* By the row of the overload, or of the one it is derived from. */
const char *op_family(const op *o) {
    char key[OP_KEY_LENGTH];
    operator_family own = op_named_base(o)      ? FAMILY_NAMED
                          : strchr(o->key, '.') ? family_listed(o->key)
                                                : FAMILY_OF_FILE;
    if (own != FAMILY_OF_FILE) return family_names[own];
    int file = family_file(o->key);
    for (int depth = 0; file < 0 && depth < FAMILY_DEPTH && op_derived_from(o, key); depth++) {
        const op *base = op_find(key);
        if (!base) break;
        o = base;
        file = family_file(o->key);
    }
    operator_family family = file >= 0 ? o->traits.family : family_listed(o->key);
    if (!family) family = file >= 0 ? family_files[file].family : family_listed(o->schema->name);
    return family_names[family ? family : FAMILY_OTHER];
}
