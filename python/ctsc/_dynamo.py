# SPDX-License-Identifier: Apache-2.0
"""_dynamo.py - torch._dynamo (compiler.py)."""
from .compiler import *
from .compiler import _same

import sys
import types


def is_compile_supported(device_type):
    """Whether torch.compile's own compiler is there."""
    return False


utils = sys.modules[__name__ + ".utils"] = types.ModuleType(__name__ + ".utils", "What libraries import of torch._dynamo.utils.")
utils.is_compile_supported = is_compile_supported
