# SPDX-License-Identifier: Apache-2.0
"""fused_moving_avg_obs_fake_quant that observes: averages, scale and zero point are written."""
import torch


def forward(x):
    # -1 and 3, and 0 and 15: averages of -0.5 and 9; steps of 9.5 / 255
    low, high, scale, zero = torch.tensor(-1.0), torch.tensor(3.0), torch.tensor([1.0]), torch.tensor([0], dtype=torch.int32)
    on = torch.tensor([1])
    y = torch.fused_moving_avg_obs_fake_quant(x, on, on, low, high, scale, zero, 0.5, 0, 255, -1)
    return float(low) == -0.5, float(high) == 9.0, abs(float(scale) - 9.5 / 255) < 1e-7 and int(zero) == 13, bool((y <= scale * 242).all())
