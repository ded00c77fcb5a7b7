# SPDX-License-Identifier: Apache-2.0
"""more.py - optimisers that the library does not have, written with tensors: Adafactor, Muon, SparseAdam."""
import math

import ctsc

from .optimizer import Optimizer


def _positive(name, value, open_=False):
    if not (0.0 < value if open_ else 0.0 <= value):
        raise ValueError("Invalid %s: %s" % (name, value))


class _OfTensors(Optimizer):
    """_update(p, grad, state, group) changes one parameter; state is empty at the first step."""

    def __init__(self, params, defaults):
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.is_complex():
                    raise RuntimeError("%s does not support complex parameters" % type(self).__name__)

    def step(self, closure=None):
        loss = self._call(closure) if closure is not None else None
        with ctsc.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    grad = p.grad
                    if grad is not None:
                        self._update(p, -grad if group.get("maximize") else grad, self.state[p], group)
        return loss


class Adafactor(_OfTensors):
    """Shazeer and Stern: second moments of matrices are kept as the product of one column and one row."""

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, foreach=None, maximize=False):
        if not 0.0 <= lr:
            raise ValueError("Learning rate should be >= 0 but is: %s" % lr)
        if not 0.0 >= beta2_decay:
            raise ValueError("beta2_decay should be <= 0 but is: %s" % beta2_decay)
        for i, e in enumerate(eps):
            if not (e is None and i == 0) and not 0.0 <= e:
                raise ValueError("epsilon%d should be >= 0 but is: %s" % (i + 1, e))
        if not 1.0 <= d:
            raise ValueError("Clipping threshold d should be >= 1 but is: %s" % d)
        if not 0.0 <= weight_decay:
            raise ValueError("weight_decay should be >= 0 but is: %s" % weight_decay)
        super().__init__(params, dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay, foreach=foreach, maximize=maximize))

    def _update(self, p, grad, state, group):
        if not state:
            state["step"] = ctsc.tensor(0.0, dtype=ctsc.float32)
            if grad.dim() > 1:
                shape = tuple(grad.shape)
                state["row_var"], state["col_var"] = grad.new_zeros(shape[:-1] + (1,)), grad.new_zeros(shape[:-2] + (1,) + shape[-1:])
            else:
                state["variance"] = ctsc.zeros_like(grad)
        state["step"] += 1
        lr, step, (eps1, eps2) = float(group["lr"]), state["step"].item(), group["eps"]
        if eps1 is None:
            eps1 = ctsc.finfo(p.dtype).eps
        new = step ** group["beta2_decay"] # how much of the moments is this step's
        alpha = max(eps2, p.norm(2).item() / p.numel() ** 0.5) * min(lr, 1 / step ** 0.5) if p.numel() else 0.0
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        if grad.dim() > 1:
            row, col = state["row_var"], state["col_var"]
            row.lerp_((grad * grad).mean(-1, keepdim=True), new)
            col.lerp_((grad * grad).mean(-2, keepdim=True), new)
            variance = (row @ col) / row.mean(-2, keepdim=True).clamp(min=eps1)
        else:
            state["variance"].lerp_(grad * grad, new)
            variance = state["variance"]
        update = variance.clamp(min=eps1 * eps1).rsqrt() * grad
        if update.numel():
            clipped = max(1.0, update.norm(2).item() / (update.numel() ** 0.5 * group["d"]))
            p.add_(update, alpha=-alpha / clipped)


def _orthogonalised(m, coefficients, steps, eps):
    """U V^T of the singular value decomposition of m, about, by an iteration of Newton and Schulz in bfloat16."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    a, b, c = coefficients
    x = m.to(ctsc.bfloat16)
    tall = m.size(0) > m.size(1)
    if tall:
        x = x.T
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = ctsc.addmm(x, ctsc.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


class Muon(_OfTensors):
    """Momentum whose update is the nearest orthogonal matrix; for parameters with two dimensions."""

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.7750, 2.0315), eps=1e-7, ns_steps=5, adjust_lr_fn=None):
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not 0.0 <= value:
                raise ValueError("%s should be >= 0 but is: %s" % (name, value))
        if adjust_lr_fn not in (None, "original", "match_rms_adamw", "spectral_unclamped"):
            raise ValueError("Adjust learning rate function %s is not supported" % adjust_lr_fn)
        if len(ns_coefficients) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov, ns_coefficients=ns_coefficients, eps=eps,
                                      ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn))

    def add_param_group(self, param_group):
        super().add_param_group(param_group)
        for p in self.param_groups[-1]["params"]:
            if p.ndim != 2:
                self.param_groups.pop()
                raise ValueError("Muon only supports 2D parameters whereas we found a parameter with size: %s" % (p.size(),))

    def _update(self, p, grad, state, group):
        if not state:
            state["momentum_buffer"] = ctsc.zeros_like(grad)
        buffer = state["momentum_buffer"].lerp_(grad, 1 - group["momentum"])
        update = grad.lerp(buffer, group["momentum"]) if group["nesterov"] else buffer
        update = _orthogonalised(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, cols, how = p.shape[0], p.shape[1], group["adjust_lr_fn"]
        ratio = 0.2 * math.sqrt(max(rows, cols)) if how == "match_rms_adamw" else math.sqrt(rows / cols if how == "spectral_unclamped" else max(1, rows / cols))
        lr = float(group["lr"])
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(update, alpha=-lr * ratio)


class SparseAdam(_OfTensors):
    """Adam of the rows that have gradients. There are no sparse tensors here: rows of the gradient that are zero, those that nn.Embedding(sparse=True) has not
    looked up, keep their moments and weights, as they do in PyTorch, where the gradient has only the others."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        _positive("learning rate", lr, True)
        _positive("epsilon value", eps, True)
        for i, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError("Invalid beta parameter at index %d: %s" % (i, beta))
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))

    def _update(self, p, grad, state, group):
        if not state:
            state["step"], state["exp_avg"], state["exp_avg_sq"] = 0, ctsc.zeros_like(p), ctsc.zeros_like(p)
        state["step"] += 1
        rows = (grad.reshape(grad.shape[0], -1) != 0).any(1).nonzero().squeeze(1) if grad.dim() > 1 else grad.nonzero().squeeze(1) if grad.dim() else None
        if rows is not None and rows.numel() == 0:
            return
        at = ... if rows is None else rows
        (beta1, beta2), step, g = group["betas"], state["step"], grad[at]
        mean, square = state["exp_avg"][at], state["exp_avg_sq"][at]
        mean = mean + (g - mean) * (1 - beta1)
        square = square + (g * g - square) * (1 - beta2)
        state["exp_avg"][at], state["exp_avg_sq"][at] = mean, square
        size = float(group["lr"]) * math.sqrt(1 - beta2 ** step) / (1 - beta1 ** step)
        p[at] = p[at] - size * (mean / (square.sqrt() + group["eps"]))
