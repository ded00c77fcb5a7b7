# SPDX-License-Identifier: Apache-2.0
"""further.py - distributions of real numbers that are met less often: ContinuousBernoulli, FisherSnedecor, GeneralizedPareto, VonMises."""
import math

import ctsc

from .. import _C
from . import constraints as c
from .continuous import Gamma, _Broadcast, _rand
from .distribution import ByProbs, Distribution, ExponentialFamily, broadcast_all, clamp_probs, lazy_property, logits_to_probs

_bce = _C._operator("binary_cross_entropy_with_logits")


class ContinuousBernoulli(ByProbs, ExponentialFamily):
    """Loaiza-Ganem and Cunningham: Bernoulli's formula on [0, 1], normalised. About 1/2 (lims) the formulas are replaced by the first terms of their series."""

    arg_constraints, support, has_rsample = {"probs": c.unit_interval, "logits": c.real}, c.unit_interval, True

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        given, self._lims = self._take(probs, logits), lims
        if probs is not None:
            if validate_args is not None and not c.unit_interval.check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        super().__init__(() if isinstance(probs if probs is not None else logits, (int, float)) else given.size(), validate_args=validate_args)

    @lazy_property
    def probs(self):
        return clamp_probs(logits_to_probs(self.logits, True))

    def _far(self):
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self):
        return ctsc.where(self._far(), self.probs, self._lims[0] * ctsc.ones_like(self.probs))

    def _cont_bern_log_norm(self):
        p = self._cut()
        below, above = ctsc.where(p <= 0.5, p, ctsc.zeros_like(p)), ctsc.where(p >= 0.5, p, ctsc.ones_like(p))
        far = ctsc.log(ctsc.abs(ctsc.log1p(-p) - ctsc.log(p))) - ctsc.where(p <= 0.5, ctsc.log1p(-2.0 * below), ctsc.log(2.0 * above - 1.0))
        x = (self.probs - 0.5).pow(2)
        return ctsc.where(self._far(), far, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self):
        p, x = self._cut(), self.probs - 0.5
        far = p / (2.0 * p - 1.0) + 1.0 / (ctsc.log1p(-p) - ctsc.log(p))
        return ctsc.where(self._far(), far, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def variance(self):
        p, x = self._cut(), (self.probs - 0.5).pow(2)
        far = p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / (ctsc.log1p(-p) - ctsc.log(p)).pow(2)
        return ctsc.where(self._far(), far, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape=()):
        return self.icdf(_rand(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value):
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -_bce(logits, value, reduction=0) + self._cont_bern_log_norm()

    def cdf(self, value):
        self._validate_sample(value)
        p = self._cut()
        far = (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        return ctsc.where(value <= 0.0, 0.0, ctsc.where(value >= 1.0, 1.0, ctsc.where(self._far(), far, value)))

    def icdf(self, value):
        p = self._cut()
        far = (ctsc.log1p(-p + value * (2.0 * p - 1.0)) - ctsc.log1p(-p)) / (ctsc.log(p) - ctsc.log1p(-p))
        return ctsc.where(self._far(), far, value)

    def entropy(self):
        log0, log1 = ctsc.log1p(-self.probs), ctsc.log(self.probs)
        return self.mean * (log0 - log1) - self._cont_bern_log_norm() - log0


class FisherSnedecor(_Broadcast):
    arg_constraints, support, has_rsample = {"df1": c.positive, "df2": c.positive}, c.positive, True

    def __init__(self, df1, df2, validate_args=None):
        super().__init__(df1, df2, validate_args=validate_args)

    mean = property(lambda self: (self.df2 / (self.df2 - 2)).masked_fill(self.df2 <= 2, math.nan))
    mode = property(lambda self: ((self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)).masked_fill(self.df1 <= 2, math.nan))

    @property
    def variance(self):
        a, b = self.df1, self.df2
        return (2 * b.pow(2) * (a + b - 2) / (a * (b - 2).pow(2) * (b - 4))).masked_fill(b <= 4, math.nan)

    def rsample(self, sample_shape=()):
        tiny = ctsc.finfo(self.df1.dtype).tiny
        a, b = (Gamma(df * 0.5, df, validate_args=False).rsample(sample_shape) for df in (self.df1, self.df2))
        return (a / b.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value):
        self._validate_sample(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        return ((a + b).lgamma() - a.lgamma() - b.lgamma()) + (a * ratio.log() + (a - 1) * value.log()) - (a + b) * ctsc.log1p(ratio * value)


class GeneralizedPareto(_Broadcast):
    arg_constraints, has_rsample = {"loc": c.real, "scale": c.positive, "concentration": c.real}, True

    def __init__(self, loc, scale, concentration, validate_args=None):
        super().__init__(loc, scale, concentration, validate_args=validate_args)

    mode = property(lambda self: self.loc)

    @c.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return c.interval(self.loc, (self.loc - self.scale / self.concentration).masked_fill(self.concentration >= 0, math.inf))

    def _shape(self):
        """Whether the concentration is zero; the concentration, with ones where it is."""
        zero = self.concentration.abs() <= 1e-8
        return zero, self.concentration.masked_fill(zero, 1.0)

    @property
    def mean(self):
        k = self.concentration
        return (self.loc + self.scale / (1 - k.masked_fill(k >= 1, 0.5))).masked_fill(k >= 1, math.nan)

    @property
    def variance(self):
        k = self.concentration
        safe = k.masked_fill(k >= 0.5, 0.25)
        return (self.scale ** 2 / ((1 - safe) ** 2 * (1 - 2 * safe))).masked_fill(k >= 0.5, math.nan)

    def rsample(self, sample_shape=()):
        return self.icdf(_rand(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value):
        self._validate_sample(value)
        z, (zero, k) = (value - self.loc) / self.scale, self._shape()
        y = 1 / k + ctsc.ones_like(z)
        return -self.scale.log() - ctsc.where(zero, z, ctsc.where(y == 0, y, y * ctsc.log1p(k * z)))

    def log_survival_function(self, value):
        self._validate_sample(value)
        z, (zero, k) = (value - self.loc) / self.scale, self._shape()
        return ctsc.where(zero, -z, -ctsc.log1p(k * z) / k)

    def log_cdf(self, value):
        return ctsc.log1p(-ctsc.exp(self.log_survival_function(value)))

    def cdf(self, value):
        return self.log_cdf(value).exp()

    def icdf(self, value):
        (zero, k), log_left = self._shape(), ctsc.log1p(-value)
        return ctsc.where(zero, self.loc - self.scale * log_left, self.loc + self.scale / k * ctsc.expm1(-k * log_left))

    def entropy(self):
        return (self.scale.log() + self.concentration + 1).expand(self._batch_shape)


# Abramowitz and Stegun, 9.8.1 to 9.8.4: the modified Bessel functions of orders 0 and 1, below and above 3.75; the last coefficient first.
_BESSEL = (((0.0045813, 0.0360768, 0.2659732, 1.2067492, 3.0899424, 3.5156229, 1.0),
            (0.00392377, -0.01647633, 0.02635537, -0.02057706, 0.00916281, -0.00157565, 0.00225319, 0.01328592, 0.39894228)),
           ((0.00032411, 0.00301532, 0.02658733, 0.15084934, 0.51498869, 0.87890594, 0.5),
            (-0.00420059, 0.01787654, -0.02895312, 0.02282967, -0.01031555, 0.00163801, -0.00362018, -0.03988024, 0.39894228)))


def _log_bessel(x, order):
    def polynomial(coefficients, y):
        found = coefficients[0]
        for v in coefficients[1:]:
            found = v + y * found
        return found
    small = polynomial(_BESSEL[order][0], (x / 3.75) ** 2)
    small = (x.abs() * small if order else small).log()
    return ctsc.where(x < 3.75, small, x - 0.5 * x.log() + polynomial(_BESSEL[order][1], 3.75 / x).log())


class VonMises(_Broadcast):
    """Angles. Samples are Best's and Fisher's (1979), by rejection, in float64."""

    arg_constraints, support = {"loc": c.real, "concentration": c.positive}, c.real
    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 1 - (_log_bessel(self.concentration, 1) - _log_bessel(self.concentration, 0)).exp())

    def __init__(self, loc, concentration, validate_args=None):
        super().__init__(loc, concentration, validate_args=validate_args)

    def log_prob(self, value):
        self._validate_sample(value)
        return self.concentration * ctsc.cos(value - self.loc) - math.log(2 * math.pi) - _log_bessel(self.concentration, 0)

    def sample(self, sample_shape=()):
        with ctsc.no_grad():
            shape, loc, k = self._extended_shape(sample_shape), self.loc.double(), self.concentration.double()
            tau = 1 + (1 + 4 * k ** 2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * k)
            r = ctsc.where(k < 1e-5, 1 / k + k, (1 + rho ** 2) / (2 * rho))
            x, done = ctsc.zeros(shape, dtype=ctsc.float64), ctsc.zeros(shape, dtype=ctsc.bool)
            while not done.all():
                u1, u2, u3 = ctsc.rand((3,) + tuple(shape), dtype=ctsc.float64).unbind()
                z = ctsc.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                t = k * (r - f)
                accept = ((t * (2 - t) - u2) > 0) | ((t / u2).log() + 1 - t >= 0)
                x = ctsc.where(accept, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accept
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
