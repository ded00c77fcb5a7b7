# SPDX-License-Identifier: Apache-2.0
"""_hooks.py - what the extension asks of Python: classes that it makes by name, where scripts print and warn, the words of errors."""
import builtins
import copyreg
import sys
import warnings

from . import _C
from ._types import Size

_exceptions = {}


def _text(self):
    text = (self.diagnostic or "").rstrip() or str(self.message)
    return text[len("error: "):] if text.startswith("error: ") else text


def _init(self, message, diagnostic=None):
    RuntimeError.__init__(self, message)
    self.message, self.diagnostic = message, diagnostic


_C.Error.__init__ = _init
_C.Error.__str__ = _text


def exception_class(name):
    """The class of an exception that a script raised: a ScriptError, and what Python calls by that name. Errors of operators are Python's own."""
    name = name.rpartition(".")[2]
    if name in _exceptions:
        return _exceptions[name]
    base = getattr(builtins, name, None)
    if not (isinstance(base, type) and issubclass(base, Exception)):
        base = None
    bases = (_C.ScriptError,) if base is None or issubclass(_C.ScriptError, base) else (_C.ScriptError, base)
    try:
        made = type(name, bases, {"__module__": "ctsc", "__init__": _init, "__str__": _text})
    except TypeError:
        made = _C.ScriptError
    _exceptions[name] = made
    return made


_tuples = {}


def named_tuple(name, fields, values):
    """A NamedTuple of a script."""
    key = (name, fields)
    if key not in _tuples:
        import collections
        _tuples[key] = collections.namedtuple(name.rpartition(".")[2] or "Tuple", fields, rename=True)
    return _tuples[key]._make(values)


_results = {}


def result_class(name, fields):
    """What an operator of several results returns: a tuple with names, printed as PyTorch's."""
    if (name, fields) not in _results:
        _results[name, fields] = _result_class(name, fields)
    return _results[name, fields]


def _result_class(name, fields):
    import collections
    fields = fields.split()
    base = collections.namedtuple(name, fields)

    class Result(base):
        __slots__ = ()

        def __new__(cls, values):
            return tuple.__new__(cls, values)

        def __repr__(self):
            return "%s.%s(\n%s)" % (type(self).__module__, name, ",\n".join("%s=%r" % item for item in zip(fields, self)))

        def __reduce__(self):
            return result, (name, " ".join(fields), tuple(self))

    Result.__name__ = Result.__qualname__ = name
    Result.__module__ = _C.Tensor.__module__ + ".return_types"
    return Result


def result(name, fields, values):
    return result_class(name, fields)(values)


def script_print(text):
    (sys.stdout or sys.__stdout__).write(text)


def script_warn(text):
    warnings.warn(text, UserWarning, stacklevel=2)


def alert(text):
    warnings.warn("ctsc: " + text, RuntimeWarning, stacklevel=2)


def tensor_repr(t):
    from ._tensor_str import tensor_str
    return tensor_str(t)


def operator_failed(name, error, args, kwargs, method):
    from ._errors import operator_failed as words
    return words(name, error, args, kwargs, method)


def from_dlpack(x):
    from ._functions import from_dlpack
    return from_dlpack(x)


def _operator_of(key):
    return _C._operator(key.partition("::")[2]) or _C._operator(key)


copyreg.pickle(_C.Operator, lambda op: (_operator_of, (op.key,)))


_OF_OPERATOR = ("namespace", "_opname", "_qualname", "_overloadname", "_schema", "_schemas", "op", "overloads", "overloadpacket", "tags")


def operator_attribute(op, name):
    """torch.ops.aten.add.Tensor, .overloads(), ...: what PyTorch's operators tell. Only of operators that have a namespace."""
    key, schemas = op.key, None
    if name in ("__signature__", "__text_signature__"): # asked by inspect
        from . import _operator_docs
        return (_operator_docs.signature if name == "__signature__" else _operator_docs.text_signature)(op)
    if not name.startswith("__") and "::" in key:
        family, _, overload = key.partition(".")
        if name in _OF_OPERATOR:
            space, _, own = family.partition("::")
            value = {"namespace": space, "_opname": own, "_qualname": family, "_overloadname": overload or "default", "op": op, "overloadpacket": _C._operator(family), "tags": []}.get(name)
            if value is None:
                schemas = {k.partition(".")[2] or "default": s for k, s, _ in _C._operator_schemas() if k.partition(".")[0] == family}
                value = schemas if name == "_schemas" else (lambda: list(schemas)) if name == "overloads" else schemas.get(overload or "default")
            return value
        if name == "default" and not overload:
            return op
        if name == "name":
            return lambda: key
        if not overload and any(k == "%s.%s" % (key, name) for k, *_ in _C._operator_schemas()):
            return _C._operator("%s.%s" % (key, name))
    raise AttributeError("'%s' object has no attribute '%s'" % (type(op).__name__, name))


def operator_doc(key):
    from ._operator_docs import doc
    return doc(key)


class TracerWarning(Warning):
    """What a trace does not see, and may be wrong for other inputs."""


def _warn_at_user(text):
    frame, level = sys._getframe(1), 2
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] == "ctsc":
        frame, level = frame.f_back, level + 1
    warnings.warn(text, TracerWarning, stacklevel=level)


def tracer_warning(what):
    _warn_at_user("%s might cause the trace to be incorrect. We can't record the data flow of Python values, so this value will be treated as a constant "
                  "in the future. This means that the trace might not generalize to other inputs!" % what)


def tracer_note(text):
    _warn_at_user(text)


class TracedInt(int):
    """A size that a trace follows: what is computed with it, is recorded."""

    def __new__(cls, value, handle):
        self = int.__new__(cls, value)
        self._ctsc_handle_ = handle
        return self

    def __reduce__(self):
        return int, (int(self),)

    def __hash__(self):
        return int.__hash__(self)


def _traced(key, plain, swapped=False):
    call = _C._operator(key)

    def method(self, other):
        if not isinstance(other, (int, float)) or not _C.Trace.is_tracing():
            return plain(self, other)
        return call(other, self) if swapped else call(self, other)
    return method


for _name, _key in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("floordiv", "floordiv"), ("mod", "remainder")):
    setattr(TracedInt, "__%s__" % _name, _traced("aten::" + _key, getattr(int, "__%s__" % _name)))
    setattr(TracedInt, "__r%s__" % _name, _traced("aten::" + _key, getattr(int, "__r%s__" % _name), True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(TracedInt, "__%s__" % _name, getattr(int, "__%s__" % _name))

_C.set_hooks({"exception_class": exception_class, "named_tuple": named_tuple, "result_class": result_class, "Size": Size, "script_print": script_print,
              "script_warn": script_warn, "alert": alert, "tensor_repr": tensor_repr, "from_dlpack": from_dlpack, "operator_failed": operator_failed, "operator_doc": operator_doc, "operator_attribute": operator_attribute,
              "tracer_warning": tracer_warning, "tracer_note": tracer_note, "traced_int": TracedInt})
