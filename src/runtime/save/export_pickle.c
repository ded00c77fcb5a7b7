/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_pickle.c - writes values as pickles of protocol 2, as PyTorch's own pickler does.
 *
 * Two dialects. A program's pickles carry the types of lists and dicts (build_intlist,
 * restore_type_tag), objects of its classes and enum members. Plain ones, for torch.save, have
 * lists and dicts only, as Python writes them.
 *
 * Sharing. Strings, globals and storages are written once and referred to by number afterwards; so
 * are containers, tensors and objects that more than one place may hold. Tensors keep their
 * storages, offsets and strides, so what shared memory does so again after loading; a storage seen
 * under two element types is written once for each.
 *
 * Invariant: an address in w->values stays taken, because w->held holds what lives there.
 * Tests: tests/unit/test_export.c, tests/interop/resave.py
 */
#include "frontend/codeprint/print_code.h"
#include "runtime/archive/pickle_internal.h"
#include "runtime/save/export.h"
#include "tensor/conjugate.h"
#include "tensor/device.h"
#include "tensor/quantiser.h"

enum {
    OP_MARK = '(',
    OP_TUPLE = 't',
    OP_EMPTY_TUPLE = ')',
    OP_EMPTY_LIST = ']',
    OP_APPENDS = 'e',
    OP_EMPTY_DICT = '}',
    OP_SETITEMS = 'u',
    OP_REDUCE = 'R',
    OP_BUILD = 'b',
    OP_NEWOBJ = 0x81,
    OP_BINPERSID = 'Q',
    OP_NONE = 'N',
    OP_TRUE = 0x88,
    OP_FALSE = 0x89,
    OP_TUPLE1 = 0x85
};
enum { EXPORT_MAX_DEPTH = PICKLE_MAX_DEPTH - 8 };

/* ---- parts ----------------------------------------------------------------------------------- */

void pickler_op(pickler *w, int opcode) { sb_putc(&w->out, (char)opcode); }

static void pickler_le(pickler *w, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) pickler_op(w, (int)(v >> 8 * i & 255));
}

/* Numbers what was just written. */
uint32_t pickler_put(pickler *w) {
    uint32_t n = w->memo++;
    pickler_op(w, n < 256 ? 'q' : 'r');
    pickler_le(w, n, n < 256 ? 1 : 4);
    return n;
}

void pickler_get(pickler *w, uint32_t memo) {
    pickler_op(w, memo < 256 ? 'h' : 'j');
    pickler_le(w, memo, memo < 256 ? 1 : 4);
}

void pickler_int(pickler *w, int64_t i) {
    if (i >= 0 && i <= 0xff) {
        pickler_op(w, 'K');
        pickler_le(w, (uint64_t)i, 1);
    } else if (i >= 0 && i <= 0xffff) {
        pickler_op(w, 'M');
        pickler_le(w, (uint64_t)i, 2);
    } else if (i >= INT32_MIN && i <= INT32_MAX) {
        pickler_op(w, 'J');
        pickler_le(w, (uint32_t)i, 4);
    } else {
        pickler_op(w, 0x8a);
        pickler_op(w, 8);
        pickler_le(w, (uint64_t)i, 8);
    }
}

static void pickler_float(pickler *w, double f) {
    uint64_t bits;
    memcpy(&bits, &f, sizeof bits);
    pickler_op(w, 'G');
    for (int i = 7; i >= 0; i--) pickler_op(w, (int)(bits >> 8 * i & 255));
}

static void pickler_bool(pickler *w, bool b) { pickler_op(w, b ? OP_TRUE : OP_FALSE); }

/* True: the text has been written before, and its number now. */
static bool pickler_seen(pickler *w, strmap *map, const char *s, size_t len) {
    intptr_t known = (intptr_t)strmap_getn(map, s, len);
    if (known) pickler_get(w, (uint32_t)(known - 1));
    return known != 0;
}

static void pickler_remember(pickler *w, strmap *map, const char *s, size_t len) {
    const char *key = arena_strndup(&w->arena, s, len);
    uint32_t memo = pickler_put(w);
    if (!key || !strmap_putn(map, key, len, (void *)((intptr_t)memo + 1))) w->failed = true;
}

void pickler_text(pickler *w, const char *s, size_t len) {
    if (pickler_seen(w, &w->strings, s, len)) return;
    if (len > UINT32_MAX) w->failed = true;
    pickler_op(w, 'X');
    pickler_le(w, len, 4);
    sb_write(&w->out, s, len);
    pickler_remember(w, &w->strings, s, len);
}

static void pickler_name(pickler *w, const char *s) { pickler_text(w, s, strlen(s)); }

static void pickler_global_text(pickler *w, const strbuf *text) {
    if (text->failed) {
        w->failed = true;
        return;
    }
    if (pickler_seen(w, &w->globals, sb_str(text), text->len)) return;
    pickler_op(w, 'c');
    sb_write(&w->out, sb_str(text), text->len);
    pickler_remember(w, &w->globals, sb_str(text), text->len);
}

void pickler_global(pickler *w, const char *module, const char *name) {
    strbuf text = STRBUF_INIT;
    sb_printf(&text, "%s\n%s\n", module, name);
    pickler_global_text(w, &text);
    sb_free(&text);
}

/* A class of the program: "__torch__.a.C" is the global C of __torch__.a. */
static void pickler_class(pickler *w, type *t) {
    const char *q = class_name(t), *dot = strrchr(q, '.');
    strbuf text = STRBUF_INIT;
    if (dot) sb_printf(&text, "%.*s\n%s\n", (int)(dot - q), q, dot + 1);
    else sb_printf(&text, "\n%s\n", q);
    pickler_global_text(w, &text);
    sb_free(&text);
    if (w->host && w->host->class_named) w->host->class_named(w->host->ctx, t);
}

/* The end of a tuple of n; long ones have begun with a mark. */
void pickler_tuple_end(pickler *w, size_t n) {
    static const int codes[] = {OP_EMPTY_TUPLE, OP_TUPLE1, OP_TUPLE1 + 1, OP_TUPLE1 + 2};
    pickler_op(w, n < 4 ? codes[n] : OP_TUPLE);
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* The index of (storage, dtype) in w->storages, -1: not there. */
static int64_t pickler_find_storage(const pickler *w, const storage *st, dtype dt) {
    size_t i = (size_t)(uintptr_t)ptrmap_get(&w->storage_index, st);
    while (i && w->storages.data[i - 1].dt != dt) i = w->storages.data[i - 1].next;
    return (int64_t)i - 1;
}

/* Python's torch has no classes of storages for newer
 * dtypes: untyped bytes, followed by the dtype. */
static bool pickler_untyped(const pickler *w, const tensor *t) {
    return w->plain && dtype_is_stored((dtype)t->dtype);
}

static void pickler_storage_of(pickler *w, const tensor *t) {
    dtype dt = (dtype)t->dtype;
    int64_t known = pickler_find_storage(w, t->storage, dt);
    if (known >= 0) {
        pickler_get(w, w->storages.data[known].memo);
        return;
    }
    size_t numel = t->storage->nbytes / dtype_size(dt);
    bool untyped = pickler_untyped(w, t);
    char key[24];
    snprintf(key, sizeof key, "%zu", w->storages.len);
    pickler_op(w, OP_MARK);
    pickler_name(w, "storage");
    if (untyped) pickler_global(w, "torch.storage", "UntypedStorage");
    else pickler_global(w, "torch", dtype_table[dt].storage);
    pickler_name(w, key);
    char device[DEVICE_NAME];
    pickler_name(w, device_name(t->storage->device, device));
    pickler_int(w, (int64_t)(untyped ? numel * dtype_size(dt) : numel));
    pickler_op(w, OP_TUPLE);
    pickler_op(w, OP_BINPERSID);
    pickler_storage ps = {.st = storage_ref(t->storage),
                          .dt = dt,
                          .memo = pickler_put(w),
                          .nbytes = numel * dtype_size(dt),
                          .next = (size_t)(uintptr_t)ptrmap_get(&w->storage_index, t->storage)};
    if (!vec_push(&w->storages, ps)) {
        storage_unref(ps.st);
        w->failed = true;
    } else if (!ptrmap_put(&w->storage_index, t->storage, (void *)(uintptr_t)w->storages.len)) {
        w->failed = true;
    }
}

static void pickler_ints(pickler *w, int n, const int64_t *v) {
    pickler_op(w, OP_MARK);
    for (int i = 0; i < n; i++) pickler_int(w, v[i]);
    pickler_op(w, OP_TUPLE);
}

static void pickler_tensor(pickler *w, const tensor *t);

/* ("per_tensor_affine", scale, zero_point) or ("per_channel_affine", scales, zero_points, axis),
 * the name as a global */
static void pickler_quantiser(pickler *w, const quantiser *q) {
    pickler_op(w, OP_MARK);
    pickler_global(w, "torch", qscheme_name(q->scheme));
    if (quantiser_per_tensor(q)) {
        pickler_float(w, q->scale);
        pickler_int(w, q->zero_point);
    } else {
        pickler_tensor(w, q->scales);
        pickler_tensor(w, q->zero_points);
        pickler_int(w, q->axis);
    }
    pickler_op(w, OP_TUPLE);
}

/* What there is to say of a lazy tensor: {"conj": True}, {"neg": True}, both. */
static void pickler_lazy(pickler *w, const tensor *t) {
    if (!tensor_is_lazy(t)) return;
    pickler_op(w, OP_EMPTY_DICT);
    pickler_op(w, OP_MARK);
    if (t->conjugated) pickler_name(w, "conj"), pickler_bool(w, true);
    if (t->negated) pickler_name(w, "neg"), pickler_bool(w, true);
    pickler_op(w, OP_SETITEMS);
}

/* torch._utils._rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, OrderedDict());
 * _rebuild_qtensor, with the quantiser after the strides; _v3, with the dtype at the end */
static void pickler_tensor(pickler *w, const tensor *t) {
    bool untyped = pickler_untyped(w, t);
    pickler_global(w, "torch._utils",
                   t->quantiser ? "_rebuild_qtensor"
                   : untyped    ? "_rebuild_tensor_v3"
                                : "_rebuild_tensor_v2");
    pickler_op(w, OP_MARK);
    pickler_storage_of(w, t);
    pickler_int(w, t->offset);
    pickler_ints(w, t->ndim, t->sizes);
    pickler_ints(w, t->ndim, t->strides);
    if (t->quantiser) pickler_quantiser(w, t->quantiser);
    pickler_bool(w, t->requires_grad);
    pickler_global(w, "collections", "OrderedDict");
    pickler_op(w, OP_EMPTY_TUPLE);
    pickler_op(w, OP_REDUCE);
    if (untyped) pickler_global(w, "torch", dtype_table[t->dtype].torch_name);
    pickler_lazy(w, t);
    pickler_op(w, OP_TUPLE);
    pickler_op(w, OP_REDUCE);
}

/* ---- containers ------------------------------------------------------------------------------ */

static ctsc_status pickler_items(pickler *w, const list *l, type *elem) {
    ctsc_status s = CTSC_OK;
    pickler_op(w, OP_EMPTY_LIST);
    pickler_op(w, OP_MARK);
    for (size_t i = 0; i < l->len && s == CTSC_OK; i++) {
        value v = list_get(l, i);
        s = pickler_value(w, v, elem);
        value_unref(v);
    }
    pickler_op(w, OP_APPENDS);
    return s;
}

/* restore_type_tag(container, "Dict[str, int]"), whose container has been written. */
static void pickler_tag(pickler *w, type *t) {
    strbuf text = STRBUF_INIT;
    code_print_type(t, &text);
    w->failed |= text.failed;
    pickler_text(w, sb_str(&text), text.len);
    sb_free(&text);
    pickler_tuple_end(w, 2);
    pickler_op(w, OP_REDUCE);
    if (w->host && w->host->class_named) w->host->class_named(w->host->ctx, t);
}

static ctsc_status pickler_list(pickler *w, const list *l, type *t) {
    static const char *const builders[] = {[LIST_INT] = "build_intlist",
                                           [LIST_FLOAT] = "build_doublelist",
                                           [LIST_BOOL] = "build_boollist",
                                           [LIST_TENSOR] = "build_tensorlist"};
    if (w->plain) return pickler_items(w, l, NULL);
    type *elem = t && t->kind == T_LIST ? type_elem(t) : l->elem;
    if (!elem) {
        t = type_of_value((value){.tag = V_LIST, .u.list = (list *)l});
        elem = t && t->kind == T_LIST ? type_elem(t) : TYPE_TENSOR;
    }
    list_kind kind = type_list_kind(elem);
    ctsc_status s;
    pickler_global(w, "torch.jit._pickle",
                   kind == LIST_VALUE ? "restore_type_tag" : builders[kind]);
    if (kind == LIST_VALUE) {
        s = pickler_items(w, l, elem);
        pickler_tag(w, type_list(elem));
        return s;
    }
    pickler_op(w, OP_MARK);
    s = pickler_items(w, l, elem);
    pickler_op(w, OP_TUPLE);
    pickler_op(w, OP_REDUCE);
    return s;
}

static ctsc_status pickler_dict(pickler *w, const dict *d, type *t) {
    if (!t || t->kind != T_DICT)
        t = d->key_type && d->val_type ? type_dict(d->key_type, d->val_type) : NULL;
    if (!t && !w->plain) t = type_of_value((value){.tag = V_DICT, .u.dict = (dict *)d});
    bool tagged = !w->plain && t && t->kind == T_DICT;
    ctsc_status s = CTSC_OK;
    if (tagged) pickler_global(w, "torch.jit._pickle", "restore_type_tag");
    pickler_op(w, OP_EMPTY_DICT);
    pickler_op(w, OP_MARK);
    for (size_t i = 0; i < d->used && s == CTSC_OK; i++) {
        if (d->entries[i].key.tag == V_UNINIT) continue;
        s = pickler_value(w, d->entries[i].key, tagged ? t->elems[0] : NULL);
        if (s == CTSC_OK) s = pickler_value(w, d->entries[i].val, tagged ? t->elems[1] : NULL);
    }
    pickler_op(w, OP_SETITEMS);
    if (tagged) pickler_tag(w, t);
    return s;
}

static ctsc_status pickler_tuple(pickler *w, const tuple *tp, type *t) {
    ctsc_status s = CTSC_OK;
    if (!t || t->kind != T_TUPLE || (size_t)t->nelems != tp->len) t = NULL;
    if (tp->len > 3) pickler_op(w, OP_MARK);
    for (size_t i = 0; i < tp->len && s == CTSC_OK; i++)
        s = pickler_value(w, tp->items[i], t ? t->elems[i] : NULL);
    pickler_tuple_end(w, tp->len);
    return s;
}

/* ---- objects --------------------------------------------------------------------------------- */

static ctsc_status pickler_attributes(pickler *w, const object *o) {
    ctsc_status s = CTSC_OK;
    pickler_op(w, OP_EMPTY_DICT);
    pickler_op(w, OP_MARK);
    for (size_t i = 0; i < o->nslots && i < o->cls->cls->attributes.len && s == CTSC_OK; i++) {
        const attribute *a = &o->cls->cls->attributes.data[i];
        pickler_name(w, a->name);
        s = pickler_value(w, o->slots[i].tag == V_UNINIT ? value_none() : o->slots[i], a->type);
    }
    pickler_op(w, OP_SETITEMS);
    return s;
}

static type *pickler_state_type(const type *cls) {
    const function *f = class_find_method(cls, "__getstate__");
    return f ? f->schema->returns[0].type : NULL;
}

static ctsc_status pickler_object(pickler *w, object *o) {
    value state = value_none();
    if (!w->host || !w->host->state)
        return diag_fail(w->d, CTSC_UNSUPPORTED, "an object of class %s cannot be saved here",
                         class_name(o->cls));
    pickler_class(w, o->cls);
    pickler_op(w, OP_EMPTY_TUPLE);
    pickler_op(w, OP_NEWOBJ);
    bool own = class_has_own_state(o->cls);
    ctsc_status s = own ? w->host->state(w->host->ctx, w->d, o, &state) : CTSC_OK;
    if (s == CTSC_OK)
        s = own ? pickler_value(w, state, pickler_state_type(o->cls)) : pickler_attributes(w, o);
    /* kept: what is in it may be in the memo */
    if (own && !vec_push(&w->held, state)) {
        value_unref(state);
        w->failed = true;
    }
    pickler_op(w, OP_BUILD);
    return s;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void pickler_complex(pickler *w, const complex_box *c) {
    pickler_global(w, "builtins", "complex");
    pickler_float(w, c->re);
    pickler_float(w, c->im);
    pickler_tuple_end(w, 2);
    pickler_op(w, OP_REDUCE);
}

static void pickler_device(pickler *w, value v) {
    strbuf text = STRBUF_INIT;
    value_print(v, &text);
    pickler_global(w, "torch", "device");
    pickler_text(w, sb_str(&text), text.len);
    w->failed |= text.failed;
    sb_free(&text);
    pickler_tuple_end(w, 1);
    pickler_op(w, OP_REDUCE);
}

/* Files have no place for names of dims. */
static ctsc_status pickler_unnamed(pickler *w, const tensor *t) {
    if (t->names)
        return diag_fail(w->d, CTSC_FAILED,
                         "NYI: Named tensors don't support serialization. Please drop names via "
                         "`tensor = tensor.rename(None)` before serialization.");
    pickler_tensor(w, t);
    return CTSC_OK;
}

static ctsc_status pickler_enum(pickler *w, const enum_value *e) {
    if (w->plain) return diag_fail(w->d, CTSC_UNSUPPORTED, "an enum member cannot be saved here");
    pickler_class(w, e->cls);
    ctsc_status s = pickler_value(w, e->val, NULL); /* not in a tuple */
    pickler_op(w, OP_REDUCE);
    return s;
}

static ctsc_status pickler_payload(pickler *w, value v, type *t) {
    switch ((value_tag)v.tag) {
    case V_NONE: pickler_op(w, OP_NONE); return CTSC_OK;
    case V_BOOL: pickler_bool(w, v.u.b); return CTSC_OK;
    case V_INT: pickler_int(w, v.u.i); return CTSC_OK;
    case V_FLOAT: pickler_float(w, v.u.f); return CTSC_OK;
    case V_STR: pickler_text(w, v.u.str->bytes, v.u.str->len); return CTSC_OK;
    case V_COMPLEX: pickler_complex(w, v.u.complex); return CTSC_OK;
    case V_DEVICE: pickler_device(w, v); return CTSC_OK;
    case V_TENSOR: return pickler_unnamed(w, v.u.tensor);
    case V_LIST: return pickler_list(w, v.u.list, t);
    case V_DICT: return pickler_dict(w, v.u.dict, t);
    case V_TUPLE: return pickler_tuple(w, v.u.tuple, t);
    case V_OBJECT: return pickler_object(w, v.u.object);
    case V_ENUM: return pickler_enum(w, v.u.enumv);
    default: return diag_fail(w->d, CTSC_UNSUPPORTED, "a value of this type cannot be saved");
    }
}

/* Held in more than one place, perhaps. */
static bool pickler_is_shared(value v) {
    switch ((value_tag)v.tag) {
    case V_TENSOR:
    case V_LIST:
    case V_DICT:
    case V_TUPLE:
    case V_OBJECT: return atomic_load_explicit(v.u.refs, memory_order_relaxed) > 1;
    default: return false;
    }
}

ctsc_status pickler_value(pickler *w, value v, type *t) {
    if (w->failed || w->out.failed || arena_failed(&w->arena)) return diag_no_memory(w->d);
    if (t && t->kind == T_OPTIONAL) t = type_elem(t);
    bool shared = pickler_is_shared(v);
    intptr_t known = shared ? (intptr_t)ptrmap_get(&w->values, v.u.refs) : 0;
    if (known) {
        pickler_get(w, (uint32_t)(known - 1));
        return CTSC_OK;
    }
    if (++w->depth > EXPORT_MAX_DEPTH) {
        w->depth--;
        return diag_fail(w->d, CTSC_LIMIT,
                         "a value nests too deeply to be saved, or contains itself");
    }
    ctsc_status s = pickler_payload(w, v, t);
    w->depth--;
    if (s != CTSC_OK || !shared) return s;
    uint32_t memo = pickler_put(w);
    if (!vec_push(&w->held, value_ref(v)) ||
        !ptrmap_put(&w->values, v.u.refs, (void *)((intptr_t)memo + 1)))
        w->failed = true;
    return CTSC_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

bool pickler_begin(pickler *w, diag *d, const pickler_host *host, bool plain) {
    *w = (pickler){.d = d, .host = host, .plain = plain};
    if (!arena_init(&w->arena)) w->failed = true;
    pickler_op(w, 0x80);
    pickler_op(w, 2);
    return !w->failed;
}

ctsc_status pickler_end(pickler *w) {
    pickler_op(w, '.');
    return w->failed || w->out.failed || arena_failed(&w->arena) ? diag_no_memory(w->d) : CTSC_OK;
}

void pickler_free(pickler *w) {
    for (size_t i = 0; i < w->storages.len; i++) storage_unref(w->storages.data[i].st);
    for (size_t i = 0; i < w->held.len; i++) value_unref(w->held.data[i]);
    vec_free(&w->storages);
    vec_free(&w->held);
    strmap_free(&w->strings);
    strmap_free(&w->globals);
    ptrmap_free(&w->values);
    ptrmap_free(&w->storage_index);
    sb_free(&w->out);
    arena_free(&w->arena);
}

ctsc_status pickler_add_records(pickler *w, zip_writer *z, const char *record, const char *folder) {
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; i < w->storages.len && s == CTSC_OK; i++) {
        char name[64];
        storage *here;
        snprintf(name, sizeof name, "%s%zu", folder, i);
        s = storage_to_device(w->d, w->storages.data[i].st, DEVICE_HOST, &here);
        if (s != CTSC_OK) break;
        s = zip_writer_add(z, w->d, name, here->data, w->storages.data[i].nbytes, false);
        storage_unref(here);
    }
    return s == CTSC_OK ? zip_writer_add(z, w->d, record, sb_str(&w->out), w->out.len, false) : s;
}
