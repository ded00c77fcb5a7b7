#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Three functions of PyTorch return the tensor given as out= without having written all of the result to it: no error, no warning.
#
# Seen with torch 2.15.0 on x86-64, out having the result's size and dtype and 7 in each element:
#   torch.fft.ihfftn(x, dim=(2,), out=out)      of one dim: none of 120 elements is written
#   aten.gelu.out(x, out=out)                   out with gaps or transposed: none of 100 elements is written
#   torch._C._nn.avg_pool3d(x, 2, 1, out=out)   out with gaps: 27 of 54 elements are not written, the others in the wrong places
# ihfftn of two dims, hfftn, rfftn, silu and avg_pool3d to a dense out write all of it.
#
# Installs the packages in a temporary folder; fails if any of this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.15.0 numpy==2.4.6
cat > "$folder/look.py" <<'PYTHON'
import torch

torch.manual_seed(0)


def gaps(t):
    return torch.full((*t.shape[:-1], 2 * t.shape[-1]), 7, dtype=t.dtype)[..., ::2]


def dense(t):
    return torch.full(t.shape, 7, dtype=t.dtype)


def left(f, make):
    """How many elements of out= are still 7, how many of the result are, and whether it is the result."""
    want = f(None)
    out = make(want)
    assert f(out) is out
    return "%d/%d %s" % ((out == 7).sum(), want.numel(), "right" if torch.allclose(out, want) else "wrong")


x, matrix, volume = torch.randn(5, 6, 7), torch.randn(10, 10), torch.randn(1, 2, 4, 4, 4)
gelu, silu = torch._C._nn.gelu, torch._C._nn.silu
print("ihfftn1", left(lambda out: torch.fft.ihfftn(x, dim=(2,), out=out), dense))
print("ihfftn2", left(lambda out: torch.fft.ihfftn(x, dim=(1, 2), out=out), dense))
print("rfftn1", left(lambda out: torch.fft.rfftn(x, dim=(2,), out=out), dense))
print("gelu", left(lambda out: gelu(matrix, out=out), gaps))
print("gelu-turned", left(lambda out: gelu(matrix, out=out), lambda t: dense(t).t()))
print("gelu-dense", left(lambda out: gelu(matrix, out=out), dense))
print("silu", left(lambda out: silu(matrix, out=out), gaps))
print("avg_pool3d", left(lambda out: torch._C._nn.avg_pool3d(volume, 2, 1, out=out), gaps))
print("avg_pool3d-dense", left(lambda out: torch._C._nn.avg_pool3d(volume, 2, 1, out=out), dense))
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/look.py" | tee "$folder/seen"
diff "$folder/seen" - <<'WANT'
ihfftn1 120/120 wrong
ihfftn2 0/120 right
rfftn1 0/120 right
gelu 100/100 wrong
gelu-turned 100/100 wrong
gelu-dense 0/100 right
silu 0/100 right
avg_pool3d 27/54 wrong
avg_pool3d-dense 0/54 right
WANT
