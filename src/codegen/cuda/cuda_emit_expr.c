/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_emit_expr.c - expressions of a loop nest as CUDA C++.
 *
 * A node that a statement uses more than once gets a name before it, as in nest_print.c; so do deep
 * ones, as compilers have limits.
 *
 * An int64 is printed in one of two ways. What reaches an address or a bound is an index: of type
 * nest_index, which has 32 bits where nest->index32 says that they are enough, and plain
 * arithmetic, which does not overflow. All else is a value: int64_t, and its arithmetic wraps
 * (nest_add). A node that is used in both ways is an index, widened where it is a value. Floats are
 * multiplied by nest_mul where a product and a sum must not become one rounding.
 * Tests: tests/unit/test_cuda_emit.c, tests/ir/cuda-*.test
 */
#include "base/text/text.h"
#include "codegen/cuda/cuda_emit_internal.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { EXPR_DEEP = 32 };

/* ---- names ----------------------------------------------------------------------------------- */

const char *gpu_type(nest_type t) {
    static const char *const names[NEST_TYPE_COUNT] = {"bool",    "uint8_t", "int8_t", "int16_t",
                                                       "int32_t", "int64_t", "float",  "double"};
    return names[t];
}

const char *gpu_memory_type(dtype dt) {
    switch (dt) {
    case DT_INT8: return "int8_t";
    case DT_INT16: return "int16_t";
    case DT_INT32: return "int32_t";
    case DT_INT64: return "int64_t";
    case DT_FLOAT16:
    case DT_BFLOAT16: return "uint16_t";
    case DT_FLOAT32: return "float";
    case DT_FLOAT64: return "double";
    default: return "uint8_t";
    }
}

void gpu_line(gpu_state *e, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sb_fill(e->out, ' ', (size_t)e->depth * 4);
    sb_vprintf(e->out, fmt, ap);
    sb_putc(e->out, '\n');
    va_end(ap);
    e->at_barrier = false;
}

void gpu_buffer_name(strbuf *out, const nest_buffer *b) {
    sb_printf(out, "%c%d", b->local ? 'l' : 'b', b->index);
}

void gpu_var_name(const gpu_state *e, strbuf *out, const nest_var *v) {
    if (v == e->replaced) sb_puts(out, e->replacement);
    else sb_printf(out, "%s_%d%s", v->name, v->index, e->vars[v->index].partial ? "_part" : "");
}

/* ---- what is named --------------------------------------------------------------------------- */

bool gpu_passes_index(const nest_expr *x, int arg) {
    switch (x->op) {
    case NEST_ADD:
    case NEST_SUB:
    case NEST_MUL:
    case NEST_DIV_INDEX:
    case NEST_MOD_INDEX:
    case NEST_MIN:
    case NEST_MAX:
    case NEST_NEG: return true;
    case NEST_SELECT: return arg > 0;
    default: return false;
    }
}

static bool expr_is_leaf(const nest_expr *x) { return x->nargs == 0; }

static bool expr_is_packed(const gpu_state *e, const nest_expr *x) {
    return x->op == NEST_LOAD && e->lanes && gpu_pack_of(e, x->u.buffer, x->args[0], false) >= 0;
}

/* x, which was met as a value, turns out to be an index. */
static void expr_mark_index(nest_expr *x) {
    if (x->type != NEST_I64 || x->slot & GPU_INDEX) return;
    x->slot |= GPU_INDEX;
    for (int i = 0; i < x->nargs; i++)
        if (gpu_passes_index(x, i)) expr_mark_index(x->args[i]);
}

static void expr_count(gpu_state *e, nest_expr *x, bool index) {
    bool first = x->mark != e->mark;
    if (first) {
        x->mark = e->mark;
        x->slot = index && x->type == NEST_I64 ? GPU_INDEX : 0;
    } else if (index) {
        expr_mark_index(x);
    }
    x->slot++;
    if (!first || expr_is_packed(e, x)) return;
    bool all = x->op == NEST_LOAD || gpu_compares_indices(e, x);
    for (int i = 0; i < x->nargs; i++) {
        bool passes = all || (x->slot & GPU_INDEX && gpu_passes_index(x, i));
        expr_count(e, x->args[i], passes);
    }
}

/* Operands first, so that a line uses only names above it. */
static void expr_name(gpu_state *e, nest_expr *x) {
    uint32_t uses = x->slot & GPU_USES;
    if (expr_is_leaf(x) || x->slot & GPU_NAMED || uses == 0 || x->mark != e->mark) return;
    x->slot &= ~GPU_USES; /* walked: meeting it again does nothing more */
    for (int i = 0; i < x->nargs && !expr_is_packed(e, x); i++) expr_name(e, x->args[i]);
    if (uses < 2 && x->depth % EXPR_DEEP != EXPR_DEEP - 1) return;
    bool index = x->slot & GPU_INDEX;
    uint32_t name = e->temps++;
    sb_fill(e->out, ' ', (size_t)e->depth * 4);
    sb_printf(e->out, "const %s t%u = ", index ? "nest_index" : gpu_type(x->type), name);
    (index ? gpu_index : gpu_value)(e, x, true);
    sb_puts(e->out, ";\n");
    e->at_barrier = false;
    x->slot = (x->slot & GPU_INDEX) | GPU_NAMED | name;
}

void gpu_prepare(gpu_state *e, nest_expr *const *indices, int nindices, nest_expr *const *values,
                 int nvalues) {
    e->mark = nest_fresh_mark(e->n);
    for (int i = 0; i < nindices; i++) expr_count(e, indices[i], true);
    for (int i = 0; i < nvalues; i++) expr_count(e, values[i], false);
    for (int i = 0; i < nindices; i++) expr_name(e, indices[i]);
    for (int i = 0; i < nvalues; i++) expr_name(e, values[i]);
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static void expr_int_const(gpu_state *e, nest_type t, int64_t i) {
    if (t == NEST_BOOL) sb_puts(e->out, i ? "true" : "false");
    else if (t == NEST_I64 && i == INT64_MIN) sb_puts(e->out, "INT64_MIN");
    else if (t == NEST_I32 && i == INT32_MIN) sb_puts(e->out, "INT32_MIN");
    else if (t == NEST_I32) sb_printf(e->out, "%lld", (long long)i);
    else sb_printf(e->out, "(%s)%lld%s", gpu_type(t), (long long)i, t == NEST_I64 ? "ll" : "");
}

static void expr_float_const(gpu_state *e, nest_type t, double f) {
    const char *suffix = t == NEST_F32 ? "f" : "", *type = t == NEST_F32 ? "_F32" : "";
    char digits[40];
    if (isnan(f) || isinf(f)) {
        sb_printf(e->out, "%sSCALAR_%s%s", f < 0 ? "-" : "", isnan(f) ? "NAN" : "INF", type);
        return;
    }
    text_print(digits, sizeof digits, "%.*g", t == NEST_F32 ? 9 : 17, f);
    sb_printf(e->out, "%s%s%s", digits, strpbrk(digits, ".e") ? "" : ".0", suffix);
}

static void expr_const(gpu_state *e, const nest_expr *x) {
    if (nest_is_float(x->type)) expr_float_const(e, x->type, x->u.f);
    else expr_int_const(e, x->type, x->u.i);
}

void gpu_element(gpu_state *e, const nest_buffer *b, const nest_expr *index) {
    gpu_buffer_name(e->out, b);
    if (index->op == NEST_CONST && index->u.i == 0) return;
    sb_puts(e->out, " + ");
    gpu_index(e, index, false);
}

static void expr_raw_load(gpu_state *e, const nest_expr *x) {
    const nest_buffer *b = x->u.buffer;
    int pack = e->lanes ? gpu_pack_of(e, b, x->args[0], false) : -1;
    if (pack >= 0) {
        sb_printf(e->out, "w%d.v[k]", pack);
    } else if (!b->local && b->is_restrict && !b->written) {
        sb_puts(e->out, "nest_fetch(");
        gpu_element(e, b, x->args[0]);
        sb_putc(e->out, ')');
    } else {
        gpu_buffer_name(e->out, b);
        sb_putc(e->out, '[');
        gpu_index(e, x->args[0], true);
        sb_putc(e->out, ']');
    }
}

static void expr_load(gpu_state *e, const nest_expr *x) {
    dtype dt = x->u.buffer->dt;
    bool half = dtype_is_half(dt);
    if (half) sb_printf(e->out, "nest_load_%s(", dt == DT_FLOAT16 ? "f16" : "bf16");
    if (dt == DT_BOOL) sb_putc(e->out, '(');
    expr_raw_load(e, x);
    if (dt == DT_BOOL) sb_puts(e->out, " != 0)");
    if (half) sb_putc(e->out, ')');
}

/* ---- operators ------------------------------------------------------------------------------- */

static void expr_arguments(gpu_state *e, const nest_expr *x,
                           void (*print)(gpu_state *, const nest_expr *, bool)) {
    sb_putc(e->out, '(');
    for (int i = 0; i < x->nargs; i++) {
        if (i) sb_puts(e->out, ", ");
        print(e, x->args[i], true);
    }
    sb_putc(e->out, ')');
}

/* Floats to ints go through i32 (i8, i16, i32) or i64 (u8, i64), as dtype_store_float does. */
static void expr_cast(gpu_state *e, const nest_expr *x) {
    nest_type from = x->args[0]->type, to = x->type;
    if (to == NEST_BOOL) {
        sb_putc(e->out, '(');
        gpu_value(e, x->args[0], false);
        sb_puts(e->out, " != 0)");
        return;
    }
    sb_printf(e->out, "(%s)", gpu_type(to));
    if (nest_is_float(from) && nest_types[to].is_int) {
        nest_type via = to == NEST_I64 || to == NEST_U8 ? NEST_I64 : NEST_I32;
        sb_printf(e->out, "nest_to_%s_%s", nest_types[via].name, nest_types[from].name);
        expr_arguments(e, x, gpu_value);
    } else {
        gpu_value(e, x->args[0], false);
    }
}

static void expr_call(gpu_state *e, const nest_expr *x) {
    bool test = x->type == NEST_BOOL;
    if (test) sb_putc(e->out, '(');
    sb_printf(e->out, "scalar_%s_%s", x->u.name, nest_types[x->args[0]->type].name);
    expr_arguments(e, x, gpu_value);
    if (test) sb_puts(e->out, " != 0)");
}

static void expr_select(gpu_state *e, const nest_expr *x,
                        void (*print)(gpu_state *, const nest_expr *, bool)) {
    sb_putc(e->out, '(');
    gpu_value(e, x->args[0], false);
    sb_puts(e->out, " ? ");
    print(e, x->args[1], false);
    sb_puts(e->out, " : ");
    print(e, x->args[2], false);
    sb_putc(e->out, ')');
}

static const char *expr_function(nest_op op) {
    switch (op) {
    case NEST_ADD: return "nest_add";
    case NEST_SUB: return "nest_sub";
    case NEST_MUL: return "nest_mul";
    case NEST_DIV_INDEX: return "nest_div";
    case NEST_MOD_INDEX: return "nest_mod";
    case NEST_MIN: return "nest_min";
    default: return "nest_max";
    }
}

static void expr_infix(gpu_state *e, const nest_expr *x,
                       void (*print)(gpu_state *, const nest_expr *, bool), bool top) {
    if (!top) sb_putc(e->out, '(');
    if (x->nargs == 2) print(e, x->args[0], false);
    sb_printf(e->out, x->nargs == 2 ? " %s " : "%s", nest_ops[x->op].text);
    print(e, x->args[x->nargs - 1], false);
    if (!top) sb_putc(e->out, ')');
}

/* Is x the product that an accumulation may fuse with its sum? */
static bool expr_may_fuse(const gpu_state *e, const nest_expr *x) {
    return e->n->contract || (e->n->contract_inside && x == e->product);
}

static void expr_operator(gpu_state *e, const nest_expr *x, bool top) {
    nest_type t = x->args[0]->type;
    bool real = nest_is_float(t), bits = nest_ops[x->op].cls == 'I';
    switch (x->op) {
    case NEST_MIN:
    case NEST_MAX:
    case NEST_DIV_INDEX:
    case NEST_MOD_INDEX:
        sb_puts(e->out, expr_function(x->op));
        expr_arguments(e, x, gpu_value);
        return;
    case NEST_MUL:
    case NEST_ADD:
    case NEST_SUB:
        if (real && (x->op != NEST_MUL || expr_may_fuse(e, x))) break;
        sb_puts(e->out, expr_function(x->op));
        expr_arguments(e, x, gpu_value);
        return;
    case NEST_NEG:
        if (real) break;
        sb_printf(e->out, "nest_sub((%s)0, ", gpu_type(t));
        gpu_value(e, x->args[0], true);
        sb_putc(e->out, ')');
        return;
    case NEST_NOT:
        if (t != NEST_BOOL) break;
        sb_putc(e->out, '!');
        gpu_value(e, x->args[0], false);
        return;
    default: break;
    }
    if (bits) sb_printf(e->out, "(%s)", gpu_type(t)); /* C computes with ints at least */
    expr_infix(e, x, gpu_compares_indices(e, x) ? gpu_index : gpu_value, top && !bits);
}

/* ---- the two ways ---------------------------------------------------------------------------- */

void gpu_value(gpu_state *e, const nest_expr *x, bool top) {
    bool known = x->mark == e->mark && !expr_is_leaf(x);
    if (known && x->slot & GPU_INDEX) {
        if (e->n->index32) sb_puts(e->out, "(int64_t)");
        gpu_index(e, x, top && !e->n->index32);
        return;
    }
    if (known && x->slot & GPU_NAMED) {
        sb_printf(e->out, "t%u", x->slot & ~(GPU_NAMED | GPU_INDEX));
        return;
    }
    switch (x->op) {
    case NEST_CONST: expr_const(e, x); break;
    case NEST_INPUT:
        sb_printf(e->out, "p.%c%d", x->type == NEST_I64 ? 'i' : 'f', x->u.input);
        break;
    case NEST_VAR:
        if (e->n->index32 && e->vars[x->u.var->index].is_index) sb_puts(e->out, "(int64_t)");
        gpu_var_name(e, e->out, x->u.var);
        break;
    case NEST_LOAD: expr_load(e, x); break;
    case NEST_CAST: expr_cast(e, x); break;
    case NEST_CALL: expr_call(e, x); break;
    case NEST_SELECT: expr_select(e, x, gpu_value); break;
    default: expr_operator(e, x, top); break;
    }
}

/* A leaf or other operation that is not an index by itself, as one. */
static void expr_as_index(gpu_state *e, const nest_expr *x) {
    bool own = x->op == NEST_VAR && e->vars[x->u.var->index].is_index;
    if (!own && e->n->index32) sb_puts(e->out, "(nest_index)");
    if (x->op == NEST_VAR) gpu_var_name(e, e->out, x->u.var);
    else if (x->op == NEST_LOAD) expr_load(e, x);
    else if (x->op == NEST_CALL) expr_call(e, x);
    else if (x->op == NEST_CAST) expr_cast(e, x);
    else expr_operator(e, x, false);
}

void gpu_index(gpu_state *e, const nest_expr *x, bool top) {
    if (x->mark == e->mark && !expr_is_leaf(x) && x->slot & GPU_NAMED) {
        sb_printf(e->out, "t%u", x->slot & ~(GPU_NAMED | GPU_INDEX));
        return;
    }
    switch (x->op) {
    case NEST_CONST: sb_printf(e->out, "%lld", (long long)x->u.i); break;
    case NEST_INPUT: sb_printf(e->out, "i%d", x->u.input); break;
    case NEST_ADD:
    case NEST_SUB:
    case NEST_MUL:
    case NEST_NEG: expr_infix(e, x, gpu_index, top); break;
    case NEST_DIV_INDEX:
    case NEST_MOD_INDEX:
    case NEST_MIN:
    case NEST_MAX:
        sb_printf(e->out, "%s<nest_index>", expr_function(x->op));
        expr_arguments(e, x, gpu_index);
        break;
    case NEST_SELECT: expr_select(e, x, gpu_index); break;
    default: expr_as_index(e, x); break;
    }
}
