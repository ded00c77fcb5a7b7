/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_parse_type.c - reads types as graphs show them.
 *
 *     type   := base { "[]" | "?" }
 *     base   := "(" types ")" | NamedTuple "(" name ":" type {...} ")" | Dict "(" type "," type ")"
 *             | Union "(" types ")" | Future "[" type "]" | RRef "[" type "]"
 *             | Enum "<" name ">" | InterfaceType "<" name ">" | tensor | name
 *     tensor := (Float | FloatTensor | Tensor)
 *               ["(" {dim | strides=[...] | requires_grad=0 | device=cpu} ")"]
 *
 * A dotted name is a class of the graph's own.
 * Tests: tests/unit/test_graph.c
 */
#include "base/text/text.h"
#include "ir/graph/graph_parse.h"
#include "tensor/device.h"

#define TYPE_TEXT(k, text) text,
static const char *const parse_type_texts[T_KIND_COUNT] = {TYPE_KINDS(TYPE_TEXT)};

static bool word_is(const char *word, size_t len, const char *text) {
    return strlen(text) == len && !memcmp(word, text, len);
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* "Float" gives FLOAT32 and a known rank, "FloatTensor" FLOAT32, "Tensor" nothing. */
static bool parse_tensor_name(const char *word, size_t len, tensor_info *ti) {
    *ti = (tensor_info){.dtype = -1, .ndim = -1, .requires_grad = -1, .device = -1};
    if (word_is(word, len, "Tensor")) return true;
    for (int d = 0; d < DT_COUNT; d++) {
        size_t n = strlen(dtype_table[d].ir_name);
        if (len < n || memcmp(word, dtype_table[d].ir_name, n)) continue;
        if (len != n && !word_is(word + n, len - n, "Tensor")) continue;
        ti->dtype = (int8_t)d;
        if (len == n) ti->ndim = 0;
        return true;
    }
    return false;
}

static ctsc_status parse_strides(graph_parser *p, int64_t *strides, int *n) {
    ctsc_status s = parse_expect(p, "[");
    for (*n = 0; s == CTSC_OK && !parse_accept(p, "]");) {
        if (*n && (s = parse_expect(p, ",")) != CTSC_OK) break;
        if (*n == TENSOR_MAX_DIMS) return parse_error(p, "too many dimensions");
        if (parse_accept(p, "*")) strides[*n] = -1;
        else if (!parse_int(p, &strides[*n])) return parse_error(p, "expected a stride");
        (*n)++;
    }
    return s;
}

static ctsc_status parse_device(graph_parser *p, tensor_info *ti) {
    int64_t device;
    parse_skip(p);
    const char *begin = p->at;
    while (p->at < p->end && (text_is_alnum(*p->at) || *p->at == ':')) p->at++;
    if (device_parse(NULL, begin, (size_t)(p->at - begin), &device) != CTSC_OK || device > INT8_MAX)
        return parse_error(p, "unknown device");
    ti->device = device == VALUE_DEVICE_CUDA ? 1 : (int8_t)device;
    return CTSC_OK;
}

static ctsc_status parse_dim(graph_parser *p, int64_t *out) {
    if (parse_accept(p, "*")) return *out = -1, CTSC_OK;
    if (parse_accept(p, "SS(")) {
        if (!parse_int(p, out)) return parse_error(p, "expected a symbol");
        *out = -1;
        return parse_expect(p, ")");
    }
    return parse_int(p, out) && *out >= 0 ? CTSC_OK : parse_error(p, "expected a dimension");
}

static ctsc_status parse_tensor(graph_parser *p, tensor_info *ti, type **out) {
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS], flag;
    int dims = 0, nstrides = 0;
    bool closed = !parse_accept(p, "(");
    if (!closed && parse_accept(p, ")")) {
        ti->ndim = 0;
        closed = true;
    }
    while (!closed) {
        ctsc_status s = CTSC_OK;
        if (parse_accept(p, "strides=")) {
            s = parse_strides(p, strides, &nstrides);
        } else if (parse_accept(p, "requires_grad=")) {
            if (!parse_int(p, &flag) || flag < 0 || flag > 1)
                return parse_error(p, "expected 0 or 1");
            ti->requires_grad = (int8_t)flag;
        } else if (parse_accept(p, "device=")) {
            s = parse_device(p, ti);
        } else {
            if (dims == TENSOR_MAX_DIMS) return parse_error(p, "too many dimensions");
            s = parse_dim(p, &sizes[dims++]);
            ti->ndim = (int8_t)dims;
        }
        if (s != CTSC_OK) return s;
        closed = parse_accept(p, ")");
        if (!closed && (s = parse_expect(p, ",")) != CTSC_OK) return s;
    }
    if (nstrides && nstrides != dims) return parse_error(p, "strides of another rank");
    ti->sizes = sizes;
    ti->strides = strides;
    ti->has_strides = nstrides > 0;
    *out = type_tensor_details(ti);
    return CTSC_OK;
}

/* ---- the other types ------------------------------------------------------------------------- */

/* Up to `close`. Empty members, which PyTorch prints in some unions, are passed over. */
ctsc_status graph_parse_types(graph_parser *p, const char *close, int *n, type ***out) {
    VEC(type *) types = {0};
    while (!parse_accept(p, close)) {
        if (parse_accept(p, ",")) continue;
        type *t;
        TRY(graph_parse_type(p, &t));
        if (!parse_is(p, ",") && !parse_is(p, close)) return parse_error(p, "expected ','");
        if (types.len >= 10000) return parse_error(p, "too many types");
        if (!avec_push(&p->scratch, &types, t)) return diag_no_memory(p->diag);
    }
    *n = (int)types.len;
    *out = types.data;
    return CTSC_OK;
}

/* A default ("y : int = 3") is not part of our types; it ends at the next ',' or ')'. */
static void parse_field_default(graph_parser *p) {
    if (!parse_accept(p, "=")) return;
    while (p->at < p->end && *p->at != ',' && *p->at != ')' && *p->at != '\n') p->at++;
}

static ctsc_status parse_named_tuple(graph_parser *p, type **out) {
    VEC(const char *) names = {0};
    VEC(type *) types = {0};
    while (!parse_accept(p, ")")) {
        const char *word;
        type *t;
        if (names.len && parse_expect(p, ",") != CTSC_OK) return p->diag->status;
        size_t len = parse_word(p, false, &word);
        if (!len) return parse_error(p, "expected a field's name");
        ctsc_status s = parse_expect(p, ":");
        if (s == CTSC_OK) s = graph_parse_type(p, &t);
        if (s != CTSC_OK) return s;
        parse_field_default(p);
        const char *name = arena_strndup(&p->scratch, word, len);
        if (!name || arena_failed(&p->scratch) || !avec_push(&p->scratch, &names, name) ||
            !avec_push(&p->scratch, &types, t))
            return diag_no_memory(p->diag);
    }
    *out = type_named_tuple(NULL, "NamedTuple", (int)types.len, names.data, types.data);
    return CTSC_OK;
}

static ctsc_status parse_class(graph_parser *p, type_kind kind, const char *word, size_t len,
                               type **out) {
    unit *u = p->unit;
    const char *name = intern_n(&u->names, word, len);
    type *t = strmap_get(&u->classes, name);
    if (!t) {
        t = type_class_new(u, kind, name);
        if (arena_failed(&u->arena) || !strmap_put(&u->classes, name, t))
            return diag_no_memory(p->diag);
    }
    if (t->kind != kind) return parse_error(p, "a name for a class and an enum");
    *out = t;
    return CTSC_OK;
}

/* Future[T] in graphs, Future(T) inside Dict and Union. */
static ctsc_status parse_wrapped(graph_parser *p, type *(*make)(type *), type **out) {
    bool bracket = parse_accept(p, "[");
    ctsc_status s = bracket ? CTSC_OK : parse_expect(p, "(");
    type *elem;
    if (s == CTSC_OK) s = graph_parse_type(p, &elem);
    if (s == CTSC_OK) s = parse_expect(p, bracket ? "]" : ")");
    if (s == CTSC_OK) *out = make(elem);
    return s;
}

static ctsc_status parse_named(graph_parser *p, const char *word, size_t len, type **out) {
    tensor_info ti;
    type **elems;
    int n;
    ctsc_status s;
    if (word_is(word, len, "NamedTuple") && parse_accept(p, "(")) return parse_named_tuple(p, out);
    if (word_is(word, len, "Dict") && parse_accept(p, "(")) {
        s = graph_parse_types(p, ")", &n, &elems);
        if (s == CTSC_OK && n != 2) s = parse_error(p, "a Dict has two types");
        if (s == CTSC_OK) *out = type_dict(elems[0], elems[1]);
        return s;
    }
    if (word_is(word, len, "Union") && parse_accept(p, "(")) {
        s = graph_parse_types(p, ")", &n, &elems);
        if (s == CTSC_OK) *out = type_union(n, elems);
        return s;
    }
    if (word_is(word, len, "Future")) return parse_wrapped(p, type_future, out);
    if (word_is(word, len, "RRef")) return parse_wrapped(p, type_rref, out);
    bool is_enum = word_is(word, len, "Enum");
    if ((is_enum || word_is(word, len, "InterfaceType")) && parse_accept(p, "<")) {
        len = parse_word(p, true, &word);
        if (!len) return parse_error(p, "expected a name");
        s = parse_class(p, is_enum ? T_ENUM : T_INTERFACE, word, len, out);
        return s == CTSC_OK ? parse_expect(p, ">") : s;
    }
    if (parse_tensor_name(word, len, &ti)) return parse_tensor(p, &ti, out);
    for (int k = 0; k < T_KIND_COUNT; k++)
        if (parse_type_texts[k] && word_is(word, len, parse_type_texts[k]))
            return *out = type_of_kind((type_kind)k), CTSC_OK;
    if (memchr(word, '.', len)) return parse_class(p, T_CLASS, word, len, out);
    return parse_error(p, "unknown type");
}

ctsc_status graph_parse_type(graph_parser *p, type **out) {
    if (p->depth >= GRAPH_PARSE_DEPTH) return parse_error(p, "types nest too deeply");
    p->depth++;
    ctsc_status s;
    type *t = NULL;
    if (parse_accept(p, "(")) {
        type **elems;
        int n;
        s = graph_parse_types(p, ")", &n, &elems);
        if (s == CTSC_OK) t = type_tuple(n, elems);
    } else {
        const char *word;
        size_t len = parse_word(p, true, &word);
        s = len ? parse_named(p, word, len, &t) : parse_error(p, "expected a type");
    }
    for (int suffixes = 0; s == CTSC_OK && p->at < p->end; suffixes++) {
        if (suffixes >= GRAPH_PARSE_DEPTH) s = parse_error(p, "types nest too deeply");
        else if (p->end - p->at >= 2 && p->at[0] == '[' && p->at[1] == ']')
            t = type_list(t), p->at += 2;
        else if (*p->at == '?') t = type_optional(t), p->at++;
        else break;
    }
    p->depth--;
    if (s == CTSC_OK && (type_table_failed() || arena_failed(&p->unit->arena)))
        return diag_no_memory(p->diag);
    if (s == CTSC_OK) *out = t;
    return s;
}
