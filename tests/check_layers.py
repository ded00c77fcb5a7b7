#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of structure that docs/architecture.md states: who may include whom, which rooms need one another, which objects link alone, how files
open, what follows the host program's locale, how large tracked files are.

    tests/check_layers.py                     includes, names, openings, imports of the package
    tests/check_layers.py --build build       the link graph of its objects as well
    tests/check_layers.py --build build --report    sizes of folders, circles of objects

Tests: tests/layers_selfcheck.py, which plants what each rule is for.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

import layers_python

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# folder of src/ -> folders whose headers it may include (besides its own and the public headers)
MAY_INCLUDE = {
    "base": [],
    "cpu": ["base"],
    "tensor": ["base", "cpu"],
    "ir": ["base", "cpu", "tensor"],
    "frontend": ["base", "cpu", "tensor", "ir"],
    "passes": ["base", "cpu", "tensor", "ir"],
    "codegen": ["base", "cpu", "tensor", "ir"],
    "cuda": ["base"],
    "distributed": ["base", "cpu"],
    "runtime": ["base", "cpu", "tensor", "ir", "frontend", "passes", "codegen", "cuda"],
    "rt": ["base", "cpu", "tensor", "ir", "codegen", "cuda", "runtime"],
    "cli": ["serve", "view", "sandbox"],
    "serve": ["view", "sandbox"],
    "view": [],
    "sandbox": [],
}
# The rooms of a folder from the bottom to the top, "" being what is in none: one needs only those before it. runtime/kernels is one here.
ROOMS = {
    "base": ["memory", "text", "", "threads"],
    "cpu": ["isa", "vector", "neon_vectors", "neon", "neon_bytes", "cpu_tuning", "convert", "gemm", "quad", "conv", "rows", "ukernel", "ukernel_elsewhere", "neon_elsewhere", "narrow"],
    "ir": ["", "ops", "op", "graph", "scalar"],
    "frontend": ["syntax", "export", "onnx", "codeprint", "codeload", "pyeval/core", "pyeval/lib", "irgen", "trace", "pyeval/torch", "program", "prelude"],
    "passes": ["pass", "peephole", "weights", "fusion", "layout", "quantise", ""],
    "codegen": ["nest", "cuda", "lower/lazy", "lower/plan", "lower/loops", "lower", "llvm", "cache"],
    "runtime": ["archive", "context", "kernels", "code", "interp", "names", "meta", "cuda", "exec", "observe", "autograd", "safetensors", "program", "save", "train", "ptq", "ops", "aot", "api"],
}
APART = {"cpu"}  # what is below its rooms, and the list of what is in them
PUBLIC = {"ctsc.h", "ctsc_compiler.h", "ctsc_dist.h"}
INLINE = {"base/text/utf8.h", "base/text/json_escape.h"}  # without symbols, and without anything else of ours: for all
INLINE |= {"rt/rt_heap.h", "rt/rt_program.h"}  # of the run-time library, for those who compile for it
INLINE |= {"ir/scalar/scalar_ops.h", "ir/scalar/scalar_activation.h"}  # what operators do to one element, for plain micro-kernels
# What setlocale changes: the library has base/text/text.h instead. The command and the server are programs of their own.
LOCALE = re.compile(r"\b(?<!STR_TEST\()(?<!STRING_CLASS\()(strto(d|f|ld)|atof|is(alpha|alnum|space|upper|lower|print|punct|graph)|to(upper|lower)|strn?casecmp)(?=[(),])"
                    r"|(?<!\w)v?snprintf\([^\"]*\"[^\"]*%[-+ #0]*[0-9.*]*l?[gGeEfF]")
PROGRAMS = {"cli", "serve", "view", "sandbox"}
LONGEST = 1000  # lines; a longer file must say why in its opening comment
LIBRARIES = ["-lzip", "-lopenblas", "-ljansson", "-lz", "-lm", "-ldl", "-pthread"]
FILES = 30      # of one folder
# Folders that are not split yet.
MORE_FILES = {"src/cli": 40, "src/serve": 40, "src/frontend/onnx": 40, "src/ir/ops": 40, "src/runtime/api": 40, "src/runtime/cuda": 40}
TRACKED = 1 << 20  # bytes of a tracked file, but for models/
# Circles of rooms that are still there, and why. A circle is reported unless it lies within one of these, and so is a line that no circle needs any more:
# the list shrinks to nothing.
STILL = []
# A file of ours in a comment; other projects' are <in.h> or "in.h" quotes.
MENTION = re.compile(r"(?<![\w/.*<\"-])((?:[a-z_0-9]+/)*[a-z_][a-z_0-9]{2,}\.(?:c|h|def|cuh?))\b(?![\w(])")
MENTIONS_ALL = ("ir/ops/",)  # its tables say which kernels compute their rows
SOURCE = (".c", ".h", ".def", ".cu", ".cuh")


def room_name(path):
    """The room that a file of src/ is in: its folder, but a file directly in APART is one of its own."""
    folder = os.path.dirname(path)
    return os.path.splitext(path)[0] if folder in APART else folder


def room_of(path):
    """("runtime", 13) of "runtime/ops/registry.c": the folder, and the place of its room among ROOMS."""
    folder, _, rest = room_name(path).partition("/")
    for place, room in enumerate(ROOMS.get(folder, [])):
        if rest == room or (room and rest.startswith(room + "/")):
            return folder, place
    return folder, None


def may_need(a, b):
    """May the file src/a need src/b?"""
    folder, place = room_of(a)
    other, below = room_of(b)
    if folder != other:
        return other in MAY_INCLUDE[folder]
    return place is None or below is None or below <= place


def check(path, known, problems):
    rel = os.path.relpath(path, ROOT)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    name = os.path.basename(rel)
    if not text.startswith("/* SPDX-License-Identifier: Apache-2.0 */"):
        problems.append("%s: does not open with the SPDX line" % rel)
    opening = re.match(r"/\* SPDX[^\n]*\n/\*\s*(?:\n \* )?([\w/.]+\.(?:c|h|def|cuh?)) - ", text)
    if opening and opening.group(1) != name:
        problems.append("%s: its opening comment calls it %s" % (rel, opening.group(1)))
    inside = rel[len("src/"):]
    folder = inside.split("/")[0]
    if folder in ROOMS and room_of(inside)[1] is None:
        problems.append("%s: is in none of the rooms of %s/" % (rel, folder))
    for n, line in enumerate(text.splitlines(), 1):
        found = LOCALE.search(line)
        if found and folder not in PROGRAMS and name not in ("text.c", "text.h"):
            problems.append("%s:%d: %s follows the program's locale; base/text/text.h does not" % (rel, n, found.group(0)))
        m = re.match(r'\s*#\s*include "([^"]+)"', line)
        if m and m.group(1) not in PUBLIC:
            target = m.group(1) if "/" in m.group(1) else os.path.dirname(inside) + "/" + m.group(1)
            if not may_need(inside, target) and target not in INLINE:
                problems.append('%s:%d: %s/ may not include "%s"' % (rel, n, os.path.dirname(inside), m.group(1)))
    for file in sorted({f for comment in re.findall(r"/\*.*?\*/", text, re.S) for f in MENTION.findall(comment)}):
        check_mention(inside, file, known, problems)
    if text.count("\n") > LONGEST and "long because" not in text[:3000]:
        problems.append("%s: %d lines without a reason (a comment 'long because ...' at the top)" %
                        (rel, text.count("\n")))


def check_mention(inside, file, known, problems):
    """A comment of src/INSIDE names FILE. With folders these are the end of its path; without, it is in this layer, in one below, or outside of src."""
    paths = known.get(os.path.basename(file), [])
    if not any(p == file or p.endswith("/" + file) for p in paths):
        problems.append("src/%s: mentions %s, which is not there" % (inside, file))
    elif "/" not in file and not inside.startswith(MENTIONS_ALL):
        layer = inside.split("/")[0]
        if not any(not p.startswith("src/") or p.split("/")[1] in MAY_INCLUDE[layer] + [layer] for p in paths):
            problems.append("src/%s: mentions %s, which is %s: say where" % (inside, file, " and ".join(paths)))


def check_tracked(root, problems):
    """What git has: no large files but models, no packages."""
    if not os.path.exists(os.path.join(root, ".git")):
        return
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    for name in listing.split("\0"):
        path = os.path.join(root, name)
        if name.endswith(".whl"):
            problems.append("%s: a package is made, not tracked" % name)
        elif name and os.path.isfile(path) and os.path.getsize(path) > TRACKED and not name.startswith("models/"):
            problems.append("%s: %d bytes are tracked; only models/ may have files of more than %d" % (name, os.path.getsize(path), TRACKED))


# Tables that are searched by halves (base/sorted.h): in .def files, and in .c files where a comment says "sorted".
SORTED = ["ir/op/symbols.def", "ir/ops/aliases.def", "frontend/onnx/onnx_out_rows.def"]


def check_sorted(problems):
    """Rows stand in the order of strcmp."""
    tables = []
    for name in SORTED:
        with open(os.path.join(ROOT, "src", name), encoding="utf-8") as f:
            tables.append((name, re.findall(r'^[A-Z_]+\((?:\w+, )?"([^"]+)"', f.read(), re.M)))
    for folder, _, files in os.walk(os.path.join(ROOT, "src")):
        for name in (f for f in files if f.endswith(".c")):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as f:
                text = f.read()
            for table in set(re.findall(r"\bsorted_find\((\w+), sizeof", text)):
                found = re.search(r"\b%s\[\] = \{(.*?)\n\s*\};" % table, text, re.S)
                if found and "#include" not in found.group(1):
                    rows = re.findall(r'^\s*\{"([^"]+)"', found.group(1), re.M) or re.findall(r'^\s*"([^"]+)",', found.group(1), re.M)
                    tables.append((os.path.relpath(path, ROOT) + ": " + table, rows))
    for name, rows in tables:
        wrong = [b for a, b in zip(rows, rows[1:]) if a.encode() > b.encode()]
        if wrong or not rows:
            problems.append("%s: %s is not where it is looked for: rows are sorted" % (name, wrong[0] if wrong else "nothing"))


def check_documents(root, known, problems):
    """Files that documents name are there: by their whole path, or, between backticks, by its end. code/ is of archives."""
    end = re.compile(r"`(?!code/)((?:[\w.-]+/)+[\w.]+\.(?:c|h|def|cuh?|py))`")
    path = re.compile(r"(?<![\w/])((?:src/)?(?:%s)/(?:[\w.]+/)*[\w.]+\.(?:c|h|def|cuh?|py))\b" % "|".join(MAY_INCLUDE))
    for folder in (root, os.path.join(root, "docs")):
        for name in sorted(f for f in os.listdir(folder) if f.endswith(".md")):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                text = f.read()
            whole = {p if p.startswith("src/") else "src/" + p for p in path.findall(text)}
            gone = {p for p in whole if not os.path.exists(os.path.join(root, p))}
            gone |= {p for p in end.findall(text) if not any(q == p or q.endswith("/" + p) for q in known.get(os.path.basename(p), []))
                     and "src/" + p not in gone}
            problems += ["%s names %s, which is not there" % (name, p) for p in sorted(gone)]


def check_folders(problems):
    """Sizes of folders, and names."""
    sizes, names = {}, collections.defaultdict(list)
    for folder, _, files in os.walk(os.path.join(ROOT, "src")):
        files = [f for f in files if f.endswith(SOURCE)]
        rel = os.path.relpath(folder, ROOT)
        if files:
            sizes[rel] = len(files)
        for f in files:
            names[f].append(rel)
    for rel, n in sizes.items():
        most = MORE_FILES.get(rel, FILES)
        if n > most:
            problems.append("%s: %d files, more than %d" % (rel, n, most))
    for rel in MORE_FILES:
        if sizes.get(rel, 0) <= FILES:
            problems.append("MORE_FILES has %s, which has %d files: take it out" % (rel, sizes.get(rel, 0)))
    for f, where in names.items():
        if len(where) > 1:
            problems.append("%s: in %s" % (f, " and ".join(where)))
    return sizes


# ---- the link graph ----------------------------------------------------------------------------------------------------


def link_graph(build):
    """{object: {object: {symbol}}} by the symbols that nm shows; objects are "runtime/ops/registry"."""
    start = os.path.join(build, "src")
    objects = []
    for folder, _, files in os.walk(start):
        for f in files:
            o = os.path.join(folder, f)
            source = os.path.join(ROOT, "src", os.path.relpath(o, start))[:-2]
            if f.endswith(".o") and os.path.exists(source + ".c") and os.path.relpath(o, start).split("/")[0] not in PROGRAMS:
                objects.append(o)
    listing = subprocess.run(["nm", "-A"] + objects, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    needs, has = collections.defaultdict(set), collections.defaultdict(set)
    for line in listing.splitlines():
        m = re.match(r"(.+?\.o):\s*[0-9a-f]*\s+(\w) (\S+)$", line)
        if m:
            o = os.path.relpath(m.group(1), start)[:-2]
            (needs[o] if m.group(2) == "U" else has[m.group(3)] if m.group(2) in "TDBRVWC" else set()).add(
                m.group(3) if m.group(2) == "U" else o)
    graph = {os.path.relpath(o, start)[:-2]: collections.defaultdict(set) for o in objects}
    for o, symbols in needs.items():
        for s in symbols:
            for d in has.get(s, ()):
                if d != o:
                    graph[o][d].add(s)
    return graph


def circles(graph):
    """Strongly connected components of more than one object, largest first (Tarjan)."""
    index, low, stack, on, out = {}, {}, [], set(), []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        on.add(v)
        for w in graph[v]:
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            found = []
            while not found or found[-1] != v:
                found.append(stack.pop())
                on.discard(found[-1])
            if len(found) > 1:
                out.append(sorted(found))

    sys.setrecursionlimit(20000)
    for v in graph:
        if v not in index:
            visit(v)
    return sorted(out, key=len, reverse=True)


def check_links(graph, problems):
    for o, targets in graph.items():
        for d, symbols in targets.items():
            if not may_need(o + ".c", d + ".c"):
                problems.append("%s needs %s of %s" % (o, ", ".join(sorted(symbols)), d))


# ---- the graph of rooms ------------------------------------------------------------------------------------------------


def room_graph(root, graph):
    """{room: {room: a reason}}: a room is a folder of src, and needs those whose headers its files include or whose symbols its objects ask for."""
    rooms = collections.defaultdict(dict)

    def need(a, b, why):
        x, y = room_name(a), room_name(b)
        if x != y:
            rooms[x].setdefault(y, why)
            rooms.setdefault(y, {})

    src = os.path.join(root, "src")
    for folder, _, files in os.walk(src):
        for name in sorted(f for f in files if f.endswith(SOURCE)):
            inside = os.path.relpath(os.path.join(folder, name), src)
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                for target in re.findall(r'^\s*#\s*include "([^"]+)"', f.read(), re.M):
                    path = target if "/" in target else os.path.join(os.path.dirname(inside), target)
                    if os.path.exists(os.path.join(src, path)):
                        need(inside, path, "%s includes %s" % (name, os.path.basename(path)))
    for o, targets in graph.items():
        for d, symbols in targets.items():
            need(o, d, "%s.c calls %s" % (os.path.basename(o), min(symbols)))
    return rooms


def a_circle(rooms, found):
    """The shortest way from the first room of a component back to itself, as text."""
    before, todo = {}, [found[0]]
    for a in todo:
        for b in sorted(set(rooms[a]) & set(found) - set(before)):
            before[b] = a
            todo.append(b)
    way = [found[0]]
    while len(way) < 2 or way[-1] != found[0]:
        way.append(before[way[-1]])
    way.reverse()
    return "; ".join("%s -> %s (%s)" % (a, b, rooms[a][b]) for a, b in zip(way, way[1:]))


def check_rooms(rooms, problems, still=(), whole=True):
    """No room needs itself by way of others. still: (pattern, reason) of rooms whose circles may stay. whole: the link graph is in rooms, not includes alone."""
    used = set()
    for found in circles(rooms):
        allowed = [p for p, _ in still if all(re.fullmatch(p, r) for r in found)]
        used.update(allowed)
        if not allowed:
            problems.append("rooms in a circle, %s: %s" % (", ".join(found), a_circle(rooms, found)))
    for pattern, reason in still:
        if whole and pattern not in used:
            problems.append("STILL allows circles of %s (%s); there are none: take the line out" % (pattern, reason))


def check_alone(build, graph, problems):
    """Each layer is a library of its own with nothing but the layers below it. Builds with sanitizers lack their runtime here: they are left out."""
    with tempfile.TemporaryDirectory() as folder:
        messages = os.path.join(build, "onnx", "onnx.pb-c.o")  # what protoc-c made
        onnx = [messages, "-lprotobuf-c"] if os.path.exists(messages) else []
        for layer, below in MAY_INCLUDE.items():
            objects = [os.path.join(build, "src", o + ".o") for o in graph if o.split("/")[0] in [layer] + below]
            command = ["cc", "-shared", "-Wl,-z,defs", "-o", os.path.join(folder, layer + ".so")] + objects + onnx + LIBRARIES
            if layer not in PROGRAMS and any(o.split("/")[0] == layer for o in graph):
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                if "__asan_" in done.stdout or "__tsan_" in done.stdout or "__ubsan_" in done.stdout:
                    return
                if done.returncode:
                    problems.append("%s/ does not link alone: %s" % (layer, "\n".join(done.stdout.splitlines()[:4])))


def report(sizes, graph, rooms):
    print("files  folder")
    for rel, n in sorted(sizes.items()):
        print("%5d  %s" % (n, rel))
    print("\ncircles of objects")
    for found in circles(graph):
        where = collections.Counter(os.path.dirname(o) for o in found)
        print("%5d  %s" % (len(found), ", ".join("%s %d" % r for r in sorted(where.items()))))
    print("\ncircles of rooms")
    for found in circles(rooms):
        print("%5d  %s" % (len(found), ", ".join(found)))
        for a in found:
            for b in sorted(set(rooms[a]) & set(found)):
                print("         %s -> %s: %s" % (a, b, rooms[a][b]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", help="build folder: its objects are looked at as well")
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    problems, paths, known = [], [], collections.defaultdict(list)
    for top in ("src", "tests", "bench", "examples", "include", "packaging", "python", "scripts"):
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            for f in files:
                known[f].append(os.path.relpath(os.path.join(folder, f), ROOT))
            paths += [os.path.join(folder, f) for f in files if top == "src" and f.endswith((".c", ".h", ".def"))]
    for path in sorted(paths):
        check(path, known, problems)
    sizes = check_folders(problems)
    check_documents(ROOT, known, problems)
    check_sorted(problems)
    check_tracked(ROOT, problems)
    layers_python.check_extension(ROOT, known, MENTION, problems)
    layers_python.check_circles("modules of python/ctsc", layers_python.import_graph(os.path.join(ROOT, "python", "ctsc")), circles, a_circle, problems)
    graph = link_graph(args.build) if args.build else {}
    rooms = room_graph(ROOT, graph)
    check_rooms(rooms, problems, STILL, whole=bool(args.build))
    if args.build:
        layers_python.check_circles("files of python/src", layers_python.call_graph(args.build), circles, a_circle, problems)
        check_links(graph, problems)
        check_alone(args.build, graph, problems)
        if args.report:
            report(sizes, graph, rooms)
    for p in problems:
        print(p)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
