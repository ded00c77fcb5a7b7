# SPDX-License-Identifier: Apache-2.0
"""_types.py - Size, device, layouts and memory formats, and the arguments that name where and as what a tensor is wanted."""
from . import _C


class Size(tuple):
    """The sizes of a tensor: a tuple whose slices are Sizes."""

    __slots__ = ()

    def __repr__(self):
        return "%s.Size([%s])" % (type(self).__module__.partition(".")[0], ", ".join(str(n) for n in self))

    def __getitem__(self, i):
        part = tuple.__getitem__(self, i)
        return Size(part) if isinstance(i, slice) else part

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))

    def numel(self):
        n = 1
        for size in self:
            n = n * size
        return n


# What PyTorch calls tensors and storages of dtypes: FloatTensor, LongStorage.
KINDS = {d.name: d._type_name for d in _C.dtypes if d._computed}
_entered = [] # default devices before each block of a device


class device:
    """Where a tensor is: device("cpu"), device("cuda", 1), device("cuda:1")."""

    __slots__ = {"type": "'cpu', 'cuda' or 'meta'.", "index": "Which one, or None."}

    def __init__(self, type, index=None):
        if isinstance(type, device):
            type, index = type.type, type.index
        elif isinstance(type, int):
            type, index = "cuda", type
        name, colon, number = type.partition(":") if isinstance(type, str) else ("", "", "")
        if name not in ("cpu", "cuda", "meta") or (colon and not number.isdigit()):
            raise RuntimeError("Expected one of cpu, cuda, meta device type at start of device string: %s" % (type,))
        if colon and index is not None:
            raise RuntimeError("type (string) must not include an index because index was passed explicitly: %s" % type)
        object.__setattr__(self, "type", name)
        object.__setattr__(self, "index", int(number) if colon else index)

    def __setattr__(self, name, value):
        raise AttributeError("attribute '%s' of 'device' objects is not writable" % name)

    def __repr__(self):
        return "device(type=%r%s)" % (self.type, "" if self.index is None else ", index=%d" % self.index)

    def __str__(self):
        return self.type if self.index is None else "%s:%d" % (self.type, self.index)

    _ctsc_value_ = property(__str__)

    def __enter__(self):
        """Tensors that are made within the block are there."""
        from ._intercept import default_device, set_default_device
        before = default_device()
        set_default_device(self)
        _entered.append(before)
        return self

    def __exit__(self, *exception):
        from ._intercept import set_default_device
        set_default_device(_entered.pop())

    def __call__(self, f):
        import functools

        @functools.wraps(f)
        def run(*args, **kwargs):
            with self:
                return f(*args, **kwargs)
        return run

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __reduce__(self):
        return device, (self.type, self.index)


device_class = device # where an argument has that name


class _Named:
    """A constant that operators take as a number."""

    def __init__(self, name, value):
        self._name, self._ctsc_value_ = name, value

    def __repr__(self):
        return "%s.%s" % (type(self).__module__.partition(".")[0], self._name)

    def __reduce__(self):
        return _named, (self._name,)


class layout(_Named):
    pass


class memory_format(_Named):
    pass


strided = layout("strided", 0)
# No tensor has them; programs compare with them.
sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = (layout("sparse_" + name, i) for i, name in enumerate(("coo", "csr", "csc", "bsr", "bsc"), 1))
contiguous_format = memory_format("contiguous_format", 0)
preserve_format = memory_format("preserve_format", 1)
channels_last = memory_format("channels_last", 2)
channels_last_3d = memory_format("channels_last_3d", 3)


class qscheme(_Named):
    pass


qschemes = tuple(qscheme(name, i) for i, name in enumerate("per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric per_channel_affine_float_qparams".split()))
per_tensor_affine, per_channel_affine, per_tensor_symmetric, per_channel_symmetric, per_channel_affine_float_qparams = qschemes


def _named(name):
    return globals()[name]


def parse_to(args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
    """(device, dtype, non_blocking, copy, memory_format) of to(dtype), to(device), to(device, dtype), to(other), each followed by non_blocking and copy."""
    given, flags = args, []
    for a in args:
        if flags and not isinstance(a, bool):
            break
        if isinstance(a, bool):
            flags.append(a)
        elif isinstance(a, _C.dtype):
            dtype = a
        elif isinstance(a, (str, int, device_class)):
            device = a
        elif isinstance(a, _C.Tensor):
            dtype, device = a.dtype, a.device
        elif a is not None:
            break
    else:
        if len(flags) < 3:
            non_blocking, copy = (flags + [non_blocking, copy][len(flags):])
            device = device if device is None or isinstance(device, device_class) else device_class(device)
            return device, dtype, non_blocking, copy, memory_format
    raise TypeError("to() received an invalid combination of arguments - got (%s)" % ", ".join(type(x).__name__ for x in given))
