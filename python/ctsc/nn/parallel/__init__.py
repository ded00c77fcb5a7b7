# SPDX-License-Identifier: Apache-2.0
"""torch.nn.parallel: there is one device, on which DataParallel calls its module, as PyTorch's does where there is no GPU.
DistributedDataParallel is in ctsc.distributed."""
from ..modules.module import Module
from .scatter_gather import gather, scatter, scatter_kwargs


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


def replicate(network, devices, detach=False):
    """The network once for each device, which share its parameters: there is one device, and no copy is needed."""
    return [network for _ in devices]


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """The results of modules[i](*inputs[i], **kwargs_tup[i]), in turn."""
    if len(modules) != len(inputs):
        raise AssertionError("The number of modules %d is not equal to the number of inputs %d" % (len(modules), len(inputs)))
    kwargs_tup = kwargs_tup or ({},) * len(modules)
    return [m(*(i if isinstance(i, (list, tuple)) else (i,)), **k) for m, i, k in zip(modules, inputs, kwargs_tup)]


def __getattr__(name):
    if name not in ("DistributedDataParallel", "DistributedDataParallelCPU"):
        raise AttributeError("module 'torch.nn.parallel' has no attribute '%s'" % name)
    from .distributed import DistributedDataParallel
    return DistributedDataParallel
