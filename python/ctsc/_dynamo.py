# SPDX-License-Identifier: Apache-2.0
"""_dynamo.py - torch._dynamo (compiler.py)."""
from .compiler import *
from .compiler import _same
