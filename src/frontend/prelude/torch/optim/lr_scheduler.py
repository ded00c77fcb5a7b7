# SPDX-License-Identifier: Apache-2.0
"""lr_scheduler.py - schedules: they set "lr" (and momenta) of an optimiser's groups, each rate from the one before, as PyTorch does, for the same bits.

state_dict() is a schedule's own attributes, as in PyTorch; what cannot be kept (the optimiser, functions) is left out.
"""
import math
import types
from bisect import bisect_right
from collections import Counter

from .optimizer import Optimizer


class LRScheduler:
    """Derived classes have get_lr(), which computes the groups' rates for self.last_epoch from those that they have."""

    def __init__(self, optimizer, last_epoch=-1, verbose=False):
        if not isinstance(optimizer, Optimizer):
            raise TypeError("%s is not an Optimizer" % type(optimizer).__name__)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError("param 'initial_lr' is not specified in param_groups[%d] when resuming an optimizer" % i)
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch, self._step_count = last_epoch, 0
        self.step()

    def state_dict(self):
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict):
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        return self._last_lr

    def get_lr(self):
        raise NotImplementedError

    def _rates(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def step(self, epoch=None):
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
            values = self.get_lr()
        else:
            self.last_epoch = epoch
            values = self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self.get_lr()
        for group, lr in zip(self.optimizer.param_groups, values):
            group["lr"] = lr
        self._last_lr = self._rates()


_LRScheduler = LRScheduler


def _per_group(x, optimizer, what):
    if not isinstance(x, (list, tuple)):
        return [x] * len(optimizer.param_groups)
    if len(x) != len(optimizer.param_groups):
        raise ValueError("expected %d values for %s, got %d" % (len(optimizer.param_groups), what, len(x)))
    return list(x)


class LambdaLR(LRScheduler):
    """The initial rate times lr_lambda(epoch)."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1, verbose=False):
        self.lr_lambdas = _per_group(lr_lambda, optimizer, "lr_lambda")
        super().__init__(optimizer, last_epoch, verbose)

    def state_dict(self):
        kept = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "lr_lambdas")}
        kept["lr_lambdas"] = [None if isinstance(f, types.FunctionType) else dict(f.__dict__) for f in self.lr_lambdas]
        return kept

    def load_state_dict(self, state_dict):
        given = dict(state_dict)
        for f, kept in zip(self.lr_lambdas, given.pop("lr_lambdas", ())):
            if kept is not None:
                f.__dict__.update(kept)
        self.__dict__.update(given)

    def get_lr(self):
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(LambdaLR):
    """The rate before times lr_lambda(epoch)."""

    def get_lr(self):
        if self.last_epoch == 0:
            return self._rates()
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self._rates())]


class StepLR(LRScheduler):
    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1, verbose=False):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self):
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._rates()
        return [lr * self.gamma for lr in self._rates()]

    def _get_closed_form_lr(self):
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1, verbose=False):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self):
        if self.last_epoch not in self.milestones:
            return self._rates()
        return [lr * self.gamma ** self.milestones[self.last_epoch] for lr in self._rates()]

    def _get_closed_form_lr(self):
        milestones = sorted(self.milestones.elements())
        return [base * self.gamma ** bisect_right(milestones, self.last_epoch) for base in self.base_lrs]


class ConstantLR(LRScheduler):
    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1, verbose=False):
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self):
        if self.last_epoch == 0:
            return [lr * self.factor for lr in self._rates()]
        if self.last_epoch != self.total_iters:
            return self._rates()
        return [lr * (1.0 / self.factor) for lr in self._rates()]

    def _get_closed_form_lr(self):
        return [base * (self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)) for base in self.base_lrs]


class LinearLR(LRScheduler):
    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1, verbose=False):
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self):
        if self.last_epoch == 0:
            return [lr * self.start_factor for lr in self._rates()]
        if self.last_epoch > self.total_iters:
            return self._rates()
        change = self.end_factor - self.start_factor
        return [lr * (1. + change / (self.total_iters * self.start_factor + (self.last_epoch - 1) * change)) for lr in self._rates()]

    def _get_closed_form_lr(self):
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * min(self.total_iters, self.last_epoch) / self.total_iters)
                for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    def __init__(self, optimizer, gamma, last_epoch=-1, verbose=False):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self):
        return self._rates() if self.last_epoch == 0 else [lr * self.gamma for lr in self._rates()]

    def _get_closed_form_lr(self):
        return [base * self.gamma ** self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1, verbose=False):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self):
        if self.last_epoch == 0 or self.last_epoch > self.total_iters:
            return self._rates()
        factor = ((1.0 - self.last_epoch / self.total_iters) / (1.0 - (self.last_epoch - 1) / self.total_iters)) ** self.power
        return [lr * factor for lr in self._rates()]

    def _get_closed_form_lr(self):
        return [base * (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    def __init__(self, optimizer, T_max, eta_min=0, last_epoch=-1, verbose=False):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self):
        if self.last_epoch == 0:
            return self._rates()
        if self._step_count == 1 and self.last_epoch > 0:
            return [self.eta_min + (base - self.eta_min) * (1 + math.cos(self.last_epoch * math.pi / self.T_max)) / 2 for base in self.base_lrs]
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            return [lr + (base - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2 for base, lr in zip(self.base_lrs, self._rates())]
        return [(1 + math.cos(math.pi * self.last_epoch / self.T_max)) / (1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max)) * (lr - self.eta_min) +
                self.eta_min for lr in self._rates()]

    def _get_closed_form_lr(self):
        return [self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0, last_epoch=-1, verbose=False):
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError("Expected positive integer T_0, but got %s" % T_0)
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError("Expected integer T_mult >= 1, but got %s" % T_mult)
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self):
        return [self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2 for base in self.base_lrs]

    def step(self, epoch=None):
        """epoch may be a fraction: after each batch."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError("Expected non-negative epoch, but got %s" % epoch)
            if epoch < self.T_0:
                self.T_i, self.T_cur = self.T_0, epoch
            elif self.T_mult == 1:
                self.T_cur = epoch % self.T_0
            else:
                n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
                self.T_cur = epoch - self.T_0 * (self.T_mult ** n - 1) / (self.T_mult - 1)
                self.T_i = self.T_0 * self.T_mult ** n
        self.last_epoch = math.floor(epoch)
        for group, lr in zip(self.optimizer.param_groups, self.get_lr()):
            group["lr"] = lr
        self._last_lr = self._rates()


def _momentum_key(optimizer, words):
    if "momentum" in optimizer.defaults:
        return "momentum"
    if "betas" in optimizer.defaults:
        return "betas"
    raise ValueError(words)


def _set_momentum(group, key, value):
    group[key] = value if key == "momentum" else (value,) + tuple(group["betas"][1:])


class CyclicLR(LRScheduler):
    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular", gamma=1., scale_fn=None, scale_mode="cycle",
                 cycle_momentum=True, base_momentum=0.8, max_momentum=0.9, last_epoch=-1, verbose=False):
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        if last_epoch == -1:
            for lr, group in zip(_per_group(base_lr, optimizer, "base_lr"), optimizer.param_groups):
                group["lr"] = lr
        self.max_lrs = _per_group(max_lr, optimizer, "max_lr")
        step_size_up = float(step_size_up)
        step_size_down = step_size_up if step_size_down is None else float(step_size_down)
        self.total_size = step_size_up + step_size_down
        self.step_ratio, self.mode, self.gamma, self.cycle_momentum = step_size_up / self.total_size, mode, gamma, cycle_momentum
        self._scale_fn, self.scale_mode = scale_fn, scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        if cycle_momentum:
            self._key = _momentum_key(optimizer, "optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            self.base_momentums = _per_group(base_momentum, optimizer, "base_momentum")
            self.max_momentums = _per_group(max_momentum, optimizer, "max_momentum")
            for group, m in zip(optimizer.param_groups, self.max_momentums):
                _set_momentum(group, self._key, m)
        super().__init__(optimizer, last_epoch, verbose)
        self.base_lrs = _per_group(base_lr, optimizer, "base_lr")

    def state_dict(self):
        kept = super().state_dict()
        if isinstance(self._scale_fn, types.FunctionType):
            kept.pop("_scale_fn")
        return kept

    def scale_fn(self, x):
        if self._scale_fn is not None:
            return self._scale_fn(x)
        return 1. if self.mode == "triangular" else 1 / (2. ** (x - 1)) if self.mode == "triangular2" else self.gamma ** x

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1. + self.last_epoch / self.total_size - cycle
        factor = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                _set_momentum(group, self._key, high - (high - low) * factor * scale)
        return [base + (high - base) * factor * scale for base, high in zip(self.base_lrs, self.max_lrs)]


class OneCycleLR(LRScheduler):
    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3, anneal_strategy="cos", cycle_momentum=True,
                 base_momentum=0.85, max_momentum=0.95, div_factor=25., final_div_factor=1e4, three_phase=False, last_epoch=-1, verbose=False):
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        self.total_steps = epochs * steps_per_epoch if total_steps is None else total_steps
        if self.total_steps <= 0 or not isinstance(self.total_steps, int):
            raise ValueError("Expected positive integer total_steps, but got %s" % self.total_steps)
        if pct_start < 0 or pct_start > 1:
            raise ValueError("Expected float between 0 and 1 pct_start, but got %s" % pct_start)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError("anneal_strategy must by one of 'cos' or 'linear', instead got %s" % anneal_strategy)
        self.anneal_strategy, self.cycle_momentum = anneal_strategy, cycle_momentum
        # (the last step of a phase; rates and momenta that it begins and ends with)
        up = float(pct_start * self.total_steps) - 1
        self._phases = [(up, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
        if three_phase:
            self._phases.append((float(2 * pct_start * self.total_steps) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"))
            self._phases.append((self.total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"))
        else:
            self._phases.append((self.total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"))
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, _per_group(max_lr, optimizer, "max_lr")):
                group["initial_lr"], group["max_lr"] = high / div_factor, high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self._key = _momentum_key(optimizer, "optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            if last_epoch == -1:
                for group, high, low in zip(optimizer.param_groups, _per_group(max_momentum, optimizer, "max_momentum"),
                                            _per_group(base_momentum, optimizer, "base_momentum")):
                    _set_momentum(group, self._key, high)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch, verbose)

    def _between(self, start, end, part):
        if self.anneal_strategy == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    def get_lr(self):
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError("Tried to step %d times. The total number of steps is %d" % (step, self.total_steps))
        rates = []
        for group in self.optimizer.param_groups:
            begin = 0
            for i, (end, lr0, lr1, m0, m1) in enumerate(self._phases):
                if step <= end or i == len(self._phases) - 1:
                    part = (step - begin) / (end - begin)
                    rates.append(self._between(group[lr0], group[lr1], part))
                    if self.cycle_momentum:
                        _set_momentum(group, self._key, self._between(group[m0], group[m1], part))
                    break
                begin = end
        return rates


class SequentialLR:
    """One schedule after another, from each milestone on the next."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1, verbose=False):
        if any(s.optimizer is not optimizer for s in schedulers):
            raise ValueError("Sequential Schedulers expects all schedulers to belong to the same optimizer")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError("Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, but got "
                             "number of schedulers %d and the number of milestones to be equal to %d" % (len(schedulers), len(milestones)))
        self._schedulers, self._milestones, self.last_epoch, self.optimizer = schedulers, milestones, last_epoch + 1, optimizer
        for group in optimizer.param_groups: # what making them has done to the rates is undone
            group["lr"] = group["initial_lr"]
        for s in schedulers:
            s.last_epoch -= 1
        schedulers[0].step()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self):
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            self._schedulers[i].step(0)
        else:
            self._schedulers[i].step()
        self._last_lr = self._schedulers[i].get_last_lr()

    def get_last_lr(self):
        return self._last_lr

    def state_dict(self):
        kept = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        kept["_schedulers"] = [s.state_dict() for s in self._schedulers]
        return kept

    def load_state_dict(self, state_dict):
        given = dict(state_dict)
        for s, kept in zip(self._schedulers, given.pop("_schedulers")):
            s.load_state_dict(kept)
        self.__dict__.update(given)


class ChainedScheduler:
    """All of them at each step, one after another."""

    def __init__(self, schedulers):
        if any(s.optimizer is not schedulers[0].optimizer for s in schedulers):
            raise ValueError("ChainedScheduler expects all schedulers to belong to the same optimizer")
        self._schedulers, self.optimizer = list(schedulers), schedulers[0].optimizer
        self._last_lr = [g["lr"] for g in self.optimizer.param_groups]

    def step(self):
        for s in self._schedulers:
            s.step()
        self._last_lr = [g["lr"] for g in self.optimizer.param_groups]

    def get_last_lr(self):
        return self._last_lr

    state_dict = SequentialLR.state_dict
    load_state_dict = SequentialLR.load_state_dict


class ReduceLROnPlateau(LRScheduler):
    """Lower rates where step(metric) finds no improvement."""

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0, min_lr=0, eps=1e-8, verbose=False):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError("%s is not an Optimizer" % type(optimizer).__name__)
        if mode not in ("min", "max"):
            raise ValueError("mode %s is unknown!" % mode)
        if threshold_mode not in ("rel", "abs"):
            raise ValueError("threshold mode %s is unknown!" % threshold_mode)
        self.optimizer, self.factor, self.min_lrs = optimizer, factor, _per_group(min_lr, optimizer, "min_lr")
        self.patience, self.cooldown, self.eps, self.last_epoch = patience, cooldown, eps, 0
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.best, self.num_bad_epochs, self.cooldown_counter = math.inf if mode == "min" else -math.inf, 0, 0
        self._last_lr = self._rates()

    def is_better(self, a, best):
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            return sign * a > sign * best * (1. + sign * self.threshold)
        return sign * a > sign * (best + sign * self.threshold)

    @property
    def in_cooldown(self):
        return self.cooldown_counter > 0

    def step(self, metrics, epoch=None):
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, low in zip(self.optimizer.param_groups, self.min_lrs):
                old = float(group["lr"])
                new = max(old * self.factor, low)
                if old - new > self.eps:
                    group["lr"] = new
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates()
