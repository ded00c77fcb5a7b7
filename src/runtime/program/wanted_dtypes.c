/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wanted_dtypes.c - infers the dtypes of a method's tensors from its operators.
 *
 * Method. An argument of the optimised graph, in which calls are inlined and attributes are
 * constants, is followed through operators that keep its dtype to the first that says more: by the
 * name of its own argument (index, mask), or by a floating constant beside it. With those dtypes
 * put into the graph, value_analysis.h tells those of the results.
 * Tests: tests/unit/test_signature.c
 */
#include "runtime/program/wanted_dtypes.h"

#include "passes/pass/value_analysis.h"
#include "runtime/exec/executor.h"

#include <string.h>

enum { WANTED_DEPTH = 32 };

static int wanted_by_name(const char *name) {
    static const struct { const char *name; dtype dt; } names[] = {
        {"index", DT_INT64}, {"indices", DT_INT64},  {"offsets", DT_INT64},
        {"mask", DT_BOOL},   {"condition", DT_BOOL},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].name, name)) return names[i].dt;
    return -1;
}

static int wanted_floating(const ir_value *v) {
    const node *made = v->def;
    int dt = v->type->kind == T_TENSOR ? known_dtype(v) : -1;
    for (size_t i = 0; made && made->kind == N_LIST_CONSTRUCT && dt < 0 && i < made->inputs.len;
         i++)
        dt = known_dtype(made->inputs.data[i]);
    return dt >= 0 && dtype_is_float((dtype)dt) ? dt : -1;
}

/* The floating dtype that another argument of the operator has: weights, as a rule. */
static int wanted_beside(const node *n, int index) {
    for (size_t i = 0; i < n->inputs.len; i++) {
        int dt = (int)i == index ? -1 : wanted_floating(n->inputs.data[i]);
        if (dt >= 0) return dt;
    }
    return -1;
}

static int wanted_of(const ir_value *v, int depth) {
    int dt = -1;
    for (size_t i = 0; i < v->uses.len && dt < 0 && depth; i++) {
        const use *u = &v->uses.data[i];
        const node *n = u->user;
        if (!n || n->kind != N_OP || !n->op) continue;
        const argument *a = u->index < n->op->schema->nargs ? &n->op->schema->args[u->index] : NULL;
        dt = a ? wanted_by_name(a->name) : -1;
        if (dt < 0) dt = wanted_beside(n, u->index);
        bool same = !u->index && (n->op->traits.dtype_same || n->op->traits.makes_view ||
                                  n->op->traits.fusible == FUSIBLE_VIEW);
        if (dt < 0 && same && n->outputs.len) dt = wanted_of(n->outputs.data[0], depth - 1);
    }
    return dt;
}

static void wanted_note(ir_value *v, int dt) {
    tensor_info info = {.dtype = (int8_t)dt, .ndim = -1, .requires_grad = -1, .device = -1};
    type *t = dt >= 0 ? type_tensor_details(&info) : NULL;
    if (t) v->type = t;
}

ctsc_status wanted_dtypes(function *f, object *root, int *arguments, int *results, diag *d) {
    graph *g = NULL;
    TRY(executor_optimise(f, 1, root, d, &g));
    block *b = g->root;
    for (size_t i = 1; i < b->params.len; i++) {
        ir_value *v = b->params.data[i];
        arguments[i - 1] = v->type->kind == T_TENSOR ? wanted_of(v, WANTED_DEPTH) : -1;
    }
    for (size_t i = 1; i < b->params.len; i++) wanted_note(b->params.data[i], arguments[i - 1]);
    const ir_value *r = b->returns.len ? b->returns.data[0] : NULL;
    bool apart = r && r->def && r->def->kind == N_TUPLE_CONSTRUCT;
    size_t n = apart ? r->def->inputs.len : b->returns.len;
    for (size_t i = 0; i < n; i++) {
        const ir_value *v = apart ? r->def->inputs.data[i] : r;
        results[i] = v->type->kind == T_TENSOR ? known_dtype(v) : -1;
    }
    graph_free(g);
    return CTSC_OK;
}
