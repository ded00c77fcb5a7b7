# SPDX-License-Identifier: Apache-2.0
"""_tensor.py - methods of Tensor that are more than a call of an operator: conversions, NumPy and DLPack, pickling, defaults of Python's."""
from . import _C
from ._named import refuse_serialisation
from ._types import channels_last, channels_last_3d, contiguous_format, device as device_type, parse_to, preserve_format, strided

Tensor = _C.Tensor
_to_dtype = _C._operator("aten::to.dtype")
_contiguous = _C._operator("contiguous")
_retains_grad, _version = _C._operator("aten::retains_grad"), _C._operator("aten::_version")


def _method(name):
    def put(f):
        f.__qualname__ = "Tensor." + f.__name__
        setattr(Tensor, name, f)
        return f
    return put


# ---- dtypes and devices


@_method("to")
def to(self, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
    """to(dtype), to(device), to(device, dtype), to(other). non_blocking changes nothing: copies are done when it returns."""
    device, dtype, non_blocking, copy, memory_format = parse_to(args, dtype, device, non_blocking, copy, memory_format)
    result = self
    if device is not None and not _C.Trace.is_tracing():
        if device.type != self.device.type or (device.index or 0) != (self.device.index or 0):
            result = _C._value_to(result, str(device))
            copy = False
    if copy or (dtype is not None and dtype is not result.dtype) or memory_format is not None:
        result = _to_dtype(result, dtype or result.dtype, non_blocking, copy, memory_format)
    return result


def _caster(number):
    def cast(self, memory_format=preserve_format):
        return self.to(number) if memory_format is preserve_format else self.to(number, memory_format=memory_format)
    return cast


for _dtype in _C.dtypes:
    if _dtype._method:
        setattr(Tensor, _dtype._method, _caster(_dtype))


@_method("type")
def type_(self, dtype=None):
    if dtype is None:
        return "%s.%sTensor" % (Tensor.__module__, self.dtype._type_name)
    if isinstance(dtype, str):
        from ._legacy import dtype_of
        dtype = dtype_of(dtype)
    return self.to(getattr(dtype, "_dtype_", dtype))


@_method("cpu")
def cpu(self, memory_format=preserve_format):
    return self.to("cpu", memory_format=None if memory_format is preserve_format else memory_format)


@_method("cuda")
def cuda(self, device=None, non_blocking=False, memory_format=preserve_format):
    return self.to("cuda" if device is None else device, memory_format=None if memory_format is preserve_format else memory_format)


@_method("requires_grad_")
def requires_grad_(self, requires_grad=True):
    self.requires_grad = requires_grad
    return self


@_method("backward")
def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Adds the gradients of this tensor to .grad of the leaves it was computed from."""
    from .autograd import backward
    backward(self, gradient, retain_graph, create_graph, inputs)


@_method("register_hook")
def register_hook(self, hook):
    """hook(gradient) is called in each backward pass once the tensor's gradient is complete; what it returns takes its place."""
    from .autograd.function import add_hook
    return add_hook(self, hook)


@_method("register_post_accumulate_grad_hook")
def register_post_accumulate_grad_hook(self, hook):
    """Of a leaf: hook(tensor) is called once a pass has added to its .grad."""
    from .autograd.function import add_hook_after
    return add_hook_after(self, hook)


def _grad_fn(self):
    known = self._grad_fn
    if known is None:
        return None
    from .autograd import node
    return node(known)


@_method("contiguous")
def contiguous(self, memory_format=contiguous_format):
    return _contiguous(self, memory_format=contiguous_format if memory_format is preserve_format else memory_format)


@_method("is_contiguous")
def is_contiguous(self, memory_format=contiguous_format):
    if memory_format is contiguous_format:
        order = range(self.ndim)
    elif memory_format is channels_last:
        order = (0, 2, 3, 1) if self.ndim == 4 else ()
    else:
        order = (0, 2, 3, 4, 1) if self.ndim == 5 else ()
    if len(order) != self.ndim or (not order and memory_format is not contiguous_format):
        return False
    sizes, strides, expected = tuple(int(n) for n in self.shape), self.stride(), 1
    if 0 in sizes and memory_format is contiguous_format:
        return True
    for i in reversed(order):
        if sizes[i] != 1:
            if strides[i] != expected:
                return False
            expected *= sizes[i]
    return True


@_method("polygamma")
def polygamma(self, n):
    return _C._operator("polygamma")(n, self)


@_method("is_floating_point")
def is_floating_point(self):
    return self.dtype.is_floating_point


@_method("is_complex")
def is_complex(self):
    return self.dtype.is_complex


@_method("is_signed")
def is_signed(self):
    return self.dtype.is_signed


def _property(name, get):
    setattr(Tensor, name, property(get))


_PLACES = {-1: device_type("cpu"), -2: device_type("meta")}  # CTSC_DEVICE_META
_property("device", lambda self: _PLACES.get(self._device_index) or device_type("cuda", self._device_index))
_property("is_cuda", lambda self: self._device_index >= 0)
_property("is_cpu", lambda self: self._device_index == -1)
_property("is_meta", lambda self: self._device_index == -2)
_property("retains_grad", lambda self: not self.is_leaf and _retains_grad(self))
_property("is_sparse", lambda self: False)
for _name in ("is_nested", "is_mkldnn", "is_sparse_csr", "is_xpu", "is_mps", "is_xla", "is_ipu", "is_mtia", "is_maia", "is_vulkan"):
    _property(_name, lambda self: False)
_property("is_quantized", lambda self: self.dtype.name.startswith("q"))
_property("layout", lambda self: strided)
_property("itemsize", lambda self: self.dtype.itemsize)
_property("nbytes", lambda self: self.numel() * self.dtype.itemsize)
_property("grad_fn", _grad_fn)
_property("_version", lambda self: _version(self))

# ---- other libraries


@_method("numpy")
def numpy(self, *, force=False):
    """The tensor as an ndarray on the same memory."""
    import numpy

    from .autograd import is_grad_enabled
    if self.requires_grad and not force and is_grad_enabled():
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if self._device_index != -1:
        if not force or self.is_meta:
            raise TypeError("can't convert " + self.device.type + " device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.")
        self = self.cpu()
    for bit in ("conj", "neg"):
        if getattr(self, "is_" + bit)():
            if not force:
                raise RuntimeError("Can't call numpy() on Tensor that has %s bit set. Use tensor.resolve_%s().numpy() instead."
                                   % ("conjugate" if bit == "conj" else "negative", bit))
            self = self.clone()
    if self.dtype is _C.bfloat16:
        raise TypeError("Got unsupported ScalarType BFloat16")
    return _as_array(self, numpy)


def _as_array(t, np):
    # complex64 and complex128 have no format that every NumPy reads, 0-dim and empty ones need no other way
    return np.asarray(memoryview(t)) if not t.dtype.is_complex else np.asarray(_Interface(t))


class _Interface:
    """Holds the tensor for NumPy."""

    def __init__(self, t):
        self.t = t
        self.__array_interface__ = t.__array_interface__


@_method("__array__")
def __array__(self, dtype=None, copy=None):
    import numpy
    a = _as_array(self.cpu(), numpy) if not self.requires_grad else self.numpy()
    if dtype is not None and a.dtype != dtype:
        return a.astype(dtype)
    return a.copy() if copy else a


@_method("__dlpack__")
def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
        raise BufferError("the tensor is on another device than asked for")
    t = self.clone() if copy else self
    if max_version is None or max_version[0] < 1:
        return (t if t._writable else t.clone())._dlpack(False)
    return t._dlpack(True)


@_method("__dlpack_device__")
def __dlpack_device__(self):
    from ._legacy import DLDeviceType
    if self.is_meta:
        raise ValueError("Unknown device type meta for Dlpack")
    return (DLDeviceType.kDLCPU, 0) if self._device_index < 0 else (DLDeviceType.kDLCUDA, self._device_index)


def _rebuild(kind, dtype, sizes, data, requires_grad):
    from ._functions import empty_of_bytes
    t = empty_of_bytes(dtype, sizes, data)
    if kind is not Tensor:
        t = kind(t)
    t.requires_grad = requires_grad
    return t


@_method("__reduce_ex__")
def __reduce_ex__(self, protocol):
    """As bytes, whatever the dtype: views are pickled as tensors of their own."""
    refuse_serialisation(self)
    here = self.detach().cpu().contiguous()
    raw = here.view(_C.uint8) if here.ndim else here.reshape([1]).view(_C.uint8)
    made = _rebuild, (type(self), self.dtype, tuple(self.shape), bytes(memoryview(raw).cast("B")) if raw.numel() else b"", self.requires_grad)
    return made + (self.__dict__,) if self.__dict__ else made


@_method("__deepcopy__")
def __deepcopy__(self, memo):
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment")
    t = self.detach().clone()
    if type(self) is not Tensor:
        t = type(self)(t)
    t.requires_grad = self.requires_grad
    memo[id(self)] = t
    if self.__dict__:
        from copy import deepcopy
        t.__dict__ = deepcopy(self.__dict__, memo)
    return t


@_method("__copy__")
def __copy__(self):
    """The same memory."""
    if not self.is_leaf:
        return self.view_as(self)
    t = self.detach()
    if type(self) is not Tensor:
        t = type(self)(t)
    t.requires_grad = self.requires_grad
    t.__dict__.update(self.__dict__)
    return t


@_method("untyped_storage")
def untyped_storage(self):
    from .storage import of
    return of(self)


@_method("storage")
def storage(self):
    from .storage import typed_of
    return typed_of(self)


@_method("set_")
def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """The memory of another tensor, or of a storage, becomes this tensor's."""
    from .storage import placed
    self.data = placed(self, source, storage_offset, size, stride)
    return self


@_method("__array_wrap__")
def __array_wrap__(self, array, context=None, return_scalar=False):
    """What NumPy's functions make of tensors are tensors."""
    from ._functions import from_numpy, tensor
    if not hasattr(array, "__array_interface__") or not getattr(array, "ndim", 0):
        return tensor(array)
    return from_numpy(array)


def _torch_function(cls, func, types, args=(), kwargs=None):
    from ._subclass import torch_function
    return torch_function(cls, func, types, args, kwargs)


def _init_subclass(cls, **kwargs):
    if not cls.__module__.endswith(".nn.parameter"):
        from ._subclass import register
        register(cls)


Tensor.__torch_function__, Tensor.__init_subclass__ = classmethod(_torch_function), classmethod(_init_subclass)


@_method("as_subclass")
def as_subclass(self, cls):
    return self if cls is type(self) else _C._as_subclass(self, cls)


@_method("to_sparse")
def to_sparse(self, *args, **kwargs):
    from ._compressed import to_sparse
    return to_sparse(self, *args, **kwargs)


@_method("to_sparse_coo")
def to_sparse_coo(self):
    return self.to_sparse()


@_method("to_dense")
def to_dense(self, dtype=None, *, masked_grad=None):
    return self if dtype is None else self.to(dtype)


def _of_sparse(name, what="coordinate"):
    def method(self, *args, **kwargs):
        raise RuntimeError("%s expected sparse %s tensor layout but got %s" % (name, what, "Sparse" if self.is_sparse else "Strided"))
    method.__name__ = name
    return method


for _name in ("coalesce", "is_coalesced", "indices", "values", "_indices", "_values", "_nnz", "sparse_dim", "dense_dim", "sparse_resize_"):
    setattr(Tensor, _name, _of_sparse(_name))
for _name in ("crow_indices", "col_indices"):
    setattr(Tensor, _name, _of_sparse(_name, "row compressed"))
for _name in ("ccol_indices", "row_indices"):
    setattr(Tensor, _name, _of_sparse(_name, "column compressed"))


def _to_layout(name, blocks):
    def method(self, blocksize=None, dense_dim=None):
        from . import _types
        from ._compressed import to_sparse
        return to_sparse(self, layout=getattr(_types, name[3:]), blocksize=blocksize)
    if not blocks:
        method_of_blocks = method
        method = lambda self, dense_dim=None: method_of_blocks(self) # noqa: E731
    method.__name__ = name
    return method


for _name in ("to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc"):
    setattr(Tensor, _name, _to_layout(_name, "_bs" in _name))


@_method("sparse_mask")
def sparse_mask(self, mask):
    return type(mask).__torch_function__(sparse_mask, (), (self, mask))


@_method("__rdiv__")
def __rdiv__(self, other):
    return other / self


@_method("lu")
def lu(self, pivot=True, get_infos=False):
    from ._legacy import lu
    return lu(self, pivot=pivot, get_infos=get_infos)


@_method("module_load")
def module_load(self, other, assign=False):
    return other.detach() if assign else other.detach().to(self.dtype).to(self.device)


@_method("dim_order")
def dim_order(self, ambiguity_check=False):
    """Dims from the slowest in memory to the fastest."""
    strides = self.stride()
    return tuple(sorted(range(self.ndim), key=lambda i: -strides[i]))


def _gone(name):
    def method(self, *args, **kwargs):
        from . import _legacy
        return getattr(_legacy, name)(self, *args, **kwargs)
    method.__name__ = name
    return method


for _name in ("eig", "lstsq", "solve"):
    setattr(Tensor, _name, _gone(_name))


@_method("map_")
def map_(self, other, f):
    from ._functions import broadcast_tensors, tensor
    a, b = broadcast_tensors(self, other)
    values = [f(x, y) for x, y in zip(a.reshape(-1).tolist(), b.reshape(-1).tolist())]
    return self.copy_(tensor(values, dtype=self.dtype).reshape(self.shape))


@_method("new")
def new(self, *args):
    if len(args) == 1 and isinstance(args[0], (list, tuple)) and not hasattr(args[0], "numel"):
        return self.new_tensor(args[0])
    return self.new_empty(args if args and not isinstance(args[0], tuple) else args[0] if args else (0,))


@_method("is_shared")
def is_shared(self):
    from ._shared import is_shared
    return is_shared(self)


@_method("share_memory_")
def share_memory_(self):
    """In memory that other processes see (_shared.py)."""
    from ._shared import share
    return share(self)


@_method("qscheme")
def qscheme(self):
    from . import _types
    return _types.qschemes[_C._operator("aten::qscheme")(self)]


@_method("multinomial")
def multinomial(self, num_samples, replacement=False, *, generator=None):
    from ._functions import multinomial
    return multinomial(self, num_samples, replacement, generator=generator)


# ---- Python's protocols


@_method("__contains__")
def __contains__(self, x):
    return bool((self == x).any().item())


@_method("__reversed__")
def __reversed__(self):
    return self.flip(0) if self.ndim else self


@_method("__format__")
def __format__(self, spec):
    return format(self.item(), spec) if self.ndim == 0 else object.__format__(self, spec)


@_method("__complex__")
def __complex__(self):
    return complex(self.item())




@_method("__dir__")
def __dir__(self):
    return sorted(set(object.__dir__(self)))


@_method("_repr_html_")
def _repr_html_(self):
    """For notebooks: small matrices as tables, others as they are printed."""
    import html
    head = "<i>%s, %s%s</i>" % (tuple(int(n) for n in self.shape), self.dtype, "" if self._device_index == -1 else ", %s" % self.device)
    if self.ndim not in (1, 2) or not self.numel() or max(self.shape) > 20 or self.is_quantized:
        return "%s<pre>%s</pre>" % (head, html.escape(repr(self)))
    rows = self.detach().reshape(-1, self.shape[-1]).tolist()
    text = (lambda v: "%.4g" % v) if self.dtype.is_floating_point else str
    return "%s<table>%s</table>" % (head, "".join("<tr>%s</tr>" % "".join("<td>%s</td>" % html.escape(text(v)) for v in row) for row in rows))


@_method("apply_")
def apply_(self, f):
    from ._functions import tensor
    values = [f(v) for v in self.rename(None).reshape(-1).tolist()]
    return self.copy_(tensor(values, dtype=self.dtype).reshape(self.shape))


# ---- signatures of Python's own


@_method("split")
def split(self, split_size, dim=0):
    from ._functions import split
    return split(self, split_size, dim)


@_method("where")
def where(self, condition, other):
    from ._functions import where
    return where(condition, self, other)


@_method("norm")
def norm(self, p="fro", dim=None, keepdim=False, dtype=None):
    from ._functions import norm
    return norm(self, p, dim, keepdim, dtype=dtype)


@_method("new_tensor")
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    from ._functions import tensor
    return tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


@_method("nonzero")
def nonzero(self, *, as_tuple=False):
    from ._functions import nonzero
    return nonzero(self, as_tuple=as_tuple)


@_method("view_as")
def view_as(self, other):
    return self.view(other.shape)


@_method("__array_namespace__")
def __array_namespace__(self, *, api_version=None):
    """The functions of the array API standard."""
    from . import array_api
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError("version %r of the array API standard is not supported" % (api_version,))
    return array_api


@_method("to_device")
def to_device(self, device, /, *, stream=None):
    return self.to(str(device))


# NumPy leaves operators to us.
Tensor.__array_priority__ = 1000


def _rebuild_from_type_v2(func, new_type, args, state):
    """A tensor of a class, with the attributes that its pickle had: PyTorch's pickles name it."""
    made = func(*args)
    if type(made) is not new_type:
        made = made.as_subclass(new_type)
    if hasattr(new_type, "__setstate__") and new_type.__setstate__ is not getattr(Tensor, "__setstate__", None):
        made.__setstate__(state)
    elif state is not None:
        slots = state[1] if isinstance(state, tuple) and len(state) == 2 else {}
        made.__dict__.update((state[0] if isinstance(state, tuple) else state) or {})
        for name, value in (slots or {}).items():
            setattr(made, name, value)
    return made
