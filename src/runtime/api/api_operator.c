/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_operator.c - the part of ctsc_compiler.h that describes operators: family, origin,
 * aliasing, fusion.
 * Tests: tests/unit/test_ops.c, tests/cli/ops.test
 */
#include "ir/graph/fusible.h"
#include "ir/op/op_family.h"
#include "runtime/api/api.h"

#include <string.h>

#include "ctsc_compiler.h"

#include "runtime/autograd/grad_rules.h"

static bool details_has_tensor(const type *t) {
    if (t->kind == T_TENSOR) return true;
    for (int i = 0; i < t->nelems; i++)
        if (details_has_tensor(t->elems[i])) return true;
    return false;
}

static const char *details_alias(const schema *s) {
    if (s->has_alias_write)
        return s->nargs && s->args[0].alias && s->args[0].alias->write ? "in place" : "out";
    const char *found = "";
    for (int i = 0; i < s->nreturns; i++) {
        const alias_info *a = s->returns[i].alias;
        if (a) return "view";
        if (details_has_tensor(s->returns[i].type)) found = "new";
    }
    return found;
}

static const char *details_fusible(const op *o) {
    static const char *const names[] = {[FUSIBLE_POINTWISE] = "pointwise",
                                        [FUSIBLE_VIEW] = "view",
                                        [FUSIBLE_REDUCE] = "reduction",
                                        [FUSIBLE_ROWS] = "rows"};
    return names[op_fusible(o)];
}

typedef struct details_visit {
    void (*visit)(void *ctx, const ctsc_operator_detail *o);
    void *ctx;
    strbuf text;
} details_visit;

static void details_op(void *ctx, const op *o) {
    details_visit *v = ctx;
    char base[OP_KEY_LENGTH];
    sb_clear(&v->text);
    schema_print(o->schema, &v->text);
    ctsc_operator_detail d = {.size = sizeof d,
                              .key = o->key,
                              .schema = sb_str(&v->text),
                              .family = op_family(o),
                              .supported = o->fn || o->traits.special,
                              .alias = details_alias(o->schema),
                              .fusible = details_fusible(o)};
    d.functional = !strncmp(o->key, "aten::", 6) && !o->schema->has_alias_write;
    if (op_derived_from(o, base)) d.base = base;
    if (d.supported)
        d.how = d.base                ? "derived"
                : o->traits.composite ? "TorchScript"
                : o->traits.special   ? "bytecode"
                                      : "kernel";
    v->visit(v->ctx, &d);
}

void ctsc_operator_details(void (*visit)(void *ctx, const ctsc_operator_detail *o), void *ctx) {
    details_visit v = {.visit = visit, .ctx = ctx};
    op_visit(details_op, &v);
    sb_free(&v.text);
}

/* Formulas that only say that there is none. */
static bool operator_refuses(const grad_rule *r) {
    bool refuses = r->nformulas > 0;
    for (int i = 0; i < r->nformulas; i++)
        refuses &= strstr(r->formulas[i].fn->qualified, ".derivatives.missing.") != NULL;
    return refuses;
}

ctsc_derivative ctsc_operator_derivative(const char *key) {
    const op *o = key ? op_find(key) : NULL;
    const grad_rule *r = NULL;
    diag lost = {0};
    if (o && o->fn) grad_rule_of(o, &lost, &r);
    diag_clear(&lost);
    if (!r || r->kind == RULE_MISSING || r->kind == RULE_OUT || operator_refuses(r))
        return CTSC_DERIVATIVE_MISSING;
    return r->kind == RULE_CONSTANT ? CTSC_DERIVATIVE_NONE : CTSC_DERIVATIVE_FORMULA;
}

const char *ctsc_operator_family(int i) { return op_family_name(i); }
