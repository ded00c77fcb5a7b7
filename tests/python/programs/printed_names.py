import torch

x = torch.zeros(2, dtype=torch.float16)
names = [x, x.dtype, [torch.float32], type(x), x.type(), x.layout, torch.channels_last, x.shape, type(x.shape), type(x.dtype), type(x.device), f"{x.dtype}"]
print([str(n) for n in names])
# the name of the package is part of what is compared here
print([n for n in names if "c" "tsc" in str(n)])
