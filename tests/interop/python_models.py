#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_models.py - networks of torchvision and timm, built by these packages with ctsc in torch's place, give what they give under PyTorch, from the same seed.

    tests/interop/python_models.py --python PYTHON --package build/python

PYTHON has torch, torchvision and timm.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = """
import torch, torchvision, timm
def show(name, make):
    torch.manual_seed(0)
    net, x = make().eval(), torch.randn(1, 3, 224, 224)
    with torch.no_grad():
        y = net(x)[0]
    print(name, " ".join("%.5f" % v for v in y[:6].tolist() + [y.norm().item()]))
for n in ("resnet18", "mobilenet_v3_small", "vit_b_32", "swin_t", "convnext_tiny"):
    show("torchvision." + n, getattr(torchvision.models, n))
for n in ("resnet18", "vit_tiny_patch16_224", "efficientnet_b0"):
    show("timm." + n, lambda: timm.create_model(n))
"""


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--python", default=sys.executable)
    ap.add_argument("--package", default="build/python")
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "networks.py")
        with open(path, "w", encoding="utf-8") as f:
            f.write(PROGRAM)
        env = {**os.environ, "PYTHONPATH": os.path.abspath(args.package)}
        ours, theirs = (subprocess.run(c, env=env, capture_output=True, text=True, check=True).stdout.split("\n")
                        for c in ([args.python, "-m", "ctsc", path], [args.python, path]))
    failed = len(ours) != len(theirs)
    for a, b in zip(ours, theirs):
        name, *numbers = a.split() or [""]
        other = b.split()
        same = other[:1] == [name] * bool(name) and all(abs(float(p) - float(q)) <= 1e-4 + 1e-3 * abs(float(q)) for p, q in zip(numbers, other[1:]))
        failed |= not same
        if name:
            print("%-32s %s" % (name, "the same" if same else "DIFFERENT: %s, and %s under PyTorch" % (re.sub(r"\s+", " ", a), b)))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
