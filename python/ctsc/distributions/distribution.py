# SPDX-License-Identifier: Apache-2.0
"""distribution.py - what all distributions have: batches and events, samples, checks of parameters and values."""
import ctsc

from .. import _C
from . import constraints

Tensor, Size = _C.Tensor, ctsc.Size


def broadcast_all(*values):
    """Numbers and tensors as tensors of one shape."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    dtype = tensors[0].dtype if tensors else ctsc.get_default_dtype()
    if any(t.dtype.is_floating_point for t in tensors):
        dtype = next(t.dtype for t in tensors if t.dtype.is_floating_point)
    made = [v if isinstance(v, Tensor) else ctsc.tensor(v, dtype=dtype if isinstance(v, (int, float)) else None) for v in values]
    return ctsc.broadcast_tensors(*made) if len(made) > 1 else (made[0],)


class lazy_property:
    """Computed once, of a distribution's other parameter."""

    def __init__(self, f):
        self.f, self.name, self.__doc__ = f, f.__name__, f.__doc__

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        with ctsc.enable_grad():
            value = self.f(instance)
        setattr(instance, self.name, value)
        return value


def clamp_probs(probs):
    eps = ctsc.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    p = clamp_probs(probs)
    return p.log() - (-p).log1p() if is_binary else p.log()


def logits_to_probs(logits, is_binary=False):
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def sum_rightmost(value, dims):
    return value if dims == 0 else value.reshape(tuple(value.shape[:value.ndim - dims]) + (-1,)).sum(-1)


_sum_rightmost = sum_rightmost
euler_constant = 0.57721566490153286060


def _standard_normal(shape, dtype, device):
    """Samples of the standard normal distribution."""
    return ctsc.normal(ctsc.zeros(shape, dtype=dtype, device=device), ctsc.ones(shape, dtype=dtype, device=device))


def vec_to_tril_matrix(vec, diag=0):
    """Lower triangular matrices of their elements up to a diagonal, in rows."""
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > ctsc.finfo(vec.dtype).eps:
        raise ValueError("The size of last dimension is %d which cannot be expressed as the lower triangular part of a square D x D matrix." % vec.shape[-1])
    n = round(n)
    rows = ctsc.arange(n, device=vec.device)
    mask = rows < rows.unsqueeze(-1) + (diag + 1)
    made = vec.new_zeros(vec.shape[:-1] + (n, n))
    made[..., mask] = vec
    return made


def tril_matrix_to_vec(mat, diag=0):
    """The elements of lower triangular matrices up to a diagonal, in rows."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError("diag (%d) provided is outside [%d, %d]." % (diag, -n, n - 1))
    rows = ctsc.arange(n, device=mat.device)
    return mat[..., rows < rows.unsqueeze(-1) + (diag + 1)]


class Distribution:
    """A batch of distributions of one kind. batch_shape: of the parameters; event_shape: of one sample of one of them."""

    has_rsample = has_enumerate_support = False
    arg_constraints, support = {}, None
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        Distribution._validate_args = value

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if not self._validate_args:
            return
        for name, constraint in self.arg_constraints.items():
            if name not in self.__dict__ or constraints.is_dependent(constraint):
                continue
            value = getattr(self, name)
            valid = constraint.check(value)
            if not valid.all():
                raise ValueError("Expected parameter %s (%s of shape %s) of distribution %r to satisfy the constraint %r, but found invalid values:\n%s" % (
                    name, type(value).__name__, tuple(value.shape), self, constraint, format(value)))

    def expand(self, batch_shape, _instance=None):
        new, batch_shape = object.__new__(type(self)), Size(batch_shape)
        new.__dict__.update(self.__dict__)
        for name in self._expanded():
            if name in self.__dict__:
                value, event = self.__dict__[name], 0
                event = value.ndim - len(self._batch_shape)
                new.__dict__[name] = value.expand(batch_shape + tuple(value.shape[value.ndim - event:]))
        for name in set(self.__dict__) - set(self._expanded()):
            if isinstance(getattr(type(self), name, None), lazy_property):
                del new.__dict__[name]
        new._batch_shape = batch_shape
        return new

    def _expanded(self):
        return self.arg_constraints

    @property
    def batch_shape(self):
        return self._batch_shape

    @property
    def event_shape(self):
        return self._event_shape

    @property
    def mean(self):
        raise NotImplementedError

    @property
    def mode(self):
        raise NotImplementedError("%s does not implement mode" % type(self))

    @property
    def variance(self):
        raise NotImplementedError

    @property
    def stddev(self):
        return self.variance.sqrt()

    def sample(self, sample_shape=()):
        with ctsc.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        raise NotImplementedError

    def sample_n(self, n):
        return self.sample((n,))

    def log_prob(self, value):
        raise NotImplementedError

    def cdf(self, value):
        raise NotImplementedError

    def icdf(self, value):
        raise NotImplementedError

    def entropy(self):
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        raise NotImplementedError

    def perplexity(self):
        return self.entropy().exp()

    def _extended_shape(self, sample_shape=()):
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value):
        if not self._validate_args:
            return
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = value.ndim - len(self._event_shape)
        if tuple(value.shape[start:]) != tuple(self._event_shape):
            raise ValueError("The right-most size of value must match event_shape: %s vs %s." % (value.shape, self._event_shape))
        for i, j in zip(reversed(tuple(value.shape)), reversed(tuple(self._batch_shape + self._event_shape))):
            if i != 1 and j != 1 and i != j:
                raise ValueError("Value is not broadcastable with batch_shape+event_shape: %s vs %s." % (value.shape, self._batch_shape + self._event_shape))
        support = self.support
        if support is None or constraints.is_dependent(support):
            return
        if not support.check(value).all():
            raise ValueError("Expected value argument (%s of shape %s) to be within the support (%r) of the distribution %r, but found invalid values:\n%s" % (
                type(value).__name__, tuple(value.shape), support, self, format(value)))

    def __repr__(self):
        parts = []
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                parts.append("{}: {}".format(name, value if not isinstance(value, Tensor) or value.numel() == 1 else value.size()))
        return "%s(%s)" % (type(self).__name__, ", ".join(parts))


class ExponentialFamily(Distribution):
    """Of a class of one's own with _natural_params, _log_normalizer and _mean_carrier_measure: the entropy by the gradient of the normaliser."""

    _natural_params = property(lambda self: (_ for _ in ()).throw(NotImplementedError()))
    _mean_carrier_measure = _natural_params

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    def entropy(self):
        found = -self._mean_carrier_measure
        params = [p.detach().requires_grad_() for p in self._natural_params]
        normaliser = self._log_normalizer(*params)
        found = found + normaliser
        for p, g in zip(params, ctsc.autograd.grad(normaliser.sum(), params, create_graph=True)):
            found = found - p * g
        return found


class ByProbs(Distribution):
    """Given by probabilities or by logits; the other one is computed on first use."""

    is_binary = True

    def _take(self, probs, logits):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            self.probs, = broadcast_all(probs)
        else:
            self.logits, = broadcast_all(logits)
        return self.probs if probs is not None else self.logits

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits, self.is_binary)

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs, self.is_binary)

    @property
    def param_shape(self):
        return (self.probs if "probs" in self.__dict__ else self.logits).size()


class Independent(Distribution):
    """The last batch dimensions of another distribution as dimensions of the event."""

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        if reinterpreted_batch_ndims > len(base_distribution.batch_shape):
            raise ValueError("Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual %d vs %d" % (
                reinterpreted_batch_ndims, len(base_distribution.batch_shape)))
        shape, n = base_distribution.batch_shape + base_distribution.event_shape, reinterpreted_batch_ndims
        at = len(base_distribution.batch_shape) - n
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, n
        super().__init__(shape[:at], shape[at:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        n = self.reinterpreted_batch_ndims
        return Independent(self.base_dist.expand(Size(batch_shape) + tuple(self.base_dist.batch_shape[len(self.base_dist.batch_shape) - n:])), n)

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    has_enumerate_support = property(lambda self: not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support)

    @constraints.dependent_property
    def support(self):
        support, n = self.base_dist.support, self.reinterpreted_batch_ndims
        return support if support is None or not n else constraints.independent(support, n)

    def enumerate_support(self, expand=True):
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def __repr__(self):
        return "Independent(%s, %d)" % (self.base_dist, self.reinterpreted_batch_ndims)
