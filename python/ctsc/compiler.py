# SPDX-License-Identifier: Apache-2.0
"""compiler.py - torch.compiler and torch._dynamo: their decorators do nothing to functions that Python runs."""


def _same(fn=None, *args, **kwargs):
    return fn if callable(fn) else _same


disable = allow_in_graph = assume_constant_result = substitute_in_graph = disallow_in_graph = graph_break = optimize = _same


def is_compiling():
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset():
    pass


def mark_dynamic(t, index, **bounds):
    pass


mark_static = maybe_mark_dynamic = mark_static_address = mark_dynamic


def cudagraph_mark_step_begin():
    pass


def compile(model=None, **options):
    from ._script import compile
    return compile(model, **options)
