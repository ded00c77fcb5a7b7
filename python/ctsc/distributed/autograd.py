# SPDX-License-Identifier: Apache-2.0
"""autograd.py - torch.distributed.autograd: backward passes through remote calls, whose gradients are kept by context and not in .grad.

Method. Whoever sends tensors that require gradients, arguments or results, keeps them under a key. They arrive as results of a Function (_Arrived), whose backward sends
their gradients back with the key, and waits while the sender goes on from there (_go_on). Leaves are found by a walk over the graph; _Arrived has an anchor, a leaf that
makes passes come to it."""
import threading

from ctsc import _C
from ctsc.autograd import enable_grad, grad
from ctsc.autograd.function import Function

Tensor = _C.Tensor
_zeros = _C._operator("zeros")
rpc = [None] # rpc.api, which needs what is here
_here, _contexts, _lock = threading.local(), {}, threading.RLock()


class _Context:
    def __init__(self, number):
        self.number, self.sent, self.grads, self.leaves, self.workers = number, {}, {}, {}, set()

    def keep(self, tensors):
        key = rpc[0]._need().new_id()
        with _lock:
            self.sent[key] = tensors
        return key

    def add(self, leaf, g):
        with _lock:
            at = leaf.data_ptr()
            self.leaves.setdefault(at, leaf)
            self.grads[at] = g if at not in self.grads else self.grads[at] + g


class _Gradients(dict):
    """Gradients by tensor: a tensor is known by its memory, whichever object is asked with."""

    def _own(self, t):
        return next((k for k in self.keys() if k.data_ptr() == t.data_ptr()), t) if isinstance(t, Tensor) else t

    def __getitem__(self, t):
        return dict.__getitem__(self, self._own(t))

    def get(self, t, default=None):
        return dict.get(self, self._own(t), default)

    def __contains__(self, t):
        return dict.__contains__(self, self._own(t))


class context:
    """with context() as context_id: calls and passes belong together."""

    def __enter__(self):
        worker, n = rpc[0]._need().new_id()
        self._before, number = getattr(_here, "number", None), worker << 48 | n
        _contexts[number], _here.number = _Context(number), number
        return number

    def __exit__(self, *exception):
        number, _here.number = _here.number, self._before
        _release(number)


def _release(number):
    with _lock:
        gone = _contexts.pop(number, None)
    for worker in gone.workers if gone else ():
        try:
            rpc[0]._plain_async(worker, _release, (number,))
        except RuntimeError: # it has left
            pass


def _context(number):
    found = _contexts.get(number)
    if found is None:
        raise RuntimeError("Could not find autograd context with id: %d" % number)
    return found


def _joined(number):
    """The context, of whichever process it is."""
    with _lock:
        return _contexts.setdefault(number, _Context(number))


def current():
    """The context of calls that are made now; None: there is none."""
    number = getattr(_here, "number", None)
    return _contexts.get(number) if number is not None and _C.is_grad_enabled() else None


# ---- tensors that travel -----------------------------------------------------------------------------------------------------------


class _Hole:
    """In place of a tensor."""

    def __init__(self, index):
        self.index = index


def _replaced(x, f, kind):
    if isinstance(x, kind):
        return f(x)
    if type(x) in (list, tuple):
        return type(x)(_replaced(v, f, kind) for v in x)
    if type(x) is dict:
        return {k: _replaced(v, f, kind) for k, v in x.items()}
    return x


def leave(held, x):
    """What is sent of x: (x with holes, key, tensors), if it has tensors that require gradients."""
    found = []

    def hole(t):
        if not t.requires_grad:
            return t
        found.append(t)
        return _Hole(len(found) - 1)
    left = _replaced(x, hole, Tensor)
    return (left, held.keep(found) if found else None, [t.detach() for t in found])


class _Arrived(Function):
    @staticmethod
    def forward(ctx, anchor, number, worker, key, *tensors):
        ctx.kept, ctx.anchor = (number, worker, key), anchor
        ctx.set_materialize_grads(False)
        return tuple(t.clone() for t in tensors)

    @staticmethod
    def backward(ctx, *grads):
        number, worker, key = ctx.kept
        rpc[0]._plain_async(worker, _go_on, (number, key, list(grads))).wait()
        return (None, None, None, None) + (None,) * len(grads)


def arrive(number, worker, packed):
    """x again."""
    left, key, tensors = packed
    if key is None:
        return left
    with enable_grad():
        made = _Arrived.apply(_zeros([1]).requires_grad_(), number, worker, key, *tensors)
    made = made if isinstance(made, tuple) else (made,)
    return _replaced(left, lambda h: made[h.index], _Hole)


def traced(number, sender, func, packed):
    """A call that another process makes within a context: what it gives, packed."""
    held, before = _joined(number), getattr(_here, "number", None)
    _here.number = number
    try:
        args, kwargs = arrive(number, sender, packed)
        with enable_grad():
            return leave(held, func(*args, **kwargs))
    finally:
        _here.number = before


def traced_value(number, sender, func, packed):
    """The same of a call whose value stays here."""
    before = getattr(_here, "number", None)
    _joined(number)
    _here.number = number
    try:
        args, kwargs = arrive(number, sender, packed)
        with enable_grad():
            return func(*args, **kwargs)
    finally:
        _here.number = before


# ---- passes --------------------------------------------------------------------------------------------------------------------------


def _leaves(roots):
    seen, found = set(), {}
    todo = [t.grad_fn for t in roots]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            found.setdefault(leaf.data_ptr(), leaf)
        todo += [n for n, _ in node.next_functions if n is not None]
    return list(found.values())


def _pass(held, roots, grads):
    pairs = [(t, g) for t, g in zip(roots, grads) if g is not None]
    for t, g in pairs:
        if t.grad_fn is None:
            held.add(t, g)
    pairs = [(t, g) for t, g in pairs if t.grad_fn is not None]
    leaves = _leaves([t for t, _ in pairs])
    if not leaves:
        return
    found = grad([t for t, _ in pairs], leaves, [g for _, g in pairs], retain_graph=True, allow_unused=True)
    for leaf, g in zip(leaves, found):
        if g is not None:
            held.add(leaf, g)


def _go_on(number, key, grads):
    held = _context(number)
    _pass(held, held.sent[key], grads)


def backward(context_id, roots, retain_graph=False):
    held = _context(context_id)
    if not roots:
        raise RuntimeError("No tensors provided for gradient computation.")
    for t in roots:
        if not t.requires_grad:
            raise RuntimeError("requires_grad not set on root")
        if t.numel() != 1:
            raise RuntimeError("all roots need to be scalar")
    _pass(held, list(roots), [t.detach() * 0 + 1 for t in roots])


def get_gradients(context_id):
    held = _context(context_id)
    return _Gradients({held.leaves[at]: g for at, g in held.grads.items()})
