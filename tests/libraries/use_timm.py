# SPDX-License-Identifier: Apache-2.0
"""Networks; training with its optimisers, schedules, losses and averages."""
import timm
import torch
from timm.data import Mixup, create_transform, resolve_data_config
from timm.loss import LabelSmoothingCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV2, accuracy

from common import show, stat

for name in ("resnet18", "vit_tiny_patch16_224", "efficientnet_b0", "convnext_atto", "mobilenetv3_small_050"):
    torch.manual_seed(0)
    net = timm.create_model(name, num_classes=5).eval()
    with torch.no_grad():
        stat(name, net(torch.randn(1, 3, 224, 224)))
features = timm.create_model("resnet18", features_only=True).eval()
print([tuple(f.shape) for f in features(torch.randn(1, 3, 64, 64))], len(timm.list_models("resnet*")) > 50)
print(create_transform(**resolve_data_config({}, model=net)))

torch.manual_seed(0)
net, x, y = timm.create_model("resnet10t", num_classes=3), torch.randn(4, 3, 64, 64), torch.tensor([0, 1, 2, 0])
for name in ("adamw", "sgd", "lamb", "nadamw", "adopt"):
    torch.manual_seed(0)
    small = torch.nn.Linear(4, 2)
    optimizer = create_optimizer_v2(small, opt=name, lr=1e-2, weight_decay=0.05)
    for _ in range(2):
        optimizer.zero_grad()
        small(torch.ones(3, 4)).pow(2).sum().backward()
        optimizer.step()
    stat(name, small.weight)
optimizer = create_optimizer_v2(net, opt="adamw", lr=1e-3, weight_decay=0.05)
schedule, criterion, average = CosineLRScheduler(optimizer, t_initial=3), LabelSmoothingCrossEntropy(0.1), ModelEmaV2(net, 0.9)
for i in range(3):
    out = net(x)
    loss = criterion(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step(i)
    average.update(net)
    show("train", loss, optimizer.param_groups[0]["lr"])
print(accuracy(out, y)[0].shape, Mixup(num_classes=3)(x.clone(), y)[1].shape)
