# SPDX-License-Identifier: Apache-2.0
"""A network that was trained for quantisation: scales are powers of two, so that integers and numbers come to the same."""
import torch


class Fake(torch.nn.Module):
    def __init__(self, scale: float, zero: int):
        super().__init__()
        self.register_buffer("scale", torch.tensor([scale]))
        self.register_buffer("zero", torch.tensor([zero], dtype=torch.int32))

    def forward(self, x):
        return torch.fake_quantize_per_tensor_affine(x, self.scale, self.zero, 0, 255)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.linear = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Linear(8, 4)
        for layer in (self.conv, self.linear):
            layer.weight.data.copy_((torch.arange(layer.weight.numel()) % 17 - 8).reshape(layer.weight.shape) * 0.0625)
            layer.bias.data.fill_(0.5)
        self.input, self.middle, self.output = Fake(0.03125, 100), Fake(0.125, 0), Fake(0.25, 128)
        self.register_buffer("steps", torch.full([8], 0.0625))
        self.register_buffer("zeros", torch.zeros(8, dtype=torch.int32))

    def forward(self, x):
        w = torch.fake_quantize_per_channel_affine(self.conv.weight, self.steps, self.zeros, 0, -128, 127)
        x = torch.nn.functional.conv2d(self.input(x), w, self.conv.bias, padding=1)
        x = self.middle(torch.relu(x))
        x = torch.max_pool2d(x, 4).flatten(1)
        w = torch.fake_quantize_per_tensor_affine(self.linear.weight, 0.0625, 0, -127, 127)
        return self.output(torch.nn.functional.linear(x, w, self.linear.bias))
