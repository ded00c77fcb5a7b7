# SPDX-License-Identifier: Apache-2.0
# _native.py - the library's optimisers for module-level code, as the Python package's extension has them.
import torch


class Optimizer:
    def __init__(self, name, params, settings):
        self._handle = torch._C._optimizer(name)
        self.add_group(params, settings)

    def add_group(self, params, settings):
        torch._C._optimizer_add_group(self._handle, params, settings)

    def set(self, group, name, number):
        torch._C._optimizer_set(self._handle, group, name, number)

    def step(self, closure):
        torch._C._optimizer_step(self._handle, closure)

    def zero_grad(self):
        torch._C._optimizer_zero_grad(self._handle)

    def state(self):
        return torch._C._optimizer_state(self._handle)

    def load_state(self, state):
        torch._C._optimizer_load_state(self._handle, state)
