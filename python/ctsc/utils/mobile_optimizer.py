# SPDX-License-Identifier: Apache-2.0
"""mobile_optimizer.py - torch.utils.mobile_optimizer: programs for phones, refused where they are called."""
from .._refused import refuse

__getattr__ = refuse("torch.utils.mobile_optimizer", "ctsc optimises programs when it loads them")
