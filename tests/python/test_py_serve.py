# SPDX-License-Identifier: Apache-2.0
"""test_py_serve.py - ctsc.serve: models of this process over HTTP."""
import http.client
import json
import math
import socket
import threading

import pytest

import ctsc
from ctsc import nn


def ask(server, path, body=None, raw=None):
    c = http.client.HTTPConnection(server.host, server.port, timeout=30)
    c.request("GET" if body is None and raw is None else "POST", path, raw if raw is not None else None if body is None else json.dumps(body))
    r = c.getresponse()
    answer = json.loads(r.read())
    c.close()
    return r.status, answer


def given(name, shape, data, kind="FP32"):
    return {"name": name, "shape": shape, "datatype": kind, "data": data}


def scaled(x, by=2.0):
    return {"scaled": x * by, "nan": x * math.nan}


@pytest.fixture
def server(digits):
    with ctsc.serve({"digits": digits, "scaled": scaled, "linear": nn.Linear(2, 1)}, port=0) as s:
        yield s


def test_models(server, digits):
    assert ask(server, "/v2/health/ready")[0] == 200 and ask(server, "/v2")[1]["name"] == "ctsc"
    assert ask(server, "/v2/models/digits")[1]["inputs"][0]["name"] == "x" and ask(server, "/v2/models/scaled/ready")[0] == 200
    x = ctsc.randn(2, 1, 8, 8)
    status, got = ask(server, "/v2/models/digits/infer", {"id": "7", "inputs": [given("x", [2, 1, 8, 8], x.flatten().tolist())]})
    assert status == 200 and got["id"] == "7" and got["outputs"][0]["shape"] == [2, 10]
    assert got["outputs"][0]["data"] == pytest.approx(digits(x).flatten().tolist(), rel=1e-4, abs=1e-5)
    _, got = ask(server, "/v2/models/scaled/versions/1/infer", {"inputs": [given("input__0", [2], [[1, 2]])]})
    assert got["outputs"][0] == {"name": "scaled", "shape": [2], "datatype": "FP32", "data": [2, 4]} and got["outputs"][1]["data"] == [None, None]
    assert ask(server, "/v2/models/linear/infer", {"inputs": [given("input", [1, 2], [1, 2])]})[0] == 200


@pytest.mark.parametrize("path, body, status", [
    ("/v2/models/none/infer", {"inputs": []}, 404), ("/nowhere", None, 404), ("/v2/models/digits/infer", {"inputs": [given("x", [3], [1, 2])]}, 400),
    ("/v2/models/digits/infer", {"inputs": [given("y", [1], [1])]}, 400), ("/v2/models/digits/infer", {"inputs": []}, 400), ("/v2/models/digits/infer", [], 400),
    ("/v2/models/digits/infer", {"inputs": [given("x", [-1], [])]}, 400), ("/v2/models/digits/infer", {"inputs": [given("x", [1], ["a"])]}, 400),
    ("/v2/models/digits/infer", {"inputs": [given("x", [1], [1], "FP8")]}, 400), ("/v2/models/digits/infer", {"inputs": [given("x", [1], [1])]}, 400),
    ("/v2/models/digits/infer", {"inputs": [{"name": "x"}]}, 400), ("/v2/models/digits/infer", {"inputs": [given("x", [1], [1]), given("x", [1], [1])]}, 400)])
def test_refused(server, path, body, status):
    got, answer = ask(server, path, body)
    assert got == status and answer["error"]
    assert ask(server, "/v2")[0] == 200


def test_hostile(server):
    assert ask(server, "/v2/models/digits/infer", raw=b"{")[0] == 400 and ask(server, "/v2/models/digits/infer", raw=b"[" * 100000)[0] == 400
    s = socket.create_connection((server.host, server.port))
    s.sendall(b"POST /v2/models/digits/infer HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n")
    assert b" 413 " in s.recv(1000)
    s.close()
    assert ask(server, "/v2")[0] == 200


def test_at_the_same_time_and_the_end(server, digits):
    seen = []
    body = {"inputs": [given("x", [1, 1, 8, 8], [0.5] * 64)]}
    threads = [threading.Thread(target=lambda: seen.append(ask(server, "/v2/models/digits/infer", body)[0])) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen == [200] * 8 and "digits" in repr(server)
    other = ctsc.serve(digits, port=0)
    other.close()
    with pytest.raises(OSError):
        ask(other, "/v2")
