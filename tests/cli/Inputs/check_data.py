# SPDX-License-Identifier: Apache-2.0
"""Data for ctsc train, and what it makes of damaged ones.

    check_data.py make DIR                 the same rows as CSV, .npz, .safetensors; folders of images
    check_data.py hostile CTSC NET FILE    FILE, cut short at many places and with bytes changed: an error that says why, or data; no crash
    check_data.py frozen A B NAME...       .safetensors files with the same parameters but for these, which differ
"""
import json
import os
import random
import struct
import subprocess
import sys
import zipfile
import zlib

NAMES = ("ash", "beech", "oak")


def rows():
    r = random.Random(0)
    out = []
    for _ in range(90):
        x = [round(r.gauss(0, 1), 4) for _ in range(3)]
        scores = (x[0] - x[2], x[1] - x[2], x[2] - x[0] - x[1])
        out.append((x, scores.index(max(scores))))
    return out


def npy(shape, dtype, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (dtype, repr(tuple(shape)))
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def png(width, height, pixel):
    raw = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(width)) for y in range(height))
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def make(folder):
    data = rows()
    x = struct.pack("<%df" % (3 * len(data)), *(v for r, _ in data for v in r))
    y = bytes(c for _, c in data)
    lines = ["%s,%s,%s,%s" % (*r, NAMES[c]) for r, c in data]
    write(folder + "/t.csv", 'height,"leaf, width",age,species\n' + "\n".join(lines) + "\n")
    write(folder + "/quoted.tsv", '\ufeffheight\t"leaf, ""width"""\tage\tspecies\tnote\r\n' +
          "".join('%s\t"%s"\t%s\t%s\t"two\n""lines"""\r\n\r\n' % (*r, NAMES[c]) for r, c in data))
    write(folder + "/numbers.csv", "\n".join("%s,%s,%s,%d" % (*r, c) for r, c in data))
    write(folder + "/six.csv", "a,b,c,p,q,r\n" + "".join("%s,%s,%s,%s,%s,%s\n" % (*r, *r) for r, _ in data))
    with zipfile.ZipFile(folder + "/t.npz", "w") as z:
        z.writestr("x.npy", npy((len(data), 3), "<f4", x))
        z.writestr("y.npy", npy((len(data),), "|u1", y))
    head = json.dumps({"y": {"dtype": "U8", "shape": [len(data)], "data_offsets": [0, len(y)]},
                       "x": {"dtype": "F32", "shape": [len(data), 3], "data_offsets": [len(y), len(y) + len(x)]}})
    head += " " * (-len(head) % 8)
    write(folder + "/t.safetensors", struct.pack("<Q", len(head)) + head.encode() + y + x)
    for name, text in {"hole": "a,b,c,y\n1,2,3,0\n4,,6,1\n", "word": "a,b,c,y\n1,2,3,0\n4,oak,6,1\n", "ragged": "a,b,c,y\n1,2,3,0\n1,2,3\n",
                       "quote": 'a,b,c,y\n1,2,"3,0\n', "infinite": "a,b,c,y\n1,2,inf,0\n", "half": "a,b,c,y\n1,2,3,0.5\n", "empty": "", "head": "a,b,c,y\n",
                       "other": "height,\"leaf, width\",age,species\n1,2,3,elm\n", "nul": "a,b,c,y\n1,2,3\0,0\n"}.items():
        write("%s/%s.csv" % (folder, name), text)
    r = random.Random(1)
    for i in range(24):
        light = 120 * (i % 2)
        write("%s/images/%s/%02d.png" % (folder, ("dark", "bright")[i % 2], i), png(8, 6, lambda x, y: [light + r.randrange(100) for _ in range(3)]))
    write(folder + "/images/dark/notes.txt", "not an image")
    write(folder + "/sizes/a/1.png", png(8, 6, lambda x, y: (1, 2, 3)))
    write(folder + "/sizes/b/1.png", png(6, 8, lambda x, y: (1, 2, 3)))
    write(folder + "/broken/a/1.png", png(8, 6, lambda x, y: (1, 2, 3))[:60])
    write(folder + "/none/a/1.txt", "no image")
    write(folder + "/odd/bright/1.png", png(8, 6, lambda x, y: (1, 2, 3)))
    write(folder + "/odd/grey/1.png", png(8, 6, lambda x, y: (1, 2, 3)))


def nest(folder):
    """folder/nested has the images of folder/images deeper down, folder/flat the same in the order that torchvision's ImageFolder gives the nested ones."""
    places = ["", "/a", "/a-b", "/a/z", "/a/z/y"]
    for label in ("dark", "bright"):
        names = sorted(n for n in os.listdir("%s/images/%s" % (folder, label)) if n.endswith(".png"))
        for i, name in enumerate(reversed(names)):
            with open("%s/images/%s/%s" % (folder, label, name), "rb") as f:
                write("%s/nested/%s%s/%s" % (folder, label, places[i % len(places)], name), f.read())
        at = 0
        for root, _, files in sorted(os.walk("%s/nested/%s" % (folder, label), followlinks=True)):
            for name in sorted(files):
                with open(root + "/" + name, "rb") as f:
                    write("%s/flat/%s/%03d.png" % (folder, label, at), f.read())
                at += 1
        write("%s/nested/%s/a/left.webp" % (folder, label), b"")
    os.symlink(".", folder + "/nested/dark/again")


def hostile(ctsc, net, path):
    whole, r = open(path, "rb").read(), random.Random(2)
    damaged = [whole[:n] for n in sorted({*range(0, min(len(whole), 10)), *(len(whole) * k // 12 for k in range(12))})]
    for _ in range(24):
        b = bytearray(whole)
        for _ in range(r.choice((1, 1, 4, 16))):
            b[r.randrange(len(b))] = r.choice((0, 1, 0x7f, 0x80, 0xff, r.randrange(256)))
        damaged.append(bytes(b))
    # flip is for images: what can be read is refused then, before anything is trained
    side, codes = os.path.splitext(path), {}
    for n, data in enumerate(damaged):
        name = "%s.damaged%s" % side
        write(name, data)
        p = subprocess.run([ctsc, "train", net, "--data", name, "--augment", "flip", "-o", name + ".pt"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        if p.returncode == 6 and b"is not installed" in p.stderr:
            print("without the library that reads it")
            return
        codes[p.returncode] = codes.get(p.returncode, 0) + 1
        assert p.returncode in (1, 2, 3, 4, 5) and p.stderr.startswith(b"ctsc: ") or b"error" in p.stderr, (n, p.returncode, p.stderr)
        assert b"Sanitizer" not in p.stderr, p.stderr
    assert len(codes) > 1, codes
    print("damaged files:", len(damaged))


def tensors(path):
    """Of a .safetensors file: bytes by name."""
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    return {k: data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]] for k, v in json.loads(data[8:8 + n]).items() if k != "__metadata__"}


def frozen(before, after, *trained):
    a, b = tensors(before), tensors(after)
    for name in b:
        if "running_" in name or "num_batches" in name:
            continue
        assert (a.get(name) == b[name]) == (name not in trained), name


what, *rest = sys.argv[1:]
{"make": make, "nest": nest, "hostile": hostile, "frozen": frozen}[what](*rest)
