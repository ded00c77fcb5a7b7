/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgraders.c - finds the function that replaces an operator of an older archive version.
 *
 * The functions are TorchScript (prelude/upgraders.py, embedded) and are compiled into the
 * program's own unit when first needed. gelu and the like only gained an argument with a
 * default, and need none.
 * Tests: group `legacy` of the corpus, tests/corpus
 */
#include "frontend/codeload/upgraders.h"
#include "base/text/embed.h"
#include "frontend/codeload/importer.h"

EMBED(upgraders_text, "src/frontend/prelude/upgraders.py")

/*   operator, newest version with the old meaning, which overload: second argument is a tensor (1),
 *   a number (0) or either (-1), has out=: */
static const struct {
    op_symbol op;
    int last;
    int tensor;
    int out;
    const char *function;
} upgraders[] = {
    /* clang-format off */
    {SYM_DIV,      3, 1,  0, "div_Tensor_3"},
    {SYM_DIV,      3, 0,  0, "div_Scalar_3"},
    {SYM_DIV,      3, -1, 1, "div_out_3"},
    {SYM_DIV_,     3, 1,  0, "div__Tensor_3"},
    {SYM_DIV_,     3, 0,  0, "div__Scalar_3"},
    {SYM_FULL,     4, -1, 0, "full_4"},
    {SYM_FULL,     4, -1, 1, "full_out_4"},
    {SYM_LINSPACE, 7, -1, 0, "linspace_7"},
    {SYM_LOGSPACE, 8, -1, 0, "logspace_8"},
    /* clang-format on */
};

static ctsc_status upgrader_declare_all(unit *u, diag *d) {
    size_t len;
    const char *text = embedded_text(&upgraders_text, &len);
    source *src = text ? source_new("<upgraders>", text, len) : NULL;
    if (!src || !vec_push(&u->sources, src)) {
        source_unref(src);
        return diag_no_memory(d);
    }
    stmt_list body = {0};
    ctsc_status s = parse_module(d, &u->arena, &u->names, src, &body);
    for (size_t i = 0; s == CTSC_OK && i < body.len; i++) {
        if (body.data[i]->kind != S_DEF) continue;
        const char *q = arena_printf(&u->arena, "__upgraders__.%s", body.data[i]->def->name);
        s = importer_declare_function(u, d, body.data[i]->def, q, NULL, NULL);
    }
    return s;
}

function *upgrader_for(unit *u, diag *d, const char *op_name, int nargs, const actual *args) {
    int64_t version = importer_version(u);
    op_symbol op = version > 8 ? SYM_NONE : op_symbol_of(op_name);
    if (op == SYM_NONE) return NULL;
    int positional = 0, out = 0;
    bool spaced = op == SYM_LINSPACE || op == SYM_LOGSPACE, div = op == SYM_DIV || op == SYM_DIV_;
    for (int i = 0; i < nargs; i++) {
        /* overloads that came later */
        if (spaced && i < 2 && args[i].value->type->kind == T_TENSOR) return NULL;
        if (!args[i].name) positional++;
        else if (!strcmp(args[i].name, "out")) out = 1;
        else if (!strcmp(args[i].name, "rounding_mode")) return NULL;
    }
    /* on numbers, div never changed */
    if (positional < 1 || (div && args[0].value->type->kind != T_TENSOR)) return NULL;
    int tensor = positional > 1 && args[1].value->type->kind == T_TENSOR;
    for (size_t i = 0; i < sizeof upgraders / sizeof *upgraders; i++) {
        if (upgraders[i].op != op || version > upgraders[i].last || upgraders[i].out != out ||
            (upgraders[i].tensor >= 0 && upgraders[i].tensor != tensor))
            continue;
        char q[64];
        snprintf(q, sizeof q, "__upgraders__.%s", upgraders[i].function);
        function *f = strmap_get(&u->functions, q);
        if (!f && upgrader_declare_all(u, d) != CTSC_OK) return NULL;
        return strmap_get(&u->functions, q);
    }
    return NULL;
}
