# SPDX-License-Identifier: Apache-2.0
"""_operator_docs.py - what help() and inspect.signature say of operators: made when asked for, of their schemas and of one line each in _meanings.py.

A signature takes what any overload takes: the parameters of the one with most places, and those that others have besides, as optional ones.
"""
import inspect
import re

from . import _C
from ._autocast import ALIASES
from ._errors import family
from ._meanings import EXAMPLES, MEANINGS

_PARAMETER = inspect.Parameter
_NAMES = {"ScalarType": "dtype", "Device": "device", "Layout": "layout", "MemoryFormat": "memory_format", "SymInt": "int", "Scalar": "number", "Dimname": "str", "float": "float"}
_CONSTANTS = {"None": None, "True": True, "False": False, "contiguous_format": None, "Mean": 1, "Sum": 2}


class _Given:
    """A default that prints as it is written."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def _default(text):
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", text):
        return float(text)
    return text[1:-1] if text[:1] in "\"'" else _Given(text)


def _type(text):
    """int[2]? as int or list of int or None"""
    optional, text = text.endswith("?"), text.rstrip("?")
    m = re.fullmatch(r"(.*)\[(\d*)\]", text)
    if m:
        item = _type(m.group(1))
        words = "list of %s" % item if not m.group(2) else "%s or list of %s" % (item, item)
    else:
        words = _NAMES.get(text, text)
    return words + (" or None" if optional else "")


def _types(kinds):
    """The words of several types, each once, None at the end."""
    words = list(dict.fromkeys(w for k in kinds for w in _type(k).split(" or ")))
    return " or ".join(sorted(words, key=lambda w: w == "None"))


def _split(text):
    depth, parts, quote = 0, [""], False
    for c in text:
        quote ^= c in "\"'"
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts if p.strip()]


class _Overload:
    def __init__(self, key, schema):
        inside = schema[schema.index("(") + 1:schema.rindex(") ->")]
        self.name, self.returns = key.partition(".")[2], re.sub(r"\(\w!?\)", "", schema[schema.rindex(") ->") + 4:].strip())
        self.args, keyword = [], False # (name, type, default or empty, by keyword only)
        for p in _split(inside):
            if p == "*":
                keyword = True
                continue
            rest, equals, default = re.sub(r"\(\w+!?( -> [^)]*)?\)", "", p).partition("=")
            kind, _, name = rest.strip().rpartition(" ")
            value = _default(default) if equals else _PARAMETER.empty
            if kind.startswith("ScalarType") and isinstance(value, int): # a dtype's number
                value = next((_Given("ctsc." + d.name) for d in _C.dtypes if d._ctsc_value_ == value), value)
            self.args.append((name, kind, value, keyword))
        self.out = any("!" in p for p in _split(inside.partition("*, ")[2]))

    def tensors(self):
        return any(t.startswith("Tensor") for _, t, _, _ in self.args) or self.returns.lstrip("(").startswith("Tensor")

    def spread(self, method):
        """The place of sizes that may stand one by one, or -1."""
        places = [a for a in self.args if not a[3]]
        at = 1 if method else 0
        ok = len(places) > at and re.fullmatch(r"(Sym)?[iI]nt\[\]", places[at][1]) and all(a[2] is not _PARAMETER.empty for a in places[at + 1:]) and (method or len(places) == 1)
        return at if ok else -1


def _overloads(key):
    space, _, name = key.partition("::")
    rows = [_Overload(k, s) for k, s, _ in family(key if name else "aten::" + space)]
    some = [o for o in rows if o.tensors() and not any(t.rstrip("?[]1") == "Dimname" or n in ("names", "dimname") for n, t, _, _ in o.args)] or rows
    return [o for o in some if not o.out] or some, any(o.out for o in rows)


def signature(op):
    """inspect.Signature of an operator; of a method with self."""
    rows, out = _overloads(op.key)
    method = repr(op).startswith("<ctsc method")
    if method:
        rows = [o for o in rows if o.args and o.args[0][:2] == ("self", "Tensor")] or rows
    base = max(rows, key=lambda o: (sum(not a[3] for a in o.args), len(o.args)))
    spread, found = max((o.spread(method) for o in rows), default=-1), {}
    inputs = {n for o in rows for n, _, _, _ in o.args}
    for i, (name, kind, default, keyword) in enumerate(base.args):
        given = [next((a for a in o.args if a[0] == name), None) for o in rows]
        kinds = [a[1] for a in given if a]
        if default is _PARAMETER.empty and not (method and i == 0) and any(a is None or a[2] is not _PARAMETER.empty for a in given):
            default = None
        found[name] = [kinds, default, keyword]
    if not method or spread < 0:
        spread = spread if spread >= 0 and base.spread(method) >= 0 else -1
    for o in rows:
        for name, kind, default, _ in o.args:
            if name not in found:
                found[name] = [[kind], None if default is _PARAMETER.empty else default, True]
    if out and not method and "out" not in found:
        found["out"] = [["Tensor?"], None, True]
    if "dtype" in found and "layout" in found:
        found["requires_grad"] = [["bool"], False, True]
    parameters, optional, varargs = [], False, False
    for i, (name, (kinds, default, keyword)) in enumerate(sorted(found.items(), key=lambda p: p[1][2])):
        shown = "input" if name == "self" and not method and "input" not in inputs else "self_" if name == "self" and not method else name
        shown += "_" if shown in ("from", "lambda") else ""
        how = _PARAMETER.KEYWORD_ONLY if keyword or varargs else _PARAMETER.POSITIONAL_OR_KEYWORD
        if i == spread and not keyword and base.spread(method) == spread:
            parameters.append(_PARAMETER(shown, _PARAMETER.VAR_POSITIONAL, annotation=_types(kinds)))
            varargs = True
            continue
        # what follows an argument with a default needs one
        optional |= default is not _PARAMETER.empty and how == _PARAMETER.POSITIONAL_OR_KEYWORD
        if optional and default is _PARAMETER.empty and how == _PARAMETER.POSITIONAL_OR_KEYWORD:
            default = None
        parameters.append(_PARAMETER(shown, how, default=default, annotation=_PARAMETER.empty if method and i == 0 else _types(kinds)))
    returns = list(dict.fromkeys(o.returns for o in rows))
    return inspect.Signature(parameters, return_annotation=" or ".join(returns))


def text_signature(op):
    """As functions of C have it: without types."""
    s = signature(op)
    text = str(s.replace(parameters=[p.replace(annotation=_PARAMETER.empty) for p in s.parameters.values()], return_annotation=inspect.Signature.empty))
    return re.sub(r"^\(self\b", "($self", text) if repr(op).startswith("<ctsc method") else text


def _meaning(name, names):
    if name in MEANINGS:
        return MEANINGS[name]
    if name in ALIASES:
        return "Another name of `%s`. %s" % (ALIASES[name], _meaning(ALIASES[name], names))
    if name.endswith("_") and name[:-1] in names:
        return "`%s` in place: writes its result to the tensor, and returns that." % name[:-1]
    if name.endswith("_copy") and name[:-5] in names:
        return "`%s`, with a result of its own memory instead of a view." % name[:-5]
    m = re.match(r"(special|linalg|fft)_(\w+)$", name)
    if m and (m.group(2) in MEANINGS or m.group(2) in ALIASES):
        return _meaning(m.group(2), names)
    if re.search(r"_backward\w*$", name):
        return "A part of the gradient of `%s`." % re.sub(r"_backward\w*$", "", name)
    m = re.match(r"(cudnn|miopen|mkldnn|fbgemm|thnn|slow|native|quantized|unsafe|nested|fused)_(\w+)$", name)
    if m:
        return "`%s`, by PyTorch's name for one of its implementations." % m.group(2)
    return "An operator of PyTorch's."


def doc(key):
    """The docstring of an operator."""
    name, rows = key.partition("::")[2] or key, family(key)
    name = name.partition(".")[0]
    if not key.startswith("aten::") and "::" in key:
        return "\n".join(s for _, s, _ in rows)
    lines = [_meaning(name, {*_C._operator_names()}), ""]
    chosen, out = _overloads(key)
    arguments = {}
    for o in chosen:
        for n, t, d, _ in o.args:
            arguments.setdefault(n, ([], []))[0].append(t)
            if d is not _PARAMETER.empty:
                arguments[n][1].append(repr(d))
    if arguments:
        lines.append("Arguments:")
        for n, (types, defaults) in arguments.items():
            lines.append("    %s: %s%s" % ("input" if n == "self" else n, _types(types), "; %s by default" % " or ".join(dict.fromkeys(defaults)) if defaults else ""))
        if out:
            lines.append("    out: tensor, or tuple of tensors, that the result is written to")
    returns = list(dict.fromkeys(o.returns for o in chosen))
    lines += ["", "Returns: " + " or ".join(returns).replace("()", "nothing"), "", "Raises TypeError where no overload takes the arguments%s, ctsc.Error where sizes or dtypes do not fit." % (
        ", IndexError for dimensions out of range" if any(re.search(r"\bdims?\b", n) for n in arguments) else "")]
    if name in EXAMPLES:
        lines += ["", *EXAMPLES[name]]
    lines += ["", "Overloads:", *("    " + s for _, s, _ in rows)]
    return "\n".join(lines)
