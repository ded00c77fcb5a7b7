# SPDX-License-Identifier: Apache-2.0
# profiler.py - torch.autograd.profiler: its context managers, which measure nothing here.
from typing import Any, Optional


class record_function:
    def __init__(self, name: str, args: Optional[str] = None):
        self.name: str = name
        self.args: Optional[str] = args

    def __enter__(self):
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any):
        pass


class profile:
    def __init__(self, enabled=True, **kwargs):
        self.enabled = enabled

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        pass
