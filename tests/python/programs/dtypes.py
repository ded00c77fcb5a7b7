"""dtypes: inference from data, promotion, conversion, limits."""
import torch

for data in (1, 1.0, True, 1j, [1, 2.0], [True, 2], [[1], [2]], [1, 2j]):
    print(data, torch.tensor(data).dtype, end="; ")
print()
names = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
for a in names:
    print(a, [str(torch.promote_types(getattr(torch, a), getattr(torch, b))).split(".")[1] for b in names])
i, f, d, b = torch.ones(2, dtype=torch.int32), torch.ones(2), torch.ones(2, dtype=torch.float64), torch.tensor([True, False])
print((i + 1).dtype, (i + 1.5).dtype, (i / 2).dtype, (i // 2).dtype, (i * f).dtype, (f + d).dtype, (f + torch.tensor(1.0, dtype=torch.float64)).dtype, (b + b).dtype, (b + 1).dtype, (i ** 2).dtype)
print((b & b).dtype, (i > 0).dtype, i.sum().dtype, b.sum(), f.sum(dtype=torch.float64).dtype, i.float().mean(), torch.result_type(i, 1.0), torch.can_cast(torch.float32, torch.int32))
print(torch.arange(0, 1, 0.25).dtype, torch.arange(3).dtype, torch.full((1,), 2).dtype, torch.full((1,), True).dtype, torch.zeros(1).dtype, torch.linspace(0, 1, 2).dtype, torch.zeros_like(i).dtype, torch.get_default_dtype())
print(f.to(torch.int64), torch.tensor([1.9, -1.9]).int(), torch.tensor([0.0, 2.0]).bool(), torch.tensor(300).to(torch.uint8), torch.tensor([1.00001]).half(), torch.tensor(3.7).long().item())
print(f.type(), i.type(), f.type(torch.float64).dtype, f.type("torch.DoubleTensor").dtype, f.type_as(i).dtype, f.to(d).dtype, f.dtype.itemsize, f.element_size(), torch.float16.is_floating_point, torch.complex64.is_complex, torch.int8.is_signed)
print(torch.finfo(torch.float32).eps, torch.finfo(torch.float16).max, torch.finfo(torch.bfloat16).tiny, torch.iinfo(torch.int32).max, torch.iinfo(torch.uint8), torch.finfo(torch.float64).bits, torch.finfo(torch.float32))
print(torch.is_tensor(f), torch.is_floating_point(i), f.is_complex(), torch.tensor([1 + 1j]).real, torch.view_as_real(torch.tensor([1 + 2j])), torch.complex(f, f).abs(), torch.polar(f, f).angle())
print(torch.FloatTensor([1, 2]), torch.LongTensor([1, 2]), torch.Tensor([3]), torch.Tensor(2, 3).shape, torch.ByteTensor([1]).dtype, torch.BoolTensor([True]), torch.DoubleTensor(1).dtype, torch.tensor(1.).double().dtype)
for bad in (lambda: i.mean(), lambda: i.sqrt_(), lambda: b - b, lambda: i.add_(1.5), lambda: torch.tensor([[1], [2, 3]]), lambda: f & f, lambda: torch.tensor("a"), lambda: bool(f), lambda: f.item(), lambda: torch.zeros(2) + torch.zeros(3)):
    try:
        print(bad())
    except (RuntimeError, TypeError, ValueError) as e:
        print(str(e).split("\n")[0][:110])
torch.set_default_dtype(torch.float64)
print(torch.tensor(1.5).dtype, torch.zeros(2).dtype, torch.rand(1).dtype, torch.nn.Linear(1, 1).weight.dtype, (torch.ones(2, dtype=torch.int64) / 2).dtype, torch.arange(0.0, 1.0).dtype, torch.tensor(1j).dtype, torch.get_default_dtype())
torch.set_default_dtype(torch.float32)
print(torch.tensor(1.5).dtype, (torch.tensor([1, 2]) / 2).dtype)
x = torch.tensor([1, 2, 3], dtype=torch.int32)
x = x / 2
x += 1
print(x, x.int(), torch.tensor([7, -7]) // 2, torch.tensor([7, -7]) % 3, torch.div(torch.tensor([7, -7]), 2, rounding_mode="trunc"), torch.bitwise_left_shift(torch.tensor(1), 3), ~torch.tensor([0, 5]), 5 - x, 2 ** x, 1 / x, 7 // torch.tensor([2]), -x, abs(-x), +x, round(torch.tensor(2.567).item(), 1))
