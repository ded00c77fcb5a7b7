/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rnn.c - lstm, gru, rnn_tanh and rnn_relu over sequences, padded or packed, and their single-step
 * cells.
 *
 * Method: a padded batch is a packed one whose steps all have the same batch size, so both share
 * one path. Of each layer and direction, the products with the input are taken for all steps at
 * once; what is left per step is the product with the hidden state and the cell's arithmetic.
 * Directions of a layer run in parallel. The state of (layer, direction) is kept in its slice of
 * the returned h_n and c_n: rows whose sequence has ended, or, backwards, has not begun, are simply
 * not touched. half and bfloat16 compute in float. Floats with constant weights go to
 * rnn_prepacked.c from the second call on.
 *
 * quantized_lstm and quantized_gru have weights of bytes: each product quantises the rows it is
 * given, all steps of the input together and the hidden state of each step, as PyTorch does. Their
 * directions run one after the other, since a product is spread over the threads itself.
 * Tests: tests/unit/test_rnn.c, tests/corpus/quantized
 */
#include "runtime/kernels/rnn/rnn.h"
#include "ir/scalar/scalar_ops.h"
#include "runtime/kernels/engine/device_kernels.h"
#include "runtime/kernels/engine/move.h"
#include "runtime/kernels/engine/wide.h"
#include "runtime/kernels/matmul/gemm.h"
#include "runtime/kernels/matmul/packed_weights.h"
#include "runtime/kernels/quantised/quantized.h"

#include <string.h>

/* Weights of bytes of one direction: two objects of LinearPackedParamsBase, borrowed. */
typedef struct rnn_bytes {
    value ih, hh;
    bool reduce_range;
} rnn_bytes;

/* One direction of one layer at work. */
typedef struct rnn_run {
    rnn_kind kind;
    bool reverse;
    dtype dt;
    cuda *device;                      /* NULL: the host */
    int64_t steps, hidden, hidden_out; /* hidden_out: of the projection, if there is one */
    const int64_t *sizes, *offsets;    /* per step: rows, and the first row in gates and out */
    const rnn_weights *w;
    rnn_bytes bytes; /* instead of w; ih None: none */
    tensor *state;   /* then: h as a tensor */
    tensor *gates;   /* [rows, gates * hidden]: products with the input */
    char *h, *c;     /* state, [batch, hidden_out] and [batch, hidden]; c NULL unless LSTM */
    char *out;       /* first output row */
    int64_t out_stride;
    void *scratch; /* GRU: hidden products [batch, 3 * hidden]; projection: [batch, hidden] */
    int64_t step;  /* the current one */
    ctsc_status status;
} rnn_run;

/* ---- cells ----------------------------------------------------------------------------------- */

#define T float
#define NAME(x) x##_float
#define HOT VECTOR_FUSED_CLONES
#define SIGMOID scalar_sigmoid_f32
#define TANH scalar_tanh_f32
#include "runtime/kernels/rnn/rnn_cells.h"
#define T float
#define NAME(x) x##_float
#define HOT VECTOR_FUSED_CLONES
#include "runtime/kernels/rnn/rnn_rows.h"

#define T double
#define NAME(x) x##_double
#define HOT VECTOR_LOOPS
#define SIGMOID scalar_sigmoid_f64
#define TANH scalar_tanh_f64
#include "runtime/kernels/rnn/rnn_cells.h"
#define T double
#define NAME(x) x##_double
#define HOT VECTOR_LOOPS
#include "runtime/kernels/rnn/rnn_rows.h"

static gemm_matrix rnn_transposed(const tensor *w) {
    return (gemm_matrix){tensor_data(w), w->strides[1], w->strides[0]};
}

/* The cells of the current step on a device, and the output unless there is a projection. */
static ctsc_status rnn_cells_on_device(rnn_run *run, diag *d, int64_t first, int64_t rows,
                                       int64_t width, int64_t size) {
    const tensor *bias = run->w->b_hh;
    bool projects = run->w->w_hr != NULL;
    dense_cell p = {.gates = (char *)tensor_data(run->gates) + first * width * size,
                    .products = run->scratch,
                    .bias = bias ? tensor_data(bias) : NULL,
                    .h = projects ? run->scratch : run->h,
                    .c = run->c,
                    .out = projects ? NULL : run->out + first * run->out_stride * size,
                    .rows = rows,
                    .hidden = run->hidden,
                    .out_step = run->out_stride,
                    .kind = (int)run->kind};
    return on_device->cell(d, run->device, run->dt, &p);
}

/* Rows of the state to the output; the cells have done so already on a device unless there
 * is a projection. */
static ctsc_status rnn_output(rnn_run *run, diag *d, int64_t first, int64_t rows, int64_t size) {
    char *out = run->out + first * run->out_stride * size;
    int64_t bytes = run->hidden_out * size;
    if (!run->device) {
        for (int64_t row = 0; row < rows; row++)
            memcpy(out + row * run->out_stride * size, run->h + row * bytes, (size_t)bytes);
        return CTSC_OK;
    }
    if (!run->w->w_hr) return CTSC_OK;
    move_geometry g = {0};
    move_add_dim(&g, rows, run->out_stride * size, bytes);
    move_add_dim(&g, run->hidden_out, size, size);
    return on_device->move(d, run->device, &g, (size_t)size, out, run->h);
}

static ctsc_status rnn_step(rnn_run *run, diag *d) {
    dtype dt = run->dt;
    int64_t size = (int64_t)dtype_size(dt), rows = run->sizes[run->step];
    int64_t width = run->hidden * rnn_gates(run->kind), first = run->offsets[run->step];
    gemm_matrix state = {run->h, run->hidden_out, 1, run->device};
    bool apart = run->kind == RNN_GRU;
    char *products = apart ? run->scratch : (char *)tensor_data(run->gates) + first * width * size;
    TRY(gemm_run(d, dt, rows, width, run->hidden_out, gemm_one, state, rnn_transposed(run->w->w_hh),
                 apart ? gemm_zero : gemm_one, products, width));
    if (run->device) TRY(rnn_cells_on_device(run, d, first, rows, width, size));
    else
        pool_for(rows, 2048 / run->hidden + 1, dt == DT_FLOAT64 ? rnn_rows_double : rnn_rows_float,
                 run);
    if (run->w->w_hr) {
        gemm_matrix wide = {run->scratch, run->hidden, 1, run->device};
        TRY(gemm_run(d, dt, rows, run->hidden_out, run->hidden, gemm_one, wide,
                     rnn_transposed(run->w->w_hr), gemm_zero, run->h, run->hidden_out));
    }
    return rnn_output(run, d, first, rows, size);
}

static ctsc_status rnn_all_steps(rnn_run *run, diag *d) {
    for (int64_t i = 0; i < run->steps; i++) {
        run->step = run->reverse ? run->steps - 1 - i : i;
        TRY(rnn_step(run, d));
    }
    return CTSC_OK;
}

static void rnn_directions(void *ctx, int64_t begin, int64_t end) {
    rnn_run *runs = ctx;
    for (int64_t i = begin; i < end; i++) runs[i].status = rnn_all_steps(&runs[i], NULL);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static ctsc_status rnn_size_mismatch(diag *d, int64_t a, int64_t b, int dim) {
    return diag_fail(d, CTSC_FAILED,
                     "The size of tensor a (%lld) must match the size of tensor b (%lld) at "
                     "non-singleton dimension %d",
                     (long long)a, (long long)b, dim);
}

/* h: [batch, hidden_out], c: [batch, hidden] or NULL; rows of gates must fit too. */
static ctsc_status rnn_check_weights(diag *d, rnn_kind kind, const rnn_weights *w, int64_t batch,
                                     int64_t hidden_out, const int64_t *c_sizes) {
    if (w->w_ih->ndim != 2 || w->w_hh->ndim != 2 || (w->w_hr && w->w_hr->ndim != 2))
        return diag_fail(d, CTSC_FAILED, "mat2 must be a matrix");
    int64_t width = w->w_hh->sizes[0], hidden = width / rnn_gates(kind);
    if (w->w_hh->sizes[1] != hidden_out)
        return diag_fail(d, CTSC_FAILED,
                         "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                         (long long)batch, (long long)hidden_out, (long long)w->w_hh->sizes[1],
                         (long long)width);
    if (w->w_ih->sizes[0] != width) return rnn_size_mismatch(d, width, w->w_ih->sizes[0], 1);
    if (hidden * rnn_gates(kind) != width || hidden == 0 || hidden_out == 0)
        return diag_fail(d, CTSC_FAILED, "got an incorrect number of RNN parameters");
    if (w->b_hh && (w->b_hh->ndim != 1 || w->b_hh->sizes[0] != width))
        return rnn_size_mismatch(d, width, w->b_hh->ndim ? w->b_hh->sizes[0] : 1, 1);
    if (w->w_hr && (w->w_hr->sizes[0] != hidden_out || w->w_hr->sizes[1] != hidden))
        return diag_fail(d, CTSC_FAILED,
                         "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                         (long long)batch, (long long)hidden, (long long)w->w_hr->sizes[1],
                         (long long)w->w_hr->sizes[0]);
    if (!w->w_hr && hidden != hidden_out) return rnn_size_mismatch(d, hidden_out, hidden, 1);
    if (c_sizes && c_sizes[1] != hidden) return rnn_size_mismatch(d, hidden, c_sizes[1], 1);
    return CTSC_OK;
}

/* ---- one layer ------------------------------------------------------------------------------- */

typedef struct rnn_call {
    rnn_kind kind;
    dtype dt, work; /* of the arguments, and to compute in */
    int64_t steps, batch, rows, layers, directions, hidden_out;
    int64_t *sizes, *offsets; /* per step; one block, sizes owns it */
    bool has_biases, projects, train;
    double dropout;
    tensor *h0, *c0; /* as given; borrowed */
    tensor *h,
        *c; /* h_n, c_n in the work dtype: [layers * directions, batch, ...]; c NULL unless LSTM */
    const list *params;     /* tensors, or objects of CellParamsBase, or, of a cell, */
    const rnn_bytes *bytes; /* these */
} rnn_call;

/* Are weights bytes? */
static bool rnn_is_quantised(const rnn_call *call) {
    return call->bytes || call->params->kind != LIST_TENSOR;
}

static void rnn_free_weights(rnn_weights *w) {
    tensor_unref(w->w_ih);
    tensor_unref(w->w_hh);
    tensor_unref(w->b_ih);
    tensor_unref(w->b_hh);
    tensor_unref(w->w_hr);
    *w = (rnn_weights){0};
}

static ctsc_status rnn_convert(diag *d, dtype dt, dtype work, tensor *t, tensor **out) {
    if ((dtype)t->dtype != dt)
        return diag_fail(d, CTSC_FAILED, "expected scalar type %s but found %s",
                         dtype_table[dt].ir_name, dtype_table[t->dtype].ir_name);
    bool widened = work == DT_FLOAT32 && dt != work && tensor_device(t) == DEVICE_HOST;
    return widened ? prepack_widened(d, t, out) : tensor_to_dtype(d, t, work, out);
}

static ctsc_status rnn_contiguous(diag *d, dtype dt, dtype work, tensor *t, tensor **out) {
    tensor *converted;
    TRY(rnn_convert(d, dt, work, t, &converted));
    ctsc_status st = tensor_contiguous(d, converted, out);
    tensor_unref(converted);
    return st;
}

static ctsc_status rnn_load_weights(diag *d, const rnn_call *call, int64_t set, rnn_weights *w) {
    int64_t per = (call->has_biases ? 4 : 2) + (call->projects ? 1 : 0);
    tensor *const *p = call->params->u.tensors + set * per;
    TRY(rnn_convert(d, call->dt, call->work, p[0], &w->w_ih));
    TRY(rnn_convert(d, call->dt, call->work, p[1], &w->w_hh));
    if (call->has_biases) {
        TRY(rnn_contiguous(d, call->dt, call->work, p[2], &w->b_ih));
        TRY(rnn_contiguous(d, call->dt, call->work, p[3], &w->b_hh));
    }
    if (call->projects) TRY(rnn_convert(d, call->dt, call->work, p[per - 1], &w->w_hr));
    return CTSC_OK;
}

/* The weights of one direction, checked. */
static ctsc_status rnn_prepare_weights(diag *d, const rnn_call *call, int64_t set, rnn_weights *w) {
    TRY(rnn_load_weights(d, call, set, w));
    return rnn_check_weights(d, call->kind, w, call->batch, call->hidden_out,
                             call->c ? call->c->sizes + 1 : NULL);
}

/* The state of a direction. */
static char *rnn_state_of(const rnn_call *call, const tensor *state, int64_t set) {
    return state ? (char *)tensor_data(state) +
                       set * call->batch * state->sizes[2] * (int64_t)dtype_size(call->work)
                 : NULL;
}

/* Fills run for one direction; run->gates and run->scratch are owned by it. */
static ctsc_status rnn_prepare_run(op_ctx *cx, const rnn_call *call, int64_t layer, int64_t dir,
                                   tensor *input, tensor *out, const rnn_weights *w, rnn_run *run) {
    diag *d = cx->diag;
    int64_t set = layer * call->directions + dir, size = (int64_t)dtype_size(call->work);
    TRY(matmul_linear(cx, input, w->w_ih, w->b_ih, &run->gates));
    int64_t width = w->w_hh->sizes[0];
    run->kind = call->kind;
    run->reverse = dir == 1;
    run->dt = call->work;
    run->device = tensor_cuda(input);
    run->steps = call->steps;
    run->hidden = width / rnn_gates(call->kind);
    run->hidden_out = call->hidden_out;
    run->sizes = call->sizes;
    run->offsets = call->offsets;
    run->w = w;
    run->h = rnn_state_of(call, call->h, set);
    run->c = rnn_state_of(call, call->c, set);
    run->out = (char *)tensor_data(out) + dir * call->hidden_out * size;
    run->out_stride = out->sizes[1];
    size_t scratch = (size_t)(call->batch * width * size);
    if (run->device) return cuda_alloc(run->device, d, scratch, &run->scratch);
    run->scratch = mem_alloc(scratch);
    return run->scratch ? CTSC_OK : diag_no_memory(d);
}

/* ---- weights of bytes ------------------------------------------------------------------------ */

static ctsc_status rnn_find_bytes(op_ctx *cx, const rnn_call *call, int64_t set, rnn_bytes *out) {
    const packed *p;
    if (call->bytes) return *out = *call->bytes, CTSC_OK;
    TRY(packed_of(cx, &call->params->u.values[set], PACKED_CELL, &p));
    *out = (rnn_bytes){p->weight_ih, p->weight_hh, p->reduce_range};
    return CTSC_OK;
}

/* Fills run, as rnn_prepare_run does, which also owns run->state. */
static ctsc_status rnn_prepare_bytes(op_ctx *cx, const rnn_call *call, int64_t layer, int64_t dir,
                                     tensor *input, tensor *out, rnn_run *run) {
    static const rnn_weights none = {0};
    int64_t set = layer * call->directions + dir, hidden = call->hidden_out,
            width = hidden * rnn_gates(call->kind);
    rnn_bytes b;
    TRY(rnn_find_bytes(cx, call, set, &b));
    *run = (rnn_run){.kind = call->kind,
                     .reverse = dir == 1,
                     .dt = DT_FLOAT32,
                     .steps = call->steps,
                     .hidden = hidden,
                     .hidden_out = hidden,
                     .sizes = call->sizes,
                     .offsets = call->offsets,
                     .w = &none,
                     .bytes = b,
                     .h = rnn_state_of(call, call->h, set),
                     .c = rnn_state_of(call, call->c, set),
                     .out = (char *)(TENSOR_AT(out, float) + dir * hidden),
                     .out_stride = out->sizes[1]};
    TRY(quant_linear_object(cx, &b.ih, input, b.reduce_range, &run->gates));
    TRY(tensor_select(cx->diag, call->h, 0, set, &run->state));
    if (run->gates->sizes[1] != width)
        return rnn_size_mismatch(cx->diag, width, run->gates->sizes[1], 1);
    return CTSC_OK;
}

static ctsc_status rnn_step_bytes(op_ctx *cx, rnn_run *run) {
    tensor *h, *products;
    int64_t rows = run->sizes[run->step], first = run->offsets[run->step],
            width = run->hidden * rnn_gates(run->kind);
    TRY(tensor_slice(cx->diag, run->state, 0, 0, rows, 1, &h));
    ctsc_status st = quant_linear_object(cx, &run->bytes.hh, h, run->bytes.reduce_range, &products);
    tensor_unref(h);
    if (st != CTSC_OK) return st;
    if (products->sizes[1] != width) st = rnn_size_mismatch(cx->diag, width, products->sizes[1], 1);
    run->scratch = tensor_data(products);
    if (st == CTSC_OK && run->kind != RNN_GRU)
        rnn_add_row_float(rows * width, run->scratch, TENSOR_AT(run->gates, float) + first * width);
    if (st == CTSC_OK) {
        pool_for(rows, 2048 / run->hidden + 1, rnn_rows_float, run);
        st = rnn_output(run, cx->diag, first, rows, sizeof(float));
    }
    run->scratch = NULL;
    tensor_unref(products);
    return st;
}

static ctsc_status rnn_layer_bytes(op_ctx *cx, const rnn_call *call, int64_t layer, tensor *input,
                                   tensor *out) {
    ctsc_status st = CTSC_OK;
    for (int64_t dir = 0; st == CTSC_OK && dir < call->directions; dir++) {
        rnn_run run = {0};
        st = rnn_prepare_bytes(cx, call, layer, dir, input, out, &run);
        for (int64_t i = 0; st == CTSC_OK && i < run.steps; i++) {
            run.step = run.reverse ? run.steps - 1 - i : i;
            st = rnn_step_bytes(cx, &run);
        }
        tensor_unref(run.gates);
        tensor_unref(run.state);
    }
    return st;
}

/* ---- weights of floats ----------------------------------------------------------------------- */

/* All steps of a layer's directions, weights as they are. */
static ctsc_status rnn_run_directions(op_ctx *cx, const rnn_call *call, int64_t layer,
                                      tensor *input, tensor *out, const rnn_weights *w) {
    rnn_run runs[2] = {{0}};
    ctsc_status st = CTSC_OK;
    for (int64_t i = 0; st == CTSC_OK && i < call->directions; i++)
        st = rnn_prepare_run(cx, call, layer, i, input, out, &w[i], &runs[i]);
    /* a device does one after the other */
    bool apart = call->directions == 2 && !tensor_cuda(input);
    for (int64_t i = 0; st == CTSC_OK && !apart && i < call->directions; i++)
        st = rnn_all_steps(&runs[i], cx->diag);
    if (st == CTSC_OK && apart) {
        pool_for(2, 1, rnn_directions, runs);
        for (int i = 0; st == CTSC_OK && i < 2; i++)
            if (runs[i].status != CTSC_OK) st = diag_no_memory(cx->diag);
    }
    for (int i = 0; i < 2; i++) {
        tensor_unref(runs[i].gates);
        if (runs[i].device) cuda_free(runs[i].device, runs[i].scratch);
        else mem_free(runs[i].scratch);
    }
    return st;
}

/* The same with weights that were packed before; *done false: they were not. */
static ctsc_status rnn_try_prepacked(diag *d, const rnn_call *call, int64_t layer,
                                     const tensor *input, tensor *out, const rnn_weights *w,
                                     bool *done) {
    rnn_line lines[2] = {{0}};
    rnn_sequence s = {.lines = lines,
                      .directions = call->directions,
                      .steps = call->steps,
                      .batch = call->batch,
                      .rows = call->rows,
                      .sizes = call->sizes,
                      .offsets = call->offsets,
                      .input = input,
                      .out_step = out->sizes[1]};
    bool fits = call->dt == DT_FLOAT32 && call->batch > 0 && !tensor_cuda(input);
    for (int64_t i = 0; fits && i < call->directions; i++)
        fits = w[i].w_ih->sizes[1] == input->sizes[1];
    bool all = fits;
    for (int64_t i = 0; fits && i < call->directions; i++) {
        int64_t set = layer * call->directions + i;
        lines[i] = (rnn_line){.w = rnn_prepack(call->kind, &w[i]),
                              .reverse = i == 1,
                              .out = TENSOR_AT(out, float) + i * call->hidden_out};
        lines[i].h = (float *)(void *)rnn_state_of(call, call->h, set),
        lines[i].c = (float *)(void *)rnn_state_of(call, call->c, set);
        all = all && lines[i].w;
    }
    *done = all;
    return all ? rnn_run_prepacked(d, &s) : CTSC_OK;
}

/* input: [rows, features]; *out: [rows, directions * hidden_out] */
static ctsc_status rnn_layer(op_ctx *cx, const rnn_call *call, int64_t layer, tensor *input,
                             tensor **out) {
    rnn_weights w[2] = {{0}};
    int64_t sizes[2] = {call->rows, call->directions * call->hidden_out};
    bool done = false;
    tensor *t;
    TRY(tensor_new_on(cx->diag, tensor_device(input), call->work, 2, sizes, &t));
    ctsc_status st = CTSC_OK;
    if (rnn_is_quantised(call)) done = true, st = rnn_layer_bytes(cx, call, layer, input, t);
    for (int64_t i = 0; st == CTSC_OK && !done && i < call->directions; i++)
        st = rnn_prepare_weights(cx->diag, call, layer * call->directions + i, &w[i]);
    if (st == CTSC_OK && !done) st = rnn_try_prepacked(cx->diag, call, layer, input, t, w, &done);
    if (st == CTSC_OK && !done) st = rnn_run_directions(cx, call, layer, input, t, w);
    for (int i = 0; i < 2; i++) rnn_free_weights(&w[i]);
    if (st != CTSC_OK) {
        tensor_unref(t);
        return st;
    }
    *out = t;
    return CTSC_OK;
}

static ctsc_status rnn_dropout(op_ctx *cx, const rnn_call *call, tensor **t) {
    if (!call->train || call->dropout == 0) return CTSC_OK;
    value args[3] = {value_tensor_take(*t), value_float(call->dropout), value_bool(true)};
    value dropped = value_none();
    TRY(op_call(cx, "aten::dropout", 3, args, &dropped));
    tensor_unref(*t);
    *t = dropped.u.tensor;
    return CTSC_OK;
}

static ctsc_status rnn_layers(op_ctx *cx, const rnn_call *call, tensor *input, tensor **out) {
    tensor *t = tensor_ref(input);
    for (int64_t layer = 0; layer < call->layers; layer++) {
        tensor *next;
        ctsc_status st = rnn_layer(cx, call, layer, t, &next);
        tensor_unref(t);
        if (st != CTSC_OK) return st;
        t = next;
        if (layer + 1 < call->layers) st = rnn_dropout(cx, call, &t);
        if (st != CTSC_OK) {
            tensor_unref(t);
            return st;
        }
    }
    *out = t;
    return CTSC_OK;
}

/* ---- a whole call ---------------------------------------------------------------------------- */

static size_t rnn_params_per_set(const rnn_call *call) {
    return rnn_is_quantised(call) ? 1 : (call->has_biases ? 4 : 2) + (call->projects ? 1 : 0);
}

static ctsc_status rnn_check_call(diag *d, const rnn_call *call) {
    int64_t sets = call->bytes ? 1 : (int64_t)(call->params->len / rnn_params_per_set(call));
    if (call->h0->ndim != 3 || (call->c0 && call->c0->ndim != 3))
        return diag_fail(d, CTSC_FAILED, "Expected more hidden states in stacked_rnn");
    if (call->directions == 2 && (sets % 2 || call->h0->sizes[0] % 2))
        return diag_fail(d, CTSC_FAILED,
                         "Odd number of params or hiddens given to a bidirectional RNN");
    if (call->layers < 0 || call->layers > sets || call->layers * call->directions != sets ||
        call->h0->sizes[0] != sets || (call->c0 && call->c0->sizes[0] != sets))
        return diag_fail(d, CTSC_FAILED, "Expected more hidden states in stacked_rnn");
    if (call->h0->sizes[1] != call->batch)
        return rnn_size_mismatch(d, call->h0->sizes[1], call->batch, 0);
    if (call->c0 && call->c0->sizes[1] != call->batch)
        return rnn_size_mismatch(d, call->batch, call->c0->sizes[1], 0);
    return CTSC_OK;
}

static ctsc_status rnn_check_quantised(diag *d, const rnn_call *call, const tensor *data) {
    if (data->dtype != DT_FLOAT32 || call->h0->dtype != DT_FLOAT32 ||
        (call->c0 && call->c0->dtype != DT_FLOAT32) || tensor_cuda(data))
        return diag_fail(d, CTSC_FAILED, "quantized layers: data type of input should be float");
    if (call->projects || (call->c0 && call->c0->sizes[2] != call->h0->sizes[2]))
        return diag_fail(d, CTSC_FAILED, "quantized LSTM with projections is not supported");
    if (!call->h0->sizes[2])
        return diag_fail(d, CTSC_FAILED, "got an incorrect number of RNN parameters");
    return CTSC_OK;
}

/* A state of its own in the work dtype, starting as given. */
static ctsc_status rnn_start_state(diag *d, const rnn_call *call, const tensor *given,
                                   tensor **out) {
    if ((dtype)given->dtype != call->dt)
        return diag_fail(d, CTSC_FAILED, "expected scalar type %s but found %s",
                         dtype_table[given->dtype].ir_name, dtype_table[call->dt].ir_name);
    TRY(tensor_new_like(d, given, call->work, out));
    return tensor_copy(d, *out, given);
}

static ctsc_status rnn_return(diag *d, const rnn_call *call, tensor *t, value *result) {
    tensor *rounded;
    TRY(tensor_to_dtype(d, t, call->dt, &rounded));
    *result = value_tensor_take(rounded);
    return CTSC_OK;
}

/* data: [rows, features]; the step sizes are set. results[0] becomes [rows, directions *
 * hidden_out]. */
static ctsc_status rnn_run_call(op_ctx *cx, rnn_call *call, tensor *data, value *results) {
    diag *d = cx->diag;
    call->dt = (dtype)data->dtype;
    if (!dtype_is_float(call->dt)) return op_refuse_dtype(cx, "addmm_impl_cpu_", call->dt);
    call->work = call->dt == DT_FLOAT64 || tensor_cuda(data) ? call->dt : DT_FLOAT32;
    TRY(rnn_check_call(d, call));
    if (rnn_is_quantised(call)) TRY(rnn_check_quantised(d, call, data));
    else if (call->params->len && call->params->u.tensors[0]->dtype != data->dtype)
        return diag_fail(d, CTSC_FAILED, "expected scalar type %s but found %s",
                         dtype_table[call->dt].ir_name,
                         dtype_table[call->params->u.tensors[0]->dtype].ir_name);
    call->hidden_out = call->h0->sizes[2];
    tensor *input = NULL, *out = NULL;
    ctsc_status st = rnn_contiguous(d, call->dt, call->work, data, &input);
    if (st == CTSC_OK) st = rnn_start_state(d, call, call->h0, &call->h);
    if (st == CTSC_OK && call->c0) st = rnn_start_state(d, call, call->c0, &call->c);
    if (st == CTSC_OK) st = rnn_layers(cx, call, input, &out);
    if (st == CTSC_OK) st = rnn_return(d, call, out, &results[0]);
    if (st == CTSC_OK) st = rnn_return(d, call, call->h, &results[1]);
    if (st == CTSC_OK && call->c) st = rnn_return(d, call, call->c, &results[2]);
    if (st != CTSC_OK)
        for (int i = 0; i < (call->c0 ? 3 : 2); i++) value_set(&results[i], value_none());
    tensor_unref(input);
    tensor_unref(out);
    tensor_unref(call->h);
    tensor_unref(call->c);
    return st;
}

static ctsc_status rnn_alloc_steps(diag *d, rnn_call *call) {
    if (call->steps == 0)
        return diag_fail(d, CTSC_FAILED, "Expected sequence length to be larger than 0 in RNN");
    size_t n;
    if (!size_mul((size_t)call->steps, 2 * sizeof(int64_t), &n) || !(call->sizes = mem_alloc(n)))
        return diag_no_memory(d);
    call->offsets = call->sizes + call->steps;
    return CTSC_OK;
}

/* Takes results[0] from [rows, n] to [steps, batch, n], or [batch, steps, n]. */
static ctsc_status rnn_unfold_output(diag *d, const rnn_call *call, bool batch_first,
                                     value *results) {
    tensor *flat = results[0].u.tensor, *t, *swapped;
    int64_t sizes[3] = {call->steps, call->batch, flat->sizes[1]};
    TRY(tensor_view(d, flat, 3, sizes, &t));
    if (batch_first) {
        ctsc_status st = tensor_transpose(d, t, 0, 1, &swapped);
        tensor_unref(t);
        if (st != CTSC_OK) return st;
        t = swapped;
    }
    value_set(&results[0], value_tensor_take(t));
    return CTSC_OK;
}

/* (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first) */
static ctsc_status rnn_padded(op_ctx *cx, rnn_call *call, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *input = arg_tensor(&args[0]), *timed, *flat;
    bool batch_first = arg_bool(&args[8]);
    if (input->ndim != 3)
        return diag_fail(d, CTSC_FAILED, "input must have 3 dimensions, got %d", input->ndim);
    TRY(batch_first ? tensor_transpose(d, input, 0, 1, &timed) : tensor_alias(d, input, &timed));
    call->steps = timed->sizes[0];
    call->batch = timed->sizes[1];
    call->rows = call->steps * call->batch;
    int64_t sizes[2] = {call->rows, timed->sizes[2]};
    ctsc_status st = tensor_reshape(d, timed, 2, sizes, &flat);
    tensor_unref(timed);
    if (st != CTSC_OK) return st;
    st = rnn_alloc_steps(d, call);
    for (int64_t i = 0; st == CTSC_OK && i < call->steps; i++) {
        call->sizes[i] = call->batch;
        call->offsets[i] = i * call->batch;
    }
    if (st == CTSC_OK) st = rnn_run_call(cx, call, flat, results);
    if (st == CTSC_OK) {
        st = rnn_unfold_output(d, call, batch_first, results);
        if (st != CTSC_OK)
            for (int i = 0; i < (call->c0 ? 3 : 2); i++) value_set(&results[i], value_none());
    }
    mem_free(call->sizes);
    tensor_unref(flat);
    return st;
}

static ctsc_status rnn_read_batch_sizes(diag *d, rnn_call *call, const tensor *sizes) {
    if (sizes->ndim != 1 || sizes->dtype != DT_INT64)
        return diag_fail(d, CTSC_FAILED, "batch_sizes should be a 1D CPU int64 tensor");
    call->steps = sizes->sizes[0];
    TRY(rnn_alloc_steps(d, call));
    const int64_t *p = tensor_data(sizes);
    int64_t rows = 0;
    for (int64_t i = 0; i < call->steps; i++) {
        int64_t n = p[i * sizes->strides[0]];
        if (n <= 0 || (i && n > call->sizes[i - 1]) || rows > call->rows - n)
            return diag_fail(d, CTSC_FAILED, "batch_sizes does not fit the packed data");
        call->sizes[i] = n;
        call->offsets[i] = rows;
        rows += n;
    }
    call->batch = call->sizes[0];
    if (rows != call->rows)
        return diag_fail(d, CTSC_FAILED, "batch_sizes does not fit the packed data");
    return CTSC_OK;
}

/* (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional) */
static ctsc_status rnn_packed(op_ctx *cx, rnn_call *call, const value *args, value *results) {
    tensor *data = arg_tensor(&args[0]);
    if (data->ndim != 2)
        return diag_fail(cx->diag, CTSC_FAILED, "input must have 2 dimensions, got %d", data->ndim);
    call->rows = data->sizes[0];
    ctsc_status st = rnn_read_batch_sizes(cx->diag, call, arg_tensor(&args[1]));
    if (st == CTSC_OK) st = rnn_run_call(cx, call, data, results);
    mem_free(call->sizes);
    return st;
}

static ctsc_status rnn_operator(op_ctx *cx, rnn_kind kind, const value *args, value *results) {
    bool packed = args[1].tag == V_TENSOR && args[2].tag != V_LIST;
    if (kind == RNN_LSTM) packed = args[1].tag == V_TENSOR;
    const value *hx = &args[packed ? 2 : 1], *rest = hx + 1;
    rnn_call call = {.kind = kind,
                     .params = rest[0].u.list,
                     .has_biases = arg_bool(&rest[1]),
                     .layers = arg_int(&rest[2]),
                     .dropout = arg_float(&rest[3]),
                     .train = arg_bool(&rest[4]),
                     .directions = arg_bool(&rest[5]) ? 2 : 1};
    if (kind == RNN_LSTM) {
        if (hx->u.list->len != 2)
            return diag_fail(cx->diag, CTSC_FAILED, "lstm expects two hidden states");
        call.h0 = hx->u.list->u.tensors[0];
        call.c0 = hx->u.list->u.tensors[1];
        call.projects = call.h0->ndim == 3 && call.c0->ndim == 3 &&
                        call.h0->sizes[2] != call.c0->sizes[2];
    } else {
        call.h0 = arg_tensor(hx);
    }
    if (call.params->len % rnn_params_per_set(&call) != 0)
        return diag_fail(cx->diag, CTSC_FAILED, "got an incorrect number of RNN parameters");
    return packed ? rnn_packed(cx, &call, args, results) : rnn_padded(cx, &call, args, results);
}

ctsc_status op_lstm(op_ctx *cx, const value *args, value *results) {
    return rnn_operator(cx, RNN_LSTM, args, results);
}
ctsc_status op_gru(op_ctx *cx, const value *args, value *results) {
    return rnn_operator(cx, RNN_GRU, args, results);
}
ctsc_status op_rnn_tanh(op_ctx *cx, const value *args, value *results) {
    return rnn_operator(cx, RNN_TANH, args, results);
}
ctsc_status op_rnn_relu(op_ctx *cx, const value *args, value *results) {
    return rnn_operator(cx, RNN_RELU, args, results);
}
ctsc_status op_quantized_lstm(op_ctx *cx, const value *args, value *results) {
    return rnn_operator(cx, RNN_LSTM, args, results);
}
ctsc_status op_quantized_gru(op_ctx *cx, const value *args, value *results) {
    return rnn_operator(cx, RNN_GRU, args, results);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static ctsc_status rnn_check_cell(diag *d, const tensor *input, const tensor *h, const tensor *w_ih,
                                  const tensor *w_hh, int index) {
    if (input->ndim != 2 || h->ndim != 2)
        return diag_fail(d, CTSC_FAILED,
                         "Dimension out of range (expected to be in range of [-%d, %d], but got 1)",
                         input->ndim != 2 ? input->ndim : h->ndim,
                         (input->ndim != 2 ? input->ndim : h->ndim) - 1);
    if (w_ih->ndim != 2 || w_hh->ndim != 2)
        return diag_fail(d, CTSC_FAILED, "mat2 must be a matrix");
    if (input->sizes[1] != w_ih->sizes[1])
        return diag_fail(d, CTSC_FAILED,
                         "input has inconsistent input_size: got %lld expected %lld",
                         (long long)input->sizes[1], (long long)w_ih->sizes[1]);
    if (input->sizes[0] != h->sizes[0])
        return diag_fail(d, CTSC_FAILED,
                         "Input batch size %lld doesn't match hidden%d batch size %lld",
                         (long long)input->sizes[0], index, (long long)h->sizes[0]);
    if (h->sizes[1] != w_hh->sizes[1])
        return diag_fail(d, CTSC_FAILED,
                         "hidden%d has inconsistent hidden_size: got %lld, expected %lld", index,
                         (long long)h->sizes[1], (long long)w_hh->sizes[1]);
    return CTSC_OK;
}

/* One step over the batch: a packed call of one step. With these weights the states are results. */
static ctsc_status rnn_cell_call(op_ctx *cx, rnn_call *call, tensor *input, tensor *h0, tensor *c0,
                                 value *results) {
    tensor *h = NULL, *c = NULL, *state = NULL;
    int64_t batch = input->sizes[0], offset = 0;
    value full[3] = {{0}};
    ctsc_status st = tensor_unsqueeze(cx->diag, h0, 0, &h);
    if (st == CTSC_OK && c0) st = tensor_unsqueeze(cx->diag, c0, 0, &c);
    call->steps = call->layers = call->directions = 1;
    call->batch = call->rows = batch;
    call->sizes = &batch;
    call->offsets = &offset;
    call->h0 = h;
    call->c0 = c;
    if (st == CTSC_OK) st = rnn_run_call(cx, call, input, full);
    for (int i = 0; st == CTSC_OK && i < (c0 ? 2 : 1); i++) {
        st = tensor_squeeze_dim(cx->diag, full[1 + i].u.tensor, 0, &state);
        if (st == CTSC_OK) results[i] = value_tensor_take(state);
    }
    if (st != CTSC_OK) value_set(&results[0], value_none());
    for (int i = 0; i < 3; i++) value_unref(full[i]);
    tensor_unref(h);
    tensor_unref(c);
    return st;
}

/* args[2...]: w_ih, w_hh, b_ih, b_hh */
static ctsc_status rnn_cell(op_ctx *cx, rnn_kind kind, tensor *h0, tensor *c0, const value *args,
                            value *results) {
    diag *d = cx->diag;
    tensor *input = arg_tensor(&args[0]), *params[4] = {arg_tensor(&args[2]), arg_tensor(&args[3])};
    TRY(rnn_check_cell(d, input, h0, params[0], params[1], 0));
    if (c0) TRY(rnn_check_cell(d, input, c0, params[0], params[1], 0));
    tensor *zeros = NULL;
    int64_t width = params[1]->sizes[0];
    bool biased = args[4].tag == V_TENSOR || args[5].tag == V_TENSOR;
    ctsc_status st = CTSC_OK;
    if (biased && (args[4].tag != V_TENSOR || args[5].tag != V_TENSOR))
        st = tensor_cuda(input) ? tensor_zeros_on(cx->diag, tensor_device(input),
                                                  (dtype)input->dtype, 1, &width, &zeros)
                                : tensor_zeros(d, (dtype)input->dtype, 1, &width, &zeros);
    params[2] = args[4].tag == V_TENSOR ? arg_tensor(&args[4]) : zeros;
    params[3] = args[5].tag == V_TENSOR ? arg_tensor(&args[5]) : zeros;
    list sets = {.kind = LIST_TENSOR, .len = biased ? 4 : 2, .u.tensors = params};
    rnn_call call = {.kind = kind, .has_biases = biased, .params = &sets};
    if (st == CTSC_OK) st = rnn_cell_call(cx, &call, input, h0, c0, results);
    tensor_unref(zeros);
    return st;
}

/* args[1] is the list (h, c). */
static ctsc_status rnn_lstm_cell(op_ctx *cx,
                                 ctsc_status (*cell)(op_ctx *cx, rnn_kind kind, tensor *h0,
                                                     tensor *c0, const value *args, value *results),
                                 const value *args, value *results) {
    const list *hx = args[1].u.list;
    if (hx->len != 2)
        return diag_fail(cx->diag, CTSC_FAILED, "lstm_cell expects two hidden states");
    return cell(cx, RNN_LSTM, hx->u.tensors[0], hx->u.tensors[1], args, results);
}

ctsc_status op_lstm_cell(op_ctx *cx, const value *args, value *results) {
    return rnn_lstm_cell(cx, rnn_cell, args, results);
}
ctsc_status op_gru_cell(op_ctx *cx, const value *args, value *results) {
    return rnn_cell(cx, RNN_GRU, arg_tensor(&args[1]), NULL, args, results);
}
ctsc_status op_rnn_tanh_cell(op_ctx *cx, const value *args, value *results) {
    return rnn_cell(cx, RNN_TANH, arg_tensor(&args[1]), NULL, args, results);
}
ctsc_status op_rnn_relu_cell(op_ctx *cx, const value *args, value *results) {
    return rnn_cell(cx, RNN_RELU, arg_tensor(&args[1]), NULL, args, results);
}

/* (input, hx, w_ih, w_hh, b_ih, b_hh): the packed weights have the biases. */
static ctsc_status rnn_cell_bytes(op_ctx *cx, rnn_kind kind, tensor *h0, tensor *c0,
                                  const value *args, value *results) {
    tensor *input = arg_tensor(&args[0]);
    const rnn_bytes bytes = {args[2], args[3], true};
    list none = {.kind = LIST_VALUE};
    rnn_call call = {.kind = kind, .params = &none, .bytes = &bytes};
    if (input->ndim != 2 || h0->ndim != 2 || (c0 && c0->ndim != 2))
        return diag_fail(cx->diag, CTSC_FAILED, "quantized cells: input and state have two dims");
    return rnn_cell_call(cx, &call, input, h0, c0, results);
}

ctsc_status op_quantized_lstm_cell(op_ctx *cx, const value *args, value *results) {
    return rnn_lstm_cell(cx, rnn_cell_bytes, args, results);
}
ctsc_status op_quantized_gru_cell(op_ctx *cx, const value *args, value *results) {
    return rnn_cell_bytes(cx, RNN_GRU, arg_tensor(&args[1]), NULL, args, results);
}
ctsc_status op_quantized_rnn_tanh_cell(op_ctx *cx, const value *args, value *results) {
    return rnn_cell_bytes(cx, RNN_TANH, arg_tensor(&args[1]), NULL, args, results);
}
ctsc_status op_quantized_rnn_relu_cell(op_ctx *cx, const value *args, value *results) {
    return rnn_cell_bytes(cx, RNN_RELU, arg_tensor(&args[1]), NULL, args, results);
}
