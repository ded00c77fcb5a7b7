# SPDX-License-Identifier: Apache-2.0
# dataclasses.py - what looks at dataclasses; py_classes.c makes them.


class FrozenInstanceError(AttributeError):
    pass


def fields(class_or_instance):
    result = []
    for name in _field_names(class_or_instance):
        f = Field()
        f.name = name
        result.append(f)
    return tuple(result)


def replace(obj, **changes):
    values = {name: getattr(obj, name) for name in _field_names(obj)}
    values.update(changes)
    return type(obj)(**values)


def astuple(obj):
    return tuple(getattr(obj, name) for name in _field_names(obj))
