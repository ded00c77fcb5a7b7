/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llvm_emit.c - prints a loop nest as LLVM IR.
 *
 * Method: text rather than LLVM's builder functions, because it needs no LLVM in this library, can be read
 * and tested anywhere, serves as the cache's key, and is parsed in a tenth of a millisecond. Mutable
 * variables are allocas that mem2reg turns into phis; lets are SSA names. Loops come rotated: a guard, a
 * body, a latch with the test.
 *
 * What makes vector code: the memory accesses of a loop marked vector carry an access group that the loop
 * lists as parallel, so the vectoriser asks for no run-time alias checks; `reassoc` stands on accumulations
 * and nowhere else; functions of scalar_ops.h are calls that llvm_jit.c links in and inlines.
 *
 * Metadata nodes are numbered as they are needed and printed after the function.
 * Tests: tests/unit/test_codegen.c
 */
#include "codegen/llvm/llvm_emit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* An operand: "%t12", "i64 7"'s "7", "0x3FF0000000000000". */
typedef struct emit_value {
    char s[32];
} emit_value;

enum { EMIT_MAX_CALLS = 64, EMIT_MAX_SCOPES = 32 };

typedef struct emit_loop {
    int label;
    bool is_for;
} emit_loop;

typedef struct emit_state {
    nest *n;
    const emit_target *target;
    strbuf *out;
    strbuf meta, entry; /* metadata; what goes to the entry block (allocas) */
    emit_value *vars;   /* by variable index: of lets the value, of mutable ones the alloca */
    uint32_t mark;
    uint32_t temps;
    int labels, nodes;
    emit_loop loops[NEST_MAX_NESTING];
    int nloops;
    int groups[NEST_MAX_NESTING]; /* access groups of the vector loops around */
    int ngroups, access;          /* access: the metadata node that accesses carry, -1: none */
    int scope_sets, weights;      /* first node of the alias scope sets; branch weights; -1: not made */
    bool ended;                   /* the current block has its terminator */
    bool watches;                 /* %stop and %ctx are used */
    const char *fast, *fast_sum;  /* "contract " or "": arithmetic; accumulations */
    const nest_expr *product;     /* the product that is being accumulated */
    char calls[EMIT_MAX_CALLS][192];
    int ncalls;
    bool too_many;
} emit_state;

static void emit_line(emit_state *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void emit_line(emit_state *e, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sb_puts(e->out, "  ");
    sb_vprintf(e->out, fmt, ap);
    sb_putc(e->out, '\n');
    va_end(ap);
}

static emit_value emit_temp(emit_state *e) {
    emit_value v;
    snprintf(v.s, sizeof v.s, "%%t%u", e->temps++);
    return v;
}

static const char *emit_llvm(nest_type t) {
    return nest_types[t].llvm;
}

static void emit_label(emit_state *e, const char *name, int number) {
    sb_printf(e->out, "%s%d:\n", name, number);
    e->ended = false;
}
static void emit_jump(emit_state *e, const char *name, int number) {
    if (!e->ended) emit_line(e, "br label %%%s%d", name, number);
    e->ended = true;
}

/* Remembers a declaration; each once. */
static void emit_declare(emit_state *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void emit_declare(emit_state *e, const char *fmt, ...) {
    char text[sizeof e->calls[0]];
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (int i = 0; i < e->ncalls; i++)
        if (!strcmp(e->calls[i], text)) return;
    if (e->ncalls == EMIT_MAX_CALLS || len >= (int)sizeof text)
        e->too_many = true;
    else
        strcpy(e->calls[e->ncalls++], text);
}

/* ---- metadata --------------------------------------------------------------------------- */

static int emit_node(emit_state *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int emit_node(emit_state *e, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sb_printf(&e->meta, "!%d = ", e->nodes);
    sb_vprintf(&e->meta, fmt, ap);
    sb_putc(&e->meta, '\n');
    va_end(ap);
    return e->nodes++;
}

/* The scope of a buffer: 0 for all that may overlap, else one of its own. */
static int emit_scope_of(const emit_state *e, const nest_buffer *b) {
    if (!b->is_restrict) return 0;
    return 1 + b->index + (b->local ? e->n->nbuffers : 0);
}

/* Nodes: the domain, a scope per buffer, then for each scope the pair {it}, {all others}. */
static void emit_scopes(emit_state *e) {
    int n = 1 + e->n->nbuffers + e->n->nlocals;
    e->scope_sets = -1;
    if (n > EMIT_MAX_SCOPES || n < 3) return;
    int domain = emit_node(e, "!{!\"ctsc\"}"), first = e->nodes;
    for (int i = 0; i < n; i++) emit_node(e, "!{!\"buffer %d\", !%d}", i, domain);
    e->scope_sets = e->nodes;
    for (int i = 0; i < n; i++) {
        emit_node(e, "!{!%d}", first + i);
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
static void emit_access(emit_state *e, const nest_buffer *b) {
    if (e->scope_sets >= 0) {
        int set = e->scope_sets + 2 * emit_scope_of(e, b);
        sb_printf(e->out, ", !alias.scope !%d, !noalias !%d", set, set + 1);
    }
    if (e->access >= 0) sb_printf(e->out, ", !llvm.access.group !%d", e->access);
    sb_putc(e->out, '\n');
}

/* The access groups of all vector loops that are open, as one node. */
static void emit_set_access(emit_state *e) {
    e->access = e->ngroups ? e->groups[0] : -1;
    if (e->ngroups < 2) return;
    e->access = e->nodes++;
    sb_printf(&e->meta, "!%d = !{", e->access);
    for (int i = 0; i < e->ngroups; i++) sb_printf(&e->meta, "%s!%d", i ? ", " : "", e->groups[i]);
    sb_puts(&e->meta, "}\n");
}

/* ---- expressions ------------------------------------------------------------------------ */

static emit_value emit_expr(emit_state *e, nest_expr *x);

static emit_value emit_const(const nest_expr *x) {
    emit_value v;
    union {
        double f;
        uint64_t u;
    } bits;
    bits.f = x->type == NEST_F32 ? (double)(float)x->u.f : x->u.f;
    if (nest_is_float(x->type))
        snprintf(v.s, sizeof v.s, "0x%016llX", (unsigned long long)bits.u);
    else if (x->type == NEST_BOOL)
        snprintf(v.s, sizeof v.s, "%s", x->u.i ? "true" : "false");
    else
        snprintf(v.s, sizeof v.s, "%lld", (long long)x->u.i);
    return v;
}

/* How an element lies in memory. */
static const char *emit_memory_type(const emit_state *e, dtype dt) {
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

static emit_value emit_address(emit_state *e, const nest_buffer *b, nest_expr *index) {
    emit_value i = emit_expr(e, index), p = emit_temp(e);
    emit_line(e, "%s = getelementptr inbounds %s, ptr %%%s%d, i64 %s", p.s, emit_memory_type(e, b->dt),
              b->local ? "l" : "b", b->index, i.s);
    return p;
}

/* Elements of a file's storage may lie unaligned: align 1, which costs nothing on today's processors. */
static emit_value emit_load(emit_state *e, nest_expr *x) {
    const nest_buffer *b = x->u.buffer;
    emit_value p = emit_address(e, b, x->args[0]), raw = emit_temp(e), v = raw;
    sb_printf(e->out, "  %s = load %s, ptr %s, align 1", raw.s, emit_memory_type(e, b->dt), p.s);
    emit_access(e, b);
    if (b->dt == DT_BOOL) {
        v = emit_temp(e);
        emit_line(e, "%s = icmp ne i8 %s, 0", v.s, raw.s);
    } else if (b->dt == DT_BFLOAT16) {
        emit_value wide = emit_temp(e), high = emit_temp(e);
        v = emit_temp(e);
        emit_line(e, "%s = zext i16 %s to i32", wide.s, raw.s);
        emit_line(e, "%s = shl i32 %s, 16", high.s, wide.s);
        emit_line(e, "%s = bitcast i32 %s to float", v.s, high.s);
    } else if (b->dt == DT_FLOAT16) {
        v = emit_temp(e);
        if (e->target->f16c) {
            emit_line(e, "%s = fpext half %s to float", v.s, raw.s);
        } else {
            emit_declare(e, "declare float @nest_load_f16(i16)");
            emit_line(e, "%s = call float @nest_load_f16(i16 %s)", v.s, raw.s);
        }
    }
    return v;
}

static void emit_store(emit_state *e, const nest_stmt *s) {
    const nest_buffer *b = s->buffer;
    emit_value p = emit_address(e, b, s->index), v = emit_expr(e, s->value), raw = v;
    if (b->dt == DT_BOOL) {
        raw = emit_temp(e);
        emit_line(e, "%s = zext i1 %s to i8", raw.s, v.s);
    } else if (b->dt == DT_FLOAT16 && e->target->f16c) {
        raw = emit_temp(e);
        emit_line(e, "%s = fptrunc float %s to half", raw.s, v.s);
    } else if (b->dt == DT_FLOAT16 || b->dt == DT_BFLOAT16) {
        const char *fn = b->dt == DT_FLOAT16 ? "nest_store_f16" : "nest_store_bf16";
        raw = emit_temp(e);
        emit_declare(e, "declare i16 @%s(float)", fn);
        emit_line(e, "%s = call i16 @%s(float %s)", raw.s, fn, v.s);
    }
    sb_printf(e->out, "  store %s %s, ptr %s, align 1", emit_memory_type(e, b->dt), raw.s, p.s);
    emit_access(e, b);
}

/* Floats to ints go through i32 (i8, i16, i32) or i64 (u8, i64), as dtype_store_float does. */
static emit_value emit_float_to_int(emit_state *e, nest_type to, nest_type from, emit_value x) {
    nest_type via = to == NEST_I64 || to == NEST_U8 ? NEST_I64 : NEST_I32;
    const char *suffix = nest_types[from].name;
    emit_value v = emit_temp(e);
    emit_declare(e, "declare %s @nest_to_%s_%s(%s)", emit_llvm(via), nest_types[via].name, suffix,
                 emit_llvm(from));
    emit_line(e, "%s = call %s @nest_to_%s_%s(%s %s)", v.s, emit_llvm(via), nest_types[via].name, suffix,
              emit_llvm(from), x.s);
    if (via == to) return v;
    emit_value narrow = emit_temp(e);
    emit_line(e, "%s = trunc %s %s to %s", narrow.s, emit_llvm(via), v.s, emit_llvm(to));
    return narrow;
}

static emit_value emit_cast(emit_state *e, nest_expr *x) {
    nest_type from = x->args[0]->type, to = x->type;
    const nest_type_info *f = &nest_types[from], *t = &nest_types[to];
    emit_value a = emit_expr(e, x->args[0]);
    if (nest_is_float(from) && t->is_int) return emit_float_to_int(e, to, from, a);
    emit_value v = emit_temp(e);
    if (to == NEST_BOOL) {
        if (f->is_int)
            emit_line(e, "%s = icmp ne %s %s, 0", v.s, f->llvm, a.s);
        else
            emit_line(e, "%s = fcmp une %s %s, 0.0", v.s, f->llvm, a.s);
        return v;
    }
    const char *how;
    if (nest_is_float(from))
        how = to == NEST_F64 ? "fpext" : "fptrunc";
    else if (nest_is_float(to))
        how = f->is_signed ? "sitofp" : "uitofp";
    else if (from == NEST_BOOL || t->bytes > f->bytes)
        how = f->is_signed ? "sext" : "zext";
    else
        how = t->bytes < f->bytes ? "trunc" : "bitcast";
    emit_line(e, "%s = %s %s %s to %s", v.s, how, f->llvm, a.s, t->llvm);
    return v;
}

/* "round_f16": by the processor's conversions, where it has them. */
static emit_value emit_round_f16(emit_state *e, nest_expr *x) {
    emit_value a = emit_expr(e, x->args[0]), narrow = emit_temp(e), v = emit_temp(e);
    emit_line(e, "%s = fptrunc float %s to half", narrow.s, a.s);
    emit_line(e, "%s = fpext half %s to float", v.s, narrow.s);
    return v;
}

static emit_value emit_call(emit_state *e, nest_expr *x) {
    nest_type t = x->args[0]->type;
    if (e->target->f16c && t == NEST_F32 && !strcmp(x->u.name, "round_f16")) return emit_round_f16(e, x);
    const char *result = x->type == NEST_BOOL ? "i8" : emit_llvm(x->type);
    emit_value args[NEST_MAX_ARGS], v;
    char types[NEST_MAX_ARGS * 10] = "", list[NEST_MAX_ARGS * 48] = "";
    for (int i = 0; i < x->nargs; i++) {
        args[i] = emit_expr(e, x->args[i]);
        snprintf(types + strlen(types), sizeof types - strlen(types), "%s%s", i ? ", " : "", emit_llvm(t));
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s %s", i ? ", " : "", emit_llvm(t),
                 args[i].s);
    }
    v = emit_temp(e);
    emit_declare(e, "declare %s @scalar_%s_%s(%s)", result, x->u.name, nest_types[t].name, types);
    emit_line(e, "%s = call %s @scalar_%s_%s(%s)", v.s, result, x->u.name, nest_types[t].name, list);
    if (x->type != NEST_BOOL) return v;
    emit_value test = emit_temp(e);
    emit_line(e, "%s = icmp ne i8 %s, 0", test.s, v.s);
    return test;
}

static emit_value emit_minmax(emit_state *e, nest_type t, bool max, emit_value a, emit_value b) {
    emit_value v = emit_temp(e);
    const char *ty = emit_llvm(t);
    if (t == NEST_BOOL) {
        emit_line(e, "%s = %s i1 %s, %s", v.s, max ? "or" : "and", a.s, b.s);
    } else if (!nest_is_float(t)) {
        const char *fn = nest_types[t].is_signed ? (max ? "smax" : "smin") : (max ? "umax" : "umin");
        emit_declare(e, "declare %s @llvm.%s.%s(%s, %s)", ty, fn, ty, ty, ty);
        emit_line(e, "%s = call %s @llvm.%s.%s(%s %s, %s %s)", v.s, ty, fn, ty, ty, a.s, ty, b.s);
    } else {
        const char *fn = max ? "maximum" : "minimum", *bits = t == NEST_F32 ? "f32" : "f64";
        emit_declare(e, "declare %s @llvm.%s.%s(%s, %s)", ty, fn, bits, ty, ty);
        emit_line(e, "%s = call nsz %s @llvm.%s.%s(%s %s, %s %s)", v.s, ty, fn, bits, ty, a.s, ty, b.s);
    }
    return v;
}

static emit_value emit_compare(emit_state *e, nest_expr *x, emit_value a, emit_value b) {
    static const char *const conditions[6] = {"eq", "ne", "lt", "le", "gt", "ge"};
    const char *c = conditions[x->op - NEST_EQ];
    nest_type t = x->args[0]->type;
    emit_value v = emit_temp(e);
    if (nest_is_float(t)) {
        emit_line(e, "%s = fcmp %s%s %s %s, %s", v.s, x->op == NEST_NE ? "u" : "o", c, emit_llvm(t), a.s,
                  b.s);
    } else {
        const char *sign = x->op == NEST_EQ || x->op == NEST_NE ? "" : nest_types[t].is_signed ? "s" : "u";
        emit_line(e, "%s = icmp %s%s %s %s, %s", v.s, sign, c, emit_llvm(t), a.s, b.s);
    }
    return v;
}

static emit_value emit_operator(emit_state *e, nest_expr *x) {
    static const struct {
        const char *of_int, *of_float;
    } names[NEST_OP_COUNT] = {
        [NEST_ADD] = {"add", "fadd"},  [NEST_SUB] = {"sub", "fsub"},    [NEST_MUL] = {"mul", "fmul"},
        [NEST_DIV] = {"sdiv", "fdiv"}, [NEST_DIV_INDEX] = {"udiv", ""}, [NEST_MOD_INDEX] = {"urem", ""},
        [NEST_AND] = {"and", ""},      [NEST_OR] = {"or", ""},          [NEST_XOR] = {"xor", ""},
    };
    emit_value a = emit_expr(e, x->args[0]), b = a;
    if (x->nargs == 2) b = emit_expr(e, x->args[1]);
    nest_type t = x->args[0]->type;
    bool real = nest_is_float(t);
    if (nest_ops[x->op].cls == 'C') return emit_compare(e, x, a, b);
    if (x->op == NEST_MIN || x->op == NEST_MAX) return emit_minmax(e, t, x->op == NEST_MAX, a, b);
    emit_value v = emit_temp(e);
    if (x->op == NEST_NEG) {
        emit_line(e, real ? "%s = fneg %s %s" : "%s = sub %s 0, %s", v.s, emit_llvm(t), a.s);
    } else if (x->op == NEST_NOT) {
        emit_line(e, "%s = xor %s %s, %s", v.s, emit_llvm(t), a.s, t == NEST_BOOL ? "true" : "-1");
    } else {
        emit_line(e, "%s = %s %s%s %s, %s", v.s, real ? names[x->op].of_float : names[x->op].of_int,
                  !real ? "" : x == e->product ? e->fast_sum : e->fast, emit_llvm(t), a.s, b.s);
    }
    return v;
}

static emit_value emit_var(emit_state *e, const nest_var *var) {
    if (!var->is_mutable) return e->vars[var->index];
    emit_value v = emit_temp(e);
    emit_line(e, "%s = load %s, ptr %s", v.s, emit_llvm(var->type), e->vars[var->index].s);
    return v;
}

static emit_value emit_expr(emit_state *e, nest_expr *x) {
    emit_value v;
    if (x->op == NEST_CONST) return emit_const(x);
    if (x->op == NEST_INPUT) {
        snprintf(v.s, sizeof v.s, "%%%s%d", x->type == NEST_I64 ? "i" : "f", x->u.input);
        return v;
    }
    if (x->op == NEST_VAR) return emit_var(e, x->u.var);
    if (x->mark == e->mark) {
        snprintf(v.s, sizeof v.s, "%%t%u", x->slot);
        return v;
    }
    if (x->op == NEST_LOAD) {
        v = emit_load(e, x);
    } else if (x->op == NEST_CAST) {
        v = emit_cast(e, x);
    } else if (x->op == NEST_CALL) {
        v = emit_call(e, x);
    } else if (x->op == NEST_SELECT) {
        emit_value c = emit_expr(e, x->args[0]), a = emit_expr(e, x->args[1]), b = emit_expr(e, x->args[2]);
        v = emit_temp(e);
        emit_line(e, "%s = select i1 %s, %s %s, %s %s", v.s, c.s, emit_llvm(x->type), a.s, emit_llvm(x->type),
                  b.s);
    } else {
        v = emit_operator(e, x);
    }
    x->mark = e->mark;
    x->slot = e->temps - 1; /* what was made last is the result */
    return v;
}

/* ---- statements ------------------------------------------------------------------------- */

static void emit_block(emit_state *e, const nest_block *b);

/* The node that ends the latch: what the loop's flags promise. */
static int emit_loop_node(emit_state *e, const nest_stmt *s) {
    if (!(s->flags & (NEST_VECTOR | NEST_UNROLL))) return -1;
    int extra[3] = {0}, n = 0;
    if (s->flags & NEST_VECTOR)
        extra[n++] = emit_node(e, "!{!\"llvm.loop.parallel_accesses\", !%d}", e->groups[e->ngroups - 1]);
    if (s->flags & NEST_UNROLL) extra[n++] = emit_node(e, "!{!\"llvm.loop.unroll.full\"}");
    if (s->flags & NEST_AHEAD) extra[n++] = emit_node(e, "!{!\"ctsc.ahead\"}");
    int self = e->nodes;
    if (n == 3) return emit_node(e, "distinct !{!%d, !%d, !%d, !%d}", self, extra[0], extra[1], extra[2]);
    if (n == 2) return emit_node(e, "distinct !{!%d, !%d, !%d}", self, extra[0], extra[1]);
    return emit_node(e, "distinct !{!%d, !%d}", self, extra[0]);
}

/* Number of iterations of a loop that makes at least one; unsigned, so nothing overflows. */
static emit_value emit_trip_count(emit_state *e, int64_t step, emit_value begin, emit_value end) {
    emit_value span = emit_temp(e), less = emit_temp(e), whole = emit_temp(e), count = emit_temp(e);
    bool down = step < 0;
    emit_line(e, "%s = sub i64 %s, %s", span.s, down ? begin.s : end.s, down ? end.s : begin.s);
    emit_line(e, "%s = add i64 %s, -1", less.s, span.s);
    emit_line(e, "%s = udiv i64 %s, %lld", whole.s, less.s, (long long)(down ? -step : step));
    emit_line(e, "%s = add i64 %s, 1", count.s, whole.s);
    return count;
}

static void emit_for(emit_state *e, nest_stmt *s) {
    int label = e->labels++;
    emit_value begin, end;
    if (s->flags & NEST_PARALLEL) {
        strcpy(begin.s, "%begin");
        strcpy(end.s, "%end");
    } else {
        begin = emit_expr(e, s->begin);
        end = emit_expr(e, s->end);
    }
    if (s->flags & NEST_VECTOR) {
        e->groups[e->ngroups++] = emit_node(e, "distinct !{}");
        emit_set_access(e);
    }
    int node = emit_loop_node(e, s);
    bool simple = s->step == 1;
    emit_value any = emit_temp(e), count = end, first = begin;
    emit_line(e, "%s = icmp %s i64 %s, %s", any.s, s->step > 0 ? "slt" : "sgt", begin.s, end.s);
    emit_line(e, "br i1 %s, label %%enter%d, label %%exit%d", any.s, label, label);
    emit_label(e, "enter", label);
    if (!simple) {
        count = emit_trip_count(e, s->step, begin, end);
        strcpy(first.s, "0");
    }
    emit_jump(e, "body", label);
    emit_label(e, "body", label);
    emit_line(e, "%%k%d = phi i64 [ %s, %%enter%d ], [ %%next%d, %%latch%d ]", label, first.s, label, label,
              label);
    emit_value var;
    if (simple) {
        snprintf(var.s, sizeof var.s, "%%k%d", label);
    } else {
        emit_value scaled = emit_temp(e);
        var = emit_temp(e);
        emit_line(e, "%s = mul i64 %%k%d, %lld", scaled.s, label, (long long)s->step);
        emit_line(e, "%s = add i64 %s, %s", var.s, scaled.s, begin.s);
    }
    e->vars[s->var->index] = var;
    e->loops[e->nloops++] = (emit_loop){label, true};
    emit_block(e, &s->body);
    e->nloops--;
    emit_jump(e, "latch", label);
    emit_label(e, "latch", label);
    emit_value more = emit_temp(e);
    emit_line(e, "%%next%d = add %s i64 %%k%d, 1", label, simple ? "nsw" : "nuw", label);
    emit_line(e, "%s = icmp %s i64 %%next%d, %s", more.s, simple ? "slt" : "ult", label, count.s);
    sb_printf(e->out, "  br i1 %s, label %%body%d, label %%exit%d", more.s, label, label);
    if (node >= 0) sb_printf(e->out, ", !llvm.loop !%d", node);
    sb_putc(e->out, '\n');
    emit_label(e, "exit", label);
    if (s->flags & NEST_VECTOR) {
        e->ngroups--;
        emit_set_access(e);
    }
}

static void emit_while(emit_state *e, nest_stmt *s) {
    int label = e->labels++;
    emit_jump(e, "latch", label);
    emit_label(e, "latch", label);
    e->mark = nest_fresh_mark(e->n);
    emit_value c = emit_expr(e, s->value);
    emit_line(e, "br i1 %s, label %%body%d, label %%exit%d", c.s, label, label);
    emit_label(e, "body", label);
    e->loops[e->nloops++] = (emit_loop){label, false};
    emit_block(e, &s->body);
    e->nloops--;
    emit_jump(e, "latch", label);
    emit_label(e, "exit", label);
}

static void emit_if(emit_state *e, nest_stmt *s) {
    int label = e->labels++;
    emit_value c = emit_expr(e, s->value);
    sb_printf(e->out, "  br i1 %s, label %%then%d, label %%%s%d", c.s, label,
              s->other.first ? "else" : "done", label);
    if (s->unlikely) {
        if (e->weights < 0) e->weights = emit_node(e, "!{!\"branch_weights\", i32 1, i32 100000}");
        sb_printf(e->out, ", !prof !%d", e->weights);
    }
    sb_putc(e->out, '\n');
    emit_label(e, "then", label);
    emit_block(e, &s->body);
    emit_jump(e, "done", label);
    if (s->other.first) {
        emit_label(e, "else", label);
        emit_block(e, &s->other);
        emit_jump(e, "done", label);
    }
    emit_label(e, "done", label);
}

/* To LLVM the question changes nothing but itself: what the kernel holds in registers stays there. */
static void emit_watch(emit_state *e, const nest_stmt *s) {
    int label = e->labels++;
    emit_value stop = emit_temp(e), asked = emit_temp(e), ctx = emit_temp(e), end = emit_temp(e);
    e->watches = true;
    if (e->weights < 0) e->weights = emit_node(e, "!{!\"branch_weights\", i32 1, i32 100000}");
    emit_line(e, "%s = load ptr, ptr %%stop", stop.s);
    emit_line(e, "%s = icmp ne ptr %s, null", asked.s, stop.s);
    emit_line(e, "br i1 %s, label %%ask%d, label %%done%d, !prof !%d", asked.s, label, label, e->weights);
    emit_label(e, "ask", label);
    emit_line(e, "%s = load ptr, ptr %%ctx", ctx.s);
    emit_line(e, "%s = call zeroext i1 %s(ptr %s) nounwind memory(inaccessiblemem: readwrite)", end.s, stop.s, ctx.s);
    emit_line(e, "br i1 %s, label %%stopped%d, label %%done%d, !prof !%d", end.s, label, label, e->weights);
    emit_label(e, "stopped", label);
    emit_line(e, "ret i64 %lld", (long long)s->code);
    emit_label(e, "done", label);
}

static void emit_accumulate(emit_state *e, nest_stmt *s) {
    nest_type t = s->var->type;
    e->product = s->value->op == NEST_MUL ? s->value : NULL;
    emit_value x = emit_expr(e, s->value), old = emit_var(e, s->var), v;
    e->product = NULL;
    if (s->acc == NEST_ACC_MIN || s->acc == NEST_ACC_MAX) {
        v = emit_minmax(e, t, s->acc == NEST_ACC_MAX, old, x);
    } else {
        const char *op = s->acc == NEST_ACC_SUM ? "add" : "mul";
        v = emit_temp(e);
        if (nest_is_float(t))
            emit_line(e, "%s = f%s reassoc %s%s %s, %s", v.s, op, e->fast_sum, emit_llvm(t), old.s, x.s);
        else
            emit_line(e, "%s = %s %s %s, %s", v.s, op, emit_llvm(t), old.s, x.s);
    }
    emit_line(e, "store %s %s, ptr %s", emit_llvm(t), v.s, e->vars[s->var->index].s);
}

static void emit_stmt(emit_state *e, nest_stmt *s) {
    emit_value v;
    e->mark = nest_fresh_mark(e->n);
    switch (s->kind) {
    case NEST_DECLARE:
        v = emit_expr(e, s->value);
        if (!s->var->is_mutable) {
            e->vars[s->var->index] = v;
            break;
        }
        snprintf(e->vars[s->var->index].s, sizeof v.s, "%%v%d", s->var->index);
        sb_printf(&e->entry, "  %%v%d = alloca %s\n", s->var->index, emit_llvm(s->var->type));
        emit_line(e, "store %s %s, ptr %%v%d", emit_llvm(s->var->type), v.s, s->var->index);
        break;
    case NEST_SET:
        v = emit_expr(e, s->value);
        emit_line(e, "store %s %s, ptr %s", emit_llvm(s->var->type), v.s, e->vars[s->var->index].s);
        break;
    case NEST_ACCUMULATE: emit_accumulate(e, s); break;
    case NEST_STORE: emit_store(e, s); break;
    case NEST_FOR: emit_for(e, s); break;
    case NEST_WHILE: emit_while(e, s); break;
    case NEST_IF: emit_if(e, s); break;
    case NEST_BREAK: emit_jump(e, "exit", e->loops[e->nloops - 1].label); break;
    case NEST_CONTINUE: emit_jump(e, "latch", e->loops[e->nloops - 1].label); break;
    case NEST_FAIL:
        v = emit_expr(e, s->value);
        emit_line(e, "store i64 %s, ptr %%call", v.s);
        emit_line(e, "ret i64 %lld", (long long)s->code);
        e->ended = true;
        break;
    case NEST_WATCH: emit_watch(e, s); break;
    }
}

static void emit_block(emit_state *e, const nest_block *b) {
    for (nest_stmt *s = b->first; s; s = s->next) emit_stmt(e, s);
}

/* ---- the module ------------------------------------------------------------------------- */

static void emit_inputs(emit_state *e) {
    static const struct {
        const char *array, *type, *prefix;
    } rows[] = {{"buffers", "ptr", "b"}, {"ints", "i64", "i"}, {"floats", "double", "f"}};
    const int counts[] = {e->n->nbuffers, e->n->nints, e->n->nfloats};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < counts[k]; i++) {
            emit_line(e, "%%p%s%d = getelementptr inbounds i64, ptr %%%s, i64 %d", rows[k].prefix, i,
                      rows[k].array, i);
            emit_line(e, "%%%s%d = load %s, ptr %%p%s%d", rows[k].prefix, i, rows[k].type, rows[k].prefix, i);
        }
    if (e->watches) { /* kernel_call's fields */
        emit_line(e, "%%stop = getelementptr inbounds i64, ptr %%call, i64 1");
        emit_line(e, "%%ctx = getelementptr inbounds i64, ptr %%call, i64 2");
    }
    for (int i = 0; i < e->n->nlocals; i++) {
        const nest_buffer *b = e->n->locals[i];
        emit_line(e, "%%l%d = alloca [%lld x %s], align 64", i, (long long)b->length,
                  emit_memory_type(e, b->dt));
    }
}

static void emit_module(emit_state *e, strbuf *out) {
    strbuf body = STRBUF_INIT, inputs = STRBUF_INIT;
    emit_scopes(e);
    e->out = &body;
    emit_block(e, &e->n->body);
    if (!e->ended) emit_line(e, "ret i64 0");
    e->out = &inputs;
    emit_inputs(e);
    sb_printf(out,
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
    if (e->target->vector_width) sb_printf(out, " \"prefer-vector-width\"=\"%d\"", e->target->vector_width);
    sb_printf(out, " }\n%s", sb_str(&e->meta));
    out->failed |= body.failed | inputs.failed | e->meta.failed | e->entry.failed;
    sb_free(&body);
    sb_free(&inputs);
}

ctsc_status nest_emit_llvm(nest *n, const emit_target *target, strbuf *out, diag *d) {
    ctsc_status st = nest_verify(n, d);
    if (st != CTSC_OK) return st;
    emit_state *e = mem_zalloc(sizeof *e);
    emit_value *vars = mem_zalloc(sizeof *vars * (size_t)(n->nvars + 1));
    if (!e || !vars) {
        st = diag_no_memory(d);
        goto out;
    }
    *e = (emit_state){.n = n,
                      .target = target,
                      .vars = vars,
                      .access = -1,
                      .weights = -1,
                      .fast = n->contract ? "contract " : "",
                      .fast_sum = n->contract || n->contract_inside ? "contract " : ""};
    emit_module(e, out);
    if (e->too_many)
        st = diag_fail(d, CTSC_LIMIT, "loop nest %s calls too many functions", n->name);
    else if (out->failed)
        st = diag_no_memory(d);
    sb_free(&e->meta);
    sb_free(&e->entry);
out:
    mem_free(e);
    mem_free(vars);
    return st;
}
