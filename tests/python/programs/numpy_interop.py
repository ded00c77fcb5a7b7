"""NumPy and Python next to tensors: conversions, shared memory, ufuncs, structured loops, random state, buffers, iteration, formatting, operators with scalars, comparison, errors."""
import math
import random
import numpy as np
import torch

np.random.seed(0)
torch.manual_seed(0)
a = np.arange(6, dtype=np.float32).reshape(2, 3)
t = torch.from_numpy(a)
a[0, 0] = 42
print(t, t.dtype, torch.as_tensor(a).data_ptr() == t.data_ptr(), torch.tensor(a).data_ptr() == t.data_ptr())
t[1, 1] = -1
print(a, np.asarray(t).flags["WRITEABLE"], np.shares_memory(t.numpy(), a))
print(np.sin(t), np.add(t, 1), np.mean(t.numpy()), np.array([t.sum(), t.mean()]), np.stack([t, t]).shape, t.__array__().dtype)
print(torch.from_numpy(np.array([1, 2], dtype=np.int16)).dtype, torch.tensor(np.float64(3.5)), torch.tensor(np.int32(3)).dtype, torch.tensor([np.float32(1), np.float32(2)]).dtype, torch.tensor(np.array([True, False])), torch.tensor(np.array([1 + 2j])))
print(t + np.float32(2), t * np.int64(2), (t > np.float32(0)).sum().item(), torch.ones(2) + np.ones(2, dtype=np.float32) if False else "")
print(t.tolist(), t.numpy().T.shape, torch.from_numpy(a.T).stride(), torch.from_numpy(a[::2]).shape, torch.from_numpy(a[:, ::-1].copy()).shape)
try:
    torch.from_numpy(a[:, ::-1])
except ValueError as e:
    print("ValueError", e)
try:
    torch.from_numpy([1, 2])
except TypeError as e:
    print("TypeError", e)
try:
    torch.tensor(np.array(["a"]))
except TypeError as e:
    print("TypeError", e)
try:
    torch.tensor([[1, 2], [3]])
except ValueError as e:
    print("ValueError", e)
try:
    torch.ones(2, 3) @ torch.ones(2, 3)
except RuntimeError as e:
    print("RuntimeError", str(e).rpartition(":")[2].strip())
try:
    torch.ones(2, 3) + torch.ones(2, 4)
except RuntimeError as e:
    print("RuntimeError", e)
try:
    bool(torch.ones(2))
except RuntimeError as e:
    print("RuntimeError", e)
try:
    torch.ones(2).item()
except RuntimeError as e:
    print("RuntimeError", e)
try:
    torch.ones(2, 3).view(4)
except RuntimeError as e:
    print("RuntimeError", e)
try:
    torch.ones(2, 3).t().contiguous().view(-1), torch.ones(2, 3).t().view(-1)
except RuntimeError as e:
    print("RuntimeError", e)
try:
    torch.ones(3)[5]
except IndexError as e:
    print("IndexError", e)
try:
    torch.ones(3).sum(2)
except IndexError as e:
    print("IndexError", e)
try:
    torch.cat([torch.ones(2), torch.ones(2, 2)])
except RuntimeError as e:
    print("RuntimeError", e)
try:
    torch.zeros(2).long() / "a"
except TypeError as e:
    print("TypeError", str(e)[:30])
try:
    torch.nn.Linear(3, 2)(torch.ones(1, 4))
except RuntimeError as e:
    print("RuntimeError", str(e).rpartition(":")[2].strip())
try:
    torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0, 5]))
except IndexError as e:
    print("IndexError", e)
try:
    torch.nn.Conv2d(3, 4, 3)(torch.ones(1, 2, 5, 5))
except RuntimeError as e:
    print("RuntimeError", e)
try:
    torch.embedding(torch.ones(3, 2), torch.tensor([3]))
except IndexError as e:
    print("IndexError", e)
try:
    torch.ones(2, dtype=torch.long).mean()
except RuntimeError as e:
    print("RuntimeError", e)
try:
    torch.stack([torch.ones(2), torch.ones(3)])
except RuntimeError as e:
    print("RuntimeError", e)
for row in t:
    print(row.sum().item(), end=" ")
print(len(t), list(torch.arange(3)), sum(torch.arange(4)), max(torch.tensor([1.0, 3.0, 2.0])), sorted(torch.tensor([3, 1, 2])), [int(i) for i in torch.tensor([1, 2])], 2 in torch.tensor([1, 2]), torch.tensor(3) in [1, 2, 3])
x, (y, z) = torch.tensor(1), torch.tensor([2, 3])
print(x + y + z, range(5)[torch.tensor(2)], [10, 20, 30][torch.tensor(1)], "%d %.2f %s" % (x, torch.tensor(2.5), y), f"{torch.tensor(3.14159):.3f} {torch.tensor(5):05d} {x}", "{:>8}".format("a"), round(torch.tensor(2.567).item(), 2), math.sqrt(torch.tensor(4.0)), math.floor(torch.tensor(2.7)))
print(1 / torch.tensor([2.0, 4.0]), 2 ** torch.arange(4), -torch.ones(2), 10 - torch.ones(2), 7 // torch.tensor([2, 3]), 7 % torch.tensor([2, 3]), abs(torch.tensor([-1])), ~torch.tensor([True]), torch.tensor(5) // 2, torch.tensor(-5) // 2, torch.tensor(-5) % 3, torch.tensor([1, 2]) << 2, True & torch.tensor([True]), torch.tensor([1.5]).__rpow__(2))
print(torch.tensor([1, 2]) + 1.5, (torch.tensor([1, 2]) / 2).dtype, (torch.tensor([1], dtype=torch.uint8) + 255), torch.tensor([1.0], dtype=torch.float16) + torch.tensor([1.0]), torch.tensor(1.0, dtype=torch.double) * torch.ones(1), (torch.ones(1, dtype=torch.int32) + torch.ones(1, dtype=torch.int8)).dtype, torch.result_type(torch.tensor(1), 1.0), torch.promote_types(torch.float16, torch.bfloat16), torch.can_cast(torch.float, torch.int))
print(np.allclose(torch.ones(2), np.ones(2)), torch.ones(3).numpy().dtype, torch.ones(2, dtype=torch.bool).numpy(), torch.ones(1).double().numpy() + 1, type(torch.ones(1).numpy()), np.float32(2) * torch.ones(2))
r = np.random.RandomState(1)
print(torch.from_numpy(r.rand(2)).float(), torch.tensor(r.randint(0, 5, (2, 2))), torch.as_tensor(range(3)), torch.asarray([1, 2]), torch.tensor((1, 2.0)), torch.tensor([[True]]), torch.tensor([]), torch.tensor(2).shape, torch.frombuffer(bytearray(b"\x01\x02"), dtype=torch.uint8))
print(torch.Tensor([1, 2]), torch.FloatTensor(2, 2).shape, torch.LongTensor([3]), torch.Tensor(2, 3).shape, torch.BoolTensor([True]), isinstance(torch.ones(1), torch.FloatTensor), torch.ones(1).type(), torch.ones(1).type(torch.LongTensor), torch.ones(1).type("torch.DoubleTensor"))
print(torch.finfo(torch.float32).eps, torch.iinfo(torch.int16).max, torch.finfo(torch.bfloat16), torch.iinfo(torch.uint8), torch.float32, torch.device("cpu"), torch.device("cuda", 1), torch.device("cuda:0").index, torch.Size([2, 3]), torch.Size([2, 3]).numel(), tuple(torch.ones(2, 3).shape), torch.ones(2, 3).size()[1:], torch.float.itemsize, torch.half.is_floating_point, torch.strided, torch.contiguous_format)
big = torch.arange(2000.0).view(40, 50)
print(big, torch.rand(3, 3) * 1e5, torch.tensor([1e-8, 1.0]), torch.tensor([float("nan"), float("inf"), -1.0]), torch.tensor([1e10, 1]), torch.zeros(0, 3), torch.tensor(True), torch.ones(2, requires_grad=True) * 2, torch.tensor([1 + 1j]), torch.zeros(2, 2, 2), sep="\n")
torch.set_printoptions(precision=2, sci_mode=False, linewidth=60, edgeitems=2)
print(big, torch.rand(4) * 1e-3, torch.tensor([1e10, 1]))
torch.set_printoptions(profile="default")
print(torch.rand(2), hash(torch.device("cpu")) == hash(torch.device("cpu")), {torch.float32: 1}[torch.float32], torch.ones(2) is torch.ones(2), torch.ones(1).equal(torch.ones(1)), torch.is_tensor(a), torch.is_floating_point(t), torch.numel(t), t.nelement(), t.element_size(), t.nbytes, t.itemsize, t.ndim, t.mT.shape, t.untyped_storage().nbytes(), t.storage_offset(), t.is_contiguous(), t.T.is_contiguous())
