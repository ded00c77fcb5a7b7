/* SPDX-License-Identifier: Apache-2.0 */
/* Tests for runtime/observe/work_dense.c and the WORK traits of operators: exact counts of
 * floating-point operations. */
#include "support.h"

#include "ctsc_compiler.h"

#include <stdio.h>
#include <string.h>

typedef struct work_case {
    const char *code; /* an expression; or lines, the last of which returns */
    int64_t flops;
} work_case;

/* Counts a call of a function with this body, at this level of optimisation (counting does
 * not depend on it). */
static void work_check(const work_case *c) {
    char source[2048];
    bool lines = strstr(c->code, "return") != NULL;
    snprintf(source, sizeof source,
             "import torch\nimport torch.nn.functional as F\nfrom torch import ones\ndef "
             "forward():\n    %s%s\n",
             lines ? "" : "return ", c->code);
    ctsc_module *m = NULL;
    ctsc_work w = {.size = sizeof w};
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_compile_text("t.py", source, strlen(source), NULL, &m, e) != CTSC_OK)
        fail_msg("%s: %s", c->code, ctsc_error_message(e));
    if (ctsc_module_count_work(m, "forward", 0, NULL, &w, e) != CTSC_OK)
        fail_msg("%s: %s", c->code, ctsc_error_message(e));
    if (w.uncounted) fail_msg("%s: %s is not counted", c->code, w.uncounted);
    if (w.flops != c->flops)
        fail_msg("%s: %lld operations, expected %lld", c->code, (long long)w.flops,
                 (long long)c->flops);
    ctsc_error_free(e);
    ctsc_module_free(m);
}

#define CHECK_ALL(cases)                                                                           \
    for (size_t i = 0; i < sizeof(cases) / sizeof *(cases); i++) work_check(&(cases)[i])

static void work_products(void **state) {
    (void)state;
    static const work_case cases[] = {
        {"torch.mm(ones(3, 4), ones(4, 5))", 2 * 3 * 4 * 5},
        {"torch.mv(ones(3, 4), ones(4))", 2 * 3 * 4},
        {"torch.dot(ones(4), ones(4))", 2 * 4},
        {"torch.vdot(ones(4), ones(4))", 2 * 4},
        {"torch.bmm(ones(2, 3, 4), ones(2, 4, 5))", 2 * 2 * 3 * 4 * 5},
        {"torch.matmul(ones(4), ones(4))", 2 * 4},
        {"torch.matmul(ones(3, 4), ones(4))", 2 * 3 * 4},
        {"torch.matmul(ones(4), ones(4, 5))", 2 * 4 * 5},
        {"torch.matmul(ones(4), ones(7, 4, 5))", 7 * 2 * 4 * 5},
        {"torch.matmul(ones(6, 2, 3, 4), ones(4, 5))", 12 * 2 * 3 * 4 * 5},
        {"torch.matmul(ones(6, 1, 3, 4), ones(2, 4, 5))", 12 * 2 * 3 * 4 * 5},
        {"torch.matmul(ones(3, 0), ones(0, 5))", 0},
        {"torch.matmul(ones(0, 3), ones(3, 5))", 0},
        {"ones(3, 4, dtype=torch.int64) @ ones(4, 5, dtype=torch.int64)", 0},
        {"torch.addmm(ones(5), ones(3, 4), ones(4, 5))", 15 * (2 * 4 + 1)},
        {"torch.addmv(ones(3), ones(3, 4), ones(4))", 3 * (2 * 4 + 1)},
        {"torch.addr(ones(3, 4), ones(3), ones(4))", 2 * 12},
        {"torch.baddbmm(ones(2, 3, 5), ones(2, 3, 4), ones(2, 4, 5))", 30 * (2 * 4 + 1)},
        {"torch.addbmm(ones(3, 5), ones(2, 3, 4), ones(2, 4, 5))", 2 * 2 * 3 * 4 * 5 + 15},
        {"torch.inner(ones(2, 4), ones(3, 4))", 6 * 2 * 4},
        {"torch.outer(ones(3), ones(4))", 12},
        {"torch.kron(ones(2, 2), ones(3, 3))", 36},
        {"torch.tensordot(ones(2, 3, 4), ones(4, 3, 5), [[1, 2], [1, 0]])", 2 * 2 * 5 * 12},
        {"torch.cdist(ones(3, 4), ones(5, 4))", 3 * 15 * 4},
        {"F.linear(ones(2, 3, 4), ones(5, 4))", 30 * 2 * 4},
        {"F.linear(ones(2, 3, 4), ones(5, 4), ones(5))", 30 * (2 * 4 + 1)},
        {"F.linear(ones(4), ones(5, 4), ones(5))", 5 * (2 * 4 + 1)},
        {"F.bilinear(ones(7, 2), ones(7, 3), ones(5, 2, 3), ones(5))", 35 * (2 * 6 + 2 * 2 + 1)},
    };
    CHECK_ALL(cases);
}

static void work_einsum(void **state) {
    (void)state;
    static const work_case cases[] = {
        {"torch.einsum('ij,jk->ik', ones(3, 4), ones(4, 5))", 2 * 3 * 4 * 5},
        {"torch.einsum('bhid,bhjd->bhij', ones(2, 3, 4, 6), ones(2, 3, 5, 6))",
         2 * 2 * 3 * 4 * 5 * 6},
        {"torch.einsum('...ij,...jk', ones(7, 3, 4), ones(7, 4, 5))", 7 * 2 * 3 * 4 * 5},
        {"torch.einsum('i,j->ij', ones(3), ones(4))", 12},
        {"torch.einsum('ij->i', ones(3, 4))", 12},
        {"torch.einsum('ij->ji', ones(3, 4))", 0},
        {"torch.einsum('ii->', ones(3, 3))", 3},                    /* the diagonal */
        {"torch.einsum('ij,k->ik', ones(3, 4), ones(5))", 12 + 15}, /* j is summed over first */
        {"torch.einsum('ij,jk,kl->il', ones(2, 3), ones(3, 4), ones(4, 5))",
         2 * 2 * 3 * 4 + 2 * 2 * 4 * 5},
        {"torch.einsum('ij,jk->ik', ones(3, 0), ones(0, 5))", 0},
        {"torch.einsum('ij,jk->ik', ones(3, 4, dtype=torch.int64), ones(4, 5, dtype=torch.int64))",
         0},
    };
    CHECK_ALL(cases);
}

static void work_convolutions(void **state) {
    (void)state;
    static const work_case cases[] = {
        {"F.conv1d(ones(2, 3, 9), ones(4, 3, 3), ones(4))", 2 * 4 * 7 * (2 * 9 + 1)},
        {"F.conv2d(ones(1, 6, 8, 8), ones(4, 6, 3, 3), padding=1)", 4 * 64 * 2 * 54},
        {"F.conv2d(ones(6, 8, 8), ones(4, 6, 3, 3), padding=1)", 4 * 64 * 2 * 54},
        {"F.conv2d(ones(1, 6, 8, 8), ones(4, 6, 3, 3), padding='same')", 4 * 64 * 2 * 54},
        {"F.conv2d(ones(1, 6, 8, 8), ones(4, 3, 3, 3), ones(4), stride=2, groups=2)",
         4 * 9 * (2 * 27 + 1)},
        {"F.conv2d(ones(1, 6, 8, 8), ones(6, 1, 3, 3), groups=6, dilation=2)", 6 * 16 * 2 * 9},
        {"F.conv2d(ones(1, 6, 8, 8).contiguous(memory_format=torch.channels_last), ones(4, 6, 1, "
         "1))",
         4 * 64 * 2 * 6},
        {"F.conv2d(ones(0, 6, 8, 8), ones(4, 6, 1, 1), ones(4))", 0},
        {"F.conv3d(ones(1, 2, 4, 4, 4), ones(3, 2, 2, 2, 2))", 3 * 27 * 2 * 16},
        {"torch.convolution(ones(1, 6, 8, 8), ones(4, 6, 3, 3), None, [1, 1], [1, 1], [1, 1], "
         "False, [0, 0], 1)",
         4 * 64 * 2 * 54},
        {"torch.convolution(ones(1, 6, 8, 8), ones(6, 4, 2, 2), ones(4), [2, 2], [0, 0], [1, 1], "
         "True, [0, 0], 1)",
         6 * 64 * 2 * 16 + 4 * 256},
        {"torch._convolution(ones(1, 6, 8, 8), ones(4, 6, 3, 3), ones(4), [1, 1], [1, 1], [1, 1], "
         "False, [0, 0], 1, False, False, False, False)",
         4 * 64 * (2 * 54 + 1)},
        {"F.conv_transpose1d(ones(1, 6, 8), ones(6, 4, 2), stride=2)", 6 * 8 * 2 * 8},
        {"F.conv_transpose2d(ones(1, 6, 8, 8), ones(6, 4, 2, 2), ones(4), stride=2)",
         6 * 64 * 2 * 16 + 4 * 256},
        {"F.conv_transpose2d(ones(1, 6, 8, 8), ones(6, 2, 3, 3), groups=3)", 6 * 64 * 2 * 18},
        {"F.conv_transpose3d(ones(1, 2, 2, 2, 2), ones(2, 3, 2, 2, 2))", 16 * 2 * 24},
        {"torch.ops.ctsc.conv_channels_last(ones(1, 8, 8, 6), ones(4, 3, 3, 3), ones(4), [1, 1], "
         "[1, 1], [1, 1], False, [0, 0], 2, True, ones(1, 8, 8, 4), 'relu')",
         256 * (2 * 27 + 3)},
        {"torch.ops.ctsc.conv_channels_last(ones(1, 8, 8, 6), ones(6, 2, 2, 2), None, [2, 2], [0, "
         "0], [1, 1], True, [0, 0], 2, True, None, 'none')",
         6 * 64 * 2 * 8},
        {"torch.ops.ctsc.conv_epilogue(ones(1, 6, 8, 8), ones(4, 6, 1, 1), None, [1, 1], [0, 0], "
         "[1, 1], 1, None, 'relu')",
         256 * (2 * 6 + 1)},
        {"torch.ops.ctsc.linear_epilogue(ones(3, 4), ones(5, 4), ones(5), ones(3, 5), 'gelu')",
         15 * (2 * 4 + 3)},
        {"torch.ops.ctsc.linear_prepacked(ones(3, 4), ones(5, 4), ones(5))", 15 * (2 * 4 + 1)},
        {"torch.ops.ctsc.scale_channels_last(ones(1, 8, 8, 4), ones(4), ones(4), 2)", 2 * 256},
        {"torch.ops.ctsc.max_pool2d_channels_last(ones(1, 8, 8, 4), [2, 2], [2, 2], [0, 0], [1, "
         "1], False)",
         64 * 4},
        {"torch.ops.ctsc.avg_pool2d_channels_last(ones(1, 8, 8, 4), [3, 2], [2, 2], [0, 0], False, "
         "True, None)",
         48 * 6},
        {"torch.ops.ctsc.adaptive_avg_pool2d_channels_last(ones(1, 8, 8, 4), [1, 1])", 256},
        {"torch.ops.ctsc.upsample_bilinear2d_channels_last(ones(1, 8, 8, 4), [4, 4], False, None)",
         7 * 64},
        {"torch.ops.ctsc.upsample_nearest2d_channels_last(ones(1, 8, 8, 4), [4, 4], None)", 0},
        {"F.adaptive_avg_pool2d(ones(1, 4, 8, 8), 1)", 256},
        {"F.max_pool2d(ones(1, 4, 8, 8), 2)", 64 * 4},
        {"torch.conv_tbc(ones(5, 2, 3), ones(3, 3, 4), ones(4), 0)", 3 * 2 * 4 * (2 * 9 + 1)},
    };
    CHECK_ALL(cases);
}

static void work_attention(void **state) {
    (void)state;
    static const work_case cases[] = {
        {"F.scaled_dot_product_attention(ones(2, 3, 4, 6), ones(2, 3, 5, 6), ones(2, 3, 5, 7))",
         24 * 5 * (2 * 6 + 6 + 2 * 7)},
        {"F.scaled_dot_product_attention(ones(2, 3, 4, 6), ones(2, 3, 5, 6), ones(2, 3, 5, 7), "
         "ones(4, 5))",
         24 * 5 * (2 * 6 + 7 + 2 * 7)},
        {"F.scaled_dot_product_attention(ones(4, 6), ones(5, 6), ones(5, 7))",
         4 * 5 * (2 * 6 + 6 + 2 * 7)},
        {"F.scaled_dot_product_attention(ones(1, 0, 6), ones(1, 5, 6), ones(1, 5, 7))", 0},
        /* four projections with biases, two heads of 4 */
        {"torch._native_multi_head_attention(ones(2, 5, 8), ones(2, 5, 8), ones(2, 5, 8), 8, 2, "
         "ones(24, 8), ones(24), ones(8, 8), ones(8))[0]",
         4 * 80 * (2 * 8 + 1) + 20 * 5 * (2 * 4 + 6 + 2 * 4)},
        /* that, two linear layers of 32 with an activation, two norms, two additions */
        {"torch._transformer_encoder_layer_fwd(ones(2, 5, 8), 8, 2, ones(24, 8), ones(24), ones(8, "
         "8), ones(8), False, False, 1e-5, ones(8), ones(8), ones(8), "
         "ones(8), ones(32, 8), ones(32), ones(8, 32), ones(8))",
         4 * 80 * (2 * 8 + 1) + 20 * 5 * (2 * 4 + 6 + 2 * 4) + 10 * 32 * (2 * 8 + 2) +
             80 * (2 * 32 + 1) + 80 * (2 * 7 + 2)},
        {"torch.softmax(ones(3, 4), 1)", 5 * 12},
        {"torch.log_softmax(ones(3, 4), 1)", 5 * 12},
        {"F.layer_norm(ones(3, 4), [4], ones(4), ones(4))", 7 * 12},
        {"F.group_norm(ones(1, 4, 3), 2)", 7 * 12},
        {"F.batch_norm(ones(3, 4), ones(4), ones(4), ones(4), ones(4))", 2 * 12},
    };
    CHECK_ALL(cases);
}

/* LSTM: 13 per hidden unit and step beside the products; GRU 11; plain 2. Weights of 5 inputs
 * and 3 hidden units. */
static void work_recurrent(void **state) {
    (void)state;
    static const work_case cases[] = {
        {"torch.lstm(ones(7, 2, 5), [ones(1, 2, 3), ones(1, 2, 3)], [ones(12, 5), ones(12, 3), "
         "ones(12), ones(12)], True, 1, 0.0, False, False, False)[0]",
         14 * (2 * 12 * 5 + 2 * 12 * 3 + 24 + 3 * 13)},
        {"torch.lstm(ones(2, 7, 5), [ones(2, 2, 3), ones(2, 2, 3)], [ones(12, 5), ones(12, 3), "
         "ones(12, 5), ones(12, 3)], False, 1, 0.0, False, True, True)[0]",
         14 * 2 * (2 * 12 * 5 + 2 * 12 * 3 + 3 * 13)},
        {"torch.gru(ones(7, 2, 5), ones(2, 2, 3), [ones(9, 5), ones(9, 3), ones(9), ones(9), "
         "ones(9, 3), ones(9, 3), ones(9), ones(9)], True, 2, 0.0, False, "
         "False, False)[0]",
         14 * (2 * 9 * 5 + 2 * 9 * 3 + 18 + 3 * 11 + 2 * 9 * 3 + 2 * 9 * 3 + 18 + 3 * 11)},
        {"torch.rnn_tanh(ones(7, 2, 5), ones(1, 2, 3), [ones(3, 5), ones(3, 3)], False, 1, 0.0, "
         "False, False, False)[0]",
         14 * (2 * 3 * 5 + 2 * 3 * 3 + 3 * 2)},
        {"torch.lstm(ones(14, 5), torch.tensor([2, 2, 2, 2, 2, 2, 2]), [ones(1, 2, 3), ones(1, 2, "
         "3)], [ones(12, 5), ones(12, 3)], False, 1, 0.0, False, False)[0]",
         14 * (2 * 12 * 5 + 2 * 12 * 3 + 3 * 13)},
        {"torch.lstm_cell(ones(2, 5), [ones(2, 3), ones(2, 3)], ones(12, 5), ones(12, 3), "
         "ones(12), ones(12))[0]",
         2 * (2 * 12 * 5 + 2 * 12 * 3 + 24 + 3 * 13)},
        {"torch.gru_cell(ones(2, 5), ones(2, 3), ones(9, 5), ones(9, 3))",
         2 * (2 * 9 * 5 + 2 * 9 * 3 + 3 * 11)},
        {"torch.rnn_relu_cell(ones(2, 5), ones(2, 3), ones(3, 5), ones(3, 3))",
         2 * (2 * 3 * 5 + 2 * 3 * 3 + 3 * 2)},
    };
    CHECK_ALL(cases);
}

/* Packed weights; sums of integers count as those of floats. */
static void work_quantised(void **state) {
    (void)state;
    static const work_case cases[] = {
        {"x = torch.quantize_per_tensor(ones(6, 4), 0.1, 0, torch.quint8)\n"
         "    w = torch.quantize_per_tensor(ones(5, 4), 0.1, 0, torch.qint8)\n"
         "    return torch.ops.quantized.linear(x, torch.ops.quantized.linear_prepack(w, ones(5)), "
         "0.1, 0).int_repr()",
         30 * (2 * 4 + 1)},
        {"w = torch.quantize_per_tensor(ones(5, 4), 0.1, 0, torch.qint8)\n"
         "    return torch.ops.quantized.linear_dynamic(ones(6, 4), "
         "torch.ops.quantized.linear_prepack(w, None), False)",
         30 * 2 * 4},
        {"x = torch.quantize_per_tensor(ones(1, 4, 5, 5), 0.1, 0, torch.quint8)\n"
         "    w = torch.quantize_per_tensor(ones(6, 2, 3, 3), 0.1, 0, torch.qint8)\n"
         "    p = torch.ops.quantized.conv2d_prepack(w, ones(6), [1, 1], [0, 0], [1, 1], 2)\n"
         "    return torch.ops.quantized.conv2d(x, p, 0.1, 0).int_repr()",
         54 * (2 * 18 + 1)},
    };
    CHECK_ALL(cases);
}

/* More bytes than an int64_t counts, in a few of memory. */
static void work_expanded(void **state) {
    (void)state;
    static const work_case cases[] = {
        {"x = ones(1).expand(2305843009213693952)\n"
         "    return ones(2, dtype=torch.int32).type_as(x)",
         0},
    };
    CHECK_ALL(cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_products),     cmocka_unit_test(work_einsum),
        cmocka_unit_test(work_convolutions), cmocka_unit_test(work_attention),
        cmocka_unit_test(work_recurrent),    cmocka_unit_test(work_quantised),
        cmocka_unit_test(work_expanded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
