# SPDX-License-Identifier: Apache-2.0
"""segmentation_models_pytorch: five networks, a Dice loss, metrics."""
import warnings

import torch
import torch.nn as nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)


def p(*a):
    print(*[("%.4f" % float(x)) if isinstance(x, torch.Tensor) and x.numel() == 1 else x for x in a], flush=True)


import segmentation_models_pytorch as smp
m = smp.Unet("resnet18", encoder_weights=None, classes=2); l = smp.losses.DiceLoss("multiclass"); x = torch.randn(2, 3, 64, 64); y = torch.randint(0, 2, (2, 64, 64)); opt = torch.optim.SGD(m.parameters(), 0.1)
for i in range(2): opt.zero_grad(); q = l(m(x), y); q.backward(); opt.step(); p("loss", q.detach())
for a in ("FPN", "DeepLabV3Plus", "Linknet", "PSPNet"): print(a, tuple(getattr(smp, a)("resnet18", encoder_weights=None, classes=2).eval()(x).shape))
tp = smp.metrics.get_stats(m(x).argmax(1), y, mode="multiclass", num_classes=2); print(0.3 < float(smp.metrics.iou_score(*tp, reduction="micro")) < 0.5)
