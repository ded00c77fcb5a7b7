# SPDX-License-Identifier: Apache-2.0
"""_tensor_str.py - tensors as text, as PyTorch prints them.

All numbers of a tensor (of what is shown of it) have one format: integers as they are; floats that are all whole with a point at the end; else four digits, in
scientific notation where the largest is 1000 times the smallest and more, or beyond 1e8, or the smallest below 1e-4.
"""
import contextlib
import math

from . import _C

Tensor = _C.Tensor



class _Options(dict):
    __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__


_options = PRINT_OPTS = _Options(precision=4, threshold=1000, edgeitems=3, linewidth=80, sci_mode=None)


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    profiles = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}
    if profile is not None:
        _options.update(zip(("precision", "threshold", "edgeitems", "linewidth"), profiles[profile]))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update({k: v for k, v in given.items() if v is not None})
    _options["sci_mode"] = sci_mode


def get_printoptions():
    """What set_printoptions has set, by name."""
    return dict(_options)


@contextlib.contextmanager
def printoptions(**kwargs):
    """A block in which tensors are printed otherwise."""
    before = dict(_options)
    try:
        set_printoptions(**kwargs)
        yield
    finally:
        _options.update(before)


class _Formatter:
    def __init__(self, values, floating):
        self.floating, self.int_mode, self.sci_mode, self.width = floating, True, False, 1
        if not floating:
            self.width = max([1] + [len(str(v)) for v in values])
            return
        finite = [abs(v) for v in values if math.isfinite(v) and v != 0]
        if not finite:
            return
        low, high = min(finite), max(finite)
        self.int_mode = all(v == math.ceil(v) for v in finite)
        if self.int_mode:
            self.sci_mode = high / low > 1000 or high > 1e8
        else:
            self.sci_mode = high / low > 1000 or high > 1e8 or low < 1e-4
        if _options["sci_mode"] is not None:
            self.sci_mode = _options["sci_mode"]
        self.width = max(len(self.format(v).strip()) for v in values if math.isfinite(v) and v != 0)

    def format(self, v):
        if not self.floating:
            return str(v).rjust(self.width)
        if self.sci_mode:
            text = "%.*e" % (_options["precision"], v)
        elif self.int_mode:
            text = "%.0f" % v
            if math.isfinite(v):
                text += "."
        else:
            text = "%.*f" % (_options["precision"], v)
        return text.rjust(self.width)


class _ComplexFormatter:
    def __init__(self, values):
        self.real = _Formatter([v.real for v in values], True)
        self.imag = _Formatter([abs(v.imag) if not math.isnan(v.imag) else v.imag for v in values], True)
        self.width = self.real.width + self.imag.width + 2

    def format(self, v):
        sign = "-" if math.copysign(1, v.imag) < 0 else "+"
        return self.real.format(v.real) + sign + self.imag.format(abs(v.imag)).lstrip() + "j"


def _shown(t, edge):
    """The elements that are printed of a large tensor."""
    if t.ndim == 0:
        return [t.tolist()]
    if edge and t.size(0) > 2 * edge:
        parts = [t[i] for i in range(edge)] + [t[i] for i in range(t.size(0) - edge, t.size(0))]
    elif edge and t.ndim > 1:
        parts = [t[i] for i in range(t.size(0))]
    else:
        return _flat(t.tolist())
    return [v for part in parts for v in _shown(part, edge)]


def _flat(v):
    if not isinstance(v, list):
        return [v]
    return [x for item in v for x in _flat(item)]


def _vector(t, indent, edge, f):
    width = f.width + 2
    per_line = max(1, int(math.floor((_options["linewidth"] - indent) / width)))
    n = t.size(0)
    if edge and n > 2 * edge:
        words = [f.format(v) for v in t[:edge].tolist()] + [" ..."] + [f.format(v) for v in t[-edge:].tolist()]
    else:
        words = [f.format(v) for v in t.tolist()]
    lines = [words[i:i + per_line] for i in range(0, len(words), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(", ".join(line) for line in lines) + "]"


def _body(t, indent, edge, f):
    if t.ndim == 0:
        return f.format(t.tolist())
    if t.ndim == 1:
        return _vector(t, indent, edge, f)
    n = t.size(0)
    if edge and n > 2 * edge:
        parts = [_body(t[i], indent + 1, edge, f) for i in range(edge)] + ["..."] + [_body(t[i], indent + 1, edge, f) for i in range(n - edge, n)]
    else:
        parts = [_body(t[i], indent + 1, edge, f) for i in range(n)]
    return "[" + ("," + "\n" * (t.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _default_dtypes():
    """Those that are not told: the default one, and complex numbers of such."""
    if not _C._intercepts():
        return _C.float32, _C.complex64
    from ._intercept import get_default_dtype
    d = get_default_dtype()
    return d, _C.complex128 if d is _C.float64 else _C.complex64


def _contents(t, indent):
    """Elements as they are printed, without what is said of them."""
    if t.numel() == 0:
        return "[]"
    edge = _options["edgeitems"] if t.numel() > _options["threshold"] else 0
    values = _shown(t, edge)
    return _body(t, indent, edge, _ComplexFormatter(values) if t.dtype.is_complex else _Formatter(values, t.dtype.is_floating_point))


def _tensor_str(self, indent):
    return _contents(self, indent)


def _noted(text, last, notes, indent, newline=False):
    """text, whose last line has `last` characters, and notes after it, or in lines of their own."""
    for note in notes:
        if newline or last + len(note) + 2 > _options["linewidth"]:
            text += ",\n" + " " * indent + note
            last, newline = indent + len(note), False
        else:
            text += ", " + note
            last += len(note) + 2
    return text + ")"


def sparse_str(t, parts, newline):
    """parts: (name, tensor) of a sparse tensor; newline: what is said of it begins a line."""
    indent, texts = 7, []
    for name, part in parts:
        part = part.detach().cpu()
        contents = _contents(part, indent + len(name) + 8)
        texts.append("%s=tensor(%s%s)" % (name, contents, ", size=%s" % (tuple(part.shape),) if part.numel() == 0 else ""))
    body = "tensor(" + (",\n" + " " * indent).join(texts)
    notes = (["device='%s'" % t.device] if t.is_cuda else []) + ["size=%s" % (tuple(int(k) for k in t.shape),), "nnz=%d" % t._nnz()]
    if t.dtype not in (_C.int64, _C.bool) and t.dtype not in _default_dtypes():
        notes.append("dtype=%s" % t.dtype)
    notes.append("layout=torch.%s" % str(t.layout).rpartition(".")[2])
    if t.grad_fn is not None:
        notes.append("grad_fn=<%s>" % t.grad_fn.name())
    elif t.requires_grad:
        notes.append("requires_grad=True")
    return _noted(body, len(body) - body.rfind("\n") + 1, notes, indent, newline)


def tensor_str(t):
    from ._types import device
    name = type(t).__name__ if type(t) is not Tensor and not type(t).__module__.endswith(".nn.parameter") else "tensor"
    prefix = "Parameter containing:\ntensor(" if type(t).__name__ == "Parameter" else name + "("
    indent, notes, given = len(name) + 1, [], t
    t = t.detach()
    here = t if t._device_index < 0 else t.cpu()
    if t.is_meta:
        notes += ["device='meta'", "size=%s" % (tuple(t.shape),)]
    elif t._device_index >= 0:
        notes.append("device='%s'" % device("cuda", t._device_index))
    default = t.dtype in (_C.int64, _C.bool) or t.dtype in _default_dtypes()
    if t.dtype.name.startswith("q"):
        return "%s..., size=%s, dtype=%s, %s)" % (prefix, tuple(t.shape), t.dtype, "quantized")
    tracing = _C.Trace.is_tracing()
    if tracing:
        return "%s..., size=%s, dtype=%s)" % (prefix, tuple(int(n) for n in t.shape), t.dtype)
    if t.is_meta:
        body = "..."
        if t.dtype not in _default_dtypes():
            notes.append("dtype=%s" % t.dtype)
    elif t.numel() == 0:
        if t.ndim != 1:
            notes.append("size=%s" % (tuple(t.shape),))
        if t.dtype is not _default_dtypes()[0]:
            notes.append("dtype=%s" % t.dtype)
        body = "[]"
    else:
        if not default:
            notes.append("dtype=%s" % t.dtype)
        body = _contents(here, indent)
    made_by = given.grad_fn
    if made_by is not None:
        notes.append("grad_fn=<%s>" % made_by.name())
    elif given.requires_grad:
        notes.append("requires_grad=True")
    if given.has_names():
        notes.append("names=%s" % (given.names,))
    return _noted(prefix + body, len(body) - body.rfind("\n") + 1 + (0 if "\n" in body else indent), notes, indent)
