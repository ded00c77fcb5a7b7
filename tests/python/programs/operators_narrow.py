"""Operators on numbers of 16 bits, at ends of ranges, and of nan: what PyTorch 2.15 means by each."""
import torch
import torch.nn.functional as F

nan, inf = float("nan"), float("inf")
f16, bf16 = torch.float16, torch.bfloat16


def show(*tensors):
    print(*(t.tolist() if isinstance(t, torch.Tensor) else [x.tolist() for x in t] for t in tensors))


def fails(call):
    try:
        print(call())
    except (RuntimeError, NotImplementedError, IndexError) as e:
        print(str(e).split("\n")[0])


# a number, or a tensor of no dims, is not rounded before a product or a quotient
half = torch.tensor([0.5, 60000], dtype=f16)
show(half * 1e5, half / 1e5, half * 1e-8, half * torch.tensor(1e5), half / torch.tensor(1e5, dtype=torch.float64), torch.tensor(1e5) * half)
show(torch.tensor([1.0078125], dtype=bf16) * 1.00390625, torch.tensor(0.5, dtype=f16) * torch.tensor(100001))
half.mul_(1e5).div_(1e5)
show(half, torch.add(half, half, alpha=1.0001))


@torch.jit.script
def scaled(x, s: float):
    y = x * s
    return y / 100000.0 + x, torch.tensor([0.5], dtype=torch.float16) * 1e5


for _ in range(3):
    show(scaled(torch.tensor([0.5, 0.25], dtype=f16), 1e5))

# sums into one element
for dtype in (f16, bf16):
    n = 1000
    index = torch.zeros(n, dtype=torch.int64)
    zeros, ones = torch.zeros(2, dtype=dtype), torch.ones(n, dtype=dtype)
    rows = torch.zeros(2, 2, dtype=dtype)
    show(zeros.scatter_add(0, index, ones), zeros.index_add(0, index, ones), zeros.index_put((index,), ones, accumulate=True), zeros.put(index, ones, accumulate=True))
    show(zeros.scatter_reduce(0, index, ones * 3, "mean"), zeros.index_reduce(0, index, ones * 3, "mean"), zeros.scatter(0, index, ones, reduce="add"))
    show(rows.index_add(0, index, ones[:, None].expand(n, 2)), rows.index_add(0, index, ones[:, None].expand(n, 2), alpha=0.5), rows.scatter_add(0, index[:, None].expand(n, 2), ones[:, None].expand(n, 2)))
    show(torch.eye(300, dtype=dtype).trace(), torch.histc(torch.tensor([1, 2, 2.5, nan, 3], dtype=dtype), 4, 0, 4), torch.isin(torch.tensor([1, nan], dtype=dtype), torch.tensor([1, nan], dtype=dtype)))

# bounds beyond a dtype
bytes_ = torch.tensor([3, 200, 255], dtype=torch.uint8)
show(bytes_.clamp(-129, 200), F.hardtanh(bytes_, -5, 100), torch.tensor([-100, 100], dtype=torch.int8).clamp(-300, 5), bytes_.clamp_max(1000))
fails(lambda: bytes_.clamp(min=300))
fails(lambda: F.hardtanh(bytes_, -5, -2))
fails(lambda: half.clamp(max=1e5))
fails(lambda: half.masked_fill(half > 0, torch.tensor(1e5)))
fails(lambda: F.softshrink(half, 1e5))
show(torch.logit(torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64), 0.6), F.softshrink(torch.tensor([nan, -0.1, 2])), torch.full((1,), 1e5, dtype=f16))
show(torch.lerp(half, half * 2, torch.tensor(0.5)))

# counting
for end, step, dtype in ((5, 1.5, torch.int64), (1, 0.3, torch.int64), (3, 0.5, torch.int64), (5, 1.5, torch.int32)):
    show(torch.arange(0, end, step, dtype=dtype))
show(torch.arange(0.5, 5, dtype=torch.int64), torch.arange(5.5, dtype=torch.int64), torch.arange(5, 0, -1.5, dtype=torch.int64))
fails(lambda: torch.arange(2, 0))
show(torch.histc(torch.tensor([1, 2, nan, 3.0]), 4, 0, 4), torch.take_along_dim(torch.arange(10.0).view(2, 5), torch.tensor([[-1], [0]]), 1))
show(*torch.unique(torch.tensor([nan, 1, nan]), dim=0, return_inverse=True, return_counts=True))
show(torch.unique(torch.tensor([[1, nan], [1, nan], [nan, 1], [0, nan], [0, 1], [0, 1]]), dim=0))

# complex numbers
z = torch.tensor([1j, -1 + 0j, 3 + 2j, 1e-5j, 0j])
for op in (torch.log1p, torch.expm1, torch.exp2, lambda t: torch.logcumsumexp(t, 0), lambda t: torch.logsumexp(t, 0), lambda t: torch.logaddexp(t, t.flip(0))):
    show(op(z))
show(torch.nan_to_num(torch.tensor([complex(nan, 1), complex(inf, -inf)]), 1.5, 2, 3), torch.logsumexp(torch.tensor([], dtype=torch.complex64), 0))
show(torch.tensor([1 + 1j, 0j]) / 0j, torch.reciprocal(torch.tensor([0j])), torch.tensor([1e38 + 1e38j]) / torch.tensor([1e38 + 1e38j]))

# quantisation of what is not a number
x = torch.tensor([nan, inf, -inf, 1])
show(torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255), torch.fake_quantize_per_channel_affine(x, torch.full((4,), 0.1), torch.zeros(4, dtype=torch.int32), 0, 0, 255))
show(torch.quantize_per_tensor(x, 0.1, 3, torch.quint8).int_repr(), torch.quantize_per_channel(x, torch.full((4,), 0.1), torch.full((4,), 3), 0, torch.quint8).int_repr())

# integers that are padded, hashes, chunks
for mode in ("reflect", "replicate", "circular"):
    show(F.pad(torch.arange(6).view(1, 2, 3), (1, 2, 1, 0), mode), F.pad(torch.arange(4, dtype=torch.uint8).view(1, 4), (1, 1), mode))
show(torch.hash_tensor(torch.tensor([1.0, 2, 3])), torch.hash_tensor(torch.tensor([[1, 2, 3], [4, 5, 7]]), dim=1), torch.hash_tensor(torch.tensor([3, -1], dtype=torch.int32)), torch.hash_tensor(torch.tensor([[1, 2], [3, 5]]), dim=[0], keepdim=True))
show(torch._chunk_cat([torch.arange(6.0).view(2, 3), torch.arange(3.0)], 0, 2), torch._chunk_cat([torch.ones(2, 3), torch.ones(2, 3)], 1, 5))

# unsigned integers of 16 to 64 bits, as far as PyTorch computes with them
for dtype in (torch.uint16, torch.uint32, torch.uint64):
    u, v = torch.tensor([7, 2, 40000], dtype=dtype), torch.tensor([3, 3, 40000], dtype=dtype)
    show(u.sum(), u.prod(), u.cumsum(0), u / 2, u + 1.5, u * 3, u & 3, u == v, u.sin(), u.sqrt(), u.mean(dtype=torch.float32))
    show(u.clamp(3, 5), torch.maximum(u, v), torch.where(u == v, u, v), torch.where(u == v, u, 0), torch.sort(u)[0], u.any(), torch.unique(u))
    u.mul_(2)
    show(u)
    print(u.sum().dtype, (u / 2).dtype, (u & 1).dtype, u.sin().dtype, torch.sort(u)[0].dtype, u.clamp(3, 5).dtype)
fails(lambda: torch.tensor([1], dtype=torch.uint16) + torch.tensor([1]))

# odds and ends
fails(lambda: torch.zeros(3).masked_fill(torch.tensor([1, 0, 1], dtype=torch.uint8), 2))
fails(lambda: F.pad(torch.arange(3.0), (1, 1), "reflect"))
show(torch.tensor([1 + 2j]) + torch.tensor([inf]), torch.tensor([inf]) + torch.tensor([1 + 2j]))
show(torch.einsum("ij,k->ik", torch.ones(2, 3, dtype=torch.uint8), torch.ones(2, dtype=torch.uint8)), torch.tensordot(torch.ones(2, 1, dtype=torch.int32), torch.ones(3, 2, dtype=torch.int32), ([1], [0])))
show(torch.linalg.norm(torch.zeros(3, 0), 2), torch.linalg.matrix_norm(torch.zeros(0, 3), 1), torch.linalg.lstsq(torch.zeros(3, 0), torch.ones(3, 2), driver="gelsd")[1])
volume, grid = torch.arange(48.0).view(1, 1, 3, 4, 4).sin(), torch.linspace(-1.2, 1.2, 24).view(1, 2, 2, 2, 3)
show(F.grid_sample(volume, grid, mode="bicubic", align_corners=True), F.grid_sample(volume, grid, mode="bicubic", padding_mode="reflection", align_corners=False))
