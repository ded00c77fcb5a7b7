/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nest_print.c - a loop nest as C-like text, for people and tests.
 *
 * A node that a statement uses more than once is printed once, as a line "tN
 * := ..." before the statement (for while, inside its condition). Variables
 * get their index appended where their name alone would be ambiguous.
 * Tests: tests/unit/test_codegen.c
 */
#include "codegen/nest/nest.h"

#include <math.h>
#include <string.h>

typedef struct print_state {
    nest *n;
    strbuf *out;
    int depth;
    uint32_t mark;  /* nodes visited in this statement; slot counts their uses */
    uint32_t temps; /* names given so far */
} print_state;

enum { PRINT_NAMED = 0x80000000u }; /* slot of a node that has a name: this bit and the number */

static void print_indent(print_state *p) { sb_fill(p->out, ' ', (size_t)p->depth * 4); }

static void print_var(print_state *p, const nest_var *v) {
    sb_printf(p->out, "%s%d", v->name, v->index);
}

static bool print_is_leaf(const nest_expr *e) { return e->nargs == 0; }

static void print_const(print_state *p, const nest_expr *e) {
    if (e->type == NEST_BOOL) sb_puts(p->out, e->u.i ? "true" : "false");
    else if (!nest_is_float(e->type)) sb_printf(p->out, "%lld", (long long)e->u.i);
    else if (e->u.f == floor(e->u.f) && fabs(e->u.f) < 1e6 && !(e->u.f == 0 && signbit(e->u.f)))
        sb_printf(p->out, "%.1f", e->u.f);
    else sb_printf(p->out, "%.*g", e->type == NEST_F32 ? 9 : 17, e->u.f);
}

static void print_expr(print_state *p, const nest_expr *e, bool top);

static void print_call(print_state *p, const char *name, const nest_expr *e) {
    sb_printf(p->out, "%s(", name);
    for (int i = 0; i < e->nargs; i++) {
        if (i) sb_puts(p->out, ", ");
        print_expr(p, e->args[i], true);
    }
    sb_putc(p->out, ')');
}

static void print_operator(print_state *p, const nest_expr *e, bool top) {
    const nest_op_info *op = &nest_ops[e->op];
    if (op->text[0] >= 'a' && op->text[0] <= 'z') {
        print_call(p, op->text, e);
        return;
    }
    if (!top) sb_putc(p->out, '(');
    if (e->nargs == 2) print_expr(p, e->args[0], false);
    sb_printf(p->out, e->nargs == 2 ? " %s " : "%s", op->text);
    print_expr(p, e->args[e->nargs - 1], false);
    if (!top) sb_putc(p->out, ')');
}

/* top: no parentheses are needed around it. */
static void print_expr(print_state *p, const nest_expr *e, bool top) {
    if (!print_is_leaf(e) && e->mark == p->mark && e->slot & PRINT_NAMED) {
        sb_printf(p->out, "t%u", e->slot & ~PRINT_NAMED);
        return;
    }
    switch (e->op) {
    case NEST_CONST: print_const(p, e); break;
    case NEST_INPUT:
        sb_puts(p->out, e->type == NEST_I64 ? p->n->ints[e->u.input] : p->n->floats[e->u.input]);
        break;
    case NEST_VAR: print_var(p, e->u.var); break;
    case NEST_LOAD:
        sb_printf(p->out, "%s[", e->u.buffer->name);
        print_expr(p, e->args[0], true);
        sb_putc(p->out, ']');
        break;
    case NEST_SELECT:
        if (!top) sb_putc(p->out, '(');
        print_expr(p, e->args[0], false);
        sb_puts(p->out, " ? ");
        print_expr(p, e->args[1], false);
        sb_puts(p->out, " : ");
        print_expr(p, e->args[2], false);
        if (!top) sb_putc(p->out, ')');
        break;
    case NEST_CAST: print_call(p, nest_types[e->type].name, e); break;
    case NEST_CALL: print_call(p, e->u.name, e); break;
    default: print_operator(p, e, top);
    }
}

static void print_count(print_state *p, nest_expr *e) {
    if (e->mark != p->mark) {
        e->mark = p->mark;
        e->slot = 0;
        for (int i = 0; i < e->nargs; i++) print_count(p, e->args[i]);
    }
    e->slot++;
}

/* Operands first, so that a line uses only names above it. */
static void print_shared(print_state *p, nest_expr *e, const char *end) {
    if (print_is_leaf(e) || e->slot & PRINT_NAMED) return;
    uint32_t uses = e->slot;
    e->slot = 1; /* walked: meeting it again does nothing more */
    for (int i = 0; i < e->nargs; i++) print_shared(p, e->args[i], end);
    if (uses < 2) return;
    uint32_t name = p->temps++;
    if (*end == '\n') print_indent(p);
    sb_printf(p->out, "t%u := ", name);
    print_expr(p, e, true);
    sb_puts(p->out, end);
    e->slot = name | PRINT_NAMED;
}

static void print_prepare(print_state *p, nest_expr *const *roots, int n, const char *end) {
    p->mark = nest_fresh_mark(p->n);
    for (int i = 0; i < n; i++) print_count(p, roots[i]);
    for (int i = 0; i < n; i++) print_shared(p, roots[i], end);
}

static void print_block(print_state *p, const nest_block *b) {
    static const char *const accumulate[] = {"sum=", "prod=", "min=", "max="};
    p->depth++;
    for (nest_stmt *s = b->first; s; s = s->next) {
        nest_expr *roots[3];
        int nroots = 0;
        if (s->index) roots[nroots++] = s->index;
        if (s->value) roots[nroots++] = s->value;
        if (s->begin) roots[nroots++] = s->begin;
        if (s->end) roots[nroots++] = s->end;
        if (s->kind != NEST_WHILE) print_prepare(p, roots, nroots, "\n");
        print_indent(p);
        switch (s->kind) {
        case NEST_DECLARE:
            sb_printf(p->out, "%s%s ", s->var->is_mutable ? "" : "let ",
                      nest_types[s->var->type].name); /* fall through */
        case NEST_SET:
        case NEST_ACCUMULATE:
            print_var(p, s->var);
            sb_printf(p->out, " %s ", s->kind == NEST_ACCUMULATE ? accumulate[s->acc] : "=");
            print_expr(p, s->value, true);
            break;
        case NEST_STORE:
            sb_printf(p->out, "%s[", s->buffer->name);
            print_expr(p, s->index, true);
            sb_puts(p->out, "] = ");
            print_expr(p, s->value, true);
            break;
        case NEST_FOR:
            sb_printf(p->out, "%s%s%s%sfor (", s->flags & NEST_PARALLEL ? "parallel " : "",
                      s->flags & NEST_VECTOR ? "vector " : "",
                      s->flags & NEST_UNROLL ? "unroll " : "",
                      s->flags & NEST_PREFETCH ? "prefetch " : "");
            print_var(p, s->var);
            sb_puts(p->out, " = ");
            print_expr(p, s->begin, true);
            sb_puts(p->out, "; ");
            print_expr(p, s->end, true);
            sb_printf(p->out, "; %lld)", (long long)s->step);
            break;
        case NEST_WHILE:
            sb_puts(p->out, "while (");
            print_prepare(p, roots, nroots, "; ");
            print_expr(p, s->value, true);
            sb_putc(p->out, ')');
            break;
        case NEST_IF:
            sb_puts(p->out, s->unlikely ? "if unlikely (" : "if (");
            print_expr(p, s->value, true);
            sb_putc(p->out, ')');
            break;
        case NEST_BREAK: sb_puts(p->out, "break"); break;
        case NEST_CONTINUE: sb_puts(p->out, "continue"); break;
        case NEST_FAIL:
            sb_printf(p->out, "fail(%lld, ", (long long)s->code);
            print_expr(p, s->value, true);
            sb_putc(p->out, ')');
            break;
        case NEST_WATCH: sb_printf(p->out, "watch(%lld)", (long long)s->code); break;
        }
        if (s->kind == NEST_FOR || s->kind == NEST_WHILE || s->kind == NEST_IF) {
            sb_puts(p->out, " {\n");
            print_block(p, &s->body);
            if (s->other.first) {
                print_indent(p);
                sb_puts(p->out, "} else {\n");
                print_block(p, &s->other);
            }
            print_indent(p);
            sb_puts(p->out, "}\n");
        } else {
            sb_putc(p->out, '\n');
        }
    }
    p->depth--;
}

void nest_print(nest *n, strbuf *out) {
    print_state p = {.n = n, .out = out};
    const char *comma = "";
    sb_printf(out, "nest %s(", n->name);
    for (int i = 0; i < n->nbuffers; i++, comma = ", ")
        sb_printf(out, "%s%s *%s%s", comma, dtype_table[n->buffers[i]->dt].torch_name,
                  n->buffers[i]->is_restrict ? "restrict " : "", n->buffers[i]->name);
    for (int i = 0; i < n->nints; i++, comma = ", ") sb_printf(out, "%sint %s", comma, n->ints[i]);
    for (int i = 0; i < n->nfloats; i++, comma = ", ")
        sb_printf(out, "%sfloat %s", comma, n->floats[i]);
    sb_printf(out, ")%s", n->contract ? " contract" : "");
    if (n->coop) sb_printf(out, " coop %d", n->coop);
    sb_printf(out, "%s {\n", n->index32 ? " index32" : "");
    for (int i = 0; i < n->nlocals; i++)
        sb_printf(out, "    local %s %s[%lld]\n", dtype_table[n->locals[i]->dt].torch_name,
                  n->locals[i]->name, (long long)n->locals[i]->length);
    print_block(&p, &n->body);
    sb_puts(out, "}\n");
}
