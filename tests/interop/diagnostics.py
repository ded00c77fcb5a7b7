#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Slips in a model's source: ctsc refuses what PyTorch refuses, says at least what PyTorch says, and points to the same line.

    tests/interop/diagnostics.py [--ctsc build/ctsc] [-k TEXT]

Each slip is an edit of SOURCE, where it can be made several times once for each place. PyTorch runs and scripts the result; of its message the lines count that
say what is wrong, not the lists of overloads. Where ctsc says something else, or takes the program, it is written beside the edit.
"""
import importlib.util
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs"))
import support  # noqa: E402
from support import torch  # noqa: E402

SOURCE = '''import torch
import torch.nn as nn
import torch.nn.functional as F
from typing import List, Optional


class Block(nn.Module):
    def __init__(self, dim: int, drop: float = 0.1):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, dim)
        self.drop = nn.Dropout(drop)

    def forward(self, x: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        h = self.fc(self.norm(x))
        if mask is not None:
            h = h * mask
        return x + self.drop(F.relu(h))


class Net(nn.Module):
    def __init__(self, dim: int = 8, depth: int = 2):
        super().__init__()
        self.blocks = nn.ModuleList([Block(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, 3)
        self.names: List[str] = ["a"]

    def forward(self, x, mask: Optional[torch.Tensor] = None):
        for block in self.blocks:
            x = block(x, mask)
        y = self.head(x)
        return y
'''
TAKEN = object()  # ctsc compiles what PyTorch refuses
RESULT = "        return y\n"
# What stands there, what takes its place, what ctsc says where that is not PyTorch's text.
EDITS = [
    ("super().__init__()", "pass", None),
    ("nn.Linear(dim, dim)", "nn.Linear(dim)", None),
    ("nn.Linear(dim, 3)", "nn.Linear(dim, '3')", "must be tuple of ints, but found element of type str"),
    ("nn.Linear(dim, 3)", "nn.Linear(dim, 3.0)", "must be tuple of ints, but found element of type float"),
    ("nn.Linear(dim, 3)", "nn.Linear(dim, 3, biass=True)", None),
    ("nn.LayerNorm", "nn.LayerNorn", None),
    ("Block(dim)", "Block()", None),
    ("Block(dim)", "Block(dim, 1, 2)", None),
    ("self.fc(self", "self.fcc(self", None),
    ("* mask", "* maskk", None),
    ("F.relu(h)", "F.rleu(h)", "has no attribute 'rleu'"),
    ("F.relu(h)", "relu(h)", None),
    ("F.relu(h)", "F.relu(h, 3)", None),
    ("F.relu(h)", "F.relu(inplace=True)", None),
    ("F.relu(h)", "F.relu(h, inplce=True)", None),
    (" is not None", "", None),
    ("        if mask is not None:\n            h = h * mask\n", "        h = h * mask\n", None),
    ("def forward(self, x", "def forward(x", None),
    ("def forward(self, x", "def forward(self, y", None),
    ("torch.Tensor]", "torch.tensor]", "Unknown type name 'torch.tensor'"),
    ("Optional[torch.Tensor]", "Optional", None),
    ("block(x, mask)", "block(x, mask, 3)", None),
    ("block(x, mask)", "block(mask)", None),
    ("block(x, mask)", "block()", None),
    ("block(x, mask)", "block([3], mask)", None),
    ("in self.blocks:", "in self.block:", None),
    ("in self.blocks:", "in self.head:", "Linear' object is not iterable"),
    ("import torch.nn.functional as F\n", "", None),
    ("import torch.nn as nn\n", "", None),
    ("List, Optional\n", "List, Optinal\n", "cannot import name 'Optinal' from 'typing'"),
    ("        y = self", "       y = self", "unindent does not match"),
    ("        y = self", "\ty = self", None),
    ("self.head(x)", "self.head(x", "'(' was never closed"),
    ("self.blocks:", "self.blocks", "expected ':'"),
    ("self.head(x)", "self.head(3)", None),
    ("self.head(x)", "self.blocks[5](x)", None),
    (RESULT, "        return y.relu7()\n", None),
    (RESULT, "        return y.argmax('a')\n", None),
    (RESULT, "        return y.argmax(-1, True, 3)\n", None),
    (RESULT, "        return y[0, 'a']\n", None),
    (RESULT, "        return y.shape[5.0]\n", None),
    (RESULT, "        return torch.cat(y, 0)\n", None),
    (RESULT, "        return torch.zeros(3, dtype='float')\n", None),
    (RESULT, "        return y @ 3\n", None),
    (RESULT, "        return y.size(0) + 'a'\n", None),
    (RESULT, "        return F.softmax(y, dmi=1)\n", None),
    (RESULT, "        return F.interpolate(y, scale=2)\n", None),
    (RESULT, "        return len(self.names) + self.names\n", None),
    (RESULT, "        self.names.append(3)\n        return y\n", None),
    (RESULT, "        self.count = 3\n        return y\n", None),
    (RESULT, "        self.names = 3\n        return y\n", None),
    (RESULT, "        y = 3\n        return y\n", None),
    (RESULT, "        if y.sum() > 0:\n            z = 1\n        return z\n", None),
    (RESULT, "        if y.sum() > 0:\n            return 3\n        return y\n", None),
    (RESULT, "        return y if x is None else 3\n", TAKEN),
    (RESULT, "        return y if mask is None else 3\n", None),
    (RESULT, "        yy: int = y\n        return yy\n", TAKEN),
    (RESULT, "        yy: str = y\n        return yy\n", None),
    (RESULT, "        a, b = y.shape[0]\n        return a\n", None),
    (RESULT, "        a, b = (1, 2, 3)\n        return a\n", None),
    (RESULT, "        for i in range('3'):\n            y = y + i\n        return y\n", None),
    (RESULT, "        raise 'no'\n", None),
    (RESULT, "        del q\n        return y\n", None),
    (RESULT, "        global q\n        return y\n", None),
    (RESULT, "        try:\n            return y\n        except ValueError:\n            return x\n", None),
    (RESULT, "        with y:\n            return y\n", None),
    (RESULT, "        yield y\n", None),
    (RESULT, "        return (lambda v: v)(y)\n", None),
    (RESULT, "        return np.array(y)\n", None),
    (RESULT, "        return y.numpy()\n", None),
    (RESULT, "        return {}[0]\n", None),
    (RESULT, "        return [1, 'a'] + [2]\n", None),
    (RESULT, "        return int('a', 'b')\n", "Expected a value of type 'int' for argument 'base'"),
    (RESULT, "        return self.head.weigth\n", None),
]


def edited(old, new):
    """The source with the edit, at each place where it can be made."""
    places = [m.start() for m in re.finditer(re.escape(old), SOURCE)]
    assert places, old
    return [SOURCE[:at] + new + SOURCE[at + len(old):] for at in places]


def from_pytorch(path):
    """(what is wrong, lines of the file that are named); None: nothing is."""
    try:
        spec = importlib.util.spec_from_file_location("slip", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        torch.jit.script(module.Net())
        return None
    except Exception as e:  # noqa: BLE001  whatever it is
        text = e.msg if isinstance(e, SyntaxError) else str(e)
        trace, lines = e.__traceback__, [e.lineno] if isinstance(e, SyntaxError) else []
        while trace:
            if trace.tb_frame.f_code.co_filename == path:
                lines.append(trace.tb_lineno)
            trace = trace.tb_next
    lines += [int(n) for n in re.findall(r'File "%s", line (\d+)' % re.escape(path), text)]
    said = [line.strip().rstrip(":").strip() for line in text.split('File "')[0].split("\n")]
    said = [line for line in said if line and not re.match(r"[\w:.]+\(.*\) -> .*", line)]  # the signature, a note of ctsc's
    return [said[0].split(" The following")[0].rstrip(".")] if said else [], lines


def check(case, args, folder):
    source, other, number = case
    path = os.path.join(folder, "slip%d.py" % number) # of its own: Python remembers files by their names
    with open(path, "w") as f:
        f.write(source)
    want = from_pytorch(path)
    p = support.run(args.ctsc, "compile", path, "--entry", "Net", "-o", os.path.join(folder, "slip.pt"))
    if want is None or other is TAKEN:
        return "" if p.returncode in (0, 1) else "exit code %d\n%s" % (p.returncode, p.stderr)
    if p.returncode != 1:
        return "exit code %d where PyTorch says %s\n%s" % (p.returncode, want[0], p.stderr)
    lost = [line for line in ([other] if other else want[0]) if line not in p.stderr]
    if lost:
        return "PyTorch says: %s\n%s" % (lost[0], p.stderr)
    named = [int(n) for n in re.findall(r"--> [^\n]*slip\d+\.py:(\d+)", p.stderr)]
    if want[1] and not set(named) & set(want[1]):
        return "PyTorch names the lines %s\n%s" % (want[1], p.stderr)
    return ""


def main():
    args = support.arguments(__doc__).parse_args()
    cases = []
    for old, new, other in EDITS:
        for n, source in enumerate(edited(old, new)):
            cases.append(("%r for %r, %d" % (new, old, n), (source, other, len(cases))))
    with tempfile.TemporaryDirectory() as folder:
        return support.tally((c for c in cases if args.k in c[0]), lambda case: check(case, args, folder))


if __name__ == "__main__":
    sys.exit(main())
