# SPDX-License-Identifier: Apache-2.0
# A variational autoencoder for 28 x 28 images: forward gives the reconstruction, mean and log variance.
#
#   ctsc run examples/models/vae.py --input 'float32[2,1,28,28]:rand'
from typing import Dict, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Encoder(nn.Module):
    def __init__(self, hidden: int, latent: int):
        super().__init__()
        self.fc1 = nn.Linear(784, hidden)
        self.mean = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        h = F.relu(self.fc1(x))
        return self.mean(h), self.logvar(h)


class VAE(nn.Module):
    def __init__(self, hidden: int, latent: int):
        super().__init__()
        self.latent = latent
        self.encoder = Encoder(hidden, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 784),
            nn.Sigmoid(),
        )

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        if self.training:
            std = torch.exp(0.5 * logvar)
            eps = torch.randn_like(std)
            return mu + eps * std
        return mu

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        mu, logvar = self.encoder(x.view(-1, 784))
        z = self.reparameterize(mu, logvar)
        return self.decoder(z), mu, logvar

    @torch.jit.export
    def loss(self, x: Tensor) -> Dict[str, Tensor]:
        reconstruction, mu, logvar = self.forward(x)
        bce = F.binary_cross_entropy(reconstruction, x.view(-1, 784), reduction="sum")
        kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        return {"loss": bce + kld, "bce": bce, "kld": kld}

    @torch.jit.export
    def sample(self, n: int) -> Tensor:
        return self.decoder(torch.randn(n, self.latent)).view(n, 1, 28, 28)


class Main(VAE):
    def __init__(self):
        super().__init__(hidden=64, latent=8)
