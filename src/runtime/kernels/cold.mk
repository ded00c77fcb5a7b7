# SPDX-License-Identifier: Apache-2.0
# Which files of this folder are compiled for size, not speed (build.mk).
COLD += $(addprefix src/runtime/kernels/, \
    collective/% create/create_range.c engine/nested.c linalg/% loss/% random/random_ops.c pool/fractional_pool.c rnn/rnn_pack.c rnn/rnn_prepacked.c \
    index/unique.c sparse/sparse_product.c sparse/sparse_weight.c vision/vision.c \
    $(addprefix fft/,fft_extra.c fft_plan.c spectral.c) \
    $(addprefix matmul/,einsum.c products.c) \
    $(addprefix pointwise/,erfinv.c pointwise_special.c scalar_eval.c) \
    $(addprefix quantised/quantized_,binary.c embedding.c other.c packed.c pool.c tensor.c unary.c) \
    $(addprefix reduce/,histogram% order_statistics.c reduce_complex.c reduce_linalg.c segment.c) \
    $(addprefix scalar/,complex.c string.c))
