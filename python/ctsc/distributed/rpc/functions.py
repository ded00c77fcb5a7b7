# SPDX-License-Identifier: Apache-2.0
"""functions.py - torch.distributed.rpc.functions."""
import functools


def async_execution(fn):
    """Of a function that returns a Future: the caller gets its value, and no thread waits for it."""
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs)
    wrapper._wrapped_async_rpc_function = fn
    return wrapper
