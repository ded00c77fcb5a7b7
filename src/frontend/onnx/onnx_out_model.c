/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out_model.c - nodes, attributes and initialisers of a model that is written, and its bytes.
 *
 * Nodes that nothing reads are left out in the end, and so are initialisers. The elements of
 * weights are not copied: the model's messages point at them.
 */
#include "frontend/onnx/onnx_out_internal.h"

#include <stdio.h>

/* ---- names ----------------------------------------------------------------------------------- */

const char *out_fresh(onnx_out *o, const char *hint) {
    bool plain = hint && *hint;
    char *own = plain ? arena_strdup(&o->scratch, hint) : NULL;
    while (!arena_failed(&o->scratch) && (!own || strmap_get(&o->names, own)))
        own = plain ? arena_printf(&o->scratch, "%.100s_%zu", hint, ++o->counter)
                    : arena_printf(&o->scratch, "t%zu", ++o->counter);
    if (own && strmap_put(&o->names, own, own)) return own;
    return out_no_memory(o), NULL;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

bool out_nodes(onnx_out *o, const char *type, int n, const char *const *in, int nout,
               const char **out) {
    Onnx__NodeProto *p = arena_new(&o->scratch, Onnx__NodeProto);
    char **inputs = arena_array(&o->scratch, char *, n + 1),
         **outputs = arena_array(&o->scratch, char *, nout + 1);
    if (out_failed(o) || !p || !inputs || !outputs) return out_no_memory(o);
    *p = (Onnx__NodeProto)ONNX__NODE_PROTO__INIT;
    for (int i = 0; i < n; i++)
        if (!(inputs[i] = (char *)(uintptr_t)in[i])) return out_no_memory(o);
    while (n && !*inputs[n - 1]) n--;
    for (int i = 0; i < nout; i++)
        if (!(outputs[i] = (char *)(uintptr_t)(out[i] = out_fresh(o, NULL)))) return false;
    p->n_input = (size_t)n;
    p->input = inputs;
    p->n_output = (size_t)nout;
    p->output = outputs;
    p->op_type = arena_strdup(&o->scratch, type);
    p->name = arena_printf(&o->scratch, "%s_%zu", type, o->nnodes++);
    return (p->op_type && p->name && vec_push(&o->nodes, p)) || out_no_memory(o);
}

const char *out_node(onnx_out *o, const char *type, int n, const char *const *in) {
    const char *name;
    return out_nodes(o, type, n, in, 1, &name) ? name : NULL;
}

static Onnx__AttributeProto *attribute_new(onnx_out *o, const char *name, int type) {
    if (out_failed(o) || !o->nodes.len) return NULL;
    Onnx__NodeProto *n = vec_last(&o->nodes);
    Onnx__AttributeProto *a = arena_new(&o->scratch, Onnx__AttributeProto);
    size_t count = n->n_attribute;
    Onnx__AttributeProto **list = arena_grow(&o->scratch, n->attribute, count * sizeof a,
                                             (count + 1) * sizeof a);
    if (!a || !list) return out_no_memory(o), NULL;
    *a = (Onnx__AttributeProto)ONNX__ATTRIBUTE_PROTO__INIT;
    a->name = arena_strdup(&o->scratch, name);
    a->has_type = true;
    a->type = type;
    list[count] = a;
    n->attribute = list;
    n->n_attribute = count + 1;
    return a;
}

void out_int(onnx_out *o, const char *name, int64_t i) {
    Onnx__AttributeProto *a = attribute_new(o, name, ONNX_A_INT);
    if (a) a->has_i = true, a->i = i;
}

void out_float(onnx_out *o, const char *name, double f) {
    Onnx__AttributeProto *a = attribute_new(o, name, ONNX_A_FLOAT);
    if (a) a->has_f = true, a->f = (float)f;
}

void out_text(onnx_out *o, const char *name, const char *s) {
    Onnx__AttributeProto *a = attribute_new(o, name, ONNX_A_STRING);
    char *own = a ? arena_strdup(&o->scratch, s) : NULL;
    if (own) a->has_s = true, a->s = (ProtobufCBinaryData){strlen(s), (uint8_t *)own};
}

void out_ints(onnx_out *o, const char *name, int n, const int64_t *ints) {
    Onnx__AttributeProto *a = attribute_new(o, name, ONNX_A_INTS);
    int64_t *own = a ? arena_array(&o->scratch, int64_t, n + 1) : NULL;
    if (!own) return;
    memcpy(own, ints, sizeof *own * (size_t)n);
    a->n_ints = (size_t)n;
    a->ints = own;
}

/* Types are needed of inputs only. */
static Onnx__ValueInfoProto **graph_infos(onnx_out *o, int n, const char *const *names,
                                          const int *types, int numbers) {
    arena *a = &o->scratch;
    Onnx__ValueInfoProto **list = arena_array(a, Onnx__ValueInfoProto *, n + 1);
    for (int i = 0; list && i < n; i++) {
        Onnx__TypeProto *type = arena_new(a, Onnx__TypeProto);
        Onnx__TypeProto__Tensor *tt = arena_new(a, Onnx__TypeProto__Tensor);
        if (!(list[i] = arena_new(a, Onnx__ValueInfoProto)) || !type || !tt) return NULL;
        *list[i] = (Onnx__ValueInfoProto)ONNX__VALUE_INFO_PROTO__INIT;
        list[i]->name = (char *)(uintptr_t)names[i];
        if (!types) continue;
        *type = (Onnx__TypeProto)ONNX__TYPE_PROTO__INIT;
        *tt = (Onnx__TypeProto__Tensor)ONNX__TYPE_PROTO__TENSOR__INIT;
        tt->has_elem_type = true;
        tt->elem_type = types[i] & ~OUT_SEQUENCE;
        if (i < numbers) {
            if (!(tt->shape = arena_new(a, Onnx__TensorShapeProto))) return NULL;
            *tt->shape = (Onnx__TensorShapeProto)ONNX__TENSOR_SHAPE_PROTO__INIT;
        }
        if (types[i] & OUT_SEQUENCE) {
            Onnx__TypeProto__Sequence *st = arena_new(a, Onnx__TypeProto__Sequence);
            Onnx__TypeProto__Element *et = arena_new(a, Onnx__TypeProto__Element);
            if (!st || !et) return NULL;
            *st = (Onnx__TypeProto__Sequence)ONNX__TYPE_PROTO__SEQUENCE__INIT;
            *et = (Onnx__TypeProto__Element)ONNX__TYPE_PROTO__ELEMENT__INIT;
            et->tensor_type = tt;
            st->elem_type = et;
            type->sequence_type = st;
        } else {
            type->tensor_type = tt;
        }
        list[i]->type = type;
    }
    return list;
}

void out_graph(onnx_out *o, const char *name, size_t nnodes, Onnx__NodeProto **nodes, int nin,
               int numbers, const char *const *in, const int *in_types, int nout,
               const char *const *out) {
    Onnx__AttributeProto *a = attribute_new(o, name, ONNX_A_GRAPH);
    Onnx__GraphProto *g = a ? arena_new(&o->scratch, Onnx__GraphProto) : NULL;
    if (!g) return;
    *g = (Onnx__GraphProto)ONNX__GRAPH_PROTO__INIT;
    g->name = arena_printf(&o->scratch, "%s_%zu", name, ++o->counter);
    g->node = arena_array(&o->scratch, Onnx__NodeProto *, nnodes + 1);
    g->n_node = nnodes;
    g->n_input = (size_t)nin;
    g->input = graph_infos(o, nin, in, in_types, numbers);
    g->n_output = (size_t)nout;
    g->output = graph_infos(o, nout, out, NULL, 0);
    a->g = g;
    if (!g->name || !g->node || !g->input || !g->output) out_no_memory(o);
    else if (nnodes) memcpy(g->node, nodes, nnodes * sizeof *nodes);
}

/* A dtype's number; -1: there is none in this operator set. */
static int out_type(onnx_out *o, dtype dt) {
    int since = dt == DT_FLOAT8_E8M0FNU ? 24 : 19;
    if (dtype_is_complex(dt)) return -1; /* engines have none */
    if (dtype_is_float8(dt) && o->opset < since)
        out_refuse(o, "%s needs operator set %d", dtype_table[dt].torch_name, since);
    return onnx_from_dtype(dt);
}

/* ---- progress -------------------------------------------------------------------------------- */

void out_tell(onnx_out *o, const node *n) {
    char text[128];
    if (!o->opt->progress || o->bodies || n->owner->parent) return;
    for (const node *x = o->told ? NULL : n; x; x = x->next) o->nall++;
    snprintf(text, sizeof text, "node %zu of %zu, %s", ++o->told, o->nall, node_kind_text(n));
    o->opt->progress(o->opt->warn_ctx, text);
}

/* ---- initialisers ---------------------------------------------------------------------------- */

/* Takes t, which is contiguous. */
static const char *initializer_add(onnx_out *o, tensor *t_take, const char *hint) {
    int type = out_type(o, (dtype)t_take->dtype);
    Onnx__TensorProto *p = arena_new(&o->scratch, Onnx__TensorProto);
    const char *name = out_fresh(o, hint);
    int64_t *dims = arena_array(&o->scratch, int64_t, t_take->ndim + 1);
    if (!vec_push(&o->held, t_take)) return tensor_unref(t_take), out_no_memory(o), NULL;
    if (type < 0)
        return out_refuse(o, "ONNX has no tensors of %s", dtype_table[t_take->dtype].torch_name),
               NULL;
    if (!p || !name || !dims) return out_no_memory(o), NULL;
    *p = (Onnx__TensorProto)ONNX__TENSOR_PROTO__INIT;
    memcpy(dims, t_take->sizes, sizeof *dims * (size_t)t_take->ndim);
    p->n_dims = t_take->ndim;
    p->dims = dims;
    p->has_data_type = true;
    p->data_type = type;
    p->name = (char *)(uintptr_t)name;
    p->has_raw_data = true;
    p->raw_data = (ProtobufCBinaryData){(size_t)t_take->numel * dtype_size((dtype)t_take->dtype),
                                        tensor_data(t_take)};
    return vec_push(&o->tensors, p) ? name : (out_no_memory(o), NULL);
}

const char *out_tensor_int4(onnx_out *o, const tensor *t) {
    enum { INT4 = 22, INT4_SINCE = 21 };
    int64_t bytes = (t->numel + 1) / 2;
    tensor *packed;
    if (o->opset < INT4_SINCE)
        return out_refuse(o, "integers of 4 bits need operator set %d", INT4_SINCE), NULL;
    if (tensor_zeros(o->d, DT_UINT8, 1, &bytes, &packed) != CTSC_OK) return NULL;
    for (int64_t i = 0; i < t->numel; i++) TENSOR_AT(packed, uint8_t)
    [i / 2] |= (uint8_t)((TENSOR_AT(t, int8_t)[i] & 15) << (i % 2 ? 4 : 0));
    const char *name = initializer_add(o, packed, NULL);
    Onnx__TensorProto *p = name ? o->tensors.data[o->tensors.len - 1] : NULL;
    int64_t *dims = p ? arena_array(&o->scratch, int64_t, t->ndim + 1) : NULL;
    if (!dims) return out_no_memory(o), NULL;
    memcpy(dims, t->sizes, sizeof *dims * (size_t)t->ndim);
    p->dims = dims;
    p->n_dims = t->ndim;
    p->data_type = INT4;
    return name;
}

/* Small ones that are equal are one. */
static const char *initializer_small(onnx_out *o, tensor *t_take) {
    char key[600];
    size_t bytes = (size_t)t_take->numel * dtype_size((dtype)t_take->dtype), n = 2;
    if (bytes + 8 * (size_t)t_take->ndim + n > sizeof key) return initializer_add(o, t_take, NULL);
    key[0] = (char)t_take->dtype;
    key[1] = (char)t_take->ndim;
    memcpy(key + n, t_take->sizes, 8 * (size_t)t_take->ndim);
    n += 8 * (size_t)t_take->ndim;
    if (bytes) memcpy(key + n, tensor_data(t_take), bytes);
    const char *known = strmap_getn(&o->constants, key, n + bytes);
    if (known) return tensor_unref(t_take), known;
    char *own = arena_alloc(&o->scratch, n + bytes);
    if (own) memcpy(own, key, n + bytes);
    const char *name = initializer_add(o, t_take, NULL);
    if (name && (!own || !strmap_putn(&o->constants, own, n + bytes, (void *)(uintptr_t)name)))
        return out_no_memory(o), NULL;
    return name;
}

/* Complex numbers as real ones in one more dim. Takes t, which is contiguous. */
static ctsc_status tensor_parts(onnx_out *o, tensor *t, tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS + 1], strides[TENSOR_MAX_DIMS + 1];
    tensor as = {.dtype = (uint8_t)dtype_part((dtype)t->dtype), .storage = t->storage};
    for (int i = 0; i < t->ndim; i++) sizes[i] = t->sizes[i], strides[i] = 2 * t->strides[i];
    sizes[t->ndim] = 2, strides[t->ndim] = 1;
    ctsc_status s = tensor_view_raw(o->d, &as, t->ndim + 1, sizes, strides, 2 * t->offset, out);
    tensor_unref(t);
    return s;
}

const char *out_tensor(onnx_out *o, tensor *t) {
    const char *known = ptrmap_get(&o->initializers, t), *hint = ptrmap_get(&o->attribute_names, t);
    tensor *own = NULL;
    if (known) return known;
    if (t->storage->device) return out_refuse(o, "a constant is on a device"), NULL;
    /* what the module has stays as it is; other constants may be written later */
    bool paired = dtype_is_complex((dtype)t->dtype);
    ctsc_status s = hint && !paired ? tensor_contiguous(o->d, t, &own)
                                    : tensor_clone(o->d, t, &own);
    if (s == CTSC_OK && paired) s = tensor_parts(o, own, &own);
    if (s != CTSC_OK) return NULL;
    const char *name = hint ? initializer_add(o, own, hint) : initializer_small(o, own);
    if (name && hint && !ptrmap_put(&o->initializers, t, (void *)(uintptr_t)name))
        return out_no_memory(o), NULL;
    return name;
}

const char *out_const_ints(onnx_out *o, int n, const int64_t *ints) {
    tensor *t = NULL;
    int64_t size = n;
    if (out_failed(o) || tensor_new(o->d, DT_INT64, 1, &size, &t) != CTSC_OK) return NULL;
    if (n) memcpy(tensor_data(t), ints, sizeof *ints * (size_t)n);
    return initializer_small(o, t);
}

const char *out_const_int(onnx_out *o, int64_t i) {
    tensor *t = NULL;
    if (out_failed(o) || tensor_scalar_int(o->d, DT_INT64, i, &t) != CTSC_OK) return NULL;
    return initializer_small(o, t);
}

const char *out_const(onnx_out *o, dtype dt, double f) {
    tensor *t = NULL;
    if (out_failed(o) || tensor_scalar_float(o->d, dt, f, &t) != CTSC_OK) return NULL;
    return initializer_small(o, t);
}

static const char *initializer_of(onnx_out *o, const out_value *x) {
    value v = x->v[0];
    tensor *t = NULL;
    switch (v.tag) {
    case V_TENSOR: return out_tensor(o, v.u.tensor);
    case V_INT: return out_const_int(o, v.u.i);
    case V_FLOAT: return out_const(o, DT_FLOAT32, v.u.f);
    case V_BOOL:
        if (tensor_scalar_int(o->d, DT_BOOL, v.u.b, &t) != CTSC_OK) return NULL;
        return initializer_small(o, t);
    default: return out_refuse(o, "an argument is neither a tensor nor a number"), NULL;
    }
}

const char *out_name(onnx_out *o, out_value *x) {
    if (!out_failed(o) && x->name && !*x->name)
        return out_refuse(
                   o, "it reads a result that has no form in ONNX, or a tensor that may have been "
                      "written under another name"),
               NULL;
    if (out_failed(o) || x->name) return out_failed(o) ? NULL : x->name;
    if (!x->init) x->init = x->ints ? out_weight_floats(o, x->ints, false) : initializer_of(o, x);
    return x->init;
}

const char *out_cast(onnx_out *o, const char *name, dtype from, dtype to) {
    if (!name || from == to) return name;
    if (dtype_is_complex(from) && dtype_is_complex(to))
        return out_cast(o, name, dtype_part(from), dtype_part(to));
    if (dtype_is_complex(from)) return out_refuse(o, "of complex numbers"), NULL;
    int type = out_type(o, to);
    if (type < 0)
        return out_refuse(o, "ONNX has no tensors of %s", dtype_table[to].torch_name), NULL;
    const char *out = OUT(o, "Cast", name);
    out_int(o, "to", type);
    /* PyTorch bounds numbers in one of these types only */
    if (dtype_is_float8(to)) out_int(o, "saturate", to == DT_FLOAT8_E4M3FN);
    return out;
}

/* ---- inputs and outputs ---------------------------------------------------------------------- */

/* axis names by dim, where there are any */
static Onnx__ValueInfoProto *info_new(onnx_out *o, const char *name, const tensor *t,
                                      const char *const *axes) {
    arena *a = &o->scratch;
    Onnx__ValueInfoProto *info = arena_new(a, Onnx__ValueInfoProto);
    Onnx__TypeProto *type = arena_new(a, Onnx__TypeProto);
    Onnx__TypeProto__Tensor *tt = arena_new(a, Onnx__TypeProto__Tensor);
    Onnx__TensorShapeProto *shape = arena_new(a, Onnx__TensorShapeProto);
    Onnx__TensorShapeProto__Dimension *dims = arena_array(a, Onnx__TensorShapeProto__Dimension,
                                                          t->ndim + 1),
                                      **list = arena_array(a, Onnx__TensorShapeProto__Dimension *,
                                                           t->ndim + 1);
    if (arena_failed(a) || !list || !dims) return out_no_memory(o), NULL;
    *info = (Onnx__ValueInfoProto)ONNX__VALUE_INFO_PROTO__INIT;
    *type = (Onnx__TypeProto)ONNX__TYPE_PROTO__INIT;
    *tt = (Onnx__TypeProto__Tensor)ONNX__TYPE_PROTO__TENSOR__INIT;
    *shape = (Onnx__TensorShapeProto)ONNX__TENSOR_SHAPE_PROTO__INIT;
    for (int i = 0; i < t->ndim; i++) {
        dims[i] = (Onnx__TensorShapeProto__Dimension)ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT;
        if (axes[i]) dims[i].dim_param = (char *)(uintptr_t)axes[i];
        else dims[i].has_dim_value = true, dims[i].dim_value = t->sizes[i];
        list[i] = &dims[i];
    }
    shape->n_dim = t->ndim;
    shape->dim = list;
    tt->has_elem_type = true;
    tt->elem_type = out_type(o, (dtype)t->dtype);
    tt->shape = shape;
    type->tensor_type = tt;
    info->name = (char *)(uintptr_t)name;
    info->type = type;
    if (tt->elem_type < 0)
        return out_refuse(o, "ONNX has no tensors of %s", dtype_table[t->dtype].torch_name), NULL;
    return info;
}

bool out_input(onnx_out *o, out_value *x, const char *name, int index) {
    const tensor *t = x->v[0].u.tensor;
    const char *axes[TENSOR_MAX_DIMS] = {NULL};
    for (int i = 0; i < o->opt->naxes; i++)
        if (o->opt->axes[i].input == index) axes[o->opt->axes[i].dim] = o->opt->axes[i].name;
    if (!strmap_get(&o->names, name) && !strmap_put(&o->names, name, x)) return out_no_memory(o);
    x->name = name;
    Onnx__ValueInfoProto *info = info_new(o, name, t, axes);
    return info && (vec_push(&o->inputs, info) || out_no_memory(o));
}

bool out_output(onnx_out *o, const char *name, const tensor *t, const tensor *second) {
    const char *axes[TENSOR_MAX_DIMS] = {NULL};
    for (int i = 0; second && i < t->ndim && i < second->ndim; i++)
        if (t->sizes[i] != second->sizes[i])
            axes[i] = arena_printf(&o->scratch, "%s_dim_%d", name, i);
    /* a size that is an argument's has its name */
    for (int i = 0; i < t->ndim; i++)
        for (int k = 0; axes[i] && k < o->opt->naxes; k++) {
            const onnx_axis *x = &o->opt->axes[k];
            if (o->opt->args[x->input].u.tensor->sizes[x->dim] == t->sizes[i] &&
                o->opt->second[x->input].u.tensor->sizes[x->dim] == second->sizes[i]) {
                axes[i] = x->name;
                break;
            }
        }
    Onnx__ValueInfoProto *info = info_new(o, name, t, axes);
    return info && (vec_push(&o->outputs, info) || out_no_memory(o));
}

bool out_output_sequence(onnx_out *o, const char *name, int type) {
    Onnx__ValueInfoProto **info = graph_infos(o, 1, &name, &type, 0);
    return (info && vec_push(&o->outputs, info[0])) || out_no_memory(o);
}

/* ---- the model ------------------------------------------------------------------------------- */

static bool finish_graph(strmap *used, size_t *n, Onnx__NodeProto **nodes);

/* What a node reads, or a graph in it. */
static bool finish_node(strmap *used, const Onnx__NodeProto *n) {
    bool ok = true;
    for (size_t i = 0; ok && i < n->n_attribute; i++) {
        Onnx__GraphProto *g = n->attribute[i]->g;
        for (size_t k = 0; ok && g && k < g->n_output; k++)
            ok = strmap_put(used, g->output[k]->name, g);
        ok = ok && (!g || finish_graph(used, &g->n_node, g->node));
    }
    for (size_t k = 0; ok && k < n->n_input; k++)
        if (*n->input[k]) ok = strmap_put(used, n->input[k], used);
    return ok;
}

/* Leaves nodes that something reads. Names are the whole model's. */
static bool finish_graph(strmap *used, size_t *n, Onnx__NodeProto **nodes) {
    size_t kept = *n;
    for (size_t i = *n; i-- > 0;) {
        bool read = false;
        for (size_t k = 0; k < nodes[i]->n_output; k++)
            read = read || strmap_get(used, nodes[i]->output[k]) != NULL;
        if (!read) continue;
        if (!finish_node(used, nodes[i])) return false;
        nodes[--kept] = nodes[i];
    }
    if (kept) memmove(nodes, nodes + kept, (*n - kept) * sizeof *nodes);
    *n -= kept;
    return true;
}

/* Leaves nodes and initialisers that something reads. */
static bool finish_used(onnx_out *o) {
    strmap used = {0};
    bool ok = true;
    size_t count = 0;
    for (size_t i = 0; i < o->outputs.len; i++)
        ok = ok && strmap_put(&used, o->outputs.data[i]->name, o);
    ok = ok && finish_graph(&used, &o->nodes.len, o->nodes.data);
    for (size_t i = 0; ok && i < o->tensors.len; i++)
        if (strmap_get(&used, o->tensors.data[i]->name))
            o->tensors.data[count++] = o->tensors.data[i];
    if (ok) o->tensors.len = count;
    strmap_free(&used);
    return ok || out_no_memory(o);
}

typedef struct finish_sink {
    ProtobufCBuffer base;
    const onnx_out_options *opt;
    bool failed;
} finish_sink;

static void finish_append(ProtobufCBuffer *b, size_t len, const uint8_t *data) {
    finish_sink *s = (finish_sink *)b;
    if (!s->failed && len && !s->opt->write(s->opt->ctx, data, len)) s->failed = true;
}

static int finish_ir_version(int opset) {
    return opset < 15   ? 7
           : opset < 19 ? 8
           : opset < 21 ? 9
           : opset < 23 ? 10
           : opset < 24 ? 11
           : opset < 25 ? 12
           : opset < 28 ? 13
                        : 14;
}

ctsc_status out_finish(onnx_out *o) {
    Onnx__ModelProto m = ONNX__MODEL_PROTO__INIT;
    Onnx__GraphProto g = ONNX__GRAPH_PROTO__INIT;
    Onnx__OperatorSetIdProto opset = ONNX__OPERATOR_SET_ID_PROTO__INIT, *opsets[] = {&opset};
    if (!finish_used(o)) return o->d->status;
    g.n_node = o->nodes.len;
    g.node = o->nodes.data;
    g.name = (char *)(uintptr_t)"main_graph";
    g.n_initializer = o->tensors.len;
    g.initializer = o->tensors.data;
    g.n_input = o->inputs.len;
    g.input = o->inputs.data;
    g.n_output = o->outputs.len;
    g.output = o->outputs.data;
    opset.domain = (char *)(uintptr_t)"";
    opset.has_version = true;
    opset.version = o->opset;
    m.has_ir_version = true;
    m.ir_version = finish_ir_version(o->opset);
    m.producer_name = (char *)(uintptr_t)"ctsc";
    m.producer_version = (char *)(uintptr_t)CTSC_VERSION_STRING;
    m.graph = &g;
    m.n_opset_import = 1;
    m.opset_import = opsets;
    size_t size = 0;
    for (size_t i = 0; i < o->tensors.len; i++) size += o->tensors.data[i]->raw_data.len;
    if (size > (size_t)INT32_MAX - (16 << 20))
        return diag_fail(o->d, CTSC_LIMIT,
                         "the model has %zu bytes of weights; a file of ONNX holds 2 GiB", size);
    finish_sink sink = {.base = {finish_append}, .opt = o->opt};
    onnx__model_proto__pack_to_buffer(&m, &sink.base);
    if (!sink.failed) return CTSC_OK;
    return o->d->status != CTSC_OK
               ? o->d->status
               : diag_fail(o->d, CTSC_ENVIRONMENT, "the model could not be written");
}
