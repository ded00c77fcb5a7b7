#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that load the archives of the corpus (torch.jit.load in Python source), compiled by ctsc, run by both.

    /usr/bin/python3 tests/interop/archives.py --ctsc build/ctsc [--corpus DIR] [-k NAME]

For each module of the corpus: a script whose submodule it is, traced or scripted, is compiled to an archive. PyTorch loads that and gets the case's
results; ctsc runs what PyTorch saves of it.
"""
import contextlib
import glob
import io
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs"))
import support  # noqa: E402
from support import torch  # noqa: E402

try:
    import torchvision  # noqa: F401  registers operators
except ImportError:
    torchvision = None

PROGRAM = """import torch
from torch import Tensor
from typing import Dict, List, Optional, Tuple

loaded = torch.jit.load({path!r})


class Main(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.jit.load({path!r})
        print(len(loaded.state_dict()), sum([p.numel() for p in self.net.parameters()]))

    def forward(self, {parameters}):
        return self.net({arguments})
"""


def program(model, module):
    """The source, or None where a type of the module's has no name in another program."""
    arguments = module.forward.schema.arguments[1:]
    types = [a.type.annotation_str for a in arguments]
    if any("__torch__" in t or "Any" in t for t in types):
        return None
    return PROGRAM.format(path=model, parameters=", ".join("%s: %s" % (a.name, t) for a, t in zip(arguments, types)),
                          arguments=", ".join(a.name for a in arguments))


def check(ctsc, folder):
    case = support.read_case(folder)
    model, inputs, expected = (os.path.join(folder, n) for n in ("model.pt", "inputs.pt", "expected.pt"))
    module = torch.jit.load(model)
    source = program(model, module) if case["raises"] is None and not getattr(module, "training", True) else None
    given = torch.load(inputs)
    if source is None or len(given) != len(module.forward.schema.arguments) - 1:
        return None
    tolerance = max(case["rtol"], 1e-4), max(case["atol"], 1e-5)
    with tempfile.TemporaryDirectory() as work:
        path, ours, theirs = (os.path.join(work, n) for n in ("program.py", "ours.pt", "theirs.pt"))
        with open(path, "w") as f:
            f.write(source)
        p = support.run(ctsc, "compile", path, "-o", ours)
        if p.returncode:
            return "ctsc compile: " + p.stderr
        counted = "%d %d\n" % (len(module.state_dict()), sum(p.numel() for p in module.parameters()))
        if p.stdout != counted:
            return "the module has %r, not %r" % (p.stdout, counted)
        again = torch.jit.load(ours)
        torch.jit.save(again, theirs)
        with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
            torch.manual_seed(0)
            got = again(*given)
        if not support.same(got, torch.load(expected), *tolerance):
            return "PyTorch gets other results"
        p = support.run(ctsc, "run", theirs, "--inputs", inputs, "--expect", expected, "--rtol", repr(tolerance[0]), "--atol", repr(tolerance[1]))
        return "" if p.returncode == 0 else "ctsc run: " + p.stderr


def main():
    ap = support.arguments(__doc__)
    ap.add_argument("--corpus", default=support.CORPUS)
    args = ap.parse_args()
    torch.set_num_threads(1)
    folders = sorted(os.path.dirname(p) for p in glob.glob(os.path.join(args.corpus, "models", "*", "model.pt")))
    return support.tally(((os.path.basename(f), f) for f in folders if args.k in os.path.basename(f)), lambda folder: check(args.ctsc, folder))


if __name__ == "__main__":
    sys.exit(main())
