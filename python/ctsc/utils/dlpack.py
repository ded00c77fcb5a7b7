# SPDX-License-Identifier: Apache-2.0
"""dlpack.py - torch.utils.dlpack."""
from .._functions import from_dlpack
from .._legacy import to_dlpack
