/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits_matrix.c - packing weights of 4 or 8 bits (nbits_matrix.h), and taking them out again.
 * Tests: tests/unit/test_nbits.c
 */
#include "runtime/kernels/matmul/nbits_matrix.h"

#include "base/minmax.h"
#include "base/threads/thread_pool.h"
#include "cpu/convert/half.h"
#include "runtime/kernels/engine/kernel_tuning.h"

#include <math.h>
#include <string.h>

enum { NBITS_ALIGN = 64 };

/* ---- the form -------------------------------------------------------------------------------- */

/* The longest part of a group that is a segment; a single group may be so long as k is, padded. */
static int64_t nbits_segment(const nbits_source *s, int64_t padded) {
    int64_t group = s->group;
    if (group >= s->k) return int64_min(NBITS_SEGMENT, padded);
    int64_t parts = (group + NBITS_SEGMENT - 1) / NBITS_SEGMENT;
    while (group % parts || group / parts % NBITS_EIGHT) parts++;
    return group / parts;
}

static bool nbits_all_half(const float *scale, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (float16_to_float(float16_from_float(scale[i])) != scale[i]) return false;
    return true;
}

static nbits_zeros nbits_zeros_of(const float *zero, int64_t n) {
    nbits_zeros z = NBITS_NO_ZEROS;
    for (int64_t i = 0; zero && i < n; i++) {
        if (zero[i] == 0) continue;
        if (!(zero[i] >= INT8_MIN && zero[i] <= INT8_MAX && zero[i] == rintf(zero[i])))
            return NBITS_FLOAT_ZEROS;
        z = NBITS_BYTE_ZEROS;
    }
    return z;
}

/* ---- packing --------------------------------------------------------------------------------- */

typedef struct nbits_pack {
    const nbits_matrix *m;
    const nbits_source *s;
    _Atomic(bool) failed;
} nbits_pack;

/* The data of column c of a panel; q is of m->form.k elements. */
static void nbits_put_data(const nbits_form *f, uint8_t *panel, int c, const uint8_t *q) {
    int64_t block = nbits_block_bytes(f);
    for (int64_t at = 0; at < f->k; at += f->segment, panel += block) {
        int64_t k = int64_min(f->segment, f->k - at);
        for (int64_t i = 0; i < k; i += 4) {
            const uint8_t *from = q + at + i;
            if (f->bits == 8) {
                memcpy(panel + (i / 4 * f->columns + c) * 4, from, 4);
                continue;
            }
            uint8_t *to = panel + (i / NBITS_EIGHT * f->columns + c) * 4;
            int shift = i % NBITS_EIGHT ? 4 : 0;
            for (int e = 0; e < 4; e++) to[e] = (uint8_t)(to[e] | (from[e] & 15) << shift);
        }
    }
}

static void nbits_put_scales(const nbits_form *f, const nbits_source *s, uint8_t *panel, int c,
                             int64_t j) {
    int64_t groups = nbits_groups(s->k, s->group);
    for (int64_t at = 0; at < f->k; at += f->segment) {
        panel += nbits_data_bytes(f, int64_min(f->segment, f->k - at));
        int64_t i = j * groups + at / s->group;
        float16 half = float16_from_float(s->scale[i]);
        if (f->half) memcpy(panel + c * 2, &half, sizeof half);
        else memcpy(panel + c * 4, &s->scale[i], sizeof *s->scale);
        panel += nbits_scale_bytes(f);
        if (f->zeros == NBITS_BYTE_ZEROS) panel[c] = (uint8_t)(int8_t)s->zero[i];
        if (f->zeros == NBITS_FLOAT_ZEROS) memcpy(panel + c * 4, &s->zero[i], sizeof *s->zero);
        panel += nbits_zero_bytes(f);
    }
}

static void nbits_pack_panels(void *ctx, int64_t begin, int64_t end) {
    nbits_pack *p = ctx;
    const nbits_form *f = &p->m->form;
    uint8_t *q = mem_zalloc((size_t)f->k);
    if (!q) {
        atomic_store(&p->failed, true);
        return;
    }
    for (int64_t panel = begin; panel < end; panel++) {
        uint8_t *to = p->m->data + panel * nbits_panel_bytes(f);
        int64_t first = panel * f->columns, cols = int64_min(f->columns, p->m->n - first);
        for (int c = 0; c < cols; c++) {
            p->s->column(p->s->ctx, first + c, q);
            nbits_put_data(f, to, c, q);
            nbits_put_scales(f, p->s, to, c, first + c);
        }
    }
    mem_free(q);
}

bool nbits_matrix_make(nbits_matrix *m, const nbits_source *s) {
    int64_t all = s->n * nbits_groups(s->k, s->group);
    if (!nbits_group_fits(s->k, s->group)) return false;
    *m = (nbits_matrix){.micro = ukernel_nbits(), .n = s->n, .k = s->k};
    int64_t k = (s->k + NBITS_EIGHT - 1) / NBITS_EIGHT * NBITS_EIGHT;
    m->form = (nbits_form){.bits = s->bits,
                           .columns = m->micro->columns,
                           .k = k,
                           .segment = nbits_segment(s, k),
                           .half = nbits_all_half(s->scale, all),
                           .zeros = nbits_zeros_of(s->zero, all)};
    m->one = s->group >= s->k && m->form.zeros != NBITS_FLOAT_ZEROS;
    m->panels = (m->n + m->form.columns - 1) / m->form.columns;
    size_t bytes;
    if (!size_mul((size_t)m->panels, (size_t)nbits_panel_bytes(&m->form), &bytes) ||
        bytes > PTRDIFF_MAX - NBITS_ALIGN)
        return false;
    m->memory = mem_zalloc(bytes + NBITS_ALIGN);
    if (!m->memory) return false;
    m->data = (uint8_t *)m->memory + (-(uintptr_t)m->memory & (NBITS_ALIGN - 1));
    nbits_pack p = {.m = m, .s = s};
    pool_for(m->panels, 1 + GEMM_CHUNK / 8 / (m->form.k * m->form.columns), nbits_pack_panels, &p);
    if (!atomic_load(&p.failed)) return true;
    nbits_matrix_free(m);
    return false;
}

void nbits_matrix_free(nbits_matrix *m) {
    mem_free(m->memory);
    *m = (nbits_matrix){0};
}

/* ---- unpacking ------------------------------------------------------------------------------- */

void nbits_column(const nbits_matrix *m, int64_t j, float *to) {
    const nbits_form *f = &m->form;
    const uint8_t *b = m->data + j / f->columns * nbits_panel_bytes(f);
    int64_t c = j % f->columns;
    for (int64_t at = 0, k; at < m->k; at += k) {
        k = int64_min(f->segment, f->k - at);
        const uint8_t *rest = b + nbits_data_bytes(f, k);
        float scale, zero = 0;
        float16 half;
        if (f->half) memcpy(&half, rest + c * 2, sizeof half), scale = float16_to_float(half);
        else memcpy(&scale, rest + c * 4, sizeof scale);
        rest += nbits_scale_bytes(f);
        if (f->zeros == NBITS_BYTE_ZEROS) zero = (float)(int8_t)rest[c];
        if (f->zeros == NBITS_FLOAT_ZEROS) memcpy(&zero, rest + c * 4, sizeof zero);
        for (int64_t i = 0; i < k && at + i < m->k; i++) {
            int64_t eight = f->bits == 8 ? i / 4 : i / NBITS_EIGHT;
            int q = b[(eight * f->columns + c) * 4 + i % 4];
            if (f->bits == 4) q = (i % NBITS_EIGHT < 4 ? q & 15 : q >> 4) - 8;
            else q -= 128;
            to[at + i] = ((float)q - zero) * scale;
        }
        b = rest + nbits_zero_bytes(f);
    }
}
