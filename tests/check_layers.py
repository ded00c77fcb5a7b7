#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of structure that docs/architecture.md states: who may include whom, how files open, what follows the host program's locale."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# folder of src/ -> folders whose headers it may include (besides its own and the public headers)
MAY_INCLUDE = {
    "base": [],
    "tensor": ["base"],
    "ir": ["base", "tensor"],
    "frontend": ["base", "tensor", "ir"],
    "passes": ["base", "tensor", "ir"],
    "codegen": ["base", "tensor", "ir"],
    "cuda": ["base"],
    "runtime": ["base", "tensor", "ir", "frontend", "passes", "codegen", "cuda"],
    "cli": ["serve"],
    "serve": [],
}
PUBLIC = {"ctsc.h", "ctsc_compiler.h"}
# What setlocale changes: the library has base/text.h instead. The command and the server are programs of their own.
LOCALE = re.compile(r"\b(?<!STR_TEST\()(?<!STRING_CLASS\()(strto(d|f|ld)|atof|is(alpha|alnum|space|upper|lower|print|punct|graph)|to(upper|lower)|strn?casecmp)(?=[(),])"
                    r"|(?<!\w)v?snprintf\([^\"]*\"[^\"]*%[-+ #0]*[0-9.*]*l?[gGeEfF]")
PROGRAMS = {"cli", "serve"}
LONGEST = 1000  # lines; a longer file must say why in its opening comment


def check(path, problems):
    rel = os.path.relpath(path, ROOT)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if not text.startswith("/* SPDX-License-Identifier: Apache-2.0 */"):
        problems.append("%s: does not open with the SPDX line" % rel)
    folder = rel.split(os.sep)[1]
    for n, line in enumerate(text.splitlines(), 1):
        found = LOCALE.search(line)
        if found and folder not in PROGRAMS and os.path.basename(rel) not in ("text.c", "text.h"):
            problems.append("%s:%d: %s follows the program's locale; base/text.h does not" % (rel, n, found.group(0)))
        m = re.match(r'\s*#include "([^"]+)"', line)
        if not m or m.group(1) in PUBLIC:
            continue
        target = m.group(1).split("/")[0] if "/" in m.group(1) else folder
        if target != folder and target not in MAY_INCLUDE[folder]:
            problems.append('%s:%d: %s/ may not include "%s"' % (rel, n, folder, m.group(1)))
    for test in re.findall(r"\btest_\w+\.c\b", text.split("*/")[1] if text.count("*/") > 1 else ""):
        if not os.path.exists(os.path.join(ROOT, "tests", "unit", test)):
            problems.append("%s: names %s, which is not there" % (rel, test))
    if text.count("\n") > LONGEST and "long because" not in text[:3000]:
        problems.append("%s: %d lines without a reason (a comment 'long because ...' at the top)" %
                        (rel, text.count("\n")))


def main():
    problems = []
    for folder, _, files in os.walk(os.path.join(ROOT, "src")):
        for name in files:
            if name.endswith((".c", ".h", ".def")):
                check(os.path.join(folder, name), problems)
    for p in problems:
        print(p)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
