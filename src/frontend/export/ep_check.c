/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_check.c - what a call has to fulfil, in front of the nodes: the program was made for it, and
 * is wrong, or fails somewhere inside, without.
 *
 *     sizes  x: [s0, 3], y: [s0 + 1]        ctsc::check_input(%x, "*args[0]", [-1, 3], ...)  ctsc::check_input(%y, ..., [%s0 + 1], ...)
 *     range_constraints  s0: [4, 64]        bounds of the dims that are s0
 *     guards_code  L['x'].size()[0] % 2 == 0
 *     constant inputs                       compared
 *
 * A symbol is the size that is it and nothing else; where a size is a*s + b, s follows from
 * it. As in torch, bounds below 3 are not checked. Dtypes are not either. Guards of a form
 * that is not known are left out: they were true of what was exported, and say when torch
 * would have to export anew.
 */
#include "frontend/export/ep_internal.h"

/* size -1: see e, which may be NULL */
typedef struct check_dim { int64_t size; ep_expr *e; } check_dim;

/* One size of an input: a number, or an expression. */
static bool check_size(ep_program *p, const json_t *size, check_dim *out) {
    const json_t *v;
    const char *kind = ep_union(p, size, &v);
    *out = (check_dim){.size = -1};
    if (!kind) return false;
    if (!strcmp(kind, "as_int")) return ep_int(p, v, &out->size);
    const char *text = json_string_value(json_object_get(v, "expr_str"));
    out->e = text ? ep_expr_parse(p, text) : NULL;
    return p->d->status == CTSC_OK;
}

static bool check_sizes(ep_program *p, const json_t *meta, int *n, check_dim *dims) {
    const json_t *sizes = ep_array(p, meta, "sizes");
    if (!sizes) return false;
    if (json_array_size(sizes) > TENSOR_MAX_DIMS)
        return ep_bad(p, "an input has %zu dims", json_array_size(sizes));
    *n = (int)json_array_size(sizes);
    for (int i = 0; i < *n; i++)
        if (!check_size(p, json_array_get(sizes, (size_t)i), &dims[i])) return false;
    return true;
}

static ir_value *check_list(ep_program *p, int n, const int64_t *ints) {
    list *l = list_new(LIST_INT, TYPE_INT, (size_t)n);
    bool ok = l != NULL;
    for (int i = 0; ok && i < n; i++) ok = list_append_take(l, value_int(ints[i]));
    ir_value *v = l ? graph_constant_take(p->g, value_list_take(l), NULL) : NULL;
    return ok && v ? v : (ep_no_memory(p), NULL);
}

/* Bounds of a symbol. */
static void check_range(ep_program *p, const char *symbol, int64_t *least, int64_t *most) {
    const json_t *range = json_object_get(json_object_get(p->json, "range_constraints"), symbol),
                 *v;
    if (json_is_integer(v = json_object_get(range, "min_val")) && json_integer_value(v) > 2)
        *least = json_integer_value(v);
    if (json_is_integer(v = json_object_get(range, "max_val"))) *most = json_integer_value(v);
}

static bool check_emit(ep_program *p, const ep_input *in, ir_value *sizes, int n,
                       const int64_t *least, const int64_t *most) {
    const char *path = in->path ? in->path : in->name;
    int low = 0, high = 0; /* how many of the bounds say something */
    for (int i = 0; i < n; i++) {
        if (least[i] > 0) low = i + 1;
        if (most[i] < INT64_MAX) high = i + 1;
    }
    ir_value *args[] = {in->ir, graph_constant_str(p->g, path, strlen(path)), sizes,
                        check_list(p, low, least), check_list(p, high, most)};
    return sizes && args[3] && args[4] && ep_emit_key(p, "ctsc::check_input", 5, args);
}

/* The numbers, and the bounds of symbols. */
static bool check_fixed(ep_program *p, const ep_input *in, int n, const check_dim *dims) {
    int64_t sizes[TENSOR_MAX_DIMS], least[TENSOR_MAX_DIMS], most[TENSOR_MAX_DIMS];
    for (int i = 0; i < n; i++) {
        sizes[i] = dims[i].size;
        least[i] = 0;
        most[i] = INT64_MAX;
        if (dims[i].e && dims[i].e->kind == EP_SYMBOL)
            check_range(p, dims[i].e->name, &least[i], &most[i]);
    }
    return check_emit(p, in, check_list(p, n, sizes), n, least, most);
}

static ir_value *check_ask(ep_program *p, ir_value *t, int dim) {
    ir_value *in[] = {t, graph_constant_int(p->g, dim)};
    return ep_emit_key(p, "aten::size.int", 2, in);
}

/* e = a*s + b: s is (size - b) / a, rounded down; what it is not exactly is found
 * when e is compared. */
static bool check_solve(ep_program *p, const ep_expr *e, const char *symbol, ir_value *size) {
    int64_t b, one, two, a;
    if (!ep_expr_number(e, symbol, 0, &b) || !ep_expr_number(e, symbol, 1, &one) ||
        !ep_expr_number(e, symbol, 2, &two))
        return true;
    if (__builtin_sub_overflow(one, b, &a) || a <= 0 || two != one + a) return true;
    ir_value *less[] = {size, graph_constant_int(p->g, b)},
             *rest = ep_emit(p, "aten::sub", 2, less);
    ir_value *by[] = {rest, graph_constant_int(p->g, a)},
             *s = rest ? ep_emit(p, "aten::floordiv", 2, by) : NULL;
    return s && (strmap_put(&p->symbols, symbol, s) || ep_no_memory(p));
}

/* Symbols that this input's sizes give. plain: only those that are a size themselves. known: which
 * dims that settles. */
static bool check_bind(ep_program *p, const ep_input *in, int n, const check_dim *dims, bool plain,
                       bool *known) {
    for (int i = 0; i < n; i++) {
        bool more = false;
        const char *s = dims[i].e ? ep_expr_unknown(p, dims[i].e, &more) : NULL;
        if (!s || more || (dims[i].e->kind == EP_SYMBOL) != plain) continue;
        ir_value *size = check_ask(p, in->ir, i);
        if (!size) return false;
        if (plain ? !strmap_put(&p->symbols, s, size) : !check_solve(p, dims[i].e, s, size))
            return ep_no_memory(p);
        if (plain) known[i] = true;
    }
    return true;
}

/* Sizes that follow from others. */
static bool check_derived(ep_program *p, const ep_input *in, int n, const check_dim *dims,
                          const bool *known) {
    int64_t least[TENSOR_MAX_DIMS], most[TENSOR_MAX_DIMS];
    node *list = node_new(p->g, N_LIST_CONSTRUCT, 0, NULL, 1);
    bool any = false;
    for (int i = 0; i < n; i++) {
        ir_value *size = dims[i].e && !known[i] ? ep_expr_emit(p, dims[i].e) : NULL;
        if (ep_failed(p)) return ep_no_memory(p);
        if (size && size->type->kind == T_INT) any = true;
        else size = graph_constant_int(p->g, -1);
        node_add_input(list, size);
        least[i] = 0;
        most[i] = INT64_MAX;
    }
    if (!any) return true;
    list->outputs.data[0]->type = type_list(TYPE_INT);
    return check_emit(p, in, ep_insert(p, list)->outputs.data[0], n, least, most);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool check_assert(ep_program *p, ir_value *truth, const char *message) {
    ir_value *number = ep_emit(p, "aten::Int", 1, &truth),
             *in[] = {number, graph_constant_str(p->g, message, strlen(message))};
    return number && ep_emit_key(p, "aten::_assert_scalar", 2, in) != NULL;
}

static bool check_constant(ep_program *p, const ep_scope *sc, const ep_input *in) {
    ir_value *want = ep_argument((ep_scope *)(uintptr_t)sc, in->constant, NULL),
             *args[] = {in->ir, want};
    if (!want || in->ir->type->kind == T_NONE || in->ir->type->kind == T_COMPLEX)
        return want != NULL;
    ir_value *equal = ep_emit(p, "aten::eq", 2, args);
    strbuf sb = STRBUF_INIT;
    value v;
    sb_printf(&sb, "Expected input at %s to be equal to ", in->path ? in->path : "an argument");
    if (ir_value_constant(want, &v)) value_print(v, &sb);
    bool nan = ir_value_constant(want, &v) && v.tag == V_FLOAT && v.u.f != v.u.f;
    bool ok = equal && (nan || check_assert(p, equal, sb_str(&sb)));
    sb_free(&sb);
    return ok;
}

/* A number that is an argument: a symbol, with bounds. */
static bool check_number(ep_program *p, const ep_scope *sc, const ep_input *in) {
    static const char *const tables[][2] = {
        {"as_sym_int", "sym_int_values"},
        {"as_sym_float", "sym_float_values"},
        {"as_sym_bool", "sym_bool_values"},
    };
    const char *text = NULL;
    for (int i = 0; i < 3; i++)
        if (!strcmp(in->kind, tables[i][0]))
            text = json_string_value(json_object_get(
                json_object_get(json_object_get(json_object_get(sc->graph, tables[i][1]), in->name),
                                "as_expr"),
                "expr_str"));
    ep_expr *e = text ? ep_expr_parse(p, text) : NULL;
    if (!e || e->kind != EP_SYMBOL) return p->d->status == CTSC_OK;
    ir_value *known = strmap_get(&p->symbols, e->name), *args[] = {in->ir, known};
    if (known && known->type == in->ir->type) {
        ir_value *equal = ep_emit(p, "aten::eq", 2, args);
        return equal &&
               check_assert(
                   p, equal,
                   "an argument is not the size that it was when the program was exported");
    }
    if (!strmap_put(&p->symbols, e->name, in->ir)) return ep_no_memory(p);
    int64_t least = INT64_MIN, most = INT64_MAX;
    check_range(p, e->name, &least, &most);
    for (int i = 0; i < 2 && in->ir->type->kind == T_INT; i++) {
        int64_t bound = i ? most : least;
        if (bound == (i ? INT64_MAX : INT64_MIN)) continue;
        ir_value *in2[] = {in->ir, graph_constant_int(p->g, bound)},
                 *fits = ep_emit(p, i ? "aten::le" : "aten::ge", 2, in2);
        const char *message = arena_printf(&p->scratch, "Expected input at %s to be %s %lld",
                                           in->path ? in->path : in->name,
                                           i ? "<=" : ">=", (long long)bound);
        if (!fits || !message || !check_assert(p, fits, message)) return false;
    }
    return true;
}

/* "Guard failed: x.size()[0] != 2" of L['x'].size()[0] != 2. */
static const char *check_message(ep_program *p, const char *text) {
    strbuf sb = STRBUF_INIT;
    sb_puts(&sb, "Guard failed: ");
    while (*text && sb.len < 1000) {
        const char *end = !strncmp(text, "L['", 3) ? strstr(text, "']") : NULL;
        if (end) sb_write(&sb, text + 3, (size_t)(end - text - 3));
        else sb_putc(&sb, *text);
        text = end ? end + 2 : text + 1;
    }
    const char *message = sb.failed ? NULL : arena_strdup(&p->scratch, sb_str(&sb));
    sb_free(&sb);
    return message;
}

static bool check_guards(ep_program *p) {
    const json_t *guards = json_object_get(p->json, "guards_code");
    for (size_t i = 0; i < json_array_size(guards); i++) {
        const char *text = json_string_value(json_array_get(guards, i));
        ep_expr *e = text ? ep_expr_parse(p, text) : NULL;
        ir_value *truth = e ? ep_expr_emit(p, e) : NULL;
        if (ep_failed(p)) return ep_no_memory(p);
        if (!truth || truth->type->kind != T_BOOL) continue;
        const char *message = check_message(p, text);
        if (!message || !check_assert(p, truth, message)) return ep_no_memory(p);
    }
    return true;
}

/* ---- all ------------------------------------------------------------------------------------- */

typedef struct check_input { int n; check_dim *dims; bool *known; } check_input;

static bool check_read(ep_program *p, const ep_scope *sc, const ep_input *in, check_input *c) {
    const json_t *meta = strcmp(in->kind, "as_tensor") ? NULL : ep_meta(p, sc->graph, in->name);
    check_dim dims[TENSOR_MAX_DIMS];
    c->n = -1;
    if (!meta) return true;
    if (!check_sizes(p, meta, &c->n, dims)) return false;
    c->dims = arena_array(&p->scratch, check_dim, c->n + 1);
    c->known = arena_array(&p->scratch, bool, c->n + 1);
    if (arena_failed(&p->scratch)) return ep_no_memory(p);
    memcpy(c->dims, dims, (size_t)c->n * sizeof *dims);
    return check_fixed(p, in, c->n, c->dims);
}

bool ep_check_inputs(ep_program *p, const ep_scope *sc) {
    size_t n = p->inputs.len;
    const ep_input *in = p->inputs.data;
    check_input *c = arena_array(&p->scratch, check_input, n + 1);
    bool ok = c != NULL || ep_no_memory(p);
    for (size_t i = 0; ok && i < n; i++) ok = check_read(p, sc, &in[i], &c[i]);
    for (size_t i = 0; ok && i < n; i++)
        ok = c[i].n < 0 || check_bind(p, &in[i], c[i].n, c[i].dims, true, c[i].known);
    for (size_t i = 0; ok && i < n; i++)
        ok = in[i].constant ? check_constant(p, sc, &in[i])
                            : c[i].n >= 0 || check_number(p, sc, &in[i]);
    for (size_t i = 0; ok && i < n; i++)
        ok = c[i].n < 0 || check_bind(p, &in[i], c[i].n, c[i].dims, false, c[i].known);
    for (size_t i = 0; ok && i < n; i++)
        ok = c[i].n < 0 || check_derived(p, &in[i], c[i].n, c[i].dims, c[i].known);
    return ok && check_guards(p);
}
