#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of every format, damaged where their format has structure, given to the loaders: a value, a program or a message comes of each.

    python3 tests/damage/formats.py --build build [--count 10000] [--seed 1] [--only zip,onnx] [--keep FOLDER] [--run]        (make test-damage-formats)

Kinds of damage, several of which may meet one file: fields of a zip's headers; whole records exchanged, repeated, left out, renamed or compressed, with the
zip made right around them; opcodes of pickles and their numbers; lengths, tags and numbers of protobuf messages; values of JSON; headers of NumPy; bytes of
one file in another of the same format, and a file given to the reader of another format. Each file is read by a fuzz target that was built as a plain program
(tests/fuzz/replay_main.c), and with --run also by the Python package, which calls what loads. A process that ends by a signal, a sanitizer's report, more
than SECONDS of processor time or MOST_MEMORY is a finding: the file is written to --keep.
"""
import argparse
import glob
import io
import json
import os
import pickletools
import random
import resource
import struct
import subprocess
import sys
import tempfile
import warnings
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SECONDS, MOST_MEMORY, BATCH, LARGEST = 20, 3 << 30, 100, 60000
NUMBERS = [0, 1, -1, 2, 7, 8, 63, 64, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**61, 2**62, 2**63 - 1, 2**64 - 1, -2, -2**31, -2**63]


# ---- numbers and bytes -------------------------------------------------------------------------------------------------


def number(r):
    return r.choice(NUMBERS) if r.random() < 0.8 else r.choice(NUMBERS) + r.randrange(-3, 4)


def put(data, at, width, value):
    return data[:at] + (value & (1 << 8 * width) - 1).to_bytes(width, "little") + data[at + width:]


def any_bytes(r, data):
    """Damage that knows nothing of the format."""
    if not data:
        return bytes(r.randrange(256) for _ in range(r.randrange(40)))
    at, n = r.randrange(len(data)), r.choice((1, 2, 4, 8, r.randrange(1, 200)))
    kind = r.randrange(6)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + data[at + n:]
    if kind == 2:
        return data[:at] + data[at:at + n] + data[at:]
    if kind == 3:
        return put(data, at, r.choice((1, 2, 4, 8)), number(r))[:len(data)]
    if kind == 4:
        other = r.randrange(len(data))
        return data[:at] + data[other:other + n] + data[at + n:]
    return data[:at] + bytes([data[at] ^ 1 << r.randrange(8)]) + data[at + 1:]


# ---- zip ---------------------------------------------------------------------------------------------------------------

# Fields of a local header, an entry of the directory, its end, and the 64-bit records: place and width.
LOCAL = [(4, 2), (6, 2), (8, 2), (10, 4), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2)]
ENTRY = [(4, 2), (6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (34, 2), (36, 2), (38, 4), (42, 4)]
END = [(4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)]
END64 = [(4, 8), (12, 2), (16, 4), (24, 8), (32, 8), (40, 8), (48, 8)]
LOCATOR = [(4, 4), (8, 8), (16, 4)]
SIGNATURES = [(b"PK\3\4", LOCAL), (b"PK\1\2", ENTRY), (b"PK\5\6", END), (b"PK\6\6", END64), (b"PK\6\7", LOCATOR)]


def zip_field(r, data):
    signature, fields = r.choice(SIGNATURES)
    places = [i for i in range(len(data)) if data.startswith(signature, i)] if signature in data else []
    if not places:
        return any_bytes(r, data)
    base, (at, width) = r.choice(places), r.choice(fields)
    if base + at + width > len(data):
        return data
    old = int.from_bytes(data[base + at:base + at + width], "little")
    return put(data, base + at, width, r.choice((number(r), old + r.randrange(-4, 5), old ^ 1 << r.randrange(8 * width), len(data) - r.randrange(50))))


def zip_rebuilt(r, data):
    """Records damaged, and a zip around them that is right again."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            records = [(i.filename, z.read(i), i.compress_type) for i in z.infolist()]
    except Exception:  # noqa: the file was damaged before
        return zip_field(r, data)
    if not records:
        return data
    i, j = r.randrange(len(records)), r.randrange(len(records))
    name, content, how = records[i]
    kind = r.randrange(12)
    if kind == 0:
        records[i] = (records[j][0], content, how)
    elif kind == 1:
        records[i] = (name, records[j][1], how)
    elif kind == 2:
        del records[i]
    elif kind == 3:
        top = name.split("/")[0]
        records[i] = (r.choice(["../" + name, "/" + name, name.upper(), name + "\0x", top + "/" + "a/" * 200, name.replace("/", "\\"), top, top + "/", "", name + "/x"]), content, how)
    elif kind == 4:
        records[i] = (name, content, zipfile.ZIP_DEFLATED)
    elif kind == 5:
        records.insert(j, records[i])
    elif kind == 6:
        records[i] = (name, b"\0" * r.choice((1, 100000, 3000000)), zipfile.ZIP_DEFLATED)
    else:
        records[i] = (name, inside(r, name, content), how)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, content, how in records:
            try:
                z.writestr(zipfile.ZipInfo(name), content, how)
            except Exception:  # noqa: a name that Python does not write
                pass
    return out.getvalue()


def inside(r, name, content):
    if name.endswith(".pkl") or content[:2] == b"\x80\x02":
        return pickle(r, content)
    if name.endswith(".json") or content[:1] in (b"{", b"["):
        return json_text(r, content)
    if content[:6] == b"\x93NUMPY":
        return numpy_file(r, content)
    return text(r, content) if name.endswith(".py") else any_bytes(r, content)


def text(r, content):
    lines = content.split(b"\n")
    i, j = r.randrange(len(lines)), r.randrange(len(lines))
    kind = r.randrange(4)
    if kind == 0:
        lines[i] = lines[j]
    elif kind == 1:
        del lines[i]
    else:
        words = lines[i].split(b" ")
        words[r.randrange(len(words))] = r.choice([b"%d" % number(r), b"None", b"-", b"(" * 50, b"inf", r.choice(r.choice(lines).split(b" "))])
        lines[i] = b" ".join(words)
    return b"\n".join(lines)


def zip_file(r, data):
    return zip_field(r, data) if r.random() < 0.35 else zip_rebuilt(r, data)


# ---- pickle ------------------------------------------------------------------------------------------------------------


def pickle(r, data):
    places = []
    try:
        for opcode, argument, at in pickletools.genops(data):
            places.append((at, opcode, argument))
    except Exception:  # noqa: as far as it can be read
        pass
    if len(places) < 3:
        return any_bytes(r, data)
    spans = [(places[i][0], places[i + 1][0]) for i in range(len(places) - 1)]
    i, j = r.randrange(len(spans)), r.randrange(len(spans))
    (a, b), (c, d) = spans[i], spans[j]
    kind = r.randrange(8)
    if kind == 0:
        return data[:a] + data[b:]
    if kind == 1:
        return data[:a] + data[a:b] * r.choice((2, 3, 60)) + data[b:]
    if kind == 2:
        return data[:a] + data[c:d] + data[b:]
    if kind == 3:
        return data[:a] + r.choice(pickletools.opcodes).code.encode("latin-1") + data[a + 1:]
    if kind == 4:
        return data[:a] + r.choice(pickletools.opcodes).code.encode("latin-1") + data[a:]
    numbered = [(at, o) for at, o, arg in places if isinstance(arg, int)]
    if kind < 7 and numbered:
        at, opcode = r.choice(numbered)
        width = {"int1": 1, "uint1": 1, "uint2": 2, "int4": 4, "uint4": 4, "uint8": 8}.get(opcode.arg.name, 1)
        return put(data, at + 1, width, number(r))
    texts = [(at, o, arg) for at, o, arg in places if isinstance(arg, str)]
    if texts:
        at, opcode, argument = r.choice(texts)
        other = r.choice(texts)[2].encode() if r.random() < 0.5 else r.choice([b"", b"a" * 300, b"torch\nload", b"os\nsystem", b"-1", b"18446744073709551616", b"cuda:0", b"\xff"])
        old = argument.encode()
        found = data.find(old, at)
        if found >= 0 and opcode.name in ("BINUNICODE", "SHORT_BINUNICODE"):
            width = 4 if opcode.name == "BINUNICODE" else 1
            return data[:at + 1] + (len(other) & (1 << 8 * width) - 1).to_bytes(width, "little") + other + data[found + len(old):]
    return any_bytes(r, data)


# ---- protobuf ----------------------------------------------------------------------------------------------------------


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def write_varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(data):
    """[(field, wire type, value)], or None: it is no message."""
    fields, at = [], 0
    try:
        while at < len(data):
            tag, at = varint(data, at)
            kind = tag & 7
            if tag >> 3 == 0 or kind in (3, 4, 6, 7):
                return None
            if kind == 0:
                value, at = varint(data, at)
            else:
                n, at = varint(data, at) if kind == 2 else ((8, 4)[kind == 5], at)
                if at + n > len(data):
                    return None
                value, at = data[at:at + n], at + n
            fields.append((tag >> 3, kind, value))
    except ValueError:
        return None
    return fields


def write_message(fields, lie=None):
    out = b""
    for i, (field, kind, value) in enumerate(fields):
        out += write_varint(field << 3 | kind)
        if kind == 0:
            out += write_varint(value)
        else:
            n = len(value) if lie is None or lie[0] != i else lie[1]
            out += (write_varint(n) if kind == 2 else b"") + value
    return out


def protobuf(r, data, depth=0):
    fields = message(data)
    if not fields:
        return any_bytes(r, data)
    i, j = r.randrange(len(fields)), r.randrange(len(fields))
    field, kind, value = fields[i]
    if kind == 2 and depth < 8 and r.random() < 0.75 and message(value):
        fields[i] = (field, kind, protobuf(r, value, depth + 1))
        return write_message(fields)
    what = r.randrange(8)
    if what == 0:
        return write_message(fields, (i, number(r) & 2**64 - 1))
    if what == 1:
        del fields[i]
    elif what == 2:
        fields.insert(j, fields[i])
    elif what == 3:
        fields[i] = (r.choice((field + 1, max(field - 1, 1), r.randrange(1, 30))), kind, value)
    elif what == 4:
        fields[i] = (field, kind, fields[j][2]) if fields[j][1] == kind else (field, 0, number(r))
    elif what == 5:
        fields[i] = (field, 2, value if kind else b"abc")
    elif kind == 0:
        fields[i] = (field, 0, number(r))
    else:
        fields[i] = (field, kind, any_bytes(r, value) if kind == 2 else value[::-1])
    return write_message(fields)


# ---- JSON, NumPy, safetensors ------------------------------------------------------------------------------------------


def places_of(value, path=()):
    yield path
    for key in (value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()):
        yield from places_of(value[key], path + (key,))


def json_value(r, value):
    every = list(places_of(value))
    get = lambda path: value if not path else at(path[:-1])[path[-1]]

    def at(path):
        v = value
        for key in path:
            v = v[key]
        return v
    path = r.choice(every)
    if not path:
        return r.choice([[], {}, 3, None, "x", [value]])
    holder, key = at(path[:-1]), path[-1]
    kind = r.randrange(7)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        holder[key] = json.loads(json.dumps(get(r.choice(every)))) if len(every) < 3000 else None
    elif kind == 2 and isinstance(holder, dict):
        holder[r.choice(["", "a", "name", "as_tensor", str(key) + "x", "__metadata__"])] = holder.pop(key)
    elif kind == 3 and isinstance(holder, list):
        holder.extend([holder[key]] * r.choice((1, 2, 1000)))
    elif isinstance(holder[key], (int, float)) or kind == 4:
        holder[key] = r.choice([number(r), number(r), 1e308, -0.0, 0.5, True, None, str(number(r)), [], {}])
    elif isinstance(holder[key], str):
        holder[key] = r.choice(["", "x" * 5000, "\0", "\ud7ff", holder[key] + "x", holder[key][:-1], "F32", "I64", "aten::add", str(number(r)), 3])
    else:
        holder[key] = r.choice([[], {}, None, 0, [holder[key]], "x"])
    return value


def json_text(r, data):
    if r.random() < 0.15:
        return any_bytes(r, data)
    try:
        made = json.dumps(json_value(r, json.loads(data)))
    except (ValueError, RecursionError):
        return any_bytes(r, data)
    if r.random() < 0.1:
        made = made.replace("1", r.choice(["1e999", "-0", "1" * 400, "NaN", "0x1", "1.", "[" * 3000]), 1)
    return made.encode("utf-8", "surrogatepass")


def safetensors(r, data):
    n = int.from_bytes(data[:8], "little")
    if r.random() < 0.2 or n > len(data):
        return put(data, 0, 8, r.choice((number(r), n + r.randrange(-9, 10)))) if r.random() < 0.5 else any_bytes(r, data)
    header = json_text(r, data[8:8 + n])
    return len(header).to_bytes(8, "little") + header + data[8 + n:]


def numpy_file(r, data):
    if data[:6] != b"\x93NUMPY" or r.random() < 0.2:
        return any_bytes(r, data)
    n = int.from_bytes(data[8:10], "little")
    if r.random() < 0.15:
        return put(data, r.choice((6, 7, 8)), 1, number(r))
    header = data[10:10 + n].decode("latin-1")
    words = ["<f4", ">f8", "|b1", "<i8", "|O", "<U3", "<c8", "<f2", "|V8", "<M8[ns]", "True", "False", "(", ")", ",", "(3,)", "()", "'", "\n", "{" * 100] + [str(x) for x in NUMBERS]
    at = r.randrange(len(header) + 1)
    old = r.choice(["'<f4'", "(", ")", "False", "descr", ",", header[at:at + r.randrange(1, 5)]])
    header = header.replace(old, r.choice(words), 1) if old and r.random() < 0.7 else header[:at] + r.choice(words) + header[at + r.randrange(6):]
    made = header.encode("latin-1")
    return data[:8] + (min(len(made), 65535)).to_bytes(2, "little") + made[:65535] + data[10 + n:]


# ---- the formats -------------------------------------------------------------------------------------------------------

# name: (patterns of files, what damages one, the target and the byte before it: fuzz_values.c)
FORMATS = {
    "archive": (["tests/corpus/**/model.pt", "models/*.pt"], zip_file, ("archive", b"")),
    "model": (["tests/corpus/**/model.pt"], zip_file, ("values", b"\2")),
    "value": (["tests/corpus/**/inputs.pt"], zip_file, ("values", b"\0")),
    "pt2": (["tests/pt2/archives/**/*.pt2"], zip_file, ("values", b"\2")),
    "onnx": (["tests/onnx/models/*/*.onnx"], protobuf, ("values", b"\2")),
    "safetensors": (["tests/**/*.safetensors", "{made}/*.safetensors"], safetensors, ("values", b"\1")),
    "npy": (["tests/cli/Inputs/*.npy", "{made}/*.npy"], numpy_file, ("values", b"\0")),
    "npz": (["{made}/*.npz"], zip_file, ("values", b"\0")),
    "checkpoint": (["tests/cli/Inputs/checkpoints/*", "{made}/*.ckpt"], zip_file, ("values", b"\1")),
    "config": (["tests/**/config.json", "examples/serve/**/*.json", "{made}/*.json"], json_text, ("values", b"\3")),
    "pickle": (["{made}/*.pkl"], pickle, ("archive", b"")),
}


def zip_of(records):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, content in records:
            z.writestr(name, content)
    return out.getvalue()


def make_files(folder):
    """Small files of formats of which the tests keep none."""
    def array(descr, shape, content):
        header = ("{'descr': %r, 'fortran_order': False, 'shape': %s, }" % (descr, shape)).encode()
        header += b" " * (64 - (10 + len(header) + 1) % 64) + b"\n"
        return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + content
    arrays = {"a": array("<f4", "(2, 3)", bytes(24)), "b": array("<i8", "(4,)", bytes(32)), "c": array("|b1", "()", b"\1")}
    tensors = {"x": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "y": {"dtype": "BF16", "shape": [4], "data_offsets": [24, 32]}, "__metadata__": {"k": "v"}}
    header = json.dumps(tensors).encode()
    config = {"method": "forward", "max_batch_size": 8, "max_queue_delay_us": 100, "instances": 1, "max_queue": 3, "timeout_ms": 100, "max_bytes": 1000, "max_process_bytes": 5,
              "opt": 2, "precision": "float32", "warmup": 1, "position": "p", "max_length": 5, "versions": "all", "inputs": [{"name": "A", "datatype": "FP32", "shape": [-1, 3]}],
              "outputs": [{"name": "B", "datatype": "BYTES", "shape": []}]}
    made = {"a.npz": zip_of([(n + ".npy", c) for n, c in arrays.items()]), "a.safetensors": struct.pack("<Q", len(header)) + header + bytes(32), "config.json": json.dumps(config).encode()}
    made.update({n + ".npy": c for n, c in arrays.items()})
    for i, path in enumerate(sorted(glob.glob(os.path.join(ROOT, "tests/corpus/**/*.pt"), recursive=True))[:: 12]):
        with zipfile.ZipFile(path) as z:
            for name in z.namelist():
                if name.endswith(".pkl") and z.getinfo(name).file_size < LARGEST:
                    made["%d-%s" % (i, os.path.basename(name))] = z.read(name)
    for name, content in made.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(content)


def seeds(name, made):
    found = []
    for pattern in FORMATS[name][0]:
        for path in sorted(glob.glob(os.path.join(ROOT, pattern.format(made=made)), recursive=True)):
            if os.path.isfile(path) and 0 < os.path.getsize(path) <= LARGEST:
                with open(path, "rb") as f:
                    found.append((f.read(), os.path.join(os.path.dirname(path), "inputs.pt")))
    return found


def damaged(r, name, every):
    """A file of this format, damaged, for the reader of this format or, seldom, of another one: (target, bytes, arguments of the whole one)."""
    data, inputs = r.choice(every[name])
    if r.random() < 0.05:
        other = r.choice(every[name])[0]
        at = r.randrange(min(len(data), len(other)) + 1)
        data = data[:at] + other[at:]
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        data = FORMATS[name][1](r, data)
    target, prefix = FORMATS[name][2] if r.random() < 0.97 else FORMATS[r.choice(list(FORMATS))][2]
    return target, prefix + data, inputs


# ---- running -----------------------------------------------------------------------------------------------------------


def limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS * 3, SECONDS * 3))


def fails(build, target, files):
    """What a program says that reads these files and does not end well; None: it does."""
    env = dict(os.environ, ASAN_OPTIONS="allocator_may_return_null=1:detect_leaks=1:max_allocation_size_mb=2048", LSAN_OPTIONS="suppressions=" + os.path.join(ROOT, "tests", "lsan.supp"))
    try:
        done = subprocess.run([os.path.join(build, "replay_" + target), *files], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limits, timeout=600, env=env)
    except subprocess.TimeoutExpired:
        return "it did not end"
    return None if done.returncode == 0 else "exit status %d\n%s" % (done.returncode, done.stderr.decode("utf-8", "replace")[-3000:])


CALL = """
import sys, ctsc
for path, inputs in zip(sys.argv[1::2], sys.argv[2::2]):
    try:
        m = ctsc.load(path)
        given = ctsc.load(inputs)
    except Exception:
        continue
    given = list(given) if isinstance(given, (tuple, list)) else [given]
    for call in range(6):
        some = [x[:1] if call == 4 and hasattr(x, 'dim') and x.dim() else x for x in given] if call < 5 else given[:-1]
        try:
            with ctsc.limits(seconds=1, bytes=1 << 28):
                m(*some)
        except Exception:
            pass
"""


def fails_called(build, files, inputs):
    env = dict(os.environ, PYTHONPATH=os.path.join(build, "python"))
    try:
        done = subprocess.run(["/usr/bin/python3", "-c", CALL, *[text for path in files for text in (path, inputs[path])]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limits, timeout=600, env=env)
    except subprocess.TimeoutExpired:
        return "it did not end"
    return None if done.returncode == 0 else "exit status %d\n%s" % (done.returncode, done.stderr.decode("utf-8", "replace")[-3000:])


def culprits(run, files):
    """Those that fail, found by halves."""
    why = run(files)
    if not why:
        return []
    if len(files) == 1:
        return [(files[0], why)]
    half = len(files) // 2
    return culprits(run, files[:half]) + culprits(run, files[half:])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default=os.path.join(ROOT, "build"))
    ap.add_argument("--count", type=int, default=10000, help="of each format")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--only", default="")
    ap.add_argument("--keep", default="", help="the folder for findings")
    ap.add_argument("--run", action="store_true", help="by the Python package, too")
    args = ap.parse_args()
    build, keep = os.path.abspath(args.build), os.path.abspath(args.keep or os.path.join(args.build, "damaged"))
    found = 0
    warnings.simplefilter("ignore")  # names that are there twice
    with tempfile.TemporaryDirectory() as scratch:
        made = os.path.join(scratch, "made")
        os.mkdir(made)
        make_files(made)
        every = {name: seeds(name, made) for name in FORMATS}
        for name in args.only.split(",") if args.only else FORMATS:
            r, of_name = random.Random("%s %d" % (name, args.seed)), 0
            for first in range(0, args.count, BATCH):
                batches, called = {}, {}
                for i in range(first, min(first + BATCH, args.count)):
                    target, data, inputs = damaged(r, name, every)
                    path = os.path.join(scratch, "%d" % i)
                    called[path + ".model"] = inputs
                    with open(path, "wb") as f:
                        f.write(data)
                    batches.setdefault(target, []).append(path)
                for target, files in batches.items():
                    bad = culprits(lambda some: fails(build, target, some), files)
                    if args.run and target == "values" and name in ("pt2", "onnx", "model"):
                        for path in files:
                            with open(path, "rb") as f:
                                data = f.read()[1:]
                            with open(path + ".model", "wb") as f:
                                f.write(data)
                        bad += culprits(lambda some: fails_called(build, some, called), [p + ".model" for p in files])
                    for path, why in bad:
                        os.makedirs(keep, exist_ok=True)
                        to = os.path.join(keep, "%s-%d-%s-%s" % (name, args.seed, target, os.path.basename(path)))
                        os.rename(path, to)
                        print("FOUND %s\n%s" % (to, why), flush=True)
                        of_name += 1
                for path in glob.glob(os.path.join(scratch, "[0-9]*")):
                    os.unlink(path)
            print("%-12s %6d files of %4d seeds, %d findings" % (name, args.count, len(every[name]), of_name), flush=True)
            found += of_name
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
