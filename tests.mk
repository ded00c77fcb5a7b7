# SPDX-License-Identifier: Apache-2.0
#
# tests.mk - make test, its parts, and the longer tests beside it.
#
#   make check          the unit tests and a smoke test of the command: about a minute once built
#   make test           every test; ONLY=ir,lang,unit:base runs some groups (tests/run.py lists them)
#   make test-all       make test, and in full what it only samples (.ci/nightly)
#   make format         formats the C files (.clang-format, scripts/format); make check-format fails where they are not
#
# Parts of make test, alone or longer:
#   make test-levels    every program at every level of optimisation
#   make test-grad      derivatives against finite differences (GRAD=GLOB: only calls that match)
#   make test-faults    every allocation failing in turn
#   make test-kill      SIGKILL at random moments of saves, checkpoints and kernels on disk (KILL="--count 1000")
#   make test-syscalls  system calls that fail, one after the other, in every part of the command (SYSCALLS="--only serve --at-most 0")
#   make test-fenced    the corpus with tensors that end where memory ends, so that generated code cannot read past them unseen (ONLY=)
#   make check-abi      functions and types of the library against packaging/abi.xml (libabigail; scripts/abi write at a release)
#   make reproducible   everything built twice, in two folders: the same bytes, the wheel's among them (some ten minutes of two processors)
#   make test-sbom      the bill of materials against CycloneDX's schema and reader (SBOM_PYTHON= has cyclonedx-python-lib[json-validation])
#   make test-threads   one module run by 2, 8 and 64 threads (THREADS_SECONDS=60 each, THREADS_COUNTS=); with SAN=thread for races
#   make test-python    the Python package alone; with SAN=1 under AddressSanitizer, leaks included
#   make test-machines  the tests as other machines would run them: processors, OpenBLAS kernels, users, folders, locales (MACHINES=all or NAME,NAME)
#   make soak           the inference server under load and hostile clients (SECONDS=)
#
# Against PyTorch and ONNX Runtime, where they are installed:
#   make test-torch     archives to and from PyTorch (TORCH_PYTHON=)
#   make test-edges     calls of every operator at the ends of their ranges
#   make against-torch-meta  shapes without data, here and in PyTorch 2.15 (PYTHON=, CORPUS=)
#   make against-torch  generated calls and programs, here and in PyTorch 2.15 (PYTHON=/path/to/python)
#   make test-extremes  every operator with absurdly large numbers (EXTREMES="-k pool")
#   make test-amx       kernels on tile registers, on a processor that Bochs emulates (BOCHS=/path/to/bochs, AMX_TESTS="test_amx")
#   make test-harvest   the calls of PyTorch's own tests (TORCH_TESTS=the folder test/ of a checkout of PyTorch)
#   make test-pt2       networks exported by torch.export (PT2_PYTHON=, PT2="--group small -k Cond")
#   make test-pt2-damage  all changes of the JSON of .pt2 files that make test samples, with sanitizers
#   make test-onnx      networks to and from ONNX, against ONNX Runtime (ONNX_PYTHON=, ONNX_TEST="--group out --all -k resnet")
#   make test-onnx-nodes  the operator tests that ONNX ships, through the importer (ONNX_PYTHON=, ONNX_NODES="-k resize -v")
#
# With other software, from PyPI or Debian:
#   make test-triton    the inference server and tritonclient
#   make test-proxies   the inference server behind nginx and Caddy, as examples/serve configures them
#   make test-distributed-kills  one rank of a training killed a hundred times, at random: nothing hangs, checkpoints stay whole (KILLS=)
#   make test-dask      the Python package and dask.distributed
#   make test-sklearn   the Python package and scikit-learn, and its stubs under mypy
#   make test-jax       the Python package and JAX (CPU)
#   make test-ray       the Python package and Ray
#   make test-array-api  the Python package and data-apis' tests of the array API standard
#   make test-tensorboard  the files of ctsc train --tensorboard and of SummaryWriter (TENSORBOARD_PYTHON=)
#   make test-view      the pages of ctsc view in headless Chromium, which it installs (VIEW="--shots FOLDER", VIEW="MODEL SPEC")
#
# CUDA:
#   make test-cuda      the corpus on a device, against what is expected of the CPU (CUDA_CORPUS=, CUDA_TEST="--group models")
#   make test-cuda-sim  the same on a simulated device
#   make test-cuda-repeat  programs called several times there, replayed and not (REPEAT=folders), and one of them 100,000 times
#
# Random inputs:
#   make diff           random graphs at different levels, for long (DIFF_COUNT=, SEED=)
#   make diff-coverage  programs for each pair of operators and of passes, and a report of the pairs that met (docs/coverage.md)
#   make test-sweep     random programs in Python, short and long, at level 0 and level 3 (SWEEP=)
#   make test-damage    archives damaged inside, loaded and run with sanitizers (DAMAGE="--count N", DAMAGE_FILES=folders)
#   make test-damage-formats  files of every format damaged in their structure, read with sanitizers (FORMATS="--count 10000 --seed 2 --only onnx")
#   make fuzz           the fuzz targets (libFuzzer, needs clang-19)
#   make fuzz-all       all of them in turn, SECONDS= each (600), and a table of what they did (FUZZ="--only call")
#   make fuzz-fast      the same without sanitizers, five times as fast: for long runs
#   make mutate         bugs planted, one at a time, to see whether the tests notice (MUTATE="--area archive --count 30"; areas: tests/mutate.py)
#   make coverage       lines and branches of the library that the tests run, by gcov (COVERAGE="--uncovered FILE")

# Unit tests: every tests/unit/test_*.c is one cmocka program.
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/tests/unit/%)

$(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/libctsc.a
	@mkdir -p $(@D)
	@echo "  TEST  $<"
	$(Q)$(CCACHE) $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -MT $@ -c $< -o $@.o
	$(Q)$(CC) $(LDFLAGS) -o $@ $@.o $(WITH) $(PARTS) -lcmocka $(LDLIBS)

# Tests of the server's inside need it.
OF_SERVER := $(BUILD)/tests/unit/test_serve $(foreach n,request values wire,$(BUILD)/fuzz_$(n) $(BUILD)/replay_$(n))
$(OF_SERVER): WITH := $(BUILD)/libserve.a $(BUILD)/libview.a $(BUILD)/libsandbox.a
$(OF_SERVER): $(BUILD)/libserve.a $(BUILD)/libview.a $(BUILD)/libsandbox.a
$(BUILD)/tests/unit/test_variables: WITH := -Wl,--wrap=pass_cse
$(BUILD)/tests/unit/test_base: WITH := -Wl,--wrap=available_memory
$(BUILD)/tests/unit/test_dist: WITH := $(BUILD)/libctsc-dist.so -Wl,-rpath,'$$ORIGIN/../..'
# It finds the library when it starts: another one needs no new link.
$(BUILD)/tests/unit/test_dist: | $(DIST_LIBS)
$(BUILD)/tests/unit/test_serve: WITH += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

# The fuzzer's walker of loop nests finds the functions that nests call among the program's symbols.
$(BUILD)/tests/unit/test_nest_eval $(BUILD)/tests/unit/test_group: WITH := $(BUILD)/tests/diff/nest_eval.o $(BUILD)/tests/diff/nest_functions.o -rdynamic
$(BUILD)/tests/unit/test_nest_eval $(BUILD)/tests/unit/test_group: $(BUILD)/tests/diff/nest_eval.o $(BUILD)/tests/diff/nest_functions.o

# CUDA's driver and NVRTC without a device (tests/cuda/sim/sim.h). Without sanitizers: its threads change stacks. The hash makes kernels on disk
# that another build of it left stale.
CUDASIM := $(BUILD)/tests/cuda/libcudasim.so
CUDASIM_SRC := $(wildcard tests/cuda/sim/*.c)
$(CUDASIM): $(CUDASIM_SRC) $(wildcard tests/cuda/sim/*.h) tests/cuda/shim.h src/cuda/abi.h $(wildcard src/runtime/cuda/*_abi.h) tests.mk
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) $(CPPFLAGS) $(filter-out $(SANFLAGS),$(CFLAGS)) -DSIM_SHIM='"tests/cuda/shim.h"' \
	    -DSIM_BUILD=$$(cat $(CUDASIM_SRC) | cksum | cut -d' ' -f1) -shared -Wl,-Bsymbolic -o $@ $(CUDASIM_SRC) -pthread -ldl -lm

unit: $(UNIT_BIN) jit $(CUDASIM)

# Everything that tests/run.py needs, then the tests, or the groups of ONLY (ONLY=ir,lang,unit:base); it prints "N passed, N failed" and fails if anything did.
# OPENBLAS_*: a setting for another machine would only slow the matrix products down.
ONLY ?=
# What a change breaks most often, for after each edit: about a minute once built.
check: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all unit $(BUILD)/examples/demo
	@env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python3 tests/run.py --build $(BUILD) --only check
test: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all unit examples $(BUILD)/diff $(BUILD)/threads $(if $(SAN),,python wheel-files rt)
	@env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python3 tests/run.py --build $(BUILD) --python "$(PYTHON)" $(ONLY:%=--only "%") $(if $(SAN),--sanitizer $(SAN))

# C as .clang-format and scripts/format set it.
format: deps-test
	@python3 scripts/format --jobs $(JOBS)
check-format: deps-test
	@python3 scripts/format --check --jobs $(JOBS)

# Every program at every level of optimisation, with one thread and with two: right, and the same to the last bit.
test-levels: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all
	@env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python3 tests/run.py --build $(BUILD) --only levels

# A part of make test.
GRAD ?= *
test-grad: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all
	@python3 tests/autograd/gradcheck.py --ctsc $(BUILD)/ctsc --jobs $(JOBS) --only "$(GRAD)"

# The tests as other machines would run them (tests/machines.py --list).
MACHINES ?=
SURROUNDINGS := $(BUILD)/tests/machines/libsurroundings.so
$(SURROUNDINGS): tests/machines/surroundings.c tests.mk
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) $(CPPFLAGS) $(filter-out $(SANFLAGS),$(CFLAGS)) -shared -o $@ $< -ldl
test-machines: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all unit examples $(BUILD)/diff $(BUILD)/threads $(SURROUNDINGS)
	@python3 tests/machines.py --build $(BUILD) -j $(JOBS) --machines "$(MACHINES)"

# The corpus on a CUDA device, and on the simulated one, where kernels are compiled by the host's compiler and kept in the build folder.
CUDA_CORPUS ?= tests/corpus
CUDA_TEST ?=
test-cuda: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all
	python3 tests/cuda/run.py --ctsc $(BUILD)/ctsc -j 2 $(CUDA_TEST) $(CUDA_CORPUS)
test-cuda-sim: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all $(CUDASIM)
	python3 tests/cuda/run.py --ctsc $(BUILD)/ctsc --sim $(CUDASIM) --cache $(BUILD)/cache -j $(JOBS) $(CUDA_TEST) $(CUDA_CORPUS)

# Calls that are recorded and replayed (tests/cuda/repeat.c); then many of one, whose memory must not grow.
$(BUILD)/repeat: tests/cuda/repeat.c include/ctsc.h $(BUILD)/libctsc.a
	@echo "  LD    $@"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(PARTS) $(LDLIBS)
REPEAT ?= tests/corpus/models/* tests/corpus/lang/*
test-cuda-repeat: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) $(BUILD)/repeat $(CUDASIM) $(BUILD)/tests/unit/test_cuda_recording
	XDG_CACHE_HOME=$(BUILD)/cache python3 tests/cuda/sim.py --build $(BUILD) $(BUILD)/repeat $(REPEAT)
	CTSC_TEST_CALLS=100000 $(BUILD)/tests/unit/test_cuda_recording

# What only real PyTorch can tell: both directions, for every program of the corpus and the examples. Skips without PyTorch
# (Debian's python3-torch); TORCH_PYTHON names another Python that has it.
TORCH_PYTHON ?= /usr/bin/python3
test-torch: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all python
	@status=0; for t in tests/interop/*.py tests/prelude/*.py; do echo "$$t"; \
	    "$(TORCH_PYTHON)" $$t --ctsc $(BUILD)/ctsc || [ $$? = 77 ] || status=1; done; exit $$status

# Generated calls of operators and small programs against PyTorch 2.15, which PYTHON has: make against-torch PYTHON=/path/to/python [AGAINST="--seed 2 -k 'clamp*'"]
# and the samples of PyTorch's tests and calls of all overloads, these also as saved programs, with what shares memory: AGAINST_SAMPLES="--samples 3 -k 'view*'"
# A part of the operators in under ten minutes, another one with AGAINST_SAMPLES="--seed 2"; AGAINST=all: all of them, and calls with out=.
AGAINST ?=
AGAINST_SAMPLES ?=
AGAINST_PART = $(if $(filter all,$(AGAINST)),,--seconds 70)
AGAINST_FORMS = "" "--schemas" "--schemas --as script --samples 2" "--schemas --as export --samples 2" $(if $(filter all,$(AGAINST)),"--out --samples 2")
against-torch: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all python
	status=0; \
	python3 tests/against/against.py --python "$(or $(PYTHON),python3)" --package $(BUILD)/python $(filter-out all,$(AGAINST)) || status=1; \
	for form in $(AGAINST_FORMS); do \
	"$(or $(PYTHON),python3)" tests/against/against_samples.py $$form $(AGAINST_PART) --package $(BUILD)/python --summary $(AGAINST_SAMPLES) || status=1; \
	done; \
	exit $$status

# Sizes, strides and dtypes on device meta, for the calls of a conformance corpus: make against-torch-meta PYTHON=/path/to/python CORPUS=corpus/ops
against-torch-meta: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all python
	"$(or $(PYTHON),python3)" tests/against/meta.py --package $(BUILD)/python --corpus "$(CORPUS)"

# Every operator with absurdly large numbers: EXTREMES="-k pool".
EXTREMES ?=
test-extremes: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all python
	PYTHONPATH=$(BUILD)/python python3 tests/sweep/extremes.py --ctsc $(BUILD)/ctsc $(EXTREMES)

# Unit tests on a processor with AMX that Bochs emulates: tests/machines/bochs.py says which Bochs.
AMX_TESTS ?= test_isa test_amx test_quantized_bytes test_linear_half
test-amx: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) $(addprefix $(BUILD)/tests/unit/,$(AMX_TESTS))
	python3 tests/machines/bochs.py --bochs "$(or $(BOCHS),bochs)" --build $(BUILD) $(AMX_TESTS)

# Networks of torchvision, timm, transformers, torchao, torchaudio and kornia, and small programs, exported by torch.export, run and compared: PT2_PYTHON has PyTorch 2.5 or newer.
PT2_PYTHON ?= python3
test-pt2: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all
	"$(PT2_PYTHON)" tests/pt2/networks.py --ctsc $(BUILD)/ctsc $(PT2)

# Programs of torch.export with each field of their JSON missing, of another type, huge, nested in itself: all of them, which make test samples; with
# sanitizers. PT2_EVERY=10: one in ten.
PT2_EVERY ?= 1
test-pt2-damage: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) BUILD=build-asan SAN=1 build-asan/tests/unit/test_exported
	EXPORTED_EVERY=$(PT2_EVERY) build-asan/tests/unit/test_exported

# Networks of torchvision and transformers to and from ONNX, checked by onnx.checker and ONNX Runtime: ONNX_PYTHON has them, and PyTorch.
test-onnx: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all python
	"$(ONNX_PYTHON)" tests/onnx/networks.py --ctsc $(BUILD)/ctsc $(ONNX_TEST); status=$$?; [ $$status = 77 ] || exit $$status
	"$(ONNX_PYTHON)" tests/onnx/quantize.py --ctsc $(BUILD)/ctsc; status=$$?; [ $$status = 77 ] || exit $$status
	"$(ONNX_PYTHON)" tests/onnx/calls.py --package $(BUILD)/python --torch --opset 17,20,28 --least 95 -q; status=$$?; [ $$status = 77 ] || exit $$status

# ONNX's own tests of operators (onnx.backend.test) through the importer: ONNX_PYTHON has onnx and NumPy. ONNX_NODES="-k attention -v"
test-onnx-nodes: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all python
	"$(ONNX_PYTHON)" tests/onnx/nodes.py --package $(BUILD)/python $(ONNX_NODES); status=$$?; [ $$status = 77 ] || exit $$status

# Libraries that import torch, installed without PyTorch (tests/libraries/libraries.py has the versions): programs print what they print under PyTorch 2.15.
# LIBRARIES_PYTHON makes the environment; LIBRARIES="timm einops" for some of them.
LIBRARIES_PYTHON ?= python3
LIBRARIES ?=
test-libraries: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) python
	python3 tests/libraries/libraries.py --package $(BUILD)/python --site $(BUILD)/libraries --install --base "$(LIBRARIES_PYTHON)" $(LIBRARIES); status=$$?; [ $$status = 77 ] || exit $$status

# The files of ctsc train --tensorboard, read by TensorBoard: TENSORBOARD_PYTHON has it (pip install tensorboard).
TENSORBOARD_PYTHON ?= python3
test-tensorboard: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all
	"$(TENSORBOARD_PYTHON)" tests/interop/tensorboard_events.py --ctsc $(BUILD)/ctsc; status=$$?; [ $$status = 77 ] || exit $$status
	@$(MAKE) --no-print-directory python
	"$(TENSORBOARD_PYTHON)" tests/interop/summary_writer.py --package $(BUILD)/python; status=$$?; [ $$status = 77 ] || exit $$status

# The calls that PyTorch's own tests make of scripted and traced code, recorded, replayed and compared: TORCH_TESTS is the folder test/ of a
# checkout of PyTorch, of TORCH_PYTHON's version; about half an hour. HARVEST="--modules jit.test_hash --keep DIR"
TORCH_TESTS ?=
test-harvest: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all
	@[ -d $(BUILD)/harvest ] || python3 -m pip install -q --target $(BUILD)/harvest expecttest==0.1.6 || echo "expecttest cannot be installed"
	PYTHONPATH=$(BUILD)/harvest "$(TORCH_PYTHON)" tests/interop/harvest.py --ctsc $(BUILD)/ctsc --tests "$(TORCH_TESTS)" $(HARVEST)

# The same source, the same bytes. make test builds some files twice and looks for the folder's name in the others.
reproducible: deps-build
	@python3 tests/reproducible.py --all --jobs $(JOBS)
SBOM_PYTHON ?= python3
test-sbom: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all shared python
	@"$(SBOM_PYTHON)" tests/sbom.py --build $(BUILD)

# The inference server for long: load, hostile clients, files that change; fails if a request does or memory grows.
SECONDS ?= 600
soak: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all
	python3 tests/serve/soak.py --ctsc $(BUILD)/ctsc --seconds $(SECONDS)
# SIGKILL at random moments of what writes files.
test-kill: deps-test
	@$(MAKE) --no-print-directory build-all
	python3 tests/faults/kill.py --ctsc $(BUILD)/ctsc $(KILL)
# The command with tensors that end where memory ends (tests/faults/fenced.c), in a folder of its own beside the libraries that it opens. OpenBLAS
# for newer processors reads past the end itself (src/tensor/storage.c).
FENCED := $(BUILD)/fenced
$(FENCED)/ctsc: tests/faults/fenced.c $(CLI_PARTS) $(BUILD)/libctsc.a tests.mk
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(CLI_PARTS) -Wl,--whole-archive $(BUILD)/libctsc.a -Wl,--no-whole-archive $(EXPORT) $(LDLIBS) \
	    -lmicrohttpd -lpng -lturbojpeg
	$(Q)for f in $(BUILD)/libctsc-*.so; do ln -sf ../$${f##*/} $(@D)/; done
test-fenced: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all $(FENCED)/ctsc
	@OPENBLAS_CORETYPE=Nehalem python3 tests/run.py --build $(FENCED) --only "$(or $(ONLY),corpus,exported,lang,source,grad,levels)"
$(BUILD)/tests/faults/libmalloc.so: tests/faults/malloc.c tests.mk
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) $(CPPFLAGS) $(filter-out $(SANFLAGS),$(CFLAGS)) -fno-builtin -fvisibility=default -shared -o $@ $< -ldl
test-syscalls: deps-test
	@$(MAKE) --no-print-directory build-all $(BUILD)/tests/faults/libmalloc.so
	python3 tests/faults/syscalls.py --ctsc $(BUILD)/ctsc --malloc $(BUILD)/tests/faults/libmalloc.so $(SYSCALLS)
# The C interface against what packaging/abi.xml says of it.
check-abi: deps-test
	@$(MAKE) --no-print-directory shared
	@scripts/abi check $(BUILD)
# One module, many threads: always the results of one (tests/threads/threads.c); and how throughput grows.
$(BUILD)/threads: tests/threads/threads.c include/ctsc.h $(BUILD)/libctsc.a
	@echo "  LD    $@"
	$(Q)$(CC) -Iinclude $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libctsc.a $(LDLIBS)
THREADS_SECONDS ?= 60
THREADS_COUNTS ?= 2,8,64
test-threads: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) $(BUILD)/threads jit
	TSAN_OPTIONS="suppressions=tests/tsan.supp" $(BUILD)/threads --seconds $(THREADS_SECONDS) --threads $(THREADS_COUNTS)
# Compiling, saving, loading, tracing and running with each of their allocations failing: make test looks at a sample of the larger ones.
test-faults: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) $(filter %_faults %test_faults %test_grad_program,$(UNIT_BIN)) jit
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
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all
	@[ -d $(BUILD)/triton ] || pip install -q --target $(BUILD)/triton 'tritonclient[http,grpc]' || echo "tritonclient cannot be installed"
	python3 tests/serve/triton.py --ctsc $(BUILD)/ctsc --site $(BUILD)/triton

# The server behind proxies that are installed (Debian: nginx-light, caddy), with TLS; gRPC by the client of test-triton.
test-proxies: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all
	$(VENV_PYTHON) tests/serve/proxies.py --ctsc $(BUILD)/ctsc $(if $(wildcard $(BUILD)/triton),--site $(BUILD)/triton)

# The Python package alone. In make test SAN=1 it is not built: its tests take longer there than all others.
test-python: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all python $(CUDASIM)
	@python3 tests/run.py --build $(BUILD) --python "$(PYTHON)" --only python $(if $(SAN),--sanitizer $(SAN))

KILLS ?= 100
test-distributed-kills:
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all python
	PYTHONPATH=$(BUILD)/python "$(PYTHON)" tests/distributed/kills.py $(KILLS)

# The package under dask.distributed, from PyPI, in an environment of its own in the build folder.
test-dask: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) python
	@[ -x $(BUILD)/dask/bin/dask ] || { "$(VENV_PYTHON)" -m venv $(BUILD)/dask && $(BUILD)/dask/bin/pip install -q 'dask[array]' distributed; }
	PYTHONPATH=$(BUILD)/python $(BUILD)/dask/bin/python examples/python/dask_map.py

# The package as a step of scikit-learn's pipelines, and its stubs by mypy, from PyPI, likewise.
test-sklearn: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) python
	@[ -e $(BUILD)/sklearn/.done ] || { "$(VENV_PYTHON)" -m venv $(BUILD)/sklearn && $(BUILD)/sklearn/bin/pip install -q pytest numpy scikit-learn mypy && \
	    touch $(BUILD)/sklearn/.done; }
	PYTHONPATH=$(BUILD)/python $(BUILD)/sklearn/bin/python -m pytest -q -p no:cacheprovider tests/python/test_py_sklearn.py tests/python/test_py_types.py

# The package beside JAX and under Ray, from PyPI, likewise. Ray writes a token into the home folder, for which the environment stands here.
test-jax: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) python
	@[ -e $(BUILD)/jax/.done ] || { "$(VENV_PYTHON)" -m venv $(BUILD)/jax && $(BUILD)/jax/bin/pip install -q jax numpy && touch $(BUILD)/jax/.done; }
	PYTHONPATH=$(BUILD)/python $(BUILD)/jax/bin/python tests/interop/python_jax.py
test-ray: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) python
	@[ -x $(BUILD)/ray/bin/ray ] || { "$(VENV_PYTHON)" -m venv $(BUILD)/ray && $(BUILD)/ray/bin/pip install -q ray numpy; }
	HOME="$$(realpath $(BUILD)/ray)" PYTHONPATH="$$(realpath $(BUILD)/python)" $(BUILD)/ray/bin/python examples/python/ray_map.py

# What Tensor claims of the array API standard, by data-apis' tests: ARRAY_API_TESTS is a checkout of github.com/data-apis/array-api-tests, which is not on PyPI;
# the environment is made in the build folder. What is left out, and why: tests/python/array_api_skips.txt.
ARRAY_API_TESTS ?= $(BUILD)/array-api-tests
test-array-api: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) python
	@[ -d $(ARRAY_API_TESTS) ] || git clone -q --recurse-submodules --depth 1 https://github.com/data-apis/array-api-tests $(ARRAY_API_TESTS)
	@[ -x $(BUILD)/array-api/bin/pytest ] || { "$(VENV_PYTHON)" -m venv $(BUILD)/array-api && \
	    $(BUILD)/array-api/bin/pip install -q -r $(ARRAY_API_TESTS)/requirements.txt numpy; }
	python3 tests/python/array_api.py --python $(BUILD)/array-api/bin/python --build $(BUILD) --suite $(ARRAY_API_TESTS) $(ARRAY_API)

VIEW ?=
test-view: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all
	@scripts/install-deps view
	python3 tests/view/browser.py --ctsc $(BUILD)/ctsc $(VIEW)

# Calls of every operator at the edges (empty, 0-dim, overlapping, nan, overflow ...) against real PyTorch; prints what differs. What agreed is
# kept in tests/edges/cases.txt, which make test checks: make test-edges [EDGES_SEED=2]
EDGES_SEED ?= 2
test-edges: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all $(BUILD)/tests/unit/test_edges
	"$(TORCH_PYTHON)" tests/edges/make.py --ctsc $(BUILD)/ctsc --seed $(EDGES_SEED) > $(BUILD)/edges.txt
	$(BUILD)/tests/unit/test_edges $(BUILD)/edges.txt -v

# Fuzz targets, with libFuzzer: build-fuzz/fuzz_NAME [-max_total_time=60] [FOLDER-OF-SEEDS]
fuzz: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) BUILD=build-fuzz CC=clang-19 CCACHE= \
	    SANFLAGS="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined" OPT=-O1 \
	    fuzz-targets
fuzz-fast: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) BUILD=build-fuzz-fast CC=clang-19 CCACHE= \
	    SANFLAGS="-fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp" OPT=-O2 fuzz-targets
# All targets in turn, SECONDS= each, from seeds and what earlier runs kept; prints a table. FUZZ="--only call,source"
fuzz-all: fuzz
	python3 tests/fuzz/all.py --build build-fuzz --seconds $(SECONDS) $(FUZZ)
FUZZ_SRC := $(filter-out $(if $(GRPC_LIB),,tests/fuzz/fuzz_grpc.c),$(wildcard tests/fuzz/fuzz_*.c))
# The messages of gRPC, without libgrpc.
OF_GRPC := $(BUILD)/fuzz_grpc $(BUILD)/replay_grpc
$(OF_GRPC): private CPPFLAGS += -I$(GRPC_DIR)
$(OF_GRPC): WITH := $(filter-out %/grpc_server.o,$(GRPC_OBJ)) $(GRPC_DIR)/inference.pb-c.o $(BUILD)/libserve.a
$(OF_GRPC): $(GRPC_OBJ) $(GRPC_DIR)/inference.pb-c.o $(BUILD)/libserve.a
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
	@$(MAKE) --no-print-directory $(AT_ONCE) SAN=1 BUILD=build-asan build-asan/damage jit
	@mkdir -p build-asan/damaged
	ASAN_OPTIONS=allocator_may_return_null=1:quarantine_size_mb=16 LSAN_OPTIONS=suppressions=tests/lsan.supp UBSAN_OPTIONS=print_stacktrace=1 \
	    build-asan/damage $(DAMAGE) --keep build-asan/damaged $(DAMAGE_FILES)

# Files of every format (tests/damage/formats.py): make test-damage-formats [FORMATS="--count 100000 --seed 2"]
FORMATS ?= --count 10000
test-damage-formats: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) SAN=1 BUILD=build-asan build-asan/replay_archive build-asan/replay_values
	python3 tests/damage/formats.py --build build-asan $(FORMATS)

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
	@$(MAKE) --no-print-directory $(AT_ONCE) $(BUILD)/diff $(BUILD)/ctsc jit
	$(BUILD)/diff --seed $(SEED) --count $(DIFF_COUNT) --jobs $(JOBS)
	XDG_CACHE_HOME=$(BUILD)/cache $(BUILD)/diff --seed $(SEED) --count $(DIFF_LEVEL_COUNT) --jobs $(JOBS) --level 3 --vary 6
	$(BUILD)/diff --nests --seed $(SEED) --count $(DIFF_COUNT) --jobs $(JOBS) --vary 4
	$(BUILD)/diff --images 100 --seed $(SEED) --count $$(($(DIFF_COUNT) / 10)) --jobs $(JOBS)
	python3 tests/diff/qdq.py --ctsc $(BUILD)/ctsc --seed $(SEED) --count $$(($(DIFF_COUNT) / 1000 + 1))

# Which operators meet in a kernel, and which passes on a graph: a hundred programs for each pair (docs/coverage.md). Takes an hour.
diff-coverage: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) $(BUILD)/diff jit
	XDG_CACHE_HOME=$(BUILD)/cache $(BUILD)/diff --coverage=100 --native 1 --seed $(SEED) --jobs $(JOBS)
	$(BUILD)/diff --tables --seed $(SEED) --count $(DIFF_COUNT) --jobs $(JOBS)

# Random programs in Python at level 0 and level 3, with one thread and two: make test-sweep [SWEEP="--lines 20000 --programs 20000 --seed 1"]
$(BUILD)/sweep: tests/sweep/sweep_main.c include/ctsc.h $(BUILD)/libctsc.a
	@echo "  LD    $@"
	$(Q)$(CC) -Iinclude $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libctsc.a $(LDLIBS)
SWEEP ?=
test-sweep: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) $(BUILD)/sweep jit
	XDG_CACHE_HOME=$(BUILD)/cache python3 tests/sweep/sweep.py --sweep $(BUILD)/sweep --jobs $(JOBS) $(SWEEP)

# Lines and branches that the tests run, in a build of their own (half an hour of two processors); what is not run goes to a file.
COVERAGE ?= --uncovered build-coverage/uncovered.txt
coverage: deps-test
	@$(MAKE) --no-print-directory $(AT_ONCE) SAN=coverage build-all unit
	python3 tests/coverage.py --build build-coverage --jobs $(JOBS) $(COVERAGE)

# Bugs planted, one at a time: which does nothing notice? make mutate [MUTATE="--area passes --count 60 --seed 2"]
mutate: deps-test
	@python3 tests/mutate.py $(MUTATE)

.PHONY: test-proxies unit check test format check-format test-levels test-grad test-machines test-cuda test-cuda-sim test-cuda-repeat test-torch against-torch against-torch-meta test-amx test-extremes test-pt2 test-pt2-damage test-onnx test-onnx-nodes test-tensorboard test-harvest soak test-threads test-faults test-kill check-abi reproducible test-sbom test-syscalls test-fenced test-all test-triton test-python test-distributed-kills test-dask test-sklearn test-jax test-ray test-array-api test-view test-edges fuzz fuzz-all fuzz-fast fuzz-targets test-damage diff diff-coverage test-sweep coverage test-damage-formats mutate
