/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_dtypes.c - what runs where arguments are not plain tensors of the host: operators on quantised
 * tensors, on dtypes that are only stored, and on tensors of other devices.
 * Tests: tests/unit/test_ops.c, tests/unit/test_quantized.c
 */
#include "ir/op/op.h"
#include "tensor/conjugate.h"
#include "tensor/dim_names.h"
#include "tensor/promote.h"
#include "tensor/strides.h"

#include <stdio.h>
#include <string.h>

/* ---- quantised arguments, and those on devices ----------------------------------------------- */

/* Beside the kinds that tensors note: complex numbers of 16 bits. */
enum { OP_KIND_COMPLEX32 = 1 << 16 };

static unsigned op_tensor_kinds(const tensor *t) {
    return (t->quantiser ? TENSOR_KIND_QUANTISED : 0) |
           (dtype_is_stored((dtype)t->dtype) ? TENSOR_KIND_STORED : 0) |
           (t->dtype == DT_COMPLEX32 ? OP_KIND_COMPLEX32 : 0) |
           (tensor_is_lazy(t) ? TENSOR_KIND_LAZY : 0) |
           (tensor_device(t) != DEVICE_HOST ? TENSOR_KIND_DEVICE : 0) |
           (t->names && !names_suspended ? TENSOR_KIND_NAMED : 0);
}

static unsigned op_value_kinds(value v) {
    if (v.tag == V_TENSOR) return op_tensor_kinds(v.u.tensor);
    return v.tag == V_DEVICE && v.u.device != DEVICE_HOST ? TENSOR_KIND_DEVICE : 0;
}

/* Kinds of the arguments that the schema calls tensors, lists of tensors or devices. Containers of
 * anything do not count. */
static unsigned op_kinds(const schema *s, int nargs, const value *args) {
    unsigned kinds = 0;
    for (int i = 0; i < nargs && i < s->nargs; i++) {
        const type *t = s->args[i].type;
        while (t->kind == T_OPTIONAL || t->kind == T_LIST) t = type_elem(t);
        if (t->kind != T_TENSOR && t->kind != T_DEVICE) continue;
        kinds |= op_value_kinds(args[i]);
        if (args[i].tag == V_NONE && s->args[i].type->kind == T_TENSOR)
            kinds |= TENSOR_KIND_UNDEFINED;
        const list *l = args[i].tag == V_LIST ? args[i].u.list : NULL;
        for (size_t k = 0; l && l->kind == LIST_TENSOR && k < l->len; k++)
            if (l->u.tensors[k]) kinds |= op_tensor_kinds(l->u.tensors[k]);
        for (size_t k = 0; l && l->kind == LIST_VALUE && k < l->len; k++)
            kinds |= op_value_kinds(l->u.values[k]);
    }
    return kinds;
}

static ctsc_status op_refuse_quantised(op_ctx *cx, const value *args, value *results) {
    (void)args, (void)results;
    return diag_fail(cx->diag, CTSC_FAILED,
                     "Could not run '%s' with arguments from the 'QuantizedCPU' backend. This "
                     "could be because the operator "
                     "doesn't exist for this backend, or was omitted during the selective/custom "
                     "build process (if using "
                     "custom build).",
                     cx->op->key);
}

ctsc_status op_check_defined(diag *d, const op *o, int nargs, const value *args) {
    const schema *s = o->schema;
    for (int i = 0; i < nargs && i < s->nargs; i++)
        if (args[i].tag == V_NONE && s->args[i].type->kind == T_TENSOR)
            return diag_fail(d, CTSC_FAILED,
                             "Expected a proper Tensor but got None (or an undefined Tensor in "
                             "C++) for argument #%d '%s'",
                             i, s->args[i].name);
    return CTSC_OK;
}

static ctsc_status op_refuse_undefined(op_ctx *cx, const value *args, value *results) {
    (void)results;
    return op_check_defined(cx->diag, cx->op, cx->op->schema->nargs, args);
}

/* ---- dtypes that are only stored ------------------------------------------------------------- */

/* The first tensor among the arguments of such a dtype, and one of another dtype beside it. */
static bool stored_is_operand(const char *name);
static const tensor *stored_find(const op_ctx *cx, const value *args, const tensor **other) {
    const tensor *found = NULL;
    *other = NULL;
    for (int i = 0; i < cx->op->schema->nargs; i++) {
        const list *l = args[i].tag == V_LIST && args[i].u.list->kind == LIST_TENSOR
                            ? args[i].u.list
                            : NULL;
        const tensor *t = args[i].tag == V_TENSOR ? args[i].u.tensor : NULL;
        if (t && !stored_is_operand(cx->op->schema->args[i].name)) continue;
        for (size_t k = 0; !t && l && k < l->len; k++)
            if (l->u.tensors[k] && dtype_is_stored((dtype)l->u.tensors[k]->dtype))
                t = l->u.tensors[k];
        if (!t) continue;
        if (!found && dtype_is_stored((dtype)t->dtype)) found = t;
        else if (!*other || dtype_is_stored((dtype)t->dtype)) *other = t;
    }
    if (found && *other && (*other)->dtype == found->dtype) *other = NULL;
    return found;
}

/* Unsigned integers meet floating numbers in these. */
static bool stored_meet(dtype a, dtype b) {
    return dtype_is_unsigned(a) && (dtype_is_float(b) || dtype_is_complex(b));
}

static int stored_category(dtype dt) {
    return dt == DT_BOOL ? 0 : dtype_is_complex(dt) ? 3 : dtype_is_float(dt) ? 2 : 1;
}

/* Does an integer tensor with dims meet a 0-dim one of dt, which says nothing beside it? */
static bool stored_yields(const tensor *t, const tensor *other) {
    return other && !t->ndim && other->ndim && dtype_is_unsigned((dtype)t->dtype) &&
           stored_category((dtype)other->dtype) == 1;
}

/* Does the operator take both? An integer of no dims beside a tensor that has some is converted. */
static bool stored_pair(const op_ctx *cx, const tensor *t, const tensor *other) {
    return stored_meet((dtype)t->dtype, (dtype)other->dtype) ||
           (cx->op->traits.fusible == FUSIBLE_POINTWISE && !t->ndim != !other->ndim &&
            stored_category((dtype)t->dtype) == 1 && stored_category((dtype)other->dtype) <= 1);
}

ctsc_status op_check_promotion(diag *d, dtype a, dtype b) {
    if (a == b || !(dtype_is_stored(a) || dtype_is_stored(b)) || stored_meet(a, b) ||
        stored_meet(b, a))
        return CTSC_OK;
    return diag_fail(
        d, CTSC_FAILED, "Promotion for %s is not supported, attempted to promote %s and %s",
        dtype_is_float8(a) || dtype_is_float8(b) ? "Float8 Types" : "uint16, uint32, uint64 types",
        dtype_table[a].ir_name, dtype_table[b].ir_name);
}

static ctsc_status stored_refuse(op_ctx *cx, const value *args, value *results) {
    (void)results;
    const tensor *other, *t = stored_find(cx, args, &other);
    const char *name = strstr(cx->op->schema->name, "::");
    if (t && other && cx->op->traits.fusible == FUSIBLE_POINTWISE && !stored_pair(cx, t, other)) {
        bool first = args[0].tag != V_TENSOR || args[0].u.tensor->dtype == t->dtype;
        return op_check_promotion(cx->diag, (dtype)(first ? t : other)->dtype,
                                  (dtype)(first ? other : t)->dtype);
    }
    for (int i = 0; !t && i < cx->op->schema->nargs; i++) /* a mask or an index alone is of it */
        if (args[i].tag == V_TENSOR && dtype_is_stored((dtype)args[i].u.tensor->dtype))
            t = args[i].u.tensor;
    return diag_fail(cx->diag, CTSC_UNSUPPORTED, "\"%s_cpu\" not implemented for '%s'",
                     name ? name + 2 : cx->op->schema->name, dtype_table[t ? t->dtype : 0].ir_name);
}

enum { STORED_ARGS = 8 };

/* What of an operator's arguments is not an operand: what it meets in no dtype. */
static bool stored_is_operand(const char *name) {
    static const char *const others[] = {"condition", "mask", "index", "indices"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(name, others[i])) return false;
    return true;
}

/* An integer of no dims beside a tensor of unsigned ones becomes one of them: -1 their largest. */
static ctsc_status stored_wrap(op_ctx *cx, tensor *t, dtype dt, dtype wide, value *out) {
    tensor *narrow, *made;
    TRY(tensor_to_dtype(cx->diag, t, dt, &narrow));
    ctsc_status s = tensor_to_dtype(cx->diag, narrow, wide, &made);
    tensor_unref(narrow);
    if (s == CTSC_OK) *out = value_tensor_take(made);
    return s;
}

static bool stored_wraps(const op_ctx *cx, const value *args, const value *arg, dtype dt) {
    if (arg->tag != V_TENSOR || arg->u.tensor->ndim || !dtype_is_unsigned(dt) ||
        stored_category((dtype)arg->u.tensor->dtype) != 1 || arg->u.tensor->dtype == dt ||
        cx->op->traits.fusible != FUSIBLE_POINTWISE)
        return false;
    for (int i = 0; i < cx->op->schema->nargs; i++)
        if (args[i].tag == V_TENSOR && args[i].u.tensor->dtype == dt && args[i].u.tensor->ndim)
            return true;
    return false;
}

/* t, or a number beside such tensors, as it is computed with. */
static ctsc_status stored_widen(op_ctx *cx, const value *arg, dtype dt, dtype wide, value *out) {
    tensor *t;
    *out = value_none();
    if (arg->tag == V_TENSOR && arg->u.tensor->dtype == dt) {
        TRY(tensor_to_dtype(cx->diag, arg->u.tensor, wide, &t));
        *out = value_tensor_take(t);
    } else if (dtype_is_float8(dt) && (arg->tag == V_FLOAT || arg->tag == V_INT)) {
        double x = arg->tag == V_INT ? (double)arg->u.i : arg->u.f;
        *out = value_float(float8_to_float(dt, float8_from_float(dt, (float)x)));
    } else {
        *out = value_ref(*arg);
    }
    return CTSC_OK;
}

/* Operators whose integer results are int64, whatever their operands are. */
static bool stored_stays_wide(const char *name) {
    static const char *const names[] = {
        "aten::sum",     "aten::nansum",   "aten::prod",          "aten::cumsum",
        "aten::cumprod", "aten::argmax",   "aten::argmin",        "aten::argsort",
        "aten::mean",    "aten::bincount", "aten::count_nonzero", "aten::searchsorted",
        "aten::signbit", "aten::bucketize"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

/* The argument that an overload writes, or -1. */
static int stored_written(const schema *s, const value *args) {
    for (int i = 0; s->has_alias_write && i < s->nargs; i++)
        if (s->args[i].alias && s->args[i].alias->write && args[i].tag == V_TENSOR) return i;
    return -1;
}

/* The result of the operator without its target, written there. Takes *result. */
static ctsc_status stored_write(op_ctx *cx, value *result, tensor *target) {
    const tensor *t = result->u.tensor;
    ctsc_status s = CTSC_OK;
    if (stored_category((dtype)t->dtype) > stored_category((dtype)target->dtype))
        s = diag_fail(cx->diag, CTSC_FAILED,
                      "result type %s can't be cast to the desired output type %s",
                      dtype_table[t->dtype].ir_name, dtype_table[target->dtype].ir_name);
    else if (!tensor_same_shape(t, target))
        s = diag_fail(cx->diag, CTSC_UNSUPPORTED, "%s into a tensor of another shape",
                      cx->op->schema->name);
    if (s == CTSC_OK) s = tensor_make_writable(cx->diag, target);
    if (s == CTSC_OK) s = tensor_copy(cx->diag, target, t);
    value_set(result, s == CTSC_OK ? value_tensor_take(tensor_ref(target)) : value_none());
    return s;
}

/* A result of a pointwise operator, laid out as its arguments, which were copied. Takes *result. */
static ctsc_status stored_order(op_ctx *cx, const value *args, value *result) {
    tensor *y = result->u.tensor, *ordered, *operands[STORED_ARGS];
    int64_t strides[TENSOR_MAX_DIMS];
    int n = 0;
    if (!cx->op->traits.fusible || !tensor_is_contiguous(y)) return CTSC_OK;
    for (int i = 0; i < cx->op->schema->nargs; i++)
        if (args[i].tag == V_TENSOR) operands[n++] = args[i].u.tensor;
    for (int i = 0; i < n; i++)
        if (operands[i]->ndim > y->ndim) return CTSC_OK;
    broadcast_strides(y->ndim, y->sizes, n, operands, strides);
    *result = value_none();
    TRY(tensor_restrided_take(cx->diag, y, strides, &ordered));
    *result = value_tensor_take(ordered);
    return CTSC_OK;
}

/* Is the operator among them, or its form in place? names: between blanks. */
static bool stored_is_among(const op_ctx *cx, const char *names) {
    char word[64];
    const char *name = cx->op->schema->name + strlen("aten::");
    size_t n = strlen(name);
    bool in_place = n > 2 && name[n - 1] == '_' && name[n - 2] != '_';
    snprintf(word, sizeof word, " %.*s ", (int)(n - in_place), name);
    return strstr(names, word) != NULL;
}

/* Operators of the order of numbers, which stays with the upper bit turned. */
static const char stored_orders[] =
    " maximum minimum fmax fmin max min amax amin argmax argmin sort argsort msort _unique2 "
    "unique_dim topk kthvalue median cummax cummin clamp clamp_min clamp_max hardtanh ";
/* Operators whose results depend on the bits alone, besides those that widen. */
static const char stored_bits[] =
    " sum nansum prod cumsum cumprod ceil floor round trunc nan_to_num isneginf isposinf "
    "scatter_add index_add __and__ __or__ __xor__ bitwise_and bitwise_or bitwise_xor bitwise_not "
    "masked_fill add sub rsub neg addcmul logical_and logical_or logical_xor logical_not "
    "count_nonzero unique_consecutive nonzero ";

static void stored_turn(tensor *t) {
    for (int64_t i = 0; i < t->numel; i++) TENSOR_AT(t, int64_t)[i] ^= INT64_MIN;
}

/* What these make of numbers of 2^63 or more; false: it is none of them. Takes no limit: elements
 * that were just copied. */
static bool stored_clips(const op_ctx *cx, const value *args, ctsc_status *s, value *results) {
    bool six = stored_is_among(cx, " relu6 "), sign = stored_is_among(cx, " signbit ");
    tensor *t;
    if ((!six && !sign && !stored_is_among(cx, " relu ")) || args[0].tag != V_TENSOR) return false;
    *s = tensor_to_dtype(cx->diag, args[0].u.tensor, DT_INT64, &t);
    for (int64_t i = 0; *s == CTSC_OK && (six || sign) && i < t->numel; i++) {
        int64_t *v = &TENSOR_AT(t, int64_t)[i];
        *v = sign ? 0 : (uint64_t)*v > 6 ? 6 : *v;
    }
    if (*s == CTSC_OK) *results = value_tensor_take(t);
    if (*s == CTSC_OK && sign) {
        *s = tensor_to_dtype(cx->diag, t, DT_BOOL, &t);
        value_set(results, *s == CTSC_OK ? value_tensor_take(t) : value_none());
    }
    return true;
}

/* Calls the operator on what it computes with: `wide` in the place of dt. turn: with the upper bits
 * turned; numbers that are bounds, too. */
static ctsc_status stored_call(op_ctx *cx, const value *args, dtype dt, dtype wide, bool turn,
                               bool *big, value *results) {
    const int n = cx->op->schema->nargs;
    value given[STORED_ARGS] = {value_none()};
    op_ctx plain = *cx;
    if (stored_written(cx->op->schema, args) >= 0) plain.op = NULL;
    ctsc_status s = CTSC_OK;
    int k = 0;
    while (s == CTSC_OK && k < n) {
        s = wide == DT_INT64 && stored_wraps(cx, args, &args[k], dt)
                ? stored_wrap(cx, args[k].u.tensor, dt, wide, &given[k])
                : stored_widen(cx, &args[k], dt, wide, &given[k]);
        bool widened = s == CTSC_OK && given[k].tag == V_TENSOR && wide == DT_INT64 &&
                       dt == DT_UINT64 && given[k].u.tensor != args[k].u.tensor;
        for (int64_t i = 0; widened && !*big && i < given[k].u.tensor->numel; i++)
            *big = TENSOR_AT(given[k].u.tensor, int64_t)[i] < 0;
        if (turn && widened) stored_turn(given[k].u.tensor);
        const type *t = cx->op->schema->args[k].type;
        if (t->kind == T_OPTIONAL) t = type_elem(t);
        if (turn && given[k].tag == V_INT && t->kind == T_NUMBER)
            given[k].u.i = given[k].u.i < 0 ? INT64_MIN : given[k].u.i ^ INT64_MIN;
        k++;
    }
    if (s == CTSC_OK) s = cx->op->fn(&plain, given, results);
    while (k > 0) value_unref(given[--k]);
    return s;
}

/* What numbers of 64 bits are computed as that int64 does not hold: as floats where the result is a
 * float, or where they are compared with one. */
static dtype stored_as_float(const op_ctx *cx, const value *args, const value *result) {
    dtype dt = result->tag == V_TENSOR ? (dtype)result->u.tensor->dtype : DT_INT64;
    if (dtype_is_complex(dt) || dtype_is_float(dt)) return dtype_part(dt);
    if (dt != DT_BOOL) return DT_INT64;
    for (int i = 0; i < cx->op->schema->nargs; i++) {
        dtype other = args[i].tag == V_TENSOR ? (dtype)args[i].u.tensor->dtype : DT_INT64;
        if (args[i].tag == V_FLOAT && cx->op->traits.fusible) return DT_FLOAT32;
        if (dtype_is_float(other) || dtype_is_complex(other))
            return args[i].u.tensor->ndim ? dtype_part(other) : DT_FLOAT32;
    }
    return DT_INT64;
}

static void stored_drop(const op_ctx *cx, value *results) {
    for (int i = 0; i < cx->op->schema->nreturns; i++) value_set(&results[i], value_none());
}

/* Unsigned numbers of 64 bits, some of 2^63 or more. The results so far are those of their bits. */
static ctsc_status stored_big(op_ctx *cx, const value *args, ctsc_status s, value *results,
                              bool *turned) {
    bool big = true;
    dtype as = s == CTSC_OK ? stored_as_float(cx, args, results) : DT_INT64;
    if (as != DT_INT64) {
        stored_drop(cx, results);
        return stored_call(cx, args, DT_UINT64, as, false, &big, results);
    }
    if ((cx->op->traits.widens && !stored_is_among(cx, " abs ")) ||
        stored_is_among(cx, stored_bits))
        return s;
    if (s == CTSC_OK) stored_drop(cx, results);
    if (s == CTSC_OK && stored_clips(cx, args, &s, results)) return s;
    if (s != CTSC_OK || !stored_is_among(cx, stored_orders))
        return diag_fail(cx->diag, CTSC_UNSUPPORTED,
                         "%s of uint64 numbers of 2^63 or more is not supported",
                         cx->op->schema->name);
    *turned = true;
    return stored_call(cx, args, DT_UINT64, DT_INT64, true, &big, results);
}

/* Of 8 bits: as float32. Unsigned ones: as int64, in which those of 64 bits keep their bits. */
static ctsc_status stored_in_wide(op_ctx *cx, const value *args, value *results) {
    const schema *sc = cx->op->schema;
    const tensor *other, *t = stored_find(cx, args, &other);
    const int n = sc->nargs, written = stored_written(sc, args);
    const bool by_value = !cx->op->traits.widens;
    if (!t || n > STORED_ARGS || (by_value && dtype_is_float8((dtype)t->dtype)) ||
        (written >= 0 && sc->nreturns != 1) || (other && !stored_pair(cx, t, other)))
        return stored_refuse(cx, args, results);
    dtype dt = (dtype)t->dtype, wide = dtype_is_float8(dt) ? DT_FLOAT32 : DT_INT64;
    bool big = false, turned = false;
    ctsc_status s = stored_call(cx, args, dt, wide, false, &big, results);
    if (big) s = stored_big(cx, args, s, results, &turned);
    if (s != CTSC_OK || results->tag != V_TENSOR) return s;
    if (results->u.tensor->dtype == wide && !stored_stays_wide(sc->name) &&
        !stored_yields(t, other)) {
        tensor *narrow;
        if (turned) s = tensor_make_writable(cx->diag, results->u.tensor);
        if (turned && s == CTSC_OK) stored_turn(results->u.tensor);
        if (s == CTSC_OK) s = tensor_to_dtype(cx->diag, results->u.tensor, dt, &narrow);
        value_set(results, s == CTSC_OK ? value_tensor_take(narrow) : value_none());
    }
    if (s == CTSC_OK && written < 0) s = stored_order(cx, args, results);
    return s == CTSC_OK && written >= 0 ? stored_write(cx, results, args[written].u.tensor) : s;
}

/* Complex numbers of 16 bits are computed as complex64; so is the result stored where nothing
 * wider met them. */
static ctsc_status complex32_in_wide(op_ctx *cx, const value *args, value *results) {
    const schema *sc = cx->op->schema;
    const int n = sc->nargs, written = stored_written(sc, args);
    if (n > STORED_ARGS || sc->nreturns != 1) return cx->op->fn(cx, args, results);
    promotion met = PROMOTION_INIT;
    value given[STORED_ARGS] = {value_none()};
    ctsc_status s = CTSC_OK;
    tensor *t;
    int k = 0;
    for (; s == CTSC_OK && k < n; k++) {
        const tensor *x = args[k].tag == V_TENSOR ? args[k].u.tensor : NULL;
        if (x && stored_is_operand(sc->args[k].name))
            promotion_add(&met, (dtype)x->dtype, x->ndim ? OPERAND_TENSOR : OPERAND_ZERO_DIM);
        bool narrow = x && x->dtype == DT_COMPLEX32;
        if (narrow) s = tensor_to_dtype(cx->diag, args[k].u.tensor, DT_COMPLEX64, &t);
        given[k] = narrow && s == CTSC_OK ? value_tensor_take(t) : value_ref(args[k]);
    }
    if (s == CTSC_OK) s = cx->op->fn(cx, given, results);
    while (k > 0) value_unref(given[--k]);
    if (s != CTSC_OK || results->tag != V_TENSOR) return s;
    dtype dt = (dtype)results->u.tensor->dtype;
    if (promotion_result(&met) == DT_COMPLEX32 && (dt == DT_COMPLEX64 || dt == DT_FLOAT32)) {
        s = tensor_to_dtype(cx->diag, results->u.tensor,
                            dt == DT_COMPLEX64 ? DT_COMPLEX32 : DT_FLOAT16, &t);
        value_set(results, s == CTSC_OK ? value_tensor_take(t) : value_none());
    }
    if (s == CTSC_OK && written < 0) s = stored_order(cx, args, results);
    return s == CTSC_OK && written >= 0 ? stored_write(cx, results, args[written].u.tensor) : s;
}

bool op_wants_names(const op *o, int nargs, const value *args) {
    return tensor_kinds() & TENSOR_KIND_NAMED && !names_suspended &&
           op_kinds(o->schema, nargs, args) & TENSOR_KIND_NAMED;
}

const char *op_named_base(const op *o) {
    return o->fn && o->fn == op_host_installed->by_name ? o->fn_ctx : NULL;
}

/* Composites and derived overloads call others, which ask for themselves. */
op_fn op_function_special(const op *o, int nargs, const value *args) {
    unsigned kinds = o->fn ? op_kinds(o->schema, nargs, args) : 0;
    if (kinds & TENSOR_KIND_UNDEFINED) return op_refuse_undefined;
    if (kinds & TENSOR_KIND_NAMED) return op_host_installed->with_names;
    bool calls = o->traits.composite || o->fn == op_host_installed->derived_write ||
                 o->fn == op_host_installed->derived_copy;
    if (kinds & TENSOR_KIND_LAZY && !calls && !op_takes_lazy(o)) return op_with_resolved;
    kinds &= ~(unsigned)TENSOR_KIND_LAZY;
    if (kinds == OP_KIND_COMPLEX32 && !calls && (o->traits.widens || o->traits.widens_values))
        return complex32_in_wide;
    kinds &= ~(unsigned)OP_KIND_COMPLEX32;
    if (!kinds) return o->traits.strides ? op_function_in_order(o, nargs, args) : o->fn;
    if (kinds & TENSOR_KIND_DEVICE) return op_host_installed->on_device;
    if (!(kinds & TENSOR_KIND_QUANTISED)) {
        if (calls || op_traits_take_stored(o->traits) || o->traits.foreign) return o->fn;
        return o->traits.widens || o->traits.widens_values ? stored_in_wide : stored_refuse;
    }
    if (o->quantised) return o->quantised;
    return calls ? o->fn : op_refuse_quantised;
}
