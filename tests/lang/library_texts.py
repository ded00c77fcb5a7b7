"""Texts of JSON read, signatures bound, exceptions described, enums of strings: Python prints the same."""
import enum
import inspect
import json
import string
import traceback
from urllib.parse import unquote

import numpy as np


class Mode(str, enum.Enum):
    UP = "up"
    DOWN = "down"

    def __str__(self):
        return self.value


def tried(f, *args, **kwargs):
    try:
        return f(*args, **kwargs)
    except (ValueError, TypeError) as e:
        return type(e).__name__ + ": " + str(e)


def f(a, b=2, *rest, k, m=5, **kw):
    pass


def bound(*args, **kwargs):
    b = inspect.signature(f).bind(*args, **kwargs)
    given = dict(b.arguments)
    b.apply_defaults()
    return given, b.args, dict(b.arguments)


print(json.loads('{"a": [1, -2.5e3, true, null, "x\\n\\u00e9\\"q\\ud83d\\ude00"], "b": {}, "c": [], "d": {"e": "f"}}'), json.loads(' 3 '), json.loads('"a"'))  # expect: {'a': [1, -2500.0, True, None, 'x\né"q😀'], 'b': {}, 'c': [], 'd': {'e': 'f'}} 3 a
print(tried(json.loads, '{"a" 1}'))  # expect: JSONDecodeError: Expecting ':' delimiter: line 1 column 6 (char 5)
print(tried(json.loads, '[1 2]'))  # expect: JSONDecodeError: Expecting ',' delimiter: line 1 column 4 (char 3)
print(tried(json.loads, '"ab'))  # expect: JSONDecodeError: Unterminated string starting at: line 1 column 1 (char 0)
print(tried(json.loads, '[1]\n 2'))  # expect: JSONDecodeError: Extra data: line 2 column 2 (char 5)
print(tried(json.loads, '{1: 2}'))  # expect: JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)
print(tried(json.loads, ''))  # expect: JSONDecodeError: Expecting value: line 1 column 1 (char 0)
print(tried(bound, 1, k=3))  # expect: ({'a': 1, 'k': 3}, (1, 2), {'a': 1, 'b': 2, 'rest': (), 'k': 3, 'm': 5, 'kw': {}})
print(tried(bound, 1, 2, 3, 4, k=3, z=9))  # expect: ({'a': 1, 'b': 2, 'rest': (3, 4), 'k': 3, 'kw': {'z': 9}}, (1, 2, 3, 4), {'a': 1, 'b': 2, 'rest': (3, 4), 'k': 3, 'm': 5, 'kw': {'z': 9}})
print(tried(bound, 1))  # expect: TypeError: missing a required argument: 'k'
print(tried(bound, 1, a=2, k=1))  # expect: TypeError: multiple values for argument 'a'
print(tried(inspect.signature(tried).bind))  # expect: TypeError: missing a required argument: 'f'
print(dict(inspect.signature(f).bind_partial().arguments), traceback.format_exception_only(ValueError("no")))  # expect: {} ['ValueError: no\n']
print(unquote("a%20b%2Fc%zz"), {"up": 1}[Mode.UP], Mode.DOWN[1:], isinstance(Mode, enum.EnumMeta), isinstance(Mode.UP, enum.EnumMeta), {Mode.UP: 3}["up"])  # expect: a b/c%zz 1 own True False 3
print(np.atleast_1d(3).shape, np.atleast_1d([1, 2]).shape, np.atleast_2d([1, 2]).shape, np.ndim([[1]]), np.roll([1, 2, 3], 1).tolist())  # expect: (1,) (2,) (1, 2) 2 [3, 1, 2]
print(string.ascii_letters[25:28], len(string.printable), string.capwords("a bc  d"), string.punctuation[-3:], repr(string.whitespace))  # expect: zAB 100 A Bc D |}~ ' \t\n\r\x0b\x0c'


def forward() -> int:
    return 1
# expect: 1
