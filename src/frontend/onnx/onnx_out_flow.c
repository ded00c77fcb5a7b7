/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out_flow.c - branches and loops that are not those of the example alone: If and Loop, whose
 * bodies are graphs that see the names around them.
 *
 *     %y = prim::If(%c)       both branches are walked with the example's values; what they give becomes the node's outputs, and
 *       block0() -> (%a)      so do tensors from outside that they write
 *       block1() -> (%b)
 *     %y = prim::Loop(%m, %c, %x)   the body is walked until it is known which carried values change, which tensors from
 *       block0(%i, %x.1) -> (...)   outside are written, and which sizes are others in the next iteration
 *
 * Sizes that one branch has and the other has not, or that change from iteration to iteration, are
 * sizes that may change: the two worlds of the walk (onnx_out.h) get one each. Where the walk has
 * one world only it is done again in two.
 *
 * What a branch gives may be a tensor from outside itself, or a new one: a later write into it is a
 * write into that tensor in one case only. `links` has such pairs; after a write the other one has
 * no name any more, so that reading it is refused.
 *
 * Frames. While a graph is written, o->nodes are its nodes, and names and elements of values from
 * outside are those within; flow_end brings back what they were before.
 */
#include "frontend/onnx/onnx_out_internal.h"

enum { FLOW_MAX_PASSES = 64 };

/* A value's names. */
typedef struct flow_names {
    const char *name, *init;
    bool stale;
} flow_names;

/* Elements as they were before a frame wrote them. */
typedef struct flow_bytes {
    const storage *s;
    void *bytes; /* NULL: none */
} flow_bytes;

typedef struct out_frame {
    struct out_frame *outer;
    size_t count;               /* of values that were there before */
    flow_names *before, *after; /* from mem_alloc: there may be many frames, one after the other */
    VEC(Onnx__NodeProto *) nodes; /* open: those around; ended: its own */
    VEC(flow_bytes) written;
} out_frame;

#define FLOW_SWAP(T, a, b)                                                                         \
    do {                                                                                           \
        T swap_ = (a);                                                                             \
        (a) = (b);                                                                                 \
        (b) = swap_;                                                                               \
    } while (0)

/* ---- frames ---------------------------------------------------------------------------------- */

void flow_exchange(onnx_out *o, out_frame *f) {
    FLOW_SWAP(Onnx__NodeProto **, o->nodes.data, f->nodes.data);
    FLOW_SWAP(size_t, o->nodes.len, f->nodes.len);
    FLOW_SWAP(size_t, o->nodes.cap, f->nodes.cap);
}

static const storage *flow_storage(const out_value *x) {
    return x->v[0].tag == V_TENSOR ? x->v[0].u.tensor->storage : NULL;
}

static bool flow_is_written(const out_frame *f, const storage *s) {
    for (size_t i = 0; s && i < f->written.len; i++)
        if (f->written.data[i].s == s) return true;
    return false;
}

static out_frame *flow_begin(onnx_out *o) {
    out_frame *f = arena_new(&o->scratch, out_frame);
    size_t n = o->values.len;
    if (!f || !(f->before = mem_alloc((n + 1) * sizeof *f->before))) return out_no_memory(o), NULL;
    for (size_t i = 0; i < n; i++) {
        const out_value *x = o->values.data[i];
        f->before[i] = (flow_names){x->name, x->init, x->stale};
    }
    f->count = n;
    f->outer = o->frame;
    o->frame = f;
    flow_exchange(o, f);
    return f;
}

static bool flow_end(onnx_out *o, out_frame *f) {
    if (!(f->after = mem_alloc((f->count + 1) * sizeof *f->after))) return out_no_memory(o);
    for (size_t i = 0; i < o->values.len; i++) {
        out_value *x = o->values.data[i];
        if (i >= f->count) {
            x->gone = true;
            continue;
        }
        f->after[i] = (flow_names){x->name, x->init, x->stale};
        x->name = f->before[i].name;
        x->stale = f->before[i].stale;
        if (flow_is_written(f, flow_storage(x))) x->init = f->before[i].init;
    }
    for (size_t i = 0; i < f->written.len; i++)
        if (f->written.data[i].bytes)
            memcpy(f->written.data[i].s->data, f->written.data[i].bytes,
                   f->written.data[i].s->nbytes);
    o->frame = f->outer;
    flow_exchange(o, f);
    return true;
}

void flow_drop(onnx_out *o, out_frame *f) {
    if (o->frame == f) {
        o->frame = f->outer;
        flow_exchange(o, f);
    }
    for (size_t i = 0; i < f->written.len; i++) mem_free(f->written.data[i].bytes);
    mem_free(f->before);
    mem_free(f->after);
    f->before = f->after = NULL;
    vec_free(&f->written);
    vec_free(&f->nodes);
}

/* ---- writes ---------------------------------------------------------------------------------- */

static bool flow_link(onnx_out *o, const storage *a, const storage *b) {
    return !a || !b || a == b || vec_push(&o->links, ((out_link){a, b})) || out_no_memory(o);
}

static bool flow_keep(onnx_out *o, out_frame *f, const storage *s) {
    if (flow_is_written(f, s)) return true;
    flow_bytes kept = {s, NULL};
    if (s->nbytes && !s->device && s->data) {
        if (!(kept.bytes = mem_alloc(s->nbytes))) return out_no_memory(o);
        memcpy(kept.bytes, s->data, s->nbytes);
    }
    if (vec_push(&f->written, kept)) return true;
    mem_free(kept.bytes);
    return out_no_memory(o);
}

/* Frames that s is from outside of keep what it was. *any: there are such. */
static bool flow_note(onnx_out *o, const storage *s, bool *any) {
    for (out_frame *f = o->frame; f; f = f->outer)
        for (size_t i = 0; i < f->count; i++) {
            const out_value *y = o->values.data[i];
            if (y->gone || flow_storage(y) != s) continue;
            *any = true;
            for (int w = 0; w < o->worlds; w++)
                if (!flow_keep(o, f, y->v[w].u.tensor->storage)) return false;
        }
    return true;
}

bool flow_writes(onnx_out *o, const out_value *x, bool *dynamic) {
    VEC(const storage *) all = {0};
    bool ok = vec_push(&all, flow_storage(x)), any = false;
    for (size_t i = 0; ok && i < all.len; i++)
        for (size_t k = 0; ok && k < o->links.len; k++) {
            out_link l = o->links.data[k];
            const storage *s = l.a == all.data[i] ? l.b : l.b == all.data[i] ? l.a : NULL;
            for (size_t m = 0; s && m < all.len; m++)
                if (all.data[m] == s) s = NULL;
            ok = !s || vec_push(&all, s);
        }
    if (!ok) out_no_memory(o);
    for (size_t i = 0; ok && i < all.len; i++)
        if (ptrmap_get(&o->listed, all.data[i]))
            ok = out_refuse(o, "a tensor is written that is in a list whose length the model "
                               "computes");
    for (size_t i = 0; ok && i < all.len; i++) {
        ok = flow_note(o, all.data[i], i ? &any : dynamic);
        for (size_t k = 0; i && k < o->values.len; k++) {
            out_value *y = o->values.data[k];
            if (y->gone || flow_storage(y) != all.data[i]) continue;
            y->name = "";
            y->stale = false;
        }
    }
    vec_free(&all);
    return ok;
}

/* ---- what two ways give ---------------------------------------------------------------------- */

/* Outputs of a node If. */
typedef struct flow_outputs {
    out_frame *first, *second; /* the branches' */
    const char **yes, **no, **out;
    int n, cap;
} flow_outputs;

static const char *flow_output(onnx_out *o, flow_outputs *m, const char *yes, const char *no) {
    if (!yes || !no) return NULL;
    for (int i = 0; i < m->n; i++)
        if (m->yes[i] == yes && m->no[i] == no) return m->out[i];
    if (m->n == m->cap) {
        size_t old = sizeof *m->yes * (size_t)m->n, new = 2 * old + 8 * sizeof *m->yes;
        m->yes = arena_grow(&o->scratch, m->yes, old, new);
        m->no = arena_grow(&o->scratch, m->no, old, new);
        m->out = arena_grow(&o->scratch, m->out, old, new);
        m->cap = 2 * m->n + 8;
    }
    const char *out = out_fresh(o, NULL);
    if (!m->yes || !m->no || !m->out || !out) return out_no_memory(o), NULL;
    m->yes[m->n] = yes;
    m->no[m->n] = no;
    return m->out[m->n++] = out;
}

/* x as it is called now. */
static out_value *flow_capture(onnx_out *o, out_value *x, int depth) {
    if (depth > OUT_MAX_DEPTH) return out_refuse(o, "values nest too deeply"), NULL;
    if (x->stale && !out_refresh(o, x)) return NULL;
    out_value *y = out_new(o);
    if (!y) return NULL;
    for (int w = 0; w < o->worlds; w++) y->v[w] = value_ref(x->v[w]);
    y->name = x->name;
    y->init = x->init;
    y->tainted = x->tainted;
    y->fixed = x->fixed;
    y->from = x;
    y->seq = x->seq;
    if (!x->items) return y;
    if (!(y->items = arena_array(&o->scratch, out_value *, x->nitems + 1)))
        return out_no_memory(o), NULL;
    y->nitems = y->cap = x->nitems;
    for (int i = 0; i < x->nitems; i++)
        if (!(y->items[i] = flow_capture(o, x->items[i], depth + 1))) return NULL;
    return y;
}

static const char *flow_tag(value v) {
    switch (v.tag) {
    case V_NONE: return "None";
    case V_TENSOR: return "a tensor";
    case V_INT: return "an int";
    case V_FLOAT: return "a float";
    case V_BOOL: return "a bool";
    case V_LIST: return "a list";
    case V_TUPLE: return "a tuple";
    case V_DICT: return "a dict";
    default: return "a value of another type";
    }
}

static bool flow_is_number(value v) {
    return v.tag == V_INT || v.tag == V_FLOAT || v.tag == V_BOOL;
}

static bool flow_is_same(const onnx_out *o, const out_value *a, const out_value *b) {
    for (int w = 0; w < o->worlds; w++)
        if (a->v[w].tag != b->v[w].tag || !value_equal(a->v[w], b->v[w])) return false;
    return true;
}

/* v's elements elsewhere. */
static bool flow_copy(onnx_out *o, value v, value *out) {
    tensor *t = NULL;
    if (v.tag != V_TENSOR) return value_set(out, value_ref(v)), true;
    if (tensor_clone(o->d, v.u.tensor, &t) != CTSC_OK) return false;
    value_set(out, value_tensor_take(t));
    return true;
}

/* Zeros of x's kind, for what is never read. */
static out_value *flow_zeros(onnx_out *o, const out_value *x) {
    out_value *y = out_new(o);
    for (int w = 0; y && w < o->worlds; w++) {
        value v = x->v[w];
        tensor *t = NULL;
        if (v.tag == V_TENSOR) {
            const tensor *like = v.u.tensor;
            if (tensor_zeros(o->d, (dtype)like->dtype, like->ndim, like->sizes, &t) != CTSC_OK)
                return NULL;
            y->v[w] = value_tensor_take(t);
        } else if (flow_is_number(v)) {
            y->v[w] = v.tag == V_INT     ? value_int(0)
                      : v.tag == V_FLOAT ? value_float(0)
                                         : value_bool(false);
        } else {
            return out_refuse(o, "%s that is there in one branch only", flow_tag(v)), NULL;
        }
    }
    return y;
}

/* One world cannot tell: the walk is done again in two. */
static bool flow_again(onnx_out *o, const char *what) {
    if (o->worlds > 1) return true;
    o->two = true;
    return out_refuse(o, "%s", what);
}

static bool flow_same_sizes(const onnx_out *o, const out_value *a, const out_value *b) {
    for (int w = 0; w < o->worlds; w++)
        if (!tensor_same_shape(a->v[w].u.tensor, b->v[w].u.tensor)) return false;
    return true;
}

/* Do a of the first world and b of the second differ wherever a and b do in one world? */
static bool flow_tells(const out_value *a, const out_value *b) {
    if (a->v[0].tag == V_INT) return a->v[0].u.i != b->v[1].u.i;
    const tensor *a0 = a->v[0].u.tensor, *a1 = a->v[1].u.tensor, *b0 = b->v[0].u.tensor,
                 *b1 = b->v[1].u.tensor;
    for (int i = 0; i < a0->ndim; i++)
        if ((a0->sizes[i] != b0->sizes[i] || a1->sizes[i] != b1->sizes[i]) &&
            a0->sizes[i] == b1->sizes[i])
            return false;
    return true;
}

static bool flow_fits(onnx_out *o, const out_value *a, const out_value *b, const char *where) {
    value x = a->v[0], y = b->v[0];
    if (x.tag != y.tag) return out_refuse(o, "%s and %s in %s", flow_tag(x), flow_tag(y), where);
    if (x.tag != V_TENSOR) return true;
    const tensor *t = x.u.tensor, *u = y.u.tensor;
    if (t->dtype != u->dtype)
        return out_refuse(o, "a tensor of %s and one of %s in %s", dtype_table[t->dtype].torch_name,
                          dtype_table[u->dtype].torch_name, where);
    if (dtype_is_quantised((dtype)t->dtype))
        return out_refuse(o, "a quantised tensor in %s", where);
    if (t->ndim != u->ndim)
        return out_refuse(o, "a tensor of %d dims and one of %d in %s", t->ndim, u->ndim, where);
    return true;
}

static out_value *if_merge(onnx_out *o, flow_outputs *m, const out_value *cond, out_value *a,
                           out_value *b, type *t, int depth);

/* Lists whose lengths differ, or that grow. */
static out_value *if_merge_lists(onnx_out *o, flow_outputs *m, out_value *a, out_value *b) {
    const char *p, *q;
    if (!flow_again(o, "lists whose lengths differ from branch to branch")) return NULL;
    out_value *r = lists_merge(o, m->first, a, m->second, b, &p, &q);
    if (r) r->name = flow_output(o, m, p, q);
    return r && r->name ? r : NULL;
}

static out_value *if_merge_items(onnx_out *o, flow_outputs *m, const out_value *cond, out_value *a,
                                 out_value *b, type *t, int depth) {
    size_t n = out_len(a);
    bool tuple = a->v[0].tag == V_TUPLE;
    if (!tuple && (!a->from->gone || !b->from->gone))
        return out_refuse(o, "a list from outside in one of the branches only"), NULL;
    if (a->seq || b->seq || n != out_len(b)) return if_merge_lists(o, m, a, b);
    out_value **items = arena_array(&o->scratch, out_value *, n + 1);
    if (!items) return out_no_memory(o), NULL;
    for (size_t i = 0; i < n; i++) {
        type *own = tuple ? (t && i < (size_t)t->nelems ? t->elems[i] : NULL)
                          : (t ? type_elem(t) : NULL);
        out_value *x = out_item(o, a, i), *y = x ? out_item(o, b, i) : NULL;
        if (!y || !(items[i] = if_merge(o, m, cond, x, y, own, depth + 1))) return NULL;
    }
    return out_container(o, tuple, tuple || !t ? t : type_elem(t), n, items);
}

/* What the node gives where the branches give a and b. */
static out_value *if_merge(onnx_out *o, flow_outputs *m, const out_value *cond, out_value *a,
                           out_value *b, type *t, int depth) {
    uint8_t tag = a->v[0].tag;
    if (depth > OUT_MAX_DEPTH) return out_refuse(o, "values nest too deeply"), NULL;
    if (a->from && a->from == b->from && !a->from->gone) return (out_value *)(uintptr_t)a->from;
    if (tag == V_UNINIT && b->v[0].tag == V_UNINIT) return out_constant(o, value_uninit());
    if (tag == V_UNINIT) a = flow_zeros(o, b);
    else if (b->v[0].tag == V_UNINIT) b = flow_zeros(o, a);
    if (!a || !b || !flow_fits(o, a, b, "the two branches")) return NULL;
    tag = a->v[0].tag;
    if ((tag == V_TUPLE || tag == V_LIST) &&
        (a->items || b->items || a->seq || b->seq || !flow_is_same(o, a, b)))
        return if_merge_items(o, m, cond, a, b, t, depth);
    out_value *r = out_new(o);
    bool tensors = tag == V_TENSOR, constant = !tensors && !a->name && !b->name && !a->items;
    if (!r) return NULL;
    if (constant && flow_is_same(o, a, b)) {
        for (int w = 0; w < o->worlds; w++) r->v[w] = value_ref(a->v[w]);
        return r;
    }
    if (!tensors && !flow_is_number(a->v[0]))
        return out_refuse(o, "%s that is another one in each branch", flow_tag(a->v[0])), NULL;
    /* sizes, and numbers that may become such */
    bool split = tensors ? !flow_same_sizes(o, a, b) : tag == V_INT && !flow_is_same(o, a, b);
    if (split && !flow_again(o, "sizes that differ from branch to branch")) return NULL;
    if (split && !flow_tells(a, b)) {
        FLOW_SWAP(out_value *, a, b);
        bool told = flow_tells(a, b);
        FLOW_SWAP(out_value *, a, b);
        if (!told)
            return out_refuse(o, "sizes that differ from branch to branch, and follow from dynamic "
                                 "axes"),
                   NULL;
        if (!flow_copy(o, b->v[0], &r->v[0]) || !flow_copy(o, a->v[1], &r->v[1])) return NULL;
    } else {
        for (int w = 0; w < o->worlds; w++)
            if (!flow_copy(o, (split ? w == 0 : cond->v[w].u.b) ? a->v[w] : b->v[w], &r->v[w]))
                return NULL;
    }
    r->tainted = !tensors;
    r->name = flow_output(o, m, out_name(o, a), out_name(o, b));
    return r->name && flow_link(o, flow_storage(r), flow_storage(a)) &&
                   flow_link(o, flow_storage(r), flow_storage(b))
               ? r
               : NULL;
}

/* ---- If -------------------------------------------------------------------------------------- */

static out_frame *if_branch(onnx_out *o, const node *n, const block *b, out_value **given) {
    out_frame *f = flow_begin(o);
    if (!f || !out_walk(o, b)) return NULL;
    o->at = n;
    for (size_t i = 0; i < n->outputs.len; i++) {
        out_value *x = out_get(o, b->returns.data[i]);
        if (!x || !(given[i] = flow_capture(o, x, 0))) return NULL;
    }
    return flow_end(o, f) ? f : NULL;
}

/* Tensors from outside that a branch has written. */
static bool if_written(onnx_out *o, flow_outputs *m, const out_frame *yes, const out_frame *no) {
    for (size_t i = 0; i < yes->count; i++) {
        out_value *x = o->values.data[i];
        const storage *s = flow_storage(x);
        const char *was = yes->before[i].name;
        bool a = x->seq ? yes->after[i].name != was : flow_is_written(yes, s),
             b = x->seq ? no->after[i].name != was : flow_is_written(no, s);
        if (x->gone || (!a && !b)) continue;
        flow_names old = yes->before[i], p = a ? yes->after[i] : old, q = b ? no->after[i] : old;
        if (p.name == old.name && q.name == old.name && p.stale == old.stale &&
            q.stale == old.stale)
            continue;
        if (p.stale || q.stale) {
            x->stale = true;
            if (!x->name) x->name = "";
        } else if ((p.name && !*p.name) || (q.name && !*q.name)) {
            x->name = "";
        } else {
            const char *own = p.name && q.name ? "" : out_name(o, x);
            x->name = own ? flow_output(o, m, p.name ? p.name : own, q.name ? q.name : own) : NULL;
            if (!x->name) return false;
        }
    }
    return true;
}

/* The graph of a branch as an attribute of the latest node. */
static bool if_graph(onnx_out *o, const char *name, out_frame *f, int n, const char *const *from) {
    const char **out = arena_array(&o->scratch, const char *, n + 1);
    flow_exchange(o, f);
    for (int i = 0; out && i < n; i++) out[i] = OUT(o, "Identity", from[i]);
    flow_exchange(o, f);
    if (!out || out_failed(o)) return out_no_memory(o);
    out_graph(o, name, f->nodes.len, f->nodes.data, 0, 0, NULL, NULL, n, out);
    return !out_failed(o);
}

static bool if_node(onnx_out *o, const out_value *cond, const flow_outputs *m, out_frame *yes,
                    out_frame *no) {
    if (!m->n) return true;
    const char **out = arena_array(&o->scratch, const char *, m->n + 1);
    if (!out || !out_nodes(o, "If", 1, &cond->name, m->n, out)) return out_no_memory(o);
    for (int i = 0; i < m->n; i++) vec_last(&o->nodes)->output[i] = (char *)(uintptr_t)m->out[i];
    return if_graph(o, "then_branch", yes, m->n, m->yes) &&
           if_graph(o, "else_branch", no, m->n, m->no);
}

bool flow_if(onnx_out *o, const node *n, out_value *cond) {
    size_t count = n->outputs.len;
    flow_outputs m = {0};
    out_value **a = arena_array(&o->scratch, out_value *, count + 1),
              **b = arena_array(&o->scratch, out_value *, count + 1);
    const char *name = out_name(o, cond);
    out_frame *yes = NULL, *no = NULL;
    if (!a || !b || !name) return out_no_memory(o);
    if (!lists_open(o, n->blocks.data[0]) || !lists_open(o, n->blocks.data[1])) return false;
    bool ok = (yes = if_branch(o, n, n->blocks.data[0], a)) != NULL &&
              (no = if_branch(o, n, n->blocks.data[1], b)) != NULL;
    o->at = n;
    m.first = yes;
    m.second = no;
    for (size_t i = 0; ok && i < count; i++)
        ok = out_put(o, n->outputs.data[i],
                     if_merge(o, &m, cond, a[i], b[i], n->outputs.data[i]->type, 0));
    ok = ok && if_written(o, &m, yes, no) && if_node(o, cond, &m, yes, no);
    if (no) flow_drop(o, no);
    if (yes) flow_drop(o, yes);
    return ok;
}

/* ---- Loop ------------------------------------------------------------------------------------ */

/* Carried value i may be in this storage from the second iteration on. */
typedef struct loop_alias { int i; const storage *s; } loop_alias;
typedef struct loop_pair { int i, j; } loop_pair;

typedef struct flow_body {
    const node *n;
    const block *b;
    int64_t k; /* iterations before the node */
    int carried;
    out_value **now; /* what is carried into the loop */
    /* the example's values of it in the body, in the second world of a later iteration
     * where sizes change */
    out_value **start;
    bool *dyn, *moved;           /* is it a value of the model? was start of a later iteration? */
    out_value **params, **given; /* in the body, and what that gives */
    bool *listed;                /* is it in a list, from the second iteration on? */
    int *kinds;                  /* of lists that are others in each iteration: lists_type */
    bool *opened;                /* is it a list that the body changes in place? */
    VEC(out_value *) written;    /* tensors from outside that are written: carried, too */
    VEC(out_value *) lists;      /* and lists that grow */
    VEC(loop_alias) aliases;
    VEC(loop_pair) pairs;
    /* of the body's graph */
    const char **in, **out;
    int *types, nin, room;
} flow_body;

static int loop_type(value v) {
    return onnx_from_dtype(v.tag == V_TENSOR  ? (dtype)v.u.tensor->dtype
                           : v.tag == V_INT   ? DT_INT64
                           : v.tag == V_FLOAT ? DT_FLOAT32
                                              : DT_BOOL);
}

static const char *loop_input(onnx_out *o, flow_body *l, int type, const char *hint) {
    if (type < 0) return out_refuse(o, "ONNX has no tensors of a carried value's type"), NULL;
    if (l->nin == l->room) return out_refuse(o, "too many carried values"), NULL;
    l->types[l->nin] = type;
    return l->in[l->nin++] = out_fresh(o, hint);
}

static bool loop_iteration(onnx_out *o, flow_body *l) {
    out_value *i = out_new(o);
    const char *name = loop_input(o, l, onnx_from_dtype(DT_INT64), "iteration");
    if (!i || !name || !loop_input(o, l, onnx_from_dtype(DT_BOOL), "again")) return false;
    for (int w = 0; w < o->worlds; w++) i->v[w] = value_int(l->k + w);
    i->name = l->k ? OUT(o, "Add", name, out_const_int(o, l->k)) : name;
    i->tainted = true;
    return i->name && out_put(o, l->b->params.data[0], i);
}

static bool loop_parameter(onnx_out *o, flow_body *l, int i) {
    out_value *x = l->params[i] = l->dyn[i] ? out_new(o) : l->now[i];
    if (!x) return false;
    if (l->dyn[i] && l->now[i]->seq) {
        l->kinds[i] = lists_type(l->now[i]);
        x->name = loop_input(o, l, l->kinds[i], "list");
        return x->name && lists_like(o, l->start[i], x) && out_put(o, l->b->params.data[i + 1], x);
    }
    if (l->dyn[i]) {
        for (int w = 0; w < o->worlds; w++)
            if (!flow_copy(o, l->start[i]->v[w], &x->v[w])) return false;
        x->tainted = x->v[0].tag != V_TENSOR;
        x->name = loop_input(o, l, loop_type(x->v[0]), NULL);
        if (!x->name || !flow_link(o, flow_storage(x), flow_storage(l->now[i]))) return false;
        if (l->listed[i] && !lists_mark(o, x)) return false;
    }
    for (size_t k = 0; k < l->aliases.len; k++)
        if (l->aliases.data[k].i == i && !flow_link(o, flow_storage(x), l->aliases.data[k].s))
            return false;
    return out_put(o, l->b->params.data[i + 1], x);
}

/* A tensor from outside has another name within. All that is it, too; views of it are stale. */
static bool flow_rename(onnx_out *o, const out_value *x, const char *name) {
    const tensor *t = x->v[0].u.tensor;
    for (size_t i = 0; i < o->values.len; i++) {
        out_value *y = o->values.data[i];
        if (y->gone || flow_storage(y) != t->storage) continue;
        y->stale = !out_is_exact(y->v[0].u.tensor, t);
        if (!y->stale) y->name = name;
        else if (!y->name) y->name = "";
    }
    return true;
}

static bool loop_inputs(onnx_out *o, flow_body *l) {
    bool any = false;
    l->nin = 0;
    if (!loop_iteration(o, l)) return false;
    for (int i = 0; i < l->carried; i++)
        if (!loop_parameter(o, l, i)) return false;
    for (size_t i = 0; i < l->pairs.len; i++)
        if (!flow_link(o, flow_storage(l->params[l->pairs.data[i].i]),
                       flow_storage(l->params[l->pairs.data[i].j])))
            return false;
    for (size_t i = 0; i < l->written.len; i++) {
        out_value *x = l->written.data[i];
        const char *name = loop_input(o, l, loop_type(x->v[0]), NULL);
        if (!name || !flow_note(o, flow_storage(x), &any) || !flow_rename(o, x, name)) return false;
    }
    for (size_t i = 0; i < l->lists.len; i++) {
        out_value *x = l->lists.data[i];
        if (!(x->name = loop_input(o, l, lists_type(x), "list"))) return false;
    }
    return true;
}

/* A list that another takes the place of. What is changed in place later must not be one from
 * outside, which would change with it. */
static const char *loop_list_given(onnx_out *o, const flow_body *l, int i, out_value *x) {
    if (x->v[0].tag != V_LIST || x->frame != o->frame)
        return out_refuse(o, "a list from outside that takes the place of another"), NULL;
    const char *name = lists_name(o, x, l->now[i]->seq);
    /* a graph gives each of its inputs as something else */
    return name && l->now[i]->seq->numbers ? OUT(o, "Identity", name) : name;
}

/* What the body gives, as outputs of its graph. */
static bool loop_outputs(onnx_out *o, flow_body *l) {
    int at = 1;
    out_value *go = out_get(o, l->b->returns.data[0]);
    if (!go || !(l->out[0] = OUT(o, "Identity", out_name(o, go)))) return false;
    for (int i = 0; i < l->carried; i++) {
        out_value *x = out_get(o, l->b->returns.data[i + 1]);
        if (!x || !(l->given[i] = flow_capture(o, x, 0))) return false;
        if (!l->dyn[i]) continue;
        if (x->v[0].tag == V_UNINIT) {
            x = flow_zeros(o, l->start[i]);
            if (!x || !(l->given[i] = flow_capture(o, x, 0))) return false;
        }
        if (l->now[i]->seq ? !(l->out[at++] = loop_list_given(o, l, i, x))
                           : !(l->out[at++] = OUT(o, "Identity", out_name(o, l->given[i]))))
            return false;
    }
    for (size_t i = 0; i < l->written.len; i++) {
        out_value *x = l->written.data[i];
        if (x->stale && !out_refresh(o, x)) return false;
        if (!(l->out[at++] = OUT(o, "Identity", out_name(o, x)))) return false;
    }
    for (size_t i = 0; i < l->lists.len; i++)
        if (!(l->out[at++] = out_name(o, l->lists.data[i]))) return false;
    return true;
}

static bool loop_note_alias(onnx_out *o, flow_body *l, int i, const storage *s, bool *changed) {
    for (size_t k = 0; k < l->aliases.len; k++)
        if (l->aliases.data[k].i == i && l->aliases.data[k].s == s) return true;
    *changed = true;
    return vec_push(&l->aliases, ((loop_alias){i, s})) || out_no_memory(o);
}

/* The storages that may hold carried value i in the next iteration. */
static bool loop_aliases(onnx_out *o, flow_body *l, const out_frame *f, int i, bool *changed) {
    const storage *s = flow_storage(l->given[i]);
    for (size_t k = 0; s && k < f->count; k++)
        if (flow_storage(o->values.data[k]) == s) return loop_note_alias(o, l, i, s, changed);
    for (int j = 0; s && j < l->carried; j++) {
        if (j != i && flow_storage(l->params[j]) == s) {
            if (!loop_note_alias(o, l, i, flow_storage(l->now[j]), changed)) return false;
            for (size_t k = 0; k < l->aliases.len; k++)
                if (l->aliases.data[k].i == j &&
                    !loop_note_alias(o, l, i, l->aliases.data[k].s, changed))
                    return false;
        }
        if (j >= i || flow_storage(l->given[j]) != s) continue;
        bool known = false;
        for (size_t k = 0; k < l->pairs.len; k++)
            known = known || (l->pairs.data[k].i == i && l->pairs.data[k].j == j);
        if (known) continue;
        *changed = true;
        if (!vec_push(&l->pairs, ((loop_pair){i, j}))) return out_no_memory(o);
    }
    return true;
}

static bool loop_start(onnx_out *o, flow_body *l, int i) {
    if (!(l->start[i] = out_new(o))) return false;
    for (int w = 0; w < o->worlds; w++) l->start[i]->v[w] = value_ref(l->now[i]->v[w]);
    l->start[i]->seq = l->now[i]->seq;
    return true;
}

/* A list that is another one after each iteration: that of before stays what it was. */
static bool loop_list_other(onnx_out *o, flow_body *l, int i) {
    if (l->opened[i])
        return out_refuse(o, "a list that is changed, and replaced, from iteration to iteration");
    if (!flow_again(o, "a list that changes from iteration to iteration") ||
        !(l->now[i] = lists_copy(o, l->now[i])))
        return false;
    l->dyn[i] = true;
    return loop_start(o, l, i);
}

/* Is carried value i a constant still? Is it of the same sizes in the next iteration? */
static bool loop_carried(onnx_out *o, flow_body *l, int i, bool *changed) {
    out_value *x = l->dyn[i] ? l->start[i] : l->now[i], *y = l->given[i];
    if (y->from == l->now[i] && !l->dyn[i]) return true;
    if (l->dyn[i] && l->now[i]->seq) {
        if (l->kinds[i] != lists_type(l->now[i])) *changed = true;
        return true;
    }
    if (!l->dyn[i]) {
        bool plain = !x->items && !y->items && !y->name && x->v[0].tag != V_TENSOR;
        if (plain && flow_is_same(o, x, y)) return true;
        if (x->v[0].tag == V_UNINIT) {
            if (!(l->now[i] = flow_zeros(o, y))) return false;
            x = l->now[i];
        }
        if (!flow_fits(o, x, y, "two iterations")) return false;
        if (lists_may_open(x)) return *changed = true, loop_list_other(o, l, i);
        if (x->v[0].tag != V_TENSOR && !flow_is_number(x->v[0]))
            return out_refuse(o, "%s that changes from iteration to iteration", flow_tag(x->v[0]));
        l->dyn[i] = *changed = true;
        if (!loop_start(o, l, i)) return false;
        if (x->v[0].tag == V_INT && !flow_again(o, "numbers that change from iteration to "
                                                   "iteration"))
            return false;
        return true;
    }
    if (!flow_fits(o, x, y, "two iterations")) return false;
    bool sizes = x->v[0].tag == V_TENSOR && !flow_same_sizes(o, x, y);
    if (sizes && !flow_again(o, "sizes that change from iteration to iteration")) return false;
    if ((!sizes && x->v[0].tag != V_INT) || (l->moved[i] && (!sizes || flow_tells(x, y))))
        return true;
    if (l->moved[i])
        return out_refuse(o, "sizes that change in some iterations only, or follow from dynamic "
                             "axes");
    l->moved[i] = *changed = true;
    if (x->v[0].tag == V_INT && x->v[0].u.i == y->v[1].u.i) {
        x->v[1] = value_int(x->v[0].u.i + 1);
        return true;
    }
    return flow_copy(o, y->v[1], &x->v[1]);
}

/* A list from outside that the body has made longer. */
static bool loop_list(onnx_out *o, flow_body *l, out_value *x, bool *changed) {
    for (size_t k = 0; k < l->lists.len; k++)
        if (l->lists.data[k] == x) return true;
    *changed = true;
    return vec_push(&l->lists, x) || out_no_memory(o);
}

/* Tensors from outside that the body has written, and does not carry yet. */
static bool loop_written(onnx_out *o, flow_body *l, const out_frame *f, bool *changed) {
    for (int i = 0; i < l->carried; i++) {
        const storage *s = flow_storage(l->given[i]);
        if (!s || l->listed[i] || !ptrmap_get(&o->listed, s)) continue;
        l->listed[i] = *changed = true;
    }
    for (size_t i = 0; i < f->count; i++) {
        out_value *x = o->values.data[i];
        flow_names old = f->before[i], p = f->after[i];
        if (x->seq && !x->gone && p.name != old.name && !loop_list(o, l, x, changed)) return false;
        if (x->gone || !flow_is_written(f, flow_storage(x)) || p.name == old.name || p.stale ||
            !p.name || !*p.name)
            continue;
        bool known = false;
        for (size_t k = 0; k < l->written.len; k++)
            known = known || out_is_exact(l->written.data[k]->v[0].u.tensor, x->v[0].u.tensor);
        if (known) continue;
        *changed = true;
        if (!vec_push(&l->written, x)) return out_no_memory(o);
    }
    return true;
}

/* The frame of the body, once it is known what is carried. */
static out_frame *loop_body(onnx_out *o, flow_body *l) {
    for (int pass = 0; pass < FLOW_MAX_PASSES; pass++) {
        bool changed = false;
        size_t room = 2 + (size_t)l->carried + l->written.len + l->lists.len;
        l->room = (int)room;
        l->in = arena_array(&o->scratch, const char *, room);
        l->out = arena_array(&o->scratch, const char *, room);
        l->types = arena_array(&o->scratch, int, room);
        if (!l->in || !l->out || !l->types) return out_no_memory(o), NULL;
        out_frame *f = flow_begin(o);
        if (!f || !loop_inputs(o, l) || !out_walk(o, l->b)) return NULL;
        o->at = l->n;
        if (!loop_outputs(o, l) || !flow_end(o, f)) return NULL;
        bool ok = loop_written(o, l, f, &changed);
        for (int i = 0; ok && i < l->carried; i++)
            ok = loop_carried(o, l, i, &changed) && loop_aliases(o, l, f, i, &changed);
        if (ok && !changed) return f;
        flow_drop(o, f);
        if (!ok) return NULL;
    }
    return out_refuse(o, "what its iterations carry cannot be found out"), NULL;
}

/* What the loop gives. x: of the last iteration, or of none */
static out_value *loop_result(onnx_out *o, const flow_body *l, int i, const char *name) {
    out_value *r = out_new(o);
    const out_value *y = l->given[i], *x = l->start[i];
    if (!r) return NULL;
    if (x->seq) {
        r->name = name;
        return lists_like(o, x, r) ? r : NULL;
    }
    /* sizes that change have to be seen to */
    bool open = l->moved[i] && x->v[0].tag == V_TENSOR;
    const out_value *second = y;
    for (int k = 0; open && k < x->v[0].u.tensor->ndim; k++)
        if (x->v[0].u.tensor->sizes[k] != x->v[1].u.tensor->sizes[k] &&
            y->v[0].u.tensor->sizes[k] == y->v[1].u.tensor->sizes[k])
            second = x;
    for (int k = 0; second == x && k < x->v[0].u.tensor->ndim; k++)
        if (x->v[0].u.tensor->sizes[k] != x->v[1].u.tensor->sizes[k] &&
            y->v[0].u.tensor->sizes[k] == x->v[1].u.tensor->sizes[k])
            return out_refuse(o, "sizes that change in some iterations only"), NULL;
    for (int w = 0; w < o->worlds; w++)
        if (!flow_copy(o, (w ? second : y)->v[w], &r->v[w])) return NULL;
    if (r->v[0].tag == V_INT && o->worlds > 1 && r->v[0].u.i == r->v[1].u.i)
        r->v[1] = value_int(r->v[0].u.i + 1);
    r->tainted = r->v[0].tag != V_TENSOR;
    r->name = name;
    bool ok = (!l->listed[i] || lists_mark(o, r)) &&
              flow_link(o, flow_storage(r), flow_storage(y)) &&
              flow_link(o, flow_storage(r), flow_storage(l->now[i]));
    for (size_t k = 0; ok && k < l->aliases.len; k++)
        ok = l->aliases.data[k].i != i || flow_link(o, flow_storage(r), l->aliases.data[k].s);
    return ok ? r : NULL;
}

static bool loop_results(onnx_out *o, const flow_body *l, const out_frame *f,
                         const char *const *out) {
    int at = 0;
    for (int i = 0; i < l->carried; i++) {
        out_value *r = l->dyn[i] ? loop_result(o, l, i, out[at++]) : l->now[i];
        if (!out_put(o, l->n->outputs.data[i], r)) return false;
    }
    for (size_t i = 0; i < l->written.len; i++)
        if (!flow_rename(o, l->written.data[i], out[at++])) return false;
    for (size_t i = 0; i < l->lists.len; i++) l->lists.data[i]->name = out[at++];
    /* what may have been written under another name */
    for (size_t i = 0; i < f->count; i++) {
        out_value *x = o->values.data[i];
        flow_names p = f->after[i];
        if (x->gone || !flow_is_written(f, flow_storage(x))) continue;
        if (p.stale && !x->stale && p.name != f->before[i].name) {
            x->stale = true;
            if (!x->name) x->name = "";
        } else if (!p.stale && p.name && !*p.name) {
            x->name = "";
        }
    }
    return true;
}

static bool loop_node(onnx_out *o, flow_body *l, out_frame *f, const out_value *trips,
                      out_value *cond) {
    int n = l->nin - 2, at = 2;
    const char **in = arena_array(&o->scratch, const char *, l->nin + 1),
               **out = arena_array(&o->scratch, const char *, n + 1);
    if (!in || !out) return out_no_memory(o);
    in[0] = trips->name                    ? trips->name
            : trips->v[0].u.i == INT64_MAX ? ""
                                           : out_const_int(o, trips->v[0].u.i - l->k);
    in[1] = cond->name ? cond->name : "";
    for (int i = 0; i < l->carried; i++)
        if (l->dyn[i]) in[at++] = out_name(o, l->now[i]);
    for (size_t i = 0; i < l->written.len; i++) in[at++] = out_name(o, l->written.data[i]);
    for (size_t i = 0; i < l->lists.len; i++) in[at++] = out_name(o, l->lists.data[i]);
    /* nothing is carried: nothing to see */
    if (n && !out_nodes(o, "Loop", l->nin, in, n, out)) return false;
    if (n)
        out_graph(o, "body", f->nodes.len, f->nodes.data, l->nin, 2, l->in, l->types, n + 1,
                  l->out);
    return !out_failed(o) && loop_results(o, l, f, out);
}

bool flow_loop(onnx_out *o, const node *n, int64_t k, out_value *trips, out_value *cond,
               out_value *const *now) {
    flow_body l = {.n = n, .b = n->blocks.data[0], .k = k, .carried = (int)n->inputs.len - 2};
    arena *a = &o->scratch;
    int count = l.carried + 1;
    o->loops++;
    l.now = arena_array(a, out_value *, count);
    l.start = arena_array(a, out_value *, count);
    l.params = arena_array(a, out_value *, count);
    l.given = arena_array(a, out_value *, count);
    l.dyn = arena_array(a, bool, count);
    l.moved = arena_array(a, bool, count);
    l.listed = arena_array(a, bool, count);
    l.kinds = arena_array(a, int, count);
    l.opened = arena_array(a, bool, count);
    if (!l.now || !l.start || !l.params || !l.given || !l.dyn || !l.moved || !l.listed ||
        !l.kinds || !l.opened)
        return out_no_memory(o);
    memset(l.dyn, 0, sizeof *l.dyn * (size_t)count);
    memset(l.moved, 0, sizeof *l.moved * (size_t)count);
    memset(l.listed, 0, sizeof *l.listed * (size_t)count);
    for (int i = 0; i < l.carried; i++)
        if (now[i]->v[0].tag == V_LIST && !out_put(o, l.b->params.data[i + 1], now[i]))
            return false;
    for (int i = 0; i < l.carried; i++) l.opened[i] = !now[i]->seq;
    if (!lists_open(o, l.b)) return false;
    for (int i = 0; i < l.carried; i++) l.opened[i] = l.opened[i] && now[i]->seq;
    for (int i = 0; i < l.carried; i++) {
        l.now[i] = now[i];
        if (now[i]->stale && !out_refresh(o, now[i])) return false;
        l.dyn[i] = now[i]->v[0].tag == V_TENSOR &&
                   l.b->returns.data[i + 1] != l.b->params.data[i + 1];
        if (l.dyn[i] && !loop_start(o, &l, i)) return false;
    }
    bool ok = o->worlds > 1 || !l.b->params.data[0]->uses.len ||
              flow_again(o, "a number that changes from iteration to iteration");
    out_frame *f = ok ? loop_body(o, &l) : NULL;
    ok = f && loop_node(o, &l, f, trips, cond);
    if (f) flow_drop(o, f);
    vec_free(&l.written);
    vec_free(&l.lists);
    vec_free(&l.aliases);
    vec_free(&l.pairs);
    return ok;
}
