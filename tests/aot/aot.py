#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs compiled ahead of time against the interpreter, bit for bit.

    python3 tests/aot/aot.py --build build [--cpu avx2] [--corpus DIR] [--only NAME] [-v] [--time]
    python3 tests/aot/aot.py --build build --arm64 build-arm64     objects for arm64, run under QEMU; their reference is the interpreter there

A case is compiled (ctsc compile --aot), linked with tests/aot/driver.c and the run-time library, and run on what tests/aot/reference.c, the interpreter at
level 3, was given; each byte of each result must be the same. A model that the compiler refuses must be in the list of those (REFUSED), with a reason that the
message has.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "tests", "aot")

# Networks with arguments: "float32 4 1 8 8". $0 and $1 are named dims, whose values are in the third column: those that the program is compiled for first.
CASES = [
    ("models/digits_cnn.pt", ["float32 4 1 8 8"]),
    ("examples/models/resnet18.py", ["float32 1 3 64 64"]),
    ("examples/models/lenet.py", ["float32 2 1 28 28"]),
    ("examples/models/mobilenet_v2.py", ["float32 1 3 64 64"]),
    ("examples/models/gpt.py", ["int64 1 16"]),
    ("examples/models/lstm_lm.py", ["int64 6 2"]),
    ("examples/models/unet.py", ["float32 1 3 32 32"]),
    ("examples/models/wavenet.py", ["int64 1 64"]),
    ("examples/models/dcgan.py", ["float32 2 100 1 1"]),
    ("tests/aot/branches.py", ["float32 3 5"]),
    ("tests/aot/mlp.py", ["float32 7 20"]),
    ("tests/aot/small.py", ["float32 2 3 9 9"]),
    ("tests/aot/encoder.py", ["float32 2 10 32"]),
    ("tests/aot/recurrent.py", ["float32 2 10 12"]),
    ("tests/aot/operators.py", ["float32 4 9"]),
    ("tests/aot/in_place.py", ["float32 512 512"]),
    ("tests/aot/half.py", ["float32 3 3 12 12"]),
    ("tests/aot/half.py", ["float32 $0 3 12 12"], [(4,), (1,), (3,)]),
    ("models/digits_cnn.pt", ["float32 $0 1 8 8"], [(16,), (1,), (2,), (7,)]),
    ("tests/aot/encoder.py", ["float32 $0 $1 32"], [(3, 30), (1, 2), (1, 30), (2, 13), (3, 29)]),
    ("tests/aot/recurrent.py", ["float32 $0 $1 12"], [(4, 12), (1, 2), (4, 3), (3, 12)]),
]
# What is refused, and what the message has.
REFUSED = [
    ("examples/models/transformer_encoder.py", ["int64 2 12"], "aten::str cannot be compiled ahead of time for libctsc-rt: it has no such operator"),
    ("tests/corpus/quantized/static_convnet_script/model.pt", ["@inputs.pt"], "aten::quantize_per_tensor"),
    ("tests/corpus/quantized/dynamic_mlp_script/model.pt", ["@inputs.pt"], "quantized::"),
]


LARGEST = 300 << 10  # bytes of libctsc-rt.a, stripped
# What the run-time library may ask for (docs/aot.md).
MEMORY = set("memcpy memmove memset memcmp strcmp strlen _GLOBAL_OFFSET_TABLE_".split())
LIBM = {stem + suffix for stem in ("acos acosh asin asinh atan atan2 atanh cos cosh erf erfc exp exp2 expm1 fmin fmod fmax frexp hypot ldexp lgamma lgamma_r log log10 "
                                   "log1p log2 modf nextafter pow remainder round sin sincos sinh tan tanh tgamma cabs cacos cacosh casin casinh catan catanh ccos "
                                   "ccosh cexp clog cpow csin csinh csqrt ctan ctanh").split() for suffix in ("", "f")}
LIBM |= set("__divti3 __udivti3 __muldc3 __divdc3 __mulsc3 __divsc3".split())


class Failed(Exception):
    pass


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=500, **more)
    if done.returncode:
        raise Failed("%s: %s" % (os.path.basename(command[0]), (done.stderr or done.stdout).strip().splitlines()[-3:] or done.returncode))
    return done


class Bench:
    def __init__(self, args):
        self.args = args
        self.build = os.path.join(ROOT, args.build)
        self.cpu = args.cpu or "host"
        self.folder = tempfile.mkdtemp(prefix="ctsc-aot-")
        self.target = os.path.join(ROOT, args.arm64) if args.arm64 else self.build
        self.cc = ["aarch64-linux-gnu-gcc", "--sysroot=" + self.target + "/sysroot"] if args.arm64 else ["cc"]
        self.strip, self.ld, self.nm = [("aarch64-linux-gnu-" if args.arm64 else "") + t for t in ("strip", "ld", "nm")]
        self.qemu = ["qemu-aarch64", "-L", self.target + "/sysroot"] if args.arm64 else []
        self.env = dict(os.environ, CTSC_CACHE=os.path.join(self.folder, "cache"), CTSC_JIT=os.path.join(self.target, "libctsc-jit.so"))
        self.reference = os.path.join(self.folder, "reference")
        # of the run-time library's sets, that which programs are compiled for; interpreters of more multiply pairs of bfloat16
        notes = run([self.build + "/ctsc", "compile", ROOT + "/models/digits_cnn.pt", "--aot", self.folder + "/net.o", "--input", "float32[1,1,8,8]:rand"] + self.options())
        self.best = self.isa_of(notes.stderr)
        libraries = ["-lopenblas", "-lm", "-lprotobuf-c", "-lzip", "-ljansson", "-lz", "-ldl", "-pthread"]
        run(self.cc + ["-O1", "-I" + ROOT + "/include", HERE + "/reference.c", "-o", self.reference, self.target + "/libctsc.a", "-rdynamic"] + libraries)

    def sets(self, isa):
        return os.path.join(self.target, "rt", isa)

    def options(self):
        return (["--arch", "arm64"] if self.args.arm64 else []) + (["--cpu", self.args.cpu] if self.args.cpu else [])

    def isa_of(self, notes):
        return re.search(r" for (\w+): net,", notes).group(1)

    def link(self, work, name, sizes_in, sizes_out, isa, dims=()):
        values = ", ".join(str(d) for d in dims)
        defines = ["-DHEADER=\"%s.h\"" % name, "-DSIZES_IN=" + "".join("%s," % s for s in sizes_in), "-DSIZES_OUT=" + "".join("%s," % s for s in sizes_out),
                   "-DWORKSPACE=%s_WORKSPACE" % name.upper(), "-DCALL(w)=%s(in, out, w%s)" % (name, ", " + values if values else "")]
        run(self.cc + ["-O1", "-I" + work, HERE + "/driver.c", os.path.join(work, name + ".o"), "-o", os.path.join(work, "driver"), "-L" + self.sets(isa),
                       "-lctsc-rt-more", "-lctsc-rt", "-lctsc-rt-cpu", "-lm", "-Wl,--gc-sections"] + defines)
        return os.path.join(work, "driver")

    def bare(self, work):
        """Without a C library: the library asks for nothing but what tests/aot/bare.c has."""
        self.interpret(os.path.join(ROOT, "models/digits_cnn.pt"), work, ["float32 2 1 8 8"], ())
        command = [self.build + "/ctsc", "compile", ROOT + "/models/digits_cnn.pt", "--aot", work + "/net.o", "--inputs", work + "/inputs.pt"]
        notes = run(command + self.options()).stderr
        defines = ["-DHEADER=\"net.h\"", "-DIN=\"%s/in0\"" % work, "-DOUT=\"%s/out0\"" % work, "-DWORKSPACE=NET_WORKSPACE", "-DOUT_BYTES=NET_OUT0_BYTES",
                   "-DCALL(w)=net(in, out, w)"]
        run(self.cc + ["-O1", "-I" + work, "-ffreestanding", "-fno-pie", "-nostdlib", "-static", "-no-pie", HERE + "/bare.c", work + "/net.o", "-o", work + "/bare",
                       "-L" + self.sets(self.isa_of(notes)), "-lctsc-rt-more", "-lctsc-rt", "-lctsc-rt-cpu", "-lgcc", "-Wl,--gc-sections"] + defines)
        run(self.qemu + [work + "/bare"])
        run([self.strip, work + "/bare"])
        return "bare: %d bytes" % os.path.getsize(work + "/bare")

    def sizes(self):
        """libctsc-rt.a is below its bound, and no part of the library allocates memory or reads files."""
        for folder in sorted(glob.glob(os.path.join(self.target, "rt", "*", ""))):
            core = os.path.join(self.folder, "core.a")
            shutil.copy(folder + "libctsc-rt.a", core)
            run([self.strip, "--strip-unneeded", core])
            if os.path.getsize(core) > LARGEST:
                raise Failed("%slibctsc-rt.a: %d bytes" % (folder, os.path.getsize(core)))
            for name, allowed in (("libctsc-rt.a libctsc-rt-cpu.a", MEMORY), ("libctsc-rt.a libctsc-rt-cpu.a libctsc-rt-more.a", MEMORY | LIBM)):
                whole = os.path.join(self.folder, "whole.o")
                run([self.ld, "-r", "-z", "muldefs", "--whole-archive"] + [folder + n for n in name.split()] + ["-o", whole])
                needed = {line.split()[-1] for line in run([self.nm, "-u", whole]).stdout.splitlines()}
                if needed - allowed:
                    raise Failed("%s of %s need %s" % (name, folder, ", ".join(sorted(needed - allowed))))
        return "sizes, and what is needed"

    def interpret(self, path, work, arguments, dims, cpu=None):
        """Writes arguments and results of the interpreter to the folder `work`."""
        sized = [re.sub(r"\$(\d)", lambda m: str(dims[int(m.group(1))]), a) for a in arguments]
        run(self.qemu + [self.reference, path, work, cpu or self.cpu] + sized, env=self.env)

    def case(self, model, arguments, values=()):
        """The driver's output; Failed says what went wrong."""
        work = tempfile.mkdtemp(dir=self.folder)
        path = os.path.join(ROOT, model)
        cpu = self.best if "half" in model else None
        arguments = ["@" + os.path.join(os.path.dirname(path), a[1:]) if a.startswith("@") else a for a in arguments]
        if model.endswith(".py"): # weights of 16 bits are packed where they are constants
            run([self.build + "/ctsc", "compile", path, "-o", work + "/m.pt"] + (["--freeze"] if "half" in model else []))
            path = work + "/m.pt"
        self.interpret(path, work, arguments, values[0] if values else (), cpu)
        command = [self.build + "/ctsc", "compile", path, "--aot", work + "/net.o", "--inputs", work + "/inputs.pt"]
        command += self.options()
        for k in range(len(values[0]) if values else 0):
            places = ["%d.%d" % (i, d) for i, a in enumerate(arguments) for d, w in enumerate(a.split()[1:]) if w == "$%d" % k]
            command += ["--dim", "d%d=%s" % (k, ",".join(places))]
        notes = run(command).stderr
        isa = self.isa_of(notes)
        with open(work + "/net.h", encoding="utf-8") as f:
            header = f.read()
        counts = [len(re.findall(r"#define NET_%s\d+_BYTES" % w, header)) for w in ("IN", "OUT")]
        results = []
        for k, dims in enumerate(values or [()]):
            if k:
                self.interpret(path, work, arguments, dims, cpu)
            of = "(%s)" % ", ".join(map(str, dims)) if dims else ""
            sizes = [["NET_%s%d_BYTES%s" % (w, i, of) for i in range(n)] for w, n in zip(("IN", "OUT"), counts)]
            program = self.link(work, "net", sizes[0], sizes[1], isa, dims)
            results.append(run(self.qemu + [program, work] + (["30"] if self.args.time else [])).stdout.strip())
        size = os.path.getsize(work + "/net.o")
        shutil.rmtree(work)
        return "%s, %d bytes" % (", ".join(results), size)


def corpus_cases(folder):
    for path in sorted(glob.glob(os.path.join(folder, "*", "model.pt"))):
        at = os.path.dirname(path)
        if os.path.exists(at + "/inputs.pt") and os.path.exists(at + "/expected.pt"):
            yield os.path.relpath(path, ROOT), ["@inputs.pt"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--cpu")
    parser.add_argument("--arm64", help="build folder of make cross")
    parser.add_argument("--corpus", help="a folder of cases of the corpus instead")
    parser.add_argument("--only", default="")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args()
    bench = Bench(args)
    passed, refused, failed = 0, 0, []
    cases = [(c + ((), None))[:4] if len(c) == 2 else c + (None,) for c in CASES] + [(m, a, (), why) for m, a, why in REFUSED]
    if args.corpus:
        cases = [(m, a, (), "") for m, a in corpus_cases(args.corpus)]
    for model, arguments, values, why in cases:
        if args.only not in model:
            continue
        try:
            said = bench.case(model, arguments, values)
            if why:
                raise Failed("it is not refused")
            passed += 1
            if args.v or args.time:
                print("ok   %s: %s" % (model, said), flush=True)
        except (Failed, subprocess.TimeoutExpired, AttributeError) as e:
            if why is not None and why in str(e) and "cannot" in str(e):
                refused += 1
                if args.v:
                    print("refused %s: %s" % (model, e), flush=True)
            else:
                failed.append(model)
                print("FAIL %s: %s" % (model, e), flush=True)
    for check in (() if args.corpus or args.only else (bench.sizes, lambda: bench.bare(tempfile.mkdtemp(dir=bench.folder)))):
        try:
            said = check()
            passed += 1
            if args.v:
                print("ok   " + said)
        except Failed as e:
            failed.append("")
            print("FAIL %s" % e)
    shutil.rmtree(bench.folder)
    print("%d passed, %d refused, %d failed" % (passed, refused, len(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
