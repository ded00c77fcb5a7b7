"""Quantisation by hand and by torch's operators: affine and per-channel, observers, fake quantisation with gradients, int8 products, half-precision weights."""
import torch
from torch import nn


class MinMaxObserver(nn.Module):
    def __init__(self, dtype=torch.quint8, momentum=0.9):
        super().__init__()
        self.dtype, self.momentum = dtype, momentum
        self.register_buffer("min_val", torch.tensor(float("inf")))
        self.register_buffer("max_val", torch.tensor(float("-inf")))

    def forward(self, x):
        lo, hi = torch.aminmax(x.detach())
        self.min_val.copy_(torch.minimum(self.min_val, lo))
        self.max_val.copy_(torch.maximum(self.max_val, hi))
        return x

    def calculate_qparams(self):
        lo, hi = self.min_val.clamp(max=0), self.max_val.clamp(min=0)
        scale = (hi - lo) / 255
        return float(scale), int((-lo / scale).round().clamp(0, 255))


class QATLinear(nn.Linear):
    def __init__(self, *args):
        super().__init__(*args)
        self.observer = MinMaxObserver()

    def forward(self, x):
        scale, zero = self.observer.calculate_qparams() if not self.training else (self.observer(x), self.observer.calculate_qparams())[1]
        x = torch.fake_quantize_per_tensor_affine(x, scale, zero, 0, 255)
        s = self.weight.detach().abs().amax(1) / 127
        w = torch.fake_quantize_per_channel_affine(self.weight, s, torch.zeros(self.out_features, dtype=torch.int32), 0, -128, 127)
        return nn.functional.linear(x, w, self.bias)


torch.manual_seed(0)
x = torch.randn(3, 4)
q = torch.quantize_per_tensor(x, scale=0.05, zero_point=128, dtype=torch.quint8)
print(q.q_scale(), q.q_zero_point(), q.int_repr(), q.int_repr().dtype, q.is_quantized, q.dtype)
print(q.dequantize(), (q.dequantize() - x).abs().max() < 0.026)
w = torch.randn(2, 4)
scales = w.abs().amax(1) / 127
qw = torch.quantize_per_channel(w, scales, torch.zeros(2, dtype=torch.int64), 0, torch.qint8)
print(qw.int_repr(), qw.q_per_channel_axis(), qw.q_per_channel_scales(), qw.qscheme())
observer = MinMaxObserver()
for _ in range(3):
    observer(torch.randn(10))
print(observer.calculate_qparams(), observer.state_dict())
t = torch.linspace(-2, 2, 9, requires_grad=True)
y = torch.fake_quantize_per_tensor_affine(t, 0.1, 0, -10, 10)
y.sum().backward()
print(y, t.grad)
net = nn.Sequential(QATLinear(4, 8), nn.ReLU(), QATLinear(8, 2))
opt = torch.optim.Adam(net.parameters(), lr=0.02)
data, goal = torch.randn(24, 4), torch.randn(24, 2)
for step in range(5):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(data), goal)
    loss.backward()
    opt.step()
    print("%.4f" % loss)
net.eval()
print(net(data).shape, ["%.4f %d" % m.observer.calculate_qparams() for m in net if isinstance(m, QATLinear)])
xi, xs = (data / 0.03).round().clamp(-128, 127).to(torch.int8), 0.03
layer = net[0]
ws = layer.weight.detach().abs().amax(1, keepdim=True) / 127
wi = (layer.weight.detach() / ws).round().to(torch.int8)
acc = xi.to(torch.int32) @ wi.to(torch.int32).T
out = acc.to(torch.float32) * xs * ws.T + layer.bias.detach()
print(acc.dtype, (out - nn.functional.linear(data, layer.weight, layer.bias)).abs().max() < 0.2)
half = nn.Linear(4, 2).to(torch.bfloat16)
print(half.weight.dtype, half(data.bfloat16()).dtype, half.float().weight.dtype, torch.finfo(torch.bfloat16).eps, torch.iinfo(torch.int8).min)
packed = torch.randint(0, 16, (4,), dtype=torch.uint8)
both = packed[::2] << 4 | packed[1::2]
print(torch.equal(torch.stack([both >> 4, both & 0xF], 1).flatten(), packed))
print(torch.bucketize(x, torch.tensor([-0.5, 0.0, 0.5])), torch.histc(x, bins=4, min=-2, max=2), x.quantile(torch.tensor([0.25, 0.75])))
