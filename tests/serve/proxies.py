#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server behind nginx and Caddy, with the files of examples/serve as they are but for ports and paths.

    python3 tests/serve/proxies.py --ctsc build/ctsc [--site FOLDER]          (make test-proxies)

Through TLS: JSON, binary tensors, a large body, one that is too large, events as they are made, a client that hangs up, what only operators may do,
many requests on one connection, and gRPC with tritonclient, where --site is a folder that has it. A proxy that is not installed is left out.
"""
import argparse
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
import traceback

import client

ROOT = client.ROOT


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Through:
    """What client.Server is, by way of a proxy."""

    def __init__(self, port, certificate):
        self.port = port
        self.context = ssl.create_default_context(cafile=certificate)

    def connect(self):
        return http.client.HTTPSConnection("localhost", self.port, timeout=30, context=self.context)

    ask, json, infer = client.Server.ask, client.Server.json, client.Server.infer


def check_requests(s):
    x = [client.tensor("x", [2, 2], [1, 2, 3, 4])]
    assert s.json("GET", "/v2/health/ready") == {"ready": True}
    assert s.infer("double", x)["outputs"][0]["data"] == [2, 4, 6, 8]
    keep = s.connect()
    for _ in range(200):
        status, _, data = s.ask("POST", "/v2/models/double/infer", {"inputs": x}, connection=keep)
        assert status == 200, data
    keep.close()


def check_binary(s):
    n = 1 << 20
    header = json.dumps({"inputs": [{"name": "x", "shape": [n], "datatype": "FP32", "parameters": {"binary_data_size": 4 * n}}],
                         "outputs": [{"name": "output__0", "parameters": {"binary_data": True}}]}).encode()
    status, headers, data = s.ask("POST", "/v2/models/double/infer", header + struct.pack("<f", 1.5) * n,
                                  {"Inference-Header-Content-Length": str(len(header))})
    assert status == 200, data[:300]
    assert data[int(headers["Inference-Header-Content-Length"]):] == struct.pack("<f", 3.0) * n


def check_too_large(s):
    c = s.connect()
    try:
        c.request("POST", "/v2/models/double/infer", body=b"x" * (65 << 20))
        assert c.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
        pass  # refused by its length, before it was sent
    finally:
        c.close()
    assert s.infer("double", [client.tensor("x", [1], [1])])["outputs"][0]["data"] == [2]


def check_events(s):
    """The first event is there before the last one is made."""
    c = s.connect()
    body = {"ids": [3], "parameters": {"max_tokens": 200}}
    start = time.time()
    c.request("POST", "/v2/models/single/generate_stream", body=json.dumps(body))
    r = c.getresponse()
    text = r.read1(65536)
    first = time.time() - start
    while True:
        more = r.read1(65536)
        if not more:
            break
        text += more
    whole = time.time() - start
    c.close()
    assert r.status == 200 and text.count(b"data:") == 201, text[:300]
    assert first < whole / 2, (first, whole)


def check_hang_up(s, server):
    before = client.counted(server, "ctsc_requests_rejected_total", model="sleepy", version="1", reason="client_gone")
    c = s.connect()
    c.request("POST", "/v2/models/sleepy/infer", body=json.dumps({"inputs": [client.matrix(), client.tensor("n", [1], [10 ** 7], "INT64")]}))
    time.sleep(0.5)
    c.close()
    client.until(lambda: client.counted(server, "ctsc_requests_rejected_total", model="sleepy", version="1", reason="client_gone") > before)


def check_operators(s):
    for method, path in [("POST", "/v2/repository/models/double/unload"), ("POST", "/v2/repository/index")]:
        assert s.ask(method, path, {})[0] == 403
    assert s.infer("double", [client.tensor("x", [1], [1])])["outputs"][0]["data"] == [2]


def check_grpc(port, certificate, site):
    sys.path.insert(0, site)
    import numpy
    import tritonclient.grpc as grpc
    c = grpc.InferenceServerClient("localhost:%d" % port, ssl=True, root_certificates=certificate)
    assert c.is_server_ready()
    x = grpc.InferInput("x", [2, 3], "FP32")
    x.set_data_from_numpy(numpy.arange(6, dtype=numpy.float32).reshape(2, 3))
    assert (c.infer("double", [x]).as_numpy("output__0") == numpy.arange(6).reshape(2, 3) * 2).all()
    c.close()


def certificates(folder):
    certificate, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
    return certificate, key


def configured(name, folder, replacements):
    with open(os.path.join(ROOT, "examples", "serve", name)) as f:
        text = f.read()
    for old, new in replacements.items():
        assert old in text, "examples/serve/%s has no %s" % (name, old)
        text = text.replace(old, new)
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def nginx(path, folder):
    return ["nginx", "-e", "stderr", "-p", folder, "-c", path, "-g", "daemon off; pid %s/nginx.pid;" % folder]


def caddy(path, folder):
    return ["caddy", "run", "--adapter", "caddyfile", "--config", path]


PROXIES = [("nginx", "nginx.conf", nginx), ("caddy", "Caddyfile", caddy)]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--ctsc", default=os.path.join(ROOT, "build", "ctsc"))
    ap.add_argument("--site", help="a folder with tritonclient")
    args = ap.parse_args()
    ctsc, failed, passed = os.path.abspath(args.ctsc), 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)  # nginx's workers are another user's
        models = client.make_models(ctsc, scratch, {n: client.MODELS[n] for n in ("double", "single", "sleepy")})
        certificate, key = certificates(scratch)
        place = os.path.join(scratch, "http.sock")
        os.umask(0)  # for the same reason: the socket is for everybody
        server = client.Server(ctsc, models, "--host", "unix:" + place)
        os.umask(0o022)
        rpc = client.Server(ctsc, models, "--grpc=0") if args.site else None
        for program, name, command in PROXIES:
            if not shutil.which(program):
                print("skip %s: it is not installed" % program)
                continue
            port, grpc_port = free_port(), free_port()
            path = configured(name, scratch, {"/run/ctsc/http.sock": place, "/etc/ssl/certs/ctsc.pem": certificate, "/etc/ssl/private/ctsc.key": key,
                                              "8443": str(port), "8444": str(grpc_port), "127.0.0.1:8001": "127.0.0.1:%d" % (rpc.grpc_port if rpc else 1)})
            log = open(os.path.join(scratch, program + ".log"), "w+")
            process = subprocess.Popen(command(path, scratch), stdout=log, stderr=log, env=dict(os.environ, HOME=scratch))
            s = Through(port, certificate)
            checks = [(check_requests, (s,)), (check_binary, (s,)), (check_too_large, (s,)), (check_events, (s,)), (check_hang_up, (s, server)),
                      (check_operators, (s,))] + ([(check_grpc, (grpc_port, certificate, args.site))] if rpc else [])
            try:
                client.until(lambda: not socket.socket().connect_ex(("127.0.0.1", port)))
                for check, what in checks:
                    try:
                        check(*what)
                        passed += 1
                        print("ok %s %s" % (program, check.__name__), flush=True)
                    except Exception as e:  # noqa: reported
                        failed += 1
                        print("FAIL %s %s: %s" % (program, check.__name__, str(e) or repr(e)), flush=True)
                        traceback.print_exc()
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(20)
                log.close()
        for one in [server] + ([rpc] if rpc else []):
            code, text = one.stop()
            assert code == 0 and not re.search("Sanitizer", text), text
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
