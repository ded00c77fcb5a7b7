# SPDX-License-Identifier: Apache-2.0
"""optimizers.py - the library's optimisers under PyTorch's names, with its arguments, defaults and refusals (docs/training.md says what they compute)."""
from ..autograd import enable_grad
from .optimizer import NativeOptimizer

_CHECKS = (("lr", "learning rate"), ("eps", "epsilon value"), ("weight_decay", "weight_decay value"), ("momentum", "momentum value"), ("rho", "rho value"),
           ("alpha", "alpha value"), ("lr_decay", "lr_decay value"), ("initial_accumulator_value", "initial_accumulator_value value"),
           ("momentum_decay", "momentum_decay value"))
_BETAS = {"betas": ("beta1", "beta2")}


def _check(defaults):
    for key, words in _CHECKS:
        v = defaults.get(key)
        if v is not None and not 0.0 <= v:
            raise ValueError("Invalid %s: %s" % (words, v))
    for i, beta in enumerate(defaults.get("betas", ())):
        if not 0.0 <= beta < 1.0:
            raise ValueError("Invalid beta parameter at index %d: %s" % (i, beta))


class SGD(NativeOptimizer):
    _name = "sgd"

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, foreach=None, differentiable=False, fused=None):
        defaults = dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov, maximize=maximize, foreach=foreach,
                        differentiable=differentiable, fused=fused)
        _check(defaults)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)


class Adagrad(NativeOptimizer):
    _name = "adagrad"

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *, maximize=False,
                 differentiable=False, fused=None):
        defaults = dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value, foreach=foreach,
                        maximize=maximize, differentiable=differentiable, fused=fused)
        _check(defaults)
        super().__init__(params, defaults)


class Adadelta(NativeOptimizer):
    _name = "adadelta"

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, maximize=False, differentiable=False, capturable=False):
        defaults = dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach, differentiable=differentiable, capturable=capturable)
        _check(defaults)
        super().__init__(params, defaults)


class RMSprop(NativeOptimizer):
    _name = "rmsprop"

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, maximize=False, foreach=None, differentiable=False, capturable=False):
        defaults = dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
                        differentiable=differentiable, capturable=capturable)
        _check(defaults)
        super().__init__(params, defaults)


class Adam(NativeOptimizer):
    _name, _pairs = "adam", _BETAS

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None, maximize=False, capturable=False,
                 differentiable=False, fused=None, decoupled_weight_decay=False):
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize, foreach=foreach, capturable=capturable,
                        differentiable=differentiable, fused=fused, decoupled_weight_decay=decoupled_weight_decay)
        _check(defaults)
        super().__init__(params, defaults)


class AdamW(NativeOptimizer):
    _name, _pairs, _always = "adamw", _BETAS, ("decoupled_weight_decay",)

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False, foreach=None, capturable=False,
                 differentiable=False, fused=None):
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                        differentiable=differentiable, fused=fused, decoupled_weight_decay=True)
        _check(defaults)
        super().__init__(params, defaults)


class Adamax(NativeOptimizer):
    _name, _pairs = "adamax", _BETAS

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False, differentiable=False, capturable=False):
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach, maximize=maximize, differentiable=differentiable, capturable=capturable)
        _check(defaults)
        super().__init__(params, defaults)


class NAdam(NativeOptimizer):
    _name, _pairs, _never = "nadam", _BETAS, ("maximize",)

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3, foreach=None, *, maximize=False, capturable=False, differentiable=False,
                 decoupled_weight_decay=False):
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay, foreach=foreach, maximize=maximize, capturable=capturable,
                        differentiable=differentiable, decoupled_weight_decay=decoupled_weight_decay)
        _check(defaults)
        super().__init__(params, defaults)


class RAdam(NativeOptimizer):
    _name, _pairs, _never = "radam", _BETAS, ("maximize",)

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False, capturable=False, differentiable=False,
                 decoupled_weight_decay=False):
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach, maximize=maximize, capturable=capturable,
                        differentiable=differentiable, decoupled_weight_decay=decoupled_weight_decay)
        _check(defaults)
        super().__init__(params, defaults)


class ASGD(NativeOptimizer):
    _name = "asgd"

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False, differentiable=False, capturable=False):
        defaults = dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach, maximize=maximize, differentiable=differentiable, capturable=capturable)
        _check(defaults)
        super().__init__(params, defaults)


class Rprop(NativeOptimizer):
    _name, _pairs = "rprop", {"etas": ("eta_minus", "eta_plus"), "step_sizes": ("step_min", "step_max")}

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, foreach=None, maximize=False, differentiable=False, capturable=False):
        defaults = dict(lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize, differentiable=differentiable, capturable=capturable)
        _check(defaults)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError("Invalid eta values: %s, %s" % tuple(etas))
        super().__init__(params, defaults)


class LBFGS(NativeOptimizer):
    _name = "lbfgs"
    _other = {"line_search_fn": lambda v: [("strong_wolfe", 0.0 if v is None else 1.0)]}

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100, line_search_fn=None):
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        defaults = dict(lr=lr, max_iter=max_iter, max_eval=max_iter * 5 // 4 if max_eval is None else max_eval, tolerance_grad=tolerance_grad,
                        tolerance_change=tolerance_change, history_size=history_size, line_search_fn=line_search_fn)
        super().__init__(params, defaults)

    def add_param_group(self, param_group):
        if self.param_groups:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        super().add_param_group(param_group)

    def step(self, closure):
        """closure zeroes gradients, computes the loss and its gradients, and returns the loss; it is called several times. Returns the first loss."""
        self._tell()
        first = []

        def once():
            with enable_grad():
                loss = closure()
            if not first:
                first.append(loss)
            return loss
        self._native.step(once)
        return first[0]
