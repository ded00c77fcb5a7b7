"""Mixed precision on CPU: autocast regions, GradScaler, bfloat16 models, custom_fwd, dtype checks per operator, master weights, nested contexts and decorators."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.amp import autocast, GradScaler, custom_fwd, custom_bwd

torch.manual_seed(8)
net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10))
x, y = torch.randn(8, 1, 8, 8), torch.randint(0, 10, (8,))
opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
scaler = GradScaler("cpu", init_scale=64.0, growth_interval=3)
for i in range(6):
    opt.zero_grad()
    with autocast("cpu", dtype=torch.bfloat16):
        out = net(x)
        loss = F.cross_entropy(out, y)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    n = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    print(i, out.dtype, loss.dtype, abs(loss.item() - [2.4, 1.8, 1.3, 0.9, 0.6, 0.4][i]) < 0.8, scaler.get_scale())
print(scaler.state_dict())
a, b = torch.randn(3, 3), torch.randn(3, 3)
with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
    for name, v in {"mm": a @ b, "add": a + b, "softmax": a.softmax(-1), "linear": F.linear(a, b), "exp": a.exp(), "sum": a.sum(), "bmm": torch.bmm(a[None], b[None]), "relu": (a @ b).relu(), "layer_norm": F.layer_norm(a @ b, (3,)), "mse": F.mse_loss(a, b), "cat": torch.cat([a @ b, a]), "einsum": torch.einsum("ij,jk", a, b), "sdpa": F.scaled_dot_product_attention(a, a, a), "gelu": F.gelu(a @ b), "norm": (a @ b).norm(), "cumsum": (a @ b).cumsum(0), "div": (a @ b) / 2, "mul": (a @ b) * a, "log_softmax": (a @ b).log_softmax(0), "addmm": torch.addmm(a, a, b), "baddbmm": torch.baddbmm(a[None], a[None], b[None]), "conv": F.conv1d(a[None], b[:, :, None]), "pow": (a @ b).pow(2), "interp": F.interpolate((a @ b)[None, None], scale_factor=2), "avg": F.avg_pool1d(a @ b, 2), "nll": F.nll_loss((a @ b).log_softmax(1), torch.tensor([0, 1, 2])), "svd": torch.linalg.svdvals(a @ b) if False else a}.items():
        print(name, v.dtype, end="; ")
    print()
    with torch.autocast("cpu", enabled=False):
        print((a @ b).dtype, torch.is_autocast_enabled("cpu"))
    print(torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))


@torch.autocast("cpu", dtype=torch.float16)
def half(u, v):
    return u @ v


print(half(a, b).dtype, torch.is_autocast_enabled("cpu"))


class MM(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, u, v):
        ctx.save_for_backward(u, v)
        return u @ v

    @staticmethod
    @custom_bwd(device_type="cpu")
    def backward(ctx, g):
        u, v = ctx.saved_tensors
        return g @ v.T, u.T @ g


a.requires_grad_()
with torch.autocast("cpu", dtype=torch.bfloat16):
    r = MM.apply(a.bfloat16(), b)
print(r.dtype)
r.sum().backward()
print(a.grad.dtype)
m = nn.Linear(4, 2).to(torch.bfloat16)
master = [p.detach().clone().float().requires_grad_() for p in m.parameters()]
o = torch.optim.SGD(master, lr=0.125)
for _ in range(3):
    m(torch.ones(2, 4, dtype=torch.bfloat16)).float().square().sum().backward()
    for p, q in zip(m.parameters(), master):
        q.grad = p.grad.float()
    o.step()
    m.zero_grad()
    with torch.no_grad():
        for p, q in zip(m.parameters(), master):
            p.copy_(q)
print([round(v, 2) for v in master[1].tolist()], m.bias.dtype, torch.tensor([1.0, 2.5]).bfloat16(), torch.tensor(1 / 3).half().item(), torch.bfloat16.to_complex() if False else "")
print(torch.amp.autocast_mode.is_autocast_available("cpu"), torch.get_autocast_gpu_dtype() if False else "")
