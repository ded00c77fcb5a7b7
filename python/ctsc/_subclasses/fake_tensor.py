# SPDX-License-Identifier: Apache-2.0
"""fake_tensor.py - tensors of device meta that say they are on another one.

Within a FakeTensorMode all tensors are made so, and real ones among the arguments of a call are replaced by fake ones; what is made of fake ones is fake outside of
it, too. Whether a result depends on elements the library knows (UnsupportedError).
"""
from .. import _C
from .._subclass import DisableTorchFunctionSubclass
from .._types import device as device_type
from ..overrides import TorchFunctionMode

Tensor = _C.Tensor
_NUMBERS = frozenset("item tolist __bool__ __int__ __float__ __index__ is_nonzero equal numpy __array__".split())


class UnsupportedFakeTensorException(RuntimeError):
    pass


class DynamicOutputShapeException(RuntimeError):
    def __init__(self, func):
        RuntimeError.__init__(self, func)
        self.func = func


class DataDependentOutputException(DynamicOutputShapeException):
    pass


class FakeTensor(Tensor):
    is_meta = False
    device = property(lambda self: self.__dict__.get("fake_device", device_type("cpu")))
    is_cpu = property(lambda self: self.device.type == "cpu")
    is_cuda = property(lambda self: self.device.type == "cuda")

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return _called(func, args, kwargs or {})

    def item(self):
        raise DataDependentOutputException("aten._local_scalar_dense.default")

    tolist = numpy = __bool__ = __int__ = __float__ = __index__ = item

    def __repr__(self):
        return "FakeTensor(..., %ssize=%s%s%s)" % ("" if self.device.type == "cpu" else "device='%s', " % self.device, tuple(self.shape),
                                                  "" if self.dtype is _C.float32 else ", dtype=%s" % self.dtype, ", requires_grad=True" if self.requires_grad else "")


def is_fake(x):
    """Whether a tensor, or one in a container, is fake."""
    return isinstance(x, FakeTensor) or isinstance(x, (list, tuple)) and any(is_fake(v) for v in x)


def _fake(t, place):
    if isinstance(t, FakeTensor):
        return t
    made = t.as_subclass(FakeTensor)
    made.fake_device = place
    return made


def _map(x, f):
    if isinstance(x, Tensor):
        return f(x)
    if isinstance(x, (tuple, list)):
        items = [_map(v, f) for v in x]
        return x._make(items) if hasattr(x, "_make") else type(x)(items)
    return {k: _map(v, f) for k, v in x.items()} if isinstance(x, dict) else x


def _plain(t):
    """Of device meta, and no subclass."""
    return t.as_subclass(Tensor) if isinstance(t, FakeTensor) else t if t.is_meta else t.to("meta")


def _called(func, args, kwargs):
    given, found = kwargs.get("device"), []
    with DisableTorchFunctionSubclass():
        _map((args, kwargs), lambda t: found.append(t) or t)
        place = device_type(given) if given is not None else found[0].device if found else device_type("cpu")
        same = {}

        def meta(t):
            same.setdefault(id(t), (_plain(t), t))
            return same[id(t)][0]
        call = _map(kwargs, meta)
        name = getattr(func, "__name__", "")
        if given is not None or not found:
            call["device"] = "meta"
        try:
            out = func(*_map(args, meta), **call)
        except TypeError:
            if found or given is not None:
                raise
            return func(*args, **kwargs)  # it makes no tensor
        except (_C.UnsupportedError, RuntimeError) as e:
            if "sizes of its result depend" in str(e):
                raise DynamicOutputShapeException(name) from None
            if "result depends on" in str(e) or "cannot be called on meta" in str(e):
                raise DataDependentOutputException(name) from None
            raise
        back = {id(p): t for p, t in same.values() if isinstance(t, FakeTensor)}
        return _map(out, lambda t: back.get(id(t)) if id(t) in back else _fake(t, place) if t.is_meta else t)


class FakeTensorMode(TorchFunctionMode):
    def __init__(self, *, allow_fallback_kernels=True, allow_non_fake_inputs=False, shape_env=None, static_shapes=None, export=False):
        super().__init__()
        self.shape_env, self.static_shapes, self.allow_non_fake_inputs = shape_env, static_shapes, allow_non_fake_inputs

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return _called(func, args, kwargs or {})

    def from_tensor(self, tensor, *, static_shapes=None, source=None, symbolic_context=None):
        with DisableTorchFunctionSubclass():
            return _fake(tensor.detach().to("meta").requires_grad_(tensor.requires_grad), tensor.device)
