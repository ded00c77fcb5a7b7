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


def total_ordering(cls):
    return cls


def singledispatch(fn):
    return fn


def cmp_to_key(fn):
    raise NotImplementedError('functools.cmp_to_key')
