/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops_core_aten.c - ctsc ops --coverage --core-aten: which operators of core ATen are supported, the set that run_decompositions() of torch.export leaves.
 *
 * The list is that of PyTorch 2.15: overloads tagged torch.Tag.core. Tests: tests/cli/ops.test
 */
#include "cli/ops.h"
#include "ctsc_compiler.h"

#include <string.h>

static const char *const core_aten[] = {
    "_adaptive_avg_pool2d", "_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d", "_cdist_forward", "_embedding_bag", "_fft_c2r", "_fft_r2c", "_local_scalar_dense",
    "_log_softmax", "_native_batch_norm_legit", "_native_batch_norm_legit.no_stats", "_native_batch_norm_legit_no_training", "_pdist_forward", "_softmax",
    "_to_copy", "abs", "acos", "acosh", "add.Scalar", "add.Tensor", "addmm", "alias", "amax", "amin", "any", "any.dim", "any.dims", "arange.start_step", "argmax", "argmin", "as_strided", "asin",
    "asinh", "atan", "atan2", "atan2.out", "atanh", "avg_pool2d", "avg_pool2d_backward", "avg_pool3d", "bitwise_and.Scalar", "bitwise_and.Tensor", "bitwise_not",
    "bitwise_or.Scalar", "bitwise_or.Tensor", "bitwise_xor.Scalar", "bitwise_xor.Tensor", "bmm", "cat", "ceil", "clamp", "clamp.Tensor", "clone", "col2im", "constant_pad_nd",
    "convolution", "convolution_backward", "copy", "cos", "cosh", "cumsum", "diagonal", "div.Scalar", "div.Scalar_mode", "div.Tensor", "div.Tensor_mode", "elu", "embedding",
    "embedding_dense_backward", "empty.memory_format", "empty_strided", "eq.Scalar", "eq.Tensor", "erf", "exp", "expand", "expm1", "fill.Scalar", "flip", "floor", "fmod.Scalar",
    "fmod.Tensor", "full", "full_like", "gather", "ge.Scalar", "ge.Tensor", "gelu", "grid_sampler_2d", "gt.Scalar", "gt.Tensor", "hardtanh", "index.Tensor", "index_put", "index_select",
    "isinf", "isnan", "le.Scalar", "le.Tensor", "leaky_relu", "log", "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or", "logical_xor", "lt.Scalar", "lt.Tensor",
    "masked_scatter", "max.dim", "max_pool2d_with_indices", "max_pool2d_with_indices_backward", "max_pool3d_with_indices", "maximum", "mean", "mean.dim", "min.dim",
    "minimum", "mm", "mul.Scalar", "mul.Tensor", "native_dropout", "native_group_norm", "native_group_norm_backward", "native_layer_norm", "native_layer_norm_backward",
    "ne.Scalar", "ne.Tensor", "neg", "nonzero", "permute", "pow.Scalar", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "prod", "prod.dim_int", "rand", "randn", "randperm", "reciprocal",
    "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "relu", "remainder.Scalar", "remainder.Tensor", "repeat", "replication_pad2d", "replication_pad3d", "round",
    "rsqrt", "scalar_tensor", "scatter.src", "scatter.value", "scatter_add", "scatter_reduce.two", "select.int", "select_scatter", "sigmoid", "sign", "sin", "sinh", "slice.Tensor",
    "slice_scatter", "sort", "split_with_sizes", "sqrt", "squeeze.dim", "squeeze.dims", "sub.Scalar", "sub.Tensor", "sum.dim_IntList", "sym_numel", "sym_size.int",
    "sym_storage_offset", "sym_stride.int", "tan", "tanh", "topk", "trunc", "unsqueeze", "upsample_bilinear2d.vec", "upsample_nearest2d.vec", "var.correction", "var.dim", "view",
    "where.self",
};
enum { CORE_ATEN = sizeof core_aten / sizeof *core_aten };

static void core_aten_visit(void *ctx, const ctsc_operator_detail *o) {
    bool *have = ctx;
    if (!o->supported || strncmp(o->key, "aten::", 6)) return;
    for (int i = 0; i < CORE_ATEN; i++)
        if (!strcmp(core_aten[i], o->key + 6)) have[i] = true;
}

int ops_core_aten(bool json) {
    bool have[CORE_ATEN] = {false};
    int count = 0;
    ctsc_operator_details(core_aten_visit, have);
    for (int i = 0; i < CORE_ATEN; i++) count += have[i];
    if (json) {
        json_t *missing = json_array();
        for (int i = 0; i < CORE_ATEN; i++)
            if (!have[i]) json_array_append_new(missing, json_string(core_aten[i]));
        return cli_print_json(json_pack("{s:i, s:i, s:o}", "supported", count, "all", (int)CORE_ATEN, "missing", missing));
    }
    printf("core ATen (PyTorch 2.15): %d of %d, %.1f %%\n", count, (int)CORE_ATEN, 100.0 * count / CORE_ATEN);
    if (count < CORE_ATEN) printf("\nmissing:\n");
    for (int i = 0; i < CORE_ATEN; i++)
        if (!have[i]) printf("    aten::%s\n", core_aten[i]);
    return 0;
}
