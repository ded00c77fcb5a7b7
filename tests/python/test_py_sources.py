# SPDX-License-Identifier: Apache-2.0
"""test_py_sources.py - the corpus' programs with a source, compiled from live Python, give what their archives give (sources.py)."""
import os

import pytest

import sources
from conftest import ROOT

CASES = [os.path.join(ROOT, "tests", "corpus", group, name) for group in ("lang", "models") for name in sources.cases(os.path.join(ROOT, "tests", "corpus", group))]


def test_there_are_cases():
    assert len(CASES) > 200


@pytest.mark.parametrize("folder", CASES, ids=os.path.basename)
def test_source(folder):
    assert sources.check(folder) is None


def test_a_wrong_result_is_found(tmp_path):
    (tmp_path / "source.py").write_text("import torch\ndef forward(x):\n    return x + 1\n")
    (tmp_path / "case.json").write_text('{"raises": null, "rtol": 0, "atol": 0}')
    import ctsc
    ctsc.save((ctsc.ones(2),), str(tmp_path / "inputs.pt"))
    for want, wrong in ((2., False), (3., True)):
        ctsc.save(ctsc.full((2,), want), str(tmp_path / "expected.pt"))
        assert (sources.check(str(tmp_path)) is not None) == wrong
