"""Differential equations: an integrator with gradients, a neural ODE, a physics-informed network with second derivatives, the adjoint of a linear system, chunks of time."""
import torch
from torch import nn


def rk4(f, y, ts):
    out = [y]
    for t0, t1 in zip(ts[:-1], ts[1:]):
        h = t1 - t0
        k1 = f(t0, y)
        k2 = f(t0 + h / 2, y + h * k1 / 2)
        k3 = f(t0 + h / 2, y + h * k2 / 2)
        k4 = f(t1, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out.append(y)
    return torch.stack(out)


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y ** 3)


torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
ts = torch.linspace(0.0, 2.0, 9)
with torch.no_grad():
    true_y = rk4(lambda t, y: y ** 3 @ true_A, torch.tensor([[2.0, 0.0]]), torch.linspace(0., 2., 33))[::4]
print(true_y[-1], true_y.dtype)
func = ODEFunc()
opt = torch.optim.RMSprop(func.parameters(), lr=1e-2)
for it in range(6):
    opt.zero_grad()
    pred = rk4(func, true_y[0], ts)
    loss = torch.mean(torch.abs(pred - true_y))
    loss.backward()
    opt.step()
    print("Iter {:04d} | Total Loss {:.6f}".format(it, loss.item()))
torch.set_default_dtype(torch.float32)

net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
for p in net.parameters():
    if p.dim() > 1:
        nn.init.xavier_normal_(p)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)


def residual(x, t):
    x, t = x.requires_grad_(), t.requires_grad_()
    u = net(torch.cat([x, t], 1))
    one = torch.ones_like(u)
    u_t, = torch.autograd.grad(u, t, one, create_graph=True)
    u_x, = torch.autograd.grad(u, x, one, create_graph=True)
    u_xx, = torch.autograd.grad(u_x, x, torch.ones_like(u_x), create_graph=True)
    return u_t + u * u_x - 0.05 * u_xx


for it in range(6):
    opt.zero_grad()
    physics = residual(torch.rand(24, 1) * 2 - 1, torch.rand(24, 1)).square().mean()
    x0 = torch.linspace(-1, 1, 16).unsqueeze(1)
    start = nn.functional.mse_loss(net(torch.cat([x0, torch.zeros_like(x0)], 1)), -torch.sin(torch.pi * x0))
    (physics + start).backward()
    opt.step()
    print(it, "%.5f %.5f" % (physics.item(), start.item()))


def laplacian(f, x):
    return torch.func.vmap(lambda v: torch.trace(torch.func.hessian(f)(v)))(x)


print(laplacian(lambda v: (v ** 2).sum() + v[0] * v[1] ** 2, torch.tensor([[1., 2.], [0., 3.]])))
A, b = torch.tensor([[4., 1.], [1., 3.]], requires_grad=True), torch.tensor([1., 2.], requires_grad=True)
x = torch.linalg.solve(A, b)
x.sum().backward()
print(x, A.grad, b.grad)
E = torch.linalg.matrix_exp(torch.tensor([[0., 1.], [-1., 0.]]) * torch.pi)
print(E.abs() < 1e-4, E.trace(), torch.gradient(torch.tensor([0., 1., 4., 9.]))[0], torch.cumulative_trapezoid(torch.tensor([0., 1., 2.])), torch.diff(torch.tensor([1, 4, 9])))
grid = torch.zeros(1, 1, 8, 8)
grid[..., 0, :] = 1
stencil = torch.tensor([[[[0., 1, 0], [1, 0, 1], [0, 1, 0]]]]) / 4
for _ in range(20):
    new = nn.functional.conv2d(nn.functional.pad(grid, (1, 1, 1, 1), mode="replicate"), stencil)
    new[..., 0, :], new[..., -1, :] = 1, 0
    grid = new
print(grid[0, 0, :, 3])
spectrum = torch.fft.rfft(torch.sin(2 * torch.pi * 3 * torch.arange(32) / 32))
print(spectrum.abs().argmax(), torch.fft.rfftfreq(32, 1 / 32)[3], torch.fft.irfft(spectrum * (torch.arange(17) < 5), n=32).abs().max())
