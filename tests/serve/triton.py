#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The public client of the Open Inference Protocol, tritonclient[http] from PyPI, against `ctsc serve`, as it is.

    python3 tests/serve/triton.py --ctsc build/ctsc [--site FOLDER]

FOLDER is where `pip install --target FOLDER 'tritonclient[http]'` put it (make test-triton does). Without the client: skipped.
"""
import argparse
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import client  # noqa: E402


def check(http, np, s):
    c = http.InferenceServerClient("127.0.0.1:%d" % s.port, concurrency=4)
    assert c.is_server_live() and c.is_server_ready() and c.is_model_ready("rows") and c.is_model_ready("rows", "1")
    assert not c.is_model_ready("none")
    assert c.get_server_metadata()["name"] == "ctsc"
    assert [i["name"] for i in c.get_model_metadata("rows")["inputs"]] == ["A", "B"]
    assert c.get_model_config("rows")["max_batch_size"] == 8
    assert any(m["name"] == "rows" and m["state"] == "READY" for m in c.get_model_repository_index())
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((2, 3), 2, dtype=np.float32)
    for binary_in in (True, False):
        for outputs in (None, True, False):
            inputs = [http.InferInput("A", [2, 3], "FP32"), http.InferInput("B", [2, 3], "FP32")]
            inputs[0].set_data_from_numpy(a, binary_data=binary_in)
            inputs[1].set_data_from_numpy(b, binary_data=binary_in)
            wanted = None if outputs is None else [http.InferRequestedOutput(n, binary_data=outputs) for n in ("SUM", "DOT")]
            r = c.infer("rows", inputs, outputs=wanted, request_id="q1", model_version="1")
            assert r.get_response()["id"] == "q1"
            assert np.array_equal(r.as_numpy("SUM"), a + b) and np.array_equal(r.as_numpy("DOT"), (a * b).sum(1))
    pending = [c.async_infer("rows", inputs) for _ in range(20)]
    assert all(np.array_equal(p.get_result().as_numpy("SUM"), a + b) for p in pending)
    inputs = [http.InferInput(n, [1], t) for n, t in (("n", "INT64"), ("f", "FP64"), ("flag", "BOOL"), ("text", "BYTES"))]
    items = http.InferInput("items", [2], "INT64")
    for i, v in zip(inputs + [items], (np.array([5]), np.array([1.5]), np.array([True]), np.array([b"hello"], dtype=object), np.array([7, 8]))):
        i.set_data_from_numpy(v)
    r = c.infer("typed", inputs + [items])
    assert r.as_numpy("output__0")[0] == 12 and r.as_numpy("output__3")[0] == b"hello!" and r.as_numpy("a")[0] == 1.5
    half = http.InferInput("x", [3], "FP32")
    half.set_data_from_numpy(np.array([1, 2, 3], dtype=np.float32))
    assert c.infer("half", [half]).as_numpy("output__0").dtype == np.float16
    bad = http.InferInput("A", [1, 4], "FP32")
    bad.set_data_from_numpy(np.zeros((1, 4), dtype=np.float32))
    try:
        c.infer("rows", [bad])
        raise AssertionError("a wrong shape was taken")
    except client_error(http) as e:
        assert "must have the shape" in str(e), e
    assert c.get_inference_statistics("rows")["model_stats"][0]["inference_stats"]["success"]["count"] >= 26
    assert len(c.get_inference_statistics()["model_stats"]) >= 3
    c.unload_model("typed")
    assert not c.is_model_ready("typed")
    c.load_model("typed")
    assert c.is_model_ready("typed")
    c.load_model("typed", config='{"outputs": [{"name": "first"}]}')
    assert c.infer("typed", inputs + [items]).as_numpy("first")[0] == 12
    c.close()


def client_error(http):
    from tritonclient.utils import InferenceServerException
    return InferenceServerException


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--ctsc", default=os.path.join(client.ROOT, "build", "ctsc"))
    ap.add_argument("--site", default="")
    args = ap.parse_args()
    if args.site:
        sys.path.insert(0, args.site)
    try:
        import numpy as np
        import tritonclient.http as http
    except ImportError as e:
        print("skipped: %s" % e)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = client.make_models(os.path.abspath(args.ctsc), scratch, ["rows", "typed", "half"])
        s = client.Server(os.path.abspath(args.ctsc), folder)
        try:
            check(http, np, s)
        finally:
            code, text = s.stop()
        assert code == 0, text
    from importlib.metadata import version
    print("ok tritonclient %s" % version("tritonclient"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
