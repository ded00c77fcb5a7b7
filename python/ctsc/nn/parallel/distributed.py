# SPDX-License-Identifier: Apache-2.0
"""torch.nn.parallel.distributed: ctsc.distributed has what is in it."""
from ctsc.distributed._ddp import DistributedDataParallel
