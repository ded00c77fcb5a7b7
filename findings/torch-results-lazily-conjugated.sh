#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Some operators of PyTorch return tensors that are lazily conjugated, so that .numpy() and view_as_real of a fresh
# result raise; their kin do not.
#
# Seen with torch 2.15.0 on x86-64. torch.fft.ifft and ihfft of real numbers, torch.svd's V and torch.dot of two
# conjugated vectors have is_conj() True, and .numpy() on them raises ("Can't call numpy() on Tensor that has conjugate
# bit set"). ifft of the same numbers in a complex dtype, ifft2 and ihfft2 of real ones, and torch.linalg.svd's Vh are plain.
#
# Installs the package in a temporary folder; fails if any of this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.15.0 numpy==2.4.6
cat > "$folder/look.py" <<'PYTHON'
import torch

x = torch.arange(6.0)
m = torch.eye(2, dtype=torch.complex64)
v = torch.ones(2, dtype=torch.complex64).conj()


def state(t):
    try:
        t.numpy()
        return "plain" if not t.is_conj() else "lazy"
    except RuntimeError:
        return "lazy, refused by numpy()"


for name, t in [("ifft of real", torch.fft.ifft(x)), ("ihfft", torch.fft.ihfft(x)), ("svd V", torch.svd(m).V), ("dot", torch.dot(v, v)),
                ("ifft of complex", torch.fft.ifft(x + 0j)), ("ifft2", torch.fft.ifft2(x.view(2, 3))), ("ihfft2", torch.fft.ihfft2(x.view(2, 3))),
                ("linalg.svd Vh", torch.linalg.svd(m).Vh)]:
    print(name + ":", state(t))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/look.py")
echo "$seen"
[ "$seen" = "ifft of real: lazy, refused by numpy()
ihfft: lazy, refused by numpy()
svd V: lazy, refused by numpy()
dot: lazy, refused by numpy()
ifft of complex: plain
ifft2: plain
ihfft2: plain
linalg.svd Vh: plain" ]
