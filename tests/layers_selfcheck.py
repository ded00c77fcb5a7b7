#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""layers_selfcheck.py - the checker of structure checked: each of its rules sees what is planted for it, in a source tree made here, and says nothing without it."""
import os
import subprocess
import sys
import tempfile
import unittest

import check_layers
import layers_python


def write(root, files):
    for name, text in files.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


class Rooms(unittest.TestCase):
    def problems(self, files, graph=None, still=()):
        found = []
        with tempfile.TemporaryDirectory() as root:
            write(root, files)
            check_layers.check_rooms(check_layers.room_graph(root, graph or {}), found, still)
        return found

    def test_down_only(self):
        self.assertEqual(self.problems({"src/a/low/x.h": "", "src/a/high/y.c": '#include "a/low/x.h"\n', "src/a/z.c": '#include "a/low/x.h"\n'}), [])

    def test_circle_of_includes(self):
        found = self.problems({"src/a/low/x.h": '#include "a/high/y.h"\n', "src/a/high/y.h": '#include "a/mid/z.h"\n', "src/a/mid/z.h": '#include "a/low/x.h"\n'})
        self.assertEqual(found, ["rooms in a circle, a/high, a/low, a/mid: a/high -> a/mid (y.h includes z.h); "
                                 "a/mid -> a/low (z.h includes x.h); a/low -> a/high (x.h includes y.h)"])

    def test_circle_of_an_include_and_a_symbol(self):
        """Neither kind alone makes it."""
        files = {"src/a/low/x.c": "", "src/a/high/y.h": "", "src/a/high/y.c": '#include "a/low/x.h"\n', "src/a/low/x.h": ""}
        self.assertEqual(self.problems(files), [])
        found = self.problems(files, {"a/low/x": {"a/high/y": {"y_begin"}}})
        self.assertEqual(found, ["rooms in a circle, a/high, a/low: a/high -> a/low (y.c includes x.h); a/low -> a/high (x.c calls y_begin)"])

    def test_folder_and_its_room(self):
        self.assertEqual(len(self.problems({"src/a/x.h": '#include "a/sub/y.h"\n', "src/a/sub/y.h": '#include "a/x.h"\n'})), 1)

    def test_allowed_while_it_lasts(self):
        circle = {"src/a/low/x.h": '#include "a/high/y.h"\n', "src/a/high/y.h": '#include "a/low/x.h"\n'}
        self.assertEqual(self.problems(circle, still=[(r"a/\w+", "known")]), [])
        self.assertEqual(len(self.problems(circle, still=[(r"a/low", "half of it")])), 2)
        found = self.problems({"src/a/low/x.h": ""}, still=[(r"a/\w+", "known")])
        self.assertEqual(found, [r"STILL allows circles of a/\w+ (known); there are none: take the line out"])


class Order(unittest.TestCase):
    def test_rooms(self):
        for a, b, may in (("runtime/interp/x.c", "runtime/code/y.h", True), ("runtime/code/x.c", "runtime/interp/y.h", False),
                          ("passes/x.c", "passes/pass/y.h", True), ("passes/fusion/x.c", "passes/y.h", False), ("codegen/lower/loops/x.c", "codegen/lower/y.h", False),
                          ("ir/graph/x.c", "ir/y.h", True), ("base/memory/x.c", "base/y.h", False), ("runtime/kernels/nn/x.c", "runtime/kernels/conv/y.h", True)):
            self.assertEqual(check_layers.may_need(a, b), may, (a, b))

    def test_folders(self):
        self.assertTrue(check_layers.may_need("runtime/code/x.c", "passes/forks.h"))
        self.assertFalse(check_layers.may_need("passes/x.c", "codegen/nest/nest.h"))


class Mentions(unittest.TestCase):
    KNOWN = {"log.c": ["src/base/log.c"], "move.h": ["src/runtime/kernels/engine/move.h"], "fuse.c": ["src/passes/fusion/fuse.c"]}

    def problems(self, inside, file):
        found = []
        check_layers.check_mention(inside, file, self.KNOWN, found)
        return found

    def test_there(self):
        for inside, file in (("runtime/x.c", "log.c"), ("runtime/x.c", "kernels/engine/move.h"), ("passes/x.c", "src/passes/fusion/fuse.c"), ("passes/x.c", "fuse.c")):
            self.assertEqual(self.problems(inside, file), [], file)

    def test_wrong_folder(self):
        self.assertEqual(self.problems("runtime/x.c", "kernels/move.h"), ["src/runtime/x.c: mentions kernels/move.h, which is not there"])
        self.assertEqual(self.problems("runtime/x.c", "gone.c"), ["src/runtime/x.c: mentions gone.c, which is not there"])

    def test_of_another_layer(self):
        """The server's map named a log.c, which is not the server's."""
        self.assertEqual(self.problems("serve/serve.h", "log.c"), ["src/serve/serve.h: mentions log.c, which is src/base/log.c: say where"])
        self.assertEqual(self.problems("serve/serve.h", "base/log.c"), [])


class Documents(unittest.TestCase):
    def test_paths(self):
        found, known = [], {"log.c": ["src/base/log.c"], "quad.h": ["src/runtime/kernels/engine/quad.h"]}
        with tempfile.TemporaryDirectory() as root:
            write(root, {"src/base/log.c": "", "README.md": "`base/log.c`, src/base/log.c, `engine/quad.h`, `code/__torch__.py`\n",
                         "docs/a.md": "`kernels/quad.h`, base/gone.c, `src/passes/gone.c`\n"})
            check_layers.check_documents(root, known, found)
        self.assertEqual(found, ["a.md names kernels/quad.h, which is not there", "a.md names src/base/gone.c, which is not there",
                                 "a.md names src/passes/gone.c, which is not there"])


class Package(unittest.TestCase):
    def problems(self, files):
        found = []
        with tempfile.TemporaryDirectory() as root:
            write(root, {"ctsc/__init__.py": "from . import _C, a\nfrom .a import *\n"} | {"ctsc/" + n: t for n, t in files.items()})
            graph = layers_python.import_graph(os.path.join(root, "ctsc"))
            layers_python.check_circles("modules", graph, check_layers.circles, check_layers.a_circle, found)
        return found

    def test_down_only(self):
        self.assertEqual(self.problems({"a.py": "from ._C import Tensor\nfrom . import _C\n", "b.py": "from .a import x\nimport ctsc.a\nimport os\n",
                                        "sub/__init__.py": "from .. import b\nfrom .c import y\n", "sub/c.py": "from ..a import x\n"}), [])

    def test_circle(self):
        found = self.problems({"a.py": "", "b.py": "from .c import x\n", "c.py": "\nimport ctsc.b as b\n"})
        self.assertEqual(found, ["modules in a circle, ctsc.b, ctsc.c: ctsc.b -> ctsc.c (b.py:1); ctsc.c -> ctsc.b (c.py:2)"])

    def test_circle_of_a_late_import(self):
        found = self.problems({"a.py": "def f():\n    from . import b\n    return b\n", "b.py": "from .a import f\n"})
        self.assertEqual(found, ["modules in a circle, ctsc.a, ctsc.b: ctsc.a -> ctsc.b (a.py:2); ctsc.b -> ctsc.a (b.py:1)"])

    def test_circle_with_the_package(self):
        self.assertEqual(len(self.problems({"a.py": "def f():\n    import ctsc\n    return ctsc.a\n"})), 1)

    def test_circle_by_what_is_put_at_an_end(self):
        self.assertEqual(len(self.problems({"a.py": "", "nn/x_more.py": "from ..b import y\n", "b.py": "from .nn.x import z\n"})), 1)


class Extension(unittest.TestCase):
    def test_circle_of_calls(self):
        with tempfile.TemporaryDirectory() as root:
            write(root, {"a.c": "void b(void);\nvoid c(void);\nvoid a(void) { b(); c(); }\n", "b.c": "void a(void);\nvoid b(void) { a(); }\n", "c.c": "void c(void) {}\n"})
            os.makedirs(os.path.join(root, "python", "obj"))
            for name in "abc":
                subprocess.run(["cc", "-c", name + ".c", "-o", "python/obj/%s.o" % name], cwd=root, check=True)
            found = []
            layers_python.check_circles("files", layers_python.call_graph(root), check_layers.circles, check_layers.a_circle, found)
        self.assertEqual(found, ["files in a circle, a, b: a -> b (b); b -> a (a)"])

    def test_openings_and_mentions(self):
        found, known = [], {"log.c": ["src/base/log.c"], "ctsc.h": ["include/ctsc.h"]}
        opening = "/* SPDX-License-Identifier: Apache-2.0 */\n/* %s - what it is for. */\n"
        with tempfile.TemporaryDirectory() as root:
            write(root, {"python/src/a.c": opening % "a.c" + "/* as ctsc.h, base/log.c and log.c have it */\n", "python/src/b.c": opening % "a.c"})
            layers_python.check_extension(root, known, check_layers.MENTION, found)
        self.assertEqual(found, ["python/src/a.c: mentions log.c, which is not there", "python/src/b.c: does not open with the SPDX line and its name"])


class Tracked(unittest.TestCase):
    def problems(self, files):
        found = []
        with tempfile.TemporaryDirectory() as root:
            write(root, files)
            for command in (["init", "-q"], ["add", "-A"]):
                subprocess.run(["git"] + command, cwd=root, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            write(root, {"build/untracked.bin": "x" * (check_layers.TRACKED + 1)})
            check_layers.check_tracked(root, found)
        return found

    def test_sizes_and_packages(self):
        self.assertEqual(self.problems({"models/large.pt": "x" * (check_layers.TRACKED + 1), "src/x.c": "x" * check_layers.TRACKED}), [])
        found = self.problems({"tests/large.bin": "x" * (check_layers.TRACKED + 1), "dist/a.whl": "x"})
        self.assertEqual(found, ["dist/a.whl: a package is made, not tracked",
                                 "tests/large.bin: 1048577 bytes are tracked; only models/ may have files of more than 1048576"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
