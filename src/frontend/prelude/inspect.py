# SPDX-License-Identifier: Apache-2.0
# inspect.py - signatures, and what kind of thing an object is.
from collections import OrderedDict, namedtuple
from types import ModuleType as _ModuleType
import types as _types


class _empty:
    pass


class Parameter:
    POSITIONAL_ONLY = 0
    POSITIONAL_OR_KEYWORD = 1
    VAR_POSITIONAL = 2
    KEYWORD_ONLY = 3
    VAR_KEYWORD = 4
    empty = _empty

    def __init__(self, name, kind, default=_empty, annotation=_empty):
        self.name = name
        self.kind = kind
        self.default = default
        self.annotation = annotation


class Signature:
    empty = return_annotation = _empty

    def __init__(self, parameters):
        self.parameters = OrderedDict()
        for p in parameters:
            self.parameters[p.name] = p


    def bind(self, *args, **kwargs):
        return BoundArguments(self, _bind(self.parameters, args, kwargs, False))

    def bind_partial(self, *args, **kwargs):
        return BoundArguments(self, _bind(self.parameters, args, kwargs, True))


class BoundArguments:
    def __init__(self, signature, arguments):
        self.signature = signature
        self.arguments = arguments

    def apply_defaults(self):
        all = OrderedDict()
        for name, p in self.signature.parameters.items():
            if name in self.arguments:
                all[name] = self.arguments[name]
            elif p.default is not _empty:
                all[name] = p.default
            elif p.kind == Parameter.VAR_POSITIONAL:
                all[name] = ()
            elif p.kind == Parameter.VAR_KEYWORD:
                all[name] = {}
        self.arguments = all

    @property
    def args(self):
        out = []
        for name, p in self.signature.parameters.items():
            if p.kind == Parameter.VAR_POSITIONAL:
                out.extend(self.arguments.get(name, ()))
            elif p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
                if name not in self.arguments:
                    break
                out.append(self.arguments[name])
        return tuple(out)


def _bind(parameters, args, kwargs, partial):
    bound = OrderedDict()
    kwargs = dict(kwargs)
    rest = list(args)
    for name, p in parameters.items():
        if p.kind == Parameter.VAR_POSITIONAL:
            if rest:
                bound[name] = tuple(rest)
            rest = []
        elif p.kind == Parameter.VAR_KEYWORD:
            if kwargs:
                bound[name] = kwargs
            kwargs = {}
        elif rest and p.kind != Parameter.KEYWORD_ONLY:
            if name in kwargs and p.kind != Parameter.POSITIONAL_ONLY:
                raise TypeError("multiple values for argument '{}'".format(name))
            bound[name] = rest.pop(0)
        elif name in kwargs and p.kind != Parameter.POSITIONAL_ONLY:
            bound[name] = kwargs.pop(name)
        elif p.default is _empty and not partial:
            raise TypeError("missing a required argument: '{}'".format(name))
    if rest:
        raise TypeError('too many positional arguments')
    if kwargs:
        raise TypeError("got an unexpected keyword argument '{}'".format(list(kwargs)[0]))
    return bound


class FullArgSpec:
    def __init__(self, parameters):
        named = [p for p in parameters if p.kind == Parameter.POSITIONAL_OR_KEYWORD]
        defaults = tuple(p.default for p in named if p.default is not _empty)
        only = [p for p in parameters if p.kind == Parameter.KEYWORD_ONLY]
        self.args = [p.name for p in named]
        self.varargs = None
        self.varkw = None
        for p in parameters:
            if p.kind == Parameter.VAR_POSITIONAL:
                self.varargs = p.name
            if p.kind == Parameter.VAR_KEYWORD:
                self.varkw = p.name
        self.defaults = defaults if defaults else None
        self.kwonlyargs = [p.name for p in only]
        self.kwonlydefaults = {p.name: p.default for p in only if p.default is not _empty} or None


def _of(obj, bound):
    return [Parameter(name, kind, default) for name, kind, default in _parameters(obj, bound, _empty)]


def signature(obj, **kwargs):
    return Signature(_of(obj, True))


def getfullargspec(func):
    return FullArgSpec(_of(func, False))


def isclass(obj):
    return isinstance(obj, type)


def ismodule(obj):
    return _kind(obj) == 'module'


def isfunction(obj):
    return _kind(obj) == 'function'


def ismethod(obj):
    return _kind(obj) == 'method'


def isbuiltin(obj):
    return _kind(obj) == 'builtin'


def isroutine(obj):
    return _kind(obj) in ('function', 'method', 'builtin')


def isabstract(obj):
    return False


def isgenerator(obj):
    return False


def getmodule(obj):
    import sys
    return sys.modules.get(getattr(obj, '__module__', None))


def get_annotations(obj, **kwargs):
    return getattr(obj, '__annotations__', {})


def getfile(obj):
    return getmodule(obj).__file__


getsourcefile = getfile


def getmembers(obj, predicate=None):
    result = []
    for name in sorted(dir(obj)):
        if hasattr(obj, name):
            value = getattr(obj, name)
            if predicate is None or predicate(value):
                result.append((name, value))
    return result


def getmro(cls):
    return cls.__mro__


def getdoc(obj):
    return getattr(obj, '__doc__', None)


def cleandoc(doc):
    return '\n'.join(line.strip() for line in doc.strip().split('\n'))


# A function that runs: its names as they are when they are asked for.
class FrameType:
    def __init__(self, frames):
        self.f_code = _types.SimpleNamespace(co_name=frames[0][0], co_filename='<string>')
        self.f_locals = frames[0][1]
        self.f_globals = frames[0][2]
        self.f_lineno = 0
        self._outer = frames[1:]

    @property
    def f_back(self):
        return FrameType(self._outer) if self._outer else None


ArgInfo = namedtuple('ArgInfo', 'args varargs keywords locals')


def currentframe():
    return FrameType(_frames()[1:])


def getargvalues(frame):
    return ArgInfo([name for name in frame.f_locals], None, None, frame.f_locals)
