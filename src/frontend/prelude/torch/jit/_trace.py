# SPDX-License-Identifier: Apache-2.0
# _trace.py - what code asks about tracing. A compiled program calls this function as any other, and is not traced.

import torch


def is_tracing() -> bool:
    if torch.jit.is_scripting():
        return False
    else:
        return torch._C._is_tracing()
