/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aot_tables.c - code, values, operators and plans as the contents of sections, in the layout of
 * rt/rt_program.h and of the structs that it mentions.
 *
 * What is counted (tensors, lists, texts among the constants) is in .data, with a count that no
 * program brings to zero; what is not is in .data.rel.ro, elements of tensors in .rodata. Packed
 * weights are written as the kernels read them, with the addresses of their micro-kernels' records.
 *
 * Tests: tests/aot/
 */
#include "cpu/ukernel_elsewhere.h"
#include "runtime/aot/aot_internal.h"
#include "runtime/kernels/conv/conv_packed.h"
#include "runtime/kernels/matmul/gemm_block.h"
#include "runtime/kernels/matmul/linear_half.h"
#include "runtime/kernels/matmul/packed_weights.h"
#include "runtime/kernels/rnn/rnn.h"

#include <string.h>

enum { TABLES_REFS = 1 << 30, TABLES_ALIGN = 64 };

/* `at` is 8 bytes aligned: its place + 1 fits a pointer. */
static void *tables_mark(image_at at) { return (void *)(uintptr_t)(at.at * 4 + at.section + 1); }
static bool tables_marked(const ptrmap *m, const void *key, image_at *at) {
    uintptr_t x = (uintptr_t)ptrmap_get(m, key);
    if (!x) return false;
    *at = (image_at){(image_section)((x - 1) % 4), (x - 1) / 4};
    return true;
}

/* ---- packed weights -------------------------------------------------------------------------- */

/* The name of a micro-kernel's record; NULL: the run-time library has none such. */
static const char *tables_record(const void *record) {
    for (int i = 0; ukernel_at(i); i++)
        if (ukernel_at(i)->record == record) return ukernel_at(i)->name;
    for (const ukernel *u = ukernel_elsewhere; u->record; u++)
        if (u->record == record) return u->name;
    return NULL;
}

static bool tables_panels(aot *a, const gemm_prepacked *b, image_at data, size_t offset,
                          image_at *out) {
    const char *record = tables_record(b->micro);
    if (!record) return false;
    gemm_prepacked x = {.n = b->n, .k = b->k, .strides = {b->strides[0], b->strides[1]}};
    size_t bytes = (size_t)gemm_block_prepacked_size(b->micro, b->n, b->k) * (size_t)b->micro->size;
    void *dense = b->panels ? NULL : mem_alloc(bytes); /* one that is mostly zero has none */
    if (!b->panels && !dense) return false;
    if (dense)
        gemm_block_prepack(b->micro, b->n, b->k, (gemm_matrix){b->of, b->strides[1], b->strides[0]},
                           dense);
    image_at panels = image_put(&a->image, IMAGE_WEIGHTS, dense ? dense : b->panels, bytes,
                                TABLES_ALIGN);
    mem_free(dense);
    *out = image_put(&a->image, IMAGE_TABLES, &x, sizeof x, 8);
    image_refer(&a->image, *out, offsetof(gemm_prepacked, micro), record, 0);
    image_point(&a->image, *out, offsetof(gemm_prepacked, panels), panels);
    image_point(&a->image, *out, offsetof(gemm_prepacked, of),
                (image_at){data.section, data.at + offset});
    return true;
}

static bool tables_conv(aot *a, const conv_packed *p, image_at *out) {
    const char *record = tables_record(p->micro);
    if (!record || p->form == CONV_BF16 || p->form == CONV_SPARSE) return false;
    conv_packed x = *p;
    x.micro = NULL, x.tiles = NULL, x.weights = NULL, x.memory = NULL;
    image_at weights = image_put(&a->image, IMAGE_WEIGHTS, p->weights, p->room - TABLES_ALIGN,
                                 TABLES_ALIGN);
    *out = image_put(&a->image, IMAGE_TABLES, &x, sizeof x, 8);
    image_refer(&a->image, *out, offsetof(conv_packed, micro), record, 0);
    image_point(&a->image, *out, offsetof(conv_packed, weights), weights);
    if (p->tiles)
        image_refer(&a->image, *out, offsetof(conv_packed, tiles), record,
                    (const char *)p->tiles - (const char *)p->micro);
    return true;
}

static bool tables_forms(aot *a, const conv_packed_forms *f, image_at *out) {
    conv_packed_forms x = *f;
    bool any = false;
    memset((void *)x.form, 0, sizeof x.form);
    image_at at = image_put(&a->image, IMAGE_TABLES, &x, sizeof x, 8);
    for (int i = 0; i < CONV_FORMS; i++) {
        image_at form;
        const conv_packed *p = atomic_load(&f->form[i]);
        if (!p || !tables_conv(a, p, &form)) continue;
        image_point(&a->image, at, offsetof(conv_packed_forms, form) + (size_t)i * sizeof(void *),
                    form);
        any = true;
    }
    *out = at;
    return any;
}

/* One of a storage's matrices of 16 bits, and those behind it. */
static bool tables_halves(aot *a, const half_weight *h, const storage *s, image_at data,
                          image_at *out) {
    const char *record = h->quads.kernels ? NULL : tables_record(h->widen);
    half_weight x = *h;
    int64_t panels = (h->n + WIDEN_COLUMNS - 1) / WIDEN_COLUMNS;
    image_at next;
    if (!record || (h->next && !tables_halves(a, h->next, s, data, &next))) return false;
    x.widen = NULL, x.panels = NULL, x.memory = NULL, x.of = NULL, x.next = NULL;
    image_at weights = image_put(&a->image, IMAGE_WEIGHTS, h->panels,
                                 (size_t)(panels * h->k * WIDEN_COLUMNS) * sizeof *h->panels,
                                 TABLES_ALIGN);
    size_t from = (size_t)((const char *)h->of - (const char *)s->data);
    *out = image_put(&a->image, IMAGE_TABLES, &x, sizeof x, 8);
    image_refer(&a->image, *out, offsetof(half_weight, widen), record, 0);
    image_point(&a->image, *out, offsetof(half_weight, panels), weights);
    image_point(&a->image, *out, offsetof(half_weight, of),
                (image_at){data.section, data.at + from});
    if (h->next) image_point(&a->image, *out, offsetof(half_weight, next), next);
    return true;
}

static bool tables_half_weights(aot *a, half_weights *all, const storage *s, image_at data,
                                image_at *out) {
    const half_weight *first = atomic_load(&all->first);
    half_weights x;
    image_at at;
    if (!first || !tables_halves(a, first, s, data, &at)) return false;
    memset(&x, 0, sizeof x);
    x.elements = all->elements;
    *out = image_put(&a->image, IMAGE_TABLES, &x, sizeof x, 8);
    image_point(&a->image, *out, offsetof(half_weights, first), at);
    return true;
}

static ctsc_status tables_tensor(aot *a, const tensor *t, image_at *at);

static bool tables_floats(aot *a, const prepack_floats *f, image_at *out) {
    prepack_floats x = *f;
    image_at floats;
    if (tables_tensor(a, f->floats, &floats) != CTSC_OK) return false;
    x.floats = NULL;
    *out = image_put(&a->image, IMAGE_TABLES, &x, sizeof x, 8);
    image_point(&a->image, *out, offsetof(prepack_floats, floats), floats);
    return true;
}

/* All of a recurrent layer's is in one block. */
static bool tables_recurrent(aot *a, const rnn_prepacked *p, image_at *out) {
    const char *record = tables_record(p->input.micro), *from = p->input.panels;
    rnn_prepacked x = *p;
    if (!record) return false;
    memset((void *)x.made_of, 0, sizeof x.made_of);
    x.input.micro = NULL, x.input.panels = NULL, x.input.memory = NULL;
    x.state = x.bias = x.fresh = NULL, x.memory = NULL;
    size_t room = p->room - (size_t)(from - (const char *)p->memory);
    image_at block = image_put(&a->image, IMAGE_WEIGHTS, from, room, TABLES_ALIGN);
    image_at at = *out = image_put(&a->image, IMAGE_TABLES, &x, sizeof x, 8);
    image_refer(&a->image, at, offsetof(rnn_prepacked, input.micro), record, 0);
    const struct {
        size_t field;
        const void *to;
    } parts[] = {
        {offsetof(rnn_prepacked, input.panels), from},
        {offsetof(rnn_prepacked, state), p->state},
        {offsetof(rnn_prepacked, bias), p->bias},
        {offsetof(rnn_prepacked, fresh), p->fresh},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        image_point(
            &a->image, at, parts[i].field,
            (image_at){block.section, block.at + (size_t)((const char *)parts[i].to - from)});
    for (size_t i = 0; i < 4; i++) {
        aot_pending later = {at, offsetof(rnn_prepacked, made_of) + i * sizeof(void *),
                             p->made_of[i]};
        if (later.elements && !vec_push(&a->pending, later)) a->image.failed = true;
    }
    return true;
}

/* Once all elements have their places. */
static void tables_settle(aot *a) {
    for (size_t i = 0; i < a->pending.len; i++) {
        const aot_pending *p = &a->pending.data[i];
        for (size_t k = 0; k < a->stored.len; k++) {
            const aot_stored *x = &a->stored.data[k];
            uintptr_t at = (uintptr_t)p->elements - (uintptr_t)x->s->data;
            if (at >= x->s->nbytes) continue;
            image_point(&a->image, p->at, p->field, (image_at){x->data.section, x->data.at + at});
            break;
        }
    }
}

/* What kernels made of a constant's elements, where the run-time library reads the same. */
static void tables_derived(aot *a, const storage *s, image_at storage_at, image_at data) {
    image_at derived;
    void *made = atomic_load(&((storage *)s)->derived);
    const char *release = NULL;
    if (!made || (a->triple && !aot_pretends(a))) return;
    if (s->derived_free == rnn_prepack_free && tables_recurrent(a, made, &derived)) {
        release = "rnn_prepack_free";
    } else if (s->derived_free == prepack_free) {
        const gemm_prepacked *b = made;
        if (tables_panels(a, b, data, (size_t)((const char *)b->of - (const char *)s->data),
                          &derived))
            release = "prepack_free";
    } else if (s->derived_free == conv_packed_free && tables_forms(a, made, &derived)) {
        release = "conv_packed_free";
    } else if (s->derived_free == linear_half_free &&
               tables_half_weights(a, made, s, data, &derived)) {
        release = "linear_half_free";
    } else if (s->derived_free == prepack_floats_free && tables_floats(a, made, &derived)) {
        release = "prepack_floats_free";
    }
    if (!release) return;
    image_point(&a->image, storage_at, offsetof(storage, derived), derived);
    image_refer(&a->image, storage_at, offsetof(storage, derived_free), release, 0);
}

/* ---- values ---------------------------------------------------------------------------------- */

static ctsc_status tables_value(aot *a, image_at at, size_t field, const value *v);

static image_at tables_storage(aot *a, const storage *s) {
    image_at at, data;
    if (tables_marked(&a->values, s, &at)) return at;
    storage x = {.refs = TABLES_REFS,
                 .nbytes = s->nbytes,
                 .borrowed = true,
                 .read_only = true,
                 .constant = s->constant};
    data = image_put(&a->image, IMAGE_WEIGHTS, s->data, s->nbytes, TABLES_ALIGN);
    at = image_put(&a->image, IMAGE_DATA, &x, sizeof x, 16);
    image_point(&a->image, at, offsetof(storage, data), data);
    if (!vec_push(&a->stored, ((aot_stored){s, data}))) a->image.failed = true;
    tables_derived(a, s, at, data);
    if (!ptrmap_put(&a->values, s, tables_mark(at))) a->image.failed = true;
    return at;
}

static ctsc_status tables_tensor(aot *a, const tensor *t, image_at *at) {
    if (tables_marked(&a->values, t, at)) return CTSC_OK;
    if (t->quantiser || t->storage->device || t->conjugated || t->negated)
        return diag_fail(a->d, CTSC_UNSUPPORTED,
                         "constants of compiled programs are plain tensors of the host");
    tensor x = {.refs = TABLES_REFS,
                .dtype = t->dtype,
                .ndim = t->ndim,
                .numel = t->numel,
                .offset = t->offset};
    size_t dims = (size_t)t->ndim * sizeof(int64_t);
    image_at stored = tables_storage(a, t->storage);
    image_at sizes = image_put(&a->image, IMAGE_TABLES, t->sizes, dims, 8);
    image_at strides = image_put(&a->image, IMAGE_TABLES, t->strides, dims, 8);
    *at = image_put(&a->image, IMAGE_DATA, &x, sizeof x, 16);
    image_point(&a->image, *at, offsetof(tensor, storage), stored);
    image_point(&a->image, *at, offsetof(tensor, sizes), sizes);
    image_point(&a->image, *at, offsetof(tensor, strides), strides);
    return ptrmap_put(&a->values, t, tables_mark(*at)) ? CTSC_OK : diag_no_memory(a->d);
}

static ctsc_status tables_list(aot *a, const list *l, image_at *at) {
    list x = {.refs = TABLES_REFS, .kind = l->kind, .len = l->len, .cap = l->len};
    size_t each = l->kind == LIST_VALUE    ? sizeof(value)
                  : l->kind == LIST_BOOL   ? sizeof(bool)
                  : l->kind == LIST_TENSOR ? sizeof(tensor *)
                                           : sizeof(int64_t);
    bool plain = l->kind != LIST_VALUE && l->kind != LIST_TENSOR;
    *at = image_put(&a->image, IMAGE_DATA, &x, sizeof x, 16);
    image_at items = image_put(&a->image, IMAGE_DATA, plain ? l->u.raw : NULL, l->len * each, 16);
    image_point(&a->image, *at, offsetof(list, u), items);
    for (size_t i = 0; i < l->len && !plain; i++) {
        if (l->kind == LIST_VALUE) {
            TRY(tables_value(a, items, i * each, &l->u.values[i]));
            continue;
        }
        image_at t;
        TRY(tables_tensor(a, l->u.tensors[i], &t));
        image_point(&a->image, items, i * each, t);
    }
    return CTSC_OK;
}

static ctsc_status tables_tuple(aot *a, const tuple *t, image_at *at) {
    tuple x = {.refs = TABLES_REFS, .len = t->len};
    *at = image_put(&a->image, IMAGE_DATA, NULL, sizeof x + t->len * sizeof(value), 16);
    image_set(&a->image, *at, 0, &x, sizeof x);
    for (size_t i = 0; i < t->len; i++)
        TRY(tables_value(a, *at, sizeof x + i * sizeof(value), &t->items[i]));
    return CTSC_OK;
}

static image_at tables_str(aot *a, const str *s) {
    str x = {.refs = TABLES_REFS, .len = s->len};
    image_at at = image_put(&a->image, IMAGE_DATA, NULL, sizeof x + s->len + 1, 16);
    image_set(&a->image, at, 0, &x, offsetof(str, bytes));
    image_set(&a->image, at, offsetof(str, bytes), s->bytes, s->len);
    return at;
}

static ctsc_status tables_complex(aot *a, const complex_box *c, image_at *at) {
    complex_box x = {.refs = TABLES_REFS, .re = c->re, .im = c->im};
    *at = image_put(&a->image, IMAGE_DATA, &x, sizeof x, 16);
    return CTSC_OK;
}

/* v at `field` of `at`, which is zero. What no compiled program can do anything with becomes
 * Uninitialized: reading it fails. */
static ctsc_status tables_value(aot *a, image_at at, size_t field, const value *v) {
    value plain = {.tag = v->tag};
    image_at to;
    ctsc_status st = CTSC_OK;
    switch (v->tag) {
    case V_NONE:
    case V_BOOL:
    case V_INT:
    case V_FLOAT:
    case V_DEVICE: plain = *v; break;
    case V_TENSOR: st = tables_tensor(a, v->u.tensor, &to); break;
    case V_LIST: st = tables_list(a, v->u.list, &to); break;
    case V_TUPLE: st = tables_tuple(a, v->u.tuple, &to); break;
    case V_STR: to = tables_str(a, v->u.str); break;
    case V_COMPLEX: st = tables_complex(a, v->u.complex, &to); break;
    default: plain = value_uninit(); break;
    }
    image_set(&a->image, at, field, &plain, sizeof plain);
    if (st == CTSC_OK && value_is_counted(plain))
        image_point(&a->image, at, field + offsetof(value, u), to);
    return st;
}

static ctsc_status tables_values(aot *a, size_t n, const value *v, image_section s, image_at *at) {
    *at = image_put(&a->image, s, NULL, n * sizeof *v, 16);
    for (size_t i = 0; i < n; i++) TRY(tables_value(a, *at, i * sizeof *v, &v[i]));
    return CTSC_OK;
}

/* ---- plans and groups ------------------------------------------------------------------------ */

static ctsc_status tables_code(aot *a, const code *c, image_at *out);

#define TABLES_VEC(field)                                                                          \
    image_point(&a->image, at, offsetof(group_plan, field),                                        \
                image_put(&a->image, IMAGE_TABLES, p->field.data,                                  \
                          p->field.len * sizeof *p->field.data, 8))

static image_at tables_plan(aot *a, const group_plan *p) {
    group_plan x = *p;
    x.nest = NULL;
    x.faults.data = NULL, x.faults.len = 0;
    x.exprs.data = NULL, x.exprs.len = 0;
    x.arguments.data = NULL, x.slots.data = NULL, x.guards.data = NULL, x.buffers.data = NULL;
    x.ints.data = NULL, x.floats.data = NULL, x.outputs.data = NULL, x.barriers.data = NULL;
    image_at at = image_put(&a->image, IMAGE_TABLES, &x, sizeof x, 8);
    TABLES_VEC(arguments);
    TABLES_VEC(slots);
    TABLES_VEC(guards);
    TABLES_VEC(buffers);
    TABLES_VEC(ints);
    TABLES_VEC(floats);
    TABLES_VEC(outputs);
    TABLES_VEC(barriers);
    return at;
}

static ctsc_status tables_kernel(aot *a, const aot_kernel *k) {
    void *object;
    size_t size;
    TRY(codegen_object(a->cg, &k->ir, a->triple, k->symbol, &object, &size, a->d));
    bool ok = image_add_object(&a->image, object, size);
    mem_free(object);
    a->out->kernels += size;
    return ok ? CTSC_OK
              : diag_fail(a->d, CTSC_INTERNAL, "the object of %s is not as expected", k->symbol);
}

static ctsc_status tables_group(aot *a, aot_group *g, image_at *out) {
    rt_group x = {.nparams = g->nparams, .nresults = g->nresults};
    if (g->written) return *out = g->at, CTSC_OK;
    for (const aot_kernel *k = g->first; k; k = k->next) x.nkernels++;
    image_at kernels = image_put(&a->image, IMAGE_TABLES, NULL,
                                 (size_t)x.nkernels * sizeof(rt_kernel), 8);
    size_t i = 0;
    for (const aot_kernel *k = g->first; k; k = k->next, i += sizeof(rt_kernel)) {
        TRY(tables_kernel(a, k));
        image_point(&a->image, kernels, i + offsetof(rt_kernel, plan), tables_plan(a, k->plan));
        image_refer(&a->image, kernels, i + offsetof(rt_kernel, fn), k->symbol, 0);
    }
    *out = g->at = image_put(&a->image, IMAGE_TABLES, &x, sizeof x, 8);
    g->written = true;
    image_point(&a->image, g->at, offsetof(rt_group, kernels), kernels);
    if (g->fallback) {
        image_at fallback;
        TRY(tables_code(a, g->fallback, &fallback));
        image_point(&a->image, g->at, offsetof(rt_group, fallback), fallback);
    }
    return CTSC_OK;
}

/* ---- operators ------------------------------------------------------------------------------- */

static image_at tables_schema(aot *a, const schema *s) {
    schema x = {.nargs = s->nargs,
                .nreturns = s->nreturns,
                .vararg = s->vararg,
                .varret = s->varret,
                .has_alias_write = s->has_alias_write};
    const alias_info writes = {.write = true};
    image_at args = image_put(&a->image, IMAGE_TABLES, NULL, (size_t)s->nargs * sizeof(argument),
                              8);
    for (int i = 0; i < s->nargs; i++) {
        size_t field = (size_t)i * sizeof(argument);
        image_point(&a->image, args, field + offsetof(argument, name),
                    image_text(&a->image, s->args[i].name ? s->args[i].name : ""));
        if (s->args[i].alias && s->args[i].alias->write)
            image_point(&a->image, args, field + offsetof(argument, alias),
                        image_put(&a->image, IMAGE_TABLES, &writes, sizeof writes, 8));
    }
    image_at at = image_put(&a->image, IMAGE_TABLES, &x, sizeof x, 8);
    image_point(&a->image, at, offsetof(schema, args), args);
    image_point(&a->image, at, offsetof(schema, name), image_text(&a->image, s->name));
    image_point(&a->image, at, offsetof(schema, overload),
                image_text(&a->image, s->overload ? s->overload : ""));
    return at;
}

static image_at tables_op_of(aot *a, const op *o, const char *symbol) {
    op x;
    memset(&x, 0, sizeof x);
    x.symbol = o->symbol, x.name_symbol = o->name_symbol, x.traits = o->traits;
    image_at schema_at = tables_schema(a, o->schema), key = image_text(&a->image, o->key);
    image_at at = image_put(&a->image, IMAGE_TABLES, &x, sizeof x, 8);
    image_point(&a->image, at, offsetof(op, schema), schema_at);
    image_point(&a->image, at, offsetof(op, key), key);
    if (symbol) image_refer(&a->image, at, offsetof(op, fn), symbol, 0);
    return at;
}

static ctsc_status tables_op(aot *a, aot_op *o, image_at *out) {
    const schema *s = o->op->schema;
    rt_op x = {.params = o->params, .written = o->written, .nargs = s->nargs};
    value none = value_none();
    image_at values, group;
    if (o->emitted) return *out = o->at, CTSC_OK;
    image_at own = tables_op_of(a, o->op, o->does == o->op ? o->symbol : NULL), does = own;
    if (o->does != o->op) does = tables_op_of(a, o->does, o->symbol);
    o->at = *out = image_put(&a->image, IMAGE_TABLES, &x, sizeof x, 8);
    o->emitted = true;
    image_point(&a->image, o->at, offsetof(rt_op, op), own);
    image_point(&a->image, o->at, offsetof(rt_op, does), does);
    values = image_put(&a->image, IMAGE_DATA, NULL, (size_t)s->nargs * sizeof(value), 16);
    for (int i = 0; i < s->nargs; i++)
        TRY(tables_value(a, values, (size_t)i * sizeof(value),
                         s->args[i].has_default ? &s->args[i].default_value : &none));
    image_point(&a->image, o->at, offsetof(rt_op, defaults), values);
    if (!o->group) return CTSC_OK;
    values = image_put(&a->image, IMAGE_DATA, NULL, (size_t)s->nargs * sizeof(value), 16);
    for (int i = 0; i < o->does->schema->nargs && i < s->nargs; i++)
        TRY(tables_value(a, values, (size_t)i * sizeof(value),
                         o->params >> i & 1 ? &none : &o->given[i]));
    image_point(&a->image, o->at, offsetof(rt_op, constants), values);
    TRY(tables_group(a, o->group, &group));
    image_point(&a->image, o->at, offsetof(rt_op, group), group);
    return CTSC_OK;
}

/* ---- code ------------------------------------------------------------------------------------ */

/* Values that a type admits, as bits of their tags. */
static int tables_tags(const type *t) {
    switch (t->kind) {
    case T_TENSOR: return 1 << V_TENSOR;
    case T_INT: return 1 << V_INT;
    case T_FLOAT: return 1 << V_FLOAT;
    case T_BOOL: return 1 << V_BOOL;
    case T_COMPLEX: return 1 << V_COMPLEX;
    case T_NUMBER: return 1 << V_INT | 1 << V_FLOAT | 1 << V_COMPLEX;
    case T_STR: return 1 << V_STR;
    case T_NONE: return 1 << V_NONE;
    case T_LIST: return 1 << V_LIST;
    case T_TUPLE: return 1 << V_TUPLE;
    case T_DICT: return 1 << V_DICT;
    case T_OPTIONAL: return 1 << V_NONE | tables_tags(t->elems[0]);
    default: return ~(1 << V_UNINIT);
    }
}

static int tables_site_tags(const code *c, const site *s) {
    int tags = s->ntypes ? 0 : ~(1 << V_NONE | 1 << V_UNINIT);
    for (int i = 0; i < s->ntypes; i++) tags |= tables_tags(c->types.data[s->types + i]);
    return tags;
}

/* Site number k of c, an instruction of kind *op, which may change. */
static ctsc_status tables_site(aot *a, const code *c, int k, uint16_t *op, image_at at) {
    const site *s = &c->sites.data[k];
    size_t field = (size_t)k * sizeof(rt_site);
    rt_site x = {.operands = s->operands,
                 .nargs = s->nargs,
                 .nresults = s->nresults,
                 .imm = s->imm,
                 .imm2 = s->imm2};
    image_at to;
    const char *member = NULL;
    size_t offset = 0;
    aot_op *o;
    aot_group *g;
    switch (*op) {
    case BC_CALL_OP:
        o = aot_op_of(a, s->op, s->nargs, NULL, true);
        if (!o) member = s->op->key;
        else {
            TRY(tables_op(a, o, &to));
            offset = offsetof(rt_site, op);
        }
        break;
    case BC_FUSED:
        g = ptrmap_get(&a->groups, s->group);
        if (!g || (!g->first && !g->fallback)) member = "a fusion group";
        else {
            TRY(tables_group(a, g, &to));
            offset = offsetof(rt_site, group);
        }
        break;
    case BC_CALL:
        if (!s->fn->code[2]) member = s->fn->name;
        else {
            TRY(tables_code(a, s->fn->code[2], &to));
            offset = offsetof(rt_site, sub);
        }
        break;
    case BC_NEW_LIST:
        x.what = s->type->kind == T_LIST ? (int)type_list_kind(type_elem(s->type)) : LIST_VALUE;
        break;
    case BC_CAST:
    case BC_ISINSTANCE: x.what = tables_site_tags(c, s); break;
    case BC_NEW_TUPLE:
    case BC_NEW_DICT:
    case BC_UNPACK_LIST:
    case BC_UNPACK_TUPLE:
    case BC_TUPLE_INDEX:
    case BC_TUPLE_SLICE:
    case BC_CHECK:
    case BC_RAISE:
    case BC_PRINT: break;
    default: member = s->name ? s->name : opcode_table[*op].name; break;
    }
    if (member) {
        if (aot_saw(a, c, k))
            return diag_fail(a->d, CTSC_UNSUPPORTED, "%s cannot be compiled ahead of time%s",
                             member,
                             *op == BC_GET_ATTR || *op == BC_SET_ATTR
                                 ? ": it is an attribute of the module that is not constant "
                                   "(--freeze makes attributes constants)"
                                 : "");
        *op = BC_UNSUPPORTED;
    }
    image_set(&a->image, at, field, &x, sizeof x);
    if (!member && (*op == BC_CALL_OP || *op == BC_FUSED || *op == BC_CALL))
        image_point(&a->image, at, field + offset, to);
    return CTSC_OK;
}

static ctsc_status tables_code(aot *a, const code *c, image_at *out) {
    if (tables_marked(&a->written, c, out)) return CTSC_OK;
    rt_code x = {.nparams = c->nparams, .nregisters = c->nregisters, .window = c->window + 8};
    image_at at = *out = image_put(&a->image, IMAGE_TABLES, &x, sizeof x, 8), constants;
    if (!ptrmap_put(&a->written, c, tables_mark(at))) return diag_no_memory(a->d);
    image_at instrs = image_put(&a->image, IMAGE_TABLES, c->instrs.data,
                                c->instrs.len * sizeof(instr), 8);
    image_at sites = image_put(&a->image, IMAGE_TABLES, NULL, c->sites.len * sizeof(rt_site), 8);
    a->out->instructions += (int)c->instrs.len;
    for (size_t i = 0; i < c->instrs.len; i++) {
        instr in = c->instrs.data[i];
        if (in.op < BC_CALL_OP) continue;
        uint16_t before = in.op;
        if (in.op == BC_CALL_OP && aot_is_doomed(c, i) &&
            !aot_op_of(a, c->sites.data[in.a].op, c->sites.data[in.a].nargs, NULL, true))
            in.op = BC_RAISE, before = BC_RAISE;
        TRY(tables_site(a, c, in.a, &in.op, sites));
        if (in.op == BC_UNSUPPORTED && before != BC_UNSUPPORTED)
            sb_printf(&a->out->notes,
                      "no run came to an instruction (%s), which was not compiled: coming to it "
                      "fails\n",
                      c->sites.data[in.a].op ? c->sites.data[in.a].op->key
                                             : opcode_table[before].name);
        image_set(&a->image, instrs, i * sizeof in, &in, sizeof in);
    }
    TRY(tables_values(a, c->constants.len, c->constants.data, IMAGE_DATA, &constants));
    image_point(&a->image, at, offsetof(rt_code, instrs), instrs);
    image_point(&a->image, at, offsetof(rt_code, sites), sites);
    image_point(&a->image, at, offsetof(rt_code, constants), constants);
    image_point(
        &a->image, at, offsetof(rt_code, operands),
        image_put(&a->image, IMAGE_TABLES, c->operands.data, c->operands.len * sizeof(int32_t), 8));
    return CTSC_OK;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* int NAME(const void *const in[], void *const out[], void *workspace, dims...) */
static ctsc_status tables_entry(aot *a, const char *program) {
    strbuf ir = STRBUF_INIT;
    void *object;
    size_t size;
    int n = a->o->ndims;
    sb_printf(&ir,
              "@%s = external hidden constant [8 x i8]\n"
              "declare i32 @ctsc_rt_call(ptr, ptr, ptr, ptr, ptr)\n"
              "define i32 @kernel(ptr %%in, ptr %%out, ptr %%workspace",
              program);
    for (int i = 0; i < n; i++) sb_printf(&ir, ", i64 %%d%d", i);
    sb_printf(&ir, ") {\n  %%dims = alloca [%d x i64]\n", n + 1);
    for (int i = 0; i < n; i++)
        sb_printf(&ir,
                  "  %%p%d = getelementptr i64, ptr %%dims, i64 %d\n  store i64 %%d%d, ptr %%p%d\n",
                  i, i, i, i);
    sb_printf(&ir,
              "  %%r = call i32 @ctsc_rt_call(ptr @%s, ptr %%in, ptr %%out, ptr %%workspace, ptr "
              "%%dims)\n  ret i32 %%r\n}\n",
              program);
    ctsc_status st = ir.failed
                         ? diag_no_memory(a->d)
                         : codegen_object(a->cg, &ir, a->triple, a->o->name, &object, &size, a->d);
    sb_free(&ir);
    if (st != CTSC_OK) return st;
    if (!image_add_object(&a->image, object, size))
        st = diag_fail(a->d, CTSC_INTERNAL, "the entry's object is not as expected");
    mem_free(object);
    for (size_t i = 0; i < a->image.symbols.len; i++)
        if (!strcmp(a->image.symbols.data[i].name, a->o->name))
            a->image.symbols.data[i].global = true;
    return st;
}

ctsc_status aot_write_program(aot *a) {
    image_at main, at, list;
    char program[160];
    const aot_options *o = a->o;
    rt_program x = {.version = RT_VERSION,
                    .isa = (uint32_t)o->isa,
                    .nparams = a->nargs,
                    .ninputs = a->ninputs,
                    .noutputs = a->noutputs,
                    .ndims = o->ndims};
    for (int i = 0; i < o->ndims; i++) x.least[i] = o->dims[i].least, x.most[i] = o->dims[i].most;
    snprintf(program, sizeof program, "%s_program", o->name);
    a->image.arm64 = o->arm64;
    TRY(tables_code(a, a->f->code[2], &main));
    size_t nops = 0;
    for (aot_op *p = a->ops; p; p = p->next, nops++) TRY(tables_op(a, p, &at));
    list = image_put(&a->image, IMAGE_TABLES, NULL, (nops + 1) * sizeof(void *), 8);
    size_t i = 0;
    for (aot_op *p = a->ops; p; p = p->next, i += sizeof(void *))
        image_point(&a->image, list, i, p->at);
    tables_settle(a);
    if (a->halves) /* src/rt/rt_absent_half.c */
        image_refer(&a->image, image_put(&a->image, IMAGE_TABLES, NULL, sizeof(void *), 8), 0,
                    "conv_half", 0);
    size_t weights = a->image.sections[IMAGE_WEIGHTS].len;
    x.workspace = a->out->workspace;
    at = image_put(&a->image, IMAGE_TABLES, &x, sizeof x, 8);
    image_point(&a->image, at, offsetof(rt_program, code), main);
    image_point(&a->image, at, offsetof(rt_program, ops), list);
    image_point(
        &a->image, at, offsetof(rt_program, inputs),
        image_put(&a->image, IMAGE_TABLES, a->inputs, (size_t)a->ninputs * sizeof(rt_port), 8));
    image_point(
        &a->image, at, offsetof(rt_program, outputs),
        image_put(&a->image, IMAGE_TABLES, a->outputs, (size_t)a->noutputs * sizeof(rt_port), 8));
    image_define(&a->image, program, at, sizeof x, false, false);
    TRY(tables_entry(a, program));
    a->out->weights = weights;
    a->out->object = image_write(&a->image, &a->out->size);
    return a->out->object ? CTSC_OK : diag_no_memory(a->d);
}
