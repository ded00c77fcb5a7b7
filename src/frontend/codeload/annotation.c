/* SPDX-License-Identifier: Apache-2.0 */
/*
 * annotation.c - type expressions: "List[int]", "Optional[Tensor]", "__torch__.Main".
 *
 * Tests: tests/corpus
 */
#include "frontend/codeload/importer.h"

static ctsc_status annotation_fail(diag *d, const expr *x, const char *what) {
    return diag_fail_at(d, CTSC_FAILED, x->range, "%s", what);
}

/* Dotted text of a NAME or ATTR chain; false if x is anything else. */
static bool annotation_dotted(const expr *x, strbuf *out) {
    if (x->kind == E_NAME) {
        sb_puts(out, x->name);
        return true;
    }
    if (x->kind != E_ATTR || !annotation_dotted(x->a, out)) return false;
    sb_putc(out, '.');
    sb_puts(out, x->name);
    return true;
}

static type *annotation_simple(const char *name) {
    static const struct { const char *name; type_kind kind; } table[] = {
        {"Tensor", T_TENSOR},
        {"int", T_INT},
        {"float", T_FLOAT},
        {"bool", T_BOOL},
        {"str", T_STR},
        {"complex", T_COMPLEX},
        {"NoneType", T_NONE},
        {"None", T_NONE},
        {"Any", T_ANY},
        {"number", T_NUMBER},
        {"Device", T_DEVICE},
        {"device", T_DEVICE},
        {"Generator", T_GENERATOR},
        {"Storage", T_STORAGE},
        {"Stream", T_STREAM},
        {"QScheme", T_QSCHEME},
        {"Function", T_FUNCTION},
        {"Capsule", T_CAPSULE},
        {"AnyListType", T_ANY_LIST},
        {"AnyTupleType", T_ANY_TUPLE},
        {"AnyEnumType", T_ANY_ENUM},
        {"AnyClassType", T_ANY_CLASS},
        {"Layout", T_INT},
        {"MemoryFormat", T_INT},
        {"ScalarType", T_INT},
        {"torch.Tensor", T_TENSOR},
        {"torch.device", T_DEVICE},
        {"torch.dtype", T_INT},
        {"torch.layout", T_INT},
        {"torch.memory_format", T_INT},
        {"dtype", T_INT},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name)) return type_of_kind(table[i].kind);
    return NULL;
}

static ctsc_status annotation_list(unit *u, diag *d, const expr_list *xs, type **out) {
    for (size_t i = 0; i < xs->len; i++) {
        TRY(annotation_type(u, d, xs->data[i], &out[i]));
    }
    return CTSC_OK;
}

static ctsc_status annotation_constructed(unit *u, diag *d, const expr *x, const char *name,
                                          type **out) {
    enum { MAX = 256 };
    type *args[MAX];
    size_t n = x->items.len;
    if (n > MAX) return annotation_fail(d, x, "too many parameters of a type");
    /* Tuple[()] is the empty tuple */
    if (n == 1 && x->items.data[0]->kind == E_TUPLE && x->items.data[0]->items.len == 0) n = 0;
    if (n) {
        TRY(annotation_list(u, d, &x->items, args));
    }
    static const char *const prefixes[] = {"typing.", "torch.jit.", "torch.", NULL};
    for (int i = 0; prefixes[i]; i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i]))) name += strlen(prefixes[i]);
    if ((!strcmp(name, "List") || !strcmp(name, "list")) && n == 1) *out = type_list(args[0]);
    else if (!strcmp(name, "Optional") && n == 1) *out = type_optional(args[0]);
    else if (!strcmp(name, "Tuple") || !strcmp(name, "tuple")) *out = type_tuple((int)n, args);
    else if (!strcmp(name, "Union") && n >= 1) *out = type_union((int)n, args);
    else if (!strcmp(name, "Future") && n == 1) *out = type_future(args[0]);
    else if (!strcmp(name, "RRef") && n == 1) *out = type_rref(args[0]);
    else if (!strcmp(name, "Final") && n == 1) *out = args[0];
    else if ((!strcmp(name, "Dict") || !strcmp(name, "dict")) && n == 2) {
        if (!type_is_dict_key(args[0])) {
            strbuf sb = STRBUF_INIT;
            type_print(args[0], &sb);
            ctsc_status s = diag_fail_at(
                d, CTSC_FAILED, x->range,
                "Cannot create dict for key type '%s', only int, float, complex, "
                "Tensor, device and string keys are supported",
                sb_str(&sb));
            sb_free(&sb);
            return s;
        }
        *out = type_dict(args[0], args[1]);
    } else {
        return diag_fail_at(d, CTSC_FAILED, x->range, "Unknown type constructor %s", name);
    }
    return CTSC_OK;
}

ctsc_status annotation_type(unit *u, diag *d, const expr *x, type **out) {
    strbuf name = STRBUF_INIT;
    ctsc_status s = CTSC_OK;
    switch (x->kind) {
    case E_NONE: *out = TYPE_NONE; return CTSC_OK;
    case E_STR: return importer_parse_type(u, d, x->s, out);
    case E_SUBSCRIPT:
        if (!annotation_dotted(x->a, &name)) {
            sb_free(&name);
            return annotation_fail(d, x, "Subscripted type must be a type identifier");
        }
        s = name.failed ? diag_no_memory(d) : annotation_constructed(u, d, x, sb_str(&name), out);
        sb_free(&name);
        return s;
    case E_NAME:
    case E_ATTR: {
        if (!annotation_dotted(x, &name)) break;
        type *t = annotation_simple(sb_str(&name));
        if (name.failed) {
            s = diag_no_memory(d);
        } else if (!t) {
            type *cls = NULL;
            function *fn = NULL;
            s = unit_resolve(u, d, sb_str(&name), &cls, &fn);
            t = cls;
            if (s == CTSC_OK && !t)
                s = diag_fail_at(d, CTSC_FAILED, x->range, "Unknown type name '%s'", sb_str(&name));
        }
        sb_free(&name);
        if (s == CTSC_OK) *out = t;
        return s;
    }
    default: break;
    }
    sb_free(&name);
    return annotation_fail(d, x, "this expression cannot be used as a type");
}
