# SPDX-License-Identifier: Apache-2.0
"""collect_env.py - torch.utils.collect_env: what machine and what PyTorch this is, refused where they are called."""
from .._refused import refuse

__getattr__ = refuse("torch.utils.collect_env", "ctsc doctor tells what ctsc finds on the machine")
