"""What model files use of Python's library and of torch around their models; Python prints the same."""
import argparse
import dataclasses
import enum
import fnmatch
import importlib.util
import inspect
import keyword
import pathlib
import pkgutil
import sys
import time
import types
import typing
import warnings
from urllib.parse import urlparse

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.data import DataLoader, Dataset, TensorDataset

namespace = types.SimpleNamespace(a=1, b="x")
print(namespace, vars(namespace), namespace == types.SimpleNamespace(a=1, b="x"))  # expect: namespace(a=1, b='x') {'a': 1, 'b': 'x'} True


@dataclasses.dataclass
class Config:
    width: int = 3
    depth: int = 4


config = dataclasses.replace(Config(), depth=5)
print(config.width, config.depth, [f.name for f in dataclasses.fields(config)], dataclasses.astuple(config))  # expect: 3 5 ['width', 'depth'] (3, 5)
print(typing.get_args(typing.List[int]) == (int,), typing.get_origin(typing.Dict[str, int]) is dict)  # expect: True True
print(typing.get_args(typing.Literal["a", "b"]), typing.get_args(int), typing.get_origin(int))  # expect: ('a', 'b') () None
print(typing.get_args(typing.Optional[int]) == (int, type(None)), typing.get_origin(typing.Optional[int]) is typing.Union)  # expect: True True


class Colour(enum.Enum, metaclass=enum.EnumMeta):
    RED = enum.auto()


class A:
    pass


class B(A):
    pass


class C(A):
    pass


print(Colour.RED.value, [c.__name__ for c in A.__subclasses__()], B.__subclasses__())  # expect: 1 ['B', 'C'] []
LATER = 3
print(sys.modules[__name__].LATER, "nowhere" in sys.modules)  # expect: 3 False

parser = argparse.ArgumentParser(description="x")
group = parser.add_argument_group("g")
group.add_argument("--lr", type=float, default=0.1)
group.add_argument("-n", "--num-layers", type=int, default="3")
parser.add_argument("--flag", action="store_true")
parser.add_argument("--name", choices=["a", "b"])
parser.set_defaults(extra=7)
args = parser.parse_args([])
print(args.lr, args.num_layers, args.flag, args.name, args.extra)  # expect: 0.1 3 False None 7


def f(a, b=2, *c, d, e=5, **g):
    return a


signature = inspect.signature(f)
print(list(signature.parameters), signature.parameters["b"].default, signature.parameters["a"].default is inspect.Parameter.empty)  # expect: ['a', 'b', 'c', 'd', 'e', 'g'] 2 True
print([p.kind == inspect.Parameter.KEYWORD_ONLY for p in signature.parameters.values()])  # expect: [False, False, False, True, True, False]
print(list(inspect.signature(Config).parameters), inspect.isfunction(f), inspect.isclass(A))  # expect: ['width', 'depth'] True True
spec = inspect.getfullargspec(f)
print(spec.args, spec.varargs, spec.varkw, spec.defaults, spec.kwonlyargs, spec.kwonlydefaults)  # expect: ['a', 'b'] c g (2,) ['d', 'e'] {'e': 5}

print(fnmatch.filter(["resnet18", "resnet50", "vgg"], "res*[!0]"), fnmatch.fnmatch("abc", "a?c"))  # expect: ['resnet18'] True
print(urlparse("https://a.b:8/c/d.pth?e=f#g").path, urlparse("https://a.b/c").netloc)  # expect: /c/d.pth a.b
print(importlib.util.find_spec("nowhere"), importlib.util.find_spec("torch") is not None, list(pkgutil.iter_modules([])))  # expect: None True []
print(keyword.iskeyword("def"), time.time() >= 0)  # expect: True True
path = pathlib.Path("/a/b") / "c.tar.gz"
print(path, path.name, path.stem, path.suffix, path.parent, path.with_suffix(".x"), path.parts)  # expect: /a/b/c.tar.gz c.tar.gz c.tar .gz /a/b /a/b/c.tar.x ('/', 'a', 'b', 'c.tar.gz')
with warnings.catch_warnings():
    warnings.simplefilter("ignore")


class Data(Dataset):
    def __len__(self):
        return 5


print(len(Data()), len(DataLoader(Data(), batch_size=2)), len(TensorDataset(torch.zeros(4))))  # expect: 5 3 4
with torch.device("cpu"), sdpa_kernel(SDPBackend.MATH):
    linear = torch.compile(torch.nn.Linear(2, 2))
print(isinstance(linear, torch.nn.Module))  # expect: True


@torch.compile(dynamic=True)
def double(x):
    return 2 * x


@torch.compiler.disable
def triple(x):
    return 3 * x


def forward():
    return int(double(torch.ones(1)) + triple(torch.ones(1)))  # expect: 5
