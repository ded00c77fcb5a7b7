# SPDX-License-Identifier: Apache-2.0
"""Networks, a detector, transforms, boxes, a training loop."""
import torch
import torchvision
from torchvision.transforms import v2

from common import show, stat

for name, size in (("resnet18", 64), ("mobilenet_v3_small", 64), ("densenet121", 64), ("vit_b_32", 224), ("swin_t", 224)):
    torch.manual_seed(0)
    net = getattr(torchvision.models, name)().eval()
    with torch.no_grad():
        stat(name, net(torch.randn(1, 3, size, size)))
torch.manual_seed(0)
detector = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=4).eval()
with torch.no_grad():
    found = detector([torch.rand(3, 120, 160)])[0]
print({k: tuple(v.shape) for k, v in found.items()})
detector.train()
losses = detector([torch.rand(3, 120, 160)], [{"boxes": torch.tensor([[5.0, 5, 60, 70]]), "labels": torch.tensor([1])}])
print(sorted(losses), sum(losses.values()).requires_grad)

change = v2.Compose([v2.Resize((32, 32)), v2.RandomHorizontalFlip(0.5), v2.Normalize([0.5] * 3, [0.2] * 3)])
stat("v2", change(torch.rand(3, 40, 50)))
boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]])
print(torchvision.ops.nms(boxes, torch.tensor([0.9, 0.8, 0.7]), 0.5), torchvision.ops.box_iou(boxes, boxes)[0])
stat("roi_align", torchvision.ops.roi_align(torch.randn(1, 2, 16, 16), torch.tensor([[0, 1.0, 1, 10, 10]]), (3, 3)))
stat("deform", torchvision.ops.DeformConv2d(2, 3, 3)(torch.randn(1, 2, 6, 6), torch.randn(1, 18, 4, 4) * 0.1))
print(torchvision.utils.make_grid(torch.rand(5, 3, 4, 4), nrow=2).shape)

net, x, y = torchvision.models.resnet18(num_classes=4), torch.randn(4, 3, 64, 64), torch.tensor([0, 1, 2, 3])
optimizer = torch.optim.SGD(net.parameters(), 1e-3, momentum=0.9)
for _ in range(3):
    loss = torch.nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    show("train", loss)
