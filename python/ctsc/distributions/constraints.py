# SPDX-License-Identifier: Apache-2.0
"""constraints.py - what parameters and values of distributions must be: check(value) tells it element by element."""
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
        return "%s(lower_bound=%s)" % (type(self).__name__.lstrip("_"), self.lower_bound)


class _GreaterThanEq(_GreaterThan):
    def check(self, value):
        return value >= self.lower_bound


class _LessThan(Constraint):
    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return value < self.upper_bound

    def __repr__(self):
        return "LessThan(upper_bound=%s)" % self.upper_bound


class _Interval(Constraint):
    def __init__(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value):
        return (value >= self.lower_bound) & (value <= self.upper_bound)

    def __repr__(self):
        return "%s(lower_bound=%s, upper_bound=%s)" % (type(self).__name__.lstrip("_"), self.lower_bound, self.upper_bound)


class _HalfOpenInterval(_Interval):
    def check(self, value):
        return (value >= self.lower_bound) & (value < self.upper_bound)


class _IntegerInterval(_Interval):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value >= self.lower_bound) & (value <= self.upper_bound)


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


class _LowerCholesky(Constraint):
    event_dim = 2

    def check(self, value):
        lower = _all(_all(value.tril() == value, -1), -1)
        return lower & _all(value.diagonal(dim1=-2, dim2=-1) > 0, -1)


class _PositiveDefinite(Constraint):
    event_dim = 2

    def check(self, value):
        symmetric = _all(_all((value - value.mT).abs() <= 1e-6 + 1e-5 * value.abs(), -1), -1)
        return symmetric & (_C._operator("linalg_cholesky_ex")(value)[1] == 0)


class _Independent(Constraint):
    def __init__(self, base, dims):
        self.base, self.dims, self.event_dim = base, dims, base.event_dim + dims

    def check(self, value):
        found = self.base.check(value)
        return _all(found.reshape(tuple(found.shape[:found.ndim - self.dims]) + (-1,)), -1)


class _Dependent(Constraint):
    def check(self, value):
        raise ValueError("Cannot determine validity of dependent constraint")


real, boolean, simplex, one_hot, lower_cholesky, positive_definite, dependent = (
    _Real(), _Boolean(), _Simplex(), _OneHot(), _LowerCholesky(), _PositiveDefinite(), _Dependent())
positive, nonnegative, unit_interval = _GreaterThan(0.0), _GreaterThanEq(0.0), _Interval(0.0, 1.0)
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
greater_than, greater_than_eq, less_than, interval, half_open_interval = _GreaterThan, _GreaterThanEq, _LessThan, _Interval, _HalfOpenInterval
integer_interval, multinomial, independent = _IntegerInterval, _Multinomial, _Independent
real_vector = independent(real, 1)


def is_dependent(constraint):
    return isinstance(constraint, _Dependent)
