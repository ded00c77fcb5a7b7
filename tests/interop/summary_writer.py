#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch.utils.tensorboard.SummaryWriter under python -m ctsc, read by TensorBoard itself, and compared with what PyTorch's writes where there is one.

    python3 tests/interop/summary_writer.py --package build/python [--site FOLDER] [--torch-python PYTHON] [--torch-site FOLDER]      (make test-tensorboard)

Both Pythons run this file with --write FOLDER; then all that the two folders hold is read by TensorBoard and compared: values, steps, buckets, pixels, plugins' data. --site has
tensorboard (pip install --target). Needs TensorBoard, NumPy, Pillow; exits 77 without. Closes with "N passed, N failed".
"""
import argparse
import glob
import os
import subprocess
import sys
import tempfile


def write(folder):
    import numpy as np
    import torch
    from torch.utils.tensorboard import SummaryWriter
    torch.manual_seed(0)
    x = torch.arange(60, dtype=torch.float32).reshape(3, 4, 5) / 60
    with SummaryWriter(folder) as w:
        for step in range(3):
            w.add_scalar("plain", 0.5 * step, step, walltime=1.0)
            w.add_scalar("tensor", torch.tensor([step / 3], requires_grad=True), step)
            w.add_scalar("new", step + 0.25, step, new_style=True)
            w.add_scalar("double", step + 0.25, np.int64(step), new_style=True, double_precision=True)
            w.add_scalars("pair/of", {"one": step, "two": -step}, step)
        w.add_tensor("whole", x, 1)
        w.add_histogram("spread", torch.linspace(-2, 5, 200), 1)
        w.add_histogram("half", torch.linspace(-2, 5, 200).bfloat16(), 1)
        w.add_histogram("same", np.zeros(7), 2)
        w.add_histogram("bins", x, 1, bins=10)
        w.add_histogram("joined", x, 1, bins=12, max_bins=5)
        w.add_histogram_raw("raw", 0, 3, 4, 6, 14, [0.5, 1.5, 4], [1, 1, 2])
        w.add_image("chw", x, 1)
        w.add_image("hwc", (x * 255).to(torch.uint8).permute(1, 2, 0), dataformats="HWC")
        w.add_image("hw", x[0].numpy(), dataformats="HW")
        w.add_images("grid", x.expand(11, 3, 4, 5))
        w.add_images("gray", x[:, None])
        w.add_audio("sound", torch.linspace(-1.5, 1.5, 400), sample_rate=8000)
        w.add_text("words", "a **word**", 4)
        w.add_pr_curve("curve", torch.tensor([0, 1, 1, 0, 1]), torch.tensor([0.1, 0.9, 0.5, 0.7, 1.0]), 1)
        w.add_pr_curve("weighted", np.array([0, 1, 1, 0]), np.array([0.1, 0.9, 0.5, 0.7]), num_thresholds=11, weights=np.array([1, 2, 3, 4]))
        w.add_custom_scalars({"c": {"lines": ["Multiline", ["plain", "tensor"]], "band": ["Margin", ["plain", "tensor", "new"]]}})
        w.add_hparams({"lr": 0.1, "n": 3, "name": "sgd", "yes": True}, {"loss": 0.25}, run_name="trial")
        w.add_embedding(x.reshape(3, 20), ["a", "b", "c"], x.expand(3, 3, 4, 5), 7, "points")
        w.add_embedding(x.reshape(3, 20), [["a", "1"], ["b", "2"], ["c", "3"]], metadata_header=["name", "n"])
        w.add_graph(torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.ReLU()), torch.ones(2, 5))
    for wrong in (lambda: w.add_scalar("v", torch.ones(2)), lambda: w.add_histogram("v", np.array([])), lambda: w.add_image("v", torch.ones(2, 3))):
        try:
            wrong()
        except (AssertionError, ValueError) as e:
            print(type(e).__name__)
        else:
            print("taken")


# What is known of them where no PyTorch is.
KNOWN = {
    (".", "plain", 2): 'tag: "plain"\nsimple_value: 1\n',
    ("pair_of_two", "pair/of", 1): 'tag: "pair/of"\nsimple_value: -1\n',
    (".", "bins", 1): ["0", "0.983333", "60", "29.5", "19.5028", *("%.6g" % (0.9833333492279053 * i / 10) for i in range(11)), "0", *["6"] * 10],
    (".", "raw", 0): ["0", "3", "4", "6", "14", "0.5", "1.5", "4", "1", "1", "2"],
    (".", "hw", 0): ([[[int(255 * (5 * y + x) / 60)] * 3 for x in range(5)] for y in range(4)], 4, 5, 3),
    "graph": ["aten::linear", "aten::relu"],
    "00000/default/metadata.tsv": "name\tn\na\t1\nb\t2\nc\t3\n",
}


def plain(value):
    """A message without what differs between two writers: compressed bytes of the same pixels, times."""
    if value.HasField("image"):
        import io
        import numpy as np
        from PIL import Image
        return np.asarray(Image.open(io.BytesIO(value.image.encoded_image_string))).tolist(), value.image.height, value.image.width, value.image.colorspace
    if value.HasField("histo"):
        h = value.histo
        near = ["%.6g" % v for v in (h.min, h.max, h.num, h.sum, h.sum_squares, *h.bucket_limit, *h.bucket)]
        return near
    if value.metadata.plugin_data.plugin_name == "hparams":
        from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
        data = HParamsPluginData.FromString(value.metadata.plugin_data.content)
        data.experiment.time_created_secs = data.session_start_info.start_time_secs = data.session_end_info.end_time_secs = 0
        return str(data.experiment.hparam_infos) + str(data.experiment.metric_infos) + str(sorted(data.session_start_info.hparams.items(), key=str)) + \
            str(data.session_end_info.status)
    if value.metadata.plugin_data.plugin_name == "pr_curves":
        return ["%.6f" % v for v in value.tensor.float_val], [d.size for d in value.tensor.tensor_shape.dim]
    return str(value)


def read(folder):
    """{what: message} of all files of a folder."""
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "**", "*tfevents*"), recursive=True)):
        for event in LegacyEventFileLoader(path).Load():
            for value in event.summary.value:
                found[os.path.relpath(os.path.dirname(path), folder), value.tag, event.step] = plain(value)
            if event.graph_def:
                from tensorboard.compat.proto.graph_pb2 import GraphDef
                graph = GraphDef.FromString(event.graph_def)
                kinds = sorted(n.op for n in graph.node if n.op.startswith("aten::"))
                found["graph"] = kinds
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.tsv"), recursive=True) + glob.glob(os.path.join(folder, "*.pbtxt"))):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        # 0.05 and 0.05000000074505806 are one float32
        found[os.path.relpath(path, folder)] = [["%.6g" % float(v) for v in line.split("\t")] for line in text.split("\n")[:-1]] if "tensors" in path else text
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--package", default="build/python")
    p.add_argument("--site", default="")
    p.add_argument("--torch-python")
    p.add_argument("--torch-site", default="")
    p.add_argument("--write")
    options = p.parse_args()
    if options.write:
        return write(options.write)
    sys.path[:0] = [d for d in [options.site] if d]
    try:
        import numpy # noqa: F401
        import PIL # noqa: F401
        import tensorboard # noqa: F401
    except ImportError as e:
        print("skipped: %s" % e)
        return 77
    failed = passed = 0
    with tempfile.TemporaryDirectory() as d:
        ours, theirs = os.path.join(d, "ours"), os.path.join(d, "theirs")
        paths = os.pathsep.join(x for x in (os.path.abspath(options.package), options.site) if x)
        done = subprocess.run([sys.executable, "-m", "ctsc", __file__, "--write", ours], env=dict(os.environ, PYTHONPATH=paths), capture_output=True, text=True)
        if done.returncode or done.stdout.split() != ["AssertionError", "ValueError", "AssertionError"]:
            print(done.stdout + done.stderr)
            print("0 passed, 1 failed")
            return 1
        mine = read(ours)
        if options.torch_python:
            done = subprocess.run([options.torch_python, __file__, "--write", theirs], env=dict(os.environ, PYTHONPATH=options.torch_site), capture_output=True, text=True)
            print(done.stdout, done.stderr[-2000:] if done.returncode else "", sep="")
            want = read(theirs)
            for name in sorted(want.keys() | mine.keys(), key=str):
                same = mine.get(name) == want.get(name)
                passed, failed = passed + same, failed + (not same)
                if not same:
                    print("FAIL %s\n  %.600s\n  PyTorch: %.600s" % (name, mine.get(name), want.get(name)))
        else:
            for name, value in KNOWN.items():
                same = mine.get(name) == value
                passed, failed = passed + same, failed + (not same)
                if not same:
                    print("FAIL %s\n  %.600s\n  wanted: %.600s" % (name, mine.get(name), value))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
