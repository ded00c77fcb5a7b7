# SPDX-License-Identifier: Apache-2.0
"""check_denormals.py profile|doctor - what the JSON of ctsc profile, or of ctsc doctor with a model, says of denormal numbers."""
import json
import os
import sys

d = json.load(sys.stdin)
if sys.argv[1] == "profile":
    rows = {r["name"]: r for r in d["operators"]}
    print("aten::mul.Tensor met them in %d of %d calls, aten::neg in %d" % (rows["aten::mul.Tensor"]["denormal"], d["calls"], rows["aten::neg"]["denormal"]))
    found = d["denormals"]
    print("measured:", found["us"] > 0 and found["flushed_us"] > 0 and all(r["name"] == "aten::mul.Tensor" for r in found["rows"]))
else:
    found = d["model"]["denormals"]
    told = any("computes with denormal numbers" in f["problem"] and "aten::mul.Tensor" in f["problem"] and "--flush-denormals" in f["advice"] for f in d["findings"])
    follows = told == bool(found and found["rows"])
    print("%s %s, measured: %s, the finding follows: %s" % (os.path.basename(d["model"]["path"]), d["model"]["method"], bool(found and found["us"] > 0), follows))
