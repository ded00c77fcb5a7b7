# SPDX-License-Identifier: Apache-2.0
# more.py - distributions of the exponential family, of vectors, and of independent dimensions.
import math
from typing import List, Optional

import torch
from torch import Tensor

from .normal import Normal
from .utils import broadcast_all


class Laplace:
    def __init__(self, loc: Tensor, scale: Tensor, validate_args: Optional[bool] = None):
        self.loc, self.scale = broadcast_all(loc, scale)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    def log_prob(self, value: Tensor) -> Tensor:
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    def entropy(self) -> Tensor:
        return 1 + torch.log(2 * self.scale)


class Exponential:
    def __init__(self, rate: Tensor, validate_args: Optional[bool] = None):
        self.rate = torch.as_tensor(rate)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def log_prob(self, value: Tensor) -> Tensor:
        return self.rate.log() - self.rate * value

    def entropy(self) -> Tensor:
        return 1.0 - torch.log(self.rate)


class Poisson:
    def __init__(self, rate: Tensor, validate_args: Optional[bool] = None):
        self.rate = torch.as_tensor(rate)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: List[int] = ()) -> Tensor:
        with torch.no_grad():
            return torch.poisson(self.rate.expand(list(sample_shape) + list(self.rate.size())))

    def log_prob(self, value: Tensor) -> Tensor:
        both = torch.broadcast_tensors(self.rate, value)
        return torch.xlogy(both[1], both[0]) - both[0] - torch.lgamma(both[1] + 1)


class Gamma:
    def __init__(self, concentration: Tensor, rate: Tensor, validate_args: Optional[bool] = None):
        self.concentration, self.rate = broadcast_all(concentration, rate)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def log_prob(self, value: Tensor) -> Tensor:
        return (torch.xlogy(self.concentration, self.rate) + torch.xlogy(self.concentration - 1, value) -
                self.rate * value - torch.lgamma(self.concentration))

    def entropy(self) -> Tensor:
        return (self.concentration - torch.log(self.rate) + torch.lgamma(self.concentration) +
                (1.0 - self.concentration) * torch.digamma(self.concentration))


class Dirichlet:
    def __init__(self, concentration: Tensor, validate_args: Optional[bool] = None):
        if concentration.dim() < 1:
            raise ValueError('`concentration` parameter must be at least one-dimensional.')
        self.concentration = concentration

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        return (torch.xlogy(self.concentration - 1.0, value).sum(-1) + torch.lgamma(self.concentration.sum(-1)) -
                torch.lgamma(self.concentration).sum(-1))


class Beta:
    def __init__(self, concentration1: Tensor, concentration0: Tensor, validate_args: Optional[bool] = None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def log_prob(self, value: Tensor) -> Tensor:
        return (torch.xlogy(self.concentration1 - 1.0, value) + torch.xlogy(self.concentration0 - 1.0, 1.0 - value) +
                torch.lgamma(self.concentration1 + self.concentration0) - torch.lgamma(self.concentration1) -
                torch.lgamma(self.concentration0))


class LogNormal:
    def __init__(self, loc: Tensor, scale: Tensor, validate_args: Optional[bool] = None):
        self.base_dist = Normal(loc, scale)

    @property
    def loc(self) -> Tensor:
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    def rsample(self, sample_shape: List[int] = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape).exp()

    def log_prob(self, value: Tensor) -> Tensor:
        x = value.log()
        return self.base_dist.log_prob(x) - x

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


class MultivariateNormal:
    def __init__(self, loc: Tensor, covariance_matrix: Optional[Tensor] = None, precision_matrix: Optional[Tensor] = None,
                 scale_tril: Optional[Tensor] = None, validate_args: Optional[bool] = None):
        if loc.dim() < 1:
            raise ValueError('loc must be at least one-dimensional.')
        if scale_tril is not None:
            factor = scale_tril
        elif covariance_matrix is not None:
            factor = torch.linalg.cholesky(covariance_matrix)
        elif precision_matrix is not None:
            flipped = torch.linalg.cholesky(torch.flip(precision_matrix, [-2, -1]))
            inverse = torch.transpose(torch.flip(flipped, [-2, -1]), -2, -1)
            eye = torch.eye(precision_matrix.size(-1), dtype=precision_matrix.dtype, device=precision_matrix.device)
            factor = torch.linalg.solve_triangular(inverse, eye, upper=False)
        else:
            raise ValueError('Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.')
        self.loc = loc
        self.scale_tril = factor

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def covariance_matrix(self) -> Tensor:
        return torch.matmul(self.scale_tril, self.scale_tril.transpose(-2, -1))

    def log_prob(self, value: Tensor) -> Tensor:
        diff = (value - self.loc).unsqueeze(-1)
        white = torch.linalg.solve_triangular(self.scale_tril, diff, upper=False)
        half = self.scale_tril.diagonal(0, -2, -1).log().sum(-1)
        return -0.5 * (self.loc.size(-1) * math.log(2 * math.pi) + white.pow(2).sum([-2, -1])) - half

    def entropy(self) -> Tensor:
        half = self.scale_tril.diagonal(0, -2, -1).log().sum(-1)
        return 0.5 * self.loc.size(-1) * (1.0 + math.log(2 * math.pi)) + half


class Independent:
    # In module-level code and in traces: it holds a distribution of any class.
    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _sum(self, x):
        n = self.reinterpreted_batch_ndims
        return x.sum(list(range(-n, 0))) if n else x

    @property
    def mean(self):
        return self.base_dist.mean

    @property
    def variance(self):
        return self.base_dist.variance

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return self._sum(self.base_dist.log_prob(value))

    def entropy(self):
        return self._sum(self.base_dist.entropy())
