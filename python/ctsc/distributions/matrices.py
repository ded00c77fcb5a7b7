# SPDX-License-Identifier: Apache-2.0
"""matrices.py - LowRankMultivariateNormal, and distributions of matrices: LKJCholesky, Wishart."""
import math
import warnings

import ctsc

from . import constraints as c
from .continuous import Beta, Chi2, Distribution, MultivariateNormal, _normal
from .distribution import ExponentialFamily, Size, broadcast_all, lazy_property


def log_det(tril):
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class LowRankMultivariateNormal(Distribution):
    """Normal, with the covariance W W^T + D: W has few columns, D is diagonal. Nothing of the full size is inverted (Woodbury's formula)."""

    arg_constraints = {"loc": c.real_vector, "cov_factor": c.independent(c.real, 2), "cov_diag": c.independent(c.positive, 1)}
    support, has_rsample = c.real_vector, True
    mean = mode = property(lambda self: self.loc)

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        n = loc.shape[-1]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2] != n:
            raise ValueError("cov_factor must be a batch of matrices with shape %d x m" % n)
        if cov_diag.shape[-1:] != (n,):
            raise ValueError("cov_diag must be a batch of vectors with shape %s" % (tuple(loc.shape[-1:]),))
        try:
            batch = ctsc.broadcast_shapes(tuple(loc.shape[:-1]), tuple(cov_factor.shape[:-2]), tuple(cov_diag.shape[:-1]))
        except RuntimeError as e:
            raise ValueError("Incompatible batch shapes: loc %s, cov_factor %s, cov_diag %s" % (loc.shape, cov_factor.shape, cov_diag.shape)) from e
        batch = tuple(batch)
        self.loc, self.cov_diag = loc.expand(batch + (n,)), cov_diag.expand(batch + (n,))
        self.cov_factor = cov_factor.expand(batch + tuple(cov_factor.shape[-2:]))
        super().__init__(batch, (n,), validate_args=validate_args)

    def scaled(self, x):
        """W^T D^-1 x, of matrices x."""
        return (self.cov_factor.mT / self.cov_diag.unsqueeze(-2)) @ x

    @lazy_property
    def _capacitance_tril(self):
        """The Cholesky factor of 1 + W^T D^-1 W."""
        return ctsc.linalg.cholesky(self.scaled(self.cov_factor) + ctsc.eye(self.cov_factor.shape[-1], dtype=self.loc.dtype))

    def log_det(self):
        return 2 * log_det(self._capacitance_tril) + self.cov_diag.log().sum(-1)

    def distance(self, x):
        """x^T covariance^-1 x"""
        inside = ctsc.linalg.solve_triangular(self._capacitance_tril, self.scaled(x.unsqueeze(-1)), upper=False).squeeze(-1)
        return (x.pow(2) / self.cov_diag).sum(-1) - inside.pow(2).sum(-1)

    variance = property(lambda self: self.cov_factor.pow(2).sum(-1) + self.cov_diag)
    covariance_matrix = property(lambda self: self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed())

    @property
    def scale_tril(self):
        root = self.cov_diag.sqrt().unsqueeze(-1)
        w = self.cov_factor / root
        return root * ctsc.linalg.cholesky(w @ w.mT + ctsc.eye(self._event_shape[0], dtype=w.dtype))

    @property
    def precision_matrix(self):
        a = ctsc.linalg.solve_triangular(self._capacitance_tril, self.cov_factor.mT / self.cov_diag.unsqueeze(-2), upper=False)
        return self.cov_diag.reciprocal().diag_embed() - a.mT @ a

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        few = _normal(tuple(shape[:-1]) + (self.cov_factor.shape[-1],), self.loc)
        each = _normal(shape, self.loc)
        return self.loc + (self.cov_factor @ few.unsqueeze(-1)).squeeze(-1) + self.cov_diag.sqrt() * each

    def log_prob(self, value):
        self._validate_sample(value)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self.log_det() + self.distance(value - self.loc))

    def entropy(self):
        return 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self.log_det())


class LKJCholesky(Distribution):
    """Cholesky factors of matrices of correlations, whose density is a power of their determinant. Samples are by the onion method (Lewandowski and others, 2009)."""

    arg_constraints, support = {"concentration": c.positive}, c.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError("Expected dim to be an integer greater than or equal to 2. Found dim=%d." % dim)
        self.dim = dim
        self.concentration, = broadcast_all(concentration)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def sample(self, sample_shape=()):
        with ctsc.no_grad():
            n, k = self.dim, self.concentration
            offset = ctsc.arange(n - 1, dtype=k.dtype)
            offset = ctsc.cat([offset.new_zeros((1,)), offset])
            y = Beta(offset + 0.5, (k + 0.5 * (n - 2)).unsqueeze(-1) - 0.5 * offset).sample(sample_shape).unsqueeze(-1)
            u = ctsc.randn(self._extended_shape(sample_shape), dtype=y.dtype).tril(-1)
            u = u / u.norm(dim=-1, keepdim=True)
            u[..., 0, :] = 0.0
            w = y.sqrt() * u
            return w + (1 - (w ** 2).sum(-1)).clamp(min=ctsc.finfo(w.dtype).tiny).sqrt().diag_embed()

    def log_prob(self, value):
        self._validate_sample(value)
        k, less = self.concentration, self.dim - 1
        order = 2 * (k - 1).unsqueeze(-1) + self.dim - ctsc.arange(2, self.dim + 1)
        alpha = k + 0.5 * less
        normaliser = 0.5 * less * math.log(math.pi) + ctsc.mvlgamma(alpha - 0.5, less) - ctsc.lgamma(alpha) * less
        return (order * value.diagonal(dim1=-1, dim2=-2)[..., 1:].log()).sum(-1) - normaliser


class Wishart(ExponentialFamily):
    """Sums of df products x x^T of normal vectors; df need not be whole. Samples are Bartlett's."""

    support, has_rsample = c.positive_definite, True

    @property
    def arg_constraints(self):
        return {"covariance_matrix": c.positive_definite, "precision_matrix": c.positive_definite, "scale_tril": c.lower_cholesky,
                "df": c.greater_than(self._event_shape[-1] - 1)}

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        given = [p for p in (covariance_matrix, precision_matrix, scale_tril) if p is not None]
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        if given[0].dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        n, batch = given[0].shape[-1], tuple(given[0].shape[:-2])
        if isinstance(df, (int, float)):
            self.df = ctsc.tensor(df, dtype=given[0].dtype)
        else:
            batch = tuple(ctsc.broadcast_shapes(batch, tuple(df.shape)))
            self.df = df.expand(batch)
        if (self.df <= n - 1).any():
            raise ValueError("Value of df={} expected to be greater than ndim - 1 = {}.".format(df, n - 1))
        if (self.df < n).any():
            warnings.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.", stacklevel=2)
        self._normal = MultivariateNormal(ctsc.zeros(batch + (n,), dtype=given[0].dtype), covariance_matrix, precision_matrix, scale_tril, validate_args=False)
        for name in ("covariance_matrix", "precision_matrix", "scale_tril"):
            if name in self._normal.__dict__:
                setattr(self, name, self._normal.__dict__[name])
        super().__init__(batch, (n, n), validate_args=validate_args)

    def __getattr__(self, name):
        if name not in ("covariance_matrix", "precision_matrix", "scale_tril"):
            raise AttributeError("'Wishart' object has no attribute '%s'" % name)
        return getattr(self._normal, name)

    def expand(self, batch_shape, _instance=None):
        return Wishart(self.df.expand(batch_shape), scale_tril=self.scale_tril.expand(Size(batch_shape) + self._event_shape), validate_args=False)

    def _times(self, factor):
        return factor.view(self._batch_shape + (1, 1))

    def log_det(self):
        return log_det(self.scale_tril)

    mean = property(lambda self: self._times(self.df.expand(self._batch_shape)) * self.covariance_matrix)

    @property
    def mode(self):
        factor = self.df.expand(self._batch_shape) - self._event_shape[-1] - 1
        return self._times(factor.masked_fill(factor <= 0, math.nan)) * self.covariance_matrix

    @property
    def variance(self):
        v = self.covariance_matrix
        d = v.diagonal(dim1=-2, dim2=-1)
        return self._times(self.df.expand(self._batch_shape)) * (v.pow(2) + d.unsqueeze(-1) * d.unsqueeze(-2))

    def _drawn(self, shape):
        n = self._event_shape[-1]
        df = self.df.unsqueeze(-1) - ctsc.arange(n, dtype=self.df.dtype).expand(tuple(self._batch_shape) + (n,))
        noise = Chi2(df, validate_args=False).rsample(shape).sqrt().clamp(min=ctsc.finfo(df.dtype).eps).diag_embed()
        i, j = ctsc.tril_indices(n, n, offset=-1)
        noise[..., i, j] = ctsc.randn(tuple(shape) + tuple(self._batch_shape) + (n * (n - 1) // 2,), dtype=noise.dtype)
        factor = self.scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape=(), max_try_correction=10):
        # PyTorch draws samples that are positive definite a second time (it takes them for singular). So that numbers are the same, so do we; those that
        # are singular then are drawn anew as well.
        def again(mark):
            dims = tuple(range(len(shape), len(shape) + len(self._batch_shape)))
            mark = mark.sum(dims) > 0 if dims else mark
            n = int(mark.sum())
            if n:
                sample[mark] = self._drawn((n,))
            return n
        shape = Size(sample_shape)
        sample = self._drawn(shape)
        again(self.support.check(sample))
        for _ in range(max_try_correction):
            if not again(~self.support.check(sample)):
                break
        return sample

    def log_prob(self, value):
        self._validate_sample(value)
        nu, n = self.df, self._event_shape[-1]
        trace = ctsc.cholesky_solve(value, self.scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (-nu * (n * math.log(2) / 2 + self.log_det()) - ctsc.mvlgamma(nu / 2, n) + (nu - n - 1) / 2 * ctsc.linalg.slogdet(value)[1] - trace / 2)

    def mvdigamma(self):
        """The derivative of mvlgamma at df / 2."""
        n = self._event_shape[-1]
        return (self.df.unsqueeze(-1) / 2 - ctsc.arange(n, dtype=self.df.dtype) / 2).digamma().sum(-1)

    def entropy(self):
        nu, n = self.df, self._event_shape[-1]
        return (n + 1) * (n * math.log(2) / 2 + self.log_det()) + ctsc.mvlgamma(nu / 2, n) - (nu - n - 1) / 2 * self.mvdigamma() + nu * n / 2
