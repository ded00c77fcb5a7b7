# SPDX-License-Identifier: Apache-2.0
"""A peer as a contender of `make bench-nets`, kept running: loads a network, compares its result with PyTorch's, and runs it when told.

    nets_worker.py pytorch|onnxruntime|openvino FOLDER/NETWORK THREADS

Speaks as nets_ctsc.c does (nets_measure.py). Each peer as its makers recommend it for inference on a CPU, in float32: PyTorch the traced archive through
torch.jit.optimize_for_inference, the others the ONNX file with their default optimisations. What optimize_for_inference of PyTorch 1.13 makes of some
networks fails, or computes something else: these are frozen alone, as the note says.
"""
import importlib
import os
import sys

from nets_measure import difference, serve, status_kib

WRONG = 1e-2  # of the largest value
KIND, BASE, THREADS = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(THREADS)
import numpy


def open_pytorch(inputs, want):
    import torch
    torch.set_num_threads(THREADS)
    torch.set_grad_enabled(False)
    module = torch.jit.load(BASE + ".pt").eval()
    args = [torch.from_numpy(x) for x in inputs]

    def arrays(got):
        return [t.numpy() for t in (got if isinstance(got, tuple) else (got,))]

    note = None
    try:
        run = torch.jit.optimize_for_inference(module)
        note = "frozen" if difference(arrays(run(*args)), want) > WRONG else None
    except Exception as e:  # whatever it is
        print(e, file=sys.stderr)
        note = "frozen"
    if note:  # from the file again: the module may have been changed
        run = torch.jit.freeze(torch.jit.load(BASE + ".pt").eval())
    return "PyTorch " + torch.__version__, lambda: run(*args), lambda: arrays(run(*args)), note


def open_onnxruntime(inputs, want):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(BASE + ".onnx", options, providers=["CPUExecutionProvider"])
    feed = dict(zip((i.name for i in session.get_inputs()), inputs))
    run = lambda: session.run(None, feed)
    return "ONNX Runtime " + onnxruntime.__version__, run, run, None


def open_openvino(inputs, want):
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(BASE + ".onnx"), "CPU",
                                  {"INFERENCE_NUM_THREADS": THREADS, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    feed = dict(enumerate(inputs))

    def results():
        got = request.infer(feed)
        return [got[o] for o in compiled.outputs]
    return "OpenVINO " + openvino.__version__.split("-")[0], lambda: request.infer(feed), results, None


MODULES = {"pytorch": "torch"}  # others are called as their contender
OPEN = {"pytorch": open_pytorch, "onnxruntime": open_onnxruntime, "openvino": open_openvino}


def load():
    with numpy.load(BASE + ".npz") as arrays:
        inputs, want = ([arrays[k] for k in sorted(arrays.files, key=lambda k: int(k[1:])) if k[0] == letter] for letter in "xy")
    importlib.import_module(MODULES.get(KIND, KIND))
    base = status_kib("VmRSS")
    return OPEN[KIND](inputs, want) + (want, base)


serve(load)
