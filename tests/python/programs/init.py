"""nn.init and seeds: the same numbers as PyTorch's."""
import torch
from torch import nn

for name, args in (("uniform_", (-1, 1)), ("normal_", (0, 2)), ("constant_", (3,)), ("ones_", ()), ("zeros_", ()), ("xavier_uniform_", ()), ("xavier_normal_", ()), ("kaiming_uniform_", ()),
                   ("kaiming_normal_", ()), ("orthogonal_", ()), ("sparse_", (0.5,)), ("eye_", ())):
    torch.manual_seed(0)
    w = torch.empty(4, 3)
    print(name, getattr(nn.init, name)(w, *args)[0])
torch.manual_seed(1)
print(nn.init.kaiming_normal_(torch.empty(2, 3, 3, 3), mode="fan_out", nonlinearity="relu").std(), nn.init.calculate_gain("leaky_relu", 0.2), nn.init.dirac_(torch.empty(2, 2, 3))[0], nn.init.trunc_normal_(torch.empty(3), std=0.02))
for layer in (nn.Linear(2, 2), nn.Conv1d(1, 2, 3), nn.ConvTranspose2d(1, 1, 2), nn.Embedding(2, 3), nn.LSTMCell(1, 1), nn.Bilinear(1, 2, 1), nn.LayerNorm(2), nn.PReLU(), nn.MultiheadAttention(2, 1), nn.EmbeddingBag(2, 2), nn.GroupNorm(1, 2)):
    print(type(layer).__name__, [p.detach().flatten()[:2] for p in layer.parameters()])
torch.manual_seed(42)
print(torch.rand(3), torch.randn(3), torch.randint(0, 10, (5,)), torch.randperm(5), torch.bernoulli(torch.full((4,), 0.5)), torch.multinomial(torch.ones(4), 2), torch.normal(torch.zeros(2), 1.0), torch.empty(2).uniform_(1, 2), torch.empty(2).exponential_())
print(torch.randn_like(torch.zeros(2)), torch.rand(2, dtype=torch.float64), torch.randint(5, (2, 2)), torch.nn.functional.dropout(torch.ones(8), 0.5), torch.randint_like(torch.zeros(2), 9), torch.poisson(torch.ones(3)), torch.empty(2).log_normal_(), torch.empty(2).geometric_(0.5), torch.empty(2).cauchy_())
state = torch.get_rng_state()
a = torch.rand(2)
torch.set_rng_state(state)
print(torch.equal(a, torch.rand(2)), torch.initial_seed())
g = torch.Generator(device="cpu").manual_seed(9)
print(torch.rand(2, generator=g), torch.randn(2, generator=g), torch.randperm(4, generator=g), g.initial_seed())
with torch.random.fork_rng():
    torch.manual_seed(5)
    print(torch.rand(1))
print(torch.rand(1))
print(torch.randn(20).sum(), torch.randn(3, 7).std(), torch.rand(17).mean())
