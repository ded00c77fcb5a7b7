# SPDX-License-Identifier: Apache-2.0
"""constraint_registry.py - transforms from all numbers to those of a constraint: biject_to (one to one) and transform_to."""
from . import constraints as c
from . import transforms as t


class ConstraintRegistry:
    """Factories of transforms by the kind of constraint."""

    def __init__(self):
        self._registry = {}

    def register(self, constraint, factory=None):
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, c.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, c.Constraint):
            raise TypeError("Expected constraint to be either a Constraint subclass or instance, but got %s" % (constraint,))
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint):
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError("Cannot transform %s constraints" % type(constraint).__name__)
        return factory(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _interval(k):
    if isinstance(k.lower_bound, (int, float)) and k.lower_bound == 0 and isinstance(k.upper_bound, (int, float)) and k.upper_bound == 1:
        return t.SigmoidTransform()
    return t.ComposeTransform([t.SigmoidTransform(), t.AffineTransform(k.lower_bound, k.upper_bound - k.lower_bound)])


def _above(k):
    return t.ComposeTransform([t.ExpTransform(), t.AffineTransform(k.lower_bound, 1)])


for _to in (biject_to, transform_to):
    _to.register(c.real, lambda k: t.identity_transform)
    _to.register(c.independent, lambda k, to=_to: t.IndependentTransform(to(k.base_constraint), k.reinterpreted_batch_ndims))
    _to.register(c.greater_than, _above)
    _to.register(c.greater_than_eq, _above)
    _to.register(c.less_than, lambda k: t.ComposeTransform([t.ExpTransform(), t.AffineTransform(k.upper_bound, -1)]))
    _to.register(c.interval, _interval)
    _to.register(c.half_open_interval, _interval)
    _to.register(c.corr_cholesky, lambda k: t.CorrCholeskyTransform())
    _to.register(c.cat, lambda k, to=_to: t.CatTransform([to(x) for x in k.cseq], k.dim, k.lengths))
    _to.register(c.stack, lambda k, to=_to: t.StackTransform([to(x) for x in k.cseq], k.dim))
biject_to.register(c.simplex, lambda k: t.StickBreakingTransform())
transform_to.register(c.simplex, lambda k: t.SoftmaxTransform())
transform_to.register(c.lower_cholesky, lambda k: t.LowerCholeskyTransform())
transform_to.register(c.positive_definite, lambda k: t.PositiveDefiniteTransform())
transform_to.register(c.positive_semidefinite, lambda k: t.PositiveDefiniteTransform())
