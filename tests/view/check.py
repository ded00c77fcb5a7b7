#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what `ctsc view` says of graphs with what `ctsc graph` and `ctsc graph-for` print: every node and every edge has to be in it, and the page has
to be one that a browser reads as it was meant.

    tests/view/check.py --ctsc build/ctsc MODEL [--input SPEC ...]
    tests/view/check.py --ctsc build/ctsc --all      the models of models/, and files with hostile names
"""
import argparse
import collections
import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NODE = re.compile(r"^ *(?:(?P<outs>%.*?) )?= (?P<kind>[\w:]+::\w+)(?:\[.*\])?\((?P<ins>[^()]*)\)(?:, scope: .*)?$")


def names(text):
    return re.findall(r"%([\w.]+)", text or "")


def graph_of_text(text):
    """[(kind, inputs)], and how often each value is taken, of a graph's text without locations."""
    nodes, uses = collections.Counter(), collections.Counter()
    for line in text.splitlines():
        m = NODE.match(line)
        if m:
            nodes[re.sub(r"(?<=FusionGroup)_\d+", "", m.group("kind"))] += 1
            uses.update(names(m.group("ins")))
        elif re.match(r" *(return|->) \(", line):
            uses.update(names(line))
    return nodes, uses


def graph_of_json(g):
    nodes, uses = collections.Counter(), collections.Counter()
    for n in g["nodes"]:
        if "role" not in n:
            nodes[n["kind"]] += 1
        for v in n["in"]:
            uses[g["values"][v]["name"]] += 1
    nodes["prim::FusionGroup"] += len(g["groups"])
    return +nodes, uses


def check_shape(g):
    """The lists refer to one another as graph_json.h says."""
    made = collections.Counter(v for n in g["nodes"] for v in n["out"])
    assert made == collections.Counter(range(len(g["values"]))), "a value has no maker, or two"
    for i, b in enumerate(g["boxes"]):
        assert -1 <= b["parent"] < i and (b["parent"] >= 0) == (i > 0), b
    for n in g["nodes"]:
        assert 0 <= n["box"] < len(g["boxes"]) and all(0 <= v < len(g["values"]) for v in n["in"]), n
        assert n.get("op", 0) < max(1, len(g["ops"])) and n.get("at", 0) < max(1, len(g["lines"])) and n.get("group", 0) < max(1, len(g["groups"])), n
    for a, b in g["control"]:
        assert 0 <= a < len(g["nodes"]) and 0 <= b < len(g["nodes"])


class Page(html.parser.HTMLParser):
    """What elements a page has, and the text of its data."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.data, self.inside = [], "", None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.inside = dict(attrs).get("id") if tag == "script" else None

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "graphs":
            self.data += data


ELEMENTS = ["html", "head", "meta", "meta", "meta", "meta", "title", "style", "body", "div", "script", "script"]


def check(ctsc, model, inputs=(), method="forward"):
    run = lambda *args: subprocess.run([ctsc, *args], stdout=subprocess.PIPE, check=True).stdout
    options = [a for spec in inputs for a in ("--input", spec)] + ["--method", method]
    page = Page(run("view", model, *options, "--calls", "1", "-o", "-").decode())
    assert page.elements == ELEMENTS, page.elements
    data = json.loads(page.data)
    assert data["title"] == os.path.basename(model)
    for g in data["graphs"]:
        check_shape(g)
        written = g["name"] == "as written"
        text = run("graph", model, "--method", method, "--inlined", "--no-locations") if written else run("graph-for", model, *options, "--no-locations")
        want, have = graph_of_text(text.decode()), graph_of_json(g)
        assert want[0] == have[0], ("nodes", model, g["name"], want[0] - have[0], have[0] - want[0])
        if written:  # numbers of values without a name are those of the graph
            assert want[1] == have[1], ("edges", model, want[1] - have[1], have[1] - want[1])
        if inputs:
            assert any(re.match(r"\w+\[\d", v["type"]) for v in g["values"]), "no shapes"
            assert "us" in g and any("us" in n for n in g["nodes"] + g["groups"]), "no times"
    return data


HOSTILE = """import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        name = "</script><script>document.title = 1</script><!-- \\\\ ' & \\n\\t\\u2028"
        long = "%s"
        if x.dim() > 5:
            print(name, long)
        return self.fc(x)  # </script><img src=x onerror=alert(1)>
""" % ("y" * 100000)


def test_models(ctsc):
    models = os.path.join(ROOT, "models")
    check(ctsc, os.path.join(models, "digits_cnn.pt"), ["float32[2,1,8,8]:rand"])
    check(ctsc, os.path.join(models, "chargpt.pt"), ["int64[1,5]:zeros"])
    check(ctsc, os.path.join(models, "chargpt.pt"), method="step")


def test_exported(ctsc):
    folder = os.path.join(ROOT, "tests", "pt2", "archives")
    for name in sorted(os.listdir(folder)):
        check(ctsc, os.path.join(folder, name, "model.pt2"))


SAMPLE = """from typing import Dict, Tuple
import torch
from torch import Tensor
def forward(x: Tensor, y: Tensor) -> Tuple[Tuple[Tensor], Dict[str, Tensor]]:
    return ((x,), {"y": y})
"""


def test_sample_inputs(ctsc):
    """An archive of torch.export is called with the arguments that it keeps: one by position, one by name; else with such as it says it takes; not with
    what does not fit."""
    case = os.path.join(ROOT, "tests", "pt2", "archives", "DynamicTwo")
    with tempfile.TemporaryDirectory() as d:
        source, sample, model = (os.path.join(d, name) for name in ("sample.py", "sample.pt", "model.pt2"))
        with open(source, "w") as f:
            f.write(SAMPLE)
        subprocess.run([ctsc, "run", source, "--inputs", os.path.join(case, "inputs.pt"), "--output", sample], check=True, stdout=subprocess.DEVNULL)
        for name, known in (("y", True), ("z", True), ("too long", False)):
            with open(sample, "rb") as f:
                content = f.read()
            with zipfile.ZipFile(os.path.join(case, "model.pt2")) as old, zipfile.ZipFile(model, "w") as new:
                for entry in old.namelist():
                    new.writestr(entry, content if entry.endswith("data/sample_inputs/model.pt") else old.read(entry))
            data = check(ctsc, model)
            assert any("us" in n for g in data["graphs"] for n in g["nodes"] + g["groups"]) == known, "called: not " + str(known)
            with open(source, "w") as f: # the next round's
                f.write(SAMPLE.replace('"y"', '"z"') if name == "y" else SAMPLE.replace("y}", "torch.cat([y, y, x], 1)}"))
            subprocess.run([ctsc, "run", source, "--inputs", os.path.join(case, "inputs.pt"), "--output", sample], check=True, stdout=subprocess.DEVNULL)


def test_stated_shapes(ctsc):
    """An ONNX model that says what it takes is called with that: the values between have shapes, and operations are counted."""
    for name, want in (("gemm", 0), ("conv_transpose", 0)):
        path = os.path.join(ROOT, "tests", "onnx", "models", name, "model.onnx")
        data = check(ctsc, path)
        for g in data["graphs"]:
            made = {v for n in g["nodes"] if n.get("op") is not None and "hide" not in n for v in n["out"]}
            assert made and all(re.match(r"float32\[[\d,]+\]$", g["values"][v]["type"]) for v in made), (name, [g["values"][v] for v in made])
            assert g["flops"] > want, name


def test_operations(ctsc):
    """The sums are those of `ctsc inspect`, which counts numbers as well: of modules, and of the whole."""
    model, spec = os.path.join(ROOT, "models", "digits_cnn.pt"), "float32[2,1,8,8]:rand"
    run = lambda *args: json.loads(subprocess.run([ctsc, *args], stdout=subprocess.PIPE, check=True).stdout)
    layers = {l["name"]: l for l in run("inspect", model, "--input", spec, "--json")["layers"]}
    data = run("view", model, "--input", spec, "--json")
    g = next(g for g in data["graphs"] if g["name"] == "as written")
    assert 0 <= layers[""]["flops"] - g["flops"] < 50, (layers[""]["flops"], g["flops"])
    boxes = {b["name"]: i for i, b in enumerate(g["boxes"])}
    for name in ("conv1", "conv2", "fc1"):
        assert sum(n.get("flops", 0) for n in g["nodes"] if n["box"] == boxes[name]) == layers[name]["flops"] > 0, name
    assert sum(n["flops"] for n in g["nodes"] if "flops" in n) == g["flops"]
    weights = {w["name"]: w for w in data["weights"]}
    assert weights["conv1.weight"] == {"name": "conv1.weight", "type": "float32[16,1,3,3]", "parameter": True} and not weights["bn1.running_mean"]["parameter"]


def test_hostile_names(ctsc):
    with tempfile.TemporaryDirectory() as d:
        for name in ("<img src=x onerror=alert(1)>\"'&.py", "-->\x01\n\\u003c.py", "\u00e9\u2028.py"):
            path = os.path.join(d, name)
            with open(path, "w") as f:
                f.write(HOSTILE)
            data = check(ctsc, path, ["float32[3,2]"])
            texts = [v.get("text", "") for g in data["graphs"] for v in g["values"]]
            assert any(t.startswith("'</script>") for t in texts) and max(map(len, texts)) < 300


def check_all(ctsc):
    failed = 0
    for test in (test_models, test_exported, test_sample_inputs, test_stated_shapes, test_operations, test_hostile_names):
        try:
            test(ctsc)
            print("ok", test.__name__)
        except (AssertionError, subprocess.CalledProcessError, ValueError, KeyError):
            failed += 1
            print("FAIL %s\n%s" % (test.__name__, traceback.format_exc()))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--ctsc", default=os.path.join(ROOT, "build", "ctsc"))
    parser.add_argument("--input", action="append", default=[])
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    if args.all:
        return check_all(args.ctsc)
    if args.model:
        data = check(args.ctsc, args.model, args.input)
        print("\n".join("%s: %d nodes" % (g["name"], len(g["nodes"])) for g in data["graphs"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
