#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks exported by torch.export, run by ctsc and compared with PyTorch.

    tests/pt2/networks.py --ctsc build/ctsc [-k NAME] [--group small|more|vision|language|families|torchao|images|architectures|signals|programs] [--keep DIR] [--levels 0,2] [--forms training,decomposed,prims]

Needs PyTorch 2.5 or newer (make test-pt2 PT2_PYTHON=...); what also needs torchvision, timm, transformers, torchao, torchaudio or kornia is left out where these are missing.
Each network of cases_*.py is exported as it is, and once more after run_decompositions(); both archives run at all levels with each set of arguments,
and give what the module itself gives. So does PyTorch with the TorchScript that `ctsc convert` makes of them."""
import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
warnings.filterwarnings("ignore")
os.environ.setdefault("TORCH_LOGS", "-all")

import torch  # noqa: E402

GROUPS = ["small", "more", "vision", "language", "families", "torchao", "images", "architectures", "signals", "programs"]


def plain(v):
    """Results as ctsc compares them: objects with fields are tuples of those that are not None."""
    if isinstance(v, torch.Tensor):
        return v.detach().clone()
    if isinstance(v, dict) and type(v) is not dict and hasattr(v, "to_tuple"):
        return tuple(plain(x) for x in v.to_tuple())
    if hasattr(v, "__dataclass_fields__"):
        return tuple(plain(getattr(v, f)) for f in v.__dataclass_fields__ if getattr(v, f) is not None)
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    if isinstance(v, (list, tuple)):
        return type(v)(plain(x) for x in v) if type(v) in (list, tuple) else tuple(plain(x) for x in v)
    return v


def fields(v):
    """Arguments as ctsc takes them: objects with fields are tuples of these."""
    if hasattr(v, "__dataclass_fields__"):
        return tuple(fields(getattr(v, f)) for f in v.__dataclass_fields__ if getattr(v, f) is not None)
    if isinstance(v, (list, tuple)) and type(v) in (list, tuple):
        return type(v)(fields(x) for x in v)
    return {k: fields(x) for k, x in v.items()} if isinstance(v, dict) else v


def copied(v):
    return torch.utils._pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, v)


def run(ctsc, archive, folder, call, level, case):
    command = [ctsc, "run", archive, "--inputs", os.path.join(folder, "inputs%d.pt" % call), "--expect", os.path.join(folder, "expected%d.pt" % call),
               "--rtol", str(case.get("rtol", 1e-3)), "--atol", str(case.get("atol", 1e-4)), "--opt", str(level)]
    p = subprocess.run(command, capture_output=True, text=True, timeout=600)
    return "" if p.returncode == 0 else "opt %d, call %d: exit %d: %s" % (level, call, p.returncode, (p.stderr or p.stdout).strip()[:600])


def tuples(v):
    """Arguments as TorchScript takes those that torch.export has seen: lists are tuples."""
    return tuple(tuples(x) for x in v) if isinstance(v, (list, tuple)) else {k: tuples(x) for k, x in v.items()} if isinstance(v, dict) else v


def same(got, want, case):
    if isinstance(want, torch.Tensor):
        assert got.dtype == want.dtype, "%s, not %s" % (got.dtype, want.dtype)
        if want.is_floating_point() and want.element_size() == 1:  # torch compares these bit by bit only
            got, want = got.float(), want.float()
        torch.testing.assert_close(got, want, rtol=case.get("rtol", 1e-3), atol=case.get("atol", 1e-4), equal_nan=True)
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want), "%d results, not %d" % (len(got), len(want))
        for g, w in zip(got, want):
            same(g, w, case)
    elif isinstance(want, dict):
        for (k, g), (l, w) in zip(got.items(), want.items()):
            assert k == l
            same(g, w, case)
    else:
        assert got == want or got != got, "%r, not %r" % (got, want)


def converted(ctsc, archive, folder, calls, case):
    """The archive as TorchScript, run by PyTorch."""
    script = archive[:-1].replace(".pt", ".converted.pt")
    p = subprocess.run([ctsc, "convert", archive, script], capture_output=True, text=True, timeout=600)
    if p.returncode:
        return "convert: exit %d: %s" % (p.returncode, p.stderr.strip()[:600])
    for call in range(calls):
        try:
            module = torch.jit.load(script)
            args = torch.load(os.path.join(folder, "inputs%d.pt" % call), weights_only=False)
            want = torch.load(os.path.join(folder, "expected%d.pt" % call), weights_only=False)
            with torch.no_grad():
                same(module(*tuples(args)), want, case)
        except Exception as e:
            return "converted, call %d: %s" % (call, str(e).strip()[:600])
    return ""


def check(ctsc, case, folder, levels, forms):
    torch.manual_seed(0)
    module = case["module"]()
    if not case.get("train"):
        module.eval()
    args, kwargs = case["args"]()
    calls = [(args, kwargs)] + [c() for c in case.get("calls", [])]
    state = copied(dict(module.state_dict()))
    program = torch.export.export(module, copied(args), copied(kwargs), dynamic_shapes=case.get("dynamic"), strict=case.get("strict", False))
    for i, (a, k) in enumerate(calls):
        module.load_state_dict(state, strict=False)
        torch.save(fields(tuple(copied(a)) + tuple(copied(k).values())), os.path.join(folder, "inputs%d.pt" % i))
        with torch.no_grad():
            torch.save(plain(module(*copied(a), **copied(k))), os.path.join(folder, "expected%d.pt" % i))
    module.load_state_dict(state, strict=False)
    wrong = []
    for form in forms:
        # "prims": all that torch can take apart, to operators of the namespace prims where there are some
        p = program if form == "training" else program.run_decompositions(torch._decomp.decomposition_table if form == "prims" else None)
        archive = os.path.join(folder, form + ".pt2")
        torch.export.save(p, archive)
        for level in levels:
            for call in range(len(calls)):
                why = run(ctsc, archive, folder, call, level, case)
                if why:
                    wrong.append(form + ", " + why)
                    break
            if wrong:
                break
        if not wrong and case.get("convert", True) and form != "prims":  # prims of PyTorch take no numbers for tensors
            why = converted(ctsc, archive, folder, len(calls), case)
            wrong += [form + ", " + why] if why else []
    return wrong


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--ctsc", default="build/ctsc")
    p.add_argument("--group")
    p.add_argument("-k", default="")
    p.add_argument("--keep")
    p.add_argument("--levels", default="0,1,2,3")
    p.add_argument("--forms", default="training,decomposed")
    o = p.parse_args()
    passed, failed, skipped = 0, [], []
    for group in [o.group] if o.group else GROUPS:
        for name, case in importlib.import_module("cases_" + group).cases().items():
            if o.k not in name:
                continue
            begin = time.time()
            with tempfile.TemporaryDirectory() as folder:
                if o.keep:
                    folder = os.path.join(o.keep, name)
                    os.makedirs(folder, exist_ok=True)
                try:
                    wrong = check(os.path.abspath(o.ctsc), case, folder, [int(x) for x in o.levels.split(",")], o.forms.split(","))
                except subprocess.TimeoutExpired:
                    wrong = ["ctsc takes too long"]
                except Exception as e:  # torch.export refuses it: nothing to compare
                    skipped.append(name)
                    print("%-36s not exported: %s" % (name, (str(e).strip().splitlines() or [type(e).__name__])[0][:160]), flush=True)
                    if os.environ.get("PT2_TRACE"):
                        traceback.print_exc()
                    continue
            for w in wrong:
                print("%-36s %s" % (name, w), flush=True)
            if not wrong:
                print("%-36s ok (%.0f s)" % (name, time.time() - begin), flush=True)
            passed += not wrong
            failed += [name] if wrong else []
    print("%d passed, %d failed%s" % (passed, len(failed), ", %d not exported" % len(skipped) if skipped else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
