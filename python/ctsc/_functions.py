# SPDX-License-Identifier: Apache-2.0
"""_functions.py - functions of the package that are more of Python than a call of one operator."""
import os

from . import _C
from ._types import Size, device as _device

Tensor = _C.Tensor
_op = _C._operator


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False, names=None):
    """A new tensor of numbers, nested lists, arrays."""
    if isinstance(data, Tensor):
        import warnings
        warnings.warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True), rather than "
                      "torch.tensor(sourceTensor).", stacklevel=2)
    if _C._intercepts():
        from ._intercept import default_device, default_of
        device = default_device() if device is None else device
        if dtype is None and not hasattr(data, "dtype") and not isinstance(data, Tensor):
            dtype = default_of(data)
    t = _C._tensor(data, -1 if dtype is None else dtype._ctsc_value_)
    if device is not None:
        t = t.to(device)
    if names is not None:
        t.rename_(*names)
    if requires_grad:
        t.requires_grad = True
    return t


def as_tensor(data, dtype=None, device=None):
    """data as a tensor; on its memory where it has one of the dtype."""
    if not isinstance(data, Tensor):
        if type(data).__name__.endswith("Storage") and hasattr(data, "untyped"): # bytes, or elements of its dtype
            kind = dtype or data.dtype
            t = data.untyped()._t
            return t if kind is _C.uint8 else t.view(kind) if kind is data.dtype else t.view(data.dtype).to(kind)
        if hasattr(data, "__dlpack__"):
            try:
                data = from_dlpack(data)
            except (BufferError, TypeError, RuntimeError):
                data = _from_array(data)
        elif hasattr(data, "__array_interface__") or isinstance(data, (memoryview, bytearray)):
            data = _from_array(data)
        else:
            return tensor(data, dtype=dtype, device=device)
    if device is None and _C._intercepts() and not isinstance(data, Tensor):
        from ._intercept import default_device
        device = default_device()
    return data.to(dtype=dtype, device=device)


asarray = as_tensor


def _from_array(a):
    return _C._from_buffer(a, True)


def from_numpy(ndarray):
    """A tensor on the memory of an ndarray."""
    if type(ndarray).__module__.partition(".")[0] != "numpy" or not hasattr(ndarray, "__array_interface__"):
        raise TypeError("expected np.ndarray (got %s)" % type(ndarray).__name__)
    return _C._from_buffer(ndarray)


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-dim tensor on a buffer's bytes."""
    raw = _C._from_buffer(memoryview(buffer).cast("B"))[offset:]
    if count >= 0:
        raw = raw[:count * dtype.itemsize]
    t = raw.view(dtype) if raw.numel() else raw.to(dtype)
    return t.requires_grad_() if requires_grad else t


def empty_of_bytes(dtype, sizes, data):
    t = _op("empty")(list(sizes), dtype=dtype, device="cpu")
    if data:
        raw = t.view(_C.uint8) if t.ndim else t.reshape([1]).view(_C.uint8)
        memoryview(raw).cast("B")[:] = data
    return t


def from_dlpack(x, *, device=None, copy=None):
    """A tensor on the memory of whatever has __dlpack__, or of a capsule."""
    if not hasattr(x, "__dlpack__"):
        return _C._from_dlpack(x)
    try:
        capsule = x.__dlpack__(max_version=(1, 0))
    except TypeError:
        capsule = x.__dlpack__()
    t = _C._from_dlpack(capsule)
    t = t.clone() if copy else t
    return t if device is None else t.to(device)


def is_tensor(x):
    return isinstance(x, Tensor)


def numel(input):
    return input.numel()


def is_floating_point(input):
    return input.dtype.is_floating_point


def is_complex(input):
    return input.dtype.is_complex


Generator, default_generator = _C.Generator, _C.default_generator


def _seed(self):
    """Seeds it with what nobody knows before."""
    value = int.from_bytes(os.urandom(8), "little")
    self.manual_seed(value)
    return value


def _clone_state(self):
    made = Generator(self.device)
    made.set_state(self.get_state())
    return made


Generator.device, Generator.seed, Generator.clone_state = property(lambda self: _device(self._device or "cpu")), _seed, _clone_state


def manual_seed(seed):
    """Random operators draw the numbers that PyTorch draws after the same seed."""
    return default_generator.manual_seed(int(seed))


def initial_seed():
    return default_generator.initial_seed()


def seed():
    """Seeds the generator with what nobody knows before."""
    return default_generator.seed()


def get_rng_state():
    """The state of the random numbers, as PyTorch's torch.set_rng_state takes it."""
    return default_generator.get_state()


def set_rng_state(new_state):
    default_generator.set_state(new_state)


def full(size, fill_value, *, dtype=None, **options):
    """A tensor filled with a number, whose kind decides the dtype where none is given."""
    if isinstance(fill_value, bool):
        fill_value, dtype = int(fill_value), _C.bool if dtype is None else dtype
    return _op("full")(size, fill_value, dtype=dtype, **options)


def split(tensor, split_size_or_sections, dim=0):
    many = isinstance(split_size_or_sections, (list, tuple))
    if isinstance(dim, str) and not tensor.has_names():
        raise TypeError("split() received an invalid combination of arguments - got (Tensor, int, str), but expected one of:\n"
                        " * (Tensor tensor, int split_size, int dim = 0)\n * (Tensor tensor, tuple of ints split_size, int dim = 0)\n")
    return tuple(_op("aten::split_with_sizes" if many else "aten::split.Tensor")(tensor, split_size_or_sections, dim))


def where(condition, input=None, other=None, *, out=None):
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    input, other = (_C._tensor(v, -1) if isinstance(v, bool) else v for v in (input, other))
    options = {} if out is None else {"out": out}
    return _op("aten::where")(condition, input, other, **options)


def multinomial(input, num_samples, replacement=False, *, generator=None, out=None):
    """One sample is drawn as if it were not put back, as by today's PyTorch: the same numbers."""
    found = _op("aten::multinomial")(input, num_samples, replacement and num_samples != 1, generator=generator)
    return found if out is None else out.resize_(found.shape).copy_(found)


def nonzero(input, *, out=None, as_tuple=False):
    if as_tuple:
        return tuple(_op("aten::nonzero_numpy")(input))
    return _op("aten::nonzero")(input) if out is None else _op("aten::nonzero")(input, out=out)


def _equation(operands):
    """Of einsum(x, [0, 1], y, [1, 2], [0, 2]): the text, and the tensors."""
    import string
    letters = string.ascii_uppercase + string.ascii_lowercase

    def written(dims):
        for d in dims:
            if d is not Ellipsis and not 0 <= d < len(letters):
                raise ValueError("einsum: subscript in subscript list is not within the valid range [0, 52)")
        return "".join("..." if d is Ellipsis else letters[d] for d in dims)
    pairs, rest = operands[:len(operands) // 2 * 2], operands[len(operands) // 2 * 2:]
    text = ",".join(written(d) for d in pairs[1::2])
    return text + ("->" + written(rest[0]) if rest else ""), pairs[::2]


def einsum(equation, *operands):
    if not isinstance(equation, str):
        equation, operands = _equation((equation,) + operands)
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    return _op("aten::einsum")(equation, list(operands))


def _variadic(name):
    call = _op("aten::" + name)

    def function(*tensors, **kwargs):
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
            tensors = tensors[0]
        return tuple(call(list(tensors), **kwargs))
    function.__name__ = name
    return function


meshgrid = _variadic("meshgrid")
broadcast_tensors = _variadic("broadcast_tensors")


def tensordot(a, b, dims=2, out=None):
    """Sums over the last dims of a and the first of b, or over lists of dims."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError("tensordot expects dims >= 0, but got dims=%d" % dims)
        dims = (list(range(a.ndim - dims, a.ndim)), list(range(dims)))
    dims = [[d] if isinstance(d, int) else list(d) for d in dims]
    return _op("aten::tensordot")(a, b, dims[0], dims[1], **({} if out is None else {"out": out}))


def block_diag(*tensors):
    return _op("aten::block_diag")(list(tensors))


def cartesian_prod(*tensors):
    return _op("aten::cartesian_prod")(list(tensors))


def broadcast_shapes(*shapes):
    ndim = max([len(s) if isinstance(s, (tuple, list)) else 1 for s in shapes] + [0])
    result = [1] * ndim
    for s in shapes:
        s = (s,) if isinstance(s, int) else tuple(s)
        for i, n in enumerate(s, ndim - len(s)):
            if n != 1 and result[i] not in (1, n):
                raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape")
            result[i] = n if n != 1 else result[i]
    return Size(result)


_DISTANCES = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    if compute_mode not in _DISTANCES and compute_mode not in (None, 1, 2):
        raise ValueError("%s is not a valid value for compute_mode" % compute_mode)
    return _op("aten::cdist")(x1, x2, float(p), _DISTANCES.get(compute_mode, compute_mode))


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    given = {"dtype": dtype} if out is None else {"dtype": dtype, "out": out}
    if p == "nuc":
        return _op("aten::linalg_matrix_norm")(input, "nuc", dim if dim is not None else (-2, -1), keepdim, **given)
    if isinstance(p, str) and p != "fro":
        raise _C.Error("linalg.matrix_norm: Order %s not supported." % p)
    p = 2 if p in ("fro", None) else p
    dim = (dim,) if isinstance(dim, int) else dim
    return _op("aten::linalg_vector_norm")(input, p, dim, keepdim, **given)


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    if dim is None:
        values, inverse, counts = _op("aten::_unique2")(input, sorted, return_inverse, return_counts)
    else:
        values, inverse, counts = _op("aten::unique_dim")(input, dim, sorted, return_inverse, return_counts)
    results = (values,) + ((inverse,) if return_inverse else ()) + ((counts,) if return_counts else ())
    return results if len(results) > 1 else values


Tensor.unique = unique


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    values, inverse, counts = _op("aten::unique_consecutive")(input, return_inverse, return_counts, dim)
    results = (values,) + ((inverse,) if return_inverse else ()) + ((counts,) if return_counts else ())
    return results if len(results) > 1 else values


def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False, onesided=None, return_complex=None):
    """Of the signal with n_fft // 2 values more at both ends, where center is true."""
    if center:
        rows = input.reshape([1] * (3 - input.ndim) + list(input.shape))
        rows = _op("aten::pad")(rows, [n_fft // 2, n_fft // 2], pad_mode)
        input = rows.reshape(rows.shape[-input.ndim:])
    return _op("aten::stft")(input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex)


Tensor.unique_consecutive, Tensor.stft = unique_consecutive, stft


def set_printoptions(**options):
    from ._tensor_str import set_printoptions
    set_printoptions(**options)


def result_type(a, b):
    number = _op("aten::result_type")(a, b)
    return next(d for d in _C.dtypes if d._ctsc_value_ == number)


def promote_types(a, b):
    return result_type(_op("empty")([1], dtype=a), _op("empty")([1], dtype=b))


def can_cast(from_, to):
    return _op("aten::can_cast")(from_, to)


# (bits, eps, tiny, max, resolution)
_FLOATS = {"float16": (16, 2.0 ** -10, 2.0 ** -14, 65504.0, 1e-3), "bfloat16": (16, 2.0 ** -7, 2.0 ** -126, (2 - 2.0 ** -7) * 2.0 ** 127, 1e-2),
           "float32": (32, 2.0 ** -23, 2.0 ** -126, (2 - 2.0 ** -23) * 2.0 ** 127, 1e-6), "float64": (64, 2.0 ** -52, 2.0 ** -1022, (2 - 2.0 ** -52) * 2.0 ** 1023, 1e-15),
           "float8_e4m3fn": (8, 0.125, 2.0 ** -6, 448.0, 1.0), "float8_e5m2": (8, 0.25, 2.0 ** -14, 57344.0, 1.0),
           "float8_e4m3fnuz": (8, 0.125, 2.0 ** -7, 240.0, 1.0), "float8_e5m2fnuz": (8, 0.25, 2.0 ** -15, 57344.0, 1.0),
           "float8_e8m0fnu": (8, 1.0, 2.0 ** -127, 2.0 ** 127, 1.0)}
_FLOATS.update(complex64=_FLOATS["float32"], complex128=_FLOATS["float64"])


class finfo:
    """Limits of a floating-point dtype."""

    def __init__(self, type=None):
        name = (type or _C.float32).name
        if name not in _FLOATS:
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle '%s'" % (type,))
        self.bits, self.eps, self.tiny, self.max, self.resolution = _FLOATS[name]
        self.smallest_normal, self.dtype = self.tiny, {"complex64": "float32", "complex128": "float64"}.get(name, name)
        self.min = self.tiny if name == "float8_e8m0fnu" else -self.max # which has no sign

    def __repr__(self):
        return "finfo(resolution=%g, min=%g, max=%g, eps=%g, smallest_normal=%g, tiny=%g, dtype=%s)" % (
            self.resolution, self.min, self.max, self.eps, self.smallest_normal, self.tiny, self.dtype)


class iinfo:
    """Limits of an integer dtype."""

    def __init__(self, type):
        self.bits, self.dtype = 8 * type.itemsize, type.name
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0
        self.max = 2 ** (self.bits - (1 if type.is_signed else 0)) - 1

    def __repr__(self):
        return "iinfo(min=%d, max=%d, dtype=%s)" % (self.min, self.max, self.dtype)


def normal(mean=0.0, std=1.0, size=None, *, generator=None, out=None, requires_grad=False, **options):
    """Normal numbers: of tensors of means or deviations, or of a size."""
    given = {k: v for k, v in dict(options, generator=generator, out=out).items() if v is not None}
    if size is None:
        t = _op("normal")(mean if isinstance(mean, Tensor) else float(mean), std if isinstance(std, Tensor) else float(std), **given)
    else:
        t = _op("normal")(float(mean), float(std), size, **given)
    return t.requires_grad_() if requires_grad else t
