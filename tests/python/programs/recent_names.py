"""Names beside the usual ones: windows, flex attention, gradients of convolutions, futures, pytrees with paths, process groups of one, linear_cross_entropy, grouped_mm, LU, versions, refusals."""
import torch
from torch import nn
import torch.nn.functional as F
import torch.distributed as dist
from torch.signal import windows
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import flex_attention, create_block_mask, and_masks
from torch.utils import _pytree as pytree
import torch.utils.flop_counter, torch.sparse, torch.export, torch.nested

torch.manual_seed(0)
for name, kw in (("exponential", dict(tau=2.0)), ("gaussian", dict(std=0.9)), ("cosine", {}), ("kaiser", dict(beta=4.0)), ("general_cosine", dict(a=[0.46, 0.23, 0.31])), ("general_hamming", dict(alpha=0.6)), ("hamming", {}), ("hann", {}), ("blackman", {}), ("nuttall", {}), ("bartlett", {})):
    f = getattr(windows, name)
    print(name, f(5, **kw), f(4, sym=False, **kw), f(1, **kw), f(3, dtype=torch.float64, **kw).dtype)
try:
    windows.gaussian(-1)
except ValueError as e:
    print("ValueError", e)
q, k, v = (torch.randn(2, 2, 6, 4) for _ in range(3))
causal = lambda b, h, i, j: i >= j
near = lambda b, h, i, j: (i - j).abs() <= 2
mask = create_block_mask(and_masks(causal, near), None, None, 6, 6, device="cpu", BLOCK_SIZE=128)
o = flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + 0.1 * (j - i), block_mask=mask)
print(o.shape, o[0, 0], mask.shape)
with sdpa_kernel([SDPBackend.MATH]):
    print(torch.allclose(flex_attention(q, k, v, block_mask=create_block_mask(causal, None, None, 6, 6, device="cpu")), F.scaled_dot_product_attention(q, k, v, is_causal=True), atol=1e-6))
x, w, g = torch.randn(1, 2, 5, 5), torch.randn(3, 2, 3, 3), torch.randn(1, 3, 3, 3)
print(torch.nn.grad.conv2d_input(x.shape, w, g).sum(), torch.nn.grad.conv2d_weight(x, w.shape, g).sum())
fut = torch.futures.Future()
then = fut.then(lambda f: f.value() + 1)
fut.set_result(3)
print(then.wait(), fut.done(), torch.futures.wait_all([fut, then]))
tree = {"a": [1, (2, 3)], "b": torch.tensor(4)}
print([(pytree.keystr(p), int(l)) for p, l in pytree.tree_flatten_with_path(tree)[0]], pytree.tree_map_only(int, lambda i: -i, tree), pytree.tree_all_only(int, lambda i: i > 0, tree))
input, weight, target = torch.randn(4, 3), torch.randn(5, 3), torch.tensor([0, 4, 2, 1])
print(F.linear_cross_entropy(input, weight, target, label_smoothing=0.1), torch.allclose(F.linear_cross_entropy(input, weight, target), F.cross_entropy(input @ weight.T, target)))
A = torch.tensor([[4.0, 3.0], [6.0, 3.0]])
print(torch.linalg.lu_factor(A), torch.lu_unpack(*torch.linalg.lu_factor(A)))
print(torch.torch_version.TorchVersion("2.15.0") >= (2, 1), torch.torch_version.TorchVersion("2.9.1") < "2.10", torch.get_device_module("cpu").__name__.split(".")[-1])
emb = nn.Embedding(5, 3, max_norm=0.5)
print(emb(torch.tensor([1, 2])).norm(dim=1), nn.EmbeddingBag(5, 3, max_norm=0.4, mode="sum")(torch.tensor([[1]])).norm())
a, b = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
h = torch.autograd.graph.register_multi_grad_hook([a, b], lambda gs: print("grads", [tuple(t.shape) for t in gs]))
(a.sum() * b.sum()).backward()
h.remove()
print(nn.utils.stateless.functional_call(nn.Linear(2, 1), {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, (torch.ones(1, 2),)))
print(torch.linalg.matrix_norm(A, "nuc"), torch.special.i0e(torch.tensor(1.0)), torch.func.replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(2)))[0].running_mean)
