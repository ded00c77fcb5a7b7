"""torch.autocast: in module-level code as PyTorch's CPU lists say, in compiled code as its scripts do, as a decorator in both."""
import torch
import torch.nn as nn
import torch.nn.functional as F

x = torch.arange(16.0).reshape(4, 4) / 16
with torch.autocast("cpu", dtype=torch.bfloat16):
    p = x @ x
    print(p.dtype, torch.softmax(p, 0).dtype, p.sum().dtype, torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))
    # expect: torch.bfloat16 torch.bfloat16 torch.bfloat16 True torch.bfloat16
    print(nn.LSTM(4, 4)(x)[0].dtype, nn.GRU(4, 4)(x)[0].dtype, F.mse_loss(p, x).dtype, torch.exp(p).dtype)
    # expect: torch.bfloat16 torch.float32 torch.float32 torch.bfloat16
    print(torch.cat([p, x]).dtype, torch.einsum("ij,jk->ik", [x, x]).dtype, torch.tensordot(x, x, 1).dtype, torch.inner(x, x).dtype)
    # expect: torch.float32 torch.bfloat16 torch.bfloat16 torch.bfloat16
    print(torch.index_copy(x, 0, torch.tensor([0]), p[:1]).dtype, torch.index_copy(p, 0, torch.tensor([0]), p[:1]).dtype)
    # expect: torch.float32 torch.bfloat16
    with torch.autocast("cpu", enabled=False):
        print((x @ x).dtype, torch.is_autocast_enabled("cpu"))  # expect: torch.float32 False
    print((x @ x).dtype, (x.double() @ x.double()).dtype, (x.half() @ x.half()).dtype, x.int().sum().dtype)
    # expect: torch.bfloat16 torch.float64 torch.bfloat16 torch.int64
    print(nn.Conv2d(1, 2, 3)(x[None, None]).dtype, F.scaled_dot_product_attention(x, x, x).dtype, torch.dot(x[0], x[0]).dtype)
    # expect: torch.bfloat16 torch.bfloat16 torch.float32
    print(p[0, :3].float())
    # expect:  0.2188
    # expect:  0.2422
    # expect:  0.2656
    # expect: [ CPUFloatType{3} ]
print((x @ x).dtype, torch.is_autocast_enabled("cpu"))  # expect: torch.float32 False


@torch.autocast("cpu", dtype=torch.float16)
def square(a):
    return a @ a


print(square(x).dtype, (x @ x).dtype)  # expect: torch.float16 torch.float32
region = torch.cpu.amp.autocast()
with region:
    with region:
        print((x @ x).dtype)  # expect: torch.bfloat16
    print((x @ x).dtype)  # expect: torch.bfloat16
try:
    with torch.amp.autocast("cpu"):
        raise ValueError("left by an exception")
except ValueError:
    print((x @ x).dtype)  # expect: torch.float32


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.enabled = True

    @torch.autocast("cpu", dtype=torch.bfloat16)
    def decorated(self, a):
        if a.numel() == 0:
            return a
        return torch.mm(a, a)

    def switched(self, a, on: bool):
        with torch.autocast("cpu", enabled=on):
            return torch.mm(a, a)

    def forward(self):
        a = torch.ones(4, 4)
        print(self.decorated(a).dtype, self.decorated(a[:0]).dtype, torch.mm(a, a).dtype)  # expect: 15 6 6
        print(self.switched(a, True).dtype, self.switched(a, False).dtype)  # expect: 15 6
        with torch.autocast("cpu", dtype=torch.bfloat16):
            p = torch.mm(a, a)
            for i in range(2):
                with torch.autocast("cpu", enabled=self.enabled):
                    p = torch.mm(p, a)
                if i == 1:
                    break
            # scripts have lists of their own: sums, exp and gelu compute in float32
            print(p.dtype, p.sum().dtype, torch.exp(p).dtype, F.gelu(p).dtype, (p + p).dtype, torch.softmax(p, 0).dtype)
            # expect: 15 6 6 6 6 15
            print(self.conv(a[None, None]).dtype, torch.sum(p, dtype=torch.float64).dtype)  # expect: 15 7
            with torch.cuda.amp.autocast(), torch.autocast("cpu", enabled=False):
                print(torch.mm(a, a).dtype)  # expect: 6
        print(torch.mm(a, a).dtype)  # expect: 6
# expect: None
