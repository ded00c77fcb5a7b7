"""Optimising an input: Gram matrices of features, content and style losses as modules, L-BFGS with a closure, total variation, adversarial examples, saliency maps, Grad-CAM."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target)
        return input


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class StyleLoss(nn.Module):
    def __init__(self, target_feature):
        super().__init__()
        self.target = gram_matrix(target_feature).detach()

    def forward(self, input):
        self.loss = F.mse_loss(gram_matrix(input), self.target)
        return input


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean, self.std = torch.tensor(mean).view(-1, 1, 1), torch.tensor(std).view(-1, 1, 1)

    def forward(self, img):
        return (img - self.mean) / self.std


torch.manual_seed(0)
cnn = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(6, 6, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3, padding=1)).eval()
style_img, content_img = torch.rand(1, 3, 12, 12), torch.rand(1, 3, 12, 12)
model, content_losses, style_losses = nn.Sequential(Normalization([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])), [], []
i = 0
for layer in cnn.children():
    if isinstance(layer, nn.Conv2d):
        i += 1
        name = "conv_{}".format(i)
    elif isinstance(layer, nn.ReLU):
        name = "relu_{}".format(i)
        layer = nn.ReLU(inplace=False)
    elif isinstance(layer, nn.MaxPool2d):
        name = "pool_{}".format(i)
    else:
        raise RuntimeError("Unrecognized layer: {}".format(layer.__class__.__name__))
    model.add_module(name, layer)
    if name == "conv_2":
        content_losses.append(ContentLoss(model(content_img)))
        model.add_module("content_loss_{}".format(i), content_losses[-1])
    if name.startswith("conv"):
        style_losses.append(StyleLoss(model(style_img)))
        model.add_module("style_loss_{}".format(i), style_losses[-1])
print(model)
input_img = content_img.clone()
optimizer = optim.LBFGS([input_img.requires_grad_(True)])
model.eval()
model.requires_grad_(False)
run = [0]
while run[0] < 30:
    def closure():
        with torch.no_grad():
            input_img.clamp_(0, 1)
        optimizer.zero_grad()
        model(input_img)
        style, content = sum(s.loss for s in style_losses), sum(c.loss for c in content_losses)
        style, content = style * 1e4, content * 1
        loss = style + content
        loss.backward()
        run[0] += 1
        if run[0] % 15 == 1:
            print("run {}: Style Loss : {:4f} Content Loss: {:4f}".format(run[0], style.item(), content.item()) if run[0] == 1 else run[0])
        return loss
    optimizer.step(closure)
with torch.no_grad():
    input_img.clamp_(0, 1)
print(input_img.shape, (input_img - content_img).abs().mean() > 1e-3)

net = nn.Sequential(copy.deepcopy(cnn), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)).eval()
x = torch.rand(2, 3, 12, 12, requires_grad=True)
label = net(x).argmax(1)
loss = F.cross_entropy(net(x), label)
loss.backward()
adv = torch.clamp(x + 0.1 * x.grad.sign(), 0, 1).detach()
print("%.4f %.4f" % (loss.item(), F.cross_entropy(net(adv), label).item()), x.grad.abs().amax(1).shape)
delta = torch.zeros_like(x).uniform_(-0.05, 0.05).requires_grad_(True)
for _ in range(3):
    F.cross_entropy(net(x.detach() + delta), label).backward()
    delta.data = (delta + 0.02 * delta.grad.detach().sign()).clamp(-0.05, 0.05)
    delta.grad.zero_()
print("%.4f" % F.cross_entropy(net(x.detach() + delta), label), delta.abs().max())
kept = {}
h1 = net[0].register_forward_hook(lambda m, i, o: kept.update(a=o))
h2 = net[0].register_full_backward_hook(lambda m, gi, go: kept.update(g=go[0]))
net(x)[0, label[0]].backward()
cam = F.relu((kept["g"].mean((2, 3), keepdim=True) * kept["a"]).sum(1, keepdim=True))
cam = F.interpolate(cam, size=(12, 12), mode="bilinear", align_corners=False)
h1.remove(), h2.remove()
print(cam.shape, cam[0].mean(), kept["g"].shape)
tv = (x[..., 1:, :] - x[..., :-1, :]).abs().mean() + (x[..., 1:] - x[..., :-1]).abs().mean()
print(tv)
steps = torch.linspace(0, 1, 6)[1:].view(-1, 1, 1, 1)
path = (steps * x[:1].detach()).requires_grad_(True)
net(path)[:, label[0]].sum().backward()
print((path.grad.mean(0) * x[0].detach()).sum(), net(x[:1])[0, label[0]] - net(torch.zeros_like(x[:1]))[0, label[0]])
