/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builtin_functions.c - builtins that are written in TorchScript
 * (prelude/builtin_functions.py, embedded).
 *
 * PyTorch has overloads of a few operators that are functions, such as aten::sub of a number
 * and a tensor; their bodies replace the call. In addition there are helpers for what Python
 * has and PyTorch's operators lack (round(x, n), format specs): calls of them are calls of
 * ordinary functions, so that an archive can hold them and PyTorch can run them.
 *
 * Ownership: the functions belong to the program's unit, which declares each when it
 * first asks for it.
 * Tests: tests/lang
 */
#include "frontend/codeload/builtin_functions.h"

#include "base/sorted.h"
#include "base/text/embed.h"
#include "frontend/codeload/importer.h"

#define BUILTIN_OVERLOADS "__builtins__."
#define BUILTIN_HELPERS "__torch__.ctsc.builtins."

EMBED(builtin_file, "src/frontend/prelude/builtin_functions.py")

/* Functions of one number or N of them: torch.nn.modules.utils._pair. */
static const struct { const char *name; int size; } builtin_repeated[] = {
    {"_single", 1}, {"_pair", 2}, {"_triple", 3}, {"_quadruple", 4}};

/* Where the variant begins in "sub__int"; NULL: a helper. */
static const char *builtin_variant(const char *name) {
    const char *found = NULL;
    for (const char *p = name + 1; *p; p++)
        if (p[0] == '_' && p[1] == '_') found = p;
    return found && found[2] ? found : NULL;
}

static ctsc_status builtin_declare(unit *u, diag *d, const func_def *def) {
    const char *variant = builtin_variant(def->name);
    const char *q = arena_printf(&u->arena, "%s%s", variant ? BUILTIN_OVERLOADS : BUILTIN_HELPERS,
                                 def->name);
    function *f = NULL;
    ctsc_status s = importer_declare_function(u, d, def, q, NULL, &f);
    if (s != CTSC_OK || !f || !variant) return s;
    /* messages name the operator */
    f->schema->name = intern_n(&u->names, def->name, (size_t)(variant - def->name));
    for (size_t i = 0; i < sizeof builtin_repeated / sizeof *builtin_repeated; i++)
        if (!strcmp(f->schema->name, builtin_repeated[i].name))
            f->schema->args[0].fixed_size = builtin_repeated[i].size;
    return CTSC_OK;
}

/* The text of one definition: from its `def` to the next line that begins with anything but a
 * blank. NULL: there is none. */
static const char *builtin_text(const char *name, size_t *len, uint32_t *line) {
    size_t n = strlen(name), length;
    const char *at = embedded_text(&builtin_file, &length), *end = at + length;
    for (*line = 1; at;
         ++*line, at = memchr(at, '\n', (size_t)(end - at)), at = at ? at + 1 : NULL) {
        if ((size_t)(end - at) < n + 5 || memcmp(at, "def ", 4) || memcmp(at + 4, name, n) ||
            at[4 + n] != '(')
            continue;
        const char *stop = at;
        do stop = memchr(stop, '\n', (size_t)(end - stop)), stop = stop ? stop + 1 : end;
        while (stop < end && (*stop == ' ' || *stop == '\n'));
        *len = (size_t)(stop - at);
        return at;
    }
    return NULL;
}

/* Declared when first asked for; *out = NULL without an error: there is none. */
static ctsc_status builtin_find(unit *u, diag *d, const char *name, bool helper, function **out) {
    char q[96];
    size_t len;
    uint32_t line;
    snprintf(q, sizeof q, "%s%s", helper ? BUILTIN_HELPERS : BUILTIN_OVERLOADS, name);
    const char *text = builtin_text(name, &len, &line);
    *out = text ? strmap_get(&u->functions, q) : NULL;
    if (*out || !text) return CTSC_OK;
    source *src = source_new("<string>", text, len);
    if (!src || !vec_push(&u->sources, src)) {
        source_unref(src);
        return diag_no_memory(d);
    }
    src->first_line = line;
    src->library = true;
    stmt_list body = {0};
    ctsc_status s = parse_module(d, &u->arena, &u->names, src, &body);
    if (s == CTSC_OK && body.len == 1 && body.data[0]->kind == S_DEF)
        s = builtin_declare(u, d, body.data[0]->def);
    if (s == CTSC_OK) *out = strmap_get(&u->functions, q);
    return s;
}

int builtin_functions(unit *u, diag *d, const char *op_name, function **out, int max) {
    /* sorted */
    static const struct { const char *op; const char *variants[4]; } table[] = {
        {"aten::__contains__", {"str"}},
        {"aten::_assert", {"bool"}},
        {"aten::_assert_int_or_pair", {"list"}},
        {"aten::_pair", {"float", "int"}},
        {"aten::_quadruple", {"float", "int"}},
        {"aten::_single", {"float", "int"}},
        {"aten::_triple", {"float", "int"}},
        {"aten::add", {"float", "int", "complex"}},
        {"aten::device", {"type"}},
        {"aten::div", {"float", "int", "complex"}},
        {"aten::eq", {"float", "int", "complex"}},
        {"aten::floordiv", {"number", "tensor"}},
        {"aten::ge", {"float", "int"}},
        {"aten::gt", {"float", "int"}},
        {"aten::le", {"float", "int"}},
        {"aten::list_with_default", {"int"}},
        {"aten::lt", {"float", "int"}},
        {"aten::mul", {"float", "int", "complex"}},
        {"aten::ne", {"float", "int", "complex"}},
        {"aten::norm", {"dim", "dims"}},
        {"aten::numel", {"sizes"}},
        {"aten::sub", {"float", "int", "complex"}},
    };
    int at = sorted_find(table, sizeof table, sizeof *table, op_name), n = 0;
    for (int k = 0; at >= 0 && k < 4 && table[at].variants[k] && n < max; k++) {
        char name[64];
        function *f;
        snprintf(name, sizeof name, "%s__%s", op_name + 6, table[at].variants[k]);
        if (builtin_find(u, d, name, false, &f) != CTSC_OK) return 0;
        if (f) out[n++] = f;
    }
    return n;
}

function *builtin_helper(unit *u, diag *d, const char *name) {
    function *f;
    if (builtin_find(u, d, name, true, &f) != CTSC_OK) return NULL;
    if (!f) diag_fail(d, CTSC_INTERNAL, "no builtin function %s", name);
    return f;
}

function *builtin_qualified(unit *u, diag *d, const char *name) {
    function *f = NULL;
    if (strncmp(name, BUILTIN_HELPERS, sizeof BUILTIN_HELPERS - 1)) return NULL;
    return builtin_find(u, d, name + sizeof BUILTIN_HELPERS - 1, true, &f) == CTSC_OK ? f : NULL;
}
