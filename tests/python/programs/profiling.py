"""Looking at models: summaries by hooks, parameter counts and sizes, NaN guards, gradient flow, timing utilities, profiler tables' names, memory formats, FLOPs by hand."""
import contextlib
import io
import time
import warnings
from collections import OrderedDict

import torch
import torch.nn as nn
from torch.profiler import ProfilerActivity, profile, record_function


def summary(model, x):
    rows, handles = OrderedDict(), []

    def add(name):
        def hook(module, inputs, output):
            rows[name] = (module.__class__.__name__, list(output.shape), sum(p.numel() for p in module.parameters(recurse=False)))
        return hook
    for name, module in model.named_modules():
        if not any(module.children()):
            handles.append(module.register_forward_hook(add(name)))
    with torch.no_grad():
        model(x)
    for h in handles:
        h.remove()
    print("{:>12} {:>22} {:>12}".format("Layer", "Output Shape", "Param #"))
    for name, (kind, shape, n) in rows.items():
        print("{:>12} {:>22} {:>12,}".format(kind, str(shape), n))
    return sum(r[2] for r in rows.values())


def flops(model, x):
    total = [0]

    def conv(m, i, o):
        total[0] += 2 * o.numel() * m.in_channels // m.groups * m.kernel_size[0] * m.kernel_size[1]

    def linear(m, i, o):
        total[0] += 2 * i[0].numel() * m.out_features
    with contextlib.ExitStack() as stack:
        for m in model.modules():
            if isinstance(m, nn.Conv2d):
                stack.callback(m.register_forward_hook(conv).remove)
            elif isinstance(m, nn.Linear):
                stack.callback(m.register_forward_hook(linear).remove)
        model(x)
    return total[0]


torch.manual_seed(0)
model = nn.Sequential(OrderedDict([("conv1", nn.Conv2d(1, 4, 3, padding=1)), ("bn", nn.BatchNorm2d(4)), ("act", nn.GELU()), ("conv2", nn.Conv2d(4, 4, 3, groups=2)), ("flat", nn.Flatten()),
                                   ("fc", nn.Linear(4 * 36, 10))]))
x = torch.randn(2, 1, 8, 8)
print(summary(model, x), flops(model, x))
print(sum(p.numel() * p.element_size() for p in model.parameters()), sum(b.nbytes for b in model.buffers()), {n: tuple(p.shape) for n, p in model.named_parameters() if "conv" in n})
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    with record_function("model_inference"):
        model(x)
table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=10)
print(any("conv" in line for line in table.split("\n")), "model_inference" in table, len(prof.key_averages()) > 3)
loss = model(x).pow(2).mean()
loss.backward()
for n, p in model.named_parameters():
    print("%-14s %.4f %.4f" % (n, p.grad.abs().mean(), p.grad.norm()))
total = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
print("%.4f" % total, "%.4f" % torch.norm(torch.stack([torch.norm(p.grad.detach(), 2) for p in model.parameters()]), 2))
y = x.expand(2, 3, 8, 8).contiguous(memory_format=torch.channels_last)
print(y.stride(), y.is_contiguous(), y.is_contiguous(memory_format=torch.channels_last), y.to(memory_format=torch.contiguous_format).stride(), x.untyped_storage().nbytes())
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    nn.functional.mse_loss(torch.zeros(3, 1), torch.zeros(3))
print(len(caught), str(caught[0].message)[:20])
bad = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
bad[0].weight.data[0, 0] = float("nan")


def guard(module, inputs, output):
    if not torch.isfinite(output).all():
        raise RuntimeError(f"NaN in {module.__class__.__name__}")


for m in bad.modules():
    m.register_forward_hook(guard)
try:
    bad(torch.ones(1, 2))
except RuntimeError as e:
    print(e)
start = time.perf_counter()
for _ in range(3):
    model(x)
if torch.cuda.is_available():
    torch.cuda.synchronize()
print(time.perf_counter() - start < 60, torch.get_num_threads() >= 1)
print(model.__class__, isinstance(model, nn.Module), hasattr(model, "conv1"), "conv1" in dict(model.named_children()), len(model), model[-1], [n for n, _ in model[:2].named_parameters()])
print(torch.__version__.count(".") >= 1, torch.version.cuda is None or isinstance(torch.version.cuda, str), torch.is_grad_enabled(), torch.is_tensor(x), torch.is_floating_point(x))
for t in (x, torch.empty(0), torch.tensor(1)):
    print(t.numel(), t.dim(), t.nelement(), t.ndimension(), t.is_leaf, t.layout, t.device, t.dtype.itemsize, t.storage_offset(), t.is_complex())
print("%s" % x[0, 0, 0, :2].tolist(), f"{x.mean():.4f}", "{:.3e}".format(x.std().item()), format(torch.tensor(3), "d"), str(torch.tensor([1.5])), repr(torch.Size([1, 2])))
