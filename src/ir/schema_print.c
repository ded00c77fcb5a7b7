/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_print.c - schemas as text, in the form schema.c reads.
 *
 * Tests: tests/unit/test_schema.c
 */
#include "ir/schema.h"

static void schema_print_alias(const alias_info *a, strbuf *out) {
    if (!a || !a->before) return;
    sb_printf(out, "(%s%s", a->before, a->write ? "!" : "");
    if (a->after) sb_printf(out, " -> %s", a->after);
    sb_putc(out, ')');
}

/* leaf: what is written for the innermost type; size: N of the list nearest to the outside. */
static void schema_print_type(const type *t, const alias_info *alias, const char *leaf, int size,
                              strbuf *out) {
    switch (t->kind) {
    case T_OPTIONAL:
        schema_print_type(type_elem(t), alias, leaf, size, out);
        sb_putc(out, '?');
        return;
    case T_LIST:
        schema_print_type(type_elem(t), alias ? alias->elem : NULL, leaf, 0, out);
        if (size) sb_printf(out, "[%d]", size);
        else sb_puts(out, "[]");
        break;
    case T_TUPLE:
        sb_putc(out, '(');
        for (int i = 0; i < t->nelems; i++) {
            if (i) sb_puts(out, ", ");
            schema_print_type(t->elems[i], NULL, NULL, 0, out);
        }
        sb_putc(out, ')');
        break;
    default:
        if (leaf) sb_puts(out, leaf);
        else type_print_plain(t, out);
        break;
    }
    schema_print_alias(alias, out);
}

static void schema_print_argument(const argument *a, strbuf *out) {
    schema_print_type(a->type, a->alias, a->leaf_text, a->fixed_size, out);
    if (a->name[0]) sb_printf(out, " %s", a->name);
    if (!a->has_default) return;
    sb_putc(out, '=');
    if (a->default_text) sb_puts(out, a->default_text);
    else value_print(a->default_value, out);
}

static void schema_print_returns(const schema *s, strbuf *out) {
    if (s->varret && s->nreturns == 0) {
        sb_puts(out, "...");
        return;
    }
    bool tuple = s->nreturns == 1 && s->returns[0].type->kind == T_TUPLE &&
                 !s->returns[0].type->field_names;
    bool parens = s->nreturns != 1 || s->parenthesised_return || s->varret || tuple;
    if (parens) sb_putc(out, '(');
    for (int i = 0; i < s->nreturns; i++) {
        if (i) sb_puts(out, ", ");
        schema_print_argument(&s->returns[i], out);
    }
    if (s->varret) sb_puts(out, ", ...");
    if (parens) sb_putc(out, ')');
}

void schema_print(const schema *s, strbuf *out) {
    sb_puts(out, s->name);
    if (s->overload && s->overload[0]) sb_printf(out, ".%s", s->overload);
    sb_putc(out, '(');
    bool kwargs = false;
    for (int i = 0; i < s->nargs; i++) {
        if (i) sb_puts(out, ", ");
        if (s->args[i].kwarg_only && !kwargs) {
            sb_puts(out, "*, ");
            kwargs = true;
        }
        schema_print_argument(&s->args[i], out);
    }
    if (s->vararg) sb_puts(out, s->nargs ? ", ..." : "...");
    sb_puts(out, ") -> ");
    schema_print_returns(s, out);
}
