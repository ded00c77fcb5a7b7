#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Archives that ctsc has written, against real PyTorch.

    tests/interop/resave.py --ctsc build/ctsc                     the cases of tests/corpus
    tests/interop/resave.py --ctsc build/ctsc --corpus DIR ...    other corpora
    tests/interop/resave.py ... --filter 'lang/str_*'

Besides, the programs of programs/programs.py are scripted and saved here. Each case's model.pt is read and written again by ctsc (`ctsc compile model.pt -o out.pt`); PyTorch loads both
and runs them on the case's inputs. Results, printed text and errors must be equal, and so must the file version.
Then, unless --no-text is given, PyTorch writes both archives once more: the code in these must be equal, which says
that PyTorch sees the same graphs in both. What differs is listed in differs.txt.

With --source, where different code is only counted, the archives to compare are those that ctsc makes of the cases' source.py.

Debug records: where a case raises, both archives must name the same line of the same file.

Needs python3-torch (and torchvision for the cases that use its operators); exits 77 without it.
"""
import argparse
import fnmatch
import io
import itertools
import math
import os
import re
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from cases import Differences  # noqa: E402

try:
    import torch
except ImportError:
    print("resave: PyTorch is not installed")
    sys.exit(77)
try:
    import torchvision  # noqa: F401  registers operators
except ImportError:
    torchvision = None


def find_cases(roots):
    for root in roots:
        for folder, dirs, files in sorted(os.walk(root)):
            if "model.pt" in files:
                inputs = os.path.join(folder, "inputs.pt")
                yield os.path.relpath(folder, root), os.path.join(folder, "model.pt"), [inputs] * os.path.exists(inputs)


def same(a, b):
    """Equal values of equal types; NaN equals NaN."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.dtype != b.dtype or a.shape != b.shape or a.requires_grad != b.requires_grad:
            return False
        if a.is_quantized or a.layout != torch.strided:
            return str(a) == str(b)
        return torch.equal(torch.nan_to_num(a.detach()), torch.nan_to_num(b.detach())) if not a.is_complex() else \
            torch.equal(torch.view_as_real(a.detach().resolve_conj()), torch.view_as_real(b.detach().resolve_conj())) or str(a) == str(b)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return type(a).__name__ == type(b).__name__ and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return True
    if type(a).__name__ != type(b).__name__:
        return False
    return a == b or repr(type(a)).startswith("<class 'torch.") or type(a).__eq__ is object.__eq__


class Output:
    """What is written to the process's standard output meanwhile."""

    def __enter__(self):
        sys.stdout.flush()
        self.file = tempfile.TemporaryFile()
        self.saved = os.dup(1)
        os.dup2(self.file.fileno(), 1)
        return self

    def __exit__(self, *_):
        os.dup2(self.saved, 1)
        os.close(self.saved)
        self.file.seek(0)
        self.text = self.file.read()
        self.file.close()


PLACE = re.compile(r'File "([^"]*)", line (\d+)')


def run(path, inputs):
    """(value, None), or (None, (message, places))."""
    torch.manual_seed(0)
    args = torch.load(inputs)
    with torch.no_grad():
        try:
            module = torch.jit.load(path)
            return module(*args), None
        except Exception as e:  # the program's own errors, whatever they are
            text = str(e)
            return None, (text.strip().splitlines()[-1] if text.strip() else "", PLACE.findall(text))


def resaved_code(path):
    """The code in what PyTorch makes of the archive."""
    out = io.BytesIO()
    torch.jit.save(torch.jit.load(path), out)
    with zipfile.ZipFile(out) as z:
        return {n.split("/", 1)[1]: z.read(n) for n in z.namelist() if n.endswith(".py")}


def compare(model, out, inputs):
    """Reasons why running the two on the inputs in this file differs."""
    reasons = []
    with Output() as want_out:
        want, want_error = run(model, inputs)
    with Output() as got_out:
        got, got_error = run(out, inputs)
    if (want_error is None) != (got_error is None):
        reasons.append("error: %r instead of %r" % (got_error, want_error))
    elif want_error is not None:
        if want_error[0] != got_error[0]:
            reasons.append("message %r instead of %r" % (got_error[0], want_error[0]))
        ours, theirs = ([(os.path.basename(f), line) for f, line in places if not f.startswith("code/")]
                        for places in (got_error[1], want_error[1]))
        if ours != theirs:
            reasons.append("places %r instead of %r" % (ours, theirs))
    elif not same(got, want):
        reasons.append("result %.300r instead of %.300r" % (got, want))
    if got_out.text != want_out.text:
        reasons.append("printed %.200r instead of %.200r" % (got_out.text, want_out.text))
    return reasons


def check(ctsc, model, source, inputs, out, text):
    """Reasons why the case failed, and whether the code differs."""
    p = subprocess.run([ctsc, "compile", source or model, "-o", out], capture_output=True, text=True)
    if p.returncode:
        return ["ctsc: exit %d: %s" % (p.returncode, p.stderr.strip()[:600])], False
    torch.jit.load(out)
    reasons = [r for i in inputs for r in compare(model, out, i)]
    differs = text and not reasons and resaved_code(model) != resaved_code(out)
    return reasons, differs


def make_programs(tmp):
    """The programs of programs.py as cases: name, archive, files of inputs."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs"))
    import programs
    for make in programs.all_programs():
        program, inputs = make()
        model = os.path.join(tmp, make.__name__ + ".model.pt")
        if not isinstance(program, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
            program = torch.jit.script(program)
        torch.jit.save(program, model)
        files = []
        for i, args in enumerate(inputs):
            files.append(os.path.join(tmp, "%s.%d.pt" % (make.__name__, i)))
            torch.save(args, files[-1])
        yield "programs/" + make.__name__, model, files


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--ctsc", default="build/ctsc")
    ap.add_argument("--corpus", action="append", help="folders with cases (default: tests/corpus)")
    ap.add_argument("--filter", action="append")
    ap.add_argument("--no-text", action="store_true", help="do not compare code")
    ap.add_argument("--source", action="store_true", help="compile each case's source.py instead of reading its archive")
    ap.add_argument("--keep", metavar="DIR", help="keep the archives that ctsc wrote")
    args = ap.parse_args()
    torch.set_num_threads(1)
    roots = args.corpus or [os.path.join(here, "..", "corpus")]
    listed = None if args.corpus or args.source else Differences(os.path.join(here, "differs.txt"))
    passed = failed = different = 0
    with tempfile.TemporaryDirectory() as tmp:
        for name, model, inputs in itertools.chain(make_programs(tmp), find_cases(roots)):
            if args.filter and not any(fnmatch.fnmatch(name, p) for p in args.filter):
                continue
            out = os.path.join(args.keep or tmp, name.replace("/", "__") + ".pt")
            source = os.path.join(os.path.dirname(model), "source.py") if args.source else None
            if source and not os.path.exists(source):
                continue
            try:
                reasons, differs = check(args.ctsc, model, source, inputs, out, not args.no_text)
            except Exception as e:  # PyTorch cannot read what was written
                reasons, differs = ["%s: %.600s" % (type(e).__name__, e)], False
            different += differs
            if listed:
                expected, why = listed.check("resaved", name, bool(reasons))
                reasons = [] if expected else reasons + [why]
                expected, why = listed.check("code", name, differs)
                reasons += [] if args.no_text or expected else [why]
            if reasons:
                failed += 1
                print("  FAILED %s" % name)
                for r in reasons:
                    print("      " + r)
            else:
                passed += 1
            if not args.keep and os.path.exists(out):
                os.unlink(out)
    print("resave: %d passed, %d failed, %d with different code" % (passed, failed, different))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
