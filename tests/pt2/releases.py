#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small programs exported by whatever release of PyTorch runs this, 2.1 and later, run by ctsc and compared.

    VENV-OF-TORCH-2.4/bin/python tests/pt2/releases.py --ctsc build/ctsc [--keep DIR]

What that release does not export is left out. The archives of tests/pt2/archives whose names end in a release come from here (--keep)."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings

import torch
from torch import nn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import archive  # noqa: E402

try:
    from torch.export import Dim
except ImportError:  # 2.1
    Dim = None

warnings.simplefilter("ignore")


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 2)
        self.register_buffer("k", torch.ones(2))

    def forward(self, x):
        return self.b(torch.relu(self.a(x))) * self.k + torch.tensor([1.0, 2.0])


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.n, self.f = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(4, 5)

    def forward(self, x):
        return self.f(torch.max_pool2d(self.n(self.c(x)), 2).mean((2, 3)))


class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(3))
        self.register_buffer("p", torch.ones(3), persistent=False)

    def forward(self, x):
        self.n.add_(1)
        return x + self.n * self.p


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(5, 5), nn.Linear(5, 5)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(self.a(x))


class Nested(nn.Module):
    def forward(self, d, pair, n=2):
        return {"s": d["a"] + pair[0] * n, "t": (d["b"] - pair[1],)}


class Dynamic(nn.Module):
    def forward(self, x, y):
        return torch.cat([x, y]).sum(1) + x.shape[0]


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (self.l(x),))


def programs():
    r, b = torch.randn, Dim("b", max=64) if Dim else None
    yield "Mlp", Mlp(), (r(3, 4),), None
    yield "Conv", Conv(), (r(2, 3, 8, 8),), None
    yield "Buffers", Buffers(), (r(3),), None
    yield "Tied", Tied(), (r(2, 5),), None
    yield "Nested", Nested(), ({"a": r(2), "b": r(2)}, (r(2), r(2)), 3), None
    if Dim:
        yield "Dynamic", Dynamic(), (r(4, 3), r(4, 3)), {"x": {0: b}, "y": {0: b}}
    yield "Encoder", nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (r(2, 5, 8),), None
    if hasattr(torch, "cond"):
        yield "Branches", Branches(), (r(2, 3),), None


def export(name, module, args, dynamic, folder):
    """The archives by their form; none where this release refuses."""
    module.eval()
    state = {k: v.clone() for k, v in module.state_dict().items()}
    made = {}
    try:
        with torch.no_grad():
            program = torch.export.export(module, args, **({"dynamic_shapes": dynamic} if dynamic else {}))
            forms = {"training": program}
            if hasattr(program, "run_decompositions"):
                forms["decomposed"] = program.run_decompositions()
        for form, p in forms.items():
            module.load_state_dict(state)
            made[form] = os.path.join(folder, form + ".pt2")
            torch.export.save(p, made[form])
            archive.clean(made[form])
    except Exception as e:
        print("%-10s not exported: %s" % (name, (str(e).strip().splitlines() or [type(e).__name__])[0][:120]))
        return {}
    torch.save(args, os.path.join(folder, "inputs.pt"))
    module.load_state_dict(state)
    with torch.no_grad():
        torch.save(module(*args), os.path.join(folder, "expected.pt"))
    with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as f:
        json.dump({"name": name, "torch": torch.__version__, "calls": 1, "rtol": 1e-4, "atol": 1e-5}, f)
    return made


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--ctsc", default="build/ctsc")
    p.add_argument("--keep")
    o = p.parse_args()
    passed = failed = 0
    torch.manual_seed(0)
    for name, module, args, dynamic in programs():
        with tempfile.TemporaryDirectory() as folder:
            if o.keep:
                folder = os.path.join(o.keep, name)
                os.makedirs(folder, exist_ok=True)
            for form, archive in export(name, module, args, dynamic, folder).items():
                for level in "0", "2":
                    run = subprocess.run([o.ctsc, "run", archive, "--inputs", os.path.join(folder, "inputs.pt"), "--expect",
                                          os.path.join(folder, "expected.pt"), "--rtol", "1e-3", "--atol", "1e-4", "--opt", level],
                                         capture_output=True, text=True)
                    passed += run.returncode == 0
                    failed += run.returncode != 0
                    if run.returncode:
                        print("%-10s %s, opt %s: exit %d: %s" % (name, form, level, run.returncode, run.stderr.strip()[:400]))
    print("torch %s: %d passed, %d failed" % (torch.__version__, passed, failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
