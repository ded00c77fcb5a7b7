/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_print.c - types as text: in graphs, inside containers, and as Python annotations.
 *
 * PyTorch has three forms. In a graph, tensors show what is known of them and NamedTuples their
 * fields; inside Dict(...) and Union(...) a tensor is just "Tensor" and a NamedTuple its name;
 * annotations are Python's.
 * Tests: tests/unit/test_type.c
 */
#include "ir/type.h"
#include "tensor/device.h"

typedef enum type_form { FORM_GRAPH, FORM_PLAIN, FORM_PYTHON } type_form;

#define TYPE_TEXT(k, text) text,
static const char *const type_texts[T_KIND_COUNT] = {TYPE_KINDS(TYPE_TEXT)};

static void type_print_form(const type *t, type_form form, strbuf *out);

static void type_print_separator(strbuf *out, int *n) {
    if ((*n)++) sb_puts(out, ", ");
}

static void type_print_dims(int n, const int64_t *dims, strbuf *out) {
    for (int i = 0; i < n; i++) {
        if (i) sb_puts(out, ", ");
        if (dims[i] < 0) sb_putc(out, '*');
        else sb_printf(out, "%lld", (long long)dims[i]);
    }
}

static void type_print_device(int device, strbuf *out) {
    if (device == 0) sb_puts(out, "cpu");
    else if (device == DEVICE_META) sb_puts(out, "meta");
    else sb_printf(out, "cuda:%d", device - 1);
}

static void type_print_tensor(const tensor_info *ti, strbuf *out) {
    if (ti->dtype >= 0)
        sb_printf(out, "%s%s", dtype_table[ti->dtype].ir_name, ti->ndim < 0 ? "Tensor" : "");
    else sb_puts(out, "Tensor");
    int n = ti->ndim > 0 ? ti->ndim : 0;
    bool open = ti->ndim >= 0 || ti->requires_grad >= 0 || ti->device >= 0;
    if (!open) return;
    sb_putc(out, '(');
    type_print_dims(n, ti->sizes, out);
    if (n && ti->has_strides) {
        sb_puts(out, ", strides=[");
        type_print_dims(n, ti->strides, out);
        sb_putc(out, ']');
    }
    if (ti->requires_grad >= 0) {
        type_print_separator(out, &n);
        sb_printf(out, "requires_grad=%d", ti->requires_grad);
    }
    if (ti->device >= 0) {
        type_print_separator(out, &n);
        sb_puts(out, "device=");
        type_print_device(ti->device, out);
    }
    sb_putc(out, ')');
}

static void type_print_elems(const type *t, type_form form, strbuf *out) {
    for (int i = 0; i < t->nelems; i++) {
        if (i) sb_puts(out, ", ");
        if (t->field_names && form == FORM_GRAPH) sb_printf(out, "%s : ", t->field_names[i]);
        type_print_form(t->elems[i], form, out);
    }
}

static void type_print_tuple(const type *t, type_form form, strbuf *out) {
    if (t->field_names && t->name && form != FORM_GRAPH) {
        sb_puts(out, t->name);
        return;
    }
    if (form == FORM_PYTHON) { /* an operator's named results have no class */
        sb_puts(out, t->nelems ? "Tuple[" : "Tuple[()");
        type_print_elems(t, form, out);
        sb_putc(out, ']');
        return;
    }
    sb_puts(out, t->field_names ? "NamedTuple(" : "(");
    type_print_elems(t, form, out);
    sb_putc(out, ')');
}

static bool type_is_number(const type *t) {
    return t->kind == T_INT || t->kind == T_FLOAT || t->kind == T_COMPLEX;
}

/* Members that make up Scalar together are printed as one, last, with PyTorch's odd comma. */
static void type_print_union(const type *t, type_form form, strbuf *out) {
    int numbers = 0;
    for (int i = 0; i < t->nelems; i++) numbers += type_is_number(t->elems[i]);
    sb_puts(out, form == FORM_PYTHON ? "Union[" : "Union(");
    for (int i = 0; i < t->nelems; i++) {
        if (numbers == 3 && type_is_number(t->elems[i])) continue;
        if (i) sb_puts(out, ", ");
        type_print_form(t->elems[i], form, out);
    }
    if (numbers == 3) {
        if (t->nelems > 3) sb_puts(out, ", ");
        type_print_form(TYPE_NUMBER, form, out);
    }
    sb_putc(out, form == FORM_PYTHON ? ']' : ')');
}

/* Name[elem] or Name(elem). */
static void type_print_wrapped(const char *name, bool brackets, const type *t, type_form form,
                               strbuf *out) {
    sb_puts(out, name);
    sb_putc(out, brackets ? '[' : '(');
    type_print_elems(t, form, out);
    sb_putc(out, brackets ? ']' : ')');
}

/* Outside annotations only the last part of the name is shown. */
static void type_print_interface(const type *t, bool python, strbuf *out) {
    const char *dot = strrchr(t->cls->name, '.');
    if (python) sb_puts(out, t->cls->name);
    else sb_printf(out, "InterfaceType<%s>", dot ? dot + 1 : t->cls->name);
}

static void type_print_form(const type *t, type_form form, strbuf *out) {
    bool python = form == FORM_PYTHON;
    type_form inner = python ? FORM_PYTHON : FORM_PLAIN;
    switch (t->kind) {
    case T_TENSOR:
        if (t->tensor && form == FORM_GRAPH) type_print_tensor(t->tensor, out);
        else sb_puts(out, "Tensor");
        break;
    case T_LIST:
        if (python) {
            type_print_wrapped("List", true, t, form, out);
            break;
        }
        type_print_form(type_elem(t), form, out);
        sb_puts(out, "[]");
        break;
    case T_OPTIONAL:
        if (python) {
            type_print_wrapped("Optional", true, t, form, out);
            break;
        }
        type_print_form(type_elem(t), form, out);
        sb_putc(out, '?');
        break;
    case T_FUTURE: type_print_wrapped("Future", form != FORM_PLAIN, t, form, out); break;
    case T_RREF: type_print_wrapped("RRef", form != FORM_PLAIN, t, form, out); break;
    case T_DICT: type_print_wrapped("Dict", python, t, inner, out); break;
    case T_UNION: type_print_union(t, inner, out); break;
    case T_TUPLE: type_print_tuple(t, form, out); break;
    case T_VAR: sb_puts(out, t->name); break;
    case T_CLASS: sb_puts(out, t->cls->name); break;
    case T_INTERFACE: type_print_interface(t, python, out); break;
    case T_ENUM: sb_printf(out, python ? "%s" : "Enum<%s>", t->cls->name); break;
    case T_NUMBER: sb_puts(out, python ? "number" : "Scalar"); break;
    default: sb_puts(out, type_texts[t->kind] ? type_texts[t->kind] : "?"); break;
    }
}

void type_print(const type *t, strbuf *out) { type_print_form(t, FORM_GRAPH, out); }

void type_print_plain(const type *t, strbuf *out) { type_print_form(t, FORM_PLAIN, out); }

void type_print_python(const type *t, strbuf *out) { type_print_form(t, FORM_PYTHON, out); }
