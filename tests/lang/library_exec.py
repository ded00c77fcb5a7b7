"""exec of statements: in a method, in dicts, syntax errors."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(2):
            exec(f"self.scale_{i} = nn.Parameter(torch.full((2,), {i + 1}.0))")
        exec("self.layers = nn.ModuleList()\nfor i in range(2):\n    self.layers.append(nn.Identity())")

    def forward(self):
        return self.scale_0 + self.scale_1 * len(self.layers)


scope = {"a": 2}
exec("b = a + 1\nif b > 2:\n    def twice(x):\n        return x * b", scope)
print(scope["b"], scope["twice"](5))
exec("c = 4")
print(c, exec("pass"))
for text in ("d =", "missing + 1"):
    try:
        exec(text, {})
    except (SyntaxError, NameError) as e:
        print(type(e).__name__)
Main = Net
# expect: 3 15
# expect: 4 None
# expect: SyntaxError
# expect: NameError
# expect:  5
# expect:  5
# expect: [ CPUFloatType{2} ]
