"""A DCGAN on tiny images: weights_init by apply, two optimisers, detached fakes, spectral norm, hinge loss."""
import random

import torch
import torch.nn as nn
import torch.nn.parallel
import torch.optim as optim
import torch.utils.data
from torch.nn.utils import spectral_norm

manual_seed = 999
random.seed(manual_seed)
torch.manual_seed(manual_seed)
nz, ngf, ndf, nc = 6, 4, 4, 1


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf), nn.ReLU(True),
            nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.main = nn.Sequential(
            nn.Conv2d(nc, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 2), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False), nn.Sigmoid())

    def forward(self, input):
        return self.main(input)


netG, netD = Generator(), Discriminator()
netG.apply(weights_init)
netD.apply(weights_init)
print(netG)
real_images = torch.zeros(16, 1, 16, 16)
for i in range(16):
    real_images[i, 0, i % 8:i % 8 + 6, 4:12] = 1
real_images = real_images * 2 - 1
criterion = nn.BCELoss()
fixed_noise = torch.randn(4, nz, 1, 1)
optimizerD = optim.Adam(netD.parameters(), lr=0.002, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=0.002, betas=(0.5, 0.999))
for step in range(4):
    netD.zero_grad()
    label = torch.full((16,), 1.0, dtype=torch.float)
    output = netD(real_images).view(-1)
    errD_real = criterion(output, label)
    errD_real.backward()
    D_x = output.mean().item()
    fake = netG(torch.randn(16, nz, 1, 1))
    label.fill_(0.0)
    output = netD(fake.detach()).view(-1)
    errD_fake = criterion(output, label)
    errD_fake.backward()
    optimizerD.step()
    netG.zero_grad()
    label.fill_(1)
    errG = criterion(netD(fake).view(-1), label)
    errG.backward()
    optimizerG.step()
    print("[%d] Loss_D: %.4f Loss_G: %.4f D(x): %.4f" % (step, errD_real + errD_fake, errG.item(), D_x))
with torch.no_grad():
    print(netG(fixed_noise).shape, netG(fixed_noise).detach().cpu().flatten(1).std(1))

critic = nn.Sequential(spectral_norm(nn.Linear(4, 8)), nn.ReLU(), spectral_norm(nn.Linear(8, 1)))
x = torch.randn(6, 4)
for _ in range(3):
    loss = torch.relu(1 - critic(x)).mean() + torch.relu(1 + critic(x * 0.1)).mean()
    critic.zero_grad()
    loss.backward()
    print("%.4f" % loss, ["%.3f" % p.grad.norm() for p in critic.parameters()])
print(sorted(critic.state_dict()), "%.3f" % torch.linalg.matrix_norm(critic[0].weight, 2))
alpha = torch.rand(6, 1)
between = (alpha * x + (1 - alpha) * torch.zeros_like(x)).requires_grad_(True)
scores = critic(between)
gradients = torch.autograd.grad(outputs=scores, inputs=between, grad_outputs=torch.ones(scores.size()), create_graph=True, retain_graph=True, only_inputs=True)[0]
penalty = ((gradients.norm(2, dim=1) - 1) ** 2).mean()
penalty.backward()
print("%.4f" % penalty.item(), critic[0].weight_orig.grad.abs().sum() > 0)
