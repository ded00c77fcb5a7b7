# SPDX-License-Identifier: Apache-2.0
# torch.compiler - what is compiled here is compiled anyway.


def _identity(fn=None, *args, **kwargs):
    return fn if callable(fn) else _identity


disable = _identity
allow_in_graph = _identity
assume_constant_result = _identity
substitute_in_graph = _identity


def is_compiling():
    return False


def is_dynamo_compiling():
    return False


def is_exporting():
    return False


def reset():
    return None


def cudagraph_mark_step_begin():
    return None
