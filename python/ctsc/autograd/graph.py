# SPDX-License-Identifier: Apache-2.0
"""graph.py - torch.autograd.graph: what is saved for backward passes is in memory that stays."""
import contextlib

from . import Node, no_grad


@contextlib.contextmanager
def save_on_cpu(pin_memory=False, device_type="cuda"):
    """On the CPU it is already."""
    yield


class saved_tensors_hooks:
    def __init__(self, pack_hook, unpack_hook):
        raise NotImplementedError("hooks of saved tensors: the library saves them where Python does not see it")


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    yield


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
    from .. import _C
    for t in (tensor,) if isinstance(tensor, _C.Tensor) else tensor:
        with no_grad():
            t.detach().zero_() if not t.numel() else t.detach().view(-1)[:0].zero_()


def get_gradient_edge(tensor):
    raise NotImplementedError("get_gradient_edge: the library's graph is not seen by Python; gradients are asked for by tensors")
