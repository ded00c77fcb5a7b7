# SPDX-License-Identifier: Apache-2.0
"""layers_python.py - the part of check_layers.py that looks at python/: which modules of the package import one another, which files of the extension call one
another, how these open and what their comments name. Tests: layers_selfcheck.py."""
import ast
import os
import re
import subprocess

# Modules that are not files of python/ctsc: the extension, what python/package.py makes of the prelude, and generate.py of the rows.
MADE = {"_C", "_autocast", "nn", "optim", "_jit_internal"}


def modules_of(folder, package):
    """{"ctsc.autograd": [files]}: a module, and what package.py puts at its end (NAME_more.py)."""
    found = {}
    for path, _, files in os.walk(folder):
        for name in sorted(f for f in files if f.endswith(".py")):
            stem = name[:-len(".py")]
            stem = stem[:-len("_more")] if stem.endswith("_more") else stem
            parts = [package] + [p for p in os.path.relpath(path, folder).split(os.sep) if p != "."] + ([] if stem == "__init__" else [stem])
            found.setdefault(".".join(parts), []).append(os.path.join(path, name))
    return found


def imported(node, module, is_package, modules, package):
    """The modules of the package that an import statement names."""
    if isinstance(node, ast.Import):
        names = [a.name for a in node.names]
    else:
        parts = module.split(".")
        base = parts[:len(parts) - node.level + (1 if is_package else 0)] if node.level else []
        base = ".".join(base + ([node.module] if node.module else []))
        names = ["%s.%s" % (base, a.name) for a in node.names]
    for name in names:
        if name.split(".")[0] != package:
            continue
        first = (name.split(".") + [""])[1]
        while name not in modules and "." in name: # a name of the module
            name = name.rpartition(".")[0]
        if name != module and (name != package or first not in MADE):
            yield name


def import_graph(folder, package="ctsc"):
    """{module: {module: where}}, of imports within functions too: those are made later, and are needed all the same."""
    modules = modules_of(folder, package)
    graph = {m: {} for m in modules}
    for module, files in modules.items():
        for path in files:
            with open(path, encoding="utf-8") as f:
                tree = ast.parse(f.read())
            is_package = os.path.basename(path) in ("__init__.py", "__init___more.py")
            for node in ast.walk(tree):
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    for name in imported(node, module, is_package, modules, package):
                        graph[module].setdefault(name, "%s:%d" % (os.path.basename(path), node.lineno))
    return graph


def call_graph(build):
    """{file: {file: a symbol}} of the extension's objects; empty where it has not been built."""
    folder = os.path.join(build, "python", "obj")
    objects = sorted(os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".o")) if os.path.isdir(folder) else []
    listing = subprocess.run(["nm", "-A"] + objects, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout if objects else ""
    graph, has, needs = {os.path.basename(o)[:-2]: {} for o in objects}, {}, []
    for line in listing.splitlines():
        m = re.match(r"(.+?)\.o:\s*[0-9a-f]*\s+(\w) (\S+)$", line)
        if m and m.group(2) == "U":
            needs.append((os.path.basename(m.group(1)), m.group(3)))
        elif m and m.group(2) in "TDBRVWC":
            has[m.group(3)] = os.path.basename(m.group(1))
    for a, symbol in needs:
        if has.get(symbol, a) != a:
            graph[a].setdefault(has[symbol], symbol)
    return graph


def check_circles(what, graph, circles, a_circle, problems):
    for found in circles(graph):
        problems.append("%s in a circle, %s: %s" % (what, ", ".join(found), a_circle(graph, found)))


def check_extension(root, known, mention, problems):
    """The files of python/src: how they open, and that files which comments name are there."""
    folder = os.path.join(root, "python", "src")
    for name in sorted(f for f in os.listdir(folder) if f.endswith((".c", ".h"))):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            text = f.read()
        rel = "python/src/" + name
        if not re.match(r"/\* SPDX-License-Identifier: Apache-2\.0 \*/\n/\*\s*(?:\n \* )?%s - " % re.escape(name), text):
            problems.append("%s: does not open with the SPDX line and its name" % rel)
        for file in sorted({f for comment in re.findall(r"/\*.*?\*/", text, re.S) for f in mention.findall(comment)}):
            paths = known.get(os.path.basename(file), [])
            near = [p for p in paths if not p.startswith("src/")] # the extension has nothing of the library but ctsc.h
            if not any(p == file or p.endswith("/" + file) for p in (paths if "/" in file else near)):
                problems.append("%s: mentions %s, which is not there" % (rel, file))
