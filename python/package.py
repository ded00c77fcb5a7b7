#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""package.py GENERATED FOLDER - the package's files beside the extension: its Python, the stubs, and ctsc.nn and ctsc.optim, which are the prelude's, run by Python.

The prelude (src/frontend/prelude/torch) is plain Python on tensors. Its `torch` becomes `ctsc`, nothing else changes.
"""
import ast
import os
import re
import shutil
import sys

from docstrings import documented, table, used
from stubs import write as write_stubs

HERE = os.path.dirname(os.path.abspath(__file__))
TORCH = os.path.join(os.path.dirname(HERE), "src", "frontend", "prelude", "torch")
SHARED = ("nn", "optim")

def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.remove(path)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def as_ctsc(text):
    text = re.sub(r"^(\s*)import torch$", r"\1import ctsc as torch", text, flags=re.M)
    text = re.sub(r"^(\s*)import torch\.nn\.functional as F$", r"\1import ctsc.nn.functional as F", text, flags=re.M)
    text = re.sub(r"^(\s*)import torch\.(\S+) as (\w+)$", r"\1import ctsc.\2 as \3", text, flags=re.M)
    text = text.replace("'torch.nn.utils", "'ctsc.nn.utils") # modules imported by name
    text = re.sub(r"^(\s*)from torch import", r"\1from ctsc import", text, flags=re.M)
    return re.sub(r"^(\s*)from torch\.(\S+) import", r"\1from ctsc.\2 import", text, flags=re.M)


def more(path):
    """What is appended to the prelude's NAME.py: NAME_more.py of python/ctsc, where there is one."""
    file = os.path.join(HERE, "ctsc", path[:-len(".py")] + "_more.py")
    if not os.path.exists(file):
        return ""
    with open(file, encoding="utf-8") as f:
        return "\n\n" + f.read()


def stubs(generated, template):
    with open(template, encoding="utf-8") as f:
        text = f.read()
    for name in ("functions", "methods"):
        with open(os.path.join(generated, name + ".pyi"), encoding="utf-8") as f:
            body = f.read().rstrip("\n")
        indent = "    " if name == "methods" else ""
        text = text.replace("%s# [%s]" % (indent, name), "\n".join(indent + line for line in body.split("\n")))
    return text


def _defined(body):
    """Names of a stub, or of a class of it."""
    found = set()
    for n in body:
        if isinstance(n, (ast.FunctionDef, ast.ClassDef)):
            found.add(n.name)
        elif isinstance(n, (ast.Import, ast.ImportFrom)):
            found |= {a.asname or a.name for a in n.names}
        elif isinstance(n, ast.AnnAssign):
            found.add(n.target.id)
        elif isinstance(n, ast.Assign):
            found |= {x.id for t in n.targets for x in ast.walk(t) if isinstance(x, ast.Name)}
    return found


def complete(text, generated):
    """The stub with what programs may name and it has no arguments of: operators that are seldom called, what comes when it is asked for, other modules."""
    with open(os.path.join(generated, "op_names.h"), encoding="utf-8") as f:
        operators = re.findall(r'^ROW\("([a-z]\w*)", ([^,]*),', f.read(), re.M)
    with open(os.path.join(HERE, "ctsc", "__init__.py"), encoding="utf-8") as f:
        source = f.read()
    with open(os.path.join(HERE, "ctsc", "_tensor.py"), encoding="utf-8") as f:
        of_tensor = f.read()
    tree = ast.parse(source)
    values = {t.id: n.value for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    lazy = {k.value for k in values["_LAZY"].keys}
    for n in ast.walk(tree):
        if isinstance(n, ast.Call) and ast.unparse(n.func) == "dict.fromkeys":
            lazy |= set(ast.literal_eval(n.args[0].func.value).split())
    plain = {n.id for a in tree.body if isinstance(a, ast.Assign) for t in a.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    plain |= {a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) and n.level for a in n.names}
    with open(os.path.join(HERE, "ctsc", "_functions.py"), encoding="utf-8") as f:
        plain |= _defined(n for n in ast.parse(f.read()).body if not isinstance(n, (ast.Import, ast.ImportFrom)))
    stub = ast.parse(text)
    have, modules = _defined(stub.body), ast.literal_eval(values["_MODULES"])
    lines = ["from . import %s as %s" % (m, m) for m in modules if m not in have and not m.startswith("_")]
    lines += ["%s: _F" % n for n, _ in operators if n not in have and n not in modules]
    lines += ["%s: Any" % n for n in sorted(lazy | plain) if not n.startswith("_") and n.isidentifier() and n not in have and n not in {o for o, _ in operators} and n not in modules]
    have = _defined(next(n for n in stub.body if isinstance(n, ast.ClassDef) and n.name == "Tensor").body)
    properties = set(re.findall(r'_property\("([a-z]\w*)"', of_tensor))
    named = {n for n, flags in operators if "ROW_METHOD" in flags.replace("ROW_METHOD_VARARGS", "")} | set(re.findall(r'_method\("([a-z]\w*)"', of_tensor))
    methods = ["    %s: Any" % n for n in sorted(properties - have)] + ["    %s: _F" % n for n in sorted(named - have - properties)]
    return text.replace("    # [more methods]", "\n".join(methods)).replace("# [more]", "\n".join(lines))


def main():
    generated, out = sys.argv[1:]
    for folder, _, files in os.walk(os.path.join(HERE, "ctsc")):
        to = os.path.join(out, os.path.relpath(folder, os.path.join(HERE, "ctsc")))
        os.makedirs(to, exist_ok=True)
        for name in files:
            if name.endswith((".py", ".pyi", "py.typed")) and name != "stub.pyi" and not name.endswith("_more.py"):
                shutil.copyfile(os.path.join(folder, name), os.path.join(to, name))
    put(os.path.join(out, "__init__.pyi"), complete(stubs(generated, os.path.join(HERE, "ctsc", "stub.pyi")), generated))
    shutil.copyfile(os.path.join(generated, "autocast.py"), os.path.join(out, "_autocast.py"))
    for space in ("linalg", "fft", "special"):
        shutil.copyfile(os.path.join(generated, space + ".pyi"), os.path.join(out, space + ".pyi"))
    for shared in SHARED:
        for folder, _, files in os.walk(os.path.join(TORCH, shared)):
            for name in files:
                path = os.path.relpath(os.path.join(folder, name), TORCH)
                if name.endswith(".py") and not os.path.exists(os.path.join(HERE, "ctsc", path)):
                    with open(os.path.join(folder, name), encoding="utf-8") as f:
                        put(os.path.join(out, path), as_ctsc(f.read()) + more(path))
    for path in ("_jit_internal.py", os.path.join("utils", "checkpoint.py")):
        with open(os.path.join(TORCH, path), encoding="utf-8") as f:
            put(os.path.join(out, path), as_ctsc(f.read()) + more(path))
    write_stubs(out)
    rows, operators = table()
    for folder, _, files in os.walk(out):
        for name in files:
            path = os.path.join(folder, name)
            if name.endswith(".py"):
                with open(path, encoding="utf-8") as f:
                    text = f.read()
                put(path, documented(text, os.path.relpath(path, out), rows, operators))
    if set(rows) - used:
        sys.exit("docstrings.txt has rows of what there is not: %s" % ", ".join(sorted(set(rows) - used)))


if __name__ == "__main__":
    main()
