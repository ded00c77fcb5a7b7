/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prelude.c - the embedded Python modules: torch.nn's layers and what they need.
 *
 * prelude.def lists them. Their texts stand one behind the other in the library, with a table of begin and length beside
 * them; both are written by the assembler, so that no build step makes C of them.
 * Tests: tests/unit/test_py.c
 */
#include "frontend/py_internal.h"

#define PRELUDE(dotted, path)                                                                      \
    "1: .incbin \"src/frontend/prelude/" path "\"\n"                                               \
    "2: .byte 0\n"                                                                                 \
    ".section .rodata.prelude_index,\"a\"\n"                                                       \
    ".quad 1b - prelude_texts, 2b - 1b\n"                                                          \
    ".section .rodata.prelude_texts,\"a\"\n"
__asm__(".section .rodata.prelude_index,\"a\"\n"
        ".balign 8\n"
        "prelude_index:\n"
        ".section .rodata.prelude_texts,\"a\"\n"
        "prelude_texts:\n"
#include "frontend/prelude.def"
        ".previous\n"
        ".text\n");
#undef PRELUDE

extern const uint64_t prelude_index[][2] __attribute__((visibility("hidden"))); /* begin, length */
extern const char prelude_texts[] __attribute__((visibility("hidden")));

static const struct { const char *dotted, *path; } prelude_rows[] = {
#define PRELUDE(dotted, path) {dotted, path},
#include "frontend/prelude.def"
#undef PRELUDE
};

const char *prelude_text(const char *dotted, size_t *len, bool *is_package) {
    for (size_t i = 0; i < sizeof prelude_rows / sizeof *prelude_rows; i++) {
        if (strcmp(prelude_rows[i].dotted, dotted)) continue;
        const char *slash = strrchr(prelude_rows[i].path, '/');
        *len = prelude_index[i][1];
        *is_package = !strcmp(slash ? slash + 1 : prelude_rows[i].path, "__init__.py");
        return prelude_texts + prelude_index[i][0];
    }
    return NULL;
}

bool prelude_has(const char *dotted) {
    size_t n = strlen(dotted);
    for (size_t i = 0; i < sizeof prelude_rows / sizeof *prelude_rows; i++) {
        const char *row = prelude_rows[i].dotted;
        if (!strncmp(row, dotted, n) && (row[n] == '\0' || row[n] == '.')) return true;
    }
    return false;
}
