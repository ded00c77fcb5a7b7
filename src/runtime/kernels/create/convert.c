/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert.c - conversions of tensors (to, clone, copy_, item) and questions about them (dtype,
 * device, ...).
 * Tests: tests/unit/test_pointwise.c
 */
#include "runtime/kernels/create/create.h"

#include "ir/op/autocast.h"

#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

/* ---- to -------------------------------------------------------------------------------------- */

/* In dtype dt and in a memory format, on the device: converted on the host, where it can be. */
static ctsc_status convert_place(op_ctx *cx, tensor *t, int device, dtype dt, memory_format format,
                                 tensor **out) {
    int64_t strides[TENSOR_MAX_DIMS];
    tensor *moved = NULL, *made;
    if (format == FORMAT_PRESERVE) tensor_like_strides(t, strides);
    else TRY(format_strides(cx->diag, format, t->ndim, t->sizes, strides));
    if (device == DEVICE_HOST) TRY(tensor_to_device(cx->diag, t, device, &moved));
    else TRY(tensor_to_dtype(cx->diag, t, dt, &moved));
    ctsc_status st = tensor_new_strided(cx->diag, device, dt, t->ndim, t->sizes, strides, &made);
    if (st == CTSC_OK) {
        made->requires_grad = t->requires_grad;
        if ((st = tensor_copy(cx->diag, made, moved)) != CTSC_OK) tensor_unref(made);
        else *out = made;
    }
    tensor_unref(moved);
    return st;
}

/* The tensor itself if it has the dtype and the format and is there already, unless a copy is
 * asked for. */
static ctsc_status convert_to(op_ctx *cx, tensor *t, int device, dtype dt, memory_format format,
                              bool copy, value *results) {
    tensor *out;
    bool same = t->dtype == dt && tensor_device(t) == device;
    if (same && !copy && (format == FORMAT_PRESERVE || tensor_suggested_format(t) == format))
        return op_return_tensor(results, tensor_ref(t));
    if (same) TRY(tensor_clone_in(cx->diag, t, format, &out));
    else if (t->quantiser || dtype_is_quantised(dt)) TRY(tensor_to_dtype(cx->diag, t, dt, &out));
    else TRY(convert_place(cx, t, device, dt, format, &out));
    return op_return_tensor(results, out);
}

static memory_format convert_format(op_ctx *cx, const value *args) {
    const value *v = create_arg(cx, args, "memory_format");
    return v ? arg_format(v, FORMAT_PRESERVE) : FORMAT_PRESERVE;
}

/* All overloads of aten::to: dtype, device, copy are where the schema names them; `other` gives its
 * dtype and its device. */
OPERATOR(to) {
    tensor *t = args[0].u.tensor;
    const value *other = create_arg(cx, args, "other"), *want = create_arg(cx, args, "dtype");
    const value *copy = create_arg(cx, args, "copy");
    dtype dt = other ? (dtype)other->u.tensor->dtype : (dtype)t->dtype;
    memory_format format = convert_format(cx, args);
    if (!other && want) TRY(arg_dtype(cx, want, dt, &dt));
    return convert_to(cx, t, create_device(cx, args, other ? other->u.tensor : t), dt, format,
                      copy && arg_bool(copy), results);
}
/* _to_copy(self, dtype, ...): always a new tensor */
OPERATOR(to_copy) {
    const value *want = create_arg(cx, args, "dtype");
    dtype dt = (dtype)args[0].u.tensor->dtype;
    memory_format format = convert_format(cx, args);
    value made;
    if (want) TRY(arg_dtype(cx, want, dt, &dt));
    TRY(convert_to(cx, args[0].u.tensor, create_device(cx, args, args[0].u.tensor), dt, format,
                   true, &made));
    return op_finish(cx, args, made.u.tensor, results);
}
OPERATOR(type_as) {
    const tensor *other = args[1].u.tensor;
    return convert_to(cx, args[0].u.tensor, tensor_device(other), (dtype)other->dtype,
                      FORMAT_PRESERVE, false, results);
}
/* What autocast puts in front of operators. */
OPERATOR(autocast) {
    tensor *t = args[0].u.tensor;
    op_symbol key = cx->op->symbol;
    int device = tensor_device(t), flag = autocast_flag(key, device != DEVICE_HOST),
        lower = autocast_lower(key, device != DEVICE_HOST);
    dtype dt = DT_FLOAT32;
    if (lower >= 0) TRY(arg_dtype(cx, &args[lower], dt, &dt));
    dt = autocast_dtype(key, (dtype)t->dtype, flag < 0 || arg_bool(&args[flag]), dt);
    return convert_to(cx, t, device, dt, FORMAT_PRESERVE, false, results);
}
OPERATOR(get_autocast_dtype) {
    bool cpu = !strcmp(args[0].u.str->bytes, "cpu");
    (void)cx;
    return op_return(results, value_int(cpu ? DT_BFLOAT16 : DT_FLOAT16));
}
#define CONVERT_CAST(name, dt)                                                                     \
    OPERATOR(cast_##name) {                                                                        \
        tensor *t = args[0].u.tensor;                                                              \
        return convert_to(cx, t, tensor_device(t), dt, FORMAT_PRESERVE, false, results);           \
    }
CONVERT_CAST(byte, DT_UINT8)
CONVERT_CAST(char, DT_INT8)
CONVERT_CAST(short, DT_INT16)
CONVERT_CAST(int, DT_INT32)
CONVERT_CAST(long, DT_INT64)
CONVERT_CAST(half, DT_FLOAT16)
CONVERT_CAST(float, DT_FLOAT32)
CONVERT_CAST(double, DT_FLOAT64)

static ctsc_status convert_move(op_ctx *cx, const value *args, int device, value *results) {
    tensor *out;
    TRY(tensor_to_device(cx->diag, args[0].u.tensor, device, &out));
    return op_return_tensor(results, out);
}
OPERATOR(cuda) { return convert_move(cx, args, 1, results); }
OPERATOR(cpu) { return convert_move(cx, args, DEVICE_HOST, results); }

/* ---- the same tensor, or a copy -------------------------------------------------------------- */

OPERATOR(contiguous) {
    tensor *t = args[0].u.tensor, *out;
    memory_format format = arg_format(&args[1], FORMAT_CONTIGUOUS);
    if (format == FORMAT_PRESERVE)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "preserve memory format is unsupported by the contiguous operator");
    if (tensor_is_in_format(t, format)) return op_return_tensor(results, tensor_ref(t));
    TRY(tensor_clone_in(cx->diag, t, format, &out));
    return op_return_tensor(results, out);
}
OPERATOR(clone) {
    tensor *t;
    memory_format format = convert_format(cx, args);
    TRY(tensor_clone_in(cx->diag, args[0].u.tensor, format, &t));
    return op_finish(cx, args, t, results);
}
OPERATOR(identity) {
    (void)cx;
    return op_return_self(results, args);
}
/* The very elements, in the same order: nothing is copied, whatever else a
 * written tensor must be. */
static bool convert_same_data(const tensor *a, const tensor *b) {
    return a == b ||
           (a->storage == b->storage && a->offset == b->offset && a->dtype == b->dtype &&
            a->conjugated == b->conjugated && a->negated == b->negated && tensor_same_shape(a, b) &&
            !memcmp(a->strides, b->strides, (size_t)a->ndim * sizeof *a->strides));
}

/* copy_(self, src): src is broadcast and converted. */
OPERATOR(copy_) {
    tensor *self = args[0].u.tensor, *src = args[1].tag == V_TENSOR ? args[1].u.tensor : NULL;
    if (src && convert_same_data(self, src)) return op_return_self(results, args);
    if (src && tensor_partial_overlap(self, src) && tensor_is_dense(self) && tensor_is_dense(src))
        return op_refuse_partial_overlap(cx);
    TRY(tensor_make_writable(cx->diag, self));
    if (!src) TRY(create_fill(cx, self, &args[1]));
    else TRY(tensor_copy(cx->diag, self, src));
    return op_return_self(results, args);
}
/* copy(self, src): src in self's shape and dtype. */
OPERATOR(copy) {
    tensor *self = args[0].u.tensor, *t;
    TRY(tensor_new_like(cx->diag, self, (dtype)self->dtype, &t));
    ctsc_status st = tensor_copy(cx->diag, t, args[1].u.tensor);
    if (st == CTSC_OK) return op_finish(cx, args, t, results);
    tensor_unref(t);
    return st;
}

/* ---- numbers from tensors -------------------------------------------------------------------- */

static ctsc_status convert_item(op_ctx *cx, const tensor *t, value *out) {
    dtype dt = (dtype)t->dtype;
    if (t->numel != 1)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "a Tensor with %lld elements cannot be converted to Scalar",
                         (long long)t->numel);
    if (dtype_is_quantised(dt)) return op_refuse_dtype(cx, "_local_scalar_dense_cpu", dt);
    if (dtype_is_complex(dt)) {
        const void *p = tensor_data(t);
        complex_box *c = dt == DT_COMPLEX128
                             ? complex_new(((const complex128 *)p)->re, ((const complex128 *)p)->im)
                         : dt == DT_COMPLEX64
                             ? complex_new(((const complex64 *)p)->re, ((const complex64 *)p)->im)
                             : complex_new(float16_to_float(((const complex32 *)p)->re),
                                           float16_to_float(((const complex32 *)p)->im));
        if (!c) return diag_no_memory(cx->diag);
        *out = (value){.tag = V_COMPLEX, .u.complex = c};
    } else if (dt == DT_BOOL) {
        *out = value_bool(tensor_item_int(t) != 0);
    } else if (dtype_is_float(dt) || dtype_is_float8(dt)) {
        *out = value_float(tensor_item_float(t));
    } else {
        int64_t i = tensor_item_int(t);
        if (dt == DT_UINT64 && i < 0)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "value cannot be converted to type int64_t without overflow");
        *out = value_int(i);
    }
    return CTSC_OK;
}

static ctsc_status convert_to_int(op_ctx *cx, const value *v, value *results) {
    if (v->tag == V_COMPLEX)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "value cannot be converted to type int64_t without overflow");
    if (v->tag != V_FLOAT) return op_return(results, value_int(arg_int(v)));
    if (!(v->u.f >= -0x1p63 && v->u.f < 0x1p63))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "value cannot be converted to type int64_t without overflow");
    return op_return(results, value_int((int64_t)v->u.f));
}

OPERATOR(item) { return convert_item(cx, args[0].u.tensor, results); }
OPERATOR(int_tensor) {
    value v;
    TRY(convert_item(cx, args[0].u.tensor, &v));
    ctsc_status st = convert_to_int(cx, &v, results);
    value_unref(v);
    return st;
}
OPERATOR(float_tensor) {
    value v;
    TRY(convert_item(cx, args[0].u.tensor, &v));
    if (v.tag == V_COMPLEX) {
        value_unref(v);
        return diag_fail(cx->diag, CTSC_FAILED,
                         "value cannot be converted to type double without overflow");
    }
    return op_return(results, value_float(arg_float(&v)));
}

/* The implicit conversions of arguments admit 0-dim tensors without gradient only. */
static ctsc_status convert_implicit(op_ctx *cx, const tensor *t, bool to_int) {
    if (t->requires_grad)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Cannot input a tensor that requires grad as a scalar argument");
    if (t->ndim != 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Cannot input a tensor of dimension other than 0 as a scalar argument");
    if (to_int && !dtype_is_int((dtype)t->dtype))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Cannot input a tensor of type %s as an integral argument",
                         dtype_table[t->dtype].ir_name);
    return CTSC_OK;
}
OPERATOR(int_implicit) {
    TRY(convert_implicit(cx, args[0].u.tensor, true));
    return op_int_tensor(cx, args, results);
}
OPERATOR(float_implicit) {
    TRY(convert_implicit(cx, args[0].u.tensor, false));
    return op_float_tensor(cx, args, results);
}
OPERATOR(scalar_implicit) {
    TRY(convert_implicit(cx, args[0].u.tensor, false));
    return convert_item(cx, args[0].u.tensor, results);
}

/* _tensor_to_list(self) -> int[], _list_to_tensor(int[]) -> Tensor */
OPERATOR(tensor_to_list) {
    tensor *t;
    const tensor *self = args[0].u.tensor;
    /* the one dtype that PyTorch reads here */
    if (self->dtype != DT_INT32 && self->ndim && self->sizes[0] > 0)
        return diag_fail(cx->diag, CTSC_FAILED, "expected scalar type Int but found %s",
                         dtype_table[self->dtype].ir_name);
    TRY(tensor_to_dtype(cx->diag, args[0].u.tensor, DT_INT64, &t));
    tensor *flat;
    ctsc_status st = tensor_contiguous(cx->diag, t, &flat);
    tensor_unref(t);
    TRY(st);
    list *l = list_new(LIST_INT, TYPE_INT, (size_t)flat->numel);
    if (l) {
        if (flat->numel)
            memcpy(l->u.ints, tensor_data(flat), (size_t)flat->numel * sizeof(int64_t));
        l->len = (size_t)flat->numel;
    }
    tensor_unref(flat);
    return l ? op_return(results, value_list_take(l)) : diag_no_memory(cx->diag);
}
OPERATOR(list_to_tensor) {
    const int64_t *data;
    int64_t n = arg_ints(&args[0], &data);
    tensor *t;
    TRY(tensor_new(cx->diag, DT_INT64, 1, &n, &t));
    if (n) memcpy(tensor_data(t), data, (size_t)n * sizeof *data);
    return op_return_tensor(results, t);
}
/* ---- questions ------------------------------------------------------------------------------- */

#define QUESTION(name, answer)                                                                     \
    OPERATOR(name) {                                                                               \
        const tensor *t = args[0].u.tensor;                                                        \
        (void)cx, (void)t;                                                                         \
        return op_return(results, answer);                                                         \
    }
QUESTION(is_floating_point,
         value_bool(dtype_is_float((dtype)t->dtype) || dtype_is_float8((dtype)t->dtype)))
QUESTION(is_complex, value_bool(dtype_is_complex((dtype)t->dtype)))
QUESTION(is_signed, value_bool(t->dtype != DT_UINT8 && t->dtype != DT_BOOL &&
                               !dtype_is_unsigned((dtype)t->dtype)))
QUESTION(numel, value_int(t->numel))
QUESTION(dim, value_int(t->ndim))
QUESTION(tensor_dtype, value_int(t->dtype))
QUESTION(tensor_device, value_device(tensor_device(t)))
QUESTION(tensor_layout, value_int(0))
QUESTION(answer_true, value_bool(true))
QUESTION(answer_false, value_bool(false))
QUESTION(answer_none, value_none())
QUESTION(answer_zero, value_int(0))
QUESTION(is_quantized, value_bool(dtype_is_quantised((dtype)t->dtype)))
QUESTION(get_device, value_int(tensor_is_meta(t) ? -1 : tensor_device(t) - 1))
QUESTION(is_cpu, value_bool(tensor_device(t) == DEVICE_HOST))
QUESTION(is_cuda, value_bool(tensor_device(t) != DEVICE_HOST && !tensor_is_meta(t)))
QUESTION(is_meta, value_bool(tensor_is_meta(t)))
QUESTION(element_size, value_int((int64_t)dtype_size((dtype)t->dtype)))

/* result_type(...), promote_types(a, b), can_cast(from, to): dtypes are ints here */
OPERATOR(result_type) {
    if (args[0].tag == V_TENSOR && args[1].tag == V_TENSOR)
        TRY(op_check_promotion(cx->diag, (dtype)args[0].u.tensor->dtype,
                               (dtype)args[1].u.tensor->dtype));
    return op_return(results, value_int(promote_operands(2, args)));
}
OPERATOR(promote_types) {
    dtype a, b;
    TRY(arg_dtype(cx, &args[0], DT_FLOAT32, &a));
    TRY(arg_dtype(cx, &args[1], DT_FLOAT32, &b));
    TRY(op_check_promotion(cx->diag, a, b));
    return op_return(results, value_int(dtype_promote(a, b)));
}
OPERATOR(can_cast) {
    dtype a, b;
    TRY(arg_dtype(cx, &args[0], DT_FLOAT32, &a));
    TRY(arg_dtype(cx, &args[1], DT_FLOAT32, &b));
    return op_return(results, value_bool(dtype_can_cast(a, b)));
}

/* ---- the layouts of oneDNN ------------------------------------------------------------------- */

/* to_mkldnn(self, dtype): a tensor of its own, contiguous. */
ctsc_status op_to_mkldnn(op_ctx *cx, const value *args, value *results);
ctsc_status op_to_mkldnn(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    dtype dt = (dtype)t->dtype;
    TRY(arg_dtype(cx, &args[1], dt, &dt));
    if (!dtype_is_float((dtype)t->dtype) || t->dtype == DT_FLOAT64)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "dense_to_mkldnn expects float or bfloat16 tensor input");
    value to[5] = {args[0], value_int(dt), value_bool(false), value_bool(true), value_none()};
    return op_call(cx, "aten::to.dtype", 5, to, results);
}

/* prim::MKLDNNHardSwish(self) and the like, in place too. */
ctsc_status op_mkldnn_unary(op_ctx *cx, const value *args, value *results);
ctsc_status op_mkldnn_unary(op_ctx *cx, const value *args, value *results) {
    static const char *const table[][2] = {
        {"prim::MKLDNNHardSwish", "aten::hardswish"},
        {"prim::MKLDNNHardSwish_", "aten::hardswish_"},
        {"prim::MKLDNNHardSigmoid", "aten::hardsigmoid"},
        {"prim::MKLDNNHardSigmoid_", "aten::hardsigmoid_"},
    };
    int i = 0;
    while (strcmp(table[i][0], cx->op->key)) i++;
    return op_call(cx, table[i][1], 1, args, results);
}
