# SPDX-License-Identifier: Apache-2.0
"""swa_utils.py - averages of weights over training: AveragedModel (of equal weights, or by avg_fn: exponential ones), update_bn, and SWALR."""
import math
from copy import deepcopy

import torch
from torch.nn import Module

from .lr_scheduler import LRScheduler, _per_group


def get_ema_avg_fn(decay=0.999):
    """For AveragedModel: an exponential average."""
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param
    return ema_update


def get_swa_avg_fn():
    """For AveragedModel: what it does by itself."""
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)
    return swa_update


def get_ema_multi_avg_fn(decay=0.999):
    """For AveragedModel's multi_avg_fn: of lists of tensors, in place."""
    @torch.no_grad()
    def ema_update(ema_param_list, current_param_list, _):
        for mine, given in zip(ema_param_list, current_param_list):
            if mine.is_floating_point() or mine.is_complex():
                mine.lerp_(given.to(mine.dtype), 1 - decay)
            else: # counters: the newest
                mine.copy_(given)
    return ema_update


def get_swa_multi_avg_fn():
    @torch.no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        for mine, given in zip(averaged_param_list, current_param_list):
            if mine.is_floating_point() or mine.is_complex():
                mine.lerp_(given.to(mine.dtype), 1 / (float(num_averaged) + 1))
            else:
                mine.copy_(given)
    return swa_update


class AveragedModel(Module):
    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn, self.multi_avg_fn = avg_fn, multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def _averaged(self, model):
        found = list(model.parameters())
        return found + list(model.buffers()) if self.use_buffers else found

    def update_parameters(self, model):
        count = int(self.n_averaged)
        with torch.no_grad():
            all_mine = [t.detach() for t in self._averaged(self.module)]
            all_given = [t.detach().to(mine.device) for mine, t in zip(all_mine, self._averaged(model))]
            if count == 0 or self.avg_fn is not None:
                for mine, given in zip(all_mine, all_given):
                    mine.copy_(given if count == 0 else self.avg_fn(mine, given, self.n_averaged))
            else:
                (self.multi_avg_fn or get_swa_multi_avg_fn())(all_mine, all_given, self.n_averaged)
            if not self.use_buffers:
                for mine, given in zip(self.module.buffers(), model.buffers()):
                    mine.detach().copy_(given.detach())
            self.n_averaged += 1


def update_bn(loader, model, device=None):
    """Statistics of batch norms over all of loader's batches, for averaged weights."""
    momenta = {}
    for module in model.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.running_mean = torch.zeros_like(module.running_mean)
            module.running_var = torch.ones_like(module.running_var)
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta.keys():
        module.momentum = None
        module.num_batches_tracked *= 0
    with torch.no_grad():
        for batch in loader:
            model(batch[0] if isinstance(batch, (list, tuple)) else batch)
    for module in momenta.keys():
        module.momentum = momenta[module]
    model.train(was_training)


class SWALR(LRScheduler):
    """From each rate to swa_lr within anneal_epochs."""

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for lr, group in zip(_per_group(swa_lr, optimizer, "swa_lr"), optimizer.param_groups):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError("anneal_strategy must by one of 'cos' or 'linear', instead got %s" % anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError("anneal_epochs must be equal or greater than 0, got %s" % anneal_epochs)
        self.anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, t):
        return (1 - math.cos(math.pi * t)) / 2 if self.anneal_strategy == "cos" else t

    def get_lr(self):
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before = self._part(max(0, min(1, (step - 1) / max(1, self.anneal_epochs))))
        part = self._part(max(0, min(1, step / max(1, self.anneal_epochs))))
        rates = []
        for group in self.optimizer.param_groups:
            start = group["swa_lr"] if before == 1 else (group["lr"] - before * group["swa_lr"]) / (1 - before)
            rates.append(group["swa_lr"] * part + start * (1 - part))
        return rates
