# SPDX-License-Identifier: Apache-2.0
"""Files and bytes of weights, whole and in parts."""
import tempfile

import safetensors.torch as S
import torch
from safetensors import safe_open

net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
with tempfile.TemporaryDirectory() as folder:
    path = folder + "/net.safetensors"
    S.save_file(net.state_dict(), path, metadata={"kind": "net"})
    found = S.load_file(path)
    print(sorted(found), all(torch.equal(v, net.state_dict()[k]) for k, v in found.items()))
    with safe_open(path, "pt") as f:
        part = f.get_slice("0.weight")
        print(f.metadata(), sorted(f.keys()), f.get_tensor("0.bias").shape, part[1:3, :2].shape, part.get_shape(), part.get_dtype())
    other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    S.save_model(net, path)
    print(S.load_model(other, path), torch.equal(other[0].weight, net[0].weight))
kinds = (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.uint8, torch.bool)
text = S.save({str(k): torch.tensor([0, 1, 2]).to(k) for k in kinds})
print(len(text), {k: (v.dtype, v.tolist()) for k, v in sorted(S.load(text).items())})
