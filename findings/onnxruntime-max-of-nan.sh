#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whether a maximum of numbers with a nan among them is nan depends, in ONNX Runtime, on the operator, the dtype, and
# where the nan is.
#
# Seen with onnxruntime 1.32.0 on x86-64: ReduceMax gives nan where the first element is nan, and else the largest of
# the others. Max of two tensors gives nan for each element that is nan in either. MaxPool passes over a nan in float32;
# in float64 it gives nan where the first element of the window is. ONNX's text says nothing, NumPy and PyTorch give
# nan everywhere.
#
# Installs the packages in a temporary folder; fails if any of this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
cat > "$folder/look.py" <<'PYTHON'
import numpy as np
import onnx
import onnxruntime
from onnx import helper as h


def run(op, *arrays, **attrs):
    kind = h.np_dtype_to_tensor_dtype(arrays[0].dtype)
    names = ["x%d" % i for i in range(len(arrays))]
    graph = h.make_graph([h.make_node(op, names, ["y"], **attrs)], "g", [h.make_tensor_value_info(n, kind, a.shape) for n, a in zip(names, arrays)],
                         [h.make_tensor_value_info("y", kind, None)])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 12)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip(names, arrays)))[0].ravel().tolist()


def places(dtype):
    for i in range(3):
        x = np.arange(3, dtype=dtype)
        x[i] = np.nan
        yield x


for dtype in ("float32", "float64"):
    print(dtype, "ReduceMax", *(run("ReduceMax", x)[0] for x in places(dtype)))
    print(dtype, "Max", *(run("Max", x, np.arange(3, dtype=dtype)) for x in places(dtype)))
    print(dtype, "MaxPool", *(run("MaxPool", x.reshape(1, 1, 3), kernel_shape=[3])[0] for x in places(dtype)))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/look.py" 2>/dev/null)
echo "$seen"
[ "$seen" = "float32 ReduceMax nan 2.0 1.0
float32 Max [nan, 1.0, 2.0] [0.0, nan, 2.0] [0.0, 1.0, nan]
float32 MaxPool 2.0 2.0 1.0
float64 ReduceMax nan 2.0 1.0
float64 Max [nan, 1.0, 2.0] [0.0, nan, 2.0] [0.0, 1.0, nan]
float64 MaxPool nan 2.0 1.0" ]
