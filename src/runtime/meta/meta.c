/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meta.c - calls of operators that compute only the geometry of the results.
 *
 * Invariants: outside of meta_run no value has a stand-in. A stand-in lives as long as the call, a
 * handle that the function returned is given its meta storage in place.
 * Tests: tests/unit/test_meta.c
 */
#include "runtime/meta/meta.h"

#include "base/memory/unbacked.h"
#include "runtime/context/runtime.h"
#include "runtime/kernels/engine/kernel.h"
#include "tensor/device.h"
#include "tensor/quantiser.h"

#include <inttypes.h>
#include <string.h>

/* ---- what the arguments are ------------------------------------------------------------------ */

static bool meta_in_list(const list *l) {
    for (size_t i = 0; i < l->len; i++) {
        const tensor *t = l->kind == LIST_TENSOR ? l->u.tensors[i]
                          : l->kind == LIST_VALUE && l->u.values[i].tag == V_TENSOR
                              ? l->u.values[i].u.tensor
                              : NULL;
        if (t && tensor_is_meta(t)) return true;
    }
    return false;
}

static bool meta_in(value v) {
    return v.tag == V_TENSOR   ? tensor_is_meta(v.u.tensor)
           : v.tag == V_DEVICE ? v.u.device == DEVICE_META
           : v.tag == V_LIST   ? meta_in_list(v.u.list)
                               : false;
}

bool meta_wanted(const op *o, const value *args) {
    for (int i = 0; i < o->schema->nargs; i++)
        if (meta_in(args[i])) return true;
    return false;
}

static bool meta_is_of_tensors(const type *t) {
    while (t->kind == T_OPTIONAL || t->kind == T_LIST) t = type_elem(t);
    return t->kind == T_TENSOR;
}

static bool meta_returns_tensors(const schema *s) {
    if (!s->nreturns) return true;
    for (int i = 0; i < s->nreturns; i++)
        if (meta_is_of_tensors(s->returns[i].type)) return true;
    return false;
}

/* All results are views of arguments. */
static bool meta_is_view(const schema *s) {
    for (int i = 0; i < s->nreturns; i++) {
        const alias_info *a = s->returns[i].alias;
        if (!a || !(a->before || (a->elem && a->elem->before))) return false;
    }
    return s->nreturns > 0 && !s->has_alias_write;
}

/* ---- refusals -------------------------------------------------------------------------------- */

static ctsc_status meta_refuse_number(op_ctx *cx, const value *args) {
    const tensor *t = args[0].tag == V_TENSOR ? args[0].u.tensor : NULL;
    if (strcmp(cx->op->schema->name, "aten::equal") && t && t->numel == 1)
        return diag_fail(cx->diag, CTSC_FAILED, "Tensor.item() cannot be called on meta tensors");
    if (t && strcmp(cx->op->schema->name, "aten::equal"))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "a Tensor with %" PRId64 " elements cannot be converted to Scalar",
                         t->numel);
    return diag_fail(cx->diag, CTSC_UNSUPPORTED,
                     "%s: attempted to run this operator with Meta tensors: its result depends on "
                     "their elements",
                     cx->op->schema->name);
}

static ctsc_status meta_refuse_sized(op_ctx *cx) {
    return diag_fail(cx->diag, CTSC_UNSUPPORTED,
                     "%s: attempted to run this operator with Meta tensors: the sizes of its "
                     "result depend on their elements",
                     cx->op->schema->name);
}

static bool meta_is_mask(value v) {
    return v.tag == V_TENSOR && (v.u.tensor->dtype == DT_BOOL || v.u.tensor->dtype == DT_UINT8) &&
           tensor_is_meta(v.u.tensor);
}

/* Reading x[mask] depends on elements; writing x[mask] = y does not. */
static bool meta_indexes_by_mask(const op *o, const value *args) {
    if (o->name_symbol != SYM_INDEX || args[1].tag != V_LIST) return false;
    for (size_t i = 0; i < args[1].u.list->len; i++) {
        value v = list_get(args[1].u.list, i);
        bool mask = meta_is_mask(v);
        value_unref(v);
        if (mask) return true;
    }
    return false;
}

/* Is one of the tensors that decide about a result's sizes of device meta? Those of
 * repeat_interleave may be on the host. */
static bool meta_sizes_are_missing(const op *o, const value *args) {
    if (!o->traits.sized_by_data) return meta_indexes_by_mask(o, args);
    bool counts = !strcmp(o->schema->name, "aten::repeat_interleave") ||
                  !strcmp(o->schema->name, "aten::tensor_split");
    int last = o->schema->nargs > 1 && args[1].tag == V_TENSOR ? 1 : 0;
    return counts ? meta_in(args[last]) : true;
}

/* PyTorch's check, but for a program that was moved here: it may still make tensors on the CPU. */
static ctsc_status meta_check_devices(op_ctx *cx, const value *args) {
    bool indexes = cx->op->name_symbol == SYM_INDEX || cx->op->name_symbol == SYM_INDEX_PUT ||
                   cx->op->name_symbol == SYM_INDEX_PUT_;
    if (cx->rt && cx->rt->on_meta) return CTSC_OK;
    for (int i = 0; i < cx->op->schema->nargs; i++) {
        const tensor *t = args[i].tag == V_TENSOR ? args[i].u.tensor : NULL;
        if (!t || tensor_is_meta(t) || t->ndim == 0 || (i > 0 && indexes)) continue;
        if (i > 0 && cx->op->traits.fusible != FUSIBLE_POINTWISE) continue;
        if (i > 0 && cx->op->traits.moves) continue; /* copy_ */
        bool first = i == 0;
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Tensor on device %s is not on the expected device %s!",
                         first ? "meta" : "cpu", first ? "cpu" : "meta");
    }
    return CTSC_OK;
}

/* ---- stand-ins ------------------------------------------------------------------------------- */

enum { META_ARGS = 64 };

typedef struct meta_pair { storage *meta, *here; } meta_pair;

typedef struct meta_frame {
    diag *d;
    VEC(meta_pair) pairs;
    VEC(tensor *) given; /* handles of the program's ... */
    VEC(tensor *) ours;  /* ... and those that stand for them */
} meta_frame;

static storage *meta_find(const meta_frame *f, const storage *s, bool back) {
    for (size_t i = 0; i < f->pairs.len; i++)
        if ((back ? f->pairs.data[i].here : f->pairs.data[i].meta) == s)
            return back ? f->pairs.data[i].meta : f->pairs.data[i].here;
    return NULL;
}

/* Takes both; false: no memory. */
static bool meta_note_pair(meta_frame *f, storage *meta, storage *here) {
    if (vec_push(&f->pairs, ((meta_pair){meta, here}))) return true;
    storage_unref(meta);
    storage_unref(here);
    diag_no_memory(f->d);
    return false;
}

static storage *meta_stand_in(meta_frame *f, storage *s) {
    storage *here = meta_find(f, s, false);
    if (here) return here;
    if (!(here = storage_unbacked(s->nbytes))) {
        diag_fail(f->d, CTSC_LIMIT, "there are no addresses for a tensor of %zu bytes", s->nbytes);
        return NULL;
    }
    return meta_note_pair(f, storage_ref(s), here) ? here : NULL;
}

static ctsc_status meta_tensor_here(meta_frame *f, tensor *t, tensor **out) {
    tensor *made;
    if (!tensor_is_meta(t)) return *out = tensor_ref(t), CTSC_OK;
    for (size_t i = 0; i < f->given.len; i++)
        if (f->given.data[i] == t) return *out = tensor_ref(f->ours.data[i]), CTSC_OK;
    storage *here = meta_stand_in(f, t->storage);
    if (!here) return f->d->status;
    TRY(tensor_view_raw(f->d, t, t->ndim, t->sizes, t->strides, t->offset, &made));
    storage *before = made->storage;
    made->storage = storage_ref(here);
    tensor_moved(made, before);
    storage_unref(before);
    made->conjugated = t->conjugated, made->negated = t->negated;
    if (!vec_push(&f->given, t) || !vec_push(&f->ours, made)) {
        tensor_unref(made);
        return diag_no_memory(f->d);
    }
    tensor_ref(made);
    *out = made;
    return CTSC_OK;
}

static ctsc_status meta_list_here(meta_frame *f, const list *l, value *out) {
    list *made = list_new((list_kind)l->kind, l->elem, l->len);
    ctsc_status st = made ? CTSC_OK : diag_no_memory(f->d);
    for (size_t i = 0; st == CTSC_OK && i < l->len; i++) {
        value item = list_get(l, i);
        tensor *t;
        if (item.tag == V_TENSOR) {
            st = meta_tensor_here(f, item.u.tensor, &t);
            value_unref(item);
            if (st != CTSC_OK) break;
            item = value_tensor_take(t);
        }
        if (!list_append_take(made, item)) st = diag_no_memory(f->d);
    }
    if (st == CTSC_OK) *out = value_list_take(made);
    else if (made) value_unref(value_list_take(made));
    return st;
}

static ctsc_status meta_value_here(meta_frame *f, value v, value *out) {
    tensor *t;
    if (v.tag == V_DEVICE && v.u.device == DEVICE_META)
        return *out = value_device(DEVICE_HOST), CTSC_OK;
    if (v.tag == V_LIST && meta_in_list(v.u.list)) return meta_list_here(f, v.u.list, out);
    if (v.tag != V_TENSOR) return *out = value_ref(v), CTSC_OK;
    TRY(meta_tensor_here(f, v.u.tensor, &t));
    *out = value_tensor_take(t);
    return CTSC_OK;
}

/* ---- and back -------------------------------------------------------------------------------- */

/* Gives t, a handle of a result, its storage of device meta. */
static ctsc_status meta_tensor_back(meta_frame *f, tensor *t) {
    storage *before = t->storage, *meta = meta_find(f, before, true);
    if (before->device == DEVICE_META) return CTSC_OK;
    if (!meta) {
        TRY(device_alloc(f->d, DEVICE_META, before->nbytes, &meta));
        if (!meta_note_pair(f, meta, storage_ref(before))) return f->d->status;
    }
    t->storage = storage_ref(meta);
    tensor_moved(t, before);
    storage_unref(before);
    return CTSC_OK;
}

static ctsc_status meta_value_back(meta_frame *f, value *v);

static ctsc_status meta_tensor_result(meta_frame *f, value *v) {
    for (size_t i = 0; i < f->ours.len; i++)
        if (f->ours.data[i] == v->u.tensor)
            return value_set(v, value_tensor_take(tensor_ref(f->given.data[i]))), CTSC_OK;
    if (v->u.tensor->storage->device == DEVICE_META) return CTSC_OK;
    return meta_tensor_back(f, v->u.tensor);
}

static ctsc_status meta_list_back(meta_frame *f, list *l) {
    for (size_t i = 0; i < l->len; i++) {
        value item = list_get(l, i);
        ctsc_status st = meta_value_back(f, &item);
        if (st == CTSC_OK && item.tag == V_TENSOR && l->kind == LIST_TENSOR) {
            tensor_unref(l->u.tensors[i]);
            l->u.tensors[i] = tensor_ref(item.u.tensor);
        }
        value_unref(item);
        if (st != CTSC_OK) return st;
    }
    return CTSC_OK;
}

static ctsc_status meta_value_back(meta_frame *f, value *v) {
    ctsc_status st = CTSC_OK;
    if (v->tag == V_TENSOR) return meta_tensor_result(f, v);
    if (v->tag == V_LIST) return meta_list_back(f, v->u.list);
    for (size_t i = 0; v->tag == V_TUPLE && st == CTSC_OK && i < v->u.tuple->len; i++)
        st = meta_value_back(f, &v->u.tuple->items[i]);
    return st;
}

static bool meta_same_geometry(const tensor *a, const tensor *b) {
    return a->dtype == b->dtype && a->offset == b->offset && tensor_same_shape(a, b) &&
           (!a->ndim || !memcmp(a->strides, b->strides, (size_t)a->ndim * sizeof *a->strides));
}

/* What the function did to the arguments that it wrote: other sizes, another storage. */
static ctsc_status meta_arguments_back(meta_frame *f) {
    for (size_t i = 0; i < f->pairs.len; i++)
        if (f->pairs.data[i].meta->nbytes < f->pairs.data[i].here->nbytes)
            f->pairs.data[i].meta->nbytes = f->pairs.data[i].here->nbytes;
    for (size_t i = 0; i < f->given.len; i++) {
        tensor *t = f->given.data[i], *here = f->ours.data[i];
        if (meta_find(f, t->storage, false) == here->storage && meta_same_geometry(t, here))
            continue;
        TRY(meta_tensor_back(f, here));
        tensor_swap_geometry(t, here);
    }
    return CTSC_OK;
}

/* ---- the call -------------------------------------------------------------------------------- */

static void meta_frame_free(meta_frame *f) {
    for (size_t i = 0; i < f->ours.len; i++) tensor_unref(f->ours.data[i]);
    for (size_t i = 0; i < f->pairs.len; i++) {
        storage_unref(f->pairs.data[i].meta);
        storage_unref(f->pairs.data[i].here);
    }
    vec_free(&f->pairs);
    vec_free(&f->given);
    vec_free(&f->ours);
}

/* The function on stand-ins, its results still as they are. */
static ctsc_status meta_run(op_ctx *cx, const value *here, value *results) {
    const bool draws = cx->rt && cx->op->traits.draws;
    geometry_scope scope;
    generator kept;
    size_t limit = cx->diag->max_tensor;
    if (draws) kept = cx->rt->rng;
    cx->diag->max_tensor = 0;
    geometry_begin(&scope);
    ctsc_status st = op_function(cx->op, cx->op->schema->nargs, here)(cx, here, results);
    geometry_end(&scope);
    cx->diag->max_tensor = limit;
    if (draws) cx->rt->rng = kept;
    return st;
}

static ctsc_status meta_through(op_ctx *cx, const value *args, value *results) {
    const schema *s = cx->op->schema;
    meta_frame f = {.d = cx->diag};
    value here[META_ARGS];
    int n = 0;
    if (s->nargs > META_ARGS)
        return diag_fail(cx->diag, CTSC_INTERNAL, "%s has too many arguments", cx->op->key);
    ctsc_status st = CTSC_OK;
    while (st == CTSC_OK && n < s->nargs)
        if ((st = meta_value_here(&f, args[n], &here[n])) == CTSC_OK) n++;
    bool ran = st == CTSC_OK && (st = meta_run(cx, here, results)) == CTSC_OK;
    if (ran) st = meta_arguments_back(&f);
    for (int i = 0; ran && st == CTSC_OK && i < s->nreturns; i++)
        st = meta_value_back(&f, &results[i]);
    for (int i = 0; ran && st != CTSC_OK && i < s->nreturns; i++)
        value_set(&results[i], value_none());
    while (n > 0) value_unref(here[--n]);
    meta_frame_free(&f);
    return st;
}

ctsc_status meta_call(op_ctx *cx, const value *args, value *results) {
    const op *o = cx->op;
    bool calls = o->traits.composite || o->fn == op_host_installed->derived_write ||
                 o->fn == op_host_installed->derived_copy;
    if (meta_sizes_are_missing(o, args)) return meta_refuse_sized(cx);
    if (calls || o->traits.device_blind || o->traits.makes_view) return o->fn(cx, args, results);
    if (!meta_returns_tensors(o->schema)) return meta_refuse_number(cx, args);
    TRY(meta_check_devices(cx, args));
    if (meta_is_view(o->schema)) return o->fn(cx, args, results);
    return meta_through(cx, args, results);
}
