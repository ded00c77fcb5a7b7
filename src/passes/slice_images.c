/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_images.c - chains of convolutions work on as many images at a time as the caches hold.
 *
 *                                                    %n : int = ctsc::image_slices(%x, 36.)
 *                                                    %z : Tensor = prim::Loop(%n, %true, %x)
 *                                                      block0(%i : int, %whole : Tensor):
 *     %y = ctsc::conv_channels_last(%x, %w, ...)         %p = ctsc::image_slice(%x, %i, %n)
 *     %z = ctsc::conv_channels_last(%y, %u, ...)  ->     %y = ctsc::conv_channels_last(%p, %w, ...)
 *                                                        %q = ctsc::conv_channels_last(%y, %u, ...)
 *                                                        %j = ctsc::image_join(%whole, %q, %x, %i, %n)
 *                                                        -> (%true, %j)
 *
 * Values between two convolutions of a batch are read from memory if they are larger
 * than the caches. So as many images as fit in them go through a whole chain of
 * operators, and then the next ones. The chain is known at compile time; the number
 * and size of the images only at run time: ctsc::image_slices makes one slice of a
 * batch that fits, and then the loop is the original chain, without a copy.
 *
 * Method. A *run* is a range of a block that begins with a convolution of images with a
 * batch dim and continues while each node treats each image independently of the others:
 * its tensors come from the run, or broadcast equally with each image. Nodes that do not
 * depend on the run move before it. A run is cut into loops where only one value is used
 * by the rest and all later values are smaller than the earlier ones: more images fit.
 *
 * Sizes of images are not known, but those of the run's values relative to each other are, well
 * enough to choose: numbers of channels by the weights, of pixels by strides.
 * Results do not change: no kernel's sums depend on how many images there are.
 * Tests: tests/ir/slice-images, tests/diff (networks on images)
 */
#include "ir/graph/fusible.h"
#include "ir/op/conv_last_args.h"
#include "passes/pass/rewrite.h"
#include "passes/pass/value_analysis.h"

enum {
    /* a loop ends where the carried value is that much smaller than what its largest
     * node reads and makes, and all later nodes are smaller by that factor */
    SLICE_CROSSING = 4,
    SLICE_BEHIND = 2,
    SLICE_VALUES = 8,   /* that go into a loop, or on from it, at most */
    SLICE_OUTSIDE = -1, /* slice_value.first */
    SLICE_WITHIN = -2,
};

typedef enum slice_kind {
    SLICE_IMAGES, /* a tensor whose first dim is the batch's */
    SLICE_LIST,   /* of such tensors */
    SLICE_SAME,   /* a tensor that broadcasts with every image alike */
    SLICE_NUMBER, /* that does not depend on how many images there are */
} slice_kind;

/* What is known of a value of the run. */
typedef struct slice_value {
    slice_kind kind;
    int rank;                /* of SLICE_SAME without the dims of size 1 in front */
    double pixels, channels; /* of an image; the former relative to the run's first images */
    /* places in the run: where it is made, or SLICE_OUTSIDE, or SLICE_WITHIN
     * a group; where it is read last: the run's length if after it */
    int first, last;
} slice_value;

typedef struct slicer {
    graph *g;
    alias_db *db;
    ptrmap known;  /* ir_value -> slice_value, of the run */
    ptrmap places; /* node of the run -> its place, from 1 on */
    VEC(node *) run;
    VEC(ir_value *) values; /* known values in the block */
    bool failed, changed;
} slicer;

static double slice_elements(const slice_value *v) {
    return v->kind == SLICE_IMAGES || v->kind == SLICE_LIST ? v->pixels * v->channels : 0;
}

static slice_value *slice_known(const slicer *s, const ir_value *v) {
    return ptrmap_get(&s->known, v);
}

static const slice_value *slice_images(const slicer *s, const ir_value *v) {
    const slice_value *k = slice_known(s, v);
    return k && k->kind == SLICE_IMAGES ? k : NULL;
}

static void slice_add(slicer *s, ir_value *v, const slice_value *is, int first) {
    slice_value *k = arena_alloc(&s->g->arena, sizeof *k);
    if (!k || !ptrmap_put(&s->known, v, k) || (first != SLICE_WITHIN && !vec_push(&s->values, v))) {
        s->failed = true;
        return;
    }
    *k = *is;
    k->first = k->last = first;
}

/* ---- what a node does to images -------------------------------------------------------------- */

/* Something without tensors: a number, numbers in a list, a text, None. */
static bool slice_is_plain(const ir_value *v) {
    const type *t = v->type->kind == T_LIST ? v->type->elems[0] : v->type;
    return t->kind == T_INT || t->kind == T_FLOAT || t->kind == T_BOOL || t->kind == T_NONE ||
           t->kind == T_STR;
}

/* Is v images or a number of the run, or without tensors? */
static bool slice_takes_one(const slicer *s, const ir_value *v) {
    const slice_value *x = slice_known(s, v);
    return x ? x->kind == SLICE_IMAGES || x->kind == SLICE_NUMBER : slice_is_plain(v);
}

/* Are the arguments from this one on such? */
static bool slice_takes(const slicer *s, const node *n, size_t from) {
    for (size_t i = from; i < n->inputs.len; i++)
        if (!slice_takes_one(s, n->inputs.data[i])) return false;
    return true;
}

static bool slice_is_conv(const node *n) {
    return n->kind == N_OP && n->op &&
           (n->op->symbol == SYM_CTSC_CONV_CHANNELS_LAST ||
            n->op->symbol == SYM_CTSC_CONV_CHANNELS_LAST_SCALED ||
            n->op->symbol == SYM_CTSC_CONV_CHANNELS_LAST_PLACED);
}

/* Is it one of images that surely have a batch dim, perhaps of more than one image? */
static bool slice_begins(const node *n) {
    tensor *w;
    bool batched;
    if (!slice_is_conv(n)) return false;
    const ir_value *x = n->inputs.data[CONV_LAST_INPUT];
    return known_tensor(n->inputs.data[CONV_LAST_WEIGHT], &w) && w->ndim > 2 &&
           (known_rank(x) == w->ndim ||
            (known_bool(n->inputs.data[CONV_LAST_BATCHED], &batched) && batched)) &&
           known_size(x, 0) != 1;
}

/* The product of a list's ints: by how much a stride makes images smaller. */
static double slice_shrinks(const ir_value *list) {
    int64_t ints[KNOWN_MAX_INTS];
    int n;
    double p = 1;
    if (!known_ints(list, ints, &n)) return 1;
    for (int i = 0; i < n; i++) p *= (double)(ints[i] > 0 ? ints[i] : 1);
    return p;
}

/* Weight, bias and factors are constants: any other tensor is of images. */
static bool slice_conv(const slicer *s, const node *n, slice_value *out) {
    tensor *w, *t;
    bool transposed;
    int64_t groups;
    const slice_value *x = slice_images(s, n->inputs.data[CONV_LAST_INPUT]);
    const ir_value *bias = n->inputs.data[CONV_LAST_BIAS],
                   *factors = n->inputs.data[CONV_LAST_FACTORS];
    if (!x || !known_tensor(n->inputs.data[CONV_LAST_WEIGHT], &w) || w->ndim != x->rank ||
        !known_bool(n->inputs.data[CONV_LAST_TRANSPOSED], &transposed) ||
        !known_int(n->inputs.data[CONV_LAST_GROUPS], &groups) ||
        (!known_is_none(bias) && !known_tensor(bias, &t)) ||
        (!known_is_none(factors) && !known_tensor(factors, &t)))
        return false;
    for (size_t i = CONV_LAST_STRIDE; i < n->inputs.len; i++)
        if (i != CONV_LAST_FACTORS && !slice_takes_one(s, n->inputs.data[i])) return false;
    double stride = slice_shrinks(n->inputs.data[CONV_LAST_STRIDE]), pixels = x->pixels;
    if (n->op->symbol == SYM_CTSC_CONV_CHANNELS_LAST_SCALED) {
        const slice_value *scale = slice_images(s, n->inputs.data[CONV_LAST_ARGS]);
        if (!scale || scale->rank != x->rank) return false;
        if (scale->pixels > pixels) pixels = scale->pixels; /* either may be what is scaled */
    }
    *out = *x;
    out->channels = transposed ? (double)w->sizes[1] * (double)groups : (double)w->sizes[0];
    out->pixels = transposed ? pixels * stride : pixels / stride;
    return true;
}

static bool slice_pool(const slicer *s, const node *n, slice_value *out) {
    const slice_value *x = slice_images(s, n->inputs.data[0]);
    if (!x || x->rank != 4 || !slice_takes(s, n, 1)) return false;
    *out = *x;
    switch (n->op->symbol) {
    case SYM_CTSC_MAX_POOL2D_CHANNELS_LAST:
    case SYM_CTSC_AVG_POOL2D_CHANNELS_LAST: out->pixels /= slice_shrinks(n->inputs.data[2]); break;
    case SYM_CTSC_ADAPTIVE_AVG_POOL2D_CHANNELS_LAST: out->pixels = 0; break;
    default: out->pixels *= 4; /* interpolation: as a rule each side twice */
    }
    return true;
}

/* A constant dim that is not the batch's, counted from the end. */
static bool slice_dim(const ir_value *v, int rank) {
    int64_t dim;
    return known_int(v, &dim) && dim < 0 && dim > -rank;
}

static bool slice_reduce(const slicer *s, const node *n, slice_value *out) {
    int64_t dims[KNOWN_MAX_INTS];
    int count;
    bool keep;
    const slice_value *x = n->inputs.len > 2 ? slice_images(s, n->inputs.data[0]) : NULL;
    if (!x || !slice_takes(s, n, 1) || !known_ints(n->inputs.data[1], dims, &count) || count < 1 ||
        !known_bool(n->inputs.data[2], &keep) || !keep)
        return false;
    for (int i = 0; i < count; i++)
        if (dims[i] >= 0 || dims[i] <= -x->rank) return false;
    *out = *x;
    out->pixels = 0;
    return true;
}

/* A constant: its dims without those of size 1 in front. */
static bool slice_same(const ir_value *v, slice_value *out) {
    tensor *t;
    int ones = 0;
    if (!known_tensor(v, &t)) return false;
    while (ones < t->ndim && t->sizes[ones] == 1) ones++;
    *out = (slice_value){.kind = SLICE_SAME, .rank = t->ndim - ones};
    return true;
}

/* Elements one by one; the result is as large as the largest operand. */
static bool slice_pointwise(const slicer *s, const node *n, slice_value *out) {
    bool any = false;
    for (size_t i = 0; i < n->inputs.len; i++) {
        const slice_value *x = slice_images(s, n->inputs.data[i]);
        if (!x) continue;
        if (any && x->rank != out->rank) return false;
        if (!any || slice_elements(x) > slice_elements(out)) *out = *x;
        any = true;
    }
    for (size_t i = 0; any && i < n->inputs.len; i++) {
        const slice_value *x = slice_known(s, n->inputs.data[i]);
        slice_value same;
        if (!x && slice_same(n->inputs.data[i], &same)) x = &same;
        if (x ? x->kind == SLICE_LIST || (x->kind == SLICE_SAME && x->rank >= out->rank)
              : !slice_is_plain(n->inputs.data[i]))
            return false;
    }
    return any;
}

static bool slice_join_of(const slicer *s, const node *n, slice_value *out) {
    const slice_value *list = slice_known(s, n->inputs.data[0]);
    if (!list || list->kind != SLICE_LIST || !slice_dim(n->inputs.data[1], list->rank) ||
        !slice_takes(s, n, 2))
        return false;
    *out = *list;
    out->kind = SLICE_IMAGES;
    return true;
}

/* A number made of numbers, or the size of a dim that is not the batch's. */
static bool slice_number(const slicer *s, const node *n, slice_value *out) {
    const slice_value *x = n->inputs.len ? slice_known(s, n->inputs.data[0]) : NULL;
    *out = (slice_value){.kind = SLICE_NUMBER};
    if (n->op->symbol == SYM_SIZE_INT)
        return x && x->kind == SLICE_IMAGES && slice_dim(n->inputs.data[1], x->rank);
    const type *t = n->outputs.data[0]->type;
    bool of_run = false;
    if ((t->kind != T_INT && t->kind != T_FLOAT && t->kind != T_BOOL) || !n->op->fn) return false;
    for (size_t i = 0; i < n->inputs.len; i++) {
        x = slice_known(s, n->inputs.data[i]);
        if (x ? x->kind != SLICE_NUMBER : !slice_is_plain(n->inputs.data[i])) return false;
        of_run |= x != NULL;
    }
    return of_run;
}

static bool slice_operator(const slicer *s, const node *n, slice_value *out) {
    if (n->outputs.len != 1) return false;
    if (slice_is_conv(n)) return slice_conv(s, n, out);
    switch (n->op->symbol) {
    case SYM_CTSC_MAX_POOL2D_CHANNELS_LAST:
    case SYM_CTSC_AVG_POOL2D_CHANNELS_LAST:
    case SYM_CTSC_ADAPTIVE_AVG_POOL2D_CHANNELS_LAST:
    case SYM_CTSC_UPSAMPLE_NEAREST2D_CHANNELS_LAST:
    case SYM_CTSC_UPSAMPLE_BILINEAR2D_CHANNELS_LAST: return slice_pool(s, n, out);
    case SYM_MEAN_DIM:
    case SYM_SUM_DIM_INTLIST:
    case SYM_AMAX: return slice_reduce(s, n, out);
    case SYM_CAT:
    case SYM_CTSC_CAT_PLACED: return slice_join_of(s, n, out);
    case SYM_CTSC_PLACE_CHANNELS: {
        const slice_value *x = slice_images(s, n->inputs.data[0]);
        if (!x || !slice_takes(s, n, 1)) return false;
        *out = *x;
        return true;
    }
    default: break;
    }
    if (node_has_visible_effects(n) || node_is_random(n)) return false;
    return fusible_node(n) == FUSIBLE_POINTWISE ? slice_pointwise(s, n, out)
                                                : slice_number(s, n, out);
}

/* A list of images, or of numbers with one from the run. */
static bool slice_list(const slicer *s, const node *n, slice_value *out) {
    *out = (slice_value){.kind = SLICE_NUMBER};
    if (slice_is_plain(n->outputs.data[0])) {
        for (size_t i = 0; i < n->inputs.len; i++)
            if (slice_known(s, n->inputs.data[i])) return true;
        return false;
    }
    for (size_t i = 0; i < n->inputs.len; i++) {
        const slice_value *x = slice_images(s, n->inputs.data[i]);
        if (!x || (i && x->rank != out->rank)) return false;
        double channels = out->channels + x->channels;
        if (!i || x->pixels > out->pixels) *out = *x;
        out->kind = SLICE_LIST;
        out->channels = channels;
    }
    return n->inputs.len > 0;
}

/* A group each of whose nodes does the same to every image; its results. */
static bool slice_group(slicer *s, const node *n, slice_value *out) {
    const attr *body = node_attr(n, "Subgraph");
    if (!body || body->kind != ATTR_GRAPH || n->outputs.len > SLICE_VALUES) return false;
    const block *b = body->u.g->root;
    for (size_t i = 0; i < b->params.len; i++) {
        const slice_value *x = slice_known(s, n->inputs.data[i]);
        slice_value same;
        if (!x && slice_same(n->inputs.data[i], &same)) x = &same;
        if (x) slice_add(s, b->params.data[i], x, SLICE_WITHIN);
        else if (!slice_is_plain(n->inputs.data[i])) return false;
    }
    for (const node *m = b->first; m && !s->failed; m = m->next) {
        slice_value is;
        if (m->kind == N_CONSTANT) continue;
        if (m->kind == N_LIST_CONSTRUCT
                ? !slice_takes(s, m, 0) || !slice_is_plain(m->outputs.data[0])
                : m->kind != N_OP || !m->op || !slice_operator(s, m, &is))
            return false;
        if (m->kind == N_OP) slice_add(s, m->outputs.data[0], &is, SLICE_WITHIN);
    }
    for (size_t i = 0; i < b->returns.len && !s->failed; i++) {
        const slice_value *y = slice_images(s, b->returns.data[i]);
        if (!y) return false;
        out[i] = *y;
    }
    return !s->failed;
}

/* Takes n into the run if it belongs there. */
static bool slice_extend(slicer *s, node *n) {
    slice_value is[SLICE_VALUES];
    bool fits = n->kind == N_FUSION_GROUP ? slice_group(s, n, is)
                : n->kind == N_LIST_CONSTRUCT
                    ? slice_list(s, n, is)
                    : n->kind == N_OP && n->op && slice_operator(s, n, is);
    if (!fits || s->failed) return false;
    int place = (int)s->run.len;
    for (size_t i = 0; i < n->outputs.len; i++) slice_add(s, n->outputs.data[i], &is[i], place);
    if (!vec_push(&s->run, n) || !ptrmap_put(&s->places, n, (void *)(intptr_t)(place + 1)))
        s->failed = true;
    return !s->failed;
}

/* ---- loops ----------------------------------------------------------------------------------- */

typedef struct slice_loop {
    int first, end; /* of the run's nodes */
    double largest; /* elements of an image that one node reads and makes, at most */
} slice_loop;

static int slice_place(const slicer *s, const node *n) {
    return n ? (int)(intptr_t)ptrmap_get(&s->places, n) - 1 : -1;
}

/* Is the use before the run? */
static bool slice_use_before(const slicer *s, const use *u) {
    const block *run = s->run.data[0]->owner;
    const node *n = u->user ? u->user : u->blk->parent;
    while (n && n->owner != run) n = n->owner->parent;
    return n && node_before(n, s->run.data[0]);
}

static void slice_uses(slicer *s) {
    for (size_t i = 0; i < s->values.len; i++) {
        const ir_value *v = s->values.data[i];
        slice_value *k = slice_known(s, v);
        for (size_t u = 0; u < v->uses.len; u++) {
            int at = slice_place(s, v->uses.data[u].user);
            if (at < 0 && k->first == SLICE_OUTSIDE && slice_use_before(s, &v->uses.data[u]))
                continue;
            if (at < 0) at = (int)s->run.len;
            if (at > k->last) k->last = at;
        }
    }
}

/* The only value that is read after this place of the run; NULL: none, or several. */
static const slice_value *slice_crossing(const slicer *s, int place) {
    const slice_value *one = NULL;
    for (size_t i = 0; i < s->values.len; i++) {
        const slice_value *k = slice_known(s, s->values.data[i]);
        if (k->first > place || k->last <= place) continue;
        if (one || k->kind != SLICE_IMAGES) return NULL;
        one = k;
    }
    return one;
}

static double slice_alive(const slicer *s, const node *n) {
    double sum = 0;
    for (size_t i = 0; i < n->inputs.len; i++) {
        const slice_value *x = slice_known(s, n->inputs.data[i]);
        if (x) sum += slice_elements(x);
    }
    for (size_t i = 0; i < n->outputs.len; i++)
        sum += slice_elements(slice_known(s, n->outputs.data[i]));
    return sum;
}

/* The loop that begins at `first`. behind: for each place of
 * the run, the most that one node from there on has alive. */
static slice_loop slice_next(const slicer *s, int first, const double *behind) {
    slice_loop l = {.first = first, .end = (int)s->run.len};
    for (int i = first; i + 1 < (int)s->run.len; i++) {
        double alive = slice_alive(s, s->run.data[i]);
        if (alive > l.largest) l.largest = alive;
        if (behind[i + 1] * SLICE_BEHIND > l.largest) continue;
        const slice_value *on = slice_crossing(s, i);
        if (on && slice_elements(on) * SLICE_CROSSING <= l.largest) {
            l.end = i + 1;
            return l;
        }
    }
    l.largest = behind[first];
    return l;
}

typedef struct slice_build {
    slicer *s;
    const slice_loop *l;
    node *loop;
    block *body;
    ir_value *in[SLICE_VALUES], *on[SLICE_VALUES];
    int nin, non;
} slice_build;

static bool slice_put(ir_value **values, int *n, ir_value *v) {
    for (int i = 0; i < *n; i++)
        if (values[i] == v) return true;
    if (*n == SLICE_VALUES) return false;
    values[(*n)++] = v;
    return true;
}

/* What goes in and what goes on; false: more than images do, or there is nothing to gain. */
static bool slice_borders(slice_build *b) {
    const slicer *s = b->s;
    const slice_loop *l = b->l;
    bool conv = false;
    for (int i = l->first; i < l->end; i++) {
        const node *n = s->run.data[i];
        conv |= slice_is_conv(n);
        for (size_t k = 0; k < n->inputs.len; k++) {
            const slice_value *x = slice_known(s, n->inputs.data[k]);
            if (!x || x->first >= l->first) continue;
            if (x->kind != SLICE_IMAGES || !slice_put(b->in, &b->nin, n->inputs.data[k]))
                return false;
        }
        for (size_t k = 0; k < n->outputs.len; k++) {
            const slice_value *y = slice_known(s, n->outputs.data[k]);
            if (y->last < l->end) continue;
            if (y->kind != SLICE_IMAGES || !slice_put(b->on, &b->non, n->outputs.data[k]))
                return false;
        }
    }
    return conv && l->end - l->first > 1 && b->nin && b->non &&
           slice_known(s, b->in[0])->pixels > 0;
}

static ir_value *slice_call(slice_build *b, op_symbol symbol, int n, ir_value *const *args) {
    node *call = node_new_op(b->s->g, op_of(symbol), n, args);
    call->range = b->loop->range;
    block_append(b->body, call);
    return call->outputs.data[0];
}

/* The uses of a result, except for those within the loop, become the loop's output's. */
static void slice_hand_on(slice_build *b, ir_value *v, ir_value *out) {
    for (size_t i = v->uses.len; i-- > 0;) {
        use u = v->uses.data[i];
        int at = slice_place(b->s, u.user);
        if (at >= b->l->first && at < b->l->end) continue;
        if (u.user) node_set_input(u.user, u.index, out);
        else block_set_return(u.blk, u.index, out);
    }
    value_copy_name(out, v);
}

static void slice_make(slice_build *b) {
    slicer *s = b->s;
    const slice_loop *l = b->l;
    node *first = s->run.data[l->first];
    const slice_value *x = slice_known(s, b->in[0]);
    ir_value *density = graph_constant_before_take(first, value_float(l->largest / x->pixels),
                                                   NULL);
    ir_value *yes = rewrite_bool(first, true);
    ir_value *count = rewrite_op(first, op_of(SYM_CTSC_IMAGE_SLICES), 2,
                                 (ir_value *[]){b->in[0], density});
    b->loop = node_new(s->g, N_LOOP, 2, (ir_value *[]){count, yes}, 0);
    b->loop->range = first->range;
    node_insert_before(b->loop, first);
    b->body = node_add_block(b->loop);
    ir_value *i = block_add_param(b->body, TYPE_INT);
    block_add_return(b->body, yes);
    for (int k = 0; k < b->nin; k++) {
        ir_value *slice = slice_call(b, SYM_CTSC_IMAGE_SLICE, 3,
                                     (ir_value *[]){b->in[k], i, count});
        for (int m = l->first; m < l->end; m++)
            for (size_t a = 0; a < s->run.data[m]->inputs.len; a++)
                if (s->run.data[m]->inputs.data[a] == b->in[k])
                    node_set_input(s->run.data[m], (int)a, slice);
    }
    for (int k = 0; k < b->non; k++) {
        ir_value *v = b->on[k], *out = node_add_output(b->loop, v->type);
        slice_value is = *slice_known(s, v);
        slice_hand_on(b, v, out);
        slice_add(s, out, &is, is.first);
        node_add_input(b->loop, b->in[0]);
        ir_value *whole = block_add_param(b->body, TYPE_TENSOR);
        block_add_return(b->body, slice_call(b, SYM_CTSC_IMAGE_JOIN, 5,
                                             (ir_value *[]){whole, v, b->in[0], i, count}));
    }
    node *joins = b->body->last;
    for (int k = 1; k < b->non; k++) joins = joins->prev;
    for (int m = l->first; m < l->end; m++) {
        node *n = s->run.data[m];
        node_move_before(n, joins);
        /* sizes that were known are those of the batch */
        for (size_t i = 0; i < n->outputs.len; i++)
            if (n->outputs.data[i]->type->kind == T_TENSOR) n->outputs.data[i]->type = TYPE_TENSOR;
    }
    s->changed = true;
}

/* Numbers and lists at the end are for later users. */
static void slice_trim(slicer *s) {
    while (s->run.len) {
        const node *n = s->run.data[s->run.len - 1];
        if (n->outputs.len && slice_images(s, n->outputs.data[0])) break;
        (void)ptrmap_put(&s->places, n, NULL); /* has a place: needs no memory */
        s->run.len--;
    }
}

static void slice_run(slicer *s) {
    slice_trim(s);
    int n = (int)s->run.len;
    double *behind = arena_alloc(&s->g->arena, (size_t)n * sizeof *behind);
    if (!behind) s->failed = true;
    slice_uses(s);
    for (int i = n - 1; i >= 0 && behind; i--) {
        behind[i] = slice_alive(s, s->run.data[i]);
        if (i + 1 < n && behind[i + 1] > behind[i]) behind[i] = behind[i + 1];
    }
    for (int first = 0; first < n && !s->failed;) {
        slice_loop l = slice_next(s, first, behind);
        slice_build b = {.s = s, .l = &l};
        if (slice_borders(&b)) slice_make(&b);
        first = l.end;
    }
}

static void slice_forget(slicer *s) {
    ptrmap_free(&s->known);
    ptrmap_free(&s->places);
    s->known = s->places = (ptrmap){0};
    s->run.len = s->values.len = 0;
}

/* Processes the run that begins with the convolution n; returns where to continue. */
static node *slice_from(slicer *s, node *n) {
    node *next = n->next;
    tensor *w;
    (void)known_tensor(n->inputs.data[CONV_LAST_WEIGHT], &w); /* it has one: it begins a run */
    slice_value images = {
        .kind = SLICE_IMAGES, .rank = w->ndim, .pixels = 1, .channels = (double)w->sizes[1]};
    slice_add(s, n->inputs.data[CONV_LAST_INPUT], &images, SLICE_OUTSIDE);
    if (!slice_extend(s, n)) return next;
    for (; next && !s->failed; n = next) {
        next = n->next;
        if (slice_place(s, n) >= 0 || slice_extend(s, n)) continue;
        if (n->blocks.len || !alias_can_move_before(s->db, n, s->run.data[0])) {
            next = n;
            break;
        }
        node_move_before(n, s->run.data[0]);
    }
    slice_run(s);
    return next;
}

static void slice_block(slicer *s, block *b) {
    for (node *n = b->first, *next; n && !s->failed; n = next) {
        for (size_t i = 0; i < n->blocks.len; i++) slice_block(s, n->blocks.data[i]);
        next = slice_begins(n) ? slice_from(s, n) : n->next;
        slice_forget(s);
    }
}

bool pass_slice_images(pass_ctx *cx, graph *g) {
    slicer s = {.g = g, .db = alias_new(g)};
    if (s.db) slice_block(&s, g->root);
    if (!s.db || s.failed) diag_no_memory(cx->diag);
    if (s.db) alias_free(s.db);
    slice_forget(&s);
    vec_free(&s.run);
    vec_free(&s.values);
    return s.changed;
}
