# SPDX-License-Identifier: Apache-2.0
"""Training steps as plain functions of tensors: PyTorch runs them eagerly, ctsc compiles them. Each takes data, parameters and the optimiser's state, and
returns the loss and what takes their place."""
import torch
import torch.nn.functional as F
from typing import List, Tuple


def leaves(ps: List[torch.Tensor]) -> List[torch.Tensor]:
    out: List[torch.Tensor] = []
    for p in ps:
        out.append(p.detach().requires_grad_())
    return out


def gradients(loss: torch.Tensor, ps: List[torch.Tensor]) -> List[torch.Tensor]:
    out: List[torch.Tensor] = []
    for g in torch.autograd.grad([loss], ps):
        assert g is not None
        out.append(g)
    return out


def sgd(ps: List[torch.Tensor], gs: List[torch.Tensor], lr: float) -> List[torch.Tensor]:
    out: List[torch.Tensor] = []
    for i in range(len(ps)):
        out.append(ps[i].detach() - lr * gs[i])
    return out


def adam(ps: List[torch.Tensor], gs: List[torch.Tensor], ms: List[torch.Tensor], vs: List[torch.Tensor], t: int, lr: float,
         decay: float) -> Tuple[List[torch.Tensor], List[torch.Tensor], List[torch.Tensor]]:
    step = lr / (1 - 0.9 ** t)
    root = (1 - 0.999 ** t) ** 0.5
    p2: List[torch.Tensor] = []
    m2: List[torch.Tensor] = []
    v2: List[torch.Tensor] = []
    for i in range(len(ps)):
        m = ms[i] * 0.9 + gs[i] * 0.1
        v = vs[i] * 0.999 + gs[i] * gs[i] * 0.001
        p2.append(ps[i].detach() * (1 - lr * decay) - step * m / (v.sqrt() / root + 1e-8))
        m2.append(m)
        v2.append(v)
    return p2, m2, v2


def mlp(x: torch.Tensor, y: torch.Tensor, ps: List[torch.Tensor]) -> Tuple[torch.Tensor, List[torch.Tensor]]:
    ps = leaves(ps)
    h = x
    for i in range(len(ps) // 2):
        h = F.linear(h, ps[2 * i], ps[2 * i + 1])
        if i < len(ps) // 2 - 1:
            h = torch.relu(h)
    loss = F.cross_entropy(h, y)
    return loss.detach(), sgd(ps, gradients(loss, ps), 0.01)


def cnn(x: torch.Tensor, y: torch.Tensor, ps: List[torch.Tensor], ms: List[torch.Tensor], vs: List[torch.Tensor]):
    ps = leaves(ps)
    h = x
    for i in range(2):
        h = F.conv2d(h, ps[4 * i], ps[4 * i + 1], padding=1)
        h = torch.relu(F.batch_norm(h, None, None, ps[4 * i + 2], ps[4 * i + 3], True))
        h = F.max_pool2d(h, 2)
    loss = F.cross_entropy(F.linear(h.flatten(1), ps[8], ps[9]), y)
    p2, m2, v2 = adam(ps, gradients(loss, ps), ms, vs, 1, 1e-3, 0.)
    return loss.detach(), p2, m2, v2


def lstm(x: torch.Tensor, y: torch.Tensor, h0: torch.Tensor, ps: List[torch.Tensor]) -> Tuple[torch.Tensor, List[torch.Tensor]]:
    ps = leaves(ps)
    out, h, c = torch.lstm(x, [h0, h0], ps, True, 2, 0., True, False, True)
    loss = F.mse_loss(out, y)
    return loss.detach(), sgd(ps, gradients(loss, ps), 0.01)


def gpt(x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor, ps: List[torch.Tensor], ms: List[torch.Tensor], vs: List[torch.Tensor]):
    ps = leaves(ps)
    n, t = x.shape[0], x.shape[1]
    h = F.embedding(x, ps[0]) + ps[1]
    d = h.shape[2]
    for i in range(4):
        k = 2 + 12 * i
        a = F.linear(F.layer_norm(h, [d], ps[k], ps[k + 1]), ps[k + 2], ps[k + 3]).reshape(n, t, 3, 4, d // 4).permute(2, 0, 3, 1, 4)
        s = torch.softmax(torch.matmul(a[0], a[1].transpose(-2, -1)) * (d // 4) ** -0.5 + mask, -1)
        h = h + F.linear(torch.matmul(s, a[2]).transpose(1, 2).reshape(n, t, d), ps[k + 4], ps[k + 5])
        b = F.gelu(F.linear(F.layer_norm(h, [d], ps[k + 6], ps[k + 7]), ps[k + 8], ps[k + 9]))
        h = h + F.linear(b, ps[k + 10], ps[k + 11])
    logits = F.linear(F.layer_norm(h, [d], ps[50], ps[51]), ps[0])
    loss = F.cross_entropy(logits.reshape(n * t, -1), y.reshape(-1))
    p2, m2, v2 = adam(ps, gradients(loss, ps), ms, vs, 1, 1e-3, 0.01)
    return loss.detach(), p2, m2, v2


def potential(z: torch.Tensor, pos: torch.Tensor, ps: List[torch.Tensor]) -> Tuple[torch.Tensor, torch.Tensor]:
    """Energy and forces of atoms of kinds z at pos: pairs by their distances, a network for each atom. The parameters: of kinds, centres of distances, two layers."""
    pos = pos.detach().requires_grad_()
    d = pos.unsqueeze(0) - pos.unsqueeze(1)
    r = ((d * d).sum(-1) + 1e-6).sqrt()
    cut = 0.5 * (torch.cos(r.clamp(max=5.0) * 0.62831853) + 1) * (r < 5.0)
    near = torch.exp(-2.0 * (r.unsqueeze(-1) - ps[1]) ** 2) * cut.unsqueeze(-1)
    message = torch.einsum("ijk,jh->ihk", near, F.embedding(z, ps[0])).sum(1)
    energy = F.linear(torch.tanh(F.linear(message, ps[2], ps[3])), ps[4], ps[5]).sum()
    forces = torch.autograd.grad([energy], [pos])[0]
    assert forces is not None
    return energy.detach(), -forces
