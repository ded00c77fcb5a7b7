# SPDX-License-Identifier: Apache-2.0
"""parallel.py - torch.nn.parallel: there is one device, on which DataParallel calls its module, as PyTorch's does where there is no GPU.
DistributedDataParallel is in ctsc.distributed."""
from .modules.module import Module


class DataParallel(Module):
    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.dim, self.module, self.device_ids = dim, module, []
        if output_device is not None:
            self.output_device = output_device

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    inputs = inputs if isinstance(inputs, tuple) else (inputs,) if inputs is not None else ()
    return module(*inputs, **(module_kwargs or {}))


def __getattr__(name):
    if name not in ("DistributedDataParallel", "DistributedDataParallelCPU", "distributed"):
        raise AttributeError("module 'torch.nn.parallel' has no attribute '%s'" % name)
    import importlib
    module = importlib.import_module("ctsc.distributed._ddp")
    return module if name == "distributed" else module.DistributedDataParallel
