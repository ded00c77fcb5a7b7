"""__torch_function__: a logging subclass, metadata that travels, a class of its own with registered implementations, modes, plain subclasses, overrides' helpers."""
import functools
import torch
from torch.overrides import TorchFunctionMode, has_torch_function, is_tensor_like, handle_torch_function

HANDLED = {}


def implements(torch_function):
    def decorator(func):
        functools.update_wrapper(func, torch_function, updated=())
        HANDLED[torch_function] = func
        return func
    return decorator


class ScalarTensor:
    def __init__(self, N, value):
        self._N, self._value = N, value

    def __repr__(self):
        return "ScalarTensor(N={}, value={})".format(self._N, self._value)

    def tensor(self):
        return self._value * torch.eye(self._N)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if kwargs is None:
            kwargs = {}
        if func not in HANDLED or not all(issubclass(t, (torch.Tensor, ScalarTensor)) for t in types):
            return NotImplemented
        return HANDLED[func](*args, **kwargs)


@implements(torch.mean)
def mean(input):
    return float(input._value) / input._N


@implements(torch.add)
def add(input, other):
    return ScalarTensor(input._N, input._value + other._value) if isinstance(input, ScalarTensor) and isinstance(other, ScalarTensor) else "mixed"


@implements(torch.stack)
def stack(tensors, dim=0):
    return len(tensors)


s = ScalarTensor(5, 2)
print(torch.mean(s), torch.add(s, s), torch.add(s, torch.ones(2)), torch.add(torch.ones(2), s), torch.stack([s, s]))
try:
    torch.mul(s, 3)
except TypeError as e:
    print("TypeError", "mul" in str(e), "__torch_function__" in str(e))


class LoggingTensor(torch.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func.__name__ not in ("__get__", "__repr__"):
            cls.calls.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


x = torch.tensor([1.0, -2.0]).as_subclass(LoggingTensor)
y = torch.relu(x) + torch.ones(2)
z = torch.cat([x, y]).exp()
print(type(y).__name__, type(z).__name__, LoggingTensor.calls, isinstance(z, torch.Tensor))
print(y, z.tolist() == z.tolist())


class Metadata(torch.Tensor):
    @staticmethod
    def __new__(cls, data, meta=None, *args, **kwargs):
        return torch.as_tensor(data, *args, **kwargs).as_subclass(cls)

    def __init__(self, data, meta=None):
        self.meta = meta

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        metas = [a.meta for a in args if hasattr(a, "meta")]
        ret = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(ret, cls):
            ret.meta = metas[0] if metas else None
        return ret


m = Metadata([1.0, 2.0], meta={"unit": "m"})
print((m * 2).meta, type(m + 1).__name__, m.meta, m.sum().meta, (m + torch.ones(2)).tolist())


class Plain(torch.Tensor):
    def doubled(self):
        return self * 2


p = Plain([1.0, 2.0])
print(type(p + 1).__name__, type(p.doubled()).__name__, type(p[0]).__name__, type(torch.stack([p, p])).__name__, type(p.sum()).__name__, type(p.max(0)[0]).__name__)
w = torch.nn.Parameter(torch.ones(2))
print(type(w * 2).__name__, type(w * p).__name__, type(torch.nn.Linear(2, 2)(p)).__name__)
q = Plain([3.0]).requires_grad_()
(q * q).sum().backward()
print(q.grad.tolist(), q.requires_grad)
with torch._C.DisableTorchFunctionSubclass():
    print(type(p + 1).__name__)


class Count(TorchFunctionMode):
    def __init__(self):
        self.n = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.n += 1
        return func(*args, **(kwargs or {}))


with Count() as c:
    a = torch.ones(2)
    b = torch.add(a, 1)
    torch.matmul(b, b)
print(c.n)
torch.ones(2) + 1
print(c.n, has_torch_function((p,)), has_torch_function((torch.ones(1),)), is_tensor_like(s), is_tensor_like(3))


def mine(x):
    if has_torch_function((x,)):
        return handle_torch_function(mine, (x,), x)
    return x * 10


HANDLED[mine] = lambda x: "handled"
print(mine(s), mine(torch.ones(1)))
