# SPDX-License-Identifier: Apache-2.0
# itertools.py - what module-level code uses of Python's itertools; every function makes its whole list at once.


class chain:
    def __init__(self, *iterables):
        self._items = []
        for iterable in iterables:
            self._items.extend(iterable)

    def __iter__(self):
        return iter(self._items)

    @staticmethod
    def from_iterable(iterables):
        return chain(*iterables)


def product(*iterables, repeat=1):
    pools = [list(iterable) for iterable in iterables] * repeat
    results = [()]
    for pool in pools:
        results = [before + (item,) for before in results for item in pool]
    return results


def repeat(item, times=None):
    if times is None:
        raise NotImplementedError('itertools.repeat() without a number has no end')
    return [item] * times


def islice(iterable, *bounds):
    items = list(iterable)
    if len(bounds) == 1:
        return items[:bounds[0]]
    step = bounds[2] if len(bounds) > 2 else 1
    return items[bounds[0]:bounds[1]:step]


def accumulate(iterable, func=None, initial=None):
    result = []
    total = initial
    if total is not None:
        result.append(total)
    for item in iterable:
        if total is None:
            total = item
        elif func is None:
            total = total + item
        else:
            total = func(total, item)
        result.append(total)
    return result


def combinations(iterable, r):
    items = list(iterable)
    if r == 0:
        return [()]
    result = []
    for i in range(len(items)):
        for rest in combinations(items[i + 1:], r - 1):
            result.append((items[i],) + rest)
    return result


def permutations(iterable, r=None):
    items = list(iterable)
    if r is None:
        r = len(items)
    if r == 0:
        return [()]
    result = []
    for i in range(len(items)):
        for rest in permutations(items[:i] + items[i + 1:], r - 1):
            result.append((items[i],) + rest)
    return result


def zip_longest(*iterables, fillvalue=None):
    lists = [list(iterable) for iterable in iterables]
    length = max([len(items) for items in lists]) if lists else 0
    return [tuple([items[i] if i < len(items) else fillvalue for items in lists]) for i in range(length)]


def starmap(function, iterable):
    return [function(*args) for args in iterable]


def takewhile(predicate, iterable):
    result = []
    for item in iterable:
        if not predicate(item):
            break
        result.append(item)
    return result


def pairwise(iterable):
    items = list(iterable)
    return [(items[i], items[i + 1]) for i in range(len(items) - 1)]


def groupby(iterable, key=None):
    result = []
    for item in iterable:
        mark = item if key is None else key(item)
        if len(result) > 0 and result[-1][0] == mark:
            result[-1][1].append(item)
        else:
            result.append((mark, [item]))
    return result


def count(start=0, step=1):
    raise NotImplementedError('itertools.count() has no end')


def cycle(iterable):
    raise NotImplementedError('itertools.cycle() has no end')
