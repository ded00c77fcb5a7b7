"""An operator that only PyTorch of today has is not part of what interpolate compiles to; module-level code may use it."""
import torch
import torch.nn.functional as F

image = torch.arange(16.0).reshape(1, 1, 4, 4)
resized = F.interpolate(image, size=(2, 2), mode="lanczos", antialias=True, align_corners=False)
print([round(v, 3) for v in resized.flatten().tolist()])  # expect: [2.691, 4.614, 10.386, 12.309]


def forward():
    smaller = F.interpolate(torch.ones(1, 1, 4, 4), size=[2, 2], mode="bilinear", antialias=True, align_corners=False)
    return int(smaller.sum())  # expect: 4
