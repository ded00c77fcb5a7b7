# SPDX-License-Identifier: Apache-2.0
"""constraints.py - what parameters and values of distributions must be: check(value) tells it element by element."""
import ctsc

from .. import _C

_all = _C._operator("all")


class Constraint:
    is_discrete, event_dim = False, 0

    def check(self, value):
        raise NotImplementedError

    def __repr__(self):
        return type(self).__name__.lstrip("_") + "()"


class _Real(Constraint):
    def check(self, value):
        return value == value


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _GreaterThan(Constraint):
    def __init__(self, lower_bound):
        self.lower_bound = lower_bound

    def check(self, value):
        return value > self.lower_bound

    def __repr__(self):
        return "{}(lower_bound={})".format(type(self).__name__.lstrip("_"), self.lower_bound)


class _GreaterThanEq(_GreaterThan):
    def check(self, value):
        return value >= self.lower_bound


class _LessThan(Constraint):
    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return value < self.upper_bound

    def __repr__(self):
        return "{}(upper_bound={})".format(type(self).__name__.lstrip("_"), self.upper_bound)


class _Interval(Constraint):
    def __init__(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value):
        return (value >= self.lower_bound) & (value <= self.upper_bound)

    def __repr__(self):
        return "{}(lower_bound={}, upper_bound={})".format(type(self).__name__.lstrip("_"), self.lower_bound, self.upper_bound)


class _HalfOpenInterval(_Interval):
    def check(self, value):
        return (value >= self.lower_bound) & (value < self.upper_bound)


class _IntegerInterval(_Interval):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value >= self.lower_bound) & (value <= self.upper_bound)


class _IntegerLessThan(_LessThan):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_GreaterThan):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value):
        return _all(value >= 0, -1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _OneHot(Constraint):
    is_discrete, event_dim = True, 1

    def check(self, value):
        return _all((value == 0) | (value == 1), -1) & (value.sum(-1) == 1)


class _Multinomial(Constraint):
    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return _all(value >= 0, -1) & (value.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value):
        return _all(_all(value.tril() == value, -1), -1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value):
        return super().check(value) & _all(value.diagonal(dim1=-2, dim2=-1) > 0, -1)


class _CorrCholesky(_LowerCholesky):
    """Of a matrix of correlations: its rows have length 1."""

    def check(self, value):
        length = value.detach().pow(2).sum(-1).sqrt()
        return super().check(value) & _all((length - 1.0).abs() <= ctsc.finfo(value.dtype).eps * value.size(-1) * 10, -1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value):
        return ctsc.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=ctsc.bool)


class _Symmetric(_Square):
    def check(self, value):
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return _all(_all((value - value.mT).abs() <= 1e-6 + 1e-5 * value.mT.abs(), -1), -1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        return symmetric & _all(ctsc.linalg.eigvalsh(value) >= 0, -1) if symmetric.all() else symmetric


class _PositiveDefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        return _C._operator("linalg_cholesky_ex")(value)[1] == 0 if symmetric.all() else symmetric


class _IndependentConstraint(Constraint):
    """The last dimensions of base_constraint's batches belong to the event: all of their elements must be valid."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value):
        found = self.base_constraint.check(value)
        if found.ndim < self.reinterpreted_batch_ndims:
            raise ValueError("Expected value.dim() >= %d but got %d" % (self.event_dim, value.ndim))
        return _all(found.reshape(tuple(found.shape[:found.ndim - self.reinterpreted_batch_ndims]) + (-1,)), -1)

    def __repr__(self):
        return "IndependentConstraint(%r, %d)" % (self.base_constraint, self.reinterpreted_batch_ndims)


class MixtureSameFamilyConstraint(Constraint):
    """Of values that all components of a mixture must have."""

    def __init__(self, base_constraint):
        self.base_constraint = base_constraint

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim)

    def check(self, value):
        found = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return _all(found.reshape(tuple(found.shape[:value.ndim - self.event_dim]) + (-1,)), -1)

    def __repr__(self):
        return "MixtureSameFamilyConstraint(%r)" % self.base_constraint


class _Cat(Constraint):
    """Slices of a dimension, of given lengths, each by a constraint of its own."""

    def __init__(self, cseq, dim=0, lengths=None):
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))
    event_dim = property(lambda self: max(c.event_dim for c in self.cseq))

    def check(self, value):
        return ctsc.cat([c.check(v) for c, v in zip(self.cseq, value.split(self.lengths, self.dim))], self.dim)


class _Stack(Constraint):
    """Elements of a dimension, each by a constraint of its own."""

    def __init__(self, cseq, dim=0):
        self.cseq, self.dim = list(cseq), dim

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))

    @property
    def event_dim(self):
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value):
        return ctsc.stack([c.check(v) for c, v in zip(self.cseq, value.unbind(self.dim))], self.dim)


class _Dependent(Constraint):
    """Depends on other parameters."""

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self):
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self):
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        return _Dependent(is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
                          event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, value):
        raise ValueError("Cannot determine validity of dependent constraint")


class dependent_property(property, _Dependent):
    """A property of distributions that is a constraint: of the class, it says no more than its kind."""

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        property.__init__(self, fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn):
        return dependent_property(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


real, boolean, simplex, one_hot, dependent = _Real(), _Boolean(), _Simplex(), _OneHot(), _Dependent()
lower_triangular, lower_cholesky, corr_cholesky = _LowerTriangular(), _LowerCholesky(), _CorrCholesky()
square, symmetric, positive_semidefinite, positive_definite = _Square(), _Symmetric(), _PositiveSemidefinite(), _PositiveDefinite()
positive, nonnegative, unit_interval = _GreaterThan(0.0), _GreaterThanEq(0.0), _Interval(0.0, 1.0)
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
greater_than, greater_than_eq, less_than, interval, half_open_interval = _GreaterThan, _GreaterThanEq, _LessThan, _Interval, _HalfOpenInterval
integer_interval, multinomial, independent, cat, stack = _IntegerInterval, _Multinomial, _IndependentConstraint, _Cat, _Stack
real_vector = independent(real, 1)


def is_dependent(constraint):
    return isinstance(constraint, _Dependent)


__all__ = ("Constraint boolean cat corr_cholesky dependent dependent_property greater_than greater_than_eq independent integer_interval interval half_open_interval is_dependent "
           "less_than lower_cholesky lower_triangular MixtureSameFamilyConstraint multinomial nonnegative nonnegative_integer one_hot positive positive_semidefinite "
           "positive_definite positive_integer real real_vector simplex square stack symmetric unit_interval").split()
