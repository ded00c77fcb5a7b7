# SPDX-License-Identifier: Apache-2.0
"""A contender of `make bench-narrow`, kept running: speaks as the workers of bench-nets do (nets/nets_measure.py).

    narrow_worker.py SPEC       a JSON object: kind, threads, model (a file), arrays (an .npz with arguments and results), and what the kind wants:

    ctsc          precision (ctsc.set_precision), dtype of floating-point arguments
    pytorch       dtype; an archive is frozen, one of torch.export called as a module; torchao: "int8" or "int4" of narrow_models' blocks
    onnxruntime   dtype
    openvino      hint (INFERENCE_PRECISION_HINT); none: its default, which the note tells
    llamacpp      a .gguf; prompt and new: tokens. The figure is what its server says of itself

steps: the last argument, an index into a cache, counts from call to call. The result is compared with the first call's.
"""
import itertools
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "nets"))
from nets_measure import serve, status_kib

SPEC = json.loads(sys.argv[1])
THREADS = SPEC["threads"]
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(THREADS)
import numpy

STEPS = range(64, 128)


def arrays():
    with numpy.load(SPEC["arrays"]) as a:
        return [[a[k] for k in sorted(a.files, key=lambda k: int(k[1:])) if k[0] == letter] for letter in "xy"]


def listed(got):
    return list(got) if isinstance(got, (tuple, list)) else [got]


def calls(run, args, at):
    """What is timed, and what gives the results: of the first arguments. at(i): the last argument at step i."""
    if not SPEC.get("steps"):
        return lambda: run(*args), lambda: listed(run(*args))
    steps = itertools.cycle([at(i) for i in STEPS])
    return lambda: run(*args[:-1], next(steps)), lambda: listed(run(*args))


def load_ctsc():
    sys.path.insert(0, SPEC["package"])
    import ctsc
    inputs, want = arrays()
    base = status_kib("VmRSS")
    ctsc.set_num_threads(THREADS)
    module = ctsc.load(SPEC["model"])
    if SPEC.get("precision"):
        module.set_precision(SPEC["precision"])
    dtype = getattr(ctsc, SPEC.get("dtype", "float32"))
    args = [ctsc.from_numpy(x) for x in inputs]
    args = [a.to(dtype) if a.dtype == ctsc.float32 else a for a in args]
    run, results = calls(module, args, lambda i: ctsc.tensor([i]))

    def warm():
        got = results()
        ctsc.wait_for_kernels()
        return [t.float().numpy() for t in got]
    return "ctsc " + ctsc.__version__, run, warm, None, want, base


def load_pytorch():
    import torch
    inputs, want = arrays()
    base = status_kib("VmRSS")
    torch.set_num_threads(THREADS)
    torch.set_grad_enabled(False)
    note = None
    if SPEC.get("torchao"):
        module, note = torchao_blocks(len(inputs[0]), SPEC["torchao"]), "torchao"
    elif SPEC["model"].endswith(".pt2"):
        program = torch.export.load(SPEC["model"])
        called, names = program.module(), list((program.example_inputs or ((), {}))[1])
        module = lambda *args: called(*args[:len(args) - len(names)], **dict(zip(names, args[len(args) - len(names):])))
    else:
        module = torch.jit.freeze(torch.jit.load(SPEC["model"]).eval()) if SPEC.get("freeze", True) else torch.jit.load(SPEC["model"]).eval()
    dtype = getattr(torch, SPEC.get("dtype", "float32"))
    args = [torch.from_numpy(x) for x in inputs]
    args = [a.to(dtype) if a.is_floating_point() else a for a in args]
    run, results = calls(module, args, lambda i: torch.tensor([i]))
    return "PyTorch " + torch.__version__, run, lambda: [t.float().numpy() for t in results()], note, want, base


def torchao_blocks(rows, kind):
    import torch
    import torchao.quantization as q
    from narrow_models import GROUP, mlp
    config = q.Int8WeightOnlyConfig() if kind == "int8" else q.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=q.PerGroup(GROUP))
    module = mlp(rows)[0].eval()
    q.quantize_(module, config)
    return module


def load_onnxruntime():
    import onnxruntime
    inputs, want = arrays()
    base = status_kib("VmRSS")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(SPEC["model"], options, providers=["CPUExecutionProvider"])
    inputs = [x.astype(SPEC.get("dtype", "float32")) if x.dtype == numpy.float32 else x for x in inputs]
    feed = dict(zip((i.name for i in session.get_inputs()), inputs))
    run = lambda: session.run(None, feed)
    return "ONNX Runtime " + onnxruntime.__version__, run, lambda: [y.astype(numpy.float32) for y in run()], None, want, base


def load_openvino():
    import openvino
    inputs, want = arrays()
    base = status_kib("VmRSS")
    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": THREADS, "PERFORMANCE_HINT": "LATENCY"}
    if SPEC.get("hint"):
        settings["INFERENCE_PRECISION_HINT"] = SPEC["hint"]
    compiled = core.compile_model(core.read_model(SPEC["model"]), "CPU", settings)
    kept = compiled.get_property("INFERENCE_PRECISION_HINT").to_string()
    request = compiled.create_infer_request()
    feed = dict(enumerate(inputs))

    def results():
        got = request.infer(feed)
        return [got[o].astype(numpy.float32) for o in compiled.outputs]
    return "OpenVINO " + openvino.__version__.split("-")[0], lambda: request.infer(feed), results, kept, want, base


def load_llamacpp():
    import xllamacpp
    base = status_kib("VmRSS")
    p = xllamacpp.CommonParams()
    p.model.path = SPEC["model"]
    p.n_ctx, p.n_batch, p.n_ubatch, p.n_parallel = 1024, 512, 512, 1
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = THREADS
    p.warmup = p.cache_prompt = False
    server = xllamacpp.Server(p)
    prompt = [(i * 7919 + 13) % 7999 for i in range(SPEC["prompt"])]

    def run():
        got = server.handle_completions({"prompt": prompt, "max_tokens": SPEC["new"], "n_predict": SPEC["new"], "temperature": 0, "ignore_eos": True,
                                         "cache_prompt": False, "timings_per_token": True})
        times = got.get("timings") or got
        return times["prompt_ms"] if SPEC["new"] == 1 else times["predicted_per_token_ms"]
    return "llama.cpp (xllamacpp %s)" % getattr(xllamacpp, "__version__", "?"), run, lambda: run(), None, None, base


def measure_own(run, seconds):
    """Of a contender that tells its times itself."""
    import time
    times, end = [], time.perf_counter() + seconds
    while len(times) < 2 or time.perf_counter() < end:
        times.append(run())
    return {"min_ms": min(times), "median_ms": sorted(times)[len(times) // 2], "peak_kib": status_kib("VmHWM")}


load = {"ctsc": load_ctsc, "pytorch": load_pytorch, "onnxruntime": load_onnxruntime, "openvino": load_openvino, "llamacpp": load_llamacpp}[SPEC["kind"]]
if SPEC["kind"] == "llamacpp":
    serve(load, measure_own)
else:
    serve(load)
