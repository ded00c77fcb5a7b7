# SPDX-License-Identifier: Apache-2.0
"""_errors.py - failed calls of operators in PyTorch's words: TypeError for arguments that fit no overload, IndexError for dimensions out of range."""
import re

from . import _C



class NotFoundError(_C.FileError, FileNotFoundError):
    """A file that is not there."""


class LinAlgError(_C.Error):
    """A matrix for which what was asked for cannot be computed."""


_families = {}


def family(key):
    """[(key, schema, supported)] of an operator's overloads."""
    if not _families:
        for row in _C._operator_schemas():
            _families.setdefault(row[0].partition(".")[0], []).append(row)
    return _families.get(key, [])


def _python_type(o):
    if isinstance(o, (list, tuple)):
        inner = ", ".join(dict.fromkeys(_python_type(x) for x in o))
        return "%s of (%s)" % (type(o).__name__, inner) if o else type(o).__name__
    return type(o).__name__



def _signature(schema, method):
    args = schema[schema.index("(") + 1:schema.rindex(") ->")]
    args = re.sub(r"Tensor\([^)]*\)", "Tensor", args)
    args = args.replace("ScalarType", "ctsc.dtype").replace("SymInt", "int")
    if method:
        args = re.sub(r"^Tensor self(, )?", "", args)
    for pattern, word in ((r"\bint\[\d*\]", "tuple of ints"), (r"\bfloat\[\d*\]", "tuple of floats"), (r"Tensor\[\]", "tuple of Tensors"), (r"\bScalar\b", "Number"), (r"\bLayout\b", "ctsc.layout"), (r"\bDevice\b", "ctsc.device"),
                          (r"\bMemoryFormat\b", "ctsc.memory_format"), (r"\bTensor self\b", "Tensor input"), (r"\?(?= )", "")):
        args = re.sub(pattern, word, args)
    return " * (%s)" % args


_UNFIT = ("Arguments for call are not valid", "could not match", "no overload", "are not valid", "Expected a value of type", "but instead found type",
          "missing value for argument", "nknown keyword argument", "argument(s) but received", "provided but not used", "cannot be matched",
          "not provided", "specified twice", "fit no")


def _fitted(kind, v):
    """v as an argument of this type, as PyTorch's calls from Python take it; scripts are stricter."""
    base = kind.rstrip("?")
    if v is None and base.endswith("=[]"):
        return []
    if base == "float" and isinstance(v, int):
        return float(v)
    if base.startswith("float[") and isinstance(v, (list, tuple)):
        return [float(x) for x in v]
    if base.startswith("float[") and isinstance(v, (int, float)):
        return [float(v)]
    if base in ("int", "SymInt", "float") and isinstance(v, _C.Tensor) and v.ndim == 0 and not _C.Trace.is_tracing():
        return v.item()
    if base in ("Scalar", "number") and isinstance(v, bool):
        return int(v)
    if base.startswith("Scalar[") and isinstance(v, list):
        return tuple(v)
    if base == "Tensor" and isinstance(v, (bool, int, float, complex)):
        return _C._tensor(v, -1)
    if base in ("int", "SymInt") and isinstance(v, float) and v == int(v):
        return v
    return v


def _arguments(schema):
    """[(type, name)]; "type=[]" where that is the default: None stands for it, too."""
    inside, depth, parts = schema[schema.index("(") + 1:schema.rindex(") ->")], 0, [""]
    for c in inside:
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    rows = [re.sub(r"\([^)]*\)", "", p).strip().partition("=") for p in parts if p.strip() not in ("*", "")]
    return [(p.rpartition(" ")[0] + ("=[]" if default == "[]" else ""), p.rpartition(" ")[2]) for p, _, default in rows]


def _again(name, args, kwargs):
    """(result,) of the call with arguments that were made to fit; None: no overload takes them. Overloads that would count True as the number 1 come last:
    a tensor of True has its dtype, too."""
    bools = any(isinstance(v, bool) for v in (*args, *kwargs.values()))
    for key, schema, supported in sorted(family("aten::" + name), key=lambda row: bools and "Scalar" in row[0].partition(".")[2]):
        rows = _arguments(schema)
        kinds = {n: t for t, n in rows}
        if not supported or len(args) > len(rows) or any(k not in kinds for k in kwargs if k != "input"):
            continue
        fitted = [_fitted(t, a) for (t, _), a in zip(rows, args)]
        named = {k: _fitted(kinds.get(k, ""), v) for k, v in kwargs.items()}
        if all(a is b for a, b in zip(fitted, args)) and all(named[k] is kwargs[k] for k in kwargs):
            continue
        try:
            return (_C._operator(key)(*fitted, **named),)
        except (TypeError, _C.Error) as e:
            if not any(text in str(e) for text in _UNFIT):
                raise
    return None


_OPTIONS = ("dtype", "layout", "device", "requires_grad")


def _into(name, args, kwargs, method):
    """(result,) of a factory's call with both out= and what the result has to be, which out has to be already; or the exception."""
    out, dtype, device = kwargs["out"], kwargs.get("dtype"), kwargs.get("device")
    if dtype is not None and dtype is not out.dtype:
        return RuntimeError("dtype %s does not match dtype of out parameter (%s)" % (dtype._type_name, out.dtype._type_name))
    if device is not None and type(out.device)(device).type != out.device.type:
        return RuntimeError("device type %s does not match device type of out parameter (%s)" % (type(out.device)(device).type, out.device.type))
    kept = {k: v for k, v in kwargs.items() if k not in _OPTIONS}
    try:
        made = _C._operator("aten::" + name)(*args, **kept)
        return (made.requires_grad_() if kwargs.get("requires_grad") else made,)
    except (TypeError, _C.Error) as e:
        return operator_failed(name, e, args, kept, method)


def _all_of(values):
    for v in values:
        yield from _all_of(v) if type(v) in (list, tuple) else (v,)


# what a message begins with, and the class that PyTorch raises with it
_KINDS = [(re.compile(words), kind) for words, kind in (
    (r"Dimension out of range|Dimension specified as|index (.* )?out of (bounds|range)|Target .* is out of bounds|out of range: tried|select\(\): index|"
     r"\w+(\(\))?: Expected reduction dim \d|arg(max|min)\(\): Expected reduction dim|take\(\): tried to take from an empty|put_\(\): Expected source and index", IndexError),
    (r"(cov|nanmean|mean)\(\): .*dtype|nansum (on CPU )?does not support|clamp is not supported for complex|std and var only support|\w+: received a bool input|"
     r"(torch\.)?[\w.]+ (is|does) not (yet )?(implemented|supported?)( for)? (complex|uint8)|Unsupported input type encountered|Unsupported dtype|Bool inputs not supported|"
     r"(linalg\.)?\w+: (Expected a floating point or complex tensor|Low precision dtypes)|(Subtraction|Negation), the `-` operator|"
     r"The `\+` operator, on a bool|Padding size \d+ is not supported|grid_sampler_\dd_cpu not implemented|stft\(.*: expected a tensor of floating point", _C.UnsupportedError),
    (r"Expected input batch_size", ValueError),
    (r"is(neg|pos)inf does not support complex|(maximum|minimum|fmax|fmin) not implemented for complex|"
     r"i?rfft expects a real", TypeError))]


def operator_failed(name, error, args, kwargs, method):
    """The exception to raise instead of error; None: error itself; (result,) where the call fits after all."""
    message = getattr(error, "message", None)
    if message is None:
        if isinstance(error, TypeError) and "cannot be given to ctsc" in str(error):
            if any(hasattr(type(a), "__torch_function__") for a in _all_of(list(args) + list(kwargs.values()))):
                from ._subclass import failed
                return failed(name, args, kwargs, method)
            message = _UNFIT[0]
        else:
            return None
    for words, kind in _KINDS:
        if words.match(message) and not (kind is IndexError and name.startswith(("gather", "scatter"))):
            if kind is not _C.UnsupportedError:
                return kind(message)
            return None if isinstance(error, kind) else kind(*error.args)
    if re.match(r"(torch\.)?linalg[._]\w+: .*(singular|positive-definite|failed to converge)", message) and type(error) is _C.Error:
        found = LinAlgError(*error.args)
        found.status, found.origin = error.status, error.origin
        return found
    if not any(text in message for text in _UNFIT):
        return None
    if kwargs.get("out") is not None and any(k in kwargs for k in _OPTIONS) and any(r[0].endswith("out") for r in family("aten::" + name)):
        return _into(name, args, kwargs, method)
    fitted = None if "." in name else _again(name, args, kwargs)
    if fitted:
        return fitted
    if any(isinstance(a, _C.Tensor) and a.has_names() for a in args) and None in (kwargs.get("dim", 0), *[a for a in args[1:] if a is None]) and \
            any(re.search(r"\bstr(\[\d*\])? dim", r[1]) for r in family("aten::" + name)):
        if name in ("sort", "argsort", "all", "any"):
            return RuntimeError("%s: You passed a dimname (string) to this op in place of a dimension index but it does not yet support this behavior. Please pass a dimension "
                                "index to work around this." % name)
        return RuntimeError("Please look up dimensions by name, got: name = None.")
    rows = [r for r in family("aten::" + name) if "out" not in r[0].partition(".")[2]]
    rows = [r for r in rows if "Tensor" in r[1] and "Dimname" not in r[1]]
    if not rows:
        return None
    given = args[1:] if method else args
    got = ", ".join([_python_type(a) for a in given] + ["%s=%s" % (k, _python_type(v)) for k, v in kwargs.items()])
    if len(rows) == 1:
        text = "%s(): argument types do not fit - got (%s), but expected:%s" % (name, got, _signature(rows[0][1], method)[2:])
        return TypeError(text)
    return TypeError("%s() received an invalid combination of arguments - got (%s), but expected one of:\n%s\n" % (
        name, got, "\n".join(dict.fromkeys(_signature(r[1], method) for r in rows))))
