"""Adafactor, Muon and SparseAdam beside each other: losses, weights and state after some steps."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def data():
    torch.manual_seed(0)
    x = torch.randn(64, 6, dtype=torch.float64)
    return x, torch.stack([(x * x).sum(1), x[:, 0] * x[:, 1]], 1)


def train(make, steps=20, model=None):
    x, y = data()
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 2)).double()
    opt = make(model)
    seen = []
    for _ in range(steps):
        opt.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        opt.step()
        seen.append(round(loss.item(), 4))
    return model, opt, seen


for options in ({}, {"lr": 0.1}, {"weight_decay": 0.1, "d": 2.0}, {"eps": (1e-4, 1e-2), "beta2_decay": -0.5}, {"maximize": True, "lr": 1e-3}):
    model, opt, seen = train(lambda m: torch.optim.Adafactor(m.parameters(), **options))
    print("adafactor", options, seen[::4], model[0].weight.norm().item(), model[2].bias.tolist())
state = opt.state_dict()["state"]
print(sorted(state), [(k, tuple(v.shape) if k != "step" else v.item()) for k, v in state[0].items()], [(k, tuple(v.shape)) for k, v in state[1].items()])

for options in ({"lr": 0.02}, {"lr": 0.02, "nesterov": False, "momentum": 0.8}, {"lr": 0.02, "adjust_lr_fn": "match_rms_adamw"},
                {"lr": 0.02, "adjust_lr_fn": "spectral_unclamped", "weight_decay": 0.0}):
    model, opt, seen = train(lambda m: torch.optim.Muon([p for p in m.parameters() if p.ndim == 2], **options))
    print("muon", options, ["%.1f" % v for v in seen[::5]], "%.1f" % model[0].weight.norm().item())
print([(k, tuple(v.shape)) for k, v in opt.state_dict()["state"][0].items()], sorted(opt.param_groups[0]))

torch.manual_seed(2)
table, head = nn.Embedding(20, 4, padding_idx=3, sparse=True), nn.Linear(4, 1)
sparse = torch.optim.SparseAdam(table.parameters(), lr=0.05)
dense = torch.optim.Adam(head.parameters(), lr=0.05)
before = table.weight.detach().clone()
for step in range(12):
    ids = torch.tensor([[1, 2, 3], [4, 4, 1]]) if step % 2 else torch.tensor([[7, 8, 3], [8, 1, 9]])
    sparse.zero_grad()
    dense.zero_grad()
    loss = (head(table(ids)).mean(1) - torch.tensor([[1.0], [-1.0]])).pow(2).mean()
    loss.backward()
    sparse.step()
    dense.step()
    print("sparse", step, round(loss.item(), 4))
print("rows that moved:", (table.weight != before).any(1).nonzero().flatten().tolist())
print({k: (v if isinstance(v, int) else [round(x, 4) for x in v.sum(1).tolist()]) for k, v in sparse.state_dict()["state"][0].items()})

for make in (lambda: torch.optim.Muon([nn.Parameter(torch.zeros(3))]), lambda: torch.optim.Adafactor([nn.Parameter(torch.zeros(3))], d=0.5),
             lambda: torch.optim.SparseAdam([nn.Parameter(torch.zeros(3))], lr=0.0), lambda: torch.optim.Muon([nn.Parameter(torch.zeros(3, 3))], adjust_lr_fn="no")):
    try:
        make()
    except ValueError as e:
        print(e)
