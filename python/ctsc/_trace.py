# SPDX-License-Identifier: Apache-2.0
"""_trace.py - programs recorded while Python runs them: trace, jit, from_torch."""
import functools
import inspect
import sys
import warnings

from . import _C
from ._hooks import TracerWarning

Tensor = _C.Tensor


class TracingCheckError(RuntimeError):
    """A trace computes something else than the function."""


def _inputs(example_inputs):
    if isinstance(example_inputs, dict):
        return (), dict(example_inputs)
    if isinstance(example_inputs, (tuple, list)):
        return tuple(example_inputs), {}
    return (example_inputs,), {}


def _names(func, args, kwargs):
    """A name for each input, by the function's signature."""
    call = func.forward if _is_module(func) else func
    try:
        parameters = [p for p in inspect.signature(call).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters][:len(args)]
    return names + ["input_%d" % i for i in range(len(names) + 1, len(args) + 1)] + list(kwargs)


def _is_module(func):
    return hasattr(func, "named_parameters") and hasattr(func, "forward") and not isinstance(func, _C.ScriptModule)


def _copies(value):
    """The inputs as they are now: a program may write to them."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        made = [_copies(v) for v in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if isinstance(value, dict):
        return {k: _copies(v) for k, v in value.items()}
    return value


def _record(func, args, kwargs, outside=None):
    name = type(func).__name__ if _is_module(func) else getattr(func, "__name__", "Traced")
    recording = _C.Trace(name if name.isidentifier() else "Traced")
    recording._enter()
    try:
        given = [recording.input(n, v) for n, v in zip(_names(func, args, kwargs), args + tuple(kwargs.values()))]
        if _is_module(func):
            for n, p in func.named_parameters():
                recording.parameter(n, p)
            for n, b in func.named_buffers():
                recording.buffer(n, b)
        result = func(*given[:len(args)], **dict(zip(kwargs, given[len(args):])))
        if outside is not None:
            outside += recording.outside
        return recording.end(result)
    finally:
        recording._leave()


def _check(func, traced, args, kwargs, rtol, atol):
    want = func(*_copies(args), **_copies(kwargs))
    got = traced(*_copies(args), *_copies(tuple(kwargs.values())))
    why = _C._close(got, want, rtol, atol)
    if why:
        raise TracingCheckError("Tracing failed sanity checks!\nthe trace computes something else than the function: %s" % why)


def record(func, args, kwargs):
    """A ScriptModule of the operators that func calls, given copies of the arguments; a module's is in the same mode."""
    traced = _record(func, _copies(args), _copies(kwargs))
    if _is_module(func) and "training" in [n for n, _ in traced._names()]:
        traced.train(func.training)
    return traced


def trace(func, example_inputs=None, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True, _force_outplace=False, _module_class=None,
          _compilation_unit=None, example_kwarg_inputs=None, _store_inputs=True):
    """Runs func, a function or an nn.Module, once with the example inputs, and makes a ScriptModule of the operators it called. What the recording
    does not see (values that Python reads) is warned of; the result is compared with another run, and with runs for check_inputs. trace(matrix) is the sum of
    its diagonal."""
    if isinstance(func, Tensor) and example_inputs is None:
        return func.trace()
    if example_kwarg_inputs is not None:
        example_inputs = dict(example_kwarg_inputs)
    args, kwargs = _inputs(example_inputs)
    traced = record(func, args, kwargs)
    if check_trace:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TracerWarning)
            for sample in [example_inputs] + list(check_inputs or []):
                _check(func, traced, *_inputs(sample), check_tolerance, check_tolerance / 10)
    return traced


def _kind(v):
    if isinstance(v, Tensor):
        return v.dtype, tuple(v.shape), v.requires_grad
    if isinstance(v, (list, tuple)):
        return (type(v).__name__,) + tuple(_kind(x) for x in v)
    if isinstance(v, dict):
        return ("dict",) + tuple((k, _kind(x)) for k, x in v.items())
    return type(v), v


def _traceable(v):
    return isinstance(v, (Tensor, list, tuple, dict))


class _Jitted:
    """A function that is traced once per kind of arguments: dtypes and sizes of tensors, values of everything else. One that cannot be traced, or whose values
    decide what it computes, is called as it is; `reasons` tells why, by kind.

    Tensors that it finds elsewhere and that require gradients (parameters of a module) are constants of a trace: it is made anew when they have changed, and
    where gradients are enabled the function itself is called.
    """

    def __init__(self, func, must=False):
        self._func, self._must, self._traces, self.reasons = func, must, {}, {}
        functools.update_wrapper(self, func, updated=())
        if not hasattr(self, "__name__"): # a module
            self.__name__ = type(func).__name__

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._func, name)

    def _bind(self, args, kwargs):
        if not kwargs:
            return args
        bound = inspect.signature(self._func).bind(*args, **kwargs)
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def __call__(self, *args, **kwargs):
        if _C.Trace.is_tracing():
            return self._func(*args, **kwargs)
        args = self._bind(args, kwargs)
        key = tuple(_kind(a) for a in args)
        try:
            traced, outside, versions = self._traces.get(key, (None, (), ()))
        except TypeError: # a value that has no hash
            return self._func(*args)
        if key in self.reasons:
            return self._func(*args)
        if traced is None or (outside and not _C.is_grad_enabled() and [t._version for t in outside] != versions):
            try:
                traced, outside = self._trace(args)
            except Exception as e: # raised again below, if it is the function's
                if self._must:
                    raise
                self.reasons[key] = str(e).strip() or type(e).__name__
                return self._func(*args)
            self._traces[key] = traced, outside, [t._version for t in outside]
        if outside and _C.is_grad_enabled():
            return self._func(*args)
        return traced(*[a for a in args if _traceable(a)])

    def _trace(self, args):
        def program(*given):
            rest = iter(given)
            return self._func(*[next(rest) if _traceable(a) else a for a in args])
        program.__name__ = self.__name__
        outside = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TracerWarning)
            traced = _record(program, _copies(tuple(a for a in args if _traceable(a))), {}, outside)
        for w in caught:
            if issubclass(w.category, TracerWarning) and "might cause the trace to be incorrect" in str(w.message):
                raise TracingCheckError("%s:%d: %s" % (w.filename, w.lineno, str(w.message).split(". ")[0]))
            if not issubclass(w.category, TracerWarning):
                warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
        return traced, list({(t.data_ptr(), t.shape, t.stride()): t for t in outside}.values())

    @property
    def traces(self):
        """The ScriptModules made so far."""
        return [traced for traced, _, _ in self._traces.values()]


def _jitted_module(module, must):
    """A module that is called as _Jitted calls it: its parts, parameters and modes are the module's, which it is a module of, too."""
    from .nn import Module

    class OptimizedModule(Module):
        def __init__(self, module):
            super().__init__()
            self._orig_mod = module
            object.__setattr__(self, "_jitted", _Jitted(module, must))

        def forward(self, *args, **kwargs):
            return self._jitted(*args, **kwargs)

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.__dict__["_jitted"] if name in ("reasons", "traces") else self._modules["_orig_mod"], name)

    made = OptimizedModule(module)
    made.training = module.training
    return made


def jit(func, must=False):
    """Decorator: the function runs as a ScriptModule that is traced at the first call with arguments of a kind. What is made of a module is a module. must: what cannot be
    traced is an error."""
    if "ctsc.nn.modules.module" in sys.modules and isinstance(func, sys.modules["ctsc.nn.modules.module"].Module) and not isinstance(func, _C.ScriptModule):
        return _jitted_module(func, must)
    return _Jitted(func, must)


def from_torch(module, example_inputs=None):
    """A ScriptModule of a PyTorch module or function: scripted by PyTorch, or traced with example inputs. PyTorch is the caller's: who has such a module has
    imported it."""
    import io
    import sys
    torch = sys.modules.get("torch")
    if torch is None:
        raise RuntimeError("from_torch takes modules of PyTorch, which has not been imported")
    if not isinstance(module, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        if example_inputs is not None:
            args, kwargs = _inputs(example_inputs)
            args = tuple(torch.from_dlpack(a) if isinstance(a, Tensor) else a for a in args + tuple(kwargs.values()))
            module = torch.jit.trace(module, args)
        else:
            module = torch.jit.script(module)
    data = io.BytesIO()
    torch.jit.save(module, data)
    return _C._load(data.getvalue())
