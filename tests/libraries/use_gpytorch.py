# SPDX-License-Identifier: Apache-2.0
"""gpytorch: an exact Gaussian process, its hyperparameters trained."""
import warnings

import torch
import torch.nn as nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)


def p(*a):
    print(*[("%.4f" % float(x)) if isinstance(x, torch.Tensor) and x.numel() == 1 else x for x in a], flush=True)


import gpytorch
class GP(gpytorch.models.ExactGP):
    def __init__(self, x, y, lik):
        super().__init__(x, y, lik)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))
x = torch.linspace(0, 1, 20); y = torch.sin(6 * x)
lik = gpytorch.likelihoods.GaussianLikelihood(); m = GP(x, y, lik)
m.train(); lik.train()
opt = torch.optim.Adam(m.parameters(), lr=0.1); mll = gpytorch.mlls.ExactMarginalLogLikelihood(lik, m)
for i in range(10):
    opt.zero_grad(); loss = -mll(m(x), y); loss.backward(); opt.step()
    p("loss", loss.detach())
m.eval(); lik.eval()
with torch.no_grad(): o = lik(m(torch.linspace(0, 1, 5)))
print([round(v, 3) for v in o.mean.tolist()], [round(v, 3) for v in o.variance.tolist()])
