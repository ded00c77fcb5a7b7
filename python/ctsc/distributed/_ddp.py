# SPDX-License-Identifier: Apache-2.0
"""_ddp.py - torch.nn.parallel.DistributedDataParallel: the gradients of all ranks' copies of a module are averaged while the backward pass runs.

Method. Parameters are put into buckets, in the reverse order of the module: about that in which their gradients appear. A hook on each parameter notes that its
gradient is there. When those of a bucket all are, it is sent (all_reduce in the group's thread), after the buckets before it, since all ranks have to send in
one order. With the last gradient of the pass the hook waits for all buckets and puts the averages where the gradients were. After the first pass the buckets are
made again, in the order in which gradients came on rank 0. Parameters that take no part are found by a walk from the outputs (find_unused_parameters)."""
import contextlib


from ctsc import _C
from ctsc.autograd import is_grad_enabled, no_grad
from ctsc.nn.modules.module import Module

from . import _objects
from . import distributed_c10d as dist
from ._group import ReduceOp
from .algorithms.join import Joinable, JoinHook

_zeros = _C._operator("zeros")
FIRST_BUCKET, MIB = 1 << 20, 1 << 20


def tensors_in(x):
    """Tensors of an output: lists, tuples, dicts and data classes of them."""
    if isinstance(x, _C.Tensor):
        yield x
    elif isinstance(x, dict):
        for v in x.values():
            yield from tensors_in(v)
    elif isinstance(x, (list, tuple)):
        for v in x:
            yield from tensors_in(v)
    elif hasattr(x, "__dataclass_fields__"):
        for name in x.__dataclass_fields__:
            yield from tensors_in(getattr(x, name))


def _leaves(outputs):
    """data_ptr of the leaves that outputs were computed from."""
    seen, found = set(), set()
    todo = [t.grad_fn for t in tensors_in(outputs) if t.grad_fn is not None]
    found.update(t.data_ptr() for t in tensors_in(outputs) if t.grad_fn is None and t.requires_grad)
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.add(node.variable.data_ptr())
        todo += [n for n, _ in node.next_functions if n is not None]
    return found


class GradBucket:
    """Gradients that are sent together, as communication hooks see them."""

    def __init__(self, index, params, names):
        self._index, self._params, self._names = index, params, names
        self._places, at = [], 0
        for p in params:
            self._places.append(at)
            at += p.numel()
        self._buffer = _zeros([at], dtype=params[0].dtype, device=params[0].device)
        self._last, self._left, self._ready, self._sent = False, len(params), False, None

    def index(self):
        return self._index

    def buffer(self):
        return self._buffer

    def set_buffer(self, tensor):
        self._buffer = tensor

    def is_last(self):
        return self._last

    def parameters(self):
        return list(self._params)

    def views(self):
        return [self._buffer[at:at + p.numel()].view(p.shape) for at, p in zip(self._places, self._params)]

    gradients = views


def _buckets_of(params, names, limits):
    """Lists of (parameter, name) of one dtype and device, each up to its limit in bytes: the first limit, then the last."""
    made, open_ = [], {}
    for p, name in zip(params, names):
        key = (p.dtype, p.device)
        bucket = open_.setdefault(key, [])
        bucket.append((p, name))
        if sum(q.numel() * q.element_size() for q, _ in bucket) >= (limits[0] if not made else limits[-1]):
            made.append(open_.pop(key))
    return made + [b for b in open_.values() if b]


class Reducer:
    """The buckets of a module, and what has come of a backward pass."""

    def __init__(self, params, names, group, limits, find_unused, as_view, static):
        self.params, self.names, self.group, self.limits = params, names, group, limits
        self.find_unused, self.as_view, self.static, self.hook = find_unused or static, as_view, static, None
        self.order, self.rebuilt, self.expects, self.divide = [], False, False, None
        self.of = {}
        self.make(params[::-1], names[::-1])
        self.removable = [p.register_post_accumulate_grad_hook(lambda _, i=i: self.came(i)) for i, p in enumerate(params)]

    def make(self, params, names):
        place = {id(p): i for i, p in enumerate(self.params)}
        self.buckets = [GradBucket(i, [p for p, _ in b], [n for _, n in b]) for i, b in enumerate(_buckets_of(params, names, self.limits))]
        self.buckets[-1]._last = True
        self.of = {place[id(p)]: (b, k) for b in self.buckets for k, p in enumerate(b._params)}
        if self.as_view:
            self.lend()

    @no_grad()
    def lend(self):
        """Makes gradients views of the buckets."""
        for b in self.buckets:
            for p, view in zip(b._params, b.views()):
                if p.grad is not None:
                    if p.grad.data_ptr() == view.data_ptr():
                        continue
                    view.copy_(p.grad)
                    p.grad = view

    def rebuild(self):
        """Buckets in the order in which the gradients of the first pass came, on rank 0."""
        if self.rebuilt or len(self.order) != len(self.params) or self.find_unused and not self.static:
            return
        self.rebuilt = True
        held = [list(self.order)]
        _objects.broadcast_object_list(held, group=self.group, group_src=0)
        self.make([self.params[i] for i in held[0]], [self.names[i] for i in held[0]])

    def prepare(self, outputs):
        """Before a backward pass whose gradients are to be averaged."""
        if self.expects and any(b._left for b in self.buckets):
            self.complain()
        self.expects, self.next, self.waiting, self.unused = True, 0, set(range(len(self.params))), set()
        for b in self.buckets:
            b._left, b._ready, b._sent = len(b._params), False, None
        if self.find_unused:
            known = _leaves(outputs)
            self.unused = {i for i, p in enumerate(self.params) if p.data_ptr() not in known}
            for i in sorted(self.unused):
                self.mark(i)

    def complain(self):
        missing = [self.names[i] for i in sorted(self.waiting)]
        raise RuntimeError(
            "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module has parameters that were "
            "not used in producing loss. You can enable unused parameter detection by passing the keyword argument `find_unused_parameters=True` to "
            "`torch.nn.parallel.DistributedDataParallel`, and by making sure all `forward` function outputs participate in calculating loss.\n"
            "Parameters which did not receive grad for rank %d: %s\nParameter indices which did not receive grad for rank %d: %s"
            % (self.group.rank(), ", ".join(missing), self.group.rank(), " ".join(map(str, sorted(self.waiting)))))

    def came(self, i):
        if not self.expects:
            return
        if i not in self.waiting:
            if self.static or i in self.unused:
                return
            raise RuntimeError("Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a module parameter outside the "
                               "`forward` function. 2) Reused parameters in multiple reentrant backward passes. Parameter at index %d with name %s has been marked as ready twice."
                               % (i, self.names[i]))
        if not self.rebuilt:
            self.order.append(i)
        self.mark(i)

    @no_grad()
    def mark(self, i):
        bucket, k = self.of[i]
        p, at = bucket._params[k], bucket._places[k]
        view = bucket._buffer[at:at + p.numel()].view(p.shape)
        if i in self.unused or p.grad is None:
            view.zero_()
        elif p.grad.data_ptr() != view.data_ptr():
            view.copy_(p.grad)
            if self.as_view:
                p.grad = view
        self.waiting.discard(i)
        bucket._left -= 1
        bucket._ready = bucket._left == 0
        while self.next < len(self.buckets) and self.buckets[self.next]._ready:
            self.send(self.buckets[self.next])
            self.next += 1
        if self.next == len(self.buckets):
            self.finish()

    def send(self, bucket):
        if self.hook is not None:
            state, hook = self.hook
            bucket._sent = hook(state, bucket)
        elif self.divide is None:
            bucket._sent = dist.all_reduce(bucket._buffer, ReduceOp.AVG, self.group, True)
        else:
            bucket._buffer.div_(self.divide)
            bucket._sent = dist.all_reduce(bucket._buffer, ReduceOp.SUM, self.group, True)

    def finish(self):
        used = None
        if self.find_unused:
            from ctsc import tensor
            used = tensor([i not in self.unused for i in range(len(self.params))])
            dist.all_reduce(used, ReduceOp.MAX, self.group)
            used = used.tolist()
        places = {id(p): i for i, p in enumerate(self.params)}
        for b in self.buckets:
            done = b._sent.wait()
            if self.hook is not None:
                done = done[0] if isinstance(done, (list, tuple)) else done
                if done.data_ptr() != b._buffer.data_ptr():
                    b._buffer.copy_(done.reshape(-1))
            for p, view in zip(b._params, b.views()):
                if used is not None and not used[places[id(p)]]:
                    continue
                if p.grad is None:
                    p.grad = view if self.as_view else view.clone()
                elif p.grad.data_ptr() != view.data_ptr():
                    p.grad.copy_(view)
                if self.as_view and p.grad.data_ptr() != view.data_ptr():
                    p.grad = view
        self.expects = False

    @no_grad()
    def shadow(self):
        """Takes part in the reductions of ranks that still have inputs, with zeros."""
        for b in self.buckets:
            b._buffer.zero_()
            self.send(b)
        if self.find_unused:
            used = _zeros([len(self.params)], dtype=_C.bool)
            dist.all_reduce(used, ReduceOp.MAX, self.group)
        for b in self.buckets:
            b._sent.wait()


class _JoinHook(JoinHook):
    def __init__(self, ddp, divide_by_initial_world_size):
        self.ddp, self.by_initial = ddp, divide_by_initial_world_size
        ddp._divides = divide_by_initial_world_size

    def main_hook(self):
        ddp = self.ddp
        ddp._reducer.rebuild()
        ddp._meet_inside_join()
        if ddp._will_sync_buffers():
            ddp._sync_buffers()
        ddp._reducer.divide = ddp._join_divisor(self.by_initial, False)
        ddp._reducer.shadow()

    def post_hook(self, is_last_joiner):
        self.ddp._sync_states(self.ddp._last_rank(is_last_joiner))


class DistributedDataParallel(Module, Joinable):
    def __init__(self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=True, init_sync=True, process_group=None, bucket_cap_mb=None,
                 find_unused_parameters=False, check_reduction=False, gradient_as_bucket_view=False, static_graph=False, delay_all_reduce_named_params=None,
                 param_to_hook_all_reduce=None, mixed_precision=None, device_mesh=None, skip_all_reduce_unused_params=False, bucket_cap_mb_list=None):
        Module.__init__(self)
        Joinable.__init__(self)
        if device_mesh is not None and process_group is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        self.process_group = device_mesh.get_group() if device_mesh is not None else dist._group_or_default(process_group)
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.")
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        self.module, self.device_ids, self.output_device, self.dim = module, device_ids, output_device, dim
        self.broadcast_buffers, self.find_unused_parameters, self.static_graph = broadcast_buffers, find_unused_parameters, static_graph
        self.gradient_as_bucket_view, self.require_backward_grad_sync, self.require_forward_param_sync = gradient_as_bucket_view, True, True
        self._ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * MIB)
        self.bucket_bytes_cap = cap
        params, names = self._trained()
        if init_sync:
            self._verify(params)
            self._sync_states(0)
        limits = [FIRST_BUCKET, cap] if bucket_cap_mb is None else [min(FIRST_BUCKET, cap), cap]
        self._reducer = Reducer(params, names, self.process_group, limits, find_unused_parameters, gradient_as_bucket_view, static_graph)

    def _trained(self):
        found = [(p, n) for n, p in self.module.named_parameters() if p.requires_grad and n not in self._ignored]
        return [p for p, _ in found], [n for _, n in found]

    def _verify(self, params):
        """All ranks have the same parameters."""
        shapes = [None] * self.process_group.size()
        _objects.all_gather_object(shapes, [tuple(p.shape) for p in params], group=self.process_group)
        rank = self.process_group.rank()
        for other, found in enumerate(shapes):
            if len(found) != len(shapes[rank]):
                raise RuntimeError("DDP expects same model across all ranks, but Rank %d has %d params, while rank %d has inconsistent %d params." % (
                    rank, len(shapes[rank]), other, len(found)))
            for i, (a, b) in enumerate(zip(shapes[rank], found)):
                if a != b:
                    raise RuntimeError("[%d]: params[%d] in this process with sizes %s appears not to match sizes of the same param in process %d." % (rank, i, list(a), other))

    @no_grad()
    def _sync(self, tensors, root):
        for w in [dist.broadcast(t.detach(), group=self.process_group, async_op=True, group_src=root) for t in tensors]:
            w.wait()

    def _buffers_to_sync(self):
        return [b for n, b in self.module.named_buffers() if n not in self._ignored]

    def _sync_states(self, root):
        self._sync([p for n, p in self.module.named_parameters() if n not in self._ignored] + self._buffers_to_sync(), root)

    def _sync_buffers(self):
        root = self._last_rank(True) if self._join_config.enable else 0
        self._sync(self._buffers_to_sync(), root)

    def _will_sync_buffers(self):
        return self.require_forward_param_sync and self.broadcast_buffers and bool(self._buffers_to_sync())

    def forward(self, *inputs, **kwargs):
        if self._join_config.enable:
            Join_notify(self)
        if is_grad_enabled() and self.require_backward_grad_sync:
            self._reducer.rebuild()
        if self._join_config.enable:
            self._meet_inside_join()
        if self._will_sync_buffers():
            self._sync_buffers()
        output = self.module(*inputs, **kwargs)
        if is_grad_enabled() and self.require_backward_grad_sync:
            self.require_forward_param_sync = True
            if self._join_config.enable:
                self._reducer.divide = self._join_divisor(self._divides, True)
            self._reducer.prepare(output)
        else:
            self.require_forward_param_sync = False
        return output

    @contextlib.contextmanager
    def no_sync(self):
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state, hook):
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self._reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._reducer.hook = state, hook

    def _set_static_graph(self):
        self.static_graph = self._reducer.static = self._reducer.find_unused = True

    def _get_ddp_logging_data(self):
        return {"world_size": self.process_group.size(), "rank": self.process_group.rank(), "backend_name": self.process_group.name(), "bucket_cap_bytes": self.bucket_bytes_cap,
                "find_unused_parameters": self.find_unused_parameters, "gradient_as_bucket_view": self.gradient_as_bucket_view}

    def __getstate__(self):
        raise RuntimeError("DistributedDataParallel is not pickled: its module is")

    # Uneven inputs (algorithms/join.py).
    _divides = True

    def join(self, divide_by_initial_world_size=True, enable=True, throw_on_early_termination=False):
        from .algorithms.join import Join
        return Join([self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size)

    def join_hook(self, **kwargs):
        return _JoinHook(self, kwargs.get("divide_by_initial_world_size", True))

    join_device = property(lambda self: next(self.module.parameters()).device)
    join_process_group = property(lambda self: self.process_group)

    def _meet_inside_join(self):
        """All ranks, those without inputs too: whether a backward pass will be averaged."""
        from ctsc import tensor
        dist.all_reduce(tensor([1 if self.require_backward_grad_sync else 0]), group=self.process_group)

    def _join_divisor(self, by_initial, active):
        from ctsc import tensor
        if by_initial:
            return self.process_group.size()
        count = tensor([1 if active else 0])
        dist.all_reduce(count, group=self.process_group)
        return int(count.item())

    def _last_rank(self, candidate):
        """The highest rank of those that say so."""
        from ctsc import tensor
        found = tensor([self.process_group.rank() if candidate else -1])
        dist.all_reduce(found, ReduceOp.MAX, self.process_group)
        return int(found.item())


def Join_notify(joinable):
    from .algorithms.join import Join
    work = Join.notify_join_context(joinable)
    if work is not None:
        work.wait()
