# SPDX-License-Identifier: Apache-2.0
"""Makes old_versions.pt, with PyTorch 2.15: an archive that says it is of version 3, with operators that meant something else then."""
import sys
import zipfile

import torch


class M(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return torch.full([2], 3), torch.linspace(0, 1, 5), torch.logspace(0, 2, 3), torch.div(x, 2), torch.linspace(x[0], x[1], 3)


torch.jit.script(M()).save(sys.argv[1] + ".tmp")
with zipfile.ZipFile(sys.argv[1] + ".tmp") as old, zipfile.ZipFile(sys.argv[1], "w") as new:
    for name in old.namelist():
        data = b"3\n" if name.endswith("/version") else old.read(name)
        if not name.endswith(".debug_pkl"):
            new.writestr(name, data.replace(b"torch.linspace(0, 1, 5", b"torch.linspace(0, 1, None"))
