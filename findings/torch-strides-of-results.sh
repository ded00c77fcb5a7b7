#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Some operators do not keep the order of their argument's strides, though their kin do; and a convolution's result
# follows the weight.
#
# Seen with torch 2.15.0 on x86-64, x being an image of 2 x 8 x 5 x 6 whose channels are last in memory: relu, sigmoid,
# where, index_fill and layer_norm's kin group_norm give a result that lies as x does; masked_fill, renorm, logsigmoid
# and instance_norm one that is row-major. So x.masked_fill(...).contiguous() shares memory with the result, and
# torch.where(...).contiguous() does not. conv2d of a row-major image is channels last where its weight is; of kernels of
# 1 x 1 where .to(memory_format=torch.channels_last) made the weight, not where .contiguous(memory_format=...) did, which
# returns such a weight as it is.
# nonzero() of a row-major tensor is column-major.
#
# Installs the package in a temporary folder; fails if any of this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.15.0 numpy==2.4.6
cat > "$folder/look.py" <<'PYTHON'
import torch
import torch.nn.functional as F

last = torch.channels_last
rows = torch.randn(2, 8, 5, 6)
x = rows.contiguous(memory_format=last)


def lies(t):
    return "rows" if t.is_contiguous() else "last" if t.is_contiguous(memory_format=last) else str(t.stride())


print("keep:", *(lies(t) for t in (x.relu(), x.sigmoid(), torch.where(x > 0, x, 1.0), x.index_fill(0, torch.tensor([0]), 1.0), F.group_norm(x, 2))))
print("rows:", *(lies(t) for t in (x.masked_fill(x > 0, 1.0), x.renorm(2, 0, 1.0), F.logsigmoid(x), F.instance_norm(x))))
for k in (3, 1):
    w = torch.randn(4, 8, k, k)
    print("conv %d:" % k, lies(F.conv2d(rows, w.to(memory_format=last))), lies(F.conv2d(rows, w.contiguous(memory_format=last))))
places = (torch.arange(6).view(2, 3) > 1).nonzero()
print("nonzero:", tuple(places.shape), places.stride())
PYTHON
seen=$("$folder/venv/bin/python" "$folder/look.py")
echo "$seen"
[ "$seen" = "keep: last last last last last
rows: rows rows rows rows
conv 3: last last
conv 1: last rows
nonzero: (4, 2) (1, 4)" ]
