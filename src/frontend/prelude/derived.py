# SPDX-License-Identifier: Apache-2.0
# _derived - what a program's classes derive from where they name dict, list, tuple or property: the same methods on a container of its own.
# (The evaluator's dicts, lists and tuples have no class that could be another one.)


def _of(self):
    return self._plain() if isinstance(self, (Dict, List, Tuple)) else self


class Dict:
    def __init__(self, *args, **kwargs):
        _of(self).update(*args, **kwargs)

    def _plain(self):
        if '_items' not in self.__dict__:
            object.__setattr__(self, '_items', {})
            object.__setattr__(self, '_attributes_are_items', False)
        return self.__dict__['_items']

    # self.__dict__ = self: attributes are items from then on
    def __setattr__(self, name, value):
        if name == '__dict__' and value is self:
            self._plain()
            object.__setattr__(self, '_attributes_are_items', True)
        elif self.__dict__.get('_attributes_are_items'):
            self._plain()[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name):
        if self.__dict__.get('_attributes_are_items') and name in self._plain():
            return self._plain()[name]
        raise AttributeError("'{}' object has no attribute '{}'".format(type(self).__name__, name))

    def __getitem__(self, key):
        if key not in _of(self) and hasattr(self, '__missing__'):
            return self.__missing__(key)
        return _of(self)[key]

    def __setitem__(self, key, value):
        _of(self)[key] = value

    def __delitem__(self, key):
        del _of(self)[key]

    def __contains__(self, key):
        return key in _of(self)

    def __iter__(self):
        return iter(_of(self))

    def __reversed__(self):
        return reversed(list(self._plain()))

    def __len__(self):
        return len(_of(self))

    def __eq__(self, other):
        return _of(self) == (other._plain() if isinstance(other, Dict) else other)

    def __ne__(self, other):
        return not self == other

    def __or__(self, other):
        return self._plain() | dict(other)

    def __repr__(self):
        return repr(_of(self))

    def get(self, key, default=None):
        return self._plain().get(key, default)

    def setdefault(self, key, default=None):
        return self._plain().setdefault(key, default)

    def keys(self):
        return self._plain().keys()

    def values(self):
        return self._plain().values()

    def items(self):
        return self._plain().items()

    def pop(self, key, *default):
        return self._plain().pop(key, *default)

    def popitem(self, *args):
        return self._plain().popitem(*args)

    def move_to_end(self, key, last=True):
        value = self._plain().pop(key)
        rest = {} if last else dict(self._plain())
        if not last:
            self._plain().clear()
        self._plain()[key] = value
        self._plain().update(rest)

    def clear(self):
        self._plain().clear()

    def update(self, *args, **kwargs):
        self._plain().update(*args, **kwargs)

    def copy(self):
        return dict(self._plain())


class List:
    def __init__(self, items=()):
        _of(self).extend(items)

    def _plain(self):
        if '_items' not in self.__dict__:
            object.__setattr__(self, '_items', [])
        return self.__dict__['_items']

    def __getitem__(self, index):
        return _of(self)[index]

    def __setitem__(self, index, value):
        _of(self)[index] = value

    def __delitem__(self, index):
        del _of(self)[index]

    def __contains__(self, item):
        return item in _of(self)

    def __iter__(self):
        return iter(_of(self))

    def __reversed__(self):
        return reversed(self._plain())

    def __len__(self):
        return len(_of(self))

    def __eq__(self, other):
        return _of(self) == (other._plain() if isinstance(other, List) else other)

    def __ne__(self, other):
        return not self == other

    def __add__(self, other):
        return self._plain() + list(other)

    def __iadd__(self, other):
        self._plain().extend(other)
        return self

    def __mul__(self, n):
        return self._plain() * n

    def __repr__(self):
        return repr(_of(self))

    def append(self, item):
        self._plain().append(item)

    def extend(self, items):
        self._plain().extend(items)

    def insert(self, index, item):
        self._plain().insert(index, item)

    def pop(self, index=-1):
        return self._plain().pop(index)

    def remove(self, item):
        self._plain().remove(item)

    def index(self, item):
        return self._plain().index(item)

    def count(self, item):
        return self._plain().count(item)

    def reverse(self):
        self._plain().reverse()

    def sort(self, **kwargs):
        self._plain().sort(**kwargs)

    def clear(self):
        self._plain().clear()

    def copy(self):
        return list(self._plain())


class Tuple:
    def __new__(cls, items=()):
        self = object.__new__(cls)
        object.__setattr__(self, '_items', tuple(items))
        return self

    def _plain(self):
        return self.__dict__['_items']

    def __getitem__(self, index):
        return _of(self)[index]

    def __contains__(self, item):
        return item in _of(self)

    def __iter__(self):
        return iter(_of(self))

    def __len__(self):
        return len(_of(self))

    def __eq__(self, other):
        return _of(self) == _of(other)

    def __ne__(self, other):
        return not self == other

    def __lt__(self, other):
        return _of(self) < _of(other)

    def __hash__(self):
        return hash(_of(self))

    def __add__(self, other):
        return self._plain() + _of(other)

    def __mul__(self, n):
        return self._plain() * n

    def __repr__(self):
        return repr(_of(self))

    def index(self, item):
        return self._plain().index(item)

    def count(self, item):
        return self._plain().count(item)


class Mapping:
    """collections.abc.MutableMapping: what follows from a class's own __getitem__, __setitem__, __delitem__, __iter__ and __len__."""

    def get(self, key, default=None):
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key):
        try:
            self[key]
        except KeyError:
            return False
        return True

    def keys(self):
        return {key: None for key in self}.keys()

    def values(self):
        return [self[key] for key in self]

    def items(self):
        return [(key, self[key]) for key in self]

    def __eq__(self, other):
        return dict(self.items()) == dict(other.items())

    def pop(self, key, *default):
        if default and key not in self:
            return default[0]
        value = self[key]
        del self[key]
        return value

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self):
        for key in list(self):
            del self[key]

    def update(self, *args, **kwargs):
        for key, value in dict(*args, **kwargs).items():
            self[key] = value


class Property:
    def __init__(self, fget=None, fset=None, fdel=None, doc=None):
        self.fget = fget
        self.fset = fset
        self.fdel = fdel

    def __get__(self, obj, cls=None):
        if obj is None:
            return self
        if self.fget is None:
            raise AttributeError('unreadable attribute')
        return self.fget(obj)

    def __set__(self, obj, value):
        if self.fset is None:
            raise AttributeError("can't set attribute")
        self.fset(obj, value)

    def getter(self, fget):
        return type(self)(fget, self.fset, self.fdel)

    def setter(self, fset):
        return type(self)(self.fget, fset, self.fdel)

    def deleter(self, fdel):
        return type(self)(self.fget, self.fset, fdel)
