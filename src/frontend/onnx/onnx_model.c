/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_model.c - a model as a module: its initialisers as attributes, its graph as forward.
 *
 * An input that is an initialiser too is the initialiser: it is not an argument. An output is what
 * forward gives; several are a tuple. What the file says of inputs (dtypes, dims that are numbers)
 * is checked at each call, as other runtimes do: the graph was made for it.
 *
 * Messages of a running program point at a listing of the nodes, one line each, that is made here.
 */
#include "base/text/text.h"
#include "frontend/onnx/onnx_internal.h"

/* ---- messages -------------------------------------------------------------------------------- */

static bool model_fail_v(onnx_program *p, ctsc_status status, const char *fmt, va_list ap) {
    if (p->d->status != CTSC_OK) return false;
    strbuf sb = STRBUF_INIT;
    if (p->at) {
        sb_printf(&sb, "%s, node %zu", p->record, p->index);
        if (p->at->name && *p->at->name) sb_printf(&sb, " '%.200s'", p->at->name);
        sb_printf(&sb, " (%.100s): ", p->at->op_type ? p->at->op_type : "");
    } else {
        sb_printf(&sb, "%s: ", p->record);
    }
    sb_vprintf(&sb, fmt, ap);
    diag_fail(p->d, status, "%s", sb_str(&sb));
    sb_free(&sb);
    return false;
}

bool onnx_bad(onnx_program *p, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    model_fail_v(p, CTSC_BAD_FILE, fmt, ap);
    va_end(ap);
    return false;
}

bool onnx_unsupported(onnx_program *p, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    model_fail_v(p, CTSC_UNSUPPORTED, fmt, ap);
    va_end(ap);
    return false;
}

bool onnx_no_memory(onnx_program *p) {
    if (p->d->status == CTSC_OK) diag_no_memory(p->d);
    return false;
}

bool onnx_failed(const onnx_program *p) {
    return p->d->status != CTSC_OK || arena_failed(&p->scratch) || arena_failed(&p->unit->arena) ||
           (p->g && arena_failed(&p->g->arena));
}

/* ---- what is read, and the listing ----------------------------------------------------------- */

static bool model_note_use(onnx_program *p, const char *name) {
    uintptr_t n = (uintptr_t)strmap_get(&p->uses, name);
    return !*name || strmap_put(&p->uses, name, (void *)(n + 1)) || onnx_no_memory(p);
}

static void model_list_names(strbuf *sb, size_t n, char *const *names) {
    for (size_t i = 0; i < n; i++) sb_printf(sb, "%s%.100s", i ? ", " : "", names[i]);
}

static void model_list_node(strbuf *sb, const Onnx__NodeProto *n) {
    size_t begin = sb->len;
    model_list_names(sb, n->n_output, n->output);
    sb_printf(sb, " = %.100s(", n->op_type ? n->op_type : "");
    model_list_names(sb, n->n_input, n->input);
    sb_putc(sb, ')');
    if (n->name && *n->name) sb_printf(sb, "  # %.200s", n->name);
    for (size_t i = begin; i < sb->len; i++)
        if (sb->data[i] == '\n' || sb->data[i] == '\r') sb->data[i] = ' ';
    sb_putc(sb, '\n');
}

static bool model_note_graph(onnx_program *p, const Onnx__GraphProto *g, strbuf *sb);

static bool model_note_nodes(onnx_program *p, size_t count, Onnx__NodeProto *const *nodes,
                             strbuf *sb) {
    for (size_t i = 0; i < count; i++) {
        const Onnx__NodeProto *n = nodes[i];
        if (sb->len < UINT32_MAX / 2) {
            if (!ptrmap_put(&p->places, n, (void *)(sb->len + 1))) return onnx_no_memory(p);
            model_list_node(sb, n);
        }
        for (size_t k = 0; k < n->n_input; k++)
            if (!model_note_use(p, n->input[k])) return false;
        for (size_t k = 0; k < n->n_attribute; k++)
            if (n->attribute[k]->g && !model_note_graph(p, n->attribute[k]->g, sb)) return false;
    }
    return true;
}

/* In the order in which nodes are imported. Graphs nest no deeper than onnx_wire.c allows. */
static bool model_note_graph(onnx_program *p, const Onnx__GraphProto *g, strbuf *sb) {
    if (!model_note_nodes(p, g->n_node, g->node, sb)) return false;
    for (size_t i = 0; i < g->n_output; i++)
        if (!model_note_use(p, g->output[i]->name ? g->output[i]->name : "")) return false;
    for (size_t i = 0; i < g->n_value_info; i++)
        if (g->value_info[i]->name &&
            !strmap_put(&p->info, g->value_info[i]->name, g->value_info[i]))
            return onnx_no_memory(p);
    return true;
}

static bool model_note(onnx_program *p) {
    strbuf sb = STRBUF_INIT;
    bool ok = model_note_graph(p, p->model->graph, &sb);
    for (size_t i = 0; ok && i < p->model->n_functions; i++) {
        const Onnx__FunctionProto *f = p->model->functions[i];
        ok = model_note_nodes(p, f->n_node, f->node, &sb);
        for (size_t k = 0; ok && k < f->n_output; k++) ok = model_note_use(p, f->output[k]);
    }
    if (ok && (sb.failed || !(p->listing = source_new("model.onnx", sb_str(&sb), sb.len))))
        ok = onnx_no_memory(p);
    sb_free(&sb);
    if (ok) graph_hold_source(p->g, p->listing);
    return ok;
}

/* ---- versions -------------------------------------------------------------------------------- */

bool onnx_version_is_known(onnx_program *p, int64_t version) {
    return (version >= ONNX_MIN_OPSET && version <= ONNX_MAX_OPSET) ||
           onnx_unsupported(
               p, "the model has version %lld of ONNX's operator set; %d to %d are supported",
               (long long)version, ONNX_MIN_OPSET, ONNX_MAX_OPSET);
}

static bool model_version(onnx_program *p) {
    const Onnx__ModelProto *m = p->model;
    int64_t version = onnx_standard_version(m->n_opset_import, m->opset_import);
    if (!m->graph) return onnx_bad(p, "the model has no graph");
    if (version < 0) return onnx_bad(p, "the model does not say the version of its operators");
    if (!onnx_version_is_known(p, version)) return false;
    p->opset = (int)version;
    return true;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* The argument's name: that of the input as far as it can be one. */
static const char *model_argument(onnx_program *p, const char *name) {
    char *own = arena_printf(&p->unit->arena, "%s%.190s", *name >= '0' && *name <= '9' ? "_" : "",
                             name);
    for (char *c = own; c && *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              *c == '_'))
            *c = '_';
    bool taken = own && (!*own || !strcmp(own, "self"));
    for (size_t i = 0; own && !taken && i < p->params.len; i++)
        taken = !strcmp(p->params.data[i], own);
    const char *q = taken ? arena_printf(&p->unit->arena, "input_%zu", p->params.len) : own;
    return q ? intern(&p->unit->names, q) : NULL;
}

/* dims that are numbers, and the dtype */
static bool model_check_input(onnx_program *p, ir_value *v, const char *name,
                              const Onnx__TypeProto__Tensor *t, int dt) {
    int64_t sizes[TENSOR_MAX_DIMS];
    if (!ONNX_EMIT(p, "aten::_assert_tensor_metadata", v, onnx_none(p), onnx_none(p),
                   onnx_int(p, dt)))
        return false;
    if (!t->shape) return true;
    for (size_t i = 0; i < t->shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = t->shape->dim[i];
        sizes[i] = dim->has_dim_value && dim->dim_value >= 0 ? dim->dim_value : -1;
    }
    return ONNX_EMIT(p, "ctsc::check_input", v, onnx_str(p, name),
                     onnx_ints(p, (int)t->shape->n_dim, sizes), onnx_ints(p, 0, NULL),
                     onnx_ints(p, 0, NULL)) != NULL;
}

static bool model_input(onnx_scope *sc, onnx_program *p, const Onnx__ValueInfoProto *info) {
    const char *name = info->name ? info->name : "";
    const Onnx__TypeProto__Tensor *t = info->type ? info->type->tensor_type : NULL;
    int dt = t ? onnx_kept_dtype(t->elem_type) : -1;
    const Onnx__TypeProto__Optional *o = info->type ? info->type->optional_type : NULL;
    bool sequence = info->type && info->type->sequence_type;
    if (!*name) return onnx_bad(p, "an input has no name");
    const onnx_value *known = strmap_get(&sc->names, name);
    if (known && known->constant) return true; /* an initialiser */
    if (!t && !sequence && !onnx_optional_type(o))
        return onnx_unsupported(p, "input '%.200s' is not a tensor", name);
    if (t && dt < 0)
        return onnx_unsupported(p, "input '%.200s' is of type %s", name,
                                onnx_type_name(t->elem_type) ? onnx_type_name(t->elem_type)
                                                             : "unknown");
    if (t && t->shape && t->shape->n_dim > TENSOR_MAX_DIMS)
        return onnx_bad(p, "input '%.200s' has %zu dims", name, t->shape->n_dim);
    onnx_value *v = onnx_value_new(sc, p, name);
    const char *own = v ? model_argument(p, name) : NULL;
    if (!own || !vec_push(&p->params, own)) return onnx_no_memory(p);
    v->ir = block_add_param(p->g->root, sequence ? type_list(TYPE_TENSOR)
                                        : o      ? onnx_optional_type(o)
                                                 : TYPE_TENSOR);
    value_set_name(v->ir, own);
    if (!t) return true;
    v->rank = t->shape ? (int)t->shape->n_dim : -1;
    v->dt = dt;
    v->narrow = onnx_is_narrow(t->elem_type);
    return true;
}

/* In the order of the file; checks come after all of them. */
static bool model_inputs(onnx_scope *sc, onnx_program *p) {
    const Onnx__GraphProto *g = p->model->graph;
    if (g->n_input > ONNX_MAX_IO + g->n_initializer || g->n_output > ONNX_MAX_IO)
        return onnx_unsupported(p, "models of more than %d inputs or outputs are not supported",
                                ONNX_MAX_IO);
    for (size_t i = 0; i < g->n_input; i++)
        if (!model_input(sc, p, g->input[i])) return false;
    if (p->params.len > ONNX_MAX_IO)
        return onnx_unsupported(p, "models of more than %d inputs are not supported", ONNX_MAX_IO);
    for (size_t i = 0, k = 0; i < g->n_input; i++) {
        onnx_value *v = strmap_get(&sc->names, g->input[i]->name);
        if (v->constant) continue;
        if (onnx_is_sequence(v) || onnx_is_optional(v)) {
            k++;
            continue;
        }
        if (!model_check_input(p, v->ir, p->params.data[k++], g->input[i]->type->tensor_type,
                               v->dt))
            return false;
    }
    return true;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static bool model_outputs(onnx_scope *sc, onnx_program *p) {
    const Onnx__GraphProto *g = p->model->graph;
    ir_value **outs = arena_array(&p->scratch, ir_value *, g->n_output + 1);
    type **types = arena_array(&p->scratch, type *, g->n_output + 1);
    if (!outs || !types) return onnx_no_memory(p);
    if (!g->n_output) return onnx_bad(p, "the model has no outputs");
    for (size_t i = 0; i < g->n_output; i++) {
        const char *name = g->output[i]->name ? g->output[i]->name : "";
        onnx_value *v = onnx_name(sc, p, name);
        if (!v || !(outs[i] = onnx_as_any(sc, p, v))) return false;
        types[i] = outs[i]->type;
    }
    ir_value *result = outs[0];
    if (g->n_output > 1) {
        node *tuple = graph_insert(p->g,
                                   node_new(p->g, N_TUPLE_CONSTRUCT, (int)g->n_output, outs, 1));
        result = tuple->outputs.data[0];
        result->type = type_tuple((int)g->n_output, types);
    }
    block_add_return(p->g->root, result);
    return !onnx_failed(p) || onnx_no_memory(p);
}

/* ---- the method ------------------------------------------------------------------------------ */

static bool model_begin(onnx_program *p) {
    if (!ep_modules_begin(&p->modules)) return onnx_no_memory(p);
    p->g = p->modules.g;
    return !onnx_failed(p) || onnx_no_memory(p);
}

static bool model_port(onnx_program *p, const Onnx__ValueInfoProto *info, type *ty, port *out) {
    const Onnx__TypeProto__Tensor *t = info->type ? info->type->tensor_type : NULL;
    const char *name = intern(&p->unit->names, info->name ? info->name : "");
    *out = (port){
        .name = name, .type = ty, .dt = t ? onnx_kept_dtype(t->elem_type) : -1, .ndim = -1};
    if (!name) return onnx_no_memory(p);
    if (!t || !t->shape || t->shape->n_dim > TENSOR_MAX_DIMS) return true;
    int64_t *sizes = arena_array(&p->unit->arena, int64_t, (int)t->shape->n_dim + 1);
    if (!sizes) return onnx_no_memory(p);
    for (size_t i = 0; i < t->shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = t->shape->dim[i];
        sizes[i] = dim->has_dim_value && dim->dim_value >= 0 ? dim->dim_value : -1;
    }
    out->ndim = (int)t->shape->n_dim;
    out->sizes = sizes;
    return true;
}

/* Several results are a tuple. A sequence among them may have any length, so that nobody can say
 * which value of the result is which: then nothing is said. */
static bool model_ports(onnx_scope *sc, onnx_program *p, port **in, port **out) {
    const Onnx__GraphProto *g = p->model->graph;
    const type *ret = p->g->root->returns.data[0]->type;
    *in = arena_array(&p->unit->arena, port, (int)p->params.len + 1);
    *out = arena_array(&p->unit->arena, port, (int)g->n_output + 1);
    if (!*in || !*out) return onnx_no_memory(p);
    for (size_t i = 0, k = 0; i < g->n_input; i++) {
        const onnx_value *v = strmap_get(&sc->names, g->input[i]->name);
        if (v->constant) continue;
        if (!model_port(p, g->input[i], v->ir->type, &(*in)[k++])) return false;
    }
    bool sequence = false;
    for (size_t i = 0; i < g->n_output; i++) {
        type *ty = g->n_output > 1 ? ret->elems[i] : p->g->root->returns.data[0]->type;
        if (!model_port(p, g->output[i], ty, &(*out)[i])) return false;
        sequence |= ty->kind != T_TENSOR;
    }
    if (sequence) *out = NULL;
    return true;
}

/* "float32[batch,3,*]", with names of sizes cut to letters and digits; NULL: the file does not say,
 * or there is no memory. */
static const char *model_type_text(onnx_program *p, const Onnx__TypeProto__Tensor *t) {
    enum { NAME = 24 };
    strbuf sb = STRBUF_INIT;
    int dt = t->has_elem_type ? onnx_to_dtype(t->elem_type) : -1;
    if (!t->shape || t->shape->n_dim > TENSOR_MAX_DIMS) return NULL;
    sb_printf(&sb, "%s[", dt >= 0 ? dtype_table[dt].torch_name : "Tensor");
    for (size_t i = 0; i < t->shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = t->shape->dim[i];
        const char *name = dim->dim_param && *dim->dim_param ? dim->dim_param : "*";
        if (i) sb_putc(&sb, ',');
        if (dim->has_dim_value) sb_printf(&sb, "%lld", (long long)dim->dim_value);
        for (int k = 0; !dim->has_dim_value && name[k] && k < NAME; k++)
            sb_putc(&sb, text_is_alpha(name[k]) || text_is_digit(name[k]) || name[k] == '*'
                             ? name[k]
                             : '_');
    }
    sb_putc(&sb, ']');
    const char *text = sb.failed ? NULL : intern(&p->unit->names, sb_str(&sb));
    sb_free(&sb);
    return text;
}

/* What the graph's list of values has for those that the method has. */
static const declared_value *model_declared(const onnx_scope *sc, onnx_program *p) {
    const Onnx__GraphProto *g = p->model->graph;
    size_t count = g->n_input + g->n_value_info + g->n_output, n = 0;
    declared_value *all = count < INT32_MAX
                              ? arena_array(&p->unit->arena, declared_value, (int)count + 1)
                              : NULL;
    for (size_t i = 0; all && i < count; i++) {
        const Onnx__ValueInfoProto *info = i < g->n_input ? g->input[i]
                                           : i < g->n_input + g->n_value_info
                                               ? g->value_info[i - g->n_input]
                                               : g->output[i - g->n_input - g->n_value_info];
        const Onnx__TypeProto__Tensor *t = info->type ? info->type->tensor_type : NULL;
        const onnx_value *v = info->name ? strmap_get(&sc->names, info->name) : NULL;
        const char *type = t && v && v->ir && value_has_name(v->ir) ? model_type_text(p, t) : NULL;
        const char *name = type ? intern(&p->unit->names, v->ir->name) : NULL;
        if (name) all[n++] = (declared_value){name, type};
    }
    return n ? all : NULL;
}

static bool model_method(onnx_scope *sc, onnx_program *p) {
    port *in, *out;
    if (!model_ports(sc, p, &in, &out)) return false;
    const declared_value *declared = model_declared(sc, p);
    function *f = ep_modules_forward(&p->modules, p->params.data);
    p->g = NULL;
    if (!f) return onnx_no_memory(p);
    f->inputs = in;
    f->outputs = out;
    f->noutputs = (int)p->model->graph->n_output;
    f->declared = declared;
    return true;
}

static bool model_import(onnx_program *p) {
    onnx_scope sc = {0};
    bool ok = model_version(p) && model_begin(p) && model_note(p) && onnx_functions(p) &&
              onnx_initializers(&sc, p, p->model->graph) && model_inputs(&sc, p) &&
              onnx_nodes(&sc, p, p->model->graph->n_node, p->model->graph->node);
    if (ok) p->at = NULL;
    ok = ok && model_outputs(&sc, p) && graph_verify(p->d, p->g) == CTSC_OK &&
         (!p->unit->simplify || p->unit->simplify(p->g, p->d) == CTSC_OK) && model_method(&sc, p);
    strmap_free(&sc.names);
    return ok && !onnx_failed(p);
}

ctsc_status onnx_import(diag *d, unit *u, const char *record, const void *data, size_t len,
                        const onnx_host *host, value *root) {
    onnx_program p = {.d = d, .unit = u, .record = record, .host = host};
    p.modules = (ep_modules){
        .unit = u, .scratch = &p.scratch, .class_name = "main_graph", .d = d, .record = record};
    object *o = NULL;
    bool ok = arena_init(&p.scratch) &&
              onnx_parse_model(d, record, data, len, &p.model) == CTSC_OK && model_import(&p) &&
              (o = ep_modules_object(&p.modules, &p.modules.root));
    if (!ok && d->status == CTSC_OK) diag_no_memory(d);
    if (ok) *root = value_object_take(o);
    ep_modules_end(&p.modules);
    for (size_t i = 0; i < p.held.len; i++) tensor_unref(p.held.data[i]);
    vec_free(&p.held);
    vec_free(&p.params);
    strmap_free(&p.info);
    strmap_free(&p.uses);
    strmap_free(&p.attributes);
    strmap_free(&p.tensors);
    strmap_free(&p.stems);
    strmap_free(&p.functions);
    strmap_free(&p.modules.types);
    ptrmap_free(&p.places);
    source_unref(p.listing);
    onnx_free_model(p.model);
    arena_free(&p.scratch);
    return d->status;
}
