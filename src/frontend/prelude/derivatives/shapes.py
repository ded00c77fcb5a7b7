# SPDX-License-Identifier: Apache-2.0
# Derivatives of views, copies and indexing. What the names of functions and parameters mean stands in runtime/autograd/grad_rules.h.


# The gradient of a tensor whose elements at (size, stride, offset) have gradient grad: each element of its storage gets what arrives there.
def _as_strided_grad(grad: Tensor, base_sizes: List[int], base_strides: List[int], size: List[int], stride: List[int], offset: int) -> Tensor:
    extent = 1
    for i in range(torch.len(base_sizes)):
        extent += (base_sizes[i] - 1) * base_strides[i]
    flat = torch.zeros([extent], dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    places = torch.arange(extent, dtype=4, layout=None, device=grad.device, pin_memory=None)
    places = torch.reshape(torch.as_strided(places, size, stride, offset), [-1])
    flat = torch.index_add(flat, 0, places, torch.reshape(grad, [-1]))
    return torch.as_strided(flat, base_sizes, base_strides, 0)
