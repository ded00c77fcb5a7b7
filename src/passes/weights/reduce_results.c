/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_results.c - see reduce_results.h.
 *
 * Method. A result of a convolution that rounds its factors is asked for its readers: each has to
 * be an input of such a convolution, or pass elements on unchanged (a maximum, slices of a batch
 * and their join, a loop's values) to readers that do the same. What a convolution adds
 * in its epilogue is not a factor: that may be rounded where `sums` says so.
 *
 * Kernels of bfloat16 mix dtypes as they come. A 3x3 convolution may be done with Winograd's
 * transforms instead, in float32: it is fast where its input, its result and what it
 * adds are all bfloat16, or none is, and such results are given up until that is so. The same is
 * true of depthwise convolutions, which are made of float32 from rows that are widened as they are
 * read. Others without kernels of bfloat16 have float32 on both sides.
 * Tests: tests/ir/reduce-bf16/results.ir, tests/unit/test_precision.c
 */
#include "passes/weights/reduce_results.h"

#include "ir/op/conv_last_args.h"
#include "passes/pass/rewrite.h"
#include "passes/pass/value_analysis.h"

enum {
    RESULTS_MOST = 256,         /* values that one is passed on as */
    RESULTS_LEAST_CHANNELS = 16 /* outputs of a group that are worth kernels of bfloat16 */
};

/* A convolution; its node's scratch while the pass runs. */
typedef struct results_conv {
    node *n;
    bool uniform;              /* mixes no dtypes */
    bool input, other, result; /* bfloat16 */
} results_conv;

typedef struct results_pass {
    bool sums; /* what is added may be rounded */
    VEC(results_conv *) convs;
    /* what the result in question is passed on as, and the convolutions that read it */
    int nseen, nreaders;
    const ir_value *seen[RESULTS_MOST];
    use readers[RESULTS_MOST];
} results_pass;

/* ---- readers --------------------------------------------------------------------------------- */

static bool results_of(results_pass *w, const ir_value *v);

static bool results_return(results_pass *w, const use *u) {
    node *parent = u->blk->parent;
    if (!parent || parent->kind != N_LOOP || u->index == 0) return false;
    return results_of(w, parent->outputs.data[u->index - 1]) &&
           results_of(w, parent->blocks.data[0]->params.data[u->index]);
}

static bool results_conv_reads(results_pass *w, const use *u) {
    if (u->index != CONV_LAST_INPUT && !(w->sums && u->index == CONV_LAST_OTHER)) return false;
    if (w->nreaders == RESULTS_MOST) return false;
    w->readers[w->nreaders++] = *u;
    return true;
}

static bool results_use(results_pass *w, const use *u) {
    enum { LOOP_CARRIED = 2 }; /* inputs of a loop in front of what it carries */
    enum { JOIN_WHOLE, JOIN_SLICE, JOIN_IMAGES };
    const node *n = u->user;
    if (!n) return results_return(w, u);
    if (n->scratch) return results_conv_reads(w, u);
    if (n->kind == N_LOOP)
        return u->index >= LOOP_CARRIED &&
               results_of(w, n->blocks.data[0]->params.data[u->index - LOOP_CARRIED + 1]) &&
               results_of(w, n->outputs.data[u->index - LOOP_CARRIED]);
    if (node_is_overload(n, SYM_CTSC_IMAGE_SLICES)) return true; /* looks at sizes */
    if (node_is_overload(n, SYM_CTSC_MAX_POOL2D_CHANNELS_LAST) ||
        node_is_overload(n, SYM_CTSC_IMAGE_SLICE))
        return u->index == 0 && results_of(w, n->outputs.data[0]);
    if (!node_is_overload(n, SYM_CTSC_IMAGE_JOIN)) return false;
    return u->index == JOIN_IMAGES || results_of(w, n->outputs.data[0]);
}

/* May v, and all that it is passed on as, be bfloat16? A value is seen before its readers are. */
static bool results_of(results_pass *w, const ir_value *v) {
    for (int i = 0; i < w->nseen; i++)
        if (w->seen[i] == v) return true;
    if (w->nseen == RESULTS_MOST) return false;
    w->seen[w->nseen++] = v;
    for (size_t i = 0; i < v->uses.len; i++)
        if (!results_use(w, &v->uses.data[i])) return false;
    return true;
}

static bool results_read(results_pass *w, const results_conv *c) {
    w->nseen = w->nreaders = 0;
    return results_of(w, c->n->outputs.data[0]);
}

/* ---- which of them --------------------------------------------------------------------------- */

static bool results_is_depthwise(const tensor *weight, int64_t groups) {
    return weight->ndim > 2 && weight->sizes[0] == groups && weight->sizes[1] == 1;
}

static bool results_has_kernel(const tensor *weight, int64_t groups) {
    if (results_is_depthwise(weight, groups))
        return weight->dtype == DT_FLOAT32 && groups >= RESULTS_LEAST_CHANNELS;
    return weight->dtype == DT_FLOAT32 && weight->ndim > 2 && groups >= 1 &&
           weight->sizes[0] / groups >= RESULTS_LEAST_CHANNELS &&
           (groups == 1 || weight->sizes[1] % 2 == 0);
}

static results_conv *results_make(graph *g, node *n) {
    tensor *weight;
    bool transposed;
    int64_t groups;
    if (!node_is_overload(n, SYM_CTSC_CONV_CHANNELS_LAST_BF16) ||
        n->inputs.len != CONV_LAST_BF16_ARGS ||
        !known_tensor(n->inputs.data[CONV_LAST_WEIGHT], &weight) ||
        !known_int(n->inputs.data[CONV_LAST_GROUPS], &groups) ||
        !results_has_kernel(weight, groups) ||
        !known_bool(n->inputs.data[CONV_LAST_TRANSPOSED], &transposed) || transposed)
        return NULL;
    results_conv *c = arena_alloc(&g->arena, sizeof *c);
    int last = weight->ndim - 1;
    if (c)
        *c = (results_conv){
            .n = n,
            .uniform = results_is_depthwise(weight, groups) ||
                       (last > 2 && weight->sizes[last] == 3 && weight->sizes[last - 1] == 3)};
    return c;
}

static void results_collect(results_pass *w, block *b) {
    for (node *n = b->first; n; n = n->next) {
        for (size_t i = 0; i < n->blocks.len; i++) results_collect(w, n->blocks.data[i]);
        n->scratch = n->kind == N_OP ? results_make(b->g, n) : NULL;
        if (n->scratch && !vec_push(&w->convs, n->scratch)) b->g->arena.failed = true;
    }
}

/* What the results that are bfloat16 make of their readers. */
static void results_tell(results_pass *w) {
    for (size_t i = 0; i < w->convs.len; i++)
        w->convs.data[i]->input = w->convs.data[i]->other = false;
    for (size_t i = 0; i < w->convs.len; i++) {
        if (!w->convs.data[i]->result) continue;
        results_read(w, w->convs.data[i]);
        for (int k = 0; k < w->nreaders; k++) {
            results_conv *to = w->readers[k].user->scratch;
            *(w->readers[k].index == CONV_LAST_INPUT ? &to->input : &to->other) = true;
        }
    }
}

/* A convolution that mixes no dtypes and would have to: its result, or one that it reads, is given
 * up. */
static bool results_is_apart(results_pass *w, const results_conv *c) {
    bool adds = !known_is_none(c->n->inputs.data[CONV_LAST_OTHER]);
    if (c->uniform && (!c->input || (adds && !c->other))) return true;
    results_read(w, c);
    for (int k = 0; k < w->nreaders; k++) {
        const results_conv *to = w->readers[k].user->scratch;
        if (to->uniform && !to->result) return true;
    }
    return false;
}

static bool results_choose(results_pass *w) {
    bool any = false, again = true;
    for (size_t i = 0; i < w->convs.len; i++)
        w->convs.data[i]->result = results_read(w, w->convs.data[i]);
    while (again) {
        again = any = false;
        results_tell(w);
        for (size_t i = 0; i < w->convs.len; i++) {
            results_conv *c = w->convs.data[i];
            if (c->result && results_is_apart(w, c)) c->result = false, again = true;
            any |= c->result;
        }
    }
    return any;
}

bool reduce_results(graph *g, bool sums) {
    results_pass w = {.sums = sums};
    results_collect(&w, g->root);
    bool changed = !arena_failed(&g->arena) && results_choose(&w);
    for (size_t i = 0; i < w.convs.len; i++) {
        results_conv *c = w.convs.data[i];
        c->n->scratch = NULL;
        if (!changed) continue;
        if (c->input) node_set_input(c->n, CONV_LAST_HALF_INPUT, rewrite_bool(c->n, true));
        if (c->result) node_set_input(c->n, CONV_LAST_HALF_RESULT, rewrite_bool(c->n, true));
    }
    vec_free(&w.convs);
    return changed;
}
