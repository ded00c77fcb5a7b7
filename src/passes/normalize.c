/* SPDX-License-Identifier: Apache-2.0 */
/*
 * normalize.c - one name for operators that have several, so that other passes see fewer of them.
 *
 *     before:  %y : Tensor = aten::multiply(%a, %b)          after:  %y : Tensor = aten::mul(%a, %b)
 *
 * The table, ir/ops/aliases.def, is PyTorch's: what its graphs show of each alias.
 * Tests: tests/ir/normalize-ops
 */
#include "base/sorted.h"
#include "passes/passes.h"

#include <stdio.h>
#include <string.h>

/* In-place forms ("x_" -> "y_") follow from these. */
static const struct { const char *alias, *name; } normalize_names[] = {
#define ALIAS(name, of) {name, of},
#define ALIAS_COMPUTED(name, of)
#define ALIAS_SHOWN(name, of) {name, of},
#include "ir/ops/aliases.def"
#undef ALIAS
#undef ALIAS_COMPUTED
#undef ALIAS_SHOWN
};

static const char *normalize_name(const char *text, size_t len) {
    char alias[OP_KEY_LENGTH];
    if (len >= sizeof alias) return NULL;
    memcpy(alias, text, len);
    alias[len] = '\0';
    int at = sorted_find(normalize_names, sizeof normalize_names, sizeof *normalize_names, alias);
    return at < 0 ? NULL : normalize_names[at].name;
}

/* `a is b` on bools is `a == b`. */
static const char *normalize_identity(const node *n) {
    bool bools = n->inputs.len == 2 && n->inputs.data[0]->type->kind == T_BOOL &&
                 n->inputs.data[1]->type->kind == T_BOOL;
    return !bools                         ? NULL
           : node_is_op(n, SYM___IS__)    ? "eq"
           : node_is_op(n, SYM___ISNOT__) ? "ne"
                                          : NULL;
}

static bool normalize_node(node *n) {
    if (n->kind != N_OP || !n->op || strncmp(n->op_name, "aten::", 6)) return false;
    const char *text = n->op_name + 6;
    size_t len = strlen(text);
    bool inplace = len > 1 && text[len - 1] == '_' && text[len - 2] != '_';
    const char *name = normalize_name(text, len - inplace);
    if (!name) name = normalize_identity(n);
    if (!name) return false;
    char full[64];
    snprintf(full, sizeof full, "aten::%s%s", name, inplace ? "_" : "");
    const op *o = op_match(full, (int)n->inputs.len, n->inputs.data);
    if (!o || o->schema->nreturns != (int)n->outputs.len) return false;
    n->op = o;
    n->op_name = o->schema->name;
    return true;
}

static bool normalize_block(block *b) {
    bool changed = false;
    for (node *n = b->first; n; n = n->next) {
        changed |= normalize_node(n);
        for (size_t i = 0; i < n->blocks.len; i++) changed |= normalize_block(n->blocks.data[i]);
    }
    return changed;
}

bool pass_normalize_ops(pass_ctx *cx, graph *g) {
    (void)cx;
    return normalize_block(g->root);
}
