# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.nn: collectives with gradients."""
from .functional import *
