/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out_weight.c - constants that a program keeps as integers and makes floats of: weights of 8
 * or 4 bits, which a model keeps so, too.
 *
 *     %w = aten::dequantize(%q)                         %q: a constant of qint8
 *     %w = torchao::dequantize_affine(%q, [1, group], %scale, %zero, ...)
 *
 *     ->  w = DequantizeLinear(q, scale, zero), axis, block_size
 *
 * What follows from constants is computed and would be stored as floats: instead, the
 * value remembers what it was made of, for users that ask for its name. Block-wise
 * and 4-bit weights need operator set 21. A linear layer gets the transposed matrix,
 * [in, out], which engines turn into products with packed weights.
 */
#include "frontend/onnx/onnx_out_internal.h"

#include "tensor/quantiser.h"

static tensor *ints_hold(onnx_out *o, tensor *t_take) {
    if (t_take && !vec_push(&o->held, t_take)) return tensor_unref(t_take), out_no_memory(o), NULL;
    return t_take;
}

static tensor *ints_own(onnx_out *o, tensor *t, dtype dt) {
    tensor *cast = NULL, *own = NULL;
    if (tensor_to_dtype(o->d, t, dt, &cast) == CTSC_OK &&
        tensor_contiguous(o->d, cast, &own) != CTSC_OK)
        own = NULL;
    tensor_unref(cast);
    return ints_hold(o, own);
}

/* Of a quantised constant; false: without memory. */
static bool ints_of_quantised(onnx_out *o, value v, out_weight *x) {
    const op *repr = op_find("aten::int_repr");
    op_ctx cx = {.diag = o->d, .op = repr, .nargs = 1};
    value r = value_none();
    const quantiser *q = v.u.tensor->quantiser;
    if (!repr || op_function(repr, 1, &v)(&cx, &v, &r) != CTSC_OK) return false;
    x->q = ints_own(o, r.u.tensor, DT_INT8);
    value_unref(r);
    x->bits = 8;
    tensor *scale = NULL, *zero = NULL;
    if (quantiser_per_tensor(q)) {
        if (tensor_scalar_float(o->d, DT_FLOAT32, q->scale, &scale) != CTSC_OK ||
            tensor_scalar_int(o->d, DT_INT8, q->zero_point, &zero) != CTSC_OK)
            return tensor_unref(scale), false;
        x->scale = ints_hold(o, scale);
        x->zero = ints_hold(o, zero);
    } else {
        x->axis = q->axis;
        x->scale = ints_own(o, q->scales, DT_FLOAT32);
        x->zero = ints_own(o, q->zero_points, DT_INT8);
    }
    return x->q && x->scale && x->zero;
}

/* Of torchao's operator, in blocks of rows; x->q stays NULL where it says something else. */
static bool ints_of_affine(onnx_out *o, out_value *const *args, out_weight *x) {
    enum { Q, BLOCK, SCALE, ZERO, TYPE, LOW, HIGH };
    value q = args[Q]->v[0], block = args[BLOCK]->v[0], scale = args[SCALE]->v[0],
          zero = args[ZERO]->v[0], low = args[LOW]->v[0], high = args[HIGH]->v[0];
    if (q.tag != V_TENSOR || q.u.tensor->dtype != DT_INT8 || q.u.tensor->ndim != 2 ||
        scale.tag != V_TENSOR || scale.u.tensor->ndim != 2 || block.tag != V_LIST ||
        block.u.list->kind != LIST_INT || block.u.list->len != 2 || block.u.list->u.ints[0] != 1 ||
        low.tag != V_INT || high.tag != V_INT || (zero.tag != V_NONE && zero.tag != V_TENSOR))
        return true;
    int64_t group = block.u.list->u.ints[1], k = q.u.tensor->sizes[1];
    if (group < 1 || k % group || scale.u.tensor->numel != q.u.tensor->sizes[0] * (k / group) ||
        (zero.tag == V_TENSOR && zero.u.tensor->numel != scale.u.tensor->numel))
        return true;
    x->bits = low.u.i >= -8 && high.u.i <= 7 ? 4 : 8;
    x->axis = 1;
    x->block = group;
    x->scale = ints_own(o, scale.u.tensor, DT_FLOAT32);
    x->zero = zero.tag == V_TENSOR ? ints_own(o, zero.u.tensor, DT_INT8) : NULL;
    x->q = ints_own(o, q.u.tensor, DT_INT8);
    return x->q && x->scale && (x->zero || zero.tag != V_TENSOR);
}

bool out_weight_note(out_call *c, const char *key) {
    onnx_out *o = c->o;
    value v = c->nargs ? c->args[0]->v[0] : value_none();
    bool quantised = !strcmp(key, "aten::dequantize.self") && v.tag == V_TENSOR &&
                     v.u.tensor->dtype == DT_QINT8 &&
                     v.u.tensor->quantiser->scheme != QSCHEME_CHANNEL_FLOAT,
         affine = !strcmp(key, "torchao::dequantize_affine");
    if (!quantised && !affine) return true;
    out_weight x = {0}, *own = arena_new(&o->scratch, out_weight);
    if (!(quantised ? ints_of_quantised(o, v, &x) : ints_of_affine(o, c->args, &x)))
        return out_no_memory(o);
    *own = x;
    if (!x.q) return true;
    c->res[0]->ints = own;
    return ptrmap_put(&o->made_of_ints, c->res[0]->v[0].u.tensor, own) || out_no_memory(o);
}

static bool weight_run(onnx_out *o, const char *key, value v, value *out) {
    const op *op = op_find(key);
    op_ctx cx = {.diag = o->d, .op = op, .nargs = 1};
    return op ? op_function(op, 1, &v)(&cx, &v, out) == CTSC_OK
              : out_refuse(o, "%s is missing", key);
}

/* Of an object of LinearPackedParamsBase. */
static bool weight_of_packed(onnx_out *o, value packed, const out_weight **ints,
                             const tensor **bias) {
    value out[2] = {{0}};
    out_weight x = {0}, *own = arena_new(&o->scratch, out_weight);
    if (!weight_run(o, "quantized::linear_unpack", packed, out)) return false;
    bool bytes = out[0].tag == V_TENSOR && out[0].u.tensor->dtype == DT_QINT8,
         ok = bytes && ints_of_quantised(o, out[0], &x);
    tensor *zeros = NULL;
    *own = x;
    *ints = own;
    if (ok && out[1].tag != V_TENSOR)
        ok = tensor_zeros(o->d, DT_FLOAT32, 1, &x.q->sizes[0], &zeros) == CTSC_OK;
    *bias = !ok ? NULL : zeros ? ints_hold(o, zeros) : ints_own(o, out[1].u.tensor, DT_FLOAT32);
    value_unref(out[0]);
    value_unref(out[1]);
    return bytes ? *bias || out_no_memory(o) : out_refuse(o, "weights that are not int8");
}

bool out_weight_of_cell(onnx_out *o, value cell, const out_weight **ints, const tensor **bias) {
    enum { WEIGHTS = 4 };
    value state = value_none();
    if (!weight_run(o, "ctsc::packed_state", cell, &state)) return false;
    value w = state.tag == V_TUPLE && state.u.tuple->len > WEIGHTS ? state.u.tuple->items[WEIGHTS]
                                                                   : value_none();
    bool ok = w.tag == V_LIST && w.u.list->kind == LIST_VALUE && w.u.list->len == 2;
    if (!ok) out_refuse(o, "of these cells");
    for (size_t k = 0; ok && k < 2; k++)
        ok = weight_of_packed(o, w.u.list->u.values[k], &ints[k], &bias[k]);
    value_unref(state);
    return ok;
}

/* A matrix turned. */
static tensor *ints_turned(onnx_out *o, tensor *t) {
    tensor *turned = NULL, *own = NULL;
    if (!t || t->ndim != 2) return t;
    if (tensor_transpose(o->d, t, 0, 1, &turned) == CTSC_OK &&
        tensor_contiguous(o->d, turned, &own) != CTSC_OK)
        own = NULL;
    tensor_unref(turned);
    return ints_hold(o, own);
}

const char *out_weight_floats(onnx_out *o, const out_weight *given, bool turned) {
    out_weight x = *given;
    if (turned) {
        x.q = ints_turned(o, x.q);
        x.scale = ints_turned(o, x.scale);
        x.zero = ints_turned(o, x.zero);
        x.axis = 1 - x.axis;
    }
    if (!x.q || !x.scale || (given->zero && !x.zero)) return NULL;
    if (x.block && o->opset < 21)
        return out_refuse(o, "weights with scales of groups need operator set 21"), NULL;
    bool four = x.bits == 4;
    const char *q = four ? out_tensor_int4(o, x.q) : out_tensor(o, x.q),
               *scale = q ? out_tensor(o, x.scale) : NULL,
               *zero = !scale || !x.zero ? NULL
                       : four            ? out_tensor_int4(o, x.zero)
                                         : out_tensor(o, x.zero);
    if (!scale || (x.zero && !zero)) return NULL;
    const char *y = zero ? OUT(o, "DequantizeLinear", q, scale, zero)
                         : OUT(o, "DequantizeLinear", q, scale);
    if (x.scale->ndim) out_int(o, "axis", x.axis);
    if (x.block) out_int(o, "block_size", x.block);
    return y;
}
