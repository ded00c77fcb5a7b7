"""A program that mypy --strict accepts: modules, training, data, programs, distributions (test_py_types.py)."""
from typing import Iterator, List, Tuple

import ctsc
import ctsc.nn as nn
import ctsc.nn.functional as F
from ctsc import Tensor, optim
from ctsc.data import DataLoader, Dataset, TensorDataset
from ctsc.distributions import Categorical, Normal, kl_divergence


class Squares(Dataset):
    def __init__(self, n: int) -> None:
        self.x = ctsc.randn(n, 4, generator=ctsc.Generator().manual_seed(0))

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> Tuple[Tensor, Tensor]:
        return self.x[index], self.x[index].pow(2).sum()


class Net(nn.Module):
    def __init__(self, hidden: int = 16, layers: int = 2) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Dropout(p=0.1))
        self.blocks = nn.ModuleList([nn.Linear(hidden, hidden, bias=True) for _ in range(layers)])
        self.norm = nn.LayerNorm(hidden)
        self.scale = nn.Parameter(ctsc.ones(1))
        self.register_buffer("steps", ctsc.zeros(1), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.inner(x)
        for block in self.blocks:
            x = F.gelu(block(x)) + x
        y: Tensor = self.norm(x).mean(dim=-1) * self.scale
        return y


def train(net: Net, batches: "DataLoader", epochs: int) -> List[float]:
    opt = optim.AdamW(net.parameters(), lr=1e-2, weight_decay=0.01)
    schedule = optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    losses: List[float] = []
    for _ in range(epochs):
        for x, y in batches:
            opt.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
        schedule.step()
        losses.append(loss.item())
    return losses


def sizes(net: nn.Module) -> Iterator[Tuple[str, int]]:
    for name, p in net.named_parameters():
        yield name, p.numel()


@ctsc.no_grad()
def evaluate(net: Net, x: Tensor) -> float:
    values, indices = ctsc.max(net.eval()(x).view(2, -1), 1)
    best = x.max(dim=1).values
    total: float = (values.sum() + indices.float().mean() + best.sum()).item()
    return total


def main() -> None:
    ctsc.manual_seed(0)
    net = Net().train()
    found = train(net, DataLoader(Squares(64), batch_size=16, shuffle=True), 3)
    print(len(found), evaluate(net, ctsc.zeros(8, 4)), dict(sizes(net))["scale"])
    for (x,) in DataLoader(TensorDataset(ctsc.eye(4)), batch_size=2):
        print(x.shape, x.dtype is ctsc.float32, x.device.type)
    program = ctsc.jit.script(net.double())
    print(program(ctsc.zeros(2, 4, dtype=ctsc.float64)).shape, len(net.state_dict()))
    p = Normal(0.0, ctsc.ones(2))
    print(p.log_prob(ctsc.zeros(2)).shape, kl_divergence(p, Normal(1.0, 2.0)).shape, Categorical(logits=ctsc.zeros(3)).sample().item() < 3)
    w = ctsc.ones(3, requires_grad=True)
    (ctsc.einsum("i,i->", w, w) + 1).backward()
    assert w.grad is not None
    print(w.grad.tolist(), ctsc.where(w > 0, w, 0.0).sum().item(), ctsc.linalg.norm(w).item() > 1, 2 ** w[0], abs(-w).tolist())
    with ctsc.autocast("cpu", dtype=ctsc.bfloat16), ctsc.no_grad():
        print((w @ w).dtype)


if __name__ == "__main__":
    main()
