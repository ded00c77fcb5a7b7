# SPDX-License-Identifier: Apache-2.0
#
# without.mk - the shared library with fewer parts (docs/install.md).
#
#   make shared WITHOUT="onnx python"   libctsc.so without these parts, in build-without/: onnx training python quantised spectral linalg loss vision random
#                       export cuda avx512
#   make test-without   the smallest one, built and used (tests/without)
#
# Objects of a part are left out of the link. Their operators are answered by one function per part, which says so; functions of ctsc.h that are in them are
# not there, and a program that calls one does not link. The command and libctsc.a are always whole.

WITHOUT_PARTS := onnx training python quantised spectral linalg loss vision random export cuda avx512
# Optimisers belong to what module-level Python can use.
WITHOUT_NOW := $(sort $(WITHOUT) $(if $(filter training,$(WITHOUT)),python))
ifneq ($(filter-out $(WITHOUT_PARTS),$(WITHOUT)),)
$(error WITHOUT: no part '$(filter-out $(WITHOUT_PARTS),$(WITHOUT))'; there are $(WITHOUT_PARTS))
endif
PART_onnx := src/frontend/onnx/%
PART_training := $(addprefix src/runtime/train/,clip.o lbfgs.o loader.o optimizer% schedules.o) src/runtime/api/api_optimizer.o
PART_python := $(addprefix src/frontend/,pyeval/% program/% trace/%) $(addprefix src/runtime/api/api_,call.o compile.o compile_training.o trace.o trace_check.o) \
    src/runtime/program/trace_check.o
PART_quantised := src/runtime/kernels/quantised/% src/runtime/ptq/% src/passes/quantise/% src/runtime/api/api_quantize.o
PART_spectral := src/runtime/kernels/fft/%
PART_linalg := src/runtime/kernels/linalg/%
PART_loss := src/runtime/kernels/loss/%
PART_vision := src/runtime/kernels/vision/%
PART_random := src/runtime/kernels/random/%
# ONNX has modules as these have.
PART_export := $(patsubst %.c,%.o,$(filter-out src/frontend/export/ep_module.c,$(wildcard src/frontend/export/*.c)))
PART_cuda := src/cuda/% src/runtime/cuda/% src/codegen/cuda/% src/runtime/observe/graph_kernels_cuda.o
PART_avx512 := $(addprefix src/cpu/,gemm/gemm_avx512.o gemm/nbits_avx512.o quad/bf16_avx512.o quad/bf16_amx.o quad/bytes_avx512.o quad/bytes_amx.o)
ifneq ($(WITHOUT_NOW),)
BUILD ?= build-without
ifneq ($(filter onnx,$(WITHOUT_NOW)),)
ONNX := 0
endif
endif
# $(1): objects; those of the part $(2).
without_of = $(filter $(addprefix $(BUILD)/,$(PART_$(2))),$(1))
without_all = $(foreach p,$(WITHOUT_NOW),$(call without_of,$(1),$(p)))

test-without:
	@$(MAKE) --no-print-directory -j$(JOBS) shared WITHOUT="$(WITHOUT_PARTS)" BUILD=build-without
	@python3 tests/without/without.py --build build-without
.PHONY: test-without
