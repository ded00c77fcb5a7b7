/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.c - tensors that show another tensor's storage in a different geometry.
 *
 * Every function computes sizes, strides and an offset, and hands them to tensor_view_raw.
 *
 * Tests: tests/unit/test_tensor.c
 */
#include "tensor/strides.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Sizes and strides that a view is built up in. */
typedef struct view_geometry {
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    int64_t offset;
} view_geometry;

static void view_of(const tensor *t, view_geometry *g) {
    g->ndim = t->ndim;
    g->offset = t->offset;
    memcpy(g->sizes, t->sizes, t->ndim * sizeof *g->sizes);
    memcpy(g->strides, t->strides, t->ndim * sizeof *g->strides);
}

static ctsc_status view_make(diag *d, const tensor *t, const view_geometry *g, tensor **out) {
    return tensor_view_raw(d, t, g->ndim, g->sizes, g->strides, g->offset, out);
}

static void view_remove_dim(view_geometry *g, int dim) {
    g->ndim--;
    for (int i = dim; i < g->ndim; i++) {
        g->sizes[i] = g->sizes[i + 1];
        g->strides[i] = g->strides[i + 1];
    }
}

/* A product in which only the geometry of dimensions
 * with one element can overflow, where it is unused. */
static int64_t view_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

/* Fails with the texts and the lists of sizes between them. */
static ctsc_status view_fail_sizes(diag *d, const char *before, int an, const int64_t *a,
                                   const char *between, int bn, const int64_t *b) {
    strbuf sb = STRBUF_INIT;
    sb_puts(&sb, before);
    tensor_print_sizes(an, a, &sb);
    sb_puts(&sb, between);
    if (b) tensor_print_sizes(bn, b, &sb);
    ctsc_status status = diag_fail(d, CTSC_FAILED, "%s", sb_str(&sb));
    sb_free(&sb);
    return status;
}

/* ---- one or two dimensions ------------------------------------------------------------------- */

ctsc_status tensor_alias(diag *d, const tensor *t, tensor **out) {
    return tensor_view_raw(d, t, t->ndim, t->sizes, t->strides, t->offset, out);
}

ctsc_status tensor_select(diag *d, const tensor *t, int64_t dim, int64_t index, tensor **out) {
    if (t->ndim == 0)
        return diag_fail(d, CTSC_FAILED, "select() cannot be applied to a 0-dim tensor.");
    int k;
    ctsc_status status = tensor_wrap_dim(d, dim, t->ndim, &k);
    if (status) return status;
    int64_t size = t->sizes[k];
    if (index < -size || index >= size) {
        strbuf sb = STRBUF_INIT;
        tensor_print_sizes(t->ndim, t->sizes, &sb);
        status = diag_fail(d, CTSC_FAILED,
                           "select(): index %" PRId64
                           " out of range for tensor of size %s at dimension %d",
                           index, sb_str(&sb), k);
        sb_free(&sb);
        return status;
    }
    view_geometry g;
    view_of(t, &g);
    g.offset += (index < 0 ? index + size : index) * g.strides[k];
    view_remove_dim(&g, k);
    return view_make(d, t, &g, out);
}

ctsc_status tensor_slice(diag *d, const tensor *t, int64_t dim, int64_t start, int64_t end,
                         int64_t step, tensor **out) {
    if (t->ndim == 0)
        return diag_fail(d, CTSC_FAILED, "slice() cannot be applied to a 0-dim tensor.");
    int k;
    ctsc_status status = tensor_wrap_dim(d, dim, t->ndim, &k);
    if (status) return status;
    if (step <= 0) return diag_fail(d, CTSC_FAILED, "slice step must be positive");
    int64_t size = t->sizes[k];
    if (start < 0) start += size;
    if (end < 0) end += size;
    if (start < 0) start = 0;
    if (start > size) start = size;
    if (end < start) end = start;
    if (end > size) end = size;
    view_geometry g;
    view_of(t, &g);
    int64_t length = end - start;
    g.sizes[k] = length / step + (length % step != 0);
    g.offset += start * g.strides[k];
    g.strides[k] = view_mul(g.strides[k], step);
    if (g.strides[k] < 0) g.strides[k] = t->strides[k];
    return view_make(d, t, &g, out);
}

ctsc_status tensor_transpose(diag *d, const tensor *t, int64_t dim0, int64_t dim1, tensor **out) {
    int a, b;
    ctsc_status status = tensor_wrap_dim(d, dim0, t->ndim, &a);
    if (!status) status = tensor_wrap_dim(d, dim1, t->ndim, &b);
    if (status) return status;
    if (t->ndim == 0) return tensor_alias(d, t, out);
    view_geometry g;
    view_of(t, &g);
    g.sizes[a] = t->sizes[b];
    g.strides[a] = t->strides[b];
    g.sizes[b] = t->sizes[a];
    g.strides[b] = t->strides[a];
    return view_make(d, t, &g, out);
}

ctsc_status tensor_permute(diag *d, const tensor *t, int n, const int64_t *dims, tensor **out) {
    if (n != t->ndim)
        return diag_fail(d, CTSC_FAILED,
                         "permute(sparse_coo): number of dimensions in the tensor input does not "
                         "match the length of the desired ordering of dimensions i.e. "
                         "input.dim() = %d is not equal to len(dims) = %d",
                         t->ndim, n);
    bool seen[TENSOR_MAX_DIMS] = {false};
    view_geometry g = {.ndim = n, .offset = t->offset};
    for (int i = 0; i < n; i++) {
        int k;
        ctsc_status status = tensor_wrap_dim(d, dims[i], n, &k);
        if (status) return status;
        if (seen[k]) return diag_fail(d, CTSC_FAILED, "permute(): duplicate dims are not allowed.");
        seen[k] = true;
        g.sizes[i] = t->sizes[k];
        g.strides[i] = t->strides[k];
    }
    return view_make(d, t, &g, out);
}

ctsc_status tensor_unsqueeze(diag *d, const tensor *t, int64_t dim, tensor **out) {
    int k;
    ctsc_status status = tensor_wrap_dim(d, dim, t->ndim + 1, &k);
    if (status) return status;
    if (t->ndim == TENSOR_MAX_DIMS)
        return diag_fail(d, CTSC_LIMIT, "tensors have at most %d dimensions", TENSOR_MAX_DIMS);
    view_geometry g = {.ndim = t->ndim + 1, .offset = t->offset};
    for (int i = 0, from = 0; i < g.ndim; i++) {
        if (i == k) continue;
        g.sizes[i] = t->sizes[from];
        g.strides[i] = t->strides[from];
        from++;
    }
    g.sizes[k] = 1;
    g.strides[k] = k < t->ndim ? view_mul(t->sizes[k], t->strides[k]) : 1;
    return view_make(d, t, &g, out);
}

ctsc_status tensor_squeeze(diag *d, const tensor *t, tensor **out) {
    view_geometry g = {.offset = t->offset};
    for (int i = 0; i < t->ndim; i++) {
        if (t->sizes[i] == 1) continue;
        g.sizes[g.ndim] = t->sizes[i];
        g.strides[g.ndim++] = t->strides[i];
    }
    return view_make(d, t, &g, out);
}

ctsc_status tensor_squeeze_dim(diag *d, const tensor *t, int64_t dim, tensor **out) {
    int k;
    ctsc_status status = tensor_wrap_dim(d, dim, t->ndim, &k);
    if (status) return status;
    view_geometry g;
    view_of(t, &g);
    if (t->ndim > 0 && t->sizes[k] == 1) view_remove_dim(&g, k);
    return view_make(d, t, &g, out);
}

ctsc_status tensor_squeeze_dims(diag *d, const tensor *t, int n, const int64_t *dims,
                                tensor **out) {
    bool named[TENSOR_MAX_DIMS] = {false};
    for (int i = 0; i < n; i++) {
        int k;
        ctsc_status status = tensor_wrap_dim(d, dims[i], t->ndim, &k);
        if (status) return status;
        if (named[k])
            return diag_fail(d, CTSC_FAILED, "dim %d appears multiple times in the list of dims",
                             k);
        named[k] = true;
    }
    view_geometry g = {.offset = t->offset};
    for (int i = 0; i < t->ndim; i++) {
        if (t->sizes[i] == 1 && named[i]) continue;
        g.sizes[g.ndim] = t->sizes[i];
        g.strides[g.ndim++] = t->strides[i];
    }
    return view_make(d, t, &g, out);
}

/* ---- expand ---------------------------------------------------------------------------------- */

static ctsc_status view_fail_expand(diag *d, const tensor *t, int dim, int ndim,
                                    const int64_t *sizes) {
    char before[192];
    int own = dim - (ndim - t->ndim);
    snprintf(before, sizeof before,
             "The expanded size of the tensor (%" PRId64 ") must match the existing size (%" PRId64
             ") at non-singleton dimension %d.  Target sizes: ",
             sizes[dim], t->sizes[own], dim);
    return view_fail_sizes(d, before, ndim, sizes, ".  Tensor sizes: ", t->ndim, t->sizes);
}

ctsc_status tensor_expand(diag *d, const tensor *t, int ndim, const int64_t *sizes, tensor **out) {
    if (ndim < t->ndim) {
        strbuf sb = STRBUF_INIT;
        sb_printf(&sb, "expand(torch.%sTensor{", dtype_table[t->dtype].ir_name);
        tensor_print_sizes(t->ndim, t->sizes, &sb);
        sb_puts(&sb, "}, size=");
        tensor_print_sizes(ndim, sizes, &sb);
        ctsc_status status = diag_fail(d, CTSC_FAILED,
                                       "%s): the number of sizes provided (%d) must be greater or "
                                       "equal to the number of dimensions in the tensor (%d)",
                                       sb_str(&sb), ndim, t->ndim);
        sb_free(&sb);
        return status;
    }
    if (ndim > TENSOR_MAX_DIMS)
        return diag_fail(d, CTSC_LIMIT, "tensors have at most %d dimensions, got %d",
                         TENSOR_MAX_DIMS, ndim);
    view_geometry g = {.ndim = ndim, .offset = t->offset};
    for (int i = ndim - 1; i >= 0; i--) {
        int own = i - (ndim - t->ndim);
        int64_t size = own >= 0 ? t->sizes[own] : 1, want = sizes[i];
        /* What PyTorch gives a new dimension in front: the stride it would have if it were there.
         */
        int64_t stride = own >= 0       ? t->strides[own]
                         : i < ndim - 1 ? view_mul(g.sizes[i + 1], g.strides[i + 1])
                                        : 1;
        if (want == -1) {
            if (own < 0)
                return diag_fail(d, CTSC_FAILED,
                                 "The expanded size of the tensor (%" PRId64
                                 ") isn't allowed in a leading, non-existing dimension %d",
                                 want, i);
            want = size;
        }
        if (want != size) {
            if (size != 1) return view_fail_expand(d, t, i, ndim, sizes);
            if (want < 0)
                return diag_fail(d, CTSC_FAILED, "numel: integer multiplication overflow");
            stride = 0;
        }
        g.sizes[i] = want;
        g.strides[i] = stride;
    }
    return view_make(d, t, &g, out);
}

/* ---- view and reshape ------------------------------------------------------------------------ */

/* The asked-for sizes with -1 replaced. */
static ctsc_status view_infer_sizes(diag *d, const tensor *t, int ndim, const int64_t *sizes,
                                    int64_t *result) {
    if (ndim > TENSOR_MAX_DIMS)
        return diag_fail(d, CTSC_LIMIT, "tensors have at most %d dimensions, got %d",
                         TENSOR_MAX_DIMS, ndim);
    int inferred = -1;
    int64_t count = 1;
    bool overflow = false;
    for (int i = 0; i < ndim; i++) {
        result[i] = sizes[i];
        if (sizes[i] == -1) {
            if (inferred >= 0)
                return diag_fail(d, CTSC_FAILED, "only one dimension can be inferred");
            inferred = i;
        } else if (sizes[i] < 0) {
            return diag_fail(d, CTSC_FAILED, "invalid shape dimension %" PRId64, sizes[i]);
        } else {
            overflow |= __builtin_mul_overflow(count, sizes[i], &count);
        }
    }
    bool fits = !overflow &&
                (t->numel == count || (inferred >= 0 && count > 0 && t->numel % count == 0));
    if (!fits) {
        char after[64];
        snprintf(after, sizeof after, "' is invalid for input of size %" PRId64, t->numel);
        return view_fail_sizes(d, "shape '", ndim, sizes, after, 0, NULL);
    }
    if (inferred < 0) return CTSC_OK;
    if (count == 0)
        return view_fail_sizes(d, "cannot reshape tensor of 0 elements into shape ", ndim, sizes,
                               " because the unspecified dimension size -1 can be any value and is "
                               "ambiguous",
                               0, NULL);
    result[inferred] = t->numel / count;
    return CTSC_OK;
}

/*
 * Neighbouring dimensions of t with uniform strides in
 * memory form a block; the new dimensions, taken from
 * the right, must fill block after block exactly.
 */
bool strides_of_view(const tensor *t, int ndim, const int64_t *sizes, int64_t *strides) {
    if (t->numel == 0) {
        bool same = ndim == t->ndim;
        for (int i = 0; same && i < ndim; i++) same = sizes[i] == t->sizes[i];
        int64_t stride = 1;
        for (int i = ndim - 1; i >= 0; i--) {
            strides[i] = same ? t->strides[i] : stride;
            if (__builtin_mul_overflow(stride, sizes[i] ? sizes[i] : 1, &stride)) stride = 1;
        }
        return true;
    }
    int to = ndim - 1;
    if (t->ndim == 0) {
        for (; to >= 0; to--) strides[to] = 1;
        return true;
    }
    int64_t block = 1, base = t->strides[t->ndim - 1], filled = 1;
    for (int from = t->ndim - 1; from >= 0; from--) {
        block *= t->sizes[from];
        bool ends = from == 0 ||
                    (t->sizes[from - 1] != 1 && t->strides[from - 1] != view_mul(block, base));
        if (!ends) continue;
        while (to >= 0 && (filled < block || sizes[to] == 1)) {
            strides[to] = view_mul(filled, base);
            filled *= sizes[to--];
        }
        if (filled != block) return false;
        if (from > 0) {
            base = t->strides[from - 1];
            block = filled = 1;
        }
    }
    return to < 0;
}

static const char view_incompatible[] =
    "view size is not compatible with input tensor's size and stride (at least one dimension spans "
    "across two contiguous subspaces). Use .reshape(...) instead.";

ctsc_status tensor_view(diag *d, const tensor *t, int ndim, const int64_t *sizes, tensor **out) {
    view_geometry g = {.ndim = ndim, .offset = t->offset};
    ctsc_status status = view_infer_sizes(d, t, ndim, sizes, g.sizes);
    if (status) return status;
    if (!strides_of_view(t, ndim, g.sizes, g.strides))
        return diag_fail(d, CTSC_FAILED, "%s", view_incompatible);
    return view_make(d, t, &g, out);
}

ctsc_status tensor_reshape(diag *d, const tensor *t, int ndim, const int64_t *sizes, tensor **out) {
    view_geometry g = {.ndim = ndim, .offset = t->offset};
    ctsc_status status = view_infer_sizes(d, t, ndim, sizes, g.sizes);
    if (status) return status;
    if (strides_of_view(t, ndim, g.sizes, g.strides)) return view_make(d, t, &g, out);
    tensor *copy;
    status = tensor_clone(d, t, &copy);
    if (status) return status;
    status = tensor_view(d, copy, ndim, g.sizes, out);
    tensor_unref(copy);
    return status;
}

/* ---- in-place changes of geometry ------------------------------------------------------------ */

/* The storages and dtypes change sides too: an offset means nothing without them. */
void tensor_swap_geometry(tensor *t, tensor *with) {
    if (t == with) return;
    tensor a = *t, b = *with;
    bool a_inline = t->sizes == t->inline_dims, b_inline = with->sizes == with->inline_dims;
#define VIEW_MOVE(to, from, from_inline)                                                           \
    do {                                                                                           \
        (to)->dtype = (from).dtype;                                                                \
        (to)->ndim = (from).ndim;                                                                  \
        (to)->numel = (from).numel;                                                                \
        (to)->offset = (from).offset;                                                              \
        (to)->storage = (from).storage;                                                            \
        memcpy((to)->inline_dims, (from).inline_dims, sizeof(to)->inline_dims);                    \
        (to)->sizes = (from_inline) ? (to)->inline_dims : (from).sizes;                            \
        (to)->strides = (from_inline) ? (to)->inline_dims + TENSOR_INLINE_DIMS : (from).strides;   \
    } while (0)
    VIEW_MOVE(t, b, b_inline);
    VIEW_MOVE(with, a, a_inline);
#undef VIEW_MOVE
    tensor_moved(t, a.storage);
    tensor_moved(with, b.storage);
}
