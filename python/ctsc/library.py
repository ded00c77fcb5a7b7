# SPDX-License-Identifier: Apache-2.0
"""library.py - torch.library: operators of one's own, by register_op. Of functions for kinds of devices the CPU's is taken; shapes are not computed without
values, so that register_fake has nothing to do. Gradients (register_autograd) are those of calls from Python; programs that call the operator have none."""
from . import _register
from ._functions import Tensor
from ._register import register_op

_defined = {} # schemas of operators that have no function yet, by name
_CPU = ("", "cpu", "default", "compositeexplicitautograd", "compositeimplicitautograd", "compositeexplicitautogradnonfunctional")
_OTHERS = ("cuda", "meta", "mps", "xpu", "mkldnn", "hpu", "xla", "quantizedcpu", "sparsecpu", "functionalize", "privateuse1", "autocast", "autocastcpu", "autocastcuda", "autocastxpu")


def _qualified(name):
    """Of a name, or an operator."""
    name = name if isinstance(name, str) else getattr(name, "_qualname", None) or getattr(name, "name", "")
    name = name.partition("(")[0].strip()
    if "::" not in name:
        raise ValueError("%s: an operator's name is namespace::name" % name)
    space, _, rest = name.partition("::")
    return space + "::" + rest.partition(".")[0]


def define(qualname, schema, *, lib=None, tags=()):
    """define("my::twice", "(Tensor x) -> Tensor"); impl gives its function."""
    _defined[_qualified(qualname)] = schema.strip()


def _implement(name, key, fn):
    kinds = [k.lower() for k in ((key,) if isinstance(key, str) else key or ("",))]
    if any(k in _CPU for k in kinds):
        if name not in _defined:
            raise RuntimeError("%s: no operator of this name has been defined (library.define)%s" % (
                name, "; operators of PyTorch's cannot be replaced" if name.startswith("aten::") else ""))
        register_op(name + _defined.pop(name), fn)
    elif not all(k in _OTHERS for k in kinds):
        raise NotImplementedError("%s: functions for %s are not supported" % (name, ", ".join(kinds)))
    return fn


def impl(qualname, types, func=None, *, lib=None):
    """A decorator of a defined operator's function for kinds of devices."""
    put = lambda f: _implement(_qualified(qualname), types, f)
    return put if func is None else put(func)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    return impl(op, device_types or "default", func)


def _nothing(op, func=None, /, *more, **options):
    return (lambda f: f) if func is None else func


register_fake = impl_abstract = register_vmap = register_torch_dispatch = _nothing


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """Its arguments are taken as they are."""


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """backward(ctx, *gradients) gives the gradients of the operator's arguments; setup_context(ctx, inputs, output) keeps what it needs."""
    name = _qualified(op)
    _register.gradients[name] = _differentiable(name, backward, setup_context)
    space, _, own = name.partition("::")
    getattr(_register.ops, space).__dict__.pop(own, None)


def _differentiable(name, backward, setup_context):
    from . import _C
    from .autograd import Function
    raw = []

    class Called(Function):
        @staticmethod
        def forward(ctx, *args):
            out = raw[0](*args)
            if setup_context is not None:
                setup_context(ctx, args, out)
            return out

    Called.backward, Called.__name__ = staticmethod(backward), name.partition("::")[2]

    def call(*args, **kwargs):
        if not raw:
            raw.append(_C._operator(name))
        if kwargs or not _C.is_grad_enabled() or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            if kwargs and any(isinstance(a, Tensor) and a.requires_grad for a in (*args, *kwargs.values())) and _C.is_grad_enabled():
                raise NotImplementedError("%s: give arguments that gradients are needed with by position" % name)
            return raw[0](*args, **kwargs)
        return Called.apply(*args)
    call.__name__, call._qualname, call.default = name.partition("::")[2], name, call
    return call


class Library:
    """Library("my", "DEF"): defines operators of a namespace, implements them ("IMPL", "FRAGMENT")."""

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise ValueError("Unsupported kind: %s" % kind)
        if ns in ("prim", "prims") and kind == "DEF":
            raise ValueError("%s is a reserved namespace" % ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema, alias_analysis="", *, tags=()):
        name, bracket, rest = schema.strip().partition("(")
        define("%s::%s" % (self.ns, name), bracket + rest)
        return name

    def impl(self, op_name, fn=None, dispatch_key="", *, with_keyset=False, allow_override=False):
        name = op_name if isinstance(op_name, str) else op_name._qualname
        name = _qualified(name if "::" in name else "%s::%s" % (self.ns, name))
        put = lambda f: _implement(name, dispatch_key or self.dispatch_key, f)
        return put if fn is None else put(fn)

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        raise NotImplementedError("Library.fallback: operators of PyTorch's cannot be replaced")


class CustomOpDef:
    """What custom_op makes of a function."""

    def __init__(self, name, fn):
        self._qualname, self._namespace, self._name, self._init_fn = name, name.partition("::")[0], name.partition("::")[2], fn
        self.__name__, self.__doc__ = self._name, fn.__doc__

    @property
    def _opoverload(self):
        return getattr(getattr(_register.ops, self._namespace), self._name)

    def __call__(self, *args, **kwargs):
        return self._opoverload(*args, **kwargs)

    def __repr__(self):
        return "<CustomOpDef(%s)>" % self._qualname

    def register_fake(self, fn):
        return fn

    def register_vmap(self, fn=None):
        return _nothing(self, fn)

    def register_kernel(self, device_types, fn=None):
        """Of the CPU: what the operator does from now on is what it was made with."""
        kinds = [k.lower() for k in ((device_types,) if isinstance(device_types, str) else device_types or ("default",))]
        if any(k in _CPU for k in kinds):
            raise NotImplementedError("%s: the function for the CPU is the one that custom_op was given" % self._qualname)
        return _nothing(self, fn)

    def register_autocast(self, device_type, cast_inputs):
        pass

    def register_autograd(self, backward, /, *, setup_context=None):
        register_autograd(self._qualname, backward, setup_context=setup_context)


def custom_op(name, fn=None, /, *, mutates_args=(), device_types=None, schema=None, tags=()):
    """@custom_op("my::twice", mutates_args=()) of a function with annotations."""
    def make(f):
        register_op("%s%s" % (name, schema or infer_schema(f)), f)
        return CustomOpDef(_qualified(name), f)
    return make if fn is None else make(fn)


def infer_schema(prototype_function, /, *, mutates_args=(), op_name=None):
    return (op_name or "") + _schema(prototype_function)


def _schema(f):
    import inspect
    import typing
    hints, of = typing.get_type_hints(f), {int: "int", float: "float", bool: "bool", str: "str"}

    def word(t):
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
