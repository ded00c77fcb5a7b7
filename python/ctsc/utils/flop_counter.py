# SPDX-License-Identifier: Apache-2.0
"""flop_counter.py - torch.utils.flop_counter: counts of operations, refused where they are called."""
from .._refused import refuse

__getattr__ = refuse("torch.utils.flop_counter", "ctsc counts the work of programs: ctsc profile, and ctsc.profiler with_flops")
