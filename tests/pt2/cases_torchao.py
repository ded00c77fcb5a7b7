# SPDX-License-Identifier: Apache-2.0
"""Networks quantised by torchao: weights of layers, and whole graphs (pt2e)."""
import torch
from torch import nn


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(64, 128)
        self.b = nn.Linear(128, 64, bias=False)
        self.n = nn.LayerNorm(64)

    def forward(self, x):
        return self.n(self.b(torch.relu(self.a(x))) + x)


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(40, 64)
        self.l = Layers()

    def forward(self, i):
        return self.l(self.e(i))


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.b = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=4), nn.BatchNorm2d(8), nn.Hardswish())
        self.c = nn.Conv2d(8, 16, 3, stride=2)
        self.d = nn.Linear(16, 5)

    def forward(self, x):
        x = self.a(x)
        x = self.c(torch.relu(x + self.b(x)))
        return self.d(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


def cases():
    try:
        import torchao.quantization as q
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
        from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import X86InductorQuantizer, get_default_x86_inductor_quantization_config
        from torchao.utils import unwrap_tensor_subclass
    except ImportError as e:
        print("without torchao: %s" % e)
        return {}

    def layers(config, dtype=torch.float32, net=Layers, filter_fn=None, unwrap=True):
        """unwrap: the objects' tensors become parameters; else the program takes them out, or run_decompositions() does what unwrapping does."""
        def make():
            m = net().eval().to(dtype)
            q.quantize_(m, config, **({"filter_fn": filter_fn} if filter_fn else {}))
            return unwrap_tensor_subclass(m) if unwrap else m
        return make

    def graph(make, example, dynamic=False):
        def made():
            torch.manual_seed(1)
            quantizer = X86InductorQuantizer()
            quantizer.set_global(get_default_x86_inductor_quantization_config(is_dynamic=dynamic))
            m = prepare_pt2e(torch.export.export(make().eval(), example).module(), quantizer)
            for _ in range(4):
                m(*[torch.randn_like(x) for x in example])
            return nothing_to_set(convert_pt2e(m))
        return made

    def nothing_to_set(m):
        m.eval = lambda: m  # graphs have no modes
        return m

    group, four = q.granularity.PerGroup(32), torch.int4
    configs = {
        "int8": q.Int8WeightOnlyConfig(), "int8.dynamic": q.Int8DynamicActivationInt8WeightConfig(), "float8": q.Float8WeightOnlyConfig(),
        "int4": q.IntxWeightOnlyConfig(weight_dtype=four, granularity=group), "int2": q.IntxWeightOnlyConfig(weight_dtype=torch.int2, granularity=q.granularity.PerAxis(0)),
        "int4.dynamic": q.Int8DynamicActivationIntxWeightConfig(weight_dtype=four, weight_granularity=group),
    }
    out = {}
    for name, config in configs.items():
        rows = lambda d=torch.float32: ((torch.randn(8, 64, dtype=d),), {})
        out["torchao." + name] = dict(module=layers(config), args=rows)
        out["torchao." + name + ".object"] = dict(module=layers(config, unwrap=False), args=rows)
        out["torchao." + name + ".bf16"] = dict(module=layers(config, torch.bfloat16), args=lambda r=rows: r(torch.bfloat16), rtol=2e-2, atol=3e-2)
    out["torchao.embedding"] = dict(module=layers(configs["int4"], net=Tokens, filter_fn=lambda m, n: isinstance(m, (nn.Embedding, nn.Linear))), args=lambda: ((torch.randint(0, 40, (3, 7)),), {}))
    image = (torch.randn(2, 3, 12, 12),)
    out["torchao.pt2e"] = dict(module=graph(Images, image), args=lambda: ((torch.randn(2, 3, 12, 12),), {}))
    out["torchao.pt2e.dynamic"] = dict(module=graph(Layers, (torch.randn(8, 64),), True), args=lambda: ((torch.randn(8, 64),), {}))
    try:
        import torchvision
        out["torchao.pt2e.mobilenet_v2"] = dict(module=graph(lambda: torchvision.models.mobilenet_v2(weights=None), (torch.randn(1, 3, 64, 64),)), args=lambda: ((torch.randn(1, 3, 64, 64),), {}), rtol=1e-2, atol=5e-2)
    except ImportError as e:
        print("without torchvision: %s" % e)
    return out
