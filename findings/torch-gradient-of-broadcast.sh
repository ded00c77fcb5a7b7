#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The gradient of torch.distributed's functional broadcast is what each rank gave: nothing is summed at the root, and ranks
# whose argument was not used get one as well. That of torch.distributed.nn.functional.broadcast is the sum, at the root.
#
# Seen with torch 2.15.0 and gloo, two ranks, root 0, gradients 1 and 2 of the result on ranks 0 and 1:
#
#     _functional_collectives.broadcast      1 on rank 0, 2 on rank 1
#     distributed.nn.functional.broadcast    3 on rank 0, 0 on rank 1
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
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed.nn.functional as with_gradients

rank = int(sys.argv[2])
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=rank, world_size=2)
found = []
for broadcast in (lambda x: functional.broadcast(x, 0, dist.group.WORLD), lambda x: with_gradients.broadcast(x, 0)):
    x = torch.full((1,), 5.0 + rank, requires_grad=True)
    (broadcast(x * 1) * (rank + 1)).sum().backward()
    found.append("%g" % x.grad.item())
with open(sys.argv[1] + ".%d" % rank, "w") as f:
    f.write(" ".join(found))
dist.destroy_process_group()
PYTHON
for rank in 0 1; do "$folder/venv/bin/python" "$folder/look.py" "$folder/meet" $rank & done
wait
echo "rank 0: $(cat "$folder/meet.0"), rank 1: $(cat "$folder/meet.1")"
[ "$(cat "$folder/meet.0")" = "1 3" ] && [ "$(cat "$folder/meet.1")" = "2 0" ]
