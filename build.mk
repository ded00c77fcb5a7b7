# SPDX-License-Identifier: Apache-2.0
#
# build.mk - how the library, the command, the examples and the server are built.
#
#   make                the library and the command, in build/; on a terminal, one line counts the steps
#   make examples       the programs of examples/
#   make jit            libctsc-jit.so, the compiler for kernels (LLVM 19)
#   make grpc           libctsc-grpc.so, gRPC for the server (libgrpc, libprotobuf-c)
#   make dist           libctsc-dist.so, collectives between processes, and libctsc-gloo.so, its engine on Gloo
#   make docs           docs/operators.md, from the tables of operators
#   make SAN=1 ...      with AddressSanitizer and UBSan, in build-asan/
#   make SAN=thread ... with ThreadSanitizer, in build-tsan/
#   make CC=clang-19    with another compiler
#   make ONNX=0         without ONNX (libprotobuf-c); left out by itself where that library is missing
#   make GRPC=0         without gRPC; left out by itself where libgrpc is missing
#   make LLVM=0         without the compiler for kernels; programs then run in the interpreter alone
#   make GLOO=0         without the engine on Gloo; left out by itself where that is missing
#   make V=1            shows the commands

CC := $(if $(filter default,$(origin CC)),cc,$(CC))
# V=1 shows the commands.
Q := $(if $(V),,@)
# A line for each step; or, where `all` has counted them (STEPS), one line that says which it is.
say = $(if $(STEPS),,@echo "  $1    $2")
STEP = $(if $(STEPS),scripts/build-step $(STEPS) $(BUILD)/.steps $@ )
# On a terminal steps are counted first.
COUNTS := $(if $(V),,$(MAKE_TERMOUT))
ifneq ($(STEPS),)
CFLAGS += -fdiagnostics-color=always
endif
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# How many jobs a make has that is called from here: those of -j, where that was given, which make would complain of being told again.
AT_ONCE = $$(case " $$MAKEFLAGS" in *" -j"*) ;; *) echo -j$(JOBS) ;; esac)
ARCHITECTURE ?= $(shell uname -m)
CCACHE := $(shell command -v ccache 2>/dev/null)
# -Wno-missing-field-initializers: table rows and {0} initialisers leave out what is zero on purpose.
# -Wdate-time: two builds of the same source give the same bytes.
WARN := -Wall -Wextra -Werror -Wno-missing-field-initializers -Wvla -Wpointer-arith -Wstrict-prototypes -Wdate-time
# Loops marked for vectorisation that clang does not vectorise are slower, not wrong.
ifneq ($(findstring clang,$(CC)),)
WARN += -Wno-pass-failed
endif
CPPFLAGS += -Iinclude -Isrc -D_GNU_SOURCE
# -ffp-contract=off: the same results whether or not the compiler may fuse a*b+c.
# Debug information calls the folder of the project `.`, wherever that is (make reproducible).
FOLDER := -ffile-prefix-map="$$PWD"=.
CFLAGS += -std=c11 $(OPT) -g $(FOLDER) $(WARN) -fPIC -fvisibility=hidden -fno-strict-aliasing -fno-math-errno \
          -ffp-contract=off $(if $(SAN),-fno-omit-frame-pointer) -fno-asynchronous-unwind-tables -pthread $(SANFLAGS)
# Loops are aligned; functions and jumps, which would add five percent to the library, are not.
ifeq ($(findstring clang,$(CC)),)
CFLAGS += -fno-align-functions -fno-align-jumps
endif
# Shadow stacks (x86-64): the code fits them without change, and the linker says so of the whole, which the C library's first objects do not always say.
# The other half of CET, marks where indirect calls may go, is left out: it adds 0.8 percent to the library, and Linux has no use for it in programs.
comma := ,
SHADOW := $(and $(filter x86_64,$(ARCHITECTURE)),$(if $(SANFLAGS),,1))
# Functions are bound at start, tables of them are read-only then, and no stack is executable; for all programs and shared libraries.
HARDENED := -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack $(if $(SHADOW),-Wl$(comma)-z$(comma)shstk)
LDFLAGS += -pthread $(SANFLAGS) $(HARDENED)
# Hardening. What costs nothing that can be measured is everywhere; canaries on the stack are where bytes of strangers are parsed
# and taken apart, not in kernels. Sanitizers look closer than all of it.
ifeq ($(SANFLAGS),)
CFLAGS += $(if $(filter x86_64 aarch64,$(ARCHITECTURE)),-fstack-clash-protection) $(if $(SHADOW),-fcf-protection=return) $(if $(filter -O0,$(OPT)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
CANARIES := cli sandbox serve view distributed base/text runtime/archive runtime/safetensors runtime/save \
    $(addprefix frontend/,syntax export onnx)
endif
# OpenBLAS and libc come first: the dynamic loader searches the libraries in this order, and nearly all symbols are theirs. That saves an eighth of
# the instructions from process start to main.
LDLIBS += -lopenblas -lc -lm $(ONNX_LIBS) -lzip -ljansson -lz -ldl

# What libctsc-jit.so is made of, and what clang turns into bitcode for it.
JIT_SRC := src/codegen/llvm/llvm_jit.c src/codegen/llvm/scalar_bitcode_data.c
BITCODE_SRC := src/codegen/llvm/scalar_bitcode.c
# What libctsc-dist.so is made of (src/distributed/dist.h).
DIST_SRC := $(wildcard src/distributed/*.c)
DIST_OBJ := $(DIST_SRC:%.c=$(BUILD)/%.o)
LIB_SRC := $(filter-out $(JIT_SRC) $(BITCODE_SRC) $(DIST_SRC) src/cli/% src/serve/% src/view/% src/sandbox/% src/rt/%,$(sort $(shell find src/ -name '*.c')))
CLI_SRC := $(wildcard src/cli/*.c src/cli/*/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o)
# Models of ONNX: messages that protoc-c makes C of, read and written by libprotobuf-c.
ONNX ?= 1
ifneq ($(ONNX),0)
PROTOC_C ?= $(shell pkg-config --exists libprotobuf-c 2>/dev/null && command -v protoc-c 2>/dev/null)
endif
ifneq ($(PROTOC_C),)
ONNX_LIBS := -lprotobuf-c
ONNX_DIR := $(BUILD)/onnx
LIB_OBJ += $(ONNX_DIR)/onnx.pb-c.o
$(ONNX_DIR)/onnx.pb-c.h: src/frontend/onnx/onnx.proto
	@mkdir -p $(@D)
	$(Q)$(PROTOC_C) --proto_path=$(<D) --c_out=$(ONNX_DIR) $(<F)
$(ONNX_DIR)/onnx.pb-c.o: $(ONNX_DIR)/onnx.pb-c.h
	$(call say,CC,$(ONNX_DIR)/onnx.pb-c.c)
	$(Q)$(STEP)$(CCACHE) $(CC) $(CFLAGS) -Os -w -c $(ONNX_DIR)/onnx.pb-c.c -o $@
$(patsubst %.c,$(BUILD)/%.o,$(wildcard src/frontend/onnx/*.c)): private CPPFLAGS += -I$(ONNX_DIR)
$(patsubst %.c,$(BUILD)/%.o,$(wildcard src/frontend/onnx/*.c)): | $(ONNX_DIR)/onnx.pb-c.h
$(BUILD)/src/runtime/program/onnx_module.o $(BUILD)/src/runtime/save/save_onnx.o: private CPPFLAGS += -DCTSC_ONNX
else
LIB_SRC := $(filter-out src/frontend/onnx/%,$(LIB_SRC))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
endif

# The inference server: a part of the command, which alone needs libmicrohttpd.
SERVE_SRC := $(wildcard src/serve/*.c src/serve/isolate/*.c)
SERVE_OBJ := $(SERVE_SRC:%.c=$(BUILD)/%.o)
# gRPC for the server: a separate library that ctsc opens on request (--grpc).
GRPC ?= 1
ifneq ($(GRPC),0)
ifneq ($(and $(PROTOC_C),$(shell pkg-config --exists grpc_unsecure 2>/dev/null && echo 1)),)
GRPC_LIB := $(BUILD)/libctsc-grpc.so
endif
endif
# Pages that draw graphs, for the command and the server.
VIEW_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard src/view/*.c))

# The compiler for kernels: LLVM 19, in a library of its own that ctsc opens when it needs it.
LLVM ?= 1
ifneq ($(LLVM),0)
LLVM_CONFIG ?= $(shell command -v llvm-config-19 2>/dev/null)
LLVM_CLANG ?= $(shell command -v clang-19 2>/dev/null)
ifneq ($(and $(LLVM_CONFIG),$(LLVM_CLANG)),)
JIT := $(BUILD)/libctsc-jit.so
endif
endif

# Collectives between processes: a library of their own, and one with Gloo, which is C++.
DIST_LIBS := $(BUILD)/libctsc-dist.so
GLOO ?= $(wildcard /usr/include/gloo/context.h /usr/local/include/gloo/context.h)
CXX := $(if $(filter default,$(origin CXX)),c++,$(CXX))
ifneq ($(and $(filter-out 0,$(GLOO)),$(shell command -v $(CXX) 2>/dev/null)),)
DIST_LIBS += $(BUILD)/libctsc-gloo.so
endif

all: deps-build
ifeq ($(COUNTS),)
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all
else
	@rm -f $(BUILD)/.steps; steps=$$($(MAKE) --no-print-directory -n STEPS=1 build-all 2>/dev/null | grep -c '^scripts/build-step'); \
	$(MAKE) --no-print-directory $(AT_ONCE) STEPS="$$steps" build-all; code=$$?; printf '\r\033[K'; exit $$code
endif
build-all: $(BUILD)/libctsc.a $(BUILD)/ctsc jit dist $(GRPC_LIB)
# Goals beside `all` want the same files, which another make builds.
ifneq ($(filter all,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif
$(foreach d,$(CANARIES),$(BUILD)/src/$(d)/%.o): private CFLAGS += -fstack-protector-strong
ifeq ($(SAN),)
# Compiled for size: what runs once per program and not once per call of an operator, what asks devices and other libraries for work, and operators that
# spend their time in few elements or in functions of libm. Each function is a section, so that shared libraries are without those that nobody calls. Each folder lists its own (COLD), with exceptions (HOT), in its cold.mk.
include $(wildcard src/*/cold.mk src/runtime/*/cold.mk)
$(patsubst %.c,$(BUILD)/%.o,$(filter-out $(HOT),$(filter $(COLD),$(LIB_SRC)))): OPT := -Os -ffunction-sections
endif

# Micro-kernels are written with as many sums as there are registers: loads that GCC moves up, as it does for ARM64, would displace some.
ifeq ($(findstring clang,$(CC)),)
$(patsubst %.c,$(BUILD)/%.o,$(filter src/cpu/%_neon.c,$(LIB_SRC))): private CFLAGS += -fno-schedule-insns
endif

# ?: become selects, as vector code needs it (cpu/vector.h). No result changes.
$(patsubst %.c,$(BUILD)/%.o,$(filter src/cpu/% src/runtime/kernels/% src/tensor/copy.c,$(LIB_SRC))): private CFLAGS += -fno-trapping-math

$(BUILD)/%.o: %.c build.mk
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(STEP)$(CCACHE) $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# Texts that the assembler takes in with EMBED (base/text/embed.h), compressed; the compiler's dependency output does not see them.
PRELUDE := $(shell find src/frontend/prelude -name '*.py')
CUDA_TEXTS := $(wildcard src/runtime/cuda/kernels/* src/ir/scalar/scalar_ops*.h src/ir/scalar/scalar_activation.h src/codegen/cuda/nest_c*.h src/runtime/kernels/vision/*.h) \
    src/codegen/cuda/nvrtc_stdint.h src/runtime/kernels/engine/dense_params.h src/tensor/element.h
EMBED_SCHEMAS := $(addprefix $(BUILD)/,src/ir/op/op.o src/ir/op/op_family.o tests/unit/test_schema tests/unit/test_embed)
EMBED_PRELUDE := $(addprefix $(BUILD)/,$(addprefix src/,frontend/codeload/upgraders.o frontend/codeload/builtin_functions.o frontend/pyeval/core/prelude.o runtime/program/native_classes.o runtime/ops/composite_texts.o) tests/unit/test_embed)
EMBED_CUDA := $(BUILD)/src/codegen/cuda/cuda_headers.o $(patsubst %.c,$(BUILD)/%.o,$(wildcard src/runtime/cuda/*.c))
$(EMBED_SCHEMAS) $(EMBED_PRELUDE) $(EMBED_CUDA): private CPPFLAGS += -Wa,-I$(BUILD)/embedded
$(EMBED_SCHEMAS): $(addprefix $(BUILD)/embedded/src/ir/op/,schemas.txt.gz schemas_2.txt.gz families.txt.gz)
$(EMBED_PRELUDE): $(PRELUDE:%=$(BUILD)/embedded/%.gz)
$(BUILD)/src/runtime/ops/composite_texts.o: $(BUILD)/embedded/src/runtime/ops/composite.index.gz
$(EMBED_CUDA): $(CUDA_TEXTS:%=$(BUILD)/embedded/%.gz)
$(BUILD)/embedded/%.gz: % scripts/embed scripts/deflate
	@mkdir -p $(@D)
	$(Q)scripts/embed $< | scripts/deflate > $@

# Which functions the files of operators define: those that composite.def lists.
$(BUILD)/embedded/src/runtime/ops/composite.index.gz: src/runtime/ops/composite.def $(PRELUDE) scripts/embed scripts/deflate
	@mkdir -p $(@D)
	$(Q)scripts/embed --functions src/frontend/prelude $$(sed -n 's/^COMPOSITE_FILE("\(.*\)")$$/\1/p' $<) | scripts/deflate > $@

$(BUILD)/libctsc.a: $(LIB_OBJ)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(STEP)$(AR) rcsD $@ $^

$(BUILD)/libserve.a: $(SERVE_OBJ)
	@rm -f $@
	$(Q)$(AR) rcsD $@ $^
$(BUILD)/src/serve/page.o: src/serve/page.html src/serve/docs.html src/serve/openapi.json

$(BUILD)/libsandbox.a: $(patsubst %.c,$(BUILD)/%.o,$(wildcard src/sandbox/*.c))
	@rm -f $@
	$(Q)$(AR) rcsD $@ $^

$(BUILD)/src/cli/zoo/zoo_examples.o: $(wildcard examples/models/*.py)

$(BUILD)/libview.a: $(VIEW_OBJ)
	@rm -f $@
	$(Q)$(AR) rcsD $@ $^
$(BUILD)/src/view/view_texts.o: $(wildcard src/view/*.html src/view/*.css src/view/*.js)

# Relocations in a form that takes a tenth of the place, which ld has on x86.
RELOCS := $(if $(or $(SAN),$(filter-out x86_64,$(ARCHITECTURE))),,-Wl,-z,pack-relative-relocs)

# Libraries with operators (--load-library) find the public functions in the command.
EXPORT := -Wl,--export-dynamic-symbol=ctsc_*
# What the command consists of beside libctsc.a.
CLI_PARTS := $(CLI_OBJ) $(BUILD)/libserve.a $(BUILD)/libview.a $(BUILD)/libsandbox.a
$(BUILD)/ctsc: $(CLI_PARTS) $(BUILD)/libctsc.a
	$(call say,LD,$@)
	$(Q)$(STEP)$(CC) $(LDFLAGS) -o $@ $(CLI_PARTS) -Wl,--whole-archive $(BUILD)/libctsc.a -Wl,--no-whole-archive $(EXPORT) \
	    $(RELOCS) $(LDLIBS) -lmicrohttpd -lpng -lturbojpeg

ifneq ($(JIT),)
jit: $(JIT)
$(BUILD)/scalar_ops.bc: $(BITCODE_SRC) build.mk
	@mkdir -p $(BUILD)/src/codegen/llvm
	$(call say,BC,$<)
	$(Q)$(STEP)$(LLVM_CLANG) $(CPPFLAGS) -std=c11 -O2 -fPIC -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -fno-math-errno \
	    -ffp-contract=off -fno-strict-aliasing -MMD -MP -MF $(BUILD)/src/codegen/llvm/scalar_bitcode.d -MT $@ -emit-llvm -c $< -o $@
# The hash makes objects on disk that another build left stale.
$(JIT): $(JIT_SRC) $(BUILD)/scalar_ops.bc src/codegen/llvm/jit.h src/codegen/llvm/kernel_symbols.def build.mk
	$(call say,LD,$@)
	$(Q)$(STEP)$(CC) $(CPPFLAGS) $(CFLAGS) -I$$($(LLVM_CONFIG) --includedir) -DBITCODE_FILE='"$(BUILD)/scalar_ops.bc"' \
	    -DLLVM_VERSION_TEXT='"'$$($(LLVM_CONFIG) --version)'"' \
	    -DJIT_SOURCE_HASH='"'$$(cat $(BUILD)/scalar_ops.bc src/codegen/llvm/llvm_jit.c | cksum | tr ' ' '-')'"' \
	    -shared -o $@ $(JIT_SRC) $(LDFLAGS) $$($(LLVM_CONFIG) --ldflags --link-shared --libs core orcjit native) -lm
-include $(BUILD)/src/codegen/llvm/scalar_bitcode.d
else
jit:
	@echo "ctsc: building without the compiler for kernels ($(if $(filter 0,$(LLVM)),LLVM=0,no llvm-config-19 and clang-19 here))"
endif

GRPC_DIR := $(BUILD)/grpc
GRPC_SRC := $(sort $(wildcard src/serve/grpc/*.c))
GRPC_OBJ := $(GRPC_SRC:%.c=$(BUILD)/%.o)
$(GRPC_DIR)/inference.pb-c.h: src/serve/grpc/inference.proto
	@mkdir -p $(@D)
	$(Q)$(PROTOC_C) --proto_path=$(<D) --c_out=$(GRPC_DIR) $(<F)
$(GRPC_DIR)/inference.pb-c.o: $(GRPC_DIR)/inference.pb-c.h
	$(call say,CC,$(GRPC_DIR)/inference.pb-c.c)
	$(Q)$(STEP)$(CCACHE) $(CC) $(CFLAGS) -Os -w -c $(GRPC_DIR)/inference.pb-c.c -o $@
$(GRPC_OBJ): private CPPFLAGS += -I$(GRPC_DIR)
$(GRPC_OBJ): | $(GRPC_DIR)/inference.pb-c.h
# It finds ctsc.h's functions in the command.
$(BUILD)/libctsc-grpc.so: $(GRPC_OBJ) $(GRPC_DIR)/inference.pb-c.o $(addprefix $(BUILD)/src/serve/,buffer.o number.o config.o)
	$(call say,LD,$@)
	$(Q)$(STEP)$(CC) -shared -o $@ $^ $(LDFLAGS) -Wl,--as-needed -lgrpc_unsecure -lgpr -lprotobuf-c -ljansson -lm
ifneq ($(GRPC_LIB),)
grpc: $(BUILD)/ctsc $(GRPC_LIB)
else
grpc:
	@echo "ctsc: there is no gRPC library here (Debian: libgrpc-dev libprotobuf-c-dev protobuf-c-compiler pkg-config)" >&2; exit 6
endif

# What the header declares is what is exported. Of libctsc it has the conversions of 16-bit floats.
$(BUILD)/libctsc-dist.map: include/ctsc_dist.h build.mk
	@mkdir -p $(@D)
	$(Q){ echo "{ global:"; grep -o '\bctsc_dist_[a-z0-9_]*(' $< | tr '(' ';' | sort -u; echo "local: *; };"; } > $@
$(BUILD)/libctsc-dist.so: $(DIST_OBJ) $(BUILD)/libctsc.a $(BUILD)/libctsc-dist.map
	$(call say,LD,$@)
	$(Q)$(STEP)$(CC) -shared -o $@ $(DIST_OBJ) $(BUILD)/libctsc.a -Wl,-soname,$(@F) -Wl,--version-script=$(BUILD)/libctsc-dist.map -Wl,-z,defs \
	    -Wl,--gc-sections -Wl,-rpath,'$$ORIGIN' $(LDFLAGS) -ldl
$(BUILD)/libctsc-gloo.so: src/distributed/gloo_engine.cc src/distributed/engine.h build.mk
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(STEP)$(CCACHE) $(CXX) -std=c++17 $(OPT) -g $(FOLDER) $(if $(SHADOW),-fcf-protection=return) -Isrc -fPIC -fvisibility=hidden -Wall -Wextra -Werror -Wno-unused-parameter -pthread -c $< -o $(BUILD)/gloo_engine.o
	$(Q)$(CXX) -shared -o $@ $(BUILD)/gloo_engine.o -Wl,-soname,$(@F) $(LDFLAGS) -lgloo
dist: $(DIST_LIBS)

# Programs that use parts of the library without its public interface, which would draw in what the parts ask of the runtime.
PARTS := -Wl,-u,registry_install $(BUILD)/libctsc.a

# Programs against ctsc.h alone.
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/examples/%,$(wildcard examples/*.c))
$(BUILD)/examples/%: examples/%.c include/ctsc.h $(BUILD)/libctsc.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(STEP)$(CC) -Iinclude $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libctsc.a $(LDLIBS)
$(BUILD)/examples/server: LDLIBS += -lmicrohttpd
# Operators of a program's own, in a shared library.
PLUGINS := $(patsubst examples/custom_op/%.c,$(BUILD)/examples/custom_op/lib%.so,$(wildcard examples/custom_op/*.c))
$(BUILD)/examples/custom_op/lib%.so: examples/custom_op/%.c include/ctsc.h
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(STEP)$(CC) -Iinclude $(CFLAGS) -shared -o $@ $< $(LDFLAGS) -lm
examples: $(EXAMPLES) $(PLUGINS)

demo: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all $(BUILD)/examples/demo
	@$(BUILD)/examples/demo models

# docs/operators.md; tests/run.py (group docs) says when it is stale.
docs: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all
	@$(BUILD)/ctsc ops --markdown > docs/operators.md.new && mv docs/operators.md.new docs/operators.md

# Missing packages are installed first (a stamp per set keeps later runs from asking again).
deps-build: $(BUILD)/.deps-build
deps-test: $(BUILD)/.deps-test
$(BUILD)/.deps-%: scripts/install-deps
	@scripts/install-deps $(if $(filter build0,$*$(LLVM)),core,$*)
	@mkdir -p $(@D) && touch $@

.PHONY: all build-all jit dist grpc examples demo docs deps-build deps-test
