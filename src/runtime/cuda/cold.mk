# SPDX-License-Identifier: Apache-2.0
# Which files of this folder are compiled for size, not speed (build.mk).
COLD += $(addprefix src/runtime/cuda/,along_dim.c blas.c $(addprefix cuda_,attention.c conv.c copy.c gemm.c index.c ops.c) dense.c \
    dnn.c one_op.c record.c resample.c sampling.c through_host.c)
