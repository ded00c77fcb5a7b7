#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strides of results: operators called with tensors of several layouts, by PyTorch and by ctsc; exported programs operator by operator.

    PYTHON-WITH-TORCH-2 tests/interop/strides.py --package build/python [-k NAME] [--networks small,vision,language [-n NAME]]

Calls the operators of PyTorch's database (op_db) with contiguous, transposed, channels_last, sliced and expanded arguments, or, with --networks, the nodes of the
programs of tests/pt2 with the tensors that they get in PyTorch. Shapes and strides have to be the same: exported programs call view() where PyTorch's result
allows it. Needs torch 2.x and its test package expecttest; exits 77 without."""
import argparse
import collections
import os
import sys
import warnings

warnings.filterwarnings("ignore")
try:
    import torch
    from torch.utils._pytree import tree_map
except ImportError:
    print("skipped: no PyTorch")
    sys.exit(77)
os.environ.setdefault("TORCH_LOGS", "-all")

# Memory that nobody wrote, random numbers: strides alone are compared anyway. What has no fixed layout in PyTorch itself, or is not ctsc's.
SKIPPED = ("sparse", "nested", "jiterator", "_refs", "empty", "resize", "set_", "to_mkldnn", "view_as_real_copy")


def layouts(x):
    """The same elements lying differently."""
    yield "contiguous", x.contiguous()
    if x.dim() >= 2 and x.numel() > 1:
        yield "transposed", x.transpose(0, -1).contiguous().transpose(0, -1)
        yield "inner transposed", x.transpose(-2, -1).contiguous().transpose(-2, -1)
    if x.dim() == 4:
        yield "channels_last", x.contiguous(memory_format=torch.channels_last)
    if x.dim() == 5:
        yield "channels_last_3d", x.contiguous(memory_format=torch.channels_last_3d)
    if x.dim() >= 1 and x.numel() > 1:
        wide = torch.empty([*x.shape[:-1], x.shape[-1] * 2], dtype=x.dtype)[..., ::2]
        yield "sliced", wide.copy_(x)


def laid_out(values, layout):
    def one(x):
        if not isinstance(x, torch.Tensor):
            return x
        found = dict(layouts(x.detach()))
        return found.get(layout, x.detach().contiguous())
    return tree_map(one, values)


def flat(v):
    if isinstance(v, (list, tuple)):
        return [x for e in v for x in flat(e)]
    return [v]


class Mirror:
    """Calls of operators in ctsc."""

    def __init__(self, package):
        sys.path.insert(0, package)
        import ctsc
        self.ctsc = ctsc
        self.wrong, self.calls = collections.OrderedDict(), collections.Counter()

    def given(self, v):
        ctsc = self.ctsc
        if isinstance(v, torch.Tensor):
            x = torch.empty_strided(v.size(), v.stride(), dtype=v.dtype) if 0 not in v.stride() else v.clone()
            return ctsc.from_dlpack(x.copy_(v) if 0 not in v.stride() else x) if v.dtype != torch.bool else ctsc.from_dlpack(x.copy_(v).view(torch.uint8)).view(ctsc.bool)
        if isinstance(v, torch.dtype):
            return getattr(ctsc, str(v).split(".")[1])
        if isinstance(v, torch.memory_format):
            return getattr(ctsc, str(v).split(".")[1], None)
        if isinstance(v, (torch.device, torch.layout)):
            return None
        if isinstance(v, (list, tuple)):
            return [self.given(x) for x in v]
        return v

    def prepare(self, args, kwargs):
        return [self.given(a) for a in args], {k: self.given(a) for k, a in kwargs.items() if not isinstance(a, (torch.device, torch.layout)) and k != "pin_memory"}

    def call(self, namespace, name, prepared, want, note):
        self.calls["all"] += 1
        try:
            got = getattr(getattr(self.ctsc.ops, namespace), name)(*prepared[0], **prepared[1])
        except Exception as e:
            self.calls["not called"] += 1
            self.calls["not called: " + name] += 1
            self.error = "%s: %s" % (name, str(e).splitlines()[0][:160] if str(e) else e)
            return
        for i, (g, w) in enumerate(zip(flat(got), flat(want))):
            if not isinstance(w, torch.Tensor) or not isinstance(g, self.ctsc.Tensor) or w.layout != torch.strided or not w.numel():
                continue
            a, b = tuple(g.stride()), tuple(w.stride())
            same = tuple(g.shape) == tuple(w.shape) and all(x == y or n == 1 for x, y, n in zip(a, b, w.shape))
            if not same:
                key = "%s result %d" % (name, i)
                self.wrong.setdefault(key, "shape %s strides %s instead of %s %s; %s" % (tuple(g.shape), a, tuple(w.shape), b, note))


def shown(v):
    if isinstance(v, torch.Tensor):
        return "%s%s" % (tuple(v.shape), tuple(v.stride()))
    if isinstance(v, (list, tuple)):
        return "[%s]" % ", ".join(shown(x) for x in v)
    return repr(v)


def database(mirror, args):
    from torch.testing._internal.common_methods_invocations import op_db
    for op in op_db:
        name = op.aten_name
        if args.k not in name or any(s in op.name for s in SKIPPED):
            continue
        packet = getattr(torch.ops.aten, name, None)
        if packet is None or torch.float32 not in op.dtypes:
            continue
        try:
            samples = list(op.sample_inputs("cpu", torch.float32, requires_grad=False))
        except Exception:
            continue
        for sample in samples[:args.samples]:
            for layout in ("contiguous", "transposed", "inner transposed", "channels_last", "channels_last_3d", "sliced"):
                given = laid_out([sample.input, *sample.args], layout)
                kwargs = laid_out(dict(sample.kwargs), layout)
                try:
                    prepared = mirror.prepare(given, kwargs)
                    with torch.no_grad():
                        want = packet(*given, **kwargs)
                except Exception:
                    continue
                mirror.call("aten", name, prepared, want, "%s(%s)" % (layout, ", ".join(shown(v) for v in given)))


class Recorder(torch.fx.Interpreter):
    def __init__(self, module, mirror):
        super().__init__(module)
        self.mirror = mirror

    def run_node(self, n):
        if n.op != "call_function" or not isinstance(n.target, torch._ops.OpOverload):
            return super().run_node(n)
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        try:
            prepared = self.mirror.prepare(args, kwargs)
        except Exception:
            prepared = None
        out = super().run_node(n)
        if prepared:
            self.mirror.call(n.target.namespace, n.target._schema.name.split("::")[1], prepared, out, ", ".join(shown(v) for v in args))
        return out


def networks(mirror, args):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pt2"))
    import importlib
    for group in args.networks.split(","):
        for name, case in importlib.import_module("cases_" + group).cases().items():
            if args.n not in name:
                continue
            try:
                torch.manual_seed(0)
                module = case["module"]()
                module = module if case.get("train") else module.eval()
                a, k = case["args"]()
                program = torch.export.export(module, a, k, dynamic_shapes=case.get("dynamic"), strict=case.get("strict", False))
            except Exception:
                continue
            before = len(mirror.wrong)
            for p in (program, program.run_decompositions()):
                flat_args = [p.state_dict[s.target] if s.kind.name in ("PARAMETER", "BUFFER") and s.target in p.state_dict else p.constants[s.target] for s in p.graph_signature.input_specs
                             if s.kind.name in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR")]
                leaves = torch.utils._pytree.tree_leaves((a, k))
                try:
                    with torch.no_grad():
                        Recorder(p.graph_module, mirror).run(*flat_args, *[x for x in leaves])
                except Exception as e:
                    print("%-36s not run: %s" % (name, (str(e).splitlines() or [type(e).__name__])[0][:120]), flush=True)
            print("%-36s %s" % (name, "ok" if len(mirror.wrong) == before else "%d new" % (len(mirror.wrong) - before)), flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--package", default="build/python")
    ap.add_argument("-k", default="", help="only operators with this in their names")
    ap.add_argument("--samples", type=int, default=6)
    ap.add_argument("--networks", help="groups of tests/pt2")
    ap.add_argument("-n", default="", help="only networks with this in their names")
    ap.add_argument("-v", action="store_true", help="what could not be called, too")
    args = ap.parse_args()
    torch.set_num_threads(1)
    mirror = Mirror(args.package)
    if args.networks:
        networks(mirror, args)
    else:
        try:
            database(mirror, args)
        except ImportError as e:
            print("skipped: %s" % e)
            return 77
    for key, text in mirror.wrong.items():
        print("%-40s %s" % (key, text))
    if args.v:
        for key, count in mirror.calls.most_common():
            print("    %s: %d" % (key, count))
    print("%d calls, %d not made in ctsc, %d results of other strides" % (mirror.calls["all"], mirror.calls["not called"], len(mirror.wrong)))
    return 1 if mirror.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
