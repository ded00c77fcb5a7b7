# SPDX-License-Identifier: Apache-2.0
# Which files of this folder are compiled for size, not speed (build.mk).
COLD += $(addprefix src/runtime/,$(addsuffix /%,api archive code names observe ops program ptq safetensors save train) \
    $(addprefix autograd/grad_,capture.c meta.c pair.c program.c rules.c wanted.c) interp/fork.c)
HOT += $(addprefix src/runtime/,$(addprefix api/api_,container.c run.c value.c) ops/composite.c program/module_call.c \
    $(addprefix ptq/,ptq_measure.c range_observer.c) train/optimizer_loops.c)
COLD += src/runtime/meta/meta.c
