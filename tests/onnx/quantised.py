# SPDX-License-Identifier: Apache-2.0
"""Quantised networks for networks.py: a convolutional network and one of other layers, with weights of channels and of tensors."""
import copy

import torch
import torch.ao.quantization as quantization
from torch import nn
from torch.ao.nn.quantized import FloatFunctional


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.first, self.norm, self.relu = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()
        self.depthwise, self.pointwise = nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Conv2d(8, 16, 1, stride=2, bias=False)
        self.sum, self.join, self.scaled = FloatFunctional(), FloatFunctional(), FloatFunctional()
        self.pool, self.mean, self.act = nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Hardswish()
        self.hidden, self.active, self.head = nn.Linear(16, 10), nn.ReLU(), nn.Linear(10, 4)

    def forward(self, x):
        a = self.relu(self.norm(self.first(self.quant(x))))
        b = self.depthwise(a)
        y = self.join.cat([self.sum.add_relu(a, b), b], 1)[:, :8]
        y = self.act(self.pointwise(self.pool(y)))
        y = self.mean(nn.functional.interpolate(y, scale_factor=2.0)).flatten(1)
        return self.dequant(self.scaled.mul_scalar(self.head(self.active(self.hidden(y))), 0.5))


class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.conv, self.linear = nn.Conv1d(4, 6, 3, stride=2, padding=1), nn.Linear(5, 7)
        self.layers = nn.Sequential(nn.Sigmoid(), nn.LeakyReLU(0.1), nn.ELU())

    def forward(self, x):
        return self.dequant(self.layers(self.linear(self.conv(self.quant(x)))).transpose(1, 2))


def quantised(model, x, fuse, per_channel):
    torch.manual_seed(1)
    model = copy.deepcopy(model).eval()
    if fuse:
        model = quantization.fuse_modules(model, fuse)
    model.qconfig = quantization.get_default_qconfig("x86") if per_channel else quantization.default_qconfig
    prepared = quantization.prepare(model)
    for _ in range(3):
        prepared(torch.randn_like(x))
    prepared(x)
    return quantization.convert(prepared)


def cases():
    """Name, TorchScript, input, another of another batch."""
    torch.manual_seed(0)
    fuse = [["first", "norm", "relu"], ["hidden", "active"]]
    for name, model, x, groups in (("images", Images(), torch.randn(2, 3, 16, 16), fuse), ("rows", Rows(), torch.randn(2, 4, 9), [])):
        for per_channel in (True, False):
            made = quantised(model, x, groups, per_channel)
            for how, script in (("script", torch.jit.script(made)), ("trace", torch.jit.trace(made, x))):
                yield "%s, %s, %s" % (name, "channels" if per_channel else "tensors", how), script, x, torch.randn(5, *x.shape[1:])
