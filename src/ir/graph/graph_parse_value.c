/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_parse_value.c - reads attributes: numbers, strings, types, and constants of every kind.
 *
 * A constant is read with its type at hand, since 1 may be an int or a bool, and "cpu" a string or
 * a device. Tensors are built from what the text shows: <Tensor> becomes zeros, a small tensor has
 * the digits that were printed.
 * Tests: tests/unit/test_graph.c
 */
#include "base/text/text.h"
#include "ir/graph/graph_parse.h"
#include "tensor/device.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

enum { PARSE_TENSOR_MAX = 1 << 24 };

/* ---- numbers and strings --------------------------------------------------------------------- */

/* The text is NUL-terminated, so that strtod stops. Hexadecimal floats are not ours. */
static bool parse_float(graph_parser *p, double *out) {
    parse_skip(p);
    const char *digits = p->at + (p->at < p->end && (*p->at == '-' || *p->at == '+'));
    if (digits >= p->end) return false;
    bool word = !strncmp(digits, "inf", 3) || !strncmp(digits, "nan", 3);
    if (!word && !isdigit((unsigned char)*digits) && *digits != '.') return false;
    if (digits[0] == '0' && (digits[1] | 32) == 'x') return false;
    char *stop;
    *out = text_double(p->at, &stop);
    if (word) stop = (char *)digits + 3;
    if (stop == p->at || stop > p->end) return false;
    p->at = stop;
    return true;
}

static ctsc_status parse_number(graph_parser *p, const type *t, value *out) {
    const char *b = p->at;
    int64_t i;
    double f;
    if (t->kind != T_FLOAT && parse_int(p, &i) && (p->at >= p->end || !strchr(".eEijn", *p->at))) {
        *out = t->kind == T_BOOL ? value_bool(i != 0) : value_int(i);
        return CTSC_OK;
    }
    p->at = b;
    if (!parse_float(p, &f)) return parse_error(p, "expected a number");
    *out = value_float(f);
    return CTSC_OK;
}

static ctsc_status parse_complex(graph_parser *p, value *out) {
    double re, im;
    if (!parse_float(p, &re) || !parse_float(p, &im) || !parse_accept(p, "j"))
        return parse_error(p, "expected a complex number");
    complex_box *c = complex_new(re, im);
    if (!c) return diag_no_memory(p->diag);
    *out = (value){.tag = V_COMPLEX, .u.complex = c};
    return CTSC_OK;
}

/* Appends the character after a backslash. Three digits may go below '0': see print_octal. */
static ctsc_status parse_escape(graph_parser *p, strbuf *sb) {
    static const char names[] = "\\'\"ntabfrv", codes[] = "\\\'\"\n\t\a\b\f\r\v";
    if (p->at >= p->end) return parse_error(p, "unterminated string");
    const char *k = *p->at ? strchr(names, *p->at) : NULL;
    if (k) {
        sb_putc(sb, codes[k - names]);
        p->at++;
        return CTSC_OK;
    }
    if (p->end - p->at < 3) return parse_error(p, "unknown escape");
    int c = 0;
    for (int i = 0; i < 3; i++) c = c * 8 + (p->at[i] - '0');
    if (c < -128 || c > 255) return parse_error(p, "unknown escape");
    p->at += 3;
    sb_putc(sb, (char)c);
    return CTSC_OK;
}

static ctsc_status parse_string(graph_parser *p, strbuf *sb) {
    ctsc_status s = parse_expect(p, "\"");
    while (s == CTSC_OK) {
        if (p->at >= p->end || *p->at == '\n') return parse_error(p, "unterminated string");
        char c = *p->at++;
        if (c == '"') break;
        if (c == '\\') s = parse_escape(p, sb);
        else sb_putc(sb, c);
    }
    return s == CTSC_OK && sb->failed ? diag_no_memory(p->diag) : s;
}

static ctsc_status parse_string_value(graph_parser *p, const type *t, value *out) {
    strbuf sb = STRBUF_INIT;
    ctsc_status s = parse_string(p, &sb);
    if (s == CTSC_OK && t->kind == T_DEVICE) {
        int64_t device;
        if (device_parse(NULL, sb_str(&sb), sb.len, &device) == CTSC_OK)
            *out = value_device(device);
        else s = parse_error(p, "unknown device");
    } else if (s == CTSC_OK) {
        str *st = str_new(sb_str(&sb), sb.len);
        if (st) *out = value_str_take(st);
        else s = diag_no_memory(p->diag);
    }
    sb_free(&sb);
    return s;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static ctsc_status parse_tensor_shape(graph_parser *p, int64_t numel, int ndim,
                                      const int64_t *sizes, dtype dt, tensor **out) {
    for (int i = 0; i < ndim; i++)
        if (sizes[i] < 0 || sizes[i] > PARSE_TENSOR_MAX ||
            (numel *= sizes[i] > 0 ? sizes[i] : 1) > PARSE_TENSOR_MAX)
            return parse_error(p, "tensor too large");
    return tensor_zeros(p->diag, dt, ndim, sizes, out);
}

/* Zeros of the shape and dtype that the type states; an element without either is a float. */
static ctsc_status parse_tensor_of_type(graph_parser *p, const type *t, tensor **out) {
    const tensor_info *ti = t->tensor;
    dtype dt = ti && ti->dtype >= 0 ? (dtype)ti->dtype : DT_FLOAT32;
    int ndim = ti && ti->ndim > 0 ? ti->ndim : 0;
    return parse_tensor_shape(p, 1, ndim, ndim ? ti->sizes : NULL, dt, out);
}

/* Where the next element goes: matrices come slice by slice, and wide ones in blocks of columns. */
typedef struct tensor_cursor {
    int64_t rows, cols, slice, row, col, first, last;
    double scale;
} tensor_cursor;

static void tensor_store(tensor *t, int64_t at, double f) {
    char *data = tensor_data(t);
    char *p = data + (size_t)at * dtype_size((dtype)t->dtype);
    if (dtype_is_float((dtype)t->dtype)) dtype_store_float((dtype)t->dtype, p, f);
    else dtype_store_int((dtype)t->dtype, p, fabs(f) < 9e18 ? (int64_t)f : 0);
}

static bool parse_tensor_header(graph_parser *p, const tensor *t, tensor_cursor *c) {
    if (parse_accept(p, "Columns")) {
        int64_t a, b;
        if (!parse_int(p, &a) || !parse_accept(p, "to") || !parse_int(p, &b)) return false;
        if (a < 1 || b < a || b > c->cols) return false;
        c->first = c->col = a - 1;
        c->last = b - 1;
        c->row = 0;
        c->scale = 1;
        return true;
    }
    /* "(2,1,.,.) =": the leading indices, from 1. */
    if (!parse_accept(p, "(")) return false;
    c->slice = 0;
    for (int i = 0; i < t->ndim - 2; i++) {
        int64_t at;
        if (!parse_int(p, &at) || at < 1 || at > t->sizes[i] || !parse_accept(p, ",")) return false;
        c->slice = c->slice * t->sizes[i] + at - 1;
    }
    if (!parse_accept(p, ".,.)")) return false;
    c->row = c->col = c->first = 0;
    c->last = c->cols - 1;
    c->scale = 1;
    return parse_accept(p, "=");
}

static ctsc_status parse_tensor_numbers(graph_parser *p, const char *stop, tensor *t) {
    tensor_cursor c = {.rows = 1, .cols = t->numel, .last = t->numel - 1, .scale = 1};
    if (t->ndim >= 2) {
        c.rows = t->sizes[t->ndim - 2];
        c.cols = t->sizes[t->ndim - 1];
        c.last = c.cols - 1;
        if (t->ndim > 2) c.slice = -1;
    }
    for (;;) {
        parse_skip(p);
        if (p->at >= stop) return CTSC_OK;
        if (*p->at == 'C' || *p->at == '(') {
            if (!parse_tensor_header(p, t, &c)) return parse_error(p, "malformed tensor");
            continue;
        }
        double f;
        if (!parse_float(p, &f)) return parse_error(p, "malformed tensor");
        if (parse_accept(p, "*")) {
            c.scale = f;
            continue;
        }
        int64_t at = (c.slice * c.rows + c.row) * c.cols + c.col;
        if (c.slice < 0 || at < 0 || at >= t->numel || c.row >= c.rows)
            return parse_error(p, "too many elements");
        tensor_store(t, at, f * c.scale);
        if (c.col++ >= c.last) {
            c.col = c.first;
            c.row++;
        }
    }
}

/* "[ CPUFloatType{2,3} ]" at `at`. */
static ctsc_status parse_tensor_tail(graph_parser *p, dtype *dt, int *ndim, int64_t *sizes) {
    const char *word;
    if (!parse_accept(p, "[") || !parse_accept(p, "CPU")) return parse_error(p, "malformed tensor");
    size_t len = parse_word(p, false, &word);
    int found = -1;
    for (int d = 0; d < DT_COUNT; d++) {
        size_t n = strlen(dtype_table[d].ir_name);
        if (len == n + 4 && !memcmp(word, dtype_table[d].ir_name, n) &&
            !memcmp(word + n, "Type", 4))
            found = d;
    }
    if (found < 0 || !parse_accept(p, "{")) return parse_error(p, "malformed tensor");
    *dt = (dtype)found;
    for (*ndim = 0; !parse_accept(p, "}");) {
        if (*ndim && !parse_accept(p, ",")) return parse_error(p, "malformed tensor");
        if (*ndim == TENSOR_MAX_DIMS || !parse_int(p, &sizes[*ndim]))
            return parse_error(p, "malformed tensor");
        (*ndim)++;
    }
    return parse_expect(p, "]");
}

static ctsc_status parse_tensor_text(graph_parser *p, tensor **out) {
    const char *begin = p->at, *bracket = begin;
    while (bracket < p->end && *bracket != '[' && *bracket != '\n') bracket++;
    p->at = bracket;
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim = 0;
    dtype dt = DT_FLOAT32;
    TRY(parse_tensor_tail(p, &dt, &ndim, sizes));
    const char *after = p->at;
    TRY(parse_tensor_shape(p, 1, ndim, sizes, dt, out));
    p->at = begin;
    ctsc_status s = parse_tensor_numbers(p, bracket, *out);
    p->at = after;
    if (s != CTSC_OK) tensor_unref(*out);
    return s;
}

static ctsc_status parse_tensor_value(graph_parser *p, const type *t, value *out) {
    tensor *r;
    if (parse_accept(p, "<Tensor>")) {
        TRY(parse_tensor_of_type(p, t, &r));
    } else if (parse_accept(p, "{")) {
        double f;
        TRY(parse_tensor_of_type(p, t, &r));
        if (r->numel != 1 || !parse_float(p, &f) || !parse_accept(p, "}")) {
            tensor_unref(r);
            return parse_error(p, "malformed tensor of one element");
        }
        tensor_store(r, 0, f);
    } else {
        TRY(parse_tensor_text(p, &r));
    }
    return *out = value_tensor_take(r), CTSC_OK;
}

/* ---- containers ------------------------------------------------------------------------------ */

static ctsc_status parse_value(graph_parser *p, const type *t, value *out);

/* Hands over what was built, or releases it after a failure. */
static ctsc_status parse_keep(ctsc_status s, value v, value *out) {
    if (s == CTSC_OK) *out = v;
    else value_unref(v);
    return s;
}

static ctsc_status parse_list(graph_parser *p, const type *t, value *out) {
    type *elem = t->kind == T_LIST ? type_elem(t) : TYPE_ANY;
    list *l = list_new(type_list_kind(elem), elem, 0);
    if (!l) return diag_no_memory(p->diag);
    ctsc_status s = CTSC_OK;
    bool hidden = parse_accept(p, "[<Tensors>]");
    if (!hidden) p->at++;
    while (s == CTSC_OK && !hidden && !parse_accept(p, "]")) {
        value v;
        if (l->len) s = parse_expect(p, ",");
        if (s == CTSC_OK) s = parse_value(p, elem, &v);
        if (s != CTSC_OK) break;
        if (!list_fits((list_kind)l->kind, v)) {
            value_unref(v);
            s = parse_error(p, "an element of another type");
        } else if (!list_append_take(l, v)) {
            s = diag_no_memory(p->diag);
        }
    }
    return parse_keep(s, value_list_take(l), out);
}

static ctsc_status parse_tuple(graph_parser *p, const type *t, value *out) {
    int want = t->kind == T_TUPLE ? t->nelems : 0;
    tuple *tp = tuple_new((size_t)want, t->field_names ? (type *)t : NULL);
    if (!tp) return diag_no_memory(p->diag);
    ctsc_status s = parse_expect(p, "(");
    for (int i = 0; s == CTSC_OK && i < want; i++) {
        if (i) s = parse_expect(p, ",");
        if (s == CTSC_OK) s = parse_value(p, t->elems[i], &tp->items[i]);
    }
    if (want == 1) parse_accept(p, ",");
    if (s == CTSC_OK) s = parse_expect(p, ")");
    return parse_keep(s, value_tuple_take(tp), out);
}

static ctsc_status parse_dict(graph_parser *p, const type *t, value *out) {
    if (t->kind != T_DICT) return parse_error(p, "a dict of another type");
    dict *d = dict_new(t->elems[0], t->elems[1]);
    if (!d) return diag_no_memory(p->diag);
    ctsc_status s = parse_expect(p, "{");
    while (s == CTSC_OK && !parse_accept(p, "}")) {
        value k, v;
        if (d->len) s = parse_expect(p, ",");
        if (s == CTSC_OK) s = parse_value(p, t->elems[0], &k);
        if (s != CTSC_OK) break;
        s = parse_expect(p, ":");
        if (s == CTSC_OK) s = parse_value(p, t->elems[1], &v);
        if (s != CTSC_OK) value_unref(k);
        else if (!dict_set_take(d, k, v)) s = diag_no_memory(p->diag);
    }
    return parse_keep(s, value_dict_take(d), out);
}

/* "__torch__.Color.RED" */
static ctsc_status parse_enum(graph_parser *p, type *t, value *out) {
    const char *word, *name = t->cls->name;
    size_t len = parse_word(p, true, &word), n = strlen(name);
    if (len < n + 2 || memcmp(word, name, n) || word[n] != '.')
        return parse_error(p, "a member of another enum");
    const char *member = intern_n(&p->unit->names, word + n + 1, len - n - 1);
    enum_value *e = arena_failed(&p->unit->arena) ? NULL : enum_new(t, member, value_none());
    if (!e) return diag_no_memory(p->diag);
    *out = value_enum_take(e);
    return CTSC_OK;
}

/* A value of a Union: whichever member's form the text has. */
static const type *parse_union_member(graph_parser *p, const type *t) {
    char c = *p->at;
    for (int i = 0; i < t->nelems; i++) {
        type_kind k = t->elems[i]->kind;
        if (c == '"'   ? k == T_STR || k == T_DEVICE
            : c == '[' ? k == T_LIST
            : c == '(' ? k == T_TUPLE
            : c == '{' ? k == T_DICT
                       : false)
            return t->elems[i];
    }
    return TYPE_ANY;
}

/* "annotate(List[int], [])": the type is known already. */
static ctsc_status parse_annotated(graph_parser *p, const type *t, value *out) {
    int depth = 0;
    for (; p->at < p->end && *p->at != '\n' && (depth || *p->at != ','); p->at++)
        depth += (*p->at == '[') - (*p->at == ']');
    ctsc_status s = parse_expect(p, ",");
    value v;
    if (s == CTSC_OK) s = parse_value(p, t, &v);
    return s == CTSC_OK ? parse_keep(parse_expect(p, ")"), v, out) : s;
}

/* torch.device("cpu"), as containers show it. */
static ctsc_status parse_device_call(graph_parser *p, value *out) {
    ctsc_status s = parse_string_value(p, TYPE_DEVICE, out);
    return s == CTSC_OK ? parse_expect(p, ")") : s;
}

static ctsc_status parse_value_of(graph_parser *p, const type *t, value *out) {
    parse_skip(p);
    if (p->at >= p->end) return parse_error(p, "expected a value");
    if (t->kind == T_OPTIONAL) t = type_elem(t);
    if (parse_accept(p, "annotate(")) return parse_annotated(p, t, out);
    if (t->kind == T_UNION) t = parse_union_member(p, t);
    if (t->kind == T_TENSOR && !parse_is(p, "None")) return parse_tensor_value(p, t, out);
    if (t->kind == T_ENUM && !parse_is(p, "None")) return parse_enum(p, (type *)t, out);
    switch (*p->at) {
    case '"': return parse_string_value(p, t, out);
    case '[': return parse_list(p, t, out);
    case '(': return parse_tuple(p, t, out);
    case '{': return parse_dict(p, t, out);
    default: break;
    }
    if (parse_accept(p, "torch.device(")) return parse_device_call(p, out);
    if (parse_accept(p, "None")) return *out = value_none(), CTSC_OK;
    if (parse_accept(p, "True")) return *out = value_bool(true), CTSC_OK;
    if (parse_accept(p, "False")) return *out = value_bool(false), CTSC_OK;
    return t->kind == T_COMPLEX ? parse_complex(p, out) : parse_number(p, t, out);
}

static ctsc_status parse_value(graph_parser *p, const type *t, value *out) {
    if (p->depth >= GRAPH_PARSE_DEPTH) return parse_error(p, "values nest too deeply");
    p->depth++;
    ctsc_status s = parse_value_of(p, t, out);
    p->depth--;
    return s;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static ctsc_status parse_attr_ints(graph_parser *p, node *n, const char *name) {
    VEC(int64_t) ints = {0};
    while (!parse_accept(p, "]")) {
        int64_t i;
        if (ints.len && parse_expect(p, ",") != CTSC_OK) return p->diag->status;
        if (!parse_int(p, &i)) return parse_error(p, "expected an int");
        if (!avec_push(&p->scratch, &ints, i)) return diag_no_memory(p->diag);
    }
    node_set_ints(n, name, (int)ints.len, ints.data);
    return CTSC_OK;
}

static ctsc_status parse_attr_list(graph_parser *p, node *n, const char *name) {
    p->at++;
    parse_skip(p);
    bool ints = p->at < p->end && (isdigit((unsigned char)*p->at) || *p->at == '-');
    if (ints || (parse_is(p, "]") && strcmp(name, "types"))) return parse_attr_ints(p, n, name);
    int count;
    type **types;
    ctsc_status s = graph_parse_types(p, "]", &count, &types);
    if (s == CTSC_OK) node_set_types(n, name, count, types);
    return s;
}

static ctsc_status parse_attr_string(graph_parser *p, node *n, const char *name) {
    strbuf sb = STRBUF_INIT;
    ctsc_status s = parse_string(p, &sb);
    if (s == CTSC_OK) node_set_str(n, name, sb_str(&sb));
    sb_free(&sb);
    return s;
}

static ctsc_status parse_attr(graph_parser *p, node *n) {
    const char *word;
    size_t len = parse_word(p, false, &word);
    if (!len) return parse_error(p, "expected an attribute");
    const char *name = intern_n(&n->g->names, word, len);
    TRY(parse_expect(p, "="));
    value v;
    if (n->kind == N_CONSTANT && !strcmp(name, "value") && n->outputs.len == 1) {
        const type *want = n->outputs.data[0]->type;
        TRY(parse_value(p, want, &v));
        if (type_admits_value(want, v)) {
            node_set_value_take(n, name, v);
            return CTSC_OK;
        }
        value_unref(v);
        return parse_error(p, "a constant of another type");
    }
    parse_skip(p);
    if (p->at >= p->end) return parse_error(p, "expected a value");
    if (*p->at == '"') return parse_attr_string(p, n, name);
    if (*p->at == '[') return parse_attr_list(p, n, name);
    if (isdigit((unsigned char)*p->at) || *p->at == '-') {
        TRY(parse_number(p, TYPE_ANY, &v));
        if (v.tag == V_INT) node_set_int(n, name, v.u.i);
        else node_set_float(n, name, v.u.f);
        return CTSC_OK;
    }
    type *t;
    ctsc_status s = graph_parse_type(p, &t);
    if (s == CTSC_OK) node_set_type(n, name, t);
    return s;
}

ctsc_status graph_parse_attrs(graph_parser *p, node *n) {
    ctsc_status s = CTSC_OK;
    for (bool first = true; s == CTSC_OK && !parse_accept(p, "]"); first = false) {
        if (!first) s = parse_expect(p, ",");
        if (s == CTSC_OK) s = parse_attr(p, n);
        if (s == CTSC_OK && arena_failed(&n->g->arena)) s = diag_no_memory(p->diag);
    }
    return s;
}
