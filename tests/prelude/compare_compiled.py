# SPDX-License-Identifier: Apache-2.0
"""compare_compiled.py - what ctsc makes of calls to torch.nn.functional, torch.functional and torch.nn's layers, against PyTorch.

For each function, and each layer of compare.py and compare_layers.py, a file with one caller is written. Both compilers compile it to an archive; PyTorch loads both, inlines
the functions called, and the graphs are compared (modulo names, places, messages, and the order of constants).

Needs PyTorch 1.13 (Debian: python3-torch); without it the test is skipped.
Usage: compare_compiled.py [-v] CTSC [FUNCTION or FILE or CLASS...]
"""
import argparse
import importlib.util
import itertools
import os
import re
import subprocess
import sys
import tempfile
import types
import warnings
import zipfile

try:
    import torch
except ImportError:
    print("compare_compiled: no PyTorch here, skipped")
    sys.exit(0)

import compare
import compare_functional as functions
import compare_layers
import torch._jit_internal as jit_internal

HEADER = """import torch
import torch.nn.functional as F
from typing import *
from torch import Tensor


"""


def parameters(f):
    """'name: type' of each parameter of a compiled function, and how a caller passes them on."""
    inputs = list(f.graph.inputs())
    names = [v.debugName().split(".")[0] for v in inputs]
    return ", ".join("%s: %s" % (n, v.type().annotation_str.replace("number", "float")) for n, v in zip(names, inputs)), ", ".join(
        "%s=%s" % (n, n) for n in names
    )


def callers(wanted):
    """(name, source of a file with a function `forward`)."""
    for prefix, module in (("F.", functions.real_functional), ("torch.", torch.functional)):
        for name, f in functions.names(module):
            if name.startswith("_") or (wanted and name not in wanted) or not isinstance(f, types.FunctionType):
                continue
            if prefix == "torch." and (not hasattr(torch, name) or f.__module__ != "torch.functional"):
                continue
            if torch.jit._builtins._find_builtin(f):
                continue
            if f in jit_internal.boolean_dispatched:
                d = jit_internal.boolean_dispatched[f]
                if d["if_true"] in jit_internal.boolean_dispatched:
                    continue  # unique: two flags
                for flag, key in ((True, "if_true"), (False, "if_false")):
                    given, passed = parameters(torch.jit.script(d[key]))
                    given = ", ".join(p for p in given.split(", ") if not p.startswith(d["arg_name"] + ":"))
                    passed = passed.replace("%s=%s" % (d["arg_name"], d["arg_name"]), "%s=%s" % (d["arg_name"], flag))
                    yield "%s %s" % (name, flag), caller(prefix + name, given, passed)
                continue
            overloads = functions.script_overloads(f)
            if not overloads:
                try:
                    overloads = [torch.jit.script(f)]
                except Exception:
                    continue
            for i, g in enumerate(overloads):
                given, passed = parameters(g)
                yield name + (" %d" % i if i else ""), caller(prefix + name, given, passed)
    for name, body in EXTRA.items():
        if not wanted or name in wanted:
            yield name, HEADER + "def forward(x: Tensor, i: Tensor):\n    return " + body + "\n"


# Default values, and one number where a list is meant.
EXTRA = {
    "pool defaults": "F.max_pool2d(x, 2), F.max_pool2d(x, 2, return_indices=True), F.max_pool1d(x, (2,), 1, 1), F.avg_pool2d(x, 2), "
    "F.adaptive_avg_pool2d(x, 1), F.adaptive_max_pool3d(x, [1, 2, 3]), F.lp_pool2d(x, 2.0, 3)",
    "activation defaults": "F.relu(x), F.relu(x, True), F.softmax(x, -1), F.softmax(x, dim=1, dtype=torch.float64), F.gelu(x), "
    "F.gelu(x, approximate='tanh'), F.leaky_relu(x), F.hardtanh(x, 0.0, 2.0), F.threshold(x, 0.5, 1.0), F.glu(x)",
    "loss defaults": "F.cross_entropy(x, i), F.nll_loss(x, i, reduction='sum'), F.mse_loss(x, x), F.l1_loss(x, x, reduction='none')",
    "pad and interpolate": "F.pad(x, (1, 2)), F.pad(x, [1, 1, 2, 2], mode='reflect'), F.interpolate(x, scale_factor=2.0), "
    "F.interpolate(x, size=[3, 4], mode='bilinear', align_corners=True), F.interpolate(x, size=7), F.upsample(x, 3)",
    "others": "F.dropout(x), F.dropout(x, 0.2, training=False), F.normalize(x), F.one_hot(i, 5), F.embedding(i, x), F.unfold(x, 3), "
    "F.layer_norm(x, [4]), F.cosine_similarity(x, x), F.pairwise_distance(x, x), F.pixel_shuffle(x, 2), F.linear(x, x)",
    "unique": "torch.unique(x), torch.unique(x, return_inverse=True), torch.unique(x, True, False, True), "
    "torch.unique(x, return_inverse=True, return_counts=True, dim=0), torch.unique_consecutive(x, True)",
    "torch": "torch.norm(x), torch.norm(x, 2, 1), torch.norm(x, 'fro', [0, 1], True), x.norm(2, 1), torch.cdist(x, x), "
    "torch.tensordot(x, x, 1), torch.einsum('ij,jk->ik', x, x), torch.split(x, 2), torch.meshgrid(x, x), torch.stft(x, 8)",
}


def caller(function, given, passed):
    return HEADER + "def forward(%s):\n    return %s(%s)\n" % (given, function, passed)


NET = """import torch
from typing import *
from collections import OrderedDict
from torch import Tensor
from torch.nn import *


class Main(Module):
    def __init__(self):
        super().__init__()
        self.layer = %s

    def forward(self%s):
        return self.layer(%s)
"""


def type_of(v):
    if isinstance(v, torch.Tensor):
        return "Tensor"
    if isinstance(v, tuple):
        return "Tuple[%s]" % ", ".join(type_of(i) for i in v)
    if isinstance(v, list):
        return "List[%s]" % type_of(v[0])
    return type(v).__name__


def layers(wanted):
    """The same for layers that PyTorch builds, calls and scripts."""
    for cases in (compare_layers.CASES, compare.CASES):
        for file, list_of_cases in cases.items():
            for text, *calls in list_of_cases:
                if not calls or compare.NOSCRIPT in calls or "edit(" in text:
                    continue
                if wanted and not any(w == file or text.startswith(w + "(") for w in wanted):
                    continue
                args = calls[0]
                if not isinstance(args, tuple):
                    args = tuple(calls)
                if any(a is None for a in args):
                    continue
                names = ["a%d" % i for i in range(len(args))]
                given = "".join(", %s: %s" % (n, type_of(a)) for n, a in zip(names, args))
                yield text, NET % (text, given, ", ".join(names))


def inlined(path):
    module = torch.jit.load(path)
    graph = module.forward.graph
    torch._C._jit_pass_inline(graph)
    torch._C._jit_pass_constant_propagation_immutable_types(graph)
    torch._C._jit_pass_constant_pooling(graph)
    torch._C._jit_pass_dce(graph)
    text = functions.canonical(graph)
    return text.split("\n", 1)[1] + "\n" + classes(path) + "\n" + "\n".join(sorted(module.state_dict()))


def classes(path):
    """What the classes of an archive declare: parameters, buffers, attributes with types, constants."""
    found = []
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".py") and "/code/" in name:
                code = re.sub(r"___torch_mangle_\d+\.", "", archive.read(name).decode())
                code = re.sub(r"__torch__\.(caller\d*\.)?", "", code)
                found += re.findall(r"^class \w+\(.*\n(?:  (?!def ).*\n)*", code, flags=re.M)
    # PyTorch writes constants in the order of a set.
    return "\n".join(sorted("\n".join(sorted(c.split("\n"))) for c in found))


def alone(f, *args):
    """Runs f in a process of its own: types of the cases before would change names, isinstance, and inherited annotations."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        text = ""
        try:
            f(*args)
        except Exception as e:
            text = str(e).strip() or type(e).__name__
        os.write(write, text.encode()[:4000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as f:
        text = f.read().decode()
    status = os.waitpid(child, 0)[1]
    if status or text:
        raise RuntimeError(text or "ended with status %d" % status)


def by_pytorch(path, out):
    spec = importlib.util.spec_from_file_location("caller", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    torch.jit.save(torch.jit.script(module.Main() if hasattr(module, "Main") else module.forward), out)


def options():
    """The command line: every script of `make test-torch` is given --ctsc."""
    ap = argparse.ArgumentParser()
    ap.add_argument("--ctsc", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/ctsc"))
    ap.add_argument("-v", action="store_true")
    ap.add_argument("names", nargs="*")
    return ap.parse_args()


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    args = options()
    verbose, ctsc, wanted = args.v, os.path.abspath(args.ctsc), set(args.names)
    done = failed = 0
    with tempfile.TemporaryDirectory() as d:
        for name, text in itertools.chain(callers(wanted), layers(wanted)):
            source = os.path.join(d, "caller%d.py" % done)
            with open(source, "w") as f:
                f.write(text)
            done += 1
            theirs, ours = os.path.join(d, "theirs.pt"), os.path.join(d, "ours.pt")
            try:
                alone(by_pytorch, source, theirs)
            except Exception as e:
                if verbose:
                    print("skipped %s: %s" % (name, str(e).strip().split("\n")[0]))
                done -= 1
                continue
            run = subprocess.run([ctsc, "compile", source, "-o", ours], capture_output=True, text=True)
            if run.returncode:
                what = run.stderr
            else:
                try:
                    a, b = inlined(theirs), inlined(ours)
                    what = "" if a == b else functions.diff(a, b)
                except Exception as e:
                    what = "PyTorch does not load it: " + str(e)
            expected, why = compare.DIFFERS.check("compiled", name, bool(what))
            what = "" if expected else "%s\n%s" % (why, what)
            failed += bool(what)
            if what or verbose:
                print("%s %s" % ("not ok" if what else "ok", name))
            if what:
                print("    " + what.strip().replace("\n", "\n    "))
    print("compare_compiled: %d of %d equal" % (done - failed, done))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
