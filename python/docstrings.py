# SPDX-License-Identifier: Apache-2.0
"""docstrings.py - puts docstrings.txt into the package's Python where a function, class or property has no docstring of its own.

The prelude (torch.nn, torch.optim) is part of the library as well, where docstrings would only take room, and of most functions PyTorch's documentation
is the long form: one line each, and an example, which tests/python/test_py_help.py runs.

A row is `key: text`, followed by lines of an example. The key is the end of what it is about: `Linear`, `Linear.forward`, `cuda.seed`, or for methods of
all classes `*.forward`; the longest that fits counts. `module!Class.name` is for what no def or class statement makes: its __doc__ is set at the module's end. Functions with an operator's name have the operator's line (ctsc/_meanings.py) otherwise.
"""
import ast
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
METHODS = ("_module", "_module_part", "_tensor", "_compressed") # whose functions become methods
OPERATORS = ("nn/functional.py", "array_api.py", "_functions.py", "_legacy.py", "_tensor.py", "sparse.py")


def _rows(text):
    rows, key = {}, None
    for line in text.split("\n"):
        if line.startswith("    "):
            rows[key] += "\n" + line[4:] if "\n" in rows[key] else "\n\n" + line[4:]
        elif line and not line.startswith("#"):
            key, _, value = line.partition(": ")
            rows[key] = value
    return rows


def table():
    """(rows, lines of operators)"""
    with open(os.path.join(HERE, "docstrings.txt"), encoding="utf-8") as f:
        rows = _rows(f.read())
    with open(os.path.join(HERE, "ctsc", "_meanings.py"), encoding="utf-8") as f:
        operators = _rows(re.search(r'_TEXT = r"""\n(.*?)"""', f.read(), re.S).group(1))
    return rows, operators


used = set() # keys of rows that something has


def _found(rows, module, path, method):
    parts = module + path
    keys = [".".join(parts[i:]) for i in range(len(parts) - (1 if method and len(path) > 1 else 0))] + (["*." + path[-1]] if method else [])
    key = next((k for k in keys if k in rows), None)
    used.add(key)
    return rows.get(key)


class _Inserting:
    def __init__(self, text, path, rows, operators):
        self.lines, self.rows, self.edits = text.split("\n"), rows, [] # (line, column or None for a line of its own, text)
        self.operators = operators if path in OPERATORS else {}
        self.module = [p for p in path[:-len(".py")].replace("_more", "").split("/") if p != "__init__"]
        self.walk(ast.parse(text).body, [])
        prefix = path[:-len(".py")].replace("/", ".") + "!"
        used.update(k for k in rows if k.startswith(prefix))
        late = ["%s.__doc__ = %r" % (k[len(prefix):], v) for k, v in rows.items() if k.startswith(prefix)]
        self.late = "\n" + "\n".join(late) + "\n" if late else ""

    def doc(self, path):
        found = _found(self.rows, self.module, path, len(path) > 1 or self.module[:1] and self.module[0] in METHODS)
        if found is None and (len(path) == 1 or self.module == ["_tensor"]):
            found = self.operators.get(path[-1])
        return found

    def walk(self, body, path):
        for n in body:
            if isinstance(n, (ast.FunctionDef, ast.ClassDef)):
                here = path + [n.name]
                if ast.get_docstring(n) is None and not any(ast.unparse(d).endswith(".setter") for d in n.decorator_list):
                    self.insert(n, self.doc(here))
                if isinstance(n, ast.ClassDef):
                    self.walk(n.body, here)
            elif isinstance(n, ast.Assign) and path:
                pairs = zip(n.targets[0].elts, n.value.elts) if isinstance(n.value, ast.Tuple) and isinstance(n.targets[0], ast.Tuple) else [(n.targets[0], n.value)]
                for target, value in pairs:
                    if isinstance(value, ast.Call) and ast.unparse(value.func) == "property" and not any(k.arg == "doc" for k in value.keywords):
                        found = self.doc(path + [ast.unparse(target)])
                        if found:
                            self.edits.append((value.end_lineno, value.end_col_offset - 1, ", doc=%r" % found))
            elif isinstance(n, (ast.If, ast.Try, ast.With)):
                self.walk(n.body + getattr(n, "orelse", []), path)

    def insert(self, n, found):
        if not found:
            return
        first = n.body[0]
        quoted = ('r"""' if "\\" in found else '"""') + found.replace('"""', "'''")
        if first.lineno == n.lineno or self.lines[first.lineno - 1][:first.col_offset].strip(): # def f(): return 1
            self.edits.append((first.lineno, first.col_offset, '%r; ' % found))
            return
        indent = " " * first.col_offset
        at = min([first.lineno] + [d.lineno for d in getattr(first, "decorator_list", [])])
        text = quoted.replace("\n", "\n" + indent) + ("\n" + indent if "\n" in found else "") + '"""'
        self.edits.append((at, None, indent + text))

    def text(self):
        for line, column, text in sorted(self.edits, key=lambda e: (e[0], e[1] or 0), reverse=True):
            old = self.lines[line - 1]
            if column is None:
                self.lines.insert(line - 1, text)
            else: # columns count bytes
                raw = old.encode()
                self.lines[line - 1] = (raw[:column] + text.encode() + raw[column:]).decode()
        return "\n".join(self.lines) + self.late


def documented(text, path, rows, operators):
    """The text of a file of the package, with docstrings. path: in the package."""
    return _Inserting(text, path, rows, operators).text()
