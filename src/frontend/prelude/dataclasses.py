# SPDX-License-Identifier: Apache-2.0
# dataclasses.py - what looks at dataclasses; py_classes.c makes them.
from copy import deepcopy as _deepcopy


class FrozenInstanceError(AttributeError):
    pass


class _Missing:
    def __repr__(self):
        return '<dataclasses._MISSING_TYPE object>'


MISSING = _Missing()


class Field:
    default = default_factory = kw_only = MISSING
    init = repr = compare = True
    hash = None
    metadata = {}

    @property
    def type(self):
        return _annotation(self._owner, self.name)


class _DataclassParams:
    def __init__(self, **options):
        self.__dict__.update(options)


def dataclass(cls=None, *, init=True, repr=True, eq=True, order=False, unsafe_hash=False, frozen=False, match_args=True,
              kw_only=False, slots=False, weakref_slot=False):
    # what the options change is read from the source where it matters
    def decorator(cls):
        _make(cls, init)
        cls.__dataclass_params__ = _DataclassParams(init=init, repr=repr, eq=eq, order=order, unsafe_hash=unsafe_hash,
                                                    frozen=frozen, match_args=match_args, kw_only=kw_only, slots=slots)
        return cls
    return decorator if cls is None else decorator(cls)


def is_dataclass(obj):
    return hasattr(obj if isinstance(obj, type) else type(obj), '__dataclass_fields__')


def fields(class_or_instance):
    if not is_dataclass(class_or_instance):
        raise TypeError('must be called with a dataclass type or instance')
    return tuple(class_or_instance.__dataclass_fields__.values())


def _values(obj, name):
    if isinstance(obj, type) or not is_dataclass(obj):
        raise TypeError(name + '() should be called on dataclass instances')
    return {f.name: getattr(obj, f.name) for f in fields(obj)}


def replace(obj, **changes):
    values = {f.name: getattr(obj, f.name) for f in fields(obj) if f.init}
    values.update(changes)
    return type(obj)(**values)


def _inner(obj, whole):
    if isinstance(obj, type):
        return obj
    if is_dataclass(obj):
        return whole(obj)
    if isinstance(obj, dict):
        return {_inner(k, whole): _inner(v, whole) for k, v in obj.items()}
    if isinstance(obj, list):
        return [_inner(v, whole) for v in obj]
    if isinstance(obj, tuple):
        values = [_inner(v, whole) for v in obj]
        return type(obj)(*values) if hasattr(obj, '_fields') else tuple(values)
    return _deepcopy(obj)


def asdict(obj, *, dict_factory=dict):
    return dict_factory([(k, _inner(v, asdict)) for k, v in _values(obj, 'asdict').items()])


def astuple(obj, *, tuple_factory=tuple):
    return tuple_factory([_inner(v, astuple) for v in _values(obj, 'astuple').values()])
