/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code.c - the table of instructions, the end of a code, and what those above registered.
 * Tests: tests/unit/test_interp.c
 */
#include "runtime/code/bytecode.h"

const code_host *code_host_installed;

const opcode_info opcode_table[BC_COUNT] = {
#define OPCODE(name, form, meaning) [BC_##name] = {#name, form, meaning, SYM_NONE},
#define FAST(name, key, meaning) [BC_##name] = {#name, "rvv", meaning, key},
#define SITE(name, function, meaning) [BC_##name] = {#name, "s--", meaning, SYM_NONE},
#include "runtime/code/opcodes.def"
#undef OPCODE
#undef FAST
#undef SITE
};

void code_free(code *c) {
    if (!c) return;
    for (size_t i = 0; i < c->constants.len; i++) value_unref(c->constants.data[i]);
    for (size_t i = 0; i < c->subs.len; i++) code_free(c->subs.data[i]);
    for (size_t i = 0; i < c->groups.len; i++) c->groups.data[i]->free(c->groups.data[i]);
    vec_free(&c->instrs);
    vec_free(&c->ranges);
    vec_free(&c->calls);
    vec_free(&c->sites);
    vec_free(&c->operands);
    vec_free(&c->constants);
    vec_free(&c->types);
    vec_free(&c->subs);
    vec_free(&c->groups);
    graph_free(c->graph);
    if (c->recordings) c->recordings->free(c->recordings);
    if (c->programs) c->programs->free(c->programs);
    mem_free(c);
}
