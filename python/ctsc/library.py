# SPDX-License-Identifier: Apache-2.0
"""library.py - torch.library's custom_op: an operator of one's own (register_op)."""
from ._register import register_op


def custom_op(name, fn=None, /, *, mutates_args=(), device_types=None, schema=None):
    """@custom_op("my::twice", mutates_args=()) of a function with annotations."""
    def make(f):
        words = schema or _schema(f)
        register_op("%s%s" % (name, words), f)
        from ._register import ops
        namespace, _, op = name.partition("::")
        return getattr(getattr(ops, namespace), op)
    return make if fn is None else make(fn)


def _schema(f):
    import inspect
    import typing
    hints, of = typing.get_type_hints(f), {int: "int", float: "float", bool: "bool", str: "str"}

    def word(t):
        from ._functions import Tensor
        if t is Tensor:
            return "Tensor"
        if t in of:
            return of[t]
        args = typing.get_args(t)
        if typing.get_origin(t) in (list, tuple) or str(t).startswith(("typing.List", "typing.Sequence", "collections.abc.Sequence")):
            return word(args[0]) + "[]"
        if type(None) in args and len(args) == 2:
            return word(args[0]) + "?"
        raise ValueError("custom_op: %s cannot be a part of a schema" % (t,))
    given = []
    for p in inspect.signature(f).parameters.values():
        if p.name not in hints:
            raise ValueError("custom_op: parameter %s must have an annotation" % p.name)
        default = "" if p.default is p.empty else "=%s" % (repr(p.default) if not isinstance(p.default, str) else '"%s"' % p.default)
        given.append("%s %s%s" % (word(hints[p.name]), p.name, default))
    result = hints.get("return", type(None))
    back = "()" if result is type(None) else "(%s)" % ", ".join(map(word, typing.get_args(result))) if typing.get_origin(result) is tuple else word(result)
    return "(%s) -> %s" % (", ".join(given), back)
