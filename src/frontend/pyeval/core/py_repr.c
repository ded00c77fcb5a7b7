/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_repr.c - str() and repr() of objects.
 *
 * Numbers print as Python's do, not as PyTorch's print does. Tests: tests/unit/test_py.c
 */
#include "base/text/text.h"
#include "frontend/pyeval/core/py_internal.h"

#include <math.h>
#include <stdlib.h>

py_object *py_from_buffer(py *p, strbuf *sb) {
    py_object *o = sb->failed ? NULL : py_string(p, sb_str(sb), sb->len);
    sb_free(sb);
    if (!o) diag_no_memory(p->diag);
    return o;
}

/* ---- numbers and text as repr shows them ----------------------------------------------------- */

/* The shortest digits that read back as f, in Python's notation. */
void py_float_repr(double f, strbuf *out) {
    if (isnan(f) || isinf(f)) {
        sb_puts(out, isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
        return;
    }
    char text[40];
    int digits = 1;
    for (; digits <= 17; digits++) {
        text_print(text, sizeof text, "%.*e", digits - 1, f);
        if (text_double(text, NULL) == f) break;
    }
    int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent < -4 || exponent >= 16) {
        char *e = strchr(text, 'e');
        sb_write(out, text, (size_t)(e - text));
        sb_printf(out, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }
    int decimals = digits - 1 - exponent;
    sb_printf(out, "%.*f", decimals > 0 ? decimals : 1, f);
}

static void format_complex(const complex_box *c, strbuf *out) {
    strbuf im = STRBUF_INIT, re = STRBUF_INIT;
    py_float_repr(c->im, &im);
    py_float_repr(c->re, &re);
    /* whole parts are shown without ".0" */
    if (im.len > 2 && !strcmp(im.data + im.len - 2, ".0")) im.data[im.len -= 2] = '\0';
    if (re.len > 2 && !strcmp(re.data + re.len - 2, ".0")) re.data[re.len -= 2] = '\0';
    if (c->re == 0 && !signbit(c->re)) sb_printf(out, "%sj", sb_str(&im));
    else sb_printf(out, "(%s%s%sj)", sb_str(&re), sb_str(&im)[0] == '-' ? "" : "+", sb_str(&im));
    if (im.failed || re.failed) out->failed = true;
    sb_free(&im);
    sb_free(&re);
}

static void format_quoted(const str *s, strbuf *out) {
    bool single = memchr(s->bytes, '\'', s->len), twice = memchr(s->bytes, '"', s->len);
    char quote = single && !twice ? '"' : '\'';
    sb_putc(out, quote);
    for (size_t i = 0; i < s->len; i++) {
        unsigned char c = (unsigned char)s->bytes[i];
        if (c == (unsigned char)quote || c == '\\') sb_printf(out, "\\%c", c);
        else if (c == '\n') sb_puts(out, "\\n");
        else if (c == '\t') sb_puts(out, "\\t");
        else if (c == '\r') sb_puts(out, "\\r");
        else if (c < 0x20 || c == 0x7f) sb_printf(out, "\\x%02x", c);
        else sb_putc(out, (char)c);
    }
    sb_putc(out, quote);
}

/* ---- str, repr ------------------------------------------------------------------------------- */

static bool format_items(py *p, source_range r, const py_object *o, const char *open,
                         const char *close, strbuf *out) {
    size_t n = o->u.seq.items.len;
    sb_puts(out, open);
    for (size_t i = 0; i < n; i++) {
        if (i) sb_puts(out, ", ");
        if (!py_str(p, r, o->u.seq.items.data[i], true, out)) return false;
    }
    if (o->kind == PY_TUPLE && n == 1 && !py_is_size(o)) sb_putc(out, ',');
    sb_puts(out, close);
    return true;
}

static bool format_fields(py *p, source_range r, py_object *o, const py_class *c, strbuf *out) {
    sb_printf(out, "%s(", c->name);
    for (size_t i = 0; i < c->fields.len; i++) {
        py_object *v = o->kind == PY_TUPLE
                           ? (i < o->u.seq.items.len ? o->u.seq.items.data[i] : p->none)
                           : py_dict_get(o->u.inst.attrs, c->fields.data[i]);
        sb_printf(out, "%s%s=", i ? ", " : "", c->fields.data[i]);
        if (v && !py_str(p, r, v, true, out)) return false;
    }
    sb_putc(out, ')');
    return true;
}

static bool format_dict(py *p, source_range r, const py_dict *d, strbuf *out) {
    bool first = true;
    sb_putc(out, '{');
    for (size_t i = 0; i < d->entries.len; i++) {
        const py_dict_entry e = d->entries.data[i];
        if (!e.key) continue;
        if (!first) sb_puts(out, ", ");
        first = false;
        if (!py_str(p, r, e.key, true, out)) return false;
        sb_puts(out, ": ");
        if (!py_str(p, r, e.val, true, out)) return false;
    }
    sb_putc(out, '}');
    return true;
}

static const char *format_module_of(const py_class *c) {
    return c->module ? c->module->u.mod.name : "builtins";
}

static bool format_exception(py *p, source_range r, const py_object *o, bool repr, strbuf *out) {
    const py_object *args = py_dict_get(o->u.inst.attrs, "args");
    if (!args || args->kind != PY_TUPLE) return true;
    if (repr) {
        sb_puts(out, o->u.inst.cls->u.cls->name);
        if (args->u.seq.items.len != 1) return format_items(p, r, args, "(", ")", out);
        sb_putc(out, '(');
        if (!py_str(p, r, args->u.seq.items.data[0], true, out)) return false;
        sb_putc(out, ')');
        return true;
    }
    if (args->u.seq.items.len > 1) return format_items(p, r, args, "(", ")", out);
    if (args->u.seq.items.len == 0) return true;
    return py_str(p, r, args->u.seq.items.data[0], !strcmp(o->u.inst.cls->u.cls->name, "KeyError"),
                  out);
}

static bool format_by_method(py *p, source_range r, py_object *m, const char *name, strbuf *out) {
    py_object *v = py_call0(p, r, m);
    if (!v) return false;
    const str *s = py_str_of(v);
    if (!s) {
        py_fail(p, r, "TypeError", "%s returned non-string (type %s)", name, py_type_name(v));
        return false;
    }
    sb_write(out, s->bytes, s->len);
    return true;
}

static bool format_instance(py *p, source_range r, py_object *o, bool repr, strbuf *out) {
    const char *name = repr ? "__repr__" : "__str__";
    py_object *m = py_find_special(p, o, name);
    const py_class *c = o->u.inst.cls->u.cls;
    if (!m && !repr && !py_failed(p) && c->kind != PYC_EXCEPTION && c->kind != PYC_ENUM)
        m = py_find_special(p, o, name = "__repr__");
    if (m) return format_by_method(p, r, m, name, out);
    if (py_failed(p)) return false;
    if (c->kind == PYC_EXCEPTION) return format_exception(p, r, o, repr, out);
    if (c->kind == PYC_ENUM) {
        const char *member = py_as_text(py_dict_get(o->u.inst.attrs, "name"));
        sb_printf(out, repr ? "<%s.%s: " : "%s.%s", c->name, member ? member : "?");
        if (!repr) return true;
        if (!py_str(p, r, py_dict_get(o->u.inst.attrs, "value"), true, out)) return false;
        sb_putc(out, '>');
        return true;
    }
    const py_object *plain = py_plain(o);
    if (plain != o) return py_str(p, r, (py_object *)plain, repr, out);
    if (c->is_dataclass) return format_fields(p, r, o, c, out);
    sb_printf(out, "<%s.%s object at %p>", format_module_of(c), c->qualname ? c->qualname : c->name,
              (void *)o);
    return true;
}

static bool format_type(py *p, source_range r, const py_object *o, strbuf *out) {
    sb_printf(out, "typing.%s", o->u.type.name);
    if (o->u.type.nargs < 0) return true;
    for (int i = 0; i < o->u.type.nargs; i++) {
        const py_object *a = o->u.type.args[i];
        sb_puts(out, i ? ", " : "[");
        if (a->kind == PY_CLASS && (!a->u.cls->module || !a->u.cls->def))
            sb_puts(out, a->u.cls->name);
        else if (!py_str(p, r, (py_object *)a, true, out)) return false;
    }
    sb_putc(out, ']');
    return true;
}

static void format_value(const py_object *o, bool repr, strbuf *out) {
    switch (o->u.v.tag) {
    case V_NONE: sb_puts(out, "None"); return;
    case V_BOOL: sb_puts(out, o->u.v.u.b ? "True" : "False"); return;
    case V_INT: sb_printf(out, "%lld", (long long)o->u.v.u.i); return;
    case V_FLOAT: py_float_repr(o->u.v.u.f, out); return;
    case V_COMPLEX: format_complex(o->u.v.u.complex, out); return;
    case V_STR:
        if (repr) format_quoted(o->u.v.u.str, out);
        else sb_write(out, o->u.v.u.str->bytes, o->u.v.u.str->len);
        return;
    case V_DEVICE:
        if (repr) {
            sb_puts(out, "device(type='");
            sb_puts(out, o->u.v.u.device == 0 ? "cpu')" : "cuda'");
            if (o->u.v.u.device > 0) sb_printf(out, ", index=%lld", (long long)o->u.v.u.device - 1);
            if (o->u.v.u.device != 0) sb_putc(out, ')');
            return;
        }
        break;
    default: break;
    }
    value_print(o->u.v, out);
}

bool py_tuple_repr(py *p, source_range r, py_object *o, strbuf *out) {
    if (py_is_size(o)) {
        sb_puts(out, "torch.Size");
        return format_items(p, r, o, "([", "])", out);
    }
    if (o->u.seq.seq_cls && o->u.seq.seq_cls->u.cls->fields.len)
        return format_fields(p, r, o, o->u.seq.seq_cls->u.cls, out);
    return format_items(p, r, o, "(", ")", out);
}

static bool format_tuple(py *p, source_range r, py_object *o, bool repr, strbuf *out) {
    const char *name = repr ? "__repr__" : "__str__";
    py_object *m = o->u.seq.seq_cls ? py_find_special(p, o, name) : NULL;
    if (!m && !repr && o->u.seq.seq_cls && !py_failed(p))
        m = py_find_special(p, o, name = "__repr__");
    if (py_failed(p)) return false;
    return m ? format_by_method(p, r, m, name, out) : py_tuple_repr(p, r, o, out);
}

static bool format_any(py *p, source_range r, py_object *o, bool repr, strbuf *out) {
    switch (o->kind) {
    case PY_VALUE: format_value(o, repr, out); return true;
    case PY_SYMBOL: sb_puts(out, o->u.name); return true;
    case PY_LIST: return format_items(p, r, o, "[", "]", out);
    case PY_TUPLE: return format_tuple(p, r, o, repr, out);
    case PY_SET:
        if (o->u.seq.items.len == 0) return sb_puts(out, "set()"), true;
        return format_items(p, r, o, "{", "}", out);
    case PY_DICT: return format_dict(p, r, o->u.dict, out);
    case PY_RANGE:
        sb_printf(out, "range(%lld, %lld", (long long)o->u.range.start, (long long)o->u.range.stop);
        if (o->u.range.step != 1) sb_printf(out, ", %lld", (long long)o->u.range.step);
        sb_putc(out, ')');
        return true;
    case PY_SLICE:
        sb_puts(out, "slice(");
        if (!py_str(p, r, o->u.slice.start, true, out)) return false;
        sb_puts(out, ", ");
        if (!py_str(p, r, o->u.slice.stop, true, out)) return false;
        sb_puts(out, ", ");
        if (!py_str(p, r, o->u.slice.step, true, out)) return false;
        sb_putc(out, ')');
        return true;
    case PY_ELLIPSIS: sb_puts(out, "Ellipsis"); return true;
    case PY_NOT_IMPLEMENTED: sb_puts(out, "NotImplemented"); return true;
    case PY_MODULE: sb_printf(out, "<module '%s'>", o->u.mod.name); return true;
    case PY_FUNCTION:
        sb_printf(out, "<function %s at %p>", o->u.fn->qualname, (void *)o);
        return true;
    case PY_CLASS: {
        const py_class *c = o->u.cls;
        sb_printf(out, c->kind == PYC_ENUM && c->def ? "<enum '%s%s%s'>" : "<class '%s%s%s'>",
                  c->module && c->kind != PYC_ENUM ? c->module->u.mod.name : "",
                  c->module && c->kind != PYC_ENUM ? "." : "", c->qualname ? c->qualname : c->name);
        return true;
    }
    case PY_INSTANCE: return format_instance(p, r, o, repr, out);
    case PY_TYPE: return format_type(p, r, o, out);
    case PY_BUILTIN: sb_printf(out, "<built-in function %s>", o->u.builtin.name); return true;
    case PY_OPERATOR: sb_printf(out, "<built-in method %s>", o->u.op_name); return true;
    default: sb_printf(out, "<%s object at %p>", py_type_name(o), (void *)o); return true;
    }
}

bool py_str(py *p, source_range r, py_object *o, bool repr, strbuf *out) {
    if (!py_deeper(p, r)) return false;
    bool ok = format_any(p, r, o, repr, out);
    p->depth--;
    return ok && py_room(p, r, (int64_t)out->len);
}
