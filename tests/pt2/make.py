#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/pt2/archives: small programs of cases_small.py as torch.export saves them, with arguments and results.

    PYTHON tests/pt2/make.py [NAME...]        (PyTorch 2.9 or newer; those that are there are of 2.15)

Places lose the folders of the machine that wrote them. Names that end in -flat, -flat5 and -flat1 are the same program in the layouts and schemas of PyTorch
2.5 to 2.7, 2.3, and 2.1, put together here after their descriptions."""
import io
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch  # noqa: E402
from archive import clean, entries, pack  # noqa: E402
import cases_small  # noqa: E402
import cases_torchao  # noqa: E402
import networks  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PICKED = ["MutatedBuffer", "MutatedBuffer:decomposed", "MutatedInput:decomposed", "TrainingNorm:decomposed", "Tied", "Trees", "DynamicTwo", "DerivedDim", "Unbacked", "Cond", "CondShape",
          "While", "Map", "Scan", "AssociativeScan", "Autocast", "NoGrad", "Scalars", "Constants", "FakeQuantised", "EvenDim",
          "VmapNested", "GenericScan", "HeadsMask:decomposed", "Strides:decomposed", "Stored", "ScaledProduct", "Exponents",
          "torchao.int8.object", "torchao.int8.dynamic.object", "torchao.float8.object", "torchao.int4.object", "torchao.int4.dynamic.object"]


def saved(value):
    f = io.BytesIO()
    torch.save(value, f)
    return f.getvalue()


def schema5(j):
    j["schema_version"] = {"major": 5, "minor": 3}
    for key in ("verifiers", "torch_version", "guards_code"):
        j.pop(key, None)
    j["dialect"] = "ATEN"


def schema1(j):
    """Tables instead of specs; metas wrapped."""
    schema5(j)
    j["schema_version"] = 1
    g, s = j["graph_module"]["graph"], j["graph_module"]["signature"]
    old = {"inputs_to_parameters": {}, "inputs_to_buffers": {}, "user_inputs": [], "user_outputs": [], "buffers_to_mutate": {}, "backward_signature": None}
    for spec in s["input_specs"]:
        (kind, v), = spec.items()
        if kind in ("parameter", "buffer"):
            old["inputs_to_%ss" % kind][v["arg"]["name"]] = v[kind + "_name"]
        else:
            old["user_inputs"].append(v["arg"]["as_tensor"]["name"])
    for spec in s["output_specs"]:
        (kind, v), = spec.items()
        if kind == "buffer_mutation":
            old["buffers_to_mutate"][v["arg"]["name"]] = v["buffer_name"]
        else:
            old["user_outputs"].append(v["arg"]["as_tensor"]["name"])
    j["graph_module"]["signature"] = old
    for name, meta in g["tensor_values"].items():
        meta["storage_offset"] = 0
        g["tensor_values"][name] = {"meta": meta}


def flat(folder, to, program, change, version):
    j = json.loads(dict(entries(os.path.join(folder, "model.pt2")))["model/models/model.json"])
    if change:
        change(j)
    os.makedirs(to)
    for f in os.listdir(folder):
        if f != "model.pt2":
            shutil.copy(os.path.join(folder, f), to)
    state = "serialized_state_dict." + ("json" if change is schema1 else "pt")
    rows = [("serialized_exported_program.json", json.dumps(j).encode()), (state, saved(dict(program.state_dict)))]
    if change is not schema1:
        rows.append(("serialized_constants.pt", saved(dict(program.constants))))
    pack(os.path.join(to, "model.pt2"), rows + [("version", version)])


def write(folder, name, form):
    case = (cases_torchao if name.startswith("torchao.") else cases_small).cases()[name]
    torch.manual_seed(0)
    module = case["module"]()
    if not case.get("train"):
        module.eval()
    calls = [case["args"]()] + [c() for c in case.get("calls", ())]
    state = networks.copied(dict(module.state_dict()))
    args, kwargs = networks.copied(calls[0][0]), networks.copied(calls[0][1])
    program = torch.export.export(module, args, kwargs, dynamic_shapes=case.get("dynamic"), strict=case.get("strict", False))
    module.load_state_dict(state)
    if form == "decomposed":
        program = program.run_decompositions()
    os.makedirs(folder)
    path = os.path.join(folder, "model.pt2")
    torch.export.save(program, path)
    clean(path)
    for i, (a, k) in enumerate(calls):
        module.load_state_dict(state)
        torch.save(tuple(networks.copied(a)) + tuple(networks.copied(k).values()), os.path.join(folder, "inputs%s.pt" % (i or "")))
        with torch.no_grad():
            torch.save(networks.plain(module(*networks.copied(a), **networks.copied(k))), os.path.join(folder, "expected%s.pt" % (i or "")))
    module.load_state_dict(state)  # which the program shares
    with open(os.path.join(folder, "case.json"), "w") as f:
        json.dump({"torch": torch.__version__.split("+")[0], "calls": len(calls), "rtol": case.get("rtol", 1e-4), "atol": case.get("atol", 1e-5)}, f)
        f.write("\n")
    return program


def main():
    root = os.path.join(HERE, "archives")
    for row in PICKED:
        name, _, form = row.partition(":")
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        folder = os.path.join(root, name + ("-decomposed" if form else ""))
        for old in ["", "-flat", "-flat5", "-flat1"]:
            shutil.rmtree(folder + old, ignore_errors=True)
        program = write(folder, name, form)
        if row in ("Tied", "MutatedBuffer:decomposed"):
            flat(folder, folder + "-flat", program, None, b"8.8")
            flat(folder, folder + "-flat5", program, schema5, b"5.3")
        if row == "MutatedBuffer:decomposed":
            flat(folder, folder + "-flat1", program, schema1, b"1")


if __name__ == "__main__":
    main()
