# SPDX-License-Identifier: Apache-2.0
"""compiler.py - torch.compiler and torch._dynamo: their decorators do nothing to functions that Python runs."""


def _same(fn=None, *args, **kwargs):
    return fn if callable(fn) else _same


disable = allow_in_graph = assume_constant_result = substitute_in_graph = disallow_in_graph = graph_break = optimize = _same


def is_compiling():
    return False


is_dynamo_compiling = is_exporting = is_compiling


class set_stance:
    """How functions are compiled that PyTorch would compile: nothing changes here. A call, a context or a decorator."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in ("default", "eager_on_recompile", "fail_on_recompile", "force_eager", "eager_then_compile", "aot_eager_then_compile"):
            raise RuntimeError("invalid torch.compile stance %r" % (stance,))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

    def __call__(self, fn):
        return fn


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
