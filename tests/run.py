#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every test and closes with "N passed, N failed", and how many were skipped if any were.

    python3 tests/run.py --build build [--only unit,ir,cli,corpus,layers] [-v]
    python3 tests/run.py --build build --only unit:base+api,cli:doctor        (of the unit tests only test_base and test_api, of tests/cli only doctor.test)

Groups:
  layers  the dependency rules of docs/architecture.md (tests/check_layers.py), and whether they are seen (tests/layers_selfcheck.py)
  format  the C files are as `make format` sets them; in a checkout, where clang-format-19 is installed
  docs    docs/operators.md says what the tables of operators say (make docs); the commands of README.md and of the pages do what these say (tests/pages.py)
  unit    tests/unit/test_*.c, cmocka programs
  ir      tests/ir, IR text through lit and FileCheck
  cli     tests/cli, the command's behaviour through lit and FileCheck
  corpus  tests/corpus, archives with inputs and results from real PyTorch
  onnx      tests/onnx: models against ONNX Runtime's results at every --opt level, written again; programs written and read
  exported  tests/pt2/archives, programs of torch.export with arguments and results, at every --opt level, and converted to TorchScript
  passes  the same archives after passes of the optimiser, each alone and all together: the results stay
  lang    tests/lang, programs with what they print, or the errors they must give, beside the line
  source  the same programs compiled from their source.py: results, and graphs against PyTorch's graph.txt
  examples  every file of examples/models compiles and runs
  demo    the demo's numbers
  grad    derivatives against finite differences (tests/autograd/gradcheck.py)
  trace   examples/trace.c: a network written in C, traced, saved and run from the archive
  train   examples/train.c: a network trained in C
  serve   the inference server, asked by a client over every endpoint (tests/serve/client.py)
  view    what `ctsc view` draws against what `ctsc graph` prints, its layout where there is node, its pages where there is chromium (tests/view)
  aot     programs compiled ahead of time against the interpreter, bit for bit (tests/aot/aot.py); not with sanitizers
  threads one module run by several threads at once (tests/threads/threads.c), for a few seconds
  install what `make install` puts in place, used with pkg-config, C++ and CMake; not with sanitizers
  supply  what is built says nothing of its folder, and is the same when built again (tests/reproducible.py); the bill of materials (tests/sbom.py); not with sanitizers
  places  the command and the package from wherever they are called, the project in a folder with a space (tests/places.py); not with sanitizers
  python  the Python package, by pytest (tests/python) in an environment without other packages (tests/environment.py), and a wheel of it in a virtual environment; with AddressSanitizer where the package has been built with it
  diff    random graphs, plain and optimised, must do the same (tests/diff); a short run from fixed seeds
  check   the one-minute test (make check): all unit tests but the slowest (SLOW), and the command on a model, on source and on wrong usage; only where asked for
  sample  of each --opt level some programs of corpus, source and lang, and of all of them one with all schedules of kernels, with one thread and two
  levels  all programs of corpus, source and lang at every --opt level, with one thread and two; only where asked for (make test-levels)

tests/machines.py runs these groups as other machines would (make test-machines).
"""
import argparse
import concurrent.futures
import difflib
import glob
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

import environment as python_home
from cases import Differences, raised, read_case, reports

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
LIT = "/usr/lib/llvm-19/build/utils/lit/lit.py"
FAILED = 1  # exit status of a program that raised an error; what ctsc lacks is another
DIFFERS = Differences(os.path.join(HERE, "corpus", "differs.txt"))
NUMBER = re.compile(r"(-?(?:\d+\.\d*|\.\d+|\d+)(?:e[+-]?\d+)?)")


class Tally:
    def __init__(self, verbose):
        self.passed = self.failed = self.skipped = 0
        self.verbose = verbose

    def add(self, group, name, ok, text=""):
        self.passed += ok
        self.failed += not ok
        if not ok:
            print("FAIL %s/%s\n%s" % (group, name, text.rstrip()[-4000:]))
        elif self.verbose:
            print("ok   %s/%s" % (group, name))

    def skip(self, group, name, count=1):
        self.skipped += count
        print("SKIP %s/%s" % (group, name))

    def counts(self):
        return self.passed, self.failed, self.skipped


def environment(args):
    env = dict(os.environ)
    env["CTSC"] = os.path.join(args.build, "ctsc")
    env["ASAN_OPTIONS"] = "detect_leaks=1:allocator_may_return_null=1:strict_string_checks=1"
    env["LSAN_OPTIONS"] = "suppressions=%s" % os.path.join(HERE, "lsan.supp")
    env["UBSAN_OPTIONS"] = "print_stacktrace=1"
    env["TSAN_OPTIONS"] = "suppressions=%s" % os.path.join(HERE, "tsan.supp")
    return env


# What LeakSanitizer says when it crashes itself, as it may when it looks at the threads of a process that ends. That tells nothing of the program.
LSAN_CRASHED = "LeakSanitizer has encountered a fatal error"
LSAN_TRIES = 3


def run(cmd, env, timeout=1200):
    for _ in range(LSAN_TRIES):
        done = run_once(cmd, env, timeout)
        if LSAN_CRASHED not in done[1] + done[2]:
            break
    return done


def run_once(cmd, env, timeout):
    try:
        p = subprocess.run(cmd, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=timeout)
        return p.returncode, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        return -99, "", "timeout after %d s" % timeout


def group_layers(tally, args, env):
    code, out, err = run([sys.executable, os.path.join(HERE, "check_layers.py"), "--build", args.build], env)
    tally.add("layers", "includes", code == 0, out + err)
    code, out, err = run([sys.executable, os.path.join(HERE, "layers_selfcheck.py")], env)
    tally.add("layers", "the checker itself", code == 0, out + err)


def group_format(tally, args, env):
    if not shutil.which("clang-format-19") or not os.path.exists(os.path.join(ROOT, ".git")):
        print("format: clang-format-19 is not installed, or this is not a checkout: nothing was looked at")
        return
    code, out, err = run([sys.executable, os.path.join(ROOT, "scripts", "format"), "--check"], env, 120)
    tally.add("format", "C files", code == 0, out + err)


def group_docs(tally, args, env):
    code, out, err = run([env["CTSC"], "ops", "--markdown"], env)
    with open(os.path.join(ROOT, "docs", "operators.md"), encoding="utf-8") as f:
        have = f.read()
    diff = "\n".join(difflib.unified_diff(have.split("\n"), out.split("\n"), "docs/operators.md", "ctsc ops --markdown", n=0, lineterm=""))
    tally.add("docs", "operators.md", code == 0 and have == out, "%s\n%s\n'make docs' makes it anew" % (err, diff[-2000:]))
    code, out, err = run([env["CTSC"], "doctor", "--json"], env)
    settings = [(s["name"], s["values"]) for s in json.loads(out)["settings"]] if code == 0 else []
    missing = []
    for name in ("debugging.md", "ctsc.1"):
        with open(os.path.join(ROOT, "docs", name), encoding="utf-8") as f:
            text = f.read()
        missing += ["docs/%s has no %s=%s" % (name, v, values) for v, values in settings
                    if ("| `%s` | %s |" % (v, ", ".join("`%s`" % x for x in values.split("|"))) if name.endswith(".md") else ".BR %s = %s\n" % (v, values)) not in text]
    tally.add("docs", "variables", bool(settings) and not missing, "\n".join([err] + missing))
    code, out, err = run([sys.executable, os.path.join(HERE, "pages.py"), "--build", args.build] + (["--no-make"] if args.sanitizer else []), env)
    counts = re.search(r"^(\d+) passed, (\d+) failed", out, re.M)
    tally.passed += int(counts.group(1)) if counts else 0
    tally.failed += int(counts.group(2)) if counts else 1
    if code:
        print(out + err)


def group_unit(tally, args, env):
    programs = sorted(glob.glob(os.path.join(HERE, "unit", "test_*.c")))
    names = [os.path.splitext(os.path.basename(p))[0] for p in programs]
    names = [n for n in names if not args.programs or n[len("test_"):] in args.programs]
    names.sort(key=lambda n: n[len("test_"):] not in SLOW)  # so that none of them is alone at the end
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        done = pool.map(lambda n: run([os.path.join(args.build, "tests", "unit", n)], env), names)
        for name, (code, out, err) in zip(names, done):
            text = out + err
            ok = re.search(r"\[  PASSED  \] (\d+) test", text)
            bad = re.search(r"\[  FAILED  \] (\d+) test", text)
            good = int(ok.group(1)) if ok else 0
            failed = int(bad.group(1)) if bad else 0
            skipped = re.findall(r"^\[  SKIPPED \] (?!\d+ test)(\w+)|^(skipped: .*)", text, re.M)
            skipped = [test or why for test, why in skipped]
            if (code != 0 and failed == 0) or not (good or failed or skipped):
                failed = 1
            tally.passed += good
            tally.failed += failed
            for test in sorted(set(skipped)):
                tally.skip("unit", "%s: %s" % (name, test))
            if failed:
                print("FAIL unit/%s (exit %d)\n%s" % (name, code, text.rstrip()[-6000:]))
            elif tally.verbose:
                print("ok   unit/%s: %d" % (name, good))


# Unit tests that take most of the time of all; make check leaves them out.
SLOW = """
    amx attention block_plan codegen compile_faults conv_last conv_last_depthwise cuda_blas cuda_dense cuda_device cuda_emit cuda_grad
    cuda_recording cuda_replay damage export exported faults fft gemm_bf16 gemm_block grad_limits grad_program group group_blocks limits
    linear_epilogue linear_half linear_nbits nbits optimizer pickle precision ptq py quantized_bytes quantized_plain sparse
""".split()


def group_check(tally, args, env):
    args.programs = [n for n in (os.path.basename(p)[len("test_"):-2] for p in glob.glob(os.path.join(HERE, "unit", "test_*.c"))) if n not in SLOW]
    group_unit(tally, args, env)
    group_demo(tally, args, env)
    args.programs = ["usage", "inputs", "show", "hint"]
    group_lit(tally, args, env, "cli")


def group_lit(tally, args, env, folder):
    chosen = ["--filter", r"(^|/)(%s)\.(ir|test)$" % "|".join(map(re.escape, args.programs))] if args.programs else []
    code, out, err = run([sys.executable, LIT, "-sv", "-j%d" % args.jobs, *chosen, os.path.join(HERE, folder)], env)
    text = out + err
    count = lambda word: sum(int(n) for n in re.findall(r"^\s*%s\s*:\s*(\d+)" % word, text, re.M))
    good = count("Passed")
    bad = count("Failed") + count("Unresolved") + count("Timed Out")
    if code != 0 and not bad:
        bad = 1
    tally.passed += good
    tally.failed += bad
    if bad or tally.verbose:
        print(text.rstrip()[-8000:])


def same_text(got, want, rtol, atol):
    """Equal text, except that printed floating-point numbers may differ by the tolerance."""
    a, b = NUMBER.split(got), NUMBER.split(want)
    if len(a) != len(b):
        return False
    for i, (x, y) in enumerate(zip(a, b)):
        if x == y:
            continue
        if i % 2 == 0 or not ("." in y or "e" in y):
            return False
        if abs(float(x) - float(y)) > atol + rtol * abs(float(y)):
            return False
    return True


def inside(folder):
    """A case's name."""
    return os.path.relpath(folder, os.path.join(HERE, "corpus"))


def corpus_case(folder, env, model, threads=1, more=()):
    """Runs model (what stands before the inputs on the command line) on a case's inputs."""
    case = read_case(folder)
    cmd = [env["CTSC"], "run"] + model + ["--inputs", os.path.join(folder, "inputs.pt"), "--threads", str(threads)]
    cmd += ["--quantized-engine", case["engine"]] if "engine" in case else []
    cmd += list(more)
    if case["raises"] is None:
        cmd += ["--expect", os.path.join(folder, "expected.pt"), "--rtol", repr(case["rtol"]), "--atol",
                repr(case["atol"])]
    code, out, err = run(cmd, env, 300)
    ok, why = code == 0, ""
    if case["raises"] is not None:
        said = raised(err)
        ok, why = DIFFERS.check("words", inside(folder), said != case["raises"])
        ok = ok and code == FAILED and bool(said)
    want = os.path.join(folder, "stdout.txt")
    if ok and os.path.exists(want):
        with open(want, encoding="utf-8") as f:
            ok = same_text(out, f.read(), case["rtol"], case["atol"])
    return ok, "exit %d\n%s\n%s\n%s" % (code, out[-1000:], err, why)


def corpus_folders(name):
    return sorted(os.path.dirname(p) for p in glob.glob(os.path.join(HERE, "corpus", "*", "*", name)))


def group_corpus(tally, args, env):
    folders = corpus_folders("case.json")
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = pool.map(lambda d: corpus_case(d, env, [os.path.join(d, "model.pt")]), folders)
        for folder, (ok, text) in zip(folders, results):
            tally.add("corpus", inside(folder), ok, text)


def exported_case(folder, env, level):
    """level: of --opt; "ts": as TorchScript, which has no operators but PyTorch's."""
    if level != "ts":
        return exported_calls(folder, env, os.path.join(folder, "model.pt2"), level)
    with tempfile.TemporaryDirectory() as made:
        archive = os.path.join(made, "model.pt")
        code, out, err = run([env["CTSC"], "convert", os.path.join(folder, "model.pt2"), archive], env, 300)
        if code:
            return False, "convert: exit %d\n%s" % (code, err)
        with zipfile.ZipFile(archive) as z:
            ours = [n for n in z.namelist() if n.endswith(".py") and re.search(rb"ops\.(ctsc|quantized_decomposed)\.", z.read(n))]
        if ours:
            return False, "operators that PyTorch lacks in " + ", ".join(ours)
        return exported_calls(folder, env, archive, 2)


def exported_calls(folder, env, archive, level):
    with open(os.path.join(folder, "case.json"), encoding="utf-8") as f:
        case = json.load(f)
    for call in [""] + [str(i) for i in range(1, case["calls"])]:
        cmd = [env["CTSC"], "run", archive, "--inputs", os.path.join(folder, "inputs%s.pt" % call), "--expect",
               os.path.join(folder, "expected%s.pt" % call), "--rtol", repr(case["rtol"]), "--atol", repr(case["atol"]), "--opt", str(level)]
        code, out, err = run(cmd, env, 300)
        if code:
            return False, "call %s: exit %d\n%s\n%s" % (call or "0", code, out[-1000:], err)
    return True, ""


def group_exported(tally, args, env):
    cases = [(folder, level) for folder in sorted(glob.glob(os.path.join(HERE, "pt2", "archives", "*"))) for level in (0, 1, 2, 3, "ts")]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for (folder, level), (ok, text) in zip(cases, pool.map(lambda c: exported_case(c[0], env, c[1]), cases)):
            tally.add("exported", "%s, opt %s" % (os.path.basename(folder), level), ok, text)


# Of the models in tests/onnx/models: what ctsc reads but has no form to write.
ONNX_READ_ONLY = {"deform_conv", "dequantize_blocks", "expand_input", "float8_exponent", "ms_decoder_attention", "ms_gather_block_quantized",
                  "ms_group_query_attention", "ms_language_model_buffer", "ms_language_model_step", "ms_matmul_nbits", "non_max_suppression",
                  "reshape_input", "roi_align", "rule_optional", "rule_parts", "rule_roi_align_max", "sequences", "slice_input", "unsqueeze_input"}


# What is written has to run a loop once: ConcatFromSequence takes no empty sequence.
ONNX_ONCE = {"rule_loop_never"}


# Of those whose results are quantised: the last steps. ONNX Runtime's rounding is not determined further (docs/precision.md).
ONNX_STEPS = {"qdq_conv_signed": 1, "qdq_conv_unsigned": 1, "qdq_others": 1, "qdq_products": 1, "qdq_numbers": 1e-4, "qdq_integers": 1, "qdq_convnet_signed": 0.003, "qdq_convnet_unsigned": 0.003, "qdq_encoder": 0.022}


def onnx_model(folder, env, level):
    """A model of ONNX against ONNX Runtime's results; at level 0 also written again, and that."""
    path, inputs, expected = (os.path.join(folder, n) for n in ("model.onnx", "inputs.pt", "expected.pt"))
    step = ONNX_STEPS.get(os.path.basename(folder))
    ask = ["--inputs", inputs, "--expect", expected, "--rtol", "1e-4", "--atol", "%g" % (step * 1.01 if step else 1e-5), "--opt", str(level)]
    code, out, err = run([env["CTSC"], "run", path] + ask, env, 300)
    if code or level or os.path.basename(folder) in ONNX_ONCE:
        return code == 0, "exit %d\n%s\n%s" % (code, out[-1000:], err)
    with tempfile.TemporaryDirectory() as scratch:
        again = os.path.join(scratch, "again.onnx")
        code, out, err = run([env["CTSC"], "convert", path, again, "--inputs", inputs, "--opset", "20"], env, 300)
        if os.path.basename(folder) in ONNX_READ_ONLY:
            return code == 4 and not os.path.exists(again), "convert: exit %d\n%s" % (code, err)
        if not code:
            code, out, err = run([env["CTSC"], "run", again] + ask, env, 300)
    return code == 0, "written again: exit %d\n%s\n%s" % (code, out[-1000:], err)


def onnx_program(path, env):
    """A program that is written as ONNX and read again gives what it gives; for sizes that are dynamic, too."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    said = dict(re.findall(r"^# (input|dynamic|refused|opset): (.*)$", text, re.M))
    warned = re.findall(r"^# warned: (.*)$", text, re.M)
    with tempfile.TemporaryDirectory() as scratch:
        made = os.path.join(scratch, "net.onnx")
        dynamic = [w for d in said.get("dynamic", "").split() for w in ("--dynamic", d)]
        dynamic += ["--opset", said.get("opset", "17")]
        code, out, err = run([env["CTSC"], "convert", path, made] + [w for one in said["input"].split() for w in ("--input", one)] + dynamic, env, 300)
        if "refused" in said:
            return code == 4 and said["refused"] in err and not os.path.exists(made), "exit %d\n%s" % (code, err)
        if code or not all(w in err for w in warned) or err.count("warning: ") != len(warned):
            return False, "convert: exit %d\n%s" % (code, err)
        for spec in [said["input"]] + re.findall(r"^# other: (.*)$", text, re.M):
            want = os.path.join(scratch, "want.pt")
            ask = [w for one in spec.split() for w in ("--input", one)]
            code, out, err = run([env["CTSC"], "run", path, "--output", want] + ask, env, 300)
            code2, out, err2 = run([env["CTSC"], "run", made, "--expect", want, "--rtol", "1e-4", "--atol", "1e-5"] + ask, env, 300)
            if code or code2:
                return False, "%s: exit %d, %d\n%s%s\n%s" % (spec, code, code2, out[-1000:], err, err2)
    return True, ""


def onnx_quantised(env):
    """Quantised archives that are written give what PyTorch gave, to a step: the largest of their scales."""
    for folder in sorted(glob.glob(os.path.join(HERE, "corpus", "quantized", "static_convnet*"))):
        with tempfile.TemporaryDirectory() as scratch:
            made, inputs = os.path.join(scratch, "net.onnx"), os.path.join(folder, "inputs.pt")
            code, out, err = run([env["CTSC"], "convert", os.path.join(folder, "model.pt"), made, "--inputs", inputs], env, 300)
            for level in ("0", "3") if not code else ():
                code, out, err = run([env["CTSC"], "run", made, "--inputs", inputs, "--expect", os.path.join(folder, "expected.pt"), "--atol", "0.00125", "--opt", level],
                                     env, 300)
                if code:
                    break
            if code:
                return False, "%s: exit %d\n%s\n%s" % (folder, code, out[-1000:], err)
    return True, ""


def onnx_outside(env):
    """Weights in a file that is not in the model's folder are refused, whether a name or a link leads there."""
    with tempfile.TemporaryDirectory() as scratch:
        inner = os.path.join(scratch, "model")
        shutil.copytree(os.path.join(HERE, "onnx", "models", "external"), inner)
        model, weights = os.path.join(inner, "model.onnx"), os.path.join(inner, "weights.bin")
        os.rename(weights, os.path.join(scratch, "weights.bin"))
        os.symlink(os.path.join("..", "weights.bin"), weights)
        with open(model, "rb") as f:
            data = f.read()
        with open(os.path.join(scratch, "eights.b"), "wb") as f:
            f.write(b"x" * 1000)
        up = os.path.join(inner, "up.onnx")
        with open(up, "wb") as f:
            f.write(data.replace(b"weights.bin", b"../eights.b"))
        for path in (model, up):
            code, out, err = run([env["CTSC"], "inspect", path], env, 60)
            if code != 3 or "which is not in the model's folder" not in err:
                return False, "%s: exit %d\n%s" % (path, code, err)
    return True, ""


def onnx_field(number, data):
    """A field of a protobuf message: a number, or bytes."""
    def varint(n):
        return varint_byte(n & 127, n > 127) + (varint(n >> 7) if n > 127 else b"")

    def varint_byte(n, more):
        return bytes([n | 128 if more else n])

    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    return varint(number << 3 | 2) + varint(len(data)) + data


def onnx_hostile(env):
    """Nodes without outputs, two inputs of one name, thousands of weights whose names differ at the end alone."""
    field = onnx_field
    x = field(11, field(1, b"x") + field(2, field(1, field(1, 1))))

    def node(op, *inputs, outputs=(), attributes=b""):
        return field(1, b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(4, op) + attributes)

    to = field(5, field(1, b"to") + field(3, 7) + field(20, 2))
    relu = node(b"Relu", b"x", outputs=[b"y"])
    weights = b"".join(field(5, field(1, 2) + field(2, 1) + field(8, b"w" * 200 + b"%d" % i) + field(9, bytes(8))) for i in range(10000))
    cases = [(0, relu + node(b"Shape", b"x", outputs=[b"s"]) + node(b"Cast", b"s", attributes=to) + x),
             (3, relu + node(b"Constant", attributes=field(5, field(1, b"value_int") + field(3, 1) + field(20, 2))) + x),
             (3, relu + x + x), (0, relu + weights + x)]
    for code, kind, data in ((0, 23, field(9, bytes(2))), (3, 23, field(9, bytes(3))), (3, 23, field(5, 0)), (3, 23, field(14, 1)), (4, 27, field(9, bytes(3))),
                             (0, 24, field(9, bytes(3))), (3, 24, field(9, bytes(2)))):  # floats of four, six and eight bits
        cases.append((code, relu + field(5, field(1, 3) + field(2, kind) + field(8, b"w") + data) + x))
    size = field(5, field(1, 1 << 62) + field(1, 8) + field(2, 23) + field(8, b"w") + field(9, bytes(2)))
    mode = field(5, field(1, b"round_mode") + field(4, b"sideways") + field(20, 3)) + field(5, field(1, b"to") + field(3, 24) + field(20, 2))
    cases += [(1, relu + size + x), (4, relu + node(b"Cast", b"x", outputs=[b"c"], attributes=mode) + x)]
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "model.onnx")
        for i, (want, graph) in enumerate(cases):
            with open(path, "wb") as f:
                f.write(field(1, 8) + field(7, graph + field(12, field(1, b"y"))) + field(8, field(2, 17)))
            code, out, err = run([env["CTSC"], "inspect", path], env, 60)
            if code != want:
                return False, "case %d: exit %d\n%s" % (i, code, err)
    return True, ""


def onnx_contrib_cases():
    """What is wrong with a node of domain com.microsoft, the exit code, and what the message has."""
    field = onnx_field

    def integer(name, value):
        return field(5, field(1, name) + field(3, value) + field(20, 2))

    def text(name, value):
        return field(5, field(1, name) + field(4, value) + field(20, 3))

    def node(op, inputs, *attributes, domain=b"com.microsoft", outputs=(b"y",)):
        return field(1, b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(4, op) + b"".join(attributes) + field(7, domain))

    x, none = b"x", b""
    product = integer(b"K", 4), integer(b"N", 4)
    heads = integer(b"num_heads", 2) + integer(b"kv_num_heads", 2)
    gqa = [x, x, x, none, none, x, x]
    return [
        (node(b"Absent", [x]), 4, "the operator, of domain 'com.microsoft', is not supported"),
        (node(b"Gelu", [x], domain=b"com.example"), 4, "the operator, of domain 'com.example', is not supported"),
        (node(b"QLinearAdd", [x, x, none, x]), 3, "input 4 is missing"),
        (node(b"QLinearConcat", [x, x, x, x]), 3, "4 inputs are not two and three per operand"),
        (node(b"NhwcMaxPool", [b"flat"], integer(b"kernel_shape", 2)), 4, "channels that are last, and 2 dims"),
        (node(b"MatMulNBits", [x, x, x], *product, integer(b"block_size", 0)), 3, "K 4, N 4, block_size 0"),
        (node(b"MatMulNBits", [x, x, x], *product, integer(b"block_size", 16), integer(b"bits", 3)), 4, "weights of 3 bits in blocks of 16"),
        (node(b"MatMulNBits", [x, x, x, none, x], *product, integer(b"block_size", 16)), 4, "g_idx, groups whose elements do not follow one another"),
        (node(b"MatMulNBits", [x, x], *product, integer(b"block_size", 16)), 3, "input 2 is missing"),
        (node(b"GatherBlockQuantized", [x, x, x]), 4, "other than rows of a constant with blocks along its last axis"),
        (node(b"GatherBlockQuantized", [x, x, x], integer(b"block_size", 8)), 4, "weights of 4 bits in blocks of 8"),
        (node(b"FusedConv", [x, b"w"], text(b"activation", b"Cosh")), 4, "activation 'Cosh' is not supported"),
        (node(b"FusedGemm", [x, x], integer(b"activation", 3)), 3, "attribute 'activation' is of another type"),
        (node(b"EmbedLayerNormalization", [x, x, x, x, none, x, x]), 3, "segment_ids and segment_embedding come together"),
        (node(b"RotaryEmbedding", [x, x, x]), 3, "input 3 is missing"),
        (node(b"RotaryEmbedding", [x, x, x, x], integer(b"is_packed_batching", 1)), 4, "attribute 'is_packed_batching' is not supported"),
        (node(b"Attention", [x, x]), 3, "attribute 'num_heads' is 0"),
        (node(b"Attention", [x, x], integer(b"num_heads", 1 << 40)), 3, "attribute 'num_heads' is 1099511627776"),
        (node(b"Attention", [x, x], integer(b"num_heads", 2), integer(b"do_rotary", 1)), 4, "attribute 'do_rotary' is not supported"),
        (node(b"Attention", [x, x, none, none, none, none, x], integer(b"num_heads", 2)), 4, "input 6, past_sequence_length, is not supported"),
        (node(b"MultiHeadAttention", [], integer(b"num_heads", 2)), 3, "input 0 is missing"),
        (node(b"MultiHeadAttention", [x, x, x, none, none, none, x], integer(b"num_heads", 2)), 3, "of past keys and values only one is given"),
        (node(b"DecoderMaskedMultiHeadAttention", [x, x, x], integer(b"num_heads", 2), integer(b"past_present_share_buffer", 1)), 3, "input 7 is missing"),
        (node(b"DecoderMaskedMultiHeadAttention", [x] * 9, integer(b"num_heads", 2)), 4, "input 8, beam_width, is not supported"),
        (node(b"GroupQueryAttention", gqa[:6], heads), 3, "input 6 is missing"),
        (node(b"GroupQueryAttention", gqa, integer(b"num_heads", 3), integer(b"kv_num_heads", 2)), 3, "3 heads of queries are no multiple of 2 of keys"),
        (node(b"GroupQueryAttention", gqa, heads, integer(b"do_rotary", 1)), 3, "input 7 is missing"),
        (node(b"GroupQueryAttention", gqa, heads, integer(b"sliding_window_cache", 1)), 4, "attribute 'sliding_window_cache' is not supported"),
        (node(b"GroupQueryAttention", gqa + [none] * 5 + [x], heads), 4, "input 12, k_scale, is not supported"),
        (node(b"GroupQueryAttention", [x, x, none] + gqa[3:], heads), 3, "only one is given"),
    ]


def onnx_contrib(env):
    """Operators of domain com.microsoft that lack an input or an attribute, or ask for what is not supported."""
    field = onnx_field
    given = b"".join(field(11, field(1, name) + field(2, field(1, field(1, 1) + field(2, b"".join(field(1, field(1, n)) for n in sizes)))))
                     for name, sizes in ((b"x", (1, 4, 4)), (b"flat", (4, 4)), (b"w", (4, 4, 1))))
    versions = field(8, field(2, 17)) + field(8, field(1, b"com.microsoft") + field(2, 1))
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "model.onnx")
        for i, (node, want, message) in enumerate(onnx_contrib_cases()):
            with open(path, "wb") as f:
                f.write(field(1, 8) + field(7, node + given + field(12, field(1, b"y"))) + versions)
            code, out, err = run([env["CTSC"], "inspect", path], env, 60)
            if code != want or message not in err:
                return False, "case %d: exit %d\n%s\nnot %d, %s" % (i, code, err, want, message)
    return True, ""


def onnx_damaged(env):
    """Models with bytes that were changed, cut or added end with a status."""
    random.seed(1)
    files = sorted(glob.glob(os.path.join(HERE, "onnx", "models", "*", "model.onnx")))
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "model.onnx")
        for i in range(60):
            name = random.choice(files)
            with open(name, "rb") as f:
                data = bytearray(f.read())
            at = random.randrange(2, len(data))
            kind = i % 3
            if kind == 0:
                data[at] = random.choice([0, 1, 127, 128, 255, random.randrange(256)])
            elif kind == 1:
                del data[at:at + random.randrange(1, 9)]
            else:
                data[at:at] = bytes(random.randrange(256) for _ in range(random.randrange(1, 9)))
            with open(path, "wb") as f:
                f.write(data)
            code, out, err = run([env["CTSC"], "graph", path], env, 60)
            if code not in (0, 3, 4, 5):
                return False, "%s, round %d: exit %d\n%s" % (name, i, code, err)
    return True, ""


def group_onnx(tally, args, env):
    folders = sorted(glob.glob(os.path.join(HERE, "onnx", "models", "*")))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        cases = [(folder, level) for folder in folders for level in range(4)]
        for (folder, level), (ok, text) in zip(cases, pool.map(lambda c: onnx_model(c[0], env, c[1]), cases)):
            tally.add("onnx", "%s, opt %d" % (os.path.basename(folder), level), ok, text)
        paths = sorted(glob.glob(os.path.join(HERE, "onnx", "programs", "*.py")))
        for path, (ok, text) in zip(paths, pool.map(lambda p: onnx_program(p, env), paths)):
            tally.add("onnx", os.path.basename(path), ok, text)
    for name, case in (("quantised", onnx_quantised), ("outside", onnx_outside), ("hostile", onnx_hostile), ("contrib", onnx_contrib), ("damaged", onnx_damaged)):
        tally.add("onnx", name, *case(env))


# On the simulated device, where each kernel costs a run of the host's compiler: programs that between them go all ways there are.
CUDA_CASES = ["lang/broadcasting", "lang/cat_stack_split", "lang/batch_padding", "lang/class_tensor_fields", "lang/*inplace*", "models/*",
              "grad/program_potential", "grad/program_traincnn", "grad/program_train_classes", "grad/program_adam_logistic", "grad/program_grutrain_20"]


def group_cuda(tally, args, env):
    command = [sys.executable, os.path.join(HERE, "cuda", "run.py"), "--ctsc", env["CTSC"], "-j", str(args.jobs),
               "--sim", os.path.join(args.build, "tests", "cuda", "libcudasim.so"), "--cache", os.path.join(args.build, "cache"), "--nvrtc"]
    code, out, err = run(command + [word for name in CUDA_CASES for word in ("--filter", name)], env)
    counts = re.search(r"(\d+) passed, (\d+) failed", out)
    if not counts:
        return tally.add("cuda", "run.py", False, out + err)
    tally.passed += int(counts.group(1))
    tally.failed += int(counts.group(2))
    skipped = re.search(r"^no CUDA toolkit.*", out, re.M)
    if code:
        print(out + err)
    elif skipped:
        tally.skip("cuda", skipped.group())


# Run one by one on every case, verified each time, and in the end together.
PASSES = ["cse", "dce-writes", "licm", "unroll", "remove-mutation",
          "pool-constants,remove-mutation,unroll,[fold-constants,peephole,cse,licm,dce-writes]"]


def group_passes(tally, args, env):
    folders = corpus_folders("case.json")
    for passes in PASSES:
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            results = pool.map(lambda d: corpus_case(d, env, [os.path.join(d, "model.pt"), "--passes", passes]), folders)
            for folder, (ok, text) in zip(folders, results):
                tally.add("passes", passes + " " + inside(folder), ok, text)


def contents(path):
    with open(path, "rb") as f:
        return f.read()


# Of so many pairs of program and level `make test` has time for one.
SAMPLE = 12


def level_options(level):
    """"3" or, kernels of another processor's, "3@sse2"."""
    number, _, cpu = level.partition("@")
    return ["--opt", number] + (["--cpu", cpu] if cpu else [])


def level_case(folder, env, model, level):
    """A case at one level of optimisation: right with one thread and with two, and the same to the last bit."""
    with tempfile.TemporaryDirectory() as d:
        files = [os.path.join(d, "%d.pt" % n) for n in (1, 2)]
        for threads, path in enumerate(files, 1):
            ok, text = corpus_case(folder, env, model, threads, level_options(level) + ["--output", path])
            if not ok:
                return False, "%d threads: %s" % (threads, text)
        made = [os.path.exists(path) for path in files]
        if made[0] != made[1] or (made[0] and contents(files[0]) != contents(files[1])):
            return False, "the results with one thread and with two are not the same"
    return True, ""


def group_levels(tally, args, env, every=1):
    """The programs of corpus, source and lang at every level of optimisation. every: of how many pairs of program and level one runs."""
    work = []
    for level in args.levels.split(","):
        for folder in corpus_folders("case.json"):
            work.append(("corpus %s at %s" % (inside(folder), level), level_case, folder, env, [os.path.join(folder, "model.pt")], level))
        for folder in corpus_folders("source.py"):
            work.append(("source of %s at %s" % (inside(folder), level), level_case, folder, env, source_model(folder), level))
        for path in sorted(glob.glob(os.path.join(HERE, "lang", "*.py"))):
            work.append(("lang/%s at %s" % (os.path.basename(path), level), lang_case, path, env, level_options(level)))
    if every > 1: # the levels' shares are of other programs each
        number = len(work) // len(args.levels.split(","))
        work = [w for n, w in enumerate(work) if n % number % every == n // number]
        for level in args.levels.split(","):
            for threads in ("1", "2"):
                work.append(("lang/schedules.py at %s with %s threads" % (level, threads), lang_case, os.path.join(HERE, "lang", "schedules.py"), env,
                             level_options(level) + ["--threads", threads]))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for item, (ok, text) in zip(work, pool.map(lambda w: w[1](*w[2:]), work)):
            tally.add("levels", item[0], ok, text)


# Ways to run the differential fuzzer that `make test` has time for; `make diff` runs it for long.
DIFF = [["--count", "2500"], ["--level", "1", "--count", "1000"], ["--level", "3", "--count", "60", "--vary", "3"], ["--images", "100", "--count", "600"],
        ["--images", "100", "--level", "3", "--count", "20", "--vary", "2"],
        ["--nests", "--count", "3000", "--vary", "4"], ["--nests", "--coverage=1", "--count", "20000"]]


def group_diff(tally, args, env):
    env = dict(env, XDG_CACHE_HOME=os.path.join(args.build, "cache")) # hundreds of kernels that nobody will need again
    for options in DIFF:
        code, out, err = run([os.path.join(args.build, "diff"), "--jobs", str(min(args.jobs, 16))] + options, env, 600)
        tally.add("diff", " ".join(options), code == 0, out + err)
    code, out, err = run([sys.executable, os.path.join(HERE, "diff", "qdq.py"), "--ctsc", env["CTSC"], "--count", "20"], env, 600)
    tally.add("diff", "quantised networks", code == 0, out + err)


def graph_operators(text):
    """The operators of a graph's text, each with its depth."""
    rows = []
    for line in text.splitlines():
        line = line.split(" # ")[0]
        m = re.match(r"( *)(?:%[^=]*?|)= ([a-zA-Z_]+::\w+)", line)
        if m and m.group(2) != "prim::Constant":
            rows.append("%s%s" % (m.group(1), m.group(2)))
        elif re.match(r" *(block\d+\(|-> \(|return \()", line):
            rows.append(re.sub(r"\(.*", "", line))
    return rows


def graph_operands(text):
    """A graph's text without places: what two compilers' graphs have in common. Values are numbered in their order, classes have no module.
    Constants stand where they are used: how many of them are merged depends on where they were written. A module's methods have a
    parameter self where a function has none."""
    text = re.sub(r" # [^\n\"]*:\d+:\d+$|\[warn_id=\d+\]|__torch__\.(?:\w+\.)*(?=\w)|(?<=\.)___torch_mangle_\d+\.", "", text, flags=re.M)
    rows = []
    for graph in re.split(r"^(?=with )", text, flags=re.M):
        if len(re.findall(r"%self\b(?!\.\d)", graph)) == 1:
            graph = re.sub(r"%self : [^,)]*(?:,\s*)?", "", graph)
        constant = r"^ *(%[\w.]+) : (.* = prim::Constant.*)\n"
        constants, numbers = dict(re.findall(constant, graph, re.M)), {}
        name = lambda m: "{%s}" % constants[m.group()] if m.group() in constants else "%%%d" % numbers.setdefault(m.group(), len(numbers))
        rows += [re.sub(r"%[\w.]+", name, line) for line in re.sub(constant, "", graph, flags=re.M).splitlines() if line.strip()]
    return rows


def source_graph(folder, env, model):
    """Compares `ctsc graph` of a compiled source with PyTorch's graph, a function's .graph, a module's .inlined_graph: the operators, and
    then all of it."""
    with open(os.path.join(folder, "graph.txt"), encoding="utf-8") as f:
        want = f.read()
    inlined = ["--inlined"] if re.match(r"graph\(%self", want) else []
    code, out, err = run([env["CTSC"], "graph"] + inlined + model, env, 300)
    if code:
        return False, "exit %d\n%s" % (code, err)
    for kind, form in (("operators", graph_operators), ("operands", graph_operands)):
        a, b = form(out), form(want)
        ok, why = DIFFERS.check(kind, inside(folder), a != b)
        if not ok:
            return False, "\n".join([why] + list(difflib.unified_diff(b, a, "PyTorch", "ctsc", lineterm="")))
        if a != b:
            break
    return True, ""


def source_round_trip(folder, env, model):
    """What is written for a source says the same when it is read again."""
    with tempfile.TemporaryDirectory() as d:
        archive = os.path.join(d, "model.pt")
        code, out, err = run([env["CTSC"], "compile"] + model + ["-o", archive], env, 300)
        graphs = [run([env["CTSC"], "graph"] + m, env, 300) for m in (model, [archive])]
    if code or any(g[0] for g in graphs):
        return False, err + graphs[0][2] + graphs[1][2]
    if not graph_operators(graphs[0][1]) or graph_operators(graphs[0][1]) != graph_operators(graphs[1][1]):
        return False, "other operators\n%s\n%s" % (graphs[0][1], graphs[1][1])
    a, b = (graph_operands(g[1]) for g in graphs)
    ok, why = DIFFERS.check("round-trip", inside(folder), a != b)
    return ok, "\n".join([why] + list(difflib.unified_diff(a, b, "source", "archive", lineterm="")))


def source_model(folder):
    """A program's own weights were drawn when its case was made, and changed: they come from the archive."""
    src = os.path.join(folder, "source.py")
    with open(src, encoding="utf-8") as f:
        is_module = "class Main" in f.read()
    return [src, "--weights", os.path.join(folder, "model.pt")] if is_module and "/models/" in folder else [src]


def group_source(tally, args, env):
    folders = corpus_folders("source.py")
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = pool.map(lambda d: corpus_case(d, env, source_model(d)), folders)
        for folder, (ok, text) in zip(folders, results):
            tally.add("source", inside(folder), ok, text)
        results = pool.map(lambda d: source_round_trip(d, env, source_model(d)), folders)
        for folder, (ok, text) in zip(folders, results):
            tally.add("source", "round trip of " + inside(folder), ok, text)
        folders = [d for d in corpus_folders("graph.txt") if not d.endswith("_trace")]
        results = pool.map(lambda d: source_graph(d, env, source_model(d)), folders)
        for folder, (ok, text) in zip(folders, results):
            tally.add("source", "graph of " + inside(folder), ok, text)
    for kind in DIFFERS.kinds:
        for name in DIFFERS.missing(kind):
            tally.add("source", name, False, "%s lists no case (%s)" % (DIFFERS.path, kind))


def lang_carets(err):
    """(line, text under the caret) for each excerpt."""
    return [(int(m.group(1)), m.group(2)[len(m.group(3)):len(m.group(3)) + len(m.group(4))])
            for m in re.finditer(r"^ *(\d+) \| ([^\n]*)\n +\| ( *)(\^~*)$", err, flags=re.M)]


def lang_case(path, env, more=()):
    """A program that prints what its "# expect:" comments say, in their order, and nothing else, or is refused with each "# error:" message at the
    line it stands on, and no other error. "# note:" messages are notes at their line, or without a place. Messages are whole; those of several
    lines have \\n between them. "# at:" gives the text that a caret of its line marks. "# args:" gives more of the command line."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    note = lambda word: [(n, m.group(1).rstrip()) for n, m in
                         ((n, re.search(r"# %s: ?(.*?)(?= # (?:error|note|at): |$)" % word, line)) for n, line in enumerate(lines, 1)) if m]
    expect = [t for _, t in note("expect")]
    errors, notes = ([(n, t.replace("\\n", "\n")) for n, t in note(word)] for word in ("error", "note"))
    cmd = [env["CTSC"], "run", path] + [a for _, t in note("args") for a in shlex.split(t)] + list(more)
    code, out, err = run(cmd, env, 60)
    text = "exit %d\n%s\n%s" % (code, out, err)
    if not errors:
        got = [line.rstrip() for line in out.rstrip("\n").split("\n")]
        return code == 0 and got == expect, text
    if not all(want for _, want in errors + notes):
        return False, "an expected message says nothing"
    found = []
    for message, place in reports(err):
        at = re.match(r" ([^\n]*):(\d+):\d+\n", place)
        found.append((int(at.group(2)) if at and os.path.samefile(os.path.join(ROOT, at.group(1)), path) else 0, message))
    said = [(int(m.group(2)) if m.group(2) else None, re.sub(r"\n +", "\n", m.group(1).strip())) for m in
            re.finditer(r"^note: ((?:(?! -->|note:|error:)[^\n]*\n)+)(?: --> [^\n]*:(\d+):\d+\n)?", err, flags=re.M)]
    carets = lang_carets(err)
    return 0 < code < 70 and sorted(found) == sorted(errors) and \
        all((n, want) in said or (None, want) in said for n, want in notes) and all((n, want) in carets for n, want in note("at")), text


def group_lang(tally, args, env):
    paths = sorted(glob.glob(os.path.join(HERE, "lang", "*.py")))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for path, (ok, text) in zip(paths, pool.map(lambda p: lang_case(p, env), paths)):
            tally.add("lang", os.path.basename(path), ok, text)


def example_case(path, env):
    """Compiles an example, and runs what the comment at its top says."""
    with open(path, encoding="utf-8") as f:
        command = re.search(r"# +ctsc (run .*)", f.read())
    if not command:
        return False, "no '# ctsc run' line"
    code, out, err = run([env["CTSC"]] + shlex.split(command.group(1)), env, 300)
    return code == 0 and len(out) > 0, "exit %d\n%s\n%s" % (code, out[-500:], err)


def group_examples(tally, args, env):
    paths = sorted(glob.glob(os.path.join(ROOT, "examples", "models", "*.py")))
    for path in paths:
        ok, text = example_case(path, env)
        tally.add("examples", os.path.basename(path), ok, text)


def group_demo(tally, args, env):
    code, out, err = run([os.path.join(args.build, "examples", "demo"), os.path.join(ROOT, "models")], env)
    for text in ("accuracy                              0.9972", "PyTorch writes the same"):
        tally.add("demo", text, code == 0 and text in out, out + err)


def add_report(tally, group, command, env):
    """A program that prints "ok NAME" or "FAIL NAME", and why, for each of its tests."""
    code, out, err = run(command, env)
    results = re.findall(r"(?ms)^(ok|FAIL) (\w+)(.*?)(?=^ok |^FAIL |\Z)", out)
    for verdict, name, text in results:
        tally.add(group, name, verdict == "ok", text + err)
    if not results or (code and all(verdict == "ok" for verdict, _, _ in results)):
        tally.add(group, command[1], False, "exit code %d\n%s\n%s" % (code, out, err))


def group_serve(tally, args, env):
    add_report(tally, "serve", [sys.executable, os.path.join(HERE, "serve", "client.py"), "--ctsc", env["CTSC"]], env)


def group_view(tally, args, env):
    folder = os.path.join(HERE, "view")
    add_report(tally, "view", [sys.executable, os.path.join(folder, "check.py"), "--ctsc", env["CTSC"], "--all"], env)
    if not shutil.which("chromium"):
        tally.skip("view", "screenshots: there is no chromium")
    elif not args.sanitizer:
        code, out, err = run([sys.executable, os.path.join(folder, "shots.py"), "--ctsc", env["CTSC"]], env)
        tally.add("view", "screenshots", code == 0, out + err)
    node = shutil.which("node") or shutil.which("nodejs")
    if not node:
        return tally.skip("view", "layout: there is no node")
    with tempfile.TemporaryDirectory() as d:
        def view(name, *models):
            code, out, err = run([env["CTSC"], "view", *(os.path.join(ROOT, "models", m + ".pt") for m in models), "--json"], env)
            with open(os.path.join(d, name + ".json"), "w") as f:
                f.write(out)
            return f.name
        for test, files in (("layout", [view("digits_cnn", "digits_cnn"), view("chargpt", "chargpt")]), ("diff", [view("two", "digits_cnn", "chargpt")])):
            code, out, err = run([node, os.path.join(folder, test + "_test.js")] + files, env)
            tally.add("view", test, code == 0, out + err)


def group_install(tally, args, env):
    if not args.sanitizer:
        add_report(tally, "install", [sys.executable, os.path.join(HERE, "install.py"), "--build", args.build], env)


def group_supply(tally, args, env):
    if not args.sanitizer:
        for name in ("reproducible", "sbom"):
            add_report(tally, name, [sys.executable, os.path.join(HERE, name + ".py"), "--build", args.build], env)


def group_places(tally, args, env):
    if not args.sanitizer:
        add_report(tally, "places", [sys.executable, os.path.join(HERE, "places.py"), "--build", args.build, "--python", args.python], env)


def python_environment(args, env):
    """With AddressSanitizer the interpreter, which knows nothing of it, has it loaded first; its own allocator would hide most."""
    made = dict(python_home.own(env), PYTHONPATH=os.path.join(args.build, "python"), PYTHONDONTWRITEBYTECODE="1", CTSC_BUILD=args.build)
    if args.sanitizer:
        library = subprocess.run([os.environ.get("CC", "cc"), "-print-file-name=libasan.so"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
        made["PYTHONPATH"] += os.pathsep + os.path.join(HERE, "python", "sanitized")
        made.update(LD_PRELOAD=os.path.realpath(library), PYTHONMALLOC="malloc", ASAN_OPTIONS=env["ASAN_OPTIONS"] + ":detect_odr_violation=0",
                    LSAN_OPTIONS="print_suppressions=0:suppressions=%s" % os.path.join(HERE, "python", "lsan.supp"))
    return made


def group_python(tally, args, env):
    package = os.path.join(args.build, "python")
    if not os.path.exists(os.path.join(package, "ctsc", "_C.abi3.so")):
        return None if args.sanitizer else tally.skip("python", "the package has not been built (make python)")
    if args.sanitizer == "thread":
        return tally.skip("python", "ThreadSanitizer is not loaded into an interpreter")
    try:
        python = python_home.make(os.path.join(args.build, "test-python"), args.python)
    except (OSError, subprocess.CalledProcessError) as why:
        return tally.add("python", "an environment for the tests", False, str(why))
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", os.path.join(HERE, "python")]
    code, out, err = run(command, python_environment(args, env), 3600)
    count = lambda word: sum(int(n) for n in re.findall(r"(\d+) %s" % word, out.rstrip().rpartition("\n")[2]))
    good, bad, skipped = count("passed"), count("failed") + count("error"), count("skipped")
    tally.passed += good
    tally.failed += bad if bad or not code else 1
    if skipped:
        tally.skip("python", "%d of pytest's" % skipped, skipped)
    if code or tally.verbose:
        print((out + err).rstrip()[-8000:])


def group_aot(tally, args, env):
    """Programs compiled ahead of time (tests/aot)."""
    if args.sanitizer or not os.path.exists(os.path.join(args.build, "libctsc-jit.so")) or not os.path.exists(os.path.join(args.build, "rt")):
        return tally.skip("aot", "no compiler for kernels here, or no run-time library (make rt), or a sanitizer")
    done = subprocess.run([sys.executable, os.path.join(HERE, "aot", "aot.py"), "--build", os.path.relpath(os.path.abspath(args.build), ROOT)],
                          capture_output=True, text=True, errors="replace")
    tally.add("aot", "aot", done.returncode == 0, done.stdout + done.stderr)


def group_threads(tally, args, env):
    code, out, err = run([os.path.join(args.build, "threads"), "--seconds", "2", "--threads", "2,8"], env)
    tally.add("threads", "threads", code == 0, out + err)


def group_grad(tally, args, env):
    command = [sys.executable, os.path.join(HERE, "autograd", "gradcheck.py"), "--ctsc", env["CTSC"], "--jobs", str(args.jobs), "-v"]
    code, out, err = run(command, env, 3600)
    results = re.findall(r"(?ms)^(ok|FAIL) +([^\n]*)(.*?)(?=^ok |^FAIL |^\d+ passed)", out)
    for verdict, name, text in results:
        tally.add("grad", name, verdict == "ok", text)
    if not results or (code and all(verdict == "ok" for verdict, _, _ in results)):
        tally.add("grad", command[1], False, "exit code %d\n%s\n%s" % (code, out, err))


def group_trace(tally, args, env):
    with tempfile.TemporaryDirectory() as d:
        code, out, err = run([os.path.join(args.build, "examples", "trace"), os.path.join(ROOT, "models"), os.path.join(d, "traced.pt")], env)
        tally.add("trace", "examples/trace", code == 0 and out.rstrip().endswith("as PyTorch reads them"), out + err)


def group_train(tally, args, env):
    with tempfile.TemporaryDirectory() as d:
        code, out, err = run([os.path.join(args.build, "examples", "train"), os.path.join(ROOT, "models"), os.path.join(d, "trained.pt")], env)
        tally.add("train", "examples/train", code == 0 and "epoch 40" in out, out + err)


def main():
    ap = argparse.ArgumentParser(description="Run the tests.")
    ap.add_argument("--build", default="build", help="build folder")
    ap.add_argument("--only", default="", help="groups to run, separated by commas")
    ap.add_argument("--python", default="/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable,
                    help="Python of the package's tests: one with pytest and NumPy, whatever else it has (tests/environment.py)")
    ap.add_argument("--sanitizer", default="", help="the build's sanitizer, for information")
    ap.add_argument("--levels", default="0,1,2,3,3@sse2", help="levels of optimisation that group 'levels' runs")
    ap.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    ap.add_argument("-v", "--verbose", action="store_true")
    args = ap.parse_args()
    args.build = os.path.abspath(args.build)
    tally = Tally(args.verbose)
    env = environment(args)
    groups = {
        "layers": lambda: group_layers(tally, args, env),
        "format": lambda: group_format(tally, args, env),
        "docs": lambda: group_docs(tally, args, env),
        "unit": lambda: group_unit(tally, args, env),
        "ir": lambda: group_lit(tally, args, env, "ir"),
        "cli": lambda: group_lit(tally, args, env, "cli"),
        "corpus": lambda: group_corpus(tally, args, env),
        "exported": lambda: group_exported(tally, args, env),
        "onnx": lambda: group_onnx(tally, args, env),
        "cuda": lambda: group_cuda(tally, args, env),
        "passes": lambda: group_passes(tally, args, env),
        "lang": lambda: group_lang(tally, args, env),
        "examples": lambda: group_examples(tally, args, env),
        "source": lambda: group_source(tally, args, env),
        "demo": lambda: group_demo(tally, args, env),
        "serve": lambda: group_serve(tally, args, env),
        "view": lambda: group_view(tally, args, env),
        "python": lambda: group_python(tally, args, env),
        "diff": lambda: group_diff(tally, args, env),
        "aot": lambda: group_aot(tally, args, env),
        "threads": lambda: group_threads(tally, args, env),
        "grad": lambda: group_grad(tally, args, env),
        "trace": lambda: group_trace(tally, args, env),
        "train": lambda: group_train(tally, args, env),
        "install": lambda: group_install(tally, args, env),
        "supply": lambda: group_supply(tally, args, env),
        "places": lambda: group_places(tally, args, env),
        "sample": lambda: group_levels(tally, args, env, SAMPLE),
        "levels": lambda: group_levels(tally, args, env),
        "check": lambda: group_check(tally, args, env),
    }
    chosen = args.only.split(",") if args.only else [name for name in groups if name not in ("levels", "check")]
    for name in chosen:
        name, _, programs = name.partition(":")
        args.programs = programs.split("+") if programs else []
        if name not in groups:
            print("there is no test group '%s'" % name, file=sys.stderr)
            return 2
        before, start = tally.counts(), time.monotonic()
        groups[name]()
        passed, failed, skipped = (now - then for now, then in zip(tally.counts(), before))
        print("%-7s %5d passed %4d failed%s  %.1f s" % (name, passed, failed, " %4d skipped" % skipped if skipped else "", time.monotonic() - start), flush=True)
    print("%d passed, %d failed%s" % (tally.passed, tally.failed, ", %d skipped" % tally.skipped if tally.skipped else ""))
    return 0 if tally.failed == 0 and tally.passed + tally.skipped > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
