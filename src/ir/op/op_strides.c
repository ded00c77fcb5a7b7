/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_strides.c - results of operators in the order that PyTorch gives them (tensor/strides.h),
 * where the operator's function makes them row-major: STRIDES(rule) in its row.
 *
 * Only calls with an argument that is not row-major are examined: if
 * all are row-major, every rule makes a row-major result. A result
 * that shares memory with an argument is a view, and stays one.
 * Tests: tests/python/test_py_strides.py, tests/unit/test_strides.c
 */
#include "ir/op/op.h"
#include "tensor/strides.h"

#include <string.h>

enum { ORDER_MAX_OPERANDS = 8, ORDER_MAX_OUT = 3 };

/* Formats are told by the strides of dims of size 1, too. */
static bool order_tensor_is_rows(const tensor *t) {
    return tensor_is_contiguous(t) && tensor_suggested_format(t) == FORMAT_CONTIGUOUS;
}

static bool order_is_rows(const value *v) {
    if (v->tag == V_TENSOR) return order_tensor_is_rows(v->u.tensor);
    if (v->tag != V_LIST || v->u.list->kind != LIST_TENSOR) return true;
    for (size_t i = 0; i < v->u.list->len; i++)
        if (v->u.list->u.tensors[i] && !order_tensor_is_rows(v->u.list->u.tensors[i])) return false;
    return true;
}

/* The format that the tensors of a list agree on, as torch.cat does. */
static memory_format order_common(const value *v) {
    memory_format format = FORMAT_CONTIGUOUS;
    if (v->tag != V_LIST || v->u.list->kind != LIST_TENSOR) return format;
    for (size_t i = 0; i < v->u.list->len; i++) {
        const tensor *t = v->u.list->u.tensors[i];
        memory_format own = t ? tensor_suggested_format(t) : FORMAT_CONTIGUOUS;
        if (own == FORMAT_CONTIGUOUS || (i && own != format)) return FORMAT_CONTIGUOUS;
        format = own;
    }
    return format;
}

/* Channels last in convolutions: where the image or the weight has them so. Kernels of PyTorch for
 * volumes know that of two dtypes only. */
static bool order_conv_last(const value *args) {
    const tensor *x = args[0].u.tensor, *w = args[1].u.tensor;
    if (w->ndim == 5 && x->dtype != DT_FLOAT32 && x->dtype != DT_BFLOAT16) return false;
    return tensor_suggested_format(x) != FORMAT_CONTIGUOUS ||
           tensor_suggested_format(w) != FORMAT_CONTIGUOUS;
}

static void order_in_format(memory_format format, const tensor *t, int64_t *strides) {
    bool fits = (format == FORMAT_CHANNELS_LAST && t->ndim == 4) ||
                (format == FORMAT_CHANNELS_LAST_3D && t->ndim == 5);
    (void)format_strides(NULL, fits ? format : FORMAT_CONTIGUOUS, t->ndim, t->sizes, strides);
}

/* What only crops is a copy of a view. */
static void order_pad(const value *args, const tensor *t, int64_t *strides) {
    const list *pad = args[1].u.list;
    bool grows = false;
    for (size_t i = 0; i < pad->len; i++) grows |= pad->u.ints[i] > 0;
    if (grows) {
        order_in_format(tensor_suggested_format(args[0].u.tensor), t, strides);
        return;
    }
    tensor view = *args[0].u.tensor;
    view.sizes = t->sizes;
    tensor_like_strides(&view, strides);
}

/* An image without a batch is one of a batch of one. */
static void order_conv(const value *args, const tensor *t, int64_t *strides) {
    int spatial = args[1].u.tensor->ndim - 2, lead = spatial + 2 - t->ndim;
    int64_t sizes[TENSOR_MAX_DIMS] = {1}, batched[TENSOR_MAX_DIMS];
    memory_format format = !order_conv_last(args) || lead < 0 || lead > 1 ? FORMAT_CONTIGUOUS
                           : spatial == 2                                 ? FORMAT_CHANNELS_LAST
                           : spatial == 3                                 ? FORMAT_CHANNELS_LAST_3D
                                                                          : FORMAT_CONTIGUOUS;
    if (lead != 1) {
        order_in_format(format, t, strides);
        return;
    }
    memcpy(sizes + 1, t->sizes, (size_t)t->ndim * sizeof *sizes);
    (void)format_strides(NULL, format, t->ndim + 1, sizes, batched);
    memcpy(strides, batched + 1, (size_t)t->ndim * sizeof *strides);
}

/* stack along a dim of its tensors is cat there, whose dim is then split. */
static void order_stack(const value *args, const tensor *t, int64_t *strides) {
    int n = t->ndim;
    int64_t dim = args[1].tag == V_INT ? args[1].u.i : 0, joined[TENSOR_MAX_DIMS],
            of[TENSOR_MAX_DIMS];
    if (dim < 0) dim += n;
    memory_format format = order_common(&args[0]);
    if (dim < 0 || dim >= n - 1 || format == FORMAT_CONTIGUOUS) {
        order_in_format(FORMAT_CONTIGUOUS, t, strides);
        return;
    }
    for (int i = 0; i < n - 1; i++) joined[i] = t->sizes[i < dim ? i : i + 1];
    joined[dim] *= t->sizes[dim];
    (void)format_strides(NULL, format, n - 1, joined, of);
    for (int i = 0; i < n; i++) strides[i] = of[i <= dim ? i : i - 1];
    strides[dim] = of[dim] * t->sizes[dim + 1];
}

static bool order_writes(const op *o, const value *args, int i) {
    return args[i].tag == V_TENSOR && o->schema->args[i].alias && o->schema->args[i].alias->write;
}

static void order_operands(const op *o, const value *args, const tensor *t, int64_t *strides) {
    tensor *operands[ORDER_MAX_OPERANDS];
    int n = 0;
    for (int i = 0; i < o->schema->nargs && n < ORDER_MAX_OPERANDS; i++)
        if (args[i].tag == V_TENSOR && args[i].u.tensor->ndim <= t->ndim &&
            !order_writes(o, args, i))
            operands[n++] = args[i].u.tensor;
    broadcast_strides(t->ndim, t->sizes, n, operands, strides);
}

/* False: the rule says nothing of this result. */
static bool order_of(const op *o, const value *args, const tensor *t, int64_t *strides) {
    const tensor *first = args[0].tag == V_TENSOR ? args[0].u.tensor : NULL;
    switch (o->traits.strides) {
    case STRIDES_OPERANDS:
        if (t->ndim == 0) return false;
        order_operands(o, args, t, strides);
        return true;
    case STRIDES_LIKE:
        if (!first || !tensor_same_shape(first, t)) return false;
        tensor_like_strides(first, strides);
        return true;
    case STRIDES_FORMAT:
        if (!first || first->ndim != t->ndim) return false;
        order_in_format(tensor_suggested_format(first), t, strides);
        return true;
    case STRIDES_PAD:
        if (!first || first->ndim != t->ndim) return false;
        order_pad(args, t, strides);
        return true;
    case STRIDES_CONV:
        if (!first || args[1].tag != V_TENSOR) return false;
        order_conv(args, t, strides);
        return true;
    case STRIDES_CAT: order_in_format(order_common(&args[0]), t, strides); return true;
    case STRIDES_STACK: order_stack(args, t, strides); return true;
    case STRIDES_ROWS: order_in_format(FORMAT_CONTIGUOUS, t, strides); return true;
    case STRIDES_AS_MADE: break;
    }
    return false;
}

static bool order_shares(const tensor *t, int n, const value *args) {
    for (int i = 0; i < n; i++) {
        if (args[i].tag == V_TENSOR && args[i].u.tensor->storage == t->storage) return true;
        if (args[i].tag != V_LIST || args[i].u.list->kind != LIST_TENSOR) continue;
        for (size_t k = 0; k < args[i].u.list->len; k++)
            if (args[i].u.list->u.tensors[k] && args[i].u.list->u.tensors[k]->storage == t->storage)
                return true;
    }
    return false;
}

static ctsc_status op_in_order(op_ctx *cx, const value *args, value *results) {
    const op *o = cx->op;
    int64_t strides[TENSOR_MAX_DIMS];
    TRY(o->fn(cx, args, results));
    for (int i = 0; i < o->schema->nreturns; i++) {
        tensor *t = results[i].tag == V_TENSOR ? results[i].u.tensor : NULL;
        if (!t || order_shares(t, o->schema->nargs, args) || !order_of(o, args, t, strides))
            continue;
        ctsc_status st = tensor_restrided_take(cx->diag, t, strides, &results[i].u.tensor);
        if (st == CTSC_OK) continue;
        results[i] = value_none();
        for (int k = 0; k < o->schema->nreturns; k++) value_set(&results[k], value_none());
        return st;
    }
    return CTSC_OK;
}

/* t, which is row-major, keeps its elements and its storage. */
static ctsc_status order_in_place(op_ctx *cx, tensor *t, const int64_t *strides) {
    tensor *copy, *shaped;
    TRY(tensor_clone_in(cx->diag, t, FORMAT_CONTIGUOUS, &copy));
    ctsc_status st = tensor_view_raw(cx->diag, t, t->ndim, t->sizes, strides, t->offset, &shaped);
    if (st == CTSC_OK) {
        tensor_swap_geometry(t, shaped);
        tensor_unref(shaped);
        st = tensor_copy(cx->diag, t, copy);
    }
    tensor_unref(copy);
    return st;
}

/* out= of another shape becomes what the functional form gives; one that fits keeps its strides. */
static ctsc_status op_out_in_order(op_ctx *cx, const value *args, value *results) {
    const op *o = cx->op;
    int64_t sizes[ORDER_MAX_OUT][TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    int ndim[ORDER_MAX_OUT], first = o->schema->nargs - o->schema->nreturns;
    for (int i = first; i < o->schema->nargs; i++) {
        if (args[i].tag != V_TENSOR) continue;
        const tensor *t = args[i].u.tensor;
        ndim[i - first] = t->ndim;
        memcpy(sizes[i - first], t->sizes, (size_t)t->ndim * sizeof **sizes);
    }
    TRY(o->fn(cx, args, results));
    for (int i = first; i < o->schema->nargs; i++) {
        tensor *t = args[i].tag == V_TENSOR ? args[i].u.tensor : NULL;
        bool fitted = t && t->ndim == ndim[i - first] &&
                      !memcmp(sizes[i - first], t->sizes, (size_t)t->ndim * sizeof **sizes);
        if (!t || fitted || !tensor_is_contiguous(t) || !order_of(o, args, t, strides)) continue;
        ctsc_status st = order_in_place(cx, t, strides);
        if (st == CTSC_OK) continue;
        for (int k = 0; k < o->schema->nreturns; k++) value_set(&results[k], value_none());
        return st;
    }
    return CTSC_OK;
}

/* Whether the outputs are the overload's last arguments, and have an order. */
static bool order_is_out(const op *o, const value *args) {
    const schema *s = o->schema;
    if (!o->traits.orders_out || s->nreturns > ORDER_MAX_OUT || s->nreturns >= s->nargs)
        return false;
    for (int i = s->nargs - s->nreturns; i < s->nargs; i++)
        if (!order_writes(o, args, i)) return false;
    return true;
}

op_fn op_function_in_order(const op *o, int nargs, const value *args) {
    if (o->schema->has_alias_write && !order_is_out(o, args)) return o->fn;
    bool rows = true;
    /* that of one tensor: strides of dims of size 1 are kept, too */
    if (o->traits.strides == STRIDES_LIKE && nargs && args[0].tag == V_TENSOR)
        rows = tensor_has_row_strides(args[0].u.tensor);
    for (int i = 0; i < nargs && rows; i++) rows = order_is_rows(&args[i]);
    if (rows) return o->fn;
    return o->schema->has_alias_write ? op_out_in_order : op_in_order;
}
