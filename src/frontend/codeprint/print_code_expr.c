/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_code_expr.c - expressions, constants and types of printed code.
 *
 * Operators are called by name, torch.add(x, y), and the parser finds the overload again from the
 * types of the arguments. What the types do not say is spelled out: empty lists, None of an
 * optional type, lists of optionals are wrapped in annotate(T, ...). Trailing arguments that equal
 * their defaults are left out.
 * Tests: tests/unit/test_export.c, tests/interop/resave.py
 */
#include "frontend/codeprint/print_code_internal.h"

#include <math.h>

enum { CODE_MAX_NESTING = 200 };

bool code_is_identifier(const char *name) {
    static const char *const keywords[] = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
    if (!name[0] || (name[0] >= '0' && name[0] <= '9')) return false;
    for (const char *c = name; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              *c == '_'))
            return false;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (!strcmp(keywords[i], name)) return false;
    return true;
}

void code_print_type(const type *t, strbuf *out) { type_print_python(t, out); }

void code_put_type(code_printer *p, code_text *t, type *ty) {
    strbuf text = STRBUF_INIT;
    code_note_type(p->prog, ty);
    code_print_type(ty, &text);
    t->text.failed |= text.failed;
    code_puts(p, t, sb_str(&text));
    sb_free(&text);
}

/* annotate(T, */
static void code_open_annotate(code_printer *p, code_text *t, const char *form, type *ty) {
    code_puts(p, t, form);
    code_puts(p, t, "(");
    code_put_type(p, t, ty);
    code_puts(p, t, ", ");
}

/* ---- constants ------------------------------------------------------------------------------- */

/* PyTorch's reader knows no \r, which comes out in digits. */
static void code_put_quoted(code_printer *p, code_text *t, const char *s, size_t len) {
    static const char codes[] = "\\'\"\n\t\a\b\f\v", names[] = "\\'\"ntabfv";
    strbuf q = STRBUF_INIT;
    sb_putc(&q, '"');
    for (size_t i = 0; i < len; i++) {
        const char *k = s[i] ? strchr(codes, s[i]) : NULL;
        if (k) sb_printf(&q, "\\%c", names[k - codes]);
        else if (s[i] >= ' ' && s[i] < 127) sb_putc(&q, s[i]);
        else sb_printf(&q, "\\%03o", (unsigned char)s[i]);
    }
    sb_putc(&q, '"');
    t->text.failed |= q.failed;
    code_write(p, t, sb_str(&q), q.len);
    sb_free(&q);
}

static void code_put_float(code_printer *p, code_text *t, double f) {
    strbuf text = STRBUF_INIT;
    print_float(f, &text);
    /* "10000000000" would be read as an int */
    bool whole = isfinite(f) && !strpbrk(sb_str(&text), ".e");
    t->text.failed |= text.failed;
    code_puts(p, t, sb_str(&text));
    if (whole) code_puts(p, t, ".");
    sb_free(&text);
}

/* Text that keeps its meaning: ASCII, without NUL. */
static bool code_is_plain_string(const str *s) {
    for (size_t i = 0; i < s->len; i++)
        if ((signed char)s->bytes[i] <= 0) return false;
    return true;
}

/* 2.j is a literal; everything else would be a sum. */
static bool code_is_plain_complex(const complex_box *c) {
    return c->re == 0 && !signbit(c->re) && isfinite(c->im) && !signbit(c->im);
}

/* Must be in the table of constants, with everything that contains it if `inside` is set. */
static bool code_needs_table(value v, int depth) {
    if (depth > CODE_MAX_NESTING) return true;
    switch ((value_tag)v.tag) {
    case V_OBJECT: return true;
    case V_STR: return !code_is_plain_string(v.u.str);
    case V_COMPLEX: return !code_is_plain_complex(v.u.complex);
    case V_TUPLE:
        for (size_t i = 0; i < v.u.tuple->len; i++)
            if (code_needs_table(v.u.tuple->items[i], depth + 1)) return true;
        return false;
    case V_LIST:
        for (size_t i = 0; v.u.list->kind == LIST_VALUE && i < v.u.list->len; i++)
            if (code_needs_table(v.u.list->u.values[i], depth + 1)) return true;
        return false;
    case V_DICT:
        for (size_t i = 0; i < v.u.dict->used; i++) {
            const dict_entry *e = &v.u.dict->entries[i];
            if (e->key.tag == V_UNINIT) continue;
            if (code_needs_table(e->key, depth + 1) || code_needs_table(e->val, depth + 1))
                return true;
        }
        return false;
    default: return false;
    }
}

/* Elements of such a type do not say what it is. */
static bool code_is_ambiguous(const type *elem) {
    switch (elem->kind) {
    case T_UNION:
    case T_OPTIONAL:
    case T_NUMBER:
    case T_INTERFACE:
    case T_ANY: return true;
    default: return false;
    }
}

/* The same for elements that are constants: a tuple says no more than its parts. */
static bool code_is_ambiguous_constant(const type *elem) {
    for (int i = 0; elem->kind == T_TUPLE && i < elem->nelems; i++)
        if (code_is_ambiguous_constant(elem->elems[i])) return true;
    return code_is_ambiguous(elem);
}

static void code_put_value_text(code_printer *p, code_text *t, value v, const type *st, int depth);

static void code_put_list_constant(code_printer *p, code_text *t, const list *l, const type *st,
                                   int depth) {
    type *elem = st && st->kind == T_LIST ? type_elem(st) : l->elem;
    bool annotated = elem && (!l->len || code_is_ambiguous_constant(elem));
    if (annotated) code_open_annotate(p, t, "annotate", type_list(elem));
    code_puts(p, t, "[");
    for (size_t i = 0; i < l->len; i++) {
        value v = list_get(l, i);
        if (i) code_puts(p, t, ", ");
        code_put_value_text(p, t, v, elem, depth + 1);
        value_unref(v);
    }
    code_puts(p, t, annotated ? "])" : "]");
}

static void code_put_dict_constant(code_printer *p, code_text *t, const dict *d, const type *st,
                                   int depth) {
    type *kt = st && st->kind == T_DICT ? st->elems[0] : d->key_type;
    type *vt = st && st->kind == T_DICT ? st->elems[1] : d->val_type;
    bool annotated = kt && vt &&
                     (!d->len || code_is_ambiguous_constant(kt) || code_is_ambiguous_constant(vt)),
         first = true;
    if (annotated) code_open_annotate(p, t, "annotate", type_dict(kt, vt));
    code_puts(p, t, "{");
    for (size_t i = 0; i < d->used; i++) {
        if (d->entries[i].key.tag == V_UNINIT) continue;
        if (!first) code_puts(p, t, ", ");
        first = false;
        code_put_value_text(p, t, d->entries[i].key, kt, depth + 1);
        code_puts(p, t, ": ");
        code_put_value_text(p, t, d->entries[i].val, vt, depth + 1);
    }
    code_puts(p, t, annotated ? "})" : "}");
}

static void code_put_tuple_constant(code_printer *p, code_text *t, const tuple *tp, const type *st,
                                    int depth) {
    if (st && (st->kind != T_TUPLE || (size_t)st->nelems != tp->len)) st = NULL;
    type *named = tp->type ? tp->type : st && st->field_names ? (type *)st : NULL;
    if (named) code_put_type(p, t, named);
    code_puts(p, t, "(");
    for (size_t i = 0; i < tp->len; i++) {
        if (i) code_puts(p, t, ", ");
        code_put_value_text(p, t, tp->items[i], st ? st->elems[i] : NULL, depth + 1);
    }
    code_puts(p, t, tp->len == 1 && !named ? ",)" : ")");
}

static void code_put_table_entry(code_printer *p, code_text *t, value v) {
    int i = code_constant_index(p, v);
    char text[32];
    snprintf(text, sizeof text, "CONSTANTS.c%d", i);
    code_puts(p, t, text);
}

static void code_put_device(code_printer *p, code_text *t, value v) {
    strbuf text = STRBUF_INIT;
    value_print(v, &text);
    code_puts(p, t, "torch.device(");
    code_put_quoted(p, t, sb_str(&text), text.len);
    code_puts(p, t, ")");
    t->text.failed |= text.failed;
    sb_free(&text);
}

static void code_put_value_text(code_printer *p, code_text *t, value v, const type *st, int depth) {
    char number[32];
    if (depth > CODE_MAX_NESTING) {
        code_fail(p, CTSC_LIMIT, "a constant nests too deeply");
        return;
    }
    if (st && st->kind == T_OPTIONAL && v.tag != V_NONE) st = type_elem(st);
    switch ((value_tag)v.tag) {
    case V_NONE: code_puts(p, t, "None"); break;
    case V_BOOL: code_puts(p, t, v.u.b ? "True" : "False"); break;
    case V_INT:
        snprintf(number, sizeof number, "%lld", (long long)v.u.i);
        code_puts(p, t, number);
        break;
    case V_FLOAT: code_put_float(p, t, v.u.f); break;
    case V_STR:
        if (!code_is_plain_string(v.u.str)) code_put_table_entry(p, t, v);
        else code_put_quoted(p, t, v.u.str->bytes, v.u.str->len);
        break;
    case V_COMPLEX:
        if (!code_is_plain_complex(v.u.complex)) {
            code_put_table_entry(p, t, v);
            break;
        }
        code_put_float(p, t, v.u.complex->im);
        code_puts(p, t, "j");
        break;
    case V_DEVICE: code_put_device(p, t, v); break;
    case V_TENSOR:
    case V_OBJECT: code_put_table_entry(p, t, v); break;
    case V_LIST: code_put_list_constant(p, t, v.u.list, st, depth); break;
    case V_DICT: code_put_dict_constant(p, t, v.u.dict, st, depth); break;
    case V_TUPLE: code_put_tuple_constant(p, t, v.u.tuple, st, depth); break;
    case V_ENUM:
        code_note_type(p->prog, v.u.enumv->cls);
        code_puts(p, t, class_name(v.u.enumv->cls));
        code_puts(p, t, ".");
        code_puts(p, t, v.u.enumv->name);
        break;
    case V_FUNCTION:
        code_note_function(p->prog, v.u.function);
        code_puts(p, t, v.u.function->qualified);
        break;
    default: code_fail(p, CTSC_UNSUPPORTED, "a constant of this type cannot be written as code");
    }
}

void code_put_constant(code_printer *p, code_text *t, value v, const type *static_type) {
    if (code_needs_table(v, 0)) code_put_table_entry(p, t, v);
    else code_put_value_text(p, t, v, static_type, 0);
}

/* None of type Optional[T]: the type matters unless every use is an argument
 * whose type is fixed. */
static bool code_none_needs_type(const ir_value *v) {
    if (v->type->kind == T_NONE) return false;
    for (size_t i = 0; i < v->uses.len; i++) {
        use u = v->uses.data[i];
        const schema *s = u.user && u.user->op ? u.user->op->schema : NULL;
        if (!s || u.index >= s->nargs || s->args[u.index].type->has_var) return true;
    }
    return false;
}

static void code_put_constant_node(code_printer *p, code_text *t, const node *n) {
    const ir_value *out = n->outputs.data[0];
    value v = value_none();
    ir_value_constant(out, &v);
    bool typed = v.tag == V_NONE && code_none_needs_type(out);
    if (typed) code_open_annotate(p, t, "annotate", out->type);
    code_put_constant(p, t, v, out->type);
    if (typed) code_puts(p, t, ")");
}

/* ---- calls of operators ---------------------------------------------------------------------- */

static bool code_is_out(const argument *a) { return a->kwarg_only && a->alias && a->alias->write; }

static bool code_same_value(value a, value b) {
    return a.tag == b.tag && value_equal(a, b); /* 1 is not 1. */
}

/* The default of a fixed-size list is one number, which applies to all elements. */
static bool code_is_default(const argument *a, const ir_value *v) {
    value c;
    if (!a->has_default || !ir_value_constant(v, &c)) return false;
    if (c.tag != V_LIST || a->default_value.tag == V_LIST)
        return code_same_value(c, a->default_value);
    if (c.u.list->len != (size_t)a->fixed_size) return false;
    bool same = a->fixed_size > 0;
    for (size_t i = 0; i < c.u.list->len && same; i++) {
        value item = list_get(c.u.list, i);
        same = code_same_value(item, a->default_value);
        value_unref(item);
    }
    return same;
}

/* Arguments before the out= ones that have to be written. */
static int code_needed_args(const schema *s, const node *n, int *nout) {
    int k = s->nargs, inputs = (int)n->inputs.len;
    while (k > 0 && code_is_out(&s->args[k - 1])) k--;
    *nout = s->nargs - k;
    if (inputs > s->nargs) return inputs; /* "..." */
    if (k > inputs) k = inputs;
    while (k > 0 && code_is_default(&s->args[k - 1], n->inputs.data[k - 1])) k--;
    return k;
}

/* torch.add for aten::add, ops.prim.dtype for prim::dtype. */
static void code_put_op_name(code_printer *p, code_text *t, const char *name) {
    const char *colon = strstr(name, "::");
    op_symbol symbol = op_symbol_of(name);
    if (symbol == SYM_BACKWARD || symbol == SYM_GRAD) {
        code_puts(p, t, "torch.autograd.");
    } else if (!strncmp(name, "aten::", 6)) {
        code_puts(p, t, "torch.");
    } else if (colon) {
        code_puts(p, t, "ops.");
        code_write(p, t, name, (size_t)(colon - name));
        code_puts(p, t, ".");
    }
    code_puts(p, t, colon ? colon + 2 : name);
}

/* The first file version whose readers give these operators the meaning they have now. */
static const struct { op_symbol key; int version; } code_versions[] = {
    {SYM_DIV_TENSOR, 4},   {SYM_DIV_TENSOR_MODE, 4},
    {SYM_DIV_SCALAR, 4},   {SYM_DIV_SCALAR_MODE, 4},
    {SYM_DIV_OUT, 4},      {SYM_DIV_OUT_MODE, 4},
    {SYM_DIV__TENSOR, 4},  {SYM_DIV__TENSOR_MODE, 4},
    {SYM_DIV__SCALAR, 4},  {SYM_DIV__SCALAR_MODE, 4},
    {SYM_FULL, 5},         {SYM_FULL_NAMES, 5},
    {SYM_FULL_OUT, 5},     {SYM_LINSPACE, 8},
    {SYM_LINSPACE_OUT, 8}, {SYM_LOGSPACE, 9},
    {SYM_LOGSPACE_OUT, 9}, {SYM_GELU, 10},
    {SYM_GELU_OUT, 10}};

static void code_note_version(code_printer *p, const op *o) {
    for (size_t i = 0; i < sizeof code_versions / sizeof *code_versions; i++)
        if (code_versions[i].version > p->prog->version && code_versions[i].key == o->symbol)
            p->prog->version = code_versions[i].version;
}

/* Of an operator that no table knows (irgen_unknown.c). */
static void code_put_unknown(code_printer *p, code_text *t, const node *n) {
    const char *call = node_str(n, "call"), *name = n->op_name, *keyword = node_str(n, "keywords");
    if (*call) name = arena_printf(&p->scratch, "%.*s", (int)strcspn(call, "("), call);
    int given = *keyword != '\0';
    for (const char *k = keyword; *k; k++) given += *k == ',';
    code_put_op_name(p, t, name);
    code_puts(p, t, "(");
    for (int i = 0; i < (int)n->inputs.len; i++) {
        if (i) code_puts(p, t, ", ");
        if (i >= (int)n->inputs.len - given) {
            size_t len = strcspn(keyword, ",");
            code_write(p, t, keyword, len);
            code_puts(p, t, "=");
            keyword += len + (keyword[len] == ',');
        }
        code_put_value(p, t, n->inputs.data[i]);
    }
    code_puts(p, t, ")");
}

/* The body of an operator that PyTorch lacks becomes a function of the archive. */
static void code_put_ours(code_printer *p, code_text *t, const node *n) {
    function *f = op_host_installed->composite_body(n->op, p->prog->d);
    if (!f) {
        code_program_fail(p->prog, p->prog->d->status);
        return;
    }
    code_note_function(p->prog, f);
    code_puts(p, t, f->qualified);
    code_put_values(p, t, n->inputs.len, n->inputs.data, "(", ")");
}

/* Would an overload that is asked before this one take an int for a list of ints there?
 * torch.view(x, 0) is a view of size 0, and torch.view(x, dtype=0) one as bytes. */
static bool code_needs_name(const op *o, const op *const *all, int count, int i) {
    if (i >= o->schema->nargs || o->schema->args[i].type->kind != T_INT) return false;
    for (int k = 0; k < count && all[k] != o; k++) {
        const schema *s = all[k]->schema;
        if (i < s->nargs && s->args[i].type->kind == T_LIST &&
            type_elem(s->args[i].type)->kind == T_INT &&
            strcmp(s->args[i].name, o->schema->args[i].name))
            return true;
    }
    return false;
}

/* TorchScript finds no view of another dtype; it does find the copy, which is the same where
 * nothing writes. */
static const char *code_call_name(code_printer *p, const node *n) {
    const char *name = node_kind_text(n);
    if (!node_is_overload(n, SYM_VIEW_DTYPE) || !p->graph) return name;
    if (!p->aliases && !(p->aliases = alias_new(p->graph))) code_no_memory(p);
    bool written = !p->aliases || alias_ever_written(p->aliases, n->inputs.data[0]) ||
                   alias_ever_written(p->aliases, n->outputs.data[0]);
    return written ? name : "aten::view_copy";
}

static void code_put_call(code_printer *p, code_text *t, const node *n) {
    const char *name = code_call_name(p, n);
    const op *o = n->op;
    int count = 0;
    if (o && o->traits.ours) {
        code_put_ours(p, t, n);
        return;
    }
    if (!o && n->kind == N_OP) {
        code_put_unknown(p, t, n);
        return;
    }
    const op *const *all = op_overloads(node_kind_text(n), &count);
    if (!o) o = count ? all[0] : NULL;
    code_put_op_name(p, t, name);
    if (!o) {
        code_put_values(p, t, n->inputs.len, n->inputs.data, "(", ")");
        return;
    }
    code_note_version(p, o);
    const schema *s = o->schema;
    int nout = 0, needed = code_needed_args(s, n, &nout);
    bool first = true, named = false;
    code_puts(p, t, "(");
    for (int i = 0; i < (int)n->inputs.len; i++) {
        if (i >= needed && i < s->nargs - nout) continue;
        if (!first) code_puts(p, t, ", ");
        first = false;
        named = named || code_needs_name(o, all, count, i);
        if (i < s->nargs && (named || s->args[i].kwarg_only)) {
            code_puts(p, t, s->args[i].name);
            code_puts(p, t, "=");
        }
        code_put_value(p, t, n->inputs.data[i]);
    }
    code_puts(p, t, ")");
}

/* ---- forms that are not calls ---------------------------------------------------------------- */

typedef void code_form(code_printer *p, code_text *t, const node *n, const char *text);

/* The operator's inputs between "text(" and ")". */
static void form_function(code_printer *p, code_text *t, const node *n, const char *text) {
    code_puts(p, t, text);
    code_put_values(p, t, n->inputs.len, n->inputs.data, "(", ")");
}

/* annotate(T, x): an implicit conversion; unchecked_cast(T, x). */
static void form_typed(code_printer *p, code_text *t, const node *n, const char *text) {
    code_open_annotate(p, t, text, n->outputs.data[0]->type);
    code_put_values(p, t, n->inputs.len, n->inputs.data, "", ")");
}

static void form_uninitialized(code_printer *p, code_text *t, const node *n, const char *text) {
    code_puts(p, t, text);
    code_put_type(p, t, n->outputs.data[0]->type);
    code_puts(p, t, ")");
}

/* x[i]; (expression)[i] */
static void form_index(code_printer *p, code_text *t, const node *n, const char *text) {
    bool bare = code_is_name(p, n->inputs.data[0]);
    (void)text;
    code_put_values(p, t, 1, n->inputs.data, bare ? "" : "(", bare ? "" : ")");
    code_put_values(p, t, 1, n->inputs.data + 1, "[", "]");
}

/* (x).name */
static void form_attribute(code_printer *p, code_text *t, const node *n, const char *text) {
    code_put_values(p, t, 1, n->inputs.data, "(", text);
}

static void form_tuple(code_printer *p, code_text *t, const node *n, const char *text) {
    type *ty = n->outputs.data[0]->type;
    (void)text;
    /* results of operators have fields, but no class */
    bool named = ty->kind == T_TUPLE && ty->field_names && ty->name;
    if (named) code_put_type(p, t, ty);
    code_put_values(p, t, n->inputs.len, n->inputs.data, "(",
                    n->inputs.len == 1 && !named ? ",)" : ")");
}

static void form_tuple_index(code_printer *p, code_text *t, const node *n, const char *text) {
    (void)text;
    code_put_values(p, t, 1, n->inputs.data, "(", ")");
    code_put_values(p, t, 1, n->inputs.data + 1, "[", "]");
}

static void form_tuple_slice(code_printer *p, code_text *t, const node *n, const char *text) {
    char bounds[64];
    (void)text;
    snprintf(bounds, sizeof bounds, "[%lld:%lld]", (long long)node_int(n, "beg"),
             (long long)node_int(n, "end"));
    code_put_values(p, t, 1, n->inputs.data, "(", ")");
    code_puts(p, t, bounds);
}

/* Do the elements themselves say that the container holds `elem`s? */
static bool code_tells_type(const node *n, size_t from, size_t step, type *elem) {
    if (code_is_ambiguous(elem)) return false;
    for (size_t i = from; i < n->inputs.len; i += step)
        if (type_without_details(n->inputs.data[i]->type) != type_without_details(elem))
            return false;
    return true;
}

static void form_list(code_printer *p, code_text *t, const node *n, const char *text) {
    type *ty = n->outputs.data[0]->type;
    (void)text;
    bool annotated = ty->kind == T_LIST &&
                     (!n->inputs.len || !code_tells_type(n, 0, 1, type_elem(ty)));
    if (annotated) code_open_annotate(p, t, "annotate", ty);
    code_put_values(p, t, n->inputs.len, n->inputs.data, "[", annotated ? "])" : "]");
}

static void form_dict(code_printer *p, code_text *t, const node *n, const char *text) {
    type *ty = n->outputs.data[0]->type;
    (void)text;
    bool annotated = ty->kind == T_DICT &&
                     (!n->inputs.len || !code_tells_type(n, 0, 2, ty->elems[0]) ||
                      !code_tells_type(n, 1, 2, ty->elems[1]));
    if (annotated) code_open_annotate(p, t, "annotate", ty);
    code_puts(p, t, "{");
    for (size_t i = 0; i + 1 < n->inputs.len; i += 2) {
        if (i) code_puts(p, t, ", ");
        code_put_value(p, t, n->inputs.data[i]);
        code_puts(p, t, ": ");
        code_put_value(p, t, n->inputs.data[i + 1]);
    }
    code_puts(p, t, annotated ? "})" : "}");
}

static void form_create_object(code_printer *p, code_text *t, const node *n, const char *text) {
    code_put_type(p, t, n->outputs.data[0]->type);
    code_puts(p, t, text);
    code_put_type(p, t, n->outputs.data[0]->type);
    code_puts(p, t, ")");
}

static void form_get_attr(code_printer *p, code_text *t, const node *n, const char *text) {
    const char *name = node_str(n, "name");
    (void)text;
    if (code_is_identifier(name)) {
        code_put_value(p, t, n->inputs.data[0]);
        code_puts(p, t, ".");
        code_puts(p, t, name);
        return;
    }
    code_put_values(p, t, 1, n->inputs.data, "getattr(", ", ");
    code_put_quoted(p, t, name, strlen(name));
    code_puts(p, t, ")");
}

static void code_put_arguments(code_printer *p, code_text *t, const node *n) {
    code_puts(p, t, "(");
    for (size_t i = 1; i < n->inputs.len; i++) {
        code_put_value(p, t, n->inputs.data[i]);
        code_puts(p, t, ", ");
    }
    code_puts(p, t, ")");
}

static void form_call_function(code_printer *p, code_text *t, const node *n, const char *text) {
    (void)text;
    code_put_value(p, t, n->inputs.data[0]);
    code_put_arguments(p, t, n);
}

static void form_call_method(code_printer *p, code_text *t, const node *n, const char *text) {
    (void)text;
    code_put_values(p, t, 1, n->inputs.data, "(", ").");
    code_puts(p, t, node_str(n, "name"));
    code_put_arguments(p, t, n);
}

static void form_isinstance(code_printer *p, code_text *t, const node *n, const char *text) {
    const attr *a = node_attr(n, "types");
    int count = a && a->kind == ATTR_TYPES ? a->u.types.n : 0;
    code_puts(p, t, text);
    code_put_values(p, t, 1, n->inputs.data, "(", count == 1 ? ", " : ", (");
    for (int i = 0; i < count; i++) {
        type *ty = a->u.types.data[i];
        if (i) code_puts(p, t, ", ");
        if (ty->kind == T_ANY_LIST || ty->kind == T_ANY_TUPLE)
            code_puts(p, t, ty->kind == T_ANY_LIST ? "list" : "tuple");
        else code_put_type(p, t, ty);
    }
    code_puts(p, t, count == 1 ? ")" : "))");
}

static void form_tolist(code_printer *p, code_text *t, const node *n, const char *text) {
    code_open_annotate(p, t, "annotate", n->outputs.data[0]->type);
    code_put_values(p, t, 1, n->inputs.data, "", text);
}

/* A type variable of the schema can only be bound if the argument has a type of its
 * own: None does not. */
static void form_unwrap_optional(code_printer *p, code_text *t, const node *n, const char *text) {
    code_puts(p, t, text);
    bool none = n->inputs.data[0]->type->kind == T_NONE;
    if (none) code_open_annotate(p, t, "annotate", type_optional(n->outputs.data[0]->type));
    code_put_values(p, t, 1, n->inputs.data, "", none ? "))" : ")");
}

/*    kind             operator (of N_OP)          form                  its text */
static const struct {
    node_kind kind;
    op_symbol op;
    code_form *put;
    const char *text;
} code_forms[] = {
    /* clang-format off */
    {N_OP,             SYM_SCALARIMPLICIT,     form_typed,           "annotate"},
    {N_OP,             SYM_FLOATIMPLICIT,      form_typed,           "annotate"},
    {N_OP,             SYM_INTIMPLICIT,        form_typed,           "annotate"},
    {N_OP,             SYM_COMPLEXIMPLICIT,    form_typed,           "annotate"},
    {N_OP,             SYM_INT,                form_function,        "int"},
    {N_OP,             SYM_FLOAT,              form_function,        "float"},
    {N_OP,             SYM_BOOL,               form_function,        "bool"},
    {N_OP,             SYM_STR,                form_function,        "str"},
    {N_OP,             SYM_SORTED,             form_function,        "sorted"},
    {N_OP,             SYM___GETITEM__,        form_index,           ""},
    {N_OP,             SYM__UNWRAP_OPTIONAL,   form_unwrap_optional, "torch._unwrap_optional("},
    {N_OP,             SYM_PRIM_UNCHECKED_UNWRAP_OPTIONAL, form_typed,    "unchecked_cast"},
    {N_OP,             SYM_PRIM_ENUMNAME,           form_attribute,       ").name"},
    {N_OP,             SYM_PRIM_ENUMVALUE,          form_attribute,       ").value"},
    {N_PRINT,          SYM_NONE,                       form_function,        "print"},
    {N_UNCHECKED_CAST, SYM_NONE,                       form_typed,           "unchecked_cast"},
    {N_UNINITIALIZED,  SYM_NONE,                       form_uninitialized,   "uninitialized("},
    {N_TUPLE_CONSTRUCT, SYM_NONE,                      form_tuple,           ""},
    {N_TUPLE_INDEX,    SYM_NONE,                       form_tuple_index,     ""},
    {N_TUPLE_SLICE,    SYM_NONE,                       form_tuple_slice,     ""},
    {N_LIST_CONSTRUCT, SYM_NONE,                       form_list,            ""},
    {N_DICT_CONSTRUCT, SYM_NONE,                       form_dict,            ""},
    {N_CREATE_OBJECT,  SYM_NONE,                       form_create_object,   ".__new__("},
    {N_GET_ATTR,       SYM_NONE,                       form_get_attr,        ""},
    {N_CALL_FUNCTION,  SYM_NONE,                       form_call_function,   ""},
    {N_CALL_METHOD,    SYM_NONE,                       form_call_method,     ""},
    {N_ISINSTANCE,     SYM_NONE,                       form_isinstance,      "isinstance"},
    {N_TOLIST,         SYM_NONE,                       form_tolist,          ".tolist())"},
    /* clang-format on */
};

void code_put_node(code_printer *p, code_text *t, const node *n) {
    if (n->kind == N_CONSTANT) {
        code_put_constant_node(p, t, n);
        return;
    }
    for (size_t i = 0; i < sizeof code_forms / sizeof *code_forms; i++) {
        if (code_forms[i].kind != n->kind || (n->kind == N_OP && !node_is_op(n, code_forms[i].op)))
            continue;
        if (n->kind == N_OP && n->op) code_note_version(p, n->op);
        code_forms[i].put(p, t, n, code_forms[i].text);
        return;
    }
    code_put_call(p, t, n);
}
