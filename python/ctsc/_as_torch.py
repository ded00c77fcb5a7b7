# SPDX-License-Identifier: Apache-2.0
"""_as_torch.py - ctsc under PyTorch's name: `import torch` and its submodules find those of ctsc. python -m ctsc does that."""
import importlib
import importlib.abc
import importlib.machinery
import sys

# The PyTorch whose behaviour ctsc has. Libraries compare it, of `torch.__version__` or of the distribution "torch", with what they need.
VERSION = "2.15.0"

# Classes that programs print, themselves or their objects: "torch.float32", "<class 'torch.Tensor'>".
PRINTED = ("dtype", "layout", "memory_format", "qscheme", "device", "Size", "Tensor")


def _module(name):
    """Also of modules that others put into sys.modules when they are imported."""
    parent = name.rpartition(".")[0]
    if parent:
        _module(parent)
    else:
        importlib.import_module(name)
    if name in sys.modules:
        return sys.modules[name]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as e:
        from ._refused import tree
        refused = tree("torch" + name[len("ctsc"):]) if e.name and (e.name == name or name.startswith(e.name + ".")) else None
        if refused is None:
            raise
        return refused


class _Installed:
    """Among what a new interpreter is told: reading it has torch found as here, before it imports the program."""

    def __reduce__(self):
        return install, ()


def is_ours(module):
    """Is this the name of a module whose classes are ctsc's layers, under PyTorch's name?"""
    return module.startswith("torch.nn.") and sys.modules.get("torch") is sys.modules[__package__]


def version():
    """2.15.0+ctsc0.2.0"""
    from . import _C
    return "%s+ctsc%s" % (VERSION, _C.__version__)


def _tell_processes():
    """Processes that multiprocessing does not fork (spawn, forkserver) begin as interpreters that know nothing of this one's torch."""
    from multiprocessing import spawn
    plain = spawn.get_preparation_data
    if not hasattr(plain, "__wrapped__"):
        def told(*args):
            return dict(plain(*args), torch=_Installed())
        told.__wrapped__, spawn.get_preparation_data = plain, told


_LAYERS = tuple(__package__ + ".nn." + name for name in ("modules", "parameter"))


def _name_layers(module):
    """Layers are printed as PyTorch's: <class 'torch.nn.modules.linear.Linear'>. typing looks for their module by that name."""
    sys.modules.setdefault("torch" + module.__name__[len(__package__):], module)
    for kind in [*vars(module).values()]:
        if isinstance(kind, type) and kind.__module__ == module.__name__:
            kind.__module__ = "torch" + kind.__module__[len(__package__):]


class _NamedLayers(importlib.abc.Loader):
    """Loads modules of layers."""

    def __init__(self, plain):
        self.plain = plain

    def create_module(self, spec):
        return self.plain.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.plain
        self.plain.exec_module(module)
        _name_layers(module)


class TorchIsCtsc(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name in ("multiprocessing.popen_spawn_posix", "multiprocessing.popen_forkserver"):
            _tell_processes()
        if name.startswith(_LAYERS):
            spec = importlib.machinery.PathFinder.find_spec(name, path)
            if spec and spec.loader:
                spec.loader = _NamedLayers(spec.loader)
            return spec
        if name != "torch" and not name.startswith("torch."):
            return None
        if name != "torch":
            try:
                _module("ctsc" + name[len("torch"):])
            except ModuleNotFoundError as e:
                if e.name and e.name.startswith("ctsc"):
                    raise ModuleNotFoundError("No module named '%s' (ctsc takes torch's place here, and has no such module)" % name, name=name) from None
                raise
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def find_distributions(self, context=None):
        """What importlib.metadata.version("torch") finds."""
        from importlib import metadata

        class OfTorch(metadata.Distribution):
            def read_text(self, filename):
                return "Metadata-Version: 2.1\nName: torch\nVersion: %s\n" % version() if filename in ("METADATA", "PKG-INFO") else None

            def locate_file(self, path):
                return path
        return iter([OfTorch()] if context is None or context.name in (None, "torch") else [])

    def create_module(self, spec):
        module = _module("ctsc" + spec.name[len("torch"):])
        self.kept = {k: module.__dict__.get(k) for k in ("__spec__", "__loader__", "__package__", "__path__")}
        return module

    def exec_module(self, module):
        for k, v in self.kept.items():
            if v is None:
                if k != "__path__": # what has modules of its own is a package
                    module.__dict__.pop(k, None)
            else:
                module.__dict__[k] = v


def _name_errors():
    """What a program shows of an exception's class is what PyTorch's has."""
    from . import _C
    from ._errors import LinAlgError, NotFoundError
    named = {_C.Error: ("builtins", "RuntimeError"), _C.LimitError: ("builtins", "RuntimeError"), _C.FileError: ("builtins", "RuntimeError"),
             _C.EnvironmentLacks: ("builtins", "RuntimeError"), _C.UnsupportedError: ("builtins", "NotImplementedError"), NotFoundError: ("builtins", "FileNotFoundError"),
             _C.ScriptError: ("torch.jit", "Error"), LinAlgError: ("torch._C", "_LinAlgError")}
    for kind, (kind.__module__, kind.__name__) in named.items():
        kind.__qualname__ = kind.__name__
    plain = {_C.Error: RuntimeError, _C.LimitError: RuntimeError, _C.FileError: RuntimeError, _C.EnvironmentLacks: RuntimeError, _C.UnsupportedError: NotImplementedError,
             NotFoundError: FileNotFoundError}
    # pickles find classes by these names
    _C.Error.__reduce__ = lambda self: (plain.get(type(self), RuntimeError), self.args)


def install():
    """What imports torch from now on gets ctsc. Refused where torch has been imported already."""
    if "torch" in sys.modules and sys.modules["torch"] is not sys.modules[__package__]:
        raise RuntimeError("torch has been imported already")
    if not any(isinstance(f, TorchIsCtsc) for f in sys.meta_path):
        sys.meta_path.insert(0, TorchIsCtsc())
        package = importlib.import_module(__package__)
        for name in ("", ".version", ".torch_version"):
            module = importlib.import_module(__package__ + name)
            module.__version__ = importlib.import_module(__package__ + ".torch_version").TorchVersion(version())
        for kind in PRINTED:
            cls = getattr(package, kind)
            cls.__module__, cls.__name__ = "torch", kind # without the latter messages say ctsc.Tensor
        _name_errors()
        for name, module in [*sys.modules.items()]:
            if name.startswith(_LAYERS):
                _name_layers(module)
        package.__name__, package.torch = "torch", package # `torch.torch.Tensor` is seen in programs
        if "multiprocessing.spawn" in sys.modules:
            _tell_processes()
