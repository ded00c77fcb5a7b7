#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks to and from ONNX: what ctsc writes is checked by onnx.checker and run by ONNX Runtime, what torch.onnx.export writes is run by ctsc.

    tests/onnx/networks.py --ctsc build/ctsc [--group out|in|dynamo|encoders|flow|quantised] [-k NAME] [--levels 0,1,2,3] [--all]

out: torchvision's networks, traced, `ctsc convert`. in, dynamo: the same networks by the two exporters of PyTorch. encoders: transformer encoders both
ways, with a batch and a length that are dynamic. flow: branches and loops (flow.py), scripted, written, and read again. quantised: networks of
quantised layers, whose results are at most a step off. Weights are random; inputs small where the network allows it. Prints a line per network and fails
if one fails. Needs torch, torchvision, onnx, onnxruntime; transformers for the encoders, onnxscript for dynamo. Exit 77: one of these is missing.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
try:
    import numpy
    import onnx
    import onnxruntime
    import torch
    import torchvision
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

# Sizes of images, where 64 is too small.
SIZES = {"inception_v3": 96, "vit_": 224, "maxvit_t": 224, "googlenet": 96}
# What PyTorch's exporters can write only of these sizes.
EXPORTED = {"alexnet": 224, "vgg": 224}
# One of each family; --all: all of them.
SAMPLE = ["alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "efficientnet_v2_s", "googlenet", "inception_v3", "mnasnet0_5", "mobilenet_v2",
          "mobilenet_v3_small", "regnet_y_400mf", "resnet18", "resnext50_32x4d", "shufflenet_v2_x0_5", "squeezenet1_0", "swin_t", "swin_v2_t", "vgg11_bn",
          "vit_b_32", "maxvit_t", "fcn_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"]
LARGE = ["vit_h_14", "regnet_y_128gf", "vit_l_16", "vit_l_32"]


def run(command, timeout=600):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout)
    return done.returncode, done.stdout.strip()


def close(got, want):
    """Empty if every element is, else what differs."""
    got, want = numpy.asarray(got, dtype=numpy.float64), numpy.asarray(want, dtype=numpy.float64)
    if got.shape != want.shape:
        return "shape %s instead of %s" % (got.shape, want.shape)
    other = ~((got == want) | (numpy.isnan(got) & numpy.isnan(want)))  # infinities among them
    got, want = got[other], want[other]
    if not got.size:
        return ""
    scale, most = numpy.abs(want).max(), numpy.abs(got - want).max()
    return "" if most <= 1e-3 * scale + 1e-6 else "largest difference %g of values up to %g" % (most, scale)


def compare(got, want):
    got, want = list(got), list(want)
    if len(got) != len(want):
        return "%d results instead of %d" % (len(got), len(want))
    return "; ".join("%d: %s" % (i, text) for i, text in enumerate(map(close, got, want)) if text)


def flat(result):
    if isinstance(result, torch.Tensor):
        return [result]
    values = result.values() if isinstance(result, dict) else result
    return [t for item in values if item is not None for t in flat(item)]


def spread(result):
    """Results as a model gives them; lists of numbers are tensors."""
    if isinstance(result, tuple) or (isinstance(result, list) and any(hasattr(t, "shape") for t in result)):
        return [t for item in result for t in spread(item)]
    return [] if isinstance(result, list) and not result else [result]


def runtime(path, inputs):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return spread(tuple(session.run(None, {i.name: x.numpy() for i, x in zip(session.get_inputs(), inputs)})))


def ctsc_results(args, path, inputs, level):
    with tempfile.TemporaryDirectory() as folder:
        given, out = os.path.join(folder, "in.pt"), os.path.join(folder, "out.pt")
        torch.save(tuple(inputs), given)
        code, text = run([args.ctsc, "run", path, "--inputs", given, "--output", out, "--opt", str(level)])
        if code:
            return None, "level %d: exit %d: %s" % (level, code, text[-600:])
        return [t.detach().numpy() for t in flat(torch.load(out))], ""


class Unwrapped(torch.nn.Module):
    """What a trace takes: tensors instead of dicts and the like."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        result = flat(dict(self.model(*inputs)) if hasattr(self.model, "config") else self.model(*inputs))
        return result[0] if len(result) == 1 else tuple(result)


def write(args, folder, model, inputs, dynamic=(), more=()):
    """ctsc convert, then ONNX Runtime for these inputs and for others."""
    archive, path, given = (os.path.join(folder, n) for n in ("net.pt", "net.onnx", "in.pt"))
    with torch.no_grad():
        torch.jit.save(torch.jit.trace(model, inputs, check_trace=False), archive)
        torch.save(inputs, given)
        code, text = run([args.ctsc, "convert", archive, path, "--inputs", given, "--opset", str(args.opset)] + [w for d in dynamic for w in ("--dynamic", d)])
        if code:
            return "convert: exit %d: %s" % (code, text[-600:])
        onnx.checker.check_model(path, full_check=True)
        for these in [inputs] + list(more):
            text = compare(runtime(path, these), [t.numpy() for t in flat(model(*these))])
            if text:
                return "ONNX Runtime: " + text
    return ""


def read(args, folder, model, inputs, dynamo, **options):
    path = os.path.join(folder, "net.onnx")
    # PyTorch's exporters have no form for the attention of its fast path
    torch.backends.mha.set_fastpath_enabled(False)
    with torch.no_grad():
        want = [t.numpy() for t in flat(model(*inputs))]
        torch.onnx.export(model, inputs, path, dynamo=dynamo, **(options if dynamo else dict(opset_version=args.opset, **options)))
    for level in map(int, args.levels.split(",")):
        got, text = ctsc_results(args, path, inputs, level)
        text = text or compare(got, want)
        if text:
            return "level %d: %s" % (level, text)
    return ""


def size_of(name, group):
    sizes = SIZES if group == "out" else {**SIZES, **EXPORTED}
    return next((n for prefix, n in sizes.items() if name.startswith(prefix)), 64)


def vision(name, group):
    torch.manual_seed(0)
    options = dict(init_weights=False) if name in ("googlenet", "inception_v3") else {}
    segmentation = name.startswith(("fcn", "deeplab", "lraspp"))
    model = torchvision.models.get_model(name, weights=None, **(dict(weights_backbone=None) if segmentation else options)).eval()
    # running statistics as after training: what is constant would hide mistakes
    for m in model.modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.1)
            m.running_var.uniform_(0.5, 1.5)
    size = size_of(name, group)
    return Unwrapped(model), (torch.randn(1, 3, size, size),)


def vision_names(everything):
    if not everything:
        return SAMPLE
    classes = torchvision.models.list_models(module=torchvision.models)
    return [n for n in classes if n not in LARGE] + torchvision.models.list_models(module=torchvision.models.segmentation)


def encoders():
    import transformers
    small = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, vocab_size=300, max_position_embeddings=64)
    yield "bert", transformers.BertModel(transformers.BertConfig(**small))
    yield "roberta", transformers.RobertaModel(transformers.RobertaConfig(**small))
    yield "electra", transformers.ElectraModel(transformers.ElectraConfig(embedding_size=32, **small))
    yield "albert", transformers.AlbertModel(transformers.AlbertConfig(embedding_size=32, **small))
    yield "distilbert", transformers.DistilBertModel(transformers.DistilBertConfig(dim=64, n_layers=2, n_heads=4, hidden_dim=128, vocab_size=300, max_position_embeddings=64))
    yield "mpnet", transformers.MPNetModel(transformers.MPNetConfig(**small))


def encoder_inputs(batch, length):
    ids = torch.randint(3, 300, (batch, length))
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[-1, length - 2:] = 0
    return ids, mask


def encoder_cases(args):
    for name, model in encoders():
        model = Unwrapped(model.eval())
        inputs = encoder_inputs(2, 12)
        dynamic = ["0:0=batch", "0:1=length", "1:0=batch", "1:1=length"]
        yield name + " out", lambda f, m=model, i=inputs: write(args, f, m, i)
        yield name + " out, dynamic", lambda f, m=model, i=inputs, d=dynamic: write(args, f, m, i, d, [encoder_inputs(3, 7)])
        yield name + " in", lambda f, m=model, i=inputs: read(args, f, m, i, False)


def flow_case(args, folder, fn, inputs, others, dynamic, refused, opset):
    """What is written of a scripted function goes the ways of other arguments, too: in ONNX Runtime, and read again."""
    archive, path, given = (os.path.join(folder, n) for n in ("net.pt", "net.onnx", "in.pt"))
    scripted = torch.jit.script(fn() if isinstance(fn, type) else fn)
    torch.jit.save(scripted, archive)
    torch.save(inputs, given)
    code, text = run([args.ctsc, "convert", archive, path, "--inputs", given, "--opset", str(opset or args.opset)] + [w for d in dynamic for w in ("--dynamic", d)])
    if refused:
        return "" if code == 4 and refused in text else "exit %d, not refused: %s" % (code, text[-600:])
    if code:
        return "convert: exit %d: %s" % (code, text[-600:])
    onnx.checker.check_model(path, full_check=True)
    for these in [inputs] + others:
        result = scripted(*(t.clone() for t in these))
        want = [numpy.asarray(t.detach() if isinstance(t, torch.Tensor) else t) for t in spread(result)]
        text = compare(runtime(path, these), want)
        for level in map(int, args.levels.split(",")):
            got, said = ctsc_results(args, path, these, level) if not text else (None, text)
            text = said or compare(got, want)
        if text:
            return text
    return ""


def quantised_case(args, folder, script, x, other):
    """At most a step off: sums are rounded elsewhere. A step is the least distance of two elements."""
    archive, path, given = (os.path.join(folder, n) for n in ("net.pt", "net.onnx", "in.pt"))
    torch.jit.save(script, archive)
    torch.save((x,), given)
    code, text = run([args.ctsc, "convert", archive, path, "--inputs", given, "--opset", str(args.opset), "--dynamic", "0:0=batch"])
    if code:
        return "convert: exit %d: %s" % (code, text[-600:])
    onnx.checker.check_model(path, full_check=True)
    for these in (x, other):
        want = script(these).numpy()
        step = numpy.diff(numpy.unique(want)).min()
        for got, who in [(runtime(path, (these,)), "ONNX Runtime")] + [(ctsc_results(args, path, (these,), int(n))[0], "level " + n) for n in args.levels.split(",")]:
            if got is None or got[0].shape != want.shape or numpy.abs(got[0] - want).max() > 1.01 * step:
                return "%s: %s" % (who, "it failed" if got is None else "%g steps off" % (numpy.abs(got[0] - want).max() / step))
    return ""


def cases(args):
    if args.group == "quantised":
        import quantised
        for name, *rest in quantised.cases():
            yield name, lambda folder, rest=rest: quantised_case(args, folder, *rest)
        return
    if args.group == "flow":
        import flow
        for name, *rest in flow.CASES:
            yield name, lambda folder, rest=rest: flow_case(args, folder, *rest)
        return
    if args.group == "encoders":
        yield from encoder_cases(args)
        return
    for name in vision_names(args.all):
        def case(folder, name=name):
            model, inputs = vision(name, args.group)
            if args.group == "out":
                return write(args, folder, model, inputs)
            return read(args, folder, model, inputs, args.group == "dynamo")
        yield name, case


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--ctsc", required=True)
    ap.add_argument("--group", default="out,encoders,in,flow,quantised", help="out, in, dynamo, encoders, flow, quantised")
    ap.add_argument("-k", default="", help="only names with this in them")
    ap.add_argument("--levels", default="0,1,2,3")
    ap.add_argument("--opset", type=int, default=17)
    ap.add_argument("--all", action="store_true", help="all of torchvision's classification and segmentation networks")
    args = ap.parse_args()
    torch.set_num_threads(1)
    failed = 0
    for group in args.group.split(","):
        args.group, count, passed = group, 0, 0
        for name, case in cases(args):
            if args.k not in name:
                continue
            with tempfile.TemporaryDirectory() as folder:
                try:
                    text = case(folder)
                except Exception as e:  # an exporter, a runtime: said and counted
                    text = "%s: %s" % (type(e).__name__, str(e)[-300:])
                finally:
                    torch.backends.mha.set_fastpath_enabled(True)
            count += 1
            passed += not text
            print("%-9s %-40s %s" % (group, name, text.replace("\n", " | ") or "ok"), flush=True)
        failed += count - passed
        print("%s: %d of %d" % (group, passed, count), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
