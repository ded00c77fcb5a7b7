#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generate.py - what the package has of each operator, from the tables of schemas and of operators: a C table, autocast's classes, and the stubs for type
checkers.

    python/generate.py OUT.h AUTOCAST.py FUNCTIONS.pyi METHODS.pyi

A row of OUT.h is a name, what Python's calls of it may do beyond a script's (varargs, random numbers), and the names of several results. Families of
overloads have one row; which overload a call means is found out by the library when it is called. What draws random numbers and what autocast does the
rows of src/ir/ops say.
"""
import ast
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROW = re.compile(r'^(?:OP|COMPOSITE|SCALAR)\("aten::(\w+)(?:\.\w+)?"(.*)\)', re.M)
ALIAS = re.compile(r'^ALIAS(?:_COMPUTED)?\("(\w+)", "(\w+)"\)', re.M)
SCHEMA = re.compile(r"^aten::(\w+)(?:\.(\w+))?\((.*)\) -> (.*)$")
# Operators that a script's library has and Python's torch has not, or that Python's own code replaces (python/ctsc).
HIDDEN = {"append", "insert", "pop", "remove", "reverse", "extend", "keys", "values", "items", "len", "get", "format", "list", "dict", "ord", "chr",
          "hex", "oct", "bin", "list_with_default", "slice", "is_floating_point", "tensor", "as_tensor", "save", "backward", "device",
          "find", "rfind", "upper", "lower", "join", "split_with_sizes_copy", "startswith", "endswith", "strip", "lstrip", "rstrip", "replace",
          "partition", "rpartition", "splitlines", "isalpha", "isdigit", "isalnum", "isupper", "islower", "isspace", "isdecimal", "isnumeric",
          "isidentifier", "isprintable", "istitle", "title", "capitalize", "casefold", "center", "zfill", "ljust", "rjust", "expandtabs", "swapcase",
          "update", "setdefault", "popitem", "clear", "copy", "str", "eval", "manual_seed", "size", "numel", "dim", "stride", "item", "to", "cpu",
          "Bool", "Int", "Float", "Complex", "FloatImplicit", "IntImplicit", "ComplexImplicit", "ScalarImplicit", "BoolImplicit", "Generator",
          "einsum", "meshgrid", "broadcast_tensors", "split", "type", "wait", "percentFormat", "warn", "Delete", "hash", "element_size", "is_contiguous",
          "numpy_T", "mT", "mH", "matrix_H", "norm", "real", "imag", "requires_grad_", "data", "count", "set_data", "sorted", "coalesce_", "where", "any_",
          "is_leaf", "retains_grad", "is_grad_enabled", "set_grad_enabled", "grad"}
# Neither has Python's torch these, which backward passes are made of: torch.ops.aten has them.
NOT_TORCH = re.compile(r"(?<!_)_backward(_overrideable|_input|_jvp)?$|_(forward|functional|overrideable|cachemask|jvp)$|^(lift|sym_(numel|size|stride|storage_offset)|copy_sparse|value_selecting)")
# What python/ctsc/stub.pyi has of its own.
OTHERS = {"trace", "cuda", "block_diag", "cartesian_prod", "tensordot", "nonzero", "chalf", "random"}
# What programs do not call by these names, if at all: their arguments are not part of the stubs.
UNCALLED = re.compile(r"(_backward|_backward_(data|input|weight|reduce|elemt|overrideable)|(?<!index)_copy|_functional|_forward)$|^(special|linalg|fft|mkldnn|miopen|cudnn|fbgemm|native|quantized|sparse|"
                      r"thnn|slow|batch_norm|conv_depthwise|rrelu_with|fake_quantize|nested|to_mkldnn|hspmm|fused|unsafe|sspaddmm|embedding_|segment|"
                      r"convolution_|histogramdd_|kl_div_|nll_loss_|to_sparse|to_padded|crow_|ccol_|col_ind|row_ind|coalesce|is_coalesced|dense_dim|sparse_dim)_?")
# Names with an underscore: Tensor.int and its like stand before them otherwise.
TYPES = {"Tensor": "Tensor", "int": "_int", "SymInt": "_int", "float": "_float", "bool": "_bool", "Scalar": "Number", "str": "_str", "ScalarType": "_dtype",
         "Layout": "Any", "Device": "_Device", "MemoryFormat": "Any", "Generator": "Generator", "Dimname": "_str", "number": "Number", "complex": "_complex"}


class Argument:
    def __init__(self, text, keyword):
        text, equals, default = text.partition("=")
        self.type, _, self.name = text.strip().rpartition(" ")
        self.keyword, self.default = keyword, default if equals else None
        self.type = re.sub(r"\([^)]*\)", "", self.type)


def split(text):
    """At commas outside of brackets and quotes."""
    depth, start, quoted = 0, 0, False
    for i, c in enumerate(text):
        quoted ^= c in "'\""
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth and not quoted:
            yield text[start:i].strip()
            start = i + 1
    if text[start:].strip():
        yield text[start:].strip()


class Schema:
    def __init__(self, name, overload, args, returns):
        self.name, self.overload, keyword, self.args = name, overload or "", False, []
        for text in split(args):
            if text == "*":
                keyword = True
            else:
                self.args.append(Argument(text, keyword))
        inner = returns[1:-1] if returns.startswith("(") else returns
        self.returns = [re.sub(r"\([^)]*\)", "", r).rpartition(" ") for r in split(inner)]
        self.returns = [(t or n, n if t else "") for t, _, n in self.returns]

    def python_type(self, t):
        if t.endswith("?"):
            inner = self.python_type(t[:-1])
            return inner if inner == "Any" else "Optional[%s]" % inner
        m = re.match(r"(.*)\[(\d*)\]$", t)
        if m: # int[2]: one for both
            item = self.python_type(m.group(1))
            return "Sequence[%s]" % item if not m.group(2) else "_Ints" if item == "_int" else "Union[%s, Sequence[%s]]" % (item, item)
        return TYPES.get(t, "Any")

    def varargs(self, method):
        """Whether its sizes may stand one by one."""
        places = [a for a in self.args if not a.keyword][1 if method else 0:]
        return len(places) == 1 and is_ints(places[0].type)

    def stub(self, method, spread=False, more=(), result=None):
        """more: arguments by keyword that other overloads have."""
        parts, star = [], False
        for i, a in enumerate(self.args):
            if method and i == 0:
                parts.append("self")
                continue
            if spread and is_ints(a.type) and not star:
                parts.append("*%s: _int" % a.name)
                star = True
                continue
            if a.keyword and not star:
                parts.append("*")
                star = True
            name = "input" if a.name == "self" and not any(b.name == "input" for b in self.args) else a.name
            name += "_" if name == "self" else ""
            name += "_" if name in ("from", "lambda") else ""
            parts.append("%s: %s%s" % (name, self.python_type(a.type), "" if a.default is None else " = ..."))
        options = {a.name for a in self.args}
        more = [m for m in more if m.partition(":")[0] not in options]
        if more and not star:
            parts.append("*")
        parts += more
        if "dtype" in options and "layout" in options:
            parts.append("requires_grad: _bool = ...")
        types = [self.python_type(t).replace("Sequence", "List") for t, _ in self.returns]
        if result is None or len(types) < 2:
            result = "None" if not types else types[0] if len(types) == 1 else "Tuple[%s]" % ", ".join(types)
        return "def %s(%s) -> %s: ..." % (self.name, ", ".join(parts), result)


def families():
    found = {}
    for file in ("schemas.txt", "schemas_2.txt"):
        with open(os.path.join(ROOT, "src", "ir", "op", file), encoding="utf-8") as f:
            for line in f:
                m = SCHEMA.match(line.strip())
                if m and m.group(1) not in HIDDEN and not m.group(1).startswith("__") and not NOT_TORCH.search(m.group(1)):
                    found.setdefault(m.group(1), []).append(Schema(*m.groups()))
    return found


def tensors(s):
    return any(a.type.startswith("Tensor") for a in s.args) or any(t.startswith("Tensor") for t, _ in s.returns)


def is_ints(t):
    return re.match(r"(Sym)?[iI]nt\[\]$", t) is not None


def traits():
    """{name: the words of its rows in src/ir/ops, whichever overload's}"""
    found, folder = {}, os.path.join(ROOT, "src", "ir", "ops")
    for file in sorted(os.listdir(folder)):
        with open(os.path.join(folder, file), encoding="utf-8") as f:
            for name, words in ROW.findall(f.read()):
                found.setdefault(name, set()).update(re.findall(r"\b[A-Z]\w+(?:\(\w+\))?", words))
    with open(os.path.join(folder, "aliases.def"), encoding="utf-8") as f:
        found.update({name: found[of] for name, of in ALIAS.findall(f.read()) if of in found})
    return found


def draws(name, words):
    """Whether calls draw random numbers; those in place as the others."""
    return not {"RANDOM", "OP_DRAWS"}.isdisjoint(words.get(name, words.get(name.rstrip("_"), ())))


def autocast(words):
    lines = ["# Made by python/generate.py of the rows in src/ir/ops.", "# What autocast runs in its own dtype, in float32, and in the widest dtype among the tensors."]
    for kind in ("LOWER", "FULL", "WIDEST"):
        lines.append("%s = frozenset(%r.split())" % (kind, " ".join(sorted(n for n, w in words.items() if "AUTOCAST(%s)" % kind in w))))
    with open(os.path.join(ROOT, "src", "ir", "ops", "aliases.def"), encoding="utf-8") as f:
        lines += ["# Operators of other names.", "ALIASES = %r" % dict(ALIAS.findall(f.read()))]
    return "\n".join(lines) + "\n"


def flags(name, overloads, words):
    method = any(s.args and s.args[0].name == "self" and s.args[0].type == "Tensor" for s in overloads)
    function_ints = method_ints = one_int = False
    for s in overloads:
        places = [a for a in s.args if not a.keyword]
        function_ints |= len(places) == 1 and is_ints(places[0].type)
        method_ints |= len(places) == 2 and places[0].type == "Tensor" and is_ints(places[1].type)
        # x.hsplit(2) is the overload of one int
        one_int |= len(places) == 2 and places[0].type == "Tensor" and places[1].type in ("int", "SymInt")
    method_ints &= not one_int
    row = []
    if method:
        row.append("ROW_METHOD")
    if function_ints:
        row.append("ROW_VARARGS")
    if method_ints:
        row.append("ROW_METHOD_VARARGS")
    if draws(name, words):
        row.append("ROW_DRAWS")
    if any(a.name == "input" for s in overloads for a in s.args):
        row.append("ROW_INPUT")
    if any(s.overload == "dtype" for s in overloads):
        row.append("ROW_DTYPE")
    kinds = {}
    for s in overloads:
        for a in s.args:
            kinds.setdefault(a.name, set()).add(a.type)
    if any({"Scalar", "Tensor"} <= k for k in kinds.values()) and not any("bool" in k for k in kinds.values()):
        row.append("ROW_TRUTH")
    return " | ".join(row) or "0"


def results(overloads):
    for s in overloads:
        if len(s.returns) > 1 and all(n for _, n in s.returns) and not s.overload.endswith("out"):
            names = [n for _, n in s.returns]
            if not names[0].startswith("out") and not names[0].startswith("result"):
                return "%s|%s" % (" ".join(names), s.name)
    return ""


def write(path, text):
    old = None
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            old = f.read()
    if text != old:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


def _takes(wide, narrow):
    """Whether an argument of the one type may be of the other."""
    return wide in (narrow, "Any", "Optional[%s]" % narrow, narrow.replace("Sequence[Tensor]", "Sequence[Optional[Tensor]]")) or wide == "Number" and narrow in (
        "_int", "_float", "_bool", "_complex")


def _parameters(text):
    """([types of those by position], how many of them have no default, {name: (type, has a default)} of those by keyword)"""
    a = ast.parse(text).body[0].args
    kinds = [ast.unparse(x.annotation) if x.annotation else "self" for x in a.args] + (["*" + ast.unparse(a.vararg.annotation)] if a.vararg else [])
    return kinds, len(a.args) - len(a.defaults), {x.arg: (ast.unparse(x.annotation), d is not None) for x, d in zip(a.kwonlyargs, a.kw_defaults)}


def matched(texts):
    """The overloads without those whose calls an earlier one takes all."""
    kept = []
    for text in texts:
        places, least, named = _parameters(text)
        for before in kept:
            wide, needed, by_name = _parameters(before)
            if needed <= least and len(places) <= len(wide) and all(map(_takes, wide, places)) and all(k in by_name and _takes(by_name[k][0], v[0]) for k, v in named.items()) and all(
                    optional or k in named for k, (_, optional) in by_name.items()):
                break
        else:
            kept.append(text)
    return kept


# Names of these families are those of modules: linalg_inv is linalg.inv.
SPACES = ("linalg", "fft", "special")
SPACE_HEAD = """# Made by python/generate.py.
import builtins
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Union, overload
from ctsc import Generator as Generator, Number as Number, Tensor as Tensor, device as _device, dtype as _dtype
_int = builtins.int
_float = builtins.float
_bool = builtins.bool
_str = builtins.str
_complex = builtins.complex
_Device = Union[_str, _device]
_Ints = Union[_int, Sequence[_int]]
"""


def main():
    found = {n: [s for s in l if tensors(s)] for n, l in families().items()}
    found = {n: l for n, l in found.items() if l}
    table, words = ["/* Made by python/generate.py. */"], traits()
    for name in sorted(found):
        table.append('ROW("%s", %s, "%s")' % (name, flags(name, found[name], words), results(found[name]).split("|")[0]))
    write(sys.argv[1], "\n".join(table) + "\n")
    write(sys.argv[2], autocast(words))
    stubs, methods, tuples, spaces = [], [], [], {space: [] for space in SPACES}
    for name in sorted(found):
        space = name.partition("_")[0] if not name.endswith("_backward") else ""
        if name.startswith("_") or name in OTHERS or UNCALLED.search(name) and space not in spaces:
            continue
        for into, method in ((spaces.get(space, stubs), False), (methods, True))[:1 if space in spaces else 2]:
            every = [s for s in found[name] if "out" not in s.overload and "name" not in s.overload.lower()
                     and not any(a.type.rstrip("?[]") == "Dimname" for a in s.args)
                     and (not method or (s.args and s.args[0].name == "self" and s.args[0].type == "Tensor"))]
            plain = [s for s in every if not any(a.type.startswith("Generator") for a in s.args)]
            chosen, more = plain or every, []
            if len(plain) < len(every):
                more.append("generator: Optional[Generator] = ...")
            if not method and any("out" in s.overload for s in found[name]):
                more.append("out: Any = ...")
            tuple_name = "_%s_results" % name if results(found[name]) else None
            if tuple_name and chosen and not any(l.startswith("class %s(" % tuple_name) for l in tuples + into):
                s = next(s for s in found[name] if len(s.returns) > 1 and all(n for _, n in s.returns))
                (into if space in spaces else tuples).append("class %s(NamedTuple):\n%s" % (tuple_name, "\n".join("    %s: Any" % n if n in ("count", "index") else "    %s: %s" % (
                    n, s.python_type(t).replace("Sequence", "List")) for t, n in s.returns)))
            texts = list(dict.fromkeys([s.stub(method, False, more, tuple_name) for s in chosen] +
                                       [s.stub(method, True, more, tuple_name) for s in chosen if s.varargs(method)]))
            texts = matched(texts)
            for t in texts:
                t = t.replace("def %s_" % space, "def ") if space in spaces else t
                into.append(("@overload\n" if len(texts) > 1 else "") + t)
    write(sys.argv[3], "\n".join(tuples + stubs) + "\n")
    write(sys.argv[4], "\n".join(methods) + "\n")
    for space, lines in spaces.items():
        write(os.path.join(os.path.dirname(sys.argv[3]), space + ".pyi"), SPACE_HEAD + "\n".join(lines) + ("\nLinAlgError: Any\n" if space == "linalg" else "\n"))


if __name__ == "__main__":
    main()
