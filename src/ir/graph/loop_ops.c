/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_ops.c - looks operators up in loop_ops.def, and follows objects through loops.
 *
 * Tests: tests/ir/fuse-loops/, tests/unit/test_group_loop.c
 */
#include "ir/graph/loop_ops.h"

#include "ir/graph/alias.h"
#include "ir/graph/fusible.h"

#include <stdio.h>
#include <string.h>

typedef enum loop_operands { LOOP_NUMBERS, LOOP_ANY } loop_operands;

static const struct {
    op_symbol name;
    loop_operands operands;
    loop_class cls;
    const char *text;
} loop_rows[] = {
#define LOOP_OP(name, operands, cls, text) {name, LOOP_##operands, LOOP_##cls, text},
#include "ir/graph/loop_ops.def"
#undef LOOP_OP
};

bool loop_is_number(const type *t) {
    return t->kind == T_INT || t->kind == T_FLOAT || t->kind == T_BOOL || t->kind == T_NUMBER;
}

static bool loop_all_numbers(const node *n) {
    for (size_t i = 0; i < n->inputs.len; i++)
        if (!loop_is_number(n->inputs.data[i]->type)) return false;
    return n->inputs.len && n->outputs.len == 1 && loop_is_number(n->outputs.data[0]->type);
}

/* "aten::add_.Tensor" without what makes it in-place. */
const op *loop_functional(const op *o) {
    const char *name = o->schema->name;
    size_t len = strlen(name);
    char key[160];
    if (len < 2 || name[len - 1] != '_' || name[len - 2] == '_' || !o->schema->has_alias_write)
        return NULL;
    const char *dot = o->schema->overload[0] ? "." : "";
    int used = snprintf(key, sizeof key, "%.*s%s%s", (int)(len - 1), name, dot,
                        o->schema->overload);
    return used < (int)sizeof key ? op_find(key) : NULL;
}

static loop_class loop_fusible_class(const node *n) {
    const op *functional = loop_functional(n->op);
    fusible_kind kind = op_fusible(functional);
    if (kind) return kind == FUSIBLE_POINTWISE ? LOOP_IN_PLACE : LOOP_NONE;
    kind = fusible_node(n);
    return kind == FUSIBLE_POINTWISE ? LOOP_POINTWISE
           : kind == FUSIBLE_VIEW    ? LOOP_VIEW
                                     : LOOP_NONE;
}

loop_class loop_op_class(const node *n, const char **text) {
    const char *unused;
    if (!text) text = &unused;
    *text = "";
    if (n->kind != N_OP || !n->op || n->blocks.len) return LOOP_NONE;
    bool numbers = loop_all_numbers(n);
    for (size_t i = 0; i < sizeof loop_rows / sizeof *loop_rows; i++) {
        bool by_key = loop_rows[i].operands == LOOP_ANY;
        if ((!by_key && !numbers) ||
            loop_rows[i].name != (by_key ? n->op->symbol : n->op->name_symbol))
            continue;
        /* pow.int_to_int has a row of its own; log has bases, which the row of one
         * operand does not mean */
        if (!by_key && n->op->symbol == SYM_POW_INT_TO_INT) continue;
        if (loop_rows[i].cls == LOOP_REAL1 && n->inputs.len != 1) return LOOP_NONE;
        *text = loop_rows[i].text;
        return loop_rows[i].cls;
    }
    return numbers ? LOOP_NONE : loop_fusible_class(n);
}

bool loop_op_writes(const node *n) {
    return n->kind == N_OP && n->op && n->inputs.len && n->inputs.data[0]->type->kind == T_TENSOR &&
           node_writes_input(n, 0);
}

/* ---- objects --------------------------------------------------------------------------------- */

/* Branches multiply the ways to walk: what takes too many steps is an object of its own,
 * which is never wrong. */
enum { LOOP_MAX_CHAIN = 64, LOOP_MAX_STEPS = 2000 };

/* Parameters of loops that are taken as objects of their own while it is found out what an
 * iteration makes of them. */
typedef struct loop_assumed {
    const ir_value *param;
    const struct loop_assumed *outer;
    int *steps;
} loop_assumed;

static const ir_value *loop_find(const ir_value *v, const loop_assumed *assumed, int depth);

/* Carried value k of a loop: what goes in, if every iteration passes it on; else `otherwise`. */
static const ir_value *loop_find_carried(const node *loop, int k, const ir_value *otherwise,
                                         const loop_assumed *assumed, int depth) {
    const block *body = loop->blocks.data[0];
    const ir_value *param = body->params.data[k + 1];
    loop_assumed inner = {param, assumed, assumed->steps};
    if (loop_find(body->returns.data[k + 1], &inner, depth + 1) != param) return otherwise;
    return loop_find(loop->inputs.data[k + 2], assumed, depth + 1);
}

static const ir_value *loop_find_branch(const node *n, int k, const ir_value *v,
                                        const loop_assumed *assumed, int depth) {
    const ir_value *a = loop_find(n->blocks.data[0]->returns.data[k], assumed, depth + 1);
    return a == loop_find(n->blocks.data[1]->returns.data[k], assumed, depth + 1) ? a : v;
}

static const ir_value *loop_find(const ir_value *v, const loop_assumed *assumed, int depth) {
    for (const loop_assumed *a = assumed; a; a = a->outer)
        if (a->param == v) return v;
    const node *n = v->def;
    if (depth > LOOP_MAX_CHAIN || v->type->kind != T_TENSOR || ++*assumed->steps > LOOP_MAX_STEPS)
        return v;
    if (!n) {
        n = v->owner->parent;
        return n && n->kind == N_LOOP && v->index > 0
                   ? loop_find_carried(n, v->index - 1, v, assumed, depth)
                   : v;
    }
    if (n->kind == N_IF) return loop_find_branch(n, v->index, v, assumed, depth);
    if (n->kind == N_LOOP) return loop_find_carried(n, v->index, v, assumed, depth);
    if (loop_op_writes(n) && n->outputs.len == 1)
        return loop_find(n->inputs.data[0], assumed, depth + 1);
    return v;
}

const ir_value *loop_object(const ir_value *v) {
    int steps = 0;
    return loop_find(v, &(loop_assumed){.steps = &steps}, 0);
}

const ir_value *loop_viewed(const ir_value *v) {
    for (int depth = 0; depth < LOOP_MAX_CHAIN; depth++) {
        v = loop_object(v);
        const node *n = v->def;
        loop_class cls = n ? loop_op_class(n, NULL) : LOOP_NONE;
        bool view = cls == LOOP_SELECT || cls == LOOP_SLICE || cls == LOOP_TRANSPOSE ||
                    cls == LOOP_UNSQUEEZE || cls == LOOP_VIEW;
        if (!view) return v;
        v = n->inputs.data[0];
    }
    return v;
}
