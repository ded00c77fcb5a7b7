#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A tensor of bfloat16 and a complex number meet in a dtype of their own, with which little can be computed.
#
# Seen with torch 2.15.0 on x86-64, x being a tensor of bfloat16 and h one of float16: torch.result_type(x, 1j) is
# bcomplex32, which torch.where(mask, x, 1j) returns; x + 1j, x * 1j, x / 1j and x ** 1j raise NotImplementedError. Of h
# it is complex32, and h + 1j and h * 1j are computed.
#
# Installs the package in a temporary folder; fails if any of this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.15.0 numpy==2.4.6
cat > "$folder/look.py" <<'PYTHON'
import torch


def of(call):
    try:
        return str(call().dtype)[6:]
    except NotImplementedError:
        return "NotImplementedError"


for dtype in (torch.bfloat16, torch.float16):
    x = torch.tensor([3.0, 0.0], dtype=dtype)
    calls = [lambda: torch.where(x > 0, x, 1j), lambda: x + 1j, lambda: x * 1j, lambda: x / 1j, lambda: x ** 1j]
    print(str(torch.result_type(x, 1j))[6:], *map(of, calls))
PYTHON
"$folder/venv/bin/python" "$folder/look.py" | tee "$folder/seen"
[ "$(sed -n 1p "$folder/seen")" = "bcomplex32 bcomplex32 NotImplementedError NotImplementedError NotImplementedError NotImplementedError" ]
[[ "$(sed -n 2p "$folder/seen")" = "complex32 complex32 complex32 complex32 "* ]]
