"""Forward mode (torch.autograd.forward_ad), operators of one's own (torch.library), and names of torch.jit that libraries import."""
import torch
import torch.autograd.forward_ad as fwAD
from torch import Tensor

torch.manual_seed(0)
w, x, v = torch.randn(3, 3, dtype=torch.float64), torch.randn(3, dtype=torch.float64), torch.randn(3, dtype=torch.float64)


def f(a):
    return torch.tanh(w @ a) * a.exp().sum()


with fwAD.dual_level():
    dual = fwAD.make_dual(x, v)
    print(fwAD.unpack_dual(dual).tangent.tolist())
    out = fwAD.unpack_dual(f(dual))
    print(out.primal.tolist(), out.tangent.tolist(), out._fields)
    print(fwAD.unpack_dual(x).tangent, fwAD.unpack_dual(dual * 3).tangent.tolist(), fwAD.unpack_dual((dual * 3 + w).sum(0)).tangent.tolist())
    both = fwAD.make_dual(w, torch.ones_like(w))
    print(fwAD.unpack_dual(both @ dual).tangent.tolist(), fwAD.unpack_dual(dual.argmax()).tangent)
    chained = fwAD.unpack_dual(torch.nn.functional.softmax(dual, 0).log().cumsum(0)).tangent
    print(chained.tolist())
print(torch.func.jvp(f, (x,), (v,))[1].tolist(), torch.autograd.functional.jvp(f, x, v)[1].tolist())
print(fwAD.unpack_dual(x).tangent)

net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()
with fwAD.dual_level():
    print(fwAD.unpack_dual(net(fwAD.make_dual(x[None], v[None]))).tangent.tolist())
    wanted = x[None].clone().requires_grad_()
    y = fwAD.unpack_dual(net(fwAD.make_dual(wanted, v[None]))).tangent
    y.sum().backward()  # through the tangent
    print(wanted.grad.tolist(), net[0].weight.grad.norm().item())

for wrong in (lambda: fwAD.make_dual(x, v),):
    try:
        wrong()
    except RuntimeError as e:
        print(str(e)[:60])
with fwAD.dual_level():
    for wrong in (lambda: fwAD.make_dual(x, v[:2]), lambda: fwAD.make_dual(torch.tensor(3), v), lambda: fwAD.enter_dual_level()):
        try:
            wrong()
        except (RuntimeError, ValueError) as e:
            print(type(e).__name__, str(e)[:70])


@torch.library.custom_op("programs::cube", mutates_args=())
def cube(a: Tensor, scale: float = 1.0) -> Tensor:
    return a.pow(3) * scale


@cube.register_fake
def _(a, scale=1.0):
    return torch.empty_like(a)


def keep(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.scale = inputs[1]


cube.register_autograd(lambda ctx, g: (3 * ctx.saved_tensors[0] ** 2 * ctx.scale * g, None), setup_context=keep)
a = torch.tensor([1.0, 2.0], requires_grad=True)
out = cube(a, 2.0)
out.sum().backward()
print(out.tolist(), a.grad.tolist(), torch.ops.programs.cube(a, 0.5).tolist(), cube(torch.tensor([3.0])).tolist())

torch.library.define("programs::plus", "(Tensor x, int n) -> Tensor")


@torch.library.impl("programs::plus", "cpu")
def plus(x, n):
    return x + n


@torch.library.register_fake("programs::plus")
def _(x, n):
    return torch.empty_like(x)


torch.library.register_autograd("programs::plus", lambda ctx, g: (g * 10, None))
b = torch.zeros(2, requires_grad=True)
torch.ops.programs.plus(b, 3).sum().backward()
print(torch.ops.programs.plus(b, 3).tolist(), b.grad.tolist(), hasattr(torch.ops.programs, "minus"))

lib = torch.library.Library("programs2", "DEF")
lib.define("pair(Tensor x) -> (Tensor, Tensor)")
lib.impl("pair", lambda x: (x.min(), x.max()), "CompositeExplicitAutograd")
print([t.item() for t in torch.ops.programs2.pair(torch.arange(4.0))])


@torch.jit.script
def double(x: Tensor) -> Tensor:
    return x * 2


from torch.jit.annotations import BroadcastingList2
print(isinstance(double, torch.jit.ScriptFunction), isinstance(torch.jit.script(net), torch.jit.RecursiveScriptModule), isinstance(torch.jit.script(net), torch.nn.Module),
      isinstance(net, torch.jit.ScriptModule), BroadcastingList2 is not None)
with torch.jit.optimized_execution(True), torch.jit.strict_fusion():
    print(double(torch.ones(2)).tolist())
