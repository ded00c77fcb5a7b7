# Module-level code that trains: all optimisers. Expected is what PyTorch 1.13 prints.
# args: --input float64[7,4]:-2..2
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 16)
        self.bn = nn.BatchNorm1d(16)
        self.b = nn.Linear(16, 3)
    def forward(self, x):
        return self.b(torch.relu(self.bn(self.a(x))))

model = Net().double()
x = torch.randn(32, 4).double()
y = torch.randint(0, 3, (32,))
for make in (lambda p: optim.SGD(p, lr=0.1, momentum=0.9), lambda p: optim.Adam(p, lr=0.01), lambda p: optim.AdamW(p, lr=0.01),
             lambda p: optim.RMSprop(p), lambda p: optim.Adagrad(p), lambda p: optim.Adadelta(p), lambda p: optim.Adamax(p), lambda p: optim.NAdam(p),
             lambda p: optim.RAdam(p), lambda p: optim.ASGD(p), lambda p: optim.Rprop(p)):
    opt = make(model.parameters())
    sched = optim.lr_scheduler.CosineAnnealingLR(opt, T_max=5)
    for step in range(5):
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
    print(type(opt).__name__, "%.9f" % loss.item(), "%.8f" % opt.param_groups[0]["lr"])

opt = optim.LBFGS(model.parameters(), lr=0.5, line_search_fn="strong_wolfe")
def closure():
    opt.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    return loss
for _ in range(3):
    loss = opt.step(closure)
    print("LBFGS %.5f" % loss.item())
model.eval()


class Predict(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x).argmax(1).sum()


scripted = torch.jit.script(Predict(model).eval())
# expect: SGD 1.034216159 0.00000000
# expect: Adam 0.959387219 0.00000000
# expect: AdamW 0.900089882 0.00000000
# expect: RMSprop 0.562887874 0.00000000
# expect: Adagrad 0.523621758 0.00000000
# expect: Adadelta 0.510628724 0.00000000
# expect: Adamax 0.503013736 0.00000000
# expect: NAdam 0.496447154 0.00000000
# expect: RAdam 0.496152052 0.00000000
# expect: ASGD 0.495106108 0.00000000
# expect: Rprop 0.433487283 0.00000000
# expect: LBFGS 0.41184
# expect: LBFGS 0.00434
# expect: LBFGS 0.00000
# expect: 7
# expect: [ CPULongType{} ]
