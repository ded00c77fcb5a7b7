# SPDX-License-Identifier: Apache-2.0
"""Programs for resave.py that are made by PyTorch on the spot: what the corpus has little of.

Each function returns (module or function to script, list of argument tuples).
"""
import enum
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import torch
from torch import nn


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow and steady"


class Level(enum.Enum):
    LOW = 0.5
    HIGH = 1.25


class Pair(NamedTuple):
    left: int
    right: Optional[torch.Tensor]


def constants():
    @torch.jit.script
    def f(x: torch.Tensor, flag: bool):
        a = float("inf")
        b = -float("inf")
        c = 1234567.0
        d = 1e17
        e = 2.5e-300
        n = float("nan")
        z = -0.0
        i = 9223372036854775807
        j = -9223372036854775807
        s = "quote \" and ' back \\ tab \t nl \n bell \a"
        u = "größe → 長さ"
        k = torch.device("cpu")
        q = 3 + 4j
        r = 2j
        if flag:
            s = s + u
        return a, b, c, d, e, n, z, i, j, s, u, str(k), q, r, [1, 2], [0.5], {"k": u}
    return f, [(torch.ones(2), True), (torch.ones(2), False)]


def loops():
    @torch.jit.script
    def f(n: int, xs: List[int]):
        total = 0
        seen: List[int] = []
        for i in range(n):
            if i == 3:
                continue
            if i > 6:
                break
            for x in xs:
                if x == i:
                    seen.append(x)
                    break
                total += x
            else_ = 0
            while True:
                else_ += 1
                if else_ > i:
                    break
            total += else_
        for i in range(10, 0, -3):
            if total > 1000:
                return total, seen
            total += i
        k = 0
        while k < 5 and total > 3:
            k += 1
            total -= 1
            if total % 7 == 0:
                return -total, seen
        return total, seen
    return f, [(0, [1]), (10, [4, 5]), (200, list(range(50))), (7, [])]


def optionals():
    @torch.jit.script
    def helper(x: Optional[int] = None, y: Union[int, str, List[float]] = "a") -> Union[int, str]:
        best: Optional[int] = None
        for i in range(3):
            if x is not None and i > x:
                best = i
        if isinstance(y, str):
            return y
        elif isinstance(y, int):
            return y + (best if best is not None else -1)
        else:
            z: Union[int, str] = len(y)
            if len(y) > 2:
                z = "many"
            return z

    @torch.jit.script
    def f(x: Optional[int], y: Union[int, str, List[float]], a: Any):
        w: Optional[torch.Tensor] = None
        if x is not None:
            w = torch.full([2], x)
        if isinstance(a, list):
            kind = "list"
        elif isinstance(a, tuple):
            kind = "tuple"
        elif isinstance(a, (int, float)):
            kind = "number"
        else:
            kind = "other"
        items: List[Optional[int]] = [x, None, 3]
        d: Dict[str, Optional[int]] = {"a": x, "b": None}
        t: Tuple[int, Optional[str]] = (1, None)
        return helper(x, y), w, kind, items, d, t, helper(), helper(1)
    return f, [(None, 1, 3), (1, "s", [1, 2]), (0, [1.5, 2.5, 3.5], (1, "x")), (2, [0.5], "str")]


def enums_and_tuples():
    @torch.jit.script
    def f(x: torch.Tensor, fast: bool):
        m = Mode.FAST if fast else Mode.SLOW
        p = Pair(1, x)
        q = Pair(left=2, right=None)
        v = Level.HIGH
        return m.name, m.value, m == Mode.SLOW, p, q.left, v.value, (p.left,), p[0:1]
    return f, [(torch.ones(1), True), (torch.ones(1), False)]


class Attributes(nn.Module):
    table: Dict[str, List[int]]
    maybe: Optional[torch.Tensor]
    marks: List[Optional[int]]
    pairs: List[Tuple[str, float]]
    nested: Dict[int, Dict[str, torch.Tensor]]

    def __init__(self):
        super().__init__()
        base = torch.arange(24.0).reshape(4, 6)
        self.weight = nn.Parameter(base.clone())
        self.tied = self.weight
        self.frozen = nn.Parameter(torch.ones(3, dtype=torch.float64), requires_grad=False)
        self.register_buffer("view", base[1:3, ::2])
        self.register_buffer("whole", base)
        self.register_buffer("wide", torch.ones(1).expand(5))
        self.register_buffer("empty", torch.zeros(0, 3))
        self.register_buffer("small", torch.ones(2, dtype=torch.float16))
        self.register_buffer("cplx", torch.tensor([1 + 2j, -3j]))
        self.register_buffer("bits", torch.tensor([True, False]))
        self.table = {"a": [1, 2], "ü": []}
        self.maybe = None
        self.marks = [1, None]
        self.pairs = [("x", float("nan")), ("y", float("inf"))]
        self.nested = {3: {"t": torch.ones(2)}, -1: {}}
        self.big = 2 ** 40
        self.neg = -70000
        self.byte = 200
        self.text = "tä\0xt"
        self.device = torch.device("cpu")
        self.mode = Mode.SLOW
        self.named = Pair(5, None)
        self.number = 1 - 2j
        self.single = (1,)
        self.nothing = ()
        self.flags = [True, False]
        self.tensors = [torch.zeros(1), torch.ones(2)]

    def forward(self, x: torch.Tensor):
        self.table["b"] = [7]
        self.view += 1
        y = x + self.weight.sum() + self.tied.sum() + self.view.sum() + self.whole.sum() + self.wide.sum()
        if self.maybe is None:
            self.maybe = y
        return (y, self.table, self.marks, self.pairs, self.nested, self.big, self.neg, self.byte, self.text, str(self.device),
                self.mode.value, self.named, self.number, self.single, self.nothing, self.flags, self.tensors, self.cplx,
                self.bits, self.small, self.empty, self.frozen)


def attributes():
    return Attributes(), [(torch.ones(2),)]


class Stateful(nn.Module):
    calls: int

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.w = torch.ones(3)

    @torch.jit.export
    def __getstate__(self):
        return (self.w, self.calls + 0, self.training)

    @torch.jit.export
    def __setstate__(self, state: Tuple[torch.Tensor, int, bool]):
        self.w = state[0]
        self.calls = state[1]
        self.training = state[2]

    def forward(self, x: torch.Tensor):
        return x * self.w, self.calls


def own_state():
    return Stateful(), [(torch.ones(3),)]


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lin(x) * 2


def hooks():
    def before(self, inp: Tuple[torch.Tensor]) -> Tuple[torch.Tensor]:
        return (inp[0] + 1,)

    def after(self, inp: Tuple[torch.Tensor], out: torch.Tensor) -> torch.Tensor:
        return out - inp[0]
    m = Hooked()
    with torch.no_grad():
        m.lin.weight.fill_(0.5)
        m.lin.bias.fill_(0.25)
    m.register_forward_pre_hook(before)
    m.register_forward_hook(after)
    m.lin.register_forward_hook(after)
    return m, [(torch.ones(1, 2),)]


@torch.jit.interface
class Step(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass

    def scale(self, x: torch.Tensor, by: float) -> torch.Tensor:
        pass


class Add(nn.Module):
    def __init__(self, k: int):
        super().__init__()
        self.k = k

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.k

    @torch.jit.export
    def scale(self, x: torch.Tensor, by: float) -> torch.Tensor:
        return x * by * self.k


class Containers(nn.Module):
    step: Step

    def __init__(self):
        super().__init__()
        self.step = Add(3)
        self.steps = nn.ModuleList([Add(1), Add(2)])
        self.named = nn.ModuleDict({"1st": Add(4), "plain": Add(5), "with space": Add(6)})
        self.seq = nn.Sequential(Add(7), nn.Sequential(Add(8), nn.ReLU()))
        self.same = self.step

    def forward(self, x: torch.Tensor, i: int) -> torch.Tensor:
        for s in self.steps:
            x = s(x)
        for k, s in self.named.items():
            x = s(x) + len(k)
        s: Step = self.steps[i]
        return self.seq(s.forward(x)) + self.step.scale(x, 0.5) + self.same.forward(x)


def containers():
    return Containers(), [(torch.ones(2), 0), (torch.ones(2), 1)]


@torch.jit.script
class Counter:
    def __init__(self, start: int, step: int = 2):
        self.value = start
        self.step = step
        self.log: List[str] = []

    def bump(self, times: int = 1) -> int:
        for _ in range(times):
            self.value += self.step
            self.log.append("at {}".format(self.value))
        return self.value

    def __add__(self, other: "Counter") -> int:
        return self.value + other.value

    @staticmethod
    def double(x: int) -> int:
        return 2 * x

    @property
    def half(self) -> int:
        return self.value // 2


def classes():
    @torch.jit.script
    def f(n: int):
        a, b = Counter(n), Counter(1, step=n)
        a.bump()
        b.bump(3)
        return a + b, a.log + b.log, Counter.double(n), b.half
    return f, [(1,), (5,)]


class Forks(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3

    def work(self, x: torch.Tensor, n: int) -> torch.Tensor:
        for i in range(n):
            x = x * self.k + i
        return x

    def forward(self, x: torch.Tensor):
        futures = torch.jit.annotate(List[torch.jit.Future[torch.Tensor]], [])
        for i in range(3):
            futures.append(torch.jit.fork(self.work, x + 1, i))
        return [torch.jit.wait(f) for f in futures]


def forks():
    return Forks(), [(torch.ones(2),)]


def calls():
    @torch.jit.script
    def f(x: torch.Tensor, s: str):
        out = torch.empty(0)
        torch.add(x, x, alpha=2, out=out)
        y = torch.sum(x, dim=[0], keepdim=True, dtype=torch.float64)
        v, i = torch.max(x, dim=0)
        a, b = torch.sort(x, descending=True)
        x = x.clone()
        x[0] = 5.0
        x[1:] += 1
        n = torch.jit.annotate(List[float], x.tolist())
        m = {at: c for at, c in enumerate(s.split(","))}
        k = [j * 2 for j in range(4)]
        print("value", x.size(0), s, f"{s}!", "%s-%d" % (s, 3), "{} {:.2f}".format(s, 1.5))
        assert x.numel() > 0, "empty: " + s
        return (out, y, v, int(i), a, b, n, m, k, s[1:-1], s[::2], sorted([3, 1, 2]), min(1, 2), max([1.0, 2.0]), abs(-3),
                float(s.find(",")), bool(len(s)), str(2.5), x.to(torch.int32), x.dtype == torch.float32, s.upper().strip())
    return f, [(torch.tensor([1.0, 3.0, 2.0]), "ab,cd,ef"), (torch.tensor([1.0, 2.0]), " x,")]


def raises():
    @torch.jit.script
    def inner(x: int) -> int:
        if x > 2:
            raise ValueError("too large: {}".format(x))
        return x

    @torch.jit.script
    def f(x: int, xs: List[int]):
        y = inner(x)
        return xs[y] + 1
    return f, [(1, [1, 2]), (5, [1]), (2, [1])]


def frozen():
    torch.manual_seed(1)
    m = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(2 * 16, 3)).eval()
    return torch.jit.freeze(torch.jit.script(m)), [(torch.ones(1, 1, 4, 4),)]


def traced():
    torch.manual_seed(1)
    m = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.LSTM(4, 2)).eval()
    return torch.jit.trace(m, torch.ones(2, 1, 3)), [(torch.ones(2, 1, 3),)]


class Methods(nn.Module):
    scale: torch.jit.Final[float]
    names: torch.jit.Final[List[str]]

    def __init__(self):
        super().__init__()
        self.scale = 0.1
        self.names = ["a", "b"]

    def forward(self, x: torch.Tensor, n: int = 2, flag: Optional[bool] = None, s: str = "d\"q", v: float = 1e-5,
                sizes: Tuple[int, int] = (1, 2)):
        for name in self.names:
            x = x * self.scale + len(name)
        if flag is None:
            return x, n, s, v, sizes
        return self.other(x, False), n, s, v, sizes

    @torch.jit.export
    def other(self, x: torch.Tensor, inplace: bool = False) -> torch.Tensor:
        with torch.no_grad():
            if inplace:
                x.add_(1)
        return x.relu_() if inplace else torch.relu(x)


def methods():
    return Methods(), [(torch.ones(2),), (torch.ones(2), 3, True)]


def all_programs():
    return [constants, loops, optionals, enums_and_tuples, attributes, own_state, hooks, containers, classes, forks, calls,
            raises, frozen, traced, methods]
