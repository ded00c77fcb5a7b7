"""autograd.Function: straight-through estimators, reversed gradients, several inputs and outputs, double backward, gradcheck, in-place, non-tensors."""
import torch
from torch import nn
from torch.autograd import Function, gradcheck, gradgradcheck
from torch.autograd.function import once_differentiable


class StraightThrough(Function):
    @staticmethod
    def forward(ctx, x, levels):
        ctx.levels = levels
        return torch.round(x * levels) / levels

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


class LinearFunction(Function):
    @staticmethod
    def forward(input, weight, bias):
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def setup_context(ctx, inputs, output):
        input, weight, bias = inputs
        ctx.save_for_backward(input, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad):
        result, = ctx.saved_tensors
        return grad * result


class MinMax(Function):
    @staticmethod
    def forward(ctx, x):
        low, at = x.min(dim=1)
        high, to = x.max(dim=1)
        ctx.save_for_backward(at, to)
        ctx.shape = x.shape
        ctx.mark_non_differentiable(at)
        ctx.set_materialize_grads(False)
        return low, high, at

    @staticmethod
    @once_differentiable
    def backward(ctx, low, high, _):
        at, to = ctx.saved_tensors
        grad = torch.zeros(ctx.shape)
        if low is not None:
            grad.scatter_add_(1, at[:, None], low[:, None])
        if high is not None:
            grad.scatter_add_(1, to[:, None], high[:, None])
        return grad


class ScaleInPlace(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        ctx.mark_dirty(x)
        return x.mul_(k)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None


class FakeQuantLinear(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, StraightThrough.apply(self.weight, 8), self.bias)


class MyLinear(nn.Module):
    def __init__(self, i, o, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(o, i))
        if bias:
            self.bias = nn.Parameter(torch.empty(o))
        else:
            self.register_parameter("bias", None)
        nn.init.uniform_(self.weight, -0.1, 0.1)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -0.1, 0.1)

    def forward(self, x):
        return LinearFunction.apply(x, self.weight, self.bias)

    def extra_repr(self):
        return "in_features={}, bias={}".format(self.weight.shape[1], self.bias is not None)


torch.manual_seed(0)
x = torch.randn(3, 4, requires_grad=True)
StraightThrough.apply(x, 4).pow(2).sum().backward()
print(x.grad)
x.grad = None
GradientReversal.apply(x, 0.5).sum().backward()
print(x.grad[0])
layer = MyLinear(4, 2)
print(layer, MyLinear(4, 2, bias=False))
layer(x).sum().backward()
print(layer.weight.grad, layer.bias.grad)
inputs = (torch.randn(5, 4, dtype=torch.double, requires_grad=True), torch.randn(3, 4, dtype=torch.double, requires_grad=True), torch.randn(3, dtype=torch.double, requires_grad=True))
print(gradcheck(LinearFunction.apply, inputs, eps=1e-6, atol=1e-4), gradgradcheck(LinearFunction.apply, inputs))
print(gradcheck(Exp.apply, torch.randn(3, dtype=torch.double, requires_grad=True)))
a = torch.tensor([0.5, 1.0], requires_grad=True)
g, = torch.autograd.grad(Exp.apply(a).sum(), a, create_graph=True)
print(g, torch.autograd.grad(g.sum(), a))
low, high, at = MinMax.apply(x)
print(at, at.requires_grad, low.requires_grad, type(low.grad_fn).__name__)
x.grad = None
high.sum().backward()
print(x.grad)
y = x.clone()
z = ScaleInPlace.apply(y, 3.0)
print(z is y, torch.equal(z, x * 3))
x.grad = None
z.sum().backward()
print(x.grad[0, 0])
torch.manual_seed(1)
net = nn.Sequential(FakeQuantLinear(4, 8), nn.ReLU(), FakeQuantLinear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.05)
data, goal = torch.randn(16, 4), torch.randn(16, 1)
for i in range(4):
    opt.zero_grad()
    loss = ((net(data) - goal) ** 2).mean()
    loss.backward()
    opt.step()
    print("%.4f" % loss)
try:
    print(gradcheck(StraightThrough.apply, (torch.randn(3, dtype=torch.double, requires_grad=True), 4)))
except Exception as e:
    print(type(e).__name__, str(e).split("\n")[0])
