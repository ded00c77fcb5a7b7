"""torch.distributions and torch.func: what is printed is what PyTorch 2.15 prints; torch.device("meta")."""
import torch
from torch import Tensor, nn
from torch.distributions import Bernoulli, Beta, Categorical, Gamma, Laplace, LogNormal, Normal, Uniform, kl_divergence
from torch.func import functional_call, vmap


def mills(x: Tensor) -> int:
    return int((x.double() * torch.arange(1, x.numel() + 1).view(x.shape)).sum() * 10000)


with torch.device("meta"):
    made = nn.Linear(2, 3)
print(made.to_empty(device="cpu").weight.device)  # expect: cpu
with torch.device("cpu"):
    linear = nn.Linear(2, 3)
print(functional_call(linear, {"weight": torch.ones(3, 2), "bias": torch.zeros(3)}, (torch.ones(1, 2),)).sum().item())  # expect: 6.0
vmap(linear)  # refused where it is called
torch.manual_seed(0)
p, q = Normal(0.0, 2.0), Normal(torch.ones(2), 1.0)
print(mills(p.sample((3,))), mills(q.rsample((2,))), mills(kl_divergence(q, Normal(0.0, 1.0))))  # expect: -111644 58169 15000
print(mills(Categorical(torch.tensor([[1.0, 3.0], [2.0, 2.0]])).sample((2,))), mills(Bernoulli(0.25).sample((8,))))  # expect: 40000 90000
print(mills(kl_divergence(Categorical(torch.tensor([0.25, 0.75])), Categorical(torch.tensor([0.5, 0.5])))))  # expect: 1308


class Main(nn.Module):
    def forward(self):
        torch.manual_seed(1)
        mean, scale = torch.tensor([0.5, -1.0]), torch.tensor([1.0, 2.0])
        normal = Normal(mean, scale)
        x = normal.sample()
        print(mills(x), mills(normal.log_prob(x)), mills(normal.entropy()), mills(normal.cdf(x)), mills(normal.rsample([2])))  # expect: 2290 -44330 56431 19562 -41378
        choice = Categorical(logits=torch.tensor([[0.5, 1.0, -1.0], [0.0, 2.0, 1.0]]))
        a = choice.sample([2])[0]
        print(mills(a), mills(choice.log_prob(a)), mills(choice.entropy()), mills(choice.probs), mills(choice.sample([3])))  # expect: 30000 -13701 25492 68841 140000
        yes = Bernoulli(logits=mean)
        print(mills(yes.sample()), mills(yes.log_prob(torch.ones(2))), mills(yes.entropy()), mills(yes.variance))  # expect: 20000 -31006 18272 6282
        even = Uniform(mean, mean + scale)
        print(mills(even.sample()), mills(even.log_prob(mean)), mills(even.entropy()), mills(even.mean))  # expect: -4400 -13862 13862 10000
        above = LogNormal(mean, scale)
        print(mills(above.log_prob(scale)), mills(above.entropy()), mills(above.mean), mills(above.loc + above.scale))  # expect: -63710 41431 81548 35000
        print(mills(Laplace(mean, scale).log_prob(mean)), mills(Gamma(scale, scale).log_prob(scale)), mills(Beta(scale, scale).log_prob(scale / 3)))  # expect: -34657 -48411 5753
        f, i = torch.finfo(x.dtype), torch.iinfo(torch.int16)
        print(mean.masked_fill(mean > 0, torch.finfo(mean.dtype).min).min().item() < -3e38, f.bits, int(f.eps * 2 ** 23), i.max)  # expect: True 32 1 32767
        return 0
# expect: 0
