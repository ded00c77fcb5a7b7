#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A tensor of float16 times a number has several meanings.
#
# Seen with torch 2.15.0 on x86-64, x being 0.02202 in float16, whose largest number is 65504: x * 1e5, torch.mul(x, 1e5)
# and x.mul_(1e5) in Python multiply in float32 and give 2202. aten::mul_.Scalar, which is what x.mul_(1e5) and x *= 1e5
# are in TorchScript, rounds the number first, to infinity, as does a 0-dim tensor on the left, torch.tensor(1e5) * x;
# and alpha=1e5 is refused. Sums into one element differ as well: scatter_add of 1000 ones of bfloat16 gives 1000,
# index_put with accumulate=True 256; index_add of rows 1000, of single elements 256, and of rows with alpha=0.5 128.
#
# Installs the package in a temporary folder; fails if any of this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.15.0 numpy==2.4.6
cat > "$folder/look.py" <<'PYTHON'
import warnings

import torch

warnings.simplefilter("ignore")
x = torch.tensor([0.02202], dtype=torch.float16)
unit = torch.jit.CompilationUnit("def forward(x):\n    x *= 100000.0\n    return x\n")
seen = [float(t) for t in (x * 1e5, torch.mul(x, 1e5), x.clone().mul_(1e5), torch.ops.aten.mul_.Scalar(x.clone(), 1e5), unit.forward(x.clone()), torch.tensor(1e5) * x)]
assert seen == [2202, 2202, 2202, float("inf"), float("inf"), float("inf")], seen

n, index = 1000, torch.zeros(1000, dtype=torch.int64)
zeros, ones = torch.zeros(2, dtype=torch.bfloat16), torch.ones(n, dtype=torch.bfloat16)
rows, many = torch.zeros(2, 2, dtype=torch.bfloat16), torch.ones(n, 2, dtype=torch.bfloat16)
sums = [zeros.scatter_add(0, index, ones), zeros.index_put((index,), ones, accumulate=True), zeros.index_add(0, index, ones), rows.index_add(0, index, many), rows.index_add(0, index, many, alpha=0.5)]
seen = [float(t.reshape(-1)[0]) for t in sums]
assert seen == [1000, 256, 256, 1000, 128], seen
print("as before")
PYTHON
"$folder/venv/bin/python" "$folder/look.py"
