"""autograd: grad, higher derivatives, jacobians, Function, detach, gradcheck, accumulation."""
import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = (x ** 3).sum()
g, = torch.autograd.grad(y, x, create_graph=True)
print(g)
h, = torch.autograd.grad(g.sum(), x)
print(h, x.grad)
(x.sin() * x).sum().backward()
print(x.grad)
x.grad.zero_()
z = x * 2
z.backward(torch.tensor([1.0, 0.5, 0.1]))
print(x.grad)
try:
    z.sum().backward()
    y.backward()
    y.backward()
except RuntimeError as e:
    print(str(e).split(".")[0])
try:
    (x * 2).backward()
except RuntimeError as e:
    print(e)
try:
    torch.ones(2).sum().backward()
except RuntimeError as e:
    print(e)
a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
print(torch.autograd.grad(a * a, (a, b), allow_unused=True))
try:
    torch.autograd.grad(a * a, b)
except RuntimeError as e:
    print(str(e)[-50:])


class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, low):
        ctx.save_for_backward(input)
        ctx.low = low
        return input.clamp(min=low)

    @staticmethod
    def backward(ctx, grad):
        input, = ctx.saved_tensors
        return grad * (input > ctx.low).to(grad.dtype), None


v = torch.tensor([-1.0, 0.5, 2.0], requires_grad=True)
out = Clamp.apply(v, 0.0)
print(out, type(out.grad_fn).__name__)
out.sum().backward()
print(v.grad)
d = torch.randn(3, dtype=torch.double, requires_grad=True)
print(torch.autograd.gradcheck(lambda t: Clamp.apply(t, -0.3) * t, (d,)), torch.autograd.gradcheck(torch.tanh, d))


def f(t):
    return t.pow(2) * t.sum()


p = torch.tensor([1.0, 2.0])
print(torch.autograd.functional.jacobian(f, p), torch.autograd.functional.hessian(lambda t: f(t).sum(), p))
print(torch.autograd.functional.vjp(f, p, torch.ones(2)), torch.autograd.functional.jvp(f, p, torch.ones(2)))
with torch.no_grad():
    print((x * 2).requires_grad, torch.is_grad_enabled())
with torch.set_grad_enabled(False):
    print((x + 1).requires_grad)
with torch.enable_grad():
    print((x + 1).requires_grad)


@torch.no_grad()
def evaluate(t):
    return t * 3


print(evaluate(x).requires_grad, x.detach().requires_grad, (x.detach() is x))
with torch.inference_mode():
    print((x * 2).requires_grad)
w = torch.ones(2, requires_grad=True)
for _ in range(3):
    (w * 2).sum().backward()
print(w.grad)
s = torch.tensor([4.0], requires_grad=True)
r = s.sqrt()
r.mul_(2)
try:
    r.sum().backward()
except RuntimeError as e:
    print("modified by an inplace operation" in str(e))
print(type((a * b + a.exp()).grad_fn).__name__, a.requires_grad_(False).requires_grad)
with torch.autograd.set_detect_anomaly(True):
    (b * 2).backward()
print(b.grad)
q = torch.randn(2, 2, requires_grad=True)
print(torch.autograd.grad(q.sum(), q, retain_graph=True)[0], q.data.requires_grad)
