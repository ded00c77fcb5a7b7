# SPDX-License-Identifier: Apache-2.0
"""_arrays.py - numbers and pictures as the summaries want them: NumPy arrays, images of height x width x channel, grids."""
import math

import numpy as np


def array(x):
    """Of a tensor (also one with a gradient, on a device, or in bfloat16), a list, a number or an array."""
    if isinstance(x, (list, tuple)) and x and hasattr(x[0], "detach"):
        return np.array([array(v) for v in x])
    if not hasattr(x, "detach"):
        return np.asarray(x)
    x = x.detach().cpu()
    if x.is_floating_point() and x.element_size() < 4:
        x = x.float()
    return x.resolve_conj().numpy()


def number(x):
    x = array(x)
    if x.size != 1:
        raise AssertionError("scalar should be 0D")
    return x.reshape(()).item()


def grid(images, columns=8):
    """n x channel x height x width, as one image of the same order with eight images in a row; what is left over is black."""
    n, channels, height, width = images.shape
    if channels not in (1, 3):
        raise AssertionError("images have 1 or 3 channels, not %d" % channels)
    if channels == 1:
        images = np.repeat(images, 3, axis=1)
    columns = min(n, columns)
    rows = math.ceil(n / columns) if n else 0
    out = np.zeros((3, rows * height, columns * width), dtype=images.dtype)
    for i in range(n):
        y, x = i // columns * height, i % columns * width
        out[:, y:y + height, x:x + width] = images[i]
    return out


def height_width_channels(x, order):
    """An array whose dims order names ("CHW", "HW", "NCHW", ...), as height x width x channel; several images become a grid."""
    order = order.upper()
    if len(set(order)) != len(order):
        raise AssertionError("You can not use the same dimension shordhand twice. input_format: %s" % order)
    if x.ndim != len(order):
        raise AssertionError("size of input tensor and input format are different.         tensor shape: %s, input_format: %s" % (x.shape, order))
    if set(order) == set("NCHW"):
        return grid(x.transpose([order.index(c) for c in "NCHW"])).transpose(1, 2, 0)
    if set(order) == set("HW"):
        return np.stack([x.transpose([order.index(c) for c in "HW"])] * 3, axis=2)
    if set(order) != set("CHW"):
        raise AssertionError("an image has dims N, C, H and W, not %s" % order)
    x = x.transpose([order.index(c) for c in "HWC"])
    return np.repeat(x, 3, axis=2) if x.shape[2] == 1 else x


def bytes_of(x):
    """Elements of an image as bytes: 0 to 1 of floating-point numbers are 0 to 255."""
    return x if x.dtype == np.uint8 else np.clip(x.astype(np.float32) * 255.0, 0, 255).astype(np.uint8)
