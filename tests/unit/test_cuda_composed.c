/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cuda_composed.c - the bodies of src/runtime/cuda/composed.def
 * (frontend/prelude/operators/device.py) against the host's functions.
 *
 * A body is made of operators that run anywhere, so it is tested on tensors of the host, where no
 * kernel has to be compiled; that devices run it, and what they make of arguments that it fails
 * for, is in test_cuda_dense.c and test_cuda_tensor.c.
 */
#include "dense_rows.h"
#include "runtime/ops/registry.h"

#include "ir/op/op_family.h"

static const dense_row rows[] = {
    /* ---- made of others ---------------------------------------------------------------------- */
    {"aten::nll_loss_nd", "f32[4,5]? i64[4]{2 0 1 4} f32[5]? 1 1"},
    {"aten::nll_loss_nd", "f32[2,5,3]? i64[2,3]?5 None 0 2"},
    {"aten::nll_loss", "f32[5]? i64[]{3} None 2"},
    {"aten::nll_loss2d", "f32[2,5,3,2]? i64[2,3,2]?5 f32[5]?"},
    {"aten::nll_loss_forward", "f32[4,5]? i64[4]{2 0 1 4} f32[5]? 1 1"},
    {"aten::nll_loss_forward", "f32[4,5]? i64[4]{2 0 1 4} f32[5]? 0 1"},
    {"aten::nll_loss_forward", "f32[5]? i64[]{3} None 2 -100"},
    {"aten::nll_loss_forward", "f64[5]? i64[]{3} f64[5]? 0 -100"},
    {"aten::nll_loss2d_forward", "f32[2,5,3,2]? i64[2,3,2]?5 f32[5]? 1 0"},
    {"aten::nll_loss2d_forward", "f64[2,5,3,2]? i64[2,3,2]?5 None 0 0"},
    {"aten::cross_entropy_loss", "f32[4,5]? i64[4]{2 0 1 4} f32[5]{1 0.5 2 1 0.25} 1 1 0.1"},
    {"aten::cross_entropy_loss", "f32[4,5]? i64[4]{2 0 1 4} None 0 -100 0.1"},
    {"aten::cross_entropy_loss", "f32[4,5]? f32[4,5]{0.2 0.2 0.2 0.2 0.2 1 0 0 0 0 0 0.5 0.5 0 0 0 "
                                 "0 0 0 1} f32[5]{1 0.5 2 1 0.25} 1 -100 0.2"},
    {"aten::binary_cross_entropy",
     "f32[6]{0.25 0.5 0 1 0.75 0.125} f32[6]{0 1 0 1 0.5 0.25} f32[6]? 1"},
    {"aten::poisson_nll_loss",
     "f32[3,4]? f32[3,4]{0 1 2 3 4 5 6 0.5 1.5 2.5 3.5 4.5} true true 1e-8 1"},
    {"aten::poisson_nll_loss", "f32[4]{1 2 3 0} f32[4]{0 1 2 3} false false 0.5 2"},
    {"aten::soft_margin_loss", "f32[3,4]? f32[3,4]? 1"},
    {"aten::multi_margin_loss", "f32[3,4]? i64[3]{0 3 1} 2 0.5 f32[4]? 1"},
    {"aten::layer_norm", "f32[2,3,4]? [3 4] f32[3,4]? f32[3,4]? 1e-5"},
    {"aten::native_layer_norm", "f32[2,3,4]? [4] f32[4]? None 1e-5"},
    {"aten::group_norm", "f32[2,6,3]? 2 f32[6]? f32[6]? 1e-5"},
    {"aten::native_group_norm", "f32[2,6,5]? None None 2 6 5 3 1e-5"},
    {"aten::native_batch_norm", "f32[3,2,4]? f32[2]? f32[2]? f32[2]? f32[2]{1 2} true 0.1 1e-5"},
    {"aten::native_batch_norm", "f32[3,2,4]? None None f32[2]? f32[2]{1 2} false 0.1 1e-5"},
    {"aten::instance_norm", "f32[2,3,4]? f32[3]? f32[3]? f32[3]? f32[3]{1 2 3} true 0.1 1e-5 true"},
    {"aten::var_mean.correction", "f32[3,4]? [1] 1 true"},
    {"aten::std_mean", "f64[3,4]? true"},
    {"aten::nanmean", "f32[2,3]{1 nan 3 nan nan 2} [1]"},
    {"aten::median.dim", "f32[3,4]{1 nan 3 nan 4 2 3 1 7 5 6 0} 1 true"},
    {"aten::median", "i32[7]{5 3 1 2 9 8 7}"},
    {"aten::trace", "i32[3,4]?9"},
    {"aten::linalg_norm", "f32[3,4]? 3 [1]"},
    {"aten::linalg_norm.ord_str", "f32[2,3,4]? 'fro' [0 2]"},
    {"aten::renorm", "f32[3,4,2]? 2 1 0.5"},
    {"aten::vdot", "f64[5]? f64[5]?"},
    {"aten::cross", "f32[2,3]? f32[2,3]?"},
    {"aten::kron", "f32[2,3]? f32[4,2,2]?"},
    {"aten::linalg_matrix_power", "f64[2,3,3]? 5"},
    {"aten::bilinear", "f32[2,3,4]? f32[2,3,5]? f32[6,4,5]? f32[6]?"},
    {"aten::cdist", "f64[2,3,4]? f64[5,4]? 2.0 None"},
    {"aten::cdist", "f64[3,4]? f64[5,4]? 1.0 None"},
    {"aten::pdist", "f64[5,4]? 3.0"},
    {"aten::heaviside", "f32[4]{-1 0 2 nan} f32[4]?"},
    {"aten::float_power.Tensor_Scalar", "i64[5]?9 0.5"},
    {"aten::polygamma", "1 f64[5]{0.3 -1.7 2 10 0.5}"},
    {"aten::polygamma", "3 f32[4]{0.3 1.7 2 10}"},
    {"aten::mvlgamma", "f64[3]{3 4 5.5} 3"},
    {"aten::isclose", "f32[5]{1 2 inf nan 5} f32[5]{1 2.1 inf nan 5.00001} 1e-3 1e-8 true"},
    {"aten::isreal", "c64[3]{1:0 1:2 0:0}"},
    {"aten::one_hot", "i64[2,3]?5"},
    {"aten::one_hot", "i64[]{2} 4"},
    {"aten::masked_scatter", "f32[3,4]? b[4]{1 0 1 1} f32[12]?"},
    {"aten::put", "f32[3,4]? i64[3]{0 -1 5} f32[3]? false"},
    {"aten::scatter_reduce.two", "f32[4,5]? 0 i64[3,5]?4 f32[3,5]? 'mean' true"},
    {"aten::scatter_reduce.two", "i64[4]?9 0 i64[6]?4 i64[6]?9 'mean' false"},
    {"aten::isin.Tensor_Tensor", "i64[3,4]?9 i64[2]{3 5} false true"},
    {"aten::_unique2", "i64[3,4]?5 true true true"},
    {"aten::unique_consecutive", "f64[9]{1 1 2 2 2 3 1 1 5} true true None"},
    {"aten::bincount", "i64[9]?5 f32[9]? 7"},
    {"aten::im2col", "f32[2,3,6,5]? [2 3] [1 2] [1 0] [2 1]"},
    {"aten::col2im", "f32[2,12,12]? [4 5] [2 2] [1 1] [0 0] [1 1]"},
    {"aten::max_unpool2d", "f32[1,2,2,2]? i64[1,2,2,2]{0 3 9 15 5 2 8 10} [4 4]"},
    /* ---- complex numbers --------------------------------------------------------------------- */
    {"aten::complex", "f64[3,1]? f64[4]?"},
    {"aten::polar", "f64[3]? f64[3]?"},
    {"aten::mul.Tensor", "c64[3,4]? c64[4]?"},
    {"aten::mul.Tensor", "f32[3,4]? c64[4]?"},
    {"aten::mul.Scalar", "c64[3]? 1:-2.5"},
    {"aten::div.Tensor", "c128[5]? c128[5]?"},
    {"aten::add.Tensor", "c64[3,4]? f32[4]? 2"},
    {"aten::sub.Scalar", "c64[3]? 2"},
    {"aten::matmul", "c64[2,3,4]? c64[4,5]?"},
    {"aten::abs", "c64[7]?"},
    {"aten::angle", "c64[7]?"},
    {"aten::exp", "c64[7]?"},
    {"aten::neg", "c64[7]?"},
    {"aten::conj", "c64[7]?"},
};

static int composed_run(const dense_row *row, const char *type) {
    value args[OPCASE_MAX_ARGS], host[OPCASE_MAX_RESULTS] = {value_none()},
                                 body[OPCASE_MAX_RESULTS] = {value_none()};
    diag d = {0};
    strbuf text = STRBUF_INIT;
    const op *o = op_find(row->op);
    int failed = 0;
    assert_non_null(o);
    dense_expand(row->args, type, &text);
    int n = opcase_values(sb_str(&text), args);
    /* Statistics are written, so the host's function, which comes last, sees others. */
    ctsc_status st = dense_call(o, op_composite, n, args, body, &d);
    if (st == CTSC_OK && strstr(row->op, "_norm")) {
        for (int i = 0; i < n; i++) value_unref(args[i]);
        opcase_values(sb_str(&text), args);
    }
    if (st == CTSC_OK) st = dense_call(o, NULL, n, args, host, &d);
    if (st != CTSC_OK && !strcmp(type, "f32"))
        print_error("%s %s: %s\n", row->op, row->args, diag_message(&d)), failed = 1;
    for (int i = 0; st == CTSC_OK && i < o->schema->nreturns; i++) {
        const char *differ = dense_differ(body[i].u.tensor, host[i].u.tensor, type);
        if (!differ) continue;
        print_error("%s %s (%s): result %d: %s\n", row->op, row->args, type, i, differ);
        failed = 1;
    }
    for (int i = 0; i < OPCASE_MAX_RESULTS; i++) value_unref(host[i]), value_unref(body[i]);
    for (int i = 0; i < n; i++) value_unref(args[i]);
    sb_free(&text);
    diag_clear(&d);
    return failed;
}

static void agrees_with_host(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f16", "bf16"};
    int failed = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < (strstr(rows[i].args, "f32[") ? 3 : 1); k++)
            failed += composed_run(&rows[i], types[k]);
    assert_int_equal(failed, 0);
}

/* Each DEVICE_BODY operator has one that compiles. */
static void all_compile(void **state) {
    (void)state;
    int bodies = 0;
    for (const char *key = op_host_installed->builtin.keys; *key; key = op_next_key(key)) {
        diag d = {0};
        const op *o = op_of_row(key);
        if (!o || !o->traits.device_body) continue;
        if (!op_composite_body(o, &d)) fail_msg("%s: %s", o->key, diag_message(&d));
        diag_clear(&d);
        bodies++;
    }
    assert_true(bodies > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_compile),
                                       cmocka_unit_test(agrees_with_host)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
