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
 * Lists of numbers are onnx_out_numbers.c's.
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

/* The examples of r: an element of like's, once and twice. */
static bool list_like(onnx_out *o, const out_value *like, out_value *r) {
    for (int w = 0; w < o->worlds; w++) {
        list *l = list_new(LIST_TENSOR, TYPE_TENSOR, 2);
        if (!l) return out_no_memory(o);
        r->v[w] = value_list_take(l);
        for (int i = 0; i <= w && like->v[w].u.list->len; i++)
            if (!list_append_take(l, list_get(like->v[w].u.list, like->v[w].u.list->len - 1)))
                return out_no_memory(o);
    }
    return true;
}

static bool list_learn(onnx_out *o, out_seq *s, const out_value *item) {
    if (item->v[0].tag != V_TENSOR) return out_refuse(o, "a list of what are not tensors");
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

/* The names of the elements of a list that is not a sequence; s learns of them. */
static const char **list_names(onnx_out *o, out_seq *s, const out_value *x) {
    size_t n = out_len(x);
    const char **names = arena_array(&o->scratch, const char *, n + 1);
    if (!names) return out_no_memory(o), NULL;
    for (size_t i = 0; i < n; i++) {
        out_value *item = out_item(o, x, i);
        if (!item || (item->stale && !out_refresh(o, item))) return NULL;
        if (!list_learn(o, s, item) || !lists_mark(o, item) || !(names[i] = out_name(o, item)))
            return NULL;
    }
    return names;
}

static const char *list_construct(onnx_out *o, out_seq *s, size_t n, const char *const *names) {
    if (n) return out_node(o, "SequenceConstruct", (int)n, names);
    const char *name = out_node(o, "SequenceEmpty", 0, NULL);
    if (!name) return NULL;
    out_int(o, "dtype", onnx_from_dtype(s->dt < 0 ? DT_FLOAT32 : (dtype)s->dt));
    const Onnx__NodeProto *made = vec_last(&o->nodes);
    s->empty = made->n_attribute ? made->attribute[0] : NULL;
    return name;
}

/* From now on x is a value of the model. */
static bool list_open(onnx_out *o, out_value *x) {
    size_t n = out_len(x);
    if (x->seq) return true;
    if (numbers_is(x->v[0])) return numbers_open(o, x);
    out_seq *s = arena_new(&o->scratch, out_seq);
    if (!s) return out_no_memory(o);
    s->dt = -1;
    const char **names = list_names(o, s, x);
    out_value *last = names && n ? out_item(o, x, n - 1) : NULL;
    if (!names || (n && !last)) return false;
    for (int w = 0; w < o->worlds; w++) {
        list *l = list_new(LIST_TENSOR, TYPE_TENSOR, 2);
        if (!l) return out_no_memory(o);
        value_set(&x->v[w], value_list_take(l));
    }
    if (n && !list_example(o, x, last)) return false;
    x->name = list_construct(o, s, n, names);
    x->seq = s;
    x->items = NULL;
    x->nitems = x->cap = 0;
    return x->name != NULL;
}

bool lists_may_open(const out_value *x) {
    return x->v[0].tag == V_LIST && (x->v[0].u.list->kind == LIST_TENSOR || numbers_is(x->v[0]));
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
        if (!x || x->gone || x->seq || !lists_may_open(x)) continue;
        if (o->worlds == 1) {
            o->two = true;
            return out_refuse(o, "a list that grows in a branch or loop");
        }
        if (!list_open(o, x)) return false;
    }
    return true;
}

int lists_type(const out_value *x) {
    int type = onnx_from_dtype(x->seq->dt < 0 ? DT_FLOAT32 : (dtype)x->seq->dt);
    return x->seq->numbers ? type : OUT_SEQUENCE + type;
}

/* At the end, or in front. */
static bool list_insert(onnx_out *o, out_value *x, out_value *item, bool front) {
    if (item->stale && !out_refresh(o, item)) return false;
    if (!list_learn(o, x->seq, item) || !lists_mark(o, item)) return false;
    const char *name = out_name(o, item);
    const char *to = name ? out_name(o, x) : NULL;
    if (!to) return false;
    x->name = front ? OUT(o, "SequenceInsert", to, name, out_const_int(o, 0))
                    : OUT(o, "SequenceInsert", to, name);
    if (!x->name) return false;
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

/* a + b, at least one of them a value of the model. */
static out_value *list_add(onnx_out *o, out_value *a, out_value *b) {
    bool front = !a->seq, numbers = (front ? b : a)->seq->numbers;
    out_value *base = front && !numbers ? b : a, *more = front ? a : b, *r = lists_copy(o, base);
    if (!r) return NULL;
    if (numbers) return (r->name = numbers_join(o, r->name, b)) ? r : NULL;
    if (a->seq && b->seq)
        return out_refuse(o, "of two lists whose lengths the model computes"), NULL;
    for (size_t n = out_len(more), i = 0; i < n; i++) {
        out_value *item = out_item(o, more, front ? n - 1 - i : i);
        if (!item || !list_insert(o, r, item, front)) return NULL;
    }
    return r;
}

/* Operators distinguished only by list arguments: *done says whether n is one. */
bool lists_call(onnx_out *o, const node *n, out_value **args, bool *done) {
    out_value *x = args[0], *r;
    *done = true;
    if (n->op->name_symbol == SYM_ADD && args[1]->v[0].tag == V_LIST) {
        r = list_add(o, x, args[1]);
        return r && out_put(o, n->outputs.data[0], r);
    }
    if (x->seq->numbers) return numbers_call(o, n, args, done);
    switch (n->op->name_symbol) {
    case SYM_APPEND:
        if (!list_insert(o, x, args[1], false)) return false;
        r = x;
        break;
    case SYM_ADD_:
    case SYM_EXTEND:
        if (args[1]->seq) return out_refuse(o, "of two lists whose lengths the model computes");
        for (size_t i = 0; i < out_len(args[1]); i++) {
            out_value *item = out_item(o, args[1], i);
            if (!item || !list_insert(o, x, item, false)) return false;
        }
        r = x;
        break;
    case SYM_LEN: r = list_length(o, x); break;
    case SYM___GETITEM__: r = list_at(o, x, args[1]); break;
    case SYM_CAT:
    case SYM_CTSC_ONNX_STACK:
    case SYM_STACK: *done = false; return true;
    default: return out_refuse(o, "of a list whose length the model computes");
    }
    return r && (!n->outputs.len || out_put(o, n->outputs.data[0], r));
}

const char *lists_name(onnx_out *o, out_value *x, out_seq *s) {
    if (s->numbers) return numbers_name(o, x);
    if (x->seq) return out_name(o, x);
    const char **names = list_names(o, s, x);
    return names ? list_construct(o, s, out_len(x), names) : NULL;
}

bool lists_like(onnx_out *o, const out_value *like, out_value *r) {
    r->seq = like->seq;
    return like->seq->numbers ? numbers_example(o, like, r) : list_like(o, like, r);
}

out_value *lists_copy(onnx_out *o, out_value *x) {
    out_seq *s = x->seq ? x->seq : arena_new(&o->scratch, out_seq);
    out_value *r = out_new(o);
    if (!s || !r) return out_no_memory(o), NULL;
    if (!x->seq) {
        s->numbers = numbers_is(x->v[0]);
        s->dt = s->numbers ? (int)numbers_dtype(x->v[0].u.list) : -1;
    }
    r->name = lists_name(o, x, s);
    r->seq = s;
    bool ok = r->name && (s->numbers ? numbers_example(o, x, r) : list_like(o, x, r));
    return ok ? r : NULL;
}

/* lists_name within the branch whose frame is f. */
static const char *list_within(onnx_out *o, struct out_frame *f, out_value *a, out_seq *s) {
    flow_exchange(o, f);
    const char *name = lists_name(o, a, s);
    flow_exchange(o, f);
    return name;
}

/* What is known of the elements of a and b, as far as these are sequences. */
static bool list_common(onnx_out *o, const out_value *a, const out_value *b, out_seq *s) {
    const out_value *both[] = {a, b};
    s->dt = -1;
    s->numbers = numbers_is(a->v[0]);
    if (s->numbers) s->dt = (int)numbers_dtype(a->v[0].u.list);
    for (int i = 0; i < 2 && !s->numbers; i++) {
        const out_seq *t = both[i]->seq;
        if (!t || t->dt < 0) continue;
        if (s->dt >= 0 && (s->dt != t->dt || s->ndim != t->ndim))
            return out_refuse(o, "a list of tensors of several dtypes or numbers of dims");
        s->dt = t->dt;
        s->ndim = t->ndim;
    }
    return true;
}

/* The one with elements goes first: an empty one has to know their dtype. */
out_value *lists_merge(onnx_out *o, struct out_frame *f, out_value *a, struct out_frame *g,
                       out_value *b, const char **from_a, const char **from_b) {
    out_seq *s = arena_new(&o->scratch, out_seq);
    out_value *r = out_new(o);
    if (!s || !r) return out_no_memory(o), NULL;
    if (!lists_may_open(a) || !lists_may_open(b) || a->v[0].u.list->kind != b->v[0].u.list->kind)
        return out_refuse(o, "lists of other lengths in the two branches"), NULL;
    if (!list_common(o, a, b, s)) return NULL;
    bool swap = !out_len(a);
    const char *p = list_within(o, swap ? g : f, swap ? b : a, s),
               *q = p ? list_within(o, swap ? f : g, swap ? a : b, s) : NULL;
    const out_value *like = swap ? b : a;
    if (!q) return NULL;
    *from_a = swap ? q : p;
    *from_b = swap ? p : q;
    if (s->numbers ? !numbers_example(o, like, r) : !list_like(o, like, r)) return NULL;
    r->seq = s;
    return r;
}

/* A result of the model: a sequence, or a tensor of numbers. */
bool lists_result(onnx_out *o, out_value *x, const char *name) {
    if (o->opset < 14 && !x->seq->numbers)
        return out_refuse(o, "a result is a list whose length the model computes, which needs "
                             "operator set 14");
    if (o->outputs.len < o->opt->noutputs) name = o->opt->outputs[o->outputs.len];
    const char *from = out_name(o, x), *own = out_fresh(o, name), *to = OUT(o, "Identity", from);
    if (!from || !own || !to) return false;
    *vec_last(&o->nodes)->output = (char *)(uintptr_t)own;
    return x->seq->numbers ? numbers_output(o, own, (dtype)x->seq->dt)
                           : out_output_sequence(o, own, lists_type(x));
}

/* cat and stack. */
const char *lists_join(onnx_out *o, out_value *x, int64_t dim, bool stack) {
    const char *name = out_name(o, x), *y = name ? OUT(o, "ConcatFromSequence", name) : NULL;
    out_int(o, "axis", dim);
    if (stack) out_int(o, "new_axis", 1);
    return y;
}
