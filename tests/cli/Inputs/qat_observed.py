# SPDX-License-Identifier: Apache-2.0
"""A layer as PyTorch's prepare_qat leaves it: fused_moving_avg_obs_fake_quant in front, for the weight, and behind."""
import torch


class Observed(torch.nn.Module):
    def __init__(self, low: float, high: float, least: int, most: int, symmetric: bool, observe: int):
        super().__init__()
        self.least, self.most, self.symmetric = least, most, symmetric
        self.register_buffer("observer_enabled", torch.tensor([observe]))
        self.register_buffer("fake_quant_enabled", torch.tensor([1]))
        self.register_buffer("min_val", torch.tensor(low))
        self.register_buffer("max_val", torch.tensor(high))
        self.register_buffer("scale", torch.tensor([1.0]))
        self.register_buffer("zero_point", torch.tensor([0], dtype=torch.int32))

    def forward(self, x):
        return torch.fused_moving_avg_obs_fake_quant(x, self.observer_enabled, self.fake_quant_enabled, self.min_val, self.max_val, self.scale, self.zero_point,
                                                     0.5, self.least, self.most, -1, False, self.symmetric)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)
        self.linear.weight.data.copy_((torch.arange(32) % 17 - 8).reshape(4, 8) * 0.0625)
        self.input, self.output = Observed(-2.0, 5.96875, 0, 255, False, 0), Observed(-8.0, 23.875, 0, 255, False, 0)
        self.weight = Observed(-8.0, 7.9375, -128, 127, True, 0)

    def forward(self, x):
        return self.output(torch.nn.functional.linear(self.input(x), self.weight(self.linear.weight), self.linear.bias))
