# SPDX-License-Identifier: Apache-2.0
"""make.py - exports the programs of exported.py with real PyTorch (2.15), one archive for each rank, or one for all where they are the same:

    torchrun --nproc-per-node 2 tests/distributed/exported/make.py
    torchrun --nproc-per-node 4 tests/distributed/exported/make.py

Tensor-parallel modules are exported as torch.export does it with DTensors: their specification is made known as a constant, and decompositions
leave operators on the parts of this rank."""
import io
import os
import zipfile

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.utils._pytree as pytree
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor._dtensor_spec import DTensorSpec
from torch.distributed.tensor.parallel import ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, parallelize_module

HERE = os.path.dirname(os.path.abspath(__file__))


class Functional(nn.Module):
    """Every operator; the dtypes and shapes are those of the arguments."""

    def forward(self, x):
        g, n = dist.group.WORLD, dist.get_world_size()
        lists = functional.all_reduce_coalesced([x, x * 2], "sum", g)
        return (functional.all_reduce(x, "sum", g), functional.all_reduce(x, "max", g), functional.all_gather_tensor(x, 0, g), functional.all_gather_tensor(x, 1, g),
                functional.reduce_scatter_tensor(x, "sum", 0, g), functional.reduce_scatter_tensor(x, "min", 1, g), functional.broadcast(x, n - 1, g),
                functional.all_to_all_single(x, None, None, g), lists[0] + lists[1], *functional.all_gather_into_tensor_coalesced([x, x + 1], g),
                *functional.reduce_scatter_tensor_coalesced([x, x + 1], "sum", [0, 0], g))


class InPlace(nn.Module):
    """The calls of torch.distributed, which write."""

    def forward(self, x):
        y, gathered, part = x + 1, torch.empty(x.shape[0] * dist.get_world_size(), x.shape[1]), torch.empty(x.shape[0] // dist.get_world_size(), x.shape[1])
        dist.all_reduce(y)
        dist.all_gather_into_tensor(gathered, x)
        dist.reduce_scatter_tensor(part, x)
        return y, gathered, part


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.mlp = nn.LayerNorm(8), MLP()

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class Attention(nn.Module):
    """Heads on several ranks, written with collectives by hand; the logits of a vocabulary that is cut."""

    def __init__(self, rank, size):
        super().__init__()
        self.heads, self.size = 4 // size, size
        wide, cut = [nn.Linear(16, 16, bias=False) for _ in range(4)], 16 // size
        words = torch.randn(32, 16)
        for name, layer in zip(("q", "k", "v"), wide):
            setattr(self, name, nn.Parameter(layer.weight.detach()[rank * cut:][:cut].clone()))
        self.out = nn.Parameter(wide[3].weight.detach()[:, rank * cut:][:, :cut].clone())
        self.words = nn.Parameter(words[rank * (32 // size):][:32 // size].clone())

    def forward(self, x):
        b, t = x.shape[0], x.shape[1]
        q, k, v = ((x @ w.T).view(b, t, self.heads, 4).transpose(1, 2) for w in (self.q, self.k, self.v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, -1)
        part = functional.all_reduce(y @ self.out.T, "sum", dist.group.WORLD)
        beside = torch.tanh(x) * 2 # what does not wait
        return functional.all_gather_tensor((part + beside) @ self.words.T, 2, dist.group.WORLD)


class Redistribute(nn.Module):
    """What is cut along one dimension is cut along another."""

    def __init__(self, mesh):
        super().__init__()
        self.mesh = mesh

    def forward(self, x):
        d = DTensor.from_local(x, self.mesh, [Shard(0)], run_check=False)
        return d.redistribute(self.mesh, [Shard(1)]).to_local() * 2, d.redistribute(self.mesh, [Replicate()]).to_local()


def modules(rank, size):
    """Names, modules, inputs, whether ranks differ."""
    mesh = init_device_mesh("cpu", (size,))
    torch.manual_seed(0)
    yield "functional", Functional(), torch.zeros(8, 4), False
    yield "redistribute", Redistribute(mesh), torch.zeros(4, 8), False
    yield "columns_rows", parallelize_module(MLP(), mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()}), torch.zeros(4, 8), True
    if size == 2:
        yield "functional_bf16", Functional(), torch.zeros(8, 4, dtype=torch.bfloat16), False
        yield "in_place", InPlace(), torch.zeros(8, 4), False
        yield "sequence", parallelize_module(Block(), mesh, {
            "norm": SequenceParallel(), "mlp": PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate()),
            "mlp.up": ColwiseParallel(), "mlp.down": RowwiseParallel(output_layouts=Shard(1))}), torch.zeros(2, 4, 8), True
        yield "attention", Attention(rank, size), torch.zeros(2, 6, 16), True


def write(exported, path):
    """As torch.export.save, but compressed."""
    data = io.BytesIO()
    torch.export.save(exported, data)
    with zipfile.ZipFile(data) as given, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name in given.namelist():
            out.writestr(zipfile.ZipInfo(name), given.read(name), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    pytree.register_constant(DTensorSpec)
    for name, module, x, differ in modules(rank, size):
        exported = torch.export.export(module, (x,), strict=False).run_decompositions()
        if differ or rank == 0:
            write(exported, os.path.join(HERE, "%s.%s.pt2" % (name, "%d-%d" % (rank, size) if differ else size)))
    dist.destroy_process_group()
