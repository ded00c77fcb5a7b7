# SPDX-License-Identifier: Apache-2.0
"""overrides.py - torch.overrides: classes and modes that say what functions of tensors do (_subclass.py)."""
from ._functions import Tensor
from ._subclass import TorchFunctionMode, function_of, handle, overloaded

BaseTorchFunctionMode = TorchFunctionMode


def has_torch_function(relevant_args):
    return bool(overloaded(tuple(relevant_args), {}))


def has_torch_function_unary(x):
    return has_torch_function((x,))


def has_torch_function_variadic(*args):
    return has_torch_function(args)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    found = handle(public_api, args, kwargs) if has_torch_function(relevant_args) else None
    return public_api(*args, **kwargs) if found is None else found[0]


def is_tensor_like(inp):
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def is_tensor_method_or_property(func):
    return getattr(Tensor, getattr(func, "__name__", ""), None) is func


def get_default_nowrap_functions():
    return set()


def get_ignored_functions():
    return set()


def get_overridable_functions():
    """{namespace: functions}"""
    import ctsc
    from . import _C
    named = [f for f in (function_of(n, False) for n in _C._operator_names() if not n.startswith("_")) if f is not None]
    return {ctsc: named}


def resolve_name(f):
    name = getattr(f, "__name__", None)
    return name and ("torch.Tensor." if is_tensor_method_or_property(f) else "torch.") + name


def wrap_torch_function(dispatcher):
    """The function asks the classes of what dispatcher(*args) gives."""
    import functools

    def inner(func):
        @functools.wraps(func)
        def run(*args, **kwargs):
            found = handle(run, args, kwargs) if has_torch_function(dispatcher(*args, **kwargs)) else None
            return func(*args, **kwargs) if found is None else found[0]
        return run
    return inner
