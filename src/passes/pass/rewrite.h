/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.h - one operator in the place of others: what passes that replace patterns share.
 */
#ifndef CTSC_PASSES_PASS_REWRITE_H
#define CTSC_PASSES_PASS_REWRITE_H

#include "ir/graph/alias.h"
#include "passes/pass/pass.h"

/* Does the pattern end in n? Then it is replaced, if it can be; true: it was. */
typedef bool (*rewrite_rule)(const alias_db *db, node *n);
/* A pass that offers each operator to the rule, those of inner blocks first and each block's from
 * its end; what a rule has moved in front of n comes next, so that no operator is passed over. */
bool rewrite_each(pass_ctx *cx, graph *g, rewrite_rule rule);

/* The operator that made v, if it is in n's block, has no other result, and only n reads v. */
node *rewrite_only_for(const node *n, const ir_value *v);
/* The same where v has this many uses in all. */
node *rewrite_read_by(const node *n, const ir_value *v, size_t uses);
/* Moves n to just before `at`, which comes after it in
 * the block; false: something between forbids it. */
bool rewrite_move_down(const alias_db *db, node *n, node *at);

/* Constants in front of `at`, without a place of their own. */
ir_value *rewrite_none(node *at);
ir_value *rewrite_str(node *at, const char *text);
ir_value *rewrite_bool(node *at, bool b);
ir_value *rewrite_int(node *at, int64_t i);
/* The result of an operator in front of `at`, with at's place in the source; NULL: there is
 * no such operator. */
ir_value *rewrite_op(node *at, const op *o, int ninputs, ir_value *const *inputs);
/* `with` takes y's type, name and uses. */
void rewrite_value(ir_value *y, ir_value *with);
/* The same of n's one result; n goes. */
void rewrite_result(node *n, ir_value *with);

#endif
