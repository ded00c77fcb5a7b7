#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The exit codes of docs/commands.md, for every subcommand: python3 check_exit.py CTSC FOLDER

A missing and a damaged file are 3, a wrong option is 2, a result that cannot be written is 6, and a signal ends a command as it ends any program.
Messages name the file or the option. The commands come from `ctsc --help`: a new one without rows here fails.
"""
import os
import re
import signal
import subprocess
import sys

CTSC, FOLDER = sys.argv[1:]
failed = []

# What each command is called with, where MODEL is the file in question. None: it reads no file.
CALLS = {
    "compile": ["MODEL.py", "-o", "o.pt"], "convert": ["MODEL", "o.safetensors"], "run": ["MODEL"], "quantize": ["MODEL", "--data", "x.npy", "-o", "o.onnx"],
    "train": ["MODEL", "--data", "t.csv", "-o", "o.pt"], "launch": ["MODEL.py"], "graph": ["MODEL"], "graph-for": ["MODEL"], "view": ["MODEL", "-o", "o.html"],
    "code": ["MODEL"], "bench": ["MODEL"], "serve": ["MODEL"], "profile": ["MODEL"], "inspect": ["MODEL"], "opt": ["MODEL", "--passes", "cse"],
    "prune": ["MODEL", "-o", "o.pt"], "zoo": ["--path", "MODEL"], "ops": None, "doctor": ["MODEL"], "completion": None,
}
# Files that are not MODEL: each is missing in turn.
OTHERS = [
    ["run", "net.py", "--inputs", "none.npz"], ["run", "net.py", "--input", "@none.npy"], ["run", "net.py", "--input", "f32[2]", "--expect", "none.pt"],
    ["run", "net.py", "--weights", "none.pth"], ["run", "net.py", "--input", "f32[2]", "--top", "1", "--labels", "none.txt"],
    ["train", "net.py", "--data", "none.csv", "-o", "o.pt"], ["train", "net.py", "--data", "none.npz", "-o", "o.pt"],
    ["train", "net.py", "--data", "none.parquet", "-o", "o.pt"], ["train", "net.py", "--data", "none.h5", "-o", "o.pt"],
    ["train", "net.py", "--data", "none/", "-o", "o.pt"], ["train", "net.py", "--data", "t.csv", "--valid", "none.csv", "-o", "o.pt"],
    ["train", "net.py", "--data", "t.csv", "--resume", "none.ckpt", "-o", "o.pt"], ["quantize", "net.py", "--data", "none.npz", "-o", "o.onnx"],
    ["quantize", "net.py", "--data", "none/", "-o", "o.onnx"], ["convert", "none.safetensors", "o.pt"], ["view", "net.py", "none.pt", "-o", "o.html"],
    ["bench", "net.py", "none.pt", "--input", "f32[2]", "--calls", "1"], ["profile", "net.py", "--compare", "none.pt", "--input", "f32[2]", "--calls", "1"],
]
UNWRITABLE = [
    ["compile", "net.py", "-o", "none/o.pt"], ["compile", "net.py", "-o", "folder"], ["convert", "net.pt", "none/o.safetensors"], ["convert", "net.pt", "none/o.pt"],
    ["run", "net.py", "--input", "f32[2]", "--output", "none/o.pt"], ["quantize", "net.py", "--data", "x.npy", "-o", "none/o.onnx"],
    ["train", "net.py", "--data", "t.csv", "-o", "none/o.pt"], ["train", "net.py", "--data", "t.csv", "--checkpoint", "none/o.ckpt"],
    ["view", "net.py", "-o", "none/o.html"], ["profile", "net.py", "--input", "f32[2]", "--calls", "1", "--trace", "none/o.json"],
    ["zoo", "lenet", "-o", "none/o.pt"],
]
# An ending that is of another kind of file than the one that is written.
MEANS_OTHER = [["compile", "net.py", "-o"], ["zoo", "lenet", "-o"], ["train", "net.py", "--data", "t.csv", "-o"], ["run", "net.py", "--input", "f32[2]", "--output"]]
LONG = ["loop.py", "--input", "f32[100000]", "--input", "100000000"]
SIGNALLED = {
    "run": LONG, "bench": LONG, "profile": LONG, "graph-for": LONG, "inspect": LONG, "compile": ["--trace"] + LONG + ["-o", "o.pt"],
    "train": ["net.py", "--data", "t.csv", "--epochs", "100000000", "-o", "o.pt"],
}


def run(args, stdout=subprocess.PIPE):
    return subprocess.run([CTSC] + args, stdout=stdout, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, errors="replace", cwd=FOLDER, timeout=60)


def expect(code, words, args, **more):
    """The exit code, and a message with all the words and no notes about bugs."""
    r = run(args, **more)
    if r.returncode != code or any(w not in r.stderr for w in words) or len(r.stderr) > 2000:
        failed.append("%s: exit code %d, %d expected, with %s in: %s" % (" ".join(args), r.returncode, code, words, r.stderr[:500]))


def write(name, data):
    with open(os.path.join(FOLDER, name), "wb") as f:
        f.write(data)


def prepare():
    os.makedirs(os.path.join(FOLDER, "folder"), exist_ok=True)
    write("net.py", b"import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = torch.nn.Linear(2, 2)\n"
          b"    def forward(self, x):\n        return self.fc(x)\n")
    write("loop.py", b"def forward(x, n: int):\n    for i in range(n):\n        x = x.tanh()\n    return x\n")
    write("t.csv", b"a,b,y\n1,2,0\n3,4,1\n")
    write("x.npy", b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }".ljust(117) + b"\n" + bytes(8))
    run(["compile", "net.py", "-o", "net.pt"])
    with open(os.path.join(FOLDER, "net.pt"), "rb") as f:
        whole = f.read()
    write("cut.pt", whole[:len(whole) // 2])
    write("broken.py", b"def forward(x:\n")


def check_files():
    names = re.findall(r"^  ([a-z-]+) ", run(["--help"]).stdout.split("Commands:")[1].split("Options:")[0], re.M)
    for name in sorted(set(names) ^ set(CALLS)):
        failed.append("%s: is not in both ctsc --help and this list" % name)
    for name, call in CALLS.items():
        expect(2, ["--frobnicate"], [name, "--frobnicate"])
        expect(0, [], [name, "--help"])
        expect(6, ["standard output"], [name, "--help"], stdout=open("/dev/full", "w"))
        if call is None:
            continue
        missing = [c.replace("MODEL", "none") for c in call]
        expect(3, ["none"], [name] + missing)
        if name in ("launch", "serve", "zoo"):  # what these read is not a model
            continue
        damaged = ["broken.py" if c == "MODEL.py" else c.replace("MODEL", "cut.pt") for c in call]
        expect(1 if name == "compile" else 3, ["broken.py" if name == "compile" else "cut.pt"], [name] + damaged)
    for args in OTHERS:
        expect(3, ["none"], args)
    for args in UNWRITABLE:
        expect(6, ["cannot write", args[-1]], args)
    for args in MEANS_OTHER:
        for ending in (".onnx", ".safetensors", ".npy", ".html", ".py"):
            expect(2, ["o" + ending], args + ["o" + ending])
    expect(2, ["o.onnx", ".html"], ["view", "net.py", "-o", "o.onnx"])
    expect(2, ["o.txt"], ["quantize", "net.py", "--data", "x.npy", "-o", "o.txt"])
    left = [n for n in os.listdir(FOLDER) if n.startswith("o.")]
    if left:
        failed.append("files were written: %s" % left)


def signalled(p, name, number):
    """The command runs for a second, and ends by the signal."""
    try:
        p.communicate(timeout=1)
        failed.append("%s: ended before the signal" % name)
        return
    except subprocess.TimeoutExpired:
        p.send_signal(number)
    try:
        p.communicate(timeout=60)
        if p.returncode != -number:
            failed.append("%s: %d after signal %d" % (name, p.returncode, number))
    except subprocess.TimeoutExpired:
        failed.append("%s: still runs after signal %d" % (name, number))


def check_signals():
    for name, args in SIGNALLED.items():
        for number in (signal.SIGINT, signal.SIGTERM):
            # what runs in the background of a script ignores SIGINT
            p = subprocess.Popen([CTSC, name] + args, cwd=FOLDER, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            try:
                signalled(p, name, number)
            finally: # whatever went wrong: nothing is left that runs
                if p.poll() is None:
                    p.kill()
                    p.communicate()
    left = [n for n in os.listdir(FOLDER) if n.endswith(".tmp")]
    if left:
        failed.append("files were left: %s" % left)


prepare()
check_files()
check_signals()
print("\n".join(failed))
sys.exit(bool(failed))
