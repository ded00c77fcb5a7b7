# SPDX-License-Identifier: Apache-2.0
"""An index (model.safetensors.index.json) of one file of weights: make_index.py FILE INDEX."""
import json
import os
import struct
import sys

with open(sys.argv[1], "rb") as f:
    names = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
with open(sys.argv[2], "w") as f:
    json.dump({"metadata": {}, "weight_map": {n: os.path.basename(sys.argv[1]) for n in names if n != "__metadata__"}}, f)
