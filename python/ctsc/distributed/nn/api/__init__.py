# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.nn.api: modules in other processes."""
from . import remote_module
