"""Classes derived from dict and list, and builtin methods taken from their classes."""
from collections import OrderedDict, namedtuple

import torch.nn as nn


class AttrDict(dict):
    def __init__(self, *args, **kwargs):
        super(AttrDict, self).__init__(*args, **kwargs)
        self.__dict__ = self


class Getter(dict):
    __getattr__ = dict.get
    __setattr__ = dict.__setitem__


class Instances(OrderedDict):
    def __getitem__(self, key):
        cls, kwargs = super().__getitem__(key)
        return cls(**kwargs)


class Named(dict):
    def __init__(self, **kwargs):
        dict.__init__(self, **kwargs)

    def __missing__(self, key):
        return "no " + key


class Stack(list):
    def push(self, item):
        self.append(item)
        return self


a = AttrDict({"dim": 8}, depth=2)
a.width = 3
print(a.dim, a["depth"], a["width"], len(a), "dim" in a, isinstance(a, dict), a)  # expect: 8 2 3 3 True True {'dim': 8, 'depth': 2, 'width': 3}
print(dict(**a) == a, sorted(a), [k for k, v in a.items() if v > 2])  # expect: True ['depth', 'dim', 'width'] ['dim', 'width']
g = Getter(x=1)
g.y = 2
print(g.x, g["y"], g.z)  # expect: 1 2 None
i = Instances(relu=(nn.ReLU, {"inplace": True}))
print(i["relu"].inplace, list(i))  # expect: True ['relu']
n = Named(b=1)
print(n["b"], n["c"], n.get("c", 0), dict.get(n, "b"), dict.__getitem__({"k": 5}, "k"))  # expect: 1 no c 0 1 5
s = Stack([1]).push(2).push(3)
print(s[-1], len(s), s[1:], sum(s), isinstance(s, list), list.index(s, 2))  # expect: 3 3 [2, 3] 6 True 1
for wrong in (lambda: list.append(5, 1), lambda: str.upper(5), lambda: dict.items([1]), lambda: tuple.index(5, 1)):
    try:
        wrong()
    except TypeError as e:
        print(e)
# expect: descriptor 'append' requires a 'list' object but received 'int'
# expect: descriptor 'upper' requires a 'str' object but received 'int'
# expect: descriptor 'items' requires a 'dict' object but received 'list'
# expect: descriptor 'index' requires a 'tuple' object but received 'int'


class Pair(tuple):
    def __new__(cls, a, b):
        return super().__new__(cls, (a, b))

    @property
    def first(self):
        return self[0]


class Odd(tuple):
    pass


pair = Pair(1, 2)
a, b = pair
print(pair, pair.first, len(pair), a + b, pair == (1, 2), (1, 2) == pair, isinstance(pair, tuple))
print(pair + (3,), list(pair), Odd([1, 2])[1], tuple(pair), sorted([Pair(2, 1), pair])[0] == pair, 2 in pair)
# expect: (1, 2) 1 2 3 True True True
# expect: (1, 2, 3) [1, 2] 2 (1, 2) True True


class Answer(namedtuple("Answer", ["value", "error"])):
    def __repr__(self):
        return "fine" if not self.error else super().__repr__()


print(Answer(1, ""), [Answer(1, "")], str(Answer(2, "e")), Answer(1, "") == (1, ""))
# expect: fine [fine] Answer(value=2, error='e') True


def forward() -> int:
    return 1

# expect: 1
