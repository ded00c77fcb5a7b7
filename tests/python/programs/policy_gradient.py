"""Actor-critic with GAE on a small chain world, Normal and Categorical policies, entropy bonuses, PPO clipping, orthogonal init, log-prob ratios."""
import math
import torch
from torch import nn
from torch.distributions import Categorical, Normal, Independent, TransformedDistribution, TanhTransform, kl_divergence, MixtureSameFamily, Bernoulli
from collections import deque, namedtuple

torch.manual_seed(7)
Step = namedtuple("Step", "obs action logp reward done value")


class Chain:
    def __init__(self, n=6, seed=0):
        self.n, self.g = n, torch.Generator().manual_seed(seed)

    def reset(self):
        self.s, self.t = self.n // 2, 0
        return self.obs()

    def obs(self):
        return nn.functional.one_hot(torch.tensor(self.s), self.n).float()

    def step(self, a):
        slip = torch.rand((), generator=self.g).item() < 0.1
        self.s += (1 if a == 1 else -1) * (-1 if slip else 1)
        self.t += 1
        done = self.s in (0, self.n - 1) or self.t >= 20
        return self.obs(), 1.0 if self.s == self.n - 1 else -0.01, done


def layer_init(layer, std=math.sqrt(2), bias=0.0):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, bias)
    return layer


class Agent(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(n, 16)), nn.Tanh(), layer_init(nn.Linear(16, 1), std=1.0))
        self.actor = nn.Sequential(layer_init(nn.Linear(n, 16)), nn.Tanh(), layer_init(nn.Linear(16, 2), std=0.01))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


env, agent = Chain(), Agent(6)
opt = torch.optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5)
returns = deque(maxlen=20)
for update in range(4):
    opt.param_groups[0]["lr"] = 2.5e-3 * (1 - update / 8)
    steps, obs, ret = [], env.reset(), 0.0
    for _ in range(64):
        with torch.no_grad():
            a, lp, _, v = agent.get_action_and_value(obs)
        nxt, r, done = env.step(a.item())
        steps.append(Step(obs, a, lp, r, done, v.flatten()))
        ret += r
        if done:
            returns.append(ret)
            ret, nxt = 0.0, env.reset()
        obs = nxt
    with torch.no_grad():
        nextvalue, adv, last = agent.get_value(obs).reshape(1, -1), torch.zeros(64), 0.0
        for t in reversed(range(64)):
            nonterminal = 1.0 - float(steps[t].done)
            nv = nextvalue if t == 63 else steps[t + 1].value
            delta = steps[t].reward + 0.99 * nv * nonterminal - steps[t].value
            adv[t] = last = delta + 0.99 * 0.95 * nonterminal * last
    b = Step(*zip(*steps))
    bobs, bact, blp, bval = torch.stack(b.obs), torch.stack(b.action), torch.stack(b.logp), torch.cat(b.value)
    bret = adv + bval
    for epoch in range(2):
        for mb in torch.randperm(64).split(16):
            _, newlp, ent, newv = agent.get_action_and_value(bobs[mb], bact.long()[mb])
            logratio = newlp - blp[mb]
            ratio = logratio.exp()
            with torch.no_grad():
                kl = ((ratio - 1) - logratio).mean()
            madv = adv[mb]
            madv = (madv - madv.mean()) / (madv.std() + 1e-8)
            pg = torch.max(-madv * ratio, -madv * torch.clamp(ratio, 0.8, 1.2)).mean()
            vl = 0.5 * ((newv.view(-1) - bret[mb]) ** 2).mean()
            loss = pg - 0.01 * ent.mean() + 0.5 * vl
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            opt.step()
    var_y = torch.var(bret)
    ev = 1 - (bret - bval).var() / var_y
    print(update, f"loss {loss.item():.4f} kl {kl.item():.5f} ent {ent.mean():.4f} ev {ev:.4f} mean return {sum(returns) / max(1, len(returns)):.3f}")


class Squashed(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Linear(3, 2)
        self.log_std = nn.Parameter(torch.full((2,), -0.5))

    def forward(self, x):
        base = Independent(Normal(self.mu(x), self.log_std.clamp(-5, 2).exp().expand(x.size(0), 2)), 1)
        return TransformedDistribution(base, [TanhTransform(cache_size=1)])


pi = Squashed()
x = torch.randn(5, 3)
d = pi(x)
a = d.rsample()
lp = d.log_prob(a)
print(a.detach(), lp.detach(), d.batch_shape, d.event_shape, sep="\n")
(lp.mean() + a.sum()).backward()
print(pi.log_std.grad, pi.mu.bias.grad)
print(kl_divergence(Normal(0.0, 1.0), Normal(torch.tensor([0.5, -1.0]), 2.0)))
print(kl_divergence(Categorical(torch.tensor([0.2, 0.8])), Categorical(logits=torch.zeros(2))))
mix = MixtureSameFamily(Categorical(torch.tensor([0.3, 0.7])), Normal(torch.tensor([-1.0, 2.0]), torch.tensor([0.5, 1.0])))
print(mix.log_prob(torch.tensor([0.0, 1.0])), mix.mean, mix.variance, mix.sample((2,)))
print(Normal(0, 1), Categorical(torch.ones(3)), Bernoulli(0.3), d)
try:
    Normal(0.0, -1.0)
except ValueError as e:
    print("ValueError", e)
