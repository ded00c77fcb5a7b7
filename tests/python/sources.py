#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sources.py - programs compiled from live Python by ctsc.script give what PyTorch's archives of them give.

    PYTHONPATH=build/python python3 tests/python/sources.py FOLDER [--only NAME] [-v]

FOLDER has a folder per program: source.py (`torch` in it is ctsc here; the entry is the function `forward`, or the class `Main`, built without arguments), inputs.pt,
expected.pt (torch.save; none where it must fail) and case.json ("raises": a part of the message; "rtol", "atol"; "stdout.txt" where it prints). A program with a model.pt
beside it is also run from that archive. tests/python/sources is such a folder.
"""
import argparse
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
import traceback
import warnings

import ctsc
import ctsc.nn


class TorchIsCtsc(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name == "torch" or name.startswith("torch."):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return importlib.import_module("ctsc" + spec.name[len("torch"):])

    def exec_module(self, module):
        pass


@contextlib.contextmanager
def torch_is_ctsc():
    finder, before = TorchIsCtsc(), {n: m for n, m in sys.modules.items() if n == "torch" or n.startswith("torch.")}
    for n in before:
        del sys.modules[n]
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for n in [n for n in sys.modules if n == "torch" or n.startswith("torch.")]:
            del sys.modules[n]
        sys.modules.update(before)


def load_source(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with torch_is_ctsc():
        keep = {k: getattr(module, k, None) for k in ("__spec__", "__loader__")}
        spec.loader.exec_module(module)
        for k, v in keep.items():
            setattr(module, k, v)
    return module


def compiled(folder, name):
    """With the archive's weights: who has written it, has drawn them in an order of his own."""
    module = load_source(os.path.join(folder, "source.py"), "source_" + name)
    main, model = getattr(module, "Main", None), os.path.join(folder, "model.pt")
    if main is None:
        return ctsc.script(module.forward)
    made = ctsc.script(main().eval()) if isinstance(main, type) else main()
    if os.path.exists(model):
        made.load_state_dict(ctsc.load(model).state_dict(), strict=False)
    return made


def calls(folder, name):
    yield "source", lambda: compiled(folder, name)
    model = os.path.join(folder, "model.pt")
    if os.path.exists(model):
        yield "archive", lambda: ctsc.load(model)


def outcome(make, inputs):
    """(result, None, what it printed) or (None, exception, ...)"""
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out), warnings.catch_warnings(), ctsc.no_grad():
            warnings.simplefilter("ignore")
            return make()(*inputs), None, out.getvalue()
    except Exception as e:
        return None, e, out.getvalue()


def other_words(folder):
    """Whether differs.txt beside the group says that the message is another one than PyTorch's ("@ words", then rows of CASE, tab, reason)."""
    path, kind = os.path.join(os.path.dirname(os.path.dirname(folder)), "differs.txt"), None
    if not os.path.exists(path):
        return False
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("@ "):
                kind = line.split()[1]
            elif kind == "words" and line.split("\t")[0].rpartition("/")[2] == os.path.basename(folder):
                return True
    return False


def check(folder):
    """A text that says what is wrong; None: nothing."""
    folder = os.path.abspath(folder)
    name = os.path.basename(folder)
    with open(os.path.join(folder, "case.json"), encoding="utf-8") as f:
        case = json.load(f)
    for kind, make in calls(folder, name):
        inputs = ctsc.load(os.path.join(folder, "inputs.pt"))
        got, error, printed = outcome(make, inputs)
        if case.get("raises") is not None:
            if error is None or (case["raises"] not in str(error) and not other_words(folder)):
                return "%s: must fail with %r: %r" % (kind, case["raises"], error)
            continue
        if error is not None:
            return "%s: %s" % (kind, "".join(traceback.format_exception(type(error), error, error.__traceback__)[-2:]))
        why = ctsc._C._close(got, ctsc.load(os.path.join(folder, "expected.pt")), case["rtol"], case["atol"])
        if why:
            return "%s: %s" % (kind, why)
        stdout = os.path.join(folder, "stdout.txt")
        if os.path.exists(stdout):
            with open(stdout, encoding="utf-8") as f:
                if f.read() != printed:
                    return "%s: printed %r" % (kind, printed)
    return None


def cases(folder):
    return sorted(n for n in os.listdir(folder) if os.path.exists(os.path.join(folder, n, "source.py")))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("folder")
    ap.add_argument("--only", default="")
    ap.add_argument("-v", action="store_true")
    args = ap.parse_args()
    failed = 0
    names = [n for n in cases(args.folder) if args.only in n]
    for n in names:
        wrong = check(os.path.join(args.folder, n))
        failed += wrong is not None
        if wrong or args.v:
            print("%s: %s" % (n, wrong or "ok"), flush=True)
    print("%d of %d programs give what PyTorch's archives give" % (len(names) - failed, len(names)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
