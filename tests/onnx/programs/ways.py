# SPDX-License-Identifier: Apache-2.0
# input: float32[2,3,8,8]:randn
# Branches and loops that the arguments' sizes decide, lists, dicts, several results.
from typing import Dict, List, Tuple

import torch
from torch import nn


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 1)])
        self.norm = nn.GroupNorm(2, 4)
        self.head = nn.Linear(4, 5)

    def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        if x.dim() != 4:
            raise ValueError("no images")
        steps: List[torch.Tensor] = []
        for conv in self.convs:
            x = torch.nn.functional.hardswish(conv(x))
            if x.size(2) > 4:
                x = torch.nn.functional.max_pool2d(x, 2)
            steps.append(x)
        up = torch.nn.functional.interpolate(steps[1], scale_factor=2.0, mode="bilinear", align_corners=False)
        out = torch.jit.annotate(Dict[str, torch.Tensor], {})
        out["out"] = self.head(self.norm(x).mean([2, 3]))
        out["up"] = torch.where(up > 0, up, up * 0.1)
        out["norm"] = steps[0].std(1) + steps[0].clamp(min=-1.0).logsumexp(1)
        return out["out"], out["up"], out["norm"]
