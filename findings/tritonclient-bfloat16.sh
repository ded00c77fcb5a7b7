#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Inputs of datatype BF16 are arrays of ml_dtypes.bfloat16 in tritonclient, and so are outputs.
#
# Seen with tritonclient 2.73.0: set_data_from_numpy refuses the float32 array that it truncated up to release 26.05,
# for HTTP and gRPC alike, and as_numpy gives ml_dtypes.bfloat16 where it gave float32. NumPy itself has no such dtype.
#
# Installs the packages in a temporary folder; fails if any of this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'tritonclient[http,grpc]==2.73.0' ml_dtypes==0.5.4 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import ml_dtypes
import numpy as np
import tritonclient.grpc as grpc
import tritonclient.http as http
from tritonclient.grpc import service_pb2 as pb
from tritonclient.utils import InferenceServerException

x = np.array([1, 2], dtype=np.float32)
for client in (grpc, http):
    tensor = client.InferInput("x", [2], "BF16")
    try:
        tensor.set_data_from_numpy(x)
        raise AssertionError("float32 is taken")
    except InferenceServerException as e:
        assert "ml_dtypes.bfloat16" in str(e), e
    tensor.set_data_from_numpy(x.astype(ml_dtypes.bfloat16))
answer = pb.ModelInferResponse(raw_output_contents=[b"\x80\x3f\x00\x40"])
answer.outputs.add(name="y", datatype="BF16", shape=[2])
assert grpc.InferResult(answer).as_numpy("y").dtype == ml_dtypes.bfloat16
print("ok")
PYTHON
