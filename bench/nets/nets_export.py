# SPDX-License-Identifier: Apache-2.0
"""Writes the networks of networks.py as files that every contender of `make bench-nets` reads.

    python3 bench/nets/nets_export.py FOLDER [NETWORK...]       (PyTorch 1.13 and torchvision 0.14: Debian's python3-torch, python3-torchvision)

Of each network, where NAME.npz is not there yet: NAME.pt, traced; NAME.onnx; NAME.in.pt, a tuple of its arguments; NAME.npz, arguments (x0, x1, ...) and
what PyTorch computed (y0, y1, ...), uncompressed. A network that ONNX cannot say has no NAME.onnx.
"""
import os
import sys
import warnings

import numpy
import torch

from networks import NETWORKS

OPSETS = (17, 16, 14)
DROPOUT = torch.nn.functional.dropout


def dropout(x, p=0.5, training=True, inplace=False):
    """torchvision's Swin drops nothing (p = 0), but in training mode, which not every reader of ONNX takes."""
    return x if p == 0 or not training else DROPOUT(x, p, training, inplace)


def export_onnx(name, model, inputs, path):
    """With gradients on: some layers of PyTorch are one operator without them, for which ONNX has none."""
    torch.nn.functional.dropout = dropout
    for opset in OPSETS:
        try:
            torch.onnx.export(model, inputs, path, opset_version=opset, input_names=["x%d" % i for i in range(len(inputs))], do_constant_folding=True)
            break
        except Exception as e:  # whatever its reason: the next opset, or none
            error = str(e).split("\n")[0][:120]
            if os.path.exists(path):
                os.remove(path)
    else:
        print("%s: no ONNX: %s" % (name, error), file=sys.stderr)
    torch.nn.functional.dropout = DROPOUT


def export(name, folder):
    base = os.path.join(folder, name)
    torch.manual_seed(sum(map(ord, name)))
    model, inputs = NETWORKS[name][0]()
    model.eval()
    with torch.no_grad():
        results = model(*inputs)
        torch.jit.trace(model, inputs, check_trace=False).save(base + ".pt")
    results = results if isinstance(results, tuple) else (results,)
    export_onnx(name, model, inputs, base + ".onnx")
    torch.save(tuple(inputs), base + ".in.pt")
    arrays = {"x%d" % i: t.numpy() for i, t in enumerate(inputs)}
    arrays.update({"y%d" % i: t.numpy() for i, t in enumerate(results)})
    numpy.savez(base + ".new.npz", **arrays)
    os.replace(base + ".new.npz", base + ".npz")


def main():
    folder, names = sys.argv[1], sys.argv[2:] or list(NETWORKS)
    unknown = [n for n in names if n not in NETWORKS]
    if unknown:
        sys.exit("no such network: %s (there are: %s)" % (", ".join(unknown), ", ".join(NETWORKS)))
    warnings.filterwarnings("ignore")
    os.makedirs(folder, exist_ok=True)
    for name in names:
        if not os.path.exists(os.path.join(folder, name + ".npz")):
            print("  exporting %s" % name, file=sys.stderr, flush=True)
            export(name, folder)


if __name__ == "__main__":
    main()
