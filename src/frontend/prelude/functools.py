# SPDX-License-Identifier: Apache-2.0
# functools.py - what module-level code uses of Python's functools.


class partial:
    def __init__(self, func, *args, **keywords):
        if isinstance(func, partial):
            args = func.args + args
            merged = dict(func.keywords)
            merged.update(keywords)
            keywords = merged
            func = func.func
        self.func = func
        self.args = args
        self.keywords = keywords

    def __call__(self, *args, **keywords):
        merged = dict(self.keywords)
        merged.update(keywords)
        return self.func(*(self.args + args), **merged)


class partialmethod:
    def __init__(self, func, *args, **keywords):
        self.func = func
        self.args = args
        self.keywords = keywords

    def __get__(self, obj, cls=None):
        return partial(self.func if obj is None else partial(self.func, obj), *self.args, **self.keywords)


def reduce(function, iterable, *initial):
    items = list(iterable)
    if len(initial) > 0:
        result = initial[0]
    else:
        if len(items) == 0:
            raise TypeError('reduce() of empty iterable with no initial value')
        result = items[0]
        items = items[1:]
    for item in items:
        result = function(result, item)
    return result


def wraps(wrapped, assigned=None, updated=None):
    def decorator(fn):
        return update_wrapper(fn, wrapped)
    return decorator


def update_wrapper(wrapper, wrapped, assigned=None, updated=None):
    for name in ('__module__', '__name__', '__qualname__', '__doc__'):
        if hasattr(wrapped, name):
            setattr(wrapper, name, getattr(wrapped, name))
    setattr(wrapper, '__wrapped__', wrapped)
    return wrapper


def lru_cache(maxsize=128, typed=False):
    if callable(maxsize):
        return maxsize

    def decorator(fn):
        return fn
    return decorator


def cache(fn):
    return fn


def cached_property(fn):
    return property(fn)


def _negated(method, also_equal):
    """not method(self, other), or that and equality where also_equal is given: `==` or `!=` as a function."""
    def compare(self, other):
        result = method(self, other)
        if result is NotImplemented:
            return result
        return not result if also_equal is None else also_equal(result, self == other)
    return compare


def total_ordering(cls):
    root = [name for name in ('__lt__', '__le__', '__gt__', '__ge__') if name in cls.__dict__]
    if not root:
        raise ValueError('must define at least one ordering operation: < > <= >=')
    own = getattr(cls, root[0])
    either, strictly = (lambda result, equal: result or equal), (lambda result, equal: result and not equal)
    opposite, same, other = {'__lt__': ('__ge__', '__le__', '__gt__'), '__le__': ('__gt__', '__lt__', '__ge__'),
                             '__gt__': ('__le__', '__ge__', '__lt__'), '__ge__': ('__lt__', '__gt__', '__le__')}[root[0]]
    strict = root[0] in ('__lt__', '__gt__')
    made = {opposite: _negated(own, None), same: _negated(own, either if strict else strictly),
            other: _negated(own, (lambda result, equal: not result and not equal) if strict else (lambda result, equal: not result or equal))}
    for name, method in made.items():
        if name not in root:
            setattr(cls, name, method)
    return cls


def singledispatch(fn):
    return fn


def cmp_to_key(fn):
    class Key:
        def __init__(self, obj):
            self.obj = obj

        def __lt__(self, other):
            return fn(self.obj, other.obj) < 0

        def __eq__(self, other):
            return fn(self.obj, other.obj) == 0

    return total_ordering(Key)
