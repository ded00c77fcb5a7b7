/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_trace.c - what the evaluator's operators, sizes and numbers are in a trace (py_trace.h).
 *
 * Tests: tests/cli/trace.test, tests/interop/traces.py
 */
#include "frontend/pyeval/torch/py_trace.h"

#include "frontend/pyeval/torch/py_torch.h"

enum { TRACE_MAX_NESTING = 60 };

static bool trace_is_number(const py_object *o) {
    return o->kind == PY_VALUE && (o->u.v.tag == V_INT || o->u.v.tag == V_FLOAT);
}

/* Tensors are known by themselves: their objects can be given other tensors. */
static trace_operand trace_operand_of(const py_object *o) {
    return (trace_operand){trace_is_number(o) ? o : NULL,
                           o->kind == PY_VALUE ? o->u.v : value_none()};
}

static bool trace_follows_object(const py *p, const py_object *o) {
    return (trace_is_number(o) || py_is_tensor(o)) &&
           trace_follows(p->recorder->t, trace_operand_of(o));
}

/* A node at the end, with the place r; NULL: there is no such operator. */
static ir_value *trace_add(py *p, node_kind kind, const op *o, size_t n, ir_value *const *in,
                           type *t) {
    graph *g = trace_target(p->recorder->t);
    node *made = graph_insert(g, kind == N_OP ? node_new_op(g, o, (int)n, in)
                                              : node_new(g, kind, (int)n, in, 1));
    if (t) made->outputs.data[0]->type = t;
    return made->outputs.data[0];
}

/* ---- warnings -------------------------------------------------------------------------------- */

static bool trace_warn_once(py *p, const char *text) {
    if (strmap_get(&p->recorder->warned, text)) return true;
    if (!strmap_put(&p->recorder->warned, intern(p->names, text), p))
        return diag_no_memory(p->diag), false;
    return py_torch_warn(p, (source_range){0}, text);
}

bool py_trace_warn(py *p, source_range r, const char *fmt, ...) {
    if (!py_tracing(p) || p->recorder->quiet) return true;
    strbuf text = STRBUF_INIT;
    uint32_t line, column;
    if (r.src && !r.src->library) {
        source_position(r.src, r.begin, &line, &column);
        sb_printf(&text, "%s:%u: ", r.src->name, line);
    }
    sb_puts(&text, "TracerWarning: ");
    va_list ap;
    va_start(ap, fmt);
    sb_vprintf(&text, fmt, ap);
    va_end(ap);
    bool ok = text.failed ? (diag_no_memory(p->diag), false) : trace_warn_once(p, sb_str(&text));
    sb_free(&text);
    return ok;
}

bool py_trace_read(py *p, source_range r, const py_object *o, const char *as) {
    if (!py_tracing(p) || !(py_is_tensor(o) || trace_follows_object(p, o))) return true;
    return py_trace_warn(p, r,
                         "Converting a tensor to a %s might cause the trace to be incorrect. We "
                         "can't record the data flow of Python values, so this "
                         "value will be treated as a constant in the future. This means that the "
                         "trace might not generalize to other inputs!",
                         as);
}

py_object *py_trace_item(py *p, source_range r, py_object *t, const char *op_name, const char *as) {
    if (!py_trace_read(p, r, t, as)) return NULL;
    if (p->recorder) p->recorder->paused++;
    py_object *o = py_call_operator(p, r, op_name, 1, &t, 0, NULL, NULL);
    if (p->recorder) p->recorder->paused--;
    return o;
}

/* ---- objects as arguments -------------------------------------------------------------------- */

static ir_value *trace_object_value(py *p, const py_object *o, type *t, value v, int depth);

/* The items of a sequence; for any other o, o itself as each item (dim=1 for int[1]). */
static ir_value *trace_items(py *p, const py_object *o, type *t, value v, int depth) {
    bool sequence = o->kind == PY_LIST || o->kind == PY_TUPLE, is_list = v.tag == V_LIST;
    size_t n = is_list ? v.u.list->len : v.u.tuple->len;
    ir_value **in = arena_array(p->a, ir_value *, n + 1);
    if (!in || depth > TRACE_MAX_NESTING) return diag_no_memory(p->diag), NULL;
    for (size_t i = 0; i < n; i++) {
        value item = is_list ? list_get(v.u.list, i) : value_ref(v.u.tuple->items[i]);
        in[i] = trace_object_value(p, sequence ? o->u.seq.items.data[i] : o,
                                   is_list ? type_elem(t) : t->elems[i], item, depth + 1);
        value_unref(item);
        if (!in[i]) return NULL;
    }
    return trace_add(p, is_list ? N_LIST_CONSTRUCT : N_TUPLE_CONSTRUCT, NULL, n, in, t);
}

/* A number that the trace follows, or a 0-dim tensor, for an argument of a type of numbers. NULL
 * without an error: it is a constant. */
static ir_value *trace_scalar(py *p, const py_object *o, const type *t) {
    static const struct { type_kind want; const char *of_tensor, *of_int; } conversions[] = {
        {T_INT, "aten::Int.Tensor", NULL},
        {T_FLOAT, "aten::Float.Tensor", "aten::Float.int"},
        {T_BOOL, "aten::Bool.Tensor", NULL},
        {T_NUMBER, "aten::ScalarImplicit", NULL},
    };
    if (!trace_follows_object(p, o)) return NULL;
    ir_value *v = trace_value(p->recorder->t, p->diag, trace_operand_of(o), NULL, "a number");
    for (size_t i = 0; v && i < sizeof conversions / sizeof *conversions; i++) {
        if (conversions[i].want != t->kind) continue;
        const char *key = v->type->kind == T_TENSOR ? conversions[i].of_tensor
                          : v->type->kind == T_INT  ? conversions[i].of_int
                                                    : NULL;
        const op *convert = key ? op_find(key) : NULL;
        bool fits = v->type->kind == t->kind || (t->kind == T_NUMBER && v->type->kind != T_TENSOR);
        return convert ? trace_add(p, N_OP, convert, 1, &v, NULL) : fits ? v : NULL;
    }
    return NULL;
}

static ir_value *trace_object_value(py *p, const py_object *o, type *t, value v, int depth) {
    while (t->kind == T_OPTIONAL && v.tag != V_NONE) t = type_elem(t);
    if (v.tag == V_LIST && t->kind == T_LIST) return trace_items(p, o, t, v, depth);
    if (v.tag == V_TUPLE && t->kind == T_TUPLE && o->kind == PY_TUPLE)
        return trace_items(p, o, t, v, depth);
    ir_value *scalar = trace_scalar(p, o, t);
    if (scalar || p->diag->status != CTSC_OK) return scalar;
    return trace_value(p->recorder->t, p->diag, (trace_operand){NULL, v}, t, "an argument");
}

ir_value *py_trace_value(py *p, const py_object *o, type *t, value v) {
    return trace_object_value(p, o, t, v, 0);
}

/* ---- operators ------------------------------------------------------------------------------- */

static bool trace_is_of_tensors(const type *t) {
    while (t->kind == T_OPTIONAL || t->kind == T_LIST) t = type_elem(t);
    return t->kind == T_TENSOR;
}

static bool trace_records(const schema *s) {
    for (int i = 0; i < s->nreturns; i++)
        if (trace_is_of_tensors(s->returns[i].type)) return true;
    return !s->nreturns && s->has_alias_write;
}

/* Operators that Python code calls for what they tell of the elements. */
static bool trace_warn_of_read(py *p, source_range r, const op *o, const value *full) {
    static const struct { op_symbol name; const char *as; } readers[] = {
        {SYM_ITEM, "Python number"},
        {SYM_IS_NONZERO, "Python boolean"},
        {SYM_EQUAL, "Python boolean"},
        {SYM_ALLCLOSE, "Python boolean"},
    };
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (o->name_symbol == readers[i].name)
            return py_trace_read(p, r, &(py_object){.kind = PY_VALUE, .u.v = full[0]},
                                 readers[i].as);
    return true;
}

bool py_trace_arguments(py *p, source_range r, const op *o, const py_object *const *of,
                        const value *full, bool *records, ir_value **in) {
    const schema *s = o->schema;
    *records = trace_records(s);
    if (!*records) return trace_warn_of_read(p, r, o, full);
    trace_target(p->recorder->t)->range = r;
    for (int i = 0; i < s->nargs; i++) {
        const alias_info *alias = s->args[i].alias;
        if (alias && alias->write && full[i].tag == V_TENSOR &&
            !p->recorder->write(p->recorder->ctx, full[i].u.tensor))
            return false;
        in[i] = of[i] ? py_trace_value(p, of[i], s->args[i].type, full[i])
                      : trace_value(p->recorder->t, p->diag, (trace_operand){NULL, full[i]},
                                    s->args[i].type, s->name);
        if (!in[i]) return p->diag->status == CTSC_OK ? (diag_no_memory(p->diag), false) : false;
    }
    return true;
}

/* Objects that results have become, as values: lists and tuples of tensors. */
static bool trace_result(py *p, const py_object *o, trace_operand *out) {
    if (o->kind == PY_VALUE) return *out = trace_operand_of(o), out->v = value_ref(out->v), true;
    *out = (trace_operand){NULL, value_none()};
    return py_to_value(p, (source_range){0}, o, NULL, &out->v);
}

bool py_trace_results(py *p, source_range r, const op *o, ir_value *const *in,
                      py_object *const *results) {
    const schema *s = o->schema;
    graph *g = trace_target(p->recorder->t);
    trace_operand *given = arena_array(p->a, trace_operand, s->nreturns + 1);
    if (!given) return diag_no_memory(p->diag), false;
    g->range = r;
    node *n = graph_insert(g, node_new_op(g, o, s->nargs, in));
    int made = 0;
    while (made < s->nreturns && trace_result(p, results[made], &given[made])) made++;
    bool ok = made == s->nreturns &&
              trace_record_node(p->recorder->t, p->diag, s->name, n, given) == CTSC_OK;
    while (made--) value_unref(given[made].v);
    return ok;
}

bool py_trace_node(py *p, const char *name, const node *n, py_object *o) {
    trace_operand result;
    if (!trace_result(p, o, &result)) return false;
    ctsc_status s = trace_record_node(p->recorder->t, p->diag, name, n, &result);
    value_unref(result.v);
    return s == CTSC_OK;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static py_object *trace_bind_number(py *p, ir_value *v, py_object *o) {
    trace_bind_handle(p->recorder->t, o, v);
    return p->diag->status == CTSC_OK ? o : NULL;
}

py_object *py_trace_size(py *p, source_range r, const py_object *t, int dim, py_object *size) {
    if (!size || !py_tracing(p) || !trace_follows_object(p, t)) return size;
    graph *g = trace_target(p->recorder->t);
    g->range = r;
    ir_value *in[] = {trace_value(p->recorder->t, p->diag, trace_operand_of(t), NULL, "a size"),
                      NULL};
    const op *o = op_find(dim < 0 ? "aten::numel" : "aten::size.int");
    if (in[0] && dim >= 0) in[1] = graph_constant_int(g, dim);
    if (!in[0] || !o) return p->diag->status == CTSC_OK ? size : NULL;
    return trace_bind_number(p, trace_add(p, N_OP, o, dim < 0 ? 1 : 2, in, NULL), size);
}

py_object *py_trace_number(py *p, source_range r, const char *op_name, const py_object *a,
                           const py_object *b, py_object *result) {
    if (!result || !py_tracing(p) || !trace_is_number(result)) return result;
    if (!trace_is_number(a) || (b && !trace_is_number(b))) return result;
    if (!trace_follows_object(p, a) && !(b && trace_follows_object(p, b))) return result;
    trace_target(p->recorder->t)->range = r;
    int n = b ? 2 : 1;
    ir_value *in[2] = {NULL};
    for (int i = 0; i < n; i++)
        if (!(in[i] = trace_value(p->recorder->t, p->diag, trace_operand_of(i ? b : a), NULL,
                                  op_name)))
            return NULL;
    const op *o = op_symbol_of(op_name) == SYM_POW && result->u.v.tag == V_INT
                      ? op_find("aten::pow.int_to_int")
                      : op_match(op_name, n, in);
    type_kind made = result->u.v.tag == V_INT ? T_INT : T_FLOAT;
    if (!o || o->schema->returns[0].type->kind != made) return result;
    return trace_bind_number(p, trace_add(p, N_OP, o, (size_t)n, in, NULL), result);
}
