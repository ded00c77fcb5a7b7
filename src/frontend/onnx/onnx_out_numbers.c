/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out_numbers.c - lists of numbers that branches and loops fill, whose length the model
 * computes: tensors of one dim.
 *
 *     %l : int[] = prim::ListConstruct()              l = an initialiser without elements
 *     aten::append(%l, %k)                            l1 = Concat(l, Reshape(k, [1]))
 *     %k = aten::__getitem__(%l, %i)                  k = Gather(l1, i)
 *     %n = aten::len(%l)                              n = Size(l1)
 *
 * They are values of the model like lists of tensors (onnx_out_lists.c), with examples of one
 * element in the first world and of two in the second.
 */
#include "frontend/onnx/onnx_out_internal.h"

dtype numbers_dtype(const list *l) {
    return l->kind == LIST_INT ? DT_INT64 : l->kind == LIST_FLOAT ? DT_FLOAT32 : DT_BOOL;
}

bool numbers_is(value v) {
    return v.tag == V_LIST && (v.u.list->kind == LIST_INT || v.u.list->kind == LIST_FLOAT ||
                               v.u.list->kind == LIST_BOOL);
}

static const char *numbers_one(onnx_out *o, out_value *item) {
    static const int64_t one = 1;
    const char *name = out_name(o, item);
    return name ? OUT(o, "Reshape", name, out_const_ints(o, 1, &one)) : NULL;
}

static const char *numbers_empty(onnx_out *o, dtype dt) {
    static const int64_t none = 0;
    tensor *t = NULL;
    if (tensor_zeros(o->d, dt, 1, &none, &t) != CTSC_OK) return NULL;
    const char *name = out_tensor(o, t);
    tensor_unref(t);
    return name;
}

const char *numbers_name(onnx_out *o, out_value *x) {
    size_t n = out_len(x);
    if (x->seq) return out_name(o, x);
    if (!n) return numbers_empty(o, numbers_dtype(x->v[0].u.list));
    const char **parts = arena_array(&o->scratch, const char *, n);
    if (!parts) return out_no_memory(o), NULL;
    for (size_t i = 0; i < n; i++) {
        out_value *item = out_item(o, x, i);
        if (!item || !(parts[i] = numbers_one(o, item))) return NULL;
    }
    const char *name = out_node(o, "Concat", (int)n, parts);
    out_int(o, "axis", 0);
    return name;
}

/* An element about which nothing is known. */
static value numbers_any(const list *l) {
    return l->kind == LIST_INT     ? value_int(1)
           : l->kind == LIST_FLOAT ? value_float(1)
                                   : value_bool(true);
}

/* The examples of `to`: the last element of from's, once in the first world and twice in the
 * second. */
bool numbers_example(onnx_out *o, const out_value *from, out_value *to) {
    for (int w = 0; w < o->worlds; w++) {
        const list *was = from->v[w].u.list;
        list *l = list_new((list_kind)was->kind, was->elem, 2);
        value item = was->len ? list_get(was, was->len - 1) : numbers_any(was);
        bool ok = l != NULL;
        for (int i = 0; ok && i <= w; i++) ok = list_append_take(l, item);
        if (l) value_set(&to->v[w], value_list_take(l));
        if (!ok) return out_no_memory(o);
    }
    return true;
}

bool numbers_open(onnx_out *o, out_value *x) {
    const char *name = numbers_name(o, x);
    struct out_seq *s = arena_new(&o->scratch, struct out_seq);
    if (!name || !s) return out_no_memory(o);
    *s = (struct out_seq){.dt = (int)numbers_dtype(x->v[0].u.list), .ndim = 0, .numbers = true};
    if (!numbers_example(o, x, x)) return false;
    x->seq = s;
    x->name = name;
    x->items = NULL;
    x->nitems = x->cap = 0;
    return true;
}

/* A number that follows from elements of such a list, by an example. */
static out_value *numbers_number(onnx_out *o, value first, value second, const char *name) {
    out_value *r = out_new(o);
    if (!r || !name) return NULL;
    r->v[0] = first;
    r->v[1] = second;
    r->tainted = true;
    r->name = name;
    sized_read(o, r);
    return r;
}

static out_value *numbers_at(onnx_out *o, out_value *x, out_value *at) {
    const char *list = out_name(o, x), *index = list ? out_name(o, at) : NULL,
               *name = index ? OUT(o, "Gather", list, index) : NULL;
    return numbers_number(o, list_get(x->v[0].u.list, 0), list_get(x->v[1].u.list, 0), name);
}

/* sum, min, max. Those of bools are of ints. */
static out_value *numbers_reduce(onnx_out *o, const out_value *x, const char *name,
                                 const char *reduce) {
    bool bools = x->seq->dt == DT_BOOL, sum = !strcmp(reduce, "ReduceSum");
    const char *y = bools ? out_cast(o, name, DT_BOOL, DT_INT64) : name,
               *z = y ? OUT(o, reduce, y) : NULL;
    out_int(o, "keepdims", 0);
    if (bools && sum) return numbers_number(o, value_int(1), value_int(2), z);
    return numbers_number(o, list_get(x->v[0].u.list, 0), list_get(x->v[1].u.list, 0),
                          bools ? out_cast(o, z, DT_INT64, DT_BOOL) : z);
}

/* How often an element is there, or whether it is. */
static out_value *numbers_count(onnx_out *o, const char *name, out_value *of, bool any) {
    const char *want = out_name(o, of), *same = want ? OUT(o, "Equal", name, want) : NULL,
               *ones = out_cast(o, same, DT_BOOL, DT_INT64),
               *n = ones ? OUT(o, "ReduceSum", ones) : NULL;
    out_int(o, "keepdims", 0);
    if (!any) return numbers_number(o, value_int(1), value_int(2), n);
    return numbers_number(o, value_bool(true), value_bool(true), out_cast(o, n, DT_INT64, DT_BOOL));
}

/* Another list of x's kind. */
static out_value *numbers_list(onnx_out *o, const out_value *x, const char *name) {
    out_value *r = out_new(o);
    if (!r || !name || !numbers_example(o, x, r)) return NULL;
    r->seq = x->seq;
    r->name = name;
    return r;
}

static const char *numbers_range(onnx_out *o, const char *x, const char *from, const char *to,
                                 int64_t step) {
    static const int64_t zero = 0;
    const char *axis = x && from && to ? out_const_ints(o, 1, &zero) : NULL,
               *by = axis ? out_const_ints(o, 1, &step) : NULL;
    return by ? OUT(o, "Slice", x, from, to, axis, by) : NULL;
}

static const char *numbers_slice(onnx_out *o, const char *x, out_value *const *args) {
    static const int64_t first = 0, last = INT64_MAX;
    if (args[3]->name || args[3]->v[0].u.i < 1)
        return out_refuse(o, "a slice of a list with such a step"), NULL;
    const char *from = args[1]->v[0].tag == V_NONE ? out_const_ints(o, 1, &first)
                                                   : numbers_one(o, args[1]),
               *to = args[2]->v[0].tag == V_NONE ? out_const_ints(o, 1, &last)
                                                 : numbers_one(o, args[2]);
    return numbers_range(o, x, from, to, args[3]->v[0].u.i);
}

/* Without its last element, or its first. */
static bool numbers_drop(onnx_out *o, out_value *x, const out_value *at) {
    static const int64_t ends[][2] = {{0, -1}, {1, INT64_MAX}};
    int64_t i = at->v[0].u.i;
    if (at->name || (i != 0 && i != -1))
        return out_refuse(o, "of a list whose length the model computes, not at an end of it");
    const int64_t *e = ends[i == 0];
    x->name = numbers_range(o, x->name, out_const_ints(o, 1, &e[0]), out_const_ints(o, 1, &e[1]),
                            1);
    return x->name != NULL;
}

const char *numbers_join(onnx_out *o, const char *a, out_value *b) {
    const char *more = !a ? NULL : numbers_is(b->v[0]) ? numbers_name(o, b) : numbers_one(o, b);
    const char *name = more ? OUT(o, "Concat", a, more) : NULL;
    out_int(o, "axis", 0);
    return name;
}

static const char *numbers_set(onnx_out *o, const char *x, out_value *at, out_value *item) {
    const char *index = x ? numbers_one(o, at) : NULL, *v = index ? numbers_one(o, item) : NULL,
               *name = v ? OUT(o, "ScatterElements", x, index, v) : NULL;
    out_int(o, "axis", 0);
    return name;
}

/* A result of one dim, of any size. */
bool numbers_output(onnx_out *o, const char *name, dtype dt) {
    static const int64_t one = 1, two = 2;
    tensor *first = NULL, *second = NULL;
    bool ok = tensor_zeros(o->d, dt, 1, &one, &first) == CTSC_OK &&
              tensor_zeros(o->d, dt, 1, &two, &second) == CTSC_OK &&
              out_output(o, name, first, second);
    tensor_unref(first);
    tensor_unref(second);
    return ok;
}

bool numbers_call(onnx_out *o, const node *n, out_value **args, bool *done) {
    static const int64_t last = -1, before_first = INT64_MIN;
    out_value *x = args[0], *r = x;
    const char *name = out_name(o, x);
    if (!name) return false;
    switch (n->op->name_symbol) {
    case SYM_APPEND:
    case SYM_ADD_:
    case SYM_EXTEND: x->name = numbers_join(o, name, args[1]); break;
    case SYM__SET_ITEM: x->name = numbers_set(o, name, args[1], args[2]); break;
    case SYM_CLEAR: x->name = numbers_empty(o, (dtype)x->seq->dt); break;
    case SYM_REVERSE:
        x->name = numbers_range(o, name, out_const_ints(o, 1, &last),
                                out_const_ints(o, 1, &before_first), -1);
        break;
    case SYM_POP:
        r = numbers_at(o, x, args[1]);
        if (!r || !numbers_drop(o, x, args[1])) return false;
        break;
    case SYM_SLICE: r = numbers_list(o, x, numbers_slice(o, name, args)); break;
    case SYM_COPY:
    case SYM_LIST: r = numbers_list(o, x, name); break;
    case SYM_LEN: r = numbers_number(o, value_int(1), value_int(2), OUT(o, "Size", name)); break;
    case SYM___GETITEM__: r = numbers_at(o, x, args[1]); break;
    case SYM_SUM: r = numbers_reduce(o, x, name, "ReduceSum"); break;
    case SYM_PRIM_MAX: r = numbers_reduce(o, x, name, "ReduceMax"); break;
    case SYM_PRIM_MIN: r = numbers_reduce(o, x, name, "ReduceMin"); break;
    case SYM_COUNT_OF: r = numbers_count(o, name, args[1], false); break;
    case SYM___CONTAINS__: r = numbers_count(o, name, args[1], true); break;
    case SYM_TENSOR: *done = false; return true;
    default: return out_refuse(o, "of a list whose length the model computes");
    }
    return r && r->name && (!n->outputs.len || out_put(o, n->outputs.data[0], r));
}

/* max and min of two numbers, or of those in a list whose length is known. */
bool out_op_extreme(out_call *c, const char *text) {
    onnx_out *o = c->o;
    if (c->nargs == 2 && c->args[0]->v[0].tag != V_LIST) return out_op_binary(c, text);
    if (c->nargs != 1 || !numbers_is(c->args[0]->v[0])) return out_refuse(o, "of two lists");
    const char *x = numbers_name(o, c->args[0]),
               *y = x ? OUT(o, *text == 'M' && text[1] == 'a' ? "ReduceMax" : "ReduceMin", x)
                      : NULL;
    out_int(o, "keepdims", 0);
    return out_done(c, y);
}
