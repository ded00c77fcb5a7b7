# SPDX-License-Identifier: Apache-2.0
"""test_py_device.py - modules and tensors on a GPU, which is simulated (tests/cuda/sim): what moves, and where it is made."""
import os
import subprocess
import sys

import pytest

PROGRAM = """
import ctsc as torch
from ctsc import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
weight, x = net[0].weight, torch.randn(16, 4)
here = net(x)
assert net.to("cuda") is net and weight.device == torch.device("cuda:0") and net[0].weight is weight and weight.is_leaf and weight.requires_grad
assert net[1].running_mean.is_cuda and net.cuda().to(torch.device("cuda", 0)).float()[3].bias.is_cuda
there = net(x.to("cuda"))
assert there.is_cuda and torch.allclose(there.cpu(), here, atol=1e-5)
nn.functional.cross_entropy(there, torch.zeros(16, dtype=torch.int64).cuda()).backward()
assert weight.grad.is_cuda
state = net.state_dict()
assert state["0.weight"].is_cuda and net.cpu() is net and not weight.is_cuda and not weight.grad.is_cuda
assert net.load_state_dict(state) is not None and not weight.is_cuda
with torch.device("cuda"):
    made = [torch.zeros(2), torch.tensor([1.0]), torch.arange(3), torch.full((2,), 1.0), torch.randn(2), nn.Linear(2, 2).weight, torch.randperm(3), torch.as_tensor([1]), torch.normal(0.0, 1.0, (2,))]
    assert all(t.is_cuda for t in made) and not torch.zeros(2, device="cpu").is_cuda and torch.get_default_device().type == "cuda"
    with torch.device("cpu"):
        assert not torch.zeros(1).is_cuda
assert not torch.zeros(2).is_cuda
torch.set_default_device("cuda")
assert torch.ones(2).is_cuda
torch.set_default_device(None)
import io
data = io.BytesIO()
torch.save(net.state_dict(), data)
for where in ("cuda", {"cpu": "cuda:0"}, lambda storage, location: storage.cuda()):
    data.seek(0)
    assert torch.load(data, map_location=where)["0.weight"].is_cuda


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.more = nn.Linear(2, 2), {"t": [torch.ones(2)]}


data = io.BytesIO()
torch.save(Net(), data)
for where in (None, "cpu", "cuda"):
    data.seek(0)
    loaded = torch.load(data, map_location=where, weights_only=False)
    assert loaded.layer.weight.is_cuda == loaded.more["t"][0].is_cuda == (where == "cuda")
print("done")
"""


def test_modules_and_factories(root, tmp_path):
    build = os.environ.get("CTSC_BUILD", os.path.join(root, "build"))
    if not os.path.exists(os.path.join(build, "tests", "cuda", "libcudasim.so")):
        pytest.skip("the simulated device has not been built (make unit)")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, os.path.join(root, "tests", "cuda", "sim.py"), "--build", build, sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout == "done\n", done.stderr
