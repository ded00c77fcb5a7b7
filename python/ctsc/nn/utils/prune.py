# SPDX-License-Identifier: Apache-2.0
"""prune.py - torch.nn.utils.prune: parameters with a mask that holds a part of them at zero.

A pruned parameter `name` is kept as `name_orig`, its mask is the buffer `name_mask`, and a hook before forward makes their product the attribute `name`.
A method of pruning is that hook; what prunes a tensor again joins a PruningContainer, whose masks multiply.
"""
from abc import ABC, abstractmethod
from collections.abc import Iterable

import ctsc as torch


class BasePruningMethod(ABC):
    PRUNING_TYPE = None # "unstructured", "structured", "global": what a method in a container gets to see

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask for t, given the one that holds already."""

    def apply_mask(self, module):
        if self._tensor_name is None:
            raise AssertionError("Module %s has to be pruned" % module)
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        method = cls(*args, **kwargs)
        method._tensor_name = name
        found = [(k, h) for k, h in module._forward_pre_hooks.items() if isinstance(h, BasePruningMethod) and h._tensor_name == name]
        if found:
            container = PruningContainer()
            container._tensor_name = name
            for _, h in found:
                container.add_pruning_method(h)
            container.add_pruning_method(method)
            for k, _ in found:
                del module._forward_pre_hooks[k]
            method = container
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError("importance_scores should have the same shape as parameter %s of %s" % (name, module))
        if not found:
            before = torch.ones_like(importance_scores)
            parameter = module._parameters.pop(name)
            module.register_parameter(name + "_orig", parameter)
        else:
            before = getattr(module, name + "_mask").detach().clone()
        try:
            mask = method.compute_mask(importance_scores, default_mask=before)
        except Exception:
            if not found:
                module.register_parameter(name, module._parameters.pop(name + "_orig"))
            raise
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        scores = t if importance_scores is None else importance_scores
        return t * self.compute_mask(scores, default_mask=torch.ones_like(t) if default_mask is None else default_mask)

    def remove(self, module):
        """What has been pruned stays so: the product becomes the parameter."""
        name = self._tensor_name
        if name is None:
            raise AssertionError("Module %s has to be pruned before pruning can be removed" % module)
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        module.register_parameter(name, original)


class PruningContainer(BasePruningMethod):
    def __init__(self, *args):
        self._pruning_methods = ()
        self._tensor_name = args[0]._tensor_name if args and not isinstance(args[0], Iterable) else None
        for method in args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args:
            self._tensor_name = self._tensor_name or method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError("%s is not a BasePruningMethod subclass" % type(method))
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError("Can only add pruning methods acting on the parameter named '%s' to PruningContainer %s. Found '%s'" % (
                self._tensor_name, self, method._tensor_name))
        self._pruning_methods += tuple(method) if isinstance(method, PruningContainer) else (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, i):
        return self._pruning_methods[i]

    def compute_mask(self, t, default_mask):
        """The newest method's, on what the others have left."""
        method, mask = self._pruning_methods[-1], default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            part = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = getattr(method, "dim", 0)
            dim += t.dim() if dim < 0 else 0
            left = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
            part = (slice(None),) * dim + (left,)
        elif method.PRUNING_TYPE == "global":
            part = (slice(None),) * t.dim()
        else:
            raise ValueError("Unrecognized PRUNING_TYPE %s" % method.PRUNING_TYPE)
        mask = mask.clone()
        mask[part] = method.compute_mask(t[part], default_mask=mask[part]).to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask


class _ByAmount(BasePruningMethod):
    def __init__(self, amount):
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, size):
        _validate_pruning_amount(self.amount, size)
        return _compute_nparams_toprune(self.amount, size)


class RandomUnstructured(_ByAmount):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        n = self._count(t.nelement())
        mask = default_mask.clone()
        if n:
            mask.view(-1)[torch.topk(torch.rand_like(t).view(-1), k=n).indices] = 0
        return mask


class L1Unstructured(_ByAmount):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        n = self._count(t.nelement())
        mask = default_mask.clone()
        if n:
            mask.view(-1)[torch.topk(torch.abs(t).view(-1), k=n, largest=False).indices] = 0
        return mask

    @classmethod
    def apply(cls, module, name, amount, importance_scores=None):
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _ByChannel(_ByAmount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        super().__init__(amount)
        self.dim = dim

    def _mask(self, t, default_mask, channels):
        mask = torch.zeros_like(t)
        mask[(slice(None),) * (self.dim % t.dim()) + (channels,)] = 1
        return mask * default_mask.to(dtype=mask.dtype)

    def _counts(self, t):
        if t.dim() <= 1:
            raise ValueError("Structured pruning can only be applied to multidimensional tensors. Found tensor of shape %s with %d dims" % (t.shape, t.dim()))
        if self.dim >= t.dim() or self.dim < -t.dim():
            raise IndexError("Invalid index %d for tensor of size %s" % (self.dim, t.shape))
        return self._count(t.shape[self.dim]), t.shape[self.dim]


class RandomStructured(_ByChannel):
    def compute_mask(self, t, default_mask):
        n, size = self._counts(t)
        if n == 0:
            return default_mask
        drawn = torch.rand(size)
        return self._mask(t, default_mask, drawn > torch.kthvalue(drawn, k=n).values)

    @classmethod
    def apply(cls, module, name, amount, dim=-1):
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_ByChannel):
    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def compute_mask(self, t, default_mask):
        n, size = self._counts(t)
        if n == 0:
            return default_mask
        dim = self.dim % t.dim()
        norms = torch.norm(t, p=self.n, dim=[d for d in range(t.dim()) if d != dim])
        return self._mask(t, default_mask, torch.topk(norms, k=size - n, largest=True).indices)

    @classmethod
    def apply(cls, module, name, amount, n, dim, importance_scores=None):
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError("mask must have the shape of the tensor")
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module, name, mask):
        return super().apply(module, name, mask=mask)


def identity(module, name):
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Parameters as one: (module, name) pairs."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters, given = list(parameters), importance_scores or {}
    scores = torch.nn.utils.parameters_to_vector([given.get(p, getattr(*p)) for p in parameters])
    masks = torch.nn.utils.parameters_to_vector([getattr(m, n + "_mask", torch.ones_like(getattr(m, n))) for m, n in parameters])
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError('Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method %s of type %s' % (pruning_method, method.PRUNING_TYPE))
    final, at = container.compute_mask(scores, masks), 0
    for module, name in parameters:
        parameter = getattr(module, name)
        custom_from_mask(module, name, mask=final[at:at + parameter.numel()].view_as(parameter))
        at += parameter.numel()


def remove(module, name):
    for k, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[k]
            return module
    raise ValueError("Parameter '%s' of module %s has to be pruned before pruning can be removed" % (name, module))


def is_pruned(module):
    return any(isinstance(h, BasePruningMethod) for m in module.modules() for h in m._forward_pre_hooks.values())


def _validate_pruning_amount_init(amount):
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        raise TypeError("Invalid type for amount: %s. Must be int or float." % (amount,))
    if isinstance(amount, int) and amount < 0 or isinstance(amount, float) and not 0.0 <= amount <= 1.0:
        raise ValueError("amount=%s should either be a float in the range [0, 1] or a non-negative integer" % amount)


def _validate_pruning_amount(amount, tensor_size):
    if isinstance(amount, int) and amount > tensor_size:
        raise ValueError("amount=%s should be smaller than the number of parameters to prune=%s" % (amount, tensor_size))


def _compute_nparams_toprune(amount, tensor_size):
    return amount if isinstance(amount, int) else round(amount * tensor_size)
