/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out_sized.c - sizes that the arguments' elements say.
 *
 *     %k = aten::Int(%n)            the same in both worlds, as the elements are
 *     %y = aten::slice(%x, 0, 0, %k)    is as long as %k says: a size that may change
 *     %p = aten::nonzero(%x)            as many rows as there are elements
 *
 * Method. The walk tells sizes that may change from others by two worlds (onnx_out.h), and elements
 * are the same in both. So where a size turns out to follow from elements the walk is done again,
 * with integers that are read from them, and counts of rows, that are others in the second world:
 * one more, or one less, or twice as many, whichever the program can be walked with. Nothing is
 * written of these numbers; a size that is the same all the same (k // 2) is refused, as it would
 * be taken for a constant.
 */
#include "frontend/onnx/onnx_out_internal.h"

static int64_t sized_other(const onnx_out *o, int64_t n) {
    switch (o->shift) {
    case SHIFT_MORE: return n < INT64_MAX ? n + 1 : n;
    case SHIFT_LESS: return n > INT64_MIN ? n - 1 : n;
    case SHIFT_TWICE: return n < INT64_MAX / 2 && n > INT64_MIN / 2 ? 2 * n : n;
    default: return n;
    }
}

static bool sized_is_mask(value v) {
    return v.tag == V_TENSOR && (v.u.tensor->dtype == DT_BOOL || v.u.tensor->dtype == DT_UINT8);
}

/* The dim of the first result that is as long as elements say; -1: none. */
static int sized_dim(const out_call *c, const op *base) {
    if (base->traits.sized_by_data) return 0;
    if (base->name_symbol != SYM_INDEX) return -1;
    const out_value *list = c->args[1];
    for (int i = 0; i < list->nitems; i++)
        if (sized_is_mask(list->items[i]->v[0])) return i;
    return -1;
}

static bool sized_is_settled(const onnx_out *o, const out_value *x) {
    return o->worlds > 1 && x->v[0].u.i != x->v[1].u.i;
}

/* Is it an int that follows from elements, or a list with one? *told: all are others in the second
 * world. */
static bool sized_by(const onnx_out *o, const out_value *x, bool *told) {
    bool any = x->tainted && x->name && x->v[0].tag == V_INT;
    if (any && !sized_is_settled(o, x)) *told = false;
    for (int i = 0; i < x->nitems; i++)
        if (x->v[0].tag == V_LIST && sized_by(o, x->items[i], told)) any = true;
    return any;
}

static bool sized_takes(const op *base, int i) {
    if (i >= base->schema->nargs) return false;
    const type *t = base->schema->args[i].type;
    if (t->kind == T_OPTIONAL) t = t->elems[0];
    if (t->kind == T_LIST) t = t->elems[0];
    return t->kind == T_INT || base->name_symbol == SYM_ARANGE;
}

/* Does a size of a result follow from integers among the arguments? */
static bool sized_by_numbers(const out_call *c, const op *base, bool *told) {
    bool any = false;
    if (base->name_symbol == SYM_SELECT || base->name_symbol == SYM_TENSOR) return false;
    for (int i = 0; i < c->nargs; i++)
        if (sized_takes(base, i) && sized_by(c->o, c->args[i], told)) any = true;
    return any;
}

static bool sized_gives_tensors(const out_call *c) {
    for (int i = 0; i < c->nres; i++) {
        const type *t = c->out_types[i];
        if (t->kind == T_TENSOR || (t->kind == T_LIST && t->elems[0]->kind == T_TENSOR))
            return true;
    }
    return false;
}

bool sized_before(const out_call *c, const op *base) {
    onnx_out *o = c->o;
    bool told = true, numbers = sized_gives_tensors(c) && sized_by_numbers(c, base, &told);
    if ((!numbers || told) && (o->shift || sized_dim(c, base) < 0)) return true;
    if (!o->shift) o->sized = true;
    return out_refuse(o, "sizes follow from elements, and no other example of them can be made up");
}

/* A tensor like t, whose dim has another size: the same elements, then zeros. */
static bool sized_resize(onnx_out *o, value *v, int dim) {
    tensor *t = v->u.tensor;
    int64_t sizes[TENSOR_MAX_DIMS], outer = 1, inner = (int64_t)dtype_size((dtype)t->dtype);
    tensor *from = NULL, *to = NULL;
    if (v->tag != V_TENSOR || dim >= t->ndim) return true;
    for (int i = 0; i < t->ndim; i++) {
        sizes[i] = t->sizes[i];
        if (i < dim && t->numel) outer *= sizes[i];
        if (i > dim && t->numel) inner *= sizes[i];
    }
    int64_t n = sizes[dim], m = sizes[dim] = sized_other(o, n);
    if (m < 0 || m == n)
        return out_refuse(o, "sizes follow from elements, and no other example of them can be "
                             "made up");
    if (tensor_contiguous(o->d, t, &from) != CTSC_OK) return false;
    if (tensor_zeros(o->d, (dtype)t->dtype, t->ndim, sizes, &to) == CTSC_OK) {
        /* of a tensor without elements the other sizes may be of any number */
        if (!t->numel || !to->numel) outer = 0;
        const char *src = tensor_data(from);
        char *dst = tensor_data(to);
        for (int64_t i = 0; i < outer; i++)
            memcpy(dst + i * m * inner, src + i * n * inner, (size_t)((m < n ? m : n) * inner));
        value_set(v, value_tensor_take(to));
    }
    tensor_unref(from);
    return o->d->status == CTSC_OK;
}

/* Are the sizes of results, which follow from numbers, the same in both worlds? */
static bool sized_coincides(const out_call *c) {
    for (int i = 0; i < c->nres; i++) {
        const value a = c->res[i]->v[0], b = c->res[i]->v[1];
        if (a.tag == V_TENSOR && b.tag == V_TENSOR && !tensor_same_shape(a.u.tensor, b.u.tensor))
            return false;
        if (a.tag == V_LIST) return false;
    }
    return true;
}

void sized_read(const onnx_out *o, out_value *x) {
    if (o->shift && x->v[0].tag == V_INT && x->v[0].u.i == x->v[1].u.i)
        x->v[1] = value_int(sized_other(o, x->v[1].u.i));
}

bool sized_after(const out_call *c, const op *base, bool tainted) {
    onnx_out *o = c->o;
    int dim = sized_dim(c, base);
    bool told = true;
    if (!o->shift) return true;
    if (dim >= 0 && tensor_same_shape(c->res[0]->v[0].u.tensor, c->res[0]->v[1].u.tensor))
        return sized_resize(o, &c->res[0]->v[1], dim);
    if (dim < 0 && sized_gives_tensors(c) && sized_by_numbers(c, base, &told) && sized_coincides(c))
        return out_refuse(o, "sizes follow from elements, and no other example of them can be "
                             "made up");
    value *v = c->nres == 1 ? c->res[0]->v : NULL;
    if (!tainted || !v || v[0].tag != V_INT || v[1].tag != V_INT) return true;
    for (int i = 0; i < c->nargs; i++)
        if (c->args[i]->v[0].tag == V_INT && sized_is_settled(o, c->args[i])) return true;
    sized_read(o, c->res[0]);
    return true;
}
