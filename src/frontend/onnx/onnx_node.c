/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_node.c - the nodes of a graph, in order; the values of their names;
 * how operators get at their inputs and attributes, and what they make.
 *
 * A graph in a graph (a branch) is a scope of its own, which sees the names around it. A value that
 * is made into another form (a tensor of numbers) where a branch needs it is made again elsewhere.
 */
#include "frontend/onnx/onnx_internal.h"

/* ---- making nodes ---------------------------------------------------------------------------- */

ir_value *onnx_emit(onnx_program *p, const char *key, int n, ir_value *const *args) {
    enum { EMIT_ARGS = 24 };
    ir_value *in[EMIT_ARGS];
    const op *o = op_find(key);
    if (!o || n > o->schema->nargs || o->schema->nargs > EMIT_ARGS)
        return onnx_unsupported(p, "operator %s is missing", key), NULL;
    for (int i = 0; i < o->schema->nargs; i++) {
        const argument *a = &o->schema->args[i];
        in[i] = i < n ? args[i] : NULL;
        if (i >= n && a->has_default)
            in[i] = graph_constant_take(p->g, value_ref(a->default_value), a->type);
        if (!in[i] && i >= n) onnx_bad(p, "%s needs an argument '%s'", key, a->name);
        if (!in[i]) return onnx_failed(p) ? NULL : (onnx_no_memory(p), NULL);
    }
    node *made = graph_insert(p->g, node_new_op(p->g, o, o->schema->nargs, in));
    for (size_t i = 0; i < made->outputs.len; i++)
        if (made->outputs.data[i]->type->has_var) made->outputs.data[i]->type = TYPE_TENSOR;
    if (++p->made > ONNX_MAX_NODES) return onnx_bad(p, "the model is too large"), NULL;
    if (onnx_failed(p)) return onnx_no_memory(p), NULL;
    return made->outputs.len ? made->outputs.data[0] : in[0];
}

ir_value *onnx_list(onnx_program *p, type *elem, int n, ir_value *const *items) {
    for (int i = 0; i < n; i++)
        if (!items[i]) return NULL;
    node *made = node_new(p->g, N_LIST_CONSTRUCT, n, items, 1);
    made->outputs.data[0]->type = type_list(elem);
    graph_insert(p->g, made);
    p->made++;
    return onnx_failed(p) ? (onnx_no_memory(p), NULL) : made->outputs.data[0];
}

/* A constant in front of everything, for all scopes. */
static ir_value *node_constant(onnx_program *p, value v_take, type *t) {
    p->made++;
    ir_value *v = graph_constant_before_take(p->modules.anchor, v_take, t);
    return v && !onnx_failed(p) ? v : (onnx_no_memory(p), NULL);
}

ir_value *onnx_ints(onnx_program *p, int n, const int64_t *ints) {
    list *l = list_new(LIST_INT, TYPE_INT, (size_t)n);
    bool ok = l != NULL;
    for (int i = 0; ok && i < n; i++) ok = list_append_take(l, value_int(ints[i]));
    if (l && !ok) value_unref(value_list_take(l));
    return ok ? node_constant(p, value_list_take(l), NULL) : (onnx_no_memory(p), NULL);
}

ir_value *onnx_int(onnx_program *p, int64_t i) { return node_constant(p, value_int(i), NULL); }
ir_value *onnx_float(onnx_program *p, double f) { return node_constant(p, value_float(f), NULL); }
ir_value *onnx_bool(onnx_program *p, bool b) { return node_constant(p, value_bool(b), NULL); }
ir_value *onnx_none_of(onnx_program *p, type *t) { return node_constant(p, value_none(), t); }
ir_value *onnx_none(onnx_program *p) { return node_constant(p, value_none(), TYPE_NONE); }

ir_value *onnx_str(onnx_program *p, const char *s) {
    str *own = str_new(s, strlen(s));
    return own ? node_constant(p, value_str_take(own), NULL) : (onnx_no_memory(p), NULL);
}

bool onnx_unpack(onnx_program *p, ir_value *list, int n, ir_value **out) {
    if (!list) return false;
    node *made = node_new(p->g, N_LIST_UNPACK, 1, &list, n);
    for (size_t i = 0; i < made->outputs.len; i++)
        made->outputs.data[i]->type = type_elem(list->type);
    graph_insert(p->g, made);
    if (onnx_failed(p) || made->outputs.len != (size_t)n) return onnx_no_memory(p);
    memcpy(out, made->outputs.data, sizeof *out * (size_t)n);
    return true;
}

/* ---- names ----------------------------------------------------------------------------------- */

onnx_value *onnx_value_new(onnx_scope *sc, onnx_program *p, const char *name) {
    onnx_value *v = arena_new(&p->scratch, onnx_value);
    *v = (onnx_value){.name = name, .rank = -1, .dt = -1, .scope = sc};
    if (*name && strmap_get(&sc->names, name))
        return onnx_bad(p, "value '%.200s' is defined twice", name), NULL;
    if (arena_failed(&p->scratch) || (*name && !strmap_put(&sc->names, name, v)))
        return onnx_no_memory(p), NULL;
    return v;
}

onnx_value *onnx_name(onnx_scope *sc, onnx_program *p, const char *name) {
    for (onnx_scope *at = sc; at; at = at->outer) {
        onnx_value *v = strmap_get(&at->names, name);
        if (v) return v;
    }
    return onnx_bad(p, "value '%.200s' is not defined, or only further down", name), NULL;
}

static void node_name(ir_value *v, const char *name) {
    char own[100];
    size_t n = strlen(name);
    if (!n || n >= sizeof own - 1 || value_has_name(v)) return;
    size_t at = 0;
    if (name[0] >= '0' && name[0] <= '9') own[at++] = '_';
    for (size_t i = 0; i < n; i++, at++) {
        char c = name[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '_';
        own[at] = plain ? c : '_';
    }
    own[at] = '\0';
    value_set_name(v, own);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool value_is_few(const tensor *t) { return t->numel <= ONNX_MAX_INTS; }

bool onnx_is_sequence(const onnx_value *v) { return v->ir && v->ir->type->kind == T_LIST; }

bool onnx_is_optional(const onnx_value *v) { return v->ir && v->ir->type->kind == T_OPTIONAL; }

ir_value *onnx_as_any(onnx_scope *sc, onnx_program *p, onnx_value *v) {
    return v && (onnx_is_sequence(v) || onnx_is_optional(v)) ? v->ir : onnx_as_tensor(sc, p, v);
}

ir_value *onnx_as_tensor(onnx_scope *sc, onnx_program *p, onnx_value *v) {
    if (v && onnx_is_sequence(v))
        return onnx_bad(p, "'%.200s' is a sequence, not a tensor", v->name), NULL;
    if (v && onnx_is_optional(v))
        return onnx_bad(p, "'%.200s' is optional, not a tensor", v->name), NULL;
    if (!v || v->ir) return v ? v->ir : NULL;
    if (v->state) return v->ir = ep_modules_read(&p->modules, v->state);
    if (v->constant)
        return v->ir = node_constant(p, value_tensor_take(tensor_ref(v->constant)), TYPE_TENSOR);
    if (!v->ints) return onnx_bad(p, "'%.200s' has no value", v->name), NULL;
    ir_value *made, *what = onnx_int(p, v->dt < 0 ? DT_INT64 : v->dt);
    if (v->rank == 0) {
        made = ONNX_EMIT(p, "aten::tensor.int", v->ints[0], what);
    } else {
        ir_value *items = onnx_list(p, TYPE_INT, v->nints, v->ints);
        made = items ? ONNX_EMIT(p, "aten::tensor", items, what) : NULL;
    }
    if (v->scope == sc) v->ir = made;
    return made;
}

bool onnx_has_ints(onnx_program *p, onnx_value *v) {
    if (!v || v->ints) return v != NULL;
    const tensor *t = v->constant;
    if (!t || t->ndim > 1 || !value_is_few(t) || (t->dtype != DT_INT64 && t->dtype != DT_INT32))
        return false;
    ir_value **ints = arena_array(&p->scratch, ir_value *, t->numel + 1);
    if (!ints) return onnx_no_memory(p);
    for (int64_t i = 0; i < t->numel; i++) {
        const char *at = (char *)tensor_data(t) +
                         (size_t)(t->ndim ? i * t->strides[0] : 0) * dtype_size((dtype)t->dtype);
        if (!(ints[i] = onnx_int(p, dtype_load_int((dtype)t->dtype, at)))) return false;
    }
    v->ints = ints;
    v->nints = (int)t->numel;
    return true;
}

ir_value *onnx_as_ints(onnx_scope *sc, onnx_program *p, onnx_value *v) {
    int64_t known[TENSOR_MAX_DIMS];
    int n;
    if (onnx_known_ints(p, v, TENSOR_MAX_DIMS, &n, known)) return onnx_ints(p, n, known);
    if (onnx_has_ints(p, v)) return onnx_list(p, TYPE_INT, v->nints, v->ints);
    ir_value *t = onnx_as_tensor(sc, p, v);
    return t ? ONNX_EMIT(p, "ctsc::onnx_ints", t) : NULL;
}

ir_value *onnx_as_int(onnx_scope *sc, onnx_program *p, onnx_value *v) {
    if (onnx_has_ints(p, v) && v->nints == 1) return v->ints[0];
    ir_value *t = onnx_as_tensor(sc, p, v);
    return t ? ONNX_EMIT(p, "aten::Int.Tensor", t) : NULL;
}

ir_value *onnx_as_float(onnx_scope *sc, onnx_program *p, onnx_value *v) {
    double f;
    if (onnx_known_number(v, &f)) return onnx_float(p, f);
    ir_value *t = onnx_as_tensor(sc, p, v);
    return t ? ONNX_EMIT(p, "aten::Float.Tensor", t) : NULL;
}

bool onnx_known_ints(onnx_program *p, onnx_value *v, int max, int *n, int64_t *out) {
    if (!onnx_has_ints(p, v) || v->nints > max) return false;
    for (int i = 0; i < v->nints; i++) {
        value c;
        if (!ir_value_constant(v->ints[i], &c) || c.tag != V_INT) return false;
        out[i] = c.u.i;
    }
    *n = v->nints;
    return true;
}

bool onnx_known_number(const onnx_value *v, double *out) {
    value c;
    if (!v) return false;
    if (v->constant && v->constant->numel == 1 && !dtype_is_complex((dtype)v->constant->dtype))
        return *out = tensor_item_float(v->constant), true;
    if (v->ints && v->nints == 1 && ir_value_constant(v->ints[0], &c) && c.tag == V_INT)
        return *out = (double)c.u.i, true;
    return false;
}

/* ---- inputs, attributes ---------------------------------------------------------------------- */

onnx_value *onnx_in(const onnx_node *n, int i) { return i < n->nin ? n->in[i] : NULL; }

onnx_value *onnx_need(onnx_node *n, int i) {
    onnx_value *v = onnx_in(n, i);
    return v ? v : (onnx_bad(n->p, "input %d is missing", i), NULL);
}

ir_value *onnx_t(onnx_node *n, int i) {
    onnx_value *v = onnx_need(n, i);
    return v ? onnx_as_tensor(n->sc, n->p, v) : NULL;
}

ir_value *onnx_t_or_none(onnx_node *n, int i) {
    onnx_value *v = onnx_in(n, i);
    return v ? onnx_as_tensor(n->sc, n->p, v) : onnx_none(n->p);
}

ir_value *onnx_sequence(onnx_node *n, int i) {
    onnx_value *v = onnx_need(n, i);
    if (v && !onnx_is_sequence(v))
        return onnx_bad(n->p, "'%.200s' is a tensor, not a sequence", v->name), NULL;
    return v ? v->ir : NULL;
}

const Onnx__TensorShapeProto *onnx_declared(const onnx_node *n, int i) {
    const Onnx__GraphProto *g = n->p->model->graph;
    const char *name = n->proto->input[i];
    const Onnx__ValueInfoProto *v = strmap_get(&n->p->info, name);
    for (size_t k = 0; !v && k < g->n_input; k++)
        if (g->input[k]->name && !strcmp(g->input[k]->name, name)) v = g->input[k];
    /* names of functions are of their own */
    const Onnx__TypeProto__Tensor *t = v && v->type && !n->p->call ? v->type->tensor_type : NULL;
    return t ? t->shape : NULL;
}

int64_t onnx_declared_size(const onnx_node *n, int i, int64_t dim) {
    const Onnx__TensorShapeProto *shape = onnx_declared(n, i);
    if (shape && dim < 0) dim += (int64_t)shape->n_dim;
    if (!shape || dim < 0 || dim >= (int64_t)shape->n_dim || !shape->dim[dim]->has_dim_value)
        return -1;
    return shape->dim[dim]->dim_value;
}

bool onnx_wants(const onnx_node *n, int i) {
    const char *name = i < n->nout ? n->proto->output[i] : "";
    return *name && strmap_get(&n->p->uses, name);
}

static const Onnx__AttributeProto *attr_find(size_t n, Onnx__AttributeProto *const *all,
                                             const char *name) {
    for (size_t i = 0; i < n; i++)
        if (all[i]->name && !strcmp(all[i]->name, name)) return all[i];
    return NULL;
}

static bool attr_refers(const Onnx__AttributeProto *a) {
    return a && a->ref_attr_name && *a->ref_attr_name;
}

const Onnx__AttributeProto *onnx_attr(const onnx_node *n, const char *name) {
    const Onnx__AttributeProto *a = attr_find(n->proto->n_attribute, n->proto->attribute, name);
    for (const onnx_call *c = n->p->call; c && attr_refers(a); c = c->outer) {
        const char *of_call = a->ref_attr_name;
        a = attr_find(c->node->n_attribute, c->node->attribute, of_call);
        if (!a)
            return attr_find(c->function->n_attribute_proto, c->function->attribute_proto, of_call);
    }
    return a;
}

const Onnx__AttributeProto *onnx_attr_of(onnx_node *n, const char *name, int type) {
    const Onnx__AttributeProto *a = onnx_attr(n, name);
    if (a && a->has_type && a->type != type)
        return onnx_bad(n->p, "attribute '%s' is of another type than it should be", name), NULL;
    if (attr_refers(a))
        return onnx_bad(n->p, "attribute '%s' refers to one of a function", name), NULL;
    return a;
}

int64_t onnx_attr_int(onnx_node *n, const char *name, int64_t otherwise) {
    const Onnx__AttributeProto *a = onnx_attr_of(n, name, ONNX_A_INT);
    return a ? a->i : otherwise;
}

double onnx_attr_float(onnx_node *n, const char *name, double otherwise) {
    const Onnx__AttributeProto *a = onnx_attr_of(n, name, ONNX_A_FLOAT);
    return a ? (double)a->f : otherwise;
}

const char *onnx_attr_text(onnx_node *n, const char *name, const char *otherwise) {
    const Onnx__AttributeProto *a = onnx_attr_of(n, name, ONNX_A_STRING);
    if (!a) return otherwise;
    const char *own = arena_strndup(&n->p->scratch, (const char *)a->s.data, a->s.len);
    return own ? own : (onnx_no_memory(n->p), "");
}

const int64_t *onnx_attr_ints(onnx_node *n, const char *name, int *count) {
    static const int64_t none[1];
    const Onnx__AttributeProto *a = onnx_attr_of(n, name, ONNX_A_INTS);
    if (a && a->n_ints > ONNX_MAX_INTS)
        return onnx_bad(n->p, "attribute '%s' has %zu elements", name, a->n_ints), NULL;
    *count = a ? (int)a->n_ints : 0;
    return !a ? NULL : a->n_ints ? a->ints : none;
}

/* ---- what is known already ------------------------------------------------------------------- */

static bool fold_value(ir_value *v, int depth, value *out);

static bool fold_list(const node *n, int depth, value *out) {
    const type *elem = type_elem(n->outputs.data[0]->type);
    list *l = list_new(type_list_kind(elem), (type *)(uintptr_t)elem, n->inputs.len);
    bool ok = l != NULL;
    for (size_t i = 0; ok && i < n->inputs.len; i++) {
        value item;
        ok = fold_value(n->inputs.data[i], depth + 1, &item) && list_append_take(l, item);
    }
    if (ok) *out = value_list_take(l);
    else if (l) value_unref(value_list_take(l));
    return ok;
}

static bool fold_call(const node *n, int index, int depth, value *out) {
    enum { FOLD_ARGS = 24, FOLD_RESULTS = 4 };
    value args[FOLD_ARGS], results[FOLD_RESULTS] = {{0}};
    int nargs = (int)n->inputs.len, nresults = n->op->schema->nreturns;
    if (nargs > FOLD_ARGS || nresults > FOLD_RESULTS || !op_is_pure(n->op)) return false;
    bool ok = true;
    int got = 0;
    for (; got < nargs && (ok = fold_value(n->inputs.data[got], depth + 1, &args[got])); got++);
    diag d = {.max_tensor = (uint64_t)ONNX_MAX_INTS * 16};
    op_ctx cx = {.diag = &d, .op = n->op, .nargs = nargs};
    op_fn fn = ok ? op_function(n->op, nargs, args) : NULL;
    ok = fn && fn(&cx, args, results) == CTSC_OK;
    for (int i = 0; i < got; i++) value_unref(args[i]);
    if (ok) *out = value_ref(results[index]);
    for (int i = 0; i < nresults; i++) value_unref(results[i]);
    diag_clear(&d);
    return ok;
}

/* What v is, where it follows from constants alone. */
static bool fold_value(ir_value *v, int depth, value *out) {
    enum { FOLD_DEPTH = 16 };
    value c;
    if (ir_value_constant(v, &c)) return *out = value_ref(c), true;
    if (!v->def || depth > FOLD_DEPTH) return false;
    if (v->def->kind == N_LIST_CONSTRUCT) return fold_list(v->def, depth, out);
    return v->def->kind == N_OP && v->def->op && fold_call(v->def, v->index, depth, out);
}

/* Are all inputs known, and small? Weights are not. */
static bool node_is_known(const onnx_node *n) {
    for (int i = 0; i < n->nin; i++) {
        const onnx_value *v = n->in[i];
        if (!v) continue;
        if (v->constant && !v->state && value_is_few(v->constant)) continue;
        value c;
        for (int k = 0; k < v->nints; k++)
            if (!ir_value_constant(v->ints[k], &c)) return false;
        if (!v->ints) return false;
    }
    return true;
}

/* Gives v its elements; false after a failure. */
static bool node_fold(onnx_node *n, onnx_value *v) {
    value c;
    if (!node_is_known(n) || !fold_value(v->ir, 0, &c)) return true;
    if (c.tag != V_TENSOR || !value_is_few(c.u.tensor)) return value_unref(c), true;
    tensor *t = NULL;
    ctsc_status s = tensor_constant(n->p->d, c.u.tensor, &t);
    value_unref(c);
    if (s != CTSC_OK || !onnx_hold(n->p, t)) return false;
    v->constant = t;
    v->ir = NULL;
    v->rank = t->ndim;
    v->dt = t->dtype;
    return true;
}

/* ---- results --------------------------------------------------------------------------------- */

/* What the file says of a value that nothing else is known of. */
static void node_declared(const onnx_program *p, onnx_value *v) {
    const Onnx__ValueInfoProto *info = strmap_get(&p->info, v->name);
    const Onnx__TypeProto__Tensor *t = info && info->type ? info->type->tensor_type : NULL;
    if (!t) return;
    if (v->dt < 0 && t->has_elem_type) v->dt = onnx_to_dtype(t->elem_type);
    if (v->rank < 0 && t->shape && t->shape->n_dim <= TENSOR_MAX_DIMS)
        v->rank = (int)t->shape->n_dim;
}

bool onnx_out(onnx_node *n, int i, ir_value *ir, int rank, int dt) {
    if (!ir || onnx_failed(n->p)) return onnx_no_memory(n->p);
    if (i >= n->nout || !*n->proto->output[i]) return true;
    if (n->unsigned_dt && i == 0 && n->row->shape[1] == '=') {
        if (!(ir = onnx_unsigned_end(n, ir))) return false;
        dt = n->unsigned_dt;
    }
    onnx_value *v = onnx_value_new(n->sc, n->p, n->proto->output[i]);
    if (!v) return false;
    v->ir = ir;
    v->rank = rank;
    v->dt = dt;
    /* what moves elements keeps their type */
    if (n->nin && n->in[0] && n->in[0]->dt == dt) v->narrow = n->in[0]->narrow;
    node_declared(n->p, v);
    if (!onnx_is_sequence(v) && !onnx_is_optional(v) && !node_fold(n, v)) return false;
    if (v->ir) node_name(v->ir, v->name);
    return true;
}

void onnx_set_narrow(const onnx_node *n, int64_t type) {
    onnx_value *v = n->nout ? strmap_get(&n->sc->names, n->proto->output[0]) : NULL;
    if (v) v->narrow = onnx_is_narrow(type);
}

bool onnx_out_ints(onnx_node *n, int i, int count, ir_value *const *ints, int rank) {
    if (i >= n->nout || !*n->proto->output[i]) return true;
    onnx_value *v = onnx_value_new(n->sc, n->p, n->proto->output[i]);
    if (!v || !(v->ints = arena_array(&n->p->scratch, ir_value *, count + 1)))
        return onnx_no_memory(n->p);
    for (int k = 0; k < count; k++)
        if (!(v->ints[k] = ints[k])) return onnx_no_memory(n->p);
    v->nints = count;
    v->rank = rank;
    v->dt = DT_INT64;
    return true;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* "" for that of ONNX itself. */
static const char *node_domain(const Onnx__NodeProto *proto) {
    const char *domain = proto->domain ? proto->domain : "";
    return strcmp(domain, "ai.onnx") ? domain : "";
}

static bool node_refuse(onnx_program *p, const Onnx__NodeProto *proto, int since) {
    const char *domain = node_domain(proto);
    if (*domain)
        return onnx_unsupported(p, "the operator, of domain '%.100s', is not supported", domain);
    if (since)
        return onnx_bad(p,
                        "there is no such operator before version %d of the operator set, and "
                        "the model has version %d",
                        since, p->opset);
    return onnx_unsupported(p, "the operator is not supported");
}

/* What a node costs beyond others because it is long, in nodes. */
static size_t node_weight(const Onnx__NodeProto *n) {
    return (n->n_input + n->n_output + n->n_attribute) / 16;
}

bool onnx_import_node(onnx_scope *sc, onnx_program *p, const Onnx__NodeProto *proto) {
    onnx_node n = {.p = p, .sc = sc, .proto = proto};
    const char *name = proto->op_type ? proto->op_type : "";
    int since = 0;
    const Onnx__FunctionProto *function = onnx_function(p, proto);
    if (proto->n_input > ONNX_MAX_INTS || proto->n_output > ONNX_MAX_INTS)
        return onnx_bad(p, "the node has %zu inputs and %zu outputs", proto->n_input,
                        proto->n_output);
    /* functions are called by many nodes: their bodies are read anew each time */
    if ((p->made += 1 + node_weight(proto)) > ONNX_MAX_NODES)
        return onnx_bad(p, "the model is too large");
    n.row = function ? NULL : onnx_find_row(node_domain(proto), name, p->opset, &since);
    if (!n.row && !function) return node_refuse(p, proto, since);
    n.nin = (int)proto->n_input;
    n.nout = (int)proto->n_output;
    if (!(n.in = arena_array(&p->scratch, onnx_value *, n.nin + 1))) return onnx_no_memory(p);
    for (int i = 0; i < n.nin; i++) {
        if (*proto->input[i] && !(n.in[i] = onnx_name(sc, p, proto->input[i]))) return false;
        if (n.in[i] && n.in[i]->absent) n.in[i] = NULL;
    }
    if (function) return onnx_inline(&n, function);
    bool done;
    if (!onnx_unsigned_begin(&n) || !onnx_unsigned_wide(&n, &done)) return onnx_no_memory(p);
    /* an attribute of another type may have been found on the way */
    if (!done && (!(n.row->fn ? n.row->fn(&n, n.row->text) : onnx_template(&n, n.row->text)) ||
                  onnx_failed(p)))
        return onnx_no_memory(p);
    for (int i = 0; i < n.nout; i++)
        if (onnx_wants(&n, i) && !strmap_get(&sc->names, proto->output[i]))
            return onnx_unsupported(p, "its output %d is not supported", i);
    return true;
}

bool onnx_nodes(onnx_scope *sc, onnx_program *p, size_t count, Onnx__NodeProto *const *nodes) {
    const Onnx__NodeProto *outer = p->at;
    size_t index = p->index;
    source_range range = p->g->range;
    for (size_t i = 0; i < count; i++) {
        p->at = nodes[i];
        p->index = i;
        uintptr_t place = (uintptr_t)ptrmap_get(&p->places, p->at);
        if (place)
            p->g->range = (source_range){
                p->listing, (uint32_t)place - 1,
                (uint32_t)(place - 1 + strcspn(p->listing->text + place - 1, "\n"))};
        if (!onnx_import_node(sc, p, p->at)) return false;
    }
    p->at = outer;
    p->index = index;
    p->g->range = range;
    return true;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* A name that an attribute can have: "layer1.0.conv1.weight" stays, "onnx::MatMul_12" does not. */
static const char *initializer_attribute(onnx_program *p, const char *name) {
    char *own = arena_printf(&p->scratch, "%.200s", name);
    if (!own) return NULL;
    for (char *c = own; *c; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                     (*c >= '0' && *c <= '9') || *c == '_' ||
                     (*c == '.' && c != own && c[-1] != '.' && c[1] && c[1] != '.');
        if (!plain) *c = '_';
    }
    if (!strmap_get(&p->attributes, own)) return own;
    uintptr_t i = (uintptr_t)strmap_get(&p->stems, own);
    const char *q;
    do q = arena_printf(&p->scratch, "%s_%zu", own, (size_t)i++);
    while (q && strmap_get(&p->attributes, q));
    return strmap_put(&p->stems, own, (void *)i) ? q : NULL;
}

/* A prefix of another name, or the other way round, is a module and cannot be a tensor as well. */
static bool initializer_note(onnx_program *p, const char *name) {
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
        const char *part = arena_strndup(&p->scratch, name, (size_t)(dot - name));
        if (!part || !strmap_put(&p->attributes, part, p)) return onnx_no_memory(p);
    }
    return strmap_put(&p->attributes, name, p) || onnx_no_memory(p);
}

static bool initializer_clashes(const onnx_program *p, const char *name) {
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.'))
        if (strmap_getn(&p->tensors, name, (size_t)(dot - name))) return true;
    return false;
}

/* Numbers, and lists of sizes, are constants; the rest is state of the module. */
static bool initializer_is_small(const tensor *t) {
    return t->numel <= 1 || (t->numel <= 64 && !dtype_is_float((dtype)t->dtype));
}

static bool initializer_add(onnx_scope *sc, onnx_program *p, Onnx__TensorProto *t) {
    if (!t->name || !*t->name) return onnx_bad(p, "an initialiser has no name");
    onnx_value *v = onnx_value_new(sc, p, t->name);
    tensor *x = v ? onnx_tensor_of(p, t) : NULL;
    if (!x) return false;
    v->bits = onnx_type_bits(t->data_type);
    v->narrow = onnx_is_narrow(t->data_type);
    return onnx_weight(p, v, x);
}

bool onnx_weight(onnx_program *p, onnx_value *v, tensor *x) {
    v->constant = x;
    v->rank = x->ndim;
    v->dt = x->dtype;
    if (initializer_is_small(x)) return true;
    const char *name = initializer_attribute(p, v->name);
    char *flat = name && initializer_clashes(p, name) ? arena_strdup(&p->scratch, name) : NULL;
    for (char *c = flat; c && *c; c++)
        if (*c == '.') *c = '_';
    if (flat) name = initializer_attribute(p, flat);
    if (!name || !initializer_note(p, name) || !strmap_put(&p->tensors, name, x))
        return onnx_no_memory(p);
    v->state = ep_modules_add(&p->modules, name, EP_PARAMETER, value_tensor_take(tensor_ref(x)));
    return v->state != NULL;
}

bool onnx_initializers(onnx_scope *sc, onnx_program *p, const Onnx__GraphProto *g) {
    if (g->n_sparse_initializer)
        return onnx_unsupported(p, "sparse initialisers are not supported");
    for (size_t i = 0; i < g->n_initializer; i++)
        if (!initializer_add(sc, p, g->initializer[i])) return false;
    return true;
}
