# SPDX-License-Identifier: Apache-2.0
"""post_localSGD_optimizer.py - an optimiser whose parameters are averaged over the ranks now and then."""
from ctsc import optim


class PostLocalSGDOptimizer(optim.Optimizer):
    def __init__(self, optim, averager):
        self.optim, self.averager, self.param_groups = optim, averager, optim.param_groups

    @property
    def state(self):
        return self.optim.state

    def __repr__(self):
        return repr(self.optim)

    def state_dict(self):
        return dict(self.optim.state_dict(), step=self.averager.step)

    def load_state_dict(self, state_dict):
        self.optim.load_state_dict({k: v for k, v in state_dict.items() if k != "step"})
        self.averager.step = state_dict.get("step", 0)

    def step(self):
        self.optim.step()
        self.averager.average_parameters(self.param_groups)

    def zero_grad(self, set_to_none=True):
        self.optim.zero_grad(set_to_none)

    def add_param_group(self, param_group):
        self.optim.add_param_group(param_group)
