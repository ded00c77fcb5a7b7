/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llvm_emit.c - prints a loop nest as LLVM IR.
 *
 * Method: text rather than LLVM's builder functions, because it needs no LLVM in this library, can
 * be read and tested anywhere, serves as the cache's key, and is parsed in a tenth of a
 * millisecond. Mutable variables are allocas that mem2reg turns into phis; lets are SSA names.
 * Loops come rotated: a guard, a body, a latch with the test.
 *
 * Vectorisation: the memory accesses of a loop marked vector carry an access
 * group that the loop lists as parallel, so the vectoriser emits no run-time
 * alias checks; `reassoc` is set on accumulations and nowhere else;
 * functions of scalar_ops.h are calls that llvm_jit.c links in and inlines.
 *
 * Metadata nodes are numbered as they are needed and printed after the function.
 * Tests: tests/unit/test_codegen.c
 */
#include "codegen/llvm/llvm_emit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* An operand: "%t12", "i64 7"'s "7", "0x3FF0000000000000". */
typedef struct llvm_value {
    char s[32];
} llvm_value;

enum { EMIT_MAX_CALLS = 64, EMIT_MAX_SCOPES = 32 };

typedef struct llvm_loop {
    int label;
    bool is_for;
} llvm_loop;

typedef struct llvm_state {
    nest *n;
    const llvm_target *target;
    strbuf *out;
    strbuf meta, entry; /* metadata; what goes to the entry block (allocas) */
    bool one;           /* the entry block has the 1 of llvm_widen_f16 */
    llvm_value *vars;   /* by variable index: of lets the value, of mutable ones the alloca */
    uint32_t mark;
    uint32_t temps;
    int labels, nodes;
    llvm_loop loops[NEST_MAX_NESTING];
    int nloops;
    int groups[NEST_MAX_NESTING]; /* access groups of the vector loops around */
    int ngroups, access;          /* access: the metadata node that accesses carry, -1: none */
    /* first node of the alias scope sets; branch weights; -1: not made */
    int scope_sets, weights;
    bool ended;                  /* the current block has its terminator */
    bool watches;                /* %stop and %ctx are used */
    const char *fast, *fast_sum; /* "contract " or "": arithmetic; accumulations */
    const nest_expr *product;    /* the product that is being accumulated */
    char calls[EMIT_MAX_CALLS][192];
    int ncalls;
    bool too_many;
} llvm_state;

static void llvm_line(llvm_state *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void llvm_line(llvm_state *e, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sb_puts(e->out, "  ");
    sb_vprintf(e->out, fmt, ap);
    sb_putc(e->out, '\n');
    va_end(ap);
}

static llvm_value llvm_temp(llvm_state *e) {
    llvm_value v;
    snprintf(v.s, sizeof v.s, "%%t%u", e->temps++);
    return v;
}

static const char *llvm_type_of(nest_type t) { return nest_types[t].llvm; }

static void llvm_label(llvm_state *e, const char *name, int number) {
    sb_printf(e->out, "%s%d:\n", name, number);
    e->ended = false;
}
static void llvm_jump(llvm_state *e, const char *name, int number) {
    if (!e->ended) llvm_line(e, "br label %%%s%d", name, number);
    e->ended = true;
}

/* Remembers a declaration; each once. */
static void llvm_declare(llvm_state *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void llvm_declare(llvm_state *e, const char *fmt, ...) {
    char text[sizeof e->calls[0]];
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (int i = 0; i < e->ncalls; i++)
        if (!strcmp(e->calls[i], text)) return;
    if (e->ncalls == EMIT_MAX_CALLS || len >= (int)sizeof text) e->too_many = true;
    else strcpy(e->calls[e->ncalls++], text);
}

/* ---- metadata -------------------------------------------------------------------------------- */

static int llvm_node(llvm_state *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int llvm_node(llvm_state *e, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sb_printf(&e->meta, "!%d = ", e->nodes);
    sb_vprintf(&e->meta, fmt, ap);
    sb_putc(&e->meta, '\n');
    va_end(ap);
    return e->nodes++;
}

/* The scope of a buffer: 0 for all that may overlap, else one of its own. */
static int llvm_scope_of(const llvm_state *e, const nest_buffer *b) {
    if (!b->is_restrict) return 0;
    return 1 + b->index + (b->local ? e->n->nbuffers : 0);
}

/* Nodes: the domain, a scope per buffer, then for each scope the pair {it}, {all others}. */
static void llvm_scopes(llvm_state *e) {
    int n = 1 + e->n->nbuffers + e->n->nlocals;
    e->scope_sets = -1;
    if (n > EMIT_MAX_SCOPES || n < 3) return;
    int domain = llvm_node(e, "!{!\"ctsc\"}"), first = e->nodes;
    for (int i = 0; i < n; i++) llvm_node(e, "!{!\"buffer %d\", !%d}", i, domain);
    e->scope_sets = e->nodes;
    for (int i = 0; i < n; i++) {
        llvm_node(e, "!{!%d}", first + i);
        sb_printf(&e->meta, "!%d = !{", e->nodes++);
        const char *comma = "";
        for (int k = 0; k < n; k++)
            if (k != i) {
                sb_printf(&e->meta, "%s!%d", comma, first + k);
                comma = ", ";
            }
        sb_puts(&e->meta, "}\n");
    }
}

/* What a load or store of b carries. */
static void llvm_access(llvm_state *e, const nest_buffer *b) {
    if (e->scope_sets >= 0) {
        int set = e->scope_sets + 2 * llvm_scope_of(e, b);
        sb_printf(e->out, ", !alias.scope !%d, !noalias !%d", set, set + 1);
    }
    if (e->access >= 0) sb_printf(e->out, ", !llvm.access.group !%d", e->access);
    sb_putc(e->out, '\n');
}

/* The access groups of all vector loops that are open, as one node. */
static void llvm_set_access(llvm_state *e) {
    e->access = e->ngroups ? e->groups[0] : -1;
    if (e->ngroups < 2) return;
    e->access = e->nodes++;
    sb_printf(&e->meta, "!%d = !{", e->access);
    for (int i = 0; i < e->ngroups; i++) sb_printf(&e->meta, "%s!%d", i ? ", " : "", e->groups[i]);
    sb_puts(&e->meta, "}\n");
}

/* ---- expressions ----------------------------------------------------------------------------- */

static llvm_value llvm_expr(llvm_state *e, nest_expr *x);

static llvm_value llvm_const(const nest_expr *x) {
    llvm_value v;
    union {
        double f;
        uint64_t u;
    } bits;
    bits.f = x->type == NEST_F32 ? (double)(float)x->u.f : x->u.f;
    if (nest_is_float(x->type)) snprintf(v.s, sizeof v.s, "0x%016llX", (unsigned long long)bits.u);
    else if (x->type == NEST_BOOL) snprintf(v.s, sizeof v.s, "%s", x->u.i ? "true" : "false");
    else snprintf(v.s, sizeof v.s, "%lld", (long long)x->u.i);
    return v;
}

/* The type of an element in memory. */
static const char *llvm_memory_type(const llvm_state *e, dtype dt) {
    switch (dt) {
    case DT_INT16: return "i16";
    case DT_INT32: return "i32";
    case DT_INT64: return "i64";
    case DT_FLOAT16: return e->target->f16c ? "half" : "i16";
    case DT_BFLOAT16: return "i16";
    case DT_FLOAT32: return "float";
    case DT_FLOAT64: return "double";
    default: return "i8";
    }
}

static llvm_value llvm_address(llvm_state *e, const nest_buffer *b, nest_expr *index) {
    llvm_value i = llvm_expr(e, index), p = llvm_temp(e);
    llvm_line(e, "%s = getelementptr inbounds %s, ptr %%%s%d, i64 %s", p.s,
              llvm_memory_type(e, b->dt), b->local ? "l" : "b", b->index, i.s);
    return p;
}

/* A half as a float, times a 1 that LLVM does not know to be one: where it sees that numbers were
 * halves it compares and selects halves, which no vector instructions do, one by one. */
static llvm_value llvm_widen_f16(llvm_state *e, llvm_value half) {
    llvm_value wide = llvm_temp(e), v = llvm_temp(e);
    if (!e->one)
        sb_puts(&e->entry, "  %one.room = alloca float\n"
                           "  store volatile float 1.0, ptr %one.room\n"
                           "  %one = load volatile float, ptr %one.room\n");
    e->one = true;
    llvm_line(e, "%s = fpext half %s to float", wide.s, half.s);
    llvm_line(e, "%s = fmul float %s, %%one", v.s, wide.s);
    return v;
}

/* Elements of a file's storage may be unaligned: align
 * 1, which costs nothing on today's processors. */
static llvm_value llvm_load(llvm_state *e, nest_expr *x) {
    const nest_buffer *b = x->u.buffer;
    llvm_value p = llvm_address(e, b, x->args[0]), raw = llvm_temp(e), v = raw;
    sb_printf(e->out, "  %s = load %s, ptr %s, align 1", raw.s, llvm_memory_type(e, b->dt), p.s);
    llvm_access(e, b);
    if (b->dt == DT_BOOL) {
        v = llvm_temp(e);
        llvm_line(e, "%s = icmp ne i8 %s, 0", v.s, raw.s);
    } else if (b->dt == DT_BFLOAT16) {
        llvm_value wide = llvm_temp(e), high = llvm_temp(e);
        v = llvm_temp(e);
        llvm_line(e, "%s = zext i16 %s to i32", wide.s, raw.s);
        llvm_line(e, "%s = shl i32 %s, 16", high.s, wide.s);
        llvm_line(e, "%s = bitcast i32 %s to float", v.s, high.s);
    } else if (b->dt == DT_FLOAT16) {
        v = llvm_temp(e);
        if (e->target->f16c) {
            v = llvm_widen_f16(e, raw);
        } else {
            llvm_declare(e, "declare float @nest_load_f16(i16)");
            llvm_line(e, "%s = call float @nest_load_f16(i16 %s)", v.s, raw.s);
        }
    }
    return v;
}

static void llvm_store(llvm_state *e, const nest_stmt *s) {
    const nest_buffer *b = s->buffer;
    llvm_value p = llvm_address(e, b, s->index), v = llvm_expr(e, s->value), raw = v;
    if (b->dt == DT_BOOL) {
        raw = llvm_temp(e);
        llvm_line(e, "%s = zext i1 %s to i8", raw.s, v.s);
    } else if (b->dt == DT_FLOAT16 && e->target->f16c) {
        raw = llvm_temp(e);
        llvm_line(e, "%s = fptrunc float %s to half", raw.s, v.s);
    } else if (dtype_is_half(b->dt)) {
        const char *fn = b->dt == DT_FLOAT16 ? "nest_store_f16" : "nest_store_bf16";
        raw = llvm_temp(e);
        llvm_declare(e, "declare i16 @%s(float)", fn);
        llvm_line(e, "%s = call i16 @%s(float %s)", raw.s, fn, v.s);
    }
    sb_printf(e->out, "  store %s %s, ptr %s, align 1", llvm_memory_type(e, b->dt), raw.s, p.s);
    llvm_access(e, b);
}

/* Floats to ints go through i32 (i8, i16, i32) or i64 (u8, i64), as dtype_store_float does. */
static llvm_value llvm_float_to_int(llvm_state *e, nest_type to, nest_type from, llvm_value x) {
    nest_type via = to == NEST_I64 || to == NEST_U8 ? NEST_I64 : NEST_I32;
    const char *suffix = nest_types[from].name;
    llvm_value v = llvm_temp(e);
    llvm_declare(e, "declare %s @nest_to_%s_%s(%s)", llvm_type_of(via), nest_types[via].name,
                 suffix, llvm_type_of(from));
    llvm_line(e, "%s = call %s @nest_to_%s_%s(%s %s)", v.s, llvm_type_of(via), nest_types[via].name,
              suffix, llvm_type_of(from), x.s);
    if (via == to) return v;
    llvm_value narrow = llvm_temp(e);
    llvm_line(e, "%s = trunc %s %s to %s", narrow.s, llvm_type_of(via), v.s, llvm_type_of(to));
    return narrow;
}

static llvm_value llvm_cast(llvm_state *e, nest_expr *x) {
    nest_type from = x->args[0]->type, to = x->type;
    const nest_type_info *f = &nest_types[from], *t = &nest_types[to];
    llvm_value a = llvm_expr(e, x->args[0]);
    if (nest_is_float(from) && t->is_int) return llvm_float_to_int(e, to, from, a);
    llvm_value v = llvm_temp(e);
    if (to == NEST_BOOL) {
        if (f->is_int) llvm_line(e, "%s = icmp ne %s %s, 0", v.s, f->llvm, a.s);
        else llvm_line(e, "%s = fcmp une %s %s, 0.0", v.s, f->llvm, a.s);
        return v;
    }
    const char *how;
    if (nest_is_float(from)) how = to == NEST_F64 ? "fpext" : "fptrunc";
    else if (nest_is_float(to)) how = f->is_signed ? "sitofp" : "uitofp";
    else if (from == NEST_BOOL || t->bytes > f->bytes) how = f->is_signed ? "sext" : "zext";
    else how = t->bytes < f->bytes ? "trunc" : "bitcast";
    llvm_line(e, "%s = %s %s %s to %s", v.s, how, f->llvm, a.s, t->llvm);
    return v;
}

/* "round_f16": by the processor's conversions, where it has them. */
static llvm_value llvm_round_f16(llvm_state *e, nest_expr *x) {
    llvm_value a = llvm_expr(e, x->args[0]), narrow = llvm_temp(e);
    llvm_line(e, "%s = fptrunc float %s to half", narrow.s, a.s);
    return llvm_widen_f16(e, narrow);
}

static llvm_value llvm_call(llvm_state *e, nest_expr *x) {
    nest_type t = x->args[0]->type;
    if (e->target->f16c && t == NEST_F32 && !strcmp(x->u.name, "round_f16"))
        return llvm_round_f16(e, x);
    const char *result = x->type == NEST_BOOL ? "i8" : llvm_type_of(x->type);
    llvm_value args[NEST_MAX_ARGS], v;
    char types[NEST_MAX_ARGS * 10] = "", list[NEST_MAX_ARGS * 48] = "";
    for (int i = 0; i < x->nargs; i++) {
        args[i] = llvm_expr(e, x->args[i]);
        snprintf(types + strlen(types), sizeof types - strlen(types), "%s%s", i ? ", " : "",
                 llvm_type_of(t));
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s %s", i ? ", " : "",
                 llvm_type_of(t), args[i].s);
    }
    v = llvm_temp(e);
    llvm_declare(e, "declare %s @scalar_%s_%s(%s)", result, x->u.name, nest_types[t].name, types);
    llvm_line(e, "%s = call %s @scalar_%s_%s(%s)", v.s, result, x->u.name, nest_types[t].name,
              list);
    if (x->type != NEST_BOOL) return v;
    llvm_value test = llvm_temp(e);
    llvm_line(e, "%s = icmp ne i8 %s, 0", test.s, v.s);
    return test;
}

static llvm_value llvm_minmax(llvm_state *e, nest_type t, bool max, llvm_value a, llvm_value b) {
    llvm_value v = llvm_temp(e);
    const char *ty = llvm_type_of(t);
    if (t == NEST_BOOL) {
        llvm_line(e, "%s = %s i1 %s, %s", v.s, max ? "or" : "and", a.s, b.s);
    } else if (!nest_is_float(t)) {
        const char *fn = nest_types[t].is_signed ? (max ? "smax" : "smin")
                                                 : (max ? "umax" : "umin");
        llvm_declare(e, "declare %s @llvm.%s.%s(%s, %s)", ty, fn, ty, ty, ty);
        llvm_line(e, "%s = call %s @llvm.%s.%s(%s %s, %s %s)", v.s, ty, fn, ty, ty, a.s, ty, b.s);
    } else {
        const char *fn = max ? "maximum" : "minimum", *bits = t == NEST_F32 ? "f32" : "f64";
        llvm_declare(e, "declare %s @llvm.%s.%s(%s, %s)", ty, fn, bits, ty, ty);
        llvm_line(e, "%s = call nsz %s @llvm.%s.%s(%s %s, %s %s)", v.s, ty, fn, bits, ty, a.s, ty,
                  b.s);
    }
    return v;
}

static llvm_value llvm_compare(llvm_state *e, nest_expr *x, llvm_value a, llvm_value b) {
    static const char *const conditions[6] = {"eq", "ne", "lt", "le", "gt", "ge"};
    const char *c = conditions[x->op - NEST_EQ];
    nest_type t = x->args[0]->type;
    llvm_value v = llvm_temp(e);
    if (nest_is_float(t)) {
        llvm_line(e, "%s = fcmp %s%s %s %s, %s", v.s, x->op == NEST_NE ? "u" : "o", c,
                  llvm_type_of(t), a.s, b.s);
    } else {
        const char *sign = x->op == NEST_EQ || x->op == NEST_NE ? ""
                           : nest_types[t].is_signed            ? "s"
                                                                : "u";
        llvm_line(e, "%s = icmp %s%s %s %s, %s", v.s, sign, c, llvm_type_of(t), a.s, b.s);
    }
    return v;
}

static llvm_value llvm_operator(llvm_state *e, nest_expr *x) {
    static const struct {
        const char *of_int, *of_float;
    } names[NEST_OP_COUNT] = {
        [NEST_ADD] = {"add", "fadd"},    [NEST_SUB] = {"sub", "fsub"},
        [NEST_MUL] = {"mul", "fmul"},    [NEST_DIV] = {"sdiv", "fdiv"},
        [NEST_DIV_INDEX] = {"udiv", ""}, [NEST_MOD_INDEX] = {"urem", ""},
        [NEST_AND] = {"and", ""},        [NEST_OR] = {"or", ""},
        [NEST_XOR] = {"xor", ""},
    };
    llvm_value a = llvm_expr(e, x->args[0]), b = a;
    if (x->nargs == 2) b = llvm_expr(e, x->args[1]);
    nest_type t = x->args[0]->type;
    bool real = nest_is_float(t);
    if (nest_ops[x->op].cls == 'C') return llvm_compare(e, x, a, b);
    if (x->op == NEST_MIN || x->op == NEST_MAX) return llvm_minmax(e, t, x->op == NEST_MAX, a, b);
    llvm_value v = llvm_temp(e);
    if (x->op == NEST_NEG) {
        llvm_line(e, real ? "%s = fneg %s %s" : "%s = sub %s 0, %s", v.s, llvm_type_of(t), a.s);
    } else if (x->op == NEST_NOT) {
        llvm_line(e, "%s = xor %s %s, %s", v.s, llvm_type_of(t), a.s,
                  t == NEST_BOOL ? "true" : "-1");
    } else {
        llvm_line(e, "%s = %s %s%s %s, %s", v.s, real ? names[x->op].of_float : names[x->op].of_int,
                  !real             ? ""
                  : x == e->product ? e->fast_sum
                                    : e->fast,
                  llvm_type_of(t), a.s, b.s);
    }
    return v;
}

static llvm_value llvm_var(llvm_state *e, const nest_var *var) {
    if (!var->is_mutable) return e->vars[var->index];
    llvm_value v = llvm_temp(e);
    llvm_line(e, "%s = load %s, ptr %s", v.s, llvm_type_of(var->type), e->vars[var->index].s);
    return v;
}

static llvm_value llvm_expr(llvm_state *e, nest_expr *x) {
    llvm_value v;
    if (x->op == NEST_CONST) return llvm_const(x);
    if (x->op == NEST_INPUT) {
        snprintf(v.s, sizeof v.s, "%%%s%d", x->type == NEST_I64 ? "i" : "f", x->u.input);
        return v;
    }
    if (x->op == NEST_VAR) return llvm_var(e, x->u.var);
    if (x->mark == e->mark) {
        snprintf(v.s, sizeof v.s, "%%t%u", x->slot);
        return v;
    }
    if (x->op == NEST_LOAD) {
        v = llvm_load(e, x);
    } else if (x->op == NEST_CAST) {
        v = llvm_cast(e, x);
    } else if (x->op == NEST_CALL) {
        v = llvm_call(e, x);
    } else if (x->op == NEST_SELECT) {
        llvm_value c = llvm_expr(e, x->args[0]), a = llvm_expr(e, x->args[1]),
                   b = llvm_expr(e, x->args[2]);
        v = llvm_temp(e);
        llvm_line(e, "%s = select i1 %s, %s %s, %s %s", v.s, c.s, llvm_type_of(x->type), a.s,
                  llvm_type_of(x->type), b.s);
    } else {
        v = llvm_operator(e, x);
    }
    x->mark = e->mark;
    x->slot = e->temps - 1; /* what was made last is the result */
    return v;
}

/* ---- statements ------------------------------------------------------------------------------ */

static void llvm_block(llvm_state *e, const nest_block *b);

/* Does the kernel convert halves with the processor's instructions? */
static bool llvm_has_f16(const llvm_state *e) {
    bool found = false;
    for (int i = 0; i < e->n->nbuffers; i++) found |= e->n->buffers[i]->dt == DT_FLOAT16;
    return found && e->target->f16c;
}

/* The node that ends the latch: what the loop's flags promise. */
static int llvm_loop_node(llvm_state *e, const nest_stmt *s) {
    if (!(s->flags & (NEST_VECTOR | NEST_UNROLL))) return -1;
    int extra[4] = {0}, n = 0;
    if (s->flags & NEST_VECTOR)
        extra[n++] = llvm_node(e, "!{!\"llvm.loop.parallel_accesses\", !%d}",
                               e->groups[e->ngroups - 1]);
    /* whose conversions LLVM takes for so expensive that it makes short vectors */
    if (s->flags & NEST_VECTOR && llvm_has_f16(e))
        extra[n++] = llvm_node(e, "!{!\"llvm.loop.vectorize.width\", i32 %d}",
                               e->target->vector_width ? e->target->vector_width / 32 : 8);
    if (s->flags & NEST_UNROLL) extra[n++] = llvm_node(e, "!{!\"llvm.loop.unroll.full\"}");
    if (s->flags & NEST_PREFETCH) extra[n++] = llvm_node(e, "!{!\"ctsc.prefetch\"}");
    char list[4 * 16] = "";
    for (int i = 0; i < n; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), ", !%d", extra[i]);
    return llvm_node(e, "distinct !{!%d%s}", e->nodes, list);
}

/* Number of iterations of a loop that makes at least one; unsigned, so nothing overflows. */
static llvm_value llvm_trip_count(llvm_state *e, int64_t step, llvm_value begin, llvm_value end) {
    llvm_value span = llvm_temp(e), less = llvm_temp(e), whole = llvm_temp(e), count = llvm_temp(e);
    bool down = step < 0;
    llvm_line(e, "%s = sub i64 %s, %s", span.s, down ? begin.s : end.s, down ? end.s : begin.s);
    llvm_line(e, "%s = add i64 %s, -1", less.s, span.s);
    llvm_line(e, "%s = udiv i64 %s, %lld", whole.s, less.s, (long long)(down ? -step : step));
    llvm_line(e, "%s = add i64 %s, 1", count.s, whole.s);
    return count;
}

static void llvm_for(llvm_state *e, nest_stmt *s) {
    int label = e->labels++;
    llvm_value begin, end;
    if (s->flags & NEST_PARALLEL) {
        strcpy(begin.s, "%begin");
        strcpy(end.s, "%end");
    } else {
        begin = llvm_expr(e, s->begin);
        end = llvm_expr(e, s->end);
    }
    if (s->flags & NEST_VECTOR) {
        e->groups[e->ngroups++] = llvm_node(e, "distinct !{}");
        llvm_set_access(e);
    }
    int node = llvm_loop_node(e, s);
    bool simple = s->step == 1;
    llvm_value any = llvm_temp(e), count = end, first = begin;
    llvm_line(e, "%s = icmp %s i64 %s, %s", any.s, s->step > 0 ? "slt" : "sgt", begin.s, end.s);
    llvm_line(e, "br i1 %s, label %%enter%d, label %%exit%d", any.s, label, label);
    llvm_label(e, "enter", label);
    if (!simple) {
        count = llvm_trip_count(e, s->step, begin, end);
        strcpy(first.s, "0");
    }
    llvm_jump(e, "body", label);
    llvm_label(e, "body", label);
    llvm_line(e, "%%k%d = phi i64 [ %s, %%enter%d ], [ %%next%d, %%latch%d ]", label, first.s,
              label, label, label);
    llvm_value var;
    if (simple) {
        snprintf(var.s, sizeof var.s, "%%k%d", label);
    } else {
        llvm_value scaled = llvm_temp(e);
        var = llvm_temp(e);
        llvm_line(e, "%s = mul i64 %%k%d, %lld", scaled.s, label, (long long)s->step);
        llvm_line(e, "%s = add i64 %s, %s", var.s, scaled.s, begin.s);
    }
    e->vars[s->var->index] = var;
    e->loops[e->nloops++] = (llvm_loop){label, true};
    llvm_block(e, &s->body);
    e->nloops--;
    llvm_jump(e, "latch", label);
    llvm_label(e, "latch", label);
    llvm_value more = llvm_temp(e);
    llvm_line(e, "%%next%d = add %s i64 %%k%d, 1", label, simple ? "nsw" : "nuw", label);
    llvm_line(e, "%s = icmp %s i64 %%next%d, %s", more.s, simple ? "slt" : "ult", label, count.s);
    sb_printf(e->out, "  br i1 %s, label %%body%d, label %%exit%d", more.s, label, label);
    if (node >= 0) sb_printf(e->out, ", !llvm.loop !%d", node);
    sb_putc(e->out, '\n');
    llvm_label(e, "exit", label);
    if (s->flags & NEST_VECTOR) {
        e->ngroups--;
        llvm_set_access(e);
    }
}

static void llvm_while(llvm_state *e, nest_stmt *s) {
    int label = e->labels++;
    llvm_jump(e, "latch", label);
    llvm_label(e, "latch", label);
    e->mark = nest_fresh_mark(e->n);
    llvm_value c = llvm_expr(e, s->value);
    llvm_line(e, "br i1 %s, label %%body%d, label %%exit%d", c.s, label, label);
    llvm_label(e, "body", label);
    e->loops[e->nloops++] = (llvm_loop){label, false};
    llvm_block(e, &s->body);
    e->nloops--;
    llvm_jump(e, "latch", label);
    llvm_label(e, "exit", label);
}

static void llvm_if(llvm_state *e, nest_stmt *s) {
    int label = e->labels++;
    llvm_value c = llvm_expr(e, s->value);
    sb_printf(e->out, "  br i1 %s, label %%then%d, label %%%s%d", c.s, label,
              s->other.first ? "else" : "done", label);
    if (s->unlikely) {
        if (e->weights < 0) e->weights = llvm_node(e, "!{!\"branch_weights\", i32 1, i32 100000}");
        sb_printf(e->out, ", !prof !%d", e->weights);
    }
    sb_putc(e->out, '\n');
    llvm_label(e, "then", label);
    llvm_block(e, &s->body);
    llvm_jump(e, "done", label);
    if (s->other.first) {
        llvm_label(e, "else", label);
        llvm_block(e, &s->other);
        llvm_jump(e, "done", label);
    }
    llvm_label(e, "done", label);
}

/* To LLVM the question changes nothing but itself: what the kernel holds in
 * registers stays there. */
static void llvm_watch(llvm_state *e, const nest_stmt *s) {
    int label = e->labels++;
    llvm_value stop = llvm_temp(e), asked = llvm_temp(e), ctx = llvm_temp(e), end = llvm_temp(e);
    e->watches = true;
    if (e->weights < 0) e->weights = llvm_node(e, "!{!\"branch_weights\", i32 1, i32 100000}");
    llvm_line(e, "%s = load ptr, ptr %%stop", stop.s);
    llvm_line(e, "%s = icmp ne ptr %s, null", asked.s, stop.s);
    llvm_line(e, "br i1 %s, label %%ask%d, label %%done%d, !prof !%d", asked.s, label, label,
              e->weights);
    llvm_label(e, "ask", label);
    llvm_line(e, "%s = load ptr, ptr %%ctx", ctx.s);
    llvm_line(e, "%s = call zeroext i1 %s(ptr %s) nounwind memory(inaccessiblemem: readwrite)",
              end.s, stop.s, ctx.s);
    llvm_line(e, "br i1 %s, label %%stopped%d, label %%done%d, !prof !%d", end.s, label, label,
              e->weights);
    llvm_label(e, "stopped", label);
    llvm_line(e, "ret i64 %lld", (long long)s->code);
    llvm_label(e, "done", label);
}

static void llvm_accumulate(llvm_state *e, nest_stmt *s) {
    nest_type t = s->var->type;
    e->product = s->value->op == NEST_MUL ? s->value : NULL;
    llvm_value x = llvm_expr(e, s->value), old = llvm_var(e, s->var), v;
    e->product = NULL;
    if (s->acc == NEST_ACC_MIN || s->acc == NEST_ACC_MAX) {
        v = llvm_minmax(e, t, s->acc == NEST_ACC_MAX, old, x);
    } else {
        const char *op = s->acc == NEST_ACC_SUM ? "add" : "mul";
        v = llvm_temp(e);
        if (nest_is_float(t))
            llvm_line(e, "%s = f%s reassoc %s%s %s, %s", v.s, op, e->fast_sum, llvm_type_of(t),
                      old.s, x.s);
        else llvm_line(e, "%s = %s %s %s, %s", v.s, op, llvm_type_of(t), old.s, x.s);
    }
    llvm_line(e, "store %s %s, ptr %s", llvm_type_of(t), v.s, e->vars[s->var->index].s);
}

static void llvm_stmt(llvm_state *e, nest_stmt *s) {
    llvm_value v;
    e->mark = nest_fresh_mark(e->n);
    switch (s->kind) {
    case NEST_DECLARE:
        v = llvm_expr(e, s->value);
        if (!s->var->is_mutable) {
            e->vars[s->var->index] = v;
            break;
        }
        snprintf(e->vars[s->var->index].s, sizeof v.s, "%%v%d", s->var->index);
        sb_printf(&e->entry, "  %%v%d = alloca %s\n", s->var->index, llvm_type_of(s->var->type));
        llvm_line(e, "store %s %s, ptr %%v%d", llvm_type_of(s->var->type), v.s, s->var->index);
        break;
    case NEST_SET:
        v = llvm_expr(e, s->value);
        llvm_line(e, "store %s %s, ptr %s", llvm_type_of(s->var->type), v.s,
                  e->vars[s->var->index].s);
        break;
    case NEST_ACCUMULATE: llvm_accumulate(e, s); break;
    case NEST_STORE: llvm_store(e, s); break;
    case NEST_FOR: llvm_for(e, s); break;
    case NEST_WHILE: llvm_while(e, s); break;
    case NEST_IF: llvm_if(e, s); break;
    case NEST_BREAK: llvm_jump(e, "exit", e->loops[e->nloops - 1].label); break;
    case NEST_CONTINUE: llvm_jump(e, "latch", e->loops[e->nloops - 1].label); break;
    case NEST_FAIL:
        v = llvm_expr(e, s->value);
        llvm_line(e, "store i64 %s, ptr %%call", v.s);
        llvm_line(e, "ret i64 %lld", (long long)s->code);
        e->ended = true;
        break;
    case NEST_WATCH: llvm_watch(e, s); break;
    }
}

static void llvm_block(llvm_state *e, const nest_block *b) {
    for (nest_stmt *s = b->first; s; s = s->next) llvm_stmt(e, s);
}

/* ---- the module ------------------------------------------------------------------------------ */

static void llvm_inputs(llvm_state *e) {
    static const struct {
        const char *array, *type, *prefix;
    } rows[] = {{"buffers", "ptr", "b"}, {"ints", "i64", "i"}, {"floats", "double", "f"}};
    const int counts[] = {e->n->nbuffers, e->n->nints, e->n->nfloats};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < counts[k]; i++) {
            llvm_line(e, "%%p%s%d = getelementptr inbounds i64, ptr %%%s, i64 %d", rows[k].prefix,
                      i, rows[k].array, i);
            llvm_line(e, "%%%s%d = load %s, ptr %%p%s%d", rows[k].prefix, i, rows[k].type,
                      rows[k].prefix, i);
        }
    if (e->watches) { /* kernel_call's fields */
        llvm_line(e, "%%stop = getelementptr inbounds i64, ptr %%call, i64 1");
        llvm_line(e, "%%ctx = getelementptr inbounds i64, ptr %%call, i64 2");
    }
    for (int i = 0; i < e->n->nlocals; i++) {
        const nest_buffer *b = e->n->locals[i];
        llvm_line(e, "%%l%d = alloca [%lld x %s], align 64", i, (long long)b->length,
                  llvm_memory_type(e, b->dt));
    }
}

static void llvm_module(llvm_state *e, strbuf *out) {
    strbuf body = STRBUF_INIT, inputs = STRBUF_INIT;
    llvm_scopes(e);
    e->out = &body;
    llvm_block(e, &e->n->body);
    if (!e->ended) llvm_line(e, "ret i64 0");
    e->out = &inputs;
    llvm_inputs(e);
    sb_printf(
        out,
        "; %s\ndefine i64 @kernel(ptr noalias readonly %%buffers, ptr noalias readonly %%ints, ptr "
        "noalias readonly %%floats, "
        "i64 %%begin, i64 %%end, ptr noalias %%call) #0 {\nentry:\n",
        e->n->name);
    sb_puts(out, sb_str(&inputs));
    sb_puts(out, sb_str(&e->entry));
    sb_puts(out, "  br label %start\nstart:\n");
    sb_write(out, sb_str(&body), body.len);
    sb_puts(out, "}\n");
    for (int i = 0; i < e->ncalls; i++) sb_printf(out, "%s\n", e->calls[i]);
    bool contract = e->n->contract || e->n->contract_inside;
    sb_printf(out, "attributes #0 = { nounwind%s", contract ? " \"ctsc-contract\"" : "");
    if (e->target->vector_width)
        sb_printf(out, " \"prefer-vector-width\"=\"%d\"", e->target->vector_width);
    sb_printf(out, " }\n%s", sb_str(&e->meta));
    out->failed |= body.failed | inputs.failed | e->meta.failed | e->entry.failed;
    sb_free(&body);
    sb_free(&inputs);
}

ctsc_status nest_emit_llvm(nest *n, const llvm_target *target, strbuf *out, diag *d) {
    ctsc_status st = nest_verify(n, d);
    if (st != CTSC_OK) return st;
    llvm_state *e = mem_zalloc(sizeof *e);
    llvm_value *vars = mem_zalloc(sizeof *vars * (size_t)(n->nvars + 1));
    if (!e || !vars) {
        st = diag_no_memory(d);
        goto out;
    }
    *e = (llvm_state){.n = n,
                      .target = target,
                      .vars = vars,
                      .access = -1,
                      .weights = -1,
                      .fast = n->contract ? "contract " : "",
                      .fast_sum = n->contract || n->contract_inside ? "contract " : ""};
    llvm_module(e, out);
    if (e->too_many)
        st = diag_fail(d, CTSC_LIMIT, "loop nest %s calls too many functions", n->name);
    else if (out->failed) st = diag_no_memory(d);
    sb_free(&e->meta);
    sb_free(&e->entry);
out:
    mem_free(e);
    mem_free(vars);
    return st;
}
