/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recompute.c - recomputes values that are cheaper to make again than to keep (rematerialisation).
 *
 *     %d : Float(100, 100, 16) = aten::sub(%r, %c)        %d : ... = aten::sub(%r, %c)
 *     %e : Float(100, 100, 16) = aten::mul(%d, %d)        %e : ... = aten::mul(%d, %d)
 *     ...                                            ->   ...
 *     %g : Float(100, 100, 16) = aten::mul(%f, %d)        %d' : ... = aten::sub(%r, %c)
 *                                                         %g : ... = aten::mul(%f, %d')
 *
 * A backward pass reads results of the forward pass. Where a cheap operation with broadcasting
 * made a large result from small operands, the operands are read again instead, and the group
 * that reads the result computes it in registers: nothing is written, kept and read.
 *
 * When. The result has at least RECOMPUTE_BYTES, its operands together at most a
 * RECOMPUTE_SHARE-th of that, and the operation costs at most RECOMPUTE_COST, so that an
 * element takes less time than a round trip to memory. All its readers are operators
 * that become parts of kernels; else it is written anyway. The first keeps the original.
 * Copies that end in one group are merged again there. Sizes are known in graphs of
 * captured calls (runtime/autograd/grad_capture.h); elsewhere nothing happens.
 * Tests: tests/ir/recompute
 */
#include "ir/graph/fusible.h"
#include "passes/pass/rewrite.h"
#include "passes/pass/value_analysis.h"

enum {
    RECOMPUTE_BYTES = 64 << 10,
    RECOMPUTE_SHARE = 4,
    RECOMPUTE_COST = 4, /* quarter cycles an element, as FUSE counts them */
    RECOMPUTE_READERS = 8,
};

/* -1: not known. */
static int64_t recompute_bytes(const ir_value *v) {
    int64_t sizes[KNOWN_MAX_INTS], n = 1;
    int ndim, dt = known_dtype(v);
    if (dt < 0 || !known_sizes(v, sizes, &ndim)) return -1;
    for (int i = 0; i < ndim; i++)
        if (__builtin_mul_overflow(n, sizes[i], &n)) return -1;
    return __builtin_mul_overflow(n, (int64_t)dtype_size((dtype)dt), &n) ? -1 : n;
}

static bool recompute_pays(const pass_ctx *cx, const alias_db *db, const node *n) {
    if (n->kind != N_OP || n->outputs.len != 1 || fusible_node(n) != FUSIBLE_POINTWISE ||
        n->op->traits.cost > RECOMPUTE_COST || node_is_random(n) || node_has_visible_effects(n))
        return false;
    const ir_value *y = n->outputs.data[0];
    int64_t made = recompute_bytes(y), read = 0;
    if (made < (cx->recompute_bytes ? cx->recompute_bytes : RECOMPUTE_BYTES) ||
        alias_ever_written(db, y))
        return false;
    for (size_t i = 0; i < n->inputs.len; i++) {
        const ir_value *x = n->inputs.data[i];
        if (x->type->kind != T_TENSOR) continue;
        int64_t bytes = recompute_bytes(x);
        if (bytes < 0 || alias_ever_written(db, x)) return false;
        read += bytes;
    }
    return read <= made / RECOMPUTE_SHARE;
}

/* Operators of n's block, in which v is read; false: something else reads it, or too many do. */
static bool recompute_readers(const node *n, const ir_value *v) {
    if (v->uses.len < 2 || v->uses.len > RECOMPUTE_READERS) return false;
    for (size_t i = 0; i < v->uses.len; i++) {
        const node *user = v->uses.data[i].user;
        if (!user || user->owner != n->owner || user->kind != N_OP) return false;
        fusible_kind kind = fusible_node(user);
        if (kind == FUSIBLE_NONE || kind == FUSIBLE_VIEW) return false;
    }
    return true;
}

static bool recompute_node(graph *g, node *n) {
    ir_value *y = n->outputs.data[0];
    node *first = NULL, *user;
    for (size_t i = 0; i < y->uses.len; i++)
        if (!first || node_before(y->uses.data[i].user, first)) first = y->uses.data[i].user;
    bool changed = false;
    for (size_t i = y->uses.len; i-- > 0 && !arena_failed(&g->arena);) {
        if (i >= y->uses.len) continue; /* went with another use of the same reader */
        user = y->uses.data[i].user;
        if (user == first) continue;
        ir_value *again = rewrite_op(user, n->op, (int)n->inputs.len, n->inputs.data);
        if (!again) break;
        again->type = y->type;
        for (size_t k = 0; k < user->inputs.len; k++)
            if (user->inputs.data[k] == y) node_set_input(user, (int)k, again);
        changed = true;
    }
    return changed;
}

static bool recompute_block(const pass_ctx *cx, const alias_db *db, graph *g, block *b) {
    bool changed = false;
    for (node *n = b->first, *next; n; n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++)
            changed |= recompute_block(cx, db, g, n->blocks.data[i]);
        if (n->kind == N_OP && n->op && n->outputs.len == 1 &&
            recompute_readers(n, n->outputs.data[0]) && recompute_pays(cx, db, n))
            changed |= recompute_node(g, n);
    }
    return changed;
}

bool pass_recompute(pass_ctx *cx, graph *g) {
    alias_db *db = alias_new(g);
    if (!db) {
        diag_no_memory(cx->diag);
        return false;
    }
    bool changed = recompute_block(cx, db, g, g->root);
    alias_free(db);
    return changed;
}
