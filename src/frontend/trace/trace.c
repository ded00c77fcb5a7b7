/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.c - records a program's calls: maps its values to values of the graph.
 *
 * Method. Handles are looked up first, since they also distinguish equal numbers; then
 * tensors by identity. When a call gives a list or a tuple of tensors, its elements
 * are unpacked at once, so that each is known by itself; unused ones are removed at
 * the end. The modules and classes of the result are made in trace_module.c.
 * Tests: tests/unit/test_trace.c
 */
#include "frontend/trace/trace_internal.h"

#include <stdarg.h>

enum { TRACE_MAX_DEPTH = 60 };

/* ---- life ------------------------------------------------------------------------------------ */

/* root NULL: a class called class_name is made. */
static trace *trace_begin(unit *u, diag *d, object *root, const char *class_name, trace_sink sink) {
    trace *t = mem_zalloc(sizeof *t);
    bool ok = t && arena_init(&t->arena) && (t->g = graph_new());
    if (ok) {
        t->unit = unit_ref(u);
        t->sink = sink;
        ok = root ? trace_begin_given(t, d, root) : trace_begin_modules(t, d, class_name);
    }
    if (ok) {
        t->self = block_add_param(t->g->root, t->root.cls);
        value_set_name(t->self, "self");
        t->root.ir = t->self;
        t->anchor = graph_insert(t->g, node_new(t->g, N_CONSTANT, 0, NULL, 1));
        t->anchor->outputs.data[0]->type = TYPE_NONE;
        ok = !arena_failed(&t->g->arena) && !arena_failed(&t->arena);
    }
    if (ok) return t;
    if (d->status == CTSC_OK) diag_no_memory(d);
    trace_free(t);
    return NULL;
}

trace *trace_new(unit *u, diag *d, const char *class_name, trace_sink sink) {
    return trace_begin(u, d, NULL, class_name, sink);
}

trace *trace_new_in(unit *u, diag *d, object *root, trace_sink sink) {
    return trace_begin(u, d, root, NULL, sink);
}

void trace_free(trace *t) {
    if (!t) return;
    for (size_t i = 0; i < t->calls.len; i++) value_unref(t->calls.data[i].result);
    for (size_t i = 0; i < t->held.len; i++) value_unref(t->held.data[i]);
    trace_free_modules(t);
    vec_free(&t->calls);
    vec_free(&t->held);
    vec_free(&t->inputs);
    ptrmap_free(&t->handles);
    ptrmap_free(&t->tensors);
    ptrmap_free(&t->constants);
    ptrmap_free(&t->objects);
    graph_free(t->g);
    unit_unref(t->unit);
    arena_free(&t->arena);
    mem_free(t);
}

void trace_keep_graph(trace *t) { t->keep_graph = true; }
void trace_keep_results(trace *t) { t->keep_results = true; }

const graph *trace_graph(const trace *t) { return t->g; }
graph *trace_target(trace *t) { return t->g; }
size_t trace_call_count(const trace *t) { return t->calls.len; }
const trace_call *trace_call_at(const trace *t, size_t i) { return &t->calls.data[i]; }

void trace_warn(const trace *t, const char *fmt, ...) {
    if (!t->sink.warn) return;
    strbuf sb = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    sb_vprintf(&sb, fmt, ap);
    va_end(ap);
    if (!sb.failed) t->sink.warn(t->sink.ctx, sb_str(&sb));
    sb_free(&sb);
}

/* A reference kept until the end: what is known by its address must not go and come back
 * as something else. */
static bool trace_hold(trace *t, value v) {
    value ref = value_ref(v);
    if (vec_push(&t->held, ref)) return true;
    value_unref(ref);
    return false;
}

ctsc_status trace_status(const trace *t, diag *d) {
    if (d->status != CTSC_OK) return d->status;
    return arena_failed(&t->g->arena) || arena_failed(&t->arena) || arena_failed(&t->unit->arena)
               ? diag_no_memory(d)
               : CTSC_OK;
}

/* ---- what is known --------------------------------------------------------------------------- */

static ir_value *trace_node1(trace *t, node *n, type *ty) {
    graph_insert(t->g, n);
    ir_value *out = n->outputs.data[0];
    out->type = ty;
    return out;
}

static bool trace_learn(trace *t, value v, ir_value *ir, int depth);

static bool trace_learn_dict(trace *t, const dict *dict, ir_value *ir, int depth) {
    const op *get = op_find("aten::__getitem__.Dict_str");
    bool ok = get != NULL;
    for (size_t i = 0; i < dict->used && ok; i++) {
        const dict_entry *e = &dict->entries[i];
        if (e->key.tag == V_UNINIT) continue;
        ir_value *in[] = {ir, graph_constant_take(t->g, value_ref(e->key), TYPE_STR)};
        ok = in[1] && trace_learn(t, e->val,
                                  trace_node1(t, node_new_op(t->g, get, 2, in), ir->type->elems[1]),
                                  depth + 1);
    }
    return ok;
}

/* Tensors in v, which the graph calls ir, are known by themselves. */
static bool trace_learn(trace *t, value v, ir_value *ir, int depth) {
    if (v.tag == V_TENSOR) return ptrmap_put(&t->tensors, v.u.tensor, ir) && trace_hold(t, v);
    if (v.tag == V_DICT && ir->type->kind == T_DICT && ir->type->elems[0]->kind == T_STR &&
        depth <= TRACE_MAX_DEPTH)
        return trace_learn_dict(t, v.u.dict, ir, depth);
    bool tensors = v.tag == V_LIST && v.u.list->kind == LIST_TENSOR && ir->type->kind == T_LIST;
    bool items = v.tag == V_TUPLE && ir->type->kind == T_TUPLE &&
                 (size_t)ir->type->nelems == v.u.tuple->len;
    size_t n = tensors ? v.u.list->len : items ? v.u.tuple->len : 0;
    if (!n || depth > TRACE_MAX_DEPTH) return true;
    node *unpack = node_new(t->g, tensors ? N_LIST_UNPACK : N_TUPLE_UNPACK, 1, &ir, 0);
    graph_insert(t->g, unpack);
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        ir_value *out = node_add_output(unpack, tensors ? type_elem(ir->type) : ir->type->elems[i]);
        ok = tensors ? trace_learn(t, value_tensor_take(v.u.list->u.tensors[i]), out, depth + 1)
                     : trace_learn(t, v.u.tuple->items[i], out, depth + 1);
    }
    return ok;
}

void trace_bind_handle(trace *t, const void *handle, ir_value *v) {
    if (handle && !ptrmap_put(&t->handles, handle, v)) t->arena.failed = true;
}

static void trace_bind(trace *t, trace_operand x, ir_value *v) {
    trace_bind_handle(t, x.handle, v);
    if (!trace_learn(t, x.v, v, 0)) t->arena.failed = true;
}

bool trace_follows(const trace *t, trace_operand x) {
    if (x.handle && ptrmap_get(&t->handles, x.handle)) return true;
    return x.v.tag == V_TENSOR && ptrmap_get(&t->tensors, x.v.u.tensor);
}

bool trace_knows(const trace *t, trace_operand x) {
    if (x.handle &&
        (ptrmap_get(&t->handles, x.handle) || ptrmap_get(&t->attribute_handles, x.handle)))
        return true;
    if (x.v.tag == V_TENSOR)
        return ptrmap_get(&t->tensors, x.v.u.tensor) ||
               ptrmap_get(&t->attribute_tensors, x.v.u.tensor);
    if (x.v.tag == V_LIST && x.v.u.list->kind == LIST_TENSOR) {
        for (size_t i = 0; i < x.v.u.list->len; i++)
            if (trace_knows(t, (trace_operand){NULL, value_tensor_take(x.v.u.list->u.tensors[i])}))
                return true;
    }
    if (x.v.tag == V_TUPLE)
        for (size_t i = 0; i < x.v.u.tuple->len; i++)
            if (trace_knows(t, (trace_operand){NULL, x.v.u.tuple->items[i]})) return true;
    return false;
}

/* ---- constants ------------------------------------------------------------------------------- */

static ir_value *trace_tensor_constant(trace *t, diag *d, value v, const char *where) {
    ir_value *known = ptrmap_get(&t->constants, v.u.tensor);
    if (known) return known;
    strbuf sb = STRBUF_INIT;
    const tensor *x = v.u.tensor;
    for (int i = 0; i < x->ndim; i++)
        sb_printf(&sb, "%s%lld", i ? ", " : "", (long long)x->sizes[i]);
    trace_warn(
        t,
        "%s: a tensor that is neither an input, nor a parameter, nor the result of a recorded call "
        "becomes a constant of the trace "
        "(%s, sizes [%s])",
        where, dtype_table[x->dtype].ir_name, sb_str(&sb));
    sb_free(&sb);
    tensor *copy = NULL;
    if (tensor_clone(d, v.u.tensor, &copy) != CTSC_OK) return NULL;
    copy->requires_grad = x->requires_grad;
    ir_value *c = graph_constant_take(t->g, value_tensor_take(copy), TYPE_TENSOR);
    if (!c || !ptrmap_put(&t->constants, x, c) || !trace_hold(t, v)) return diag_no_memory(d), NULL;
    return c;
}

static ir_value *trace_resolve(trace *t, diag *d, trace_operand x, type *want, const char *where,
                               int depth);

static value trace_element(value v, size_t i) {
    return v.tag == V_LIST ? list_get(v.u.list, i) : value_ref(v.u.tuple->items[i]);
}

/* A list or tuple whose items are looked up one by one. */
static ir_value *trace_sequence(trace *t, diag *d, value v, type *want, const char *where,
                                int depth) {
    size_t n = v.tag == V_LIST ? v.u.list->len : v.u.tuple->len;
    type *ty = want && want->kind == (v.tag == V_LIST ? T_LIST : T_TUPLE)
                   ? want
                   : type_without_details(type_of_value(v));
    if (v.tag == V_TUPLE && ((size_t)ty->nelems != n || ty->kind != T_TUPLE)) ty = type_of_value(v);
    node *made = node_new(t->g, v.tag == V_LIST ? N_LIST_CONSTRUCT : N_TUPLE_CONSTRUCT, 0, NULL, 1);
    for (size_t i = 0; i < n; i++) {
        value item = trace_element(v, i);
        ir_value *ir = trace_resolve(t, d, (trace_operand){NULL, item},
                                     v.tag == V_LIST ? type_elem(ty) : ty->elems[i], where,
                                     depth + 1);
        value_unref(item);
        if (!ir || trace_status(t, d) != CTSC_OK) return NULL;
        node_add_input(made, ir);
    }
    return trace_node1(t, made, ty);
}

static ir_value *trace_dict(trace *t, diag *d, value v, type *want, const char *where, int depth) {
    type *ty = want && want->kind == T_DICT ? want : type_without_details(type_of_value(v));
    node *made = node_new(t->g, N_DICT_CONSTRUCT, 0, NULL, 1);
    for (size_t i = 0; i < v.u.dict->used; i++) {
        const dict_entry *e = &v.u.dict->entries[i];
        if (e->key.tag == V_UNINIT) continue;
        ir_value *key = trace_resolve(t, d, (trace_operand){NULL, e->key}, ty->elems[0], where,
                                      depth + 1);
        ir_value *val = key ? trace_resolve(t, d, (trace_operand){NULL, e->val}, ty->elems[1],
                                            where, depth + 1)
                            : NULL;
        if (!val) return NULL;
        node_add_input(made, key);
        node_add_input(made, val);
    }
    return trace_node1(t, made, ty);
}

static ir_value *trace_constant(trace *t, diag *d, value v, type *want, const char *where,
                                int depth) {
    if (want && want->kind == T_OPTIONAL && v.tag != V_NONE) want = type_elem(want);
    if (depth > TRACE_MAX_DEPTH)
        return diag_fail(d, CTSC_LIMIT, "%s: a value nests too deeply", where), NULL;
    switch (v.tag) {
    case V_TENSOR: return trace_tensor_constant(t, d, v, where);
    case V_LIST:
    case V_TUPLE: return trace_sequence(t, d, v, want, where, depth);
    case V_DICT: return trace_dict(t, d, v, want, where, depth);
    case V_NONE: return graph_constant_none(t->g);
    case V_BOOL:
    case V_INT:
    case V_FLOAT:
    case V_COMPLEX:
    case V_STR:
    case V_DEVICE: {
        ir_value *c = graph_constant_take(t->g, value_ref(v), NULL);
        return c ? c : (diag_no_memory(d), NULL);
    }
    default: {
        strbuf sb = STRBUF_INIT;
        type_print_python(type_of_value(v), &sb);
        diag_fail(d, CTSC_UNSUPPORTED, "%s: a value of type %s cannot be a constant of a trace",
                  where, sb_str(&sb));
        sb_free(&sb);
        return NULL;
    }
    }
}

/* The graph's value for an operand. want: the requested type, which decides between types
 * of lists; NULL: any. */
static ir_value *trace_resolve(trace *t, diag *d, trace_operand x, type *want, const char *where,
                               int depth) {
    ir_value *v = x.handle ? ptrmap_get(&t->handles, x.handle) : NULL;
    bool other_list = v && want && v->type->kind == T_LIST && want->kind == T_LIST &&
                      v->type != want && x.v.tag == V_LIST;
    if (v && !other_list) return v;
    if (!v && x.handle) v = trace_attribute_of(t, d, x);
    if (!v && x.v.tag == V_TENSOR) v = ptrmap_get(&t->tensors, x.v.u.tensor);
    if (!v && x.v.tag == V_TENSOR) v = trace_attribute_of(t, d, (trace_operand){NULL, x.v});
    if ((v && !other_list) || d->status != CTSC_OK) return v;
    return trace_constant(t, d, x.v, want, where, depth);
}

/* ---- recording ------------------------------------------------------------------------------- */

bool trace_name_fits(const char *name, size_t n, bool number) {
    static const char *const keywords[] = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
    bool ok = n && (number || !(name[0] >= '0' && name[0] <= '9'));
    for (size_t i = 0; i < n; i++) {
        char c = name[i];
        ok = ok && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_');
    }
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords && ok; i++)
        ok = strlen(keywords[i]) != n || memcmp(keywords[i], name, n);
    return ok;
}

static ctsc_status trace_check_name(const trace *t, diag *d, const char *name) {
    if (!trace_name_fits(name, strlen(name), false) || !strcmp(name, "self"))
        return diag_fail(d, CTSC_USAGE, "'%s' cannot be the name of an input", name);
    for (size_t i = 0; i < t->inputs.len; i++)
        if (!strcmp(t->inputs.data[i], name))
            return diag_fail(d, CTSC_USAGE, "there are two inputs called '%s'", name);
    return CTSC_OK;
}

ctsc_status trace_input(trace *t, diag *d, const char *name, trace_operand x) {
    ctsc_status s = trace_check_name(t, d, name);
    if (s != CTSC_OK) return s;
    type *ty = type_without_details(type_of_value(x.v));
    if (ty->of_class || ty->kind == T_ANY)
        return diag_fail(d, CTSC_UNSUPPORTED, "input '%s': objects cannot be inputs of a trace",
                         name);
    const char *own = arena_strdup(&t->arena, name);
    ir_value *p = block_add_param(t->g->root, ty);
    value_set_name(p, name);
    if (arena_failed(&t->arena) || !vec_push(&t->inputs, own)) return diag_no_memory(d);
    trace_bind(t, x, p);
    return trace_status(t, d);
}

static bool trace_keeps(const trace *t, value v) {
    return t->keep_results &&
           (v.tag == V_TENSOR || v.tag == V_LIST || v.tag == V_TUPLE || v.tag < V_COMPLEX);
}

/* What v is now: tensors are written in place later. */
static ctsc_status trace_snapshot(diag *d, value v, value *out) {
    if (v.tag == V_TENSOR) {
        tensor *c = NULL;
        ctsc_status s = tensor_clone(d, v.u.tensor, &c);
        if (s == CTSC_OK) *out = value_tensor_take(c);
        return s;
    }
    if (v.tag != V_LIST && v.tag != V_TUPLE) return *out = value_ref(v), CTSC_OK;
    size_t n = v.tag == V_LIST ? v.u.list->len : v.u.tuple->len;
    tuple *copy = tuple_new(n, NULL);
    ctsc_status s = copy ? CTSC_OK : diag_no_memory(d);
    for (size_t i = 0; i < n && s == CTSC_OK; i++) {
        value item = trace_element(v, i);
        s = trace_snapshot(d, item, &copy->items[i]);
        value_unref(item);
    }
    if (s == CTSC_OK) *out = value_tuple_take(copy);
    else if (copy) value_unref(value_tuple_take(copy));
    return s;
}

static ctsc_status trace_note_call(trace *t, diag *d, const char *op, ir_value *v, value result) {
    trace_call c = {arena_strdup(&t->arena, op), v, value_none()};
    if (trace_keeps(t, result)) TRY(trace_snapshot(d, result, &c.result));
    if (vec_push(&t->calls, c)) return CTSC_OK;
    value_unref(c.result);
    return diag_no_memory(d);
}

ctsc_status trace_arguments(trace *t, diag *d, const char *op, const graph *g, size_t n,
                            const trace_operand *args, ir_value **in) {
    for (size_t i = 0; i < n && trace_status(t, d) == CTSC_OK; i++)
        in[i] = trace_resolve(t, d, args[i], g->root->params.data[i]->type, op, 0);
    return trace_status(t, d);
}

ctsc_status trace_record(trace *t, diag *d, const char *op, const graph *g, ir_value *const *in,
                         trace_operand result) {
    ir_value *out = NULL;
    graph_inline(t->g, t->g->root, NULL, g, in, &out);
    ctsc_status s = trace_status(t, d);
    if (s != CTSC_OK || !out) return s;
    trace_bind(t, result, out);
    s = trace_note_call(t, d, op, out, result.v);
    return s == CTSC_OK ? trace_status(t, d) : s;
}

ir_value *trace_value(trace *t, diag *d, trace_operand x, type *want, const char *op) {
    return trace_resolve(t, d, x, want, op, 0);
}

ctsc_status trace_record_node(trace *t, diag *d, const char *op, const node *n,
                              const trace_operand *results) {
    for (size_t i = 0; i < n->outputs.len; i++) trace_bind(t, results[i], n->outputs.data[i]);
    ctsc_status s = trace_status(t, d);
    return s == CTSC_OK && n->outputs.len
               ? trace_note_call(t, d, op, n->outputs.data[0], results[0].v)
               : s;
}

ctsc_status trace_container(trace *t, diag *d, trace_operand container, size_t n,
                            const trace_operand *items) {
    bool known = false;
    for (size_t i = 0; i < n; i++) known |= trace_knows(t, items[i]);
    if (!known) return CTSC_OK;
    type *ty = type_without_details(type_of_value(container.v));
    node *made = node_new(t->g, container.v.tag == V_LIST ? N_LIST_CONSTRUCT : N_TUPLE_CONSTRUCT, 0,
                          NULL, 1);
    for (size_t i = 0; i < n; i++) {
        ir_value *v = trace_resolve(t, d, items[i],
                                    container.v.tag == V_LIST ? type_elem(ty) : ty->elems[i],
                                    "an item of a container", 0);
        if (!v) return d->status;
        node_add_input(made, v);
    }
    trace_bind_handle(t, container.handle, trace_node1(t, made, ty));
    return trace_status(t, d);
}

ctsc_status trace_item(trace *t, diag *d, trace_operand container, size_t i, trace_operand item) {
    if (!trace_knows(t, container)) return CTSC_OK;
    ir_value *c = trace_resolve(t, d, container, NULL, "an item", 0);
    if (!c) return d->status;
    ir_value *in[] = {c, graph_constant_int(t->g, (int64_t)i)}, *out = NULL;
    if (c->type->kind == T_TUPLE) {
        out = trace_node1(t, node_new(t->g, N_TUPLE_INDEX, 2, in, 1), c->type->elems[i]);
    } else {
        const op *o = op_find("aten::__getitem__.t");
        if (!o) return diag_fail(d, CTSC_INTERNAL, "no operator takes items of lists");
        out = trace_node1(t, node_new_op(t->g, o, 2, in), type_elem(c->type));
    }
    if (item.v.tag == V_TENSOR && ptrmap_get(&t->tensors, item.v.u.tensor))
        trace_bind_handle(t, item.handle, out);
    else trace_bind(t, item, out);
    return trace_status(t, d);
}

/* ---- the end --------------------------------------------------------------------------------- */

ctsc_status trace_return(trace *t, diag *d, trace_operand result) {
    if (!trace_knows(t, result))
        trace_warn(t, "the result was not computed from an input or a parameter: it is a constant");
    ir_value *v = trace_resolve(t, d, result, NULL, "the result", 0);
    if (!v) return d->status;
    block_add_return(t->g->root, v);
    return trace_status(t, d);
}
