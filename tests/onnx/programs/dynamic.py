# SPDX-License-Identifier: Apache-2.0
# input: float32[2,6,8]:randn
# dynamic: x:0=batch x:1=length
# other: float32[3,5,8]:randn
# Sizes that only a call knows: views, positions, slices, means.
import torch


def forward(x: torch.Tensor):
    n, length, c = x.shape
    heads = x.view(n, length, 2, c // 2).transpose(1, 2)
    scores = torch.softmax(heads @ heads.transpose(-2, -1) / float(c) ** 0.5, -1)
    mixed = (scores @ heads).transpose(1, 2).reshape(n, length, c)
    places = torch.arange(length).unsqueeze(0).expand(n, length)
    return mixed + places.unsqueeze(-1).float(), x[:, : length - 1].mean(1), torch.zeros(n, length), torch.cat([x, x], 1).flatten(1).sum(1)
