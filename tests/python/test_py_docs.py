# SPDX-License-Identifier: Apache-2.0
"""test_py_docs.py - docs/python.md: its sessions print what they say, each line of its table runs."""
import doctest
import io
import os
import re

import pytest

import ctsc
from ctsc import nn
from conftest import ROOT

DOC = os.path.join(ROOT, "docs", "python.md")


def rows():
    with open(DOC, encoding="utf-8") as f:
        for line in f:
            cells = line.strip().split(" | ")
            if line.startswith("| `") and len(cells) == 2:
                yield cells[1]


ROWS = list(rows())


def test_there_are_rows():
    assert len(ROWS) > 30


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    np = pytest.importorskip("numpy")
    images = ctsc.load(os.path.join(ROOT, "models", "digits_test.pt"))
    images = (images[0] if isinstance(images, (tuple, list)) else images)[:2]
    return {"ctsc": ctsc, "nn": nn, "F": nn.functional, "io": io, "a": np.arange(4.), "images": images, "x": ctsc.arange(6.).view(2, 3),
            "m": ctsc.load(os.path.join(ROOT, "models", "digits_cnn.pt")), "net": nn.Linear(3, 4), "folder": str(tmp_path_factory.mktemp("docs"))}


@pytest.mark.parametrize("row", ROWS)
def test_row(row, names, monkeypatch):
    monkeypatch.chdir(ROOT)
    pieces = re.findall(r"`([^`]+)`", row)
    assert pieces
    for piece in pieces:
        exec(piece, names)
    ctsc.set_num_threads(0)


def test_sessions(monkeypatch):
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testfile(DOC, module_relative=False)
    assert tried >= 5 and not failed
