/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol.h - names and keys of operators that C code knows, as numbers.
 *
 * Code that asks "is this aten::mm?" compares numbers: op.symbol is the overload's
 * key, op.name_symbol the name that all of its overloads have. The symbol of
 * "aten::add_.Tensor" is SYM_ADD__TENSOR, in capitals and with the namespace in
 * front where that is not aten: SYM_PRIM_DTYPE. Operators that nobody compares
 * have none (SYM_NONE); traits (op_traits.h) are for properties of many operators.
 * Tests: tests/unit/test_ops.c
 */
#ifndef CTSC_IR_OP_SYMBOL_H
#define CTSC_IR_OP_SYMBOL_H

typedef enum op_symbol {
    SYM_NONE,
#define SYMBOL(name, text) SYM_##name,
#include "ir/op/symbols.def"
#undef SYMBOL
    SYM_COUNT
} op_symbol;

op_symbol op_symbol_of(const char *text);
const char *op_symbol_text(op_symbol s); /* "" of SYM_NONE */

#endif
