/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointwise_ternary.c - clamp, lerp, addcmul, addcdiv, and selection by a mask (where,
 * masked_fill).
 * Tests: tests/unit/test_pointwise.c
 */
#include "runtime/kernels/pointwise/pointwise.h"

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

/* ---- clamp ----------------------------------------------------------------------------------- */

PW_REAL_LOOPS(clamp, 3, 0)
PW_INT_LOOPS(clamp, 3, 0)
static const pw_op pw_clamp_tensors = {
    "clamp_cpu", PW_SAME, {PW_REAL_ROW(clamp), PW_INT_ROW(clamp), [DT_BOOL] = clamp_u8_loop}};

/* Between numbers: one input, bounds hoisted. */
#define TERNARY_CLAMP1(sfx, T, m)                                                                  \
    PW_CHEAP_LOOP(1, clamp_numbers_##sfx##_loop, T, T, PW_NUMS2(T, m),                             \
                  *o = scalar_clamp_##sfx(x, n0, n1))
TERNARY_CLAMP1(u8, uint8_t, i)
TERNARY_CLAMP1(i8, int8_t, i)
TERNARY_CLAMP1(i16, int16_t, i)
TERNARY_CLAMP1(i32, int32_t, i)
TERNARY_CLAMP1(i64, int64_t, i)
TERNARY_CLAMP1(f32, float, f)
TERNARY_CLAMP1(f64, double, f)
PW_HALF_LOOPS(clamp_numbers, 1, false)
static const pw_op pw_clamp_numbers = {
    "clamp_scalar_cpu",
    PW_SAME,
    {PW_REAL_ROW(clamp_numbers), PW_INT_ROW(clamp_numbers), [DT_BOOL] = clamp_numbers_u8_loop}};

/* The bounds that change nothing. */
static void ternary_open_bounds(dtype dt, pw_numbers *n) {
    n->f[0] = -SCALAR_INF;
    n->f[1] = SCALAR_INF;
    int bits = (int)dtype_size(dt) * 8;
    bool is_unsigned = dt == DT_UINT8 || dt == DT_BOOL;
    n->i[0] = is_unsigned ? 0 : bits >= 64 ? INT64_MIN : -((int64_t)1 << (bits - 1));
    n->i[1] = is_unsigned ? 255 : bits >= 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1;
}

ctsc_status pw_clamp_bound(op_ctx *cx, dtype dt, const value *bound, int k, pw_numbers *numbers) {
    if (!dtype_is_int(dt) || bound->tag == V_COMPLEX || bound->tag == V_BOOL) {
        TRY(pw_require_fits(cx, bound, dt));
        pw_number(numbers, k, bound);
        return CTSC_OK;
    }
    pw_numbers open;
    ternary_open_bounds(dt, &open);
    const double v = arg_float(bound);
    const bool whole = bound->tag != V_FLOAT, nan = v != v,
               below = whole ? arg_int(bound) < open.i[0] : v < (double)open.i[0],
               above = whole ? arg_int(bound) > open.i[1] : v >= (double)open.i[1] + 1;
    if (nan || (k == 0 ? above : below)) {
        strbuf text = STRBUF_INIT;
        if (whole) sb_printf(&text, "%lld", (long long)arg_int(bound));
        else sb_printf(&text, "%g", v);
        ctsc_status st = diag_fail(cx->diag, CTSC_FAILED,
                                   "Clamp %s value %s is outside the representable range of %s",
                                   k ? "max" : "min", sb_str(&text), dtype_table[dt].ir_name);
        sb_free(&text);
        return st;
    }
    if (k == 0 ? below : above) numbers->i[k] = open.i[k];
    else pw_number(numbers, k, bound);
    return CTSC_OK;
}

/* Bounds are numbers, tensors or None; integers are promoted by float bounds. */
static ctsc_status ternary_clamp(op_ctx *cx, const value *args, const value *low, const value *high,
                                 value *results) {
    if (arg_is_none(low) && arg_is_none(high))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.clamp: At least one of 'min' or 'max' must not be None");
    value operands[3] = {args[0], *low, *high};
    dtype dt = (dtype)args[0].u.tensor->dtype;
    if (dtype_is_complex(dt) || dtype_is_complex(promote_operands(3, operands)))
        return diag_fail(cx->diag, CTSC_FAILED, "clamp is not supported for complex types");
    bool tensors = low->tag == V_TENSOR || high->tag == V_TENSOR;
    if (tensors || !dtype_is_float(dt)) dt = promote_operands(3, operands);
    int index;
    const tensor *target = op_target(cx, args, &index);
    if (target && index == 0 && !tensors && dt != target->dtype)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "result type %s can't be cast to the desired output type %s",
                         dtype_table[dt].ir_name, dtype_cpp_name((dtype)target->dtype));
    if (tensors && low->tag == V_TENSOR && high->tag == V_TENSOR)
        return pw_run_as(cx, args, 3, operands, &pw_clamp_tensors, dt, NULL, results);
    if (tensors) {
        bool below = low->tag == V_TENSOR;
        pw_numbers open;
        ternary_open_bounds(dt, &open);
        value *missing = &operands[below ? 2 : 1];
        *missing = dtype_is_float(dt) ? value_float(open.f[below]) : value_int(open.i[below]);
        return pw_run_as(cx, args, 3, operands, &pw_clamp_tensors, dt, NULL, results);
    }
    pw_numbers numbers;
    ternary_open_bounds(dt, &numbers);
    const value *bounds[2] = {low, high};
    for (int k = 0; k < 2; k++) {
        if (arg_is_none(bounds[k])) continue;
        TRY(pw_clamp_bound(cx, dt, bounds[k], k, &numbers));
    }
    return pw_run_as(cx, args, 1, operands, &pw_clamp_numbers, dt, &numbers, results);
}

OPERATOR(clamp) { return ternary_clamp(cx, args, &args[1], &args[2], results); }
OPERATOR(clamp_min) {
    value none = value_none();
    return ternary_clamp(cx, args, &args[1], &none, results);
}
OPERATOR(clamp_max) {
    value none = value_none();
    return ternary_clamp(cx, args, &none, &args[1], results);
}

/* ---- lerp, addcmul, addcdiv ------------------------------------------------------------------ */

PW_REAL_LOOPS(lerp, 3, 0)
PW_COMPLEX_LOOPS(CHEAP, lerp, 3, 0)
static const pw_op pw_lerp_tensor = {
    "lerp_kernel_tensor", PW_SAME, {PW_REAL_ROW(lerp), PW_COMPLEX_ROW(lerp)}};
static const pw_op pw_lerp_number = {
    "lerp_kernel_scalar", PW_SAME, {PW_REAL_ROW(lerp), PW_COMPLEX_ROW(lerp)}};
/* Of half by a number, which stays a float: in float32, rounded once. */
static ctsc_status ternary_lerp_wide(op_ctx *cx, const value *args, value *results) {
    const dtype dt = (dtype)args[0].u.tensor->dtype;
    value wide[3] = {value_none(), value_none(), args[2]}, y = value_none();
    op_ctx plain = *cx;
    plain.op = NULL;
    tensor *t = NULL;
    ctsc_status st = CTSC_OK;
    for (int i = 0; !st && i < 2; i++) {
        st = tensor_to_dtype(cx->diag, args[i].u.tensor, DT_FLOAT32, &t);
        if (!st) wide[i] = value_tensor_take(t);
    }
    if (!st) st = pw_run_as(&plain, wide, 3, wide, &pw_lerp_number, DT_FLOAT32, NULL, &y);
    if (!st) st = tensor_to_dtype(cx->diag, y.u.tensor, dt, &t);
    value_unref(wide[0]);
    value_unref(wide[1]);
    value_unref(y);
    return st ? st : op_finish(cx, args, t, results);
}

/* lerp(self, end, weight) */
OPERATOR(lerp) {
    bool number = args[2].tag != V_TENSOR;
    TRY(pw_require_same_dtype(cx, &args[0], &args[1], "end"));
    if (number && args[2].tag != V_COMPLEX && dtype_is_half((dtype)args[0].u.tensor->dtype))
        return ternary_lerp_wide(cx, args, results);
    if (!number && args[2].u.tensor->ndim > 0)
        TRY(pw_require_same_dtype(cx, &args[0], &args[2], "weight"));
    if (args[2].tag == V_COMPLEX)
        TRY(pw_require_fits(cx, &args[2], (dtype)args[0].u.tensor->dtype));
    return pw_run_as(cx, args, 3, args, number ? &pw_lerp_number : &pw_lerp_tensor,
                     (dtype)args[0].u.tensor->dtype, NULL, results);
}

/* addcmul(self, tensor1, tensor2, *, value=1) */
PW_REAL_LOOPS(addcmul, 3, 1)
PW_WRAPPING_LOOPS(addcmul, 3, 1)
PW_COMPLEX_LOOPS(CHEAP, addcmul, 3, 1)
static const pw_op pw_addcmul = {
    "addcmul_cpu_out",
    PW_SAME,
    {PW_REAL_ROW(addcmul), PW_INT_ROW(addcmul), PW_COMPLEX_ROW(addcmul)}};
OPERATOR(addcmul) {
    pw_numbers numbers;
    dtype dt = promote_operands(3, args);
    if (args[3].tag == V_COMPLEX || (args[3].tag == V_FLOAT && dtype_is_integral(dt)))
        TRY(pw_require_fits(cx, &args[3], dt));
    pw_number(&numbers, 0, &args[3]);
    return pw_run(cx, args, 3, args, &pw_addcmul, &numbers, results);
}

/* addcdiv(self, tensor1, tensor2, *, value=1) */
PW_REAL_LOOPS(addcdiv, 3, 1)
PW_COMPLEX_LOOPS(CHEAP, addcdiv, 3, 1)
static const pw_op pw_addcdiv = {
    "addcdiv_cpu_out", PW_SAME, {PW_REAL_ROW(addcdiv), PW_COMPLEX_ROW(addcdiv)}};
OPERATOR(addcdiv) {
    if (dtype_is_integral((dtype)args[1].u.tensor->dtype) &&
        dtype_is_integral((dtype)args[2].u.tensor->dtype))
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "Integer division with addcdiv is no longer supported, and in a future  release "
            "addcdiv "
            "will perform a true division of tensor1 and tensor2. The historic addcdiv behavior "
            "can "
            "be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) "
            "for "
            "integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The "
            "future "
            "addcdiv behavior is just the latter implementation: (input + value * tensor1 / "
            "tensor2), for all dtypes.");
    pw_numbers numbers;
    if (args[3].tag == V_COMPLEX) TRY(pw_require_fits(cx, &args[3], promote_operands(3, args)));
    pw_number(&numbers, 0, &args[3]);
    return pw_run(cx, args, 3, args, &pw_addcdiv, &numbers, results);
}

/* ---- selection ------------------------------------------------------------------------------- */

#define T uint8_t
#define NAME ternary_select_1
#include "runtime/kernels/pointwise/pointwise_select.h"

#define T uint16_t
#define NAME ternary_select_2
#include "runtime/kernels/pointwise/pointwise_select.h"

#define T uint32_t
#define NAME ternary_select_4
#include "runtime/kernels/pointwise/pointwise_select.h"

#define T uint64_t
#define NAME ternary_select_8
#include "runtime/kernels/pointwise/pointwise_select.h"
static void ternary_select_16(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++)
        *(complex128 *)(void *)(p[0] + i * s[0]) = *(
            const complex128 *)(const void *)(p[1][i * s[1]] ? p[2] + i * s[2] : p[3] + i * s[3]);
}

static ctsc_status ternary_select(op_ctx *cx, const value *args, const value *mask, const value *a,
                                  const value *b, dtype dt, value *results) {
    static const iter_kernel loops[17] = {[1] = ternary_select_1,
                                          [2] = ternary_select_2,
                                          [4] = ternary_select_4,
                                          [8] = ternary_select_8,
                                          [16] = ternary_select_16};
    pw_operand operands[3];
    dtype mask_dt = mask->u.tensor->dtype == DT_UINT8 ? DT_UINT8 : DT_BOOL;
    TRY(pw_operand_init(cx, &operands[0], mask, mask_dt));
    ctsc_status st = pw_operand_init(cx, &operands[1], a, dt);
    if (st == CTSC_OK) {
        st = pw_operand_init(cx, &operands[2], b, dt);
        if (st == CTSC_OK) {
            st = pw_loop(cx, args, 3, operands, dt, loops[dtype_size(dt)], NULL, results);
            pw_operand_free(&operands[2]);
        }
        pw_operand_free(&operands[1]);
    }
    pw_operand_free(&operands[0]);
    return st;
}

/* where(condition, self, other); the values are tensors or numbers. */
OPERATOR(where) {
    const tensor *mask = args[0].u.tensor;
    if (mask->dtype != DT_BOOL && mask->dtype != DT_UINT8)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "where expected condition to be a boolean tensor, but got a tensor with "
                         "dtype %s",
                         dtype_table[mask->dtype].ir_name);
    dtype dt = promote_operands(2, &args[1]);
    for (int i = 1; i < 3; i++)
        if (args[i].tag != V_TENSOR) TRY(pw_require_fits(cx, &args[i], dt));
    return ternary_select(cx, args, &args[0], &args[1], &args[2], dt, results);
}

/* where(condition) -> Tensor[]: the indices of the set elements. */
OPERATOR(where_indices) { return op_call(cx, "aten::nonzero_numpy", 1, args, results); }

/* In place, of a tensor whose elements stand for several: of each, once, where the mask has any of
 * those. */
static ctsc_status masked_fill_expanded(op_ctx *cx, const value *args, value *results) {
    const tensor *self = args[0].u.tensor;
    value part[] = {value_tensor_take(tensor_ref(args[0].u.tensor)), value_ref(args[1]),
                    value_ref(args[2])};
    ctsc_status st = CTSC_OK;
    for (int d = 0; st == CTSC_OK && d < self->ndim; d++) {
        tensor *one;
        int at = d - self->ndim + part[1].u.tensor->ndim;
        if (self->strides[d] || self->sizes[d] < 2) continue;
        st = tensor_slice(cx->diag, part[0].u.tensor, d, 0, 1, 1, &one);
        if (st != CTSC_OK) break;
        value_set(&part[0], value_tensor_take(one));
        if (at < 0 || part[1].u.tensor->sizes[at] < 2) continue;
        value any[] = {part[1], value_int(at), value_bool(true)}, whole = value_none();
        st = op_call(cx, "aten::any.dim", 3, any, &whole);
        if (st == CTSC_OK) value_set(&part[1], whole);
    }
    value filled = value_none();
    if (st == CTSC_OK) st = op_call(cx, cx->op->key, 3, part, &filled);
    for (int i = 0; i < 3; i++) value_unref(part[i]);
    value_unref(filled);
    return st == CTSC_OK ? op_return(results, value_ref(args[0])) : st;
}

static bool masked_fill_is_expanded(const op_ctx *cx, const value *args) {
    int index;
    const tensor *t = op_target(cx, args, &index), *mask = args[1].u.tensor;
    bool expanded = false;
    if (!t || t != args[0].u.tensor || mask->ndim > t->ndim || !t->numel) return false;
    for (int d = 0; d < t->ndim; d++) expanded |= t->strides[d] == 0 && t->sizes[d] > 1;
    for (int d = 0; d < mask->ndim; d++) {
        int64_t there = t->sizes[t->ndim - mask->ndim + d];
        if (mask->sizes[d] != 1 && mask->sizes[d] != there) return false;
    }
    return expanded;
}

/* masked_fill(self, mask, value); value is a number or a 0-dim tensor. */
OPERATOR(masked_fill) {
    const value *fill = &args[2];
    dtype dt = (dtype)args[0].u.tensor->dtype;
    if (fill->tag == V_TENSOR && fill->u.tensor->ndim > 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "masked_fill_ only supports a 0-dimensional value tensor, but got tensor "
                         "with %d dimension(s).",
                         fill->u.tensor->ndim);
    TRY(pw_require_fits_value(cx, fill, dt));
    const dtype mask = (dtype)args[1].u.tensor->dtype;
    if (mask != DT_BOOL)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "masked_fill_ only supports boolean masks, but got mask with dtype %s",
                         dtype_cpp_name(mask));
    if (masked_fill_is_expanded(cx, args)) return masked_fill_expanded(cx, args, results);
    return ternary_select(cx, args, &args[1], fill, &args[0], dt, results);
}
