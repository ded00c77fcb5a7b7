# SPDX-License-Identifier: Apache-2.0
# Collectives between processes that are made of others: those that write, whose results are there when they return, and those named _autograd.


def all_reduce_(input: Tensor, reduce_op: str, group_name: str) -> Tensor:
    made = torch.ops._c10d_functional.wait_tensor(torch.ops._c10d_functional.all_reduce(input, reduce_op, group_name))
    return torch.copy_(input, made)


def all_reduce_coalesced_(inputs: List[Tensor], reduce_op: str, group_name: str) -> List[Tensor]:
    made = torch.ops._c10d_functional.wait_tensors(torch.ops._c10d_functional.all_reduce_coalesced(inputs, reduce_op, group_name))
    for i in range(len(inputs)):
        torch.copy_(inputs[i], made[i])
    return inputs


def broadcast_(input: Tensor, src: int, group_name: str) -> Tensor:
    return torch.copy_(input, torch.ops._c10d_functional.wait_tensor(torch.ops._c10d_functional.broadcast(input, src, group_name)))


def _collective_into(name: str, made: Tensor, out: Tensor) -> Tensor:
    if made.numel() != out.numel() or made.dtype != out.dtype:
        torch.ops.ctsc.fail("{}: the result has {} elements of dtype {}, and out {} of {}".format(name, made.numel(), torch.ops.ctsc.type_name(made), out.numel(), torch.ops.ctsc.type_name(out)))
    return torch.copy_(out, torch.reshape(torch.ops._c10d_functional.wait_tensor(made), out.size()))


def all_gather_into_tensor_out(input: Tensor, group_size: int, group_name: str, *, out: Tensor) -> Tensor:
    made = torch.ops._c10d_functional.all_gather_into_tensor(input, group_size, group_name)
    return __torch__.operators.collective._collective_into("all_gather_into_tensor_out", made, out)


def reduce_scatter_tensor_out(input: Tensor, reduce_op: str, group_size: int, group_name: str, *, out: Tensor) -> Tensor:
    made = torch.ops._c10d_functional.reduce_scatter_tensor(input, reduce_op, group_size, group_name)
    return __torch__.operators.collective._collective_into("reduce_scatter_tensor_out", made, out)


# Received is what was sent before anything is waited for, so no order of a batch makes ranks wait for one another.
def batch_p2p_ops(op_list: List[str], peer_list: List[int], tag_list: List[int], tensors: List[Tensor], group_name: str) -> List[Tensor]:
    if len(op_list) != len(tensors) or len(peer_list) != len(tensors) or len(tag_list) != len(tensors):
        torch.ops.ctsc.fail("batch_p2p_ops: lists of {}, {}, {} and {} elements".format(len(op_list), len(peer_list), len(tag_list), len(tensors)))
    made: List[Tensor] = []
    for i in range(len(tensors)):
        if op_list[i] == "isend":
            made.append(torch.ops._c10d_functional.isend(tensors[i], peer_list[i], tag_list[i], group_name))
        else:
            made.append(tensors[i])
    for i in range(len(tensors)):
        if op_list[i] == "irecv":
            torch.ops._c10d_functional.irecv(tensors[i], peer_list[i], tag_list[i], group_name)
        elif op_list[i] != "isend":
            torch.ops.ctsc.fail("batch_p2p_ops: neither isend nor irecv: {}".format(op_list[i]))
    return made


def _wrap_tensor_autograd(input: Tensor) -> Tensor:
    return torch.ops._c10d_functional.wait_tensor(input)


def all_gather_into_tensor(input: Tensor, group_size: int, group_name: str) -> Tensor:
    return torch.ops._c10d_functional.all_gather_into_tensor(input, group_size, group_name)


def reduce_scatter_tensor(input: Tensor, reduce_op: str, group_size: int, group_name: str) -> Tensor:
    return torch.ops._c10d_functional.reduce_scatter_tensor(input, reduce_op, group_size, group_name)


def all_to_all_single(input: Tensor, output_split_sizes: List[int], input_split_sizes: List[int], group_name: str) -> Tensor:
    return torch.ops._c10d_functional.all_to_all_single(input, output_split_sizes, input_split_sizes, group_name)
