"""Sparse matrices of coordinates: joined, selected, in place."""
import torch


def show(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e).splitlines()[0])


def new():
    return torch.sparse_coo_tensor([[0, 1, 1, 0], [2, 0, 2, 2]], [3., 4., 5., 1.], (2, 3)).coalesce()


c = new()
show(lambda: torch.cat([c, c]).to_dense())
show(lambda: torch.cat([c, c], 1).to_dense())
show(lambda: torch.stack([c, c]).shape)
show(lambda: c.unsqueeze(0).shape)
show(lambda: c.unsqueeze(2).to_dense())
show(lambda: c.index_select(1, torch.tensor([2, 0, 2])).to_dense())
show(lambda: c.index_select(0, torch.tensor([1])))
show(lambda: c.narrow_copy(1, 1, 2).to_dense())
show(lambda: c.norm())
show(lambda: c.any())
show(lambda: torch.isnan(c))
show(lambda: torch.hspmm(c, torch.ones(3, 2)).to_dense())
show(lambda: torch.bmm(torch.stack([c, c]), torch.ones(2, 3, 1)))
show(lambda: new().mul_(2))
show(lambda: new().add_(c))
show(lambda: new().sub_(c).to_dense())
show(lambda: new().neg_())
show(lambda: new().zero_())
show(lambda: new().div_(2))
show(lambda: c.is_same_size(c))
show(lambda: c.numpy())
show(lambda: c.tolist())
show(lambda: torch.sparse.check_sparse_tensor_invariants.is_enabled())
x = new()
x += c
x *= 3
print(x)
