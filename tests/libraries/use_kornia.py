# SPDX-License-Identifier: Apache-2.0
"""kornia: colours, filters, warps, augmentations, three steps of training."""
import warnings

import torch
import torch.nn as nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)


def p(*a):
    print(*[("%.4f" % float(x)) if isinstance(x, torch.Tensor) and x.numel() == 1 else x for x in a], flush=True)


import kornia
x = torch.rand(1, 3, 16, 16)
for f in (kornia.color.rgb_to_grayscale, kornia.color.rgb_to_hsv, kornia.color.rgb_to_lab, lambda x: kornia.filters.gaussian_blur2d(x, (3, 3), (1., 1.)), kornia.filters.sobel,
          lambda x: kornia.geometry.transform.rotate(x, torch.tensor([30.])), lambda x: kornia.geometry.transform.resize(x, (8, 8)), lambda x: kornia.filters.median_blur(x, (3, 3)),
          lambda x: kornia.filters.canny(x)[0], lambda x: kornia.losses.ssim_loss(x, x * 0.9, 5), lambda x: kornia.morphology.dilation(x, torch.ones(3, 3)), kornia.enhance.equalize, lambda x: kornia.enhance.adjust_gamma(x, 2.),
          lambda x: kornia.geometry.transform.warp_perspective(x, torch.eye(3)[None], (16, 16)), lambda x: kornia.feature.harris_response(x)):
    r = f(x); print(tuple(r.shape), "%.4f" % float(r.float().mean()))
aug = kornia.augmentation.AugmentationSequential(kornia.augmentation.RandomHorizontalFlip(p=1.), kornia.augmentation.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.), data_keys=["input"])
print(tuple(aug(x).shape))
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 14 * 14, 2)); opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(3):
    opt.zero_grad(); l = nn.functional.cross_entropy(net(kornia.filters.gaussian_blur2d(x, (3, 3), (1., 1.))), torch.tensor([1])); l.backward(); opt.step(); p("loss", l.detach())
