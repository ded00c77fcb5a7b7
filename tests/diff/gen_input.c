/* SPDX-License-Identifier: Apache-2.0 */
/* gen_input.c - random arguments: dtypes, sizes, layouts, numbers. */
#include "gen.h"

#include <math.h>

dtype gen_dtype(rng *r) {
    static const dtype choices[] = {
        DT_FLOAT32, DT_FLOAT32, DT_FLOAT32, DT_FLOAT32, DT_FLOAT32,  DT_FLOAT32, DT_FLOAT32,
        DT_FLOAT32, DT_FLOAT64, DT_FLOAT64, DT_INT64,   DT_INT64,    DT_INT64,   DT_BOOL,
        DT_BOOL,    DT_INT32,   DT_UINT8,   DT_FLOAT16, DT_BFLOAT16, DT_INT16,
    };
    return choices[rng_next(r) % (sizeof choices / sizeof *choices)];
}

/* ---- numbers --------------------------------------------------------------------------------- */

static double input_float(rng *r, int style) {
    static const double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1.0, -1.0, 1e-3, 300.0};
    switch (style) {
    case STYLE_INTEGERS: return (double)rng_range(r, -3, 4);
    case STYLE_POSITIVE: return rng_real(r, 0.05, 2.5);
    case STYLE_SPECIAL:
        if (rng_chance(r, 25)) return special[rng_next(r) % (sizeof special / sizeof *special)];
        return rng_real(r, -3, 3);
    default: return rng_chance(r, 20) ? (double)rng_range(r, -8, 8) / 4 : rng_real(r, -2, 2);
    }
}

static int64_t input_int(rng *r, dtype dt, int style) {
    if (dt == DT_BOOL) return rng_chance(r, 50);
    if (style == STYLE_SPECIAL && rng_chance(r, 20))
        return dt == DT_UINT8 ? rng_range(r, 128, 255) : rng_range(r, -120, 120);
    return style == STYLE_POSITIVE || dt == DT_UINT8 ? rng_range(r, 0, 5) : rng_range(r, -4, 5);
}

static void input_fill(rng *r, storage *s, dtype dt, int style) {
    for (size_t at = 0; at + dtype_size(dt) <= s->nbytes; at += dtype_size(dt)) {
        if (dtype_is_float(dt)) dtype_store_float(dt, (char *)s->data + at, input_float(r, style));
        else dtype_store_int(dt, (char *)s->data + at, input_int(r, dt, style));
    }
}

tensor *gen_fill_new(rng *r, dtype dt, int ndim, const int64_t *sizes, int style) {
    tensor *t = NULL;
    diag d = {0};
    if (tensor_new(&d, dt, ndim, sizes, &t) != CTSC_OK) abort();
    input_fill(r, t->storage, dt, style);
    return t;
}

/* ---- layouts --------------------------------------------------------------------------------- */

enum { INPUT_APART = 4096, INPUT_APART_ROWS = 24 };

static int64_t input_rows(const gen_argument *a, const int64_t *sizes) {
    int64_t rows = 1;
    for (int i = 0; i + 1 < a->ndim; i++) rows *= sizes[i];
    return rows;
}

/* A tensor of these sizes as part of a new, larger or permuted one. */
static tensor *input_laid_out(rng *r, const gen_argument *a, const int64_t *sizes) {
    int64_t whole[GEN_MAX_DIMS];
    diag d = {0};
    tensor *base = NULL, *t = NULL;
    memcpy(whole, sizes, sizeof whole);
    int i = a->ndim ? (int)(rng_next(r) % (uint64_t)a->ndim) : 0,
        k = a->ndim ? (int)(rng_next(r) % (uint64_t)a->ndim) : 0;
    int64_t step = rng_range(r, 1, 2), skip = rng_range(r, 0, 1);
    if (a->ndim == 0 || a->layout == LAYOUT_CONTIGUOUS)
        return gen_fill_new(r, a->dt, a->ndim, sizes, a->style);
    if (a->layout == LAYOUT_TRANSPOSED) {
        whole[i] = sizes[k];
        whole[k] = sizes[i];
        base = gen_fill_new(r, a->dt, a->ndim, whole, a->style);
        if (tensor_transpose(&d, base, i, k, &t) != CTSC_OK) abort();
    } else if (a->layout == LAYOUT_SLICED) {
        whole[i] = sizes[i] * step + skip;
        base = gen_fill_new(r, a->dt, a->ndim, whole, a->style);
        if (tensor_slice(&d, base, i, skip, skip + sizes[i] * step, step, &t) != CTSC_OK) abort();
    } else if (a->layout == LAYOUT_APART) {
        whole[a->ndim - 1] = INPUT_APART / (int64_t)dtype_size(a->dt);
        if (sizes[a->ndim - 1] > whole[a->ndim - 1] || input_rows(a, sizes) > INPUT_APART_ROWS)
            return gen_fill_new(r, a->dt, a->ndim, sizes, a->style);
        base = gen_fill_new(r, a->dt, a->ndim, whole, a->style);
        if (tensor_slice(&d, base, a->ndim - 1, skip, skip + sizes[a->ndim - 1], 1, &t) != CTSC_OK)
            abort();
    } else {
        if (sizes[i] > 0) whole[i] = 1;
        base = gen_fill_new(r, a->dt, a->ndim, whole, a->style);
        if (tensor_expand(&d, base, a->ndim, sizes, &t) != CTSC_OK) abort();
    }
    tensor_unref(base);
    return t;
}

/* A view of another argument: the same, transposed, a row, a slice. */
static tensor *input_view(rng *r, tensor *of) {
    diag d = {0};
    tensor *t = NULL;
    ctsc_status s = CTSC_FAILED;
    if (of->ndim >= 2 && rng_chance(r, 40)) s = tensor_transpose(&d, of, 0, of->ndim - 1, &t);
    else if (of->ndim >= 1 && of->sizes[0] > 0 && rng_chance(r, 50))
        s = tensor_select(&d, of, 0, rng_range(r, 0, of->sizes[0] - 1), &t);
    else if (of->ndim >= 1)
        s = tensor_slice(&d, of, 0, rng_range(r, 0, 1), INT64_MAX, rng_range(r, 1, 2), &t);
    diag_clear(&d);
    return s == CTSC_OK ? t : tensor_ref(of);
}

static tensor *input_tensor(rng *r, const gen_argument *a, const int64_t *case_sizes,
                            const value *earlier) {
    int64_t sizes[GEN_MAX_DIMS] = {0};
    for (int i = 0; i < a->ndim; i++)
        sizes[i] = a->sizes[i] >= 0 ? a->sizes[i] : case_sizes[~a->sizes[i]];
    if (a->layout == LAYOUT_VIEW) return input_view(r, earlier[a->view_of].u.tensor);
    return input_laid_out(r, a, sizes);
}

static value input_value(rng *r, const gen_argument *a, const int64_t *sizes,
                         const value *earlier) {
    list *l;
    switch (a->tag) {
    case V_INT: return value_int(rng_range(r, -2, 6));
    case V_FLOAT: return value_float(input_float(r, STYLE_MIXED));
    case V_BOOL: return value_bool(rng_chance(r, 50));
    case V_LIST:
        l = list_new(LIST_TENSOR, TYPE_TENSOR, 4);
        for (int i = 0; i < a->count; i++)
            list_append_take(l, value_tensor_take(input_tensor(r, a, sizes, earlier)));
        return value_list_take(l);
    default: return value_tensor_take(input_tensor(r, a, sizes, earlier));
    }
}

void gen_make_arguments(rng *r, int n, const gen_argument *recipes, const int64_t *sizes,
                        value *out) {
    for (int i = 0; i < n; i++) out[i] = input_value(r, &recipes[i], sizes, out);
}

/* ---- recipes --------------------------------------------------------------------------------- */

static void input_recipe(rng *r, gen_argument *a) {
    static const int ranks[] = {0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4};
    *a = (gen_argument){
        .tag = V_TENSOR, .dt = gen_dtype(r), .style = (int)(rng_next(r) % STYLE_COUNT)};
    if (rng_chance(r, 50)) a->style = STYLE_MIXED;
    a->ndim = ranks[rng_next(r) % (sizeof ranks / sizeof *ranks)];
    for (int i = 0; i < a->ndim; i++) {
        a->sizes[i] = ~(int)(rng_next(r) % GEN_SIZES);
        if (rng_chance(r, 12)) a->sizes[i] = 1;
        else if (rng_chance(r, 2)) a->sizes[i] = 0;
    }
    if (rng_chance(r, 35)) a->layout = (gen_layout)rng_range(r, LAYOUT_TRANSPOSED, LAYOUT_APART);
}

int gen_arguments(rng *r, const int64_t *sizes, gen_argument *recipes) {
    static const value_tag scalars[] = {V_INT, V_FLOAT, V_BOOL};
    int tensors = (int)rng_range(r, 1, 4), n = 0;
    (void)sizes;
    for (; n < tensors; n++) {
        input_recipe(r, &recipes[n]);
        if (n > 0 && rng_chance(r, 8)) {
            recipes[n].layout = LAYOUT_VIEW;
            recipes[n].view_of = (int)(rng_next(r) % (uint64_t)n);
        }
    }
    for (int i = 0; i < 3; i++)
        if (rng_chance(r, 40)) recipes[n++] = (gen_argument){.tag = scalars[i]};
    if (rng_chance(r, 8)) {
        input_recipe(r, &recipes[n]);
        recipes[n].tag = V_LIST;
        recipes[n++].count = (int)rng_range(r, 0, 3);
    }
    return n;
}
