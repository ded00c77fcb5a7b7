#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What LLVM's models of ARM64 processors say of the innermost loops of micro-kernels (docs/arm64.md): make arm64-report.

    python3 bench/arm64.py --build build-arm64 [--objdump aarch64-linux-gnu-objdump] [--mca llvm-mca-19]

A row is a loop of the compiled object: its multiply-adds, loads, accesses of the stack (spilled registers), and per processor the cycles of an
iteration and what part of its multiply-adds' highest rate that is. No time is measured, so the rows are the same on every machine.
"""
import argparse
import os
import re
import subprocess
import sys

# object, function, how its multiply-adds are called, what the row is called
KERNELS = [
    ("gemm/gemm_neon", "gemm_float_whole_12", "fmla", "float32 product, packed, 12 x 8"),
    ("gemm/gemm_neon", "gemm_float_rows_whole_12", "fmla", "float32 convolution, rows, 12 x 8"),
    ("gemm/gemm_neon", "gemm_float_lying_whole", "fmla", "float32 product, unpacked, 12 x 8"),
    ("gemm/gemm_neon", "gemm_float_narrow_12", "fmla", "float32 convolution, rows, 12 x 4"),
    ("gemm/gemm_neon", "gemm_float_groups_12", "fmla", "float32 groups, 12 x 4"),
    ("gemm/gemm_neon", "gemm_float_dot_6", "fmla", "float32 product, along k, 6 x 4"),
    ("gemm/gemm_neon", "gemm_double_whole_12", "fmla", "float64 product, packed, 12 x 4"),
    ("gemm/gemm_neon", "gemm_double_lying_whole", "fmla", "float64 product, unpacked, 12 x 4"),
    ("gemm/gemm_neon", "gemm_double_dot_6", "fmla", "float64 product, along k, 6 x 4"),
    ("gemm/widen_neon", "f16_neon_tile", "fmla", "float16 weights, 6 rows"),
    ("gemm/widen_neon", "bf16_neon_tile", "fmla", "bfloat16 weights, 6 rows"),
    ("quad/bytes_neon", "quant_i8mm_tile", "sudot", "bytes, i8mm, 6 x 16"),
    ("quad/bytes_neon", "quant_dotprod_tile", "sdot", "bytes, dotprod, 6 x 16"),
    ("quad/bytes_neon", "quant_neon_tile", "smull|sadalp", "bytes, neon, 2 x 16"),
    ("quad/bf16_neon", "bf16_neon_tile", "bfdot", "bfloat16, bfdot, 6 x 16"),
    ("gemm/nbits_neon", "nbits_dotprod_whole", "sdot", "4-bit weights, dotprod, 2 rows"),
]
# LLVM's name, ours, vector units that multiply. There is no model of Cortex-A76, which Neoverse N1 is the server's form of.
PROCESSORS = [("neoverse-n1", "Cortex-A76, Neoverse N1", 2), ("neoverse-v1", "Neoverse V1", 4), ("neoverse-v2", "Neoverse V2", 4)]
BRANCH = re.compile(r"(?:b\.\w+|cbn?z|tbn?z|b)\s+(?:[wx]\d+, )?(?:#\w+, )?([0-9a-f]+) <")


def functions(objdump, path):
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    for part in re.split(r"\n(?=[0-9a-f]+ <)", text):
        head = re.match(r"[0-9a-f]+ <(.*)>:", part)
        if head:
            yield head.group(1), [(int(a, 16), re.sub(r"\s+", " ", t.split("//")[0]).strip()) for a, t in re.findall(r"^\s*([0-9a-f]+):\t(.*)$", part, re.M)]


def loops(lines):
    """The instructions of each loop without another jump inside."""
    place = {address: i for i, (address, _) in enumerate(lines)}
    for i, (_, text) in enumerate(lines):
        jump = BRANCH.match(text)
        begin = place.get(int(jump.group(1), 16)) if jump else None
        if begin is not None and begin <= i:
            body = [t for _, t in lines[begin:i + 1]]
            if not any(re.match(r"(b\.\w+|cbn?z|tbn?z|b|bl|blr|ret)\b", t) for t in body[:-1]):
                yield body


def cycles(mca, processor, body):
    done = subprocess.run([mca, "-mtriple=aarch64", "-mcpu=" + processor, "-mattr=+bf16,+i8mm,+dotprod", "-iterations=200"], input="\n".join(body[:-1]) + "\n",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    found = re.search(r"Total Cycles:\s+(\d+)", done.stdout)
    if not found:
        sys.exit("%s does not understand a loop: %s" % (mca, done.stderr[:500]))
    return int(found.group(1)) / 200


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", default="build-arm64")
    ap.add_argument("--objdump", default="aarch64-linux-gnu-objdump")
    ap.add_argument("--mca", default="llvm-mca-19")
    args = ap.parse_args()
    print("| loop | multiply-adds | loads | stack | %s |" % " | ".join(name for _, name, _ in PROCESSORS))
    print("| --- " * (4 + len(PROCESSORS)) + "|")
    known = {}
    for path, function, multiply, name in KERNELS:
        if path not in known:
            known[path] = dict(functions(args.objdump, os.path.join(args.build, "src", "cpu", path + ".o")))
        count = lambda body: sum(bool(re.match(r"(%s)2?\b" % multiply, t)) for t in body)
        found = list(loops(known[path].get(function, [])))
        if not found:
            sys.exit("%s has no loop in %s" % (path, function))
        body = max(found, key=count)
        row = [name, count(body), sum(t.startswith(("ldr", "ldp", "ldur", "ld1")) for t in body), sum("[sp" in t for t in body)]
        for processor, _, units in PROCESSORS:
            took = cycles(args.mca, processor, body)
            row.append("%.1f, %.0f %%" % (took, 100 * row[1] / units / took))
        print("| %s |" % " | ".join(map(str, row)))


if __name__ == "__main__":
    main()
