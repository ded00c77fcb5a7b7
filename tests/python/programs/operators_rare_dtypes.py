"""uint64 numbers of 2^63 or more, complex numbers of 16 bits, indices of 32 bits, memory that overlaps: what PyTorch 2.15 makes of them."""
import torch

B = 2**64 - 1


def show(*tensors):
    print(*(str(t.dtype).split(".")[-1] + str(t.tolist()) for t in tensors))


def fails(call):
    try:
        print(call())
    except (RuntimeError, NotImplementedError, IndexError) as e:
        print(str(e).split("\n")[0])


x = torch.tensor([3, B, 2**63, 7, 0, 1], dtype=torch.uint64)
y = torch.tensor([B, B, 1, 9, 2**63 + 5, 1], dtype=torch.uint64)
f = torch.tensor([1.5, 2, -3, 4, 5, 6])
# as floats
show(x.sqrt(), x.log2(), x / 2, x / y, x * 1.5, x * f, x + f, x < 1.5, torch.float_power(x, 2), torch.maximum(x, f))
show(x.half() * 0, x * f.double(), x.sum(dtype=torch.float32))
# by their bits
show(x.sum(), x.reshape(2, 3).prod(1), x.cumsum(0), x & y, x ^ 2, x.ceil(), x.nan_to_num(), x * y, x == y)
# in their order
show(torch.maximum(x, y), torch.minimum(x, y), x.clamp(2, 9), x.clamp(-2, 3), x.clamp(min=5), torch.clamp(x, y, x))
show(*torch.sort(x), *torch.sort(x, descending=True), torch.argsort(x), *torch.unique(x, return_inverse=True))
z = x.clone()
z *= y
z.clamp_(1, 9)
show(z)

# complex numbers are true where either part is
c = torch.tensor([complex(0, 3), complex(-0.0, 0), complex(2, 0)])
show(c.bool(), c.any(), c.all(), c[:1].all(), torch.nonzero(c), torch.where(c.bool(), 1, 0), torch.count_nonzero(c))

h = torch.tensor([1 + 2j, 3j]).to(torch.complex32)
print(h[0].item(), h.tolist())
for r in (h + 1, h * h, h - h, h * 2, -h, h.abs(), h == h, h.isnan(), h.any(), torch.outer(h, h), h + h.to(torch.complex64), h.abs() + 1):
    print(r.dtype, r.to(torch.complex64).tolist())
half = torch.tensor([3.5, 1], dtype=torch.float16)
print(torch.polar(half, half).to(torch.complex64).tolist())

i = torch.tensor([[0, 1, 0]], dtype=torch.int32)
m = torch.arange(6.0).reshape(2, 3)
show(m.gather(0, i), m.scatter(0, i, 9.0), m.scatter(0, i, m), m.scatter_add(0, i, m), m.scatter_reduce(0, i, m, "prod"))
fails(lambda: m.gather(0, i.short()))
fails(lambda: m.scatter_add(0, i.short(), m))
show(torch.repeat_interleave(torch.tensor([1, 0, 2], dtype=torch.uint8)), torch.repeat_interleave(f[:3], torch.tensor([1, 0, 2], dtype=torch.int16)))
show(torch.ones(3, dtype=c.dtype).scatter_reduce(0, torch.tensor([2, 2]), c[:2], "sum", include_self=False))

# halves by a number, which is not rounded
h = torch.tensor([-3.5, 3, 1, 60000, float("inf")], dtype=torch.float16)
show(h // 0.1, torch.div(h, 1e5, rounding_mode="trunc"), torch.div(h, torch.tensor(0.1), rounding_mode="floor"), torch.lerp(h, h * 2, 3.3), torch.nn.functional.threshold(h, 1e5, 1))


# memory that overlaps is not written, what is read is not resized
def into(call, x):
    return lambda: call(x)


fails(into(lambda x: x.copy_(x.t()), torch.ones(2, 2)))
fails(into(lambda x: x.unsqueeze(0).copy_(x), torch.ones(2, 3)))
fails(into(lambda x: x.add_(x.t()), torch.ones(2, 2)))
fails(into(lambda x: torch.add(x, torch.ones(3), out=x), torch.tensor(1.0)))
fails(into(lambda x: torch.add(x, torch.ones(3), out=x), torch.ones(1)))
fails(into(lambda x: torch.add(torch.ones(3), 1, out=x), torch.empty(0)))


# the order of what is written stays; numbers become float32 or int64 first, in programs
unit = torch.jit.CompilationUnit("""
def copied(x, y):
    a = x * x
    a.copy_(y)
    b = a + y
    return a, b
def made(x):
    n = x.to(torch.int16)
    n[0] = 1e5
    return n, torch.tensor(0.1, dtype=torch.float64), torch.tensor([300, -1], dtype=torch.uint8), torch.tensor([[1e5]], dtype=torch.int16)
""")
for _ in range(3):
    a, b = unit.copied(torch.arange(9.0).reshape(3, 3).t(), torch.ones(3, 3))
print(a.stride(), b.stride(), a.tolist())
show(*unit.made(torch.arange(3.0)))
