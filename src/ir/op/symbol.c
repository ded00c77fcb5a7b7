/* SPDX-License-Identifier: Apache-2.0 */
/* symbol.c - looks symbols up by their text (symbol.h). Tests: tests/unit/test_ops.c */
#include "ir/op/symbol.h"

#include <string.h>

static const char *const symbol_texts[SYM_COUNT] = {
    "",
#define SYMBOL(name, text) text,
#include "ir/op/symbols.def"
#undef SYMBOL
};

op_symbol op_symbol_of(const char *text) {
    int low = 1, high = SYM_COUNT;
    while (low < high) {
        int middle = (low + high) / 2, order = strcmp(text, symbol_texts[middle]);
        if (!order) return (op_symbol)middle;
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return SYM_NONE;
}

const char *op_symbol_text(op_symbol s) { return symbol_texts[s]; }
