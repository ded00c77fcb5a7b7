#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Examples for tests/cli/quantize.test and inputs.test, written without NumPy: quantize_data.py FOLDER"""
import io
import os
import struct
import sys
import zipfile


def npy(shape):
    count = 1
    for n in shape:
        count *= n
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }" % "".join("%d, " % n for n in shape)
    head += " " * (-(len(head) + 11) % 64) + "\n"
    data = struct.pack("<%df" % count, *[(i * 37 % 101) / 100 for i in range(count)])
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def npz(**arrays):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in arrays.items():
            z.writestr(name + ".npy", data)
    return out.getvalue()


def main():
    folder = sys.argv[1]
    for name in ("folder", "empty"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    files = {"named.npz": npz(x=npy([6, 1, 8, 8]), target=npy([6])), "other.npz": npz(images=npy([6, 1, 8, 8])),
             "yx.npz": npz(y=npy([6]), x=npy([6, 1, 8, 8])), "wrong.npz": npz(a=npy([6, 1, 8, 8]), b=npy([6])),
             "norows.npy": npy([0, 1, 8, 8])}
    files.update({"folder/%d.npy" % i: npy([2, 1, 8, 8]) for i in range(3)})
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)


main()
