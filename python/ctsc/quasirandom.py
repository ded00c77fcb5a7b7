# SPDX-License-Identifier: Apache-2.0
"""quasirandom.py - torch.quasirandom: sequences of numbers that fill space evenly, refused where they are called."""
from ._refused import refuse

__getattr__ = refuse("torch.quasirandom", "ctsc has no Sobol sequences; scipy.stats.qmc has")
