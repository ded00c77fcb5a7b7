# SPDX-License-Identifier: Apache-2.0
"""_module.py - methods of ScriptModule beside calls, loading, limits."""
import functools
import os

from . import _C, _module_part
from ._types import parse_to

ScriptModule = _C.ScriptModule


def _method(f):
    f.__qualname__ = "ScriptModule." + f.__name__
    setattr(ScriptModule, f.__name__, f)
    return f


def _not_found(path):
    """A FileError that is what Python raises as well."""
    from ._errors import NotFoundError
    message = "cannot open %s: No such file or directory" % path
    e = NotFoundError(message, message)
    e.filename, e.status = path, 3
    return e


def load(f, map_location=None):
    """A module: f is a path, the archive's bytes, or an open file."""
    if isinstance(f, (bytes, bytearray, memoryview)):
        m = _C._load(bytes(f))
    elif isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise _not_found(os.fsdecode(f))
        if os.fsdecode(f).endswith(".py"):
            from ._C import FileError
            raise FileError("%s is Python source: ctsc.compile(%r) compiles it" % ((os.fsdecode(f),) * 2))
        m = _C._load(os.fsdecode(f))
    elif hasattr(f, "read"):
        m = _C._load(f.read())
    else:
        raise TypeError("load() takes a path, the bytes of a file, or an open file, not %s" % type(f).__name__)
    return m if map_location is None else m.to(map_location)


def from_bytes(read, data):
    """What read(path) makes of a file with these bytes."""
    import tempfile
    with tempfile.NamedTemporaryFile() as f:
        f.write(data)
        f.flush()
        return read(f.name)


def through_file(write):
    """The bytes of what write(path) writes."""
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "archive")
        write(path)
        with open(path, "rb") as f:
            return f.read()


def extra_records(f, write=None):
    """The archive's records of extra files, by name. write: what is to be added."""
    import zipfile
    with zipfile.ZipFile(f, "r" if write is None else "a") as z:
        names = z.namelist()
        root = names[0].split("/")[0] if names else "archive"
        if write is None:
            return {n[len(root) + 7:]: z.read(n) for n in names if n.startswith(root + "/extra/")}
        for name, data in write.items():
            z.writestr("%s/extra/%s" % (root, name), data)


def save_with(save, f, extra):
    """save(f), an archive, with extra files in it."""
    import io
    if not hasattr(f, "write"):
        save(f)
        return extra_records(f, extra)
    data = io.BytesIO()
    save(data)
    data.seek(0)
    extra_records(data, extra)
    f.write(data.getvalue())


@_method
def save(self, f, _extra_files=None):
    """As torch.jit.save: f is a path or an open file."""
    if _extra_files:
        return save_with(self.save, f, _extra_files)
    if isinstance(f, (str, os.PathLike)):
        self._save(os.fsdecode(f))
    else:
        f.write(through_file(self._save))


def save_to_bytes(self):
    return through_file(self._save)


ScriptModule.save_to_bytes = save_to_bytes


@_method
def __reduce__(self):
    return load, (self.save_to_bytes(),)


@_method
def __copy__(self):
    return load(self.save_to_bytes())


@_method
def __deepcopy__(self, memo):
    made = load(self.save_to_bytes())
    if self._records:
        made._record(True)
    return made


def _tree(self, prefix=""):
    for name, is_module in self._names():
        if is_module:
            yield prefix + name, getattr(self, name)


@_method
def named_children(self):
    return iter(list(_tree(self)))


@_method
def children(self):
    return iter([m for _, m in _tree(self)])


@_method
def modules(self):
    return (m for _, m in self.named_modules())


@_method
def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
    seen = set()
    for name, v, is_parameter, _ in self._attributes():
        if is_parameter and isinstance(v, _C.Tensor) and (recurse or "." not in name):
            key = (v.data_ptr(), v.shape, v.stride())
            if remove_duplicate and v.numel() and key in seen:
                continue
            seen.add(key)
            yield prefix + ("." if prefix else "") + name, v


@_method
def parameters(self, recurse=True):
    return (v for _, v in self.named_parameters("", recurse))


@_method
def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
    seen = set()
    for name, v, _, is_buffer in self._attributes():
        if is_buffer and isinstance(v, _C.Tensor) and (recurse or "." not in name):
            key = v.data_ptr(), v.shape, v.stride()
            if remove_duplicate and v.numel() and key in seen:
                continue
            seen.add(key)
            yield prefix + ("." if prefix else "") + name, v


@_method
def buffers(self, recurse=True):
    return (v for _, v in self.named_buffers("", recurse))


@_method
def load_state_dict(self, state, strict=True):
    """Copies tensors into the module's."""
    own = self.state_dict()
    missing, unexpected = [k for k in own if k not in state], [k for k in state if k not in own]
    wrong = ["size mismatch for %s: copying a param with shape %s from checkpoint, the shape in current model is %s." % (k, v.shape, own[k].shape)
             for k, v in state.items() if k in own and tuple(v.shape) != tuple(own[k].shape)]
    if strict and (missing or unexpected) or wrong:
        lines = (["Missing key(s) in state_dict: %s." % ", ".join('"%s"' % k for k in missing)] if strict and missing else []) + \
            (["Unexpected key(s) in state_dict: %s." % ", ".join('"%s"' % k for k in unexpected)] if strict and unexpected else []) + wrong
        raise RuntimeError("Error(s) in loading state_dict for %s:\n\t%s" % (self.original_name, "\n\t".join(lines)))
    given = {k: v.detach().to(own[k].dtype) for k, v in state.items() if k in own}
    self._load_state(dict(own, **given))
    return missing, unexpected


@_method
def train(self, mode=True):
    """mode True: calls are recorded from now on, as after requires_grad_()."""
    self._train(mode)
    return self


@_method
def eval(self):
    return self.train(False)


@_method
def to(self, *args, **kwargs):
    """Moves the module ("cpu", "cuda", "cuda:1"), makes its floating-point tensors others of a dtype, or both. How weights lie in memory is up to the kernels."""
    device, dtype, _, copy, _ = parse_to(args, **kwargs)
    if copy:
        raise RuntimeError(".to() does not accept copy argument")
    if dtype is not None:
        _cast(self, dtype)
    if device is not None:
        self._to(str(device))
    return self


def _cast(self, dtype):
    if not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError("ScriptModule.to only accepts floating point or complex dtypes, but got desired dtype=%s" % dtype)
    done = {}
    for path, v, _, _ in self._attributes():
        if not isinstance(v, _C.Tensor) or not (v.dtype.is_floating_point or v.dtype.is_complex) or v.dtype is dtype:
            continue
        key = v.data_ptr(), v.shape, v.stride() # what was shared stays shared
        if key not in done or not v.numel():
            done[key] = v.detach().to(dtype)
            done[key].requires_grad = v.requires_grad
        *parts, name = path.split(".")
        setattr(functools.reduce(getattr, parts, self), name, done[key])


for _dtype in _C.dtypes:
    if _dtype._method and _dtype.is_floating_point:
        setattr(ScriptModule, _dtype._method, lambda self, dtype=_dtype: self.to(dtype))


@_method
def cuda(self, device=None):
    return self.to("cuda" if device is None else "cuda:%d" % device if isinstance(device, int) else device)


@_method
def cpu(self):
    return self.to("cpu")


@_method
def requires_grad_(self, requires_grad=True):
    """Of all parameters. True: calls are recorded from now on, and run as written, with weights that may change at any time. False: they run as optimised
    code again, with the weights as they are now."""
    for p in self.parameters():
        p.requires_grad = requires_grad
    self._record(requires_grad)
    return self


@_method
def zero_grad(self, set_to_none=True):
    for p in self.parameters():
        if set_to_none:
            p.grad = None
        elif p.grad is not None:
            p.grad.detach().zero_()


@_method
def freeze(self, fold_weights=False):
    """As torch.jit.freeze: what forward uses becomes constants. The module itself is frozen, and returned."""
    self._freeze(fold_weights)
    return self


@_method
def quantize(self, examples=(), method="static", *, observer="minmax", per_tensor=False, symmetric=False, reduce_range=False, for_onnx=False, keep_float=(), max_error=0.0,
             timed_calls=0):
    """Puts forward on eight bits or fewer, as `ctsc quantize` does (docs/quantize.md): the module is frozen and changed. examples: tuples of arguments. Returns a dict of what
    that costs and saves; its "layers" have a dict each."""
    if isinstance(keep_float, str):
        raise TypeError("quantize: keep_float is a list of patterns")
    given = tuple(e if isinstance(e, tuple) else (e,) for e in examples)
    return self._quantize(given, method, observer, per_tensor, symmetric, reduce_range, for_onnx, tuple(keep_float), float(max_error), timed_calls)


@_method
def set_opt(self, level):
    """0: as written; 1: graphs are optimised; 2, the default: and fused into native kernels; 3: by the first call."""
    self._set_opt(level)
    return self


@_method
def set_precision(self, name):
    """Of layers with constant weights: "float32", as written, the default; "bf16"; "int8w"; "int4w"; "auto", whatever is fastest here, or "auto:ERROR". See docs/precision.md."""
    self._set_precision(name)
    return self


@_method
def graph_for(self, *args, method="forward", kernels=False, assembly=False, dot=False):
    """The graph as it runs for arguments like these: optimised, with the types seen, and its fusion groups."""
    text = self._graph_for(method, (4 if kernels else 0) | (8 if assembly else 0) | (16 if dot else 0), args)
    return text if dot else _graph(text)


@_method
def signature(self, method="forward"):
    """[(name, type, default or ...)] of the arguments, and of the results."""
    return self._signature(method)


@_method
def operators(self):
    """[(key, supported, function, file, line)] of every call of an operator."""
    return self._operators()


@_method
def __repr__(self):
    lines = ["%s: %s" % (name, repr(m).replace("\n", "\n  ")) for name, m in _tree(self)]
    name = "original_name=%s" % self.original_name.rpartition(".")[2]
    return "ScriptModule(\n  %s\n  %s\n)" % (name, "\n  ".join("(%s" % s.replace(":", "):", 1) for s in lines)) if lines else "ScriptModule(%s)" % name


@_method
def __dir__(self):
    return sorted(set(object.__dir__(self)) | {n for n, _ in self._names()} | set(self._methods))


@_method
def _repr_html_(self):
    """For notebooks: the module tree, its parameters and the code."""
    import html
    rows = "".join("<tr><td>%s</td><td>%s</td><td>%s</td></tr>" % (html.escape(k), tuple(v.shape), v.dtype) for k, v in self.state_dict().items())
    code = html.escape(self.code) if "forward" in self._methods else ""
    return ("<b>%s</b><details><summary>code</summary><pre>%s</pre></details><details><summary>parameters and buffers</summary><table>%s</table></details>"
            % (html.escape(self.original_name), code, rows))


def _graph(text):
    from ._graph import Graph
    return Graph(text)


_qualified = ScriptModule.original_name
ScriptModule.original_name = property(lambda self: _qualified.__get__(self).rpartition(".")[2])
ScriptModule.graph = property(lambda self: _graph(self._text("graph", "forward")))
ScriptModule.inlined_graph = property(lambda self: _graph(self._text("inlined_graph", "forward")))
ScriptModule.code = property(lambda self: self._text("code", "forward"))


class limits:
    """Calls of modules and backward passes within the block that take more raise LimitError; 0: no limit. steps: instructions of the interpreter."""

    def __init__(self, *, steps=0, seconds=0, bytes=0):
        self._own, self._outer = (int(steps), int(seconds * 1e6), int(bytes)), []

    def __enter__(self):
        self._outer.append(_C._set_limits(*self._own))
        return self

    def __exit__(self, *exception):
        _C._set_limits(*self._outer.pop())


class profiler:
    """Collects what calls within the block do: by operator and kernel, by source line, by method; with timeline=N, when.

        with ctsc.profiler() as p: m(x)
        print(p.table())
    """

    def __init__(self, timeline=0):
        self._profiler = _C.Profiler(timeline)

    def __enter__(self):
        self._profiler._enter()
        return self

    def __exit__(self, *exception):
        self._profiler._leave()

    @property
    def results(self):
        """{"calls", "total_us", "operators": [...], "lines": [...], "methods": [...]}"""
        import json
        return json.loads(self._profiler._text("json"))

    def reset(self):
        self._profiler.reset()

    def export_chrome_trace(self, path):
        with open(path, "w", encoding="utf-8") as f:
            f.write(self._profiler._text("trace"))

    def table(self, by="operators", rows=20):
        lines = ["%-48s %10s %12s %8s" % (by, "count", "self us", "share")]
        total = self.results["total_us"] or 1
        for e in self.results[by][:rows]:
            name = "%s:%s" % (e["file"], e["line"]) if by == "lines" else e["name"]
            lines.append("%-48s %10d %12.1f %7.1f%%" % (name[-48:], e["count"], e["self_us"], 100 * e["self_us"] / total))
        return "\n".join(lines)

    def _repr_html_(self):
        import html
        return "<pre>%s</pre>" % html.escape(self.table())


class mapped:
    """A program by its file: pickled as the path, and loaded, its weights mapped, where it is first used. Processes of a machine share the file's memory."""

    _loaded = {}

    def __init__(self, path):
        self.path = os.path.abspath(os.fsdecode(path))

    def _module(self):
        s = os.stat(self.path)
        key = (self.path, s.st_mtime_ns, s.st_size)
        if key not in mapped._loaded:
            mapped._loaded[key] = load(self.path)
        return mapped._loaded[key]

    def __call__(self, *args, **kwargs):
        return self._module()(*args, **kwargs)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._module(), name)

    def __reduce__(self):
        return mapped, (self.path,)

    def __repr__(self):
        return "ctsc.mapped(%r)" % self.path
