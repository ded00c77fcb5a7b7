"""jit.script and jit.trace of models, their archives with extra files, freezing, attributes, submodules, interfaces of scripted code with Python."""
import io
import os
import tempfile
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn as nn


class Result(NamedTuple):
    scores: torch.Tensor
    best: torch.Tensor


@torch.jit.script
def fibonacci(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@torch.jit.script
def nms(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> List[int]:
    order = scores.argsort(descending=True)
    keep: List[int] = []
    gone = torch.zeros(boxes.size(0), dtype=torch.bool)
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    for k in range(order.numel()):
        i = int(order[k])
        if bool(gone[i]):
            continue
        keep.append(i)
        low, high = torch.max(boxes[i, :2], boxes[:, :2]), torch.min(boxes[i, 2:], boxes[:, 2:])
        inter = (high - low).clamp(min=0).prod(1)
        gone |= inter / (area[i] + area - inter) > threshold
    return keep


class Classifier(nn.Module):
    __constants__ = ["classes"]
    names: Dict[str, int]

    def __init__(self, classes: int):
        super().__init__()
        self.classes, self.names = classes, {"a": 1, "b": 2}
        self.body = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.bn, self.head = nn.BatchNorm1d(4), nn.Linear(4, classes)
        self.threshold: Optional[float] = None

    def forward(self, x: torch.Tensor, mask: Optional[torch.Tensor] = None) -> Result:
        for i, layer in enumerate(self.body):
            x = torch.relu(layer(x)) + i
        if mask is not None:
            x = x * mask
        scores = self.head(self.bn(x))
        return Result(scores, scores.argmax(1))

    @torch.jit.export
    def top(self, x: torch.Tensor, k: int = 1) -> Tuple[torch.Tensor, torch.Tensor]:
        return self.forward(x, None).scores.topk(k)

    @torch.jit.ignore
    def python_only(self):
        return "python"

    @torch.jit.unused
    def rare(self, x: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


torch.manual_seed(0)
print(fibonacci(20), nms(torch.tensor([[0., 0, 2, 2], [0, 0, 2, 1.9], [3, 3, 4, 4]]), torch.tensor([0.5, 0.9, 0.8]), 0.5))
model = Classifier(3).eval()
x = torch.randn(2, 4)
want = model(x)
scripted = torch.jit.script(model)
print(isinstance(scripted, torch.jit.ScriptModule), scripted.original_name)
print(torch.equal(scripted(x).scores, want.scores), scripted(x, torch.zeros(4)).best, scripted.top(x, k=2)[1], scripted.names, scripted.training)
frozen = torch.jit.freeze(scripted)
print(torch.allclose(frozen(x)[0], want[0], atol=1e-6), len(list(frozen.parameters())), len(list(scripted.parameters())))
fast = torch.jit.optimize_for_inference(torch.jit.script(Classifier(3).eval()))
print(fast(x).scores.shape)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.pt")
    torch.jit.save(scripted, path, _extra_files={"meta.json": b'{"classes": 3}'})
    extra = {"meta.json": ""}
    loaded = torch.jit.load(path, map_location=torch.device("cpu"), _extra_files=extra)
    print(extra, torch.equal(loaded(x).scores, want.scores), loaded.original_name, [n for n, _ in loaded.named_modules()])
    scripted.save(folder + "/again.pt")
    buffer = io.BytesIO()
    torch.jit.save(scripted, buffer)
    buffer.seek(0)
    print(torch.equal(torch.jit.load(buffer).top(x)[0], want.scores.max(1, keepdim=True).values))
    fresh = Classifier(3).eval()
    fresh.load_state_dict(loaded.state_dict())
    print(torch.equal(fresh(x).scores, want.scores), loaded.head.weight.shape, [n for n, _ in loaded.body.named_children()])
traced = torch.jit.trace(nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten()).eval(), torch.rand(1, 1, 5, 5))
print(traced(torch.rand(3, 1, 5, 5)).shape, isinstance(traced, torch.jit.ScriptModule))


def loop(x, n: int):
    for _ in range(n):
        x = x * 2
    return x


print(torch.jit.script(loop)(torch.ones(2), 3), torch.jit.trace(lambda x: loop(x, 2), torch.ones(2))(torch.ones(2)))


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.n = start

    def up(self, by: int = 1) -> int:
        self.n += by
        return self.n


@torch.jit.script
def use(k: int) -> int:
    c = Counter(k)
    c.up()
    return c.up(5)


print(use(3), torch.jit.is_scripting(), torch.jit.annotate(List[int], []))
try:
    torch.jit.script(lambda x: x)
    print("a lambda is taken")
except Exception as e:
    print("refused")
future = torch.jit.fork(fibonacci, 10)
print(torch.jit.wait(future))
scripted.head.weight.data.zero_()
print(scripted(x).scores.std(0).sum() == 0, loaded(x).scores.std(0).sum() > 0)
scripted.train()
opt = torch.optim.SGD(scripted.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(scripted(torch.arange(16.).view(4, 4) / 16).scores, torch.tensor([0, 1, 2, 0]))
    loss.backward()
    opt.step()
    print("%.4f" % loss)
