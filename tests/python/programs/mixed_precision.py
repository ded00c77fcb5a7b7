"""autocast on the CPU, GradScaler, flags of backends, what programs ask of devices."""
import torch
from torch import nn
from torch.cuda.amp import GradScaler

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
x, y = torch.randn(6, 4), torch.randint(3, (6,))
with torch.autocast("cpu", dtype=torch.bfloat16):
    out = net(x)
    print(out.dtype, (x @ x.T).dtype, (x + 1).dtype, out.softmax(1).dtype, nn.functional.mse_loss(out, out).dtype, torch.cat([out, out.float()]).dtype)
    with torch.autocast("cpu", enabled=False):
        print(net(x).dtype, torch.is_autocast_enabled("cpu"))
    loss = nn.functional.cross_entropy(out, y)
    print(loss.dtype, torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))
loss.backward()
print(net(x).dtype, net[0].weight.grad.dtype, net[0].weight.dtype)


@torch.autocast(device_type="cpu", dtype=torch.bfloat16)
def forward(t):
    return net(t)


print(forward(x).dtype, torch.is_autocast_enabled("cpu"))
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scaler = torch.amp.GradScaler("cpu", init_scale=8.0, enabled=True)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    opt.zero_grad()
    with torch.autocast(device_type=device.type, dtype=torch.bfloat16, enabled=True):
        loss = nn.functional.cross_entropy(net(x.to(device, non_blocking=True)), y.to(device))
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
print(round(loss.item(), 1), scaler.get_scale(), sorted(scaler.state_dict()))
torch.backends.cudnn.benchmark = True
torch.backends.cuda.matmul.allow_tf32 = True
torch.set_float32_matmul_precision("high")
torch.use_deterministic_algorithms(True)
print(torch.get_float32_matmul_precision(), torch.are_deterministic_algorithms_enabled(), torch.backends.mps.is_available(), torch.cuda.is_available(), torch.cuda.device_count())
torch.use_deterministic_algorithms(False)
from torch.utils.checkpoint import checkpoint
z = x.clone().requires_grad_()
checkpoint(net, z, use_reentrant=True).sum().backward()
print(z.grad.shape)
torch.testing.assert_close(torch.ones(2), torch.ones(2) + 1e-7)
try:
    torch.testing.assert_close(torch.ones(3), torch.tensor([1.0, 1.0, 2.0]))
except AssertionError as e:
    print(e)
net = torch.compile(net)
print(net(x).shape)
