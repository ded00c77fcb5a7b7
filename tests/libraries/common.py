# SPDX-License-Identifier: Apache-2.0
"""common.py - what the programs of this folder print: numbers with four digits."""
import torch


def show(name, *values):
    print(name, *["%.4f" % float(v) for v in values])


def stat(name, y):
    """The ends of a tensor, its norm, how many elements it has."""
    show(name, y.flatten()[0], y.flatten()[-1], y.detach().double().norm(), y.numel())


torch.manual_seed(0)
