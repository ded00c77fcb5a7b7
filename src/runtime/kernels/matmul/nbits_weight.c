/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits_weight.c - see nbits_weight.h.
 *
 * How float weights are reduced. Without zero points the side with the larger magnitude
 * takes the side with more levels (-8 of -8 to 7; the scale may be negative), so that
 * no weight is off by more than half a step. With zero points the levels range from the
 * smallest number, or 0, to the largest, or 0, and 0 is one of them. Scales are rounded
 * up to float16 where they are normal numbers there, so that they take two bytes.
 */
#include "runtime/kernels/matmul/nbits_weight.h"

#include "base/minmax.h"
#include "base/threads/thread_pool.h"
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/engine/wide.h"
#include "runtime/kernels/matmul/packed_weights.h"

#include <math.h>
#include <string.h>

/* What is kept with a storage. */
typedef struct nbits_kept {
    nbits_matrix m;
    const void *of; /* the weight: another view of its storage is another one */
    int64_t strides[2];
    nbits_reduction how;
} nbits_kept;

static void nbits_kept_free(void *made) {
    nbits_kept *kept = made;
    nbits_matrix_free(&kept->m);
    mem_free(kept);
}

/* n elements of a float dtype from `first` on, at stride `apart`. */
static void nbits_take(const tensor *t, int64_t first, int64_t apart, int64_t n, float *to) {
    const char *from = tensor_data(t);
    if (t->dtype == DT_FLOAT32)
        for (int64_t i = 0; i < n; i++)
            to[i] = ((const float *)(const void *)from)[first + i * apart];
    else if (t->dtype == DT_FLOAT16)
        for (int64_t i = 0; i < n; i++)
            to[i] = float16_to_float(((const float16 *)(const void *)from)[first + i * apart]);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = bfloat16_to_float(((const bfloat16 *)(const void *)from)[first + i * apart]);
}

static bool nbits_is_float(const tensor *t) {
    return t->dtype == DT_FLOAT32 || dtype_is_half((dtype)t->dtype);
}

/* ---- float weights --------------------------------------------------------------------------- */

typedef struct nbits_floats {
    const tensor *w;
    nbits_reduction how;
    int64_t k, group, groups;
    float *scale, *zero; /* [n][groups]; zero: less the middle */
    _Atomic(bool) failed;
} nbits_floats;

static float nbits_scale_up(float scale) {
    float size = fabsf(scale);
    if (!(size >= 0x1p-14f && size < 65000)) return scale;
    float16 half = float16_from_float(size);
    if (float16_to_float(half) < size) half.bits++;
    return copysignf(float16_to_float(half), scale);
}

/* The scale and the zero point of a group of n weights; false: one is not finite. */
static bool nbits_choose(const nbits_reduction *how, const float *w, int64_t n, float *scale,
                         float *zero) {
    float low = 0, high = 0, half = (float)(1 << (how->bits - 1));
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(w[i])) return false;
        if (w[i] < low) low = w[i];
        if (w[i] > high) high = w[i];
    }
    if (how->zeros) {
        *scale = nbits_scale_up(high / (2 * half - 1) - low / (2 * half - 1));
        *zero = *scale > 0 ? fminf(2 * half - 1, rintf(-low / *scale)) - half : 0;
    } else {
        float most = fmaxf(high, -low), least = fminf(high, -low),
              size = fmaxf(most / half, least / (half - 1));
        *scale = nbits_scale_up(high > -low ? -size : size);
    }
    return true;
}

static void nbits_choose_rows(void *ctx, int64_t begin, int64_t end) {
    nbits_floats *f = ctx;
    float *row = mem_alloc((size_t)f->k * sizeof *row);
    for (int64_t j = begin; j < end && !atomic_load(&f->failed); j++) {
        if (row) nbits_take(f->w, j * f->w->strides[0], f->w->strides[1], f->k, row);
        for (int64_t g = 0; g < f->groups; g++) {
            int64_t n = int64_min(f->group, f->k - g * f->group), i = j * f->groups + g;
            float none;
            if (!row || !nbits_choose(&f->how, row + g * f->group, n, &f->scale[i],
                                      f->zero ? &f->zero[i] : &none))
                atomic_store(&f->failed, true);
        }
    }
    mem_free(row);
}

static void nbits_quantise(const void *ctx, int64_t j, uint8_t *q) {
    const nbits_floats *f = ctx;
    float w[NBITS_SEGMENT], half = (float)(1 << (f->how.bits - 1));
    for (int64_t g = 0; g < f->groups; g++) {
        int64_t end = int64_min(f->k, (g + 1) * f->group), i = j * f->groups + g;
        float scale = f->scale[i], middle = half + (f->zero ? f->zero[i] : 0);
        for (int64_t at = g * f->group, n; at < end; at += n) {
            n = int64_min(NBITS_SEGMENT, end - at);
            nbits_take(f->w, j * f->w->strides[0] + at * f->w->strides[1], f->w->strides[1], n, w);
            for (int64_t e = 0; e < n; e++) {
                float level = scale == 0 ? middle : rintf(w[e] / scale) + middle;
                q[at + e] = (uint8_t)fmaxf(0, fminf(2 * half - 1, level));
            }
        }
    }
}

static bool nbits_reduce(nbits_matrix *m, nbits_floats *f) {
    int64_t n = f->w->sizes[0];
    size_t numbers;
    if (!size_mul((size_t)n * sizeof *f->scale, (size_t)f->groups, &numbers)) return false;
    f->scale = mem_alloc(numbers);
    f->zero = f->how.zeros ? mem_alloc(numbers) : NULL;
    bool made = f->scale && (f->zero || !f->how.zeros);
    if (made) {
        pool_for(n, 1 + GEMM_CHUNK / 8 / f->k, nbits_choose_rows, f);
        nbits_source s = {.n = n,
                          .k = f->k,
                          .group = f->group,
                          .bits = f->how.bits,
                          .scale = f->scale,
                          .zero = f->zero,
                          .column = nbits_quantise,
                          .ctx = f};
        made = !atomic_load(&f->failed) && nbits_matrix_make(m, &s);
    }
    mem_free(f->scale);
    mem_free(f->zero);
    return made;
}

static void *nbits_make_reduced(const void *from) {
    const nbits_floats *given = from;
    nbits_floats f = {.w = given->w, .how = given->how, .k = given->k};
    f.group = f.how.group && f.how.group < f.k ? f.how.group : f.k;
    f.groups = nbits_groups(f.k, f.group);
    nbits_kept *kept = mem_zalloc(sizeof *kept);
    if (!kept || !nbits_reduce(&kept->m, &f)) {
        mem_free(kept);
        return NULL;
    }
    kept->of = tensor_data(f.w);
    kept->strides[0] = f.w->strides[0], kept->strides[1] = f.w->strides[1];
    kept->how = f.how;
    prepack_drop(f.w);
    return kept;
}

const nbits_matrix *nbits_reduced(const tensor *w, nbits_reduction how) {
    if (!w->storage->constant || w->storage->device != DEVICE_HOST || w->ndim != 2 ||
        w->numel == 0 || !nbits_is_float(w))
        return NULL;
    nbits_floats f = {.w = w, .how = how, .k = w->sizes[1]};
    const nbits_kept *kept = prepack_derived_now(w->storage, nbits_make_reduced, &f,
                                                 nbits_kept_free);
    bool same = kept && kept->of == tensor_data(w) && kept->m.n == w->sizes[0] &&
                kept->m.k == w->sizes[1] && kept->strides[0] == w->strides[0] &&
                kept->strides[1] == w->strides[1] && kept->how.bits == how.bits &&
                kept->how.group == how.group && kept->how.zeros == how.zeros;
    return same ? &kept->m : NULL;
}

/* ---- weights of files ------------------------------------------------------------------------ */

static int64_t nbits_file_row(const nbits_file *f) {
    return nbits_groups(f->k, f->group) * (f->group * f->bits / 8);
}

/* Are these the elements of an [n, row] tensor, one after the other? */
static bool nbits_is_rows(const tensor *t, int64_t n, int64_t row) {
    int64_t all;
    return !__builtin_mul_overflow(n, row, &all) && t->numel == all && tensor_is_contiguous(t) &&
           t->storage->device == DEVICE_HOST;
}

ctsc_status nbits_file_check(op_ctx *cx, const char *name, nbits_file *f) {
    bool fits = (f->bits == 2 || f->bits == 4 || f->bits == 8) && f->group > 0 && f->k > 0 &&
                f->group <= INT64_MAX / 8 && f->group * f->bits % 8 == 0 && f->data->ndim >= 1 &&
                f->data->dtype == DT_UINT8 && nbits_is_float(f->scale) &&
                f->k <= INT64_MAX / 2 - f->group;
    if (!fits)
        return kernel_fail(cx, "%s: weights of %d bits in groups of %lld are not possible", name,
                           f->bits, (long long)f->group);
    f->n = f->data->sizes[0];
    int64_t groups = nbits_groups(f->k, f->group);
    if (!nbits_is_rows(f->data, f->n, nbits_file_row(f)) || !nbits_is_rows(f->scale, f->n, groups))
        return kernel_fail(cx, "%s: weights and scales do not have %lld groups of %lld in a row",
                           name, (long long)groups, (long long)f->group);
    if (f->zero && !(nbits_is_float(f->zero) && nbits_is_rows(f->zero, f->n, groups)) &&
        !(f->zero->dtype == DT_UINT8 && nbits_is_rows(f->zero, f->n, (groups * f->bits + 7) / 8)))
        return kernel_fail(cx, "%s: zero points are not those of %lld groups in a row", name,
                           (long long)groups);
    return CTSC_OK;
}

/* Number i of a row of packed ones. */
static int nbits_packed_at(const uint8_t *row, int64_t i, int bits) {
    int64_t bit = i * bits;
    return row[bit / 8] >> bit % 8 & ((1 << bits) - 1);
}

/* The zero point of group g of column j, less half of what the bits hold. */
static float nbits_file_zero(const nbits_file *f, int64_t j, int64_t g) {
    int64_t groups = nbits_groups(f->k, f->group);
    float half = (float)(1 << (f->bits - 1)), zero;
    if (!f->zero) return 0;
    if (f->zero->dtype == DT_UINT8) {
        const uint8_t *row = (const uint8_t *)tensor_data(f->zero) +
                             j * ((groups * f->bits + 7) / 8);
        return (float)nbits_packed_at(row, g, f->bits) - half;
    }
    nbits_take(f->zero, j * groups + g, 1, 1, &zero);
    return zero - half;
}

/* Two bits are the middle ones of four bits' levels. */
static void nbits_file_levels(const void *ctx, int64_t j, uint8_t *q) {
    const nbits_file *f = ctx;
    const uint8_t *row = (const uint8_t *)tensor_data(f->data) + j * nbits_file_row(f);
    int more = f->bits == 2 ? 6 : 0;
    for (int64_t i = 0; i < f->k; i++) q[i] = (uint8_t)(nbits_packed_at(row, i, f->bits) + more);
}

static void *nbits_make_filed(const void *from) {
    const nbits_file *f = from;
    int64_t groups = nbits_groups(f->k, f->group), all = f->n * groups;
    float *scale = mem_alloc((size_t)all * sizeof *scale),
          *zero = f->zero ? mem_alloc((size_t)all * sizeof *zero) : NULL;
    nbits_kept *kept = mem_zalloc(sizeof *kept);
    bool made = scale && kept && (zero || !f->zero);
    if (made) {
        nbits_take(f->scale, 0, 1, all, scale);
        for (int64_t i = 0; i < all && zero; i++)
            zero[i] = nbits_file_zero(f, i / groups, i % groups);
        nbits_source s = {.n = f->n,
                          .k = f->k,
                          .group = f->group,
                          .bits = f->bits == 2 ? 4 : f->bits,
                          .scale = scale,
                          .zero = zero,
                          .column = nbits_file_levels,
                          .ctx = f};
        made = nbits_matrix_make(&kept->m, &s);
    }
    mem_free(scale);
    mem_free(zero);
    if (!made) {
        mem_free(kept);
        return NULL;
    }
    kept->of = tensor_data(f->data);
    kept->how = (nbits_reduction){.bits = f->bits, .group = f->group, .zeros = f->zero != NULL};
    prepack_drop(f->data);
    return kept;
}

const nbits_matrix *nbits_filed(const nbits_file *f) {
    if (!f->data->storage->constant || f->data->numel == 0) return NULL;
    const nbits_kept *kept = prepack_derived_now(f->data->storage, nbits_make_filed, f,
                                                 nbits_kept_free);
    bool same = kept && kept->of == tensor_data(f->data) && kept->m.n == f->n &&
                kept->m.k == f->k && kept->how.bits == f->bits && kept->how.group == f->group &&
                kept->how.zeros == (f->zero != NULL);
    return same ? &kept->m : NULL;
}

void nbits_file_column(const nbits_file *f, int64_t j, float *to) {
    int64_t groups = nbits_groups(f->k, f->group);
    const uint8_t *row = (const uint8_t *)tensor_data(f->data) + j * nbits_file_row(f);
    int half = 1 << (f->bits - 1);
    for (int64_t g = 0; g < groups; g++) {
        float scale, zero = nbits_file_zero(f, j, g);
        nbits_take(f->scale, j * groups + g, 1, 1, &scale);
        for (int64_t i = g * f->group; i < int64_min(f->k, (g + 1) * f->group); i++)
            to[i] = ((float)(nbits_packed_at(row, i, f->bits) - half) - zero) * scale;
    }
}
