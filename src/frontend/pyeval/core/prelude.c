/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prelude.c - the embedded Python modules: torch.nn's layers and what they need.
 *
 * prelude.def lists them.
 * Tests: tests/unit/test_py.c
 */
#include "base/text/embed.h"
#include "frontend/pyeval/core/py_internal.h"

/* A row's text is named after its line. */
#define PRELUDE_NAME(line) PRELUDE_NAME_OF(line)
#define PRELUDE_NAME_OF(line) prelude_##line
#define PRELUDE(dotted, path) EMBED(PRELUDE_NAME(__LINE__), "src/frontend/prelude/" path)
#include "frontend/pyeval/core/prelude.def"
#undef PRELUDE

static const struct {
    const char *dotted, *path;
    embedded *text;
} prelude_rows[] = {
#define PRELUDE(dotted, path) {dotted, path, &PRELUDE_NAME(__LINE__)},
#include "frontend/pyeval/core/prelude.def"
#undef PRELUDE
};

embedded *prelude_find(const char *dotted, bool *is_package) {
    for (size_t i = 0; i < sizeof prelude_rows / sizeof *prelude_rows; i++) {
        if (strcmp(prelude_rows[i].dotted, dotted)) continue;
        const char *slash = strrchr(prelude_rows[i].path, '/');
        *is_package = !strcmp(slash ? slash + 1 : prelude_rows[i].path, "__init__.py");
        return prelude_rows[i].text;
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
