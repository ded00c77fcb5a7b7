# SPDX-License-Identifier: Apache-2.0
"""_meta.py - tensors of device meta: sizes and a dtype without memory, for modules that get their weights later (to_empty, load_state_dict(assign=True), functional_call).

Each is a view of one element, of a class whose __torch_function__ does what needs no elements: views, copies, tensors like it, and writes, which are left out. What else
would be computed is refused: operators give no sizes without elements.
"""
from . import _C, _subclass
from ._types import device, parse_to

Tensor, _op = _C.Tensor, _C._operator
_META = device("meta")
_VIEWS = frozenset("view reshape flatten unflatten transpose permute t swapaxes swapdims movedim moveaxis select slice narrow expand expand_as unsqueeze squeeze view_as unbind split "
                   "split_with_sizes chunk tensor_split diagonal as_strided numpy_T mT mH matrix_H".split())
_SAME = frozenset("detach clone contiguous alias zeros_like ones_like empty_like full_like rand_like randn_like randint_like".split())
_OF_SIZES = frozenset("empty zeros ones rand randn".split())


def _no_data(*args, **kwargs):
    raise NotImplementedError("Cannot copy out of meta tensor; no data!")


class Without:
    """What is different of these tensors."""

    is_meta, is_cpu = True, False
    device = property(lambda self: _META)
    data = property(lambda self: _wrapped(self))

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return _called(getattr(func, "__name__", str(func)), args, kwargs or {})

    def to(self, *args, **kwargs):
        place, dtype, _, _, _ = parse_to(args, **kwargs)
        if place is not None and place.type != "meta":
            _no_data()
        return self if dtype is None or dtype is self.dtype else make(self.shape, dtype)

    def cpu(self, *args, **kwargs):
        _no_data()

    cuda = cpu

    def stride(self, dim=None):
        found, n = [], 1
        for size in reversed(self.shape):
            found.insert(0, n)
            n *= max(int(size), 1)
        return tuple(found) if dim is None else found[dim]

    def is_contiguous(self, **options):
        return True

    def data_ptr(self):
        return 0

    def detach(self):
        return _wrapped(self)

    def __repr__(self):
        text = "tensor(..., device='meta', size=%s%s%s)" % (tuple(int(n) for n in self.shape), "" if self.dtype is _C.float32 else ", dtype=%s" % self.dtype,
                                                           ", requires_grad=True" if self.requires_grad else "")
        return "Parameter containing:\n" + text if isinstance(self, _parameter_class()) else text

    def _parameter(self, requires_grad):
        return parameter(self, requires_grad)

    def __deepcopy__(self, memo):
        memo[id(self)] = made = type(self)._of(make(self.shape, self.dtype), self.requires_grad)
        return made

    def _refused(self, *args, **kwargs):
        raise RuntimeError("tensors of device meta have no elements to read")

    item = tolist = numpy = __array__ = __bool__ = __int__ = __float__ = __index__ = __dlpack__ = _refused

    @classmethod
    def _of(cls, t, requires_grad):
        made = t.as_subclass(cls) if type(t) is not cls else t
        made.requires_grad = requires_grad
        return made


class Meta(Without, Tensor):
    pass


_subclass.register(Meta)
_parameters = []


def _parameter_class():
    from .nn.parameter import Parameter
    return Parameter


def parameter(data, requires_grad):
    """nn.Parameter(data)"""
    if not _parameters:
        _parameters.append(type("Parameter", (Without, _parameter_class()), {"__module__": "ctsc.nn.parameter", "__torch_function__": Without.__dict__["__torch_function__"]}))
        _subclass.register(_parameters[0])
    return _parameters[0]._of(_plain(data).detach(), requires_grad)


def _plain(x):
    """The view of one element."""
    with _subclass.DisableTorchFunctionSubclass():
        return x.as_subclass(Tensor) if isinstance(x, Without) else x


def _wrapped(x):
    if isinstance(x, Tensor):
        with _subclass.DisableTorchFunctionSubclass():
            return _C._operator("detach")(_plain(x)).as_subclass(Meta)
    return type(x)(_wrapped(v) for v in x)


def make(sizes, dtype):
    with _subclass.DisableTorchFunctionSubclass():
        return _wrapped(_op("empty")([], dtype=dtype, device="cpu").expand(tuple(int(n) for n in sizes)))


def _called(name, args, kwargs):
    if name.endswith("_") and not name.startswith("__"):
        return args[0] if isinstance(args[0], Without) else _no_data()
    if name == "__getitem__" or name in _VIEWS:
        with _subclass.DisableTorchFunctionSubclass():
            call = Tensor.__getitem__ if name == "__getitem__" else getattr(Tensor, name)
            return _wrapped(call(*[_plain(a) for a in args], **kwargs))
    if name in _SAME:
        given, place = kwargs.get("dtype") or args[0].dtype, kwargs.get("device")
        if place is None or device(place).type == "meta":
            made = make(args[0].shape, given)
        else:
            made = _op(name)(_op("empty")(list(args[0].shape), dtype=given, device=place), *args[1:])
        return made.requires_grad_() if kwargs.get("requires_grad") else made
    raise NotImplementedError("%s: tensors of device meta have no elements, and ctsc computes no sizes without them" % name)


def factory(name, args, kwargs):
    """What a function that makes tensors gives for device=meta."""
    dtype, requires_grad = kwargs.get("dtype"), kwargs.get("requires_grad", False)
    if name in _OF_SIZES:
        from ._intercept import get_default_dtype
        sizes = kwargs.get("size", args[0] if len(args) == 1 and not isinstance(args[0], int) else args)
        made = make(sizes, dtype or get_default_dtype())
    else:
        here = _op(name)(*args, **dict(kwargs, device="cpu"))
        made = make(here.shape, here.dtype)
    return made.requires_grad_() if requires_grad else made
