# SPDX-License-Identifier: Apache-2.0
"""ctsc.distributions - torch.distributions: samples, densities, entropies and divergences of batches of distributions."""
import sys

from . import constraints, continuous, discrete, distribution, kl, transforms
from .continuous import (Beta, Cauchy, Chi2, Dirichlet, Exponential, Gamma, Gumbel, HalfCauchy, HalfNormal, Laplace, MultivariateNormal, Normal, StudentT, Uniform)
from .discrete import (Bernoulli, Binomial, Categorical, Geometric, Multinomial, OneHotCategorical, OneHotCategoricalStraightThrough, Poisson)
from .distribution import Distribution, ExponentialFamily, Independent
from .kl import kl_divergence, register_kl
from .transforms import (AffineTransform, ComposeTransform, ExpTransform, LogNormal, MixtureSameFamily, PowerTransform, RelaxedBernoulli, SigmoidTransform,
                         SoftplusTransform, TanhTransform, Transform, TransformedDistribution, identity_transform)

# PyTorch has a module for each.
for _name, _module in (("normal", continuous), ("uniform", continuous), ("exponential", continuous), ("laplace", continuous), ("cauchy", continuous), ("gamma", continuous),
                       ("chi2", continuous), ("studentT", continuous), ("dirichlet", continuous), ("beta", continuous), ("gumbel", continuous),
                       ("half_normal", continuous), ("half_cauchy", continuous), ("multivariate_normal", continuous), ("bernoulli", discrete),
                       ("categorical", discrete), ("one_hot_categorical", discrete), ("multinomial", discrete), ("binomial", discrete), ("geometric", discrete),
                       ("poisson", discrete), ("independent", distribution), ("exp_family", distribution), ("utils", distribution),
                       ("log_normal", transforms), ("mixture_same_family", transforms), ("transformed_distribution", transforms), ("relaxed_bernoulli", transforms)):
    sys.modules.setdefault(__name__ + "." + _name, _module)
    globals().setdefault(_name, _module)
