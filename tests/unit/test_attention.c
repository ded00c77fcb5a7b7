/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_attention.c - attention. The expected texts are PyTorch 1.13.1's. Heads of random sizes,
 * strides and masks are compared with sums in double.
 */
#include "amx_emulator.h"
#include "opcase.h"

#include "runtime/kernels/attention/attention.h"

#include <math.h>

static const opcase scaled_dot_product[] = {
    {"aten::_scaled_dot_product_attention",
     "f64[1,2,2]{0.25 1.875 -0.75 1.125} f64[1,3,2]{2.625 -0.75 -0.5 0.375 1.625 -0.625} "
     "f64[1,3,2]{0.875 1.375 -0.75 -2.375 -1.875 -0.625} None 0.0 true false",
     "f64[1,2,2]{-0.637313 -1.16958 -0.780983 -1.92727} f64[1,2,3]{0.219937 0.562543 0.21752 "
     "0.063643 0.816888 0.119469}"},
    {"aten::_scaled_dot_product_attention",
     "f64[1,2,2]{0.25 1.875 -0.75 1.125} f64[1,3,2]{2.625 -0.75 -0.5 0.375 1.625 -0.625} "
     "f64[1,3,2]{0.875 1.375 -0.75 -2.375 -1.875 -0.625} None 0.0 true true",
     "f64[1,2,2]{0.875 1.375 -0.632548 -2.10396} f64[1,2,3]{1 0 0 0.0722779 0.927722 0}"},
    {"aten::_scaled_dot_product_attention",
     "f64[1,2,2]{0.25 1.875 -0.75 1.125} f64[1,3,2]{2.625 -0.75 -0.5 0.375 1.625 -0.625} "
     "f64[1,3,2]{0.875 1.375 -0.75 -2.375 -1.875 -0.625} b[2,3]{1 0 1 0 1 1} 0.0 true false",
     "f64[1,2,2]{-0.492404 0.380524 -0.893538 -2.15172} f64[1,2,3]{0.502762 0 0.497238 0 0.872411"
     " 0.127589}"},
    {"aten::_scaled_dot_product_attention",
     "f64[1,2,2]{0.25 1.875 -0.75 1.125} f64[1,3,2]{2.625 -0.75 -0.5 0.375 1.625 -0.625} "
     "f64[1,3,2]{0.875 1.375 -0.75 -2.375 -1.875 -0.625} f64[2,3]{0.25 1.75 0 -1.375 0.75 -0.5} "
     "0.0 true false",
     "f64[1,2,2]{-0.692684 -1.98976 -0.780458 -2.27205} f64[1,2,3]{0.0755671 0.866228 0.0582051 "
     "0.00885165 0.951288 0.0398599}"},
    {"aten::_scaled_dot_product_attention",
     "f64[1,2,2]{0.25 1.875 -0.75 1.125} f64[1,3,2]{2.625 -0.75 -0.5 0.375 1.625 -0.625} "
     "f64[1,3,2]{0.875 1.375 -0.75 -2.375 -1.875 -0.625} f64[3]{1.5 -1.875 -0.25} 0.0 true false",
     "f64[1,2,2]{0.386786 0.841459 -0.0374059 0.072509} f64[1,2,3]{0.794038 0.0694952 0.136467 "
     "0.566441 0.248784 0.184775}"},
    {"aten::_scaled_dot_product_attention",
     "f64[2,2]{-1.25 -1.875 -1.625 0.625} f64[3,2]{-0 -0.25 0.5 3 -0.875 -1.375} f64[3,1]{-2 0.5 "
     "0.75} None 0.0 false false",
     "f64[2,1]{0.491321 0.0855823} f64[2,3]{0.0939911 0.000812473 0.905196 0.198818 0.470678 "
     "0.330505}"},
    {"aten::_scaled_dot_product_attention",
     "f64[2,1,1,2]{0.25 -0.375 3.125 -1.875} f64[2,2,2]{-0.125 1.75 0.75 -0.625 0 0.125 0.5 "
     "-1.125} f64[2,2,2]{0.375 2 0.5 -0.5 0.125 -1.625 0.75 1.25} None 0.0 true false",
     "f64[2,2,1,2]{0.46083 0.283406 0.502154 0.109907 0.499229 -0.484582 0.712872 1.07921} "
     "f64[2,2,1,2]{0.313362 0.686638 0.396554 0.603446 0.00616716 0.993833 0.0594049 0.940595}"},
    {"aten::_scaled_dot_product_attention",
     "f64[1,2,2]{0.25 1.875 -0.75 1.125} f64[1,3,2]{2.625 -0.75 -0.5 0.375 1.625 -0.625} "
     "f64[1,3,2]{0.875 1.375 -0.75 -2.375 -1.875 -0.625} b[2,3]{0 0 0 0 0 0} 0.0 true false",
     "f64[1,2,2]{nan nan nan nan} f64[1,2,3]{nan nan nan nan nan nan}"},
    {"aten::_scaled_dot_product_attention",
     "f64[1,2,2]{0.25 1.875 -0.75 1.125} f64[1,3,2]{2.625 -0.75 -0.5 0.375 1.625 -0.625} "
     "f64[1,3,2]{0.875 1.375 -0.75 -2.375 -1.875 -0.625} f64[2,3]{-0 -2 0.375 0.625 0.375 2.125} "
     "0.0 true true",
     "!_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"},
    {"aten::_scaled_dot_product_attention",
     "f64[2,2,2]^{-2 0.875 -0.25 2.5 -0 -1.125 1.5 0.875} f64[2,2,2]^{-0.375 -1 0.125 0.375 0.75 "
     "1.875 0.25 0.25} f64[2,2,2]^{-0.25 0.375 -0.5 2.625 1.5 -0.875 1.625 -0.125} None 0.0 true "
     "false",
     "f64[2,2,2]{-0.383962 1.58065 -0.47808 2.42772 1.59808 -0.28655 1.52214 -0.742134} "
     "f64[2,2,2]{0.464154 0.535846 0.0876805 0.91232 0.2154 0.7846 0.822846 0.177154}"},
    {"aten::_scaled_dot_product_attention",
     "i64[1,2,2]{2 -1 -1 -3} i64[1,2,2]{1 -3 1 -2} i64[1,2,2]{0 2 3 -3} None 0.0 true false",
     "!expected scalar type Float but found Long"},
};

static const opcase multi_head[] = {
    {"aten::_native_multi_head_attention",
     "f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625"
     " -1.25 2.25 1.125} f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} 2 2 "
     "f64[6,2]{0.375 1 2.25 -0.375 -1.125 -0.625 -0.125 -3.375 1.875 0.875 0.25 -1.125} "
     "f64[6]{-1.125 -0.125 0.75 -0.375 -0.5 -1.75} f64[2,2]{-0.875 0 -0.375 -1.125} f64[2]{1 "
     "-1.5} None true true None",
     "f64[2,2,2]{1.61131 -0.987909 1.60996 0.489669 -3.11521 -0.504194 3.30022 0.0483078} "
     "f64[2,2,2]{0.72755 0.27245 0.316971 0.683029 7.05383e-05 0.999929 0.990842 0.00915844}"},
    {"aten::_native_multi_head_attention",
     "f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625"
     " -1.25 2.25 1.125} f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} 2 2 "
     "f64[6,2]{0.375 1 2.25 -0.375 -1.125 -0.625 -0.125 -3.375 1.875 0.875 0.25 -1.125} "
     "f64[6]{-1.125 -0.125 0.75 -0.375 -0.5 -1.75} f64[2,2]{-0.875 0 -0.375 -1.125} f64[2]{1 "
     "-1.5} None true false None",
     "f64[2,2,2]{1.61131 -0.987909 1.60996 0.489669 -3.11521 -0.504194 3.30022 0.0483078} "
     "f64[2,2,2,2]{0.457379 0.542621 0.477128 0.522872 0.997721 0.00227944 0.156814 0.843186 "
     "4.49299e-06 0.999996 0.981683 0.0183169 0.000136584 0.999863 1 3.7644e-17}"},
    {"aten::_native_multi_head_attention",
     "f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625"
     " -1.25 2.25 1.125} f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} 2 2 "
     "f64[6,2]{0.375 1 2.25 -0.375 -1.125 -0.625 -0.125 -3.375 1.875 0.875 0.25 -1.125} "
     "f64[6]{-1.125 -0.125 0.75 -0.375 -0.5 -1.75} f64[2,2]{-0.875 0 -0.375 -1.125} f64[2]{1 "
     "-1.5} None false true None",
     "f64[2,2,2]{1.61131 -0.987909 1.60996 0.489669 -3.11521 -0.504194 3.30022 0.0483078} None"},
    {"aten::_native_multi_head_attention",
     "f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} f64[2,2,2]{-0.125 4.125 0.375 0.75 "
     "0.25 -1.125 -2.625 -0} f64[2,2,2]{-0 -0.625 -1 -3.25 -0.5 1.625 -2.25 -1.5} 2 1 "
     "f64[6,2]{0.375 1 2.25 -0.375 -1.125 -0.625 -0.125 -3.375 1.875 0.875 0.25 -1.125} "
     "f64[6]{-1.125 -0.125 0.75 -0.375 -0.5 -1.75} f64[2,2]{-0.875 0 -0.375 -1.125} f64[2]{1 "
     "-1.5} None true true None",
     "f64[2,2,2]{5.5661 -1.40612 1.95472 0.0546563 1.59418 2.53876 1.01408 2.67178} "
     "f64[2,2,2]{8.50427e-05 0.999915 0.989397 0.0106031 0.889715 0.110285 0.999923 7.7447e-05}"},
    {"aten::_native_multi_head_attention",
     "f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625"
     " -1.25 2.25 1.125} f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} 2 2 "
     "f64[6,2]{0.375 1 2.25 -0.375 -1.125 -0.625 -0.125 -3.375 1.875 0.875 0.25 -1.125} "
     "f64[6]{-1.125 -0.125 0.75 -0.375 -0.5 -1.75} f64[2,2]{-0.875 0 -0.375 -1.125} f64[2]{1 "
     "-1.5} b[2,2]{0 1 0 0} true true 1",
     "f64[2,2,2]{1.57422 -1.00781 1.57422 -1.00781 -3.11521 -0.504194 3.30022 0.0483078} "
     "f64[2,2,2]{1 0 1 0 7.05383e-05 0.999929 0.990842 0.00915844}"},
    {"aten::_native_multi_head_attention",
     "f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625"
     " -1.25 2.25 1.125} f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} 2 2 "
     "f64[6,2]{0.375 1 2.25 -0.375 -1.125 -0.625 -0.125 -3.375 1.875 0.875 0.25 -1.125} "
     "f64[6]{-1.125 -0.125 0.75 -0.375 -0.5 -1.75} f64[2,2]{-0.875 0 -0.375 -1.125} f64[2]{1 "
     "-1.5} b[2,2]{0 1 0 0} true true None",
     "!Mask Type should be defined"},
    {"aten::_native_multi_head_attention",
     "f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625"
     " -1.25 2.25 1.125} f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} 2 3 "
     "f64[6,2]{0.375 1 2.25 -0.375 -1.125 -0.625 -0.125 -3.375 1.875 0.875 0.25 -1.125} "
     "f64[6]{-1.125 -0.125 0.75 -0.375 -0.5 -1.75} f64[2,2]{-0.875 0 -0.375 -1.125} f64[2]{1 "
     "-1.5} None true true None",
     "!`embed_dim` must divide evenly by `num_heads`"},
    {"aten::_native_multi_head_attention",
     "f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625"
     " -1.25 2.25 1.125} f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} 3 1 "
     "f64[6,2]{0.375 1 2.25 -0.375 -1.125 -0.625 -0.125 -3.375 1.875 0.875 0.25 -1.125} "
     "f64[6]{-1.125 -0.125 0.75 -0.375 -0.5 -1.75} f64[2,2]{-0.875 0 -0.375 -1.125} f64[2]{1 "
     "-1.5} None true true None",
     "!passed-in embed_dim 3 didn't match last dim of query 2"},
    {"aten::_native_multi_head_attention",
     "f64[2,2]{0.5 -1.25 -0.125 0} f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} "
     "f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} 2 1 f64[6,2]{0.375 1 2.25 -0.375 "
     "-1.125 -0.625 -0.125 -3.375 1.875 0.875 0.25 -1.125} f64[6]{-1.125 -0.125 0.75 -0.375 -0.5 "
     "-1.75} f64[2,2]{-0.875 0 -0.375 -1.125} f64[2]{1 -1.5} None true true None",
     "!expected 3-D `query`, got 2-D tensor"},
    {"aten::_native_multi_head_attention",
     "f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625"
     " -1.25 2.25 1.125} f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} 2 1 f64[6,3]{2.75"
     " 1.375 0.125 0.75 2.75 -0 -0.5 -1 1.875 -1.5 0.875 -0.875 1.875 -1.5 0.25 2.375 0.625 "
     "-0.75} f64[6]{-1.125 -0.125 0.75 -0.375 -0.5 -1.75} f64[2,2]{-0.875 0 -0.375 -1.125} "
     "f64[2]{1 -1.5} None true true None",
     "!expected `qkv_weight` second dim to be embed_Dim"},
    {"aten::_transform_bias_rescale_qkv",
     "f64[1,2,6]{0.75 0.625 0.625 -2.75 0.375 -0.125 -0.125 1.125 2.25 -0.5 1 0.625} f64[6]{-1.75"
     " -1.625 -3.25 -1.625 -0.375 -0.375} 2",
     "f64[1,2,2,1]{-1 -1.875 -1 -0.5} f64[1,2,2,1]{-2.625 -1 -4.375 -2.125} f64[1,2,2,1]{0 0.625 "
     "-0.5 0.25}"},
    {"aten::_transformer_encoder_layer_fwd",
     "f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} 2 1 f64[6,2]{0.375 1 2.25 -0.375 "
     "-1.125 -0.625 -0.125 -3.375 1.875 0.875 0.25 -1.125} f64[6]{-1.125 -0.125 0.75 -0.375 -0.5 "
     "-1.75} f64[2,2]{-0.875 0 -0.375 -1.125} f64[2]{1 -1.5} true true 1e-05 f64[2]{0.375 0.875} "
     "f64[2]{-0.875 0.5} f64[2]{-1.25 -2.75} f64[2]{0.375 1.375} f64[3,2]{1.125 -0.125 0.5 1.375 "
     "-0.875 -1.25} f64[3]{-1.25 -0.25 0.375} f64[2,3]{-1.5 0.5 -0.625 -1.875 1.125 -1} "
     "f64[2]{1.5 -0.75} None None",
     "f64[2,2,2]{6.94099 6.77872 2.56494 0.69593 5.92447 4.41981 8.79947 6.79481}"},
    {"aten::_transformer_encoder_layer_fwd",
     "f64[2,2,2]{0.5 -1.25 -0.125 0 -0.625 -1.25 2.25 1.125} 2 1 f64[6,2]{0.375 1 2.25 -0.375 "
     "-1.125 -0.625 -0.125 -3.375 1.875 0.875 0.25 -1.125} f64[6]{-1.125 -0.125 0.75 -0.375 -0.5 "
     "-1.75} f64[2,2]{-0.875 0 -0.375 -1.125} f64[2]{1 -1.5} false false 1e-05 f64[2]{1.875 "
     "0.875} f64[2]{0.5 0.75} f64[2]{0.125 1.875} f64[2]{0.75 -1.25} f64[3,2]{3.125 -1.875 -1.875"
     " -2.625 1.375 0.125} f64[3]{-0.625 -0.75 1.125} f64[2,3]{0.75 1.125 -0.75 1 -0.75 1.25} "
     "f64[2]{-1.125 1.375} None None",
     "f64[2,2,2]{0.625 0.625 0.625 0.625 0.625 0.624999 0.625 0.625}"},
    {"aten::_masked_softmax", "f64[1,1,2,2]{-0.625 0.375 -0 0.875} b[1,1,2,2]{0 1 0 0} -1 2",
     "f64[1,1,2,2]{1 0 0.294215 0.705785}"},
    {"aten::_masked_softmax", "f64[1,1,2,2]{-1 0 0.75 0.125} b[1,1,2,2]{0 1 0 0} -1 None",
     "!Mask Type should be defined"},
    {"aten::_masked_softmax",
     "f64[1,1,2,2]{-0.375 0.75 0.5 -0.125} f64[1,1,2,2]{0.75 1.5 -0.125 -0.125} -1 2",
     "!Mask should be a boolean tensor"},
};

static void test_scaled_dot_product(void **state) {
    (void)state;
    opcase_run(scaled_dot_product, sizeof scaled_dot_product / sizeof scaled_dot_product[0]);
}

static void test_multi_head(void **state) {
    (void)state;
    opcase_run(multi_head, sizeof multi_head / sizeof multi_head[0]);
}

/* ---- random heads ---------------------------------------------------------------------------- */

static uint64_t heads_state = 7;

static int64_t heads_below(int64_t n) {
    heads_state = heads_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((heads_state >> 33) % (uint64_t)n);
}

/* [n0, n1, n2, n3] of numbers in [-2, 2), in memory in that order or with the middle
 * dims exchanged. */
static tensor *heads_tensor(const int64_t *sizes, bool exchanged) {
    int64_t laid[4] = {sizes[0], sizes[exchanged ? 2 : 1], sizes[exchanged ? 1 : 2], sizes[3]};
    tensor *t, *turned;
    assert_int_equal(tensor_new(NULL, DT_FLOAT32, 4, laid, &t), CTSC_OK);
    for (int64_t i = 0; i < t->numel; i++)
        TENSOR_AT(t, float)[i] = (float)heads_below(4096) / 1024 - 2;
    if (!exchanged) return t;
    assert_int_equal(tensor_transpose(NULL, t, 1, 2, &turned), CTSC_OK);
    tensor_unref(t);
    return turned;
}

/* Sizes of 1 are for all. */
static float *heads_at(const tensor *t, int64_t b, int64_t h, int64_t i, int64_t j) {
    int64_t index[4] = {b, h, i, j}, at = 0;
    for (int d = 0; d < 4; d++) at += t->sizes[d] == 1 ? 0 : index[d] * t->strides[d];
    return TENSOR_AT(t, float) + at;
}

static bool heads_hidden(const attention_call *c, int64_t b, int64_t h, int64_t i, int64_t j) {
    int64_t index[4] = {b, h, i, j}, at = 0;
    const tensor *t = c->hidden;
    for (int d = 0; t && d < 4; d++) at += t->sizes[d] == 1 ? 0 : index[d] * t->strides[d];
    return t && TENSOR_AT(t, bool)[at] != c->shown;
}

/* Row i of a head, in double. */
static void heads_want(const attention_call *c, int64_t b, int64_t h, int64_t i, double *weights,
                       double *row) {
    int64_t keys = c->k->sizes[2], depth = c->q->sizes[3], width = c->v->sizes[3];
    double max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < keys; j++) {
        double x = 0;
        for (int64_t e = 0; e < depth; e++)
            x += (double)*heads_at(c->q, b, h, i, e) * *heads_at(c->k, b, h, j, e);
        x = x * c->scale + (c->mask ? *heads_at(c->mask, b, h, i, j) : 0);
        if (heads_hidden(c, b, h, i, j)) x = c->fill;
        weights[j] = c->causal && j > i ? -INFINITY : x;
        max = fmax(max, weights[j]);
    }
    for (int64_t j = 0; j < keys; j++)
        sum += weights[j] = c->safe && max == -INFINITY ? 0 : exp(weights[j] - max);
    for (int64_t e = 0; e < width; e++) {
        row[e] = 0;
        for (int64_t j = 0; j < keys; j++) row[e] += weights[j] * *heads_at(c->v, b, h, j, e);
        row[e] = c->safe && sum == 0 ? 0 : row[e] / sum;
    }
}

static void heads_check(const attention_call *c, dtype dt, const tensor *out, double bound) {
    double *weights = malloc(sizeof(double) * (size_t)c->k->sizes[2]),
           *row = malloc(sizeof(double) * (size_t)c->v->sizes[3]);
    for (int64_t b = 0; b < c->out->sizes[0]; b++)
        for (int64_t h = 0; h < c->out->sizes[1]; h++)
            for (int64_t i = 0; i < c->out->sizes[2]; i++) {
                heads_want(c, b, h, i, weights, row);
                for (int64_t e = 0; e < c->out->sizes[3]; e++) {
                    double got = *heads_at(out, b, h, i, e);
                    if (!(fabs(got - row[e]) <= bound) && !(isnan(got) && isnan(row[e])))
                        fail_msg("%s: %lld rows, %lld keys of %lld, width %lld%s%s%s: row %lld, "
                                 "element %lld: %.9g instead of %.9g",
                                 dtype_table[dt].ir_name, (long long)c->q->sizes[2],
                                 (long long)c->k->sizes[2], (long long)c->q->sizes[3],
                                 (long long)c->v->sizes[3], c->mask ? ", mask" : "",
                                 c->causal ? ", causal" : "", c->hidden ? ", hidden" : "",
                                 (long long)i, (long long)e, got, row[e]);
                }
            }
    free(weights);
    free(row);
}

static tensor *heads_mask(int64_t batch, int64_t heads, int64_t rows, int64_t keys) {
    int64_t sizes[4] = {heads_below(2) ? 1 : batch, heads_below(2) ? 1 : heads,
                        heads_below(4) ? rows : 1, keys};
    tensor *t = heads_tensor(sizes, false);
    bool hides_rows = heads_below(4) == 0, spans = heads_below(2);
    float low = heads_below(2) ? -INFINITY : -3e38f; /* a float16 of it is -inf, too */
    int64_t begin = heads_below(keys), end = heads_below(keys + 1);
    for (int64_t i = 0; i < t->numel; i++)
        if ((spans ? i % keys < begin || i % keys >= end : heads_below(3) == 0) ||
            (hides_rows && i / keys % 5 == 0))
            TENSOR_AT(t, float)[i] = low;
    return t;
}

/* Is key j hidden to row i? Random; those after it; all after a number;
 * all before one; all except some close to it; all, sometimes. */
static bool heads_hides(int64_t kind, int64_t i, int64_t j, int64_t number) {
    switch (kind) {
    case 0: return heads_below(3) == 0;
    case 1: return j > i;
    case 2: return j >= number;
    case 3: return j < number;
    case 4: return j < i - number || j > i + number;
    default: return true;
    }
}

static tensor *heads_hide(int64_t batch, int64_t heads, int64_t rows, int64_t keys) {
    int64_t sizes[4] = {heads_below(2) ? 1 : batch, heads_below(2) ? 1 : heads,
                        heads_below(4) ? rows : 1, keys};
    bool turned = heads_below(3) == 0;
    int64_t laid[4] = {sizes[0], sizes[1], sizes[turned ? 3 : 2], sizes[turned ? 2 : 3]},
            kind = heads_below(11) / 2, number = heads_below(keys + 1);
    tensor *t, *view;
    assert_int_equal(tensor_new(NULL, DT_BOOL, 4, laid, &t), CTSC_OK);
    for (int64_t n = 0; n < t->numel; n++) {
        int64_t x = n % laid[3], y = n / laid[3] % laid[2];
        TENSOR_AT(t, bool)[n] = heads_hides(kind, turned ? x : y, turned ? y : x, number);
    }
    if (!turned) return t;
    assert_int_equal(tensor_transpose(NULL, t, 2, 3, &view), CTSC_OK);
    tensor_unref(t);
    return view;
}

/* t as dt, in memory in its order or with the middle dims exchanged. */
static tensor *heads_as(tensor *t, dtype dt, bool exchanged) {
    tensor *turned, *converted, *back;
    assert_int_equal(tensor_transpose(NULL, t, 1, exchanged ? 2 : 1, &turned), CTSC_OK);
    assert_int_equal(tensor_to_dtype(NULL, turned, dt, &converted), CTSC_OK);
    assert_int_equal(tensor_transpose(NULL, converted, 1, exchanged ? 2 : 1, &back), CTSC_OK);
    tensor_unref(turned);
    tensor_unref(converted);
    return back;
}

/* The same call in dt; *wide: its result as floats. What c says is rounded to dt. */
static void heads_compute(attention_call *c, dtype dt, tensor **wide) {
    tensor **parts[] = {&c->q, &c->k, &c->v, &c->out, &c->mask};
    attention_call call = *c;
    tensor **narrow[] = {&call.q, &call.k, &call.v, &call.out, &call.mask};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        tensor *t = *parts[i], *rounded;
        if (!t) continue;
        *narrow[i] = heads_as(t, dt, heads_below(2));
        assert_int_equal(tensor_to_dtype(NULL, *narrow[i], DT_FLOAT32, &rounded), CTSC_OK);
        tensor_unref(t);
        *parts[i] = rounded;
    }
    assert_int_equal(attention_compute(NULL, &call), CTSC_OK);
    assert_int_equal(tensor_to_dtype(NULL, call.out, DT_FLOAT32, wide), CTSC_OK);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (*parts[i]) tensor_unref(*narrow[i]);
}

static void heads_try(dtype dt, double bound, int turn) {
    static const double fills[] = {-INFINITY, -INFINITY, -1e9, -100, -1};
    bool longer = turn % 100 == 0;
    int64_t batch = 1 + heads_below(3), heads = 1 + heads_below(3),
            rows = 1 + heads_below(longer           ? 300
                                   : heads_below(3) ? 70
                                                    : 6),
            keys = 1 + heads_below(longer ? 1300 : 300);
    int64_t depth = 1 + heads_below(70), width = 1 + heads_below(70);
    int64_t q[4] = {batch, heads, rows, depth},
            k[4] = {batch, heads_below(4) ? heads : 1, keys, depth},
            v[4] = {batch, k[1], keys, width};
    int64_t out[4] = {batch, heads, rows, width};
    attention_call c = {.q = heads_tensor(q, heads_below(2)),
                        .k = heads_tensor(k, heads_below(2)),
                        .v = heads_tensor(v, heads_below(2)),
                        .out = heads_tensor(out, heads_below(2)),
                        .causal = heads_below(3) == 0,
                        .safe = heads_below(2),
                        .shown = heads_below(2),
                        .scale = 0.3};
    if (heads_below(3) == 0) c.mask = heads_mask(batch, heads, rows, keys);
    if (!c.causal && heads_below(2)) c.hidden = heads_hide(batch, heads, rows, keys);
    c.fill = fills[heads_below(5)];
    tensor *got;
    heads_compute(&c, dt, &got);
    heads_check(&c, dt, got, bound);
    tensor *all[] = {c.q, c.k, c.v, c.out, c.mask, c.hidden, got};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) tensor_unref(all[i]);
}

/* Elements are below 2: of float16 and bfloat16 their rounding is what differs, and of weights. */
static void test_random_heads(void **state) {
    (void)state;
    for (int turn = 0; turn < 600; turn++) {
        heads_try(DT_FLOAT32, 2e-5, turn);
        heads_try(DT_BFLOAT16, 0x1p-7, turn);
        heads_try(DT_FLOAT16, 0x1p-11 + 2e-5, turn);
    }
}

static void heads_on_amx(void *ctx, const quad_kernels *u) {
    (void)ctx;
    (void)u;
    for (int turn = 1; turn < 150; turn++) heads_try(DT_BFLOAT16, 0x1p-7, turn);
}

static void test_random_heads_amx(void **state) {
    (void)state;
    amx_each(UKERNEL_BF16, heads_on_amx, NULL);
}

static tensor *written_as(tensor *t, dtype dt) {
    tensor *r;
    assert_int_equal(tensor_to_dtype(NULL, t, dt, &r), CTSC_OK);
    tensor_unref(t);
    return r;
}

/* ---- grouped heads --------------------------------------------------------------------------- */

static value grouped_ints(int n, const int64_t *numbers) {
    list *l = list_new(LIST_INT, NULL, n);
    for (int i = 0; i < n; i++) assert_true(list_append_take(l, value_int(numbers[i])));
    return value_list_take(l);
}

/* t [b, h, s, d] as [b, h, group, s, d], expanded. */
static tensor *grouped_expanded(tensor *t, int64_t group) {
    int64_t sizes[5] = {t->sizes[0], t->sizes[1], group, t->sizes[2], t->sizes[3]};
    tensor *more, *wide;
    assert_int_equal(tensor_unsqueeze(NULL, t, 2, &more), CTSC_OK);
    assert_int_equal(tensor_expand(NULL, more, 5, sizes, &wide), CTSC_OK);
    tensor_unref(more);
    return wide;
}

static tensor *grouped_random(const int64_t *sizes, dtype dt) {
    tensor *t = heads_tensor(sizes, false), *r = heads_as(t, dt, heads_below(2));
    tensor_unref(t);
    return r;
}

static void grouped_check(const tensor *got, const tensor *want, float bound) {
    tensor *flat[2] = {written_as(tensor_ref((tensor *)got), DT_FLOAT32),
                       written_as(tensor_ref((tensor *)want), DT_FLOAT32)};
    assert_true(tensor_same_shape(got, want));
    for (int64_t n = 0; n < want->numel; n++) {
        int64_t d = got->sizes[3], l = got->sizes[2], h = got->sizes[1];
        float a = *heads_at(flat[0], n / d / l / h, n / d / l % h, n / d % l, n % d),
              b = *heads_at(flat[1], n / d / l / h, n / d / l % h, n / d % l, n % d);
        if (!(fabsf(a - b) <= bound))
            fail_msg("element %lld: %g instead of %g", (long long)n, a, b);
    }
    tensor_unref(flat[0]), tensor_unref(flat[1]);
}

/* enable_gqa and ctsc::attention_grouped are attention with keys and values repeated. */
static void grouped_try(dtype dt, float bound) {
    int64_t batch = 1 + heads_below(2), heads = 1 + heads_below(3), group = 1 + heads_below(4),
            rows = 1 + heads_below(heads_below(2) ? 3 : 40), keys = 1 + heads_below(300),
            depth = 1 + heads_below(40), all = heads * group,
            masks[2] = {heads_below(2) ? all : 1, heads_below(2) ? rows : 1},
            qs[4] = {batch, all, rows, depth}, ks[4] = {batch, heads, keys, depth},
            ms[4] = {1, masks[0], masks[1], keys}, flat[4] = {batch, all, keys, depth};
    tensor *q = grouped_random(qs, dt), *k = grouped_random(ks, dt), *v = grouped_random(ks, dt),
           *mask = heads_below(3) ? heads_tensor(ms, false) : NULL,
           *wide[2] = {grouped_expanded(k, group), grouped_expanded(v, group)};
    if (mask) mask = written_as(mask, heads_below(2) ? DT_BOOL : dt);
    bool causal = !mask && heads_below(2);
    if (heads_below(2)) flat[heads_below(4)] = -1;
    value m = mask ? value_tensor_take(mask) : value_none(), sizes = grouped_ints(4, flat),
          args[] = {value_tensor_take(q), value_tensor_take(k),
                    value_tensor_take(v), m,
                    value_float(0),       value_bool(causal),
                    value_none(),         value_bool(true)},
          seen[] = {args[0],
                    value_tensor_take(wide[0]),
                    value_tensor_take(wide[1]),
                    sizes,
                    sizes,
                    m,
                    value_float(0),
                    value_bool(causal),
                    value_none()};
    const char *op = "aten::scaled_dot_product_attention";
    tensor *grouped = opcase_made(op, 8, args),
           *expanded = opcase_made("ctsc::attention_grouped", 9, seen);
    for (int i = 1; i < 3; i++)
        args[i] = value_tensor_take(
            opcase_made("aten::repeat_interleave.self_int", 3,
                        (value[]){args[i], value_int(group), value_int(1)}));
    args[7] = value_bool(false);
    tensor *want = opcase_made(op, 8, args);
    grouped_check(grouped, want, bound);
    grouped_check(expanded, want, bound);
    tensor *held[] = {q,
                      k,
                      v,
                      mask,
                      wide[0],
                      wide[1],
                      grouped,
                      expanded,
                      want,
                      args[1].u.tensor,
                      args[2].u.tensor};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) tensor_unref(held[i]);
    value_unref(sizes);
}

static void test_grouped(void **state) {
    (void)state;
    for (int turn = 0; turn < 150; turn++) {
        grouped_try(DT_FLOAT32, 2e-5f);
        grouped_try(DT_BFLOAT16, 0x1p-7f);
        grouped_try(DT_FLOAT16, 0x1p-10f);
    }
}

/* What is no group is repeated as it says, or refused. */
static void test_grouped_refused(void **state) {
    (void)state;
    static const opcase cases[] = {
        {"aten::scaled_dot_product_attention",
         "f32[1,4,1,1]{1 1 1 1} f32[1,3,1,1]{1 2 3} f32[1,3,1,1]{1 2 3} None 0.0 false None true",
         "!Number of heads in key and value must divide the number of heads in query"},
        {"aten::scaled_dot_product_attention",
         "f32[1,4,1,1]{1 1 1 1} f32[1,2,1,1]{1 2} f32[1,2,1,1]{1 2} f32[1,2,1,1]{0 0} 0.0 false "
         "None true",
         "!output with shape of the scores doesn't match the broadcast shape"},
        {"aten::scaled_dot_product_attention",
         "f32[1,4,1,1]{1 1 1 1} f32[1,2,1,1]{1 2} f32[1,4,1,1]{1 2 3 4} None 0.0 false None true",
         "f32[1,4,1,1]{1 2 3 4}"},
        {"ctsc::attention_grouped",
         "f32[1,2,1,1]{1 1} f32[1,1,2,1,1]{1 2} f32[1,1,2,1,1]{3 4} [1,2,1,1] [1,2,1,1] None 0.0 "
         "false None",
         "f32[1,2,1,1]{3 4}"},
    };
    opcase_run(cases, sizeof cases / sizeof *cases);
}

/* ---- as programs write it -------------------------------------------------------------------- */

/* *t = op(*t, arguments after it) */
static void written_step(tensor **t, const char *op, int n, value *args) {
    args[0] = value_tensor_take(*t);
    tensor *next = opcase_made(op, n, args);
    tensor_unref(*t);
    *t = next;
}

/* ctsc::attention is what its operators make one after the other: of any dtype, with a scale that
 * is a number, a tensor of no dims, or of some. */
static void test_written(void **state) {
    (void)state;
    static const dtype dtypes[] = {DT_FLOAT32, DT_FLOAT16, DT_FLOAT64, DT_BFLOAT16};
    for (int turn = 0; turn < 200; turn++) {
        dtype dt = dtypes[heads_below(4)];
        float bound = dt == DT_BFLOAT16 ? 0x1p-7f : dt == DT_FLOAT16 ? 0x1p-10f : 2e-5f;
        int64_t batch = 1 + heads_below(2), heads = 1 + heads_below(3), rows = 1 + heads_below(40),
                keys = 1 + heads_below(50), depth = 1 + heads_below(40),
                width = 1 + heads_below(40);
        int64_t qs[4] = {batch, heads, rows, depth}, ks[4] = {batch, heads, depth, keys},
                vs[4] = {batch, heads, keys, width},
                some[4] = {1, heads_below(2) ? heads : 1, 1, 1};
        tensor *q = written_as(heads_tensor(qs, false), dt),
               *k = written_as(heads_tensor(ks, false), dt),
               *v = written_as(heads_tensor(vs, false), dt),
               *bias = heads_below(2) ? written_as(heads_mask(batch, heads, rows, keys), dt) : NULL,
               *hidden = heads_below(2) ? heads_hide(batch, heads, rows, keys) : NULL, *by = NULL;
        bool divide = heads_below(2);
        int64_t kind = heads_below(dtype_size(dt) == 2 ? 3 : 4); /* a tensor with dims promotes */
        if (kind > 1)
            assert_int_equal(tensor_new(NULL, heads_below(2) ? DT_FLOAT32 : DT_INT64,
                                        kind == 2 ? 0 : 4, some, &by),
                             CTSC_OK);
        for (int64_t i = 0; by && i < by->numel; i++)
            if (by->dtype == DT_INT64) TENSOR_AT(by, int64_t)[i] = 3;
            else TENSOR_AT(by, float)[i] = 2.5f;
        value scale = by     ? value_tensor_take(by)
                      : kind ? value_int(3)
                             : value_float(1.75),
              softmax = heads_below(2) ? value_int(DT_FLOAT32) : value_none(),
              weights = softmax.tag == V_INT ? value_int(dt) : value_none(),
              args[14] = {value_tensor_take(q),
                          value_tensor_take(k),
                          value_tensor_take(v),
                          bias ? value_tensor_take(bias) : value_none(),
                          hidden ? value_tensor_take(hidden) : value_none(),
                          value_float(-1e4),
                          scale,
                          value_bool(divide),
                          value_bool(false),
                          value_bool(false),
                          softmax,
                          weights,
                          value_none(),
                          value_none()};
        tensor *got = opcase_made("ctsc::attention", 14, args);
        /* of 16 bits one kernel is more exact than its steps */
        for (int i = 0; i < 4 && dtype_size(dt) == 2; i++) {
            if (args[i].tag != V_TENSOR) continue;
            args[i].u.tensor = *(i == 0   ? &q
                                 : i == 1 ? &k
                                 : i == 2 ? &v
                                          : &bias) = written_as(args[i].u.tensor, DT_FLOAT32);
        }
        tensor *want = opcase_made("aten::matmul", 2, args);
        const char *scaling = divide ? (by ? "aten::div.Tensor" : "aten::div.Scalar")
                                     : (by ? "aten::mul.Tensor" : "aten::mul.Scalar");
        written_step(&want, scaling, 2, (value[]){value_none(), scale});
        if (bias)
            written_step(&want, "aten::add.Tensor", 3,
                         (value[]){value_none(), args[3], value_int(1)});
        if (hidden)
            written_step(&want, "aten::masked_fill.Scalar", 3,
                         (value[]){value_none(), args[4], args[5]});
        written_step(&want, "aten::softmax.int", 3,
                     (value[]){value_none(), value_int(-1), softmax});
        if (dt == DT_FLOAT64) want = written_as(want, DT_FLOAT64);
        written_step(&want, "aten::matmul", 2, (value[]){value_none(), args[2]});
        assert_int_equal(got->dtype, dtype_size(dt) == 2 ? dt : want->dtype);
        got = written_as(got, DT_FLOAT32), want = written_as(want, DT_FLOAT32);
        for (int64_t i = 0; i < want->numel; i++) {
            float g = *heads_at(got, i / width / rows / heads, i / width / rows % heads,
                                i / width % rows, i % width),
                  w = TENSOR_AT(want, float)[i];
            if (!(fabsf(g - w) <= bound) && !(isnan(g) && isnan(w)))
                fail_msg("turn %d, element %lld: %g instead of %g", turn, (long long)i, g, w);
        }
        tensor *all[] = {q, k, v, bias, hidden, by, got, want};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) tensor_unref(all[i]);
    }
}

/* ctsc::attention that is given keys and values before they are repeated is the same. */
static void written_repeated_try(dtype dt, float bound) {
    int64_t batch = 1 + heads_below(2), heads = 1 + heads_below(3), group = 1 + heads_below(4),
            rows = 1 + heads_below(heads_below(2) ? 3 : 40), keys = 1 + heads_below(200),
            depth = 1 + heads_below(40), all = heads * group, qs[4] = {batch, all, rows, depth},
            ks[4] = {batch, heads, keys, depth},
            ms[2][4] = {{1, heads_below(2) ? all : 1, heads_below(2) ? rows : 1, keys},
                        {batch, heads_below(2) ? all : 1, 1, keys}},
            flat[4] = {batch, all, keys, depth};
    tensor *q = grouped_random(qs, dt), *k = grouped_random(ks, dt), *v = grouped_random(ks, dt),
           *bias = heads_below(2) ? written_as(heads_tensor(ms[0], false), dt) : NULL,
           *hidden = heads_below(2) ? written_as(heads_tensor(ms[1], false), DT_BOOL) : NULL,
           *wide[2] = {grouped_expanded(k, group), grouped_expanded(v, group)}, *own;
    if (heads_below(4) == 0) { /* nothing tells that they are repeated */
        assert_int_equal(tensor_clone(NULL, wide[0], &own), CTSC_OK);
        tensor_unref(wide[0]);
        wide[0] = own;
    }
    if (heads_below(2)) flat[heads_below(4)] = -1;
    bool narrow = heads_below(2);
    value sizes = grouped_ints(4, flat),
          args[14] = {value_tensor_take(q),
                      value_tensor_take(wide[0]),
                      value_tensor_take(wide[1]),
                      bias ? value_tensor_take(bias) : value_none(),
                      hidden ? value_tensor_take(hidden) : value_none(),
                      value_float(-1e4),
                      value_float(0.25),
                      value_bool(false),
                      value_bool(false),
                      value_bool(false),
                      narrow ? value_int(DT_FLOAT32) : value_none(),
                      narrow ? value_int(dt) : value_none(),
                      sizes,
                      sizes};
    tensor *got = opcase_made("ctsc::attention", 14, args), *repeated[3];
    for (int i = 0; i < 2; i++)
        repeated[i] = opcase_made("aten::reshape", 2, (value[]){args[1 + i], sizes});
    assert_int_equal(tensor_transpose(NULL, repeated[0], -2, -1, &repeated[2]), CTSC_OK);
    args[1] = value_tensor_take(repeated[2]), args[2] = value_tensor_take(repeated[1]);
    args[12] = args[13] = value_none();
    tensor *want = opcase_made("ctsc::attention", 14, args);
    grouped_check(got, want, bound);
    tensor *held[] = {q,   k,    v,           bias,        hidden,      wide[0],
                      got, want, repeated[0], repeated[1], repeated[2], wide[1]};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) tensor_unref(held[i]);
    value_unref(sizes);
}

static void test_written_repeated(void **state) {
    (void)state;
    for (int turn = 0; turn < 100; turn++) {
        written_repeated_try(DT_FLOAT32, 2e-5f);
        written_repeated_try(DT_FLOAT64, 1e-6f);
        written_repeated_try(DT_BFLOAT16, 0x1p-7f);
        written_repeated_try(DT_FLOAT16, 0x1p-10f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scaled_dot_product),
        cmocka_unit_test(test_multi_head),
        cmocka_unit_test(test_random_heads),
        cmocka_unit_test(test_random_heads_amx),
        cmocka_unit_test(test_grouped),
        cmocka_unit_test(test_grouped_refused),
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_written_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
