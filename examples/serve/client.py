#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks `ctsc serve` for the digit on an 8x8 image, with Python's standard library alone.

    python3 examples/serve/client.py [URL] [MODEL]          (http://localhost:8000, digits)
"""
import json
import sys
import urllib.error
import urllib.request

ZERO = [0, 0, 1, 1, 1, 0, 0, 0,
        0, 1, 1, 0, 1, 1, 0, 0,
        0, 1, 0, 0, 0, 1, 0, 0,
        0, 1, 0, 0, 0, 1, 0, 0,
        0, 1, 0, 0, 0, 1, 0, 0,
        0, 1, 0, 0, 0, 1, 0, 0,
        0, 1, 1, 0, 1, 1, 0, 0,
        0, 0, 1, 1, 1, 0, 0, 0]


def infer(url, model, inputs):
    """The outputs by name; inputs: name -> (datatype, shape, the elements in row-major order)."""
    body = {"inputs": [{"name": n, "datatype": t, "shape": s, "data": d} for n, (t, s, d) in inputs.items()]}
    request = urllib.request.Request(f"{url}/v2/models/{model}/infer", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return {o["name"]: o["data"] for o in json.load(answer)["outputs"]}


def main():
    url, model = (sys.argv[1:] + ["http://localhost:8000", "digits"][len(sys.argv) - 1:])[:2]
    scores = next(iter(infer(url, model, {"x": ("FP32", [1, 1, 8, 8], ZERO)}).values()))
    print("digit", scores.index(max(scores)))


if __name__ == "__main__":
    try:
        main()
    except urllib.error.HTTPError as e:
        sys.exit(f"{e.code}: {json.load(e)['error']}")
    except urllib.error.URLError as e:
        sys.exit(f"no server: {e.reason}")
