# SPDX-License-Identifier: Apache-2.0
"""Names of dims: each line of named/calls.txt gives what PyTorch 1.13 gave (named/make.py), and what files, scripts and gradients make of names."""
import io
import os
import pickle
import sys

import pytest

import ctsc as torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "named"))
import make # noqa: E402

with open(make.FILE, encoding="utf-8") as f:
    CALLS = [line.rstrip("\n").split(" => ") for line in f]


@pytest.mark.parametrize("line,expected", CALLS)
def test_call(line, expected):
    found = make.evaluate(torch, line)
    if expected.startswith("TypeError"): # the words for arguments that fit no overload are another test's
        found, expected = found[:9], expected[:9]
    if expected.startswith("RuntimeError"): # 2.15 raises a subclass of it for dtypes that no kernel has
        found = found.replace("NotImplementedError", "RuntimeError")
    assert found == expected


def test_handles():
    """Names are the handle's: views have their own, and writing through one is seen by the others."""
    x = torch.zeros(2, 3)
    y = x.rename("N", "C")
    y.select("N", 0).fill_(1)
    assert x.names == (None, None) and x.tolist() == [[1, 1, 1], [0, 0, 0]]
    y.names = ("A", None)
    assert y.names == ("A", None) and y.has_names() and not x.has_names()
    y.names = None
    assert not y.has_names()


SCRIPT = """
import ctsc as torch

class Named(torch.nn.Module):
    def forward(self, x):
        y = x.refine_names(["N", "C"])
        z = (y * 2 + 1).relu().align_to(["C", "N"])
        return z.sum("N"), z, z.size("C"), torch.ones([2], names=["N"]) + z

class Plain(torch.nn.Module):
    def forward(self, x):
        return (x * 2 + 1).relu()
"""


def scripted(tmp_path, name):
    import importlib.util
    path = tmp_path / "named_source.py"
    path.write_text(SCRIPT)
    spec = importlib.util.spec_from_file_location("named_source", str(path))
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return torch.jit.script(getattr(module, name)())


def test_scripts(tmp_path):
    """Code that names dims keeps them at all levels, and in an archive."""
    f = scripted(tmp_path, "Named")
    file = io.BytesIO()
    torch.jit.save(f, file)
    file.seek(0)
    for program in (f, torch.jit.load(file)):
        for _ in range(3):
            total, turned, size, added = program(torch.ones(2, 3))
            assert (total.names, turned.names, size, added.names) == (("C",), ("C", "N"), 3, ("C", "N"))
            assert total.tolist() == [6, 6, 6] and added.tolist() == [[4, 4]] * 3


def test_scripts_are_given_none(tmp_path):
    g = scripted(tmp_path, "Plain")
    with pytest.raises(RuntimeError, match="Named tensors are currently unsupported in TorchScript"):
        g(torch.ones(2, 3, names=("N", "C")))
    assert g(torch.ones(2, 3)).tolist() == [[3] * 3] * 2


@pytest.mark.parametrize("save", [lambda x, f: torch.save(x, f), lambda x, f: torch.save({"a": [x]}, f), lambda x, f: pickle.dump(x, f)])
def test_files(save):
    file = io.BytesIO()
    with pytest.raises(RuntimeError, match="Named tensors don't support serialization"):
        save(torch.zeros(2, names=("N",)), file)
    save(torch.zeros(2, names=("N",)).rename(None), file)


def test_registered_operators():
    """What is not PyTorch's has no rule."""
    x = torch.zeros(2, names=("N",))
    with pytest.raises(RuntimeError, match="aten::special_airy_ai is not yet supported with named tensors"):
        torch.special.airy_ai(x)
    with pytest.raises(RuntimeError, match="aten::stack is not yet supported"):
        torch.stack([torch.zeros(2), x])


def test_hooks_and_gradients():
    """A gradient has no names, whatever its tensor is called; a hook may give it some."""
    seen = []
    x = torch.ones(2, 3, names=("N", "C"), requires_grad=True)
    y = x * 3
    y.register_hook(lambda g: seen.append((g.names, g.rename("A", "B").sum("A").names)))
    (y.sum("N") * torch.arange(3.)).sum().backward()
    assert seen == [((None, None), ("B",))]
    assert x.grad.tolist() == [[0, 3, 6]] * 2 and x.grad.names == (None, None)


def test_meta():
    x = torch.empty(2, 3, device="meta").rename("N", "C")
    assert x.sum("C").names == ("N",) and torch.matmul(x, torch.empty(3, 5, device="meta")).names == ("N", None)


def test_threads():
    """That names are not computed within an operator is the thread's alone."""
    import threading
    x, failures = torch.ones(8, 8, names=("N", "C")), []

    def work():
        for _ in range(200):
            if (x + x).softmax("C").sum("N").names != ("C",):
                failures.append(1)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
