# SPDX-License-Identifier: Apache-2.0
# parameter.py - Parameter: a tensor that a module registers when it is assigned.
from .. import _C
from .._intercept import disabled_torch_function


class _ParameterMeta(type(_C.Tensor)):
    """Tensors of classes of their own are parameters too, where these say so (distributed.tensor.DTensor)."""

    def __instancecheck__(cls, x):
        return type.__instancecheck__(cls, x) or cls is Parameter and isinstance(x, _C.Tensor) and getattr(x, "_is_param", False)


class Parameter(_C.Tensor, metaclass=_ParameterMeta):
    __torch_function__ = classmethod(disabled_torch_function)

    def __new__(cls, data=None, requires_grad=True):
        make = getattr(data, "_parameter", None)
        if make is not None:
            return make(requires_grad)
        self = _C.Tensor.__new__(cls, _C._operator("empty")([0]) if data is None else data)
        self.requires_grad = requires_grad
        return self

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        copy = Parameter(self.data.clone(), self.requires_grad)
        memo[id(self)] = copy
        return copy


class UninitializedParameter(Parameter):
    pass


class UninitializedBuffer(_C.Tensor):
    __torch_function__ = classmethod(disabled_torch_function)


def is_lazy(p):
    return isinstance(p, (UninitializedParameter, UninitializedBuffer))
