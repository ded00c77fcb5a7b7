# SPDX-License-Identifier: Apache-2.0
"""ctsc.distributions - torch.distributions: samples, densities, entropies and divergences of batches of distributions."""
import sys

from . import constraint_registry, constraints, continuous, discrete, distribution, further, kl, matrices, transformed, transforms
from .constraint_registry import biject_to, transform_to
from .continuous import (Beta, Cauchy, Chi2, Dirichlet, Exponential, Gamma, Gumbel, HalfCauchy, HalfNormal, Laplace, MultivariateNormal, Normal, StudentT, Uniform)
from .discrete import (Bernoulli, Binomial, Categorical, Geometric, Multinomial, NegativeBinomial, OneHotCategorical, OneHotCategoricalStraightThrough, Poisson)
from .distribution import Distribution, ExponentialFamily, Independent
from .further import ContinuousBernoulli, FisherSnedecor, GeneralizedPareto, VonMises
from .kl import kl_divergence, register_kl
from .matrices import LKJCholesky, LowRankMultivariateNormal, Wishart
from .transformed import (InverseGamma, Kumaraswamy, LogisticNormal, LogNormal, MixtureSameFamily, Pareto, RelaxedBernoulli, RelaxedOneHotCategorical,
                          TransformedDistribution, Weibull)
from .transforms import (AbsTransform, AffineTransform, CatTransform, ComposeTransform, CorrCholeskyTransform, CumulativeDistributionTransform, ExpTransform,
                         IndependentTransform, LowerCholeskyTransform, PositiveDefiniteTransform, PowerTransform, ReshapeTransform, SigmoidTransform,
                         SoftmaxTransform, SoftplusTransform, StackTransform, StickBreakingTransform, TanhTransform, Transform, identity_transform)

# PyTorch has a module for each.
for _module, _names in (
        (continuous, "normal uniform exponential laplace cauchy gamma chi2 studentT dirichlet beta gumbel half_normal half_cauchy multivariate_normal"),
        (discrete, "bernoulli categorical one_hot_categorical multinomial binomial geometric poisson negative_binomial"),
        (distribution, "independent exp_family utils"), (further, "continuous_bernoulli fishersnedecor generalized_pareto von_mises"),
        (matrices, "lkj_cholesky lowrank_multivariate_normal wishart"),
        (transformed, "log_normal mixture_same_family transformed_distribution relaxed_bernoulli relaxed_categorical inverse_gamma kumaraswamy logistic_normal pareto "
                      "weibull")):
    for _name in _names.split():
        sys.modules.setdefault(__name__ + "." + _name, _module)
        globals().setdefault(_name, _module)
