"""L-BFGS with a line search, on Rosenbrock's function and a small fit: as many evaluations as max_eval leaves, whatever the line search would like."""
import torch

torch.set_default_dtype(torch.float64)
for options in (dict(), dict(max_iter=10, history_size=5), dict(max_iter=4, max_eval=5), dict(max_iter=8, max_eval=100), dict(max_iter=5, line=None, lr=1e-3), dict(max_iter=1)):
    line = options.pop("line", "strong_wolfe")
    x = torch.nn.Parameter(torch.tensor([-1.2, 1.0]))
    optimizer, calls = torch.optim.LBFGS([x], line_search_fn=line, **options), [0]

    def closure():
        calls[0] += 1
        optimizer.zero_grad()
        loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        loss.backward()
        return loss
    print(options, [round(optimizer.step(closure).item(), 6) for _ in range(5)], x.data, calls[0])
    print({k: v for k, v in optimizer.state_dict()["state"][0].items() if k in ("func_evals", "n_iter")})
torch.manual_seed(0)
features, target = torch.randn(30, 4), torch.randn(30)
w = torch.zeros(4, requires_grad=True)
optimizer = torch.optim.LBFGS([w], max_iter=20, line_search_fn="strong_wolfe")


def fit():
    optimizer.zero_grad()
    loss = torch.nn.functional.soft_margin_loss(features @ w, target.sign()) + 0.01 * w.pow(2).sum()
    loss.backward()
    return loss


print(optimizer.step(fit), fit(), w)
