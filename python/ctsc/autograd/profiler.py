# SPDX-License-Identifier: Apache-2.0
"""profiler.py - torch.autograd.profiler: profiler.py of the package, by its older names."""
import contextlib

from ..profiler import EventList, FunctionEvent, FunctionEventAvg, record_function
from ..profiler import profile as _profile


class profile(_profile):
    def __init__(self, enabled=True, *, use_cuda=False, use_device=None, record_shapes=False, with_flops=False, profile_memory=False, with_stack=False, with_modules=False, **more):
        super().__init__(record_shapes=record_shapes)
        self.enabled, self.function_events = enabled, EventList()

    def __enter__(self):
        if self.enabled:
            self.start()
        return self

    def __exit__(self, *exception):
        if self.enabled:
            self.stop()
            self.function_events = self.events()


@contextlib.contextmanager
def emit_nvtx(enabled=True, record_shapes=False):
    """There is nobody to tell."""
    yield


emit_itt = emit_nvtx
