#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The calls that PyTorch's own tests make of scripted and traced code, compared with PyTorch.

    /usr/bin/python3 tests/interop/harvest.py --tests DIR [--ctsc build/ctsc] [--keep DIR] [--modules test_jit,jit.test_hash] [-k GLOB]

DIR is the folder test/ of a checkout of PyTorch, of about the version that this Python has; nothing of it is kept here.

1. Recording: each test module runs in a process of its own in which every call of a scripted function or method first saves the archive and
   the arguments, then the result or the error. The same archive with the same arguments is kept once.
2. Replaying: PyTorch loads the archive in a fresh process and calls it, twice. What raises another error, returns something else
   than it did (random numbers, uninitialised memory, what the process held otherwise) or can be neither saved nor compared is left out.
3. ctsc runs what is left (`ctsc run --expect`) and has to return, raise and print the same; what differs in float16 or bfloat16 may, where it is
   nearer to what exact operators give (printed as "near").

Cases are folders as the corpus has them: model.pt, inputs.pt, expected.pt, case.json, with two keys more: `method`, the entry, and `checked`,
false where the result is of a kind that no file holds: ctsc has to run it, no more. Programs that take gradients (backward, autograd.grad) are
a group of their own, `grad`. Exits 77 without PyTorch, expecttest or --tests.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import glob
import hashlib
import importlib.util
import io
import json
import math
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import warnings
import zipfile

try:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten, tree_map
except ImportError:
    print("no PyTorch: nothing to compare with")
    sys.exit(77)
warnings.simplefilter("ignore")

TOLERANCE = {torch.float32: (1e-4, 1e-5), torch.float64: (1e-7, 1e-7), torch.float16: (1e-2, 1e-3), torch.bfloat16: (3e-2, 1e-2),
             torch.complex64: (1e-4, 1e-5), torch.complex128: (1e-7, 1e-7)}
REDUCED = (torch.float16, torch.bfloat16)
LARGEST = 64 << 20       # bytes of an archive or of inputs
PER_TEST = 200           # calls kept of one test
TEST_SECONDS = 120       # a test that takes longer is stopped
CASE_SECONDS = 60
NUMBER = re.compile(r"(-?(?:\d+\.\d*|\.\d+|\d+)(?:e[+-]?\d+)?)")
TAKES_GRADIENTS = re.compile(r"autograd\.(grad|backward)|\.backward\(|torch\.backward|requires_grad_|aten::backward|autogradNN")


def default_modules(root):
    """Test modules that script or trace, but none that need a GPU."""
    names = sorted(os.path.basename(f)[:-3] for f in glob.glob(os.path.join(root, "test_jit*.py")))
    names += sorted("jit." + os.path.basename(f)[:-3] for f in glob.glob(os.path.join(root, "jit", "test_*.py")))
    return [n for n in names if not re.search(r"cuda|llga|disabled|legacy|simple|profiling$|nnapi|_backends|fuser$", n)] + ["test_jit_fuser"]


# ---- recording ----------------------------------------------------------------------------------


class Recorder:
    def __init__(self, out, prefix):
        self.out, self.prefix = out, prefix
        self.test, self.count, self.busy = "", 0, False
        self.seen = set()
        self.left_out = collections.Counter()

    def install(self):
        for cls, entry in ((torch._C.ScriptFunction, lambda f: "forward"), (torch._C.ScriptMethod, lambda m: m.name),
                           (torch.jit.RecursiveScriptModule, lambda m: "forward")):
            cls.__call__ = self.wrapped(cls.__call__, entry)

    def wrapped(self, call, entry):
        def recorded(callee, *args, **kwargs):
            if self.busy or torch._C._get_tracing_state() is not None:
                return call(callee, *args, **kwargs)
            if isinstance(callee, torch.jit.RecursiveScriptModule) and not hooks_of(callee._c):
                return call(callee, *args, **kwargs)    # its method is recorded
            self.busy = True
            try:
                folder = self.before(callee, entry(callee), args, kwargs)
            except Exception as e:
                self.left_out["saving: %s: %s" % (type(e).__name__, (str(e).strip().splitlines() or [""])[0][:80])] += 1
                folder = None
            self.busy = isinstance(callee, torch.jit.RecursiveScriptModule)
            try:
                result = call(callee, *args, **kwargs)
            except Exception as e:
                self.after(folder, None, str(e))
                raise
            finally:
                self.busy = False
            self.after(folder, result, None)
            return result
        return recorded

    def before(self, callee, method, args, kwargs):
        if self.count >= PER_TEST:
            self.left_out["more calls than are kept of a test"] += 1
            return None
        owner = callee if isinstance(callee, torch._C.ScriptFunction) else callee._c if isinstance(callee, torch.jit.RecursiveScriptModule) else callee.owner
        if isinstance(callee, torch._C.ScriptMethod) and callee.name == "forward" and hooks_of(owner):
            self.left_out["forward called past the module's hooks"] += 1    # which no caller of ctsc can do
            return None
        archive = owner.save_to_buffer()
        inputs = io.BytesIO()
        torch.save(positional(callee, args, kwargs), inputs)
        if len(archive) > LARGEST or inputs.tell() > LARGEST:
            raise ValueError("too large")
        key = hashlib.sha1(content(archive) + b"\0" + content(inputs.getvalue()) + method.encode()).hexdigest()
        if key in self.seen:
            self.left_out["recorded before"] += 1
            return None
        self.seen.add(key)
        self.count += 1
        name = "%s.%s__%d" % (self.prefix, self.test, self.count)
        folder = os.path.join(self.out, name)
        os.makedirs(folder)
        with open(os.path.join(folder, "model.pt"), "wb") as f:
            f.write(archive)
        with open(os.path.join(folder, "inputs.pt"), "wb") as f:
            f.write(inputs.getvalue())
        with open(os.path.join(folder, "case.json"), "w") as f:
            json.dump({"name": name, "method": method}, f)
        return folder

    def after(self, folder, result, error):
        if folder is None:
            return
        self.busy = True
        try:
            with open(os.path.join(folder, "recorded.pt"), "wb") as f:
                torch.save({"result": plain(result), "error": error}, f)
        except Exception:
            with open(os.path.join(folder, "recorded.pt"), "wb") as f:
                torch.save({"result": Opaque.name, "error": error}, f)
        finally:
            self.busy = False


def content(archive):
    """What an archive says, without where the source stood and when it was written."""
    parts = []
    with zipfile.ZipFile(io.BytesIO(archive)) as z:
        for name in sorted(z.namelist()):
            if not name.endswith(".debug_pkl") and "/.data/" not in name:
                parts += [name.split("/", 1)[1].encode(), z.read(name)]
    return b"\0".join(parts)


def positional(callee, args, kwargs):
    """Keyword arguments at the places that the schema gives them; a file holds no more."""
    if isinstance(callee, torch.jit.RecursiveScriptModule):
        callee = callee._c._get_method("forward")
    names = [a.name for a in callee.schema.arguments]
    if isinstance(callee, torch._C.ScriptMethod):
        names = names[1:]
    args = list(args)
    while kwargs:
        name = names[len(args)]
        if name not in kwargs:
            raise ValueError("an argument left out before a keyword argument")
        args.append(kwargs[name])
        kwargs = {k: v for k, v in kwargs.items() if k != name}
    return tuple(plain(a) for a in args)


class Opaque(Exception):
    """A value that a file of plain values does not hold: script objects, modules, enums, futures."""
    name = "<opaque>"


def plain(v):
    """Values as files hold them: named tuples are tuples, views keep their strides and lose what lies around."""
    if isinstance(v, torch.Tensor):
        if v.layout != torch.strided or v.device.type != "cpu" or v.is_quantized:
            raise Opaque(str(v.layout))
        if v.is_conj() or v.is_neg():
            v = v.detach().resolve_conj().resolve_neg()
        return v.detach().clone() if type(v) is not torch.Tensor or v.grad_fn is not None else v
    if v is None or type(v) in (bool, int, float, complex, str, torch.device):
        return v
    if type(v) is list or type(v).__name__ == "ScriptList":
        return [plain(x) for x in v]
    if isinstance(v, tuple):
        return tuple(plain(x) for x in v)
    if isinstance(v, dict) or type(v).__name__ == "ScriptDict":
        return {plain(k): plain(x) for k, x in v.items()}
    raise Opaque(type(v).__name__)


def hooks_of(module):
    """Whether a scripted module has forward hooks, which calls of the module run and calls of its method do not."""
    return bool(module._get_forward_hooks() or module._get_forward_pre_hooks())


class Stop(Exception):
    pass


def record(root, module, out, pattern):
    """Runs the tests of one module; a second process goes on behind a test that ended the first."""
    done = set()
    progress = os.path.join(out, module + ".done")
    if os.path.exists(progress):
        done = set(open(progress).read().split())
    sys.path[:0] = [root]
    os.chdir(root)
    sys.argv = [module]
    recorder = Recorder(out, module)

    def expired(*_):
        raise Stop("the test takes too long")

    signal.signal(signal.SIGALRM, expired)
    torch.set_num_threads(1)
    loaded = __import__(module, fromlist=["x"])
    tests = []

    def flatten(suite):
        for t in suite:
            if isinstance(t, unittest.TestSuite):
                flatten(t)
            elif type(t).__module__ == module or type(t).__module__ not in sys.modules or not type(t).__module__.startswith("jit."):
                tests.append(t)

    flatten(unittest.defaultTestLoader.loadTestsFromModule(loaded))
    recorder.install()
    log = open(progress, "a")
    sys.stdout = open(os.devnull, "w")
    outcome = collections.Counter()
    for t in tests:
        name = re.sub(r"[^\w.]", "_", t.id().split(".", module.count(".") + 1)[-1])
        if name in done or (pattern and not fnmatch.fnmatch(name, pattern)):
            continue
        log.write(name + "\n")
        log.flush()
        recorder.test, recorder.count = name, 0
        result = unittest.TestResult()
        signal.alarm(TEST_SECONDS)
        try:
            t.run(result)
            outcome["failed" if result.failures or result.errors else "skipped" if result.skipped else "passed"] += 1
        except Stop:
            outcome["stopped"] += 1
        finally:
            signal.alarm(0)
    with open(os.path.join(out, module + ".log"), "a") as f:
        json.dump({"module": module, "tests": outcome, "left out": recorder.left_out}, f, indent=1)
        f.write("\n")


def record_all(args, out):
    def one(module):
        for _ in range(20):
            p = subprocess.run([sys.executable, os.path.abspath(__file__), "--tests", args.tests, "--record", module, "--keep", out] +
                               (["-k", args.k] if args.k else []), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            if p.returncode >= 0:
                break
        return module, p.returncode, p.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for module, code, err in pool.map(one, args.modules.split(",") if args.modules else default_modules(args.tests)):
            if code or args.verbose:
                print("recording %s: exit %d %s" % (module, code, " ".join(err)[:200]), flush=True)


# ---- replaying ----------------------------------------------------------------------------------


def same(a, b, exact=True):
    if isinstance(a, torch.Tensor):
        if not isinstance(b, torch.Tensor) or a.dtype != b.dtype or a.shape != b.shape:
            return False
        if exact or not (a.dtype.is_floating_point or a.dtype.is_complex):
            return torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) if a.dtype.is_floating_point else torch.equal(a, b)
        rtol, atol = TOLERANCE[a.dtype]
        return torch.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, exact) for x, y in zip(a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(same(x, y, exact) for x, y in zip(list(a.keys()) + list(a.values()), list(b.keys()) + list(b.values())))
    if isinstance(a, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or (not exact and abs(a - b) <= 1e-5 * abs(b))
    return a == b


def dtypes(v):
    if isinstance(v, torch.Tensor):
        yield v.dtype
    elif isinstance(v, (list, tuple)):
        for x in v:
            yield from dtypes(x)
    elif isinstance(v, dict):
        for x in v.values():
            yield from dtypes(x)


def message(error):
    """What an error says, without where: the last line, without the class."""
    unfit = re.search(r"Expected a value of type '.*?' for argument", error)
    if unfit:
        return unfit.group()
    lines = [s for s in error.strip().splitlines() if s.strip() and not s.strip().startswith(("Exception raised from", "frame #"))]
    return re.sub(r"^(torch\.jit\.Error|[A-Za-z_.]*(?:Error|Exception)):( |$)", "", lines[-1].strip())[:200].strip() if lines else ""


def call_loaded(folder, case):
    module = torch.jit.load(os.path.join(folder, "model.pt"))
    inputs = torch.load(os.path.join(folder, "inputs.pt"))
    with torch.no_grad():
        try:
            result = (module if case["method"] == "forward" else getattr(module, case["method"]))(*inputs)
        except Exception as e:
            return None, str(e), module
    try:
        return plain(result), None, module
    except Opaque:
        return Opaque.name, None, module


def mentions_gradients(folder):
    with zipfile.ZipFile(os.path.join(folder, "model.pt")) as z:
        return any(TAKES_GRADIENTS.search(z.read(n).decode("utf-8", "replace")) for n in z.namelist() if n.endswith(".py"))


def replay(folder):
    """Completes the case, or says why it is none. Runs in a process of its own."""
    with open(os.path.join(folder, "case.json")) as f:
        case = json.load(f)
    if not os.path.exists(os.path.join(folder, "recorded.pt")):
        return "ended the recording process"
    recorded = torch.load(os.path.join(folder, "recorded.pt"))
    printed = os.path.join(folder, "stdout.txt")
    keep = os.dup(1)
    fd = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(fd, 1)
    torch.manual_seed(1)
    result, error, _ = call_loaded(folder, case)
    sys.stdout.flush()
    os.dup2(keep, 1)
    os.close(fd)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    torch.manual_seed(2)
    again, error_again, _ = call_loaded(folder, case)
    if (error is None) != (recorded["error"] is None) or (error is not None and message(error) != message(recorded["error"])):
        return "another error than in the test" if error else "no error, unlike in the test"
    if error is not None and not message(error):
        return "an error without a message"
    if error is not None and "INTERNAL ASSERT FAILED" in error:
        return "an internal error of PyTorch"
    if (error is None) != (error_again is None) or not same(result, again):
        return "not the same twice"
    checked = error is None and not (isinstance(result, str) and result == Opaque.name)
    if checked and not same(result, recorded["result"], exact=False):
        return "another result than in the test"
    if not os.path.getsize(printed):
        os.remove(printed)
    rtol, atol = 1e-5, 1e-8
    for d in dtypes(result):
        if TOLERANCE.get(d, (0, 0))[0] > rtol:
            rtol, atol = TOLERANCE[d]
    if checked:
        torch.save(result, os.path.join(folder, "expected.pt"))
    case.update(group="grad" if mentions_gradients(folder) else "harvest", rtol=rtol, atol=atol, checked=checked,
                raises=message(error) if error is not None else None, torch=torch.__version__)
    with open(os.path.join(folder, "case.json"), "w") as f:
        json.dump(case, f, indent=1)
    os.remove(os.path.join(folder, "recorded.pt"))
    return None


def replay_some(folders):
    """Each in a child of this process, which has PyTorch loaded and nothing else done: no threads, which would not be there after a fork."""
    outcome = []
    for folder in folders:
        why = os.path.join(folder, "why")
        pid = os.fork()
        if pid == 0:
            signal.alarm(CASE_SECONDS)
            sys.stderr = open(os.devnull, "w")
            try:
                reason = replay(folder)
            except BaseException as e:
                reason = "replaying: %s: %s" % (type(e).__name__, (str(e).strip().splitlines() or [""])[-1][:100])
            with open(why, "w") as f:
                f.write(reason or "")
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        reason = "PyTorch crashes or takes too long" if status else open(why).read() or None
        if os.path.exists(why):
            os.remove(why)
        if reason:
            shutil.rmtree(folder)
        outcome.append(reason)
    return outcome


def replay_all(args, out):
    folders = sorted(os.path.dirname(f) for f in glob.glob(os.path.join(out, "*", "case.json"))
                     if "group" not in json.load(open(f)))
    total = collections.Counter()
    chunks = [folders[i:i + 50] for i in range(0, len(folders), 50)]
    os.environ["OMP_NUM_THREADS"] = "1"
    with concurrent.futures.ProcessPoolExecutor(args.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for outcome in pool.map(replay_some, chunks):
            total.update("kept" if r is None else r for r in outcome)
    print("replayed %d calls" % len(folders))
    for reason, n in total.most_common():
        print("  %5d %s" % (n, reason), flush=True)


# ---- running ctsc -------------------------------------------------------------------------------


def same_text(got, want, case):
    a, b = NUMBER.split(got), NUMBER.split(want)
    if len(a) != len(b):
        return False
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y and (i % 2 == 0 or not ("." in y or "e" in y) or abs(float(x) - float(y)) > case["atol"] + case["rtol"] * abs(float(y))):
            return False
    return True


def judge(folder, case, p):
    out, err = p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace")
    said = [s for s in err.strip().splitlines() if s.startswith(("ctsc:", "error:")) or ": error: " in s] or err.strip().splitlines() or [""]
    last = said[-1][:300]
    if p.returncode < 0:
        return "killed by signal %d" % -p.returncode
    if case["raises"] is not None:
        if p.returncode == 0:
            return "no error was reported, expected %r" % case["raises"]
        return None if case["raises"] in err else "stderr lacks %r: %s" % (case["raises"], last)
    if p.returncode != 0:
        return "exit %d: %s" % (p.returncode, last)
    printed = os.path.join(folder, "stdout.txt")
    if case["checked"] and os.path.exists(printed) and not same_text(out, open(printed, encoding="utf-8", errors="replace").read(), case):
        return "prints something else"
    return None


class Exactly(TorchDispatchMode):
    """Operators on float16 and bfloat16 as if they computed exactly: in float64, and rounded once."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tensors = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        narrow = [t.dtype for t in tensors if t.dtype in REDUCED]
        aliases = any(a.alias_info for a in list(func._schema.arguments) + list(func._schema.returns))
        if not narrow or aliases or func._schema.name == "aten::_to_copy":
            return func(*args, **kwargs)

        def widened(t):
            return t.double() if isinstance(t, torch.Tensor) and t.is_floating_point() else t

        def rounded(t):
            return t.to(narrow[0]) if isinstance(t, torch.Tensor) and t.dtype == torch.float64 else t

        return tree_map(rounded, func(*tree_map(widened, args), **tree_map(widened, kwargs)))


def nearer(ctsc, folder, case, extra):
    """Of results in float16 or bfloat16 that differ: is none of ctsc's tensors farther from the exact one than PyTorch's is? (Where the processor
    has no instructions for bfloat16, PyTorch's convolutions add in bfloat16.)"""
    theirs = [t for t in tree_flatten(torch.load(os.path.join(folder, "expected.pt")))[0] if isinstance(t, torch.Tensor)]
    if not any(t.dtype in REDUCED for t in theirs):
        return False
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "out.pt")
        command = [ctsc, "run", *extra, os.path.join(folder, "model.pt"), "--inputs", os.path.join(folder, "inputs.pt"), "--method", case["method"], "--output", out]
        if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            return False
        ours = [t for t in tree_flatten(torch.load(out))[0] if isinstance(t, torch.Tensor)]
    try:
        with torch.no_grad(), Exactly():
            result = getattr(torch.jit.load(os.path.join(folder, "model.pt")), case["method"])(*torch.load(os.path.join(folder, "inputs.pt")))
    except Exception:
        return False
    exact = [t for t in tree_flatten(result)[0] if isinstance(t, torch.Tensor)]
    return len(exact) == len(ours) == len(theirs) and all(
        o.shape == e.shape and (o.double() - e.double()).abs().max() <= (t.double() - e.double()).abs().max() for o, e, t in zip(ours, exact, theirs) if e.numel())


def run_case(ctsc, folder, extra):
    with open(os.path.join(folder, "case.json")) as f:
        case = json.load(f)
    command = [ctsc, "run", *extra, os.path.join(folder, "model.pt"), "--inputs", os.path.join(folder, "inputs.pt"), "--method", case["method"]]
    if case["checked"]:
        command += ["--expect", os.path.join(folder, "expected.pt"), "--rtol", repr(case["rtol"]), "--atol", repr(case["atol"])]
    try:
        p = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=CASE_SECONDS)
    except subprocess.TimeoutExpired:
        return case, "timeout"
    reason = judge(folder, case, p)
    if reason and "the result differs" in reason and nearer(ctsc, folder, case, extra):
        print("near %s: %s; PyTorch's is farther from the exact result" % (case["name"], reason), flush=True)
        reason = None
    return case, reason


def cause(reason):
    """Reasons without what differs from case to case, to count them."""
    return re.sub(r"\d[\d.e+-]*", "N", reason)[:110]


def run_all(args, out):
    folders = sorted(os.path.dirname(f) for f in glob.glob(os.path.join(out, "*", "case.json")))
    passed, failed, causes = collections.Counter(), collections.Counter(), collections.Counter()
    for level in args.opt or [None]:
        extra = ["--opt", level] if level else []
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for case, reason in pool.map(lambda d: run_case(args.ctsc, d, extra), folders):
                (failed if reason else passed)[case["group"]] += 1
                if reason:
                    causes[(case["group"], cause(reason))] += 1
                    print("FAIL %s %s%s: %s" % (case["group"], case["name"], " --opt " + level if level else "", reason), flush=True)
    for (group, text), n in causes.most_common():
        print("%5d %s: %s" % (n, group, text))
    for group in sorted(passed | failed):
        n = passed[group] + failed[group]
        print("%s: %d of %d calls (%.2f %%)" % (group, passed[group], n, 100 * passed[group] / n))
    return 1 if failed["harvest"] else 0


def main():
    ap = argparse.ArgumentParser(description="The calls of PyTorch's own tests, compared with PyTorch.")
    ap.add_argument("--ctsc", default="build/ctsc")
    ap.add_argument("--tests", metavar="DIR", help="the folder test/ of a checkout of PyTorch")
    ap.add_argument("--modules", metavar="A,B", help="test modules, as test_jit or jit.test_hash (those that script or trace)")
    ap.add_argument("-k", metavar="GLOB", help="only tests whose CLASS.NAME matches")
    ap.add_argument("--keep", metavar="DIR", help="leave the cases there")
    ap.add_argument("--only-run", action="store_true", help="run the cases that --keep left, record none")
    ap.add_argument("--only-make", action="store_true", help="make the cases, run none")
    ap.add_argument("--opt", action="append", metavar="N", help="optimisation level; repeatable")
    ap.add_argument("--record", help=argparse.SUPPRESS)
    ap.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    ap.add_argument("-v", "--verbose", action="store_true")
    args = ap.parse_args()
    if not args.tests and not args.only_run:
        print("no --tests: a checkout of PyTorch's tests is needed")
        return 77
    if not args.only_run and not importlib.util.find_spec("expecttest"):
        print("no expecttest, which PyTorch's tests import (pip install expecttest==0.1.6)")
        return 77
    if args.record:
        record(os.path.abspath(args.tests), args.record, args.keep, args.k)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.abspath(args.keep or scratch)
        os.makedirs(out, exist_ok=True)
        if not args.only_run:
            args.tests = os.path.abspath(args.tests)
            record_all(args, out)
            replay_all(args, out)   # those that an earlier run was stopped before as well
        return 0 if args.only_make else run_all(args, out)


if __name__ == "__main__":
    sys.exit(main())
