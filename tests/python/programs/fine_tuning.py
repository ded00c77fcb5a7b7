"""Fine-tuning: a frozen backbone, a replaced head, rates by layer, gradual unfreezing, LoRA with merged weights, adapters, BatchNorm kept in eval."""
import math

import torch
from torch import nn


class BasicBlock(nn.Module):
    expansion: int = 1

    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout)) if stride != 1 or cin != cout else None

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        return self.relu(self.bn1(self.conv1(x)) + identity)


class ResNet(nn.Module):
    def __init__(self, layers=(1, 1), num_classes=10):
        super().__init__()
        self.inplanes = 4
        self.stem = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.layer1, self.layer2 = self._make_layer(4, layers[0]), self._make_layer(8, layers[1], 2)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(8, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)

    def _make_layer(self, planes, blocks, stride=1):
        layers = [BasicBlock(self.inplanes, planes, stride)]
        self.inplanes = planes * BasicBlock.expansion
        layers += [BasicBlock(self.inplanes, planes) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.avgpool(self.layer2(self.layer1(self.stem(x))))
        return self.fc(torch.flatten(x, 1))


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r=2, alpha=4.0):
        super().__init__()
        self.base, self.scaling, self.merged = base, alpha / r, False
        base.weight.requires_grad_(False)
        base.bias.requires_grad_(False)
        self.lora_A = nn.Parameter(base.weight.new_empty(r, base.in_features))
        self.lora_B = nn.Parameter(base.weight.new_zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, x):
        out = self.base(x)
        return out if self.merged else out + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling

    def merge(self):
        with torch.no_grad():
            self.base.weight += self.scaling * self.lora_B @ self.lora_A
        self.merged = True


def freeze(module):
    for p in module.parameters():
        p.requires_grad = False


def trainable(model):
    return [n for n, p in model.named_parameters() if p.requires_grad]


def fit(model, opt, x, y, steps):
    losses = []
    for _ in range(steps):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        losses.append(round(loss.item(), 4))
    return losses


torch.manual_seed(0)
model = ResNet()
model.load_state_dict({k: v * 0.9 if v.is_floating_point() else v for k, v in model.state_dict().items()})
freeze(model)
model.fc = nn.Linear(model.fc.in_features, 3)
print(trainable(model), model.fc)
x, y = torch.randn(9, 3, 8, 8), torch.arange(9) % 3
x[y == 1] += 0.5
x[y == 2, 0] -= 1
print(fit(model, torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.1), x, y, 4))
for p in model.layer2.parameters():
    p.requires_grad_(True)
groups = [{"params": model.layer2.parameters(), "lr": 1e-3, "name": "body"}, {"params": model.fc.parameters(), "name": "head"}]
opt = torch.optim.AdamW(groups, lr=1e-2, weight_decay=0.01)
opt.add_param_group({"params": [p for p in model.layer1.parameters()], "lr": 1e-4})
print([(g.get("name"), g["lr"], len(g["params"])) for g in opt.param_groups], len(trainable(model)))
for m in model.modules():
    if isinstance(m, nn.modules.batchnorm._BatchNorm):
        m.eval()
before = model.layer1[0].bn1.running_mean.clone()
print(fit(model, opt, x, y, 4), torch.equal(before, model.layer1[0].bn1.running_mean))
print([n for n, p in model.named_parameters() if p.grad is not None and p.grad.abs().sum() > 0][:3])
model.requires_grad_(False)
model.fc = LoRALinear(model.fc)
print(trainable(model), sum(p.numel() for p in model.parameters() if p.requires_grad), "of", sum(p.numel() for p in model.parameters()))
print(fit(model, torch.optim.AdamW(filter(lambda p: p.requires_grad, model.parameters()), lr=0.05), x, y, 5))
with torch.no_grad():
    out = model(x)
    model.fc.merge()
    print(torch.allclose(model(x), out, atol=1e-5))
backbone = nn.Sequential(*list(model.children())[:-1])
print(backbone(x).shape, [type(m).__name__ for m in backbone])
model.fc = nn.Identity()
print(model(x).shape, dict(model.named_children()).keys(), isinstance(model.get_submodule("layer2.0.downsample"), nn.Sequential))
replaced = 0
for name, child in list(model.named_modules()):
    if isinstance(child, nn.BatchNorm2d):
        parent, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(parent), leaf, nn.GroupNorm(2, child.num_features))
        replaced += 1
print(replaced, model.layer2)
