# SPDX-License-Identifier: Apache-2.0
"""compare_functional.py - the embedded torch.nn.functional and torch.functional against PyTorch's own.

Loads the files of src/frontend/prelude/torch under another package name, with the real torch underneath, and compares each
public function with the real one of the same name: its signature, the graph that torch.jit.script makes (modulo
names, places and the wording of messages), and results on a set of inputs.

Needs PyTorch 1.13 (Debian: python3-torch); without it the test is skipped.
Usage: compare_functional.py [-v] [NAME...]
"""
import argparse
import builtins
import inspect
import os
import re
import sys
import types
import warnings

try:
    import torch
except ImportError:
    print("compare_functional: no PyTorch here, skipped")
    sys.exit(0)

import torch._jit_internal as jit_internal
import torch.nn.functional as real_functional

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from cases import Differences  # noqa: E402

PACKAGE = "ctsc_prelude"
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/frontend/prelude")
# Modules that are taken from the prelude when one of its files imports them.
# The name that PyTorch 1.13 does not have yet.
if not hasattr(torch._C._nn, "scaled_dot_product_attention"):
    torch._C._nn.scaled_dot_product_attention = torch._C._nn._scaled_dot_product_attention
OURS = ("torch.nn._reduction", "torch.nn.functional", "torch.functional")
loaded = {}
# Operators that came after 1.13, and that the prelude names when it is read.
for later in ("scaled_dot_product_attention",):
    if not hasattr(torch._C._nn, later):
        setattr(torch._C._nn, later, None)


def load(dotted):
    """The prelude's module `dotted` as ctsc_prelude.DOTTED."""
    if dotted in loaded:
        return loaded[dotted]
    path = os.path.normpath(os.path.join(ROOT, dotted.replace(".", "/") + ".py"))
    module = types.ModuleType(PACKAGE + "." + dotted)
    module.__file__ = path
    loaded[dotted] = sys.modules[module.__name__] = module

    def importer(name, globals=None, locals=None, fromlist=(), level=0):
        if name in OURS and fromlist:
            return load(name)
        result = builtins.__import__(name, globals, locals, fromlist, level)
        ours = [n for n in fromlist or () if name + "." + n in OURS]
        if not ours:
            return result
        mixed = types.ModuleType(name)
        for n in fromlist:
            setattr(mixed, n, load(name + "." + n) if n in ours else getattr(result, n))
        return mixed

    module.__builtins__ = dict(vars(builtins), __import__=importer)
    with open(path) as f:
        exec(compile(f.read(), path, "exec"), module.__dict__)
    return module


def canonical(graph):
    """Text of a graph without places, with values numbered in order, constants in their uses, without messages."""
    text = re.sub(r" *#[^\n\"]*$", "", str(graph), flags=re.M)
    text = re.sub(r'value="[^"]* [^\n]*"\]', 'value="message"]', text)
    text = re.sub(r"__torch__\.(%s\.)?" % PACKAGE, "", text)
    text = re.sub(r"___torch_mangle_\d+\.", "", text)
    text = re.sub(r"warn_id=\d+", "warn_id", text)
    constants = dict(re.findall(r"^ *(%[\w.]+) : (.* = prim::(?:Constant|Uninitialized).*)\n", text, flags=re.M))
    text = re.sub(r"^ *%[\w.]+ : .* = prim::(?:Constant|Uninitialized).*\n", "", text, flags=re.M)
    text = re.sub(r"%[\w.]+", lambda m: "{%s}" % constants[m.group()] if m.group() in constants else m.group(), text)
    numbers = {}
    return re.sub(r"%[\w.]+", lambda m: "%%%d" % numbers.setdefault(m.group(), len(numbers)), text)


def called(graph):
    """Functions that a graph calls, by name."""
    found = {}
    for node in graph.findAllNodes("prim::CallFunction", True):
        f = next(node.inputs())
        found[f.node().s("name")] = f.type()
    return found


def overloads(module, f):
    return jit_internal._get_fn_overloads(jit_internal._qualified_name(f)) or []


def script_overloads(f):
    """One compiled function per overload signature."""
    return torch.jit._script._get_overloads(f)


def signature(f):
    return re.sub(r"%s\." % PACKAGE, "", str(inspect.signature(f)))


failures = []


def fail(name, what):
    failures.append(name)
    print("%s: %s" % (name, what))


def diff(a, b):
    import difflib

    return "\n".join(difflib.unified_diff(a.split("\n"), b.split("\n"), "PyTorch", "ctsc", lineterm="", n=2))


def compare_compiled(name, real, ours):
    real_graphs, our_graphs = [], []
    if script_overloads(real):
        real_graphs = [g.graph for g in script_overloads(real)]
        our_graphs = [g.graph for g in script_overloads(ours) or []]
    else:
        try:
            real_graphs = [torch.jit.script(real).graph]
        except Exception:
            return  # what PyTorch cannot compile need not compile here
        our_graphs = [torch.jit.script(ours).graph]
    if len(real_graphs) != len(our_graphs):
        fail(name, "%d overloads in PyTorch, %d here" % (len(real_graphs), len(our_graphs)))
    for r, o in zip(real_graphs, our_graphs):
        if canonical(r) != canonical(o):
            fail(name, "graphs differ\n" + diff(canonical(r), canonical(o)))


def compare_function(name, real, ours):
    op = torch.jit._builtins._find_builtin
    if isinstance(real, types.BuiltinFunctionType) or op(real):
        if isinstance(ours, types.BuiltinFunctionType) and ours.__name__ not in (real.__name__, op(real)[6:]):
            fail(name, "is %s in PyTorch, %s here" % (op(real), ours.__name__))
        return
    if real in jit_internal.boolean_dispatched:
        for key in ("index", "default", "arg_name"):
            if jit_internal.boolean_dispatched[real][key] != jit_internal.boolean_dispatched[ours][key]:
                fail(name, "dispatch differs in " + key)
        for key in ("if_true", "if_false"):
            r, o = (jit_internal.boolean_dispatched[f][key] for f in (real, ours))
            if r.__name__ != o.__name__:
                fail(name, "dispatches to %s in PyTorch, to %s here" % (r.__name__, o.__name__))
            if r not in jit_internal.boolean_dispatched:
                compare_compiled(name + "." + key, r, o)
        return
    if signature(real) != signature(ours):
        fail(name, "signature\n  PyTorch %s\n  here    %s" % (signature(real), signature(ours)))
    try:
        compare_compiled(name, real, ours)
    except Exception as e:
        fail(name, "does not compile: " + str(e).strip())


# ---- results ------------------------------------------------------------------------------------------


def calls():
    """(function, arguments, keywords) by name; tensors are made afresh from the same seed for each side."""
    r = torch.rand
    i = torch.tensor
    x4, x3, x5, x2 = r(2, 4, 8, 8), r(2, 4, 8), r(2, 4, 4, 4, 4), r(3, 5)
    yield from (
        (n, (x2 - 0.5,), {})
        for n in "relu relu6 elu selu celu leaky_relu tanhshrink softsign tanh sigmoid hardsigmoid silu mish hardswish "
        "hardtanh gelu softplus logsigmoid softshrink hardshrink glu_ softmax softmin log_softmax normalize".split()
        if n != "glu_"
    )
    yield "glu", (r(2, 6),), {}
    yield "glu", (r(()),), {}
    yield "threshold", (x2, 0.5, 9.0), {}
    yield "rrelu", (x2 - 0.5,), {"training": True}
    yield "prelu", (x2 - 0.5, r(1)), {}
    yield "softmax", (x2, 1), {"dtype": torch.float64}
    for n in ("dropout", "alpha_dropout"):
        yield n, (x2, 0.4, True), {}
        yield n, (x2, 1.5, True), {}
    yield "dropout1d", (x3, 0.5), {}
    yield "dropout1d", (x2, 0.5), {}
    yield "dropout1d", (x4, 0.5), {}
    yield "dropout2d", (x4, 0.5), {}
    yield "dropout2d", (x3, 0.5), {}
    yield "dropout3d", (x4, 0.5), {}
    yield "feature_alpha_dropout", (x4, 0.5, True), {}
    yield "gumbel_softmax", (x2,), {"hard": True}
    yield "gumbel_softmax", (x2, 0.5, False), {}
    for n, x, k in (("1d", x3, 3), ("2d", x4, 3), ("3d", x5, 2)):
        yield "max_pool" + n, (x, k), {"padding": 1}
        yield "max_pool" + n, (x, k, 1), {"return_indices": True, "ceil_mode": True}
        # Lists: one int becomes a list where a compiled function is called, not in Python.
        yield "adaptive_max_pool" + n, (x, [2] * (x.dim() - 2)), {"return_indices": True}
        yield "adaptive_avg_pool" + n, (x, [3] * (x.dim() - 2)), {}
        yield "avg_pool" + n, (x, k), {}
    pooled, places = real_functional.max_pool2d(x4, 2, return_indices=True)
    yield "max_unpool2d", (pooled, places, [2, 2], [2, 2], [0, 0]), {}
    yield "max_unpool2d", (pooled, places, [2, 2], [2, 2], [0, 0], [9, 9]), {}
    yield "max_unpool2d", (pooled, places, [2, 2], [2, 2], [0, 0], [12, 9]), {}
    pooled, places = real_functional.max_pool1d(x3, 2, return_indices=True)
    yield "max_unpool1d", (pooled, places, [2], [2], [0]), {}
    yield "lp_pool1d", (x3, 2.0, 3), {}
    yield "lp_pool2d", (x4, 2.0, (3, 2)), {"stride": 2}
    yield "fractional_max_pool2d", (x4, [2, 2]), {"output_ratio": [0.5, 0.5]}
    yield "fractional_max_pool3d", (x5, [2, 2, 2]), {"output_size": [2, 2, 2], "return_indices": True}
    yield "fractional_max_pool2d", (x4, [2, 2]), {}
    yield "embedding", (i([[1, 2], [0, 3]]), r(4, 3)), {"padding_idx": -1}
    yield "embedding", (i([[1, 2], [0, 3]]), r(4, 3)), {"padding_idx": 7}
    for mode in ("sum", "mean", "max", "min"):
        yield "embedding_bag", (i([1, 2, 0, 3]), r(4, 3), i([0, 1])), {"mode": mode}
        yield "embedding_bag", (i([[1, 2], [0, 3]]), r(4, 3)), {"mode": mode, "per_sample_weights": r(2, 2)}
    yield "embedding_bag", (i([1, 2, 0, 3]), r(4, 3)), {}
    yield "batch_norm", (x4, r(4), r(4), r(4), r(4)), {"training": True}
    yield "batch_norm", (r(1, 4), None, None), {"training": True}
    yield "instance_norm", (x4,), {}
    yield "instance_norm", (r(1, 4, 1),), {}
    yield "layer_norm", (x4, [8, 8], r(8, 8)), {}
    yield "group_norm", (x4, 2), {}
    yield "local_response_norm", (x4, 3), {}
    yield "local_response_norm", (x3, 2), {}
    yield "local_response_norm", (x2, 2), {}
    # Losses, with each way of reducing.
    target = r(3, 5)
    sign = torch.where(r(3) > 0.5, 1.0, -1.0)
    classes = i([1, 0, 4])
    for kw in ({}, {"reduction": "none"}, {"reduction": "sum"}, {"reduction": "what"}):
        for n in ("l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "kl_div",
                  "binary_cross_entropy_with_logits", "soft_margin_loss", "hinge_embedding_loss", "poisson_nll_loss",
                  "multilabel_soft_margin_loss"):
            yield n, (x2, target), kw
        for n in ("nll_loss", "cross_entropy", "multi_margin_loss"):
            yield n, (x2, classes), kw
        yield "cross_entropy", (x2, classes, r(5)), dict(kw, label_smoothing=0.1)
        yield "multilabel_margin_loss", (x2, torch.randint(0, 5, (3, 5))), kw
        yield "gaussian_nll_loss", (x2, target, r(3, 5)), dict(kw, full=True)
        yield "gaussian_nll_loss", (x2, target, r(3)), kw
        yield "cosine_embedding_loss", (x2, target, sign), kw
        yield "margin_ranking_loss", (r(3), r(3), sign), kw
        yield "triplet_margin_loss", (x2, target, r(3, 5)), kw
        yield "triplet_margin_with_distance_loss", (x2, target, r(3, 5)), kw
        yield "ctc_loss", (r(6, 2, 5).log_softmax(2), torch.randint(1, 5, (2, 3)), i([6, 5]), i([3, 2])), kw
    for a, b in ((True, None), (False, None), (None, False), (True, True)):
        for n in ("l1_loss", "binary_cross_entropy", "kl_div", "soft_margin_loss"):
            yield n, (x2, target), {"size_average": a, "reduce": b}
    yield "kl_div", (x2, target), {"reduction": "batchmean", "log_target": True}
    yield "l1_loss", (x2, r(5)), {}
    yield "binary_cross_entropy", (x2, r(5)), {}
    yield "binary_cross_entropy", (x2, target, r(5)), {}
    yield "binary_cross_entropy_with_logits", (x2, r(5)), {}
    yield "gaussian_nll_loss", (x2, target, -r(3, 5)), {}
    yield "gaussian_nll_loss", (x2, target, r(2)), {}
    yield "multi_margin_loss", (x2, classes, 3), {}
    yield "margin_ranking_loss", (r(3), r(3, 1), sign), {}
    # Resampling.
    for mode in ("nearest", "nearest-exact", "area", "linear", "bilinear", "trilinear", "bicubic"):
        for x in (x3, x4, x5):
            yield "interpolate", (x,), {"scale_factor": 2.0, "mode": mode}
            yield "interpolate", (x, 3), {"mode": mode, "align_corners": True}
            yield "interpolate", (x,), {"scale_factor": [1.7] * (x.dim() - 2), "mode": mode,
                                        "recompute_scale_factor": True}
    yield "interpolate", (x4, [5, 3]), {"mode": "bicubic", "antialias": True}
    yield "interpolate", (x4, [5, 3]), {"antialias": True}
    yield "interpolate", (x4, [5, 3], 2.0), {}
    yield "interpolate", (x4, [5]), {}
    yield "interpolate", (x4,), {}
    yield "interpolate", (x4,), {"scale_factor": [2.0]}
    yield "upsample", (x4, 4), {}
    yield "upsample_nearest", (x4,), {"scale_factor": 3}
    yield "upsample_bilinear", (x4, 4), {}
    theta = r(2, 2, 3)
    for align in (None, True, False):
        yield "affine_grid", (theta, [2, 3, 4, 5], align), {}
        yield "affine_grid", (r(2, 3, 4), [2, 3, 4, 5, 6], align), {}
        yield "affine_grid", (theta, [2, 3, 4], align), {}
        yield "affine_grid", (theta, [2, 3, 0, 5], align), {}
        for mode in ("bilinear", "nearest", "bicubic", "what"):
            for padding in ("zeros", "border", "reflection", "what"):
                yield "grid_sample", (x4, r(2, 5, 6, 2) * 2.4 - 1.2, mode, padding, align), {}
    yield "affine_grid", (theta.long(), [2, 3, 4, 5]), {}
    yield "unfold", (x4, 3), {"padding": 1}
    yield "fold", (r(2, 4 * 9, 36), (8, 8), (3, 3)), {}
    # Attention: packed and separate projections, masks, biases, heads averaged or not, no batch.
    e, h, b, s, t = 8, 2, 3, 4, 5
    q, kv = r(t, b, e), r(s, b, e)
    common = (e, h, r(3 * e, e), r(3 * e), None, None, False, 0.0, r(e, e), r(e))
    for kw in ({}, {"need_weights": False}, {"average_attn_weights": False},
               {"key_padding_mask": torch.zeros(b, s, dtype=torch.bool)},
               {"attn_mask": r(t, s) > 0.8}, {"attn_mask": r(t, s)}, {"attn_mask": r(b * h, t, s)},
               {"attn_mask": r(t, s) > 0.8, "key_padding_mask": r(b, s) > 0.9},
               {"attn_mask": r(t, s), "key_padding_mask": r(b, s) > 0.9},
               {"attn_mask": r(t)}, {"attn_mask": r(t, t)}, {"attn_mask": (r(t, s) > 0.8).byte()},
               {"key_padding_mask": r(b, s) > 0.9, "training": False}):
        yield "multi_head_attention_forward", (q, kv, kv) + common, kw
    yield "multi_head_attention_forward", (q, q, q) + common, {}
    yield "multi_head_attention_forward", (q, kv, kv.clone()) + common, {}
    yield "multi_head_attention_forward", (q[:, 0], kv[:, 0], kv[:, 0]) + common, {}
    yield "multi_head_attention_forward", (q, kv, kv, e + 1) + common[1:], {}
    yield "multi_head_attention_forward", (q, kv, kv, e, 3) + common[2:], {}
    yield "multi_head_attention_forward", (q, kv[:, 0], kv) + common, {}
    biased = (e, h, r(3 * e, e), r(3 * e), r(1, 1, e), r(1, 1, e), True, 0.3, r(e, e), r(e))
    yield "multi_head_attention_forward", (q, kv, kv) + biased, {"attn_mask": r(t, s)}
    apart = (e, h, None, r(3 * e), None, None, False, 0.0, r(e, e), r(e))
    weights = {"use_separate_proj_weight": True, "q_proj_weight": r(e, e), "k_proj_weight": r(e, 6),
               "v_proj_weight": r(e, 7)}
    yield "multi_head_attention_forward", (q, r(s, b, 6), r(s, b, 7)) + apart, weights
    yield "multi_head_attention_forward", (q, r(s, b, 6), r(s, b, 6)) + apart, weights
    for n in ("pairwise_distance", "cosine_similarity"):
        yield n, (x2, target), {}
    yield "one_hot", (classes,), {}
    yield "pad", (x2, (1, 2)), {}
    # torch.functional
    for p in ("fro", "nuc", 2, 1.5, float("inf"), "what"):
        yield "torch.norm", (x2, p), {}
        yield "torch.norm", (x2, p, [0, 1]), {"keepdim": True}
        yield "torch.norm", (x2, p, 1), {}
    yield "torch.norm", (x2,), {"dtype": torch.float64}
    yield "torch.norm", (x2, 2, 1), {"dtype": torch.float64}
    yield "torch.tensordot", (r(2, 3, 4), r(3, 4, 5)), {}
    yield "torch.tensordot", (r(2, 3), r(2, 4), ([0], [0])), {}
    yield "torch.tensordot", (r(2, 3), r(2, 4), [[0], [0]]), {}
    yield "torch.tensordot", (r(2, 3), r(2, 4), i([[0], [0]])), {}
    yield "torch.tensordot", (r(2, 3), r(2, 4), -1), {}
    for kw in ({}, {"return_inverse": True}, {"return_counts": True}, {"return_inverse": True, "return_counts": True}):
        yield "torch.unique", (i([3, 1, 3, 2, 2]),), kw
        yield "torch.unique", (i([[3, 1], [3, 1], [2, 2]]),), dict(kw, dim=0)
        yield "torch.unique_consecutive", (i([3, 1, 3, 2, 2]),), kw
    yield "torch.cdist", (r(3, 4), r(5, 4)), {}
    for mode in ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist", "what"):
        yield "torch.cdist", (r(3, 4), r(5, 4), 2.0, mode), {}
    yield "torch.stft", (r(400), 64), {"return_complex": True}
    yield "torch.stft", (r(2, 400), 64, 16, 64, r(64)), {"return_complex": True, "center": False}
    yield "torch.lu", (r(3, 3),), {}
    yield "torch.lu", (r(3, 3),), {"get_infos": True}
    yield "torch.einsum", ("ij,jk->ik", [r(2, 3), r(3, 4)]), {}
    yield "torch.split", (r(6, 2), 2), {}


def outcome(f, args, kwargs):
    """What a call gives: a result, or the exception's class and first words."""
    copy = lambda v: v.clone() if isinstance(v, torch.Tensor) else v
    torch.manual_seed(1)
    try:
        # `k is v` decides in attention, so equal tensors stay the same object.
        seen = {}
        args = [seen.setdefault(id(a), copy(a)) if isinstance(a, torch.Tensor) else a for a in args]
        return f(*args, **{k: copy(v) for k, v in kwargs.items()})
    except Exception as e:
        text = str(e).strip()
        if type(e).__name__ == "Error":  # torch.jit.Error: the last line has the message
            text = text.split("\n")[-1].partition(": ")[2]
        return text[:24]


def same(a, b):
    if isinstance(a, torch.Tensor):
        if not isinstance(b, torch.Tensor) or a.dtype != b.dtype or a.shape != b.shape:
            return False
        return bool(((a == b) | ((a != a) & (b != b))).all())
    if isinstance(a, (tuple, list)):
        return isinstance(b, (tuple, list)) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a == b


def compare_results(wanted):
    ours, ours_torch = load("torch.nn.functional"), load("torch.functional")
    torch.manual_seed(0)
    count = 0
    for name, args, kwargs in calls():
        if wanted and name not in wanted:
            continue
        count += 1
        if name.startswith("torch."):
            f, g = getattr(torch.functional, name[6:]), getattr(ours_torch, name[6:])
        else:
            f, g = getattr(real_functional, name), getattr(ours, name)
        a, b = outcome(f, args, kwargs), outcome(g, args, kwargs)
        if not same(a, b):
            fail(name, "results differ for %d arguments and %s:\n%s\n%s" % (len(args), sorted(kwargs), a, b))
    return count


def names(module):
    for name, f in sorted(vars(module).items()):
        if isinstance(f, (types.FunctionType, types.BuiltinFunctionType)):
            yield name, f


def main():
    warnings.simplefilter("ignore")
    ap = argparse.ArgumentParser()
    ap.add_argument("--ctsc", help="not needed here; every script of `make test-torch` is given it")
    ap.add_argument("-v", action="store_true")
    ap.add_argument("names", nargs="*")
    wanted = set(ap.parse_args().names)
    # Not part of the interface: helpers of PyTorch's own Python.
    skipped = set(
        "boolean_dispatch has_torch_function has_torch_function_unary has_torch_function_variadic handle_torch_function "
        "_overload overload _add_docstr _infer_size _list_with_default _pair _single _triple assert_int_or_pair "
        "_no_grad_embedding_renorm_ _meshgrid pca_lowrank svd_lowrank".split()
    )
    count = 0
    for dotted, real_module in (("torch.nn.functional", real_functional), ("torch.functional", torch.functional),
                                ("torch.nn._reduction", torch.nn._reduction)):
        ours = load(dotted)
        for name, f in names(real_module):
            if name in skipped or not name.strip("_") or (wanted and name not in wanted):
                continue
            if not hasattr(ours, name):
                if f.__module__ == dotted or dotted.endswith("nn.functional"):
                    fail(name, "missing in " + dotted)
                continue
            count += 1
            compare_function(name, f, getattr(ours, name))
    results = compare_results(wanted)
    listed = Differences(os.path.join(os.path.dirname(os.path.abspath(__file__)), "differs.txt"))
    seen = {name for name in set(failures) | {key for kind, key in listed.rows if kind == "functions"} if not wanted or name in wanted}
    bad = [why for expected, why in (listed.check("functions", name, name in failures) for name in sorted(seen)) if not expected]
    print("\n".join(bad + ["compare_functional: %d functions, %d calls, %d differences" % (count, results, len(failures))]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
