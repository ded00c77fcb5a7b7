"""state_dict surgery and modules from inside: renamed keys, strict=False, prefix hooks, freezing, replacing layers, ModuleDict, ParameterList, lazy modules, apply, named_*, buffers, __repr__, pickling."""
import copy
import io
import pickle
from collections import OrderedDict
from functools import partial
import torch
from torch import nn

torch.manual_seed(2)


class Block(nn.Module):
    expansion = 2

    def __init__(self, cin, cout, act=nn.ReLU):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(cout)
        self.act = act(inplace=True)
        self.skip = nn.Identity() if cin == cout else nn.Conv2d(cin, cout, 1)

    def forward(self, x):
        return self.act(self.bn(self.conv(x)) + self.skip(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = Block(3, 4)
        self.stages = nn.ModuleList([Block(4, 4), Block(4, 6)])
        self.heads = nn.ModuleDict({"cls": nn.Linear(6, 3), "reg": nn.Linear(6, 1)})
        self.scales = nn.ParameterList([nn.Parameter(torch.tensor(float(i))) for i in range(2)])
        self.extra = nn.ParameterDict({"a": nn.Parameter(torch.ones(2)), "b": nn.Parameter(torch.zeros(1))})
        self.register_buffer("mean", torch.tensor([0.5, 0.5, 0.5]).view(1, 3, 1, 1))
        self.register_buffer("tmp", torch.zeros(1), persistent=False)
        self.register_parameter("none", None)

    def forward(self, x, head="cls"):
        x = self.stem(x - self.mean)
        for s, w in zip(self.stages, self.scales):
            x = s(x) * (1 + w)
        return self.heads[head](x.mean((2, 3)))

    def extra_repr(self):
        return "classes=3"


net = Net()
print(net)
sd = net.state_dict()
print(type(sd).__name__, len(sd), [k for k in sd if "bn" not in k])
print(sd._metadata["stem.bn"], "tmp" in sd, net.none)
ddp = OrderedDict(("module." + k, v) for k, v in sd.items())
torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(ddp, "module.")
print(list(ddp)[:2])
ddp.pop("heads.cls.bias")
ddp["bogus"] = torch.zeros(1)
other = Net()
res = other.load_state_dict(ddp, strict=False)
print(res.missing_keys, res.unexpected_keys, res)
try:
    other.load_state_dict(ddp)
except RuntimeError as e:
    print(e)
bad = copy.deepcopy(sd)
bad["heads.cls.weight"] = torch.zeros(5, 6)
try:
    other.load_state_dict(bad)
except RuntimeError as e:
    print(e)
for name, p in net.named_parameters():
    p.requires_grad = name.startswith("heads")
print(sum(p.requires_grad for p in net.parameters()), [n for n, _ in net.named_buffers()][:3], len(list(net.modules())), [n for n, m in net.named_children()])
net.heads["cls"] = nn.Sequential(nn.Linear(6, 4), nn.LeakyReLU(0.2), nn.Linear(4, 2))


def swap(module, old, new):
    for name, child in module.named_children():
        if isinstance(child, old):
            setattr(module, name, new(child))
        else:
            swap(child, old, new)


swap(net, nn.BatchNorm2d, lambda m: nn.GroupNorm(2, m.num_features))
swap(net, nn.ReLU, lambda m: nn.SiLU())
print(net.stages[1], net(torch.rand(2, 3, 5, 5)).shape, net.get_submodule("stages.0.conv"), net.get_parameter("scales.1"), net.get_buffer("mean").shape)
for bad_name in ("stages.7.conv", "heads.cls.weight"):
    try:
        net.get_submodule(bad_name)
    except AttributeError as e:
        print("AttributeError", e)
try:
    net.nothing
except AttributeError as e:
    print("AttributeError", e)
try:
    net.stem = 3
except TypeError as e:
    print("TypeError", e)
try:
    net.extra_param = nn.Parameter(torch.ones(1))
    net.register_buffer("extra_param", torch.ones(1))
except KeyError as e:
    print("KeyError", e)
del net.extra_param
print(hasattr(net, "extra_param"), net.stem.expansion, "stem" in net._modules, list(net._buffers), list(net._parameters))
count = {}
net.apply(lambda m: count.__setitem__(type(m).__name__, count.get(type(m).__name__, 0) + 1))
print(sorted(count.items()))
lazy = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
print(lazy[0], lazy[3])
print(lazy(torch.rand(2, 3, 6, 6)).shape, lazy[0], lazy[3].in_features)
blob = pickle.dumps(net)
n2 = pickle.loads(blob)
x = torch.rand(1, 3, 4, 4)
net.eval(), n2.eval()
print(torch.equal(net(x), n2(x)), n2.training, n2.stem.act)


def hook(state_dict, prefix, local_metadata, strict, missing, unexpected, errors):
    for k in list(state_dict):
        if k.startswith(prefix + "fc."):
            state_dict[k.replace("fc.", "linear.")] = state_dict.pop(k)


class Renamed(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self._register_load_state_dict_pre_hook(hook)

    def _load_from_state_dict(self, state_dict, prefix, *args, **kw):
        print("loading", repr(prefix))
        super()._load_from_state_dict(state_dict, prefix, *args, **kw)


r = nn.ModuleList([Renamed()])
print(r.load_state_dict({"0.fc.weight": torch.eye(2), "0.fc.bias": torch.zeros(2)}), r[0].linear.weight)
seq = nn.Sequential(OrderedDict([("a", nn.Linear(2, 3)), ("b", nn.Tanh())]))
seq.append(nn.Linear(3, 1))
seq = nn.Sequential(*seq).insert(1, nn.Dropout(0.3))
seq.extend([nn.Sigmoid()])
print(seq, seq[1:3], len(seq), seq[0].weight.shape, seq[-1], seq + nn.Sequential(nn.ReLU()), sep="\n")
del seq[1]
print(list(dict(seq.named_children())), seq.pop(0))
pl = net.scales
pl.append(nn.Parameter(torch.ones(2)))
print(pl, len(pl), net.extra, "a" in net.extra, list(net.extra.items())[0][0])
with torch.no_grad():
    for p in net.parameters():
        p.fill_(0.1)
print(nn.utils.parameters_to_vector(net.heads.reg.parameters()))
v = torch.arange(7.0)
nn.utils.vector_to_parameters(v, net.heads.reg.parameters())
print(net.heads.reg.weight, net.heads.reg.bias.item(), net.double().mean.dtype, net.half().stem.conv.weight.dtype, net.float().training)
f = partial(nn.Linear, bias=False, dtype=torch.float64)
print(f(2, 3), f(2, 3).weight.dtype, nn.Linear(2, 2, device="cpu").bias.device)
