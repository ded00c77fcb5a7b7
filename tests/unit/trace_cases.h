/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_cases.h - programs in C that test_trace.c, test_trace_faults.c and
 * tests/interop/traced.py trace.
 *
 * A case is a function for ctsc_trace and a function that makes its inputs in two sizes.
 * What it computes depends on the inputs alone, so the same function says what the traced
 * module has to give.
 */
#ifndef CTSC_TESTS_TRACE_CASES_H
#define CTSC_TESTS_TRACE_CASES_H

#include "ctsc.h"

#include <stdlib.h>
#include <string.h>

/* What a case may use besides its inputs. */
typedef struct trace_world {
    ctsc_value *weight[4];       /* [8, 4], [8], [8, 8], [8] */
    ctsc_module *first, *second; /* compiled from cases_script, each by itself */
} trace_world;

typedef struct trace_case {
    const char *name;
    ctsc_trace_fn fn;
    int ninputs;
    /* Makes input i, the scope's; n: a size that is to be free. */
    ctsc_value *(*input)(ctsc_scope *s, int i, int64_t n);
} trace_case;

static const char cases_script[] =
    "import torch\n"
    "from typing import NamedTuple, Dict\n"
    "class Pair(NamedTuple):\n"
    "    value: torch.Tensor\n"
    "    rounds: int\n"
    "class Scale(torch.nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.scale = torch.nn.Parameter(torch.full((4,), 1.5))\n"
    "    def forward(self, x):\n"
    "        return x * self.scale\n"
    "def halve(x: torch.Tensor) -> torch.Tensor:\n"
    "    return x / 2\n"
    "class Loop(torch.nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.inner = Scale()\n"
    "        self.names: Dict[str, int] = {'a': 1}\n"
    "    def forward(self, x: torch.Tensor, limit: float = 100.0) -> Pair:\n"
    "        rounds = 0\n"
    "        while bool(x.abs().sum() < limit):\n"
    "            x = self.inner(x)\n"
    "            rounds += self.names['a']\n"
    "        if rounds % 2 == 0:\n"
    "            x = halve(x)\n"
    "        return Pair(x, rounds)\n";

/* Numbers without a pattern, the same everywhere. */
static inline ctsc_value *cases_tensor(ctsc_scope *s, int ndim, const int64_t *sizes,
                                       unsigned seed) {
    ctsc_value *t = NULL;
    int64_t n = 1;
    for (int i = 0; i < ndim; i++) n *= sizes[i];
    if (ctsc_tensor_new(CTSC_FLOAT32, ndim, sizes, &t, NULL) != CTSC_OK) return ctsc_take(s, NULL);
    float *p = ctsc_tensor_data(t);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1103515245u + 12345u;
        p[i] = (float)((seed >> 16) & 0x3ff) / 512.0f - 1.0f;
    }
    return ctsc_take(s, t);
}

static inline ctsc_value *cases_rows(ctsc_scope *s, int i, int64_t n) {
    return cases_tensor(s, 2, (int64_t[]){n, 4}, 7u + (unsigned)i);
}

/* Weights whose names say where they are. */
static inline ctsc_value *cases_mlp(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *in) {
    static const int64_t eight = 8;
    const trace_world *w = ctx;
    (void)n;
    ctsc_value *h = ctsc_linear(s, in[0], ctsc_parameter(s, "layers.0.weight", w->weight[0]),
                                ctsc_parameter(s, "layers.0.bias", w->weight[1]));
    h = ctsc_gelu(s, ctsc_layer_norm(s, h, 1, &eight, NULL, NULL, 1e-5));
    h = ctsc_linear(s, h, ctsc_parameter(s, "layers.1.weight", w->weight[2]), NULL);
    h = ctsc_mul(s, ctsc_float(s, 0.5), h);
    return ctsc_add(s, h, ctsc_buffer(s, "shift", w->weight[3]));
}

/* Views and in-place calls: row 0 changes through a view of it, y is an alias of x. */
static inline ctsc_value *cases_inplace(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *in) {
    (void)ctx, (void)n;
    ctsc_value *x = ctsc_clone(s, in[0]), *row = ctsc_select(s, x, 0, 0),
               *y = ctsc_view(s, x, 2, (int64_t[]){-1, 2});
    ctsc_add_(s, row, ctsc_int(s, 10));
    ctsc_value *sum = ctsc_sum_dim(s, y, 1, true);
    ctsc_mul_(s, y, ctsc_float(s, -1));
    ctsc_relu_(s, ctsc_t(s, x));
    return ctsc_add(s, y, sum);
}

/* Its input changes, as seen by the caller. */
static inline ctsc_value *cases_mutate(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *in) {
    (void)ctx, (void)n;
    ctsc_add_(s, in[0], ctsc_int(s, 1));
    return ctsc_mul(s, in[0], in[0]);
}

/* An accumulator that the program makes, and zeros that an operator makes. */
static inline ctsc_value *cases_constant(void *ctx, ctsc_scope *s, size_t n,
                                         ctsc_value *const *in) {
    (void)ctx, (void)n;
    int64_t four = 4;
    ctsc_value *acc = NULL;
    if (ctsc_tensor_new(CTSC_FLOAT32, 1, &four, &acc, NULL) != CTSC_OK) return ctsc_take(s, NULL);
    ctsc_take(s, acc);
    ctsc_value *made = ctsc_zeros(s, CTSC_FLOAT32, 1, &four);
    for (int i = 0; i < 3; i++) {
        ctsc_add_(s, acc, ctsc_sum_dim(s, in[0], 0, false));
        ctsc_add_(s, made, acc);
    }
    return ctsc_div(s, made, ctsc_int(s, 3));
}

/* Sizes that follow the input, in arithmetic and in lists. */
static inline ctsc_value *cases_sizes(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *in) {
    (void)ctx, (void)n;
    ctsc_value *rows = ctsc_size(s, in[0], 0), *twice = ctsc_mul(s, rows, ctsc_int(s, 2));
    ctsc_value *shape[] = {twice, ctsc_int(s, 2)}, *list = ctsc_list(s, 2, shape);
    ctsc_value *x = ctsc_op(s, "aten::reshape", 2, in[0], list);
    ctsc_value *out[] = {ctsc_div(s, x, rows), rows, ctsc_op(s, "aten::ones", 1, list)};
    return ctsc_tuple(s, 3, out);
}

/* A loop of the program, unrolled: a recurrent cell over 5 steps. */
static inline ctsc_value *cases_loop(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *in) {
    const trace_world *w = ctx;
    (void)n;
    ctsc_value *steps[5],
        *h = ctsc_linear(s, in[0], ctsc_parameter(s, "first.weight", w->weight[0]), NULL);
    for (int i = 0; i < 5; i++) {
        h = ctsc_tanh(s, ctsc_linear(s, h, ctsc_parameter(s, "cell.weight", w->weight[2]),
                                     ctsc_parameter(s, "cell.bias", w->weight[3])));
        steps[i] = h;
    }
    return ctsc_stack(s, 5, steps, 1);
}

/* Attention of two heads: chunks, transposes, softmax. */
static inline ctsc_value *cases_attention(void *ctx, ctsc_scope *s, size_t n,
                                          ctsc_value *const *in) {
    const trace_world *w = ctx;
    (void)n;
    ctsc_value *h = ctsc_linear(s, in[0], ctsc_parameter(s, "qk.weight", w->weight[0]), NULL),
               *parts = ctsc_chunk(s, h, 2, -1), *heads[2];
    for (size_t i = 0; i < 2; i++) {
        ctsc_value *p = ctsc_item(s, parts, i);
        ctsc_value *a = ctsc_softmax(s, ctsc_matmul(s, p, ctsc_transpose(s, p, 0, 1)), -1);
        heads[i] = ctsc_matmul(s, a, in[0]);
    }
    return ctsc_cat(s, 2, heads, 1);
}

/* Several results, index lists, conditions on elements. */
static inline ctsc_value *cases_index(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *in) {
    (void)ctx, (void)n;
    ctsc_value *top = ctsc_op(s, "aten::topk", 2, in[0], ctsc_int(s, 2)),
               *order = ctsc_item(s, top, 1);
    ctsc_value *rows = ctsc_argmax_dim(s, in[0], 0, false), *list = ctsc_list(s, 1, &rows);
    ctsc_value *picked = ctsc_op(s, "aten::index", 2, in[0], list);
    ctsc_value *positive = ctsc_gt(s, in[0], ctsc_int(s, 0));
    ctsc_value *out[] = {ctsc_gather(s, in[0], 1, order), picked,
                         ctsc_where(s, positive, in[0], ctsc_neg(s, in[0])),
                         ctsc_op(s, "aten::diff", 1, in[0]), ctsc_item(s, top, 0)};
    return ctsc_tuple(s, 5, out);
}

/* A tuple of tensors as input. */
static inline ctsc_value *cases_pair_input(ctsc_scope *s, int i, int64_t n) {
    ctsc_value *items[] = {cases_rows(s, i, n), cases_rows(s, i + 1, n)};
    return ctsc_tuple(s, 2, items);
}
static inline ctsc_value *cases_pair(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *in) {
    (void)ctx, (void)n;
    ctsc_value *out[] = {ctsc_sub(s, ctsc_item(s, in[0], 0), ctsc_item(s, in[0], 1)),
                         ctsc_item(s, in[0], 0)};
    return ctsc_list(s, 2, out);
}

/* A scripted module keeps its loop; two modules with classes of the same name; one of its
 * weights used besides. */
static inline ctsc_value *cases_scripts(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *in) {
    const trace_world *w = ctx;
    (void)n;
    ctsc_value *args[] = {in[0], ctsc_float(s, 30)};
    ctsc_value *a = ctsc_run(s, w->first, "forward", 2, args), *value = ctsc_item(s, a, 0);
    ctsc_value *b = ctsc_run(s, w->second, "forward", 1, &value);
    ctsc_value *out[] = {
        ctsc_mul(s, ctsc_item(s, b, 0), ctsc_attribute(s, w->first, "inner.scale")),
        ctsc_item(s, a, 1), ctsc_item(s, b, 1)};
    return ctsc_tuple(s, 3, out);
}

static const trace_case trace_cases[] = {
    {"mlp", cases_mlp, 1, cases_rows},
    {"inplace", cases_inplace, 1, cases_rows},
    {"mutate", cases_mutate, 1, cases_rows},
    {"constant", cases_constant, 1, cases_rows},
    {"sizes", cases_sizes, 1, cases_rows},
    {"loop", cases_loop, 1, cases_rows},
    {"attention", cases_attention, 1, cases_rows},
    {"index", cases_index, 1, cases_rows},
    {"pair", cases_pair, 1, cases_pair_input},
    {"scripts", cases_scripts, 1, cases_rows},
};
enum { TRACE_CASES = sizeof trace_cases / sizeof *trace_cases, TRACE_CASE_INPUTS = 4 };

/* false: it could not be made. */
static inline bool cases_world(trace_world *w, ctsc_error *e) {
    static const int64_t sizes[4][2] = {{8, 4}, {8}, {8, 8}, {8}};
    *w = (trace_world){{NULL}};
    ctsc_scope *s = ctsc_scope_new();
    for (int i = 0; i < 4; i++) {
        ctsc_value *t = s ? cases_tensor(s, i % 2 ? 1 : 2, sizes[i], 40u + (unsigned)i) : NULL;
        w->weight[i] = t ? ctsc_value_copy(t) : NULL;
    }
    ctsc_scope_free(s);
    return w->weight[0] && w->weight[1] && w->weight[2] && w->weight[3] &&
           ctsc_module_compile_text("loop.py", cases_script, strlen(cases_script), NULL, &w->first,
                                    e) == CTSC_OK &&
           ctsc_module_compile_text("loop.py", cases_script, strlen(cases_script), NULL, &w->second,
                                    e) == CTSC_OK;
}

static inline void cases_world_free(trace_world *w) {
    for (int i = 0; i < 4; i++) ctsc_value_free(w->weight[i]);
    ctsc_module_free(w->first);
    ctsc_module_free(w->second);
}

#endif
