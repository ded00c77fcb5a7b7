#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torch.set_flush_denormal(True) reaches the calling thread and threads that begin afterwards, not those of the pool that
# are there already.
#
# Seen with torch 2.15.0 on x86-64, two threads, x being 4,000,000 times 1e-39: where set_flush_denormal(True) is the first
# thing that is called, x and x * 1.0 are 0 throughout. Where x is made before, by both threads, it returns True as well,
# and 2,000,000 elements of x * 1.0 are not 0: the half that the pool's thread computes keeps its denormal numbers.
#
# Installs the package in a temporary folder; fails if any of this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.15.0 numpy==2.4.6
cat > "$folder/look.py" <<'PYTHON'
import sys
import torch

torch.set_num_threads(2)


def left(t):
    """Elements that are not 0, by their bits: comparisons may flush, too."""
    return int(((t.view(torch.int32) & 0x7FFFFFFF) != 0).sum())


if sys.argv[1] == "first":
    print(torch.set_flush_denormal(True), end=" ")
x = torch.full((4_000_000,), 1e-39)
print(left(x), end=" ")
if sys.argv[1] == "second":
    print(torch.set_flush_denormal(True), end=" ")
print(left(x * 1.0))
PYTHON
first=$("$folder/venv/bin/python" "$folder/look.py" first)
second=$("$folder/venv/bin/python" "$folder/look.py" second)
echo "called first:            $first"
echo "called when x was there: $second"
[ "$first" = "True 0 0" ] && [ "$second" = "4000000 True 2000000" ]
