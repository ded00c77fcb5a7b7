# SPDX-License-Identifier: Apache-2.0
#
# cross.mk - the library and the command for other processors, and their tests under QEMU (docs/arm64.md).
#
#   make cross ARCH=arm64     the library, the command and the demo in build-arm64/; also riscv64
#   make cross CROSS_LLVM=1   that, and libctsc-jit.so, the compiler for kernels
#   make test-arm64           the tests there, under QEMU, of a processor with everything and of a Cortex-A53 (ARM_TESTS=groups for one of both)
#   make test-cross ARCH=...  the one-minute test of make check for another architecture (CROSS_TESTS=groups)
#   make arm64-report         of each kernel's loop what LLVM's models of processors say (llvm-mca-19, of Debian's package llvm-19)

ARCH ?= arm64
TRIPLET_arm64 := aarch64-linux-gnu
TRIPLET_riscv64 := riscv64-linux-gnu
QEMU_arm64 := qemu-aarch64
QEMU_riscv64 := qemu-riscv64
CROSS := build-$(ARCH)
SYSROOT = $(CURDIR)/$(CROSS)/sysroot
# The compiler for kernels, with LLVM of that architecture.
CROSS_LLVM ?= 0
ifneq ($(CROSS_LLVM),0)
CROSS_JIT = LLVM_CONFIG="scripts/cross-llvm-config $(SYSROOT)" LLVM_CLANG="clang-19 --target=$(TRIPLET_$(ARCH)) --sysroot=$(SYSROOT)"
CROSS_DONE := $(CROSS)/sysroot.llvm.done
else
CROSS_JIT = LLVM=0
CROSS_DONE := $(CROSS)/sysroot.done
endif
CROSS_MAKE = $(MAKE) --no-print-directory $(AT_ONCE) BUILD=$(CROSS) ARCHITECTURE=$(ARCH) CC="$(TRIPLET_$(ARCH))-gcc --sysroot=$(SYSROOT)" \
    AR=$(TRIPLET_$(ARCH))-ar GRPC=0 $(CROSS_JIT)

cross: $(CROSS_DONE)
	@$(CROSS_MAKE) build-all rt $(CROSS)/examples/demo
# One with LLVM serves both.
$(CROSS)/sysroot.done $(CROSS)/sysroot.llvm.done: scripts/cross-sysroot
	@scripts/install-deps cross-$(ARCH)
	@mkdir -p $(CROSS)
	@scripts/cross-sysroot $(ARCH) $(CROSS)/sysroot $(if $(findstring llvm,$@),llvm)
	@touch $(CROSS)/sysroot.done $@

# Programs of the build folder that run under QEMU, for tests/run.py: build-arm64/qemu is like a build folder. QEMU_CPU names the processor.
EMULATED = $(CROSS)/qemu
emulated: $(CROSS_DONE)
	@$(CROSS_MAKE) build-all rt unit $(CROSS)/examples/demo $(CROSS)/examples/trace $(CROSS)/examples/train $(CROSS)/threads
	@for p in ctsc threads examples/demo examples/trace examples/train $(UNIT_SRC:tests/unit/%.c=tests/unit/%); do \
	    mkdir -p $(EMULATED)/$$(dirname $$p) && \
	    printf '#!/bin/sh\nexec $(QEMU_$(ARCH)) -L "$(SYSROOT)" "$(CURDIR)/$(CROSS)/%s" "$$@"\n' $$p > $(EMULATED)/$$p && chmod +x $(EMULATED)/$$p; done

# What of the tests is different on another processor, as far as QEMU takes a few minutes for it. Left out are those that compare with long loops in
# plain C, or train (ARM_TESTS=unit,train runs them), those of the server that measure time or start compilers, and CUDA.
ARM_KERNELS := archive+conv_last_depthwise+epilogue+gemm_block+isa+nbits+quantized_plain+tensor+transpose
ARM_TESTS ?=
test-arm64:
	@$(MAKE) --no-print-directory emulated ARCH=arm64
ifneq ($(ARM_TESTS),)
	@QEMU_CPU=max python3 tests/run.py --build build-arm64/qemu --only "$(ARM_TESTS)"
	@QEMU_CPU=cortex-a53 python3 tests/run.py --build build-arm64/qemu --only "$(ARM_TESTS)"
else
	@QEMU_CPU=max python3 tests/run.py --build build-arm64/qemu --only "unit:$(ARM_KERNELS),corpus,demo,trace"
	@QEMU_CPU=max python3 tests/serve/client.py --ctsc build-arm64/qemu/ctsc --only test_infer
	@QEMU_CPU=cortex-a53 python3 tests/run.py --build build-arm64/qemu --only "unit:isa+epilogue+quantized_plain,corpus,demo"
	@if [ -e build-arm64/libctsc-jit.so ]; then QEMU_CPU=cortex-a53 python3 tests/aot/aot.py --build $(BUILD) --arm64 build-arm64; \
	    else echo "aot: no libctsc-jit.so for arm64 (CROSS_LLVM=1): not compared"; fi
endif

CROSS_TESTS ?= check
test-cross: emulated
	@python3 tests/run.py --build $(EMULATED) --only "$(CROSS_TESTS)"

arm64-report:
	@$(MAKE) --no-print-directory cross ARCH=arm64
	@python3 bench/arm64.py --build build-arm64

.PHONY: cross emulated test-arm64 test-cross arm64-report
