# SPDX-License-Identifier: Apache-2.0
"""_instance.py - an instance of ctsc.nn.Module as source that builds one like it.

The compiler evaluates Python of its own, so the instance is told to it as statements: an object of the class, without its constructor; the parameters, buffers
and parts that it has, whoever put them there; attributes that have a literal. Copies of its tensors are globals of that source.
"""
import enum
import os
import types

from . import _C
from ._as_torch import is_ours

Tensor = _C.Tensor
_OWN = ("training", "_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "_is_full_backward_hook")


class Builder:
    """Statements; what they need of the program (script.py's _Program) is added to it."""

    def __init__(self, program, literal, binding):
        self.program, self.literal, self.binding = program, literal, binding
        self.lines, self.head, self.names, self.tensors, self.archives, self.rrefs = [], [], {}, [], [], []

    def text(self, root):
        name = self._module(root, "")
        body = "\n    ".join(self.lines + ["return " + name])
        imports = ["import typing as _ctsc_typing, torch.distributed.rpc as _ctsc_rref"] if self.rrefs else []
        return "\n".join(imports + self.head + ["def _ctsc_build():", "    " + body])

    def globals(self, folder):
        """folder: where programs that are parts are put, for as long as it takes to read them."""
        paths = [os.path.join(folder, "%d.pt" % i) for i in range(len(self.archives))]
        for m, path in zip(self.archives, paths):
            m._save(path)
        return {"_ctsc_tensors": [t.detach().cpu().clone() for t in self.tensors], "_ctsc_archives": paths, "_ctsc_rrefs": self.rrefs}

    def _once(self, obj, prefix):
        """(name, whether it is new)"""
        if id(obj) in self.names:
            return self.names[id(obj)][0], False
        name = "_ctsc_%s%d" % (prefix, len(self.names))
        self.names[id(obj)] = name, obj
        return name, True

    def _class(self, cls):
        if cls.__module__.startswith("ctsc.") or is_ours(cls.__module__):
            name, new = self._once(cls, "c")
            if new:
                self.head.append("from torch.%s import %s as %s" % (cls.__module__.partition(".")[2], cls.__qualname__, name))
            return name
        self.program.add(cls, instances=True)
        return cls.__name__

    def _module(self, m, path):
        name, new = self._once(m, "m")
        if not new:
            return name
        if isinstance(m, _C.ScriptModule):
            self.archives.append(m)
            self.lines.append("%s = torch.jit.load(_ctsc_archives[%d])" % (name, len(self.archives) - 1))
            return name
        fields = m.__dict__
        if "_modules" not in fields:
            raise TypeError("ctsc.script: %s has no parts: its constructor has not called super().__init__()" % type(m).__name__)
        cls, computed = type(m), {}
        if hasattr(cls, "_parametrized_"): # its tensors as they are, and not what computes them
            cls, computed = cls._parametrized_, {n: getattr(m, n).detach() for n in fields["_modules"]["parametrizations"]}
        self.lines += ["%s = object.__new__(%s)" % (name, self._class(cls)), "torch.nn.Module.__init__(%s)" % name, "%s.training = %r" % (name, bool(m.training))]
        for key, p in fields["_parameters"].items():
            self.lines.append("%s.register_parameter(%r, %s)" % (name, key, self._tensor(p, True)))
        for key, b in fields["_buffers"].items():
            self.lines.append("%s.register_buffer(%r, %s, %r)" % (name, key, self._tensor(b, False), key not in fields["_non_persistent_buffers_set"]))
        for key, t in computed.items():
            self.lines.append("%s.register_buffer(%r, %s, False)" % (name, key, self._tensor(t, False)))
        for key, part in fields["_modules"].items():
            if computed and key == "parametrizations":
                continue
            inner = "None" if part is None else self._module(part, path + "." + key if path else key)
            self.lines.append("%s.add_module(%r, %s)" % (name, key, inner))
        for key, v in fields.items():
            if key in _OWN or key.endswith("_hooks") or not key.isidentifier():
                continue
            text = self._value(v)
            if text is not None: # what is used of the others, the compiler tells
                self.lines.append("object.__setattr__(%s, %r, %s)" % (name, key, text))
        return name

    def _tensor(self, t, parameter):
        if t is None:
            return "None"
        name, new = self._once(t, "t")
        if new:
            made = "_ctsc_tensors[%d]" % len(self.tensors)
            self.tensors.append(t)
            self.lines.append("%s = %s" % (name, "torch.nn.Parameter(%s, %r)" % (made, bool(t.requires_grad)) if parameter else made))
        return name

    def _references(self, v):
        """Of remote values: (text, text of the type); (None, None): v is something else."""
        if hasattr(type(v), "_script_type"):
            self.rrefs.append(v)
            return "_ctsc_rrefs[%d]" % (len(self.rrefs) - 1), "_ctsc_rref.RRef[%s]" % v._script_type()
        if type(v) not in (list, dict) or not v:
            return None, None
        keys = [self.literal(k) for k in v] if type(v) is dict else None
        items, kinds = zip(*map(self._references, v.values() if keys else v))
        if None in kinds or len(set(kinds)) > 1 or (keys and not all(type(k) is str for k in v)):
            return None, None
        if keys:
            return "{%s}" % ", ".join("%s: %s" % i for i in zip(keys, items)), "_ctsc_typing.Dict[str, %s]" % kinds[0]
        return "[%s]" % ", ".join(items), "_ctsc_typing.List[%s]" % kinds[0]

    def _value(self, v):
        text, kind = self._references(v)
        if text:
            return "torch.jit.Attribute(%s, %s)" % (text, kind)
        if isinstance(v, Tensor):
            return self._tensor(v, type(v).__name__ == "Parameter")
        if type(v) in (list, tuple) and v and all(isinstance(x, Tensor) or self._is_plain(x) for x in v):
            items = ", ".join(str(self._value(x)) for x in v)
            return "[%s]" % items if isinstance(v, list) else "(%s,)" % items
        if type(v) is dict and v and all(self._is_plain(x) for x in v.values()) and None not in map(self.literal, v):
            return "{%s}" % ", ".join("%s: %s" % (self.literal(k), self._value(x)) for k, x in v.items())
        if self._is_plain(v):
            return self._object(v)
        if type(v).__module__ == "ctsc.jit" and type(v).__name__ == "Attribute":
            return self._value(v.value)
        if isinstance(v, tuple) and type(v).__name__ == "Size":
            v = tuple(int(n) for n in v)
        if isinstance(v, enum.Enum) and not type(v).__module__.startswith("ctsc"):
            self.program.add(type(v))
            return "%s.%s" % (type(v).__name__, v.name)
        if isinstance(v, (types.FunctionType, _C.Operator)) or isinstance(v, type):
            return self._function(v)
        return self.literal(v)

    def _is_plain(self, v):
        """An object of a class of the program that has nothing but attributes."""
        return type(v).__new__ is object.__new__ and hasattr(v, "__dict__") and not hasattr(type(v), "__slots__") and not isinstance(v, type) and not hasattr(v, "_modules") and (
            not callable(v) and self.program._is_ours(type(v)))

    def _object(self, v):
        name, new = self._once(v, "o")
        if new:
            values = [(key, self._value(x)) for key, x in v.__dict__.items()]
            try:
                made = self._class(type(v))
            except (OSError, RuntimeError, TypeError): # what has no source may never be used
                made = None
            if made is None or any(text is None for _, text in values):
                self.lines.append("%s = None" % name)
                return name
            self.lines.append("%s = object.__new__(%s)" % (name, made))
            self.lines += ["%s.%s = %s" % (name, key, text) for key, text in values]
        return name

    def _function(self, v):
        """A function or a class that an attribute refers to."""
        name, new = self._once(v, "f")
        try:
            if not new:
                return name
            if self.program._is_ours(v):
                self.program.add(v, name)
                return name
            text = self.binding(name, v)
        except (OSError, RuntimeError, TypeError): # it may never be called
            text = None
        if text is None:
            del self.names[id(v)]
            return None
        self.head.append(text)
        return name

