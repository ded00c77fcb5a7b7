# SPDX-License-Identifier: Apache-2.0
# As timm marks its builders; its networks know their inputs.
from torch import nn


def register_model(fn):
    return fn


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(64, 2)

    def forward(self, x):
        return self.fc(x.flatten(2))


class Odd(Small):
    """Can only be traced."""

    def forward(self, x):
        return super().forward(x) * {"two": 2, 2: "two"}["two"]


@register_model
def small_8(pretrained: bool = False, **kwargs) -> Small:
    model = Small()
    model.pretrained_cfg = dict(input_size=(1, 8, 8))
    return model


@register_model
def small_odd(pretrained=False, **kwargs):
    model = Odd()
    model.pretrained_cfg = dict(input_size=(1, 8, 8))
    return model


@register_model
def tiny_a(pretrained=False, **kwargs):
    return Small()
