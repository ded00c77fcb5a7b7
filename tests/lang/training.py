# Module-level code that trains: gradients, schedules, averages of weights, checkpoints, a function and an optimiser of the program's own. Expected is what PyTorch 1.13 prints.
# args: --input float64[7,4]:-2..2
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Adam, SGD
from torch.optim.lr_scheduler import (StepLR, MultiStepLR, ExponentialLR, OneCycleLR, ReduceLROnPlateau, LambdaLR, LinearLR, CyclicLR,
                                      CosineAnnealingWarmRestarts, SequentialLR, ConstantLR, PolynomialLR, ChainedScheduler, MultiplicativeLR)
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn
from torch.optim.optimizer import Optimizer
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(1)

class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return x ** 3 * k
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 3 * x ** 2 * g * ctx.k, None

x = torch.tensor([1., 2., 3.], dtype=torch.float64, requires_grad=True)
y = Cube.apply(x, 2.0)
print(y.requires_grad, y.is_leaf, x.is_leaf, x.grad is None)
y.sum().backward()
print(x.grad.tolist())
g, = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
h, = torch.autograd.grad(g.sum(), x)
print(g.detach().tolist(), h.tolist())

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 16)
        self.bn = nn.BatchNorm1d(16)
        self.drop = nn.Dropout(0.5)
        self.b = nn.Linear(16, 3)
    def forward(self, x):
        return self.b(self.drop(torch.relu(self.bn(self.a(x)))))

x = torch.randn(32, 4).double()
y = torch.randint(0, 3, (32,))
for name, make in [('step', lambda o: StepLR(o, 2)), ('multi', lambda o: MultiStepLR(o, [1, 3])), ('exp', lambda o: ExponentialLR(o, 0.9)),
                   ('one', lambda o: OneCycleLR(o, 0.1, total_steps=8)), ('lambda', lambda o: LambdaLR(o, lambda e: 0.95 ** e)),
                   ('linear', lambda o: LinearLR(o)), ('cyclic', lambda o: CyclicLR(o, 0.01, 0.1, 2)), ('warm', lambda o: CosineAnnealingWarmRestarts(o, 3)),
                   ('const', lambda o: ConstantLR(o)), ('poly', lambda o: PolynomialLR(o)), ('mult', lambda o: MultiplicativeLR(o, lambda e: 0.9)),
                   ('seq', lambda o: SequentialLR(o, [ConstantLR(o, 0.1, 2), ExponentialLR(o, 0.9)], [2])),
                   ('chain', lambda o: ChainedScheduler([ConstantLR(o, 0.1, 2), ExponentialLR(o, 0.9)]))]:
    torch.manual_seed(2)
    model = Net().double()
    opt = SGD(model.parameters(), lr=0.05, momentum=0.9)
    sched = make(opt)
    for step in range(6):
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        sched.step()
    print(name, "%.10f" % loss.item(), "%.10f" % opt.param_groups[0]["lr"])

torch.manual_seed(3)
model = Net().double()
opt = Adam([{'params': model.a.parameters(), 'lr': 0.02}, {'params': list(model.b.parameters()) + list(model.bn.parameters())}], lr=0.01, amsgrad=True)
plateau = ReduceLROnPlateau(opt, patience=1)
swa = AveragedModel(model)
ema = AveragedModel(model, avg_fn=lambda a, b, n: 0.9 * a + 0.1 * b)
swalr = SWALR(opt, swa_lr=0.05, anneal_epochs=3)
for step in range(8):
    model.train()
    opt.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    if step > 3:
        swa.update_parameters(model)
        swalr.step()
    ema.update_parameters(model)
    plateau.step(loss.item())
update_bn([(x,), (x,)], swa)
swa.eval()
ema.eval()
with torch.no_grad():
    print("%.10f %.10f" % (F.cross_entropy(swa(x), y).item(), F.cross_entropy(ema(x), y).item()), [("%.8f" % g['lr']) for g in opt.param_groups], int(swa.n_averaged))
state = opt.state_dict()
print(sorted(state['param_groups'][0].keys() - {'foreach', 'capturable', 'differentiable', 'fused', 'maximize'}), sorted(state['state'][0].keys()))
other = Adam([{'params': model.a.parameters()}, {'params': list(model.b.parameters()) + list(model.bn.parameters())}], amsgrad=True)
other.load_state_dict(state)
opt = other

@torch.no_grad()
def evaluate():
    model.eval()
    out = model(x)
    print(out.requires_grad, torch.is_grad_enabled())
    return F.cross_entropy(out, y)

print("%.10f" % evaluate().item(), torch.is_grad_enabled())

class Mine(Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, dict(lr=lr))
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group['params']:
                if p.grad is None:
                    continue
                s = self.state[p]
                s['n'] = s.get('n', 0) + 1
                p.add_(p.grad, alpha=-group['lr'] / s['n'])

model.train()
opt = Mine(model.parameters(), 0.1)
for step in range(5):
    model.zero_grad()
    h = x.clone().requires_grad_()
    loss = F.cross_entropy(model.b(checkpoint(lambda v: model.drop(torch.relu(model.bn(model.a(v)))), h)), y)
    loss.backward()
    opt.step()
print("%.10f %.10f" % (loss.item(), h.grad.abs().sum().item()))

w = torch.zeros(3, requires_grad=True)
for i in range(3):
    l = ((w - torch.tensor([1., 2., 3.])) ** 2).sum()
    l.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad.zero_()
    w.data.mul_(0.5)
print(w.tolist())
try:
    l.backward()
except RuntimeError as e:
    print(str(e)[:60])
try:
    w.add_(1)
except RuntimeError as e:
    print(e)
model.eval()


class Predict(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x).argmax(1).sum()


scripted = torch.jit.script(Predict(model).eval())
# expect: True False True True
# expect: [6.0, 24.0, 54.0]
# expect: [3.0, 12.0, 27.0] [6.0, 12.0, 18.0]
# expect: step 1.0829748837 0.0000500000
# expect: multi 1.1153200481 0.0005000000
# expect: exp 1.0074396075 0.0265720500
# expect: one 0.9588308530 0.0076641594
# expect: lambda 0.9951209623 0.0367545945
# expect: linear 1.0144323100 0.0500000000
# expect: cyclic 0.9962420105 0.1000000000
# expect: warm 1.0092120206 0.0500000000
# expect: const 1.0655141836 0.0500000000
# expect: poly 1.0456855802 0.0000000000
# expect: mult 1.0074396075 0.0265720500
# expect: seq 1.0088728533 0.0328050000
# expect: chain 1.0250754933 0.0265720500
# expect: 1.0449275190 1.1131852890 ['0.05000000', '0.05000000'] 4
# expect: ['amsgrad', 'betas', 'decoupled_weight_decay', 'eps', 'initial_lr', 'lr', 'params', 'swa_lr', 'weight_decay'] ['exp_avg', 'exp_avg_sq', 'max_exp_avg_sq', 'step']
# expect: False False
# expect: 1.0194578689 True
# expect: 1.0024062367 0.7130841982
# expect: [0.15600000321865082, 0.31200000643730164, 0.46799999475479126]
# expect: Trying to backward through the graph a second time (or direc
# expect: a leaf Variable that requires grad is being used in an in-place operation.
# expect: 0
# expect: [ CPULongType{} ]
