# SPDX-License-Identifier: Apache-2.0
# collections - OrderedDict and namedtuple are the evaluator's own; the rest is written here.
from _collections import OrderedDict, namedtuple


def __getattr__(name):
    if name == 'abc':
        import collections.abc
        return collections.abc
    raise AttributeError("module 'collections' has no attribute '{}'".format(name))


class defaultdict:
    def __init__(self, default_factory=None, *args, **kwargs):
        self.default_factory = default_factory
        self._items = dict(*args, **kwargs)

    def __getitem__(self, key):
        if key not in self._items:
            if self.default_factory is None:
                raise KeyError(key)
            self._items[key] = self.default_factory()
        return self._items[key]

    def __setitem__(self, key, value):
        self._items[key] = value

    def __delitem__(self, key):
        del self._items[key]

    def __contains__(self, key):
        return key in self._items

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def get(self, key, default=None):
        return self._items.get(key, default)

    def keys(self):
        return self._items.keys()

    def values(self):
        return self._items.values()

    def items(self):
        return self._items.items()

    def pop(self, key, *default):
        return self._items.pop(key, *default)

    def update(self, *args, **kwargs):
        self._items.update(*args, **kwargs)


class Counter(defaultdict):
    def __init__(self, iterable=()):
        super().__init__(int)
        for item in iterable:
            self._items[item] = self._items.get(item, 0) + 1

    def __getitem__(self, key):
        return self._items.get(key, 0)

    def most_common(self, n=None):
        pairs = sorted(self._items.items(), key=lambda pair: -pair[1])
        return pairs if n is None else pairs[:n]


class deque:
    def __init__(self, iterable=(), maxlen=None):
        self._items = []
        self.maxlen = maxlen
        self.extend(iterable)

    def append(self, item):
        self._items.append(item)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            self._items.pop(0)

    def appendleft(self, item):
        self._items.insert(0, item)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            self._items.pop()

    def extend(self, iterable):
        for item in iterable:
            self.append(item)

    def pop(self):
        return self._items.pop()

    def popleft(self):
        return self._items.pop(0)

    def clear(self):
        self._items = []

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def __getitem__(self, index):
        return self._items[index]

    def __contains__(self, item):
        return item in self._items
