/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle_make.c - the constructors a pickle may name, and what they make.
 *
 * The table at the end is the whole list: names of PyTorch's writers, with the function
 * that replaces each. In addition there are two families, storage types (torch
 * FloatStorage) and dtypes (torch float32), and the classes of the program being loaded
 * (__torch__...), which the host looks up. No other name resolves to anything.
 *
 * Tensors are checked here: every element of a view is inside its storage.
 * Tests: tests/unit/test_pickle.c
 */
#include "runtime/archive/pickle_internal.h"
#include "tensor/conjugate.h"
#include "tensor/device.h"
#include "tensor/quantiser.h"

#include <stddef.h>

const char pickle_kind_global[] = "pickle constructor";
const char pickle_kind_class[] = "pickle class";
const char pickle_kind_storage[] = "pickle storage";
const char pickle_kind_storage_type[] = "pickle storage type";

typedef struct pickle_global {
    const char *module, *name;
    /* args: borrowed. */
    ctsc_status (*make)(pickle_vm *vm, const value *args, size_t n, value *out);
    bool fresh; /* makes a container that the pickle goes on to fill */
} pickle_global;

ctsc_status pickle_capsule(pickle_vm *vm, const char *kind, void *ptr, void (*free)(void *ptr),
                           value *out) {
    capsule *c = mem_alloc(sizeof *c);
    if (!c) {
        if (free) free(ptr);
        return diag_no_memory(vm->d);
    }
    *c = (capsule){.kind = kind, .ptr = ptr, .free = free};
    atomic_init(&c->refs, 1);
    *out = (value){.tag = V_CAPSULE, .u.capsule = c};
    return CTSC_OK;
}

void *pickle_capsule_of(value v, const char *kind) {
    return v.tag == V_CAPSULE && v.u.capsule->kind == kind ? v.u.capsule->ptr : NULL;
}

static ctsc_status pickle_bad_args(pickle_vm *vm, const char *constructor) {
    return pickle_bad(vm, "wrong arguments for %s", constructor);
}

/* ---- lists ----------------------------------------------------------------------------------- */

ctsc_status list_retype(diag *d, list *l, list_kind kind, type *elem, bool *ok) {
    *ok = true;
    if (l->kind == kind && l->elem == elem) return CTSC_OK;
    for (size_t i = 0; i < l->len && l->kind != kind && *ok; i++) {
        value v = list_get(l, i);
        *ok = list_fits(kind, v);
        value_unref(v);
    }
    if (!*ok) return CTSC_OK;
    list *made = list_new(kind, elem, l->len);
    if (!made) return diag_no_memory(d);
    for (size_t i = 0; i < l->len; i++) {
        if (!list_append_take(made, list_get(l, i))) {
            value_unref(value_list_take(made));
            return diag_no_memory(d);
        }
    }
    /* Others may hold l already: it keeps its identity and gets the new insides. */
    list old = *l;
    l->kind = made->kind, made->kind = old.kind;
    l->len = made->len, made->len = old.len;
    l->cap = made->cap, made->cap = old.cap;
    l->elem = made->elem, made->elem = old.elem;
    l->u = made->u, made->u = old.u;
    value_unref(value_list_take(made));
    return CTSC_OK;
}

void dict_set_types(dict *di, type *key, type *val) {
    type *old_key = di->key_type, *old_val = di->val_type;
    value_type_ref(key);
    value_type_ref(val);
    di->key_type = key;
    di->val_type = val;
    value_type_unref(old_key);
    value_type_unref(old_val);
}

ctsc_status pickle_settle_list(pickle_vm *vm, list *l) {
    if (l->kind != LIST_VALUE || l->elem || l->len == 0) return CTSC_OK;
    uint8_t tag = l->u.values[0].tag;
    for (size_t i = 1; i < l->len; i++)
        if (l->u.values[i].tag != tag) return CTSC_OK;
    bool ok;
    switch (tag) {
    case V_INT: return list_retype(vm->d, l, LIST_INT, TYPE_INT, &ok);
    case V_FLOAT: return list_retype(vm->d, l, LIST_FLOAT, TYPE_FLOAT, &ok);
    case V_BOOL: return list_retype(vm->d, l, LIST_BOOL, TYPE_BOOL, &ok);
    case V_TENSOR: return list_retype(vm->d, l, LIST_TENSOR, TYPE_TENSOR, &ok);
    default: return CTSC_OK;
    }
}

static ctsc_status make_list(pickle_vm *vm, const char *name, const value *args, size_t n,
                             list_kind kind, type *elem, value *out) {
    if (n != 1 || args[0].tag != V_LIST) return pickle_bad_args(vm, name);
    bool ok;
    ctsc_status s = list_retype(vm->d, args[0].u.list, kind, elem, &ok);
    if (s == CTSC_OK && !ok) s = pickle_bad_args(vm, name);
    if (s == CTSC_OK) *out = value_ref(args[0]);
    return s;
}

static ctsc_status make_intlist(pickle_vm *vm, const value *args, size_t n, value *out) {
    return make_list(vm, "build_intlist", args, n, LIST_INT, TYPE_INT, out);
}
static ctsc_status make_doublelist(pickle_vm *vm, const value *args, size_t n, value *out) {
    return make_list(vm, "build_doublelist", args, n, LIST_FLOAT, TYPE_FLOAT, out);
}
static ctsc_status make_boollist(pickle_vm *vm, const value *args, size_t n, value *out) {
    return make_list(vm, "build_boollist", args, n, LIST_BOOL, TYPE_BOOL, out);
}
static ctsc_status make_tensorlist(pickle_vm *vm, const value *args, size_t n, value *out) {
    return make_list(vm, "build_tensorlist", args, n, LIST_TENSOR, TYPE_TENSOR, out);
}

/* ---- type tags ------------------------------------------------------------------------------- */

static ctsc_status tag_list(pickle_vm *vm, list *l, type *t, const char *text) {
    bool ok = true;
    for (size_t i = 0; i < l->len && ok; i++) {
        value v = list_get(l, i);
        ok = type_admits_value(type_elem(t), v);
        value_unref(v);
    }
    ctsc_status s = CTSC_OK;
    if (ok) s = list_retype(vm->d, l, type_list_kind(type_elem(t)), type_elem(t), &ok);
    if (s == CTSC_OK && !ok) s = pickle_bad(vm, "a list that is not a %s", text);
    return s;
}

static ctsc_status tag_dict(pickle_vm *vm, dict *di, type *t, const char *text) {
    for (size_t i = 0; i < di->used; i++) {
        const dict_entry *e = &di->entries[i];
        if (e->key.tag != V_UNINIT &&
            (!type_admits_value(t->elems[0], e->key) || !type_admits_value(t->elems[1], e->val)))
            return pickle_bad(vm, "a dict that is not a %s", text);
    }
    dict_set_types(di, t->elems[0], t->elems[1]);
    return CTSC_OK;
}

static ctsc_status make_tagged(pickle_vm *vm, const value *args, size_t n, value *out) {
    if (n != 2 || args[1].tag != V_STR || (args[0].tag != V_LIST && args[0].tag != V_DICT))
        return pickle_bad_args(vm, "restore_type_tag");
    const char *text = args[1].u.str->bytes;
    type *t = NULL;
    if (!vm->host->parse_type) return pickle_bad(vm, "typed containers are not expected here");
    ctsc_status s = vm->host->parse_type(vm->host->ctx, vm->d, text, &t);
    if (s != CTSC_OK) return s;
    if (t) {
        if (t->kind != (args[0].tag == V_LIST ? T_LIST : T_DICT))
            s = pickle_bad(vm, "a container with the type %s", text);
        else if (args[0].tag == V_LIST) s = tag_list(vm, args[0].u.list, t, text);
        else s = tag_dict(vm, args[0].u.dict, t, text);
    }
    if (s == CTSC_OK) *out = value_ref(args[0]);
    return s;
}

/* ---- small things ---------------------------------------------------------------------------- */

static bool make_number(value v, double *out) {
    if (v.tag != V_INT && v.tag != V_FLOAT) return false;
    *out = v.tag == V_INT ? (double)v.u.i : v.u.f;
    return true;
}

static ctsc_status make_complex(pickle_vm *vm, const value *args, size_t n, value *out) {
    double re, im;
    if (n != 2 || !make_number(args[0], &re) || !make_number(args[1], &im))
        return pickle_bad_args(vm, "complex");
    complex_box *c = complex_new(re, im);
    if (!c) return diag_no_memory(vm->d);
    *out = (value){.tag = V_COMPLEX, .u.complex = c};
    return CTSC_OK;
}

/* "cpu", "cuda", "cuda:1", or ("cuda", 1). */
static ctsc_status make_device(pickle_vm *vm, const value *args, size_t n, value *out) {
    if (n < 1 || n > 2 || args[0].tag != V_STR || (n == 2 && args[1].tag != V_INT))
        return pickle_bad_args(vm, "torch.device");
    diag why = {0};
    strbuf text = STRBUF_INIT;
    int64_t device;
    sb_write(&text, args[0].u.str->bytes, args[0].u.str->len);
    if (n == 2) sb_printf(&text, ":%lld", (long long)args[1].u.i);
    ctsc_status s = text.failed ? diag_no_memory(vm->d)
                                : device_parse(&why, sb_str(&text), text.len, &device);
    if (s == CTSC_OK) *out = value_device(device);
    else if (s == CTSC_UNSUPPORTED) s = pickle_unsupported(vm, "device %s", sb_str(&text));
    else if (s == CTSC_FAILED) s = pickle_bad(vm, "%s", diag_message(&why));
    diag_clear(&why);
    sb_free(&text);
    return s;
}

static ctsc_status make_size(pickle_vm *vm, const value *args, size_t n, value *out) {
    if (n != 1 || args[0].tag != V_TUPLE) return pickle_bad_args(vm, "torch.Size");
    for (size_t i = 0; i < args[0].u.tuple->len; i++)
        if (args[0].u.tuple->items[i].tag != V_INT) return pickle_bad_args(vm, "torch.Size");
    *out = value_ref(args[0]);
    return CTSC_OK;
}

/* OrderedDict(), to be filled; or OrderedDict([[key, value], ...]), as Python 2 writes it. */
static ctsc_status make_ordered_dict(pickle_vm *vm, const value *args, size_t n, value *out) {
    if (n > 1 || (n == 1 && args[0].tag != V_LIST)) return pickle_bad_args(vm, "OrderedDict");
    dict *di = dict_new(NULL, NULL);
    if (!di) return diag_no_memory(vm->d);
    ctsc_status s = CTSC_OK;
    const list *pairs = n ? args[0].u.list : NULL;
    for (size_t i = 0; pairs && i < pairs->len && s == CTSC_OK; i++) {
        value pair = list_get(pairs, i);
        bool ok = pair.tag == V_LIST && pair.u.list->len == 2;
        value key = ok ? list_get(pair.u.list, 0) : value_none();
        if (!ok || (key.tag != V_STR && key.tag != V_INT)) {
            value_unref(key);
            s = pickle_bad_args(vm, "OrderedDict");
        } else if (!dict_set_take(di, key, list_get(pair.u.list, 1))) {
            s = diag_no_memory(vm->d);
        }
        value_unref(pair);
    }
    *out = value_dict_take(di);
    if (s != CTSC_OK) value_unref(*out);
    return s;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static void pickled_storage_free(void *ptr) {
    pickled_storage *p = ptr;
    storage_unref(p->s);
    mem_free(p);
}

/* A tuple of ints into out[TENSOR_MAX_DIMS]; none negative. -1: not that. */
static int make_dims(value v, int64_t *out) {
    if (v.tag != V_TUPLE || v.u.tuple->len > TENSOR_MAX_DIMS) return -1;
    for (size_t i = 0; i < v.u.tuple->len; i++) {
        value x = v.u.tuple->items[i];
        if (x.tag != V_INT || x.u.i < 0) return -1;
        out[i] = x.u.i;
    }
    return (int)v.u.tuple->len;
}

/* Are offset and all of offset + sum(index * stride) below numel? */
static bool make_inside(int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset,
                        uint64_t numel) {
    int64_t last = offset, count = 1;
    bool empty = false;
    for (int i = 0; i < ndim; i++) {
        int64_t reach;
        if (sizes[i] == 0) empty = true;
        if (__builtin_mul_overflow(count, sizes[i] ? sizes[i] : 1, &count)) return false;
        if (sizes[i] == 0) continue;
        if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) ||
            __builtin_add_overflow(last, reach, &last))
            return false;
    }
    return empty ? (uint64_t)offset <= numel : (uint64_t)last < numel;
}

static ctsc_status make_tensor_as(pickle_vm *vm, const value *args, dtype dt, uint64_t numel,
                                  storage *st, bool requires_grad, value *out) {
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    int ndim = make_dims(args[2], sizes), nstrides = make_dims(args[3], strides);
    if (args[1].tag != V_INT || args[1].u.i < 0 || ndim < 0 || nstrides != ndim)
        return pickle_bad(vm, "a tensor with an impossible shape");
    if (!make_inside(ndim, sizes, strides, args[1].u.i, numel))
        return pickle_bad(vm, "a tensor that reaches beyond its storage of %llu elements",
                          (unsigned long long)numel);
    tensor *t;
    TRY(tensor_on_storage(vm->d, st, dt, ndim, sizes, strides, args[1].u.i, &t));
    t->requires_grad = requires_grad;
    *out = value_tensor_take(t);
    return CTSC_OK;
}

/* Conjugated or negated as {"conj": True}, {"neg": True} say: t, a handle without other
 * references yet, becomes lazy. */
static ctsc_status make_lazy_of(pickle_vm *vm, const value *metadata, value *t) {
    bool bits[2] = {false, false};
    if (metadata->tag != V_DICT) return CTSC_OK;
    for (size_t i = 0; i < metadata->u.dict->used; i++) {
        const dict_entry *e = &metadata->u.dict->entries[i];
        if (e->key.tag == V_UNINIT) continue;
        const char *key = e->key.tag == V_STR ? e->key.u.str->bytes : "";
        int which = !strcmp(key, "conj") ? 0 : !strcmp(key, "neg") ? 1 : -1;
        if (which < 0 || e->val.tag != V_BOOL)
            return pickle_unsupported(vm, "a tensor with properties other than conj and neg");
        bits[which] = e->val.u.b;
    }
    tensor *view;
    if (!bits[0] && !bits[1]) return CTSC_OK;
    TRY(tensor_lazy_view(vm->d, t->u.tensor, bits[0], bits[1], &view));
    value_set(t, value_tensor_take(view));
    return CTSC_OK;
}

/* The same; where it fails, t is none. */
static ctsc_status make_lazy(pickle_vm *vm, const value *metadata, value *t) {
    ctsc_status st = make_lazy_of(vm, metadata, t);
    if (st != CTSC_OK) value_set(t, value_none());
    return st;
}

static ctsc_status make_tensor(pickle_vm *vm, const value *args, size_t n, value *out) {
    const pickled_storage *ps = n >= 4 ? pickle_capsule_of(args[0], pickle_kind_storage) : NULL;
    if (!ps || n > 7) return pickle_bad_args(vm, "_rebuild_tensor");
    bool requires_grad = n > 4 && args[4].tag == V_BOOL && args[4].u.b;
    if (dtype_is_quantised(ps->dt)) return pickle_bad(vm, "a quantized tensor without a scale");
    TRY(make_tensor_as(vm, args, ps->dt, ps->numel, ps->s, requires_grad, out));
    return n == 7 ? make_lazy(vm, &args[6], out) : CTSC_OK;
}

/* The newer form: untyped bytes and a dtype. */
static ctsc_status make_tensor_v3(pickle_vm *vm, const value *args, size_t n, value *out) {
    const pickled_storage *ps = n >= 7 ? pickle_capsule_of(args[0], pickle_kind_storage) : NULL;
    if (!ps || n > 8 || args[6].tag != V_INT || !dtype_valid(args[6].u.i) ||
        dtype_is_quantised((dtype)args[6].u.i))
        return pickle_bad_args(vm, "_rebuild_tensor_v3");
    dtype dt = (dtype)args[6].u.i;
    uint64_t numel = ps->numel * dtype_size(ps->dt) / dtype_size(dt);
    TRY(make_tensor_as(vm, args, dt, numel, ps->s, args[4].tag == V_BOOL && args[4].u.b, out));
    return n == 8 ? make_lazy(vm, &args[7], out) : CTSC_OK;
}

/* (data, requires_grad, hooks) or, with attributes that somebody put on it, (data, requires_grad,
 * hooks, attributes): these are not kept. */
static ctsc_status make_parameter(pickle_vm *vm, const value *args, size_t n, value *out) {
    if (n < 2 || args[0].tag != V_TENSOR || args[1].tag != V_BOOL)
        return pickle_bad_args(vm, "_rebuild_parameter");
    tensor *t;
    TRY(tensor_alias(vm->d, args[0].u.tensor, &t));
    t->requires_grad = args[1].u.b;
    *out = value_tensor_take(t);
    return CTSC_OK;
}

/* torch.per_tensor_affine and the like: only ever the first part of a quantiser's description. */
static ctsc_status make_qscheme(pickle_vm *vm, const value *args, size_t n, value *out) {
    (void)args, (void)n, (void)out;
    return pickle_bad(vm, "a quantization scheme cannot be called");
}

/* The scheme below that the constructor denotes; -1: none. */
static int make_scheme_of(value v) {
    const pickle_global *g = pickle_capsule_of(v, pickle_kind_global);
    for (int i = 0; g && g->make == make_qscheme && i <= QSCHEME_CHANNEL_FLOAT; i++)
        if (!strcmp(g->name, qscheme_name((qscheme)i))) return i;
    return -1;
}

/* (per_tensor_affine, scale, zero_point) or (per_channel_affine, scales, zero_points, axis). */
static ctsc_status make_quantiser(pickle_vm *vm, dtype dt, const tuple *t, const value *sizes,
                                  quantiser **out) {
    int scheme = t->len ? make_scheme_of(t->items[0]) : -1;
    if (scheme == QSCHEME_TENSOR_AFFINE && t->len == 3 && t->items[1].tag == V_FLOAT &&
        t->items[2].tag == V_INT) {
        if (t->items[2].u.i < dtype_qmin(dt) || t->items[2].u.i > dtype_qmax(dt))
            return pickle_bad(vm, "a zero point that is out of range");
        *out = quantiser_new(t->items[1].u.f, t->items[2].u.i);
        return *out ? CTSC_OK : diag_no_memory(vm->d);
    }
    bool real = scheme == QSCHEME_CHANNEL_FLOAT;
    if ((scheme != QSCHEME_CHANNEL_AFFINE && !real) || t->len != 4 || t->items[1].tag != V_TENSOR ||
        t->items[2].tag != V_TENSOR || t->items[3].tag != V_INT)
        return pickle_bad(vm, "a quantized tensor with an unknown quantization scheme");
    const tuple *dims = sizes->u.tuple;
    int64_t axis = t->items[3].u.i;
    tensor *scales = NULL, *zero_points = NULL;
    ctsc_status s = tensor_to_dtype(vm->d, t->items[1].u.tensor, real ? DT_FLOAT32 : DT_FLOAT64,
                                    &scales);
    if (s == CTSC_OK)
        s = tensor_to_dtype(vm->d, t->items[2].u.tensor, real ? DT_FLOAT32 : DT_INT64,
                            &zero_points);
    if (s == CTSC_OK &&
        (axis < 0 || (uint64_t)axis >= dims->len || scales->ndim != 1 || zero_points->ndim != 1 ||
         scales->numel != dims->items[axis].u.i || zero_points->numel != scales->numel ||
         !tensor_is_contiguous(scales) || !tensor_is_contiguous(zero_points)))
        s = pickle_bad(vm, "a quantized tensor whose scales do not fit its shape");
    for (int64_t i = 0; s == CTSC_OK && !real && i < zero_points->numel; i++) {
        int64_t zero = TENSOR_AT(zero_points, int64_t)[i];
        if (zero < dtype_qmin(dt) || zero > dtype_qmax(dt))
            s = pickle_bad(vm, "a zero point that is out of range");
    }
    if (s == CTSC_OK &&
        !(*out = quantiser_new_channels((qscheme)scheme, scales, zero_points, (int)axis)))
        s = diag_no_memory(vm->d);
    tensor_unref(scales);
    tensor_unref(zero_points);
    return s;
}

/* (storage, offset, sizes, strides, quantiser's description, requires_grad, hooks) */
static ctsc_status make_quantised(pickle_vm *vm, const value *args, size_t n, value *out) {
    const pickled_storage *ps = n >= 5 ? pickle_capsule_of(args[0], pickle_kind_storage) : NULL;
    if (!ps || n > 7 || !dtype_is_quantised(ps->dt) || args[2].tag != V_TUPLE ||
        args[4].tag != V_TUPLE)
        return pickle_bad_args(vm, "_rebuild_qtensor");
    value v;
    quantiser *q = NULL;
    ctsc_status s = make_tensor_as(vm, args, ps->dt, ps->numel, ps->s,
                                   n > 5 && args[5].tag == V_BOOL && args[5].u.b, &v);
    if (s != CTSC_OK) return s;
    s = make_quantiser(vm, ps->dt, args[4].u.tuple, &args[2], &q);
    if (s == CTSC_OK) {
        tensor_set_quantiser_take(v.u.tensor, q);
        *out = v;
    } else {
        value_unref(v);
    }
    return s;
}

/* Layouts are ints in programs. */
static ctsc_status make_layout(pickle_vm *vm, const value *args, size_t n, value *out) {
    static const char *const layouts[] = {"torch.strided",   "torch.sparse_coo", "torch.sparse_csr",
                                          "torch._mkldnn",   "torch.sparse_csc", "torch.sparse_bsr",
                                          "torch.sparse_bsc"};
    for (size_t i = 0; n == 1 && args[0].tag == V_STR && i < sizeof layouts / sizeof *layouts;
         i++) {
        if (!strcmp(args[0].u.str->bytes, layouts[i])) {
            *out = value_int((int64_t)i);
            return CTSC_OK;
        }
    }
    return pickle_bad_args(vm, "_get_layout");
}

static ctsc_status make_sparse(pickle_vm *vm, const value *args, size_t n, value *out) {
    (void)args, (void)n, (void)out;
    return pickle_unsupported(vm, "sparse tensors (_rebuild_sparse_tensor) are not supported");
}

/* ---- storages -------------------------------------------------------------------------------- */

ctsc_status pickle_persistent(pickle_vm *vm, value id, value *out) {
    const tuple *t = id.tag == V_TUPLE ? id.u.tuple : NULL;
    if (!t || t->len < 5 || t->len > 6 || t->items[0].tag != V_STR ||
        strcmp(t->items[0].u.str->bytes, "storage") || t->items[2].tag != V_STR ||
        t->items[3].tag != V_STR || t->items[4].tag != V_INT || t->items[4].u.i < 0)
        return pickle_bad(vm, "a reference to something that is not a storage");
    const dtype_info *info = pickle_capsule_of(t->items[1], pickle_kind_storage_type);
    if (!info) return pickle_bad(vm, "a storage of unknown type");
    if (t->len == 6 && t->items[5].tag != V_NONE)
        return pickle_unsupported(vm, "a storage that is a view on another one");
    const str *key = t->items[2].u.str;
    if (key->len == 0 || key->len > 256 || strlen(key->bytes) != key->len ||
        strpbrk(key->bytes, "/\\"))
        return pickle_bad(vm, "a storage with an impossible key");
    if (!vm->host->storage) return pickle_bad(vm, "tensors are not expected here");
    pickled_storage *ps = mem_zalloc(sizeof *ps);
    if (!ps) return diag_no_memory(vm->d);
    ps->dt = (dtype)(info - dtype_table);
    ps->numel = (uint64_t)t->items[4].u.i;
    ctsc_status s = vm->host->storage(vm->host->ctx, vm->d, key->bytes, ps->dt, ps->numel, &ps->s);
    if (s != CTSC_OK) {
        mem_free(ps);
        return s;
    }
    return pickle_capsule(vm, pickle_kind_storage, ps, pickled_storage_free, out);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* clang-format off */
/*    module                  name                      function      makes a container to fill */
static const pickle_global pickle_globals[] = {
    {"torch._utils",          "_rebuild_tensor",        make_tensor,      false},
    {"torch._utils",          "_rebuild_tensor_v2",     make_tensor,      false},
    {"torch._utils",          "_rebuild_tensor_v3",     make_tensor_v3,   false},
    {"torch._utils",          "_rebuild_parameter",     make_parameter,   false},
    {"torch._utils",          "_rebuild_parameter_with_state", make_parameter, false},
    {"torch._utils",          "_rebuild_qtensor",       make_quantised,   false},
    {"torch._utils",          "_rebuild_sparse_tensor", make_sparse,      false},
    {"torch._utils",          "_rebuild_sparse_csr_tensor", make_sparse,  false},
    {"torch",                 "per_tensor_affine",      make_qscheme,     false},
    {"torch",                 "per_channel_affine",     make_qscheme,     false},
    {"torch",                 "per_channel_affine_float_qparams", make_qscheme, false},
    {"torch.serialization",   "_get_layout",            make_layout,      false},
    {"torch.jit._pickle",     "build_intlist",          make_intlist,     false},
    {"torch.jit._pickle",     "build_doublelist",       make_doublelist,  false},
    {"torch.jit._pickle",     "build_boollist",         make_boollist,    false},
    {"torch.jit._pickle",     "build_tensorlist",       make_tensorlist,  false},
    {"torch.jit._pickle",     "restore_type_tag",       make_tagged,      false},
    {"collections",           "OrderedDict",            make_ordered_dict, true},
    {"builtins",              "complex",                make_complex,     false},
    {"__builtin__",           "complex",                make_complex,     false},
    {"torch",                 "device",                 make_device,      false},
    {"torch",                 "Size",                   make_size,        false},
};
/* clang-format on */

static bool pickle_storage_type(const char *module, const char *name, dtype *out) {
    if (!strcmp(module, "torch.storage") && !strcmp(name, "UntypedStorage"))
        return *out = DT_UINT8, true;
    if (strcmp(module, "torch") != 0 && strcmp(module, "torch.cuda") != 0) return false;
    for (int i = 0; i < DT_COUNT; i++)
        if (!strcmp(name, dtype_table[i].storage)) return *out = (dtype)i, true;
    return false;
}

/* "torch" "float32": programs know dtypes as ints. */
static bool pickle_dtype(const char *module, const char *name, value *out) {
    if (strcmp(module, "torch") != 0) return false;
    for (int i = 0; i < DT_COUNT; i++)
        if (!strcmp(name, dtype_table[i].torch_name)) return *out = value_int(i), true;
    return false;
}

static ctsc_status pickle_class(pickle_vm *vm, const char *module, const char *name, value *out) {
    char qualified[1026];
    size_t m = strlen(module), n = strlen(name);
    memcpy(qualified, module, m);
    qualified[m] = '.';
    memcpy(qualified + m + 1, name, n + 1);
    type *t = NULL;
    ctsc_status s = vm->host->class_type(vm->host->ctx, vm->d, qualified, &t);
    if (s == CTSC_OK && !t) s = pickle_bad(vm, "Unknown type name '%s'", qualified);
    if (s != CTSC_OK) return s;
    return pickle_capsule(vm, pickle_kind_class, t, NULL, out);
}

ctsc_status pickle_global_find(pickle_vm *vm, const char *module, const char *name, value *out,
                               bool *special) {
    dtype dt;
    *special = true;
    if (pickle_storage_type(module, name, &dt))
        return pickle_capsule(vm, pickle_kind_storage_type, (void *)(uintptr_t)&dtype_table[dt],
                              NULL, out);
    if (pickle_dtype(module, name, out)) {
        *special = false;
        return CTSC_OK;
    }
    for (size_t i = 0; i < sizeof pickle_globals / sizeof *pickle_globals; i++) {
        const pickle_global *g = &pickle_globals[i];
        if (!strcmp(module, g->module) && !strcmp(name, g->name))
            return pickle_capsule(vm, pickle_kind_global, (void *)(uintptr_t)g, NULL, out);
    }
    if (vm->host->class_type &&
        (!strcmp(module, "__torch__") || !strncmp(module, "__torch__.", 10)))
        return pickle_class(vm, module, name, out);
    if (!vm->host->opaque) return pickle_bad(vm, "Unknown type name '%s.%s'", module, name);
    strbuf dotted = STRBUF_INIT;
    sb_printf(&dotted, "%s.%s", module, name);
    char *copy = dotted.failed ? NULL : mem_strdup(sb_str(&dotted));
    sb_free(&dotted);
    *special = false; /* such objects may be anywhere */
    return copy ? pickle_capsule(vm, capsule_opaque, copy, mem_free, out) : diag_no_memory(vm->d);
}

/* Color(2): the member of an enum that has this value. */
static ctsc_status pickle_enum(pickle_vm *vm, const type *t, value arg, value *out) {
    if (arg.tag == V_TUPLE && arg.u.tuple->len == 1) arg = arg.u.tuple->items[0];
    for (size_t i = 0; i < t->cls->constants.len && t->cls->enum_members; i++) {
        value member = t->cls->enum_members[i];
        if (member.tag == V_ENUM && value_equal(member.u.enumv->val, arg)) {
            *out = value_ref(member);
            return CTSC_OK;
        }
    }
    return pickle_bad(vm, "no member of %s has this value", class_name(t));
}

/* An object whose attributes are known; the name is what its capsule points to. */
typedef struct opaque_object {
    value attributes; /* a dict */
    char name[];
} opaque_object;

static opaque_object *opaque_object_of(const void *name) {
    return (opaque_object *)(void *)((char *)(uintptr_t)name - offsetof(opaque_object, name));
}

static void opaque_object_free(void *name) {
    opaque_object *o = opaque_object_of(name);
    value_unref(o->attributes);
    mem_free(o);
}

const dict *opaque_attributes(value v) {
    const void *name = pickle_capsule_of(v, capsule_opaque);
    bool known = name && v.u.capsule->free == opaque_object_free;
    return known ? opaque_object_of(name)->attributes.u.dict : NULL;
}

static ctsc_status opaque_object_make(pickle_vm *vm, const char *name, value attributes,
                                      value *out) {
    size_t n = strlen(name) + 1;
    opaque_object *o = mem_alloc(sizeof *o + n);
    if (!o) return diag_no_memory(vm->d);
    o->attributes = value_ref(attributes);
    memcpy(o->name, name, n);
    return pickle_capsule(vm, capsule_opaque, o->name, opaque_object_free, out);
}

/* What a call of an unknown function gives. Subclasses of Tensor are made by a function of torch's
 * whose second argument is the class: that says more than the function. The fourth has the
 * object's attributes. */
static ctsc_status pickle_opaque_call(pickle_vm *vm, value fn, value args, value *out) {
    const value *items = args.tag == V_TUPLE ? args.u.tuple->items : NULL;
    size_t n = items ? args.u.tuple->len : 0;
    bool made = !strcmp(fn.u.capsule->ptr, "torch._tensor._rebuild_from_type_v2") && n > 1 &&
                pickle_capsule_of(items[1], capsule_opaque);
    if (made && n > 3 && items[3].tag == V_DICT)
        return opaque_object_make(vm, items[1].u.capsule->ptr, items[3], out);
    return *out = value_ref(made ? items[1] : fn), CTSC_OK;
}

ctsc_status pickle_reduce(pickle_vm *vm, value fn, value args, value *out, bool *fresh) {
    const type *cls = pickle_capsule_of(fn, pickle_kind_class);
    if (cls && cls->kind == T_ENUM) return pickle_enum(vm, cls, args, out);
    if (pickle_capsule_of(fn, capsule_opaque)) return pickle_opaque_call(vm, fn, args, out);
    const pickle_global *g = pickle_capsule_of(fn, pickle_kind_global);
    if (!g) return pickle_bad(vm, "a call of something that is not a constructor");
    if (args.tag != V_TUPLE) return pickle_bad_args(vm, g->name);
    *fresh = g->fresh;
    return g->make(vm, args.u.tuple->items, args.u.tuple->len, out);
}
