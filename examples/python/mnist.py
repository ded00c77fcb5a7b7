# SPDX-License-Identifier: Apache-2.0
"""mnist.py - the usual training script, with `import ctsc as torch` instead of `import torch`: handwritten digits, read by a small CNN.

    python3 examples/python/mnist.py [--epochs 40] [--workers 2] [--save digits.pt]

The data are the 360 scans of models/digits_test.pt, in an order without pattern: 280 to learn from, each turned, moved and scaled anew whenever it is seen, and 80 to
test with. The program fails if less than 95 % of these are read right.
"""
import argparse
import os
import time

import ctsc as torch
import ctsc.nn as nn
import ctsc.nn.functional as F
import ctsc.optim as optim
from ctsc.optim.lr_scheduler import CosineAnnealingLR
from ctsc.utils.data import DataLoader, TensorDataset

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(128, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = self.dropout(torch.flatten(x, 1))
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def distorted(images):
    """images, each turned, scaled, sheared and moved by random numbers."""
    with torch.no_grad():
        change = torch.randn(len(images), 2, 3) * 0.1 + torch.eye(3)[:2]
        return F.grid_sample(images, F.affine_grid(change, images.shape, align_corners=False), align_corners=False)


def train(args, model, loader, optimizer, epoch):
    model.train()
    for images, digits in loader:
        optimizer.zero_grad()
        loss = F.nll_loss(model(distorted(images)), digits)
        loss.backward()
        optimizer.step()
    if epoch % args.log_interval == 0:
        print("Train epoch: %d\tLoss: %.6f" % (epoch, loss.item()))


def test(model, loader):
    model.eval()
    loss, right, count = 0, 0, 0
    with torch.no_grad():
        for images, digits in loader:
            output = model(images)
            loss += F.nll_loss(output, digits, reduction="sum").item()
            right += output.argmax(dim=1).eq(digits).sum().item()
            count += len(digits)
    return loss / count, right, count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--log-interval", type=int, default=8)
    parser.add_argument("--save", help="the trained network as an archive, which PyTorch loads, too")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    images = torch.load(os.path.join(MODELS, "digits_test.pt"))[0]
    digits = torch.load(os.path.join(MODELS, "digits_labels.pt"))
    learn = TensorDataset(images[:280].repeat(4, 1, 1, 1), digits[:280].repeat(4)) # an epoch sees each image four times
    train_loader = DataLoader(learn, batch_size=args.batch_size, shuffle=True, num_workers=args.workers)
    test_loader = DataLoader(TensorDataset(images[280:], digits[280:]), batch_size=40)

    model = Net()
    optimizer = optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = CosineAnnealingLR(optimizer, T_max=args.epochs)
    begun = time.time()
    for epoch in range(1, args.epochs + 1):
        train(args, model, train_loader, optimizer, epoch)
        scheduler.step()
    loss, right, count = test(model, test_loader)
    print("Test set: Average loss: %.4f, Accuracy: %d/%d (%.1f%%), %.1f s" % (loss, right, count, 100 * right / count, time.time() - begun))
    if args.save:
        torch.jit.save(torch.jit.script(model), args.save)
    return 0 if right >= 0.95 * count else 1


if __name__ == "__main__":
    raise SystemExit(main())
