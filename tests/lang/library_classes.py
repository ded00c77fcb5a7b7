"""What libraries of models do with classes, functions and contexts at module level; Python prints the same."""
import contextvars
import enum
import inspect
import json
import threading
import types
import typing
import weakref
from collections import OrderedDict
from collections.abc import MutableMapping
from contextlib import ExitStack, contextmanager
from dataclasses import MISSING, asdict, astuple, dataclass, field, fields, is_dataclass, replace
from functools import partialmethod

import torch


# Dataclasses tell of their fields; a base can make dataclasses of what derives from it.
@dataclass
class Base:
    width: int = 3
    names: list[str] = field(default_factory=list, metadata={"help": "of layers"})

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        dataclass(cls, repr=False, kw_only=True)


class Config(Base):
    depth: typing.Optional[int] = None


print([f.name for f in fields(Config)], Config.__dataclass_fields__["depth"].type, is_dataclass(Config))  # expect: ['width', 'names', 'depth'] typing.Optional[int] True
print(fields(Base)[0].type, fields(Base)[0].default, fields(Base)[1].default is MISSING, fields(Base)[1].metadata["help"])  # expect: <class 'int'> 3 True of layers
config = Config(width=5, names=["a"], depth=2)
print(asdict(config), astuple(config), replace(config, width=1).width)  # expect: {'width': 5, 'names': ['a'], 'depth': 2} (5, ['a'], 2) 1
print(asdict(config)["names"] is config.names, hasattr(Config, "names"), Config.__dataclass_params__.repr)  # expect: False False False
print(list(inspect.signature(Config.__init__).parameters)[-1], sorted(typing.get_type_hints(Config)))  # expect: depth ['depth', 'names', 'width']


# Attributes by other names, properties of classes.
class Renamed:
    other = {"size": "width"}

    def __getattribute__(self, name):
        if name != "other" and name in super().__getattribute__("other"):
            name = super().__getattribute__("other")[name]
        return super().__getattribute__(name)

    def __getattr__(self, name):
        return "no " + name


class classproperty(property):
    def __get__(self, obj, owner=None):
        return self.fget(owner)


class Named(Renamed):
    @classproperty
    def kind(cls):
        return cls.__name__.lower()


named = Named()
named.width = 7
print(named.size, named.depth, Named.kind, named.kind)  # expect: 7 no depth named named


# Containers made of abstract ones and of generic ones.
class Table(MutableMapping):
    def __init__(self):
        self.rows = {}

    def __getitem__(self, key):
        return self.rows[key]

    def __setitem__(self, key, value):
        self.rows[key] = value

    def __delitem__(self, key):
        del self.rows[key]

    def __iter__(self):
        return iter(self.rows)

    def __len__(self):
        return len(self.rows)


table = Table()
table.update({"a": 1, "b": 2})
print(list(table.keys()), table.get("c", 3), "a" in table, table.pop("a"), dict(table.items()), table.setdefault("d", 4))  # expect: ['a', 'b'] 3 True 1 {'b': 2} 4


class Ordered(OrderedDict[str, int]):
    def total(self):
        return sum(self.values())


mapping = OrderedDict([("x", 1)])
mapping.owner = "m"
print(Ordered(a=1, b=2).total(), mapping.owner, sorted(mapping.keys() | {"y"}), sorted({"x", "z"} - mapping.keys()))  # expect: 3 m ['x', 'y'] ['z']


# Contexts that are generators.
@contextmanager
def noted(name):
    print("enter", name)
    try:
        yield name * 2
    except ValueError as e:
        print("took", e)
    finally:
        print("leave", name)


def inside():
    with noted("a") as text, noted("b"):  # expect: enter a
        return text  # expect: enter b


@noted("d")
def decorated():
    return 4


print(inside())  # expect: leave b
with noted("c"):  # expect: leave a
    raise ValueError("x")  # expect: aa
print(decorated())  # expect: enter c
try:  # expect: took x
    with noted("e"):  # expect: leave c
        raise KeyError("y")  # expect: enter d
except KeyError as e:  # expect: leave d
    print("through", e)  # expect: 4
with ExitStack() as stack:  # expect: enter e
    stack.callback(print, "last")  # expect: leave e
    stack.enter_context(threading.Lock())  # expect: through 'y'
    print("first")  # expect: first
print("end")  # expect: last


# Flags, functions, variables, texts.  # expect: end
class Access(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()
    RUN = enum.auto()


class Level(enum.IntFlag):
    LOW = 1
    HIGH = 2


print((Access.READ | Access.RUN).value, bool(Access.READ & Access.WRITE), Access.RUN in ~Access.READ, (Level.LOW | 4).value, 1 + Level.HIGH)  # expect: 5 False True 5 3


def scaled(x, factor=2, *, shift=1):
    return x * factor + shift


copied = types.FunctionType(scaled.__code__, scaled.__globals__, name="scaled", argdefs=scaled.__defaults__, closure=scaled.__closure__)
print(copied(3, shift=0), scaled.__kwdefaults__, scaled.__code__.co_varnames, isinstance(scaled, types.FunctionType))  # expect: 6 {'shift': 1} ('x', 'factor', 'shift') True
print(inspect.getsource(scaled).split()[:2], type(inspect.getsourcefile(scaled)).__name__)  # expect: ['def', 'scaled(x,'] str
depth = contextvars.ContextVar("depth", default=0)
token = depth.set(3)
print(depth.get(), depth.reset(token), depth.get(), weakref.ref(table)() is table, len(weakref.WeakKeyDictionary()))  # expect: 3 None 0 True 0
print(json.dumps({"a": [1, 2.5, None], 'q"': {}, "t": (True, "\n\u00e9")}), json.dumps([{"b": 1, "a": 2}], indent=1, sort_keys=True).split("\n"))  # expect: {"a": [1, 2.5, null], "q\"": {}, "t": [true, "\n\u00e9"]} ['[', ' {', '  "a": 2,', '  "b": 1', ' }', ']']


class Twice:
    def scale(self, factor, x):
        return factor * x

    double = partialmethod(scale, 2)


@torch.no_grad
def plain(x):
    return x + 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = torch.nn.Buffer(torch.arange(3.0), persistent=False)
        self.scale = torch.nn.Buffer(torch.ones(1))

    def forward(self, x):
        return x + self.steps * self.scale


print(Twice().double(4), plain(1), list(dict(Net().named_buffers())), list(Net().state_dict()))  # expect: 8 2 ['steps', 'scale'] ['scale']


class Main(Net):
    def forward(self):
        return int((self.steps * self.scale).sum())  # expect: 3
