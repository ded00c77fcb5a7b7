# SPDX-License-Identifier: Apache-2.0
"""monitor.py - torch.monitor: counters and events of PyTorch's, refused where they are called."""
from ._refused import refuse

__getattr__ = refuse("torch.monitor", "ctsc counts nothing of its own; ctsc.profiler tells what runs")
