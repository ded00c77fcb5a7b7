# SPDX-License-Identifier: Apache-2.0
"""parallel.py - torch.nn.parallel: there is one device, on which DataParallel calls its module, as PyTorch's does where there is no GPU."""
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


class DistributedDataParallel(Module):
    """In a group of one process, the only kind there is: its module."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0, **options):
        super().__init__()
        from ..distributed import is_initialized
        if not is_initialized():
            raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient.")
        self.module, self.device_ids = module, device_ids

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)

    def no_sync(self):
        import contextlib
        return contextlib.nullcontext()


DistributedDataParallelCPU = DistributedDataParallel
