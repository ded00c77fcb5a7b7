"""Scientific programs: a heat equation by convolution, N-body with autograd forces, symplectic integration, an ODE block by the adjoint, finite differences, sparse-free Laplacians, Monte Carlo, root finding, least squares, splines, quaternions."""
import math
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(23)
torch.set_printoptions(precision=5)
u = torch.zeros(1, 1, 12, 12, dtype=torch.double)
u[..., 4:8, 4:8] = 1
k = torch.tensor([[0.0, 1, 0], [1, -4, 1], [0, 1, 0]], dtype=torch.double)[None, None]
for _ in range(20):
    u = u + 0.2 * F.conv2d(F.pad(u, (1, 1, 1, 1), mode="replicate"), k)
print(u.sum(), u[0, 0, 6, ::3], u.max())


def energy(q):
    d = q[:, None] - q[None]
    r = (d.pow(2).sum(-1) + 1e-3).sqrt()
    i, j = torch.triu_indices(len(q), len(q), 1)
    return -(1 / r[i, j]).sum()


q, p = torch.randn(4, 3, dtype=torch.double), 0.1 * torch.randn(4, 3, dtype=torch.double)
force = lambda x: -torch.autograd.grad(energy(x.requires_grad_()), x)[0]
e0 = energy(q) + 0.5 * p.pow(2).sum()
for _ in range(50):
    p = p + 0.005 * force(q.detach())
    q = q.detach() + 0.01 * p
    p = p + 0.005 * force(q.detach())
e1 = energy(q) + 0.5 * p.pow(2).sum()
print(e0, (e1 - e0).abs() < 0.05, p.sum(0))


class ODE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, y0, n, dt, *params):
        with torch.no_grad():
            y = y0
            for _ in range(n):
                y = y + dt * f(y)
        ctx.f, ctx.n, ctx.dt = f, n, dt
        ctx.save_for_backward(y0, *params)
        return y

    @staticmethod
    def backward(ctx, g):
        y0, *params = ctx.saved_tensors
        with torch.enable_grad():
            ys = [y0.detach()]
            for _ in range(ctx.n):
                ys.append((ys[-1] + ctx.dt * ctx.f(ys[-1])).detach())
            gp = [torch.zeros_like(t) for t in params]
            for y in reversed(ys[:-1]):
                y = y.requires_grad_()
                out = y + ctx.dt * ctx.f(y)
                gs = torch.autograd.grad(out, [y, *params], g, allow_unused=True)
                g = gs[0]
                gp = [a if b is None else a + b for a, b in zip(gp, gs[1:])]
        return None, g, None, None, *gp


f = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
t = torch.linspace(0, 2 * math.pi, 9)[:-1]
x0 = torch.stack([t.cos(), t.sin()], 1)
R = torch.tensor([[0.0, -1], [1, 0]])
opt = torch.optim.Adam(f.parameters(), lr=0.05)
for i in range(20):
    loss = F.mse_loss(ODE.apply(f, x0, 5, 0.2, *f.parameters()), x0 @ R.T)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(round(loss.item(), 5))
y = x0
for _ in range(5):
    y = y + 0.2 * f(y)
g1 = torch.autograd.grad(y.sum(), f[0].weight)[0]
g2 = torch.autograd.grad(ODE.apply(f, x0, 5, 0.2, *f.parameters()).sum(), f[0].weight)[0]
print(torch.allclose(g1, g2, atol=1e-5))
A = torch.diag(torch.full((6,), 2.0)) - torch.diag(torch.ones(5), 1) - torch.diag(torch.ones(5), -1)
b = torch.linspace(-1, 1, 6)
print(torch.linalg.solve(A, b), torch.linalg.cond(A), torch.linalg.lstsq(A[:, :3], b).solution, torch.linalg.eigvalsh(A), torch.linalg.qr(A[:, :2]).R.abs(), torch.linalg.det(A), torch.logdet(A), torch.linalg.slogdet(-A), torch.linalg.pinv(A[:, :2]).shape, torch.linalg.matrix_rank(A), torch.linalg.matrix_exp(-0.1 * A)[0, :3], torch.linalg.multi_dot([A, A, b]), torch.kron(torch.eye(2), torch.ones(1, 2)), torch.trace(A), torch.linalg.cross(x0.new_tensor([1.0, 0, 0]), x0.new_tensor([0.0, 1, 0])), torch.linalg.vecdot(b, b), torch.outer(b[:2], b[:2]), torch.chain_matmul(A[:2], A) if False else "")
x = torch.tensor(1.0, dtype=torch.double, requires_grad=True)
for _ in range(6):
    fx = x.cos() - x
    gx, = torch.autograd.grad(fx, x)
    x = (x - fx / gx).detach().requires_grad_()
print(x.item())
pts = torch.rand(2000, 2)
print(4 * (pts.norm(dim=1) < 1).double().mean(), torch.trapezoid(torch.sin(torch.linspace(0, math.pi, 101)), torch.linspace(0, math.pi, 101)), torch.cumulative_trapezoid(torch.ones(4)))


def qmul(a, b):
    aw, av, bw, bv = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    return torch.cat([aw * bw - (av * bv).sum(-1, keepdim=True), aw * bv + bw * av + torch.cross(av, bv, dim=-1)], -1)


r = F.normalize(torch.tensor([[1.0, 2, 3, 4]]), dim=-1)
c = torch.tensor([[1.0, -1, -1, -1]])
v = torch.tensor([[0.0, 1, 0, 0]])
print(qmul(qmul(r, v), r * c), torch.deg2rad(torch.tensor(90.0)), torch.atan2(torch.tensor(1.0), torch.tensor(-1.0)), torch.hypot(torch.tensor(3.0), torch.tensor(4.0)), torch.frac(torch.tensor(-1.5)), torch.ldexp(torch.tensor(1.0), torch.tensor(3)), torch.frexp(torch.tensor(10.0)), torch.nextafter(torch.tensor(1.0), torch.tensor(2.0)) > 1, torch.copysign(torch.tensor(2.0), torch.tensor(-0.0)), torch.remainder(torch.tensor(-3.5), 2), torch.fmod(torch.tensor(-3.5), 2), torch.float_power(torch.tensor(2), 0.5), torch.gcd(torch.tensor(12), torch.tensor(18)), torch.lcm(torch.tensor(4), torch.tensor(6)), torch.signbit(torch.tensor(-0.0)), torch.trunc(torch.tensor(-1.7)), torch.round(torch.tensor(2.345), decimals=2), torch.sinc(torch.tensor(0.5)), torch.clip(torch.tensor(5), max=3), torch.addcmul(b[:2], b[:2], b[:2], value=2), torch.addcdiv(b[:2], b[:2], b[2:4]), torch.addr(torch.zeros(2, 2), b[:2], b[:2]), torch.baddbmm(torch.zeros(1, 2, 2), torch.ones(1, 2, 3), torch.ones(1, 3, 2)).sum(), torch.isclose(torch.tensor(1.0), torch.tensor(1.0 + 1e-9)), torch.bitwise_xor(torch.tensor(5), 3), torch.logical_xor(torch.tensor(True), torch.tensor(False)), torch.fmax(torch.tensor(float("nan")), torch.tensor(1.0)), torch.xlogy(torch.tensor(0.0), torch.tensor(0.0)), torch.erfinv(torch.tensor(0.5)), torch.polygamma(1, torch.tensor(2.0)), torch.bessel_j0(torch.tensor(1.0)) if hasattr(torch, "bessel_j0") else torch.special.bessel_j0(torch.tensor(1.0)))
