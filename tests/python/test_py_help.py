# SPDX-License-Identifier: Apache-2.0
"""test_py_help.py - a Python that explains itself: every public name has a docstring and a signature, examples of docstrings print what they say, signatures take what calls take."""
import doctest
import importlib
import inspect
import io
import pkgutil
import types
import warnings

import pytest

import ctsc
from ctsc import nn

# Exceptions have Python's own constructors, which have no signature in all versions of Python.
NO_SIGNATURE = {"TorchVersion": "derives from str, whose constructor has none"}
# Fields of named tuples and slots: a descriptor of theirs has no docstring.
NO_DOC = {"DTensorSpec.mesh", "DTensorSpec.placements", "DTensorSpec.shape", "DTensorSpec.stride", "Node.metadata", "TensorMeta.shape", "TensorMeta.stride", "TensorMeta.dtype"}


def modules():
    found = {"ctsc": ctsc}
    for m in pkgutil.walk_packages(ctsc.__path__, "ctsc."):
        if not any(p.startswith("_") for p in m.name.split(".")[1:]) and "libctsc" not in m.name:
            try:
                found[m.name] = importlib.import_module(m.name)
            except ModuleNotFoundError as e: # scikit-learn, tensorboard
                assert not e.name.startswith("ctsc"), e
    return found


def public():
    """{path: (kind, object)} of functions, classes, their methods and properties; each once."""
    found, seen = {}, set()

    def visit(path, v):
        v = v.__func__ if isinstance(v, (classmethod, staticmethod)) else v
        kind = "property" if isinstance(v, property) else "class" if inspect.isclass(v) else "function" if callable(v) else "slot" if inspect.isdatadescriptor(v) else None
        module = getattr(v, "__module__", None)
        if kind is None or id(v) in seen or kind in ("class", "function") and isinstance(module, str) and not module.startswith(("ctsc", "_C")):
            return
        seen.add(id(v))
        found[path] = (kind, v)
        if kind == "class":
            for name, w in list(vars(v).items()):
                if not name.startswith("_"):
                    visit("%s.%s" % (path, name), w)

    for at, module in sorted(modules().items(), key=lambda m: (m[0].count("."), m[0])):
        for name in dir(module):
            if not name.startswith("_"):
                visit("%s.%s" % (at, name), getattr(module, name, None))
    return found


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    PUBLIC = public()


def test_docstrings():
    lacking = [path for path, (kind, v) in PUBLIC.items() if not (v.__doc__ if kind == "class" else inspect.getdoc(v)) and ".".join(path.split(".")[-2:]) not in NO_DOC]
    assert len(PUBLIC) > 4000 and not lacking, lacking


def test_signatures():
    lacking = []
    for path, (kind, v) in PUBLIC.items():
        if kind in ("function", "class") and not (kind == "class" and issubclass(v, BaseException)) and path.rpartition(".")[2] not in NO_SIGNATURE:
            try:
                inspect.signature(v)
                if isinstance(v, type(ctsc.relu)):
                    assert v.__text_signature__.startswith("(")
            except ValueError:
                lacking.append(path)
    assert not lacking, lacking


def test_examples():
    finder, out = doctest.DocTestParser(), io.StringIO()
    runner, tried = doctest.DocTestRunner(verbose=False), set()
    for path, (kind, v) in PUBLIC.items():
        text = v.__doc__ if kind != "property" else None
        if text and ">>>" in text and text not in tried and not getattr(v, "__module__", "").startswith("ctsc.distributed"):
            tried.add(text)
            names = {"ctsc": ctsc, "nn": nn, "F": nn.functional, "prune": nn.utils.prune}
            runner.run(finder.get_doctest(inspect.cleandoc(text), names, path, None, 0), out=out.write)
    assert len(tried) > 200 and not runner.failures, out.getvalue()


@pytest.mark.parametrize("function, given, named", [
    (ctsc.add, (1, 2), {"alpha": 3, "out": None}), (ctsc.sum, (1, 0, True), {"dtype": None}), (ctsc.zeros, (2, 3), {"dtype": None, "requires_grad": True}),
    (ctsc.Tensor.view, (1, 2, 3), {}), (ctsc.max, (1, 0), {"keepdim": True}), (ctsc.max, (1,), {"other": 2}), (ctsc.bernoulli, (1,), {"generator": None}), (ctsc.ones(1).mul, (2,), {}),
    (ctsc.linalg.svd, (1,), {"full_matrices": False}), (ctsc.arange, (3,), {}), (ctsc.randint, (0, 3, (2,)), {})])
def test_calls_fit_signatures(function, given, named):
    inspect.signature(function).bind(*given, **named)


def test_calls_that_do_not_fit():
    for function, given, named in ((ctsc.relu, (), {}), (ctsc.add, (1, 2), {"beta": 1}), (ctsc.ones(1).mul, (1, 2), {})):
        with pytest.raises(TypeError):
            inspect.signature(function).bind(*given, **named)


def test_operators_explain_themselves():
    text = ctsc.softmax.__doc__
    for words in ("exp(x) over the sum", "Arguments:\n    input: Tensor\n    dim: int", "dtype: dtype or None; None by default", "Returns: Tensor", "IndexError", ">>> ctsc.softmax(", "aten::softmax.int("):
        assert words in text, text
    assert "in place" in ctsc.Tensor.add_.__doc__ and "Another name of `cat`" in ctsc.concat.__doc__
    assert ctsc.Tensor.add.__text_signature__ == "($self, other, alpha=1)" and ctsc.relu.__text_signature__ == "(input, *, out=None)"
    assert "Dot" not in str(inspect.signature(nn.Linear)) and list(inspect.signature(nn.Linear).parameters)[:2] == ["in_features", "out_features"]


def test_help_prints(capsys):
    help(ctsc.relu)
    help(nn.Linear)
    text = capsys.readouterr().out
    assert "max(0, x)" in text and "(..., in_features) to (..., out_features)" in text
