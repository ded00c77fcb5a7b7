# SPDX-License-Identifier: Apache-2.0
from torch import nn

from .._api import register_model


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv3d(3, 2, (4, 16, 16), stride=16)

    def forward(self, x):
        return self.conv(x).mean([2, 3, 4])


@register_model()
def clip_18() -> Clip:
    return Clip()
