"""Operators on lists of tensors, and numbers of distributions: what is printed is what PyTorch 1.13 prints (lerp_ and copy_: 2.15)."""
import torch
from torch import Tensor
from typing import List


@torch.jit.script
def step(params: List[Tensor], grads: List[Tensor], lr: float) -> List[Tensor]:
    torch._foreach_add_(params, grads, alpha=-lr)
    torch._foreach_mul_(params, 2)
    torch._foreach_addcdiv_(params, grads, torch._foreach_add(grads, grads), value=4)
    torch._foreach_addcmul_(params, grads, grads, value=0.5)
    torch._foreach_sub_(params, 1)
    torch._foreach_div_(params, torch._foreach_add(grads, 1))
    return torch._foreach_sqrt(torch._foreach_abs(params))


@torch.jit.script
def others(a: List[Tensor], b: List[Tensor]) -> List[Tensor]:
    torch._foreach_copy_(a, b)
    torch._foreach_lerp_(a, torch._foreach_neg(b), 0.25)
    made = torch._foreach_div(torch._foreach_mul(a, b), 2.0)
    torch._foreach_neg_(a)
    return made + torch._foreach_norm(b) + torch._foreach_norm(b, 1) + torch._foreach_exp(torch._foreach_sub(a, a))


@torch.jit.script
def clear(a: List[Tensor]) -> None:
    torch._foreach_zero_(a)


@torch.jit.script
def apart(a: List[Tensor], b: List[Tensor]) -> List[Tensor]:
    return torch._foreach_add(a, b)


params = [torch.tensor([1.0, 2.0]), torch.tensor([[3.0]])]
grads = [torch.tensor([1.0, -4.0]), torch.tensor([[2.0]])]
roots = step(params, grads, 0.5)
print(roots[0].tolist(), roots[1].tolist())  # expect: [1.1180340051651, 2.3804759979248047] [[1.5275251865386963]]
print(params[0].tolist(), params[1].tolist())  # expect: [1.25, -5.666666507720947] [[2.3333332538604736]]
print([t.tolist() for t in others(params, grads)])  # expect: [[0.25, 4.0], [[1.0]], 4.123105525970459, 2.0, 5.0, 2.0, [1.0, 1.0], [[1.0]]]
print(params[0].tolist(), params[1].tolist())  # expect: [-0.5, 2.0] [[-1.0]]
clear(params)
print(params[0].tolist(), params[1].tolist())  # expect: [0.0, 0.0] [[0.0]]
try:
    apart(params, grads[:1])
except RuntimeError as e:
    print("Tensor lists must have the same number of tensors, got 2 and 1" in str(e))  # expect: True
try:
    clear(params[:0])
except RuntimeError as e:
    print("Tensor list must have at least one tensor." in str(e))  # expect: True


class Main(torch.nn.Module):
    def forward(self) -> bool:
        a, b = torch.ones(2), torch.full((2,), 2.0)
        roots = step([a], [b], 0.5)
        torch.manual_seed(42)
        x = torch._sample_dirichlet(torch._standard_gamma(torch.full((2, 3), 3.0)))
        return bool(roots[0].isnan().logical_not().all()) and a[0].item() == 1.0 and bool((x.sum(-1) - 1).abs().max() < 1e-6)
# expect: True
