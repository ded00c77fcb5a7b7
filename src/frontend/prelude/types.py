# SPDX-License-Identifier: Apache-2.0
# types.py - the part of Python's types that makes objects.


class SimpleNamespace:
    def __init__(self, **kwargs):
        for name, value in kwargs.items():
            setattr(self, name, value)

    def __repr__(self):
        return 'namespace(' + ', '.join(k + '=' + repr(v) for k, v in vars(self).items()) + ')'

    def __eq__(self, other):
        return isinstance(other, SimpleNamespace) and vars(self) == vars(other)


def DynamicClassAttribute(fget):
    return property(fget)


def MappingProxyType(mapping):
    return dict(mapping)


NoneType = type(None)


class CodeType:
    def __init__(self, function, name, parameters):
        self._function = function
        self.co_name = name
        self.co_varnames = tuple(parameters)  # without the variables of the body
        self.co_argcount = len(parameters)


def _new_function(cls, code, globals, name=None, argdefs=None, closure=None):
    return _copy(code._function)


FunctionType.__new__ = _new_function
LambdaType = FunctionType
