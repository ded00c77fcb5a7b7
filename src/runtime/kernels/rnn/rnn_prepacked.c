/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rnn_prepacked.c - recurrent layers of floats whose weights are constants, packed when they are
 * used a second time.
 *
 * Method: both weights are stored as panels of nr columns (gemm_micro.h), in the order of use: a
 * block is nr units, and has a panel per gate. The products with the input are computed for all
 * steps at once. The rest of a step is, per block: the product of the state with the block's
 * panels, which are read as one stream, added to its part of the gates, and the cells of its
 * units, while all that is in the first-level cache. Threads share the blocks of both directions,
 * and meet between steps (base/threads/thread_steps.h). One row is bound by reading the panels:
 * they pass in the opposite order every other step, since the last of them are still in the cache.
 *
 * The state of the next step is written where this one's is not read: as one row, or, for more, as
 * a packed operand of the tiles, so that it is not packed again. Rows whose sequence has ended, or,
 * backwards, has not begun, are not touched, as in rnn.c.
 * Tests: tests/unit/test_rnn.c
 */
#include "runtime/kernels/rnn/rnn.h"

#include "base/memory/pages.h"
#include "base/memory/recycle.h"
#include "base/threads/thread_steps.h"
#include "ir/scalar/scalar_ops.h"
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/matmul/gemm_block.h"
#include "runtime/kernels/matmul/packed_weights.h"

#include <string.h>

enum { RNN_ALIGN = 64 };

/* ---- packing --------------------------------------------------------------------------------- */

typedef struct rnn_source {
    rnn_kind kind;
    const rnn_weights *w;
} rnn_source;

static const void *rnn_data(const tensor *t) { return t ? tensor_data(t) : NULL; }

static bool rnn_is_constant(const tensor *t) {
    return t->storage->constant && t->dtype == DT_FLOAT32 && tensor_device(t) == DEVICE_HOST;
}

/* Panels of a weight, gate after gate of each block. */
static void rnn_pack_panels(const rnn_prepacked *p, const tensor *w, float *to) {
    const gemm_micro *u = p->input.micro;
    int64_t depth = w->sizes[1];
    for (int64_t block = 0; block < p->blocks; block++)
        for (int gate = 0; gate < rnn_gates(p->kind); gate++, to += depth * u->nr) {
            int64_t first = block * u->nr,
                    units = p->hidden - first < u->nr ? p->hidden - first : u->nr;
            u->pack(TENSOR_AT(w, float) + (gate * p->hidden + first) * w->strides[0], units, depth,
                    w->strides[0], w->strides[1], u->nr, to);
        }
}

static void rnn_pack_biases(const rnn_prepacked *p, const rnn_weights *w) {
    int gates = rnn_gates(p->kind), nr = p->input.micro->nr;
    /* fresh follows it */
    memset(p->bias, 0, (size_t)(p->input.n + p->blocks * nr) * sizeof(float));
    if (!w->b_ih) return;
    for (int gate = 0; gate < gates; gate++)
        for (int64_t i = 0; i < p->hidden; i++) {
            bool apart = p->kind == RNN_GRU && gate == 2;
            float input = TENSOR_AT(w->b_ih, float)[(gate * p->hidden + i) * w->b_ih->strides[0]];
            float hidden = TENSOR_AT(w->b_hh, float)[(gate * p->hidden + i) * w->b_hh->strides[0]];
            p->bias[(i / nr * gates + gate) * nr + i % nr] = apart ? input : input + hidden;
            if (apart) p->fresh[i] = hidden;
        }
}

void rnn_prepack_free(void *made) {
    rnn_prepacked *p = made;
    page_pool_free(p->memory, p->room);
    mem_free(p);
}

/* One after the other in one block, and the slack that packing needs after the panels. */
static float *rnn_prepack_memory(rnn_prepacked *p, int64_t features) {
    enum { SLACK = 2 * RNN_ALIGN / sizeof(float) };
    size_t width = (size_t)p->input.n, bytes, depth = (size_t)(features + p->hidden + 2);
    if (!size_mul(width, depth, &bytes) || !size_mul(bytes, sizeof(float), &bytes)) return NULL;
    p->memory = page_pool_alloc(p->room = bytes + 3 * SLACK * sizeof(float));
    if (!p->memory) return NULL;
    float *at = (float *)(void *)((char *)p->memory + (-(uintptr_t)p->memory & (RNN_ALIGN - 1)));
    p->input.panels = at;
    p->state = at + p->input.n * features + SLACK;
    p->bias = p->state + p->input.n * p->hidden + SLACK;
    p->fresh = p->bias + p->input.n;
    return at;
}

static void *rnn_prepack_make(const void *from) {
    const rnn_source *source = from;
    const rnn_weights *w = source->w;
    const gemm_micro *u = gemm_micro_best(DT_FLOAT32);
    rnn_prepacked *p = u ? mem_alloc(sizeof *p) : NULL;
    if (!p) return NULL;
    int gates = rnn_gates(source->kind);
    *p = (rnn_prepacked){
        .kind = source->kind,
        .made_of = {rnn_data(w->w_ih), rnn_data(w->w_hh), rnn_data(w->b_ih), rnn_data(w->b_hh)}};
    p->hidden = w->w_hh->sizes[0] / gates;
    p->blocks = (p->hidden + u->nr - 1) / u->nr;
    p->input = (gemm_prepacked){.micro = u, .n = p->blocks * gates * u->nr, .k = w->w_ih->sizes[1]};
    if (!rnn_prepack_memory(p, p->input.k)) {
        mem_free(p);
        return NULL;
    }
    rnn_pack_panels(p, w->w_ih, p->input.panels);
    rnn_pack_panels(p, w->w_hh, p->state);
    rnn_pack_biases(p, w);
    prepack_drop(w->w_ih);
    prepack_drop(w->w_hh);
    return p;
}

/* Kept with the hidden weight: the input weight is a linear layer's where weights are
 * taken as they are. */
const rnn_prepacked *rnn_prepack(rnn_kind kind, const rnn_weights *w) {
    if (w->w_hr || w->w_ih->sizes[1] == 0 || !rnn_is_constant(w->w_ih) || !rnn_is_constant(w->w_hh))
        return NULL;
    if (w->b_ih && (!rnn_is_constant(w->b_ih) || !rnn_is_constant(w->b_hh) || w->b_ih->ndim != 1 ||
                    w->b_ih->sizes[0] != w->w_ih->sizes[0]))
        return NULL;
    rnn_source source = {kind, w};
    const rnn_prepacked *p = prepack_derived(w->w_hh->storage, rnn_prepack_make, &source,
                                             rnn_prepack_free);
    bool same = p && p->kind == kind && p->made_of[0] == rnn_data(w->w_ih) &&
                p->made_of[1] == rnn_data(w->w_hh) && p->made_of[2] == rnn_data(w->b_ih) &&
                p->made_of[3] == rnn_data(w->b_hh);
    return same ? p : NULL;
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* Processors with micro-kernels have these. */
#if defined(__x86_64__)
#define RNN_CELLS VECTOR_LOOPS TARGET_AVX2
#else
#define RNN_CELLS VECTOR_LOOPS
#endif

#define T float
#define NAME(x) x##_block
#define HOT RNN_CELLS
#define SIGMOID scalar_sigmoid_f32
#define TANH scalar_tanh_f32
#include "runtime/kernels/rnn/rnn_cells.h"

/* ---- steps ----------------------------------------------------------------------------------- */

/* A sequence at work. */
typedef struct rnn_work {
    const rnn_sequence *s;
    int64_t together, chunks; /* blocks in a chunk; chunks of a direction */
    int64_t per;              /* rows in a group: those of a tile */
    /* elements of a state: hidden of one row, or a packed operand per group */
    int64_t state_size;
    float *gates[2];    /* of each direction: [rows, columns of its panels] */
    float *state[2][2]; /* of each direction, read and written in turns */
} rnn_work;

/* Some rows of a step, of one group, with one block. */
typedef struct rnn_part {
    const rnn_line *line;
    int64_t block, row, rows, first; /* row: of the batch; first: of gates and outputs */
    float *gates;                    /* of the first of the rows, the block's */
    const float *from;               /* the group's state, */
    float *to;                       /* and its next one */
} rnn_part;

static bool rnn_is_single(const rnn_work *t) { return t->s->batch == 1; }

/* c, a row per row of the part: += the state's products with the block's panels. */
static void rnn_products(const rnn_work *t, const rnn_part *part, float *c, int64_t ldc) {
    const rnn_prepacked *p = part->line->w;
    const gemm_micro *u = p->input.micro;
    int gates = rnn_gates(p->kind);
    const float *panel = p->state + part->block * gates * p->hidden * u->nr;
    for (int gate = 0; gate < gates; gate++, panel += p->hidden * u->nr, c += u->nr) {
        if (rnn_is_single(t)) u->stream(p->hidden, part->from, panel, c, u->nr, 1, 1);
        else u->tile[part->rows](p->hidden, part->from, panel, u->nr, c, ldc, u->nr, 1, 1);
    }
}

/* The products that the GRU keeps separate begin with their bias. */
static void rnn_begin_apart(const rnn_prepacked *p, const rnn_part *part, float *products) {
    int64_t nr = p->input.micro->nr;
    for (int64_t row = 0; row < part->rows; row++, products += 3 * nr) {
        memset(products, 0, (size_t)(2 * nr) * sizeof(float));
        memcpy(products + 2 * nr, p->fresh + part->block * nr, (size_t)nr * sizeof(float));
    }
}

/* The cells of a row: n units, whose gates are at stride nr. */
static void rnn_cells(const rnn_prepacked *p, int64_t n, const float *g, const float *products,
                      float *c, float *h) {
    int64_t nr = p->input.micro->nr;
    switch (p->kind) {
    case RNN_LSTM: rnn_lstm_row_block(n, nr, g, c, h); break;
    case RNN_GRU: rnn_gru_row_block(n, nr, g, products, h); break;
    case RNN_TANH: rnn_tanh_row_block(n, g, h); break;
    case RNN_RELU: rnn_relu_row_block(n, g, h); break;
    }
}

static void rnn_part_run(const rnn_work *t, const rnn_part *part) {
    _Alignas(RNN_ALIGN) float apart[GEMM_MAX_ROWS * 3 * GEMM_MAX_COLS];
    const rnn_line *line = part->line;
    const rnn_prepacked *p = line->w;
    int64_t nr = p->input.micro->nr, mr = p->input.micro->mr, at = part->block * nr,
            n = p->hidden - at < nr ? p->hidden - at : nr;
    if (p->kind == RNN_GRU) rnn_begin_apart(p, part, apart);
    rnn_products(t, part, p->kind == RNN_GRU ? apart : part->gates,
                 p->kind == RNN_GRU ? 3 * nr : p->input.n);
    for (int64_t row = 0; row < part->rows; row++) {
        float *h = line->h + (part->row + row) * p->hidden + at,
              *c = line->c ? line->c + (part->row + row) * p->hidden + at : NULL;
        rnn_cells(p, n, part->gates + row * p->input.n, apart + row * 3 * nr, c, h);
        memcpy(line->out + (part->first + row) * t->s->out_step + at, h, (size_t)n * sizeof(float));
        if (rnn_is_single(t)) memcpy(part->to + at, h, (size_t)n * sizeof(float));
        else
            for (int64_t i = 0; i < n; i++) part->to[(at + i) * mr + row] = h[i];
    }
}

static void rnn_chunk(void *ctx, int64_t i, int64_t chunk) {
    const rnn_work *t = ctx;
    const rnn_sequence *s = t->s;
    int64_t direction = chunk / t->chunks, begin = chunk % t->chunks * t->together;
    const rnn_line *line = &s->lines[direction];
    const rnn_prepacked *p = line->w;
    int64_t step = line->reverse ? s->steps - 1 - i : i,
            group = p->hidden * (rnn_is_single(t) ? 1 : p->input.micro->mr);
    int64_t block_width = rnn_gates(p->kind) * p->input.micro->nr,
            end = begin + t->together < p->blocks ? begin + t->together : p->blocks;
    for (int64_t b = begin; b < end; b++) {
        int64_t block = i % 2 ? begin + end - 1 - b : b;
        for (int64_t row = 0; row < s->sizes[step]; row += t->per) {
            rnn_part part = {
                .line = line, .block = block, .row = row, .first = s->offsets[step] + row};
            part.rows = s->sizes[step] - row < t->per ? s->sizes[step] - row : t->per;
            part.gates = t->gates[direction] + part.first * p->input.n + block * block_width;
            part.from = t->state[direction][i % 2] + row / t->per * group;
            part.to = t->state[direction][(i + 1) % 2] + row / t->per * group;
            rnn_part_run(t, &part);
        }
    }
}

/* ---- a layer --------------------------------------------------------------------------------- */

/* Both states begin as the given one: backwards, rows come later, and find theirs in the one
 * or in the other. */
static void rnn_start(const rnn_work *t, int64_t direction) {
    const rnn_line *line = &t->s->lines[direction];
    const gemm_micro *u = line->w->input.micro;
    int64_t hidden = line->w->hidden;
    for (int turn = 0; turn < 2; turn++) {
        float *to = t->state[direction][turn];
        if (rnn_is_single(t)) memcpy(to, line->h, (size_t)hidden * sizeof(float));
        else
            for (int64_t row = 0; row < t->s->batch; row += t->per, to += hidden * u->mr) {
                int64_t rows = t->s->batch - row < t->per ? t->s->batch - row : t->per;
                u->pack(line->h + row * hidden, rows, hidden, hidden, 1, u->mr, to);
            }
    }
}

static void rnn_plan(rnn_work *t) {
    const rnn_sequence *s = t->s;
    const rnn_prepacked *p = s->lines[0].w;
    const gemm_micro *u = p->input.micro;
    int64_t groups = (s->batch + u->mr - 1) / u->mr;
    t->per = (s->batch + groups - 1) / groups;
    t->state_size = (rnn_is_single(t) ? p->hidden : groups * u->mr * p->hidden) +
                    2 * RNN_ALIGN / (int64_t)sizeof(float);
    double cost = (double)s->batch * (double)(rnn_gates(p->kind) * u->nr) * (double)p->hidden;
    t->together = cost >= RNN_CHUNK ? 1 : (int64_t)(RNN_CHUNK / cost);
    if (t->together > p->blocks) t->together = p->blocks;
    t->chunks = (p->blocks + t->together - 1) / t->together;
}

/* Bytes of gates and states of all directions; false: too many. */
static bool rnn_work_size(const rnn_work *t, size_t *bytes) {
    size_t gates;
    const rnn_sequence *s = t->s;
    if (!size_mul((size_t)s->rows, (size_t)s->lines[0].w->input.n, &gates)) return false;
    if (gates > SIZE_MAX / 16 || (size_t)t->state_size > SIZE_MAX / 64) return false;
    return size_mul((gates + 2 * (size_t)t->state_size) * (size_t)s->directions + RNN_ALIGN,
                    sizeof(float), bytes);
}

ctsc_status rnn_run_prepacked(diag *d, const rnn_sequence *s) {
    rnn_work t = {.s = s};
    size_t bytes;
    rnn_plan(&t);
    char *memory = rnn_work_size(&t, &bytes) ? recycle_alloc(bytes) : NULL;
    if (!memory) return diag_no_memory(d);
    float *at = (float *)(void *)(memory + (-(uintptr_t)memory & (RNN_ALIGN - 1)));
    ctsc_status st = CTSC_OK;
    for (int64_t i = 0; i < s->directions; i++) {
        const rnn_prepacked *p = s->lines[i].w;
        for (int turn = 0; turn < 2; turn++, at += t.state_size) t.state[i][turn] = at;
        t.gates[i] = at;
        at += s->rows * p->input.n;
        rnn_start(&t, i);
        if (st == CTSC_OK)
            st = gemm_run_prepacked(d, &p->input, s->rows, gemm_of(s->input),
                                    &(dense_epilogue){.bias = p->bias}, t.gates[i], p->input.n);
    }
    if (st == CTSC_OK && !pool_steps(s->steps, t.chunks * s->directions, rnn_chunk, &t))
        st = limits_fail(d);
    recycle_free(memory, bytes);
    return st;
}
