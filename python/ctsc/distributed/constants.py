# SPDX-License-Identifier: Apache-2.0
"""constants.py - torch.distributed.constants."""
from ._group import default_pg_timeout

default_pg_nccl_timeout = default_pg_timeout / 3
