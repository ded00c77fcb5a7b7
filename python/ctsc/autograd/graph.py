# SPDX-License-Identifier: Apache-2.0
"""graph.py - torch.autograd.graph: the graph that backward passes walk, and how what is saved for them is kept."""
import collections
import contextlib
import threading

from .. import _C
from . import Node, no_grad

_off = threading.local() # why hooks of saved tensors are refused


class saved_tensors_hooks:
    """Within the block pack_hook makes something of each tensor that is saved for a backward pass, and unpack_hook the tensor of it when a pass uses it. What programs
    (ctsc.load, ctsc.script) save is theirs."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        why = getattr(_off, "why", None)
        if why is not None:
            raise RuntimeError(why)
        _C._push_saved_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exception):
        _C._pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):
    """What is on a device is kept on the CPU until a pass uses it."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda t: (t.device, t.cpu()), lambda kept: kept[1].to(kept[0]))


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """Who sets hooks of saved tensors within the block gets the message."""
    before = getattr(_off, "why", None)
    _off.why = error_message
    try:
        yield
    finally:
        _off.why = before


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    raise NotImplementedError("tensors that were saved for a backward pass cannot be written to")
    yield


class _Handles:
    def __init__(self, handles):
        self._handles = handles

    def remove(self):
        for h in self._handles:
            h.remove()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """fn(gradients) once all of the tensors that get one in a pass have got it; mode "any": fn(gradient) at the first. A pass that reaches only some of them ends without."""
    if mode not in ("all", "any"):
        raise ValueError("Expects mode to be one of 'all', 'any' but got %s" % mode)
    got = {}

    def arrived(i):
        def hook(grad):
            if i in got: # of another pass
                got.clear()
            got[i] = grad
            if mode == "any":
                if len(got) == 1:
                    fn(grad)
            elif len(got) == len(wanted):
                grads = [got.get(k) for k in range(len(tensors))]
                got.clear()
                fn(grads)
        return hook
    wanted = [i for i, t in enumerate(tensors) if t.requires_grad]
    return _Handles([tensors[i].register_hook(arrived(i)) for i in wanted])


def increment_version(tensor):
    """As if the tensor had been written."""
    for t in (tensor,) if isinstance(tensor, _C.Tensor) else tensor:
        with no_grad():
            t.detach().zero_() if not t.numel() else t.detach().view(-1)[:0].zero_()


GradientEdge = collections.namedtuple("GradientEdge", ["node", "output_nr", "ownership_token"], defaults=(None,))


def get_gradient_edge(tensor):
    """Where the gradient of a tensor goes: a node, and which of its outputs the tensor is."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    if tensor.grad_fn is not None:
        return GradientEdge(tensor.grad_fn, _C._operator("aten::output_nr")(tensor))
    return GradientEdge(tensor.view_as(tensor).grad_fn.next_functions[0][0], 0)
