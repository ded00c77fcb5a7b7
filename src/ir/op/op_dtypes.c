/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_dtypes.c - what runs where arguments are no plain tensors of the host: operators on quantised
 * tensors, on dtypes that are only stored, and on tensors of other devices.
 * Tests: tests/unit/test_ops.c, tests/unit/test_quantized.c
 */
#include "ir/op/op.h"
#include "tensor/conjugate.h"

#include <string.h>

/* ---- quantised arguments, and those on devices ----------------------------------------------- */

static unsigned op_tensor_kinds(const tensor *t) {
    return (t->quantiser ? TENSOR_KIND_QUANTISED : 0) |
           (dtype_is_stored((dtype)t->dtype) ? TENSOR_KIND_STORED : 0) |
           (tensor_is_lazy(t) ? TENSOR_KIND_LAZY : 0) |
           (tensor_device(t) != DEVICE_HOST ? TENSOR_KIND_DEVICE : 0);
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

static ctsc_status op_refuse_undefined(op_ctx *cx, const value *args, value *results) {
    const schema *s = cx->op->schema;
    int i = 0;
    (void)results;
    while (i + 1 < s->nargs && (args[i].tag != V_NONE || s->args[i].type->kind != T_TENSOR)) i++;
    return diag_fail(cx->diag, CTSC_FAILED,
                     "Expected a proper Tensor but got None (or an undefined Tensor in C++) for "
                     "argument #%d '%s'",
                     i, s->args[i].name);
}

/* ---- dtypes that are only stored ------------------------------------------------------------- */

/* The first tensor among the arguments of such a dtype, and one of another dtype beside it. */
static const tensor *stored_find(const op_ctx *cx, const value *args, const tensor **other) {
    const tensor *found = NULL;
    *other = NULL;
    for (int i = 0; i < cx->op->schema->nargs; i++) {
        const list *l = args[i].tag == V_LIST && args[i].u.list->kind == LIST_TENSOR
                            ? args[i].u.list
                            : NULL;
        const tensor *t = args[i].tag == V_TENSOR ? args[i].u.tensor : NULL;
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
    if (other && cx->op->traits.fusible == FUSIBLE_POINTWISE &&
        !stored_meet((dtype)t->dtype, (dtype)other->dtype)) {
        bool first = args[0].tag != V_TENSOR || args[0].u.tensor->dtype == t->dtype;
        return op_check_promotion(cx->diag, (dtype)(first ? t : other)->dtype,
                                  (dtype)(first ? other : t)->dtype);
    }
    return diag_fail(cx->diag, CTSC_UNSUPPORTED, "\"%s_cpu\" not implemented for '%s'",
                     name ? name + 2 : cx->op->schema->name, dtype_table[t ? t->dtype : 0].ir_name);
}

enum { STORED_ARGS = 4 };

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

/* Of 8 bits: as float32. Unsigned ones: as int64, in which those of 64 bits keep their bits. */
static ctsc_status stored_in_wide(op_ctx *cx, const value *args, value *results) {
    const tensor *other, *t = stored_find(cx, args, &other);
    int n = cx->op->schema->nargs;
    if (!t || n > STORED_ARGS || cx->op->schema->has_alias_write ||
        (other && !stored_meet((dtype)t->dtype, (dtype)other->dtype)))
        return stored_refuse(cx, args, results);
    dtype dt = (dtype)t->dtype, wide = dtype_is_float8(dt) ? DT_FLOAT32 : DT_INT64;
    value given[STORED_ARGS] = {value_none()};
    ctsc_status s = CTSC_OK;
    int k = 0;
    while (s == CTSC_OK && k < n) {
        s = stored_widen(cx, &args[k], dt, wide, &given[k]);
        k++;
    }
    if (s == CTSC_OK) s = cx->op->fn(cx, given, results);
    while (k > 0) value_unref(given[--k]);
    if (s != CTSC_OK || results->tag != V_TENSOR || results->u.tensor->dtype != wide) return s;
    tensor *narrow;
    s = tensor_to_dtype(cx->diag, results->u.tensor, dt, &narrow);
    value_set(results, s == CTSC_OK ? value_tensor_take(narrow) : value_none());
    return s;
}

/* Composites and derived overloads call others, which ask for themselves. */
op_fn op_function_special(const op *o, int nargs, const value *args) {
    unsigned kinds = o->fn ? op_kinds(o->schema, nargs, args) : 0;
    if (kinds & TENSOR_KIND_UNDEFINED) return op_refuse_undefined;
    bool calls = o->traits.composite || o->fn == op_host_installed->derived_write ||
                 o->fn == op_host_installed->derived_copy;
    if (kinds & TENSOR_KIND_LAZY && !calls && !op_takes_lazy(o)) return op_with_resolved;
    kinds &= ~(unsigned)TENSOR_KIND_LAZY;
    if (!kinds) return o->traits.strides ? op_function_in_order(o, nargs, args) : o->fn;
    if (kinds & TENSOR_KIND_DEVICE) return op_host_installed->on_device;
    if (!(kinds & TENSOR_KIND_QUANTISED)) {
        if (calls || op_traits_take_stored(o->traits) || o->traits.foreign) return o->fn;
        return o->traits.widens ? stored_in_wide : stored_refuse;
    }
    if (o->quantised) return o->quantised;
    return calls ? o->fn : op_refuse_quantised;
}
