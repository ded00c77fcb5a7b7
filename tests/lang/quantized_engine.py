"""torch.backends.quantized.engine: whose arithmetic quantised layers follow."""
import torch

print("fbgemm" in torch.backends.quantized.supported_engines)  # expect: True
X = torch.tensor([[1.0, 0.5, -0.25], [0.0, 2.0, 0.3]])

# A reduced range is fbgemm's alone.
torch.backends.quantized.engine = "qnnpack"
print(torch.backends.quantized.engine, torch.quantize_per_tensor_dynamic(X, torch.quint8, True).int_repr().max().item())  # expect: qnnpack 255
torch.backends.quantized.engine = "fbgemm"
print(torch.quantize_per_tensor_dynamic(X, torch.quint8, True).int_repr().max().item())  # expect: 127
print(torch.quantize_per_tensor_dynamic(X, torch.quint8, False).int_repr().max().item())  # expect: 255
print(torch.quantize_per_tensor_dynamic(X, torch.qint8, True).int_repr().min().item())  # expect: -64

for name in ("onednn", "cpu"):
    try:
        torch.backends.quantized.engine = name
    except RuntimeError as e:
        print(e)
# expect: quantized engine onednn is not supported
# expect: cpu is not a valid value for quantized engine
print(torch.backends.quantized.engine)  # expect: fbgemm
torch.backends.quantized.engine = "x86"


def forward():
    print(torch.quantize_per_tensor_dynamic(torch.tensor([1.0, 2.0]), torch.quint8, True).int_repr().max().item())
    return 0
# expect: 127
# expect: 0
