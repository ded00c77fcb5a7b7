/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out_lists.c - lists of tensors that branches and loops fill, whose length the model
 * computes: sequences.
 *
 *     %l : Tensor[] = prim::ListConstruct()              l = SequenceEmpty()
 *     prim::Loop(%n, %true)                              l1 = Loop(n, "", l)
 *       block0(%i):                                ->      body(i, go, l0):
 *          %y = aten::mul(%x, %i)                             y = Mul(x, i)
 *          aten::append(%l, %y)                               l2 = SequenceInsert(l0, y)
 *     %s = aten::stack(%l, %0)                           s = ConcatFromSequence(l1)
 *
 * Method. Before a branch or a body is walked, the lists from outside that it changes become values
 * of the model, carried like tensors that are written (onnx_out_flow.c). Their example has some
 * element once in the first world and twice in the second, so that what is made of all of them has
 * a size that may change.
 *
 * A sequence has tensors as they were when they were put there; a list has the tensors themselves.
 * So what is in one may not be written any more.
 */
#include "frontend/onnx/onnx_out_internal.h"

struct out_seq {
    int dt; /* -1: not known yet */
    int ndim;
    Onnx__AttributeProto *empty; /* of SequenceEmpty: its dtype */
};

bool lists_mark(onnx_out *o, const out_value *x) {
    for (int w = 0; w < o->worlds; w++)
        if (x->v[w].tag == V_TENSOR && !ptrmap_put(&o->listed, x->v[w].u.tensor->storage, o))
            return out_no_memory(o);
    return true;
}

/* The examples: an element of x's in world w times w + 1 where there is none yet. */
static bool list_example(onnx_out *o, out_value *x, const out_value *item) {
    for (int w = 0; w < o->worlds; w++)
        for (int i = 0; i <= w; i++)
            if (!list_append_take(x->v[w].u.list, value_ref(item->v[w]))) return out_no_memory(o);
    return true;
}

static bool list_learn(onnx_out *o, struct out_seq *s, const out_value *item) {
    if (item->v[0].tag != V_TENSOR) return out_refuse(o, "a list of what are no tensors");
    const tensor *t = item->v[0].u.tensor;
    int type = onnx_from_dtype((dtype)t->dtype);
    if (type < 0 || dtype_is_quantised((dtype)t->dtype))
        return out_refuse(o, "ONNX has no sequences of %s", dtype_table[t->dtype].torch_name);
    if (s->dt >= 0 && (s->dt != t->dtype || s->ndim != t->ndim))
        return out_refuse(o, "a list of tensors of several dtypes or numbers of dims");
    s->dt = t->dtype;
    s->ndim = t->ndim;
    if (s->empty) s->empty->i = type;
    return true;
}

/* From now on x is a value of the model. */
static bool list_open(onnx_out *o, out_value *x) {
    size_t n = out_len(x);
    const char **names = arena_array(&o->scratch, const char *, n + 1);
    struct out_seq *s = arena_new(&o->scratch, struct out_seq);
    out_value *last = NULL;
    if (x->seq || x->v[0].u.list->kind != LIST_TENSOR) return true;
    if (!names || !s) return out_no_memory(o);
    s->dt = -1;
    for (size_t i = 0; i < n; i++) {
        if (!(last = out_item(o, x, i))) return false;
        if (last->stale && !out_refresh(o, last)) return false;
        if (!list_learn(o, s, last) || !lists_mark(o, last) || !(names[i] = out_name(o, last)))
            return false;
    }
    for (int w = 0; w < o->worlds; w++) {
        list *l = list_new(LIST_TENSOR, TYPE_TENSOR, 2);
        if (!l) return out_no_memory(o);
        value_set(&x->v[w], value_list_take(l));
    }
    if (n && !list_example(o, x, last)) return false;
    x->name = n ? out_node(o, "SequenceConstruct", (int)n, names)
                : out_node(o, "SequenceEmpty", 0, NULL);
    if (x->name && !n) {
        out_int(o, "dtype", onnx_from_dtype(DT_FLOAT32));
        const Onnx__NodeProto *made = vec_last(&o->nodes);
        s->empty = made->n_attribute ? made->attribute[0] : NULL;
    }
    x->seq = s;
    x->items = NULL;
    x->nitems = x->cap = 0;
    return x->name != NULL;
}

/* Lists from outside that b changes, as far as it names them. */
bool lists_open(onnx_out *o, const block *b) {
    for (const node *n = b->first; n; n = n->next) {
        for (size_t i = 0; i < n->blocks.len; i++)
            if (!lists_open(o, n->blocks.data[i])) return false;
        if (n->kind != N_OP || !n->op || !n->op->schema->has_alias_write || !n->inputs.len ||
            n->inputs.data[0]->type->kind != T_LIST)
            continue;
        out_value *x = ptrmap_get(&o->env, n->inputs.data[0]);
        if (!x || x->gone || x->seq || x->v[0].tag != V_LIST || x->v[0].u.list->kind != LIST_TENSOR)
            continue;
        if (o->worlds == 1) {
            o->two = true;
            return out_refuse(o, "a list that grows in a branch or loop");
        }
        if (!list_open(o, x)) return false;
    }
    return true;
}

int lists_type(const out_value *x) {
    return x->seq->dt < 0 ? onnx_from_dtype(DT_FLOAT32) : onnx_from_dtype((dtype)x->seq->dt);
}

static bool list_append(onnx_out *o, out_value *x, out_value *item) {
    if (item->stale && !out_refresh(o, item)) return false;
    if (!list_learn(o, x->seq, item) || !lists_mark(o, item)) return false;
    const char *name = out_name(o, item);
    if (!name || !out_name(o, x) || !(x->name = OUT(o, "SequenceInsert", x->name, name)))
        return false;
    return x->v[0].u.list->len || list_example(o, x, item);
}

static out_value *list_at(onnx_out *o, out_value *x, out_value *at) {
    out_value *r = out_new(o);
    if (!r) return NULL;
    if (!x->v[0].u.list->len) return out_refuse(o, "an element of an empty list"), NULL;
    for (int w = 0; w < o->worlds; w++) {
        value item = list_get(x->v[w].u.list, 0);
        tensor *t = NULL;
        ctsc_status s = tensor_clone(o->d, item.u.tensor, &t);
        value_unref(item);
        if (s != CTSC_OK) return NULL;
        r->v[w] = value_tensor_take(t);
    }
    const char *index = out_name(o, at), *name = out_name(o, x);
    r->name = index && name ? OUT(o, "SequenceAt", name, index) : NULL;
    return r->name && lists_mark(o, r) ? r : NULL;
}

static out_value *list_length(onnx_out *o, out_value *x) {
    out_value *r = out_new(o);
    if (!r) return NULL;
    for (int w = 0; w < o->worlds; w++) r->v[w] = value_int(w + 1);
    r->tainted = true;
    r->name = out_name(o, x) ? OUT(o, "SequenceLength", x->name) : NULL;
    return r->name ? r : NULL;
}

/* Operators that only list arguments tell apart from others: *done says whether n is one. */
bool lists_call(onnx_out *o, const node *n, out_value **args, bool *done) {
    out_value *x = args[0], *r;
    *done = true;
    switch (n->op->name_symbol) {
    case SYM_APPEND:
        if (!list_append(o, x, args[1])) return false;
        r = x;
        break;
    case SYM_ADD_:
    case SYM_EXTEND:
        if (args[1]->v[0].tag != V_LIST || args[1]->seq) return out_refuse(o, "of such a list");
        for (size_t i = 0; i < out_len(args[1]); i++) {
            out_value *item = out_item(o, args[1], i);
            if (!item || !list_append(o, x, item)) return false;
        }
        r = x;
        break;
    case SYM_LEN: r = list_length(o, x); break;
    case SYM___GETITEM__: r = list_at(o, x, args[1]); break;
    case SYM_CAT:
    case SYM_STACK: *done = false; return true;
    default: return out_refuse(o, "of a list whose length the model computes");
    }
    return r && (!n->outputs.len || out_put(o, n->outputs.data[0], r));
}

/* cat and stack. */
const char *lists_join(onnx_out *o, out_value *x, int64_t dim, bool stack) {
    const char *name = out_name(o, x), *y = name ? OUT(o, "ConcatFromSequence", name) : NULL;
    out_int(o, "axis", dim);
    if (stack) out_int(o, "new_axis", 1);
    return y;
}
