/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_value.c - the part of ctsc.h about errors, values and tensors.
 *
 * Tests: tests/unit/test_api.c
 */
#include "base/threads/thread_pool.h"
#include "runtime/api/api.h"
#include "tensor/conjugate.h"
#include "tensor/device.h"
#include "tensor/dim_names.h"

#include <string.h>

/* ---- errors ---------------------------------------------------------------------------------- */

ctsc_error *ctsc_error_new(void) { return mem_zalloc(sizeof(ctsc_error)); }

void ctsc_error_free(ctsc_error *e) {
    if (!e) return;
    diag_clear(&e->d);
    mem_free(e);
}

ctsc_status ctsc_error_set(ctsc_error *e, ctsc_status s, const char *fmt, ...) {
    if (!e) return s;
    va_list args;
    va_start(args, fmt);
    diag_clear(&e->d);
    diag_fail_v(&e->d, s, (source_range){0}, fmt, args);
    va_end(args);
    return s;
}

ctsc_status ctsc_error_status(const ctsc_error *e) { return e ? e->d.status : CTSC_OK; }

const char *ctsc_error_message(const ctsc_error *e) { return e ? diag_message(&e->d) : ""; }

const char *ctsc_error_exception(const ctsc_error *e) { return e ? e->d.exception : NULL; }

char *ctsc_error_render(const ctsc_error *e, bool colour) {
    strbuf sb = STRBUF_INIT;
    if (e) diag_render(&e->d, &sb, colour);
    else sb_puts(&sb, "");
    return sb_take(&sb);
}

const char *ctsc_status_text(ctsc_status s) {
    switch (s) {
#define STATUS_CASE(name, code, text)                                                              \
    case CTSC_##name: return text;
        CTSC_STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}

void ctsc_string_free(char *s) { mem_free(s); }

/* ---- values ---------------------------------------------------------------------------------- */

/* The handle of a new tensor is stored in the tensor's block. */
ctsc_value *api_wrap_take(value v) {
    _Static_assert(sizeof(ctsc_value) <= sizeof(((tensor_block *)0)->room),
                   "a handle fits a tensor's room");
    ctsc_value *h = v.tag == V_TENSOR ? tensor_room_take(v.u.tensor) : NULL;
    if (!h) h = mem_alloc(sizeof *h);
    if (!h) {
        value_unref(v);
        return NULL;
    }
    *h = (ctsc_value){.v = v};
    return h;
}

void ctsc_value_free(ctsc_value *v) {
    if (!v) return;
    value held = v->v;
    if (held.tag != V_TENSOR || !tensor_room_give(held.u.tensor, v)) mem_free(v);
    value_unref(held);
}

bool ctsc_value_is(const ctsc_value *a, const ctsc_value *b) {
    return a && b && value_is(a->v, b->v);
}

ctsc_value *ctsc_value_copy(const ctsc_value *v) {
    return v ? api_wrap_take(value_ref(v->v)) : NULL;
}

ctsc_kind ctsc_value_kind(const ctsc_value *v) {
    static const ctsc_kind kinds[] = {[V_NONE] = CTSC_KIND_NONE,    [V_BOOL] = CTSC_KIND_BOOL,
                                      [V_INT] = CTSC_KIND_INT,      [V_FLOAT] = CTSC_KIND_FLOAT,
                                      [V_DEVICE] = CTSC_KIND_OTHER, [V_FUNCTION] = CTSC_KIND_OTHER,
                                      [V_UNINIT] = CTSC_KIND_NONE,  [V_COMPLEX] = CTSC_KIND_COMPLEX,
                                      [V_STR] = CTSC_KIND_STRING,   [V_TENSOR] = CTSC_KIND_TENSOR,
                                      [V_LIST] = CTSC_KIND_LIST,    [V_DICT] = CTSC_KIND_DICT,
                                      [V_TUPLE] = CTSC_KIND_TUPLE,  [V_OBJECT] = CTSC_KIND_OBJECT,
                                      [V_ENUM] = CTSC_KIND_OTHER,   [V_FUTURE] = CTSC_KIND_FUTURE,
                                      [V_CAPSULE] = CTSC_KIND_OTHER};
    return v ? kinds[v->v.tag] : CTSC_KIND_NONE;
}

ctsc_value *ctsc_none_new(void) { return api_wrap_take(value_none()); }
ctsc_value *ctsc_bool_new(bool b) { return api_wrap_take(value_bool(b)); }
ctsc_value *ctsc_int_new(int64_t i) { return api_wrap_take(value_int(i)); }
ctsc_value *ctsc_float_new(double f) { return api_wrap_take(value_float(f)); }
ctsc_value *ctsc_string_new(const char *bytes, size_t len) {
    str *s = bytes || !len ? str_new(bytes ? bytes : "", len) : NULL;
    return s ? api_wrap_take(value_str_take(s)) : NULL;
}

ctsc_value *ctsc_tuple_new(size_t n, ctsc_value *const *items) {
    tuple *t = api_all_given(n, items) ? tuple_new(n, NULL) : NULL;
    if (!t) return NULL;
    for (size_t i = 0; i < n; i++) t->items[i] = value_ref(items[i]->v);
    return api_wrap_take(value_tuple_take(t));
}

ctsc_value *ctsc_list_new(size_t n, ctsc_value *const *items) {
    static const struct { uint8_t tag; list_kind kind; } flat[] = {
        {V_INT, LIST_INT}, {V_FLOAT, LIST_FLOAT}, {V_BOOL, LIST_BOOL}, {V_TENSOR, LIST_TENSOR}};
    list_kind kind = LIST_VALUE;
    if (!api_all_given(n, items)) return NULL;
    for (size_t k = 0; n && k < sizeof flat / sizeof *flat; k++)
        if (items[0]->v.tag == flat[k].tag) kind = flat[k].kind;
    for (size_t i = 1; i < n; i++)
        if (items[i]->v.tag != items[0]->v.tag) kind = LIST_VALUE;
    list *l = list_new(kind, NULL, n);
    if (!l) return NULL;
    for (size_t i = 0; i < n; i++)
        if (!list_append_take(l, value_ref(items[i]->v))) {
            value_unref(value_list_take(l));
            return NULL;
        }
    return api_wrap_take(value_list_take(l));
}

bool ctsc_value_bool(const ctsc_value *v) {
    api_reads(v, "ctsc_value_bool");
    return v && v->v.tag == V_BOOL && v->v.u.b;
}
int64_t ctsc_value_int(const ctsc_value *v) {
    api_reads(v, "ctsc_value_int");
    return v && v->v.tag == V_INT ? v->v.u.i : 0;
}
double ctsc_value_float(const ctsc_value *v) {
    api_reads(v, "ctsc_value_float");
    return v && v->v.tag == V_FLOAT ? v->v.u.f : 0;
}
const char *ctsc_value_string(const ctsc_value *v, size_t *len) {
    api_reads(v, "ctsc_value_string");
    bool is = v && v->v.tag == V_STR;
    if (len) *len = is ? v->v.u.str->len : 0;
    return is ? v->v.u.str->bytes : "";
}

size_t ctsc_value_len(const ctsc_value *v) {
    switch (v ? (int)v->v.tag : V_NONE) {
    case V_LIST: return v->v.u.list->len;
    case V_TUPLE: return v->v.u.tuple->len;
    case V_DICT: return v->v.u.dict->len;
    case V_OBJECT: return v->v.u.object->nslots;
    default: return 0;
    }
}

static const dict_entry *api_dict_entry(const dict *d, size_t i) {
    for (size_t k = 0; k < d->used; k++)
        if (d->entries[k].key.tag != V_UNINIT && i-- == 0) return &d->entries[k];
    return NULL;
}

ctsc_value *ctsc_value_item(const ctsc_value *v, size_t i) {
    if (i >= ctsc_value_len(v)) return NULL;
    switch (v->v.tag) {
    case V_LIST: return api_wrap_take(list_get(v->v.u.list, i));
    case V_TUPLE: return api_wrap_take(value_ref(v->v.u.tuple->items[i]));
    case V_DICT: return api_wrap_take(value_ref(api_dict_entry(v->v.u.dict, i)->val));
    default: return api_wrap_take(value_ref(v->v.u.object->slots[i]));
    }
}

ctsc_value *ctsc_value_key(const ctsc_value *v, size_t i) {
    if (!v || v->v.tag != V_DICT || i >= v->v.u.dict->len) return NULL;
    return api_wrap_take(value_ref(api_dict_entry(v->v.u.dict, i)->key));
}

char *ctsc_value_print(const ctsc_value *v) {
    api_reads(v, "ctsc_value_print");
    strbuf sb = STRBUF_INIT;
    if (v) value_print(v->v, &sb);
    return sb_take(&sb);
}

bool ctsc_value_close(const ctsc_value *got, const ctsc_value *want, double rtol, double atol,
                      char **why) {
    api_reads(got, "ctsc_value_close");
    api_reads(want, "ctsc_value_close");
    strbuf sb = STRBUF_INIT;
    if (!got || !want) sb_puts(&sb, "there is no value");
    bool same = got && want && value_close(got->v, want->v, rtol, atol, &sb);
    if (!same && why) *why = sb_take(&sb);
    sb_free(&sb);
    return same;
}

ctsc_status ctsc_value_load(const char *path, ctsc_value **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    value v = value_none();
    ctsc_status s = api_given(d, path, "the path");
    if (s != CTSC_OK) return api_leave(e, &own, s);
    size_t n = strlen(path);
    if (n > 4 && (!strcmp(path + n - 4, ".npy") || !strcmp(path + n - 4, ".npz"))) {
        s = load_numpy_file(d, path, &v);
    } else {
        reader r;
        s = reader_open_file(d, path, &r);
        if (s == CTSC_OK) s = load_pickled_file(d, r, &v);
    }
    if (s == CTSC_OK) {
        ctsc_value *h = api_wrap_take(v);
        if (h) *out = h;
        else s = diag_no_memory(d);
    }
    return api_leave_file(e, &own, s, path);
}

ctsc_status ctsc_value_save(const ctsc_value *v, const char *path, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status s = api_given(d, v, "the value");
    if (s == CTSC_OK) s = api_given(d, path, "the path");
    return api_leave(e, &own, s == CTSC_OK ? save_pickled_file(d, v->v, path) : s);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static ctsc_status api_check_tensor(diag *d, int dtype, int ndim, const int64_t *sizes) {
    if (!dtype_valid(dtype)) return diag_fail(d, CTSC_USAGE, "%d is not an element type", dtype);
    if (dtype_is_quantised((enum dtype)dtype))
        return diag_fail(d, CTSC_USAGE,
                         "a tensor of a quantized type has to come from an operator or a file");
    if (ndim < 0 || ndim > TENSOR_MAX_DIMS)
        return diag_fail(d, CTSC_USAGE, "a tensor has 0 to %d dimensions, not %d", TENSOR_MAX_DIMS,
                         ndim);
    return ndim ? api_given(d, sizes, "the list of sizes") : CTSC_OK;
}

static ctsc_status api_give_tensor(diag *d, tensor *t, ctsc_value **out) {
    ctsc_value *h = api_wrap_take(value_tensor_take(t));
    if (!h) return diag_no_memory(d);
    *out = h;
    return CTSC_OK;
}

ctsc_status ctsc_tensor_new(ctsc_dtype dt, int ndim, const int64_t *sizes, ctsc_value **out,
                            ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    tensor *t = NULL;
    ctsc_status s = api_check_tensor(d, dt, ndim, sizes);
    if (s == CTSC_OK) s = tensor_zeros(d, (dtype)dt, ndim, sizes, &t);
    if (s == CTSC_OK) s = api_give_tensor(d, t, out);
    return api_leave(e, &own, s);
}

ctsc_status ctsc_tensor_borrow(ctsc_dtype dt, int ndim, const int64_t *sizes, void *data,
                               void (*release)(void *ctx, void *data), void *ctx, ctsc_value **out,
                               ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status s = api_check_tensor(d, dt, ndim, sizes);
    int64_t strides[TENSOR_MAX_DIMS];
    size_t bytes = s == CTSC_OK ? dtype_size((dtype)dt) : 0;
    for (int i = ndim; s == CTSC_OK && i-- > 0;) {
        strides[i] = (int64_t)(bytes / dtype_size((dtype)dt));
        if (sizes[i] < 0 || !size_mul(bytes, sizes[i] ? (size_t)sizes[i] : 1, &bytes) ||
            bytes > INT64_MAX)
            s = diag_fail(d, CTSC_USAGE, "a tensor of these sizes is not possible");
    }
    if (s == CTSC_OK && ((uintptr_t)data % dtype_size((dtype)dt) || (!data && bytes)))
        s = diag_fail(d, CTSC_USAGE, "the data of a tensor must be aligned to its elements");
    if (s == CTSC_OK) {
        storage *st = storage_borrow(data, bytes, release, ctx);
        tensor *t = NULL;
        if (!st) s = diag_no_memory(d);
        else s = tensor_on_storage(d, st, (dtype)dt, ndim, sizes, strides, 0, &t);
        if (st) {
            if (s != CTSC_OK) st->release = NULL, st->release_ctx = NULL, st->data = NULL;
            storage_unref(st);
        }
        if (s == CTSC_OK) s = api_give_tensor(d, t, out);
    }
    return api_leave(e, &own, s);
}

static const tensor *api_tensor(const ctsc_value *t) {
    return t && t->v.tag == V_TENSOR ? t->v.u.tensor : NULL;
}

ctsc_dtype ctsc_tensor_dtype(const ctsc_value *t) {
    return api_tensor(t) ? (ctsc_dtype)api_tensor(t)->dtype : CTSC_FLOAT32;
}
int ctsc_tensor_ndim(const ctsc_value *t) { return api_tensor(t) ? api_tensor(t)->ndim : 0; }
const int64_t *ctsc_tensor_sizes(const ctsc_value *t) {
    return api_tensor(t) ? api_tensor(t)->sizes : NULL;
}
const int64_t *ctsc_tensor_strides(const ctsc_value *t) {
    return api_tensor(t) ? api_tensor(t)->strides : NULL;
}
const char *ctsc_tensor_dim_name(const ctsc_value *t, int dim) {
    const tensor *x = api_tensor(t);
    return x && dim >= 0 && dim < x->ndim ? tensor_dim_name(x, dim) : NULL;
}
void *ctsc_tensor_data(const ctsc_value *t) {
    api_reads(t, "ctsc_tensor_data");
    return api_tensor(t) && tensor_device(api_tensor(t)) == DEVICE_HOST ? tensor_data(api_tensor(t))
                                                                        : NULL;
}

bool ctsc_tensor_is_lazy(const ctsc_value *t) {
    return api_tensor(t) && tensor_is_lazy(api_tensor(t));
}

size_t ctsc_tensor_storage_bytes(const ctsc_value *t) {
    return api_tensor(t) ? api_tensor(t)->storage->nbytes : 0;
}
bool ctsc_tensor_is_contiguous(const ctsc_value *t) {
    return api_tensor(t) && tensor_is_contiguous(api_tensor(t));
}

bool ctsc_tensor_is_writable(const ctsc_value *t) {
    return api_tensor(t) && !api_tensor(t)->storage->read_only;
}

ctsc_status ctsc_tensor_contiguous(const ctsc_value *t, ctsc_value **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    tensor *c = NULL;
    ctsc_status s = api_tensor(t) ? tensor_contiguous(d, t->v.u.tensor, &c)
                                  : diag_fail(d, CTSC_USAGE, "the value is not a tensor");
    if (s == CTSC_OK) s = api_give_tensor(d, c, out);
    return api_leave(e, &own, s);
}
