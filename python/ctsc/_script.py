# SPDX-License-Identifier: Apache-2.0
"""_script.py - @ctsc.script: functions and classes compiled from their source.

Method. The compiler takes a file; so what the source mentions is gathered into one: the function or class itself, at the lines it has in its file, so that
messages tell the true places; other functions and classes it uses, likewise; and before them a line that binds every other name: modules, ctsc's own names
(torch's to the compiler), numbers and strings of globals and closures. An instance of a module class is told to the compiler as what it is made of (_instance.py).
"""
import ast
import builtins
import dataclasses
import enum
import functools
import inspect
import linecache
import math
import sys
import textwrap
import types
import typing
import warnings

from . import _C
from ._as_torch import is_ours
from ._types import device, layout, memory_format

Tensor = _C.Tensor


class ScriptFunction:
    """A compiled function. Its module is a ScriptModule whose forward it is."""

    def __init__(self, func, module):
        self._module = module
        functools.update_wrapper(self, func, updated=())

    def __call__(self, *args, **kwargs):
        return self._module(*args, **kwargs)

    def __reduce__(self):
        return self.__qualname__ # by name: whoever reads it has compiled it too

    name = property(lambda self: self.__name__)
    qualified_name = property(lambda self: "__torch__.%s.%s" % (self.__module__, self.__qualname__))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._module, name)

    def __repr__(self):
        return "<ctsc.ScriptFunction %s>" % self.__name__


class CompilationUnit:
    """torch.jit.CompilationUnit: functions of a text, which may call each other."""

    def __init__(self, lang=None, _frames_up=0):
        self._text, self._functions = "import torch; from torch import Tensor, device, dtype; from typing import *\n", {}
        if lang is not None:
            self.define(lang)

    def define(self, lang, rcb=None, _frames_up=0):
        text = textwrap.dedent(lang)
        names = [n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
        again = [n for n in names if n in self._functions]
        if again:
            raise RuntimeError("method '%s' already defined." % again[0])
        self._text += text + "\n"
        for name in names:
            self._functions[name] = made = ScriptFunction.__new__(ScriptFunction)
            made._module, made.__name__, made.__qualname__ = _C._compile(None, "<text>", self._text, name, None, False, 0, None), name, name

    def get_functions(self):
        return list(self._functions.values())

    def find_function(self, name):
        return self._functions.get(name)

    def __getattr__(self, name):
        found = self.__dict__.get("_functions", {}).get(name)
        if found is None:
            raise AttributeError("'CompilationUnit' has no attribute '%s'" % name)
        return found


class ScriptClass:
    """A decorated class of modules: called with constructor arguments, it gives a ScriptModule."""

    def __init__(self, cls):
        self._cls = cls
        functools.update_wrapper(self, cls, updated=())

    def __call__(self, *args, **kwargs):
        return _compile_instance(self._cls(*args, **kwargs))

    def __repr__(self):
        return "<ctsc.ScriptClass %s>" % self.__name__


class _Piece:
    """A function or a class of the program: its source, and the line it begins at."""

    def __init__(self, obj):
        self.obj, self.name = obj, obj.__name__
        try:
            lines, self.line = inspect.getsourcelines(obj)
        except (OSError, TypeError) as e:
            raise OSError("Can't get source for %r: ctsc.script needs it to compile (it was typed in a shell, or made by exec)" % obj) from e
        self.file = inspect.getsourcefile(obj) or "<source>"
        text = textwrap.dedent("".join(lines))
        try:
            node = ast.parse(text).body[0]
        except SyntaxError: # a lambda amid an expression
            node = None
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            raise RuntimeError("ctsc.script compiles functions that def makes, and classes, but not %r: its source is a part of another statement" % obj)
        self.node = node
        rows = text.split("\n")
        self.text = "\n".join(rows[node.lineno - 1:node.end_lineno])
        self.line += node.lineno - 1
        rpc = sys.modules.get("ctsc.distributed.rpc._script")
        text_of_calls = self.text if rpc is None else rpc.rewritten(self.text, self.resolve)
        if text_of_calls != self.text:
            self.text, self.node = text_of_calls, ast.parse(text_of_calls).body[0]
            self.node.decorator_list = node.decorator_list
        kept = [ast.get_source_segment(text, d) for d in node.decorator_list if self._means_something(d)]
        if kept:
            self.text = "\n".join("@" + d for d in kept) + "\n" + self.text
            self.line -= len(kept)

    def resolve(self, node):
        """What a name, or a name of a name, is outside; None: not known."""
        path = []
        while isinstance(node, ast.Attribute):
            path.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        v = getattr(builtins, node.id, None) if node.id == "staticmethod" else self.lookup(node.id)[1]
        for name in path:
            v = getattr(v, name, None)
        return v

    def _means_something(self, node):
        """Whether a decorator is one that the compiler knows."""
        v = self.resolve(node.func if isinstance(node, ast.Call) else node)
        return v in (staticmethod, dataclasses.dataclass) or getattr(v, "__module__", None) == "ctsc.jit"

    def names(self, instances=False):
        """Names that it may mean something of the outside by; instances: but for those of its constructor."""
        parts = [self.node]
        if instances:
            parts = self.node.bases + [n for n in self.node.body if not (isinstance(n, ast.FunctionDef) and n.name == "__init__")]
        return {n.id for p in parts for n in ast.walk(p) if isinstance(n, ast.Name)}.union(*[_names_in_strings(p) for p in parts])

    def means_as(self, other, instances):
        return all(self.lookup(n)[1] is other.lookup(n)[1] for n in self.names(instances))

    def lookup(self, name):
        f = self.obj
        if isinstance(f, types.FunctionType):
            if f.__closure__ and name in f.__code__.co_freevars:
                cell = f.__closure__[f.__code__.co_freevars.index(name)]
                try:
                    return True, cell.cell_contents
                except ValueError:
                    return False, None
            scope = f.__globals__
        else:
            scope = dict(vars(sys.modules.get(f.__module__, builtins)))
            for m in vars(f).values():
                if isinstance(m, types.FunctionType) and m.__closure__:
                    scope.update({n: c.cell_contents for n, c in zip(m.__code__.co_freevars, m.__closure__) if n != "__class__" and _filled(c)})
            if f.__name__ == name:
                return False, None
        return (True, scope[name]) if name in scope else (False, None)


def _filled(cell):
    try:
        cell.cell_contents
        return True
    except ValueError:
        return False


def _names_in_strings(node):
    """Of annotations that are strings."""
    found = set()
    for n in ast.walk(node):
        for a in [getattr(n, "annotation", None), getattr(n, "returns", None)]:
            if isinstance(a, ast.Constant) and isinstance(a.value, str):
                try:
                    found |= {x.id for x in ast.walk(ast.parse(a.value)) if isinstance(x, ast.Name)}
                except SyntaxError:
                    pass
    return found


def _literal(v):
    """A text that gives the value; None: there is none."""
    if isinstance(v, enum.Enum):
        return None
    if v is None or isinstance(v, (bool, int, str)):
        return repr(v) if type(v) in (bool, int, str, type(None)) else None
    if isinstance(v, float):
        return repr(v) if math.isfinite(v) else "float(%r)" % str(v)
    if isinstance(v, complex):
        return "complex(%r, %r)" % (v.real, v.imag)
    if isinstance(v, _C.dtype):
        return "torch.%s" % v.name
    if isinstance(v, (device, layout, memory_format)):
        return "torch.device(%r)" % str(v) if isinstance(v, device) else "torch." + str(v).rpartition(".")[2]
    if type(v) is Tensor and v.numel() <= 64 and v._device_index == -1 and not v.requires_grad and not v.dtype.is_complex and not v.dtype.name.startswith("q"):
        values = _literal(v.tolist())
        return None if values is None else "torch.tensor(%s, dtype=torch.%s).reshape(%s)" % (values, v.dtype.name, list(v.shape))
    if type(v) in (tuple, list):
        items = [_literal(x) for x in v]
        if None in items:
            return None
        return "(%s,)" % ", ".join(items) if isinstance(v, tuple) and items else "()" if isinstance(v, tuple) else "[%s]" % ", ".join(items)
    if type(v) is dict:
        items = [(_literal(k), _literal(x)) for k, x in v.items()]
        return None if any(None in i for i in items) else "{%s}" % ", ".join("%s: %s" % i for i in items)
    return None


def _torch_name(module):
    return "torch" + module[len("ctsc"):]


def _is_bare_tuple(v):
    """What collections.namedtuple makes: a class without a source."""
    return isinstance(v, type) and v.__bases__ == (tuple,) and hasattr(v, "_fields") and not getattr(v, "__annotations__", None)


_GENERICS = {list: "List", tuple: "Tuple", dict: "Dict", typing.Union: "Union", getattr(types, "UnionType", typing.Union): "Union"}


def _annotation(v):
    """A text that gives a type of typing's with its arguments; None: there is none."""
    if v is type(None):
        return "None"
    if v in (int, float, bool, str, complex):
        return v.__name__
    if v is Tensor:
        return "torch.Tensor"
    origin, arguments = typing.get_origin(v), [_annotation(a) for a in typing.get_args(v)]
    if origin not in _GENERICS or not arguments or None in arguments:
        return None
    return "_ctsc_typing.%s[%s]" % (_GENERICS[origin], ", ".join(arguments))


def _binding(name, v):
    """A statement that binds name to what v is to the compiler; None: there is none."""
    if _is_bare_tuple(v):
        defaults = [_literal(d) for d in v._field_defaults.values()]
        more = ", defaults=[%s]" % ", ".join(defaults) if defaults and None not in defaults else ""
        return "from collections import namedtuple as _ctsc_namedtuple; %s = _ctsc_namedtuple(%r, %r%s)" % (name, v.__name__, list(v._fields), more)
    if isinstance(v, types.ModuleType):
        module = v.__name__
        if module == "ctsc" or module.startswith("ctsc."):
            module = _torch_name(module)
        if "." in module:
            package, _, last = module.rpartition(".")
            return "from %s import %s as %s" % (package, last, name)
        return "import %s as %s" % (module, name)
    if isinstance(v, _C.Operator):
        return "from torch import %s as %s" % (v.__name__, name)
    if v is Tensor:
        return "from torch import Tensor as %s" % name
    if typing.get_args(v) and _annotation(v):
        return "import typing as _ctsc_typing; %s = %s" % (name, _annotation(v))
    module, own = getattr(v, "__module__", None), getattr(v, "__qualname__", getattr(v, "_name", None))
    if isinstance(module, str) and (module == "ctsc" or module.startswith("ctsc.") or is_ours(module)) and own and "." not in own:
        module = "torch.nn" if module.partition(".")[2].startswith("nn.modules") else "torch" if module.startswith("ctsc._") or module == "ctsc" else _torch_name(module)
        return "from %s import %s as %s" % (module, own, name)
    if module in ("torch", "torch.distributed.rpc") and own and "." not in own: # under that name (_as_torch.py)
        return "from %s import %s as %s" % (module, own, name)
    if module == "typing" and own:
        return "from typing import %s as %s" % (own, name)
    if hasattr(typing, name) and getattr(typing, name) is v:
        return "from typing import %s" % name
    if module in ("math", "collections", "enum", "functools", "itertools", "dataclasses", "warnings", "operator") and own:
        return "from %s import %s as %s" % (module, own, name)
    text = _literal(v)
    return None if text is None else "%s = %s" % (name, text)


class _Program:
    def __init__(self):
        self.pieces, self.bindings, self.aliases, self.by_id = [], {}, [], {}

    def add(self, obj, alias=None, instances=False):
        """instances: of a class whose objects are there already, so that nobody calls its constructor."""
        if id(obj) not in self.by_id:
            piece = _Piece(obj)
            same = [p for p in self.pieces if p.file == piece.file and p.line == piece.line and p.means_as(piece, instances)]
            if same: # made again by a function: another class, the same source
                self.by_id[id(obj)] = same[0]
                return
            self.by_id[id(obj)] = piece
            if any(p.name == piece.name and p is not piece for p in self.pieces):
                raise RuntimeError("two different things are called '%s' in what is compiled: %s" % (piece.name, piece.file))
            for base in getattr(obj, "__bases__", ()):
                if self._is_ours(base):
                    self.add(base, None, instances)
            for name in sorted(piece.names(instances)):
                found, v = piece.lookup(name)
                if found:
                    self.bind(name, v)
            self.pieces.append(piece)
        name = self.by_id[id(obj)].name
        if alias and alias != name:
            self.aliases.append("%s = %s" % (alias, name))

    @staticmethod
    def _is_ours(v):
        module = getattr(v, "__module__", "") or ""
        return (isinstance(v, types.FunctionType) or isinstance(v, type)) and not module.startswith("ctsc.") and not is_ours(module) and module not in (
            "builtins", "typing", "math", "enum", "collections", "dataclasses", "functools", "itertools", "warnings", "operator", "ctsc", "torch", "torch.distributed.rpc", "abc")

    def bind(self, name, v):
        if isinstance(v, (ScriptFunction, ScriptClass)):
            v = v.__wrapped__
        if self._is_ours(v) and not _is_bare_tuple(v):
            return self.add(v, name)
        if getattr(builtins, name, None) is v:
            return
        text = _binding(name, v)
        if text is None:
            return # what is used of it, the compiler tells
        if self.bindings.get(name, text) != text:
            raise RuntimeError("'%s' means different things in the functions that are compiled together" % name)
        self.bindings[name] = text

    def text(self, more=()):
        """(source, file): pieces of the first one's file at their lines, others after them."""
        file = self.pieces[-1].file if self.pieces else "<instance>"
        if any(self.by_id[id(base)].file != file for p in self.pieces if p.file == file for base in getattr(p.obj, "__bases__", ()) if id(base) in self.by_id):
            # classes follow their bases, which are in another file: nothing can stand where it stood
            head = "; ".join(["import torch"] + list(self.bindings.values()))
            return "\n".join([head] + [p.text for p in self.pieces] + self.aliases + list(more)) + "\n", "<program>"
        head = "; ".join(["import torch"] + list(self.bindings.values()))
        lines, used = [head], 1
        for p in sorted((p for p in self.pieces if p.file == file), key=lambda p: p.line):
            lines += [""] * max(0, p.line - 1 - used)
            lines.append(p.text)
            used = max(used, p.line - 1) + p.text.count("\n") + 1
        others = [p.text for p in self.pieces if p.file != file]
        return "\n".join(lines + others + self.aliases + list(more)) + "\n", file


def _compile(program, entry, more=(), training=False, seed=0, given=None):
    text, file = program.text(more)
    linecache.checkcache(file)
    return _C._compile(None, file.rpartition("/")[2] or file, text, entry, None, training, seed, given)


def _compile_instance(instance):
    from ._instance import Builder
    program = _Program()
    builder = Builder(program, _literal, _binding)
    text = builder.text(instance)
    if not builder.archives:
        return _compile(program, "_ctsc_build", [text], True, 0, builder.globals(None))
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        return _compile(program, "_ctsc_build", [text], True, 0, builder.globals(folder))


def _warn_of_hooks(obj):
    for name, m in obj.named_modules() if hasattr(obj, "named_modules") else ():
        if getattr(m, "_forward_hooks", None) or getattr(m, "_forward_pre_hooks", None):
            warnings.warn("ctsc.script: hooks of %s are not a part of the program" % (name or type(m).__name__), stacklevel=3)


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Compiles a function, a module, or a class of modules, whose calls then make ScriptModules. As torch.jit.script, with ctsc as torch."""
    if isinstance(obj, (_C.ScriptModule, ScriptFunction, ScriptClass)):
        return obj
    if isinstance(obj, types.MethodType):
        obj = obj.__func__
    if isinstance(obj, types.FunctionType):
        program = _Program()
        program.add(obj)
        return ScriptFunction(obj, _compile(program, obj.__name__))
    if isinstance(obj, type):
        return ScriptClass(obj) if hasattr(obj, "forward") else obj
    if "_quantized_program" in getattr(obj, "__dict__", ()):
        return obj.__dict__["_quantized_program"]
    _warn_of_hooks(obj)
    if not hasattr(obj, "state_dict") or not hasattr(type(obj), "forward"):
        raise TypeError("ctsc.script takes functions, classes, and instances of ctsc.nn.Module, not %s" % type(obj).__name__)
    return _compile_instance(obj)


def compile(path_or_text=None, entry=None, *, training=False, seed=0, model=None, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, name=None,
            disable=False, recompile_limit=None, isolate_recompiles=False, dynamic_shapes=None):
    """Compiles a Python file (or its text) as the command `ctsc compile` does. A function or a module: as ctsc.jit, for programs that call torch.compile; without one it is a
    decorator. What torch.compile is told of how to compile changes nothing, but that disable leaves the function as it is, and that with fullgraph a function that cannot be
    traced is an error."""
    import os
    path_or_text = model if path_or_text is None else path_or_text
    if path_or_text is None:
        return lambda f: compile(f, fullgraph=fullgraph, backend=backend, mode=mode, disable=disable)
    if callable(backend):
        raise NotImplementedError("compile: functions as backends are given graphs of torch.fx, which ctsc does not make")
    if mode not in (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"):
        raise RuntimeError("Unrecognized mode=%s, should be one of: default, reduce-overhead, max-autotune, max-autotune-no-cudagraphs" % mode)
    if callable(path_or_text):
        if disable:
            return path_or_text
        from ._trace import jit
        return jit(path_or_text, fullgraph)
    if isinstance(path_or_text, os.PathLike) or "\n" not in path_or_text:
        return _C._compile(os.fspath(path_or_text), None, None, entry, None, training, seed)
    return _C._compile(None, "<text>", path_or_text, entry, None, training, seed)
