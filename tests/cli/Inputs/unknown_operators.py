# SPDX-License-Identifier: Apache-2.0
"""Makes unknown_operators.pt, with PyTorch 2.15: operators, overloads and arguments that no table knows, in branches."""
import sys
import zipfile
from typing import List, Tuple

import torch

library = torch.library.Library("nobodys", "DEF")
library.define("one(Tensor x, *, int depth=1) -> Tensor")
library.define("two(Tensor x, Tensor[] xs) -> (Tensor, Tensor)")
library.define("listed(Tensor x) -> Tensor[]")
library.define("counted(Tensor x) -> int")


def count(x: torch.Tensor) -> int:
    return torch.ops.nobodys.counted(x)


class M(torch.nn.Module):
    def forward(self, x: torch.Tensor, which: int = 0) -> torch.Tensor:
        if which == 1:
            x = torch.ops.nobodys.one(x, depth=3)
        if which == 2:
            a, b = torch.ops.nobodys.two(x, [x])
            x = a + b
        if which == 3:
            parts: List[torch.Tensor] = torch.ops.nobodys.listed(x)
            x = torch.cat(parts)
        if which == 4:
            x = x + count(x)
        if which == 5:
            x = torch.relu(x)
        if which == 6:
            x = torch.erfinv(x)
        return x * 2


torch.jit.script(M()).save(sys.argv[1] + ".tmp")
with zipfile.ZipFile(sys.argv[1] + ".tmp") as old, zipfile.ZipFile(sys.argv[1], "w") as new:
    for name in old.namelist():  # a later version's argument, and its operator
        data = old.read(name).replace(b"torch.relu(x3", b"torch.relu(x3, depth=2").replace(b"torch.erfinv(", b"torch.erflater(")
        if not name.endswith(".debug_pkl"):
            new.writestr(name, data)
