# SPDX-License-Identifier: Apache-2.0
#
# ctsc's build. The two commands a newcomer needs:
#
#     make demo     builds, then lets two trained models run
#     make test     builds and runs every test
#
# Both install what is missing first (scripts/install-deps, Debian packages).
#
#   make                the library and the command, in build/
#   make SAN=1 ...      with AddressSanitizer and UBSan, in build-asan/
#   make SAN=thread ... with ThreadSanitizer, in build-tsan/
#   make CC=clang-19    with another compiler
#   make ONNX=0         without models of ONNX (libprotobuf-c); left out by itself where that is not there
#   make LLVM=0         without the compiler for kernels (libctsc-jit.so); programs then run in the interpreter alone
#   make bench          the benchmark suite, with PyTorch and ONNX Runtime in the same run where they are installed
#   make bench-cuda     on a CUDA device, against its limits, and PyTorch where it is installed (TORCH_PYTHON=)
#   make bench-ops      single operators, with PyTorch in the same run where it is installed (OPS="--only sort")
#   make bench-nets     whole networks against PyTorch, ONNX Runtime and OpenVINO, into docs/bench-nets.md (NETS="--only resnet --threads 1", PEERS=, CPU=avx2)
#   make bench-memory   what these take in memory, into docs/bench-memory.md (NETS=, PEERS=)
#   make bench-narrow   models in bfloat16, float16, int8 and int4 against every peer that is there, into docs/bench-narrow.md (NARROW="--only qwen3", NARROW_PYTHON=)
#   make bench-quantised  networks quantised by PyTorch against ONNX Runtime's int8 (QUANTISED="--only resnet18", PEERS=)
#   make format         sets the C files as .clang-format and scripts/format say (clang-format-19); make check-format fails where they are not so set
#   make docs           docs/operators.md, from the tables of operators
#   make python         the Python package in build/python; make wheel: dist/ctsc-*.whl (docs/python.md, python/python.mk)
#   make install        PREFIX=/usr/local DESTDIR= (packaging/install.mk says what goes where); make shared: libctsc.so alone
#   make bench-load     load and run times of a model (MODEL=, INPUTS=)
#   make bench-coldstart  from process start to the result of one call, and memory (COLDSTART=)
#   make bench-kernels  speed of generated code against memcpy
#   make bench-gemm     speed of matrix products against OpenBLAS
#   make bench-quads    speed of products of bfloat16 and of bytes, by each set of kernels
#   make bench-optimizers  a step of each optimiser against memcpy
#   make test-levels    every program at every level of optimisation
#   make test-grad      derivatives against finite differences (GRAD=GLOB: only calls that match)
#   make test-machines  the tests as on other machines: processors, OpenBLAS kernels, users, folders, locales (MACHINES=all or NAME,NAME)
#   make diff           random graphs at different levels, for long (DIFF_COUNT=, SEED=)
#   make diff-coverage  programs for each pair of operators and of passes, and a report of what met (docs/coverage.md)
#   make test-sweep     random programs in Python, of one line and of many, at level 0 and level 3 (SWEEP=)
#   make mutate         bugs planted in the lowering of fusion groups, to see whether the tests notice (MUTATE=)
#   make bench-serve    requests per second of the inference server (wrk)
#   make soak           the inference server under load and hostile clients, for long (SECONDS=)
#   make test-threads   one module run by 2, 8 and 64 threads (THREADS_SECONDS=60 each, THREADS_COUNTS=); with SAN=thread for races
#   make test-faults    every allocation failing in turn (make test: a sample)
#   make test-all       make test, and in full what it takes samples of (.ci/nightly)
#   make bench-threads  calls per second of one thread and of two
#   make test-triton    the inference server and tritonclient from PyPI
#   make test-python    the Python package alone; with SAN=1 under AddressSanitizer, leaks included
#   make test-dask      the Python package and dask.distributed from PyPI
#   make test-sklearn   the Python package with scikit-learn, and its stubs under mypy, from PyPI
#   make test-jax       the Python package and JAX (CPU) from PyPI; make test-ray: and Ray
#   make test-array-api the Python package and data-apis' tests of the array API standard
#   make test-view      the pages of ctsc view in headless Chromium, which is installed for it (VIEW="--shots FOLDER", VIEW="MODEL SPEC")
#   make test-cuda      the corpus on a CUDA device, against what is expected of the CPU (CUDA_CORPUS=, CUDA_TEST="--group models")
#   make test-cuda-sim  the same on a simulated device
#   make test-cuda-repeat  programs called several times there, replayed and not (REPEAT=folders), and one of them 100,000 times
#   make test-torch     archives to and from real PyTorch, where it is installed
#   make against-torch PYTHON=/path/to/python   generated calls and programs, here and in PyTorch 2.15 (tests/against)
#   make test-pt2       networks exported by torch.export against PyTorch (PT2_PYTHON=, PT2="--group small -k Cond")
#   make bench-pt2      the same networks as .pt and as .pt2: equal fusion groups, equal times (PT2_PYTHON=, PT2_FORMS="-k bert --rounds 5")
#   make test-pt2-damage  all changes of the JSON of .pt2 files that make test samples, with sanitizers
#   make test-onnx      networks to and from ONNX, against ONNX Runtime (ONNX_PYTHON=, ONNX_TEST="--group out --all -k resnet")
#   make test-onnx-nodes  the tests of operators that ONNX ships, through the importer (ONNX_PYTHON=, ONNX_NODES="-k resize -v")
#   make test-tensorboard  the files of ctsc train --tensorboard, read by TensorBoard (TENSORBOARD_PYTHON=)
#   make test-harvest   the calls of PyTorch's own tests (TORCH_TESTS=the folder test/ of a checkout of PyTorch)
#   make test-damage    archives damaged inside, loaded and run with sanitizers (DAMAGE="--count N", DAMAGE_FILES=folders)
#   make fuzz           the fuzz targets (libFuzzer, needs clang-19)
#   make fuzz-fast      the same without sanitizers, five times as fast: for long runs

.DEFAULT_GOAL := all
SAN ?=
ifeq ($(SAN),)
BUILD ?= build
OPT ?= -O2
else ifeq ($(SAN),thread)
BUILD ?= build-tsan
OPT ?= -O1
SANFLAGS := -fsanitize=thread
else
BUILD ?= build-asan
OPT ?= -O1
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined
endif

CC := $(if $(filter default,$(origin CC)),cc,$(CC))
# V=1 shows the commands.
Q := $(if $(V),,@)
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CCACHE := $(shell command -v ccache 2>/dev/null)
# -Wno-missing-field-initializers: table rows and {0} initialisers leave out what is zero on purpose.
WARN := -Wall -Wextra -Werror -Wno-missing-field-initializers -Wvla -Wpointer-arith -Wstrict-prototypes
# Loops marked for vectorisation that clang does not vectorise are slower, not wrong.
ifneq ($(findstring clang,$(CC)),)
WARN += -Wno-pass-failed
endif
CPPFLAGS += -Iinclude -Isrc -D_GNU_SOURCE
# -ffp-contract=off: the same results whether or not the compiler may fuse a*b+c.
CFLAGS += -std=c11 $(OPT) -g $(WARN) -fPIC -fvisibility=hidden -fno-strict-aliasing -fno-math-errno \
          -ffp-contract=off $(if $(SAN),-fno-omit-frame-pointer) -fno-asynchronous-unwind-tables -pthread $(SANFLAGS)
# Loops are aligned; functions and jumps, which would add five percent to the library, are not.
ifeq ($(findstring clang,$(CC)),)
CFLAGS += -fno-align-functions -fno-align-jumps
endif
LDFLAGS += -pthread $(SANFLAGS)
# OpenBLAS and libc stand in front: nearly all that the dynamic loader looks up is theirs, and it asks the libraries in this order. That is an eighth of
# the instructions from process start to main.
LDLIBS += -lopenblas -lc -lm $(ONNX_LIBS) -lzip -ljansson -lz -ldl

# What libctsc-jit.so is made of, and what clang turns into bitcode for it.
JIT_SRC := src/codegen/llvm/llvm_jit.c src/codegen/llvm/scalar_bitcode_data.c
BITCODE_SRC := src/codegen/llvm/scalar_bitcode.c
LIB_SRC := $(filter-out $(JIT_SRC) $(BITCODE_SRC) src/cli/% src/serve/% src/view/%,$(sort $(shell find src/ -name '*.c')))
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
	@echo "  CC    $(ONNX_DIR)/onnx.pb-c.c"
	$(Q)$(CCACHE) $(CC) $(CFLAGS) -Os -w -c $(ONNX_DIR)/onnx.pb-c.c -o $@
$(patsubst %.c,$(BUILD)/%.o,$(wildcard src/frontend/onnx/*.c)): private CPPFLAGS += -I$(ONNX_DIR)
$(patsubst %.c,$(BUILD)/%.o,$(wildcard src/frontend/onnx/*.c)): | $(ONNX_DIR)/onnx.pb-c.h
$(BUILD)/src/runtime/program/onnx_module.o $(BUILD)/src/runtime/save/save_onnx.o: private CPPFLAGS += -DCTSC_ONNX
else
LIB_SRC := $(filter-out src/frontend/onnx/%,$(LIB_SRC))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
endif

# The inference server: a part of the command, which alone needs libmicrohttpd.
SERVE_SRC := $(wildcard src/serve/*.c)
SERVE_OBJ := $(SERVE_SRC:%.c=$(BUILD)/%.o)
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

all: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all
build-all: $(BUILD)/libctsc.a $(BUILD)/ctsc jit
# Goals beside `all` want the same files, which another make builds.
ifneq ($(filter all,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

ifeq ($(SAN),)
# What runs once per program, not once per call of an operator, is made small: front end, passes, archives. So is what asks devices and other libraries
# for work, and operators whose time goes into few elements or into functions of libm.
COLD := $(filter $(addprefix src/,base/diag.c base/disk.c base/log.c base/variables.c frontend/% passes/% codegen/% ir/% tensor/compare.c tensor/dtype_names.c tensor/print.c \
    $(addprefix cuda/,capture.c context.c library.c program.c staging.c) \
    $(addprefix runtime/,api/% archive/% autograd/grad_capture.c autograd/grad_rules.c autograd/grad_wanted.c code/% interp/fork.c observe/% \
        ops/% program/% safetensors/% save/% train/%) \
    $(addprefix runtime/cuda/,along_dim.c blas.c cuda_attention.c cuda_conv.c cuda_copy.c cuda_gemm.c cuda_index.c cuda_ops.c dense.c dnn.c one_op.c record.c \
        resample.c sampling.c through_host.c) \
    $(addprefix runtime/kernels/,create/create_range.c engine/nested.c fft/fft_extra.c fft/fft_plan.c fft/spectral.c linalg/% loss/% \
        matmul/einsum.c matmul/products.c pointwise/erfinv.c pointwise/pointwise_special.c pointwise/scalar_eval.c \
        $(addprefix quantised/quantized_,binary.c conv.c embedding.c other.c packed.c pool.c tensor.c unary.c) random/random_ops.c \
        $(addprefix reduce/,histogram% order_statistics.c reduce_complex.c reduce_linalg.c segment.c) rnn/rnn_pack.c scalar/complex.c scalar/string.c)),$(LIB_SRC))
HOT := $(addprefix src/,codegen/lower/plan/group_guards.c ir/op/op.c ir/type.c runtime/ops/composite.c runtime/program/module_call.c runtime/train/optimizer_loops.c \
    $(addprefix runtime/api/api_,container.c run.c value.c))
$(patsubst %.c,$(BUILD)/%.o,$(filter-out $(HOT),$(COLD))): OPT := -Os
endif

# ?: become selects, as vector code needs it (cpu/vector.h). No result changes.
$(patsubst %.c,$(BUILD)/%.o,$(filter src/cpu/% src/runtime/kernels/% src/tensor/copy.c,$(LIB_SRC))): private CFLAGS += -fno-trapping-math

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CCACHE) $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

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
$(BUILD)/embedded/%.gz: % scripts/embed
	@mkdir -p $(@D)
	$(Q)scripts/embed $< | gzip -9nc > $@

# Which functions the files of operators define: those that composite.def lists.
$(BUILD)/embedded/src/runtime/ops/composite.index.gz: src/runtime/ops/composite.def $(PRELUDE) scripts/embed
	@mkdir -p $(@D)
	$(Q)scripts/embed --functions src/frontend/prelude $$(sed -n 's/^COMPOSITE_FILE("\(.*\)")$$/\1/p' $<) | gzip -9nc > $@

$(BUILD)/libctsc.a: $(LIB_OBJ)
	@rm -f $@
	@echo "  AR    $@"
	$(Q)ar rcs $@ $^

$(BUILD)/libserve.a: $(SERVE_OBJ)
	@rm -f $@
	$(Q)ar rcs $@ $^
$(BUILD)/src/serve/page.o: src/serve/page.html

$(BUILD)/libview.a: $(VIEW_OBJ)
	@rm -f $@
	$(Q)ar rcs $@ $^
$(BUILD)/src/view/view_texts.o: $(wildcard src/view/*.html src/view/*.css src/view/*.js)

# Libraries with operators (--load-library) find the public functions in the command.
EXPORT := -Wl,--export-dynamic-symbol=ctsc_*
$(BUILD)/ctsc: $(CLI_OBJ) $(BUILD)/libserve.a $(BUILD)/libview.a $(BUILD)/libctsc.a
	@echo "  LD    $@"
	$(Q)$(CC) $(LDFLAGS) -o $@ $(CLI_OBJ) $(BUILD)/libserve.a $(BUILD)/libview.a -Wl,--whole-archive $(BUILD)/libctsc.a -Wl,--no-whole-archive $(EXPORT) \
	    $(if $(SAN),,-Wl,-z,pack-relative-relocs) $(LDLIBS) -lmicrohttpd -lpng -lturbojpeg

ifneq ($(JIT),)
jit: $(JIT)
$(BUILD)/scalar_ops.bc: $(BITCODE_SRC) Makefile
	@mkdir -p $(BUILD)/src/codegen/llvm
	@echo "  BC    $<"
	$(Q)$(LLVM_CLANG) $(CPPFLAGS) -std=c11 -O2 -fPIC -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -fno-math-errno \
	    -ffp-contract=off -fno-strict-aliasing -MMD -MP -MF $(BUILD)/src/codegen/llvm/scalar_bitcode.d -MT $@ -emit-llvm -c $< -o $@
# The hash makes objects on disk that another build left stale.
$(JIT): $(JIT_SRC) $(BUILD)/scalar_ops.bc src/codegen/llvm/jit.h src/codegen/llvm/kernel_symbols.def Makefile
	@echo "  LD    $@"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -I$$($(LLVM_CONFIG) --includedir) -DBITCODE_FILE='"$(BUILD)/scalar_ops.bc"' \
	    -DLLVM_VERSION_TEXT='"'$$($(LLVM_CONFIG) --version)'"' \
	    -DJIT_SOURCE_HASH='"'$$(cat $(BUILD)/scalar_ops.bc src/codegen/llvm/llvm_jit.c | cksum | tr ' ' '-')'"' \
	    -shared -o $@ $(JIT_SRC) $(LDFLAGS) $$($(LLVM_CONFIG) --ldflags --link-shared --libs core orcjit native) -lm
-include $(BUILD)/src/codegen/llvm/scalar_bitcode.d
else
jit:
	@echo "ctsc: building without the compiler for kernels ($(if $(filter 0,$(LLVM)),LLVM=0,no llvm-config-19 and clang-19 here))"
endif

# Programs that use parts of the library without its public interface, which would draw in what the parts ask of the runtime.
PARTS := -Wl,-u,registry_install $(BUILD)/libctsc.a

# Programs against ctsc.h alone.
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/examples/%,$(wildcard examples/*.c))
$(BUILD)/examples/%: examples/%.c include/ctsc.h $(BUILD)/libctsc.a
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) -Iinclude $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libctsc.a $(LDLIBS)
$(BUILD)/examples/server: LDLIBS += -lmicrohttpd
# Operators of a program's own, in a shared library.
PLUGINS := $(patsubst examples/custom_op/%.c,$(BUILD)/examples/custom_op/lib%.so,$(wildcard examples/custom_op/*.c))
$(BUILD)/examples/custom_op/lib%.so: examples/custom_op/%.c include/ctsc.h
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) -Iinclude $(CFLAGS) -shared -o $@ $< $(SANFLAGS) -lm
examples: $(EXAMPLES) $(PLUGINS)

demo: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) $(BUILD)/examples/demo
	@$(BUILD)/examples/demo models

# Unit tests: every tests/unit/test_*.c is one cmocka program.
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/tests/unit/%)

$(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/libctsc.a
	@mkdir -p $(@D)
	@echo "  TEST  $<"
	$(Q)$(CCACHE) $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -MT $@ -c $< -o $@.o
	$(Q)$(CC) $(LDFLAGS) -o $@ $@.o $(WITH) $(PARTS) -lcmocka $(LDLIBS)

# Tests of the server's inside need it.
$(BUILD)/tests/unit/test_serve $(BUILD)/fuzz_request $(BUILD)/replay_request: WITH := $(BUILD)/libserve.a $(BUILD)/libview.a
$(BUILD)/tests/unit/test_serve $(BUILD)/fuzz_request $(BUILD)/replay_request: $(BUILD)/libserve.a $(BUILD)/libview.a
$(BUILD)/tests/unit/test_variables: WITH := -Wl,--wrap=pass_cse
$(BUILD)/tests/unit/test_serve: WITH += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

# The fuzzer's walker of loop nests finds the functions that nests call among the program's symbols.
$(BUILD)/tests/unit/test_nest_eval $(BUILD)/tests/unit/test_group: WITH := $(BUILD)/tests/diff/nest_eval.o $(BUILD)/tests/diff/nest_functions.o -rdynamic
$(BUILD)/tests/unit/test_nest_eval $(BUILD)/tests/unit/test_group: $(BUILD)/tests/diff/nest_eval.o $(BUILD)/tests/diff/nest_functions.o

# CUDA's driver and NVRTC without a device (tests/cuda/sim/sim.h). Without sanitizers: its threads change stacks. The hash makes kernels on disk
# that another build of it left stale.
CUDASIM := $(BUILD)/tests/cuda/libcudasim.so
CUDASIM_SRC := $(wildcard tests/cuda/sim/*.c)
$(CUDASIM): $(CUDASIM_SRC) $(wildcard tests/cuda/sim/*.h) tests/cuda/shim.h src/cuda/abi.h $(wildcard src/runtime/cuda/*_abi.h) Makefile
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) $(CPPFLAGS) $(filter-out $(SANFLAGS),$(CFLAGS)) -DSIM_SHIM='"tests/cuda/shim.h"' \
	    -DSIM_BUILD=$$(cat $(CUDASIM_SRC) | cksum | cut -d' ' -f1) -shared -Wl,-Bsymbolic -o $@ $(CUDASIM_SRC) -pthread -ldl -lm

unit: $(UNIT_BIN) jit $(CUDASIM)

# Everything that tests/run.py needs, then the tests, or the groups of ONLY (ONLY=ir,lang,unit:base); it prints "N passed, N failed" and fails if anything did.
# OPENBLAS_*: a setting for another machine would only slow the matrix products down.
ONLY ?=
test: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) build-all unit examples $(BUILD)/diff $(BUILD)/threads $(if $(SAN),,python wheel-files)
	@env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python3 tests/run.py --build $(BUILD) --python "$(PYTHON)" $(ONLY:%=--only "%") $(if $(SAN),--sanitizer $(SAN))

# C as .clang-format and scripts/format set it.
format: deps-test
	@python3 scripts/format --jobs $(JOBS)
check-format: deps-test
	@python3 scripts/format --check --jobs $(JOBS)

# Every program at every level of optimisation, with one thread and with two: right, and the same to the last bit.
test-levels: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) build-all
	@env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python3 tests/run.py --build $(BUILD) --only levels

# A part of make test.
GRAD ?= *
test-grad: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) build-all
	@python3 tests/autograd/gradcheck.py --ctsc $(BUILD)/ctsc --jobs $(JOBS) --only "$(GRAD)"

# The tests as other machines would run them (tests/machines.py --list).
MACHINES ?=
SURROUNDINGS := $(BUILD)/tests/machines/libsurroundings.so
$(SURROUNDINGS): tests/machines/surroundings.c Makefile
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) $(CPPFLAGS) $(filter-out $(SANFLAGS),$(CFLAGS)) -shared -o $@ $< -ldl
test-machines: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) build-all unit examples $(BUILD)/diff $(BUILD)/threads $(SURROUNDINGS)
	@python3 tests/machines.py --build $(BUILD) -j $(JOBS) --machines "$(MACHINES)"

# The corpus on a CUDA device, and on the simulated one, where kernels are compiled by the host's compiler and kept in the build folder.
CUDA_CORPUS ?= tests/corpus
CUDA_TEST ?=
test-cuda: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) build-all
	python3 tests/cuda/run.py --ctsc $(BUILD)/ctsc -j 2 $(CUDA_TEST) $(CUDA_CORPUS)
test-cuda-sim: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) build-all $(CUDASIM)
	python3 tests/cuda/run.py --ctsc $(BUILD)/ctsc --sim $(CUDASIM) --cache $(BUILD)/cache -j $(JOBS) $(CUDA_TEST) $(CUDA_CORPUS)

# Calls that are recorded and replayed (tests/cuda/repeat.c); then many of one, whose memory must not grow.
$(BUILD)/repeat: tests/cuda/repeat.c include/ctsc.h $(BUILD)/libctsc.a
	@echo "  LD    $@"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(PARTS) $(LDLIBS)
REPEAT ?= tests/corpus/models/* tests/corpus/lang/*
test-cuda-repeat: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) $(BUILD)/repeat $(CUDASIM) $(BUILD)/tests/unit/test_cuda_recording
	XDG_CACHE_HOME=$(BUILD)/cache python3 tests/cuda/sim.py --build $(BUILD) $(BUILD)/repeat $(REPEAT)
	CTSC_TEST_CALLS=100000 $(BUILD)/tests/unit/test_cuda_recording

# What only real PyTorch can tell: both directions, for every program of the corpus and the examples. Skips without PyTorch
# (Debian's python3-torch); TORCH_PYTHON names another Python that has it.
TORCH_PYTHON ?= /usr/bin/python3
test-torch: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all python
	@status=0; for t in tests/interop/*.py tests/prelude/*.py; do echo "$$t"; \
	    "$(TORCH_PYTHON)" $$t --ctsc $(BUILD)/ctsc || [ $$? = 77 ] || status=1; done; exit $$status

# Generated calls of operators and small programs against PyTorch 2.15, which PYTHON has: make against-torch PYTHON=/path/to/python [AGAINST="--seed 2 -k 'clamp*'"]
AGAINST ?=
against-torch: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all python
	python3 tests/against/against.py --python "$(or $(PYTHON),python3)" --package $(BUILD)/python $(AGAINST)

# Networks of torchvision, timm, transformers, torchao, torchaudio and kornia, and small programs, exported by torch.export, run and compared: PT2_PYTHON has PyTorch 2.5 or newer.
PT2_PYTHON ?= python3
test-pt2: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all
	"$(PT2_PYTHON)" tests/pt2/networks.py --ctsc $(BUILD)/ctsc $(PT2)

# The same networks as TorchScript and as programs of torch.export: what runs of both is compared, and timed.
bench-pt2: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all
	"$(PT2_PYTHON)" tests/pt2/forms.py --ctsc $(BUILD)/ctsc --times $(PT2_FORMS)

# Programs of torch.export with each field of their JSON missing, of another type, huge, nested in itself: all of them, which make test samples; with
# sanitizers. PT2_EVERY=10: one in ten.
PT2_EVERY ?= 1
test-pt2-damage: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) BUILD=build-asan SAN=1 build-asan/tests/unit/test_exported
	EXPORTED_EVERY=$(PT2_EVERY) build-asan/tests/unit/test_exported

# Networks of torchvision and transformers to and from ONNX, checked by onnx.checker and ONNX Runtime: ONNX_PYTHON has them, and PyTorch.
test-onnx: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all python
	"$(ONNX_PYTHON)" tests/onnx/networks.py --ctsc $(BUILD)/ctsc $(ONNX_TEST); status=$$?; [ $$status = 77 ] || exit $$status
	"$(ONNX_PYTHON)" tests/onnx/quantize.py --ctsc $(BUILD)/ctsc; status=$$?; [ $$status = 77 ] || exit $$status
	"$(ONNX_PYTHON)" tests/onnx/calls.py --package $(BUILD)/python --torch --opset 17,20,28 --least 95 -q; status=$$?; [ $$status = 77 ] || exit $$status

# ONNX's own tests of operators (onnx.backend.test) through the importer: ONNX_PYTHON has onnx and NumPy. ONNX_NODES="-k attention -v"
test-onnx-nodes: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all python
	"$(ONNX_PYTHON)" tests/onnx/nodes.py --package $(BUILD)/python $(ONNX_NODES); status=$$?; [ $$status = 77 ] || exit $$status

# The files of ctsc train --tensorboard, read by TensorBoard: TENSORBOARD_PYTHON has it (pip install tensorboard).
TENSORBOARD_PYTHON ?= python3
test-tensorboard: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all
	"$(TENSORBOARD_PYTHON)" tests/interop/tensorboard_events.py --ctsc $(BUILD)/ctsc; status=$$?; [ $$status = 77 ] || exit $$status

# The calls that PyTorch's own tests make of scripted and traced code, recorded, replayed and compared: TORCH_TESTS is the folder test/ of a
# checkout of PyTorch, of TORCH_PYTHON's version; about half an hour. HARVEST="--modules jit.test_hash --keep DIR"
TORCH_TESTS ?=
test-harvest: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all
	@[ -d $(BUILD)/harvest ] || python3 -m pip install -q --target $(BUILD)/harvest expecttest==0.1.6 || echo "expecttest cannot be installed"
	PYTHONPATH=$(BUILD)/harvest "$(TORCH_PYTHON)" tests/interop/harvest.py --ctsc $(BUILD)/ctsc --tests "$(TORCH_TESTS)" $(HARVEST)

# Requests per second of the inference server (wrk, 32 connections): make bench-serve [SERVE="--only digits --seconds 10"]
bench-serve: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all
	@python3 bench/serve.py --ctsc $(BUILD)/ctsc $(SERVE)
# The inference server for long: load, hostile clients, files that change; fails if a request does or memory grows.
SECONDS ?= 600
soak: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) build-all
	python3 tests/serve/soak.py --ctsc $(BUILD)/ctsc --seconds $(SECONDS)
# One module, many threads: always the results of one (tests/threads/threads.c); and how throughput grows.
$(BUILD)/threads: tests/threads/threads.c include/ctsc.h $(BUILD)/libctsc.a
	@echo "  LD    $@"
	$(Q)$(CC) -Iinclude $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libctsc.a $(LDLIBS)
THREADS_SECONDS ?= 60
THREADS_COUNTS ?= 2,8,64
test-threads: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) $(BUILD)/threads jit
	TSAN_OPTIONS="suppressions=tests/tsan.supp" $(BUILD)/threads --seconds $(THREADS_SECONDS) --threads $(THREADS_COUNTS)
bench-threads: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) $(BUILD)/threads jit
	@$(BUILD)/threads --throughput --seconds $(THREADS_SECONDS)
# Compiling, saving, loading, tracing and running with each of their allocations failing: make test looks at a sample of the larger ones.
test-faults: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) $(filter %_faults %test_faults %test_grad_program,$(UNIT_BIN)) jit
	@for t in $(filter %_faults %test_faults %test_grad_program,$(UNIT_BIN)); do CTSC_FAULTS_ALL=1 $$t || exit 1; done
# make test, and all of what it takes samples of: levels, fused operators with various arguments, allocations that fail.
test-all: deps-test
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-levels test-faults
	@GROUP_ALL=1 $(BUILD)/tests/unit/test_group
# A Python that makes virtual environments.
VENV_PYTHON ?= python3

# The server with the public Python client, which is put into the build folder.
test-triton: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) build-all
	@[ -d $(BUILD)/triton ] || pip install -q --target $(BUILD)/triton 'tritonclient[http]' || echo "tritonclient cannot be installed"
	python3 tests/serve/triton.py --ctsc $(BUILD)/ctsc --site $(BUILD)/triton

# The Python package alone. In make test SAN=1 it is not built: its tests take longer there than all others.
test-python: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) build-all python $(CUDASIM)
	@python3 tests/run.py --build $(BUILD) --python "$(PYTHON)" --only python $(if $(SAN),--sanitizer $(SAN))

# The package under dask.distributed, from PyPI, in an environment of its own in the build folder.
test-dask: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) python
	@[ -x $(BUILD)/dask/bin/dask ] || { "$(VENV_PYTHON)" -m venv $(BUILD)/dask && $(BUILD)/dask/bin/pip install -q 'dask[array]' distributed; }
	PYTHONPATH=$(BUILD)/python $(BUILD)/dask/bin/python examples/python/dask_map.py

# The package as a step of scikit-learn's pipelines, and its stubs by mypy, from PyPI, likewise.
test-sklearn: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) python
	@[ -e $(BUILD)/sklearn/.done ] || { "$(VENV_PYTHON)" -m venv $(BUILD)/sklearn && $(BUILD)/sklearn/bin/pip install -q pytest numpy scikit-learn mypy && \
	    touch $(BUILD)/sklearn/.done; }
	PYTHONPATH=$(BUILD)/python $(BUILD)/sklearn/bin/python -m pytest -q -p no:cacheprovider tests/python/test_py_sklearn.py tests/python/test_py_types.py

# The package beside JAX and under Ray, from PyPI, likewise. Ray writes a token into the home folder, for which the environment stands here.
test-jax: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) python
	@[ -e $(BUILD)/jax/.done ] || { "$(VENV_PYTHON)" -m venv $(BUILD)/jax && $(BUILD)/jax/bin/pip install -q jax numpy && touch $(BUILD)/jax/.done; }
	PYTHONPATH=$(BUILD)/python $(BUILD)/jax/bin/python tests/interop/python_jax.py
test-ray: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) python
	@[ -x $(BUILD)/ray/bin/ray ] || { "$(VENV_PYTHON)" -m venv $(BUILD)/ray && $(BUILD)/ray/bin/pip install -q ray numpy; }
	HOME="$$(realpath $(BUILD)/ray)" PYTHONPATH="$$(realpath $(BUILD)/python)" $(BUILD)/ray/bin/python examples/python/ray_map.py

# What Tensor claims of the array API standard, by data-apis' tests: ARRAY_API_TESTS is a checkout of github.com/data-apis/array-api-tests, which is not on PyPI;
# the environment is made in the build folder. What is left out, and why: tests/python/array_api_skips.txt.
ARRAY_API_TESTS ?= $(BUILD)/array-api-tests
test-array-api: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) python
	@[ -d $(ARRAY_API_TESTS) ] || git clone -q --recurse-submodules --depth 1 https://github.com/data-apis/array-api-tests $(ARRAY_API_TESTS)
	@[ -x $(BUILD)/array-api/bin/pytest ] || { "$(VENV_PYTHON)" -m venv $(BUILD)/array-api && \
	    $(BUILD)/array-api/bin/pip install -q -r $(ARRAY_API_TESTS)/requirements.txt numpy; }
	python3 tests/python/array_api.py --python $(BUILD)/array-api/bin/python --build $(BUILD) --suite $(ARRAY_API_TESTS) $(ARRAY_API)

VIEW ?=
test-view: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) build-all
	@scripts/install-deps view
	python3 tests/view/browser.py --ctsc $(BUILD)/ctsc $(VIEW)

# Calls of every operator at the edges (empty, 0-dim, overlapping, nan, overflow ...) against real PyTorch; prints what differs. What agreed is
# kept in tests/edges/cases.txt, which make test checks: make test-edges [EDGES_SEED=2]
EDGES_SEED ?= 2
test-edges: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) build-all $(BUILD)/tests/unit/test_edges
	"$(TORCH_PYTHON)" tests/edges/make.py --ctsc $(BUILD)/ctsc --seed $(EDGES_SEED) > $(BUILD)/edges.txt
	$(BUILD)/tests/unit/test_edges $(BUILD)/edges.txt -v

# The suite: make bench [BENCH="--only softmax --threads 1 --json times.json"]. TORCH_PYTHON, ONNX_PYTHON: Pythons that have the peers.
ONNX_PYTHON ?= python3
bench: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all $(BUILD)/bench/copy
	@python3 bench/suite.py --ctsc $(BUILD)/ctsc --torch-python "$(TORCH_PYTHON)" --onnxruntime-python "$(ONNX_PYTHON)" $(BENCH)

# Single operators, family by family: make bench-ops [OPS="--only sort --threads 1 --json times.json"].
bench-ops: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) $(BUILD)/bench/calls $(BUILD)/bench/copy
	@python3 bench/ops.py --bench $(BUILD)/bench --torch-python "$(TORCH_PYTHON)" $(OPS)

bench-cuda: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all
	@python3 bench/cuda.py --ctsc $(BUILD)/ctsc --torch-python "$(TORCH_PYTHON)" $(BENCH)

# Whole networks, written by TORCH_PYTHON's PyTorch 1.13 and torchvision: make bench-nets [NETS="--only resnet18 --rounds 5 --json times.json"]. PEERS: a
# virtual environment with ONNX Runtime and OpenVINO, made where it is missing.
# CPU=avx2: as a processor without AVX-512 would do it; peers are held to the same where they have a switch for that.
PEERS ?= $(BUILD)/peers
CPU ?=
bench-nets: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all $(BUILD)/bench/nets/nets_ctsc
	@python3 bench/nets/nets_suite.py --ctsc $(BUILD)/ctsc --worker $(BUILD)/bench/nets/nets_ctsc --torch-python "$(TORCH_PYTHON)" --peers $(PEERS) \
	    --folder $(BUILD)/nets $(CPU:%=--cpu %) $(NETS)

# What they take in memory, into docs/bench-memory.md: make bench-memory [NETS="--only resnet18"].
bench-memory: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all $(BUILD)/bench/nets/nets_ctsc
	@python3 bench/nets/nets_memory.py --ctsc $(BUILD)/ctsc --worker $(BUILD)/bench/nets/nets_ctsc --torch-python "$(TORCH_PYTHON)" --peers $(PEERS) \
	    --folder $(BUILD)/nets --threads 1 $(NETS)

# Networks quantised by PyTorch, against the same networks quantised by ONNX Runtime: make bench-quantised [QUANTISED="--only resnet18 --rounds 5"].
bench-quantised: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all
	@python3 bench/quantised.py --ctsc $(BUILD)/ctsc --torch-python "$(TORCH_PYTHON)" --peers $(PEERS) --folder $(BUILD)/quantised $(QUANTISED)

# Narrow numbers, with NARROW_PYTHON's PyTorch, ONNX Runtime, OpenVINO, ...: make bench-narrow [NARROW="--only bert --threads 1 --rounds 5 --json times.json"].
# The page is written where all rows are measured. CPU=avx2: as a processor without AVX-512 would do it.
NARROW_PYTHON ?= $(PEERS)/bin/python
bench-narrow: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all python $(BUILD)/bench/peaks
	@python3 bench/narrow.py --ctsc $(BUILD)/ctsc --package $(BUILD)/python --peaks $(BUILD)/bench/peaks --python "$(NARROW_PYTHON)" \
	    --torch-python "$(TORCH_PYTHON)" --folder $(BUILD)/narrow $(CPU:%=--cpu %) \
	    $(if $(findstring --only,$(NARROW)),,--markdown docs/bench-narrow.md) $(NARROW)

# docs/operators.md; tests/run.py (group docs) says when it is stale.
docs: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all
	@$(BUILD)/ctsc ops --markdown > docs/operators.md.new && mv docs/operators.md.new docs/operators.md

# Times of one model: make bench-load MODEL=x.pt INPUTS=in.pt [THREADS=1]
MODEL ?= models/digits_cnn.pt
INPUTS ?= models/digits_test.pt
THREADS ?= 1
bench-load: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) $(BUILD)/bench/load
	@env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(BUILD)/bench/load $(MODEL) $(INPUTS) $(THREADS)
$(BUILD)/bench/%: bench/%.c include/ctsc.h $(BUILD)/libctsc.a
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) -Iinclude $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libctsc.a $(LDLIBS)

# One call from process start on: make bench-coldstart [COLDSTART="--model x.pt --input float32[1,3,224,224]:rand --rounds 20"]
bench-coldstart: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all
	@python3 bench/coldstart.py --ctsc $(BUILD)/ctsc --torch-python "$(TORCH_PYTHON)" $(COLDSTART)

# Generated code against memcpy, one thread.
bench-kernels: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) $(BUILD)/bench/kernels jit
	@$(BUILD)/bench/kernels
# Matrix products against OpenBLAS, one thread: make bench-gemm [GEMM="--double linear"].
bench-gemm: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) $(BUILD)/bench/gemm
	@env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OPENBLAS_NUM_THREADS=1 $(BUILD)/bench/gemm $(GEMM)
# Products of bfloat16 and of bytes by each set of kernels, one thread: make bench-quads [QUADS=bf16].
bench-quads: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) $(BUILD)/bench/quads
	@$(BUILD)/bench/quads $(QUADS)
# A step of each optimiser against memcpy: make bench-optimizers [OPTIMIZERS="11 1"] (millions of elements, threads).
bench-optimizers: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) $(BUILD)/bench/optimizers
	@$(BUILD)/bench/optimizers $(OPTIMIZERS)
$(BUILD)/bench/kernels $(BUILD)/bench/gemm $(BUILD)/bench/quads $(BUILD)/bench/optimizers: $(BUILD)/bench/%: bench/%.c $(BUILD)/libctsc.a
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(PARTS) $(LDLIBS)

# Fuzz targets, with libFuzzer: build-fuzz/fuzz_NAME [-max_total_time=60] [FOLDER-OF-SEEDS]
fuzz: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) BUILD=build-fuzz CC=clang-19 CCACHE= \
	    SANFLAGS="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined" OPT=-O1 \
	    fuzz-targets
fuzz-fast: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) BUILD=build-fuzz-fast CC=clang-19 CCACHE= \
	    SANFLAGS="-fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp" OPT=-O2 fuzz-targets
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
fuzz-targets: $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/%)
$(BUILD)/fuzz_%: tests/fuzz/fuzz_%.c $(BUILD)/libctsc.a
	@echo "  FUZZ  $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fsanitize=fuzzer -o $@ $< $(WITH) $(PARTS) $(LDFLAGS) $(LDLIBS)
# The same targets as plain programs that run the files they are given.
$(BUILD)/replay_%: tests/fuzz/fuzz_%.c tests/fuzz/replay_main.c $(BUILD)/libctsc.a
	@echo "  LD    $@"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< tests/fuzz/replay_main.c $(WITH) $(PARTS) $(LDLIBS)

# Archives damaged inside, loaded and run with sanitizers (tests/damage/damage_main.c): make test-damage [DAMAGE="--count 100000 --seed 2"] [DAMAGE_FILES=folders]
DAMAGE ?= --count 20000
DAMAGE_FILES ?= tests/corpus models
$(BUILD)/damage: $(wildcard tests/damage/*.[ch]) include/ctsc.h $(BUILD)/libctsc.a
	@echo "  LD    $@"
	$(Q)$(CC) $(CPPFLAGS) -Itests/damage $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) $(BUILD)/libctsc.a $(LDLIBS)
test-damage: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) SAN=1 BUILD=build-asan build-asan/damage jit
	@mkdir -p build-asan/damaged
	ASAN_OPTIONS=allocator_may_return_null=1:quarantine_size_mb=16 LSAN_OPTIONS=suppressions=tests/lsan.supp UBSAN_OPTIONS=print_stacktrace=1 \
	    build-asan/damage $(DAMAGE) --keep build-asan/damaged $(DAMAGE_FILES)

# The differential fuzzer: random graphs at different levels of optimisation (tests/diff/diff_main.c says how to look closer).
# make diff [DIFF_COUNT=1000000] [DIFF_LEVEL_COUNT=20000] [SEED=1]
DIFF_SRC := $(wildcard tests/diff/*.c)
$(BUILD)/diff: $(DIFF_SRC:%.c=$(BUILD)/%.o) $(BUILD)/libctsc.a
	@echo "  LD    $@"
	$(Q)$(CC) $(LDFLAGS) -rdynamic -o $@ $^ $(LDLIBS)
DIFF_COUNT ?= 1000000
DIFF_LEVEL_COUNT ?= 20000
SEED ?= 1
diff: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) $(BUILD)/diff $(BUILD)/ctsc jit
	$(BUILD)/diff --seed $(SEED) --count $(DIFF_COUNT) --jobs $(JOBS)
	XDG_CACHE_HOME=$(BUILD)/cache $(BUILD)/diff --seed $(SEED) --count $(DIFF_LEVEL_COUNT) --jobs $(JOBS) --level 3 --vary 6
	$(BUILD)/diff --nests --seed $(SEED) --count $(DIFF_COUNT) --jobs $(JOBS) --vary 4
	$(BUILD)/diff --images 100 --seed $(SEED) --count $$(($(DIFF_COUNT) / 10)) --jobs $(JOBS)
	python3 tests/diff/qdq.py --ctsc $(BUILD)/ctsc --seed $(SEED) --count $$(($(DIFF_COUNT) / 1000 + 1))

# Which operators meet in a kernel, and which passes on a graph: a hundred programs for each pair (docs/coverage.md). Takes an hour.
diff-coverage: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) $(BUILD)/diff jit
	XDG_CACHE_HOME=$(BUILD)/cache $(BUILD)/diff --coverage=100 --native 1 --seed $(SEED) --jobs $(JOBS)
	$(BUILD)/diff --tables --seed $(SEED) --count $(DIFF_COUNT) --jobs $(JOBS)

# Random programs in Python at level 0 and level 3, with one thread and two: make test-sweep [SWEEP="--lines 20000 --programs 20000 --seed 1"]
$(BUILD)/sweep: tests/sweep/sweep_main.c include/ctsc.h $(BUILD)/libctsc.a
	@echo "  LD    $@"
	$(Q)$(CC) -Iinclude $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libctsc.a $(LDLIBS)
SWEEP ?=
test-sweep: deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) $(BUILD)/sweep jit
	XDG_CACHE_HOME=$(BUILD)/cache python3 tests/sweep/sweep.py --sweep $(BUILD)/sweep --jobs $(JOBS) $(SWEEP)

# Bugs planted in the lowering of fusion groups, one at a time: which does nothing notice? make mutate [MUTATE="--count 60 --seed 2"]
mutate: deps-test
	@python3 tests/mutate.py $(MUTATE)

# Missing packages are installed first (a stamp per set keeps later runs from asking again).
deps-build: $(BUILD)/.deps-build
deps-test: $(BUILD)/.deps-test
$(BUILD)/.deps-%: scripts/install-deps
	@scripts/install-deps $(if $(filter build0,$*$(LLVM)),core,$*)
	@mkdir -p $(@D) && touch $@

include packaging/install.mk
include python/python.mk

clean:
	rm -rf build build-*

.PHONY: against-torch bench-pt2 test-all test-sklearn test-tensorboard test-onnx-nodes test-python test-dask test-jax test-ray test-onnx test-view test-pt2 test-sweep format check-format test-damage mutate diff-coverage all build-all bench-cuda test-machines bench-serve soak test-threads test-faults bench-threads test-triton jit unit examples demo test test-levels test-cuda test-cuda-sim test-cuda-repeat diff test-torch test-harvest test-edges bench bench-ops bench-nets bench-memory bench-quantised bench-narrow docs bench-load bench-kernels bench-gemm bench-quads bench-optimizers fuzz fuzz-fast fuzz-targets deps-build deps-test clean bench-coldstart test-grad
.SECONDARY:
-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(SERVE_OBJ:.o=.d) $(VIEW_OBJ:.o=.d) $(UNIT_BIN:%=%.d) $(DIFF_SRC:%.c=$(BUILD)/%.d)
