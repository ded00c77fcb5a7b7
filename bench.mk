# SPDX-License-Identifier: Apache-2.0
#
# bench.mk - measurements. Other engines are measured in the same run, in turns, where they are installed.
#
#   make bench          the benchmark suite, with PyTorch and ONNX Runtime where they are installed (BENCH=)
#   make bench-ops      single operators, with PyTorch where it is installed (OPS="--only sort")
#   make bench-nets     whole networks against PyTorch, ONNX Runtime and OpenVINO, into docs/bench-nets.md (NETS="--only resnet --threads 1", PEERS=, CPU=avx2)
#   make bench-memory   the memory that these take, into docs/bench-memory.md (NETS=, PEERS=)
#   make bench-narrow   models in bfloat16, float16, int8 and int4 against every peer that is installed, into docs/bench-narrow.md (NARROW="--only qwen3", NARROW_PYTHON=)
#   make bench-quantised  networks quantised by PyTorch against ONNX Runtime's int8 (QUANTISED="--only resnet18", PEERS=)
#   make bench-pt2      networks as .pt and as .pt2: equal fusion groups, equal times (PT2_PYTHON=, PT2_FORMS="-k bert --rounds 5")
#   make bench-cuda     on a CUDA device, against its limits, and PyTorch where it is installed (TORCH_PYTHON=)
#   make bench-load     load and run times of a model (MODEL=, INPUTS=)
#   make bench-coldstart  from process start to the result of one call, and memory (COLDSTART=)
#   make bench-serve    requests per second of the inference server (wrk)
#   make bench-threads  calls per second of one thread and of two
#   make bench-kernels  speed of generated code against memcpy
#   make bench-gemm     speed of matrix products against OpenBLAS
#   make bench-quads    speed of products of bfloat16 and of bytes, by each set of kernels
#   make bench-optimizers  a step of each optimiser against memcpy

# The suite: make bench [BENCH="--only softmax --threads 1 --json times.json"]. TORCH_PYTHON, ONNX_PYTHON: Pythons that have the peers.
ONNX_PYTHON ?= python3
bench: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all $(BUILD)/bench/copy
	@python3 bench/suite.py --ctsc $(BUILD)/ctsc --torch-python "$(TORCH_PYTHON)" --onnxruntime-python "$(ONNX_PYTHON)" $(BENCH)

# Single operators, family by family: make bench-ops [OPS="--only sort --threads 1 --json times.json"].
bench-ops: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) $(BUILD)/bench/calls $(BUILD)/bench/copy
	@python3 bench/ops.py --bench $(BUILD)/bench --torch-python "$(TORCH_PYTHON)" $(OPS)

bench-cuda: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all
	@python3 bench/cuda.py --ctsc $(BUILD)/ctsc --torch-python "$(TORCH_PYTHON)" $(BENCH)

# Whole networks, written by TORCH_PYTHON's PyTorch 1.13 and torchvision: make bench-nets [NETS="--only resnet18 --rounds 5 --json times.json"]. PEERS: a
# virtual environment with ONNX Runtime and OpenVINO, made where it is missing.
# CPU=avx2: as a processor without AVX-512 would do it; peers are held to the same where they have a switch for that.
PEERS ?= $(BUILD)/peers
CPU ?=
bench-nets: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all $(BUILD)/bench/nets/nets_ctsc
	@python3 bench/nets/nets_suite.py --ctsc $(BUILD)/ctsc --worker $(BUILD)/bench/nets/nets_ctsc --torch-python "$(TORCH_PYTHON)" --peers $(PEERS) \
	    --folder $(BUILD)/nets $(CPU:%=--cpu %) $(NETS)

# What they take in memory, into docs/bench-memory.md: make bench-memory [NETS="--only resnet18"].
bench-memory: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all $(BUILD)/bench/nets/nets_ctsc
	@python3 bench/nets/nets_memory.py --ctsc $(BUILD)/ctsc --worker $(BUILD)/bench/nets/nets_ctsc --torch-python "$(TORCH_PYTHON)" --peers $(PEERS) \
	    --folder $(BUILD)/nets --threads 1 $(NETS)

# Networks quantised by PyTorch, against the same networks quantised by ONNX Runtime: make bench-quantised [QUANTISED="--only resnet18 --rounds 5"].
bench-quantised: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all
	@python3 bench/quantised.py --ctsc $(BUILD)/ctsc --torch-python "$(TORCH_PYTHON)" --peers $(PEERS) --folder $(BUILD)/quantised $(QUANTISED)

# Narrow numbers, with NARROW_PYTHON's PyTorch, ONNX Runtime, OpenVINO, ...: make bench-narrow [NARROW="--only bert --threads 1 --rounds 5 --json times.json"].
# The page is written where all rows are measured. CPU=avx2: as a processor without AVX-512 would do it.
NARROW_PYTHON ?= $(PEERS)/bin/python
bench-narrow: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all python $(BUILD)/bench/peaks
	@python3 bench/narrow.py --ctsc $(BUILD)/ctsc --package $(BUILD)/python --peaks $(BUILD)/bench/peaks --python "$(NARROW_PYTHON)" \
	    --torch-python "$(TORCH_PYTHON)" --folder $(BUILD)/narrow $(CPU:%=--cpu %) \
	    $(if $(findstring --only,$(NARROW)),,--markdown docs/bench-narrow.md) $(NARROW)

# Times of one model: make bench-load MODEL=x.pt INPUTS=in.pt [THREADS=1]
MODEL ?= models/digits_cnn.pt
INPUTS ?= models/digits_test.pt
THREADS ?= 1
bench-load: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) $(BUILD)/bench/load
	@env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(BUILD)/bench/load $(MODEL) $(INPUTS) $(THREADS)
$(BUILD)/bench/%: bench/%.c include/ctsc.h $(BUILD)/libctsc.a
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) -Iinclude $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libctsc.a $(LDLIBS)

# One call from process start on: make bench-coldstart [COLDSTART="--model x.pt --input float32[1,3,224,224]:rand --rounds 20"]
bench-coldstart: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all
	@python3 bench/coldstart.py --ctsc $(BUILD)/ctsc --torch-python "$(TORCH_PYTHON)" $(COLDSTART)

# Generated code against memcpy, one thread.
bench-kernels: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) $(BUILD)/bench/kernels jit
	@$(BUILD)/bench/kernels
# Matrix products against OpenBLAS, one thread: make bench-gemm [GEMM="--double linear"].
bench-gemm: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) $(BUILD)/bench/gemm
	@env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OPENBLAS_NUM_THREADS=1 $(BUILD)/bench/gemm $(GEMM)
# Products of bfloat16 and of bytes by each set of kernels, one thread: make bench-quads [QUADS=bf16].
bench-quads: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) $(BUILD)/bench/quads
	@$(BUILD)/bench/quads $(QUADS)
# A step of each optimiser against memcpy: make bench-optimizers [OPTIMIZERS="11 1"] (millions of elements, threads).
bench-optimizers: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) $(BUILD)/bench/optimizers
	@$(BUILD)/bench/optimizers $(OPTIMIZERS)
$(BUILD)/bench/kernels $(BUILD)/bench/gemm $(BUILD)/bench/quads $(BUILD)/bench/optimizers: $(BUILD)/bench/%: bench/%.c $(BUILD)/libctsc.a
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(PARTS) $(LDLIBS)
# The same networks as TorchScript and as programs of torch.export: what runs of both is compared, and timed.
bench-pt2: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all
	"$(PT2_PYTHON)" tests/pt2/forms.py --ctsc $(BUILD)/ctsc --times $(PT2_FORMS)

# Requests per second of the inference server (wrk, 32 connections): make bench-serve [SERVE="--only digits --seconds 10"]
bench-serve: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) build-all
	@python3 bench/serve.py --ctsc $(BUILD)/ctsc $(SERVE)
bench-threads: deps-build
	@$(MAKE) --no-print-directory $(AT_ONCE) $(BUILD)/threads jit
	@$(BUILD)/threads --throughput --seconds $(THREADS_SECONDS)

.PHONY: bench bench-ops bench-cuda bench-nets bench-memory bench-quantised bench-narrow bench-load bench-coldstart bench-kernels bench-gemm bench-quads bench-optimizers bench-pt2 bench-serve bench-threads
