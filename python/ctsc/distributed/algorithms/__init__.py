# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.algorithms."""
from .join import Join, Joinable, JoinHook
