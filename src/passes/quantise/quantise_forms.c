/* SPDX-License-Identifier: Apache-2.0 */
/* quantise_forms.c - the ways in which graphs say that numbers become integers, or integers numbers
 * (quantise.h). Tests: tests/ir/quantise */
#include "passes/quantise/quantise.h"

#include "ir/graph/fusible.h"

#include <math.h>

/* ---- how operators say it -------------------------------------------------------------------- */

typedef enum form_style {
    FORM_ONNX,     /* x, scale, zero, axis, ... */
    FORM_NUMBERS,  /* x, scale, zero, lo, hi, dtype: numbers */
    FORM_CHANNELS, /* x, scales, zeros, axis, lo, hi, dtype */
} form_style;

static const struct { op_symbol op; form_style style; bool to_ints; } form_rows[] = {
    {SYM_CTSC_ONNX_QUANTIZE, FORM_ONNX, true},
    {SYM_CTSC_ONNX_DEQUANTIZE, FORM_ONNX, false},
    {SYM_QUANTIZED_DECOMPOSED_QUANTIZE_PER_TENSOR, FORM_NUMBERS, true},
    {SYM_QUANTIZED_DECOMPOSED_DEQUANTIZE_PER_TENSOR, FORM_NUMBERS, false},
    {SYM_QUANTIZED_DECOMPOSED_QUANTIZE_PER_CHANNEL, FORM_CHANNELS, true},
    {SYM_QUANTIZED_DECOMPOSED_DEQUANTIZE_PER_CHANNEL, FORM_CHANNELS, false},
};

static bool form_bounds(dtype dt, int64_t *lo, int64_t *hi) {
    switch (dt) {
    case DT_UINT8: *lo = 0, *hi = UINT8_MAX; return true;
    case DT_INT8: *lo = INT8_MIN, *hi = INT8_MAX; return true;
    case DT_INT32: *lo = INT32_MIN, *hi = INT32_MAX; return true;
    default: return false;
    }
}

/* The dtype of integers that something else does not say. */
static int form_known_dtype(const ir_value *v) {
    quantise_form f;
    int64_t dt;
    tensor *t;
    if (known_tensor(v, &t)) return t->dtype;
    const node *n = v->def;
    if (!n || n->kind != N_OP) return known_dtype(v);
    if (node_is_overload(n, SYM_CTSC_QUANTISED_INTS))
        return known_int(n->inputs.data[3], &dt) ? (int)dt : -1;
    return quantise_form_of(n, &f) && f.to_ints ? (int)f.dt : known_dtype(v);
}

static bool form_tensors(const node *n, quantise_form *f) {
    if (!known_tensor(n->inputs.data[1], &f->scale)) return false;
    if (!known_is_none(n->inputs.data[2]) && !known_tensor(n->inputs.data[2], &f->zero))
        return false;
    return f->scale->dtype == DT_FLOAT32 && !f->scale->quantiser &&
           tensor_is_contiguous(f->scale) && tensor_device(f->scale) == DEVICE_HOST &&
           (f->scale->numel == 1 || f->scale->ndim == 1) &&
           (!f->zero || (tensor_is_contiguous(f->zero) && f->zero->numel == f->scale->numel &&
                         dtype_is_int((dtype)f->zero->dtype)));
}

static bool form_onnx(const node *n, quantise_form *f) {
    int64_t axis, dt = -1, precision = 0;
    if (!form_tensors(n, f) || !known_int(n->inputs.data[3], &axis)) return false;
    if (f->zero) dt = f->zero->dtype;
    else if (!f->to_ints) dt = form_known_dtype(f->x);
    else if (!known_int(n->inputs.data[4], &dt)) return false;
    if (f->to_ints && (!known_int(n->inputs.data[5], &precision) || precision)) return false;
    f->axis = (int)axis;
    f->dt = (dtype)dt;
    return dt >= 0 && form_bounds(f->dt, &f->lo, &f->hi);
}

static bool form_decomposed(const node *n, quantise_form *f, size_t at) {
    int64_t dt, lo, hi;
    if (!known_int(n->inputs.data[at], &f->lo) || !known_int(n->inputs.data[at + 1], &f->hi) ||
        !known_int(n->inputs.data[at + 2], &dt) || !form_bounds((dtype)dt, &lo, &hi) ||
        f->lo < lo || f->hi > hi || f->lo > f->hi)
        return false;
    f->dt = (dtype)dt;
    if (f->to_ints) return true;
    return known_is_none(n->inputs.data[at + 3]) ||
           (known_int(n->inputs.data[at + 3], &dt) && dt == DT_FLOAT32);
}

static bool form_numbers(const node *n, quantise_form *f) {
    value scale;
    if (!ir_value_constant(n->inputs.data[1], &scale) || scale.tag != V_FLOAT ||
        !known_int(n->inputs.data[2], &f->zero_number))
        return false;
    f->scale_number = scale.u.f;
    return form_decomposed(n, f, 3);
}

static bool form_channels(const node *n, quantise_form *f) {
    int64_t axis;
    if (!form_tensors(n, f) || !known_int(n->inputs.data[3], &axis)) return false;
    f->axis = (int)axis;
    return form_decomposed(n, f, 4);
}

bool quantise_form_of(const node *n, quantise_form *f) {
    if (n->kind != N_OP || !n->op || n->op->symbol == SYM_NONE) return false;
    for (size_t i = 0; i < sizeof form_rows / sizeof *form_rows; i++) {
        if (n->op->symbol != form_rows[i].op) continue;
        *f = (quantise_form){.x = n->inputs.data[0], .to_ints = form_rows[i].to_ints};
        switch (form_rows[i].style) {
        case FORM_ONNX: return form_onnx(n, f);
        case FORM_NUMBERS: return form_numbers(n, f);
        default: return form_channels(n, f);
        }
    }
    return false;
}

int64_t quantise_form_vector(const quantise_form *f) {
    int64_t n = f->scale ? f->scale->numel : 1, m = f->zero ? f->zero->numel : 1;
    return n == 1 && m == 1 ? 0 : n == 1 ? m : n;
}

double quantise_form_scale(const quantise_form *f, int64_t i) {
    return f->scale ? (double)TENSOR_AT(f->scale, float)[f->scale->numel == 1 ? 0 : i]
                    : f->scale_number;
}

int64_t quantise_form_zero(const quantise_form *f, int64_t i) {
    if (!f->zero) return f->zero_number;
    dtype dt = (dtype)f->zero->dtype;
    if (f->zero->numel == 1) i = 0;
    return dtype_load_int(dt, (const char *)tensor_data(f->zero) + i * (int64_t)dtype_size(dt));
}

/* A scale by which a float can be divided. */
static bool form_scale_is_good(double scale) {
    float s = (float)scale;
    return s > 0 && !isinf(s) && !isinf(1 / s);
}

bool quantise_form_is_plain(const quantise_form *f) {
    int64_t lo, hi;
    if (quantise_form_vector(f) || (f->dt != DT_UINT8 && f->dt != DT_INT8)) return false;
    form_bounds(f->dt, &lo, &hi);
    int64_t zero = quantise_form_zero(f, 0);
    return form_scale_is_good(quantise_form_scale(f, 0)) && zero >= lo && zero <= hi;
}

/* ---- integers as quint8 ---------------------------------------------------------------------- */

/* Does n say that scale and zero point? */
static bool source_says(const node *n, const quantise_form *f) {
    value scale;
    int64_t zero;
    return ir_value_constant(n->inputs.data[1], &scale) && scale.tag == V_FLOAT &&
           scale.u.f == quantise_form_scale(f, 0) && known_int(n->inputs.data[2], &zero) &&
           zero == quantise_form_zero(f, 0);
}

/* One that was made before, for another reader. */
static ir_value *source_made(const node *by, const quantise_form *f) {
    for (size_t i = 0; i < f->x->uses.len; i++) {
        node *n = f->x->uses.data[i].user;
        if (n && node_is_overload(n, SYM_CTSC_QUANTISED) && n->owner == by->owner &&
            node_before(n, by) && source_says(n, f))
            return n->outputs.data[0];
    }
    return NULL;
}

ir_value *quantise_source(const ir_value *v, quantise_affine *a) {
    quantise_form f;
    node *by = v->def;
    if (!by || !quantise_form_of(by, &f) || f.to_ints || !quantise_form_is_plain(&f)) return NULL;
    a->scale = quantise_form_scale(&f, 0);
    a->zero = quantise_form_zero(&f, 0) + (f.dt == DT_INT8 ? 128 : 0);
    node *n = f.x->def;
    if (n && node_is_overload(n, SYM_CTSC_QUANTISED_INTS) && source_says(n, &f) &&
        form_known_dtype(f.x) == (int)f.dt)
        return n->inputs.data[0];
    ir_value *made = source_made(by, &f);
    if (made) return made;
    ir_value *args[] = {f.x, graph_constant_before_take(by, value_float(a->scale), TYPE_FLOAT),
                        rewrite_int(by, quantise_form_zero(&f, 0))};
    return rewrite_op(by, op_of(SYM_CTSC_QUANTISED), 3, args);
}

/* ---- constants ------------------------------------------------------------------------------- */

enum { CONSTANT_ARGS = 8, CONSTANT_DEPTH = 8 };

static value constant_call(const op *o, int n, const value *args) {
    diag d = {0};
    op_ctx cx = {.diag = &d, .op = o, .nargs = n};
    value result = value_none();
    if (op_function(o, n, args)(&cx, args, &result) != CTSC_OK) result = value_none();
    diag_clear(&d);
    return result;
}

value quantise_run(const char *key, int n, const value *args) {
    const op *o = op_find(key);
    return o && o->fn && o->schema->nargs == n ? constant_call(o, n, args) : value_none();
}

static bool constant_is_form(const node *n) {
    for (size_t i = 0; i < sizeof form_rows / sizeof *form_rows; i++)
        if (n->op->symbol == form_rows[i].op) return true;
    return false;
}

/* What keeps a constant one: conversions, moves of elements, arithmetic. */
static bool constant_may(const node *n) {
    return n->kind == N_OP && n->op && n->op->fn && n->outputs.len == 1 &&
           (int)n->inputs.len == n->op->schema->nargs && n->inputs.len <= CONSTANT_ARGS &&
           (constant_is_form(n) ||
            ((n->op->traits.makes_view || op_fusible(n->op) == FUSIBLE_POINTWISE) &&
             op_is_pure(n->op) && !n->op->schema->has_alias_write));
}

static value constant_at(const ir_value *v, int depth) {
    value c, args[CONSTANT_ARGS], result = value_none();
    int64_t ints[KNOWN_MAX_INTS];
    int n = 0, count;
    if (ir_value_constant(v, &c)) return value_ref(c);
    if (known_ints(v, ints, &count)) {
        list *l = list_new(LIST_INT, TYPE_INT, (size_t)count);
        for (int i = 0; l && i < count; i++) list_append_take(l, value_int(ints[i]));
        return l ? value_list_take(l) : value_none();
    }
    if (!v->def || !depth || !constant_may(v->def)) return value_none();
    for (bool known = true; known && n < (int)v->def->inputs.len; n++) {
        args[n] = constant_at(v->def->inputs.data[n], depth - 1);
        known = args[n].tag != V_NONE || known_is_none(v->def->inputs.data[n]);
    }
    if (n == (int)v->def->inputs.len &&
        (!n || args[n - 1].tag != V_NONE || known_is_none(v->def->inputs.data[n - 1])))
        result = constant_call(v->def->op, n, args);
    while (n) value_unref(args[--n]);
    return result;
}

value quantise_constant(const ir_value *v) { return constant_at(v, CONSTANT_DEPTH); }
