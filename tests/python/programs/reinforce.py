"""Policy gradients: REINFORCE with a baseline, actor-critic with GAE, PPO's clipped objective, entropy; Categorical and Normal policies."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical, Independent, Normal, kl_divergence
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 16)
        self.action_head, self.value_head = nn.Linear(16, 3), nn.Linear(16, 1)
        self.saved_actions, self.rewards = [], []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


def environment(state, action):
    new = 0.8 * state + 0.2 * torch.tensor([[1., 0, 0, 0], [0, 1., 0, 0], [0, 0, 1., 0]])[action]
    return new, float(new[1] - new[0].abs())


def returns_of(rewards, gamma=0.95):
    R, out = 0.0, []
    for r in rewards[::-1]:
        R = r + gamma * R
        out.insert(0, R)
    out = torch.tensor(out)
    return (out - out.mean()) / (out.std() + torch.finfo(torch.float32).eps)


def gae(rewards, values, gamma=0.95, lam=0.9):
    advantages, last = torch.zeros_like(rewards), 0.0
    for t in reversed(range(len(rewards))):
        following = values[t + 1] if t + 1 < len(values) else 0.0
        delta = rewards[t] + gamma * following - values[t]
        advantages[t] = last = delta + gamma * lam * last
    return advantages


torch.manual_seed(543)
model = Policy()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
for episode in range(5):
    state, saved, rewards, entropies = torch.zeros(4), [], [], []
    for t in range(12):
        probs, value = model(state)
        m = Categorical(probs)
        action = m.sample()
        saved.append((m.log_prob(action), value))
        entropies.append(m.entropy())
        state, reward = environment(state, action.item())
        rewards.append(reward)
    returns = returns_of(rewards)
    policy_losses, value_losses = [], []
    for (log_prob, value), R in zip(saved, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum() - 0.01 * torch.stack(entropies).mean()
    loss.backward()
    optimizer.step()
    print("Episode {}\tLast reward: {:.3f}\tLoss: {:.3f}".format(episode, sum(rewards), loss.item()))

states = torch.randn(10, 4)
with torch.no_grad():
    probs, values = model(states)
    old = Categorical(probs=probs)
    actions = old.sample()
    old_logp = old.log_prob(actions)
    rewards = states[:, 1] - actions.float()
    advantages = gae(rewards, values.squeeze(-1))
print(advantages)
opt = torch.optim.Adam(model.parameters(), lr=1e-2, eps=1e-5)
for epoch in range(4):
    for index in torch.utils.data.BatchSampler(torch.utils.data.SubsetRandomSampler(range(10)), 5, drop_last=False):
        probs, values = model(states[index])
        dist = Categorical(probs)
        ratio = torch.exp(dist.log_prob(actions[index]) - old_logp[index])
        surr1 = ratio * advantages[index]
        surr2 = torch.clamp(ratio, 1 - 0.2, 1 + 0.2) * advantages[index]
        loss = -torch.min(surr1, surr2).mean() + 0.5 * F.mse_loss(values.squeeze(-1), advantages[index]) - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        opt.step()
    with torch.no_grad():
        print(epoch, "%.4f" % loss, "kl %.5f" % kl_divergence(old, Categorical(model(states)[0])).mean())

mu, log_std = nn.Linear(4, 2), nn.Parameter(torch.full((2,), -0.5))
pi = Independent(Normal(mu(states), log_std.exp()), 1)
a = pi.rsample()
squashed = torch.tanh(a)
logp = pi.log_prob(a) - (2 * (torch.log(torch.tensor(2.0)) - a - F.softplus(-2 * a))).sum(1)
(-logp.mean() + squashed.pow(2).mean()).backward(retain_graph=True)
print(pi, pi.batch_shape, pi.event_shape, logp.shape, log_std.grad)
vector = parameters_to_vector(model.parameters())
vector_to_parameters(vector * 0.5, model.parameters())
print(vector.shape, torch.allclose(parameters_to_vector(model.parameters()), vector * 0.5))
g = torch.autograd.grad(pi.entropy().mean(), log_std, retain_graph=True)[0]
print(g)
