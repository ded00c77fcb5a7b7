/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create.c - tensors from nothing: zeros, ones, full, empty, their *_like and new_* forms; fill;
 * and tensors from lists and numbers.
 * Tests: tests/unit/test_pointwise.c
 */
#include "runtime/kernels/create/create.h"
#include "runtime/kernels/pointwise/pointwise.h"

#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

/* ---- options --------------------------------------------------------------------------------- */

const value *create_arg(op_ctx *cx, const value *args, const char *name) {
    const schema *s = cx->op ? cx->op->schema : NULL;
    int i = s ? schema_find_arg(s, name) : -1;
    return i < 0 || args[i].tag == V_NONE ? NULL : &args[i];
}

int create_device(op_ctx *cx, const value *args, const tensor *like) {
    const value *out = create_arg(cx, args, "out"), *device = create_arg(cx, args, "device");
    if (out) return tensor_device(out->u.tensor);
    if (device && device->tag == V_DEVICE)
        return device->u.device == VALUE_DEVICE_CUDA ? 1 : (int)device->u.device;
    return like ? tensor_device(like) : DEVICE_HOST;
}

ctsc_status create_options(op_ctx *cx, const value *args, dtype fallback, dtype *dt) {
    const value *v = create_arg(cx, args, "out");
    if (v) {
        *dt = (dtype)v->u.tensor->dtype;
        return CTSC_OK;
    }
    v = create_arg(cx, args, "layout");
    if (v && arg_int(v) != 0)
        return diag_fail(cx->diag, CTSC_UNSUPPORTED, "only the strided layout is supported");
    v = create_arg(cx, args, "dtype");
    if (!v) {
        *dt = fallback;
        return CTSC_OK;
    }
    return arg_dtype(cx, v, fallback, dt);
}

typedef ctsc_status create_fn(diag *d, int device, dtype dt, int ndim, const int64_t *sizes,
                              tensor **out);

static ctsc_status create_sized_by(op_ctx *cx, const value *sizes, int device, dtype dt,
                                   create_fn *make, tensor **out) {
    const int64_t *data;
    int n = arg_ints(sizes, &data);
    if (n > TENSOR_MAX_DIMS)
        return diag_fail(cx->diag, CTSC_FAILED, "tensor has too many (>%d) dims", TENSOR_MAX_DIMS);
    return make(cx->diag, device, dt, n, data, out);
}

ctsc_status create_sized(op_ctx *cx, const value *sizes, dtype dt, tensor **out) {
    return create_sized_by(cx, sizes, DEVICE_HOST, dt, tensor_new_on, out);
}

/* ---- filling --------------------------------------------------------------------------------- */

VECTOR_LOOPS static void create_fill_loop(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const tensor *v = ctx;
    DISPATCH_BITS(v->dtype, {
        const T bits = *(const T *)tensor_data(v);
        if (s[0] == sizeof(T)) {
            T *q = (T *)(void *)p[0];
            for (int64_t i = 0; i < n; i++) q[i] = bits;
        } else {
            for (int64_t i = 0; i < n; i++) *(T *)(void *)(p[0] + i * s[0]) = bits;
        }
    })
}

static ctsc_status create_fill_there(op_ctx *cx, tensor *t, const value *v) {
    tensor *one;
    TRY(operand_to_tensor(cx, v, (dtype)t->dtype, &one));
    ctsc_status st = tensor_copy(cx->diag, t, one);
    tensor_unref(one);
    return st;
}

ctsc_status create_fill(op_ctx *cx, tensor *t, const value *v) {
    dtype dt = (dtype)t->dtype;
    /* PyTorch fills a single element as it converts numbers: half overflows to infinity */
    if (t->numel != 1 || !dtype_is_half(dt)) TRY(pw_require_fits(cx, v, dt));
    pw_operand operand;
    if (tensor_device(t) != DEVICE_HOST) return create_fill_there(cx, t, v);
    TRY(pw_operand_init(cx, &operand, v, dt));
    return iter_run_limited(t->ndim, t->sizes, 1, &t, create_fill_loop, operand.t, 0)
               ? CTSC_OK
               : limits_fail(cx->diag);
}

/* Fills a fresh tensor and finishes the overload. Takes t. */
static ctsc_status create_filled(op_ctx *cx, const value *args, tensor *t, value v,
                                 value *results) {
    ctsc_status st = create_fill(cx, t, &v);
    if (st == CTSC_OK) return op_finish(cx, args, t, results);
    tensor_unref(t);
    return st;
}

/* The element of a 0-dim tensor of the host; a complex one is read into *store. */
static void create_read_number(const tensor *t, complex_box *store, value *number) {
    if (dtype_is_complex((dtype)t->dtype)) {
        dtype part = dtype_part((dtype)t->dtype);
        store->re = dtype_load_float(part, tensor_data(t));
        store->im = dtype_load_float(part, (const char *)tensor_data(t) + dtype_size(part));
        *number = (value){.tag = V_COMPLEX, .u.complex = store};
        return;
    }
    *number = t->dtype == DT_BOOL               ? value_bool(tensor_item_int(t))
              : dtype_is_float((dtype)t->dtype) ? value_float(tensor_item_float(t))
                                                : value_int(tensor_item_int(t));
}

/* The number of a fill_ or full: a Scalar, or a 0-dim tensor. Borrowed from v and *store. */
static ctsc_status create_fill_value(op_ctx *cx, const value *v, complex_box *store,
                                     value *number) {
    tensor *here;
    *number = *v;
    if (v->tag != V_TENSOR) return CTSC_OK;
    if (v->u.tensor->ndim != 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "fill_ only supports 0-dimension value tensor but got tensor with %d "
                         "dimensions.",
                         v->u.tensor->ndim);
    TRY(tensor_to_device(cx->diag, v->u.tensor, DEVICE_HOST, &here));
    create_read_number(here, store, number);
    tensor_unref(here);
    return CTSC_OK;
}

static ctsc_status create_fill_all(op_ctx *cx, const value *args, value number, value *results) {
    tensor *t;
    int index;
    if (op_target(cx, args, &index) && index == 0) {
        TRY(tensor_make_writable(cx->diag, args[0].u.tensor));
        TRY(create_fill(cx, args[0].u.tensor, &number));
        return op_return_self(results, args);
    }
    TRY(tensor_new_like(cx->diag, args[0].u.tensor, (dtype)args[0].u.tensor->dtype, &t));
    return create_filled(cx, args, t, number, results);
}
/* fill_(self, value), and the functional and out= forms */
OPERATOR(fill) {
    value number;
    complex_box store;
    TRY(create_fill_value(cx, &args[1], &store, &number));
    return create_fill_all(cx, args, number, results);
}
OPERATOR(zero) { return create_fill_all(cx, args, value_int(0), results); }

/* fill_diagonal_(self, fill_value, wrap=False) */
OPERATOR(fill_diagonal) {
    tensor *t = args[0].u.tensor, *view;
    if (t->ndim < 2) return diag_fail(cx->diag, CTSC_FAILED, "dimensions must larger than 1");
    int64_t size = t->sizes[0], step = 0;
    for (int i = 0; i < t->ndim; i++) {
        if (t->ndim > 2 && t->sizes[i] != t->sizes[0])
            return diag_fail(cx->diag, CTSC_FAILED,
                             "all dimensions of input must be of equal length");
        if (t->sizes[i] < size) size = t->sizes[i];
        step += t->strides[i];
    }
    TRY(tensor_make_writable(cx->diag, t));
    TRY(tensor_view_raw(cx->diag, t, 1, &size, &step, t->offset, &view));
    ctsc_status st = create_fill(cx, view, &args[1]);
    tensor_unref(view);
    /* wrap: after each block of `cols` rows and one row left out, the diagonal starts again */
    int64_t rows = t->sizes[0], cols = t->sizes[1];
    if (st == CTSC_OK && arg_bool(&args[2]) && t->ndim == 2 && rows > cols + 1) {
        for (int64_t row = cols + 1; row < rows && st == CTSC_OK; row += cols + 1) {
            int64_t n = rows - row < cols ? rows - row : cols;
            if ((st = op_go_on(cx, row / (cols + 1))) != CTSC_OK) break;
            st = tensor_view_raw(cx->diag, t, 1, &n, &step, t->offset + row * t->strides[0], &view);
            if (st != CTSC_OK) break;
            st = create_fill(cx, view, &args[1]);
            tensor_unref(view);
        }
    }
    return st == CTSC_OK ? op_return_self(results, args) : st;
}

/* ---- by size, by example --------------------------------------------------------------------- */

/* The strides of a new tensor whose elements are yet to be written: those of `like`, or of the
 * requested memory format. */
static ctsc_status create_ordered(op_ctx *cx, const value *args, const tensor *like, tensor *t) {
    const value *v = create_arg(cx, args, "memory_format");
    memory_format format = like ? FORMAT_PRESERVE : FORMAT_CONTIGUOUS;
    if (v) format = arg_format(v, format);
    if (format == FORMAT_PRESERVE) {
        if (like) tensor_like_strides(like, t->strides);
        return CTSC_OK;
    }
    return format_strides(cx->diag, format, t->ndim, t->sizes, t->strides);
}

/* What the overload's first arguments say about size and default dtype: (size), (self), (self,
 * size). */
static ctsc_status create_shaped(op_ctx *cx, const value *args, dtype fallback, create_fn *make,
                                 tensor **out) {
    dtype dt;
    const tensor *like = args[0].tag == V_TENSOR ? args[0].u.tensor : NULL;
    TRY(create_options(cx, args, like ? (dtype)like->dtype : fallback, &dt));
    int device = create_device(cx, args, like);
    const value *sizes = like ? create_arg(cx, args, "size") : &args[0];
    TRY(sizes ? create_sized_by(cx, sizes, device, dt, make, out)
              : make(cx->diag, device, dt, like->ndim, like->sizes, out));
    ctsc_status st = create_ordered(cx, args, sizes ? NULL : like, *out);
    if (st != CTSC_OK) tensor_unref(*out);
    return st;
}

OPERATOR(zeros) {
    tensor *t;
    TRY(create_shaped(cx, args, DT_FLOAT32, tensor_zeros_on, &t));
    return op_finish(cx, args, t, results);
}
OPERATOR(ones) {
    tensor *t;
    TRY(create_shaped(cx, args, DT_FLOAT32, tensor_new_on, &t));
    return create_filled(cx, args, t, value_int(1), results);
}
/* What PyTorch leaves uninitialised is 0 here, so that no program can read what was there before.
 */
OPERATOR(empty) { return op_zeros(cx, args, results); }

/* full(size, fill_value), full_like(self, fill_value), new_full(self, size, fill_value) */
OPERATOR(full) {
    const value *fill = create_arg(cx, args, "fill_value");
    value number;
    complex_box store;
    if (!fill) fill = &args[1];
    TRY(create_fill_value(cx, fill, &store, &number));
    dtype fallback = number.tag == V_BOOL      ? DT_BOOL
                     : number.tag == V_INT     ? DT_INT64
                     : number.tag == V_COMPLEX ? DT_COMPLEX64
                                               : DT_FLOAT32;
    tensor *t;
    TRY(create_shaped(cx, args, fallback, tensor_new_on, &t));
    return create_filled(cx, args, t, number, results);
}

/* empty_strided(size, stride), new_empty_strided(self, size, stride) */
OPERATOR(empty_strided) {
    const value *sizes = create_arg(cx, args, "size"), *steps = create_arg(cx, args, "stride");
    const int64_t *size, *stride;
    dtype dt;
    dtype fallback = args[0].tag == V_TENSOR ? (dtype)args[0].u.tensor->dtype : DT_FLOAT32;
    TRY(create_options(cx, args, fallback, &dt));
    int n = arg_ints(sizes, &size);
    if (n != arg_ints(steps, &stride))
        return diag_fail(cx->diag, CTSC_FAILED, "mismatch in length of strides and shape");
    int64_t span = 1;
    for (int i = 0; i < n; i++) {
        if (size[i] < 0 || stride[i] < 0)
            return diag_fail(cx->diag, CTSC_FAILED, "sizes and strides must be non-negative");
        int64_t reach;
        if (size[i] > 0 && (__builtin_mul_overflow(size[i] - 1, stride[i], &reach) ||
                            __builtin_add_overflow(span, reach, &span)))
            return diag_fail(cx->diag, CTSC_FAILED, "storage size calculation overflowed");
    }
    tensor *flat, *t;
    int device = create_device(cx, args, args[0].tag == V_TENSOR ? args[0].u.tensor : NULL);
    TRY(tensor_zeros_on(cx->diag, device, dt, 1, &span, &flat));
    ctsc_status st = tensor_as_strided(cx->diag, flat, n, size, stride, 0, &t);
    tensor_unref(flat);
    return st == CTSC_OK ? op_finish(cx, args, t, results) : st;
}

/* ---- from numbers and lists ------------------------------------------------------------------ */

static dtype create_dtype_of(const value *v) {
    return v->tag == V_BOOL      ? DT_BOOL
           : v->tag == V_INT     ? DT_INT64
           : v->tag == V_COMPLEX ? DT_COMPLEX64
                                 : DT_FLOAT32;
}

static ctsc_status create_number(op_ctx *cx, const value *v, dtype dt, tensor **out) {
    if (!dtype_is_half(dt)) TRY(pw_require_fits(cx, v, dt));
    return operand_to_tensor(cx, v, dt, out);
}

/* Sizes of a nested list from its first elements. Fails beyond TENSOR_MAX_DIMS (lists may be
 * cyclic). */
static ctsc_status create_list_sizes(op_ctx *cx, const list *l, int *ndim, int64_t *sizes,
                                     value *leaf, type **elem) {
    *ndim = 0;
    for (;;) {
        if (*ndim >= TENSOR_MAX_DIMS)
            return diag_fail(cx->diag, CTSC_FAILED, "too many dimensions");
        sizes[(*ndim)++] = (int64_t)l->len;
        *elem = l->elem;
        *leaf = value_none();
        if (l->kind == LIST_INT) *leaf = value_int(0);
        if (l->kind == LIST_FLOAT) *leaf = value_float(0);
        if (l->kind == LIST_BOOL) *leaf = value_bool(false);
        if (l->kind != LIST_VALUE || l->len == 0) return CTSC_OK;
        *leaf = l->u.values[0];
        if (leaf->tag != V_LIST) return CTSC_OK;
        l = leaf->u.list;
    }
}

/* elem: what the list is declared to hold, NULL: only the value says it. */
static ctsc_status create_refuse_elements(op_ctx *cx, const type *elem, value leaf) {
    strbuf text = STRBUF_INIT;
    const type *t = elem ? elem : type_of_value(leaf);
    if (t) type_print_python(t, &text);
    ctsc_status st = diag_fail(cx->diag, CTSC_FAILED,
                               "Input must be of ints, floats, or bools, got %s%s", sb_str(&text),
                               t && t->kind == T_TENSOR && leaf.tag == V_NONE
                                   ? "\nEmpty lists default to List[Tensor]. Add a variable "
                                     "annotation to the assignment to create an empty list of "
                                     "another type (torch.jit.annotate(List[T, []]) where T is the "
                                     "type of elements in the list for Python 2)"
                                   : "");
    sb_free(&text);
    return st;
}

/* dtype of the elements: by a leaf if there is one, else by the static element type. */
static ctsc_status create_list_dtype(op_ctx *cx, const value *leaf, const type *elem, dtype *dt) {
    while (elem && elem->kind == T_LIST) elem = type_elem(elem);
    if (elem && (elem->kind == T_STR || elem->kind == T_OPTIONAL || elem->kind == T_NONE))
        return create_refuse_elements(cx, elem, *leaf);
    if (leaf->tag == V_INT || leaf->tag == V_FLOAT || leaf->tag == V_BOOL ||
        leaf->tag == V_COMPLEX) {
        *dt = create_dtype_of(leaf);
        return CTSC_OK;
    }
    if (leaf->tag == V_NONE && (!elem || elem->kind != T_TENSOR)) {
        *dt = elem && elem->kind == T_INT    ? DT_INT64
              : elem && elem->kind == T_BOOL ? DT_BOOL
                                             : DT_FLOAT32;
        return CTSC_OK;
    }
    return create_refuse_elements(cx, elem, *leaf);
}

/* Writes list l, of depth `level`, at element *at of t. */
static ctsc_status create_list_store(op_ctx *cx, const list *l, int level, tensor *t, int64_t *at) {
    if ((int64_t)l->len != t->sizes[level])
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Expected sequence of length %lld at dim %d (got %lld)",
                         (long long)t->sizes[level], level, (long long)l->len);
    dtype dt = (dtype)t->dtype;
    size_t size = dtype_size(dt);
    for (size_t i = 0; i < l->len; i++) {
        if (level + 1 < t->ndim) {
            if (l->kind != LIST_VALUE || l->u.values[i].tag != V_LIST)
                return diag_fail(cx->diag, CTSC_FAILED, "Expected a nested list at dim %d", level);
            TRY(create_list_store(cx, l->u.values[i].u.list, level + 1, t, at));
            continue;
        }
        value v = list_get(l, i);
        char *p = (char *)tensor_data(t) + (size_t)(*at)++ * size;
        ctsc_status st = CTSC_OK;
        if (v.tag == V_COMPLEX && dtype_is_complex(dt))
            dtype_store_complex(dt, p, v.u.complex->re, v.u.complex->im);
        else if (v.tag != V_INT && v.tag != V_FLOAT && v.tag != V_BOOL && v.tag != V_COMPLEX)
            st = diag_fail(cx->diag, CTSC_FAILED, "Expected a number at dim %d", level);
        else if ((st = pw_require_fits(cx, &v, dt)) == CTSC_OK &&
                 (v.tag == V_FLOAT || v.tag == V_COMPLEX))
            dtype_store_float(dt, p, arg_float(&v));
        else if (st == CTSC_OK) dtype_store_int(dt, p, arg_int(&v));
        value_unref(v);
        TRY(st);
    }
    return CTSC_OK;
}

static ctsc_status create_from_list(op_ctx *cx, const list *l, tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS], at = 0;
    int ndim;
    value leaf;
    type *elem;
    dtype dt = DT_FLOAT32;
    TRY(create_list_sizes(cx, l, &ndim, sizes, &leaf, &elem));
    TRY(create_list_dtype(cx, &leaf, elem, &dt));
    tensor *t;
    TRY(tensor_new(cx->diag, dt, ndim, sizes, &t));
    ctsc_status st = create_list_store(cx, l, 0, t, &at);
    if (st == CTSC_OK) *out = t;
    else tensor_unref(t);
    return st;
}

/* tensor(data, dtype, device, requires_grad), as_tensor(data, dtype, device) of a program: as in
 * PyTorch numbers become float32, int64 or bool, and then the requested dtype, which may wrap. */
OPERATOR(tensor) {
    static const value none = {V_NONE, {0}};
    const value *want = create_arg(cx, args, "dtype"), *grad;
    tensor *made, *t;
    dtype dt;
    if (!want) want = &none;
    if (args[0].tag == V_TENSOR) made = tensor_ref(args[0].u.tensor);
    else if (args[0].tag == V_LIST) TRY(create_from_list(cx, args[0].u.list, &made));
    else TRY(create_number(cx, args, create_dtype_of(args), &made));
    ctsc_status st = arg_dtype(cx, want, (dtype)made->dtype, &dt);
    if (!st) st = tensor_to_dtype(cx->diag, made, dt, &t);
    tensor_unref(made);
    if (st || args[0].tag == V_TENSOR) return st ? st : op_return_tensor(results, t);
    grad = create_arg(cx, args, "requires_grad");
    t->requires_grad = grad && arg_bool(grad);
    return op_finish(cx, args, t, results);
}

/* scalar_tensor(s, dtype=None, ...): float32 unless told otherwise. */
OPERATOR(scalar_tensor) {
    dtype dt;
    tensor *t;
    TRY(create_options(cx, args, DT_FLOAT32, &dt));
    TRY(create_number(cx, args, dt, &t));
    return op_finish(cx, args, t, results);
}

/* prim::NumToTensor: the number in its own width. */
OPERATOR(num_to_tensor) {
    dtype dt = create_dtype_of(args);
    dt = dt == DT_FLOAT32 ? DT_FLOAT64 : dt == DT_COMPLEX64 ? DT_COMPLEX128 : dt;
    tensor *t;
    TRY(operand_to_tensor(cx, args, dt, &t));
    return op_return_tensor(results, t);
}
