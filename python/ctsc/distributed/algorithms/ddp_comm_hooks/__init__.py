# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.algorithms.ddp_comm_hooks: how buckets of gradients are averaged."""
from . import default_hooks, post_localSGD_hook, powerSGD_hook
