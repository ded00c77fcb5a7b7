# SPDX-License-Identifier: Apache-2.0
# torch.nn.attention - which implementation of attention is taken is ctsc's to choose.
from contextlib import nullcontext as _nullcontext


class SDPBackend:
    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


def sdpa_kernel(backends, set_priority=False):
    return _nullcontext()
