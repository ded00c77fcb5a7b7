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


class Written(nn.Module):
    """The operators that write, called by their names; and those named _autograd."""

    def forward(self, x):
        n, f, a = dist.get_world_size(), torch.ops._c10d_functional, torch.ops._c10d_functional_autograd
        first, second, lists, turned = x + 1, x * 2, [x - 1, x * 3], x.t().clone().t()
        gathered, part = torch.empty(x.shape[0] * n, x.shape[1]), torch.empty(x.shape[0] // n, x.shape[1])
        for t in (f.all_reduce_(first, "sum", "0"), f.broadcast_(second, n - 1, "0"), *f.all_reduce_coalesced_(lists, "max", "0"), f.all_reduce_(turned, "avg", "0"),
                  f.all_gather_into_tensor_out(x, n, "0", out=gathered), f.reduce_scatter_tensor_out(x, "sum", n, "0", out=part)):
            f.wait_tensor(t)
        split = [x.shape[0] // n] * n
        return (first, second, *lists, turned, gathered, part, f.wait_tensor(a.all_gather_into_tensor(x, n, "0")), f.wait_tensor(a.reduce_scatter_tensor(x, "sum", n, "0")),
                f.wait_tensor(a.all_to_all_single(x, split, split, "0")), *f.wait_tensors(f.all_gather_into_tensor_coalesced([x, x + 1], n, "0")))


class Ring(nn.Module):
    """Messages to the next rank, from the one before: in a batch, and singly, where what was received is read by its own name."""

    def __init__(self, rank, size):
        super().__init__()
        self.rank, self.size = rank, size

    def forward(self, x):
        after, before, f = (self.rank + 1) % self.size, (self.rank - 1) % self.size, torch.ops._c10d_functional
        got, again = torch.zeros_like(x), torch.zeros_like(x)
        for t in f.batch_p2p_ops(["irecv", "isend"], [before, after], [0, 0], [got, x * 2], "0"):
            f.wait_tensor(t)
        sent = f.isend(got + 1, after, 7, "0")
        f.wait_tensor(f.irecv(again, before, 7, "0"))
        y = torch.relu(again)
        f.wait_tensor(sent)
        return got, again, y


class Scripted(nn.Module):
    """In TorchScript: what an archive of torch.jit.save may have."""

    def forward(self, x: torch.Tensor):
        started = torch.ops._c10d_functional.all_reduce(x, "sum", "0")
        beside = torch.tanh(x)
        return torch.ops._c10d_functional.wait_tensor(started) + beside, torch.ops._c10d_functional.wait_tensor(torch.ops._c10d_functional.broadcast(x, 1, "0"))


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x):
        b, t = x.shape[0], x.shape[1]
        q, k, v = (layer(x).view(b, t, -1, 4).transpose(1, 2) for layer in (self.q, self.k, self.v))
        later = torch.ones(t, t, dtype=torch.bool).triu(1)
        weights = torch.softmax((q @ k.transpose(2, 3) / 2).masked_fill(later, float("-inf")), -1)
        return self.out((weights @ v).transpose(1, 2).reshape(b, t, -1))


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(16, 32, bias=False), nn.Linear(16, 32, bias=False), nn.Linear(32, 16, bias=False)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.heads, self.between, self.mlp = nn.LayerNorm(16), Heads(), nn.RMSNorm(16), Gated()

    def forward(self, x):
        x = x + self.heads(self.before(x))
        return x + self.mlp(self.between(x))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.layers, self.norm, self.head = nn.Embedding(32, 16), nn.ModuleList(Layer() for _ in range(2)), nn.LayerNorm(16), nn.Linear(16, 32)

    def forward(self, tokens):
        x = self.words(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def transformer(mesh):
    """As tutorials cut one: heads and columns over ranks, rows of the sequence between."""
    cut = {"before": SequenceParallel(), "between": SequenceParallel(),
           "heads": PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate()),
           "heads.q": ColwiseParallel(), "heads.k": ColwiseParallel(), "heads.v": ColwiseParallel(), "heads.out": RowwiseParallel(output_layouts=Shard(1)),
           "mlp": PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate()),
           "mlp.gate": ColwiseParallel(), "mlp.up": ColwiseParallel(), "mlp.down": RowwiseParallel(output_layouts=Shard(1))}
    model = parallelize_module(Transformer(), mesh, {
        "layers.0": PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(1), use_local_output=True), "norm": SequenceParallel(),
        "head": ColwiseParallel(input_layouts=Shard(1))})
    for layer in model.layers:
        parallelize_module(layer, mesh, cut)
    return model


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
    yield "written", Written(), torch.zeros(8, 4), False
    yield "ring", Ring(rank, size), torch.zeros(4, 2), True
    yield "transformer", transformer(mesh), torch.zeros(2, 8, dtype=torch.int64), True
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
        exported = torch.export.export(module, (x,), strict=False)
        exported = exported if name == "written" else exported.run_decompositions()
        if differ or rank == 0:
            write(exported, os.path.join(HERE, "%s.%s.pt2" % (name, "%d-%d" % (rank, size) if differ else size)))
    if rank == 0 and size == 2:
        torch.jit.save(torch.jit.script(Scripted()), os.path.join(HERE, "scripted.2.pt"))
    dist.destroy_process_group()
