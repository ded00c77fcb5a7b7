# SPDX-License-Identifier: Apache-2.0
import torch


def forward(x):
    if x.dim() > 3:
        x = torch.ops.nobodys.one(x)
    return x
