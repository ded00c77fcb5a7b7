# SPDX-License-Identifier: Apache-2.0
"""overrides.py - torch.overrides: no class overrides functions here."""


def has_torch_function(relevant_args):
    return False


def has_torch_function_unary(x):
    return False


def has_torch_function_variadic(*args):
    return False


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    return public_api(*args, **kwargs)


def is_tensor_like(inp):
    from ._functions import Tensor
    return isinstance(inp, Tensor)


def is_tensor_method_or_property(func):
    return False
