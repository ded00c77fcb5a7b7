/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_copy.c - copies within a device: kernels/copy.cu for elements that stay what they are, the
 * kernel of the operator that converts for those that do not.
 *
 * Method. Dimensions of size 1 are dropped, and neighbours with compatible strides
 * on both sides are merged, so that most copies are a single run. The dimension
 * with the smallest stride in dst comes last: neighbouring threads write
 * neighbouring elements. Complex numbers are converted as tensors of their parts.
 * Tests: tests/unit/test_cuda_tensor.c
 */
#include "runtime/cuda/cuda_copy.h"

#include "runtime/cuda/one_op.h"

#include <stdio.h>
#include <string.h>

CUDA_FILE(copy)

enum { COPY_RANK = 16 };

/* As struct params in copy.cu. */
typedef struct copy_params {
    void *to;
    const void *from;
    int64_t n, sizes[COPY_RANK], to_strides[COPY_RANK], from_strides[COPY_RANK];
    char value[16];
    int ndim;
} copy_params;

typedef struct copy_dim { int64_t size, to, from; } copy_dim;

/* ---- geometry -------------------------------------------------------------------------------- */

/* The dimensions of dst that matter, with src's strides along them (0 where it broadcasts). */
static int copy_dims(const tensor *dst, const tensor *src, copy_dim *dims) {
    int n = 0, lead = dst->ndim - src->ndim;
    for (int k = 0; k < dst->ndim; k++) {
        if (dst->sizes[k] == 1) continue;
        bool broadcast = k < lead || src->sizes[k - lead] == 1;
        dims[n++] = (copy_dim){dst->sizes[k], dst->strides[k],
                               broadcast ? 0 : src->strides[k - lead]};
    }
    return n;
}

/* By dst's strides, largest first; stable. */
static void copy_sort(copy_dim *dims, int n) {
    for (int i = 1; i < n; i++) {
        copy_dim d = dims[i];
        int k = i;
        for (; k > 0 && dims[k - 1].to < d.to; k--) dims[k] = dims[k - 1];
        dims[k] = d;
    }
}

static int copy_merge(copy_dim *dims, int n) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        copy_dim *outer = kept ? &dims[kept - 1] : NULL;
        if (outer && outer->to == dims[i].to * dims[i].size &&
            outer->from == dims[i].from * dims[i].size)
            *outer = (copy_dim){outer->size * dims[i].size, dims[i].to, dims[i].from};
        else dims[kept++] = dims[i];
    }
    return kept;
}

/* ---- launching ------------------------------------------------------------------------------- */

/* The number of elements or a distance between them does not fit 32 bits. */
static bool copy_is_wide(int64_t n) { return n > INT32_MAX; }

static ctsc_status copy_launch(diag *d, cuda *c, const char *symbol, size_t size, copy_params *p) {
    char defines[64];
    op_ctx cx = {.diag = d};
    snprintf(defines, sizeof defines, "#define SIZE %zu\n#define WIDE %d\n", size,
             copy_is_wide(p->n));
    return cuda_each(&cx, c, &cuda_file_copy, defines, symbol, p->n, p, sizeof *p);
}

/* The innermost COPY_RANK dimensions at once, those before them (hardly ever any) one index
 * after the other. */
static ctsc_status copy_run(diag *d, cuda *c, const char *symbol, size_t size, copy_params *p,
                            const copy_dim *dims, int n) {
    if (n <= COPY_RANK) {
        p->n = 1;
        p->ndim = n;
        for (int k = 0; k < n; k++) {
            p->n *= dims[k].size;
            p->sizes[k] = dims[k].size, p->to_strides[k] = dims[k].to,
            p->from_strides[k] = dims[k].from;
        }
        if (!n) p->to_strides[0] = p->from_strides[0] = 0;
        return copy_launch(d, c, symbol, size, p);
    }
    copy_params at = *p;
    for (int64_t i = 0; i < dims[0].size; i++) {
        at.to = (char *)p->to + i * dims[0].to * (int64_t)size;
        at.from = (const char *)p->from + i * dims[0].from * (int64_t)size;
        TRY(copy_run(d, c, symbol, size, &at, dims + 1, n - 1));
    }
    return CTSC_OK;
}

static ctsc_status copy_move(diag *d, tensor *dst, const tensor *src) {
    copy_dim dims[TENSOR_MAX_DIMS];
    size_t size = dtype_size((dtype)dst->dtype);
    int n = copy_dims(dst, src, dims);
    copy_sort(dims, n);
    n = copy_merge(dims, n);
    copy_params p = {.to = tensor_data(dst), .from = tensor_data(src)};
    if (n == 0 || (n == 1 && dims[0].to == 1 && dims[0].from == 1))
        return cuda_move(cuda_of(dst), d, p.to, p.from, (size_t)dst->numel * size);
    return copy_run(d, cuda_of(dst), "move", size, &p, dims, n);
}

ctsc_status copy_fill(diag *d, tensor *dst, const void *element) {
    static const char zeros[16];
    copy_dim dims[TENSOR_MAX_DIMS];
    size_t size = dtype_size((dtype)dst->dtype);
    if (!dst->numel) return CTSC_OK;
    int n = copy_dims(dst, &(tensor){.ndim = 0}, dims);
    copy_sort(dims, n);
    n = copy_merge(dims, n);
    copy_params p = {.to = tensor_data(dst)};
    memcpy(p.value, element, size);
    bool even = n == 0 || (n == 1 && dims[0].to == 1);
    if (even && !memcmp(element, zeros, size))
        return cuda_zero(cuda_of(dst), d, p.to, (size_t)dst->numel * size);
    return copy_run(d, cuda_of(dst), "fill", size, &p, dims, n);
}

/* ---- complex numbers ------------------------------------------------------------------------- */

/* t's numbers as pairs: one more dimension, of size 2. */
static ctsc_status copy_parts(diag *d, const tensor *t, tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    int n = t->ndim;
    if (n == TENSOR_MAX_DIMS)
        return diag_fail(d, CTSC_UNSUPPORTED, "complex tensors of %d dimensions on a device", n);
    for (int k = 0; k < n; k++) sizes[k] = t->sizes[k], strides[k] = 2 * t->strides[k];
    sizes[n] = 2, strides[n] = 1;
    TRY(tensor_view_raw(d, t, n + 1, sizes, strides, 2 * t->offset, out));
    (*out)->dtype = (uint8_t)dtype_part((dtype)t->dtype);
    return CTSC_OK;
}

/* part 0: the real parts; 1: the imaginary ones */
static ctsc_status copy_part_of(diag *d, const tensor *t, int part, tensor **out) {
    tensor *parts;
    TRY(copy_parts(d, t, &parts));
    ctsc_status s = tensor_select(d, parts, -1, part, out);
    tensor_unref(parts);
    return s;
}

/* Complex numbers as bools: true where either part is. */
static ctsc_status copy_truth(diag *d, tensor *dst, const tensor *src) {
    op_ctx cx = {.diag = d, .op = op_find("aten::logical_or")};
    value parts[2] = {value_none(), value_none()}, either = value_none();
    ctsc_status s = CTSC_OK;
    bool ran = false;
    for (int i = 0; s == CTSC_OK && i < 2; i++) {
        tensor *part;
        if ((s = copy_part_of(d, src, i, &part)) == CTSC_OK) parts[i] = value_tensor_take(part);
    }
    if (s == CTSC_OK && cx.op) s = one_op_run(&cx, parts, &either, &ran);
    if (s == CTSC_OK && !ran)
        s = diag_fail(d, CTSC_UNSUPPORTED, "complex tensors cannot be made bool on a CUDA device");
    if (s == CTSC_OK) s = copy_move(d, dst, either.u.tensor);
    value_unref(either);
    for (int i = 0; i < 2; i++) value_unref(parts[i]);
    return s;
}

/* What of t takes part: its real parts where the other side is real. */
static ctsc_status copy_side(diag *d, const tensor *t, bool real, tensor **out) {
    if (!dtype_is_complex((dtype)t->dtype)) return tensor_alias(d, t, out);
    return real ? copy_part_of(d, t, 0, out) : copy_parts(d, t, out);
}

static ctsc_status copy_complex(diag *d, tensor *dst, const tensor *src) {
    static const char zero[16];
    bool to = dtype_is_complex((dtype)dst->dtype), from = dtype_is_complex((dtype)src->dtype);
    tensor *into, *of;
    if (dst->dtype == DT_BOOL) return copy_truth(d, dst, src);
    if (to && !from) TRY(copy_fill(d, dst, zero));
    TRY(copy_side(d, dst, !from, &into));
    ctsc_status s = copy_side(d, src, !to, &of);
    if (s == CTSC_OK) {
        s = copy_on_device(d, into, of);
        tensor_unref(of);
    }
    tensor_unref(into);
    return s;
}

/* ---- any copy -------------------------------------------------------------------------------- */

ctsc_status copy_on_device(diag *d, tensor *dst, const tensor *src) {
    tensor *converted;
    if (dst->dtype == src->dtype) return copy_move(d, dst, src);
    if (dtype_is_complex((dtype)dst->dtype) || dtype_is_complex((dtype)src->dtype))
        return copy_complex(d, dst, src);
    TRY(one_op_convert(d, src, (dtype)dst->dtype, &converted));
    ctsc_status s = copy_move(d, dst, converted);
    tensor_unref(converted);
    return s;
}
