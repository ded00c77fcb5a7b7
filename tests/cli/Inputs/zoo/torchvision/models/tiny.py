# SPDX-License-Identifier: Apache-2.0
# As torchvision marks its builders.
from torch import nn

from ._api import register_model


def legacy(**kwargs):
    return lambda fn: fn


class Tiny(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 7, stride=32)
        self.fc = nn.Linear(width, 10)

    def forward(self, x):
        return self.fc(self.conv(x).mean([2, 3]))


@register_model()
@legacy(weights=("pretrained", None))
def tiny_a(*, weights=None, progress: bool = True, **kwargs) -> Tiny:
    return Tiny(4)


@register_model(name="quantized_tiny")
@legacy(
    weights=("pretrained", None),
    weights_backbone=("pretrained_backbone", None),
)
def tiny_b(
    *,
    weights=None,
    weights_backbone="fetch it",
    **kwargs,
) -> Tiny:
    if weights_backbone is not None:
        raise RuntimeError("there is no network")
    return Tiny(8)


@register_model()
def tiny_broken() -> Tiny:
    raise ValueError("its size is wrong. And more is")


@register_model()
class NoFunction:
    pass
