# SPDX-License-Identifier: Apache-2.0
"""What ctsc train writes.

    check_train.py events DIR EPOCHS      TensorBoard's records: lengths, checksums, one loss per epoch
    check_train.py log FILE EPOCHS        lines of JSON
    check_train.py same A.pt B.pt         archives with the same weights, to the last bit
    check_train.py few A.pt B.pt          the same, of small models
    check_train.py float32 CKPT           every floating tensor of a checkpoint is float32
    check_train.py rows FILE.csv          writes a table of 64 rows: x0 to x7, y0 to y7
    check_train.py losses A.txt B.txt     the same losses, but for rounding
    check_train.py killed CKPT COMMAND... runs the command until there is a checkpoint, and kills it
"""
import glob
import json
import os
import re
import struct
import subprocess
import sys
import time
import zipfile


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


assert crc32c(b"123456789") == 0xe3069283


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    at, out = 0, {}
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            v, at = varint(data, at)
        elif tag & 7 == 2:
            n, at = varint(data, at)
            v, at = data[at:at + n], at + n
        else:
            n = 8 if tag & 7 == 1 else 4
            v, at = data[at:at + n], at + n
        out[tag >> 3] = v
    return out


def events(folder, epochs):
    files = glob.glob(os.path.join(folder, "events.out.tfevents.*"))
    assert len(files) == 1, files
    data, at, losses = open(files[0], "rb").read(), 0, []
    while at < len(data):
        length = data[at:at + 8]
        n = struct.unpack("<Q", length)[0]
        record = data[at + 12:at + 12 + n]
        assert struct.unpack("<I", data[at + 8:at + 12])[0] == masked(length)
        assert struct.unpack("<I", data[at + 12 + n:at + 16 + n])[0] == masked(record)
        event = fields(record)
        if at == 0:
            assert event[3] == b"brain.Event:2"
        else:
            value = fields(fields(event[5])[1])
            if value[1] == b"loss":
                losses.append((event[2], struct.unpack("<f", value[2])[0]))
        at += 16 + n
    assert len(losses) == epochs and losses[-1][1] < losses[0][1] and losses[0][0] < losses[-1][0], losses


def log(path, epochs):
    lines = [json.loads(x) for x in open(path)]
    lines = [x for x in lines if "loss" in x]
    assert len(lines) == epochs and all(x["loss/validation"] > 0 and 0 <= x["accuracy"] <= 1 for x in lines), lines


def weights(path):
    with zipfile.ZipFile(path) as z:
        return {n.split("/", 1)[1]: z.read(n) for n in z.namelist() if "/data/" in n}


def same(a, b, least=6):
    a, b = weights(a), weights(b)
    assert len(a) >= least and a == b, [n for n in a if a[n] != b.get(n)]


def float32(path):
    with zipfile.ZipFile(path) as z:
        kinds = set(re.findall(rb"(\w+)Storage", b"".join(z.read(n) for n in z.namelist() if n.endswith("data.pkl"))))
    assert b"Float" in kinds and not kinds & {b"BFloat16", b"Half", b"Double"}, kinds


def killed(checkpoint, *command):
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while p.poll() is None and not os.path.exists(checkpoint):
        time.sleep(0.001)
    p.kill()
    p.wait()
    assert os.path.exists(checkpoint)


def rows(path):
    names = ["%s%d" % (kind, i) for kind in "xy" for i in range(8)]
    with open(path, "w") as f:
        f.write(",".join(names) + "\n")
        for row in range(64):
            f.write(",".join("%.4f" % ((row * 37 + i * 101) % 97 / 97) for i in range(16)) + "\n")


def losses(a, b):
    a, b = ([float(x) for x in re.findall(r"loss ([0-9.]+)", open(path).read())] for path in (a, b))
    assert len(a) == len(b) == 2 and a[1] < a[0] and all(abs(x - y) < 1e-5 for x, y in zip(a, b)), (a, b)


what, *rest = sys.argv[1:]
{"events": lambda d, n: events(d, int(n)), "log": lambda f, n: log(f, int(n)), "same": same, "few": lambda a, b: same(a, b, 4), "float32": float32, "killed": killed, "rows": rows, "losses": losses}[what](*rest)
