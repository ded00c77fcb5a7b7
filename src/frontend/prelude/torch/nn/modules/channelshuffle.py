# SPDX-License-Identifier: Apache-2.0
# channelshuffle.py - channels of different groups interleaved.
from torch import Tensor

from .. import functional as F
from .module import Module


class ChannelShuffle(Module):
    __constants__ = ['groups']
    groups: int

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return 'groups={}'.format(self.groups)
