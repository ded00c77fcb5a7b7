/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builtin_functions.c - builtins that are written in TorchScript (prelude/builtin_functions.py, embedded).
 *
 * PyTorch knows overloads of a few operators that are functions, such as aten::sub of a number and a tensor; their
 * bodies take the place of the call. Beyond that stand helpers for what Python has and PyTorch's operators lack (round(x, n),
 * format specs): calls of them are calls of ordinary functions, so that an archive can hold them and PyTorch run them.
 *
 * Ownership: the functions belong to the program's unit, which declares them when it first asks for one.
 * Tests: tests/lang
 */
#include "frontend/emit.h"

#define BUILTIN_OVERLOADS "__builtins__."
#define BUILTIN_HELPERS "__torch__.ctsc.builtins."

__asm__(".section .rodata\n"
        "prelude_builtin_functions:\n"
        ".incbin \"src/frontend/prelude/builtin_functions.py\"\n"
        "prelude_builtin_functions_end:\n"
        ".byte 0\n"
        ".previous\n");
extern const char prelude_builtin_functions[] __attribute__((visibility("hidden")));
extern const char prelude_builtin_functions_end[] __attribute__((visibility("hidden")));

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
    const char *q = arena_printf(&u->arena, "%s%s", variant ? BUILTIN_OVERLOADS : BUILTIN_HELPERS, def->name);
    function *f = NULL;
    ctsc_status s = importer_declare_function(u, d, def, q, NULL, &f);
    if (s != CTSC_OK || !f || !variant) return s;
    /* messages name the operator */
    f->schema->name = intern_n(&u->names, def->name, (size_t)(variant - def->name));
    for (size_t i = 0; i < sizeof builtin_repeated / sizeof *builtin_repeated; i++)
        if (!strcmp(f->schema->name, builtin_repeated[i].name)) f->schema->args[0].fixed_size = builtin_repeated[i].size;
    return CTSC_OK;
}

static ctsc_status builtin_declare_all(unit *u, diag *d) {
    if (strmap_get(&u->functions, BUILTIN_OVERLOADS "sub__int")) return CTSC_OK;
    source *src = source_new("<string>", prelude_builtin_functions,
                             (size_t)(prelude_builtin_functions_end - prelude_builtin_functions));
    if (!src || !vec_push(&u->sources, src)) {
        source_unref(src);
        return diag_no_memory(d);
    }
    stmt_list body = {0};
    ctsc_status s = parse_module(d, &u->arena, &u->names, src, &body);
    for (size_t i = 0; s == CTSC_OK && i < body.len; i++)
        if (body.data[i]->kind == S_DEF) s = builtin_declare(u, d, body.data[i]->def);
    return s;
}

int builtin_functions(unit *u, diag *d, const char *op_name, function **out, int max) {
    static const struct { const char *op; const char *variants[4]; } table[] = {
        {"aten::mul", {"float", "int", "complex"}},      {"aten::add", {"float", "int", "complex"}},
        {"aten::ne", {"float", "int", "complex"}},       {"aten::eq", {"float", "int", "complex"}},
        {"aten::sub", {"float", "int", "complex"}},      {"aten::div", {"float", "int", "complex"}},
        {"aten::lt", {"float", "int"}},                  {"aten::le", {"float", "int"}},
        {"aten::gt", {"float", "int"}},                  {"aten::ge", {"float", "int"}},
        {"aten::floordiv", {"number", "tensor"}},        {"aten::__contains__", {"str"}},
        {"aten::device", {"type"}},                      {"aten::_assert", {"bool"}},
        {"aten::_assert_int_or_pair", {"list"}},         {"aten::list_with_default", {"int"}},
        {"aten::_single", {"float", "int"}},             {"aten::_pair", {"float", "int"}},
        {"aten::_triple", {"float", "int"}},             {"aten::_quadruple", {"float", "int"}},
    };
    int n = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].op, op_name)) continue;
        if (builtin_declare_all(u, d) != CTSC_OK) return 0;
        for (int k = 0; k < 4 && table[i].variants[k] && n < max; k++) {
            char q[96];
            snprintf(q, sizeof q, BUILTIN_OVERLOADS "%s__%s", op_name + 6, table[i].variants[k]);
            function *f = strmap_get(&u->functions, q);
            if (f) out[n++] = f;
        }
    }
    return n;
}

function *builtin_helper(unit *u, diag *d, const char *name) {
    char q[96];
    snprintf(q, sizeof q, BUILTIN_HELPERS "%s", name);
    if (builtin_declare_all(u, d) != CTSC_OK) return NULL;
    function *f = strmap_get(&u->functions, q);
    if (!f) diag_fail(d, CTSC_INTERNAL, "no builtin function %s", name);
    return f;
}
