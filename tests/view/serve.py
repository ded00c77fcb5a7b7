#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks `ctsc view MODEL --serve` and prints what it answers (tests/cli/view.test). The command is $CTSC, or build/ctsc."""
import http.client
import os
import re
import signal
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    server = subprocess.Popen([os.environ.get("CTSC", os.path.join(ROOT, "build", "ctsc")), "view", sys.argv[1], "--serve", "--port", "0"], stderr=subprocess.PIPE, text=True)
    try:
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)", server.stderr.readline()).group(1))
        for method, path in (("GET", "/"), ("HEAD", "/"), ("GET", "/x"), ("POST", "/")):
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            c.request(method, path, body=b"{}" * 50000 if method == "POST" else None)
            r = c.getresponse()
            body = r.read()
            assert method != "GET" or path != "/" or b"GraphView" in body
            print(method, path, r.status, r.headers["Content-Type"].split(";")[0])
            c.close()
    finally:
        server.send_signal(signal.SIGINT)
        print("exit code", server.wait(60))


if __name__ == "__main__":
    main()
