"""Classical machine learning with tensors: k-means, PCA, k nearest neighbours, logistic regression by L-BFGS, naive Bayes, ridge regression, decision stumps, ROC."""
import torch
from torch import nn


def kmeans(x, k, iterations=10):
    centres = x[torch.randperm(len(x))[:k]].clone()
    for _ in range(iterations):
        assign = torch.cdist(x, centres).argmin(1)
        new = torch.stack([x[assign == i].mean(0) if (assign == i).any() else centres[i] for i in range(k)])
        if torch.allclose(new, centres):
            break
        centres = new
    return centres, assign


def standardize(x):
    std, mean = torch.std_mean(x, dim=0)
    return (x - mean) / std


def roc_auc(scores, labels):
    order = scores.argsort(descending=True)
    y = labels[order].double()
    tpr, fpr = y.cumsum(0) / y.sum(), (1 - y).cumsum(0) / (1 - y).sum()
    return torch.trapezoid(tpr, fpr)


torch.manual_seed(10)
centres = torch.tensor([[0., 0, 0, 1], [3, 3, 0, 0], [0, 4, 4, 0]])
y = torch.arange(60) % 3
x = centres[y] + 0.5 * torch.randn(60, 4)
c, assign = kmeans(x, 3)
print(c[c[:, 0].argsort()], torch.bincount(assign).sort().values)
z = standardize(x)
print(z.mean(0).abs().max() < 1e-6, z.var(0), torch.cov(z.T).diagonal(), torch.corrcoef(x.T)[0, 1])
u, s, vh = torch.linalg.svd(z - z.mean(0), full_matrices=False)
explained = s ** 2 / (s ** 2).sum()
print(explained, (z @ vh[:2].T).shape, torch.dist(u @ torch.diag(s) @ vh, z - z.mean(0)) < 1e-4)
values, vectors = torch.linalg.eigh(torch.cov(z.T))
print(values.flip(0), torch.allclose(values.flip(0) / values.sum(), explained, atol=1e-5))
train, test = torch.arange(0, 45), torch.arange(45, 60)
near = torch.cdist(x[test], x[train]).topk(5, largest=False).indices
print((y[train][near].mode(1).values == y[test]).float().mean())
w, b = torch.zeros(4, 3, requires_grad=True), torch.zeros(3, requires_grad=True)
opt = torch.optim.LBFGS([w, b], lr=1, max_iter=20, line_search_fn="strong_wolfe")


def closure():
    opt.zero_grad()
    loss = nn.functional.cross_entropy(z[train] @ w + b, y[train]) + 0.01 * w.square().sum()
    loss.backward()
    return loss


print("%.4f" % opt.step(closure), "%.4f" % closure(), (z[test] @ w + b).argmax(1).eq(y[test]).sum())
means = torch.stack([x[y == k].mean(0) for k in range(3)])
stds = torch.stack([x[y == k].std(0) for k in range(3)])
logp = torch.distributions.Normal(means, stds).log_prob(x[:, None]).sum(-1) + torch.tensor(1 / 3).log()
print((logp.argmax(1) == y).float().mean(), torch.logsumexp(logp, 1).mean())
a, t = torch.cat([x, torch.ones(60, 1)], 1), x @ torch.tensor([1., -2., 0.5, 3.]) + 2
print(torch.linalg.lstsq(a, t.unsqueeze(1)).solution.squeeze(), torch.linalg.solve(a.T @ a + 0.1 * torch.eye(5), a.T @ t))
print(torch.linalg.pinv(a).shape, torch.linalg.matrix_rank(a), torch.linalg.cond(a) > 1)
best = max(((f, float(v)) for f in range(4) for v in x[:, f].quantile(torch.linspace(0.1, 0.9, 9))),
           key=lambda p: ((x[:, p[0]] > p[1]) == (y == 1)).float().mean().item())
print(best[0], "%.4f" % best[1])
scores = torch.sigmoid(x[:, 0] - 1.5)
print("%.4f" % roc_auc(scores, y == 1), torch.histogram(scores, bins=4, range=(0., 1.)).hist)
confusion = torch.bincount(3 * y + logp.argmax(1), minlength=9).view(3, 3)
precision, recall = confusion.diag() / confusion.sum(0), confusion.diag() / confusion.sum(1)
print(confusion, 2 * precision * recall / (precision + recall))
mixture = torch.distributions.MixtureSameFamily(torch.distributions.Categorical(torch.ones(3)), torch.distributions.Independent(torch.distributions.Normal(means, stds), 1))
print(mixture.log_prob(x[:3]), mixture.sample((2,)).shape)
X = torch.vander(torch.linspace(0, 1, 6), N=3)
print(X, torch.tril_indices(3, 3, -1), torch.combinations(torch.arange(4), 2).shape, torch.cartesian_prod(torch.arange(2), torch.arange(2)))
print(torch.nanmean(torch.tensor([1., float("nan"), 3.])), torch.searchsorted(torch.tensor([1., 3., 5.]), torch.tensor([2., 5.]), right=True), torch.nan_to_num(torch.tensor([float("inf")]), posinf=9))
