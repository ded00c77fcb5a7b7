"""Indexing: slices, masks, integer arrays, assignment, gather and scatter, and errors."""
import torch

x = torch.arange(24).reshape(2, 3, 4)
print(x[0], x[-1, -1], x[..., 0], x[:, 1:, ::2], x[None].shape, x[0, ..., None].shape, x[1, 2, 3].item(), x[:, -2:].shape)
print(x[x % 5 == 0], x[:, [0, 2]], x[[0, 1], [1, 2]], x[torch.tensor([1, 0]), :, torch.tensor([0, 3])], x[:, torch.tensor([[0, 1], [2, 0]])].shape)
mask = torch.tensor([True, False, True])
print(x[:, mask].shape, x[0, mask, 1:3], x[torch.tensor([True, False])].shape, x[True].shape, x[False].shape)
y = torch.zeros(3, 4)
y[0] = 1
y[1, 1:3] = torch.tensor([5., 6.])
y[:, -1] += 2
y[y == 0] = -1
y[[0, 2], [0, 0]] = torch.tensor([10., 20.])
y[2, mask.new_tensor([True, True, False, False])] *= 2
print(y)
y[...] = 0
y[torch.arange(3), torch.tensor([1, 2, 3])] = 1
print(y, y.nonzero(), torch.nonzero(y, as_tuple=True), torch.argwhere(y > 0).shape)
i = torch.tensor([[0, 1, 1], [2, 0, 0]])
print(torch.gather(x[0, :2], 1, i), torch.zeros(2, 4, dtype=torch.long).scatter_(1, i, torch.tensor([[1, 2, 3], [4, 5, 6]])), torch.zeros(2, 4).scatter_add_(1, i, torch.ones(2, 3)))
print(torch.zeros(3).scatter(0, torch.tensor([1]), 7.0), torch.zeros(2, 2).scatter_reduce(1, i[:, :2] % 2, torch.ones(2, 2) * 3, reduce="amax"), x.index_select(2, torch.tensor([3, 0])).shape)
print(torch.zeros(3).index_add_(0, torch.tensor([0, 0, 2]), torch.ones(3)), torch.ones(3, 2).index_fill_(0, torch.tensor([1]), 0), torch.ones(2, 2).masked_fill(torch.eye(2, dtype=torch.bool), -torch.inf))
print(torch.where(x > 10, x, -x)[1], torch.take(x, torch.tensor([0, 23])), torch.take_along_dim(x[0], torch.tensor([[0], [1], [2]]), dim=1), torch.masked_select(x, x > 20))
print(x.index_put((torch.tensor([0]), torch.tensor([0])), torch.tensor(99))[0, 0], torch.zeros(4).index_put_((torch.tensor([1, 1]),), torch.ones(2), accumulate=True), x.select(1, 0).shape, x.narrow(2, 1, 2)[0, 0])
print(x.unfold(2, 2, 1).shape, torch.diagonal(x, dim1=1, dim2=2), x.flip(0)[0, 0], x.roll(1, -1)[0, 0], x.movedim(0, -1).shape, torch.rot90(x[0]).shape, x.view(-1)[::7])
a, *rest = x[0]
print(a, len(rest), [int(v) for v in a], list(enumerate(a))[1], 7 in x, len(x), x[0].tolist())
b = x.clone()
b[0, 0], b[1, 0] = b[1, 0].clone(), b[0, 0].clone()
print(b[:, 0])
x1 = x.float()
view = x1[0]
view += 100
print(x1[0, 0], x1.data_ptr() == view.data_ptr(), view.storage_offset())
for bad in (lambda: x[2], lambda: x[0, 0, 0, 0], lambda: x[[0, 5]], lambda: x[torch.tensor([True, True, True])], lambda: x[1.5]):
    try:
        bad()
        print("no error")
    except (IndexError, ValueError, TypeError) as e:
        print(type(e).__name__, str(e).split("\n")[0][:100])
