# SPDX-License-Identifier: Apache-2.0
# __init__.py - torch.distributions: sampling, log probabilities and entropies, without gradients and constraints.
#
# The classes are written so that compiled functions can use them as script classes; parameters are tensors there.
from .bernoulli import Bernoulli
from .categorical import Categorical
from .more import Beta, Dirichlet, Exponential, Gamma, Independent, Laplace, LogNormal, MultivariateNormal, Poisson
from .normal import Normal
from .uniform import Uniform

__all__ = ['Bernoulli', 'Beta', 'Categorical', 'Dirichlet', 'Exponential', 'Gamma', 'Independent', 'Laplace', 'LogNormal',
           'MultivariateNormal', 'Normal', 'Poisson', 'Uniform', 'kl_divergence']


def kl_divergence(p, q):
    if isinstance(p, Normal) and isinstance(q, Normal):
        ratio = (p.scale / q.scale).pow(2)
        apart = ((p.loc - q.loc) / q.scale).pow(2)
        return 0.5 * (ratio + apart - 1 - ratio.log())
    if isinstance(p, Categorical) and isinstance(q, Categorical):
        t = p.probs * (p.logits - q.logits)
        t = t.masked_fill((q.probs == 0).expand_as(t), float('inf'))
        return t.masked_fill((p.probs == 0).expand_as(t), 0.0).sum(-1)
    raise NotImplementedError('No KL(p || q) is implemented for p type {} and q type {}'.format(
        type(p).__name__, type(q).__name__))
