"""Complex FFT programs: spectrograms, filters, convolution by FFT, Hilbert transform, a spectral layer that trains, complex autograd, polynomial roots."""
import math
import torch
import torch.fft
from torch import nn
import torch.nn.functional as F

torch.manual_seed(1)
sr = 256
t = torch.arange(sr) / sr
x = torch.sin(2 * math.pi * 20 * t) + 0.5 * torch.cos(2 * math.pi * 45 * t) + 0.1 * torch.randn(sr)
X = torch.fft.rfft(x)
freqs = torch.fft.rfftfreq(sr, 1 / sr)
top = X.abs().topk(2)
print(freqs[top.indices], top.values / sr * 2, torch.angle(X[20]))
S = torch.stft(x, n_fft=64, hop_length=16, window=torch.hann_window(64), return_complex=True)
print(S.shape, S.dtype, S.abs().pow(2).mean(-1)[:8])
y = torch.istft(S, 64, 16, window=torch.hann_window(64), length=sr)
print((x - y).abs().max() < 1e-4, torch.view_as_real(S)[3, 2])


def hilbert(v):
    n = v.shape[-1]
    V = torch.fft.fft(v)
    h = torch.zeros(n)
    h[0] = h[n // 2] = 1
    h[1:n // 2] = 2
    return torch.fft.ifft(V * h)


env = hilbert(torch.sin(2 * math.pi * 30 * t) * (1 + 0.5 * torch.sin(2 * math.pi * 2 * t))).abs()
print(env.max(), env.min(), env[::64])
a, b = torch.randn(40), torch.randn(9)
n = a.numel() + b.numel() - 1
c1 = torch.fft.irfft(torch.fft.rfft(a, n) * torch.fft.rfft(b, n), n)
c2 = F.conv1d(a[None, None], b.flip(0)[None, None], padding=8)[0, 0]
print(torch.allclose(c1, c2, atol=1e-5), c1[:3])
img = torch.rand(8, 8)
f2 = torch.fft.fftshift(torch.fft.fft2(img))
mask = ((torch.arange(8)[:, None] - 4) ** 2 + (torch.arange(8) - 4) ** 2) <= 4
low = torch.fft.ifft2(torch.fft.ifftshift(f2 * mask)).real
print(low.mean(), img.mean(), low[0, :4])


class SpectralConv1d(nn.Module):
    def __init__(self, cin, cout, modes):
        super().__init__()
        self.modes, self.cout = modes, cout
        self.weights = nn.Parameter(torch.rand(cin, cout, modes, dtype=torch.cfloat) / (cin * cout))

    def forward(self, v):
        f = torch.fft.rfft(v)
        out = torch.zeros(v.shape[0], self.cout, v.size(-1) // 2 + 1, device=v.device, dtype=torch.cfloat)
        out[:, :, :self.modes] = torch.einsum("bix,iox->box", f[:, :, :self.modes], self.weights)
        return torch.fft.irfft(out, n=v.size(-1))


class FNO(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift, self.conv, self.w, self.out = nn.Linear(2, 6), SpectralConv1d(6, 6, 5), nn.Conv1d(6, 6, 1), nn.Linear(6, 1)

    def forward(self, v):
        v = self.lift(v).permute(0, 2, 1)
        v = F.gelu(self.conv(v) + self.w(v))
        return self.out(v.permute(0, 2, 1))


net = FNO()
print(sum(p.numel() * (2 if p.is_complex() else 1) for p in net.parameters()), [p.dtype for p in net.parameters()][2])
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
grid = torch.linspace(0, 1, 32)
for i in range(12):
    ph = torch.rand(8, 1) * 6
    u = torch.sin(2 * math.pi * grid + ph)
    target = 2 * math.pi * torch.cos(2 * math.pi * grid + ph) / 6
    loss = F.mse_loss(net(torch.stack([u, grid.expand_as(u)], -1)).squeeze(-1), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(round(loss.item(), 4), net.conv.weights.grad[0, 0, :2], net.conv.weights.dtype)
z = torch.tensor([1 + 2j, -0.5j, 3.0], requires_grad=True)
(z * z.conj()).real.sum().backward()
print(z.grad, z.abs(), torch.polar(torch.tensor(2.0), torch.tensor(math.pi / 3)))
z.grad = None
torch.log(z.prod() + 1).abs().backward()
print(z.grad, z.detach().resolve_conj(), z.real.detach(), z.imag.detach())
coef = torch.tensor([1.0, -6.0, 11.0, -6.0], dtype=torch.float64)
C = torch.zeros(3, 3, dtype=torch.float64)
C[1:, :-1] = torch.eye(2)
C[:, -1] = -coef.flip(0)[:-1]
print(torch.linalg.eigvals(C).real.sort().values, torch.view_as_complex(torch.tensor([[1.0, 2.0]])))
print(torch.fft.fftfreq(5), torch.fft.dct if hasattr(torch.fft, "dct") else "no dct", torch.fft.hfft(torch.tensor([1 + 1j, 2, 3])), torch.fft.fftn(torch.ones(2, 2)))
print(torch.complex(torch.ones(2), torch.zeros(2)), torch.is_complex(z), torch.isreal(z), torch.tensor(1j) ** 2, (1j * torch.arange(3)).exp())
print(torch.sgn(z.detach()), z.detach().mean(), torch.linalg.norm(z.detach()), torch.vdot(z.detach(), z.detach()))
try:
    z > z
except RuntimeError as e:
    print("RuntimeError")
