"""A classifier on points in the plane: nn.Sequential, CrossEntropyLoss, SGD with momentum, accuracy."""
import torch
from torch import nn

torch.manual_seed(0)
n = 300
theta = torch.rand(n) * 2 * torch.pi
labels = torch.arange(n) % 3
radius = labels.float() + 0.2 * torch.randn(n)
points = torch.stack((radius * theta.cos(), radius * theta.sin()), dim=1)

model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3))
print(model)
loss_fn = nn.CrossEntropyLoss(label_smoothing=0.05)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
print(optimizer)
for epoch in range(60):
    perm = torch.randperm(n)
    total, correct = 0.0, 0
    for i in range(0, n, 50):
        batch = perm[i:i + 50]
        out = model(points[batch])
        loss = loss_fn(out, labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
        correct += (out.argmax(dim=1) == labels[batch]).sum().item()
    if epoch % 20 == 0:
        print(f"epoch {epoch}: loss {total / n:.2f}, accuracy {correct / n:.1f}")
with torch.no_grad():
    accuracy = (model(points).argmax(1) == labels).float().mean()
print(accuracy > 0.95, accuracy.dtype, accuracy.shape, accuracy.requires_grad)
print(sum(p.numel() for p in model.parameters() if p.requires_grad))
