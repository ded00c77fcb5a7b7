# SPDX-License-Identifier: Apache-2.0
# The DCGAN generator: noise to images of 64 x 64 pixels.
#
#   ctsc run examples/models/dcgan.py --input 'float32[1,100,1,1]:rand'
import torch
import torch.nn as nn

nz = 100  # length of the noise
ngf = 16  # feature maps of the last hidden layer
nc = 3  # colours


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        layers = [nn.ConvTranspose2d(nz, ngf * 8, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 8), nn.ReLU(True)]
        for factor in (8, 4, 2):
            layers += [
                nn.ConvTranspose2d(ngf * factor, ngf * factor // 2, 4, 2, 1, bias=False),
                nn.BatchNorm2d(ngf * factor // 2),
                nn.ReLU(True),
            ]
        layers += [nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False), nn.Tanh()]
        self.main = nn.Sequential(*layers)
        self.apply(weights_init)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return self.main(input)
