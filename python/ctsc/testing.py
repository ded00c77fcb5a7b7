# SPDX-License-Identifier: Apache-2.0
"""testing.py - torch.testing: assert_close and assert_allclose."""
from . import _C
from ._functions import Tensor, as_tensor, promote_types

_TOLERANCE = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7), "complex64": (1.3e-6, 1e-5),
              "complex128": (1e-7, 1e-7)}


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True, check_dtype=True, check_layout=True,
                 check_stride=False, msg=None):
    """Raises an AssertionError unless tensors (numbers, and containers of them) are equal to a tolerance that depends on the dtype."""
    def fail(text, where):
        text = text + (("\n\nThe failure occurred for item %s" % where) if where else "")
        raise AssertionError(msg(text) if callable(msg) else msg or text)

    def compare(a, b, where):
        if isinstance(a, dict) and isinstance(b, dict):
            if set(a) != set(b):
                fail("The keys of the mappings do not match", where)
            for k in a:
                compare(a[k], b[k], "%s[%r]" % (where, k))
        elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            if len(a) != len(b):
                fail("The length of the sequences mismatch: %d != %d" % (len(a), len(b)), where)
            for i, (x, y) in enumerate(zip(a, b)):
                compare(x, y, "%s[%d]" % (where, i))
        elif a is None or b is None or isinstance(a, str):
            if a is not b and a != b:
                fail("%r != %r" % (a, b), where)
        else:
            numbers, kinds = not isinstance(a, Tensor) and not isinstance(b, Tensor), (type(a), type(b))
            tensors(as_tensor(a), as_tensor(b), where, numbers, kinds)

    def tensors(a, b, where, numbers, kinds):
        what = "Scalars" if numbers else "Tensor-likes"
        if a.shape != b.shape:
            fail("The values for attribute 'shape' do not match: %s != %s." % (a.shape, b.shape), where)
        if check_dtype and not numbers and a.dtype is not b.dtype:
            fail("The values for attribute 'dtype' do not match: %s != %s." % (a.dtype, b.dtype), where)
        if a.device != b.device:
            if check_device and not numbers:
                fail("The values for attribute 'device' do not match: %s != %s." % (a.device, b.device), where)
            a, b = a.cpu(), b.cpu()
        dtype = promote_types(a.dtype, b.dtype)
        r, t = _TOLERANCE.get(dtype.name, (0.0, 0.0))
        r, t = r if rtol is None else rtol, t if atol is None else atol
        a, b = a.detach().to(dtype), b.detach().to(dtype)
        if check_stride and a.stride() != b.stride():
            fail("The values for attribute 'stride()' do not match: %s != %s." % (a.stride(), b.stride()), where)
        good = _C._operator("isclose")(a, b, rtol=r, atol=t, equal_nan=equal_nan)
        if bool(good.all()):
            return
        wrong, n = int((~good).sum()), good.numel()
        wide = _C.complex128 if dtype.is_complex else _C.float64
        distance = (a.to(wide) - b.to(wide)).abs()
        at = int(distance.reshape(-1).argmax())
        relative = (distance / b.to(wide).abs()).reshape(-1)
        text = "%s are not %s!\n\n" % (what, "close" if r or t else "equal")
        if numbers or a.ndim == 0:
            text += "Expected %s but got %s.\nAbsolute difference: %s%s\nRelative difference: %s%s" % (
                b.item(), a.item(), distance.item(), " (up to %s allowed)" % t if r or t else "", relative.item(), " (up to %s allowed)" % r if r or t else "")
        else:
            from ._legacy import unravel_index
            place = tuple(int(i) for i in unravel_index(as_tensor(at), tuple(a.shape)))
            place_r = tuple(int(i) for i in unravel_index(relative.argmax(), tuple(a.shape)))
            text += "Mismatched elements: %d / %d (%.1f%%)\nGreatest absolute difference: %s at index %s%s\nGreatest relative difference: %s at index %s%s" % (
                wrong, n, 100 * wrong / n, distance.reshape(-1)[at].item(), place, " (up to %s allowed)" % t if r or t else "",
                relative.max().item(), place_r, " (up to %s allowed)" % r if r or t else "")
        fail(text, where)
    compare(actual, expected, "")


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def make_tensor(*shape, dtype, device=None, low=None, high=None, requires_grad=False, noncontiguous=False, exclude_zero=False, memory_format=None):
    """Random numbers of a dtype, at least low and below high; -9 to 9 for numbers with a point, -9 to 10 for integers."""
    import ctsc
    shape = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    real = dtype.is_floating_point or dtype.is_complex
    low = (0 if dtype in (ctsc.bool, ctsc.uint8) else -9) if low is None else low
    high = (2 if dtype is ctsc.bool else 9 if real else 10) if high is None else high
    if low >= high:
        raise ValueError("make_tensor: `low` must be less than `high`, but got %s >= %s" % (low, high))
    sizes = shape[:-1] + (2 * shape[-1],) if noncontiguous and shape else shape
    if dtype.is_complex:
        kind = ctsc.float64 if dtype is ctsc.complex128 else ctsc.float32
        made = ctsc.complex(*(ctsc.empty(sizes, dtype=kind).uniform_(low, high) for _ in range(2)))
    elif real:
        made = ctsc.empty(sizes).uniform_(low, high).to(dtype)
    else:
        made = ctsc.randint(int(low), int(high), sizes).to(dtype)
    if exclude_zero:
        made = made.masked_fill(made == 0, 1)
    made = made[..., ::2] if noncontiguous and shape else made
    made = made if device is None and memory_format is None else made.to(device, memory_format=memory_format)
    return made.requires_grad_() if requires_grad else made
