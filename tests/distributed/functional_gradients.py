# Gradients of functional collectives: the operators (torch.ops._c10d_functional), those named _autograd, and the functions of _functional_collectives.
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
ops, own, world = torch.ops._c10d_functional, torch.ops._c10d_functional_autograd, dist.group.WORLD
wait, split = ops.wait_tensor, [8 // size] * size


def told(name, run):
    x = ((torch.arange(16.) % 5).reshape(8, 2) * (1 + rank % 2)).requires_grad_()
    y = run(x)
    try:
        y.backward((torch.arange(y.numel()).reshape(y.shape) + 1.) * (rank + 1))
        print(rank, name, list(y.shape), [round(v, 4) for v in x.grad.flatten().tolist()])
    except RuntimeError as e:
        print(rank, name, "refused:", str(e).splitlines()[0])


for how in ("sum", "avg", "max", "min", "product"):
    told("all_reduce " + how, lambda x: wait(ops.all_reduce(x, how, "0")))
told("broadcast", lambda x: wait(ops.broadcast(x, 1, "0")))
told("all_gather", lambda x: wait(ops.all_gather_into_tensor(x, size, "0")))
for how in ("sum", "avg"):
    told("reduce_scatter " + how, lambda x: wait(ops.reduce_scatter_tensor(x, how, size, "0")))
told("all_to_all", lambda x: wait(ops.all_to_all_single(x, split, split, "0")))
told("all_reduce_coalesced", lambda x: sum(ops.wait_tensors(ops.all_reduce_coalesced([x, x * 2], "sum", "0"))))
told("all_gather_coalesced", lambda x: sum(ops.wait_tensors(ops.all_gather_into_tensor_coalesced([x, x * 2], size, "0"))))
told("reduce_scatter_coalesced", lambda x: sum(ops.wait_tensors(ops.reduce_scatter_tensor_coalesced([x, x * 2], "sum", size, "0"))))
told("own all_gather", lambda x: wait(own.all_gather_into_tensor(x, size, "0")))
told("own reduce_scatter", lambda x: wait(own.reduce_scatter_tensor(x, "sum", size, "0")))
told("own all_to_all", lambda x: wait(own.all_to_all_single(x, split, split, "0")))
told("function all_reduce", lambda x: functional.all_reduce(x, "sum", world))
told("function all_gather", lambda x: functional.all_gather_tensor(x, 1, world))
told("function reduce_scatter", lambda x: functional.reduce_scatter_tensor(x, "sum", 0, world))
told("function all_gather_autograd", lambda x: functional.all_gather_tensor_autograd(x, 0, world))
told("function reduce_scatter_autograd", lambda x: functional.reduce_scatter_tensor_autograd(x, "sum", 0, world))
told("function all_to_all_autograd", lambda x: functional.all_to_all_single_autograd(x, split, split, world))
told("function broadcast", lambda x: functional.broadcast(x, 0, world))
dist.destroy_process_group()
