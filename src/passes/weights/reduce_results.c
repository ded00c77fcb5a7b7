/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_results.c - see reduce_results.h.
 *
 * Method. A result of a convolution that rounds its factors is asked for its readers: each has to
 * be an input of such a convolution, or pass elements on unchanged (a maximum, slices of a batch
 * and their join, a loop's values) to readers of which the same is true. What it is added to, in
 * a convolution's epilogue, is no factor: that may be rounded where results may.
 * Tests: tests/ir/reduce_results.test, tests/unit/test_precision.c
 */
#include "passes/weights/reduce_results.h"

#include "ir/op/conv_last_args.h"
#include "passes/pass/rewrite.h"
#include "passes/pass/value_analysis.h"

enum { RESULTS_MOST = 256 }; /* values that one is passed on as */

/* What a result is passed on as. */
typedef struct results_walk {
    bool sums; /* what is added may be rounded */
    int n;
    const ir_value *seen[RESULTS_MOST];
} results_walk;

static bool results_of(results_walk *w, const ir_value *v);

static bool results_is_reduced(const node *n) {
    tensor *weight;
    bool transposed;
    return node_is_overload(n, SYM_CTSC_CONV_CHANNELS_LAST_BF16) &&
           n->inputs.len == CONV_LAST_BF16_ARGS &&
           known_tensor(n->inputs.data[CONV_LAST_WEIGHT], &weight) && weight->dtype == DT_FLOAT32 &&
           known_bool(n->inputs.data[CONV_LAST_TRANSPOSED], &transposed) && !transposed;
}

static bool results_return(results_walk *w, const use *u) {
    node *parent = u->blk->parent;
    if (!parent || parent->kind != N_LOOP || u->index == 0) return false;
    return results_of(w, parent->outputs.data[u->index - 1]) &&
           results_of(w, parent->blocks.data[0]->params.data[u->index]);
}

static bool results_use(results_walk *w, const use *u) {
    enum { LOOP_CARRIED = 2 }; /* inputs of a loop in front of what it carries */
    const node *n = u->user;
    if (!n) return results_return(w, u);
    if (n->kind == N_LOOP)
        return u->index >= LOOP_CARRIED &&
               results_of(w, n->blocks.data[0]->params.data[u->index - LOOP_CARRIED + 1]) &&
               results_of(w, n->outputs.data[u->index - LOOP_CARRIED]);
    if (results_is_reduced(n))
        return u->index == CONV_LAST_INPUT || (w->sums && u->index == CONV_LAST_OTHER);
    if (node_is_overload(n, SYM_CTSC_IMAGE_SLICES)) return true; /* looks at sizes */
    if (node_is_overload(n, SYM_CTSC_MAX_POOL2D_CHANNELS_LAST) ||
        node_is_overload(n, SYM_CTSC_IMAGE_SLICE))
        return u->index == 0 && results_of(w, n->outputs.data[0]);
    enum { JOIN_WHOLE, JOIN_SLICE, JOIN_IMAGES };
    if (!node_is_overload(n, SYM_CTSC_IMAGE_JOIN)) return false;
    return u->index == JOIN_IMAGES || results_of(w, n->outputs.data[0]);
}

/* May v, and all that it is passed on as, be bfloat16? A value is seen before its readers are. */
static bool results_of(results_walk *w, const ir_value *v) {
    for (int i = 0; i < w->n; i++)
        if (w->seen[i] == v) return true;
    if (w->n == RESULTS_MOST) return false;
    w->seen[w->n++] = v;
    for (size_t i = 0; i < v->uses.len; i++)
        if (!results_use(w, &v->uses.data[i])) return false;
    return true;
}

/* Inputs of convolutions that v is are said to be bfloat16. */
static void results_tell(const ir_value *v) {
    for (size_t i = 0; i < v->uses.len; i++) {
        use u = v->uses.data[i];
        if (u.user && u.index == CONV_LAST_INPUT && results_is_reduced(u.user))
            node_set_input(u.user, CONV_LAST_HALF_INPUT, rewrite_bool(u.user, true));
    }
}

static bool results_block(block *b, bool sums) {
    bool changed = false;
    for (node *n = b->first; n && !arena_failed(&b->g->arena); n = n->next) {
        for (size_t i = 0; i < n->blocks.len; i++)
            changed |= results_block(n->blocks.data[i], sums);
        results_walk w = {.sums = sums};
        if (n->kind != N_OP || !results_is_reduced(n) || !results_of(&w, n->outputs.data[0]))
            continue;
        node_set_input(n, CONV_LAST_HALF_RESULT, rewrite_bool(n, true));
        for (int i = 0; i < w.n; i++) results_tell(w.seen[i]);
        changed = true;
    }
    return changed;
}

bool reduce_results(graph *g, bool sums) { return results_block(g->root, sums); }
