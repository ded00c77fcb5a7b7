# SPDX-License-Identifier: Apache-2.0
"""version.py - torch.version."""
from . import _C

__version__, cuda, hip, rocm, xpu, git_version, debug = _C.__version__, None, None, None, None, "", False
