/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytecode_print.c - disassembly.
 * Tests: tests/unit/test_interp.c
 */
#include "runtime/code/bytecode.h"

#include <inttypes.h>

static void print_operand(const code *c, int32_t v, strbuf *out) {
    if (v < 0) {
        value k = c->constants.data[~v];
        if (k.tag == V_TENSOR) sb_puts(out, "<tensor>");
        else if (k.tag == V_UNINIT) sb_puts(out, "<uninitialized>");
        else value_print(k, out);
        return;
    }
    sb_printf(out, "r%d%s", (int)(v & OPERAND_REGISTER), operand_last_use(v) ? "!" : "");
}

static void print_site(const code *c, const site *s, strbuf *out) {
    const int32_t *operands = c->operands.data + s->operands;
    for (int i = 0; i < s->nresults; i++) {
        int32_t r = operands[s->nargs + i];
        sb_puts(out, i ? ", " : " ");
        if (r == SITE_UNUSED) sb_putc(out, '_');
        else sb_printf(out, "r%d", (int)r);
    }
    sb_puts(out, " <-");
    if (s->op) sb_printf(out, " %s", s->op->key);
    if (s->fn) sb_printf(out, " %s", s->fn->qualified ? s->fn->qualified : s->fn->name);
    if (s->name) sb_printf(out, " '%s'", s->name);
    if (s->imm || s->imm2) sb_printf(out, " [%" PRId64 ", %" PRId64 "]", s->imm, s->imm2);
    sb_putc(out, '(');
    for (int i = 0; i < s->nargs; i++) {
        if (i) sb_puts(out, ", ");
        print_operand(c, operands[i], out);
    }
    sb_putc(out, ')');
}

static void print_instr(const code *c, const instr *i, strbuf *out) {
    const opcode_info *info = &opcode_table[i->op];
    const int32_t operands[] = {i->a, i->b, i->c};
    sb_puts(out, info->name);
    for (int k = 0; k < 3; k++) {
        switch (info->form[k]) {
        case 'r': sb_printf(out, " r%d", (int)operands[k]); break;
        case 'v': sb_putc(out, ' '), print_operand(c, operands[k], out); break;
        case 'j': sb_printf(out, " @%d", (int)operands[k]); break;
        case 's': print_site(c, &c->sites.data[operands[k]], out); break;
        default: break;
        }
    }
}

void code_print(const code *c, strbuf *out) {
    sb_printf(out, "%s: %d parameters, %d registers\n", c->name, c->nparams, c->nregisters);
    for (size_t i = 0; i < c->instrs.len; i++) {
        sb_printf(out, "%5zu  ", i);
        print_instr(c, &c->instrs.data[i], out);
        sb_putc(out, '\n');
    }
    for (size_t i = 0; i < c->subs.len; i++) code_print(c->subs.data[i], out);
}
