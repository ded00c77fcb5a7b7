"""Keywords of class statements reach __init_subclass__: libraries register classes so."""
import torch
from torch import Tensor, nn


class Base(nn.Module):
    table = {}

    def __init_subclass__(cls, name=None, **kwargs):
        super().__init_subclass__(**kwargs)
        Base.table[name] = cls


class One(Base, name="One"):
    def forward(self, x: Tensor):
        return x + 1


class Plain:
    def __init_subclass__(cls, /, tag, more=3, **kw):
        super().__init_subclass__(**kw)
        cls.tag = (tag, more)


class Tagged(Plain, tag="t", more=2 + 2):
    pass


print(Tagged.tag, sorted(Base.table))
try:
    class A(Plain):
        pass
except TypeError as e:
    print(e)
try:
    class B(Plain, tag=1, other=2):
        pass
except TypeError as e:
    print(e)
print(isinstance(3, (int, torch.SymInt)), isinstance(3, torch.SymInt))

# expect: ('t', 4) ['One']
# expect: Plain.__init_subclass__() missing 1 required positional argument: 'tag'
# expect: B.__init_subclass__() takes no keyword arguments
# expect: True False


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = Base.table["One"]()

    def forward(self) -> float:
        return float(self.one(torch.zeros(1)))
# expect: 1.
