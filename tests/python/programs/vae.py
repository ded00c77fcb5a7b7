"""A variational autoencoder: reparametrised samples, the KL term, annealing, images from the prior."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor, optim
from torch.utils.data import DataLoader, TensorDataset
from typing import Tuple


class VAE(nn.Module):
    def __init__(self, inputs: int = 36, hidden: int = 24, latent: int = 3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(inputs, hidden), nn.LeakyReLU(0.2))
        self.mu, self.logvar = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(inplace=True), nn.Linear(hidden, inputs), nn.Unflatten(1, (1, 6, 6)))

    def encode(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        h = self.encoder(x)
        return self.mu(h), self.logvar(h)

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        if not self.training:
            return mu
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def forward(self, x):
        mu, logvar = self.encode(x)
        return torch.sigmoid(self.decoder(self.reparameterize(mu, logvar))), mu, logvar


def loss_function(recon, x, mu, logvar, beta=1.0):
    bce = F.binary_cross_entropy(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + beta * kld, bce, kld


def main():
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rows = torch.arange(6).float()
    blobs = torch.stack([torch.exp(-((rows[:, None] - a) ** 2 + (rows[None] - b) ** 2) / 2) for a in range(6) for b in range(6)]).unsqueeze(1)
    loader = DataLoader(TensorDataset(blobs), batch_size=12, shuffle=True)
    model = VAE().to(device)
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    print(model)
    for epoch in range(1, 6):
        model.train()
        train_loss = 0.0
        for (batch,) in loader:
            batch = batch.to(device)
            optimizer.zero_grad(set_to_none=True)
            recon, mu, logvar = model(batch)
            loss, bce, kld = loss_function(recon, batch, mu, logvar, beta=min(1.0, epoch / 3))
            loss.backward()
            train_loss += loss.item()
            optimizer.step()
        print("====> Epoch: {} Average loss: {:.3f} bce {:.3f} kld {:.4f}".format(epoch, train_loss / len(loader.dataset), bce.item() / 12, kld.item() / 12))
    model.eval()
    with torch.no_grad():
        recon, mu, logvar = model(blobs[:4])
        print(F.mse_loss(recon, blobs[:4]).item(), mu.shape, logvar.exp().mean(0))
        sample = torch.sigmoid(model.decoder(torch.randn(5, 3, device=device))).cpu()
        print(sample.size(), sample.mean(dim=(1, 2, 3)), sample.amax((1, 2, 3)))
        line = torch.lerp(mu[0], mu[3], torch.linspace(0, 1, 4).unsqueeze(1))
        print(model.decoder(line).sigmoid().flatten(1).argmax(1))


if __name__ == "__main__":
    main()
