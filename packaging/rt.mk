# SPDX-License-Identifier: Apache-2.0
#
# rt.mk - the run-time library of programs that are compiled ahead of time (docs/aot.md, src/rt/rt_program.h).
#
#   make rt             libctsc-rt.a, libctsc-rt-more.a and libctsc-rt-cpu.a in $(BUILD)/rt/SET/, for each instruction set of the architecture: avx2 and
#                       avx512, or neon
#
# Its sources are operators of src/runtime/kernels and what they need, compiled once more: without threads, limits, devices, BLAS and texts of errors
# (-DCTSC_RT), for one instruction set. libctsc-rt.a walks a program's instructions and has the operators of most networks, libctsc-rt-more.a has further
# operators, libctsc-rt-cpu.a the micro-kernels of products and convolutions. The linker takes what a program uses.

RT_SETS_x86_64 := avx2 avx512
RT_SETS_aarch64 := neon
RT_SETS_arm64 := neon
RT_SETS := $(RT_SETS_$(ARCHITECTURE))
RT_FLAGS_avx2 := -march=x86-64-v3 -DRT_ISA=AVX2 -DRT_NAME=avx2
RT_FLAGS_avx512 := -march=x86-64-v3 -DRT_ISA=AVX512 -DRT_NAME=avx512
RT_FLAGS_neon := -mno-outline-atomics -DRT_ISA=NEON -DRT_NAME=neon

RT_K := src/runtime/kernels
rt_in = $(addprefix $(1)/,$(addsuffix .c,$(2)))
# The library proper; of these, what is compiled for speed rather than for size, and what has a section for each function.
RT_CORE := $(filter-out src/rt/rt_isa.c src/rt/rt_sort.c,$(wildcard src/rt/rt_*.c)) src/ir/op/op_strides.c $(call rt_in,src/codegen/lower/plan,group_guards group_bind) \
    $(call rt_in,src/tensor,tensor storage view strides copy iter dtype element promote value list dict equal) $(call rt_in,src/cpu/convert,half transpose) \
    $(call rt_in,$(RT_K)/engine,kernel epilogue move combine) $(call rt_in,$(RT_K)/shape,channels_last channels_place) \
    $(call rt_in,$(RT_K)/conv,conv conv_kernels conv_last conv_last_depthwise conv_rows conv_packed conv_together conv_winograd conv_transpose conv_depthwise) \
    $(call rt_in,$(RT_K)/matmul,gemm gemm_block packed_weights)
# Operators that many programs do without: all others but those that need LAPACK, random numbers, texts, or classes.
RT_MORE := src/rt/rt_sort.c src/runtime/ops/body_ops.c $(call rt_in,$(RT_K)/rnn,rnn rnn_pack rnn_prepacked) $(call rt_in,$(RT_K)/pool,pool adaptive_pool fractional_pool pool_last) \
    $(call rt_in,$(RT_K)/reduce,histogram order_statistics reduce reduce_complex reduce_linalg reduce_minmax reduce_norm reduce_sum scan segment) \
    $(call rt_in,$(RT_K)/nn,audio norm nn softmax) $(call rt_in,$(RT_K)/index,index masked pick scatter search select sort unique embedding) \
    $(call rt_in,$(RT_K)/engine,assert gather3 nested wide) $(call rt_in,$(RT_K)/shape,view_ops shape join rearrange pad image_slices) \
    $(call rt_in,$(RT_K)/vision,grid interpolate upsample upsample_bytes upsample_last vision) $(call rt_in,$(RT_K)/conv,conv_half deform_conv unfold) \
    $(call rt_in,$(RT_K)/matmul,distance einsum linear_half matmul matmul_add products) $(call rt_in,$(RT_K)/loss,loss loss_class loss_ctc) \
    $(call rt_in,$(RT_K)/attention,attention attention_core attention_few attention_tiles attention_online attention_unfused rotary scaled_dot_product) \
    $(call rt_in,$(RT_K)/create,create convert create_range) $(call rt_in,$(RT_K)/scalar,scalar complex container) \
    $(call rt_in,$(RT_K)/pointwise,erfinv pointwise pointwise_activation pointwise_binary pointwise_compare pointwise_special pointwise_ternary pointwise_unary) \
    $(call rt_in,$(RT_K)/fft,fft fft_engine fft_extra fft_plan spectral)
# Micro-kernels of a set.
RT_CPU_avx2 := src/rt/rt_isa.c $(call rt_in,src/cpu,gemm/gemm_pack gemm/gemm_avx2 gemm/widen conv/winograd_vector conv/depthwise_vector rows/activation_vector)
RT_CPU_avx512 := src/rt/rt_isa.c $(call rt_in,src/cpu,gemm/gemm_pack gemm/gemm_avx512 gemm/widen conv/winograd_vector conv/depthwise_vector rows/activation_vector)
RT_CPU_neon := src/rt/rt_isa.c $(call rt_in,src/cpu,gemm/gemm_pack gemm/gemm_neon gemm/widen_neon conv/winograd_neon conv/depthwise_neon rows/activation_neon)
RT_FAST := $(call rt_in,$(RT_K)/conv,conv_winograd) $(RT_K)/pool/pool_last.c $(RT_K)/nn/softmax.c $(RT_K)/attention/attention_tiles.c \
    $(call rt_in,src/codegen/lower/plan,group_guards group_bind) $(RT_K)/reduce/reduce_sum.c $(RT_K)/nn/norm.c $(RT_K)/rnn/rnn.c
RT_SECTIONS := $(RT_MORE)

# $(1): a set. Objects are in $(BUILD)/rt/SET/, named like their sources.
RT_CFLAGS = -std=c11 $(WARN) -g1 $(FOLDER) -Wno-unused -Wno-unused-parameter -fPIE -fvisibility=hidden -fno-strict-aliasing -fno-math-errno -ffp-contract=off -fno-trapping-math \
    -fno-unwind-tables -fno-asynchronous-unwind-tables -fno-ident -fno-stack-protector -fno-jump-tables -DCTSC_RT -include src/rt/rt_floor.h
ifeq ($(findstring clang,$(CC)),)
RT_CFLAGS += -fno-align-functions -fno-align-jumps -fno-align-loops
endif
rt_flags = $(RT_FLAGS_$(1)) $(if $(filter $(2),$(RT_FAST) $(RT_CPU_$(1))),-O2,-Os -DCTSC_RT_SMALL) \
    $(if $(filter $(2),$(RT_SECTIONS)),-ffunction-sections -fdata-sections)
rt_objects = $(patsubst %.c,$(BUILD)/rt/$(1)/%.o,$(2))
define rt_rules
$(BUILD)/rt/$(1)/%.o: %.c packaging/rt.mk
	@mkdir -p $$(@D)
	$$(call say,RT,$$@)
	$$(Q)$$(STEP)$$(CCACHE) $$(CC) $$(CPPFLAGS) $$(RT_CFLAGS) $$(call rt_flags,$(1),$$<) -MMD -MP -c $$< -o $$@
$(BUILD)/rt/$(1)/libctsc-rt.a: $(call rt_objects,$(1),$(RT_CORE))
$(BUILD)/rt/$(1)/libctsc-rt-more.a: $(call rt_objects,$(1),$(RT_MORE))
$(BUILD)/rt/$(1)/libctsc-rt-cpu.a: $(call rt_objects,$(1),$(RT_CPU_$(1)))
$(addprefix $(BUILD)/rt/$(1)/,libctsc-rt.a libctsc-rt-more.a libctsc-rt-cpu.a):
	$$(call say,AR,$$@)
	@rm -f $$@
	$$(Q)$$(STEP)$$(AR) rcsD $$@ $$^
rt: $(addprefix $(BUILD)/rt/$(1)/,libctsc-rt.a libctsc-rt-more.a libctsc-rt-cpu.a)
-include $(patsubst %.o,%.d,$(call rt_objects,$(1),$(RT_CORE) $(RT_MORE) $(RT_CPU_$(1))))
endef
$(foreach s,$(RT_SETS),$(eval $(call rt_rules,$(s))))

# The functions of operators in there, for the compiler (src/runtime/aot/aot_ops.c): of the first set, since all are made of the same sources. Before the
# empty line are those that multiply, which the library has for real floats alone; src/rt/rt_absent.c has stubs of others.
RT_FIRST := $(firstword $(RT_SETS))
RT_OPERATORS := $(if $(RT_FIRST),$(call rt_objects,$(RT_FIRST),$(RT_CORE) $(RT_MORE)))
RT_MULTIPLY := $(foreach r,attention conv matmul rnn,$(filter $(BUILD)/rt/$(RT_FIRST)/$(RT_K)/$(r)/%,$(RT_OPERATORS)))
rt_names = $(if $(RT_FIRST),$(NM) --defined-only $(1) | sed -n '/ op_quantized_/d; s/^[0-9a-f]* T \(op_[a-z0-9_]*\)$$/"\1\\0"/p' | sort -u;)
$(BUILD)/rt_ops.inc: $(RT_OPERATORS) packaging/rt.mk
	@mkdir -p $(@D)
	$(Q){ $(call rt_names,$(RT_MULTIPLY)) printf '"\\0"\n'; $(call rt_names,$(filter-out $(RT_MULTIPLY),$(RT_OPERATORS))) echo '""'; } > $@
NM ?= nm
$(BUILD)/src/runtime/aot/aot_ops.o: $(BUILD)/rt_ops.inc
$(BUILD)/src/runtime/aot/aot_ops.o: private CPPFLAGS += -I$(BUILD)
.PHONY: rt
