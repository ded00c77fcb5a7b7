/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_data.c - TensorProto as a tensor.
 *
 *     raw_data        the elements as in memory, little-endian
 *     float_data ...  one by one; int32_data has all narrower integers, bools and bits of float16
 *     external_data   location (a file beside the model), offset, length
 *
 * Elements of 2 or 4 bits are packed several to a byte, the lowest bits first, in raw_data
 * and in external files as in int32_data; here each gets its own byte (int8, uint8).
 *
 * The bytes of raw_data are taken out of the message, and external files are mapped: neither is
 * copied again.
 */
#include "base/text/text.h"
#include "frontend/onnx/onnx_internal.h"

bool onnx_hold(onnx_program *p, tensor *t_take) {
    if (vec_push(&p->held, t_take)) return true;
    tensor_unref(t_take);
    return onnx_no_memory(p);
}

static void data_release(void *ctx, void *data) {
    (void)ctx;
    mem_free(data);
}

static void data_release_storage(void *ctx, void *data) {
    (void)data;
    storage_unref(ctx);
}

/* ---- where the elements are ------------------------------------------------------------------ */

static bool data_number(onnx_program *p, const char *text, int64_t *out) {
    uint64_t v = 0;
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || v > (uint64_t)INT64_MAX / 10 - 10)
            return onnx_bad(p, "external data: '%.40s' is not a number", text);
        v = v * 10 + (uint64_t)(*c - '0');
    }
    *out = (int64_t)v;
    return true;
}

static storage *data_external(onnx_program *p, const Onnx__TensorProto *t, size_t nbytes) {
    const char *location = NULL;
    int64_t offset = 0, length = -1;
    for (size_t i = 0; i < t->n_external_data; i++) {
        const char *key = t->external_data[i]->key, *v = t->external_data[i]->value;
        if (!key || !v) continue;
        if (!strcmp(key, "location")) location = v;
        if ((!strcmp(key, "offset") && !data_number(p, v, &offset)) ||
            (!strcmp(key, "length") && !data_number(p, v, &length)))
            return NULL;
    }
    if (!location) return onnx_bad(p, "external data has no location"), NULL;
    if (!p->host->external)
        return onnx_unsupported(
                   p, "weights are in another file, '%.200s', and the model came without a folder",
                   location),
               NULL;
    storage *file = NULL;
    if (p->host->external(p->host->ctx, p->d, location, &file) != CTSC_OK) return NULL;
    if (length < 0) length = (int64_t)nbytes;
    if ((uint64_t)length != nbytes || (uint64_t)offset > file->nbytes ||
        (uint64_t)length > file->nbytes - (uint64_t)offset) {
        onnx_bad(p,
                 "external data: %lld bytes at offset %lld of '%.200s', which has %zu; the tensor "
                 "needs %zu",
                 (long long)length, (long long)offset, location, file->nbytes, nbytes);
        storage_unref(file);
        return NULL;
    }
    storage *st = storage_borrow((char *)file->data + offset, nbytes, data_release_storage, file);
    if (!st) return storage_unref(file), onnx_no_memory(p), NULL;
    st->read_only = true;
    st->of_file = file->of_file;
    return st;
}

static storage *data_raw(onnx_program *p, Onnx__TensorProto *t, size_t nbytes) {
    if (t->raw_data.len != nbytes)
        return onnx_bad(p, "tensor '%.200s' has %zu bytes of raw data, its dims say %zu",
                        t->name ? t->name : "", t->raw_data.len, nbytes),
               NULL;
    storage *st = storage_borrow(t->raw_data.data, nbytes, data_release, NULL);
    if (!st) return onnx_no_memory(p), NULL;
    t->raw_data = (ProtobufCBinaryData){0, NULL};
    t->has_raw_data = false;
    return st;
}

/* ---- one by one ------------------------------------------------------------------------------ */

typedef struct data_list { size_t n; const void *data; int width; bool floating; } data_list;

/* The field that elements of that dtype are in. */
static data_list data_field(const Onnx__TensorProto *t, dtype dt) {
    switch (dt) {
    case DT_FLOAT32:
    case DT_COMPLEX64: return (data_list){t->n_float_data, t->float_data, 4, true};
    case DT_FLOAT64:
    case DT_COMPLEX128: return (data_list){t->n_double_data, t->double_data, 8, true};
    case DT_UINT32:
    case DT_UINT64: return (data_list){t->n_uint64_data, t->uint64_data, 8, false};
    case DT_INT64: return (data_list){t->n_int64_data, t->int64_data, 8, false};
    default: return (data_list){t->n_int32_data, t->int32_data, 4, false};
    }
}

static void data_fill(tensor *x, dtype dt, const data_list *l) {
    size_t size = dtype_size(dt);
    char *to = tensor_data(x);
    if (l->floating || dt == DT_INT64 || dt == DT_UINT64) {
        memcpy(to, l->data, l->n * (size_t)l->width);
        return;
    }
    for (size_t i = 0; dt == DT_UINT32 && i < l->n; i++) {
        uint32_t v = (uint32_t)((const uint64_t *)l->data)[i];
        memcpy(to + i * size, &v, size);
    }
    if (dt == DT_UINT32) return;
    for (size_t i = 0; i < l->n; i++) {
        int32_t v = ((const int32_t *)l->data)[i];
        uint16_t bits = (uint16_t)v;
        uint8_t byte = (uint8_t)v;
        if (dtype_is_half(dt) || dt == DT_UINT16) memcpy(to + i * size, &bits, 2);
        else if (dtype_is_float8(dt)) memcpy(to + i * size, &byte, 1);
        else dtype_store_int(dt, to + i * size, v);
    }
}

static tensor *data_listed(onnx_program *p, const Onnx__TensorProto *t, dtype dt, int ndim,
                           const int64_t *sizes) {
    data_list l = data_field(t, dt);
    tensor *x = NULL;
    int64_t strides[TENSOR_MAX_DIMS], nbytes;
    if (tensor_layout(p->d, dt, ndim, sizes, strides, &nbytes) != CTSC_OK) return NULL;
    size_t numel = (size_t)nbytes / dtype_size(dt) * (dtype_is_complex(dt) ? 2 : 1);
    if (l.n != numel)
        return onnx_bad(p, "tensor '%.200s' has %zu elements, its dims say %zu",
                        t->name ? t->name : "", l.n, numel),
               NULL;
    if (tensor_new(p->d, dt, ndim, sizes, &x) != CTSC_OK) return NULL;
    if (l.n) data_fill(x, dt, &l);
    return x;
}

/* ---- less than a byte ------------------------------------------------------------------------ */

/* The bytes, several elements in each. */
static const uint8_t *data_packed(onnx_program *p, const Onnx__TensorProto *t, size_t nbytes,
                                  storage **held) {
    if (t->has_data_location && t->data_location == 1) {
        *held = data_external(p, t, nbytes);
        return *held ? (*held)->data : NULL;
    }
    size_t n = t->has_raw_data ? t->raw_data.len : t->n_int32_data;
    if (n != nbytes)
        return onnx_bad(p, "tensor '%.200s' has %zu bytes, its dims say %zu",
                        t->name ? t->name : "", n, nbytes),
               NULL;
    if (t->has_raw_data) return t->raw_data.data;
    uint8_t *own = arena_array(&p->scratch, uint8_t, nbytes + 1);
    for (size_t i = 0; own && i < nbytes; i++) own[i] = (uint8_t)t->int32_data[i];
    return own ? own : (onnx_no_memory(p), NULL);
}

static tensor *data_narrow(onnx_program *p, const Onnx__TensorProto *t) {
    storage *held = NULL;
    tensor *x = NULL;
    int64_t strides[TENSOR_MAX_DIMS], numel;
    int ndim = (int)t->n_dims;
    if (tensor_layout(p->d, DT_FLOAT8_E4M3FN, ndim, t->dims, strides, &numel) != CTSC_OK)
        return NULL;
    const uint8_t *pairs = data_packed(p, t, ((size_t)numel + 1) / 2, &held);
    if ((pairs || !numel) && tensor_new(p->d, DT_FLOAT8_E4M3FN, ndim, t->dims, &x) == CTSC_OK)
        float8_from_float4(pairs, numel, tensor_data(x));
    storage_unref(held);
    return x;
}

/* Integers, which are bytes here. */
int onnx_type_bits(int64_t data_type) {
    bool is_signed;
    return onnx_few_bits(data_type, &is_signed);
}

static void data_widen(const uint8_t *from, int64_t n, int bits, bool is_signed, uint8_t *to) {
    int mask = (1 << bits) - 1, sign = is_signed ? 1 << (bits - 1) : 0;
    for (int64_t i = 0; i < n; i++) {
        int v = from[i * bits / 8] >> i * bits % 8 & mask;
        to[i] = (uint8_t)((v ^ sign) - sign);
    }
}

static tensor *data_few(onnx_program *p, const Onnx__TensorProto *t) {
    dtype dt = (dtype)onnx_kept_dtype(t->data_type);
    int64_t strides[TENSOR_MAX_DIMS], n;
    int bits = onnx_type_bits(t->data_type), ndim = (int)t->n_dims;
    storage *held = NULL;
    tensor *x = NULL;
    if (tensor_layout(p->d, dt, ndim, t->dims, strides, &n) != CTSC_OK) return NULL;
    size_t nbytes = (size_t)n / 8 * (size_t)bits + ((size_t)n % 8 * (size_t)bits + 7) / 8;
    const uint8_t *from = data_packed(p, t, nbytes, &held);
    if ((from || !n) && tensor_new(p->d, dt, ndim, t->dims, &x) == CTSC_OK)
        data_widen(from, n, bits, dt == DT_INT8, tensor_data(x));
    storage_unref(held);
    return x;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static tensor *data_make(onnx_program *p, Onnx__TensorProto *t, dtype dt) {
    int64_t strides[TENSOR_MAX_DIMS], nbytes;
    int ndim = (int)t->n_dims;
    tensor *x = NULL;
    if (tensor_layout(p->d, dt, ndim, t->dims, strides, &nbytes) != CTSC_OK) return NULL;
    bool external = t->has_data_location && t->data_location == 1;
    if (!external && !t->has_raw_data) return data_listed(p, t, dt, ndim, t->dims);
    if (!nbytes) return tensor_zeros(p->d, dt, ndim, t->dims, &x) == CTSC_OK ? x : NULL;
    storage *st = external ? data_external(p, t, (size_t)nbytes) : data_raw(p, t, (size_t)nbytes);
    if (!st) return NULL;
    /* what is misaligned would be read as nothing is read elsewhere */
    if ((uintptr_t)st->data % dtype_size(dtype_part(dt))) {
        if (tensor_new(p->d, dt, ndim, t->dims, &x) == CTSC_OK)
            memcpy(tensor_data(x), st->data, (size_t)nbytes);
    } else {
        tensor_on_storage(p->d, st, dt, ndim, t->dims, strides, 0, &x);
    }
    storage_unref(st);
    return x;
}

tensor *onnx_tensor_of(onnx_program *p, Onnx__TensorProto *t) {
    int dt = onnx_to_dtype(t->data_type);
    bool narrow = t->data_type == ONNX_FLOAT4E2M1;
    int few = onnx_type_bits(t->data_type);
    const char *type = onnx_type_name(t->data_type);
    if (dt < 0 && !narrow && !few)
        return type ? onnx_unsupported(p, "tensor '%.200s' is of type %s", t->name ? t->name : "",
                                       type)
                    : onnx_bad(p, "tensor '%.200s' is of type %d, which there is none",
                               t->name ? t->name : "", (int)t->data_type),
               NULL;
    if (t->n_dims > TENSOR_MAX_DIMS)
        return onnx_bad(p, "tensor '%.200s' has %zu dims", t->name ? t->name : "", t->n_dims), NULL;
    tensor *x = narrow ? data_narrow(p, t) : few ? data_few(p, t) : data_make(p, t, (dtype)dt);
    if (!x && p->d->status == CTSC_OK) onnx_no_memory(p);
    if (!x) return NULL;
    return onnx_hold(p, x) ? x : NULL;
}
