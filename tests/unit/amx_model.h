/* SPDX-License-Identifier: Apache-2.0 */
/*
 * amx_model.h - AMX's tile registers in C, and the kernels of cpu/quad/amx_tile.h made for them:
 * what those compute can be tested on every machine.
 *
 * The arithmetic is the processor's, bit for bit. tdpbf16ps: of the products of a row of A with a
 * column of B the even ones and the odd ones have a chain of fused multiply-adds each, from zero up
 * in k; the sum of both is added to C; denormal factors, products and sums are zero. tdpbusd:
 * exact, modulo 2^32. What faults on the processor aborts here.
 * amx_emulator.h gives the same registers to the instructions themselves.
 */
#ifndef CTSC_TESTS_UNIT_AMX_MODEL_H
#define CTSC_TESTS_UNIT_AMX_MODEL_H

#include "cpu/quad/amx.h"
#include "cpu/ukernel.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AMX_MODEL_TILES = 8, AMX_MODEL_ROWS = 16, AMX_MODEL_BYTES = 64 };

typedef struct amx_registers {
    bool there; /* since amx_model_configure */
    int rows[AMX_MODEL_TILES], bytes[AMX_MODEL_TILES];
    uint8_t tile[AMX_MODEL_TILES][AMX_MODEL_ROWS][AMX_MODEL_BYTES];
} amx_registers;

static _Thread_local amx_registers amx_model;
static atomic_int amx_model_held; /* threads that have not given theirs back */
static atomic_long amx_model_products, amx_model_configurations;

static void amx_model_need(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "AMX: %s\n", what);
    abort();
}

static inline void amx_model_configure(const amx_config *c) {
    static const amx_config none;
    amx_model_need(c->palette == 1 && c->start_row == 0, "palette and first row");
    amx_model_need(!memcmp(c->reserved, none.reserved, sizeof c->reserved), "reserved bytes");
    for (int i = 0; i < 16; i++) {
        bool is = i < AMX_MODEL_TILES;
        amx_model_need(c->rows[i] <= (is ? AMX_MODEL_ROWS : 0), "rows of a register");
        amx_model_need(c->bytes[i] <= (is ? AMX_MODEL_BYTES : 0), "bytes of a register");
        amx_model_need(!c->rows[i] == !c->bytes[i], "a register of no size");
        if (!is) continue;
        amx_model.rows[i] = c->rows[i], amx_model.bytes[i] = c->bytes[i];
    }
    memset(amx_model.tile, 0, sizeof amx_model.tile);
    if (!amx_model.there) atomic_fetch_add(&amx_model_held, 1);
    amx_model.there = true;
    atomic_fetch_add(&amx_model_configurations, 1);
}

static inline void amx_model_release(void) {
    if (amx_model.there) atomic_fetch_sub(&amx_model_held, 1);
    memset(&amx_model, 0, sizeof amx_model);
}

static inline void amx_model_load(int n, const void *p, int64_t stride) {
    amx_model_need(amx_model.rows[n] > 0, "a load without a configuration");
    memset(amx_model.tile[n], 0, sizeof amx_model.tile[n]);
    for (int r = 0; r < amx_model.rows[n]; r++)
        memcpy(amx_model.tile[n][r], (const char *)p + r * stride, (size_t)amx_model.bytes[n]);
}

static inline void amx_model_store(int n, void *p, int64_t stride) {
    amx_model_need(amx_model.rows[n] > 0, "a store without a configuration");
    for (int r = 0; r < amx_model.rows[n]; r++)
        memcpy((char *)p + r * stride, amx_model.tile[n][r], (size_t)amx_model.bytes[n]);
}

static void amx_model_check(int c, int a, int b) {
    const int *rows = amx_model.rows, *bytes = amx_model.bytes;
    amx_model_need(rows[c] > 0 && rows[a] > 0 && rows[b] > 0, "a product without configuration");
    amx_model_need(c != a && c != b && a != b, "a product of a register with itself");
    amx_model_need(rows[c] == rows[a] && bytes[c] == bytes[b] && bytes[a] == 4 * rows[b],
                   "a product of registers that do not match");
    atomic_fetch_add(&amx_model_products, 1);
}

static inline float amx_flush(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }

static float amx_bf16_at(const uint8_t *p) {
    bfloat16 h;
    memcpy(&h, p, sizeof h);
    return amx_flush(bfloat16_to_float(h));
}

static inline void amx_model_dot_bf16(int c, int a, int b) {
    amx_model_check(c, a, b);
    for (int m = 0; m < amx_model.rows[c]; m++)
        for (int n = 0; n < amx_model.bytes[c] / 4; n++) {
            const uint8_t *x = amx_model.tile[a][m];
            float chain[2] = {0, 0}, sum;
            for (int k = 0; k < amx_model.rows[b]; k++)
                for (int i = 0; i < 2; i++)
                    chain[i] = amx_flush(fmaf(amx_bf16_at(x + 4 * k + 2 * i),
                                              amx_bf16_at(amx_model.tile[b][k] + 4 * n + 2 * i),
                                              chain[i]));
            memcpy(&sum, amx_model.tile[c][m] + 4 * n, sizeof sum);
            sum = amx_flush(amx_flush(sum) + amx_flush(chain[0] + chain[1]));
            memcpy(amx_model.tile[c][m] + 4 * n, &sum, sizeof sum);
        }
}

static inline void amx_model_dot_bytes(int c, int a, int b) {
    amx_model_check(c, a, b);
    for (int m = 0; m < amx_model.rows[c]; m++)
        for (int n = 0; n < amx_model.bytes[c] / 4; n++) {
            const uint8_t *x = amx_model.tile[a][m];
            uint32_t sum;
            memcpy(&sum, amx_model.tile[c][m] + 4 * n, sizeof sum);
            for (int k = 0; k < 4 * amx_model.rows[b]; k++)
                sum += (uint32_t)(x[k] * (int8_t)amx_model.tile[b][k / 4][4 * n + k % 4]);
            memcpy(amx_model.tile[c][m] + 4 * n, &sum, sizeof sum);
        }
}

static inline void amx_model_fill(uint8_t *to, const uint8_t *from, int64_t n) {
    memset(to, 0, AMX_MODEL_BYTES);
    memcpy(to, from, (size_t)n);
}

/* ---- the kernels ----------------------------------------------------------------------------- */

#define TARGET
#define CONFIGURE amx_model_configure
#define RELEASE amx_model_release
#define LOAD amx_model_load
#define STORE amx_model_store
#define FILL amx_model_fill
#define PREFETCH(p) ((void)(p))

#define NAME(x) amx_model_bf16_##x
#define DOT amx_model_dot_bf16
#include "cpu/quad/amx_tile.h"
#undef NAME
#undef DOT

#define NAME(x) amx_model_bytes_##x
#define DOT amx_model_dot_bytes
#define ANY_BYTES
#include "cpu/quad/amx_tile.h"
#undef NAME
#undef DOT
#undef ANY_BYTES

#undef TARGET
#undef CONFIGURE
#undef RELEASE
#undef LOAD
#undef STORE
#undef FILL
#undef PREFETCH

/* As quad_bf16_amx and quad_bytes_amx are, with what every machine has beside them. Few rows of
 * bfloat16 are computed by tiles too. */
static inline const quad_kernels *amx_model_record(ukernel_type type) {
    static quad_kernels bf16 = {.isa = ISA_PLAIN,
                                .rows = 32,
                                .panels = 2,
                                .depth = 16,
                                .lanes = 4,
                                .block = 1 << 20,
                                .tile = amx_model_bf16_tile,
                                .begin = amx_model_bf16_begin,
                                .end = amx_model_bf16_end},
                        bytes = {.isa = ISA_PLAIN,
                                 .rows = 32,
                                 .panels = 2,
                                 .depth = 16,
                                 .lanes = 4,
                                 .block = 1 << 20,
                                 .tile = amx_model_bytes_tile,
                                 .begin = amx_model_bytes_begin,
                                 .end = amx_model_bytes_end,
                                 .least_rows = 4,
                                 .least_quads = 4};
    const ukernel *u = ukernel_first(UKERNEL_QUAD, UKERNEL_BYTES);
    while (u->isa != ISA_PLAIN) u = ukernel_next(u);
    bytes.vectors = u->record;
    return type == UKERNEL_BF16 ? &bf16 : &bytes;
}

#endif
