"""autograd.Function in the wild: straight-through estimators, gradient reversal, double backward, custom losses, gradcheck, vector-Jacobian products, checkpoint, saved tensors' versions."""
import torch
from torch import nn
from torch.autograd import Function, gradcheck, gradgradcheck, grad
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(5)


class Sign(Function):
    @staticmethod
    def forward(ctx, x, clip=1.0):
        ctx.save_for_backward(x)
        ctx.clip = clip
        return x.sign()

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * (x.abs() <= ctx.clip), None


class Reverse(Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g.neg() * ctx.lam, None


class MyExp(Function):
    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, g):
        if g is None:
            return None
        y, = ctx.saved_tensors
        return g * y


class MinMax(Function):
    @staticmethod
    def forward(ctx, x):
        v, i = x.max(-1)
        ctx.mark_non_differentiable(i)
        ctx.save_for_backward(i)
        ctx.shape = x.shape
        return v, i

    @staticmethod
    @once_differentiable
    def backward(ctx, g, _):
        i, = ctx.saved_tensors
        return torch.zeros(ctx.shape, dtype=g.dtype).scatter_(-1, i[:, None], g[:, None])


class BinaryLinear(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, Sign.apply(self.weight), self.bias)


net = nn.Sequential(BinaryLinear(4, 8), nn.Hardtanh(), BinaryLinear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for i in range(5):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(round(loss.item(), 5), end=" ")
print(net[0].weight.grad.abs().sum())
feat, dom = nn.Linear(4, 3), nn.Linear(3, 2)
out = dom(Reverse.apply(feat(x), 0.5))
nn.functional.cross_entropy(out, torch.arange(32) % 2).backward()
print(feat.weight.grad[0], out.grad_fn.name(), Reverse.apply(feat(x), 1.0).grad_fn.name())
d = torch.randn(3, dtype=torch.double, requires_grad=True)
print(gradcheck(MyExp.apply, (d,)), gradgradcheck(MyExp.apply, (d,)), gradcheck(lambda v: MinMax.apply(v)[0], (torch.randn(3, 4, dtype=torch.double, requires_grad=True),)))
g1, = grad(MyExp.apply(d).sum(), d, create_graph=True)
g2, = grad(g1.sum(), d)
print(torch.allclose(g2, d.exp()), MinMax.apply(torch.randn(2, 3, requires_grad=True))[1].requires_grad)
v = torch.autograd.functional.vjp(lambda a: a ** 3, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.5]))
j = torch.autograd.functional.jvp(lambda a: a ** 3, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.5]))
h = torch.autograd.functional.hessian(lambda a, b: (a * a * b).sum(), (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])))
print(v, j, h, sep="\n")
print(torch.autograd.functional.hvp(lambda a: (a ** 4).sum(), torch.ones(2), torch.tensor([1.0, 2.0])), torch.autograd.functional.vhp(lambda a: (a ** 4).sum(), torch.ones(2), torch.tensor([1.0, 2.0])))
block = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Tanh(), nn.Linear(4, 4))
a = x[:4].clone().requires_grad_()
torch.manual_seed(0)
checkpoint(block, a, use_reentrant=False).sum().backward()
ga, a.grad = a.grad, None
torch.manual_seed(0)
block(a).sum().backward()
print(torch.allclose(ga, a.grad), checkpoint_sequential(block, 2, a, use_reentrant=False).shape)
w = torch.ones(3, requires_grad=True)
u = w * 2
s = u.sigmoid()
s.add_(1)
try:
    s.sum().backward()
except RuntimeError as e:
    print("RuntimeError", "modified by an inplace operation" in str(e))
r = (w * 3).sum()
r.backward()
try:
    p = (w.exp()).sum()
    p.backward()
    p.backward()
except RuntimeError as e:
    print("RuntimeError", "second time" in str(e))
try:
    torch.ones(2, requires_grad=True).backward()
except RuntimeError as e:
    print("RuntimeError", e)
try:
    torch.ones(2).sum().backward()
except RuntimeError as e:
    print("RuntimeError", e)
try:
    w.numpy()
except RuntimeError as e:
    print("RuntimeError", e)
try:
    with torch.no_grad():
        pass
    w.add_(1)
except RuntimeError as e:
    print("RuntimeError", e)
print(u.is_leaf, u.retain_grad(), (u * u).sum().backward(), u.grad, u.retains_grad, w.grad)
x1 = torch.randn(2, requires_grad=True)
x2 = torch.randn(2, requires_grad=True)
print(grad((x1 * 2).sum(), [x1, x2], allow_unused=True)[1], grad((x1 * 2).sum(), [x1, x2], allow_unused=True, materialize_grads=True)[1])
o = torch.stack([x1.sum(), (x1 ** 2).sum()])
print(grad(o, x1, grad_outputs=torch.eye(2), is_grads_batched=True)[0] - torch.stack([torch.ones(2), 2 * x1.detach()]))
t = x1.clone()
t.register_hook(lambda g: print("hook", g.shape))
t.sum().backward()
class Foo(Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b
    @staticmethod
    def backward(ctx, g):
        print(ctx.needs_input_grad)
        return g, g
Foo.apply(x1, torch.ones(2)).sum().backward()
try:
    Foo()(x1, x2)
except (RuntimeError, TypeError) as e:
    print(type(e).__name__)
