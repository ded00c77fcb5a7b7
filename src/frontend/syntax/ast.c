/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ast.c - texts of the tree's operators.
 */
#include "frontend/syntax/ast.h"

const char *operator_text(operator_kind op) {
    static const char *const texts[O_COUNT] = {
#define OPERATOR_TEXT(k, text) text,
        OPERATORS(OPERATOR_TEXT)
#undef OPERATOR_TEXT
    };
    return texts[op];
}
