# SPDX-License-Identifier: Apache-2.0
# Derivatives of collectives between processes: collectives again, so all ranks have to ask for them, in the same order. runtime/autograd/grad_rules.h
# explains the names of functions and parameters.


def wait_tensor__d_tensor(grad: Tensor) -> Tensor:
    return grad


def wait_tensors__d_tensors(grads: List[Tensor]) -> List[Tensor]:
    return grads


def _wrap_tensor_autograd__d_input(grad: Tensor) -> Tensor:
    return grad


# PyTorch's: what the other ranks' copies did is not added at the root.
def broadcast__d_input(grad: Tensor) -> Tensor:
    return grad


def _all_reduced(t: Tensor, reduce_op: str, group_name: str) -> Tensor:
    return torch.ops._c10d_functional.wait_tensor(torch.ops._c10d_functional.all_reduce(t, reduce_op, group_name))


# Ranks that have the least or greatest element share its gradient.
def all_reduce__d_input(grad: Tensor, input: Tensor, reduce_op: str, group_name: str, result: Tensor) -> Tensor:
    if reduce_op == "sum" or reduce_op == "avg":
        return __torch__.derivatives.collective._all_reduced(grad, reduce_op, group_name)
    if reduce_op != "max" and reduce_op != "min":
        torch.ops.ctsc.fail("all_reduce backward only supports `sum`, `premul_sum`, `avg`, `max`, `min` reductions, got '{}'".format(reduce_op))
    total = __torch__.derivatives.collective._all_reduced(grad, "sum", group_name)
    done = torch.ops._c10d_functional.wait_tensor(result)
    has = torch.logical_or(torch.eq(input, done), torch.logical_and(torch.isnan(input), torch.isnan(done)))
    ties = __torch__.derivatives.collective._all_reduced(torch.to(has, 6), "sum", group_name)
    return torch.where(has, torch.to(torch.div(total, ties), grad.dtype), torch.zeros_like(grad))


def all_reduce_coalesced__as(inputs: List[Tensor], reduce_op: str, group_name: str) -> List[Tensor]:
    return [torch.ops._c10d_functional.all_reduce(x, reduce_op, group_name) for x in inputs]


def _scattered(grad: Tensor, group_size: int, group_name: str) -> Tensor:
    return torch.ops._c10d_functional.wait_tensor(torch.ops._c10d_functional.reduce_scatter_tensor(grad, "sum", group_size, group_name))


def all_gather_into_tensor__d_input(grad: Tensor, group_size: int, group_name: str) -> Tensor:
    return __torch__.derivatives.collective._scattered(grad, group_size, group_name)


def all_gather_into_tensor_coalesced__d_inputs(grads: List[Tensor], group_size: int, group_name: str) -> List[Tensor]:
    return [__torch__.derivatives.collective._scattered(g, group_size, group_name) for g in grads]


def _gathered(grad: Tensor, reduce_op: str, group_size: int, group_name: str, name: str) -> Tensor:
    if reduce_op != "sum":
        torch.ops.ctsc.fail("{} backward only supports 'sum' reduction, got '{}'".format(name, reduce_op))
    return torch.ops._c10d_functional.wait_tensor(torch.ops._c10d_functional.all_gather_into_tensor(grad, group_size, group_name))


def reduce_scatter_tensor__d_input(grad: Tensor, reduce_op: str, group_size: int, group_name: str) -> Tensor:
    return __torch__.derivatives.collective._gathered(grad, reduce_op, group_size, group_name, "reduce_scatter_tensor")


def reduce_scatter_tensor_coalesced__d_inputs(grads: List[Tensor], reduce_op: str, group_size: int, group_name: str) -> List[Tensor]:
    return [__torch__.derivatives.collective._gathered(g, reduce_op, group_size, group_name, "reduce_scatter_tensor_coalesced") for g in grads]


def all_to_all_single__d_input(grad: Tensor, output_split_sizes: List[int], input_split_sizes: List[int], group_name: str) -> Tensor:
    return torch.ops._c10d_functional.wait_tensor(torch.ops._c10d_functional.all_to_all_single(grad, input_split_sizes, output_split_sizes, group_name))
