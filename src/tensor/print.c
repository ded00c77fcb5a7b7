/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print.c - what print() writes for a value.
 *
 * Tensors are laid out as PyTorch's C++ printer does (ATen/core/Formatting.cpp of 1.13 is
 * the model), including its peculiarities: the width comes from the largest value as a
 * signed number, and a common scale factor is printed above numbers of similar magnitude.
 * Tests: tests/unit/test_print.c, tests/corpus
 */
#include "tensor/device.h"
#include "tensor/quantiser.h"
#include "tensor/value.h"

#include <math.h>
#include <stdio.h>

enum { PRINT_LINE = 80, PRINT_MAX_DEPTH = 64 };

/* ---- numbers --------------------------------------------------------------------------------- */

void print_float(double f, strbuf *out) {
    if (isfinite(f) && fabs(f) < 1e10 && f == trunc(f)) {
        if (f == 0 && signbit(f)) sb_putc(out, '-');
        sb_printf(out, "%lld.", (long long)f);
        return;
    }
    sb_printf(out, "%.17g", f);
}

/* As part of a value: whole numbers that fit 64 bits in full, -0.0 as "0.". */
static void print_float_value(double f, strbuf *out) {
    if (f >= -0x1p63 && f < 0x1p63 && f == trunc(f)) sb_printf(out, "%lld.", (long long)f);
    else sb_printf(out, "%.17g", f);
}

/* ---- tensors --------------------------------------------------------------------------------- */

typedef enum number_style { STYLE_GENERAL, STYLE_SCIENTIFIC, STYLE_FIXED } number_style;

typedef struct number_format { number_style style; double scale; int width; } number_format;

/* A tensor being printed, as doubles in row-major order. */
typedef struct print_data { const double *p; int64_t rows, cols; } print_data;

static number_format print_format_of(const double *p, int64_t n) {
    number_format f = {STYLE_GENERAL, 1, 0};
    if (n == 0) return f;
    bool ints = true;
    int64_t first = n;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(p[i])) continue;
        if (first == n) first = i;
        if (p[i] != ceil(p[i])) ints = false;
    }
    double lo = 1, hi = 1;
    if (first < n) {
        lo = hi = fabs(p[first]);
        for (int64_t i = first; i < n; i++) {
            double z = fabs(p[i]);
            if (!isfinite(z)) continue;
            if (z < lo) lo = z;
            if (p[i] > hi) hi = z;
        }
        lo = lo != 0 ? floor(log10(lo)) + 1 : 1;
        hi = hi != 0 ? floor(log10(hi)) + 1 : 1;
    }
    if (ints) {
        f.style = hi > 9 ? STYLE_SCIENTIFIC : STYLE_GENERAL;
        f.width = hi > 9 ? 11 : (int)hi + 1;
    } else if (hi - lo > 4) {
        f.style = STYLE_SCIENTIFIC;
        f.width = fabs(hi) > 99 || fabs(lo) > 99 ? 12 : 11;
    } else {
        f.style = STYLE_FIXED;
        if (hi > 5 || hi < 0) {
            f.width = 7;
            f.scale = pow(10, hi - 1);
        } else {
            f.width = hi == 0 ? 7 : (int)hi + 6;
        }
    }
    return f;
}

static void print_number(const number_format *f, double x, strbuf *out) {
    x /= f->scale;
    if (isnan(x)) x = fabs(x); /* the sign of a NaN is not shown */
    switch (f->style) {
    case STYLE_GENERAL: sb_printf(out, "%*g", f->width, x); break;
    case STYLE_SCIENTIFIC: sb_printf(out, "%*.4e", f->width, x); break;
    case STYLE_FIXED: sb_printf(out, "%*.4f", f->width, x); break;
    }
}

static void print_scale(const number_format *f, strbuf *out) {
    sb_printf(out, "%.4g *\n", f->scale);
}

/* The format that the last number was printed in is what PyTorch's stream is left in; it shows
 * in what follows. */
static number_style print_matrix(print_data m, int indent, strbuf *out) {
    number_format f = print_format_of(m.p, m.rows * m.cols);
    int64_t per_line = (PRINT_LINE - indent) / (f.width + 1);
    if (per_line < 1) per_line = 1;
    sb_fill(out, ' ', (size_t)indent);
    for (int64_t first = 0; first < m.cols;) {
        int64_t last = first + per_line <= m.cols - 1 ? first + per_line - 1 : m.cols - 1;
        if (per_line < m.cols) {
            if (first) sb_putc(out, '\n');
            sb_printf(out, "Columns %lld to %lld", (long long)first + 1, (long long)last + 1);
            sb_fill(out, ' ', (size_t)indent);
        }
        if (f.scale != 1) {
            print_scale(&f, out);
            sb_fill(out, ' ', (size_t)indent);
        }
        for (int64_t r = 0; r < m.rows; r++)
            for (int64_t c = first; c <= last; c++) {
                print_number(&f, m.p[r * m.cols + c], out);
                if (c < last) {
                    sb_putc(out, ' ');
                    continue;
                }
                sb_putc(out, '\n');
                if (r == m.rows - 1) continue;
                sb_fill(out, ' ', (size_t)indent);
                if (f.scale != 1) sb_putc(out, ' ');
            }
        first = last + 1;
    }
    return f.style;
}

/* The matrices of a tensor of more dims, first index fastest. */
static number_style print_stack(const tensor *t, const double *p, strbuf *out) {
    number_style style;
    int n = t->ndim - 2;
    int64_t counter[TENSOR_MAX_DIMS] = {0}, matrix = t->sizes[n] * t->sizes[n + 1];
    for (bool first = true;; first = false) {
        if (!first) sb_putc(out, '\n');
        sb_putc(out, '(');
        int64_t at = 0;
        for (int i = 0; i < n; i++) {
            at = at * t->sizes[i] + counter[i];
            sb_printf(out, "%lld,", (long long)counter[i] + 1);
        }
        sb_puts(out, ".,.) = \n");
        style = print_matrix((print_data){p + at * matrix, t->sizes[n], t->sizes[n + 1]}, 1, out);
        int i = 0;
        while (i < n && ++counter[i] == t->sizes[i]) counter[i++] = 0;
        if (i == n || out->failed) return style;
    }
}

static number_style print_contents(const tensor *t, const double *p, strbuf *out) {
    if (t->ndim == 0) {
        sb_printf(out, "%g\n", p[0]);
        return STYLE_GENERAL;
    }
    if (t->numel == 0) return STYLE_GENERAL;
    if (t->ndim == 2) return print_matrix((print_data){p, t->sizes[0], t->sizes[1]}, 0, out);
    if (t->ndim > 2) return print_stack(t, p, out);
    number_format f = print_format_of(p, t->numel);
    if (f.scale != 1) print_scale(&f, out);
    for (int64_t i = 0; i < t->numel; i++) {
        print_number(&f, p[i], out);
        sb_putc(out, '\n');
    }
    return f.style;
}

/* The real values of a quantised tensor, in row-major order. */
static void print_dequantise(const tensor *t, double *p) {
    const quantiser *q = t->quantiser;
    for (int64_t k = 0; k < t->numel; k++) {
        int64_t rest = k, at = 0, channel = 0;
        for (int i = t->ndim - 1; i >= 0; i--) {
            int64_t index = rest % t->sizes[i];
            rest /= t->sizes[i];
            at += index * t->strides[i];
            if (i == q->axis) channel = index;
        }
        p[k] = quantiser_value(q, (dtype)t->dtype,
                               (char *)tensor_data(t) + at * (int64_t)dtype_size((dtype)t->dtype),
                               channel);
    }
}

static void print_quantiser(const quantiser *q, number_style style, strbuf *out) {
    static const char *const formats[] = {"%g", "%.4e", "%.4f"};
    sb_printf(out, ", qscheme: %s", qscheme_name(q->scheme));
    if (quantiser_per_tensor(q)) {
        sb_puts(out, ", scale: ");
        sb_printf(out, formats[style], q->scale);
        sb_printf(out, ", zero_point: %lld", (long long)q->zero_point);
        return;
    }
    sb_puts(out, ", scales: ");
    tensor_print(q->scales, out);
    sb_puts(out, ", zero_points: ");
    tensor_print(q->zero_points, out);
    sb_printf(out, ", axis: %d", q->axis);
}

/* "[ CPUFloatType{2,3}" */
static void print_type_of(const tensor *t, strbuf *out) {
    sb_printf(out, "[ %s%s%sType{", t->quantiser ? "Quantized" : "",
              tensor_is_meta(t)                 ? "Meta"
              : tensor_device(t) == DEVICE_HOST ? "CPU"
                                                : "CUDA",
              dtype_table[t->dtype].ir_name);
    for (int i = 0; i < t->ndim; i++)
        sb_printf(out, "%s%lld", i ? "," : "", (long long)t->sizes[i]);
    sb_putc(out, '}');
}

void tensor_print(const tensor *t, strbuf *out) {
    tensor *d = NULL;
    if (tensor_is_meta(t)) { /* there are no elements to show */
        print_type_of(t, out);
        sb_puts(out, " ]");
        return;
    }
    /* Of complex elements PyTorch shows the real part, too: it prints what becomes of a
     * tensor as doubles. */
    if (tensor_new(NULL, DT_FLOAT64, t->ndim, t->sizes, &d) != CTSC_OK ||
        (!t->quantiser && tensor_copy(NULL, d, t) != CTSC_OK)) {
        tensor_unref(d);
        out->failed = true;
        return;
    }
    if (t->quantiser) print_dequantise(t, TENSOR_AT(d, double));
    number_style style = print_contents(t, TENSOR_AT(d, double), out);
    tensor_unref(d);
    print_type_of(t, out);
    if (t->quantiser) print_quantiser(t->quantiser, style, out);
    sb_puts(out, " ]");
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void print_value(value v, int depth, strbuf *out);

static void print_complex(const complex_box *c, strbuf *out) {
    print_float_value(c->re, out);
    sb_putc(out, c->im >= 0 ? '+' : '-');
    print_float_value(fabs(c->im), out);
    sb_putc(out, 'j');
}

static void print_list(const list *l, int depth, strbuf *out) {
    sb_putc(out, '[');
    for (size_t i = 0; i < l->len; i++) {
        value v = list_get(l, i);
        if (i) sb_puts(out, ", ");
        print_value(v, depth + 1, out);
        value_unref(v);
    }
    sb_putc(out, ']');
}

static void print_dict(const dict *d, int depth, strbuf *out) {
    bool first = true;
    sb_putc(out, '{');
    for (size_t i = 0; i < d->used; i++) {
        if (d->entries[i].key.tag == V_UNINIT) continue;
        if (!first) sb_puts(out, ", ");
        first = false;
        print_value(d->entries[i].key, depth + 1, out);
        sb_puts(out, ": ");
        print_value(d->entries[i].val, depth + 1, out);
    }
    sb_putc(out, '}');
}

static void print_tuple(const tuple *t, int depth, strbuf *out) {
    sb_putc(out, '(');
    for (size_t i = 0; i < t->len; i++) {
        if (i) sb_puts(out, ", ");
        print_value(t->items[i], depth + 1, out);
    }
    if (t->len == 1) sb_putc(out, ',');
    sb_putc(out, ')');
}

/* Enum<Color.RED> */
static void print_enum(const enum_value *e, strbuf *out) {
    const char *name = value_type_name ? value_type_name(e->cls) : "", *dot = strrchr(name, '.');
    sb_printf(out, "Enum<%s.%s>", dot ? dot + 1 : name, e->name);
}

static void print_value(value v, int depth, strbuf *out) {
    if (depth > PRINT_MAX_DEPTH || out->failed) { /* a list can hold itself */
        sb_puts(out, "...");
        return;
    }
    switch ((value_tag)v.tag) {
    case V_NONE: sb_puts(out, "None"); break;
    case V_BOOL: sb_puts(out, v.u.b ? "True" : "False"); break;
    case V_INT: sb_printf(out, "%lld", (long long)v.u.i); break;
    case V_FLOAT: print_float_value(v.u.f, out); break;
    case V_DEVICE:
        if (v.u.device == 0) sb_puts(out, "cpu");
        else if (v.u.device == DEVICE_META) sb_puts(out, "meta");
        else if (v.u.device == VALUE_DEVICE_CUDA) sb_puts(out, "cuda");
        else sb_printf(out, "cuda:%lld", (long long)v.u.device - 1);
        break;
    case V_FUNCTION: sb_puts(out, "<function>"); break;
    case V_UNINIT: sb_puts(out, "Uninitialized"); break;
    case V_COMPLEX: print_complex(v.u.complex, out); break;
    case V_STR: sb_write(out, v.u.str->bytes, v.u.str->len); break;
    case V_TENSOR: tensor_print(v.u.tensor, out); break;
    case V_LIST: print_list(v.u.list, depth, out); break;
    case V_DICT: print_dict(v.u.dict, depth, out); break;
    case V_TUPLE: print_tuple(v.u.tuple, depth, out); break;
    case V_OBJECT: sb_printf(out, "<object at %p>", (void *)v.u.object); break;
    case V_ENUM: print_enum(v.u.enumv, out); break;
    case V_FUTURE: sb_puts(out, "Future"); break;
    case V_CAPSULE: sb_printf(out, "Capsule<%s>", v.u.capsule->kind); break;
    }
}

void value_print(value v, strbuf *out) { print_value(v, 0, out); }
