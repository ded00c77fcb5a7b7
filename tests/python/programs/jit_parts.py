"""torch.jit in PyTorch programs: scripted functions and modules, traced parts in a net, save/load with extra files, attributes, exports, Final, ignore, overloads, control flow, freezing."""
import io
from typing import Dict, List, NamedTuple, Optional, Tuple
import torch
from torch import nn, Tensor

torch.manual_seed(10)


@torch.jit.script
def clip_norm(x: Tensor, limit: float = 1.0) -> Tensor:
    n = x.norm()
    if n > limit:
        x = x * (limit / n)
    return x


@torch.jit.script
def collatz(n: int) -> List[int]:
    out = [n]
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        out.append(n)
    return out


class Out(NamedTuple):
    logits: Tensor
    hidden: Optional[Tensor]


class Cell(nn.Module):
    steps: torch.jit.Final[int]
    names: Dict[str, int]

    def __init__(self, d, steps):
        super().__init__()
        self.steps = steps
        self.names = {"a": 1, "b": 2}
        self.lin = nn.Linear(d, d)
        self.layers = nn.ModuleList([nn.Linear(d, d) for _ in range(2)])
        self.register_buffer("count", torch.zeros(1, dtype=torch.long))

    @torch.jit.export
    def lookup(self, k: str) -> int:
        return self.names[k] if k in self.names else -1

    @torch.jit.unused
    def debug(self, x):
        print("python only")

    @torch.jit.ignore
    def helper(self, x: Tensor) -> Tensor:
        return x * 2

    def forward(self, x: Tensor, h: Optional[Tensor] = None) -> Out:
        if h is None:
            h = torch.zeros_like(x)
        for i in range(self.steps):
            h = torch.tanh(self.lin(x) + h)
        for l in self.layers:
            h = torch.relu(l(h))
        self.count += 1
        return Out(h.sum(-1), h)


print(clip_norm(torch.tensor([3.0, 4.0])), clip_norm(torch.tensor([0.3, 0.4]), limit=2.0), collatz(6))
c = Cell(3, 2)
s = torch.jit.script(c)
x = torch.randn(2, 3)
a, b = c(x), s(x)
print(type(b).__name__, torch.allclose(a.logits, b.logits), b[1].shape, s.lookup("b"), s.lookup("zz"), s.steps, isinstance(s, nn.Module), isinstance(s, torch.jit.ScriptModule))
print([n for n, _ in s.named_parameters()], s.training, s.eval().training)
buf = io.BytesIO()
torch.jit.save(s, buf, _extra_files={"note.txt": b"hello"})
buf.seek(0)
extra = {"note.txt": ""}
l = torch.jit.load(buf, map_location="cpu", _extra_files=extra)
print(extra, torch.allclose(l(x).logits, a.logits), l.lookup("a"), l.lin.weight.shape, l.original_name)
tr = torch.jit.trace(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), x)
net = nn.Sequential(tr, nn.Linear(4, 1))
print(net(x).shape, "aten::linear" in str(tr.graph) or "aten::linear" in str(tr.inlined_graph), len(list(net.parameters())))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = (net(x) - 1).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(round(loss.item(), 5))


def f(x: Tensor, n: int):
    y = x
    for i in range(n):
        if i % 2 == 0:
            y = y + i
        else:
            y = y * 0.5
    return y, {"n": n}


sf = torch.jit.script(f)
print(sf(torch.ones(2), 4), f(torch.ones(2), 4), sf.name)
frozen = torch.jit.freeze(torch.jit.script(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).eval()))
print(frozen(x).shape, len(list(frozen.parameters())))
try:
    @torch.jit.script
    def bad(x):
        return x.nothing_like_this()
except RuntimeError as e:
    print("RuntimeError", "nothing_like_this" in str(e))
try:
    collatz("a")
except (RuntimeError, TypeError) as e:
    print("instead found type 'str'" in str(e))


class Stack:
    def __init__(self, n: int):
        self.items: List[int] = []
        self.n = n

    def push(self, v: int):
        if len(self.items) >= self.n:
            raise ValueError("full")
        self.items.append(v)


Stack = torch.jit.script(Stack)


@torch.jit.script
def use(n: int) -> int:
    s = Stack(3)
    for i in range(n):
        s.push(i * i)
    return sum(s.items)


print(use(3))
try:
    use(5)
except Exception as e:
    print("full" in str(e))


@torch.jit.script
def opt_sum(xs: List[Optional[Tensor]], names: Dict[str, Tensor]) -> Tuple[Tensor, List[str]]:
    t = torch.zeros(2)
    for x in xs:
        if x is not None:
            t = t + x
    keys: List[str] = []
    for k, v in names.items():
        keys.append(k.upper())
        t += v
    return t, keys


print(opt_sum([torch.ones(2), None], {"q": torch.ones(2)}), torch.jit.is_scripting(), torch.jit.annotate(List[int], []), torch.jit.isinstance([1], List[int]))
fut = torch.jit.fork(clip_norm, torch.ones(4))
print(torch.jit.wait(fut))
w = torch.ones(2, requires_grad=True)
clip_norm(w * 3).sum().backward()
print(w.grad)
g = torch.jit.trace(lambda a, b: (a @ b).softmax(-1), (torch.rand(2, 3), torch.rand(3, 2)), check_trace=False)
print(g(torch.ones(4, 3), torch.ones(3, 5)).shape)
m = torch.jit.trace_module(nn.Linear(2, 2), {"forward": torch.ones(1, 2)})
print(m(torch.ones(3, 2)).shape, torch.jit.optimize_for_inference(torch.jit.script(nn.Linear(2, 2).eval()))(torch.ones(1, 2)).shape)
